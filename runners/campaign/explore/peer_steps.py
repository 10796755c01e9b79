# SPDX-License-Identifier: BSD-2-Clause
"""The steps that a peer takes part in, a process of its own on this host or on another one.

The peer's ends of connections are named by a kind and a slot, like objects.
"""

from collections.abc import Sequence

from runners.campaign.explore.step import (
    ALL,
    CONNECTED,
    CR,
    EP,
    EVD,
    FENCE,
    LMR,
    LONG,
    NULL,
    PRIVATE_SIZES,
    PSP,
    RECEIVED,
    REQUESTED,
    REQUESTS,
    SOLICITED,
    SOON,
    SRQ,
    SUPPRESS,
    UNSIGNALLED,
    Step,
    guarded,
    named,
    own,
)

PEER_END = 10
_ENDS = [named(PEER_END, slot) for slot in (0, 0, 0, 1)]
_SIZES = (8, 64, 1, 0, 128, 4096)
_END = named(PEER_END, 0)

PEER_STEPS = (
    Step("peer_listens", ()),
    Step("peer_asks", (_ENDS, own(PSP), PRIVATE_SIZES)),
    Step("peer_connect", (own(EP), PRIVATE_SIZES)),
    Step("peer_answers", (_ENDS, (1, 1, 0), PRIVATE_SIZES)),
    Step("peer_event", (_ENDS,)),
    Step("peer_sends", (_ENDS, (1, 2, 8), _SIZES, (0, 0, SOLICITED))),
    Step("peer_dies", ()),
)
# Steps that end a walk where the peer's end is not connected, and the one that delays, reorders
# or loses what the peer's host sends, which is once in a walk: not drawn singly.
CHAINED = (
    Step("peer_late", ((5, 10, 20), (0, 10), (0, 0, 2))),
    Step("peer_settles", (_ENDS,)),
    Step("peer_receives", (_ENDS, (1, 2, 8), _SIZES)),
    Step("peer_writes", (_ENDS, own(LMR), (8, 64))),
    Step("peer_written", (own(EP), _ENDS, own(LMR), (8, 64), (0, SUPPRESS, UNSIGNALLED, FENCE))),
    Step("peer_read", (own(EP), _ENDS, own(LMR), (8, 64), (0, SUPPRESS, UNSIGNALLED, FENCE))),
    Step("peer_parts", (_ENDS,)),
)


def _told(evd: int, within: int = LONG) -> str:
    return f"evd_wait {named(EVD, evd)} {NULL} {within} 1"


def asked(end: int) -> list[str]:
    """The steps by which the peer asks for a connection, and an EP of the walk accepts."""
    request = named(CR, 0)
    return guarded(
        f"psp_query {named(PSP, 0)} {ALL}",
        f"peer_asks {_END} {named(PSP, 0)} 16",
        f"evd_wait {named(EVD, REQUESTS)} {request} {LONG} 1",
        f"cr_query {request} {ALL}",
        f"cr_accept {request} {named(EP, end)} 8",
        _told(CONNECTED),
        f"peer_settles {_END}",
    )


def asking(end: int) -> list[str]:
    """The steps by which an EP of the walk asks for a connection, and the peer accepts."""
    return guarded(
        "peer_listens",
        f"peer_connect {named(EP, end)} 16",
        f"peer_answers {_END} 1 8",
        _told(CONNECTED),
        f"peer_settles {_END}",
    )


def turned_down(end: int) -> list[str]:
    """The steps by which the peer rejects a request, and the EP is made usable again."""
    return guarded(
        "peer_listens",
        f"peer_connect {named(EP, end)} 16",
        f"peer_answers {_END} 0 0",
        _told(CONNECTED),
        f"ep_query {named(EP, end)} {ALL}",
        f"ep_reset {named(EP, end)}",
    )


def told(end: int, length: int, flags: int) -> list[str]:
    """The steps by which the peer sends a message to a connected EP, and gets one."""
    own_end = named(EP, end)
    return [
        f"ep_post_recv {own_end} {named(LMR, 0)} 0 64 0",
        f"srq_post_recv {named(SRQ, 0)} {named(LMR, 0)} 0 64",
        *guarded(
            f"ep_get_status {own_end}",
            f"peer_sends {_END} 1 {length} {flags}",
            _told(RECEIVED),
        ),
        *guarded(
            f"ep_get_status {own_end}",
            f"peer_receives {_END} 1 64",
            f"ep_post_send {own_end} {named(LMR, 0)} 64 64 {flags}",
            _told(REQUESTED),
        ),
    ]


def reached(end: int, what: str, flags: int) -> list[str]:
    """The steps by which an EP writes memory of the peer, or reads it."""
    return guarded(
        f"ep_get_status {named(EP, end)}",
        f"{what} {named(EP, end)} {_END} {named(LMR, 0)} 64 {flags}",
        _told(REQUESTED),
    )


def over(end: int, how: str) -> list[str]:
    """The steps by which a connection with the peer ends, with receives posted and a send behind
    it, and by which the EP is made usable again.
    """
    own_end = named(EP, end)
    return [
        f"ep_post_recv {own_end} {named(LMR, 0)} 0 64 0",
        f"ep_post_recv {own_end} {named(LMR, 0)} 64 64 {UNSIGNALLED}",
        *guarded(
            f"ep_get_status {own_end}",
            how,
            _told(CONNECTED),
            f"ep_query {own_end} {ALL}",
            f"ep_post_send {own_end} {named(LMR, 0)} 64 8 0",
            _told(REQUESTED, SOON),
            f"evd_wait {named(EVD, RECEIVED)} {NULL} {SOON} 1",
            f"ep_reset {own_end}",
            f"ep_query {own_end} {ALL}",
        ),
    ]


def withdrawn() -> list[str]:
    """The steps by which the peer ends its request before it is answered."""
    request = named(CR, 0)
    return guarded(
        f"psp_query {named(PSP, 0)} {ALL}",
        f"peer_asks {_END} {named(PSP, 0)} 16",
        f"evd_wait {named(EVD, REQUESTS)} {request} {LONG} 1",
        f"peer_parts {_END}",
        f"cr_query {request} {ALL}",
        f"cr_reject {request}",
    )


# With one of these, a walk that has a peer begins.
PEER_OPENINGS: Sequence[Sequence[str]] = (
    *(asked(end) for end in (0, 1, 2)),
    *(asking(end) for end in (0, 1, 2)),
)
# The chains of such a walk, each as often as it is to be drawn.
PEER_CHAINS: Sequence[Sequence[str]] = (
    *PEER_OPENINGS,
    *(turned_down(end) for end in (0, 2)),
    *(told(end, length, flags) for end in (0, 1, 2) for length in (8, 128) for flags in (0, 2)),
    *(
        reached(end, what, flags)
        for end in (0, 2)
        for what in ("peer_written", "peer_read")
        for flags in (0, UNSIGNALLED, FENCE)
    ),
    *(over(end, f"peer_parts {_END}") for end in (0, 1, 2)),
    *(over(end, f"ep_disconnect {named(EP, end)} {how}") for end in (0, 2) for how in (0, 1)),
    over(0, "peer_dies"),
    over(2, "peer_dies"),
    guarded(f"ep_get_status {named(EP, 0)}", f"peer_writes {_END} {named(LMR, 0)} 64"),
    withdrawn(),
)
