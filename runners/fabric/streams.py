# SPDX-License-Identifier: BSD-2-Clause
"""Threads that pass bytes between the ports of a guest and those who use them.

QEMU never ends a port while the guest runs, and what a process wrote last may still lie in QEMU
when the guest says that the process has ended. So the bytes are counted: the guest says how many
there were, and a stream ends when as many have passed.
"""

import contextlib
import socket
from collections.abc import Callable
from threading import Event, Lock, Thread

CHUNK = 65536

Sink = Callable[[bytes], None]
AtEnd = Callable[[], None]


class Output(Thread):
    """What a process writes to a port, passed on to `sink` as it comes."""

    def __init__(self, port: socket.socket, sink: Sink, at_end: AtEnd = lambda: None) -> None:
        super().__init__(daemon=True)
        self.ended = Event()
        self._port = port
        self._sink = sink
        self._at_end = at_end
        self._passed = 0
        self._total: int | None = None
        self._lock = Lock()

    def end_at(self, total: int) -> None:
        """The process has ended, and wrote so many bytes."""
        with self._lock:
            self._total = total
        self._end_if(False)

    def run(self) -> None:
        while data := _received(self._port):
            self._sink(data)
            with self._lock:
                self._passed += len(data)
            self._end_if(False)
        self._end_if(True)

    def _end_if(self, guest_has_gone: bool) -> None:
        with self._lock:
            complete = self._total is not None and self._passed >= self._total
            if self.ended.is_set() or not (complete or guest_has_gone):
                return
            self.ended.set()
        self._at_end()


class Input(Thread):
    """What a user sends to a stream, passed on to a port; if one ends, so does the other."""

    def __init__(self, source: socket.socket, port: socket.socket) -> None:
        super().__init__(daemon=True)
        self._source = source
        self._port = port

    def run(self) -> None:
        with contextlib.suppress(OSError):
            while data := _received(self._source):
                self._port.sendall(data)
            self._port.shutdown(socket.SHUT_WR)


def deliver(target: socket.socket, data: bytes) -> None:
    """Send `data` to a user; one who has closed the stream does not want it."""
    with contextlib.suppress(OSError):
        target.sendall(data)


def hang_up(stream: socket.socket) -> None:
    """End a stream in both directions; what was sent can still be read."""
    with contextlib.suppress(OSError):
        stream.shutdown(socket.SHUT_RDWR)


def _received(source: socket.socket) -> bytes:
    try:
        return source.recv(CHUNK)
    except OSError:
        return b""
