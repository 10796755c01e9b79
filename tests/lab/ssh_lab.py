# SPDX-License-Identifier: BSD-2-Clause
"""A lab: guests with a real sshd, reached from this machine as a lab's hosts are."""

import argparse
import json
import random
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from runners.fabric.base import Progress
from runners.fabric.guest_host import GuestHost
from runners.fabric.qemu import MONITOR
from runners.fabric.vm import VmFabric
from tests.lab.packages import SSHD, unpacked

PORT = 2222
START_TIMEOUT = 120.0
SCRIPT = Path(__file__).parent / "sshd.sh"

CONFIG = """\
Host {name}
    HostName {address}
    Port {port}
    User root
    IdentityFile {folder}/key
    IdentitiesOnly yes
    UserKnownHostsFile {folder}/known_hosts
    StrictHostKeyChecking accept-new
    LogLevel ERROR
"""


class SshLab:
    """Such guests, `lab1` and so on. `folder` has the user's key and ssh configuration, and
    hosts.toml. The hosts listen on loopback addresses of this machine that no other program uses,
    and have `cpus` processors each.
    """

    def __init__(self, hosts: int, progress: Progress = lambda line: None, cpus: int = 1) -> None:
        self._fabric = VmFabric(hosts, progress, cpus=cpus)
        self._progress = progress
        self._streams: list[socket.socket] = []
        self._opened = ExitStack()

    @property
    def guests(self) -> dict[str, GuestHost]:
        """The guests by the names of their hosts."""
        return {f"lab{index}": guest for index, guest in enumerate(self._fabric.hosts, 1)}

    @property
    def hosts_file(self) -> Path:
        """The hosts file, which may be changed."""
        return self.folder / "hosts.toml"

    def ssh(self, name: str, command: str) -> subprocess.CompletedProcess[str]:
        """Run a shell command on a host, by hand."""
        return subprocess.run(
            ["ssh", "-F", str(self.folder / "config"), name, command],
            capture_output=True,
            text=True,
            timeout=START_TIMEOUT,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def __enter__(self) -> Self:
        tree = unpacked(SSHD, self._progress)
        with ExitStack() as opened:
            temporary = tempfile.TemporaryDirectory(prefix="udapl-cts-lab-")
            self.folder = Path(opened.enter_context(temporary))
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / "key")],
                check=True,
            )
            opened.enter_context(self._fabric)
            config, rows = "", 'ssh_config = "config"\n'
            for name, guest in self.guests.items():
                address = ".".join(["127", *(str(random.randrange(1, 255)) for _ in range(3))])
                _plug(guest, address)
                config += CONFIG.format(name=name, address=address, port=PORT, folder=self.folder)
                rows += f'\n[[host]]\naddress = "{name}"\n'
                self._start(tree, guest)
            (self.folder / "config").write_text(config)
            self.hosts_file.write_text(rows)
            for name, stream in zip(self.guests, self._streams, strict=True):
                stream.settimeout(START_TIMEOUT)
                if stream.recv(64) != b"ready\n":
                    raise RuntimeError(f"{name} has no sshd: {self.guests[name].stderr_tail()}")
            self._opened = opened.pop_all()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for stream in self._streams:
            stream.close()
        self._opened.close()

    def _start(self, tree: Path, guest: GuestHost) -> None:
        key = (self.folder / "key.pub").read_text().strip()
        self._streams.append(guest.start_agent(["sh", str(SCRIPT), str(tree), key]))


def _plug(guest: GuestHost, address: str) -> None:
    """Give a guest a second network card, on which this machine alone can reach its port 22."""
    forward = f"tcp:{address}:{PORT}-:22"
    user = {"type": "user", "id": "lab", "restrict": True, "hostfwd": [{"str": forward}]}
    card = {"driver": "virtio-net-pci", "id": "eth1", "netdev": "lab", "romfile": ""}
    for name, arguments in (("netdev_add", user), ("device_add", card)):
        command = json.dumps({"execute": name, "arguments": arguments})
        guest._process.ports[MONITOR].sendall(command.encode())


def main() -> int:
    """Certify by ssh on guests; what this program does not know is an argument of certify."""
    parser = argparse.ArgumentParser(description="certify by ssh on guests with a real sshd")
    parser.add_argument("--lab-hosts", type=int, default=2, metavar="N", help="default: 2")
    parser.add_argument("--lab-cpus", type=int, default=1, metavar="N", help="default: 1")
    options, others = parser.parse_known_args()
    say = partial(print, file=sys.stderr)
    with SshLab(options.lab_hosts, say, options.lab_cpus) as lab:
        command = [str(Path(__file__).resolve().parents[2] / "udapl-cts"), "certify"]
        command += ["--fabric", "ssh", "--hosts-file", str(lab.hosts_file), *others]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
