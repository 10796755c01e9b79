# SPDX-License-Identifier: BSD-2-Clause
"""The ssh fabric with a scripted ssh: what becomes of hosts that are not as they should."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.runners.fake_checkout import Cts, compile_library

FAKE = Path(__file__).with_name("fake_ssh.py")
OTHERS = ("passes_1", "passes_2", "passes_3")


@pytest.fixture
def lab(cts: Cts, tmp_path: Path) -> Cts:
    """A command line that has the scripted ssh first in its path."""
    programs = tmp_path / "programs"
    programs.mkdir()
    ssh = programs / "ssh"
    ssh.write_text(f"#!{sys.executable} -IS\n" + FAKE.read_text())
    ssh.chmod(0o755)
    cts.env["PATH"] = f"{programs}:{os.environ['PATH']}"
    return cts


def hosts(lab: Cts, *addresses: str, more: str = "") -> list[str | Path]:
    """The options for these hosts, which share this machine's files; `more` holds for each."""
    path = lab.root / "hosts.toml"
    rows = [f'[[host]]\naddress = "{address}"\n' for address in addresses]
    path.write_text(f'[defaults]\nfiles = "shared"\nia_params = "dev0"\n{more}\n' + "".join(rows))
    return ["--fabric", "ssh", "--hosts-file", path]


def first(lab: Cts, kind: str) -> dict[str, Any]:
    """The first record of a kind."""
    return next(record for record in lab.events() if record["type"] == kind)


def words(lab: Cts) -> dict[str, str]:
    """The first verdicts of the latest run."""
    return {case: word for case, _, attempt, word in lab.verdicts() if attempt == 1}


def incidents(lab: Cts) -> list[tuple[str, str]]:
    """What happened to which host in the latest run."""
    return [(r["what"], r["host"]) for r in lab.events() if r["type"] == "incident"]


def test_each_case_on_one_host_and_pairs_on_two(lab: Cts) -> None:
    lab.has("passes", "talks_to_peer")
    done = lab("certify", *hosts(lab, "lab1", "lab2", "lab3"))
    assert done.returncode == 0, done
    records = [record for record in lab.events() if record["type"] == "hosts"]
    names = [[fact["name"] for fact in record["facts"]] for record in records]
    assert names == [["lab1"], ["lab1", "lab2"]]
    assert records[0]["facts"][0]["kernel"] == os.uname().release
    assert records[0]["facts"][0]["clock"] == "as the runner's"
    assert len(records[0]["facts"][0]["provider"]) == 64
    assert ("talks_to_peer", 2, 1, "PASS") in lab.verdicts()


def test_roles(lab: Cts) -> None:
    lab.has("talks_to_peer")
    options = hosts(lab, "lab1", "lab2")
    path = lab.root / "hosts.toml"
    path.write_text(path.read_text().replace('"lab1"', '"lab1"\nrole = "peer"'))
    assert lab("certify", *options, "--hosts", "2").returncode == 0
    assert [fact["name"] for fact in first(lab, "hosts")["facts"]] == ["lab2", "lab1"]


def test_a_host_that_cannot_be_reached_is_set_aside(lab: Cts) -> None:
    lab.has("passes", "talks_to_peer")
    done = lab("certify", *hosts(lab, "dead", "lab1", "lab2"))
    assert done.returncode == 0, done
    assert incidents(lab) == [("host-aside", "dead")] * 2
    assert "No route to host" in first(lab, "incident")["text"]


def test_every_pair_of_those_that_can_be_reached(lab: Cts) -> None:
    lab.has("talks_to_peer", "kills_agent", "passes")
    done = lab("certify", *hosts(lab, "lab1", "dead", "lab2"), "--every-pair")
    assert done.returncode == 2, done
    assert incidents(lab)[0] == ("host-aside", "dead")
    said = {
        (r["case"].split("/")[1], r["host"], r.get("peer"), r["verdict"])
        for r in lab.events()
        if r["type"] == "verdict" and r["hosts"] == 2
    }
    assert ("talks_to_peer", "lab1", "lab2", "PASS") in said


def test_no_host_can_be_reached(lab: Cts) -> None:
    done = lab("certify", *hosts(lab, "dead"))
    assert done.returncode == 2, done
    assert "no host is left for the subject" in done.stderr
    assert "No route to host" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_host_that_dies_costs_its_own_verdict(lab: Cts) -> None:
    lab.has("kills_host", *OTHERS)
    done = lab("certify", *hosts(lab, "lab1", "lab2"), "--hosts", "1", "--seed", "3")
    assert done.returncode == 2, done
    assert words(lab) == {"kills_host": "BROKEN"} | dict.fromkeys(OTHERS, "PASS")
    assert incidents(lab) == [("host-lost", "lab1"), ("host-aside", "lab1")]
    opened = [record for record in lab.events() if record["type"] == "hosts"]
    assert [record["facts"][0]["name"] for record in opened] == ["lab1", "lab2"]


