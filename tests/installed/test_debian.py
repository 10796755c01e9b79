# SPDX-License-Identifier: BSD-2-Clause
"""The packages of packaging/build-deb, installed in Debians that have nothing else."""

import gzip
import re

import pytest

from runners.checkout import VERSION, revision
from tests.installed.bare import (
    HERE,
    PACKAGES,
    REPOSITORY,
    Debian,
    bare,
    certified,
    run,
)

INSTALLED = ("libdat1", "libdat-dev", "libdaplref1", "udapl-cts")
# What completions are loaded by.
SHELLS = ("bash-completion", "zsh")
NAME = re.compile(r"^\.SH NAME\n(\S+) \\- \S", re.MULTILINE)
TRIPLET = "x86_64-linux-gnu"


@pytest.fixture(scope="module", params=["bookworm", "trixie"])
def debian(request: pytest.FixtureRequest) -> Debian:
    """Debian 12 and 13: the essential packages, ours, and what ours ask apt for."""
    ours = [str(next(PACKAGES.glob(f"{name}_*.deb"))) for name in INSTALLED]
    return bare(request.param, request.param, (*ours, *SHELLS))


def test_the_command_certifies_from_anywhere(debian: Debian) -> None:
    commit, _ = revision(REPOSITORY)
    version = run(["chroot", str(debian.root), "udapl-cts", "--version"], HOME="/root").stdout
    assert version.startswith(f"udapl-cts {VERSION} ({commit}")

    assert certified(debian) == commit


def test_a_program_is_built_and_finds_the_provider(debian: Debian) -> None:
    sysroot = str(debian.root)
    flags = run(
        ["pkg-config", "--cflags", "--libs", "dat"],
        PKG_CONFIG_LIBDIR=f"{sysroot}/usr/lib/{TRIPLET}/pkgconfig",
        PKG_CONFIG_SYSROOT_DIR=sysroot,
    ).stdout.split()
    program = debian.root / "root/consumer"
    built = run(["cc", "-o", str(program), str(HERE / "consumer.c"), *flags])
    assert built.returncode == 0, built.stderr

    line = 'ref0 u1.2 nonthreadsafe default libdaplref.so.1 ref.1.0 "" ""\n'
    (debian.root / "etc/dat.conf").write_text(line)
    assert run(["chroot", sysroot, "/root/consumer"]).stdout == "0 1 ref0\n"


def test_the_manual_has_the_command_and_the_library(debian: Debian) -> None:
    manual = debian.root / "usr/share/man"
    commands = installed_commands(debian)
    assert "certify" in commands
    assert "selftest" not in commands
    pages = {f"udapl-cts-{name}" for name in commands} | {"udapl-cts"}
    assert {path.stem for path in (manual / "man1").glob("udapl-cts*.1")} == pages
    for page in pages:
        text = (manual / f"man1/{page}.1").read_text()
        named = NAME.search(text)
        assert named is not None, text
        assert named[1].replace("\\-", "-") == page
    for page in ("man3/libdat.3", "man3/dat_evd_create.3", "man5/dat.conf.5", "man7/libdaplref.7"):
        assert (manual / page).is_file(), page


def installed_commands(debian: Debian) -> list[str]:
    """The commands that the installed program names."""
    said = run(["chroot", str(debian.root), "udapl-cts", "--help"], HOME="/root").stdout
    words = [line.split()[0] for line in said.splitlines() if line.startswith("    ")]
    return [word for word in words if word.isalpha() and word.islower()]


def test_each_package_has_its_licence_and_a_changelog(debian: Debian) -> None:
    for package in INSTALLED:
        folder = debian.root / "usr/share/doc" / package
        assert (folder / "copyright").read_text() == (REPOSITORY / "LICENSE").read_text()
        log = gzip.decompress((folder / "changelog.gz").read_bytes()).decode()
        assert log.startswith(f"udapl-cts ({VERSION}) ")


@pytest.mark.parametrize(
    ("typed", "completed"), [("certi", "certify"), ("certify --lib", "--libdat")]
)
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_completes(debian: Debian, shell: str, typed: str, completed: str) -> None:
    script = debian.root / f"root/complete.{shell}"
    script.write_text((HERE / f"complete.{shell}").read_text())
    # A shell's completion needs the descriptors and terminals of /dev and /proc.
    inside = 'mount --rbind /dev "$0/dev" && mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"'
    argv = ["unshare", "--mount", "sh", "-c", inside, str(debian.root)]
    done = run([*argv, shell, f"/root/complete.{shell}", typed], TERM="vt100")
    assert done.stdout.split() == ["udapl-cts", *typed.split()[:-1], completed], done
