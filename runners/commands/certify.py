# SPDX-License-Identifier: BSD-2-Clause
"""`certify`: run the suite on a provider, and say whether it conforms."""

import argparse
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from results.errors import InputError, RunnerError
from results.runlog import records
from runners import runs
from runners.catalogue.clauses import Catalogue
from runners.checkout import APIS, DEFAULT_API, Checkout
from runners.commands import (
    MOST_WORKERS,
    Subparsers,
    add_cpus,
    add_device,
    add_kernel,
    add_patience,
    walk_seconds,
)
from runners.names import nearest

if TYPE_CHECKING:
    from results.model.run import Run
    from runners.campaign.certify.campaign import Order, Outcome
    from runners.campaign.plan.plan import Case
    from runners.campaign.plan.subject import Subject
    from runners.campaign.schedule.progress import Progress
    from runners.campaign.schedule.tally import Past
    from runners.fabric.base import Fabric
    from runners.interrupts import Interrupts

MODES = (1, 2)
# The CI servers that runners.campaign.certify.annotations knows.
ANNOTATED = ("github", "gitlab")
SEEDS = 1_000_000
# What cases draw from: JSON knows whole numbers up to here.
MOST_SEED = 1 << 53
MOST_HOSTS = 100_000
# Options beside --resume: they change neither the plan nor a verdict.
BESIDE_RESUME = ("quiet", "workers", "annotate")


def add_parser(commands: Subparsers) -> None:
    """Add `certify` to the command line."""
    parser = commands.add_parser(
        "certify",
        help="run the suite on a provider",
        description="Run the suite on a provider (default: the reference provider) and write a "
        "report. Every case runs on one host, those with a peer also on two. Exit code: 0 "
        "conformant, or kept as far as it was run; 1 not conformant, 2 could not tell, 64 wrong "
        "input.",
    )
    _add_arguments(parser)
    parser.set_defaults(run=run, look=look)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
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


def look(options: argparse.Namespace) -> None:
    """Refuse what of the command line can be refused before anything is built, as run() does."""
    from runners.campaign.plan.subject import from_dat_conf, from_library, registry

    if options.resume is not None:
        return
    checkout: Checkout = options.checkout.by(options.api)
    _check(options, checkout)
    fabric, settings = _fabric(options, checkout)
    _modes(options, fabric.most_hosts(settings))
    if options.provider is not None:
        from_library(options.provider, options.ia_params or "", checkout.api)
    # Files of a remote host are read by the agent that is built for it.
    if options.dat_conf is not None and fabric.entry(settings) is None:
        with fabric.subject(settings) as files:
            from_dat_conf(options.dat_conf, options.ia, checkout.api, files)
    if options.libdat is not None:
        registry(options.libdat, checkout.api)


def run(options: argparse.Namespace) -> int:
    """Run the campaign that the command line describes; its exit code."""
    from runners.campaign.certify.campaign import conduct
    from runners.campaign.plan.plan import load_cases
    from runners.campaign.plan.subject import Subject, from_dat_conf, from_library, varied

    if options.resume is not None:
        return _resume(options)
    checkout: Checkout = options.checkout.by(options.api)
    _check(options, checkout)
    if options.explore and not checkout.puppet.is_file():
        raise RunnerError(f"{checkout.puppet} is not built: cmake --build --preset default")
    fabric, settings = _fabric(options, checkout)
    modes = _modes(options, fabric.most_hosts(settings))
    fabric.require()

    def subject() -> Subject:
        if options.variant is None:
            return plain_subject()
        return varied(plain_subject(), checkout.faulty_provider, options.variant)

    def plain_subject() -> Subject:
        entry = fabric.entry(settings)
        if entry is None and options.dat_conf is not None:
            entry = options.dat_conf, options.ia
        if entry is not None:
            path, ia = entry
            with fabric.subject(settings) as files:
                return from_dat_conf(path, ia, checkout.api, files)
        params = options.ia_params or fabric.ia_params(settings)
        return from_library(options.provider or _reference(checkout), params, checkout.api)

    catalogue, cases = load_cases(checkout)
    seed = random.randrange(SEEDS) if options.seed is None else options.seed
    with runs.new_run(checkout.runs, seed, elsewhere=options.out is not None) as run_:
        order = _order(options, run_, seed, subject(), catalogue, cases, settings, modes)
        folder = (options.out or checkout.runs / order.run).resolve()
        conducted = partial(conduct, checkout, order, folder)
        with _baseline(checkout, options) as baseline:
            return _campaign(folder, options, conducted, baseline)


