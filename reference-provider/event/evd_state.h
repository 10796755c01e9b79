/* SPDX-License-Identifier: BSD-2-Clause */
/* The states of the thread that waits on an EVD. docs/provider-states.md has a diagram. */
#ifndef DAPLREF_EVD_STATE_H
#define DAPLREF_EVD_STATE_H

#include <assert.h>

/* One thread waits at a time. From EVD_RUNNING on, the EVD belongs to it. */
enum evd_state {
        EVD_FREE,         /* no thread waits */
        EVD_UNWAITABLE,   /* no thread waits, and none may */
        EVD_CLOSING,      /* no thread waits, and none may any more */
        EVD_RUNNING,      /* the waiter runs and holds the lock */
        EVD_SLEEPING,     /* the waiter sleeps */
        EVD_WAKE_PENDING, /* the thread that holds the lock wakes the waiter when it releases it */
        EVD_WOKEN,        /* the waiter is woken but has not run yet */
        EVD_STATES,
        EVD_INVALID = EVD_STATES
};

enum evd_input {
        EVD_ENTER,           /* a thread starts to wait */
        EVD_SLEEP,           /* the waiter sleeps, and releases the lock */
        EVD_ARRIVAL,         /* an event arrives */
        EVD_UNLOCK,          /* another thread releases the lock */
        EVD_RUN,             /* the waiter has the lock again */
        EVD_LEAVE,           /* the waiter returns */
        EVD_MAKE_UNWAITABLE, /* this and a close cancel the wait */
        EVD_CLOSE,
        EVD_MAKE_WAITABLE,
        EVD_INPUTS
};

extern const unsigned char evd_next[EVD_INPUTS][EVD_STATES];

static inline enum evd_state evd_after(enum evd_state state, enum evd_input input)
{
        enum evd_state next = (enum evd_state)evd_next[input][state];

        assert(next != EVD_INVALID);
        return next;
}

#endif
