# SPDX-License-Identifier: BSD-2-Clause
"""The handles that calls are given."""

import re
from collections.abc import Iterable

from results.model.evidence import Call

SUCCESS = "DAT_SUCCESS"
NULL = "DAT_HANDLE_NULL"
MAKING = ("_create", "_create_any", "_create_with_srq")
OBJECT = re.compile(r"\w+#\d+")


def object_of(call: Call) -> str:
    """The object that a call is given first, "cno#1"; empty for a handle of none."""
    handle = next((value for name, value in call.args if name.endswith("_handle")), "")
    return handle if OBJECT.fullmatch(handle) else ""


def takes_freed(call: Call) -> bool:
    return any(value.endswith(" (freed)") for _, value in call.args[:1])


def made_nothing(calls: Iterable[Call]) -> str:
    """The first of the case's calls that succeeded and gave no object but the null handle."""
    return next((call.name for call in calls if call.who == "case" and _gives_null(call)), "")


def _gives_null(call: Call) -> bool:
    handles = [value for name, value in call.out if name.endswith("_handle")]
    return call.ret == SUCCESS and handles == [NULL] and call.name.endswith(MAKING)


def kind_of(call: Call) -> str:
    return object_of(call).partition("#")[0]
