# SPDX-License-Identifier: BSD-2-Clause
"""Calls of a case in a process that begins anew are its own, and it answers for them."""

import pytest

from tests.harness.session import Agent


def test_its_calls_are_the_cases(agent: Agent) -> None:
    outcome = agent.run("fresh/answers")
    assert outcome.word == "PASS", outcome.reason
    calls = [call for call in outcome.of("call") if call["call"] == "dat_strerror"]
    assert [call["ret"] for call in calls] == ["DAT_SUCCESS"] * 2
    assert {call["thread"] for call in calls} == {2}
    assert not outcome.of("leak")


def test_it_has_files_without_a_name(agent: Agent) -> None:
    outcome = agent.run("fresh/has_files")
    assert outcome.word == "PASS", outcome.reason


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ("dies", "a call ended the process that made it: User defined signal 1"),
        ("hangs", "no end after 500 ms of a call in a process of its own"),
    ],
)
def test_what_ends_it_fails_the_case(agent: Agent, case: str, why: str) -> None:
    outcome = agent.run(f"fresh/{case}", deadline_ms=1000)
    assert (outcome.word, outcome.reason) == ("FAIL", why)
    assert not outcome.of("leak")
    assert agent.run("fresh/has_files").word == "PASS"
