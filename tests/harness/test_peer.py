# SPDX-License-Identifier: BSD-2-Clause
"""The peer's process, on this host or another one: started, told, ended, and gone."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness.session import Agent, Outcome, descendants

Message = dict[str, Any]


def test_peer_is_started_and_ended(agent: Agent) -> None:
    outcome = agent.run("harness/starts_peer")
    assert outcome.word == "PASS"
    assert outcome.calls("peer") == [
        "dat_ia_openv",
        "dat_ia_query",
        "dat_pz_create",
        "dat_ia_close",
    ]
    assert descendants(agent.hello_message["pid"]) == set()


def test_peer_is_killed(agent: Agent) -> None:
    assert agent.run("harness/kills_peer").word == "PASS"
    outcome = agent.run("harness/outlives_peer")
    assert outcome.word == "ERROR"
    assert outcome.reason == "listen: the peer has ended (ended by SIGKILL)"


@pytest.mark.parametrize("namespace", [True, False])
def test_peer_is_frozen(agent: Agent) -> None:
    outcome = agent.run("harness/freezes_peer")
    assert (outcome.word, outcome.reason) == ("PASS", "")
    assert descendants(agent.hello_message["pid"]) == set()


def test_peer_listens(agent: Agent) -> None:
    outcome = agent.run("harness/has_peer_listen")
    assert (outcome.word, outcome.reason) == ("PASS", "")
    assert outcome.calls("peer").count("dat_psp_create") == 2
    assert outcome.calls("peer")[-2:] == ["dat_evd_dequeue", "dat_ia_close"]


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ("stops_listening_twice", "the peer could not stop_listening: no qualifier "),
        ("answers_no_request", "the peer could not reject: there is no request 0 to be answered"),
        ("gives_peer_too_much", "the peer is given no more than 1024 bytes of private data, not "),
    ],
)
def test_peer_that_is_asked_for_nothing(agent: Agent, case: str, why: str) -> None:
    outcome = agent.run(f"harness/{case}", event_ms=300)
    assert outcome.word == "ERROR"
    assert outcome.reason.startswith(why)


def test_peer_to_whom_nothing_comes(agent: Agent) -> None:
    outcome = agent.run("harness/takes_request_of_nobody", event_ms=300)
    assert outcome.word == "BLOCKED"
    assert outcome.reason == (
        "the peer could not take_request: no DAT_CONNECTION_REQUEST_EVENT within 300 ms"
    )
    assert outcome.verdict["blocked"]["call"] == "dat_psp_create"


def test_peer_that_cannot_obey(agent_on: Callable[[str], Agent]) -> None:
    outcome = agent_on("psp=fail").run("harness/asks_too_much_of_peer")
    assert outcome.word == "BLOCKED"
    told = outcome.verdict["blocked"]
    assert (told["call"], told["ret"]) == ("dat_psp_create", "DAT_INTERNAL_ERROR")
    assert outcome.reason == (
        "the peer could not listen: dat_psp_create returned DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE"
    )


def test_peer_where_the_provider_makes_the_eps_of_all_psps(
    agent_on: Callable[[str], Agent],
) -> None:
    """It listens by an RSP, with an EP of its own."""
    outcome = agent_on("psp=of_provider").run("harness/takes_request_of_nobody", event_ms=300)
    assert outcome.word == "BLOCKED"
    assert outcome.verdict["blocked"]["call"] == "dat_rsp_create"
    by_peer = [event["call"] for event in outcome.of("call") if event["who"] == "peer"]
    assert "dat_rsp_create" in by_peer
    assert "dat_psp_create" not in by_peer


def test_peer_that_crashes(agent_on: Callable[[str], Agent]) -> None:
    outcome = agent_on("psp=crash").run("harness/asks_too_much_of_peer")
    assert outcome.word == "BLOCKED"
    assert outcome.verdict["blocked"]["call"] == "dat_psp_create"
    assert outcome.reason == ("listen: the peer has ended (ended by SIGSEGV in dat_psp_create)")
    assert outcome.of("crash")[0]["signal"] == "SIGSEGV"


@pytest.mark.parametrize(
    ("act", "what", "saw"),
    [("crash", "crash", "SIGSEGV"), ("fail", "refused", "DAT_INTERNAL_ERROR")],
)
def test_peer_whose_teardown_breaks(
    agent_on: Callable[[str], Agent], act: str, what: str, saw: str
) -> None:
    """It is no clause's, and told as the peer's."""
    outcome = agent_on(f"abrupt={act}").run("harness/starts_peer")
    assert (outcome.word, outcome.reason) == ("PASS", "")
    broken = {"call": "dat_ia_close", "what": what, "saw": saw, "who": "peer"}
    assert outcome.verdict["teardown"] == [broken]
    last = [event for event in outcome.of("call") if event["who"] == "peer"][-1]
    assert (last["call"], last["teardown"]) == ("dat_ia_close", True)
    told = [(crash["who"], crash["teardown"]) for crash in outcome.of("crash")]
    assert told == [("peer", True)] * (act == "crash")


def test_peer_that_hangs(agent_on: Callable[[str], Agent]) -> None:
    agent = agent_on("psp=hang")
    outcome = agent.run("harness/asks_too_much_of_peer", event_ms=300)
    assert outcome.word == "ERROR"
    assert outcome.reason.startswith("the peer did not answer to listen within")
    assert descendants(agent.hello_message["pid"]) == set()


def test_peer_whose_provider_writes_to_its_channel(agent_on: Callable[[str], Agent]) -> None:
    """What it wrote is no answer, and its case continues."""
    outcome = agent_on("psp=garbage").run("harness/has_peer_listen")
    assert outcome.word == "NOTE"
    assert set(outcome.texts("note")) == {
        "a line on the suite's own channel to the peer that it did not write"
    }


def test_case_that_crashes_leaves_no_peer(agent: Agent) -> None:
    assert agent.run("harness/crashes_beside_a_peer").word == "CRASH"
    assert descendants(agent.hello_message["pid"]) == set()


def test_undeclared_peer(agent: Agent) -> None:
    assert 'has not check = "pair"' in agent.run("harness/has_no_peer").reason


def test_network_to_nowhere_is_not_disturbed(agent: Agent) -> None:
    outcome = agent.run("harness/disturbs_network")
    assert outcome.word == "ERROR"
    assert outcome.reason == (
        "the peer could not disturb the network: its peer is on the case's own host"
    )
    assert 'has not check = "network"' in agent.run("harness/disturbs_undeclared").reason


PEER = "to start a peer, which it does not have"
SILENCE = 'to disturb the network, and it has not check = "network"'


@pytest.mark.parametrize(
    ("act", "case", "what"),
    [
        ("ask_for_peer", "provider/resizes", PEER),
        ("ask_for_silence", "provider/resizes", SILENCE),
        (
            "ask_for_hours",
            "provider/resizes_in_network",
            "to disturb the network more than any case does",
        ),
    ],
)
@pytest.mark.parametrize("peer", ["none", "local", "remote"])
def test_case_that_asks_for_what_its_plan_does_not_allow(
    agent_on: Callable[[str], Agent], peer: str, act: str, case: str, what: str
) -> None:
    outcome = agent_on(f"resize={act}").run(case, peer=peer)
    assert outcome.word == "CONTRADICTED"
    assert outcome.reason == (
        f"the record contradicts itself: the case's process asked the agent {what}"
    )
    assert f"refused: the case's process asked the agent {what}" in outcome.texts("record")


def test_case_that_asks_for_what_nobody_may(agent_on: Callable[[str], Agent]) -> None:
    outcome = agent_on("resize=ask_for_anything").run("provider/resizes")
    assert outcome.word == "NOTE"
    assert outcome.reason == "lines written to the suite's own channel: 1"


DISTURB = {"delay_ms": 10, "reorder_percent": 0, "loss_percent": 0, "kbit_per_s": 0}


def disturbed(peer: Agent, start: Message) -> Message:
    """The answer of a host that is asked for a disturbed network by a case that started a peer so;
    its peer is then stopped.
    """
    for op, data in (("start", start), ("disturb", DISTURB)):
        peer.send({"type": "peer", "seq": 5, "from": "case", "op": op, "data": data})
    answer = peer.receive()
    peer.send({"type": "peer", "seq": 5, "from": "case", "op": "stop", "data": {}})
    while peer.receive_of_peer([])["op"] != "stopped":
        pass
    said: Message = answer["data"]
    return said


@pytest.mark.parametrize(
    "start",
    [
        {},
        {"case": "harness/starts_peer", "disturbed_ms": 1000},
        {"case": "harness/no_such_case", "disturbed_ms": 1000},
        {"case": "harness/disturbs_network"},
        {"case": "harness/disturbs_network", "disturbed_ms": 0},
        {"case": "harness/disturbs_network", "disturbed_ms": 600_001},
    ],
)
def test_host_whose_network_the_plan_does_not_have_disturbed(agent: Agent, start: Message) -> None:
    assert disturbed(agent, start) == {
        "ok": False,
        "why": 'no case that has check = "network" has started the peer',
    }


def test_no_place_for_a_peer(agent: Agent) -> None:
    outcome = agent.run("harness/starts_peer", peer="none")
    assert outcome.word == "ERROR"
    assert outcome.reason == "the case was run without a place for its peer"


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Agent, Agent]]:
    """The case's agent and the peer's."""
    with Agent(tmp_path) as case, Agent(tmp_path) as peer:
        yield case, peer


def run_remote(case: Agent, peer: Agent, name: str, **more: Any) -> tuple[Outcome, list[Message]]:
    """Run a case as the runner does: every peer message goes to the other side, as it is."""
    carried = []
    events: list[Message] = []
    of_peer: list[Message] = []
    seq = case.start(name, peer="remote", **more)
    while (message := case.receive())["type"] != "verdict":
        if message["type"] == "event":
            events.append(message)
            continue
        assert message["seq"] == seq
        carried.append(message)
        peer.send(message)
        answers = int(message["op"] in ("data", "disturb", "stop"))
        if message["op"] == "stop" and any(m["op"] == "stopped" for m in carried):
            answers = 0
        # Its last message, and its end.
        if message["data"].get("do") == "kill":
            answers = 2
        for _ in range(answers):
            answer = peer.receive_of_peer(of_peer)
            carried.append(answer)
            case.send(answer)
    assert {event["seq"] for event in of_peer} <= {seq}
    return Outcome(message, events + of_peer), carried


def test_remote_peer(pair: tuple[Agent, Agent]) -> None:
    case, peer = pair
    outcome, carried = run_remote(case, peer, "harness/starts_peer")
    assert outcome.word == "PASS"
    assert [(m["from"], m["op"]) for m in carried] == [
        ("case", "start"),
        ("case", "stop"),
        ("peer", "stopped"),
    ]
    assert carried[-1]["data"]["status"] == 0
    assert outcome.calls("peer") == [
        "dat_ia_openv",
        "dat_ia_query",
        "dat_pz_create",
        "dat_ia_close",
    ]
    assert descendants(peer.hello_message["pid"]) == set()


def test_remote_peer_whose_teardown_breaks(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with Agent(tmp_path) as case, Agent(tmp_path / "there", "abrupt=crash") as peer:
        outcome, carried = run_remote(case, peer, "harness/starts_peer")
    broken = {"call": "dat_ia_close", "what": "crash", "saw": "SIGSEGV", "who": "peer"}
    assert carried[-1]["data"]["teardown"] == [broken]
    assert (outcome.word, outcome.verdict["teardown"]) == ("PASS", [broken])


FOR_A_CASE = (
    "the record contradicts itself: the peer's process asked the agent for what a case alone asks"
    " for, and it is a peer"
)


@pytest.mark.parametrize(
    ("act", "word", "reason"),
    [
        ("crash", "BLOCKED", "listen: the peer has ended (ended by SIGSEGV in dat_psp_create)"),
        ("_exit", "BLOCKED", "listen: the peer has ended (left with status 0 in dat_psp_create)"),
        ("closefds", "ERROR", "listen: the peer has ended (left with status 0)"),
        ("daemon", "NOTE", "processes that outlived the case: 2"),
        ("litter", "NOTE", "IPC objects that outlived the case: 8"),
        ("garbage", "NOTE", "lines written to the suite's own channel: 2"),
        ("scribble", "FAIL", "memory of the peer's harness was overwritten"),
        ("ask_for_peer", "CONTRADICTED", FOR_A_CASE),
        ("ask_for_silence", "CONTRADICTED", FOR_A_CASE),
        ("attack", "PASS", ""),
        ("killparent", "PASS", ""),
    ],
)
def test_provider_that_misbehaves_on_the_other_host_only(
    tmp_path: Path, act: str, word: str, reason: str
) -> None:
    """Its calls on the case's own host show nothing of it."""
    (tmp_path / "there").mkdir()
    with Agent(tmp_path) as case, Agent(tmp_path / "there", f"psp={act}") as peer:
        outcome, _ = run_remote(case, peer, "harness/has_peer_listen", event_ms=400)
        assert (outcome.word, outcome.reason) == (word, reason)
        assert case.run("harness/passes").word == "PASS"
        assert peer.run("harness/passes").word == "PASS"


