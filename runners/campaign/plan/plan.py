# SPDX-License-Identifier: BSD-2-Clause
"""The plan: the cases of the binary joined with their clauses, chosen, and put in order."""

import json
import random
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from results.errors import InputError, RunnerError
from runners.catalogue.clauses import Catalogue, Clause, load
from runners.checkout import Checkout
from runners.names import nearest


@dataclass(frozen=True)
class Case:
    """A case of the binary and its clause, whose id it bears."""

    clause: Clause
    object: str
    file: str
    line: int
    peers: int
    network: bool
    deadline_ms: int

    @property
    def id(self) -> str:
        """`srq_resize/grow`, or `page/family/row`."""
        return self.clause.id

    @property
    def page(self) -> str:
        """`dat_srq_resize`."""
        return self.clause.page


@dataclass(frozen=True)
class Planned:
    """A case in one mode: `hosts` is how many hosts it runs on, `alone` what it needs for itself of
    hosts that several cases share at a time.
    """

    case: str
    hosts: int
    peers: int
    network: bool
    deadline_ms: int
    labels: tuple[str, ...]
    file: str
    line: int
    alone: str = ""

    @property
    def name(self) -> str:
        """How the runner calls it: `srq_resize/grow[2 hosts]`."""
        return f"{self.case}[{mode(self.hosts)}]"


# A case that a call fails which is refused or does nothing; and a second one, if the first needs
# calls that need this one, which does without them.
Control = tuple[Planned, ...]


def mode(hosts: int) -> str:
    """A mode in words."""
    return "1 host" if hosts == 1 else f"{hosts} hosts"


def load_cases(checkout: Checkout) -> tuple[Catalogue, list[Case]]:
    """The catalogue, and the cases by id; raises RunnerError when the two do not match."""
    catalogue = load(checkout.catalogue)
    objects = {page.page: page.path.parent.name for page in catalogue.pages}
    cases = []
    for row in list_cases(checkout.cases_binary):
        clause = catalogue.clauses.get(row["id"])
        if clause is None:
            raise RunnerError(
                f"the case {row['id']} ({row['file']}:{row['line']}) has no clause: "
                "./udapl-cts spec check says what is missing"
            )
        cases.append(
            Case(
                clause=clause,
                object=objects[clause.page],
                file=row["file"],
                line=row["line"],
                peers=row["peers"],
                network=row["network"],
                deadline_ms=row["deadline_ms"],
            )
        )
    return catalogue, sorted(cases, key=lambda case: case.id)


def list_cases(binary: Path) -> list[dict[str, Any]]:
    """What `udapl-cases --list` prints; raises RunnerError when it cannot be run."""
    return [json.loads(line) for line in _printed(binary, "--list").splitlines()]


def identity(binary: Path) -> dict[str, str]:
    """What an agent of this very build says of itself; raises RunnerError as list_cases() does."""
    said: dict[str, str] = json.loads(_printed(binary, "--identity"))
    return said


def _printed(binary: Path, option: str) -> str:
    try:
        done = subprocess.run([str(binary), option], capture_output=True, text=True, check=False)
    except OSError as error:
        raise RunnerError(
            f"cannot run {binary} ({error.strerror}): build it with "
            "cmake --preset default && cmake --build --preset default"
        ) from error
    if done.returncode != 0:
        raise RunnerError(f"{binary} {option} failed: {done.stderr.strip() or done.returncode}")
    return done.stdout


def select(cases: Sequence[Case], names: Iterable[str]) -> list[Case]:
    """The cases that `names` name: cases, clauses, pages, objects; no name means all.

    Raises InputError for a name that names none, with the nearest ones.
    """
    by_name: dict[str, list[Case]] = {}
    for case in cases:
        for name in {case.id, *_families(case.id), *_pages(case.page), case.object}:
            by_name.setdefault(name, []).append(case)
    chosen: set[str] = set()
    for name in names:
        if name not in by_name:
            raise InputError(
                f"no case, clause, page or object is called {name!r}" + nearest(name, by_name)
            )
        chosen.update(case.id for case in by_name[name])
    return [case for case in cases if case.id in chosen] if chosen else list(cases)


def plan(cases: Iterable[Case], modes: Sequence[int], seed: int, every_mode: bool) -> list[Planned]:
    """Each case in the first mode, and with a peer, or `every_mode`, in each; in `seed`'s order.

    One that disturbs the network is in no mode of one host: it would have none to disturb. The
    modes follow one another, so that the hosts of one can be released before the next begins.
    """
    chosen = list(cases)
    order = random.Random(seed)
    rows = []
    for hosts in modes:
        row = [case for case in chosen if every_mode or hosts == modes[0] or case.peers]
        row = [case for case in row if hosts > 1 or not case.network]
        order.shuffle(row)
        rows += [planned(case, hosts) for case in row]
    return rows


def controls(catalogue: Catalogue, plan_: Iterable[Planned]) -> dict[str, Control]:
    """By call, the cases that show whether it works at all."""
    by_id = {one.case: one for one in plan_ if not one.alone}
    pages = (page for page in catalogue.pages if page.control in by_id)
    return {
        page.page: tuple(by_id[id_] for id_ in (page.control, page.apart) if id_ in by_id)
        for page in pages
    }


def registrys(catalogue: Catalogue) -> tuple[str, ...]:
    """The clauses that convict the registry, and not the provider."""
    return tuple(id_ for id_, clause in catalogue.clauses.items() if clause.blame == "registry")


def planned(case: Case, hosts: int) -> Planned:
    """A case in the mode of `hosts` hosts."""
    page = _pages(case.page)
    labels = (*page, case.object, case.clause.level, case.clause.check, f"hosts{hosts}")
    return Planned(
        case=case.id,
        hosts=hosts,
        peers=case.peers,
        network=case.network,
        deadline_ms=case.deadline_ms,
        labels=labels,
        file=case.file,
        line=case.line,
        alone=case.clause.alone,
    )


def _pages(page: str) -> tuple[str, str]:
    return page, page.removeprefix("dat_")


def _families(id_: str) -> list[str]:
    parts = id_.split("/")
    return ["/".join(parts[:count]) for count in range(2, len(parts))]
