# SPDX-License-Identifier: BSD-2-Clause
"""The protocol: its page, its schema and a live session say the same."""

import contextlib
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runners.checkout import VERSION
from tests.harness.session import CASES, PATIENCE, ROOT, Agent, admits, eventually

PAGE = (ROOT / "docs" / "protocol.md").read_text()
OPTIONAL = {
    "hello": {"libdat"},
    "run": {"ia", "seed", "hurried"},
    "event": {"sub"},
    "verdict": {"pending", "teardown", "unfit"},
    "error": {"seq"},
    "heartbeat": {"seq"},
    "stack": {"thread", "name", "call", "why"},
}
RUN = {
    "type": "run",
    "seq": 1,
    "case": "harness/passes",
    "peer": "none",
    "deadline_ms": 1000,
    "event_ms": 100,
    "quiet_ms": 0,
    "gdb": False,
}


def examples(heading: str) -> list[str]:
    """The example lines below a heading of the page."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    blocks = re.findall(r"```json\n(.*?)```", section, re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@pytest.mark.parametrize(
    ("heading", "definition"),
    [
        ("Runner to agent", "to_agent"),
        ("Agent to runner", "from_agent"),
        ("By hand", "listed_case"),
    ],
)
def test_examples_are_admitted(heading: str, definition: str) -> None:
    lines = examples(heading)
    assert lines
    for line in lines:
        assert admits(definition, json.loads(line)), line


def test_schema_is_strict() -> None:
    for heading, definition in (("Runner to agent", "to_agent"), ("Agent to runner", "from_agent")):
        for line in examples(heading):
            message = json.loads(line)
            assert not admits(definition, {**message, "more": 1}), line
            assert not admits(definition, {**message, "type": "other"}), line
            optional = OPTIONAL.get(message.get("kind", ""), OPTIONAL.get(message["type"], set()))
            for member in message.keys() - optional:
                less = {key: value for key, value in message.items() if key != member}
                assert not admits(definition, less), (member, line)


def test_hello(agent: Agent) -> None:
    hello = agent.hello_message
    assert hello["protocol"] == 1
    assert hello["suite"] == VERSION
    assert re.fullmatch("[0-9a-f]{40}", hello["build"])
    assert hello["cases"] > 30
    ia = hello["ia"]
    assert ia["name"] == "fake0"
    assert ia["open"] is True
    assert ia["library"].endswith("/libfake_misbehaving.so")
    assert ia["attributes"]["adapter_name"] == "fake"
    assert ia["attributes"]["max_srqs"] == 4
    assert ia["attributes"]["ia_address_ptr"] == "127.0.0.1"
    assert ia["attributes"]["is_thread_safe"] is False
    assert ia["attributes"]["iov_ownership_on_return"] == "DAT_IOV_CONSUMER"
    assert ia["attributes"]["max_lmr_virtual_address"] == "0xffffffffffffffff"
    assert ia["needs"]["srq_supported"] is True
    assert ia["needs"]["srq_watermarks_supported"] is False
    assert ia["needs"]["srq_info_available_supported"] is True


def test_needs_depend_on_srqs(agent_on: Callable[[str], Agent]) -> None:
    ia = agent_on("srq=absent").hello_message["ia"]
    assert ia["needs"]["srq_supported"] is False
    assert ia["needs"]["srq_info_available_supported"] is False


def test_pid_is_the_agent(agent: Agent) -> None:
    cmdline = Path(f"/proc/{agent.hello_message['pid']}/cmdline").read_bytes()
    assert cmdline.startswith(bytes(CASES))


@pytest.mark.parametrize(
    ("misbehaviour", "reason"),
    [
        ("open=fail", 'dat_ia_open("fake0") returned DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE'),
        ("open=crash", "ended by SIGSEGV in dat_ia_openv"),
        ("open=exit", "left with status 0 in dat_ia_openv"),
        (
            "async=in_name",
            'dat_ia_open("fake0") returned DAT_SUCCESS and an EVD that leads to no '
            "provider's table",
        ),
        (
            "close=fail ia_query=fail",
            'dat_ia_close("fake0") returned DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE',
        ),
        ("close=fail", 'dat_ia_close("fake0") returned DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE'),
    ],
)
def test_ia_that_does_not_open(
    agent_on: Callable[[str], Agent], misbehaviour: str, reason: str
) -> None:
    agent = agent_on(misbehaviour)
    ia = agent.hello_message["ia"]
    assert ia["open"] is False
    assert ia["reason"] == reason
    assert "attributes" not in ia


def test_ia_that_is_not_registered(tmp_path: Path) -> None:
    with Agent(tmp_path, ia="nowhere") as agent:
        assert "DAT_PROVIDER_NOT_FOUND" in agent.hello_message["ia"]["reason"]
        outcome = agent.run("harness/passes")
        assert outcome.word == "ERROR"
        assert outcome.reason.startswith('dat_ia_open("nowhere") returned DAT_PROVIDER_NOT_FOUND')


def test_output_of_the_probe_is_kept(agent_on: Callable[[str], Agent]) -> None:
    assert "caf\u00e9" in agent_on("open=binary").hello_message["ia"]["output"]


def test_unknown_case_names_the_nearest(agent: Agent) -> None:
    seq = agent.start("harness/pases")
    error = agent.receive()
    assert error["type"] == "error"
    assert error["seq"] == seq
    assert error["reason"].startswith("no such case: harness/pases; nearest: harness/passes")
    assert agent.run("harness/passes").word == "PASS"


def test_second_run_is_refused(agent: Agent) -> None:
    seq = agent.start("harness/hangs")
    agent.send({**RUN, "seq": 99})
    error = agent.receive()
    assert error["seq"] == 99
    assert error["reason"] == "run 1 is still under way"
    agent.send({"type": "abort", "seq": seq})
    assert agent.finish().reason == "aborted by the runner"


def test_abort(agent: Agent) -> None:
    seq = agent.start("harness/hangs")
    agent.send({"type": "abort", "seq": seq + 1})
    agent.send({"type": "abort", "seq": seq})
    outcome = agent.finish()
    assert outcome.word == "ERROR"
    assert outcome.reason == "aborted by the runner"
    assert agent.run("harness/passes").word == "PASS"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("no JSON", "line 2 is not JSON"),
        ('{"type": "run", "type": "bye"}', "line 2 is not JSON"),
        ("[1]", "line 2: its type is missing or unknown"),
        ('{"type": "dance"}', "line 2: its type is missing or unknown"),
        ('{"type": "bye", "more": 1}', "line 2: bye has a member that is unknown"),
        ('{"type": "hello", "protocol": 1}', "line 2: hello is said twice"),
        ('{"type": "abort"}', "line 2: abort has a member that is missing, unknown or wrong"),
    ],
)
def test_bad_line_ends_the_session(tmp_path: Path, line: str, reason: str) -> None:
    agent = Agent(tmp_path).__enter__()
    agent.send_line(line)
    assert agent.receive() == {"type": "error", "reason": reason}
    assert agent.process.wait(timeout=PATIENCE) == 1
    agent.close()


@pytest.mark.parametrize(
    "change",
    [
        {"seq": 0},
        {"seq": "1"},
        {"peer": "moon"},
        {"deadline_ms": 0},
        {"deadline_ms": 4_000_000},
        {"event_ms": 0},
        {"quiet_ms": -1},
        {"gdb": 1},
        {"thorough": "yes"},
        {"case": None},
        {"more": 1},
    ],
)
def test_bad_run_ends_the_session(tmp_path: Path, change: dict[str, Any]) -> None:
    assert admits("to_agent", RUN)
    assert not admits("to_agent", {**RUN, **change})
    agent = Agent(tmp_path).__enter__()
    agent.send({**RUN, **change})
    reason = "line 2: run has a member that is missing, unknown or wrong"
    assert agent.receive() == {"type": "error", "reason": reason}
    assert agent.process.wait(timeout=PATIENCE) == 1
    agent.close()


def test_commands_before_hello_are_refused(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    agent.send(RUN)
    assert agent.receive()["reason"] == "line 1: the session has not been opened by hello"
    assert agent.process.wait(timeout=PATIENCE) == 1
    agent.close()


def test_other_protocol_is_refused(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    agent.send({"type": "hello", "protocol": 2})
    assert agent.receive()["reason"] == "protocol 2 is asked for, this agent speaks 1"
    assert agent.process.wait(timeout=PATIENCE) == 1
    agent.close()


def test_overlong_line_ends_the_session(tmp_path: Path) -> None:
    agent = Agent(tmp_path).__enter__()
    with contextlib.suppress(BrokenPipeError):
        agent.send_line(" " * (1 << 20))
    assert agent.process.wait(timeout=PATIENCE) == 1
    assert agent.receive()["reason"] == "line 2: it is longer than 1 MiB"
    agent.close()


def test_a_long_run_has_heartbeats(tmp_path: Path) -> None:
    with Agent(tmp_path) as agent:
        begun = time.monotonic()
        seq = agent.start("harness/hangs")
        for _ in range(2):
            assert agent.receive_any() == {"type": "heartbeat", "seq": seq}
        assert time.monotonic() - begun > 1.5
        agent.send({"type": "abort", "seq": seq})
        assert agent.finish().reason == "aborted by the runner"
        assert agent.run("harness/passes").verdict["verdict"] == "PASS"


def test_end_of_stream_ends_everything(tmp_path: Path) -> None:
    agent = Agent(tmp_path).__enter__()
    agent.start("harness/hangs", deadline_ms=60_000)
    inner = Path(f"/proc/{agent.hello_message['pid']}")
    assert agent.process.stdin
    agent.process.stdin.close()
    assert agent.process.wait(timeout=PATIENCE) == 0
    assert eventually(lambda: not inner.exists())
    assert agent.process.stdout
    agent.process.stdout.close()


def test_namespace_ends_with_its_maker(tmp_path: Path) -> None:
    agent = Agent(tmp_path).__enter__()
    agent.start("harness/hangs", deadline_ms=60_000)
    inner = Path(f"/proc/{agent.hello_message['pid']}")
    agent.process.kill()
    agent.process.wait()
    assert eventually(lambda: not inner.exists())
    agent.close()
