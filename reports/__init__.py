# SPDX-License-Identifier: BSD-2-Clause
"""Reports of a run, made from its events.jsonl.zst and from nothing else (docs/results.md)."""

from reports.errors import ReportError
from reports.render import FORMATS, render

__all__ = ["FORMATS", "ReportError", "render"]
