# SPDX-License-Identifier: BSD-2-Clause
"""The facts about a host that is no guest: a constant shell script asks, its lines answer."""

import subprocess
import time

from runners.fabric.base import FabricError, Facts

LINES_MOST = 256
LINE_MOST = 512
# A clock that is off by less says nothing: the question travelled for a while.
CLOCK_MS = 1000

# One line when joined, because a csh takes no other between quotes: every step has a semicolon.
SCRIPT = " ".join(
    """
    echo "clock $(date +%s%3N)";
    echo "kernel $(uname -r)";
    echo "rdma_core $(dpkg-query -W -f "\\${Version}" libibverbs1 2>/dev/null
        || rpm -q --qf "%{VERSION}-%{RELEASE}" libibverbs 2>/dev/null)";
    for d in /sys/class/infiniband/*; do
        [ -e "$d" ] || continue;
        echo "device ${d##*/}";
        f=$(cat "$d/fw_ver" 2>/dev/null);
        echo "firmware ${d##*/} ${f:-unknown}";
    done;
    """.split()
)


def parse(text: str, asked: float, answered: float) -> Facts:
    """The facts in what SCRIPT printed between `asked` and `answered` of time.time(); lines that
    are none of its own are passed over.
    """
    values: dict[str, list[str]] = {}
    for line in text.splitlines()[:LINES_MOST]:
        name, _, value = line[:LINE_MOST].partition(" ")
        values.setdefault(name, []).append(value.strip())
    return Facts(
        kernel=_only(values, "kernel"),
        rdma_core=_only(values, "rdma_core"),
        devices=tuple(values.get("device", ())),
        firmware=tuple(values.get("firmware", ())),
        clock=_clock(_only(values, "clock"), asked, answered),
    )


def of_this_machine() -> Facts:
    """This machine's own."""
    asked = time.time()
    try:
        done = subprocess.run(["sh", "-c", SCRIPT], capture_output=True, text=True, check=False)
    except OSError as error:
        raise FabricError(f"cannot ask this machine for its facts: {error}") from error
    return parse(done.stdout, asked, time.time())


def only_device(host: str, known: Facts) -> str:
    """The host's RDMA device; FabricError where it has none, or more than one."""
    if not known.devices:
        raise FabricError(
            f"{host} has no RDMA device: load its driver, or `rdma link add` a software one"
        )
    if len(known.devices) > 1:
        names = ", ".join(known.devices)
        raise FabricError(f"{host} has several RDMA devices ({names}): choose by --ia-params")
    return known.devices[0]


def _only(values: dict[str, list[str]], name: str) -> str:
    return values.get(name, [""])[0] or "unknown"


def _clock(said: str, asked: float, answered: float) -> str:
    """How a host's clock differs from this machine's, in words that stay the same if it does."""
    if not said.isdigit():
        return "unknown"
    theirs = int(said) / 1000
    ahead = max(theirs - answered, 0) + min(theirs - asked, 0)
    if abs(ahead) * 1000 < CLOCK_MS:
        return "as the runner's"
    return f"{abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} the runner's"
