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
from typing import TYPE_CHECKING, Any

from results.errors import InputError, RunnerError
from results.runlog import records
from runners import runs
from runners.catalogue.clauses import Catalogue
from runners.checkout import Checkout
from runners.commands import Subparsers
from runners.commands.certify_options import (
    MODES,
    add_arguments,
    assumed_features,
    check_options,
    modes_of,
    options_of,
    refuse_beside_resume,
)

if TYPE_CHECKING:
    from results.model.run import Run
    from runners.campaign.certify.campaign import Order, Outcome
    from runners.campaign.plan.plan import Case
    from runners.campaign.plan.subject import Subject
    from runners.campaign.schedule.progress import Progress
    from runners.fabric.base import Fabric
    from runners.interrupts import Interrupts

SEEDS = 1_000_000


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
    add_arguments(parser)
    parser.set_defaults(run=run, look=look)


def look(options: argparse.Namespace) -> None:
    """Refuse what of the command line can be refused before anything is built, as run() does."""
    from runners.campaign.plan.subject import from_dat_conf, from_library, registry

    if options.resume is not None:
        return
    checkout: Checkout = options.checkout.by(options.api)
    check_options(options, checkout)
    fabric, settings = _fabric(options, checkout)
    modes_of(options, fabric.most_hosts(settings))
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
    check_options(options, checkout)
    if options.explore and not checkout.puppet.is_file():
        raise RunnerError(f"{checkout.puppet} is not built: cmake --build --preset default")
    fabric, settings = _fabric(options, checkout)
    modes = modes_of(options, fabric.most_hosts(settings))
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

    refuse_beside_resume(options.command_line)
    folder = runs.find_run(options.checkout.runs, options.resume)
    try:
        light(folder)
    except ReportError as error:
        raise InputError(str(error)) from error
    past = Past.read(folder)
    had = options_of(past)
    had.checkout = options.checkout
    had.quiet, had.annotate = options.quiet, options.annotate or had.annotate
    had.workers = had.workers if options.workers is None else options.workers
    checkout: Checkout = options.checkout.by(had.api)
    check_options(had, checkout)
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
    modes = modes_of(had, most_hosts)
    name, seed = past.run["run"], past.run["seed"]
    order = _order(had, name, seed, subject, catalogue, cases, settings, modes)
    resumed = partial(resume, checkout, order, past, folder)
    with _baseline(checkout, had) as baseline:
        return _campaign(folder, had, resumed, baseline)


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
        assumed=assumed_features(options.assumed),
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
    first = summary.show(run_, out)
    html = None
    whole = True
    for fmt in ("json", "junit", "md", "customer", "html"):
        try:
            path = render(folder, fmt, run_)
            html = path if fmt == "html" else html
        except ReportError as error:
            whole = False
            print(f"udapl-cts: {error}", file=sys.stderr)
    summary.show_files(html, run_, first, out)
    return run_, whole


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


def _reference(checkout: Checkout) -> Path:
    path = checkout.reference_provider
    if not path.is_file():
        raise RunnerError(
            f"the reference provider is not built ({path} is missing): "
            "cmake --preset default && cmake --build --preset default"
        )
    return path
