# SPDX-License-Identifier: BSD-2-Clause
"""The steps of walks: what each takes, by name."""

from collections.abc import Iterator, Mapping

from runners.campaign.explore.peer_steps import CHAINED, PEER_STEPS
from runners.campaign.explore.step import (
    ANY,
    BRIEFLY,
    CNO,
    COUNTS,
    CR,
    DEPTHS,
    EP,
    EP_FLAGS,
    EVD,
    EVD_FLAGS,
    HANDLE_FIELDS,
    HANDLES,
    LENGTHS,
    LMR,
    LMRS,
    MARKS,
    MASKS,
    MS,
    NUMBER_FIELDS,
    NUMBERS,
    OFFSETS,
    PORTS,
    PRIVATE_SIZES,
    PSP,
    PZ,
    QUALIFIER,
    RECEIVES,
    RECV_FLAGS,
    REQUEST_FLAGS,
    RMR,
    RSP,
    SEGMENTS,
    SLEEP_MS,
    SOME_PRIVILEGES,
    SOON,
    SRQ,
    TAKEN_FROM,
    Step,
    handle,
    new,
    optional,
    own,
)
from runners.checkout import DEFAULT_API

# Return values: a type and a subtype as DAT_GET_TYPE has them, success, and what is none.
_RETURNS = (*(kind << 16 for kind in range(33)), 1 << 16 | 1, 3 << 16 | 5, 99 << 16, -1)
OWN_STEPS = (
    Step("ia_open", ((64, 64, 64, 64, 1, 0, -1),)),
    Step("ia_query", ((0, 1),)),
    Step("ia_close", ((1, 0),)),
    Step("private_again", ()),
    Step("pz_create", (new(PZ),)),
    Step("pz_query", (handle(PZ), MASKS[PZ])),
    Step("pz_free", (handle(PZ),)),
    Step("lmr_create", (new(LMR), handle(PZ), SOME_PRIVILEGES)),
    Step("lmr_create_of", (new(LMR), handle(PZ), handle(LMR), SOME_PRIVILEGES)),
    Step("lmr_create_shared", (new(LMR), handle(PZ), SOME_PRIVILEGES)),
    Step("lmr_query", (handle(LMR), MASKS[LMR])),
    Step("lmr_sync_rdma_read", (LMRS, OFFSETS, LENGTHS)),
    Step("lmr_sync_rdma_write", (LMRS, OFFSETS, LENGTHS)),
    Step("lmr_free", (handle(LMR),)),
    Step("rmr_create", (new(RMR), handle(PZ))),
    Step("rmr_query", (handle(RMR), MASKS[RMR])),
    Step(
        "rmr_bind",
        (handle(RMR), LMRS, OFFSETS, LENGTHS, SOME_PRIVILEGES, handle(EP), REQUEST_FLAGS),
    ),
    Step("rmr_free", (handle(RMR),)),
    Step("evd_create", (new(EVD), COUNTS, optional(CNO), EVD_FLAGS)),
    Step("evd_query", (TAKEN_FROM, MASKS[EVD])),
    Step("evd_resize", (handle(EVD), COUNTS)),
    Step("evd_modify_cno", (handle(EVD), optional(CNO))),
    Step("evd_enable", (handle(EVD),)),
    Step("evd_disable", (handle(EVD),)),
    Step("evd_set_unwaitable", (handle(EVD),)),
    Step("evd_clear_unwaitable", (handle(EVD),)),
    Step("evd_post_se", (handle(EVD),)),
    Step("evd_dequeue", (TAKEN_FROM, own(CR))),
    Step("evd_wait", (TAKEN_FROM, own(CR), MS, (1, 1, 1, 2, 0, 3))),
    Step("evd_waiter", (TAKEN_FROM, SLEEP_MS, (1, 1, 1, 2, 0, 3))),
    Step("evd_join", (own(CR),)),
    Step("evd_free", (handle(EVD),)),
    Step("cno_create", (new(CNO),)),
    Step("cno_modify_agent", (handle(CNO), (0, 1))),
    Step("cno_query", (handle(CNO), MASKS[CNO])),
    Step("cno_wait", (handle(CNO), MS)),
    Step("cno_waiter", (handle(CNO), SLEEP_MS)),
    Step("cno_free", (handle(CNO),)),
    Step("srq_create", (new(SRQ), handle(PZ), RECEIVES, (1, 2, 0))),
    Step("srq_query", (handle(SRQ), MASKS[SRQ])),
    Step("srq_resize", (handle(SRQ), RECEIVES)),
    Step("srq_set_lw", (handle(SRQ), MARKS)),
    Step("srq_post_recv", (handle(SRQ), LMRS, OFFSETS, LENGTHS)),
    Step("srq_post_segments", (handle(SRQ), LMRS, LENGTHS, SEGMENTS)),
    Step("srq_free", (handle(SRQ),)),
    Step("ep_create", (new(EP), handle(PZ), *(handle(EVD) for _ in range(3)), DEPTHS, DEPTHS)),
    Step(
        "ep_create_flags",
        (new(EP), handle(PZ), *(handle(EVD) for _ in range(3)), EP_FLAGS, EP_FLAGS),
    ),
    Step(
        "ep_create_number",
        (new(EP), handle(PZ), *(handle(EVD) for _ in range(3)), NUMBER_FIELDS, NUMBERS),
    ),
    Step(
        "ep_create_with_srq",
        (new(EP), handle(PZ), *(handle(EVD) for _ in range(3)), handle(SRQ), DEPTHS, DEPTHS),
    ),
    Step("ep_query", (handle(EP), MASKS[EP])),
    Step("ep_get_status", (handle(EP),)),
    Step("ep_modify_pz", (handle(EP), handle(PZ))),
    Step("ep_modify_depths", (handle(EP), DEPTHS, DEPTHS)),
    Step("ep_modify_handle", (handle(EP), HANDLE_FIELDS, HANDLES)),
    Step("ep_modify_number", (handle(EP), NUMBER_FIELDS, NUMBERS)),
    Step("ep_recv_query", (handle(EP),)),
    Step("ep_set_watermark", (handle(EP), MARKS, MARKS)),
    Step("ep_post_recv", (handle(EP), LMRS, OFFSETS, LENGTHS, RECV_FLAGS)),
    Step("ep_post_send", (handle(EP), LMRS, OFFSETS, LENGTHS, REQUEST_FLAGS)),
    Step("ep_post_recv_segments", (handle(EP), LMRS, LENGTHS, SEGMENTS, RECV_FLAGS)),
    Step("ep_post_send_segments", (handle(EP), LMRS, LENGTHS, SEGMENTS, REQUEST_FLAGS)),
    Step("ep_post_rdma_write", (handle(EP), LMRS, LMRS, LENGTHS, REQUEST_FLAGS)),
    Step("ep_post_rdma_read", (handle(EP), LMRS, LMRS, LENGTHS, REQUEST_FLAGS)),
    Step("ep_connect", (handle(EP), QUALIFIER, PRIVATE_SIZES)),
    Step("ep_connect_within", (handle(EP), QUALIFIER, PRIVATE_SIZES, (BRIEFLY, SOON))),
    Step("ep_dup_connect", (handle(EP), handle(EP), PRIVATE_SIZES)),
    Step("ep_disconnect", (handle(EP), (1, 0))),
    Step("ep_reset", (handle(EP),)),
    Step("ep_free", (handle(EP),)),
    Step("psp_create", (new(PSP), PORTS, handle(EVD))),
    Step("psp_create_any", (new(PSP), handle(EVD))),
    Step("psp_create_making", (new(PSP), handle(EVD))),
    Step("psp_query", (handle(PSP), MASKS[PSP])),
    Step("psp_free", (handle(PSP),)),
    Step("cr_query", (handle(CR), MASKS[CR])),
    Step("rsp_create", (new(RSP), handle(EP), handle(EVD))),
    Step("rsp_query", (handle(RSP), MASKS[RSP])),
    Step("rsp_free", (handle(RSP),)),
    Step("cr_accept", (handle(CR), optional(EP), PRIVATE_SIZES)),
    Step("cr_accept_made", (handle(CR), new(EP), PRIVATE_SIZES)),
    Step("cr_handoff", (handle(CR), QUALIFIER)),
    Step("cr_reject", (handle(CR),)),
    Step("handle_type", (ANY,)),
    Step("handle_set_context", (ANY, (0, 1, 7))),
    Step("handle_get_context", (ANY,)),
    Step("error_text", (_RETURNS,)),
    Step("registry_list", ((4, 1, 0, -1),)),
)
STEPS: Mapping[str, Step] = {step.name: step for step in (*OWN_STEPS, *PEER_STEPS, *CHAINED)}

# The objects of the calls, as a user names them on the command line.
OBJECTS = tuple(
    dict.fromkeys(step.name.partition("_")[0] for step in (*OWN_STEPS, *PEER_STEPS) if step.args)
)


def objects_by(api: str) -> tuple[str, ...]:
    """The objects of a walk by an API. By DAT 2.0 the registry, which texts are of, is not ours."""
    return OBJECTS if api == DEFAULT_API else tuple(of for of in OBJECTS if of != "error")


def simpler(line: str) -> Iterator[str]:
    """A line of a program with one argument made simpler, in each way."""
    name, *args = line.removeprefix("&").split()
    condition = "&" if line.startswith("&") else ""
    yield from (condition + other for other in STEPS[name].simpler(args))
