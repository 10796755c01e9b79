# SPDX-License-Identifier: BSD-2-Clause
"""Reads a report.html as a browser without scripts would, and refuses unbalanced markup."""

import base64
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

_INLINE = frozenset({"a", "b", "code", "i", "span", "strong"})
_VOID = frozenset({"col", "input", "link", "meta"})
# Elements that need no end tag: what begins where they end. Their parent's end ends them too.
_ENDED_BY = {
    "p": frozenset({"p", "td", "tr"}),
    "td": frozenset({"td", "tr"}),
    "tr": frozenset({"tr"}),
}


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("document")
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        while tag in _ENDED_BY.get(self._open[-1].tag, ()):
            self._open.pop()
        element = SubElement(self._open[-1], tag, {name: value or "" for name, value in attrs})
        if tag not in _VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        while self._open[-1].tag != tag and self._open[-1].tag in _ENDED_BY:
            self._open.pop()
        assert self._open[-1].tag == tag, f"</{tag}> closes <{self._open[-1].tag}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        parent = self._open[-1]
        if len(parent):
            parent[-1].tail = (parent[-1].tail or "") + data
        else:
            parent.text = (parent.text or "") + data

    def finish(self) -> Element:
        self.close()
        assert len(self._open) == 1, f"<{self._open[-1].tag}> is never closed"
        return self.root


def parse(markup: str) -> Element:
    """The element tree of `markup`."""
    builder = _Builder()
    builder.feed(markup)
    return builder.finish()


def words(element: Element) -> str:
    """What `element` reads as, white space folded, what stands apart on the page set apart."""
    return " ".join("".join(_pieces(element)).split())


def _pieces(element: Element) -> Iterator[str]:
    apart = element.tag not in _INLINE
    yield " " * apart + (element.text or "")
    for child in element:
        yield from _pieces(child)
        yield child.tail or ""
    yield " " * apart


def with_class(element: Element, name: str) -> list[Element]:
    """The elements below `element` of the class `name`, in order."""
    return [found for found in element.iter() if name in found.get("class", "").split()]


def _unfolded(texts: list[str], markup: str, lines: str, times: str) -> str:
    """Packed markup with its lines, as the page's script makes it."""
    first, *gaps = markup.split("\1")
    time, number, made = iter(times.split("\n")), 0, [first]
    for line, gap in zip(lines.split(" ") if gaps else (), gaps, strict=True):
        text, _, at = line.partition(":")
        whole = texts[int(text)]
        if "\1" in whole:
            number = int(at) if at else number + 1
            whole = whole.replace("\1", str(number)).replace("\2", next(time))
        made += (whole, gap)
    return "".join(made)


class Page:
    """A report.html."""

    def __init__(self, path: Path) -> None:
        self.markup = path.read_text(encoding="utf-8")
        self.root = parse(self.markup)

    def by_id(self, name: str) -> Element:
        """The one element whose id is `name`."""
        found = [element for element in self.root.iter() if element.get("id") == name]
        assert len(found) == 1, f"{len(found)} elements have the id {name}"
        return found[0]

    def has(self, name: str) -> bool:
        """Whether an element has the id `name`."""
        return any(element.get("id") == name for element in self.root.iter())

    def text_of(self, name: str) -> str:
        """What the element with the id `name` reads as."""
        return words(self.by_id(name))

    def title(self) -> str:
        """The sentence at the top."""
        return words(next(self.root.iter("h1")))

    def cells(self, clause: str) -> list[str]:
        """The matrix' verdicts of `clause`, one a mode."""
        return [words(cell) for cell in self.by_id(f"clause:{clause}")[4:]]

    def clauses(self) -> list[str]:
        """The clauses whose rows can be opened."""
        rows = with_class(self.root, "clause")
        return [row.attrib["id"].removeprefix("clause:") for row in rows if row.get("data-b")]

    def evidence(self, clause: str) -> Element:
        """What opening the row of `clause` shows."""
        return self._unpacked(self.by_id(f"clause:{clause}").attrib["data-b"], clause)

    def sentences(self, page: str) -> Element:
        """What opening the sentences of `page` shows."""
        for details in with_class(self.by_id("sentences"), "sentences"):
            if words(next(details.iter("code"))) == page:
                return self._unpacked(details.attrib["data-b"], page)
        raise AssertionError(f"no sentences of {page}")

    def _unpacked(self, bundle: str, name: str) -> Element:
        packed = self.by_id(f"bundle:{bundle}").text or ""
        *parts, texts = (
            zlib.decompress(base64.b85decode(packed.replace(",", "<"))).decode().split("\0")
        )
        at = parts[::4].index(name)
        return parse(_unfolded(texts.split("\3"), *parts[4 * at + 1 : 4 * at + 4]))

    def addresses(self) -> Iterator[str]:
        """All that the page refers to."""
        for element in self.root.iter():
            for name in ("href", "src", "action", "data", "poster", "srcset"):
                if name in element.attrib:
                    yield element.attrib[name]
