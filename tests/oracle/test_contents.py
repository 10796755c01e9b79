# SPDX-License-Identifier: BSD-2-Clause
"""What a message leaves: its bytes, its completion, its receive, and the counts of the others."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from oracle import judge
from tests.oracle.typed_calls import (
    DECLARED,
    Calls,
    ask,
    began,
    connect,
    handle,
    listen,
    took,
    vector,
)

END_TO_END = {
    **DECLARED,
    "end_to_end_completion_supported": True,
    "max_lmr_block_size": 1 << 28,
    "srq_supported": True,
    "srq_watermarks_supported": True,
    "srq_info_available_supported": True,
    "srq_info_outstanding_supported": True,
    "ep_recv_info_supported": True,
    "ep_watermarks_supported": True,
}
FLAGS = "DAT_COMPLETION_DEFAULT_FLAG"


class Story(Calls):
    """A case that receives, by an EP of its own queue or of an SRQ, and a peer that sends."""

    def __init__(self, of_srq: bool, room: int = 64, receives: int = 2) -> None:
        super().__init__()
        self.of_srq = of_srq
        began(self, "case", of_srq)
        began(self, "peer")
        listen(self)
        self.posts = [self.post(cookie, room) for cookie in range(receives)]
        connect(self)
        self.wait(1000)

    def post(self, cookie: int, room: int = 64) -> int:
        """Post a receive, and return the number of the call."""
        posted = {"num_segments": 1, "local_iov": vector(room, room * cookie)}
        posted |= {"user_cookie": cookie}
        if self.of_srq:
            told = self.add("case", "dat_srq_post_recv", {"srq_handle": handle("srq#1"), **posted})
        else:
            posted |= {"ep_handle": handle("ep#1"), "completion_flags": FLAGS}
            told = self.add("case", "dat_ep_post_recv", posted)
        number: int = told["n"]
        return number

    def send(self, length: int = 64, digest: str = "11", reaped: str = "SUCCESS") -> None:
        """The peer sends, and reaps the completion of its send."""
        post = {
            "ep_handle": handle("ep#1"),
            "num_segments": 1,
            "local_iov": vector(length),
            "user_cookie": 9,
            "completion_flags": FLAGS,
        }
        self.add("peer", "dat_ep_post_send", post, memory={"length": length, "digest": digest})
        self.dto("peer", 9, length, reaped, evd="evd#2")

    def dto(self, who: str, cookie: int, length: int, status: str = "SUCCESS", **how: Any) -> None:
        """A completion is taken."""
        done = {
            "ep_handle": handle("ep#1"),
            "user_cookie": cookie,
            "status": f"DAT_DTO_{status}",
            "transfered_length": length,
        }
        took(self, who, "DAT_DTO_COMPLETION_EVENT", done, **how)

    def empty(self) -> None:
        """The EVD has no event."""
        self.add("case", "dat_evd_dequeue", {"evd_handle": handle("evd#1")}, ret="DAT_QUEUE_EMPTY")

    def tell_counts(self, held: int, span: int | None = None) -> None:
        """The EP is asked for its receives."""
        told = {"nbufs_allocated": held, "bufs_alloc_span": held if span is None else span}
        self.add("case", "dat_ep_recv_query", {"ep_handle": handle("ep#1")}, told)

    def mark(self, soft: int, hard: int) -> None:
        """The EP gets high watermarks."""
        marks = {"soft_high_watermark": soft, "hard_high_watermark": hard}
        self.add("case", "dat_ep_set_watermark", {"ep_handle": handle("ep#1"), **marks})

    def async_event(self, about: str | None) -> None:
        """There is an asynchronous event about an object, or none."""
        asks = {"evd_handle": handle("async_evd")}
        if about is None:
            self.add("case", "dat_evd_dequeue", asks, ret="DAT_QUEUE_EMPTY")
            return
        event = {
            "event_number": "DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR",
            "evd_handle": handle("async_evd"),
            "event_data": {"dat_handle": handle(about), "reason": 0},
        }
        self.add("case", "dat_evd_dequeue", asks, {"event": event})

    def available(self, count: int, outstanding: int) -> None:
        """The SRQ is asked for its receives."""
        asks = {"srq_handle": handle("srq#1"), "srq_param_mask": "DAT_SRQ_FIELD_ALL"}
        told = {
            "ia_handle": handle("ia"),
            "srq_state": "DAT_SRQ_STATE_OPERATIONAL",
            "pz_handle": handle("pz#1"),
            "max_recv_dtos": 8,
            "max_recv_iov": 1,
            "low_watermark": 0,
            "available_dto_count": count,
            "outstanding_dto_count": outstanding,
        }
        self.add("case", "dat_srq_query", asks, {"srq_param": told})

    def ended(self) -> None:
        """The case ends the connection, and takes the event."""
        asks = {"ep_handle": handle("ep#1"), "close_flags": "DAT_CLOSE_ABRUPT_FLAG"}
        self.add("case", "dat_ep_disconnect", asks)
        data = {"ep_handle": handle("ep#1"), "private_data_size": 0, "private_data": None}
        took(self, "case", "DAT_CONNECTION_EVENT_DISCONNECTED", data)


def arrives(of_srq: bool, **memory: Any) -> Story:
    """A message of 48 bytes comes to the first receive, with this memory."""
    story = Story(of_srq)
    story.send(48)
    story.wait(100)
    told = {"post": story.posts[0], "length": 48, "digest": "11", "kept": 64, **memory}
    story.dto("case", 0, 48, memory=told)
    return story


def too_long(of_srq: bool, status: str) -> Story:
    """A message is too long for its receive."""
    story = Story(of_srq, room=16, receives=1)
    story.send(48, reaped="ERR_REMOTE_RESPONDER")
    story.wait(100)
    story.dto("case", 0, 0, status)
    return story


def too_long_twice(status: str) -> Story:
    """Two messages are too long for their receives, and the first one ends the connection."""
    story = Story(False, room=16, receives=2)
    story.send(48, reaped="ERR_REMOTE_RESPONDER")
    story.send(48, reaped="ERR_FLUSHED")
    story.wait(100)
    story.dto("case", 0, 0, status)
    if status != "ERR_FLUSHED":
        story.dto("case", 1, 0, "ERR_FLUSHED")
    return story


def missing(of_srq: bool, after_ms: int) -> Story:
    """A message was sent, and is not there."""
    story = Story(of_srq)
    story.send()
    story.wait(after_ms)
    story.empty()
    return story


def flushed(of_srq: bool, sent: bool) -> Story:
    """The connection ends, and a receive is flushed, though its message may have been received."""
    story = Story(of_srq, receives=1)
    if sent:
        story.send()
    story.wait(100)
    story.ended()
    story.dto("case", 0, 0, "ERR_FLUSHED")
    return story


def queried(held: int) -> Story:
    """Of two receives of an EP's own, one has its message on the EVD."""
    story = Story(of_srq=False)
    story.send()
    story.wait(100)
    story.tell_counts(held, held)
    return story


