# SPDX-License-Identifier: BSD-2-Clause
"""What follows from a state that a call has left is of that call."""

from pathlib import Path
from typing import Any

import pytest

from results.causes.grouping import causes
from results.model.load import load
from tests.reports.causes.cause_records import blocked, deviating, failing
from tests.reports.synthetic_run import Record, SyntheticRun, call, check

FREE = {"page": "dat_rsp_free"}
BIND = {"page": "dat_rmr_bind"}


def tells(state: str) -> Record:
    """What the executable specification says of a query that tells this state."""
    saw = f"tells {state}, not DAT_EP_STATE_UNCONNECTED"
    why = f"case call 1, dat_ep_get_status: {saw} [ep_get_status/in_state]"
    return {"oracle": deviating("ep_get_status/in_state") | {"why": why}}


def state_seen(state: str) -> Record:
    wanted = {"expected": ["DAT_EP_STATE_UNCONNECTED"], "text": "ep_state"}
    return failing("dat_ep_get_status", 3, state, **wanted) | tells(state)


def refused_by(state: str) -> Record:
    wanted = {"expected": ["DAT_SUCCESS"], "text": "dat_rsp_create(...)"}
    return failing("dat_rsp_create", 8, "DAT_INVALID_STATE", **wanted) | tells(state)


def test_a_state_that_a_call_leaves_is_one_cause_however_it_is_seen(tmp_path: Path) -> None:
    reserved = "DAT_EP_STATE_RESERVED"
    run = SyntheticRun(modes=(1,))
    run.case("told", "FAIL", FREE, **state_seen(reserved))
    run.case("refused", "FAIL", FREE, **refused_by(reserved))
    left = blocked("dat_rsp_free", "the EP is Reserved") | tells(reserved)
    run.case("stepped", "BLOCKED", {"page": "dat_ep_free"}, **left)
    (found,) = causes(load(run.write(tmp_path)))
    assert [len(found.cases), len(found.blocked)] == [2, 1]
    assert found.calls[0] != "dat_ep_free"


def test_two_states_that_a_call_leaves_are_two_causes(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    run.case("told", "FAIL", FREE, **state_seen("DAT_EP_STATE_RESERVED"))
    run.case("refused", "FAIL", FREE, **refused_by("DAT_EP_STATE_CONNECTED"))
    assert len(causes(load(run.write(tmp_path)))) == 2


def test_a_state_of_another_page_joins_nothing(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    run.case("told", "FAIL", FREE, **state_seen("DAT_EP_STATE_RESERVED"))
    other = refused_by("DAT_EP_STATE_RESERVED")
    run.case("refused", "FAIL", {"page": "dat_cr_reject"}, **other)
    assert len(causes(load(run.write(tmp_path)))) == 2


@pytest.mark.parametrize(("name", "findings"), [("dat_rsp_free", 0), ("dat_ep_free", 1)])
def test_a_state_that_a_kept_case_met_is_shown_by_the_page_of_the_call(
    tmp_path: Path, name: str, findings: int
) -> None:
    reserved = "DAT_EP_STATE_RESERVED"
    run = SyntheticRun(modes=(1,))
    run.case("seen", "FAIL", FREE, **state_seen(reserved) | {"oracle": None})
    calls = [call(1, "dat_ep_get_status"), call(2, name)]
    breaks = "ep_get_status/in_state"
    run.case("kept", "PASS", FREE, calls=calls, **tells(reserved), breaks=breaks)
    assert len(load(run.write(tmp_path)).breakages) == findings


@pytest.mark.parametrize(("name", "findings"), [("dat_rsp_free", 0), ("dat_ep_connect", 2)])
def test_an_object_that_stays_in_that_state_is_no_finding_of_its_free(
    tmp_path: Path, name: str, findings: int
) -> None:
    reserved = "DAT_EP_STATE_RESERVED"
    run = SyntheticRun(modes=(1,))
    run.case("seen", "FAIL", FREE, **state_seen(reserved) | {"oracle": None})
    freed = call(3, "dat_ep_free", ("ep_handle", "ep#1"), ret="DAT_INVALID_STATE", teardown=True)
    left = {"call": "dat_ep_free", "what": "refused", "saw": "DAT_INVALID_STATE"}
    kept = {"calls": [call(1, "dat_ep_get_status"), call(2, name), freed], "teardown": [left]}
    run.case("kept", "PASS", FREE, **kept, **tells(reserved), breaks="ep_get_status/in_state")
    assert len(load(run.write(tmp_path)).breakages) == findings


def bound(length: int, **told: Any) -> Record:
    """What a case leaves whose check failed behind a bind of so many bytes."""
    region = f"{{lmr_context=lmr#1, virtual_address=lmr#1+0, segment_length={length}}}"
    calls = [
        call(1, "dat_rmr_bind", ("rmr_handle", "rmr#1"), ("lmr_triplet", region)),
        call(2, "dat_lmr_free", ("lmr_handle", "lmr#1"), ret="DAT_INVALID_STATE"),
    ]
    return {"calls": calls, "checks": [check(ok=False, **told) | {"calls": 2}]}


def accessible(length: int) -> Record:
    seen = {"expected": ["DAT_DTO_ERR_REMOTE_ACCESS"], "seen": "DAT_DTO_SUCCESS"}
    return bound(length, text="status == DAT_DTO_ERR_REMOTE_ACCESS", line=4, **seen)


def in_use(length: int) -> Record:
    seen = {"expected": ["DAT_SUCCESS"], "seen": "DAT_INVALID_STATE"}
    return bound(length, text="dat_lmr_free(lmr)", line=7, **seen)


def test_what_an_unbind_leaves_bound_is_one_cause(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    run.case("accessible", "FAIL", BIND, **accessible(0))
    run.case("in_use", "FAIL", BIND, **in_use(0))
    (found,) = causes(load(run.write(tmp_path)))
    assert found.name.startswith("dat_rmr_bind")


def test_a_bind_that_opens_too_much_is_another_cause(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    run.case("accessible", "FAIL", BIND, **accessible(64))
    run.case("in_use", "FAIL", BIND, **in_use(0))
    assert len(causes(load(run.write(tmp_path)))) == 2


def test_a_request_that_nothing_answers_is_one_cause(tmp_path: Path) -> None:
    wanted = {"expected": ["DAT_CONNECTION_EVENT_NON_PEER_REJECTED"], "text": "event"}
    run = SyntheticRun(modes=(1,))
    timed_out = "DAT_CONNECTION_EVENT_TIMED_OUT"
    run.case("timed", "FAIL", FREE, **failing("dat_rsp_create", 3, timed_out, **wanted))
    nothing = failing("dat_rsp_create", 5, "no event within 3000 ms", **wanted)
    run.case("waited", "FAIL", FREE, **nothing)
    assert len(causes(load(run.write(tmp_path)))) == 1
