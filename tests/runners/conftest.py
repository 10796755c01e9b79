# SPDX-License-Identifier: BSD-2-Clause
"""A checkout of its own for each test."""

from pathlib import Path

import pytest

from runners.checkout import BASE_VARIABLE
from tests.runners.fake_checkout import PROVIDER, Cts, compile_library, make_checkout


@pytest.fixture(autouse=True)
def no_base(monkeypatch: pytest.MonkeyPatch) -> None:
    """The commit that a gate names is none of a test's own repository."""
    monkeypatch.delenv(BASE_VARIABLE, raising=False)


@pytest.fixture(scope="session")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shared object that looks like a provider."""
    folder = tmp_path_factory.mktemp("provider")
    return compile_library(folder / "libdaplref.so", PROVIDER)


@pytest.fixture
def cts(tmp_path: Path, provider: Path) -> Cts:
    """A checkout, and the command line that works on it."""
    return make_checkout(tmp_path / "checkout", provider)
