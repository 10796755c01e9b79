# SPDX-License-Identifier: BSD-2-Clause
"""What a row can break in the faulty libdat: its calls, and what it does by itself."""

from __future__ import annotations

from typing import Any

from faults.rows import ACTS, DISPATCH, REGISTRY_CALLS, Facts

PROVIDER_INFO = ["IN", "const DAT_PROVIDER_INFO *", "provider_info"]

# What libdat does by itself, as if these were calls. A parameter without a name is our own.
ACT_PARAMS = {
    "dat_provider_init": [
        PROVIDER_INFO,
        ["IN", "const char *", "instance_data"],
        ["", "void *", ""],
    ],
    "dat_provider_fini": [PROVIDER_INFO, ["", "void *", ""]],
    "library load": [["IN", "const char *", "path"], ["", "void *", ""]],
    "library unload": [["", "void *", ""]],
    "provider hold": [["IN", "const DAT_PROVIDER_INFO *", "wanted"], ["", "void *", ""]],
    "provider release": [["IN", "DAT_COUNT", "holders"], ["", "void *", ""]],
    "conf override": [["IN", "const char *", "name"], ["", "void *", ""]],
    "conf open": [["IN", "const char *", "path"], ["", "void *", ""]],
    "conf line": [
        ["IN", "const char *", "line"],
        ["IN", "DAT_COUNT", "number"],
        ["", "void *", ""],
    ],
}
assert set(ACT_PARAMS) == ACTS


def exports(facts: Facts) -> dict[str, list[list[str]]]:
    """The functions of libdat, those that it passes on last, with their parameters."""
    slots = facts["provider_table"]["slots"]
    passed_on = [slot["function"] for slot in slots if "function" in slot]
    return {name: facts["functions"][name]["params"] for name in [*REGISTRY_CALLS, *passed_on]}


def calls_of(facts: Facts) -> dict[str, dict[str, Any]]:
    """What `on` can name, with its parameters."""
    calls = {
        name if name in REGISTRY_CALLS else DISPATCH + name: {"params": params}
        for name, params in exports(facts).items()
    }
    return calls | {name: {"params": params} for name, params in ACT_PARAMS.items()}


def declaration(name: str, params: list[list[str]]) -> str:
    """The head of a function of libdat."""
    return f"DAT_RETURN {name}({', '.join(_parameter(param) for param in params)})"


def _parameter(param: list[str]) -> str:
    c_type, array, _ = param[1].partition("[]")
    space = "" if c_type.endswith("*") else " "
    return f"{c_type}{space}{param[2]}{array}"


def text_at(params: list[list[str]]) -> int:
    """Which parameter `edit` edits, counted from 1; 0 where there is none."""
    texts = [i + 1 for i, param in enumerate(params) if param[1] == "const char *"]
    return texts[0] if texts else 0
