# SPDX-License-Identifier: BSD-2-Clause
"""Each rule has a trace that it accepts, and one that it refuses.

A rule that only permits refuses nothing: without it, what it permits is a deviation.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import oracle.judging
from oracle import judge
from oracle.common import SMALL_COUNT
from oracle.evd import EVENTS
from oracle.kernel import PLANS, Handle, Held, Judge, Plan
from oracle.trace import Call
from oracle.verdict import Judgement
from tests.oracle import test_contents, test_traces
from tests.oracle.trace_text import Block, blocks, record

CALLS = {
    block.record["calls"][-1]["call"]: block
    for block in blocks(Path(__file__).parent / "traces" / "calls.txt")
}
# What is registered no trace tells, so nothing that these return deviates.
UNSEEN = frozenset(
    f"dat_registry_{name}" for name in ("add_provider", "list_providers", "remove_provider")
)


@dataclass
class Heard:
    """The rules that judged a call of some traces, and those that found a deviation."""

    judged: set[Held] = field(default_factory=set)
    broken: set[Held] = field(default_factory=set)


def hear(records: "Traces") -> tuple[Heard, list[Judgement]]:
    """Judge traces, each by what is declared of its IA."""
    heard = Heard()

    class Listener(Judge):
        def __init__(self, side: Any, judgement: Judgement) -> None:
            super().__init__(side, judgement)
            listeners.append(self)

        def deviate(self, call: Call, rule: Held, why: str) -> None:
            heard.broken.add(rule)
            super().deviate(call, rule, why)

    listeners: list[Judge] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(oracle.judging, "Judge", Listener)
        judgements = [judge(record, declared) for record, declared in records]
    for listener in listeners:
        heard.judged.update(listener.asked)
    return heard, judgements


def of_plan(plan: Plan) -> Iterator[tuple[str, Held]]:
    """The rules of a call, by their names."""
    yield "legal", plan.legal
    for argument, held in plan.handle_rules.items():
        yield argument, held
    for held in (*plan.refuses, *plan.tells, *plan.always, *plan.asleep, *plan.elsewhere):
        function = held.function
        yield f"{function.__module__.removeprefix('oracle.')}.{function.__name__}", held


NAMES: dict[Held, str] = {
    held: f"{call}: {name}" for call, plan in PLANS.items() for name, held in of_plan(plan)
}


def changed(block: Block, ret: str, handle: Handle | None = None) -> dict[str, Any]:
    """The trace of a legal call, whose last call returns this, of a handle that is none."""
    told = block.record
    last = told["calls"][-1]
    last["ret"] = ret
    if ret != "DAT_SUCCESS":
        last["out"] = []
    if handle is not None:
        wrong = "DAT_HANDLE_NULL" if not handle.null else "ia"
        last["args"] = [
            [name, wrong if name == handle.argument else old] for name, old in last["args"]
        ]
    return told


HANDLES = [
    pytest.param(call, handle, id=f"{call}-{handle.argument}")
    for call in CALLS
    for handle in PLANS[call].handles
]


def test_calls() -> None:
    """There is a legal call of each function whose returns are judged."""
    assert CALLS.keys() == PLANS.keys() - UNSEEN


@pytest.mark.parametrize("call", CALLS)
def test_legal_call_that_is_refused(call: str) -> None:
    """Nothing forbids it, so it succeeds."""
    (deviation,) = judge(
        changed(CALLS[call], "DAT_INTERNAL_ERROR"), test_traces.DECLARED
    ).deviations
    # It may be cited by the row that the call is of.
    assert f"{deviation.clause}/".startswith(f"{PLANS[call].legal.clauses[0]}/")


@pytest.mark.parametrize(("call", "handle"), HANDLES)
def test_handle_that_is_none(call: str, handle: Handle) -> None:
    """A null handle, or one of another kind, is refused."""
    taken = judge(changed(CALLS[call], "DAT_SUCCESS", handle), test_traces.DECLARED)
    refused = judge(changed(CALLS[call], "DAT_INVALID_HANDLE", handle), test_traces.DECLARED)
    (deviation,) = taken.deviations
    assert deviation.clause == handle.clause
    assert not refused.deviations
    assert not refused.unjudged


Traces = list[tuple[dict[str, Any], dict[str, Any]]]


def as_wait(record: dict[str, Any], threshold: int = 1) -> dict[str, Any]:
    """The same, with a dat_evd_wait where a dat_evd_dequeue was."""
    for call in record["calls"]:
        if call["call"] == "dat_evd_dequeue":
            call["call"] = "dat_evd_wait"
            call["args"] |= {"timeout": 0, "threshold": threshold if _is_empty(call) else 1}
            call["out"]["n_more_events"] = threshold - 1 if _is_empty(call) else 0
            call["ret"] = "DAT_TIMEOUT_EXPIRED" if _is_empty(call) else "DAT_SUCCESS"
    return record


def _is_empty(call: dict[str, Any]) -> bool:
    return bool(call["ret"] in ("DAT_QUEUE_EMPTY", "DAT_TIMEOUT_EXPIRED"))


def many_points() -> dict[str, Any]:
    """After many service points there is no qualifier for one more."""
    points = [
        f"dat_psp_create ia_handle=ia; conn_qual={2000 + n}; evd_handle=evd#4;"
        f" psp_flags=DAT_PSP_CONSUMER_FLAG -> psp_handle=psp#{n}"
        for n in range(SMALL_COUNT)
    ]
    more = "dat_psp_create_any ia_handle=ia; evd_handle=evd#4; psp_flags=DAT_PSP_CONSUMER_FLAG"
    before = CALLS["dat_psp_create_any"].lines[:-1]
    return record([*before, *points, f"{more} -> !DAT_CONN_QUAL_UNAVAILABLE"])


@cache
def traces() -> tuple[Traces, Traces]:
    """The traces of all tests: those that are accepted, and those that are refused."""
    accepted: Traces = [(many_points(), test_traces.DECLARED)]
    refused: Traces = []
    for block in test_traces.ALL:
        (refused if block.clause else accepted).append((block.record, test_traces.declared(block)))
    for name, (one, other, _clause) in test_contents.PAIRS.items():
        accepted.append((one().record, test_contents.END_TO_END))
        refused.append((other().record, test_contents.END_TO_END))
        accepted.append((as_wait(one().record), test_contents.END_TO_END))
        refused.append((as_wait(other().record), test_contents.END_TO_END))
        if name.startswith("due to "):
            accepted.append((as_wait(other().record, threshold=2), test_contents.END_TO_END))
    for call, block in CALLS.items():
        refused.append((changed(block, "DAT_INTERNAL_ERROR"), test_traces.DECLARED))
        for handle in PLANS[call].handles:
            accepted.append((changed(block, "DAT_INVALID_HANDLE", handle), test_traces.DECLARED))
            refused.append((changed(block, "DAT_SUCCESS", handle), test_traces.DECLARED))
    return accepted, refused


@cache
def heard() -> tuple[set[Held], set[Held]]:
    """The rules that judged an accepted trace, and those by which one was refused."""
    accepted, refused = traces()
    found, judgements = hear(accepted)
    assert [j.deviations or j.damage for j in judgements if j.deviations or j.damage] == []
    broken, judgements = hear(refused)
    assert all(judgement.deviations for judgement in judgements)
    return found.judged, broken.broken


# These say only that a call cannot be judged, and why.
OPEN = {
    "dat_evd_create: evd.create_length",
    "dat_registry_list_providers: registry.no_conf",
    *(f"{call}: {name}" for call in UNSEEN for name in ("legal", "registry.registered")),
}
# These only permit.
PERMITS = {
    "dat_cno_wait: cno.wait",
    "dat_cr_handoff: cr.nowhere",
    "dat_ep_create: ep.without_evd",
    "dat_ep_create_with_srq: ep.no_srqs",
    "dat_ep_create_with_srq: ep.without_evd",
    "dat_ep_post_rdma_read: posts.places",
    "dat_ep_post_rdma_read: posts.request_vector",
    "dat_ep_post_rdma_write: posts.places",
    "dat_ep_post_rdma_write: posts.request_vector",
    "dat_ep_post_recv: posts.places",
    "dat_ep_post_recv: posts.recv_vector",
    "dat_ep_post_send: posts.places",
    "dat_ep_post_send: posts.request_vector",
    "dat_ep_recv_query: ep_receives.recv_query_declared",
    "dat_ep_set_watermark: ep_receives.watermarks",
    "dat_evd_create: evd.asynchronous_alone",
    "dat_evd_dequeue: evd.empty",
    "dat_evd_resize: evd.below_content",
    "dat_evd_wait: evd.time_out",
    "dat_ia_close: ia.registered_by_application",
    "dat_psp_create_any: sp.unavailable",
    "dat_rmr_bind: posts.places",
    "dat_rsp_free: sp.spent",
    "dat_rsp_query: sp.spent",
    "dat_srq_create: srq.supported",
    "dat_srq_post_recv: srq.too_many",
    "dat_srq_post_recv: srq.vector",
    "dat_srq_resize: srq.below_outstanding",
    "dat_srq_set_lw: srq.watermarks",
}
# These speak only if something is wrong: what is near it they leave to others.
ACCUSES = (
    {
        f"{call}: contents.longer_of_{of}"
        for call in ("dat_evd_dequeue", "dat_evd_wait")
        for of in ("ep", "srq")
    }
    | {
        f"dat_evd_dequeue: due.{name}"
        for name in (
            "connection_events_come",
            "made_marks_are_told",
            "marks_are_told",
            "receives_come",
            "requests_come",
            "srq_receives_come",
        )
    }
    | {
        f"dat_evd_dequeue: high_marks.{name}"
        for name in ("hard_marks_break", "soft_marks_are_told")
    }
)
RULES = {name: held for held, name in NAMES.items() if name not in OPEN}


@pytest.mark.parametrize("name", sorted(RULES))
def test_accepted(name: str) -> None:
    """Each rule has judged a trace that is accepted."""
    assert (RULES[name] in heard()[0]) == (name not in ACCUSES)


@pytest.mark.parametrize("name", sorted(RULES))
def test_refused(name: str) -> None:
    """By each rule but those that only permit a trace is refused."""
    assert (RULES[name] in heard()[1]) == (name not in PERMITS)


@pytest.mark.parametrize("name", sorted(PERMITS))
def test_permitted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a rule that permits, a trace that it accepts is refused, or not judged."""
    call = name.partition(":")[0]
    plan = PLANS[call]
    mine = [(told, declared) for told, declared in traces()[0] if told["calls"][-1]["call"] == call]
    before = [judge(*one).judged for one in mine]
    monkeypatch.setattr(plan, "refuses", [held for held in plan.refuses if held != RULES[name]])
    without = [judge(*one) for one in mine]
    assert any(each.deviations for each in without) or before != [each.judged for each in without]


