/* SPDX-License-Identifier: BSD-2-Clause */
/* What connections need on iWARP in addition to InfiniBand's CM. */
#ifndef DAPLREF_IWARP_H
#define DAPLREF_IWARP_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>

#include "cm_wire.h"

struct conn;
struct ia;

void iwarp_remember_refusal(const struct conn *conn, int size, const void *data);
bool iwarp_awaits_confirmation(const struct conn *conn);
void iwarp_take_confirmation(struct conn *aside, const struct wire *wire);
void iwarp_take_question(struct conn *aside, const struct wire *wire);
void iwarp_end_question(const struct conn *aside);
bool iwarp_ask_why(struct conn *conn);
bool iwarp_took_answer(const struct conn *aside, const struct wire_reply *reply, size_t length);
void iwarp_on_reply(struct conn *conn, const struct rdma_cm_event *event);
void iwarp_take_attempts(struct ia *ia);
void iwarp_confirm_last(struct ia *ia);

#endif
