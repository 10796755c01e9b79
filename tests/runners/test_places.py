# SPDX-License-Identifier: BSD-2-Clause
"""Frames of a crash, in what a compiler made just now."""

import subprocess
import time
from pathlib import Path

import pytest

from runners.campaign.session import symbolize as places
from runners.campaign.session.symbolize import Modules, Places

SOURCE = """
static int twice(int *at)
{
        return *at + *at;
}

int entry(int *at)
{
        return twice(at) + 1;
}
"""
ENTRY = "entry, src/vendor.c:9"


def run(folder: Path, *command: str) -> str:
    """What a command in `folder` prints."""
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def built(root: Path, *options: str, compiler: str = "gcc") -> tuple[Path, str]:
    """A library of SOURCE with its build id, its source below `root`."""
    (root / "src").mkdir(exist_ok=True)
    (root / "src/vendor.c").write_text(SOURCE)
    flags = ["-g", "-O0", "-fPIC", "-shared", "-Wl,--build-id", *options]
    run(root, compiler, *flags, "-o", "libvendor.so", "src/vendor.c")
    notes = run(root, "readelf", "-n", "libvendor.so")
    return root / "libvendor.so", notes.split("Build ID:")[1].split()[0]


def offset(library: Path, symbol: str) -> int:
    """How far behind a library's begin a symbol is."""
    lines = run(library.parent, "nm", library.name).splitlines()
    return next(int(line.split()[0], 16) for line in lines if line.split()[-1] == symbol)


def test_several_in_one_question(tmp_path: Path) -> None:
    library, build_id = built(tmp_path)
    known = Places(tmp_path, [(library, build_id)])
    frame = f"libvendor.so(+0x{offset(library, 'entry') + 14:x})"
    # Of the first frame it is the place itself, of the others what returns there.
    try:
        assert known.of_all([[frame], [], ["x", frame]]) == [[ENTRY], [], ["", ENTRY]]
    finally:
        known.close()


# Clang makes no table of the addresses of units.
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("dwarf", ["-gdwarf-4", "-gdwarf-5"])
def test_function_file_and_line(tmp_path: Path, compiler: str, dwarf: str) -> None:
    library, build_id = built(tmp_path, dwarf, compiler=compiler)
    known = Places(tmp_path, [(library, build_id)])
    at, inner = offset(library, "entry"), offset(library, "twice")
    frames = [
        f"libvendor.so(+0x{inner + 8:x})",
        f"libvendor.so(entry+0x{14:x})",
        f"libvendor.so(+0x{at + 14:x})",
        "libother.so(+0x10)",
        "0x7f0012345678",
        "libvendor.so(+0xffffffff)",
        "libvendor.so(no_such+0x4)",
        "libvendor.so(",
    ]
    said = known.of(frames)
    assert said[0] == "twice, src/vendor.c:4"
    assert said[1] == said[2]
    assert said[1].startswith("entry, src/vendor.c:")
    assert said[3:] == [""] * 5
    known.close()
    assert known.of(frames) == said
    known.close()


def test_a_call_is_where_it_was_made_and_not_where_it_returns_to(tmp_path: Path) -> None:
    library, build_id = built(tmp_path)
    text = run(tmp_path, "objdump", "-d", "--disassemble=entry", library.name)
    lines = [line for line in text.splitlines() if ":\t" in line]
    call = next(number for number, line in enumerate(lines) if "call" in line)
    behind = int(lines[call + 1].split(":")[0], 16)
    known = Modules(tmp_path, [(library, build_id)])
    assert known.of(["", f"libvendor.so(+0x{behind:x})"])[1] == ENTRY


def test_another_build_says_nothing(tmp_path: Path) -> None:
    library, _ = built(tmp_path)
    known = Modules(tmp_path, [(library, "00" * 20)])
    assert known.of(["libvendor.so(entry+0x4)"]) == [""]


def test_without_debug_information_the_function_is_known(tmp_path: Path) -> None:
    library, build_id = built(tmp_path, "-g0")
    known = Modules(tmp_path, [(library, build_id)])
    assert known.of([f"libvendor.so(+0x{offset(library, 'twice') + 4:x})"]) == ["twice"]


def test_a_debug_file_of_the_same_build_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, build_id = built(tmp_path)
    at = offset(library, "twice")
    debug = tmp_path / "debug" / build_id[:2] / f"{build_id[2:]}.debug"
    debug.parent.mkdir(parents=True)
    run(tmp_path, "objcopy", "--only-keep-debug", library.name, str(debug))
    run(tmp_path, "strip", library.name)
    frame = f"libvendor.so(+0x{at + 8:x})"
    # The exception tables of a stripped library tell where its functions begin.
    assert Modules(tmp_path, [(library, build_id)]).of([frame]) == [f"function at {at:#x}"]
    monkeypatch.setattr(places, "DEBUG_FILES", tmp_path / "debug")
    assert Modules(tmp_path, [(library, build_id)]).of([frame]) == ["twice, src/vendor.c:4"]


def test_wild_debug_information_costs_the_place_and_nothing_else(tmp_path: Path) -> None:
    library, build_id = built(tmp_path)
    data = bytearray(library.read_bytes())
    # Behind the headers and what is loaded are the sections of debug information.
    half = len(data) // 2
    data[half:] = b"\xff" * (len(data) - half)
    library.write_bytes(data)
    known = Places(tmp_path, [(library, build_id)])
    assert known.of(["libvendor.so(+0x1100)", "libvendor.so(entry+0x4)"]) == ["", ""]
    known.close()


def test_after_a_late_answer_others_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, build_id = built(tmp_path)
    frame = f"libvendor.so(+0x{offset(library, 'entry') + 14:x})"
    monkeypatch.setattr(places, "LONGEST_S", 0)
    known = Places(tmp_path, [(library, build_id)])
    assert known.of([frame]) == [""]
    monkeypatch.setattr(places, "LONGEST_S", 600)
    assert known.of([frame]) == [ENTRY]
    known.close()


def test_answers_that_never_come_are_not_waited_for_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, build_id = built(tmp_path)
    monkeypatch.setattr(places, "LONGEST_S", 0)
    known = Places(tmp_path, [(library, build_id)])
    for _ in range(places.LATE_ANSWERS):
        assert known.of(["libvendor.so(entry+0x4)"]) == [""]
    monkeypatch.setattr(places, "LONGEST_S", 600)
    begun = time.monotonic()
    assert known.of(["libvendor.so(entry+0x4)"]) == [""]
    assert time.monotonic() - begun < 10
