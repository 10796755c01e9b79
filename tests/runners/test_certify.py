# SPDX-License-Identifier: BSD-2-Clause
"""`certify`: verdicts, exit codes, modes, order, second attempts, what a run leaves behind."""

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import termios
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.reports.synthetic_run import write_records
from tests.runners.fake_checkout import Cts, wait_for


@pytest.mark.parametrize("behaviour", ["times_out", "fails", "crashes"])
def test_of_many_that_ended_alike_a_sample_is_run_again(cts: Cts, behaviour: str) -> None:
    """Drawn by the seed; what was tried once says so in each report, and nothing else does."""
    cts.has(*(f"{behaviour}_{number}" for number in range(9)), "notes", "passes")
    done = cts("certify", "--seed", "7")
    assert done.returncode == 1
    again = {name for name, _, attempt, _ in cts.verdicts() if attempt == 2}
    assert len(again) == 5
    said = "Of 9 verdicts that were not kept, or not freed, 5 were tried a second time, alone. "
    folder = cts.runs / "latest"
    once = {f"{behaviour}_{number}" for number in range(9)} - again
    assert said in done.stdout
    assert said + "4 were tried once: of each kind" in " ".join(done.stdout.split())
    assert said in (folder / "report.md").read_text()
    junit = ElementTree.parse(folder / "junit.xml")
    told = {
        str(case.get("name")).split("/")[1].split("[")[0]
        for case in junit.iter("testcase")
        if "tried once" in case.findtext("system-out", "")
    }
    assert told == once
    assert said in (folder / "report.html").read_text()
    cts("certify", "--seed", "8")
    assert {name for name, _, attempt, _ in cts.verdicts() if attempt == 2} != again


def test_where_one_ends_otherwise_again_more_are_drawn_and_not_all(cts: Cts) -> None:
    cts.has("fails_once", *(f"fails_{number}" for number in range(29)))
    for seed in range(1, 30):
        cts("certify", "--seed", str(seed))
        verdicts = [row for row in cts.verdicts() if row[2] == 2]
        varied = any(word == "PASS" for *_, word in verdicts)
        assert len(verdicts) == (20 if varied else 5)
        (cts.root / "build/default/bin/once-1").unlink()
        if varied:
            break
    else:
        pytest.fail("no seed drew the one that is unstable")


def test_a_run_states_its_rate(cts: Cts) -> None:
    cts.has(*(f"passes_{number}" for number in range(4)), "fails")
    said = cts("certify").stdout
    assert re.search(r"^5 verdicts in 0:\d\d, [\d.]+ a second; 1 second attempt, alone", said, re.M)
    cts.has("passes")
    assert re.search(r"^1 verdict in 0:\d\d, [\d.]+ a second$", cts("certify").stdout, re.M)


def test_progress_shows_what_has_gone_and_what_is_left(cts: Cts) -> None:
    cts.has(*(f"stands_still_{number}" for number in range(3)))
    argv, env = cts.command("certify")
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
    env = {**env, "TERM": "xterm"}
    with subprocess.Popen(argv, env=env, cwd=cts.root, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        said = b""
        with suppress(OSError):
            while chunk := os.read(ours, 1 << 16):
                said += chunk
        os.close(ours)
    assert process.returncode == 1
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said.decode())
    assert re.search(r"[12]/3  0:\d\d, 0:0[1-9] left  demo_page/", text)
    assert re.search(r"3/3  0:\d\d, [12] again  demo_page/", text)


def test_few_of_a_kind_are_all_run_again(cts: Cts) -> None:
    cts.has("times_out_1", "times_out_2", "fails_1", "crashes_1", "frees_nothing_1")
    done = cts("certify")
    assert len([row for row in cts.verdicts() if row[2] == 2]) == 5
    assert "again: " not in done.stdout


@pytest.mark.parametrize(
    ("case", "verdict", "code"),
    [
        ("passes", "PASS", 0),
        ("notes", "NOTE", 0),
        ("unsupported", "UNSUPPORTED", 0),
        ("lacks", "RESOURCE", 2),
        ("fails", "FAIL", 1),
        ("crashes", "CRASH", 1),
        ("times_out", "TIMEOUT", 1),
        ("breaks", "ERROR", 2),
        ("is_refused", "ERROR", 2),
    ],
)
def test_exit_code_of_each_verdict(cts: Cts, case: str, verdict: str, code: int) -> None:
    cts.has("passes_1", case)
    done = cts("certify")
    assert done.returncode == code, done
    assert (case, 1, 1, verdict) in cts.verdicts()
    assert cts.events()[-1] == cts.events()[-1] | {"type": "end", "exit": code}


