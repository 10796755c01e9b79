# SPDX-License-Identifier: BSD-2-Clause
"""The ssh fabric with a scripted ssh: what happens to hosts that are not as they should be."""

import hashlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.reports.synthetic_run import write_records
from tests.runners.fake_checkout import REPOSITORY, Cts, compile_library

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


def copying(lab: Cts, directory: Path | str) -> list[str | Path]:
    """The options for one host, which gets copies into `directory`."""
    options = hosts(lab, "lab1")
    path = lab.root / "hosts.toml"
    copies = f'files = "copy"\ndirectory = "{directory}"'
    path.write_text(path.read_text().replace('files = "shared"', copies))
    return options


def copies(store: Path) -> list[Path]:
    """What is in a directory for copies, the agent's first."""
    return sorted(store.iterdir(), key=lambda copy: not (copy / "bin").exists())


def months_ago(*paths: Path) -> None:
    """Have these not been used for two months."""
    for path in paths:
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 60 * 24 * 3600))


def made(store: Path, files: dict[str, bytes], name: str = "{}") -> Path:
    """A copy as a run of long ago left it; `name` has a place for its list's digest."""
    rows = [f"{hashlib.sha256(data).hexdigest()}  {place}\n" for place, data in files.items()]
    listed = "".join(sorted(rows, key=lambda row: row[66:])).encode()
    copy = store / name.format(hashlib.sha256(listed).hexdigest())
    for place, data in {**files, "SHA256SUMS": listed}.items():
        (copy / place).parent.mkdir(parents=True, exist_ok=True)
        (copy / place).write_bytes(data)
    return copy


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
    assert words(lab) == {"kills_host": "ERROR"} | dict.fromkeys(OTHERS, "PASS")
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
    assert words(lab) == {case: "ERROR"} | dict.fromkeys(OTHERS, "PASS")
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
    conf.write_text(f'vendor0 u1.2 nonthreadsafe default {provider} v.1.0 "$(touch here)" ""\n')
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


def test_old_copies_go_and_nothing_else(lab: Cts, tmp_path: Path) -> None:
    store = tmp_path / "store"
    old = made(store, {"bin/agent": b"an old one", "lib/more.so": b"", "dat.conf": b"#"})
    begun = made(store, {"bin/agent": b"begun"}, ".new-{}-abcdef")
    cut = made(store, {"bin/agent": b"cut off", "lib/x.so": b"x"}, ".new-{}-ghijkl")
    (cut / "bin/agent").write_bytes(b"cut")
    young = made(store, {"bin/agent": b"another run's"})
    changed = made(store, {"bin/agent": b"changed"})
    (changed / "bin/agent").write_bytes(b"by somebody")
    joined = made(store, {"bin/agent": b"joined"}, ".new-{}-mnopqr")
    (joined / "thesis.tex").write_text("years of work")
    months_ago(old, begun, cut, changed, joined)
    done = lab("certify", *copying(lab, store))
    assert done.returncode == 0, done
    left = set(store.iterdir())
    assert {young, changed, joined} <= left
    assert len(left) == 6
    assert (joined / "thesis.tex").read_text() == "years of work"
    assert not {old, begun, cut} & left