def shared(available: int, held: int) -> Story:
    """Of three receives of an SRQ, one has its message on the EVD."""
    story = Story(of_srq=True, receives=3)
    story.send()
    story.wait(100)
    story.available(available, 3)
    story.tell_counts(held)
    return story


def held_none(flushes: bool) -> Story:
    """An EP that holds no receive of its SRQ is disconnected."""
    story = Story(of_srq=True)
    story.tell_counts(0)
    story.ended()
    story.wait(200)
    if flushes:
        story.dto("case", 0, 0, "ERR_FLUSHED")
    story.empty()
    return story


def counted_after_end(available: int) -> Story:
    """An EP of an SRQ has ended, and flushed nothing."""
    story = held_none(flushes=False)
    story.available(available, 2)
    return story


def unaccepted(available: int) -> Story:
    """An EP of an SRQ asks for a connection that no end has accepted."""
    story = Story.__new__(Story)
    Calls.__init__(story)
    story.of_srq = True
    began(story, "case", of_srq=True)
    began(story, "peer")
    listen(story)
    story.post(0)
    ask(story)
    story.available(available, 1)
    return story


def watermark(told: bool) -> Story:
    """A low watermark of as many receives as are available raises nothing."""
    story = Story(of_srq=True)
    story.available(2, 2)
    story.add("case", "dat_srq_set_lw", {"srq_handle": handle("srq#1"), "low_watermark": 2})
    story.async_event("srq#1" if told else None)
    return story


