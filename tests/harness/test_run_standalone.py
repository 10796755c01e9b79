# SPDX-License-Identifier: BSD-2-Clause
"""--list, --run and --help, as a person uses them."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.harness.session import BUILD, CASES, admits, environment


def call(*arguments: str, folder: Path, misbehaviour: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(CASES), *arguments],
        env=environment(folder, misbehaviour),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


# The suite is not built where only the tests are.
SUITES = [
    name for name in ("udapl-cases", "udapl-selftest-cases") if (BUILD / "bin" / name).exists()
]


@pytest.mark.parametrize("binary", SUITES)
def test_list(binary: str) -> None:
    listed = subprocess.run(
        [str(BUILD / "bin" / binary), "--list"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    cases = [json.loads(line) for line in listed]
    assert cases
    for case in cases:
        assert admits("listed_case", case), case
    ids = [case["id"] for case in cases]
    assert ids == sorted(set(ids))


@pytest.mark.parametrize(
    ("binary", "message"),
    [
        ("twice", "two cases have the id twice/the_same: tests/harness/cases/"),
        ("odd", "tests/harness/cases/odd.c:9: an id has words of a-z, 0-9 and _ only: odd/row/Odd"),
    ],
)
def test_bad_ids_are_refused(binary: str, message: str) -> None:
    done = subprocess.run(
        [str(BUILD / "bin" / f"udapl-{binary}-cases"), "--list"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(message)
    assert done.stdout == ""


def test_listed_case(tmp_path: Path) -> None:
    cases = {
        (case := json.loads(line))["id"]: case
        for line in call("--list", folder=tmp_path).stdout.splitlines()
    }
    own = cases["harness/has_own_deadline"]
    assert own["deadline_ms"] == 1234
    assert own["needs"] == []
    assert own["peers"] == 0
    assert own["file"] == "tests/harness/cases/harness.c"
    assert cases["harness/passes"]["deadline_ms"] == 10000
    assert cases["harness/starts_peer"]["peers"] == 1
    needs = cases["provider/has_watermarks"]["needs"]
    assert needs == ["srq_supported", "srq_watermarks_supported"]
    assert {"harness/feels/cold", "harness/feels/warm"} <= cases.keys()


@pytest.mark.parametrize(
    ("case", "status"),
    [
        ("harness/passes", 0),
        ("harness/notes", 0),
        ("harness/fails_by_value", 1),
        ("harness/crashes", 1),
        ("harness/hangs", 1),
        ("harness/breaks", 2),
        ("harness/lacks", 2),
        ("harness/declines", 2),
    ],
)
def test_exit_status(tmp_path: Path, case: str, status: int) -> None:
    short = ["--deadline-ms", "300"] if case == "harness/hangs" else []
    assert call("--run", case, *short, folder=tmp_path).returncode == status


def test_evidence_is_readable(tmp_path: Path) -> None:
    done = call("--run", "provider/fails_and_frees", folder=tmp_path)
    assert "dat_srq_resize(srq_handle=srq#1, srq_max_recv_dto=16) = DAT_SUCCESS" in done.stdout
    assert "FAIL expect: dat_srq_resize(srq, 16)  (tests/harness/cases/provider.c:" in done.stdout
    assert "expected: DAT_INVALID_STATE\n       seen:     DAT_SUCCESS" in done.stdout
    assert "teardown: dat_srq_free(srq_handle=srq#1)" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("FAIL provider/fails_and_frees: ")


def test_crash_is_readable(tmp_path: Path) -> None:
    done = call("--run", "provider/resizes", folder=tmp_path, misbehaviour="resize=crash")
    assert "dat_srq_resize(srq_handle=srq#1, srq_max_recv_dto=16) did not return" in done.stdout
    crash = done.stdout.partition("crash: SIGSEGV\n")[2]
    assert "\n       libfake_misbehaving.so(" in f"\n{crash}"
    assert done.stdout.splitlines()[-1] == (
        "CRASH provider/resizes: ended by SIGSEGV (in dat_srq_resize)"
    )


def test_first_ia_is_the_default(tmp_path: Path) -> None:
    done = call("--run", "harness/passes", folder=tmp_path)
    assert 'dat_ia_openv(name="fake0"' in done.stdout


def test_no_ia_at_all(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(CASES), "--run", "harness/passes"],
        env={**os.environ, "DAT_OVERRIDE": str(tmp_path / "none")},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 2
    assert "no IA was named, and the dat.conf that DAT_OVERRIDE names has none" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--run", "harness/pases"], "no such case: harness/pases; nearest: harness/passes"),
        (["--run", "harness"], "no such case: harness; nearest: harness/"),
        ([], "nothing to do; see udapl-cases --help"),
        (["--list", "more"], "an argument too many: more; see udapl-cases --help"),
        (["--run", "harness/passes", "--quiet-ms", "x"], "not a number of milliseconds: x"),
        (["--run", "harness/passes", "--event-ms", "0"], "not a number of milliseconds: 0"),
        (["--frobnicate"], "unrecognized option '--frobnicate'"),
    ],
)
def test_bad_command_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = call(*arguments, folder=tmp_path)
    assert done.returncode == 64
    assert message in done.stderr
    assert done.stdout == ""


def test_help(tmp_path: Path) -> None:
    done = call("--help", folder=tmp_path)
    assert done.returncode == 0
    assert "--wait-for-debugger" in done.stdout


def test_wait_for_debugger(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [str(CASES), "--run", "harness/passes", "--wait-for-debugger", "--deadline-ms", "1"],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr
    words = process.stderr.readline().split()
    assert words[2:6] == ["waits", "for", "a", "debugger:"]
    os.kill(int(words[1]), signal.SIGCONT)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert output.splitlines()[-1] == "PASS harness/passes"
