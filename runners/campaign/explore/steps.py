# SPDX-License-Identifier: BSD-2-Clause
"""The steps of a walk, as the puppet reads them (docs/explore.md), and how they are drawn.

An object is named by its kind and a slot. A step is a line, or several where a walk would hardly
find them in their order, as those that make a connection.
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
_SLOTS = (0, 0, 0, 0, 1, 1, 2, 3)
_SLOTS_OF = {EVD: (0, 1, 2, 3, 4, 4, 5, 0), EP: (0, 0, 0, 1, 1, 2, 2, 3)}
# Those to which a step makes an object: mostly such as the first steps leave empty.
_EMPTY = (*(1, 1, 2, 3, 0) * 4, OTHER + 1)
_EMPTY_OF = {
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


def _own(kind: int) -> list[int]:
    return [named(kind, slot) for slot in _SLOTS_OF.get(kind, _SLOTS)]


def _new(kind: int) -> list[int]:
    return [named(kind, slot) for slot in _EMPTY_OF.get(kind, _EMPTY)]


def _handle(kind: int) -> list[int]:
    """Mostly an object of the kind; now and then one of another IA or of another kind, or the null
    handle.
    """
    others = [named(other, slot) for other in range(PZ, RSP + 1) for slot in (0, 1)]
    of_other_ia = [named(kind, OTHER)] * 12
    return [*_own(kind) * 28, *of_other_ia, *others, *[NULL] * 8]


def _optional(kind: int) -> list[int]:
    return [*_own(kind) * 3, named(kind, OTHER), *[NULL] * 8]


_COUNT = (1, 2, 3, 4, 8, 16, 17, 64, 0, -1, 1 << 20)
_RECEIVES = (*_COUNT, MOST_RECEIVES)
_DEPTH = (4, 8, 16, 1, 2, 64)
_MARK = (0, 1, 2, 3, 4, 8, -1, 64)
_LENGTH = (0, 1, 8, 64, 4096, 4097)
_OFFSET = (0, 64, 4032)
_FLAGS = (0, 0, SUPPRESS, SOLICITED, UNSIGNALLED, FENCE, FENCE | SUPPRESS, 0x100)
_RECV_FLAGS = (0, 0, UNSIGNALLED, SUPPRESS)
# Of all receives, or all requests, of an EP.
_EP_FLAGS = (0, 0, UNSIGNALLED, SOLICITED, THRESHOLD, SUPPRESS, FENCE, 0x100)
_PRIVILEGES = (PRIVILEGES, 0x11, 0x1, 0x0, 0x40)
_EVD_FLAGS = (
    DTO_FLAG,
    SOFTWARE_FLAG,
    CONNECTION_FLAG,
    CR_FLAG,
    RMR_BIND_FLAG,
    DTO_FLAG | RMR_BIND_FLAG,
)
_MS = (0, 0, 0, BRIEFLY)
_SLEEP_MS = (*(BRIEFLY, SOON) * 6, ENDLESSLY)
_PRIVATE = (0, 0, 1, 16, 64)
# A qualifier: mostly that of the first PSP.
_QUALIFIER = [*_own(PSP) * 3, *_own(RSP), *[named(PSP, OTHER)] * 2]
_SEGMENTS = (1, 0, 2, 3, 4)
# What psp_create listens at.
_PORTS = (25000, 25000, 25001, 0)
# Masks of a query: mostly all fields, else one of them, or none that there is.
_FIELDS = {PZ: 1, LMR: 10, RMR: 5, EVD: 5, CNO: 2, SRQ: 8, EP: 31, PSP: 4, CR: 5, RSP: 4}
_MASKS: Mapping[int, Choices] = {
    kind: [*[ALL] * 2 * bits, *(1 << bit for bit in range(bits)), 0, 1 << bits]
    for kind, bits in _FIELDS.items()
}
# The fields of dat_ep_modify that are a handle, and those that are a number; DAT_EP_FIELD_*.
_HANDLE_FIELDS = (0x40, 0x80, 0x100, 0x200, 0x400)
_FOREIGN = [named(kind, OTHER) for kind in (EVD, PZ, SRQ)]
_HANDLES = [*_own(EVD) * 2, *_own(PZ), *_own(SRQ), *_FOREIGN, NULL]
_NUMBER_FIELDS = (*(1 << bit for bit in (13, 14, *range(16, 27))), 0x1, 0x2, 0x1000)
_NUMBERS = (1, 2, 8, 64, 0, 4096, SUPPRESS, 1 << 20, -1)
# LMRs of a segment: an EP takes none of another IA.
_LMRS = [*_own(LMR) * 4, named(LMR, OTHER)]
# What events are taken from: besides, the IA's own EVD.
_TAKEN_FROM = [*_handle(EVD), *[named(EVD, ASYNC_SLOT)] * 20, named(EVD, OTHER_ASYNC_SLOT)]
_ANY = [named(kind, slot) for kind in range(PZ, RSP + 1) for slot in (0, 0, 0, 1, OTHER)] + [NULL]

_ALL = (
    Step("ia_open", ((64, 64, 64, 64, 1, 0, -1),)),
    Step("ia_query", ((0, 1),)),
    Step("ia_close", ((1, 0),)),
    Step("private_again", ()),
    Step("pz_create", (_new(PZ),)),
    Step("pz_query", (_handle(PZ), _MASKS[PZ])),
    Step("pz_free", (_handle(PZ),)),
    Step("lmr_create", (_new(LMR), _handle(PZ), _PRIVILEGES)),
    Step("lmr_query", (_handle(LMR), _MASKS[LMR])),
    Step("lmr_sync_rdma_read", (_LMRS, _OFFSET, _LENGTH)),
    Step("lmr_sync_rdma_write", (_LMRS, _OFFSET, _LENGTH)),
    Step("lmr_free", (_handle(LMR),)),
    Step("rmr_create", (_new(RMR), _handle(PZ))),
    Step("rmr_query", (_handle(RMR), _MASKS[RMR])),
    Step("rmr_bind", (_handle(RMR), _LMRS, _OFFSET, _LENGTH, _PRIVILEGES, _handle(EP), _FLAGS)),
    Step("rmr_free", (_handle(RMR),)),
    Step("evd_create", (_new(EVD), _COUNT, _optional(CNO), _EVD_FLAGS)),
    Step("evd_query", (_TAKEN_FROM, _MASKS[EVD])),
    Step("evd_resize", (_handle(EVD), _COUNT)),
    Step("evd_modify_cno", (_handle(EVD), _optional(CNO))),
    Step("evd_enable", (_handle(EVD),)),
    Step("evd_disable", (_handle(EVD),)),
    Step("evd_set_unwaitable", (_handle(EVD),)),
    Step("evd_clear_unwaitable", (_handle(EVD),)),
    Step("evd_post_se", (_handle(EVD),)),
    Step("evd_dequeue", (_TAKEN_FROM, _own(CR))),
    Step("evd_wait", (_TAKEN_FROM, _own(CR), _MS, (1, 1, 1, 2, 0, 3))),
    Step("evd_waiter", (_TAKEN_FROM, _SLEEP_MS, (1, 1, 1, 2, 0, 3))),
    Step("evd_join", (_own(CR),)),
    Step("evd_free", (_handle(EVD),)),
    Step("cno_create", (_new(CNO),)),
    Step("cno_query", (_handle(CNO), _MASKS[CNO])),
    Step("cno_wait", (_handle(CNO), _MS)),
    Step("cno_waiter", (_handle(CNO), _SLEEP_MS)),
    Step("cno_free", (_handle(CNO),)),
    Step("srq_create", (_new(SRQ), _handle(PZ), _RECEIVES, (1, 2, 0))),
    Step("srq_query", (_handle(SRQ), _MASKS[SRQ])),
    Step("srq_resize", (_handle(SRQ), _RECEIVES)),
    Step("srq_set_lw", (_handle(SRQ), _MARK)),
    Step("srq_post_recv", (_handle(SRQ), _LMRS, _OFFSET, _LENGTH)),
    Step("srq_post_segments", (_handle(SRQ), _LMRS, _LENGTH, _SEGMENTS)),
    Step("srq_free", (_handle(SRQ),)),
    Step("ep_create", (_new(EP), _handle(PZ), *(_handle(EVD) for _ in range(3)), _DEPTH, _DEPTH)),
    Step(
        "ep_create_flags",
        (_new(EP), _handle(PZ), *(_handle(EVD) for _ in range(3)), _EP_FLAGS, _EP_FLAGS),
    ),
    Step(
        "ep_create_with_srq",
        (_new(EP), _handle(PZ), *(_handle(EVD) for _ in range(3)), _handle(SRQ), _DEPTH, _DEPTH),
    ),
    Step("ep_query", (_handle(EP), _MASKS[EP])),
    Step("ep_get_status", (_handle(EP),)),
    Step("ep_modify_pz", (_handle(EP), _handle(PZ))),
    Step("ep_modify_depths", (_handle(EP), _DEPTH, _DEPTH)),
    Step("ep_modify_handle", (_handle(EP), _HANDLE_FIELDS, _HANDLES)),
    Step("ep_modify_number", (_handle(EP), _NUMBER_FIELDS, _NUMBERS)),
    Step("ep_recv_query", (_handle(EP),)),
    Step("ep_set_watermark", (_handle(EP), _MARK, _MARK)),
    Step("ep_post_recv", (_handle(EP), _LMRS, _OFFSET, _LENGTH, _RECV_FLAGS)),
    Step("ep_post_send", (_handle(EP), _LMRS, _OFFSET, _LENGTH, _FLAGS)),
    Step("ep_post_recv_segments", (_handle(EP), _LMRS, _LENGTH, _SEGMENTS, _RECV_FLAGS)),
    Step("ep_post_send_segments", (_handle(EP), _LMRS, _LENGTH, _SEGMENTS, _FLAGS)),
    Step("ep_post_rdma_write", (_handle(EP), _LMRS, _LMRS, _LENGTH, _FLAGS)),
    Step("ep_post_rdma_read", (_handle(EP), _LMRS, _LMRS, _LENGTH, _FLAGS)),
    Step("ep_connect", (_handle(EP), _QUALIFIER, _PRIVATE)),
    Step("ep_connect_within", (_handle(EP), _QUALIFIER, _PRIVATE, (BRIEFLY, SOON))),
    Step("ep_dup_connect", (_handle(EP), _handle(EP), _PRIVATE)),
    Step("ep_disconnect", (_handle(EP), (1, 0))),
    Step("ep_reset", (_handle(EP),)),
    Step("ep_free", (_handle(EP),)),
    Step("psp_create", (_new(PSP), _PORTS, _handle(EVD))),
    Step("psp_create_any", (_new(PSP), _handle(EVD))),
    Step("psp_query", (_handle(PSP), _MASKS[PSP])),
    Step("psp_free", (_handle(PSP),)),
    Step("cr_query", (_handle(CR), _MASKS[CR])),
    Step("rsp_create", (_new(RSP), _handle(EP), _handle(EVD))),
    Step("rsp_query", (_handle(RSP), _MASKS[RSP])),
    Step("rsp_free", (_handle(RSP),)),
    Step("cr_accept", (_handle(CR), _optional(EP), _PRIVATE)),
    Step("cr_handoff", (_handle(CR), _QUALIFIER)),
    Step("cr_reject", (_handle(CR),)),
    Step("handle_type", (_ANY,)),
    Step("handle_set_context", (_ANY, (0, 1, 7))),
    Step("handle_get_context", (_ANY,)),
)
STEPS: Mapping[str, Step] = {step.name: step for step in _ALL}

# The objects of the calls, as a user names them on the command line.
OBJECTS = tuple(dict.fromkeys(step.name.partition("_")[0] for step in _ALL if step.args))


# What all EPs of the first steps are made of.
_MADE_OF = " ".join(
    str(named(kind, slot))
    for kind, slot in ((PZ, 0), (EVD, RECEIVED), (EVD, REQUESTED), (EVD, CONNECTED))
)


def _end(slot: int) -> str:
    """Makes an EP with receives of its own."""
    return f"ep_create {named(EP, slot)} {_MADE_OF} 8 8"


def beginning() -> list[str]:
    """The objects that each walk starts with."""
    evds = ((RECEIVED, DTO_FLAG), (REQUESTED, DTO_FLAG | RMR_BIND_FLAG))
    more = ((CONNECTED, CONNECTION_FLAG), (REQUESTS, CR_FLAG))
    return [
        f"pz_create {named(PZ, 0)}",
        f"lmr_create {named(LMR, 0)} {named(PZ, 0)} {PRIVILEGES}",
        f"cno_create {named(CNO, 0)}",
        *(f"evd_create {named(EVD, slot)} 64 {NULL} {flags}" for slot, flags in (*evds, *more)),
        f"srq_create {named(SRQ, 0)} {named(PZ, 0)} 8 1",
        _end(0),
        _end(1),
        f"ep_create_with_srq {named(EP, 2)} {_MADE_OF} {named(SRQ, 0)} 8 8",
        f"psp_create_any {named(PSP, 0)} {named(EVD, REQUESTS)}",
    ]


# Where the request of a chain goes.
_REQUEST = named(CR, 0)


def _chain(first: str, *rest: str) -> list[str]:
    """Steps of which each is taken only if the call before it succeeded."""
    return [first, *(f"&{line}" for line in rest)]


def _told(count: int, within: int = LONG) -> list[str]:
    """Waits for connection events."""
    return [f"evd_wait {named(EVD, CONNECTED)} {NULL} {within} 1"] * count


def _asks(how: str) -> list[str]:
    """Asks for a connection by a step, and waits for the request."""
    return [how, f"evd_wait {named(EVD, REQUESTS)} {_REQUEST} {LONG} 1"]


def _asks_psp(active: int) -> list[str]:
    return _asks(f"ep_connect {named(EP, active)} {named(PSP, 0)} 16")


def connection(active: int, passive: int) -> list[str]:
    """The steps that connect two EPs of the walk, as far as both may be connected now."""
    return _chain(
        f"psp_query {named(PSP, 0)} {ALL}",
        *_asks_psp(active),
        f"cr_query {_REQUEST} {ALL}",
        f"cr_accept {_REQUEST} {named(EP, passive)} 8",
        *_told(2),
    )


def reserved(active: int, passive: int) -> list[str]:
    """The steps that connect two EPs by an RSP, as far as both may be connected now."""
    return _chain(
        f"rsp_create {named(RSP, 0)} {named(EP, passive)} {named(EVD, REQUESTS)}",
        *_asks(f"ep_connect {named(EP, active)} {named(RSP, 0)} 8"),
        f"cr_accept {_REQUEST} {NULL} 0",
        *_told(2),
    )


def again() -> list[str]:
    """The steps that connect two EPs, then a third one as the first, whose request is handed over
    before a fourth one accepts it.
    """
    return [
        *connection(0, 1),
        *_chain(
            _end(3),
            *_asks(f"ep_dup_connect {named(EP, 2)} {named(EP, 0)} 8"),
            *_asks(f"cr_handoff {_REQUEST} {named(PSP, 0)}"),
            f"cr_accept {_REQUEST} {named(EP, 3)} 0",
            *_told(2),
        ),
    ]


def refused(active: int) -> list[str]:
    """The steps by which a request to connect is rejected, and the EP is made usable again."""
    end = named(EP, active)
    return _chain(
        f"psp_query {named(PSP, 0)} {ALL}",
        *_asks_psp(active),
        f"cr_reject {_REQUEST}",
        *_told(1),
        f"ep_query {end} {ALL}",
        f"ep_reset {end}",
    )


def disposed(what: str) -> list[str]:
    """The steps that ask something of a request that was rejected."""
    return _chain(*_asks_psp(0), f"cr_reject {_REQUEST}", what.format(_REQUEST + FREED))


def parting(first: int, gracefully: int) -> list[str]:
    """The steps that end a connection, and make one of its ends usable again."""
    end = named(EP, first)
    return _chain(
        f"ep_disconnect {end} {gracefully}",
        *_told(2, SOON),
        f"ep_get_status {end}",
        f"ep_reset {end}",
        f"ep_query {end} {ALL}",
    )


def moved(field: int, evd: int) -> list[str]:
    """The steps that reset an EP behind a connection, give it another EVD, and use it again."""
    end = named(EP, 1)
    return [
        *connection(0, 1),
        *_chain(f"ep_disconnect {end} 0", *_told(2, SOON), f"ep_reset {end}"),
        *_chain(
            f"evd_create {named(EVD, evd)} 16 {NULL} {DTO_FLAG}",
            f"ep_modify_handle {end} {field} {named(EVD, evd)}",
            f"ep_query {end} {ALL}",
            f"ep_reset {named(EP, 0)}",
        ),
        *connection(0, 1),
        *_chain(
            f"ep_post_recv {end} {named(LMR, 0)} 0 64 0",
            f"ep_post_recv {named(EP, 0)} {named(LMR, 0)} 0 64 0",
            f"ep_post_send {named(EP, 0)} {named(LMR, 0)} 64 8 0",
            f"ep_post_send {end} {named(LMR, 0)} 64 8 0",
            f"evd_wait {named(EVD, evd)} {NULL} {SOON} 1",
        ),
    ]


def message(sender: int, receiver: int) -> list[str]:
    """The steps by which a message goes from one EP to another, if they are connected."""
    return _chain(
        f"ep_post_recv {named(EP, receiver)} {named(LMR, 0)} 0 64 0",
        f"ep_post_send {named(EP, sender)} {named(LMR, 0)} 64 64 0",
        f"evd_wait {named(EVD, RECEIVED)} {NULL} {SOON} 1",
        f"evd_wait {named(EVD, REQUESTED)} {NULL} {SOON} 1",
    )


def shared(sender: int, sent: int) -> list[str]:
    """The steps by which a message comes to a receive of an SRQ, if the third EP is connected."""
    srq = named(SRQ, 0)
    return _chain(
        f"srq_set_lw {srq} 1",
        f"srq_post_recv {srq} {named(LMR, 0)} 0 64",
        f"ep_post_send {named(EP, sender)} {named(LMR, 0)} 64 {sent} 0",
        f"evd_wait {named(EVD, RECEIVED)} {NULL} {SOON} 1",
        f"srq_query {srq} {ALL}",
        f"ep_recv_query {named(EP, 2)}",
        f"evd_wait {named(EVD, ASYNC_SLOT)} {NULL} {BRIEFLY} 1",
    )


def unreaped(sender: int, asked: int) -> list[str]:
    """The steps that resize an SRQ while completions of its receives are not reaped."""
    srq = named(SRQ, 0)
    posts = [f"srq_post_recv {srq} {named(LMR, 0)} 0 64"] * 4
    sends = [
        f"ep_post_send {named(EP, sender)} {named(LMR, 0)} 64 8 0",
        f"evd_wait {named(EVD, REQUESTED)} {NULL} {SOON} 1",
    ] * 3
    return [
        *connection(sender, 2),
        *_chain(
            f"srq_set_lw {srq} 1",
            *posts,
            *sends,
            f"evd_wait {named(EVD, RECEIVED)} {NULL} {SOON} 1",
            f"srq_query {srq} {ALL}",
        ),
        f"srq_resize {srq} {asked}",
        f"srq_query {srq} {ALL}",
        *[f"evd_dequeue {named(EVD, RECEIVED)} {NULL}"] * 2,
        f"srq_query {srq} {ALL}",
    ]


def marked(asker: int) -> list[str]:
    """The steps that set the mark of an SRQ, reset an EP of it and connect the EP again, before a
    message leaves fewer receives than the mark.
    """
    srq, end, other = named(SRQ, 0), named(EP, 2), named(EP, 1 - asker)
    return [
        *connection(2, 1 - asker),
        *_chain(
            *[f"srq_post_recv {srq} {named(LMR, 0)} 0 64"] * 3,
            f"srq_query {srq} {ALL}",
            f"srq_set_lw {srq} 3",
            f"evd_wait {named(EVD, ASYNC_SLOT)} {NULL} {BRIEFLY} 1",
        ),
        *_chain(
            f"ep_disconnect {end} 0",
            *_told(2, SOON),
            f"ep_reset {end}",
            f"ep_reset {other}",
        ),
        *connection(2, 1 - asker),
        *_chain(
            f"ep_post_send {other} {named(LMR, 0)} 64 8 0",
            f"evd_wait {named(EVD, RECEIVED)} {NULL} {SOON} 1",
            f"evd_waiter {named(EVD, ASYNC_SLOT)} {UNTIL_WOKEN} 1",
            f"evd_join {NULL}",
            f"srq_query {srq} {ALL}",
        ),
    ]


def remote(end: int, what: str) -> list[str]:
    """The steps that write or read remote memory, if the EP is connected."""
    return _chain(
        f"ep_post_rdma_{what} {named(EP, end)} {named(LMR, 0)} {named(LMR, 0)} 64 0",
        f"evd_wait {named(EVD, REQUESTED)} {NULL} {SOON} 1",
    )


def bind(end: int, lmr: int, flags: int) -> list[str]:
    """The steps that bind an RMR, if the EP is connected, and try to free the LMR below it."""
    bound, below = named(RMR, 0), named(LMR, lmr)
    steps = _chain(
        f"rmr_create {bound} {named(PZ, 0)}",
        f"lmr_create {below} {named(PZ, 0)} {LOCAL if lmr else PRIVILEGES}",
        f"rmr_bind {bound} {below} 0 64 {PRIVILEGES} {named(EP, end)} {flags}",
        f"evd_wait {named(EVD, REQUESTED)} {NULL} {SOON} 1",
        f"rmr_query {bound} {ALL}",
        f"lmr_free {below}",
    )
    return [*steps, f"lmr_query {below} {ALL}"]


def filled(count: int, asked: int) -> list[str]:
    """The steps that post receives to the SRQ and resize it, while they are posted."""
    srq = named(SRQ, 0)
    posts = [f"srq_post_recv {srq} {named(LMR, 0)} 64 64"] * count
    return _chain(
        *posts, f"srq_query {srq} {ALL}", f"srq_resize {srq} {asked}", f"srq_query {srq} {ALL}"
    )


def posted(end: int, count: int) -> list[str]:
    """The steps that post receives to an EP, and ask how many it has."""
    posts = [f"ep_post_recv {named(EP, end)} {named(LMR, 0)} 64 64 0"] * count
    return _chain(*posts, f"ep_recv_query {named(EP, end)}", f"ep_get_status {named(EP, end)}")


def events(count: int, least: int) -> list[str]:
    """The steps that post events to a software EVD with a CNO, and take them."""
    evd, cno = named(EVD, 4), named(CNO, 0)
    return _chain(
        f"evd_create {evd} 16 {cno} {SOFTWARE_FLAG}",
        *[f"evd_post_se {evd}"] * count,
        f"cno_wait {cno} {BRIEFLY}",
        f"evd_wait {evd} {NULL} {BRIEFLY} {least}",
        f"evd_dequeue {evd} {NULL}",
    )


# Where a chain's own software EVD goes.
_OWN = named(EVD, 4)


def resized(what: str, length: int) -> list[str]:
    """The steps that ask something of a software EVD, and resize it while events are queued."""
    return [
        *_chain(
            f"evd_create {_OWN} 4 {named(CNO, 0)} {SOFTWARE_FLAG}",
            what.format(_OWN),
            *[f"evd_post_se {_OWN}"] * 3,
        ),
        f"evd_resize {_OWN} {length}",
        f"evd_query {_OWN} {ALL}",
        *[f"evd_dequeue {_OWN} {NULL}"] * 3,
        f"evd_enable {_OWN}",
        f"evd_clear_unwaitable {_OWN}",
    ]


def _asleep(least: int) -> list[str]:
    """Makes a software EVD with a CNO, on which a thread then waits for so many events."""
    return [
        f"evd_create {_OWN} 16 {named(CNO, 0)} {SOFTWARE_FLAG}",
        f"evd_waiter {_OWN} {UNTIL_WOKEN} {least}",
    ]


def woken(least: int) -> list[str]:
    """The steps that post as many events as a thread waits for."""
    posts = [f"evd_post_se {_OWN}"] * least
    return _chain(*_asleep(least), *posts, f"evd_join {NULL}", f"evd_query {_OWN} {ALL}")


def woken_of_cno() -> list[str]:
    """The steps that post an event to an EVD, while a thread waits on its CNO."""
    return _chain(
        _asleep(1)[0],
        f"cno_waiter {named(CNO, 0)} {UNTIL_WOKEN}",
        f"evd_post_se {_OWN}",
        f"evd_join {NULL}",
        f"evd_dequeue {_OWN} {NULL}",
    )


def beside(what: str) -> list[str]:
    """The steps that ask something of an EVD on which a thread waits, and then wake the thread."""
    return [
        *_chain(*_asleep(1), what.format(_OWN)),
        f"evd_post_se {_OWN}",
        f"evd_join {NULL}",
        f"evd_query {_OWN} {ALL}",
        f"evd_clear_unwaitable {_OWN}",
        f"evd_enable {_OWN}",
    ]


def flagged(received: int, requested: int) -> list[str]:
    """The steps that connect an EP with completion flags on EVDs of its own, and send both ways."""
    own, first, second = named(EP, 3), named(EVD, 6), named(EVD, 7)
    end = f"{own} {named(PZ, 0)} {first} {second} {named(EVD, CONNECTED)} {received} {requested}"
    return [
        *_chain(
            f"evd_create {first} 16 {NULL} {DTO_FLAG}",
            f"evd_create {second} 16 {NULL} {DTO_FLAG}",
            f"ep_create_flags {end}",
            f"ep_query {own} {ALL}",
            f"evd_wait {first} {NULL} 0 2",
        ),
        f"evd_wait {second} {NULL} 0 2",
        *connection(3, 1),
        *_chain(
            f"ep_post_recv {own} {named(LMR, 0)} 0 64 {UNSIGNALLED & received}",
            f"ep_post_send {named(EP, 1)} {named(LMR, 0)} 64 64 {SOLICITED}",
            f"evd_wait {first} {NULL} {SOON} 1",
            f"ep_post_recv {named(EP, 1)} {named(LMR, 0)} 0 64 0",
            f"ep_post_send {own} {named(LMR, 0)} 64 64 {UNSIGNALLED & requested}",
            f"evd_wait {named(EVD, RECEIVED)} {NULL} {SOON} 1",
            f"evd_dequeue {second} {NULL}",
        ),
    ]


def unanswered(end: int) -> list[str]:
    """The steps by which the time to connect is over, and the EP is made usable again."""
    asking = named(EP, end)
    return _chain(
        f"ep_connect_within {asking} {named(PSP, 0)} 8 {BRIEFLY}",
        f"ep_query {asking} {ALL}",
        *_told(1),
        f"ep_get_status {asking}",
        f"ep_reset {asking}",
    )


def deep(count: int) -> list[str]:
    """The steps that fill an SRQ of their own."""
    srq = named(SRQ, 4)
    steps = _chain(
        f"srq_create {srq} {named(PZ, 0)} {count} 1",
        *[f"srq_post_recv {srq} {named(LMR, 0)} 0 8"] * count,
        f"srq_query {srq} {ALL}",
    )
    return [*steps, f"srq_free {srq}"]


def other_ia() -> list[str]:
    """The steps that open a second IA, with objects as the first steps make them."""
    evds = [named(EVD, OTHER + slot) for slot in range(4)]
    flags = (DTO_FLAG, DTO_FLAG | RMR_BIND_FLAG, CONNECTION_FLAG, CR_FLAG)
    zone = named(PZ, OTHER)
    made_of = " ".join(map(str, (zone, *evds[:3])))
    return _chain(
        "ia_open 64",
        f"pz_create {zone}",
        f"lmr_create {named(LMR, OTHER)} {zone} {PRIVILEGES}",
        f"cno_create {named(CNO, OTHER)}",
        *(f"evd_create {evd} 64 {NULL} {flag}" for evd, flag in zip(evds, flags, strict=True)),
        f"srq_create {named(SRQ, OTHER)} {zone} 8 1",
        f"ep_create {named(EP, OTHER)} {made_of} 8 8",
        f"psp_create_any {named(PSP, OTHER)} {evds[REQUESTS]}",
    )


def other_marked(slot: int, own: int, others: int) -> list[str]:
    """The steps that set the mark of an empty SRQ while two IAs are open: its event comes on one of
    their asynchronous EVDs.
    """
    return [
        *other_ia(),
        *_chain(
            f"srq_set_lw {named(SRQ, slot)} 2",
            f"evd_wait {named(EVD, own)} {NULL} {SOON} 1",
        ),
        f"evd_dequeue {named(EVD, others)} {NULL}",
    ]


def across(from_own: bool) -> list[str]:
    """The steps that connect an EP of each IA, and send a message and write memory over it."""
    own, other = 0, OTHER
    asks, answers = (own, other) if from_own else (other, own)
    request = named(CR, answers)
    return _chain(
        f"psp_query {named(PSP, answers)} {ALL}",
        f"ep_connect {named(EP, asks)} {named(PSP, answers)} 16",
        f"evd_wait {named(EVD, answers + REQUESTS)} {request} {LONG} 1",
        f"cr_query {request} {ALL}",
        f"cr_accept {request} {named(EP, answers)} 8",
        f"evd_wait {named(EVD, asks + CONNECTED)} {NULL} {LONG} 1",
        f"evd_wait {named(EVD, answers + CONNECTED)} {NULL} {LONG} 1",
        f"ep_post_recv {named(EP, answers)} {named(LMR, answers)} 0 64 0",
        f"ep_post_send {named(EP, asks)} {named(LMR, asks)} 64 64 0",
        f"evd_wait {named(EVD, answers + RECEIVED)} {NULL} {SOON} 1",
        f"evd_wait {named(EVD, asks + REQUESTED)} {NULL} {SOON} 1",
        f"ep_post_rdma_write {named(EP, asks)} {named(LMR, asks)} {named(LMR, answers)} 64 0",
        f"evd_wait {named(EVD, asks + REQUESTED)} {NULL} {SOON} 1",
        "private_again",
    )


def foreign(step: str) -> list[str]:
    """A step on objects of both IAs; what it may have changed is asked for."""
    return [
        step,
        f"ep_query {named(EP, 0)} {ALL}",
        f"evd_query {named(EVD, 0)} {ALL}",
        f"pz_free {named(PZ, OTHER)}",
    ]


def closed(gracefully: int) -> list[str]:
    """The steps that close the second IA, and look at what is left of the connection to it."""
    return [
        f"ia_close {gracefully}",
        f"ep_get_status {named(EP, 0)}",
        "ia_query 0",
        f"evd_wait {named(EVD, CONNECTED)} {NULL} {SOON} 1",
        f"pz_create {named(PZ, OTHER)}",
    ]


def endless(least: int, *ends: str) -> list[str]:
    """The steps that end the wait of a thread which has no timeout."""
    return [
        *_chain(
            f"evd_create {_OWN} 16 {NULL} {SOFTWARE_FLAG}",
            f"evd_waiter {_OWN} {ENDLESSLY} {least}",
            *ends,
        ),
        f"evd_join {NULL}",
        f"evd_query {_OWN} {ALL}",
        f"evd_clear_unwaitable {_OWN}",
        f"evd_dequeue {_OWN} {NULL}",
    ]


def endless_of_cno() -> list[str]:
    """The same for a wait on a CNO."""
    return _chain(
        f"evd_create {_OWN} 16 {named(CNO, 0)} {SOFTWARE_FLAG}",
        f"cno_waiter {named(CNO, 0)} {ENDLESSLY}",
        f"evd_post_se {_OWN}",
        f"evd_join {NULL}",
        f"evd_dequeue {_OWN} {NULL}",
    )


def endless_connection() -> list[str]:
    """The same for a wait that the acceptance of a request ends."""
    waits = f"evd_waiter {named(EVD, CONNECTED)} {ENDLESSLY} 1"
    return [
        *_chain(
            f"psp_query {named(PSP, 0)} {ALL}",
            waits,
            *_asks_psp(0),
            f"cr_accept {_REQUEST} {named(EP, 1)} 8",
        ),
        f"evd_join {NULL}",
        *_told(1, SOON),
        "private_again",
    ]


def endless_message(sender: int, receiver: int) -> list[str]:
    """The same for a wait that a message ends, if the EPs are connected."""
    return [
        *_chain(
            f"ep_post_recv {named(EP, receiver)} {named(LMR, 0)} 0 64 0",
            f"evd_waiter {named(EVD, RECEIVED)} {ENDLESSLY} 1",
            f"ep_post_send {named(EP, sender)} {named(LMR, 0)} 64 64 0",
        ),
        f"evd_join {NULL}",
        f"evd_wait {named(EVD, REQUESTED)} {NULL} {SOON} 1",
    ]


def kept(kind: int, *between: str) -> list[str]:
    """The steps that give an object a context, and ask for it after others."""
    return [
        f"handle_set_context {named(kind, 0)} 7",
        *between,
        f"handle_get_context {named(kind, 0)}",
    ]


_PAIRS = ((0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (0, 0))
# The chains that a walk takes, each as often as it is to be drawn.
CHAINS: Sequence[Sequence[str]] = (
    *(connection(*pair) for pair in _PAIRS * 3),
    *(message(*pair) for pair in _PAIRS * 2),
    *(reserved(*pair) for pair in _PAIRS),
    again(),
    again(),
    *(moved(field, 6) for field in (0x80, 0x100)),
    *(refused(end) for end in range(3)),
    *(parting(end, how) for end in range(3) for how in (1, 0)),
    *(shared(end, sent) for end in range(2) for sent in (8, 64, 128)),
    *(unreaped(end, asked) for end in range(2) for asked in (1, 2, 16)),
    *(marked(end) for end in range(2)),
    *(remote(end, what) for end in range(3) for what in ("write", "read")),
    *(bind(end, 0, flags) for end in range(3) for flags in (0, UNSIGNALLED)),
    *(bind(0, 1, flags) for flags in (0, SUPPRESS)),
    *(filled(count, asked) for count in (2, 8) for asked in (1, 8, 16)),
    *(posted(end, count) for end in range(3) for count in (1, 3, 8)),
    *(events(count, least) for count in (1, 3) for least in (1, 3)),
    *(resized(f"evd_{what} {{}}", length) for what in ("disable", "enable") for length in (3, 16)),
    resized("evd_set_unwaitable {}", 2),
    disposed("cr_query {} -1"),
    disposed("cr_accept {} 6001 0"),
    disposed("cr_handoff {} 7000"),
    disposed("cr_reject {}"),
    unanswered(0),
    unanswered(1),
    *(woken(least) for least in (1, 1, 3)),
    woken_of_cno(),
    woken_of_cno(),
    beside("evd_set_unwaitable {}"),
    beside("evd_disable {}"),
    beside(f"evd_modify_cno {{}} {NULL}"),
    beside(f"evd_wait {{}} {NULL} 0 1"),
    beside(f"evd_dequeue {{}} {NULL}"),
    beside("evd_free {}"),
    *(flagged(*flags) for flags in ((UNSIGNALLED, 0), (0, UNSIGNALLED), (SOLICITED, THRESHOLD))),
    deep(40),
    deep(300),
    other_ia(),
    other_marked(OTHER, OTHER_ASYNC_SLOT, ASYNC_SLOT),
    other_marked(0, ASYNC_SLOT, OTHER_ASYNC_SLOT),
    *(across(from_own) for from_own in (True, True, False, False)),
    *(closed(gracefully) for gracefully in (1, 0)),
    *map(
        foreign,
        (
            f"evd_modify_cno {named(EVD, 0)} {named(CNO, OTHER)}",
            f"evd_create {named(EVD, 5)} 8 {named(CNO, OTHER)} {DTO_FLAG}",
            f"lmr_create {named(LMR, 1)} {named(PZ, OTHER)} {PRIVILEGES}",
            f"srq_create {named(SRQ, 1)} {named(PZ, OTHER)} 8 1",
            f"ep_modify_handle {named(EP, 0)} 64 {named(PZ, OTHER)}",
            f"ep_modify_handle {named(EP, 1)} 128 {named(EVD, OTHER)}",
            f"ep_create {named(EP, 3)} {named(PZ, OTHER)} {named(EVD, 0)} {named(EVD, 1)}"
            f" {named(EVD, 2)} 8 8",
            f"ep_create {named(EP, 3)} {named(PZ, 0)} {named(EVD, OTHER)} {named(EVD, 1)}"
            f" {named(EVD, 2)} 8 8",
            f"ep_create_with_srq {named(EP, 3)} {_MADE_OF} {named(SRQ, OTHER)} 8 8",
            f"psp_create_any {named(PSP, 1)} {named(EVD, OTHER + REQUESTS)}",
            f"ep_post_send {named(EP, 0)} {named(LMR, OTHER)} 0 8 0",
            f"ep_dup_connect {named(EP, OTHER)} {named(EP, 0)} 8",
        ),
    ),
    *(endless(1, f"evd_post_se {_OWN}") for _ in range(2)),
    endless(2, f"evd_post_se {_OWN}", f"evd_post_se {_OWN}"),
    endless(1, f"evd_set_unwaitable {_OWN}"),
    endless(1, f"evd_disable {_OWN}", f"evd_set_unwaitable {_OWN}"),
    endless_of_cno(),
    endless_connection(),
    *(endless_message(*pair) for pair in ((0, 1), (1, 0))),
    kept(EVD, f"evd_resize {named(EVD, 0)} 128"),
    kept(SRQ, f"srq_resize {named(SRQ, 0)} 32"),
    kept(EP, f"ep_disconnect {named(EP, 0)} 1", f"ep_reset {named(EP, 0)}"),
    kept(LMR, f"lmr_free {named(LMR, 0)}"),
)
# With these a program may begin, behind the first steps.
OPENINGS = (connection(0, 1), connection(0, 2), connection(2, 1), reserved(0, 1))
# So many parts of a program are chains, so many are several steps on one object, and so many steps
# are on an object that was just freed; so many programs begin with a connection; by so much may
# their steps be thinned out.
_CHAINS_OF_ALL, _BURSTS_OF_ALL, _FREED_OF_ALL, _CONNECTED_OF_ALL = 1 / 5, 1 / 15, 1 / 15, 2 / 3
_BURST = (3, 8)
# So many programs have a second IA from the beginning.
_OTHER_OF_ALL = 1 / 3
_LEFT_OUT = (0.0, 0.1, 0.5, 0.8)

# What frees an object of a kind.
_ENDS: Mapping[int, str] = {
    PZ: "pz_free",
    LMR: "lmr_free",
    RMR: "rmr_free",
    EVD: "evd_free",
    CNO: "cno_free",
    SRQ: "srq_free",
    EP: "ep_free",
    PSP: "psp_free",
    CR: "cr_reject",
    RSP: "rsp_free",
}


class Programs:
    """The programs of a seed, of the calls of some objects: so many steps behind the first ones.

    Each goes without some of the steps, so that what others undo can pile up (swarm).
    """

    def __init__(self, objects: Sequence[str], most: int, seed: int) -> None:
        self._names = [name for name in STEPS if _is_of(name, objects)]
        self._chains = [chain for chain in CHAINS if _of_objects(chain, objects)]
        self._most = most
        self._seed = seed

    def program(self, number: int) -> list[str]:
        """The program of a number: the same one whatever was drawn before."""
        draw = Random(f"{self._seed}/{number}")
        left_out = draw.choice(_LEFT_OUT)
        names = [name for name in self._names if draw.random() >= left_out] or self._names
        lines = beginning()
        if len(self._chains) == len(CHAINS) and draw.random() < _CONNECTED_OF_ALL:
            lines += draw.choice(OPENINGS)
        if len(self._chains) == len(CHAINS) and draw.random() < _OTHER_OF_ALL:
            lines += other_ia()
        for _ in range(draw.randint(self._most // 2, self._most)):
            if self._chains and draw.random() < _CHAINS_OF_ALL:
                lines += draw.choice(self._chains)
            elif draw.random() < _BURSTS_OF_ALL:
                lines += self.burst(STEPS[draw.choice(names)], draw)
            elif draw.random() < _FREED_OF_ALL:
                lines += self._of_freed(STEPS[draw.choice(names)], draw)
            else:
                lines.append(STEPS[draw.choice(names)].line(draw))
        return lines

    def burst(self, step: Step, draw: Random) -> list[str]:
        """Several steps on the object of a step, and a query: what one does, others may show."""
        line = step.line(draw)
        number = int([*line.split(), str(NULL)][1])
        steps = [STEPS[name] for name in self._names if _is_on(STEPS[name], number)]
        if not steps:
            return [line]
        drawn = [draw.choice(steps).line(draw).split() for _ in range(draw.randint(*_BURST))]
        drawn += [
            [each.name, *[str(ALL)] * len(each.args)]
            for each in steps
            if each.name.endswith("_query")
        ]
        return [line, *(" ".join((name, str(number), *args[1:])) for name, *args in drawn)]

    def _of_freed(self, step: Step, draw: Random) -> list[str]:
        """A step on an object that was freed just before, if it is a step on an object."""
        name, *args = step.line(draw).split()
        if not args or name.startswith("ia_"):
            return [" ".join((name, *args))]
        number = int(args[0])
        ends = _ENDS.get(number // BY_KIND)
        if ends not in self._names or number % BY_KIND >= FREED or "create" in name:
            return [" ".join((name, *args))]
        return _chain(f"{ends} {number}", " ".join((name, str(number + FREED), *args[1:])))


def _is_on(step: Step, number: int) -> bool:
    """Whether a step is on an object of the number's kind, and neither makes nor frees it."""
    kind = number // BY_KIND
    ends = "create" in step.name or step.name in ("evd_join", *_ENDS.values())
    # Of another kind, an object is drawn as an illegal argument: once.
    return not ends and kind in _ENDS and bool(step.args) and step.args[0].count(kind * BY_KIND) > 1


def simpler(line: str) -> Iterator[str]:
    """A line of a program with one argument made simpler, in each way."""
    name, *args = line.removeprefix("&").split()
    condition = "&" if line.startswith("&") else ""
    yield from (condition + other for other in STEPS[name].simpler(args))


def _of_objects(chain: Sequence[str], objects: Sequence[str]) -> bool:
    """Whether each call of a chain is of these objects."""
    return all(_is_of(line.removeprefix("&"), objects) for line in chain)


def _is_of(line: str, objects: Sequence[str]) -> bool:
    """Whether a step's call is of these objects; a look at memory is of requests and EPs."""
    of = line.partition("_")[0]
    return of in objects or (of == "private" and {"cr", "ep"} <= {*objects})
