# SPDX-License-Identifier: BSD-2-Clause
"""`faults`: what a fault's own case catches, what only another does, and what none does."""

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.runners.fake_checkout import Cts, wait_for

FAULT = """
[[fault]]
id = "demo/{name}"
clause = "demo_page/{clause}"
text = "It {name}."
on = "dat_srq_resize"
do = "run"
function = "crash"
"""
HOSTILE = """
[[fault]]
id = "demo/{name}"
text = "It {name}."
on = "any call"
do = "run"
function = "crash"
case = "demo_page/passes"
verdicts = ["{verdict}"]
"""
NO_FAULT = """
[[no_fault]]
clause = "demo_page/{clause}"
reason = "libdat answers."
"""


class Foundry:
    """A checkout with faults. A fault is named after what its provider does to every case."""

    def __init__(self, cts: Cts) -> None:
        self.cts = cts
        self.out = cts.root / "out"
        (cts.root / "faults").mkdir()
        for library in ("libdaplfault.so", "libdatfault.so"):
            shutil.copy(cts.provider, cts.provider.with_name(library))

    def has(self, *rows: str) -> None:
        """Give the checkout these faults."""
        (self.cts.root / "faults/demo.toml").write_text("".join(rows))

    def run(self, *arguments: str) -> tuple[int, str]:
        """Exit code and output of `faults`."""
        done = self.cts("faults", "--out", str(self.out), *arguments)
        return done.returncode, done.stdout + done.stderr

    @property
    def records(self) -> list[dict[str, Any]]:
        """What stands in faults.jsonl."""
        return [json.loads(line) for line in (self.out / "faults.jsonl").read_text().splitlines()]

    def runs(self, purpose: str) -> list[tuple[str, str, str]]:
        """Fault, case and verdict of each run for a purpose."""
        return sorted(
            (r["fault"], r["case"].split("/")[1], r["verdict"])
            for r in self.records
            if r["type"] == "verdict" and r["purpose"] == purpose
        )


@pytest.fixture
def foundry(cts: Cts) -> Foundry:
    return Foundry(cts)


def fault(name: str, clause: str = "passes") -> str:
    return FAULT.format(name=name, clause=clause)


def test_caught_by_its_own_case(foundry: Foundry) -> None:
    foundry.has(fault("fails"), fault("crashes"), fault("times_out"))
    code, output = foundry.run()
    assert code == 0, output
    assert "dat_demo_page, must: 3 of 3 killed by their own case" in output
    assert foundry.runs("whole") == [("", "passes", "PASS")]
    assert foundry.runs("own") == [
        ("demo/crashes", "passes", "CRASH"),
        ("demo/fails", "passes", "FAIL"),
        ("demo/times_out", "passes", "TIMEOUT"),
    ]
    assert foundry.runs("page") == []
    assert "Can each case fail?" in (foundry.out / "faults.html").read_text()


def test_a_folder_whose_name_no_file_can_have(foundry: Foundry) -> None:
    foundry.has(fault("fails"))
    foundry.out = foundry.cts.root / ("x" * 300)
    code, output = foundry.run()
    assert code == 64
    assert output.splitlines()[-1].endswith(": File name too long")


def test_a_mutant_has_more_time_on_a_slow_host(foundry: Foundry) -> None:
    foundry.has(fault("tells_its_time"))
    foundry.run()
    (usual,) = [r["reason"] for r in foundry.records if r.get("purpose") == "own"]
    assert usual == "deadline 300, event 1500, quiet 100"
    shutil.rmtree(foundry.out)
    foundry.run("--patience", "3")
    assert foundry.records[0]["patience"] == 3
    (longer,) = [r["reason"] for r in foundry.records if r.get("purpose") == "own"]
    assert longer == "deadline 900, event 4500, quiet 300"


def test_a_crew_begins_before_the_one_before_it_has_ended(foundry: Foundry) -> None:
    """One fault at a time: what the first one's case waits for does not hold up the second one."""
    foundry.cts.env["FAKE_FAULTS_AT_A_TIME"] = "1"
    foundry.has(fault("times_out_late"), fault("fails"), fault("crashes"))
    code, output = foundry.run("-n", "1")
    assert code == 0, output
    assert "3 of 3 killed" in output
    own = [record["fault"] for record in foundry.records if record.get("purpose") == "own"]
    assert own.index("demo/fails") < own.index("demo/times_out_late")
    known = [
        [name for name in ("times_out_late", "fails", "crashes") if f"fault:demo/{name} " in text]
        for text in ((foundry.out / f"dat.conf.{n}").read_text() for n in range(1, 5))
    ]
    assert known == [[], ["times_out_late"], ["fails"], ["crashes"]]


