# SPDX-License-Identifier: BSD-2-Clause
"""Statements: what an organisation says of a product, and whether a run bears it out."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from results.analysis.profiles import profiles
from results.errors import InputError
from results.model.run import Run
from runners.bounded import read_bytes
from runners.names import nearest

_SCHEMA = Path(__file__).resolve().parents[2] / "docs/statement.schema.json"
_WORDS = {"conformant": 2, "kept, in part": 1}


def read(path: Path, run: Run) -> dict[str, Any]:
    """The statement of the file `path`, TOML or JSON by its name. Raises InputError for one that
    cannot be read, is none, or claims what `run` does not support.
    """
    try:
        text = read_bytes(path).decode()
        table: Any = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise InputError(f"cannot read the statement {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: {error}") from error
    if wrong := malformed(table):
        raise InputError(f"{path}: {wrong}; docs/package.md shows one")
    if wrong := next(overstated(table, run), ""):
        raise InputError(f"{path}: {wrong}")
    return dict(table)


def malformed(statement: object) -> str:
    """Why this is no statement; nothing where it is one."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    schema = json.loads(_SCHEMA.read_text(encoding="utf-8"))
    wrong = best_match(Draft202012Validator(schema).iter_errors(statement))
    if wrong is None:
        return ""
    place = "".join(f"{part}: " for part in wrong.absolute_path)
    return f"{place}{wrong.message}"[:300]


def overstated(statement: Mapping[str, Any], run: Run) -> Iterator[str]:
    """What a well-formed statement says that the run does not support, a clause each."""
    found = {profile.name: profile for profile in profiles(run)}
    for name in statement["claims"]:
        if name not in found:
            yield f"it claims {name!r}, and there is no such profile{nearest(name, found)}"
        elif found[name].result != "success":
            profile = found[name]
            yield f"it claims {name}, and that is {profile.result}: {profile.because}"
    claimed = statement.get("conclusion", "")
    if _WORDS.get(claimed, 0) > _WORDS.get(run.conclusion.word, 0):
        yield f"it claims {claimed!r}, and the run is {run.conclusion.word}"
    firmware = {
        host["firmware"] for fabric in run.fabrics for host in fabric.facts if host.get("firmware")
    }
    known = {each for each in firmware if not each.endswith("unknown")}
    if known and not any(statement["firmware"] in each for each in known):
        told = ", ".join(sorted(firmware))
        yield f"it says firmware {statement['firmware']!r}, and the hosts tell {told}"
