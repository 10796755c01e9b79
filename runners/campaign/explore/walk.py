# SPDX-License-Identifier: BSD-2-Clause
"""One walk: a program that the puppet runs on a provider, and what is wrong with its record."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from results.errors import RunnerError
from results.runlog.records import Record
from runners.campaign.plan.assignment import Assignment
from runners.campaign.plan.plan import Planned
from runners.campaign.session.attempt import Attempt
from runners.campaign.session.testbed import Testbed, quiet

CASE = "explore/walk"
# All waits of a program are brief, so a walk is over long before.
DEADLINE_MS = 60_000

PLANNED = Planned(CASE, 1, 0, False, DEADLINE_MS, (), "puppet/puppet.c", 0)

# What a walk ends as if nothing is wrong with it. It has no clause: the harness makes it FAIL for
# an event that names what it cannot name.
KEPT = frozenset(("PASS", "NOTE", "UNSUPPORTED"))
WRONG = frozenset(("FAIL", "CRASH", "TIMEOUT"))


@dataclass(frozen=True)
class Wrong:
    """What is wrong with a walk: a call, and the clause it breaks, or how its process ended."""

    what: str  # deviates, FAIL, CRASH, TIMEOUT or teardown
    call: str
    clause: str
    n: int
    why: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Two walks with the same key have the same finding."""
        return self.what, self.call, self.clause


def wrong(record: Record) -> Wrong | None:
    """What is wrong with the record of a walk, if anything is. Raises RunnerError where the walk
    says nothing of the provider.
    """
    said = record["oracle"]
    if said["verdict"] == "deviates":
        calls = (call for call in record["calls"] if call["n"] == said["n"])
        name = next((call["call"] for call in calls), "")
        return Wrong("deviates", name, said["clause"], said["n"], said["why"])
    last = record["calls"][-1]["n"] if record["calls"] else 0
    if record["verdict"] in WRONG:
        pending = record.get("pending", "")
        return Wrong(record["verdict"], pending, "", last, record["reason"])
    if record["verdict"] not in KEPT:
        raise RunnerError(f"a walk ended as {record['verdict']}: {record['reason']}")
    for trouble in record.get("teardown", ()):
        # What is refused there is a call like others, and the specification has judged it.
        if trouble["what"] != "refused":
            why = f"{trouble['what']} in {trouble['call'] or 'no call'}: {trouble['saw']}"
            return Wrong("teardown", trouble["call"], "", last, why)
    return None


class Walker:
    """Walks on one host of an assignment, one walk after another."""

    def __init__(self, assignment: Assignment, ia: str | None = None) -> None:
        self._testbed = Testbed(assignment, 1, "explore", quiet)
        self._ia = ia
        self.walks = 0
        self.calls: Counter[str] = Counter()
        self.returns: Counter[tuple[str, str]] = Counter()
        self.judged = 0

    def walk(self, program: Sequence[str]) -> Record:
        """The record of a walk. Raises RunnerError where there is none."""
        told: list[Record] = []
        text = "\n".join(program)
        attempt = Attempt(PLANNED, ia=self._ia, program=text)
        if self._testbed.run(attempt, told.append) is None:
            raise RunnerError(self._testbed.given_up)
        record = next(record for record in told if record["type"] == "verdict")
        self.walks += 1
        self.judged += record["oracle"]["judged"]
        for call in record["calls"]:
            self.calls[call["call"]] += 1
            self.returns[call["call"], call.get("ret", "no return")] += 1
        return record

    def close(self) -> None:
        """Let the host go."""
        self._testbed.close()


def read_program(path: Path) -> list[str]:
    """The steps of a file, without blank lines and comments."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in map(str.strip, lines) if line and not line.startswith("#")]