def test_remote_peer_obeys(pair: tuple[Agent, Agent]) -> None:
    case, peer = pair
    case.start("harness/asks_too_much_of_peer", peer="remote")
    for _ in range(2):
        peer.send(case.receive())
    listening = peer.receive()
    assert listening["op"] == "data"
    assert listening["data"]["ok"] is True
    assert listening["data"]["address"] == "127.0.0.1"
    case.send(listening)
    peer.send(case.receive())
    stop = case.receive()
    assert stop["op"] == "stop"
    peer.send(stop)
    of_peer: list[Message] = []
    while (answer := peer.receive_of_peer(of_peer))["op"] != "stopped":
        pass
    case.send(answer)
    outcome = case.finish()
    assert outcome.word == "BLOCKED"
    assert outcome.reason.endswith("returned DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP")
    assert "dat_psp_create" in Outcome(outcome.verdict, of_peer).calls("peer")


def test_network_of_the_host_itself_is_not_disturbed(pair: tuple[Agent, Agent]) -> None:
    outcome, carried = run_remote(*pair, "harness/disturbs_network")
    assert outcome.word == "ERROR"
    assert outcome.reason == (
        "the peer could not disturb the network: "
        "no netdev to another host has the IA's address 127.0.0.1"
    )
    assert [(m["from"], m["op"]) for m in carried] == [
        ("case", "start"),
        ("case", "disturb"),
        ("peer", "data"),
        ("case", "stop"),
        ("peer", "stopped"),
    ]
    assert "disturbed" not in carried[-1]["data"]


