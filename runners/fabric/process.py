# SPDX-License-Identifier: BSD-2-Clause
"""A host whose agent, or the way to it, is a process of this machine."""

import os
import signal
import socket
import subprocess
import tempfile
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import IO

from runners.fabric.base import FabricError, Host
from runners.fabric.spawn import spawn

# What an agent is granted to end what it started, once its standard input has ended.
LEAVE_TIMEOUT = 10.0


class ProcessHost(Host):
    """Such a host. It lives as long as its fabric, unless kill() ends it earlier."""

    def __init__(self, name: str, address: str) -> None:
        self.name = name
        self.address = address
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr: IO[bytes] = tempfile.TemporaryFile(prefix="udapl-cts-")

    def start_agent(
        self,
        argv: Sequence[str],
        env: Mapping[str, str] | None = None,
        directory: str | None = None,
    ) -> socket.socket:
        if self._process is not None and not self._has_ended(LEAVE_TIMEOUT):
            raise FabricError(f"{self.name} already runs an agent; a host runs one")
        return self._start(argv, env or {}, directory)

    @abstractmethod
    def _start(
        self, argv: Sequence[str], env: Mapping[str, str], directory: str | None
    ) -> socket.socket:
        """Start the agent, by _spawn()."""

    def _spawn(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        directory: str | None = None,
        death: str = "KILL",
    ) -> socket.socket:
        """Start `command` with `env` beside this process's own variables; the stream joined to it.

        `death` is the signal that it gets when this process dies. Only the command holds the other
        end, so the stream ends when it does.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = spawn(
                    command,
                    death,
                    stdin=theirs,
                    stdout=theirs,
                    stderr=self._stderr,
                    env={**os.environ, **env},
                    cwd=directory,
                )
            except OSError as error:
                ours.close()
                raise FabricError(f"cannot start {command[0]}: {error.strerror}") from error
        return ours

    def exit_status(self, timeout: float | None = None) -> int | None:
        if self._process is None or not self._has_ended(timeout):
            return None
        status = self._process.returncode
        return 128 - status if status < 0 else status

    def stderr_tail(self, limit: int = 16384) -> str:
        return tail(self._stderr, limit)

    def close(self) -> None:
        """Wait until the agent has ended, whose stream is closed; end it if it does not."""
        if not self._has_ended(LEAVE_TIMEOUT):
            self.kill()
        self._stderr.close()

    def _has_ended(self, timeout: float | None) -> bool:
        try:
            if self._process is not None:
                self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _kill_process(self) -> None:
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def tail(log: IO[bytes], limit: int) -> str:
    """The last `limit` bytes of a log that another process writes to."""
    size = os.fstat(log.fileno()).st_size
    data = os.pread(log.fileno(), limit, max(0, size - limit))
    return data.decode(errors="replace")
