# SPDX-License-Identifier: BSD-2-Clause
"""The states that objects came to in traces, as the model knows them: what was met, not what is
right.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from oracle.judging import judge
from oracle.state import NULL, Cno, Cr, Ep, Evd, Lmr, Obj, Pz, Rmr, Side, Sp, Srq
from oracle.trace import Call


class Reached:
    """How often objects came to a state, by kind and state; EPs also by state, call and state."""

    def __init__(self) -> None:
        self.states: Counter[tuple[str, str]] = Counter()
        self.routes: Counter[tuple[str, str, str]] = Counter()
        self._last: dict[Obj, str] = {}

    def take(self, record: Mapping[str, Any], declared: Mapping[str, Any]) -> None:
        """Count what the objects of a verdict's record came to."""
        self._last.clear()
        judge(record, declared, self._watch)
        self._last.clear()

    @property
    def by_kind(self) -> dict[str, dict[str, int]]:
        """The counts as records have them."""
        found: dict[str, dict[str, int]] = {}
        for (kind, state), count in sorted(self.states.items()):
            found.setdefault(kind, {})[state] = count
        return found

    def _watch(self, side: Side, call: Call) -> None:
        for obj in side.objects.values():
            if not obj.alive or obj.lost or (tell := _TOLD.get(type(obj))) is None:
                continue
            state = tell(obj)
            last = self._last.get(obj, "")
            if not state or state == last:
                continue
            self._last[obj] = state
            self.states[obj.kind, state] += 1
            if isinstance(obj, Ep):
                self.routes[last or "none", call.name, state] += 1


def _ep(ep: Ep) -> str:
    """The state that it was last seen in; empty where it may be one of several."""
    if len(ep.states) != 1:
        return ""
    return next(iter(ep.states)).removeprefix("DAT_EP_STATE_").lower()


def _evd(evd: Evd) -> str:
    if evd.enabled is None or evd.waitable is None:
        return ""
    said = ["enabled" if evd.enabled else "disabled", "waitable" if evd.waitable else "unwaitable"]
    said += ["with a CNO"] if evd.cno not in (NULL, None) else []
    said += ["with events"] if evd.software else []
    return ", ".join(said)


def _srq(srq: Srq) -> str:
    """How full it is, of the size that was asked for."""
    posted = srq.outstanding_now
    if posted is None or srq.size_least < 1:
        return ""
    armed = ", armed" if srq.armed else ""
    if posted == 0:
        return f"empty{armed}"
    if posted >= srq.size_least:
        return f"full{armed}"
    return f"{'less than' if 2 * posted < srq.size_least else 'at least'} half full{armed}"


def _cno(cno: Cno) -> str:
    return ("of EVDs" if cno.evds else "of no EVD") + (", notified" if cno.certain else "")


def _pz(pz: Pz) -> str:
    return "in use" if any(user.alive for user in pz.users) else "not in use"


def _lmr(lmr: Lmr) -> str:
    return "with RMRs bound" if lmr.bound else "with no RMR bound"


def _rmr(rmr: Rmr) -> str:
    if not rmr.known:
        return ""
    return "bound" if rmr.binding and rmr.binding["made"] else "not bound"


def _sp(sp: Sp) -> str:
    return "spent" if sp.spent else "asked" if sp.requests else "not asked"


def _cr(_: Cr) -> str:
    return "pending"


_TOLD: Mapping[type[Obj], Callable[[Any], str]] = {
    Ep: _ep,
    Evd: _evd,
    Srq: _srq,
    Cno: _cno,
    Pz: _pz,
    Lmr: _lmr,
    Rmr: _rmr,
    Sp: _sp,
    Cr: _cr,
}
