# SPDX-License-Identifier: BSD-2-Clause
"""How long guests take from nothing to an agent that has opened rxe0.

Run it as `.venv/bin/python -m benchmarks.fabric_boot` on a machine that does nothing else.
"""

import os
import platform
import subprocess
import time
from pathlib import Path
from statistics import median

from runners.fabric import qemu
from runners.fabric.accelerator import accelerator
from runners.fabric.image import image
from runners.fabric.vm import VmFabric

REPEATS = 5
# Its first byte comes after it has opened the device.
AGENT = ("ibv_devinfo", "-d", "rxe0")


def describe_machine() -> str:
    """One line on what the figures were measured on."""
    processors = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    version = subprocess.run(
        [qemu.PROGRAM, "--version"], capture_output=True, text=True, check=True
    )
    return (
        f"{len(processors)} x {processors[0]}, Linux {platform.release()}, "
        f"{version.stdout.splitlines()[0]}, guests on {accelerator(image(print), print)}, "
        f"load {os.getloadavg()[0]:.1f}"
    )


def first_byte(hosts: int, cloned: bool) -> float:
    """Seconds from nothing to the first byte of the agent that is the last to speak."""
    start = time.perf_counter()
    with VmFabric(hosts, cloned=cloned) as fabric:
        streams = [host.start_agent(AGENT) for host in fabric.hosts]
        for stream in streams:
            if not stream.recv(1):
                raise SystemExit("an agent ended without a word")
        elapsed = time.perf_counter() - start
        for stream in streams:
            stream.close()
    return elapsed


def main() -> None:
    """Print the median of each figure."""
    print(describe_machine())
    with VmFabric(progress=print):
        pass  # whatever is made only once is made now
    for hosts, cloned in ((1, False), (1, True), (2, True), (3, True)):
        times = sorted(first_byte(hosts, cloned) for _ in range(REPEATS))
        print(
            f"{hosts} host{'s' if hosts > 1 else ' '} {'cloned' if cloned else 'booted'}: "
            f"{median(times):5.2f} s  ({times[0]:.2f} to {times[-1]:.2f})"
        )


if __name__ == "__main__":
    main()
