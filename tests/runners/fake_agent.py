#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A scripted udapl-cases: each case does what its name says. cases.json beside it lists them.

Needs nothing but Python's own library, so that it starts as quickly as the real one.
"""

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

Tell = Callable[[dict[str, Any]], None]

HOST_DIED = 99
HERE = Path(__file__).parent
HOST = os.environ.get("FAKE_HOST", "")
IA: dict[str, Any] = {
    "name": "cts0",
    "open": True,
    "library": "/nowhere/libfake.so",
    "attributes": {
        "adapter_name": "fake0",
        "max_srqs": int(os.environ.get("FAKE_SRQS", "16")),
        "provider_name": "fake",
        "provider_version_major": 1,
        "provider_version_minor": 4,
    },
    "needs": {"srq_supported": "FAKE_WITHOUT_SRQS" not in os.environ},
    "output": "",
}


# What the dat_ia_query of this IA leaves unwritten, a trial tells; or --assume does.
ASSUMED = dict(
    each.partition("=")[::2] for option, each in pairwise(sys.argv) if option == "--assume"
)
if "FAKE_UNWRITTEN" in os.environ:
    IA["attributes"]["srq_supported"] = "unwritten"
    found = {"by": "trial", "how": "dat_srq_create worked", "present": True}
    if os.environ["FAKE_UNWRITTEN"] == "absent":
        found = {**found, "how": "dat_srq_create returned DAT_NOT_IMPLEMENTED", "present": False}
    if os.environ["FAKE_UNWRITTEN"] == "unknown":
        found = {"by": "trial", "how": "its trial ended in CRASH: ended by SIGSEGV"}
    if "srq_supported" in ASSUMED:
        present = ASSUMED["srq_supported"] == "1"
        found = {"by": "assumption", "how": "--assume says so", "present": present}
    IA["found"] = {"srq_supported": found}
    IA["needs"] = {"srq_supported": found["present"]} if "present" in found else {}

if "FAKE_UNASKED" in os.environ:
    how = {"by": "trial", "how": "dat_srq_create worked", "present": True}
    IA["attributes"] = dict.fromkeys(IA["attributes"], "unwritten")
    IA |= {"unasked": os.environ["FAKE_UNASKED"], "found": {"srq_supported": how}}

# The queries by which fixtures do not look.
UNLOOKED = [
    {"call": each, "saw": f"ended by SIGSEGV in {each}"}
    for each in os.environ.get("FAKE_UNLOOKED", "").split()
]
if UNLOOKED:
    IA |= {"unlooked": {each["call"]: each["saw"] for each in UNLOOKED}}

# What is wrong with this host, since a case broke it.
unfit: list[str] = []


def say(message: dict[str, Any]) -> None:
    """Write one message."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def once(seq: int) -> bool:
    """Whether this is the first time that a case asks, over all agents of a test."""
    try:
        (HERE / f"once-{seq}").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def verdict(
    run: dict[str, Any], word: str, reason: str = "", tell: Tell = say, **more: Any
) -> None:
    """End a run."""
    tell(
        {
            "type": "verdict",
            "seq": run["seq"],
            "case": run["case"],
            "verdict": word,
            "reason": reason,
            "us": 1500,
            "output": "",
            **more,
        }
    )


def call(run: dict[str, Any], ret: str, tell: Tell = say, **more: Any) -> None:
    """Tell of one call."""
    tell(
        {
            "type": "event",
            "seq": run["seq"],
            "kind": "call",
            "n": 1,
            "who": "case",
            "call": "dat_srq_resize",
            "args": [["srq_handle", "srq#1"], ["srq_max_recv_dto", "3"]],
            "ret": ret,
            "sub": "DAT_NO_SUBTYPE",
            "out": [],
            "at_us": 10,
            "us": 5,
            **more,
        }
    )


def check(run: dict[str, Any], ok: bool, seen: str, tell: Tell = say, condition: str = "") -> None:
    """Tell of one check, of the call or of a condition."""
    tell(
        {
            "type": "event",
            "seq": run["seq"],
            "kind": "check",
            "text": condition or "dat_srq_resize(srq, 3)",
            "file": "cases/demo/demo_page.c",
            "line": 12,
            "role": "expect",
            "ok": ok,
            "expected": [condition or "DAT_INVALID_STATE"],
            "seen": seen,
            "calls": 1,
        }
    )


