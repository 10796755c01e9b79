# SPDX-License-Identifier: BSD-2-Clause
"""The clauses: what cases/<object>/<page>.toml says of its page, as types.

One file accounts for one page; for dat_evd_create, which has none, by the sentences of the pages
that it `stands_on`. `sentences` lists the hashes of the page's sentences in their
order, `sections` how many of them each section has; each sentence is the ground of a clause or is
`informative` for a reason. A clause with `rows` is a family: each row is a clause of its own, with
the id "page/name/row".
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cases import standard
from results.model.clause import Demand
from runners.names import nearest

LEVELS = ("must", "may", "consumer", "info")
# Whose word a clause is: the provider's, or that of the registry (libdat).
BLAMED = ("provider", "registry")
CHECKS = ("local", "pair", "network", "multi", "none")
# What a case needs for itself of a host that several cases share at a time (docs/fabrics.md).
ALONE = ("network", "limits", "timing", "device")
# What an attribute of the provider declares, and what the transport decides.
DECLARED = (
    "srq_supported",
    "srq_watermarks_supported",
    "srq_info_available_supported",
    "srq_info_outstanding_supported",
    "srq_pz_difference_supported",
    "ep_recv_info_supported",
    "ep_watermarks_supported",
    "thread_safe_supported",
    "suppress_flag_supported",
    "solicited_wait_flag_supported",
    "unsignalled_flag_supported",
    "barrier_fence_flag_supported",
    "evd_threshold_flag_supported",
    "provider_made_ep_supported",
    "consumer_made_ep_supported",
    "merged_software_cr_supported",
    "merged_software_dto_supported",
    "merged_software_connection_supported",
    "merged_software_rmr_bind_supported",
    "merged_software_async_supported",
    "merged_cr_dto_supported",
    "merged_cr_connection_supported",
    "merged_cr_rmr_bind_supported",
    "merged_cr_async_supported",
    "merged_dto_connection_supported",
    "merged_dto_rmr_bind_supported",
    "merged_dto_async_supported",
    "merged_connection_rmr_bind_supported",
    "merged_connection_async_supported",
    "merged_rmr_bind_async_supported",
    "mem_type_lmr_supported",
    "mem_type_shared_supported",
)
NEEDS = (
    *DECLARED,
    "end_to_end_completion_supported",
    "remote_read_protection_supported",
    "srq_flush_of_taken_supported",
)

_SLUG = re.compile(r"[a-z][a-z0-9_]*")
_HASH = re.compile(r"[0-9a-f]{8}")
_RULING = re.compile(r"[A-Z]+-[0-9]+")


class CatalogueError(Exception):
    """A catalogue file is not what it should be: one line for each fault, each with its place."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(self.faults))


@dataclass(frozen=True, kw_only=True)
class Clause(Demand):
    """One demand of a page. Its id is also its case's id, where it has a case."""

    id: str
    page: str
    section: str
    level: str
    sentences: tuple[str, ...]
    text: str
    check: str
    family: str = ""  # of a row with a text of its own: the text of the clause that it is a row of
    needs: tuple[str, ...] = ()
    rulings: tuple[str, ...] = ()
    reason: str | None = None
    shows: str = ""
    dat_2_0: str | None = None  # what is otherwise by DAT 2.0
    picture: str = ""  # what the report draws, by the families that say so, each a row of it
    blame: str = "provider"  # who is at fault where it is not kept: one of BLAMED
    alone: str = ""  # what its case needs for itself: one of ALONE, or nothing

    @property
    def checkable(self) -> bool:
        """Whether a case decides it."""
        return self.check != "none"


@dataclass(frozen=True)
class Informative:
    """Sentences that demand nothing, and why."""

    sentences: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class PageClauses:
    """A page's clauses, families taken apart into their rows."""

    page: str
    path: Path
    sections: tuple[tuple[str, int], ...]
    sentences: tuple[str, ...]
    informative: tuple[Informative, ...]
    clauses: tuple[Clause, ...]
    stands_on: tuple[
        str, ...
    ]  # the pages whose sentences they are, where there is no page of its own
    legal: str  # the clause whose case fails a provider that refuses every call of the page
    control: str  # the one whose case also fails a call that does nothing
    apart: str  # one whose case does so without the calls that need this one, or empty

    @property
    def slug(self) -> str:
        """The page's name in ids: srq_resize for dat_srq_resize."""
        return self.page.removeprefix("dat_")

    @property
    def names_a_call(self) -> bool:
        """Whether there is a call that could be refused: the page of a file has none."""
        return not any("." in name for name in self.stands_on)


