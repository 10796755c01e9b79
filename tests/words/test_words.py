# SPDX-License-Identifier: BSD-2-Clause
"""The prose checker finds what rules.toml forbids, in pages and in sources."""

from pathlib import Path

import pytest

from tests.words import prose
from tests.words.rules import Linter, Rules, sentences, words

RULES = Rules(
    words=8,
    share=50,
    passives=2,
    exempt=frozenset(),
    instead={"goes on": "continues"},
    left=0,
)


def test_a_figure_of_speech_is_found_with_what_to_write_instead() -> None:
    (finding,) = Linter(RULES).figures("The run goes on.")
    assert finding.message == "'goes on': write 'continues'"
    assert not Linter(RULES).figures("The run continues.")


def test_a_figure_of_speech_at_either_end_of_a_text_is_found() -> None:
    assert Linter(RULES).figures("goes on")


def test_a_long_sentence_is_found_by_its_words() -> None:
    assert not Linter(RULES).sentence("One two three four five six seven eight.")
    (finding,) = Linter(RULES).sentence("One two three four five six seven eight nine.")
    assert finding.rule == "words.long"
    assert finding.message.startswith("9 words")


def test_a_chain_of_passive_verbs_is_found() -> None:
    (finding,) = Linter(RULES).sentence("It is opened and then is closed.")
    assert finding.rule == "words.passives"
    assert not Linter(RULES).sentence("The runner opens it, and it is closed.")


def test_sentences_end_at_full_stops_only() -> None:
    text = "Load libdat.so.1 in 3.5 s. Then call `code`."
    assert sentences(text) == ["Load libdat.so.1 in 3.5 s.", "Then call `code`."]
    assert words("Then call `code`.") == 3


def test_prose_of_a_page_has_no_code_and_no_link_targets() -> None:
    text = "# Head\n\nSee [the page](x.md) of `a b`\nnow.\n\n"
    page = text + "    code block\n\n| a | b c |\n|---|---|\n"
    assert list(prose.paragraphs(page)) == [
        (1, "Head"),
        (3, "See the page of `code` now."),
        (8, "a"),
        (8, "b c"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "a.c",
            '/* one\n two */ f("a b c", "name"); // end',
            ["/* one two */", "// end", '"a b c"'],
        ),
        ("a.py", '"""Doc of it."""\nX = "name"  # why\n', ["# why", "Doc of it."]),
        ("a.toml", '# why\ntext = "one two three"\nid = "x"\n', ["# why", "one two three"]),
    ],
)
def test_prose_of_a_source_is_its_comments_and_texts(
    tmp_path: Path, name: str, text: str, expected: list[str]
) -> None:
    (tmp_path / name).write_text(text)
    assert [found for _, found in prose.source(tmp_path / name)] == expected
