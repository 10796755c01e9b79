# SPDX-License-Identifier: BSD-2-Clause
"""What a provider leaves unwritten is no answer; what it arranged in name only fails no clause."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.session import Agent


@pytest.mark.parametrize(
    ("misbehaviour", "case", "reason"),
    [
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


def test_a_query_that_names_another_evd_is_not_believed(agent_on: Callable[[str], Agent]) -> None:
    """The EVD that the EP was made with is refused its free, so the EP has it."""
    outcome = agent_on("ep_query=other_evd evd_free=unless_used").run("provider/makes_an_ep")
    assert outcome.word == "PASS"
    assert "dat_ep_create was granted, and dat_ep_query does not show its connect EVD" in str(
        outcome.texts("record")
    )


def test_an_ep_without_its_evd_blocks(agent_on: Callable[[str], Agent]) -> None:
    """Nothing has the EVD, which can be freed."""
    outcome = agent_on("ep_query=other_evd").run("provider/makes_an_ep")
    reason = "dat_ep_create returned DAT_SUCCESS, but dat_ep_query does not show its connect EVD"
    assert (outcome.word, outcome.reason) == ("BLOCKED", reason)


def test_an_unwritten_attribute_is_told(agent_on: Callable[[str], Agent]) -> None:
    agent = agent_on("attributes=unwritten")
    attributes = agent.hello_message["ia"]["attributes"]
    assert attributes["srq_supported"] == "unwritten"
    assert attributes["is_thread_safe"] is not None
    (record,) = agent.run("provider/frees_everything").texts("record")
    assert record == "dat_ia_query left unwritten of the provider's attributes: srq_supported"


def _told(agent: Agent) -> tuple[bool | None, dict[str, object]]:
    """Of the feature whose attribute is unwritten: whether it counts as declared, and how so."""
    ia = agent.hello_message["ia"]
    return ia["needs"].get("srq_supported"), ia["found"]["srq_supported"]


@pytest.mark.parametrize(
    ("answer", "present", "how", "word", "reason"),
    [
        ("", True, "dat_srq_create worked", "PASS", ""),
        (
            "create=unsupported",
            False,
            "dat_srq_create returned DAT_MODEL_NOT_SUPPORTED",
            "UNSUPPORTED",
            "srq_supported = 0: found out by trying",
        ),
        (
            "create=unimplemented",
            False,
            "dat_srq_create returned DAT_NOT_IMPLEMENTED",
            "UNSUPPORTED",
            "srq_supported = 0: found out by trying",
        ),
    ],
)
def test_a_feature_that_no_attribute_tells_of_is_tried(
    agent_on: Callable[[str], Agent], answer: str, present: bool, how: str, word: str, reason: str
) -> None:
    agent = agent_on(f"attributes=unwritten {answer}")
    assert _told(agent) == (present, {"by": "trial", "how": how, "present": present})
    outcome = agent.run("provider/has/srq")
    assert (outcome.word, outcome.reason) == (word, reason)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("create=crash", "its trial ended in CRASH: ended by SIGSEGV in dat_srq_create"),
        ("create=hang", "its trial ended in TIMEOUT: no end of dat_srq_create after 1000 ms"),
        (
            "create=fail",
            "its trial ended in FAIL: dat_srq_create returned DAT_INTERNAL_ERROR, "
            "expected DAT_SUCCESS",
        ),
    ],
)
def test_a_trial_that_breaks_leaves_the_feature_unknown(
    agent_on: Callable[[str], Agent], answer: str, why: str
) -> None:
    agent = agent_on(f"attributes=unwritten {answer}")
    assert _told(agent) == (None, {"by": "trial", "how": why})
    for case in ("provider/has/srq", "provider/has_watermarks"):
        outcome = agent.run(case)
        assert outcome.word == "BLOCKED"
        assert outcome.verdict["blocked"]["call"] == "dat_ia_query"
        assert outcome.reason == (
            "dat_ia_query left srq_supported unwritten, and it is not known whether the feature"
            f" is there: {why}"
        )


@pytest.mark.parametrize(
    ("value", "word", "reason"),
    [("0", "UNSUPPORTED", "srq_supported = 0: assumed by --assume"), ("1", "PASS", "")],
)
def test_an_assumption_takes_the_place_of_a_trial(
    tmp_path: Path, value: str, word: str, reason: str
) -> None:
    options = ("--assume", f"srq_supported={value}")
    with Agent(tmp_path, "attributes=unwritten", options=options) as agent:
        present = value == "1"
        how = {"by": "assumption", "how": "--assume says so", "present": present}
        assert _told(agent) == (present, how)
        outcome = agent.run("provider/has/srq")
        assert (outcome.word, outcome.reason) == (word, reason)


def test_an_assumption_changes_no_declaration(tmp_path: Path) -> None:
    with Agent(tmp_path, options=("--assume", "srq_supported=0")) as agent:
        assert "found" not in agent.hello_message["ia"]
        assert agent.run("provider/has/srq").word == "PASS"


def test_a_handle_may_be_given_again(agent_on: Callable[[str], Agent]) -> None:
    agent = agent_on("handles=reused")
    early = agent.run("harness/destroys_too_early")
    assert (early.word, early.reason) == (
        "ERROR",
        "the handle of the destroyed srq was a live one's again before the case was done with it: "
        "it destroys too early",
    )
    assert agent.run("harness/destroys_last").word == "PASS"
