# SPDX-License-Identifier: BSD-2-Clause
"""Choose the cases of `certify --quick`: a tenth of all, those that find the most faults soonest.

Run it as `.venv/bin/python -m benchmarks.quick RUN ...`. It writes cases/quick.txt. RUN is the
folder of `./udapl-cts faults --matrix --draw 1`: drawn faults met every case of their page there.
A case certainly finds the faults of its own clause, and of the drawn ones those that the runs say.
Its score is an estimate for a fault that was not drawn: a fifth of the drawn faults is left out of
the choice at a time, and counted if the chosen cases find it.
"""

import argparse
import heapq
import json
import random
import statistics
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from results.runlog.records import KEPT
from runners.campaign.mutation.campaign import FILE, OwnCases, rows_of
from runners.campaign.plan.plan import Case, load_cases
from runners.campaign.plan.quick import HEAD, SHARE, quick_list
from runners.checkout import Checkout, here

# The run's exit code is 1 after each of them.
FOUND = frozenset({"FAIL", "CRASH", "TIMEOUT", "BLOCKED"})
# What a case costs besides its own time, in ms: with less, many short cases find less in all.
FIXED_MS = 1000
UNKNOWN_MS = 300
FOLDS = 5
SEED = 36


@dataclass
class Matrix:
    """Which cases find which faults. `own` are the faults of a case's own clause, `found` what the
    runs say of drawn faults, `ms` how long a case runs without being disturbed.
    """

    own: dict[str, set[str]]
    found: dict[str, set[str]]
    ms: dict[str, float] = field(default_factory=dict)

    def choose(self, count: int, unseen: Collection[str] = ()) -> list[str]:
        """So many cases, one of each page first. Of the `unseen` faults, the choice knows only the
        clauses.
        """
        finds = {case: set(faults) for case, faults in self.own.items()}
        for fault in self.found.keys() - set(unseen):
            for case in finds:
                finds[case].discard(fault)
            for case in self.found[fault]:
                finds[case].add(fault)
        chosen: list[str] = []
        left = set().union(*finds.values())
        pages: set[str] = set()

        def place(case: str) -> tuple[bool, float]:
            return _page(case) in pages, -self._gain(case, finds[case] & left)

        # No case moves forward in the line, so the first whose place is up to date is the best.
        line = [(*place(case), case) for case in finds]
        heapq.heapify(line)
        while line and len(chosen) < count:
            *_, case = heapq.heappop(line)
            if line and (*place(case), case) > line[0]:
                heapq.heappush(line, (*place(case), case))
                continue
            chosen.append(case)
            pages.add(_page(case))
            left -= finds[case]
        return chosen

    def _gain(self, case: str, faults: Collection[str]) -> float:
        return len(faults) / (FIXED_MS + self.ms.get(case, UNKNOWN_MS))

    def score(self, count: int) -> float:
        """The share of faults that a choice of so many cases finds without having seen them."""
        drawn = sorted(self.found)
        random.Random(SEED).shuffle(drawn)
        hits = 0
        for fold in range(FOLDS):
            unseen = drawn[fold::FOLDS]
            chosen = set(self.choose(count, unseen))
            hits += sum(bool(self.found[fault] & chosen) for fault in unseen)
        return hits / len(drawn) if drawn else 0.0


def _page(name: str) -> str:
    """The page of a case or a fault."""
    return name.split("/", 1)[0]


def read(folders: Iterable[Path]) -> tuple[dict[str, dict[str, str]], dict[str, float]]:
    """The verdict of each fault and case, and how long the cases ran that were kept."""
    verdicts: dict[str, dict[str, str]] = defaultdict(dict)
    times: dict[str, list[float]] = defaultdict(list)
    for folder in folders:
        for line in (folder / FILE).read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if record["type"] != "verdict" or record["purpose"] not in ("own", "page"):
                continue
            verdicts[record["fault"]][record["case"]] = record["verdict"]
            if record["verdict"] in KEPT:
                times[record["case"]].append(record["ms"])
    return verdicts, {case: statistics.median(ms) for case, ms in times.items()}


def matrix(checkout: Checkout, folders: Iterable[Path]) -> tuple[Matrix, Sequence[Case]]:
    """What the runs say, and the cases of the suite."""
    catalogue, cases = load_cases(checkout)
    local = [case for case in cases if not case.network]
    own: dict[str, set[str]] = {case.id: set() for case in local}
    own_cases = OwnCases(local)
    for fault in rows_of(checkout, catalogue).faults:
        for case in own_cases(fault) if fault.clause else ():
            own[case.id].add(fault.id)
    verdicts, ms = read(folders)
    of_page: dict[str, int] = defaultdict(int)
    for case in local:
        of_page[_page(case.id)] += 1
    return Matrix(own, _found(verdicts, own, of_page), ms), cases


def _found(
    verdicts: Mapping[str, Mapping[str, str]],
    own: Mapping[str, set[str]],
    of_page: Mapping[str, int],
) -> dict[str, set[str]]:
    """The cases that find each fault which met all cases of its page, and was found by any."""
    found = {}
    for fault, words in verdicts.items():
        met = {case for case in words if case in own}
        finders = {case for case in met if words[case] in FOUND}
        if finders and len(met) == of_page[_page(fault)]:
            found[fault] = finders
    return found


def main() -> None:
    """Write the list, and print its score."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    options = parser.parse_args()
    checkout = here()
    known, cases = matrix(checkout, options.runs)
    count = len(cases) // SHARE
    chosen = known.choose(count)
    share, drawn = round(100 * known.score(count)), len(known.found)
    found = f"they find {share} % of {drawn} drawn faults, each unseen"
    said = f"{count} of {len(cases)} cases; {found}"
    text = "\n".join([HEAD, f"# {said} when they were chosen.", *sorted(chosen), ""])
    quick_list(checkout).write_text(text, encoding="utf-8")
    print(f"{said}: {quick_list(checkout)}")


if __name__ == "__main__":
    main()
