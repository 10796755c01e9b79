# SPDX-License-Identifier: BSD-2-Clause
"""What an earlier connection left undone, and what a query tells, as causes."""

from pathlib import Path
from typing import Any

import pytest

from results.causes.cause import Cause
from results.causes.grouping import causes
from results.model.load import load
from tests.reports.synthetic_run import Record, SyntheticRun, call, check

CONNECTED = "DAT_EP_STATE_CONNECTED"
MISSING = "no event within 3000 ms"
COMPLETION = "DAT_DTO_COMPLETION_EVENT"


def of_ep(n: int, name: str, **more: Any) -> Record:
    return call(n, name, ("ep_handle", "ep#1"), **more)


def told_of_ep(n: int, kind: str) -> Record:
    """A wait that takes an event of the EP's connection."""
    data = "evd_handle=evd#3, event_data={ep_handle=ep#1}"
    event = f"{{event_number=DAT_CONNECTION_EVENT_{kind}, {data}}}"
    return call(n, "dat_evd_wait", ("evd_handle", "evd#3"), out=[["event", event]])


def found(tmp_path: Path, **cases: Record) -> list[Cause]:
    """The causes of cases that failed, by page."""
    run = SyntheticRun(modes=(1,))
    for page, left in cases.items():
        run.case(f"{page}/fails", "FAIL", {"page": f"dat_{page}"}, **left)
    return causes(load(run.write(tmp_path)))


def ends(*calls: Record, line: int) -> Record:
    """What a case leaves whose EP is not connected behind these calls."""
    state = "ep_state(t, ep) == state"
    seen = {"expected": [CONNECTED], "seen": "DAT_EP_STATE_DISCONNECTED", "line": line}
    last = of_ep(9, "dat_ep_get_status")
    return {"calls": [*calls, last], "checks": [check(state, ok=False, calls=9, **seen)]}


AGAIN = of_ep(1, "dat_ep_connect"), of_ep(2, "dat_ep_reset"), of_ep(3, "dat_ep_connect")


def test_a_second_connection_that_ends_by_itself_is_of_the_reset(tmp_path: Path) -> None:
    event = check("the event on an EVD", ok=False, calls=9, line=3) | {
        "expected": ["DAT_CONNECTION_EVENT_DISCONNECTED"],
        "seen": "DAT_CONNECTION_EVENT_BROKEN",
    }
    broken = {"calls": [*AGAIN, told_of_ep(9, "BROKEN")], "checks": [event]}
    (cause,) = found(tmp_path, cr_accept=ends(*AGAIN, line=1), ep_disconnect=broken)
    assert cause.name.startswith("dat_ep_reset, seen in ")


@pytest.mark.parametrize(
    "calls",
    [
        # It is the first connection.
        AGAIN[:1],
        AGAIN[1:],
        # Nothing connects it again.
        AGAIN[:2],
    ],
)
def test_a_connection_without_a_former_one_is_of_its_page(
    tmp_path: Path, calls: list[Record]
) -> None:
    (cause,) = found(tmp_path, cr_accept=ends(*calls, line=1))
    assert not cause.name.startswith("dat_ep_reset")


def waits_in_vain(*calls: Record, line: int) -> Record:
    """What a case leaves that misses a completion on the receive EVD of its EP."""
    evds = ("recv_completion_evd_handle", "evd#1"), ("request_completion_evd_handle", "evd#2")
    made = call(1, "dat_ep_create", *evds, out=[["ep_handle", "ep#1"]])
    empty = call(9, "dat_evd_wait", ("evd_handle", "evd#1"), ret="DAT_TIMEOUT_EXPIRED")
    told = check("the event on an EVD", ok=False, calls=9, line=line)
    told |= {"expected": [COMPLETION], "seen": MISSING}
    return {"calls": [made, *calls, empty], "checks": [told]}


POST = of_ep(2, "dat_ep_post_recv")


def test_a_receive_that_is_not_flushed_is_of_its_post(tmp_path: Path) -> None:
    one = waits_in_vain(POST, told_of_ep(3, "DISCONNECTED"), line=1)
    other = waits_in_vain(POST, told_of_ep(3, "ACCEPT_COMPLETION_ERROR"), line=2)
    (cause,) = found(tmp_path, cr_accept=one, ep_recv_query=other)
    assert cause.name.startswith("dat_ep_post_recv, seen in ")


@pytest.mark.parametrize(
    "calls",
    [
        # It is connected still, or again.
        [POST],
        [POST, told_of_ep(3, "DISCONNECTED"), told_of_ep(4, "ESTABLISHED")],
        # It was not posted, or not there.
        [told_of_ep(3, "DISCONNECTED")],
        [of_ep(2, "dat_ep_post_send"), told_of_ep(3, "DISCONNECTED")],
    ],
)
def test_a_completion_that_no_end_has_lost_is_of_its_page(
    tmp_path: Path, calls: list[Record]
) -> None:
    (cause,) = found(tmp_path, cr_accept=waits_in_vain(*calls, line=1))
    assert "dat_ep_post_recv" not in cause.name


