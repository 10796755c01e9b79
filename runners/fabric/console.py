# SPDX-License-Identifier: BSD-2-Clause
"""Interactive shells in guests: each has a terminal of its own, and the user's is joined to one."""

import os
import select
import signal
import socket
import sys
import termios
import tty
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from runners.fabric.base import FabricError
from runners.fabric.guest_host import GuestHost

# Not a login shell: this machine's profiles may take seconds in a guest, or be of no use there.
SHELL = ("bash", "--norc", "--noprofile")
PROMPT = {"PS1": r"\u@\h:\w\$ "}
ESCAPE = b"\x1d"
END_OF_FILE = b"\x04"
STATUS_TIMEOUT = 10.0


def console(
    host: GuestHost,
    argv: Sequence[str] = SHELL,
    env: Mapping[str, str] | None = None,
    directory: str | None = None,
) -> socket.socket:
    """Start `argv` on a terminal of `host`, beside its agent; return the terminal's stream.

    The stream carries what a terminal does, so the caller puts its own into raw mode; it ends with
    the command, whose status is then host.console_status().
    """
    environment = {**PROMPT, "TERM": os.environ.get("TERM", "dumb"), **(env or {})}
    return host.start_console(argv, environment, directory, _size())


def attach(
    hosts: Sequence[GuestHost], directory: str | None = None, argv: Sequence[str] = SHELL
) -> int:
    """Join this process's terminal to a shell, or `argv`, on each host; the one in view ends it.

    Ctrl-] and a digit switch the view to the host of that number. Returns the exit status of the
    command that ended.
    """
    streams = [console(host, argv, directory=directory) for host in hosts]
    try:
        with _raw_terminal() as resized:
            host = _bridge(hosts, streams, resized)
    finally:
        for stream in streams:
            stream.close()
    status = host.console_status(STATUS_TIMEOUT)
    if status is None:
        raise FabricError(f"{host.name} died:\n{host.console_tail(4000).strip()}")
    return status


def _bridge(
    hosts: Sequence[GuestHost], streams: Sequence[socket.socket], resized: int
) -> GuestHost:
    """Pass bytes between the terminal and the stream in view, until that ends; its host."""
    terminal = sys.stdin.fileno()
    view = 0
    escaped = False
    while True:
        ready = select.select([terminal, resized, streams[view]], [], [])[0]
        if streams[view] in ready:
            output = streams[view].recv(65536)
            if not output:
                return hosts[view]
            _write_all(sys.stdout.fileno(), output)
        if resized in ready:
            os.read(resized, 64)
            hosts[view].resize_console(_size())
        if terminal in ready:
            typed = os.read(terminal, 4096)
            if typed == ESCAPE and not escaped:
                escaped = True
            elif escaped and typed.isdigit() and 1 <= int(typed) <= len(hosts):
                escaped = False
                view = int(typed) - 1
                hosts[view].resize_console(_size())
                _write_all(sys.stdout.fileno(), f"\r\n[{hosts[view].name}]\r\n".encode())
                streams[view].sendall(b"\r")
            else:
                escaped = False
                # without a terminal there is no input, which ends the shell
                streams[view].sendall(typed or END_OF_FILE)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _size() -> str:
    try:
        size = os.get_terminal_size(sys.stdin.fileno())
    except OSError:
        size = os.terminal_size((0, 0))
    return f"{size.lines or 24} {size.columns or 80}"


@contextmanager
def _raw_terminal() -> Iterator[int]:
    """Raw mode; yields a descriptor that becomes readable when the terminal changes its size."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    wakeup_before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    handler_before = signal.signal(signal.SIGWINCH, lambda number, frame: None)
    try:
        tty.setraw(terminal)
        yield reader
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
        signal.signal(signal.SIGWINCH, handler_before)
        signal.set_wakeup_fd(wakeup_before)
        os.close(reader)
        os.close(writer)
