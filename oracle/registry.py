# SPDX-License-Identifier: BSD-2-Clause
"""The registry: what is registered is not recorded, so its calls are judged by their returns."""

from typing import Any

from oracle.kernel import INTERNAL, Open, Refusal, describe, may, refuses
from oracle.state import Side
from oracle.trace import Call

CALLS = {
    "dat_registry_add_provider": "registry_add_provider/opens",
    "dat_registry_remove_provider": "registry_remove_provider/prevents",
    "dat_registry_list_providers": "registry_list_providers/as_many",
}
for _name, _legal in CALLS.items():
    describe(_name, legal=_legal)


@refuses("dat_registry_list_providers", clauses=["registry_list_providers/missing"])
def no_conf(_call: Call, _obj: Any, _side: Side) -> Refusal | Open | None:
    """Without a static registry the page names this error (REG-4)."""
    return may(INTERNAL)


@refuses(*CALLS, clauses=list(CALLS.values()))
def registered(_call: Call, _obj: Any, _side: Side) -> Refusal | Open | None:
    return Open("what is registered is not recorded")
