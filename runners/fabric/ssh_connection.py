# SPDX-License-Identifier: BSD-2-Clause
"""One OpenSSH connection to a host, over which all that is done there goes.

ssh makes one shell command of whatever words it is given, and the user's shell over there reads it.
So no word of ours depends on data: each command is a constant script, and data goes to the
script's standard input, where no shell looks at it.
"""

import os
import select
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO

from runners.fabric import facts
from runners.fabric.base import FabricError, Facts
from runners.fabric.hosts_file import Entry
from runners.fabric.process import tail
from runners.fabric.spawn import spawn

CONNECT_TIMEOUT = 60.0
COMMAND_TIMEOUT = 60.0
PROBE_TIMEOUT = 10.0
CLOSE_TIMEOUT = 5.0
NOISE_LIMIT = 1 << 16
LINES_TOLD = 3
FOLDER_PREFIX = "udapl-cts-ssh-"

# The user's configuration holds, but for what would ask, forward, or detach from this process.
OPTIONS = (
    *("-T", "-a", "-x", "-e", "none"),
    *("-o", "BatchMode=yes", "-o", "ClearAllForwardings=yes", "-o", "RemoteCommand=none"),
    *("-o", "PermitLocalCommand=no", "-o", "ControlPersist=no", "-o", "ConnectTimeout=15"),
    *("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"),
)

# Lines before these are a login script's chatter.
BEGIN = "udapl-cts: begin"
READY = "udapl-cts: ready"

# Its `cat` keeps the connection open until our end of its input is closed, by us or by our death.
STAY = f'echo "{BEGIN}"; {facts.SCRIPT} echo "{READY}"; exec cat >/dev/null'


def folder() -> Path:
    """A private folder for the connections' sockets; those of processes that died are removed."""
    for left in Path("/tmp").glob(f"{FOLDER_PREFIX}*"):
        owner = left.name.removeprefix(FOLDER_PREFIX).split("-")[0]
        if not Path("/proc", owner).exists():
            shutil.rmtree(left, ignore_errors=True)
    # not in TMPDIR, because a socket's path has room for a hundred characters
    return Path(tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}{os.getpid()}-", dir="/tmp"))


class Connection:
    """The connection to `entry`, by its own master process of ssh with the socket `control`."""

    def __init__(self, entry: Entry, ssh_config: str, control: Path) -> None:
        self.name = entry.name
        self._entry = entry
        self._ssh = ["ssh", *(("-F", ssh_config) if ssh_config else ()), *OPTIONS]
        self._control = control
        self._ssh += ["-o", f"ControlPath={str(control).replace('%', '%%')}"]
        self._log: IO[bytes] = tempfile.TemporaryFile(prefix="udapl-cts-")
        self._master: subprocess.Popen[bytes] | None = None

    def open(self) -> Facts:
        """Connect, or connect again; the host's facts. Raises FabricError, with what ssh said."""
        self._hang_up()
        asked = time.time()
        command = [*self._ssh, "-o", "ControlMaster=yes", *self._target(), _shell(STAY)]
        self._master = spawn(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log
        )
        assert self._master.stdout is not None
        said = read_until(self._master.stdout.fileno(), f"{READY}\n".encode(), CONNECT_TIMEOUT)
        if said is None:
            self.kill()
            raise FabricError(f"{self.name}: cannot connect: {self._why()}")
        text = said.decode(errors="replace").rpartition(f"{BEGIN}\n")[2]
        return facts.parse(text, asked, time.time())

    def command(self, script: str) -> list[str]:
        """The command that runs the constant `script` on the host."""
        # Without its master, ssh would go and connect anew; this way it ends.
        client = ["-o", "ControlMaster=no", "-o", "ProxyCommand=false"]
        return [*self._ssh, *client, *self._target(), _shell(script)]

    def run(
        self,
        script: str,
        words: Iterable[str] = (),
        data: bytes = b"",
        timeout: float = COMMAND_TIMEOUT,
    ) -> bytes:
        """Run a constant script, which reads `words` line by line and then `data`; its output.

        Raises FabricError, whose text is the last that the script wrote to standard error.
        """
        whole = lines(words) + data
        with spawn(
            self.command(f'echo "{BEGIN}"; {script}'),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as client:
            try:
                out, errors = client.communicate(whole, timeout)
            except subprocess.TimeoutExpired:
                client.kill()
                raise FabricError(f"{self.name}: no answer within {timeout:.0f} s") from None
        if client.returncode != 0:
            said = errors.decode(errors="replace").strip().splitlines()
            lost = "the connection was lost" if client.returncode == 255 else "a command failed"
            raise FabricError(f"{self.name}: {' | '.join(said[-LINES_TOLD:]) or lost}")
        return out.partition(f"{BEGIN}\n".encode())[2]

    def answers(self) -> bool:
        """Whether the host still obeys."""
        if not self.connected():
            return False
        try:
            self.run("exit 0", timeout=PROBE_TIMEOUT)
        except FabricError:
            return False
        return True

    def said(self, limit: int) -> str:
        """The last `limit` bytes that ssh itself said about this connection."""
        return tail(self._log, limit)

    def kill(self) -> None:
        """Drop the connection at once."""
        if self._master is not None and self._master.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._master.pid, signal.SIGKILL)
            self._master.wait()

    def close(self) -> None:
        """End the connection in good order."""
        self._hang_up()
        self._log.close()

    def connected(self) -> bool:
        """Whether ssh thinks so; answers() asks the host."""
        return self._master is not None and self._master.poll() is None

    def _hang_up(self) -> None:
        if self._master is None:
            return
        assert self._master.stdin is not None
        assert self._master.stdout is not None
        with suppress(OSError):
            self._master.stdin.close()
        try:
            self._master.wait(CLOSE_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.kill()
        self._master.stdout.close()
        self._master = None
        self._control.unlink(missing_ok=True)

    def _target(self) -> list[str]:
        entry = self._entry
        user = ["-l", entry.user] if entry.user else []
        port = ["-p", str(entry.port)] if entry.port else []
        return [*user, *port, "--", entry.address]

    def _why(self) -> str:
        said = [line.strip() for line in self.said(4096).splitlines() if line.strip()]
        return said[-1] if said else f"ssh said nothing for {CONNECT_TIMEOUT:.0f} s"


def lines(words: Iterable[str]) -> bytes:
    """Words as a script's `read -r` takes them; raises FabricError for one that holds a newline."""
    whole = b""
    for word in words:
        if "\n" in word or "\0" in word:
            raise FabricError(f"{word!r} cannot be told to a host: it is more than a line")
        whole += word.encode(errors="surrogateescape") + b"\n"
    return whole


def read_until(descriptor: int, end: bytes, timeout: float) -> bytes | None:
    """What comes from `descriptor` before the bytes `end`, and no byte behind them; None when the
    end of the stream, the deadline or too much text comes first.
    """
    deadline = time.monotonic() + timeout
    seen = bytearray()
    while not seen.endswith(end):
        left = max(0.0, deadline - time.monotonic())
        if not select.select([descriptor], [], [], left)[0] or len(seen) > NOISE_LIMIT:
            return None
        try:
            byte = os.read(descriptor, 1)
        except OSError:
            byte = b""
        if not byte:
            return None
        seen += byte
    return bytes(seen[: -len(end)])


def _shell(script: str) -> str:
    """The one word that the user's shell over there gets, be it sh, csh or fish."""
    return f"exec sh -c {shlex.quote(script)}"
