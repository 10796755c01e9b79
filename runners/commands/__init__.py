# SPDX-License-Identifier: BSD-2-Clause
"""One module per command; each has add_parser(), which names the function that runs it."""

import argparse
import re
from typing import TYPE_CHECKING, Any

from results.errors import InputError, RunnerError
from runners.checkout import DEFAULT_API, Checkout
from runners.fabric import GUEST_DEVICES
from runners.names import nearest

if TYPE_CHECKING:
    from runners.fabric.base import Fabric

    Subparsers = argparse._SubParsersAction[Any]
else:
    Subparsers = Any

# No agent takes an event that may be longer than ten minutes (docs/protocol.schema.json).
PATIENCE_MOST = 60
CPUS_MOST = 8
MOST_WORKERS = 1_000
WALK_SECONDS_MOST = 7 * 86_400.0


def add_patience(parser: argparse._ActionsContainer, default: int | None, otherwise: str) -> None:
    """Add `--patience`; `otherwise` says in words what holds without it."""
    parser.add_argument(
        "--patience",
        type=_patience,
        default=default,
        metavar="FACTOR",
        help="give cases, calls and events so many times as long, on a host that is very busy or "
        f"slow (1 to {PATIENCE_MOST}; default: {otherwise})",
    )


def add_cpus(parser: argparse._ActionsContainer) -> None:
    """Add `--cpus`, which is None where it is not given."""
    parser.add_argument(
        "--cpus",
        type=_cpus,
        metavar="N",
        help=f"processors of a guest of the vm fabric (1 to {CPUS_MOST}; default: 1)",
    )


def add_device(parser: argparse._ActionsContainer) -> None:
    """Add `--device`, which is None where it is not given."""
    parser.add_argument(
        "--device",
        choices=GUEST_DEVICES,
        help="what guests of the vm fabric have: rxe (default), which is soft-RoCE, or siw, which "
        "is iWARP",
    )


def add_kernel(parser: argparse._ActionsContainer) -> None:
    """Add `--kernel`, which is None where it is not given."""
    parser.add_argument(
        "--kernel",
        type=_series,
        metavar="SERIES",
        help="the kernel of guests of the vm fabric, as 6.12: the one that apt's metapackage "
        "linux-image-SERIES-amd64 names, or Ubuntu's linux-image-generic-SERIES (default: that of "
        "linux-image-amd64 or linux-image-generic)",
    )


def fabric_of(
    options: argparse.Namespace, checkout: Checkout
) -> tuple[type["Fabric"], dict[str, Any]]:
    """The fabric of `--fabric` and its settings, for a command that names no hosts.

    Raises InputError where there is none, or where it has to be told of its hosts.
    """
    from runners.campaign.plan.assignment import fabric_class
    from runners.fabric.base import Wish

    if options.fabric not in checkout.fabrics:
        raise InputError(
            f"no fabric is called {options.fabric!r}" + nearest(options.fabric, checkout.fabrics)
        )
    fabric = fabric_class(checkout.fabrics[options.fabric])
    return fabric, fabric.settings(
        Wish(cpus=options.cpus, device=options.device, kernel=options.kernel)
    )


def check_variant(name: str, checkout: Checkout) -> None:
    """Raise InputError where there is no such variant for the checkout's API."""
    from faults.rows import RowError, load_variants

    if checkout.api != DEFAULT_API:
        raise InputError(f"--variant wraps providers of DAT {DEFAULT_API} only")
    try:
        variants = load_variants(sorted(checkout.faults.rglob("*.toml")))
    except RowError as error:
        raise RunnerError(str(error)) from error
    names = [variant.name for variant in variants]
    if name not in names:
        raise InputError(
            f"no variant is called {name!r}"
            + (nearest(name, names) or f"; there is: {', '.join(names)}")
        )


def walk_seconds(text: str) -> float:
    """For how long random walks are taken. Raises ArgumentTypeError."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= WALK_SECONDS_MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds from 1 on")
    return seconds


def _series(text: str) -> str:
    if not re.fullmatch(r"\d+\.\d+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no series of kernels, as 6.12 is")
    return text


def _patience(text: str) -> int:
    return _number(text, PATIENCE_MOST)


def _cpus(text: str) -> int:
    return _number(text, CPUS_MOST)


def _number(text: str, most: int) -> int:
    number = int(text) if text.isdecimal() else 0
    if not 1 <= number <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 to {most}")
    return number
