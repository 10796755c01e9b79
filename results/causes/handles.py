# SPDX-License-Identifier: BSD-2-Clause
"""The handles that calls are given."""

import re

from results.model.evidence import Call

OBJECT = re.compile(r"\w+#\d+")


def object_of(call: Call) -> str:
    """The object that a call is given first, "cno#1"; empty for a handle of none."""
    handle = next((value for name, value in call.args if name.endswith("_handle")), "")
    return handle if OBJECT.fullmatch(handle) else ""


def takes_freed(call: Call) -> bool:
    return any(value.endswith(" (freed)") for _, value in call.args[:1])


def kind_of(call: Call) -> str:
    return object_of(call).partition("#")[0]
