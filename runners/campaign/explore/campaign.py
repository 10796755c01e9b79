# SPDX-License-Identifier: BSD-2-Clause
"""An exploration: a search on one provider, with what it found in a folder."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reports.evidence_text import call_text
from results.errors import InputError, RunnerError
from results.model.load import attempt_of
from results.runlog.records import Record
from results.runlog.walks import wrong
from runners.campaign.explore.emit import case_of
from runners.campaign.explore.search import Finding, Search
from runners.campaign.explore.walk import Walker
from runners.campaign.plan.assignment import Assignment
from runners.campaign.plan.plan import identity
from runners.campaign.plan.subject import Subject
from runners.checkout import Checkout
from runners.fabric import datconf

FINDINGS = "findings.jsonl"
SUMMARY = "explore.json"
DAT_CONF = "dat.conf"


@dataclass(frozen=True)
class Order:
    """What is explored, where and for how long. `fault` is a fault to break the provider by."""

    subject: Subject
    fabric: str
    settings: dict[str, Any]
    objects: Sequence[str]
    steps: int
    seconds: float
    seed: int
    walks: int = 0
    hosts: int = 1  # with two, the peer's is the second
    fault: str = ""
    # The provider by whose answers findings are written as C cases; None: none is written.
    reference: Subject | None = None

    @property
    def ia(self) -> str | None:
        """The IA that a walk opens instead of the subject's own."""
        return f"fault:{self.fault}" if self.fault else None


@dataclass
class Explored:
    """What came of it."""

    walks: int
    calls: Counter[str]
    returns: Counter[tuple[str, str]]
    judged: int
    findings: list[Finding] = field(default_factory=list)


def assignment(checkout: Checkout, order: Order, folder: Path) -> Assignment:
    """The puppet in the place of the cases' binary, with the subject's dat.conf and the fault's."""
    path = folder / DAT_CONF
    text = order.subject.dat_conf
    if order.fault:
        library, params = checkout.faulty_provider, f"{order.subject.ia} fault={order.fault}"
        text += datconf.lines(f"fault:{order.fault}", library, params)
    path.write_text(text, encoding="utf-8")
    return Assignment(
        fabric=checkout.fabrics[order.fabric],
        argv=(str(checkout.puppet), "--serve", "--ia", order.subject.ia),
        env={"DAT_OVERRIDE": str(path)},
        logs=str(folder / "hosts"),
        plan=(),
        settings=order.settings,
        identity=identity(checkout.puppet),
        seed=order.seed,
    )


def explore(
    checkout: Checkout,
    order: Order,
    folder: Path,
    progress: Callable[[Walker], None],
    tell: Callable[[Finding, Path], None],
) -> Explored:
    """Search, and write each finding into `folder` as soon as it is shrunk."""
    folder.mkdir(parents=True, exist_ok=True)
    walker = Walker(assignment(checkout, order, folder), order.ia, order.hosts)
    done = Explored(0, walker.calls, walker.returns, 0)
    search = Search(
        walker,
        order.objects,
        order.steps,
        order.seed,
        order.seconds,
        order.walks,
        lambda: progress(walker),
    )
    try:
        for finding in search.findings():
            done.findings.append(finding)
            number = len(done.findings)
            tell(finding, _keep(folder, number, finding))
            if order.reference is not None:
                emit(checkout, order, order.reference, folder, number, finding)
    finally:
        walker.close()
        done.walks, done.judged = walker.walks, walker.judged
        _summarise(folder, order, done)
    return done


def _keep(folder: Path, number: int, finding: Finding) -> Path:
    """Write a finding's steps, and its record for `judge`; the steps' file."""
    path = folder / f"{number}.steps"
    wrong = finding.wrong
    told = [f"# {wrong.what}: {wrong.why}", f"# shown {finding.shown} of {finding.again} times"]
    path.write_text("\n".join((*told, *finding.program)) + "\n", encoding="utf-8")
    with (folder / FINDINGS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(finding.record) + "\n")
    return path


def emit(
    checkout: Checkout,
    order: Order,
    reference: Subject,
    folder: Path,
    number: int,
    finding: Finding,
) -> None:
    """Write a finding as a C case into `folder`, by what the reference provider answers."""
    path, beside = folder / f"{number}.c", folder / "reference"
    beside.mkdir(exist_ok=True)
    plain = replace(order, subject=reference, fault="")
    walker = Walker(assignment(checkout, plain, beside))
    try:
        record = walker.walk(finding.program)
        text = case_of(finding.program, finding.record, record, finding.wrong, number)
    except (RunnerError, InputError) as error:
        print(f"  no C case: {error}")
        return
    finally:
        walker.close()
    path.write_text(text, encoding="utf-8")
    print(f"  as a C case: {path}")


def _summarise(folder: Path, order: Order, done: Explored) -> None:
    summary = {
        "subject": order.subject.library,
        "seed": order.seed,
        "seconds": order.seconds,
        "hosts": order.hosts,
        "objects": list(order.objects),
        "fault": order.fault,
        "walks": done.walks,
        "calls": dict(sorted(done.calls.items())),
        "returns": [[*key, count] for key, count in sorted(done.returns.items())],
        "judged": done.judged,
        "findings": [
            {
                "what": each.wrong.what,
                "call": each.wrong.call,
                "clause": each.wrong.clause,
                "why": each.wrong.why,
                "shown": each.shown,
                "again": each.again,
                "steps": list(each.program),
            }
            for each in done.findings
        ],
    }
    (folder / SUMMARY).write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")


def calls_of(finding: Finding) -> list[str]:
    """The calls of a finding's walk up to the one that deviates, as the reports print calls."""
    attempt = attempt_of(finding.record)
    return [call_text(call) for call in attempt.calls if call.n <= finding.wrong.n]


def tell_walk(record: Record) -> bool:
    """Print the calls of a walk, and what is wrong with it; whether anything is."""
    found = wrong(record)
    for call in attempt_of(record).calls:
        here = found is not None and call.n == found.n
        print(call_text(call) + ("   <-- here" if here else ""))
    print(f"{found.what}: {found.why}" if found else "no call deviates")
    return found is not None
