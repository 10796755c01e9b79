# SPDX-License-Identifier: BSD-2-Clause
"""What a reader must know first: where hosts differ that should be alike."""

from collections.abc import Iterable, Mapping

from results.model.run import Run
from results.model.subject import NO_PRIVILEGE

# What may differ from host to host, or is compared with the subject instead.
_OWN = frozenset({"name", "address", "provider", "slots"})
_OWN_ATTRIBUTES = frozenset({"adapter_name", "ia_address_ptr"})


def warnings(run: Run) -> list[str]:
    """One sentence for each thing in which hosts, or what they loaded, differ."""
    facts: dict[str, dict[str, str]] = {}
    attributes: dict[str, dict[str, str]] = {}
    build_ids: dict[str, str] = {}
    digests: dict[str, str] = {}
    for fabric in run.fabrics:
        for host in fabric.facts:
            values = {key: value for key, value in host.items() if key not in _OWN}
            facts.setdefault(host.get("name", ""), values)
            digests.setdefault(host.get("name", ""), host.get("provider", ""))
        for host, ia in zip(fabric.facts, fabric.each, strict=False):
            name = host.get("name", "")
            if ia.opened:
                own = {k: v for k, v in ia.attributes.items() if k not in _OWN_ATTRIBUTES}
                attributes.setdefault(name, own)
                build_ids.setdefault(name, ia.build_id)
    return [
        *_privileged(facts),
        *_differing("The hosts differ in", facts),
        *_differing("The IAs of the hosts differ in", attributes),
        *_other_library("build id", run.subject.build_id, build_ids),
        *_other_library("SHA-256", run.subject.sha256, digests),
    ]


def _differing(what: str, hosts: Mapping[str, Mapping[str, str]]) -> Iterable[str]:
    for key in dict.fromkeys(key for values in hosts.values() for key in values):
        by_value: dict[str, list[str]] = {}
        for host, values in hosts.items():
            by_value.setdefault(values.get(key, ""), []).append(host)
        if len(by_value) > 1:
            said = "; ".join(f"{value or 'none'} on {_names(h)}" for value, h in by_value.items())
            yield f"{what} {key}: {said}."


def _privileged(hosts: Mapping[str, Mapping[str, str]]) -> Iterable[str]:
    """What cases kept that can be taken from them."""
    by_value: dict[str, list[str]] = {}
    for host, values in hosts.items():
        if values.get("privilege", NO_PRIVILEGE) != NO_PRIVILEGE:
            by_value.setdefault(values["privilege"], []).append(host)
    for value, names in by_value.items():
        yield f"Cases were run with privilege on {_names(names)}: they kept {value}."


def _other_library(what: str, own: str, loaded: Mapping[str, str]) -> Iterable[str]:
    for host, other in loaded.items():
        if own and other and other != own:
            yield f"{host} has another provider than the subject: its {what} is {other}."


def _names(hosts: list[str]) -> str:
    return ", ".join(hosts[:4]) + (f" and {len(hosts) - 4} more" if len(hosts) > 4 else "")