@pytest.mark.parametrize(
    ("case", "said", "against"),
    [
        ("lies", "PASS", "cases/demo/demo_page.c:12: dat_srq_resize(srq, 3) did not hold"),
        ("leaps", "PASS", "dat_srq_resize did not return"),
        ("shows_nothing", "PASS", "no call was made"),
        ("declines_and_fails", "UNSUPPORTED", "dat_srq_resize(srq, 3) did not hold"),
    ],
)
def test_a_verdict_that_its_evidence_contradicts(
    cts: Cts, case: str, said: str, against: str
) -> None:
    cts.has("passes", case)
    done = cts("certify")
    assert done.returncode == 1, done
    assert (case, 1, 1, "CONTRADICTED") in cts.verdicts()
    (reason, _) = (r["reason"] for r in cts.events() if r.get("verdict") == "CONTRADICTED")
    assert reason.startswith(f"the record contradicts itself: {said} was said, but ")
    assert reason.endswith(against)
    told = [r["text"] for r in cts.events() if r.get("what") == "contradiction"]
    assert told[0].endswith(against)
    assert "Not conformant" in (cts.runs / "latest" / "report.md").read_text()


def test_a_record_whose_verdict_was_changed_is_refused(cts: Cts) -> None:
    cts.has("passes", "fails")
    assert cts("certify").returncode == 1
    for record in (records := cts.events()):
        record |= {"verdict": "PASS"} if record.get("verdict") == "FAIL" else {}
    write_records(cts.runs / "latest", records)
    done = cts("report")
    assert done.returncode not in (0, 1)
    assert "demo_page/fails is PASS there, but cases/demo/demo_page.c:12" in done.stderr


@pytest.mark.parametrize(
    ("case", "word", "note"),
    [
        ("unsupported", "PASS", "note: it works all the same, as demo_page/unsupported shows"),
        ("unsupported_for_good", "FAIL", ""),
    ],
)
def test_an_undeclared_feature_is_tried_and_changes_nothing(
    cts: Cts, case: str, word: str, note: str
) -> None:
    cts.has("passes", case)
    cts.env["FAKE_WITHOUT_SRQS"] = "1"
    done = cts("certify")
    assert done.returncode == 0, done
    assert (case, 1, 1, "UNSUPPORTED") in cts.verdicts()
    (tried,) = [record for record in cts.events() if record["type"] == "undeclared"]
    assert (tried["feature"], tried["case"], tried["verdict"]) == (
        "srq_supported",
        f"demo_page/{case}",
        word,
    )
    assert ("works all the same, as" in done.stdout) == bool(note)
    assert note in (cts.runs / "latest/report.html").read_text()


def test_a_failure_outweighs_what_is_not_known(cts: Cts) -> None:
    cts.has("breaks", "fails")
    assert cts("certify").returncode == 1


def test_evidence_of_a_failure_is_recorded_and_told(cts: Cts) -> None:
    cts.has("fails")
    done = cts("certify", "--seed", "5")
    record = next(r for r in cts.events() if r["type"] == "verdict")
    assert record["checks"][0]["expected"] == ["DAT_INVALID_STATE"]
    assert record["calls"][0]["call"] == "dat_srq_resize"
    assert record["host"] == "host1"
    cause = "dat_demo_page, seen in dat_srq_resize: expected DAT_INVALID_STATE, saw"
    assert f"FAIL in 1 clause: {cause}" in done.stdout
    told = done.stdout.splitlines()
    at = told.index("    demo_page/fails  1 host (again, alone: FAIL)")
    assert [line.strip() for line in told[at + 1 : at + 7]] == [
        "requirement: The call fails when it is asked to.",
        "done: dat_srq_resize(srq_handle=srq#1, srq_max_recv_dto=3), call 1",
        "expected: DAT_INVALID_STATE",
        "seen: DAT_SUCCESS",
        "model: the executable specification could judge no call: a handle of no known object",
        "at: cases/demo/demo_page.c:12",
    ]
    run = cts.events()[0]["run"]
    assert f"replay: ./udapl-cts replay {run} demo_page/fails" in done.stdout
    assert done.stderr == ""


