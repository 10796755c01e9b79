# SPDX-License-Identifier: BSD-2-Clause
"""Records of typed values: read as older ones are, and with contents of messages besides."""

from typing import Any

import pytest

from oracle import judge
from oracle.trace import read
from oracle.typed import value


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


def handle(name: str) -> dict[str, str]:
    return {"handle": name}


class Calls:
    """Typed calls of case and peer, on one clock."""

    def __init__(self) -> None:
        self.list: list[dict[str, Any]] = []
        self.counts = {"case": 0, "peer": 0}

    def add(self, who: str, call: str, args: Any, out: Any = None, memory: Any = None) -> None:
        """One more call that succeeds, after all others."""
        self.counts[who] += 1
        moment = 1_000_000 * (len(self.list) + 1)
        self.list.append(
            {
                "n": self.counts[who],
                "who": who,
                "call": call,
                "args": args,
                "ret": "DAT_SUCCESS",
                "out": out or {},
                "at_us": moment // 1000,
                "us": 1,
                "ns": [moment, moment + 1000],
                **({"memory": memory} if memory else {}),
            }
        )


ATTR = {
    "service_type": "DAT_SERVICE_TYPE_RC",
    "max_message_size": 1024,
    "max_rdma_size": 1024,
    "qos": "DAT_QOS_BEST_EFFORT",
    "recv_completion_flags": "DAT_COMPLETION_DEFAULT_FLAG",
    "request_completion_flags": "DAT_COMPLETION_DEFAULT_FLAG",
    "max_recv_dtos": 8,
    "max_request_dtos": 8,
    "max_recv_iov": 1,
    "max_request_iov": 1,
    "max_rdma_read_in": 0,
    "max_rdma_read_out": 0,
    "srq_soft_hw": -1,
    "max_rdma_read_iov": 0,
    "max_rdma_write_iov": 1,
    "ep_transport_specific_count": 0,
    "ep_transport_specific": None,
    "ep_provider_specific_count": 0,
    "ep_provider_specific": None,
}


def began(calls: Calls, who: str) -> None:
    """An IA, a zone, an LMR, an EVD for everything, and an EP."""
    opening = {
        "name": {"text": "cts0"},
        "async_evd_min_qlen": 8,
        "async_evd_handle": None,
        "dat_major": 1,
        "dat_minor": 2,
        "thread_safety": False,
    }
    calls.add(
        who,
        "dat_ia_openv",
        opening,
        {"async_evd_handle": handle("async_evd"), "ia_handle": handle("ia")},
    )
    calls.add(who, "dat_pz_create", {"ia_handle": handle("ia")}, {"pz_handle": handle("pz#1")})
    memory = {
        "ia_handle": handle("ia"),
        "mem_type": "DAT_MEM_TYPE_VIRTUAL",
        "region_description": {"for_va": {"pointer": 4096}},
        "length": 4096,
        "pz_handle": handle("pz#1"),
        "privileges": "DAT_MEM_PRIV_ALL_FLAG",
    }
    context = {"context": 7, "lmr": "lmr#1"}
    told = {
        "lmr_handle": handle("lmr#1"),
        "lmr_context": context,
        "rmr_context": context,
        "registered_length": 4096,
        "registered_address": {"va": 4096, "lmr": "lmr#1", "offset": 0},
    }
    calls.add(who, "dat_lmr_create", memory, told)
    evd = {
        "ia_handle": handle("ia"),
        "evd_min_qlen": 8,
        "cno_handle": None,
        "evd_flags": "DAT_EVD_CR_FLAG|DAT_EVD_DTO_FLAG|DAT_EVD_CONNECTION_FLAG",
    }
    calls.add(who, "dat_evd_create", evd, {"evd_handle": handle("evd#1")})
    ep = {
        "ia_handle": handle("ia"),
        "pz_handle": handle("pz#1"),
        "recv_completion_evd_handle": handle("evd#1"),
        "request_completion_evd_handle": None,
        "connect_evd_handle": handle("evd#1"),
        "ep_attributes": ATTR,
    }
    calls.add(who, "dat_ep_create", ep, {"ep_handle": handle("ep#1")})


def took(calls: Calls, who: str, number: str, data: Any, memory: Any = None) -> None:
    """An event is taken from the EVD."""
    event = {"event_number": number, "evd_handle": handle("evd#1"), "event_data": data}
    calls.add(who, "dat_evd_dequeue", {"evd_handle": handle("evd#1")}, {"event": event}, memory)


GIVEN = {"length": 2, "digest": "00", "hex": "a1b2"}
ADDRESS = {"family": "AF_INET", "address": "10.77.0.1", "port": 0}


