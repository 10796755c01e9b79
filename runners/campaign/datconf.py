# SPDX-License-Identifier: BSD-2-Clause
"""dat.conf files: the entries that a libdat would register, and entries of our own."""

import re
from dataclasses import dataclass
from pathlib import Path

from runners.checkout import DEFAULT_API
from runners.errors import InputError
from runners.fabric.files import Files

FIELDS = 8

_TOKEN = re.compile(r'[ \t]*(?:"((?:[^"\\\n]|\\.)*)"|([^ \t"\n]+))(?=[ \t]|$)')
_BLANK = re.compile(r"[ \t]*(?:#.*)?$")
_API = re.compile(r"u0*([0-9]+)\.0*([0-9]+)$")


@dataclass(frozen=True)
class Entry:
    """One line of a dat.conf that a consumer of uDAPL can open; `api` is "1.2", for instance. By a
    `threadsafe` one opens who asks for safety under threads, and nobody else.
    """

    ia: str
    api: str
    library: str
    text: str
    threadsafe: bool = False


def entry(
    ia: str, library: Path, ia_params: str, api: str = DEFAULT_API, *, threadsafe: bool = False
) -> Entry:
    """The entry that registers `library` under the name `ia`."""
    safety = "threadsafe" if threadsafe else "nonthreadsafe"
    fields = (ia, f"u{api}", safety, "default", str(library), "cts.1.0")
    line = " ".join([*(_bare(field) for field in fields), _quoted(ia_params), _quoted("")])
    return Entry(ia, api, str(library), line, threadsafe)


def lines(
    ia: str, library: Path, ia_params: str, api: str = DEFAULT_API, *, threadsafe: bool = True
) -> str:
    """The lines that register `library` under the name `ia`: by a threadsafe entry too, or not."""
    kinds = (False, True) if threadsafe else (False,)
    each = (entry(ia, library, ia_params, api, threadsafe=kind) for kind in kinds)
    return "".join(f"{entry_.text}\n" for entry_ in each)


def read(path: Path, files: Files) -> str:
    """The text of a dat.conf; raises InputError when it cannot be read."""
    try:
        text = files.read(path).decode(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise InputError(
            f"cannot read the dat.conf {files.where}{path}: {error.strerror}"
        ) from error
    if "\0" in text:
        raise InputError(f"the dat.conf {files.where}{path} is no text: it has a NUL in it")
    return text


def entries(text: str, *, threadsafe: bool = False) -> list[Entry]:
    """The entries of a dat.conf that dat_ia_open() reaches, in file order, the first of each name
    and API; or those that dat_ia_openv() reaches where it is asked for safety under threads.

    Lines that no libdat registers are skipped, as a libdat does.
    """
    found: dict[tuple[str, str], Entry] = {}
    for line in text.split("\n"):
        fields = _split(line)
        api = _reachable(fields, threadsafe) if fields is not None else None
        if fields is not None and api is not None:
            entry_ = Entry(fields[0], api, fields[4], line.strip(), threadsafe)
            found.setdefault((entry_.ia, api), entry_)
    return list(found.values())


def _split(line: str) -> list[str] | None:
    fields = []
    position = 0
    while not _BLANK.match(line, position):
        match = _TOKEN.match(line, position)
        if match is None:
            return None
        quoted, bare = match.groups()
        fields.append(bare if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
        position = match.end()
    return fields


def _reachable(fields: list[str], threadsafe: bool) -> str | None:
    """The API of an entry by which an open that wants this safety reaches it, or None."""
    if len(fields) != FIELDS:
        return None
    _, api, safety, default, *_ = fields
    match = _API.match(api)
    if (
        match is None
        or safety != ("threadsafe" if threadsafe else "nonthreadsafe")
        or default != "default"
    ):
        return None
    return ".".join(match.groups())


def _bare(text: str) -> str:
    return text if re.fullmatch(r'[^ \t"#\n]+', text) else _quoted(text)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
