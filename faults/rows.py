# SPDX-License-Identifier: BSD-2-Clause
"""Faults as their .toml files say them; docs/fault-rows.md has the words.

A catalogue file with a [standard] table stands for the faults of its standard clauses.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from cases import standard

Facts = dict[str, Any]

# What libdat itself is asked, what it does by itself, and how its passing on of a call is named: a
# fault that is set off by one of these is the faulty libdat's.
REGISTRY_CALLS = (
    "dat_ia_openv",
    "dat_registry_add_provider",
    "dat_registry_list_providers",
    "dat_registry_remove_provider",
    "dat_strerror",
)
ACTS = {
    "conf line",
    "conf open",
    "conf override",
    "dat_provider_fini",
    "dat_provider_init",
    "library load",
    "library unload",
    "provider hold",
    "provider release",
}
DISPATCH = "dispatch of "
ANY_DISPATCH = "any dispatch"


def is_libdats(trigger: str) -> bool:
    """Whether `on` or `after` names something of libdat's."""
    return (
        trigger in ACTS
        or trigger in REGISTRY_CALLS
        or trigger == ANY_DISPATCH
        or trigger.startswith(DISPATCH)
    )


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing that goes wrong: where, when, and what."""

    on: list[str]
    do: str
    when: str = ""
    after: list[str] = field(default_factory=list)
    after_when: str = ""
    after_nth: int = 0
    remember: str = ""
    returns: str = ""
    set: dict[str, str] = field(default_factory=dict)
    args: dict[str, str] = field(default_factory=dict)
    keep: list[str] = field(default_factory=list)
    edit: list[str] = field(default_factory=list)
    call: str = ""
    number: str = ""
    late_ms: int = 0
    nth: int = 1
    times: int = 0
    function: str = ""
    any_object: bool = False


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One [[fault]]. `clause` is what it violates: a clause, or a family of them, `but` for rows
    that permit it.

    A hostile fault has no clause: `verdicts` are those that it may cost the case that meets it, and
    `teardown` the calls that may then be found broken in its teardown; "none" is that nothing is.

    `found_by` is empty if a case of the clause has to find the fault. "explore": no case does, and
    random walks have to.
    """

    path: Path
    id: str
    text: str
    steps: list[Step]
    clause: str = ""
    but: list[str] = field(default_factory=list)
    case: str = ""
    verdicts: list[str] = field(default_factory=list)
    teardown: list[str] = field(default_factory=lambda: ["none"])
    found_by: str = ""

    @property
    def name(self) -> str:
        """The last part of its id."""
        return self.id.rsplit("/", 1)[-1]

    def violates(self, case: str) -> bool:
        """Whether this is the case of its clause, or of a row of it that it violates."""
        if not self.clause or case in (f"{self.clause}/{row}" for row in self.but):
            return False
        return case == self.clause or case.startswith(f"{self.clause}/")

    @property
    def in_libdat(self) -> bool:
        """Whether it is libdat that is wrong, and not the provider."""
        return is_libdats(self.steps[0].on[0])


@dataclass(frozen=True, kw_only=True)
class NoFault:
    """One [[no_fault]]: a clause whose violation the boundary cannot express, and why."""

    path: Path
    clause: str
    reason: str


class RowError(Exception):
    """A row that cannot be compiled."""

    def __init__(self, path: Path, id_: str, reason: str) -> None:
        super().__init__(f"{path}: {id_}: {reason}")


KINDS: dict[str, type] = {
    "str": str,
    "int": int,
    "bool": bool,
    "list[str]": list,
    "dict[str, str]": dict,
}
STEP_KINDS = {known.name: KINDS[str(known.type)] for known in fields(Step)}
STEP_KEYS = set(STEP_KINDS)
FAULT_KEYS = {known.name for known in fields(Fault)} - {"path", "steps"} | {"step"}
STEPS_MAX = 16
FINDERS = ("", "explore")


def _demand(
    path: Path, id_: str, raw: dict[str, Any], required: Iterable[str], known: set[str]
) -> None:
    missing = [key for key in required if key not in raw]
    unknown = sorted(set(raw) - known)
    if missing:
        raise RowError(path, id_, f"{', '.join(missing)} is missing")
    if unknown:
        raise RowError(path, id_, f"unknown key {', '.join(unknown)}")


