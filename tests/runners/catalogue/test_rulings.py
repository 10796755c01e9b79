# SPDX-License-Identifier: BSD-2-Clause
"""Rulings as the catalogue's checks and the reports read them."""

from pathlib import Path

import pytest

from runners.catalogue.clauses import load as load_catalogue
from runners.catalogue.rulings import load

ROOT = Path(__file__).resolve().parents[3]
SECTION = """### {0}: the mark itself

*Question.* One.

*Reading.* Equality
succeeds.

*Reason.* X.
"""


def test_a_ruling_is_its_heading_and_its_reading(tmp_path: Path) -> None:
    (tmp_path / "srq.md").write_text("# Rulings\n\nText.\n\n" + SECTION.format("SRQ-7"))
    (tmp_path / "ep.md").write_text("# Rulings\n\n" + SECTION.format("EP-1"))
    rulings = load(tmp_path)
    assert set(rulings) == {"EP-1", "SRQ-7"}
    assert rulings["SRQ-7"].title == "the mark itself"
    assert rulings["SRQ-7"].reading == "Equality succeeds."


def test_an_id_is_used_once(tmp_path: Path) -> None:
    for name in ("ep.md", "srq.md"):
        (tmp_path / name).write_text(SECTION.format("EP-1"))
    with pytest.raises(ValueError, match=r"srq\.md: there is another ruling EP-1"):
        load(tmp_path)


def test_no_folder_has_no_rulings(tmp_path: Path) -> None:
    assert load(tmp_path / "rulings") == {}


def test_every_cited_ruling_of_the_project_has_a_reading() -> None:
    known = load(ROOT / "docs/rulings")
    pages = load_catalogue(ROOT / "cases").pages
    cited = {r for page in pages for clause in page.clauses for r in clause.rulings}
    assert cited
    assert all(known[ruling].reading for ruling in cited)
