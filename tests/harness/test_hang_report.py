# SPDX-License-Identifier: BSD-2-Clause
"""Where the threads were of a process that had no end."""

import re
import time
from collections.abc import Callable

import pytest

from tests.harness.session import Agent, Message, Outcome

MakeAgent = Callable[[str], Agent]
FAKE = "libfake_misbehaving.so("


def hung(agent: Agent, **more: object) -> Outcome:
    """The outcome of a case whose call has no end."""
    outcome = agent.run("provider/resizes", **{"peer": "none", "event_ms": 900, **more})
    assert (outcome.word, outcome.verdict["pending"]) == ("TIMEOUT", "dat_srq_resize")
    return outcome


def in_fake(stack: Message) -> list[str]:
    return [frame for frame in stack["backtrace"] if frame.startswith(FAKE)]


def test_each_thread_of_a_deadlock_says_where_it_is(agent_on: MakeAgent) -> None:
    """The provider's own thread has all signals blocked, as such threads mostly have."""
    own, other = hung(agent_on("resize=deadlock")).of("stack")
    assert (own["thread"], own["call"]) == (1, "dat_srq_resize")
    assert "thread" not in other
    for stack in (own, other):
        assert re.match(r"libc\.so\.6\(", stack["backtrace"][0])
        assert in_fake(stack)
    # The caller has come through the case; the other one has not.
    assert any(frame.startswith("udapl-selftest-cases(") for frame in own["backtrace"])
    assert not any(frame.startswith("udapl-selftest-cases(") for frame in other["backtrace"])
    assert in_fake(own)[0] != in_fake(other)[0]


@pytest.mark.parametrize("act", ["hang", "stop", "spin", "hang_after_cancel"])
def test_whatever_it_hangs_in(agent_on: MakeAgent, act: str) -> None:
    """By a mask of all signals, by SIGSTOP, by a processor, and without the first signal."""
    (stack,) = hung(agent_on(f"resize={act}")).of("stack")
    assert in_fake(stack)


def test_who_does_not_answer_is_told_of(agent_on: MakeAgent) -> None:
    agent = agent_on("resize=hang_deaf")
    begun = time.monotonic()
    (stack,) = hung(agent).of("stack")
    assert time.monotonic() - begun < 10
    assert stack["backtrace"] == []
    assert re.match(
        r"it did not answer, for it blocks all signals: the kernel has it as S \(sleeping\)",
        stack["why"],
    )
    assert agent.run("harness/passes").word == "PASS"


def test_a_crowd(agent_on: MakeAgent) -> None:
    stacks = hung(agent_on("resize=hang_in_crowd")).of("stack")
    assert len(stacks) == 65
    assert all(in_fake(stack) for stack in stacks[:-1])
    assert stacks[-1]["why"] == "137 threads more were not asked"


def test_in_teardown(agent_on: MakeAgent) -> None:
    outcome = agent_on("srq_free=hang").run("provider/resizes", event_ms=300)
    assert outcome.word == "PASS"
    (stack,) = outcome.of("stack")
    assert (stack["teardown"], stack["call"]) == (True, "dat_srq_free")


@pytest.mark.parametrize("namespace", [False])
def test_without_a_namespace(agent_on: MakeAgent) -> None:
    assert all(map(in_fake, hung(agent_on("resize=deadlock")).of("stack")))


def test_who_ends_has_no_stacks(agent_on: MakeAgent) -> None:
    assert agent_on("").run("provider/resizes").of("stack") == []
    assert agent_on("resize=crash").run("provider/resizes").of("stack") == []


def test_forged_stacks_of_who_ends_are_none(agent_on: MakeAgent) -> None:
    outcome = agent_on("resize=forge_stacks").run("provider/resizes")
    assert outcome.verdict["output"] == "forged\n"
    assert (outcome.word, outcome.of("stack")) == ("FAIL", [])


def test_forged_stacks_give_way_to_true_ones(agent_on: MakeAgent) -> None:
    agent = agent_on("resize=forge_stacks_and_hang")
    outcome = hung(agent)
    assert outcome.verdict["output"] == "forged\n"
    (stack,) = outcome.of("stack")
    assert in_fake(stack)
    assert not any("xx" in frame for frame in stack["backtrace"])
    assert agent.run("harness/passes").word == "PASS"
