# SPDX-License-Identifier: BSD-2-Clause
"""The hosts file of the ssh fabric: TOML in, checked entries out (docs/hosts.schema.json)."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from results.errors import InputError
from runners.inputs import read_toml

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

_SCHEMA = Path(__file__).resolve().parents[2] / "docs/hosts.schema.json"
_HOST_TABLE = re.compile(r"\s*\[\[\s*host\s*\]\]")
_ANY_TABLE = re.compile(r"\s*\[")
# What a pattern of the schema demands, in words.
_PATTERNS = {
    "name": "a name of letters, digits and . _ -",
    "address": "a host's name or address, as ssh takes it",
    "user": "a user's name",
    "dat_conf": "a full path",
    "directory": "a full path",
}


@dataclass(frozen=True)
class Entry:
    """A host as the file has it; `dat_conf` and `directory` are paths on that host."""

    name: str
    address: str
    user: str = ""
    port: int = 0
    ia: str = ""
    dat_conf: str = ""
    ia_params: str | None = None
    role: str = "any"
    files: str = "copy"
    directory: str = ""


@dataclass(frozen=True)
class HostsFile:
    """The hosts in the order in which they are preferred; `ssh_config` is a path, or empty."""

    hosts: tuple[Entry, ...]
    ssh_config: str


def read(path: Path) -> HostsFile:
    """The hosts file at `path`; raises InputError, which says in which line of which host."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    content = read_toml(path, "the hosts file")
    text = path.read_text(encoding="utf-8")
    schema = json.loads(_SCHEMA.read_text(encoding="utf-8"))
    wrong = best_match(Draft202012Validator(schema).iter_errors(content))
    if wrong is not None:
        raise InputError(_explain(path, text, content, wrong))
    defaults = content.get("defaults", {})
    rows = [{"name": row["address"], **defaults, **row} for row in content["host"]]
    _refuse_twins(path, text, rows)
    ssh_config = content.get("ssh_config", "")
    if ssh_config:
        ssh_config = str(path.absolute().parent / Path(ssh_config).expanduser())
    return HostsFile(tuple(Entry(**row) for row in rows), ssh_config)


def _explain(path: Path, text: str, content: dict[str, Any], wrong: "ValidationError") -> str:
    """One line about what is wrong, and where."""
    where: Sequence[str | int] = list(wrong.absolute_path)
    key = str(where[-1]) if where and isinstance(where[-1], str) else ""
    if wrong.validator == "additionalProperties":
        unknown = re.search(r"'([^']*)' was|\('([^']*)'", wrong.message)
        key = next((name for name in unknown.groups() if name), "") if unknown else ""
    message = wrong.message
    if wrong.validator == "pattern":
        message = f"{wrong.instance!r} is not {_PATTERNS.get(key, 'one line of text')}"
    elif wrong.validator == "additionalProperties" and key:
        message = f"there is no key {key!r} here"
    elif wrong.validator == "required" and not where:
        message = "it has no [[host]]"
    if where[:1] == ["host"] and len(where) > 1 and isinstance(where[1], int):
        row = content["host"][where[1]]
        named = row.get("name") or row.get("address") if isinstance(row, dict) else None
        about = f"host {where[1] + 1}" + (f" ({named})" if named else "")
        return f"{path}:{_line(text, where[1], key)}: {about}: {_with_key(key, message)}"
    return f"{path}: {_with_key(key, message)}"


def _with_key(key: str, message: str) -> str:
    return message if not key or repr(key) in message else f"{key}: {message}"


def _line(text: str, index: int, key: str) -> int:
    """The line of the host's table, or of `key` in it where that can be found."""
    lines = text.splitlines()
    tables = [number for number, line in enumerate(lines, 1) if _HOST_TABLE.match(line)]
    if index >= len(tables):
        return 1
    for number, line in enumerate(lines[tables[index] :], tables[index] + 1):
        if _ANY_TABLE.match(line):
            break
        if key and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line):
            return number
    return tables[index]


def _refuse_twins(path: Path, text: str, rows: Iterable[dict[str, Any]]) -> None:
    seen: set[str] = set()
    for index, row in enumerate(rows):
        if row["name"] in seen:
            raise InputError(
                f"{path}:{_line(text, index, 'name')}: host {index + 1}: "
                f"another host is called {row['name']!r} already: give it a name of its own"
            )
        seen.add(row["name"])
