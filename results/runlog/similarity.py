# SPDX-License-Identifier: BSD-2-Clause
"""What cases that ended alike have in common: of many such only a sample is run again."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from results.runlog.contradiction import SAID
from results.runlog.records import broken_clause

# The least so many of those that ended alike are run again; where one of them ended otherwise
# then, the most (docs/decisions/0160-second-attempts-and-waits.md).
LEAST, MOST = 5, 20


class Kind(NamedTuple):
    """One way to end, of a mode: a verdict with its call, check or reason, or what failed beside
    the clause.
    """

    hosts: int
    what: str
    where: tuple[str, ...]


def kinds(record: Mapping[str, Any]) -> tuple[Kind, ...]:
    """The ways in which a verdict's record was found broken; none where nothing was.

    `record` is one of docs/results.md.
    """
    hosts, word = record["hosts"], record["verdict"]
    found = []
    if word not in SAID and word not in ("BLOCKED", "ERROR"):
        found.append(Kind(hosts, word, _where(record)))
    for trouble in record.get("teardown", ()):
        where = (trouble.get(name, "") for name in ("call", "what"))
        found.append(Kind(hosts, "teardown", tuple(map(str, where))))
    for trouble in record.get("unasked", ()):
        found.append(Kind(hosts, "unasked", (str(trouble.get("call", "")),)))
    if clause := broken_clause(record):
        found.append(Kind(hosts, "model", (clause,)))
    return tuple(found)


def broken(record: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """What failed beside a verdict's clause, which a second attempt must have in common with it: of
    a call that had no end in teardown, not how long it was waited for.
    """
    found = [
        (
            str(trouble.get("call", "")),
            str(trouble.get("what", "")),
            "" if trouble.get("what") == "timeout" else str(trouble.get("saw", "")),
            str(trouble.get("who", "case")),
        )
        for trouble in record.get("teardown", ())
    ]
    found += [
        (str(trouble.get("call", "")), "unasked", "", "") for trouble in record.get("unasked", ())
    ]
    if clause := broken_clause(record):
        found.append(("", "deviates", clause, ""))
    return tuple(found)


def enough(tried: int, varied: bool) -> bool:
    """Whether of a kind with so many second attempts, one of which `varied`, no more are wanted."""
    return tried >= (MOST if varied else LEAST)


def _where(record: Mapping[str, Any]) -> tuple[str, ...]:
    """The call that it ended in, or the check that did not hold with the last call before it."""
    if pending := record.get("pending"):
        return (str(pending),)
    check = next((one for one in record.get("checks", ()) if not one.get("ok")), None)
    if check is None or record["verdict"] == "CONTRADICTED":
        return (str(record.get("reason", "")),)
    last = ""
    for call in record.get("calls", ()):
        if call.get("who") == "case" and call.get("n", 0) <= check.get("calls", 0):
            last = str(call.get("call"))
    return str(check.get("file")), str(check.get("line")), last
