# SPDX-License-Identifier: BSD-2-Clause
"""Rules for every source file that no linter knows."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runners.fake_checkout import REPOSITORY

SOURCES = {".c", ".h", ".py", ".toml", ".cmake", ".txt", ".sh"}
LICENCE = "SPDX-License-Identifier: BSD-2-Clause"
# Where a sleep would hide a race: an event is waited for instead, with a deadline.
EVENT_DRIVEN = "cases harness reference-provider runners".split()
FOLDERS = (*EVENT_DRIVEN, *"include libdat faults reports benchmarks tests".split())
SLEEP = re.compile(r"\b(sleep|usleep|nanosleep|clock_nanosleep|thrd_sleep)\s*\(")


def sources(*folders: str) -> Iterator[Path]:
    """The project's own source files in these folders."""
    for folder in folders:
        for path in sorted((REPOSITORY / folder).rglob("*")):
            hidden = any(
                part.startswith((".", "__")) for part in path.relative_to(REPOSITORY).parts
            )
            if path.suffix in SOURCES and path.is_file() and not hidden:
                yield path


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_source_file_names_its_licence_first(folder: str) -> None:
    for path in sources(folder):
        first, second = [*path.read_text().split("\n", 2), "", ""][:2]
        assert LICENCE in (second if first.startswith("#!") else first), path


@pytest.mark.parametrize("folder", EVENT_DRIVEN)
def test_nothing_sleeps(folder: str) -> None:
    for path in sources(folder):
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            assert not SLEEP.search(line), f"{path}:{number}: {line.strip()}"


@pytest.mark.parametrize("folder", EVENT_DRIVEN)
def test_this_rule_can_fail(folder: str) -> None:
    assert SLEEP.search("        usleep(100);")
    assert SLEEP.search("time.sleep(1)")
    assert list(sources(folder))
