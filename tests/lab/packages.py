# SPDX-License-Identifier: BSD-2-Clause
"""Debian's services, unpacked into the cache for guests to run: never installed on this machine."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from runners.fabric import apt, cache
from runners.fabric.apt import AptError
from runners.fabric.base import FabricError, Progress

# With the libraries that a machine with packages.txt may lack.
SSHD = "openssh-server libwrap0 libnsl2 libtirpc3".split()
SLURM = (
    "slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge libmunge2 libhwloc15 libnuma1 "
    "libdbus-1-3 libjson-c5 liblua5.1-0 libyaml-0-2 liblz4-1"
).split()


def unpacked(packages: Sequence[str], progress: Progress) -> Path:
    """The tree of these packages, which a guest lays over its own root; fetched when the cache has
    none. Raises FabricError.
    """

    def make(directory: Path) -> None:
        progress(f"fetching {', '.join(packages)} (once; they are unpacked, not installed)")
        try:
            archives = apt.download(packages, directory)
        except FabricError as error:
            raise AptError(f"cannot fetch the lab's services: {error}") from None
        for archive in archives:
            apt.run(["dpkg-deb", "-x", str(archive), str(directory)])
            archive.unlink()
        # a machine has these as links to usr's
        for name in ("bin", "sbin", "lib"):
            if (directory / name).is_dir():
                subprocess.run(
                    ["cp", "-rl", "--", str(directory / name), str(directory / "usr")], check=True
                )

        # which an installation would do by update-alternatives
        for program in (directory / "usr/sbin").glob("*-wlm"):
            program.with_name(program.name.removesuffix("-wlm")).symlink_to(program.name)

    def fetch() -> Path:
        return cache.entry("services", cache.digest(*packages), make)

    return apt.with_fresh_lists(fetch, progress)
