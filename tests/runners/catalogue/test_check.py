# SPDX-License-Identifier: BSD-2-Clause
"""The checks: what agrees passes, and each kind of drift is reported in a line of its own."""

import json
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from runners.catalogue.__main__ import main
from runners.catalogue.check import AGREES, COULD_NOT_TELL, DISAGREES, run
from runners.catalogue.pages import parse
from tests.runners.catalogue.page import KETTLE

PAGE = parse("dat_kettle_fill", KETTLE)
REFUSED = next(row.hash for row in PAGE.sentences if row.text.startswith("A kettle on a stove"))
POURS = next(row.hash for row in PAGE.sentences if "function pours" in row.text)
OTHERS = [hash_ for hash_ in PAGE.hashes if hash_ not in (REFUSED, POURS)]

CLAUSES = f"""
[[informative]]
sentences = {json.dumps(OTHERS)}
reason = "About the kitchen."

[[clause]]
id = "kettle_fill/stove"
section = "DESCRIPTION"
level = "must"
sentences = ["{REFUSED}"]
text = "On a stove, the call is refused."
check = "local"
needs = ["srq_supported"]
rulings = ["TEA-1"]

[[clause]]
id = "kettle_fill/pour"
section = "DESCRIPTION"
level = "must"
sentences = ["{POURS}"]
text = "Water reaches every kind of kettle."
check = "pair"
rows = ["iron", "glass"]

[[clause]]
id = "kettle_fill/patience"
section = "DESCRIPTION"
level = "consumer"
sentences = ["{POURS}"]
text = "The cook waits."
check = "none"
reason = "Binds the cook."

[standard]
legal = "kettle_fill/stove"
"""

CASES: dict[str, tuple[int, list[str]]] = {
    "kettle_fill/stove": (0, ["srq_supported"]),
    "kettle_fill/pour/iron": (1, []),
    "kettle_fill/pour/glass": (1, []),
}


@dataclass
class Kitchen:
    """A project of one page, in agreement until a test says otherwise."""

    root: Path

    def __post_init__(self) -> None:
        for folder in ("cases/kettle", "docs", "pages"):
            (self.root / folder).mkdir(parents=True)
        self.catalogue(CLAUSES)
        self.listed("dat_kettle_fill")
        self.page(KETTLE)
        self.cases(CASES)
        self.rulings("# Rulings\n\n### TEA-1: green tea\n")

    @property
    def binary(self) -> Path:
        return self.root / "udapl-cases"

    def catalogue(self, clauses: str, sentences: tuple[str, ...] = PAGE.hashes) -> None:
        where = {row.hash: row.section for row in reversed(PAGE.sentences)}
        counts = Counter(where.get(hash_, "DESCRIPTION") for hash_ in sentences)
        sections = ", ".join(f'"{name}" = {count}' for name, count in counts.items())
        head = f'page = "dat_kettle_fill"\nsections = {{ {sections} }}\n'
        head += f"sentences = {json.dumps(sentences)}\n"
        path = self.root / "cases/kettle/kettle_fill.toml"
        path.write_text(head + clauses, encoding="utf-8")

    def listed(self, *pages: str) -> None:
        (self.root / "cases/pages.txt").write_text("\n".join(("# all pages", *pages)))

    def page(self, text: str) -> None:
        (self.root / "pages/dat_kettle_fill.txt").write_text(text, encoding="utf-8")

    def rulings(self, text: str) -> None:
        (self.root / "docs/rulings").mkdir(exist_ok=True)
        (self.root / "docs/rulings/all-pages.md").write_text(text, encoding="utf-8")

    def cases(self, cases: dict[str, tuple[int, list[str]]], network: str = "") -> None:
        rows = [
            {
                "id": id_,
                "file": "cases/kettle/kettle_fill.c",
                "peers": peers,
                "network": id_ == network,
                "needs": needs,
            }
            for id_, (peers, needs) in cases.items()
        ]
        lines = "".join(f"echo '{json.dumps(row)}'\n" for row in rows)
        self.binary.write_text(f"#!/bin/sh\n{lines}", encoding="utf-8")
        self.binary.chmod(0o755)

    def check(self, *, pages: bool = True) -> int:
        folder = self.root / "pages" if pages else None
        return run(folder, root=self.root, binary=self.binary)


@pytest.fixture
def kitchen(tmp_path: Path) -> Kitchen:
    return Kitchen(tmp_path)


