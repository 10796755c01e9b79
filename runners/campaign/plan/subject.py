# SPDX-License-Identifier: BSD-2-Clause
"""The subject: the provider under test, and the dat.conf through which every host loads it."""

import hashlib
import json
import platform
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerDefSection
from elftools.elf.sections import NoteSection, SymbolTableSection

from results.errors import InputError
from runners.checkout import APIS, DEFAULT_API
from runners.fabric import datconf
from runners.fabric.files import Files
from runners.names import nearest

OWN_IA = "cts0"
ENTRY_POINT = "dat_provider_init"
REGISTRIES = {"libdat.so.1": "1.2", "libdat2.so.2": "2.0"}
# The machine that a shared object is for: as uname, its ELF header and the loader's cache have it.
MACHINES = {"x86_64": ("EM_X86_64", "x86-64"), "aarch64": ("EM_AARCH64", "AArch64")}
# Of its functions by name: which there are, and in which version of them its users are linked.
FACTS = "include/facts/dat-{api}.json"
VERSIONS = {"1.2": "DAT_1.2", "2.0": "DAT_2.0"}


@dataclass(frozen=True)
class Registry:
    """A libdat that takes the place of the usual one."""

    library: str
    sha256: str
    build_id: str


@dataclass(frozen=True)
class Subject:
    """What a report says the run was about, and the text of the dat.conf that says the same; behind
    which `variant`, if it is behind one.
    """

    library: str
    sha256: str
    build_id: str
    entry: datconf.Entry
    dat_conf: str
    variant: str = ""
    libdat: Registry | None = None

    @property
    def api(self) -> str:
        """The DAT API that it speaks."""
        return self.entry.api

    @property
    def ia(self) -> str:
        """The name that dat_ia_open() is given."""
        return self.entry.ia

    @property
    def threadsafe(self) -> bool:
        """Whether the dat.conf has a threadsafe entry of the IA too."""
        entries = datconf.entries(self.dat_conf, threadsafe=True)
        return any((entry.ia, entry.api) == (self.ia, self.api) for entry in entries)


def from_library(path: Path, ia_params: str, api: str = DEFAULT_API) -> Subject:
    """The provider in the shared object `path`, its IA opened with the string `ia_params`."""
    if any(character in f"{path}{ia_params}" for character in "\n\0"):
        raise InputError(
            "neither --provider nor --ia-params may hold a newline: dat.conf has lines"
        )
    library = path.absolute()
    sha256, build_id = _examine(library, api, Files())
    entry = datconf.entry(OWN_IA, library, ia_params, api)
    text = datconf.lines(OWN_IA, library, ia_params, api)
    return Subject(str(library), sha256, build_id, entry, text)


def from_dat_conf(path: Path, ia: str, api: str, files: Files) -> Subject:
    """The provider that the dat.conf `path` names for the IA `ia`; both are among `files`."""
    text = datconf.read(path, files)
    entries = datconf.entries(text)
    chosen = next((entry for entry in entries if (entry.ia, entry.api) == (ia, api)), None)
    if chosen is None:
        why = _why_not(entries, ia, api)
        if skipped := datconf.refusal(text, ia):
            why = f"that libdat takes: {skipped}"
        raise InputError(f"{files.where}{path} has no IA {ia!r} {why}")
    library = Path(chosen.library) if "/" in chosen.library else _loader_path(chosen.library, files)
    if not library.is_absolute():
        raise InputError(
            f"{files.where}{path} names {chosen.library} for {ia}: give its library a full path"
        )
    sha256, build_id = _examine(library, api, files)
    return Subject(str(library), sha256, build_id, chosen, text)


def varied(subject: Subject, library: Path, variant: str) -> Subject:
    """The subject behind the variant of this name, of those that the faulty provider has."""
    sha256, build_id = _examine(library, subject.api, Files())
    ia, params = f"variant:{variant}", f"{subject.ia} fault=variant/{variant}"
    own = datconf.lines(ia, library, params, threadsafe=subject.threadsafe)
    entry = datconf.entry(ia, library, params)
    return Subject(str(library), sha256, build_id, entry, subject.dat_conf + own, variant)


def registry(path: Path, api: str) -> Registry:
    """The libdat `path`, which is to take the place of the usual one of this API; raises InputError
    where it cannot.
    """
    library = path.absolute()
    if any(character in " :\n\0" for character in str(library)):
        raise InputError(f"--libdat {library}: its path may have neither blank nor colon")
    with _shared_object(library, Files(), "libdat") as (sha256, elf):
        _demand_libdat(library, elf, api)
        return Registry(str(library), sha256, _build_id(elf))


def _demand_libdat(library: Path, elf: ELFFile, api: str) -> None:
    """Raise InputError where programs linked with the libdat of this API could not load it."""
    own = next(soname for soname, of in REGISTRIES.items() if of == api)
    soname = next(iter(_tags(elf, "DT_SONAME", "soname")), "")
    if soname != own:
        of = REGISTRIES.get(soname)
        hint = f": give --api {of}" if of else ""
        called = f"its soname is {soname}" if soname else "it has no soname"
        raise InputError(f"{library} is no libdat of DAT {api}: {called}, not {own}{hint}")
    lacking = [name for name in _functions(api) if not _exports(elf, name)]
    if lacking:
        raise InputError(f"{library} is no libdat of DAT {api}: it does not export {lacking[0]}()")
    versions = _versions(elf)
    if versions and VERSIONS[api] not in versions:
        raise InputError(
            f"{library} is no libdat of DAT {api}: its functions are of {', '.join(versions)},"
            f" and not of {VERSIONS[api]}"
        )


