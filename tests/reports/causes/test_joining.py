# SPDX-License-Identifier: BSD-2-Clause
"""Defects that meet in one case, and completions that tell of an error."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from results.causes.joining import joined
from results.causes.keys import Key
from tests.reports.causes.cause_records import blocked, groups
from tests.reports.synthetic_run import Record, call, check

SIZE: Key = ("value", "size")
STATE: Key = ("value", "state")


@pytest.mark.parametrize(
    ("both", "count"),
    [
        (1, 2),  # two defects met in one case
        (4, 1),
    ],
)
def test_how_many_cases_join_what_meets_in_them(both: int, count: int) -> None:
    keys = [{SIZE}] * 12 + [{STATE}] * 12 + [{SIZE, STATE}] * both
    found = joined(dict(enumerate(keys)), {})
    assert len(found) == count
    assert sorted(chain(*found)) == [*range(len(keys))]


def test_few_cases_are_joined_by_one() -> None:
    assert joined({0: {SIZE}, 1: {STATE}, 2: {SIZE, STATE}, 3: set()}, {}) == [[0, 1, 2], [3]]


def test_what_is_behind_a_finding_joins_nothing() -> None:
    found = {0: {SIZE}, 1: {STATE}, 2: {SIZE, STATE}}
    assert joined(found, {2: 1}) == [[0], [1, 2]]


def completed(post: str, page_line: int, **told: Any) -> Record:
    """What a case leaves whose work was posted by `post`, and completed with an error."""
    event = "{event_number=DAT_DTO_COMPLETION_EVENT, event_data={user_cookie=5, status=WRONG}}"
    calls = [
        call(1, post, ("user_cookie", "5")),
        call(2, "dat_evd_wait", out=[("event", event)]),
    ]
    text = "the completion on an EVD"
    wrong = {
        "expected": ["DAT_DTO_COMPLETION_EVENT with DAT_DTO_SUCCESS"],
        "seen": "DAT_DTO_ERR_LOCAL_EP, cookie 5, 64 bytes",
    }
    return {
        "calls": calls,
        "checks": [check(text, ok=False, line=page_line, calls=2, **(wrong | told))],
    }


@pytest.mark.parametrize(
    ("cases", "alike"),
    [
        # However the check tells of the status, and whichever queue the receive was posted to.
        (
            [
                ("FAIL", completed("dat_ep_post_recv", 3)),
                ("FAIL", completed("dat_srq_post_recv", 4)),
            ],
            True,
        ),
        # Another kind of work.
        (
            [
                ("FAIL", completed("dat_ep_post_recv", 3)),
                ("FAIL", completed("dat_ep_post_send", 4)),
            ],
            False,
        ),
        # What was flushed follows from many defects.
        (
            [
                ("FAIL", completed("dat_ep_post_send", line, seen="DAT_DTO_ERR_FLUSHED, cookie 5"))
                for line in (3, 4)
            ],
            False,
        ),
    ],
)
def test_completions_with_an_error(
    tmp_path: Path, cases: Sequence[tuple[str, Record]], alike: bool
) -> None:
    assert (len(groups(tmp_path, *cases)) == 1) is alike


@pytest.mark.parametrize(
    ("what", "post"),
    [
        ("a send", "dat_ep_post_send"),
        ("a receive", "dat_srq_post_recv"),
        ("an RDMA write", "dat_ep_post_rdma_write"),
    ],
)
def test_what_fails_at_the_peer_is_work_like_the_case_s(
    tmp_path: Path, what: str, post: str
) -> None:
    step = blocked(post, f"{what} completed with: DAT_DTO_ERR_LOCAL_EP")
    assert groups(tmp_path, ("BLOCKED", step), ("FAIL", completed(post, 3))) == [["1"]]
