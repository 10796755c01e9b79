# SPDX-License-Identifier: BSD-2-Clause
"""Two runs compared: what each kind of change is called, and what its exit code follows from."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from markdown_it import MarkdownIt

from reports.compare.comparison import RENDERERS
from results.analysis.comparison import Comparison, Kind, compare
from results.errors import ReportError
from results.model.load import load
from tests.reports.html_page import parse, words
from tests.reports.synthetic_run import SyntheticRun, green_run, red_run
from tests.reports.test_html import HOSTILE

SCHEMA = Path(__file__).parents[2] / "docs/comparison.schema.json"


def run_of(name: str, *verdicts: str, **more: str) -> SyntheticRun:
    """A run of one mode whose cases 0, 1, ... have these verdicts, `more` by the case's name."""
    run = SyntheticRun(name, modes=(1,))
    run.fabric(1)
    for number, verdict in enumerate(verdicts):
        run.case(str(number), verdict, reason=f"saw {number}")
    for case, verdict in more.items():
        run.case(case, verdict, reason="saw it")
    run.end()
    return run


def compared(tmp_path: Path, before: SyntheticRun, after: SyntheticRun) -> Comparison:
    """The two runs against each other; the JSON is what its schema says."""
    found = compare(load(before.write(tmp_path)), load(after.write(tmp_path)))
    told = json.loads(RENDERERS["json"](found))
    jsonschema.validate(told, json.loads(SCHEMA.read_text(encoding="utf-8")))
    return found


@pytest.mark.parametrize(
    ("was", "now", "kind", "word"),
    [
        ("PASS", "FAIL", Kind.BROKEN, "regressed"),
        ("NOTE", "CRASH", Kind.BROKEN, "regressed"),
        ("UNSUPPORTED", "FAIL", Kind.FOUND, "no regression"),
        ("ERROR", "TIMEOUT", Kind.FOUND, "no regression"),
        ("FAIL", "CRASH", Kind.OTHERWISE_BROKEN, "no regression"),
        ("PASS", "ERROR", Kind.UNKNOWN, "could not tell"),
        ("PASS", "RESOURCE", Kind.UNKNOWN, "could not tell"),
        ("PASS", "UNSUPPORTED", Kind.GONE, "no regression"),
        ("FAIL", "PASS", Kind.MENDED, "no regression"),
        ("UNSUPPORTED", "PASS", Kind.KEPT_NOW, "no regression"),
        ("PASS", "NOTE", Kind.OTHER, "no regression"),
        ("FAIL", "ERROR", Kind.OTHER, "no regression"),
    ],
)
def test_what_becomes_of_a_clause(
    tmp_path: Path, was: str, now: str, kind: Kind, word: str
) -> None:
    nothing: dict[str, Any] = {"calls": [], "checks": []}
    runs = [SyntheticRun(name, modes=(1,)) for name in ("one", "two")]
    for run, verdict in zip(runs, (was, now), strict=True):
        run.case("same")
        run.case("it", verdict, **(nothing if verdict == "UNSUPPORTED" else {}))
        run.end()
    found = compared(tmp_path, *runs)
    (change,) = found.changes
    assert (change.clause.name, change.kind, found.word) == ("it", kind, word)
    assert f"1 {kind}" in found.sentence
    for fmt in ("text", "md", "html"):
        assert "srq_resize/it" in RENDERERS[fmt](found)
        assert kind in RENDERERS[fmt](found).lower()


def test_the_same_run_twice(tmp_path: Path) -> None:
    found = compared(tmp_path, red_run(), red_run())
    assert found.word == "no regression"
    assert found.sentence == "of 10 clauses in both runs, none changed"
    assert [*found.changes, *found.subjects, *found.attributes, *found.only_after] == []


def test_a_mode_that_only_one_had_is_not_compared(tmp_path: Path) -> None:
    before, after = SyntheticRun("one"), SyntheticRun("two")
    for run, second in ((before, "PASS"), (after, "FAIL")):
        case = run.clause("it")
        run.plan(case, *((1, 2) if run is before else (1,)))
        run.verdict(case, "PASS", 1)
        run.verdict(case, second, 2) if run is before else None
        run.end()
    assert not compared(tmp_path, before, after).changes


def test_one_mode_is_enough_to_be_broken(tmp_path: Path) -> None:
    before, after = SyntheticRun("one"), SyntheticRun("two")
    for run, second in ((before, "PASS"), (after, "FAIL")):
        case = run.clause("it")
        run.plan(case)
        run.verdict(case, "FAIL", 1)
        run.verdict(case, second, 2)
        run.end()
    found = compared(tmp_path, before, after)
    assert found.word == "regressed"
    assert "2 hosts: PASS, now FAIL" in RENDERERS["text"](found)
    assert "1 host" not in RENDERERS["text"](found)


