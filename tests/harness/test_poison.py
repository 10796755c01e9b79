# SPDX-License-Identifier: BSD-2-Clause
"""What a provider leaves unwritten is no answer; what it arranged in name only fails no clause."""

from collections.abc import Callable

import pytest

from tests.harness.session import Agent


@pytest.mark.parametrize(
    ("misbehaviour", "case", "reason"),
    [
        (
            "attributes=unwritten",
            "provider/has/srq",
            "dat_ia_query left srq_supported unwritten: whether the feature is there is not told",
        ),
        (
            "attributes=unwritten",
            "provider/has_watermarks",
            "dat_ia_query left srq_supported unwritten: whether the feature is there is not told",
        ),
        (
            "parameters=unwritten",
            "provider/resizes",
            "dat_srq_query returned DAT_SUCCESS and left max_recv_iov unwritten",
        ),
        (
            "create=narrow",
            "provider/resizes",
            "dat_srq_create returned DAT_SUCCESS, but dat_srq_query does not show "
            "as many segments as were asked for",
        ),
    ],
)
def test_the_call_that_lied_is_named(
    agent_on: Callable[[str], Agent], misbehaviour: str, case: str, reason: str
) -> None:
    outcome = agent_on(misbehaviour).run(case)
    assert (outcome.word, outcome.reason) == ("BLOCKED", reason)


def test_an_unwritten_attribute_is_told(agent_on: Callable[[str], Agent]) -> None:
    agent = agent_on("attributes=unwritten")
    attributes = agent.hello_message["ia"]["attributes"]
    assert attributes["srq_supported"] == "unwritten"
    assert attributes["is_thread_safe"] is not None
    (record,) = agent.run("provider/frees_everything").texts("record")
    assert record == "dat_ia_query left unwritten of the provider's attributes: srq_supported"


def test_a_handle_may_be_given_again(agent_on: Callable[[str], Agent]) -> None:
    agent = agent_on("handles=reused")
    early = agent.run("harness/destroys_too_early")
    assert (early.word, early.reason) == (
        "ERROR",
        "the handle of the destroyed srq was a live one's again before the case was done with it: "
        "it destroys too early",
    )
    assert agent.run("harness/destroys_last").word == "PASS"
