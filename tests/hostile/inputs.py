# SPDX-License-Identifier: BSD-2-Clause
"""Input of all kinds, made wild: it is taken, or refused with a sentence, and soon."""

import io
import json
import random
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import FrameType

from results.errors import InputError, ReportError
from runners import cli
from runners.campaign.certify import waiver_file as waivers
from runners.campaign.plan.subject import from_dat_conf, from_library
from runners.campaign.schedule.selection import compiled
from runners.campaign.session import protocol
from runners.checkout import Checkout
from runners.fabric import hosts_file
from runners.fabric.files import Files
from runners.inputs import read_json
from runners.package.verify import verify
from tests.hostile.figures import Figures
from tests.hostile.wild import wild
from tests.runners.fake_checkout import Cts

FAILED, SLOW = "not refused with a sentence", "not answered in time"
PATIENCE = 60
REFUSALS = (InputError, ReportError, protocol.ProtocolError)
FABRICS = {"vm": "tests.runners.fake_fabric:AbsentFabric", "ssh": "runners.fabric.ssh:SshFabric"}

HOSTS = b"""\
ssh_config = "ssh.conf"
[defaults]
user = "lab"
files = "copy"
[[host]]
address = "lab1.example"
name = "one"
port = 22
dat_conf = "/etc/dat.conf"
ia = "vendor0"
[[host]]
address = "fd00::1"
role = "peer"
"""
WAIVERS = b"""\
[[waiver]]
clause = "demo_page/passes"
provider = "fake"
versions = ">=1.0, <1.1"
reason = "It is known."
url = "https://vendor.example/1"
approver = "A. Smith"
expires = 2099-06-30
"""
CONF = b"""\
# entries
vendor0 u1.2 nonthreadsafe default %s v.1.0 "dev0 \\"x\\"" ""
vendor1 u2.0 threadsafe default "libvendor.so" v.1.0 "" "" # more
"""
LINES = (
    {"type": "event", "seq": 1, "kind": "note", "text": "so"},
    {
        "type": "verdict",
        "seq": 1,
        "case": "demo_page/passes",
        "verdict": "PASS",
        "reason": "",
        "us": 15,
        "output": "",
    },
)
COMMANDS = (
    "list",
    "show demo_page/passes",
    "report latest --format md",
    "report latest --pages nowhere",
    "replay latest demo_page/passes --hosts 1",
    "certify demo_page/passes --hosts 1 --seed 3 --patience 2 -n 1",
    "certify -k passes -m must --spread 2 --lf",
    "certify --provider nowhere.so --ia-params dev0 --api 1.2",
    "certify --dat-conf dat.conf --ia vendor0 --waivers waivers.toml",
    "certify --fabric ssh --hosts-file hosts.toml",
    "certify --resume latest",
    "faults -k passes --draw 3 --list",
    "spec check --pages nowhere",
    "history latest",
    "compare latest latest",
    "verify package.tar --signers signers",
    "certify passes --baseline latest --hosts 1 --out folder",
    "package latest --sign key --out package.tar",
)


class _Slow(BaseException):
    """No answer in time."""


@dataclass(frozen=True)
class Door:
    """One way in: what is tried there is made of `seeds`; `share` is how much of all it gets."""

    name: str
    seeds: Sequence[bytes]
    enter: Callable[[bytes], None]
    share: float = 1.0


def fuzz(cts: Cts, count: int, rng: random.Random) -> Figures:
    """Try `count` wild inputs, and say how many did what they must not."""
    figures = Figures("inputs fuzzed", (FAILED, SLOW))
    cts.has("passes", "fails")
    cts("certify", "--seed", "1")
    folder = cts.root / "wild"
    folder.mkdir()
    found = list(_doors(cts, folder, rng))
    shares = [door.share for door in found]
    for _ in range(count):
        (door,) = rng.choices(found, shares)
        data = wild(rng, door.seeds)
        figures.count()
        try:
            with _in_time():
                door.enter(data)
        except REFUSALS:
            pass
        except _Slow:
            figures.harm(SLOW, f"{door.name}: {data[:80]!r}")
        except Exception as error:
            figures.harm(FAILED, f"{door.name}: {data[:80]!r}: {type(error).__name__}: {error}")
    return figures