def environment(dat_conf: Path, libdat: Registry | None) -> dict[str, str]:
    """What an agent needs to be told, to meet the provider of the `dat_conf` by this libdat."""
    env = {"DAT_OVERRIDE": str(dat_conf)}
    return env | {"LD_PRELOAD": libdat.library} if libdat else env


def _functions(api: str) -> list[str]:
    """The functions that a libdat has."""
    path = Path(__file__).resolve().parents[3] / FACTS.format(api=api)
    functions = json.loads(path.read_text(encoding="utf-8"))["functions"]
    return [name for name, function in functions.items() if function["kind"] != "macro"]


def _versions(elf: ELFFile) -> list[str]:
    """The versions that a library defines, but for that of itself."""
    section = elf.get_section_by_name(".gnu.version_d")
    if not isinstance(section, GNUVerDefSection):
        return []
    named = [next(names).name for _, names in section.iter_versions()]
    return named[1:]


def _why_not(entries: Sequence[datconf.Entry], ia: str, api: str) -> str:
    """The end of a sentence about a dat.conf that has no such IA for this API."""
    for entry in entries:
        if entry.ia == ia and entry.api in APIS:
            return f"of DAT {api}: its entry is u{entry.api}, so give --api {entry.api}"
    names = [entry.ia for entry in entries if entry.api == api]
    near = nearest(ia, names) or (f"; it has: {', '.join(names)}" if names else "")
    return f"that dat_ia_open() reaches (u{api}, nonthreadsafe, default){near}"


def _examine(path: Path, api: str, files: Files) -> tuple[str, str]:
    """The SHA-256 and the build id of a provider; raises InputError when it is none for `api`."""
    named = f"{files.where}{path}"
    with _shared_object(path, files, "provider") as (sha256, elf):
        if not _exports(elf, ENTRY_POINT):
            raise InputError(f"{named} is no provider: it does not export {ENTRY_POINT}()")
        for other in _linked_apis(elf) - {api}:
            raise InputError(
                f"{named} is a provider of DAT {other}, by the libdat that it is linked"
                f" with: give --api {other}"
            )
        return sha256, _build_id(elf)


@contextmanager
def _shared_object(path: Path, files: Files, what: str) -> Iterator[tuple[str, ELFFile]]:
    """A shared object that is to be a `what`, and its SHA-256; raises InputError where it is none,
    also when a part of it that is looked at turns out to be damaged.
    """
    named = f"{files.where}{path}"
    try:
        content = files.read(path)
    except FileNotFoundError as error:
        near = nearest(path.name, files.libraries_beside(path))
        raise InputError(f"no such {what}: {named}{near}") from error
    except OSError as error:
        raise InputError(f"cannot read the {what} {named}: {error.strerror}") from error
    try:
        elf = ELFFile(BytesIO(content))
        number, word = _machine()
        if elf["e_machine"] != number or elf["e_type"] != "ET_DYN":
            raise InputError(f"{named} is no {what}: not an {word} shared object, as the suite is")
        yield hashlib.sha256(content).hexdigest(), elf
    except InputError:
        raise
    except Exception as error:
        # A table that points nowhere makes its reader fail in more ways than the reader knows.
        raise InputError(f"{named} is no {what}: not a shared object ({error})") from error


def _machine() -> tuple[str, str]:
    """This machine in ELF headers and in loaders' caches; the suite is built here."""
    name = platform.machine()
    return MACHINES.get(name, (name, name))


def _linked_apis(elf: ELFFile) -> set[str]:
    """The DAT APIs whose registry a provider is linked with; it need not be linked with any."""
    needed = set(_tags(elf, "DT_NEEDED", "needed"))
    return {api for library, api in REGISTRIES.items() if library in needed}


def _tags(elf: ELFFile, tag: str, attribute: str) -> list[str]:
    """What the dynamic section says under a tag."""
    section = elf.get_section_by_name(".dynamic")
    if not isinstance(section, DynamicSection):
        return []
    tags: Iterable[Any] = section.iter_tags(tag)
    return [str(getattr(each, attribute)) for each in tags]


def _exports(elf: ELFFile, name: str) -> bool:
    table = elf.get_section_by_name(".dynsym")
    if isinstance(table, SymbolTableSection):
        symbols = table.get_symbol_by_name(name) or []
        return any(
            symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_info"]["bind"] != "STB_LOCAL"
            for symbol in symbols
        )
    return False


def _build_id(elf: ELFFile) -> str:
    section = elf.get_section_by_name(".note.gnu.build-id")
    if isinstance(section, NoteSection):
        for note in section.iter_notes():
            if note["n_type"] == "NT_GNU_BUILD_ID":
                return str(note["n_desc"])
    return ""


def _loader_path(soname: str, files: Files) -> Path:
    """Where the dynamic loader's cache has `soname`; the bare name when it has it not."""
    for line in files.loader_cache().splitlines():
        name, _, path = line.strip().partition(" => ")
        if name.split(" (", 1)[0] == soname and _machine()[1] in name:
            return Path(path)
    return Path(soname)
