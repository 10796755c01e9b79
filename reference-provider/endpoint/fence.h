/* SPDX-License-Identifier: BSD-2-Clause */
/* Fenced requests in software, for a device whose own fence can deadlock. */
#ifndef DAPLREF_FENCE_H
#define DAPLREF_FENCE_H

#include <infiniband/verbs.h>
#include <stdbool.h>

struct ep;
struct wr;

void fence_init(struct ep *ep);
bool fence_has_read(struct ep *ep, const struct wr *before);
void fence_announce(struct ep *ep);
int fence_post(struct ep *ep, const struct ibv_send_wr *send);
void fence_drop(struct ep *ep);

#endif
