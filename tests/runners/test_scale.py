# SPDX-License-Identifier: BSD-2-Clause
"""The benchmark of many hosts, in small: every verdict arrives, and the curve is drawn."""

from pathlib import Path
from xml.etree import ElementTree

from benchmarks.runner_scale import Figures, draw, measure


def test_a_small_run_is_measured(tmp_path: Path) -> None:
    figures = measure(tmp_path, hosts=8, cases=200)
    assert figures.rate > 0
    assert figures.html > 0
    assert figures.row.startswith("| 8 | 200 | ")


def test_the_curve_is_drawn() -> None:
    by_hosts = [_figures(hosts, 4000, 1.0 + 8 / hosts) for hosts in (2, 8, 200)]
    by_cases = [_figures(200, cases, cases / 1000) for cases in (2000, 20000)]
    root = ElementTree.fromstring(draw(by_hosts, by_cases))
    lines = root.iter("{http://www.w3.org/2000/svg}polyline")
    assert [len(line.attrib["points"].split()) for line in lines] == [3, 2, 2]
    words = {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"200", "20,000", "verdicts/s", "at the last verdict"} <= words
    for circle in root.iter("{http://www.w3.org/2000/svg}circle"):
        assert 0 <= float(circle.attrib["cy"]) <= 260


def _figures(hosts: int, cases: int, seconds: float) -> Figures:
    return Figures(hosts, cases, seconds, 1.0, (100.0, 110.0), 1.0, 2.0, 0.5)
