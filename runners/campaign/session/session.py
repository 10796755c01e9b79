# SPDX-License-Identifier: BSD-2-Clause
"""A session with the agents of one mode: the subject's, and the peer's where there are two."""

import math
import re
import selectors
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from runners.campaign.session.agent import Agent, AgentLost
from runners.campaign.session.protocol import VERSION, Message

HELLO_TIMEOUT = 30.0
# What docs/protocol.md grants an agent above the case's own times, and as much for a busy host.
GRACE = 12.0
ABORT_TIMEOUT = 10.0
# An agent with a run says something each second; so long a silence is no busy host's any more.
SILENCE = 20.0
# A host of which nothing was heard for so long, in a run, has stood still.
STILL = 3.0
LOOK = 0.1
BYE_TIMEOUT = 3.0

# Agents may outlive a session, and no two runs of an agent bear the same number.
_NUMBERS = count(1)

# How an agent says which process waits for a debugger, in a record of the run.
_WAITS = re.compile(r"^process (\d+) waits for a debugger")


# Agents count in JSON, which knows whole numbers up to here.
SEEDS = 1 << 53


@dataclass(frozen=True)
class Limits:
    """How long a case may take, by default; all in milliseconds. A `thorough` one waits at its end
    for events that come late; of others, a drawn share does.
    """

    deadline_ms: int = 10_000
    event_ms: int = 3_000
    quiet_ms: int = 150
    thorough: bool = False


# A case that makes progress may exceed its limits by so many deadlines (harness/agent/run.c).
EXTENSION = 3


def patience(limits: Limits) -> float:
    """How many seconds after its command a verdict is waited for."""
    return ((1 + EXTENSION) * limits.deadline_ms + 2 * limits.event_ms) / 1000 + GRACE


@dataclass
class Evidence:
    """What an agent said of one run; `verdict` is None as long as it said none. `still` is for how
    many seconds a host of it stood still, at the longest, and `where` which one. A run that was
    `put_off` was ended before its time, and its verdict says no more than that.
    """

    events: list[Message] = field(default_factory=list)
    verdict: Message | None = None
    lost: AgentLost | None = None
    still: float = 0.0
    where: str = ""
    put_off: bool = False


