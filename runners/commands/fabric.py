# SPDX-License-Identifier: BSD-2-Clause
"""`fabric shell`: a root shell, or one command, in soft-RoCE guests."""

import argparse
import contextlib
import os
import select
import socket
import sys
from collections.abc import Sequence
from threading import Thread
from typing import Any

from runners.commands import Subparsers, add_cpus, add_device, add_kernel
from runners.fabric import GUEST_DEVICES
from runners.fabric.base import FabricError
from runners.fabric.console import attach
from runners.fabric.guest_host import GuestHost
from runners.fabric.vm import VmFabric

STATUS_TIMEOUT = 10.0
SHELL_ON_A_PIPE = ["bash", "-s"]


def add_parser(commands: Subparsers) -> None:
    """Add `fabric` and what follows it to the command line."""
    fabric = commands.add_parser("fabric", help="use the guests by hand")
    verbs = fabric.add_subparsers(title="commands", required=True, metavar="COMMAND")
    shell = verbs.add_parser(
        "shell",
        help="a root shell in a soft-RoCE guest",
        description="Boot soft-RoCE guests that see this machine's files (what they write stays "
        "theirs) and give a root shell in them, or run COMMAND on each and pass on its exit code. "
        "With several guests, Ctrl-] and a digit switch the shell to another one.",
    )
    shell.add_argument("--hosts", type=int, default=1, metavar="N", help="how many (default: 1)")
    add_cpus(shell)
    add_device(shell)
    add_kernel(shell)
    shell.add_argument("argv", nargs="*", metavar="COMMAND", help="after `--`: what to run")
    shell.set_defaults(run=_shell)


def _shell(options: argparse.Namespace) -> int:
    shape: dict[str, Any] = {
        "cpus": options.cpus or 1,
        "device": options.device or GUEST_DEVICES[0],
        "kernel": options.kernel or "",
    }
    if not options.argv and sys.stdin.isatty():
        with VmFabric(options.hosts, _progress, **shape) as fabric:
            return attach(fabric.hosts, os.getcwd())
    errors = _Labels(2, options.hosts)
    with VmFabric(options.hosts, _progress, errors.write, **shape) as fabric:
        return _run_everywhere(fabric.hosts, options.argv or SHELL_ON_A_PIPE)


def _progress(line: str) -> None:
    print(f"udapl-cts: {line}", file=sys.stderr)


class _Labels:
    """Passes what hosts say to a descriptor. Of several hosts, each line says whose it is."""

    def __init__(self, target: int, hosts: int) -> None:
        self._target = target
        self._labelled = hosts > 1
        self._begun: dict[str, bytes] = {}

    def write(self, host: str, data: bytes) -> None:
        """Pass on what `host` says."""
        if not self._labelled:
            _write_all(self._target, data)
            return
        *lines, self._begun[host] = (self._begun.get(host, b"") + data).split(b"\n")
        label = f"{host}| ".encode()
        _write_all(self._target, b"".join(label + line + b"\n" for line in lines))

    def finish(self, host: str) -> None:
        """Pass on the last line of `host`, where it lacks a newline."""
        if self._begun.get(host):
            self.write(host, b"\n")


def _run_everywhere(hosts: Sequence[GuestHost], argv: Sequence[str]) -> int:
    """Run `argv` on every host; the first exit status that is not 0, in the order of the hosts."""
    labels = _Labels(1, len(hosts))
    streams = {host.start_agent(argv, directory=os.getcwd()): host for host in hosts}
    Thread(target=_feed, args=(list(streams),), daemon=True).start()
    running = set(streams)
    while running:
        for stream in select.select(running, [], [])[0]:
            data = stream.recv(65536)
            labels.write(streams[stream].name, data)
            if not data:
                labels.finish(streams[stream].name)
                running.remove(stream)
    statuses = [host.exit_status(STATUS_TIMEOUT) for host in hosts]
    if None in statuses:
        dead = hosts[statuses.index(None)]
        raise FabricError(f"{dead.name} died:\n{dead.console_tail(4000).strip()}")
    return next((status for status in statuses if status), 0)


def _feed(streams: Sequence[socket.socket]) -> None:
    """Give this process's standard input to all; the end of it too."""
    with contextlib.suppress(OSError):
        while data := os.read(0, 65536):
            for stream in streams:
                stream.sendall(data)
        for stream in streams:
            stream.shutdown(socket.SHUT_WR)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
