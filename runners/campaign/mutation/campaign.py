# SPDX-License-Identifier: BSD-2-Clause
"""Mutation: the suite against providers that are each wrong in one thing, and what kills them.

A mutant is a fault and a case of the clause that the fault violates. Its case must turn red; where
it does not, the page's other cases are tried. What happened goes to faults.jsonl, record by record.
"""

import hashlib
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Lock
from typing import Any

from faults.rows import Fault, RowError
from results.errors import InputError, RunnerError
from results.runlog import records
from results.runlog.records import EventLog, Record
from runners.campaign.mutation.draw import Drawn
from runners.campaign.mutation.seek import SEED as WALK_SEED
from runners.campaign.mutation.seek import seek
from runners.campaign.plan.assignment import Assignment, agent_command
from runners.campaign.plan.plan import Case, identity, planned
from runners.campaign.plan.subject import Subject
from runners.campaign.schedule.selection import compiled
from runners.campaign.session.attempt import Attempt, limits
from runners.campaign.session.session import Limits
from runners.campaign.session.testbed import Testbed
from runners.catalogue.clauses import Catalogue, every_page
from runners.catalogue.faults import Rows, load_rows, prefixes, unknown, unproven
from runners.checkout import VERSION, Checkout, revision
from runners.fabric import datconf

FORMAT = 3
FILE = "faults.jsonl"
DAT_CONF = "dat.conf"
WHOLE_IA = "whole"

# Shorter than a certification's: a mutant is often killed by an event that never comes.
EVENT_MS = 1_500
QUIET_MS = 100
DEADLINE_MS = 6_000

# Each opening of an IA reads the whole dat.conf: of so many faults at a time it has entries.
FAULTS_AT_A_TIME = 400

# What a run is for.
WHOLE, OWN, PAGE, HOSTILE, AFTER = "whole", "own", "page", "hostile", "after"

RED = records.NOT_KEPT - {records.CONTRADICTED}
INAPPLICABLE = frozenset({"UNSUPPORTED", "RESOURCE"})


@dataclass(frozen=True, eq=False)
class Job:
    """One case to be run, with a fault or with none."""

    purpose: str
    case: Case
    fault: Fault | None = None
    attempt: int = 1

    @property
    def ia(self) -> str:
        """The IA that the case opens."""
        if self.fault is None or self.purpose == AFTER or self.fault.in_libdat:
            return WHOLE_IA
        return f"fault:{self.fault.id}"

    @property
    def libdat_fault(self) -> str:
        """What is wrong with libdat in the case's process; nothing where the provider is wrong."""
        if self.fault is None or self.purpose == AFTER or not self.fault.in_libdat:
            return ""
        return self.fault.id


@dataclass(frozen=True)
class Order:
    """What is to be done. `everything` runs each fault against each case of its page; with two
    `hosts`, cases with a peer have it on another one. `workers` None is as many as pay. With
    `patience`, all may take so many times as long. `drawn` is how the faults were drawn, if
    so. With `judge`, the executable specification judges the calls of each mutant, too.
    """

    run: str
    command: Sequence[str]
    subject: Subject
    catalogue: Catalogue
    cases: Sequence[Case]
    rows: Rows
    faults: Sequence[Fault]
    fabric: str
    settings: Mapping[str, Any]
    hosts: int
    workers: int | None
    everything: bool
    patience: int = 1
    drawn: Drawn | None = None
    judge: bool = False


def rows_of(checkout: Checkout, catalogue: Catalogue) -> Rows:
    """The faults of the checkout; raises RunnerError where a row makes no sense."""
    try:
        rows = load_rows(checkout.faults)
    except RowError as error:
        raise RunnerError(str(error)) from error
    for line in unknown(catalogue, rows):
        raise RunnerError(line)
    return rows


