# SPDX-License-Identifier: BSD-2-Clause
"""Which compile commands clang-tidy is given: each file, and each conditional both ways."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from runners.compile_commands import drawn, needed
from tests.runners.fake_checkout import REPOSITORY

ONE, TWO = "-DMAJOR=1", "-DMAJOR=2"
GUARDED = "#ifndef PLAIN_H\n#define PLAIN_H\n#endif\n"
DECIDES = "#ifndef SWITCH_H\n#define SWITCH_H\n#if MAJOR > 1\nint two;\n#endif\n#endif\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder for sources, with a build's and another."""
    for name in ("include", "build", "out"):
        (tmp_path / name).mkdir()
    return tmp_path


def chosen(root: Path, commands: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """What is chosen of these files with their options."""
    entries = [
        {
            "directory": str(root / "build"),
            "file": str(root / name),
            "command": f"cc {options} -I{root}/include -o {name}.o -c {root}/{name}",
        }
        for name, options in commands
    ]
    (root / "build/compile_commands.json").write_text(json.dumps(entries))
    argv = [
        sys.executable,
        "-m",
        "runners.compile_commands",
        str(root / "build"),
        str(root / "out"),
    ]
    subprocess.run(argv, cwd=REPOSITORY, check=True, capture_output=True)
    kept = json.loads((root / "out/compile_commands.json").read_text())
    assert all(entry in entries for entry in kept)
    return [(Path(entry["file"]).name, entry["command"].split()[1]) for entry in kept]


def test_the_same_text_is_analysed_once(root: Path) -> None:
    (root / "include/plain.h").write_text(GUARDED)
    (root / "a.c").write_text('#include "plain.h"\nint a;\n')
    (root / "b.c").write_text("int b;\n")
    commands = [("a.c", ONE), ("b.c", TWO), ("a.c", TWO), ("b.c", ONE)]
    assert chosen(root, commands) == [("a.c", ONE), ("b.c", TWO)]


def test_a_file_with_a_conditional_is_analysed_under_each_definition(root: Path) -> None:
    (root / "a.c").write_text("#if MAJOR > 1\nint a;\n#endif\n")
    commands = [("a.c", ONE), ("a.c", TWO), ("a.c", f"{TWO} -fPIC")]
    assert chosen(root, commands) == [("a.c", ONE), ("a.c", TWO)]


def test_a_header_with_a_conditional_is_met_once_under_each_definition(root: Path) -> None:
    (root / "include/switch.h").write_text(DECIDES)
    (root / "include/way.h").write_text('#include "switch.h"\n')
    for name in ("a.c", "b.c", "c.c"):
        (root / name).write_text('#include "way.h"\n')
    commands = [(name, options) for options in (ONE, TWO) for name in ("a.c", "b.c", "c.c")]
    assert chosen(root, commands) == [("a.c", ONE), ("b.c", ONE), ("c.c", ONE), ("a.c", TWO)]


def test_what_is_included_by_command_decides_too(root: Path) -> None:
    (root / "a.c").write_text("#ifdef RENAMED\nint a;\n#endif\n")
    commands = [("a.c", ONE), ("a.c", f"{ONE} -include rename.h")]
    assert len(chosen(root, commands)) == 2


def test_of_this_project_each_file_is_analysed() -> None:
    text = (REPOSITORY / "build/default/compile_commands.json").read_text()
    every = {entry["file"] for entry in json.loads(text)}
    kept = needed(json.loads(text))
    assert {entry["file"] for entry in kept} == every
    twice = [entry for entry in kept if entry["file"].endswith("harness/case/fixture_buf.c")]
    assert len(twice) == 2


def git(root: Path, *words: str) -> None:
    """Run git in a repository."""
    person = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(("git", "-C", root, *person, *words), check=True, capture_output=True)


@pytest.fixture
def repository(root: Path) -> Path:
    """A repository of thirty files, the first two with a header, and two commits."""
    for number in range(30):
        (root / f"{number}.c").write_text('#include "a.h"\n' if number < 2 else "int a;\n")
    (root / "include/a.h").touch()
    git(root, "init", "-q")
    for _ in range(2):
        git(root, "add", "-A")
        git(root, "commit", "-q", "--allow-empty", "-m", "all")
    return root


def shared(root: Path, share: int = 4) -> list[int]:
    """The numbers of the files that are drawn."""
    entries = [
        {"directory": str(root), "file": f"{number}.c", "command": f"cc -I{root}/include"}
        for number in range(30)
    ]
    return [int(Path(entry["file"]).stem) for entry in drawn(entries, share, root)]


def test_a_share_is_drawn_of_what_did_not_change(repository: Path) -> None:
    first = shared(repository)
    assert len(first) == 8
    assert shared(repository) == first
    assert len(shared(repository, share=1)) == 30


def test_what_a_change_touches_is_analysed(repository: Path) -> None:
    (repository / "include/a.h").write_text("int b;\n")
    (repository / "7.c").write_text("int b;\n")
    assert {0, 1, 7} <= set(shared(repository))
    assert len(shared(repository)) == 3 + 7


@pytest.mark.parametrize("name", [".clang-tidy", "CMakePresets.json"])
def test_all_is_analysed_where_a_configuration_changed(repository: Path, name: str) -> None:
    (repository / name).touch()
    git(repository, "add", name)
    assert len(shared(repository)) == 30
