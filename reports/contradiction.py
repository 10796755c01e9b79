# SPDX-License-Identifier: BSD-2-Clause
"""Whether a verdict can stand on its own evidence."""

from collections.abc import Iterator, Mapping
from typing import Any

KEPT = frozenset({"PASS", "NOTE"})
SAID = KEPT | {"UNSUPPORTED", "RESOURCE"}


def contradiction(record: Mapping[str, Any]) -> str:
    """What in a verdict's record speaks against the verdict, in words; nothing where all agrees.

    `record` is one of docs/results.md, of any verdict. Who did not keep the clause may well have
    no evidence of it (a crash has none); who is said to have kept it has left some of each kind,
    but for a note, which may be all that there was to say.
    """
    word = record.get("verdict")
    if word not in SAID:
        return ""
    return next(_against(record), "")


def _against(record: Mapping[str, Any]) -> Iterator[str]:
    word = record.get("verdict")
    checks = record.get("checks", ())
    calls = [call for call in record.get("calls", ()) if call.get("who", "case") == "case"]
    for check in checks:
        if not check.get("ok"):
            yield f"{check.get('file')}:{check.get('line')}: {check.get('text')} did not hold"
    for call in calls:
        # A waiter whom teardown could not wake is told of there.
        if call.get("unfinished") and not call.get("teardown") and not record.get("teardown"):
            yield f"{call.get('call')} did not return"
    crash = record.get("crash")
    if crash and not crash.get("teardown") and crash.get("who", "case") == "case":
        yield f"the process was ended by {crash.get('signal')}"
    if word in KEPT and not calls:
        yield "no call was made"
    if word == "PASS" and not any(check.get("role") == "expect" for check in checks):
        yield "nothing was checked"
