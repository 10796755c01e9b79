# SPDX-License-Identifier: BSD-2-Clause
"""What a registry had the providers of dat.conf do, as the suite's own providers have noted it.

Each is initialised before it is opened, by what its entry says, and once until its fini. This is
called when none of its IAs is open, and before its library is unloaded.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from oracle.kernel import Breach
from oracle.registry_conf import Conf, Key

HAPPENED = re.compile(
    r"provider (?P<name>.+) (?P<major>\d+)\.(?P<minor>\d+) (?P<safety>threadsafe|nonthreadsafe): "
    r"(?:its )?(?P<what>dat_provider_init|dat_provider_fini|ia_open_func|ia_close_func)"
    r"\((?P<text>.*)\) ?(?P<library>.*)",
    re.DOTALL,
)
REMOVED = re.compile(
    r"provider (?P<name>.+) (?P<major>\d+)\.(?P<minor>\d+) (?P<safety>threadsafe|nonthreadsafe): "
    r"dat_registry_remove_provider gave it DAT_SUCCESS"
)
UNLOADED = re.compile(r"the provider's library (?P<library>.*): unloaded")
# Of more, those in the middle are not kept; of a longer one, the end is not.
MOST, LONGEST = 128, 400


def _key(match: re.Match[str]) -> Key:
    safe = match["safety"] == "threadsafe"
    return Key(match["name"], int(match["major"]), int(match["minor"]), safe)


@dataclass(slots=True)
class Course:
    """What happened so far. `opens`: by which provider each IA was opened."""

    conf: Conf
    initialised: dict[Key, str] = field(default_factory=dict)  # and by which library
    open: Counter[Key] = field(default_factory=Counter)
    opens: list[Key] = field(default_factory=list)
    breaches: dict[int, Breach] = field(default_factory=dict)  # by how many were opened before

    def _breach(self, clause: str, why: str) -> None:
        self.breaches.setdefault(max(len(self.opens) - 1, 0), Breach(clause, why))

    def init(self, key: Key, match: re.Match[str]) -> None:
        """A provider is initialised."""
        conf, library = self.conf, match["library"]
        data = conf.data.get(key, [])
        if conf.known and not conf.odd and key not in conf.entries:
            self._breach("provider_init/before_open", f"{key} is initialised, and is no entry")
        elif len(data) == 1 and match["text"] != data[0]:
            self._breach("provider_init/instance_data", f"{key} has the data of another entry")
        elif len(data) == 1 and library != conf.libraries[key]:
            self._breach("conf/library", f"{key} is initialised by the library of another entry")
        elif key in self.initialised:
            self._breach("provider_init/once", f"{key} is initialised again")
        self.initialised[key] = library

    def fini(self, key: Key) -> None:
        """The fini of a provider is called."""
        if key not in self.initialised:
            self._breach("provider_fini/once", f"fini is called for {key}, and init was not")
        elif self.open[key]:
            self._breach("provider_fini/not_while_open", f"fini is called for {key}, which is open")
        self.initialised.pop(key, None)

    def opened(self, key: Key) -> None:
        """A provider opens an IA."""
        self.opens.append(key)
        self.open[key] += 1
        if key in self.conf.libraries and key not in self.initialised:
            self._breach("provider_init/before_open", f"{key} is opened and not initialised")

    def unloaded(self, library: str) -> None:
        """A library is unloaded."""
        left = [key for key, its in self.initialised.items() if its == library]
        if left:
            self._breach("provider_fini/before_unload", f"the library of {left[0]} is unloaded")
        for key in left:
            del self.initialised[key]


def course_of(conf: Conf, records: Sequence[str]) -> Course | None:
    """What happened by the records of a case; None where they may not have all, or its providers
    did as they should not.
    """
    if conf.ordered or len(records) > MOST:
        return None
    course = Course(conf)
    for text in records:
        if text.startswith(("provider ", "the provider's ")) and len(text.encode()) > LONGEST:
            return None
        if match := HAPPENED.fullmatch(text):
            key = _key(match)
            if match["what"] == "dat_provider_init":
                course.init(key, match)
            elif match["what"] == "dat_provider_fini":
                course.fini(key)
            elif match["what"] == "ia_open_func":
                course.opened(key)
            else:
                course.open[key] -= 1
        elif match := REMOVED.fullmatch(text):
            course.initialised.pop(_key(match), None)
        elif match := UNLOADED.fullmatch(text):
            course.unloaded(match["library"])
    return course
