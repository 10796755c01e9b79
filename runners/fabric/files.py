# SPDX-License-Identifier: BSD-2-Clause
"""The subject's files, as they are read before any agent runs: here, or on another machine."""

import subprocess
from pathlib import Path

from runners.bounded import LIBRARY_MOST, read_bytes

# Where a copy of a libdat lies, beneath the folder that holds it.
REGISTRY = "registry"


class Files:
    """This machine's files."""

    # The prefix of a path in messages.
    where = ""

    def read(self, path: Path) -> bytes:
        """What `path` holds; raises OSError."""
        return read_bytes(path, LIBRARY_MOST)

    def libraries_beside(self, path: Path) -> list[str]:
        """The names of the shared objects in the folder of `path`."""
        try:
            return [entry.name for entry in path.parent.iterdir() if ".so" in entry.name]
        except OSError:
            return []

    def loader_cache(self) -> str:
        """The dynamic loader's cache, as `ldconfig -p` prints it."""
        command = ["/sbin/ldconfig", "-p"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
