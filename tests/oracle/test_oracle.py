# SPDX-License-Identifier: BSD-2-Clause
"""The kernel of the executable specification: damaged traces, values, and its own rules."""

import random
from pathlib import Path
from typing import Any

import pytest

import oracle.judging  # the modules register their rules
from oracle import declared_of, judge
from oracle.kernel import PLANS, RULES
from oracle.state import Srq
from oracle.trace import OBSERVERS
from oracle.values import parse
from runners.catalogue import clauses, rulings
from tests.oracle.trace_text import record

ROOT = Path(__file__).parents[2]
CALL = {"n": 1, "who": "case", "call": "dat_pz_free", "args": [["pz_handle", "pz#1"]], "at_us": 1}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-1", -1),
        ("ep#1 (freed)", "ep#1"),
        ("{a=1, b={c=x|y}, d=[1, 2]}", {"a": 1, "b": {"c": "x|y"}, "d": [1, 2]}),
        ("[{a=0x1}, {a=2}]", [{"a": "0x1"}, {"a": 2}]),
        ('"a, b"', "a, b"),
        ("{a=1", None),
        ("{a}", None),
        ("[1, 2", None),
        ("", None),
    ],
)
def test_values(text: str, value: object) -> None:
    """Values are parsed; what is cut off is not recorded."""
    assert parse(text) == value


@pytest.mark.parametrize(
    ("calls", "why"),
    [
        ([{**CALL, "n": 2}, {**CALL, "n": 1}], "call 1 of case stands behind call 2"),
        ([{**CALL, "n": 1}, {**CALL, "n": 1}], "call 1 of case stands behind call 1"),
        ([CALL, {"n": 2}], "call 2 of the record is not a call"),
        ([{**CALL, "args": [["pz_handle"]]}], "call 1 of the record is not a call"),
        ([7], "call 1 of the record is not a call"),
        ([{**CALL, "memory": []}], "call 1 of the record is not a call"),
        ([{**CALL, "memory": {"length": "1"}}], "call 1 of the record is not a call"),
        ([{**CALL, "memory": {"digest": 1}}], "call 1 of the record is not a call"),
        ([{**CALL, "changed": "local_iov"}], "call 1 of the record is not a call"),
    ],
)
def test_damage(calls: list[Any], why: str) -> None:
    """A damaged trace is refused with the number of the call, and never ends the judge."""
    judgement = judge({"calls": calls}, {})
    assert judgement.verdict == "unjudged"
    assert judgement.damage.startswith(why)


def test_no_calls() -> None:
    """Of nothing nothing is said."""
    assert judge({"calls": []}, {}).verdict == "unjudged"


def test_clauses_of_rules() -> None:
    """Each rule cites clauses of the catalogue, and rulings that there are."""
    assert oracle.judging.MODULES
    known = clauses.load(ROOT / "cases").clauses
    families = {clause.rpartition("/")[0] for clause in known}
    readings = set(rulings.load(ROOT / "docs" / "rulings"))
    for rule in RULES:
        assert rule.clauses, rule.name
        for clause in rule.clauses:
            assert clause in known or clause in families, f"{rule.name}: {clause}"
        for ruling in rule.rulings:
            assert ruling in readings, f"{rule.name}: {ruling}"


@pytest.mark.parametrize("name", sorted(PLANS))
def test_clauses_of_calls(name: str) -> None:
    """What a call returns and tells is held to clauses of its own page, unless it took an event."""
    plan = PLANS[name]
    own = [plan.legal, *plan.handle_rules.values(), *plan.refuses]
    own += plan.tells if name not in OBSERVERS else ()
    for rule in own:
        assert all(clause.startswith(f"{plan.page}/") for clause in rule.clauses), rule


def test_asked() -> None:
    """The record tells for each clause how often a rule of it judged a call."""
    freed = {**CALL, "n": 2, "ret": "DAT_SUCCESS"}
    null = {**CALL, "n": 3, "args": [["pz_handle", "DAT_HANDLE_NULL"]], "ret": "DAT_INVALID_HANDLE"}
    calls: list[Any] = [null | {"n": 1}, null | {"n": 2}, freed | {"n": 3}]
    said = judge({"calls": calls}, {}).record
    assert said["asked"] == {"pz_free/invalid_handle": 2}
    assert "asked" not in judge({"calls": [7]}, {}).record


