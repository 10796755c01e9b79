# SPDX-License-Identifier: BSD-2-Clause
"""A clock that is set while a case runs, or goes too slowly, gives no case another verdict."""

from pathlib import Path

import pytest

from tests.harness.session import Agent
from tests.hostile.clock import Clock, set_clock

YEAR = 365 * 86400.0


@pytest.fixture
def prefix(tmp_path: Path) -> list[str]:
    """What gives an agent the clock of `tmp_path`."""
    return ["env", *(f"{name}={value}" for name, value in Clock(tmp_path).env.items())]


@pytest.mark.parametrize("to", [YEAR, -YEAR, -1.0])
def test_a_time_of_day_that_jumps(tmp_path: Path, prefix: list[str], to: float) -> None:
    with Agent(tmp_path, prefix=prefix) as agent:
        agent.start("provider/keeps_quiet", quiet_ms=800, deadline_ms=5000)
        set_clock(tmp_path, to)
        outcome = agent.finish()
        assert (outcome.word, outcome.reason) == ("PASS", "")
        assert 800_000 <= outcome.verdict["us"] < 5_000_000


@pytest.mark.parametrize(
    ("case", "word", "misbehaviour"),
    [
        ("provider/resizes", "PASS", ""),
        ("provider/keeps_quiet", "PASS", ""),
        ("provider/waits_in_vain", "FAIL", ""),
        ("provider/resizes", "CRASH", "resize=crash"),
    ],
)
def test_a_slow_clock(
    tmp_path: Path, prefix: list[str], case: str, word: str, misbehaviour: str
) -> None:
    set_clock(tmp_path, rate=0.1)
    with Agent(tmp_path, misbehaviour, prefix=prefix) as agent:
        assert agent.run(case, event_ms=100, quiet_ms=50).word == word
        assert agent.run("harness/passes").word == "PASS"


def test_a_hang_by_a_slow_clock(tmp_path: Path, prefix: list[str]) -> None:
    """It has its end, though a tenth of a second takes one."""
    set_clock(tmp_path, rate=0.1)
    with Agent(tmp_path, "resize=hang", prefix=prefix) as agent:
        outcome = agent.run("provider/resizes", event_ms=90, deadline_ms=5000)
        assert outcome.word in ("TIMEOUT", "FAIL", "BLOCKED")
        assert outcome.verdict["pending"] == "dat_srq_resize"
        assert agent.run("harness/passes").word == "PASS"
