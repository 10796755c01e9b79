# SPDX-License-Identifier: BSD-2-Clause
"""`udapl-cts fabric shell`, and what a person reads when guests cannot be had."""

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from runners.fabric.cache import REPOSITORY, cache_root

COMMAND = (sys.executable, "-P", "-m", "runners", "fabric", "shell")


def shell(*arguments: str, given: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    return run((*COMMAND, *arguments), given, **env)


def run(command: Sequence[str], given: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **env},
        input=given,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_a_command_is_passed_its_input_and_passes_on_its_outputs_and_status() -> None:
    done = shell("--", "sh", "-c", "cat; echo error >&2; exit 7", given="input\n")

    assert (done.stdout, done.stderr, done.returncode) == ("input\n", "error\n", 7)


def test_a_command_runs_where_it_was_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert shell("--", "pwd").stdout == f"{tmp_path}\n"


def test_a_script_on_standard_input_is_run() -> None:
    assert shell(given="hostname; exit 5").returncode == 5


def test_a_guest_has_as_many_processors_as_are_asked_for() -> None:
    assert shell("--", "nproc").stdout == "1\n"
    done = shell("--hosts", "2", "--cpus", "2", "--", "nproc")

    assert sorted(done.stdout.splitlines()) == ["host1| 2", "host2| 2"]


def test_with_several_hosts_each_line_says_whose_it_is() -> None:
    done = shell("--hosts", "2", "--", "sh", "-c", "hostname; test $(hostname) = host1 || exit 6")

    assert sorted(done.stdout.splitlines()) == ["host1| host1", "host2| host2"]
    assert done.returncode == 6


def test_a_guest_that_dies_is_reported() -> None:
    done = shell("--", "sh", "-c", "echo c > /proc/sysrq-trigger")

    assert done.returncode == 2
    assert "udapl-cts: host1 died:" in done.stderr
    assert "Kernel panic" in done.stderr


def test_the_shell_has_a_terminal() -> None:
    child, terminal = pty.fork()
    if child == 0:
        os.execve(
            COMMAND[0], COMMAND, {**os.environ, "PYTHONPATH": str(REPOSITORY), "TERM": "dumb"}
        )
    _type(terminal, b"# ", b"tty; hostname\r")
    _type(terminal, b"/dev/pts/0\r\nhost1\r\n", b"exit 3\r")
    _read_to_end(terminal)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3


def _type(terminal: int, prompt: bytes, answer: bytes) -> None:
    seen = b""
    deadline = time.monotonic() + 60
    while prompt not in seen:
        assert select.select([terminal], [], [], deadline - time.monotonic())[0], seen
        seen += os.read(terminal, 4096)
    os.write(terminal, answer)


def _read_to_end(terminal: int) -> None:
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:  # how a terminal tells that its other side has gone
        return


def test_missing_qemu_is_one_line() -> None:
    done = shell("--", "true", PATH="/nonexistent")

    assert done.returncode == 2
    assert done.stderr == (
        "udapl-cts: qemu-system-x86_64 is not installed; "
        "run `apt-get install qemu-system-x86` as root\n"
    )


def test_the_entry_script_is_found_by_a_link_and_keeps_to_its_own_runners(tmp_path: Path) -> None:
    (tmp_path / "udapl-cts").symlink_to(REPOSITORY / "udapl-cts")
    (tmp_path / "runners").mkdir()
    (tmp_path / "runners" / "__init__.py").write_text("raise SystemExit('the wrong runners')")

    done = subprocess.run(
        ["./udapl-cts", "fabric", "shell", "--", "pwd"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == f"{tmp_path}\n"


def programs_that_fail(directory: Path, *names: str) -> str:
    for name in names:
        program = directory / name
        program.write_text("#!/bin/sh\necho 'E: Could not resolve the mirror' >&2\nexit 100\n")
        program.chmod(0o755)
    return f"{directory}:{os.environ['PATH']}"


def test_a_kernel_that_cannot_be_fetched_is_told(tmp_path: Path) -> None:
    path = programs_that_fail(tmp_path, "apt-get", "sudo")

    done = shell("--", "true", PATH=path, UDAPL_CTS_CACHE=str(tmp_path / "cache"))

    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last == (
        "udapl-cts: cannot refresh apt's lists: E: Could not resolve the mirror; "
        "is there a network?"
    )
    assert "Traceback" not in done.stderr


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    done = shell("--", "true", UDAPL_CTS_CACHE=str(tmp_path / "file" / "cache"))

    assert done.returncode == 2
    assert done.stderr.startswith(f"udapl-cts: cannot use the cache {tmp_path}/file/cache: ")
    assert len(done.stderr.splitlines()) == 1


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    (tmp_path / "kernel").symlink_to(cache_root() / "kernel")
    # A file may not grow beyond so many blocks of 512 bytes: the initramfs does.
    limited = ("sh", "-c", 'ulimit -f 2000; exec "$@"', "sh", *COMMAND, "--", "true")

    done = run(limited, UDAPL_CTS_CACHE=str(tmp_path))

    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("udapl-cts: cannot ")
    assert "Traceback" not in done.stderr
