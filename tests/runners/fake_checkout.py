# SPDX-License-Identifier: BSD-2-Clause
"""A small checkout, and the command line that works on it."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import jsonschema

from runners.commands.spec import PAGES_VARIABLE
from tests.reports.synthetic_run import read_lines
from tests.runners.warm import can_obey, warm

REPOSITORY = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
SCHEMA = json.loads((REPOSITORY / "docs/results.schema.json").read_text())

VARIANT = """
[[variant]]
id = "{name}"
text = "It is {name}."
on = "dat_srq_resize"
do = "run"
function = "leak_descriptor"
"""
PAGE = """\
page = "dat_{page}"
sections = {{ DESCRIPTION = 1 }}
sentences = ["00000001"]
"""
CLAUSE = """
[[clause]]
id = "{page}/{name}"
section = "DESCRIPTION"
level = "{level}"
sentences = ["00000001"]
text = "The call {name} when it is asked to."
check = "{check}"
needs = ["srq_supported"]
{shows}"""
PROVIDER = "int dat_provider_init(void) { return 0; }\n"


@dataclass
class Cts:
    """The command line on the checkout at `root`."""

    root: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def provider(self) -> Path:
        return self.root / "build/default/lib/libdaplref.so"

    @property
    def hanging(self) -> Path:
        """Made by a case that hangs until told otherwise."""
        return self.root / "build/default/bin/hanging"

    @property
    def openings(self) -> list[int]:
        """The host counts of the fabrics that were opened, in order."""
        path = self.root / "openings"
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def has(
        self, *names: str, may: Sequence[str] = (), deadline_ms: int = 300, pages: int = 1
    ) -> None:
        """Give the checkout these cases; the behaviour is the name without its number. Those that
        talk to a peer are pairs, and so are names with `_on_two`; those with `network` disturb it.
        Those with `alone` need the limits of their hosts for themselves. The page is demo_page; of
        more `pages`, which are numbered, each has the same cases.
        """
        rows = []
        listed = ["dat_demo_page", *(f"dat_demo_page_{number}" for number in range(2, pages + 1))]
        (self.root / "cases/pages.txt").write_text("\n".join([*listed, "dat_of_no_clause\n"]))
        for page in ["demo_page", *(f"demo_page_{number}" for number in range(2, pages + 1))]:
            clauses = [PAGE.format(page=page)]
            for number, name in enumerate(names):
                network = "network" in name
                pair = "peer" in name or "on_two" in name or network
                rows.append(
                    {
                        "id": f"{page}/{name}",
                        "page": page,
                        "file": f"cases/demo/{page}.c",
                        "line": 10 * number + 1,
                        "peers": int(pair),
                        "network": network,
                        "needs": ["srq_supported"],
                        "deadline_ms": deadline_ms,
                    }
                )
                level = "may" if name in may else "must"
                check = "network" if network else "pair" if pair else "local"
                shows = 'shows = "srq_supported"\n' if "unsupported" in name else ""
                alone = 'alone = "limits"\n' if "alone" in name else ""
                clause = {"page": page, "name": name, "level": level, "check": check}
                clauses.append(CLAUSE.format(**clause, shows=shows + alone))
            (self.root / f"cases/demo/{page}.toml").write_text("".join(clauses))
            (self.root / f"cases/demo/{page}.c").write_text("\n" * 40)
        (self.root / "build/default/bin/cases.json").write_text(json.dumps(rows))

    def is_committed(self) -> None:
        """Make the checkout a repository of one commit, without local changes."""
        (self.root / ".gitignore").write_text("/*\n!/cases\n")
        for command in ("init -q", "add .", "commit -q -m all"):
            who = ["-c", "user.name=a", "-c", "user.email=a@b"]
            subprocess.run(["git", *who, *command.split()], cwd=self.root, check=True)

    def has_variant(self, name: str) -> None:
        """Give the checkout a faulty provider with this variant."""
        (self.root / "faults").mkdir()
        (self.root / "faults/variants.toml").write_text(VARIANT.format(name=name))
        shutil.copy(self.provider, self.provider.with_name("libdaplfault.so"))

    def command(self, *arguments: str | Path) -> tuple[list[str], dict[str, str]]:
        """The arguments and the environment of a process that obeys `arguments`."""
        argv = [sys.executable, "-P", "-m", "tests.runners.fake_cts", *map(str, arguments)]
        env = {
            **os.environ,
            "PYTHONPATH": str(REPOSITORY),
            "FAKE_ROOT": str(self.root),
            **self.env,
        }
        env.pop(PAGES_VARIABLE, None)
        return argv, env

    def __call__(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        argv, env = self.command(*arguments)
        if can_obey(env):
            done = warm().run([*map(str, arguments)], env, self.root, timeout=300)
        else:
            done = subprocess.run(
                argv, env=env, cwd=self.root, capture_output=True, text=True, timeout=300
            )
        assert "Traceback" not in done.stdout + done.stderr, done.stderr
        return done

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        """The same, in the background, in a process group of its own."""
        argv, env = self.command(*arguments)
        return subprocess.Popen(
            argv,
            env=env,
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )

    def events(self, folder: Path | None = None) -> list[dict[str, Any]]:
        """The records of a run (default: the latest), each valid as docs/results.md has it."""
        records = [json.loads(line) for line in read_lines(folder or self.runs / "latest")]
        validator = jsonschema.Draft202012Validator(SCHEMA)
        for record in records:
            validator.validate(record)
        return records

    def verdicts(self, folder: Path | None = None) -> list[tuple[str, int, int, str]]:
        """Case, mode, attempt and word of each verdict of a run, in order."""
        return [
            (record["case"].split("/")[1], record["hosts"], record["attempt"], record["verdict"])
            for record in self.events(folder)
            if record["type"] == "verdict"
        ]


def wait_for(path: Path) -> None:
    """Wait until a process makes `path`."""
    wait_until(path.exists, f"nobody made {path}")


def wait_until(holds: Callable[[], bool], otherwise: str) -> None:
    """Wait until `holds()` is true."""
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)


def start_in_step(argv: Sequence[str]) -> tuple[subprocess.Popen[bytes], TextIO]:
    """Start a command of this repository, and the lines that it says: it gets no more than a few of
    them ahead of who reads them, whatever this machine has set for Python.
    """
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        process = subprocess.Popen(argv, cwd=REPOSITORY, env=env, stdout=theirs.fileno())
        return process, ours.makefile()


def make_checkout(root: Path, provider: Path) -> Cts:
    """A checkout in `root` with a provider, an agent, and one case that passes."""
    for folder in ("build/default/bin", "build/default/lib", "cases/demo"):
        (root / folder).mkdir(parents=True)
    shutil.copy(provider, root / "build/default/lib")
    for name in ("udapl-cases", "udapl-cases-2.0", "udapl-puppet", "udapl-puppet-2.0"):
        agent = root / "build/default/bin" / name
        agent.write_text(f"#!{sys.executable} -IS\n" + (HERE / "fake_agent.py").read_text())
        agent.chmod(0o755)
    made = Cts(root)
    made.has("passes")
    return made


def compile_library(path: Path, source: str, *options: str) -> Path:
    """Compile C text to a shared object."""
    subprocess.run(
        ["cc", "-x", "c", "-", "-shared", "-fPIC", "-Wl,--build-id", "-o", str(path), *options],
        input=source,
        text=True,
        check=True,
    )
    return path
