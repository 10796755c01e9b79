/* SPDX-License-Identifier: BSD-2-Clause */
/* The states of an EP and the events that change them. docs/provider-states.md has a diagram. */
#ifndef DAPLREF_EP_STATE_H
#define DAPLREF_EP_STATE_H

#include <stdbool.h>

#include "base/daplref.h"

struct ep;

enum ep_state {
        EP_UNCONNECTED = 1,
        EP_RESERVED,  /* by an RSP */
        EP_PASSIVE,   /* the request of its RSP is reported */
        EP_TENTATIVE, /* made by the Provider for a request */
        EP_CONNECTING,
        EP_ACCEPTING,
        EP_CONNECTED,
        EP_DRAINING, /* is disconnected after its requests have completed */
        EP_FLUSHING, /* Disconnected for the Consumer, but the queue pair still holds receives */
        EP_DISCONNECTED, /* Disconnected, and everything is flushed */
        EP_STATES
};

enum ep_event {
        EP_RSP_CREATED,
        EP_RSP_FREED,      /* without a request */
        EP_CR_ARRIVED,     /* for the EP of an RSP */
        EP_CR_UNDELIVERED, /* the EVD of the RSP was full */
        EP_CR_DISPOSED,    /* rejected or handed off */
        EP_CONNECT,
        EP_CONNECT_UNSENT, /* for lack of resources, before anything was sent */
        EP_ACCEPT,         /* a CR that came without an EP */
        EP_ACCEPT_OWN,     /* the CR that came with the EP */
        EP_ESTABLISHED,
        EP_CONNECT_FAILED,      /* or the accept failed */
        EP_CONNECTION_LOST,     /* the peer disconnected, or the connection broke */
        EP_DISCONNECT_ABRUPT,   /* by dat_ep_disconnect() */
        EP_DISCONNECT_GRACEFUL, /* by dat_ep_disconnect() */
        EP_DRAINED,
        EP_FLUSHED, /* the queue pair holds nothing any more */
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

/* Whether operations posted in this state are flushed. */
static inline bool ep_state_flushes(int state)
{
        return state == EP_FLUSHING || state == EP_DISCONNECTED;
}

/* Whether a failed operation breaks the connection in this state. */
static inline bool ep_state_can_break(int state)
{
        return state == EP_CONNECTED || state == EP_DRAINING;
}

#endif