@pytest.mark.parametrize("name", sorted(PLANS))
@pytest.mark.parametrize("ret", ["DAT_SUCCESS", "DAT_INVALID_HANDLE"])
def test_handles_of_no_known_object(name: str, ret: str) -> None:
    """A call on objects that the trace does not make leaves the rest of the trace to be judged."""
    args = [[handle.argument, f"{handle.kind}#9"] for handle in PLANS[name].handles]
    judgement = judge({"calls": [{**CALL, "call": name, "args": args, "ret": ret}]}, {})
    assert not judgement.damage


@pytest.mark.parametrize(("written", "verdict"), [(1, "deviates"), ("unwritten", "agrees")])
def test_an_unwritten_attribute_is_compared_with_nothing(written: object, verdict: str) -> None:
    """What a query leaves in an attribute that was never written is not what was told before."""
    declared = declared_of(
        {
            "ia": {
                "name": "cts0",
                "needs": {"srq_supported": True},
                "attributes": {"srq_supported": written},
            }
        }
    )
    assert declared["srq_supported"] == (True if written == "unwritten" else written)
    lines = [
        'dat_ia_openv name="cts0"; async_evd_min_qlen=64; async_evd_handle=DAT_HANDLE_NULL;'
        " dat_major=1; dat_minor=2; thread_safety=DAT_FALSE -> async_evd_handle=async_evd;"
        " ia_handle=ia",
        "dat_ia_query ia_handle=ia; ia_attr_mask=DAT_IA_FIELD_ALL;"
        " provider_attr_mask=DAT_PROVIDER_FIELD_ALL ->"
        " async_evd_handle=async_evd; ia_attr={}; provider_attr={srq_supported=7}",
    ]
    assert judge(record(lines), declared).verdict == verdict


def test_a_call_beside_missing_ones_of_other_threads() -> None:
    """The free has its number early, and is made late: a missing call may have used the zone."""
    told = record(
        [
            'dat_ia_openv name="cts0"; async_evd_min_qlen=8; async_evd_handle=DAT_HANDLE_NULL;'
            " dat_major=1; dat_minor=2; thread_safety=DAT_FALSE -> async_evd_handle=async_evd;"
            " ia_handle=ia",
            "dat_pz_create ia_handle=ia -> pz_handle=pz#1",
            "2: dat_pz_query pz_handle=pz#1; pz_param_mask=DAT_PZ_FIELD_ALL ->"
            " pz_param={ia_handle=ia} @100+5",
            "dat_pz_free pz_handle=pz#1 -> !DAT_INVALID_STATE @900+5",
            "2: dat_pz_query pz_handle=pz#1; pz_param_mask=DAT_PZ_FIELD_ALL ->"
            " pz_param={ia_handle=ia} @200+5",
            "2: dat_pz_query pz_handle=pz#1; pz_param_mask=DAT_PZ_FIELD_ALL ->"
            " pz_param={ia_handle=ia} @300+5",
        ]
    )
    assert judge(told, {"opened_as": "cts0"}).verdict == "deviates"
    told["calls"].append({**told["calls"][-1], "n": 9, "at_us": 950})
    judgement = judge(told, {"opened_as": "cts0"})
    assert not judgement.deviations
    assert judgement.unjudged["calls of other threads beside it are not kept"] == 2


@pytest.mark.parametrize("mark", [1, 2, 7])
def test_what_was_reaped_is_kept_up_to_the_mark(mark: int) -> None:
    """Whether as many as the mark were reaped behind a time, the kept ones tell as all would."""
    drawn = random.Random(mark)
    srq = Srq("srq#1", None)
    srq.low_watermark, srq.undue = mark, True
    times: list[float] = []
    for clock in range(500):
        times.append(clock + drawn.randrange(5))
        srq.reaps(times[-1])
        assert len(srq.reaped) <= mark
        for until in (clock - 20, clock - 3, clock, clock + 3):
            told = sum(at > until for at in srq.reaped)
            assert told == min(mark, sum(at > until for at in times))


def test_nothing_is_kept_of_what_was_reaped_without_a_mark() -> None:
    """Without a mark whose event is to come, no rule asks for it."""
    srq = Srq("srq#1", None)
    srq.reaps(1)
    assert not srq.reaped
