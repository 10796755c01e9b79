# SPDX-License-Identifier: BSD-2-Clause
"""The options of `certify`: what they are, which go together, and those of a run to be resumed."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from results.errors import InputError
from runners.checkout import APIS, DEFAULT_API, Checkout
from runners.commands import (
    MOST_WORKERS,
    add_cpus,
    add_device,
    add_kernel,
    add_patience,
    check_variant,
    walk_seconds,
)
from runners.names import nearest

if TYPE_CHECKING:
    from runners.campaign.schedule.tally import Past

MODES = (1, 2)
# The CI servers that runners.campaign.certify.annotations knows.
ANNOTATED = ("github", "gitlab")
# What cases draw from: JSON knows whole numbers up to here.
MOST_SEED = 1 << 53
MOST_HOSTS = 100_000
# Options beside --resume: they change neither the plan nor a verdict.
BESIDE_RESUME = ("quiet", "workers", "annotate")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `certify` to its parser."""
    parser.add_argument(
        "ids",
        nargs="*",
        metavar="ID",
        help="a case, a clause, a page (dat_srq_resize) or an object (srq); default: all",
    )
    subject = parser.add_argument_group("the provider")
    which = subject.add_mutually_exclusive_group()
    which.add_argument("--provider", type=Path, metavar="LIB", help="a provider's shared object")
    which.add_argument("--dat-conf", type=Path, metavar="FILE", help="a dat.conf that names it")
    subject.add_argument("--ia", metavar="NAME", help="with --dat-conf: the IA's name in it")
    subject.add_argument(
        "--api",
        choices=APIS,
        default=DEFAULT_API,
        help=f"the DAT API that it speaks (default: {DEFAULT_API})",
    )
    subject.add_argument(
        "--ia-params",
        metavar="STR",
        help="the ia_params of the provider's dat.conf entry (default: the host's device)",
    )
    subject.add_argument(
        "--libdat",
        type=Path,
        metavar="LIB",
        help="a registry, libdat.so.1 or libdat2.so.2, that takes the place of the usual one: it is"
        " certified with the provider, and to blame where a clause of the registry is not kept",
    )
    subject.add_argument(
        "--variant",
        metavar="NAME",
        help="wrap it in a provider that differs in what the pages leave open (docs/faults.md)",
    )
    subject.add_argument(
        "--assume",
        dest="assumed",
        action="append",
        default=[],
        metavar="FEATURE=0|1",
        help="whether an optional feature is there, if dat_ia_query leaves unwritten whether it is "
        "(again for each; default: it is tried; docs/certify.md)",
    )
    subject.add_argument(
        "--waivers",
        type=Path,
        metavar="FILE",
        help="waivers of known findings (TOML, docs/waivers.md); they change no verdict",
    )
    subject.add_argument(
        "--waived-ok",
        action="store_true",
        help="with --waivers: exit code 0 where every finding is waived, and a waiver whose clause "
        "was kept is a warning",
    )
    how = parser.add_argument_group("where, and what is kept")
    how.add_argument(
        "--fabric",
        default="vm",
        metavar="NAME",
        help="vm (default), host, ssh, slurm (docs/fabrics.md)",
    )
    how.add_argument(
        "--hosts-file", type=Path, metavar="FILE", help="with --fabric ssh: its hosts, as TOML"
    )
    how.add_argument(
        "--hosts", type=int, metavar="N", help="run every case on N hosts (1 or 2) only"
    )
    add_cpus(how)
    add_device(how)
    add_kernel(how)
    how.add_argument("--seed", type=int, metavar="N", help="the order of an earlier run")
    add_patience(how, 1, "1")
    how.add_argument(
        "--thorough",
        action="store_true",
        help="wait in each case for events that come late, and not only in a drawn share of them",
    )
    how.add_argument(
        "--baseline",
        metavar="RUN",
        help="compare with an earlier run or package at the end, as compare does, and end with its "
        "exit code: 0 nothing that was kept there failed now, 1 something did, 2 could not tell",
    )
    how.add_argument(
        "-q",
        dest="quiet",
        action="store_true",
        help="print no progress, only incidents, findings and the conclusion",
    )
    how.add_argument(
        "--annotate",
        choices=ANNOTATED,
        help="print the findings as annotations of a CI server, or write them to a file for it "
        "(docs/ci.md)",
    )
    how.add_argument(
        "--out", type=Path, metavar="DIR", help="the run's folder (default: runs/<run>)"
    )
    how.add_argument(
        "--explore",
        type=walk_seconds,
        default=0.0,
        metavar="SECONDS",
        help="when the cases have run, take random walks for so long, by the run's seed: what they"
        " find is a finding of the run (docs/explore.md)",
    )
    some = parser.add_argument_group("a part of the suite, as pytest has it")
    some.add_argument("-k", dest="keyword", default="", metavar="EXPR", help="by name")
    some.add_argument(
        "-m",
        dest="marker",
        default="",
        metavar="EXPR",
        help="by page, object, level (must, may), check (local, pair, network), hosts1, hosts2",
    )
    some.add_argument(
        "--quick",
        action="store_true",
        help="a fixed tenth of the cases, on one host unless --hosts says otherwise: for each "
        "change of a provider, and no certification (docs/ci.md)",
    )
    some.add_argument(
        "-x", dest="stop_first", action="store_true", help="stop at the first failure"
    )
    some.add_argument(
        "--lf", dest="last_failed", action="store_true", help="only what failed the last time"
    )
    some.add_argument(
        "-n",
        dest="workers",
        type=int,
        metavar="WORKERS",
        help="so many cases at a time, with guests each on guests of its own, elsewhere all on the "
        "same hosts (default: as many as pay, two for each processor at most; docs/fabrics.md)",
    )
    how.add_argument(
        "--privileged",
        action="store_true",
        help="leave to cases and peers the user and the privilege of the agent, for a provider that"
        " cannot do without; the report says so (docs/certify.md)",
    )
    many = parser.add_argument_group("many hosts")
    lots = many.add_mutually_exclusive_group()
    lots.add_argument(
        "--spread",
        type=int,
        nargs="?",
        const=0,
        metavar="HOSTS",
        help="share the suite among pairs of hosts: all that the fabric has, or so many",
    )
    lots.add_argument(
        "--every-pair",
        type=int,
        nargs="?",
        const=0,
        metavar="HOSTS",
        help="run the suite on each host, and its cases with a peer on each pair",
    )
    parser.add_argument(
        "--resume",
        metavar="RUN",
        help="finish what is missing in a run that ended early, by the options that it was begun "
        "with; takes -q, -n and --annotate besides",
    )


