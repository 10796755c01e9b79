# SPDX-License-Identifier: BSD-2-Clause
"""The trace: each call with its arguments and results, in words that two runs share."""

from typing import Any

from tests.harness.session import Agent

Call = dict[str, Any]


def calls_of(agent: Agent, case: str, name: str) -> list[Call]:
    return [call for call in agent.run(case).of("call") if call["call"] == name]


def arguments(call: Call) -> dict[str, str]:
    return dict(call["args"])


def results(call: Call) -> dict[str, str]:
    return dict(call["out"])


def test_handles_have_names(agent: Agent) -> None:
    outcome = agent.run("harness/names_handles")
    by_name: dict[str, list[Call]] = {}
    for call in outcome.of("call"):
        by_name.setdefault(call["call"], []).append(call)
    assert results(by_name["dat_ia_openv"][0]) == {
        "async_evd_handle": "async_evd",
        "ia_handle": "ia",
    }
    assert results(by_name["dat_pz_create"][0]) == {"pz_handle": "pz#1"}
    assert [results(c)["srq_handle"] for c in by_name["dat_srq_create"]] == ["srq#1", "srq#2"]
    assert [arguments(c)["srq_handle"] for c in by_name["dat_srq_resize"]] == [
        "srq#1 (freed)",
        "DAT_HANDLE_NULL",
    ]


def test_an_event_dispatcher_of_elsewhere_is_a_constant(agent: Agent) -> None:
    _, opened = calls_of(agent, "harness/names_constants", "dat_ia_openv")
    assert arguments(opened)["async_evd_handle"] == "DAT_EVD_ASYNC_EXISTS"


def test_structures_have_members(agent: Agent) -> None:
    (create, _) = calls_of(agent, "harness/names_handles", "dat_srq_create")
    assert arguments(create)["srq_attr"] == "{max_recv_dtos=8, max_recv_iov=1, low_watermark=0}"
    *_, query = calls_of(agent, "harness/names_handles", "dat_srq_query")
    assert arguments(query)["srq_param_mask"] == "DAT_SRQ_FIELD_ALL"
    assert results(query)["srq_param"] == (
        "{ia_handle=ia, srq_state=DAT_SRQ_STATE_OPERATIONAL, pz_handle=pz#1, max_recv_dtos=8, "
        "max_recv_iov=1, low_watermark=0, available_dto_count=1, outstanding_dto_count=1}"
    )


def test_memory_has_names(agent: Agent) -> None:
    (post,) = calls_of(agent, "harness/names_handles", "dat_srq_post_recv")
    assert arguments(post) == {
        "srq_handle": "srq#2",
        "num_segments": "1",
        "local_iov": "[{lmr_context=lmr#1, virtual_address=lmr#1+64, segment_length=64}]",
        "user_cookie": "1",
    }


def test_flags_and_times_have_names(agent: Agent) -> None:
    vain = agent.run("provider/waits_in_vain", event_ms=300).of("call")
    (create,) = [call for call in vain if call["call"] == "dat_evd_create"]
    assert arguments(create)["evd_flags"] == "DAT_EVD_DTO_FLAG"
    (lmr,) = calls_of(agent, "provider/frees_everything", "dat_lmr_create")
    assert arguments(lmr)["privileges"] == "DAT_MEM_PRIV_ALL_FLAG"
    (wait,) = [call for call in vain if call["call"] == "dat_evd_wait"]
    assert wait["ret"] == "DAT_TIMEOUT_EXPIRED"
    assert wait["us"] >= 300_000


def test_returns_have_subtypes(agent: Agent) -> None:
    (first, second) = calls_of(agent, "harness/names_handles", "dat_srq_resize")
    assert (first["ret"], first["sub"]) == ("DAT_INVALID_HANDLE", "DAT_INVALID_HANDLE_SRQ")
    assert second["ret"] == "DAT_INVALID_HANDLE"
    assert "sub" not in calls_of(agent, "harness/names_handles", "dat_srq_query")[0]


def test_wild_pointers_are_not_followed(agent: Agent) -> None:
    outcome = agent.run("harness/takes_wild_pointers")
    assert outcome.word == "PASS"
    (post,) = [c for c in outcome.of("call") if c["call"] == "dat_srq_post_recv"]
    assert arguments(post)["local_iov"] == "0x3"
    *_, query = [c for c in outcome.of("call") if c["call"] == "dat_srq_query"]
    assert arguments(query)["srq_param"] == "NULL"
    assert arguments(query)["srq_handle"] == "pz#1"


def test_calls_are_numbered_and_timed(agent: Agent) -> None:
    calls = agent.run("provider/frees_everything").of("call")
    assert [call["n"] for call in calls] == list(range(1, len(calls) + 1))
    times = [call["at_us"] for call in calls]
    assert times == sorted(times)


def test_teardown_is_marked_and_reversed(agent: Agent) -> None:
    calls = agent.run("provider/frees_everything").of("call")
    marked = [call["call"] for call in calls if call.get("teardown")]
    assert marked == [
        "dat_evd_free",
        "dat_srq_free",
        "dat_pz_free",
        "dat_lmr_free",
        "dat_pz_free",
        "dat_ia_close",
    ]
    assert calls[-len(marked)].get("teardown")


def test_long_traces_keep_their_ends(agent: Agent) -> None:
    outcome = agent.run("harness/calls_much")
    assert outcome.word == "PASS"
    numbers = [call["n"] for call in outcome.of("call")]
    assert numbers == list(range(1, 1793)) + list(range(5002 - 255, 5003))
    checks = outcome.of("check")
    assert len(checks) == 2048
    assert checks[-1]["calls"] == 5001
    assert outcome.texts("record") == [
        "calls 1793 to 4746 are not kept: the first 1792 and the last 256 are",
        "checks and remarks 1793 to 4744 are not kept: the first 1792 and the last 256 are",
    ]


def test_two_runs_have_the_same_words(agent: Agent) -> None:
    def words(case: str) -> list[tuple[Any, ...]]:
        return [
            (call["call"], call["args"], call.get("ret"), call.get("out"))
            for call in agent.run(case).of("call")
            if call["call"] != "dat_lmr_create"
        ]

    assert words("harness/names_handles") == words("harness/names_handles")


def test_values_are_data_too(agent: Agent) -> None:
    calls = {call["call"]: call for call in agent.run("provider/frees_everything").of("call")}
    created = calls["dat_lmr_create"]["typed"]
    assert created["args"]["length"] == 100
    assert created["args"]["pz_handle"] == {"handle": "pz#1"}
    address = created["args"]["region_description"]["for_va"]["pointer"]
    assert created["out"]["registered_address"] == {"va": address, "lmr": "lmr#1", "offset": 0}
    assert created["out"]["lmr_context"]["lmr"] == "lmr#1"
    ia = calls["dat_ia_query"]["typed"]["out"]["ia_attr"]
    assert ia["ia_address_ptr"] == {"family": "AF_INET", "address": "127.0.0.1", "port": 0}
    assert calls["dat_ia_openv"]["typed"]["args"]["name"] == {"text": "fake0"}
    assert all(call["ns"] == sorted(call["ns"]) for call in calls.values())


def test_calls_of_a_new_program_name_it(agent: Agent) -> None:
    calls = agent.run("fresh/answers").of("call")
    assert calls
    assert all(call["child"].startswith("exec#") for call in calls)
