# SPDX-License-Identifier: BSD-2-Clause
"""Several runs at once: side by side, and over time."""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from markdown_it import MarkdownIt

from reports.compare.history import point
from reports.compare.history import render as history
from reports.compare.providers_table import RENDERERS, Several
from results.model.load import light
from tests.reports.html_page import parse, with_class, words
from tests.reports.synthetic_run import SyntheticRun
from tests.reports.test_html import HOSTILE

SCHEMA = Path(__file__).parents[2] / "docs/providers.schema.json"


def run_of(name: str, provider: str, **verdicts: str) -> SyntheticRun:
    """A run of a provider whose cases have these verdicts."""
    run = SyntheticRun(name, modes=(1,))
    version = {"provider_version_major": 1, "provider_version_minor": 2}
    run.fabric(1, attributes={"provider_name": provider} | version)
    for case, verdict in verdicts.items():
        left: dict[str, Any] = {} if verdict != "UNSUPPORTED" else {"calls": [], "checks": []}
        page = "dat_srq_free" if case.startswith("free") else "dat_srq_resize"
        run.case(case, verdict, clause={"page": page}, reason="refused", **left)
    run.end()
    return run


def side_by_side(tmp_path: Path, *runs: SyntheticRun) -> Several:
    """The runs in one table."""
    return Several(tuple(light(run.write(tmp_path)) for run in runs))


def three(tmp_path: Path) -> Several:
    """A provider that keeps all, one that fails once, and one that was asked for less."""
    return side_by_side(
        tmp_path,
        run_of("one", "good", grow="PASS", shrink="PASS", free="PASS"),
        run_of("two", "bad", grow="PASS", shrink="FAIL", free="UNSUPPORTED"),
        run_of("three", "new", grow="NOTE"),
    )


def test_the_json_is_as_its_schema_says(tmp_path: Path) -> None:
    schema = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    told = json.loads(RENDERERS["json"](three(tmp_path)))
    schema.validate(told)
    told["runs"][0]["seed"] = 7
    told["pages"]["dat_srq_free"]["srq_free/free"][0] = "green"
    assert len(list(schema.iter_errors(told))) == 2


def test_profiles_pages_and_clauses_by_provider(tmp_path: Path) -> None:
    found = three(tmp_path)
    assert found.titles == ("good 1.2", "bad 1.2", "new 1.2")
    told = json.loads(RENDERERS["json"](found))
    assert told["profiles"] == {"srq_supported": ["success", "fail", "success"]}
    assert told["pages"] == {
        "dat_srq_free": {"srq_free/free": ["PASS", "UNSUPPORTED", "not run"]},
        "dat_srq_resize": {
            "srq_resize/grow": ["PASS", "PASS", "NOTE"],
            "srq_resize/shrink": ["PASS", "FAIL", "not run"],
        },
    }
    page = parse(RENDERERS["html"](found))
    text = words(page)
    assert "dat_srq_resize success 2 of 2 fail 1 of 2, 1 failed partial 1 of 2, 1 not" in text
    assert [words(row).split()[0] for row in with_class(page, "differs")] == [
        "srq_free/free",
        "srq_resize/grow",
        "srq_resize/shrink",
    ]
    markdown = MarkdownIt("commonmark").enable("table").render(RENDERERS["md"](found))
    assert "srq_resize/shrink PASS FAIL not run" in words(parse(markdown))


