# SPDX-License-Identifier: BSD-2-Clause
"""The programs that are drawn are such as the puppet takes."""

import re
from pathlib import Path
from random import Random

import pytest

from runners.campaign.explore.chains import CHAINS, beginning
from runners.campaign.explore.emit import APART, CALLS, NO_CALL
from runners.campaign.explore.peer_steps import CHAINED, PEER_CHAINS, PEER_STEPS
from runners.campaign.explore.programs import Programs
from runners.campaign.explore.steps import OBJECTS, STEPS, simpler
from runners.campaign.explore.walk import read_program

PUPPET = Path(__file__).parents[2] / "puppet"
WITH_PEER = {step.name for step in (*PEER_STEPS, *CHAINED)}


def taken() -> dict[str, int]:
    """The steps that the puppet takes, and how many arguments each has."""
    text = "".join(file.read_text(encoding="utf-8") for file in PUPPET.glob("*.c"))
    found = re.findall(r"\bSTEP\((\w+), (\d+)\)", text)
    found += re.findall(r'\{\.name = "(\w+)", \.args = (\d+),', text)
    return {name: int(count) for name, count in found}


def test_the_puppet_takes_each_step() -> None:
    assert {name: len(step.args) for name, step in STEPS.items()} == taken()


def demand_whole(line: str) -> None:
    """Demand that a line is a step with all of its arguments."""
    name, *arguments = line.removeprefix("&").split()
    assert len(list(map(int, arguments))) == taken()[name]


@pytest.mark.parametrize("lines", [beginning(), *CHAINS, *PEER_CHAINS])
def test_fixed_steps_are_whole(lines: list[str]) -> None:
    for line in lines:
        demand_whole(line)


@pytest.mark.parametrize("objects", [OBJECTS, ("srq",), ("ep", "evd")])
def test_programs_are_whole_and_of_their_objects(objects: tuple[str, ...]) -> None:
    programs = Programs(objects, 20, 1)
    first = len(beginning())
    for number in range(30):
        program = programs.program(number)
        assert program[:first] == beginning()
        assert len(program) >= first + 10
        for line in program[first:]:
            demand_whole(line)
            assert line.removeprefix("&").partition("_")[0] in (*objects, "private")


def test_a_program_is_that_of_its_seed_and_number() -> None:
    one, other = Programs(OBJECTS, 20, 1), Programs(OBJECTS, 20, 2)
    assert one.program(7) == Programs(OBJECTS, 20, 1).program(7)
    assert len({tuple(each) for each in (one.program(7), one.program(8), other.program(7))}) == 3


def steps_with_peer(hosts: int, objects: tuple[str, ...] = OBJECTS) -> list[int]:
    """How many steps of each program a peer takes part in."""
    programs = Programs(objects, 20, 1, hosts)
    return [sum("peer_" in line for line in programs.program(number)) for number in range(40)]


def test_walks_on_two_hosts_have_a_peer() -> None:
    assert all(steps_with_peer(2))
    assert 0 < sum(map(bool, steps_with_peer(1))) < 20
    assert not any(steps_with_peer(2, ("ep", "evd", "srq")))


def test_a_line_is_made_simpler_by_one_argument() -> None:
    assert list(simpler("&srq_resize 5001 16")) == ["&srq_resize 5000 16", "&srq_resize 5001 1"]
    assert list(simpler("srq_resize 5000 1")) == []


def test_each_step_is_a_call_of_a_case() -> None:
    """An argument of a step has its place in the call that a C case makes instead."""
    assert CALLS.keys() | APART | {NO_CALL} == STEPS.keys() - WITH_PEER
    assert not CALLS.keys() & APART
    for name, call in CALLS.items():
        # The slot of a request is where its event's handle goes.
        unused = {1} if name in ("evd_dequeue", "evd_wait") else set()
        for place in set(range(len(STEPS[name].args))) - unused:
            assert re.search(rf"[@#$%]{place}", call), (name, place)


def test_a_file_may_have_comments(tmp_path: Path) -> None:
    path = tmp_path / "1.steps"
    path.write_text("# deviates: why\n\n pz_create 0 \npz_free 0\n", encoding="utf-8")
    assert read_program(path) == ["pz_create 0", "pz_free 0"]


@pytest.mark.parametrize("name", ["evd_query", "srq_resize", "ep_create", "cno_wait", "lmr_query"])
def test_several_steps_on_one_object(name: str) -> None:
    programs = Programs(OBJECTS, 20, 1)
    bursts = [programs.burst(STEPS[name], Random(seed)) for seed in range(20)]
    for lines in bursts:
        assert lines[0].split()[0] == name
        assert len({line.split()[1] for line in lines}) == 1
        assert not any(line.split()[0].endswith("_free") for line in lines)
        for line in lines:
            demand_whole(line)
    assert any(len({line.split()[0] for line in lines}) > 2 for lines in bursts)
