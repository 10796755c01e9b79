# SPDX-License-Identifier: BSD-2-Clause
"""What a case says is what the agent says, with its evidence."""

import platform
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harness.session import Agent, Outcome, eventually

DEQUEUE = "dat_evd_dequeue(async_evd(t), &(DAT_EVENT){.event_number = 0})"


@pytest.mark.parametrize(
    ("case", "word", "reason"),
    [
        ("harness/passes", "PASS", ""),
        ("harness/notes", "NOTE", "first remark"),
        ("harness/ends_noted", "NOTE", "first remark"),
        ("harness/fails_by_value", "FAIL", "1 + 1 == 3: 2 was seen, 3 expected"),
        (
            "harness/fails_by_flags",
            "FAIL",
            "param.evd_flags == DAT_EVD_ASYNC_FLAG: DAT_EVD_CR_FLAG|DAT_EVD_DTO_FLAG was seen,"
            " DAT_EVD_ASYNC_FLAG expected",
        ),
        (
            "harness/fails_by_queried_state",
            "FAIL",
            "srq_state(&param) == wanted: DAT_SRQ_STATE_ERROR was seen,"
            " DAT_SRQ_STATE_OPERATIONAL expected",
        ),
        (
            "harness/fails_by_what_is_unwritten",
            "FAIL",
            "number == 7: unwritten was seen, 7 expected",
        ),
        (
            "harness/fails_by_no_event",
            "FAIL",
            "event.event_number == DAT_SOFTWARE_EVENT: no event was seen, DAT_SOFTWARE_EVENT"
            " expected",
        ),
        (
            "harness/fails_by_size",
            "FAIL",
            "param.length == wanted: 4096 bytes was seen, 8192 bytes expected",
        ),
        ("harness/fails_by_condition", "FAIL", "t is there"),
        (
            "harness/fails_by_return",
            "FAIL",
            f"{DEQUEUE} returned DAT_QUEUE_EMPTY, expected DAT_SUCCESS or DAT_INVALID_STATE",
        ),
        (
            "harness/notes_by_return",
            "NOTE",
            f"{DEQUEUE} returned DAT_QUEUE_EMPTY rather than DAT_SUCCESS",
        ),
        (
            "harness/notes_unnamed_refusal",
            "NOTE",
            f"{DEQUEUE} returned DAT_QUEUE_EMPTY; the page names no return for a refusal (GEN-13)",
        ),
        (
            "harness/notes_a_grant",
            "NOTE",
            "dat_pz_free(zone) returned DAT_SUCCESS; the page demands no refusal (GEN-13)",
        ),
        ("harness/breaks", "BLOCKED", f"{DEQUEUE} returned DAT_QUEUE_EMPTY"),
        ("harness/breaks_by_condition", "ERROR", "one is 1 (it must hold that 1 > 2)"),
        ("harness/is_blocked_by_condition", "BLOCKED", "one is 1"),
        ("harness/lacks", "RESOURCE", "no more tea"),
        ("harness/declines", "UNSUPPORTED", "tea_supported = 0"),
        ("harness/feels/warm", "PASS", ""),
        ("harness/feels/cold", "FAIL", "-5 degrees"),
        ("harness/fills_messages", "PASS", ""),
        ("harness/releases", "PASS", ""),
        ("harness/settles", "PASS", ""),
        ("harness/asks_apart_again", "PASS", ""),
        ("harness/closes_ia", "PASS", ""),
        (
            "harness/damages_guard_of_closed_ia",
            "FAIL",
            "memory outside a registered buffer was written",
        ),
        ("provider/frees_everything", "PASS", ""),
        ("provider/makes_three_zones", "PASS", ""),
        ("provider/has_room", "PASS", ""),
        ("provider/keeps_quiet", "PASS", ""),
        ("provider/has_watermarks", "UNSUPPORTED", "srq_watermarks_supported = 0"),
        ("provider/has/srq", "PASS", ""),
        (
            "provider/has/threshold",
            "UNSUPPORTED",
            "completion_flags_supported = DAT_COMPLETION_UNSIGNALLED_FLAG:"
            " no evd_threshold_flag_supported",
        ),
        ("provider/has/merged", "UNSUPPORTED", "evd_stream_merging_supported[1][2] = 0"),
        (
            "provider/has/shared_memory",
            "UNSUPPORTED",
            "lmr_mem_types_supported = DAT_MEM_TYPE_VIRTUAL: no mem_type_shared_supported",
        ),
        ("provider/has/provider_made", "UNSUPPORTED", "ep_creator = 0"),
        ("provider/has/consumer_made", "PASS", ""),
    ],
)
def test_verdict(agent: Agent, case: str, word: str, reason: str) -> None:
    outcome = agent.run(case)
    assert (outcome.word, outcome.reason) == (word, reason)
    assert outcome.verdict["case"] == case
    assert "pending" not in outcome.verdict


