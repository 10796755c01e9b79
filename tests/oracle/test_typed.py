# SPDX-License-Identifier: BSD-2-Clause
"""Records of typed values: read as older ones are, and with contents of messages besides."""

from typing import Any

import pytest

from oracle import judge
from oracle.trace import read
from oracle.typed import value
from tests.oracle.typed_calls import (
    ADDRESS,
    DECLARED,
    Calls,
    began,
    connect,
    handle,
    listen,
    took,
    vector,
)


@pytest.mark.parametrize(
    ("name", "typed", "plain"),
    [
        ("ep_handle", None, "DAT_HANDLE_NULL"),
        ("private_data", None, "NULL"),
        ("ep_handle", {"handle": "ep#1", "freed": True}, "ep#1"),
        ("ep_handle", {"handle": 4096}, "0x1000"),
        ("lmr_context", {"context": 17, "lmr": "lmr#1"}, "lmr#1"),
        ("lmr_context", {"context": 17}, "0x11"),
        ("virtual_address", {"va": 4096, "lmr": "lmr#1", "offset": 64}, "lmr#1+64"),
        ("virtual_address", {"va": 4096}, "0x1000"),
        ("ia_name", {"text": "ref0"}, "ref0"),
        ("event", {"pointer": 255}, "0xff"),
        ("remote_ia_address", {"family": "AF_INET", "address": "10.0.0.1", "port": 0}, "10.0.0.1"),
        ("timeout", 4294967295, "DAT_TIMEOUT_INFINITE"),
        ("nbufs_allocated", -2, "DAT_VALUE_UNKNOWN"),
        ("user_cookie", 4294967295, 4294967295),
        ("recv_idle", True, "DAT_TRUE"),
        ("srq_param_mask", 16777216, "0x1000000"),
        ("event_data", {"pointer": None}, {"pointer": "NULL"}),
        ("event_data", {"pointer": {"pointer": 255}}, {"pointer": "0xff"}),
        ("attr", {"mark": 0, "pz_handle": None}, {"mark": 0, "pz_handle": "DAT_HANDLE_NULL"}),
        ("iov", [{"segment_length": 1}], [{"segment_length": 1}]),
    ],
)  # fmt: skip
def test_values(name: str, typed: Any, plain: Any) -> None:
    """Each kind of value has one form for the rules."""
    assert value(name, typed) == plain


def test_no_value() -> None:
    """A value that is none makes the record damaged, and ends nothing."""
    call = {"n": 1, "who": "case", "call": "dat_pz_free", "args": {"pz_handle": 1.5}, "at_us": 1}
    assert judge({"calls": [call]}, {}).damage.startswith("call 1 of the record is not a call")


def test_values_beside_texts() -> None:
    """The data of a call count, not its texts; only a null pointer is known by the text."""
    call = {
        "n": 1,
        "who": "case",
        "call": "dat_psp_create_any",
        "args": [["ia_handle", "gone"], ["psp_handle", "NULL"]],
        "typed": {"args": {"ia_handle": {"handle": "ia"}, "psp_handle": None}, "out": {"x": 1}},
        "out": [["x", "2"]],
        "ret": "DAT_SUCCESS",
        "at_us": 1,
    }
    (process,) = read({"calls": [call]}, {}).processes
    (only,) = process.calls
    assert only.typed
    assert (only.arg("ia_handle"), only.arg("psp_handle"), only.field("x")) == ("ia", "NULL", 1)


@pytest.mark.parametrize("typed", [None, [], {"args": []}, {"args": {"x": 1.5}}, {}])
def test_damaged_data(typed: Any) -> None:
    """Damaged data beside whole texts make the record damaged."""
    call = {"n": 1, "who": "case", "call": "x", "args": [], "typed": typed, "at_us": 1}
    assert judge({"calls": [call]}, {}).damage.startswith("call 1 of the record is not a call")


GIVEN = {"length": 2, "digest": "00", "hex": "a1b2"}


