# SPDX-License-Identifier: BSD-2-Clause
"""Which checks that failed say the same: by the answer, the event, the value or the site."""

import re
from collections.abc import Iterator

from results.causes.crash_hang import overslept
from results.causes.handles import SUCCESS, takes_freed
from results.causes.keys import Key
from results.causes.shown import (
    ANSWER,
    EVENT,
    TAKING,
    call_of,
    is_missing_connection,
    is_named,
    is_of_answer,
    is_of_event,
)
from results.model.attempt import Attempt
from results.model.evidence import Call, Check, Trouble

_INVALID = "DAT_INVALID_PARAMETER"
NUMBER = re.compile(r"0x[0-9a-f]+|\d+")
# An attempt to connect that comes to nothing has many causes: these are of one call each.
_LOST = ("DAT_CONNECTION_EVENT_TIMED_OUT", "DAT_CONNECTION_EVENT_UNREACHABLE")
# A refusal that every call has for many reasons.
_SCARCE = "DAT_INSUFFICIENT_RESOURCES"
# A thread that had to wait in its call, and came back refused.
_CAME_BACK = re.compile(r"it returned (DAT_(?!SUCCESS|TIMEOUT_EXPIRED|QUEUE_EMPTY)\w+)")
# Bytes that arrived, and are not those that were sent, as the checks of them say it.
OTHER_BYTES = re.compile(
    r"byte \d+ of \d+ is (0x|what belongs at )|(a message|message \d+) is not whole"
    r"|.* other bytes than were sent|.* is not what (the RDMA brought|the memory has)"
    r"|.* came damaged|.* not hold (the message|its part of the message|its message)"
    r"|the (first|second) segment did not come|what was received is not message \d+"
)
# A query or a call of an agent with the instance data of none, or of another one.
_AGENTS_DATA = re.compile(
    r"the instance data is not that of the CNO's agent"
    r"|an agent was called with instance data that is not its own"
)
# A completion that names another EP than its own, as the checks of it say it.
OTHER_EP = re.compile(
    r"(a|the) completion (names|is (not )?of) .*EP\b|the flushed receive is of another EP"
)
# A change that was granted and not made, as the checks of it say it.
_UNDONE = re.compile(r"granted, and not done|\w+ was not changed|.*granted, and not queried")
# A completion with another status than the check wanted, as its message says it.
_STATUS = re.compile(r"the status is (?P<seen>DAT_DTO_\w+), not (?P<wanted>DAT_DTO_\w+)")
_KEPT_STATUS = "DAT_DTO_SUCCESS"
# An event that is the wrong one, by the message of a condition.
_TELLS = re.compile(r"(DAT_CONNECTION_EVENT_\w+) tells that\b")
_COMPLETIONS = {("DAT_DTO_COMPLETION_EVENT",), ("DAT_RMR_BIND_COMPLETION_EVENT",)}
# Calls that move no event and end nothing: an event that is missing behind one was lost by it.
_MOVES_NOTHING = re.compile(
    r"dat_\w+_(modify|resize|set_lw|set_watermark|query|get_status|consumer_context|handle_type"
    r"|modify_cno|modify_agent|enable|disable|set_unwaitable|clear_unwaitable)"
)
# Those of them that leave an EVD all its events, so that no other call explains a wrong one.
_KEEPS_EVENTS = re.compile(
    r"dat_evd_(resize|query|modify_cno|enable|disable|set_unwaitable|clear_unwaitable)"
)
# Another event came than the one that was due.
_ANOTHER_CAME = re.compile(
    r"software event \d+ came, and \d+ not before it|pointer \w+, not that of software event \d+"
)
# The calls that put software events on an EVD and take them.
_QUEUES = ("dat_evd_post_se", *TAKING)
# What a check of the asynchronous EVD expects, by its words.
_ASYNC = "an asynchronous event about the object"
# A wait that had to end, as the check of its thread says it.
ASLEEP = re.compile(r"it waits still after ")
# What it returns when the EVD is made unwaitable.
_CANCELLED = "DAT_INVALID_STATE"
# A thread that had to wait, and came back with success.
_WAITING = "a thread that waits in its call"
_WOKEN = re.compile(r"it returned DAT_SUCCESS after ")
# An EP of the consumer for a PSP of the provider's EPs, or the other way round.
_OTHER_MAKER = re.compile(r"who makes the EP is not what the flag says|the provider made no EP")
# What those that take events return if there is none.
NOTHING_TAKEN = {"dat_evd_dequeue": "DAT_QUEUE_EMPTY", "dat_evd_wait": "DAT_TIMEOUT_EXPIRED"}
# Answers of a call that takes events, and was not refused.
_LOOKED = {SUCCESS, *NOTHING_TAKEN.values()}
# What a call is seen to leave unwritten, by a check of it and by a step that needs it.
UNWRITTEN = re.compile(r"\w+ is not written\b|DAT_SUCCESS, with a value left unwritten$")


