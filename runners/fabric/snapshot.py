# SPDX-License-Identifier: BSD-2-Clause
"""A booted guest, saved once and cloned from then on, which spares each run the boot.

The guest is saved when it says `ready`: its modules are loaded, its root is not mounted yet (a
mounted 9p cannot be saved), it has no address. Its RAM is a file that a clone maps privately, so
a clone copies only the pages that it writes.
"""

import asyncio
import hashlib
import json
import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from runners.fabric import cache, qemu
from runners.fabric.accelerator import processor
from runners.fabric.base import FabricError, Progress
from runners.fabric.control import Control
from runners.fabric.image import Image

if TYPE_CHECKING:
    from qemu.qmp import EventListener

KIND = "snapshot"
SAVE_TIMEOUT = 60.0

# What is saved then holds all but the RAM.
CAPABILITIES = [
    {"capability": "x-ignore-shared", "state": True},
    {"capability": "events", "state": True},
]


class Snapshot:
    """A saved guest in the cache."""

    def __init__(self, directory: Path, machine: qemu.Machine, image: Image) -> None:
        self._directory = directory
        self._machine = machine
        self._image = image

    def clone(self, links: Sequence[socket.socket], shared: Sequence[Path]) -> qemu.Qemu:
        """Start a guest that continues where the saved one stopped: it obeys its control port."""
        with (self._directory / "state").open("rb") as state:
            guest = qemu.start(
                self._machine,
                self._image,
                links,
                qemu.Memory(self._directory / "ram", shared=False),
                extra=("-incoming", "defer"),
                inherited=(state.fileno(),),
                shared=shared,
            )
            # No one waits for the answers: a clone works when its guest says so.
            commands = (
                _command("qmp_capabilities"),
                _command("migrate-set-capabilities", capabilities=CAPABILITIES),
                _command("migrate-incoming", uri=f"fd:{state.fileno()}"),
            )
        guest.ports[qemu.MONITOR].sendall("".join(commands).encode())
        return guest

    def discard(self) -> None:
        """Have the next run make a new one."""
        cache.discard(KIND, self._directory.name)


def snapshot(machine: qemu.Machine, image: Image, progress: Progress) -> Snapshot:
    """The snapshot of such a machine; made when there is none, or when it is damaged."""
    key = cache.digest(
        image.key,
        qemu.identity(),
        processor(),
        *qemu.machine_arguments(machine),
    )

    def make(directory: Path) -> None:
        progress("saving a booted guest to clone from (once)")
        _save(directory, machine, image)

    directory = cache.entry(KIND, key, make)
    if not is_whole(directory):
        progress("the saved guest is damaged; saving another")
        cache.discard(KIND, key)
        directory = cache.entry(KIND, key, make)
    return Snapshot(directory, machine, image)


def _command(name: str, **arguments: object) -> str:
    return json.dumps({"execute": name, "arguments": arguments})


def _save(directory: Path, machine: qemu.Machine, image: Image) -> None:
    ram = directory / "ram"
    cache.require_space(directory, machine.memory_mib << 20)
    guest = qemu.start(machine, image, memory=qemu.Memory(ram, shared=True))
    try:
        Control(guest.ports["control"]).expect("ready", SAVE_TIMEOUT)
        with (directory / "state").open("wb") as state:
            asyncio.run(_migrate(guest.ports[qemu.MONITOR], state))
            os.fsync(state.fileno())
    except FabricError as error:
        raise FabricError(f"cannot save a booted guest: {error}{guest.last_words()}") from None
    finally:
        guest.close()
    with ram.open("rb") as handle:
        os.fsync(handle.fileno())
    seal(directory)


async def _migrate(monitor: socket.socket, state: IO[bytes]) -> None:
    # Only saving needs this library, and a run that finds its snapshot starts faster without it.
    from qemu.qmp import QMPClient, QMPError

    client = QMPClient()
    try:
        async with asyncio.timeout(SAVE_TIMEOUT):
            await client.connect(monitor)
            await client.execute("migrate-set-capabilities", {"capabilities": CAPABILITIES})
            client.send_fd_scm(state.fileno())
            await client.execute("getfd", {"fdname": "state"})
            with client.listener("MIGRATION") as steps:
                await client.execute("migrate", {"uri": "fd:state"})
                await _completion(steps)
    except (QMPError, TimeoutError) as error:
        raise FabricError(f"QEMU did not save it: {error or 'no answer'}") from None
    finally:
        await client.disconnect()


async def _completion(steps: "EventListener") -> None:
    async for step in steps:
        if step["data"] == {"status": "completed"}:
            return
        if step["data"] == {"status": "failed"}:
            raise FabricError("QEMU's migration to a file failed")


def seal(directory: Path) -> None:
    """Write down what a whole snapshot looks like: the last step of saving one."""
    (directory / "whole.json").write_text(json.dumps(_fingerprint(directory)))


def is_whole(directory: Path) -> bool:
    """Whether a snapshot is as it was when it was sealed."""
    try:
        sealed: object = json.loads((directory / "whole.json").read_text())
        return sealed == _fingerprint(directory)
    except (OSError, ValueError):
        return False


def _fingerprint(directory: Path) -> dict[str, object]:
    """The RAM is too large to be read each time: its date must do."""
    ram = (directory / "ram").stat()
    state = (directory / "state").read_bytes()
    return {
        "ram_size": ram.st_size,
        "ram_written": ram.st_mtime_ns,
        "state": hashlib.sha256(state).hexdigest(),
    }
