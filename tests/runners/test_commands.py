# SPDX-License-Identifier: BSD-2-Clause
"""`list`, `show`, `report`, `events` and `replay`."""

import json

import pytest
import zstandard

from results.runlog.frames import EVENTS
from runners import checkout
from tests.reports.synthetic_run import read_lines, write_lines
from tests.runners.fake_checkout import REPOSITORY, Cts


def test_events_are_json_lines(cts: Cts) -> None:
    cts.has("passes", "fails")
    cts("certify")
    done = cts("events")
    assert done.returncode == 0, done
    lines = done.stdout.encode().splitlines(keepends=True)
    assert lines == read_lines(cts.runs / "latest")
    packed = (cts.runs / "latest" / EVENTS).read_bytes()
    plain = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
    assert plain.read() == b"".join(lines)


def test_events_up_to_the_one_that_was_changed(cts: Cts) -> None:
    cts.has("passes", "fails")
    cts("certify")
    folder = cts.runs / "latest"
    lines = read_lines(folder)
    write_lines(folder, [*lines[:2], lines[2].replace(b"demo", b"dome"), *lines[3:]])
    done = cts("events", folder)
    assert done.returncode == 64
    assert done.stdout.encode() == b"".join(read_lines(folder)[:3])
    assert "line 4: it does not carry the digest of record 3" in done.stderr


def test_list_for_machines(cts: Cts) -> None:
    cts.has("talks_to_peer", "passes", may=["passes"])
    done = cts("list", "--json")
    assert done.returncode == 0, done
    assert json.loads(done.stdout) == [
        {
            "id": "demo_page/passes",
            "clause": "demo_page/passes",
            "page": "dat_demo_page",
            "level": "may",
            "check": "local",
            "needs": ["srq_supported"],
        },
        {
            "id": "demo_page/talks_to_peer",
            "clause": "demo_page/talks_to_peer",
            "page": "dat_demo_page",
            "level": "must",
            "check": "pair",
            "needs": ["srq_supported"],
        },
    ]


def test_list_for_people(cts: Cts) -> None:
    done = cts("list")
    assert done.stdout == "demo_page/passes  must      local  needs srq_supported\n"


def test_show(cts: Cts) -> None:
    done = cts("show", "demo_page/passes")
    assert done.returncode == 0
    assert "demo_page/passes  (dat_demo_page, DESCRIPTION)" in done.stdout
    assert "The call passes when it is asked to." in done.stdout
    assert "case: cases/demo/demo_page.c:1" in done.stdout


def test_what_another_api_changes(cts: Cts) -> None:
    catalogue = cts.root / "cases/demo/demo_page.toml"
    catalogue.write_text(catalogue.read_text() + 'dat_2_0 = "It may fail, too."\n')
    assert "by DAT 2.0: It may fail, too." in cts("show", "demo_page/passes").stdout
    for api, told in (("1.2", False), ("2.0", True)):
        assert cts("certify", "--api", api, "--provider", cts.provider).returncode == 0
        (clause,) = cts.events()[0]["clauses"]
        assert clause["text"].endswith("By DAT 2.0: It may fail, too.") == told


@pytest.mark.parametrize(
    ("fmt", "name"),
    [
        ("html", "report.html"),
        ("junit", "junit.xml"),
        ("json", "report.json"),
        ("md", "report.md"),
    ],
)
def test_report(cts: Cts, fmt: str, name: str) -> None:
    cts("certify")
    path = cts.runs / "latest" / name
    before = path.read_bytes()
    path.unlink()
    done = cts("report", "--format", fmt)
    assert done.stdout == f"{path.resolve()}\n"
    assert path.read_bytes() == before


def test_the_latest_run_is_the_default(cts: Cts) -> None:
    cts("certify", "--seed", "1")
    cts("certify", "--seed", "2")
    assert cts("report").stdout.strip().split("/")[-2].endswith("-2")
    (cts.runs / "latest").unlink()
    assert cts("report").stdout.strip().split("/")[-2].endswith("-2")


