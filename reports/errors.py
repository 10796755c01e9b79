# SPDX-License-Identifier: BSD-2-Clause
"""What goes wrong with a report, said to the person who asked for it."""


class ReportError(Exception):
    """A report cannot be made; the message says why, and what to do where something can be done."""
