# SPDX-License-Identifier: BSD-2-Clause
"""What messages hold: what comes is what was sent, and the rest of a vector stays as it was.

A record has digests of what a post sends, and of what has come to a receive when its completion is
taken (docs/typed-values.md). A digest is held to one only if it is sure which receive, and which
message, the completion is of. Of an RDMA between two EPs of one process, the record has digests of
the remote buffer, too.
"""

from typing import Any

from oracle.common import declared
from oracle.kernel import tells
from oracle.posts import Message, TooLong
from oracle.state import Ep, Evd, Request, Rmr, Side
from oracle.trace import Call

TAKES = ("dat_evd_dequeue", "dat_evd_wait")


def _message(call: Call, of_srq: bool) -> Message | None:
    """The message of a completion, if the digest of the call is of its receive."""
    message = call.objects.get("message")
    if not isinstance(message, Message) or message.of_srq != of_srq:
        return None
    return message if call.memory.get("post") == message.receive.n else None


def _same(call: Call, of_srq: bool) -> bool | str | None:
    message = _message(call, of_srq)
    if message is None or message.digest is None or call.memory.get("length") != message.length:
        return None
    if call.memory.get("digest") == message.digest:
        return True
    return f"the memory does not hold the message of {message.length} bytes"


def _too_long(call: Call, of_srq: bool) -> bool | str | None:
    found: TooLong | None = call.objects.get("too_long")
    return found.why if found is not None and found.of_srq == of_srq else None


def _rest(call: Call, of_srq: bool) -> bool | str | None:
    kept, length = call.memory.get("kept"), call.memory.get("length")
    if _message(call, of_srq) is None or kept is None:
        return None
    changed = call.memory.get("changed")
    if changed is None:
        return True
    return f"byte {changed} of the vector is changed by a message of {length} bytes"


VECTORS = (
    "ep_post_recv",
    "ep_post_send",
    "ep_post_rdma_write",
    "ep_post_rdma_read",
    "srq_post_recv",
)


@tells(
    *(f"dat_{page}" for page in VECTORS),
    clauses=[f"{page}/vector_not_modified" for page in VECTORS],
    always=True,
)
def vector_not_modified(call: Call, obj: Any, side: Side) -> bool | str | None:
    """A call leaves the vector as it is, unless the provider declares that it may not."""
    if declared(obj, "iov_ownership_on_return", side) == "DAT_IOV_PROVIDER_MOD":
        return None
    return _left(call, "local_iov")


@tells(
    "dat_ep_post_rdma_write",
    "dat_ep_post_rdma_read",
    clauses=["ep_post_rdma_write/remote_not_modified", "ep_post_rdma_read/remote_not_modified"],
    rulings=["DTO-44"],
    always=True,
)
def remote_not_modified(call: Call, _ep: Ep, _side: Side) -> bool | str | None:
    return _left(call, "remote_iov")


@tells("dat_rmr_bind", clauses=["rmr_bind/triplet_kept"], rulings=["DTO-44"], always=True)
def triplet_kept(call: Call, _rmr: Rmr, _side: Side) -> bool | str | None:
    return _left(call, "lmr_triplet")


def _left(call: Call, name: str) -> bool | str | None:
    if call.overlaps or not call.typed:
        return None
    return f"changes {name}, which is the consumer's" if name in call.changed else True


@tells(*TAKES, clauses=["ep_post_recv/length", "ep_post_send/length"])
def message_of_ep(call: Call, _evd: Evd, _side: Side) -> bool | str | None:
    """What comes to a receive of an EP is the next message, byte by byte."""
    return _same(call, of_srq=False)


@tells(*TAKES, clauses=["srq_post_recv/in_order_of_sends", "srq_post_recv/shorter_fills_in_order"])
def message_of_srq(call: Call, _evd: Evd, _side: Side) -> bool | str | None:
    """What comes to a receive of an SRQ is the next message to the EP, byte by byte."""
    return _same(call, of_srq=True)


@tells(*TAKES, clauses=["ep_post_recv/longer"])
def longer_of_ep(call: Call, _evd: Evd, _side: Side) -> bool | str | None:
    """A receive that is too short for its message completes with that error."""
    return _too_long(call, of_srq=False)


@tells(*TAKES, clauses=["srq_post_recv/longer"])
def longer_of_srq(call: Call, _evd: Evd, _side: Side) -> bool | str | None:
    """A receive of the SRQ that is too short for its message completes with that error."""
    return _too_long(call, of_srq=True)


@tells(*TAKES, clauses=["ep_post_recv/shorter"])
def rest_of_ep(call: Call, _evd: Evd, _side: Side) -> bool | str | None:
    """Behind the message the vector is as it was posted."""
    return _rest(call, of_srq=False)


@tells(*TAKES, clauses=["srq_post_recv/shorter_leaves_rest"])
def rest_of_srq(call: Call, _evd: Evd, _side: Side) -> bool | str | None:
    """Behind the message the vector is as it was posted to the SRQ."""
    return _rest(call, of_srq=True)


def _moved(call: Call, kind: str) -> Request | None:
    """The RDMA of a completion, if it was surely within the process, and may move its bytes."""
    request = call.objects.get("moved")
    if not isinstance(request, Request) or request.kind != kind:
        return None
    reach = request.reach
    known = reach is not None and reach.may and reach.lasts
    return request if known and call.memory.get("post") == request.n else None


@tells(*TAKES, clauses=["ep_post_rdma_write/moves"])
def written(call: Call, _evd: Evd, side: Side) -> bool | str | None:
    """The remote buffer holds what was written, if a completion tells that it is there."""
    request = _moved(call, "write")
    if request is None or not declared(
        request.reach.owner, "end_to_end_completion_supported", side
    ):
        return None
    length, digest = request.memory.get("length"), request.memory.get("digest")
    if digest is None or call.memory.get("length") != length or "remote" not in call.memory:
        return None
    if call.memory["remote"] == digest:
        return True
    return f"the remote buffer does not hold the {length} bytes that were written"


@tells(*TAKES, clauses=["ep_post_rdma_read/moves"])
def brought(call: Call, _evd: Evd, _side: Side) -> bool | str | None:
    """The vector holds what the remote buffer held when it was posted, if it still does."""
    request = _moved(call, "read")
    digest, length = call.memory.get("digest"), call.memory.get("length")
    if request is None or digest is None or request.memory.get("length") != length:
        return None
    remote = request.memory.get("remote")
    if remote is None or call.memory.get("remote") != remote:
        return None
    if digest == remote:
        return True
    return f"the memory does not hold the {length} bytes of the remote buffer"


@tells(*TAKES, clauses=["ep_post_rdma_read/fills_in_order"])
def rest_of_read(call: Call, _evd: Evd, _side: Side) -> bool | str | None:
    """Behind what was read, the vector is as it was posted."""
    kept, length = call.memory.get("kept"), call.memory.get("length")
    if _moved(call, "read") is None or kept is None:
        return None
    changed = call.memory.get("changed")
    if changed is None:
        return True
    return f"byte {changed} of the vector is changed by a read of {length} bytes"
