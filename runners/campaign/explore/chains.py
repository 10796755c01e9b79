# SPDX-License-Identifier: BSD-2-Clause
"""Chains of steps that a walk would hardly find in their order, as those that make a connection."""

from collections.abc import Sequence

from runners.campaign.explore.step import (
    ALL,
    ASYNC_SLOT,
    BRIEFLY,
    CNO,
    CONNECTED,
    CONNECTION_FLAG,
    CR,
    CR_FLAG,
    DTO_FLAG,
    ENDLESSLY,
    EP,
    EVD,
    FREED,
    LMR,
    LOCAL,
    LONG,
    NULL,
    OTHER,
    OTHER_ASYNC_SLOT,
    PRIVILEGES,
    PSP,
    PZ,
    RECEIVED,
    REQUESTED,
    REQUESTS,
    RMR,
    RMR_BIND_FLAG,
    RSP,
    SOFTWARE_FLAG,
    SOLICITED,
    SOON,
    SRQ,
    SUPPRESS,
    THRESHOLD,
    UNSIGNALLED,
    UNTIL_WOKEN,
    guarded,
    named,
)

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
    return guarded(
        f"psp_query {named(PSP, 0)} {ALL}",
        *_asks_psp(active),
        f"cr_query {_REQUEST} {ALL}",
        f"cr_accept {_REQUEST} {named(EP, passive)} 8",
        *_told(2),
    )


def reserved(active: int, passive: int) -> list[str]:
    """The steps that connect two EPs by an RSP, as far as both may be connected now."""
    return guarded(
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
        *guarded(
            _end(3),
            *_asks(f"ep_dup_connect {named(EP, 2)} {named(EP, 0)} 8"),
            *_asks(f"cr_handoff {_REQUEST} {named(PSP, 0)}"),
            f"cr_accept {_REQUEST} {named(EP, 3)} 0",
            *_told(2),
        ),
    ]


def made(private: int) -> list[str]:
    """The steps by which an EP that the provider makes is connected, and gets a message."""
    end, asking = named(EP, 3), named(EP, 0)
    return guarded(
        f"psp_create_making {named(PSP, 3)} {named(EVD, REQUESTS)}",
        *_asks(f"ep_connect {asking} {named(PSP, 3)} 16"),
        f"cr_accept_made {_REQUEST} {end} {private}",
        *_told(2),
        f"ep_query {end} {ALL}",
        f"ep_post_recv {end} {named(LMR, 0)} 0 64 0",
        f"ep_post_send {asking} {named(LMR, 0)} 64 8 0",
        f"evd_wait {named(EVD, REQUESTED)} {NULL} {SOON} 1",
        f"ep_disconnect {end} 0",
        f"ep_free {end}",
    )


def over_one_another(privileges: int) -> list[str]:
    """The steps that make an LMR of another one, free that, and use what is left."""
    first, second = named(LMR, 1), named(LMR, 2)
    return guarded(
        f"lmr_create {first} {named(PZ, 0)} {PRIVILEGES}",
        f"lmr_create_of {second} {named(PZ, 0)} {first} {privileges}",
        f"lmr_query {second} {ALL}",
        f"lmr_free {first}",
        f"lmr_query {second} {ALL}",
        f"srq_post_recv {named(SRQ, 0)} {second} 0 64",
        f"lmr_sync_rdma_write {second} 0 64",
    )


def two_mappings(privileges: int) -> list[str]:
    """The steps that make two LMRs of the same pages, and move a message from one to the other."""
    first, second = named(LMR, 3), named(LMR, 4)
    sent = 64
    return guarded(
        f"lmr_create_shared {first} {named(PZ, 0)} {PRIVILEGES}",
        f"lmr_create_shared {second} {named(PZ, 0)} {privileges}",
        f"lmr_query {second} {ALL}",
        f"ep_post_recv {named(EP, 1)} {second} 0 {sent} 0",
        f"ep_post_send {named(EP, 0)} {first} {sent} {sent} 0",
        f"evd_wait {named(EVD, REQUESTED)} {NULL} {SOON} 1",
        f"evd_wait {named(EVD, RECEIVED)} {NULL} {SOON} 1",
        f"lmr_free {first}",
        f"lmr_query {second} {ALL}",
        f"srq_post_recv {named(SRQ, 0)} {second} 0 {sent}",
    )


def refused(active: int) -> list[str]:
    """The steps by which a request to connect is rejected, and the EP is made usable again."""
    end = named(EP, active)
    return guarded(
        f"psp_query {named(PSP, 0)} {ALL}",
        *_asks_psp(active),
        f"cr_reject {_REQUEST}",
        *_told(1),
        f"ep_query {end} {ALL}",
        f"ep_reset {end}",
    )


def disposed(what: str) -> list[str]:
    """The steps that ask something of a request that was rejected."""
    return guarded(*_asks_psp(0), f"cr_reject {_REQUEST}", what.format(_REQUEST + FREED))


def parting(first: int, gracefully: int) -> list[str]:
    """The steps that end a connection, and make one of its ends usable again."""
    end = named(EP, first)
    return guarded(
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
        *guarded(f"ep_disconnect {end} 0", *_told(2, SOON), f"ep_reset {end}"),
        *guarded(
            f"evd_create {named(EVD, evd)} 16 {NULL} {DTO_FLAG}",
            f"ep_modify_handle {end} {field} {named(EVD, evd)}",
            f"ep_query {end} {ALL}",
            f"ep_reset {named(EP, 0)}",
        ),
        *connection(0, 1),
        *guarded(
            f"ep_post_recv {end} {named(LMR, 0)} 0 64 0",
            f"ep_post_recv {named(EP, 0)} {named(LMR, 0)} 0 64 0",
            f"ep_post_send {named(EP, 0)} {named(LMR, 0)} 64 8 0",
            f"ep_post_send {end} {named(LMR, 0)} 64 8 0",
            f"evd_wait {named(EVD, evd)} {NULL} {SOON} 1",
        ),
    ]


