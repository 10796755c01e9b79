# SPDX-License-Identifier: BSD-2-Clause
"""The end of a run on a terminal: findings, counts, parity of the modes, where the report is."""

from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from reports.model import NOT_KEPT, UNKNOWN, Case, Run, Verdict
from runners.plan import mode
from runners.progress import STYLES, one_line


def show(run: Run, out: Console) -> None:
    """Print what `run` found."""
    rows = [(case, hosts) for case in run.cases for hosts in sorted(case.modes)]
    verdicts = {(case.id, hosts): case.verdict(hosts) or Verdict.NOT_RUN for case, hosts in rows}
    _findings(run, rows, out)
    counts = Counter(verdicts.values())
    words = [(f"{counts[word]} {word}", STYLES[word]) for word in Verdict if counts[word]]
    line = Text(f"{len(rows)} runs of {len(run.cases)} cases: ")
    out.print(line.append_text(Text(", ").join(Text(*word) for word in words)))
    _parity(run, out)
    conclusion = run.conclusion
    style = {"conformant": "bold green", "not conformant": "bold red"}.get(conclusion.word)
    out.print(Text.assemble((conclusion.word, style or "bold yellow"), f": {conclusion.because}"))


def show_files(html: Path | None, run: Run, out: Console) -> None:
    """Print where to read on."""
    if html is not None:
        out.print(Text(f"report: {html}"))
    if run.findings:
        out.print(Text(f"replay: {run.replay(run.findings[0])}"))


def _findings(run: Run, rows: list[tuple[Case, int]], out: Console) -> None:
    table = Table("verdict", "case", "mode", "what happened", box=None, pad_edge=False)
    table.columns[3].overflow = "fold"
    not_run: Counter[int] = Counter()
    for case, hosts in rows:
        attempt = case.first(hosts)
        if attempt is None:
            not_run[hosts] += 1
        elif attempt.verdict in NOT_KEPT | UNKNOWN:
            again = [a for a in case.ordered if a.hosts == hosts and a.number == 2]
            second = f" (again, alone: {again[0].verdict})" if again else ""
            word = Text(attempt.verdict, style=STYLES[attempt.verdict])
            said = one_line(attempt.summary) + second
            table.add_row(word, Text(case.id), Text(mode(hosts)), Text(said))
    if table.row_count:
        out.print(table)
    for hosts, count in sorted(not_run.items()):
        out.print(Text(f"NOT-RUN: {count} with {mode(hosts)}", style=STYLES["NOT-RUN"]))


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
