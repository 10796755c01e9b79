# SPDX-License-Identifier: BSD-2-Clause
"""dat.conf files: the entries that a libdat would register, and entries of our own."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from results.errors import InputError
from runners.checkout import DEFAULT_API
from runners.fabric.files import Files

FIELDS = 8

NAME_MAX = 255
_NUMBER_MAX = (1 << 32) - 1

# As libdat reads them (libdat/dat_conf.c): a quote inside a bare field ends it, and belongs to it.
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_BARE = re.compile(r'[^ \t"]*"?')
_VERSION = re.compile(r"([0-9]+)\.([0-9]+)", re.ASCII)


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
        try:
            fields = _fields(line)
        except _Refused:
            continue
        api = _reachable(fields, threadsafe) if fields else None
        if api is not None:
            entry_ = Entry(fields[0], api, fields[4], line.strip(), threadsafe)
            found.setdefault((entry_.ia, api), entry_)
    return list(found.values())


def libraries(text: str) -> set[str]:
    """The libraries that the entries of a dat.conf name, of whatever kind these are."""
    found = set()
    for line in text.split("\n"):
        try:
            fields = _fields(line)
        except _Refused:
            continue
        if fields:
            found.add(fields[4])
    return found


def refusal(text: str, ia: str) -> str:
    """Why libdat skips the first line of a dat.conf that would be an entry of `ia`, in words;
    nothing where there is no such line.
    """
    for number, line in enumerate(text.split("\n"), 1):
        try:
            _fields(line)
        except _Refused as refused:
            if refused.ia == ia:
                return f"line {number}: {refused.reason}"
    return ""


class _Refused(Exception):
    """A line that no libdat registers; `ia` is the name in it, as far as it has one."""

    def __init__(self, fields: Sequence[str], reason: str) -> None:
        super().__init__(reason)
        self.ia = fields[0] if fields else ""
        self.reason = reason


def _fields(line: str) -> list[str]:
    """The fields of a line that libdat does not refuse; none of one that has no entry."""
    fields = _split(line.removesuffix("\r"))
    if not fields:
        return []
    name, api, safety, default, _, version, *_ = fields
    if len(name.encode(errors="surrogateescape")) > NAME_MAX:
        raise _Refused(fields, f"its IA name is longer than {NAME_MAX} characters")
    if api[:1] not in ("u", "k") or not _version(api[1:]):
        raise _Refused(fields, f'its API version "{api}" is not of the form u1.2')
    if not safety.startswith(("threadsafe", "nonthreadsafe")):
        raise _Refused(fields, f'"{safety}" is neither threadsafe nor nonthreadsafe')
    if not default.startswith(("default", "nondefault")):
        raise _Refused(fields, f'"{default}" is neither default nor nondefault')
    id_, _, numbers = version.partition(".")
    if not id_ or not _version(numbers):
        raise _Refused(fields, f'its provider version "{version}" is not of the form id.1.2')
    return fields


def _split(line: str) -> list[str]:
    fields: list[str] = []
    position = 0
    while True:
        start = len(line) - len(line[position:].lstrip(" \t"))
        if start == len(line) or line[start] == "#":
            break
        if len(fields) == FIELDS:
            raise _Refused(fields, f"it has more than {FIELDS} fields")
        if fields and start == position:
            raise _Refused(fields, f"no blank is behind its field {len(fields)}")
        quoted = _QUOTED.match(line, start)
        if quoted is None and line[start] == '"':
            raise _Refused(fields, f"the closing quote of its field {len(fields) + 1} is missing")
        bare = _BARE.match(line, start)
        assert bare is not None
        field = bare[0] if quoted is None else re.sub(r"\\(.)", r"\1", quoted[1], flags=re.DOTALL)
        if "\0" in field:
            raise _Refused(fields, f"its field {len(fields) + 1} contains a null byte")
        fields.append(field)
        position = (quoted or bare).end()
    if fields and len(fields) < FIELDS:
        raise _Refused(fields, f"it has {len(fields)} fields, and an entry has {FIELDS}")
    return fields


def _version(text: str) -> str | None:
    """A version without its leading zeros, or None where libdat does not take it for one."""
    match = _VERSION.fullmatch(text)
    # A thousand digits are no number, and Python would rather not look at them.
    if match is None or any(len(digits.lstrip("0")) > 10 for digits in match.groups()):
        return None
    numbers = [int(digits.lstrip("0") or "0") for digits in match.groups()]
    return ".".join(map(str, numbers)) if max(numbers) <= _NUMBER_MAX else None


def _reachable(fields: list[str], threadsafe: bool) -> str | None:
    """The API of an entry by which an open that wants this safety reaches it, or None."""
    _, api, safety, default, *_ = fields
    if (
        not api.startswith("u")
        or safety.startswith("threadsafe") != threadsafe
        or not default.startswith("default")
    ):
        return None
    return _version(api[1:])


def _bare(text: str) -> str:
    return text if re.fullmatch(r'[^ \t"#\n]+', text) else _quoted(text)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
