# SPDX-License-Identifier: BSD-2-Clause
"""The registry: what dat.conf has, what an application has added, and what of it is open.

Judged is a program of its own whose dat.conf the record has (registry_conf.py). What is registered
in the process of a case itself is not recorded.
"""

from dataclasses import dataclass, field
from typing import Any

from oracle.kernel import (
    INSUFFICIENT,
    INTERNAL,
    INVALID_PARAMETER,
    Breach,
    Open,
    Refusal,
    after_elsewhere,
    describe,
    elsewhere,
    may,
    null_pointer,
    refuses,
)
from oracle.registry_conf import Conf, Key, conf_of
from oracle.registry_course import Course, course_of
from oracle.state import Side
from oracle.trace import Call

ORDERING_PREFIX = "RO_AWARE_"  # of dat_ia_open: the IA is that of the name behind it

LIST, ADD, REMOVE = (
    "dat_registry_list_providers",
    "dat_registry_add_provider",
    "dat_registry_remove_provider",
)
CALLS = {
    ADD: "registry_add_provider/opens",
    REMOVE: "registry_remove_provider/prevents",
    LIST: "registry_list_providers/as_many",
}
NOT_FOUND = "DAT_PROVIDER_NOT_FOUND"
TAKEN = "DAT_PROVIDER_ALREADY_REGISTERED"
IN_USE = "DAT_PROVIDER_IN_USE"
NAME_SPACE = 256  # DAT_NAME_MAX_LENGTH

for _name, _legal in CALLS.items():
    describe(_name, legal=_legal)


@refuses(LIST, clauses=["registry_list_providers/missing"])
def no_conf(_call: Call, _obj: Any, _side: Side) -> Refusal | Open | None:
    """Without a static registry the page names this error (REG-4)."""
    return may(INTERNAL)


@refuses(*CALLS, clauses=list(CALLS.values()))
def registered(_call: Call, _obj: Any, _side: Side) -> Refusal | Open | None:
    return Open("what is registered is not recorded")


@dataclass(slots=True)
class Registry:
    """What is registered in a program, as its calls tell."""

    conf: Conf
    added: set[Key] = field(default_factory=set)
    open: dict[str, list[Key]] = field(default_factory=dict)  # by the IA's handle
    opened: set[Key] = field(default_factory=set)  # of dat.conf, at any time
    doubted: set[Key] = field(default_factory=set)  # a close that failed may have left them open
    listed: int | None = None  # how many there were, if no IA was opened since
    doubt: bool = False  # an IA was opened of no one entry
    course: Course | None = None  # what its providers noted, if of each opening
    openings: int = 0

    def uses(self, key: Key) -> bool:
        """Whether an IA of this key is open."""
        return any(key in keys for keys in self.open.values())

    def matches(self, wanted: Key) -> list[Key]:
        """What may be opened for a consumer that wants this (REG-5)."""
        found = [
            key
            for key in {*self.conf.entries, *self.added}
            if key._replace(minor=wanted.minor) == wanted and key.minor >= wanted.minor
        ]
        plain = wanted._replace(name=wanted.name.removeprefix(ORDERING_PREFIX))
        return found if found or plain == wanted else self.matches(plain)


def _registry(call: Call, side: Side) -> Registry | None:
    """The registry of the call's program; None where the record does not tell enough of it."""
    if call.overlaps or not call.finished or null_pointer(call):
        return None
    if side.registry is None:
        conf = conf_of(side.trace)
        side.registry = Registry(conf) if conf is not None else False
        if conf is not None:
            side.registry.course = _course(conf, side)
    found = side.registry
    return found if isinstance(found, Registry) and not found.doubt else None


def _course(conf: Conf, side: Side) -> Course | None:
    course = course_of(conf, side.trace.records)
    calls = [call for process in side.trace.processes for call in process.calls]
    opened = sum(call.name == "dat_ia_openv" and call.ok for call in calls)
    return course if course is not None and len(course.opens) == opened else None


def _key(call: Call) -> Key | None:
    """What a call names."""
    info = call.arg("provider_info") if call.name in (ADD, REMOVE) else None
    if isinstance(info, dict):
        names = ("ia_name", "dapl_version_major", "dapl_version_minor", "is_thread_safe")
        parts = [info.get(name) for name in names]
    else:
        parts = [call.arg(name) for name in ("name", "dat_major", "dat_minor", "thread_safety")]
    if not isinstance(parts[0], str) or parts[3] not in ("DAT_TRUE", "DAT_FALSE"):
        return None
    name = parts[0].strip('"') if not call.typed else parts[0]
    if not isinstance(parts[1], int) or not isinstance(parts[2], int):
        return None
    return Key(name, parts[1], parts[2], parts[3] == "DAT_TRUE")


