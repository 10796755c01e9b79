# SPDX-License-Identifier: BSD-2-Clause
"""Where this checkout, or this installation, has its parts, and which fabrics it knows."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

VERSION = "1.1.0"
# The commit of a suite that is in no repository.
UNKNOWN = "unknown"
# What was landed last, where that is known: a commit.
BASE_VARIABLE = "UDAPL_CTS_BASE"
# An installation is in none; it has this file, with what revision() said of the clone.
COMMIT = "COMMIT"

# The DAT APIs by which a provider can be certified: of each, the cases, the puppet and the
# reference provider.
APIS = {
    "1.2": ("udapl-cases", "udapl-puppet", "libdaplref.so"),
    "2.0": ("udapl-cases-2.0", "udapl-puppet-2.0", "libdaplref2.so"),
}
DEFAULT_API = "1.2"
# What records the calls of a program by each API, and what reads the records.
TRACERS = {
    "1.2": ("libdattrace.so", "udapl-trace-read"),
    "2.0": ("libdattrace2.so", "udapl-trace-read-2.0"),
}

FABRICS = {
    "vm": "runners.fabric.vm:VmFabric",
    "host": "runners.fabric.host:HostFabric",
    "ssh": "runners.fabric.ssh:SshFabric",
    "slurm": "runners.fabric.slurm:SlurmFabric",
}


@dataclass(frozen=True)
class Checkout:
    """A built checkout. `fabrics` maps a fabric's name to the `module:class` of a Fabric; `api` is
    the one of APIS by which it meets a provider.
    """

    root: Path
    fabrics: Mapping[str, str] = field(default_factory=lambda: FABRICS)
    api: str = DEFAULT_API

    def by(self, api: str) -> Self:
        """The same checkout, with what is built for another API."""
        return replace(self, api=api)

    @property
    def runs(self) -> Path:
        """The folder of the runs' folders."""
        return self.root / "runs"

    @property
    def cache(self) -> Path:
        """What can be made again."""
        return self.root / ".cache"

    @property
    def built(self) -> Path:
        """The folder with bin/ and lib/."""
        return self.root / "build/default"

    @property
    def catalogue(self) -> Path:
        """The clauses."""
        return self.root / "cases"

    @property
    def rulings(self) -> Path:
        """The rulings: how the suite reads an unclear page."""
        return self.root / "docs/rulings"

    @property
    def cases_binary(self) -> Path:
        """The cases, and the agent that runs them."""
        return self.built / "bin" / APIS[self.api][0]

    @property
    def recorder(self) -> Path:
        """What is loaded before libdat, and records the calls of a program."""
        return self.built / "lib" / TRACERS[self.api][0]

    @property
    def record_reader(self) -> Path:
        """The program that prints what the recorder has written."""
        return self.built / "bin" / TRACERS[self.api][1]

    @property
    def puppet(self) -> Path:
        """The agent whose one case makes the calls that a program names."""
        return self.built / "bin" / APIS[self.api][1]

    @property
    def reference_provider(self) -> Path:
        """The provider that is certified where none is named."""
        return self.built / "lib" / APIS[self.api][2]

    @property
    def faulty_provider(self) -> Path:
        """The provider that wraps another one and breaks one thing."""
        return self.root / "build/default/lib/libdaplfault.so"

    @property
    def faulty_libdat(self) -> Path:
        """Our libdat, with a way to break one thing in it."""
        return self.root / "build/default/lib/libdatfault.so"

    @property
    def faults(self) -> Path:
        """The rows of its faults."""
        return self.root / "faults"


@dataclass(frozen=True)
class Installation(Checkout):
    """What `cmake --install` made: it is read-only, so results go where the user is."""

    @property
    def runs(self) -> Path:
        return Path.cwd() / "runs"

    @property
    def cache(self) -> Path:
        return Path(os.environ["UDAPL_CTS_CACHE"])

    @property
    def built(self) -> Path:
        return self.root


def here() -> Checkout:
    """The checkout, or the installation, that this module is in."""
    root = Path(__file__).resolve().parents[1]
    return Installation(root) if (root / COMMIT).is_file() else Checkout(root)


def revision(root: Path) -> tuple[str, bool]:
    """The commit that `root` is at, and whether it was changed since; `unknown` without git.

    A case that git does not know yet is a change: it is built nevertheless.
    """
    if (root / COMMIT).is_file():
        words = (root / COMMIT).read_text(encoding="utf-8").split()
        return words[0], "dirty" in words[1:]
    described = _git(root, "describe", "--always", "--abbrev=12", "--dirty", "--exclude=*")
    if described is None:
        return UNKNOWN, False
    added = _git(root, "ls-files", "--others", "--exclude-standard", "--", "cases")
    return described.removesuffix("-dirty"), described.endswith("-dirty") or bool(added)


def seed(root: Path) -> int:
    """What a share is drawn by: the commit that `root` is at."""
    commit, _ = revision(root)
    return 0 if commit == UNKNOWN else int(commit, 16)


def changes(root: Path) -> tuple[str, list[str]] | None:
    """Since when, and which files have changed: a commit, and paths below `root`.

    Since the commit that UDAPL_CTS_BASE names, else since what the upstream branch has in common
    with this one, or since the commit before where that is all of this one. None if that is
    unknown.
    """
    head = _git(root, "rev-parse", "HEAD")
    base = os.environ.get(BASE_VARIABLE, "")
    if not base:
        base = _git(root, "merge-base", "HEAD", "@{upstream}") or ""
        base = "HEAD^" if base in ("", head) else base
    since = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}")
    named = _git(root, "-c", "core.quotePath=off", "diff", "--name-only", since or "HEAD^", "--")
    if not since or named is None:
        return None
    return since[:12], named.splitlines()


def added(root: Path, since: str, path: str) -> list[str]:
    """The lines that were added to a file since a commit, and for each change the
    function that git finds it in; none if git does not tell.
    """
    shown = _git(root, "diff", "--unified=0", "--no-ext-diff", since, "--", path) or ""
    return [line for line in shown.splitlines() if line.startswith(("+", "@@"))]


def _git(root: Path, *arguments: str) -> str | None:
    """What git says of `root`; None where there is no git, or it refuses."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