def test_notes_records_leaks_and_crashes_are_recorded(cts: Cts) -> None:
    cts.has("notes", "crashes")
    cts("certify")
    records = {r["case"]: r for r in cts.events() if r["type"] == "verdict"}
    noted, crashed = records["demo_page/notes"], records["demo_page/crashes"]
    assert noted["notes"] == ["queue not shrunk"]
    assert noted["records"] == ["16 entries"]
    assert noted["leaks"] == ["1 descriptor more than before the case"]
    assert crashed["crash"]["signal"] == "SIGSEGV"
    # The fake agent's frames are of nothing that is here.
    assert crashed["crash"]["where"] == ["" for _ in crashed["crash"]["backtrace"]]
    assert crashed["pending"] == "dat_srq_resize"


def test_pairs_run_in_both_modes_and_the_rest_on_one_host(cts: Cts) -> None:
    cts.has("passes_1", "passes_2", "talks_to_peer")
    done = cts("certify")
    assert done.returncode == 0, done
    assert [hosts for _, hosts, _, _ in cts.verdicts()] == [1, 1, 1, 2]
    assert cts.verdicts()[-1] == ("talks_to_peer", 2, 1, "PASS")
    assert cts.openings == [1, 2]
    assert "parity: 1 cases ran in each mode, and agree" in done.stdout
    run, *_ = cts.events()
    assert run["modes"] == [1, 2]
    assert len(run["plan"]) == 4


@pytest.mark.parametrize("hosts", [1, 2])
def test_one_mode_alone_runs_every_case_in_it(cts: Cts, hosts: int) -> None:
    cts.has("passes", "talks_to_peer")
    assert cts("certify", "--hosts", str(hosts)).returncode == 0
    assert {mode for _, mode, _, _ in cts.verdicts()} == {hosts}
    assert cts.openings == [hosts]
    facts = next(r for r in cts.events() if r["type"] == "hosts")
    assert [host["name"] for host in facts["facts"]] == ["host1", "host2"][:hosts]
    assert facts["ia"]["attributes"]["adapter_name"] == "fake0"


def test_modes_that_differ_are_told(cts: Cts) -> None:
    cts.has("fails_on_two")
    done = cts("certify")
    assert done.returncode == 1
    assert "parity: 1 of 1 cases differ by mode" in done.stdout
    assert "demo_page/fails_on_two: 1 host PASS, 2 hosts FAIL" in done.stdout


def test_a_failure_is_run_again_alone_and_the_first_verdict_stands(cts: Cts) -> None:
    cts.has("passes", "fails_once")
    done = cts("certify", "--hosts", "1")
    assert done.returncode == 1
    assert cts.verdicts()[-1] == ("fails_once", 1, 2, "PASS")
    assert ("fails_once", 1, 1, "FAIL") in cts.verdicts()
    assert "(again, alone: PASS)" in done.stdout


def test_a_seed_is_an_order(cts: Cts) -> None:
    cts.has(*(f"passes_{number}" for number in range(8)))

    def order(*options: str) -> list[str]:
        assert cts("certify", *options).returncode == 0
        return [case for case, _, _, _ in cts.verdicts()]

    first = order("--seed", "7")
    assert order("--seed", "7") == first
    assert order("--seed", "8") != first
    assert sorted(first) == [f"passes_{number}" for number in range(8)]


def test_the_seed_is_told_and_chosen_where_none_is_given(cts: Cts) -> None:
    done = cts("certify")
    seed = cts.events()[0]["seed"]
    assert f"seed {seed}:" in done.stdout
    assert cts.events()[0]["run"].endswith(f"-{seed}")


def test_workers_share_the_cases_and_one_writes(cts: Cts) -> None:
    cts.has(*(f"passes_{number}" for number in range(8)), "fails", "talks_to_peer")
    done = cts("certify", "-n", "2", "--seed", "7")
    assert done.returncode == 1, done
    firsts = [verdict for verdict in cts.verdicts() if verdict[2] == 1]
    assert len(firsts) == 11
    assert len(set(firsts)) == 11
    assert cts.verdicts()[-1] == ("fails", 1, 2, "FAIL")
    hosts = cts.runs / "latest/hosts"
    assert {path.name.split("-")[0] for path in hosts.iterdir()} >= {"worker0", "worker1"}
    alone = cts("certify", "--seed", "7")
    assert alone.returncode == 1
    assert len(cts.verdicts()) == 12


