# SPDX-License-Identifier: BSD-2-Clause
"""Builds the model of a run from the records of its events.jsonl.zst."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from results.errors import ReportError
from results.gc_pause import uncollected
from results.model.attempt import KEPT, NOT_KEPT, UNKNOWN, Attempt, Verdict
from results.model.clause import Case, Clause, Fault, Page, Proof, Ruling, Waiver, hosts_word
from results.model.demand import demand
from results.model.evidence import UNASKED, Call, Check, Crash, Evidence, Stack, Trouble
from results.model.evidence_store import Store, pack
from results.model.run import Run
from results.model.subject import End, Fabric, Found, Ia, Incident, Subject, Suite, Undeclared
from results.model.walk import Explored, Walk
from results.runlog.chain import Link
from results.runlog.contradiction import contradiction
from results.runlog.events import Members, Unclear, as_text, read, unread, whole
from results.runlog.frames import EVENTS
from results.runlog.printable import printable
from results.runlog.records import broken_clause
from results.runlog.similarity import kinds
from results.worker_processes import in_order

# What a run's end tells, as docs/results.md has it.
_CONFORMANT, _NOT_CONFORMANT, _COULD_NOT_TELL = 0, 1, 2
# From so many bytes on, a file of records is read by all processors.
_LARGE = 1 << 20
# How a line of a verdict begins that the runner wrote.
_VERDICT = re.compile(rb'\{"type":"verdict","case":"([0-9a-z_/]+)",')


@uncollected()
def load(run_dir: Path) -> Run:
    """Reads `run_dir`/events.jsonl.zst, of a complete run or of a partial one.

    Raises ReportError as results.runlog.events.read does.
    """
    store = Store(run_dir)
    return _load(run_dir, store.keep, store.put)


@uncollected()
def light(run_dir: Path) -> Run:
    """The same run without the evidence of its verdicts, for who only counts them."""
    return _load(run_dir, lambda evidence: Evidence, lambda packed: Evidence)


# Takes the evidence of an attempt, and gives what has it when it is wanted.
_Keep = Callable[[Evidence], Callable[[], Evidence]]
_Put = Callable[[bytes], Callable[[], Evidence]]


@dataclass(frozen=True)
class _Made:
    """What a copy of this process has made of a verdict's record: an attempt, its evidence packed,
    how often it was asked for what, and the link of its line.
    """

    attempt: Attempt
    packed: bytes
    asked: dict[str, int]
    link: Link


def _load(run_dir: Path, keep: _Keep, put: _Put) -> Run:
    """Where there is much to read all processors do it; what is unclear then is read anew."""
    path = run_dir / EVENTS
    with suppress(Unclear, OSError):
        if path.stat().st_size >= _LARGE:
            pages: dict[str, str] = {}
            return _told(path, _side_by_side(path, pages), keep, put, pages)
    return _told(path, read(path), keep, put, {})


def _side_by_side(path: Path, pages: Mapping[str, str]) -> Iterator[Members | _Made]:
    lines = unread(path)
    for last, raw in islice(lines, 1):
        yield whole(raw, last)
    yield from in_order(_made, ((last, raw, pages.get(_case(raw), "")) for last, raw in lines))


def _case(raw: bytes) -> str:
    """The case of a verdict's line, as the runner writes it; else nothing."""
    head = _VERDICT.match(raw)
    return head[1].decode() if head else ""


def _made(part: tuple[Link, bytes, str]) -> Members | _Made:
    """An attempt, if the line has a page, else the record of the line. Raises Unclear."""
    last, raw, page = part
    record = whole(raw, last)
    if not page:
        return record
    if record.text("type") != "verdict" or record.text("case") != _case(raw):
        raise Unclear
    kept: list[bytes] = []

    def keep(evidence: Evidence) -> Callable[[], Evidence]:
        kept.append(pack(evidence))
        return Evidence

    try:
        attempt = _attempt(record, page, keep)
        return _Made(attempt, kept[0], record.member("oracle").counts("asked"), record.link)
    except ReportError as error:
        raise Unclear from error


