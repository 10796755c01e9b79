# SPDX-License-Identifier: BSD-2-Clause
"""The steps of a walk, as the puppet reads them (docs/explore.md), and how Hypothesis draws them.

An object is named by its kind and a slot. A step is a line, or several where a walk would hardly
find them in their order, as those that make a connection.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

BY_KIND = 1000
PZ, LMR, RMR, EVD, CNO, SRQ, EP, PSP, CR, RSP = range(10)
NULL = -1

# What the provider's EVDs are for: by the slots that the first steps of a walk fill.
RECEIVED, REQUESTED, CONNECTED, REQUESTS = range(4)
SOFTWARE_FLAG, CR_FLAG, DTO_FLAG, CONNECTION_FLAG, RMR_BIND_FLAG = 0x1, 0x10, 0x20, 0x40, 0x80
SUPPRESS, SOLICITED, UNSIGNALLED, FENCE, THRESHOLD = 1, 2, 4, 8, 16
PRIVILEGES = 0x33

# How long a walk waits for an event, in milliseconds.
BRIEFLY, LONG = 20, 100
# The slots of a kind, by how often a step names them: a walk is deep where it stays with few.
_SLOTS = st.sampled_from((0, 0, 0, 0, 1, 1, 2, 3))


def named(kind: int, slot: int) -> int:
    """The number of an object."""
    return BY_KIND * kind + slot


class Step(NamedTuple):
    """A step of the puppet: its name, and what each argument is drawn from."""

    name: str
    args: tuple[SearchStrategy[int], ...]

    def lines(self) -> SearchStrategy[str]:
        """The step as a line of a program."""
        return st.tuples(*self.args).map(lambda args: " ".join([self.name, *map(str, args)]))


def _own(kind: int) -> SearchStrategy[int]:
    return _SLOTS.map(lambda slot: named(kind, slot))


def _handle(kind: int) -> SearchStrategy[int]:
    """Mostly an object of the kind; now and then one of another kind, or the null handle."""
    other = st.builds(named, st.integers(PZ, RSP), st.integers(0, 1)) | st.just(NULL)
    return st.integers(0, 15).flatmap(lambda chance: other if chance == 15 else _own(kind))


def _optional(kind: int) -> SearchStrategy[int]:
    return st.integers(0, 3).flatmap(lambda chance: st.just(NULL) if chance == 3 else _own(kind))


_COUNT = st.sampled_from((1, 2, 3, 4, 8, 16, 17, 64, 0, -1, 1 << 20))
_DEPTH = st.sampled_from((4, 8, 16, 1, 2, 64))
_MARK = st.sampled_from((0, 1, 2, 3, 4, 8, -1, 64))
_LENGTH = st.sampled_from((0, 1, 8, 64, 4096, 4097))
_OFFSET = st.sampled_from((0, 64, 4032))
_FLAGS = st.sampled_from((0, 0, SUPPRESS, SOLICITED, UNSIGNALLED, FENCE, FENCE | SUPPRESS, 0x100))
_RECV_FLAGS = st.sampled_from((0, 0, UNSIGNALLED, SUPPRESS))
_PRIVILEGES = st.sampled_from((PRIVILEGES, 0x11, 0x1, 0x0, 0x40))
_EVD_FLAGS = st.sampled_from(
    (DTO_FLAG, SOFTWARE_FLAG, CONNECTION_FLAG, CR_FLAG, RMR_BIND_FLAG, DTO_FLAG | RMR_BIND_FLAG)
)
_MS = st.sampled_from((0, 0, BRIEFLY))
_PRIVATE = st.sampled_from((0, 0, 1, 16, 64))
# A qualifier: mostly that of the first PSP.
_QUALIFIER = st.sampled_from((PSP, PSP, PSP, RSP)).flatmap(_own)

_ALL = (
    Step("pz_create", (_own(PZ),)),
    Step("pz_query", (_handle(PZ),)),
    Step("pz_free", (_handle(PZ),)),
    Step("lmr_create", (_own(LMR), _handle(PZ), _PRIVILEGES)),
    Step("lmr_query", (_handle(LMR),)),
    Step("lmr_sync_rdma_read", (_own(LMR), _OFFSET, _LENGTH)),
    Step("lmr_sync_rdma_write", (_own(LMR), _OFFSET, _LENGTH)),
    Step("lmr_free", (_handle(LMR),)),
    Step("rmr_create", (_own(RMR), _handle(PZ))),
    Step("rmr_bind", (_handle(RMR), _own(LMR), _OFFSET, _LENGTH, _PRIVILEGES, _handle(EP), _FLAGS)),
    Step("rmr_free", (_handle(RMR),)),
    Step("evd_create", (_own(EVD), _COUNT, _optional(CNO), _EVD_FLAGS)),
    Step("evd_query", (_handle(EVD),)),
    Step("evd_resize", (_handle(EVD), _COUNT)),
    Step("evd_modify_cno", (_handle(EVD), _optional(CNO))),
    Step("evd_enable", (_handle(EVD),)),
    Step("evd_disable", (_handle(EVD),)),
    Step("evd_set_unwaitable", (_handle(EVD),)),
    Step("evd_clear_unwaitable", (_handle(EVD),)),
    Step("evd_post_se", (_handle(EVD),)),
    Step("evd_dequeue", (_handle(EVD), _own(CR))),
    Step("evd_wait", (_handle(EVD), _own(CR), _MS, st.sampled_from((1, 1, 1, 2, 0, 3)))),
    Step("evd_free", (_handle(EVD),)),
    Step("cno_create", (_own(CNO),)),
    Step("cno_query", (_handle(CNO),)),
    Step("cno_wait", (_handle(CNO), _MS)),
    Step("cno_free", (_handle(CNO),)),
    Step("srq_create", (_own(SRQ), _handle(PZ), _COUNT, st.sampled_from((1, 2, 0)))),
    Step("srq_query", (_handle(SRQ),)),
    Step("srq_resize", (_handle(SRQ), _COUNT)),
    Step("srq_set_lw", (_handle(SRQ), _MARK)),
    Step("srq_post_recv", (_handle(SRQ), _own(LMR), _OFFSET, _LENGTH)),
    Step("srq_free", (_handle(SRQ),)),
    Step("ep_create", (_own(EP), _handle(PZ), *(_handle(EVD) for _ in range(3)), _DEPTH, _DEPTH)),
    Step(
        "ep_create_with_srq",
        (_own(EP), _handle(PZ), *(_handle(EVD) for _ in range(3)), _handle(SRQ), _DEPTH, _DEPTH),
    ),
    Step("ep_query", (_handle(EP),)),
    Step("ep_get_status", (_handle(EP),)),
    Step("ep_modify_pz", (_handle(EP), _handle(PZ))),
    Step("ep_modify_depths", (_handle(EP), _DEPTH, _DEPTH)),
    Step("ep_recv_query", (_handle(EP),)),
    Step("ep_set_watermark", (_handle(EP), _MARK, _MARK)),
    Step("ep_post_recv", (_handle(EP), _own(LMR), _OFFSET, _LENGTH, _RECV_FLAGS)),
    Step("ep_post_send", (_handle(EP), _own(LMR), _OFFSET, _LENGTH, _FLAGS)),
    Step("ep_post_rdma_write", (_handle(EP), _own(LMR), _own(LMR), _LENGTH, _FLAGS)),
    Step("ep_post_rdma_read", (_handle(EP), _own(LMR), _own(LMR), _LENGTH, _FLAGS)),
    Step("ep_connect", (_handle(EP), _QUALIFIER, _PRIVATE)),
    Step("ep_dup_connect", (_handle(EP), _handle(EP), _PRIVATE)),
    Step("ep_disconnect", (_handle(EP), st.integers(0, 1))),
    Step("ep_reset", (_handle(EP),)),
    Step("ep_free", (_handle(EP),)),
    Step("psp_create_any", (_own(PSP), _handle(EVD))),
    Step("psp_query", (_handle(PSP),)),
    Step("psp_free", (_handle(PSP),)),
    Step("cr_query", (_handle(CR),)),
    Step("rsp_create", (_own(RSP), _handle(EP), _handle(EVD))),
    Step("rsp_query", (_handle(RSP),)),
    Step("rsp_free", (_handle(RSP),)),
    Step("cr_accept", (_handle(CR), _optional(EP), _PRIVATE)),
    Step("cr_handoff", (_handle(CR), _QUALIFIER)),
    Step("cr_reject", (_handle(CR),)),
)
STEPS: Mapping[str, Step] = {step.name: step for step in _ALL}

# The objects of the calls, as a user names them on the command line.
OBJECTS = tuple(dict.fromkeys(step.name.partition("_")[0] for step in _ALL))


def beginning() -> list[str]:
    """The objects that each walk starts with."""
    evds = ((RECEIVED, DTO_FLAG), (REQUESTED, DTO_FLAG | RMR_BIND_FLAG))
    more = ((CONNECTED, CONNECTION_FLAG), (REQUESTS, CR_FLAG))
    ends = [
        f"ep_create {named(EP, slot)} {named(PZ, 0)} {named(EVD, RECEIVED)} "
        f"{named(EVD, REQUESTED)} {named(EVD, CONNECTED)} 8 8"
        for slot in (0, 1)
    ]
    return [
        f"pz_create {named(PZ, 0)}",
        f"lmr_create {named(LMR, 0)} {named(PZ, 0)} {PRIVILEGES}",
        f"cno_create {named(CNO, 0)}",
        *(f"evd_create {named(EVD, slot)} 64 {NULL} {flags}" for slot, flags in (*evds, *more)),
        f"srq_create {named(SRQ, 0)} {named(PZ, 0)} 8 1",
        *ends,
        f"ep_create_with_srq {named(EP, 2)} {named(PZ, 0)} {named(EVD, RECEIVED)} "
        f"{named(EVD, REQUESTED)} {named(EVD, CONNECTED)} {named(SRQ, 0)} 8 8",
        f"psp_create_any {named(PSP, 0)} {named(EVD, REQUESTS)}",
    ]


def connection(active: int, passive: int) -> list[str]:
    """The steps that connect two EPs of the walk, as far as both may be connected now."""
    request, told = named(CR, 0), named(EVD, CONNECTED)
    return [
        f"ep_connect {named(EP, active)} {named(PSP, 0)} 16",
        f"evd_wait {named(EVD, REQUESTS)} {request} {LONG} 1",
        f"cr_query {request}",
        f"cr_accept {request} {named(EP, passive)} 8",
        f"evd_wait {told} {NULL} {LONG} 1",
        f"evd_wait {told} {NULL} {LONG} 1",
    ]


def reserved(active: int, passive: int) -> list[str]:
    """The steps that connect two EPs by an RSP, as far as both may be connected now."""
    request, told = named(CR, 0), named(EVD, CONNECTED)
    return [
        f"rsp_create {named(RSP, 0)} {named(EP, passive)} {named(EVD, REQUESTS)}",
        f"ep_connect {named(EP, active)} {named(RSP, 0)} 8",
        f"evd_wait {named(EVD, REQUESTS)} {request} {LONG} 1",
        f"cr_accept {request} {NULL} 0",
        f"evd_wait {told} {NULL} {LONG} 1",
        f"evd_wait {told} {NULL} {LONG} 1",
    ]


def again() -> list[str]:
    """The steps that connect two EPs, then a third one as the first, whose request is handed over
    before a fourth one accepts it.
    """
    request, told = named(CR, 0), named(EVD, CONNECTED)
    return [
        *connection(0, 1),
        f"ep_create {named(EP, 3)} {named(PZ, 0)} {named(EVD, RECEIVED)} "
        f"{named(EVD, REQUESTED)} {told} 8 8",
        f"ep_dup_connect {named(EP, 2)} {named(EP, 0)} 8",
        f"evd_wait {named(EVD, REQUESTS)} {request} {LONG} 1",
        f"cr_handoff {request} {named(PSP, 0)}",
        f"evd_wait {named(EVD, REQUESTS)} {request} {LONG} 1",
        f"cr_accept {request} {named(EP, 3)} 0",
        f"evd_wait {told} {NULL} {LONG} 1",
        f"evd_wait {told} {NULL} {LONG} 1",
    ]


def message(sender: int, receiver: int) -> list[str]:
    """The steps by which a message goes from one EP to another, if they are connected."""
    return [
        f"ep_post_recv {named(EP, receiver)} {named(LMR, 0)} 0 64 0",
        f"ep_post_send {named(EP, sender)} {named(LMR, 0)} 64 64 0",
        f"evd_wait {named(EVD, RECEIVED)} {NULL} {BRIEFLY} 1",
        f"evd_wait {named(EVD, REQUESTED)} {NULL} {BRIEFLY} 1",
    ]


_END = st.integers(0, 2)
_CHAINS = (
    st.builds(connection, _END, _END)
    | st.builds(message, _END, _END)
    | st.builds(reserved, _END, _END)
    | st.builds(again)
)


def programs(objects: Sequence[str], most: int) -> SearchStrategy[list[str]]:
    """Programs of up to `most` steps behind the first ones, of the calls of these objects.

    Each program goes without some of the steps, so that what others undo can pile up (swarm).
    """
    names = [name for name in STEPS if name.partition("_")[0] in objects]
    left_out = st.sets(st.sampled_from(names), max_size=len(names) // 2)
    chains = "ep" in objects
    return left_out.flatmap(lambda out: _of([n for n in names if n not in out], chains, most))


def _of(names: Sequence[str], chains: bool, most: int) -> SearchStrategy[list[str]]:
    one = st.sampled_from(names).flatmap(lambda name: STEPS[name].lines()).map(lambda line: [line])
    part = st.integers(0, 7).flatmap(lambda chance: _CHAINS if chains and chance == 7 else one)
    return st.lists(part, min_size=most // 2, max_size=most).map(
        lambda parts: [*beginning(), *(line for part in parts for line in part)]
    )