def test_a_fault_of_libdat(foundry: Foundry) -> None:
    foundry.has(fault("fails").replace("dat_srq_resize", "dat_strerror"), fault("times_out"))
    code, output = foundry.run()
    assert code == 0, output
    assert "2 of 2 killed" in output
    assert foundry.records[0]["libdat"]["library"].endswith("/libdatfault.so")
    entries = (foundry.out / "dat.conf").read_text()
    assert "fault:demo/times_out" in entries
    assert "demo/fails" not in entries


def test_survived(foundry: Foundry) -> None:
    foundry.has(fault("fails"), fault("passes"))
    code, output = foundry.run()
    assert code == 1
    assert "survived: demo/passes (demo_page/passes)" in output
    assert "1 of 2 killed" in output


def test_a_survivor_is_tried_again(foundry: Foundry) -> None:
    foundry.has(fault("fails"), fault("passes_once"))
    code, output = foundry.run()
    assert code == 0, output
    assert "unsteady: demo/passes_once (demo_page/passes): PASS, then FAIL" in output
    assert "2 of 2 killed" in output
    page = (foundry.out / "faults.html").read_text()
    assert "Unsteady: another verdict when tried again" in page


def test_what_is_not_green_is_tried_again(foundry: Foundry) -> None:
    foundry.cts.has("passes", "fails_once")
    foundry.has(fault("fails"), fault("fails2", "fails_once"))
    code, output = foundry.run()
    assert code == 0, output
    assert "unsteady: no fault (demo_page/fails_once): FAIL, then PASS" in output


def test_a_hostile_fault_is_not_tried_again(foundry: Foundry) -> None:
    foundry.has(fault("fails"), HOSTILE.format(name="passes_once", verdict="FAIL"))
    code, output = foundry.run()
    assert code == 1
    assert "not contained: demo/passes_once: PASS, afterwards PASS" in output
    assert len(foundry.runs("hostile")) == len(foundry.runs("after")) == 1


def test_caught_only_by_another_case(foundry: Foundry) -> None:
    foundry.cts.has("passes", "passes2")
    foundry.has(fault("spares"), fault("fails", "passes2"))
    code, output = foundry.run()
    assert code == 1
    assert "killed only by another case: demo/spares (demo_page/passes)" in output
    assert foundry.runs("page") == [("demo/spares", "passes2", "FAIL")]


@pytest.mark.parametrize(
    ("name", "options", "pair"),
    [
        ("talks_to_peer", [], False),
        ("talks_to_peer", ["--hosts", "2"], True),
        ("disturbs_network", [], True),
    ],
)
def test_where_a_case_has_its_peer(
    foundry: Foundry, name: str, options: list[str], pair: bool
) -> None:
    foundry.cts.has("passes", name)
    foundry.has(fault("fails"), fault("fails2", name))
    code, told = foundry.run(*options)
    assert code == 0, told
    assert (2 in foundry.cts.openings) == pair


def test_an_arrangement_that_breaks_catches_nothing(foundry: Foundry) -> None:
    foundry.has(fault("breaks"))
    code, output = foundry.run()
    assert code == 1
    assert "survived: demo/breaks" in output


def test_a_family_is_caught_by_each_of_its_rows(foundry: Foundry) -> None:
    foundry.cts.has("passes", "fails_on_two")
    foundry.has(fault("fails"), fault("fails2", "fails_on_two"))
    code, output = foundry.run()
    assert code == 0, output
    assert "2 of 2 killed" in output


def test_a_may_clause_need_not_be_proven(foundry: Foundry) -> None:
    foundry.cts.has("passes", "passes2", may=["passes2"])
    foundry.has(fault("fails"), fault("passes2", "passes2"))
    code, output = foundry.run()
    assert code == 0, output
    assert "survived: demo/passes2" in output
    assert "dat_demo_page, may: 0 of 1" in output


def for_walks(name: str) -> str:
    return fault(name) + 'found_by = "explore"\n'


def test_a_fault_that_walks_have_to_find(foundry: Foundry) -> None:
    """No case is asked. The walk that finds it does not deviate without it."""
    foundry.cts.env["FAKE_WALK"] = "strikes"
    foundry.has(fault("fails"), for_walks("passes"))
    code, output = foundry.run()
    assert code == 0, output
    said = "found by walks, a case is yet to be written: demo/passes (demo_page/passes): walk 1 of"
    assert said in output
    assert "[pz_query/invalid_handle" in output
    assert foundry.runs("own") == [("demo/fails", "passes", "FAIL")]
    assert foundry.runs("sought") == [("demo/passes", "passes", "FAIL")]
    assert foundry.runs("control") == [("demo/passes", "passes", "PASS")]
    assert "pz_create" in (foundry.out / "demo.passes.steps").read_text()
    page = (foundry.out / "faults.html").read_text()
    assert "Cases yet to be written" in page
    assert "(found by explore)" in foundry.cts("faults", "--list").stdout


