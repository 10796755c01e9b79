# SPDX-License-Identifier: BSD-2-Clause
"""A walk that was found wrong as a C case, which needs no puppet.

What the case expects is what the reference provider answers to the same calls.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from results.errors import InputError
from results.runlog.records import Record
from results.runlog.walks import Wrong
from runners.campaign.explore.step import (
    ASYNC_SLOT,
    BY_KIND,
    CR,
    EVD,
    FREED,
    MOST_RECEIVES,
    OTHER,
    OTHER_ASYNC_SLOT,
    RSP,
)

KINDS = ("pz", "lmr", "rmr", "evd", "cno", "srq", "ep", "psp", "cr", "rsp")
_SUCCESS = "DAT_SUCCESS"
_REQUEST = "DAT_CONNECTION_REQUEST_EVENT"
# Where the puppet has RSPs listen.
_RSPS_FROM = 24000
# In which order the puppet frees what is left.
_FREES = ("cr", "psp", "rsp", "ep", "rmr", "lmr", "srq", "evd", "cno", "pz")

# How each step calls. $0 is an argument as a number, @0 as a handle, #0 as a slot, %0 as where a
# service point listens; what the step makes is the first argument's object.
CALLS: Mapping[str, str] = {
    "ia_open": "dat_ia_openv(ia_name(t), $0, &other_async, &other, DAT_VERSION_MAJOR,"
    " DAT_VERSION_MINOR, DAT_FALSE)",
    "ia_query": "dat_ia_query(OPENED($0), &told.async_evd_handle, DAT_IA_FIELD_ALL, &told.ia_attr,"
    " DAT_PROVIDER_FIELD_ALL, &told.provider_attr)",
    "ia_close": "dat_ia_close(other, $0 ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG)",
    "pz_create": "dat_pz_create(ia(t), &@0)",
    "pz_query": "dat_pz_query(@0, MASK($1, DAT_PZ_FIELD_ALL), &told.pz_param)",
    "pz_free": "dat_pz_free(@0)",
    "lmr_create": "dat_lmr_create(ia(t), DAT_MEM_TYPE_VIRTUAL,"
    " (DAT_REGION_DESCRIPTION){.for_va = memory[#0].bytes}, sizeof(memory[#0].bytes), @1,"
    " (DAT_MEM_PRIV_FLAGS)$2, &@0, &memory[#0].lmr_context, &memory[#0].rmr_context,"
    " &memory[#0].length, &memory[#0].address)",
    "lmr_create_of": "dat_lmr_create(ia(t), DAT_MEM_TYPE_LMR,"
    " (DAT_REGION_DESCRIPTION){.for_lmr_handle = @2}, sizeof(memory[#0].bytes), @1,"
    " (DAT_MEM_PRIV_FLAGS)$3, &@0, &memory[#0].lmr_context, &memory[#0].rmr_context,"
    " &memory[#0].length, &memory[#0].address)",
    "lmr_create_shared": "dat_lmr_create(ia(t), DAT_MEM_TYPE_SHARED_VIRTUAL,"
    " (DAT_REGION_DESCRIPTION){.for_shared_memory = SHARED(#0)}, sizeof(memory[#0].bytes), @1,"
    " (DAT_MEM_PRIV_FLAGS)$2, &@0, &memory[#0].lmr_context, &memory[#0].rmr_context,"
    " &memory[#0].length, &memory[#0].address)",
    "lmr_query": "dat_lmr_query(@0, MASK($1, DAT_LMR_FIELD_ALL), &told.lmr_param)",
    "lmr_sync_rdma_read": "dat_lmr_sync_rdma_read(ia(t), &SEGMENT(#0, $1, $2), 1)",
    "lmr_sync_rdma_write": "dat_lmr_sync_rdma_write(ia(t), &SEGMENT(#0, $1, $2), 1)",
    "lmr_free": "dat_lmr_free(@0)",
    "rmr_create": "dat_rmr_create(@1, &@0)",
    "rmr_query": "dat_rmr_query(@0, MASK($1, DAT_RMR_FIELD_ALL), &told.rmr_param)",
    "rmr_bind": "dat_rmr_bind(@0, &SEGMENT(#1, $2, $3), (DAT_MEM_PRIV_FLAGS)$4, @5,"
    " (DAT_RMR_COOKIE){.as_64 = NUMBER}, (DAT_COMPLETION_FLAGS)$6, &bound[#0])",
    "rmr_free": "dat_rmr_free(@0)",
    "evd_create": "dat_evd_create(ia(t), $1, @2, (DAT_EVD_FLAGS)$3, &@0)",
    "evd_query": "dat_evd_query(@0, MASK($1, DAT_EVD_FIELD_ALL), &told.evd_param)",
    "evd_resize": "dat_evd_resize(@0, $1)",
    "evd_modify_cno": "dat_evd_modify_cno(@0, @1)",
    "evd_enable": "dat_evd_enable(@0)",
    "evd_disable": "dat_evd_disable(@0)",
    "evd_set_unwaitable": "dat_evd_set_unwaitable(@0)",
    "evd_clear_unwaitable": "dat_evd_clear_unwaitable(@0)",
    "evd_post_se": "dat_evd_post_se(@0, &(DAT_EVENT){.event_number = DAT_SOFTWARE_EVENT,"
    " .event_data.software_event_data.pointer = &told})",
    "evd_dequeue": "dat_evd_dequeue(@0, &told.event)",
    "evd_wait": "dat_evd_wait(@0, $2 * 1000, $3, &told.event, &told.nmore)",
    "evd_free": "dat_evd_free(@0)",
    "cno_create": "dat_cno_create(ia(t), DAT_OS_WAIT_PROXY_AGENT_NULL, &@0)",
    "cno_query": "dat_cno_query(@0, MASK($1, DAT_CNO_FIELD_ALL), &told.cno_param)",
    "cno_wait": "dat_cno_wait(@0, $1 * 1000, &told.evd_handle)",
    "cno_free": "dat_cno_free(@0)",
    "srq_create": "dat_srq_create(ia(t), @1, &(DAT_SRQ_ATTR){.max_recv_dtos = RECEIVES($2),"
    " .max_recv_iov = $3, .low_watermark = DAT_SRQ_LW_DEFAULT}, &@0)",
    "srq_query": "dat_srq_query(@0, MASK($1, DAT_SRQ_FIELD_ALL), &told.srq_param)",
    "srq_resize": "dat_srq_resize(@0, RECEIVES($1))",
    "srq_set_lw": "dat_srq_set_lw(@0, $1)",
    "srq_post_recv": "dat_srq_post_recv(@0, 1, &SEGMENT(#1, $2, $3),"
    " (DAT_DTO_COOKIE){.as_64 = NUMBER})",
    "srq_post_segments": "dat_srq_post_recv(@0, $3, SEGMENTS(#1, $2),"
    " (DAT_DTO_COOKIE){.as_64 = NUMBER})",
    "srq_free": "dat_srq_free(@0)",
    "ep_create": "dat_ep_create(ia(t), @1, @2, @3, @4, ATTRIBUTES($5, $6), &@0)",
    "ep_create_flags": "dat_ep_create(ia(t), @1, @2, @3, @4, ATTRIBUTES_OF_FLAGS($5, $6), &@0)",
    "ep_create_with_srq": "dat_ep_create_with_srq(ia(t), @1, @2, @3, @4, @5, ATTRIBUTES($6, $7),"
    " &@0)",
    "ep_query": "dat_ep_query(@0, MASK($1, DAT_EP_FIELD_ALL), &told.ep_param)",
    "ep_get_status": "dat_ep_get_status(@0, &told.ep_state, &told.recv_idle, &told.request_idle)",
    "ep_modify_pz": "dat_ep_modify(@0, DAT_EP_FIELD_PZ_HANDLE, &(DAT_EP_PARAM){.pz_handle = @1})",
    "ep_modify_depths": "dat_ep_modify(@0, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |"
    " DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &(DAT_EP_PARAM){.ep_attr.max_recv_dtos = $1,"
    " .ep_attr.max_request_dtos = $2})",
    "ep_modify_handle": "dat_ep_modify(@0, $1, &(DAT_EP_PARAM){.pz_handle = @2,"
    " .recv_evd_handle = @2, .request_evd_handle = @2, .connect_evd_handle = @2,"
    " .srq_handle = @2})",
    "ep_create_number": "dat_ep_create(ia(t), @1, @2, @3, @4, ATTRIBUTES_OF_NUMBER($5, $6), &@0)",
    "ep_modify_number": "dat_ep_modify(@0, $1, &(DAT_EP_PARAM){.ep_attr = NUMBERS($2)})",
    "ep_recv_query": "dat_ep_recv_query(@0, &told.nbufs_allocated, &told.bufs_alloc_span)",
    "ep_set_watermark": "dat_ep_set_watermark(@0, $1, $2)",
    "ep_post_recv": "dat_ep_post_recv(@0, 1, &SEGMENT(#1, $2, $3),"
    " (DAT_DTO_COOKIE){.as_64 = NUMBER}, (DAT_COMPLETION_FLAGS)$4)",
    "ep_post_send": "dat_ep_post_send(@0, 1, &SEGMENT(#1, $2, $3),"
    " (DAT_DTO_COOKIE){.as_64 = NUMBER}, (DAT_COMPLETION_FLAGS)$4)",
    "ep_post_recv_segments": "dat_ep_post_recv(@0, $3, SEGMENTS(#1, $2),"
    " (DAT_DTO_COOKIE){.as_64 = NUMBER}, (DAT_COMPLETION_FLAGS)$4)",
    "ep_post_send_segments": "dat_ep_post_send(@0, $3, SEGMENTS(#1, $2),"
    " (DAT_DTO_COOKIE){.as_64 = NUMBER}, (DAT_COMPLETION_FLAGS)$4)",
    "ep_post_rdma_write": "dat_ep_post_rdma_write(@0, 1, &SEGMENT(#1, 0, $3),"
    " (DAT_DTO_COOKIE){.as_64 = NUMBER}, &REMOTE(#2, $3), (DAT_COMPLETION_FLAGS)$4)",
    "ep_post_rdma_read": "dat_ep_post_rdma_read(@0, 1, &SEGMENT(#1, 0, $3),"
    " (DAT_DTO_COOKIE){.as_64 = NUMBER}, &REMOTE(#2, $3), (DAT_COMPLETION_FLAGS)$4)",
    "ep_connect": "dat_ep_connect(@0, ia_attr(t)->ia_address_ptr, %1, 2000000, $2, PRIVATE($2),"
    " DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG)",
    "ep_connect_within": "dat_ep_connect(@0, ia_attr(t)->ia_address_ptr, %1, $3 * 1000, $2,"
    " PRIVATE($2), DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG)",
    "ep_dup_connect": "dat_ep_dup_connect(@0, @1, 2000000, $2, PRIVATE($2), DAT_QOS_BEST_EFFORT)",
    "ep_disconnect": "dat_ep_disconnect(@0, $1 ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG)",
    "ep_reset": "dat_ep_reset(@0)",
    "ep_free": "dat_ep_free(@0)",
    "psp_create": "dat_psp_create(ia(t), qualifier[#0] = $1, @2, DAT_PSP_CONSUMER_FLAG, &@0)",
    "psp_create_any": "dat_psp_create_any(ia(t), &qualifier[#0], @1, DAT_PSP_CONSUMER_FLAG, &@0)",
    "psp_create_making": "dat_psp_create_any(ia(t), &qualifier[#0], @1,"
    " DAT_PSP_PROVIDER_FLAG, &@0)",
    "psp_query": "dat_psp_query(@0, MASK($1, DAT_PSP_FIELD_ALL), &told.psp_param)",
    "psp_free": "dat_psp_free(@0)",
    "cr_query": "dat_cr_query(@0, MASK($1, DAT_CR_FIELD_ALL), &told.cr_param)",
    "rsp_create": "dat_rsp_create(ia(t), %0, @1, @2, &@0)",
    "rsp_query": "dat_rsp_query(@0, MASK($1, DAT_RSP_FIELD_ALL), &told.rsp_param)",
    "rsp_free": "dat_rsp_free(@0)",
    "cr_accept": "dat_cr_accept(@0, @1, $2, PRIVATE($2))",
    "cr_handoff": "dat_cr_handoff(@0, %1)",
    "cr_reject": "dat_cr_reject(@0)",
    "handle_type": "dat_get_handle_type(@0, &told.handle_type)",
    "handle_set_context": "dat_set_consumer_context(@0, (DAT_CONTEXT){.as_64 = $1})",
    "handle_get_context": "dat_get_consumer_context(@0, &told.context)",
}
# Steps that no C case is written of: those of other threads, and those of more than one call, of a
# function, or of no object; and one that makes no call.
APART = frozenset(
    (
        *("evd_waiter", "cno_waiter", "evd_join"),
        *("cr_accept_made", "cno_modify_agent", "error_text", "registry_list"),
    )
)
NO_CALL = "private_again"
_MAKES = {
    *("create", "create_flags", "create_with_srq", "create_any", "create_making", "create_of"),
    *("create_shared", "create_number"),
}
_ENDS = {"free", "accept", "reject", "handoff"}

_HEAD = """\
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * {why}
 * A random walk found this, and was shrunk to these calls (docs/explore.md). What is expected is
 * what the reference provider answers. As a case of cases/ it needs a clause, in the page's file:
 *
 *	[[clause]]
 *	id = "{page}/{name}"
 *	check = "local"
 */
