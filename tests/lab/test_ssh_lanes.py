# SPDX-License-Identifier: BSD-2-Clause
"""Several cases at a time on hosts that they share, with the real agent, by ssh."""

import random
from pathlib import Path
from typing import Any

import pytest

from runners.campaign.plan.plan import load_cases
from runners.checkout import here
from tests.lab.ssh_lab import SshLab
from tests.lab.test_ssh import certify, events, run

SEED = 1
DRAWN = 24
DRAWN_ALONE = 4


def drawn() -> list[str]:
    """The ids of some cases, of which a few run alone."""
    _, cases = load_cases(here())
    draw = random.Random(SEED)
    alone = [case.id for case in cases if case.clause.alone]
    return sorted(
        {
            *draw.sample([case.id for case in cases], DRAWN),
            *draw.sample(alone, DRAWN_ALONE),
        }
    )


def first_ends(out: Path) -> dict[tuple[str, int], str]:
    """The first verdict of each case of a run."""
    firsts = (r for r in events(out) if r["type"] == "verdict" and r["attempt"] == 1)
    return {(r["case"], r["hosts"]): r["verdict"] for r in firsts}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Plan and first verdicts of the drawn cases, by the number of lanes."""
    found: dict[str, Any] = {}
    with SshLab(2) as lab:
        for lanes in ("1", "4"):
            out = tmp_path_factory.mktemp("lanes") / "out"
            done = run(certify(lab, out, *drawn(), "--seed", str(SEED), "-n", lanes))
            assert done.returncode == 0, done
            found[lanes] = (events(out)[0]["plan"], first_ends(out))
    return found


def test_plan_and_verdicts_do_not_depend_on_lanes(told: dict[str, Any]) -> None:
    assert told["1"] == told["4"]
    assert len(told["1"][1]) >= DRAWN
