# SPDX-License-Identifier: BSD-2-Clause
"""Temporary folders that outlive no run: who is killed leaves his to the next one, who collects it.

A folder in use is locked by its process, so neither a process id that was given again nor another
container's is mistaken for the owner.
"""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "udapl-cts-run-"
# Younger ones may be about to be locked.
AGE = 60.0


@contextmanager
def scratch() -> Iterator[Path]:
    """An empty folder, which is gone after the context."""
    collect()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def collect() -> None:
    """Remove the folders of processes that are no more; others' are left alone."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            status = folder.lstat()
            if status.st_uid != os.getuid() or time.time() - status.st_mtime < AGE:
                continue
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(descriptor)