#include <string.h>
#include <sys/mman.h>

#include "case.h"
#include "case/ep_attr.h"

#if __has_include("clauses/{page}.h")
#include "clauses/{page}.h"
#endif
#ifndef CLAUSE_{page}__{name}
#define CLAUSE_{page}__{name} .needs = 0
#endif

"""
_MEMORY = """\
struct memory {
        _Alignas(4096) unsigned char bytes[4096];
        DAT_LMR_CONTEXT lmr_context;
        DAT_RMR_CONTEXT rmr_context;
        DAT_VLEN length;
        DAT_VADDR address;
};

static struct memory memory[32];

"""
_SEGMENT = """\
#define SEGMENT(slot_, offset_, length_)                                                 \\
        (DAT_LMR_TRIPLET)                                                                \\
        {                                                                                \\
                .lmr_context = memory[slot_].lmr_context,                                \\
                .virtual_address = (DAT_VADDR)(uintptr_t)memory[slot_].bytes + (offset_), \\
                .segment_length = (length_)                                              \\
        }

"""
_REMOTE = """\
#define REMOTE(slot_, length_)                                                  \\
        (DAT_RMR_TRIPLET)                                                       \\
        {                                                                       \\
                .rmr_context = memory[slot_].rmr_context,                       \\
                .target_address = (DAT_VADDR)(uintptr_t)memory[slot_].bytes,    \\
                .segment_length = (length_)                                     \\
        }

