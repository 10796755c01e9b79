# SPDX-License-Identifier: BSD-2-Clause
"""A testbed: the hosts of one mode, opened when first needed, opened anew after a loss.

Everything that happens is reported as records (docs/results.md) to the `emit` of each call.
"""

import time
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import oracle
from results.model.subject import NO_PRIVILEGE
from results.runlog.contradiction import contradiction
from results.runlog.records import CONTRADICTED, Record, now
from results.runlog.similarity import LEAST
from runners.campaign.plan.assignment import Assignment
from runners.campaign.plan.plan import Planned
from runners.campaign.session import protocol
from runners.campaign.session.agent import Agent, AgentLost
from runners.campaign.session.attempt import (
    UNFIT,
    Attempt,
    Ended,
    limits,
    peer,
    unfit,
    verdict_record,
)
from runners.campaign.session.controls import Controls
from runners.campaign.session.model import found_by_model
from runners.campaign.session.patience import Waits
from runners.campaign.session.protocol import Message
from runners.campaign.session.session import Evidence, Limits, Session
from runners.fabric.base import Fabric, FabricError, Host
from runners.fabric.files import REGISTRY

if TYPE_CHECKING:
    from runners.campaign.session.symbolize import Places

# A host that is lost so often without a verdict in between is not opened again.
LOSSES_IN_A_ROW = 3
# So often is a case run at most, where a host stands still each time.
STILLS = 3
LOG_LIMIT = 1 << 20
# So many calls may a run name that are to be hurried.
HURRIED_MOST = 16
# What run() says of a case that was put off.
PUT_OFF = "put off"

Emit = Callable[[Record], None]
Progress = Callable[[str], None]


def quiet(_line: str) -> None:
    """A Progress that shows nothing."""


class Bench(ABC):
    """Open hosts, each with an agent, and the session with them; the subject's host comes first."""

    def __init__(self, hosts: Sequence[Host], hellos: Sequence[Message], session: Session) -> None:
        self.hosts = hosts
        self.session = session
        self.told = False
        self.set_aside: Sequence[tuple[str, str]] = ()
        self._hellos = hellos

    @property
    def names(self) -> list[str]:
        """The hosts' names."""
        return [host.name for host in self.hosts]

    def record(self, mode: int) -> Record:
        """What is known of the hosts."""
        return hosts_record(mode, self.hosts, self._hellos)

    def refusal(self, assignment: Assignment) -> tuple[str, str] | None:
        """The first host whose agent is another suite's, or has another libdat than it
        should, or cannot open the IA, and why; the subject's, where it is another provider.
        """
        for host, hello in zip(self.hosts, self._hellos, strict=True):
            if why := refused(hello, assignment):
                return host.name, why
        if why := _other_provider(self._hellos[0]["ia"], assignment.provider):
            return self.hosts[0].name, why
        return None

    @property
    def attributes(self) -> Mapping[str, Any]:
        """What the IA under test declares of itself."""
        declared: Mapping[str, Any] = self._hellos[0]["ia"].get("attributes", {})
        return declared

    def declared(self, ia: str | None) -> dict[str, Any]:
        """What the IA that a case opens declares, for the executable specification."""
        return oracle.declared_of({"ia": self._hellos[0]["ia"]}, ia)

    @property
    def libraries(self) -> list[tuple[Path, str]]:
        """The providers that were loaded, with their build ids, of those that have one."""
        said = (hello["ia"] for hello in self._hellos)
        return [(Path(ia["library"]), ia["build_id"]) for ia in said if ia.get("build_id")]

    @abstractmethod
    def close(self, lost: AgentLost | None = None) -> None:
        """Let the hosts go; `lost` is the loss that is the reason, if one is."""


# Opens the hosts and greets their agents. Raises FabricError, AgentLost.
Open = Callable[[], Bench]


