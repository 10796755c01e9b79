# SPDX-License-Identifier: BSD-2-Clause
"""Check the English of pages, comments and texts: python -m tests.words [--long] [--sources].

Pages (README.md, CONTRIBUTING.md, docs/) may have no figure of speech of rules.toml, no chain of
passive verbs, and few long sentences. Sources may have no more figures of speech than rules.toml
leaves; --sources lists them. Exit code: 0 all rules are kept, 1 one is not.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.words import prose
from tests.words.rules import Linter, Rules, load, sentences, words

PAGES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "docs/**/*.md")
SOURCES = ("*.c", "*.h", "*.py", "*.toml")
# What has fewer words is a name in a table, and does not count as a sentence.
SHORT = 5
# Rules and their tests name what they forbid.
OWN = "tests/words/"


def main() -> int:
    """Check everything, and print what is wrong."""
    parser = argparse.ArgumentParser(prog="tests.words", description=__doc__)
    parser.add_argument("--long", action="store_true", help="list all long sentences")
    parser.add_argument("--sources", action="store_true", help="list all figures of speech")
    args = parser.parse_args()
    rules = load()
    wrong = _check_pages(rules, args.long) + _check_sources(rules, args.sources)
    print(f"{wrong} rules broken")
    return 1 if wrong else 0


def _check_pages(rules: Rules, listing: bool) -> int:
    linter = Linter(rules)
    total = wrong = 0
    long: list[str] = []
    for path, name in _named(PAGES):
        if name in rules.exempt:
            continue
        for line, text in prose.paragraphs(path.read_text(encoding="utf-8")):
            for finding in linter.figures(text):
                print(f"{name}:{line}: {finding.message}")
                wrong += 1
            for sentence in sentences(text):
                total += words(sentence) >= SHORT
                for finding in linter.sentence(sentence):
                    if finding.rule == "words.long":
                        long.append(f"{name}:{line}: {finding.message}")
                    else:
                        print(f"{name}:{line}: {finding.message}")
                        wrong += 1
    most = total // rules.share
    if listing or len(long) > most:
        print("\n".join(long))
    print(f"{len(long)} of {total} sentences have over {rules.words} words, at most {most} may")
    return wrong + (len(long) > most)


def _check_sources(rules: Rules, listing: bool) -> int:
    linter = Linter(rules)
    lines = [
        f"{name}:{line}: {finding.message}"
        for path, name in _named(SOURCES)
        if not name.startswith(OWN)
        for line, text in prose.source(path)
        for finding in linter.figures(text)
    ]
    if listing:
        print("\n".join(lines))
    per_folder = Counter(line.split("/")[0] for line in lines)
    where = ", ".join(f"{count} in {folder}" for folder, count in sorted(per_folder.items()))
    print(f"{len(lines)} figures of speech in sources, at most {rules.left} may be left: {where}")
    return len(lines) > rules.left


def _named(patterns: tuple[str, ...]) -> Iterator[tuple[Path, str]]:
    for path in prose.tracked(*patterns):
        yield path, str(path.relative_to(prose.ROOT))


if __name__ == "__main__":
    raise SystemExit(main())