class OwnCases:
    """The cases of the clause that a fault violates; of a family, all its rows."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self._of: defaultdict[str, list[Case]] = defaultdict(list)
        for case in cases:
            for clause in prefixes(case.id):
                self._of[clause].append(case)

    def __call__(self, fault: Fault) -> Sequence[Case]:
        """Those of one fault; a fault of no clause, or one that walks have to find, has none."""
        if fault.found_by:
            return []
        return [case for case in self._of.get(fault.clause, []) if fault.violates(case.id)]


def mutants(faults: Iterable[Fault], cases: Iterable[Case]) -> dict[str, int]:
    """How many mutants each fault makes, by its id: one a case of its own; a hostile one is one,
    and so is one that walks have to find.
    """
    own_cases = OwnCases(cases)
    return {
        fault.id: len(own_cases(fault)) if fault.clause and not fault.found_by else 1
        for fault in faults
    }


def dat_conf(subject: Subject, library: Path, faults: Iterable[Fault]) -> str:
    """The subject's dat.conf, with an entry for the unbroken wrapper and one for each fault, and
    threadsafe ones beside them where the subject has one.
    """
    wrapped = {WHOLE_IA: subject.ia}
    wrapped |= {
        f"fault:{fault.id}": f"{subject.ia} fault={fault.id}"
        for fault in faults
        if not fault.in_libdat
    }
    threadsafe = subject.threadsafe
    return subject.dat_conf + "".join(
        datconf.lines(ia, library, params, threadsafe=threadsafe) for ia, params in wrapped.items()
    )


def choose(faults: Sequence[Fault], keyword: str) -> list[Fault]:
    """The faults whose id, clause or text the expression of pytest's -k matches."""
    if not keyword:
        return list(faults)
    # pytest's own grammar, so that -k means the same in all commands.
    expression = compiled("-k", keyword)

    def chosen(fault: Fault) -> bool:
        names = f"{fault.id} {fault.clause} {fault.case} {fault.found_by}".lower()

        def matches(word: str, /, **_: object) -> bool:
            return word.lower() in names

        return expression.evaluate(matches)

    found = [fault for fault in faults if chosen(fault)]
    if not found:
        raise InputError(f"no fault is chosen by -k {keyword!r}")
    return found


class Log:
    """faults.jsonl while it is written, by several threads, and its lines so far."""

    def __init__(self, log: EventLog, tell: Callable[[Record], None]) -> None:
        self._log = log
        self._tell = tell
        self._lock = Lock()
        self.records: list[Record] = []

    def append(self, record: Record) -> None:
        """Write a record to the disk, then tell of it."""
        with self._lock:
            self._log.append(record)
            self.records.append(record)
            self._tell(record)


