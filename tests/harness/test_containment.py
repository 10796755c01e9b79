# SPDX-License-Identifier: BSD-2-Clause
"""Whatever a case or its provider does costs one verdict, and nothing of it is left."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.harness.session import (
    CASES,
    PATIENCE,
    Agent,
    Outcome,
    descendants,
    environment,
    eventually,
    has_namespace,
    processor_seconds,
    resident_kib,
)

MakeAgent = Callable[[str], Agent]
MORE = r"(, and \d+ ms more \(of at most \d+\) in which it made progress)?"


@pytest.fixture(params=[True, False], ids=["namespace", "subreaper"])
def namespace(request: pytest.FixtureRequest) -> bool:
    """Both ways of containment."""
    return bool(request.param)


@pytest.fixture
def crowd() -> Iterator[None]:
    """Agents have one processor, and share it with eight that never sleep."""
    all_of_them = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(all_of_them)})
    with ExitStack() as stack:
        stack.callback(os.sched_setaffinity, 0, all_of_them)
        for _ in range(8):
            hog = stack.enter_context(subprocess.Popen(["sh", "-c", "while :; do :; done"]))
            stack.callback(hog.kill)
        yield


def nothing_is_left(agent: Agent) -> bool:
    """Of all runs of this agent; zombies would count."""
    return descendants(agent.hello_message["pid"]) == set()


def may_make_namespace() -> bool:
    """Whether the kernel lets this user make a PID namespace."""
    return subprocess.run(["unshare", "--pid", "true"], check=False).returncode == 0


def run_and_go_on(agent: Agent, case: str, **more: Any) -> Outcome:
    """The outcome of `case`, after which the agent must be as good as new."""
    outcome = agent.run(case, **more)
    assert nothing_is_left(agent)
    assert agent.run("harness/passes").word == "PASS"
    return outcome


@pytest.mark.parametrize(
    ("act", "signal"),
    [("crash", "SIGSEGV"), ("abort", "SIGABRT"), ("stack", "SIGSEGV"), ("astray", "SIGSEGV")],
)
def test_crash_in_the_provider(agent_on: MakeAgent, act: str, signal: str) -> None:
    outcome = run_and_go_on(agent_on(f"resize={act}"), "provider/resizes")
    assert outcome.word == "CRASH"
    assert outcome.reason == f"ended by {signal}"
    assert outcome.verdict["pending"] == "dat_srq_resize"
    (crash,) = outcome.of("crash")
    assert crash["signal"] == signal
    assert any(line.startswith("libfake_misbehaving.so(") for line in crash["backtrace"])
    assert outcome.of("call")[-1]["unfinished"] is True
    assert outcome.of("call")[-1]["call"] == "dat_srq_resize"


def test_crash_in_a_thread_that_blocks_every_signal(agent_on: MakeAgent) -> None:
    outcome = run_and_go_on(agent_on("resize=crash_deaf"), "provider/resizes")
    assert outcome.word == "CRASH"
    assert "pending" not in outcome.verdict
    (crash,) = outcome.of("crash")
    assert crash["signal"] == "SIGSEGV"
    assert any(line.startswith("libfake_misbehaving.so(") for line in crash["backtrace"])


def test_crash_in_the_case(agent: Agent) -> None:
    outcome = run_and_go_on(agent, "harness/crashes")
    assert outcome.word == "CRASH"
    assert "pending" not in outcome.verdict
    assert outcome.texts("record") == []


@pytest.mark.parametrize("act", ["hang", "stop"])
@pytest.mark.parametrize(("peer", "event_ms"), [("local", 300), ("none", 900)])
def test_hang_in_the_provider(agent_on: MakeAgent, act: str, peer: str, event_ms: int) -> None:
    agent = agent_on(f"resize={act}")
    outcome = run_and_go_on(agent, "provider/resizes", peer=peer, event_ms=event_ms)
    assert outcome.word == "TIMEOUT"
    assert outcome.reason == "no end of dat_srq_resize after 300 ms"
    assert outcome.verdict["pending"] == "dat_srq_resize"
    assert outcome.verdict["us"] >= 300_000


def test_a_call_that_computes_for_ever(agent_on: MakeAgent) -> None:
    """What interrupts cost it on a busy machine is the kernel's work, and may count as progress."""
    agent = agent_on("resize=spin")
    outcome = run_and_go_on(agent, "provider/resizes", event_ms=300, deadline_ms=600_000)
    assert outcome.word == "TIMEOUT"
    assert re.fullmatch(rf"no end of dat_srq_resize after 300 ms{MORE}", outcome.reason)
    outcome = run_and_go_on(agent, "provider/resizes", event_ms=600_000, deadline_ms=300)
    assert outcome.word == "TIMEOUT"
    assert re.fullmatch(rf"no end after 300 ms{MORE}", outcome.reason)


