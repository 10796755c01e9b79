# SPDX-License-Identifier: BSD-2-Clause
"""Check that no room of the reference provider uses a symbol of a higher room.

Run it as `rooms.py FOLDER OBJECT...` with all object files of the provider as CMake lays them out:
FOLDER/<room>/<file>.c.o, and the files on top in FOLDER itself. It prints each violation and exits
with 1 if there is one. NM names the program that lists symbols.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

# A room may use the rooms with a smaller number. Rooms with the same number do not use each other.
RANKS = {"base": 0, "memory": 1, "event": 1, "endpoint": 2, "connect": 3, "adapter": 4, "": 5}

# The file and the symbol of a higher room that it uses: those that event/owner.h declares, because
# a callback in their place would cost an indirect call for each message.
EXCEPTIONS = {
    ("event/evd.c", "cr_discard"),
    ("event/evd.c", "ep_recv_held"),
    ("event/evd.c", "srq_buffer_reaped"),
    ("event/evd_cq.c", "ep_failed"),
    ("event/evd_cq.c", "ep_recv_held"),
    ("event/evd_cq.c", "lmr_serves"),
    ("event/evd_cq.c", "srq_buffer_reaped"),
    ("event/evd_cq.c", "srq_buffer_taken"),
    ("event/evd_queue.c", "ep_recv_held"),
    ("event/evd_queue.c", "srq_buffer_reaped"),
    ("event/evd_wait.c", "ep_recv_held"),
    ("event/evd_wait.c", "srq_buffer_reaped"),
}


def symbols(path: Path) -> Iterator[tuple[str, bool]]:
    """The global symbols of an object file, and whether the file defines them."""
    argv = [os.environ.get("NM", "nm"), "-g", "-P", str(path)]
    output = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    for line in output.splitlines():
        name, kind = line.split()[:2]
        yield name, kind not in "Uw"


def room(source: str) -> str:
    """The room of a file, or the empty string for a file on top."""
    return source.rpartition("/")[0]


def violations(folder: Path, objects: Sequence[Path]) -> tuple[list[str], set[tuple[str, str]]]:
    """The uses of a higher room that no exception allows, and the exceptions that are unused."""
    definitions: dict[str, str] = {}
    uses: list[tuple[str, str]] = []
    for path in objects:
        source = str(path.relative_to(folder)).removesuffix(".o")
        if room(source) not in RANKS:
            raise SystemExit(f"{path}: {room(source)} is no room; add it to RANKS")
        for name, defined in symbols(path):
            if defined:
                definitions[name] = source
            else:
                uses.append((source, name))
    found = []
    unused = set(EXCEPTIONS)
    for source, name in uses:
        owner = definitions.get(name, source)
        if room(owner) == room(source) or RANKS[room(owner)] < RANKS[room(source)]:
            continue
        if (source, name) in EXCEPTIONS:
            unused.discard((source, name))
        else:
            found.append(f"{source} uses {name}() of {owner}, which is in no lower room")
    return found, unused


def main(arguments: Sequence[str]) -> int:
    """Print the violations; return 1 if there are any or if an exception is unused."""
    if len(arguments) < 2:
        raise SystemExit("usage: rooms.py FOLDER OBJECT...")
    folder, *objects = map(Path, arguments)
    found, unused = violations(folder, objects)
    for line in found:
        print(line)
    for source, name in sorted(unused):
        print(f"{source} does not use {name}(): remove the exception from rooms.py")
    return 1 if found or unused else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
