# SPDX-License-Identifier: BSD-2-Clause
"""`trace` on programs that need no device: what is recorded, and what survives."""

import subprocess
from pathlib import Path

from tests.trace.traced import (
    BUILT,
    CONSUMER,
    command,
    gathered,
    recorder_environment,
    trace,
)

INPUT_ERROR = 64
KILLED = 128 + 9


def test_calls_are_recorded(tmp_path: Path) -> None:
    """Each call is there, in order, with its values as data, and `judge` reads it."""
    traced = trace(tmp_path, CONSUMER, "strings", "3")
    assert traced.status == 0
    assert [(call["n"], call["call"]) for call in traced.calls] == [
        (n, "dat_strerror") for n in (1, 2, 3)
    ]
    assert traced.calls[0]["typed"]["out"]["major_message"] == {"text": "DAT_SUCCESS"}
    assert traced.calls[0]["ns"][0] <= traced.calls[0]["ns"][1] <= traced.calls[1]["ns"][0]
    assert "of 3 calls judged" in traced.judged.stdout
    assert not list(tmp_path.glob("*.parts"))


def test_record_is_bounded(tmp_path: Path) -> None:
    """Of a long run the first calls and the last are kept, in no more room than it may have."""
    traced = trace(tmp_path, CONSUMER, "strings", "60000", options=("--size", "1"))
    numbers = [call["n"] for call in traced.calls]
    assert traced.records[0]["made"] == 60000
    assert numbers[-1] == 60000
    assert numbers == sorted(set(numbers))
    contiguous = next(i for i, n in enumerate(numbers, 1) if n != i) - 1
    assert contiguous > 1000
    assert len(numbers) < 20000
    assert all("ret" in call for call in traced.calls)
    said = traced.judged.stdout
    assert f"calls {contiguous + 1} to {numbers[contiguous] - 1} are not kept" in said


def test_kill_loses_nothing(tmp_path: Path) -> None:
    """What a program did before SIGKILL is there, and its end is that of `trace`."""
    traced = trace(tmp_path, CONSUMER, "killed", "50")
    assert traced.status == KILLED
    assert [call["n"] for call in traced.calls] == list(range(1, 51))


def test_cancelled_thread(tmp_path: Path) -> None:
    """A thread that is cancelled at the first call of all leaves the others their records."""
    traced = trace(tmp_path, CONSUMER, "cancelled", "2")
    assert traced.status == 0
    assert [call["call"] for call in traced.calls] == ["dat_strerror"] * 3


def test_wild_pointers(tmp_path: Path) -> None:
    """An unreadable pointer is recorded as a pointer, without a signal or an errno."""
    traced = trace(tmp_path, CONSUMER, "wild", "1")
    assert traced.status == 0
    assert "pointer" in traced.calls[0]["typed"]["args"]["local_iov"]
    assert [call["ret"] for call in traced.calls] == ["DAT_INVALID_HANDLE"] * 3
    assert traced.judged.returncode == 0
    assert "1 agrees; 3 of 3 calls judged" in traced.judged.stdout


def test_several_programs(tmp_path: Path) -> None:
    """What a shell starts is recorded, a process each; so is what another program becomes."""
    script = f"{CONSUMER} strings 1; exec {CONSUMER} strings 2"
    traced = trace(tmp_path, "sh", "-c", script)
    assert sorted(len(record["calls"]) for record in traced.records) == [1, 2]
    assert {Path(record["program"]).name for record in traced.records} == {CONSUMER.name}


def test_program_without_calls(tmp_path: Path) -> None:
    """A program that knows nothing of DAT has an empty trace, and its own status."""
    traced = trace(tmp_path, "sh", "-c", "exit 7")
    assert traced.status == 7
    assert traced.records == []
    assert "made no DAT call" in traced.errors


def test_recorder_without_trace(tmp_path: Path) -> None:
    """As on another host: the recorder alone leaves a folder, of which `trace` makes the file."""
    environment = recorder_environment(tmp_path)
    subprocess.run([CONSUMER, "strings", "4"], env=environment, check=True)
    traced = gathered(tmp_path, tmp_path / "made.jsonl", 0)
    assert len(traced.calls) == 4


def test_folder_that_is_missing() -> None:
    """A recorder that cannot write says so, and the program runs on."""
    environment = recorder_environment(Path("/nonexistent"))
    done = subprocess.run(
        [CONSUMER, "strings", "4"], env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert done.stderr.count("nothing is recorded") == 1


def test_damaged_record(tmp_path: Path) -> None:
    """A record that ends early, or has wild numbers, is refused or read as far as it goes."""
    environment = recorder_environment(tmp_path)
    subprocess.run([CONSUMER, "strings", "40"], env=environment, check=True)
    (part,) = tmp_path.glob("*.calls-1.2")
    whole = part.read_bytes()
    reader = str(BUILT / "bin/udapl-trace-read")
    header = int.from_bytes(whole[8:12], "little")
    for damaged in (b"", whole[:100], whole[: header + 700], b"\xff" * len(whole)):
        part.write_bytes(damaged)
        assert subprocess.run([reader, part], capture_output=True, check=False).returncode == 1
    for at in range(header, header + 2000, 7):
        part.write_bytes(whole[:at] + b"\xff\xff" + whole[at + 2 :])
        done = subprocess.run([reader, part], capture_output=True, check=False)
        assert done.returncode in (0, 1), f"at {at}: {done.returncode}"


def test_wrong_api(tmp_path: Path) -> None:
    """A program of the other API ends at its first call, with what to do instead."""
    traced = trace(tmp_path, "dtest", "-P", "none", options=("--api", "1.2"))
    assert traced.status == 125
    assert "--api 2.0" in traced.errors


def test_wrong_input(tmp_path: Path) -> None:
    """No program, a program that is not there, and a folder that is in the way are refused."""
    assert command("trace").returncode == INPUT_ERROR
    assert command("trace", "--", "nosuchprogram").returncode == INPUT_ERROR
    (tmp_path / "0.jsonl.parts").mkdir()
    out = tmp_path / "0.jsonl"
    assert command("trace", "--out", out, "--", "true").returncode == INPUT_ERROR
    assert command("trace", "--parts", tmp_path / "none", "--out", out).returncode == INPUT_ERROR
