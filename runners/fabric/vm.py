# SPDX-License-Identifier: BSD-2-Clause
"""The `vm` fabric: QEMU guests with RDMA in software, which need no hardware, root nor KVM."""

import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from runners.fabric import GUEST_DEVICES, capacity, qemu
from runners.fabric.accelerator import accelerator
from runners.fabric.base import Fabric, FabricError, Progress, Wish
from runners.fabric.guest_host import GuestHost
from runners.fabric.image import Image, image
from runners.fabric.snapshot import snapshot
from runners.fabric.streams import Sink
from runners.fabric.view import SYSTEM, WHOLE, Share, shares

BOOT_TIMEOUT = 60.0
MOST_HOSTS = 16

# Starts a guest with these cables, that may read these folders.
Launch = Callable[[Sequence[socket.socket], Sequence[Path]], qemu.Qemu]


class VmFabric(Fabric):
    """Guests on one network, each with a `device` on eth0: rxe0, or siw0, which is iWARP.

    `progress` is given a line before each step that takes long. `stderr` is given what the agent of
    the host so named writes to its standard error, as it comes, besides the host's own log. Guests
    that are not `cloned` from a saved one boot, which takes them some three seconds; so do those
    whose clocks are to have `counted` instructions. Each has `cpus` processors. Their kernel is
    Debian's default, or the newest of the series `kernel` that Debian has.
    """

    def __init__(
        self,
        hosts: int = 1,
        progress: Progress = lambda line: None,
        stderr: Callable[[str, bytes], None] | None = None,
        cloned: bool = True,
        counted: bool = False,
        cpus: int = 1,
        device: str = GUEST_DEVICES[0],
        kernel: str = "",
    ) -> None:
        if not 1 <= hosts <= MOST_HOSTS:
            raise FabricError(f"the vm fabric has 1 to {MOST_HOSTS} hosts, not {hosts}")
        self._count = hosts
        self._progress = progress
        self._stderr = stderr
        self._cloned = cloned and not counted
        self._counted = counted
        self._cpus = cpus
        self._device = device
        self._kernel = kernel
        self._shares: tuple[Share, ...] = WHOLE
        self._kept: tuple[Path, ...] = ()
        self._hosts: list[GuestHost] = []

    def show_only(self, folders: Iterable[Path]) -> None:
        self._shares = shares(folders, qemu.SHARES)

    def keep(self, files: Iterable[Path]) -> None:
        self._kept = tuple(files)

    @classmethod
    def settings(cls, wish: Wish) -> dict[str, Any]:
        settings = super().settings(replace(wish, cpus=None, device=None, kernel=None))
        if wish.cpus is not None:
            settings["cpus"] = wish.cpus
        if wish.device is not None:
            settings["device"] = wish.device
        if wish.kernel is not None:
            settings["kernel"] = wish.kernel
        return settings

    @classmethod
    def ia_params(cls, settings: Mapping[str, Any]) -> str:
        return f"{settings.get('device', GUEST_DEVICES[0])}0"

    @classmethod
    def side_by_side(cls, hosts: int, settings: Mapping[str, Any]) -> int:
        """Two for each processor, since a guest idles half of its time; while the guests take half
        of the free memory.
        """
        busy = 2 * capacity.processors() // int(settings.get("cpus", 1))
        return max(1, min(busy, cls.room(hosts, settings), MOST_HOSTS))

    @classmethod
    def room(cls, hosts: int, settings: Mapping[str, Any]) -> int:
        return capacity.free_memory_mib() // 2 // (hosts * qemu.Machine.memory_mib)

    @classmethod
    def require(cls) -> None:
        qemu.program()

    @classmethod
    def make_ready(cls, progress: Progress, settings: Mapping[str, Any]) -> None:
        cls.require()
        booted = image(
            progress, settings.get("device", GUEST_DEVICES[0]), settings.get("kernel", "")
        )
        machine = qemu.Machine(accelerator(booted, progress), settings.get("cpus", 1))
        snapshot(machine, booted, progress)

    @property
    def hosts(self) -> Sequence[GuestHost]:
        return tuple(self._hosts)

    def __enter__(self) -> Self:
        try:
            self._boot()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._close()

    def _boot(self) -> None:
        self.require()
        booted = image(self._progress, self._device, self._kernel)
        usual = accelerator(booted, self._progress)
        machine = qemu.Machine("counted" if self._counted else usual, self._cpus)
        if not (self._cloned and self._clone(machine, booted)):
            self._start(partial(_boot, machine, booted))

    def _clone(self, machine: qemu.Machine, booted: Image) -> bool:
        """Start the guests as clones; False, and the reason told, where that does not work."""
        try:
            saved = snapshot(machine, booted, self._progress)
        except FabricError as error:
            self._progress(f"{error}; booting without a saved guest")
            return False
        try:
            self._start(saved.clone)
        except FabricError as error:
            self._progress(f"{error}\nthe saved guest does not work; booting without it")
            self._close()
            saved.discard()
            return False
        return True

    def _start(self, launch: Launch) -> None:
        """Start all guests by `launch`, side by side, and wait until they are up."""
        sources = [share.source for share in self._shares]
        targets = [share.target for share in self._shares]
        cables = [socket.socketpair() for _ in range(self._count - 1)]
        try:
            for index in range(self._count):
                links = [cables[index - 1][1]] if index > 0 else []
                links += [cables[index][0]] if index < self._count - 1 else []
                guest = launch(links, sources)
                self._hosts.append(GuestHost(index, guest, self._sink(index), targets))
        finally:
            # only the guests may hold a cable, or its end is not seen when one of them dies
            for left, right in cables:
                left.close()
                right.close()
        kept = [*self._kept, *_drivers(self._device)]
        for host in self._hosts:
            host.configure(self._count, self._device, kept)
        for host in self._hosts:
            host.wait_up(BOOT_TIMEOUT)

    def _sink(self, index: int) -> Sink | None:
        return partial(self._stderr, f"host{index + 1}") if self._stderr else None

    def _close(self) -> None:
        for host in self._hosts:
            host.close()
        self._hosts.clear()


def _drivers(device: str) -> Iterable[Path]:
    """What libibverbs loads for the device, in each process anew."""
    return SYSTEM.glob(f"lib/*/libibverbs/lib{device}-rdmav*.so")


def _boot(
    machine: qemu.Machine,
    booted: Image,
    links: Sequence[socket.socket],
    shared: Sequence[Path],
) -> qemu.Qemu:
    return qemu.start(machine, booted, links, shared=shared)
