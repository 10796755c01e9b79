# SPDX-License-Identifier: BSD-2-Clause
"""What runs on hosts needs no glibc newer than 2.34, which hosts of RHEL 9 have."""

import re
import subprocess

import pytest

from tests.harness.session import ROOT

# What hosts are given is of this build, whichever one the other tests run on.
BUILD = ROOT / "build/default"
OLDEST = (2, 34)
BUILT = ["bin/udapl-cases", "bin/udapl-puppet", "lib/libdat.so", "lib/libdaplref.so"]


def too_new(symbols: str) -> list[str]:
    """The symbols of a dynamic symbol table whose version is of a newer glibc."""
    found = re.findall(r"GLIBC_(\d+)\.(\d+)[\d.]*\)?\s+(\S+)", symbols)
    return [name for major, minor, name in found if (int(major), int(minor)) > OLDEST]


def test_a_newer_symbol_is_found() -> None:
    table = "DF *UND* 0 (GLIBC_2.36) mount_setattr\nDF *UND* 0 (GLIBC_2.2.5) read\n"
    assert too_new(table) == ["mount_setattr"]
    assert not too_new("DF *UND* 0 (GLIBC_2.34) close_range\nDF *UND* 0 (GLIBC_2.4) openat\n")


@pytest.mark.parametrize("name", BUILT)
def test_nothing_needs_a_newer_glibc(name: str) -> None:
    table = subprocess.run(
        ("objdump", "-T", BUILD / name), capture_output=True, text=True, check=True
    ).stdout
    assert "GLIBC_" in table
    assert not too_new(table)
