# SPDX-License-Identifier: BSD-2-Clause
"""Pages sentence by sentence, and the faults that prove each case."""

from pathlib import Path

from reports.render import render
from tests.reports.html_page import Page, with_class, words
from tests.reports.synthetic_run import SyntheticRun

WORDS = {"dat_srq_resize": {"00000002": "The queue grows on request."}}


def paged_run() -> SyntheticRun:
    """A run of a page with three sentences, of which one demands nothing."""
    run = SyntheticRun(modes=(1,))
    run.head["pages"] = [
        {
            "page": "dat_srq_resize",
            "sections": [{"name": "NAME", "count": 1}, {"name": "RETURN VALUES", "count": 2}],
            "sentences": ["00000001", "00000002", "00000003"],
            "informative": [{"sentences": ["00000001"], "reason": "Names the call."}],
        }
    ]
    run.case("grow", clause={"sentences": ["00000002"], "case": "cases/srq/srq_resize.c:31"})
    for row in ("null", "destroyed", "other_kind", "foreign"):
        verdict = "FAIL" if row == "foreign" else "PASS"
        clause = {"sentences": ["00000002", "00000003"], "text": f"A handle, {row}, is refused."}
        run.case(f"handle/{row}", verdict, clause)
    run.head["faults"] = [
        {"id": "srq_resize/never", "clause": "srq_resize/grow", "text": "Never grows."},
        {"id": "srq_resize/late", "clause": "srq_resize/grow", "text": "Grows too late."},
        {"id": "srq_resize/any", "clause": "srq_resize/handle", "text": "Takes any handle."},
    ]
    run.head["no_faults"] = []
    run.head["proofs"] = [
        {
            "run": "faults-20260101-000000",
            "page": "../faults-20260101-000000/faults.html",
            "dirty": False,
            "outcomes": {
                "killed": [
                    ["srq_resize/never", "srq_resize/grow"],
                    ["srq_resize/any", "srq_resize/handle/null"],
                ],
                "survived": [["srq_resize/late", "srq_resize/grow"]],
            },
        }
    ]
    run.end()
    return run


def test_each_sentence_has_its_place_and_what_stands_on_it(tmp_path: Path) -> None:
    page = Page(render(paged_run().write(tmp_path), "html"))
    rows = [words(row) for row in with_class(page.sentences("dat_srq_resize"), "sentence")]
    assert rows == [
        "Name 1 00000001 Names the call.",
        "Return values 1 00000002 FAIL PASS grow The clause grow holds. 3 PASS, 1 FAIL handle"
        " A handle, null, is refused. Likewise: destroyed, other kind, foreign.",
        "Return values 2 00000003 FAIL 3 PASS, 1 FAIL handle"
        " A handle, null, is refused. Likewise: destroyed, other kind, foreign.",
    ]


def test_the_words_of_a_page_are_in_a_copy_of_its_own(tmp_path: Path) -> None:
    folder = paged_run().write(tmp_path)
    assert "grows on request" not in render(folder, "html").read_text()
    path = render(folder, "html", words=WORDS)
    assert path.name == "report-with-pages.html"
    page = Page(path)
    said = words(page.sentences("dat_srq_resize"))
    assert "00000002 FAIL The queue grows on request. PASS grow" in said
    assert "report.html is the one to pass on" in page.text_of("sentences")


def test_a_clause_has_its_case_and_its_faults(tmp_path: Path) -> None:
    page = Page(render(paged_run().write(tmp_path), "html"))
    assert "grow cases/srq/srq_resize.c:31" in page.text_of("clause:srq_resize/grow")
    assert words(page.evidence("srq_resize/grow")).startswith(
        "killed Never grows. survived Grows too late. "
    )
    assert "killed Takes any handle." in words(page.evidence("srq_resize/handle/null"))
    assert "fault Takes any handle." in words(page.evidence("srq_resize/handle/foreign"))
    said = page.text_of("clauses")
    assert "What became of them is as of faults-20260101-000000." in said
    assert "../faults-20260101-000000/faults.html" in list(page.addresses())


def test_a_suite_without_a_faults_run_says_so(tmp_path: Path) -> None:
    run = paged_run()
    run.head["proofs"] = []
    page = Page(render(run.write(tmp_path), "html"))
    assert "No faults run of this commit of the suite was at hand" in page.text_of("clauses")
    assert "fault Never grows." in words(page.evidence("srq_resize/grow"))
