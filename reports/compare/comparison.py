# SPDX-License-Identifier: BSD-2-Clause
"""A comparison of two runs for people (text, HTML, Markdown) and for programs (JSON)."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from reports.evidence_text import duration
from reports.html.html_env import environment, style
from reports.md_escape import code, plain
from results.analysis.comparison import Change, Comparison, Difference, Kind, Slower, seconds
from results.model.clause import Clause, hosts_word
from results.model.run import Run

FORMAT = 1
# How many rows of each kind a person is shown where the whole would be pages of them.
_LISTED = 40
_SLOWER = 10


def text(found: Comparison) -> str:
    """Returns the comparison as plain text, its result last, as a terminal needs it."""
    lines = [f"before: {named(found.before)}", f"after:  {named(found.after)}"]
    for title, rows in (("differs", found.subjects), ("attribute", found.attributes)):
        lines += [f"{title}: {row.name}: {_was_now(row)}" for row in rows]
    for cause in found.new_findings:
        case = cause.example
        summary = case.decisive.summary if case.decisive else ""
        lines.append(f"new finding, {cause.verdict} in {cause.extent}: {cause.name}")
        lines.append(f"    {case.id}: {summary}")
    lines += [f"new finding, {one.text}, {one.extent}" for one in found.new_breakages]
    lines += [f"mended, {one.text}, {one.extent}" for one in found.mended_breakages]
    for kind in Kind:
        changes = found.of(kind)
        lines += [f"{kind}: {len(changes)}"] if changes else []
        lines += [f"    {change.clause.id}  {modes(change)}" for change in changes[:_LISTED]]
        lines += _more(changes)
    for title, clauses in _missing(found):
        lines += [f"{title}: {len(clauses)}"]
        lines += [f"    {page}: {count}" for page, count in by_page(clauses).items()]
    lines += [f"slower: {slower(each)}" for each in found.slower[:_SLOWER]]
    lines.append(took(found))
    lines.append(f"{found.word}: {found.sentence}")
    return "\n".join(lines) + "\n"


def markdown(found: Comparison) -> str:
    """Returns the comparison as Markdown, its result first, for a comment on a change."""
    lines = [f"### {found.word.capitalize()}: {plain(found.sentence)}", ""]
    lines += [f"- before: {code(named(found.before))}", f"- after: {code(named(found.after))}"]
    lines += [f"- {plain(took(found))}", ""]
    lines += _table("what differs", [*found.subjects, *found.attributes])
    for cause in found.new_findings:
        lines.append(f"- new: **{cause.verdict}** in {cause.extent}: {code(cause.name)}")
        lines.append(f"  - first {code(cause.example.id)}: {plain(cause.example.clause.whole)}")
    lines += [f"- new: **{one.word}** {code(one.text)}" for one in found.new_breakages]
    lines += [f"- mended: **{one.word}** {code(one.text)}" for one in found.mended_breakages]
    for kind in Kind:
        changes = found.of(kind)
        lines += ["", f"{len(changes)} {kind}:", ""] if changes else []
        lines += [f"- {code(one.clause.id)} {plain(modes(one))}" for one in changes[:_LISTED]]
        lines += [f"- {line.strip()}" for line in _more(changes)]
    for title, clauses in _missing(found):
        pages = ", ".join(f"{code(page)} {count}" for page, count in by_page(clauses).items())
        lines += ["", f"{title}: {len(clauses)} clauses ({pages})"]
    lines += ["", *(f"- slower: {plain(slower(each))}" for each in found.slower[:_SLOWER])]
    return "\n".join(lines).rstrip() + "\n"


def canonical(found: Comparison) -> str:
    """Returns the comparison as JSON, the same text for the same two runs
    (docs/comparison.schema.json).
    """
    return json.dumps(_told(found), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def html(found: Comparison) -> str:
    """Returns the comparison as one HTML page, without scripts and network."""
    template = environment().get_template("comparison.html")
    return template.render(
        found=found,
        style=style(),
        kinds=list(Kind),
        missing=_missing(found),
        by_page=by_page,
        modes=modes,
        named=named,
        slower=slower,
        most_slower=_SLOWER,
        took=took(found),
        was_now=_was_now,
    )


RENDERERS: Mapping[str, Callable[[Comparison], str]] = {
    "text": text,
    "html": html,
    "md": markdown,
    "json": canonical,
}


def named(run: Run) -> str:
    """A run in a line: what of, which, by which suite."""
    digest = f", sha256 {run.subject.sha256[:16]}" if run.subject.sha256 else ""
    provider = f" ({run.provider})" if run.provider else ""
    dirty = " with local changes" if run.suite.dirty else ""
    return (
        f"{run.subject.name}{provider}{digest}, run {run.id}, suite {run.suite.commit[:12]}{dirty},"
        f" {run.conclusion.word}"
    )


def modes(change: Change) -> str:
    """What became of a clause in each mode: "1 host: PASS, now FAIL"."""
    return "; ".join(
        f"{hosts_word(hosts)}: {was}, now {now}" for hosts, (was, now) in change.modes.items()
    )


def slower(each: Slower) -> str:
    """A case that took longer, in a line."""
    was, now = duration(each.before * 1000), duration(each.after * 1000)
    return f"{each.case} with {hosts_word(each.hosts)}: {was}, now {now}"


def took(found: Comparison) -> str:
    """How long the two runs took, in a sentence."""
    before, after = (
        "unknown" if took is None else _clock(took)
        for took in (seconds(found.before), seconds(found.after))
    )
    return f"the run before took {before}, the run after {after}"


def by_page(clauses: Iterable[Clause]) -> dict[str, int]:
    """How many of `clauses` each page has."""
    return dict(Counter(clause.page for clause in clauses))


def _clock(took: float) -> str:
    minutes, rest = divmod(round(took), 60)
    return f"{minutes} min {rest} s" if minutes else f"{took:.1f} s"


def _missing(found: Comparison) -> list[tuple[str, Sequence[Clause]]]:
    """The clauses that only one run had, as far as there are any."""
    rows: list[tuple[str, Sequence[Clause]]] = [
        ("only the run before had", found.only_before),
        ("only the run after had", found.only_after),
    ]
    return [row for row in rows if row[1]]


def _was_now(row: Difference) -> str:
    return f"{row.before or 'none'}, now {row.after or 'none'}"


def _more(rows: Sequence[Any]) -> list[str]:
    left = len(rows) - _LISTED
    return [f"    and {left} more, which --format html and json have"] if left > 0 else []


def _table(title: str, rows: Sequence[Difference]) -> Iterator[str]:
    if rows:
        yield from (f"| {title} | before | after |", "| --- | --- | --- |")
    for row in rows:
        cells = (plain(row.name), code(row.before), code(row.after))
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    if rows:
        yield ""


def _told(found: Comparison) -> dict[str, Any]:
    return {
        "after": _run(found.after),
        "attributes": _rows(found.attributes),
        "before": _run(found.before),
        "changes": sorted(
            (
                {
                    "clause": change.clause.id,
                    "kind": change.kind.name.lower(),
                    "modes": [
                        {"after": now, "before": was, "hosts": hosts}
                        for hosts, (was, now) in sorted(change.modes.items())
                    ],
                }
                for change in found.changes
            ),
            key=lambda change: str(change["clause"]),
        ),
        "compared": found.compared,
        "format": FORMAT,
        "new_findings": sorted(
            (
                {
                    "clauses": sorted(clause.id for clause in cause.clauses),
                    "verdict": cause.verdict,
                }
                for cause in found.new_findings
            ),
            key=lambda cause: cause["clauses"],
        ),
        "only_after": sorted(clause.id for clause in found.only_after),
        "only_before": sorted(clause.id for clause in found.only_before),
        "result": found.word,
        "subjects": _rows(found.subjects),
        "teardown": {
            "mended": sorted(list(one.trouble.key) for one in found.mended_breakages),
            "new": sorted(list(one.trouble.key) for one in found.new_breakages),
        },
    }


def _run(run: Run) -> dict[str, Any]:
    return {
        "conclusion": run.conclusion.word,
        "provider": run.provider,
        "run": run.id,
        "seconds": seconds(run),
        "sha256": run.subject.sha256,
        "suite": run.suite.commit,
    }


def _rows(rows: Iterable[Difference]) -> list[dict[str, str]]:
    ordered = sorted(rows, key=lambda row: row.name)
    return [{"after": row.after, "before": row.before, "name": row.name} for row in ordered]