def test_a_call_that_starves_is_not_held_against_the_provider(
    crowd: None, agent_on: MakeAgent
) -> None:
    """It needs 200 ms of a processor of which it gets a ninth, and is given 300 ms."""
    agent = agent_on("resize=compute")
    outcome = agent.run("provider/resizes", peer="none", event_ms=900, deadline_ms=600_000)
    assert (outcome.word, outcome.reason) == ("PASS", "")


def test_a_call_whose_work_in_the_kernel_is_long(agent_on: MakeAgent) -> None:
    """It needs 1 s of the kernel, and is given 500 ms.

    Its work may take four times the limit, which leaves room for what a busy machine adds.
    """
    agent = agent_on("resize=work")
    outcome = agent.run("provider/resizes", event_ms=500, deadline_ms=600_000)
    assert (outcome.word, outcome.reason) == ("PASS", "")


def test_a_call_that_works_in_the_kernel_for_ever(agent_on: MakeAgent) -> None:
    agent = agent_on("resize=work_for_ever")
    outcome = run_and_go_on(agent, "provider/resizes", event_ms=300, deadline_ms=1000)
    assert outcome.word == "TIMEOUT"
    assert re.fullmatch(
        r"no end( of dat_srq_resize)? after (300|1000) ms, and \d+ ms more \(of at most 3000\) "
        r"in which it made progress",
        outcome.reason,
    )


def test_a_case_that_is_slow(agent_on: MakeAgent) -> None:
    """20 calls of 200 ms each are longer than its deadline, and within what progress adds."""
    agent = agent_on("resize=delay")
    outcome = agent.run("provider/resizes_often", event_ms=6000, deadline_ms=3000)
    assert (outcome.word, outcome.reason) == ("PASS", "")
    (record,) = outcome.of("record")
    assert re.fullmatch(
        r"progress extended the time limits by \d+ ms, of at most 9000 ms", record["text"]
    )


def test_a_case_that_goes_on_for_ever(agent_on: MakeAgent) -> None:
    agent = agent_on("resize=delay")
    outcome = run_and_go_on(agent, "provider/resizes_for_ever", event_ms=6000, deadline_ms=1000)
    assert outcome.word == "TIMEOUT"
    assert re.fullmatch(r"no end after 1000 ms, and \d+ ms more .*", outcome.reason)
    assert "pending" not in outcome.verdict


def test_a_case_that_only_asks(agent: Agent) -> None:
    """A query makes no progress, however often it succeeds."""
    outcome = run_and_go_on(agent, "provider/asks_for_ever", event_ms=6000, deadline_ms=3000)
    assert outcome.word == "TIMEOUT"
    assert outcome.reason.startswith("no end after 3000 ms")
    assert "9000 ms more" not in outcome.reason


