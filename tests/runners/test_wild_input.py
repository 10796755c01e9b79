# SPDX-License-Identifier: BSD-2-Clause
"""Input that no one writes by mistake is refused; what is meant for other programs has no say."""

import json
import os
import shutil
from pathlib import Path

import pytest

from runners.campaign.session.protocol import ProtocolError, check
from tests.reports.synthetic_run import read_lines, write_lines
from tests.runners.fake_checkout import Cts

DEEP = 20_000
HUGE = "9" * 5000


def refused(cts: Cts, *arguments: str | Path) -> str:
    """What is said in one line of a command line that is refused."""
    done = cts(*arguments)
    assert done.returncode == 64, done
    assert done.stderr.startswith("udapl-cts: "), done
    assert done.stderr.count("\n") == 1, done
    assert len(done.stderr) < 500, done
    return done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[host]]\naddress = "lab1\\n"\n', "'lab1\\n' is not a host's name or address"),
        ('[[host]]\naddress = "lab1"\nname = "a\\n"\n', "'a\\n' is not a name"),
        ('[[host]]\naddress = "lab1"\nia_params = "a\\u0000"\n', "NUL"),
        (f'[[host]]\naddress = "lab1"\nport = {HUGE}\n', "Exceeds the limit"),
        (f'[[host]]\naddress = "lab1"\nport = {HUGE[:1000]}\n', "too large"),
        (f"host = {'[' * DEEP}{']' * DEEP}\n", "nested too deeply"),
    ],
)
def test_files_of_hosts_and_of_waivers(cts: Cts, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "wild.toml"
    path.write_text(text)
    assert said in refused(cts, "certify", "--fabric", "ssh", "--hosts-file", path)
    assert not cts.runs.exists()
    path.write_text(text.replace("host", "waiver"))
    refused(cts, "certify", "--waivers", path)


@pytest.mark.parametrize(
    "arguments",
    [
        ("certify", "-k", "(" * DEEP + "a" + ")" * DEEP),
        ("certify", "-m", "not " * DEEP + "a"),
        ("faults", "-k", "(" * DEEP + "a" + ")" * DEEP),
        ("certify", "--seed", HUGE),
        ("certify", "--seed", HUGE[:1000]),
        ("certify", "-n", HUGE[:1000]),
        ("certify", "--spread", HUGE[:1000]),
        ("certify", "--patience", HUGE),
    ],
)
def test_command_lines(cts: Cts, arguments: tuple[str, ...]) -> None:
    (cts.root / "faults").mkdir()
    assert refused(cts, *arguments)


@pytest.mark.parametrize("command", [("report",), ("replay",), ("certify", "--resume")])
@pytest.mark.parametrize("name", ["x" * 300, "x" * 70_000])
def test_names_of_runs_that_no_file_can_have(cts: Cts, command: tuple[str, ...], name: str) -> None:
    cts("certify")
    assert "no such run" in refused(cts, *command, name) or command == ("replay",)


LONG = "x" * 300


@pytest.mark.parametrize(
    "arguments",
    [
        ("history", LONG),
        ("compare", "latest", LONG),
        ("judge", LONG),
        ("spec", "check", "--pages", LONG),
        ("verify", LONG),
        ("verify", "build/default/lib/libdaplref.so", "--signers", LONG),
        ("certify", "--baseline", LONG),
        ("certify", "--hosts", "1", "--out", LONG),
        ("package", "latest", "--sign", LONG),
        ("package", "latest", "--out", LONG),
    ],
)
def test_names_that_no_file_can_have(cts: Cts, arguments: tuple[str, ...]) -> None:
    cts.has("passes")
    assert cts("certify", "--hosts", "1").returncode == 0
    assert refused(cts, *arguments)


@pytest.mark.parametrize("kind", ["a device", "a pipe", "a large file"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("certify", "--waivers"),
        ("certify", "--fabric", "ssh", "--hosts-file"),
        ("certify", "--ia", "a", "--dat-conf"),
        ("certify", "--provider"),
        ("package", "latest", "--sign"),
        ("package", "latest", "--statement"),
        ("judge",),
        ("report",),
        ("compare", "latest"),
        ("history",),
        ("verify",),
    ],
)
def test_files_without_an_end(
    cts: Cts, tmp_path: Path, arguments: tuple[str, ...], kind: str
) -> None:
    cts.has("passes")
    assert cts("certify", "--hosts", "1").returncode == 0
    path = tmp_path / "endless"
    if kind == "a device":
        path = Path("/dev/zero")
    elif kind == "a pipe":
        os.mkfifo(path)
    else:
        with path.open("wb") as file:
            file.truncate(1 << 40)
    if (arguments, kind) == (("verify",), "a large file"):
        done = cts(*arguments, path)
        assert done.returncode == 1
        assert "not ok" in done.stdout
    else:
        assert refused(cts, *arguments, path)


def test_a_word_of_two_lines_is_quoted_in_one(cts: Cts) -> None:
    assert r"a\nb" in refused(cts, "list", "a\nb")


@pytest.mark.parametrize("text", ['{"type":"\\ud800"}', '{"\\ud800":1}'])
def test_lines_of_an_agent_that_are_no_unicode(text: str) -> None:
    with pytest.raises(ProtocolError):
        check(text.encode())


def test_a_dat_conf(cts: Cts, tmp_path: Path) -> None:
    path = tmp_path / "dat.conf"
    path.write_bytes(b'a u1.2 nonthreadsafe default "/x\0y" v.1.0 "" ""\n')
    assert "NUL" in refused(cts, "certify", "--dat-conf", path, "--ia", "a")


@pytest.mark.parametrize("name", ["a, b='c' \"d\" #e\\f", "[x];%s:$y", "-k\u2028é"])
def test_names_of_folders(cts: Cts, tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    provider = shutil.copy(cts.provider, folder)
    done = cts("certify", "--hosts", "1", "--provider", provider, "--out", folder / "out")
    assert done.returncode == 0, done
    assert cts.events(folder / "out")[0]["subject"]["library"] == str(provider)
    conf = folder / "out/dat.conf"
    again = cts("certify", "--hosts", "1", "--dat-conf", conf, "--ia", "cts0")
    assert again.returncode == 0, again


def test_a_name_that_no_line_of_a_dat_conf_can_have(cts: Cts, tmp_path: Path) -> None:
    folder = tmp_path / "a\nb"
    folder.mkdir()
    provider = shutil.copy(cts.provider, folder)
    assert "newline" in refused(cts, "certify", "--provider", provider)


def test_settings_of_somebody_elses_pytest(cts: Cts, tmp_path: Path) -> None:
    for name in ("conftest.py", "pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml"):
        for folder in (tmp_path, cts.root):
            (folder / name).write_text("raise SystemExit(1)\n")
    cts.env |= {
        "TMPDIR": str(tmp_path),
        "PYTEST_PLUGINS": "no_such_plugin",
        "PYTEST_ADDOPTS": "--no-such-option",
    }
    cts.has("passes_1", "passes_2")
    assert cts("certify", "--hosts", "1", "-k", "passes_1").returncode == 0
    assert cts("certify", "--hosts", "1", "-n", "2").returncode == 0


@pytest.mark.parametrize(
    "damage",
    [{"ms": "long"}, {"checks": 3}, {"hosts": 1 << 80}, {"ms": float("inf")}, {"case": None}],
)
def test_a_run_to_resume_is_read_as_strictly_as_one_to_report(
    cts: Cts, damage: dict[str, object]
) -> None:
    cts.has("passes_1", "passes_2")
    cts("certify", "--hosts", "1")
    lines = read_lines(cts.runs / "latest")
    (number,) = [n for n, line in enumerate(lines) if b"passes_1" in line and b'"ms"' in line]
    wild = json.dumps(json.loads(lines[number]) | damage).replace("Infinity", "1e999")
    lines[number] = wild.encode() + b"\n"
    write_lines(cts.runs / "latest", lines[:-1])
    assert f"line {number + 1}" in refused(cts, "report")
    assert f"line {number + 1}" in refused(cts, "certify", "--resume", "latest")


@pytest.mark.parametrize("text", ["[]", "{", "[" * DEEP, '{"table": "\\u0000"}', '{"a": 1}'])
def test_settings_of_a_fabric_that_were_damaged(cts: Cts, text: str) -> None:
    cts.has("passes_1", "passes_2")
    cts("certify", "--hosts", "1")
    write_lines(cts.runs / "latest", read_lines(cts.runs / "latest")[:-2])
    (cts.runs / "latest/fabric.json").write_text(text)
    assert "fabric.json" in refused(cts, "certify", "--resume", "latest")
