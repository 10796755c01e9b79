# SPDX-License-Identifier: BSD-2-Clause
"""The folder of runs: make a run's folder, find a run by name, and point at the latest."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

from results.errors import InputError
from results.runlog.frames import EVENTS
from results.runlog.records import explain
from runners.names import nearest

LATEST = "latest"
# The longest path, and how much of a longer one a message shows.
LONGEST_NAME, LONGEST_SHOWN = 4096, 80


@contextmanager
def new_run(results: Path, seed: int, elsewhere: bool = False) -> Iterator[str]:
    """A new run's id: when it started, and its seed.

    Its folder in `results` is taken, so that no other run has the id; both are gone at the end if
    nothing was written there. Of a run whose folder is `elsewhere` none is taken. Raises
    RunnerError.
    """
    first = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{seed}"
    if elsewhere:
        yield first
        return
    others = (f"{first}-{number}" for number in count(2))
    name = next(name for name in chain([first], others) if _taken(results / name))
    try:
        yield name
    finally:
        with suppress(OSError):
            (results / name).rmdir()
            results.rmdir()


def _taken(folder: Path) -> bool:
    """Whether `folder` was not there and is now. Raises RunnerError."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            folder.mkdir()
            return True
    except OSError as error:
        raise explain(error, folder) from error
    return False


def point_latest(results: Path, run: str, folder: Path) -> None:
    """Make `results`/latest name this run, and `results`/RUN where its folder is elsewhere.

    Where that cannot be written, the run is found by its folder alone, which is no error.
    """
    with suppress(OSError):
        results.mkdir(parents=True, exist_ok=True)
        for entry in results.iterdir():
            if entry.is_symlink() and not entry.exists():
                entry.unlink()
        if folder != results / run:
            _link(results / run, folder)
        _link(results / LATEST, Path(run))


def find_run(results: Path, name: str | None) -> Path:
    """The folder of the run called `name`: an id, or a path; None is the latest run."""
    if name is None:
        return _latest(results)
    if len(name) > LONGEST_NAME:
        raise InputError(f"no such run: {name[:LONGEST_SHOWN]} ...")
    for folder in (results / name, Path(name)):
        if _holds_run(folder):
            return folder.resolve()
    runs = [folder.name for folder in runs_in(results)]
    if os.path.isdir(name):
        raise InputError(f"{name} holds no run: it has no {EVENTS}")
    raise InputError(f"no such run: {name}" + nearest(name, runs))


def is_run(results: Path, name: str) -> bool:
    """Whether `name` is the id or the path of a run."""
    return any(_holds_run(folder) for folder in (results / name, Path(name)))


def runs_in(results: Path) -> list[Path]:
    """The folders of the runs in `results`, by name."""
    if not results.is_dir():
        return []
    return sorted(
        entry for entry in results.iterdir() if entry.name != LATEST and (entry / EVENTS).is_file()
    )


def _holds_run(folder: Path) -> bool:
    # Unlike Path's own, this is no error for a name that no file can have.
    return os.path.isfile(folder / EVENTS)


def _latest(results: Path) -> Path:
    link = results / LATEST
    if (link / EVENTS).is_file():
        return link.resolve()
    runs = runs_in(results)
    if not runs:
        raise InputError(f"no run in {results} yet: ./udapl-cts certify makes one")
    return max(runs, key=lambda folder: (folder / EVENTS).stat().st_mtime)


def _link(link: Path, target: Path) -> None:
    fresh = link.with_name(f".{link.name}.{os.getpid()}")
    fresh.symlink_to(target)
    fresh.replace(link)
