/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which call a step of a case is about. A step is what a case arranges around the act under
 * judgement: if the provider refuses or breaks it, the case is BLOCKED by that call (test.h).
 */
#ifndef HARNESS_STEP_H
#define HARNESS_STEP_H

#include <stdbool.h>

#include "dat_api.h"

/*
 * Whether `call` is what the cases of `page` judge: the page's own call, and any call for a page
 * that has none, as dat.conf's.
 */
bool step_is_own(const char *page, const char *call);

/*
 * The newest call of this process that makes an event of this number come: dat_ep_connect() for
 * DAT_CONNECTION_EVENT_ESTABLISHED. "dat_evd_wait" if this process has made no such call.
 */
const char *step_of_event(DAT_EVENT_NUMBER number);

/* Whether the page's call is one of those that make an event of this number come. */
bool step_brings(const char *page, DAT_EVENT_NUMBER number);

/* The newest call of the calling thread, or "" if it has made none. */
const char *step_of_last_call(void);

#endif
