# SPDX-License-Identifier: BSD-2-Clause
"""The chain of records: what was done to a run's file afterwards, and which record tells of it."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from results.errors import ReportError
from results.model.attempt import Verdict
from results.model.load import load
from results.runlog.chain import START, broken, linked
from tests.reports.synthetic_run import (
    Record,
    SyntheticRun,
    check,
    read_lines,
    red_run,
    write_lines,
    write_records,
)

Lines = list[bytes]


def changed(lines: Lines, line: int, old: bytes, new: bytes) -> Lines:
    """The lines with one word of one of them changed."""
    assert old in lines[line - 1]
    return [*lines[: line - 1], lines[line - 1].replace(old, new), *lines[line:]]


LINES: dict[str, tuple[Callable[[Lines], Lines], str]] = {
    "a time was changed": (
        lambda lines: changed(lines, 5, b"03:04:06", b"03:04:07"),
        "line 6: it does not carry the digest of record 5",
    ),
    "a space was put in": (
        lambda lines: changed(lines, 2, b'{"type"', b'{ "type"'),
        "line 3: it does not carry the digest of record 2",
    ),
    "one was left out": (
        lambda lines: [*lines[:4], *lines[5:]],
        "line 5: this is record 6, and record 5 is not there",
    ),
    "three were left out": (
        lambda lines: [*lines[:4], *lines[7:]],
        "line 5: this is record 8, and records 5 to 7 are not there",
    ),
    "the first was left out": (
        lambda lines: lines[1:],
        "line 1: this is record 2, and record 1 is not there",
    ),
    "one was doubled": (
        lambda lines: [*lines[:5], *lines[4:]],
        "line 6: record 5 stands there twice",
    ),
    "all were doubled": (lambda lines: [*lines, *lines], "this is record 1, out of its order"),
    "two were swapped": (
        lambda lines: [*lines[:4], lines[5], lines[4], *lines[6:]],
        "line 5: this is record 6, and record 5 is not there",
    ),
    "one was moved to the end": (
        lambda lines: [*lines[:4], *lines[5:], lines[4]],
        "line 5: this is record 6, and record 5 is not there",
    ),
    "one was put in between": (
        lambda lines: [*lines[:4], b'{"type":"incident","what":"ia","host":"","text":""}\n'],
        "line 5: the record has no number",
    ),
    "one was renumbered": (
        lambda lines: changed(lines, 5, b'"n":5', b'"n":true'),
        "line 5: the record has no number",
    ),
    "its number is another": (
        lambda lines: changed(lines, 5, b'"n":5', b'"n":3'),
        "line 5: this is record 3, out of its order",
    ),
    "the first follows another": (
        lambda lines: changed(lines, 1, b'"prev":"0', b'"prev":"1'),
        "line 1: the first record carries the digest of another",
    ),
    "a digest was changed": (
        lambda lines: changed(lines, 8, b'"prev":"', b'"prev":"0'),
        "line 8: it does not carry the digest of record 7",
    ),
}


@pytest.mark.parametrize("what", LINES)
def test_what_was_done_to_lines(tmp_path: Path, what: str) -> None:
    folder = red_run().write(tmp_path)
    lines = read_lines(folder)
    assert load(folder).records == len(lines)
    done, said = LINES[what]
    write_lines(folder, done(lines))
    with pytest.raises(ReportError, match=f"{re.escape(said)}.*damaged after"):
        load(folder)


def first_of(records: list[Record], word: str) -> Record:
    """The first verdict with this word."""
    return next(record for record in records if record.get("verdict") == word)


def set_to(word: str, **members: object) -> Callable[[list[Record]], None]:
    """Changes the first verdict with this word."""

    def change(records: list[Record]) -> None:
        first_of(records, word).update(members)

    return change


def held_in_vain(records: list[Record]) -> None:
    """A check is changed into one that held, and what it saw is still there."""
    record = first_of(records, "FAIL")
    record["verdict"] = "PASS"
    record["checks"][-1]["ok"] = True


def counted_in_vain(records: list[Record]) -> None:
    record = first_of(records, "PASS")
    record["checks"] = [check("queue.depth == 8", expected=["8"], seen="3")]


def twice(records: list[Record]) -> None:
    records.insert(-1, dict(first_of(records, "FAIL"), verdict="CRASH"))


def again_first(records: list[Record]) -> None:
    first_of(records, "PASS")["attempt"] = 2


def elsewhere(records: list[Record]) -> None:
    first_of(records, "PASS")["case"] = "srq_resize/unheard_of"


def in_vain(records: list[Record]) -> None:
    records[-1]["exit"] = 0


def left_out(records: list[Record]) -> None:
    records.remove(first_of(records, "NOTE"))
    for record in [r for r in records if r.get("verdict") in ("FAIL", "CRASH", "TIMEOUT")]:
        records.remove(record)
    records[:] = [record for record in records if record.get("attempt") != 2]


RECORDS: dict[str, tuple[Callable[[list[Record]], None], str]] = {
    "FAIL to PASS": (set_to("FAIL", verdict="PASS"), "below_outstanding is PASS there, but"),
    "FAIL to NOTE": (set_to("FAIL", verdict="NOTE"), "below_outstanding is NOTE there, but"),
    "FAIL to RESOURCE": (set_to("FAIL", verdict="RESOURCE"), "is RESOURCE there, but"),
    "FAIL to UNSUPPORTED": (set_to("FAIL", verdict="UNSUPPORTED"), "is UNSUPPORTED there, but"),
    "a check that held": (
        held_in_vain,
        "dat_srq_resize(srq, 1) did not hold: expected DAT_INVALID_STATE or"
        " DAT_INSUFFICIENT_RESOURCES, saw DAT_SUCCESS",
    ),
    "a count that held": (counted_in_vain, "queue.depth == 8 did not hold: expected 8, saw 3"),
    "CRASH to PASS": (set_to("CRASH", verdict="PASS"), "dat_srq_resize did not return"),
    "no checks": (set_to("PASS", checks=[]), "nothing was checked"),
    "no calls": (set_to("PASS", calls=[]), "no call was made"),
    "FAIL of nothing": (set_to("PASS", verdict="FAIL"), "every check held, and no other reason"),
    "a second first verdict": (twice, "below_outstanding has this verdict already, on line 12"),
    "again before at all": (again_first, "was run again before it was run at all"),
    "of no plan": (elsewhere, "srq_resize/unheard_of was not planned on 1 host"),
    "the exit": (in_vain, "it tells exit 0, and the verdicts before it come to 1"),
    "findings left out": (left_out, "it tells exit 1, and the verdicts before it come to 2"),
}


@pytest.mark.parametrize("what", RECORDS)
def test_what_a_chain_made_anew_cannot_hide(tmp_path: Path, what: str) -> None:
    run = red_run()
    folder = run.write(tmp_path)
    records = run.lines()
    change, said = RECORDS[what]
    change(records)
    write_records(folder, records)
    with pytest.raises(ReportError, match=f"line [0-9]+: .*{re.escape(said)}"):
        load(folder)


def test_the_last_digest_is_in_every_report(tmp_path: Path) -> None:
    from reports.render import FORMATS, render

    folder = red_run().write(tmp_path)
    last = START
    for line in read_lines(folder):
        last = last.to(line)
    for fmt in FORMATS:
        assert last.digest in render(folder, fmt).read_text()


def test_a_record_without_members_is_in_the_chain() -> None:
    line = linked(b"{}", START)
    assert json.loads(line) == {"n": 1, "prev": START.digest}
    assert broken(json.loads(line), START) == ""


def test_an_older_format_is_refused_by_name(tmp_path: Path) -> None:
    run = SyntheticRun()
    run.head["format"] = 1
    with pytest.raises(ReportError, match="of format 1, whose records carry no digest"):
        load(run.write(tmp_path))


@pytest.mark.parametrize("version", [2, 3])
def test_an_error_of_an_earlier_format_is_read(tmp_path: Path, version: int) -> None:
    run = SyntheticRun(modes=(1,))
    run.head["format"] = version
    case = run.case("grow", "BROKEN", reason="the peer left", calls=[], checks=[])
    run.end()
    read = load(run.write(tmp_path))
    (found,) = read.cases
    assert (found.id, found.worst) == (case, Verdict.ERROR)