def tells(page: str, asked: int, **seen: Any) -> Record:
    """What a case leaves that `asked` dat_ep_query so often, which tells another EVD each time."""
    why = "case call 2, dat_ep_query: connect_evd_handle is evd#2, not evd#3 [ep_query/field]"
    said = {"verdict": "deviates", "judged": 1, "unjudged": 0, "why": why, "who": "case", "n": 2}
    queries = [of_ep(2 + n, "dat_ep_query") for n in range(asked)]
    checks = [check("kept", ok=False, calls=1 + asked, **seen)] if seen else []
    calls = [call(1, f"dat_{page}"), *queries]
    return {"calls": calls, "checks": checks, "oracle": said | {"clause": "ep_query/field"}}


def test_a_value_that_a_query_tells_wrongly_is_one_cause(tmp_path: Path) -> None:
    """By the model, at once, or by a later query."""
    changed = {"expected": ["kept"], "seen": "connect_evd_handle was 1 and is 2"}
    modify = tells("ep_modify", 2, line=7, **changed)
    create = tells("ep_create", 1, line=8, **changed)
    (cause,) = found(tmp_path, ep_create=create, ep_modify=modify, ep_query=tells("ep_query", 1))
    assert cause.name.startswith("dat_ep_query, seen in ")


def test_a_query_that_its_own_page_finds_right_is_not_named(tmp_path: Path) -> None:
    """What it tells may be wrong because of the call before it."""
    changed = {"expected": ["kept"], "seen": "connect_evd_handle was 1 and is 2"}
    (cause,) = found(tmp_path, ep_modify=tells("ep_modify", 1, line=7, **changed))
    assert not cause.name.startswith("dat_ep_query, seen in ")


def looks(seen: str, line: int) -> Record:
    """What a case leaves that took an event, or found none, where a thread waits."""
    told = check("dat_evd_dequeue(...)", ok=False, calls=1, line=line)
    told |= {"expected": ["DAT_INVALID_STATE"], "seen": seen}
    return {"calls": [call(1, "dat_evd_dequeue", ret=seen)], "checks": [told]}


def test_a_dequeue_that_is_not_refused_is_one_cause_with_and_without_event(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    for line, seen in enumerate(("DAT_SUCCESS", "DAT_QUEUE_EMPTY"), 1):
        page = {"page": "dat_evd_dequeue"}
        run.case(f"evd_dequeue/{line}", "FAIL", page, **looks(seen, line))
    assert len(causes(load(run.write(tmp_path)))) == 1


def test_the_number_of_events_left_is_of_the_wait(tmp_path: Path) -> None:
    """Whichever page looks at it."""
    left = []
    for line, name in enumerate(("dat_evd_post_se", "dat_ep_create_with_srq"), 1):
        told = check("more == 0", ok=False, calls=2, line=line, expected=["0"], seen="1")
        left.append({"calls": [call(1, name), call(2, "dat_evd_wait")], "checks": [told]})
    (cause,) = found(tmp_path, evd_post_se=left[0], ep_create_with_srq=left[1])
    assert cause.calls == ("dat_evd_wait",)


def test_threads_that_a_call_lets_wait_are_one_cause_of_its_page(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    for line in (1, 2):
        told = check("waiter returns", ok=False, line=line)
        told |= {"expected": ["the return of its call"], "seen": "it waits still after 3000 ms"}
        page = {"page": "dat_evd_set_unwaitable"}
        calls = [call(1, "dat_evd_set_unwaitable")]
        run.case(f"evd_set_unwaitable/{line}", "FAIL", page, calls=calls, checks=[told])
    assert len(causes(load(run.write(tmp_path)))) == 1


def in_state(seen: str, *calls: Record, expected: str = "DAT_EP_STATE_UNCONNECTED") -> Record:
    """What a case leaves that saw its EP in this state behind these calls."""
    name = "dat_ep_get_status" if seen.startswith("DAT_EP") else "dat_ep_modify"
    ret = "DAT_SUCCESS" if seen.startswith("DAT_EP") else "DAT_INVALID_STATE"
    last = call(9, name, ("ep_handle", "ep#1"), ret=ret)
    told = check(f"{name}(...)", ok=False, expected=[expected], seen=seen, calls=9)
    return {"calls": [*calls, last], "checks": [told]}


PENDING = "DAT_EP_STATE_PASSIVE_CONNECTION_PENDING"
REFUSED = "DAT_INVALID_STATE, DAT_INVALID_STATE_EP_PASSCONNPENDING"


def test_a_state_that_a_call_had_to_end_is_of_that_call(tmp_path: Path) -> None:
    rejected = [call(1, "dat_rsp_create"), call(2, "dat_cr_reject")]
    told = in_state(PENDING, *rejected)
    refused = in_state(REFUSED, *rejected, expected="DAT_SUCCESS")
    (cause,) = found(tmp_path, rsp_create=told, ep_modify=refused)
    assert cause.behind == "dat_cr_reject"


@pytest.mark.parametrize(
    "calls",
    [
        [call(1, "dat_rsp_create")],
        [call(1, "dat_rsp_create"), call(2, "dat_cr_reject"), call(3, "dat_rsp_create")],
        [call(1, "dat_rsp_create"), call(2, "dat_cr_reject", ret="DAT_INVALID_HANDLE")],
    ],
)
def test_a_state_that_nothing_had_to_end_is_of_its_page(
    tmp_path: Path, calls: list[Record]
) -> None:
    (cause,) = found(tmp_path, rsp_create=in_state(PENDING, *calls))
    assert cause.behind == ""
