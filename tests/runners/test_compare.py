# SPDX-License-Identifier: BSD-2-Clause
"""`compare` and `certify --baseline`: exit codes, formats, and what they refuse."""

import json
from pathlib import Path

import pytest

from tests.reports.synthetic_run import write_lines
from tests.runners.fake_checkout import Cts


def certified(cts: Cts, *names: str, mended: bool = False) -> str:
    """The run of these cases, `fails` fixed or not."""
    cts.has(*names)
    cts.env.pop("FAKE_FAILS_PASS", None)
    if mended:
        cts.env["FAKE_FAILS_PASS"] = "1"
    cts("certify", "--hosts", "1")
    return (cts.runs / "latest").resolve().name


def test_exit_codes_and_formats(cts: Cts, tmp_path: Path) -> None:
    broken = certified(cts, "passes", "fails")
    mended = certified(cts, "passes", "fails", mended=True)
    done = cts("compare", broken, mended)
    assert done.returncode == 0, done
    assert done.stdout.endswith(
        "no regression: of 2 clauses in both runs, 1 failed before, kept now\n"
    )
    worse = cts("compare", mended, broken, "--format", "json")
    assert worse.returncode == 1, worse
    told = json.loads(worse.stdout)
    assert [change["kind"] for change in told["changes"]] == ["broken"]
    for fmt in ("html", "md"):
        path = tmp_path / f"it.{fmt}"
        done = cts("compare", cts.runs / mended, "latest", "--format", fmt, "--out", path)
        assert (done.returncode, done.stdout) == (0, f"{path}\n")
        assert "none changed" in path.read_text()


def test_what_cannot_be_compared(cts: Cts) -> None:
    one = certified(cts, "passes")
    other = certified(cts, "notes")
    done = cts("compare", one, other)
    assert done.returncode == 64
    assert "no clause in common" in done.stderr
    assert cts("compare", one, "nowhere").returncode == 64
    write_lines(cts.runs / other, [b"{}\n"])
    done = cts("compare", one, other)
    assert done.returncode == 64
    assert "line 1" in done.stderr


@pytest.mark.parametrize(
    ("cases", "mended", "code", "word"),
    [
        (["passes", "fails"], False, 1, "regressed"),
        (["passes", "fails"], True, 0, "no regression"),
        (["breaks_1", "passes"], True, 0, "no regression"),
    ],
)
def test_a_baseline(cts: Cts, cases: list[str], mended: bool, code: int, word: str) -> None:
    before = certified(cts, "passes", "fails", "fails_once", mended=True)
    if not mended:
        del cts.env["FAKE_FAILS_PASS"]
    cts.has(*cases)
    done = cts("certify", "--hosts", "1", "--baseline", before)
    assert done.returncode == code, done
    assert f"\n{word}: of " in done.stdout
    folder = cts.runs / "latest"
    assert json.loads((folder / "comparison.json").read_text())["result"] == word
    assert (folder / "comparison.html").is_file()
    assert (folder / "comparison.md").read_text().startswith(f"### {word.capitalize()}")
    assert (folder / "report.html").is_file()


def test_a_finding_that_the_baseline_had_is_no_regression(cts: Cts) -> None:
    before = certified(cts, "passes", "fails")
    done = cts("certify", "--hosts", "1", "--baseline", before)
    assert done.returncode == 0, done
    assert "not conformant: " in done.stdout
    assert cts.events()[-1]["exit"] == 1


def test_a_baseline_that_is_none_is_refused_before_the_run(cts: Cts) -> None:
    done = cts("certify", "--baseline", "nowhere")
    assert done.returncode == 64
    assert "no such run: nowhere" in done.stderr
    assert not cts.runs.exists()


def test_a_package_stands_for_its_run(cts: Cts) -> None:
    broken = certified(cts, "passes", "fails")
    mended = certified(cts, "passes", "fails", mended=True)
    package = cts.root / "mended.package.tar"
    assert cts("package", mended, "--out", package).returncode == 0
    done = cts("compare", package, broken)
    assert done.returncode == 1, done
    assert "regressed: of 2 clauses in both runs, 1 kept before, failed now" in done.stdout
    assert cts("compare", package, mended, "--format", "json").returncode == 0
    del cts.env["FAKE_FAILS_PASS"]
    assert cts("certify", "--hosts", "1", "--baseline", package).returncode == 1
    assert cts("report", package, broken, "--format", "md").returncode == 0
    done = cts("history", cts.root)
    assert done.returncode == 0, done
    assert mended in (cts.root / "history.html").read_text()

    package.write_bytes(package.read_bytes()[:3000])
    done = cts("compare", package, broken)
    assert done.returncode == 64
    assert "mended.package.tar is no package: " in done.stderr
