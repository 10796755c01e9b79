# SPDX-License-Identifier: BSD-2-Clause
"""Words of others in Markdown, where they must stay words."""

import re

_LINE = 240


def code(text: str) -> str:
    """A code span that any text can stand in, in one line, cut where it is very long."""
    line = " ".join(text.split()) or "-"
    if len(line) > _LINE:
        line = line[:_LINE] + "..."
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def plain(text: str) -> str:
    """Prose of the catalogue, with nothing that Markdown would act on."""
    return re.sub(r"([\\`*_{}\[\]<>#@|~!])", r"\\\1", " ".join(text.split()))