def told(kitchen: Kitchen, capsys: pytest.CaptureFixture[str], *, pages: bool = True) -> list[str]:
    """The disagreements that the check told, of which there must be some."""
    assert kitchen.check(pages=pages) == DISAGREES
    *faults, count = capsys.readouterr().err.splitlines()
    assert count == f"spec check: {len(faults)} disagreements"
    return faults


def test_what_agrees_passes_with_a_summary(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kitchen.check() == AGREES
    seen = capsys.readouterr()
    assert seen.err == ""
    assert seen.out.splitlines() == [
        f"dat_kettle_fill: {len(PAGE.hashes)} sentences, 4 clauses, 3 of them for a case to check",
        "spec check: all agrees",
    ]


def test_what_agrees_passes_without_pages(kitchen: Kitchen) -> None:
    assert kitchen.check(pages=False) == AGREES


def test_a_sentence_that_nothing_accounts_for(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str]
) -> None:
    kitchen.catalogue(CLAUSES.replace(f'"{OTHERS[3]}", ', ""))
    assert told(kitchen, capsys, pages=False) == [
        f"dat_kettle_fill: sentence {OTHERS[3]} has neither a clause nor a reason to have none"
    ]


def test_a_sentence_with_a_clause_that_is_called_informative(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str]
) -> None:
    kitchen.catalogue(CLAUSES.replace(f'"{OTHERS[3]}"', f'"{OTHERS[3]}", "{POURS}"'))
    assert told(kitchen, capsys, pages=False) == [
        f"dat_kettle_fill: sentence {POURS} has a clause and is called informative"
    ]


@pytest.mark.parametrize(
    ("old", "place"), [(POURS, "kettle_fill/pour/iron: sentences"), (OTHERS[3], "dat_kettle_fill")]
)
def test_a_hash_that_is_not_in_the_list(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str], old: str, place: str
) -> None:
    kitchen.catalogue(CLAUSES.replace(f'"{old}"', f'"{old}", "0badcafe"'))
    faults = told(kitchen, capsys, pages=False)
    assert any(fault.startswith(place) and "0badcafe is not in the" in fault for fault in faults)


def test_a_sentence_of_the_page_that_is_not_listed(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str]
) -> None:
    page = KETTLE.replace("It may be warm.", "It may be warm. It is never blue.")
    kitchen.page(page)
    (fault,) = told(kitchen, capsys)
    assert fault.startswith("dat_kettle_fill: the page has ")
    assert fault.endswith("which is not listed: It is never blue.")


def test_a_listed_sentence_that_left_the_page(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = next(row.hash for row in PAGE.sentences if row.text == "It may be warm.")
    kitchen.page(KETTLE.replace("It may be warm.", ""))
    assert told(kitchen, capsys) == [
        f"dat_kettle_fill: {gone} is listed, and the page has no such sentence (any more)"
    ]


def test_a_list_in_another_order_than_the_page(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str]
) -> None:
    kitchen.catalogue(CLAUSES, tuple(reversed(PAGE.hashes)))
    assert told(kitchen, capsys) == ["dat_kettle_fill: sentences: are not in the page's order"]


def test_sections_that_do_not_add_up(kitchen: Kitchen, capsys: pytest.CaptureFixture[str]) -> None:
    path = kitchen.root / "cases/kettle/kettle_fill.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"NAME" = 1', '"NAME" = 2'), encoding="utf-8")
    said = f"dat_kettle_fill: sections: do not add up to the {len(PAGE.hashes)} sentences"
    assert said in told(kitchen, capsys)
    assert (
        f"sections: are not the page's, which are NAME = 1, {PAGE.sections[1][0]} = "
        in (told(kitchen, capsys)[-1])
    )


def test_a_clause_in_a_section_without_its_sentences(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str]
) -> None:
    kitchen.catalogue(CLAUSES.replace('section = "DESCRIPTION"', 'section = "USAGE"', 1))
    assert told(kitchen, capsys) == [
        "kettle_fill/stove: section: its sentences stand in DESCRIPTION"
    ]


def test_a_page_that_is_not_there(kitchen: Kitchen, capsys: pytest.CaptureFixture[str]) -> None:
    (kitchen.root / "pages/dat_kettle_fill.txt").unlink()
    assert kitchen.check() == DISAGREES
    assert "dat_kettle_fill.txt: no such page" in capsys.readouterr().err


