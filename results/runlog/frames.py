# SPDX-License-Identifier: BSD-2-Clause
"""Lines in zstd frames: written so that each is on the disk by itself, read without a whole file.

A frame has FRAME lines, each of which ends a block. So what was written can be read, to the last
whole line, whatever became of the writer.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import zstandard

EVENTS = "events.jsonl.zst"

FRAME = 16
# No honest line is longer: a case has 512 calls and checks, and 16 KiB of output.
LONGEST = 16 << 20
_LEVEL = 3
_WINDOW = 8 << 20
# An empty last block: it ends a frame that is not continued.
END = b"\x01\x00\x00"
_MAGIC = 0xFD2FB528.to_bytes(4, "little")
_HEADER_MOST = 18
_CHECKSUM_FLAG = 4
_RAW, _RLE, _COMPRESSED = range(3)


class FrameError(Exception):
    """What is in the file is no line; the message says why, in a clause."""


class Writer:
    """Makes the bytes of lines, for a file that ends in the middle of a frame if `open_`."""

    def __init__(self, open_: bool = False) -> None:
        # One for all frames: of threads that take turns, each would keep the memory of its own.
        self._packer = zstandard.ZstdCompressor(level=_LEVEL, write_content_size=False)
        self._frame: zstandard.ZstdCompressionObj | None = None
        self._count = 0
        self._open = open_

    def lines(self, lines: list[bytes]) -> bytes:
        """The bytes that add `lines` to the file: abandon() where they did not get there."""
        self._was_open = self._open
        return b"".join(map(self._line, lines))

    def abandon(self) -> None:
        """The last lines are not in the file, and the frame that they would have ended in ends."""
        self._frame, self._open = None, self._was_open

    def end(self) -> bytes:
        """The bytes that end the file."""
        ended = END if self._open else b""
        self._frame, self._open = None, False
        return ended

    def _line(self, line: bytes) -> bytes:
        before = b""
        if self._frame is None:
            before = self.end()
            self._frame = self._packer.compressobj()
            self._count, self._open = 0, True
        data = self._frame.compress(line) + self._frame.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        self._count += 1
        return before + data + (self.end() if self._count == FRAME else b"")


@dataclass(frozen=True, slots=True)
class Line:
    """A line with its newline, if it has one; where its last block ends, and whether its frame goes
    on there.
    """

    raw: bytes
    end: int
    open: bool


def lines(file: BinaryIO) -> Iterator[Line | None]:
    """The lines of a file from where it stands, of whatever size, a frame's block in memory at a
    time; None for a last one that was cut off. Raises FrameError for what can be no crash's work.
    """
    while (at := file.tell()) >= 0:
        head = file.read(_HEADER_MOST)
        if not head:
            return
        there = head.rstrip(b"\0")
        if not there.startswith(_MAGIC):
            if not _MAGIC.startswith(there) or not _ends(file, at + len(there)):
                raise FrameError("there is no frame where one should begin")
            yield None
            return
        try:
            size = zstandard.frame_header_size(head)
        except zstandard.ZstdError as error:
            if not _ends(file, at + len(head)):
                raise FrameError(f"the frame has no header ({error})") from None
            size = len(head) + 1
        if size > len(head):
            yield None
            return
        file.seek(at + size)
        yield from _frame(file, head[:size])


def _frame(file: BinaryIO, head: bytes) -> Iterator[Line | None]:
    frame = zstandard.ZstdDecompressor(max_window_size=_WINDOW).decompressobj()
    _feed(frame, head)
    # The parts of a line of many blocks.
    kept: list[bytes] = []
    size_kept, last = 0, False
    while not last:
        header = file.read(3)
        if header == b"" and not kept:
            return
        last, size, kind = _block(header.ljust(3, b"\0"))
        body = file.read(1 if kind == _RLE else size)
        if last and head[len(_MAGIC)] & _CHECKSUM_FLAG:
            body += file.read(4)
        end = file.tell()
        whole = len(header) == 3 and len(body) >= (1 if kind == _RLE else size)
        # A power cut may leave zeros where the end was to be, which read as blocks of nothing.
        if not whole or header == b"\0\0\0":
            if not _ends(file, end):
                raise FrameError("a block of nothing")
            yield None
            return
        try:
            unpacked = _feed(frame, header + body)
        except FrameError:
            if not _ends(file, end):
                raise
            yield None
            return
        *ended, rest = unpacked.split(b"\n")
        for line in ended:
            yield Line(b"".join([*kept, line, b"\n"]), end, not last)
            kept, size_kept = [], 0
        kept += [rest] if rest else []
        size_kept += len(rest)
        if size_kept > LONGEST:
            raise FrameError(f"a line of more than {LONGEST} bytes")
    if kept:
        yield Line(b"".join(kept), file.tell(), False)


def _block(header: bytes) -> tuple[bool, int, int]:
    """Whether a block is its frame's last, its size, its kind."""
    word = int.from_bytes(header, "little")
    return bool(word & 1), word >> 3, word >> 1 & 3


def _feed(frame: "zstandard.ZstdDecompressionObj", data: bytes) -> bytes:
    try:
        return frame.decompress(data)
    except zstandard.ZstdError as error:
        raise FrameError(f"it cannot be unpacked ({error})") from None


def _ends(file: BinaryIO, at: int) -> bool:
    """Whether nothing, or nothing but the zeros of a power cut, comes from there on."""
    file.seek(at)
    while rest := file.read(1 << 16):
        if rest.strip(b"\0"):
            return False
    return True


def is_last(file: BinaryIO, line: Line) -> bool:
    """Whether nothing but zeros comes after the block of a line: a crash may have spoilt it."""
    at = file.tell()
    try:
        return _ends(file, line.end)
    finally:
        file.seek(at)