def exceeded(soft: int, hard: int, after_ms: int) -> Story:
    """A message has exceeded a high watermark of 0, and there is no event of it."""
    story = Story(of_srq=True)
    story.mark(soft, hard)
    story.send()
    story.wait(after_ms)
    if soft == 0:
        story.async_event(None)
    else:
        story.empty()
    return story


def early(ahead: int) -> Story:
    """The event of a high watermark of 1 is there, with one message, and receives taken ahead."""
    story = Story(of_srq=True, receives=4)
    story.tell_counts(ahead)
    story.mark(1, -1)
    story.send()
    story.wait(100)
    story.async_event("ep#1")
    return story


def broken(ahead: int) -> Story:
    """The connection of an EP with a hard mark of 1 has broken, with one message."""
    story = Story(of_srq=True, receives=4)
    story.tell_counts(ahead)
    story.mark(-1, 1)
    story.send()
    story.wait(100)
    story.dto("case", 0, 64)
    data = {"ep_handle": handle("ep#1"), "private_data_size": 0, "private_data": None}
    took(story, "case", "DAT_CONNECTION_EVENT_BROKEN", data)
    return story


def synchronized(ret: str, size: int = 4096, context: int = 7, begin: int = 4096) -> Story:
    """A range is synchronized, of an LMR of 4096 bytes that has this context and size."""
    story = Story(of_srq=False)
    created = next(call for call in story.list if call["call"] == "dat_lmr_create")
    created["out"]["registered_length"] = size
    name = {"lmr": "lmr#1"} if context == 7 else {}
    segment = {
        "lmr_context": {"context": context, **name},
        "virtual_address": {"va": begin},
        "segment_length": 64,
    }
    asks = {"ia_handle": handle("ia"), "local_segments": [segment], "num_segments": 1}
    story.add("case", "dat_lmr_sync_rdma_read", asks, ret=f"DAT_{ret}")
    return story


def sleeper(of_srq: bool, sent: bool) -> Story:
    """A thread waits without end, and its EVD is made unwaitable two seconds later."""
    story = Story(of_srq)
    asks = {"evd_handle": handle("evd#1"), "timeout": 4294967295, "threshold": 1}
    wait = story.add("case", "dat_evd_wait", asks, ret="DAT_INVALID_STATE", thread=2)
    if sent:
        story.send()
    story.wait(2000)
    story.add("case", "dat_evd_set_unwaitable", {"evd_handle": handle("evd#1")})
    wait["ns"][1] = story.now
    wait["us"] = (wait["ns"][1] - wait["ns"][0]) // 1000
    return story


def sleeper_on_cno(wakes: bool, timeout: int = 4294967295, posts: bool = True) -> Story:
    """A thread sleeps on a CNO, an event comes, and two seconds later the case clears up."""
    story = Story(of_srq=False)
    none = {"instance_data": None, "proxy_agent_func": None}
    told = {"cno_handle": handle("cno#1")}
    story.add("case", "dat_cno_create", {"ia_handle": handle("ia"), "agent": none}, told)
    makes = {"evd_min_qlen": 8, "evd_flags": "DAT_EVD_SOFTWARE_FLAG", **told}
    evd = {"evd_handle": handle("evd#3")}
    story.add("case", "dat_evd_create", {"ia_handle": handle("ia"), **makes}, evd)
    asks = {"timeout": timeout, **told}
    wait = story.add("case", "dat_cno_wait", asks, evd if wakes else None, thread=2)
    data = {"event_data": {"pointer": None}}
    event = {"event_number": "DAT_SOFTWARE_EVENT", "evd_handle": None, **data}
    if posts:
        story.add("case", "dat_evd_post_se", {"event": event, **evd})
    wait["ns"][1] = story.now
    story.wait(2000)
    story.add("case", "dat_evd_free", evd, teardown=True)
    if not wakes:
        wait["ret"] = "DAT_QUEUE_EMPTY"
        wait["ns"][1] = story.now
    wait["us"] = (wait["ns"][1] - wait["ns"][0]) // 1000
    return story