def test_deadline_before_the_limit_of_a_call(agent_on: MakeAgent) -> None:
    agent = agent_on("resize=hang")
    outcome = run_and_go_on(agent, "provider/resizes", event_ms=60_000, deadline_ms=3000)
    assert (outcome.word, outcome.reason) == ("TIMEOUT", "no end after 3000 ms")
    assert outcome.verdict["pending"] == "dat_srq_resize"


def test_a_wait_has_the_time_that_it_asks_for(agent: Agent) -> None:
    """A quiet period that is longer than what any other call is given."""
    outcome = agent.run("provider/keeps_quiet", peer="none", event_ms=300, quiet_ms=600)
    assert outcome.word == "PASS"
    assert outcome.verdict["us"] >= 600_000


def test_a_host_that_stands_still_costs_no_deadline(agent: Agent) -> None:
    """Of a body that has longer to wait than it has time left when all continues."""
    agent.start("provider/keeps_quiet", quiet_ms=800, deadline_ms=1500)
    assert eventually(lambda: descendants(agent.hello_message["pid"]))
    stopped = [agent.hello_message["pid"], *descendants(agent.hello_message["pid"])]
    for signum in (signal.SIGSTOP, signal.SIGCONT):
        for pid in stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signum)
        time.sleep(2 if signum == signal.SIGSTOP else 0)
    outcome = agent.finish()
    assert (outcome.word, outcome.reason) == ("PASS", "")
    assert outcome.verdict["us"] >= 2_000_000


def test_hang_in_the_case(agent: Agent) -> None:
    outcome = run_and_go_on(agent, "harness/hangs", deadline_ms=200)
    assert outcome.word == "TIMEOUT"
    assert "pending" not in outcome.verdict


@pytest.mark.parametrize("act", ["exit", "_exit"])
def test_exit_in_the_provider(agent_on: MakeAgent, act: str) -> None:
    outcome = run_and_go_on(agent_on(f"resize={act}"), "provider/resizes")
    assert outcome.word == "CRASH"
    assert outcome.reason == "left without a verdict: exit status 0"
    assert outcome.verdict["pending"] == "dat_srq_resize"


def test_exit_in_the_case(agent: Agent) -> None:
    outcome = run_and_go_on(agent, "harness/leaves")
    assert outcome.word == "CRASH"
    assert outcome.reason == "left without a verdict: exit status 0"


def test_forged_verdicts_are_output(agent_on: MakeAgent) -> None:
    outcome = run_and_go_on(agent_on("resize=forge"), "provider/resizes")
    assert outcome.word == "FAIL"
    assert outcome.verdict["seq"] == 1
    assert outcome.verdict["output"].count('"verdict":"PASS"') == 2


def test_printed_json_is_output(agent: Agent) -> None:
    outcome = run_and_go_on(agent, "harness/prints")
    assert outcome.word == "PASS"
    assert json.loads(outcome.verdict["output"])["verdict"] == "FAIL"


def test_closed_descriptors(agent_on: MakeAgent) -> None:
    outcome = run_and_go_on(agent_on("resize=closefds"), "provider/resizes")
    assert outcome.word == "PASS"


def test_killed_group(agent_on: MakeAgent) -> None:
    outcome = run_and_go_on(agent_on("resize=killgroup"), "provider/resizes")
    assert outcome.word == "CRASH"
    assert outcome.reason == "ended by SIGKILL"


def test_killed_parent(agent_on: MakeAgent, namespace: bool) -> None:
    agent = agent_on("resize=killparent")
    made = has_namespace(agent.hello_message["pid"])
    assert made == (namespace and may_make_namespace())
    if not made:
        pytest.skip("nothing protects a parent outside of a PID namespace")
    outcome = run_and_go_on(agent, "provider/resizes")
    assert outcome.word == "PASS"


def test_daemon_is_found_and_killed(agent_on: MakeAgent) -> None:
    outcome = run_and_go_on(agent_on("resize=daemon"), "provider/resizes")
    assert outcome.word == "NOTE"
    assert outcome.reason == "processes that outlived the case: 1"
    assert outcome.texts("leak") == ["processes that outlived the case and were killed: 1"]


