# SPDX-License-Identifier: BSD-2-Clause
"""Where documented commands run: a copy of this clone, or a new clone in a bare system."""

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.docs.marks import ROOT

TIMEOUT = 1500
MIRROR_HOOK = "/usr/share/mmdebstrap/hooks/file-mirror-automount"
# Of this machine: how apt, pip and the resolver reach the network.
NETWORK = (
    *("/etc/apt", "/etc/pip.conf", "/etc/ssl/certs", "/usr/share/ca-certificates"),
    *("/etc/resolv.conf", "/etc/hosts", "/opt/wheels"),
)
KEYRING = "pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1_all.deb"
KEYRING_DIGEST = "36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8"


@dataclass(frozen=True)
class System:
    """A distribution's release; `updates` are its other suites where it is not Debian."""

    suite: str
    updates: tuple[str, ...] = ()


DEBIAN_12 = System("bookworm")
DEBIAN_13 = System("trixie")
UBUNTU_24_04 = System("noble", ("noble-updates",))


class Stage:
    """A clone at `root`, in which commands run; `prefix` is how a shell gets there."""

    def __init__(self, root: Path, home: Path, prefix: list[str]) -> None:
        self.root = root
        self._home = home
        self._prefix = prefix

    def run(self, script: str, timeout: int = TIMEOUT) -> tuple[int, str]:
        """Run a shell's line at the top of the clone; its exit code and its output."""
        env = {**os.environ, "HOME": str(self._home), "PYTHONPATH": ""}
        argv = [*self._prefix, "bash", "-c", f"cd {shlex.quote(str(self.root))} && {script}"]
        try:
            done = subprocess.run(
                argv,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return -1, f"it did not end within {timeout} s"
        return done.returncode, done.stdout

    def must(self, script: str) -> None:
        """Run a line that has to end with 0. Raises RuntimeError."""
        code, output = self.run(script)
        if code != 0:
            raise RuntimeError(f"{script} ended with {code}:\n{output}")

    def write(self, name: str, text: str, append: bool) -> None:
        """Write a file of the clone, or beside it, or add to its end."""
        into = f"{'>>' if append else '>'} {shlex.quote(name)}"
        self.must(f"cat {into} <<'END-OF-BLOCK'\n{text}END-OF-BLOCK")


def copy(folder: Path) -> Stage:
    """A copy of this clone at its own path, seen by this process and its children only."""
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    # The parent folder too: pages put files beside the clone.
    beside = ROOT.parent
    for name in ("upper", "work", "home"):
        (folder / name).mkdir()
    # index=on: a hard link that git makes stays the same file.
    layers = f"lowerdir={beside},upperdir={folder}/upper,workdir={folder}/work,index=on"
    subprocess.run(["mount", "-t", "overlay", "none", str(beside), "-o", layers], check=True)
    stage = Stage(ROOT, folder / "home", [])
    stage.must("rm -rf runs")
    return stage


def fresh(folder: Path, system: System, mirror: str = "") -> Stage:
    """A new clone in such a system with nothing else in it. `mirror` is the URL of its archive,
    where it is not Debian. Raises CalledProcessError.
    """
    root = folder / "system"
    made = ["mmdebstrap", "--variant=minbase", "--include=apt,git,ca-certificates"]
    if system.updates:
        suites = (system.suite, *system.updates)
        made += [f"--keyring={_keyring(folder, mirror)}", system.suite, str(root)]
        made += [f"deb {mirror} {suite} main universe" for suite in suites]
    else:
        made += [f"--hook-dir={MIRROR_HOOK}", system.suite, str(root)]
    subprocess.run(made, check=True, stdin=subprocess.DEVNULL)
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    for place in ("proc", "sys", "dev"):
        subprocess.run(["mount", "--rbind", f"/{place}", str(root / place)], check=True)
    # apt's sources are of this machine's own release.
    shared = NETWORK if system == DEBIAN_12 else (*NETWORK[1:], "/etc/apt/apt.conf.d")
    for name in filter(os.path.exists, shared):
        target = root / name.removeprefix("/")
        shutil.rmtree(target, ignore_errors=True)
        if os.path.isdir(name):
            shutil.copytree(name, target, symlinks=True, ignore_dangling_symlinks=True)
        else:
            target.unlink(missing_ok=True)
            shutil.copy(name, target)
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(root / "root/udapl-cts")], check=True)
    return Stage(Path("/root/udapl-cts"), Path("/root"), ["chroot", str(root)])


def _keyring(folder: Path, mirror: str) -> Path:
    """Ubuntu's keys: Debian 12 has no package of them. Raises RuntimeError if they are not ours."""
    package = folder / "keyring.deb"
    subprocess.run(["curl", "-fsS", "-o", str(package), f"{mirror}/{KEYRING}"], check=True)
    found = hashlib.sha256(package.read_bytes()).hexdigest()
    if found != KEYRING_DIGEST:
        raise RuntimeError(f"{KEYRING} has the digest {found}, and not {KEYRING_DIGEST}")
    keys = folder / "keys"
    subprocess.run(["dpkg-deb", "--extract", str(package), str(keys)], check=True)
    return keys / "usr/share/keyrings/ubuntu-archive-keyring.gpg"


def in_namespace(module: str) -> int:
    """Run the module again with these arguments and `--inside FOLDER`, in a mount namespace of its
    own, so that nothing of a stage is left mounted; its exit code.
    """
    with tempfile.TemporaryDirectory(prefix="udapl-cts-stage-", dir="/var/tmp") as name:
        argv = ["unshare", "--mount", sys.executable, "-m", module, *sys.argv[1:]]
        return subprocess.run([*argv, "--inside", name], check=False).returncode