def made_again(beside: bool) -> Story:
    """A handle is used that was freed: beside the free another thread was making a PZ, or none."""
    story = Story(of_srq=False)
    asks, pz = {"ia_handle": handle("ia")}, {"pz_handle": handle("pz#7")}
    story.add("case", "dat_pz_create", asks, pz)
    made = story.add("case", "dat_pz_create", asks, pz) if beside else None
    freed = story.add("case", "dat_pz_free", pz, thread=2)
    if made:
        made["ns"][1] = freed["ns"][1]
    srq = {"srq_attr": {"max_recv_dtos": 8, "max_recv_iov": 1, "low_watermark": 0}}
    uses = {**asks, "pz_handle": {"handle": "pz#7", "freed": True}, **srq}
    story.add("case", "dat_srq_create", uses, {"srq_handle": handle("srq#7")})
    return story


def vectors(call: str, changed: list[str]) -> Story:
    """The peer posts something whose arguments may be changed."""
    story = Story(of_srq=False)
    post = {
        "ep_handle": handle("ep#1"),
        "num_segments": 1,
        "local_iov": vector(64),
        "user_cookie": 1,
        "remote_iov": {"rmr_context": {"context": 1}, "target_address": 1, "segment_length": 64},
        "completion_flags": FLAGS,
    }
    others: dict[str, Any] = {"changed": changed} if changed else {}
    story.add("peer", call, post, **others)
    return story


def received(changed: list[str]) -> Story:
    """A receive is posted to an SRQ, whose vector may be changed."""
    story = Story(of_srq=True)
    posted = {"num_segments": 1, "local_iov": vector(64), "user_cookie": 9}
    others: dict[str, Any] = {"changed": changed} if changed else {}
    story.add("case", "dat_srq_post_recv", {"srq_handle": handle("srq#1"), **posted}, **others)
    return story


def told_behind(available: int) -> Story:
    """Of three receives of an SRQ one has its message, and an EP has told that it holds one."""
    story = Story(of_srq=True, receives=3)
    story.send()
    story.wait(100)
    story.tell_counts(1)
    story.available(available, 3)
    return story


def bound(changed: list[str]) -> Story:
    """The peer binds an RMR, whose triplet may be changed."""
    story = Story(of_srq=False)
    made = {"rmr_handle": handle("rmr#1")}
    story.add("peer", "dat_rmr_create", {"pz_handle": handle("pz#1")}, made)
    (triplet,) = vector(64)
    bind = {
        "rmr_handle": handle("rmr#1"),
        "lmr_triplet": triplet,
        "mem_priv": "DAT_MEM_PRIV_REMOTE_READ_FLAG",
        "ep_handle": handle("ep#1"),
        "user_cookie": 1,
        "completion_flags": FLAGS,
    }
    others: dict[str, Any] = {"changed": changed} if changed else {}
    story.add("peer", "dat_rmr_bind", bind, {"context": {"context": 2}}, **others)
    return story


