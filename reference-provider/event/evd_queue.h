/* SPDX-License-Identifier: BSD-2-Clause */
/* The FIFO of an EVD. */
#ifndef DAPLREF_EVD_QUEUE_H
#define DAPLREF_EVD_QUEUE_H

#include <stdbool.h>

#include "base/daplref.h"

struct ep;
struct evd;
struct event;

DAT_RETURN ref_evd_resize(DAT_EVD_HANDLE, DAT_COUNT);
DAT_RETURN ref_evd_post_se(DAT_EVD_HANDLE, const DAT_EVENT *);
bool evd_post(struct evd *evd, const struct event *event);
void evd_forget_ep(struct evd *evd, const struct ep *ep);

/* Called with the EVD locked. */
bool evd_ring_reserve(struct evd *evd, int size);
void evd_push(struct evd *evd, const struct event *event);

#endif