@pytest.mark.parametrize(
    ("case", "against"),
    [
        ("leaps_over_its_check", "nothing was checked"),
        ("leaps_from_its_check", "1 + 1 == 3 did not hold"),
        ("leaps_over_its_teardown", "1 IA was not closed"),
        ("leaves_in_its_stead", "the case did not come to its end"),
    ],
)
def test_a_verdict_against_its_evidence(agent: Agent, case: str, against: str) -> None:
    outcome = agent.run(f"cheat/{case}")
    assert outcome.word == "CONTRADICTED"
    assert outcome.reason.startswith("the record contradicts itself: PASS was said, but ")
    assert outcome.reason.endswith(against)


@pytest.mark.parametrize(
    ("case", "against"),
    [
        pytest.param(
            "turns_a_failure",
            "its process has written to the suite's code, at 0x[0-9a-f]+ of its file",
            marks=pytest.mark.skipif(platform.machine() != "x86_64", reason="it writes x86 code"),
        ),
        ("takes_back", "its process has written to the suite's code, at 0x[0-9a-f]+ of its file"),
        ("discards", "its process has written to the suite's code, at 0x[0-9a-f]+ of its file"),
        (
            "discards_with_more",
            "its process has written to the suite's code, at 0x[0-9a-f]+ of its file",
        ),
        (
            "maps_the_file",
            "its process has written to the suite's code, at 0x[0-9a-f]+ of its file",
        ),
        (
            "changes_a_constant",
            "its process has written to the suite's code, at 0x[0-9a-f]+ of its file",
        ),
        ("leaves_unseen", "its process left before the agent had looked at it"),
    ],
)
def test_a_verdict_of_other_code(agent: Agent, case: str, against: str) -> None:
    outcome = agent.run(f"patch/{case}")
    said = "the record contradicts itself: PASS was said, but "
    assert outcome.word == "CONTRADICTED", outcome.reason
    assert re.fullmatch(said + against, outcome.reason)
    assert outcome.texts("record") == []
    assert agent.run("harness/passes").word == "PASS"


def test_code_that_is_mapped_anew(tmp_path: Path) -> None:
    """Where no filter refuses it, the mapping shows it."""
    with Agent(tmp_path, options=["--privileged"]) as agent:
        outcome = agent.run("patch/maps_anew")
    assert outcome.word == "CONTRADICTED", outcome.reason
    assert outcome.reason.endswith("its process has mapped the suite's code anew")


def test_an_event_that_does_not_come(agent: Agent) -> None:
    outcome = agent.run("provider/waits_in_vain", event_ms=300)
    assert outcome.word == "FAIL"
    assert outcome.reason == (
        "the event on an EVD: expected DAT_DTO_COMPLETION_EVENT, saw no event within 300 ms"
    )