@elsewhere(
    LIST,
    clauses=[
        "registry_list_providers/as_many",
        "registry_list_providers/too_small",
        "registry_list_providers/missing",
        "registry_list_providers/no_effect",
        "registry_list_providers/fields",
        "conf/odd_line",
    ],
    rulings=["REG-4", "REG-8", "GEN-13"],
)
def lists(call: Call, _obj: Any, side: Side) -> bool | str | None:
    """All entries of dat.conf are listed, if there is room, and none that was added."""
    registry, room = _registry(call, side), call.arg("max_to_return")
    if registry is None or not isinstance(room, int) or room < 0 or call.ret == INSUFFICIENT:
        return None
    conf, told = registry.conf, call.field("entries_returned")
    if conf.missing:
        if call.ret == INTERNAL or (call.ok and told == 0):
            return True
        return Breach("registry_list_providers/missing", f"{_said(call)}, without a dat.conf")
    if not conf.known:
        return None
    if room < conf.least:
        if call.ret == INVALID_PARAMETER:
            return True
        why = f"{_said(call)} with room for {room}, and dat.conf has {conf.least} entries"
        return Breach("registry_list_providers/too_small", why)
    if not call.ok:
        if conf.most is None or room < conf.most or room == 0:
            return None
        if call.ret == INVALID_PARAMETER:
            return None  # the trace of a refused call does not tell which places are null
        return f"{_said(call)} with room for {room}, and dat.conf has {conf.most} entries"
    if not isinstance(told, int):
        return None
    if registry.listed is not None and told != registry.listed:
        why = f"lists {told} entries, and listed {registry.listed} before"
        return Breach("registry_list_providers/no_effect", why)
    if told < conf.least or (conf.most is not None and told > conf.most):
        return f"lists {told} entries, and dat.conf has {conf.least}"
    return _wrong_entry(call, conf) or True


def _wrong_entry(call: Call, conf: Conf) -> Breach | None:
    """What is listed, held to what the entries say."""
    text = call.field("dat_provider_list")
    if not isinstance(text, str):
        return None
    listed = text.strip('"').split(", ")
    for key in conf.libraries:
        if str(key) not in listed:
            return Breach("registry_list_providers/fields", f"does not list {key}")
    known = {str(key) for key in conf.entries}
    wrong = [one for one in listed if one and one not in known and not conf.odd]
    if wrong:
        why = f"lists {wrong[0]}, which is no entry of dat.conf"
        return Breach("registry_list_providers/fields", why)
    return None


def _said(call: Call) -> str:
    return "succeeds" if call.ok else f"returns {call.ret}"


@after_elsewhere(LIST)
def listed(call: Call, side: Side) -> None:
    registry = _registry(call, side)
    told = call.field("entries_returned")
    if registry is not None and call.ok and isinstance(told, int):
        registry.listed = told


@elsewhere(
    "dat_ia_openv",
    clauses=[
        "registry_list_providers/other_than_listed",
        "registry_list_providers/opens_as_listed",
        "registry_add_provider/opens",
    ],
    rulings=["REG-5", "REG-8"],
)
def opens(call: Call, _obj: Any, side: Side) -> bool | str | None:
    """What is registered is found, and nothing else is."""
    registry, key = _registry(call, side), _key(call)
    if registry is None or key is None or registry.conf.ordered:
        return None
    if call.ok:
        if not registry.conf.known or registry.conf.odd or registry.matches(key):
            return True if registry.matches(key) else None
        return f"succeeds for {key}, which is not registered"
    if call.ret != NOT_FOUND:
        return None
    if key in registry.added:
        return Breach("registry_add_provider/opens", f"does not find {key}, which was added")
    if registry.conf.libraries.get(key, "") in registry.conf.loadable:
        why = f"does not find {key}, which dat.conf has"
        return Breach("registry_list_providers/opens_as_listed", why)
    return None if registry.matches(key) else True