def test_daemon_of_a_case_that_hangs(agent_on: MakeAgent) -> None:
    agent = agent_on("resize=daemon srq_free=hang")
    outcome = run_and_go_on(agent, "provider/resizes", event_ms=300)
    assert outcome.verdict["teardown"][0]["what"] == "timeout"


def test_flood_of_output(agent_on: MakeAgent) -> None:
    outcome = run_and_go_on(agent_on("resize=flood"), "provider/resizes")
    assert outcome.word == "PASS"
    assert outcome.verdict["output"] == "x" * 16384


def test_binary_output(agent_on: MakeAgent) -> None:
    output = run_and_go_on(agent_on("resize=binary"), "provider/resizes").verdict["output"]
    assert output == "\ufffd\ufffd\ufffd caf\u00e9 \x01\n\ufffd"


def test_garbage_on_the_channel(agent_on: MakeAgent) -> None:
    outcome = run_and_go_on(agent_on("resize=garbage"), "provider/resizes_beside_a_peer")
    assert outcome.word == "NOTE"
    assert outcome.reason == "lines written to the suite's own channel: 1"
    assert outcome.texts("record") == [outcome.reason]


@pytest.mark.parametrize("more", ["", " srq_free=crash", " srq_free=hang"])
def test_overwritten_evidence(agent_on: MakeAgent, more: str) -> None:
    """The case may get to its end, or crash, or hang on the way."""
    outcome = run_and_go_on(agent_on(f"resize=scribble{more}"), "provider/resizes")
    assert outcome.word in ("FAIL", "CRASH", "TIMEOUT")
    assert outcome.reason.startswith("memory of the harness was overwritten")


def test_leaked_descriptor(agent_on: MakeAgent) -> None:
    outcome = run_and_go_on(agent_on("resize=leak"), "provider/resizes")
    assert outcome.word == "NOTE"
    (leak,) = outcome.texts("leak")
    assert leak == outcome.reason
    assert leak.startswith("descriptor ")
    assert leak.endswith(" was opened and is left: /dev/null")


def test_descriptors_that_opening_leaves(agent_on: MakeAgent) -> None:
    agent = agent_on("open=leak")
    assert run_and_go_on(agent, "harness/passes").word == "PASS"
    with_more = agent_on("open=leak resize=leak")
    assert len(with_more.run("provider/resizes").texts("leak")) == 1


def broken(call: str, what: str, saw: str) -> dict[str, str]:
    return {"call": call, "what": what, "saw": saw}


def test_leaked_object(agent: Agent) -> None:
    outcome = run_and_go_on(agent, "harness/leaks_object")
    assert (outcome.word, outcome.reason) == ("PASS", "")
    assert outcome.verdict["teardown"] == [broken("dat_ia_close", "refused", "DAT_INVALID_STATE")]
    (leak,) = outcome.texts("leak")
    assert leak.startswith("dat_ia_close(DAT_CLOSE_GRACEFUL_FLAG) returned DAT_INVALID_STATE")
    assert " in teardown (call " in leak


def test_a_live_object_that_a_call_has_freed_is_not_freed_again(agent: Agent) -> None:
    outcome = agent.run("harness/frees_a_live_one_too")
    assert outcome.word == "FAIL"
    assert outcome.calls("case").count("dat_pz_free") == 2
    assert not [text for text in outcome.texts("record") if "in teardown" in text]


def test_a_handle_that_is_gone_is_told_by_the_call_that_took_it(agent: Agent) -> None:
    outcome = agent.run("harness/uses_a_live_one")
    assert outcome.reason.startswith("dat_pz_free of a handle that is gone returned DAT_SUCCESS")


def test_a_handle_that_a_later_object_has_is_not_judged(agent: Agent) -> None:
    outcome = agent.run("harness/meets_a_later_one")
    assert outcome.word == "NOTE"
    assert outcome.texts("note") == ["an object that was made since has the handle (GEN-1)"]


