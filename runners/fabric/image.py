# SPDX-License-Identifier: BSD-2-Clause
"""What a guest boots: the kernel, and an initramfs of the guest's first process and modules."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from runners.fabric import cache, siw
from runners.fabric.base import FabricError, Progress
from runners.fabric.kernel import kernel, modules

GUEST_SOURCES = Path(__file__).parent / "guest"
COMPILE = ("cc", "-std=gnu11", "-D_GNU_SOURCE", "-static", "-Os", "-Wall", "-Wextra")


@dataclass(frozen=True)
class Image:
    """A bootable guest; `key` changes whenever one of its bytes may have. `nothing` is empty."""

    vmlinux: Path
    initramfs: Path
    nothing: Path
    key: str


def image(progress: Progress, device: str = "rxe", series: str = "") -> Image:
    """The image of a guest with such a device and a kernel of that series ("" is Debian's default).

    It is made if the cache holds none of these sources and this kernel.
    """
    kernel_directory = kernel(progress, series)
    loaded = modules(kernel_directory)
    if device == "siw":
        built = siw.modules(kernel_directory, progress)
        loaded += [built / f"{name}.ko" for name in siw.MODULES]
    sources = sorted(GUEST_SOURCES.glob("*.[ch]"))
    key = cache.digest(
        kernel_directory.name,
        *COMPILE,
        *(module.stem for module in loaded),
        *(source.read_bytes() for source in sources),
    )

    def make(directory: Path) -> None:
        progress("making the guest's initramfs")
        _make_initramfs(directory, loaded, sources)

    made = cache.entry("image", key, make)
    return Image(kernel_directory / "vmlinux", made / "initramfs", made / "nothing", key)


def _make_initramfs(directory: Path, modules: list[Path], sources: list[Path]) -> None:
    tree = directory / "tree"
    (tree / "modules").mkdir(parents=True)
    for number, module in enumerate(modules):
        shutil.copy(module, tree / "modules" / f"{number:02}-{module.name}")
    units = [str(source) for source in sources if source.suffix == ".c"]
    _run([*COMPILE, "-o", str(tree / "init"), *units], "compile the guest's first process")
    names = "\n".join(str(path.relative_to(tree)) for path in sorted(tree.rglob("*")))
    archive = _run(
        ["cpio", "--quiet", "--create", "--format=newc", "--owner=0:0", "-D", str(tree)],
        "pack the initramfs",
        names.encode(),
    )
    (directory / "initramfs").write_bytes(archive)
    shutil.rmtree(tree)
    (directory / "nothing").mkdir()


def _run(command: list[str], purpose: str, data: bytes = b"") -> bytes:
    try:
        return subprocess.run(command, input=data, capture_output=True, check=True).stdout
    except FileNotFoundError:
        raise FabricError(f"cannot {purpose}: {command[0]} is not installed") from None
    except subprocess.CalledProcessError as error:
        reason = error.stderr.decode(errors="replace").strip()
        raise FabricError(f"cannot {purpose}: {reason}") from None
