# SPDX-License-Identifier: BSD-2-Clause
"""Hosts and agents that die, hang or talk nonsense: one verdict is lost, the others are not."""

from collections import Counter
from typing import Any

import pytest

from tests.runners.fake_checkout import Cts

OTHERS = ("passes_1", "passes_2", "passes_3", "passes_4")


def incidents(cts: Cts) -> list[dict[str, Any]]:
    """The incidents of the latest run."""
    return [record for record in cts.events() if record["type"] == "incident"]


def words(cts: Cts) -> dict[str, str]:
    """The first verdicts of the latest run."""
    return {case: word for case, _, attempt, word in cts.verdicts() if attempt == 1}


@pytest.mark.parametrize(
    ("case", "what", "said"),
    [
        ("kills_host", "host-lost", "Kernel panic - not syncing"),
        ("kills_agent", "agent-lost", "status 3: agent: out of patience"),
        ("hangs", "host-lost", "no answer: no verdict"),
        ("babbles", "protocol", "no JSON: Segmentation fault (core dumped)"),
        ("invents", "protocol", "gossip"),
        ("misspells", "protocol", "'PASSED' is not one of"),
        ("floods", "protocol", "1048576 bytes"),
        ("judges_another", "protocol", "unexpected verdict about run"),
    ],
)
def test_one_case_is_broken_and_the_others_go_on(cts: Cts, case: str, what: str, said: str) -> None:
    cts.has(case, *OTHERS)
    if case == "hangs":
        cts.env["FAKE_GRACE"] = "4"
    done = cts("certify", "--hosts", "1", "--seed", "3")
    assert done.returncode == 2, done
    assert words(cts) == {case: "ERROR"} | dict.fromkeys(OTHERS, "PASS")
    (incident,) = incidents(cts)
    assert incident["what"] == what
    assert incident["host"] == "host1"
    assert said in incident["text"]
    assert cts.openings == [1, 1]
    assert said in done.stdout


def test_an_agent_that_asks_for_a_disturbed_network_against_the_plan(cts: Cts) -> None:
    """The runner holds what it carries to the peer's host against the plan, too."""
    cts.has("meddles_on_two", "passes")
    done = cts("certify")
    assert done.returncode == 2, done
    assert ("meddles_on_two", 2, 1, "ERROR") in cts.verdicts()
    assert [(each["what"], each["host"]) for each in incidents(cts)] == [("protocol", "host1")]
    assert incidents(cts)[0]["text"].endswith('in a case that has not check = "network"')


def test_a_silent_agent_is_not_waited_for(cts: Cts) -> None:
    cts.has("hangs", "beats", deadline_ms=3_600_000)
    cts.env["FAKE_GRACE"] = "4"
    done = cts("certify", "--hosts", "1")
    assert done.returncode == 2, done
    assert words(cts) == {"hangs": "ERROR", "beats": "PASS"}
    (incident,) = incidents(cts)
    assert incident["text"].startswith("no answer: not heard of for 5 s")


def test_a_host_that_stood_still_fails_nobody(cts: Cts) -> None:
    cts.has("stands_still_once", "passes")
    cts.env["FAKE_STILL"] = "0.8"
    done = cts("certify", "--hosts", "1")
    assert done.returncode == 0, done
    assert words(cts) == {"stands_still_once": "PASS", "passes": "PASS"}
    (incident,) = incidents(cts)
    assert (incident["what"], incident["host"]) == ("stood-still", "host1")
    assert incident["text"].endswith("its FAIL says nothing, and it is run anew")


def test_standing_still_is_no_way_out(cts: Cts) -> None:
    cts.has("stands_still")
    cts.env["FAKE_STILL"] = "0.8"
    done = cts("certify", "--hosts", "1")
    assert done.returncode == 1, done
    assert words(cts) == {"stands_still": "FAIL"}
    assert [each["what"] for each in incidents(cts)] == ["stood-still"] * 4


def test_a_host_that_a_case_made_unfit_is_replaced(cts: Cts) -> None:
    others = [f"needs_device_{number}" for number in range(4)]
    cts.has("breaks_host", *others)
    done = cts("certify", "--hosts", "1", "--seed", "3")
    assert done.returncode == 0, done
    assert words(cts) == dict.fromkeys(("breaks_host", *others), "PASS")
    (incident,) = incidents(cts)
    assert (incident["what"], incident["host"]) == ("host-unfit", "host1")
    assert incident["text"].startswith("its netdev eth0 is down, after demo_page/breaks_host")
    assert cts.openings == [1, 1]


