# SPDX-License-Identifier: BSD-2-Clause
"""Judges the traces of verdict records."""

from collections.abc import Mapping
from typing import Any

from oracle import (
    cno,
    connection,
    cr,
    ep,
    evd,
    handle,
    ia,
    lmr,
    posts,
    pz,
    registry,
    rmr,
    sp,
    srq,
    watermark,
)
from oracle.kernel import RULES, Judge
from oracle.state import Side
from oracle.trace import Process, Trace, TraceError, read
from oracle.verdict import Judgement

MODULES = (
    cno,
    connection,
    cr,
    ep,
    evd,
    handle,
    ia,
    lmr,
    posts,
    pz,
    registry,
    rmr,
    sp,
    srq,
    watermark,
)


def judge(record: Mapping[str, Any], declared: Mapping[str, Any]) -> Judgement:
    """Judge a verdict record. `declared` are the attributes and needs of the IA (hosts record).

    Never raises for what a record has: damage is told in the judgement.
    """
    judgement = Judgement()
    try:
        trace = read(record, declared)
    except TraceError as fault:
        judgement.damage = str(fault)
        return judgement
    both = len(trace.processes) > 1
    sides = [_judge(process, trace, both, judgement) for process in trace.processes]
    del sides
    return judgement


def _judge(process: Process, trace: Trace, both: bool, judgement: Judgement) -> Side:
    side = Side(process.who, trace.attributes)
    side.trace = trace
    side.peer = side if both else None
    side.threads = process.threads
    kernel = Judge(side, judgement)
    for call in process.calls:
        if process.cut and call.n >= process.cut:
            judgement.unjudged["calls before it are not kept"] += 1
            continue
        kernel.call(call)
    return side


def declared_of(hosts: Mapping[str, Any]) -> dict[str, Any]:
    """What a hosts record says of the IA."""
    told = hosts.get("ia") or {}
    return {**(told.get("needs") or {}), **(told.get("attributes") or {})}


def counts() -> dict[str, int]:
    """How often each clause was judged since the start of the process."""
    totals: dict[str, int] = {}
    for rule in RULES:
        for clause in rule.clauses:
            totals[clause] = totals.get(clause, 0) + rule.asked
    return totals
