# SPDX-License-Identifier: BSD-2-Clause
"""Where in the sources a frame is: by debug information, of what is on this machine."""

import json
import os
import re
import resource
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.dwarf.callframe import FDE
from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE
from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.dwarf.ranges import BaseAddressEntry
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, SymbolTableSection

DEBUG_FILES = Path("/usr/lib/debug/.build-id")
_FRAME = re.compile(r"(?P<module>[^()]+)\((?P<symbol>[^()+]*)\+0x(?P<offset>[0-9a-f]{1,16})\)")
LONGEST_S = 20
# The first question of a process waits for all the symbols to be read: so many times longer.
FIRST = 3
# A busy machine may be late; debug information without an end is late each time.
LATE_ANSWERS = 4
MEMORY = 2 << 30


class Places:
    """Answers where frames are, by a process of its own: debug information is a provider's word
    too, and may be endless, or wild.

    `modules` are the files that frames may be of, with the build ids that they must have, empty
    where any will do. Paths below `root` are relative to it.
    """

    def __init__(self, root: Path, modules: Iterable[tuple[Path, str]]) -> None:
        self._argv = [str(root), *(word for path, id_ in modules for word in (str(path), id_))]
        self._process: subprocess.Popen[bytes] | None = None
        self._late = 0

    def of(self, backtrace: Sequence[str]) -> list[str]:
        """For each frame "function, file:line", as much of it as is known; empty for none of it.

        Nothing is known any more once a few answers took too long.
        """
        return self.of_all([backtrace])[0]

    def of_all(self, backtraces: Sequence[Sequence[str]]) -> list[list[str]]:
        """The same of several, in the time for one answer."""
        question = json.dumps([list(backtrace) for backtrace in backtraces])
        answer = b"" if self._late == LATE_ANSWERS else self._ask(question.encode())
        try:
            said = json.loads(answer)
        except ValueError:
            self._late = min(self._late + 1, LATE_ANSWERS)
            self.close()
            return [[""] * len(backtrace) for backtrace in backtraces]
        return [[str(place) for place in places] for places in said]

    def close(self) -> None:
        """End the process; a later question begins another."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _ask(self, question: bytes) -> bytes:
        longest = LONGEST_S if self._process else FIRST * LONGEST_S
        if self._process is None:
            paths = (str(Path(__file__).parents[3]), *filter(None, sys.path))
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "runners.campaign.session.symbolize", *self._argv],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # An installed suite has its packages where this process was told, and no other is.
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            )
        asked, answered = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answered is not None
        with suppress(BrokenPipeError):
            asked.write(question + b"\n")
            asked.flush()
        answer, until = b"", time.monotonic() + longest
        while not answer.endswith(b"\n"):
            left = max(until - time.monotonic(), 0)
            if not select.select([answered], [], [], left)[0]:
                return b""
            part = os.read(answered.fileno(), 1 << 16)
            if not part:
                return b""
            answer += part
        return answer


class Modules:
    """What Places asks in its process."""

    def __init__(self, root: Path, modules: Iterable[tuple[Path, str]]) -> None:
        self._root = root
        self._modules = {
            name: (path, build_id)
            for path, build_id in modules
            # A frame has the name that the module was loaded by, which a link may have given it.
            for name in {path.name, path.resolve().name}
        }
        self._open = cache(self._opened)
        # The threads of a process that hangs have many frames in common.
        self._place = cache(self._of)

    def of(self, backtrace: Sequence[str]) -> list[str]:
        """As Places.of()."""
        # The first frame is where it was; the others are where their calls return to.
        return [self._place(frame, number > 0) for number, frame in enumerate(backtrace)]

    def _of(self, frame: str, behind: bool) -> str:
        parts = _FRAME.fullmatch(frame)
        module = self._open(parts["module"]) if parts else None
        if parts is None or module is None:
            return ""
        # Whatever debug information is wrong in, the frame is then without a place.
        with suppress(Exception):
            return module.place(parts["symbol"], int(parts["offset"], 16), behind)
        return ""

    def _opened(self, name: str) -> "Module | None":
        if name in self._modules:
            path, build_id = self._modules[name]
            with suppress(Exception):
                return Module(path, build_id, self._root)
        return None


class Module:
    """A program or a shared object, and its debug information, its own or a file of its own."""

    def __init__(self, path: Path, build_id: str, root: Path) -> None:
        self._root = root
        with ExitStack() as stack:
            elf = ELFFile(stack.enter_context(path.open("rb")))
            found = _build_id(elf)
            if build_id and found != build_id:
                raise ELFError(f"{path} is another build")
            self._symbols = _symbols(elf)
            whole = elf
            if not elf.has_dwarf_info(strict=True) and found:
                debug = DEBUG_FILES / found[:2] / f"{found[2:]}.debug"
                if debug.exists():
                    elf = ELFFile(stack.enter_context(debug.open("rb")))
                    self._symbols |= _symbols(elf)
            self._dwarf: DWARFInfo | None = (
                elf.get_dwarf_info() if elf.has_dwarf_info(strict=True) else None
            )
            self._units = _units(self._dwarf) if self._dwarf else (lambda address: None)
            self._bounds = _bounds(whole)
            # What it has read lazily is read from these as long as there are questions.
            self._files = stack.pop_all()

    def place(self, symbol: str, offset: int, behind: bool) -> str:
        """The place of a frame: so far behind a symbol, or behind the module's begin."""
        if symbol:
            begin = next((at for at, (name, _) in self._symbols.items() if name == symbol), None)
            if begin is None:
                return ""
            offset += begin
        address = offset - behind
        unit = self._units(address)
        function = (_function(unit, address) if unit else "") or self._symbol(address)
        line = self._line(unit, address) if unit else ""
        return ", ".join(part for part in (function, line) if part)

    def _symbol(self, address: int) -> str:
        for at, (name, size) in self._symbols.items():
            if at <= address < at + size:
                return name
        # A library without names tells by its exception tables where its functions begin.
        for begin, end in self._bounds:
            if begin <= address < end:
                return f"function at {begin:#x}"
        return ""

    def _line(self, unit: CompileUnit, address: int) -> str:
        assert self._dwarf is not None
        program = self._dwarf.line_program_for_CU(unit)
        if program is None:
            return ""
        last = None
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            if last is not None and last.address <= address < state.address:
                return f"{self._file(unit, program, last.file)}:{last.line}"
            last = None if state.end_sequence else state
        return ""

    def _file(self, unit: CompileUnit, program: object, number: int) -> str:
        header = program.header  # type: ignore[attr-defined]
        first = 0 if header.version >= 5 else 1
        entry = header.file_entry[number - first]
        folder = b""
        if header.version >= 5 or entry.dir_index > 0:
            folder = header.include_directory[entry.dir_index - first]
        path = Path(folder.decode("utf-8", "replace")) / entry.name.decode("utf-8", "replace")
        made_in = unit.get_top_DIE().attributes.get("DW_AT_comp_dir")
        if made_in is not None:
            path = Path(made_in.value.decode("utf-8", "replace")) / path
        return str(path.relative_to(self._root) if path.is_relative_to(self._root) else path)