def check_options(options: argparse.Namespace, checkout: Checkout) -> None:
    """Raise InputError where the options do not fit together."""
    if options.fabric not in checkout.fabrics:
        known = ", ".join(checkout.fabrics)
        raise InputError(
            f"no fabric is called {options.fabric!r}"
            + (nearest(options.fabric, checkout.fabrics) or f"; there is: {known}")
        )
    if options.hosts is not None and options.hosts not in MODES:
        raise InputError(f"--hosts {options.hosts}: the cases need 1 host or 2")
    if options.quick and options.ids:
        raise InputError("--quick chooses the cases by itself: give it no ID")
    if options.workers is not None and not 1 <= options.workers <= MOST_WORKERS:
        raise InputError(f"-n: from 1 to {MOST_WORKERS} processes can run the cases")
    spread = options.spread if options.every_pair is None else options.every_pair
    if spread is not None and (options.workers or 1) > 1:
        raise InputError("-n goes with neither --spread nor --every-pair: one process drives them")
    if spread is not None and not 0 <= spread <= MOST_HOSTS:
        raise InputError(f"a number of hosts is positive, and {MOST_HOSTS} at most")
    if options.seed is not None and not 0 <= options.seed < MOST_SEED:
        raise InputError(f"--seed: a seed is a whole number from 0 to {MOST_SEED - 1}")
    if options.dat_conf is None and options.ia is not None:
        raise InputError("--ia names an entry of a dat.conf: give --dat-conf too")
    if options.dat_conf is not None and options.ia is None:
        raise InputError("--dat-conf needs --ia NAME: which of its IAs is to be certified")
    if options.ia_params is not None and options.dat_conf is not None:
        raise InputError("--ia-params does not go with --dat-conf: a dat.conf has its own")
    if options.explore and spread is not None:
        raise InputError("--explore goes with neither --spread nor --every-pair")
    if options.waived_ok and options.waivers is None:
        raise InputError("--waived-ok says what waived findings count for: give --waivers too")
    assumed_features(options.assumed)
    if options.variant is not None:
        check_variant(options.variant, checkout)


def assumed_features(words: Sequence[str]) -> dict[str, bool]:
    """What `--assume` says of features. Raises InputError where it is no such thing."""
    from runners.catalogue.clauses import DECLARED

    said: dict[str, bool] = {}
    for word in words:
        feature, _, value = word.partition("=")
        if feature not in DECLARED:
            raise InputError(
                f"--assume: no attribute declares a feature {feature!r}"
                + (nearest(feature, DECLARED) or f"; there is: {', '.join(DECLARED)}")
            )
        if value not in ("0", "1"):
            raise InputError(f"--assume {word}: say {feature}=1 if it is there, or {feature}=0")
        if said.setdefault(feature, value == "1") != (value == "1"):
            raise InputError(f"--assume: {feature} cannot be there and be absent")
    return said


def modes_of(options: argparse.Namespace, most: int) -> Sequence[int]:
    """The host counts to run the cases on; raises InputError where the fabric has fewer hosts."""
    if options.hosts is None:
        return MODES[:1] if options.quick else [hosts for hosts in MODES if hosts <= most]
    if options.hosts > most:
        raise InputError(
            f"--hosts {options.hosts}: the {options.fabric} fabric has {most} "
            f"host{'s' if most != 1 else ''} here"
        )
    return (options.hosts,)


def refuse_beside_resume(command: Sequence[str]) -> None:
    """Raise InputError if `command` has an option that the run to be resumed has already."""
    parser = _Parser()
    add_arguments(parser)
    dests = {action.dest: action for action in parser._actions}
    # A value that the namespace has is not replaced by a default: None means not given.
    given = parser.parse_args(command[2:], argparse.Namespace(**dict.fromkeys(dests)))
    wrong = [
        action.option_strings[-1] if action.option_strings else "cases by name"
        for dest, action in dests.items()
        if dest not in ("resume", *BESIDE_RESUME) and getattr(given, dest) not in (None, [])
    ]
    if wrong:
        raise InputError(
            f"--resume does not take {', '.join(wrong)}: the run continues with the options that "
            "it was begun with; only -q, -n and --annotate can be given anew"
        )


def options_of(past: "Past") -> argparse.Namespace:
    """The options that a run was begun with."""
    parser = _Parser()
    add_arguments(parser)
    command = past.run["command"]
    try:
        options = parser.parse_args(command[2:])
    except (argparse.ArgumentError, InputError) as error:
        raise InputError(f"the suite changed since run {past.run['run']} began: {error}") from error
    options.command_line = command
    return options


class _Parser(argparse.ArgumentParser):
    """One that says to its caller what is wrong, and not to the person."""

    def error(self, message: str) -> NoReturn:
        raise InputError(message)