@pytest.mark.parametrize(
    ("walk", "code", "said"),
    [
        ("agrees", 1, "no walk finds it: demo/passes"),
        ("deviates", 1, "its walk deviates without the fault, too: demo/passes"),
        ("crashes", 1, "its walk deviates without the fault, too: demo/passes"),
        ("error", 2, "not run: demo/passes"),
    ],
)
def test_a_fault_that_walks_do_not_find(foundry: Foundry, walk: str, code: int, said: str) -> None:
    foundry.cts.env["FAKE_WALK"] = walk
    foundry.has(fault("fails"), for_walks("passes"))
    ended, output = foundry.run()
    assert ended == code, output
    assert said in output


def test_a_fault_that_walks_do_not_find_without_its_feature(foundry: Foundry) -> None:
    foundry.cts.env |= {"FAKE_WALK": "agrees", "FAKE_WITHOUT_SRQS": "1"}
    foundry.has(fault("fails"), for_walks("passes"))
    code, output = foundry.run()
    assert code == 0, output
    assert "not applicable: demo/passes (demo_page/passes): srq_supported" in output


def test_a_fault_that_a_case_finds_is_none_for_walks(foundry: Foundry) -> None:
    foundry.cts.env["FAKE_WALK"] = "strikes"
    foundry.cts.has("passes", "passes2")
    foundry.has(fault("fails"), for_walks("spares"))
    assert foundry.run()[0] == 0
    shutil.rmtree(foundry.out)
    code, output = foundry.run("--matrix")
    assert code == 1
    assert "a case finds it, so found_by is wrong: demo_page/passes2: demo/spares" in output


def test_a_fault_for_walks_proves_no_clause(foundry: Foundry) -> None:
    foundry.cts.env["FAKE_WALK"] = "strikes"
    foundry.has(for_walks("passes"))
    _, output = foundry.run()
    assert "neither fault nor reason: 1 must clause of dat_demo_page" in output


def test_the_unbroken_wrapper_must_be_green(foundry: Foundry) -> None:
    foundry.cts.has("passes", "fails")
    foundry.has(fault("fails"), fault("fails2", "fails"))
    code, output = foundry.run()
    assert code == 1
    assert "not green without a fault: demo_page/fails: FAIL" in output
    assert "1 of 1 killed" in output


def test_a_clause_without_a_fault(foundry: Foundry) -> None:
    foundry.cts.has("passes", "passes2")
    foundry.has(fault("fails"))
    code, output = foundry.run()
    assert code == 0
    assert "neither fault nor reason: 1 must clause of dat_demo_page" in output
    assert "demo_page/passes2" in (foundry.out / "faults.html").read_text()


def test_a_clause_with_a_reason(foundry: Foundry) -> None:
    foundry.cts.has("passes", "passes2")
    foundry.has(fault("fails"), NO_FAULT.format(clause="passes2"))
    assert foundry.run()[0] == 0
    assert "libdat answers." in (foundry.out / "faults.html").read_text()


def test_what_does_not_apply_does_not_count(foundry: Foundry) -> None:
    foundry.has(fault("fails"), fault("unsupported"))
    code, output = foundry.run()
    assert code == 0, output
    assert "1 of 1 killed" in output


def test_a_choice_of_faults(foundry: Foundry) -> None:
    foundry.cts.has("passes", "passes2")
    foundry.has(fault("fails"), fault("crashes", "passes2"))
    code, output = foundry.run("-k", "crashes and not fails")
    assert code == 0, output
    assert foundry.runs("own") == [("demo/crashes", "passes2", "CRASH")]


def test_the_whole_matrix(foundry: Foundry) -> None:
    foundry.cts.has("passes", "passes2")
    foundry.has(fault("fails"), fault("crashes", "passes2"))
    assert foundry.run("--matrix")[0] == 0
    assert foundry.runs("page") == [
        ("demo/crashes", "passes", "CRASH"),
        ("demo/fails", "passes2", "FAIL"),
    ]


def test_a_hostile_fault_costs_its_verdict(foundry: Foundry) -> None:
    foundry.has(fault("fails"), HOSTILE.format(name="crashes", verdict="CRASH"))
    code, output = foundry.run()
    assert code == 0, output
    assert foundry.runs("hostile") == [("demo/crashes", "passes", "CRASH")]
    assert foundry.runs("after") == [("demo/crashes", "passes", "PASS")]


