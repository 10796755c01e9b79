# SPDX-License-Identifier: BSD-2-Clause
"""The `slurm` fabric: the nodes of the allocation that this process runs in, agents by srun.

The nodes share this checkout and the provider with this process, as a cluster's nodes do.
"""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from results.errors import InputError
from runners.fabric import facts
from runners.fabric.base import Fabric, FabricError, Facts, Progress, Wish, preferred
from runners.fabric.process import LEAVE_TIMEOUT, ProcessHost

JOB = "SLURM_JOB_ID"
STEP_TIMEOUT = 120.0
STEPS = 32

_WRITE = 'umask 077; file=$(mktemp /tmp/udapl-cts-dat.conf-XXXXXX) && cat >"$file" && echo "$file"'
_REMOVE = 'rm -f -- "$1"'


class Node(ProcessHost):
    """A node that answered. What runs there is a step of our job, and srun the way to it."""

    def __init__(self, name: str, told: Facts) -> None:
        super().__init__(name, name)
        self._facts = told
        self._killed = False
        self._dat_conf = ""

    def _start(
        self, argv: Sequence[str], env: Mapping[str, str], directory: str | None
    ) -> socket.socket:
        self._killed = False
        if not self._dat_conf:
            # a run's folder may be on a disk of this machine's own
            text = Path(env["DAT_OVERRIDE"]).read_bytes()
            self._dat_conf = _ask(self.name, _WRITE, data=text).strip()
        env = {**env, "DAT_OVERRIDE": self._dat_conf}
        # SIGTERM, because srun then ends the step; of its own death the nodes would hear late.
        return self._spawn([*_step(self.name), *argv], env, directory, death="TERM")

    def alive(self) -> bool:
        if self._killed:
            return False
        try:
            _ask(self.name, "exit 0")
        except FabricError:
            return False
        return True

    def console_tail(self, limit: int = 16384) -> str:
        return ""

    def kill(self) -> None:
        """End the step: the node is Slurm's."""
        self._killed = True
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            if not self._has_ended(LEAVE_TIMEOUT):
                self._kill_process()

    def facts(self) -> Facts:
        return self._facts

    def close(self) -> None:
        """End the agent, and leave nothing on the node."""
        super().close()
        if self._dat_conf and not self._killed:
            with suppress(FabricError):
                _ask(self.name, _REMOVE, self._dat_conf)


class SlurmFabric(Fabric):
    """As many nodes of the allocation as are asked for, the first that answer."""

    shares_hosts = True

    def __init__(
        self,
        hosts: int,
        progress: Progress = lambda line: None,
        *,
        first: Sequence[str] = (),
    ) -> None:
        self._count = hosts
        self._progress = progress
        self._first = first
        self._hosts: list[Node] = []
        self._set_aside: dict[str, str] = {}

    @classmethod
    def settings(cls, wish: Wish) -> dict[str, Any]:
        settings = super().settings(wish)
        if JOB not in os.environ:
            raise InputError(
                "--fabric slurm runs in an allocation: submit it by sbatch, or begin with salloc"
            )
        if shutil.which("srun") is None:
            raise FabricError("srun is not installed here; Slurm's client programs have it")
        return settings

    @classmethod
    def most_hosts(cls, settings: Mapping[str, Any]) -> int:
        return len(_nodes())

    @classmethod
    def prefer(cls, settings: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
        return {**settings, "first": list(names)}

    @classmethod
    def ia_params(cls, settings: Mapping[str, Any]) -> str:
        with cls(1) as fabric:
            return facts.only_device(fabric.hosts[0].name, fabric.hosts[0].facts())

    @classmethod
    def processors(cls, hosts: int, settings: Mapping[str, Any]) -> int:
        with cls(min(hosts, cls.most_hosts(settings)), **settings) as fabric:
            return facts.fewest_processors(host.facts() for host in fabric.hosts)

    @property
    def hosts(self) -> Sequence[Node]:
        return tuple(self._hosts)

    @property
    def set_aside(self) -> Sequence[tuple[str, str]]:
        return tuple(self._set_aside.items())

    def __enter__(self) -> Self:
        nodes = preferred(_nodes(), self._first, str)
        if self._count > len(nodes):
            raise FabricError(f"the allocation has {len(nodes)} nodes, not {self._count}")
        wanted = self._count or len(nodes)
        while nodes and len(self._hosts) < wanted:
            missing = wanted - len(self._hosts)
            with ThreadPoolExecutor(STEPS) as steps:
                answers = list(steps.map(self._answering, nodes[:missing]))
            self._hosts += [node for node in answers if node is not None]
            nodes = nodes[missing:]
        if not self._hosts or len(self._hosts) < self._count:
            why = "; ".join(self._set_aside.values())
            raise FabricError(f"{self._count} nodes are needed, {len(self._hosts)} answer: {why}")
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

    def _answering(self, name: str) -> Node | None:
        asked = time.time()
        try:
            said = _ask(name, facts.SCRIPT)
        except FabricError as error:
            self._set_aside[name] = str(error)
            self._progress(f"{error}; set aside")
            return None
        return Node(name, facts.parse(said, asked, time.time()))


def _nodes() -> list[str]:
    """The allocation's nodes; Slurm has them in a form of its own, which it alone can read."""
    listed = os.environ.get("SLURM_JOB_NODELIST", "")
    try:
        done = subprocess.run(
            ["scontrol", "show", "hostnames", listed], capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise FabricError(f"cannot run scontrol: {error.strerror}") from error
    names = done.stdout.split()
    if done.returncode != 0 or not names:
        raise FabricError(f"cannot tell the nodes of {listed!r}: {done.stderr.strip()}")
    return names


def _step(node: str) -> list[str]:
    """The beginning of the command that starts one process on a node, beside what runs there."""
    where = ["--nodes=1", "--ntasks=1", f"--nodelist={node}", "--overlap"]
    return ["srun", *where, "--mpi=none", "--unbuffered", "--kill-on-bad-exit=1", "--quiet"]


def _ask(node: str, script: str, *arguments: str, data: bytes = b"") -> str:
    """What a shell script prints on a node that is given `data`. Raises FabricError."""
    try:
        done = subprocess.run(
            [*_step(node), "sh", "-c", script, "sh", *arguments],
            input=data,
            capture_output=True,
            timeout=STEP_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise FabricError(f"{node}: no answer within {STEP_TIMEOUT:.0f} s") from None
    except OSError as error:
        raise FabricError(f"cannot run srun: {error.strerror}") from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise FabricError(f"{node}: {said[-1] if said else f'status {done.returncode}'}")
    return done.stdout.decode(errors="replace")