def test_a_list_of_pages_that_is_not_theirs(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str]
) -> None:
    kitchen.listed("dat_kettle_fil", "dat_pot", "dat_pot")
    assert told(kitchen, capsys) == [
        "cases/pages.txt: dat_pot is listed twice",
        "dat_kettle_fill: is not in cases/pages.txt; nearest: dat_kettle_fil",
        "cases/pages.txt: dat_kettle_fil is listed, and no page",
        "cases/pages.txt: dat_kettle_fill is a page, and not listed",
        "cases/pages.txt: dat_pot is listed, and no page",
    ]
    (kitchen.root / "cases/pages.txt").unlink()
    assert kitchen.check() == DISAGREES
    assert "cases/pages.txt" in capsys.readouterr().err


def test_a_catalogue_that_cannot_be_read(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str]
) -> None:
    kitchen.catalogue(CLAUSES.replace('"must"', '"musst"', 1))
    assert kitchen.check() == DISAGREES
    assert capsys.readouterr().err.startswith(
        "cases/kettle/kettle_fill.toml: kettle_fill/stove: level: 'musst' is not"
    )


def test_a_ruling_that_is_not_written(kitchen: Kitchen, capsys: pytest.CaptureFixture[str]) -> None:
    kitchen.rulings("# Rulings\n\nTEA-1 is spoken of, and has no heading.\n")
    assert told(kitchen, capsys, pages=False) == [
        "kettle_fill/stove: rulings: TEA-1 is not in docs/rulings/"
    ]


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("Asked by kettle_fill/stove, and by dat_pot_fill.", None),
        ("Asked by kettle_fill/pour.", None),
        ("Demanded by dat_pot_fill.", "leaves it to another page, and names no clause there"),
        ("Demanded by the pages of pots.", "leaves it to another page, and names no clause there"),
        ("Asked by kettle_fill/spill.", "kettle_fill/spill is no clause that a case decides"),
        ("Asked by kettle_fill/patience.", "kettle_fill/patience is no clause that a case decides"),
        ("What dat_kettle_fill does, as tests/tea has it.", None),
    ],
)
def test_a_reason_that_leaves_a_demand_to_another_page(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str], reason: str, said: str | None
) -> None:
    for own, place in (
        ("About the kitchen.", "dat_kettle_fill"),
        ("Binds the cook.", "kettle_fill/patience"),
    ):
        kitchen.catalogue(CLAUSES.replace(own, reason))
        if said is None:
            kitchen.check(pages=False)
            assert "reason" not in capsys.readouterr().err
        else:
            assert f"{place}: reason: {said}" in told(kitchen, capsys, pages=False)


@pytest.mark.parametrize(
    ("own", "place"),
    [
        ("Water reaches every kind of kettle.", "kettle_fill/pour/iron: text"),
        ("Binds the cook.", "kettle_fill/patience: reason"),
        ("About the kitchen.", "dat_kettle_fill: informative"),
    ],
)
def test_the_pages_own_wording(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str], own: str, place: str
) -> None:
    quoted = "It pours water, e.g. from the tap, into a kettle, as it should."
    kitchen.catalogue(CLAUSES.replace(own, quoted))
    faults = told(kitchen, capsys)
    assert f"{place}: is the page's own wording: pours water e g from the tap into a" in faults


def test_eight_words_in_a_row_are_no_quotation(kitchen: Kitchen) -> None:
    kitchen.catalogue(CLAUSES.replace("Binds the cook.", "From the tap into a kettle that stands."))
    assert kitchen.check() == AGREES


def test_families_of_a_picture_that_have_other_rows(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = 'rows = ["iron", "glass"]\n'
    drawn = f'picture = "Kettles"\n{rows}'
    family = CLAUSES[CLAUSES.index('[[clause]]\nid = "kettle_fill/pour"') :]
    family = family[: family.index(rows)].replace("/pour", "/drain")
    assert 'id = "kettle_fill/drain"' in family
    other = f'{family}picture = "Kettles"\nrows = ["iron", "copper"]\n\n'
    text = CLAUSES.replace(rows, drawn).replace("[standard]", f"{other}[standard]")
    kitchen.catalogue(text)
    kitchen.cases(CASES | {f"kettle_fill/drain/{row}": (1, []) for row in ("iron", "copper")})
    assert told(kitchen, capsys) == [
        "kettle_fill/drain: picture: its rows are not those of kettle_fill/pour in 'Kettles'"
    ]


def test_a_picture_of_one_family(kitchen: Kitchen, capsys: pytest.CaptureFixture[str]) -> None:
    kitchen.catalogue(CLAUSES.replace("rows = ", 'picture = "Kettles"\nrows = '))
    assert told(kitchen, capsys) == ["kettle_fill/pour: picture: no other family has 'Kettles'"]


def test_a_clause_without_a_case(kitchen: Kitchen, capsys: pytest.CaptureFixture[str]) -> None:
    kitchen.cases({**CASES, "kettle_fill/pour/glas": CASES["kettle_fill/pour/glass"]})
    assert told(kitchen, capsys, pages=False) == [
        "kettle_fill/pour/glas (cases/kettle/kettle_fill.c): has no clause"
    ]
    kitchen.cases({id_: case for id_, case in CASES.items() if id_ != "kettle_fill/pour/glass"})
    assert told(kitchen, capsys, pages=False) == ["kettle_fill/pour/glass: has no case"]


def test_a_case_of_a_clause_that_has_none(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str]
) -> None:
    kitchen.cases({**CASES, "kettle_fill/patience": (0, [])})
    assert told(kitchen, capsys, pages=False) == [
        "kettle_fill/patience (cases/kettle/kettle_fill.c): its clause has check = none"
    ]


