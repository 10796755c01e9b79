# SPDX-License-Identifier: BSD-2-Clause
"""Guests that die, and those who wait for them."""

import os
import select
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import active_count

from runners.fabric.cache import REPOSITORY
from runners.fabric.guest_host import GuestHost
from runners.fabric.vm import VmFabric
from tests.runners.fabric.streams import DEADLINE, read_exactly, read_to_end

RUNNER = """
import sys
from runners.fabric.vm import VmFabric
with VmFabric(2) as fabric:
    streams = [host.start_agent(["cat"]) for host in fabric.hosts]
    print(*(host.pid for host in fabric.hosts), flush=True)
    sys.stdin.read()
"""


def ended(pidfd: int) -> bool:
    return bool(select.select([pidfd], [], [], DEADLINE)[0])


def test_a_killed_guest_ends_the_stream(host: GuestHost) -> None:
    with host.start_agent(["cat"]) as stream:
        stream.sendall(b"alive")
        assert read_exactly(stream, 5) == b"alive"

        host.kill()

        assert read_to_end(stream) == b""
    assert not host.alive()
    assert host.exit_status(DEADLINE) is None


def test_a_panic_ends_the_stream_and_the_console_says_why(host: GuestHost) -> None:
    with host.start_agent(["sh", "-c", "echo before; echo c > /proc/sysrq-trigger"]) as stream:
        assert read_to_end(stream) == b"before\n"

    assert host.exit_status(DEADLINE) is None
    assert "Kernel panic" in host.console_tail()


def test_no_guest_outlives_a_killed_runner() -> None:
    runner = subprocess.Popen(
        [sys.executable, "-c", RUNNER],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert runner.stdout is not None
    guests = [os.pidfd_open(int(pid)) for pid in runner.stdout.readline().split()]
    assert len(guests) == 2

    runner.kill()
    runner.communicate()

    assert all(ended(guest) for guest in guests)


def test_a_process_whose_runner_dies_before_its_signal_is_set_does_not_start(
    tmp_path: Path,
) -> None:
    """A setpriv in front of the real one waits until the runner is gone."""
    late = tmp_path / "setpriv"
    late.write_text(f'#!/bin/sh\nread end\nexec {shutil.which("setpriv")} "$@"\n')
    late.chmod(0o755)
    started = tmp_path / "started"
    runner = f"""
import os, sys
from runners.fabric.spawn import spawn
spawn(["touch", {str(started)!r}], stdin=sys.stdin, stdout=sys.stdout)
os._exit(0)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", runner],
        cwd=REPOSITORY,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.wait(DEADLINE) == 0
    assert not started.exists()

    process.communicate()

    assert not started.exists()


def test_a_fabric_leaves_nothing_behind() -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    with VmFabric():
        pass  # the first one starts what all share
    before, threads = descriptors(), active_count()
    with VmFabric(2) as fabric:
        guests = [os.pidfd_open(host.pid) for host in fabric.hosts]
        for host in fabric.hosts:
            host.start_agent(["cat"]).close()
    assert all(ended(guest) for guest in guests)
    for guest in guests:
        os.close(guest)
    assert (descriptors(), active_count()) == (before, threads)


def test_a_guest_outlives_the_thread_that_started_it() -> None:
    fabric = VmFabric()
    with ThreadPoolExecutor(1) as thread:
        thread.submit(fabric.__enter__).result()
    try:
        assert read_to_end(fabric.hosts[0].start_agent(["echo", "alive"])) == b"alive\n"
    finally:
        fabric.__exit__(None, None, None)


def test_an_interrupt_on_the_terminal_does_not_reach_the_guests(host: GuestHost) -> None:
    assert os.getpgid(host.pid) != os.getpgid(0)