"""
_SHARED = """\
/* The memory of a slot becomes one more mapping of the pages that all of these share. */
static DAT_SHARED_MEMORY shared_at(void *bytes)
{
        static char cookie[sizeof(*(DAT_LMR_COOKIE)0)] = "walk";
        static void *pages;

        if (!pages)
                pages = mmap(NULL, sizeof(memory[0].bytes), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        mremap(pages, 0, sizeof(memory[0].bytes), MREMAP_MAYMOVE | MREMAP_FIXED, bytes);
        return (DAT_SHARED_MEMORY){.virtual_address = bytes, .shared_memory_id = &cookie};
}

#define SHARED(slot_) shared_at(memory[slot_].bytes)

"""
_SEGMENTS = """\
#define SEGMENTS(slot_, length_)                                                           \\
        ((DAT_LMR_TRIPLET[]){                                                              \\
            SEGMENT(slot_, 0, length_),                                                    \\
            SEGMENT(slot_, 64, length_),                                                   \\
            SEGMENT(slot_, 128, length_),                                                  \\
            SEGMENT(slot_, 192, length_),                                                  \\
        })

"""
_NUMBERS = """\
#define NUMBERS(number_)                                                        \\
        {                                                                       \\
                .max_message_size = (DAT_VLEN)(number_),                        \\
                .max_rdma_size = (DAT_VLEN)(number_),                           \\
                .recv_completion_flags = (DAT_COMPLETION_FLAGS)(number_),       \\
                .request_completion_flags = (DAT_COMPLETION_FLAGS)(number_),    \\
                .max_recv_dtos = (number_),                                     \\
                .max_request_dtos = (number_),                                  \\
                .max_recv_iov = (number_),                                      \\
                .max_request_iov = (number_),                                   \\
                .max_rdma_read_in = (number_),                                  \\
                .max_rdma_read_out = (number_),                                 \\
                .srq_soft_hw = (number_),                                       \\
                .max_rdma_read_iov = (number_),                                 \\
                .max_rdma_write_iov = (number_),                                \\
        }

"""
_ATTRIBUTES = """\
static DAT_EP_ATTR attributes(struct test *t, DAT_COUNT recvs, DAT_COUNT requests)
{
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr(t));

        attr.max_recv_dtos = recvs;
        attr.max_request_dtos = requests;
        attr.max_rdma_read_in = ia_attr(t)->max_rdma_read_per_ep_in ? 1 : 0;
        attr.max_rdma_read_out = ia_attr(t)->max_rdma_read_per_ep_out ? 1 : 0;
        attr.max_rdma_read_iov = attr.max_rdma_read_out;
        return attr;
}

