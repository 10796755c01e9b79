# SPDX-License-Identifier: BSD-2-Clause
"""What was wrong, in words."""

import re

from results.causes.crash_hang import crashed_beside, crashed_in, hangs_in
from results.causes.shown import ANSWER, is_of_answer, is_of_event
from results.model.attempt import Attempt, Verdict

# A step that failed by what its call returned.
_REFUSES = re.compile(r"returned DAT_(?!SUCCESS|\w*_EVENT)")


def what_was_wrong(attempt: Attempt) -> str:
    """What was wrong, without the call."""
    check = attempt.failed_check
    crashed = attempt.crash is not None and not attempt.crash.teardown and not attempt.in_vain
    if attempt.verdict is Verdict.CRASH or (attempt.blocked and crashed):
        signal = attempt.crash.signal if attempt.crash else ""
        frame = crashed_in(attempt)
        place = f" in {frame}" if frame else ""
        beside = ", in a thread of the provider" if crashed_beside(attempt) else ""
        return f"{signal or attempt.reason or 'crash'}{place}{beside}"
    if attempt.verdict is Verdict.TIMEOUT:
        place = f" in {function}" if (function := hangs_in(attempt)) else ""
        said = "no return" if attempt.pending else attempt.reason or "no end of the case"
        return f"{said}{place}"
    if attempt.refusal:
        refused = ANSWER.match(attempt.refusal)
        said = attempt.refusal.removeprefix(f"{attempt.blocked} ")
        return f"returned {said}" if refused else said
    if check is None or attempt.verdict is Verdict.CONTRADICTED:
        return attempt.reason or "no reason was recorded"
    if is_of_answer(attempt) or is_of_event(check):
        return f"expected {' or '.join(check.expected)}, saw {check.seen}"
    if check.subject and check.expected:
        return f"{check.subject}: expected {' or '.join(check.expected)}, saw {check.seen}"
    if check.is_condition and check.seen:
        # The message of the check says what was seen.
        return check.seen
    if check.expected and check.seen:
        return f"{check.title}: expected {' or '.join(check.expected)}, saw {check.seen}"
    return f"{check.text} does not hold, {check.file}:{check.line}"


def what_it_did(attempt: Attempt) -> str:
    """What the call did, behind its name in a sentence; empty where what_was_wrong() has to do."""
    check, what = attempt.failed_check, what_was_wrong(attempt)
    if attempt.verdict is Verdict.CRASH:
        return f" crashed: {what}"
    if attempt.verdict is Verdict.TIMEOUT and what.startswith("no return"):
        return f" did not return{what.removeprefix('no return').replace(' in ', ' from ', 1)}"
    if attempt.refusal:
        return f" {what}, and had to succeed" if _REFUSES.match(what) else ""
    if check is None or attempt.verdict is Verdict.CONTRADICTED:
        return ""
    wanted = " or ".join(check.expected)
    if is_of_answer(attempt):
        return f" returned {check.seen}, and had to return {wanted}"
    if is_of_event(check):
        return f" led to {check.seen}, and had to lead to {wanted}"
    if check.subject and check.expected:
        return f": {check.subject} was {check.seen}, and had to be {wanted}"
    return ""
