# SPDX-License-Identifier: BSD-2-Clause
"""One QEMU process: its command line, the ports of its guest, and its end.

Ports are socket pairs and unlinked files that QEMU inherits, so a guest leaves nothing behind in
the file system however it ends. QEMU itself gets a SIGKILL when this process dies.
"""

import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from runners.fabric.base import FabricError
from runners.fabric.image import Image
from runners.fabric.spawn import spawn

PROGRAM = "qemu-system-x86_64"

# The last line spares what a guest has no use for, and what each fork, page and call would pay for.
KERNEL_OPTIONS = (
    "console=ttyS0 panic=-1 quiet norandmaps nokaslr tsc=reliable mitigations=off no_timer_check "
    "cgroup_disable=memory init_on_alloc=0 hardened_usercopy=off audit=0 lsm= psi=0 nowatchdog"
)

# How QEMU runs a guest's processor. Where it is `counted`, by TCG too, the guest's clocks advance
# one nanosecond with each instruction and jump to the next timer when it idles: measures of a
# program then come out the same whatever else this machine does.
ACCELERATORS = {
    "kvm": ("-accel", "kvm"),
    "tcg": ("-accel", "tcg,thread=multi"),
    "counted": ("-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"),
}

# The guest knows them by their numbers (guest.h), which start at 1. Then QEMU's own: its monitor.
PORTS = ("control", "input", "output", "stderr", "console")
MONITOR = "monitor"

# How many folders a guest may be given to see, each a device of its own.
SHARES = 8
FIRST_SHARE_ADDRESS = 6

# QEMU's remark on a guest that is alone, as one is in a fabric of one host.
LONELY = "nic eth0 has no peer"


@dataclass(frozen=True)
class Machine:
    """The shape of a guest; guests of one shape can be clones of one snapshot."""

    accelerator: str  # of ACCELERATORS
    cpus: int = 1
    memory_mib: int = 512

    def processor(self) -> str:
        """QEMU's CPU model. Without the first two features TCG halves the time of a page fault.
        Without the other two a fourth of its TLB's flushes go, and the instructions that guard each
        look of the kernel at a process's memory.
        """
        return "host" if self.accelerator == "kvm" else "max,-erms,-fsrm,-la57,-smap,-smep"

    def virtio(self) -> str:
        """An option of each virtio device. A guest that TCG runs is in QEMU anyway when it tells a
        device something: to wake another thread for it, that polls all devices, costs more.
        """
        return ",ioeventfd=off" if self.accelerator == "tcg" else ""


@dataclass
class Memory:
    """Guest RAM that lies in a file: shared to save a snapshot, private to clone it."""

    path: Path
    shared: bool


@dataclass
class Qemu:
    """A started QEMU with this side's ends of its ports and monitor."""

    process: subprocess.Popen[bytes]
    ports: dict[str, socket.socket]
    kernel_log: IO[bytes]
    own_log: IO[bytes]
    pidfd: int = field(init=False)

    def __post_init__(self) -> None:
        self.pidfd = os.pidfd_open(self.process.pid)

    def running(self, wait: float = 0) -> bool:
        """Whether the process still runs, `wait` seconds from now unless it ends earlier."""
        return self.pidfd >= 0 and not select.select([self.pidfd], [], [], wait)[0]

    def last_words(self) -> str:
        """What QEMU and the guest's kernel said last, as lines to put under an error."""
        own = tail(self.own_log, 1000).splitlines()
        texts = ("\n".join(line for line in own if LONELY not in line), tail(self.kernel_log, 1000))
        return "".join(f"\n{text.strip()}" for text in texts if text.strip())

    def kill(self) -> None:
        """End the process, and with it the guest."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        """End the process and give back every descriptor."""
        self.kill()
        for port in self.ports.values():
            port.close()
        for log in (self.kernel_log, self.own_log):
            log.close()
        if self.pidfd >= 0:
            os.close(self.pidfd)
            self.pidfd = -1


def program() -> str:
    """QEMU's path."""
    path = shutil.which(PROGRAM)
    if path is None:
        raise FabricError(
            f"{PROGRAM} is not installed; run `apt-get install qemu-system-x86` as root"
        )
    return path


def identity() -> str:
    """Changes whenever QEMU may have; cheaper than asking it for its version."""
    path = Path(program()).resolve()
    status = path.stat()
    return f"{path} {status.st_size} {status.st_mtime_ns}"


def tail(log: IO[bytes], limit: int) -> str:
    """The last `limit` bytes of a log that QEMU writes to."""
    size = os.fstat(log.fileno()).st_size
    data = os.pread(log.fileno(), limit, max(0, size - limit))
    return data.decode(errors="replace")


