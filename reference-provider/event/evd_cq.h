/* SPDX-License-Identifier: BSD-2-Clause */
/* The completion queue of an EVD. */
#ifndef DAPLREF_EVD_CQ_H
#define DAPLREF_EVD_CQ_H

#include <stdbool.h>

#include "base/daplref.h"

struct ep;
struct evd;
struct srq;
struct wr;
struct wr_pool;

DAT_RETURN ref_evd_dequeue(DAT_EVD_HANDLE, DAT_EVENT *);
void evd_drain(struct evd *evd);
bool evd_look(struct evd *evd);
bool evd_prepare(struct evd *evd);
bool evd_reserve(struct evd *evd, int completions);
void evd_unreserve(struct evd *evd, int completions);
bool evd_share_srq(struct evd *evd, struct srq *srq, int depth);
void evd_unshare_srq(struct evd *evd, struct srq *srq);
bool evd_grow_share(struct evd *evd, struct srq *srq, int depth);
void evd_add_qp(struct evd *evd, struct ep *ep);
void evd_remove_qp(struct evd *evd, struct ep *ep);
void evd_flush(struct evd *evd, struct wr_pool *pool);
bool evd_flush_one(struct evd *evd, struct ep *ep, struct wr *wr);
void evd_bind_ready(struct evd *evd, struct wr *wr);
void evd_withdraw(struct evd *evd, struct wr *wr);

/* Called with the EVD locked. */
void evd_drain_locked(struct evd *evd, bool everything);
bool evd_arm(struct evd *evd, bool solicited);
bool evd_take_channel_event(struct evd *evd);

#endif
