#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes what a page's catalogue file declares of its cases, as a header for them.

A clause says once, in its .toml, which features its case needs, whether it has a peer and whether
it disturbs the network; CASE() and FAMILY() of harness/case.h take it from here. A case without a
clause does not compile.
"""

import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

PEERS = {
    "local": "",
    "pair": ", .peers = 1",
    "network": ", .peers = 1, .network = true",
}


class DeclarationError(Exception):
    """A clause that no case can be declared by; the message names it."""


def declarations(page: Mapping[str, Any]) -> Iterator[str]:
    """A line for each clause of the file that a case decides."""
    for clause in page.get("clause", []):
        check = clause.get("check")
        if check == "none":
            continue
        if check not in PEERS:
            raise DeclarationError(
                f"{clause.get('id')}: check: {check!r} is not none, {', '.join(PEERS)}"
            )
        name = clause["id"].replace("/", "__")
        needs = " | ".join(constant(word) for word in clause.get("needs", [])) or "0"
        yield f"#define CLAUSE_{name} .needs = {needs}{PEERS[check]}\n"


def constant(need: str) -> str:
    """The enumerator of a word of `needs`: NEED_SRQ for srq_supported."""
    return f"NEED_{need.removesuffix('_supported').upper()}"


def header(path: Path) -> str:
    """The header for the cases of the catalogue file `path`."""
    page = tomllib.loads(path.read_text(encoding="utf-8"))
    guard = f"CLAUSES_{path.stem.upper()}_H"
    return (
        "/* SPDX-License-Identifier: BSD-2-Clause */\n"
        f"/* Made from {path.name} by declare.py. */\n"
        f"#ifndef {guard}\n#define {guard}\n\n{''.join(declarations(page))}\n#endif\n"
    )


def main() -> int:
    """Writes the header of argv[1] to argv[2]; 1 when the file makes no sense."""
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    try:
        text = header(source)
    except (DeclarationError, tomllib.TOMLDecodeError, KeyError, AttributeError) as error:
        print(f"{source}: {error}", file=sys.stderr)
        return 1
    target.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
