# SPDX-License-Identifier: BSD-2-Clause
"""`package`: one file of a run, for others to verify."""

import argparse
from pathlib import Path

from runners import runs
from runners.commands import Subparsers


def add_parser(commands: Subparsers) -> None:
    """Add `package` to the command line."""
    parser = commands.add_parser(
        "package",
        help="make one file of a run, for others to verify",
        description="Make one file of a run: its records, its reports, what is known of suite, "
        "provider and hosts, the faults run of the same commit if there is one, and a statement "
        "of the person who answers for it. Of the same run it is the same file, byte for byte. "
        "Exit code: 0, or 64 where it cannot be made.",
    )
    parser.add_argument("named", nargs="?", metavar="RUN", help="id or folder; default: the latest")
    parser.add_argument(
        "--statement",
        type=Path,
        metavar="FILE",
        help="the statement about the product (TOML or JSON, docs/package.md)",
    )
    parser.add_argument(
        "--sign",
        type=Path,
        metavar="KEY",
        help="sign it with this private key of OpenSSH, by ssh-keygen",
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="default: <run>.package.tar, in this folder"
    )
    parser.set_defaults(run=_package)


def _package(options: argparse.Namespace) -> int:
    from runners.package.build import make

    folder = runs.find_run(options.checkout.runs, options.named)
    out = options.out or Path(f"{folder.name}.package.tar")
    run, manifest = make(folder, options.checkout.runs, out, options.statement, options.sign)
    print(f"{run.records} records, the last of digest {run.digest}")
    print(f"{run.conclusion.word}: {run.conclusion.because}")
    if manifest["proof"].startswith("none"):
        print(f"fault proof: {manifest['proof']}; ./udapl-cts faults makes one")
    if options.sign is None:
        print("not signed: --sign KEY signs it")
    print(f"package: {out}")
    return 0
