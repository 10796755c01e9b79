# SPDX-License-Identifier: BSD-2-Clause
"""A Debian with nothing but its essential packages and what a test wants in it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from runners.checkout import here

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGES = REPOSITORY / "build/packages"
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Debian:
    """A bare Debian; a guest can run what is in it."""

    root: Path

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run the shell's script in a guest, of which only its output is left."""
        argv = [sys.executable, "-m", "runners", "fabric", "shell", "--"]
        return run([*argv, str(HERE / "in-guest"), str(self.root), "sh", "-c", script])


def run(argv: list[str], **env: str) -> subprocess.CompletedProcess[str]:
    """Run it here, and keep what it says."""
    return subprocess.run(
        argv,
        cwd=REPOSITORY,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def bare(suite: str, name: str, included: Iterable[str]) -> Debian:
    """Make the Debian of that suite in a folder of that name, with packages by name or file."""
    root = here().cache / "installed" / name
    root.parent.mkdir(parents=True, exist_ok=True)
    run(["rm", "-rf", "--one-file-system", str(root)])
    hooks = "/usr/share/mmdebstrap/hooks/file-mirror-automount"
    asked = [f"--include={package}" for package in included]
    made = run(["mmdebstrap", "--variant=minbase", f"--hook-dir={hooks}", *asked, suite, str(root)])
    assert made.returncode == 0, made.stderr
    return Debian(root)


def certified(debian: Debian) -> str:
    """Certify the provider that the installed suite brings; return the commit that it reports."""
    done = debian.run(
        "udapl-cts certify --fabric host -n 2 dat_pz_query >&2 && cat runs/latest/report.json"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["counts"].keys() == {"PASS", "no case"}
    assert report["counts"]["PASS"] > 10
    return str(report["suite"]["commit"])
