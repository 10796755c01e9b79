# SPDX-License-Identifier: BSD-2-Clause
"""The end of a run on a terminal: findings, counts, parity of the modes, where the report is."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reports.evidence_text import finding_text, walked
from results.analysis import features, waivers
from results.analysis.differences import warnings
from results.analysis.pairs import pairs
from results.analysis.profiles import CRITERIA, profiles
from results.causes.advice import advice
from results.causes.cause import Cause
from results.causes.grouping import causes, unknown_causes
from results.model.attempt import NOT_KEPT, Attempt, Verdict
from results.model.clause import Case, Waiver
from results.model.run import Run
from runners.campaign.plan.plan import mode
from runners.campaign.schedule.progress import STYLES, one_line

RESULT_STYLES = {
    "success": "green",
    "partial": "yellow",
    "not known": "yellow",
    "fail": "bold red",
    "not declared": "blue",
}


def show(run: Run, out: Console) -> str:
    """Print what `run` found; the case to replay first, empty if there is none."""
    rows = [(case, hosts) for case in run.cases for hosts in sorted(case.modes)]
    verdicts = {(case.id, hosts): case.verdict(hosts) or Verdict.NOT_RUN for case, hosts in rows}
    found = causes(run)
    _findings(run, found, out)
    counts = Counter(verdicts.values())
    words = [(f"{counts[word]} {word}", STYLES[word]) for word in Verdict if counts[word]]
    line = Text(f"{len(rows)} runs of {len(run.cases)} cases: ")
    out.print(line.append_text(Text(", ").join(Text(*word) for word in words)))
    _teardown(run, out)
    _unstable(run, out)
    _parity(run, out)
    _pairs(run, out)
    _profiles(run, out)
    for said in features.sentences(run):
        out.print(Text(f"features: {said}", style="bold yellow"), soft_wrap=True)
    for warning in warnings(run):
        out.print(Text(f"warning: {warning}", style="bold yellow"))
    if run.waivers:
        out.print(Text(waivers.sentence(run)))
    conclusion = run.conclusion
    out.print(Text(run.exploration), soft_wrap=True)
    for kind, states in run.explored.by_object if run.explored else ():
        out.print(Text(f"  {kind}: {states}"), soft_wrap=True)
    style = {"conformant": "bold green", "not conformant": "bold red"}.get(conclusion.word)
    if run.subject.libdat:
        digest = run.subject.libdat_sha256[:16]
        out.print(Text(f"registry: {run.subject.libdat} (sha256 {digest})"), soft_wrap=True)
    out.print(Text(f"clauses of {run.coverage}"))
    out.print(Text(f"{run.records} records, the last of digest {run.digest}"), soft_wrap=True)
    out.print(Text(conclusion.sentence))
    out.print(Text.assemble((conclusion.word, style or "bold yellow"), f": {conclusion.because}"))
    if mend := advice(run, found):
        out.print(Text(mend, style="bold"))
    return next((cause.example.id for cause in found if cause.cases), run.first_broken)


def show_files(html: Path | None, run: Run, first: str, out: Console) -> None:
    """Print where to read on: the report, and the replay of the case `first`."""
    if html is not None:
        out.print(Text(f"report: {html}"))
    if first:
        out.print(Text(f"replay: {run.replay(first)}"))


def _findings(run: Run, found: Sequence[Cause], out: Console) -> None:
    """Each cause with its first example: the table of all that it led to is the report's."""
    waived = waivers.waived(run)
    for cause in (*found, *unknown_causes(run)):
        word = Text(cause.verdict, style=STYLES[cause.verdict])
        known = sum(clause.id in waived for clause in cause.clauses)
        extent = cause.extent + (f", {known} waived" if known else "")
        if cause.is_registrys:
            extent += f", of {run.subject.registry}"
        out.print(Text.assemble(word, f" in {extent}: {one_line(cause.name)}"))
        attempt = cause.example.decisive
        if attempt is not None:
            named = f"{cause.example.id}  {mode(attempt.hosts)}"
            more = _known(cause.example, attempt, waived)
            for line in (f"{named}{more}", *_parts(cause.example)):
                out.print(Padding(Text(line), (0, 0, 0, 4), expand=False))
    not_run = Counter(
        hosts for case in run.cases for hosts in case.modes if case.first(hosts) is None
    )
    for hosts, count in sorted(not_run.items()):
        out.print(Text(f"NOT-RUN: {count} with {mode(hosts)}", style=STYLES["NOT-RUN"]))


