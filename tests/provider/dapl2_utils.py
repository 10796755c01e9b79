#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Run Debian's dapl2-utils, by DAT 2.0, on the reference provider and this host's RDMA device.

    tests/provider/dapl2_utils.py BUILD [--more] [NAME ...]

BUILD is a build directory. On one host, each program runs against another copy of itself. On two,
as --hosts 2 says, host1 serves and the other connects. The programs' exit codes say little, so
their output is judged. The exit code is the number of failures.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

# The EVDs that the provider offers need descriptors; a guest's shells have 1024.
DESCRIPTORS = 8192
IA = "ref2"
SERVER = "10.77.0.1"
SYNC_PORT = 7800
DEADLINE = float(os.environ.get("DAPLREF_TEST_TIMEOUT", "120"))

# Some say that they are ready and listen only then; a refusal is an event to try again after.
TOO_EARLY = r"Could not connect to"

BAD = r"(?i)\bfailed\b|\berror\b|mismatch|core dumped"


class Running:
    """A program under way, whose output is read line by line."""

    def __init__(self, argv: tuple[str, ...]) -> None:
        self.argv = argv
        self.text = ""
        self._ended = False
        self._changed = threading.Condition()
        self._process = subprocess.Popen(
            ("stdbuf", "-oL", *argv), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            with self._changed:
                self.text += line
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def says(self, pattern: str) -> bool:
        """Wait for a line; False when the program ends, or time does, without it."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or re.search(pattern, self.text), DEADLINE)
            return re.search(pattern, self.text) is not None

    def end(self, until: str | None = None) -> None:
        """Wait for the end of the program; one that is known to hang, only `until` it says so."""
        ended = until is not None and self.says(until)
        if not ended:
            with self._changed:
                ended = self._changed.wait_for(lambda: self._ended, DEADLINE)
        self._process.kill()
        self._reader.join()
        status = self._process.wait()
        if not ended:
            self.text += f"did not end within {DEADLINE:.0f} s\n"
        elif status < 0 and until is None:
            self.text += f"was killed by signal {-status}\n"


@dataclass(frozen=True)
class Client:
    """One call of a client, and what its output must have."""

    argv: tuple[str, ...]
    wants: str
    allows: str = r"$^"  # what looks bad and is not


@dataclass(frozen=True)
class Program:
    """A server, if any, and the clients that it serves one after another."""

    name: str
    clients: tuple[Client, ...]
    server: tuple[str, ...] = ()
    ready: str = ""
    wants: str = ""  # of the server
    until: str | None = None  # both hang at this line, see docs/provider-dat2.md
    more: bool = False  # only with --more


def pair(name: str, command: str, ready: str, wants: str, more: bool = False) -> Program:
    """A program that serves, or with -h connects, and says the same of itself either way."""
    argv = tuple(command.split())
    return Program(name, (Client((*argv, "-h", SERVER), wants),), argv, ready, wants, more=more)


def dtest(name: str, options: str, more: bool = False) -> Program:
    return pair(
        name,
        f"dtest -P {IA} {options}",
        r"Server is waiting for client",
        r"DAPL Test Complete\. PASSED",
        more,
    )


def dtestcm(name: str, options: str, more: bool = False) -> Program:
    return pair(
        name,
        f"dtestcm -P {IA} {options}",
        r"Conn server waiting for client",
        r"DAPL Connection Test Complete",
        more,
    )


def transaction(options: str) -> Client:
    command = f"dapltest -T T -s {SERVER} -D {IA} {options}"
    return Client(tuple(command.split()), r"Stats|Test completed successfully")


def performance(options: str) -> Client:
    command = f"dapltest -T P -s {SERVER} -D {IA} {options}"
    return Client(tuple(command.split()), r"(?m)^raw: ")


def limit(what: str, most: int, wants: str) -> Program:
    command = f"dapltest -T L -D {IA} -m {most} limit_{what}"
    return Program(f"limit-{what}", (Client(tuple(command.split()), wants),))


PROGRAMS = (
    dtest("dtest", "-b 65536 -B 8"),
    dtest("dtest-cno", "-b 65536 -B 8 -c"),
    dtest("dtest-polling", "-b 65536 -B 8 -p"),
    dtest("dtest-unidirectional", "-b 65536 -B 8 -u", more=True),
    dtest("dtest-streaming", "-b 65536 -B 8 -w", more=True),
    dtest("dtest-many", "-b 4096 -B 100", more=True),
    dtest("dtest-late-accept", "-b 4096 -B 8 -d 2", more=True),
    dtest("dtest-signalled", "-b 4096 -B 8 -S 1", more=True),
    dtestcm("dtestcm", "-c 40 -w"),
    dtestcm("dtestcm-one", "-c 1 -w", more=True),
    dtestcm("dtestcm-polling", "-c 40", more=True),
    dtestcm("dtestcm-ports", "-c 20 -m -w"),
    dtestcm("dtestcm-late-accept", "-c 3 -d 1 -w", more=True),
    dtestcm("dtestcm-many", "-c 400 -w", more=True),
    Program(
        "dtestsrq",
        (
            Client(
                ("dtestsrq", "-P", IA, "-b", "1024", "-c", "4", "-B", "4", "-v", "-h", SERVER),
                r"ep num 3, ep msg num 12",
            ),
        ),
        ("dtestsrq", "-P", IA, "-b", "1024", "-c", "4", "-B", "4", "-v"),
        r"server ready on port",
        r"ep num 3, ep msg num 12",
        until=r"Wait for EP async event",
    ),
    pair(
        "dtestsrq-without-srq",
        f"dtestsrq -P {IA} -b 1024 -S 0",
        r"server ready on port",
        r"SRQ Test Complete",
    ),
    Program(
        "dtestx",
        (
            Client(
                ("dtestx", "-P", IA, "-h", SERVER),
                r"IB extension not supported",
                r"IB extension not supported",
            ),
        ),
    ),
    Program(
        "dapltest",
        (
            transaction("-i 20 client SR 256 1 server SR 256 1"),
            transaction(
                "-i 20 -V -t 2 -w 2 client RW 4096 1 server RR 1024 2 client SR 1024 3 -f"
                " server SR 2048 1 -f"
            ),
            transaction("-i 20 -P client SR 256 2 server SR 256 2"),
            transaction("-i 20 -r client SR 256 1 server SR 256 1"),
            performance("-i 100 RW 4096 1"),
            performance("-i 100 RR 4096 2"),
            performance("-i 100 -m p -p 8 RW 65536 1"),
            Client(("dapltest", "-T", "Q", "-s", SERVER, "-D", IA), r"End of Work"),
        ),
        ("dapltest", "-T", "S", "-D", IA),
        r"Service Point Ready",
        r"Exiting",
    ),
    limit("ia", 40, r"IAs opened: 40"),
    limit("pz", 1000, r"PZs created: 512"),
    limit("cno", 4000, r"CNOs created: 2048"),
    limit("evd", 4000, r"EVDs created: 2046"),
    limit("rsp", 100, r"RSPs created: 100"),
    limit("psp", 100, r"PSPs created: 100"),
    limit("ep", 100, r"EPs created: 100"),
    limit("lmr", 1000, r"LMRs created: 1000"),
    limit("rpost", 100, r"recv buffers posted per EP: 17"),
    Program(
        "limit-size_lmr",
        (
            Client(
                ("dapltest", "-T", "L", "-D", IA, "limit_size_lmr"),
                r"Largest LMR was 0x",
                r"failed attempting",
            ),
        ),
        more=True,
    ),
)


class Hosts:
    """Where the programs run: this host alone, or this one and another that does the same."""

    def __init__(self, hosts: int) -> None:
        self._wire: socket.socket | None = None
        self.serves = self.calls = True
        if hosts == 1:
            return
        addresses = subprocess.run(
            ("ip", "-o", "address"), capture_output=True, text=True, check=True
        ).stdout
        self.serves = f"{SERVER}/" in addresses
        self.calls = not self.serves
        self._wire = self._accept() if self.serves else self._connect()

    @staticmethod
    def _accept() -> socket.socket:
        with socket.create_server(("", SYNC_PORT)) as listener:
            listener.settimeout(DEADLINE)
            return listener.accept()[0]

    @staticmethod
    def _connect() -> socket.socket:
        # The server may not be up yet: then it refuses, which is an event to try again after.
        while True:
            try:
                return socket.create_connection((SERVER, SYNC_PORT), timeout=DEADLINE)
            except ConnectionRefusedError:
                continue

    def tell(self, ok: bool) -> None:
        """Let the other host continue: the server is ready, or the clients are done."""
        if self._wire:
            self._wire.sendall(b"+" if ok else b"-")

    def hear(self) -> bool:
        """Wait for the other host to say so; on one host, there is nothing to wait for."""
        if not self._wire:
            return True
        self._wire.settimeout(10 * DEADLINE)
        return self._wire.recv(1) == b"+"


def judge(running: Running, wants: str, allows: str) -> str:
    """What is wrong with a program's output, or nothing."""
    if not re.search(wants, running.text):
        return f"does not say {wants}"
    for line in running.text.splitlines():
        if re.search(BAD, line) and not re.search(allows, line):
            return f"says: {line.strip()}"
    return ""


def report(running: Running, wrong: str) -> str:
    indented = "".join(f"    {line}\n" for line in running.text.splitlines()[-40:])
    return f"  {' '.join(running.argv)}\n  {wrong}; the end of its output:\n{indented}"


def run_clients(program: Program) -> str:
    for client in program.clients:
        give_up = time.monotonic() + DEADLINE
        while True:
            running = Running(client.argv)
            running.end(program.until)
            if not re.search(TOO_EARLY, running.text) or time.monotonic() > give_up:
                break
        wrong = judge(running, client.wants, client.allows)
        if wrong:
            return report(running, wrong)
    return ""


def serve(program: Program, hosts: Hosts) -> str:
    """Run the server, and the clients too where they are this host's."""
    running = Running(program.server)
    ready = running.says(program.ready)
    hosts.tell(ready)
    clients = run_clients(program) if ready and hosts.calls else ""
    hosts.hear()
    running.end(program.until)
    wrong = judge(running, program.wants, r"$^")
    return clients + (report(running, wrong) if wrong else "")


def run(program: Program, hosts: Hosts) -> str:
    """Run this host's part of a program; returns what went wrong, or nothing."""
    if program.server and hosts.serves:
        return serve(program, hosts)
    ready = not program.server or hosts.hear()
    wrong = run_clients(program) if ready else "  the server was not ready\n"
    if program.server:
        hosts.tell(True)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("build", type=Path, help="a build directory")
    parser.add_argument("names", nargs="*", help="programs to run (default: those of selftest)")
    parser.add_argument("--more", action="store_true", help="those that take longer, too")
    parser.add_argument("--hosts", type=int, choices=(1, 2), default=1)
    parser.add_argument("--device", default="rxe0", help="default: rxe0")
    args = parser.parse_intermixed_args()
    unknown = set(args.names) - {program.name for program in PROGRAMS}
    if unknown:
        parser.error(
            f"no program is called {', '.join(sorted(unknown))}; see PROGRAMS in this file"
        )

    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
    library = (args.build / "lib/libdaplref2.so").resolve()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        conf = Path(folder) / "dat.conf"
        conf.write_text(
            f'{IA} u2.0 nonthreadsafe default {library} ref.1.0 "{args.device} lenient" ""\n'
        )
        os.environ["DAT_OVERRIDE"] = str(conf)
        hosts = Hosts(args.hosts)
        for program in PROGRAMS:
            if program.name not in args.names if args.names else program.more and not args.more:
                continue
            if not program.server and not hosts.calls:
                continue
            wrong = run(program, hosts)
            failed += bool(wrong)
            print(f"{'not ok' if wrong else 'ok'} - {program.name}\n{wrong}", end="", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
