# SPDX-License-Identifier: BSD-2-Clause
"""pytest as the suite uses it: its arguments, and the part of a plan that -k, -m, --lf choose."""

import hashlib
import os
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

from results.errors import InputError, RunnerError
from runners.campaign.plan.assignment import Assignment
from runners.campaign.plan.plan import Planned
from runners.campaign.plan.subject import Subject
from runners.campaign.schedule.plugin import CaseItem
from runners.checkout import Checkout
from runners.scratch import scratch

# What a user's environment may tell a pytest, which is not this one.
_PYTESTS = frozenset(
    "PYTEST_ADDOPTS PYTEST_PLUGINS PYTEST_THEME PYTEST_THEME_MODE PYTEST_DEBUG"
    " PYTEST_DEBUG_TEMPROOT PYTEST_XDIST_AUTO_NUM_WORKERS".split()
)


# So much of what is wrong is shown.
SHOWN = 80


@dataclass(frozen=True)
class Choice:
    """What pytest's own options choose; empty for all."""

    keyword: str = ""
    marker: str = ""
    last_failed: bool = False

    @property
    def everything(self) -> bool:
        """Whether nothing is left out."""
        return not (self.keyword or self.marker or self.last_failed)


def arguments(checkout: Checkout, folder: Path, subject: Subject) -> list[str]:
    """What pytest is always called with: this suite's plugin, and no other settings.

    What failed the last time is remembered of each subject by itself.
    """
    for name in _PYTESTS & os.environ.keys():
        del os.environ[name]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    return [
        "-p",
        "runners.campaign.schedule.plugin",
        "-p",
        "no:terminalreporter",
        "-p",
        "no:warnings",
        "--capture=no",
        "--noconftest",
        "-c",
        os.devnull,
        "--rootdir",
        str(folder),
        # Nor may a parent folder's name be a keyword of every case.
        "--confcutdir",
        str(folder),
        "-o",
        f"cache_dir={checkout.cache / 'pytest' / _identity(subject)}",
    ]


def _identity(subject: Subject) -> str:
    """A provider by the place that it is built to and the IA that it is opened as: the same when it
    was fixed, another for another provider.
    """
    libdat = str(subject.libdat.library) if subject.libdat else ""
    parts = (os.path.normpath(subject.library), subject.ia, subject.api, libdat)
    return hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()[:16]


def choose(
    checkout: Checkout, assignment: Assignment, choice: Choice, subject: Subject
) -> list[Planned]:
    """The part of the plan that is chosen, in its order.

    Raises InputError when an expression is wrong, or chooses nothing.
    """
    for option, expression in (("-k", choice.keyword), ("-m", choice.marker)):
        compiled(option, expression)
    collected = _Collected()
    with scratch() as folder:
        asked = [
            *arguments(checkout, folder, subject),
            "--collect-only",
            str(assignment.save(folder)),
        ]
        if choice.keyword:
            asked += ["-k", choice.keyword]
        if choice.marker:
            asked += ["-m", choice.marker]
        if choice.last_failed:
            asked.append("--lf")
        with redirect_stderr(StringIO()) as errors:
            code = pytest.main(asked, plugins=[collected])
    if code == pytest.ExitCode.USAGE_ERROR:
        said = errors.getvalue().strip().removeprefix("ERROR: ")
        raise InputError(said.split("\n", 1)[0])
    if code == pytest.ExitCode.NO_TESTS_COLLECTED:
        raise InputError(f"nothing is chosen by {_described(choice)}")
    if code != pytest.ExitCode.OK:
        raise RunnerError(
            f"pytest could not collect the cases: {errors.getvalue().strip() or code}"
        )
    return collected.planned


def restrict(assignment: Assignment, planned: Sequence[Planned]) -> Assignment:
    """The assignment with another plan."""
    return replace(assignment, plan=tuple(planned))


def compiled(option: str, expression: str) -> Expression:
    """An expression of pytest's grammar; raises InputError, which names the option, for no such."""
    try:
        return Expression.compile(expression or "True")
    except (SyntaxError, ValueError) as error:
        raise InputError(f"{option} {expression[:SHOWN]!r}: {error}") from error
    except (RecursionError, MemoryError) as error:
        raise InputError(f"{option} {expression[:SHOWN]!r} is nested too deeply") from error


class _Collected:
    """A pytest plugin that keeps what was collected."""

    def __init__(self) -> None:
        self.planned: list[Planned] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.planned = [item.planned for item in session.items if isinstance(item, CaseItem)]


def _described(choice: Choice) -> str:
    options = {"-k": choice.keyword, "-m": choice.marker}
    words = [f"{option} {value!r}" for option, value in options.items() if value]
    return " and ".join(words + (["--lf"] if choice.last_failed else []))