@dataclass(frozen=True)
class Catalogue:
    """All pages that cases/ accounts for, by name."""

    pages: tuple[PageClauses, ...]

    @cached_property
    def clauses(self) -> Mapping[str, Clause]:
        """The clauses of all pages by id, in their order."""
        return {clause.id: clause for page in self.pages for clause in page.clauses}

    @cached_property
    def shows(self) -> Mapping[str, str]:
        """The feature that a clause's case shows at work, by the clause, of those that show one."""
        return {id_: clause.shows for id_, clause in self.clauses.items() if clause.shows}


def load(directory: Path) -> Catalogue:
    """The catalogue that stands under `directory` (cases/); CatalogueError names every fault."""
    pages: list[PageClauses] = []
    faults: list[str] = []
    for path in sorted(directory.glob("*/*.toml")):
        try:
            pages.append(load_page(path, name=str(path.relative_to(directory.parent))))
        except CatalogueError as error:
            faults.extend(error.faults)
    if faults:
        raise CatalogueError(faults)
    return Catalogue(tuple(pages))


def every_page(directory: Path) -> tuple[str, ...]:
    """The name of every page, with clauses or without as yet: `directory`/pages.txt has them.

    Raises CatalogueError.
    """
    path = directory / "pages.txt"
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CatalogueError([f"{directory.name}/{path.name}: {error}"]) from None
    return tuple(line for line in lines if line and not line.startswith("#"))


def load_page(path: Path, name: str | None = None) -> PageClauses:
    """One catalogue file; `name` is what messages call it (its path)."""
    name = name or str(path)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CatalogueError([f"{name}: {error}"]) from None
    return _Reader(path, name).page(table)


class _Reader:
    """Reads one file's tables and gathers what is wrong with them."""

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self.name = name
        self.blame = ""
        self.faults: list[str] = []

    def page(self, table: Mapping[str, Any]) -> PageClauses:
        top = _Table(self, "the page", table)
        page = top.word("page", f"dat_{self.path.stem}", {f"dat_{self.path.stem}"})
        self.blame = top.word("blame", "provider", BLAMED)
        sections = top.counts("sections")
        sentences = top.words("sentences", _HASH, required=True)
        stands_on = top.words("stands_on")
        informative = tuple(self._informative(row) for row in top.tables("informative"))
        follows = self._standard(top)
        tables = [*top.tables("clause"), *(standard.clauses(follows) if follows else ())]
        clauses = [clause for row in tables for clause in self._family(page, row)]
        top.no_others()
        for id_ in _repeated(clause.id for clause in clauses):
            self.faults.append(f"{self.name}: {id_}: id: there are two clauses of this name")
        for hash_ in _repeated(sentences):
            self.faults.append(f"{self.name}: the page: sentences: {hash_} is listed twice")
        if self.faults:
            raise CatalogueError(self.faults)
        return PageClauses(
            page,
            self.path,
            sections,
            sentences,
            informative,
            tuple(clauses),
            stands_on,
            follows.legal if follows else "",
            follows.control if follows else "",
            follows.apart if follows else "",
        )

    def _standard(self, top: "_Table") -> standard.Standard | None:
        """The page's table of arguments, from which clauses follow."""
        top.mapping("standard")
        try:
            return standard.read(self.path.stem, top.table)
        except standard.StandardError as error:
            self.faults.append(f"{self.name}: {error}")
            return None

    def _informative(self, row: Mapping[str, Any]) -> Informative:
        table = _Table(self, f"informative {row.get('sentences', '')}", row)
        read = Informative(
            table.words("sentences", _HASH, required=True), table.text("reason", required=True)
        )
        table.no_others()
        return read

    def _family(self, page: str, row: Mapping[str, Any]) -> list[Clause]:
        id_ = row.get("id")
        table = _Table(self, id_ if isinstance(id_, str) else "a clause", row)
        stem = re.escape(self.path.stem)
        table.matches("id", re.compile(rf"{stem}/{_SLUG.pattern}"), f"{self.path.stem}/name")
        clause = self._clause(page, table)
        members = table.members("rows")
        if clause.picture and members is None:
            table.fault("picture", "stands only where there are rows")
        table.no_others()
        return [clause] if members is None else [self._member(clause, row) for row in members]

    def _clause(self, page: str, table: "_Table") -> Clause:
        check = table.word("check", "", CHECKS)
        return Clause(
            id=table.text("id", required=True),
            page=page,
            section=table.text("section", required=True),
            level=table.word("level", "", LEVELS),
            sentences=table.words("sentences", _HASH, required=True),
            text=table.text("text", required=True),
            check=check,
            needs=table.words("needs", known=NEEDS),
            rulings=table.words("rulings", _RULING),
            reason=table.text("reason", required=check == "none") or None,
            shows=table.one_of("shows", NEEDS),
            dat_2_0=table.text("dat_2_0") or None,
            picture=table.text("picture"),
            blame=table.word("blame", self.blame, BLAMED),
            alone=table.one_of("alone", ALONE) or ("network" if check == "network" else ""),
        )

    def _member(self, family: Clause, row: Mapping[str, Any]) -> Clause:
        """A family's row: the family's clause but for what the row says otherwise."""
        table = _Table(self, f"{family.id}/{row.get('id')}", row)
        table.matches("id", _SLUG, "a lower-case word")
        text = table.text("text")
        member = Clause(
            id=f"{family.id}/{table.text('id', required=True)}",
            page=family.page,
            section=family.section,
            level=table.word("level", family.level, LEVELS),
            sentences=table.words("sentences", _HASH) or family.sentences,
            text=text or family.text,
            family=family.text if text and text != family.text else "",
            check=family.check,
            needs=tuple(dict.fromkeys(family.needs + table.words("needs", known=NEEDS))),
            rulings=table.words("rulings", _RULING) or family.rulings,
            reason=family.reason,
            dat_2_0=table.text("dat_2_0") or family.dat_2_0,
            picture=family.picture,
            blame=table.word("blame", family.blame, BLAMED),
            alone=table.one_of("alone", ALONE) or family.alone,
        )
        table.no_others()
        return member