def _resume(options: argparse.Namespace) -> int:
    """Finish a run that ended early, as its own command had it."""
    from results.errors import ReportError
    from results.model.load import light
    from runners.campaign.certify.campaign import DAT_CONF, SETTINGS, resume, settings_of
    from runners.campaign.plan.assignment import fabric_class
    from runners.campaign.plan.plan import load_cases
    from runners.campaign.plan.subject import from_dat_conf
    from runners.campaign.schedule.tally import Past
    from runners.fabric.files import Files

    _refuse_beside_resume(options.command_line)
    folder = runs.find_run(options.checkout.runs, options.resume)
    try:
        light(folder)
    except ReportError as error:
        raise InputError(str(error)) from error
    past = Past.read(folder)
    had = _options_of(past)
    had.checkout = options.checkout
    had.quiet, had.annotate = options.quiet, options.annotate or had.annotate
    had.workers = had.workers if options.workers is None else options.workers
    checkout: Checkout = options.checkout.by(had.api)
    _check(had, checkout)
    catalogue, cases = load_cases(checkout)
    fabric = fabric_class(checkout.fabrics[had.fabric])
    settings = settings_of(folder)
    try:
        fabric(hosts=1, progress=lambda line: None, **settings)
        entry = fabric.entry(settings)
        most_hosts = fabric.most_hosts(settings)
    except (TypeError, LookupError, ValueError, AttributeError) as error:
        raise InputError(
            f"{folder / SETTINGS} was damaged, or is of another fabric ({error}): certify anew"
        ) from error
    if entry is None:
        ia = past.run["subject"]["ia"]
        subject = from_dat_conf(folder / DAT_CONF, ia, checkout.api, Files())
    else:
        path, ia = entry
        with fabric.subject(settings) as files:
            subject = from_dat_conf(path, ia, checkout.api, files)
    modes = _modes(had, most_hosts)
    name, seed = past.run["run"], past.run["seed"]
    order = _order(had, name, seed, subject, catalogue, cases, settings, modes)
    resumed = partial(resume, checkout, order, past, folder)
    with _baseline(checkout, had) as baseline:
        return _campaign(folder, had, resumed, baseline)


def _refuse_beside_resume(command: Sequence[str]) -> None:
    """Raise InputError if `command` has an option that the run to be resumed has already."""
    parser = _Parser()
    _add_arguments(parser)
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


def _options_of(past: "Past") -> argparse.Namespace:
    """The options that a run was begun with."""
    parser = _Parser()
    _add_arguments(parser)
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


def _order(
    options: argparse.Namespace,
    run_: str,
    seed: int,
    subject: "Subject",
    catalogue: Catalogue,
    cases: Sequence["Case"],
    settings: Mapping[str, Any],
    modes: Sequence[int],
) -> "Order":
    from runners.campaign.certify.campaign import Order
    from runners.campaign.plan.plan import plan, select
    from runners.campaign.plan.subject import registry
    from runners.campaign.schedule.selection import Choice

    libdat = registry(options.libdat, subject.api) if options.libdat else None
    return Order(
        run=run_,
        command=options.command_line,
        subject=replace(subject, libdat=libdat),
        cases=select(cases, _named(options, cases)),
        whole=plan(cases, MODES, seed, every_mode=False),
        catalogue=catalogue,
        fabric=options.fabric,
        settings=settings,
        modes=modes,
        every_mode=options.hosts is not None,
        seed=seed,
        choice=Choice(options.keyword, options.marker, options.last_failed),
        stop_first=options.stop_first,
        workers=options.workers,
        spread=options.spread if options.every_pair is None else options.every_pair,
        every_pair=options.every_pair is not None,
        patience=options.patience,
        thorough=options.thorough,
        privileged=options.privileged,
        waivers=_waivers(options, catalogue),
        waived_ok=options.waived_ok,
        assumed=_assumed(options.assumed),
        explore=options.explore,
    )


