/* SPDX-License-Identifier: BSD-2-Clause */
#include "event.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WAIT_TIMEOUT = 1, WAIT_EVENT = 3, WAIT_N_MORE = 4, DEQUEUE_EVENT = 1 };

static bool is_wait(const struct call *call)
{
        return call->slot == &call_slots[SLOT_EVD_WAIT];
}

bool event_takes(const struct call *call)
{
        return is_wait(call) || call->slot == &call_slots[SLOT_EVD_DEQUEUE];
}

static DAT_EVENT *event_of(const struct call *call)
{
        return call_pointer(call, is_wait(call) ? WAIT_EVENT : DEQUEUE_EVENT);
}

static int64_t now_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static struct held *hold(struct handle *evd, const DAT_EVENT *event, bool after_next)
{
        struct held *held = calloc(1, sizeof(*held));
        struct held **end;

        if (!held)
                abort();
        held->event = *event;
        held->after_next = after_next;
        for (end = &evd->held; *end; end = &(*end)->next)
                ;
        *end = held;
        return held;
}

static void hold_second(struct handle *evd, const DAT_EVENT *event, const struct step *step)
{
        struct held *held = hold(evd, event, false);

        if (step->number)
                held->event.event_number = step->number;
        if (step->late_ms)
                held->due_us = now_us() + (int64_t)step->late_ms * 1000;
}

/* Only events about the same object have an order that anybody was promised. */
static void release_reordered(struct handle *evd, const DAT_EVENT *passed)
{
        for (struct held *held = evd->held; held; held = held->next) {
                if (held->after_next && event_object(&held->event) == event_object(passed))
                        held->after_next = false;
        }
}

static bool take_held(struct handle *evd, DAT_EVENT *event)
{
        for (struct held **at = &evd->held; *at; at = &(*at)->next) {
                struct held *held = *at;

                if (held->after_next || held->due_us > now_us())
                        continue;
                *event = held->event;
                *at = held->next;
                free(held);
                return true;
        }
        return false;
}

/* Whether a completion is of a receive. On a shared EVD, the cookie decides. */
static bool note_received(struct call *call)
{
        const DAT_DTO_COMPLETION_EVENT_DATA *dto =
            &call->event->event_data.dto_completion_event_data;
        struct handle *evd = handle_find(call->event->evd_handle);
        struct handle *ep;

        if (call->event->event_number != DAT_DTO_COMPLETION_EVENT)
                return false;
        ep = handle_find(dto->ep_handle);
        if (!ep || ep->type != DAT_HANDLE_TYPE_EP || ep->recv_evd != evd)
                return false;
        return handle_reap(ep->srq ? ep->srq : ep, dto->user_cookie.as_64, &call->received);
}

static void corrupt(const struct call *call)
{
        if (call->is_received && call->received.address && call->received.length)
                call->received.address[0] ^= 0xff;
}

/* Whether the consumer gets the event now. */
static bool pass(struct call *call, struct handle *evd, const struct step *step)
{
        switch (step->effect) {
        case EFFECT_LOSE:
                return false;
        case EFFECT_DOUBLE:
                hold_second(evd, call->event, step);
                return true;
        case EFFECT_REORDER:
                hold(evd, call->event, true);
                return false;
        case EFFECT_CORRUPT:
                corrupt(call);
                return true;
        case EFFECT_SET:
        case EFFECT_ALSO:
                step->change(call);
                return true;
        default:
                call_misbehave(call, step);
                return true;
        }
}

/* Looks at the event that the wrapped provider gave; whether the consumer gets it now. */
static bool look(struct call *call, struct handle *evd, DAT_EVENT *event)
{
        const struct fault *fault = call->mutant->fault;
        bool passes = true;

        call->event = event;
        call->is_received = note_received(call);
        fault_facts(call);
        for (int i = 0; fault && passes && i < fault->step_count; i++) {
                if (fault_strikes(call, i, true))
                        passes = pass(call, evd, &fault->steps[i]);
        }
        fault_arm(call, true);
        call->event = NULL;
        if (passes)
                release_reordered(evd, event);
        return passes;
}

static void store_n_more(const struct call *call, DAT_COUNT count)
{
        DAT_COUNT *n_more = is_wait(call) ? call_pointer(call, WAIT_N_MORE) : NULL;

        if (n_more)
                *n_more = count;
}

static DAT_RETURN take_from(struct call *call, struct handle *evd, DAT_EVENT *event)
{
        DAT_TIMEOUT timeout = is_wait(call) ? (DAT_TIMEOUT)call->arg[WAIT_TIMEOUT] : 0;
        bool ends = is_wait(call) && timeout != DAT_TIMEOUT_INFINITE;
        int64_t deadline = ends ? now_us() + timeout : 0;
        DAT_RETURN ret;

        for (;;) {
                int64_t left;

                if (take_held(evd, event)) {
                        store_n_more(call, 0);
                        return DAT_SUCCESS;
                }
                ret = call_inner(call);
                if (ret != DAT_SUCCESS || look(call, evd, event))
                        return ret;
                left = deadline - now_us();
                if (ends)
                        call->arg[WAIT_TIMEOUT] = left > 0 ? (DAT_TIMEOUT)left : 0;
        }
}

DAT_RETURN event_take(struct call *call)
{
        struct handle *evd = handle_find(call_pointer(call, 0));
        DAT_EVENT *event = event_of(call);

        if (!evd || evd->type != DAT_HANDLE_TYPE_EVD || !event)
                return call_inner(call);
        return take_from(call, evd, event);
}

/*
 * Sleeps until the timeout of the wait; without a timeout, without limit. It is a sleep for events,
 * though of no file: a harness that looks for a waiter counts no sleep of a fixed length.
 */
static void sleep_through(DAT_TIMEOUT timeout)
{
        const int ms = timeout == DAT_TIMEOUT_INFINITE ? -1 : (int)(timeout / 1000);

        while (poll(NULL, 0, ms) < 0 && errno == EINTR)
                ;
}

DAT_RETURN event_sleep_through(struct call *call)
{
        DAT_TIMEOUT timeout = is_wait(call) ? (DAT_TIMEOUT)call->arg[WAIT_TIMEOUT] : 0;
        DAT_RETURN ret;

        if (is_wait(call))
                call->arg[WAIT_TIMEOUT] = 0;
        ret = event_takes(call) ? event_take(call) : call_inner(call);
        if (DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED)
                return ret;
        sleep_through(timeout);
        return event_take(call);
}

DAT_RETURN event_invent(struct call *call, const struct step *step)
{
        DAT_EVENT *event = event_of(call);

        if (!event)
                return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER;
        memset(event, 0, sizeof(*event));
        event->event_number = step->number;
        event->evd_handle = call_pointer(call, 0);
        call->event = event;
        if (step->change)
                step->change(call);
        call->event = NULL;
        store_n_more(call, 0);
        return DAT_SUCCESS;
}