def test_checks_of_a_case_that_passes(agent: Agent) -> None:
    outcome = agent.run("harness/passes")
    checks = outcome.of("check")
    assert [(c["role"], c["text"], c["ok"], c["expected"], c["seen"]) for c in checks] == [
        ("must", "dat_pz_free(zone)", True, ["DAT_SUCCESS"], "DAT_SUCCESS"),
        ("expect", "1 + 1 == 2", True, ["2"], "2"),
    ]
    assert checks[0]["file"] == "tests/harness/cases/harness.c"
    calls = outcome.calls()
    assert calls[checks[0]["calls"] - 1] == "dat_pz_free"
    assert outcome.texts("record") == ["a fact: 42"]


def test_a_condition_that_holds_has_no_sentence(agent: Agent) -> None:
    checks = agent.run("provider/makes_three_zones").of("check")
    held = [c for c in checks if c["text"].startswith("pz_new(t) != ")]
    assert [(c["ok"], c["seen"]) for c in held] == [(True, "")] * 3


def test_expected_returns_are_listed(agent: Agent) -> None:
    (check,) = agent.run("harness/fails_by_return").of("check")
    assert check["expected"] == ["DAT_SUCCESS", "DAT_INVALID_STATE"]
    assert check["seen"] == "DAT_QUEUE_EMPTY"
    assert check["ok"] is False


def test_all_notes_are_kept(agent: Agent) -> None:
    assert agent.run("harness/notes").texts("note") == ["first remark", "second remark"]
    assert agent.run("harness/ends_noted").texts("note")[1:] == ["nothing is to be seen"]
    failed = agent.run("harness/fails_by_value")
    assert failed.texts("note") == ["a remark before the failure"]


def test_unsupported_case_makes_no_call(agent: Agent) -> None:
    assert agent.run("provider/has_watermarks").calls() == []


@pytest.mark.parametrize(
    ("misbehaviour", "case", "word", "reason"),
    [
        ("resize=fail", "provider/resizes_by_arrangement", "BLOCKED", "DAT_INTERNAL_ERROR"),
        (
            "resize=unsupported",
            "provider/resizes_by_arrangement",
            "FAIL",
            "dat_srq_resize(srq, 16) returned DAT_MODEL_NOT_SUPPORTED, but the feature is "
            "declared (srq_supported = 1)",
        ),
        (
            "create=unimplemented",
            "provider/makes_srq_supported",
            "FAIL",
            "dat_srq_create returned DAT_NOT_IMPLEMENTED, but the feature is declared "
            "(srq_supported = 1)",
        ),
        (
            "create=unsupported",
            "provider/makes_srq",
            "FAIL",
            "dat_srq_create returned DAT_MODEL_NOT_SUPPORTED, but no attribute declares the "
            "feature absent",
        ),
        ("srq=absent", "provider/makes_srq_supported", "UNSUPPORTED", "srq_supported = 0"),
        (
            "zones=two",
            "provider/makes_three_zones",
            "UNSUPPORTED",
            "max_pzs = 2: the case has as many, and needs more",
        ),
        (
            "zones=fewer",
            "provider/makes_three_zones",
            "BLOCKED",
            "dat_pz_create returned DAT_INSUFFICIENT_RESOURCES",
        ),
        (
            "zones=two",
            "provider/has_room",
            "FAIL",
            "cap_at_limit(t, 5, DAT_HANDLE_TYPE_PZ, 1) == 5: 2 was seen, 5 expected",
        ),
    ],
)
def test_refused_feature(
    agent_on: Callable[[str], Agent], misbehaviour: str, case: str, word: str, reason: str
) -> None:
    outcome = agent_on(misbehaviour).run(case)
    assert outcome.word == word
    assert outcome.reason.endswith(reason)


def test_case_of_an_undeclared_feature_that_is_run_all_the_same(
    agent_on: Callable[[str], Agent],
) -> None:
    agent = agent_on("srq=absent")
    assert agent.run("provider/makes_srq_supported", undeclared=True).word == "PASS"
    assert agent.run("provider/makes_srq_supported", undeclared=False).word == "UNSUPPORTED"
    assert agent.run("provider/makes_srq_supported").word == "UNSUPPORTED"