@pytest.mark.parametrize("options", [(), ("-n", "2"), ("--spread", "2")])
def test_a_lab_gives_everything_more_time(cts: Cts, options: tuple[str, ...]) -> None:
    cts.has("tells_its_time", "tells_its_time_to_peer")
    usual, longer = ("deadline 300, event 3000, quiet 150", "deadline 1200, event 12000, quiet 600")
    assert cts("certify", *options).returncode == 1
    assert cts.events()[0]["patience"] == 1
    assert {r["reason"] for r in cts.events() if r["type"] == "verdict"} == {usual}
    done = cts("certify", "--patience", "4", *options)
    run, *records = cts.events()
    assert run["patience"] == 4
    assert {r["reason"] for r in records if r["type"] == "verdict"} == {longer}
    assert f"replay {run['run']} demo_page/tells_its_time --patience 4" in done.stdout
    assert "Patience" in (cts.runs / "latest/report.html").read_text()
    assert "patience 4, suite" in (cts.runs / "latest/report.md").read_text()


def test_a_thorough_run_says_so_to_each_case(cts: Cts) -> None:
    cts.has("tells_if_thorough")
    for options, said in (((), "thorough False"), (("--thorough",), "thorough True")):
        cts("certify", *options)
        run, *records = cts.events()
        assert {r["reason"] for r in records if r["type"] == "verdict"} == {said}
        assert said in cts("replay", run["run"]).stdout


def test_a_replay_has_the_patience_of_its_run(cts: Cts) -> None:
    cts.has("tells_its_time")
    cts("certify", "--patience", "4")
    run = cts.events()[0]["run"]
    assert "deadline 1200, event 12000" in cts("replay", run).stdout
    assert "deadline 600, event 6000" in cts("replay", run, "--patience", "2").stdout
    head, *others = cts.events()
    del head["patience"]
    write_records(cts.runs / "latest", [head, *others])
    assert "deadline 300, event 3000" in cts("replay", run).stdout


@pytest.mark.parametrize(
    ("cases", "options", "openings"),
    [(50, (), 2), (50, ("-n", "1"), 1), (50, ("-k", "passes_1"), 1), (49, (), 1)],
)
def test_as_many_processes_as_pay(
    cts: Cts, cases: int, options: Sequence[str], openings: int
) -> None:
    cts.env["FAKE_SIDE_BY_SIDE"] = "2"
    cts.has(*(f"passes_{number}" for number in range(cases)))
    assert cts("certify", "--hosts", "1", *options).returncode == 0
    assert cts.openings == [1] * openings


def test_privilege_is_given_when_asked_for_and_told(cts: Cts) -> None:
    cts.has("passes", "fails")
    assert "with privilege" not in cts("certify").stdout
    (hosts,) = (record for record in cts.events() if record["type"] == "hosts")
    assert [host["privilege"] for host in hosts["facts"]] == ["none"]
    said = "Cases were run with privilege on host1: they kept everything (/a/path)."
    assert said in " ".join(cts("certify", "--privileged").stdout.split())
    latest = cts.runs / "latest"
    assert said in (latest / "report.md").read_text()
    assert said in (latest / "report.html").read_text()
    (environment,) = json.loads((latest / "report.json").read_text())["environments"]
    assert environment["privilege"] == "everything"


def test_another_library_than_the_runs_is_refused(cts: Cts) -> None:
    cts.has("passes")
    (cts.root / "build/default/bin/other-library").touch()
    assert cts("certify").returncode == 2
    (why,) = (r["text"] for r in cts.events() if r.get("what") == "ia")
    assert why.startswith(
        "its agent loaded another provider, /nowhere/libfake.so with SHA-256 0000"
    )


def test_what_a_run_leaves_behind(cts: Cts) -> None:
    assert cts("certify", "--ia-params", "x", "--provider", cts.provider).returncode == 0
    folder = cts.runs / "latest"
    made = {path.name for path in folder.iterdir()}
    assert made >= {
        "events.jsonl.zst",
        "dat.conf",
        "hosts",
        "report.html",
        "report.json",
        "report.md",
        "junit.xml",
    }
    entry, threadsafe = (folder / "dat.conf").read_text().splitlines()
    assert entry == f'cts0 u1.2 nonthreadsafe default {cts.provider} cts.1.0 "x" ""'
    assert threadsafe == f'cts0 u1.2 threadsafe default {cts.provider} cts.1.0 "x" ""'
    run = cts.events()[0]
    assert run["subject"]["dat_conf_entry"] == entry
    assert run["subject"]["library"] == str(cts.provider)
    assert len(run["subject"]["sha256"]) == 64
    assert len(run["subject"]["build_id"]) == 40
    assert run["command"][:2] == ["udapl-cts", "certify"]
    assert [clause["id"] for clause in run["clauses"]] == ["demo_page/passes"]
    (logs,) = (folder / "hosts").iterdir()
    assert {path.name for path in logs.iterdir()} == {"host1.console", "host1.stderr"}


