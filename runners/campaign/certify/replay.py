# SPDX-License-Identifier: BSD-2-Clause
"""Replays: one case of an earlier run once more, alone, with all its evidence on the screen."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reports.evidence_text import call_text, stacks
from results.errors import InputError, ReportError, RunnerError
from results.model.evidence import Check
from results.model.load import attempt_of, beside, load
from results.model.run import Run
from results.model.walk import Walk
from results.runlog import records
from results.runlog.records import Record
from runners import runs
from runners.campaign.certify.campaign import DAT_CONF, settings_of
from runners.campaign.certify.exploring import puppets
from runners.campaign.explore.campaign import tell_walk
from runners.campaign.explore.walk import Walker
from runners.campaign.plan.assignment import (
    PRIVILEGED,
    THOROUGH,
    Assignment,
    agent_command,
    fabric_class,
)
from runners.campaign.plan.plan import (
    Case,
    Control,
    Planned,
    controls,
    identity,
    load_cases,
    mode,
    planned,
    registrys,
)
from runners.campaign.plan.subject import Registry, environment, registry
from runners.campaign.session import debugger
from runners.campaign.session.attempt import Attempt
from runners.campaign.session.testbed import Testbed
from runners.checkout import APIS, Checkout
from runners.names import nearest
from runners.scratch import scratch


@dataclass(frozen=True)
class _Choice:
    """What is to be replayed."""

    folder: Path
    run: Run
    case: Case
    hosts: int
    controls: Mapping[str, Control]
    registrys: tuple[str, ...]


def replay(
    checkout: Checkout, named: Sequence[str], hosts: int | None, gdb: bool, patience: int | None
) -> int:
    """Replay what `named` names ([RUN] [CASE]); the exit code says what came of it this time."""
    folder, run, name = _run_and_case(checkout, named)
    if not (folder / DAT_CONF).is_file():
        raise InputError(f"{folder} has no {DAT_CONF}: it says which provider was tested")
    checkout = checkout.by(run.subject.api)
    if walk := next((walk for walk in run.walks if walk.id == name), None):
        return _replay_walk(checkout, folder, run, walk, patience)
    choice = _choose(checkout, folder, run, name, hosts)
    print(f"{choice.case.id} [{mode(choice.hosts)}] of run {choice.run.id}")
    clause = choice.case.clause
    print(f"{choice.case.file}:{choice.case.line}, {clause.level}")
    print(f"requirement: {clause.requirement}")
    if clause.row:
        print(f"in this case: {clause.row}")
    with scratch() as logs:
        assignment = replace(
            _assignment(checkout, folder, run, logs, patience),
            plan=(planned(choice.case, choice.hosts),),
            settings=_settings(checkout, choice),
            controls=choice.controls,
            registrys=choice.registrys,
            excused=() if run.subject.registry_is_tested else choice.registrys,
        )
        return _run(assignment, assignment.plan[0], gdb)


def _replay_walk(
    checkout: Checkout, folder: Path, run: Run, walk: Walk, patience: int | None
) -> int:
    """Take a random walk of a run once more, and print its calls; the exit code."""
    print(f"{walk.id} of run {run.id}: {len(walk.steps)} steps, {walk.often}")
    print(f"found: {walk.why}")
    with scratch() as logs:
        again = puppets(_assignment(checkout, folder, run, logs, patience), checkout)
        walker = Walker(again, None, walk.attempt.hosts)
        try:
            record = walker.walk(walk.steps)
        finally:
            walker.close()
    return records.NOT_CONFORMANT if tell_walk(record) else records.CONFORMANT


def _assignment(
    checkout: Checkout, folder: Path, run: Run, logs: Path, patience: int | None
) -> Assignment:
    """The run's, without a plan."""
    return Assignment(
        fabric=checkout.fabrics[run.fabric],
        argv=agent_command(checkout, run.subject.ia, PRIVILEGED in run.command, run.assumed),
        env=environment(folder / DAT_CONF, _libdat(run)),
        logs=str(logs),
        plan=(),
        patience=patience or run.patience,
        thorough=THOROUGH in run.command,
        seed=int(run.seed or 0),
        settings=settings_of(folder),
        identity=identity(checkout.cases_binary),
        model=True,
    )


def _libdat(run: Run) -> Registry | None:
    """The libdat that the run had, if it had one of its own; raises InputError where it is gone."""
    subject = run.subject
    return registry(Path(subject.libdat), subject.api) if subject.libdat else None


def _settings(checkout: Checkout, choice: _Choice) -> dict[str, Any]:
    """The run's settings, so that the case meets the hosts again that it had there."""
    settings = settings_of(choice.folder)
    there = next(case for case in choice.run.cases if case.id == choice.case.id).first(choice.hosts)
    if there is None:
        return settings
    fabric = fabric_class(checkout.fabrics[choice.run.fabric])
    preferred: dict[str, Any] = fabric.prefer(settings, there.place)
    return preferred