@pytest.mark.parametrize(
    ("case", "what", "said"),
    [
        ("kills_agent", "agent-lost", "status 3: agent: out of patience"),
        ("babbles", "protocol", "no JSON: Segmentation fault (core dumped)"),
        ("floods", "protocol", "1048576 bytes"),
    ],
)
def test_an_agent_that_fails(lab: Cts, case: str, what: str, said: str) -> None:
    lab.has(case, *OTHERS)
    done = lab("certify", *hosts(lab, "lab1"), "--seed", "3")
    assert done.returncode == 2, done
    assert words(lab) == {case: "BROKEN"} | dict.fromkeys(OTHERS, "PASS")
    assert incidents(lab) == [(what, "lab1")]
    assert said in first(lab, "incident")["text"]


def test_chatter_of_a_login_script(lab: Cts) -> None:
    assert lab("certify", *hosts(lab, "chatty")).returncode == 0
    assert words(lab) == {"passes": "PASS"}


def test_no_data_reaches_a_shell(lab: Cts, provider: Path) -> None:
    folder = lab.root / "it's $(touch here) `touch here`;touch here #"
    folder.mkdir()
    library = folder / "lib ' x.so"
    library.write_bytes(provider.read_bytes())
    done = lab("certify", *hosts(lab, "lab1"), "--provider", library)
    assert done.returncode == 0, done
    assert not list(lab.root.rglob("here"))
    assert first(lab, "run")["subject"]["library"] == str(library)


def test_the_hosts_own_dat_conf(lab: Cts, provider: Path) -> None:
    conf = lab.root / "host's dat.conf"
    conf.write_text(f'vendor0 u1.2 nonthreadsafe default {provider} v.1 "$(touch here)" ""\n')
    done = lab("certify", *hosts(lab, "lab1"), "--dat-conf", conf, "--ia", "vendor0")
    assert done.returncode == 0, done
    assert first(lab, "run")["subject"]["library"] == str(provider)
    assert first(lab, "run")["subject"]["ia"] == "vendor0"
    assert first(lab, "hosts")["facts"][0]["provider"] == first(lab, "run")["subject"]["sha256"]
    assert not list(lab.root.rglob("here"))


def test_a_dat_conf_that_a_host_has_not(lab: Cts) -> None:
    options = ("--dat-conf", "/nowhere/dat.conf", "--ia", "vendor0")
    done = lab("certify", *hosts(lab, "lab1"), *options)
    assert done.returncode == 64, done
    assert "lab1:/nowhere/dat.conf: No such file or directory" in done.stderr


def test_what_a_host_lacks_is_named_with_its_package(lab: Cts, tmp_path: Path) -> None:
    name = "libjansson.so.4"
    needed = compile_library(tmp_path / name, "void f(void) {}", f"-Wl,-soname,{name}.99")
    source = "void f(void); int dat_provider_init(void) { f(); return 0; }"
    library = compile_library(tmp_path / "libneedy.so", source, "-x", "none", str(needed))
    done = lab("certify", *hosts(lab, "lab1"), "--provider", library)
    assert done.returncode == 2, done
    needs = "lab1: libneedy.so needs libjansson.so.4.99 (Debian's package libjansson4"
    assert needs in done.stderr


def test_a_copy_that_fits_nowhere(lab: Cts) -> None:
    (lab.root / "build/default/lib/libdat.so.1").touch()
    blocked = lab.root / "file"
    blocked.touch()
    more = f'files = "copy"\ndirectory = "{blocked}/store"'
    options = hosts(lab, "lab1")
    path = lab.root / "hosts.toml"
    path.write_text(path.read_text().replace('files = "shared"', more))
    done = lab("certify", *options)
    assert done.returncode == 2, done
    assert "Not a directory" in done.stderr
    assert "`directory`" in done.stderr


def test_a_clock_that_disagrees(lab: Cts) -> None:
    date = Path(lab.env["PATH"].split(":")[0], "date")
    date.write_text('#!/bin/sh\necho "$(($(/bin/date +%s) + 3600))000"\n')
    date.chmod(0o755)
    assert lab("certify", *hosts(lab, "lab1")).returncode == 0
    clock = first(lab, "hosts")["facts"][0]["clock"]
    assert clock.endswith(" s ahead of the runner's")


def test_faults_takes_no_hosts_file(lab: Cts) -> None:
    done = lab("faults", "--fabric", "ssh")
    assert done.returncode == 64, done
    assert "needs --hosts-file" in done.stderr


def test_replay_reaches_the_same_hosts(lab: Cts) -> None:
    lab.has("fails")
    assert lab("certify", *hosts(lab, "lab1")).returncode == 1
    done = lab("replay")
    assert done.returncode == 1, done
    assert "FAIL" in done.stdout


def test_replay_has_the_pair_that_the_case_had(lab: Cts) -> None:
    lab.has("talks_to_peer")
    assert lab("certify", *hosts(lab, "lab1", "lab2", "lab3"), "--every-pair").returncode == 0
    events = lab.results / "latest/events.jsonl"
    records = [json.loads(line) for line in events.read_text().splitlines()]
    for record in records:
        if record.get("peer") == "lab3" and record["host"] == "lab2":
            record["verdict"] = "FAIL"
    events.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert "on lab2 and lab3; calls:" in lab("replay").stdout
    path = lab.root / "results/latest/fabric.json"
    path.write_text(path.read_text().replace('"address": "lab2"', '"address": "dead"'))
    assert "on lab3 and lab1; calls:" in lab("replay").stdout