class Session:
    """Runs cases one after another. Any loss ends the session: only close() is left to call."""

    def __init__(self, agents: Sequence[Agent]) -> None:
        self._agents = list(agents)
        self._seq = 0
        self._running = False
        self._peer_at_work = False
        self._disturbs = False
        self._heard: dict[Agent, float] = {}
        self._evidence = Evidence()
        self._of_peer: list[Message] = []
        self._selector = selectors.DefaultSelector()
        for agent in self._agents:
            self._selector.register(agent, selectors.EVENT_READ, agent)

    def hello(self) -> list[Message]:
        """Greet every agent; their answers, the subject's first. Raises AgentLost."""
        answers: dict[int, Message] = {}
        for agent in self._agents:
            agent.send({"type": "hello", "protocol": VERSION})

        def done(agent: Agent, message: Message) -> bool:
            if message["type"] != "hello":
                raise _unexpected(agent, message)
            answers[self._agents.index(agent)] = message
            return len(answers) == len(self._agents)

        if not self._serve(done, HELLO_TIMEOUT):
            silent = next(a for i, a in enumerate(self._agents) if i not in answers)
            raise silent.silent(f"no hello within {HELLO_TIMEOUT:.0f} s")
        return [answers[index] for index in range(len(self._agents))]

    def lost(self) -> AgentLost | None:
        """The loss of an agent between two runs, if there was one."""
        try:
            self._serve(_unexpected_any, 0)
        except AgentLost as lost:
            return lost
        return None

    def run(
        self,
        case: str,
        limits: Limits,
        peer: str,
        gdb: Callable[[int], None] | None = None,
        ia: str | None = None,
        undeclared: bool = False,
        seed: int = 0,
        libdat_fault: str = "",
        hurried: Sequence[str] = (),
        put_off: float | None = None,
        disturbs: bool = False,
        program: str = "",
    ) -> Evidence:
        """Run one case to its verdict, or to the loss of a host; never raises AgentLost.

        `peer` is `none`, `local` or `remote`. With `gdb`, the case has no deadline and stops before
        its first call; `gdb` is then called with its process id on the subject's host. `ia` is the
        IA that the case opens instead of the agent's. An `undeclared` case is run though a feature
        that it needs is declared absent. What the case draws comes from `seed`. `libdat_fault` is a
        fault that the faulty libdat has in the case's process, where that is the agent's. The calls
        `hurried` are not waited for as long as others where teardown makes them. After `put_off`
        seconds the run is ended. Only a case that `disturbs` may ask for a disturbed network.
        `program` are the steps of a puppet, a line each.
        """
        self._seq = next(_NUMBERS)
        self._evidence = evidence = Evidence()
        self._of_peer = []
        self._disturbs = disturbs
        try:
            self._await_peer()
            self._running, self._peer_at_work = True, False
            self._heard = {self._agents[0]: time.monotonic()}
            self._agents[0].send(
                {
                    "type": "run",
                    "seq": self._seq,
                    "case": case,
                    "peer": peer,
                    "deadline_ms": limits.deadline_ms,
                    "event_ms": limits.event_ms,
                    "quiet_ms": limits.quiet_ms,
                    "gdb": gdb is not None,
                    "seed": seed % SEEDS,
                    **({"ia": ia} if ia else {}),
                    **({"libdat_fault": libdat_fault} if libdat_fault else {}),
                    **({"undeclared": True} if undeclared else {}),
                    **({"thorough": True} if limits.thorough else {}),
                    **({"hurried": list(hurried)} if hurried else {}),
                    **({"program": program} if program else {}),
                }
            )
            self._await_verdict(evidence, limits, gdb, put_off)
            self._running = False
            evidence.events += self._of_peer
            for agent in list(self._heard):
                self._hear(agent)
        except AgentLost as lost:
            evidence.lost = lost
        return evidence

    def settle(self, lost: AgentLost) -> list[Agent]:
        """After the loss of a host: the agents on others, which have ended all of the last run.

        One that does not say so in time is not among them. Only release() is left to call then.
        """
        return [
            agent
            for agent in self._agents
            if agent.host.name != lost.host and self._ended(agent, agent is self._agents[0])
        ]

    def release(self) -> None:
        """End the session, and leave the agents as they are, for another one."""
        self._selector.close()

    def abort(self) -> None:
        """End the run under way: its verdict comes soon. From any thread. Raises AgentLost."""
        self._agents[0].send({"type": "abort", "seq": self._seq})

    def close(self) -> None:
        """Say good-bye and wait a little for every agent to leave; then the streams are closed."""
        left = set(self._agents)

        def done(_agent: Agent, _message: Message) -> bool:
            return False

        try:
            for agent in self._agents:
                agent.send({"type": "bye"})
            deadline = time.monotonic() + BYE_TIMEOUT
            while left and deadline > time.monotonic():
                try:
                    self._serve(done, deadline - time.monotonic())
                except AgentLost as lost:
                    gone = {agent for agent in left if agent.host.name == lost.host}
                    for agent in gone:
                        self._selector.unregister(agent)
                    left -= gone
        except AgentLost:
            pass
        finally:
            self._selector.close()
            for agent in self._agents:
                agent.close()

    def _ended(self, agent: Agent, subject: bool) -> bool:
        """End the part of `agent` in the last run; whether it acknowledged that."""
        if not (self._running if subject else self._peer_at_work):
            return True
        peer = {"type": "peer", "seq": self._seq}
        gone = {"status": 0, "reason": "the peer's host was lost"}
        with suppress(AgentLost), selectors.DefaultSelector() as selector:
            if subject and self._peer_at_work:
                agent.send({**peer, "from": "peer", "op": "stopped", "data": gone})
            if subject:
                agent.send({"type": "abort", "seq": self._seq})
            else:
                agent.send({**peer, "from": "case", "op": "stop", "data": {}})
            selector.register(agent, selectors.EVENT_READ)
            deadline = time.monotonic() + ABORT_TIMEOUT
            while (left := deadline - time.monotonic()) > 0 and selector.select(left):
                for message in agent.receive():
                    last = message["type"] == "verdict" or message.get("op") == "stopped"
                    if last and message.get("seq") == self._seq:
                        return True
        return False

    def _await_peer(self) -> None:
        """A host that stood still may have the last run's peer yet."""
        deadline = time.monotonic() + ABORT_TIMEOUT
        while self._peer_at_work and time.monotonic() < deadline:
            self._serve(_unexpected_any, LOOK)

    def _hear(self, agent: Agent) -> float:
        """An agent of the run has said something, or should have; for how long it stood still."""
        now = time.monotonic()
        still = now - self._heard.get(agent, now)
        if agent in self._heard:
            self._heard[agent] = now
        if still < STILL:
            return 0.0
        if still > self._evidence.still:
            self._evidence.still, self._evidence.where = still, agent.host.name
        return still

    def _await_verdict(
        self,
        evidence: Evidence,
        limits: Limits,
        gdb: Callable[[int], None] | None,
        put_off: float | None,
    ) -> None:
        def done(agent: Agent, message: Message) -> bool:
            expected = agent is self._agents[0] and message.get("seq") == self._seq
            if not expected or evidence.verdict is not None:
                raise _unexpected(agent, message)
            if message["type"] == "event":
                evidence.events.append(message)
                waiting = _WAITS.search(message.get("text", "")) if gdb is not None else None
                if gdb is not None and waiting is not None:
                    gdb(int(waiting[1]))
                return False
            evidence.verdict = message
            return True

        seconds = patience(limits) if put_off is None else put_off
        if self._serve(done, None if gdb is not None else seconds, SILENCE):
            return
        self.abort()
        if not self._serve(done, ABORT_TIMEOUT):
            raise self._agents[0].silent(
                f"no verdict {seconds:.0f} s after the case began, nor "
                f"{ABORT_TIMEOUT:.0f} s after its abort"
            )
        # One that had come to its end meanwhile has its verdict.
        aborted = evidence.verdict is not None and evidence.verdict.get("verdict") == "ERROR"
        evidence.put_off = put_off is not None and aborted

    def _serve(
        self,
        done: Callable[[Agent, Message], bool],
        timeout: float | None,
        silence: float = math.inf,
    ) -> bool:
        """Pass messages to `done` until it says so; False when `timeout` seconds are over.

        Raises AgentLost when the subject's agent says nothing for `silence` seconds.
        """
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        heard = time.monotonic()
        while True:
            left = max(0.0, min(deadline, heard + silence) - time.monotonic())
            ready = self._selector.select(None if left == math.inf else left)
            if not ready and time.monotonic() >= deadline:
                return False
            if not ready:
                raise self._agents[0].silent(f"not heard of for {silence:.0f} s")
            finished = False
            for key, _ in ready:
                agent: Agent = key.data
                deadline += self._hear(agent)
                if agent is self._agents[0]:
                    heard = time.monotonic()
                for message in agent.receive():
                    if message["type"] == "heartbeat":
                        # Before its hello, an agent still tries what no attribute tells of.
                        if "seq" not in message and timeout is not None:
                            deadline = time.monotonic() + timeout
                        continue
                    if message["type"] == "peer":
                        self._forward(agent, message)
                    elif message["type"] == "event" and agent is not self._agents[0]:
                        self._keep(message)
                    elif done(agent, message):
                        finished = True
            if finished:
                return True

    def _forward(self, agent: Agent, message: Message) -> None:
        others = [other for other in self._agents if other is not agent]
        if not others:
            raise AgentLost(
                "protocol", agent.host.name, "a peer message where the peer is no other host's"
            )
        if message["op"] == "disturb" and not self._disturbs:
            raise AgentLost(
                "protocol",
                agent.host.name,
                'it asks for a disturbed network in a case that has not check = "network"',
            )
        if message["op"] in ("start", "stopped"):
            self._peer_at_work = message["op"] == "start"
            peer = others[0] if self._peer_at_work else agent
            self._heard.pop(peer, None)
            if self._peer_at_work:
                self._heard[peer] = time.monotonic()
        others[0].send(message)

    def _keep(self, message: Message) -> None:
        """What a peer's host tells of it, before it says that the peer has stopped.

        It stands behind what the case's host tells. What comes after the verdict, of a host that
        was no longer waited for, is of no run any more.
        """
        if message["seq"] == self._seq and self._running:
            self._of_peer.append(message)


def _unexpected_any(agent: Agent, message: Message) -> bool:
    raise _unexpected(agent, message)


def _unexpected(agent: Agent, message: dict[str, Any]) -> AgentLost:
    about = f" about run {message['seq']}" if "seq" in message else ""
    return AgentLost("protocol", agent.host.name, f"unexpected {message['type']}{about}")
