# SPDX-License-Identifier: BSD-2-Clause
"""`certify --waivers`: what is recorded and told, and which files are refused."""

import json
from pathlib import Path

import pytest

from tests.runners.fake_checkout import Cts

WAIVER = """\
[[waiver]]
clause = "demo_page/fails"
provider = "fake"
versions = ">=1.0, <2"
reason = "Mended in 2.0."
url = "https://vendor.example/bugs/7"
approver = "A. Lab"
expires = {expires}
"""
VALID = WAIVER.format(expires="2999-12-31")


def file(cts: Cts, text: str) -> Path:
    """A file of waivers beside the checkout."""
    path = cts.root / "waivers.toml"
    path.write_text(text)
    return path


def test_a_waived_finding_is_still_one(cts: Cts) -> None:
    cts.has("passes", "fails")
    done = cts("certify", "--hosts", "1", "--waivers", file(cts, VALID))
    assert done.returncode == 1, done
    assert done.stderr == ""
    assert "1 finding, 1 waived: a waiver changes no verdict." in done.stdout
    assert "(waived until 2999-12-31)" in done.stdout
    (row,) = cts.events()[0]["waivers"]
    assert row["clause"] == "demo_page/fails"
    assert row["expires"] == "2999-12-31"


def test_an_unused_waiver_is_an_error_after_the_report(cts: Cts) -> None:
    cts.has("fails")
    path = file(cts, VALID)
    assert cts("certify", "--hosts", "1", "--waivers", path).returncode == 1
    cts.has("passes", "fails")
    cts.env["FAKE_FAILS_PASS"] = "1"
    done = cts("certify", "--hosts", "1", "--waivers", path)
    assert done.returncode == 64, done
    assert done.stderr == (
        f"udapl-cts: {path}: the waiver of demo_page/fails is unused: its clause was kept;"
        " remove it, or mend it\n"
    )
    assert (cts.runs / "latest/report.html").is_file()
    assert cts.events()[-1]["exit"] == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'waiver' is a required property"),
        ("[[waiver]\n", "Expected ']]'"),
        (VALID + "aprover = 3\n", "waiver 1 (demo_page/fails): Additional properties are not"),
        (VALID.replace('approver = "A. Lab"\n', ""), "'approver' is a required property"),
        (VALID.replace("https://", ""), "url: 'vendor.example/bugs/7' does not match"),
        (WAIVER.format(expires='"soon"'), "expires: is no date, such as 2027-01-31"),
        (WAIVER.format(expires='"2999-02-31"'), "expires: is no date, such as 2027-01-31"),
        (WAIVER.format(expires="2020-01-31"), "expired on 2020-01-31: renew it with its approver"),
        (VALID.replace(">=1.0", "about 1"), "versions: 'about 1, <2' is no range"),
        (VALID.replace("/fails", "/failz"), "no clause is called 'demo_page/failz'; nearest: demo"),
    ],
)
def test_a_file_that_is_wrong_is_refused_in_one_line(cts: Cts, text: str, said: str) -> None:
    cts.has("passes", "fails")
    done = cts("certify", "--waivers", file(cts, text))
    assert done.returncode == 64, done
    assert done.stdout == ""
    assert done.stderr.startswith("udapl-cts: ")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr
    assert not cts.runs.exists()


def test_a_file_that_is_missing_is_named(cts: Cts) -> None:
    done = cts("certify", "--waivers", "nowhere.toml")
    assert done.returncode == 64, done
    assert done.stderr == (
        "udapl-cts: cannot read the waivers nowhere.toml: No such file or directory\n"
    )


@pytest.mark.parametrize(
    ("cases", "code"),
    [
        (["fails"], 0),
        (["fails", "fails_on_two"], 1),
        (["fails", "frees_nothing"], 1),
        (["fails", "breaks"], 2),
    ],
)
def test_findings_that_are_all_waived_may_be_let_pass(
    cts: Cts, cases: list[str], code: int
) -> None:
    cts.has("passes", *cases)
    done = cts("certify", "--waivers", file(cts, VALID), "--waived-ok")
    assert done.returncode == code, done
    assert "not conformant: " in done.stdout
    report = json.loads((cts.runs / "latest/report.json").read_text())
    assert report["conclusion"] == "not conformant"
    assert report["waivers"]["accepted"] == (code != 1)
    assert ("All are waived, and by --waived-ok the exit code" in done.stdout) == (code != 1)
    assert "by --waived-ok" in (cts.runs / "latest/report.md").read_text() or code == 1
    assert cts.events()[-1]["exit"] == 1


def test_a_mended_finding_is_a_warning_where_waived_ones_pass(cts: Cts) -> None:
    cts.has("passes", "fails")
    cts.env["FAKE_FAILS_PASS"] = "1"
    path = file(cts, VALID)
    done = cts("certify", "--hosts", "1", "--waivers", path, "--waived-ok")
    assert done.returncode == 0, done
    assert done.stderr == (
        f"udapl-cts: warning: {path}: the waiver of demo_page/fails is unused: its clause was kept;"
        " remove it\n"
    )
    assert "Not needed any more, for their clauses were kept: demo_page/fails." in done.stdout


def test_waived_ok_needs_waivers(cts: Cts) -> None:
    done = cts("certify", "--waived-ok")
    assert done.returncode == 64
    assert "give --waivers too" in done.stderr
