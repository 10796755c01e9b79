/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/in_vain.h"

#include <pthread.h>
#include <string.h>

#include "case/poison.h"
#include "case/sleep_until.h"
#include "case/step.h"
#include "case/test.h"

#define KEPT 64 /* of each kind, the newest */

struct pair {
        DAT_CR_HANDLE request;
        DAT_EP_HANDLE ep;
};

#define ACCEPT      "dat_cr_accept"
#define CONNECT     "dat_ep_connect"
#define DUP_CONNECT "dat_ep_dup_connect"

struct use {
        const char *call;
        DAT_EP_HANDLE ep;
};

static struct {
        pthread_mutex_t lock;
        struct pair known[KEPT];
        size_t known_count;
        struct use used[KEPT];
        size_t used_count;
} made = {.lock = PTHREAD_MUTEX_INITIALIZER};

void in_vain_request_of(DAT_CR_HANDLE request, DAT_EP_HANDLE ep)
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

/* With the lock held. */
static void add(const char *call, DAT_EP_HANDLE ep)
{
        if (ep)
                made.used[made.used_count++ % KEPT] = (struct use){call, ep};
}

void in_vain_accepted(DAT_CR_HANDLE request, DAT_EP_HANDLE ep)
{
        pthread_mutex_lock(&made.lock);
        add(ACCEPT, ep ? ep : ep_of(request));
        pthread_mutex_unlock(&made.lock);
}

void in_vain_connected(const char *call, DAT_EP_HANDLE ep)
{
        pthread_mutex_lock(&made.lock);
        add(call, ep);
        pthread_mutex_unlock(&made.lock);
}

void in_vain_forget(DAT_EP_HANDLE ep)
{
        pthread_mutex_lock(&made.lock);
        for (size_t i = 0; i < KEPT; i++)
                if (made.used[i].ep == ep)
                        made.used[i].ep = DAT_HANDLE_NULL;
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

/* The look is made without the lock, which the look's own calls take. */
static void must_show_at(struct test *t, const char *call, const char *what, bool clause)
{
        struct use used[KEPT];

        if (clause && step_is_own(t->entry->page, call))
                return;
        pthread_mutex_lock(&made.lock);
        memcpy(used, made.used, sizeof(used));
        pthread_mutex_unlock(&made.lock);
        for (size_t i = 0; i < KEPT; i++) {
                if (used[i].ep && strcmp(used[i].call, call) == 0 && is_in_vain(t, used[i].ep))
                        must_show(t, call, "the state of its EP", what, false);
        }
        if (t->ask_peer)
                t->ask_peer(t->peer, call);
}

void accepts_must_show(struct test *t, bool clause)
{
        /* What a handoff has broken shows in the accept behind it. */
        if (!is_of_page(t, "cr_handoff"))
                must_show_at(t, ACCEPT, "that it was accepted", clause);
}

void connects_must_show(struct test *t, bool clause)
{
        must_show_at(t, CONNECT, "that it was connected", clause);
        must_show_at(t, DUP_CONNECT, "that it was connected", clause);
}
