# SPDX-License-Identifier: BSD-2-Clause
"""Which clauses the executable specification has a rule for, and why it has none for the others."""

import re
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum

import oracle
from runners.catalogue.clauses import Catalogue, Clause


class Reason(StrEnum):
    """Why no rule cites a clause."""

    CONSUMER = "bind the consumer, or no one"
    UNDECIDED = "are decided by no case"
    PERMISSION = "allow what a provider may do, and forbid nothing"
    REGISTRY = "are about what is registered, which is not recorded"
    MEMORY = "need contents of memory beyond messages"
    THREADS = "are about threads: who is woken, and what happens at once"
    SITUATION = "are about a situation of which rules of other clauses judge the calls"


REGISTRY = frozenset(
    f"dat_{name}"
    for name in (
        "provider_fini",
        "provider_init",
        "registry_add_provider",
        "registry_list_providers",
        "registry_remove_provider",
        "strerror",
    )
) | {"dat.conf"}
# By the name of a clause, without its page and its row.
MEMORY = re.compile(
    r"within_(structure|count|storage)|.*(leaves_outside|leaves_rest|unwritten|written|left_alone)"
    r"|moves|place|over_wire|segments|aligned|nothing|fills_in_order|many_both_ways|same_bytes_twice"
    r"|memory_kept|peer_reads|remote_refused|peer_refused|window|window_gone|privileges_enough"
)
THREADS = re.compile(r".*(threads?|wakes?|waiters?|signals?|agent|trigger|notif\w*)(_.*|$)")


def lines(catalogue: Catalogue, *, listed: bool) -> Iterator[str]:
    """A line a page, with the reasons; `listed`: and one for each clause without a rule."""
    cited = clauses_cited()
    for page in catalogue.pages:
        without = [clause for clause in page.clauses if not has_rule(clause, cited)]
        ruled = len(page.clauses) - len(without)
        yield f"{page.page}: {ruled} of {len(page.clauses)} clauses{_reasons(without)}"
        if listed:
            yield from (f"    {clause.id}: {reason(clause).name.lower()}" for clause in without)
    yield total(catalogue)


def total(catalogue: Catalogue) -> str:
    """How many clauses of the catalogue a rule cites, and why none cites the others."""
    cited = clauses_cited()
    every = list(catalogue.clauses.values())
    without = [clause for clause in every if not has_rule(clause, cited)]
    return (
        f"{len(every) - len(without)} of {len(every)} clauses are cited by a rule of the executable"
        f" specification{_reasons(without)}"
    )


def clauses_cited() -> set[str]:
    """The clauses and families that rules cite."""
    return {clause for rule in oracle.rules() for clause in rule.clauses}


def has_rule(clause: Clause, cited: set[str]) -> bool:
    """Whether a rule cites the clause, or the family that it is a row of."""
    return clause.id in cited or clause.id.rpartition("/")[0] in cited


def reason(clause: Clause) -> Reason:
    """Why a clause has no rule, as far as the catalogue tells."""
    name = clause.id.split("/")[1]
    if clause.level in ("info", "consumer"):
        return Reason.CONSUMER
    if not clause.checkable:
        return Reason.UNDECIDED
    if clause.level == "may":
        return Reason.PERMISSION
    if clause.page in REGISTRY:
        return Reason.REGISTRY
    if MEMORY.fullmatch(name):
        return Reason.MEMORY
    if THREADS.fullmatch(name):
        return Reason.THREADS
    return Reason.SITUATION


def _reasons(without: list[Clause]) -> str:
    counts = Counter(reason(clause) for clause in without)
    said = ", ".join(f"{counts[each]} {each}" for each in Reason if counts[each])
    return f"; without a rule: {said}" if said else ""
