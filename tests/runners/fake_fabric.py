# SPDX-License-Identifier: BSD-2-Clause
"""A fabric whose hosts are processes of this machine: what the runner does, without guests."""

import os
import socket
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Any, Self

from runners.fabric.base import Fabric, FabricError, Facts, Host

# An agent that leaves with this status took its host with it.
HOST_DIED = 99
LAST_WORDS = "Kernel panic - not syncing: Fatal exception in interrupt"


class FakeHost(Host):
    """A host that is nothing but its agent."""

    def __init__(self, index: int) -> None:
        self.name = f"host{index + 1}"
        self.address = f"192.0.2.{index + 1}"
        self._stderr = tempfile.TemporaryFile()
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False

    def start_agent(
        self,
        argv: Sequence[str],
        env: Mapping[str, str] | None = None,
        directory: str | None = None,
    ) -> socket.socket:
        if not self.alive():
            raise FabricError(f"{self.name} is down")
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                argv,
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=self._stderr,
                env={**os.environ, **(env or {}), "FAKE_HOST": self.name},
                cwd=directory,
                start_new_session=True,
            )
        return ours

    def alive(self) -> bool:
        return not self._killed and self.exit_status(1.0) != HOST_DIED

    def exit_status(self, timeout: float | None = None) -> int | None:
        if self._process is None:
            return None
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def stderr_tail(self, limit: int = 16384) -> str:
        self._stderr.seek(0)
        return self._stderr.read()[-limit:].decode()

    def console_tail(self, limit: int = 16384) -> str:
        return LAST_WORDS if self._process and self._process.poll() == HOST_DIED else ""

    def kill(self) -> None:
        self._killed = True
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def facts(self) -> Facts:
        return Facts("6.1.0-fake", "44.0", ("fake0",))


class FakeFabric(Fabric):
    """Such hosts, four where all are asked for. The file `openings` of the checkout counts how
    often it was opened. FAKE_SIDE_BY_SIDE is how many such fabrics pay. With FAKE_PROCESSORS
    they are taken for the same hosts, which have so many.
    """

    shares_hosts = "FAKE_PROCESSORS" in os.environ

    def __init__(self, hosts: int, progress: Callable[[str], None]) -> None:
        self._count = hosts or 4
        self._hosts: list[FakeHost] = []

    @classmethod
    def side_by_side(cls, hosts: int, settings: Mapping[str, Any]) -> int:
        return int(os.environ.get("FAKE_SIDE_BY_SIDE", "1"))

    @classmethod
    def processors(cls, hosts: int, settings: Mapping[str, Any]) -> int:
        return int(os.environ["FAKE_PROCESSORS"])

    @property
    def hosts(self) -> Sequence[FakeHost]:
        return tuple(self._hosts)

    def __enter__(self) -> Self:
        self._hosts = [FakeHost(index) for index in range(self._count)]
        with Path(os.environ["FAKE_ROOT"], "openings").open("a") as file:
            file.write(f"{self._count}\n")
        _hang("FAKE_FABRIC_HANGS_ON_ENTRY", "entering")
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            _hang("FAKE_FABRIC_HANGS_ON_EXIT", "exiting")
        except KeyboardInterrupt:
            _hang("FAKE_FABRIC_HANGS_ON_EXIT", "exiting-still")
        for host in self._hosts:
            host.kill()
        self._hosts = []


def _hang(variable: str, mark: str) -> None:
    """Tell by a file that this point was reached, and stay there, if the environment says so."""
    if variable in os.environ:
        Path(os.environ["FAKE_ROOT"], mark).touch()
        Event().wait()


class AbsentFabric(FakeFabric):
    """A fabric that cannot be opened."""

    def __enter__(self) -> Self:
        raise FabricError("there is no such emulator: install it")
