/* SPDX-License-Identifier: BSD-2-Clause */
/* The completion queue of an EVD, for the files that EVDs are made of. All is called with the EVD
 * locked. */
#ifndef DAPLREF_EVD_CQ_H
#define DAPLREF_EVD_CQ_H

#include <stdbool.h>

#include "daplref.h"
#include "evd.h"

void evd_drain_locked(struct evd *evd, bool everything);
bool evd_arm(struct evd *evd, bool solicited);
bool evd_take_channel_event(struct evd *evd);

/* Completions beyond this many stay in the CQ, which has room for them, until events are taken. */
static inline int evd_dto_limit(const struct evd *evd)
{
        return max_int(evd->qlen, evd->budget);
}

#endif
