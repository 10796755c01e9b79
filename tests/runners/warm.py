# SPDX-License-Identifier: BSD-2-Clause
"""Runs the command line of fake_cts in forks of one process that has imported all of it.

An interpreter that starts anew imports, and compiles templates, for most of the time that a short
run takes. What a test sees of a fork is what it sees of a process of its own: arguments,
environment, folder, output and status. As a program this module is that process; it obeys the lines
of its standard input.
"""

import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NoReturn
from unittest import mock

from jinja2 import Environment, FileSystemBytecodeCache

from reports.html import html_env
from tests.runners import fake_cts

REPOSITORY = Path(__file__).resolve().parents[2]
# Templates that a command compiled; their names in it tell of which text.
TEMPLATES = REPOSITORY / ".cache/templates"
PACKAGES = ("oracle", "results", "reports", "runners")
# A fork cannot obey these: the interpreter, or a module, has read them when it started.
READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "TMPDIR", "TZ")


class Warm:
    """A process that forks, one command after another."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.runners.warm"],
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # no answer waits in a buffer, where select() does not see it
        )

    def run(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: Path, timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """Obey `argv`, words after the program's name, and wait for the end."""
        with self._turn, tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            files = [f"/proc/{os.getpid()}/fd/{file.fileno()}" for file in (out, err)]
            order = {"argv": [*argv], "env": {**env}, "cwd": str(cwd), "files": files}
            pid = int(self._ask(json.dumps(order)))
            assert self._process.stdout is not None
            if not select.select([self._process.stdout], [], [], timeout)[0]:
                os.kill(pid, signal.SIGKILL)
                self._answer()
                raise subprocess.TimeoutExpired([*argv], timeout)
            status = int(self._answer())
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess([*argv], status, out.read(), err.read())

    def _ask(self, line: str) -> bytes:
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        return self._answer()

    def _answer(self) -> bytes:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


@cache
def warm() -> Warm:
    """The one of this process. It ends with its standard input."""
    return Warm()


def can_obey(env: Mapping[str, str]) -> bool:
    """Whether a fork can be told what these variables tell an interpreter."""
    known = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    names = [name for name in {*known, *env} if name.startswith(READ_AT_START)]
    return all(env.get(name) == known.get(name) for name in names)


def _import_all() -> None:
    for package in map(importlib.import_module, PACKAGES):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    TEMPLATES.mkdir(parents=True, exist_ok=True)
    keep = FileSystemBytecodeCache(str(TEMPLATES))
    mock.patch.object(html_env, "Environment", partial(Environment, bytecode_cache=keep)).start()
    gc.freeze()


def _obey(argv: Sequence[str], env: Mapping[str, str], cwd: str, files: Sequence[str]) -> NoReturn:
    """Become the process of a command."""
    for number, path in enumerate(("/dev/null", *files)):
        opened = os.open(path, os.O_RDWR)
        os.dup2(opened, number)
        os.close(opened)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.argv[1:] = argv
    fake_cts.main()


def _serve() -> None:
    _import_all()
    for line in sys.stdin:
        if (pid := os.fork()) == 0:
            _obey(**json.loads(line))
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    _serve()
