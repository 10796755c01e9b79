# SPDX-License-Identifier: BSD-2-Clause
"""Work that a copy of the process shares."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from reports.html.fork_helper import in_halves

_PARTS = 20


@pytest.fixture(autouse=True)
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is one, nothing is shared."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})


@pytest.fixture(autouse=True)
def no_copy_is_left(two_processors: None) -> Iterator[None]:
    """What this process had started before it has after, and nothing else."""
    before = children()
    yield
    assert children() == before


def children() -> set[str]:
    """The processes that this one has not waited for yet."""
    found: set[str] = set()
    for task in Path(f"/proc/{os.getpid()}/task").iterdir():
        # A thread may end meanwhile.
        with suppress(FileNotFoundError):
            found.update((task / "children").read_text().split())
    return found


def test_the_parts_come_in_their_order_from_two_processes(tmp_path: Path) -> None:
    def work(number: int) -> str:
        (tmp_path / str(os.getpid())).touch()
        return f"part {number}"

    assert list(in_halves(work, _PARTS)) == [f"part {number}" for number in range(_PARTS)]
    assert len(list(tmp_path.iterdir())) == 2


def test_what_the_copy_fails_at_is_done_here() -> None:
    here = os.getpid()

    def work(number: int) -> str:
        if os.getpid() != here and number > 2:
            os._exit(3)
        return f"part {number}"

    assert list(in_halves(work, _PARTS)) == [f"part {number}" for number in range(_PARTS)]


def test_what_the_copy_hangs_in_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    here = os.getpid()
    monkeypatch.setattr("reports.html.fork_helper._PATIENCE", 0.2)

    def work(number: int) -> str:
        while os.getpid() != here:
            os.sched_yield()
        return f"part {number}"

    assert list(in_halves(work, _PARTS)) == [f"part {number}" for number in range(_PARTS)]


def test_who_is_interrupted_leaves_no_copy() -> None:
    here = os.getpid()

    def work(number: int) -> str:
        if os.getpid() == here:
            raise KeyboardInterrupt
        while True:
            os.sched_yield()

    with pytest.raises(KeyboardInterrupt):
        list(in_halves(work, _PARTS))


def test_an_error_of_a_part_is_told_here() -> None:
    def work(number: int) -> str:
        return str(1 // (3 - number))

    with pytest.raises(ZeroDivisionError):
        list(in_halves(work, _PARTS))