def test_what_only_one_run_had(tmp_path: Path) -> None:
    found = compared(tmp_path, run_of("one", "PASS", old="FAIL"), run_of("two", "PASS", new="FAIL"))
    assert [clause.name for clause in found.only_before] == ["old"]
    assert [clause.name for clause in found.only_after] == ["new"]
    assert found.word == "no regression"
    assert [cause.example.clause.name for cause in found.new_findings] == ["new"]
    text = RENDERERS["text"](found)
    assert "only the run before had: 1\n    dat_srq_resize: 1\n" in text


def test_new_findings_by_cause_and_what_differs(tmp_path: Path) -> None:
    before, after = (run_of(name, *["PASS"] * 40) for name in ("one", "two"))
    for record in after.records:
        if record["type"] == "verdict":
            record |= {"verdict": "FAIL", "reason": "refused"}
    after.head["subject"]["sha256"] = "ab" * 32
    after.records[0]["ia"]["attributes"]["max_srqs"] = 7
    after.records[0]["ia"]["attributes"]["ia_address_ptr"] = "0x7f00"
    after.records[-1]["finished"] = "2026-01-02T04:05:09Z"
    found = compared(tmp_path, before, after)
    (cause,) = found.new_findings
    assert len(cause.cases) == 40
    assert [(row.name, row.after) for row in found.attributes] == [("max_srqs", "7")]
    assert [row.name for row in found.subjects] == ["SHA-256"]
    text = RENDERERS["text"](found)
    assert "new finding, FAIL in 40 clauses: dat_srq_resize: refused" in text
    assert "attribute: max_srqs: 4096, now 7" in text
    assert "the run before took 1 min 4 s, the run after 61 min 4 s" in text
    assert text.endswith("regressed: of 40 clauses in both runs, 40 kept before, failed now\n")


def test_a_teardown_that_breaks_now(tmp_path: Path) -> None:
    trouble = {"call": "dat_srq_free", "what": "refused", "saw": "DAT_INTERNAL_ERROR"}
    before, after = (SyntheticRun(name, modes=(1,)) for name in ("one", "two"))
    before.case("it")
    after.case("it", teardown=[trouble])
    found = compared(tmp_path, before, after)
    assert found.word == "regressed"
    assert "new finding, teardown: dat_srq_free refused with" in RENDERERS["text"](found)
    back = compared(tmp_path, after, before)
    assert back.word == "no regression"
    assert "mended, teardown: dat_srq_free refused with" in RENDERERS["text"](back)


def test_cases_that_became_slow(tmp_path: Path) -> None:
    before, after = (SyntheticRun(name, modes=(1,)) for name in ("one", "two"))
    for run, slow in ((before, 60.0), (after, 1900.0)):
        run.case("slow", ms=slow)
        run.case("short", ms=slow / 100)
    found = compared(tmp_path, before, after)
    assert [each.case for each in found.slower] == ["srq_resize/slow"]
    assert "slower: srq_resize/slow with 1 host: 60.0 ms, now 1.9 s" in RENDERERS["text"](found)


def test_runs_without_a_clause_in_common(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="no clause in common"):
        compared(tmp_path, run_of("one", "PASS"), run_of("two", other="PASS"))


@pytest.mark.parametrize("fmt", RENDERERS)
def test_the_same_two_runs_give_the_same_text(tmp_path: Path, fmt: str) -> None:
    one, other = (make().write(tmp_path / make.__name__) for make in (green_run, red_run))
    first, second = (RENDERERS[fmt](compare(load(one), load(other))) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("text", [HOSTILE, "`` ` @all | [a](http://x) #1", "\n\n# heading"])
def test_hostile_words_stay_words(tmp_path: Path, text: str) -> None:
    before, after = (SyntheticRun(name, modes=(1,)) for name in ("one", "two"))
    for run, verdict in ((before, "PASS"), (after, "FAIL")):
        run.fabric(1, attributes={"provider_name": f"{text} {verdict}"})
        run.head["subject"]["library"] = text + verdict
        run.case("it", verdict, clause={"text": text}, reason=text)
    found = compared(tmp_path, before, after)
    page = parse(RENDERERS["html"](found))
    assert not list(page.iter("script"))
    assert not list(page.iter("img"))
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    tree = parse(markdown.render(RENDERERS["md"](found)))
    assert not list(tree.iter("a"))
    assert not list(tree.iter("script"))
    assert "regressed" in words(tree).lower()
