# SPDX-License-Identifier: BSD-2-Clause
"""The saved guest: made by the first run that asks; a damaged one costs time and never the run."""

import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from runners.fabric.snapshot import is_whole, seal
from runners.fabric.vm import VmFabric
from tests.runners.fabric.conftest import Said
from tests.runners.fabric.streams import read_to_end


def works(said: Said) -> bool:
    with VmFabric(progress=said) as fabric:
        return read_to_end(fabric.hosts[0].start_agent(["echo", "alive"])) == b"alive\n"


def overwrite(path: Path, offset: int) -> None:
    with path.open("r+b") as handle:
        handle.seek(offset)
        handle.write(b"damaged" * 1000)


def truncate(path: Path) -> None:
    with path.open("r+b") as handle:
        handle.truncate(1 << 20)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "state overwritten": lambda saved: overwrite(saved / "state", 5000),
    "state missing": lambda saved: (saved / "state").unlink(),
    "ram truncated": lambda saved: truncate(saved / "ram"),
    "ram overwritten": lambda saved: overwrite(saved / "ram", 1 << 24),
    "unfinished": lambda saved: (saved / "whole.json").unlink(),
    "garbled": lambda saved: overwrite(saved / "whole.json", 0),
}


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("saved")
    (directory / "ram").write_bytes(bytes(1 << 21))
    (directory / "state").write_bytes(bytes(10000))
    seal(directory)
    return directory


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_seen(pristine: Path, tmp_path: Path, damage: str) -> None:
    saved = tmp_path / "saved"
    shutil.copytree(pristine, saved)
    assert is_whole(saved)

    DAMAGES[damage](saved)

    assert not is_whole(saved)


def test_a_damaged_snapshot_is_made_again(own_snapshot: Path, said: Said) -> None:
    truncate(own_snapshot / "ram")

    assert works(said)
    assert "the saved guest is damaged" in said

    said.lines.clear()
    assert works(said)
    assert said.lines == []


def test_a_snapshot_that_cannot_be_cloned_costs_a_boot(own_snapshot: Path, said: Said) -> None:
    overwrite(own_snapshot / "state", 5000)
    seal(own_snapshot)

    assert works(said)

    assert "the saved guest does not work; booting without it" in said
    assert not own_snapshot.exists()


def test_without_room_for_a_snapshot_guests_boot(
    no_snapshot: Path, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(no_snapshot.parent)._replace(free=100 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)

    assert works(said)

    assert "has 100 MiB of free space and 512 are needed" in said
    assert list(no_snapshot.iterdir()) == []


def test_fabrics_that_start_at_once_share_one_snapshot(no_snapshot: Path) -> None:
    reports = [Said() for _ in range(3)]
    with ThreadPoolExecutor(len(reports)) as threads:
        assert all(threads.map(works, reports))

    assert sum("saving a booted guest" in said for said in reports) == 1
    assert len(list(no_snapshot.iterdir())) == 1


def test_clones_differ_in_what_must_be_unique() -> None:
    script = "cat /sys/class/net/eth0/address; head -c 16 /dev/urandom | od -An -tx1; hostname"
    with VmFabric(2) as fabric:
        streams = [host.start_agent(["sh", "-c", script]) for host in fabric.hosts]
        first, second = (read_to_end(stream).decode().splitlines() for stream in streams)

    assert all(one != other for one, other in zip(first, second, strict=True))


def test_a_clone_knows_the_time() -> None:
    with VmFabric() as fabric:
        before = time.time()
        stream = fabric.hosts[0].start_agent(["date", "+%s"])
        told = int(read_to_end(stream))

        assert before - 5 < told < time.time() + 5
