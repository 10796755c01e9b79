# SPDX-License-Identifier: BSD-2-Clause
"""The version is the same wherever it stands."""

import re
import tomllib
from pathlib import Path

from runners.checkout import VERSION

ROOT = Path(__file__).resolve().parents[2]


def test_build_package_and_changelog_have_the_version_of_the_suite() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cmake = re.search(r"^project\(udapl-cts VERSION (\S+) ", _read("CMakeLists.txt"), re.MULTILINE)
    newest = re.search(r"^## (\S+) \(", _read("CHANGELOG.md"), re.MULTILINE)
    assert cmake is not None
    assert newest is not None
    assert project["version"] == VERSION
    assert cmake[1] == VERSION
    assert newest[1] == VERSION


def test_the_jobs_of_the_documentation_take_this_version() -> None:
    assert set(re.findall(r"\bv(\d+\.\d+\.\d+)\b", _read("docs/ci.md"))) == {VERSION}


def _read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")
