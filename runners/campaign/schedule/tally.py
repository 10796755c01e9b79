# SPDX-License-Identifier: BSD-2-Clause
"""What a run has of its plan, and what an earlier, unfinished one had."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from results.errors import InputError, ReportError
from results.runlog.events import read
from results.runlog.records import EVENTS, NOT_KEPT, Record
from results.runlog.similarity import Kind, broken, enough, kinds
from runners.campaign.plan.plan import Planned

# What a resumed run must have in common with its beginning, and what it is called.
_COMMON = {
    "suite": "the suite",
    "subject": "the provider",
    "clauses": "the suite's clauses",
    "rulings": "the suite's rulings",
    "waivers": "the waivers",
    "plan": "the plan",
}


class Key(NamedTuple):
    """What has one first verdict: a case in a mode, and where every pair is tried, the hosts."""

    case: str
    hosts: int
    where: tuple[str, ...] = ()


class End(NamedTuple):
    """How a case ended: its verdict, what failed beside its clause, the kinds of end that it shares
    with others, whether its teardown had less time than others, and how long it took.
    """

    word: str
    beside: tuple[tuple[str, ...], ...] = ()
    kinds: tuple[Kind, ...] = ()
    hurried: bool = False
    ms: float = 0.0

    @property
    def broken(self) -> bool:
        """Whether something was found broken."""
        return self.word in NOT_KEPT or bool(self.beside)


class Tally:
    """How a run's cases ended. No record is kept: a long run needs no more memory."""

    def __init__(self) -> None:
        self.ends: dict[Key, End] = {}
        self.again: dict[Key, End] = {}
        # How many of a kind were run again, and of which kinds one ended otherwise then.
        self._tried: Counter[Kind] = Counter()
        self._varied: set[Kind] = set()
        # By mode, where every pair is tried.
        self._places: dict[int, list[tuple[str, ...]]] = {}

    def take(self, record: Record) -> None:
        """Take what there is in a record of events.jsonl.zst."""
        if record["type"] == "hosts" and "testbeds" in record:
            self._places[record["hosts"]] = [tuple(names) for names in record["testbeds"]]
        elif record["type"] == "verdict":
            where = (record["host"], record["peer"]) if "peer" in record else (record["host"],)
            key = self._key(record["case"], record["hosts"], where)
            hurried = any("hurried" in each for each in record.get("teardown", ()))
            end = End(record["verdict"], broken(record), kinds(record), hurried, record["ms"])
            if record["attempt"] == 1:
                self.ends[key] = end
            else:
                self.again[key] = end
                self._compare(key, end)

    def has(self, planned: Planned, where: tuple[str, ...]) -> bool:
        """Whether a case has its first verdict, on these hosts where every pair is tried."""
        return self._key(planned.case, planned.hosts, where) in self.ends

    def wanted(self, key: Key) -> bool:
        """Whether one that was found broken should be run again, as a sample of those alike."""
        return key not in self.again and not all(
            enough(self._tried[kind], kind in self._varied) for kind in self.ends[key].kinds
        )

    def sample(self, keys: Iterable[Key]) -> list[Key]:
        """As many of `keys` as are wanted if none of them ends otherwise."""
        chosen, more = [], Counter[Kind]()
        for key in filter(self.wanted, keys):
            kinds_ = self.ends[key].kinds
            if not all(enough(self._tried[k] + more[k], k in self._varied) for k in kinds_):
                chosen.append(key)
                more.update(kinds_)
        return chosen

    def expected(self, plan: Iterable[Planned]) -> int:
        """How many first verdicts a plan leads to, as far as its hosts are known."""
        return sum(len(self._keys(one)) for one in plan)

    def missing(self, plan: Iterable[Planned]) -> list[Planned]:
        """The part of a plan that lacks a verdict."""
        return [one for one in plan if any(key not in self.ends for key in self._keys(one))]

    def _compare(self, key: Key, again: End) -> None:
        first = self.ends.get(key)
        if first is None:
            return
        self._tried.update(first.kinds)
        if (again.word, again.beside) != (first.word, first.beside):
            self._varied.update(first.kinds)

    def _key(self, case: str, hosts: int, where: tuple[str, ...]) -> Key:
        return Key(case, hosts, where if hosts in self._places else ())

    def _keys(self, planned: Planned) -> list[Key]:
        places = self._places.get(planned.hosts, [()])
        return [Key(planned.case, planned.hosts, where) for where in places]


@dataclass(frozen=True)
class Past:
    """A run that has begun, as its events.jsonl.zst tells it."""

    run: Record
    tally: Tally
    resumed: int
    complete: bool
    walks: int = 0  # those that were found wrong
    explored: str | None = None  # why random walks ended early, when they have ended

    @classmethod
    def read(cls, folder: Path) -> "Past":
        """Read a run's records. Raises InputError for one that is damaged, or has none."""
        run: Record = {}
        tally = Tally()
        resumed, complete, walks = 0, False, 0
        explored = None
        path = folder / EVENTS
        try:
            for number, members in enumerate(read(path), start=1):
                if members is None:
                    break
                record = members.values
                try:
                    run = run or record
                    tally.take(record)
                    resumed += record.get("what") == "resumed"
                    walks += record["type"] == "walk"
                    explored = record["ended"] if record["type"] == "explored" else explored
                    complete = record["type"] == "end" and record["status"] == "complete"
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    raise InputError(f"{path}, line {number}: this is no record") from error
        except ReportError as error:
            raise InputError(str(error)) from error
        if run.get("type") != "run":
            raise InputError(f"{folder} holds no record of a run: there is nothing to resume")
        return cls(run, tally, resumed, complete, walks, explored)

    def planned(self, plan: Iterable[Planned]) -> list[Planned]:
        """The cases of `plan` that the run had planned, in its order. Raises InputError."""
        known = {(one.case, one.hosts): one for one in plan}
        try:
            return [known[entry["case"], entry["hosts"]] for entry in self.run["plan"]]
        except KeyError as error:
            raise InputError(
                f"the suite changed since run {self.run['run']} began: a case of it is gone"
            ) from error

    def compare(self, run: Record) -> None:
        """Raise InputError where `run`, the same run begun today, would not be the same."""
        for name, called in _COMMON.items():
            if self.run.get(name) != run[name]:
                raise InputError(
                    f"{called} changed since run {self.run['run']} began{self._how(name, run)}: "
                    "its verdicts would be about two things; certify anew"
                )

    def _how(self, name: str, run: Record) -> str:
        for member in ("commit", "sha256", "binary", "library"):
            if name in ("suite", "subject") and self.run[name].get(member) != run[name].get(member):
                return f" ({member} {self.run[name].get(member)}, now {run[name].get(member)})"
        return ""