def _doors(cts: Cts, folder: Path, rng: random.Random) -> Iterator[Door]:
    checkout = Checkout(cts.root, FABRICS)
    clauses = ["demo_page/passes", "demo_page/fails"]
    conf = CONF.replace(b"%s", str(cts.provider).encode())

    def in_file(name: str, enter: Callable[[Path], object]) -> Callable[[bytes], None]:
        def through(data: bytes) -> None:
            path = folder / name
            path.write_bytes(data)
            enter(path)

        return through

    def conf_file(path: Path) -> None:
        from_dat_conf(path, "vendor0", "1.2", Files())

    def waiver_file(path: Path) -> None:
        waivers.read(path, clauses, date(2030, 1, 1))

    def library(path: Path) -> None:
        from_library(path, "dev0")

    def settings(path: Path) -> None:
        read_json(path, "the settings")

    def line(data: bytes) -> None:
        protocol.check(data)

    def expression(data: bytes) -> None:
        compiled("-k", data.decode(errors="surrogateescape"))

    def command(data: bytes) -> None:
        words = data.decode(errors="surrogateescape").replace("\0", "").split(" ")
        _obeyed(words, checkout)

    def name(data: bytes) -> None:
        """A name that no file can have, or that has lines, in place of a word."""
        words = data.decode().split(" ")
        place = rng.randrange(1, len(words)) if len(words) > 1 else 0
        words[place] = rng.choice(["x" * rng.randint(250, 300), "a\nb", "/" + "y/" * 3000])
        _obeyed(words, checkout)

    def package(path: Path) -> None:
        for _ in verify(path, None, checkout):
            pass

    packed = cts.root / "package.tar"
    cts("package", "latest", "--out", packed)
    tar = packed.read_bytes() if packed.exists() else b""

    yield Door("dat.conf", [conf], in_file("dat.conf", conf_file), 2)
    yield Door("hosts", [HOSTS], in_file("hosts.toml", hosts_file.read), 2)
    yield Door("waivers", [WAIVERS], in_file("waivers.toml", waiver_file), 2)
    yield Door("library", [cts.provider.read_bytes()], in_file("lib.so", library), 2)
    yield Door("settings", [b'{"table": [{"name": "a"}], "ia": null}'], in_file("f.json", settings))
    yield Door("protocol", [json.dumps(told).encode() for told in LINES], line, 2)
    yield Door("expression", [b"passes and not (fails or x)", b"must"], expression)
    yield Door("command line", [text.encode() for text in COMMANDS], command, 0.3)
    yield Door("names", [b""], lambda _: name(rng.choice(COMMANDS).encode()), 0.3)
    yield Door("package", [tar], in_file("package.tar", package))


def _obeyed(words: Sequence[str], checkout: Checkout) -> None:
    """Have a command line obeyed; what is no status of ours, or no sentence, is an error."""
    if words[0] in ("fabric", "selftest"):
        return
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = cli.main(words, checkout)
    said = err.getvalue()
    if code not in (0, 1, 2, 64) or "should not have happened" in said:
        raise AssertionError(f"status {code}: {said[-300:]}")
    if code == 64 and not said.startswith("udapl-cts: "):
        raise AssertionError(f"status 64 without a sentence: {said[-300:]}")
    if code == 64 and said.count("\n") != 1:
        raise AssertionError(f"status 64 in more than a line: {said[-300:]}")


@contextmanager
def _in_time() -> Iterator[None]:
    def slow(_number: int, _frame: FrameType | None) -> None:
        raise _Slow

    former = signal.signal(signal.SIGALRM, slow)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, former)
