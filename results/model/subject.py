# SPDX-License-Identifier: BSD-2-Clause
"""What was certified: the suite, the provider, and the hosts."""

from dataclasses import dataclass, field

# Who is at fault where a clause about the registry (libdat) is not kept.
REGISTRY = "registry"
# What the cases of a host have kept of the privilege of its agent, where they kept nothing.
NO_PRIVILEGE = "none"


@dataclass(frozen=True)
class Suite:
    """The suite that ran."""

    version: str
    commit: str
    dirty: bool
    # How many clauses each profile has, of all pages.
    profiles: dict[str, int] = field(default_factory=dict)
    # Every page there is, with clauses or without; all cases, and how many a whole run has by mode.
    pages: tuple[str, ...] = ()
    cases: int = 0
    plan: dict[int, int] = field(default_factory=dict)
    # The digest of the binary that has the cases.
    binary: str = ""

    @property
    def tree(self) -> str:
        """Whether the suite was as committed; empty when no commit is known."""
        if self.commit in ("", "unknown"):
            return ""
        return "with local changes" if self.dirty else "clean"


@dataclass(frozen=True)
class Subject:
    """The provider that was certified."""

    library: str
    api: str
    sha256: str
    build_id: str
    ia: str
    dat_conf_entry: str
    variant: str = ""
    # What stood in the place of the usual libdat, if anything did.
    libdat: str = ""
    libdat_sha256: str = ""

    @property
    def name(self) -> str:
        """The library's file name."""
        return self.library.rsplit("/", 1)[-1] or "the provider"

    @property
    def registry_is_tested(self) -> bool:
        """Whether the registry is under test too; one that was not named is not."""
        return bool(self.libdat)

    @property
    def registry(self) -> str:
        """Whose registry it is, in words."""
        if self.libdat:
            return f"the registry {self.libdat.rsplit('/', 1)[-1]}"
        return "the suite's own registry" if self.api == "1.2" else "the hosts' own registry"


@dataclass(frozen=True, slots=True)
class Found:
    """A feature whose attribute dat_ia_query left unwritten: whether it is there, None where that
    is not known; by what that was found ("trial", "assumption"), and how in words.
    """

    feature: str
    present: bool | None
    by: str
    how: str


@dataclass(frozen=True)
class Ia:
    """What the IA of a host said of itself; `unasked` is what became of dat_ia_query in the probe,
    where it gave no answer, and `unlooked` what became of the queries by which fixtures look.
    """

    opened: bool
    reason: str
    library: str
    build_id: str
    attributes: dict[str, str]
    needs: dict[str, str]
    output: str
    found: tuple[Found, ...] = ()
    unasked: str = ""
    unlooked: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Fabric:
    """A fabric that was up: its hosts, and what the IA of each said of itself, the subject's
    first; and where the suite runs on each pair of hosts, the pairs.
    """

    hosts: int
    facts: tuple[dict[str, str], ...]
    each: tuple[Ia, ...]
    testbeds: tuple[tuple[str, ...], ...] = ()

    @property
    def opened(self) -> bool:
        """Whether the subject's IA was opened."""
        return self.each[0].opened

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes of the subject's IA and provider."""
        return self.each[0].attributes

    @property
    def needs(self) -> dict[str, str]:
        """The optional features, and whether the subject's IA declares them."""
        return self.each[0].needs


@dataclass(frozen=True)
class Incident:
    """Something broke that is not a case."""

    what: str
    host: str
    text: str


@dataclass(frozen=True, slots=True)
class Undeclared:
    """What came of the case that shows a feature at work, where the feature is not declared."""

    feature: str
    case: str
    verdict: str


@dataclass(frozen=True)
class End:
    """The run's last message."""

    finished: str
    status: str
