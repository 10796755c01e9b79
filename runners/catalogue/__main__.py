# SPDX-License-Identifier: BSD-2-Clause
"""`python -m runners.catalogue draft PAGE --pages DIR`: an author's first catalogue file."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from runners.catalogue.pages import Page, PageError, Sentence, read

EXIT_USAGE = 64


def _key(name: str) -> str:
    """A section's name as TOML takes it for a key."""
    return f'"{name}"' if " " in name else name


def draft(page: Page) -> Iterator[tuple[Sentence | None, str]]:
    """The parts of a catalogue file that says nothing yet, each with the sentence it is about."""
    hashes = "".join(f'    "{hash_}",\n' for hash_ in page.hashes)
    sections = ", ".join(f"{_key(name)} = {count}" for name, count in page.sections)
    head = (
        f'# SPDX-License-Identifier: BSD-2-Clause\npage = "{page.name}"\n'
        f"sections = {{ {sections} }}\n"
    )
    yield None, f"{head}sentences = [\n{hashes}]\n"
    for hash_ in page.hashes:
        sentence = next(row for row in page.sentences if row.hash == hash_)
        yield (
            sentence,
            "[[clause]]\n"
            f'id = "{page.name.removeprefix("dat_")}/"\n'
            f'section = "{sentence.section}"\n'
            'level = ""\n'
            f'sentences = ["{hash_}"]\n'
            'text = ""\n'
            'check = ""\n',
        )


def show(page: Page) -> None:
    """Prints the draft, and its sentences to standard error: a file that the draft is written to
    must not hold the page's text.
    """
    for sentence, part in draft(page):
        if sentence:
            said = ": ".join((*sentence.terms, sentence.text))
            print(f"# {sentence.hash} {said}", file=sys.stderr, flush=True)
        print(part, flush=True)


def main() -> int:
    """Runs the command that the process's arguments name; returns an exit code."""
    parser = argparse.ArgumentParser(prog="python -m runners.catalogue")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("draft", help="print a catalogue file to start from")
    command.add_argument("page", help="the page's name, dat_srq_query for instance")
    command.add_argument("--pages", type=Path, required=True, help="the folder of formatted pages")
    options = parser.parse_args()
    try:
        show(read(options.pages, options.page))
    except PageError as error:
        print(f"draft: {error}", file=sys.stderr)
        return EXIT_USAGE
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
