# SPDX-License-Identifier: BSD-2-Clause
"""Typed calls of case and peer, on one clock, to make small traces of."""

from typing import Any

ADDRESS = {"family": "AF_INET", "address": "10.77.0.1", "port": 0}


def handle(name: str) -> dict[str, str]:
    return {"handle": name}


class Calls:
    """Typed calls of case and peer, on one clock, a millisecond apart."""

    def __init__(self) -> None:
        self.list: list[dict[str, Any]] = []
        self.counts = {"case": 0, "peer": 0}
        self.now = 1_000_000  # ns

    def wait(self, ms: int) -> None:
        """Time passes."""
        self.now += ms * 1_000_000

    def add(
        self, who: str, call: str, args: Any, out: Any = None, memory: Any = None, **others: Any
    ) -> dict[str, Any]:
        """One more call that succeeds, after all others. `others` are members of its record."""
        self.counts[who] += 1
        added = {
            "n": self.counts[who],
            "who": who,
            "call": call,
            "args": args,
            "ret": "DAT_SUCCESS",
            "out": out or {},
            "at_us": self.now // 1000,
            "us": 1,
            "ns": [self.now, self.now + 1000],
            **({"memory": memory} if memory else {}),
            **others,
        }
        self.list.append(added)
        self.wait(1)
        return added

    @property
    def record(self) -> dict[str, Any]:
        """The verdict record of these calls."""
        return {"case": "x/y", "hosts": 1, "verdict": "PASS", "calls": self.list}


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


SRQ_OF_EIGHT = {"max_recv_dtos": 8, "max_recv_iov": 1, "low_watermark": 0}


def began(calls: Calls, who: str, of_srq: bool = False, ia: int = 1) -> None:
    """An IA, a zone, an LMR, an EVD for all but requests, which have another one, and an EP.

    Objects of a second IA have the second names; its LMR has the context of the first one's.
    """
    instance = handle("ia" if ia == 1 else f"ia#{ia}")
    first, second = handle(f"evd#{2 * ia - 1}"), handle(f"evd#{2 * ia}")
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
        {
            "async_evd_handle": handle("async_evd" if ia == 1 else f"async_evd#{ia}"),
            "ia_handle": instance,
        },
    )
    calls.add(who, "dat_pz_create", {"ia_handle": instance}, {"pz_handle": handle(f"pz#{ia}")})
    memory = {
        "ia_handle": instance,
        "mem_type": "DAT_MEM_TYPE_VIRTUAL",
        "region_description": {"for_va": {"pointer": 4096}},
        "length": 4096,
        "pz_handle": handle(f"pz#{ia}"),
        "privileges": "DAT_MEM_PRIV_ALL_FLAG",
    }
    context = {"context": 7, "lmr": f"lmr#{ia}"}
    told = {
        "lmr_handle": handle(f"lmr#{ia}"),
        "lmr_context": context,
        "rmr_context": context,
        "registered_length": 4096,
        "registered_address": {"va": 4096, "lmr": f"lmr#{ia}", "offset": 0},
    }
    calls.add(who, "dat_lmr_create", memory, told)
    evd = {
        "ia_handle": instance,
        "evd_min_qlen": 8,
        "cno_handle": None,
        "evd_flags": "DAT_EVD_CR_FLAG|DAT_EVD_DTO_FLAG|DAT_EVD_CONNECTION_FLAG",
    }
    calls.add(who, "dat_evd_create", evd, {"evd_handle": first})
    calls.add(who, "dat_evd_create", evd, {"evd_handle": second})
    infix = "" if of_srq else "_completion"
    ep = {
        "ia_handle": instance,
        "pz_handle": handle(f"pz#{ia}"),
        f"recv{infix}_evd_handle": first,
        f"request{infix}_evd_handle": second,
        "connect_evd_handle": first,
        "ep_attributes": ATTR,
    }
    if not of_srq:
        calls.add(who, "dat_ep_create", ep, {"ep_handle": handle(f"ep#{ia}")})
        return
    srq = {"ia_handle": instance, "pz_handle": handle(f"pz#{ia}"), "srq_attr": SRQ_OF_EIGHT}
    calls.add(who, "dat_srq_create", srq, {"srq_handle": handle(f"srq#{ia}")})
    ep["srq_handle"] = handle(f"srq#{ia}")
    calls.add(who, "dat_ep_create_with_srq", ep, {"ep_handle": handle(f"ep#{ia}")})


def took(
    calls: Calls, who: str, number: str, data: Any, memory: Any = None, evd: str = "evd#1"
) -> None:
    """An event is taken from an EVD."""
    event = {"event_number": number, "evd_handle": handle(evd), "event_data": data}
    calls.add(who, "dat_evd_dequeue", {"evd_handle": handle(evd)}, {"event": event}, memory)


def vector(length: int, offset: int = 0) -> list[dict[str, Any]]:
    """A segment of the LMR."""
    address = {"va": 4096 + offset, "lmr": "lmr#1", "offset": offset}
    context = {"context": 7, "lmr": "lmr#1"}
    return [{"lmr_context": context, "virtual_address": address, "segment_length": length}]


def listen(calls: Calls) -> None:
    """The peer makes a service point."""
    listens = {
        "ia_handle": handle("ia"),
        "conn_qual": 2000,
        "evd_handle": handle("evd#1"),
        "psp_flags": "DAT_PSP_CONSUMER_FLAG",
    }
    calls.add("peer", "dat_psp_create", listens, {"psp_handle": handle("psp#1")})


def ask(calls: Calls) -> None:
    """The case asks for a connection."""
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


def connect(calls: Calls, private: Any = None, told: Any = None, address: Any = ADDRESS) -> None:
    """The case asks for a connection, and the peer accepts with private data."""
    ask(calls)
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
        "private_data_size": private["length"] if private else 0,
        "private_data": private,
    }
    calls.add("peer", "dat_cr_accept", accepts)
    up = {"ep_handle": handle("ep#1"), "private_data_size": 0, "private_data": None}
    took(calls, "peer", "DAT_CONNECTION_EVENT_ESTABLISHED", up)
    size = told["length"] if told else 0
    up = {"ep_handle": handle("ep#1"), "private_data_size": size, "private_data": told}
    took(calls, "case", "DAT_CONNECTION_EVENT_ESTABLISHED", up)


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
