# SPDX-License-Identifier: BSD-2-Clause
"""The table of invariants: an honest record breaks none, and each has ways to be broken."""

import copy
import random
from pathlib import Path

import pytest

from results.runlog.invariants import TABLE, broken
from tests.hostile.impossible import WAYS, good, impossible
from tests.reports.synthetic_run import write_records
from tests.runners.fake_checkout import REPOSITORY


def test_an_honest_record_breaks_none(tmp_path: Path) -> None:
    write_records(tmp_path, good())
    assert list(broken(tmp_path)) == []


def test_a_log_that_is_too_long_has_a_gap(tmp_path: Path) -> None:
    records = good()
    record = next(each for each in records if each["type"] == "verdict")
    del record["calls"][5]
    record["oracle"]["judged"] -= 1
    record["records"] = ["calls 6 to 6 are not kept: the first 256 and the last 256 are"]
    write_records(tmp_path, records)
    assert list(broken(tmp_path)) == []


def test_a_call_that_ended_its_process_leaves_a_gap(tmp_path: Path) -> None:
    records = good()
    record = next(each for each in records if each["type"] == "verdict")
    del record["calls"][5]
    record["oracle"]["judged"] -= 1
    record["records"] = ["the call ended its process: Segmentation fault"]
    write_records(tmp_path, records)
    assert list(broken(tmp_path)) == []
    del record["calls"][6]
    record["oracle"]["judged"] -= 1
    write_records(tmp_path, records)
    assert list(broken(tmp_path)) != []


@pytest.mark.parametrize("name", [row.name for row in TABLE])
def test_what_breaks_an_invariant_is_told_by_its_name(tmp_path: Path, name: str) -> None:
    assert WAYS[name]
    for seed, change in enumerate(WAYS[name]):
        records = copy.deepcopy(good())
        change(random.Random(seed), records)
        write_records(tmp_path, records)
        told = list(broken(tmp_path))
        assert any(text.endswith(f"({name})") for text in told), (change, told)


def test_a_thousand_impossible_records_are_all_found(tmp_path: Path) -> None:
    figures = impossible(tmp_path, 1000, random.Random(40))
    assert figures.tried == 1000
    assert figures.harmless, figures.examples


def test_the_table_of_the_documentation_is_this_one() -> None:
    text = (REPOSITORY / "docs/results.md").read_text()
    for row in TABLE:
        assert f"| `{row.name}` | {row.of} | {row.text} |" in text
