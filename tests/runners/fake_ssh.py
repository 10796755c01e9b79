# SPDX-License-Identifier: BSD-2-Clause
"""A scripted ssh, whose hosts are this machine: what the runner says to ssh, without an sshd.

As the real one it joins its words to one command, which a shell reads. `dead` cannot be reached,
`chatty` has a login script that prints, and a host whose agent ends with HOST_DIED does not come
back.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

HOST_DIED = 99
FLAGS = "-T -a -x".split()


def fail(text: str) -> None:
    """End as ssh does when it cannot continue."""
    print(text, file=sys.stderr)
    raise SystemExit(255)


def main() -> int:
    words = sys.argv[1:]
    options: dict[str, str] = {}
    while words[0] != "--":
        word = words.pop(0)
        if word == "-o":
            name, _, value = words.pop(0).partition("=")
            options[name] = value
        elif word not in FLAGS:
            words.pop(0)
    address, command = words[1], " ".join(words[2:])
    control = Path(options["ControlPath"])
    gone = Path(os.environ["FAKE_ROOT"], f"gone-{address}")
    if address == "dead" or gone.exists():
        fail(f"ssh: connect to host {address} port 22: No route to host")
    if options["ControlMaster"] == "yes":
        control.write_text(str(os.getpid()))
    elif not control.exists() or not Path("/proc", control.read_text()).exists():
        fail("ssh: Connection closed by UNKNOWN port 65535")
    if address == "chatty":
        print("Welcome! You have new mail.", flush=True)
    env = {**os.environ, "FAKE_HOST": address, "HOME": f"{os.environ['FAKE_ROOT']}/home-{address}"}
    status = subprocess.call(["sh", "-c", command], env=env)
    if status == HOST_DIED:
        gone.touch()
        os.kill(int(control.read_text()), signal.SIGKILL)
    return 255 if status in (HOST_DIED, -signal.SIGKILL) else status


if __name__ == "__main__":
    raise SystemExit(main())
