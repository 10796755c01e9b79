# SPDX-License-Identifier: BSD-2-Clause
"""What cases leave in a record, as the tests of causes need it."""

from pathlib import Path
from typing import Any

from results.causes.grouping import causes
from results.model.load import load
from tests.reports.synthetic_run import Record, SyntheticRun, call, check


def failing(name: str, line: int, seen: str = "DAT_SUCCESS", **more: Any) -> Record:
    """What a case leaves whose call `name` was checked at `line`, and answered `seen`."""
    told = check(f"{name}(...)", ok=False, expected=["DAT_INVALID_STATE"], seen=seen, line=line)
    return {"calls": [call(1, name)], "checks": [told | more]}


def refused(name: str, line: int, expected: str) -> Record:
    """What a case leaves whose call `name` returned DAT_INTERNAL_ERROR."""
    left = failing(name, line, "DAT_INTERNAL_ERROR", expected=[expected], text="race[1].ret")
    return left | {"calls": [call(1, name, ret="DAT_INTERNAL_ERROR")]}


def deviating(clause: str) -> Record:
    """What the executable specification says where the first call deviates from `clause`."""
    return {
        "verdict": "deviates",
        "judged": 1,
        "unjudged": 0,
        "why": f"call 1 is wrong [{clause}]",
        "clause": clause,
        "who": "case",
        "n": 1,
    }


def blocked(name: str, ret: str = "DAT_INTERNAL_ERROR") -> Record:
    """What a case leaves that was blocked because `name` returned `ret`."""
    site = {"file": "cases/srq/srq_resize.c", "line": 3, "text": name}
    step = {"call": name, "ret": ret, "site": site}
    return {"reason": f"{name} returned {ret}", "blocked": step, "checks": []}


def crashed(*frames: str, pending: str = "dat_srq_query") -> Record:
    """What a case leaves that crashed in these frames."""
    return {"calls": [], "pending": pending, "crash": {"signal": "SIGSEGV", "backtrace": frames}}


def by_condition(name: str) -> Record:
    """What a case leaves whose check of a condition failed after call `name`."""
    condition = "woken.evd == evd"
    seen = "the CNO names another EVD"
    told = check(condition, ok=False, expected=[condition], seen=seen)
    return {"calls": [call(1, name)], "checks": [told]}


def groups(
    tmp_path: Path, *cases: tuple[str, Record], page: str = "dat_srq_resize"
) -> list[list[str]]:
    """The names of cases with these verdicts, by cause."""
    run = SyntheticRun(modes=(1,))
    for number, (verdict, left) in enumerate(cases):
        run.case(str(number), verdict, {"page": page}, **left)
    found = causes(load(run.write(tmp_path)))
    return [[case.clause.name for case in cause.cases] for cause in found]


def of_cno(n: int, name: str, cno: int, ret: str = "DAT_SUCCESS", **more: Any) -> Record:
    return call(n, name, ("cno_handle", f"cno#{cno}"), ret=ret, **more)


def granted_a_bad_handle() -> Record:
    told = check("dat_cno_free(bad)", ok=False, expected=["DAT_INVALID_HANDLE"], line=30)
    calls = [of_cno(1, "dat_cno_query", 1), of_cno(2, "dat_cno_free", 7)]
    return {"calls": calls, "checks": [told | {"seen": "DAT_SUCCESS", "calls": 2}]}


def lets_wait() -> Record:
    told = check("waiter returns", ok=False, expected=["the return"], seen="it waits", line=60)
    return {"calls": [of_cno(1, "dat_cno_free", 1)], "checks": [told]}