def text(run: dict[str, Any], kind: str, said: str) -> None:
    """Tell of a note, a record or a leak."""
    say({"type": "event", "seq": run["seq"], "kind": kind, "text": said})


@cache
def work() -> str:
    """What works() says, of run 0."""
    lines: list[str] = []
    run = {"seq": 0, "case": "CASE"}

    def tell(message: dict[str, Any]) -> None:
        lines.append(json.dumps(message) + "\n")

    for _ in range(8):
        call(run, "DAT_SUCCESS", tell)
    for _ in range(3):
        check(run, True, "DAT_INVALID_STATE", tell)
    verdict(run, "PASS", tell=tell)
    return "".join(lines)


def works(run: dict[str, Any]) -> None:
    """As much evidence as an ordinary case leaves, with as little work as can be."""
    said = work().replace('"seq": 0', f'"seq": {run["seq"]}').replace("CASE", run["case"])
    sys.stdout.write(said)
    sys.stdout.flush()


def passes(run: dict[str, Any]) -> None:
    call(run, "DAT_INVALID_STATE")
    check(run, True, "DAT_INVALID_STATE")
    verdict(run, "PASS")


def prints_noise(run: dict[str, Any]) -> None:
    """Passes, with output that no archive can hold."""
    call(run, "DAT_INVALID_STATE")
    check(run, True, "DAT_INVALID_STATE")
    verdict(run, "PASS", output=os.urandom(4000).hex())


def does_without(run: dict[str, Any]) -> None:
    """Passes, and did not look by what gave the probe no answer."""
    call(run, "DAT_INVALID_STATE")
    check(run, True, "DAT_INVALID_STATE")
    for each in UNLOOKED:
        text(run, "record", f"{each['call']} is not called: {each['saw']}")
    more: dict[str, Any] = {"unasked": UNLOOKED} if UNLOOKED else {}
    verdict(run, "PASS", **more)


def crashes_in_look(run: dict[str, Any]) -> None:
    """Is of the page of such a call, which crashes in it too."""
    crash = {"type": "event", "seq": run["seq"], "kind": "crash", "signal": "SIGSEGV"}
    say({**crash, "backtrace": ["libfake.so(+0x41c2)", "udapl-cases(+0x88f1)"]})
    verdict(run, "CRASH", "SIGSEGV", pending="dat_ep_query")


def notes(run: dict[str, Any]) -> None:
    text(run, "note", "queue not shrunk")
    text(run, "record", "16 entries")
    text(run, "leak", "1 descriptor more than before the case")
    call(run, "DAT_INVALID_STATE")
    check(run, True, "DAT_INVALID_STATE")
    verdict(run, "NOTE", "queue not shrunk")


def fails(run: dict[str, Any]) -> None:
    if "FAKE_FAILS_PASS" in os.environ:
        passes(run)
        return
    call(run, "DAT_SUCCESS")
    check(run, False, "DAT_SUCCESS")
    verdict(run, "FAIL", "expected DAT_INVALID_STATE, saw DAT_SUCCESS")


def fails_late(run: dict[str, Any]) -> None:
    """Fails after a condition that held."""
    call(run, "DAT_SUCCESS")
    check(run, True, "the SRQ is another one", condition="seen == srq")
    check(run, False, "DAT_SUCCESS")
    verdict(run, "FAIL", "expected DAT_INVALID_STATE, saw DAT_SUCCESS")


def lies(run: dict[str, Any]) -> None:
    """Passes, though its check did not hold."""
    call(run, "DAT_SUCCESS")
    check(run, False, "DAT_SUCCESS")
    verdict(run, "PASS")


def leaps(run: dict[str, Any]) -> None:
    """Passes out of the middle of a call."""
    told: list[dict[str, Any]] = []
    call(run, "", told.append, unfinished=True)
    say({name: value for name, value in told[0].items() if name not in ("ret", "sub", "out", "us")})
    check(run, True, "DAT_INVALID_STATE")
    verdict(run, "PASS")


def shows_nothing(run: dict[str, Any]) -> None:
    """Passes, and has neither called nor checked anything."""
    verdict(run, "PASS")


def declines_and_fails(run: dict[str, Any]) -> None:
    """Has not what the clause needs, and fails it."""
    check(run, False, "DAT_SUCCESS")
    unsupported(run)


def fails_once(run: dict[str, Any]) -> None:
    (fails if once(1) else passes)(run)


