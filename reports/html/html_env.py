# SPDX-License-Identifier: BSD-2-Clause
"""What the HTML pages have in common: one environment of templates, one style, no network."""

import base64
import hashlib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from results.model.attempt import KEPT, NOT_KEPT, Verdict
from results.model.clause import hosts_word

TEMPLATES = Path(__file__).parent / "templates"


def environment() -> Environment:
    """Templates that escape all that they are given, and refuse what they are not given."""
    env = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(hosts=hosts_word)
    env.globals.update(mark=mark, Verdict=Verdict, KEPT=KEPT, NOT_KEPT=NOT_KEPT)
    return env


def style() -> Markup:
    """The style of every page."""
    return Markup((TEMPLATES / "report.css").read_text(encoding="utf-8"))


def mark(verdict: Verdict | None) -> str:
    """The style of a verdict."""
    return f"v-{verdict.value.lower()}" if verdict else "v-none"


def digest(script: str) -> str:
    """The digest by which a page's policy admits its own script."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
