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
        EP_FLUSHING,     /* Disconnected, but its queue pair may still have something */
        EP_DISCONNECTED, /* and everything flushed */
        EP_STATES
};

enum ep_event {
        EP_RSP_CREATED,
        EP_RSP_FREED,      /* the RSP has gone without a request */
        EP_CR_ARRIVED,     /* a request comes */
        EP_CR_UNDELIVERED, /* but it could not be reported */
        EP_CR_DISPOSED,    /* and is rejected, or handed off */
        EP_CONNECT,
        EP_CONNECT_UNSENT, /* for want of means; nothing has been sent */
        EP_ACCEPT,         /* a request that came without an EP */
        EP_ACCEPT_OWN,     /* the request that came with it */
        EP_ESTABLISHED,
        EP_CONNECT_FAILED,      /* to be connected */
        EP_CONNECTION_LOST,     /* its connection: the peer ends it, or it breaks */
        EP_DISCONNECT_ABRUPT,   /* abruptly */
        EP_DISCONNECT_GRACEFUL, /* gracefully */
        EP_DRAINED,
        EP_FLUSHED, /* its queue pair takes and has nothing any more */
        EP_RESET,
        EP_FREED,
        EP_DISCARDED, /* with the request that it came with, or with its IA */
        EP_EVENTS
};

bool ep_allows(const struct ep *ep, enum ep_event event);
bool ep_transition(struct ep *ep, enum ep_event event, DAT_EVENT_NUMBER number);
void ep_must_transition(struct ep *ep, enum ep_event event, DAT_EVENT_NUMBER number);
DAT_EP_STATE ep_dat_state(const struct ep *ep);
DAT_RETURN ep_state_error(const struct ep *ep);

/* Is what is posted in this state flushed? */
static inline bool ep_state_flushes(int state)
{
        return state == EP_FLUSHING || state == EP_DISCONNECTED;
}

/* Can what fails break a connection in this state? */
static inline bool ep_state_can_break(int state)
{
        return state == EP_CONNECTED || state == EP_DRAINING;
}

#endif
