/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Accepts that did nothing. The asker sees no event then, which would be held against its own call.
 * So each EP that was accepted with is known until its next connection event
 * (docs/decisions/0279-accepts-in-vain.md).
 */
#ifndef HARNESS_ACCEPTED_H
#define HARNESS_ACCEPTED_H

#include "dat_api.h"

struct test;

/* What calls and events tell: the EP of a request, an accept of it (null: the EP that it has). */
void accepted_request_of(DAT_CR_HANDLE request, DAT_EP_HANDLE ep);
void accepted_with(DAT_CR_HANDLE request, DAT_EP_HANDLE ep);

/* The EP got an event, or was reset or freed. */
void accepted_forget(DAT_EP_HANDLE ep);

/*
 * A connection was not established. Ends the case as BLOCKED by dat_cr_accept if that returned
 * DAT_SUCCESS, here or at the peer, and its EP is in a state from before, without an event.
 * Cases of dat_cr_accept and of dat_cr_handoff judge that themselves.
 */
void accepts_must_show(struct test *t);

#endif
