# SPDX-License-Identifier: BSD-2-Clause
"""junit.xml, as Jenkins, GitLab and Surefire's readers take it."""

import io
from collections.abc import Iterator, Mapping

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from reports.evidence_text import attempt_text, finding_text, teardown_text
from results.analysis import features
from results.analysis.profiles import CRITERIA, profiles
from results.analysis.waivers import waived
from results.causes.advice import advice
from results.causes.grouping import causes
from results.model.attempt import NOT_KEPT, Attempt, Verdict
from results.model.clause import Case, Waiver, hosts_word
from results.model.run import Run

_ERRORS = frozenset(
    {Verdict.CRASH, Verdict.TIMEOUT, Verdict.CONTRADICTED, Verdict.BLOCKED, Verdict.ERROR}
)
_SKIPPED = frozenset({Verdict.UNSUPPORTED, Verdict.RESOURCE, Verdict.NOT_RUN})


def render(run: Run) -> str:
    """Returns the JUnit XML of `run`: a suite for each mode, a test case for each planned case.

    FAIL is a failure; CRASH, TIMEOUT, CONTRADICTED, BLOCKED and ERROR are errors; UNSUPPORTED,
    RESOURCE and NOT-RUN are skipped, with the reason. The first attempt counts, further ones are
    told in system-out.
    """
    xml = JUnitXml("udapl-cts")
    waivers = waived(run)
    modes = sorted({hosts for case in run.cases for hosts in case.modes})
    for hosts in modes:
        xml.add_testsuite(_suite(run, hosts, waivers))
    for word in dict.fromkeys(broken.word for broken in run.breakages):
        xml.add_testsuite(_beside(run, word))
    xml.update_statistics()  # type: ignore[no-untyped-call]
    # The readers' schema has this attribute on a suite, and not here.
    xml._elem.attrib.pop("skipped", "")
    file = io.BytesIO()
    xml.write(file)
    return file.getvalue().decode("utf-8") + "\n"


def _suite(run: Run, hosts: int, waivers: Mapping[str, Waiver]) -> TestSuite:
    suite = TestSuite(f"{run.subject.name}, {hosts_word(hosts)}")
    if run.started:
        suite.timestamp = run.started.removesuffix("Z")
    for name, value in _properties(run):
        suite.add_property(name, value)
    # One by one, each addition would count all the others again.
    suite.add_testcases([_testcase(run, c, hosts, waivers) for c in run.cases if hosts in c.modes])
    return suite


def _beside(run: Run, word: str) -> TestSuite:
    """What broke in teardown, or in a call that the model found wrong: a failure each, under the
    page of the call.
    """
    suite = TestSuite(f"{run.subject.name}, {word.lower()}")
    for name, value in _properties(run):
        suite.add_property(name, value)
    cases = []
    for broken in (each for each in run.breakages if each.word == word):
        case = TestCase(broken.text, classname=broken.trouble.call or "udapl-cts", time=0)
        failure = Failure(f"{broken.text}, {broken.extent}", broken.word)
        whole = teardown_text if broken.word == "TEARDOWN" else attempt_text
        failure.text = whole(broken.attempt)
        case.result = [failure]
        case.system_out = f"replay: {run.replay(broken.first)}"
        cases.append(case)
    suite.add_testcases(cases)
    return suite


def _properties(run: Run) -> list[tuple[str, str]]:
    return [
        ("run", run.id),
        ("records", str(run.records)),
        ("records.digest", run.digest),
        ("conclusion", run.conclusion.word),
        ("conclusion.because", run.conclusion.because),
        ("advice", advice(run, causes(run))),
        *((("features", " ".join(said)),) if (said := features.sentences(run)) else ()),
        ("pages", run.coverage),
        ("pages.covered", " ".join(run.covered)),
        ("in_part", "; ".join(run.in_part)),
        ("complete", "true" if run.complete else "false"),
        ("teardown", str(len(run.breakages))),
        ("explored", run.exploration),
        ("unstable", " ".join(case.id for case in run.unstable)),
        ("again", run.again),
        ("seed", run.seed),
        ("patience", str(run.patience)),
        ("fabric", run.fabric),
        ("suite.version", run.suite.version),
        ("suite.commit", run.suite.commit),
        ("suite.dirty", "true" if run.suite.dirty else "false"),
        ("subject.library", run.subject.library),
        ("subject.api", run.subject.api),
        ("subject.sha256", run.subject.sha256),
        ("subject.build_id", run.subject.build_id),
        ("subject.ia", run.subject.ia),
        ("subject.libdat", run.subject.libdat),
        ("subject.libdat.sha256", run.subject.libdat_sha256),
        *_profiles(run),
    ]


def _profiles(run: Run) -> Iterator[tuple[str, str]]:
    """Each profile's result, with the criterion that it was drawn by."""
    for profile in profiles(run):
        criterion = CRITERIA[profile.result]
        yield f"profile.{profile.name}", profile.result
        yield f"profile.{profile.name}.because", f"{profile.because}; {profile.result}: {criterion}"


def _testcase(run: Run, case: Case, hosts: int, waivers: Mapping[str, Waiver]) -> TestCase:
    first = case.first(hosts)
    verdict = first.verdict if first else Verdict.NOT_RUN
    testcase = TestCase(
        f"{case.id}[{hosts_word(hosts).replace(' ', '-')}]",
        classname=case.clause.page or "udapl-cts",
        time=round(first.ms / 1000, 6) if first else 0,
    )
    result = _result(verdict, first)
    if result is not None:
        if first and verdict not in _SKIPPED:
            told = "\n".join(finding_text(case, first))
            result.text = f"{told}\n\n{attempt_text(first)}"
        testcase.result = [result]
    if more := _told(run, case, hosts, waivers.get(case.clause.id)):
        testcase.system_out = more
    return testcase


def _result(verdict: Verdict, first: Attempt | None) -> Failure | Error | Skipped | None:
    message = first.summary if first else "planned, and not reached before the run ended"
    if verdict is Verdict.FAIL:
        return Failure(message, verdict.value)
    if verdict in _ERRORS:
        return Error(message, verdict.value)
    if verdict in _SKIPPED:
        return Skipped(f"{verdict.value}: {message}", verdict.value)
    return None


def _told(run: Run, case: Case, hosts: int, waiver: Waiver | None) -> str:
    parts = []
    for attempt in case.ordered:
        if attempt.hosts != hosts:
            continue
        if attempt.number > 1:
            said = f": {attempt.summary}" if attempt.summary else ""
            parts.append(f"attempt {attempt.number}, alone: {attempt.verdict}{said}")
        parts += [f"in teardown: {trouble.text}" for trouble in attempt.teardown]
        if attempt.verdict is Verdict.NOTE:
            parts += [f"note: {remark}" for remark in attempt.remarks]
        if attempt.output:
            parts.append(f"output of attempt {attempt.number}:\n{attempt.output}")
    if hosts in case.unstable:
        parts.append("unstable: it ended otherwise when it was run again")
    if any(attempt.hosts == hosts for attempt in case.once):
        parts.append("tried once: it was not run again")
    if case.verdict(hosts) in NOT_KEPT and waiver:
        parts.append(
            f"waived until {waiver.expires} by {waiver.approver}, and still a finding:"
            f" {waiver.reason} {waiver.url}"
        )
    if case.verdict(hosts) in NOT_KEPT:
        parts.append(f"against {run.blamed(case.clause)}")
        parts.append(f"replay: {run.replay(case.id)}")
    return "\n".join(parts)