def test_the_table_folds_by_the_pages_own_script_alone(tmp_path: Path) -> None:
    markup = RENDERERS["html"](three(tmp_path))
    (script,) = list(parse(markup).iter("script"))
    digest = base64.b64encode(hashlib.sha256((script.text or "").encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in markup
    bodies = with_class(parse(markup), "of")
    buttons = [each.get("id") for each in with_class(parse(markup), "fold")]
    assert [body.get("data-by") for body in bodies] == buttons
    assert not any("hidden" in body.attrib for body in bodies)


def test_providers_that_are_called_alike_are_told_apart(tmp_path: Path) -> None:
    runs = [run_of(name, "same", grow="PASS") for name in ("one", "two", "three")]
    runs[2].head["subject"]["library"] = "/elsewhere/libother.so"
    assert side_by_side(tmp_path, *runs).titles == (
        "same 1.2, libvendor.so, one",
        "same 1.2, libvendor.so, two",
        "same 1.2, libother.so",
    )


@pytest.mark.parametrize("fmt", RENDERERS)
def test_other_suites_are_said_and_hostile_words_stay_words(tmp_path: Path, fmt: str) -> None:
    runs = [run_of(name, HOSTILE, grow=verdict) for name, verdict in (("a", "PASS"), ("b", "FAIL"))]
    runs[0].head["clauses"][0]["text"] = HOSTILE
    assert "different suites" not in RENDERERS[fmt](side_by_side(tmp_path, *runs))
    runs[1].head["suite"]["commit"] = "fedcba987654"
    text = RENDERERS[fmt](side_by_side(tmp_path, *runs))
    assert ("different suites" in text) == (fmt != "json")
    if fmt == "md":
        text = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    if fmt != "json":
        tree = parse(text)
        assert len(list(tree.iter("script"))) == (fmt == "html")
        assert not list(tree.iter("img"))


def test_a_history_draws_each_run_and_each_page(tmp_path: Path) -> None:
    points = []
    for number, verdict in enumerate(("FAIL", "ERROR", "PASS", "UNSUPPORTED")):
        run = run_of(f"run-{number}", "it", grow="PASS", shrink=verdict, free="PASS")
        run.head["started"] = f"2026-01-0{4 - number}T03:04:05Z"
        points.append(point(light(run.write(tmp_path))))
    points.append(point(light(run_of("other", HOSTILE, grow="PASS").write(tmp_path))))
    markup = history(points, ["lost: no such run"])
    page = parse(markup)
    assert len(with_class(page, "p-failed")) == 2 + 2  # in both pictures, and in two legends
    first = next(iter(page.iter("svg")))
    said = [words(title) for title in first.iter("title")]
    assert [re.split("[, :]", line)[0] for line in said] == [
        f"2026-01-0{day}" for day in (1, 2, 3, 4)
    ]
    assert said[-1].endswith(": 2 of 3 kept, 1 failed")
    assert "4 runs, a column each; the latest: not conformant, 2 of 3 kept, 1 failed" in words(page)
    assert "lost: no such run" in words(page)
    assert not list(page.iter("script"))
    # The page that is broken now stands first.
    names = [words(next(item.iter("code"))) for item in page.iter("li") if list(item.iter("svg"))]
    assert names[:2] == ["dat_srq_resize", "dat_srq_free"]


def test_runs_of_other_plans_are_drawn_apart(tmp_path: Path) -> None:
    runs = [run_of(f"run-{n}", "it", grow="PASS", shrink="PASS") for n in range(2)]
    runs.append(run_of("less", "it", grow="PASS"))
    runs[0].head["subject"]["build_id"] = "0123456789abcdef"
    page = parse(history([point(light(run.write(tmp_path))) for run in runs]))
    said = words(page)
    assert "2 cases of" in said
    assert "1 case of" in said
    assert "2 runs, a column each" in said
    assert "1 run, a column each" in said
    assert "run-0, build 0123456789ab: 2 of 2 kept" in said


def test_runs_of_other_devices_are_drawn_apart(tmp_path: Path) -> None:
    points = []
    for name, device in (("one", "rxe0"), ("two", "rxe1"), ("three", "siw0")):
        run = run_of(name, "it", grow="PASS")
        run.fabric(1)
        run.records[-1]["facts"][0]["devices"] = device
        points.append(point(light(run.write(tmp_path))))
    said = words(parse(history(points)))
    assert "2 runs, a column each" in said
    assert "; vm, rxe. " in said
    assert "; vm, siw. 1 run, a column each" in said