def test_remote_peer_that_is_killed(pair: tuple[Agent, Agent]) -> None:
    case, peer = pair
    outcome, carried = run_remote(case, peer, "harness/kills_peer")
    assert outcome.word == "PASS"
    assert [(m["from"], m["op"]) for m in carried] == [
        ("case", "start"),
        ("case", "data"),
        ("peer", "data"),
        ("peer", "stopped"),
    ]
    assert carried[-1]["data"]["reason"] == "ended by SIGKILL"
    assert run_remote(case, peer, "harness/starts_peer")[0].word == "PASS"


def test_busy_host_takes_no_peer(pair: tuple[Agent, Agent]) -> None:
    case, peer = pair
    hanging = peer.start("harness/hangs")
    case.start("harness/kills_peer", peer="remote")
    peer.send(case.receive())
    stopped = peer.receive()
    assert stopped["data"]["reason"] == "the peer's host is busy with another run"
    assert case.receive()["op"] == "data"
    case.send(stopped)
    assert case.finish().word == "PASS"
    peer.send({"type": "abort", "seq": hanging})
    assert peer.finish().reason == "aborted by the runner"


def test_silent_host_is_not_waited_for_for_ever(pair: tuple[Agent, Agent]) -> None:
    case, _ = pair
    case.start("harness/starts_peer", peer="remote")
    assert case.receive()["op"] == "start"
    assert case.receive()["op"] == "stop"
    outcome = case.finish()
    assert outcome.word == "ERROR"
    assert outcome.reason == "the peer's host did not say that the peer is gone"


