# SPDX-License-Identifier: BSD-2-Clause
"""Judges the calls in a record anew, by the executable specification of this clone.

What a record says of its calls is then no word of the one who wrote it. A forged verdict needs a
forged trace in which no call deviates.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import oracle
from results.runlog.events import read
from results.runlog.printable import printable
from results.runlog.records import EVENTS, Record
from runners.campaign.session.model import found_by_model


@dataclass
class Rejudged:
    """What came of judging each verdict's calls again."""

    records: int = 0
    calls: int = 0
    judged: int = 0
    # The first records that say otherwise, one sentence each; and how many do.
    wrong: list[str] = field(default_factory=list)
    differing: int = 0

    def take(self, record: Record, declared: Mapping[str, Any], patience: int, told: int) -> None:
        """Judge a verdict's record; keep `told` sentences."""
        judgement = oracle.judge(record, declared, patience=patience)
        self.records += 1
        self.calls += len(record["calls"])
        self.judged += judgement.judged
        why = _differs(record, judgement.record)
        if not why:
            return
        self.differing += 1
        if len(self.wrong) < told:
            where = f"{record['case']} on {record['hosts']}, attempt {record['attempt']}"
            self.wrong.append(printable(f"{where}: {why}"))


def rejudge(folder: Path, told: int) -> Rejudged:
    """Judge the calls of each verdict of the run in `folder`.

    Raises ReportError for a record that cannot be read. Tells of `told` differences.
    """
    rejudged = Rejudged()
    declared: dict[tuple[int, str], dict[str, Any]] = {}
    patience = 1
    for record in _records(folder):
        if record["type"] == "run":
            patience = record.get("patience", 1)
        elif record["type"] == "hosts":
            for name, said in _declared(record):
                declared[record["hosts"], name] = said
        elif record["type"] in ("verdict", "walk"):
            taken = record.get("record", record)
            known = declared.get((taken["hosts"], taken["host"]), {})
            rejudged.take(taken, known, patience, told)
    return rejudged


def _records(folder: Path) -> Iterator[Record]:
    """The records as they were written: a reader makes strings printable, which rules compare."""
    for record in read(folder / EVENTS):
        if record is not None and record.place is not None:
            yield json.loads(record.place.raw)


def _declared(record: Record) -> Iterator[tuple[str, dict[str, Any]]]:
    """What the IA of each host declares, by the name of the host."""
    ias = [record["ia"], *record.get("other_ias", ())]
    for number, fact in enumerate(record["facts"]):
        ia = ias[number] if number < len(ias) else record["ia"]
        yield fact["name"], oracle.declared_of({"ia": ia})


def _differs(record: Record, due: Mapping[str, Any]) -> str:
    """How a record speaks against what its calls are worth; nothing where it does not."""
    said = record.get("oracle")
    if due["verdict"] == "deviates":
        should = found_by_model({**record, "oracle": due})
        if should["verdict"] != record["verdict"] or should.get("breaks") != record.get("breaks"):
            return f"it is {record['verdict']}, and {due['why']}"
    if said is None:
        return "it does not say what the executable specification found"
    if said != due:
        members = Counter(name for name in {**said, **due} if said.get(name) != due.get(name))
        return f"its calls, judged again, give another {min(members)!r} than it says"
    return ""