def _told(
    path: Path,
    records: Iterator[Members | _Made | None],
    keep: _Keep,
    put: _Put,
    pages: dict[str, str],
) -> Run:
    """The run that these records tell of; `pages` gets the page of each case that is planned."""
    first = next(records, None)
    if not isinstance(first, Members):
        raise ReportError(f"{path} holds no whole record: the run ended before its first one")
    run = _run(first)
    cases = _Cases(run)
    cases.plan(first)
    pages |= cases.pages()
    last = first.link
    # It names each clause and case, in more memory than the model does.
    del first
    for record in records:
        if record is None:
            run.cut_off = True
            break
        if isinstance(record, _Made):
            last = record.link
            attempt = replace(record.attempt, evidence=put(record.packed))
            cases.add(attempt, Members(last.number, {}))
            run.asked.update(record.asked)
            continue
        last = record.link
        kind = record.text("type")
        if kind == "verdict":
            cases.add(_attempt(record, cases.page(record), keep), record)
            run.asked.update(record.member("oracle").counts("asked"))
        elif kind == "hosts":
            run.fabrics.append(_fabric(record))
        elif kind == "undeclared":
            run.undeclared.append(
                Undeclared(
                    record.text("feature", None), record.text("case"), record.text("verdict")
                )
            )
        elif kind == "walk":
            run.walks.append(_walk(record, len(run.walks) + 1, keep))
        elif kind == "explored":
            run.explored = _explored(record, run)
        elif kind == "incident":
            run.incidents.append(
                Incident(record.text("what", None), record.text("host"), record.text("text"))
            )
        else:
            run.end = End(record.text("finished"), record.text("status", None))
            cases.check_total(record, run.end)
    cases.count_missing()
    run.records, run.digest = last.number, last.digest
    return run


def call_of(raw: Mapping[str, Any]) -> Call:
    """A recorded call. Raises ReportError if it is none."""
    return _call(Members(0, dict(raw)))


def attempt_of(record: Mapping[str, Any]) -> Attempt:
    """The model of a verdict's record that is in no file."""
    return _attempt(Members(0, dict(record)), "", lambda evidence: lambda: evidence)


def beside(record: Mapping[str, Any]) -> str:
    """What failed beside the clause of a verdict's record, in words; empty if nothing did: in
    teardown, or in a call that the executable specification found wrong.
    """
    said = [Trouble(**broken).text for broken in record.get("teardown", ())]
    text = f"teardown: {'; '.join(said)}" if said else ""
    for each in record.get("unasked", ()):
        text += f"{'  ' if text else ''}probe: {Trouble(each['call'], UNASKED, each['saw']).text}"
    if broken_clause(record):
        text += f"{'  ' if text else ''}model: {record['oracle']['why']}"
    return text


