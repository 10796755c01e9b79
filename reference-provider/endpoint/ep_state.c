/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint/ep_state.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/lock.h"
#include "endpoint/ep.h"
#include "endpoint/ep_flush.h"
#include "endpoint/qp.h"
#include "event/evd.h"
#include "event/evd_cno.h"
#include "event/evd_cq.h"

enum action {
        NOTHING,
        DRAIN,  /* waits for outstanding requests */
        END,    /* stops the queue pair and flushes the EP */
        FINISH, /* collects completions, flushes the other operations and posts the event */
        FORGET, /* drops what belongs to the last connection */
};

struct step {
        enum ep_state next; /* 0 if the event is invalid in the state */
        enum action action;
};

/* clang-format off */
static const struct step steps[EP_STATES][EP_EVENTS] = {
        [EP_UNCONNECTED] = {
                [EP_RSP_CREATED]           = {EP_RESERVED, NOTHING},
                [EP_CONNECT]               = {EP_CONNECTING, NOTHING},
                [EP_ACCEPT]                = {EP_ACCEPTING, NOTHING},
                [EP_RESET]                 = {EP_UNCONNECTED, NOTHING},
                [EP_FREED]                 = {EP_FLUSHING, END},
                [EP_DISCARDED]             = {EP_FLUSHING, END},
        },
        [EP_RESERVED] = {
                [EP_RSP_FREED]             = {EP_UNCONNECTED, NOTHING},
                [EP_CR_ARRIVED]            = {EP_PASSIVE, NOTHING},
                [EP_DISCARDED]             = {EP_FLUSHING, END},
        },
        [EP_PASSIVE] = {
                [EP_CR_UNDELIVERED]        = {EP_RESERVED, NOTHING},
                [EP_CR_DISPOSED]           = {EP_UNCONNECTED, NOTHING},
                [EP_ACCEPT_OWN]            = {EP_ACCEPTING, NOTHING},
                [EP_DISCARDED]             = {EP_FLUSHING, END},
        },
        [EP_TENTATIVE] = {
                [EP_ACCEPT_OWN]            = {EP_ACCEPTING, NOTHING},
                [EP_DISCARDED]             = {EP_FLUSHING, END},
        },
        [EP_CONNECTING] = {
                [EP_CONNECT_UNSENT]        = {EP_UNCONNECTED, NOTHING},
                [EP_ESTABLISHED]           = {EP_CONNECTED, NOTHING},
                [EP_CONNECT_FAILED]        = {EP_FLUSHING, END},
                [EP_DISCONNECT_ABRUPT]     = {EP_FLUSHING, END},
                [EP_DISCONNECT_GRACEFUL]   = {EP_FLUSHING, END},
                [EP_FREED]                 = {EP_FLUSHING, END},
                [EP_DISCARDED]             = {EP_FLUSHING, END},
        },
        [EP_ACCEPTING] = {
                [EP_ESTABLISHED]           = {EP_CONNECTED, NOTHING},
                [EP_CONNECT_FAILED]        = {EP_FLUSHING, END},
                [EP_DISCONNECT_ABRUPT]     = {EP_FLUSHING, END},
                [EP_DISCONNECT_GRACEFUL]   = {EP_FLUSHING, END},
                [EP_FREED]                 = {EP_FLUSHING, END},
                [EP_DISCARDED]             = {EP_FLUSHING, END},
        },
        [EP_CONNECTED] = {
                [EP_CONNECTION_LOST]       = {EP_FLUSHING, END},
                [EP_DISCONNECT_ABRUPT]     = {EP_FLUSHING, END},
                [EP_DISCONNECT_GRACEFUL]   = {EP_DRAINING, DRAIN},
                [EP_FREED]                 = {EP_FLUSHING, END},
                [EP_DISCARDED]             = {EP_FLUSHING, END},
        },
        [EP_DRAINING] = {
                [EP_CONNECTION_LOST]       = {EP_FLUSHING, END},
                [EP_DISCONNECT_ABRUPT]     = {EP_FLUSHING, END},
                [EP_DISCONNECT_GRACEFUL]   = {EP_DRAINING, NOTHING},
                [EP_DRAINED]               = {EP_FLUSHING, END},
                [EP_FREED]                 = {EP_FLUSHING, END},
                [EP_DISCARDED]             = {EP_FLUSHING, END},
        },
        [EP_FLUSHING] = {
                [EP_DISCONNECT_ABRUPT]     = {EP_FLUSHING, NOTHING},
                [EP_DISCONNECT_GRACEFUL]   = {EP_FLUSHING, NOTHING},
                [EP_FLUSHED]               = {EP_DISCONNECTED, FINISH},
                [EP_FREED]                 = {EP_FLUSHING, NOTHING},
                [EP_DISCARDED]             = {EP_FLUSHING, NOTHING},
        },
        [EP_DISCONNECTED] = {
                [EP_DISCONNECT_ABRUPT]     = {EP_DISCONNECTED, NOTHING},
                [EP_DISCONNECT_GRACEFUL]   = {EP_DISCONNECTED, NOTHING},
                [EP_RESET]                 = {EP_UNCONNECTED, FORGET},
                [EP_FREED]                 = {EP_DISCONNECTED, NOTHING},
                [EP_DISCARDED]             = {EP_DISCONNECTED, NOTHING},
        },
};
/* clang-format on */

