# SPDX-License-Identifier: BSD-2-Clause
"""`certify --quick`: the cases of cases/quick.txt, and how they are chosen."""

from benchmarks.quick import Matrix
from runners.campaign.plan.plan import load_cases
from runners.campaign.plan.quick import SHARE, quick_cases, quick_list
from runners.checkout import here
from tests.runners.fake_checkout import Cts


def test_the_list_fits_the_catalogue() -> None:
    checkout = here()
    _, cases = load_cases(checkout)
    local = [case.id for case in cases if not case.network]
    lines = quick_list(checkout).read_text().splitlines()
    listed = [line for line in lines if not line.startswith("#")]
    assert listed == sorted(set(listed))
    gone = set(listed) - set(local)
    assert not gone, "no such case: remove the line, or choose anew by benchmarks.quick"
    assert quick_cases(checkout, local) == listed
    assert 0.9 < len(listed) * SHARE / len(cases) < 1.1
    assert len({case.split("/")[0] for case in listed}) == len({case.page for case in cases})


def test_quick_runs_the_listed_cases_on_one_host_and_says_what_it_is(cts: Cts) -> None:
    cts.has("passes", "passes_too", "talks_to_peer")
    listed = "# Chosen.\ndemo_page/passes\ndemo_page/talks_to_peer\ndemo_page/gone\n"
    (cts.root / "cases/quick.txt").write_text(listed)
    done = cts("certify", "--quick")
    assert done.returncode == 0, done
    ran = {(case, hosts) for case, hosts, _, _ in cts.verdicts()}
    assert ran == {("passes", 1), ("talks_to_peer", 1)}
    assert "kept, in part" in done.stdout
    assert "this was the quick selection, 2 of 3 cases" in " ".join(done.stdout.split())


def test_quick_is_refused_where_it_chooses_nothing(cts: Cts) -> None:
    cts.has("passes")
    assert cts("certify", "--quick").returncode == 2
    (cts.root / "cases/quick.txt").write_text("demo_page/gone\n")
    assert cts("certify", "--quick").returncode == 2
    assert cts("certify", "--quick", "demo_page/passes").returncode == 64


def test_a_choice_takes_what_finds_most_in_its_time() -> None:
    own = {"a/one": {"f1"}, "a/two": {"f2"}, "a/three": {"f3"}, "a/slow": {"f4"}}
    ms = {"a/one": 10.0, "a/two": 20.0, "a/three": 30.0, "a/slow": 9000.0}
    matrix = Matrix(own, {"f4": {"a/slow", "a/three"}, "f3": {"a/three"}}, ms)
    assert matrix.choose(3) == ["a/three", "a/one", "a/two"]
    # Nothing is known of f4 but its clause.
    assert matrix.choose(3, {"f4"}) == ["a/one", "a/two", "a/three"]


def test_a_score_counts_faults_that_the_choice_has_not_seen() -> None:
    own = {f"a/{number}": {f"f{number}"} for number in range(5)}
    everywhere = {f"f{number}": set(own) for number in range(5)}
    alone = {f"f{number}": {f"a/{number}"} for number in range(5)}
    assert Matrix(own, everywhere).score(1) == 1.0
    assert Matrix(own, alone).score(1) <= 0.2