def test_what_is_missed_beside_a_crashed_peer(pair: tuple[Agent, Agent]) -> None:
    case, _ = pair
    seq = case.start("harness/hangs_beside_a_peer", peer="remote", deadline_ms=300)
    assert case.receive()["op"] == "start"
    how = {"status": signal.SIGPIPE, "reason": "ended by SIGPIPE in dat_ep_post_send"}
    case.send({"type": "peer", "seq": seq, "from": "peer", "op": "stopped", "data": how})
    outcome = case.finish()
    assert outcome.word == "TIMEOUT"
    assert outcome.reason.endswith("; the peer had ended (ended by SIGPIPE in dat_ep_post_send)")


def test_leaving_waits_for_no_other_host(pair: tuple[Agent, Agent]) -> None:
    case, _ = pair
    case.start("harness/hangs_beside_a_peer", peer="remote")
    assert case.receive()["op"] == "start"
    case.send({"type": "bye"})
    assert case.receive()["op"] == "stop"
    assert case.process.wait(timeout=4) == 0


def test_late_peer_messages_are_dropped(pair: tuple[Agent, Agent]) -> None:
    case, peer = pair
    for op in ("data", "stop"):
        peer.send({"type": "peer", "seq": 77, "from": "case", "op": op, "data": {}})
    for op in ("data", "stopped"):
        case.send({"type": "peer", "seq": 77, "from": "peer", "op": op, "data": {}})
    assert peer.run("harness/passes").word == "PASS"
    assert case.run("harness/passes").word == "PASS"
