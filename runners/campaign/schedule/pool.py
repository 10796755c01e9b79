# SPDX-License-Identifier: BSD-2-Clause
"""A pool: all hosts of one fabric, each with an agent that stays, leased a few at a time.

A host that is lost is probed when its lease ends: it gets another agent, or is set aside.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Condition
from typing import Self

from results.runlog.records import Record
from runners.campaign.plan.assignment import Assignment
from runners.campaign.session import protocol
from runners.campaign.session.agent import Agent, AgentLost
from runners.campaign.session.protocol import Message
from runners.campaign.session.session import Session
from runners.campaign.session.testbed import (
    Bench,
    Progress,
    hosts_record,
    incident,
    refused,
    save_logs,
    start_agent,
)
from runners.fabric.base import Fabric, FabricError, Host

# So many agents are started side by side; each start is a wait for a host.
STARTS = 32
# How long an agent whose stream was closed may take to leave.
LEAVE_TIMEOUT = 5.0


@dataclass(eq=False)
class Seat:
    """A host of the pool, its agent, and what that said of itself."""

    host: Host
    agent: Agent
    hello: Message


class Pool:
    """The hosts of a fabric that has `count` of them, or with 0 all that it knows. A context.

    `tell` is given a record for each host that is set aside.
    """

    def __init__(
        self,
        assignment: Assignment,
        count: int,
        tell: Callable[[Record], None],
        progress: Progress,
    ) -> None:
        self._assignment = assignment
        self._tell = tell
        self._fabric: Fabric = assignment.open_fabric(count, progress)
        self._seats: dict[str, Seat] = {}
        self._free: list[str] = []
        self._order: list[str] = []
        self._logs = Path(assignment.logs) / "pool"
        self._change = Condition()
        self._closed = False

    @property
    def hosts(self) -> list[str]:
        """The names of all hosts, in the fabric's order."""
        return self._order

    @property
    def names(self) -> list[str]:
        """Those that are not set aside."""
        return [name for name in self._order if name in self._seats]

    def record(self, mode: int) -> Record:
        """What is known of the hosts, for a mode."""
        seats = list(self._seats.values())
        return hosts_record(mode, [seat.host for seat in seats], [seat.hello for seat in seats])

    def __enter__(self) -> Self:
        """Open the fabric and greet every host. Raises FabricError where none is left."""
        self._fabric.__enter__()
        try:
            for host, why in self._fabric.set_aside:
                self._tell(incident("host-aside", host, why))
            protocol.prepare()
            with ThreadPoolExecutor(STARTS) as starts:
                seats = list(starts.map(self._seat, self._fabric.hosts))
        except BaseException:
            self.__exit__()
            raise
        self._order = [host.name for host in self._fabric.hosts]
        self._seats = {seat.host.name: seat for seat in seats if seat is not None}
        self._free = self.names
        if not self._seats:
            self.__exit__()
            raise FabricError("no host of the fabric has an agent that can open the IA")
        return self

    def __exit__(self, *_: object) -> None:
        with self._change:
            self._closed = True
            self._change.notify_all()
        try:
            Session([seat.agent for seat in self._seats.values()]).close()
            save_logs(self._logs, self._fabric.hosts)
        finally:
            self._fabric.__exit__(None, None, None)

    def lease(self, count: int, names: Sequence[str] = ()) -> Bench:
        """So many hosts for the caller alone, or those of `names`; waits until they are free.

        Raises FabricError when there will never be enough.
        """
        with self._change:
            while not self._closed:
                wanted = list(names) if names else self._free[:count]
                if set(wanted) <= set(self._free) and len(wanted) == count:
                    self._free = [name for name in self._free if name not in wanted]
                    return _Lease(self, [self._seats[name] for name in wanted])
                if not set(names) <= self._seats.keys() or len(self._seats) < count:
                    break
                self._change.wait()
        missing = [name for name in names if name not in self._seats]
        if missing:
            raise FabricError(f"{' and '.join(missing)} was set aside")
        raise FabricError(f"{count} hosts are needed, {len(self._seats)} are left")

    def take_back(self, seats: Sequence[Seat], session: Session, lost: AgentLost | None) -> None:
        """The end of a lease, which a loss may be the reason for."""
        settled = {seat.agent for seat in seats} if lost is None else set(session.settle(lost))
        session.release()
        for seat in seats:
            kept = seat if seat.agent in settled else self._probe(seat)
            with self._change:
                if kept is None:
                    del self._seats[seat.host.name]
                else:
                    self._seats[seat.host.name] = kept
                    self._free.append(seat.host.name)
                    self._free.sort(key=self._order.index)
                self._change.notify_all()

    def _probe(self, seat: Seat) -> Seat | None:
        """Another agent on a host whose agent was lost; None where there can be none."""
        seat.agent.close()
        # What is left of the agent ends with its stream.
        if seat.host.alive():
            seat.host.exit_status(LEAVE_TIMEOUT)
        return None if self._closed else self._seat(seat.host)

    def _seat(self, host: Host) -> Seat | None:
        """Start an agent and greet it. If that fails, sets the host aside and reports it."""
        try:
            agent = start_agent(self._assignment, host)
        except FabricError as error:
            self._tell(incident("host-aside", host.name, str(error)))
            return None
        session = Session([agent])
        try:
            (hello,) = session.hello()
        except AgentLost as lost:
            agent.close()
            self._tell(incident("host-aside", host.name, lost.text))
            return None
        finally:
            session.release()
        if why := refused(hello, self._assignment):
            agent.close()
            self._tell(incident("host-aside", host.name, why))
            return None
        return Seat(host, agent, hello)


class _Lease(Bench):
    """Some hosts of a pool."""

    def __init__(self, pool: Pool, seats: Sequence[Seat]) -> None:
        session = Session([seat.agent for seat in seats])
        super().__init__([seat.host for seat in seats], [seat.hello for seat in seats], session)
        # The pool tells of all its hosts at once.
        self.told = True
        self._pool = pool
        self._seats = seats

    def close(self, lost: AgentLost | None = None) -> None:
        self._pool.take_back(self._seats, self.session, lost)
