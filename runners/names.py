# SPDX-License-Identifier: BSD-2-Clause
"""Help for a name that nothing bears."""

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], limit: int = 3) -> str:
    """`; nearest: a, b` for a message about an unknown name, or nothing where none is near."""
    close = difflib.get_close_matches(name, list(known), n=limit, cutoff=0.5)
    return f"; nearest: {', '.join(close)}" if close else ""
