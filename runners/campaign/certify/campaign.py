# SPDX-License-Identifier: BSD-2-Clause
"""A campaign: one run of the suite against one subject, from the plan to the last record."""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from results.errors import InputError
from results.runlog import records
from results.runlog.records import EventLog, Record, ResultsLost
from runners import runs
from runners.campaign.certify import exploring, proof
from runners.campaign.plan.assignment import Assignment, agent_command
from runners.campaign.plan.plan import Case, Planned, controls, identity, plan, registrys
from runners.campaign.plan.subject import Subject, environment
from runners.campaign.schedule.lane_count import Lanes, asked_for, by_processors
from runners.campaign.schedule.parallel_waits import beside
from runners.campaign.schedule.plugin import MANY, RECORDS, TESTBEDS, VERDICT, Many
from runners.campaign.schedule.progress import FATAL, Progress
from runners.campaign.schedule.selection import Choice, arguments, choose
from runners.campaign.schedule.spread import Spread
from runners.campaign.schedule.tally import Key, Past, Tally
from runners.campaign.schedule.workers import Workers
from runners.campaign.session.attempt import Attempt
from runners.campaign.session.patience import WAITED_MS
from runners.campaign.session.testbed import Testbeds, incident
from runners.catalogue import rulings
from runners.catalogue.clauses import Catalogue, Clause, PageClauses, every_page
from runners.catalogue.counted import by_profile
from runners.checkout import VERSION, Checkout, revision
from runners.fabric.base import FabricError
from runners.inputs import read_json
from runners.interrupts import Interrupts
from runners.scratch import collect, scratch

DAT_CONF = "dat.conf"
SETTINGS = "fabric.json"
HOSTS = "hosts"
# Hosts take as long to be opened as so many cases take.
CASES_OF_A_START = 25
# For so many one worker more pays, which computes while the others wait.
CASES_OF_ONE_MORE = 2_000
TRACE = "runner-error.txt"


@dataclass(frozen=True)
class Order:
    """What a campaign is to do, of the plan that the `whole` suite has in both modes. `modes` are
    host counts; `workers` counts those that each have hosts of their own, None as many as pay.

    `spread`, `every_pair`, `patience` and `thorough` are those of the assignment.
    """

    run: str
    command: Sequence[str]
    subject: Subject
    cases: Sequence[Case]
    whole: Sequence[Planned]
    catalogue: Catalogue
    fabric: str
    settings: Mapping[str, Any]
    modes: Sequence[int]
    every_mode: bool
    seed: int
    choice: Choice
    stop_first: bool
    workers: int | None
    spread: int | None = None
    every_pair: bool = False
    patience: int = 1
    thorough: bool = False
    privileged: bool = False
    waivers: Sequence[Record] = ()
    waived_ok: bool = False
    assumed: Mapping[str, bool] = field(default_factory=dict)
    explore: float = 0.0  # so many seconds of random walks


@dataclass(frozen=True)
class Outcome:
    """How a campaign ended; `errors` are what it could not do, a line each."""

    exit_code: int
    errors: Sequence[str]


def conduct(
    checkout: Checkout, order: Order, folder: Path, progress: Progress, interrupts: Interrupts
) -> Outcome:
    """Run the suite into `folder`, which must be absent or empty. What was done is on the disk,
    whatever happens. Raises RunnerError when nothing could be run, and leaves no folder then.
    """
    existed = folder.is_dir()
    with EventLog.create(folder) as log:
        progress.say(f"run {order.run}, seed {order.seed}: {order.subject.library}")
        with ExitStack() as opened:
            try:
                with interrupts.held():
                    _write(folder / DAT_CONF, order.subject.dat_conf)
                    _write(folder / SETTINGS, json.dumps(order.settings, indent=1) + "\n")
                assignment = _assignment(checkout, order, folder)
                testbeds = opened.enter_context(Testbeds(assignment, "", progress.say))
                if _is_for_one(order, assignment):
                    testbeds.prepare(assignment.plan[0].hosts)
                if not order.choice.everything:
                    chosen = choose(checkout, assignment, order.choice, order.subject)
                    assignment = replace(assignment, plan=tuple(chosen))
                recorder = _Recorder(log, progress, interrupts, Tally())
                recorder.share(order, assignment, testbeds, opened)
                log.append(_run_record(checkout, order, assignment.plan, folder))
            except BaseException:
                opened.close()
                _clear(folder, remove=not existed)
                raise
            runs.point_latest(checkout.runs, order.run, folder)
            return _carry_out(checkout, order, assignment, assignment, testbeds, recorder, opened)


