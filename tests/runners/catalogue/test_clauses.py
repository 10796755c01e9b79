# SPDX-License-Identifier: BSD-2-Clause
"""Catalogue files are read whole, and each fault in one is named with file, clause and field."""

from pathlib import Path

import pytest

from runners.catalogue.clauses import CatalogueError, Clause, load, load_page

HEAD = """\
page = "dat_kettle_fill"
sentences = ["00000001", "00000002", "00000003"]

[[informative]]
sentences = ["00000003"]
reason = "Says where to buy one."
"""

CLAUSE = """
[[clause]]
id = "kettle_fill/full"
section = "DESCRIPTION"
level = "must"
sentences = ["00000001"]
text = "A full kettle is left alone."
check = "local"
needs = ["srq_supported"]
rulings = ["TEA-1"]
"""

FAMILY = """
[[clause]]
id = "kettle_fill/handle"
section = "DESCRIPTION"
level = "must"
sentences = ["00000002"]
text = "What is no kettle is refused."
check = "local"
rows = ["null", { id = "cup", text = "A cup is refused.", level = "may", rulings = ["CUP-2"] }]
"""


@pytest.fixture
def kettle(tmp_path: Path) -> Path:
    path = tmp_path / "cases" / "kettle" / "kettle_fill.toml"
    path.parent.mkdir(parents=True)
    path.write_text(HEAD + CLAUSE + FAMILY, encoding="utf-8")
    return path


def faults_of(path: Path, text: str) -> list[str]:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CatalogueError) as raised:
        load_page(path, "kettle_fill.toml")
    return list(raised.value.faults)


def test_a_clause_is_read_whole(kettle: Path) -> None:
    page = load_page(kettle)
    assert page.page == "dat_kettle_fill"
    assert page.slug == "kettle_fill"
    assert page.sentences == ("00000001", "00000002", "00000003")
    assert page.informative[0].reason == "Says where to buy one."
    assert page.clauses[0] == Clause(
        id="kettle_fill/full",
        page="dat_kettle_fill",
        section="DESCRIPTION",
        level="must",
        sentences=("00000001",),
        text="A full kettle is left alone.",
        check="local",
        needs=("srq_supported",),
        rulings=("TEA-1",),
    )


def test_each_row_of_a_family_is_a_clause(kettle: Path) -> None:
    null, cup = load_page(kettle).clauses[1:]
    assert (null.id, null.text, null.level, null.rulings) == (
        "kettle_fill/handle/null",
        "What is no kettle is refused.",
        "must",
        (),
    )
    assert (cup.id, cup.text, cup.level, cup.rulings) == (
        "kettle_fill/handle/cup",
        "A cup is refused.",
        "may",
        ("CUP-2",),
    )
    assert null.sentences == cup.sentences == ("00000002",)
    assert (null.requirement, null.row) == ("What is no kettle is refused.", "")
    assert (cup.requirement, cup.row) == ("What is no kettle is refused.", "A cup is refused.")


def test_what_another_api_changes_is_the_familys_or_the_rows(kettle: Path) -> None:
    more = 'dat_2_0 = "Tea, too."\nrows = ["green", {id = "black", dat_2_0 = "With milk."}]\n'
    kettle.write_text(HEAD + CLAUSE + more, encoding="utf-8")
    green, black = load_page(kettle).clauses
    assert (green.dat_2_0, black.dat_2_0) == ("Tea, too.", "With milk.")


def test_a_clause_without_a_case_keeps_its_reason(kettle: Path) -> None:
    text = CLAUSE.replace('"local"', '"none"') + 'reason = "Nobody can see\\n  the water."\n'
    kettle.write_text(HEAD + text, encoding="utf-8")
    clause = load_page(kettle).clauses[0]
    assert not clause.checkable
    assert clause.reason == "Nobody can see the water."


def test_all_pages_of_the_folder_are_loaded_with_their_clauses_by_id(kettle: Path) -> None:
    other = kettle.with_name("kettle_boil.toml")
    other.write_text((HEAD + CLAUSE).replace("kettle_fill", "kettle_boil"), encoding="utf-8")
    catalogue = load(kettle.parents[1])
    assert [page.page for page in catalogue.pages] == ["dat_kettle_boil", "dat_kettle_fill"]
    assert catalogue.clauses["kettle_boil/full"].page == "dat_kettle_boil"
    assert "kettle_fill/handle/cup" in catalogue.clauses


def test_faults_of_all_files_are_told_at_once(kettle: Path) -> None:
    kettle.write_text(HEAD.replace('"00000003"]\nr', '"3"]\nr'), encoding="utf-8")
    other = kettle.with_name("kettle_boil.toml")
    other.write_text("page = [", encoding="utf-8")
    with pytest.raises(CatalogueError) as raised:
        load(kettle.parents[1])
    boil, fill = raised.value.faults
    assert boil.startswith("cases/kettle/kettle_boil.toml: ")
    assert fill.startswith("cases/kettle/kettle_fill.toml: ")


