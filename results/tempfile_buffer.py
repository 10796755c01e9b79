# SPDX-License-Identifier: BSD-2-Clause
"""Files without a name, for data that is too large for memory. They end with their process."""

import os
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path


class Spill:
    """Bytes on the disk of a folder, or on that of temporary files; in memory where there is no
    folder, or neither disk takes them.
    """

    __slots__ = ("__weakref__", "_size", "file")

    def __init__(self, folder: Path | None) -> None:
        self.file = _unnamed(folder)
        self._size = 0
        weakref.finalize(self, os.close, self.file)

    def write(self, data: bytes) -> int:
        """Add to the end: the place where it stands now. Raises OSError where there is no room."""
        at = done = self._size
        while done < at + len(data):
            done += os.pwrite(self.file, data[done - at :], done)
        self._size = done
        return at

    def read(self, at: int, size: int) -> bytes:
        """So many bytes from a place on."""
        return os.pread(self.file, size, at)


def _unnamed(folder: Path | None) -> int:
    for place in (folder, Path(tempfile.gettempdir())) if folder else ():
        with suppress(OSError), tempfile.TemporaryFile(dir=place) as file:
            return os.dup(file.fileno())
    return os.memfd_create("spill", os.MFD_CLOEXEC)
