# SPDX-License-Identifier: BSD-2-Clause
"""How much of this machine this process may have: a container or a batch job has not all of it."""

import os
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
MIB = 1 << 20


def processors() -> int:
    """The processors that this process may keep busy: by affinity and by cgroups, at least 1."""
    count = float(len(os.sched_getaffinity(0)))
    for group in _groups():
        quota, _, period = _read(group / "cpu.max").partition(" ")
        if quota.isdecimal() and period.isdecimal():
            count = min(count, int(quota) / int(period))
    return max(1, int(count))


def free_memory_mib() -> int:
    """The memory that can be had without anybody being swapped out or killed for it."""
    fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    free = int(fields["MemAvailable"].split()[0]) // 1024
    for group in _groups():
        most, used = _read(group / "memory.max"), _read(group / "memory.current")
        if most.isdecimal() and used.isdecimal():
            free = min(free, (int(most) - int(used)) // MIB)
    return max(0, free)


def _groups() -> list[Path]:
    """The cgroup of this process and those above it, where there is the unified hierarchy."""
    for line in _read(Path("/proc/self/cgroup")).splitlines():
        number, _, path = line.partition("::")
        if number == "0":
            own = GROUPS / path.lstrip("/")
            return [own, *(group for group in own.parents if group.is_relative_to(GROUPS))]
    return []


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
