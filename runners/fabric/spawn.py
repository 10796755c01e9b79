# SPDX-License-Identifier: BSD-2-Clause
"""Processes that end when this one does, however it ends."""

import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

# The kernel sends the parent-death signal when the *thread* that started a process ends, so all
# are started from one thread that lives as long as this process.
_starter = ThreadPoolExecutor(1, "starter")


def spawn(argv: Sequence[str], death: str = "KILL", **options: Any) -> subprocess.Popen[bytes]:
    """Start `argv` in a session of its own, with subprocess.Popen's `options`; it gets the signal
    `death` when this process dies. Raises OSError. A program that is missing ends with status 127.
    """
    command = ["setpriv", "--pdeathsig", death, "--", *argv]

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, start_new_session=True, **options)

    return _starter.submit(start).result()
