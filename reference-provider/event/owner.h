/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of higher rooms that an EVD calls: for the EP, SRQ, LMR or CR that owns an event. A
 * callback in their place would cost an indirect call for each message. tests/provider/rooms.py
 * allows these uses and no other.
 */
#ifndef DAPLREF_OWNER_H
#define DAPLREF_OWNER_H

#include <infiniband/verbs.h>
#include <stdbool.h>

#include "base/daplref.h"

struct ep;
struct ia;
struct srq;

void ep_failed(struct ep *ep);
void ep_recv_held(struct ep *ep, int by);
void srq_buffer_taken(struct srq *srq);
void srq_buffer_reaped(struct srq *srq);
bool lmr_serves(const struct ia *ia, const struct ibv_sge *sge, int num_sge);
void cr_discard(DAT_CR_HANDLE handle);

#endif
