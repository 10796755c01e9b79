# SPDX-License-Identifier: BSD-2-Clause
"""One agent at the other end of a byte stream: whole, valid messages in and out, or AgentLost."""

import json
import socket
from collections.abc import Iterator
from typing import Any

from runners.campaign.session.protocol import LINE_LIMIT, Message, ProtocolError, check
from runners.fabric.base import Host

SEND_TIMEOUT = 10.0
# How long after its stream a process, or its host, may take to have ended.
GONE_TIMEOUT = 5.0
CHUNK = 1 << 18
CONSOLE_LINES = 6

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class AgentLost(Exception):
    """A session ended that should not have: `what` is an incident's kind, `text` says why."""

    def __init__(self, what: str, host: str, text: str) -> None:
        super().__init__(f"{host}: {text}")
        self.what = what
        self.host = host
        self.text = text


class Agent:
    """The agent on `host`, behind `stream`, which it owns. Messages are those of protocol.md."""

    def __init__(self, host: Host, stream: socket.socket) -> None:
        self.host = host
        self._stream = stream
        self._stream.settimeout(SEND_TIMEOUT)
        self._rest = b""

    def fileno(self) -> int:
        """For selectors: readable when receive() has something to read."""
        return self._stream.fileno()

    def send(self, message: Message) -> None:
        """Send one message; raises AgentLost when the agent does not take it."""
        line = _ENCODER.encode(message).encode()
        try:
            self._stream.sendall(line + b"\n")
        except OSError as error:
            raise self._gone() from error

    def receive(self) -> Iterator[Message]:
        """The messages that one read of a readable stream completes. Raises AgentLost."""
        try:
            chunk = self._stream.recv(CHUNK)
        except OSError:
            # The agent has reset it; or a run ends, and another thread has closed it.
            chunk = b""
        if not chunk:
            raise self._gone()
        self._rest += chunk
        if b"\n" in chunk:
            *lines, rest = self._rest.split(b"\n")
            self._rest = rest
            for line in lines:
                self._measure(len(line) + 1)
                yield self._message(line)
        self._measure(len(self._rest) + 1)

    def silent(self, what: str) -> AgentLost:
        """The loss of an agent that did not answer in time; its host is ended."""
        console = _last_lines(self.host.console_tail())
        self.host.kill()
        return AgentLost("host-lost", self.host.name, f"no answer: {what}{console}")

    def close(self) -> None:
        """End the stream."""
        self._stream.close()

    def _measure(self, length: int) -> None:
        if length > LINE_LIMIT:
            raise AgentLost("protocol", self.host.name, f"a line of more than {LINE_LIMIT} bytes")

    def _message(self, line: bytes) -> Message:
        try:
            message: dict[str, Any] = check(line)
        except ProtocolError as error:
            raise AgentLost("protocol", self.host.name, str(error)) from error
        if message["type"] == "error" and "seq" not in message:
            raise AgentLost("protocol", self.host.name, f"the agent aborted: {message['reason']}")
        return message

    def _gone(self) -> AgentLost:
        if not self.host.alive():
            console = _last_lines(self.host.console_tail())
            return AgentLost("host-lost", self.host.name, f"the host ended{console}")
        status = self.host.exit_status(timeout=GONE_TIMEOUT)
        if status is None and not self.host.alive():
            console = _last_lines(self.host.console_tail())
            return AgentLost("host-lost", self.host.name, f"the host ended{console}")
        ended = "the agent ended" if status is None else f"the agent ended with status {status}"
        return AgentLost("agent-lost", self.host.name, ended + _last_lines(self.host.stderr_tail()))


def _last_lines(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return ": " + " | ".join(lines[-CONSOLE_LINES:]) if lines else ""
