# SPDX-License-Identifier: BSD-2-Clause
"""The C case of a walk: each step's call compiles, and it expects what the reference answers."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from results.errors import InputError
from results.runlog.walks import Wrong
from runners.campaign.explore.chains import beginning
from runners.campaign.explore.emit import CALLS, case_of
from runners.campaign.explore.step import CR, EVD, OTHER, PZ, RMR, named
from runners.campaign.explore.steps import STEPS
from tests.runners.fake_checkout import REPOSITORY

COMPILE = ("cc", "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-fsyntax-only")
# Where a step makes its object, if another step makes one of the same kind.
SLOT_OF = {
    "ep_create_with_srq": 21,
    "ep_create_flags": 22,
    "ep_create_number": 23,
    "psp_create_any": 21,
    "psp_create_making": 22,
    "lmr_create_of": 21,
    "lmr_create_shared": 22,
}
OPENED = ("dat_ia_openv", "dat_ia_query")


def told(program: Sequence[str], **last: Any) -> dict[str, Any]:
    """The record of a walk whose calls succeed; `last` are members of the last call."""
    names = [*OPENED, *(CALLS[line.split()[0]].partition("(")[0] for line in program)]
    calls: list[dict[str, Any]] = [
        {"n": n, "call": name, "ret": "DAT_SUCCESS"} for n, name in enumerate(names, 1)
    ]
    calls[-1] |= last
    return {"calls": calls}


def wrong(record: dict[str, Any]) -> Wrong:
    """What deviates is the last call."""
    call = record["calls"][-1]
    return Wrong("deviates", call["call"], "srq_resize/grow", call["n"], "case call: why")


def compiles(text: str, folder: Path) -> None:
    path = folder / "1.c"
    path.write_text(text)
    found = [f"-I{REPOSITORY / name}" for name in ("harness", "include")]
    done = subprocess.run(
        [*COMPILE, *found, "-DUDAPL_CTS_API_MAJOR=1", path], capture_output=True, check=False
    )
    assert done.returncode == 0, (done.stderr.decode(), text)


def test_each_step_compiles(tmp_path: Path) -> None:
    drawn = [f"{name} {' '.join('1' for _ in STEPS[name].args)}" for name in CALLS]
    # Objects are made in slots of their own, and no other call frees them.
    for at, line in enumerate(drawn):
        name, *args = line.split()
        kind = next((k for k, at in KINDS.items() if name.startswith(at)), 0)
        slot = SLOT_OF.get(name, 20)
        drawn[at] = " ".join([name, str(named(kind, slot)), *args[1:]])
    program = [*beginning(), *drawn]
    record = told(program)
    text = case_of(program, record, record | {"calls": record["calls"][:-1]}, LAST, 1)
    for name in CALLS:
        assert CALLS[name].partition("(")[0] + "(" in text
    compiles(text, tmp_path)


KINDS = dict(enumerate(("pz", "lmr", "rmr", "evd", "cno", "srq", "ep", "psp", "cr", "rsp")))
LAST = Wrong("CRASH", "dat_cr_reject", "", 0, "SIGSEGV")


def test_upper_slots_are_of_the_second_ia(tmp_path: Path) -> None:
    """What a close took is the null handle, and what is left is freed before the IA is closed."""
    zone = named(PZ, OTHER)
    window = named(RMR, 0)
    program = ["ia_open 64", f"pz_create {zone}", f"rmr_create {window} {zone}", "ia_close 0"]
    program += [f"pz_query {zone} -1", f"rmr_query {window} -1"]
    program += ["ia_open 64", f"pz_create {zone}"]
    record = told([*program, f"pz_free {zone}", "ia_close 0"])
    text = case_of(program, record, record, LAST, 1)
    assert text.count("dat_pz_create(other, &pz[16])") == 2
    assert "dat_pz_query(DAT_HANDLE_NULL" in text
    assert "dat_rmr_query(DAT_HANDLE_NULL" in text
    assert text.index("dat_pz_free(pz[16])") < text.rindex("dat_ia_close(other, 0 ?")
    compiles(text, tmp_path)


def test_another_return_is_expected(tmp_path: Path) -> None:
    program = ["pz_create 0", "srq_create 5000 0 8 1", "srq_resize 5000 16"]
    found = told(program, ret="DAT_INSUFFICIENT_RESOURCES")
    text = case_of(program, found, told(program), wrong(found), 3)
    assert "CASE(srq_resize, walk_3)" in text
    assert "must(dat_pz_create(ia(t), &pz[0]));" in text
    assert "expect(dat_srq_resize(srq[0], 16), DAT_SUCCESS);" in text
    compiles(text, tmp_path)


def test_another_value_is_compared(tmp_path: Path) -> None:
    program = ["pz_create 0", "srq_create 5000 0 8 1", "srq_query 5000 -1"]
    seen = {"srq_param": {"srq_handle": {"handle": "srq#1"}, "max_recv_dtos": 7}}
    due = {"srq_param": {"srq_handle": {"handle": "srq#1"}, "max_recv_dtos": 8}}
    found = told(program, typed={"out": seen})
    text = case_of(program, found, told(program, typed={"out": due}), wrong(found), 1)
    assert "expect_eq(told.srq_param.max_recv_dtos, 8);" in text
    compiles(text, tmp_path)


def test_what_c_cannot_tell_is_said() -> None:
    program = ["pz_create 0", "pz_query 0 -1"]
    found = told(program)
    with pytest.raises(InputError, match="in nothing that C compares"):
        case_of(program, found, told(program), wrong(found), 1)


def test_a_walk_with_a_thread_is_no_c_case() -> None:
    program = ["pz_create 0", f"evd_waiter {named(EVD, 31)} 5 1"]
    found = told(program[:1])
    with pytest.raises(InputError, match="it has the step evd_waiter"):
        case_of(program, found, told(program[:1]), wrong(found), 1)


def test_a_request_is_taken_from_its_event(tmp_path: Path) -> None:
    program = [f"evd_wait {named(EVD, 3)} {named(CR, 0)} 100 1", f"cr_accept {named(CR, 0)} -1 0"]
    found = told(program, ret="DAT_INVALID_STATE")
    event = {"event": {"event_number": "DAT_CONNECTION_REQUEST_EVENT"}}
    found["calls"][2]["typed"] = {"out": event}
    text = case_of(program, found, told(program), wrong(found), 1)
    assert "cr[0] = told.event.event_data.cr_arrival_event_data.cr_handle;" in text
    assert "expect(dat_cr_accept(cr[0], DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);" in text
    compiles(text, tmp_path)


def test_steps_that_are_not_taken_are_no_calls(tmp_path: Path) -> None:
    program = ["pz_free 0", "&pz_query 0 -1", "&pz_free 0", "pz_create 0", "&srq_create 5000 0 8 1"]
    made = [line.removeprefix("&") for line in (program[0], *program[3:])]
    good, found = told(made), told(made, ret="DAT_INVALID_STATE")
    for record in (good, found):
        record["calls"][2]["ret"] = "DAT_INVALID_HANDLE"
    text = case_of(program, found, good, wrong(found), 1)
    assert "dat_pz_query" not in text
    assert "must(dat_pz_create(ia(t), &pz[0]));" in text
    assert "expect(dat_srq_create(" in text
    compiles(text, tmp_path)


def test_values_with_a_name_are_written_by_it(tmp_path: Path) -> None:
    program = ["pz_create 0", "srq_create 5000 0 -3 1", "pz_free 0", "pz_query 100 -1"]
    found = told(program, ret="DAT_SUCCESS")
    good = told(program, ret="DAT_INVALID_HANDLE")
    text = case_of(program, found, good, wrong(found), 1)
    assert ".max_recv_dtos = ia_attr(t)->max_recv_per_srq," in text
    # The handle is that of the object that was freed.
    assert "expect(dat_pz_query(pz[0], DAT_PZ_FIELD_ALL, &told.pz_param)" in text
    compiles(text, tmp_path)
