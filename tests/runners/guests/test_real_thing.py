# SPDX-License-Identifier: BSD-2-Clause
"""The command line with guests, the real agent and the reference provider: what scripts cannot
show. Needs a built checkout.
"""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from runners.campaign.plan.subject import from_library
from runners.campaign.session.agent import Agent
from runners.campaign.session.session import Limits, Session
from runners.checkout import here
from runners.fabric import datconf
from runners.fabric.base import FabricError
from runners.fabric.vm import VmFabric
from tests.reports.synthetic_run import read_lines
from tests.runners.fake_checkout import (
    REPOSITORY,
    compile_library,
    start_in_step,
    wait_for,
)

CASE = "srq_resize/grow"
NETWORK_CASE = "srq_query/keeps_half_received"
DEADLINE = 240


def certify(out: Path, *options: str | Path) -> list[str]:
    """A command line that certifies into `out`."""
    return [sys.executable, "-m", "runners", "certify", "--out", str(out), *map(str, options)]


def run(argv: list[str]) -> subprocess.CompletedProcess[str]:
    """Run it on this checkout."""
    return subprocess.run(
        argv, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=DEADLINE
    )


def events(out: Path) -> list[dict[str, Any]]:
    """The records of a run."""
    return [json.loads(line) for line in read_lines(out)]


@pytest.mark.parametrize("hosts", [1, 2])
def test_a_case_passes_on_the_reference_provider(tmp_path: Path, hosts: int) -> None:
    out = tmp_path / "out"
    done = run(certify(out, CASE, "--hosts", str(hosts)))
    assert done.returncode == 0, done
    facts = next(record for record in events(out) if record["type"] == "hosts")
    assert [host["name"] for host in facts["facts"]] == ["host1", "host2"][:hosts]
    assert facts["facts"][0]["devices"] == "rxe0"
    assert facts["ia"]["library"] == str(here().reference_provider)


def test_a_run_goes_into_a_folder_beside_the_checkout(tmp_path: Path) -> None:
    beside = Path(os.path.relpath(tmp_path, REPOSITORY), "out")
    done = run(certify(beside, CASE, "--hosts", "1"))
    assert done.returncode == 0, done
    assert events(tmp_path / "out")[-1]["status"] == "complete"


def test_zones_may_differ_where_the_provider_says_so(tmp_path: Path) -> None:
    choice = ["--ia-params", "rxe0 one-domain", "-k", "pz_of_its_own or pzs_of_several_eps"]
    out = tmp_path / "out"
    done = run(certify(out, *choice))
    assert done.returncode == 0, done
    words = {record["verdict"] for record in events(out) if record["type"] == "verdict"}
    assert words == {"PASS"}
    choice[-1] = "pz_difference_refused or second_pz_refused"
    done = run([sys.executable, "-m", "runners", "faults", "--out", str(tmp_path / "f"), *choice])
    assert done.returncode == 0, done
    assert "must: 2 of 2 killed by their own case" in done.stdout


def test_what_only_the_model_sees(tmp_path: Path) -> None:
    """The checks of this case hold, but it makes a call whose answer breaks another clause."""
    subject = from_library(here().reference_provider, "rxe0")
    faulty = here().faulty_provider
    fault = f"{subject.ia} fault=evd_wait/more_one_wrong"
    entries = datconf.lines("bad0", faulty, fault)
    (tmp_path / "dat.conf").write_text(subject.dat_conf + entries)
    choice = ["--dat-conf", str(tmp_path / "dat.conf"), "--ia", "bad0", "--hosts", "1"]
    out = tmp_path / "out"
    done = run(certify(out, "evd_wait/time_out_then_event", *choice))
    assert done.returncode == 1, done
    verdict = next(record for record in events(out) if record["type"] == "verdict")
    assert all(check["ok"] for check in verdict["checks"])
    assert (verdict["verdict"], verdict["breaks"]) == ("PASS", "evd_wait/more")
    assert verdict["oracle"]["why"].startswith("case call 5, dat_evd_wait: tells 1")
    assert "model: dat_evd_wait deviates from evd_wait/more: tells 1" in done.stdout