def _build_id(elf: ELFFile) -> str:
    for section in elf.iter_sections():
        if isinstance(section, NoteSection):
            for note in section.iter_notes():
                if note["n_type"] == "NT_GNU_BUILD_ID":
                    return str(note["n_desc"])
    return ""


def _symbols(elf: ELFFile) -> dict[int, tuple[str, int]]:
    """The functions by their address, with their sizes."""
    return {
        symbol["st_value"]: (symbol.name, symbol["st_size"])
        for section in elf.iter_sections()
        if isinstance(section, SymbolTableSection)
        for symbol in section.iter_symbols()
        if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_value"]
    }


def _bounds(elf: ELFFile) -> list[tuple[int, int]]:
    """Where the functions of a file begin and end, by its exception tables."""
    # What says so here is not in the debug information, and may be all that there is.
    tables = elf.get_dwarf_info(relocate_dwarf_sections=False)
    if not tables.has_EH_CFI():
        return []
    headers = [entry.header for entry in tables.EH_CFI_entries() if isinstance(entry, FDE)]
    return [(each.initial_location, each.initial_location + each.address_range) for each in headers]


def _units(dwarf: DWARFInfo) -> Callable[[int], CompileUnit | None]:
    """Which unit an address is of: by the table of it, or where there is none by asking each."""
    table = dwarf.get_aranges()
    if table is not None:

        def by_table(address: int) -> CompileUnit | None:
            at = table.cu_offset_at_addr(address)
            return None if at is None else dwarf.get_CU_at(at)

        return by_table
    units = list(dwarf.iter_CUs())
    return lambda address: next((unit for unit in units if _has(unit.get_top_DIE(), address)), None)


def _function(unit: CompileUnit, address: int) -> str:
    for die in unit.iter_DIEs():
        if die.tag == "DW_TAG_subprogram" and _has(die, address):
            return _name(die)
    return ""


def _name(die: DIE) -> str:
    """A function's name, which may stand where it was declared or first inlined from."""
    for link in ("DW_AT_name", "DW_AT_abstract_origin", "DW_AT_specification"):
        if link in die.attributes:
            if link == "DW_AT_name":
                return str(die.attributes[link].value.decode("utf-8", "replace"))
            return _name(die.get_DIE_from_attribute(link))
    return ""


def _has(die: DIE, address: int) -> bool:
    """Whether an entry's code, whole or in ranges, has an address."""
    low, high = (die.attributes.get(name) for name in ("DW_AT_low_pc", "DW_AT_high_pc"))
    if low is not None and high is not None:
        # The end is an address, or where it has the form of a number a length.
        end = high.value if high.form == "DW_FORM_addr" else low.value + high.value
        return bool(low.value <= address < end)
    ranges = die.attributes.get("DW_AT_ranges")
    lists = die.dwarfinfo.range_lists()
    if ranges is None or lists is None or not isinstance(die.cu, CompileUnit):
        return False
    base = die.cu.get_top_DIE().attributes.get("DW_AT_low_pc")
    start = base.value if base is not None else 0
    for entry in lists.get_range_list_at_offset(ranges.value, cu=die.cu):
        if isinstance(entry, BaseAddressEntry):
            start = entry.base_address
        else:
            shift = 0 if entry.is_absolute else start
            if entry.begin_offset + shift <= address < entry.end_offset + shift:
                return True
    return False


def _serve(root: str, *modules: str) -> None:
    """Answer the questions of stdin, a line each."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    pairs = zip(map(Path, modules[::2]), modules[1::2], strict=True)
    known = Modules(Path(root), pairs)
    for line in sys.stdin:
        print(json.dumps([known.of(each) for each in json.loads(line)]), flush=True)


if __name__ == "__main__":
    _serve(*sys.argv[1:])
