# SPDX-License-Identifier: BSD-2-Clause
"""Which clauses the executable specification has a rule for, and why it has none for the others."""

from collections import Counter
from collections.abc import Iterator

import oracle
from runners.catalogue.clauses import Catalogue, Clause

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
)


def lines(catalogue: Catalogue, *, listed: bool) -> Iterator[str]:
    """A line a page, with the reasons; `listed`: and one for each clause without a rule."""
    cited = {clause for rule in oracle.rules() for clause in rule.clauses}
    total = found = 0
    for page in catalogue.pages:
        without = [clause for clause in page.clauses if not has_rule(clause, cited)]
        reasons = Counter(reason(clause) for clause in without)
        said = ", ".join(f"{count} {why}" for why, count in sorted(reasons.items()))
        total += len(page.clauses)
        found += len(page.clauses) - len(without)
        yield (
            f"{page.page}: {len(page.clauses) - len(without)} of {len(page.clauses)} clauses"
            f"{'; without a rule: ' + said if said else ''}"
        )
        if listed:
            yield from (f"    {clause.id}: {reason(clause)}" for clause in without)
    yield f"{found} of {total} clauses are cited by a rule"


def has_rule(clause: Clause, cited: set[str]) -> bool:
    """Whether a rule cites the clause, or the family that it is a row of."""
    return clause.id in cited or clause.id.rpartition("/")[0] in cited


def reason(clause: Clause) -> str:
    """Why a clause has no rule, as far as the catalogue tells."""
    if clause.level in ("info", "consumer"):
        return "binds no provider"
    if not clause.checkable:
        return "undecided by any case"
    if clause.page in REGISTRY:
        return "about what is registered, which is not recorded"
    return "judged by other rules only, or not at all"
