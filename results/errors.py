# SPDX-License-Identifier: BSD-2-Clause
"""What goes wrong in a way that is reported in one line. The message says what to do next."""


class RunnerError(Exception):
    """The runner could not do its work, and says nothing about any provider: exit 2."""

    exit_code = 2


class InputError(RunnerError):
    """The command line, or a file it names, is wrong: exit 64."""

    exit_code = 64


class ReportError(Exception):
    """A run cannot be read, or no report can be made of it; the message says why."""
