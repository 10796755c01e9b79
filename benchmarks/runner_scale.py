# SPDX-License-Identifier: BSD-2-Clause
"""How fast the runner is with many hosts and cases, and what it weighs.

Run it as `.venv/bin/python -m benchmarks.runner_scale` on a machine that does nothing else; it
writes the figures and the curve of docs/scale.md. The hosts are stand-ins: a process each that
speaks the agent's protocol, has no provider, and answers at once with as much evidence as an
ordinary case.
"""

import math
import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from results.runlog.events import read
from results.runlog.records import EVENTS
from tests.runners.fake_checkout import PROVIDER, compile_library, make_checkout

DOCS = Path(__file__).resolve().parents[1] / "docs"
MARK = "<!-- below this line: written by benchmarks/runner_scale.py -->\n"
PER_PAGE = 200
CURVE_HOSTS = (2, 8, 32, 100, 200)
CURVE_CASES = 4_000
MOST_HOSTS, MOST_CASES = 200, (2_000, 5_000, 20_000)
WANTED_RATE = 1_000
POLL = 0.1
TICKS = os.sysconf("SC_CLK_TCK")
PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / (1 << 20)


@dataclass(frozen=True)
class Figures:
    """One run: cases on two hosts each. Seconds, MiB; memory at the first and the last verdict."""

    hosts: int
    cases: int
    seconds: float
    cpu: float
    memory: tuple[float, float]
    opening: float
    reports: float
    html: float

    @property
    def rate(self) -> float:
        """Verdicts a second, from the first case's begin to the run's last record."""
        return self.cases / self.seconds

    @property
    def row(self) -> str:
        """A row of the table."""
        first, last = self.memory
        return (
            f"| {self.hosts} | {self.cases:,} | {self.rate:,.0f} | "
            f"{1000 * self.cpu / self.cases:.2f} ms | {first:.0f} MiB | {last:.0f} MiB | "
            f"{self.opening:.1f} s | {self.reports:.1f} s | {self.html:.1f} MB |"
        )


@dataclass(frozen=True)
class _Sample:
    """The runner at one moment."""

    at: float
    cpu: float
    memory: float
    written: int


