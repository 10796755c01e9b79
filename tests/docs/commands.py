# SPDX-License-Identifier: BSD-2-Clause
"""Runs the commands of README.md, CONTRIBUTING.md and docs/ as they are written.

`python -m tests.docs.commands` runs those that need no guests, on a copy of this clone (an overlay,
so that nothing is written to the clone). With --fresh it runs those that need guests too, in a bare
Debian 12: in a chroot, on a new clone, whose set-up the first command does. It lists each command
that it does not run, with the reason. Needs root. Exit code: 0 all ended as they should, 1 not.
"""

import argparse
import shlex
import time
from collections import Counter
from itertools import takewhile
from pathlib import Path

from runners.checkout import here
from runners.cli import parser
from tests.docs.marks import REASONS, Block, Command, Need, all_blocks
from tests.docs.stage import DEBIAN_12, Stage, copy, fresh, in_namespace

OPERATORS = frozenset("> >> < | || & && ;".split())
CASES = "srq_resize/below_low_watermark srq_resize/grow"


def parsed(command: Command) -> str:
    """What is wrong with the options of a ./udapl-cts command; empty if nothing."""
    lexer = shlex.shlex(command.text, posix=True, punctuation_chars=True)
    words = list(takewhile(lambda word: word not in OPERATORS, lexer))
    if not words or words[0] != "./udapl-cts":
        return ""
    try:
        parser(here()).parse_args(words[1:])
    except SystemExit as end:
        return "" if end.code in (0, None) else "its options are wrong"
    return ""


class Play:
    """Runs blocks on a stage, and keeps the figures."""

    def __init__(self, stage: Stage, needs: set[Need]) -> None:
        self._stage = stage
        self._needs = needs
        self.failed = 0
        self.ran = 0
        self.left: Counter[Need] = Counter()

    def block(self, block: Block) -> None:
        """Run the block's commands, or write the file that it is."""
        if block.file:
            self._stage.write(block.file, block.text, append=False)
        if block.append and Need.GUESTS in self._needs:
            self._stage.write(block.append, "\n" + block.text, append=True)
        for command in block.commands:
            self._command(block, command)

    def _command(self, block: Block, command: Command) -> None:
        wrong = parsed(command)
        if wrong:
            self._tell(block, command, "FAILED", wrong)
            return
        if command.need not in self._needs:
            self.left[command.need] += 1
            reason = REASONS.get(command.need, "needs guests: --fresh runs it")
            print(f"not run  {block.place}: {command.text.strip()}: {reason}", flush=True)
            return
        started = time.monotonic()
        code, output = self._stage.run(command.text)
        self.ran += 1
        if code == command.code:
            took = f"{time.monotonic() - started:.0f} s"
            print(f"ok       {block.place}: {command.text.strip()} ({took})", flush=True)
        else:
            wrong = f"exit code {code} instead of {command.code}\n{output[-3000:]}"
            self._tell(block, command, "FAILED", wrong)

    def _tell(self, block: Block, command: Command, word: str, text: str) -> None:
        self.failed += 1
        print(f"{word}   {block.place}: {command.text.strip()}: {text}", flush=True)


def furnish(stage: Stage) -> None:
    """What the pages take as given: a provider, a key, a run to compare with."""
    stage.must("./udapl-cts list >/dev/null")
    stage.must("cp build/default/lib/libdaplref.so ../libvendor.so")
    stage.must('mkdir -p ~/.ssh && ssh-keygen -q -t ed25519 -N "" -f ~/.ssh/id_ed25519 <<<y')
    stage.must("cp ~/.ssh/id_ed25519.pub lab.pub")
    stage.must(f"./udapl-cts certify {CASES} --hosts 1 --out runs/BEFORE")


def furnish_failure(stage: Stage) -> None:
    """A run that found a defect, of the provider that certify.md makes."""
    certify = f"./udapl-cts certify {CASES} --hosts 1 --provider ../libvendor.so --out runs/AFTER"
    stage.must(f"{{ {certify}; [ $? = 1 ]; }}")
    stage.must("ln -s AFTER runs/RUN")


def main() -> int:
    """Run the commands, print the figures."""
    options = argparse.ArgumentParser(prog="python -m tests.docs.commands", description=__doc__)
    options.add_argument("--fresh", action="store_true", help="in a bare Debian 12, with guests")
    options.add_argument(
        "--page", default="", metavar="WORD", help="only pages with it in the path"
    )
    options.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.inside is None:
        return in_namespace("tests.docs.commands")
    blocks = all_blocks()
    stage = fresh(chosen.inside, DEBIAN_12) if chosen.fresh else copy(chosen.inside)
    play = Play(stage, {Need.CLONE, Need.GUESTS} if chosen.fresh else {Need.CLONE})
    furnish(stage)
    pages = list(dict.fromkeys(block.page for block in blocks))
    for page in pages:
        if chosen.page in str(page) or page.name == "certify.md":
            for block in (block for block in blocks if block.page == page):
                play.block(block)
        if page.name == "certify.md":
            furnish_failure(stage)
    left = ", ".join(f"{count} {need}" for need, count in sorted(play.left.items()))
    print(f"commands ran: {play.ran}; not run: {play.left.total()} ({left})")
    return 1 if play.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
