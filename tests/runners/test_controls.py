# SPDX-License-Identifier: BSD-2-Clause
"""A case that was not kept is blamed on the call whose own case is not kept either."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from results.runlog.records import Record
from runners.campaign.plan.plan import Control, Planned
from runners.campaign.session.controls import Controls

CALLS = ("dat_ep_reset", "dat_ep_connect", "dat_evd_wait", "dat_ia_query", "dat_lmr_create")


def case(call: str) -> str:
    """The control of a call."""
    return call.removeprefix("dat_") + "/works"


def plan(call: str) -> Planned:
    """The same, planned."""
    return Planned(case(call), 1, 0, False, 0, (), "cases/x.c", 1)


def ended(name: str, verdict: str, *made: str, blocked: str = "") -> Record:
    """A verdict, with the calls that the case made."""
    record: dict[str, Any] = {
        "type": "verdict",
        "case": name,
        "verdict": verdict,
        "reason": f"{name} says so",
        "calls": [{"call": call, "n": n} for n, call in enumerate(made, 1)],
        "checks": [{"ok": False, "file": "cases/x.c", "line": 7, "text": "a check"}],
    }
    return record | ({"blocked": {"call": blocked}} if blocked else {})


class Hosts:
    """What runs the controls: all are kept but these, of which each has its verdicts in a row. Of
    the calls `apart` there is a second one.
    """

    def __init__(
        self, apart: Mapping[str, Record] | None = None, **ends: Record | Sequence[Record | None]
    ) -> None:
        self.ends = {f"dat_{name}": end for name, end in ends.items()}
        self.apart = apart or {}
        self.ran: list[str] = []

    def run(self, planned: Planned) -> Record | None:
        """One control."""
        call = "dat_" + planned.case.split("/", 1)[0]
        if planned.case.endswith("/apart"):
            return self.apart[call]
        self.ran.append(call)
        end = self.ends.get(call, ended(planned.case, "PASS", call))
        return end if isinstance(end, Mapping) else end[self.ran.count(call) - 1]

    def judge(self, record: Record) -> Record:
        """What the controls make of a verdict."""
        controls: dict[str, Control] = {call: (plan(call),) for call in CALLS}
        for call in self.apart:
            apart = replace(plan(call), case=f"{call.removeprefix('dat_')}/apart")
            controls[call] += (apart,)
        return Controls(controls).judge(record, self.run)


RESET_FAILS = ended("ep_reset/works", "FAIL", "dat_ep_connect", "dat_ep_reset")


def test_a_call_that_was_granted_is_not_to_blame_for_a_refusal_elsewhere() -> None:
    refused = ended("ep_reset/works", "FAIL", "dat_ep_reset")
    refused["checks"][0]["text"] = "dat_ep_reset(ep)"
    record = ended("cr_reject/a", "FAIL", "dat_ep_reset")
    assert Hosts(ep_reset=refused).judge(record)["verdict"] == "BLOCKED"
    record["calls"][0]["ret"] = "DAT_SUCCESS"
    assert Hosts(ep_reset=refused).judge(record) is record
    granted = ended("ep_reset/works", "FAIL", "dat_ep_reset")
    granted["checks"][0] |= {"text": "dat_ep_reset(ep)", "seen": "DAT_SUCCESS"}
    assert Hosts(ep_reset=granted).judge(record)["verdict"] == "BLOCKED"
    assert Hosts(ep_reset=RESET_FAILS).judge(record)["verdict"] == "BLOCKED"


def test_a_call_that_the_case_did_not_make_is_not_to_blame() -> None:
    """The connection's control is red for the reset that it makes, and the case makes none."""
    needs = ended("ep_connect/works", "FAIL", "dat_ep_reset", "dat_ep_connect")
    hosts = Hosts(ep_connect=needs, ep_reset=ended("ep_reset/works", "FAIL", "dat_ep_reset"))
    record = ended("cr_reject/a", "FAIL", "dat_ep_connect")
    assert hosts.judge(record) is record


def test_a_kept_case_needs_no_control() -> None:
    hosts = Hosts(ep_reset=RESET_FAILS)
    record = ended("cr_reject/a", "PASS", "dat_ep_reset")
    assert hosts.judge(record) is record
    assert hosts.ran == []


@pytest.mark.parametrize("verdict", ["FAIL", "CRASH", "TIMEOUT"])
def test_a_call_that_never_works_blocks_the_case(verdict: str) -> None:
    record = ended("cr_reject/a", verdict, "dat_ep_reset", "dat_ep_connect")
    judged = Hosts(ep_reset=RESET_FAILS).judge(record)
    assert judged["verdict"] == "BLOCKED"
    assert judged["blocked"]["call"] == "dat_ep_reset"
    assert judged["blocked"]["clause"] == "ep_reset/works"
    assert judged["blocked"]["site"] == {"file": "cases/x.c", "line": 7, "text": "a check"}
    assert f"the case saw {verdict}: cr_reject/a says so" in judged["reason"]
    assert judged["checks"] == record["checks"]


