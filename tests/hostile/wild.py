# SPDX-License-Identifier: BSD-2-Clause
"""Wild input: what a seed becomes when bits, pieces, numbers and nesting of it are changed."""

import random
from collections.abc import Callable, Sequence

PIECES = (
    *(b"\0", b"\n", b"\r\n", b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", "\u202e\u2028".encode()),
    *(b'"', b"'", b"\\", b"#", b",", b"=", b"{", b"}", b"[", b"]", b" ", b"\t", b"%s", b"../"),
    *(b"9" * 1000, b"9" * 5000, b"-1", b"0", b"1e999", b"NaN", b"true", b"null", b'""', b"[]"),
    *(b"[" * 2000, b"{" * 500, b"(" * 3000, b"not " * 2000, b"\\u0000", b"A" * 70_000),
    *(b"u1.2", b"PASS", b"FAIL", b'"type":"verdict"', b"[[host]]\n", b"[[waiver]]\n", b"--out"),
)


def wild(rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """One of `seeds` with one to four changes; seldom nothing but noise."""
    if rng.random() < 0.05:
        return rng.randbytes(rng.randrange(200))
    data = rng.choice(seeds)
    for _ in range(rng.randint(1, 4)):
        data = rng.choice(CHANGES)(rng, data)
    return data


def _place(rng: random.Random, data: bytes) -> int:
    return rng.randrange(len(data) + 1)


def _flip(rng: random.Random, data: bytes) -> bytes:
    at = _place(rng, data)
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def _insert(rng: random.Random, data: bytes) -> bytes:
    at = _place(rng, data)
    return data[:at] + rng.choice(PIECES) + data[at:]


def _replace(rng: random.Random, data: bytes) -> bytes:
    """A word, or a number, becomes another one."""
    words = data.split(b" ")
    words[rng.randrange(len(words))] = rng.choice(PIECES)
    return b" ".join(words)


def _remove(rng: random.Random, data: bytes) -> bytes:
    at = _place(rng, data)
    return data[:at] + data[at + rng.randrange(1, 40) :]


def _cut(rng: random.Random, data: bytes) -> bytes:
    return data[: _place(rng, data)]


def _repeat(rng: random.Random, data: bytes) -> bytes:
    at = _place(rng, data)
    piece = data[at : at + rng.randrange(1, 200)]
    return data[:at] + piece * rng.choice((2, 3, 200)) + data[at:]


def _lines(rng: random.Random, data: bytes) -> bytes:
    """A line goes, comes twice, or changes its place."""
    lines = data.splitlines(keepends=True) or [b""]
    line = lines[rng.randrange(len(lines))]
    if rng.random() < 0.5:
        lines.remove(line)
    lines.insert(rng.randrange(len(lines) + 1), line if rng.random() < 0.7 else b"")
    return b"".join(lines)


CHANGES: Sequence[Callable[[random.Random, bytes], bytes]] = (
    *(_flip, _flip, _insert, _insert, _replace, _remove, _cut, _repeat, _lines),
)
