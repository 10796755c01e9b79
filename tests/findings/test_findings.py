# SPDX-License-Identifier: BSD-2-Clause
"""What a run finds is compared with the table of its findings."""

from pathlib import Path

import pytest

from results.causes.grouping import causes
from results.model.load import load
from tests.findings import __main__ as findings
from tests.reports.synthetic_run import SyntheticRun, call, check


def test_what_is_new_gone_and_changed_is_listed() -> None:
    known = {
        "a/stays": ("FAIL", "1"),
        "a/ends_otherwise": ("FAIL", "1"),
        "a/gone": ("CRASH", "2"),
        "a/blocked_now": ("FAIL", "2"),
        "a/comes_and_goes": ("FAIL", findings.UNSTABLE),
    }
    now = {
        "a/stays": ("FAIL", "4"),
        "a/ends_otherwise": ("CRASH", "4"),
        "a/blocked_now": ("BLOCKED", "3"),
        "a/new": ("TIMEOUT", "5"),
    }
    assert findings.differences(known, now) == [
        "changed: a/blocked_now, FAIL (cause 2), now BLOCKED",
        "gone: a/gone, CRASH (cause 2)",
        "new: a/new, TIMEOUT",
    ]


def test_a_table_that_was_written_has_no_differences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings, "FINDINGS", tmp_path)
    run = SyntheticRun(modes=(1,))
    told = check("dat_srq_query(...)", ok=False, expected=["DAT_SUCCESS"], seen="DAT_INVALID_STATE")
    case = run.case("one", "FAIL", calls=[call(1, "dat_srq_query")], checks=[told])
    folder = run.write(tmp_path)
    assert findings.main("write", "vendor", folder) == 0
    assert findings.read("vendor") == {case: ("FAIL", "1")}
    assert findings.found(causes(load(folder))) == findings.read("vendor")
    assert findings.main("compare", "vendor", folder) == 0
    (tmp_path / "vendor.tsv").write_text("case\tverdict\tcause\n")
    assert findings.main("compare", "vendor", folder) == 1


@pytest.mark.parametrize("path", sorted(findings.FINDINGS.glob("*.tsv")), ids=lambda p: p.stem)
def test_each_cause_of_a_table_is_adjudicated(path: Path) -> None:
    page = path.with_suffix(".md").read_text(encoding="utf-8")
    numbers = {cause for _, cause in findings.read(path.stem).values()} - {findings.UNSTABLE}
    assert not [number for number in sorted(numbers) if f"\n| {number} | " not in page]