def declines_again(run: dict[str, Any]) -> None:
    """Fails, and does not apply when it is run again."""
    (fails if once(4) else unsupported)(run)


def frees_nothing(run: dict[str, Any]) -> None:
    """Passes, and then its free is refused."""
    call(run, "DAT_INVALID_STATE")
    check(run, True, "DAT_INVALID_STATE")
    call(run, "DAT_INTERNAL_ERROR", n=2, call="dat_srq_free", teardown=True)
    broken = {"call": "dat_srq_free", "what": "refused", "saw": "DAT_INTERNAL_ERROR"}
    verdict(run, "PASS", teardown=[broken])


def has_no_end_of_free(run: dict[str, Any]) -> None:
    """Passes, and then its free has no end, as soon as that is seen."""
    call(run, "DAT_INVALID_STATE")
    check(run, True, "DAT_INVALID_STATE")
    broken: dict[str, Any] = {"call": "dat_srq_free", "what": "timeout"}
    if "dat_srq_free" in run.get("hurried", []):
        verdict(run, "PASS", teardown=[{**broken, "saw": "no end after 300 ms", "hurried": True}])
    else:
        verdict(run, "PASS", teardown=[{**broken, "saw": "no end after 3000 ms"}])


def frees_if_not_hurried(run: dict[str, Any]) -> None:
    """Passes; its free ends where it is given time."""
    (has_no_end_of_free if "hurried" in run else passes)(run)


def passes_once(run: dict[str, Any]) -> None:
    (passes if once(7) else fails)(run)


def frees_nothing_once(run: dict[str, Any]) -> None:
    (frees_nothing if once(5) else passes)(run)


def fails_and_dies(run: dict[str, Any]) -> None:
    """Fails, and crashes in its teardown."""
    call(run, "DAT_SUCCESS")
    check(run, False, "DAT_SUCCESS")
    died = {"type": "event", "seq": run["seq"], "kind": "crash", "teardown": True}
    say({**died, "signal": "SIGABRT", "backtrace": ["libfake.so(fake_ep_free+0x3)"]})
    broken = {"call": "dat_ep_free", "what": "crash", "saw": "SIGABRT"}
    verdict(run, "FAIL", "expected DAT_INVALID_STATE, saw DAT_SUCCESS", teardown=[broken])


def fails_on_two(run: dict[str, Any]) -> None:
    (fails if run["peer"] == "remote" else passes)(run)


def peer_fails_on_host(run: dict[str, Any]) -> None:
    """A pair's case that fails where the subject is on the host of the name's number."""
    number = run["case"].rpartition("_")[2]
    (fails if f"host{number}" == HOST else passes)(run)


def crashes(run: dict[str, Any]) -> None:
    say(
        {
            "type": "event",
            "seq": run["seq"],
            "kind": "crash",
            "signal": "SIGSEGV",
            "backtrace": ["libfake.so(+0x41c2)", "udapl-cases(+0x88f1)"],
        }
    )
    verdict(run, "CRASH", "SIGSEGV", pending="dat_srq_resize")


def times_out(run: dict[str, Any]) -> None:
    verdict(run, "TIMEOUT", "no end after 10000 ms", pending="dat_evd_wait")


def deadlocks(run: dict[str, Any]) -> None:
    """Hangs, with a thread that answered, and one that did not."""
    stack = {"type": "event", "seq": run["seq"], "kind": "stack"}
    frames = ["libc.so.6(futex+0x1)", "libfake.so(fake_flush+0x3)", "udapl-cases(+0x88f1)"]
    say({**stack, "thread": 1, "name": "cases", "call": "dat_ep_free", "backtrace": frames})
    say({**stack, "backtrace": [], "why": "it did not answer"})
    verdict(run, "TIMEOUT", "no end of dat_ep_free after 1000 ms", pending="dat_ep_free")


def declines_after_timeout(run: dict[str, Any]) -> None:
    (times_out if once(6) else unsupported)(run)


def times_out_late(run: dict[str, Any]) -> None:
    """After a second."""
    select.select([], [], [], 1.0)
    verdict(run, "TIMEOUT", "no end after 1000 ms", pending="dat_evd_wait", us=1_000_000)


waited: list[str] = []
aborted: list[str] = []


