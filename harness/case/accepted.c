/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/accepted.h"

#include <pthread.h>
#include <string.h>

#include "case/poison.h"
#include "case/sleep_until.h"
#include "case/test.h"

#define KEPT 64 /* of each kind, the newest */

struct pair {
        DAT_CR_HANDLE request;
        DAT_EP_HANDLE ep;
};

static struct {
        pthread_mutex_t lock;
        struct pair known[KEPT];
        size_t known_count;
        DAT_EP_HANDLE accepted[KEPT];
        size_t accepted_count;
} made = {.lock = PTHREAD_MUTEX_INITIALIZER};

void accepted_request_of(DAT_CR_HANDLE request, DAT_EP_HANDLE ep)
{
        pthread_mutex_lock(&made.lock);
        made.known[made.known_count++ % KEPT] = (struct pair){request, ep};
        pthread_mutex_unlock(&made.lock);
}

/* With the lock held. The newest counts, since handles are used again. */
static DAT_EP_HANDLE ep_of(DAT_CR_HANDLE request)
{
        for (size_t i = made.known_count; i > 0 && made.known_count - i < KEPT; i--)
                if (made.known[(i - 1) % KEPT].request == request)
                        return made.known[(i - 1) % KEPT].ep;
        return DAT_HANDLE_NULL;
}

void accepted_with(DAT_CR_HANDLE request, DAT_EP_HANDLE ep)
{
        pthread_mutex_lock(&made.lock);
        if (!ep)
                ep = ep_of(request);
        if (ep)
                made.accepted[made.accepted_count++ % KEPT] = ep;
        pthread_mutex_unlock(&made.lock);
}

void accepted_forget(DAT_EP_HANDLE ep)
{
        pthread_mutex_lock(&made.lock);
        for (size_t i = 0; i < KEPT; i++)
                if (made.accepted[i] == ep)
                        made.accepted[i] = DAT_HANDLE_NULL;
        pthread_mutex_unlock(&made.lock);
}

/* An EP of an RSP may be called Passive Connection Pending behind an accept too (EP-8). */
static bool is_from_before(DAT_EP_STATE state)
{
        return state == DAT_EP_STATE_UNCONNECTED || state == DAT_EP_STATE_RESERVED ||
               state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING;
}

/* Twice, since the operation is asynchronous, and the asker may have been told early. */
static bool is_in_vain(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_STATE state;

        if (!ep_state_told(t, ep, &state) || !is_from_before(state))
                return false;
        sleep_until(now_ns() + (uint64_t)t->settings->quiet_ms * 1000000);
        return ep_state_told(t, ep, &state) && is_from_before(state);
}

void accepts_must_show(struct test *t)
{
        DAT_EP_HANDLE accepted[KEPT];

        /* What a handoff has broken shows in the accept behind it. */
        if (is_of_page(t, "cr_accept") || is_of_page(t, "cr_handoff"))
                return;
        pthread_mutex_lock(&made.lock);
        memcpy(accepted, made.accepted, sizeof(accepted));
        pthread_mutex_unlock(&made.lock);
        for (size_t i = 0; i < KEPT; i++) {
                if (accepted[i] && is_in_vain(t, accepted[i]))
                        must_show(t, "dat_cr_accept", "the state of its EP", "that it was accepted",
                                  false);
        }
        if (t->ask_peer_for_accept)
                t->ask_peer_for_accept(t->peer);
}