def test_a_copy_is_used_again(lab: Cts, tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert lab("certify", *copying(lab, store)).returncode == 0
    before = {path: path.stat().st_ino for path in store.rglob("*")}
    assert len(copies(store)) == 3
    months_ago(*copies(store))
    assert lab("certify", *copying(lab, store)).returncode == 0
    assert {path: path.stat().st_ino for path in store.rglob("*")} == before


def test_another_libdat_is_copied_too(lab: Cts, tmp_path: Path) -> None:
    libdat = REPOSITORY / "build/default/lib/libdat.so.1"
    store = tmp_path / "store"
    done = lab("certify", *copying(lab, store), "--libdat", libdat)
    assert done.returncode == 0, done
    (copy,) = store.glob("*/registry/libdat.so.1")
    assert copy.read_bytes() == libdat.read_bytes()


def test_a_damaged_copy_is_sent_anew(lab: Cts, tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert lab("certify", *copying(lab, store)).returncode == 0
    agent = copies(store)[0] / "bin/udapl-cases"
    whole = agent.read_bytes()
    agent.write_bytes(whole[:100])
    done = lab("certify", *copying(lab, store))
    assert done.returncode == 0, done
    assert agent.read_bytes() == whole
    assert len(copies(store)) == 3


def relist(copy: Path) -> None:
    """Write the list of what is in a copy, as the writer of a changed copy does."""
    rows = {
        str(path.relative_to(copy)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in copy.rglob("*")
        if path.is_file() and path.name != "SHA256SUMS"
    }
    listed = "".join(f"{digest}  {place}\n" for place, digest in sorted(rows.items()))
    (copy / "SHA256SUMS").write_text(listed)


@pytest.mark.parametrize("place", ["bin/udapl-cases", "lib/libjansson.so.4"])
def test_a_copy_is_what_its_name_says(lab: Cts, tmp_path: Path, place: str) -> None:
    store = tmp_path / "store"
    assert lab("certify", *copying(lab, store)).returncode == 0
    agent = copies(store)[0]
    (agent / place).parent.mkdir(exist_ok=True)
    (agent / place).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    if place.startswith("bin"):
        relist(agent)
    done = lab("certify", *copying(lab, store))
    assert not (tmp_path / "ran").exists()
    assert done.returncode == 2, done
    assert f"holds {agent.name}, which is no copy of ours" in done.stderr


HOLDINGS = (
    ".ssh/authorized_keys",
    "thesis.tex",
    f"{'0' * 64}/thesis.tex",
    f"{'0' * 64}",
    f".new-{'0' * 64}",
    ".new-abcdef/thesis.tex",
    f"{'0' * 63}g/SHA256SUMS",
)


@pytest.mark.parametrize("holding", HOLDINGS)
def test_a_directory_that_holds_anything_else(lab: Cts, tmp_path: Path, holding: str) -> None:
    store = tmp_path / "home"
    (store / holding).parent.mkdir(parents=True)
    (store / holding).write_text("years of work")
    months_ago(store / holding, *store.iterdir())
    done = lab("certify", *copying(lab, store))
    assert done.returncode == 2, done
    assert f"lab1: {store} holds {holding.split('/')[0]}, which is no copy of ours" in done.stderr
    assert "name another `directory`" in done.stderr
    assert [path for path in store.rglob("*") if path.is_file()] == [store / holding]


def test_a_copy_that_somebody_put_something_into(lab: Cts, tmp_path: Path) -> None:
    store = tmp_path / "store"
    old = made(store, {"bin/agent": b"an old one"})
    (old / "bin/thesis.tex").write_text("years of work")
    months_ago(old)
    done = lab("certify", *copying(lab, store))
    assert done.returncode == 2, done
    assert f"holds {old.name}, which is no copy of ours" in done.stderr
    assert (old / "bin/thesis.tex").exists()


def test_a_link_is_no_copy(lab: Cts, tmp_path: Path) -> None:
    store = tmp_path / "store"
    elsewhere = made(tmp_path, {"bin/agent": b"an old one"})
    store.mkdir()
    (store / elsewhere.name).symlink_to(elsewhere)
    done = lab("certify", *copying(lab, store))
    assert done.returncode == 2, done
    assert f"holds {elsewhere.name}, which is no copy of ours" in done.stderr
    assert (elsewhere / "bin/agent").exists()


def test_a_home_and_the_root_are_refused(lab: Cts) -> None:
    home, linked = lab.root / "home-lab1", lab.root / "linked"
    home.mkdir()
    linked.symlink_to(home)
    # Whatever becomes of the check: nothing of this machine's is at stake.
    programs = Path(lab.env["PATH"].split(":")[0])
    for name in ("chmod", "mkdir", "mktemp", "mv", "rm", "rmdir", "tar", "touch"):
        (programs / name).write_text(f"#!/bin/sh\n: > {lab.root}/called; exit 1\n")
        (programs / name).chmod(0o755)
    root = "the root of the file system"
    for directory, what in (
        ("/", root),
        ("//", root),
        ("/." * 3, root),
        (f"{lab.root}{'/..' * 40}", root),
        (f"{home}", "a home"),
        (f"{home}/", "a home"),
        (f"{lab.root}/linked/../home-lab1", "a home"),
        (f"{linked}", "a home"),
        (f"{Path('~root').expanduser()}", "a home"),
    ):
        done = lab("certify", *copying(lab, directory))
        assert not (lab.root / "called").exists()
        assert done.returncode == 2, done
        assert f"lab1: {directory} is {what}" in done.stderr
        assert "name another `directory`" in done.stderr
    assert list(home.iterdir()) == []


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
    for record in (records := lab.events()):
        if record.get("peer") == "lab3" and record["host"] == "lab2":
            record |= {"verdict": "FAIL", "reason": "it did not hold"}
        if record["type"] == "end":
            record["exit"] = 1
    write_records(lab.runs / "latest", records)
    assert "on lab2 and lab3; calls:" in lab("replay").stdout
    path = lab.root / "runs/latest/fabric.json"
    path.write_text(path.read_text().replace('"address": "lab2"', '"address": "dead"'))
    assert "on lab3 and lab1; calls:" in lab("replay").stdout
