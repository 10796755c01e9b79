# SPDX-License-Identifier: BSD-2-Clause
"""What a judgement of one trace says."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Deviation:
    """One call whose answer lies outside of what the pages allow."""

    who: str  # case or peer
    n: int  # the number of the call in its process's records
    call: str
    clause: str
    why: str

    def __str__(self) -> str:
        return f"{self.who} call {self.n}, {self.call}: {self.why} [{self.clause}]"


@dataclass(slots=True)
class Judgement:
    """The verdict on one trace: agrees, deviates or unjudged."""

    deviations: list[Deviation] = field(default_factory=list)
    judged: int = 0  # calls that at least one rule judged
    unjudged: Counter[str] = field(default_factory=Counter)  # calls that none did, by reason
    damage: str = ""  # why the trace as a whole cannot be judged
    asked: Counter[str] = field(default_factory=Counter)  # clauses, by how often they were judged

    @property
    def verdict(self) -> str:
        """One word: deviates, unjudged (no call could be judged) or agrees."""
        if self.deviations:
            return "deviates"
        if self.damage or not self.judged:
            return "unjudged"
        return "agrees"

    @property
    def record(self) -> dict[str, object]:
        """What a verdict record keeps of it."""
        unjudged = self.unjudged.total()
        told: dict[str, object] = {"verdict": self.verdict, "judged": self.judged}
        if unjudged:
            told["unjudged"] = unjudged
        if self.why:
            told["why"] = self.why
        if self.asked:
            told["asked"] = dict(sorted(self.asked.items()))
        if self.deviations:
            first = self.deviations[0]
            told |= {"clause": first.clause, "who": first.who, "n": first.n}
        return told

    @property
    def why(self) -> str:
        """The first deviation, or why nothing was judged; empty where the trace agrees."""
        if self.deviations:
            return str(self.deviations[0])
        if self.verdict == "unjudged":
            return self.damage or ", ".join(sorted(self.unjudged)) or "no calls"
        return ""
