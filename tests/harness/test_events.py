# SPDX-License-Identifier: BSD-2-Clause
"""Each event that a case takes names the EVD that it came from, and an object that there is."""

from collections.abc import Callable

import pytest

from tests.harness.session import Agent

EVENT = "DAT_SOFTWARE_EVENT, taken by call "


@pytest.mark.parametrize(
    ("misbehaviour", "text"),
    [
        (
            "event=other_evd",
            "expected evd_handle to be its EVD, the case's 2. one, saw a handle of none",
        ),
        ("event=async_evd", "expected evd_handle to be its EVD, the case's 2. one, saw the 1. one"),
    ],
)
@pytest.mark.parametrize("case", ["takes_by_dequeue", "takes_by_wait", "takes_on_a_thread"])
def test_an_event_of_another_evd_fails(
    agent_on: Callable[[str], Agent], misbehaviour: str, text: str, case: str
) -> None:
    outcome = agent_on(misbehaviour).run(f"waiter/{case}")
    assert outcome.word == "FAIL"
    assert outcome.reason.startswith(EVENT)
    assert outcome.reason.endswith(text)
    (wrong,) = [check for check in outcome.of("check") if not check["ok"]]
    assert wrong["text"].startswith(EVENT)


def test_an_event_of_no_object_fails(agent_on: Callable[[str], Agent]) -> None:
    outcome = agent_on("event=of_no_ep").run("waiter/takes_by_dequeue")
    assert outcome.word == "FAIL"
    assert outcome.reason.endswith("expected an object of the case, saw ep_handle, which is none")


@pytest.mark.parametrize("case", ["takes_by_dequeue", "takes_by_wait", "takes_on_a_thread"])
def test_an_event_of_its_evd_does_not(agent: Agent, case: str) -> None:
    assert agent.run(f"waiter/{case}").word == "PASS"


def test_a_failure_of_the_clause_is_told_first(agent_on: Callable[[str], Agent]) -> None:
    outcome = agent_on("event=other_evd").run("waiter/takes_and_fails")
    assert (outcome.word, outcome.reason) == ("FAIL", "1 + 1 == 3: 2 was seen, 3 expected")
