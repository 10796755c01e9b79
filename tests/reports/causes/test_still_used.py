# SPDX-License-Identifier: BSD-2-Clause
"""What a free leaves in use is one cause, of the free."""

from pathlib import Path

import pytest

from results.causes.cause import Cause
from results.causes.grouping import causes
from results.model.load import load
from tests.reports.synthetic_run import Record, SyntheticRun, call, check

IN_USE = "DAT_CONN_QUAL_IN_USE"


def listens(n: int, name: str, qualifier: str, point: str = "") -> Record:
    """A call that makes a service point, or that is refused one."""
    args = ("ia_handle", "ia"), ("conn_qual", qualifier)
    out = [[f"{point.partition('#')[0]}_handle", point]] if point else []
    return call(n, name, *args, ret="DAT_SUCCESS" if point else IN_USE, out=out)


def frees(n: int, name: str, handle: str, ret: str = "DAT_SUCCESS") -> Record:
    return call(n, name, (f"{handle.partition('#')[0]}_handle", handle), ret=ret)


def makes(n: int, name: str, zone: str, handle: str) -> Record:
    out = [[f"{handle.partition('#')[0]}_handle", handle]]
    return call(n, name, ("pz_handle", zone), out=out)


def again(name: str, *between: Record, line: int = 10) -> Record:
    """What a case leaves that `name` refused the qualifier of a freed PSP."""
    calls = [listens(1, "dat_psp_create", "7", "psp#1"), *between, listens(9, name, "7")]
    seen = check(f"{name}(...)", ok=False, expected=["DAT_SUCCESS"], seen=IN_USE, line=line)
    return {"calls": calls, "checks": [seen | {"calls": 9}]}


def zone_in_use(*calls: Record) -> Record:
    """What a case leaves whose PZ was refused its free behind these calls."""
    ret = "DAT_INVALID_STATE"
    seen = check("dat_pz_free(...)", ok=False, expected=["DAT_SUCCESS"], seen=ret)
    return {
        "calls": [*calls, frees(9, "dat_pz_free", "pz#1", ret)],
        "checks": [seen | {"calls": 9}],
    }


def found(tmp_path: Path, **cases: Record) -> list[Cause]:
    """The causes of cases that failed, by page."""
    run = SyntheticRun(modes=(1,))
    for page, left in cases.items():
        run.case(f"{page}/fails", "FAIL", {"page": f"dat_{page}"}, **left)
    return causes(load(run.write(tmp_path)))


def test_a_qualifier_that_a_free_leaves_in_use_is_of_the_free(tmp_path: Path) -> None:
    freed = frees(2, "dat_psp_free", "psp#1")
    by_psp, by_rsp = again("dat_psp_create", freed), again("dat_rsp_create", freed, line=20)
    (cause,) = found(tmp_path, psp_create=by_psp, rsp_create=by_rsp)
    assert cause.name.startswith("dat_psp_free, seen in dat_psp_create, dat_rsp_create: ")


@pytest.mark.parametrize(
    "between",
    [
        # The point is there still.
        [],
        [frees(2, "dat_psp_free", "psp#1", "DAT_INVALID_HANDLE")],
        # Another one has the qualifier.
        [frees(2, "dat_psp_free", "psp#1"), listens(3, "dat_psp_create", "7", "psp#2")],
    ],
)
def test_a_qualifier_that_is_used_is_of_the_create(tmp_path: Path, between: list[Record]) -> None:
    (cause,) = found(tmp_path, psp_create=again("dat_psp_create", *between))
    assert cause.name.startswith("dat_psp_create: ")


def test_a_zone_that_a_free_leaves_in_use_is_of_the_free(tmp_path: Path) -> None:
    made = makes(1, "dat_rmr_create", "pz#1", "rmr#1")
    left = zone_in_use(made, frees(2, "dat_rmr_free", "rmr#1"))
    (cause,) = found(tmp_path, pz_free=left)
    assert cause.name.startswith("dat_rmr_free, seen in dat_pz_free: ")


@pytest.mark.parametrize(
    "more",
    [
        # It may be of either free.
        [makes(3, "dat_srq_create", "pz#1", "srq#1"), frees(4, "dat_srq_free", "srq#1")],
        # An EP got it by another call.
        [call(3, "dat_ep_modify", ("ep_handle", "ep#1"), ("pz_handle", "pz#1"))],
        # An SRQ has it.
        [makes(3, "dat_srq_create", "pz#1", "srq#1")],
    ],
)
def test_a_zone_that_others_may_use_is_of_its_own_free(tmp_path: Path, more: list[Record]) -> None:
    made = makes(1, "dat_rmr_create", "pz#1", "rmr#1"), frees(2, "dat_rmr_free", "rmr#1")
    (cause,) = found(tmp_path, pz_free=zone_in_use(*made, *more))
    assert cause.name.startswith("dat_pz_free: ")