def machine_arguments(machine: Machine) -> list[str]:
    """The part of the command line that a snapshot and its clones must have in common."""
    return [
        *ACCELERATORS[machine.accelerator],
        *("-cpu", machine.processor(), "-smp", str(machine.cpus)),
        *("-m", f"{machine.memory_mib}M"),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-append", KERNEL_OPTIONS),
        # first, because the guest numbers its ports after the position of their bus
        *("-device", f"virtio-serial-pci,addr=04{machine.virtio()}"),
        *(argument for number in range(SHARES) for argument in _share_device(machine, number)),
        *(argument for number, name in enumerate(PORTS, 1) for argument in _port(number, name)),
        *("-serial", "chardev:kernel"),
    ]


def start(
    machine: Machine,
    image: Image,
    links: Sequence[socket.socket] = (),
    memory: Memory | None = None,
    extra: Sequence[str] = (),
    inherited: Sequence[int] = (),
    shared: Sequence[Path] = (),
) -> Qemu:
    """Start QEMU.

    `links` are this guest's ends of the cables to its neighbours; more than one makes QEMU a hub
    between them. `extra` and `inherited` are more arguments and the descriptors they speak of. The
    guest can read the folders `shared`, and what is in them.
    """
    pairs = {name: socket.socketpair() for name in (*PORTS, MONITOR)}
    kernel_log, own_log = _log(), _log()
    arguments = [program(), *machine_arguments(machine)]
    arguments += ["-kernel", str(image.vmlinux), "-initrd", str(image.initramfs)]
    for name, (_, theirs) in pairs.items():
        arguments += ["-chardev", f"socket,id={name},fd={theirs.fileno()}"]
    arguments += ["-mon", f"chardev={MONITOR},mode=control"]
    log_path = f"/proc/self/fd/{kernel_log.fileno()}"
    arguments += ["-chardev", f"file,id=kernel,path={log_path},append=on"]
    arguments += [
        *_network(machine, links),
        *_memory(machine, memory),
        *_shares(image, shared),
        *extra,
    ]
    kept = [theirs.fileno() for _, theirs in pairs.values()]
    kept += [kernel_log.fileno(), *inherited, *(link.fileno() for link in links)]
    process = spawn(
        arguments, stdin=subprocess.DEVNULL, stdout=own_log, stderr=own_log, pass_fds=kept
    )
    # only QEMU may hold its ends, or a dead one would leave the streams open
    for _, theirs in pairs.values():
        theirs.close()
    ports = {name: ours for name, (ours, _) in pairs.items()}
    return Qemu(process, ports, kernel_log, own_log)


def _log() -> IO[bytes]:
    return tempfile.TemporaryFile(prefix="udapl-cts-")


def _port(number: int, name: str) -> tuple[str, str]:
    return "-device", f"virtserialport,nr={number},chardev={name},name={name}"


def _share_device(machine: Machine, number: int) -> tuple[str, str]:
    place = f"addr={FIRST_SHARE_ADDRESS + number:02x}{machine.virtio()}"
    return "-device", f"virtio-9p-pci,{place},fsdev=share{number},mount_tag=share{number}"


def _shares(image: Image, shared: Sequence[Path]) -> list[str]:
    """What is behind the devices; behind those of no use, an empty folder."""
    folders = [*shared, *[image.nothing] * (SHARES - len(shared))]
    how = "security_model=none,readonly=on,multidevs=remap"
    arguments = []
    for number, folder in enumerate(folders):
        arguments += ["-fsdev", f"local,id=share{number},path={_escaped(folder)},{how}"]
    return arguments


def _network(machine: Machine, links: Sequence[socket.socket]) -> list[str]:
    """The guest's eth0. Its cables meet in a hub when they are several; without any it is a network
    of one, with a carrier."""
    card = "virtio-net-pci,id=eth0,mac=52:54:00:77:00:00,addr=05,romfile=,host_mtu=9000"
    card += machine.virtio()
    if not links:
        return ["-device", card]
    card += ",netdev=link"
    if len(links) == 1:
        return ["-netdev", _cable("link", links[0]), "-device", card]
    arguments = ["-netdev", "hubport,id=link,hubid=0"]
    for number, link in enumerate(links):
        arguments += ["-netdev", _cable(f"cable{number}", link)]
        arguments += ["-netdev", f"hubport,id=port{number},hubid=0,netdev=cable{number}"]
    return [*arguments, "-device", card]


def _cable(name: str, link: socket.socket) -> str:
    return f"stream,id={name},server=off,addr.type=fd,addr.str={link.fileno()}"


def _memory(machine: Machine, memory: Memory | None) -> list[str]:
    if memory is None:
        return ["-machine", "pc"]
    shared = "on" if memory.shared else "off"
    backend = (
        f"memory-backend-file,id=ram,size={machine.memory_mib}M,"
        f"mem-path={_escaped(memory.path)},share={shared}"
    )
    return ["-object", backend, "-machine", "pc,memory-backend=ram"]


def _escaped(path: Path) -> str:
    return str(path).replace(",", ",,")
