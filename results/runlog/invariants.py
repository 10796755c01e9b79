# SPDX-License-Identifier: BSD-2-Clause
"""What holds in the record of every run that a suite has written: the table of invariants.

A chain and a signature show that a record is whole. They do not show that a run made it. Each
invariant compares two things that a run tells twice, or a value with what it can be.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from results.runlog.events import read
from results.runlog.printable import printable
from results.runlog.records import EVENTS, KEPT
from results.runlog.walks import wrong

Record = Mapping[str, Any]

_SHA256 = re.compile(r"[0-9a-f]{64}")
# What the agent itself says of a NOTE that the case did not note.
_NOTED_BY_AGENT = re.compile(
    r"(processes|IPC objects) that outlived the case: \d+"
    r"|lines written to the suite's own channel: \d+"
    r"|.* by a destroyed handle \(GEN-1\)"
)
_NOT_KEPT = re.compile(r"(calls|checks and remarks) \d+ to \d+ are not kept: ")
# What became of a call that was made in a process apart and has no answer.
_APART = re.compile(r"the call ended its process: |no answer of a process apart ")
# What a fixture records that does without a look.
_NOT_CALLED = re.compile(r"(dat_ep_\w+) is not called: ")
_ATTRIBUTE = re.compile(r"([a-z0-9_]+) = (\S+?)(:.*)?")
# A call of a case ends no later than its verdict comes; so many ms may clocks differ.
_SLACK_MS = 100
# Two cases have no common times in so many calls, unless one is a copy.
_TELLING = 12
# What an attribute is that dat_ia_query never wrote; the feature without which others are not.
_UNWRITTEN = "unwritten"
_SRQ = "srq_supported"
# The words of verdicts of cases that did what their clauses need.
_RAN = KEPT | {"FAIL"}


@dataclass
class State:
    """What the records so far have told; of `sources`, the last line in which a check stands."""

    head: Record = field(default_factory=dict)
    clauses: dict[str, Record] = field(default_factory=dict)
    hosts: dict[int, Record] = field(default_factory=dict)
    # By mode and feature, what IAs of the mode's hosts tell of it; None: it is not known there.
    told: dict[int, dict[str, set[bool | None]]] = field(default_factory=dict)
    seen: dict[str, str] = field(default_factory=dict)
    sources: dict[str, int] = field(default_factory=dict)

    def take(self, record: Record) -> None:
        """Remember a record that agreed."""
        kind = record.get("type")
        if kind == "run":
            self.head = record
            self.clauses = {str(clause.get("id")): clause for clause in record.get("clauses", ())}
        elif kind == "hosts":
            self.hosts[record["hosts"]] = record
            told = self.told.setdefault(record["hosts"], {})
            ia = record["ia"]
            for feature in {**ia.get("needs", {}), **ia.get("found", {})}:
                told.setdefault(feature, set()).add(ia.get("needs", {}).get(feature))
        elif kind == "verdict":
            for check in record.get("checks", ()):
                file = check.get("file")
                self.sources[file] = max(check.get("line"), self.sources.get(file, 0))


@dataclass(frozen=True)
class Invariant:
    """One row: of which record, what holds, and how a record that breaks it is reported."""

    name: str
    of: str
    text: str
    broken: Callable[[State, Record], Iterator[str]]


TABLE: list[Invariant] = []
_Broken = Callable[[State, Record], Iterator[str]]


def _invariant(of: str, text: str) -> Callable[[_Broken], _Broken]:
    def add(broken: _Broken) -> _Broken:
        name = broken.__name__.strip("_").replace("_", "-")
        TABLE.append(Invariant(name, of, text, broken))
        return broken

    return add


def broken(path: Path, state: State | None = None) -> Iterator[str]:
    """What in the record of the run in folder `path` does not hold, with line and invariant.

    `state` then has what the records told. Raises ReportError for a record that cannot be read.
    """
    state = state or State()
    for record in read(path / EVENTS):
        if record is None:
            return
        values, agrees = record.values, True
        for invariant in TABLE:
            if invariant.of != values.get("type"):
                continue
            for text in _safely(invariant, state, values):
                agrees = False
                yield f"line {record.line}: {printable(text)} ({invariant.name})"
        if agrees:
            state.take(values)


def _safely(invariant: Invariant, state: State, record: Record) -> list[str]:
    """A member of another type than it should be breaks whatever looks at it."""
    try:
        return list(invariant.broken(state, record))
    except (TypeError, ValueError, AttributeError, KeyError, IndexError, OverflowError):
        return ["a member is missing, or of another type"]


@_invariant("run", "The subject has a SHA-256, and its entry in the dat.conf is of its IA.")
def _subject(_: State, record: Record) -> Iterator[str]:
    subject = record["subject"]
    if not _SHA256.fullmatch(subject["sha256"]):
        yield "the subject has no SHA-256"
    if subject["dat_conf_entry"].split()[:1] != [subject["ia"]]:
        yield f"the entry of the dat.conf is not of the IA {subject['ia']}"


@_invariant("run", "Clauses, and cases in a mode, stand there once; each mode is one of the run.")
def _plan(_: State, record: Record) -> Iterator[str]:
    clauses = [clause["id"] for clause in record["clauses"]]
    planned = [(row["case"], row["hosts"]) for row in record["plan"]]
    if len(set(clauses)) != len(clauses):
        yield "a clause is there twice"
    if len(set(planned)) != len(planned):
        yield "a case is planned twice"
    if not {hosts for _, hosts in planned} <= set(record["modes"]):
        yield "a case is planned in a mode that the run does not have"
    _time(record["started"])


@_invariant(
    "hosts",
    "As many hosts are there as the mode has, or more in a spread run, each with its own name.",
)
def _hosts(state: State, record: Record) -> Iterator[str]:
    names = [fact["name"] for fact in record["facts"]]
    options = {word.partition("=")[0] for word in state.head.get("command", ())}
    is_spread = "testbeds" in record or "--spread" in options
    enough = len(names) >= record["hosts"] if is_spread else len(names) == record["hosts"]
    if len(set(names)) != len(names) or not enough:
        yield f"{len(names)} hosts are told of in a mode of {record['hosts']}"
    if record["hosts"] not in state.head["modes"]:
        yield f"the run has no mode of {record['hosts']} hosts"


@_invariant("hosts", "The provider that each host loaded is the subject's.")
def _library(state: State, record: Record) -> Iterator[str]:
    due = state.head["subject"]["sha256"]
    told = [ia["sha256"] for ia in _ias(record) if ia.get("sha256")]
    told += [fact["provider"] for fact in record["facts"] if fact.get("provider")]
    if any(ia.get("build_id") and not ia.get("sha256") for ia in _ias(record)):
        yield "a host does not tell which provider it loaded"
    for digest in told:
        if digest != due:
            yield f"a host loaded {digest}, and the subject is {due}"


@_invariant(
    "hosts",
    "An IA that opens tells its attributes and what it declares; all are unwritten if dat_ia_query"
    " gave no answer.",
)
def _attributes(_: State, record: Record) -> Iterator[str]:
    for ia in _ias(record):
        if ia["open"] and not (ia.get("attributes") and ia.get("needs")):
            yield "the IA opens, and tells nothing of itself"
        if ia.get("unasked") and any(each != _UNWRITTEN for each in ia["attributes"].values()):
            yield "dat_ia_query gave no answer, and the IA has attributes"


@_invariant("run", "What is assumed is what --assume says.")
def _assumed(_: State, record: Record) -> Iterator[str]:
    said = dict(_assumptions(record.get("command", ())))
    assumed = {feature: bool(value) for feature, value in record.get("assumed", {}).items()}
    if said != assumed:
        yield f"--assume says {_features(said)}, and the run has {_features(assumed)}"


@_invariant(
    "hosts",
    "A trial, or --assume, tells of a feature of which dat_ia_query tells nothing, and what is"
    " found is what is declared.",
)
def _found(state: State, record: Record) -> Iterator[str]:
    assumed = state.head.get("assumed", {})
    for ia in _ias(record):
        needs, attributes = ia.get("needs", {}), ia.get("attributes", {})
        found = ia.get("found", {})
        for feature, said in found.items():
            if attributes.get(feature, _UNWRITTEN) != _UNWRITTEN:
                yield f"{feature} was found by {said['by']}, and dat_ia_query tells of it"
            if (said["by"] == "assumption") != (feature in assumed):
                yield f"{feature} was found by {said['by']}, against --assume"
            if said["by"] == "assumption" and said.get("present") is not assumed.get(feature):
                yield f"{feature} was assumed otherwise"
            # A feature of SRQs is no more there, and no more known, than SRQs are.
            counts = needs.get(feature)
            as_srqs = not counts and counts is needs.get(_SRQ)
            if counts is not said.get("present") and not as_srqs:
                yield f"{feature} was found otherwise than it counts"
        for feature, value in attributes.items():
            if value == _UNWRITTEN and feature in needs and feature not in found:
                yield f"{feature} counts, and nothing tells of it"


@_invariant("verdict", "It is of a host of its mode, whose IA opened; a peer is another host.")
def _where(state: State, record: Record) -> Iterator[str]:
    hosts = state.hosts.get(record["hosts"])
    if hosts is None:
        yield f"no hosts are told of for a mode of {record['hosts']}"
        return
    names = {fact["name"] for fact in hosts["facts"]}
    if record["host"] not in names:
        yield f"there is no host {record['host']}"
    if record.get("peer") and (record["peer"] not in names or record["peer"] == record["host"]):
        yield f"{record['peer']} is no host for a peer"
    if not all(ia["open"] for ia in _ias(hosts)):
        yield "no IA opened there"


@_invariant("verdict", "Times are not negative, and no call ends after its verdict.")
def _times(_: State, record: Record) -> Iterator[str]:
    _time(record["started"])
    if not 0 <= record["ms"] < math.inf:
        yield f"it took {record['ms']} ms"
    for call in _calls(record, "case"):
        end = call["at_us"] + call.get("us", 0)
        if call["at_us"] < 0 or call.get("us", 0) < 0:
            yield f"{call['call']} took a negative time"
        elif end / 1000 > record["ms"] + _SLACK_MS:
            yield f"{call['call']} ended {end / 1000:.0f} ms after the case began, whose verdict"
            f" came after {record['ms']:.0f} ms"
        if "ns" in call and call["ns"][:1] > call["ns"][1:] and len(call["ns"]) == 2:
            yield f"{call['call']} returned before it was made"


@_invariant(
    "verdict",
    "Calls are numbered from 1. A gap is of a log that is too long, or of a call that ended its"
    " process.",
)
def _numbers(_: State, record: Record) -> Iterator[str]:
    for who in ("case", "peer"):
        numbers = [call["n"] for call in _calls(record, who)]
        if not numbers:
            continue
        ascending = numbers[0] == 1 and all(a < b for a, b in pairwise(numbers))
        missing = numbers[-1] - len(numbers)
        if not ascending or (missing > _lost_apart(record) and not _is_cut(record)):
            yield f"calls of the {who} are missing, or in another order"


@_invariant("verdict", "A check is in a source file, behind a call that was made.")
def _checks(_: State, record: Record) -> Iterator[str]:
    most = max((call["n"] for call in _calls(record, "case")), default=0)
    last = 0
    for check in record.get("checks", ()):
        path = PurePosixPath(check["file"])
        if path.suffix not in (".c", ".h", ".toml") or path.is_absolute():
            yield f"{check['file']} is no source file"
        if check["line"] < 1:
            yield f"{check['file']} has no line {check['line']}"
        if not last <= check["calls"] <= most:
            yield f"{check['file']}:{check['line']} stands behind call {check['calls']} of {most}"
        last = check["calls"]


@_invariant("verdict", "A check in a source file of one page is of a case of that page.")
def _own_checks(_: State, record: Record) -> Iterator[str]:
    page = record["case"].partition("/")[0]
    for check in record.get("checks", ()):
        path = PurePosixPath(check["file"])
        parts = [part for part in path.parts if part != ".."]
        if parts[:1] != ["cases"] or len(parts) < len(("cases", "OBJECT", "PAGE")):
            continue
        of = PurePosixPath(parts[2]).stem
        if path.suffix in (".c", ".h") and "shared" not in parts and of != page:
            yield f"{check['file']} has checks of {of}, and the case is of {page}"


@_invariant("verdict", "UNSUPPORTED names what the provider declares absent, and what runs has it.")
def _needs(state: State, record: Record) -> Iterator[str]:
    word, ia = record["verdict"], _ia_of(state, record)
    needs = state.clauses.get(record["case"], {}).get("needs", ())
    counts = state.told.get(record["hosts"], {})
    absent = [need for need in needs if False in counts.get(need, ())]
    if word in _RAN and (denied := [need for need in absent if counts[need] == {False}]):
        yield f"it ran, and {denied[0]} is declared absent"
    if word in _RAN and (unknown := [need for need in needs if counts.get(need) == {None}]):
        yield f"it ran, and it is not known whether {unknown[0]} is there"
    if word != "UNSUPPORTED":
        return
    if not record["reason"]:
        yield "it does not say what is unsupported"
    if not _calls(record, "case") and not absent:
        yield "it made no call, and all that it needs is declared"
    told = _ATTRIBUTE.fullmatch(record["reason"])
    value = ia.get("attributes", {}).get(told[1]) if told else None
    if told and type(value) is int and value != int(told[2], 0):
        yield f"it says {told[0]}, and the IA {value}"


@_invariant("verdict", "A NOTE has its note; PASS has neither a reason nor a note.")
def _noted(_: State, record: Record) -> Iterator[str]:
    word, reason = record["verdict"], record["reason"]
    notes = [*record.get("notes", ()), *record.get("leaks", ())]
    if word == "NOTE" and reason not in notes and not _NOTED_BY_AGENT.fullmatch(reason):
        yield "nothing of it notes its reason"
    if word == "PASS" and (reason or record.get("notes")):
        yield "it passed, and says why not"
    if word in ("CRASH", "TIMEOUT", "BLOCKED", "ERROR", "RESOURCE", "CONTRADICTED") and not reason:
        yield "it does not say why"


@_invariant("verdict", "Only BLOCKED tells what blocked it; what was kept did not crash.")
def _blocked(_: State, record: Record) -> Iterator[str]:
    word = record["verdict"]
    if bool(record.get("blocked")) != (word == "BLOCKED"):
        yield "what blocked it is told, or not told, against its verdict"
    if record.get("pending") and word in ("PASS", "UNSUPPORTED"):
        yield f"{record['pending']} had not returned"
    crash = record.get("crash") or {}
    own = bool(crash) and not crash.get("teardown") and crash.get("who", "case") == "case"
    if word in KEPT and own and "(GEN-1)" not in record["reason"]:
        yield "its process crashed"


@_invariant("verdict", "It names each query by which its fixtures did not look.")
def _unlooked(_: State, record: Record) -> Iterator[str]:
    told = {each["call"] for each in record.get("unasked", ())}
    for text in record.get("records", ()):
        said = _NOT_CALLED.match(text)
        if said and said[1] not in told:
            yield f"{said[1]} was not called, and the verdict does not tell of it"


@_invariant("verdict", "No two cases have the same calls at the same times.")
def _own_evidence(state: State, record: Record) -> Iterator[str]:
    calls = _calls(record, "case")
    if len(calls) < _TELLING:
        return
    times = json.dumps([(call["at_us"], call.get("us")) for call in calls])
    key = hashlib.sha256(times.encode()).hexdigest()
    what = f"{record['case']} on {record['hosts']}, attempt {record['attempt']}"
    other = state.seen.setdefault(key, what)
    if other != what:
        yield f"its calls have the times of those of {other}"


@_invariant("verdict", "The executable specification has looked at as many calls as there are.")
def _judged(_: State, record: Record) -> Iterator[str]:
    said = record.get("oracle")
    if said is None:
        return
    judged, unjudged = said.get("judged", 0), said.get("unjudged", 0)
    most = len(record.get("calls", ()))
    # It may end early, at a deviation or at a call that it cannot read, but not where all agrees.
    least = most if said["verdict"] == "agrees" else 0
    if judged < 0 or unjudged < 0 or not least <= judged + unjudged <= most:
        yield f"{judged + unjudged} calls were judged of {most}"
    if any(count < 1 for count in said.get("asked", {}).values()):
        yield "a clause was judged less than once"


@_invariant(
    "verdict",
    "A case that was kept breaks another clause if the executable specification says so.",
)
def _breaks(_: State, record: Record) -> Iterator[str]:
    clause = record.get("breaks")
    if clause is None:
        return
    said = record.get("oracle") or {}
    if record["verdict"] not in KEPT or said.get("verdict") != "deviates":
        yield f"it breaks {clause}, and was not kept, or agrees with the executable specification"
    elif said.get("clause") != clause or f"{record['case']}/".startswith(f"{clause}/"):
        yield f"it breaks {clause}, which is not what the executable specification finds"


@_invariant(
    "verdict",
    "What a case breaks is excused only if the clause convicts a registry that is not under test.",
)
def _excused(state: State, record: Record) -> Iterator[str]:
    if not record.get("excused"):
        return
    broken = state.clauses.get(str(record.get("breaks")), {"blame": "registry"})
    tested = state.head.get("subject", {}).get("libdat")
    if "breaks" not in record or broken.get("blame") != "registry" or tested:
        yield "it is excused, and breaks no clause of a registry that is not under test"


@_invariant(
    "walk",
    "It was taken in a run that was to explore, and what is wrong with it is what its verdict, its"
    " calls and the executable specification tell, which hold as those of a case.",
)
def _walk(state: State, record: Record) -> Iterator[str]:
    verdict = record["record"]
    if not state.head.get("explore"):
        yield "the run was not to take random walks"
    found = wrong(verdict)
    if found is None or any(record[name] != value for name, value in found.record.items()):
        yield f"{record['call'] or 'no call'} is wrong by it, and its verdict does not say so"
    if not 0 <= record["shown"] <= record["again"]:
        yield f"it was shown {record['shown']} of {record['again']} times"
    for look in (_where, _times, _numbers, _checks, _judged, _breaks):
        yield from look(state, verdict)


@_invariant("explored", "No more calls were judged than were made, in the time that was asked for.")
def _explored(state: State, record: Record) -> Iterator[str]:
    if record["seconds"] != state.head.get("explore"):
        yield f"{record['seconds']} s of walks are recorded, and others were asked for"
    if not 0 <= record["judged"] <= record["calls"]:
        yield f"{record['judged']} calls were judged of {record['calls']}"
    counts = [count for states in record["states"].values() for count in states.values()]
    if min((*counts, 1)) < 1 or min(record["walks"], record["steps"]) < 0:
        yield "a count is less than one"


@_invariant("end", "The last record is of a whole run, or of one that was interrupted.")
def _end(_: State, record: Record) -> Iterator[str]:
    _time(record["finished"])
    if record["status"] not in ("complete", "interrupted"):
        yield f"a run does not end {record['status']}"


def _time(text: str) -> datetime:
    """A point in time as runs tell it. Raises ValueError."""
    return datetime.fromisoformat(text)


def _assumptions(command: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """What the options --assume of a command say, in one word or in two."""
    words = iter(command)
    for word in words:
        option, equals, value = word.partition("=")
        if len(option) > len("--a") and "--assume".startswith(option):
            feature, _, said = (value if equals else next(words, "")).partition("=")
            yield feature, said == "1"


def _features(said: Mapping[str, bool]) -> str:
    return ", ".join(f"{feature}={int(value)}" for feature, value in said.items()) or "nothing"


def _ias(record: Record) -> list[Record]:
    return [record["ia"], *record.get("other_ias", ())]


def _ia_of(state: State, record: Record) -> Record:
    ia: Record = state.hosts.get(record["hosts"], {}).get("ia", {})
    return ia


def _calls(record: Record, who: str) -> list[Record]:
    return [call for call in record.get("calls", ()) if call.get("who", "case") == who]


def _lost_apart(record: Record) -> int:
    """How many calls are lost because their process apart ended or was given up."""
    return sum(bool(_APART.match(text)) for text in record.get("records", ()))


def _is_cut(record: Record) -> bool:
    return any(_NOT_KEPT.match(text) for text in record.get("records", ()))