def message(sender: int, receiver: int) -> list[str]:
    """The steps by which a message goes from one EP to another, if they are connected."""
    return guarded(
        f"ep_post_recv {named(EP, receiver)} {named(LMR, 0)} 0 64 0",
        f"ep_post_send {named(EP, sender)} {named(LMR, 0)} 64 64 0",
        f"evd_wait {named(EVD, RECEIVED)} {NULL} {SOON} 1",
        f"evd_wait {named(EVD, REQUESTED)} {NULL} {SOON} 1",
    )


def shared(sender: int, sent: int) -> list[str]:
    """The steps by which a message comes to a receive of an SRQ, if the third EP is connected."""
    srq = named(SRQ, 0)
    return guarded(
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
        *guarded(
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
        *guarded(
            *[f"srq_post_recv {srq} {named(LMR, 0)} 0 64"] * 3,
            f"srq_query {srq} {ALL}",
            f"srq_set_lw {srq} 3",
            f"evd_wait {named(EVD, ASYNC_SLOT)} {NULL} {BRIEFLY} 1",
        ),
        *guarded(
            f"ep_disconnect {end} 0",
            *_told(2, SOON),
            f"ep_reset {end}",
            f"ep_reset {other}",
        ),
        *connection(2, 1 - asker),
        *guarded(
            f"ep_post_send {other} {named(LMR, 0)} 64 8 0",
            f"evd_wait {named(EVD, RECEIVED)} {NULL} {SOON} 1",
            f"evd_waiter {named(EVD, ASYNC_SLOT)} {UNTIL_WOKEN} 1",
            f"evd_join {NULL}",
            f"srq_query {srq} {ALL}",
        ),
    ]


def remote(end: int, what: str) -> list[str]:
    """The steps that write or read remote memory, if the EP is connected."""
    return guarded(
        f"ep_post_rdma_{what} {named(EP, end)} {named(LMR, 0)} {named(LMR, 0)} 64 0",
        f"evd_wait {named(EVD, REQUESTED)} {NULL} {SOON} 1",
    )


def bind(end: int, lmr: int, flags: int) -> list[str]:
    """The steps that bind an RMR, if the EP is connected, and try to free the LMR below it."""
    bound, below = named(RMR, 0), named(LMR, lmr)
    steps = guarded(
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
    return guarded(
        *posts, f"srq_query {srq} {ALL}", f"srq_resize {srq} {asked}", f"srq_query {srq} {ALL}"
    )


def posted(end: int, count: int) -> list[str]:
    """The steps that post receives to an EP, and ask how many it has."""
    posts = [f"ep_post_recv {named(EP, end)} {named(LMR, 0)} 64 64 0"] * count
    return guarded(*posts, f"ep_recv_query {named(EP, end)}", f"ep_get_status {named(EP, end)}")


def events(count: int, least: int) -> list[str]:
    """The steps that post events to a software EVD with a CNO, and take them."""
    evd, cno = named(EVD, 4), named(CNO, 0)
    return guarded(
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
        *guarded(
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
    return guarded(*_asleep(least), *posts, f"evd_join {NULL}", f"evd_query {_OWN} {ALL}")


def woken_of_cno() -> list[str]:
    """The steps that post an event to an EVD, while a thread waits on its CNO."""
    return guarded(
        _asleep(1)[0],
        f"cno_waiter {named(CNO, 0)} {UNTIL_WOKEN}",
        f"evd_post_se {_OWN}",
        f"evd_join {NULL}",
        f"evd_dequeue {_OWN} {NULL}",
    )


def beside(what: str) -> list[str]:
    """The steps that ask something of an EVD on which a thread waits, and then wake the thread."""
    return [
        *guarded(*_asleep(1), what.format(_OWN)),
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
        *guarded(
            f"evd_create {first} 16 {NULL} {DTO_FLAG}",
            f"evd_create {second} 16 {NULL} {DTO_FLAG}",
            f"ep_create_flags {end}",
            f"ep_query {own} {ALL}",
            f"evd_wait {first} {NULL} 0 2",
        ),
        f"evd_wait {second} {NULL} 0 2",
        *connection(3, 1),
        *guarded(
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
    return guarded(
        f"ep_connect_within {asking} {named(PSP, 0)} 8 {BRIEFLY}",
        f"ep_query {asking} {ALL}",
        *_told(1),
        f"ep_get_status {asking}",
        f"ep_reset {asking}",
    )


def deep(count: int) -> list[str]:
    """The steps that fill an SRQ of their own."""
    srq = named(SRQ, 4)
    steps = guarded(
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
    return guarded(
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
        *guarded(
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
    return guarded(
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
        *guarded(
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
    return guarded(
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
        *guarded(
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
        *guarded(
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
    *(made(size) for size in (0, 16)),
    *(over_one_another(privileges) for privileges in (PRIVILEGES, 0x11)),
    *(two_mappings(privileges) for privileges in (PRIVILEGES, 0x11)),
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
