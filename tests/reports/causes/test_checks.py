# SPDX-License-Identifier: BSD-2-Clause
"""Failed checks and blocked steps: which are one cause."""

from pathlib import Path
from typing import Any

import pytest

from reports.render import render
from results.causes.advice import advice
from results.causes.grouping import causes, unknown_causes
from results.model.load import load
from tests.reports.causes.cause_records import (
    blocked,
    by_condition,
    deviating,
    failing,
    groups,
    refused,
)
from tests.reports.html_page import Page
from tests.reports.synthetic_run import Record, SyntheticRun, call, check

COMPLETION = "DAT_DTO_COMPLETION_EVENT"
EVENT = "DAT_CONNECTION_EVENT_"


def missing(name: str, line: int, event: str) -> Record:
    seen = f"no event within {line} ms"
    event = f"DAT_CONNECTION_EVENT_{event}"
    return failing(name, line, seen, text="event", expected=[event])


def told_state(line: int, text: str) -> Record:
    return failing(
        "dat_ep_get_status",
        line,
        "DAT_EP_STATE_DISCONNECTED",
        text=text,
        expected=["DAT_EP_STATE_UNCONNECTED"],
    )


def by_bytes(line: int, seen: str) -> Record:
    return failing("dat_srq_query", line, seen, text="buf holds", expected=["buf holds"])


def asleep(name: str, line: int) -> Record:
    seen = "it waits still after 3000 ms"
    return failing(name, line, seen, text="waiter returns", expected=["the return of its call"])


def by_waiter(line: int, returned: str) -> Record:
    expected = ["a thread that waits"]
    return failing("dat_cno_wait", line, f"it returned {returned}", text="t", expected=expected)


def of_status(
    name: str, line: int, seen: str, wanted: str = "DAT_DTO_ERR_LOCAL_PROTECTION"
) -> Record:
    return failing(name, line, seen, text="dto.status == wanted", expected=[wanted])