class Testbed:
    """The hosts of one mode, each with an agent, and the session with them.

    They are a fabric of their own, or what `opened` gives. Where it `puts_off`, a first attempt may
    be ended that waits.
    """

    def __init__(
        self,
        assignment: Assignment,
        hosts: int,
        label: str,
        progress: Progress = quiet,
        opened: Open | None = None,
        puts_off: bool = False,
    ) -> None:
        self._assignment = assignment
        self._hosts = hosts
        self._label = label
        self._progress = progress
        self._open = opened or self._open_fabric
        self._opening: Future[Bench] | None = None
        self._openings = 0
        self._losses = 0
        # By attempt, how often teardown's calls had all of their time, and no end.
        self._hung: Counter[tuple[int, str]] = Counter()
        self._waits = Waits() if puts_off else None
        self._places: Places | None = None
        # By IA.
        self._controls: defaultdict[str | None, Controls] = defaultdict(
            lambda: Controls(assignment.controls, assignment.registrys)
        )
        self.given_up = ""

    def prepare(self) -> None:
        """Begin to open the hosts, in the background; nothing to do where they are open."""
        if self._opening is not None or self.given_up:
            return
        self._openings += 1
        future: Future[Bench] = Future()
        self._opening = future
        Thread(target=_fulfil, args=(self._open, future), daemon=True).start()

    def ready(self, emit: Emit) -> bool:
        """Wait until the hosts are open; False where they cannot be had (`given_up`)."""
        return self._ready(emit) is not None

    def attributes(self, emit: Emit) -> Mapping[str, Any]:
        """What the IA declares when the hosts are open; nothing if they cannot be had."""
        opened = self._ready(emit)
        return {} if opened is None else opened.attributes

    def run(self, attempt: Attempt, emit: Emit) -> str | None:
        """Run one case; its verdict's word, None where the hosts cannot be had (`given_up`), or
        PUT_OFF where it waits like many before it, and is to be begun anew elsewhere.
        """
        opened = self._not_lost(emit)
        if opened is None:
            return None
        ended = self._run_on(opened, attempt, emit)
        if ended.evidence.put_off:
            self._replace_unfit(opened, ended.evidence, attempt.planned, emit)
            return PUT_OFF
        self._complete(opened, attempt, ended.record)
        self._contradict(opened, attempt.planned, ended.record, emit)
        return self._settle(opened, attempt, ended, emit)

    def _not_lost(self, emit: Emit) -> Bench | None:
        """The hosts, opened anew if one was lost since the last case."""
        opened = self._ready(emit)
        while opened is not None and (lost := opened.session.lost()) is not None:
            emit(incident(lost.what, lost.host, lost.text))
            self._lost(lost, emit)
            opened = self._ready(emit)
        return opened

    def _run_on(self, opened: Bench, attempt: Attempt, emit: Emit) -> Ended:
        """Run the case; anew if a host stood still and the case was not kept."""
        for left in reversed(range(STILLS)):
            ended = self._run_once(opened, attempt)
            if not (left and attempt.debug is None and ended.disturbed):
                break
            emit(
                incident(
                    "stood-still",
                    ended.evidence.where,
                    f"stood still for {ended.evidence.still:.0f} s, while {attempt.planned.case} "
                    f"ran: its {ended.record['verdict']} says nothing, and it is run anew",
                )
            )
        return ended

    def _limits(self, planned: Planned) -> Limits:
        usual = Limits(thorough=self._assignment.thorough)
        return limits(planned, usual, self._assignment.patience)

    def _run_once(self, opened: Bench, attempt: Attempt, control: bool = False) -> Ended:
        """Run the case on these hosts; a `control` hurries nothing, and is not put off."""
        planned, debug = attempt.planned, attempt.debug
        in_full = control or attempt.within is not None or debug is not None
        started, begun = now(), time.monotonic()
        evidence = opened.session.run(
            planned.case,
            attempt.within or self._limits(planned),
            peer(planned),
            None if debug is None else partial(debug, opened.hosts[0], opened.session),
            attempt.ia,
            attempt.undeclared,
            self._assignment.seed,
            attempt.libdat_fault,
            () if in_full else self._hurried(attempt.number),
            self._waits.put_off if self._waits and not control else None,
            planned.network and not control,
            attempt.program,
        )
        ms = (time.monotonic() - begun) * 1000
        names = opened.names
        return Ended(
            evidence, verdict_record(planned, attempt.number, names, started, ms, evidence)
        )

    def _complete(self, opened: Bench, attempt: Attempt, record: Record) -> None:
        """Add to the record where its frames are in the sources, and what the oracle says."""
        self._note_hung(record)
        if self._waits:
            self._waits.take(record)
        if "crash" in record:
            record["crash"]["where"] = self._where(opened, [record["crash"]["backtrace"]])[0]
        if stacks := record.get("stacks", []):
            places = self._where(opened, [stack["backtrace"] for stack in stacks])
            for stack, where in zip(stacks, places, strict=True):
                stack["where"] = where
        declared = opened.declared(attempt.ia)
        judgement = oracle.judge(record, declared, patience=self._assignment.patience)
        record["oracle"] = judgement.record

    def _contradict(self, opened: Bench, planned: Planned, record: Record, emit: Emit) -> None:
        """Change the verdict of a record that contradicts itself, and report the contradiction."""
        if against := contradiction(record):
            emit(incident("contradiction", opened.names[0], f"{planned.case}: {against}"))
            said = f"the record contradicts itself: {record['verdict']} was said, but {against}"
            record |= {"verdict": CONTRADICTED, "reason": said}
        elif record["verdict"] == CONTRADICTED:
            text = f"{planned.case}: {record['reason']}"
            emit(incident("contradiction", opened.names[0], text))

    def _settle(self, opened: Bench, attempt: Attempt, ended: Ended, emit: Emit) -> str:
        """Report the verdict, after its controls if it needs any, and the loss of a host."""
        record, lost = ended.record, ended.evidence.lost
        if self._assignment.model and attempt.controllable:
            record = found_by_model(record, self._assignment.excused)
        if lost is not None:
            emit(incident(lost.what, lost.host, lost.text))
            emit(record)
            self._lost(lost, emit)
        else:
            self._losses = 0
            # On a host that the case took its device from, no control says anything of a call.
            if attempt.controllable and not unfit(ended.evidence):
                control = partial(self._control, opened, attempt, emit)
                record = self._controls[attempt.ia].judge(record, control)
            emit(record)
            self._replace_unfit(opened, ended.evidence, attempt.planned, emit)
        word: str = record["verdict"]
        return word

    def _control(
        self, opened: Bench, attempt: Attempt, emit: Emit, planned: Planned
    ) -> Record | None:
        """Run a control on the hosts of the case that needs it; None where they are lost, or where
        they are to be replaced, because a control took a device or a network away.
        """
        if self._opening is None or opened.session.lost() is not None:
            return None
        planned = replace(planned, hosts=self._hosts)
        own = Attempt(planned, ia=attempt.ia, within=attempt.within)
        ended = self._run_once(opened, own, control=True)
        if ended.evidence.lost is not None or ended.evidence.still > 0:
            return None
        if unfit(ended.evidence):
            self._replace_unfit(opened, ended.evidence, planned, emit)
            return None
        return ended.record

    def abort(self) -> None:
        """End the case that runs now, if one does. From any thread."""
        opening = self._opening
        if opening is not None and opening.done() and opening.exception() is None:
            with suppress(AgentLost):
                opening.result().session.abort()

    def close(self, lost: AgentLost | None = None) -> None:
        """End the hosts, for `lost` if there was a loss. A later run() opens new ones."""
        if self._opening is not None:
            # Hosts that are still being opened are closed as soon as they are open.
            self._opening.add_done_callback(partial(_close, lost))
            self._opening = None
        if self._places is not None:
            self._places.close()
            self._places = None

    def _where(self, opened: Bench, backtraces: Sequence[Sequence[str]]) -> list[list[str]]:
        """Where in the sources the frames of each backtrace are."""
        if self._places is None:
            program = Path(self._assignment.argv[0])
            # .../build/default/bin
            root = program.parent.parents[2]
            # Only what crashed or hung needs it, and debug information takes long to load.
            from runners.campaign.session.symbolize import Places

            self._places = Places(root, [(program, ""), *opened.libraries])
        return self._places.of_all(backtraces)

    def _note_hung(self, record: Record) -> None:
        for broken in record.get("teardown", ()):
            whole = broken["what"] == "timeout" and not broken.get("hurried")
            if whole and broken["call"] and "who" not in broken:
                self._hung[record["attempt"], broken["call"]] += 1

    def _hurried(self, attempt: int) -> list[str]:
        """The calls of teardown that had no end so often that they are not waited for as long.

        A second attempt gives them all of their time again: it shows what the first may have cut.
        """
        hung = (
            call for (of, call), count in self._hung.items() if of == attempt and count >= LEAST
        )
        return list(islice(hung, HURRIED_MOST))

    def _open_fabric(self) -> Bench:
        fabric = self._assignment.open_fabric(self._hosts, self._progress)
        logs = Path(self._assignment.logs) / f"{self._label}{self._hosts}.{self._openings}"
        fabric.__enter__()
        protocol.prepare()
        agents: list[Agent] = []
        try:
            agents += [start_agent(self._assignment, host) for host in fabric.hosts]
            session = Session(agents)
            return _Own(fabric, logs, session.hello(), session)
        except BaseException:
            for agent in agents:
                agent.close()
            save_logs(logs, fabric.hosts)
            fabric.__exit__(None, None, None)
            raise

    def _ready(self, emit: Emit) -> Bench | None:
        opened = self._opened(emit)
        if opened is None:
            return None
        if not opened.told:
            for host, why in opened.set_aside:
                emit(incident("host-aside", host, why))
            emit(opened.record(self._hosts))
            opened.told = True
        refused = opened.refusal(self._assignment)
        if refused is not None:
            self._give_up("ia", *refused, emit)
            self.close()
            return None
        return opened

    def _opened(self, emit: Emit) -> Bench | None:
        """The hosts when they are open. One that is lost before its first word is lost like any."""
        while not self.given_up:
            self.prepare()
            assert self._opening is not None
            try:
                return self._opening.result()
            except AgentLost as lost:
                emit(incident(lost.what, lost.host, lost.text))
                self._lost(lost, emit)
            except FabricError as error:
                self._give_up("fabric", "", str(error), emit)
        return None

    def _replace_unfit(
        self, opened: Bench, evidence: Evidence, planned: Planned, emit: Emit
    ) -> None:
        """Let hosts go whose device or network a case took away: the next case has others."""
        said = evidence.verdict or {}
        for member, host in zip(UNFIT, opened.names, strict=False):
            if why := said.get(member):
                text = f"{why}, after {planned.case}: it is opened anew before the next case"
                emit(incident("host-unfit", host, text))
                self.close(AgentLost("host-unfit", host, text))

    def _lost(self, lost: AgentLost, emit: Emit) -> None:
        self.close(lost)
        self._losses += 1
        if self._losses == LOSSES_IN_A_ROW:
            text = f"hosts were lost {self._losses} times in a row; {lost.host}: {lost.text}"
            self._give_up("fabric", "", text, emit)

    def _give_up(self, what: str, host: str, text: str, emit: Emit) -> None:
        emit(incident(what, host, text))
        self.given_up = text