def have_control(cts: Cts, legal: str) -> None:
    """Make the second page that of dat_srq_resize, which the cases call, with this legal case."""
    demo = cts.root / "cases/demo"
    for path in (*demo.glob("demo_page_2.*"), cts.root / "build/default/bin/cases.json"):
        text = path.read_text().replace("demo_page_2", "srq_resize")
        if path.suffix == ".toml":
            text += f'[standard]\nlegal = "srq_resize/{legal}"\n'
        path.write_text(text)
        path.rename(path.with_name(path.name.replace("demo_page_2", "srq_resize")))
    pages = cts.root / "cases/pages.txt"
    pages.write_text(pages.read_text().replace("demo_page_2", "srq_resize"))


def test_a_case_that_made_its_host_unfit_has_no_control(cts: Cts) -> None:
    """The control would fail there, and the case be blocked by a call that works."""
    cts.has("fails_and_breaks_host", "needs_device", pages=2)
    have_control(cts, "needs_device")
    done = cts("certify", "demo_page/fails_and_breaks_host", "--hosts", "1")
    assert done.returncode == 1, done
    assert words(cts) == {"fails_and_breaks_host": "FAIL"}


def test_a_control_that_makes_its_host_unfit_says_nothing(cts: Cts) -> None:
    cts.has("fails", "breaks_host", "needs_device", pages=2)
    have_control(cts, "breaks_host")
    chosen = ("demo_page/fails", "demo_page/needs_device")
    done = cts("certify", *chosen, "--hosts", "1")
    assert done.returncode == 1, done
    assert words(cts) == {"fails": "FAIL", "needs_device": "PASS"}
    assert {each["what"] for each in incidents(cts)} == {"host-unfit"}


def lose_at_hello(cts: Cts, times: int) -> None:
    """Have hosts be lost so often before an agent's first word."""
    for number in range(times):
        (cts.root / "build/default/bin" / f"lost-at-hello-{number}").touch()


def test_a_host_that_is_lost_at_first_is_opened_again(cts: Cts) -> None:
    cts.has(*OTHERS)
    lose_at_hello(cts, 2)
    done = cts("certify", "--hosts", "1", "-n", "1")
    assert done.returncode == 0, done
    assert words(cts) == dict.fromkeys(OTHERS, "PASS")
    assert [incident["what"] for incident in incidents(cts)] == ["host-lost"] * 2
    assert cts.openings == [1, 1, 1]


def test_a_worker_without_hosts_takes_no_case(cts: Cts) -> None:
    """Of five losses one of two workers has three in a row, and the other has not."""
    cases = [f"passes_{number}" for number in range(40)]
    cts.has(*cases)
    lose_at_hello(cts, 5)
    done = cts("certify", "--hosts", "1", "-n", "2")
    assert done.returncode == 0, done
    assert words(cts) == dict.fromkeys(cases, "PASS")
    whats = Counter(incident["what"] for incident in incidents(cts))
    assert whats == {"host-lost": 5, "fabric": 1}
    assert "3 times in a row; host1: " in done.stderr


def test_evidence_before_the_loss_is_kept(cts: Cts) -> None:
    cts.has("kills_host")
    cts("certify")
    verdict = next(r for r in cts.events() if r["type"] == "verdict")
    assert [call["call"] for call in verdict["calls"]] == ["dat_srq_resize"]
    assert verdict["reason"].startswith("host1: the host ended")


def test_a_loss_with_two_hosts(cts: Cts) -> None:
    cts.has("kills_host", *OTHERS)
    assert cts("certify", "--hosts", "2", "--seed", "3").returncode == 2
    assert words(cts)["kills_host"] == "ERROR"
    assert [words(cts)[case] for case in OTHERS] == ["PASS"] * 4
    assert cts.openings == [2, 2]


def test_a_loss_in_a_worker(cts: Cts) -> None:
    cts.has("kills_host", *OTHERS)
    assert cts("certify", "-n", "2").returncode == 2
    assert words(cts) == {"kills_host": "ERROR"} | dict.fromkeys(OTHERS, "PASS")


def test_hosts_that_are_always_lost_are_given_up(cts: Cts) -> None:
    cts.has(*(f"kills_host_{number}" for number in range(9)), "talks_to_peer")
    done = cts("certify", "--seed", "3")
    assert done.returncode == 2, done
    assert cts.openings.count(1) == 3
    assert "3 times in a row" in done.stderr
    assert "NOT-RUN" in done.stdout
    assert cts.verdicts()[-1] == ("talks_to_peer", 2, 1, "PASS")