def told_status(name: str, line: int, seen: str) -> Record:
    text = "dto->status == wanted"
    said = f"the status is {seen}, not DAT_DTO_ERR_LOCAL_PROTECTION"
    return failing(name, line, said, text=text, expected=[text])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # The same site after the same call, whatever was compared there.
        (
            failing("dat_srq_query", 7, text="seen == wanted", expected=["3"], seen="2"),
            failing("dat_srq_query", 7, text="seen == wanted", expected=["8"], seen="5"),
        ),
        # The same wrong value of a field, at two sites.
        (
            failing("dat_srq_query", 7, text="seen.flags == wanted", expected=["1"], seen="32"),
            failing("dat_srq_query", 9, text="got->flags == 1", expected=["1"], seen="32"),
        ),
        # The same refusal of a call, whatever was expected and wherever it was checked.
        (refused("dat_srq_resize", 7, "DAT_SUCCESS"), refused("dat_srq_resize", 9, "DAT_ABORT")),
        # The same wrong answer of a call, at two sites.
        (failing("dat_srq_resize", 7), failing("dat_srq_resize", 9)),
        # An event of a connection that did not come, however it was looked for.
        (missing("dat_cr_reject", 7, "BROKEN"), missing("dat_cr_reject", 9, "BROKEN")),
        # A field that is too small, in two conditions.
        (
            failing("dat_srq_query", 7, "7 queried", text="a.size >= 8", expected=["a.size >= 8"]),
            failing("dat_srq_query", 9, "has 7", text="b->size > n", expected=["b->size > n"]),
        ),
        # A waiter that was refused, at two sites and after two times.
        (by_waiter(7, "DAT_ABORT after 295 us"), by_waiter(9, "DAT_ABORT after 1 us")),
        # Bytes that are not those that were sent, however they are seen.
        (
            by_bytes(7, "byte 0 of 9 is 0x0b, not 0xf4"),
            by_bytes(9, "message 3 is not whole"),
        ),
        # One state told for another, whatever the check calls it.
        (
            told_state(7, "state == wanted"),
            told_state(9, "plain_ep_state(state) == row->state"),
        ),
        # The same wrong code with its subtype, of two calls.
        (
            failing("dat_srq_resize", 7, "DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ"),
            failing("dat_srq_free", 9, "DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ"),
        ),
        # A message that is another one, however a check says so.
        (
            by_bytes(7, "byte 0 of 9 is 0x0b, not 0xf4"),
            by_bytes(9, "the receive does not hold the message"),
        ),
        (by_bytes(7, "the message came damaged"), by_bytes(9, "the first segment did not come")),
        # A completion that names another EP, whatever was posted where.
        (
            failing("dat_ep_reset", 7, "the completion names another EP", text="a == b"),
            failing("dat_srq_post_recv", 9, "a completion names the SRQ, and not the EP", text="c"),
        ),
        # An error that is not looked for, and one that is told for several.
        (
            of_status("dat_ep_create", 7, "DAT_DTO_SUCCESS"),
            told_status("dat_ep_post_send", 9, "DAT_DTO_SUCCESS"),
        ),
        (
            of_status("dat_srq_create", 7, "DAT_DTO_ERR_LOCAL_EP"),
            of_status("dat_lmr_free", 9, "DAT_DTO_ERR_LOCAL_EP", "DAT_DTO_ERR_LOCAL_LENGTH"),
        ),
        # A change that is granted and not made, however it is seen.
        (
            failing("dat_ep_modify", 7, "granted, and not done", text="shown", expected=["shown"]),
            failing("dat_ep_modify", 9, "max_size was not changed", text="c", expected=["c"]),
        ),
        # A completion that does not come, at two sites.
        (
            failing("dat_ep_post_recv", 7, "no event within 3 ms", expected=[COMPLETION]),
            failing("dat_ep_post_recv", 9, "no event within 8 ms", expected=[COMPLETION]),
        ),
        # A wait that one call had to end, at two sites.
        (asleep("dat_evd_set_unwaitable", 7), asleep("dat_evd_set_unwaitable", 9)),
        # The function that the header makes of a call, and the call.
        (refused("dat_ia_openv", 7, "DAT_SUCCESS"), refused("dat_ia_open", 9, "DAT_SUCCESS")),
        # The wrong event of a connection, by a check of its number and by a condition.
        (
            failing("dat_evd_wait", 7, f"{EVENT}PEER_REJECTED", expected=[f"{EVENT}TIMED_OUT"]),
            failing(
                "dat_ep_connect",
                9,
                f"{EVENT}PEER_REJECTED tells that the peer is gone",
                text=f"number == {EVENT}TIMED_OUT",
                expected=[f"number == {EVENT}TIMED_OUT"],
            ),
        ),
    ],
)
def test_one_cause(tmp_path: Path, one: Record, other: Record) -> None:
    assert groups(tmp_path, ("FAIL", one), ("FAIL", other)) == [["0", "1"]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (failing("dat_srq_resize", 7), failing("dat_srq_free", 7)),
        (failing("dat_srq_resize", 7), failing("dat_srq_resize", 9, "DAT_INVALID_PARAMETER")),
        (failing("dat_srq_resize", 7, "DAT_LENGTH_ERROR"), failing("dat_srq_free", 9)),
        # Events of a connection that two calls had to bring, or two events.
        (missing("dat_cr_reject", 7, "BROKEN"), missing("dat_cr_accept", 9, "BROKEN")),
        (missing("dat_cr_reject", 7, "BROKEN"), missing("dat_cr_reject", 9, "TIMED_OUT")),
        # Waits that two calls had to end.
        (asleep("dat_evd_set_unwaitable", 7), asleep("dat_evd_free", 9)),
        # Conditions of two variables, which are of no field.
        (
            failing("dat_srq_query", 7, "none", text="called > 0", expected=["called > 0"]),
            failing("dat_srq_query", 9, "two", text="called == 1", expected=["called == 1"]),
        ),
        # At one place a waiter was refused, and another one came back at once.
        (by_waiter(7, "DAT_ABORT after 2 us"), by_waiter(7, "DAT_SUCCESS after 2 us")),
        # Waiters that were refused otherwise, or that came back at once.
        (by_waiter(7, "DAT_ABORT after 2 us"), by_waiter(9, "DAT_INVALID_HANDLE after 2 us")),
        (by_waiter(7, "DAT_SUCCESS after 2 us"), by_waiter(9, "DAT_SUCCESS after 2 us")),
        (by_waiter(7, "DAT_TIMEOUT_EXPIRED after"), by_waiter(9, "DAT_TIMEOUT_EXPIRED after")),
        # Bytes that arrived wrongly, and bytes beside them.
        (
            by_bytes(7, "byte 0 of 9 is 0x0b, not 0xf4"),
            by_bytes(9, "byte 0 of the vector, behind the 9, was written"),
        ),
        # At one place, an error that is not looked for, and another one that is told for it.
        (
            told_status("dat_ep_post_send", 7, "DAT_DTO_SUCCESS"),
            told_status("dat_ep_post_send", 7, "DAT_DTO_ERR_LOCAL_EP"),
        ),
        # At one place, a completion that did not come, and one that is too short.
        (
            failing("dat_ep_post_rdma_read", 7, "no event within 9 ms", text="dto", expected=["9"]),
            failing("dat_ep_post_rdma_read", 7, "length 3", text="dto", expected=["9"]),
        ),
        # Two fields of one answer.
        (
            failing("dat_srq_query", 7, text="got.size == 3", expected=["3"], seen="0"),
            failing("dat_srq_query", 9, text="got.mark == 3", expected=["3"], seen="0"),
        ),
    ],
)
def test_two_causes(tmp_path: Path, one: Record, other: Record) -> None:
    assert groups(tmp_path, ("FAIL", one), ("FAIL", other)) == [["0"], ["1"]]


