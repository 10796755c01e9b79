# SPDX-License-Identifier: BSD-2-Clause
"""Whether guests run on KVM or on TCG, QEMU's own emulation of a processor.

A machine can have /dev/kvm and yet no working KVM: QEMU fails at once, or hangs. So the only proof
is a guest that has booted.
"""

import os
from pathlib import Path

from runners.fabric import cache, qemu
from runners.fabric.base import FabricError, Progress
from runners.fabric.control import Control
from runners.fabric.image import Image

DEVICE = Path("/dev/kvm")
PROBE_TIMEOUT = 10.0


def accelerator(image: Image, progress: Progress) -> str:
    """`kvm` where a guest has booted with it, else `tcg`. Tried once for each host and QEMU."""
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        return "tcg"
    key = cache.digest(qemu.identity(), processor(), os.uname().release)

    def make(directory: Path) -> None:
        progress("trying whether KVM works here (once)")
        (directory / "accelerator").write_text("kvm" if _boots(image) else "tcg")

    return (cache.entry("accelerator", key, make) / "accelerator").read_text()


def processor() -> str:
    """What of the host's processor matters to a guest that runs on it."""
    wanted = ("model name", "flags", "microcode")
    lines = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
    return "\n".join(line for line in lines if line.startswith(wanted))


def _boots(image: Image) -> bool:
    guest = qemu.start(qemu.Machine("kvm"), image)
    try:
        Control(guest.ports["control"]).expect("ready", PROBE_TIMEOUT)
    except FabricError:
        return False
    finally:
        guest.close()
    return True
