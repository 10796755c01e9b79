# SPDX-License-Identifier: BSD-2-Clause
"""Runs as they are named on a command line: by id, by folder, or by the package that has them."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from results.errors import InputError
from results.runlog.records import EVENTS
from runners import runs
from runners.package import archive


@contextmanager
def opened(results: Path, name: str) -> Iterator[Path]:
    """The folder of the run called `name`; a package is unpacked meanwhile. Raises InputError.

    Nothing is said of whether the package is whole, or whose it is: `verify` says that.
    """
    package = Path(name)
    if runs.is_run(results, name) or not package.is_file():
        yield runs.find_run(results, name)
        return
    with tempfile.TemporaryDirectory(prefix="udapl-cts-") as unpacked:
        folder = Path(unpacked)
        try:
            members = archive.read(package, folder)
        except archive.ArchiveError as error:
            raise InputError(f"{name} is no package: {error}") from error
        try:
            if EVENTS in members:
                archive.weigh(members[EVENTS])
        except archive.ArchiveError as error:
            raise InputError(f"the records of {name}: {error}") from error
        yield folder


def packages(folder: Path) -> list[Path]:
    """The packages in `folder`, by name."""
    return sorted(path for path in folder.glob("*.package.tar") if path.is_file())
