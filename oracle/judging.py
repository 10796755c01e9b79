# SPDX-License-Identifier: BSD-2-Clause
"""Judges the traces of verdict records."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oracle import (
    cno,
    connection,
    contents,
    cr,
    due,
    ep,
    ep_modify,
    ep_query,
    ep_receives,
    evd,
    handle,
    high_marks,
    ia,
    lmr,
    notices,
    posts,
    pz,
    registry,
    rmr,
    sp,
    srq,
    strerror,
    watermark,
)
from oracle.kernel import RULES, Judge, Rule
from oracle.pairing import clocks, pairs
from oracle.state import Side
from oracle.trace import Call, Process, Trace, TraceError, read
from oracle.verdict import Deviation, Judgement

MODULES = (
    cno,
    connection,
    contents,
    cr,
    due,
    ep,
    ep_modify,
    ep_query,
    ep_receives,
    evd,
    handle,
    high_marks,
    ia,
    lmr,
    notices,
    posts,
    pz,
    registry,
    rmr,
    sp,
    srq,
    strerror,
    watermark,
)

# Gets a call, and the process that made it in its state after it.
Watch = Callable[[Side, Call], None]


def judge(
    record: Mapping[str, Any],
    declared: Mapping[str, Any],
    watch: Watch | None = None,
    patience: int = 1,
) -> Judgement:
    """Judge a verdict record. `declared` are the attributes and needs of the IA (hosts record).
    `watch` gets each call of the case when it has been judged. Events have `patience` times as
    long to come, as the run gave them (run record).

    Never raises for what a record has: damage is reported in the judgement.
    """
    judgement = Judgement()
    try:
        trace = read(record, declared)
    except TraceError as fault:
        judgement.damage = str(fault)
        return judgement
    trace.wait(patience)
    try:
        _judge_trace(trace, judgement, watch)
    except Exception as error:
        # What a trace has that no rule foresaw must not end a run.
        judgement.deviations.clear()
        judgement.asked.clear()
        judgement.damage = f"a rule failed: {type(error).__name__}: {error}"
    return judgement


def _judge_trace(trace: Trace, judgement: Judgement, watch: Watch | None) -> None:
    """Judge the peer first, so that what it did is known as a whole, and then the case."""
    by_who = {process.who: process for process in trace.processes}
    case, peer = by_who.get("case"), by_who.get("peer")
    other: Side | None = None
    if peer is not None:
        other = Side("peer", trace.attributes)
        other.opaque = case is not None
        _judge(other, peer, trace, judgement)
    if case is None:
        return
    side = Side("case", trace.attributes)
    side.opaque = trace.others
    if peer is not None and other is not None:
        side.peer = other
        side.opaque = True
        side.links = pairs(case, peer)
        side.asked_by = {request: number for number, request in pairs(peer, case).items()}
        offset = clocks(case, peer, trace.hosts)
        if offset.most - offset.least < trace.settled_us:
            side.offset = (offset.least, offset.most)
    _judge(side, case, trace, judgement, watch)
    for call, why in side.proven:
        judgement.deviations.append(
            Deviation(call.who, call.n, call.name, "ep_recv_query/posted", why)
        )
    # These are of CNOs that were gone when the wait was judged.
    for call, clause, why in side.overslept.values():
        judgement.deviations.append(Deviation(call.who, call.n, call.name, clause, why))
    for field, call, clause, why in side.deferred:
        if field in side.works:
            judgement.deviations.append(Deviation(call.who, call.n, call.name, clause, why))
    judgement.deviations.sort(key=lambda deviation: deviation.who != "case")


def _judge(
    side: Side,
    process: Process,
    trace: Trace,
    judgement: Judgement,
    watch: Watch | None = None,
) -> None:
    side.trace = trace
    side.threads = process.threads
    side.last = max((call.end for call in process.calls if call.finished), default=0)
    kernel = Judge(side, judgement)
    for call in process.calls:
        if process.cut and call.n >= process.cut:
            judgement.unjudged["calls before it are not kept"] += 1
            continue
        if call.end > process.edge:
            judgement.unjudged["calls of other threads beside it are not kept"] += 1
            continue
        kernel.call(call)
        if watch is not None:
            watch(side, call)
    for held, count in Counter(kernel.asked).items():
        for clause in held.clauses:
            judgement.asked[clause] += count


def declared_of(hosts: Mapping[str, Any], name: str | None = None) -> dict[str, Any]:
    """What a hosts record says of the IA, as `unwritten` the attributes that it leaves so, and as
    `opened_as` the name that cases open: that of the record, or `name`, which may be of another
    adapter.
    """
    told = hosts.get("ia") or {}
    known = told.get("name")
    attributes = told.get("attributes") or {}
    written = {attr: value for attr, value in attributes.items() if value != "unwritten"}
    unwritten = [attr for attr in attributes if attr not in written]
    said = {**(told.get("needs") or {}), **written, "unwritten": unwritten}
    if name and name != known:
        said.pop("adapter_name", None)
    return {**said, "opened_as": name or known}


def rules() -> Sequence[Rule]:
    """All rules, with the clauses and rulings that they stand on."""
    return RULES
