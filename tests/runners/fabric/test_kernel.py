# SPDX-License-Identifier: BSD-2-Clause
"""What is taken out of a kernel's packages: as Debian 12, Debian 13 and Ubuntu pack them."""

import lzma
import struct
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
import zstandard

from runners.fabric import apt, kernel, siw
from runners.fabric.base import FabricError

ELF = b"\x7fELF and what follows"


def bzimage(packed: bytes) -> bytes:
    setup = bytearray(1024)
    setup[0x1F1] = 1
    struct.pack_into("<II", setup, 0x248, 0, len(packed) + 4)
    return bytes(setup) + packed + struct.pack("<I", len(ELF))


def package(
    directory: Path, image: bytes, files: dict[str, bytes], built_in: Iterable[str]
) -> Path:
    tree = directory / "tree"
    folder = tree / "lib/modules/6"
    # A folder may have a module's name.
    (folder / "kernel/fs/9p").mkdir(parents=True)
    (folder / "kernel/drivers/virtio").mkdir(parents=True)
    for name, content in files.items():
        (folder / "kernel" / name).write_bytes(content)
    lines = "".join(f"kernel/drivers/{name}.ko\n" for name in built_in)
    (folder / "modules.builtin").write_text(lines)
    (tree / "boot").mkdir()
    (tree / "boot/vmlinuz-6").write_bytes(image)
    (tree / "DEBIAN").mkdir()
    control = "Package: k\nVersion: 6\nArchitecture: all\nMaintainer: n <n@n>\nDescription: k\n"
    (tree / "DEBIAN/control").write_text(control)
    archive = directory / "linux-image-6.deb"
    subprocess.run(
        ["dpkg-deb", "-Znone", "--build", str(tree), str(archive)], check=True, capture_output=True
    )
    return archive


def fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, archive: Path) -> Path:
    monkeypatch.setenv("UDAPL_CTS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(apt, "run", lambda *_: "  Depends: linux-image-6.0\n")
    monkeypatch.setattr(apt, "download", lambda *_: [archive])
    return kernel.kernel(lambda line: None)


def test_modules_as_they_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    files = {f"{name}.ko": name.encode() for name in kernel.MODULES}
    archive = package(tmp_path, bzimage(lzma.compress(ELF)), files, ())

    directory = fetched(monkeypatch, tmp_path, archive)

    assert (directory / "vmlinux").read_bytes() == ELF
    found = [module.read_bytes().decode() for module in kernel.modules(directory)]
    assert found == kernel.MODULES


def test_modules_packed_built_in_and_merged(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    built_in = {"virtio", "virtio_pci"}
    apart = [name for name in kernel.MODULES if name not in built_in | {"fscache"}]
    files = {f"{name}.ko.xz": lzma.compress(name.encode()) for name in apart}
    archive = package(tmp_path, bzimage(zstandard.compress(ELF)), files, built_in)

    directory = fetched(monkeypatch, tmp_path, archive)

    assert (directory / "vmlinux").read_bytes() == ELF
    assert [module.read_bytes().decode() for module in kernel.modules(directory)] == apart


def test_a_kernel_in_three_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As Ubuntu has it; Debian's metapackage is not known there."""
    asked: list[list[str]] = []

    def run(command: list[str], *_: object) -> str:
        if command[-1] == "linux-image-amd64":
            raise FabricError("No packages found")
        assert command[-1] == "linux-image-generic"
        names = ("linux-image-6.8.0-9-generic", "linux-modules-extra-6.8.0-9-generic")
        return "".join(f"  Depends: {name}\n" for name in names)

    def download(packages: list[str], _: Path) -> list[Path]:
        asked.append(packages)
        return archives

    names = [*kernel.MODULES, *kernel.SIW]
    archives = []
    for part, some in enumerate((names[:9], names[9:])):
        (tmp_path / str(part)).mkdir()
        files = {f"{name}.ko.zst": zstandard.compress(name.encode()) for name in some}
        archives.append(package(tmp_path / str(part), bzimage(zstandard.compress(ELF)), files, ()))
    monkeypatch.setenv("UDAPL_CTS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(apt, "run", run)
    monkeypatch.setattr(apt, "download", download)

    directory = kernel.kernel(lambda line: None)

    kinds = ("image", "modules", "modules-extra")
    assert asked == [[f"linux-{kind}-6.8.0-9-generic" for kind in kinds]]
    assert directory.name == "linux-image-6.8.0-9-generic"
    found = [module.read_bytes().decode() for module in kernel.modules(directory)]
    assert found == kernel.MODULES
    assert siw.modules(directory, lambda line: None) == directory / "modules"


@pytest.mark.parametrize("lacking", ["virtio", "rdma_rxe"])
def test_a_module_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lacking: str
) -> None:
    files = {f"{name}.ko": b"" for name in kernel.MODULES if name != lacking}
    archive = package(tmp_path, bzimage(lzma.compress(ELF)), files, ())

    with pytest.raises(FabricError, match=f"lacks {lacking};"):
        fetched(monkeypatch, tmp_path, archive)


@pytest.mark.parametrize("payload", [b"", b"\x1f\x8b gzip's", kernel.ZSTD + b"cut short"])
def test_an_image_packed_otherwise_is_told(payload: bytes) -> None:
    with pytest.raises(FabricError, match="no image packed with xz or zstd"):
        kernel.extract_vmlinux(bzimage(payload))
