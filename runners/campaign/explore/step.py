# SPDX-License-Identifier: BSD-2-Clause
"""A step of a walk, as the puppet reads it, and what its arguments are drawn from.

An object is named by its kind and a slot (docs/explore.md).
"""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple

BY_KIND = 1000
PZ, LMR, RMR, EVD, CNO, SRQ, EP, PSP, CR, RSP = range(10)
NULL = -1
ALL = -1  # of a query's fields
MOST_RECEIVES = -3
# The IA's own EVD; and how much further up the slots of freed objects are.
ASYNC_SLOT, FREED = 31, 100
# Objects from this slot on are of the second IA, and this slot is its own EVD.
OTHER, OTHER_ASYNC_SLOT = 16, 30

# What the provider's EVDs are for: by the slots that the first steps of a walk fill.
RECEIVED, REQUESTED, CONNECTED, REQUESTS = range(4)
SOFTWARE_FLAG, CR_FLAG, DTO_FLAG, CONNECTION_FLAG, RMR_BIND_FLAG = 0x1, 0x10, 0x20, 0x40, 0x80
SUPPRESS, SOLICITED, UNSIGNALLED, FENCE, THRESHOLD = 1, 2, 4, 8, 16
PRIVILEGES, LOCAL = 0x33, 0x11

# How long a walk waits for an event, in milliseconds: one that hardly comes, one that comes if the
# calls before made it come, and one for which two ends must speak to each other. A thread that is
# to be woken waits so long that its sleep is a deviation where it is not.
BRIEFLY, SOON, LONG, UNTIL_WOKEN = 5, 20, 100, 700
ENDLESSLY = -1  # on a thread: the puppet ends it by itself if nothing does
# The slots of a kind, by how often a step names them: a walk is deep where it stays with few.
SLOTS = (0, 0, 0, 0, 1, 1, 2, 3)
SLOTS_OF = {EVD: (0, 1, 2, 3, 4, 4, 5, 0), EP: (0, 0, 0, 1, 1, 2, 2, 3)}
# Those to which a step makes an object: mostly such as the first steps leave empty.
EMPTY = (*(1, 1, 2, 3, 0) * 4, OTHER + 1)
EMPTY_OF = {
    EVD: (*(4, 4, 5, 5, 0) * 4, OTHER + 4),
    EP: (*(3, 3, 3, 0, 1) * 4, OTHER + 1),
    CR: (0,),
    RMR: (*(0, 1) * 10, OTHER),
    RSP: (*(0, 1) * 10, OTHER),
}
# What an argument may be, each value as often as it is to be drawn; the first is the simplest.
Choices = list[int] | tuple[int, ...]


def named(kind: int, slot: int) -> int:
    """The number of an object."""
    return BY_KIND * kind + slot


class Step(NamedTuple):
    """A step of the puppet: its name, and what each argument is drawn from."""

    name: str
    args: tuple[Choices, ...]

    def line(self, draw: Random) -> str:
        """The step as a line of a program."""
        return " ".join([self.name, *(str(draw.choice(choices)) for choices in self.args)])

    def simpler(self, args: Sequence[str]) -> Iterator[str]:
        """The step with these arguments, but for one, which is the simplest that it may be."""
        for at, choices in enumerate(self.args):
            if args[at] != str(choices[0]):
                yield " ".join([self.name, *args[:at], str(choices[0]), *args[at + 1 :]])


def own(kind: int) -> list[int]:
    return [named(kind, slot) for slot in SLOTS_OF.get(kind, SLOTS)]


def new(kind: int) -> list[int]:
    return [named(kind, slot) for slot in EMPTY_OF.get(kind, EMPTY)]


def handle(kind: int) -> list[int]:
    """Mostly an object of the kind; now and then one of another IA or of another kind, or the null
    handle.
    """
    others = [named(other, slot) for other in range(PZ, RSP + 1) for slot in (0, 1)]
    of_other_ia = [named(kind, OTHER)] * 12
    return [*own(kind) * 28, *of_other_ia, *others, *[NULL] * 8]