def test_every_free_fails(agent_on: MakeAgent) -> None:
    """What is refused after the first may be refused for it, and so may what is left open."""
    agent = agent_on("free=fail open=leak")
    outcome = agent.run("provider/frees_everything")
    assert (outcome.word, outcome.reason) == ("PASS", "")
    assert outcome.verdict["teardown"] == [broken("dat_evd_free", "refused", "DAT_INTERNAL_ERROR")]
    assert nothing_is_left(agent)
    frees = [leak.split()[0] for leak in outcome.texts("leak")]
    assert frees == [
        "dat_evd_free",
        "dat_srq_free",
        "dat_pz_free",
        "dat_lmr_free",
        "dat_pz_free",
        "dat_ia_close(DAT_CLOSE_GRACEFUL_FLAG)",
    ]
    assert all("DAT_INTERNAL_ERROR" in leak for leak in outcome.texts("leak")[:-1])


def test_free_that_is_refused_after_a_failure_is_no_finding(agent_on: MakeAgent) -> None:
    """What a case that was left in its middle leaves behind, only the case knows of."""
    outcome = agent_on("free=fail").run("provider/fails_and_frees")
    assert outcome.word == "FAIL"
    assert outcome.reason.startswith("dat_srq_resize(srq, 16) returned DAT_SUCCESS")
    assert "teardown" not in outcome.verdict
    assert outcome.texts("leak")[0].startswith("dat_srq_free returned DAT_INTERNAL_ERROR")


@pytest.mark.parametrize(
    ("act", "what", "saw"),
    [
        ("crash", "crash", "SIGSEGV"),
        ("abort", "crash", "SIGABRT"),
        ("hang", "timeout", "no end after 1000 ms"),
        ("exit", "crash", "exit status 0"),
    ],
)
def test_teardown_is_a_finding_of_its_own(
    agent_on: MakeAgent, act: str, what: str, saw: str
) -> None:
    """The clause keeps the verdict that its checks earned."""
    agent = agent_on(f"srq_free={act}")
    outcome = run_and_go_on(agent, "provider/resizes", event_ms=1000)
    assert (outcome.word, outcome.reason) == ("PASS", "")
    assert outcome.verdict["teardown"] == [broken("dat_srq_free", what, saw)]
    assert "pending" not in outcome.verdict
    assert outcome.of("call")[-1]["teardown"] is True
    assert [crash["teardown"] for crash in outcome.of("crash")] == [True] * saw.startswith("SIG")
    failed = run_and_go_on(agent, "provider/fails_and_frees", event_ms=1000)
    assert failed.word == "FAIL"
    assert failed.reason.startswith("dat_srq_resize(srq, 16) returned DAT_SUCCESS")
    assert "then" not in failed.reason
    assert failed.verdict["teardown"] == outcome.verdict["teardown"]


def test_a_call_of_teardown_is_hurried(agent_on: MakeAgent) -> None:
    """It has a tenth of an event's time, and says so; in the body it has all of its time."""
    agent = agent_on("srq_free=hang")
    outcome = run_and_go_on(agent, "provider/resizes", hurried=["dat_srq_free", "dat_ep_free"])
    assert (outcome.word, outcome.reason) == ("PASS", "")
    saw = {**broken("dat_srq_free", "timeout", "no end after 500 ms"), "hurried": True}
    assert outcome.verdict["teardown"] == [saw]
    outcome = run_and_go_on(agent, "provider/resizes", event_ms=1000, hurried=["dat_ep_free"])
    assert outcome.verdict["teardown"] == [
        broken("dat_srq_free", "timeout", "no end after 1000 ms")
    ]
    hung = agent_on("resize=hang").run(
        "provider/resizes", event_ms=1000, hurried=["dat_srq_resize"]
    )
    assert (hung.word, hung.reason) == ("TIMEOUT", "no end of dat_srq_resize after 1000 ms")


