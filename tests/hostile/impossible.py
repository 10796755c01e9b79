# SPDX-License-Identifier: BSD-2-Clause
"""Records that no run writes: each breaks one invariant, in a record that is chained anew."""

import copy
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from results.runlog.invariants import TABLE, broken
from tests.hostile.figures import Figures
from tests.reports.synthetic_run import Record, call, check, write_records

MISSED = "records not refused"
SHA256 = "3f" * 32
NEEDS = {
    "srq_supported": True,
    "tea_supported": False,
    "cup_supported": False,
    "pot_supported": True,
}
ATTRIBUTES = {"max_srqs": 4, "tea": 0, "cup_supported": "unwritten", "pot_supported": "unwritten"}
FOUND = {
    "cup_supported": {"by": "assumption", "how": "--assume says so", "present": False},
    "pot_supported": {"by": "trial", "how": "dat_pot_create worked", "present": True},
    "lid_supported": {"by": "trial", "how": "its trial ended in CRASH"},
}
Change = Callable[[random.Random, list[Record]], None]

# By the name of each invariant, the ways in which it is broken.
WAYS: dict[str, list[Change]] = {row.name: [] for row in TABLE}


def _way(name: str) -> Callable[[Change], Change]:
    def add(change: Change) -> Change:
        WAYS[name].append(change)
        return change

    return add


def good() -> list[Record]:
    """The records of a run of two modes in which all holds."""
    plan = [{"case": f"p/{name}", "hosts": hosts} for name in "abcd" for hosts in (1, 2)]
    clauses = [{"id": f"p/{name}", "needs": ["srq_supported"]} for name in "abc"]
    clauses.append({"id": "p/d", "needs": ["tea_supported"]})
    records: list[Record] = [
        {
            "type": "run",
            "format": 3,
            "run": "r",
            "started": "2026-01-02T03:04:05Z",
            "command": ["udapl-cts", "certify", "--assume", "cup_supported=0"],
            "assumed": {"cup_supported": False},
            "modes": [1, 2],
            "subject": {"sha256": SHA256, "ia": "x0", "dat_conf_entry": "x0 u1.2 default"},
            "clauses": clauses,
            "plan": plan,
            "explore": 20,
        }
    ]
    for hosts in (1, 2):
        records.append(_hosts(hosts))
        records += [_verdict(f"p/{name}", hosts, number) for number, name in enumerate("abc")]
        records.append(_unsupported(hosts))
    records += [_walk(), _explored()]
    records.append({"type": "end", "finished": "2026-01-02T03:09:05Z", "status": "complete"})
    return records


def _hosts(hosts: int) -> Record:
    ia = {"open": True, "sha256": SHA256, "attributes": ATTRIBUTES, "needs": NEEDS, "found": FOUND}
    facts = [{"name": f"host{number}", "provider": SHA256} for number in range(1, hosts + 1)]
    return {"type": "hosts", "hosts": hosts, "facts": facts, "ia": ia, "other_ias": [ia][1:hosts]}


def _verdict(case: str, hosts: int, number: int) -> Record:
    word = ("PASS", "NOTE", "FAIL")[number]
    calls = [
        call(n, "dat_evd_dequeue", at_us=100 * n + 10 * number + hosts, ns=[n, n + 1])
        for n in range(1, 14)
    ]
    checks = [check("one"), check("two", ok=word != "FAIL", calls=13)]
    checks = [{**each, "file": "cases/o/p/order.c"} for each in checks]
    return {
        "type": "verdict",
        "case": case,
        "hosts": hosts,
        "attempt": 1,
        "verdict": word,
        "reason": "" if word == "PASS" else "it is so",
        "host": "host1",
        "peer": "host2" if hosts == 2 else "",
        "started": "2026-01-02T03:05:05Z",
        "ms": 20.0,
        "checks": checks,
        "calls": calls,
        "notes": ["it is so"] if word == "NOTE" else [],
        "records": [],
        "leaks": [],
        "oracle": {"verdict": "agrees", "judged": 13},
    }


def _unsupported(hosts: int) -> Record:
    record = _verdict("p/d", hosts, 0)
    said = {"verdict": "UNSUPPORTED", "reason": "tea = 0", "calls": [], "checks": []}
    return {**record, **said, "oracle": {"verdict": "unjudged", "judged": 0}}


def _walk() -> Record:
    """A walk of which the third call deviates."""
    record = {**_verdict("explore/walk", 1, 0), "case": "explore/walk", "breaks": "p/x"}
    record["calls"] = [{**each, "at_us": each["at_us"] + 5} for each in record["calls"]]
    said = {"verdict": "deviates", "n": 3, "clause": "p/x", "why": "it is so [p/x]"}
    record["oracle"] = {**said, "who": "case", "judged": 3}
    told = {"what": "deviates", "call": "dat_evd_dequeue", "clause": "p/x", "call_n": 3}
    told |= {"why": "it is so [p/x]", "shown": 4, "again": 5, "record": record}
    return {"type": "walk", "number": 1, "steps": ["evd_dequeue 3000 8000"], **told}


