# SPDX-License-Identifier: BSD-2-Clause
"""A provider whose dat_ia_query gives no answer is judged by what can be asked without it."""

from collections.abc import Callable

import pytest

from tests.harness import session
from tests.harness.session import Agent, admits

WAYS = [
    ("ia_query=crash", "ended by SIGSEGV in dat_ia_query"),
    ("ia_query=exit", "left with status 0 in dat_ia_query"),
    (
        "ia_query=fail",
        'dat_ia_query("fake0") returned DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE',
    ),
    (
        "ia_query=in_name",
        'dat_ia_query of "fake0" returned DAT_SUCCESS and wrote no attribute',
    ),
]


@pytest.mark.parametrize(("misbehaviour", "reason"), WAYS)
def test_what_does_not_need_the_answer_is_judged(
    agent_on: Callable[[str], Agent], misbehaviour: str, reason: str
) -> None:
    agent = agent_on(misbehaviour)
    ia = agent.hello_message["ia"]
    assert admits("from_agent", agent.hello_message)
    assert (ia["open"], ia["unasked"]) == (True, reason)
    assert ia["library"].endswith("/libfake_misbehaving.so")
    assert set(ia["attributes"].values()) == {"unwritten"}
    assert ia["needs"]["srq_supported"] is True
    assert ia["found"]["srq_supported"]["how"] == "dat_srq_create worked"
    for case in ("harness/passes", "provider/has/srq"):
        outcome = agent.run(case)
        assert outcome.word == "PASS", outcome.reason
        assert "dat_ia_query" not in outcome.calls()
    outcome = agent.run("harness/needs_a_limit")
    assert (outcome.word, outcome.reason) == ("BLOCKED", reason)
    assert outcome.verdict["blocked"]["call"] == "dat_ia_query"


def test_a_hang_ends_the_probe_and_not_the_agent(
    agent_on: Callable[[str], Agent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "PATIENCE", 60)
    agent = agent_on("ia_query=hang")
    assert agent.hello_message["ia"]["unasked"] == "no end after 5000 ms of dat_ia_query"
    assert agent.run("harness/passes").word == "PASS"


def test_an_answer_is_asked_for(agent: Agent) -> None:
    assert "unasked" not in agent.hello_message["ia"]
    outcome = agent.run("harness/needs_a_limit")
    assert outcome.word == "PASS"
    assert "dat_ia_query" in outcome.calls()


LOOKS = ("dat_ep_query", "dat_ep_get_status")


@pytest.mark.parametrize(
    ("misbehaviour", "mute"),
    [
        ("ep_query=crash", LOOKS[:1]),
        ("ep_query=hang", LOOKS[:1]),
        ("ep_get_status=exit", LOOKS[1:]),
        ("ep_query=crash ep_get_status=crash", LOOKS),
    ],
)
def test_a_look_that_does_not_return_blocks_what_needs_it_only(
    agent_on: Callable[[str], Agent], misbehaviour: str, mute: tuple[str, ...]
) -> None:
    agent = agent_on(misbehaviour)
    ia = agent.hello_message["ia"]
    assert admits("from_agent", agent.hello_message)
    assert tuple(ia["unlooked"]) == mute
    assert "unasked" not in ia
    for call, why in ia["unlooked"].items():
        assert why.endswith(f" {call}")
    outcome = agent.run("provider/makes_an_ep")
    assert not {*outcome.calls()} & {*mute}
    assert [each["call"] for each in outcome.verdict["unasked"]] == list(mute)
    assert {each["call"]: each["saw"] for each in outcome.verdict["unasked"]} == ia["unlooked"]
    if mute == LOOKS:
        assert outcome.word == "BLOCKED"
        assert outcome.verdict["blocked"]["call"] == "dat_ep_get_status"
    else:
        assert outcome.word == "PASS", outcome.reason
        assert {*outcome.calls()} >= {*LOOKS} - {*mute}
    assert "unasked" not in agent.run("harness/passes").verdict


@pytest.mark.parametrize("misbehaviour", ["ep_query=fail", "ep=crash", "ep=fail"])
def test_a_look_that_returns_is_made(agent_on: Callable[[str], Agent], misbehaviour: str) -> None:
    assert "unlooked" not in agent_on(misbehaviour).hello_message["ia"]


def test_a_library_that_does_not_close_is_no_provider(agent_on: Callable[[str], Agent]) -> None:
    ia = agent_on("close=exit ia_query=crash").hello_message["ia"]
    assert (ia["open"], ia["reason"]) == (False, "left with status 0 in dat_ia_close")


TAKES = ("dat_evd_wait", "dat_evd_dequeue")


@pytest.mark.parametrize(
    ("misbehaviour", "mute", "why"),
    [
        ("evd_wait=fail", TAKES[0], 'dat_evd_wait("fake0") returned DAT_INTERNAL_ERROR'),
        ("evd_wait=crash", TAKES[0], "ended by SIGSEGV in dat_evd_wait"),
        ("evd_dequeue=fail", TAKES[1], 'dat_evd_dequeue("fake0") returned DAT_INTERNAL_ERROR'),
    ],
)
def test_fixtures_take_events_by_the_call_that_answers(
    agent_on: Callable[[str], Agent], misbehaviour: str, mute: str, why: str
) -> None:
    agent = agent_on(misbehaviour)
    unlooked = agent.hello_message["ia"]["unlooked"]
    assert admits("from_agent", agent.hello_message)
    assert {call: said.startswith(why) for call, said in unlooked.items()} == {mute: True}
    outcome = agent.run("waiter/takes_by_fixture")
    assert outcome.word == "PASS", outcome.reason
    assert {*outcome.calls()} & {*TAKES} == {*TAKES} - {mute}
    assert [each["call"] for each in outcome.verdict["unasked"]] == [mute]


def test_without_either_call_the_case_is_blocked(agent_on: Callable[[str], Agent]) -> None:
    agent = agent_on("evd_wait=fail evd_dequeue=fail")
    assert tuple(agent.hello_message["ia"]["unlooked"]) == TAKES
    outcome = agent.run("waiter/takes_by_fixture")
    assert (outcome.word, outcome.verdict["blocked"]["call"]) == ("BLOCKED", TAKES[0])
    assert "unasked" not in outcome.verdict