class Testbeds:
    """The testbeds of all modes of an assignment."""

    def __init__(
        self,
        assignment: Assignment,
        label: str,
        progress: Progress = quiet,
    ) -> None:
        modes = dict.fromkeys(planned.hosts for planned in assignment.plan)
        self._by_mode = {hosts: Testbed(assignment, hosts, label, progress) for hosts in modes}

    def prepare(self, hosts: int) -> None:
        """Begin to open the hosts of a mode."""
        self._by_mode[hosts].prepare()

    def run(self, attempt: Attempt, emit: Emit) -> str | None:
        """Run one case on the testbed of its mode; what Testbed.run() says."""
        return self._by_mode[attempt.planned.hosts].run(attempt, emit)

    def keep_only(self, wanted: Iterable[int]) -> None:
        """Close the hosts of every mode but these."""
        kept = set(wanted)
        for hosts, testbed in self._by_mode.items():
            if hosts not in kept:
                testbed.close()

    def given_up(self, hosts: int) -> str:
        """Why a mode's hosts cannot be had, or nothing."""
        return self._by_mode[hosts].given_up

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.keep_only(())


class _Own(Bench):
    """All hosts of a fabric that has no other user."""

    def __init__(
        self, fabric: Fabric, logs: Path, hellos: Sequence[Message], session: Session
    ) -> None:
        super().__init__(fabric.hosts, hellos, session)
        self.set_aside = fabric.set_aside
        self._fabric = fabric
        self._logs = logs

    def close(self, lost: AgentLost | None = None) -> None:
        try:
            self.session.close()
            save_logs(self._logs, self.hosts)
        finally:
            self._fabric.__exit__(None, None, None)


