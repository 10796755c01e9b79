# SPDX-License-Identifier: BSD-2-Clause
"""junit.xml, read by a JUnit reader and held against the schema that Jenkins' readers share."""

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from reports.render import render
from tests.reports.synthetic_run import Record, SyntheticRun, green_run, red_run
from tests.reports.test_html import HOSTILE

# What an element may hold and carry, and what it must: the facts of Jenkins' junit-10 schema,
# narrowed to what Surefire's readers take as well.
Shape = tuple[set[str], set[str], set[str]]
RESULT: Shape = ({"type", "message"}, set(), set())
SCHEMA: dict[str, Shape] = {
    "testsuites": (
        {"name", "time", "tests", "failures", "errors", "disabled"},
        set(),
        {"testsuite"},
    ),
    "testsuite": (
        {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"},
        {"name", "tests"},
        {"properties", "testcase"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, {"name", "value"}, set()),
    "testcase": (
        {"name", "classname", "time"},
        {"name", "classname"},
        {"failure", "error", "skipped", "system-out"},
    ),
    "failure": RESULT,
    "error": RESULT,
    "skipped": RESULT,
    "system-out": (set(), set(), set()),
}


def hold_against_schema(path: Path) -> None:
    """Fails where the file at `path` is not what the readers take."""
    root = ElementTree.parse(path).getroot()
    assert root.tag == "testsuites"
    for element in root.iter():
        may, must, children = SCHEMA[element.tag]
        assert must <= set(element.attrib) <= may, element.tag
        assert {child.tag for child in element} <= children, element.tag
        for name in ("tests", "failures", "errors", "skipped"):
            assert element.get(name, "0").isdigit()
        assert float(element.get("time", "0")) >= 0


def cases(path: Path) -> Iterator[tuple[TestSuite, TestCase]]:
    """The test cases of the file at `path`, with their suites."""
    for suite in JUnitXml.fromfile(str(path)):
        assert isinstance(suite, TestSuite)
        for case in suite:
            assert isinstance(case, TestCase)
            yield suite, case


@pytest.mark.parametrize("make", [green_run, red_run, SyntheticRun])
def test_readers_take_it(tmp_path: Path, make: type[SyntheticRun]) -> None:
    hold_against_schema(render(make().write(tmp_path), "junit"))


def test_verdicts_become_results(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    expected = {
        "PASS": None,
        "NOTE": None,
        "FAIL": Failure,
        "CRASH": Error,
        "TIMEOUT": Error,
        "ERROR": Error,
        "UNSUPPORTED": Skipped,
        "RESOURCE": Skipped,
    }
    for verdict in expected:
        run.case(verdict.lower(), verdict, reason=f"why {verdict}")
    run.plan(run.clause("late"))
    path = render(run.write(tmp_path), "junit")
    hold_against_schema(path)

    found = {case.name: case.result for _, case in cases(path)}
    for verdict, kind in expected.items():
        result = found[f"srq_resize/{verdict.lower()}[1-host]"]
        if kind is None:
            assert result == []
            continue
        assert [type(item) for item in result] == [kind]
        assert result[0].type == verdict
        assert f"why {verdict}" in result[0].message
    late = found["srq_resize/late[1-host]"]
    assert isinstance(late[0], Skipped)
    assert late[0].message.startswith("NOT-RUN: planned, and not reached")


def test_names_times_and_totals(tmp_path: Path) -> None:
    path = render(red_run().write(tmp_path), "junit")
    names = [(suite.name, case.classname, case.name) for suite, case in cases(path)]
    assert len(names) == 20
    assert names[0] == ("libvendor.so, 1 host", "dat_srq_resize", "srq_resize/grow[1-host]")
    assert names[-1] == ("libvendor.so, 2 hosts", "dat_srq_resize", "srq_resize/shrink[2-hosts]")
    xml = JUnitXml.fromfile(str(path))
    assert (xml.tests, xml.failures, xml.errors) == (20, 2, 5)
    assert sum(suite.skipped for suite in xml) == 2
    hung = next(case for _, case in cases(path) if case.name == "srq_resize/under_traffic[2-hosts]")
    assert hung.time == pytest.approx(10.0042)


def test_a_failure_carries_its_evidence(tmp_path: Path) -> None:
    path = render(red_run().write(tmp_path), "junit")
    case = next(c for _, c in cases(path) if c.name == "srq_resize/below_outstanding[1-host]")
    failure = case.result[0]
    assert failure.message == (
        "dat_srq_resize(srq, 1): expected DAT_INVALID_STATE or DAT_INSUFFICIENT_RESOURCES,"
        " saw DAT_SUCCESS"
    )
    for line in (
        "requirement: A request for fewer receives than are outstanding is refused",
        "done: dat_srq_resize(srq_handle=srq#1, srq_max_recv_dto=1), call 6",
        "expected: DAT_INVALID_STATE or DAT_INSUFFICIENT_RESOURCES",
        "seen: DAT_SUCCESS",
        "   6 dat_srq_resize(srq_handle=srq#1, srq_max_recv_dto=1) = DAT_SUCCESS   <-- here",
    ):
        assert line in failure.text
    assert "vendor: dropping 1 WQE" in case.system_out
    assert "attempt 2, alone: FAIL" in case.system_out
    assert "./udapl-cts replay 20260102-030405-7 srq_resize/below_outstanding" in case.system_out


def test_hostile_output_is_still_xml(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    run.head["subject"]["library"] = HOSTILE
    for verdict in ("FAIL", "CRASH", "UNSUPPORTED", "NOTE"):
        run.case(verdict.lower(), verdict, reason=HOSTILE, output=HOSTILE, notes=[HOSTILE])
    path = render(run.write(tmp_path), "junit")
    hold_against_schema(path)
    told = next(case.system_out for _, case in cases(path))
    assert "<script>alert(1)</script>" in told
    assert "\\ud800-\\xff\\u202e\\ufffe" in told


@pytest.mark.parametrize(
    ("said", "words_"),
    [
        (
            {"verdict": "agrees", "judged": 12, "unjudged": 1},
            "the executable specification finds nothing wrong in 12 calls, and could not judge 1",
        ),
        (
            {"verdict": "unjudged", "judged": 0, "why": "no calls"},
            "the executable specification could judge no call: no calls",
        ),
        (
            {
                "verdict": "deviates",
                "judged": 1,
                "why": "case call 1: x",
                "who": "case",
                "n": 1,
                "clause": "srq_resize/low",
            },
            "the executable specification finds: case call 1: x",
        ),
    ],
)
def test_what_the_model_says_of_a_finding(tmp_path: Path, said: Record, words_: str) -> None:
    run = SyntheticRun(modes=(1,))
    run.case("low", "FAIL", oracle=said)
    run.end()
    text = render(run.write(tmp_path), "junit").read_text(encoding="utf-8")
    assert f"model: {words_}" in text


def test_an_older_run_is_read_as_it_was_judged(tmp_path: Path) -> None:
    """A deviation alone changes no verdict of a run that is read."""
    said = {"verdict": "deviates", "judged": 1, "why": "y", "who": "case", "n": 1, "clause": "z"}
    run = SyntheticRun(modes=(1,))
    run.case("low", "PASS", oracle=said)
    run.end()
    text = render(run.write(tmp_path), "junit").read_text(encoding="utf-8")
    assert "executable specification" not in text
