# SPDX-License-Identifier: BSD-2-Clause
"""What is wrong with a random walk (docs/explore.md), by the record of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from results.errors import RunnerError

CASE = "explore/walk"

# What a walk ends as if nothing is wrong with it. It has no clause: the harness makes it FAIL for
# an event that names what it cannot name. BLOCKED is a walk whose peer could not continue: its
# connection was gone, say. The specification has judged the peer's calls.
KEPT = frozenset(("PASS", "NOTE", "UNSUPPORTED", "BLOCKED"))
WRONG = frozenset(("FAIL", "CRASH", "TIMEOUT"))
# An ERROR of a walk that was to disturb the network, which this host cannot do, or no packet met.
UNDISTURBED = "disturb"
# The clause that the puppet's own check is of.
CLAUSE = re.compile(r"\[([a-z_]+/[a-z_]+)\]")


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

    @property
    def record(self) -> dict[str, Any]:
        """As a record of a run has it."""
        return {
            "what": self.what,
            "call": self.call,
            "clause": self.clause,
            "call_n": self.n,
            "why": self.why,
        }


def wrong(record: Mapping[str, Any]) -> Wrong | None:
    """What is wrong with the verdict's record of a walk, if anything is. Raises RunnerError where
    the walk says nothing of the provider.
    """
    said = record["oracle"]
    if said["verdict"] == "deviates":
        calls = (call for call in record["calls"] if call["n"] == said["n"])
        name = next((call["call"] for call in calls), "")
        return Wrong("deviates", name, said["clause"], said["n"], said["why"])
    last = record["calls"][-1]["n"] if record["calls"] else 0
    if record["verdict"] in WRONG:
        pending = record.get("pending", "")
        clause = CLAUSE.search(record["reason"]) if record["verdict"] == "FAIL" else None
        cited = clause[1] if clause else ""
        return Wrong(record["verdict"], pending, cited, last, record["reason"])
    if record["verdict"] not in KEPT and UNDISTURBED not in record["reason"]:
        raise RunnerError(f"a walk ended as {record['verdict']}: {record['reason']}")
    for trouble in record.get("teardown", ()):
        # What is refused there is a call like others, and the specification has judged it.
        if trouble["what"] != "refused":
            why = f"{trouble['what']} in {trouble['call'] or 'no call'}: {trouble['saw']}"
            return Wrong("teardown", trouble["call"], "", last, why)
    return None