class Crew:
    """Testbeds that run jobs in parallel: of one host for some cases, of two for the others. There
    are `workers` of the kind that most cases need, and one, opened when first needed, of the other.
    """

    def __init__(
        self, assignment: Assignment, order: Order, log: Log, label: str, jobs: int
    ) -> None:
        self._log = log
        self._apart = order.hosts > 1
        self._patience = order.patience
        self._judge = order.judge
        self._stop = Event()
        self.words: dict[Job, str] = {}
        workers = min(jobs, order.workers or _workers(assignment, order.hosts))
        self._counts = {1: workers, 2: 1} if not self._apart else {1: 1, 2: workers}
        self._free: dict[int, SimpleQueue[Testbed]] = {hosts: SimpleQueue() for hosts in (1, 2)}
        self._testbeds = []
        self._pools: dict[int, ThreadPoolExecutor] = {}
        self._jobs: dict[Future[str], Job] = {}
        self._done: SimpleQueue[Future[str]] = SimpleQueue()
        for hosts, count in self._counts.items():
            self._pools[hosts] = ThreadPoolExecutor(count)
            for number in range(count):
                testbed = Testbed(assignment, hosts, f"{label}{number}-")
                self._testbeds.append(testbed)
                self._free[hosts].put(testbed)
                if hosts == order.hosts:
                    testbed.prepare()

    def start(self, jobs: Iterable[Job]) -> None:
        """Begin to run all jobs. A job for which no host is left is NOT-RUN."""
        for job in jobs:
            future = self._pools[self._hosts(job)].submit(self._run, job)
            self._jobs[future] = job
            future.add_done_callback(self._done.put)

    def work(self, left: int = 0) -> None:
        """Wait until no more than so many jobs are left."""
        while len(self._jobs) - len(self.words) > left:
            future = self._done.get()
            self.words[self._jobs[future]] = future.result()

    @property
    def size(self) -> int:
        """How many jobs run side by side."""
        return sum(self._counts.values())

    def close(self) -> None:
        """End the hosts; what was not begun is not run."""
        self._stop.set()
        for pool in self._pools.values():
            pool.shutdown()
        for testbed in self._testbeds:
            testbed.close()

    def _hosts(self, job: Job) -> int:
        return 2 if job.case.network or (self._apart and job.case.peers) else 1

    def _run(self, job: Job) -> str:
        if self._stop.is_set():
            return "NOT-RUN"
        free = self._free[self._hosts(job)]
        testbed = free.get()
        try:
            word = self._on(testbed, job)
            if job.purpose == HOSTILE:
                self._on(testbed, Job(AFTER, job.case, job.fault))
            return word
        finally:
            free.put(testbed)

    def _on(self, testbed: Testbed, job: Job) -> str:
        verdicts: list[Record] = []

        def emit(record: Record) -> None:
            if record["type"] == "verdict":
                verdicts.append(record)
            elif record["type"] == "incident":
                self._log.append(record)

        plan = planned(job.case, self._hosts(job))
        plan = replace(plan, deadline_ms=_deadline_ms(job.case))
        usual = Limits(event_ms=EVENT_MS, quiet_ms=QUIET_MS, thorough=True)
        within = limits(plan, usual, self._patience)
        attempt = Attempt(plan, ia=job.ia, within=within, libdat_fault=job.libdat_fault)
        testbed.run(attempt, emit)
        said = verdicts[0] if verdicts else {}
        record = {
            "type": "verdict",
            "purpose": job.purpose,
            "fault": job.fault.id if job.fault else "",
            "case": job.case.id,
            "attempt": job.attempt,
            "verdict": said.get("verdict", "NOT-RUN"),
            "reason": said.get("reason", testbed.given_up),
            "ms": said.get("ms", 0.0),
            **({"oracle": _told(said["oracle"])} if self._judge and "oracle" in said else {}),
            **({"teardown": said["teardown"]} if "teardown" in said else {}),
        }
        self._log.append(record)
        word: str = record["verdict"]
        return word


class Crews:
    """Crews one after another, each with a dat.conf that has entries for the faults of its jobs.
    One begins when that before it has no work for all of its hosts any more.
    """

    def __init__(self, checkout: Checkout, order: Order, folder: Path, log: Log) -> None:
        self._checkout = checkout
        self._order = order
        self._folder = folder
        self._log = log
        self._count = 0

    def run(self, jobs: Iterable[Job]) -> dict[Job, str]:
        """Run all jobs; the verdicts' words."""
        words: dict[Job, str] = {}
        crews: deque[Crew] = deque()
        try:
            for batch in _batches(jobs):
                crews.append(self._crew(batch))
                crews[-1].start(batch)
                if len(crews) > 1:
                    words |= _ended(crews.popleft())
                crews[-1].work(left=crews[-1].size)
            while crews:
                words |= _ended(crews.popleft())
        finally:
            for crew in crews:
                crew.close()
        return words

    def _crew(self, batch: Sequence[Job]) -> Crew:
        self._count += 1
        faults = {job.fault.id: job.fault for job in batch if job.fault}
        path = self._folder / f"{DAT_CONF}.{self._count}"
        text = dat_conf(self._order.subject, self._checkout.faulty_provider, faults.values())
        path.write_text(text, encoding="utf-8")
        assignment = _assignment(self._checkout, self._order, self._folder, path)
        return Crew(assignment, self._order, self._log, f"{self._count}-", len(batch))


def _ended(crew: Crew) -> dict[Job, str]:
    """The words of a crew's jobs when all have ended; its hosts are released, whatever happens."""
    try:
        crew.work()
        return crew.words
    finally:
        crew.close()


def _batches(jobs: Iterable[Job]) -> Iterator[list[Job]]:
    """The jobs in their order, in lists that are each about FAULTS_AT_A_TIME faults at most."""
    batch: list[Job] = []
    faults: set[str] = set()
    for job in jobs:
        fault = {job.fault.id} if job.fault else set()
        if len(faults | fault) > FAULTS_AT_A_TIME:
            yield batch
            batch, faults = [], set()
        batch.append(job)
        faults |= fault
    if batch:
        yield batch


