# SPDX-License-Identifier: BSD-2-Clause
"""What a run prints while it runs: on a terminal a live line, elsewhere a line for each tenth.

A verdict has a line if it is a finding.
"""

import re
import sys
import time
from collections import Counter
from types import TracebackType
from typing import IO, Self, cast

from rich.console import Console
from rich.live import Live
from rich.text import Text

from results.model.load import beside
from results.runlog import records
from runners.campaign.plan.plan import mode

STYLES = {
    "PASS": "green",
    "NOTE": "cyan",
    "UNSUPPORTED": "blue",
    "RESOURCE": "yellow",
    "NOT-RUN": "yellow",
    "BLOCKED": "yellow",
    "ERROR": "bold yellow",
    "FAIL": "bold red",
    "CRASH": "bold red",
    "TIMEOUT": "bold red",
    "CONTRADICTED": "bold red",
}
# These end a run, or a mode: they are reported at its end, as errors.
FATAL = frozenset({"fabric", "ia", "interrupted", "no-space", "runner"})
SILENT = frozenset({"PASS", "UNSUPPORTED"})
WIDTH_OF_A_FILE = 160
PADDING = re.compile(r" +$", re.MULTILINE)
# Without a terminal, progress is printed so many times.
STEPS = 10


class _Unpadded:
    """Standard output without the blanks that fill a line of a table or of indented text."""

    def __init__(self) -> None:
        self.encoding = sys.stdout.encoding

    def write(self, text: str) -> int:
        sys.stdout.write(PADDING.sub("", text))
        return len(text)

    def flush(self) -> None:
        sys.stdout.flush()


def console() -> Console:
    """Standard output; a file or a pipe is given wide lines without blanks at their ends."""
    made = Console(highlight=False, soft_wrap=True)
    if not made.is_terminal:
        made = Console(highlight=False, width=WIDTH_OF_A_FILE, file=cast(IO[str], _Unpadded()))
    return made


class Progress:
    """The progress of a run of `total` verdicts. A context; calls may come from any thread.

    If it is `quiet`, it prints incidents only.
    """

    def __init__(self, out: Console, quiet: bool = False) -> None:
        self.total = 0
        self._quiet = quiet
        self._out = out
        self._done = 0
        self._again = 0
        # When this was begun, its first case, and the last first verdict of a case came.
        self._begun = time.monotonic()
        self._first = 0.0
        self._last = 0.0
        self._current = ""
        self._counts: Counter[str] = Counter()
        # The clauses that a call of a case that was kept breaks, by what was printed.
        self._broken: set[str] = set()
        self._live = Live(
            console=out, get_renderable=self._line, refresh_per_second=8, transient=True
        )

    def __enter__(self) -> Self:
        if self._out.is_terminal and not self._quiet:
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
        if not self._quiet:
            self._out.print(Text(text))

    def started(self, name: str) -> None:
        """The case `name` began."""
        self._current = name
        self._first = self._first or time.monotonic()

    def record(self, record: records.Record) -> None:
        """Something was written down."""
        if record["type"] == "incident" and record["what"] not in FATAL:
            where = f"{record['host']}: " if record["host"] else ""
            self._out.print(Text(f"! {where}{record['text']}", style="bold yellow"))
        elif record["type"] == "walk":
            self._out.print(Text(f"! random walk: {one_line(record['why'])}", style="bold red"))
        elif record["type"] == "verdict":
            self._verdict(record)

    @property
    def rate(self) -> str:
        """How quickly verdicts came, in a sentence; empty where none did."""
        if not self._done:
            return ""
        took = max(self._last - self._first, 0.001)
        said = f"{counted(self._done, 'verdict')} in {clock(took)}, "
        said += f"{self._done / took:.1f} a second"
        if self._again:
            later = time.monotonic() - self._last
            said += f"; {counted(self._again, 'second attempt')}, alone, in {clock(later)}"
        return said

    def _verdict(self, record: records.Record) -> None:
        word = record["verdict"]
        first = record["attempt"] == 1
        if first:
            self._done += 1
            self._last = time.monotonic()
            self._counts[word] += 1
        else:
            self._again += 1
        if self._quiet:
            return
        if first and not self._out.is_terminal:
            self._step()
        broken = beside(self._news(record))
        if word in SILENT and first and not broken:
            return
        place = f"[{self._done:{len(str(self.total))}}/{self.total}]" if first else "[again]"
        name = f"{record['case']} [{mode(record['hosts'])}]"
        said = f"  {one_line(record['reason'])}" if record["reason"] and word != "PASS" else ""
        said += f"  {broken}" if broken else ""
        if self._out.is_terminal:
            style = STYLES[word]
            self._out.print(Text.assemble(place, " ", (f"{word:<11}", style), f" {name}{said}"))
        else:
            # To lay out a line that has no style would cost more than all else about a verdict.
            self._out.file.write(f"{place} {word:<11} {name}{said}\n")

    def _news(self, record: records.Record) -> records.Record:
        """The record without a clause that a call breaks, and without calls that it did without,
        if another case has told of them.
        """
        told = {
            "breaks": [record["breaks"]] if "breaks" in record else [],
            "unasked": [each["call"] for each in record.get("unasked", ())],
        }
        old = {name for name, said in told.items() if self._broken.issuperset(said)}
        self._broken.update(*told.values())
        return {name: value for name, value in record.items() if name not in old}

    def _step(self) -> None:
        """Print how far the run is, after each tenth of its verdicts."""
        step = max(self.total // STEPS, 1)
        if self.total > STEPS and self._done % step == 0:
            self._out.file.write(f"{self._done} of {self.total} verdicts, {self._clocks()}\n")

    def _line(self) -> Text:
        current = self._current or "opening the hosts"
        count = f"{self._done}/{self.total}"
        line = Text.assemble((count, "bold"), f"  {self._clocks()}  {current}  ")
        for word in STYLES:
            if self._counts[word]:
                line.append(f" {self._counts[word]} {word}", STYLES[word])
        line.no_wrap = True
        line.overflow = "ellipsis"
        return line

    def _clocks(self) -> str:
        """The time that has gone, and what is left if the rest takes as long as what was done."""
        now = time.monotonic()
        gone = clock(now - self._begun)
        left = self.total - self._done
        if self._again:
            return f"{gone}, {self._again} again"
        if not self._done or left <= 0:
            return gone
        return f"{gone}, {clock((now - self._first) / self._done * left)} left"


def counted(count: int, what: str) -> str:
    """ "1 verdict", "7 verdicts"."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def clock(seconds: float) -> str:
    """Minutes and seconds, and hours where there are some: "4:07", "1:02:03"."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def one_line(text: str) -> str:
    """The first line of `text`, with nothing in it that steers a terminal."""
    first = text.strip().split("\n", 1)[0]
    return "".join(character if character.isprintable() else "?" for character in first)
