# SPDX-License-Identifier: BSD-2-Clause
"""customer.html: what its reader sees first, what is left out, and that it prints on two pages
at most.
"""

import json
import re
import subprocess
from pathlib import Path

import pytest

from reports.render import render
from results.errors import ReportError
from results.model.load import load
from tests.reports.html_page import parse, words
from tests.reports.synthetic_run import SyntheticRun, green_run, red_run
from tests.reports.test_html import HOSTILE
from tests.reports.test_waivers import run_with, waiver


def text_of(run: SyntheticRun, results: Path) -> str:
    """The page of `run`, in words."""
    path = render(run.write(results), "customer")
    assert path.name == "customer.html"
    return words(parse(path.read_text(encoding="utf-8")))


def test_a_run_in_part_says_so_first(tmp_path: Path) -> None:
    run = green_run()
    run.of_a_suite(cases=40)
    text = text_of(run, tmp_path)
    assert "Tested in part: a selection, 4 of 44 cases" in text
    assert text.index("Tested in part") < text.index("1 of the 3 pages") < text.index("Kept, in")
    assert "nothing is said of the others" in text


def test_what_was_tested_and_how_it_went(tmp_path: Path) -> None:
    run = run_with(waiver("srq_resize/broken"))
    text = text_of(run, tmp_path)
    for said in (
        "uDAPL 1.2",
        "vendor 2.1",
        "3f" * 32,
        "host1",
        "this run says nothing about RDMA hardware",
        "Not conformant",
        "2 findings, 1 waived: a waiver changes no verdict.",
        "srq_supported fail 6 2 2 1 1",
        "FAIL 1 \u2013 dat_srq_resize: refused. The clause broken holds. srq_resize/broken",
        "mended in 2.2",
        "A. Lab 2027-01-31",
        "The maker gave no statement",
        load(tmp_path / run.folder).digest,
        "Signature",
    ):
        assert said in text
    assert "Findings None." in text_of(green_run(), tmp_path)


def test_a_statement_beside_the_run_is_the_makers(tmp_path: Path) -> None:
    run = green_run()
    said = {
        "organisation": "Example Ltd",
        "product": "FastDAT",
        "version": "3.1",
        "contact": "dat@example.com",
        "adapter": "X7",
        "firmware": "22.1",
        "claims": ["core"],
    }
    (run.write(tmp_path) / "statement.json").write_text(json.dumps(said))
    text = text_of(run, tmp_path)
    assert "FastDAT 3.1 Example Ltd, dat@example.com" in text
    assert "Adapter X7, firmware 22.1" in text
    assert "Claimed core" in text
    assert "gave no statement" not in text


@pytest.mark.parametrize("said", ["{", "[]", '"x"'])
def test_what_is_no_statement(tmp_path: Path, said: str) -> None:
    folder = green_run().write(tmp_path)
    (folder / "statement.json").write_text(said)
    with pytest.raises(ReportError, match=r"statement\.json is no statement"):
        render(folder, "customer")


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    run = red_run()
    run.head["subject"]["library"] = HOSTILE
    for record in run.records:
        record |= {"reason": HOSTILE} if record["type"] == "verdict" else {}
    tree = parse(render(run.write(tmp_path), "customer").read_text(encoding="utf-8"))
    assert not list(tree.iter("script"))
    assert not list(tree.iter("img"))


def printed(chromium: str, page: Path, tmp_path: Path) -> int:
    """On how many pages a browser prints it."""
    pdf = tmp_path / "page.pdf"
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--print-to-pdf={pdf}"]
    subprocess.run(
        [*command, f"--user-data-dir={tmp_path / 'browser'}", page.as_uri()],
        check=True,
        capture_output=True,
        timeout=120,
    )
    return len(re.findall(rb"/Type\s*/Page\b", pdf.read_bytes()))


def test_it_prints_on_two_pages_at_most(chromium: str, tmp_path: Path) -> None:
    run = SyntheticRun()
    run.fabric(1)
    run.fabric(2)
    for number in range(20):
        needs = [f"feature_{number}_supported"]
        run.case(f"{number}", "FAIL", clause={"needs": needs}, reason=f"saw {number} of many")
    run.head["suite"]["pages"] = [f"dat_page_number_{number}" for number in range(73)]
    folder = run.write(tmp_path)
    assert printed(chromium, render(folder, "customer"), tmp_path) <= 2


def test_the_report_prints_a_line_for_each_clause(chromium: str, tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    for number in range(600):
        run.case(f"clause_{number}", clause={"text": "It holds, " * 30})
    folder = run.write(tmp_path)
    assert printed(chromium, render(folder, "html"), tmp_path) <= 7


def test_what_was_not_judged_stands_beside_what_was_broken(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    run.fabric(1)
    run.case("broken", "FAIL")
    blocked = {"call": "dat_rmr_create", "clause": "", "ret": "DAT_INTERNAL_ERROR", "site": {}}
    said = "dat_rmr_create returned DAT_INTERNAL_ERROR"
    for number in range(3):
        run.case(f"blocked_{number}", "BLOCKED", reason=said, blocked=blocked)
    run.case("lost", "ERROR", reason="the peer's host was lost")
    run.end()
    text = text_of(run, tmp_path)
    assert "2 clauses checked" not in text
    assert "1 clause checked, 1 failed, 3 blocked, 1 not decided." in text
    assert "3 clauses not judged, because dat_rmr_create failed (3)" in text
    assert "Not decided, by no fault of the provider: 1 clause, " in text
    assert "the peer's host was lost" in text
