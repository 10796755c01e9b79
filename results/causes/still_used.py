# SPDX-License-Identifier: BSD-2-Clause
"""Calls that left an object in use: those granted the end of that, and refused creates."""

import re
from collections.abc import Iterator, Mapping, Sequence

from results.causes.handles import MAKING, OBJECT, SUCCESS, object_of
from results.causes.shown import ANSWER, is_of_answer
from results.model.attempt import Attempt, Verdict
from results.model.evidence import Call

_QUALIFIER_IN_USE = "DAT_CONN_QUAL_IN_USE"
_IN_USE = "DAT_INVALID_STATE"
_FREE = "_free"
# These give an object what another one made: what uses it afterwards is not known by the creates.
_GIVES = ("_bind", "_connect", "_accept")
# These give an object another one in place of what it has.
_REPLACES = ("dat_ep_modify", "dat_evd_modify_cno")
# What an RMR is bound to, in place of what it was bound to.
_BIND = "dat_rmr_bind"
_BOUND = re.compile(r"lmr_context=(\w+(?:#\d+)?)")
_HANDLE = re.compile(r"(\w+_handle)=(\w+(?:#\d+)?)")


def keeper_of(attempt: Attempt) -> str:
    """The call that was granted before, if a case found what that call ended the use of still in
    use: a qualifier, or an object that was refused its own free. It is the free of what used it, or
    the change that gave its user another one. An object that nothing was made with is kept by the
    calls that were refused with it. Empty where another object may use it, and where calls of
    several kinds ended that.
    """
    refused = _refused(attempt)
    if refused is None:
        return ""
    before = [call for call in attempt.calls if call.who == refused.who and call.n < refused.n]
    granted = [call for call in before if call.ret == SUCCESS]
    frees = {object_of(call): call.name for call in granted if call.name.endswith(_FREE)}
    if refused.ret == _QUALIFIER_IN_USE:
        users = _of_qualifier(granted, dict(refused.args).get("conn_qual", ""))
        ends = [frees.get(user, "") for user in users]
    elif refused.ret == _IN_USE and refused.name.endswith(_FREE):
        used = object_of(refused)
        ends = _ends_of_use(granted, used, frees) or _refused_with(before, used)
    else:
        return ""
    if not ends or not all(ends):
        return ""
    if attempt.page_call in (*ends, *_refused_with(before, object_of(refused))):
        return attempt.page_call
    return ends[0] if len({*ends}) == 1 else ""


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


def _ends_of_use(granted: Sequence[Call], used: str, frees: Mapping[str, str]) -> list[str]:
    """The call by which each use of an object ended, empty for one that has not; none where it was
    given to another object in a way that the calls do not tell.
    """
    if not used:
        return []
    users: dict[tuple[str, str], str] = {}
    for call in granted:
        replaces = call.name in _REPLACES or call.name == _BIND
        if call.name.endswith(_GIVES) and used in dict(call.args).values():
            return []
        if not replaces and not call.name.endswith(MAKING):
            continue
        user = object_of(call) if replaces else _made(call)
        for role, given in _given(call):
            if given == used:
                users[user, role] = ""
            elif replaces and users.get((user, role)) == "":
                users[user, role] = call.name
    return [end or frees.get(user, "") for (user, _), end in users.items()]


def _refused_with(before: Sequence[Call], used: str) -> list[str]:
    """The calls that were refused an object of their own that was to use this one."""
    makes = (call for call in before if call.name.endswith(MAKING) and call.ret != SUCCESS)
    return [call.name for call in makes if used in dict(call.args).values()]


def _given(call: Call) -> Iterator[tuple[str, str]]:
    """What a call gives its object, by the role that it has there."""
    args = dict(call.args)
    mask = args.get("ep_param_mask")
    if call.name == _BIND and (bound := _BOUND.search(args.get("lmr_triplet", ""))):
        yield "lmr_handle", bound[1]
    for name, value in call.args:
        if mask is None:
            yield name.replace("_completion", ""), value
        elif name == "ep_param":
            told = _HANDLE.findall(value)
            yield from ((n, v) for n, v in told if f"DAT_EP_FIELD_{n.upper()}" in mask.split("|"))


def _made(call: Call) -> str:
    """The object that a call has made."""
    handles = [value for name, value in call.out if name.endswith("_handle")]
    return next(filter(OBJECT.fullmatch, handles), "")
