# SPDX-License-Identifier: BSD-2-Clause
"""The ssh fabric on guests with a real sshd, which it reaches as a lab's hosts."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.ssh_lab import SshLab
from tests.reports.synthetic_run import read_lines
from tests.runners.fake_checkout import REPOSITORY, start_in_step

DEADLINE = 240
CASE = "srq_resize/grow"
PAIR = "srq_resize/no_message_lost/growing"
STORE = "/root/.cache/udapl-cts"


@pytest.fixture(scope="module")
def lab() -> Iterator[SshLab]:
    """Two hosts; the last test may end one of them."""
    with SshLab(2) as lab:
        yield lab


def certify(lab: SshLab, out: Path, *options: str | Path) -> list[str]:
    """A command line that certifies on the lab's hosts."""
    argv = [sys.executable, "-m", "runners", "certify", "--out", str(out), *map(str, options)]
    return [*argv, "--fabric", "ssh", "--hosts-file", str(lab.hosts_file)]


def run(argv: list[str]) -> subprocess.CompletedProcess[str]:
    """Run it on this checkout."""
    return subprocess.run(
        argv, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=DEADLINE
    )


def events(out: Path) -> list[dict[str, Any]]:
    """The records of a run."""
    return [json.loads(line) for line in read_lines(out)]


def agents(lab: SshLab, name: str) -> str:
    """The suite's processes on a host."""
    return lab.ssh(name, "cat /proc/[0-9]*/comm | grep udapl-cases").stdout


def connections(lab: SshLab) -> list[Path]:
    """The processes of this machine that go to the lab's hosts."""
    mark = str(lab.folder / "config").encode()
    return [path for path in Path("/proc").glob("[0-9]*/cmdline") if mark in _content(path)]


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_pair_on_two_hosts(lab: SshLab, tmp_path: Path) -> None:
    done = run(certify(lab, tmp_path / "out", PAIR, "--hosts", "2"))
    assert done.returncode == 0, done
    facts = next(record["facts"] for record in events(tmp_path / "out") if "facts" in record)
    assert [fact["name"] for fact in facts] == ["lab1", "lab2"]
    assert [fact["devices"] for fact in facts] == ["rxe0", "rxe0"]
    assert facts[0]["provider"] == facts[1]["provider"]
    assert not agents(lab, "lab1")
    assert not agents(lab, "lab2")


def test_what_a_host_has_is_not_sent_again(lab: SshLab, tmp_path: Path) -> None:
    assert run(certify(lab, tmp_path / "1", CASE, "--hosts", "1")).returncode == 0
    before = lab.ssh("lab1", f"stat -c '%i %n' {STORE}/*/*/*").stdout
    assert "bin/udapl-cases" in before
    assert "lib/libdaplref.so" in before
    # What was damaged is sent anew.
    lab.ssh("lab1", f"echo more >> {STORE}/*/lib/libdaplref.so")
    assert run(certify(lab, tmp_path / "2", CASE, "--hosts", "1")).returncode == 0
    after = lab.ssh("lab1", f"stat -c '%i %n' {STORE}/*/*/*").stdout
    changed = set(after.splitlines()) - set(before.splitlines())
    assert [line.rpartition("/")[2] for line in changed] == ["libdaplref.so"]


def test_a_tampered_copy(lab: SshLab, tmp_path: Path) -> None:
    """Another program in the place of the agent is replaced, or, if the list is forged, refused."""
    assert run(certify(lab, tmp_path / "1", CASE, "--hosts", "1")).returncode == 0
    digest = f"sha256sum < {STORE}/*/bin/udapl-cases"
    before = lab.ssh("lab1", digest).stdout
    lab.ssh("lab1", f"cp /bin/true {STORE}/*/bin/udapl-cases")
    assert lab.ssh("lab1", digest).stdout != before
    assert run(certify(lab, tmp_path / "2", CASE, "--hosts", "1")).returncode == 0
    assert lab.ssh("lab1", digest).stdout == before
    forge = "cp /bin/true bin/udapl-cases; sha256sum bin/* lib/* > SHA256SUMS"
    lab.ssh("lab1", f"cd {STORE}/*/bin/.. && {forge}")
    try:
        done = run(certify(lab, tmp_path / "3", CASE, "--hosts", "1"))
    finally:
        lab.ssh("lab1", f"rm -r {STORE}")
    assert done.returncode == 2, done
    assert "which is no copy of ours" in done.stderr
    assert not [record for record in events(tmp_path / "3") if record["type"] == "verdict"]


def test_a_disk_without_room(lab: SshLab, tmp_path: Path) -> None:
    lab.ssh("lab1", "mkdir -p /mnt/small && mount -t tmpfs -o size=64k small /mnt/small")
    file = lab.hosts_file.read_text()
    lab.hosts_file.write_text(file + '\n[defaults]\ndirectory = "/mnt/small/store"\n')
    try:
        done = run(certify(lab, tmp_path / "out", CASE, "--hosts", "1"))
    finally:
        lab.hosts_file.write_text(file)
    assert done.returncode == 2, done
    assert "lab1" in done.stderr
    assert "No space left on device" in done.stderr
    assert lab.ssh("lab1", "ls -A /mnt/small/store").stdout == ""


def test_a_killed_runner_leaves_no_process(lab: SshLab, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process, said = start_in_step(certify(lab, out, "srq_resize", "--hosts", "2"))
    with process, said:
        assert any(" verdicts, " in line for line in said)
        assert agents(lab, "lab1")
        assert agents(lab, "lab2")
        process.kill()
    deadline = time.monotonic() + DEADLINE
    while left := agents(lab, "lab1") + agents(lab, "lab2"):
        assert time.monotonic() < deadline, left
    assert not connections(lab)


def test_a_host_that_dies_is_set_aside(lab: SshLab, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ["srq_resize", "-m", "local", "--hosts", "1", "-k", "grow"]
    process, said = start_in_step(certify(lab, out, *options))
    with process, said:
        assert any(" verdicts, " in line for line in said)
        lab.guests["lab1"].kill()
        said.read()
        process.wait(DEADLINE)
    records = events(out)
    verdicts = [record["verdict"] for record in records if record["type"] == "verdict"]
    assert len(verdicts) == len(records[0]["plan"])
    assert verdicts.count("ERROR") <= 1
    lost = [record["host"] for record in records if record["type"] == "incident"]
    assert lost == ["lab1", "lab1"]
    opened = [record for record in records if record["type"] == "hosts"]
    assert [record["facts"][0]["name"] for record in opened] == ["lab1", "lab2"]