def handle_kind(choices: Choices) -> int | None:
    """The kind of which handle() drew the choices; None for those of another argument."""
    return next((kind for kind in range(PZ, RSP + 1) if choices == handle(kind)), None)


def optional(kind: int) -> list[int]:
    return [*own(kind) * 3, named(kind, OTHER), *[NULL] * 8]


COUNTS = (1, 2, 3, 4, 8, 16, 17, 64, 0, -1, 1 << 20)
RECEIVES = (*COUNTS, MOST_RECEIVES)
DEPTHS = (4, 8, 16, 1, 2, 64)
MARKS = (0, 1, 2, 3, 4, 8, -1, 64)
LENGTHS = (0, 1, 8, 64, 4096, 4097)
OFFSETS = (0, 64, 4032)
REQUEST_FLAGS = (0, 0, SUPPRESS, SOLICITED, UNSIGNALLED, FENCE, FENCE | SUPPRESS, 0x100)
RECV_FLAGS = (0, 0, UNSIGNALLED, SUPPRESS)
# Of all receives, or all requests, of an EP.
EP_FLAGS = (0, 0, UNSIGNALLED, SOLICITED, THRESHOLD, SUPPRESS, FENCE, 0x100)
SOME_PRIVILEGES = (PRIVILEGES, 0x11, 0x1, 0x0, 0x40)
EVD_FLAGS = (
    DTO_FLAG,
    SOFTWARE_FLAG,
    CONNECTION_FLAG,
    CR_FLAG,
    RMR_BIND_FLAG,
    DTO_FLAG | RMR_BIND_FLAG,
)
MS = (0, 0, 0, BRIEFLY)
SLEEP_MS = (*(BRIEFLY, SOON) * 6, ENDLESSLY)
PRIVATE_SIZES = (0, 0, 1, 16, 64)
# A qualifier: mostly that of the first PSP.
QUALIFIER = [*own(PSP) * 3, *own(RSP), *[named(PSP, OTHER)] * 2]
SEGMENTS = (1, 0, 2, 3, 4)
# What psp_create listens at.
PORTS = (25000, 25000, 25001, 0)
# Masks of a query: mostly all fields, else one of them, or none that there is.
FIELDS = {PZ: 1, LMR: 10, RMR: 5, EVD: 5, CNO: 2, SRQ: 8, EP: 31, PSP: 4, CR: 5, RSP: 4}
MASKS: Mapping[int, Choices] = {
    kind: [*[ALL] * 2 * bits, *(1 << bit for bit in range(bits)), 0, 1 << bits]
    for kind, bits in FIELDS.items()
}
# The fields of dat_ep_modify that are a handle, and those that are a number; DAT_EP_FIELD_*.
HANDLE_FIELDS = (0x40, 0x80, 0x100, 0x200, 0x400)
FOREIGN = [named(kind, OTHER) for kind in (EVD, PZ, SRQ)]
HANDLES = [*own(EVD) * 2, *own(PZ), *own(SRQ), *FOREIGN, NULL]
NUMBER_FIELDS = (*(1 << bit for bit in (13, 14, *range(16, 27))), 0x1, 0x2, 0x1000)
NUMBERS = (1, 2, 8, 64, 0, 4096, SUPPRESS, 1 << 20, -1)
# LMRs of a segment: an EP takes none of another IA.
LMRS = [*own(LMR) * 4, named(LMR, OTHER)]
# What events are taken from: besides, the IA's own EVD.
TAKEN_FROM = [*handle(EVD), *[named(EVD, ASYNC_SLOT)] * 20, named(EVD, OTHER_ASYNC_SLOT)]
ANY = [named(kind, slot) for kind in range(PZ, RSP + 1) for slot in (0, 0, 0, 1, OTHER)] + [NULL]


def guarded(first: str, *rest: str) -> list[str]:
    """Steps of which each is taken only if the call before it succeeded."""
    return [first, *(f"&{line}" for line in rest)]
