# SPDX-License-Identifier: BSD-2-Clause
"""`trace`: record the DAT calls of a program, for `judge` to hold them to the pages."""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from results.errors import InputError, RunnerError
from results.runlog.records import COULD_NOT_TELL
from runners.checkout import APIS, DEFAULT_API, Checkout
from runners.commands import Subparsers

MIB = 1 << 20
SIZE, SIZE_MOST = 64, 64 << 10
# A program names the libdat that it is linked with, which tells its API.
LIBDAT_2 = b"libdat2.so"
NOT_EXECUTABLE, NOT_FOUND = 126, 127
SIGNALLED = 128


def add_parser(commands: Subparsers) -> None:
    """Add `trace` to the command line."""
    parser = commands.add_parser(
        "trace",
        help="record the DAT calls of a program, for judge",
        description="Run PROGRAM, and record the DAT calls of it and of the programs that it "
        "starts, whatever its libdat and its provider are (docs/trace.md). `judge` then tells "
        "which call deviates. Exit code: the program's; 128 and the signal if one has ended it.",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("calls.jsonl"),
        metavar="FILE",
        help="the trace (default: calls.jsonl). While the program runs, FILE.parts has the records",
    )
    parser.add_argument(
        "--api",
        choices=sorted(APIS),
        help="the DAT API that the program calls (default: by the libdat that it is linked with)",
    )
    parser.add_argument(
        "--size",
        type=_size,
        default=SIZE,
        metavar="MIB",
        help="the most that a process records, its first half and its last "
        f"(1 to {SIZE_MOST}; default: {SIZE})",
    )
    parser.add_argument(
        "--parts",
        type=Path,
        metavar="DIR",
        help="run nothing: make FILE of the records of this folder, which a trace that was killed, "
        "or another host, has left",
    )
    parser.add_argument("argv", nargs="*", metavar="PROGRAM", help="after `--`: what to run")
    parser.set_defaults(run=_trace)


def _trace(options: argparse.Namespace) -> int:
    checkout: Checkout = options.checkout
    out: Path = options.out
    if (options.parts is None) != bool(options.argv):
        raise InputError("give either a program to trace, behind --, or --parts")
    if options.parts is not None:
        parts = _parts(options.parts)
        if not parts:
            raise InputError(f"{options.parts} has no records of trace")
        return 0 if _write(checkout, parts, out) else COULD_NOT_TELL
    program = shutil.which(options.argv[0])
    if program is None:
        raise InputError(f"no program is called {options.argv[0]!r}")
    checkout = checkout.by(options.api or _api_of(Path(program)))
    for built in (checkout.recorder, checkout.record_reader):
        if not built.is_file():
            raise RunnerError(f"{built} is not built: cmake --build --preset default")
    folder = out.with_name(f"{out.name}.parts")
    try:
        folder.mkdir()
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}") from error
    status = _run(checkout, options.argv, folder.resolve(), options.size)
    if _write(checkout, _parts(folder), out):
        shutil.rmtree(folder)
        return status
    raise RunnerError(f"not all could be written to {out}: the records are in {folder}")


def _api_of(program: Path) -> str:
    try:
        return "2.0" if LIBDAT_2 in program.read_bytes() else DEFAULT_API
    except OSError:
        return DEFAULT_API


def _run(checkout: Checkout, argv: Sequence[str], folder: Path, size: int) -> int:
    """Run the program with the recorder in front of its libdat; its exit code."""
    preloads = [str(checkout.recorder), *os.environ.get("LD_PRELOAD", "").split()]
    environment = {
        **os.environ,
        "LD_PRELOAD": " ".join(preloads),
        "UDAPL_CTS_TRACE": str(folder),
        "UDAPL_CTS_TRACE_SIZE": str(size * MIB),
    }
    try:
        process = subprocess.Popen(argv, env=environment)
    except OSError as error:
        print(f"udapl-cts: {argv[0]}: {error.strerror}", file=sys.stderr)
        return NOT_EXECUTABLE if isinstance(error, PermissionError) else NOT_FOUND
    while True:
        try:
            status = process.wait()
        except KeyboardInterrupt:
            continue  # it is the program's: what it does about it is recorded
        return SIGNALLED - status if status < 0 else status


def _parts(folder: Path) -> list[Path]:
    """The records of a folder, by process."""
    return sorted(folder.glob("*.calls-*"))


def _write(checkout: Checkout, parts: Sequence[Path], out: Path) -> bool:
    """Make the trace of the records, one line a process; whether all could be read."""
    whole = 0
    try:
        with out.open("wb") as file:
            for part in parts:
                reader = checkout.by(part.name.rpartition("-")[2]).record_reader
                made = subprocess.run([str(reader), str(part)], stdout=file, check=False)
                whole += made.returncode == 0
    except OSError as error:
        raise RunnerError(f"{out} cannot be written: {error.strerror}") from error
    if not parts:
        print("udapl-cts: the program made no DAT call", file=sys.stderr)
    else:
        print(f"udapl-cts: {whole} of {len(parts)} processes in {out}", file=sys.stderr)
    return whole == len(parts)


def _size(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if not 1 <= number <= SIZE_MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {SIZE_MOST}")
    return number