def test_replay_has_no_sentence_of_a_condition_that_held(cts: Cts) -> None:
    cts.has("fails_late")
    cts("certify")
    done = cts("replay", cts.events()[0]["run"], "demo_page/fails_late")
    assert "  ok expect seen == srq (cases/demo/demo_page.c:12)" in done.stdout
    assert "the SRQ is another one" not in done.stdout


def test_replay_shows_the_evidence(cts: Cts) -> None:
    cts.has("passes", "fails")
    cts("certify")
    run = cts.events()[0]["run"]
    done = cts("replay", run, "demo_page/fails")
    assert done.returncode == 1, done
    assert "requirement: The call fails when it is asked to." in done.stdout
    assert "dat_srq_resize(srq_handle=srq#1, srq_max_recv_dto=3) = DAT_SUCCESS" in done.stdout
    assert "NOT OK expect dat_srq_resize(srq, 3)" in done.stdout
    assert "expected DAT_INVALID_STATE, saw DAT_SUCCESS" in done.stdout
    assert cts("replay", run, "demo_page/passes").returncode == 0


def test_replay_finds_what_was_meant(cts: Cts) -> None:
    cts.has("fails_on_two", "passes")
    cts("certify")
    run = cts.events()[0]["run"]
    for words in ([], [run], ["demo_page/fails_on_two"], [run, "demo_page/fails_on_two"]):
        done = cts("replay", *words)
        assert done.returncode == 1, done
        assert "demo_page/fails_on_two [2 hosts]" in done.stdout
    assert cts("replay", "--hosts", "1", "demo_page/fails_on_two").returncode == 0
    assert cts.openings[-1] == 1


def test_replay_of_a_crash(cts: Cts) -> None:
    cts.has("crashes")
    cts("certify")
    done = cts("replay")
    assert done.returncode == 1
    assert "backtrace: libfake.so(+0x41c2)" in done.stdout
    assert "CRASH: SIGSEGV inside dat_srq_resize" in done.stdout


def test_replay_of_a_hang(cts: Cts) -> None:
    cts.has("deadlocks")
    said = " ".join(cts("certify").stdout.split())
    assert "dat_ep_free: no return in libfake.so(fake_flush)" in said
    record, *_ = (r for r in cts.events() if r["type"] == "verdict")
    answered, silent = record["stacks"]
    # The fake agent's frames are of nothing that is here.
    assert answered["where"] == ["", "", ""]
    assert silent["why"] == "it did not answer"
    done = cts("replay")
    assert done.returncode == 1
    assert "stack of thread 1, in dat_ep_free: libfake.so(fake_flush+0x3)" in done.stdout
    assert "stack of a thread: it did not answer" in done.stdout


def test_replay_that_cannot_be(cts: Cts) -> None:
    cts("certify")
    run = cts.events()[0]["run"]
    for words, said in (
        ([], "has no failure to replay"),
        (["demo_page/pases"], "nearest: demo_page/passes"),
        (["nosuchrun"], "no such run"),
        ([run, "demo_page/passes", "more"], "replay [RUN] [CASE]"),
        (["--hosts", "2", "demo_page/passes"], "with 1 host only"),
    ):
        done = cts("replay", *words)
        assert done.returncode == 64, done
        assert said in done.stderr


def test_replay_of_a_host_that_dies(cts: Cts) -> None:
    cts.has("kills_host")
    cts("certify")
    done = cts("replay", "demo_page/kills_host")
    assert done.returncode == 2
    assert "Kernel panic" in done.stdout


def test_spec_check(cts: Cts) -> None:
    assert cts("spec", "check").returncode == 0
    cases = cts.root / "build/default/bin/cases.json"
    cases.write_text("[]")
    done = cts("spec", "check")
    assert done.returncode == 1
    assert "demo_page/passes" in done.stderr
    assert cts("spec", "check", "--pages", "/nowhere").returncode == 64


def test_the_version_is_said_once() -> None:
    lists = (REPOSITORY / "CMakeLists.txt").read_text()
    assert f"project(udapl-cts VERSION {checkout.VERSION} " in lists