@pytest.mark.parametrize(("id_", "check"), [("stove", "local"), ("pour/iron", "pair")])
def test_a_clause_and_a_case_that_differ_about_the_peer(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str], id_: str, check: str
) -> None:
    peers, needs = CASES[f"kettle_fill/{id_}"]
    kitchen.cases({**CASES, f"kettle_fill/{id_}": (1 - peers, needs)})
    assert told(kitchen, capsys, pages=False) == [
        f"kettle_fill/{id_}: check: is {check}, and its case has {1 - peers} peer(s)"
    ]


def test_a_clause_and_a_case_that_differ_about_the_network(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str]
) -> None:
    kitchen.cases(CASES, network="kettle_fill/pour/iron")
    assert told(kitchen, capsys, pages=False) == [
        "kettle_fill/pour/iron: check: is pair, and its case has 1 peer(s) by a network that it "
        "disturbs"
    ]


def test_a_clause_and_a_case_that_differ_about_a_need(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str]
) -> None:
    kitchen.cases({**CASES, "kettle_fill/stove": (0, ["thread_safe_supported"])})
    assert told(kitchen, capsys, pages=False) == [
        "kettle_fill/stove: needs: the clause has srq_supported, its case thread_safe_supported"
    ]


def test_without_a_binary_the_rest_is_checked(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str]
) -> None:
    kitchen.binary.unlink()
    assert kitchen.check() == COULD_NOT_TELL
    seen = capsys.readouterr()
    assert "is not built, so no case was looked at" in seen.err
    assert "all agrees" not in seen.out
    kitchen.rulings("")
    assert kitchen.check() == DISAGREES


@pytest.mark.parametrize("text", ["#!/bin/sh\nexit 3\n", "#!/bin/sh\necho Segmentation fault\n"])
def test_a_binary_that_does_not_list_its_cases(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    kitchen.binary.write_text(text, encoding="utf-8")
    assert kitchen.check() == COULD_NOT_TELL
    assert "udapl-cases does not list its cases: " in capsys.readouterr().err


def test_a_draft_lists_the_pages_sentences(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = str(kitchen.root / "pages")
    monkeypatch.setattr("sys.argv", ["draft", "draft", "dat_kettle_fill", "--pages", pages])
    assert main() == 0
    seen = capsys.readouterr()
    table = tomllib.loads(seen.out)
    assert tuple(table["sentences"]) == PAGE.hashes
    assert [row["sentences"] for row in table["clause"]] == [[hash_] for hash_ in PAGE.hashes]
    assert "litres: KETTLE_HALF: Half of it." in seen.err
    assert "Half of it" not in seen.out


def test_a_draft_of_no_page_is_refused(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = str(kitchen.root / "pages")
    monkeypatch.setattr("sys.argv", ["draft", "draft", "dat_pot_fill", "--pages", pages])
    assert main() == 64
    assert "dat_pot_fill.txt: no such page" in capsys.readouterr().err


FAULT = """
[[fault]]
id = "kettle/{clause}"
clause = "kettle_fill/{clause}"
text = "It leaks."
on = "dat_srq_resize"
do = "run"
function = "leak_descriptor"
"""


def give_faults(kitchen: Kitchen, *clauses: str) -> None:
    """A fault against each of these clauses."""
    (kitchen.root / "faults").mkdir()
    rows = "".join(FAULT.format(clause=clause) for clause in clauses)
    (kitchen.root / "faults/kettle.toml").write_text(rows, encoding="utf-8")


@pytest.mark.parametrize("clauses", [("stove", "pour"), ("stove", "pour/iron", "pour/glass")])
def test_must_clauses_with_faults(kitchen: Kitchen, clauses: tuple[str, ...]) -> None:
    give_faults(kitchen, *clauses)
    assert kitchen.check() == AGREES


def test_a_page_without_any_fault(kitchen: Kitchen, capsys: pytest.CaptureFixture[str]) -> None:
    give_faults(kitchen)
    assert [fault.split(":")[0] for fault in told(kitchen, capsys)] == [
        "kettle_fill/pour/iron",
        "kettle_fill/pour/glass",
    ]


def test_a_providers_fault_against_the_registrys_clause(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str]
) -> None:
    give_faults(kitchen, "stove", "pour")
    blamed = '"kettle_fill/stove"\nblame = "registry"'
    kitchen.catalogue(CLAUSES.replace('"kettle_fill/stove"', blamed, 1))
    faults = told(kitchen, capsys)
    assert all("stove: blame: is the registry's, and a provider alone" in line for line in faults)
    assert any("by the fault kettle/stove" in line for line in faults)


def test_a_must_clause_without_a_fault(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str]
) -> None:
    give_faults(kitchen, "stove", "pour/iron")
    (fault,) = told(kitchen, capsys)
    assert fault.startswith("kettle_fill/pour/glass: has neither a fault")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ('["glass"]', "kettle_fill/pour/glass: has neither a fault"),
        ('["glas"]', "no clause is called 'kettle_fill/pour/glas'"),
    ],
)
def test_a_fault_against_a_family_but_for_some_rows(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str], rows: str, said: str
) -> None:
    give_faults(kitchen, "stove", "pour")
    path = kitchen.root / "faults/kettle.toml"
    family = 'clause = "kettle_fill/pour"\n'
    text = path.read_text(encoding="utf-8")
    assert family in text
    path.write_text(text.replace(family, f"{family}but = {rows}\n"), encoding="utf-8")
    (fault,) = told(kitchen, capsys)
    assert said in fault