class _Table:
    """One TOML table, read key by key; what is wrong goes to the reader's faults."""

    def __init__(self, reader: _Reader, place: str, table: Mapping[str, Any]) -> None:
        self._reader = reader
        self._place = place
        self.table = table
        self._read: set[str] = set()

    def fault(self, key: str, what: str) -> None:
        self._reader.faults.append(f"{self._reader.name}: {self._place}: {key}: {what}")

    def text(self, key: str, *, required: bool = False) -> str:
        value = " ".join(self._get(key, "", _is_text, "a text").split())
        if required and not value and _is_text(self.table.get(key, "")):
            self.fault(key, "is missing or empty")
        return value

    def word(self, key: str, default: str, known: Iterable[str]) -> str:
        value = self.text(key, required=not default) or default
        if value and value not in known:
            self.fault(key, f"{value!r} is not {_either(known)}{nearest(value, known)}")
        return value

    def words(
        self,
        key: str,
        shape: re.Pattern[str] | None = None,
        *,
        known: Iterable[str] = (),
        required: bool = False,
    ) -> tuple[str, ...]:
        value = self._get(key, [], _is_list_of(str), "a list of texts")
        if required and not value and isinstance(self.table.get(key, []), list):
            self.fault(key, "is missing or empty")
        for word in value:
            if shape and not shape.fullmatch(word):
                self.fault(key, f"{word!r} has not the shape {shape.pattern}")
            if known and word not in known:
                self.fault(key, f"{word!r} is not known{nearest(word, known)}")
        return tuple(value)

    def one_of(self, key: str, known: Iterable[str]) -> str:
        return self.word(key, "", known) if key in self.table else ""

    def counts(self, key: str) -> tuple[tuple[str, int], ...]:
        value = self._get(key, {}, _is_table_of_counts, "a table of numbers above 0")
        return tuple(value.items())

    def matches(self, key: str, shape: re.Pattern[str], such_as: str) -> None:
        value = self.table.get(key)
        if isinstance(value, str) and not shape.fullmatch(value):
            self.fault(key, f"{value!r} is not {such_as}")

    def mapping(self, key: str) -> Mapping[str, Any]:
        value: Mapping[str, Any] = self._get(key, {}, _is_table, "a table")
        return value

    def tables(self, key: str) -> list[Mapping[str, Any]]:
        return list(self._get(key, [], _is_list_of(dict), "an array of tables"))

    def members(self, key: str) -> list[Mapping[str, Any]] | None:
        """A family's rows: a name stands for a table with that id."""
        if key not in self.table:
            return None
        rows = self._get(key, [], _is_list_of(str, dict), "a list of names and tables")
        if not rows:
            self.fault(key, "is empty")
        return [{"id": row} if isinstance(row, str) else row for row in rows]

    def no_others(self) -> None:
        for key in sorted(self.table.keys() - self._read):
            self.fault(key, f"is no key of this table{nearest(key, self._read)}")

    def _get(self, key: str, default: Any, fits: Callable[[Any], bool], what: str) -> Any:
        self._read.add(key)
        value = self.table.get(key, default)
        if fits(value):
            return value
        self.fault(key, f"is not {what}")
        return default


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_table(value: Any) -> bool:
    return isinstance(value, dict)


def _is_table_of_counts(value: Any) -> bool:
    return isinstance(value, dict) and all(type(n) is int and n > 0 for n in value.values())


def _is_list_of(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(isinstance(row, kinds) for row in value)


def _either(words: Iterable[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def _repeated(words: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    return [word for word in words if word in seen or seen.add(word)]  # type: ignore[func-returns-value]