def test_a_call_that_works_elsewhere_leaves_the_verdict() -> None:
    record = ended("cr_reject/a", "FAIL", "dat_ep_reset", "dat_ep_connect")
    assert Hosts().judge(record) is record


def test_the_own_call_is_the_own_page_s_matter() -> None:
    record = ended("ep_reset/a", "FAIL", "dat_ep_reset", "dat_ep_connect")
    assert Hosts(ep_reset=RESET_FAILS).judge(record) is record


def test_a_legal_call_that_never_works_says_nothing_about_a_bad_handle() -> None:
    record = ended("ep_reset/invalid_handle/other_kind", "FAIL", "dat_ep_reset")
    record["checks"][0]["text"] = "dat_ep_reset(all: legal)"
    judged = Hosts(ep_reset=RESET_FAILS).judge(record)
    assert judged["blocked"]["call"] == "dat_ep_reset"
    assert Hosts().judge(record) is record


def told(name: str, ret: str, text: str) -> Record:
    """What the control of a call leaves that made an object, and was red for the query of it."""
    calls = [{"call": name, "n": 1}, {"call": "dat_lmr_query", "n": 2, "ret": ret}]
    check = {"ok": False, "file": "cases/x.c", "line": 7, "text": text, "calls": 2}
    return ended(case(name), "FAIL") | {"calls": calls, "checks": [check]}


@pytest.mark.parametrize(
    ("made", "ret", "text", "verdict"),
    [
        ("dat_lmr_create", "DAT_SUCCESS", "param.mem_type == type", "FAIL"),
        ("dat_lmr_create", "DAT_INVALID_HANDLE", "dat_lmr_query(lmr)", "BLOCKED"),
        ("dat_evd_wait", "DAT_SUCCESS", "param.mem_type == type", "BLOCKED"),
    ],
)
def test_what_a_query_tells_of_a_new_object_blocks_no_user_of_it(
    made: str, ret: str, text: str, verdict: str
) -> None:
    """A query that is refused shows that there is no object; and other calls show by it alone."""
    hosts = Hosts(**{made.removeprefix("dat_"): told(made, ret, text)})
    record = ended("ep_reset/x", "FAIL", made)
    assert hosts.judge(record)["verdict"] == verdict


def test_a_clause_of_the_registry_has_no_call_of_its_own() -> None:
    """The suite is not at fault where the provider breaks the call."""
    record = ended("ep_reset/null_handle", "CRASH", "dat_ep_reset")
    controls = Controls({call: (plan(call),) for call in CALLS}, [record["case"]])
    judged = controls.judge(record, Hosts(ep_reset=RESET_FAILS).run)
    assert judged["verdict"] == "BLOCKED"
    assert judged["blocked"]["call"] == "dat_ep_reset"


def test_a_registry_that_fails_by_itself_is_not_excused() -> None:
    record = ended("ep_reset/null_handle", "FAIL", "dat_ep_reset")
    controls = Controls({call: (plan(call),) for call in CALLS}, [record["case"]])
    assert controls.judge(record, Hosts().run) is record


@pytest.mark.parametrize(
    ("clause", "verdict"), [("ep_disconnect/ended", "BLOCKED"), ("ep_disconnect/null", "CRASH")]
)
def test_a_registry_is_not_at_fault_for_a_legal_call_that_ends_its_case(
    clause: str, verdict: str
) -> None:
    record = ended("ep_disconnect/null", "CRASH", "dat_ep_disconnect") | {
        "calls": [{"call": "dat_ep_disconnect", "n": 1, "who": "case", "unfinished": True}],
        "pending": "dat_ep_disconnect",
        "oracle": {"verdict": "deviates", "clause": clause, "who": "case", "n": 1},
    }
    controls = Controls({call: (plan(call),) for call in CALLS}, [record["case"]])
    judged = controls.judge(record, Hosts().run)
    assert judged["verdict"] == verdict
    assert judged.get("blocked", {}).get("clause", clause) == clause


