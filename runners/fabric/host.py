# SPDX-License-Identifier: BSD-2-Clause
"""The `host` fabric: this machine's own RDMA device."""

import socket
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from runners.fabric import capacity, facts
from runners.fabric.base import Fabric, FabricError, Facts, Progress
from runners.fabric.process import ProcessHost


class ThisMachine(ProcessHost):
    """The machine that this process runs on."""

    def __init__(self) -> None:
        super().__init__(socket.gethostname(), "localhost")
        self._facts = facts.of_this_machine()
        self._killed = False

    def _start(
        self, argv: Sequence[str], env: Mapping[str, str], directory: str | None
    ) -> socket.socket:
        self._killed = False
        return self._spawn(argv, env, directory)

    def alive(self) -> bool:
        return not self._killed

    def console_tail(self, limit: int = 16384) -> str:
        return ""

    def kill(self) -> None:
        """End the agent, and with it all that it started. This machine keeps running."""
        self._killed = True
        self._kill_process()

    def facts(self) -> Facts:
        return self._facts


class HostFabric(Fabric):
    """One host, this one. The agent is a process that ends when this one does."""

    shares_hosts = True

    def __init__(self, hosts: int = 1, progress: Progress = lambda line: None) -> None:
        if hosts > 1:
            raise FabricError(f"the host fabric has one host, not {hosts}: --fabric ssh has more")
        self._hosts: list[ThisMachine] = []

    @property
    def hosts(self) -> Sequence[ThisMachine]:
        return tuple(self._hosts)

    @classmethod
    def most_hosts(cls, settings: Mapping[str, Any]) -> int:
        return 1

    @classmethod
    def ia_params(cls, settings: Mapping[str, Any]) -> str:
        return facts.only_device("this machine", facts.of_this_machine())

    @classmethod
    def processors(cls, hosts: int, settings: Mapping[str, Any]) -> int:
        return capacity.processors()

    def __enter__(self) -> Self:
        self._hosts = [ThisMachine()]
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for host in self._hosts:
            host.close()
        self._hosts = []
