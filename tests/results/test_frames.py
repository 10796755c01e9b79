# SPDX-License-Identifier: BSD-2-Clause
"""Lines in frames: what can be read of a file that was torn, or that was forged."""

import io
import random

import pytest
import zstandard

from results.runlog.frames import END, FrameError, Line, Writer, is_last, lines

CHANCE = random.Random(7)
NOISE = [CHANCE.randbytes(20 * (n % 9)).hex().encode() for n in range(40)]
LINES = [b'{"n":%d,"x":"%s"}\n' % each for each in enumerate(NOISE)]
LONG = b"x" * 400_000 + b"\n"


def read(data: bytes) -> list[Line | None]:
    """All that there is."""
    return list(lines(io.BytesIO(data)))


def raw(found: list[Line | None]) -> list[bytes]:
    """The lines that are whole."""
    return [line.raw for line in found if line is not None]


def test_lines_come_back() -> None:
    writer = Writer()
    data = b"".join(writer.lines([line]) for line in [*LINES, LONG, *LINES])
    assert raw(read(data)) == raw(read(data + writer.end())) == [*LINES, LONG, *LINES]
    assert len(data) < len(b"".join(LINES)) + 60_000


def test_wherever_it_is_torn_a_line_is_lost_at_most() -> None:
    ends = [0]
    writer = Writer()
    data = b""
    for line in LINES:
        data += writer.lines([line])
        ends.append(len(data))
    for cut in range(0, len(data), 17):
        whole = sum(end <= cut for end in ends) - 1
        found = read(data[:cut])
        assert raw(found)[:whole] == LINES[:whole]
        assert len(raw(found)) - whole in (0, 1)
        zeros = data[:cut] + bytes(4096)
        after = read(zeros)
        assert raw(after)[:whole] == LINES[:whole]
        # What a torn block and zeros may look like is reported as the end.
        spoilt = [line for line in after[whole:] if line and line.raw not in LINES]
        assert all(is_last(io.BytesIO(zeros), line) for line in spoilt)


def test_a_write_that_was_undone() -> None:
    writer = Writer()
    data = writer.lines(LINES[:5])
    writer.lines(LINES[20:30])
    writer.abandon()
    data += writer.lines(LINES[5:])
    assert raw(read(data + writer.end())) == LINES


def test_a_file_that_goes_on_after_a_kill() -> None:
    data = Writer().lines(LINES[:5])
    writer = Writer(open_=True)
    data += writer.lines(LINES[5:]) + writer.end()
    assert raw(read(data)) == LINES
    plain = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True)
    assert plain.read() == b"".join(LINES)


def test_what_another_program_packed() -> None:
    data = zstandard.ZstdCompressor(write_checksum=True).compress(b"".join(LINES))
    assert raw(read(data)) == LINES


WHOLE = Writer().lines(LINES)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"{}\n", "no frame where one should begin"),
        (b"\x28\xb5\0\0" + WHOLE, "no frame where one should begin"),
        (bytes(100) + WHOLE, "no frame where one should begin"),
        (WHOLE + END + b"junk", "no frame where one should begin"),
        (WHOLE[:-300] + bytes(200) + WHOLE, "it cannot be unpacked|a block of nothing|no frame"),
        (b"\x50\x2a\x4d\x18\x04\0\0\0junk" + WHOLE, "no frame where one should begin"),
        (zstandard.ZstdCompressor().compress(bytes(17 << 20)), "a line of more than"),
    ],
)
def test_what_no_crash_makes(data: bytes, why: str) -> None:
    with pytest.raises(FrameError, match=why):
        read(data)


def test_a_window_without_bounds() -> None:
    wide = zstandard.ZstdCompressionParameters(window_log=27, write_content_size=False)
    packer = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    data = packer.compress(b"{}\n" * 100_000) + packer.flush()
    with pytest.raises(FrameError, match="cannot be unpacked"):
        read(data + WHOLE)
