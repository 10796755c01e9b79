# SPDX-License-Identifier: BSD-2-Clause
"""Packages: all that there is of a run in one file, which others can look through by themselves."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reports.render import FORMATS, render
from results.analysis import mutation
from results.errors import InputError, ReportError
from results.model.load import load
from results.model.run import Run
from results.runlog import records
from runners.package import archive, signature, statement
from runners.package.archive import DAT_CONF, FAULTS, MANIFEST, SIGNATURE, STATEMENT

FORMAT = 1


def make(
    folder: Path, results: Path, out: Path, said: Path | None, key: Path | None
) -> tuple[Run, dict[str, Any]]:
    """Package the run in `folder` into the file `out`, with the statement `said` and signed by
    `key`; the run, and the package's manifest. `results` has the faults runs. Raises InputError.
    """
    if out.exists():
        raise InputError(f"{out} is there already: choose another --out")
    if records.in_progress(folder):
        raise InputError(f"a run is going on in {folder}: wait for its end")
    with tempfile.TemporaryDirectory(prefix="udapl-cts-") as name:
        work = Path(name)
        try:
            shutil.copyfile(folder / records.EVENTS, work / records.EVENTS)
            run = load(work)
            if said is not None:
                text = text_of(statement.read(said, run))
                (work / STATEMENT).write_text(text, encoding="utf-8")
            for fmt in FORMATS:
                render(work, fmt, run)
        except ReportError as error:
            raise InputError(str(error)) from error
        except OSError as error:
            raise InputError(f"cannot package {folder}: {error.strerror}") from error
        if (folder / DAT_CONF).is_file():
            shutil.copyfile(folder / DAT_CONF, work / DAT_CONF)
        proof = proof_of(results, run)
        if proof is not None:
            shutil.copyfile(proof / mutation.FILE, work / FAULTS)
        files = {entry.name: entry for entry in work.iterdir()}
        manifest = manifest_of(run, files)
        (work / MANIFEST).write_text(text_of(manifest), encoding="utf-8")
        files[MANIFEST] = work / MANIFEST
        if key is not None:
            signature.sign(work / MANIFEST, key)
            files[SIGNATURE] = work / SIGNATURE
        _write(out, files)
    return run, manifest


def manifest_of(run: Run, files: Mapping[str, Path]) -> dict[str, Any]:
    """What a package says of itself: what it is about, and the digest of each of its `files`."""
    subject, suite = run.subject, run.suite
    return {
        "format": FORMAT,
        "run": run.id,
        "records": {"count": run.records, "digest": run.digest},
        "conclusion": run.conclusion.word,
        "suite": {
            "version": suite.version,
            "commit": suite.commit,
            "dirty": suite.dirty,
            "binary": suite.binary,
        },
        "subject": {
            "library": subject.name,
            "api": subject.api,
            "sha256": subject.sha256,
            "build_id": subject.build_id,
        },
        "hosts": [dict(host) for fabric in run.fabrics for host in fabric.facts],
        "waivers": sorted(waiver.clause for waiver in run.waivers),
        "proof": digest(files[FAULTS]) if FAULTS in files else "none: no faults run of this commit",
        "files": {
            name: {"sha256": digest(path), "size": path.stat().st_size}
            for name, path in sorted(files.items())
            if name not in (MANIFEST, SIGNATURE)
        },
    }


def text_of(value: Any) -> str:
    """The one way in which a package writes JSON."""
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def proof_of(results: Path, run: Run) -> Path | None:
    """The newest faults run of the very suite that `run` was made with, which came to its end."""
    for path in sorted(results.glob(f"faults-*/{mutation.FILE}"), reverse=True):
        try:
            found = mutation.load(path.parent)
        except ReportError:
            continue
        if proves(found, run) == "" and found.status == "complete":
            return path.parent
    return None


def proves(found: mutation.Mutation, run: Run) -> str:
    """Why a faults run says nothing of the suite of `run`; nothing where it does."""
    suite = found.head.get("suite", {})
    if not run.suite.tree or suite.get("commit") != run.suite.commit:
        return f"it is of commit {suite.get('commit')}, and the run of {run.suite.commit}"
    if suite.get("dirty") or run.suite.dirty:
        return "of a suite with local changes a commit says nothing"
    return ""


def _write(out: Path, files: Mapping[str, Path]) -> None:
    """Write the package as a whole, or leave nothing."""
    fresh = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        archive.write(fresh, files)
        fresh.replace(out)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise InputError(f"cannot write {out}: {error.strerror}") from error