def test_a_call_that_a_case_can_do_without_does_not_block_it(tmp_path: Path) -> None:
    cases = (
        "get_handle_type/all_at_once",
        "set_consumer_context/of_all_kinds",
        "ep_post_send/whole_lmr",
        "srq_post_recv/equal_length",
    )
    run(certify(tmp_path, *cases, "--variant", "tells_little", "--hosts", "1"))
    verdicts = [record for record in events(tmp_path) if record["type"] == "verdict"]
    assert {(record["case"], record["verdict"]) for record in verdicts} == {
        (case, "PASS") for case in cases
    }


def test_a_query_that_crashes_is_left_out(tmp_path: Path) -> None:
    """The cases compare what the query tells before and after, and ask other things besides."""
    cases = (
        "ep_post_send/in_state/completion_pending",
        "ep_connect/invalid_handle/other_kind",
        "srq_resize/beside/ep",
    )
    done = run(certify(tmp_path, *cases, "--variant", "crashes_in_ep_query", "--hosts", "1"))
    verdicts = [record for record in events(tmp_path) if record["type"] == "verdict"]
    assert {(record["case"], record["verdict"]) for record in verdicts} == {
        (case, "PASS") for case in cases
    }
    # What the probe saw is a finding nevertheless.
    assert done.returncode == 1
    assert {each["call"] for record in verdicts for each in record["unasked"]} == {"dat_ep_query"}


def test_a_peer_that_cannot_accept_is_heard(tmp_path: Path) -> None:
    """Not the event that therefore does not come is the finding, but the peer's call."""
    case = "ep_modify/max_recv_dtos/unconnected"
    run(certify(tmp_path, case, "--variant", "accepts_nothing", "--hosts", "1"))
    first = next(record for record in events(tmp_path) if record["type"] == "verdict")
    assert (first["verdict"], first["blocked"]["call"]) == ("BLOCKED", "dat_cr_accept")
    # A host that is slow may time out first; then a case of the call's own finds it broken.
    heard = ("the peer could not accept", "dat_cr_accept does not work")
    assert first["reason"].startswith(heard)


@pytest.mark.parametrize(
    ("call", "cases"),
    [
        ("cr_accept", ["ep_connect/established", "ep_connect/peer", "ep_query/in_state/connected"]),
        ("ep_connect", ["ep_modify/leaves_recv_evd", "cr_query/port_of_peer"]),
    ],
)
def test_a_call_in_vain_is_seen_at_its_own_end(
    tmp_path: Path, call: str, cases: Sequence[str]
) -> None:
    """The other end sees no event: in the case's process, at the peer, and as a step."""
    subject = from_library(here().reference_provider, "rxe0")
    fault = f"{subject.ia} fault={call}/nothing_done"
    entries = datconf.lines("bad0", here().faulty_provider, fault)
    (tmp_path / "dat.conf").write_text(subject.dat_conf + entries)
    choice = ["--dat-conf", str(tmp_path / "dat.conf"), "--ia", "bad0", "--hosts", "1"]
    out = tmp_path / "out"
    run(certify(out, *cases, *choice))
    verdicts = [record for record in events(out) if record["type"] == "verdict"]
    assert {record["case"] for record in verdicts} == set(cases)
    for record in verdicts:
        assert record["verdict"] == "BLOCKED", record["reason"]
        assert record["blocked"]["call"] == f"dat_{call}"