def test_what_stems_from_another_call_is_not_blamed() -> None:
    """The connection's control fails because of the wait, whose own control uses connections."""
    hosts = Hosts(
        ep_connect=ended("ep_connect/works", "BLOCKED", "dat_ep_connect", blocked="dat_evd_wait"),
        evd_wait=ended("evd_wait/works", "FAIL", "dat_ep_connect", "dat_evd_wait"),
    )
    judged = hosts.judge(ended("cr_reject/a", "FAIL", "dat_ep_connect", "dat_evd_wait"))
    assert judged["blocked"]["call"] == "dat_evd_wait"
    record = ended("evd_wait/a", "FAIL", "dat_ep_connect", "dat_evd_wait")
    assert hosts.judge(record) is record


def both_red() -> dict[str, Record]:
    """Controls that make both calls and see no event, which tells nothing of either."""
    return {
        f"ep_{name}": ended(f"ep_{name}/works", "FAIL", "dat_ep_connect", "dat_ep_reset")
        for name in ("connect", "reset")
    }


@pytest.mark.parametrize("innocent", ["PASS", "BLOCKED"])
def test_of_calls_that_need_each_other_the_one_that_is_red_apart_is_blamed(innocent: str) -> None:
    apart = {
        "dat_ep_connect": ended("ep_connect/apart", innocent, "dat_ep_connect"),
        "dat_ep_reset": ended("ep_reset/apart", "FAIL", "dat_ep_reset"),
    }
    hosts = Hosts(apart, **both_red())
    judged = hosts.judge(ended("ep_connect/a", "FAIL", "dat_ep_connect", "dat_ep_reset"))
    assert judged["blocked"]["call"] == "dat_ep_reset"
    assert judged["blocked"]["clause"] == "ep_reset/apart"
    record = ended("ep_reset/a", "FAIL", "dat_ep_connect", "dat_ep_reset")
    assert hosts.judge(record) is record


@pytest.mark.parametrize("verdict", ["PASS", "FAIL"])
def test_calls_that_are_alike_apart_are_both_to_blame(verdict: str) -> None:
    apart = {
        f"dat_ep_{name}": ended(f"ep_{name}/apart", verdict, f"dat_ep_{name}")
        for name in ("connect", "reset")
    }
    hosts = Hosts(apart, **both_red())
    for call in apart:
        record = ended(f"{call.removeprefix('dat_')}/a", "FAIL", *apart)
        assert hosts.judge(record) is record


@pytest.mark.parametrize(
    ("apart", "verdict"), [("PASS", "FAIL"), ("FAIL", "BLOCKED"), ("BLOCKED", "BLOCKED")]
)
def test_a_control_that_is_red_for_the_own_call(apart: str, verdict: str) -> None:
    """The reset of the control is refused where an EP has connected, and so is the case's."""
    red = ended("ep_connect/works", "FAIL", "dat_ep_connect", "dat_ep_reset")
    red["checks"][0]["text"] = "dat_ep_reset(ep)"
    second = {"dat_ep_connect": ended("ep_connect/apart", apart, "dat_ep_connect")}
    record = ended("ep_reset/a", "FAIL", "dat_ep_connect", "dat_ep_reset")
    assert Hosts(second, ep_connect=red).judge(record)["verdict"] == verdict
    assert Hosts(ep_connect=red).judge(record)["verdict"] == "BLOCKED"
    other = ended("evd_wait/a", "FAIL", "dat_ep_connect", "dat_evd_wait")
    assert Hosts(second, ep_connect=red).judge(other)["verdict"] == "BLOCKED"


def test_a_call_that_works_needs_no_second_control() -> None:
    """That one may be red for what it alone asks."""
    apart = {"dat_ep_reset": ended("ep_reset/apart", "FAIL", "dat_ep_reset")}
    record = ended("ep_connect/a", "FAIL", "dat_ep_connect", "dat_ep_reset")
    assert Hosts(apart).judge(record) is record


@pytest.mark.parametrize("way", ["FAIL", "CRASH", "TIMEOUT"])
def test_of_calls_that_need_each_other_the_one_that_broke_both_is_blamed(way: str) -> None:
    """Each control makes both calls, and ends in the same one."""
    broken = {
        f"ep_{name}": ended(f"ep_{name}/works", way, "dat_ep_connect", "dat_ep_reset")
        for name in ("connect", "reset")
    }
    for record in broken.values():
        record["checks"][0]["text"] = "dat_ep_reset(ep) is granted"
        if way != "FAIL":
            record |= {"checks": [], "pending": "dat_ep_reset"}
    hosts = Hosts(**broken)
    record = ended("ep_connect/a", way, "dat_ep_connect", "dat_ep_reset")
    assert hosts.judge(record)["blocked"]["call"] == "dat_ep_reset"
    record = ended("ep_reset/a", way, "dat_ep_connect", "dat_ep_reset")
    assert hosts.judge(record) is record


