# SPDX-License-Identifier: BSD-2-Clause
"""A guest as a host of the `vm` fabric: its set-up, what runs there, how it ends."""

import os
import platform
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import IO

from runners.fabric import qemu
from runners.fabric.base import FabricError, Facts, Host
from runners.fabric.control import Control, GuestGone, command_lines
from runners.fabric.facts import distribution
from runners.fabric.streams import Input, Output, Sink, deliver, hang_up

# No thread should be left when its guest is gone; one that a sink holds up is not waited for.
JOIN_TIMEOUT = 5.0

ENVIRONMENT = {
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
}


class GuestHost(Host):
    """One guest. It lives as long as its fabric, unless it dies earlier.

    `stderr` is given what the agent writes to its standard error, besides the log. `targets` are
    the places where it sees the folders that QEMU shares with it.
    """

    def __init__(
        self,
        index: int,
        process: qemu.Qemu,
        stderr: Sink | None = None,
        targets: Sequence[Path] = (Path("/"),),
    ) -> None:
        self.name = f"host{index + 1}"
        self.address = f"10.77.0.{index + 1}"
        self._index = index
        self._targets = targets
        self._process = process
        self._control = Control(process.ports["control"])
        self._kernel = ""
        self._devices: tuple[str, ...] = ()
        self._stderr_sink = stderr
        self._stderr_log: IO[bytes] = tempfile.TemporaryFile(prefix="udapl-cts-")
        self._agent: tuple[Output, Output] | None = None
        self._console: Output | None = None
        self._agent_status: int | None = None
        self._console_status: int | None = None
        self._agent_ended = Event()
        self._console_ended = Event()
        self._streams: list[socket.socket] = []
        self._threads: list[Thread] = []

    @property
    def pid(self) -> int:
        """QEMU's process."""
        return self._process.process.pid

    def configure(self, count: int, device: str, kept: Sequence[Path] = ()) -> None:
        """Tell the guest who it is among `count`, what device it has, and which files it is to have
        `kept` in its memory; wait_up() awaits the result.
        """
        peers = [f"hosts 10.77.0.{i + 1} host{i + 1}" for i in range(count)]
        peers += [f"hosts fd00:77::{i + 1:x} host{i + 1}-v6" for i in range(count)]
        now = time.time_ns()
        self._control.send(
            f"clock {now // 10**9}.{now % 10**9:09}",
            f"entropy {os.urandom(32).hex()}",
            f"hostname {self.name}",
            *peers,
            f"device {device}",
            f"mac 52:54:00:77:00:{self._index + 1:02x}",
            f"address {self.address}/24",
            f"address fd00:77::{self._index + 1:x}/64",
            *(f"share {number} {path}" for number, path in enumerate(self._targets)),
            "up",
            *(f"keep {path}" for path in kept if path.is_absolute() and "\n" not in str(path)),
        )

    def wait_up(self, timeout: float) -> None:
        """Wait until the guest can start an agent."""
        try:
            verb, value = self._control.receive(timeout)
            # a guest says so at the end of its boot, so a clone has said it already
            if verb == "ready":
                verb, value = self._control.receive(timeout)
        except GuestGone as error:
            verb, value = "error", str(error)
        if verb != "up":
            words = self._process.last_words()
            raise FabricError(f"{self.name} did not come up: {value}{words}")
        self._kernel, *devices = value.split()
        self._devices = tuple(devices)
        self._start_thread(Thread(target=self._listen, daemon=True))

    def start_agent(
        self,
        argv: Sequence[str],
        env: Mapping[str, str] | None = None,
        directory: str | None = None,
    ) -> socket.socket:
        if self._agent is not None:
            raise FabricError(f"{self.name} already runs an agent; a host runs one")
        lines = command_lines(argv, {**ENVIRONMENT, **(env or {})}, directory)
        ours, users = self._stream()
        ports = self._process.ports
        errors = Output(ports["stderr"], self._take_stderr)

        def end() -> None:
            # at the end of the stream, the whole log can be read
            errors.ended.wait()
            hang_up(ours)

        output = Output(ports["output"], partial(deliver, ours), end)
        self._agent = output, errors
        for thread in (errors, output, Input(ours, ports["input"])):
            self._start_thread(thread)
        self._control.send(*lines, "agent")
        return users

    def start_console(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        directory: str | None,
        size: str,
    ) -> socket.socket:
        """Start `argv` on a terminal of `size` ("ROWS COLUMNS"), beside the agent.

        Returns the terminal's stream, which ends with the command. One console per host.
        """
        if self._console is not None:
            raise FabricError(f"{self.name} already has a console; a host has one")
        lines = command_lines(argv, {**ENVIRONMENT, **env}, directory)
        ours, users = self._stream()
        port = self._process.ports["console"]
        self._console = Output(port, partial(deliver, ours), partial(hang_up, ours))
        for thread in (self._console, Input(ours, port)):
            self._start_thread(thread)
        self._control.send(*lines, f"console {size}")
        return users

    def resize_console(self, size: str) -> None:
        """Give the console's terminal another size ("ROWS COLUMNS")."""
        self._control.send(f"size {size}")

    def console_status(self, timeout: float | None = None) -> int | None:
        """As exit_status(), of the console's command."""
        self._console_ended.wait(timeout)
        return self._console_status

    def alive(self) -> bool:
        return self._process.running()

    def exit_status(self, timeout: float | None = None) -> int | None:
        self._agent_ended.wait(timeout)
        return self._agent_status

    def stderr_tail(self, limit: int = 16384) -> str:
        return qemu.tail(self._stderr_log, limit)

    def console_tail(self, limit: int = 16384) -> str:
        return qemu.tail(self._process.kernel_log, limit)

    def kill(self) -> None:
        self._process.kill()

    def facts(self) -> Facts:
        return Facts(
            self._kernel,
            _rdma_core_version(),
            self._devices,
            # A guest sees this machine's files.
            distribution=distribution(),
            architecture=platform.machine(),
        )

    def close(self) -> None:
        """End the guest and give back all it took."""
        self._process.kill()
        for stream in self._streams:
            hang_up(stream)
        for thread in self._threads:
            thread.join(JOIN_TIMEOUT)
        for stream in self._streams:
            stream.close()
        self._stderr_log.close()
        self._process.close()

    def _listen(self) -> None:
        try:
            while True:
                self._take_line(*self._control.receive(None))
        except GuestGone:
            # A process loses its ports some time before it has ended, and only then is it gone.
            self._process.running(wait=JOIN_TIMEOUT)
            self._agent_ended.set()
            self._console_ended.set()

    def _take_line(self, verb: str, value: str) -> None:
        if verb == "exit" and self._agent is not None:
            status, *totals = (int(number) for number in value.split())
            self._agent_status = status
            self._agent_ended.set()
            # its standard error first, because the end of its stream waits for that
            for output, total in zip(reversed(self._agent), reversed(totals), strict=True):
                output.end_at(total)
        elif verb == "console-exit" and self._console is not None:
            self._console_status, total = (int(number) for number in value.split())
            self._console_ended.set()
            self._console.end_at(total)
        else:
            self._take_stderr(f"{self.name}: {verb} {value}\n".encode())

    def _take_stderr(self, data: bytes) -> None:
        self._stderr_log.write(data)
        self._stderr_log.flush()
        if self._stderr_sink is not None:
            self._stderr_sink(data)

    def _stream(self) -> tuple[socket.socket, socket.socket]:
        ours, users = socket.socketpair()
        self._streams.append(ours)
        return ours, users

    def _start_thread(self, thread: Thread) -> None:
        self._threads.append(thread)
        thread.start()


def _rdma_core_version() -> str:
    try:
        done = subprocess.run(
            ["dpkg-query", "--show", "--showformat=${Version}", "libibverbs1"],
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return "unknown"
    return done.stdout or "unknown"
