# SPDX-License-Identifier: BSD-2-Clause
"""`judge`: hold every recorded call of a run, or of a traced program, to the specification."""

import argparse
import itertools
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from results.errors import InputError
from results.runlog import records
from runners import runs
from runners.commands import Subparsers

if TYPE_CHECKING:
    from oracle import Deviation, Judgement

AGREES, DEVIATES, COULD_NOT_TELL = 0, 1, 2
# A record of a process, which `trace` has made.
TRACED = "trace"
# No line is longer: a trace of a million calls is one line.
_LONGEST = 256 << 20


def add_parser(commands: Subparsers) -> None:
    """Add `judge` to the command line."""
    parser = commands.add_parser(
        "judge",
        help="judge the calls of a run or of a program by the pages",
        description="Hold every call that a run or `trace` has recorded to the executable "
        "specification (docs/oracle.md), and print each deviation with its call, the reason and "
        "the clause. "
        "Exit code: 0 no call deviates, 1 one does, 2 no call could be judged, 64 wrong input.",
    )
    parser.add_argument(
        "named",
        nargs="?",
        metavar="RUN|TRACE",
        help="a run's id or folder (default: the latest), a file of its records as JSON lines, or "
        "a file of `trace`",
    )
    parser.add_argument("--case", default="", metavar="ID", help="only this case")
    parser.add_argument(
        "--clauses", action="store_true", help="print how often each clause was judged"
    )
    parser.set_defaults(run=_judge)


def _judge(options: argparse.Namespace) -> int:
    from results.worker_processes import in_order

    totals: Counter[str] = Counter()
    why: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    calls = judged = 0
    # A trace of one process can be one record of a million calls: it is not handed over.
    hold = map if options.named and Path(options.named).is_file() else in_order
    for told in hold(_hold, _parts(options)):
        judgement = told.judgement
        totals[judgement.verdict] += 1
        calls += told.calls
        judged += judgement.judged
        why.update(judgement.unjudged)
        asked.update(judgement.asked)
        for line in told.lines:
            print(line)
    words = ", ".join(f"{count} {word}" for word, count in sorted(totals.items())) or "no verdicts"
    print(f"{words}; {judged} of {calls} calls judged")
    for reason, count in why.most_common():
        print(f"  {count} unjudged: {reason}")
    if options.clauses:
        for clause, count in sorted(asked.items()):
            print(f"  {clause}: asked {count} times")
    if totals["deviates"]:
        return DEVIATES
    return AGREES if judged else COULD_NOT_TELL


@dataclass(frozen=True)
class _Part:
    """A record of calls, as its line has it, and what the run says of them."""

    line: str
    declared: dict[str, Any]
    patience: int


@dataclass(frozen=True)
class _Told:
    """What the specification says of a record, in lines too."""

    judgement: "Judgement"
    calls: int
    lines: list[str]


def _parts(options: argparse.Namespace) -> Iterator[_Part]:
    """The records that are to be judged."""
    import oracle

    declared: dict[str, Any] = {}
    patience = 1
    for record, line in _records(options):
        if record["type"] == "run":
            patience = record.get("patience", 1)
        if record["type"] in ("hosts", TRACED):
            declared = oracle.declared_of(record)
        if record["type"] in ("verdict", TRACED) and options.case in ("", _name(record)):
            yield _Part(line, declared, patience)


def _hold(part: _Part) -> _Told:
    import oracle

    record = json.loads(part.line)
    judgement = oracle.judge(record, part.declared, patience=part.patience)
    lines = []
    for deviation in judgement.deviations:
        mode = f" [{record['hosts']} hosts]" if record.get("hosts", 1) != 1 else ""
        lines.append(f"{_name(record)}{mode}: {_text(record, deviation)}")
    if judgement.damage:
        lines.append(f"{_name(record)}: unjudged: {judgement.damage}")
    if record["type"] == TRACED:
        lines += [f"{_name(record)}: {remark}" for remark in _remarks(record)]
    return _Told(judgement, len(record["calls"]), lines)


def _name(record: Any) -> str:
    """What a record is of: a case, or a program of a process."""
    if record["type"] != TRACED:
        return str(record["case"])
    return f"{Path(record['program']).name}[{record['pid']}]"


def _text(record: Any, deviation: "Deviation") -> str:
    """A deviation in one line; of a program, with the call as the reports print it."""
    if record["type"] != TRACED:
        return str(deviation)
    from reports.evidence_text import call_text
    from results.model.load import call_of

    line = next(call_text(call_of(raw)) for raw in record["calls"] if raw["n"] == deviation.n)
    return f"{deviation.call}: {deviation.why} [{deviation.clause}]\n  {line}"


def _remarks(record: Any) -> Iterator[str]:
    """What a trace lacks, and the calls in which the process ended."""
    from reports.evidence_text import call_text
    from results.model.load import call_of

    expected = 1
    for raw in record["calls"]:
        if raw["n"] != expected:
            yield f"calls {expected} to {raw['n'] - 1} are not kept: --size gives a trace more room"
        expected = raw["n"] + 1
    if record["stopped"]:
        yield f"what came behind call {expected - 1} is not recorded: {record['stopped']}"
    for raw in record["calls"]:
        if raw.get("unfinished"):
            yield f"a call did not return\n  {call_text(call_of(raw))}"


def _records(options: argparse.Namespace) -> Iterator[tuple[Any, str]]:
    """The records of a run, or of a file that `events` has printed, each with its line."""
    from results.errors import ReportError
    from results.runlog.events import read

    path = Path(options.named) if options.named else None
    if path is not None and path.is_file():
        yield from _lines(path)
        return
    folder = runs.find_run(options.checkout.runs, options.named)
    try:
        for record in read(folder / records.EVENTS):
            if record is None:
                print("udapl-cts: the last record was cut off, and is left out", file=sys.stderr)
            elif record.place is not None:
                yield record.values, record.place.raw.decode("utf-8", "surrogateescape")
    except ReportError as error:
        raise InputError(str(error)) from error


def _lines(path: Path) -> Iterator[tuple[Any, str]]:
    with path.open(encoding="utf-8") as file:
        for number in itertools.count(1):
            line = file.readline(_LONGEST)
            if not line:
                return
            try:
                record = json.loads(line)
                if not isinstance(record["type"], str):
                    raise TypeError
                if record["type"] == "verdict":
                    record["case"], record["hosts"], record["calls"]
                if record["type"] == TRACED:
                    record["program"], record["pid"], record["calls"]
            except (ValueError, LookupError, TypeError) as error:
                raise InputError(f"{path}:{number} is no record of a run") from error
            yield record, line
