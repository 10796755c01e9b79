# SPDX-License-Identifier: BSD-2-Clause
"""The command line: its commands, and what a person sees when one cannot be obeyed."""

import argparse
import errno
import sys
import traceback
from collections.abc import Sequence

from results.errors import InputError, RunnerError
from results.runlog.printable import printable
from results.runlog.records import COULD_NOT_TELL
from runners.catalogue.clauses import CatalogueError
from runners.checkout import VERSION, Checkout, Installation, here, revision
from runners.commands import (
    Subparsers,
    cases,
    certify,
    compare,
    events,
    explore,
    fabric,
    faults,
    history,
    judge,
    package,
    replay,
    report,
    selftest,
    spec,
    trace,
    verify,
)
from runners.fabric.base import FabricError
from runners.screen import screens

EXIT_INTERRUPTED = 130
# Of a look before the first build: the command line is in order, so build, and call again.
GO_ON = 3
LONGEST = 300


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        # It may quote a long text.
        line = f"udapl-cts: {_one_line(message)} ({self.prog} --help tells more)\n"
        self.exit(InputError.exit_code, line)


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        commit, dirty = revision(here().root)
        print(f"udapl-cts {VERSION} ({commit}{', changed' if dirty else ''})")
        parser.exit()


def main(arguments: Sequence[str] | None = None, checkout: Checkout | None = None) -> int:
    """Run the command that `arguments` (default: the process's) name; return its exit code."""
    with screens() as out:
        code = _obey(arguments, checkout or here())
        out.flush()
        if out.error is None:
            return code
        said = f"not all could be written to standard output ({out.error.strerror})"
        return _refuse(RunnerError(said + _where(code)), COULD_NOT_TELL)


def _obey(arguments: Sequence[str] | None, checkout: Checkout) -> int:
    try:
        options = parser(checkout).parse_args(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else COULD_NOT_TELL
    options.checkout = checkout
    options.command_line = ["udapl-cts", *(sys.argv[1:] if arguments is None else arguments)]
    try:
        if options.before_build:
            if "look" in options:
                options.look(options)
            return GO_ON
        code: int = options.run(options)
    except RunnerError as error:
        return _refuse(error, error.exit_code)
    except (CatalogueError, FabricError) as error:
        return _refuse(error, COULD_NOT_TELL)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            return _refuse(_unexpected(error, options.checkout), COULD_NOT_TELL)
        # No name that this program makes is so long: it has one of the command line in it.
        name = _one_line(str(error.filename))
        return _refuse(InputError(f"{name}: {error.strerror}"), InputError.exit_code)
    # A library that ends the process has a status of its own, which is none of ours.
    except (Exception, SystemExit) as error:
        return _refuse(_unexpected(error, options.checkout), COULD_NOT_TELL)
    return code


def parser(checkout: Checkout) -> argparse.ArgumentParser:
    """The command line; its man pages and completions are made from it too.

    An installation has no `selftest`, because it lacks the tests.
    """
    made = _Parser(prog="udapl-cts", description="Conformance suite for uDAPL 1.2 providers")
    made.add_argument("--version", action=_Version, nargs=0, help="say which suite this is")
    # For ./udapl-cts alone: a person has to wait for a build before what is wrong is said.
    made.add_argument("--before-build", action="store_true", help=argparse.SUPPRESS)
    commands: Subparsers = made.add_subparsers(title="commands", required=True, metavar="COMMAND")
    modules = (
        certify,
        cases,
        report,
        compare,
        events,
        history,
        judge,
        package,
        verify,
        replay,
        faults,
        explore,
        trace,
        spec,
        fabric,
        selftest,
    )
    for module in modules:
        if not (module is selftest and isinstance(checkout, Installation)):
            module.add_parser(commands)
    return made


def _one_line(text: str) -> str:
    """Text of a command line to be quoted: in one line, and cut if it is long."""
    said = printable(text).replace("\n", "\\n")
    return said if len(said) <= LONGEST else f"{said[:LONGEST]} ..."


def _where(code: int) -> str:
    """What of a command's outcome is left when its output could not be read."""
    return "" if code == COULD_NOT_TELL else f"; without that, the status would be {code}"


def _is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, MemoryError) or str(error) == "can't start new thread"


def _unexpected(error: BaseException, checkout: Checkout) -> RunnerError:
    """What no command foresees, in one line: a machine without memory, or a defect of this program,
    whose traceback goes to a file, where that can be.
    """
    if _is_out_of_memory(error):
        return RunnerError(
            "this machine has no memory left for this command; a run keeps what it recorded, and"
            " --resume adds the rest"
        )
    said = f"this should not have happened: {type(error).__name__}: {error}"
    path = checkout.cache / "traceback.txt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(traceback.format_exc(), encoding="utf-8")
    except OSError:
        return RunnerError(said)
    return RunnerError(f"{said}; please report it with {path}")


def _refuse(error: Exception, code: int) -> int:
    said = printable(str(error))
    if code == InputError.exit_code:
        # What it quotes may have lines of its own; a refusal has one.
        said = said.replace("\n", "\\n")
    print(f"udapl-cts: {said}", file=sys.stderr)
    return code
