# SPDX-License-Identifier: BSD-2-Clause
"""Agents and binaries under test. UDAPL_CTS_BUILD names their build, else it is the default one."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.harness.session import CASES, Agent


@pytest.fixture(autouse=True)
def _built() -> None:
    if not CASES.exists():
        pytest.fail(f"{CASES} is not built: cmake --build --preset default")


@pytest.fixture
def namespace() -> bool:
    """Whether agents may make a PID namespace."""
    return True


@pytest.fixture
def agent(tmp_path: Path, namespace: bool) -> Iterator[Agent]:
    """An agent on a provider that behaves."""
    with Agent(tmp_path, namespace=namespace) as agent:
        yield agent


@pytest.fixture
def agent_on(tmp_path: Path, namespace: bool) -> Iterator[Callable[[str], Agent]]:
    """Makes an agent on a provider that misbehaves as the words say."""
    made: list[Agent] = []

    def make(misbehaviour: str) -> Agent:
        made.append(Agent(tmp_path, misbehaviour, namespace=namespace).__enter__())
        return made[-1]

    yield make
    for agent in made:
        agent.__exit__(None, None, None)
