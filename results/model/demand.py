# SPDX-License-Identifier: BSD-2-Clause
"""What an attempt's first check of the page's own call demands."""

from collections.abc import Iterable

from results.model.evidence import Call, Check

_SUCCESS = "DAT_SUCCESS"


def demand(page: str, calls: Iterable[Call], checks: Iterable[Check]) -> str | None:
    """Whether the first check of the page's own call wants it "granted", "refused", or "either".

    None if there is no such check; empty if the check admits no set of returns.
    """
    own = {call.n for call in calls if call.who == "case" and call.name == page}
    for check in checks:
        if check.role != "expect" or check.after_call not in own:
            continue
        # A check of a value may expect a constant too.
        if " == " in check.text or not check.expected:
            return ""
        if not all(word.startswith("DAT_") for word in check.expected):
            return ""
        granted = _SUCCESS in check.expected
        if granted and len(check.expected) > 1:
            return "either"
        return "granted" if granted else "refused"
    return None
