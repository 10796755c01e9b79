# SPDX-License-Identifier: BSD-2-Clause
"""Whether a verdict can stand on its own evidence."""

from collections.abc import Iterator, Mapping
from typing import Any

KEPT = frozenset({"PASS", "NOTE"})
SAID = KEPT | {"UNSUPPORTED", "RESOURCE"}


def contradiction(record: Mapping[str, Any]) -> str:
    """What in a verdict's record speaks against the verdict, in words; nothing where all agrees.

    `record` is one of docs/results.md, of any verdict. Who did not keep the clause may well have
    no evidence of it (a crash has none); who is said to have kept it has left some of each kind.
    """
    word = record.get("verdict")
    if word not in SAID:
        return ""
    return next(_against(record, word in KEPT), "")


def _against(record: Mapping[str, Any], kept: bool) -> Iterator[str]:
    checks = record.get("checks", ())
    calls = [call for call in record.get("calls", ()) if call.get("who", "case") == "case"]
    for check in checks:
        if not check.get("ok"):
            yield f"{check.get('file')}:{check.get('line')}: {check.get('text')} did not hold"
    for call in calls:
        if call.get("unfinished") and not call.get("teardown"):
            yield f"{call.get('call')} did not return"
    crash = record.get("crash")
    if crash and not crash.get("teardown") and crash.get("who", "case") == "case":
        yield f"the process was ended by {crash.get('signal')}"
    if kept and not calls:
        yield "no call was made"
    if kept and not any(check.get("role") == "expect" for check in checks):
        yield "nothing was checked"