def refuses(n: int, name: str, zone: str) -> Record:
    args = ("ia_handle", "ia"), ("pz_handle", zone)
    return call(n, name, *args, ret="DAT_INVALID_PARAMETER")


@pytest.mark.parametrize(
    ("zone", "name"),
    # The second one is of another zone.
    [("pz#1", "dat_srq_create, seen in dat_pz_free: "), ("pz#2", "dat_pz_free: ")],
)
def test_what_a_refused_create_keeps_is_of_it(tmp_path: Path, zone: str, name: str) -> None:
    left = zone_in_use(refuses(1, "dat_srq_create", zone))
    (cause,) = found(tmp_path, srq_create=left, pz_free=left)
    assert cause.name.startswith(name)


def test_refused_creates_of_two_kinds_are_named_both(tmp_path: Path) -> None:
    srq, lmr = (zone_in_use(refuses(1, f"dat_{name}_create", "pz#1")) for name in ("srq", "lmr"))
    (cause,) = found(tmp_path, srq_create=srq, lmr_create=lmr)
    assert cause.name.startswith("dat_srq_create, dat_lmr_create, seen in dat_pz_free: ")


def gives(n: int, evd: str, cno: str) -> Record:
    return call(n, "dat_evd_modify_cno", ("evd_handle", evd), ("cno_handle", cno))


def feeds(n: int, evd: str, cno: str) -> Record:
    args = ("ia_handle", "ia"), ("cno_handle", cno)
    return call(n, "dat_evd_create", *args, out=[["evd_handle", evd]])


def cno_in_use(*calls: Record) -> Record:
    """What a case leaves whose CNO was refused its free behind these calls."""
    ret = "DAT_INVALID_STATE"
    seen = check("dat_cno_free(...)", ok=False, expected=["DAT_SUCCESS"], seen=ret)
    return {
        "calls": [*calls, frees(9, "dat_cno_free", "cno#1", ret)],
        "checks": [seen | {"calls": 9}],
    }


@pytest.mark.parametrize(
    ("calls", "behind"),
    [
        ([feeds(1, "evd#1", "cno#1"), gives(2, "evd#1", "cno#2")], "dat_evd_modify_cno"),
        ([feeds(1, "evd#1", "cno#2"), gives(2, "evd#1", "cno#1")], ""),
        (
            [
                feeds(1, "evd#1", "cno#2"),
                gives(2, "evd#1", "cno#1"),
                frees(3, "dat_evd_free", "evd#1"),
            ],
            "dat_evd_free",
        ),
        (
            [
                feeds(1, "evd#1", "cno#1"),
                gives(2, "evd#1", "DAT_HANDLE_NULL"),
                frees(3, "dat_evd_free", "evd#1"),
            ],
            "dat_evd_modify_cno",
        ),
        (
            [
                feeds(1, "evd#1", "cno#1"),
                feeds(2, "evd#2", "cno#1"),
                gives(3, "evd#1", "DAT_HANDLE_NULL"),
            ],
            "",
        ),
    ],
)
def test_what_a_change_takes_from_its_object_is_of_the_change(
    tmp_path: Path, calls: list[Record], behind: str
) -> None:
    (cause,) = found(tmp_path, cno_free=cno_in_use(*calls))
    assert cause.behind == behind


def binds(n: int, rmr: str, lmr: str) -> Record:
    """A bind of the RMR to a segment of the LMR."""
    segment = f"{{lmr_context={lmr}, virtual_address={lmr}+0, segment_length=64}}"
    return call(n, "dat_rmr_bind", ("rmr_handle", rmr), ("lmr_triplet", segment))


@pytest.mark.parametrize(
    ("calls", "behind"),
    [
        ([binds(1, "rmr#1", "lmr#1"), binds(2, "rmr#1", "lmr#2")], "dat_rmr_bind"),
        ([binds(1, "rmr#1", "lmr#1"), frees(2, "dat_rmr_free", "rmr#1")], "dat_rmr_free"),
        # It is bound still.
        ([binds(1, "rmr#1", "lmr#1"), binds(2, "rmr#2", "lmr#2")], ""),
    ],
)
def test_a_region_that_a_bind_leaves_in_use(
    tmp_path: Path, calls: list[Record], behind: str
) -> None:
    ret = "DAT_INVALID_STATE"
    told = check("dat_lmr_free(...)", ok=False, expected=["DAT_SUCCESS"], seen=ret)
    freed = frees(9, "dat_lmr_free", "lmr#1", ret)
    left = {"calls": [*calls, freed], "checks": [told | {"calls": 9}]}
    (cause,) = found(tmp_path, lmr_free=left)
    assert cause.name.startswith(f"{behind}, seen in dat_lmr_free" if behind else "dat_lmr_free: ")