def settings_of(folder: Path) -> dict[str, Any]:
    """How the fabric of the run in `folder` was set; a run without the file had nothing to set."""
    path = folder / SETTINGS
    return read_json(path, "the fabric's settings") if path.exists() else {}


def resume(
    checkout: Checkout,
    order: Order,
    past: Past,
    folder: Path,
    progress: Progress,
    interrupts: Interrupts,
) -> Outcome:
    """Run what is missing of the run in `folder`, which has `past`; the outcome is the whole run's.

    Raises InputError where nothing is missing, or the suite or the subject has changed.
    """
    with EventLog.reopen(folder) as log, ExitStack() as opened:
        assignment = _assignment(checkout, order, folder)
        whole = replace(assignment, plan=tuple(past.planned(assignment.plan)))
        past.compare(_run_record(checkout, order, whole.plan, folder))
        missing = past.tally.missing(whole.plan)
        if past.complete and not missing:
            raise InputError(f"nothing is missing in run {order.run}")
        recorder = _Recorder(log, progress, interrupts, past.tally)
        recorder.walks, recorder.explored = past.walks, past.explored
        progress.say(f"run {order.run} goes on: {len(missing)} of {len(whole.plan)} are missing")
        runs.point_latest(checkout.runs, order.run, folder)
        recorder.write(incident("resumed", "", f"at {records.now()}, {len(missing)} were missing"))
        # Who was killed may have left a folder; where no case is missing, no run makes a new one.
        collect()
        whole = replace(whole, logs=f"{whole.logs}/resumed-{past.resumed + 1}")
        testbeds = opened.enter_context(Testbeds(whole, "", progress.say))
        todo = replace(whole, plan=tuple(missing))
        recorder.share(order, todo, testbeds, opened)
        return _carry_out(checkout, order, todo, whole, testbeds, recorder, opened)


def _carry_out(
    checkout: Checkout,
    order: Order,
    assignment: Assignment,
    whole: Assignment,
    testbeds: Testbeds,
    recorder: "_Recorder",
    opened: ExitStack,
) -> Outcome:
    """Run the assignment, which is the `whole` run's or a part of it; close what is `opened`."""
    recorder.plan = assignment.plan
    recorder.progress.total = recorder.tally.expected(assignment.plan)
    recorder.testbeds = testbeds
    try:
        if assignment.plan:
            code = _run(checkout, order, assignment, recorder)
        if not assignment.plan or code in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            _run_again(order, whole, testbeds, recorder)
            _try_undeclared(order, whole.plan, testbeds, recorder)
            _explore(checkout, order, whole, testbeds, recorder)
    except KeyboardInterrupt:
        pass
    except ResultsLost as error:
        recorder.fail("no-space", str(error))
    if recorder.progress.rate:
        recorder.progress.say(recorder.progress.rate)
    outcome = _end(order, whole, recorder)
    # All is written down: who interrupts now waits for the hosts no longer.
    with suppress(KeyboardInterrupt):
        opened.close()
    return outcome


