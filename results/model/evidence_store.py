# SPDX-License-Identifier: BSD-2-Clause
"""The evidence of a run's attempts on the disk, from where each is read when it is shown."""

import marshal
from collections import deque
from dataclasses import astuple
from pathlib import Path
from typing import Any

import zstandard

from results.model.evidence import Call, Check, Crash, Evidence, Stack
from results.tempfile_buffer import Spill

# Level 1 takes twice as long for a quarter less.
_LEVEL = -3
# Who tells of an attempt asks for its evidence again and again, and for that of another beside it.
_RECENT = 4
_PACKER = zstandard.ZstdCompressor(level=_LEVEL)


def pack(evidence: Evidence) -> bytes:
    """Evidence in bytes, in any process."""
    return _PACKER.compress(marshal.dumps(_plain(evidence)))


class Store:
    """Where evidence is put when a run is read."""

    def __init__(self, folder: Path) -> None:
        self._spill = Spill(folder)
        self._unpacker = zstandard.ZstdDecompressor()
        self._recent: deque[tuple[_Stored, Evidence]] = deque(maxlen=_RECENT)

    def keep(self, evidence: Evidence) -> "_Stored":
        """What gives it back."""
        return self.put(pack(evidence))

    def put(self, data: bytes) -> "_Stored":
        """The same, of what pack() has made of it."""
        try:
            return _Stored(self, self._spill.write(data), len(data))
        except OSError:
            # Who has no room for this may still read what a run came to.
            return _Stored(self, data, len(data))

    def fetch(self, stored: "_Stored") -> Evidence:
        """What was kept there."""
        for known, evidence in self._recent:
            if known is stored:
                return evidence
        at = stored.at
        data = at if isinstance(at, bytes) else self._spill.read(at, stored.size)
        evidence = _evidence(*marshal.loads(self._unpacker.decompress(data)))
        self._recent.append((stored, evidence))
        return evidence


class _Stored:
    """The evidence of an attempt, which is read when it is asked for."""

    __slots__ = ("_store", "at", "size")

    def __init__(self, store: Store, at: int | bytes, size: int) -> None:
        """It stands there, or is this."""
        self._store = store
        self.at = at
        self.size = size

    def __call__(self) -> Evidence:
        return self._store.fetch(self)


def _plain(evidence: Evidence) -> Any:
    """Nothing but tuples, texts and numbers."""
    checks, calls, records, output, crash, stacks = evidence
    return (
        tuple(map(tuple, checks)),
        tuple(map(tuple, calls)),
        records,
        output,
        astuple(crash) if crash else None,
        tuple(map(astuple, stacks)),
    )


def _evidence(checks, calls, records, output, crash, stacks) -> Evidence:  # type: ignore[no-untyped-def]
    return Evidence(
        tuple(map(Check._make, checks)),
        tuple(map(Call._make, calls)),
        records,
        output,
        Crash(*crash) if crash else None,
        tuple(Stack(*stack) for stack in stacks),
    )
