# SPDX-License-Identifier: BSD-2-Clause
"""Guests with siw, which is iWARP: it is built when it is wanted, and RDMA crosses it."""

import subprocess
from pathlib import Path

import pytest

from runners.fabric import apt, siw
from runners.fabric.base import FabricError
from runners.fabric.vm import VmFabric
from tests.runners.fabric.streams import read_to_end

# A call before the server listens is rejected at once, and one that comes while it begins to may
# have no end: the client just calls again, and what it said before is nothing.
SERVE = ["rping", "-s", "-P", "-C", "20"]
CALL = 'until said=$(timeout 10 rping -c -V -v -C 20 -a {} 2>/dev/null); do :; done; echo "$said"'


def test_rdma_works_within_one_guest() -> None:
    script = f"{' '.join(SERVE)} >/dev/null 2>&1 & {CALL.format('host1')}; kill $!"

    with VmFabric(device="siw") as fabric:
        (host,) = fabric.hosts
        pings = read_to_end(host.start_agent(["sh", "-c", script])).decode().splitlines()
        assert host.facts().devices == ("siw0",)

    assert len([line for line in pings if line.startswith("ping data: ")]) == 20


def test_rdma_crosses_the_network() -> None:
    with VmFabric(2, device="siw") as fabric:
        serving = fabric.hosts[0].start_agent(SERVE)
        calling = fabric.hosts[1].start_agent(["sh", "-c", CALL.format("host1")])
        pings = read_to_end(calling).decode().splitlines()
        serving.close()

    assert len(pings) == 20


def test_packages_that_cannot_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UDAPL_CTS_CACHE", str(tmp_path))
    monkeypatch.setattr(apt, "_refresh_lists", lambda: None)
    said: list[str] = []

    with pytest.raises(FabricError, match=r"linux-headers-6.1.0-0-none.*remove .*kernel"):
        siw.modules(Path("linux-image-6.1.0-0-none"), said.append)

    assert not list((tmp_path / "siw").iterdir())


def test_a_build_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(release: str, work: Path) -> str:
        headers = work / f"usr/src/linux-headers-{release}"
        headers.mkdir(parents=True)
        (headers / "Makefile").write_text("modules:\n\t@echo no compiler of that name >&2; false\n")
        source = work / "usr/src/linux-source-6.1"
        (source / "drivers/infiniband/sw/siw").mkdir(parents=True)
        (source / "lib").mkdir()
        (source / "lib/libcrc32c.c").touch()
        packed = ["tar", "-cJf", f"{source}.tar.xz", "-C", str(source.parent), source.name]
        subprocess.run(packed, check=True)
        return "6.1"

    monkeypatch.setenv("UDAPL_CTS_CACHE", str(tmp_path))
    monkeypatch.setattr(siw, "_fetch", fetch)

    with pytest.raises(FabricError, match="make failed: no compiler of that name"):
        siw.modules(Path("linux-image-6.1.0-0-none"), lambda line: None)

    assert not list((tmp_path / "siw").iterdir())
