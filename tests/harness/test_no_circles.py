# SPDX-License-Identifier: BSD-2-Clause
"""No file of the harness uses a file that uses it, directly or through others."""

from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from tests.harness.session import BUILD

TARGETS = BUILD / "harness" / "CMakeFiles"
SOURCES = Path(__file__).parents[2] / "harness"
# The programs that files are linked into: two of them may have a function of one name.
PROGRAMS = ("harness-1.2", "dattrace", "udapl-trace-read")


def symbols(path: Path) -> Iterator[tuple[str, bool]]:
    """Each global symbol of an object file, and whether the file defines it."""
    with path.open("rb") as file:
        for section in ELFFile(file).iter_sections():
            if isinstance(section, SymbolTableSection):
                for symbol in section.iter_symbols():
                    if symbol.name and symbol["st_info"]["bind"] != "STB_LOCAL":
                        yield symbol.name, symbol["st_shndx"] != "SHN_UNDEF"


def built_for(program: str) -> dict[Path, Path]:
    """The sources of a program, and their object files."""
    objects = {path: TARGETS / f"{program}.dir" / f"{path}.o" for path in sources()}
    return {path: built for path, built in objects.items() if built.is_file()}


def sources() -> set[Path]:
    """All sources of the harness."""
    return {path.relative_to(SOURCES) for path in SOURCES.rglob("*.c")}


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_file_uses_its_users(program: str) -> None:
    """The files' uses of each other, by the symbols of their object files, have an order."""
    read = {path: list(symbols(built)) for path, built in built_for(program).items()}
    owners = {name: path for path, found in read.items() for name, defined in found if defined}
    uses = {
        path: {owners[name] for name, defined in found if not defined and name in owners}
        for path, found in read.items()
    }
    assert sum(map(len, uses.values())) > len(uses)
    TopologicalSorter(uses).prepare()


def test_every_file_is_looked_at() -> None:
    """Each source is part of a program."""
    assert set().union(*map(built_for, PROGRAMS)) == sources()
