# SPDX-License-Identifier: BSD-2-Clause
"""Standard output and standard error where they may be closed, or on a full disk.

What cannot be told to anybody is no reason to stop: a run's results are in its folder. The first
failure is remembered, for the command to end with a status that says so.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO


class Screen:
    """A text stream that never fails: what it cannot write is lost, and `error` says why."""

    def __init__(self, stream: TextIO) -> None:
        if isinstance(stream, io.TextIOWrapper):
            # Who reads a run through a pipe sees each line when it is said.
            stream.reconfigure(line_buffering=True)
        self._stream = stream
        self.error: OSError | None = None

    def write(self, text: str) -> int:
        """As of a text stream."""
        try:
            return self._stream.write(text)
        except UnicodeEncodeError:
            encoding = self._stream.encoding
            told = text.encode(encoding, "backslashreplace").decode(encoding)
            return self.write(told)
        except OSError as error:
            self._lose(error)
        return len(text)

    @property
    def buffer(self) -> "_Bytes":
        """As of a text stream."""
        return _Bytes(self)

    def write_bytes(self, data: bytes) -> None:
        """Write below the text, as it is."""
        try:
            self._stream.buffer.write(data)
        except OSError as error:
            self._lose(error)

    def flush(self) -> None:
        """As of a text stream."""
        try:
            self._stream.flush()
        except OSError as error:
            self._lose(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _lose(self, error: OSError) -> None:
        self.error = self.error or error
        # What is in the buffer would fail again, with each flush and at the interpreter's end.
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


class _Bytes:
    """What `buffer` is of a stream that never fails."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def write(self, data: bytes) -> int:
        """As of a binary stream."""
        self._screen.write_bytes(data)
        return len(data)


@contextmanager
def screens() -> Iterator[Screen]:
    """Have standard output and standard error never fail in this context; the former.

    A stream that this process was started without is the null device.
    """
    former = sys.stdout, sys.stderr
    out, err = (Screen(stream or open(os.devnull, "w", encoding="utf-8")) for stream in former)
    sys.stdout, sys.stderr = out, err
    try:
        yield out
    finally:
        out.flush()
        err.flush()
        sys.stdout, sys.stderr = former
