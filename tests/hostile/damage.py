# SPDX-License-Identifier: BSD-2-Clause
"""Records that were damaged after they were written: none makes a run look better than it was."""

import random
from contextlib import suppress
from pathlib import Path

from reports.render import FORMATS, render
from results.errors import InputError, ReportError
from results.model.load import load
from results.model.run import Run
from results.runlog.records import EVENTS
from runners.campaign.schedule.tally import Past
from tests.hostile.figures import Figures
from tests.hostile.wild import wild
from tests.reports.synthetic_run import read_lines, write_lines
from tests.runners.fake_checkout import Cts

BETTER, FAILED = "verdicts wrong", "readers failed"
CASES = ("passes_1", "passes_2", "notes", "fails", "crashes", "lies", "unsupported", "lacks")
# How a packed file begins.
PACKED = b"\x28\xb5\x2f\xfd"
WORDS = (b"PASS", b"FAIL", b"CRASH", b"NOTE", b"UNSUPPORTED", b"CONTRADICTED", b"ERROR")


def damage(cts: Cts, count: int, rng: random.Random) -> Figures:
    """Damage the record of a run that is not conformant `count` times, and read it."""
    figures = Figures("records damaged", (BETTER, FAILED))
    cts.has(*CASES, "talks_to_peer")
    assert cts("certify", "--seed", "1").returncode == 1
    packed = (cts.runs / "latest" / EVENTS).read_bytes()
    good = b"".join(read_lines(cts.runs / "latest"))
    known = _verdicts(load(cts.runs / "latest"))
    folder = cts.root / "damaged"
    folder.mkdir()
    for _ in range(count):
        data = _damaged(rng, good, packed)
        if data in (good, packed):
            continue
        if data.startswith(PACKED):
            (folder / EVENTS).write_bytes(data)
        else:
            write_lines(folder, data.splitlines(keepends=True))
        figures.count()
        try:
            for harm in _read(folder, known):
                figures.harm(BETTER, harm)
        except Exception as error:
            figures.harm(FAILED, f"{type(error).__name__}: {error}")
    return figures


def _damaged(rng: random.Random, good: bytes, packed: bytes) -> bytes:
    """What happens to the lines, or to the file that they are packed in."""
    if rng.random() < 0.3:
        return PACKED + wild(rng, [packed]).removeprefix(PACKED)
    if rng.random() < 0.3:
        # What a liar would do: another word where a verdict stands.
        found = [word for word in WORDS if word in good]
        return good.replace(rng.choice(found), rng.choice(WORDS), rng.randint(1, 3))
    return wild(rng, [good])


def _read(folder: Path, known: dict[tuple[str, int], str]) -> list[str]:
    """What a reader of this record believes that was not so."""
    try:
        run = load(folder)
    except ReportError:
        return []
    with suppress(InputError):
        Past.read(folder)
    for fmt in FORMATS:
        render(folder, fmt, run)
    believed = _verdicts(run)
    wrong = [f"{key}: {word}" for key, word in believed.items() if known.get(key) != word]
    if run.conclusion.word == "conformant":
        wrong.append("it is called conformant")
    return wrong


def _verdicts(run: Run) -> dict[tuple[str, int], str]:
    verdicts = {(case.id, hosts): case.verdict(hosts) for case in run.cases for hosts in case.modes}
    return {key: str(word) for key, word in verdicts.items() if word not in (None, "NOT-RUN")}