@elsewhere(
    "dat_ia_openv",
    clauses=[
        "registry_list_providers/opens_as_listed",
        "conf/library",
        "provider_init/before_open",
        "provider_init/instance_data",
        "provider_init/once",
        "provider_fini/once",
        "provider_fini/not_while_open",
        "provider_fini/before_unload",
    ],
)
def courses(call: Call, _obj: Any, side: Side) -> bool | str | None:
    """An entry of dat.conf is opened by its own provider, which the registry has told so."""
    registry, key = _registry(call, side), _key(call)
    if registry is None or key is None or registry.course is None or not call.ok:
        return None
    course, nth = registry.course, registry.openings
    registry.openings += 1
    if nth in course.breaches:
        return course.breaches[nth]
    by = course.opens[nth]
    if key in registry.conf.libraries and key not in registry.added and by != key:
        return f"{key} is opened by the provider of {by}"
    return True


@after_elsewhere("dat_ia_openv")
def opened(call: Call, side: Side) -> None:
    registry, key, ia = _registry(call, side), _key(call), call.field("ia_handle")
    if registry is None:
        return
    registry.listed = None
    if not call.ok or key is None:
        return
    matches = registry.matches(key)
    taken = [one for one in matches if one == key] or matches
    if len(taken) != 1 or not isinstance(ia, str):
        registry.doubt = True
        return
    registry.opened.add(taken[0])
    registry.open.setdefault(ia, []).append(taken[0])


@after_elsewhere("dat_ia_close")
def closed(call: Call, side: Side) -> None:
    """A close that fails may have closed it (REG-7)."""
    registry, ia = _registry(call, side), call.arg("ia_handle")
    if registry is None:
        return
    registry.listed = None
    keys = registry.open.get(str(ia))
    if not keys:
        registry.doubt = True
        return
    key = keys.pop()
    if not call.ok and call.ret != NOT_FOUND:
        registry.doubted.add(key)


@elsewhere(
    ADD,
    clauses=[
        "registry_add_provider/opens",
        "registry_add_provider/same_name",
        "registry_add_provider/name_of_dat_conf",
        "registry_add_provider/unterminated_name",
    ],
    rulings=["REG-6", "REG-10"],
)
def adds(call: Call, _obj: Any, side: Side) -> bool | str | None:
    """A name is added once; one of dat.conf is not while its IA is open."""
    registry, key = _registry(call, side), _key(call)
    if registry is None or key is None or registry.conf.ordered or call.ret == INSUFFICIENT:
        return None
    conf, taken = registry.conf, ""
    if len(key.name) >= NAME_SPACE:
        if not call.ok:
            return True
        return Breach("registry_add_provider/unterminated_name", "takes a name that has no end")
    if key in registry.added:
        taken = "registry_add_provider/same_name"
    elif key in conf.entries and registry.uses(key):
        taken = "registry_add_provider/name_of_dat_conf"
    if taken:
        if call.ret == TAKEN:
            return True
        return Breach(taken, f"{_said(call)} for {key}, which is registered")
    if call.ok:
        return True
    if not conf.known or conf.odd:
        return None
    if any(one.name == key.name for one in {*conf.entries, *registry.added}):
        return None
    return f"{_said(call)} for {key}, of whose name there is none"


@elsewhere(
    REMOVE,
    clauses=[
        "registry_remove_provider/prevents",
        "registry_remove_provider/in_use",
        "registry_remove_provider/not_found",
    ],
    rulings=["REG-3", "REG-7"],
)
def removes(call: Call, _obj: Any, side: Side) -> bool | str | None:
    """What was added is removed, if no IA of it is open."""
    registry, key = _registry(call, side), _key(call)
    if registry is None or key is None or registry.conf.ordered or key in registry.doubted:
        return None
    if key in registry.added or (key in registry.conf.entries and registry.uses(key)):
        if registry.uses(key):
            if call.ret == IN_USE:
                return True
            why = f"{_said(call)} for {key}, of which an IA is open"
            return Breach("registry_remove_provider/in_use", why)
        return True if call.ok else f"{_said(call)} for {key}, which was added"
    if not registry.conf.known or registry.conf.odd or key in registry.opened:
        return None
    if call.ret in (INVALID_PARAMETER, NOT_FOUND):
        return True
    why = f"{_said(call)} for {key}, which was not added"
    return Breach("registry_remove_provider/not_found", why)


@after_elsewhere(ADD, REMOVE)
def changed(call: Call, side: Side) -> None:
    """What is registered afterwards, if the call was granted."""
    registry, key = _registry(call, side), _key(call)
    if registry is None or not call.ok:
        return
    if key is None:
        registry.doubt = True
    elif call.name == ADD:
        registry.added.add(key)
    else:
        registry.added.discard(key)