class _Cases:
    """The cases of a run by id, each under its clause."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._clauses = {clause.id: clause for clause in run.clauses}
        self._cases: dict[str, Case] = {}
        self._lines: dict[tuple[object, ...], int] = {}

    def plan(self, record: Members) -> None:
        for item in record.members("plan"):
            self._case(item.text("case", None)).modes.add(item.integer("hosts", None))
        for clause in self._run.clauses:
            clause.cases.sort(key=lambda case: case.id)

    def pages(self) -> dict[str, str]:
        """The page of each case that is planned."""
        return {name: case.clause.page for name, case in self._cases.items()}

    def page(self, record: Members) -> str:
        """The page of the case that a verdict is of; empty where there is no such case."""
        case = self._cases.get(record.text("case", None))
        return case.clause.page if case else ""

    def add(self, attempt: Attempt, record: Members) -> None:
        case = self._cases.get(attempt.case)
        if case is None or attempt.hosts not in case.modes:
            record.damaged(f"{attempt.case} was not planned on {hosts_word(attempt.hosts)}")
        where = attempt.place if attempt.hosts in self._places else ()
        first = attempt.case, attempt.hosts, where, 1
        key = *first[:-1], attempt.number
        if key in self._lines:
            record.damaged(f"{attempt.case} has this verdict already, on line {self._lines[key]}")
        if first != key and first not in self._lines:
            record.damaged(f"{attempt.case} was run again before it was run at all")
        self._lines[key] = record.line
        case.attempts.append(attempt)

    def check_total(self, record: Members, end: End) -> None:
        """Give the line up where the verdicts before it do not come to the exit that it tells."""
        told = record.integer("exit", None)
        said = self._exit() if end.status == "complete" else _COULD_NOT_TELL
        if told != said:
            record.damaged(f"it tells exit {told}, and the verdicts before it come to {said}")

    def _exit(self) -> int:
        firsts = [a for case in self._cases.values() for a in case.attempts if a.number == 1]
        words = {
            Verdict.ERROR if self._run.excuses(case.clause, a.verdict) else a.verdict
            for case in self._cases.values()
            for a in case.attempts
            if a.number == 1
        }
        blocked = Verdict.BLOCKED in words
        beside = any(a.teardown or a.beside for a in firsts) or bool(self._run.walks)
        if words & NOT_KEPT or blocked or beside:
            return _NOT_CONFORMANT
        missing = any(
            (case.id, hosts, where, 1) not in self._lines
            for case in self._cases.values()
            for hosts in case.modes
            for where in self._places.get(hosts, ((),))
        )
        missing = missing or bool(self._run.unexplored)
        return _COULD_NOT_TELL if missing or words & UNKNOWN or not words & KEPT else _CONFORMANT

    @property
    def _places(self) -> dict[int, tuple[tuple[str, ...], ...]]:
        """The testbeds of each mode in which each has a verdict of its own."""
        return {fabric.hosts: fabric.testbeds for fabric in self._run.fabrics if fabric.testbeds}

    def count_missing(self) -> None:
        """Where the suite runs on each of several testbeds, tell each case how many it lacks."""
        for fabric in self._run.fabrics:
            for case in self._cases.values() if fabric.testbeds else ():
                firsts = [a for a in case.attempts if a.number == 1 and a.hosts == fabric.hosts]
                case.missing[fabric.hosts] = len(fabric.testbeds) - len(firsts)

    def _case(self, name: str) -> Case:
        case = self._cases.get(name)
        if case is None:
            case = self._cases[name] = Case(name, self._clause(name))
            case.clause.cases.append(case)
        return case

    def _clause(self, case: str) -> Clause:
        # The rows of a family are named below their clause.
        name = case
        while name not in self._clauses and "/" in name:
            name = name.rpartition("/")[0]
        clause = self._clauses.get(name)
        if clause is None:
            page = "dat_" + case.partition("/")[0]
            text = "The run recorded no clause for this case."
            clause = Clause(case, page, "", "", text, "", (), (), "")
            self._clauses[case] = clause
            self._run.clauses.append(clause)
        return clause


def _run(record: Members) -> Run:
    suite = record.member("suite")
    subject = record.member("subject")
    libdat = subject.member("libdat")
    modes = [hosts for hosts in record.items("modes") if isinstance(hosts, int)]
    return Run(
        id=record.text("run", None),
        started=record.text("started"),
        command=record.texts("command"),
        seed=as_text(record.values.get("seed", "")),
        patience=record.integer("patience", 1),
        fabric=record.text("fabric"),
        modes=tuple(sorted(set(modes))),
        suite=Suite(
            suite.text("version"),
            suite.text("commit"),
            suite.flag("dirty"),
            suite.counts("profiles"),
            suite.texts("pages"),
            suite.integer("cases"),
            {
                row.integer("hosts", None): row.integer("cases", None)
                for row in suite.members("plan")
            },
            suite.text("binary"),
        ),
        subject=Subject(
            library=subject.text("library"),
            api=subject.text("api", "1.2"),
            sha256=subject.text("sha256"),
            build_id=subject.text("build_id"),
            ia=subject.text("ia"),
            dat_conf_entry=subject.text("dat_conf_entry"),
            variant=subject.text("variant"),
            libdat=libdat.text("library"),
            libdat_sha256=libdat.text("sha256"),
        ),
        clauses=[_clause(item) for item in record.members("clauses")],
        rulings=tuple(
            Ruling(item.text("id", None), item.text("title"), item.text("reading"))
            for item in record.members("rulings")
        ),
        waivers=tuple(_waiver(item) for item in record.members("waivers")),
        pages=tuple(_page(item) for item in record.members("pages")),
        faults=tuple(
            Fault(item.text("id", None), item.text("clause"), item.text("text"))
            for item in record.members("faults")
        ),
        no_faults={
            item.text("clause", None): item.text("reason") for item in record.members("no_faults")
        },
        proofs=tuple(_proof(item) for item in record.members("proofs")),
        assumed=_assumed(record.member("assumed")),
        waived_ok=record.flag("waived_ok"),
        explore=record.number("explore"),
    )


def _assumed(item: Members) -> dict[str, bool]:
    return {printable(feature): item.flag(feature) for feature in item.values}


def _page(item: Members) -> Page:
    return Page(
        name=item.text("page", None),
        sections=tuple(
            (row.text("name"), row.integer("count")) for row in item.members("sections")
        ),
        sentences=item.texts("sentences"),
        informative={
            hash_: row.text("reason")
            for row in item.members("informative")
            for hash_ in row.texts("sentences")
        },
    )


def _proof(item: Members) -> Proof:
    by_outcome = item.member("outcomes")
    return Proof(
        run=item.text("run"),
        page=item.text("page"),
        dirty=item.flag("dirty"),
        drawn=item.text("drawn"),
        outcomes={
            mutant: printable(outcome)
            for outcome in by_outcome.values
            for mutant in by_outcome.pairs(outcome)
        },
    )


def _waiver(item: Members) -> Waiver:
    return Waiver(
        clause=item.text("clause", None),
        provider=item.text("provider"),
        versions=item.text("versions"),
        reason=item.text("reason"),
        url=item.text("url"),
        approver=item.text("approver"),
        expires=item.text("expires"),
    )


def _clause(item: Members) -> Clause:
    return Clause(
        id=item.text("id", None),
        page=item.text("page"),
        section=item.text("section"),
        level=item.text("level"),
        text=item.text("text"),
        check=item.text("check"),
        needs=item.texts("needs"),
        rulings=item.texts("rulings"),
        reason=item.text("reason"),
        sentences=item.texts("sentences"),
        place=item.text("case"),
        picture=item.text("picture"),
        blame=item.text("blame", "provider"),
        family=item.text("family"),
        control=item.flag("control"),
    )


def _fabric(record: Members) -> Fabric:
    return Fabric(
        hosts=record.integer("hosts", None),
        facts=tuple(
            {as_text(key): as_text(value) for key, value in host.values.items()}
            for host in record.members("facts")
        ),
        each=(_ia(record.member("ia")), *(_ia(item) for item in record.members("other_ias"))),
        testbeds=tuple(
            tuple(as_text(name) for name in names)
            for names in record.items("testbeds")
            if isinstance(names, list)
        ),
    )


def _ia(item: Members) -> Ia:
    return Ia(
        opened=item.flag("open"),
        reason=item.text("reason"),
        library=item.text("library"),
        build_id=item.text("build_id"),
        attributes=item.table("attributes"),
        needs=item.table("needs"),
        output=item.text("output"),
        found=tuple(_found(item.member("found"))),
        unasked=item.text("unasked"),
        unlooked=item.table("unlooked"),
    )


def _found(item: Members) -> Iterator[Found]:
    for feature in item.values:
        said = item.member(feature)
        present = said.flag("present") if "present" in said.values else None
        yield Found(printable(feature), present, said.text("by"), said.text("how"))


def _attempt(record: Members, page: str, keep: _Keep) -> Attempt:
    word = record.text("verdict", None)
    try:
        verdict = Verdict(word)
    except ValueError:
        record.damaged(f"there is no verdict {word!r}")
    checks = tuple(_check(item) for item in record.members("checks"))
    calls = tuple(_call(item) for item in record.members("calls"))
    output = record.text("output")
    crash = _crash(record.member("crash")) if record.values.get("crash") else None
    attempt = Attempt(
        case=record.text("case", None),
        hosts=record.integer("hosts", None),
        number=record.integer("attempt", 1),
        verdict=verdict,
        reason=record.text("reason"),
        host=record.text("host"),
        started=record.text("started"),
        ms=record.number("ms"),
        notes=record.texts("notes"),
        leaks=record.texts("leaks"),
        pending=record.text("pending"),
        evidence=keep(
            Evidence(
                checks,
                calls,
                record.texts("records"),
                output,
                crash,
                tuple(_stack(item) for item in record.members("stacks")),
            )
        ),
        failed_check=next((check for check in checks if not check.ok), None),
        printed=bool(output),
        crashed=crash is not None,
        demand=demand(page, calls, checks),
        peer=record.text("peer"),
        blocked=_blocked(record, "call"),
        refusal=_refusal(record),
        promise=_blocked(record, "clause"),
        teardown=tuple(
            Trouble(
                item.text("call"),
                item.text("what", None),
                item.text("saw"),
                item.text("who", "case"),
                item.flag("hurried"),
            )
            for item in record.members("teardown")
        ),
        model=_model(record.member("oracle")) if record.values.get("oracle") else "",
        deviating=record.member("oracle").integer("n", 0) if _is_of_case(record) else 0,
        deviates_from=record.member("oracle").text("clause") if _deviates(record) else "",
        deviation=_deviation(record, record.member("oracle").text("clause")),
        beside=_beside(record),
        kinds=kinds(record.values),
    )
    if against := contradiction(record.values):
        record.damaged(f"{attempt.case} is {verdict} there, but {printable(against)}")
    return attempt


def _walk(record: Members, number: int, keep: _Keep) -> Walk:
    """A walk that was found wrong: the next of the run."""
    if record.integer("number", None) != number:
        record.damaged(f"it is walk {record.integer('number')}, and {number} is the next one")
    attempt = _attempt(record.member("record"), "", keep)
    what, call, why = (record.text(name) for name in ("what", "call", "why"))
    if attempt.beside and attempt.beside[0].clause:
        trouble = attempt.beside[0]
    elif clause := record.text("clause"):
        trouble = Trouble(call, "deviates", why, clause=clause)
    elif what == "teardown" and attempt.teardown:
        trouble = next(each for each in attempt.teardown if each.what != "refused")
    else:
        saw = attempt.crash.signal if attempt.crash else why
        trouble = Trouble(call, what.lower(), saw)
    return Walk(
        number,
        trouble,
        why,
        record.texts("steps"),
        record.integer("shown", None),
        record.integer("again", None),
        attempt,
    )


def _explored(record: Members, run: Run) -> Explored:
    """What all walks of a run came to, if they are as many as were told of."""
    if run.explored is not None:
        record.damaged("the run has told of its walks already")
    if record.integer("findings", None) != len(run.walks):
        record.damaged(f"it counts {record.integer('findings')} findings of {len(run.walks)}")
    states = record.member("states")
    return Explored(
        record.number("seconds", None),
        record.integer("walks", None),
        record.integer("steps", None),
        record.integer("calls", None),
        record.integer("judged", None),
        {printable(kind): states.counts(kind) for kind in states.values},
        record.text("ended"),
    )


def _model(said: Members) -> str:
    """What the executable specification says of the calls, in words."""
    verdict, judged = said.text("verdict", None), said.integer("judged", None)
    if verdict == "deviates":
        return f"the executable specification finds: {said.text('why')}"
    if verdict == "agrees":
        unjudged = said.integer("unjudged", 0)
        others = f", and could not judge {unjudged}" if unjudged else ""
        return f"the executable specification finds nothing wrong in {judged} calls{others}"
    return f"the executable specification could judge no call: {said.text('why')}"


def _deviates(record: Members) -> bool:
    """Whether a call of the case or of its peer deviates."""
    said = record.values.get("oracle")
    return bool(said) and record.member("oracle").text("verdict", None) == "deviates"


def _deviation(record: Members, clause: str) -> Trouble | None:
    """The call of the case or of its peer that deviates from `clause`, if one does."""
    if not (clause and _deviates(record)):
        return None
    said = record.member("oracle")
    where, _, saw = said.text("why").removesuffix(f" [{clause}]").partition(": ")
    call = where.rpartition(", ")[2]
    return Trouble(call, "deviates", saw, said.text("who") or "case", clause=clause)


def _beside(record: Members) -> tuple[Trouble, ...]:
    """The call of a case that was kept, or of its peer, that breaks another clause; and the calls
    that it did without.
    """
    found = _deviation(record, record.text("breaks") if broken_clause(record.values) else "")
    without = (
        Trouble(item.text("call", None), UNASKED, item.text("saw"))
        for item in record.members("unasked")
    )
    return (*((found,) if found else ()), *without)


def _is_of_case(record: Members) -> bool:
    """Whether a call of the case itself deviates, and not one of its peer."""
    said = record.values.get("oracle")
    return bool(said) and record.member("oracle").text("who") == "case"


def _blocked(record: Members, member: str) -> str:
    """A member of what blocked a case, or nothing."""
    return record.member("blocked").text(member) if record.values.get("blocked") else ""


def _refusal(record: Members) -> str:
    """What the call that blocked a case returned, if it is an error."""
    ret = _blocked(record, "ret")
    return "" if ret == "DAT_SUCCESS" else ret


def _check(item: Members) -> Check:
    return Check(
        text=item.text("text"),
        file=item.text("file"),
        line=item.integer("line"),
        role=item.text("role"),
        ok=item.flag("ok"),
        expected=item.texts("expected"),
        seen=as_text(item.values.get("seen", "")),
        after_call=item.integer("calls"),
    )


def _call(item: Members) -> Call:
    return Call(
        n=item.integer("n"),
        who=item.text("who", "case"),
        thread=item.integer("thread") or 1,
        name=item.text("call"),
        args=item.pairs("args"),
        ret=item.text("ret"),
        sub=item.text("sub"),
        out=item.pairs("out"),
        at_us=item.number("at_us"),
        us=item.number("us"),
        unfinished=item.flag("unfinished"),
        teardown=item.flag("teardown"),
    )


def _crash(item: Members) -> Crash:
    return Crash(
        item.text("signal"),
        item.texts("backtrace"),
        item.flag("teardown"),
        item.text("who", "case"),
        item.texts("where"),
    )


def _stack(item: Members) -> Stack:
    return Stack(
        item.texts("backtrace"),
        item.texts("where"),
        item.integer("thread"),
        item.text("name"),
        item.text("call"),
        item.text("why"),
        item.flag("teardown"),
    )
