# SPDX-License-Identifier: BSD-2-Clause
"""`certify` where many cases wait in vain: they are put off, and wait side by side."""

import pytest

from runners.campaign.waits import Waits
from tests.runners.fake_checkout import Cts


def ended(word: str, ms: float, **more: object) -> dict[str, object]:
    """As much of a verdict's record as says how long it took."""
    return {"verdict": word, "ms": ms, **more}


def test_what_waits_is_put_off_and_has_one_verdict(cts: Cts) -> None:
    names = [f"waits_for_nothing_{number}" for number in range(16)]
    cts.has(*names, "passes")
    done = cts("certify", "-n", "2")
    assert (done.returncode, done.stderr) == (1, ""), done
    first = [r for r in cts.events() if r["type"] == "verdict" and r["attempt"] == 1]
    assert sorted(r["case"] for r in first) == sorted(f"demo_page/{n}" for n in (*names, "passes"))
    assert {r["verdict"] for r in first if "waits" in r["case"]} == {"FAIL"}
    put_off = {r["case"] for r in first if r.get("put_off")}
    assert len(put_off) >= 6
    assert "demo_page/passes" not in put_off
    assert f"{len(put_off)} cases that waited, begun anew side by side" in done.stdout
    assert cts("certify", "--lf", "-n", "2").returncode == 1
    assert len([r for r in cts.events() if r.get("attempt") == 1]) == 16


def test_five_on_the_same_hosts_are_waited_for_at_first(cts: Cts) -> None:
    cts.has(*(f"waits_for_nothing_{number}" for number in range(5)), "passes_1", "passes_2")
    assert cts("certify", "-n", "2").returncode == 1
    assert not any("put_off" in record for record in cts.events())


@pytest.mark.parametrize("word", ["FAIL", "BROKEN", "TIMEOUT", "PASS"])
def test_it_takes_five_that_waited_in_vain(word: str) -> None:
    waits = Waits()
    teardown: dict[str, object] = {"teardown": [{}]} if word == "PASS" else {}
    for _ in range(4):
        waits.take(ended(word, 1000, **teardown))
    waits.take(ended(word, 999, **teardown))
    assert waits.put_off is None
    waits.take(ended(word, 1000, **teardown))
    assert waits.put_off == 1.0


def test_what_was_kept_did_not_wait_in_vain() -> None:
    """Nor is it known that others do, where all takes long."""
    waits = Waits()
    for word in ("PASS", "NOTE", "UNSUPPORTED"):
        for _ in range(10):
            waits.take(ended(word, 2000))
    for _ in range(10):
        waits.take(ended("FAIL", 7000))
    assert waits.put_off is None
    for _ in range(5):
        waits.take(ended("FAIL", 9000))
    assert waits.put_off == 8.0