def _lanes(order: Order, assignment: Assignment) -> Lanes:
    """How many testbeds run the cases: what was asked for, or as many as this plan is worth."""
    if order.spread is not None:
        return Lanes(1, "")
    if order.workers is not None:
        return asked_for(order.workers)
    worth = len(assignment.plan) // CASES_OF_A_START
    modes = {planned.hosts for planned in assignment.plan}
    if worth <= 1:
        return Lanes(1, "")
    if assignment.shares_hosts:
        try:
            lanes = by_processors(assignment.processors(max(modes)))
        except FabricError:
            # The same is reported when hosts are opened.
            return Lanes(1, "")
        few = Lanes(worth, f"there are {len(assignment.plan)} cases")
        return min(lanes, few, key=lambda each: each.count)
    count = assignment.side_by_side(sum(modes))
    if count > 1 and len(assignment.plan) >= CASES_OF_ONE_MORE:
        count += 1
    return Lanes(min(worth, count), "")


def _is_for_one(order: Order, assignment: Assignment) -> bool:
    """Whether one testbed runs the cases, as far as it is known before shared hosts are asked."""
    if order.spread is not None:
        return False
    if order.workers is None and assignment.shares_hosts:
        return False
    return _lanes(order, assignment).count == 1


def _run(
    checkout: Checkout, order: Order, assignment: Assignment, recorder: "_Recorder"
) -> int | pytest.ExitCode:
    with scratch() as name:
        asked = arguments(checkout, name, order.subject)
        asked.append(str(assignment.save(name)))
        if order.stop_first:
            asked.append("-x")
        return pytest.main(asked, plugins=[recorder])


def _run_again(order: Order, whole: Assignment, testbeds: Testbeds, recorder: "_Recorder") -> None:
    """A sample of the failures once more, with nothing else going on. The first verdict stands.

    The sample is of each kind of end, and drawn by the seed; the reasons are in
    docs/decisions/0160-second-attempts-and-waits.md.
    """
    planned = {(one.case, one.hosts): one for one in whole.plan}
    tally = recorder.tally
    failed = sorted(
        key for key, end in tally.ends.items() if end.broken and not testbeds.given_up(key.hosts)
    )
    Random(order.seed).shuffle(failed)
    # What had less time than others comes first: it is given all of it now.
    failed.sort(key=lambda key: (key.hosts, not tally.ends[key].hurried))
    if any(map(tally.wanted, failed)):
        recorder.progress.say(
            f"again, alone: all or a sample of {len(failed)} that were not kept, or not freed"
        )
    # One that ends otherwise makes more of its kind wanted, of those too that were passed over.
    left = failed
    while wanted := [key for key in left if tally.wanted(key)]:
        asked = set()
        waited = [key for key in wanted if tally.ends[key].ms >= WAITED_MS]
        if recorder.workers > 1:
            testbeds.keep_only(())
            sample = [planned[key.case, key.hosts] for key in tally.sample(waited)]
            cases = [one for one in sample if not (whole.shares_hosts and one.alone)]
            with closing(beside(whole, cases, 2, recorder.workers, recorder.write)) as ended:
                for told in ended:
                    recorder.progress.started(told.planned.name)
        for key in filter(tally.wanted, wanted):
            asked.add(key)
            one = planned[key.case, key.hosts]
            recorder.progress.started(one.name)
            if recorder.spread is not None:
                recorder.spread.again(one, key.where)
            else:
                testbeds.keep_only({one.hosts})
                testbeds.run(Attempt(one, 2), recorder.write)
        left = [key for key in left if key not in asked]


def _try_undeclared(
    order: Order, plan_: Sequence[Planned], testbeds: Testbeds, recorder: "_Recorder"
) -> None:
    """The case that shows a feature at work, of each that the provider does not declare."""
    if recorder.spread is not None:
        return
    shows = order.catalogue.shows
    for one in _undeclared(order, plan_, recorder.tally):
        if testbeds.given_up(one.hosts):
            continue
        recorder.progress.started(one.name)
        testbeds.keep_only({one.hosts})
        emit = partial(_tried, shows[one.case], recorder)
        testbeds.run(Attempt(one, undeclared=True), emit)


