# SPDX-License-Identifier: BSD-2-Clause
"""Lines of a trace, as readers see them: what stands together."""

from pathlib import Path

import pytest

from reports.evidence_text import shown, trace
from reports.render import render
from results.model.load import load
from tests.reports.html_page import Page
from tests.reports.synthetic_run import SyntheticRun, call, check

UNSET = "a=0xa5a5a5a5a5a5a5a5, b=2779096485, c=DAT_QOS_ECONOMY|0xa5a5a5a1"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (f"{{x=3, {UNSET}}}", "{x=3, 3 members of bytes 0xa5}"),
        (
            f"{{{UNSET}, d=-1515870811, y=1, z={{{UNSET}}}}}",
            "{4 members of bytes 0xa5, y=1, z={3 members of bytes 0xa5}}",
        ),
        (f"{{x=2779096485, z={{{UNSET}}}, y=1}}", "{4 members of bytes 0xa5, y=1}"),
        ("{a=0xa5a5a5a5a5a5a5a5, b=2779096485, c=7}", "{2 members of bytes 0xa5, c=7}"),
        ("{a=0xa5a5a5a5a5a5a5a5, c=7}", "{a=0xa5a5a5a5a5a5a5a5, c=7}"),
        ("0xa5a5a5a5", "0xa5a5a5a5"),
        (f"{{{UNSET}12}}", "{2 members of bytes 0xa5, c=DAT_QOS_ECONOMY|0xa5a5a5a112}"),
    ],
)
def test_members_that_were_not_set_are_told_together(value: str, told: str) -> None:
    assert shown(value) == told


def test_a_check_that_holds_several_times_is_one_line(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    held = check("same(before, &after)", line=7, calls=1)
    broken = check("same(before, &after)", ok=False, line=7, calls=1, seen="other")
    calls = [call(1, "dat_srq_resize")]
    run.case("grow", "FAIL", calls=calls, checks=[held, held, held, broken, broken])
    (case,) = load(run.write(tmp_path)).findings
    assert case.decisive
    lines = trace(case.decisive, 100).shown
    assert [line.times for line in lines if line.check] == [3, 1, 1]
    page = Page(render(run.write(tmp_path), "html"))
    assert "expect same(before, &after) (3 times)" in page.text_of("results")