def start_agent(assignment: Assignment, host: Host) -> Agent:
    """Start the assignment's agent on `host`. Raises FabricError."""
    return Agent(host, host.start_agent(assignment.argv, assignment.env))


def _other_provider(ia: Mapping[str, Any], sha256: str) -> str:
    """Why what an IA was loaded from is not the provider of this digest; nothing if it is."""
    loaded = ia.get("sha256", sha256)
    if not sha256 or loaded == sha256:
        return ""
    return (
        f"its agent loaded another provider, {ia.get('library')} with SHA-256 {loaded[:16]}...; the"
        f" run's has {sha256[:16]}...: was it replaced meanwhile? certify anew"
    )


def refused(hello: Message, assignment: Assignment) -> str:
    """Why nothing can be run where this hello comes from: its agent is another suite's, or has
    another libdat, or the IA did not open; nothing when it did.
    """
    for what, own in assignment.identity.items():
        if hello[what] != own:
            return (
                f"its agent is another suite's ({what} {hello[what] or 'unknown'}, this checkout's "
                f"is {own}): give it this build of the suite, at the same path where hosts share "
                "their files, and certify anew"
            )
    libdat, found = assignment.env.get("LD_PRELOAD", ""), hello.get("libdat", "")
    if libdat and found != libdat and not found.endswith(f"/{REGISTRY}/{Path(libdat).name}"):
        return f"its libdat is {found or 'not known'}, and not {libdat}: the loader did not take it"
    ia = hello["ia"]
    if ia["open"]:
        return ""
    said = " | ".join(line.strip() for line in ia["output"].splitlines())
    why = str(ia["reason"]) or f"the agent does not say why {ia['name']} does not open"
    return why + (f" ({said})" if said else "")


