# SPDX-License-Identifier: BSD-2-Clause
"""The guest's kernel: Debian's own package, fetched once and unpacked into the cache.

It is never installed. Only the kernel image and the modules a guest loads are kept.
"""

import lzma
import re
import struct
import subprocess
import tarfile
from pathlib import Path

import zstandard

from runners.fabric import apt, cache
from runners.fabric.apt import AptError
from runners.fabric.base import FabricError, Progress

METAPACKAGE = "linux-image-amd64"

# In the order in which they must load; a kernel may have some of them built in. Nothing depends on
# crc32_generic by name, but rdma_rxe asks the kernel for the algorithm and fails without it.
MODULES = (
    "crc32_generic crc32c_generic virtio_ring virtio_pci_modern_dev virtio_pci_legacy_dev virtio "
    "virtio_pci virtio_console netfs 9pnet fscache 9p 9pnet_virtio overlay failover net_failover "
    "virtio_net dummy ib_core ib_uverbs ib_cm iw_cm configfs rdma_cm rdma_ucm udp_tunnel "
    "ip6_udp_tunnel rdma_rxe sch_netem"
).split()

# Newer kernels have it in netfs.
MERGED = {"fscache"}

ZSTD = b"\x28\xb5\x2f\xfd"


def kernel(progress: Progress, series: str = "") -> Path:
    """A directory with `vmlinux` and its modules, fetched when the cache has none.

    `series` names another kernel than Debian's default, as "6.12": the one of the metapackage
    linux-image-SERIES-amd64. Raises FabricError if apt cannot find or fetch it.
    """
    kind = f"kernel-{series}" if series else "kernel"
    kept = sorted((cache.cache_root() / kind).glob("linux-image-*"), key=_version)
    if kept:
        return kept[-1]
    metapackage = f"linux-image-{series}-amd64" if series else METAPACKAGE
    return apt.with_fresh_lists(lambda: _fetched(kind, metapackage, progress), progress)


def modules(directory: Path) -> list[Path]:
    """What such a directory has of MODULES, in the order in which they must load."""
    files = (directory / "modules" / f"{name}.ko" for name in MODULES)
    return [file for file in files if file.exists()]


def _fetched(kind: str, metapackage: str, progress: Progress) -> Path:
    package = _newest_package(metapackage)

    def make(directory: Path) -> None:
        progress(f"fetching {package} (once; it is unpacked, not installed)")
        archive = _download(package, directory)
        progress("unpacking the kernel")
        _unpack(archive, directory)
        archive.unlink()

    return cache.entry(kind, package, make)


def _version(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path.name)]


def _newest_package(metapackage: str) -> str:
    """The kernel package that Debian's metapackage names today."""
    try:
        listing = apt.run(["apt-cache", "depends", "--important", metapackage])
    except FabricError as error:
        raise AptError(f"cannot find a guest kernel: {error}") from None
    found = re.search(r"Depends: (linux-image-\d\S+)", listing)
    if not found:
        raise AptError(f"cannot find a guest kernel: apt knows no {metapackage}")
    return found[1]


def _download(package: str, directory: Path) -> Path:
    try:
        return apt.download([package], directory)[0]
    except FabricError as error:
        raise AptError(f"cannot fetch the guest kernel {package}: {error}") from None


def _unpack(archive: Path, directory: Path) -> None:
    """Take the kernel image and the wanted modules out of the package."""
    folder = directory / "modules"
    folder.mkdir()
    missing = {"vmlinuz", *MODULES} - MERGED
    command = ["dpkg-deb", "--fsys-tarfile", str(archive)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as unpacker:
        with tarfile.open(fileobj=unpacker.stdout, mode="r|") as members:
            for member in members:
                name = Path(member.name).name
                module, _, ending = name.partition(".")
                if name.startswith("vmlinuz-"):
                    image = _content(members, member)
                    (directory / "vmlinux").write_bytes(extract_vmlinux(image))
                    missing.discard("vmlinuz")
                elif name == "modules.builtin":
                    lines = _content(members, member).decode().split()
                    missing.difference_update(Path(line).stem for line in lines)
                elif module in MODULES and ending in ("ko", "ko.xz"):
                    content = _content(members, member)
                    unpacked = lzma.decompress(content) if ending == "ko.xz" else content
                    (folder / f"{module}.ko").write_bytes(unpacked)
                    missing.discard(module)
    if missing:
        lacking = ", ".join(sorted(missing))
        raise FabricError(f"{archive.name} lacks {lacking}; such a kernel cannot carry soft-RoCE")


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
    return zstandard.ZstdDecompressor().decompressobj().decompress(payload)
