# SPDX-License-Identifier: BSD-2-Clause
"""A live session with an agent, every line of which is checked against the protocol's schema."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("UDAPL_CTS_BUILD", ROOT / "build" / "default"))
CASES = BUILD / "bin" / "udapl-selftest-cases"
PROVIDER = BUILD / "lib" / "libfake_misbehaving.so"

# More seconds than an agent may ever need for its next word.
PATIENCE = 30

Message = dict[str, Any]

# What takes from a command the privilege to make a PID namespace.
UNPRIVILEGED = (
    ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"]
    if os.geteuid() == 0
    else []
)


@cache
def validator(definition: str) -> Draft202012Validator:
    """The schema of what `definition` of docs/protocol.schema.json admits."""
    schema = json.loads((ROOT / "docs" / "protocol.schema.json").read_text())
    del schema["anyOf"]
    return Draft202012Validator({**schema, "$ref": f"#/$defs/{definition}"})


def admits(definition: str, message: object) -> bool:
    """Whether `definition` of the schema admits `message`."""
    return bool(validator(definition).is_valid(message))


def environment(
    folder: Path, misbehaviour: str = "", threadsafe: str | None = None
) -> dict[str, str]:
    """An environment whose dat.conf has the IA `fake0` on the provider of the tests; with a
    threadsafe entry too, where it is said how the provider misbehaves by that.
    """
    conf = folder / "dat.conf"
    lines = [
        f'fake0 u1.2 nonthreadsafe default {PROVIDER} fake.1.0 "{misbehaviour}" ""\n',
        f'fake1 u1.2 nonthreadsafe default {PROVIDER} fake.1.0 "" ""\n',
    ]
    if threadsafe is not None:
        lines.append(f'fake0 u1.2 threadsafe default {PROVIDER} fake.1.0 "{threadsafe}" ""\n')
    conf.write_text("".join(lines))
    return {**os.environ, "DAT_OVERRIDE": str(conf)}


@dataclass
class Outcome:
    """What an agent said of a run."""

    verdict: Message
    events: list[Message]

    @property
    def word(self) -> str:
        return str(self.verdict["verdict"])

    @property
    def reason(self) -> str:
        return str(self.verdict["reason"])

    def of(self, kind: str) -> list[Message]:
        return [event for event in self.events if event["kind"] == kind]

    def texts(self, kind: str) -> list[str]:
        return [event["text"] for event in self.of(kind)]

    def calls(self, who: str = "case") -> list[str]:
        return [event["call"] for event in self.of("call") if event["who"] == who]


class Agent:
    """An agent on pipes. Leaving the context says `bye` and expects a clean end."""

    def __init__(
        self,
        folder: Path,
        misbehaviour: str = "",
        ia: str = "fake0",
        namespace: bool = True,
        threadsafe: str | None = None,
        prefix: Sequence[str] = (),
        options: Sequence[str] = (),
    ) -> None:
        self.process = subprocess.Popen(
            [
                *([] if namespace else UNPRIVILEGED),
                *prefix,
                *(str(CASES), "--serve", *options, "--ia", ia),
            ],
            env=environment(folder, misbehaviour, threadsafe),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.seq = 0
        self._unread = b""
        self.hello_message: Message = {}

    def __enter__(self) -> Agent:
        self.send({"type": "hello", "protocol": 1})
        self.hello_message = self.receive()
        assert self.hello_message["type"] == "hello", self.hello_message
        return self

    def __exit__(self, kind: object, value: object, trace: object) -> None:
        if kind is None and self.process.poll() is None:
            self.send({"type": "bye"})
            assert self.process.wait(timeout=PATIENCE) == 0
        self.close()

    def close(self) -> None:
        """End the process in any case."""
        self.process.kill()
        self.process.communicate()

    def send(self, message: Message) -> None:
        self.send_line(json.dumps(message))

    def send_line(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> Message:
        """The next message but heartbeats."""
        while (message := self.receive_any())["type"] == "heartbeat":
            pass
        return message

    def receive_any(self) -> Message:
        """The next message; none that an agent may not send."""
        line = self._read_line()
        assert len(line) <= 1 << 20
        message: Message = json.loads(line)
        assert admits("from_agent", message), line
        return message

    def _read_line(self) -> bytes:
        assert self.process.stdout
        stream = self.process.stdout.fileno()
        while b"\n" not in self._unread:
            assert select.select([stream], [], [], PATIENCE)[0], "the agent says nothing"
            chunk = os.read(stream, 1 << 16)
            assert chunk, "the agent has ended"
            self._unread += chunk
        line, _, self._unread = self._unread.partition(b"\n")
        return line + b"\n"

    def start(self, case: str, **more: Any) -> int:
        """Start a case, with more time than it needs; returns the run's number."""
        self.seq += 1
        self.send(
            {
                "type": "run",
                "seq": self.seq,
                "case": case,
                "peer": "local",
                "deadline_ms": 1000 * PATIENCE,
                "event_ms": 5000,
                "quiet_ms": 20,
                "gdb": False,
                **more,
            }
        )
        return self.seq

    def receive_of_peer(self, events: list[Message]) -> Message:
        """The next message about a peer that this agent hosts; what was seen of it is added."""
        while (message := self.receive())["type"] == "event":
            events.append(message)
        return message

    def finish(self) -> Outcome:
        """All that is said of the run, up to its verdict."""
        events: list[Message] = []
        while True:
            message = self.receive()
            if message["type"] == "verdict":
                assert message["seq"] == self.seq
                return Outcome(message, events)
            assert message["type"] == "event", message
            assert message["seq"] == self.seq
            events.append(message)

    def run(self, case: str, **more: Any) -> Outcome:
        self.start(case, **more)
        return self.finish()


def has_namespace(pid: int) -> bool:
    """Whether a process is in a PID namespace of its own."""
    return any(
        line.startswith("NSpid:") and len(line.split()) > 2
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )


def descendants(pid: int) -> set[int]:
    """All processes that come from `pid`, except itself, zombies too."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(fields[1])
    found: set[int] = set()
    while True:
        more = {child for child, parent in parents.items() if parent in found | {pid}} - found
        if not more:
            return found
        found |= more


def resident_kib(pid: int) -> int:
    """The resident set of a process, in KiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError(f"process {pid} has no VmRSS")


def processor_seconds(pid: int) -> float:
    """The processor time that a process has used, its children excluded."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def eventually(holds: Any) -> bool:
    """Whether `holds()` becomes true."""
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
