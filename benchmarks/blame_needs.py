# SPDX-License-Identifier: BSD-2-Clause
"""Which clauses need a call by their nature, and which speak of it though their page is another's.

A clause needs a call if it is of the call's page, or if its text or its id names the object or the
act. It also needs a call by which alone its object exists: a connection an EP, an EP a PZ.
"""

import re
from dataclasses import dataclass

from runners.campaign.plan.plan import Case

EP_FAMILY = {"ep", "cr", "rsp"}
# By call, the folders of cases/ whose objects exist only by it.
FOLDERS = {
    "dat_pz_create": EP_FAMILY | {"pz", "lmr", "rmr", "srq"},
    "dat_evd_create": EP_FAMILY | {"evd", "psp", "rmr"},
    "dat_ep_create": EP_FAMILY | {"psp"},
    "dat_lmr_create": {"lmr", "rmr"},
    "dat_rmr_create": {"rmr"},
    "dat_srq_create": {"srq"},
    "dat_cno_create": {"cno"},
    "dat_ia_query": set(),
}
# Calls by which a case with a peer connects, and learns that it is connected.
CONNECTING = {
    "dat_pz_create", "dat_evd_create", "dat_ep_create", "dat_ep_connect", "dat_evd_wait",
}  # fmt: skip
PASSIVE = {"dat_psp_create", "dat_psp_create_any", "dat_cr_query", "dat_cr_accept"}
# Pages whose clauses are about memory that is sent, received or written.
TRANSFERS = re.compile(r"ep_post_|srq_post_recv|rmr_bind|lmr_sync|ep_recv_query")
# By call, what names its object or its act in a text or an id, where the verb does not.
WORDS = {
    "dat_rmr_create": r"\brmrs?\b|bind|bound",
    "dat_rmr_bind": r"\brmrs?\b|bind|bound",
    "dat_srq_create": r"\bsrqs?\b|shared",
    "dat_srq_post_recv": r"\bsrqs?\b",
    "dat_cno_create": r"\bcnos?\b",
    "dat_cno_wait": r"\bcnos?\b",
    "dat_ep_create": r"\beps?\b|endpoint|connect",
    "dat_ep_create_with_srq": r"\bsrqs?\b",
    "dat_evd_create": r"\bevds?\b|event|complet",
    "dat_evd_wait": r"event|complet|wait|arriv|connect|receiv|sen[dt]|messag",
    "dat_evd_dequeue": r"dequeue|event|complet",
    "dat_lmr_create": r"\blmrs?\b|memory|message|buffer|receive|sen[dt]|read|writ",
    "dat_psp_create": r"\bpsps?\b|request|\bcrs?\b",
    "dat_psp_create_any": r"\bpsps?\b|qualifier",
    "dat_rsp_create": r"\brsps?\b|reserv",
    "dat_cr_accept": r"accept|request|passive",
    "dat_cr_query": r"request|\bcrs?\b|passive",
    "dat_cr_reject": r"reject|request",
    "dat_ep_connect": r"connect|peer|message|receive|sen[dt]|complet|read|writ",
    "dat_ep_disconnect": r"disconnect|flush|abrupt|graceful",
    "dat_ep_post_send": r"sen[dt]|message|request|complet",
    "dat_ep_post_recv": r"receiv|message|complet",
    "dat_ep_post_rdma_write": r"rdma|writ",
    "dat_ep_post_rdma_read": r"rdma|read",
    "dat_ep_set_watermark": r"watermark",
    "dat_ep_recv_query": r"recv_query|receiv",
    "dat_ep_get_status": r"status|state|idle",
    "dat_srq_set_lw": r"watermark|\blw\b",
    "dat_evd_resize": r"resiz|grow|shrink|qlen",
    "dat_evd_set_unwaitable": r"unwaitable",
    "dat_evd_clear_unwaitable": r"unwaitable",
    "dat_evd_post_se": r"software|event",
    "dat_evd_modify_cno": r"\bcnos?\b",
    "dat_cno_modify_agent": r"agent",
    "dat_get_handle_type": r"handle_type|type of",
    "dat_get_consumer_context": r"context",
    "dat_set_consumer_context": r"context",
    "dat_lmr_sync_rdma_read": r"sync",
    "dat_lmr_sync_rdma_write": r"sync",
    "dat_ia_query": r"attribute|declare|max|limit|quer",
}


@dataclass(frozen=True)
class Listed:
    """A clause (a pattern of ids) whose own sentence promises what a broken call does not do."""

    clause: str
    call: str
    modes: tuple[str, ...]
    sentence: str


LISTED: tuple[Listed, ...] = ()


def _names(call: str, text: str) -> bool:
    verb = call.removeprefix("dat_").split("_", 1)[-1]
    return re.search(WORDS.get(call, rf"\b{verb}"), text, re.IGNORECASE) is not None


def needs(call: str, case: Case) -> bool:
    """Whether nothing can be said of the clause if the call never works."""
    if case.page == call or case.object in FOLDERS.get(call, ()):
        return True
    if case.peers and (call in CONNECTING or (call in PASSIVE and case.object in ("cr", "psp"))):
        return True
    if call == "dat_lmr_create" and TRANSFERS.search(case.id):
        return True
    return _names(call, f"{case.id.replace('_', ' ')} {case.id} {case.clause.text}")
