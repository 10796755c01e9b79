# SPDX-License-Identifier: BSD-2-Clause
"""Files that a person names, read to a bound: a device has no end, a pipe perhaps no writer."""

import errno
import os
import stat
from pathlib import Path

# No file that a person writes is larger, and no library.
TEXT_MOST = 16 << 20
LIBRARY_MOST = 1 << 30


def read_bytes(path: Path, most: int = TEXT_MOST) -> bytes:
    """What is in a regular file of at most `most` bytes. Raises OSError; its strerror says why."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        # Room is taken for as much as is asked for, so no more is than there may be.
        data = b"" if size > most else file.read(size + 1)
    if size > most or len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return data
