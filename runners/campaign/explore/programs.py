# SPDX-License-Identifier: BSD-2-Clause
"""The programs of walks, drawn by a seed."""

from collections.abc import Mapping, Sequence
from random import Random

from runners.campaign.explore.chains import CHAINS, OPENINGS, beginning, other_ia
from runners.campaign.explore.peer_steps import PEER_CHAINS, PEER_OPENINGS, PEER_STEPS
from runners.campaign.explore.step import (
    ALL,
    BY_KIND,
    CNO,
    CR,
    EP,
    EVD,
    FREED,
    LMR,
    NULL,
    PSP,
    PZ,
    RMR,
    RSP,
    SRQ,
    Step,
    guarded,
    handle_kind,
    named,
)
from runners.campaign.explore.steps import OWN_STEPS, STEPS

# So many parts of a program are chains, so many are several steps on one object, and so many steps
# are on an object that was just freed; so many programs begin with a connection; by so much may
# their steps be thinned out.
_CHAINS_OF_ALL, _BURSTS_OF_ALL, _FREED_OF_ALL, _CONNECTED_OF_ALL = 1 / 5, 1 / 15, 1 / 15, 2 / 3
_BURST = (3, 8)
# So many programs have a second IA from the beginning; so many have a peer on this host. On two
# hosts all have one.
_OTHER_OF_ALL, _PEER_OF_ALL = 1 / 3, 1 / 5
# So many programs of two hosts begin with a delayed network.
_LATE_OF_ALL = 1 / 4
# So many chains of a program that has a peer are with the peer.
_PEER_CHAINS_OF_ALL = 2 / 3
# So many parts of a program give each handle of one step's call wrongly.
_MISGIVEN_OF_ALL = 1 / 40
_LEFT_OUT = (0.0, 0.1, 0.5, 0.8)

# What frees an object of a kind.
_ENDS: Mapping[int, str] = {
    PZ: "pz_free",
    LMR: "lmr_free",
    RMR: "rmr_free",
    EVD: "evd_free",
    CNO: "cno_free",
    SRQ: "srq_free",
    EP: "ep_free",
    PSP: "psp_free",
    CR: "cr_reject",
    RSP: "rsp_free",
}


class Programs:
    """The programs of a seed, of the calls of some objects: so many steps behind the first ones.

    Each goes without some of the steps, so that what others undo can pile up (swarm).
    """

    def __init__(self, objects: Sequence[str], most: int, seed: int, hosts: int = 1) -> None:
        self._names = [step.name for step in OWN_STEPS if _is_of(step.name, objects)]
        self._chains = [chain for chain in CHAINS if _of_objects(chain, objects)]
        peers = all(_of_objects(chain, objects) for chain in PEER_CHAINS)
        self._peers = (1.0 if hosts > 1 else _PEER_OF_ALL) if peers else 0.0
        self._late = _LATE_OF_ALL if hosts > 1 else 0.0
        self._most = most
        self._seed = seed

    def program(self, number: int) -> list[str]:
        """The program of a number: the same one whatever was drawn before."""
        draw = Random(f"{self._seed}/{number}")
        left_out = draw.choice(_LEFT_OUT)
        names = [name for name in self._names if draw.random() >= left_out] or self._names
        lines = beginning()
        peer = self._peers > 0 and draw.random() < self._peers
        if peer:
            lines += [STEPS["peer_late"].line(draw)] if draw.random() < self._late else []
            lines += draw.choice(PEER_OPENINGS)
            names = [*names, *(step.name for step in PEER_STEPS)]
        elif len(self._chains) == len(CHAINS) and draw.random() < _CONNECTED_OF_ALL:
            lines += draw.choice(OPENINGS)
        if len(self._chains) == len(CHAINS) and draw.random() < _OTHER_OF_ALL:
            lines += other_ia()
        for _ in range(draw.randint(self._most // 2, self._most)):
            if self._chains and draw.random() < _CHAINS_OF_ALL:
                with_peer = peer and draw.random() < _PEER_CHAINS_OF_ALL
                lines += draw.choice(PEER_CHAINS if with_peer else self._chains)
            elif draw.random() < _BURSTS_OF_ALL:
                lines += self.burst(STEPS[draw.choice(names)], draw)
            elif draw.random() < _MISGIVEN_OF_ALL:
                lines += misgiven(STEPS[draw.choice(names)], draw)
            elif draw.random() < _FREED_OF_ALL:
                lines += self._of_freed(STEPS[draw.choice(names)], draw)
            else:
                lines.append(STEPS[draw.choice(names)].line(draw))
        return lines

    def burst(self, step: Step, draw: Random) -> list[str]:
        """Several steps on the object of a step, and a query: what one does, others may show."""
        line = step.line(draw)
        number = int([*line.split(), str(NULL)][1])
        steps = [STEPS[name] for name in self._names if _is_on(STEPS[name], number)]
        if not steps:
            return [line]
        drawn = [draw.choice(steps).line(draw).split() for _ in range(draw.randint(*_BURST))]
        drawn += [
            [each.name, *[str(ALL)] * len(each.args)]
            for each in steps
            if each.name.endswith("_query")
        ]
        return [line, *(" ".join((name, str(number), *args[1:])) for name, *args in drawn)]

    def _of_freed(self, step: Step, draw: Random) -> list[str]:
        """A step on an object that was freed just before, if it is a step on an object."""
        name, *args = step.line(draw).split()
        if not args or name.startswith("ia_"):
            return [" ".join((name, *args))]
        number = int(args[0])
        ends = _ENDS.get(number // BY_KIND)
        if ends not in self._names or number % BY_KIND >= FREED or "create" in name:
            return [" ".join((name, *args))]
        return guarded(f"{ends} {number}", " ".join((name, str(number + FREED), *args[1:])))


def misgiven(step: Step, draw: Random) -> list[str]:
    """A step again and again, each handle of its call once of each other kind and of none: which
    one a provider mistakes, few draws would tell.
    """
    lines = []
    kinds = [handle_kind(choices) for choices in step.args]
    for at, kind in enumerate(kinds):
        wrong = [named(other, 0) for other in _ENDS if other != kind]
        for given in [*wrong, NULL] if kind is not None else []:
            name, *args = step.line(draw).split()
            for place, other in enumerate(kinds):
                args[place] = args[place] if other is None else str(step.args[place][0])
            lines.append(" ".join((name, *args[:at], str(given), *args[at + 1 :])))
    return lines


def _is_on(step: Step, number: int) -> bool:
    """Whether a step is on an object of the number's kind, and neither makes nor frees it."""
    kind = number // BY_KIND
    ends = "create" in step.name or step.name in ("evd_join", *_ENDS.values())
    # Of another kind, an object is drawn as an illegal argument: once.
    return not ends and kind in _ENDS and bool(step.args) and step.args[0].count(kind * BY_KIND) > 1


def _of_objects(chain: Sequence[str], objects: Sequence[str]) -> bool:
    """Whether each call of a chain is of these objects."""
    return all(_is_of(line.removeprefix("&"), objects) for line in chain)


def _is_of(line: str, objects: Sequence[str]) -> bool:
    """Whether a step's call is of these objects; a look at memory is of requests and EPs."""
    of = line.partition("_")[0]
    return of in objects or (of == "private" and {"cr", "ep"} <= {*objects})
