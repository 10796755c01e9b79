# SPDX-License-Identifier: BSD-2-Clause
"""docs/coverage.md: what no case decides, as the catalogue has it."""

from pathlib import Path

from runners.catalogue import coverage
from runners.catalogue.clauses import every_page, load
from runners.catalogue.faults import sought

ROOT = Path(__file__).resolve().parents[3]
PAGE = """
page = "dat_kettle_fill"
sections = { DESCRIPTION = 3 }
sentences = ["00000001", "00000002", "00000003"]

[[informative]]
sentences = ["00000002", "00000003"]
reason = "Praises tea | coffee."

[[clause]]
id = "kettle_fill/patience"
section = "DESCRIPTION"
level = "consumer"
sentences = ["00000001"]
text = "The cook waits."
check = "none"
reason = "Binds the cook."
"""


def test_this_checkouts_file_is_true() -> None:
    """Where it is not: ./udapl-cts spec coverage > docs/coverage.md"""
    faults = sought(ROOT / "faults")
    said = coverage.text(load(ROOT / "cases"), every_page(ROOT / "cases"), faults)
    assert (ROOT / coverage.FILE).read_text() == said


def test_what_has_no_case(tmp_path: Path) -> None:
    (tmp_path / "cases/pot").mkdir(parents=True)
    (tmp_path / "cases/pot/kettle_fill.toml").write_text(PAGE)
    said = coverage.text(load(tmp_path / "cases"), ["dat_kettle_fill", "dat_pot_fill"])
    assert "has a catalogue, but for 1, which" in said
    assert said.splitlines()[-3:] == [
        "| page | `dat_pot_fill` | It has no catalogue as yet. |",
        "| consumer clause | `kettle_fill/patience` | Binds the cook. |",
        "| 2 sentences | `dat_kettle_fill` | Praises tea \\| coffee. |",
    ]


FAULTS = """
[[fault]]
id = "kettle_fill/boils"
clause = "kettle_fill/patience"
text = "Boils at once."
on = "dat_srq_resize"
do = "hang"

[[fault]]
id = "kettle_fill/boils_later"
clause = "kettle_fill/patience"
found_by = "explore"
text = "Boils when emptied twice."
on = "dat_srq_resize"
do = "hang"
"""


def test_faults_that_walks_have_to_find(tmp_path: Path) -> None:
    (tmp_path / "faults").mkdir()
    (tmp_path / "faults/kettle_fill.toml").write_text(FAULTS)
    said = coverage.text(load(ROOT / "cases"), [], sought(tmp_path / "faults"))
    assert said.endswith(
        "|---|---|---|\n"
        "| `kettle_fill/boils_later` | `kettle_fill/patience` | Boils when emptied twice. |\n"
    )
    assert "Cases yet to be written" not in coverage.text(load(ROOT / "cases"), [])


def test_a_file_that_is_not_true(tmp_path: Path) -> None:
    (tmp_path / "cases/pot").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    page = tmp_path / "cases/pot/kettle_fill.toml"
    page.write_text(PAGE)
    names = ["dat_kettle_fill"]
    said = coverage.text(load(tmp_path / "cases"), names)
    (tmp_path / coverage.FILE).write_text(said)
    assert not list(coverage.stale(load(tmp_path / "cases"), names, tmp_path))
    page.write_text(PAGE.replace("the cook.", "him who cooks."))
    (line,) = coverage.stale(load(tmp_path / "cases"), names, tmp_path)
    assert line.endswith("./udapl-cts spec coverage > docs/coverage.md")