def _named(options: argparse.Namespace, cases: Sequence["Case"]) -> Sequence[str]:
    """What the command line names of the cases; nothing for all."""
    from runners.campaign.plan.quick import quick_cases

    if options.quick:
        return quick_cases(options.checkout, (case.id for case in cases))
    names: Sequence[str] = options.ids
    return names


@contextmanager
def _baseline(checkout: Checkout, options: argparse.Namespace) -> "Iterator[Run | None]":
    """The run to compare with, read before anything is run."""
    from results.errors import ReportError
    from results.model.load import light
    from runners.package.opened import opened

    if options.baseline is None:
        yield None
        return
    with opened(checkout.runs, options.baseline) as folder:
        try:
            baseline = light(folder)
        except ReportError as error:
            raise InputError(f"--baseline {options.baseline}: {error}") from error
        yield baseline


def _campaign(
    folder: Path,
    options: argparse.Namespace,
    conduct: "Callable[[Progress, Interrupts], Outcome]",
    baseline: "Run | None",
) -> int:
    """Have a run conducted, tell of it and report it; the exit code."""
    from results.gc_pause import uncollected
    from runners.campaign.schedule.progress import Progress, console
    from runners.interrupts import Interrupts

    out = console()
    with Interrupts(records.COULD_NOT_TELL) as interrupts:
        with Progress(out, options.quiet) as progress:
            try:
                outcome = conduct(progress, interrupts)
            except KeyboardInterrupt:
                raise RunnerError("interrupted before the first case") from None
        interrupts.anew()
        try:
            with uncollected():
                run_, whole = _tell(folder)
        except KeyboardInterrupt:
            return _told_in_part(folder)
    for error in outcome.errors:
        print(f"udapl-cts: {error}", file=sys.stderr)
    if run_ is None or not whole:
        return records.COULD_NOT_TELL
    _annotate(run_, options.annotate, folder)
    wrong = _refuse_unused(options.waivers, run_)
    if baseline is not None:
        code = _compared(baseline, run_, folder)
        # A run that ended early says nothing of what it did not reach.
        ended = run_.end is not None and run_.end.status == "complete"
        return wrong or (code if ended else records.COULD_NOT_TELL)
    return wrong or _taken(run_, outcome.exit_code)


def _annotate(run_: "Run", server: str | None, folder: Path) -> None:
    """Print the findings as `server` reads them, if one was given."""
    from runners.campaign.certify.annotations import annotate

    if server is None:
        return
    try:
        for line in annotate(run_, server, folder):
            print(line)
    except OSError as error:
        print(f"udapl-cts: --annotate: {error}", file=sys.stderr)


def _compared(baseline: "Run", run_: "Run", folder: Path) -> int:
    """Compare a run with its baseline, beside its reports and on the terminal; the exit code."""
    from reports.compare.comparison import RENDERERS
    from reports.render import replace
    from results.analysis.comparison import compare
    from results.errors import ReportError
    from runners.commands.compare import CODES

    try:
        found = compare(baseline, run_)
    except ReportError as error:
        print(f"udapl-cts: --baseline: {error}", file=sys.stderr)
        return InputError.exit_code
    for fmt in ("html", "md", "json"):
        path = folder / f"comparison.{fmt}"
        try:
            replace(path, RENDERERS[fmt](found))
        except OSError as error:
            print(f"udapl-cts: cannot write {path}: {error.strerror}", file=sys.stderr)
    print(f"\n{RENDERERS['text'](found)}comparison: {folder / 'comparison.html'}")
    return CODES[found.word]


def _waivers(options: argparse.Namespace, catalogue: Catalogue) -> list[records.Record]:
    from runners.campaign.certify.waiver_file import read

    if options.waivers is None:
        return []
    return read(options.waivers, catalogue.clauses, datetime.now(UTC).date())


