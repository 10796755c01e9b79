# SPDX-License-Identifier: BSD-2-Clause
"""Of a build's compile commands those that an analysis needs (docs/decisions/0102-gate.md).

Most files are compiled twice, for DAT 1.2 and for 2.0, and are the same text both times. So each
file is analysed as its first command has it; and each that has a conditional in it, or a header
with one, by so many commands more that every such file is met under all definitions that it is
compiled with.

Run it as `python -m runners.compile_commands BUILD FOLDER`: it writes the folder's
compile_commands.json.
"""

import json
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

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


def _asks(entry: Entry) -> set[tuple[Path, frozenset[str]]]:
    """The files with a conditional that a command compiles, and the definitions that decide it."""
    words = shlex.split(entry["command"])
    source = Path(entry["directory"], entry["file"])
    folders = [Path(word[2:]) for word in words if word.startswith("-I")]
    told = [after for word, after in pairwise(words) if word == "-include"]
    definitions = frozenset([word for word in words if word.startswith("-D")] + told)
    return {(path, definitions) for path in _closure(source, folders) if _has_condition(path)}


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


def main(build: Path, folder: Path) -> None:
    """Write what is needed of the commands of `build` into `folder`, and say how much that is."""
    entries = json.loads((build / NAME).read_text(encoding="utf-8"))
    kept = needed(entries)
    (folder / NAME).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(f"{len(kept)} of {len(entries)} compile commands")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
