# SPDX-License-Identifier: BSD-2-Clause
"""The assignment: all that a process needs to know that runs cases, as a file hands it on."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from results.errors import InputError
from runners.campaign.plan.plan import Control, Planned
from runners.checkout import Checkout
from runners.fabric import datconf
from runners.fabric.base import Fabric, FabricError
from runners.fabric.files import Files

PRIVILEGED = "--privileged"
THOROUGH = "--thorough"
# A library's name, and that with its version's first number, lead to a file of a longer name.
LINKS_MOST = 4
FILE_NAME = "assignment.json"


@dataclass(frozen=True)
class Assignment:
    """Which fabric with which settings, which agent in it, which cases in which order.

    `spread` is the number of hosts that the plan is spread over, 0 for all that the fabric knows,
    None where it is not; with `every_pair` it runs on each pair of them. `patience` is how many
    times as long as usual everything may take; what cases draw comes from `seed`. In a `thorough`
    run each case waits for what comes late. `identity`
    is what the hello of each agent has to say of its suite, `provider` the SHA-256 of the library
    that the subject's is to load, where that is known. `controls` has, by call, the cases that show
    whether the call works at all; without it, no verdict is asked whom it blames. The clauses of
    `registrys` convict the registry, and not the provider; those that are `excused` do so where the
    registry is not under test. With `model`, a case whose calls deviate
    from the executable specification is not kept.
    """

    fabric: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    logs: str
    plan: tuple[Planned, ...]
    spread: int | None = None
    every_pair: bool = False
    patience: int = 1
    thorough: bool = False
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    identity: Mapping[str, str] = field(default_factory=dict)
    provider: str = ""
    controls: Mapping[str, Control] = field(default_factory=dict)
    registrys: tuple[str, ...] = ()
    excused: tuple[str, ...] = ()
    model: bool = False

    def save(self, folder: Path) -> Path:
        """Write it into `folder`; the file's path."""
        path = folder / FILE_NAME
        # asdict() would copy every member of every case.
        controls = {call: [vars(one) for one in cases] for call, cases in self.controls.items()}
        plan = [vars(planned) for planned in self.plan]
        values = {**vars(self), "plan": plan, "controls": controls}
        path.write_text(json.dumps(values), encoding="utf-8")
        return path

    @classmethod
    def load(cls, path: Path) -> Self:
        """What save() wrote."""
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        plan = tuple(map(_planned, values.pop("plan")))
        controls = {
            call: tuple(map(_planned, cases)) for call, cases in values.pop("controls").items()
        }
        return cls(plan=plan, controls=controls, **{**values, "argv": tuple(values["argv"])})

    def open_fabric(self, hosts: int, progress: Any) -> Fabric:
        """The fabric for `hosts` hosts, not yet entered."""
        made: Fabric = fabric_class(self.fabric)(hosts=hosts, progress=progress, **self.settings)
        made.show_only(self.folders())
        made.keep(self._files())
        return made

    def folders(self) -> set[Path]:
        """The folders of this machine that an agent reads: the checkout, the dat.conf's, those of
        the providers in it, and of whatever else its command line names.
        """
        folders = {path if path.is_dir() else path.parent for path in self._named()}
        # .../build/default/bin
        folders |= {Path(self.argv[0]).parent.parents[2]}
        libraries = self._libraries()
        folders |= {path.parent for path in libraries if path.is_absolute()}
        folders |= {path.resolve().parent for path in libraries if path.exists()}
        return folders

    def _files(self) -> list[Path]:
        """What each case's process opens anew: the dat.conf, the providers in it, and the links by
        which these are named.
        """
        files = [path for path in self._named()[1:] if path.is_file()]
        for path in sorted(self._libraries()):
            files.append(path)
            for _ in range(LINKS_MOST):
                if files[-1].is_symlink():
                    files.append(files[-1].parent / files[-1].readlink())
        return files

    def _named(self) -> list[Path]:
        """The agent's own path, and the others that its command line and environment name."""
        return [Path(word) for word in (*self.argv, *self.env.values()) if word.startswith("/")]

    def _libraries(self) -> set[Path]:
        """The providers that the dat.conf names."""
        with suppress(OSError, InputError):
            text = datconf.read(Path(self.env["DAT_OVERRIDE"]), Files())
            return {Path(library) for library in datconf.libraries(text)}
        return set()

    def side_by_side(self, hosts: int) -> int:
        """How many fabrics, with so many hosts in all each, get more done than one."""
        count: int = fabric_class(self.fabric).side_by_side(hosts, self.settings)
        return count

    @property
    def shares_hosts(self) -> bool:
        """Whether cases that run beside one another are on the same hosts."""
        shared: bool = fabric_class(self.fabric).shares_hosts
        return shared

    def processors(self, hosts: int) -> int:
        """How many processors each of the hosts has that are shared. Raises FabricError."""
        count: int = fabric_class(self.fabric).processors(hosts, self.settings)
        return count

    def room(self, hosts: int) -> int:
        """How many fabrics there is room for, with so many hosts each, if they do nothing."""
        count: int = fabric_class(self.fabric).room(hosts, self.settings)
        return count

    def make_ready(self, progress: Any) -> None:
        """What such fabrics would each wait for; what cannot be made, they will tell of."""
        with suppress(FabricError):
            fabric_class(self.fabric).make_ready(progress, self.settings)


def _planned(entry: Mapping[str, Any]) -> Planned:
    return Planned(**{**entry, "labels": tuple(entry["labels"])})


def agent_command(
    checkout: Checkout, ia: str, privileged: bool = False, assumed: Mapping[str, bool] | None = None
) -> tuple[str, ...]:
    """The agent's command for an IA, whose cases have its own privilege if they are to. `assumed`
    says of features whether they are there, if dat_ia_query tells nothing of them.
    """
    said = (f"{feature}={int(present)}" for feature, present in (assumed or {}).items())
    return (
        str(checkout.cases_binary),
        "--serve",
        *((PRIVILEGED,) if privileged else ()),
        *(word for each in said for word in ("--assume", each)),
        *("--ia", ia),
    )


def fabric_class(name: str) -> Any:
    """The class that a fabric's `module:class` names."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)