def save_logs(folder: Path, hosts: Iterable[Host]) -> None:
    """Keep the hosts' own words in `folder`."""
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        for host in hosts:
            for name, text in (
                ("console", host.console_tail(LOG_LIMIT)),
                ("stderr", host.stderr_tail(LOG_LIMIT)),
            ):
                (folder / f"{host.name}.{name}").write_text(text, errors="replace")


def incident(what: str, host: str, text: str) -> Record:
    """An incident's record."""
    return {"type": "incident", "what": what, "host": host, "text": text}


def hosts_record(mode: int, hosts: Iterable[Host], hellos: Iterable[Message]) -> Record:
    """The record of hosts that are up for a mode, and of what the IA of each says of itself."""
    said = list(hellos)
    ia, *others = (hello["ia"] for hello in said)
    facts = []
    for host, hello in zip(hosts, said, strict=True):
        told = asdict(host.facts())
        # So many lanes pay: what cases saw does not depend on it.
        del told["processors"]
        fact = {name: _plain(value) for name, value in told.items() if value != ""}
        fact["privilege"] = "; ".join(hello["kept"]) or NO_PRIVILEGE
        facts.append({"name": host.name, "address": host.address, **fact})
    return {"type": "hosts", "hosts": mode, "facts": facts, "ia": ia, "other_ias": others}


def _fulfil(opened: Open, future: "Future[Bench]") -> None:
    try:
        future.set_result(opened())
    except BaseException as error:
        future.set_exception(error)


def _close(lost: AgentLost | None, future: "Future[Bench]") -> None:
    with suppress(Exception):
        future.result().close(lost)


def _plain(value: Any) -> Any:
    return ", ".join(value) if isinstance(value, tuple) else value