def test_a_hostile_fault_that_breaks_a_teardown(foundry: Foundry) -> None:
    """The row names the calls: neither another verdict nor another teardown is contained."""
    row = HOSTILE.format(name="frees_nothing", verdict="PASS")
    foundry.has(fault("fails"), row + 'teardown = ["dat_srq_free"]\n')
    code, output = foundry.run()
    assert code == 0, output
    page = (foundry.out / "faults.html").read_text()
    assert "PASS, teardown failed in dat_srq_free" in page
    assert "They are about 1 of the 2 pages." in page
    shutil.rmtree(foundry.out)
    foundry.has(fault("fails"), row)
    code, output = foundry.run()
    assert code == 1
    said = "not contained: demo/frees_nothing: PASS, teardown failed in dat_srq_free, afterwards"
    assert said in output


def test_a_teardown_that_breaks_without_a_fault_is_not_green(foundry: Foundry) -> None:
    foundry.cts.has("frees_nothing")
    foundry.has(fault("fails", "frees_nothing"))
    code, output = foundry.run()
    assert code == 1
    assert "not green without a fault: demo_page/frees_nothing: PASS, teardown failed" in output


@pytest.mark.parametrize("name", ["passes", "kills_host"])
def test_a_hostile_fault_that_is_not_contained(foundry: Foundry, name: str) -> None:
    foundry.has(fault("fails"), HOSTILE.format(name=name, verdict="CRASH"))
    code, output = foundry.run()
    assert code == 1
    assert f"not contained: demo/{name}" in output


def test_a_lost_host_is_replaced(foundry: Foundry) -> None:
    foundry.has(fault("kills_host_once"), fault("fails"), fault("fails2"))
    code, output = foundry.run("-n", "1")
    assert code == 1
    assert "survived: demo/kills_host_once" in output
    assert "2 of 3 killed" in output


def test_interrupted(foundry: Foundry) -> None:
    foundry.has(fault("hangs_until_told"))
    foundry.cts.env["FAKE_GRACE"] = "3"
    process = foundry.cts.start("faults", "-n", "1", "--out", foundry.out)
    wait_for(foundry.cts.hanging)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2, errors
    assert "SIGINT ended the run" in errors
    assert foundry.records[-1]["status"] == "interrupted"
    assert "This run was ended early" in (foundry.out / "faults.html").read_text()


def test_no_hosts(foundry: Foundry) -> None:
    foundry.has(fault("fails"), HOSTILE.format(name="crashes", verdict="CRASH"))
    code, output = foundry.run("--fabric", "absent")
    assert code == 2
    assert "there is no such emulator: install it" in output
    assert "not contained" not in output
    assert "survived" not in output


def test_list_runs_nothing(foundry: Foundry) -> None:
    foundry.has(fault("fails"))
    code, output = foundry.run("--list")
    assert code == 0
    assert output == "demo/fails  [demo_page/passes]  It fails.\n"
    assert not foundry.out.exists()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            fault("fails", "pases"),
            "no clause is called 'demo_page/pases'; nearest: demo_page/passes",
        ),
        (fault("fails") * 2, "demo/fails: the id is taken"),
        ('[[fault]]\nid = "demo/fails"\ntext = "x"\n', "on, do is missing"),
        (fault("fails") + "wehn = 'x'\n", "unknown key wehn"),
        (fault("fails") + "found_by = 'luck'\n", "found_by is 'luck', not 'explore'"),
        (
            fault("fails").replace("dat_srq_resize", "dat_strerror") + "found_by = 'explore'\n",
            "walks find faults of a provider",
        ),
    ],
)
def test_a_row_that_makes_no_sense(foundry: Foundry, row: str, said: str) -> None:
    foundry.has(row)
    code, output = foundry.run()
    assert code == 2
    assert said in output


def test_wrong_input(foundry: Foundry) -> None:
    foundry.has(fault("fails"))
    for arguments, said in (
        (["-k", "nobody"], "no fault is chosen by -k 'nobody'"),
        (["-k", "a or"], "-k 'a or'"),
        (["-n", "0"], "-n: from 1 to 1000"),
        (["--fabric", "vn"], "nearest: vm"),
    ):
        code, output = foundry.run(*arguments)
        assert code == 64, output
        assert said in output


@pytest.mark.parametrize("library", ["libdaplfault.so", "libdatfault.so"])
def test_not_built(foundry: Foundry, library: str) -> None:
    foundry.has(fault("fails"))
    Path(foundry.cts.provider.with_name(library)).unlink()
    code, output = foundry.run()
    assert code == 2
    assert f"{library} is missing" in output