static const struct step *step_of(const struct ep *ep, enum ep_event event)
{
        return &steps[atomic_load(&ep->state)][event];
}

/* Whether ep_transition() would accept the event. Called with ia->cm_lock held. */
bool ep_allows(const struct ep *ep, enum ep_event event)
{
        return step_of(ep, event)->next;
}

static void drain(struct ep *ep)
{
        struct evd *evd = ep_request_target(ep);

        ep->watching = true;
        evd_watch(evd, 1);
        evd_drain(evd);
        if (!atomic_load(&ep->requests.in_use))
                ep_must_transition(ep, EP_DRAINED, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* Flushes are made in software, because devices differ and soft-RoCE loses receives. */
static void collect_and_flush(struct ep *ep)
{
        if (ep->qp)
                qp_take_down(ep);
        evd_flush(ep_recv_target(ep), &ep->recvs);
        evd_flush(ep_request_target(ep), &ep->requests);
        if (ep->watching)
                evd_watch(ep_request_target(ep), -1);
        ep->watching = false;
}

/* Actions that no post may run beside. */
static void act_with_gate_closed(struct ep *ep, enum action action)
{
        if (action == END && ep->qp)
                qp_stop(ep);
        else if (action == FINISH)
                collect_and_flush(ep);
        else if (action == FORGET)
                ep->private_data_size = 0;
}

static void act(struct ep *ep, enum action action)
{
        if (action == DRAIN)
                drain(ep);
        else if (action == END && qp_may_hold(ep))
                ep_flush_add(ep);
        else if (action == END)
                ep_must_transition(ep, EP_FLUSHED, (DAT_EVENT_NUMBER)0);
        else if (action == FINISH && ep->last_event)
                ep_post_event(ep, ep->last_event);
}

/*
 * Handles an event: changes the state and performs the action of the transition. `number` is the
 * event to post at the end of a connection, or 0. Returns false, and changes nothing, if the event
 * is invalid in the state. Called with ia->cm_lock held and the gate open.
 */
bool ep_transition(struct ep *ep, enum ep_event event, DAT_EVENT_NUMBER number)
{
        const struct step *step = step_of(ep, event);

        if (!step->next)
                return false;
        if (step->action == END) {
                ep->last_event = number;
                if (ep->conn)
                        ep->disconnect(ep);
        }
        gate_close(&ep->gate);
        atomic_store(&ep->state, step->next);
        act_with_gate_closed(ep, step->action);
        gate_open(&ep->gate);
        act(ep, step->action);
        return true;
}

/* Handles an event that is valid in the EP's state. */
void ep_must_transition(struct ep *ep, enum ep_event event, DAT_EVENT_NUMBER number)
{
        bool taken = ep_transition(ep, event, number);

        assert(taken);
        (void)taken;
}

/* Returns the state as the Consumer sees it. */
DAT_EP_STATE ep_dat_state(const struct ep *ep)
{
        static const DAT_EP_STATE states[EP_STATES] = {
            [EP_UNCONNECTED] = DAT_EP_STATE_UNCONNECTED,
            [EP_RESERVED] = DAT_EP_STATE_RESERVED,
            [EP_PASSIVE] = DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
            [EP_TENTATIVE] = DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
            [EP_CONNECTING] = DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
            [EP_ACCEPTING] = DAT_EP_STATE_COMPLETION_PENDING,
            [EP_CONNECTED] = DAT_EP_STATE_CONNECTED,
            [EP_DRAINING] = DAT_EP_STATE_DISCONNECT_PENDING,
            [EP_FLUSHING] = DAT_EP_STATE_DISCONNECTED,
            [EP_DISCONNECTED] = DAT_EP_STATE_DISCONNECTED,
        };

        return states[atomic_load(&ep->state)];
}

/* Returns DAT_INVALID_STATE with the subtype of the EP's state. */
DAT_RETURN ep_state_error(const struct ep *ep)
{
        static const int subtypes[] = {
            [EP_UNCONNECTED] = DAT_INVALID_STATE_EP_UNCONNECTED,
            [EP_RESERVED] = DAT_INVALID_STATE_EP_RESERVED,
            [EP_PASSIVE] = DAT_INVALID_STATE_EP_PASSCONNPENDING,
            [EP_TENTATIVE] = DAT_INVALID_STATE_EP_TENTCONNPENDING,
            [EP_CONNECTING] = DAT_INVALID_STATE_EP_ACTCONNPENDING,
            [EP_ACCEPTING] = DAT_INVALID_STATE_EP_COMPLPENDING,
            [EP_CONNECTED] = DAT_INVALID_STATE_EP_CONNECTED,
            [EP_DRAINING] = DAT_INVALID_STATE_EP_DISCPENDING,
            [EP_FLUSHING] = DAT_INVALID_STATE_EP_DISCONNECTED,
            [EP_DISCONNECTED] = DAT_INVALID_STATE_EP_DISCONNECTED,
        };

        return REF_ERROR(DAT_INVALID_STATE, subtypes[atomic_load(&ep->state)]);
}
