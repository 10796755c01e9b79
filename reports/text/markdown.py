# SPDX-License-Identifier: BSD-2-Clause
"""report.md: what a pull request should say, and no more."""

from collections.abc import Mapping, Sequence

from reports.evidence_text import done, expected, walked
from reports.md_escape import code as _code
from reports.md_escape import plain as _plain
from results.analysis import features, waivers
from results.analysis.differences import warnings
from results.analysis.profiles import CRITERIA, profiles
from results.causes.advice import advice
from results.causes.cause import Cause
from results.causes.grouping import causes, unknown_causes
from results.model.attempt import Attempt, Verdict
from results.model.clause import Case, Clause, Waiver, hosts_word
from results.model.run import Run

_LISTED = 20
_ALSO = 8


def render(run: Run) -> str:
    """Returns a short Markdown summary of `run`."""
    conclusion = run.conclusion
    lines = [
        f"### {conclusion.sentence}: {conclusion.word}",
        "",
        f"{_code(run.subject.name)} by DAT {run.subject.api} (sha256"
        f" {_code(run.subject.sha256[:16])}), IA {_code(run.subject.ia)}, run {_code(run.id)}, seed"
        f" {_code(run.seed)}{f', patience {run.patience}' if run.patience > 1 else ''}, suite"
        f" {_code(run.suite.commit[:12])}"
        f"{' ' + run.suite.tree if run.suite.tree else ''}.",
        *_libdat(run),
        f"{run.records} records, of which the last has the digest {_code(run.digest)}.",
        "",
    ]
    found = causes(run)
    mend = advice(run, found)
    lines += [f"**{_plain(mend)}**", ""] if mend else []
    lines += [_plain(_sentence(conclusion.because)), "", *_pages(run)]
    lines += _partial(run)
    for said in (run.unsaid, waivers.sentence(run)):
        lines += [said, ""] if said else []
    lines += _warnings(run)
    lines += _features(run)
    lines += _counts(run)
    lines += _findings(run, found)
    lines += _teardown(run)
    lines += [run.again, ""] if run.again else []
    lines += _unstable(run)
    lines += _undecided(run)
    lines += _listed("Kept, with a note", run.with_verdict(Verdict.NOTE))
    lines += _profiles(run)
    lines += _parity(run)
    lines += _model(run)
    lines += _explored(run)
    lines += [f"{conclusion.word.capitalize()}: {conclusion.criterion}.", ""]
    return "\n".join(lines)


def _libdat(run: Run) -> list[str]:
    subject = run.subject
    if not subject.libdat:
        return []
    return [
        f"Its registry was {_code(subject.libdat)} (sha256 {_code(subject.libdat_sha256[:16])})."
    ]


def _pages(run: Run) -> list[str]:
    if run.every_page:
        return [f"Clauses of {run.coverage}.", ""]
    named = ", ".join(map(_code, run.covered)) or "none"
    return [f"Clauses of {run.coverage}: {named}.", ""]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _partial(run: Run) -> list[str]:
    if run.complete:
        return []
    lines = [f"**Partial run**: {run.partial}", ""]
    lines += [f"- {_code(i.what)} {_code(i.text)}" for i in run.incidents[:_LISTED]]
    return [*lines, ""] if run.incidents else lines


def _counts(run: Run) -> list[str]:
    words = [v.value for v in Verdict] + ["no case", "not selected"]
    shown = [word for word in words if run.counts[word]]
    if not shown:
        return []
    return [
        "| " + " | ".join(shown) + " |",
        "|" + " ---: |" * len(shown),
        "| " + " | ".join(str(run.counts[word]) for word in shown) + " |",
        "",
    ]


def _warnings(run: Run) -> list[str]:
    said = warnings(run)
    lines = [f"- {_code(line)}" for line in said[:_LISTED]]
    if len(said) > _LISTED:
        lines.append(f"- and {len(said) - _LISTED} more in report.html")
    return ["**To be known of these hosts:**", "", *lines, ""] if said else []


