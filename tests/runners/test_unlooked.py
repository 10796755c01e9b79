# SPDX-License-Identifier: BSD-2-Clause
"""A query that gave the probe no answer: fixtures do without it, and it stays a finding."""

import json

from results.runlog.invariants import broken
from tests.runners.fake_checkout import Cts

QUERY = "dat_ep_query"
WHY = f"ended by SIGSEGV in {QUERY}"


def test_it_is_a_finding_though_each_case_was_kept(cts: Cts) -> None:
    cts.has("does_without")
    cts.env["FAKE_UNLOOKED"] = QUERY
    done = cts("certify", "--hosts", "1")
    assert done.returncode == 1
    said = f"{QUERY} gave the probe no answer, and cases did without it: {WHY}"
    assert f"probe: {said}, in demo_page/does_without" in done.stdout
    assert f"{QUERY} gave no answer, and fixtures do without it: {WHY}." in done.stdout
    assert "1 defect, found by the probe." in done.stdout
    records = cts.events()
    (verdict,) = [r for r in records if r["type"] == "verdict" and r["attempt"] == 1]
    assert verdict["verdict"] == "PASS"
    assert verdict["unasked"] == [{"call": QUERY, "saw": WHY}]
    (hosts,) = [record for record in records if record["type"] == "hosts"]
    assert hosts["ia"]["unlooked"] == {QUERY: WHY}
    assert records[-1]["exit"] == 1
    assert list(broken(cts.runs / "latest")) == []
    for name in ("report.md", "report.html", "customer.html", "junit.xml"):
        assert said in (cts.runs / "latest" / name).read_text().replace("\\", ""), name
    (told,) = json.loads((cts.runs / "latest/report.json").read_text())["teardown"]
    assert (told["call"], told["what"], told["saw"]) == (QUERY, "unasked", WHY)


def test_it_is_one_finding_where_its_page_shows_it(cts: Cts) -> None:
    cts.has("does_without", "crashes_in_look")
    cts.env["FAKE_UNLOOKED"] = QUERY
    done = cts("certify", "--hosts", "1")
    assert done.returncode == 1
    assert "1 defect: it fails 1 of 2 clauses." in done.stdout
    assert json.loads((cts.runs / "latest/report.json").read_text())["teardown"] == []


def test_it_is_a_finding_beside_a_failure_of_another_cause(cts: Cts) -> None:
    cts.has("does_without", "fails")
    cts.env["FAKE_UNLOOKED"] = "dat_demo_page"
    cts("certify", "--hosts", "1")
    (told,) = json.loads((cts.runs / "latest/report.json").read_text())["teardown"]
    assert (told["call"], told["what"]) == ("dat_demo_page", "unasked")


def test_a_replay_of_a_kept_case_ends_as_its_run(cts: Cts) -> None:
    cts.has("does_without")
    cts.env["FAKE_UNLOOKED"] = QUERY
    cts("certify", "--hosts", "1")
    done = cts("replay", "demo_page/does_without")
    assert done.returncode == 1
    assert f"probe: {QUERY} gave the probe no answer" in done.stdout
