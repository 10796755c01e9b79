# SPDX-License-Identifier: BSD-2-Clause
"""The executable specification: judges every call of a recorded trace by the pages' rules."""

from oracle.judging import declared_of, judge, rules
from oracle.verdict import Deviation, Judgement

__all__ = ["Deviation", "Judgement", "declared_of", "judge", "rules"]