#define ATTRIBUTES(recvs_, requests_) (&(DAT_EP_ATTR[]){attributes(t, (recvs_), (requests_))}[0])

"""
_FLAGS = """\
static DAT_EP_ATTR *with_flags(DAT_EP_ATTR *attr, int recv, int request)
{
        attr->recv_completion_flags = (DAT_COMPLETION_FLAGS)recv;
        attr->request_completion_flags = (DAT_COMPLETION_FLAGS)request;
        return attr;
}

#define ATTRIBUTES_OF_FLAGS(recv_, request_) with_flags(ATTRIBUTES(8, 8), (recv_), (request_))

"""
_NUMBER = """\
static DAT_EP_ATTR *with_number(DAT_EP_ATTR *attr, DAT_EP_PARAM_MASK field, int number)
{
        switch (field) {
        case DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE:
                attr->max_message_size = (DAT_VLEN)number;
                break;
        case DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE:
                attr->max_rdma_size = (DAT_VLEN)number;
                break;
        case DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS:
                attr->max_recv_dtos = number;
                break;
        case DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS:
                attr->max_request_dtos = number;
                break;
        case DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV:
                attr->max_recv_iov = number;
                break;
        case DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV:
                attr->max_request_iov = number;
                break;
        case DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN:
                attr->max_rdma_read_in = number;
                break;
        case DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT:
                attr->max_rdma_read_out = number;
                break;
        case DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW:
                attr->srq_soft_hw = number;
                break;
        case DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV:
                attr->max_rdma_read_iov = number;
                break;
        case DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV:
                attr->max_rdma_write_iov = number;
                break;
        default:
                break;
        }
        return attr;
}

