# SPDX-License-Identifier: BSD-2-Clause
"""A case's processes have no privilege: what a provider tries with one does not reach anything."""

import hashlib
import os
import pwd
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.harness import session
from tests.harness.session import Agent, Outcome

EVERY_ATTACK = {
    "core_pattern",
    "agent_memory",
    "agent_traced",
    "agent_descriptors",
    "other_processes",
    "link_down",
    "real_time",
    "own_library",
    "over_library",
    "beside_library",
    "kernel_module",
    "reboots",
    "swaps",
    "sets_clock",
    "keys",
    "bpf_programs",
    "perf_events",
    "user_faults",
    "rings_of_calls",
    "capabilities",
    "user_namespace",
}
# Of the same user and outside of namespaces of its own, a process can do so much.
OF_ITS_USER = {"own_library", "beside_library", "other_processes"}
AS_NOBODY = (
    ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    if os.geteuid() == 0
    else []
)

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has a privilege to take")


def reached(outcome: Outcome) -> set[str]:
    """The attacks that the provider says it could have gone on with."""
    lines = outcome.verdict["output"].splitlines()
    return {line.removeprefix("reached ") for line in lines if line.startswith("reached ")}


def namespaces() -> bool:
    """Whether this user may make those that an agent makes."""
    made = ["unshare", "--pid", "--ipc", "--mount", "true"]
    return subprocess.run(made, check=False, capture_output=True).returncode == 0


@needs_root
def test_attacks_reach_their_ends_with_privilege(tmp_path: Path) -> None:
    """So that what follows proves something."""
    with Agent(tmp_path, "resize=attack", options=["--privileged"]) as agent:
        assert agent.hello_message["kept"] == ["everything (it was asked for)"]
        outcome = agent.run("provider/resizes")
        assert outcome.word == "PASS"
    kernel_has_them = {"keys", "bpf_programs", "perf_events", "user_faults", "kernel_module"}
    kernel_has_them |= {"rings_of_calls"}
    assert reached(outcome) >= EVERY_ATTACK - kernel_has_them


@needs_root
def test_attacks_reach_nothing(tmp_path: Path) -> None:
    if not namespaces():
        pytest.skip("this user may not make namespaces")
    with Agent(tmp_path, "resize=attack") as agent:
        assert agent.hello_message["kept"] == []
        outcome = agent.run("provider/resizes")
        assert (outcome.word, reached(outcome)) == ("PASS", set())
        assert reached(agent.run("provider/resizes_beside_a_peer")) == set()


@needs_root
def test_the_user_is_another_for_each_agent(tmp_path: Path) -> None:
    """A fixed number would tell a provider that it is judged."""
    if not namespaces():
        pytest.skip("this user may not make namespaces")
    users = set()
    for _ in range(3):
        with Agent(tmp_path, "resize=attack") as agent:
            lines = agent.run("provider/resizes").verdict["output"].splitlines()
        (user,) = (int(line.split()[1]) for line in lines if line.startswith("user "))
        users.add(user)
    assert len(users) > 1
    assert not users & {entry.pw_uid for entry in pwd.getpwall()}


@needs_root
def test_without_namespaces_its_user_is_kept_where_another_could_read_nothing(
    tmp_path: Path,
) -> None:
    """pytest's folders are root's alone, and only a mount namespace could open them."""
    with Agent(tmp_path, "resize=attack", namespace=False) as agent:
        files, user = agent.hello_message["kept"]
        assert files.startswith("the host's files and IPC objects (")
        assert user == f"its user (another one could not read {tmp_path / 'dat.conf'})"
        outcome = agent.run("provider/resizes")
    assert outcome.word == "PASS"
    assert reached(outcome) <= OF_ITS_USER | {"core_pattern"}


def test_an_agent_that_is_not_root_takes_what_it_can() -> None:
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        with Agent(Path(folder), "resize=attack", prefix=AS_NOBODY) as agent:
            assert agent.hello_message["kept"] == [
                "the host's files and IPC objects (Operation not permitted)",
                "its user (the agent is not root)",
            ]
            outcome = agent.run("provider/resizes")
    assert outcome.word == "PASS"
    assert reached(outcome) <= OF_ITS_USER


def test_ipc_objects_are_counted_and_removed(tmp_path: Path) -> None:
    if not namespaces():
        pytest.skip("this user may not make namespaces")
    with Agent(tmp_path, "resize=litter") as agent:
        outcome = agent.run("provider/resizes")
        assert (outcome.word, outcome.reason) == (
            "NOTE",
            "IPC objects that outlived the case: 5",
        )
        assert outcome.texts("leak")[-1] == "IPC objects that outlived the case and were removed: 5"
        assert (agent.run("harness/passes").word) == "PASS"
        assert (agent.run("provider/resizes").reason) == outcome.reason


def test_files_are_removed_before_the_next_case(tmp_path: Path) -> None:
    if not namespaces():
        pytest.skip("this user may not make namespaces")
    with Agent(tmp_path, "resize=clutter") as agent:
        for _ in range(2):
            outcome = agent.run("provider/resizes")
            assert outcome.verdict["output"] == "0 were left\n"
            assert outcome.texts("leak")[-1].startswith("files that outlived the case and were rem")
        assert agent.run("harness/passes").texts("leak") == []


@pytest.mark.parametrize("namespace", [True, False])
def test_a_case_is_named_as_any_program(tmp_path: Path, namespace: bool) -> None:
    with Agent(tmp_path, "resize=tell_name", namespace=namespace) as agent:
        comm, line, _ = agent.run("provider/resizes").verdict["output"].split(";")
        own = Path(f"/proc/{agent.process.pid}/cmdline").read_bytes()
    assert comm.strip() in ("server", "client", "worker", "node", "store", "ingest")
    assert line.strip() == comm.strip()
    assert b"udapl" in own


def test_nothing_of_this_machine_changes(tmp_path: Path) -> None:
    """What the agent mounts and unmounts is its own."""
    before = Path("/proc/self/mountinfo").read_text()
    with Agent(tmp_path, "resize=litter") as agent:
        agent.run("provider/resizes")
        assert Path("/proc/self/mountinfo").read_text() == before


def test_what_seals_a_verdict_is_not_in_memory(tmp_path: Path) -> None:
    """Nor do the canaries lead to it."""
    with Agent(tmp_path, "resize=fail srq_free=forge_seal") as agent:
        outcome = agent.run("provider/resizes")
        assert (outcome.word, outcome.verdict["output"]) == ("FAIL", "")
        assert agent.run("harness/passes").word == "PASS"


def test_a_library_that_changes_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "libvendor.so"
    shutil.copy(session.PROVIDER, library)
    monkeypatch.setattr(session, "PROVIDER", library)
    with Agent(tmp_path) as agent:
        told = agent.hello_message["ia"]["sha256"]
        assert told == hashlib.sha256(library.read_bytes()).hexdigest()
        os.utime(library)
        assert agent.run("harness/passes").word == "PASS"
        with library.open("ab") as file:
            file.write(b"more")
        outcome = agent.run("harness/passes")
        now = hashlib.sha256(library.read_bytes()).hexdigest()
        assert (outcome.word, outcome.reason) == (
            "ERROR",
            f"its provider {library} has SHA-256 {now[:16]}..., and had {told[:16]}...",
        )
        assert outcome.verdict["unfit"] == outcome.reason
