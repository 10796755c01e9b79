# SPDX-License-Identifier: BSD-2-Clause
"""The reference provider with one thing wrong that shows on devices of other makes only. Needs a
built checkout.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reports.synthetic_run import read_lines
from tests.runners.fake_checkout import REPOSITORY

DEADLINE = 240


@pytest.mark.parametrize(
    ("device", "fault", "case", "hosts"),
    [
        ("tight", "sleeps", "srq_resize/connected_ep_fills", 1),
        ("tight", "sleeps", "srq_resize/places_receive/grow", 1),
        ("mlx5", "hastens", "srq_query/available_after_disconnect", 1),
        ("irdma", "believes", "ep_recv_query/srq_half_received", 2),
    ],
)
def test_a_mutant_is_killed(tmp_path: Path, device: str, fault: str, case: str, hosts: int) -> None:
    library = f"build/default/lib/libdaplref-{device}-{fault}.so"
    argv = [sys.executable, "-m", "runners", "certify", case, "--provider", library]
    done = subprocess.run(
        [*argv, "--hosts", str(hosts), "--out", str(tmp_path / "out")],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE,
    )
    assert done.returncode == 1, done
    records = [json.loads(line) for line in read_lines(tmp_path / "out")]
    assert {record["verdict"] for record in records if record["type"] == "verdict"} == {"FAIL"}
