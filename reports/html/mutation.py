# SPDX-License-Identifier: BSD-2-Clause
"""faults.html: which faults the cases caught."""

from pathlib import Path

from reports.html.html_env import environment, style
from results.analysis.mutation import KEPT, PAGE, RED, Outcome, load
from results.errors import ReportError


def render(folder: Path) -> Path:
    """Write faults.html beside the faults.jsonl of `folder` and return its path.

    Raises ReportError as load() does, and if the page cannot be written.
    """
    template = environment().get_template("faults.html")
    text = template.render(run=load(folder), Outcome=Outcome, style=style(), RED=RED, KEPT=KEPT)
    path = folder / PAGE
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ReportError(f"cannot write {path}: {error.strerror}") from None
    return path
