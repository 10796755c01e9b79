# SPDX-License-Identifier: BSD-2-Clause
"""What a page's catalogue file declares of its cases, as the build asks for it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FACTS = ROOT / "include/facts/dat-1.2.json"
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
id = "kettle_fill/rows"
check = "local"
needs = ["srq_supported"]
rows = ["plain", { id = "flagged", needs = ["suppress_flag_supported", "thread_safe_supported"] }]

[[clause]]
id = "kettle_fill/none"
check = "none"
"""


def declare(folder: Path, page: str) -> "subprocess.CompletedProcess[str]":
    return declare_as(folder, "kettle_fill", page)


def declare_as(folder: Path, name: str, page: str) -> "subprocess.CompletedProcess[str]":
    path = folder / f"{name}.toml"
    path.write_text(page)
    argv = [sys.executable, "-m", "cases.declare", str(FACTS), str(folder), str(path)]
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True)


def test_a_clause_with_a_case_declares_it(tmp_path: Path) -> None:
    assert declare(tmp_path, PAGE).returncode == 0
    lines = (tmp_path / "kettle_fill.h").read_text().splitlines()
    assert [line for line in lines if line.startswith("#define CLAUSE_")] == [
        "#define CLAUSE_kettle_fill__local .needs = 0",
        "#define CLAUSE_kettle_fill__pair .needs = NEED_SRQ | NEED_THREAD_SAFE, .peers = 1",
        "#define CLAUSE_kettle_fill__network .needs = NEED_SRQ, .peers = 1, .network = true",
        "#define CLAUSE_kettle_fill__rows .needs = NEED_SRQ,"
        " .row_needs = (const struct row_needs[])"
        '{{"flagged", NEED_SUPPRESS_FLAG | NEED_THREAD_SAFE}, {NULL, 0}}',
    ]


def test_a_check_that_is_none_ends_the_build(tmp_path: Path) -> None:
    done = declare(tmp_path, '[[clause]]\nid = "kettle_fill/a"\ncheck = "global"\n')
    assert done.returncode == 1
    assert "kettle_fill/a: check: 'global' is not" in done.stderr


def test_a_file_that_is_no_toml_ends_the_build(tmp_path: Path) -> None:
    done = declare(tmp_path, "[[clause\n")
    assert done.returncode == 1
    assert "kettle_fill.toml: " in done.stderr


STANDARD = """
[standard]
legal = "evd_modify_cno/set"
section = "RETURN VALUES"
sentences = ["0123abcd"]
handles = [
    { argument = "evd_handle", kind = "evd", dispatch = true },
    { argument = "cno_handle", kind = "cno", null = true },
]
"""


def test_standard_clauses_bring_their_cases(tmp_path: Path) -> None:
    done = declare_as(tmp_path, "evd_modify_cno", STANDARD)
    assert done.stderr == ""
    header = (tmp_path / "evd_modify_cno.h").read_text()
    assert "struct dat_evd_modify_cno_call {" in header
    assert "#define CLAUSE_evd_modify_cno__invalid_evd_handle .needs = 0" in header
    source = (tmp_path / "evd_modify_cno.c").read_text()
    assert "FAMILY(evd_modify_cno, invalid_cno_handle, bad_cno_handle)" in source
    assert source.count("BAD_HANDLE_NULL") == 1


def test_each_standard_case_has_a_line_and_a_function_of_its_own(tmp_path: Path) -> None:
    table = (
        STANDARD
        + """
    pointers = [{ argument = "cno_handle", sentences = ["0123abcd"] }]
    """
    )
    assert declare_as(tmp_path, "evd_modify_cno", table).stderr == ""
    lines = (tmp_path / "evd_modify_cno.c").read_text().splitlines()
    cases = [i for i, line in enumerate(lines) if "CASE(" in line or "FAMILY(" in line]
    assert [lines[i].partition("(")[0] for i in cases] == ["FAMILY", "FAMILY", "CASE"]
    # Reports name the table; a debugger stops in a function with lines of its own.
    place = f'#line 2 "cases/{tmp_path.name}/evd_modify_cno.toml"'
    assert {lines[i - 1] for i in cases} == {place}
    for i in cases:
        name = re.split(r"[ ,()]+", lines[i])[2]
        assert any(line.startswith(f"static void check_{name}(") for line in lines)


def test_what_a_call_makes_is_found_among_its_results(tmp_path: Path) -> None:
    table = """
    [standard]
    legal = "lmr_create/created"
    section = "RETURN VALUES"
    sentences = ["0123abcd"]
    handles = [{ argument = "ia_handle", kind = "ia", dispatch = true }]
    """
    assert declare_as(tmp_path, "lmr_create", table).stderr == ""
    source = (tmp_path / "lmr_create.c").read_text()
    assert ".made = offsetof(struct dat_lmr_create_call, lmr_handle)" in source
    assert ".made_type = DAT_HANDLE_TYPE_LMR" in source


def test_an_argument_that_the_call_has_not_ends_the_build(tmp_path: Path) -> None:
    done = declare_as(tmp_path, "evd_modify_cno", STANDARD.replace("cno_handle", "kettle"))
    assert done.returncode == 1
    assert "dat_evd_modify_cno has no argument kettle" in done.stderr


@pytest.mark.parametrize(
    ("was", "is_", "told"),
    [
        ('kind = "cno"', 'kind = "pot"', "'pot' is no kind"),
        ('kind = "cno"', "", "kind is missing"),
        ("null = true", "nil = true", "unknown key nil"),
        ('legal = "evd_modify_cno/set"', "", "legal is missing"),
        ('legal = "evd_modify_cno/set"', 'legal = "pot/set"', "no clause of the page"),
        ('"cno", null = true', '"rmr", other_ia = true', "other_ia is for pz, evd, cno, srq"),
    ],
)
def test_a_table_of_arguments_that_makes_no_sense_ends_the_build(
    tmp_path: Path, was: str, is_: str, told: str
) -> None:
    wrong = STANDARD.replace(was, is_).replace(", ,", ",").replace(",  }", " }")
    done = declare_as(tmp_path, "evd_modify_cno", wrong)
    assert done.returncode == 1
    assert told in done.stderr


def test_what_does_not_change_is_not_compiled_anew(tmp_path: Path) -> None:
    assert declare(tmp_path, PAGE).returncode == 0
    made = [tmp_path / "kettle_fill.h", tmp_path / "kettle_fill.c"]
    for path in made:
        os.utime(path, (1, 1))
    assert declare(tmp_path, PAGE + "\n# a remark\n").returncode == 0
    assert [path.stat().st_mtime for path in made] == [1, 1]