def keys_of_check(attempt: Attempt, check: Check, last: Call | None) -> Iterator[Key]:
    """The same of a check that failed: its site, and the wrong answer of the call."""
    culprit = attempt.culprit
    call = call_of(attempt)
    answer = ANSWER.match(check.seen)
    refused = answer is not None and answer[0] != SUCCESS
    if is_of_event(check):
        yield from keys_of_event(check, call)
        if check.seen in _LOST and all("REJECTED" in name for name in names_expected(check)):
            # Whether the time of the request or of the case was over first.
            yield "missing", call, names_expected(check)
        if _KEEPS_EVENTS.fullmatch(attempt.page_call) and last and last.name in TAKING:
            # An event in the place of another one: that one was lost, or comes too late.
            yield "lost", attempt.page_call
        return
    if status := _wrong_status(check):
        yield "status", *status
        return
    if came_undue(attempt, check):
        yield "came", attempt.page_call
        return
    if _MOVES_NOTHING.fullmatch(attempt.page_call) and _is_missing_event(check, last):
        yield "lost", attempt.page_call
    # A loop over kinds checks the answers of several calls, and of several kinds, at one place.
    # So does one that a thread waits: it may be refused, or woken by nothing.
    back = _CAME_BACK.match(check.seen)
    # Where one case sees nothing come, and another one a wrong value, they tell different things.
    seen = "nothing" if check.seen.startswith("no event") else ""
    if not back and not (refused and is_of_answer(attempt)):
        yield "site", check.file, check.line, last.name if last else "", seen
        if culprit:
            yield "site", check.file, check.line, culprit.name, seen
    if is_missing(check):
        # However the case looked for it.
        yield "missing", call, names_expected(check)
    if attempt.page_call in _QUEUES and _ANOTHER_CAME.match(check.seen):
        # One queue has all events, whichever of its calls the page is about.
        yield "order", NUMBER.sub("", check.seen)
    if check.expected == (_ASYNC,) and check.seen.endswith(" about something else"):
        # One place tells of objects of one kind, whichever call led to the event.
        yield "about", attempt.page_call.split("_")[1]
    if check.compared == "psp_flags" or _OTHER_MAKER.match(check.seen):
        # A point that has lost its flag tells the other one, and works by it.
        yield "flag of a point", attempt.page_call
    if _is_undue_notice(check, culprit):
        # However the case looked for it.
        yield "noticed", attempt.page_call
    if ASLEEP.match(check.seen) and last:
        # That call had to end the wait, whatever page the case is of.
        yield "asleep", last.name
        if wait := overslept(attempt, last):
            yield "overslept", wait
        if waits_for_async(attempt):
            yield "missing", last.name, (_ASYNC.partition(" ")[0],)
    if UNWRITTEN.match(check.seen):
        yield "unwritten", call
    if _AGENTS_DATA.match(check.seen):
        # Whatever event the agent was called for.
        yield "agent's data", attempt.page_call
    if back:
        yield "refused", call, back[1]
    if OTHER_BYTES.match(check.seen):
        yield "bytes", call
    if OTHER_EP.match(check.seen):
        # One place makes the completions, whatever was posted where.
        yield "names", "ep_handle"
    if _UNDONE.match(check.seen):
        yield "undone", call
    if told := _TELLS.match(check.seen):
        for wanted in re.findall(r"DAT_CONNECTION_EVENT_\w+", check.text):
            yield "event", (wanted,), told[1], ""
    if check.is_condition:
        # A step that needs the same says the same.
        yield "blocked", call, NUMBER.sub("", check.seen)
    if answer and refused and culprit and culprit.ret == answer[0]:
        # Whatever was expected instead, and wherever it was checked.
        yield "refused", call, refusal_of(check.seen)
    if (parameter := _granted_parameter(attempt, check)) and culprit:
        yield "parameter", culprit.name, parameter
    looks = call in NOTHING_TAKEN and SUCCESS not in check.expected
    if looks and is_of_answer(attempt) and check.seen in _LOOKED:
        # It was not refused, and there was an event, or none.
        yield "looked", call, check.expected
    if is_of_answer(attempt):
        # One wrong code, with its subtype, comes from one place, whichever call it is seen in.
        known = refused and "," in check.seen and not check.seen.startswith(_SCARCE)
        # A call that took the handle of an object that is gone has answered for itself.
        answers = last.name if last and takes_freed(last) and last.ret == check.seen else call
        yield "answer", check.expected, check.seen, "" if known else answers
    elif culprit and is_named(check):
        # One name told for another, whatever the check calls it.
        yield "named", call, check.expected, check.seen
    if check.field and culprit and not is_of_answer(attempt):
        # A flag or a number that is wrong in one field comes from one place.
        yield "value", call, check.field


