# SPDX-License-Identifier: BSD-2-Clause
"""Calls that were granted the end of an object, and left what it had used in use."""

from collections.abc import Sequence

from results.causes.handles import MAKING, OBJECT, SUCCESS, object_of
from results.causes.shown import ANSWER, is_of_answer
from results.model.attempt import Attempt, Verdict
from results.model.evidence import Call

_QUALIFIER_IN_USE = "DAT_CONN_QUAL_IN_USE"
_IN_USE = "DAT_INVALID_STATE"
_FREE = "_free"
# These give an object what another one made: what uses it afterwards is not known by the creates.
_GIVES = ("_modify", "_modify_cno", "_bind", "_connect", "_accept")


def keeper_of(attempt: Attempt) -> str:
    """The free that was granted before, if a case found what the freed object had used still in
    use: a qualifier, or an object that was refused its own free. Empty where another object may
    use it, and where frees of several kinds went before.
    """
    refused = _refused(attempt)
    if refused is None:
        return ""
    before = [call for call in attempt.calls if call.who == refused.who and call.n < refused.n]
    granted = [call for call in before if call.ret == SUCCESS]
    if refused.ret == _QUALIFIER_IN_USE:
        users = _of_qualifier(granted, dict(refused.args).get("conn_qual", ""))
    elif refused.ret == _IN_USE and refused.name.endswith(_FREE):
        users = _of_object(granted, object_of(refused))
    else:
        return ""
    frees = {object_of(call): call.name for call in granted if call.name.endswith(_FREE)}
    if not users or not all(user in frees for user in users):
        return ""
    ended_by = {frees[user] for user in users}
    if attempt.page_call in ended_by:
        return attempt.page_call
    return ended_by.pop() if len(ended_by) == 1 else ""


def _refused(attempt: Attempt) -> Call | None:
    """The call that had to succeed, and was refused: a step that blocked the case, or the one that
    the failed check is of.
    """
    if attempt.blocked:
        calls = (call for call in reversed(attempt.calls) if call.name == attempt.blocked)
        last = next(calls, None)
        return last if last and ANSWER.match(attempt.refusal) else None
    check = attempt.failed_check
    if attempt.verdict is not Verdict.FAIL or check is None or check.expected != (SUCCESS,):
        return None
    return attempt.culprit if is_of_answer(attempt) else None


def _of_qualifier(granted: Sequence[Call], qualifier: str) -> list[str]:
    """The service points that were made for a qualifier."""
    made = (call for call in granted if call.name.endswith(MAKING))
    return [
        _made(call) for call in made if dict((*call.args, *call.out)).get("conn_qual") == qualifier
    ]


def _of_object(granted: Sequence[Call], used: str) -> list[str]:
    """The objects that were made with this one; none where it was given to one otherwise."""
    users: list[str] = []
    for call in granted:
        if not used or used not in dict(call.args).values():
            continue
        if call.name.endswith(_GIVES):
            return []
        if call.name.endswith(MAKING):
            users.append(_made(call))
    return users


def _made(call: Call) -> str:
    """The object that a call has made."""
    handles = [value for name, value in call.out if name.endswith("_handle")]
    return next(filter(OBJECT.fullmatch, handles), "")
