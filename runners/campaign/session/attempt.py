# SPDX-License-Identifier: BSD-2-Clause
"""An attempt at a case: what is run, how long it may take, and the record of how it ended."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from results.runlog.records import NOT_KEPT, Record
from runners.campaign.plan.plan import Planned
from runners.campaign.session.session import Evidence, Limits, Session
from runners.fabric.base import Host

# A case that disturbs the network has so many times the usual limits.
PATIENT = 3
# How a verdict names a host that is to be replaced: the subject's, the peer's.
UNFIT = ("unfit", "peer_unfit")

# Told the subject's host, the session, and the id of the process that waits for a debugger.
Debug = Callable[[Host, Session, int], None]


@dataclass(frozen=True)
class Attempt:
    """One run of a case, and what is unlike the usual in it."""

    planned: Planned
    number: int = 1  # 2: the case is run again, alone
    ia: str | None = None  # the IA that the case opens instead of the agent's
    within: Limits | None = None  # instead of limits(); no call of teardown is hurried then
    debug: Debug | None = None  # the case stops before its first call, and this is called
    undeclared: bool = False  # run it though a feature that it needs is declared absent
    libdat_fault: str = ""  # of the case's process, if the agent's libdat is the faulty one
    program: str = ""  # the steps of a puppet, one a line

    @property
    def controllable(self) -> bool:
        """Whether a control says anything about it: neither a debugger nor a libdat that lies."""
        return self.debug is None and not self.libdat_fault


@dataclass(frozen=True)
class Ended:
    """An attempt that ended: what the agent said of it, and the verdict's record made of that."""

    evidence: Evidence
    record: Record

    @property
    def disturbed(self) -> bool:
        """Whether the case was not kept, and one of its hosts stood still while it ran."""
        bad = self.record["verdict"] in NOT_KEPT | {"ERROR", "BLOCKED"} or "teardown" in self.record
        return self.evidence.lost is None and self.evidence.still > 0 and bad


def limits(planned: Planned, usual: Limits | None = None, patience: int = 1) -> Limits:
    """How long this case may take; `usual` is for a case that names no limits.

    The lab gives `patience` times as much. In a lossy network an event may wait for a transport
    that waits before it retransmits.
    """
    given = usual or Limits()
    if planned.deadline_ms:
        given = replace(given, deadline_ms=planned.deadline_ms)
    times = patience * (PATIENT if planned.network else 1)
    return replace(
        given,
        deadline_ms=times * given.deadline_ms,
        event_ms=times * given.event_ms,
        quiet_ms=times * given.quiet_ms,
    )


def peer(planned: Planned) -> str:
    """Where this case's peer lives."""
    if planned.peers == 0:
        return "none"
    return "local" if planned.hosts == 1 else "remote"


def unfit(evidence: Evidence) -> bool:
    """Whether an agent says that its host is to be replaced before the next case."""
    return any((evidence.verdict or {}).get(member) for member in UNFIT)


def verdict_record(
    planned: Planned,
    attempt: int,
    hosts: Sequence[str],
    started: str,
    ms: float,
    evidence: Evidence,
) -> Record:
    """The record of one run of a case on `hosts`, from what the agent said of it, or no more."""
    said: Mapping[str, Any] = evidence.verdict or {}
    if evidence.lost is not None:
        verdict, reason = "ERROR", f"{evidence.lost} (while the case ran)"
    elif said.get("type") == "error":
        verdict, reason = "ERROR", f"the agent refused to run it: {said['reason']}"
    else:
        verdict, reason = said["verdict"], said["reason"]
    events = [
        {name: value for name, value in event.items() if name not in ("type", "seq")}
        for event in evidence.events
    ]
    record: Record = {
        "type": "verdict",
        "case": planned.case,
        "hosts": planned.hosts,
        "attempt": attempt,
        "verdict": verdict,
        "reason": reason,
        "host": hosts[0],
        **({"peer": hosts[1]} if len(hosts) > 1 else {}),
        "started": started,
        "ms": said["us"] / 1000 if "us" in said else round(ms, 3),
        "checks": [event for event in events if event["kind"] == "check"],
        "calls": [event for event in events if event["kind"] == "call"],
        "notes": _texts(events, "note"),
        "records": _texts(events, "record"),
        "leaks": _texts(events, "leak"),
        "output": said.get("output", ""),
    }
    crash = next((event for event in events if event["kind"] == "crash"), None)
    if crash is not None:
        record["crash"] = crash
    if stacks := [event for event in events if event["kind"] == "stack"]:
        record["stacks"] = stacks
    for member in ("pending", "blocked", "teardown", "unasked"):
        if member in said:
            record[member] = said[member]
    return record


def _texts(events: Iterable[Mapping[str, Any]], kind: str) -> list[str]:
    return [event["text"] for event in events if event["kind"] == kind]
