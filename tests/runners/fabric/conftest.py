# SPDX-License-Identifier: BSD-2-Clause
"""Guests for the tests, and a cache of one's own for those that break it."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from runners.fabric.accelerator import accelerator
from runners.fabric.cache import cache_root
from runners.fabric.guest_host import GuestHost
from runners.fabric.image import image
from runners.fabric.vm import VmFabric


@dataclass
class Said:
    """What a fabric told the user, line by line."""

    lines: list[str] = field(default_factory=list)

    def __call__(self, line: str) -> None:
        self.lines.append(line)

    def __contains__(self, text: str) -> bool:
        return any(text in line for line in self.lines)


@pytest.fixture
def said() -> Said:
    return Said()


@pytest.fixture
def host() -> Iterator[GuestHost]:
    with VmFabric() as fabric:
        yield fabric.hosts[0]


@pytest.fixture
def no_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with everything that guests need but a snapshot; the path where that will lie."""
    accelerator(image(print), print)
    own = tmp_path / "cache"
    own.mkdir()
    for kind in ("kernel", "image", "accelerator"):
        if (cache_root() / kind).exists():
            (own / kind).symlink_to(cache_root() / kind)
    monkeypatch.setenv("UDAPL_CTS_CACHE", str(own))
    (own / "snapshot").mkdir()
    return own / "snapshot"


@pytest.fixture
def own_snapshot(no_snapshot: Path) -> Path:
    """A copy of the snapshot, in a cache of its own."""
    with pytest.MonkeyPatch.context() as shared:
        shared.delenv("UDAPL_CTS_CACHE")
        with VmFabric():
            pass
        saved = max((cache_root() / "snapshot").iterdir(), key=lambda path: path.stat().st_mtime)
    subprocess.run(["cp", "-a", "--sparse=always", "-t", no_snapshot, saved], check=True)
    return no_snapshot / saved.name