def _parts(case: Case) -> list[str]:
    """The finding of a case: requirement, what was done, expected, seen."""
    lines = finding_text(case, case.decisive) if case.decisive else []
    check = case.decisive.failed_check if case.decisive else None
    at = [f"at: {check.file}:{check.line}"] if check else []
    return [one_line(line) for line in (*lines, *at)]


def _known(case: Case, attempt: Attempt, waived: Mapping[str, Waiver]) -> str:
    """What else is known of it: its second attempt, and its waiver."""
    said = ""
    again = [a for a in case.ordered if a.hosts == attempt.hosts and a.number == 2]
    if again:
        said += f" (again, alone: {again[0].verdict})"
    if attempt.verdict in NOT_KEPT and case.clause.id in waived:
        said += f" (waived until {waived[case.clause.id].expires})"
    return said


def _teardown(run: Run, out: Console) -> None:
    for broken in run.breakages:
        out.print(Text(f"{one_line(broken.text)}, {broken.extent}", style="bold red"))
        for line in walked(broken.walk) if broken.walk else ():
            out.print(Padding(Text(one_line(line)), (0, 0, 0, 4), expand=False))


def _unstable(run: Run, out: Console) -> None:
    if run.again:
        out.print(Text(f"again: {run.again}"))
    if not run.unstable:
        return
    out.print(Text(f"unstable: {len(run.unstable)} ended otherwise when they were run again"))
    for case in run.unstable:
        for hosts in case.unstable:
            ended = case.ended(hosts)
            out.print(Text(f"  {case.id} [{mode(hosts)}]: {', then '.join(ended)}"))


def _profiles(run: Run, out: Console) -> None:
    table = Table("profile", "result", "because", box=None, pad_edge=False)
    table.columns[2].overflow = "fold"
    found = profiles(run)
    touched = [profile for profile in found if profile.standings]
    for profile in touched:
        result = Text(profile.result, style=RESULT_STYLES[profile.result])
        table.add_row(Text(profile.title), result, Text(profile.because))
    if touched:
        out.print(table)
    for word in dict.fromkeys(profile.result for profile in touched):
        out.print(Text(f"{word}: {CRITERIA[word]}", style="dim"))
    others = [profile.title for profile in found if not profile.standings]
    if others:
        out.print(Text(f"nothing of other profiles was run: {', '.join(others)}", style="dim"))


def _parity(run: Run, out: Console) -> None:
    parity = run.parity
    if not parity.compared:
        return
    if not parity.differing:
        out.print(Text(f"parity: {parity.compared} cases ran in each mode, and agree"))
        return
    out.print(Text(f"parity: {len(parity.differing)} of {parity.compared} cases differ by mode"))
    for case in parity.differing:
        said = ", ".join(f"{mode(hosts)} {case.verdict(hosts)}" for hosts in sorted(case.modes))
        out.print(Text(f"  {case.id}: {said}"))


def _pairs(run: Run, out: Console) -> None:
    found = pairs(run)
    if not found.names:
        return
    count = len({difference.case.id for difference in found.differences})
    differ = f"which differ in {count} case{'s' if count != 1 else ''}" if count else "which agree"
    out.print(Text(f"pairs: {len(found.cells)} hosts and pairs of hosts, {differ}"))
    for difference in found.differences:
        said = [
            f"{verdict} on {'-'.join(places[0])}"
            + (f" and {len(places) - 1} more" if len(places) > 1 else "")
            for verdict, places in difference.places
        ]
        out.print(Text(f"  {difference.case.id} [{mode(difference.hosts)}]: {', '.join(said)}"))
