# SPDX-License-Identifier: BSD-2-Clause
"""Exit 1 is a provider's: what Python, bash or this machine cannot do is 2, with a sentence."""

import errno
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from runners.cli import main
from runners.commands import cases
from tests.runners.fake_checkout import REPOSITORY, Cts

COULD_NOT_TELL = 2
ENTRY = REPOSITORY / "udapl-cts"


def told(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """The command ended with 2, and one sentence on standard error with these words."""
    assert done.returncode == COULD_NOT_TELL, done
    last = done.stderr.splitlines()[-1]
    assert last.startswith("udapl-cts: "), done
    for word in words:
        assert word in last, done
    assert "Traceback" not in done.stderr


def shell(cts: Cts, line: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What bash makes of `line`, in which "$@" is the command line with `arguments`."""
    argv, env = cts.command(*arguments)
    command = ["bash", "-c", f"set -o pipefail; {line}", "bash", *argv]
    return subprocess.run(
        command, env=env, cwd=cts.root, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("options", [(), ("-n", "2"), ("--spread", "2")])
def test_a_run_whose_reader_leaves_is_a_run(cts: Cts, options: tuple[str, ...]) -> None:
    cts.has(*(f"passes_{number}" for number in range(300)))
    done = shell(cts, '"$@" | head -n 1', "certify", "--hosts", "1", *options)
    told(done, "standard output", "Broken pipe", "would be 0")
    assert len(cts.verdicts()) == 300
    assert cts.events()[-1]["exit"] == 0
    assert (cts.runs / "latest/report.html").is_file()


def test_a_reader_that_leaves(cts: Cts) -> None:
    cts.has(*(f"passes_{number}" for number in range(2000)))
    told(shell(cts, '"$@" | head -n 1', "list"), "standard output", "Broken pipe")
    assert shell(cts, '"$@"', "certify", "--hosts", "1").returncode == 0
    told(shell(cts, '"$@" | head -n 1', "events"), "standard output", "Broken pipe")


@pytest.mark.parametrize("command", [("list",), ("--help",), ("certify", "--hosts", "1")])
def test_a_screen_that_is_full(cts: Cts, command: tuple[str, ...]) -> None:
    told(shell(cts, '"$@" >/dev/full', *command), "No space left on device", "would be 0")
    assert shell(cts, '"$@" >/dev/full 2>&1', *command).returncode == COULD_NOT_TELL


def test_no_screen_at_all(cts: Cts) -> None:
    cts.has("fails")
    assert shell(cts, '"$@" >&- 2>&-', "certify", "--hosts", "1").returncode == 1
    assert cts.events()[-1]["exit"] == 1


@pytest.mark.parametrize("line", ["raise SystemExit(1)", "1 / 0", "import no_such_module"])
def test_a_pythonpath_that_is_broken(tmp_path: Path, line: str) -> None:
    for name in ("argparse", "json", "pytest"):
        (tmp_path / f"{name}.py").write_text(f"{line}\n")
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}:{REPOSITORY}"}
    by_module = [sys.executable, "-P", "-m", "runners", "list"]
    done = subprocess.run(by_module, env=env, capture_output=True, text=True, check=False)
    told(done, "cannot load the command line", f"unset PYTHONPATH, which is {tmp_path}")


def test_what_a_user_has_set_for_python_has_no_say(tmp_path: Path) -> None:
    (tmp_path / "argparse.py").write_text("raise SystemExit(1)\n")
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONHOME": "/nowhere"}
    done = subprocess.run(
        [ENTRY, "show", "no/such"], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 64, done
    assert "no clause is called 'no/such'" in done.stderr


@pytest.mark.parametrize("name", ["a,b", "a:b", "a;b", 'a"b', "a'b", "a\\b", "a$b", "a\nb"])
def test_a_folder_in_which_nothing_can_be_built(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    entry = shutil.copy(ENTRY, folder)
    done = subprocess.run([entry, "list"], capture_output=True, text=True, check=False)
    assert done.returncode == COULD_NOT_TELL
    assert done.stderr.startswith("udapl-cts: nothing can be built in a folder of this name")


@pytest.fixture
def unbuilt(tmp_path: Path) -> Path:
    """A checkout in which the Python packages are installed, and nothing is built."""
    for name in ("runners", "results", "cases", "faults", "reports"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    for name in ("udapl-cts", "packages.txt", "requirements.txt"):
        shutil.copy(REPOSITORY / name, tmp_path)
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    wanted = hashlib.sha256((tmp_path / "requirements.txt").read_bytes()).hexdigest()
    (tmp_path / ".venv/stamp-run").write_text(f"{wanted}  -{tmp_path}")
    return tmp_path


@pytest.mark.parametrize(
    ("status", "words", "said"),
    [
        (0, "--help", "usage: udapl-cts"),
        (0, "certify --help", "usage: udapl-cts certify"),
        (64, "certyfi", "invalid choice"),
        (64, "certify --provider /no/such.so", "no such provider: /no/such.so"),
        (64, "certify --dat-conf /no/dat.conf --ia ref0", "/no/dat.conf"),
        (64, "certify --libdat /no/libdat.so.1", "no such libdat"),
        (64, "certify --hosts 3", "the cases need 1 host or 2"),
        (2, "certify dat_srq_resize", "the build failed"),
    ],
)
def test_what_is_said_before_a_first_build(
    unbuilt: Path, status: int, words: str, said: str
) -> None:
    argv = [str(unbuilt / "udapl-cts"), *words.split()]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == status, done
    assert said in done.stdout + done.stderr
    assert ("configuring and building" in done.stderr) == (status == COULD_NOT_TELL)


def test_a_machine_without_its_programs() -> None:
    env = {**os.environ, "PATH": "/nonexistent"}
    done = subprocess.run([ENTRY, "list"], env=env, capture_output=True, text=True, check=False)
    told(done, "the set-up failed with status 127", "readlink")


def test_a_library_that_ends_the_process(cts: Cts) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from runners import cli\n"
        "from runners.checkout import Checkout\n"
        "from runners.campaign.plan import plan\n"
        "plan.load_cases = lambda checkout: sys.exit(1)\n"
        f"raise SystemExit(cli.main(['list'], Checkout(Path({str(cts.root)!r}))))\n"
    )
    argv = [sys.executable, "-c", program]
    done = subprocess.run(
        argv, cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False
    )
    told(done, "SystemExit", "please report it")


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
        RuntimeError("can't start new thread"),
    ],
)
def test_a_machine_without_memory(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def starve(_: object) -> int:
        raise error

    monkeypatch.setattr(cases, "_list", starve)
    assert main(["list"]) == COULD_NOT_TELL
    said = capsys.readouterr().err
    assert said.startswith("udapl-cts: this machine has no memory left for this command; ")
