/* SPDX-License-Identifier: BSD-2-Clause */
/* The states of an EP, and what takes it from one to another: see the table in docs/provider.md. */
#ifndef DAPLREF_EP_STATE_H
#define DAPLREF_EP_STATE_H

#include <stdbool.h>

#include "base/daplref.h"

struct ep;

enum ep_state {
        EP_UNCONNECTED = 1,
        EP_RESERVED,  /* by an RSP */
        EP_PASSIVE,   /* its RSP's request is reported */
        EP_TENTATIVE, /* given by the Provider with a request */
        EP_CONNECTING,
        EP_ACCEPTING,
        EP_CONNECTED,
        EP_DRAINING,     /* is disconnected once its requests have completed */
        EP_ENDING,       /* Disconnected, but its queue pair may still have something */
        EP_DISCONNECTED, /* and everything flushed */
        EP_STATES
};

enum ep_event {
        EP_IS_RESERVED,
        EP_IS_RELEASED,  /* the RSP has gone without a request */
        EP_IS_ASKED,     /* a request comes */
        EP_IS_NOT_ASKED, /* but it could not be reported */
        EP_IS_PASSED_BY, /* and is rejected, or handed off */
        EP_CONNECTS,
        EP_CANNOT_BEGIN, /* for want of means; nothing has been sent */
        EP_ACCEPTS,      /* a request that came without an EP */
        EP_ACCEPTS_OWN,  /* the request that came with it */
        EP_IS_ESTABLISHED,
        EP_FAILS,           /* to be connected */
        EP_LOSES,           /* its connection: the peer ends it, or it breaks */
        EP_LEAVES,          /* abruptly */
        EP_LEAVES_IN_PEACE, /* gracefully */
        EP_IS_DRAINED,
        EP_IS_QUIET, /* its queue pair takes and has nothing any more */
        EP_IS_RESET,
        EP_IS_FREED,
        EP_IS_DROPPED, /* with the request that it came with, or with its IA */
        EP_EVENTS
};

bool ep_may(const struct ep *ep, enum ep_event event);
bool ep_take(struct ep *ep, enum ep_event event, DAT_EVENT_NUMBER number);
void ep_must(struct ep *ep, enum ep_event event, DAT_EVENT_NUMBER number);
DAT_EP_STATE ep_dat_state(const struct ep *ep);
DAT_RETURN ep_state_error(const struct ep *ep);

/* Is what is posted in this state flushed? */
static inline bool ep_state_flushes(int state)
{
        return state == EP_ENDING || state == EP_DISCONNECTED;
}

/* Can what fails break a connection in this state? */
static inline bool ep_state_can_break(int state)
{
        return state == EP_CONNECTED || state == EP_DRAINING;
}

#endif