def test_a_variant_wraps_the_provider(cts: Cts) -> None:
    cts.has_variant("roomy")
    assert cts("certify", "--variant", "roomy").returncode == 0
    subject = cts.events()[0]["subject"]
    assert subject["ia"] == "variant:roomy"
    assert subject["library"].endswith("libdaplfault.so")
    *own, wrapper, threadsafe = (cts.runs / "latest/dat.conf").read_text().splitlines()
    assert [line.split()[:3] for line in own] == [
        ["cts0", "u1.2", "nonthreadsafe"],
        ["cts0", "u1.2", "threadsafe"],
    ]
    assert '"cts0 fault=variant/roomy"' in wrapper
    assert wrapper.replace(" nonthreadsafe ", " threadsafe ") == threadsafe


def test_a_wrapper_is_threadsafe_where_the_provider_is(cts: Cts, tmp_path: Path) -> None:
    cts.has_variant("roomy")
    dat_conf = tmp_path / "dat.conf"
    plain = f'a u1.2 nonthreadsafe default {cts.provider} v.1.0 "" ""\n'
    for more, kinds in [
        ("", ["nonthreadsafe"]),
        (plain.replace(" nonthread", " thread"), ["nonthreadsafe", "threadsafe"]),
        (plain.replace("a u1.2 nonthread", "b u1.2 thread"), ["nonthreadsafe"]),
    ]:
        dat_conf.write_text(plain + more)
        options = ("--dat-conf", dat_conf, "--ia", "a", "--variant", "roomy")
        assert cts("certify", *options).returncode == 0
        lines = (cts.runs / "latest/dat.conf").read_text().splitlines()
        wrappers = [line.split()[2] for line in lines if line.startswith("variant:roomy ")]
        assert wrappers == kinds


def test_another_api(cts: Cts, tmp_path: Path) -> None:
    """The run's cases are those of its API, in a replay too; a report says which it is."""
    dat_conf = tmp_path / "dat.conf"
    dat_conf.write_text(f'a u2.0 nonthreadsafe default {cts.provider} v.1.0 "" ""\n')
    (cts.root / "build/default/bin/udapl-cases").unlink()
    assert cts("certify", "--api", "2.0", "--dat-conf", dat_conf, "--ia", "a").returncode == 0
    assert cts.events()[0]["subject"]["api"] == "2.0"
    assert json.loads((cts.runs / "latest/report.json").read_text())["subject"]["api"] == "2.0"
    assert "by DAT 2.0" in (cts.runs / "latest/report.html").read_text()
    assert "by DAT 2.0" in (cts.runs / "latest/report.md").read_text()
    assert cts("replay", "latest", "demo_page/passes").returncode == 0


def test_a_run_elsewhere_is_found_by_its_id(cts: Cts, tmp_path: Path) -> None:
    cts.has("fails")
    out = tmp_path / "elsewhere"
    assert cts("certify", "--out", out).returncode == 1
    run = cts.events(out)[0]["run"]
    done = cts("report", run, "--format", "json")
    assert done.returncode == 0, done
    assert json.loads((out / "report.json").read_text())
    assert cts("replay", run, "demo_page/fails").returncode == 1


def test_a_folder_that_vanishes(cts: Cts, tmp_path: Path) -> None:
    cts.has("hangs_until_told")
    cts.env["FAKE_GRACE"] = "2"
    out = tmp_path / "out"
    process = cts.start("certify", "--hosts", "1", "--out", out)
    wait_for(cts.hanging)
    shutil.rmtree(out)
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 2, stdout
    assert "no such run" in stderr
    assert "Traceback" not in stderr


def test_a_path_with_spaces_reaches_the_hosts(cts: Cts, tmp_path: Path) -> None:
    odd = tmp_path / 'a "b" c'
    odd.mkdir()
    library = odd / "lib x.so"
    library.write_bytes(cts.provider.read_bytes())
    assert cts("certify", "--provider", library).returncode == 0
    quoted = str(library).replace('"', '\\"')
    assert f'"{quoted}"' in (cts.runs / "latest/dat.conf").read_text()
    out = tmp_path / "out of reach"
    assert cts("certify", "--out", out).returncode == 0
    assert cts.verdicts(out)
