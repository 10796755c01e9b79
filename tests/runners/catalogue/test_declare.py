# SPDX-License-Identifier: BSD-2-Clause
"""What a page's catalogue file declares of its cases, as the build asks for it."""

import subprocess
import sys
from pathlib import Path

DECLARE = Path(__file__).parents[3] / "cases/declare.py"
PAGE = """
[[clause]]
id = "kettle_fill/local"
check = "local"

[[clause]]
id = "kettle_fill/pair"
check = "pair"
needs = ["srq_supported", "thread_safe_supported"]

[[clause]]
id = "kettle_fill/network"
check = "network"
needs = ["srq_supported"]

[[clause]]
id = "kettle_fill/none"
check = "none"
"""


def declare(folder: Path, page: str) -> "subprocess.CompletedProcess[str]":
    (folder / "kettle_fill.toml").write_text(page)
    argv = [sys.executable, str(DECLARE), "kettle_fill.toml", "kettle_fill.h"]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True)


def test_a_clause_with_a_case_declares_it(tmp_path: Path) -> None:
    assert declare(tmp_path, PAGE).returncode == 0
    lines = (tmp_path / "kettle_fill.h").read_text().splitlines()
    assert [line for line in lines if line.startswith("#define CLAUSE_")] == [
        "#define CLAUSE_kettle_fill__local .needs = 0",
        "#define CLAUSE_kettle_fill__pair .needs = NEED_SRQ | NEED_THREAD_SAFE, .peers = 1",
        "#define CLAUSE_kettle_fill__network .needs = NEED_SRQ, .peers = 1, .network = true",
    ]


def test_a_check_that_is_none_ends_the_build(tmp_path: Path) -> None:
    done = declare(tmp_path, '[[clause]]\nid = "kettle_fill/a"\ncheck = "global"\n')
    assert done.returncode == 1
    assert "kettle_fill/a: check: 'global' is not" in done.stderr


def test_a_file_that_is_no_toml_ends_the_build(tmp_path: Path) -> None:
    done = declare(tmp_path, "[[clause\n")
    assert done.returncode == 1
    assert done.stderr.startswith("kettle_fill.toml: ")
