# SPDX-License-Identifier: BSD-2-Clause
"""Walks: programs that the puppet runs on a provider, and what the walks came to."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import oracle
from oracle.reached import Reached
from results.errors import RunnerError
from results.runlog.records import Record
from results.runlog.walks import CASE
from runners.campaign.plan.assignment import Assignment
from runners.campaign.plan.plan import Planned
from runners.campaign.session.attempt import Attempt
from runners.campaign.session.testbed import Testbed, quiet

# All waits of a program are brief, so a walk is over long before.
DEADLINE_MS = 60_000


def planned(hosts: int) -> Planned:
    """A walk in this mode."""
    return Planned(CASE, hosts, 1, hosts > 1, DEADLINE_MS, (), "puppet/puppet.c", 0)


class Walker:
    """Walks on one host of an assignment, one walk after another; a second host is the peer's."""

    def __init__(
        self,
        assignment: Assignment,
        ia: str | None = None,
        hosts: int = 1,
        emit: Callable[[Record], None] | None = None,
    ) -> None:
        """`emit` gets the records of what happens besides walks: hosts that are up, incidents."""
        self._testbed = Testbed(assignment, hosts, "explore", quiet)
        self._planned = planned(hosts)
        self.hosts = hosts
        self.ia = ia
        self._emit = emit or (lambda record: None)
        self.declared: dict[str, Any] = {}  # of the IA, once a walk was taken
        self.walks = 0
        self.steps = 0
        self.calls: Counter[str] = Counter()
        self.returns: Counter[tuple[str, str]] = Counter()
        self.judged = 0
        self.reached = Reached()

    def walk(self, program: Sequence[str]) -> Record:
        """The record of a walk. Raises RunnerError where there is none."""
        told: list[Record] = []
        attempt = Attempt(self._planned, ia=self.ia, program="\n".join(program))
        ended = self._testbed.run(attempt, told.append)
        for record in told:
            if record["type"] == "hosts":
                self.declared = oracle.declared_of(record, self.ia)
            if record["type"] != "verdict":
                self._emit(record)
        if ended is None:
            raise RunnerError(self._testbed.given_up)
        record = next(record for record in told if record["type"] == "verdict")
        self.walks += 1
        self.steps += len(program)
        self.judged += record["oracle"]["judged"]
        for call in record["calls"]:
            self.calls[call["call"]] += 1
            self.returns[call["call"], call.get("ret", "no return")] += 1
        self.reached.take(record, self.declared)
        return record

    def close(self) -> None:
        """Let the host go."""
        self._testbed.close()


def read_program(path: Path) -> list[str]:
    """The steps of a file, without blank lines and comments."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in map(str.strip, lines) if line and not line.startswith("#")]