def _workers(assignment: Assignment, hosts: int) -> int:
    """As many as get more done than one, and one that computes while others wait for an event that
    their mutant does not send.
    """
    count = assignment.side_by_side(hosts)
    return count + 1 if count > 1 else 1


def _deadline_ms(case: Case) -> int:
    """A case with a deadline of its own keeps it."""
    own = case.deadline_ms not in (0, Limits().deadline_ms)
    return case.deadline_ms if own else DEADLINE_MS


def conduct(checkout: Checkout, order: Order, folder: Path, tell: Callable[[Record], None]) -> Path:
    """Run all mutants; returns the path of faults.jsonl. What was done is on the disk, whatever
    happens. Raises RunnerError when nothing could be run, KeyboardInterrupt after a ^C.
    """
    with ExitStack() as stack:
        log = Log(stack.enter_context(EventLog.create(folder, FILE)), tell)
        library = checkout.faulty_provider
        (folder / DAT_CONF).write_text(
            dat_conf(order.subject, library, order.faults), encoding="utf-8"
        )
        log.append(_run_record(checkout, order))
        status = "interrupted"
        try:
            _campaign(order, Crews(checkout, order, folder, log))
            _walks(checkout, order, folder, log)
            status = "complete"
        finally:
            log.append({"type": "end", "finished": records.now(), "status": status})
    return folder / FILE


def _walks(checkout: Checkout, order: Order, folder: Path, log: Log) -> None:
    """The faults that no case finds: random walks."""
    faults = [fault for fault in order.faults if fault.found_by]
    if not faults:
        return
    path = folder / f"{DAT_CONF}.walks"
    path.write_text(dat_conf(order.subject, checkout.faulty_provider, faults), encoding="utf-8")
    assignment = Assignment(
        fabric=checkout.fabrics[order.fabric],
        argv=(str(checkout.puppet), "--serve", "--ia", WHOLE_IA),
        env={"DAT_OVERRIDE": str(path)},
        logs=str(folder / "hosts"),
        plan=(),
        settings=order.settings,
        identity=identity(checkout.puppet),
        seed=WALK_SEED,
    )
    needs = {fault.clause: _needs(order.catalogue, fault.clause) for fault in faults}
    seek(assignment, faults, WHOLE_IA, folder, needs, log.append)


def _needs(catalogue: Catalogue, of: str) -> Sequence[str]:
    """The features that a clause needs; of a family, its first row."""
    clauses = catalogue.clauses.values()
    return next((clause.needs for clause in clauses if of in prefixes(clause.id)), ())


def _campaign(order: Order, crews: Crews) -> None:
    clause_faults = [fault for fault in order.faults if fault.clause]
    own_cases = OwnCases(order.cases)
    pages = {case.page for fault in clause_faults for case in own_cases(fault)}
    if order.everything:
        pages |= {f"dat_{fault.clause.split('/')[0]}" for fault in clause_faults if fault.found_by}
    on_page = [case for case in order.cases if case.page in pages]
    own = [Job(OWN, case, fault) for fault in clause_faults for case in own_cases(fault)]
    whole = {job.case.id: job.case for job in own}
    _tried_twice(crews, [Job(WHOLE, case) for case in on_page if case.id in whole])
    words = _tried_twice(crews, [*_hostile(order), *own])
    alive = [job for job in own if words[job] not in RED]
    tried = (
        clause_faults
        if order.everything
        else {job.fault.id: job.fault for job in alive if job.fault}.values()
    )
    elsewhere = list(_elsewhere(tried, on_page, own))
    others = {job.case.id: job.case for job in elsewhere if job.case.id not in whole}
    _tried_twice(crews, [Job(WHOLE, case) for case in others.values()])
    crews.run(elsewhere)


