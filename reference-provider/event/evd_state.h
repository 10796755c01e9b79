/* SPDX-License-Identifier: BSD-2-Clause */
/* Who waits on an EVD, and who may: states, events, and what follows. docs/provider.md draws it. */
#ifndef DAPLREF_EVD_STATE_H
#define DAPLREF_EVD_STATE_H

#include <assert.h>

/* Only one thread waits at a time. From EVD_RUNNING on the EVD is its own. */
enum evd_state {
        EVD_FREE,         /* nobody waits, and a thread may */
        EVD_UNWAITABLE,   /* nobody waits, nor may */
        EVD_CLOSING,      /* the same, for good */
        EVD_RUNNING,      /* the waiter runs, and holds the lock */
        EVD_SLEEPING,     /* it sleeps */
        EVD_WAKE_PENDING, /* it is to be woken when the lock is released, which somebody else holds
                           */
        EVD_WOKEN,        /* it has been woken, and has not run yet */
        EVD_STATES,
        EVD_INVALID = EVD_STATES
};

enum evd_input {
        EVD_ENTER,           /* a thread begins to wait */
        EVD_SLEEP,           /* it goes to sleep, and so releases the lock */
        EVD_ARRIVAL,         /* there is something to look at */
        EVD_UNLOCK,          /* somebody else releases the lock */
        EVD_RUN,             /* the waiter has the lock again, woken or not */
        EVD_LEAVE,           /* it returns */
        EVD_MAKE_UNWAITABLE, /* this and a close send the waiter away */
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
