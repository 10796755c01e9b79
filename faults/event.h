/* SPDX-License-Identifier: BSD-2-Clause */
/* Events on their way to the consumer: where they are lost, doubled, delayed and invented. */
#ifndef FAULTS_EVENT_H
#define FAULTS_EVENT_H

#include "fault.h"

/* Whether the call takes an event: dat_evd_wait() and dat_evd_dequeue(). */
bool event_takes(const struct call *call);

/* Makes such a call; what the wrapped provider has may go through the fault first. */
DAT_RETURN event_take(struct call *call);

/* A wait that takes what is there when it begins, and is woken by nothing that comes later. */
DAT_RETURN event_sleep_through(struct call *call);

/* Returns the event of the step from such a call, without a cause. */
DAT_RETURN event_invent(struct call *call, const struct step *step);

#endif
