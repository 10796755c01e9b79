# SPDX-License-Identifier: BSD-2-Clause
"""Rulings as the catalogue's checks and the reports read them."""

from pathlib import Path

from runners.catalogue.clauses import load as load_catalogue
from runners.catalogue.rulings import load

ROOT = Path(__file__).resolve().parents[3]


def test_a_ruling_is_its_heading_and_its_reading(tmp_path: Path) -> None:
    path = tmp_path / "rulings.md"
    path.write_text(
        "# Rulings\n\nIntroduction.\n\n## SRQ\n\n### SRQ-7: the mark itself\n\n"
        "*The matter.* One.\n\n*The reading.* Equality\nsucceeds.\n\n*Why.* Below is below.\n"
    )
    (ruling,) = load(path).values()
    assert (ruling.id, ruling.title) == ("SRQ-7", "the mark itself")
    assert ruling.reading == "Equality succeeds."


def test_no_file_has_no_rulings(tmp_path: Path) -> None:
    assert load(tmp_path / "rulings.md") == {}


def test_every_cited_ruling_of_the_project_has_a_reading() -> None:
    known = load(ROOT / "docs/rulings.md")
    pages = load_catalogue(ROOT / "cases").pages
    cited = {r for page in pages for clause in page.clauses for r in clause.rulings}
    assert cited
    assert all(known[ruling].reading for ruling in cited)