def test_quiet_evd_that_is_not(agent_on: Callable[[str], Agent]) -> None:
    outcome = agent_on("wait=event").run("provider/keeps_quiet")
    assert outcome.word == "FAIL"
    assert outcome.reason == "a quiet EVD: expected no event, saw DAT_SOFTWARE_EVENT"


def test_wrong_event(agent_on: Callable[[str], Agent]) -> None:
    outcome = agent_on("wait=event").run("provider/waits_in_vain")
    assert outcome.word == "FAIL"
    assert outcome.reason.endswith("saw DAT_SOFTWARE_EVENT")


def test_quiet_period_is_waited_for_whole(agent_on: Callable[[str], Agent]) -> None:
    outcome = agent_on("wait=early").run("provider/keeps_quiet", quiet_ms=200)
    assert outcome.word == "PASS"
    assert outcome.verdict["us"] >= 200_000


def test_quiet_period_is_the_run_s(agent: Agent) -> None:
    def took(quiet_ms: int) -> int:
        outcome = agent.run("harness/settles", quiet_ms=quiet_ms)
        assert outcome.word == "PASS"
        return int(outcome.verdict["us"])

    assert took(150) >= 300_000
    # A case that is held up tells nothing, so it is asked again.
    assert eventually(lambda: took(0) < 300_000)


def blocked(outcome: Outcome) -> dict[str, Any]:
    told: dict[str, Any] = outcome.verdict["blocked"]
    return told


def test_a_step_names_its_call_and_its_place(agent: Agent) -> None:
    told = blocked(agent.run("harness/breaks"))
    assert (told["call"], told["ret"]) == ("dat_evd_dequeue", "DAT_QUEUE_EMPTY")
    assert told["site"]["file"] == "tests/harness/cases/harness.c"
    assert told["site"]["text"] == DEQUEUE
    assert told["clause"] == ""  # no catalogue is behind the cases of the tests
    by_condition = blocked(agent.run("harness/is_blocked_by_condition"))
    assert (by_condition["call"], by_condition["ret"]) == ("dat_pz_create", "one is 1")
    by_name = blocked(agent.run("harness/is_blocked_by_a_call"))
    assert (by_name["call"], by_name["ret"]) == ("dat_cr_query", "one is 1")


def test_a_step_names_the_clause_that_promises_it(agent_on: Callable[[str], Agent]) -> None:
    told = blocked(agent_on("resize=fail").run("provider/resizes_by_arrangement"))
    assert (told["call"], told["clause"]) == ("dat_srq_resize", "provider/resizes")


@pytest.mark.parametrize(
    ("case", "word", "how"),
    [
        ("srq_query/resizes_on_the_way", "BLOCKED", "ended by SIGSEGV"),
        ("srq_query/resizes_by_step", "BLOCKED", "ended by SIGSEGV"),
        ("srq_query/resizes_by_expectation", "CRASH", "ended by SIGSEGV"),
        ("srq_resize/resizes", "CRASH", "ended by SIGSEGV"),
    ],
)
def test_a_crash_is_the_call_s_under_way(
    agent_on: Callable[[str], Agent], case: str, word: str, how: str
) -> None:
    outcome = agent_on("resize=crash").run(case)
    assert outcome.word == word
    assert outcome.reason.startswith(how)
    assert outcome.verdict["pending"] == "dat_srq_resize"
    if word == "BLOCKED":
        assert (blocked(outcome)["call"], blocked(outcome)["ret"]) == ("dat_srq_resize", how)


def test_a_hang_of_a_step_blocks(agent_on: Callable[[str], Agent]) -> None:
    outcome = agent_on("resize=hang").run("srq_query/resizes_by_step", event_ms=300)
    assert outcome.word == "BLOCKED"
    assert blocked(outcome)["ret"] == "no end of dat_srq_resize after 300 ms"
    assert blocked(outcome)["site"]["text"].startswith("dat_srq_resize(")
    own = agent_on("resize=hang").run("srq_resize/resizes", event_ms=300)
    assert own.word == "TIMEOUT"
