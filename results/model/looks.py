# SPDX-License-Identifier: BSD-2-Clause
"""What checks look at by helpers of the cases, in words: a reader knows the DAT API only."""

_ENABLED = "whether the EVD is enabled"
_RECEIVES = "the number of receives"
_STATUS = "the completion's status"
_UNTOUCHED = "the number of bytes that are as they were"

# By the last name on the left of a comparison, if that is no field of a structure of the API.
WORDS = {
    "EVD_ENABLING": _ENABLED,
    "EVD_WAITING": "whether the EVD has a waiter",
    "REMOTE_PRIVILEGES": "the remote privileges",
    "answer_at": "the event of a request to that qualifier",
    "calls_seen": "the number of calls of the agent",
    "canaries": _UNTOUCHED,
    "connect_port_of": "local_port_qual",
    "defined": "the bits that no page defines",
    "dto_count": _RECEIVES,
    "ep_number_of": "the attribute of the EP",
    "expect_broken_off": "the number of requests that succeeded",
    "expect_completion": _STATUS,
    "expect_end": "the last event of the connection",
    "happened_count": "the number of calls of the provider",
    "locked": "the number of locked kilobytes",
    "merged": "the number of merged streams",
    "peer_port": "the port of the peer",
    "places_of": "evd_qlen",
    "plain_ep_state": "ep_state",
    "reach": _STATUS,
    "refused_of": "the number of EPs that were refused",
    "request_ep": "the EP of the request",
    "soft_mark": "srq_soft_hw",
    "srq_size": "max_recv_dtos",
    "state_of": "evd_state",
    "taken_ahead": "the number of receives that were taken ahead",
    "times_listed": "the number of entries of that name",
    "untouched": _UNTOUCHED,
}
