# SPDX-License-Identifier: BSD-2-Clause
"""Pages are taken apart into the sentences that a reader sees, and nothing is lost."""

import os
import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from runners.catalogue.pages import Page, PageError, parse, read, words
from tests.runners.catalogue.page import KETTLE

PAGES = os.environ.get("UDAPL_CTS_PAGES")


def texts(section: str) -> list[tuple[str, ...]]:
    page = parse("dat_kettle_fill", KETTLE)
    return [(*row.terms, row.text) for row in page.sentences if row.section == section]


def test_running_lines_and_see_also_are_left_out() -> None:
    said = " ".join(row.text for row in parse("dat_kettle_fill", KETTLE).sentences)
    assert "Functions of the Kitchen" not in said
    assert "Jan 2000" not in said
    assert "dat_cup_fill" not in said


def test_name_is_one_row() -> None:
    assert texts("NAME") == [("dat_kettle_fill - pour water into a kettle",)]


def test_synopsis_has_a_row_for_each_thing_to_write() -> None:
    assert texts("SYNOPSIS") == [
        ("cc [ flag... ] file... -lkitchen [ library... ]",),
        ("#include <dat/kitchen.h>",),
        ("DAT_RETURN dat_kettle_fill ( IN DAT_KETTLE_HANDLE kettle, IN DAT_COUNT litres )",),
    ]


def test_entries_give_their_terms_to_each_of_their_sentences() -> None:
    assert texts("PARAMETERS") == [
        ("kettle", "The kettle."),
        ("kettle", "It may be warm."),
        ("litres", "How much to pour, one of:"),
        ("litres", "KETTLE_HALF", "Half of it."),
        ("litres", "KETTLE_FULL", "All that it holds."),
    ]


def test_prose_is_split_into_sentences_and_broken_words_are_rejoined() -> None:
    assert texts("DESCRIPTION") == [
        (
            "The dat_kettle_fill() function pours water, e.g. from the tap, into a kettle that "
            "stands on a cold stove.",
        ),
        ("A full kettle stays as it is.",),
        ("kettle_lid is closed after-wards.",),
        ("Two ways lead there:", "Pour slowly."),
        ("Two ways lead there:", "Listen to the sound while the level rises."),
        ("Two ways lead there:", "Pour fast."),
        ("On the Stove", "A kettle on a stove is refused with DAT_INVALID_STATE."),
        ("On the Stove", "uKettle agrees."),
    ]


def test_table_rows_are_rejoined_and_the_header_is_left_out() -> None:
    assert texts("ATTRIBUTES") == [
        ("See kitchen(5) for what these mean:",),
        ("Standard: Tea, 1.1 (except KETTLE_HALF)",),
        ("MT-Level: Unsafe",),
    ]


def test_hash_is_the_one_that_catalogues_have_stored() -> None:
    page = parse("dat_kettle_fill", KETTLE)
    assert page.sentences[0].hash == "5f3f92a8"
    assert len(page.hashes) == len(page.sentences)


def test_hash_outlives_another_width_and_another_hyphenation() -> None:
    before = parse("p", "DESCRIPTION\n       Fill the half-empty kettle before\n       noon.\n")
    after = parse("p", "DESCRIPTION\n       Fill the half-\n       empty kettle before noon.\n")
    assert before.hashes == after.hashes


def test_hash_tells_the_same_words_under_another_term_apart() -> None:
    page = parse(
        "p", "PARAMETERS\n       one\n            A kettle.\n       two\n            A kettle.\n"
    )
    assert len(page.hashes) == 2


def test_a_changed_word_changes_the_hash() -> None:
    cold = parse("dat_kettle_fill", KETTLE)
    hot = parse("dat_kettle_fill", KETTLE.replace("cold stove", "hot stove"))
    assert len(set(cold.hashes) ^ set(hot.hashes)) == 2


def test_a_sentence_that_the_page_repeats_is_listed_once() -> None:
    page = parse("p", "USAGE\n       Pour. Wait. Pour.\n")
    assert len(page.sentences) == 3
    assert len(page.hashes) == 2


def test_a_text_that_is_no_page_is_refused() -> None:
    with pytest.raises(PageError, match="no section"):
        parse("p", "Dear Sir,\n  nothing here is a section.\n")


def test_a_missing_page_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(PageError, match=r"dat_kettle_fill\.txt: no such page"):
        read(tmp_path, "dat_kettle_fill")


def test_no_word_of_the_synthetic_page_is_lost() -> None:
    assert said_in_order(parse("dat_kettle_fill", KETTLE)) == printed_in_order(KETTLE)


@pytest.mark.skipif(PAGES is None, reason="UDAPL_CTS_PAGES names no folder of pages")
def test_no_word_of_any_page_is_lost() -> None:
    assert PAGES is not None
    paths = sorted(Path(PAGES).glob("*.txt"))
    assert paths
    for path in paths:
        page = read(path.parent, path.stem)
        assert said_in_order(page) == printed_in_order(path.read_text(encoding="utf-8")), path.name


def said_in_order(page: Page) -> list[str]:
    """The words of all sentences, each term once where it begins."""
    said: list[str] = []
    terms: tuple[str, ...] = ()
    for row in page.sentences:
        common = takewhile(lambda pair: pair[0] == pair[1], zip(terms, row.terms, strict=False))
        said += [*row.terms[len(list(common)) :], row.text]
        terms = row.terms
    return words(" ".join(said))


def printed_in_order(text: str) -> list[str]:
    """The words of the page's body: without running lines, headings, bullets, and table header."""
    return words(" ".join(_body(text)))


def _body(text: str) -> Iterator[str]:
    section = ""
    for line in text.splitlines():
        if line[:1].strip():
            section = line.strip()
        elif section != "SEE ALSO" and "ATTRIBUTE TYPE" not in line:
            yield re.sub(r"^ +(o|\d+\.)  +", "", line)