def _refuse_unused(path: Path | None, run_: "Run") -> int:
    """Tell of each waiver that waives nothing; the exit code for that, or 0."""
    from results.analysis.waivers import judge

    unused = [judged for judged in judge(run_) if judged.unused]
    for judged in unused:
        warned = "warning: " if run_.waived_ok and judged.mended else ""
        print(
            f"udapl-cts: {warned}{path}: the waiver of {judged.waiver.clause} is unused:"
            f" {judged.unused}; remove it{'' if warned else ', or mend it'}",
            file=sys.stderr,
        )
    wrong = any(not (run_.waived_ok and judged.mended) for judged in unused)
    return InputError.exit_code if wrong else 0


def _taken(run_: "Run", code: int) -> int:
    """The exit code of a run that ended with `code`, where its findings may all be waived."""
    from results.analysis.waivers import accepted
    from results.model.attempt import UNKNOWN

    if code != records.NOT_CONFORMANT or not accepted(run_):
        return code
    return records.COULD_NOT_TELL if run_.with_verdict(*UNKNOWN) else records.CONFORMANT


def _told_in_part(folder: Path) -> int:
    """Say which reports a ^C let be written; the exit code."""
    from reports.render import NAMES

    there = [name for name in NAMES if (folder / name).is_file()]
    print(
        f"udapl-cts: interrupted while the reports were written: {folder} has"
        f" {', '.join(there) or 'none of them'}; ./udapl-cts report {folder.name} makes the others",
        file=sys.stderr,
    )
    return records.COULD_NOT_TELL


def _tell(folder: Path) -> "tuple[Run | None, bool]":
    """Render the reports, and print what they say in short: the run, None when there is nothing to
    read, and whether all reports were written.
    """
    from reports.render import render
    from results.errors import ReportError
    from results.model.load import load
    from runners.campaign.certify import summary
    from runners.campaign.schedule.progress import console

    out = console()
    try:
        run_ = load(folder)
    except ReportError as error:
        print(f"udapl-cts: {error}", file=sys.stderr)
        return None, False
    summary.show(run_, out)
    html = None
    whole = True
    for fmt in ("json", "junit", "md", "customer", "html"):
        try:
            path = render(folder, fmt, run_)
            html = path if fmt == "html" else html
        except ReportError as error:
            whole = False
            print(f"udapl-cts: {error}", file=sys.stderr)
    summary.show_files(html, run_, out)
    return run_, whole


def _check(options: argparse.Namespace, checkout: Checkout) -> None:
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
    _assumed(options.assumed)
    if options.variant is not None:
        _check_variant(options.variant, checkout)


def _fabric(
    options: argparse.Namespace, checkout: Checkout
) -> "tuple[type[Fabric], Mapping[str, Any]]":
    """The fabric that the options name, and its settings by them."""
    from runners.campaign.plan.assignment import fabric_class
    from runners.fabric.base import Wish

    fabric = fabric_class(checkout.fabrics[options.fabric])
    wish = Wish(
        options.hosts_file,
        options.dat_conf,
        options.ia,
        options.ia_params,
        options.cpus,
        options.device,
        options.kernel,
    )
    return fabric, fabric.settings(wish)


def _assumed(words: Sequence[str]) -> dict[str, bool]:
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


def _check_variant(name: str, checkout: Checkout) -> None:
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


def _modes(options: argparse.Namespace, most: int) -> Sequence[int]:
    """The host counts to run the cases on; raises InputError where the fabric has fewer hosts."""
    if options.hosts is None:
        return MODES[:1] if options.quick else [hosts for hosts in MODES if hosts <= most]
    if options.hosts > most:
        raise InputError(
            f"--hosts {options.hosts}: the {options.fabric} fabric has {most} "
            f"host{'s' if most != 1 else ''} here"
        )
    return (options.hosts,)


def _reference(checkout: Checkout) -> Path:
    path = checkout.reference_provider
    if not path.is_file():
        raise RunnerError(
            f"the reference provider is not built ({path} is missing): "
            "cmake --preset default && cmake --build --preset default"
        )
    return path