def _explore(
    checkout: Checkout,
    order: Order,
    whole: Assignment,
    testbeds: Testbeds,
    recorder: "_Recorder",
) -> None:
    """The random walks of the run, if it is to take some and has not, in its first mode."""
    stopped = order.stop_first and any(end.broken for end in recorder.tally.ends.values())
    if not order.explore or recorder.explored is not None or stopped or not whole.plan:
        return
    hosts = min(planned.hosts for planned in whole.plan)
    testbeds.keep_only(())
    recorder.progress.say(f"random walks for {order.explore:g} s, by seed {order.seed}")
    exploring.explore(
        checkout,
        whole,
        hosts,
        order.explore,
        recorder.walks,
        recorder.write,
        recorder.progress.started,
    )


def _undeclared(order: Order, plan_: Sequence[Planned], tally: Tally) -> list[Planned]:
    """The cases, in their first mode, that show the features that are declared absent."""
    first = {one.case: one for one in reversed(plan_) if one.case in order.catalogue.shows}
    ends = ((one, tally.ends.get(Key(one.case, one.hosts))) for one in first.values())
    return [one for one, end in ends if end is not None and end.word == "UNSUPPORTED"]


def _tried(feature: str, recorder: "_Recorder", record: Record) -> None:
    """Write what came of a feature that was not declared: a verdict of no clause."""
    if record["type"] == "verdict":
        members = ("case", "hosts", "verdict", "reason")
        record = {"type": "undeclared", "feature": feature} | {m: record[m] for m in members}
    recorder.write(record)


def _excused(order: Order) -> tuple[str, ...]:
    """The clauses that convict no provider: those of the registry, where it is not under test."""
    if order.subject.libdat is not None:
        return ()
    return registrys(order.catalogue)


def _end(order: Order, assignment: Assignment, recorder: "_Recorder") -> Outcome:
    interrupts, excused = recorder.interrupts, _excused(order)
    ends = set(recorder.tally.ends.values())
    words = {
        "ERROR" if key.case in excused and end.word in records.NOT_KEPT else end.word
        for key, end in recorder.tally.ends.items()
    }
    if recorder.tally.missing(assignment.plan):
        words.add("NOT-RUN")
    beside = any(end.beside for end in ends) or recorder.walks > 0
    code = records.exit_code(words, beside)
    if code == records.CONFORMANT and order.explore and recorder.explored != "":
        code = records.COULD_NOT_TELL
    with interrupts.held():
        if interrupts.seen:
            recorder.fail("interrupted", f"{interrupts.seen} ended the run")
        if recorder.ended_early:
            code = records.COULD_NOT_TELL
        status = "interrupted" if recorder.ended_early else "complete"
        end = {"type": "end", "finished": records.now(), "status": status, "exit": code}
        try:
            recorder.write(end)
        except ResultsLost as error:
            recorder.fail("no-space", str(error))
            code = records.COULD_NOT_TELL
    return Outcome(code, tuple(dict.fromkeys(recorder.errors)))


