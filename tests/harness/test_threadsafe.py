# SPDX-License-Identifier: BSD-2-Clause
"""By which entry of dat.conf a case opens the IA: the threadsafe one, where it needs that."""

from pathlib import Path

import pytest

from tests.harness.session import Agent, Outcome

ASKS = "provider/has/thread_safe"
SAYS = "the IA is opened by its threadsafe entry of dat.conf"


def asked(outcome: Outcome) -> set[str]:
    """What the IA's openings of a case say of safety under threads."""
    opens = [event for event in outcome.of("call") if event["call"] == "dat_ia_openv"]
    return {dict(event["args"])["thread_safety"] for event in opens}


def test_without_such_an_entry(agent: Agent) -> None:
    assert agent.hello_message["ia"]["needs"]["thread_safe_supported"] is False
    outcome = agent.run(ASKS)
    assert (outcome.word, outcome.reason) == ("UNSUPPORTED", "is_thread_safe = 0")


def test_with_such_an_entry(tmp_path: Path) -> None:
    with Agent(tmp_path, threadsafe="") as agent:
        ia = agent.hello_message["ia"]
        assert ia["needs"]["thread_safe_supported"] is True
        assert ia["attributes"]["is_thread_safe"] is False
        outcome = agent.run(ASKS)
        assert outcome.word == "PASS"
        assert SAYS in outcome.texts("record")
        assert asked(outcome) == {"DAT_TRUE"}
        other = agent.run("provider/has/srq")
        assert other.word == "PASS"
        assert SAYS not in other.texts("record")
        assert asked(other) == {"DAT_FALSE"}


@pytest.mark.parametrize(
    ("misbehaviour", "word", "reason"),
    [
        ("open=fail", "ERROR", 'dat_ia_open("fake0") returned DAT_INTERNAL_ERROR'),
        ("open=crash", "CRASH", "SIGSEGV"),
        ("close=fail", "ERROR", "the IA opens now, but did not at first: dat_ia_close"),
    ],
)
def test_an_entry_that_does_not_open(
    tmp_path: Path, misbehaviour: str, word: str, reason: str
) -> None:
    """It is no declaration that the feature is absent; the cases of the other entry continue."""
    with Agent(tmp_path, threadsafe=misbehaviour) as agent:
        assert agent.hello_message["ia"]["open"] is True
        outcome = agent.run(ASKS)
        assert outcome.word == word
        assert reason in outcome.reason
        assert agent.run("provider/has/srq").word == "PASS"
