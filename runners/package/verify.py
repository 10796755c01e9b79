# SPDX-License-Identifier: BSD-2-Clause
"""Looks through a package, check by check, with nothing but the package and this clone."""

import json
import posixpath
import re
import shlex
import shutil
import subprocess
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from io import BytesIO
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from reports.render import FORMATS, NAMES, render
from results.analysis import mutation
from results.analysis.waivers import judge
from results.errors import InputError, ReportError
from results.model.clause import Clause
from results.model.load import load
from results.model.run import Run
from results.runlog.invariants import TABLE, State, broken
from results.runlog.printable import printable
from results.runlog.records import EVENTS
from runners.catalogue.clauses import Catalogue, CatalogueError, every_page
from runners.catalogue.clauses import load as load_catalogue
from runners.catalogue.counted import by_profile
from runners.checkout import DEFAULT_API, Checkout, revision
from runners.fabric import datconf
from runners.package import archive, signature, statement
from runners.package.archive import DAT_CONF, FAULTS, MANIFEST, SIGNATURE, STATEMENT, ArchiveError
from runners.package.build import digest, manifest_of, proves, text_of
from runners.package.rejudge import rejudge

OK, NOT_OK, CANNOT_TELL = "ok", "not ok", "cannot tell"
# So many broken invariants are listed.
_TOLD = 3
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
# The modes in which a whole run has a case, by its check.
_MODES = {"local": (1,), "pair": (1, 2), "multi": (1, 2), "network": (2,)}


@dataclass(frozen=True)
class Result:
    """What came of a check: `word` is OK, NOT_OK or CANNOT_TELL."""

    name: str
    word: str
    text: str


def verify(path: Path, signers: Path | None, checkout: Checkout) -> Iterator[Result]:
    """Each check of the package `path`, in turn, and last of all what the run in it says.

    Raises InputError where there is no such file, or no file of `signers`.
    """
    if signers is not None and not signers.is_file():
        raise InputError(f"there is no file {signers}: docs/package.md shows how to write one")
    if not path.is_file():
        raise InputError(f"there is no package {path}")
    with tempfile.TemporaryDirectory(prefix="udapl-cts-") as name:
        yield from _Verifier(Path(name), signers, checkout).checks(path)


