# SPDX-License-Identifier: BSD-2-Clause
"""Makes text printable: what a provider wrote is evidence, and may be hostile."""

import re
from functools import lru_cache

# In characters.
_SHORT = 200

# Controls, lone surrogates (an undecodable byte is one of U+DC80..U+DCFF), direction overrides and
# invisible marks that would make a line read as something else, and what XML does not admit.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff9-\ufffb\ufffe\uffff]"
)


def _name(match: re.Match[str]) -> str:
    code = ord(match.group())
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def printable(text: str) -> str:
    """Returns `text` with each character that cannot be seen replaced by one that can.

    Newlines and tabs stay. A control character and a byte that was no UTF-8 become \\xNN, the rest
    \\uNNNN. The result is legal in XML and in HTML.
    """
    return _short(text) if len(text) <= _SHORT else _made(text)


def _made(text: str) -> str:
    if text.isprintable():
        return text
    return _UNPRINTABLE.sub(_name, text.replace("\r\n", "\n"))


# Names and returns are the same in thousands of calls: each is kept once.
_short = lru_cache(maxsize=1 << 16)(_made)
