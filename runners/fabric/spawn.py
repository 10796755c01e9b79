# SPDX-License-Identifier: BSD-2-Clause
"""Processes that end when this one does, however it ends."""

import os
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

# The kernel sends the parent-death signal when the *thread* that started a process ends, so all
# are started from one thread that lives as long as this process.
_starter = ThreadPoolExecutor(1, "starter")

# Who dies before the signal is set sends none: its child has another parent then, and ends.
_UNLESS_ORPHANED = 'test "$PPID" = "$0" && exec "$@"'


def spawn(argv: Sequence[str], death: str = "KILL", **options: Any) -> subprocess.Popen[bytes]:
    """Start `argv` in a session of its own, with subprocess.Popen's `options`; it gets the signal
    `death` when this process dies. Raises OSError. A program that is missing ends with status 127.
    """
    leashed = ["sh", "-c", _UNLESS_ORPHANED, str(os.getpid())]
    command = ["setpriv", "--pdeathsig", death, "--", *leashed, *argv]

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, start_new_session=True, **options)

    return _starter.submit(start).result()
