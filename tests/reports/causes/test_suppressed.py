# SPDX-License-Identifier: BSD-2-Clause
"""What is wrong with the completions of suppressed requests is one cause."""

from pathlib import Path

import pytest

from results.causes.grouping import causes
from results.causes.suppressed import UNTOLD
from results.model.load import load
from tests.reports.causes.cause_records import deviating
from tests.reports.synthetic_run import Record, SyntheticRun, call, check

SUPPRESSED = "DAT_COMPLETION_SUPPRESS_FLAG"
DEFAULT = "DAT_COMPLETION_DEFAULT_FLAG"


def posts(n: int, name: str, cookie: str, flag: str) -> Record:
    return call(n, name, ("user_cookie", cookie), ("completion_flags", flag))


def missing(name: str, flag: str) -> Record:
    """No completion came of a request with this flag."""
    wanted = {"expected": ["DAT_DTO_COMPLETION_EVENT"], "seen": "no event within 3 ms"}
    calls = [posts(1, name, "7", flag), call(2, "dat_evd_wait", ret="DAT_TIMEOUT_EXPIRED")]
    told = check("the event", ok=False, line=4, **wanted)
    return {"calls": calls, "checks": [told | {"calls": 2}]}


def another(name: str, flag: str) -> Record:
    """The completion of the next request came in the place of one with this flag."""
    calls = [posts(1, name, "7", flag), posts(2, name, "8", DEFAULT), call(3, "dat_evd_wait")]
    told = check("dto.user_cookie.as_64 == 7", ok=False, expected=["7"], seen="8", line=6)
    return {"calls": calls, "checks": [told | {"calls": 3}]}


def count(tmp_path: Path, flag: str) -> int:
    """The causes of cases in which requests with this flag have no completion."""
    run = SyntheticRun(modes=(1,))
    send, write = "dat_ep_post_send", "dat_ep_post_rdma_write"
    run.case("sent", "FAIL", {"page": send}, **another(send, flag))
    run.case("written", "FAIL", {"page": write}, **missing(write, flag))
    if flag == SUPPRESSED:
        told = check("next", ok=False, expected=["next"], seen=UNTOLD, line=9)
        run.case("flushed", "FAIL", {"page": write}, calls=[call(1, write)], checks=[told])
    return len(causes(load(run.write(tmp_path))))


def test_failures_of_suppressed_requests_are_one_cause(tmp_path: Path) -> None:
    assert count(tmp_path, SUPPRESSED) == 1


def test_completions_that_no_flag_suppresses_are_of_their_calls(tmp_path: Path) -> None:
    assert count(tmp_path, DEFAULT) == 2


def wrong_event(name: str, clause: str, line: int, what: str) -> Record:
    """An event came that the executable specification finds wrong, and a check failed by it."""
    why = f"case call 2, dat_evd_wait: of ep#1: {what} [{clause}]"
    told = check("cookie", ok=False, expected=["7"], seen=str(line), line=line, calls=2)
    said = deviating(clause) | {"why": why, "n": 2}
    return {"calls": [call(1, name), call(2, "dat_evd_wait")], "checks": [told], "oracle": said}


@pytest.mark.parametrize(
    ("what", "found"), [("a success that was to be suppressed", 1), ("the length is 5, not 4", 2)]
)
def test_successes_that_were_to_be_suppressed_are_one_cause(
    tmp_path: Path, what: str, found: int
) -> None:
    run = SyntheticRun(modes=(1,))
    send, bind = "dat_ep_post_send", "dat_rmr_bind"
    run.case("sent", "FAIL", {"page": send}, **wrong_event(send, "evd_wait/event", 5, what))
    bound = wrong_event(bind, "evd_wait/event/bound", 6, what)
    run.case("bound", "FAIL", {"page": bind}, **bound)
    assert len(causes(load(run.write(tmp_path)))) == found