def story(
    *,
    told: Any = GIVEN,
    digest: str = "11",
    length: int = 64,
    sent: int = 64,
    rest: Any = None,
    received: int = 7,
    changed: Any = None,
    address: Any = ADDRESS,
) -> dict[str, Any]:
    """The case asks, the peer accepts with private data and sends a message of 64 bytes."""
    calls = Calls()
    began(calls, "case")
    began(calls, "peer")
    post = {
        "ep_handle": handle("ep#1"),
        "num_segments": 1,
        "local_iov": vector(64),
        "user_cookie": 5,
        "completion_flags": "DAT_COMPLETION_DEFAULT_FLAG",
    }
    listen(calls)
    calls.add("case", "dat_ep_post_recv", post)
    connect(calls, private=GIVEN, told=told, address=address)
    others = {"changed": changed} if changed else {}
    calls.add("peer", "dat_ep_post_send", post, memory={"length": sent, "digest": "11"}, **others)
    done = {
        "ep_handle": handle("ep#1"),
        "user_cookie": 5,
        "status": "DAT_DTO_SUCCESS",
        "transfered_length": length,
    }
    memory = {"post": received, "length": length, "digest": digest, **(rest or {})}
    took(calls, "case", "DAT_DTO_COMPLETION_EVENT", done, memory)
    return calls.record


@pytest.mark.parametrize(
    "unsure",
    [
        {"received": 5, "digest": "12", "rest": {"kept": 64, "changed": 64}},
        {"rest": {"kept": 64}},
    ],
)
def test_contents_of_another_receive(unsure: dict[str, Any]) -> None:
    """A digest of memory that may be another receive's is held to nothing."""
    assert not judge(story(**unsure), DECLARED).deviations


def test_story() -> None:
    """Both ends tell the same story."""
    judgement = judge(story(), DECLARED)
    assert not judgement.deviations
    assert judgement.verdict == "agrees"


def test_a_request_without_an_address() -> None:
    """No page says what the event of a request tells of the IA's address."""
    assert not judge(story(address=None), DECLARED).deviations


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"told": None}, "although 2 bytes were given"),
        ({"told": {**GIVEN, "hex": "a1b3"}}, "is not what was given"),
        ({"digest": "12"}, "does not hold the message of 64 bytes"),
        ({"rest": {"kept": 64, "changed": 64}}, "byte 64 of the vector is changed by a message"),
        ({"changed": ["local_iov"]}, "changes local_iov, which is the consumer's"),
        ({"length": 63}, "the length is 63, and the message has 64 bytes"),
    ],
)
def test_other_story(changed: dict[str, Any], why: str) -> None:
    """What one end tells and the other did not do is a deviation."""
    deviations = judge(story(**changed), DECLARED).deviations
    assert len(deviations) == 1
    assert why in deviations[0].why


def freed_after_bind(context: int) -> Any:
    """An EP binds an RMR to a context that is recorded as that of another IA's LMR; the LMR of its
    own IA, whose context is 7, is then not freed.
    """
    calls = Calls()
    began(calls, "case")
    began(calls, "case", ia=2)
    connect(calls)
    calls.add(
        "case", "dat_rmr_create", {"pz_handle": handle("pz#1")}, {"rmr_handle": handle("rmr#1")}
    )
    bound = {
        "lmr_context": {"context": context, "lmr": "lmr#2"},
        "virtual_address": {"va": 4096, "lmr": "lmr#1", "offset": 0},
        "segment_length": 64,
    }
    bind = {
        "rmr_handle": handle("rmr#1"),
        "lmr_triplet": bound,
        "mem_priv": "DAT_MEM_PRIV_ALL_FLAG",
        "ep_handle": handle("ep#1"),
        "user_cookie": 1,
        "completion_flags": "DAT_COMPLETION_DEFAULT_FLAG",
    }
    calls.add("case", "dat_rmr_bind", bind, {"context": {"context": 99}})
    free = calls.add("case", "dat_lmr_free", {"lmr_handle": handle("lmr#1")})
    free["ret"] = "DAT_INVALID_STATE"
    return [(each.call, each.clause) for each in judge(calls.record, DECLARED).deviations]


def test_a_context_of_two_ias() -> None:
    """LMRs of two IAs may have one context: that of a bind is of the EP's IA."""
    assert freed_after_bind(7) == []
    assert freed_after_bind(8) == [("dat_lmr_free", "lmr_free/unused")]
