# SPDX-License-Identifier: BSD-2-Clause
"""The packages of packaging/build-rpm: what they need, what is in them, and that it runs."""

import re
from pathlib import Path

import pytest

from runners.checkout import revision
from tests.harness.test_glibc import OLDEST
from tests.installed.bare import PACKAGES, REPOSITORY, bare, certified, run

NAMES = ("libdat1", "libdat-devel", "libdaplref1", "udapl-cts")
# Folders that packages of each distribution own already.
SHARED = {"/usr/bin", "/usr/lib", "/usr/lib64", "/usr/include", "/usr/share", "/usr/share/man"}
# What the suite needs of a Debian, which rpm does not look at.
NEEDED = ("python3", "ibverbs-providers", "librdmacm1", "libnl-route-3-200", "libjansson4")


def package(name: str) -> Path:
    """The file of the package of that name."""
    (path,) = PACKAGES.glob(f"{name}-[0-9]*.rpm")
    return path


def asked(question: str, name: str) -> list[str]:
    """What rpm answers about the package, by lines."""
    done = run(["rpm", "-qp", question, str(package(name))])
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", ["libdat1", "libdaplref1", "udapl-cts"])
def test_it_needs_no_glibc_after_2_34(name: str) -> None:
    named = re.findall(r"[(]GLIBC_(\d+)[.](\d+)", "\n".join(asked("--requires", name)))
    assert max((int(major), int(minor)) for major, minor in named) <= OLDEST


def test_the_suite_needs_a_python_and_verbs_but_no_libdat() -> None:
    needs = asked("--requires", "udapl-cts")
    assert "(python(abi) = 3.11 or python(abi) = 3.12 or python(abi) = 3.13)" in needs
    assert "libibverbs" in needs
    assert any(need.startswith("librdmacm.so.1(") for need in needs)
    assert not any("libdat" in need for need in needs)


def test_the_libdat_of_the_suite_is_for_no_other_program() -> None:
    assert any(given.startswith("libdat.so.1(") for given in asked("--provides", "libdat1"))
    assert not any("libdat" in given for given in asked("--provides", "udapl-cts"))


@pytest.mark.parametrize("name", NAMES)
def test_it_owns_no_folder_of_the_distribution(name: str) -> None:
    files = asked("--list", name)
    assert files
    assert not SHARED & set(files)
    assert not any("-linux-gnu" in path for path in files if "/python/" not in path)


def test_it_certifies_where_rpm_installs_it() -> None:
    """On a Debian, since no distribution that has RPM packages is at hand."""
    debian = bare("bookworm", "rpm", NEEDED)
    files = [str(package(name)) for name in NAMES]
    done = run(["rpm", "--root", str(debian.root), "--install", "--nodeps", *files])
    assert done.returncode == 0, done.stderr
    assert certified(debian) == revision(REPOSITORY)[0]