def test_a_fault_against_no_clause(kitchen: Kitchen, capsys: pytest.CaptureFixture[str]) -> None:
    give_faults(kitchen, "stove", "pour", "stov")
    (fault,) = told(kitchen, capsys)
    assert "no clause is called 'kettle_fill/stov'; nearest: kettle_fill/stove" in fault


def test_a_fault_that_makes_no_sense(kitchen: Kitchen, capsys: pytest.CaptureFixture[str]) -> None:
    give_faults(kitchen, "stove", "pour", "pour")
    (fault,) = told(kitchen, capsys)
    assert "kettle/pour: the id is taken" in fault


def test_a_page_that_names_no_legal_call(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str]
) -> None:
    kitchen.catalogue(CLAUSES.replace("[standard]\nlegal", "# legal"))
    give_faults(kitchen, "stove", "pour")
    (fault,) = told(kitchen, capsys)
    assert fault.startswith("dat_kettle_fill: standard: legal: is missing")


@pytest.mark.parametrize("legal", ["kettle_fill/patience", "kettle_fill/pot", "kettle_fill/pour"])
def test_a_legal_call_that_no_case_makes(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str], legal: str
) -> None:
    kitchen.catalogue(CLAUSES.replace('legal = "kettle_fill/stove"', f'legal = "{legal}"'))
    (fault,) = told(kitchen, capsys)
    assert fault.startswith(f"dat_kettle_fill: standard: legal: {legal} is no must clause")


def test_a_call_without_a_page_stands_on_the_sentences_of_others(kitchen: Kitchen) -> None:
    kitchen.catalogue(CLAUSES)
    path = kitchen.root / "cases/kettle/kettle_fill.toml"
    text = path.read_text().replace("kettle_fill", "kettle_make")
    text = text.replace(
        'page = "dat_kettle_make"', 'page = "dat_kettle_make"\nstands_on = ["dat_kettle_fill"]'
    )
    (kitchen.root / "cases/kettle/kettle_make.toml").write_text(text, encoding="utf-8")
    makes = {id_.replace("fill", "make"): case for id_, case in CASES.items()}
    kitchen.cases({**CASES, **makes})
    assert kitchen.check() == AGREES


def test_a_borrowed_sentence_that_no_page_has(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str]
) -> None:
    path = kitchen.root / "cases/kettle/kettle_fill.toml"
    text = path.read_text().replace(
        'page = "dat_kettle_fill"', 'page = "dat_kettle_fill"\nstands_on = ["dat_kettle_fill"]'
    )
    path.write_text(text.replace(REFUSED, "0123abcd"), encoding="utf-8")
    (fault,) = told(kitchen, capsys)
    assert fault == "dat_kettle_fill: 0123abcd is listed, and none of dat_kettle_fill has it"