@pytest.mark.parametrize("wrong", [["dat_srq_melt"], "dat_srq_free", [1], ["dat_srq_free"] * 17])
def test_what_cannot_be_hurried_is_refused(agent_on: MakeAgent, wrong: object) -> None:
    agent = agent_on("")
    agent.start("provider/resizes", hurried=wrong)
    assert agent.receive()["type"] == "error"
    assert agent.process.wait(timeout=30) == 1


def test_refused_free_and_a_crash_after_it(agent_on: MakeAgent) -> None:
    outcome = agent_on("srq_free=fail free=crash").run("provider/resizes")
    assert (outcome.word, outcome.reason) == ("PASS", "")
    assert outcome.verdict["teardown"] == [
        broken("dat_srq_free", "refused", "DAT_INTERNAL_ERROR"),
        broken("dat_pz_free", "crash", "SIGSEGV"),
    ]


def test_guard_found_broken_before_teardown_crashes(agent_on: MakeAgent) -> None:
    outcome = agent_on("post=overrun srq_free=crash").run("provider/posts_receives")
    assert outcome.word == "FAIL"
    assert outcome.reason == "memory outside a registered buffer was written"
    assert outcome.verdict["teardown"] == [broken("dat_srq_free", "crash", "SIGSEGV")]


def test_guard_overwritten_by_the_provider(agent_on: MakeAgent) -> None:
    outcome = agent_on("post=overrun").run("provider/posts_receives")
    assert outcome.word == "FAIL"
    assert outcome.reason == "memory outside a registered buffer was written"
    (guard,) = [c for c in outcome.of("check") if c["role"] == "guard"]
    assert guard["ok"] is False
    assert "0 bytes after a buffer of 256" in guard["seen"]


def test_guard_around_an_odd_length(agent: Agent) -> None:
    assert run_and_go_on(agent, "harness/damages_guard").word == "FAIL"


@pytest.mark.parametrize("misbehaviour", ["resize=hang", "resize=closefds srq_free=hang"])
def test_agent_waits_idly(agent_on: MakeAgent, misbehaviour: str) -> None:
    agent = agent_on(misbehaviour)
    before = processor_seconds(agent.hello_message["pid"])
    verdict = agent.run("provider/resizes", event_ms=1500, deadline_ms=1500).verdict
    assert verdict["verdict"] == "TIMEOUT" or verdict["teardown"][0]["what"] == "timeout"
    assert processor_seconds(agent.hello_message["pid"]) - before < 0.2


def test_clean_start(agent: Agent) -> None:
    outcome = agent.run("harness/starts_clean")
    assert (outcome.word, outcome.reason) == ("PASS", "")


def test_many_runs_leave_the_agent_small(agent: Agent) -> None:
    pid = agent.hello_message["pid"]

    def descriptors() -> int:
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))

    # The verdict is said just before a run's own descriptors are given back.
    least = min(descriptors() for _ in range(50) if agent.run("provider/frees_everything"))
    memory = resident_kib(pid)
    for _ in range(50):
        agent.run("provider/frees_everything")
    assert eventually(lambda: descriptors() == least)
    if "libasan" not in Path(f"/proc/{pid}/maps").read_text():
        assert resident_kib(pid) - memory < 1024
        assert resident_kib(pid) < 64 * 1024
    assert nothing_is_left(agent)


def test_containment_without_a_pid_namespace(tmp_path: Path) -> None:
    """By hand there is no PID namespace: orphans are found by their parent."""
    command = [str(CASES), "--run", "provider/resizes", "--ia", "fake0"]
    process = subprocess.Popen(
        command,
        env=environment(tmp_path, "resize=daemon"),
        stdout=subprocess.PIPE,
        text=True,
    )
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "leak: processes that outlived the case and were killed: 1" in output
