# SPDX-License-Identifier: BSD-2-Clause
"""The lines of a trace as HTML: a run has half a million, for which a template takes too long.

Most of them differ from others in their number and their time only. Where they are packed, each
text is packed once, and a trace has the numbers of its texts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from markupsafe import Markup, escape

from reports.evidence_text import Line, duration, pair, returned, shown
from results.model.evidence import Call, Check

# So many different texts and lists of arguments are escaped once.
_SHARED = 1 << 13


# A packed call that took fewer microseconds has no time: those were a fifth of what is packed.
_TOLD_US = 1000
# What stands for a line in packed markup, and in a line for its number and its time. What a
# provider wrote has no such characters.
_LINE = _NUMBER = "\1"
_TIME = "\2"
# Between the texts of lines, and between the parts of what was packed.
_BETWEEN = "\3"
_APART = "\0"


def lines(items: Iterable[Line]) -> Markup:
    """The items of a list, one for each line; whatever a provider wrote in it is escaped."""
    return Markup("".join(map(_line, items)))


@dataclass(frozen=True)
class Packed:
    """Markup with a mark for each line: which texts those have, and how long they took."""

    markup: str
    lines: list[tuple[int, str]]
    times: list[str]


class SharedLines:
    """Lines whose texts are packed apart from the markup that they stand in.

    The script of report.html puts them together (`unfold`).
    """

    def __init__(self) -> None:
        self._texts: dict[str, int] = {}
        # To compare a call with one that had its text takes less than to make the text.
        self._known: dict[tuple[object, ...], int] = {}
        self._taken = Packed("", [], [])
        self._number = 0

    def lines(self, items: Sequence[Line]) -> Markup:
        """A mark for each line."""
        for item in items:
            if item.call:
                self._add(self._number_of(item, item.call), item.call)
            else:
                self._add(self._kept(_line(item)), None)
        return Markup(_LINE * len(items))

    def taken(self, markup: str) -> Packed:
        """What was begun after the last, as `markup`."""
        taken, self._taken, self._number = self._taken, Packed("", [], []), 0
        return replace(taken, markup=markup)

    def packed(self, parts: Mapping[str, Packed]) -> str:
        """The parts by their names, and the texts of their lines, which are then forgotten."""
        # Like texts side by side take fewer bytes.
        texts, self._texts, self._known = self._texts, {}, {}
        ranks = {texts[text]: str(rank) for rank, text in enumerate(sorted(texts))}
        words: list[str] = []
        for name, part in parts.items():
            lines = " ".join(ranks[text] + at for text, at in part.lines)
            words += (name, part.markup, lines, "\n".join(part.times))
        return _APART.join((*words, _BETWEEN.join(sorted(texts))))

    def _number_of(self, line: Line, call: Call) -> int:
        told = (call.name, call.args, call.ret, call.sub, call.out, call.unfinished)
        known = (*told, line.flagged, line.troubled)
        if known not in self._known:
            self._known[known] = self._kept(_call(line, _NUMBER, _TIME))
        return self._known[known]

    def _kept(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def _add(self, text: int, call: Call | None) -> None:
        at = ""
        if call:
            # Calls have consecutive numbers, but for a part's first.
            self._number += 1
            if call.n != self._number:
                self._number = call.n
                at = f":{call.n}"
            self._taken.times.append(_took(call) if call.us >= _TOLD_US else "")
        self._taken.lines.append((text, at))


def _line(item: Line) -> str:
    if item.call:
        return _call(item, str(item.call.n), _took(item.call))
    if item.check:
        return _check(item.check, item.times)
    return _item("missing", "…", _escaped(item.missing))


def _took(call: Call) -> str:
    return "" if call.unfinished else duration(call.us)


def _call(line: Line, number: str, took: str) -> str:
    call, flag = line.call, ""
    assert call is not None
    out = f'<span class="out">, {_outputs(call.out)}</span>' if call.out else ""
    if line.flagged or line.troubled:
        flag = f' <strong class="flag">◀ {"here" if line.flagged else "in teardown"}</strong>'
    ret = _escaped(returned(call))
    what = (
        f"<b>{_escaped(call.name)}</b>({_arguments(call.args)}) "
        f'<span class="arrow">→</span> <span class="ret">{ret}</span>{out}{flag}'
    )
    return _item("call here" if flag else "call", number, what, took)


def _check(check: Check, times: int) -> str:
    what = f"{_escaped(check.role)} {_escaped(check.text)}"
    if times > 1:
        what += f" ({times} times)"
    if check.seen and not check.ok:
        what += f' <span class="arrow">→</span> saw {_escaped(check.seen)}'
    kind, mark = ("check held", "✓") if check.ok else ("check broke", "✗")
    return _item(kind, mark, what, f"{_escaped(check.file)}:{check.line}")


def _item(kind: str, number: str, what: str, aside: str | None = None) -> str:
    rest = "" if aside is None else f' <span class="us">{aside}</span>'
    return (
        f'<li class="{kind}"><span class="n">{number}</span> '
        f'<span class="what">{what}</span>{rest}</li>\n'
    )


@lru_cache(maxsize=_SHARED)
def _arguments(args: tuple[tuple[str, str], ...]) -> str:
    named = (f"<i>{escape(name)}=</i>" if name else "" for name, _ in args)
    return ", ".join(
        f"{name}{escape(shown(value))}" for name, (_, value) in zip(named, args, strict=True)
    )


@lru_cache(maxsize=_SHARED)
def _outputs(out: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(str(escape(pair(*item))) for item in out)


@lru_cache(maxsize=_SHARED)
def _escaped(text: str) -> str:
    return str(escape(text))