def _explored() -> Record:
    counts = {"walks": 9, "steps": 90, "calls": 80, "judged": 70, "findings": 1}
    states = {"pz": {"in use": 7}}
    return {"type": "explored", "hosts": 1, "seconds": 20, "seed": 7, **counts, "states": states}


def _any(rng: random.Random, records: list[Record], kind: str, *words: str) -> Record:
    """One record of this kind, of a verdict of these words."""
    found = [r for r in records if r["type"] == kind and (not words or r["verdict"] in words)]
    return rng.choice(found)


def _call(rng: random.Random, records: list[Record]) -> Record:
    made: Record = rng.choice(_any(rng, records, "verdict", "PASS", "NOTE", "FAIL")["calls"])
    return made


def _check(rng: random.Random, records: list[Record]) -> Record:
    made: Record = rng.choice(_any(rng, records, "verdict", "PASS", "NOTE", "FAIL")["checks"])
    return made


def _members(name: str, kind: str, *words: str, **changes: list[Any]) -> None:
    """Ways that give a member of a record another value."""
    for member, values in changes.items():

        def change(
            rng: random.Random,
            records: list[Record],
            member: str = member,
            values: list[Any] = values,
        ) -> None:
            _any(rng, records, kind, *words)[member] = rng.choice(values)

        WAYS[name].append(change)


_members("plan", "run", started=["yesterday", "", None, 7], modes=[[1], [2], []])
_members("assumed", "run", assumed=[{}, {"cup_supported": True}, {"pot_supported": False}])
_members("assumed", "run", command=[[], ["--assume", "cup_supported=1"], ["--assume=x_y=0"]])
_members("hosts", "hosts", facts=[[], [{"name": "host1"}] * 2, [{"name": f"h{i}"} for i in "abc"]])
_members("where", "verdict", host=["host3", "", None], peer=["host1", "host7"])
_members("times", "verdict", ms=[-5, -0.1, None, "3"], started=["", "1 May"])
_members("needs", "verdict", "UNSUPPORTED", reason=["", "tea = 1", "max_srqs = 5"])
_members("needs", "verdict", "PASS", "NOTE", "FAIL", case=["p/d"])
_members("noted", "verdict", "NOTE", reason=["", "another", "it is", "it is so "], notes=[[]])
_members("noted", "verdict", "PASS", reason=["it is so", "DAT_SUCCESS"], notes=[["a note"]])
_members("blocked", "verdict", "PASS", "NOTE", blocked=[{"call": "dat_ia_open"}])
_members("blocked", "verdict", "PASS", "UNSUPPORTED", pending=["dat_ia_open", "dat_evd_wait"])
_members("blocked", "verdict", "PASS", "NOTE", crash=[{"signal": "SIGSEGV", "backtrace": []}])
_members("judged", "verdict", "PASS", "NOTE", oracle=[{"verdict": "agrees", "judged": 12}])
_members("judged", "verdict", oracle=[{"verdict": "agrees", "judged": 13, "asked": {"x": 0}}])
_members("judged", "verdict", oracle=[{"verdict": "agrees", "judged": -1}, {"judged": 3}, 3])
_members("breaks", "verdict", breaks=["p/a", "", "p"])
_members("excused", "verdict", excused=[True])
_members("walk", "walk", call=["dat_evd_wait", ""], clause=["p/y", ""], why=["", None], call_n=[2])
_members("walk", "walk", what=["CRASH", "PASS", None], shown=[6, -1, None], record=[{}, None])
_members("walk", "run", explore=[0, None])
_members("explored", "explored", seconds=[10, 21, None], judged=[81, -1, None], calls=[60, None])
_members("explored", "explored", walks=[-1, None], states=[{"pz": {"in use": 0}}, None])
_members("end", "end", finished=["", "later", None], status=["", "Complete", "whole", None])


@_way("subject")
def _of_no_digest(rng: random.Random, records: list[Record]) -> None:
    records[0]["subject"]["sha256"] = rng.choice(["", "3f" * 31, "zz" * 32, None, SHA256 + "0"])


@_way("subject")
def _of_another_entry(rng: random.Random, records: list[Record]) -> None:
    records[0]["subject"][rng.choice(["ia", "dat_conf_entry"])] = rng.choice(["y0", "y0 u1.2", ""])


@_way("plan")
def _doubled(rng: random.Random, records: list[Record]) -> None:
    rows = records[0][rng.choice(["plan", "clauses"])]
    rows.append(rng.choice(rows))


@_way("library")
def _of_another_library(rng: random.Random, records: list[Record]) -> None:
    hosts = _any(rng, records, "hosts")
    other = rng.choice(["00" * 32, SHA256[:-1] + "e", "x"])
    places = [(hosts["ia"], "sha256"), *((fact, "provider") for fact in hosts["facts"])]
    place, member = rng.choice(places)
    place[member] = other


@_way("attributes")
def _of_nothing(rng: random.Random, records: list[Record]) -> None:
    _any(rng, records, "hosts")["ia"][rng.choice(["attributes", "needs"])] = rng.choice([{}, None])


@_way("where")
def _never_opened(rng: random.Random, records: list[Record]) -> None:
    _any(rng, records, "hosts")["ia"]["open"] = rng.choice([False, None, 0])


