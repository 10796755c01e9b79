/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of connections that did nothing. Their other end sees no event then, which would be held
 * against its own call. So each EP that was connected or accepted with is known until its next
 * connection event (docs/decisions/0279-accepts-in-vain.md).
 */
#ifndef HARNESS_IN_VAIN_H
#define HARNESS_IN_VAIN_H

#include "dat_api.h"

struct test;

/* What calls and events tell: the EP of a request, and an accept of it (null: the EP it has). */
void in_vain_request_of(DAT_CR_HANDLE request, DAT_EP_HANDLE ep);
void in_vain_accepted(DAT_CR_HANDLE request, DAT_EP_HANDLE ep);

/* An EP was connected by `call`, whose name stays. */
void in_vain_connected(const char *call, DAT_EP_HANDLE ep);

/* The EP got an event, or was reset or freed. */
void in_vain_forget(DAT_EP_HANDLE ep);

/*
 * A connection was not established. Ends the case as BLOCKED by dat_cr_accept if that returned
 * DAT_SUCCESS, here or at the peer, and its EP is in a state from before, without an event.
 * Where the connection is the clause of a case (`clause`), cases of dat_cr_accept judge that
 * themselves; and those of dat_cr_handoff do.
 */
void accepts_must_show(struct test *t, bool clause);

/* No request arrived, or no connection was established: so for dat_ep_connect, dat_ep_dup_connect.
 */
void connects_must_show(struct test *t, bool clause);

#endif