def waits_for_nothing(run: dict[str, Any]) -> None:
    """Fails after three seconds, or says so: the first five of an agent take no time."""
    waited.append(run["case"])
    if len(waited) > 5 and select.select([sys.stdin], [], [], 3.0)[0]:
        assert json.loads(sys.stdin.readline()) == {"type": "abort", "seq": run["seq"]}
        aborted.append(run["case"])
        verdict(run, "ERROR", "aborted by the runner", us=1_100_000)
        return
    check(run, False, "DAT_TIMEOUT_EXPIRED")
    verdict(run, "FAIL", "expected an event, saw DAT_TIMEOUT_EXPIRED", us=3_000_000)


def waits_and_hangs(run: dict[str, Any]) -> None:
    """As it does, and is put off; when it is begun anew it hangs until a test has told it."""
    mark = HERE / f"aborted-{run['case'].rpartition('/')[2]}"
    if mark.exists() and not (HERE / "told").exists():
        hangs_until_told(run)
    waits_for_nothing(run)
    if run["case"] in aborted:
        mark.touch()


def times_out_and_hangs(run: dict[str, Any]) -> None:
    """After a second; when it is run again it hangs until a test has told it."""
    mark = HERE / f"timed-out-{run['case'].rpartition('/')[2]}"
    if mark.exists() and not (HERE / "told").exists():
        hangs_until_told(run)
    times_out_late(run)
    mark.touch()


def tells_its_time(run: dict[str, Any]) -> None:
    given = ", ".join(f"{name} {run[f'{name}_ms']}" for name in ("deadline", "event", "quiet"))
    verdict(run, "TIMEOUT", given)


def tells_if_thorough(run: dict[str, Any]) -> None:
    verdict(run, "TIMEOUT", f"thorough {run.get('thorough', False)}")


def tells_its_time_to_peer(run: dict[str, Any]) -> None:
    tells_its_time(run)


def times_out_at_first(run: dict[str, Any]) -> None:
    """So do the first seven runs."""
    (times_out if run["seq"] <= 7 else passes)(run)


def _in_progress() -> list[Path]:
    """What cases have put down that run now, over all agents of a test."""
    return list(HERE.glob("in-progress-*"))


def takes_its_time(run: dict[str, Any]) -> None:
    """It can be seen for a while that it runs."""
    mark = HERE / f"in-progress-{os.getpid()}"
    mark.touch()
    time.sleep(0.2)
    mark.unlink()
    passes(run)


def is_alone(run: dict[str, Any]) -> None:
    """It is kept if no other case is seen to run while it does."""
    mark = HERE / f"in-progress-{os.getpid()}"
    others = set(_in_progress())
    mark.touch()
    for _ in range(20):
        time.sleep(0.01)
        others |= set(_in_progress()) - {mark}
    mark.unlink()
    (fails if others else passes)(run)


def walk(run: dict[str, Any]) -> None:
    """What a puppet does: FAKE_WALK says what comes of the step pz_create; "strikes": with a fault
    it deviates.
    """
    what = os.environ.get("FAKE_WALK", "agrees")
    if what == "error":
        verdict(run, "ERROR", "no such step")
        return
    ia = [["ia_handle", "ia#1"]]
    call(run, "DAT_SUCCESS", call="dat_ia_openv", args=[["name", '"cts0"']], out=ia)
    freed = sum(line.startswith("pz_create ") for line in run.get("program", "").split("\n"))
    if freed and what == "crashes":
        crashes(run)
        return
    null = [["pz_handle", "DAT_HANDLE_NULL"], ["pz_param_mask", "DAT_PZ_FIELD_ALL"]]
    for n in range(freed):
        wrong = what == "deviates" or (what == "strikes" and "/" in run.get("ia", ""))
        ret = "DAT_SUCCESS" if wrong else "DAT_INVALID_HANDLE"
        call(run, ret, n=n + 2, call="dat_pz_query", args=null)
    check(run, True, "DAT_INVALID_STATE")
    flags = [["close_flags", "DAT_CLOSE_ABRUPT_FLAG"]]
    last = {"n": freed + 2, "call": "dat_ia_close", "args": ia + flags}
    call(run, "DAT_SUCCESS", **last, teardown=True)
    verdict(run, "PASS")


def spares(run: dict[str, Any]) -> None:
    """A fault that the case `passes` does not catch."""
    (passes if run["case"] == "demo_page/passes" else fails)(run)


def unsupported(run: dict[str, Any]) -> None:
    if run.get("undeclared"):
        passes(run)
        return
    verdict(run, "UNSUPPORTED", "srq_watermarks_supported")


