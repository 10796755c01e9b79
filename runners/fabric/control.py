# SPDX-License-Identifier: BSD-2-Clause
"""The lines that the host and a guest's first process exchange over the control port."""

import select
import socket
import time
from collections.abc import Mapping, Sequence

from runners.fabric.base import FabricError


class GuestGone(FabricError):
    """The guest ended, or said nothing, where an answer was due."""


class Control:
    """The host's end of a control port. Verbs are those of guest/init.c."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self._pending = b""

    def send(self, *lines: str) -> None:
        """Send whole lines; raises GuestGone when the guest is gone."""
        try:
            self._stream.sendall("".join(f"{line}\n" for line in lines).encode())
        except OSError as error:
            raise GuestGone(f"the guest is gone: {error.strerror}") from None

    def receive(self, timeout: float | None) -> tuple[str, str]:
        """The next line as verb and value; GuestGone after `timeout` seconds or at the end."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while b"\n" not in self._pending:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([self._stream], [], [], left)[0]:
                raise GuestGone(f"the guest did not answer within {timeout:.0f} s")
            try:
                chunk = self._stream.recv(4096)
            except OSError:
                chunk = b""
            if not chunk:
                raise GuestGone("the guest ended")
            self._pending += chunk
        line, self._pending = self._pending.split(b"\n", 1)
        verb, _, value = line.decode(errors="replace").partition(" ")
        return verb, value

    def expect(self, verb: str, timeout: float) -> str:
        """The value of the next line, which must start with `verb`."""
        answer, value = self.receive(timeout)
        if answer != verb:
            raise FabricError(f"the guest answered {verb!r} with: {answer} {value}")
        return value


def command_lines(argv: Sequence[str], env: Mapping[str, str], directory: str | None) -> list[str]:
    """The lines that describe a command; whatever text the values hold arrives unchanged."""
    lines = ["command"]
    for name, value in env.items():
        if not name or any(character in name + value for character in "\n\0") or "=" in name:
            raise FabricError(f"{name!r} cannot be passed to a guest: not a one-line variable")
        lines.append(f"env {name}={value}")
    for argument in argv:
        if "\0" in argument:
            raise FabricError(f"{argument!r} cannot be an argument: it holds a NUL")
        first, *others = argument.split("\n")
        lines.append(f"arg {first}")
        lines.extend(f"more {other}" for other in others)
    if directory is not None:
        if "\n" in directory:
            raise FabricError(f"{directory!r} cannot be a guest's directory: it holds a newline")
        lines.append(f"directory {directory}")
    return lines