#define ATTRIBUTES_OF_NUMBER(field_, number_) with_number(ATTRIBUTES(8, 8), (field_), (number_))

"""
# What calls tell, by the name of the parameter in the records.
_TOLD = {
    "pz_param": "DAT_PZ_PARAM",
    "lmr_param": "DAT_LMR_PARAM",
    "evd_param": "DAT_EVD_PARAM",
    "event": "DAT_EVENT",
    "nmore": "DAT_COUNT",
    "cno_param": "DAT_CNO_PARAM",
    "evd_handle": "DAT_EVD_HANDLE",
    "srq_param": "DAT_SRQ_PARAM",
    "ep_param": "DAT_EP_PARAM",
    "ep_state": "DAT_EP_STATE",
    "recv_idle": "DAT_BOOLEAN",
    "request_idle": "DAT_BOOLEAN",
    "nbufs_allocated": "DAT_COUNT",
    "bufs_alloc_span": "DAT_COUNT",
    "psp_param": "DAT_PSP_PARAM",
    "cr_param": "DAT_CR_PARAM",
    "rsp_param": "DAT_RSP_PARAM",
    "rmr_param": "DAT_RMR_PARAM",
    "async_evd_handle": "DAT_EVD_HANDLE",
    "ia_attr": "DAT_IA_ATTR",
    "provider_attr": "DAT_PROVIDER_ATTR",
    "handle_type": "DAT_HANDLE_TYPE",
    "context": "DAT_CONTEXT",
}


def name_of(page: str, number: int) -> str:
    """What the case is called: an id of a clause that does not exist yet."""
    return f"{page}/walk_{number}"


def case_of(
    program: Sequence[str], found: Record, reference: Record, wrong: Wrong, number: int
) -> str:
    """The C file of a walk of `program`. `found` and `reference` are the walk's records on the
    provider that deviates and on the reference provider. Raises InputError if C cannot tell them
    apart, or the walk has steps that no C case is written of.
    """
    names = {line.removeprefix("&").split()[0] for line in program}
    if names & APART:
        raise InputError(f"it has the step {min(names & APART)}: take the walk again by --walk")
    if any(name.startswith("peer_") for name in names):
        raise InputError("the walk has a peer: take the walk again by --walk")
    page = (wrong.call or "dat_explore").removeprefix("dat_")
    page, _, name = name_of(page, number).partition("/")
    writer = _Writer(found, reference, wrong)
    body = list(writer.body(program))
    text = "\n".join(f"        {line}".rstrip() for line in body)
    parts = [_HEAD.format(why=wrong.why, page=page, name=name)]
    for word, part in (
        ("memory", _MEMORY),
        ("SEGMENT", _SEGMENT),
        ("SHARED(", _SHARED),
        ("SEGMENTS(", _SEGMENTS),
        ("NUMBERS(", _NUMBERS),
        ("REMOTE", _REMOTE),
        ("ATTRIBUTES", _ATTRIBUTES),
        ("ATTRIBUTES_OF_FLAGS", _FLAGS),
        ("ATTRIBUTES_OF_NUMBER", _NUMBER),
    ):
        parts += [part] if word in text else []
    return "".join(parts) + f"CASE({page}, {name})\n{{\n{text}\n}}\n"


@dataclass
class _Writer:
    """Writes the body of a case, call by call, as the puppet made them."""

    found: Record
    reference: Record
    wrong: Wrong
    slots: set[int] = field(default_factory=set)  # of objects that exist
    freed: set[int] = field(default_factory=set)  # of those since when nothing was made
    other: bool = False  # whether the second IA is open
    of_other: set[int] = field(default_factory=set)  # slots of its objects

    def body(self, program: Sequence[str]) -> Iterator[str]:
        """Declarations, and a line for each call."""
        lines = list(self._calls(program))
        text = "\n".join(lines)
        for kind in KINDS:
            if f"{kind}[" in text:
                yield f"DAT_{kind.upper()}_HANDLE {kind}[32] = {{DAT_HANDLE_NULL}};"
        for name, declared in (
            ("qualifier", "DAT_CONN_QUAL qualifier[32] = {0};"),
            ("bound", "DAT_RMR_CONTEXT bound[32] = {0};"),
        ):
            if f"{name}[" in text:
                yield declared
        if re.search(r"\bother\b", text):
            yield "DAT_IA_HANDLE other = DAT_HANDLE_NULL;"
        if "other_async" in text:
            yield "DAT_EVD_HANDLE other_async = DAT_HANDLE_NULL;"
        told = [name for name in _TOLD if f"told.{name}" in text]
        if told or "&told" in text:
            yield "struct {"
            yield from (f"        {_TOLD[name]} {name};" for name in told)
            yield from () if told else ("        int none;",)
            yield "} told;"
            yield ""
            yield "memset(&told, 0, sizeof(told));"
        else:
            yield ""
        yield from lines

    def _calls(self, program: Sequence[str]) -> Iterator[str]:
        own = [call for call in self.found["calls"] if not call.get("teardown")]
        calls = iter(own[2:])  # the harness has opened the IA
        done, went = False, True
        for number, line in enumerate(program, 1):
            if line.startswith("&") and not went:
                continue
            name, *words = line.removeprefix("&").split()
            args = [int(word) for word in words]
            if name == NO_CALL or (name == "ia_open" and self.other):
                continue
            if _verb(name) in _MAKES and args[0] in self.slots:
                continue
            call = next(calls, None)
            if call is None or CALLS[name].partition("(")[0] != call["call"]:
                break
            went = call.get("ret") == _SUCCESS
            rejects = self._rejects(name, args, call)
            yield from self._one(name, args, number, call)
            done = done or call["n"] == self.wrong.n
            if rejects:
                next(calls, None)
                yield "dat_cr_reject(told.event.event_data.cr_arrival_event_data.cr_handle);"
        for kind in _FREES:
            free = "cr_reject" if kind == "cr" else f"{kind}_free"
            for number in sorted(n for n in self.slots if KINDS[n // BY_KIND] == kind):
                call = next(calls, None)
                if call is not None:
                    yield from self._one(free, [number], 0, call)
                    done = done or call["n"] == self.wrong.n
        call = next(calls, None) if self.other else None
        if call is not None:
            yield from self._one("ia_close", [0], 0, call)
            done = done or call["n"] == self.wrong.n
        if not done or self.wrong.what != "deviates":
            yield 'expect_that(true, "each call returns");'

    def _one(
        self, name: str, args: Sequence[int], number: int, call: Mapping[str, Any]
    ) -> Iterator[str]:
        """The lines of one step's call."""
        text = self._text(CALLS[name], args, number)
        ret = call.get("ret", "")
        other = self._other(call["n"])
        ours = other.get("ret", "") if other else ""
        if call["n"] == self.wrong.n and self.wrong.what == "deviates":
            if not other or ret == ours:
                yield f"must({text});" if ret == _SUCCESS else f"{text};"
                yield self._difference(call, other)
            else:
                yield f"expect({text}, {ours});"
        else:
            yield f"must({text});" if ret == ours == _SUCCESS else f"{text};"
        yield from self._after(name, args, call)

    def _after(self, name: str, args: Sequence[int], call: Mapping[str, Any]) -> Iterator[str]:
        """What the step makes of the objects."""
        if call.get("ret") != _SUCCESS:
            return
        if name in ("ia_open", "ia_close"):
            self.other = name == "ia_open"
            self.freed.clear()
            self.slots -= self.of_other
            self.of_other.clear()
            if not self.other:
                yield "other = DAT_HANDLE_NULL;"
        elif _verb(name) in _MAKES:
            self.slots.add(args[0])
            self._belongs(args[0], args[1] if name == "rmr_create" else args[0])
            self.freed.clear()
        elif _verb(name) in _ENDS:
            self.slots.discard(args[0])
            self.freed.add(args[0])
        elif _is_request(call) and not self._rejects(name, args, call):
            self.slots.add(args[1])
            self._belongs(args[1], args[0])
            self.freed.clear()
            request = "told.event.event_data.cr_arrival_event_data.cr_handle"
            yield f"{self._handle(args[1])} = {request};"

    def _belongs(self, number: int, by: int) -> None:
        """An object is of the IA of what it was made by, or of that which its slot is of."""
        upper = by % BY_KIND >= OTHER and number == by
        asynchronous = by == BY_KIND * EVD + OTHER_ASYNC_SLOT
        if upper or asynchronous or by in self.of_other:
            self.of_other.add(number)
        else:
            self.of_other.discard(number)

    def _rejects(self, name: str, args: Sequence[int], call: Mapping[str, Any]) -> bool:
        """Whether the puppet rejects the request that the step took, since its slot has one."""
        if name not in ("evd_wait", "evd_dequeue") or not _is_request(call):
            return False
        return args[1] // BY_KIND != CR or args[1] in self.slots

    def _text(self, template: str, args: Sequence[int], number: int) -> str:
        data = f"(DAT_PVOID)(unsigned char[256]){{[0 ... 255] = {number & 0xFF}}}"
        text = re.sub(r"\bNUMBER\b", str(number), template)
        if args and OTHER <= args[0] % BY_KIND < OTHER_ASYNC_SLOT and args[0] >= 0:
            text = text.replace("(ia(t),", "(other,")
        text = text.replace("OPENED($0)", "other" if args and args[0] else "ia(t)")
        for place, arg in enumerate(args):
            text = text.replace(f"%{place}", self._qualifier(arg))
            text = text.replace(f"&@{place}", f"&{self._slot(arg)}")
            text = text.replace(f"@{place}", self._handle(arg))
            text = text.replace(f"#{place}", str(0 if arg < 0 else arg % BY_KIND))
            text = text.replace(f"${place}", str(arg))
        for word, written in (
            (r"PRIVATE\((-?\d+)\)", lambda said: data if int(said[1]) > 0 else "NULL"),
            (r"MASK\((-?\d+), (\w+)\)", lambda said: said[2] if int(said[1]) < 0 else said[1]),
            (r"RECEIVES\((-?\d+)\)", _receives),
        ):
            text = re.sub(word, written, text)
        return text

    def _slot(self, number: int) -> str:
        return f"{KINDS[number // BY_KIND]}[{number % BY_KIND}]"

    def _qualifier(self, number: int) -> str:
        slot = number % BY_KIND
        return str(_RSPS_FROM + slot) if number // BY_KIND == RSP else f"qualifier[{slot}]"

    def _handle(self, number: int) -> str:
        """A slot without an object is the null handle."""
        if number // BY_KIND == EVD and number % BY_KIND == ASYNC_SLOT:
            return "async_evd(t)"
        if number // BY_KIND == EVD and number % BY_KIND == OTHER_ASYNC_SLOT:
            return "other_async" if self.other else "DAT_HANDLE_NULL"
        if number - FREED in self.freed:
            return self._slot(number - FREED)
        known = number in self.slots or number // BY_KIND == CR
        return self._slot(number) if number >= 0 and known else "DAT_HANDLE_NULL"

    def _other(self, n: int) -> Mapping[str, Any] | None:
        """The same call of the reference provider, if its walk came so far."""
        return next((call for call in self.reference["calls"] if call["n"] == n), None)

    def _difference(self, call: Mapping[str, Any], other: Mapping[str, Any] | None) -> str:
        """A check of the first value that the call tells otherwise than the reference's."""
        seen = call.get("typed", {}).get("out", {})
        due = (other or {}).get("typed", {}).get("out", {})
        for path, value in _leaves(due):
            if _at(seen, path) != value and path[0] in _TOLD:
                said = int(value) if isinstance(value, bool) else value
                return f"expect_eq(told.{'.'.join(path)}, {said});"
        raise InputError(
            f"{call['call']} differs from the reference provider's in nothing that C compares:"
            " take the walk again by --walk"
        )


def _receives(said: re.Match[str]) -> str:
    most = int(said[1]) == MOST_RECEIVES
    return "ia_attr(t)->max_recv_per_srq" if most else said[1]


def _verb(name: str) -> str:
    return name.partition("_")[2]


def _is_request(call: Mapping[str, Any]) -> bool:
    event = call.get("typed", {}).get("out", {}).get("event", {})
    return call.get("ret") == _SUCCESS and event.get("event_number") == _REQUEST


def _leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The numbers and names of constants in what a call tells, with their places."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _leaves(part, (*path, name))
    elif isinstance(value, bool | int) or (isinstance(value, str) and value.startswith("DAT_")):
        yield path, value


def _at(value: Any, path: Sequence[str]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value
