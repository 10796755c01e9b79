# SPDX-License-Identifier: BSD-2-Clause
"""What every fabric gives: hosts with a name, an address and a stream to an agent."""

import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from results.errors import InputError
from runners.fabric.files import Files

MANY = 1 << 20

# Given a line before each step that takes long.
Progress = Callable[[str], None]


class FabricError(Exception):
    """A fabric cannot do what was asked. The message says what, to what, and what to do next."""


@dataclass(frozen=True)
class Facts:
    """What a report says about a host."""

    kernel: str
    rdma_core: str
    devices: tuple[str, ...]
    firmware: tuple[str, ...] = ()
    clock: str = ""
    provider: str = ""
    distribution: str = ""
    architecture: str = ""
    processor: str = ""
    # Each begins with the device that it is of: the board's id, the slot on the bus, the link
    # layer and rate of a port, the module of the kernel that drives it.
    boards: tuple[str, ...] = ()
    slots: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()
    # How many an agent may keep busy; 0 where it is not known.
    processors: int = 0


class Host(ABC):
    """One machine of a fabric, where one agent can run."""

    name: str
    address: str

    @abstractmethod
    def start_agent(
        self,
        argv: Sequence[str],
        env: Mapping[str, str] | None = None,
        directory: str | None = None,
    ) -> socket.socket:
        """Start `argv` in `directory`, with `env` added to the few variables every host has.

        Returns a byte stream joined to the standard input and output of the process; the caller
        closes it. It ends when the process or its host does, after all that was written; sending
        then raises BrokenPipeError. Its shutdown(SHUT_WR) ends the process's standard input.
        Standard error goes to stderr_tail(), all of it before the stream ends. A program that
        cannot be started ends with status 127 or 126, as in a shell.
        One agent at a time: a second call raises FabricError while the first one runs, and after it
        too where the host cannot start another.
        """

    @abstractmethod
    def alive(self) -> bool:
        """Whether the machine itself still runs."""

    @abstractmethod
    def exit_status(self, timeout: float | None = None) -> int | None:
        """Wait up to `timeout` seconds for the agent to end; its status as a shell gives it.

        None when it has not ended in time, or ended with its host and left no status.
        """

    @abstractmethod
    def stderr_tail(self, limit: int = 16384) -> str:
        """The last `limit` bytes that the agent wrote to its standard error."""

    @abstractmethod
    def console_tail(self, limit: int = 16384) -> str:
        """The last `limit` bytes of the machine's own log: why a dead host died."""

    @abstractmethod
    def kill(self) -> None:
        """End the machine at once, as a power cut would."""

    @abstractmethod
    def facts(self) -> Facts:
        """Kernel, rdma-core and RDMA devices."""


@dataclass(frozen=True)
class Wish:
    """What the command line says to the fabric; None where it says nothing."""

    hosts_file: Path | None = None
    dat_conf: Path | None = None
    ia: str | None = None
    ia_params: str | None = None
    cpus: int | None = None
    device: str | None = None
    kernel: str | None = None


class Fabric(ABC):
    """Some hosts joined by a network, from entering the context to leaving it.

    Made with `hosts`, how many are wanted, 0 meaning all that there are, a `progress` to be told
    what takes long, and its settings(). With `shares_hosts`, several that are made alike are the
    same hosts, each with agents of its own there.
    """

    shares_hosts = False

    @classmethod
    def settings(cls, wish: Wish) -> dict[str, Any]:
        """What `wish` means to this fabric, as JSON has it; raises InputError, FabricError."""
        if wish.hosts_file is not None:
            raise InputError("--hosts-file goes with --fabric ssh: this fabric has its own hosts")
        refuse_shape(wish)
        return {}

    @classmethod
    def most_hosts(cls, settings: Mapping[str, Any]) -> int:
        """How many hosts such a fabric can have."""
        return MANY

    @classmethod
    def side_by_side(cls, hosts: int, settings: Mapping[str, Any]) -> int:
        """How many such fabrics, with so many hosts in all each, get more done than one.

        1 where they would be the same hosts, or no others are configured.
        """
        return 1

    @classmethod
    def processors(cls, hosts: int, settings: Mapping[str, Any]) -> int:
        """The processors of that of its first `hosts` hosts which has the fewest, at least 1; asked
        where hosts are shared. Raises FabricError.
        """
        return 1

    @classmethod
    def room(cls, hosts: int, settings: Mapping[str, Any]) -> int:
        """How many such fabrics there may be at a time whose hosts have nothing to do but to wait;
        1 where they would be the same hosts.
        """
        return 1

    @classmethod
    def require(cls) -> None:
        """Raise FabricError if this machine lacks a program that each such fabric needs."""
        return

    @classmethod
    def make_ready(cls, progress: Progress, settings: Mapping[str, Any]) -> None:
        """Make what several of them side by side would each wait for. Raises FabricError."""
        return

    @classmethod
    @contextmanager
    def subject(cls, settings: Mapping[str, Any]) -> Iterator[Files]:
        """The files of the host that the subject will run on. Raises FabricError."""
        yield Files()

    @classmethod
    def entry(cls, settings: Mapping[str, Any]) -> tuple[Path, str] | None:
        """The dat.conf and the IA in it that are certified, where the settings say it."""
        return None

    @classmethod
    def ia_params(cls, settings: Mapping[str, Any]) -> str:
        """What a provider's IA is given by default: the device. Raises FabricError."""
        return "rxe0"

    @classmethod
    def prefer(cls, settings: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
        """The settings by which these hosts are the first that are asked, where hosts differ."""
        return dict(settings)

    def show_only(self, folders: Iterable[Path]) -> None:
        """Before entering: where the hosts see this machine's files, they are to see the system's
        own, and what is in `folders`. Raises FabricError.
        """
        return

    def keep(self, files: Iterable[Path]) -> None:
        """Before entering: files of this machine that very many processes of a host will open, of
        which a host that sees them from afar may have a copy.
        """
        return

    @property
    def set_aside(self) -> Sequence[tuple[str, str]]:
        """The hosts that this fabric would have had, and why it does without them."""
        return ()

    @property
    @abstractmethod
    def hosts(self) -> Sequence[Host]:
        """The hosts, in the order of their names; empty outside the context."""

    @abstractmethod
    def __enter__(self) -> Self:
        """Make every host ready for start_agent(); raises FabricError."""

    @abstractmethod
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End every host and whatever runs there."""


def refuse_shape(wish: Wish) -> None:
    """Raise InputError if `wish` gives processors, a device or a kernel to hosts that have them."""
    if wish.cpus is not None:
        raise InputError("--cpus goes with --fabric vm: other hosts have their own processors")
    if wish.device is not None:
        raise InputError("--device goes with --fabric vm: other hosts have their own devices")
    if wish.kernel is not None:
        raise InputError("--kernel goes with --fabric vm: other hosts have their own kernels")


def preferred(hosts: Iterable[Any], names: Sequence[str], name: Callable[[Any], str]) -> list[Any]:
    """The hosts, those of `names` first and in that order; `name` tells the name of one."""
    order = {each: place for place, each in enumerate(names)}
    return sorted(hosts, key=lambda host: order.get(name(host), len(order)))
