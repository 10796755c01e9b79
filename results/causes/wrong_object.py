# SPDX-License-Identifier: BSD-2-Clause
"""Calls that end another object than the one that they are given."""

import re

from results.causes.handles import OBJECT, SUCCESS, kind_of, object_of
from results.causes.shown import is_missing_connection, is_of_answer
from results.model.attempt import Attempt, Verdict

# A call that ends the object that it is given, and how one that exists no more, or is used, is
# refused.
_ENDS = re.compile(r"^dat_(\w+_free|cr_(accept|reject|handoff))$")
_NO_HANDLE = "DAT_INVALID_HANDLE"
_IN_USE = "DAT_INVALID_STATE"


def misdirected(attempt: Attempt) -> str:
    """The call of the page, if it was granted the end of one object and ended another one of its
    kind: empty if the case does not show both. What was not ended keeps the IA open, or nothing was
    told of its end. Of what was ended, though no call was granted that, the handle is invalid.
    """
    name, check = attempt.page_call, attempt.failed_check
    if not _ENDS.match(name) or check is None or attempt.verdict is not Verdict.FAIL:
        return ""
    calls = [call for call in attempt.calls if call.who == "case"]
    granted = [call for call in calls if _ENDS.match(call.name) and call.ret == SUCCESS]
    ended = {object_of(call) for call in granted}
    first = next((call for call in granted if call.name == name and object_of(call)), None)
    if first is None:
        return ""
    kind = kind_of(first)
    lost = {
        call.name
        for call in calls
        if call.n > first.n and call.ret == _NO_HANDLE
        if kind_of(call) == kind and object_of(call) not in ended
    }
    open_ = any(c.teardown and c.name == "dat_ia_close" and c.ret == _IN_USE for c in calls)
    # An object that the call itself refuses may be there nevertheless, and keep the IA open.
    shown = is_missing_connection(check) if lost == {name} else open_
    return name if lost and shown else ""


def is_of_another(attempt: Attempt) -> bool:
    """Whether a case whose call ends another object than it names may have failed by that: a bad
    handle was granted, an object was refused as in use or as gone, or nothing was told of its end.
    """
    check = attempt.failed_check
    if attempt.verdict is not Verdict.FAIL or check is None or not _has_another(attempt):
        return False
    if is_missing_connection(check):
        return True
    wrong = (_NO_HANDLE, _IN_USE)
    seen = check.seen.split(",")[0]
    return is_of_answer(attempt) and (
        (seen == SUCCESS and not {*check.expected} - {*wrong})
        or (seen in wrong and check.expected == (SUCCESS,))
    )


def _has_another(attempt: Attempt) -> bool:
    """Whether there was an object that the page's call could end instead of the one it names."""
    name = attempt.page_call
    kind = name.removeprefix("dat_").split("_")[0]
    named = [value for call in attempt.calls if call.name == name for _, value in call.args[:1]]
    known = {value for call in attempt.calls for _, value in (*call.args, *call.out)}
    objects = {each for each in known if OBJECT.fullmatch(each) and each.startswith(f"{kind}#")}
    return bool(objects - {*named[-1:]})
