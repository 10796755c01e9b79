# SPDX-License-Identifier: BSD-2-Clause
"""Which clauses have a rule of the executable specification, and why the others have none."""

from pathlib import Path

import pytest

from runners.catalogue.clauses import Catalogue, load
from runners.catalogue.ruled import Reason, clauses_cited, has_rule, lines, reason, total

ROOT = Path(__file__).parents[3]


@pytest.fixture(name="catalogue", scope="module")
def _catalogue() -> Catalogue:
    return load(ROOT / "cases")


@pytest.mark.parametrize(
    ("clause", "why"),
    [
        ("ep_recv_query/one_thread", Reason.CONSUMER),
        ("srq_query/no_mask", Reason.PERMISSION),
        ("strerror/success", Reason.REGISTRY),
        ("ep_recv_query/within_count/span", Reason.MEMORY),
        ("ep_post_rdma_read/moves/at_512", Reason.MEMORY),
        ("srq_resize/keeps_waiter/grow", Reason.THREADS),
        ("ep_recv_query/counted_complete", Reason.SITUATION),
    ],
)
def test_each_reason(catalogue: Catalogue, clause: str, why: Reason) -> None:
    """The reason is one of few, and does not depend on the row of a family."""
    assert reason(catalogue.clauses[clause]) is why


def test_rows_have_the_rule_of_their_family(catalogue: Catalogue) -> None:
    """A rule that cites a family has all its rows."""
    cited = clauses_cited()
    assert has_rule(catalogue.clauses["srq_query/field/max_recv_dtos"], cited)
    assert not has_rule(catalogue.clauses["srq_query/no_mask"], cited)


def test_all_clauses_are_counted(catalogue: Catalogue) -> None:
    """Those with a rule and those of each reason are all clauses."""
    told = total(catalogue)
    assert told in list(lines(catalogue, listed=False))
    counts = [int(word) for word in told.replace(";", " ").split() if word.isdigit()]
    assert counts[0] + sum(counts[2:]) == counts[1] == len(catalogue.clauses)
