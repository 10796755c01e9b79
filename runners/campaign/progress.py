# SPDX-License-Identifier: BSD-2-Clause
"""What a person sees while a run goes on: a live line on a terminal, a line a verdict elsewhere."""

from collections import Counter
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from runners.campaign.plan import mode
from runners.results import records

STYLES = {
    "PASS": "green",
    "NOTE": "cyan",
    "UNSUPPORTED": "blue",
    "RESOURCE": "yellow",
    "NOT-RUN": "yellow",
    "BROKEN": "bold yellow",
    "FAIL": "bold red",
    "CRASH": "bold red",
    "TIMEOUT": "bold red",
    "CONTRADICTED": "bold red",
}
# These end a run, or a mode: they are told at its end, as errors.
FATAL = frozenset({"fabric", "ia", "interrupted", "no-space", "runner"})
SILENT = frozenset({"PASS", "UNSUPPORTED"})
WIDTH_OF_A_FILE = 160


def console() -> Console:
    """Standard output; a file or a pipe is given wide lines, which nobody has to read wrapped."""
    made = Console(highlight=False, soft_wrap=True)
    if not made.is_terminal:
        made = Console(highlight=False, width=WIDTH_OF_A_FILE)
    return made


class Progress:
    """The progress of a run of `total` verdicts. A context; calls may come from any thread."""

    def __init__(self, out: Console) -> None:
        self.total = 0
        self._out = out
        self._done = 0
        self._current = ""
        self._counts: Counter[str] = Counter()
        self._live = Live(
            console=out, get_renderable=self._line, refresh_per_second=8, transient=True
        )

    def __enter__(self) -> Self:
        if self._out.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._live.stop()

    def say(self, text: str) -> None:
        """A line that stays."""
        self._out.print(Text(text))

    def started(self, name: str) -> None:
        """The case `name` began."""
        self._current = name

    def record(self, record: records.Record) -> None:
        """Something was written down."""
        if record["type"] == "incident" and record["what"] not in FATAL:
            where = f"{record['host']}: " if record["host"] else ""
            self._out.print(Text(f"! {where}{record['text']}", style="bold yellow"))
        elif record["type"] == "verdict":
            self._verdict(record)

    def _verdict(self, record: records.Record) -> None:
        word = record["verdict"]
        first = record["attempt"] == 1
        if first:
            self._done += 1
            self._counts[word] += 1
        broken = records.in_teardown(record)
        if self._out.is_terminal and word in SILENT and first and not broken:
            return
        place = f"[{self._done:{len(str(self.total))}}/{self.total}]" if first else "[again]"
        name = f"{record['case']} [{mode(record['hosts'])}]"
        said = f"  {one_line(record['reason'])}" if record["reason"] and word != "PASS" else ""
        said += f"  teardown: {broken}" if broken else ""
        if self._out.is_terminal:
            style = STYLES[word]
            self._out.print(Text.assemble(place, " ", (f"{word:<11}", style), f" {name}{said}"))
        else:
            # To lay out a line that has no style would cost more than all else about a verdict.
            self._out.file.write(f"{place} {word:<11} {name}{said}\n")

    def _line(self) -> Text:
        current = self._current or "opening the hosts"
        line = Text.assemble((f"{self._done}/{self.total}", "bold"), f"  {current}  ")
        for word in STYLES:
            if self._counts[word]:
                line.append(f" {self._counts[word]} {word}", STYLES[word])
        line.no_wrap = True
        line.overflow = "ellipsis"
        return line


def one_line(text: str) -> str:
    """The first line of `text`, with nothing in it that steers a terminal."""
    first = text.strip().split("\n", 1)[0]
    return "".join(character if character.isprintable() else "?" for character in first)
