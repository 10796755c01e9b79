# SPDX-License-Identifier: BSD-2-Clause
"""Whether a verdict can stand on its own evidence."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

KEPT = frozenset({"PASS", "NOTE"})
SAID = KEPT | {"UNSUPPORTED", "RESOURCE"}

# Cases that have a registry of their own, and may end with an IA open.
_OWN_REGISTRY = ("conf/", "provider_fini/", "provider_init/", "registry_")

# So many different checks are looked at once.
_SHARED = 1 << 14
_NUMBER = re.compile(r"-?[0-9]+(?: bytes| us)?")
# A return, and behind it the subtype's name, if any.
_RETURN = re.compile(r"(DAT_[A-Z0-9_]+)(?:, DAT_[A-Z0-9_]+)?")


def contradiction(record: Mapping[str, Any]) -> str:
    """What in a verdict's record speaks against the verdict, in words; nothing where all agrees.

    `record` is one of docs/results.md, of any verdict. Who did not keep the clause may well have
    no evidence of it (a crash has none); who is said to have kept it has left some of each kind,
    but for a note, which may be all that there was to say.
    """
    word = record.get("verdict")
    if word in SAID:
        return next(_against(record), "")
    if (
        word == "FAIL"
        and not record.get("reason")
        and all(check.get("ok") for check in record.get("checks", ()))
    ):
        return "every check held, and no other reason is told"
    return ""


def _held(check: Mapping[str, Any]) -> bool | None:
    """Whether a check held, by its values; None where they are words that only the case knows."""
    expected, seen = check.get("expected"), check.get("seen")
    if not isinstance(expected, list) or not isinstance(seen, str) or not expected:
        return None
    if not all(isinstance(each, str) for each in expected):
        return None
    return _agree(tuple(expected), seen)


@lru_cache(maxsize=_SHARED)
def _agree(expected: tuple[str, ...], seen: str) -> bool | None:
    for kind in (_NUMBER, _RETURN):
        wanted = [kind.fullmatch(each) for each in expected]
        got = kind.fullmatch(seen)
        if got and all(wanted):
            group = kind.groups
            return got[group] in {each[group] for each in wanted if each}
    return None


def _place(check: Mapping[str, Any]) -> str:
    return f"{check.get('file')}:{check.get('line')}: {check.get('text')}"


def _left_open(record: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]) -> bool:
    """Whether an IA is open behind a case for which the harness opened one, and closes each."""
    if record.get("teardown") or str(record.get("case", "")).startswith(_OWN_REGISTRY):
        return False
    # Of a log that is too long, the middle is not there.
    if any("are not kept: the first" in str(text) for text in record.get("records", ())):
        return False
    done = Counter(
        call.get("call")
        for call in calls
        if call.get("ret") == "DAT_SUCCESS" and not call.get("child")
    )
    return done["dat_ia_openv"] > done["dat_ia_close"]


def _against(record: Mapping[str, Any]) -> Iterator[str]:
    word = record.get("verdict")
    checks = record.get("checks", ())
    calls = [call for call in record.get("calls", ()) if call.get("who", "case") == "case"]
    for check in checks:
        if not check.get("ok"):
            yield f"{_place(check)} did not hold"
        elif _held(check) is False:
            wanted = " or ".join(check["expected"])
            yield f"{_place(check)} did not hold: expected {wanted}, saw {check['seen']}"
    # A waiter that teardown could not wake is named there, or told of as left.
    for call in () if record.get("teardown") else calls:
        left = record.get("leaks") and call.get("thread", 1) != 1
        if call.get("unfinished") and not call.get("teardown") and not left:
            yield f"{call.get('call')} did not return"
    crash = record.get("crash")
    if crash and not crash.get("teardown") and crash.get("who", "case") == "case":
        yield f"the process was ended by {crash.get('signal')}"
    if word in KEPT and _left_open(record, calls):
        yield "an IA was not closed"
    if word in KEPT and not calls:
        yield "no call was made"
    if word == "PASS" and not any(check.get("role") == "expect" for check in checks):
        yield "nothing was checked"