def story(
    *,
    told: Any = GIVEN,
    digest: str = "11",
    length: int = 64,
    sent: int = 64,
    rest: Any = None,
    received: int = 6,
    changed: Any = None,
    address: Any = ADDRESS,
) -> dict[str, Any]:
    """The case asks, the peer accepts with private data and sends a message of 64 bytes."""
    calls = Calls()
    began(calls, "case")
    began(calls, "peer")
    segment = [
        {
            "lmr_context": {"context": 7, "lmr": "lmr#1"},
            "virtual_address": {"va": 4096, "lmr": "lmr#1", "offset": 0},
            "segment_length": 64,
        }
    ]
    post = {
        "ep_handle": handle("ep#1"),
        "num_segments": 1,
        "local_iov": segment,
        "user_cookie": 5,
        "completion_flags": "DAT_COMPLETION_DEFAULT_FLAG",
    }
    listens = {
        "ia_handle": handle("ia"),
        "conn_qual": 2000,
        "evd_handle": handle("evd#1"),
        "psp_flags": "DAT_PSP_CONSUMER_FLAG",
    }
    calls.add("peer", "dat_psp_create", listens, {"psp_handle": handle("psp#1")})
    calls.add("case", "dat_ep_post_recv", post)
    asks = {
        "ep_handle": handle("ep#1"),
        "remote_ia_address": ADDRESS,
        "remote_conn_qual": 2000,
        "timeout": 4294967295,
        "private_data_size": 0,
        "private_data": None,
        "quality_of_service": "DAT_QOS_BEST_EFFORT",
        "connect_flags": "DAT_CONNECT_DEFAULT_FLAG",
    }
    calls.add("case", "dat_ep_connect", asks)
    request = {
        "sp_handle": handle("psp#1"),
        "local_ia_address_ptr": address,
        "conn_qual": 2000,
        "cr_handle": handle("cr#1"),
    }
    took(calls, "peer", "DAT_CONNECTION_REQUEST_EVENT", request)
    accepts = {
        "cr_handle": handle("cr#1"),
        "ep_handle": handle("ep#1"),
        "private_data_size": 2,
        "private_data": GIVEN,
    }
    calls.add("peer", "dat_cr_accept", accepts)
    up = {"ep_handle": handle("ep#1"), "private_data_size": 0, "private_data": None}
    took(calls, "peer", "DAT_CONNECTION_EVENT_ESTABLISHED", up)
    size = 2 if told else 0
    up = {"ep_handle": handle("ep#1"), "private_data_size": size, "private_data": told}
    took(calls, "case", "DAT_CONNECTION_EVENT_ESTABLISHED", up)
    calls.add("peer", "dat_ep_post_send", post, memory={"length": sent, "digest": "11"})
    calls.list[-1] |= {"changed": changed} if changed else {}
    done = {
        "ep_handle": handle("ep#1"),
        "user_cookie": 5,
        "status": "DAT_DTO_SUCCESS",
        "transfered_length": length,
    }
    memory = {"post": received, "length": length, "digest": digest, **(rest or {})}
    took(calls, "case", "DAT_DTO_COMPLETION_EVENT", done, memory)
    return {"case": "x/y", "hosts": 1, "verdict": "PASS", "calls": calls.list}


DECLARED = {
    "adapter_name": "cts0",
    "opened_as": "cts0",
    "max_private_data_size": 64,
    "max_eps": 4096,
    "max_dto_per_ep": 8191,
    "max_message_size": 8388608,
    "max_rdma_size": 8388608,
    "max_iov_segments_per_dto": 16,
    "max_rdma_read_per_ep_in": 128,
    "max_rdma_read_per_ep_out": 128,
    "max_iov_segments_per_rdma_read": 16,
    "max_iov_segments_per_rdma_write": 16,
    "ep_creator": "DAT_PSP_CREATES_EP_IFASKED",
    "ia_address_ptr": "10.77.0.1",
}


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


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"told": None}, "although 2 bytes were given"),
        ({"told": {**GIVEN, "hex": "a1b3"}}, "is not what was given"),
        ({"digest": "12"}, "does not hold the message of 64 bytes"),
        ({"rest": {"kept": 64, "changed": 64}}, "byte 64 of the vector is changed by a message"),
        ({"changed": ["local_iov"]}, "changes local_iov, which is the consumer's"),
        ({"length": 63}, "the length is 63, and the message has 64 bytes"),
        ({"address": None}, "local_ia_address_ptr is null"),
    ],
)
def test_other_story(changed: dict[str, Any], why: str) -> None:
    """What one end tells and the other did not do is a deviation."""
    deviations = judge(story(**changed), DECLARED).deviations
    assert len(deviations) == 1
    assert why in deviations[0].why