def _step(path: Path, id_: str, raw: dict[str, Any]) -> Step:
    _demand(path, id_, raw, ("on", "do"), STEP_KEYS)
    values = dict(raw)
    for key in ("on", "after"):
        if isinstance(values.get(key), str):
            values[key] = [values[key]]
    for key, value in values.items():
        if not isinstance(value, STEP_KINDS[key]):
            raise RowError(path, id_, f"{key} is no {STEP_KINDS[key].__name__}")
    if "nth" in values and "times" not in values:
        values["times"] = 1
    return Step(**values)


def _fault(path: Path, raw: dict[str, Any]) -> Fault:
    id_ = str(raw.get("id", "a fault without an id"))
    if "step" in raw:
        _demand(path, id_, raw, ("id", "text"), FAULT_KEYS)
        steps = raw["step"]
    else:
        _demand(path, id_, raw, ("id", "text"), FAULT_KEYS | STEP_KEYS)
        steps = [{key: value for key, value in raw.items() if key in STEP_KEYS}]
    if len(steps) > STEPS_MAX:
        raise RowError(path, id_, f"more than {STEPS_MAX} steps")
    values = {key: value for key, value in raw.items() if key in FAULT_KEYS - {"step"}}
    fault = Fault(path=path, steps=[_step(path, id_, step) for step in steps], **values)
    triggers = {trigger for step in fault.steps for trigger in (*step.on, *step.after)}
    if len({is_libdats(trigger) for trigger in triggers}) != 1:
        raise RowError(path, id_, "of libdat and the provider, one can be wrong, not both")
    if fault.found_by not in FINDERS:
        raise RowError(path, id_, f"found_by is {fault.found_by!r}, not {FINDERS[-1]!r}")
    if fault.found_by and (fault.in_libdat or fault.but or not fault.clause):
        raise RowError(path, id_, "walks find faults of a provider that violate one clause each")
    return fault


@cache
def _parsed(path: Path, _modified: int, _size: int) -> tuple[Facts, standard.Standard | None]:
    """Faults, and reasons why there is none, are in the same files: each is parsed once."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return tables, standard.read(path.stem, tables)


def _read(path: Path, table: str) -> list[dict[str, Any]]:
    try:
        status = os.stat(path)
        tables, page = _parsed(path, status.st_mtime_ns, status.st_size)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RowError(path, "the file", str(error)) from error
    except standard.StandardError as error:
        raise RowError(path, "standard", str(error)) from error
    rows: list[dict[str, Any]] = tables.get(table, [])
    if page and table == "fault":
        return [*rows, *standard.faults(page)]
    return rows


def load_faults(paths: Iterable[Path]) -> list[Fault]:
    """All faults of the files, in order; RowError where a row makes no sense or an id is taken."""
    faults: dict[str, Fault] = {}
    for path in paths:
        for raw in _read(path, "fault"):
            fault = _fault(path, raw)
            if fault.id in faults:
                raise RowError(path, fault.id, f"the id is taken in {faults[fault.id].path}")
            faults[fault.id] = fault
    return list(faults.values())


def load_variants(paths: Iterable[Path]) -> list[Fault]:
    """All [[variant]] rows of the files: faults that break nothing. `variant/` begins their ids."""
    variants = []
    for path in paths:
        for raw in _read(path, "variant"):
            variant = _fault(path, raw)
            if {"clause", "but", "case", "verdicts", "teardown", "found_by"} & set(raw):
                raise RowError(path, variant.id, "a variant breaks nothing, wherever it is met")
            variants.append(replace(variant, id=f"variant/{variant.id}"))
    return variants


def load_no_faults(paths: Iterable[Path]) -> list[NoFault]:
    """All [[no_fault]] rows of the files, in order."""
    rows = []
    for path in paths:
        for raw in _read(path, "no_fault"):
            clause = str(raw.get("clause", "a no_fault without a clause"))
            _demand(path, clause, raw, ("clause", "reason"), {"clause", "reason"})
            rows.append(NoFault(path=path, **raw))
    return rows
