# SPDX-License-Identifier: BSD-2-Clause
"""The command line: its commands, and what a person sees when one cannot be obeyed."""

import argparse
import os
import sys
import traceback
from collections.abc import Sequence

from runners.catalogue.clauses import CatalogueError
from runners.checkout import Checkout, here
from runners.commands import (
    Subparsers,
    cases,
    certify,
    fabric,
    faults,
    replay,
    report,
    selftest,
    spec,
)
from runners.errors import InputError, RunnerError
from runners.fabric.base import FabricError
from runners.results.records import COULD_NOT_TELL

EXIT_INTERRUPTED = 130


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        line = f"udapl-cts: {message} ({self.prog} --help tells more)\n"
        self.exit(InputError.exit_code, line)


def main(arguments: Sequence[str] | None = None, checkout: Checkout | None = None) -> int:
    """Run the command that `arguments` (default: the process's) name; return its exit code."""
    parser = _Parser(prog="udapl-cts", description="Conformance suite for uDAPL 1.2 providers")
    commands: Subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for module in (certify, cases, report, replay, faults, spec, fabric, selftest):
        module.add_parser(commands)
    options = parser.parse_args(arguments)
    options.checkout = checkout or here()
    options.command_line = ["udapl-cts", *(sys.argv[1:] if arguments is None else arguments)]
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except RunnerError as error:
        return _refuse(error, error.exit_code)
    except (CatalogueError, FabricError) as error:
        return _refuse(error, COULD_NOT_TELL)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Who read our output has left; the interpreter must not fail again when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return COULD_NOT_TELL
    except Exception as error:
        return _refuse(_unexpected(error, options.checkout), COULD_NOT_TELL)
    return code


def _unexpected(error: Exception, checkout: Checkout) -> RunnerError:
    """A defect of this program in one line; its traceback goes to a file, where that can be."""
    said = f"this should not have happened: {type(error).__name__}: {error}"
    path = checkout.cache / "traceback.txt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(traceback.format_exc(), encoding="utf-8")
    except OSError:
        return RunnerError(said)
    return RunnerError(f"{said}; please report it with {path}")


def _refuse(error: Exception, code: int) -> int:
    print(f"udapl-cts: {error}", file=sys.stderr)
    return code
