# SPDX-License-Identifier: BSD-2-Clause
"""The HTML pages in a real browser: links to send, keys, narrow windows, paper, axe-core."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from reports.compare import comparison as compared
from reports.compare import history
from reports.compare import providers_table as several
from reports.compare.providers_table import Several
from reports.html.mutation import render as render_faults
from reports.render import render
from results.analysis import mutation
from results.analysis.comparison import compare
from results.model.load import load
from results.runlog.chain import START, linked
from tests.reports.browser import Browser, axe
from tests.reports.synthetic_run import Record, SyntheticRun, check, green_run, red_run

AXE = axe()
NARROW = 390
PAGES = ("html", "customer", "faults", "comparison", "history", "several")
CLAUSE = "clause:srq_resize/grow"
SHOWN = "document.querySelectorAll('tr.clause:not([hidden])').length"


def later(script: str) -> str:
    """An expression, when the page has come to rest."""
    return f"new Promise((done) => setTimeout(() => done({script}), 400))"


# All that can be opened, but of the rows of clauses no more than some.
OPENED = (
    "document.querySelectorAll('details').forEach((each) => { each.open = true; });"
    "[...document.querySelectorAll('tr.clause td:first-child a')].slice(0, 12)"
    ".forEach((each) => each.click());" + later("true")
)

pytestmark = pytest.mark.usefixtures("chromium")


@pytest.fixture(name="browser", scope="module")
def one_browser(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(chromium, tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture(name="window")
def wide_window(browser: Browser) -> Browser:
    browser.resize(1280, 900)
    browser.scheme("light")
    return browser


def wide_run() -> SyntheticRun:
    """A run of all that a report shows: findings, unstable ones, pictures, facts, long output."""
    run = red_run()
    ends = [record for record in run.records if record["type"] == "end"]
    run.records = [record for record in run.records if record["type"] != "end"]
    for family in ("first_family_of_states", "second_family_of_states"):
        for column in range(30):
            run.case(f"{family}/a_state_number_{column}", output="a line of output\n" * 60)
    run.head["pages"] = [
        {
            "page": "dat_srq_resize",
            "sections": [{"name": "RETURN VALUES", "count": 1}],
            "sentences": ["00000001"],
            "informative": [{"sentences": ["00000001"], "reason": "Names the call. " * 20}],
        }
    ]
    run.case("said_much", "FAIL", output="a line of output\n" * 60)
    for state in ("connected", "disconnected", "unconnected"):
        name = f"of_a_family_whose_name_is_long/and_longer_where_an_endpoint_is_{state}"
        seen = [check(f"event.event_data.of_one_kind_or_another.{name}", ok=False, seen="0")]
        run.case(name, "FAIL", checks=seen)
        run.case(f"inapplicable/{name}", "UNSUPPORTED", calls=[], checks=[])
    run.records += ends
    return run


def write_faults(folder: Path) -> None:
    """Writes a record of faults, one of each outcome on two pages, with a hostile one."""
    pages = ("dat_srq_resize", "dat_srq_query")
    outcomes = ("FAIL", "CRASH", "TIMEOUT", "PASS", "UNSUPPORTED", "ERROR", "NOT-RUN")
    ids = [f"{page.removeprefix('dat_')}/case_{n}" for page in pages for n in range(len(outcomes))]
    head: Record = {
        "type": "mutation",
        "format": mutation.FORMAT,
        "run": "faults-20260102-030405",
        "started": "2026-01-02T03:04:05Z",
        "command": ["udapl-cts", "faults"],
        "patience": 1,
        "suite": {"version": "0.1.0", "commit": "0123abcd4567", "dirty": True},
        **{
            part: {"library": f"/opt/{part}.so", "sha256": "3f" * 32}
            for part in ("subject", "wrapper", "libdat")
        },
        "pages": [*pages, "dat_srq_free"],
        "selected": True,
        "clauses": [
            {"id": id_, "page": f"dat_{id_.split('/')[0]}", "level": "must", "text": "It holds."}
            for id_ in ids
        ],
        "faults": [
            *(
                {"id": f"{id_}_broken", "clause": id_, "own": [id_], "case": "", "verdicts": []}
                for id_ in ids
            ),
            {"id": "hostile", "clause": "", "own": [], "case": ids[0], "verdicts": ["CRASH"]},
        ],
        "no_faults": [{"clause": ids[0], "reason": "Nothing at the boundary breaks it."}],
        "unproven": [ids[1]],
    }
    for fault in head["faults"]:
        fault |= {"text": "Says that it did, and did not.", "teardown": ["none"]}
    ran = [
        *(("whole", "", id_, "PASS") for id_ in ids),
        *(("own", f"{id_}_broken", id_, said) for id_, said in zip(ids, outcomes * 2, strict=True)),
        # What another case catches; what ended otherwise when it was run again.
        ("page", f"{ids[3]}_broken", ids[4], "FAIL"),
        ("own", f"{ids[0]}_broken", ids[0], "CRASH"),
        ("hostile", "hostile", ids[0], "CRASH"),
        ("after", "hostile", ids[0], "PASS"),
    ]
    said = {"type": "verdict", "attempt": 1, "reason": "saw 8", "ms": 12.5}
    records: list[Record] = [
        head,
        *(
            {**said, "purpose": purpose, "fault": fault, "case": case, "verdict": verdict}
            for purpose, fault, case, verdict in ran
        ),
        {"type": "incident", "what": "host-lost", "host": "host1", "text": "its kernel panicked"},
        {"type": "end", "finished": "2026-01-02T03:05:05Z", "status": "complete"},
    ]
    last, lines = START, []
    for record in records:
        lines.append(linked(json.dumps(record).encode(), last))
        last = last.to(lines[-1])
    (folder / mutation.FILE).write_bytes(b"".join(lines))


def beside(folder: Path, name: str, markup: str) -> Path:
    """A page in `folder`."""
    path = folder / f"{name}.html"
    path.write_text(markup, encoding="utf-8")
    return path


@pytest.fixture(name="pages", scope="module")
def all_pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    results = tmp_path_factory.mktemp("run")
    folder = wide_run().write(results)
    other = green_run()
    other.head["run"] = other.folder = "20260103-030405-7"
    run, after = load(folder), load(other.write(results))
    write_faults(results)
    return {
        **{fmt: render(folder, fmt) for fmt in ("html", "customer")},
        "faults": render_faults(results),
        "comparison": beside(
            results, "comparison", compared.RENDERERS["html"](compare(run, after))
        ),
        "history": beside(results, "history", history.render(map(history.point, (run, after)))),
        "several": beside(results, "several", several.RENDERERS["html"](Several((run, after)))),
    }


@pytest.fixture(name="report")
def the_report(pages: dict[str, Path]) -> str:
    return pages["html"].as_uri()


def test_what_a_reader_opens_is_in_the_address(window: Browser, report: str) -> None:
    window.open(report)
    assert window.run("location.hash") == ""
    window.run(f"document.getElementById('{CLAUSE}').querySelector('a').click()")
    link = window.run("location.href")
    assert link == f"{report}#{CLAUSE}"
    window.open(link)
    shown = window.run(later(f"document.getElementById('{CLAUSE}').nextElementSibling.innerText"))
    assert "dat_srq_resize(srq, 8)" in shown
    window.run(f"document.getElementById('{CLAUSE}').querySelector('a').click()")
    assert window.run("location.hash") == ""


def test_filters_are_in_the_address(window: Browser, report: str) -> None:
    window.open(report)
    every = window.run(SHOWN)
    window.run("document.querySelector('button[data-value=PASS]').click()")
    window.run("document.querySelector('button[data-value=FAIL]').click()")
    window.run("document.querySelector('input[type=search]').focus()")
    window.press("srq resize")
    assert window.run(later("location.hash")) == "#?v=PASS&v=FAIL&t=srq+resize"
    some = window.run(SHOWN)
    assert 0 < some < every
    window.run(f"document.getElementById('{CLAUSE}').querySelector('a').click()")
    link = window.run("location.href")
    assert link == f"{report}#{CLAUSE}?v=PASS&v=FAIL&t=srq+resize"

    window.open(link)
    assert window.run(SHOWN) == some
    assert window.run("document.querySelector('input[type=search]').value") == "srq resize"
    assert window.run(f"document.getElementById('{CLAUSE}').classList.contains('opened')")
    # Filters that hide the clause of their own link: the clause is what was asked for.
    window.open(f"{report}#{CLAUSE}?v=CRASH")
    assert window.run(SHOWN) == every
    assert window.run("location.hash") == f"#{CLAUSE}"
    for nonsense in ("%", "?", "?v=NONE&l=none", "no-such?t=%"):
        window.open(f"{report}#{nonsense}")
        assert window.run("document.querySelector('output').textContent.endsWith(' of ')") is False


def test_the_strip_is_one_stop_of_the_tab_key(window: Browser, report: str) -> None:
    window.open(report)
    focus = "document.activeElement.getAttribute('aria-label') || document.activeElement.innerText"
    window.press("Tab")
    assert window.run(focus) == "Skip to the results"
    stops = []
    while not (said := window.run(focus)).startswith("Profiles"):
        stops.append(said)
        window.press("Tab")
    ticks = window.run("[...document.querySelectorAll('.strip a')].map((a) => a.ariaLabel)")
    assert len(ticks) > 60
    assert [stop for stop in stops if stop in ticks] == ticks[:1]

    window.run("document.querySelector('.strip a').focus()")
    seen = []
    for key in ("ArrowLeft", "ArrowRight", "ArrowRight", "ArrowLeft", "End", "ArrowRight", "Home"):
        window.press(key)
        seen.append(ticks.index(window.run(focus)))
    last = len(ticks) - 1
    assert seen == [0, 1, 2, 1, last, last, 0]
    assert window.run("document.querySelectorAll('.strip a[tabindex=\"0\"]').length") == 1
    window.press("ArrowRight")
    window.press("Enter")
    opened = "document.querySelector('tr.opened')?.id"
    assert ticks[1] == "PASS " + window.run(later(opened)).removeprefix("clause:")


def test_the_skip_link_leads_behind_the_head(window: Browser, report: str) -> None:
    window.open(report)
    window.press("Tab")
    window.press("Enter")
    assert window.run("document.activeElement.tagName") == "MAIN"
    window.press("Tab")
    assert window.run("document.activeElement.closest('section').id") == "findings"


def test_sections_have_names_and_header_cells_scopes(window: Browser, report: str) -> None:
    window.open(report)
    named = window.run(
        "[...document.querySelectorAll('main > section')].map((section) =>"
        " document.getElementById(section.getAttribute('aria-labelledby'))?.innerText)"
    )
    assert "What failed" in named
    assert all(named)
    assert window.run("document.querySelectorAll('th:not([scope])').length") == 0


@pytest.mark.parametrize("fmt", ["customer", "comparison"])
def test_findings_fit_on_a_phone(window: Browser, pages: dict[str, Path], fmt: str) -> None:
    window.resize(NARROW, 844)
    window.open(pages[fmt].as_uri())
    assert window.run("document.querySelectorAll('.stacked tbody tr').length") > 0
    cut = (
        "[...document.querySelectorAll('.stacked td')].filter((each) =>"
        " each.getBoundingClientRect().right > innerWidth).length"
    )
    assert window.run(cut) == 0


@pytest.mark.parametrize("fmt", PAGES)
def test_no_page_pans_sideways(window: Browser, pages: dict[str, Path], fmt: str) -> None:
    window.resize(NARROW, 844)
    window.open(pages[fmt].as_uri())
    window.run(OPENED)
    assert window.run("document.documentElement.scrollWidth") <= NARROW
    # What is laid out only when it is near the window is cut off there, and pans nothing.
    cut = (
        "[...document.querySelectorAll('main *')].filter((each) =>"
        " each.getBoundingClientRect().right > innerWidth && !each.closest('.scroll'))"
        ".map((each) => each.outerHTML.slice(0, 200))"
    )
    assert window.run(cut) == []


@pytest.mark.skipif(AXE is None, reason="no axe-core here")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, NARROW])
@pytest.mark.parametrize("fmt", PAGES)
def test_axe_finds_nothing(
    window: Browser, pages: dict[str, Path], fmt: str, width: int, scheme: str
) -> None:
    window.resize(width, 844)
    window.scheme(scheme)
    window.open(pages[fmt].as_uri())
    window.run(OPENED)
    window.run(f"{AXE};0")
    found = window.run(
        "axe.run(document, {resultTypes: ['violations']}).then((result) => result.violations"
        ".map((each) => [each.id, each.nodes.length, each.nodes[0].html.slice(0, 200)]))"
    )
    assert found == []


def test_paper_is_a4(window: Browser, pages: dict[str, Path]) -> None:
    for page in pages.values():
        window.open(page.as_uri())
        assert set(re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", window.printed())) == {
            (b"594.95996", b"841.91998")
        }