def local_only(created: int, queried: int) -> Story:
    """An LMR without remote privileges, and the remote contexts that the calls tell."""
    story = Story(of_srq=False)
    asked = next(call for call in story.list if call["call"] == "dat_lmr_create")
    args = {**asked["args"], "privileges": "DAT_MEM_PRIV_LOCAL_READ_FLAG"}
    lmr = {"lmr_handle": handle("lmr#9"), "rmr_context": {"context": created}}
    story.add("case", "dat_lmr_create", args, {**asked["out"], **lmr})
    asks = {"lmr_handle": handle("lmr#9"), "lmr_param_mask": "DAT_LMR_FIELD_RMR_CONTEXT"}
    told = {"lmr_param": {"rmr_context": {"context": queried}}}
    story.add("case", "dat_lmr_query", asks, told)
    return story


POSTS = ("ep_post_recv", "ep_post_send", "ep_post_rdma_write", "ep_post_rdma_read")
# What is accepted, what is refused, and by which clause.
Pair = tuple[Callable[[], Story], Callable[[], Story], str]
PAIRS: dict[str, Pair] = {
    "message of an EP": (
        lambda: arrives(False),
        lambda: arrives(False, digest="12"),
        "ep_post_recv/length",
    ),
    "remote context of an LMR that allows no remote access": (
        lambda: local_only(0, 0),
        lambda: local_only(7, 0),
        "lmr_create/no_remote_context",
    ),
    "remote context of an LMR that allows no remote access, queried": (
        lambda: local_only(0, 0),
        lambda: local_only(0, 7),
        "lmr_query/field",
    ),
    "message of an SRQ": (
        lambda: arrives(True),
        lambda: arrives(True, digest="12"),
        "srq_post_recv/in_order_of_sends",
    ),
    "rest of an EP": (
        lambda: arrives(False),
        lambda: arrives(False, changed=48),
        "ep_post_recv/shorter",
    ),
    "rest of an SRQ": (
        lambda: arrives(True),
        lambda: arrives(True, changed=48),
        "srq_post_recv/shorter_leaves_rest",
    ),
    "too long for an EP": (
        lambda: too_long(False, "ERR_LOCAL_LENGTH"),
        lambda: too_long(False, "ERR_FLUSHED"),
        "ep_post_recv/longer",
    ),
    "too long for an EP, twice": (
        lambda: too_long_twice("ERR_LOCAL_LENGTH"),
        lambda: too_long_twice("ERR_FLUSHED"),
        "ep_post_recv/longer",
    ),
    "too long for an SRQ": (
        lambda: too_long(True, "ERR_LOCAL_LENGTH"),
        lambda: too_long(True, "ERR_FLUSHED"),
        "srq_post_recv/longer",
    ),
    "due to an EP": (
        lambda: missing(False, 5),
        lambda: missing(False, 600),
        "ep_post_recv/in_order",
    ),
    "due to an SRQ": (
        lambda: missing(True, 5),
        lambda: missing(True, 600),
        "srq_post_recv/any_ep",
    ),
    "flushed, but received": (
        lambda: flushed(False, sent=False),
        lambda: flushed(False, sent=True),
        "evd_dequeue/event",
    ),
    "counts of an EP": (lambda: queried(1), lambda: queried(2), "ep_recv_query/posted"),
    "counts too high": (lambda: shared(1, 1), lambda: shared(2, 1), "ep_recv_query/posted"),
    "counts of an SRQ": (
        lambda: told_behind(1),
        lambda: told_behind(2),
        "srq_query/available_to_several_eps",
    ),
    "counts too low": (lambda: shared(2, 0), lambda: shared(1, 0), "ep_recv_query/posted"),
    "flushed, but not held": (
        lambda: held_none(False),
        lambda: held_none(True),
        "evd_dequeue/event",
    ),
    "available after an end": (
        lambda: counted_after_end(2),
        lambda: counted_after_end(1),
        "srq_query/field",
    ),
    "available to no one": (lambda: unaccepted(1), lambda: unaccepted(0), "srq_query/field"),
    "watermark": (lambda: watermark(False), lambda: watermark(True), "srq_set_lw/no_event_at_mark"),
    "due to a soft mark": (
        lambda: exceeded(0, -1, 5),
        lambda: exceeded(0, -1, 600),
        "ep_set_watermark/soft_exceeded",
    ),
    "due to a hard mark": (
        lambda: exceeded(-1, 0, 5),
        lambda: exceeded(-1, 0, 600),
        "ep_set_watermark/hard_exceeded",
    ),
    "a high mark": (lambda: early(1), lambda: early(0), "ep_set_watermark/soft_kept"),
    "a hard mark": (lambda: broken(1), lambda: broken(0), "ep_set_watermark/hard_kept"),
    "a range of no LMR": (
        lambda: synchronized("INVALID_PARAMETER", context=9),
        lambda: synchronized("SUCCESS", context=9),
        "lmr_sync_rdma_read/refused",
    ),
    "a range before its LMR": (
        lambda: synchronized("INVALID_PARAMETER", begin=4095),
        lambda: synchronized("SUCCESS", begin=4095),
        "lmr_sync_rdma_read/refused",
    ),
    "a range behind its LMR": (
        lambda: synchronized("SUCCESS", size=8192, begin=8192),
        lambda: synchronized("SUCCESS", begin=8192),
        "lmr_sync_rdma_read/refused",
    ),
    "a handle that is made again": (
        lambda: made_again(beside=True),
        lambda: made_again(beside=False),
        "srq_create/invalid_pz_handle",
    ),
    "a waiter of a CNO": (
        lambda: sleeper_on_cno(wakes=True),
        lambda: sleeper_on_cno(wakes=False),
        "cno_wait/wakes",
    ),
    "a waiter whose time is over": (
        lambda: sleeper_on_cno(wakes=True, timeout=1000000),
        lambda: sleeper_on_cno(wakes=False, timeout=1000000, posts=False),
        "cno_wait/time_out",
    ),
    "a waiter of an EP": (
        lambda: sleeper(False, sent=False),
        lambda: sleeper(False, sent=True),
        "ep_post_recv/in_order",
    ),
    "a waiter of an SRQ": (
        lambda: sleeper(True, sent=False),
        lambda: sleeper(True, sent=True),
        "srq_post_recv/any_ep",
    ),
    **{
        f"{what} of {page}": (
            partial(vectors, f"dat_{page}", []),
            partial(vectors, f"dat_{page}", [argument]),
            f"{page}/{clause}",
        )
        for what, argument, clause, pages in (
            ("vector", "local_iov", "vector_not_modified", POSTS),
            ("remote buffer", "remote_iov", "remote_not_modified", POSTS[2:]),
        )
        for page in pages
    },
    "vector of an SRQ": (
        lambda: received([]),
        lambda: received(["local_iov"]),
        "srq_post_recv/vector_not_modified",
    ),
    "triplet": (lambda: bound([]), lambda: bound(["lmr_triplet"]), "rmr_bind/triplet_kept"),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pair(name: str) -> None:
    """One trace is accepted; the other breaks the clause, and no other one."""
    accepted, refused, clause = PAIRS[name]
    judgement = judge(accepted().record, END_TO_END)
    assert [str(deviation) for deviation in judgement.deviations] == []
    assert not judgement.damage
    judgement = judge(refused().record, END_TO_END)
    assert [deviation.clause for deviation in judgement.deviations] == [clause]


@pytest.mark.parametrize("name", ["counts of an EP", "flushed, but received", "counts too high"])
def test_completions_that_come_from_the_own_end_tell_nothing(name: str) -> None:
    """On iWARP a send succeeds before its message is there."""
    _, refused, _ = PAIRS[name]
    assert not judge(
        refused().record, {**END_TO_END, "end_to_end_completion_supported": False}
    ).deviations


def test_a_provider_may_declare_that_it_modifies_vectors() -> None:
    """DAT_IOV_PROVIDER_MOD permits it."""
    declared = {**END_TO_END, "iov_ownership_on_return": "DAT_IOV_PROVIDER_MOD"}
    assert not judge(vectors("dat_ep_post_send", ["local_iov"]).record, declared).deviations
