# SPDX-License-Identifier: BSD-2-Clause
"""The front door: one run folder in, one report file out."""

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from reports.html import customer
from reports.html import report as html
from reports.text import canonical_json as canonical
from reports.text import junit, markdown
from results.analysis.sentences import Words
from results.errors import ReportError
from results.gc_pause import uncollected
from results.model.load import load
from results.model.run import Run

_RENDERERS: dict[str, tuple[str, Callable[[Run], str | Iterable[str]]]] = {
    "customer": ("customer.html", customer.render),
    "html": ("report.html", html.render),
    "json": ("report.json", canonical.render),
    "junit": ("junit.xml", junit.render),
    "md": ("report.md", markdown.render),
}

FORMATS = tuple(_RENDERERS)
NAMES = tuple(name for name, _ in _RENDERERS.values())
# So old, in seconds, no process writes a report any more.
LEFT = 60.0
WITH_PAGES = "report-with-pages.html"


def render(
    run_dir: Path,
    fmt: str,
    run: Run | None = None,
    words: Words | None = None,
    said: Mapping[str, object] | None = None,
) -> Path:
    """Makes the report `fmt` (one of FORMATS) of the run in `run_dir` and returns its path there.

    `run` is that run where it is loaded already, which takes as long as a report. With `words`, the
    HTML has the words of the pages' sentences, and a name that says so: they are not the suite's to
    pass on. The customer's page has the statement that was `said`, or else the one beside the run.

    The file is replaced as a whole or left as it was. Raises ReportError when there is no such run
    or format, when events.jsonl.zst is of a newer format or damaged, or when the file cannot be
    written.
    """
    if fmt not in _RENDERERS:
        raise ReportError(f"no such report format: {fmt}; there are {', '.join(FORMATS)}")
    name, renderer = _RENDERERS[fmt]
    name = name if words is None else WITH_PAGES
    run = run or load(run_dir)
    path = run_dir / name
    try:
        with uncollected():
            if fmt == "customer":
                told = customer.stated(run_dir) if said is None else customer.statement(said)
                replace(path, customer.render(run, told))
            elif fmt == "html":
                replace(path, html.render(run, words))
            else:
                replace(path, renderer(run))
    except OSError as error:
        raise ReportError(f"cannot write {path}: {error.strerror or error}") from None
    return path


def replace(path: Path, text: str | Iterable[str]) -> None:
    """Replaces a file as a whole, by a text or its pieces, or leaves it as it was. Raises OSError.

    What one that was killed had begun goes with it.
    """
    for left in path.parent.glob(f".{path.name}.*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > LEFT:
                left.unlink()
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            file.writelines([text] if isinstance(text, str) else text)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