class _Verifier:
    """The checks of one package, which is unpacked in `folder`."""

    def __init__(self, folder: Path, signers: Path | None, checkout: Checkout) -> None:
        self._folder = folder
        self._signers = signers
        self._checkout = checkout
        self._files: dict[str, Path] = {}
        self._path = Path()

    def checks(self, path: Path) -> Iterator[Result]:
        """All that can be looked at."""
        self._path = path
        try:
            self._files = archive.read(path, self._folder)
        except ArchiveError as error:
            yield Result("archive", NOT_OK, printable(str(error)))
            return
        yield Result("archive", OK, f"{len(self._files)} members, {path.stat().st_size:,} bytes")
        yield self._signature()
        manifest = self._manifest()
        yield self._digests(manifest)
        try:
            if EVENTS not in self._files:
                raise ArchiveError("there are no records")
            archive.weigh(self._files[EVENTS])
            run = load(self._folder)
        except (ReportError, ArchiveError) as error:
            yield Result("records", NOT_OK, str(error))
            return
        said = f"{run.records} in their order, each verdict as its checks have it; {run.digest}"
        yield Result("records", OK, said)
        told = State()
        yield self._invariants(told)
        yield self._about(manifest, run)
        yield self._planned(run)
        commit = self._commit(run)
        yield commit
        yield self._suite(run, commit.word)
        yield self._sources(run, told, commit.word)
        yield self._calls(run, commit.word)
        yield self._dat_conf(run)
        yield self._reports(run, commit.word)
        yield self._waivers(run)
        yield self._proof(run)
        yield self._statement(run)
        # It is no check: a package of a run that is not conformant is as true as another.
        yield Result("run", "", f"{run.conclusion.word}: {run.conclusion.because}")

    def _signature(self) -> Result:
        if SIGNATURE not in self._files:
            word = CANNOT_TELL if self._signers is None else NOT_OK
            return Result("signature", word, "it is not signed: anybody may have made it")
        good, why = signature.check(self._files[MANIFEST], self._files[SIGNATURE], self._signers)
        word = CANNOT_TELL if good is None else OK if good else NOT_OK
        return Result("signature", word, why)

    def _manifest(self) -> dict[str, Any]:
        try:
            manifest = json.loads(self._files[MANIFEST].read_bytes())
        except (ValueError, RecursionError):
            return {}
        return manifest if isinstance(manifest, dict) else {}

    def _digests(self, manifest: dict[str, Any]) -> Result:
        """Whether the files are those that the manifest, which is signed, has digests of."""
        there = {
            name: {"sha256": digest(path), "size": path.stat().st_size}
            for name, path in self._files.items()
            if name not in (MANIFEST, SIGNATURE)
        }
        told = manifest.get("files")
        if not isinstance(told, dict):
            return Result("digests", NOT_OK, f"{MANIFEST} is no manifest")
        for name in sorted(there.keys() | told.keys()):
            if name not in there:
                return Result("digests", NOT_OK, f"{printable(name)} is not there")
            if name not in told:
                return Result("digests", NOT_OK, f"{name} is there, and not in the manifest")
            if told[name] != there[name]:
                return Result("digests", NOT_OK, f"{name} is not the one of the manifest")
        missing = {EVENTS, *NAMES} - there.keys()
        if missing:
            return Result("digests", NOT_OK, f"it has no {min(missing)}")
        return Result("digests", OK, f"{len(there)} files are those of the manifest")

    def _about(self, manifest: dict[str, Any], run: Run) -> Result:
        """Whether what the manifest says of the run is what the records say."""
        due = json.loads(text_of(manifest_of(run, self._files)))
        for name in sorted(due.keys() | manifest.keys()):
            if manifest.get(name) != due.get(name):
                text = f"its {printable(name)!r} is not what the records say"
                return Result("manifest", NOT_OK, text)
        if self._files[MANIFEST].read_bytes() != text_of(due).encode():
            return Result("manifest", NOT_OK, "it is not written as `package` writes it")
        subject = run.subject
        text = f"{subject.name}, SHA-256 {subject.sha256}, build id {subject.build_id or 'none'}"
        return Result("manifest", OK, text)

    def _invariants(self, told: State) -> Result:
        """Whether the records tell what the records of a run tell."""
        wrong = list(islice(broken(self._folder, told), _TOLD + 1))
        if wrong:
            more = " and more" if len(wrong) > _TOLD else ""
            return Result("invariants", NOT_OK, "; ".join(wrong[:_TOLD]) + more)
        return Result("invariants", OK, f"{len(TABLE)} hold in each record")

    def _planned(self, run: Run) -> Result:
        planned = sum(len(case.modes) for case in run.cases)
        if not run.complete:
            return Result("plan", NOT_OK, run.partial)
        if run.cut_off:
            return Result("plan", NOT_OK, "the last record was cut off")
        return Result("plan", OK, f"each of {planned} planned verdicts is there")

    def _commit(self, run: Run) -> Result:
        commit = run.suite.commit
        if not run.suite.tree or not _COMMIT.fullmatch(commit):
            text = "the suite is of no known commit: nobody can say what its cases were"
            return Result("commit", CANNOT_TELL, text)
        known = self._git("cat-file", "-e", f"{commit}^{{commit}}")
        if known is None:
            text = f"{commit} is not known to this clone: git fetch, and verify again"
            return Result("commit", CANNOT_TELL, text)
        if run.suite.dirty:
            text = f"{commit}, with local changes that nobody else has"
            return Result("commit", CANNOT_TELL, text)
        return Result("commit", OK, commit)

    def _suite(self, run: Run, commit: str) -> Result:
        """Whether the clauses, and how many there are, are those of the suite at its commit."""
        if commit != OK:
            return Result("suite", CANNOT_TELL, "its commit is not known")
        try:
            with tempfile.TemporaryDirectory(prefix="udapl-cts-") as name:
                folder = Path(name)
                packed = self._git("archive", "--format=tar", run.suite.commit, "cases") or b""
                _unpack_catalogue(packed, folder)
                wrong = _differing(
                    run, load_catalogue(folder / "cases"), every_page(folder / "cases")
                )
        except (CatalogueError, tarfile.TarError, OSError) as error:
            return Result("suite", CANNOT_TELL, f"the catalogue of that commit: {error}")
        if wrong:
            return Result("suite", NOT_OK, wrong)
        text = f"{len(run.clauses)} clauses of {len(run.covered)} pages are those of the commit"
        return Result("suite", OK, text)

    def _sources(self, run: Run, told: State, commit: str) -> Result:
        """Whether each check stands where the commit has a line."""
        if commit != OK:
            return Result("sources", CANNOT_TELL, "its commit is not known")
        for file, line in sorted(told.sources.items()):
            # Where a build is elsewhere, or a header is included from beside, names have dots.
            path = posixpath.normpath(file)
            while path.startswith("../"):
                path = path.removeprefix("../")
            text = self._git("show", f"{run.suite.commit}:{path}")
            if text is None:
                return Result("sources", NOT_OK, f"the commit has no {printable(file)}")
            if line > text.count(b"\n"):
                return Result("sources", NOT_OK, f"{printable(file)} has no line {line} there")
        return Result("sources", OK, f"checks stand in {len(told.sources)} files of the commit")

    def _calls(self, run: Run, commit: str) -> Result:
        """Whether the executable specification finds in the calls what the records say of them."""
        try:
            found = rejudge(self._folder, _TOLD)
        except (ReportError, LookupError, TypeError, ValueError, AttributeError) as error:
            return Result("calls", NOT_OK, printable(f"they cannot be judged: {error}"))
        if not found.wrong:
            text = f"{found.judged} of {found.calls} judged again: as the records say"
            return Result("calls", OK, text)
        text = "; ".join(found.wrong)
        if found.differing > len(found.wrong):
            text += f"; and {found.differing - len(found.wrong)} more"
        if self._is_same_suite(run, commit):
            return Result("calls", NOT_OK, text)
        here, _ = revision(self._checkout.root)
        text += f" (judged by the suite of {here}, and not by that of the run"
        text += f": {self._by_suite_of(run)})" if commit == OK else ")"
        return Result("calls", CANNOT_TELL, text)

    def _is_same_suite(self, run: Run, commit: str) -> bool:
        """Whether this clone is the run's suite, so that both must say the same."""
        here, changed = revision(self._checkout.root)
        return commit == OK and here == run.suite.commit and not changed

    def _dat_conf(self, run: Run) -> Result:
        """Whether the dat.conf registers for the run's IA what the run says that it opened."""
        if DAT_CONF not in self._files:
            return Result("dat.conf", CANNOT_TELL, "the package has none")
        subject = run.subject
        text = self._files[DAT_CONF].read_text(encoding="utf-8", errors="surrogateescape")
        of_ia = [
            entry
            for threadsafe in (False, True)
            for entry in datconf.entries(text, threadsafe=threadsafe)
            if (entry.ia, entry.api) == (subject.ia, subject.api)
        ]
        if not any(entry.text == subject.dat_conf_entry for entry in of_ia):
            return Result("dat.conf", NOT_OK, f"it has another entry of {subject.ia}, or none")
        library = next(e.library for e in of_ia if e.text == subject.dat_conf_entry)
        if any(entry.library != library for entry in of_ia):
            return Result("dat.conf", NOT_OK, f"it has entries of {subject.ia} of two libraries")
        return Result("dat.conf", OK, f"its entry of {subject.ia} is the run's")

    def _reports(self, run: Run, commit: str) -> Result:
        packed = {name: self._files[name].read_bytes() for name in NAMES if name in self._files}
        try:
            made = {path.name: path.read_bytes() for path in self._rendered(run)}
        except ReportError as error:
            return Result("reports", NOT_OK, str(error))
        differing = [name for name in sorted(NAMES) if packed.get(name) != made.get(name)]
        if not differing:
            return Result("reports", OK, f"{len(made)} rendered again, equal byte for byte")
        text = f"{', '.join(differing)}: not what the records say"
        if self._is_same_suite(run, commit):
            return Result("reports", NOT_OK, text)
        here, _ = revision(self._checkout.root)
        text = f"{', '.join(differing)}: not as this suite, of {here}, renders them"
        if commit == OK:
            text += f"; that of the run does, or does not: {self._by_suite_of(run)}"
        return Result("reports", CANNOT_TELL, text)

    def _by_suite_of(self, run: Run) -> str:
        """The command that verifies the package by the suite as it was at the run's commit."""
        root, commit = self._checkout.root, run.suite.commit
        beside = root.parent / f"udapl-cts-{commit[:12]}"
        signers = ["--signers", str(self._signers.absolute())] if self._signers else []
        again = [str(beside / "udapl-cts"), "verify", str(self._path.absolute()), *signers]
        made = ["git", "-C", str(root), "worktree", "add", "--detach", str(beside), commit]
        return f"{shlex.join(made)} && {shlex.join(again)}"

    def _rendered(self, run: Run) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="udapl-cts-") as name:
            if STATEMENT in self._files:
                shutil.copyfile(self._files[STATEMENT], Path(name) / STATEMENT)
            for fmt in FORMATS:
                yield render(Path(name), fmt, run)

    def _waivers(self, run: Run) -> Result:
        began = _day(run.started)
        for judged in judge(run):
            waiver = judged.waiver
            last = _day(waiver.expires)
            which = f"the waiver of {waiver.clause}"
            if last is None or began is None:
                return Result("waivers", NOT_OK, f"{which} expires on no date")
            if last < began:
                return Result("waivers", NOT_OK, f"{which} had expired on {last}, before the run")
            try:
                SpecifierSet(waiver.versions)
            except InvalidSpecifier:
                return Result("waivers", NOT_OK, f"{which} is for no versions")
            if not all((waiver.reason.strip(), waiver.approver.strip(), waiver.url.strip())):
                return Result("waivers", NOT_OK, f"nobody answers for {which}")
            if judged.unused and not (run.waived_ok and judged.mended):
                return Result("waivers", NOT_OK, f"{which} is unused: {judged.unused}")
            if last < datetime.now(UTC).date():
                return Result("waivers", CANNOT_TELL, f"{which} has expired on {last}, since then")
        return Result("waivers", OK, f"{len(run.waivers) or 'none'}")

    def _proof(self, run: Run) -> Result:
        """Whether the faults run that is packed says that the suite's cases can fail."""
        if FAULTS not in self._files:
            text = "there is no faults run of the same commit: nothing shows that a case can fail"
            return Result("proof", CANNOT_TELL, text)
        try:
            found = mutation.load(self._folder)
            why = proves(found, run)
        except (ReportError, LookupError, TypeError, ValueError, AttributeError) as error:
            return Result("proof", NOT_OK, f"{FAULTS}: {printable(str(error))}")
        if why:
            return Result("proof", NOT_OK, f"{FAULTS}: {why}")
        text = f"{len(found.mutants)} mutants on {found.coverage}"
        if found.exit_code == mutation.PROVEN:
            return Result("proof", OK, f"{text}, each killed by its own case")
        if found.exit_code == mutation.COULD_NOT_TELL:
            return Result("proof", CANNOT_TELL, f"{text}; it did not come to its end")
        return Result("proof", NOT_OK, f"{text}, and not all are killed by their own case")

    def _statement(self, run: Run) -> Result:
        if STATEMENT not in self._files:
            return Result("statement", OK, "none: nothing is claimed")
        try:
            said = json.loads(self._files[STATEMENT].read_bytes())
        except (ValueError, RecursionError):
            return Result("statement", NOT_OK, "it is no JSON")
        wrong = statement.malformed(said) or next(statement.overstated(said, run), "")
        if wrong:
            return Result("statement", NOT_OK, printable(wrong))
        claims = ", ".join(said["claims"]) or "nothing"
        text = f"{said['organisation']} claims {claims} of {said['product']} {said['version']}"
        return Result("statement", OK, printable(text))

    def _git(self, *arguments: str) -> bytes | None:
        """What git says of this clone; None where it has nothing to say."""
        try:
            done = subprocess.run(
                ["git", "-C", str(self._checkout.root), *arguments],
                capture_output=True,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        except FileNotFoundError:
            return None
        return done.stdout if done.returncode == 0 else None


def _unpack_catalogue(packed: bytes, folder: Path) -> None:
    """The files of a catalogue, and nothing else, out of what git packed."""
    with tarfile.open(fileobj=BytesIO(packed)) as tar:
        for member in tar:
            path = PurePosixPath(member.name)
            file = tar.extractfile(member) if member.isreg() else None
            if file is None or path.suffix not in (".toml", ".txt") or ".." in path.parts:
                continue
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(file.read())


def _differing(run: Run, catalogue: Catalogue, pages: tuple[str, ...]) -> str:
    """What the records say of the suite that its commit does not; nothing where they agree."""
    if set(run.suite.pages) != set(pages):
        return f"the records name {len(run.suite.pages)} pages, and the commit has {len(pages)}"
    if by_profile(catalogue) != run.suite.profiles:
        return "the clauses of the profiles are not as many as those of the commit"
    told = {clause.id: clause for clause in run.clauses}
    for page in catalogue.pages:
        if page.page not in {clause.page for clause in run.clauses}:
            continue
        for due in page.clauses:
            clause = told.pop(due.id, None)
            if clause is None:
                return f"the clause {due.id} of {page.page} is left out"
            same = (due.level, due.check, tuple(due.needs), due.page, due.section, due.blame)
            if _members(clause) != same:
                return f"the clause {due.id} is not the one of the commit"
            words = clause.text.startswith(printable(due.text))
            # Runs of format 2 and of the first suites of format 3 have no texts of families.
            if not words or clause.family not in ("", printable(due.family)):
                return f"the words of the clause {due.id} are not those of the commit"
    if told:
        return f"the commit has no clause {printable(min(told))}"
    if run.subject.api != DEFAULT_API:
        return ""
    checks = [clause.check for clause in catalogue.clauses.values() if clause.checkable]
    whole = Counter(hosts for check in checks for hosts in _MODES[check])
    if run.suite.cases != len(checks) or run.suite.plan != dict(whole):
        return (
            f"the records say {run.suite.cases} cases for a whole run, and the commit has"
            f" {len(checks)}, or so they do for a mode"
        )
    return next(_misplanned(run), "")


def _members(clause: Clause) -> tuple[object, ...]:
    """What a clause's words are about, as the catalogue has it too."""
    about = clause.level, clause.check, clause.needs
    return *about, clause.page, clause.section, clause.blame


def _misplanned(run: Run) -> Iterator[str]:
    """Cases that are planned where they cannot be, which would count for one that is left out."""
    for case in run.cases:
        if case.id != case.clause.id:
            yield f"the commit has no case {printable(case.id)}"
        if case.clause.check == "network" and 1 in case.modes:
            yield f"{case.id} is planned on 1 host, and needs two"


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None
