# SPDX-License-Identifier: BSD-2-Clause
"""The lines of a trace as HTML: a run has half a million, for which a template takes too long."""

from collections.abc import Iterable
from functools import lru_cache

from markupsafe import Markup, escape

from reports.evidence_text import Line, duration, pair, returned
from results.model.run import Call, Check

# So many different texts and lists of arguments are escaped once.
_SHARED = 1 << 13


def lines(items: Iterable[Line]) -> Markup:
    """The items of a list, one for each line; whatever a provider wrote in it is escaped."""
    return Markup("".join(map(_line, items)))


def _line(item: Line) -> str:
    if item.call:
        return _call(item.call, item.flagged, item.troubled)
    if item.check:
        return _check(item.check)
    return _item("missing", "…", _escaped(item.missing))


def _call(call: Call, flagged: bool, troubled: bool) -> str:
    out = f'<span class="out">, {_outputs(call.out)}</span>' if call.out else ""
    flag = ""
    if flagged or troubled:
        flag = f' <strong class="flag">◀ {"here" if flagged else "in teardown"}</strong>'
    ret = _escaped(returned(call))
    what = (
        f"<b>{_escaped(call.name)}</b>({_arguments(call.args)}) "
        f'<span class="arrow">→</span> <span class="ret">{ret}</span>{out}{flag}'
    )
    took = "" if call.unfinished else duration(call.us)
    return _item("call here" if flag else "call", str(call.n), what, took)


def _check(check: Check) -> str:
    what = f"{_escaped(check.role)} {_escaped(check.text)}"
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
    return ", ".join(f"{name}{escape(value)}" for name, (_, value) in zip(named, args, strict=True))


@lru_cache(maxsize=_SHARED)
def _outputs(out: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(str(escape(pair(*item))) for item in out)


@lru_cache(maxsize=_SHARED)
def _escaped(text: str) -> str:
    return str(escape(text))