def what_of_event(said: Trouble | None) -> str:
    """What the model found wrong of an event, without the numbers of it; empty for other calls. One
    clause is about each field of each kind of event, and many calls lead to them.
    """
    return NUMBER.sub("", said.saw) if said and said.call in TAKING else ""


def refusal_of(answer: str) -> str:
    """What is the same of refusals of one call; where it has many reasons, the subtype tells which
    one it was.
    """
    return answer if answer.startswith(_SCARCE) else answer.split(",")[0]


def _wrong_status(check: Check) -> tuple[object, ...]:
    """What is the same of completions that had to tell of an error: the error that they tell
    instead, which comes from one place, or the one that nothing looked for.
    """
    told = _STATUS.match(check.seen)
    seen = told["seen"] if told else check.seen
    wanted = (told["wanted"],) if told else check.expected
    statuses = all(name.startswith("DAT_DTO_") and " " not in name for name in (*wanted, seen))
    if not wanted or not statuses or _KEPT_STATUS in wanted:
        return ()
    return (wanted, seen) if seen == _KEPT_STATUS else (seen,)


def is_told_instead(check: Check, wanted: str, seen: str) -> bool:
    """Whether a completion told the status `seen` where it had to tell `wanted`."""
    return _wrong_status(check) == ((wanted,), seen)


def came_undue(attempt: Attempt, check: Check) -> bool:
    """Whether an event was taken where there was to be none: the page's own call has led to it."""
    call = attempt.culprit
    if call is None or call.name not in TAKING or call.name == attempt.page_call:
        return False
    return check.seen == SUCCESS and check.expected == (NOTHING_TAKEN[call.name],)


def _is_undue_notice(check: Check, call: Call | None) -> bool:
    """Whether a CNO was notified where it was not to be: a wait on it was answered or ended, or its
    agent was called too often.
    """
    if call is not None and call.name == "dat_cno_wait":
        return check.seen == SUCCESS and check.expected == ("DAT_QUEUE_EMPTY",)
    if check.compared == "calls_seen":
        return check.seen.isdigit() and all(
            number.isdigit() and int(number) < int(check.seen) for number in check.expected
        )
    return _WOKEN.match(check.seen) is not None and check.expected == (_WAITING,)


def is_missing_completion(check: Check) -> bool:
    return check.expected in _COMPLETIONS and check.seen.startswith("no event")


def is_missing_async(check: Check) -> bool:
    return check.expected == (_ASYNC,) and check.seen.startswith("no event")


def waits_for_async(attempt: Attempt) -> bool:
    """Whether a thread waits for an asynchronous event still, or until teardown cancelled it."""
    beside = (call for call in attempt.calls if call.thread > 1 and call.name == "dat_evd_wait")
    cancelled = (call for call in beside if call.ret == _CANCELLED)
    waits = (*attempt.waiting, *cancelled)
    return any(("evd_handle", "async_evd") in call.args for call in waits)


def is_missing(check: Check) -> bool:
    """Whether a completion, an event of a connection, or an asynchronous one did not come."""
    return is_missing_completion(check) or is_missing_connection(check) or is_missing_async(check)


def names_expected(check: Check) -> tuple[str, ...]:
    """The numbers of the events that a check expects, without their statuses."""
    return tuple(name.split(" ")[0] for name in check.expected)


def _is_missing_event(check: Check, last: Call | None) -> bool:
    """Whether no event came, where one was expected that is of no connection."""
    if check.expected == (SUCCESS,):
        return last is not None and check.seen.split(",")[0] == NOTHING_TAKEN.get(last.name)
    if check.seen.startswith("no event") and not is_missing_connection(check):
        return any(EVENT.match(name.split(" ")[0]) for name in check.expected)
    # Its cookie or its EP tells that it is another one.
    another = check.field == "as_64" or OTHER_EP.match(check.seen)
    if another and last is not None and last.name in TAKING and last.ret == SUCCESS:
        return True
    return check.seen == "the event has not come" or _ANOTHER_CAME.match(check.seen) is not None


def _granted_parameter(attempt: Attempt, check: Check) -> str:
    """The parameter that a call was asked about alone, if it granted that and did something else. A
    parameter that is ignored keeps its value, and takes one that no object can have.
    """
    call = attempt.culprit
    if call is None or call.ret != SUCCESS:
        return ""
    if is_of_answer(attempt) and check.expected != (_INVALID,):
        return ""
    masks = [value for name, value in call.args if name.endswith("_mask")]
    return next(filter(ANSWER.fullmatch, masks), "")


def keys_of_event(check: Check, call: str) -> Iterator[Key]:
    """The same of an event of a wrong number: it comes from one place, whichever call takes it."""
    yield "event", names_expected(check), check.seen, call if check.seen in _LOST else ""
