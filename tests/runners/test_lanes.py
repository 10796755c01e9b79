# SPDX-License-Identifier: BSD-2-Clause
"""Several cases at a time on hosts that they share: how many, and which of them run alone."""

import pytest

from tests.runners.fake_checkout import Cts


@pytest.fixture
def lab(cts: Cts) -> Cts:
    """A checkout whose fabric has the same hosts for all lanes, with two processors."""
    cts.env["FAKE_PROCESSORS"] = "2"
    return cts


def verdicts(cts: Cts) -> dict[str, str]:
    """The first verdict of each case."""
    firsts = (r for r in cts.events() if r["type"] == "verdict" and r["attempt"] == 1)
    return {r["case"]: r["verdict"] for r in firsts}


def test_a_case_that_needs_a_host_for_itself_runs_alone(lab: Cts) -> None:
    names = [f"takes_its_time_{number}" for number in range(12)]
    names += [f"is_alone_{number}" for number in range(4)]
    lab.has(*names)
    done = lab("certify", "--hosts", "1", "-n", "4", "--seed", "3")
    assert done.returncode == 0, done
    assert "4 lanes on each host: -n says so" in done.stdout
    assert lab.openings.count(1) >= 4
    assert len(verdicts(lab)) == 16
    at_1 = lab("certify", "--hosts", "1", "-n", "1", "--seed", "3")
    assert at_1.returncode == 0, at_1


def test_cases_run_beside_one_another(lab: Cts) -> None:
    """A case that only asks to be alone, without a clause that says so, is not."""
    lab.has(*(f"is_alone_{number}" for number in range(8)))
    path = lab.root / "cases/demo/demo_page.toml"
    path.write_text(path.read_text().replace('alone = "limits"\n', ""))
    assert lab("certify", "--hosts", "1", "-n", "4").returncode == 1
    assert "FAIL" in verdicts(lab).values()


def test_verdicts_and_plan_do_not_depend_on_lanes(lab: Cts) -> None:
    kinds = ["passes", "fails", "notes", "crashes", "unsupported", "talks_to_peer", "is_alone"]
    lab.has(*(f"{kind}_{number}" for kind in kinds for number in range(3)))
    told = []
    for lanes in ("1", "4", "16"):
        lab("certify", "-n", lanes, "--seed", "11")
        firsts = [r for r in lab.events() if r["type"] == "verdict" and r["attempt"] == 1]
        ends = sorted((r["case"], r["hosts"], r["verdict"], r["reason"]) for r in firsts)
        told.append((lab.events()[0]["plan"], ends))
    assert told[0] == told[1] == told[2]
    assert len(told[0][1]) == 24


@pytest.mark.parametrize(
    ("cases", "said"),
    [
        # The fake IA has 16 SRQs, which is what a case may have.
        (100, "1 lane on each host: max_srqs is 16, and a case may have 16"),
        (49, None),
    ],
)
def test_as_many_lanes_as_the_adapter_has_objects_for(
    lab: Cts, cases: int, said: str | None
) -> None:
    lab.has(*(f"passes_{number}" for number in range(cases)))
    done = lab("certify", "--hosts", "1")
    assert done.returncode == 0, done
    assert lab.openings == [1]
    assert (said or "") in done.stdout
    assert (" on each host: " in done.stdout) == (said is not None)


@pytest.mark.parametrize(
    ("cases", "said"),
    [
        (100, "4 lanes on each host: 2 for each of the 2 processors"),
        (75, "3 lanes on each host: there are 75 cases"),
    ],
)
def test_as_many_lanes_as_the_processors_have_work_for(lab: Cts, cases: int, said: str) -> None:
    lab.env["FAKE_SRQS"] = "4096"
    lab.has(*(f"passes_{number}" for number in range(cases)))
    done = lab("certify", "--hosts", "1")
    assert done.returncode == 0, done
    assert said in done.stdout
    assert len(lab.openings) == int(said[0])


def test_many_processors_have_no_more_lanes_than_an_sshd_takes(lab: Cts) -> None:
    lab.env.update(FAKE_SRQS="4096", FAKE_PROCESSORS="64")
    lab.has(*(f"passes_{number}" for number in range(250)))
    done = lab("certify", "--hosts", "1")
    assert done.returncode == 0, done
    assert "8 lanes on each host: the most without -n, for 64 processors" in done.stdout
    assert len(lab.openings) == 8


def test_an_unknown_need_is_refused(lab: Cts) -> None:
    lab.has("is_alone")
    path = lab.root / "cases/demo/demo_page.toml"
    path.write_text(path.read_text().replace('"limits"', '"limit"'))
    done = lab("certify")
    assert done.returncode != 0
    assert "alone: 'limit' is not" in done.stderr
