# SPDX-License-Identifier: BSD-2-Clause
"""report.json: verdicts and what they were about, the same text for the same outcome.

Ids and words only: no time, pid, address, path, seed or message, so that two runs of one provider
compare as text: but for `digest`, which tells whose report it is, a difference is one of outcome.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from results.analysis.profiles import CRITERIA, profiles
from results.analysis.waivers import accepted, judge, waived
from results.causes.cause import Cause
from results.causes.grouping import causes
from results.model.clause import Case, Clause, Waiver
from results.model.run import Run
from results.model.subject import Subject

FORMAT = 1
_COUNTS = ("walks", "steps", "calls", "judged", "states")
_ENVIRONMENT = ("kernel", "qemu", "rdma_core", "privilege")


def render(run: Run) -> Iterator[str]:
    """The canonical JSON text of `run`, in pieces."""
    told = json.JSONEncoder(indent=1, sort_keys=True, ensure_ascii=False)
    yield from told.iterencode(_run(run))
    yield "\n"


def _fact(key: str, fact: str) -> str:
    """A host's fact; of its privilege without the reasons, which stand in parentheses and may name
    paths.
    """
    if key != "privilege":
        return fact
    return "; ".join(part.split(" (", 1)[0] for part in fact.split("; "))


def _run(run: Run) -> dict[str, Any]:
    subject = run.subject
    environments = {
        tuple((key, _fact(key, host[key])) for key in _ENVIRONMENT if key in host)
        for fabric in run.fabrics
        for host in fabric.facts
    }
    waivers = waived(run)
    return {
        "causes": sorted(
            (_cause(cause) for cause in causes(run)),
            key=lambda cause: (cause["clauses"], cause["blocked"]),
        ),
        "clauses": sorted(
            (_clause(clause, waivers.get(clause.id)) for clause in run.clauses),
            key=lambda clause: str(clause["id"]),
        ),
        "complete": run.complete,
        "conclusion": run.conclusion.word,
        "counts": dict(run.counts),
        "digest": run.digest,
        "environments": [dict(items) for items in sorted(environments)],
        "explored": _explored(run),
        "fabric": run.fabric,
        "features": _features(run),
        "format": FORMAT,
        "modes": run.modes,
        "in_part": run.in_part,
        "pages": {"covered": run.covered, "of": len(run.suite.pages)},
        "parity": {
            "compared": run.parity.compared,
            "differing": sorted(case.id for case in run.parity.differing),
        },
        "profiles": {
            profile.name: {
                "broken": profile.broken,
                "clauses": profile.total,
                "inapplicable": profile.inapplicable,
                "kept": profile.kept,
                "result": profile.result,
            }
            for profile in profiles(run)
        },
        "profile_criteria": CRITERIA,
        "subject": {
            "api": subject.api,
            "build_id": subject.build_id,
            "ia": subject.ia,
            "library": subject.name,
            **({"libdat": _libdat(subject)} if subject.libdat else {}),
            "provider": run.provider,
            "sha256": subject.sha256,
        },
        "teardown": [
            {
                "call": broken.trouble.call,
                "cases": sorted(case.id for case in broken.cases),
                **({"steps": broken.walk.steps} if broken.walk else {}),
                "saw": broken.trouble.key[2],
                "what": broken.trouble.what,
                "who": broken.trouble.who,
            }
            for broken in run.breakages
        ],
        "waivers": {
            "accepted": accepted(run),
            "mended": sorted(judged.waiver.clause for judged in judge(run) if judged.mended),
            "waived_ok": run.waived_ok,
        },
        "suite": {
            "commit": run.suite.commit,
            "dirty": run.suite.dirty,
            "version": run.suite.version,
        },
    }


def _explored(run: Run) -> dict[str, Any] | None:
    """What random walks came to. Their counts depend on how fast the hosts are."""
    if not run.explore:
        return None
    done = run.explored
    return {
        "seconds": run.explore,
        "ended": run.unexplored,
        **({} if done is None else {name: getattr(done, name) for name in _COUNTS}),
    }


def _features(run: Run) -> list[dict[str, str]]:
    """The features, and whether each is declared; by what that was found, if no attribute tells."""
    needs = {item for fabric in run.fabrics for item in fabric.needs.items()}
    by = {found.feature: found.by for found in run.found}
    known = {name for name, _ in needs}
    needs |= {(name, "unknown") for name in by if name not in known}
    return [
        {"declared": value, "name": name, **({"by": by[name]} if name in by else {})}
        for name, value in sorted(needs)
    ]


def _libdat(subject: Subject) -> dict[str, str]:
    return {"library": subject.libdat.rsplit("/", 1)[-1], "sha256": subject.libdat_sha256}


def _cause(cause: Cause) -> dict[str, Any]:
    clauses = sorted(clause.id for clause in cause.clauses)
    blame = "registry" if cause.is_registrys else "provider"
    blocked = sorted(case.clause.id for case in cause.blocked)
    return {"blame": blame, "blocked": blocked, "clauses": clauses, "verdict": cause.verdict}


def _clause(clause: Clause, waiver: Waiver | None) -> dict[str, Any]:
    return {
        "blame": clause.blame,
        "cases": sorted((_case(case) for case in clause.cases), key=lambda c: str(c["id"])),
        "check": clause.check,
        "id": clause.id,
        "level": clause.level,
        "page": clause.page,
        "requirement": clause.requirement,
        **({"row": clause.row} if clause.row else {}),
        "section": clause.section,
        "verdict": clause.verdict,
        **({"waiver": asdict(waiver)} if waiver else {}),
    }


def _case(case: Case) -> dict[str, Any]:
    modes = []
    for hosts in sorted(case.modes):
        again = [a.verdict for a in case.ordered if a.hosts == hosts and a.number > 1]
        modes.append(
            {
                "again": again,
                "hosts": hosts,
                "unstable": hosts in case.unstable,
                "verdict": case.verdict(hosts),
            }
        )
    return {"id": case.id, "modes": modes}
