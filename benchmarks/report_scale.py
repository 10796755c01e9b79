# SPDX-License-Identifier: BSD-2-Clause
"""What reports weigh, by how many verdicts they tell.

Run it as `.venv/bin/python -m benchmarks.report_scale RUN [VERDICTS...]`, of the folder of a whole
run that was kept. Its verdicts, with all their evidence, are repeated under other names, or left
out, until there are so many; a process for each reads them and makes all reports.
"""

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any

from reports.render import FORMATS, render
from results.model.load import load
from results.runlog.chain import START, linked
from results.runlog.events import read
from results.runlog.frames import EVENTS, Writer

Values = dict[str, Any]
VERDICTS = (2_000, 8_000, 32_000)


def records_of(run: Path) -> Iterator[Values]:
    """The records of a run, without what holds them together."""
    for record in read(run / EVENTS):
        if record is None:
            raise SystemExit(f"{run} is no whole run")
        yield {name: value for name, value in record.values.items() if name not in ("n", "prev")}


def grown(run: Path, verdicts: int, folder: Path) -> None:
    """Make a run of so many verdicts of those of `run`."""
    first, last, told = _told(run)
    chosen = list(islice(told, verdicts))
    names = dict.fromkeys(number for number, _ in chosen)
    planned = {(number, each["case"], each["hosts"]) for number, each in chosen}
    head = first | {
        "clauses": [
            each | {"id": _named(each["id"], number)}
            for number in names
            for each in first["clauses"]
        ],
        "plan": [
            each | {"case": _named(each["case"], number)}
            for number in names
            for each in first["plan"]
            if (number, each["case"], each["hosts"]) in planned
        ],
    }
    with (folder / EVENTS).open("wb") as file:
        writer, link = Writer(), START
        others = (each for each in records_of(run) if each["type"] == "hosts")
        renamed = (each | {"case": _named(each["case"], number)} for number, each in chosen)
        for record in (head, *others, *renamed, last):
            line = linked(
                json.dumps(record, ensure_ascii=False).encode(errors="surrogateescape"), link
            )
            link = link.to(line)
            file.write(writer.lines([line]))
        file.write(writer.end())


def _told(run: Path) -> tuple[Values, Values, Iterator[tuple[int, Values]]]:
    """The first record and the last, and the first verdicts over and over, each time by number."""
    records = list(records_of(run))
    firsts = [each for each in records if each["type"] == "verdict" and each["attempt"] == 1]
    return records[0], records[-1], ((number, each) for number in count() for each in firsts)


def _named(name: str, number: int) -> str:
    page, slash, rest = name.partition("/")
    return f"{page}{slash}n{number}_{rest}" if number else name


def report(folder: Path) -> None:
    """Read a run and make its reports; print what it took of memory and of processors."""
    run = load(folder)
    read_by = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for fmt in FORMATS:
        render(folder, fmt, run)
    own = resource.getrusage(resource.RUSAGE_SELF)
    copy = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = own.ru_utime + own.ru_stime + copy.ru_utime + copy.ru_stime
    size = sum(path.stat().st_size for path in folder.iterdir() if path.name != EVENTS)
    print(
        f"| {read_by >> 10} MiB | {own.ru_maxrss >> 10} MiB | {copy.ru_maxrss >> 10} MiB "
        f"| {seconds:.1f} s | {size / 1e6:.0f} MB |"
    )


def main(arguments: Sequence[str]) -> None:
    """Measure, and print a table."""
    if arguments[:1] == ["--report"]:
        report(Path(arguments[1]))
        return
    if arguments[:1] == ["--grow"]:
        grown(Path(arguments[1]), int(arguments[2]), Path(arguments[3]))
        return
    if not arguments:
        raise SystemExit("of which run? Give its folder")
    run, me = Path(arguments[0]), [sys.executable, "-m", "benchmarks.report_scale"]
    print("| verdicts | read | at the most | the copy | processor time | reports |")
    print("|---:|---:|---:|---:|---:|---:|", flush=True)
    for verdicts in arguments[1:] or VERDICTS:
        # Beside the run: where temporary files are may be memory.
        with tempfile.TemporaryDirectory(prefix="udapl-cts-", dir=run.parent) as name:
            # A process's size is at first that of what started it, so this one stays small.
            subprocess.run([*me, "--grow", str(run), str(verdicts), name], check=True)
            said = subprocess.run(
                [*me, "--report", name], check=True, stdout=subprocess.PIPE, text=True
            )
        print(f"| {int(verdicts):,} {said.stdout}", end="", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