def _tried_twice(crews: Crews, jobs: Sequence[Job]) -> dict[Job, str]:
    """The verdicts' words, of the second attempt where the first one's was not as it should be:
    between neighbours that compute, an event may come too late for a mutant to be seen.
    """
    words = crews.run(jobs)
    doubtful = {replace(job, attempt=2): job for job in jobs if not _as_wished(job, words[job])}
    again = crews.run(doubtful)
    return words | {first: again[second] for second, first in doubtful.items()}


def _as_wished(job: Job, word: str) -> bool:
    # What a hostile provider did to a host, once, is what it can do.
    if word == "NOT-RUN" or job.purpose == HOSTILE:
        return True
    return word in INAPPLICABLE | (records.KEPT if job.purpose == WHOLE else RED)


def _elsewhere(faults: Iterable[Fault], cases: Iterable[Case], own: Iterable[Job]) -> Iterator[Job]:
    """The page's other cases, for faults that their own case let live."""
    done = {(job.fault.id, job.case.id) for job in own if job.fault}
    cases = list(cases)
    for fault in faults:
        page = fault.clause.split("/", 1)[0]
        for case in cases:
            if case.id.split("/", 1)[0] == page and (fault.id, case.id) not in done:
                yield Job(PAGE, case, fault)


def _hostile(order: Order) -> Iterator[Job]:
    """Each hostile fault, where it is to be met."""
    by_id = {case.id: case for case in order.cases}
    for fault in order.faults:
        if fault.case:
            yield Job(HOSTILE, by_id[fault.case], fault)


def _assignment(checkout: Checkout, order: Order, folder: Path, registry: Path) -> Assignment:
    return Assignment(
        fabric=checkout.fabrics[order.fabric],
        argv=agent_command(checkout, WHOLE_IA),
        env={"DAT_OVERRIDE": str(registry), "LD_PRELOAD": str(checkout.faulty_libdat)},
        logs=str(folder / "hosts"),
        plan=(),
        settings=order.settings,
        identity=identity(checkout.cases_binary),
    )


def _run_record(checkout: Checkout, order: Order) -> Record:
    commit, dirty = revision(checkout.root)
    wrapper, libdat = checkout.faulty_provider, checkout.faulty_libdat
    named = {page.page for page in order.catalogue.pages}
    clauses = [clause for clause in order.catalogue.clauses.values() if clause.page in named]
    own_cases = OwnCases(order.cases)
    return {
        "type": "mutation",
        "format": FORMAT,
        "run": order.run,
        "started": records.now(),
        "command": list(order.command),
        "patience": order.patience,
        "suite": {"version": VERSION, "commit": commit, "dirty": dirty},
        "subject": {"library": order.subject.library, "sha256": order.subject.sha256},
        **({"variant": order.subject.variant} if order.subject.variant else {}),
        "wrapper": {
            "library": str(wrapper),
            "sha256": hashlib.sha256(wrapper.read_bytes()).hexdigest(),
        },
        "libdat": {
            "library": str(libdat),
            "sha256": hashlib.sha256(libdat.read_bytes()).hexdigest(),
        },
        "pages": list(every_page(checkout.catalogue)),
        "selected": len(order.faults) != len(order.rows.faults),
        **({"drawn": order.drawn.record} if order.drawn else {}),
        "clauses": [
            {"id": clause.id, "page": clause.page, "level": clause.level, "text": clause.text}
            for clause in clauses
            if clause.checkable
        ],
        "faults": [_fault(fault, own_cases) for fault in order.faults],
        "no_faults": [{"clause": row.clause, "reason": row.reason} for row in order.rows.no_faults],
        "unproven": unproven(order.catalogue, order.rows),
    }


def _fault(fault: Fault, own_cases: OwnCases) -> dict[str, Any]:
    return {
        "id": fault.id,
        "clause": fault.clause,
        "text": fault.text,
        "own": [case.id for case in own_cases(fault)],
        **({"found_by": fault.found_by} if fault.found_by else {}),
        "case": fault.case,
        "verdicts": fault.verdicts,
        "teardown": fault.teardown,
    }


def _told(oracle: Mapping[str, Any]) -> dict[str, Any]:
    """What the executable specification says of a mutant; how often it was asked is of no use."""
    return {name: value for name, value in oracle.items() if name != "asked"}