def test_events() -> None:
    """An event of each number has been accepted, and one without a cause refused."""
    accepted, refused = traces()
    taken = {_event(call) for record, _ in accepted for call in record["calls"]}
    wrong = {_event(record["calls"][-1]) for record, _ in refused}
    assert EVENTS.keys() <= taken
    assert EVENTS.keys() <= wrong


def _event(raw: dict[str, Any]) -> str:
    return Call(raw).event


def test_a_count_that_a_later_state_disproves() -> None:
    """The EP still waits for its connection, so its receive was not gone before."""
    posted = CALLS["dat_ep_post_recv"].lines
    asked = CALLS["dat_ep_connect"].lines
    lines = [
        *asked[:-1],
        posted[-1],
        asked[-1],
        "dat_ep_recv_query ep_handle=ep#1 -> nbufs_allocated=0; bufs_alloc_span=0",
        "dat_ep_get_status ep_handle=ep#1 -> ep_state=DAT_EP_STATE_ACTIVE_CONNECTION_PENDING;"
        " recv_idle=DAT_FALSE; request_idle=DAT_TRUE",
    ]
    (deviation,) = judge(record(lines), test_traces.DECLARED).deviations
    assert (deviation.n, deviation.clause) == (len(lines) - 1, "ep_recv_query/posted")
