# SPDX-License-Identifier: BSD-2-Clause
"""Calls on other threads of a case: a wait is proven before the case acts, a race is counted."""

import re
from collections.abc import Callable

import pytest

from tests.harness.session import Agent, Outcome


def seen(outcome: Outcome) -> list[str]:
    return [check["seen"] for check in outcome.of("check")]


@pytest.mark.parametrize("case", ["wakes", "two_thresholds", "times_out", "outlasts_the_log"])
def test_a_proven_waiter_wakes(agent: Agent, case: str) -> None:
    outcome = agent.run(f"waiter/{case}")
    assert outcome.word == "PASS", outcome.reason
    assert "it sleeps in its call" in seen(outcome)


def test_one_that_polls_waits_too(agent_on: Callable[[str], Agent]) -> None:
    outcome = agent_on("wait=poll").run("waiter/wakes")
    assert outcome.word == "PASS", outcome.reason
    assert "it polls in its call" in seen(outcome)


def test_one_that_pauses_between_looks_waits_too(agent_on: Callable[[str], Agent]) -> None:
    outcome = agent_on("wait=pause").run("waiter/wakes")
    assert outcome.word == "PASS", outcome.reason
    assert "it sleeps in its call again and again" in seen(outcome)


def test_a_pause_before_the_wait_is_no_wait(agent_on: Callable[[str], Agent]) -> None:
    outcome = agent_on("wait=late").run("waiter/refuses_a_dequeue")
    assert outcome.word == "PASS", outcome.reason
    assert "it sleeps in its call" in seen(outcome)


def test_a_waiter_that_did_not_wait_proves_nothing(agent_on: Callable[[str], Agent]) -> None:
    agent = agent_on("wait=early")
    outcome = agent.run("waiter/wakes")
    assert outcome.word == "BLOCKED"
    assert re.search(
        "expected a thread that waits in its call, saw it returned DAT_TIMEOUT_EXPIRED after",
        outcome.reason,
    )
    assert agent.run("waiter/expects_a_wait").word == "FAIL"


def test_a_sleep_outside_of_any_call_is_no_wait(agent: Agent) -> None:
    outcome = agent.run("waiter/sleeps_outside", event_ms=200)
    assert outcome.word == "ERROR"
    assert "whether it does is not to be seen within 200 ms" in outcome.reason


def test_who_is_not_woken_fails(agent_on: Callable[[str], Agent]) -> None:
    outcome = agent_on("wait=deaf").run("waiter/wakes", event_ms=3000)
    assert outcome.word == "FAIL"
    assert outcome.reason.endswith("the return of its call, saw it waits still after 3000 ms")
    assert "teardown" not in outcome.verdict


def test_calls_tell_their_thread(agent: Agent) -> None:
    outcome = agent.run("waiter/two_thresholds")
    threads = {call["n"]: call.get("thread", 1) for call in outcome.of("call")}
    waits = [call for call in outcome.of("call") if call["call"] == "dat_evd_wait"]
    assert sorted(call["thread"] for call in waits) == [2, 3]
    assert {thread for n, thread in threads.items() if n not in [c["n"] for c in waits]} == {1}


def test_a_wait_whose_record_is_gone_spoils_no_other(agent: Agent) -> None:
    calls = agent.run("waiter/outlasts_the_log").of("call")
    assert {call["call"] for call in calls[256:-10]} == {"dat_evd_dequeue"}
    assert all(call["ret"] in ("DAT_QUEUE_EMPTY", "DAT_SUCCESS") for call in calls)


def test_races_are_counted(agent: Agent) -> None:
    """On a loaded machine the calls of all rounds may miss each other, so it is tried again."""
    outcomes = (agent.run("waiter/races", seed=7) for _ in range(10))
    outcome = next(outcome for outcome in outcomes if "did the calls meet" not in outcome.reason)
    assert outcome.word == "PASS", outcome.reason
    (text,) = [text for text in outcome.texts("record") if "rounds" in text]
    assert re.fullmatch(r"[1-9]\d* of \d+ rounds met, seed 7", text)


def test_no_race_met_is_broken(agent: Agent) -> None:
    outcome = agent.run("waiter/meets_nobody")
    assert (outcome.word, outcome.reason) == (
        "ERROR",
        "in none of 3 rounds did the calls meet",
    )


def test_a_call_of_a_race_without_end_fails(agent: Agent) -> None:
    outcome = agent.run("waiter/races_for_ever", event_ms=200)
    assert outcome.word == "FAIL"
    assert "not all have returned, nor any call within 200 ms" in outcome.reason
    assert "teardown" not in outcome.verdict


def test_many_calls_of_a_race_may_take_longer_than_an_event(agent: Agent) -> None:
    outcome = agent.run("waiter/races_slowly", event_ms=200)
    assert outcome.word == "PASS", outcome.reason


def test_what_is_drawn_comes_from_the_seed(agent: Agent) -> None:
    first, again, other = (
        agent.run("waiter/draws", seed=seed).texts("record") for seed in (1, 1, 2)
    )
    assert first == again != other
