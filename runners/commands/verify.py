# SPDX-License-Identifier: BSD-2-Clause
"""`verify`: whether a package is what it says."""

import argparse
from pathlib import Path

from results.runlog import records
from runners.commands import Subparsers

COLUMNS = "{:<12} {:<10} {}"


def add_parser(commands: Subparsers) -> None:
    """Add `verify` to the command line."""
    parser = commands.add_parser(
        "verify",
        help="whether a package is what it says",
        description="Look through a package that `package` made, here or elsewhere: its signature, "
        "the digest of each file, the records and their chain, each verdict by its checks, the "
        "plan, the suite's commit, the reports, waivers, fault proof and statement. One line for "
        "each: ok, not ok or cannot tell. Exit code: 0 all is ok, whatever the run itself found; "
        "1 something is not; 2 something cannot be told; 64 wrong input.",
    )
    parser.add_argument("package", type=Path, metavar="PACKAGE")
    parser.add_argument(
        "--signers",
        type=Path,
        metavar="FILE",
        help="who may sign: lines of a principal and a public key, as OpenSSH's allowed_signers",
    )
    parser.set_defaults(run=_verify)


def _verify(options: argparse.Namespace) -> int:
    from results.runlog.printable import printable
    from runners.package.verify import CANNOT_TELL, NOT_OK, verify

    words = set()
    for result in verify(options.package, options.signers, options.checkout):
        words.add(result.word)
        # On one line: what a package says could look like a check that it did not stand.
        text = " ".join(printable(result.text).split())
        print(COLUMNS.format(result.word, result.name, text), flush=True)
    if NOT_OK in words:
        return records.NOT_CONFORMANT
    return records.COULD_NOT_TELL if CANNOT_TELL in words else records.CONFORMANT
