# SPDX-License-Identifier: BSD-2-Clause
"""A cluster: guests as the nodes of a real Slurm, whose controller is on the first."""

import argparse
import os
import shlex
import socket
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from runners.fabric.base import Progress
from runners.fabric.guest_host import GuestHost
from runners.fabric.vm import VmFabric
from tests.lab.packages import SLURM, unpacked

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = Path(__file__).parent / "slurm.sh"
START_TIMEOUT = 300.0
END = b"slurm_lab: status "

# Guests have neither cgroups nor anyone to account to, and may be slow without being dead.
CONFIG = """\
ClusterName=lab
SlurmctldHost=host1
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SchedulerType=sched/builtin
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
StateSaveLocation=/run/slurm
SlurmdSpoolDir=/run/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
ReturnToService=2
KillWait=5
MessageTimeout=60
SlurmdTimeout=300
NodeName=host[1-{nodes}] CPUs=1
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class SlurmLab:
    """Such guests. Commands run on the first node, one after the other."""

    def __init__(self, nodes: int, progress: Progress = lambda line: None) -> None:
        self._nodes = nodes
        self._fabric = VmFabric(nodes, progress)
        self._progress = progress
        self._streams: list[socket.socket] = []
        self._opened = ExitStack()

    @property
    def guests(self) -> dict[str, GuestHost]:
        """The guests by the names of their nodes."""
        return {guest.name: guest for guest in self._fabric.hosts}

    def run(self, command: str, timeout: float) -> tuple[int, str]:
        """Run a shell command on the first node: its status, and all that it printed."""
        stream = self._streams[0]
        stream.settimeout(timeout)
        stream.sendall(f"({command}\n) </dev/null 2>&1; echo {END.decode()}$?\n".encode())
        said = b""
        while not (END in said and said.endswith(b"\n")):
            data = stream.recv(65536)
            if not data:
                raise RuntimeError(f"the first node ended: {said.decode(errors='replace')}")
            said += data
        text, _, status = said.rpartition(END)
        return int(status), text.decode(errors="replace")

    def submit(self, job: str, timeout: float) -> tuple[int, str]:
        """Submit a job's command for all nodes, from the checkout; its exit code and its output."""
        wait = ["sbatch", "--quiet", "--wait", "-N", str(self._nodes), "-o", "/run/job.out"]
        line = shlex.join([*wait, "--wrap", job])
        return self.run(
            f"cd {shlex.quote(str(ROOT))}; {line}; s=$?; cat /run/job.out; exit $s", timeout
        )

    def __enter__(self) -> Self:
        tree = unpacked(SLURM, self._progress)
        with ExitStack() as opened:
            temporary = tempfile.TemporaryDirectory(prefix="udapl-cts-lab-")
            folder = Path(opened.enter_context(temporary))
            (folder / "munge.key").write_bytes(os.urandom(128))
            (folder / "slurm.conf").write_text(CONFIG.format(nodes=self._nodes))
            (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
            opened.enter_context(self._fabric)
            for name, guest in self.guests.items():
                command = ["sh", str(SCRIPT), str(tree), str(folder), name]
                self._streams.append(guest.start_agent(command))
            for guest, stream in zip(self.guests.values(), self._streams, strict=True):
                stream.settimeout(START_TIMEOUT)
                if stream.recv(64) != b"ready\n":
                    raise RuntimeError(f"{guest.name} is no node: {guest.stderr_tail()}")
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


def main() -> int:
    """Submit a certification; what this program does not know is an argument of certify."""
    parser = argparse.ArgumentParser(description="certify by Slurm on guests as its nodes")
    parser.add_argument("--lab-nodes", type=int, default=2, metavar="N", help="default: 2")
    options, others = parser.parse_known_args()
    with SlurmLab(options.lab_nodes, lambda line: print(line, file=sys.stderr)) as lab:
        job = shlex.join(["./udapl-cts", "certify", "--fabric", "slurm", *others])
        status, said = lab.submit(job, timeout=24 * 3600)
        print(said, end="")
        return status


if __name__ == "__main__":
    raise SystemExit(main())
