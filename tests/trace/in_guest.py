# SPDX-License-Identifier: BSD-2-Clause
"""What `trace` records on this host's RDMA device, which in a guest is soft-RoCE.

    tests/trace/in_guest.py BUILD

The exit code is the number of checks that failed.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.trace.traced import (
    CONSUMER,
    ROOT,
    Traced,
    gathered,
    recorder_environment,
    trace,
)

AGREES, DEVIATES = 0, 1
FAULT = "srq_resize/grow_refused"
# What the setting `lenient` forgives dtest, and the pages do not (docs/provider-dat2.md).
FORGIVEN = {"evd_wait/event", "ep_query/field"}


class Check:
    """Prints what is not as it should be, and counts it."""

    def __init__(self) -> None:
        self.failed = 0

    def that(self, true: bool, what: str, traced: Traced) -> None:
        """Say whether `what` holds."""
        print(f"{'ok' if true else 'not ok'} - {what}", flush=True)
        if not true:
            self.failed += 1
            print(traced.status, traced.output, traced.errors, traced.judged.stdout, sep="\n")


def ping_pong(check: Check, folder: Path) -> None:
    """A program that polls: what found nothing is not recorded call by call."""
    traced = trace(folder, CONSUMER, "ping-pong", "100")
    check.that(traced.judged.returncode == AGREES, "a ping-pong agrees with the pages", traced)
    names = [call["call"] for call in traced.calls]
    check.that(names.count("dat_ep_post_send") == 200, "each send is recorded", traced)
    check.that(len(names) < 3000, "a poll that finds nothing is no record of its own", traced)
    check.that(f"of {len(names)} calls judged" in traced.judged.stdout, "all are looked at", traced)


def fault(check: Check, folder: Path) -> None:
    """A provider that is wrong: the call and the clause."""
    traced = trace(folder, CONSUMER, "resize", "1", "fault0")
    judged = traced.judged
    check.that(judged.returncode == DEVIATES, "a provider that refuses to grow deviates", traced)
    wanted = r"dat_srq_resize: .*\[srq_resize/grow\]\n .*dat_srq_resize\(srq_handle=srq#1"
    check.that(bool(re.search(wanted, judged.stdout)), "the call and its clause are named", traced)


def threads(check: Check, folder: Path) -> None:
    """Threads that call at once: none of their calls is lost."""
    traced = trace(folder, CONSUMER, "threads", "4")
    made = [call for call in traced.calls if call["call"] == "dat_pz_create"]
    check.that(len(made) == 81, "calls of four threads are recorded", traced)
    check.that(len({call.get("thread", 1) for call in made}) == 5, "with their threads", traced)
    check.that(traced.judged.returncode == AGREES, "and agree with the pages", traced)


def forks(check: Check, folder: Path) -> None:
    """A fork has a record of its own."""
    traced = trace(folder, CONSUMER, "forks", "3")
    check.that(len(traced.records) == 4, "a process and three forks are recorded", traced)
    parents = {record["parent"] for record in traced.records}
    check.that(len(parents) == 2, "a fork names its parent", traced)
    check.that(traced.judged.returncode == AGREES, "and all agree with the pages", traced)


def hang(check: Check, folder: Path) -> None:
    """A program that ends within a call: the call is there."""
    traced = trace(folder, CONSUMER, "waits", "1")
    check.that(traced.status == 128 + signal.SIGALRM, "trace has the program's signal", traced)
    said = traced.judged.stdout
    check.that("a call did not return\n" in said, "judge prints a call without an end", traced)
    check.that("dat_evd_wait(evd_handle=async_evd" in said, "and which it is", traced)


def full_disk(check: Check, folder: Path) -> None:
    """A disk that is full ends the record, and not the program."""
    small = folder / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", small], check=True)
    environment = recorder_environment(small) | {"UDAPL_CTS_TRACE_SIZE": str(4 << 20)}
    status = subprocess.run([CONSUMER, "strings", "60000"], env=environment, check=False).returncode
    traced = gathered(small, folder / "small.jsonl", status)
    subprocess.run(["umount", small], check=True)
    check.that(traced.status == 0, "a program survives a full disk", traced)
    said = traced.judged.stdout
    check.that("is not recorded: No space left" in said, "and judge says so", traced)


def dapl2_utils(check: Check, folder: Path) -> None:
    """Programs that are not ours, by DAT 2.0."""
    program = ROOT / "tests/provider/dapl2_utils.py"
    build = ROOT / "build/default"
    options = ("--api", "2.0")
    for name, clauses in (("dtest", FORGIVEN), ("dapltest", set())):
        traced = trace(folder, program, build, name, options=options)
        check.that(traced.status == 0, f"{name} works under trace", traced)
        found = set(re.findall(r"\[(\w+/\w+)\]$", traced.judged.stdout, re.MULTILINE))
        check.that(found == clauses, f"{name} meets {sorted(clauses) or 'no deviation'}", traced)
        print(*traced.judged.stdout.splitlines()[-4:], sep="\n")


CHECKS: tuple[Callable[[Check, Path], None], ...] = (
    ping_pong,
    fault,
    threads,
    forks,
    hang,
    full_disk,
    dapl2_utils,
)


def main() -> int:
    """Run all checks; how many failed."""
    library = Path(sys.argv[1]).resolve() / "lib"
    check = Check()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        conf = folder / "dat.conf"
        conf.write_text(
            f'ref0 u1.2 nonthreadsafe default {library}/libdaplref.so ref.1.0 "rxe0" ""\n'
            f"fault0 u1.2 nonthreadsafe default {library}/libdaplfault.so ref.1.0"
            f' "ref0 fault={FAULT}" ""\n',
            encoding="utf-8",
        )
        os.environ["DAT_OVERRIDE"] = str(conf)
        for each in CHECKS:
            began = time.monotonic()
            each(check, folder)
            print(f"# {each.__name__}: {time.monotonic() - began:.0f} s", flush=True)
    return check.failed


if __name__ == "__main__":
    sys.exit(main())
