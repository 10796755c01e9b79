/* SPDX-License-Identifier: BSD-2-Clause */
#include "linger.h"
#include "ia.h"
#include "service.h"

#include <pthread.h>
#include <stdlib.h>

/*
 * On iWARP the kernel destroys an id whose request is under way only once the peer has answered it,
 * or after ten seconds; who waited for that would be the Consumer, in dat_ep_free or dat_ia_close.
 */
struct lingering {
        pthread_mutex_t lock;
        int users; /* the IA, and the ids that are being destroyed */
        struct rdma_event_channel *channel;
};

struct errand {
        struct lingering *of;
        struct rdma_cm_id *id;
};

static void leave(struct lingering *lingering)
{
        bool last;

        pthread_mutex_lock(&lingering->lock);
        last = !--lingering->users;
        pthread_mutex_unlock(&lingering->lock);
        if (!last)
                return;
        rdma_destroy_event_channel(lingering->channel);
        pthread_mutex_destroy(&lingering->lock);
        free(lingering);
}

static void *run(void *argument)
{
        struct errand *errand = argument;

        pthread_detach(pthread_self());
        rdma_destroy_id(errand->id);
        leave(errand->of);
        free(errand);
        return NULL;
}

static struct lingering *lingering_of(struct ia *ia)
{
        struct lingering *made = ia->lingering;

        if (made)
                return made;
        made = calloc(1, sizeof(*made));
        if (!made)
                return NULL;
        pthread_mutex_init(&made->lock, NULL);
        made->users = 1;
        made->channel = ia->cm;
        ia->lingering = made;
        return made;
}

/*
 * Has the id destroyed without waiting for it; its events mean nothing from here on. False when
 * that cannot be done, and nothing has happened. Called with ia->cm_turn held.
 */
bool linger_destroy(struct ia *ia, struct rdma_cm_id *id)
{
        struct errand *errand = calloc(1, sizeof(*errand));
        struct lingering *lingering = lingering_of(ia);
        pthread_t thread;

        if (!errand || !lingering)
                goto failed;
        pthread_mutex_lock(&ia->cm_lock);
        id->context = NULL;
        pthread_mutex_unlock(&ia->cm_lock);
        *errand = (struct errand){.of = lingering, .id = id};
        pthread_mutex_lock(&lingering->lock);
        lingering->users++;
        pthread_mutex_unlock(&lingering->lock);
        if (service_spawn(&thread, run, errand))
                return true;
        leave(lingering);
failed:
        free(errand);
        return false;
}

/* The IA goes, and with the last of its ids its channel. Called when no thread uses either. */
void linger_leave(struct ia *ia)
{
        if (ia->lingering)
                leave(ia->lingering);
        else if (ia->cm)
                rdma_destroy_event_channel(ia->cm);
        ia->lingering = NULL;
        ia->cm = NULL;
}
