# SPDX-License-Identifier: BSD-2-Clause
"""Debian's packages, fetched with apt's own signatures and mirrors, and never installed."""

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from runners.fabric.base import FabricError, Progress

T = TypeVar("T")


class AptError(FabricError):
    """apt has no such package, or cannot fetch it."""


def with_fresh_lists(fetch: Callable[[], T], progress: Progress) -> T:
    """What `fetch` returns; should apt fail in it, once more after apt has learnt what exists
    today: lists that are missing or old name nothing fetchable.
    """
    try:
        return fetch()
    except AptError as error:
        progress(f"{error}; refreshing apt's lists")
        _refresh_lists()
    return fetch()


def download(packages: Sequence[str], directory: Path) -> list[Path]:
    """Fetch packages into `directory`; their archives. Raises FabricError."""
    run(["apt-get", "-o", "APT::Sandbox::User=root", "download", *packages], directory)
    return sorted(directory.glob("*.deb"))


def run(command: Sequence[str], directory: Path | None = None) -> str:
    """What a command of apt's prints; FabricError with its last complaint."""
    # Messages are matched, so they must not be translated.
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    try:
        done = subprocess.run(
            command, cwd=directory, env=environment, capture_output=True, text=True, check=True
        )
    except FileNotFoundError:
        raise FabricError(f"{command[0]} is missing; the vm fabric needs a Debian system") from None
    except subprocess.CalledProcessError as error:
        raise FabricError(_last_line(error.stderr) or f"{command[0]} failed") from None
    return done.stdout


def _refresh_lists() -> None:
    if os.getuid() != 0 and shutil.which("sudo") is None:
        raise FabricError("cannot refresh apt's lists: run `apt-get update` as root and try again")
    try:
        run([*([] if os.getuid() == 0 else ["sudo"]), "apt-get", "update"])
    except FabricError as error:
        raise FabricError(f"cannot refresh apt's lists: {error}; is there a network?") from None


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line]
    return lines[-1] if lines else ""