def test_a_control_that_a_working_call_blocked_says_nothing() -> None:
    """The wait refuses an argument that only the control of the connection gives it."""
    stopped = ended("ep_connect/works", "BLOCKED", "dat_ep_connect", blocked="dat_evd_wait")
    record = ended("cr_reject/a", "FAIL", "dat_ep_connect")
    assert Hosts(ep_connect=stopped).judge(record) is record


def test_a_control_that_the_attributes_blocked_says_nothing() -> None:
    stopped = ended("ep_connect/works", "BLOCKED", "dat_ep_connect", blocked="dat_ia_query")
    record = ended("cr_reject/a", "FAIL", "dat_ep_connect")
    assert Hosts(ep_connect=stopped).judge(record) is record


def test_a_step_that_was_named_wrongly() -> None:
    judged = Hosts(ep_reset=RESET_FAILS).judge(
        ended("cr_reject/a", "BLOCKED", "dat_ep_reset", "dat_ep_connect", blocked="dat_ep_connect")
    )
    assert judged["blocked"]["call"] == "dat_ep_reset"


@pytest.mark.parametrize("call", ["dat_ep_reset_create", "dat_cno_wait"])
def test_a_call_that_gives_no_handle_is_blamed_before_what_takes_it(call: str) -> None:
    made = {"call": call, "ret": "DAT_SUCCESS"}
    record = ended("ep_connect/a", "FAIL", "dat_ep_connect")
    empty = record | {"calls": [made | {"out": [["ep_handle", "DAT_HANDLE_NULL"]]}]}
    controls = Controls({call: (plan("dat_ep_reset"),)})
    judged = controls.judge(empty, Hosts().run)
    assert judged["blocked"]["call"] == call
    assert "no handle" in judged["reason"]
    full = record | {"calls": [made | {"out": [["ep_handle", "ep#1"]]}]}
    assert controls.judge(full, Hosts().run) is full


@pytest.mark.parametrize(
    ("closed_at", "who", "blamed"),
    [(25, "case", False), (31, "case", True), (25, "peer", True)],
)
def test_a_waiter_that_is_released_gives_no_handle(closed_at: int, who: str, blamed: bool) -> None:
    wait = {"call": "dat_cno_wait", "ret": "DAT_SUCCESS", "at_us": 10, "us": 20, "who": "case"}
    wait["out"] = [["evd_handle", "DAT_HANDLE_NULL"]]
    close = {"call": "dat_ia_close", "at_us": closed_at, "who": who}
    record = ended("ia_close/a", "CRASH", "dat_ia_close") | {"calls": [wait, close]}
    judged = Controls({"dat_cno_wait": (plan("cno_wait"),)}).judge(record, Hosts().run)
    assert (judged is not record) is blamed


def test_a_control_that_fails_once_does_not_count() -> None:
    hosts = Hosts(ep_reset=(RESET_FAILS, ended("ep_reset/works", "PASS", "dat_ep_reset")))
    record = ended("cr_reject/a", "FAIL", "dat_ep_reset")
    assert hosts.judge(record) is record


def test_a_control_without_hosts_says_nothing() -> None:
    record = ended("cr_reject/a", "FAIL", "dat_ep_reset")
    assert Hosts(ep_reset=(None,)).judge(record) is record


def test_what_every_case_calls_blocks_none() -> None:
    hosts = Hosts(ia_query=ended("ia_query/works", "FAIL", "dat_ia_query"))
    record = ended("cr_reject/a", "FAIL", "dat_ia_query")
    assert hosts.judge(record) is record


def test_a_control_runs_once() -> None:
    hosts = Hosts(ep_reset=RESET_FAILS)
    controls = Controls({call: (plan(call),) for call in CALLS})
    for name in "abc":
        controls.judge(ended(f"cr_reject/{name}", "FAIL", "dat_ep_reset"), hosts.run)
    assert hosts.ran.count("dat_ep_reset") == 2


def test_a_control_whose_thread_is_not_woken_stems_from_the_wait() -> None:
    """The wait works, and the control of the call that had to wake the thread is kept apart."""
    vain = ended("ep_reset/works", "FAIL", "dat_ep_reset", "dat_evd_wait")
    vain["checks"][0]["text"] = "waiter returns"
    record = ended("evd_wait/a", "FAIL", "dat_ep_reset", "dat_evd_wait")
    kept, red = (ended("ep_reset/apart", verdict, "dat_ep_reset") for verdict in ("PASS", "FAIL"))
    assert Hosts({"dat_ep_reset": kept}, ep_reset=vain).judge(record) is record
    judged = Hosts({"dat_ep_reset": red}, ep_reset=vain).judge(record)
    assert judged["blocked"]["call"] == "dat_ep_reset"
