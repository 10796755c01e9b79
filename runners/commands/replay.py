# SPDX-License-Identifier: BSD-2-Clause
"""`replay`: run one case of an earlier run again, alone, and show all that it did."""

import argparse

from runners.commands import Subparsers, add_patience


def add_parser(commands: Subparsers) -> None:
    """Add `replay` to the command line."""
    parser = commands.add_parser(
        "replay",
        help="run one case of a run again, alone",
        description="Run a case again as it ran there: same dat.conf, same number of hosts, "
        "same patience. "
        "Default: the first failure of the latest run. Exit code: as certify has it.",
    )
    parser.add_argument(
        "named", nargs="*", metavar="[RUN] [CASE]", help="a run's id or folder, and a case's id"
    )
    parser.add_argument("--hosts", type=int, metavar="N", help="in this mode of the run")
    add_patience(parser, None, "the run's")
    parser.add_argument(
        "--gdb", action="store_true", help="in gdb, stopped before the case's first call"
    )
    parser.set_defaults(run=_replay)


def _replay(options: argparse.Namespace) -> int:
    from runners.campaign.certify.replay import replay

    return replay(options.checkout, options.named, options.hosts, options.gdb, options.patience)
