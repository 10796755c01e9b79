# SPDX-License-Identifier: BSD-2-Clause
"""`certify --libdat`: a registry in the place of the usual one, and who is to blame for what."""

import json
import re
from pathlib import Path

import pytest

from tests.runners.fake_checkout import REPOSITORY, Cts, compile_library

LIBRARIES = REPOSITORY / "build/default/lib"
LIBDAT = LIBRARIES / "libdat.so.1"


@pytest.fixture
def with_registrys(cts: Cts) -> Cts:
    """A checkout with a clause that is not kept, and is the registry's."""
    cts.has("fails", "passes")
    page = cts.root / "cases/demo/demo_page.toml"
    text = page.read_text()
    page.write_text(text.replace('"demo_page/fails"', '"demo_page/fails"\nblame = "registry"'))
    return cts


def test_it_is_said_everywhere(cts: Cts) -> None:
    done = cts("certify", "--libdat", str(LIBDAT))
    assert done.returncode == 0, done
    said = cts.events()[0]["subject"]["libdat"]
    assert (said["library"], len(said["sha256"])) == (str(LIBDAT), 64)
    assert f"registry: {LIBDAT} (sha256 {said['sha256'][:16]})" in done.stdout
    folder = cts.runs / "latest"
    report = json.loads((folder / "report.json").read_text())
    expected = {"library": LIBDAT.name, "sha256": said["sha256"]}
    assert report["subject"]["libdat"] == expected
    assert str(LIBDAT) in (folder / "report.md").read_text()
    assert f"by the registry <code>{LIBDAT}</code>" in (folder / "report.html").read_text()
    assert said["sha256"] in (folder / "junit.xml").read_text()


def test_without_it_nothing_is_said(cts: Cts) -> None:
    assert cts("certify").returncode == 0
    assert "libdat" not in cts.events()[0]["subject"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere.so", "no such libdat"),
        ("dat.conf", "is no libdat: not a shared object"),
        ("libempty.so", "it has no soname, not libdat.so.1"),
        ("libdat2.so.2", "its soname is libdat2.so.2, not libdat.so.1: give --api 2.0"),
        ("libpart.so", "it does not export dat_"),
        ("a lib.so", "neither blank nor colon"),
    ],
)
def test_a_wrong_file(cts: Cts, tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "dat.conf").write_text("no library")
    compile_library(tmp_path / "libdat2.so.2", "int nothing;", "-Wl,-soname,libdat2.so.2")
    compile_library(tmp_path / "libempty.so", "int nothing;")
    compile_library(tmp_path / "libpart.so", "int dat_strerror;", "-Wl,-soname,libdat.so.1")
    done = cts("certify", "--libdat", str(tmp_path / name))
    assert done.returncode == 64
    (line,) = done.stderr.splitlines()
    assert said in line


def test_one_that_the_loader_did_not_take(cts: Cts) -> None:
    cts.env["FAKE_LIBDAT"] = "/usr/lib/libdat.so.1"
    done = cts("certify", "--libdat", str(LIBDAT))
    assert done.returncode == 2
    assert f"its libdat is /usr/lib/libdat.so.1, and not {LIBDAT}" in done.stderr


def test_our_own_registry_convicts_nobody(with_registrys: Cts) -> None:
    done = with_registrys("certify")
    assert done.returncode == 2
    assert "could not tell: 1 clause is of the suite's own registry" in done.stdout
    assert "the suite is at fault there, and no provider" in done.stdout
    assert re.search("Registry +fail", done.stdout)
    assert with_registrys.events()[-1]["exit"] == 2
    assert with_registrys("certify", "-k", "fails").returncode == 2


def test_nor_does_that_of_the_hosts(with_registrys: Cts) -> None:
    binaries = with_registrys.root / "build/default/bin"
    (binaries / "udapl-cases-2.0").write_bytes((binaries / "udapl-cases").read_bytes())
    (binaries / "udapl-cases-2.0").chmod(0o755)
    reference = with_registrys.provider
    reference.with_name("libdaplref2.so").write_bytes(reference.read_bytes())
    done = with_registrys("certify", "--api", "2.0")
    assert done.returncode == 2
    said = "could not tell: 1 clause is of the hosts' own registry: it is not under test"
    assert said in done.stdout


def test_a_registry_under_test_is_named(with_registrys: Cts) -> None:
    done = with_registrys("certify", "--libdat", str(LIBDAT))
    assert done.returncode == 1
    assert "1 clause is of the registry libdat.so.1, which is not conformant" in done.stdout
    assert "nothing was found against the provider" in done.stdout
    assert "FAIL in 1 clause, of the registry libdat.so.1" in done.stdout
    folder = with_registrys.runs / "latest"
    report = json.loads((folder / "report.json").read_text())
    assert [cause["blame"] for cause in report["causes"]] == ["registry"]
    blamed = {clause["id"]: clause["blame"] for clause in report["clauses"]}
    assert blamed == {"demo_page/fails": "registry", "demo_page/passes": "provider"}
    assert report["profiles"]["registry"]["result"] == "fail"
    assert "against <b>the registry libdat.so.1</b>" in (folder / "report.html").read_text()
    assert "against the registry libdat.so.1" in (folder / "junit.xml").read_text()
    assert "of the registry libdat.so.1" in (folder / "report.md").read_text()


def test_the_providers_findings_stay_its_own(with_registrys: Cts) -> None:
    page = with_registrys.root / "cases/demo/demo_page.toml"
    with_registrys.has("fails", "fails_2")
    text = page.read_text()
    page.write_text(text.replace('"demo_page/fails"', '"demo_page/fails"\nblame = "registry"'))
    done = with_registrys("certify")
    assert done.returncode == 1
    assert "not conformant: 2 clauses ended in FAIL; 1 clause is of the suite's own" in done.stdout


def test_a_replay_has_it_too(with_registrys: Cts, tmp_path: Path) -> None:
    libdat = tmp_path / "libdat.so.1"
    libdat.write_bytes(LIBDAT.read_bytes())
    assert with_registrys("certify", "--libdat", str(libdat)).returncode == 1
    assert with_registrys("replay").returncode == 1
    libdat.unlink()
    done = with_registrys("replay")
    assert done.returncode == 64
    assert f"no such libdat: {libdat}" in done.stderr