def test_a_third_may_show_that_two_are_one(tmp_path: Path) -> None:
    links = failing("dat_srq_resize", 7) | {"calls": [call(1, "dat_srq_resize")]}
    one = failing("dat_srq_resize", 7, expected=["DAT_INVALID_HANDLE"])
    other = failing("dat_srq_resize", 9)
    assert groups(tmp_path, ("FAIL", one), ("FAIL", other), ("FAIL", links)) == [["0", "1", "2"]]


def test_what_a_defect_fails_and_blocks(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    run.case("resize", "FAIL", **refused("dat_srq_resize", 7, "DAT_SUCCESS"))
    for number in range(3):
        run.case(f"after/{number}", "BLOCKED", **blocked("dat_srq_resize"))
    run.case("alone", "BLOCKED", **blocked("dat_pz_create"))
    run.case("kept")
    folder = run.write(tmp_path)
    loaded = load(folder)
    found = causes(loaded)
    assert [(cause.verdict, cause.extent, cause.reach) for cause in found] == [
        ("FAIL", "1 clause, and blocks 3 more", 4),
        ("BLOCKED", "1 clause", 1),
    ]
    assert found[1].name == "dat_pz_create: returned DAT_INTERNAL_ERROR"
    assert advice(loaded, found) == "2 defects: they fail or block 5 of 6 clauses."
    assert unknown_causes(loaded) == []
    assert loaded.conclusion.sentence == "2 clauses checked, 1 failed, 4 blocked"
    page = Page(render(folder, "html"))
    assert "3 clauses not judged because of it" in page.text_of("findings")
    assert "not judged, because dat_srq_resize returned" in page.text_of(
        "clause:srq_resize/after/0"
    )


def test_what_a_call_leaves_unwritten_is_one_cause_with_what_it_blocks(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    for number, name in enumerate(("srq_supported", "ep_creator")):
        told = check(
            "is_same()",
            ok=False,
            expected=["is_same()"],
            seen=f"{name} is not written",
            line=number + 1,
        )
        left: Record = {"calls": [call(1, "dat_ia_query")], "checks": [told]}
        run.case(name, "FAIL", **left)
    run.case(
        "waits", "BLOCKED", **blocked("dat_ia_query", "DAT_SUCCESS, with a value left unwritten")
    )
    run.case("other", "BLOCKED", **blocked("dat_ia_query"))
    found = causes(load(run.write(tmp_path)))
    assert [(len(cause.cases), len(cause.blocked)) for cause in found] == [(2, 1), (0, 1)]


def of_event(name: str, line: int, expected: str, seen: str) -> Record:
    """What a case leaves that waited for one event behind call `name`, and saw another."""
    told = check(f"{expected} on evd", ok=False, expected=[expected], seen=seen, line=line)
    return {"calls": [call(1, name), call(2, "dat_evd_wait")], "checks": [told]}


def test_a_wrong_number_of_an_event_is_one_cause_wherever_it_is_seen(tmp_path: Path) -> None:
    wrong = "DAT_DTO_COMPLETION_EVENT", "DAT_IB_EXTENSION_RANGE_BASE"
    run = SyntheticRun(modes=(1,))
    run.case("flushed", "FAIL", **of_event("dat_ep_disconnect", 3, *wrong))
    run.case("failed", "FAIL", **of_event("dat_ep_post_recv", 8, *wrong))
    step = blocked("dat_ep_post_recv", wrong[1]) | of_event("dat_cno_wait", 9, *wrong)
    run.case("step", "BLOCKED", **step)
    run.case("step_crash", "BLOCKED", **blocked("dat_ep_post_recv", "SIGSEGV"))
    found = causes(load(run.write(tmp_path)))
    assert [(len(cause.cases), len(cause.blocked)) for cause in found] == [(2, 1), (0, 1)]


def behind(left: Record, calls: list[Record], **check_: Any) -> Record:
    """The same, whose check is behind these calls."""
    return left | {"calls": calls, "checks": [left["checks"][0] | {"calls": len(calls)} | check_]}


def test_a_message_that_a_call_loses_is_one_cause_however_it_is_looked_for(tmp_path: Path) -> None:
    completion = {"expected": ["DAT_DTO_COMPLETION_EVENT with DAT_DTO_SUCCESS"]}
    missing = failing("dat_evd_wait", 3, "no event within 3000 ms", text="completion", **completion)
    empty = failing("dat_evd_dequeue", 8, "DAT_QUEUE_EMPTY", expected=["DAT_SUCCESS"])
    calls = [call(1, "dat_srq_resize"), call(2, "dat_evd_wait")]
    taken = [call(1, "dat_srq_resize"), call(2, "dat_evd_dequeue", ret="DAT_QUEUE_EMPTY")]
    run = SyntheticRun(modes=(1,))
    run.case("waited", "FAIL", **behind(missing, calls))
    run.case("waited_again", "FAIL", **behind(missing, calls, line=20))
    run.case("dequeued", "FAIL", **behind(empty, taken))
    later = failing("dat_evd_dequeue", 9, "software event 1 came, and 0 not before it")
    run.case("later", "FAIL", **behind(later, taken))
    (found,) = causes(load(run.write(tmp_path)))
    assert found.calls == ("dat_srq_resize",)


def test_an_event_in_the_place_of_another_one_is_of_the_call_that_moves_none(
    tmp_path: Path,
) -> None:
    wrong = failing("dat_evd_wait", 9, "pointer 0x1, not that of software event 3")
    other = {"text": "event", "expected": ["DAT_CONNECTION_EVENT_DISCONNECTED"]}
    number = failing("dat_evd_wait", 5, "DAT_CONNECTION_EVENT_ESTABLISHED", **other)
    calls = [call(1, "dat_evd_resize"), call(2, "dat_evd_wait")]
    for page, found in (("dat_evd_resize", 1), ("dat_evd_wait", 2)):
        run = SyntheticRun(modes=(1,))
        run.case("order", "FAIL", {"page": page}, **behind(wrong, calls))
        run.case("number", "FAIL", {"page": page}, **behind(number, calls))
        (tmp_path / page).mkdir()
        assert len(causes(load(run.write(tmp_path / page)))) == found


def test_asynchronous_events_that_do_not_come_are_one_cause_of_their_call(tmp_path: Path) -> None:
    missing = {"expected": ["an asynchronous event about the object"], "text": "the event"}
    run = SyntheticRun(modes=(1,))
    for name, line in (("dat_srq_set_lw", 3), ("dat_srq_set_lw", 5), ("dat_ep_set_watermark", 7)):
        left = failing(name, line, f"no event within {line} ms", **missing)
        run.case(f"comes_{line}", "FAIL", **left)
    step = blocked("dat_srq_set_lw", "no event within 3 ms")
    told = check("the event", ok=False, seen="no event within 3 ms", expected=missing["expected"])
    run.case("needed", "BLOCKED", **step | {"checks": [told]})
    found = causes(load(run.write(tmp_path)))
    assert sorted((len(cause.cases), len(cause.blocked)) for cause in found) == [(1, 0), (2, 1)]


def test_wrong_data_of_an_agent_is_one_cause_of_the_page(tmp_path: Path) -> None:
    own = "an agent was called with instance data that is not its own"
    told = "the instance data is not that of the CNO's agent"
    run = SyntheticRun(modes=(1,))
    for name, after, line, seen in (
        ("told", "dat_cno_query", 3, told),
        ("called", "dat_evd_post_se", 5, own),
        ("called_late", "dat_ep_disconnect", 5, own),
    ):
        left = failing(after, line, seen, text="agent", expected=["agent"])
        run.case(name, "FAIL", {"page": "dat_cno_modify_agent"}, **left)
    (found,) = causes(load(run.write(tmp_path)))
    assert len(found.cases) == 3


def test_an_event_that_a_call_loses_is_seen_in_the_call_that_takes_it(tmp_path: Path) -> None:
    expired = failing("dat_evd_wait", 3, "DAT_TIMEOUT_EXPIRED", expected=["DAT_SUCCESS"])
    calls = [call(1, "dat_srq_resize"), call(2, "dat_evd_wait", ret="DAT_TIMEOUT_EXPIRED")]
    not_come = failing("dat_srq_resize", 8, "the event has not come", text="event")
    run = SyntheticRun(modes=(1,))
    run.case("waited", "FAIL", **behind(expired, calls))
    run.case("looked", "FAIL", **behind(not_come, calls))
    (found,) = causes(load(run.write(tmp_path)))
    assert found.name.startswith("dat_srq_resize, seen in dat_evd_wait: expected DAT_SUCCESS")


def test_a_wait_that_fails_on_its_own_page_is_named(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    calls = [call(1, "dat_evd_wait", ret="DAT_TIMEOUT_EXPIRED")]
    expired = failing("dat_evd_wait", 3, "DAT_TIMEOUT_EXPIRED", expected=["DAT_SUCCESS"])
    run.case("woken", "FAIL", page="dat_evd_wait", **behind(expired, calls))
    (found,) = causes(load(run.write(tmp_path)))
    assert found.calls == ("dat_evd_wait",)


def test_a_message_that_blocks_a_case_is_of_the_pages_own_call(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    text = {"text": "buf holds", "expected": ["buf holds"]}
    run.case("sent", "FAIL", **failing("dat_srq_resize", 7, "a message is not whole", **text))
    step = blocked("dat_ep_post_recv", "what was received is not message 0")
    run.case("stepped", "BLOCKED", **step)
    (found,) = causes(load(run.write(tmp_path)))
    assert [len(found.cases), len(found.blocked)] == [1, 1]


def test_steps_that_say_the_same_of_one_call_are_one_cause(tmp_path: Path) -> None:
    step = blocked("dat_cno_wait", "DAT_SUCCESS") | by_condition("dat_cno_wait")
    step["blocked"]["ret"] = "dat_cno_wait returned DAT_SUCCESS, and no handle"
    run = SyntheticRun(modes=(1,))
    run.case("named", "BLOCKED", **step)
    run.case("empty", "BLOCKED", **step | {"checks": []})
    run.case("other", "BLOCKED", **blocked("dat_cno_wait"))
    found = causes(load(run.write(tmp_path)))
    assert [len(cause.blocked) for cause in found] == [2, 1]


def test_a_connection_that_is_not_made_is_a_cause_of_one_call(tmp_path: Path) -> None:
    lost = "DAT_CONNECTION_EVENT_ESTABLISHED", "DAT_CONNECTION_EVENT_TIMED_OUT"
    one, other = of_event("dat_srq_resize", 3, *lost), of_event("dat_srq_query", 3, *lost)
    other["checks"][0]["text"] = "connection behind dat_srq_query"
    assert groups(tmp_path, ("FAIL", one), ("FAIL", other)) == [["0"], ["1"]]


def test_an_event_that_was_not_to_come_is_of_the_call_that_led_to_it(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    text = "dat_evd_dequeue(...)"
    for page in ("dat_cr_accept", "dat_ep_disconnect"):
        calls = [call(1, page), call(2, "dat_evd_dequeue")]
        told = check(text, ok=False, expected=["DAT_QUEUE_EMPTY"], seen="DAT_SUCCESS", line=7)
        run.case(page, "FAIL", {"page": page}, calls=calls, checks=[told | {"calls": 2}])
    assert [cause.name for cause in causes(load(run.write(tmp_path)))] == [
        f"{page}, seen in dat_evd_dequeue: expected DAT_QUEUE_EMPTY, saw DAT_SUCCESS"
        for page in ("dat_cr_accept", "dat_ep_disconnect")
    ]


@pytest.mark.parametrize(
    ("name", "event"),
    [("dat_ep_post_recv", COMPLETION), ("dat_rmr_bind", "DAT_RMR_BIND_COMPLETION_EVENT")],
)
def test_a_completion_that_does_not_come_is_of_the_call_that_it_blocks(
    tmp_path: Path, name: str, event: str
) -> None:
    fails = failing(name, 7, "no event within 8 ms", expected=[event])
    step = {"call": name, "saw": "no event within 3 ms"}
    lost = check("event", ok=False, expected=[event], seen="no event within 3 ms")
    run = SyntheticRun(modes=(1,))
    run.case("fails", "FAIL", **fails)
    run.case("waits", "BLOCKED", reason="no event", blocked=step, checks=[lost])
    (cause,) = causes(load(run.write(tmp_path)))
    assert cause.extent == "1 clause, and blocks 1 more"


def test_a_loop_over_kinds_shows_one_cause_for_each_answer(tmp_path: Path) -> None:
    def left(ret: str) -> Record:
        told = failing("dat_srq_query", 7, ret, expected=["DAT_SUCCESS"], text="kind->make(...)")
        return told | {"calls": [call(1, "dat_srq_query", ret=ret)]}

    kinds = left("DAT_NOT_IMPLEMENTED"), left("DAT_INSUFFICIENT_RESOURCES")
    assert groups(tmp_path, *(("FAIL", kind) for kind in kinds)) == [["0"], ["1"]]


def test_a_wrong_value_is_one_cause_with_the_steps_that_need_it(tmp_path: Path) -> None:
    text = "told->port == param.port"
    run = SyntheticRun(modes=(1,))
    told = check("told->port == 17", ok=False, expected=["17"], seen="0", line=4)
    run.case("tells", "FAIL", calls=[call(1, "dat_srq_query")], checks=[told])
    condition = check(text, ok=False, expected=[text], seen="port 0, not 17", line=9)
    step = blocked("dat_srq_query", "port 0, not 17") | {"checks": [condition]}
    run.case("needs", "BLOCKED", **step)
    run.case("other", "BLOCKED", **blocked("dat_srq_query", "no handle was stored"))
    found = causes(load(run.write(tmp_path)))
    assert [(len(cause.cases), len(cause.blocked)) for cause in found] == [(1, 1), (0, 1)]


def test_what_a_control_found_is_of_the_cause_of_its_clause(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    made = run.case("made", "FAIL", **refused("dat_srq_resize", 7, "DAT_SUCCESS"))
    # What the case saw itself is of another call.
    seen = refused("dat_srq_query", 9, "DAT_SUCCESS")
    why = f"dat_srq_resize does not work ({made}: FAIL, it returned DAT_INTERNAL_ERROR)"
    step = blocked("dat_srq_resize", why) | seen
    step["blocked"]["clause"] = made
    run.case("behind", "BLOCKED", **step)
    run.case("query", "FAIL", **refused("dat_srq_query", 9, "DAT_SUCCESS"))
    found = causes(load(run.write(tmp_path)))
    assert [(cause.extent, cause.name.split(":")[0]) for cause in found] == [
        ("1 clause, and blocks 1 more", "dat_srq_resize"),
        ("1 clause", "dat_srq_resize, seen in dat_srq_query"),
    ]


def test_a_control_and_a_step_that_were_refused_alike_are_one_cause(tmp_path: Path) -> None:
    answer = "DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION"
    why = f"dat_rmr_create(zone, &rmr) returned {answer}, expected DAT_SUCCESS"
    found = f"dat_rmr_create does not work (rmr_create/created: FAIL, {why})"
    run = SyntheticRun(modes=(1,))
    run.case("behind", "BLOCKED", **blocked("dat_rmr_create", found))
    run.case("step", "BLOCKED", **blocked("dat_rmr_create", answer))
    (cause,) = causes(load(run.write(tmp_path)))
    assert len(cause.blocked) == 2


@pytest.mark.parametrize(
    ("saw", "extents"),
    [
        ("no event within 3000 ms", ["2 clauses"]),
        ("DAT_CONNECTION_EVENT_BROKEN", ["1 clause", "1 clause"]),
    ],
)
def test_a_control_and_a_step_that_saw_no_event_are_one_cause(
    tmp_path: Path, saw: str, extents: list[str]
) -> None:
    why = f"the event on an EVD: expected DAT_CONNECTION_REQUEST_EVENT, saw {saw}"
    found = f"dat_ep_connect does not work (ep_connect/established: FAIL, {why})"
    step = missing("dat_ep_connect", 7, "ESTABLISHED")
    run = SyntheticRun(modes=(1,))
    run.case("behind", "BLOCKED", **blocked("dat_ep_connect", found))
    left = blocked("dat_ep_connect", "no event within 3000 ms") | {"checks": step["checks"]}
    run.case("step", "BLOCKED", **left | {"calls": step["calls"]})
    assert [cause.extent for cause in causes(load(run.write(tmp_path)))] == extents


@pytest.mark.parametrize(("event", "found"), [("PEER_REJECTED", 1), ("NON_PEER_REJECTED", 2)])
def test_a_control_misses_the_event_that_a_case_missed(
    tmp_path: Path, event: str, found: int
) -> None:
    why = f"the event: expected DAT_CONNECTION_EVENT_{event}, saw no event within 3000 ms"
    saw = f"dat_cr_reject does not work (cr_reject/told: FAIL, {why})"
    run = SyntheticRun(modes=(1,))
    run.case("judged", "FAIL", **missing("dat_cr_reject", 7, "PEER_REJECTED"))
    run.case("behind", "BLOCKED", **blocked("dat_cr_reject", saw))
    assert len(causes(load(run.write(tmp_path)))) == found


@pytest.mark.parametrize(
    ("left", "seen"),
    [
        (missing("dat_cr_accept", 7, "ACCEPT_COMPLETION_ERROR"), "no event within 7 ms"),
        (asleep("dat_evd_set_unwaitable", 7), "it waits still after 3000 ms"),
    ],
)
def test_a_step_that_waits_in_vain_is_of_the_cause_of_its_call(
    tmp_path: Path, left: Record, seen: str
) -> None:
    (made,) = left["calls"]
    run = SyntheticRun(modes=(1,))
    run.case("judged", "FAIL", **left)
    step = blocked(made["call"], seen)
    told = {**left["checks"][0], "line": 9}
    run.case("step", "BLOCKED", **step | {"calls": [made], "checks": [told]})
    (found,) = causes(load(run.write(tmp_path)))
    assert (len(found.cases), len(found.blocked)) == (1, 1)


def noticed(text: str, expected: str, seen: str, line: int) -> Record:
    """What a case of dat_evd_disable leaves that found a notice where there was to be none."""
    told = check(text, ok=False, expected=[expected], seen=seen, line=line, calls=2)
    calls = [call(1, "dat_evd_disable"), call(2, "dat_cno_wait", ret=seen.split()[0])]
    return {"calls": calls, "checks": [told]}


@pytest.mark.parametrize(("calls", "wanted"), [("1", 3), ("0", 2)])
def test_a_notice_that_was_not_due_is_one_cause(tmp_path: Path, calls: str, wanted: int) -> None:
    """However it was looked for; an agent that was called too seldom is another cause."""
    waits = "a thread that waits in its call"
    due = "0" if calls == "1" else "1"
    run = SyntheticRun(modes=(1,))
    for number, left in enumerate(
        (
            noticed("dat_cno_wait(cno)", "DAT_QUEUE_EMPTY", "DAT_SUCCESS", 10),
            noticed("waiter still waits", waits, "it returned DAT_SUCCESS after 9 us", 20),
            noticed(f"calls_seen(t, agent) == {due}", due, calls, 30),
        )
    ):
        run.case(f"evd_disable/{number}", "FAIL", {"page": "dat_evd_disable"}, **left)
    widest, *_ = causes(load(run.write(tmp_path)))
    assert len(widest.cases) == wanted


@pytest.mark.parametrize(
    ("evd", "ended", "wanted"),
    [
        ("async_evd", {"unfinished": True}, [["0", "1"]]),
        ("async_evd", {"ret": "DAT_INVALID_STATE"}, [["0", "1"]]),
        ("evd#1", {"ret": "DAT_INVALID_STATE"}, [["0"], ["1"]]),
        ("async_evd", {"ret": "DAT_SUCCESS"}, [["0"], ["1"]]),
    ],
)
def test_a_thread_that_waits_for_an_asynchronous_event_misses_it(
    tmp_path: Path, evd: str, ended: Record, wanted: list[list[str]]
) -> None:
    """It waits still, or teardown has cancelled its wait."""
    event = "an asynchronous event about the object"
    wait = call(1, "dat_evd_wait", ("evd_handle", evd), thread=2, **ended)
    sleeps = asleep("dat_srq_set_lw", 20)
    sleeps["calls"] = [wait, call(2, "dat_srq_set_lw")]
    sleeps["checks"][0]["calls"] = 2
    polls = failing("dat_srq_set_lw", 10, "no event within 9 ms", text="event", expected=[event])
    assert groups(tmp_path, ("FAIL", polls), ("FAIL", sleeps)) == wanted


def test_a_wait_without_an_end_leaves_deviations_beyond_doubt(tmp_path: Path) -> None:
    """Two cases are of one deviation, and one of them ended like a wait that was not judged."""
    said = {"oracle": deviating("srq_set_lw/event_at_once")}
    sleeps, polls = asleep("dat_srq_set_lw", 20), asleep("dat_srq_set_lw", 10)
    polls["checks"][0]["seen"] = "no event within 9 ms"
    polls["checks"][0]["expected"] = ["an asynchronous event about the object"]
    sleeps["calls"] = [
        call(1, "dat_evd_wait", ("evd_handle", "async_evd"), unfinished=True, thread=2),
        call(2, "dat_srq_set_lw"),
    ]
    sleeps["checks"][0]["calls"] = 2
    other = failing("dat_srq_set_lw", 30, "3")
    found = groups(tmp_path, ("FAIL", polls | said), ("FAIL", sleeps), ("FAIL", other | said))
    assert found == [["0", "1", "2"]]


@pytest.mark.parametrize(
    ("page", "extents"), [("evd_wait", ["2 clauses"]), ("evd_resize", ["1 clause", "1 clause"])]
)
def test_events_out_of_order_are_of_one_queue(
    tmp_path: Path, page: str, extents: list[str]
) -> None:
    run = SyntheticRun(modes=(1,))
    for name, line in (("evd_post_se", 10), (page, 20)):
        seen = f"software event {line} came, and {line - 1} not before it"
        left = failing(f"dat_{name}", line, seen, text="in order", expected=["in order"])
        run.case(f"{name}/in_order", "FAIL", {"page": f"dat_{name}"}, **left)
    assert [cause.extent for cause in causes(load(run.write(tmp_path)))] == extents


def test_asynchronous_events_of_another_object_are_one_cause(tmp_path: Path) -> None:
    """What the model says of such an event where a case is kept is no finding of its own."""
    page = {"page": "dat_ep_set_watermark"}
    why = "case call 2, dat_evd_wait: an event of srq#1, which has no mark [srq_set_lw/none]"
    said = deviating("srq_set_lw/none") | {"why": why, "n": 2}
    calls = [call(1, "dat_ep_set_watermark"), call(2, "dat_evd_wait")]
    run = SyntheticRun(modes=(1,))
    for line in (10, 20):
        seen = "DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR about something else"
        expected = ["an asynchronous event about the object"]
        told = check("an event", ok=False, expected=expected, seen=seen, line=line, calls=2)
        run.case(f"soft/{line}", "FAIL", page, calls=calls, checks=[told], oracle=said)
    run.case("kept", "PASS", page, calls=calls, oracle=said, breaks="srq_set_lw/none")
    loaded = load(run.write(tmp_path))
    assert [cause.extent for cause in causes(loaded)] == ["2 clauses"]
    assert not loaded.breakages


@pytest.mark.parametrize(("page", "findings"), [("dat_cr_reject", 0), ("dat_cr_accept", 1)])
def test_what_a_call_leaves_in_use_is_in_use_in_teardown(
    tmp_path: Path, page: str, findings: int
) -> None:
    told = check("dat_ia_close(ia)", ok=False, expected=["DAT_SUCCESS"], seen="DAT_INVALID_STATE")
    calls = [call(1, "dat_ia_close", ret="DAT_INVALID_STATE")]
    teardown = [{"call": "dat_evd_free", "what": "refused", "saw": "DAT_INVALID_STATE"}]
    run = SyntheticRun(modes=(1,))
    run.case("closes", "FAIL", {"page": "dat_cr_reject"}, calls=calls, checks=[told])
    run.case("kept", "PASS", {"page": page}, teardown=teardown)
    assert len(load(run.write(tmp_path)).breakages) == findings


def test_a_point_without_its_flag_is_one_cause(tmp_path: Path) -> None:
    makes = "who makes the EP is not what the flag says"
    made = failing("dat_psp_create", 10, makes, text="made", expected=["made"])
    text = "param.psp_flags == flags"
    told = failing("dat_psp_create", 20, "DAT_PSP_CONSUMER_FLAG", text=text, expected=["1"])
    assert groups(tmp_path, ("FAIL", made), ("FAIL", told)) == [["0", "1"]]