class _Recorder:
    """The pytest plugin of the process that writes: it takes the records out of every report."""

    def __init__(
        self, log: EventLog, progress: Progress, interrupts: Interrupts, tally: Tally
    ) -> None:
        self.progress = progress
        self.interrupts = interrupts
        self.tally = tally
        self.testbeds: Testbeds | None = None
        self.spread: Spread | None = None
        self._many: Many | None = None
        self.plan: Sequence[Planned] = ()
        self.errors: list[str] = []
        self.ended_early = False
        # How many random walks were found wrong, and why they ended early when they have ended.
        self.walks = 0
        self.explored: str | None = None
        self._log = log

    def share(
        self, order: Order, assignment: Assignment, testbeds: Testbeds, opened: ExitStack
    ) -> None:
        """Begin to open the hosts of many testbeds, where the plan is for many; `opened` has them
        closed. Of `testbeds` are opened, towards the end, those that are needed then.
        """
        if order.spread is not None:
            spread = Spread(assignment, self.write, self.progress.say, self.tally)
            self.spread = self._many = opened.enter_context(spread)
            return
        lanes = _lanes(order, assignment)
        if lanes.count > 1 and assignment.plan:
            assignment.make_ready(self.progress.say)

            def ahead() -> None:
                for one in _undeclared(order, assignment.plan, self.tally)[:1]:
                    testbeds.prepare(one.hosts)

            limited = assignment.shares_hosts and order.workers is None
            workers = Workers(assignment, lanes, self.write, self.progress.say, ahead, limited)
            self._many = opened.enter_context(workers)
            workers.prepare()

    @property
    def workers(self) -> int:
        """How many cases run at a time that need nothing for themselves."""
        return self._many.count if isinstance(self._many, Workers) else 1

    def write(self, record: Record) -> None:
        """Put a record on the disk, then on the screen; from any thread. Raises ResultsLost."""
        with self.interrupts.held():
            self._log.append(record)
            self.tally.take(record)
            self.walks += record["type"] == "walk"
            if record["type"] == "explored":
                self.explored = record["ended"]
            if record["type"] == "hosts":
                self.progress.total = self.tally.expected(self.plan)
            if record["type"] == "incident" and record["what"] in FATAL:
                where = f"{record['host']}: " if record["host"] else ""
                self.errors.append(where + record["text"])
        self.progress.record(record)

    def fail(self, what: str, text: str) -> None:
        """The run ends early: an incident, where there is room to write it."""
        self.ended_early = True
        try:
            self.write(incident(what, "", text))
        except ResultsLost:
            self.errors.append(text)

    def pytest_configure(self, config: pytest.Config) -> None:
        """Lends the open hosts to the cases that run in this process."""
        if self.testbeds is not None:
            config.stash[TESTBEDS] = self.testbeds
        if self._many is not None:
            config.stash[MANY] = self._many

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A case began, or ended elsewhere."""
        self.progress.started(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A case ended."""
        try:
            told: Any = dict(report.user_properties).get(RECORDS, ())
            for record in told:
                self.write(record)
            if report.failed and VERDICT not in dict(report.user_properties):
                self._unexpected(f"{report.nodeid}: {report.longreprtext}")
        except ResultsLost as error:
            self.fail("no-space", str(error))
            raise pytest.exit.Exception(str(error)) from error

    def pytest_internalerror(self, excrepr: Any, excinfo: pytest.ExceptionInfo[Any]) -> bool:
        """What should not happen: its traceback goes to a file, its last line to the person."""
        if isinstance(excinfo.value, ResultsLost):
            self.fail("no-space", str(excinfo.value))
            return True
        self.ended_early = True
        self._unexpected(str(excrepr))
        return True

    def _unexpected(self, trace: str) -> None:
        path = self._log.folder / TRACE
        with suppress(OSError), path.open("a", encoding="utf-8") as file:
            file.write(f"{trace}\n")
        last = trace.strip().rsplit("\n", 1)[-1]
        self.write(incident("runner", "", f"the runner failed ({last}); {path} has more"))


def _assignment(checkout: Checkout, order: Order, folder: Path) -> Assignment:
    return Assignment(
        fabric=checkout.fabrics[order.fabric],
        argv=agent_command(checkout, order.subject.ia, order.privileged, order.assumed),
        env=environment(folder / DAT_CONF, order.subject.libdat),
        logs=str(folder / HOSTS),
        plan=tuple(plan(order.cases, order.modes, order.seed, order.every_mode)),
        spread=order.spread,
        every_pair=order.every_pair,
        patience=order.patience,
        thorough=order.thorough,
        seed=order.seed,
        settings=order.settings,
        identity=identity(checkout.cases_binary),
        provider=order.subject.sha256,
        controls=controls(order.catalogue, order.whole),
        registrys=registrys(order.catalogue),
        excused=_excused(order),
        model=True,
    )


