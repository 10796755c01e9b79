# SPDX-License-Identifier: BSD-2-Clause
"""A case under gdb: the debugger has this process's terminal, the case's host runs both."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread

from results.errors import InputError, RunnerError
from runners.campaign.session.agent import AgentLost
from runners.campaign.session.attempt import Debug
from runners.campaign.session.session import Session
from runners.fabric.base import Host
from runners.fabric.console import attach
from runners.fabric.guest_host import GuestHost

# A case that was left to itself gets so many seconds to end, then it is ended.
LEFT_ALONE = 10.0

_Waiting = tuple[Host, Session, int]


def run(name: str, case: Callable[[Debug], str | None]) -> str | None:
    """Run `case`, which calls what it is given when its process waits for a debugger.

    `name` is the case's id: gdb begins where its function does. Returns what `case` returns, after
    the debugger was left. Raises InputError without a terminal.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InputError("--gdb needs a terminal")
    # The terminal belongs to the main thread, so it is the case that goes elsewhere.
    waiting: SimpleQueue[_Waiting | None] = SimpleQueue()
    ended: SimpleQueue[str | None] = SimpleQueue()

    def whole() -> None:
        verdict = None
        try:
            verdict = case(lambda host, session, process: waiting.put((host, session, process)))
        finally:
            waiting.put(None)
            ended.put(verdict)

    thread = Thread(target=whole, daemon=True)
    thread.start()
    where = waiting.get()
    if where is not None:
        host, session, process = where
        _debug(host, process, name)
        thread.join(LEFT_ALONE)
        if thread.is_alive():
            with suppress(AgentLost):
                session.abort()
    return ended.get()


def _debug(host: Host, process: int, name: str) -> None:
    if not isinstance(host, GuestHost):
        raise RunnerError(f"{host.name} has no terminal for gdb")
    function = "__".join(name.split("/")[:2])
    # The process stopped itself for gdb's sake: that signal is of no interest to who debugs it.
    orders = ("handle SIGSTOP nostop noprint nopass", f"tbreak {function}", "continue")
    argv = ["gdb", "--quiet", "-iex", "set pagination off", "-p", str(process)]
    for order in orders:
        argv += ["-ex", order]
    attach([host], os.getcwd(), argv)
