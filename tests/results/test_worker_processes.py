# SPDX-License-Identifier: BSD-2-Clause
"""Work that copies of the process do, in order."""

import os
from collections.abc import Iterator

import pytest

from results.worker_processes import in_order
from tests.reports.test_halves import children

_HERE = os.getpid()
_ITEMS = range(200)


@pytest.fixture(autouse=True)
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is one, no copy is made."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})


@pytest.fixture(autouse=True)
def no_copy_is_left(two_processors: None) -> Iterator[None]:
    """What this process had started before it has after, and nothing else."""
    before = children()
    yield
    assert children() == before


def _doubled(number: int) -> tuple[int, int]:
    return os.getpid(), 2 * number


def _lost_elsewhere(number: int) -> int:
    if os.getpid() != _HERE and number == 100:
        os._exit(3)
    return 2 * number


def _inverse(number: int) -> float:
    return 1 / (100 - number)


def test_results_keep_the_order_of_the_items() -> None:
    results = list(in_order(_doubled, _ITEMS))
    assert [doubled for _, doubled in results] == [2 * number for number in _ITEMS]
    assert _HERE not in {pid for pid, _ in results}


def test_one_processor_does_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert {pid for pid, _ in in_order(_doubled, _ITEMS)} == {os.getpid()}


def test_nothing_is_made_of_nothing() -> None:
    assert list(in_order(_doubled, [])) == []


def test_what_a_lost_copy_had_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}._HERE", os.getpid())
    assert list(in_order(_lost_elsewhere, _ITEMS)) == [2 * number for number in _ITEMS]


def _hangs_elsewhere(number: int) -> int:
    while os.getpid() != _HERE and number == 100:
        os.sched_yield()
    return 2 * number


def test_what_a_copy_hangs_in_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}._HERE", os.getpid())
    monkeypatch.setattr("results.worker_processes._PATIENCE", 0.2)
    assert list(in_order(_hangs_elsewhere, _ITEMS)) == [2 * number for number in _ITEMS]


def test_an_error_is_raised_behind_the_results_before_it() -> None:
    results = in_order(_inverse, _ITEMS)
    assert next(results) == 1 / 100
    with pytest.raises(ZeroDivisionError):
        list(results)


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