def unsupported_for_good(run: dict[str, Any]) -> None:
    """A feature that is undeclared and does not work either."""
    (fails if run.get("undeclared") else unsupported)(run)


def assumes(run: dict[str, Any]) -> None:
    """PASS where the agent was told that there are SRQs."""
    (passes if ASSUMED == {"srq_supported": "1"} else fails)(run)


def lacks(run: dict[str, Any]) -> None:
    verdict(run, "RESOURCE", "out of memory")


def breaks(run: dict[str, Any]) -> None:
    verdict(run, "ERROR", "dat_pz_create returned DAT_INTERNAL_ERROR")


def is_refused(run: dict[str, Any]) -> None:
    say({"type": "error", "seq": run["seq"], "reason": f"no such case: {run['case']}"})


def kills_host(run: dict[str, Any]) -> None:
    call(run, "DAT_SUCCESS")
    os._exit(HOST_DIED)


def kills_host_once(run: dict[str, Any]) -> None:
    if once(2):
        kills_host(run)
    passes(run)


def kills_agent(run: dict[str, Any]) -> None:
    print("agent: out of patience", file=sys.stderr)
    sys.stderr.flush()
    os._exit(3)


def hangs(run: dict[str, Any]) -> None:
    while True:
        signal.pause()


def beats(run: dict[str, Any]) -> None:
    """Lives longer than an agent may be silent."""
    for _ in range(5):
        select.select([], [], [], 1.0)
        say({"type": "heartbeat", "seq": run["seq"]})
    passes(run)


def stands_still_once(run: dict[str, Any]) -> None:
    """Fails, since its host stood still; not so the next time."""
    if not once(8):
        passes(run)
        return
    select.select([], [], [], 1.0)
    fails(run)


def stands_still(run: dict[str, Any]) -> None:
    """Fails as often as it is run, and never without its host's standing still."""
    select.select([], [], [], 1.0)
    fails(run)


def breaks_host(run: dict[str, Any]) -> None:
    """Passes, and takes its host's device away: for good, were it not replaced."""
    call(run, "DAT_INVALID_STATE")
    check(run, True, "DAT_INVALID_STATE")
    unfit.append("its netdev eth0 is down")
    verdict(run, "PASS", unfit=unfit[0])


def fails_and_breaks_host(run: dict[str, Any]) -> None:
    """Fails, and takes its host's device away."""
    call(run, "DAT_SUCCESS")
    check(run, False, "DAT_SUCCESS")
    unfit.append("its netdev eth0 is down")
    verdict(run, "FAIL", "expected DAT_INVALID_STATE, saw DAT_SUCCESS", unfit=unfit[0])


def needs_device(run: dict[str, Any]) -> None:
    (fails if unfit else passes)(run)


def hangs_until_told(run: dict[str, Any]) -> None:
    (HERE / "hanging").touch()
    while True:
        say({"type": "heartbeat", "seq": run["seq"]})
        select.select([], [], [], 0.5)


def hangs_once(run: dict[str, Any]) -> None:
    if once(3):
        hangs_until_told(run)
    passes(run)


def babbles(run: dict[str, Any]) -> None:
    print("Segmentation fault (core dumped)")
    sys.stdout.flush()
    hangs(run)


def invents(run: dict[str, Any]) -> None:
    say({"type": "event", "seq": run["seq"], "kind": "gossip", "text": "the provider is fine"})
    hangs(run)


def misspells(run: dict[str, Any]) -> None:
    verdict(run, "PASSED")
    hangs(run)


def floods(run: dict[str, Any]) -> None:
    sys.stdout.write("x" * (1 << 20) + "xx")
    sys.stdout.flush()
    hangs(run)


def judges_another(run: dict[str, Any]) -> None:
    verdict({**run, "seq": run["seq"] + 1}, "PASS")
    hangs(run)


def talks_to_peer(run: dict[str, Any]) -> None:
    """One question to the other host; the case passes when the answer is from there."""
    if run["peer"] != "remote":
        passes(run)
        return
    say({"type": "peer", "seq": run["seq"], "from": "case", "op": "start", "data": {}})
    answer = json.loads(sys.stdin.readline())
    assert answer["from"] == "peer", answer
    if answer["data"]["host"] == HOST:
        verdict(run, "ERROR", "the peer is on the subject's host")
        return
    passes(run)


