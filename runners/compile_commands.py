# SPDX-License-Identifier: BSD-2-Clause
"""Of a build's compile commands those that an analysis needs (docs/decisions/0102-gate.md).

Most files are compiled twice, for DAT 1.2 and for 2.0, and are the same text both times. So each
file is analysed as its first command has it; and each that has a conditional in it, or a header
with one, by so many commands more that every such file is met under all definitions that it is
compiled with.

Run it as `python -m runners.compile_commands BUILD FOLDER`: it writes the folder's
compile_commands.json. With `--share N`, of what a change does not touch it writes one in N, which
the commit draws.
"""

import argparse
import json
import random
import re
import shlex
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from runners.checkout import changes, seed

ROOT = Path(__file__).resolve().parents[1]
# What is said of each file is decided by these.
CONFIGURATIONS = {".clang-tidy", "CMakePresets.json"}
NAME = "compile_commands.json"
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:el)?if(?:n?def)?\b", re.MULTILINE)
_GUARD = re.compile(r"^#ifndef[ \t]+(\w+)\n#define[ \t]+\1$", re.MULTILINE)

Entry = dict[str, Any]


def needed(entries: Sequence[Entry]) -> list[Entry]:
    """The entries that an analysis needs, those of a file beside each other as before."""
    kept: list[int] = []
    files: set[str] = set()
    met: set[tuple[Path, frozenset[str]]] = set()
    asks = [_asks(entry) for entry in entries]
    for index, entry in enumerate(entries):
        if entry["file"] not in files:
            files.add(entry["file"])
            met |= asks[index]
            kept.append(index)
    for index, wanted in enumerate(asks):
        if not wanted <= met:
            met |= wanted
            kept.append(index)
    return [entries[index] for index in sorted(kept)]


def drawn(entries: Sequence[Entry], share: int, root: Path) -> list[Entry]:
    """The entries whose text changed since the base of `root`, and of the others one in `share`.

    All, where it is not known what changed, or where a configuration did.
    """
    known = changes(root)
    if share == 1 or known is None or CONFIGURATIONS.intersection(known[1]):
        return list(entries)
    changed = {root / name for name in known[1]}
    untouched = [i for i, entry in enumerate(entries) if changed.isdisjoint(_texts(entry))]
    count = len(untouched) * (share - 1) // share
    left = set(random.Random(seed(root)).sample(untouched, count))
    return [entry for index, entry in enumerate(entries) if index not in left]


def _asks(entry: Entry) -> set[tuple[Path, frozenset[str]]]:
    """The files with a conditional that a command compiles, and the definitions that decide it."""
    words = shlex.split(entry["command"])
    told = [after for word, after in pairwise(words) if word == "-include"]
    definitions = frozenset([word for word in words if word.startswith("-D")] + told)
    return {(path, definitions) for path in _texts(entry) if _has_condition(path)}


def _texts(entry: Entry) -> Iterator[Path]:
    """The file that a command compiles, and the headers that it meets."""
    words = shlex.split(entry["command"])
    folders = [Path(word[2:]) for word in words if word.startswith("-I")]
    return _closure(Path(entry["directory"], entry["file"]), folders)


def _closure(source: Path, folders: Sequence[Path]) -> Iterator[Path]:
    """A file, and the headers that it includes by quotes, and they."""
    found = {source}
    todo = [source]
    while todo:
        path = todo.pop()
        yield path
        for name in _includes(path):
            for folder in (path.parent, *folders):
                header = (folder / name).resolve()
                if header.is_file():
                    todo += [] if header in found else [header]
                    found.add(header)
                    break


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


@cache
def _includes(path: Path) -> tuple[str, ...]:
    return tuple(_INCLUDE.findall(_text(path)))


@cache
def _has_condition(path: Path) -> bool:
    text = _text(path)
    return len(_CONDITION.findall(text)) > len(_GUARD.findall(text))


def main() -> None:
    """Write what is needed of the commands of a build into a folder, and say how much that is."""
    parser = argparse.ArgumentParser(prog="compile_commands")
    parser.add_argument("build", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--share", type=int, default=1)
    asked = parser.parse_args()
    entries = json.loads((asked.build / NAME).read_text(encoding="utf-8"))
    every = needed(entries)
    kept = drawn(every, asked.share, ROOT)
    (asked.folder / NAME).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(f"analysed: {len(kept)} of {len(every)}, which are needed of {len(entries)} commands")


if __name__ == "__main__":
    main()
