# SPDX-License-Identifier: BSD-2-Clause
"""Which attempt to connect is which request, across the two processes of a trace.

The records of two processes have clocks of their own. What is caused in one and seen in the other
bounds the difference; a message counts as sent only where the bound says so.
"""

from collections import Counter
from typing import Any

from oracle.trace import Process

SMALL_MESSAGE = 1 << 18


class Offset:
    """Bounds of what is added to a time of the peer to have one of the case."""

    __slots__ = ("least", "most")

    def __init__(self) -> None:
        self.least: float = -1e18
        self.most: float = 1e18

    def cause_in_case(self, cause_begin: float, effect_end: float) -> None:
        """Something begun in the case was seen by the peer."""
        self.least = max(self.least, cause_begin - effect_end)

    def cause_in_peer(self, cause_begin: float, effect_end: float) -> None:
        """Something begun in the peer was seen by the case."""
        self.most = min(self.most, effect_end - cause_begin)


def _requests(process: Process) -> dict[Any, list[tuple[str, float]]]:
    """By qualifier: the requests that were taken, and when."""
    found: dict[Any, list[tuple[str, float]]] = {}
    for call in process.calls:
        if call.event != "DAT_CONNECTION_REQUEST_EVENT":
            continue
        event = call.field("event")
        data = event.get("event_data") if isinstance(event, dict) else None
        if isinstance(data, dict):
            found.setdefault(data.get("conn_qual"), []).append(
                (str(data.get("cr_handle")), call.end)
            )
    return found


def _attempts(process: Process) -> dict[Any, list[tuple[int, float, bool]]]:
    """By qualifier: the attempts to connect, when they began, and whether each was alone."""
    found: dict[Any, list[tuple[int, float, bool]]] = {}
    pending: dict[str, Any] = {}
    for call in process.calls:
        if call.name == "dat_ep_connect" and call.ok:
            qualifier, ep = call.arg("remote_conn_qual"), call.args.get("ep_handle", "")
            alone = qualifier not in pending.values()
            pending[ep] = qualifier
            found.setdefault(qualifier, []).append((call.n, call.begin, alone))
        elif call.name == "dat_ep_dup_connect" and call.ok:
            found[None] = []
        elif call.event.startswith("DAT_CONNECTION_EVENT_"):
            event = call.field("event")
            data = event.get("event_data") if isinstance(event, dict) else None
            if isinstance(data, dict):
                pending.pop(data.get("ep_handle", ""), None)
    return found


def _connects_by_threads(process: Process) -> bool:
    """Whether another thread than the first one asks for connections, or takes their events."""
    return process.threads and any(
        call.thread != 1
        and (call.name in ("dat_ep_connect", "dat_ep_dup_connect") or "CONNECTION" in call.event)
        for call in process.calls
    )


def pairs(asking: Process, asked: Process) -> dict[int, str]:
    """Calls of dat_ep_connect in one process, with the request that each is in the other."""
    found: dict[int, str] = {}
    if asking.cut or asked.cut or _connects_by_threads(asking) or _connects_by_threads(asked):
        return found
    attempts, requests = _attempts(asking), _requests(asked)
    if None in attempts:
        return found
    # A process that asks itself, too, may have taken its own request.
    own = _attempts(asked)
    # A provider may give a request the handle of one that is gone: records then have one name.
    names = Counter(name for taken in requests.values() for name, _ in taken)
    for qualifier, tries in attempts.items():
        taken = [] if qualifier in own else requests.get(qualifier, [])
        once = all(names[name] == 1 for name, _ in taken)
        if once and len(tries) == len(taken) and all(alone for _, _, alone in tries):
            for (number, _, _), (request, _) in zip(tries, taken, strict=True):
                found[number] = request
    return found


def clocks(case: Process, peer: Process, hosts: int) -> Offset:
    """Bounds of the difference of clocks, by requests and acceptances; none on one clock."""
    offset = Offset()
    if hosts == 1 and all("ns" in call.raw for call in (*case.calls[:1], *peer.calls[:1])):
        offset.least = offset.most = 0
        return offset
    for asking, asked, note in (
        (case, peer, offset.cause_in_case),
        (peer, case, offset.cause_in_peer),
    ):
        linked = pairs(asking, asked)
        begun = {call.n: call for call in asking.calls if call.n in linked}
        seen = {name: end for taken in _requests(asked).values() for name, end in taken}
        accepted = {
            call.args.get("cr_handle"): call
            for call in asked.calls
            if call.name == "dat_cr_accept" and call.ok
        }
        back = offset.cause_in_peer if asking is case else offset.cause_in_case
        for number, request in linked.items():
            note(begun[number].begin, seen[request])
            accept = accepted.get(request)
            if accept is None:
                continue
            ep = begun[number].args.get("ep_handle")
            for call in asking.calls:
                if (
                    call.n > number
                    and call.event == "DAT_CONNECTION_EVENT_ESTABLISHED"
                    and call.field("event")["event_data"].get("ep_handle") == ep
                ):
                    back(accept.begin, call.end)
                    break
    return offset