def disturbs_network(run: dict[str, Any]) -> None:
    """One that takes as long as it may, which is more than others may."""
    assert run["deadline_ms"] > 300
    talks_to_peer(run)


def meddles_on_two(run: dict[str, Any]) -> None:
    """Asks the peer's host to lose what it sends, in a case that may not, and then passes."""
    ask = {"type": "peer", "seq": run["seq"], "from": "case"}
    if run["peer"] == "remote":
        say({**ask, "op": "start", "data": {}})
        say({**ask, "op": "disturb", "data": {"loss_percent": 100}})
    passes(run)


def answers_peer(message: dict[str, Any]) -> None:
    say({**message, "from": "peer", "op": "data", "data": {"host": HOST}})


BEHAVIOURS: dict[str, Callable[[dict[str, Any]], None]] = {
    behaviour.__name__: behaviour
    for behaviour in (
        passes,
        does_without,
        crashes_in_look,
        prints_noise,
        works,
        notes,
        fails,
        lies,
        leaps,
        shows_nothing,
        declines_and_fails,
        has_no_end_of_free,
        times_out_late,
        waits_for_nothing,
        waits_and_hangs,
        times_out_and_hangs,
        frees_if_not_hurried,
        fails_late,
        fails_once,
        breaks_host,
        needs_device,
        stands_still_once,
        stands_still,
        passes_once,
        declines_again,
        frees_nothing,
        frees_nothing_once,
        fails_and_breaks_host,
        fails_and_dies,
        fails_on_two,
        peer_fails_on_host,
        disturbs_network,
        crashes,
        deadlocks,
        times_out,
        declines_after_timeout,
        tells_if_thorough,
        tells_its_time,
        tells_its_time_to_peer,
        times_out_at_first,
        walk,
        spares,
        takes_its_time,
        is_alone,
        unsupported,
        unsupported_for_good,
        lacks,
        assumes,
        breaks,
        is_refused,
        kills_host,
        kills_host_once,
        kills_agent,
        hangs,
        beats,
        hangs_until_told,
        hangs_once,
        babbles,
        invents,
        misspells,
        floods,
        judges_another,
        talks_to_peer,
        meddles_on_two,
    )
}


def may_be_lost() -> None:
    """At hello a host is lost as often as there are files that say so."""
    for mark in HERE.glob("lost-at-hello-*"):
        with suppress(FileNotFoundError):
            mark.unlink()
            os._exit(HOST_DIED)


def serve() -> None:
    """Obey commands until `bye`."""
    refusal = HERE / "ia-refused"
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            may_be_lost()
            ia = IA
            if (HERE / "other-library").exists():
                ia = {**IA, "sha256": "0" * 64}
            if refusal.exists():
                reason = 'dat_ia_open("cts0") returned DAT_PROVIDER_NOT_FOUND'
                if refusal.read_text():
                    reason = ""
                ia = {"name": "cts0", "open": False, "reason": reason, "output": "libdat: no\n"}
            say(
                {
                    "type": "hello",
                    "protocol": 1,
                    "suite": "1.0.0",
                    "pid": os.getpid(),
                    "build": "ff" if (HERE / "another-build").exists() else "00",
                    "catalogue": "0" * 16,
                    "cases": 1,
                    "api": "2.0" if Path(__file__).name.endswith("-2.0") else "1.2",
                    "kept": ["everything (/a/path)"] if "--privileged" in sys.argv else [],
                    "libdat": os.environ.get("FAKE_LIBDAT", os.environ.get("LD_PRELOAD", "")),
                    "ia": ia,
                }
            )
        elif message["type"] == "run":
            # With a fault, the fault decides: its name is the behaviour, but for a walk.
            ia = message.get("libdat_fault") or message.get("ia", "")
            of_fault = "/" in ia and message["case"] != "explore/walk"
            name = (ia if of_fault else message["case"]).split("/")[1].rstrip("0123456789_")
            BEHAVIOURS[name](message)
        elif message["type"] == "peer":
            answers_peer(message)
        elif message["type"] == "bye":
            return


if __name__ == "__main__":
    if "--list" in sys.argv:
        for entry in json.loads((HERE / "cases.json").read_text()):
            print(json.dumps(entry))
    elif "--identity" in sys.argv:
        print(json.dumps({"build": "00", "catalogue": "0" * 16}))
    else:
        serve()
