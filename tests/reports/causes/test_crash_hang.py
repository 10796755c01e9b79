# SPDX-License-Identifier: BSD-2-Clause
"""Crashes, hangs and calls that do nothing: which are one cause."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from results.causes.grouping import causes
from results.model.load import load
from tests.reports.causes.cause_records import (
    blocked,
    crashed,
    granted_a_bad_handle,
    groups,
    lets_wait,
    of_cno,
)
from tests.reports.synthetic_run import Record, SyntheticRun, call, check


def waits(ret: str = "DAT_SUCCESS") -> Record:
    """What a case of dat_cno_free leaves whose CNO was freed, or not, with this answer."""
    return {"calls": [of_cno(1, "dat_cno_free", 1, ret)]}


@pytest.mark.parametrize(
    ("control", "kept", "extents"),
    [
        (True, waits(), ["2 clauses"]),
        # It was refused once.
        (True, waits("DAT_INVALID_HANDLE"), ["1 clause", "1 clause"]),
        # What failed does not look for the effect of the call.
        (False, waits(), ["1 clause", "1 clause"]),
    ],
)
def test_a_call_that_grants_all_and_does_nothing(
    tmp_path: Path, *, control: bool, kept: Record, extents: Sequence[str]
) -> None:
    page = {"page": "dat_cno_free"}
    run = SyntheticRun(modes=(1,))
    run.case("takes", "FAIL", page, **granted_a_bad_handle())
    run.case("ends", "FAIL", page | {"control": True} if control else page, **lets_wait())
    run.case("kept", "PASS", page, **kept)
    assert [cause.extent for cause in causes(load(run.write(tmp_path)))] == extents


@pytest.mark.parametrize(
    ("back", "extents"),
    [("5000", ["2 clauses"]), ("DAT_TIMEOUT_INFINITE", ["1 clause", "1 clause"])],
)
def test_waits_without_a_timeout_that_have_no_end(
    tmp_path: Path, back: str, extents: list[str]
) -> None:
    """They are one cause if none comes back, and two if another one does."""
    run = SyntheticRun(modes=(1,))
    for line in (3, 9):
        told = check("it returns", ok=False, expected=["a return"], seen=f"none {line}", line=line)
        wait = call(1, "dat_evd_wait", ("timeout", "DAT_TIMEOUT_INFINITE"), unfinished=True)
        left: Record = {
            "calls": [wait, call(2, f"dat_act_{line}")],
            "checks": [told | {"calls": 2}],
        }
        run.case(f"wakes/{line}", "FAIL", {"page": "dat_evd_wait"}, **left)
    kept = [call(1, "dat_evd_wait", ("timeout", back))]
    run.case("kept", "PASS", {"page": "dat_evd_wait"}, calls=kept)
    assert [cause.extent for cause in causes(load(run.write(tmp_path)))] == extents


@pytest.mark.parametrize(("held", "extents"), [("dat_ia_close", 1), ("dat_evd_free", 2)])
def test_a_thread_that_waits_still_holds_a_close(tmp_path: Path, held: str, extents: int) -> None:
    """One case finds it asleep, and frees in vain; another one ends in that free."""
    wait = call(1, "dat_cno_wait", unfinished=True)
    told = check("waiter returns", ok=False, expected=["the return of its call"], calls=2)
    teardown = [{"call": held, "what": "timeout", "saw": "no end after 1000 ms"}]
    run = SyntheticRun(modes=(1,))
    asleep = {"calls": [wait, call(2, "dat_evd_free")], "checks": [told | {"seen": "it waits"}]}
    run.case("cno_wait/all", "FAIL", {"page": "dat_cno_wait"}, **asleep, teardown=teardown)
    closes = {"calls": [wait, call(2, "dat_ia_close", unfinished=True)], "pending": "dat_ia_close"}
    run.case("ia_close/waiter", "TIMEOUT", {"page": "dat_ia_close"}, **closes, reason="no end")
    loaded = load(run.write(tmp_path))
    assert len(causes(loaded)) == extents
    # The free had no end for the thread that waits.
    assert not loaded.breakages


def test_crashes_by_their_function(tmp_path: Path) -> None:
    found = groups(
        tmp_path,
        ("CRASH", crashed("libv.so(v_query+0x1c)", "libv.so(v_do+0x4)", "cases(+0x8)")),
        ("CRASH", crashed("libv.so(v_query+0x30)", "libv.so(v_other+0x4)", "cases(+0x9)")),
        ("CRASH", crashed("libc.so.6(abort+0x1)", "libv.so(v_free+0x1)", "libv.so(v_do+0x4)")),
        ("CRASH", crashed("libc.so.6(abort+0x1)", "libv.so(v_close+0x1)", "libv.so(v_do+0x4)")),
        ("CRASH", crashed(pending="dat_srq_query")),
        ("CRASH", crashed(pending="dat_srq_free")),
    )
    assert found == [["0", "1"], ["2"], ["3"], ["4"], ["5"]]


@pytest.mark.parametrize(
    ("frames", "name"),
    [
        (["libv.so(v_poll+0x4)"], "SIGSEGV in libv.so(v_poll), in a thread of the provider"),
        (
            ["libv.so(v_poll+0x4)", "udapl-cases(+0x8)"],
            "dat_ep_connect: SIGSEGV in libv.so(v_poll)",
        ),
    ],
)
def test_a_crash_of_a_thread_of_the_providers_own_is_of_no_call(
    tmp_path: Path, frames: list[str], name: str
) -> None:
    crash = crashed(*frames, pending="")
    crash["calls"] = [call(1, "dat_ep_connect")]
    run = SyntheticRun()
    run.case("one", "CRASH", **crash)
    assert [cause.name for cause in causes(load(run.write(tmp_path)))] == [name]


def test_a_crash_of_a_step_is_told_with_its_place(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    step = blocked("dat_ep_connect", "ended by SIGSEGV")
    crash = crashed("libv.so(find)", "udapl-cases(+0x8)", pending="dat_ep_connect")
    run.case("one", "BLOCKED", **crash | step)
    (found,) = causes(load(run.write(tmp_path)))
    assert found.name == "dat_ep_connect: SIGSEGV in libv.so(find)"


CONTROL = "dat_ep_free does not work (ep_free/idle: CRASH, ended by SIGSEGV)"


@pytest.mark.parametrize("why", ["ended by SIGSEGV in dat_ep_free", CONTROL])
@pytest.mark.parametrize(("other", "extents"), [("tear", [3]), ("copy", [1, 1, 1])])
def test_a_peer_or_control_that_crashed_is_of_the_only_crash_of_its_call(
    tmp_path: Path, other: str, extents: list[int], why: str
) -> None:
    run = SyntheticRun(modes=(1,))
    for case, frame in (("one", "tear"), ("two", other)):
        run.case(case, "CRASH", **crashed(f"libx.so({frame})", pending="dat_ep_free"))
    run.case("peer", "BLOCKED", **blocked("dat_ep_free", why))
    assert [cause.reach for cause in causes(load(run.write(tmp_path)))] == extents


def test_crashes_by_the_names_that_debug_information_has(tmp_path: Path) -> None:
    """A frame of a static function is an offset, another one at each place in it."""
    one, other, third = crashed("libv.so(+0x41c2)"), crashed("libv.so(+0x41f0)"), crashed("libv.so")
    one["crash"]["where"] = ["flush, src/srq.c:12"]
    other["crash"]["where"] = ["flush, src/srq.c:19"]
    third["crash"]["where"] = ["post, src/srq.c:90"]
    assert groups(tmp_path, *(("CRASH", left) for left in (one, other, third))) == [
        ["0", "1"],
        ["2"],
    ]


def hung(*frames: str, call: str = "dat_evd_wait", where: Sequence[str] = ()) -> Record:
    """What a case leaves that hung in `call`, and a thread of the provider elsewhere."""
    mine = {"thread": 1, "call": call, "backtrace": frames, "where": where}
    other = {"name": "progress", "backtrace": ["libc.so.6(poll+0x1)", "libv.so(v_poll+0x8)"]}
    return {"calls": [], "pending": call, "reason": "no end", "stacks": [other, mine]}


def test_hangs_by_the_providers_function(tmp_path: Path) -> None:
    lock = "libc.so.6(pthread_mutex_lock+0x112)"
    verbs = "libibverbs.so.1(ibv_destroy_qp+0x2)"
    found = groups(
        tmp_path,
        ("TIMEOUT", hung(lock, "libv.so(v_flush+0x1c)", "libv.so(v_wait+0x4)")),
        ("TIMEOUT", hung(verbs, "libv.so(v_flush+0x30)", call="dat_ep_free")),
        ("TIMEOUT", hung(lock, "libv.so(+0x9)", where=["", "v_flush, src/evd.c:7"])),
        ("TIMEOUT", hung(lock, "libv.so(v_wait+0x30)")),
        # The case itself waits, for something that no thread of it does.
        ("TIMEOUT", hung(lock, "udapl-cases(+0x30)")),
        ("TIMEOUT", {"calls": [], "pending": "dat_evd_wait", "reason": "no end"}),
    )
    assert found == [["0", "1", "2"], ["4", "5"], ["3"]]


def test_two_deadlocks_in_one_function(tmp_path: Path) -> None:
    lock = "libc.so.6(pthread_mutex_lock+0x112)"

    def deadlock(partner: str) -> Record:
        left = hung(lock, "libv.so(v_lock+0x3)", "libv.so(v_flush+0x1c)")
        other = {"name": "v", "backtrace": [lock, f"libv.so({partner}+0x8)"]}
        return left | {"stacks": [*left["stacks"], other]}

    left = [("TIMEOUT", deadlock(partner)) for partner in ("v_cm", "v_cq", "v_cm")]
    assert groups(tmp_path, *left) == [["0", "2"], ["1"]]


def test_a_hang_names_its_function(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    run.case("hangs", "TIMEOUT", **hung("libc.so.6(futex+0x1)", "libv.so(v_flush+0x1c)"))
    (cause,) = causes(load(run.write(tmp_path)))
    assert cause.name == "dat_srq_resize, seen in dat_evd_wait: no return in libv.so(v_flush)"


def test_a_step_that_hangs_blocks_by_the_function(tmp_path: Path) -> None:
    left = hung("libc.so.6(futex+0x1)", "libv.so(v_flush+0x1c)")
    step = {"call": "dat_evd_wait", "ret": "no end of dat_evd_wait after 3000 ms"}
    site = {"file": "cases/srq/srq_resize.c", "line": 3, "text": "dat_evd_wait"}
    run = SyntheticRun(modes=(1,))
    run.case("hangs", "TIMEOUT", **left)
    run.case("needs", "BLOCKED", **left | {"blocked": step | {"site": site}})
    (cause,) = causes(load(run.write(tmp_path)))
    assert [len(cause.cases), len(cause.blocked)] == [1, 1]


def test_a_step_that_hangs_is_not_what_its_promise_fails_by(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    wrong = check("dat_evd_resize(evd, 9)", ok=False, expected=["DAT_SUCCESS"], seen="DAT_X")
    made = run.case("grows", "FAIL", calls=[call(1, "dat_evd_resize")], checks=[wrong])
    run.case("shrinks", "TIMEOUT", **hung("libv.so(v_resize+0x1c)", call="dat_evd_resize"))
    step = blocked("dat_evd_resize", "no end of dat_evd_resize after 3000 ms")
    step["blocked"]["clause"] = made
    run.case("needs", "BLOCKED", **hung("libv.so(v_resize+0x1c)", call="dat_evd_resize") | step)
    assert [cause.reach for cause in causes(load(run.write(tmp_path)))] == [2, 1]


def test_a_case_that_goes_on_is_of_its_page(tmp_path: Path) -> None:
    """Its calls return: the one that it was in when its time was over had only begun."""
    run = SyntheticRun(modes=(1,))
    stack = hung("libv.so(v_query+0x1c)", call="dat_psp_query")["stacks"]
    for clause in ("many", "more"):
        run.case(
            clause,
            "TIMEOUT",
            {"page": "dat_psp_create"},
            reason="no end after 40000 ms",
            calls=[call(1, "dat_psp_query", unfinished=True)],
            stacks=stack,
        )
    (cause,) = causes(load(run.write(tmp_path)))
    assert cause.name == "dat_psp_create: no end after 40000 ms"
    assert cause.extent == "2 clauses"


@pytest.mark.parametrize(
    ("timeout", "extents"), [("40000", ["2 clauses"]), ("DAT_TIMEOUT_INFINITE", ["1 clause"] * 2)]
)
def test_a_wait_that_no_timeout_ends_is_one_cause(
    tmp_path: Path, timeout: str, extents: list[str]
) -> None:
    """A thread sleeps on, and a case hangs on another page."""
    waits = call(1, "dat_evd_wait", ("timeout", timeout), unfinished=True)
    seen = "it waits still after 3000 ms"
    told = check("waiter returns", ok=False, expected=["the return"], seen=seen, calls=1)
    run = SyntheticRun(modes=(1,))
    run.case("slept", "FAIL", {"page": "dat_evd_wait"}, calls=[waits], checks=[told])
    hangs = {"calls": [waits], "pending": "dat_evd_wait"}
    run.case("hung", "TIMEOUT", {"page": "dat_evd_clear_unwaitable"}, **hangs)
    found = causes(load(run.write(tmp_path)))
    assert [cause.extent for cause in found] == extents
    if timeout.isdigit():
        assert found[0].name.startswith("dat_evd_wait: ")
