# SPDX-License-Identifier: BSD-2-Clause
"""The facts about a host that is no guest: a constant shell script asks, its lines answer."""

import platform
import subprocess
import time
from collections.abc import Iterable

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
    echo "distribution $(. /etc/os-release 2>/dev/null; echo "$PRETTY_NAME")";
    echo "architecture $(uname -m)";
    echo "processors $(nproc 2>/dev/null)";
    p=$(sed -n "s/^model name[[:space:]]*: //p" /proc/cpuinfo 2>/dev/null | head -n 1);
    echo "processor ${p:-$(lscpu 2>/dev/null | sed -n "s/^Model name: *//p" | head -n 1)}";
    for d in /sys/class/infiniband/*; do
        [ -e "$d" ] || continue;
        n=${d##*/};
        echo "device $n";
        f=$(cat "$d/fw_ver" 2>/dev/null);
        echo "firmware $n ${f:-unknown}";
        b=$(cat "$d/board_id" 2>/dev/null);
        [ -z "$b" ] || echo "board $n $b";
        for p in "$d"/ports/*; do
            [ -e "$p/rate" ] || continue;
            echo "link $n/${p##*/} $(cat "$p/link_layer" 2>/dev/null) $(cat "$p/rate")";
        done;
        [ -e "$d/device" ] || continue;
        s=$(readlink -f "$d/device");
        echo "slot $n ${s##*/}";
        m=$(readlink -f "$d/device/driver/module" 2>/dev/null);
        [ -n "$m" ] || continue;
        m=${m##*/};
        echo "driver $n $m" $(PATH="$PATH:/usr/sbin:/sbin" modinfo "$m" 2>/dev/null
            | sed -n -E "/^(version|srcversion|vermagic|signer|filename|description|license):/p");
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
        distribution=_only(values, "distribution"),
        architecture=_only(values, "architecture"),
        processor=_only(values, "processor"),
        boards=tuple(values.get("board", ())),
        slots=tuple(values.get("slot", ())),
        links=tuple(values.get("link", ())),
        drivers=tuple(values.get("driver", ())),
        processors=_number(_only(values, "processors")),
    )


def of_this_machine() -> Facts:
    """This machine's own."""
    asked = time.time()
    try:
        done = subprocess.run(["sh", "-c", SCRIPT], capture_output=True, text=True, check=False)
    except OSError as error:
        raise FabricError(f"cannot ask this machine for its facts: {error}") from error
    return parse(done.stdout, asked, time.time())


def distribution() -> str:
    """What this machine's distribution calls itself; empty where it does not say."""
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return ""


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


def _number(said: str) -> int:
    return int(said) if said.isascii() and said.isdigit() else 0


def fewest_processors(known: Iterable[Facts]) -> int:
    """The processors of the host that has the fewest, at least 1."""
    return max(1, min(facts.processors for facts in known))


def _clock(said: str, asked: float, answered: float) -> str:
    """How a host's clock differs from this machine's, in words that stay the same if it does."""
    if not said.isdigit():
        return "unknown"
    theirs = int(said) / 1000
    ahead = max(theirs - answered, 0) + min(theirs - asked, 0)
    if abs(ahead) * 1000 < CLOCK_MS:
        return "as the runner's"
    return f"{abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} the runner's"
