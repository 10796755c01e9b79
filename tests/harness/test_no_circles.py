# SPDX-License-Identifier: BSD-2-Clause
"""No file of the harness uses a file that uses it, directly or through others."""

from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from tests.harness.session import BUILD

OBJECTS = BUILD / "harness" / "CMakeFiles" / "harness-1.2.dir"
SOURCES = Path(__file__).parents[2] / "harness"


def symbols(path: Path) -> Iterator[tuple[str, bool]]:
    """Each global symbol of an object file, and whether the file defines it."""
    with path.open("rb") as file:
        for section in ELFFile(file).iter_sections():
            if isinstance(section, SymbolTableSection):
                for symbol in section.iter_symbols():
                    if symbol.name and symbol["st_info"]["bind"] != "STB_LOCAL":
                        yield symbol.name, symbol["st_shndx"] != "SHN_UNDEF"


def test_no_file_uses_its_users() -> None:
    """The files' uses of each other, by the symbols of their object files, have an order."""
    files = {path: OBJECTS / f"{path.relative_to(SOURCES)}.o" for path in SOURCES.rglob("*.c")}
    read = {path: list(symbols(built)) for path, built in files.items()}
    owners = {name: path for path, found in read.items() for name, defined in found if defined}
    uses = {
        path: {owners[name] for name, defined in found if not defined and name in owners}
        for path, found in read.items()
    }
    assert sum(map(len, uses.values())) > len(files)
    TopologicalSorter(uses).prepare()
