# SPDX-License-Identifier: BSD-2-Clause
"""A host whose device or network a case took away says so with that case's verdict."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.session import Agent

# A network of its own, whose one netdev has the address of the tests' provider.
OWN = ["unshare", *([] if os.geteuid() == 0 else ["-r"]), "-n"]
UP = ["sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


@pytest.fixture
def apart(tmp_path: Path) -> Iterator[Agent]:
    """An agent on a network of its own."""
    if subprocess.run([*OWN, "true"], check=False).returncode != 0:
        pytest.skip("the kernel lets this user make no network of its own")
    with Agent(tmp_path, prefix=[*OWN, *UP]) as agent:
        yield agent


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("ip link set lo down", "its netdev lo is down"),
        ("ip addr change 127.0.0.2/8 dev lo && ip addr del 127.0.0.1/8 dev lo", "lost its address"),
    ],
)
def test_a_network_that_is_gone(apart: Agent, command: str, why: str) -> None:
    assert "unfit" not in apart.run("harness/passes").verdict
    inside = ["nsenter", "-t", str(apart.hello_message["pid"]), "-n"]
    if os.geteuid() != 0:
        inside += ["-U", "--preserve-credentials"]
    subprocess.run([*inside, "sh", "-c", command], check=True)
    outcome = apart.run("harness/passes")
    assert outcome.word == "PASS"
    assert why in outcome.verdict["unfit"]