def _features(run: Run) -> list[str]:
    said = [f"- {_plain(line)}" for line in features.sentences(run)]
    return [f"**{features.TITLE}:**", "", *said, ""] if said else []


def _profiles(run: Run) -> list[str]:
    every = profiles(run)
    found = [profile for profile in every if profile.standings]
    others = ", ".join(_plain(profile.title) for profile in every if not profile.standings)
    rest = [f"Nothing of other profiles was run: {others}.", ""] if others else []
    rows = [f"| {_plain(p.title)} | {p.result} | {_plain(p.because)} |" for p in found]
    met = dict.fromkeys(profile.result for profile in found)
    criteria = [f"- {word.capitalize()}: {CRITERIA[word]}." for word in met]
    if not rows:
        return rest
    head = ["| profile | result | because |", "| --- | --- | --- |"]
    return [*head, *rows, "", *criteria, "", *rest]


def _findings(run: Run, found: Sequence[Cause]) -> list[str]:
    """Each cause, the first of them with an example; none is left unnamed."""
    waived = waivers.waived(run)
    lines = []
    for number, cause in enumerate(found):
        whose = f", of {run.subject.registry}" if cause.is_registrys else ""
        lines.append(f"- **{cause.verdict}** in {cause.extent}{whose}: {_code(cause.name)}")
        if number < _LISTED:
            lines += _example(run, cause, waived)
    return [*lines, ""] if lines else []


def _example(run: Run, cause: Cause, waived: Mapping[str, Waiver]) -> list[str]:
    case = cause.example
    attempt = case.decisive
    lines = [
        f"  - first {_code(case.id)} ({_modes(case)})",
        f"  - requirement: {_plain(case.clause.requirement)}",
        *(_parts(case, attempt) if attempt else ()),
        *(_place(attempt) if attempt else ()),
        f"  - replay: {_code(run.replay(case.id))}",
    ]
    others = [other for other in cause.cases if other is not case]
    if others:
        named = ", ".join(_code(other.id) for other in others[:_ALSO])
        more = f" and {len(others) - _ALSO} more" if len(others) > _ALSO else ""
        lines.append(f"  - also {named}{more}")
    if blocked := [other.id for other in cause.blocked if other is not case]:
        named = ", ".join(map(_code, blocked[:_ALSO]))
        more = f" and {len(blocked) - _ALSO} more" if len(blocked) > _ALSO else ""
        lines.append(f"  - blocks {named}{more}")
    for clause in cause.clauses:
        if clause.id in waived:
            waiver = waived[clause.id]
            why = f"{waiver.reason} ({waiver.approver}, {waiver.url})"
            lines.append(f"  - {_code(clause.id)} waived until {waiver.expires}: {_code(why)}")
    return lines


def _parts(case: Case, attempt: Attempt) -> list[str]:
    """What the row of the requirement is, and what was done, expected and seen."""
    parts = [("done", did)] if (did := done(attempt)) else []
    if admitted := expected(attempt):
        parts.append(("expected", admitted))
    at = f"({check.file}:{check.line})" if (check := attempt.failed_check) else ""
    row = [f"  - in this case: {_plain(case.clause.row)}"] if case.clause.row else []
    return [
        *row,
        *(f"  - {word}: {_code(said)}" for word, said in parts),
        f"  - seen: {_code(attempt.seen)} {_plain(at)}".rstrip(),
    ]


def _place(attempt: Attempt) -> list[str]:
    """Where in the sources it crashed or hung, as far as that is known."""
    lines = []
    for taken in filter(None, (attempt.crash, attempt.hung)):
        places = [
            f"{word} {_code(at)}"
            for word, at in (("in", taken.provider), ("from", taken.case))
            if at
        ]
        lines += [f"  - {', '.join(places)}"] if places else []
    others = [stack.provider for stack in attempt.stacks if stack is not attempt.hung]
    if named := list(dict.fromkeys(filter(None, others))):
        more = f" and {len(named) - _ALSO} more" if len(named) > _ALSO else ""
        lines.append(f"  - other threads in {', '.join(map(_code, named[:_ALSO]))}{more}")
    return lines


