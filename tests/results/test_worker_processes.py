# SPDX-License-Identifier: BSD-2-Clause
"""Work that copies of the process do, in order."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from results.worker_processes import in_order

_ITEMS = range(200)


@pytest.fixture(autouse=True)
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is one, no copy is made."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})


@pytest.fixture(autouse=True)
def no_copy_is_left(two_processors: None) -> Iterator[None]:
    """What this process had started before it has after, and nothing else."""
    before = _children()
    yield
    assert _children() == before


def _children() -> set[str]:
    """The processes that this one has not waited for yet."""
    found: set[str] = set()
    for task in Path(f"/proc/{os.getpid()}/task").iterdir():
        # A thread may end meanwhile.
        with suppress(FileNotFoundError):
            found.update((task / "children").read_text().split())
    return found


def _process(number: int) -> tuple[int, int]:
    return os.getpid(), 2 * number


def _doubled(number: int) -> int:
    return 2 * number


def _inverse(number: int) -> float:
    return 1 / (100 - number)


def test_results_keep_the_order_of_the_items() -> None:
    results = list(in_order(_process, _ITEMS))
    assert [doubled for _, doubled in results] == [2 * number for number in _ITEMS]
    assert os.getpid() not in {pid for pid, _ in results}


def test_the_work_of_copies_may_know_what_no_module_has() -> None:
    words = [str(number) for number in _ITEMS]
    assert list(in_order(lambda number: words[number], _ITEMS)) == words


def test_one_processor_does_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert {pid for pid, _ in in_order(_process, _ITEMS)} == {os.getpid()}


def test_little_is_done_here() -> None:
    assert {pid for pid, _ in in_order(_process, range(9), 10)} == {os.getpid()}
    assert {pid for pid, _ in in_order(_process, range(10), 10)} != {os.getpid()}


def test_nothing_is_made_of_nothing() -> None:
    assert list(in_order(_doubled, [])) == []
    assert list(in_order(_doubled, [], 1)) == []


def test_what_a_lost_copy_had_is_done_here() -> None:
    here = os.getpid()

    def work(number: int) -> int:
        if os.getpid() != here and number == 100:
            os._exit(3)
        return 2 * number

    assert list(in_order(work, _ITEMS)) == [2 * number for number in _ITEMS]


def test_what_a_copy_hangs_in_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    here = os.getpid()
    monkeypatch.setattr("results.worker_processes._PATIENCE", 0.2)

    def work(number: int) -> int:
        while os.getpid() != here and number == 100:
            os.sched_yield()
        return 2 * number

    assert list(in_order(work, _ITEMS)) == [2 * number for number in _ITEMS]


def test_an_error_is_raised_behind_the_results_before_it() -> None:
    results = in_order(_inverse, _ITEMS)
    assert next(results) == 1 / 100
    with pytest.raises(ZeroDivisionError):
        list(results)


def test_who_is_interrupted_leaves_no_copy() -> None:
    here = os.getpid()

    def hang(number: int) -> int:
        while os.getpid() != here:
            os.sched_yield()
        return number

    def items() -> Iterator[int]:
        yield from range(32)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(in_order(hang, items()))


def test_items_are_taken_as_they_are_needed() -> None:
    taken = []

    def items() -> Iterator[int]:
        for number in range(10_000):
            taken.append(number)
            yield number

    results = in_order(_inverse, items())
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert len(taken) < 200