def test_a_case_disturbs_the_network(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run(certify(out, NETWORK_CASE))
    assert done.returncode == 0, done
    (verdict,) = (record for record in events(out) if record["type"] == "verdict")
    assert verdict["hosts"] == 2
    begun, ended, *_ = verdict["records"]
    assert begun == "what the peer's host sends is disturbed: netem on eth0, 5000 kbit/s"
    packets = re.fullmatch(
        r"the network is as before; (\d+) packets met netem on eth0, 5000 kbit/s", ended
    )
    assert packets is not None
    assert int(packets[1]) > 0


def test_a_network_that_may_not_be_disturbed(tmp_path: Path) -> None:
    subject = from_library(here().reference_provider, "rxe0")
    (tmp_path / "dat.conf").write_text(subject.dat_conf)
    agent = [str(here().cases_binary), "--serve", "--ia", subject.ia]
    unprivileged = ["setpriv", "--bounding-set", "-net_admin", "--inh-caps", "-net_admin"]
    env = {"DAT_OVERRIDE": str(tmp_path / "dat.conf")}
    with VmFabric(2) as fabric:
        case, peer = fabric.hosts
        streams = {case: case.start_agent(agent, env)}
        streams[peer] = peer.start_agent([*unprivileged, *agent], env)
        session = Session([Agent(host, stream) for host, stream in streams.items()])
        session.hello()
        evidence = session.run(NETWORK_CASE, Limits(), "remote", disturbs=True)
        session.close()
    assert evidence.verdict is not None
    assert (evidence.verdict["verdict"], evidence.verdict["reason"]) == (
        "ERROR",
        "the peer could not disturb the network: netem on eth0: Operation not permitted",
    )


def test_a_network_is_disturbed_no_longer_than_the_case_may_take(tmp_path: Path) -> None:
    subject = from_library(here().reference_provider, "rxe0")
    (tmp_path / "dat.conf").write_text(subject.dat_conf)
    argv = [str(here().cases_binary), "--serve", "--ia", subject.ia]
    start = {"case": NETWORK_CASE, "disturbed_ms": 500}
    disturb = {"delay_ms": 1, "reorder_percent": 0, "loss_percent": 0, "kbit_per_s": 0}
    with VmFabric(2) as fabric:
        host = fabric.hosts[1]
        agent = Agent(host, host.start_agent(argv, {"DAT_OVERRIDE": str(tmp_path / "dat.conf")}))

        def peer(op: str, data: dict[str, Any]) -> None:
            agent.send({"type": "peer", "seq": 1, "from": "case", "op": op, "data": data})

        def heard(what: str) -> dict[str, Any]:
            while True:
                for message in agent.receive():
                    if message["type"] == what:
                        return message

        agent.send({"type": "hello", "protocol": 1})
        heard("hello")
        peer("start", start)
        peer("disturb", disturb)
        assert heard("peer")["data"]["ok"]
        heard("heartbeat")
        heard("heartbeat")
        peer("disturb", disturb)
        assert heard("peer")["data"]["why"] == "the case has disturbed the network before"
        peer("stop", {})
        stopped = heard("peer")["data"]
        agent.close()
    assert stopped["disturbed"]["network"] == "netem on eth0, 1 ms late, undone after 500 ms"


def test_a_guest_sees_what_the_run_needs(tmp_path: Path) -> None:
    """And the agent's own privilege changes nothing of that; what it writes stays in the guest."""
    (tmp_path / "needed").mkdir()
    (tmp_path / "secret").write_text("a secret")
    (tmp_path / "needed/link").symlink_to(tmp_path / "secret")
    script = """
for path in /etc/shadow "$1/secret" "$1/needed/link" /var/log/* /home/* /root/*; do
        [ ! -e "$path" ] || echo "$path is seen"
done
mkdir /9p && for tag in hostroot root; do mount -t 9p -o trans=virtio "$tag" /9p 2>&-; done
ls /9p
echo more >"$1/needed/more" && [ -x "$2" ] && echo "the needed is there"
"""
    fabric = VmFabric()
    fabric.show_only([here().root, tmp_path / "needed"])
    with fabric:
        binary = str(here().cases_binary)
        stream = fabric.hosts[0].start_agent(["/bin/sh", "-c", script, "-", str(tmp_path), binary])
        seen = b""
        while more := stream.recv(4096):
            seen += more
        stream.close()
    assert seen.decode() == "the needed is there\n"
    assert not (tmp_path / "needed/more").exists()


def test_a_guest_keeps_what_it_is_told_to_keep(tmp_path: Path) -> None:
    """It asks this machine no more: what is gone here is there still."""
    file, link, other = (tmp_path / name for name in ("lib.so.1", "lib.so", "other"))
    file.write_text("kept\n")
    other.write_text("not kept\n")
    link.symlink_to(file.name)
    fabric = VmFabric()
    fabric.keep([link, file, tmp_path / "nothing"])
    with fabric:
        script = f"echo there; read go; cat {link} {other} || echo gone"
        with fabric.hosts[0].start_agent(["/bin/sh", "-c", script]) as stream:
            assert stream.recv(4096) == b"there\n"
            for path in (file, link, other):
                path.unlink()
            stream.sendall(b"\n")
            seen = b""
            while more := stream.recv(4096):
                seen += more
    assert seen.decode() == "kept\ngone\n"


def test_a_provider_in_a_home_is_told_to_leave_it() -> None:
    with pytest.raises(FabricError, match="a guest would see all of /root"):
        VmFabric().show_only([Path("/root")])


def test_a_stranger_at_the_peers_port_is_rejected(tmp_path: Path) -> None:
    subject = from_library(here().reference_provider, "rxe0")
    (tmp_path / "dat.conf").write_text(subject.dat_conf)
    cases = here().cases_binary.with_name("udapl-selftest-cases")
    with VmFabric() as fabric:
        (host,) = fabric.hosts
        env = {"DAT_OVERRIDE": str(tmp_path / "dat.conf")}
        stream = host.start_agent([str(cases), "--serve", "--ia", subject.ia], env)
        session = Session([Agent(host, stream)])
        session.hello()
        evidence = session.run("provider/meets_a_stranger", Limits(), "local")
        session.close()
    assert evidence.verdict is not None
    assert (evidence.verdict["verdict"], evidence.verdict["reason"]) == ("PASS", "")
    records = [event["text"] for event in evidence.events if event["kind"] == "record"]
    assert records == ["requests of strangers at the peer's port that were rejected: 1"]


def test_a_device_that_is_taken_away_is_told_of(tmp_path: Path) -> None:
    """As by a provider to which a lab gave the privilege."""
    subject = from_library(here().reference_provider, "rxe0")
    (tmp_path / "dat.conf").write_text(subject.dat_conf)
    agent = [str(here().cases_binary), "--serve", "--ia", subject.ia]
    env = {"DAT_OVERRIDE": str(tmp_path / "dat.conf")}
    attacks = {
        "rdma link del rxe0": "its RDMA device's rxe0/ports/1 is gone",
        "ip link set eth0 down": "its netdev eth0 is down",
    }
    with VmFabric(2) as fabric:
        for host, (attack, said) in zip(fabric.hosts, attacks.items(), strict=True):
            session = Session([Agent(host, host.start_agent(agent, env))])
            session.hello()
            before = session.run(CASE, Limits(), "none")
            console = host.start_console(["/bin/sh", "-c", attack], {}, None, "24 80")
            assert host.console_status(10) == 0
            console.close()
            after = session.run(CASE, Limits(), "none")
            session.close()
            assert before.verdict is not None
            assert after.verdict is not None
            assert (before.verdict["verdict"], before.verdict.get("unfit")) == ("PASS", None)
            assert after.verdict["unfit"] == said


def test_a_provider_that_cannot_be_loaded(tmp_path: Path) -> None:
    source = "void nowhere(void); int dat_provider_init(void) { nowhere(); return 0; }"
    library = compile_library(tmp_path / "lib needy.so", source)
    out = tmp_path / "out"
    done = run(certify(out, CASE, "--hosts", "1", "--provider", library))
    assert done.returncode == 2, done
    assert "dat_ia_open" in done.stderr
    assert "nowhere" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert [record["type"] for record in events(out)] == ["run", "hosts", "incident", "end"]
    assert (out / "report.html").is_file()


def test_a_registry_that_is_somebody_elses_is_to_blame(tmp_path: Path) -> None:
    library = REPOSITORY / "build/default/lib/libforgetful_libdat.so"
    out = tmp_path / "out"
    done = run(certify(out, "pz_free/invalid_handle", "--hosts", "1", "--libdat", library))
    assert done.returncode == 1, done
    assert f"1 clause is of the registry {library.name}, which is not conformant" in done.stdout
    assert "nothing was found against the provider" in done.stdout
    words = {r["case"]: r["verdict"] for r in events(out) if r["type"] == "verdict"}
    assert words == {
        "pz_free/invalid_handle/null": "FAIL",
        "pz_free/invalid_handle/other_kind": "PASS",
        "pz_free/invalid_handle/sibling": "PASS",
    }


def test_cases_run_on_two_processors(tmp_path: Path) -> None:
    source = """
#include <stdio.h>
#include <unistd.h>
void dat_provider_init(void) { dprintf(2, "%ld processors\\n", sysconf(_SC_NPROCESSORS_ONLN)); }
void dat_provider_fini(void) {}
"""
    library = compile_library(tmp_path / "libcounting.so", source)
    out = tmp_path / "out"
    done = run(certify(out, CASE, "--hosts", "1", "--cpus", "2", "--provider", library))
    assert done.returncode == 2, done
    assert "2 processors" in done.stderr


def test_a_guest_that_is_killed_costs_one_verdict(tmp_path: Path) -> None:
    out = tmp_path / "out"
    # The one guest there is: one of several workers' may still be opened.
    argv = certify(out, "srq_resize", "--hosts", "1", "-m", "local", "-n", "1")
    process, said = start_in_step(argv)
    with process, said:
        for line in said:
            if re.match(r"\d+ of \d+ verdicts", line):
                break
        os.kill(first_guest(process.pid), signal.SIGKILL)
        rest = said.read()
        code = process.wait(DEADLINE)
    words = [record["verdict"] for record in events(out) if record["type"] == "verdict"]
    # A guest that is killed between two cases costs none.
    broken = words.count("ERROR")
    assert broken <= 1
    assert code == (2 if broken else 0), rest
    assert words.count("PASS") == len(words) - broken
    incidents = [record for record in events(out) if record["type"] == "incident"]
    assert [(record["what"], record["host"]) for record in incidents] == [("host-lost", "host1")]
    assert len(words) == len(events(out)[0]["plan"])
    assert not guests_of(process.pid)


def test_no_guest_outlives_a_killed_run(tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = subprocess.Popen(
        certify(out, "srq_resize", "--hosts", "2"), cwd=REPOSITORY, stdout=subprocess.DEVNULL
    )
    wait_for(out / "events.jsonl.zst")
    deadline = time.monotonic() + DEADLINE
    while len(guests := guests_of(process.pid)) < 2:
        assert time.monotonic() < deadline
    process.kill()
    process.wait()
    while any(Path(f"/proc/{guest}").exists() for guest in guests):
        assert time.monotonic() < deadline


def test_replay_under_gdb(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(certify(out, CASE, "--hosts", "1")).returncode == 0
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(REPOSITORY)
        argv = [sys.executable, "-m", "runners", "replay", str(out), CASE, "--gdb"]
        os.execv(sys.executable, argv)
    seen = read_until(terminal, b"(gdb)")
    assert b"hit Temporary breakpoint 1" in seen
    assert b"srq_resize__grow" in seen
    os.write(terminal, b"break dat_srq_resize\n")
    read_until(terminal, b"(gdb)")
    os.write(terminal, b"continue\n")
    assert b"hit Breakpoint 2" in read_until(terminal, b"(gdb)")
    os.write(terminal, b"continue\n")
    assert b"exited normally" in read_until(terminal, b"(gdb)")
    os.write(terminal, b"quit\n")
    rest = read_until(terminal, None)
    assert b"dat_srq_resize(srq_handle=srq#1, srq_max_recv_dto=16) = DAT_SUCCESS" in rest
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0


def read_until(terminal: int, prompt: bytes | None) -> bytes:
    """What a terminal shows up to a prompt, or its end."""
    deadline = time.monotonic() + DEADLINE
    seen = b""
    while prompt is None or not seen.rstrip().endswith(prompt):
        assert select.select([terminal], [], [], deadline - time.monotonic())[0], seen
        try:
            seen += os.read(terminal, 65536)
        except OSError:
            assert prompt is None, seen
            break
    return seen


def guests_of(process: int) -> list[int]:
    """The QEMU processes that `process` started, or those that it has run the cases."""
    found: list[int] = []
    tasks: list[Path] = []
    # Whose look comes after its end has none.
    with suppress(FileNotFoundError):
        tasks += Path(f"/proc/{process}/task").glob("*/children")
    for task in tasks:
        for child in map(int, read_of(task).split()):
            if "qemu" in read_of(Path(f"/proc/{child}/cmdline")):
                found.append(child)
            else:
                found += guests_of(child)
    return found


def first_guest(process: int) -> int:
    """A guest of a process that has some; a child whose thread ends has no parent for a moment."""
    deadline = time.monotonic() + DEADLINE
    while not (guests := guests_of(process)):
        assert time.monotonic() < deadline
    return guests[0]


def read_of(path: Path) -> str:
    """The text of a file of /proc; empty when its process is gone."""
    try:
        return path.read_bytes().decode()
    except (FileNotFoundError, ProcessLookupError):
        return ""
