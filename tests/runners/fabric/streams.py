# SPDX-License-Identifier: BSD-2-Clause
"""Reading from an agent's stream under a deadline."""

import socket

DEADLINE = 60.0


def read_to_end(stream: socket.socket) -> bytes:
    """All that is left of the stream; TimeoutError, with what came, when its end does not."""
    stream.settimeout(DEADLINE)
    data = b""
    while True:
        try:
            chunk = stream.recv(65536)
        except TimeoutError:
            raise TimeoutError(f"no end of the stream for {DEADLINE:g} s after {data!r}") from None
        if not chunk:
            return data
        data += chunk


def read_until(stream: socket.socket, text: bytes) -> bytes:
    """What comes up to the first `text` at least; TimeoutError when it does not."""
    stream.settimeout(DEADLINE)
    data = b""
    while text not in data:
        chunk = stream.recv(65536)
        assert chunk, f"the stream ended after {data!r}"
        data += chunk
    return data


def read_exactly(stream: socket.socket, count: int) -> bytes:
    """`count` bytes of the stream."""
    stream.settimeout(DEADLINE)
    data = b""
    while len(data) < count:
        chunk = stream.recv(count - len(data))
        assert chunk, f"the stream ended after {len(data)} bytes"
        data += chunk
    return data