@_way("where")
def _nowhere(rng: random.Random, records: list[Record]) -> None:
    records.remove(_any(rng, records, "hosts"))


@_way("times")
def _out_of_time(rng: random.Random, records: list[Record]) -> None:
    changes: list[Record] = [{"at_us": -1}, {"us": -7}, {"at_us": 10**9}, {"ns": [9, 2]}]
    _call(rng, records).update(rng.choice(changes))


@_way("numbers")
def _renumbered(rng: random.Random, records: list[Record]) -> None:
    calls = _any(rng, records, "verdict", "PASS", "NOTE", "FAIL")["calls"]
    way = rng.randrange(3)
    if way == 0:
        calls.pop(rng.randrange(len(calls) - 1))
    elif way == 1:
        calls.insert(0, calls.pop())
    else:
        rng.choice(calls).update(n=rng.choice([0, 99, -1]))


@_way("checks")
def _misplaced(rng: random.Random, records: list[Record]) -> None:
    changes: list[Record] = [
        {"file": "/etc/passwd"},
        {"file": "README.md"},
        {"line": 0},
        {"line": -3},
    ]
    _check(rng, records).update(rng.choice([*changes, {"calls": 14}, {"calls": -1}]))


@_way("own-checks")
def _of_another_page(rng: random.Random, records: list[Record]) -> None:
    """A check of a case of another page, as where the evidence of one case was copied."""
    files = ["cases/srq/q/grow.c", "cases/srq/q.c", "../../cases/ep/pp/fixtures.h"]
    _check(rng, records)["file"] = rng.choice(files)


@_way("found")
def _found_otherwise(rng: random.Random, records: list[Record]) -> None:
    """What was found is not what counts, or not by what the run has."""
    ia = _any(rng, records, "hosts")["ia"]
    feature = rng.choice(["cup_supported", "pot_supported"])
    present = ia["found"][feature]["present"]
    by = {"assumption": "trial", "trial": "assumption"}[ia["found"][feature]["by"]]
    place, member, value = rng.choice(
        [
            (ia["found"][feature], "present", not present),
            (ia["found"][feature], "by", by),
            (ia["needs"], feature, not present),
            (ia["attributes"], feature, int(present)),
        ]
    )
    place[member] = value


@_way("found")
def _counted_unfound(rng: random.Random, records: list[Record]) -> None:
    """A feature counts of which nothing tells."""
    ia = _any(rng, records, "hosts")["ia"]
    if rng.randrange(2):
        del ia["found"][rng.choice(["cup_supported", "pot_supported"])]
    else:
        ia["needs"]["lid_supported"] = rng.choice([True, False])


@_way("needs")
def _ran_unknown(rng: random.Random, records: list[Record]) -> None:
    """It ran, and needs a feature that no trial found."""
    next(each for each in records[0]["clauses"] if each["id"] == "p/b")["needs"] = ["lid_supported"]


@_way("needs")
def _declined(rng: random.Random, records: list[Record]) -> None:
    """UNSUPPORTED, of a feature that is declared."""
    record = _any(rng, records, "verdict", "PASS", "NOTE", "FAIL")
    record.update(verdict="UNSUPPORTED", reason="srq_supported = 0", calls=[], checks=[])


@_way("noted")
def _without_a_word(rng: random.Random, records: list[Record]) -> None:
    word = rng.choice(["CRASH", "TIMEOUT", "RESOURCE", "ERROR", "CONTRADICTED"])
    _any(rng, records, "verdict", "PASS").update(verdict=word, reason="")


@_way("walk")
def _walk_without_its_calls(rng: random.Random, records: list[Record]) -> None:
    """Its own record holds no longer."""
    record = _any(rng, records, "walk")["record"]
    change: Record = rng.choice(
        [{"ms": -1}, {"calls": []}, {"host": "host9"}, {"verdict": "ERROR"}]
    )
    record.update(change)


@_way("unlooked")
def _looked(rng: random.Random, records: list[Record]) -> None:
    """A case whose fixtures did without a query that its verdict does not name."""
    record = rng.choice([each for each in records if each["type"] == "verdict"])
    record["records"] = ["dat_ep_query is not called: ended by SIGSEGV in dat_ep_query"]


@_way("own-evidence")
def _copied(rng: random.Random, records: list[Record]) -> None:
    """The calls of a case in the record of another."""
    found = [r for r in records if r["type"] == "verdict" and r["calls"]]
    one, other = rng.sample(found, 2)
    other["calls"] = copy.deepcopy(one["calls"])


def impossible(folder: Path, count: int, rng: random.Random) -> Figures:
    """Break one invariant of a record, `count` times, and read what was written."""
    figures = Figures("records that no run writes", (MISSED,))
    names = list(WAYS)
    for number in range(count):
        name = names[number % len(names)]
        records = copy.deepcopy(good())
        rng.choice(WAYS[name])(rng, records)
        write_records(folder, records)
        figures.count()
        if not list(broken(folder)):
            figures.harm(MISSED, f"{name}, number {number}")
    return figures