@pytest.mark.parametrize(
    ("good", "bad", "told"),
    [
        ('level = "must"', 'level = "musst"', "level: 'musst' is not must, may, consumer or info"),
        ('level = "must"\n', "", "level: is missing or empty"),
        ('check = "local"', 'check = "pairs"', "check: 'pairs' is not"),
        ('check = "local"', 'check = "none"', "reason: is missing or empty"),
        ('text = "A full kettle is left alone."', 'text = " "', "text: is missing or empty"),
        ('text = "A full kettle is left alone."', "text = 7", "text: is not a text"),
        ('["00000001"]', "[]", "sentences: is missing or empty"),
        ('["00000001"]', '["0001"]', "sentences: '0001' has not the shape"),
        ('["00000001"]', '"00000001"', "sentences: is not a list of texts"),
        ('["srq_supported"]', '["srq_suported"]', "needs: 'srq_suported' is not known; nearest: "),
        ('["TEA-1"]', '["tea"]', "rulings: 'tea' has not the shape"),
        ("rulings =", "ruling =", "ruling: is no key of this table; nearest: rulings"),
        ("kettle_fill/full", "kettle/full", "id: 'kettle/full' is not kettle_fill/name"),
        ("kettle_fill/full", "kettle_fill/Full", "id: 'kettle_fill/Full' is not"),
    ],
)
def test_a_fault_is_told_with_file_clause_and_field(
    kettle: Path, good: str, bad: str, told: str
) -> None:
    assert good in CLAUSE
    faults = faults_of(kettle, HEAD + CLAUSE.replace(good, bad))
    clause = "kettle_fill/full"
    if "kettle" in bad:
        clause = bad
    assert any(fault.startswith(f"kettle_fill.toml: {clause}: {told}") for fault in faults), faults


@pytest.mark.parametrize(
    ("good", "bad", "told"),
    [
        ('"null"', '"Null"', "kettle_fill/handle/Null: id: 'Null' is not a lower-case word"),
        ('"null"', "7", "kettle_fill/handle: rows: is not a list of names and tables"),
        ('level = "may"', 'level = "can"', "kettle_fill/handle/cup: level: 'can' is not"),
        ('level = "may"', 'check = "pair"', "kettle_fill/handle/cup: check: is no key"),
        ('id = "cup"', 'id = "null"', "kettle_fill/handle/null: id: there are two clauses"),
    ],
)
def test_a_fault_in_a_family_is_told_with_its_row(
    kettle: Path, good: str, bad: str, told: str
) -> None:
    assert good in FAMILY
    faults = faults_of(kettle, HEAD + FAMILY.replace(good, bad))
    assert any(fault.startswith(f"kettle_fill.toml: {told}") for fault in faults), faults


def test_a_family_without_rows_is_refused(kettle: Path) -> None:
    text = CLAUSE + "rows = []\n"
    assert faults_of(kettle, HEAD + text) == ["kettle_fill.toml: kettle_fill/full: rows: is empty"]


def test_a_picture_is_each_rows_of_its_family(kettle: Path) -> None:
    kettle.write_text(HEAD + CLAUSE + 'picture = "Kettles"\nrows = ["iron"]\n', encoding="utf-8")
    assert [clause.picture for clause in load_page(kettle).clauses] == ["Kettles"]


def test_a_picture_of_no_family_is_refused(kettle: Path) -> None:
    assert faults_of(kettle, HEAD + CLAUSE + 'picture = "Kettles"\n') == [
        "kettle_fill.toml: kettle_fill/full: picture: stands only where there are rows"
    ]


def test_two_clauses_of_one_name_are_refused(kettle: Path) -> None:
    assert faults_of(kettle, HEAD + CLAUSE + CLAUSE) == [
        "kettle_fill.toml: kettle_fill/full: id: there are two clauses of this name"
    ]


def test_a_sentence_listed_twice_is_refused(kettle: Path) -> None:
    text = HEAD.replace('"00000002", ', '"00000002", "00000002", ') + CLAUSE
    assert faults_of(kettle, text) == [
        "kettle_fill.toml: the page: sentences: 00000002 is listed twice"
    ]


def test_a_file_that_is_named_after_another_page_is_refused(kettle: Path) -> None:
    faults = faults_of(kettle, HEAD.replace("dat_kettle_fill", "dat_kettle_boil") + CLAUSE)
    assert faults == [
        "kettle_fill.toml: the page: page: 'dat_kettle_boil' is not dat_kettle_fill; "
        "nearest: dat_kettle_fill"
    ]


def test_a_file_that_is_no_toml_is_refused_with_its_line(kettle: Path) -> None:
    (fault,) = faults_of(kettle, HEAD + "[[clause]\n")
    assert fault.startswith("kettle_fill.toml: ")
    assert "line 7" in fault
