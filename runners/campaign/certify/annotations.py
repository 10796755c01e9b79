# SPDX-License-Identifier: BSD-2-Clause
"""The findings of a run as annotations of a CI server: one for each cause, the worst first."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from reports.evidence_text import finding_text
from reports.render import replace
from results.causes.cause import Cause
from results.causes.grouping import causes, unknown_causes
from results.model.run import Run

# GitLab reads this file as a code quality report.
GITLAB_FILE = "gl-code-quality-report.json"


def annotate(run: Run, server: str, folder: Path) -> Iterator[str]:
    """The lines to print for `server`, github or gitlab. For gitlab, a file in `folder` is written.

    Raises OSError if that file cannot be written.
    """
    if server == "github":
        yield from _github(run)
        return
    path = folder / GITLAB_FILE
    replace(path, json.dumps(list(_gitlab(run)), indent=2) + "\n")
    yield f"annotations: {path}"


def _findings(run: Run) -> Iterator[tuple[str, Cause]]:
    yield from (("error", cause) for cause in causes(run))
    yield from (("warning", cause) for cause in unknown_causes(run))


def _text(cause: Cause) -> str:
    case = cause.example
    lines = finding_text(case, case.decisive) if case.decisive else []
    return "\n".join([f"{cause.verdict} in {cause.extent}: {cause.name}", *lines])


def _github(run: Run) -> Iterator[str]:
    for level, cause in _findings(run):
        title = _escaped(cause.example.id).replace(":", "%3A").replace(",", "%2C")
        yield f"::{level} title={title}::{_escaped(_text(cause))}"


def _escaped(text: str) -> str:
    """As a workflow command has it: one line."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _gitlab(run: Run) -> Iterator[dict[str, object]]:
    for level, cause in _findings(run):
        named = f"{cause.example.id} {cause.verdict} {cause.name}"
        yield {
            "description": _text(cause),
            "check_name": cause.example.id,
            "fingerprint": hashlib.sha256(named.encode()).hexdigest(),
            "severity": "critical" if level == "error" else "minor",
            # GitLab requires a file and a line. The suite knows the library only.
            "location": {"path": Path(run.subject.library).name, "lines": {"begin": 1}},
        }