def _run_record(checkout: Checkout, order: Order, plan_: Sequence[Planned], folder: Path) -> Record:
    commit, dirty = revision(checkout.root)
    chosen = {planned.case.split("/", 1)[0] for planned in plan_}
    pages = [page for page in order.catalogue.pages if page.slug in chosen]
    clauses = [clause for page in pages for clause in page.clauses]
    places = {case.id: f"{case.file}:{case.line}" for case in order.cases}
    by_control = {page.control for page in pages}
    subject = order.subject
    return {
        "type": "run",
        "format": records.FORMAT,
        "run": order.run,
        "started": records.now(),
        "command": list(order.command),
        "seed": order.seed,
        "patience": order.patience,
        **({"waived_ok": True} if order.waived_ok else {}),
        **({"assumed": dict(order.assumed)} if order.assumed else {}),
        **({"explore": order.explore} if order.explore else {}),
        "fabric": order.fabric,
        "modes": list(dict.fromkeys(planned.hosts for planned in plan_)),
        "suite": {
            "version": VERSION,
            "commit": commit,
            "dirty": dirty,
            "binary": _sha256(checkout.cases_binary),
            "profiles": by_profile(order.catalogue),
            "pages": list(every_page(checkout.catalogue)),
            "cases": len({planned.case for planned in order.whole}),
            "plan": [
                {"hosts": hosts, "cases": count}
                for hosts, count in Counter(planned.hosts for planned in order.whole).items()
            ],
        },
        "subject": {
            "library": subject.library,
            "api": subject.api,
            "sha256": subject.sha256,
            "build_id": subject.build_id,
            "ia": subject.ia,
            "dat_conf_entry": subject.entry.text,
            **({"variant": subject.variant} if subject.variant else {}),
            **({"libdat": asdict(subject.libdat)} if subject.libdat else {}),
        },
        "waivers": list(order.waivers),
        "pages": [_page(page) for page in pages],
        "clauses": [
            _clause(clause, places.get(clause.id, ""), subject.api)
            | ({"control": True} if clause.id in by_control else {})
            for clause in clauses
        ],
        "rulings": _rulings(checkout.rulings, pages),
        **proof.rows(checkout.faults, [clause.id for clause in clauses]),
        "proofs": proof.outcomes(checkout.runs, commit, folder),
        "plan": [{"case": planned.case, "hosts": planned.hosts} for planned in plan_],
    }


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _rulings(path: Path, pages: Iterable[PageClauses]) -> list[Record]:
    """The rulings that clauses of `pages` cite, in the words of this run's checkout."""
    known = rulings.load(path)
    cited = {ruling for page in pages for clause in page.clauses for ruling in clause.rulings}
    return [asdict(known[ruling]) for ruling in sorted(cited & known.keys())]


def _page(page: PageClauses) -> Record:
    """How a page is accounted for. Its words stay where they are: a sentence is its hash."""
    return {
        "page": page.page,
        "sections": [{"name": name, "count": count} for name, count in page.sections],
        "sentences": list(page.sentences),
        "informative": [asdict(row) for row in page.informative],
    }


def _clause(clause: Clause, place: str, api: str) -> Record:
    changed = clause.dat_2_0 if api == "2.0" else None
    record: Record = {
        "id": clause.id,
        "page": clause.page,
        "section": clause.section,
        "level": clause.level,
        "text": clause.text + (f" By DAT 2.0: {changed}" if changed else ""),
        "check": clause.check,
        "needs": list(clause.needs),
        "rulings": list(clause.rulings),
        "sentences": list(clause.sentences),
        "case": place,
    }
    blame = clause.blame if clause.blame != "provider" else ""
    said = {
        "reason": clause.reason,
        "picture": clause.picture,
        "blame": blame,
        "family": clause.family,
    }
    return record | {key: value for key, value in said.items() if value}


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise records.explain(error, path.parent) from error


def _clear(folder: Path, remove: bool) -> None:
    """Undo the beginning of a run that never was one."""
    if not folder.is_dir():
        return
    for entry in folder.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink()
    if remove:
        folder.rmdir()