def _run_and_case(checkout: Checkout, named: Sequence[str]) -> tuple[Path, Run, str]:
    """The folder of the run that is named, the run, and the case or walk of it."""
    if len(named) > 2:
        raise InputError("replay takes a run and a case: replay [RUN] [CASE]")
    run_name, case_name = _roles(checkout, named)
    folder = runs.find_run(checkout.runs, run_name)
    try:
        run = load(folder)
    except ReportError as error:
        raise InputError(str(error)) from error
    if run.fabric not in checkout.fabrics:
        raise InputError(f"run {run.id} was made on the fabric {run.fabric!r}, which is not here")
    if run.subject.api not in APIS:
        raise InputError(f"run {run.id} was made by DAT {run.subject.api}, which is not here")
    if case_name is None:
        if not run.first_broken:
            raise InputError(f"run {run.id} has no failure to replay: name a case of it")
        case_name = run.first_broken
    return folder, run, case_name


def _choose(
    checkout: Checkout, folder: Path, run: Run, case_name: str, hosts: int | None
) -> _Choice:
    recorded = {case.id: case for case in run.cases}
    if case_name not in recorded:
        near = nearest(case_name, (*recorded, *(walk.id for walk in run.walks)))
        raise InputError(f"run {run.id} has no case {case_name!r}{near}")
    modes = sorted(recorded[case_name].modes)
    if hosts is None:
        decisive = recorded[case_name].decisive
        hosts = decisive.hosts if decisive else modes[0]
    elif hosts not in modes:
        raise InputError(
            f"run {run.id} has {case_name} with {' and '.join(mode(n) for n in modes)} only"
        )
    catalogue, cases = load_cases(checkout.by(run.subject.api))
    found = next((case for case in cases if case.id == case_name), None)
    if found is None:
        raise InputError(f"the suite no longer has the case {case_name}")
    every_plan = (planned(case, hosts) for case in cases)
    return _Choice(folder, run, found, hosts, controls(catalogue, every_plan), registrys(catalogue))


def _roles(checkout: Checkout, named: Sequence[str]) -> tuple[str | None, str | None]:
    """Which of the words is the run, and which the case."""
    if len(named) == 2:
        return named[0], named[1]
    if not named:
        return None, None
    if runs.is_run(checkout.runs, named[0]) or "/" not in named[0]:
        return named[0], None
    return None, named[0]


def _run(assignment: Assignment, one: Planned, gdb: bool) -> int:
    told: list[Record] = []
    testbed = Testbed(assignment, one.hosts, "", lambda line: print(line, file=sys.stderr))
    try:
        if gdb:
            verdict = debugger.run(
                one.case, lambda debug: testbed.run(Attempt(one, debug=debug), told.append)
            )
        else:
            verdict = testbed.run(Attempt(one), told.append)
    finally:
        testbed.close()
    if verdict is None:
        raise RunnerError(testbed.given_up)
    ended = next(record for record in told if record["type"] == "verdict")
    _print(ended)
    return records.exit_code([ended["verdict"]], bool(beside(ended)))


def _print(verdict: Record) -> None:
    """Print the evidence of a verdict, in the words of the reports."""
    attempt = attempt_of(verdict)
    print(f"on {' and '.join(attempt.place)}; calls:")
    deviating = attempt.deviating_call if any(each.clause for each in attempt.beside) else None
    marked = (attempt.culprit, deviating, *attempt.troubled)
    for call in attempt.calls:
        here = call in marked
        print(call_text(call) + ("   <-- here" if here else ""))
    print("checks:")
    for check in attempt.checks:
        mark = "  ok" if check.ok else "  NOT OK"
        print(f"{mark} {check.role} {check.text}{_compared(check)} ({check.file}:{check.line})")
    for title, texts in (
        ("note", attempt.notes),
        ("record", attempt.records),
        ("leak", attempt.leaks),
        ("backtrace", attempt.crash.frames if attempt.crash else ()),
        *((title, frames) for title, frames in stacks(attempt)),
        ("output", attempt.output.splitlines()),
    ):
        for text in texts:
            print(f"{title}: {text}")
    for trouble in attempt.teardown:
        print(f"in teardown: {trouble.text}")
    for trouble in attempt.beside:
        print(f"{'model' if trouble.clause else 'probe'}: {trouble.text}")
    print(f"{attempt.verdict}" + (f": {attempt.summary}" if attempt.summary else ""))


def _compared(check: Check) -> str:
    """What a check expected and saw. The sentence of a condition is of one that did not hold."""
    if check.is_condition and check.ok:
        return ""
    admitted = f": expected {' or '.join(check.expected)}" if check.expected else ""
    return admitted + (f", saw {check.seen}" if check.seen else "")
