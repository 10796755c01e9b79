# SPDX-License-Identifier: BSD-2-Clause
"""The guest's kernel: the distribution's own packages, fetched once and unpacked into the cache.

They are never installed. Only the kernel image and the modules a guest loads are kept.
"""

import lzma
import re
import struct
import subprocess
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path

import zstandard

from runners.fabric import apt, cache
from runners.fabric.apt import AptError
from runners.fabric.base import FabricError, Progress

# Debian's metapackage, and Ubuntu's. Debian has a kernel in one package, Ubuntu in three.
DEFAULT = ("linux-image-amd64", "linux-image-generic")
OF_SERIES = ("linux-image-{}-amd64", "linux-image-generic-{}")

# In the order in which they must load; a kernel may have some of them built in. Nothing depends on
# crc32_generic by name, but rdma_rxe asks the kernel for the algorithm and fails without it.
MODULES = (
    "crc32_generic crc32c_generic virtio_ring virtio_pci_modern_dev virtio_pci_legacy_dev virtio "
    "virtio_pci virtio_console netfs 9pnet fscache 9p 9pnet_virtio overlay failover net_failover "
    "virtio_net dummy ib_core ib_uverbs ib_cm iw_cm configfs rdma_cm rdma_ucm udp_tunnel "
    "ip6_udp_tunnel rdma_rxe sch_netem"
).split()

# What a guest with siw loads too (siw.py), of a kernel that has it.
SIW = ("libcrc32c", "siw")

# Newer kernels have it in netfs.
MERGED = {"fscache"}

ZSTD = b"\x28\xb5\x2f\xfd"


def _of_zstd(packed: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompressobj().decompress(packed)


# How modules are packed: not at all, by Debian, and by Ubuntu.
UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "ko": bytes,
    "ko.xz": lzma.decompress,
    "ko.zst": _of_zstd,
}


def kernel(progress: Progress, series: str = "") -> Path:
    """A directory with `vmlinux` and its modules, fetched when the cache has none.

    `series` names another kernel than the distribution's default, as "6.12": the one of the
    metapackage linux-image-SERIES-amd64, or Ubuntu's linux-image-generic-SERIES. Raises FabricError
    if apt cannot find or fetch it.
    """
    kind = f"kernel-{series}" if series else "kernel"
    kept = sorted((cache.cache_root() / kind).glob("linux-image-*"), key=_version)
    if kept:
        return kept[-1]
    metapackages = [name.format(series) for name in OF_SERIES] if series else DEFAULT
    return apt.with_fresh_lists(lambda: _fetched(kind, metapackages, progress), progress)


def modules(directory: Path) -> list[Path]:
    """What such a directory has of MODULES, in the order in which they must load."""
    files = (directory / "modules" / f"{name}.ko" for name in MODULES)
    return [file for file in files if file.exists()]


def _fetched(kind: str, metapackages: Sequence[str], progress: Progress) -> Path:
    packages = _newest_packages(metapackages)

    def make(directory: Path) -> None:
        progress(f"fetching {', '.join(packages)} (once; unpacked, not installed)")
        archives = _download(packages, directory)
        progress("unpacking the kernel")
        _unpack(archives, directory)
        for archive in archives:
            archive.unlink()

    return cache.entry(kind, packages[0], make)


def _version(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path.name)]


def _newest_packages(metapackages: Sequence[str]) -> list[str]:
    """The packages of the kernel that the first known metapackage names today, its image first."""
    said = ""
    for metapackage in metapackages:
        try:
            listing = apt.run(["apt-cache", "depends", "--important", metapackage])
        except FabricError as error:
            said = said or str(error)
            continue
        if image := re.search(r"Depends: linux-image-(\d\S+)", listing):
            kinds = ["image", "modules"] if "linux-modules-" in listing else ["image"]
            kinds += ["modules-extra"] if "linux-modules-extra-" in listing else []
            return [f"linux-{kind}-{image[1]}" for kind in kinds]
    known = said or f"apt knows no {' and no '.join(metapackages)}"
    raise AptError(f"cannot find a guest kernel: {known}")


def _download(packages: Sequence[str], directory: Path) -> list[Path]:
    try:
        return apt.download(packages, directory)
    except FabricError as error:
        raise AptError(f"cannot fetch the guest kernel {packages[0]}: {error}") from None


def _unpack(archives: Sequence[Path], directory: Path) -> None:
    """Take the kernel image and the wanted modules out of the packages."""
    (directory / "modules").mkdir()
    missing = {"vmlinuz", *MODULES} - MERGED
    for archive in archives:
        missing -= _unpacked(archive, directory)
    if missing:
        lacking = ", ".join(sorted(missing))
        raise FabricError(
            f"{archives[0].name} lacks {lacking}; such a kernel cannot carry soft-RoCE"
        )


def _unpacked(archive: Path, directory: Path) -> set[str]:
    """What one package has of them."""
    found: set[str] = set()
    command = ["dpkg-deb", "--fsys-tarfile", str(archive)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as unpacker:
        with tarfile.open(fileobj=unpacker.stdout, mode="r|") as members:
            for member in members:
                name = Path(member.name).name
                module, _, ending = name.partition(".")
                if name.startswith("vmlinuz-"):
                    image = _content(members, member)
                    (directory / "vmlinux").write_bytes(extract_vmlinux(image))
                    found.add("vmlinuz")
                elif name == "modules.builtin":
                    lines = _content(members, member).decode().split()
                    found.update(Path(line).stem for line in lines)
                elif module in (*MODULES, *SIW) and ending in UNPACK:
                    content = UNPACK[ending](_content(members, member))
                    (directory / "modules" / f"{module}.ko").write_bytes(content)
                    found.add(module)
    return found


def _content(members: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    handle = members.extractfile(member)
    return handle.read() if handle else b""


def extract_vmlinux(image: bytes) -> bytes:
    """The ELF kernel inside a bzImage. Booted directly it saves the guest its decompression."""
    try:
        setup_sectors = image[0x1F1] or 4
        offset, length = struct.unpack_from("<II", image, 0x248)
        start = (setup_sectors + 1) * 512 + offset
        # The last four bytes of the payload are the size of what it unpacks to.
        kernel_image = _decompressed(image[start : start + length - 4])
    except (IndexError, struct.error, lzma.LZMAError, zstandard.ZstdError) as error:
        raise FabricError(
            f"the guest kernel holds no image packed with xz or zstd: {error}"
        ) from None
    if not kernel_image.startswith(b"\x7fELF"):
        raise FabricError("the guest kernel does not hold an ELF image")
    return kernel_image


def _decompressed(payload: bytes) -> bytes:
    if not payload.startswith(ZSTD):
        return lzma.decompress(payload, lzma.FORMAT_XZ)
    return _of_zstd(payload)
