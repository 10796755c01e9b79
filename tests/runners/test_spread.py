# SPDX-License-Identifier: BSD-2-Clause
"""Many hosts: the suite shared among them, or run on each pair; hosts that are lost meanwhile."""

import signal
from collections import Counter
from itertools import combinations
from typing import Any

import pytest

from tests.runners.fake_checkout import Cts, wait_for

PASSES = tuple(f"passes_{number}" for number in range(24))


def verdicts(cts: Cts) -> list[dict[str, Any]]:
    """The first verdicts of the latest run."""
    return [r for r in cts.events() if r["type"] == "verdict" and r["attempt"] == 1]


def incidents(cts: Cts) -> list[tuple[str, str]]:
    """Kind and host of the latest run's incidents."""
    return [(r["what"], r["host"]) for r in cts.events() if r["type"] == "incident"]


def test_hosts_share_the_cases(cts: Cts) -> None:
    cts.has(*PASSES, "fails", "talks_to_peer_1", "talks_to_peer_2", "talks_to_peer_3")
    done = cts("certify", "--spread", "6")
    assert done.returncode == 1, done
    assert cts.openings == [6]
    firsts = verdicts(cts)
    assert Counter((r["case"], r["hosts"]) for r in firsts).most_common(1)[0][1] == 1
    assert len(firsts) == 28 + 3
    assert {r["verdict"] for r in firsts if "peer" in r} == {"PASS"}
    assert cts.verdicts()[-1] == ("fails", 1, 2, "FAIL")
    assert cts.events()[-1]["status"] == "complete"


def test_all_hosts_of_a_fabric(cts: Cts) -> None:
    cts.has(*PASSES)
    assert cts("certify", "--spread", "--hosts", "2").returncode == 0
    facts = next(r for r in cts.events() if r["type"] == "hosts")
    assert [host["name"] for host in facts["facts"]] == ["host1", "host2", "host3", "host4"]
    assert {(r["host"], r["peer"]) for r in verdicts(cts)} <= {
        ("host1", "host2"),
        ("host3", "host4"),
    }


def test_a_host_that_dies_is_set_aside(cts: Cts) -> None:
    cts.has("kills_host", *PASSES)
    done = cts("certify", "--spread", "4", "--hosts", "2")
    assert done.returncode == 2, done
    words = {r["case"].split("/")[1]: r["verdict"] for r in verdicts(cts)}
    assert words == {"kills_host": "ERROR"} | dict.fromkeys(PASSES, "PASS")
    lost = next(r["host"] for r in verdicts(cts) if r["verdict"] == "ERROR")
    assert incidents(cts) == [("host-lost", lost), ("host-aside", lost)]
    assert cts.openings == [4]


def test_an_agent_that_is_killed_is_started_again(cts: Cts) -> None:
    cts.has("kills_agent", *PASSES)
    done = cts("certify", "--spread", "2", "--hosts", "2")
    assert done.returncode == 2, done
    assert Counter(r["verdict"] for r in verdicts(cts)) == {"ERROR": 1, "PASS": 24}
    assert incidents(cts) == [("agent-lost", "host1")]


def test_the_hosts_run_out(cts: Cts) -> None:
    cts.has(*(f"kills_host_{number}" for number in range(4)), *PASSES)
    done = cts("certify", "--spread", "2", "--hosts", "1", "--seed", "1")
    assert done.returncode == 2, done
    assert Counter(r["verdict"] for r in verdicts(cts))["ERROR"] == 2
    assert "cases are left: 1 hosts are needed, 0 are left" in done.stderr
    assert "NOT-RUN" in done.stdout


@pytest.mark.parametrize("options", [("--spread", "3"), ("--every-pair", "3")])
def test_the_hosts_run_out_before_the_second_mode(cts: Cts, options: tuple[str, str]) -> None:
    cts.has(*(f"kills_host_{number}" for number in range(4)), "talks_to_peer")
    done = cts("certify", *options, "--seed", "3")
    assert done.returncode == 2, done
    assert "udapl-cts: no host is left\n" in done.stderr
    assert "ValueError" not in done.stderr
    assert cts.events()[-1]["status"] == "complete"


def test_a_run_that_stops_at_the_first_failure(cts: Cts) -> None:
    cts.has("fails", *(f"passes_{number}" for number in range(200)))
    assert cts("certify", "--spread", "2", "-x", "--hosts", "1").returncode == 1
    assert cts.events()[-1]["type"] == "end"


def test_an_interrupted_run(cts: Cts) -> None:
    cts.has("hangs_until_told", *PASSES, deadline_ms=60_000)
    process = cts.start("certify", "--spread", "2", "--hosts", "1")
    try:
        wait_for(cts.hanging)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 2
    assert "Traceback" not in out + err
    assert "hangs_until_told" not in {case for case, *_ in cts.verdicts()}
    assert cts.events()[-1]["status"] == "interrupted"


def test_every_pair(cts: Cts) -> None:
    cts.has("passes_1", "passes_2", "talks_to_peer")
    done = cts("certify", "--every-pair", "5")
    assert done.returncode == 0, done
    names = [f"host{number}" for number in range(1, 6)]
    alone = Counter(r["host"] for r in verdicts(cts) if r["hosts"] == 1)
    assert alone == dict.fromkeys(names, 3)
    pairs = [(r["host"], r["peer"]) for r in verdicts(cts) if r["hosts"] == 2]
    assert sorted(pairs) == list(combinations(names, 2))


def test_the_case_in_which_pairs_differ_is_told(cts: Cts) -> None:
    cts.has("passes", "peer_fails_on_host_2")
    done = cts("certify", "--every-pair", "4")
    assert done.returncode == 1, done
    assert "pairs: 10 hosts and pairs of hosts, which differ in 1 case\n" in done.stdout
    assert "demo_page/peer_fails_on_host_2 [1 host]: PASS on host1 and 2 more" in done.stdout
    assert "FAIL on host2-host3 and 1 more" in done.stdout
    page = (cts.runs / "latest/report.html").read_text()
    assert "Where hosts differ" in page
    assert 'title="host2, host3: 1 FAIL"' in page
    again = {(host, peer) for host, peer in seconds(cts)}
    assert again == {("host2", ""), ("host2", "host3"), ("host2", "host4")}


def seconds(cts: Cts) -> list[tuple[str, str]]:
    """Where the latest run's failures were run again."""
    return [
        (r["host"], r.get("peer", ""))
        for r in cts.events()
        if r["type"] == "verdict" and r["attempt"] == 2
    ]


def test_every_pair_with_a_host_that_dies(cts: Cts) -> None:
    cts.has("passes", "kills_host_once")
    done = cts("certify", "--every-pair", "4", "--hosts", "2")
    assert done.returncode == 2, done
    assert Counter(what for what, _ in incidents(cts)) == {"host-lost": 1, "host-aside": 1}
    (aside,) = (host for what, host in incidents(cts) if what == "host-aside")
    others = {(r["host"], r["peer"]) for r in verdicts(cts) if aside not in (r["host"], r["peer"])}
    assert len(others) == 3
    assert "NOT-RUN" in done.stdout
    assert all(r["verdict"] == "PASS" for r in verdicts(cts) if (r["host"], r["peer"]) in others)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--spread", "--every-pair"], "not allowed with"),
        (["--spread", "-n", "2"], "-n goes with neither"),
        (["--spread", "-3"], "positive"),
    ],
)
def test_options_that_do_not_fit(cts: Cts, options: list[str], word: str) -> None:
    done = cts("certify", *options)
    assert done.returncode == 64, done
    assert word in done.stderr