def measure(folder: Path, hosts: int, cases: int) -> Figures:
    """Run `cases` cases on the pairs of `hosts` stand-in hosts, in a checkout made in `folder`.

    Raises SystemExit when not every case passed.
    """
    provider = compile_library(folder / "libdaplref.so", PROVIDER)
    cts = make_checkout(folder / "checkout", provider)
    pages = max(1, cases // PER_PAGE)
    cts.has(*(f"works_{n}" for n in range(cases // pages)), pages=pages, deadline_ms=10_000)
    argv, env = cts.command("certify", "--hosts", "2", "--spread", str(hosts))
    begun = time.time()
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            argv, env=env, cwd=cts.root, stdout=output, stderr=subprocess.STDOUT
        )
        samples = _watch(process, cts.runs / "latest" / EVENTS)
    ended = time.time()
    started, finished, verdicts = _read(cts.runs / "latest" / EVENTS)
    if process.returncode != 0 or verdicts != cases:
        raise SystemExit(f"{verdicts} of {cases} passed: {(folder / 'output').read_text()[-500:]}")
    running = [s for s in samples if started <= s.at <= finished] or samples[-1:]
    first, last = running[0], running[-1]
    # What was not sampled, at both ends, is taken to cost what the rest did.
    share = (last.written - first.written) / max(1, samples[-1].written - samples[0].written)
    return Figures(
        hosts,
        cases,
        finished - started,
        (last.cpu - first.cpu) / share if share else 0.0,
        (first.memory, last.memory),
        started - begun,
        ended - finished,
        (cts.runs / "latest/report.html").stat().st_size / 1e6,
    )


def _watch(process: "subprocess.Popen[bytes]", events: Path) -> list[_Sample]:
    """Look at the runner until it ends."""
    samples = []
    while True:
        try:
            process.wait(POLL)
        except subprocess.TimeoutExpired:
            written = events.stat().st_size if events.exists() else 0
            stat = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            cpu = (int(stat[11]) + int(stat[12])) / TICKS
            samples.append(_Sample(time.time(), cpu, int(stat[21]) * PAGE_MIB, written))
        else:
            return samples


def _read(events: Path) -> tuple[float, float, int]:
    """When the first case began and the run ended, and how many cases passed."""
    started, verdicts, finished = float("inf"), 0, 0.0
    for members in read(events):
        record = members.values if members is not None else {"type": ""}
        if record["type"] == "verdict":
            started = min(started, datetime.fromisoformat(record["started"]).timestamp())
            verdicts += record["verdict"] == "PASS"
        elif record["type"] == "end":
            finished = datetime.fromisoformat(record["finished"]).timestamp()
    return started, finished, verdicts


WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 460, 260, 60, 30, 34, 44


def chart(
    title: str, x_title: str, xs: Sequence[float], lines: dict[str, Sequence[float]], log: bool
) -> str:
    """A chart as an SVG group: a line for each name, over `xs`, which is drawn by logarithm if so
    said. The y axis begins at 0.
    """
    highest = max(1.0, *(value for values in lines.values() for value in values)) * 1.1

    def x_of(value: float) -> float:
        low, high = min(xs), max(xs)
        if log:
            low, high, value = (math.log2(each) for each in (low, high, value))
        return LEFT + (WIDTH - LEFT - RIGHT) * ((value - low) / (high - low) if high > low else 0.5)

    def y_of(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / highest

    step = _step(highest)
    parts = [f'<text class="title" x="{LEFT}" y="18">{title}</text>']
    for tick in range(int(highest / step) + 1):
        y = y_of(tick * step)
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )
        parts.append(f'<text class="y" x="{LEFT - 6}" y="{y + 4:.1f}">{tick * step:,.0f}</text>')
    for x in xs:
        parts.append(
            f'<text class="x" x="{x_of(x):.1f}" y="{HEIGHT - BOTTOM + 18}">{x:,.0f}</text>'
        )
    parts.append(f'<text class="x" x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 6}">{x_title}</text>')
    for number, (name, values) in enumerate(lines.items()):
        points = [(x_of(x), y_of(value)) for x, value in zip(xs, values, strict=True)]
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline class="l{number}" points="{joined}"/>')
        parts += [f'<circle class="l{number}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in points]
        x, y = points[-1]
        below = number < len(lines) - 1
        y += 34 if below else -9
        parts.append(f'<text class="name l{number}" x="{x:.1f}" y="{y:.1f}">{name}</text>')
    return "\n".join(parts)


def _step(highest: float) -> float:
    """A round distance for some five lines below `highest`."""
    power = 10.0 ** (len(str(int(highest))) - 1)
    return next(step for step in (power / 5, power / 2, power, 2 * power) if highest / step <= 6)


STYLE = """
text { font: 12px sans-serif; fill: #333 } .title { font-weight: 600; font-size: 13px }
.x { text-anchor: middle } .y { text-anchor: end } .name { text-anchor: end }
.grid { stroke: #ddd } polyline { fill: none; stroke-width: 2 }
polyline.l0, circle.l0 { stroke: #2d6a45 } circle.l0, text.l0 { fill: #2d6a45 }
polyline.l1, circle.l1 { stroke: #b0271e } circle.l1, text.l1 { fill: #b0271e }
"""


def draw(by_hosts: Sequence[Figures], by_cases: Sequence[Figures]) -> str:
    """The curves as an SVG document."""
    rate = chart(
        f"Verdicts a second, {by_hosts[0].cases:,} cases",
        "hosts",
        [each.hosts for each in by_hosts],
        {"verdicts/s": [each.rate for each in by_hosts]},
        log=True,
    )
    memory = chart(
        f"Memory of the runner, MiB, {by_cases[0].hosts} hosts",
        "cases",
        [each.cases for each in by_cases],
        {
            "at the first verdict": [each.memory[0] for each in by_cases],
            "at the last verdict": [each.memory[1] for each in by_cases],
        },
        log=False,
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {HEIGHT}">\n'
        f"<style>{STYLE}</style>\n"
        f'<rect width="{2 * WIDTH}" height="{HEIGHT}" fill="#fff"/>\n'
        f'<g>{rate}</g>\n<g transform="translate({WIDTH} 0)">{memory}</g>\n</svg>\n'
    )


def describe() -> str:
    """What the figures were measured on, and what else it did."""
    model = next(
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    )
    return (
        f"{os.cpu_count()} x {model}, Linux {platform.release()}, Python "
        f"{platform.python_version()}, load {os.getloadavg()[0]:.1f} before it began"
    )


def main() -> None:
    """Measure, print, and write the figures of docs/scale.md."""
    machine = describe()
    print(machine)
    figures = []
    for hosts, cases in [
        *((hosts, CURVE_CASES) for hosts in CURVE_HOSTS),
        *((MOST_HOSTS, cases) for cases in MOST_CASES),
    ]:
        with tempfile.TemporaryDirectory(prefix="udapl-cts-") as folder:
            figures.append(measure(Path(folder), hosts, cases))
        print(figures[-1].row, flush=True)
    by_hosts, by_cases = figures[: len(CURVE_HOSTS)], figures[len(CURVE_HOSTS) :]
    (DOCS / "scale.svg").write_text(draw(by_hosts, by_cases), encoding="utf-8")
    page = DOCS / "scale.md"
    kept = page.read_text(encoding="utf-8").partition(MARK)[0]
    table = "\n".join(
        [
            "| hosts | cases | verdicts a second | runner's time a verdict | memory, first verdict "
            "| last verdict | until the first case | reports | report.html |",
            "|---:|" + "---:|" * 8,
            *(each.row for each in figures),
        ]
    )
    page.write_text(f"{kept}{MARK}\n{machine}.\n\n![](scale.svg)\n\n{table}\n", encoding="utf-8")
    best = by_cases[-1]
    print(f"{best.cases:,} cases on {best.hosts} hosts: {best.rate:,.0f} (wanted: {WANTED_RATE:,})")


if __name__ == "__main__":
    main()