def _teardown(run: Run) -> list[str]:
    lines = []
    for broken in run.breakages[:_LISTED]:
        lines += [
            f"- **{broken.word}** {_code(broken.trouble.text)}, {_plain(broken.extent)}",
            f"  - replay: {_code(run.replay(broken.first))}",
        ]
        if broken.walk:
            lines += [f"  - {_code(line)}" for line in walked(broken.walk)]
    rest = len(run.breakages) - _LISTED
    if rest > 0:
        lines.append(f"- and {rest} more in report.html")
    lead = (
        "Failed in teardown or in the probe, or found by the model in cases that were kept, or in"
        " random walks:"
    )
    return [lead, "", *lines, ""] if lines else []


def _unstable(run: Run) -> list[str]:
    if not run.unstable:
        return []
    lines = [f"- {_code(case.id)} ({_attempts(case)})" for case in run.unstable[:_LISTED]]
    if len(run.unstable) > _LISTED:
        lines.append(f"- and {len(run.unstable) - _LISTED} more in report.html")
    return ["Unstable, they ended otherwise when they were run again:", "", *lines, ""]


def _attempts(case: Case) -> str:
    said = []
    for hosts in case.unstable:
        ended = case.ended(hosts)
        said.append(f"{hosts_word(hosts)}: {', then '.join(ended)}")
    return _plain("; ".join(said))


def _modes(case: Case) -> str:
    return ", ".join(f"{hosts_word(h)}: {case.verdict(h)}" for h in sorted(case.modes))


def _undecided(run: Run) -> list[str]:
    found = unknown_causes(run)
    if not found:
        return []
    lines = ["Not decided:", ""]
    for cause in found:
        lines.append(f"- {cause.extent}, first {_code(cause.example.id)}: {_code(cause.name)}")
    return [*lines, ""]


def _listed(title: str, clauses: list[Clause]) -> list[str]:
    if not clauses:
        return []
    lines = [f"{title}:", ""]
    for clause in clauses[:_LISTED]:
        lines.append(f"- {_code(clause.id)} {_code('; '.join(clause.remarks))}")
    if len(clauses) > _LISTED:
        lines.append(f"- and {len(clauses) - _LISTED} more in report.html")
    return [*lines, ""]


def _model(run: Run) -> list[str]:
    """How much of the run the executable specification judged."""
    if not run.asked:
        return []
    judged = sum(bool(run.asked_of(clause)) for clause in run.clauses)
    return [
        f"The executable specification judged calls by {len(run.asked)} clauses and families,"
        f" {run.asked.total():,} times; {judged} of {len(run.clauses)} clauses are among them.",
        "",
    ]


def _explored(run: Run) -> list[str]:
    """What random walks came to."""
    told = run.explored.by_object if run.explored else []
    rows = [f"| {_plain(kind)} | {_plain(states)} |" for kind, states in told]
    head = ["", "| object | states reached, and how often |", "| --- | --- |"] if rows else []
    return [_plain(run.exploration), *head, *rows, ""]


def _parity(run: Run) -> list[str]:
    parity = run.parity
    if not parity.compared:
        return []
    if not parity.differing:
        return [f"Parity: {parity.compared} cases compared, all agree in each mode.", ""]
    differ = "1 differs" if len(parity.differing) == 1 else f"{len(parity.differing)} differ"
    lines = [f"Parity: {parity.compared} cases compared, {differ}:", ""]
    for case in parity.differing[:_LISTED]:
        lines.append(f"- {_code(case.id)} ({_modes(case)})")
    return [*lines, ""]
