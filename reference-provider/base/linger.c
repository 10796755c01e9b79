/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/linger.h"
#include "base/ia.h"
#include "base/list.h"
#include "base/os.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/*
 * On iWARP the kernel lets neither an id go whose request is under way, nor the queue pair that it
 * bears, before the peer has answered it, or for ten seconds; who waited for that would be the
 * Consumer, in dat_ep_free or dat_ia_close. So a thread waits. What verbs keeps as long as such a
 * queue pair needs it is destroyed behind that, in the order in which it was given up.
 */
struct lingering {
        pthread_mutex_t lock;
        pthread_cond_t done;
        struct link errands;
        bool running; /* a thread that sees to them */
        bool left;    /* the IA has gone */
        struct rdma_event_channel *channel;
};

#define CLOSING_TIME 1 /* seconds: what the close of the IA has ended itself is gone by then */

struct errand {
        struct link link;
        void (*destroy)(void *object);
        void *object;
};

/* Called once with both, or with the IA only. */
static void end(struct lingering *lingering)
{
        rdma_destroy_event_channel(lingering->channel);
        pthread_cond_destroy(&lingering->done);
        pthread_mutex_destroy(&lingering->lock);
        free(lingering);
}

static void *run(void *argument)
{
        struct lingering *lingering = argument;
        bool last;

        pthread_detach(pthread_self());
        pthread_mutex_lock(&lingering->lock);
        while (!list_empty(&lingering->errands)) {
                struct errand *errand = container_of(lingering->errands.next, struct errand, link);

                pthread_mutex_unlock(&lingering->lock);
                errand->destroy(errand->object);
                pthread_mutex_lock(&lingering->lock);
                list_remove(&errand->link);
                free(errand);
        }
        lingering->running = false;
        pthread_cond_signal(&lingering->done);
        last = lingering->left;
        pthread_mutex_unlock(&lingering->lock);
        if (last)
                end(lingering);
        return NULL;
}

static bool send_out(struct lingering *lingering, struct errand *errand)
{
        pthread_t thread;

        if (!lingering->running)
                lingering->running = thread_spawn(&thread, run, lingering);
        if (lingering->running)
                list_append(&lingering->errands, &errand->link);
        return lingering->running;
}

static bool defer(struct lingering *lingering, bool slow, void (*destroy)(void *), void *object)
{
        struct errand *errand;
        bool deferred = false;

        if (!lingering)
                return false;
        errand = calloc(1, sizeof(*errand));
        if (!errand)
                return false;
        *errand = (struct errand){.destroy = destroy, .object = object};
        pthread_mutex_lock(&lingering->lock);
        if (slow || lingering->running)
                deferred = send_out(lingering, errand);
        pthread_mutex_unlock(&lingering->lock);
        if (!deferred)
                free(errand);
        return deferred;
}

/* Destroys what may take long, beside the caller if that can be. */
void linger_destroy(struct ia *ia, void (*destroy)(void *), void *object)
{
        if (!defer(ia->lingering, true, destroy, object))
                destroy(object);
}

/* Destroys what something else may need that lingers: behind that, or else at once. */
static void destroy_behind(struct ia *ia, void (*destroy)(void *), void *object)
{
        if (!defer(ia->lingering, false, destroy, object))
                destroy(object);
}

static void destroy_srq(void *srq)
{
        ibv_destroy_srq(srq);
}

void linger_destroy_srq(struct ia *ia, struct ibv_srq *srq)
{
        destroy_behind(ia, destroy_srq, srq);
}

static void destroy_cq(void *cq)
{
        ibv_destroy_cq(cq);
}

void linger_destroy_cq(struct ia *ia, struct ibv_cq *cq)
{
        destroy_behind(ia, destroy_cq, cq);
}

static void destroy_channel(void *channel)
{
        ibv_destroy_comp_channel(channel);
}

void linger_destroy_channel(struct ia *ia, struct ibv_comp_channel *channel)
{
        destroy_behind(ia, destroy_channel, channel);
}

static void dealloc_pd(void *pd)
{
        ibv_dealloc_pd(pd);
}

void linger_dealloc_pd(struct ia *ia, struct ibv_pd *pd)
{
        destroy_behind(ia, dealloc_pd, pd);
}

static void close_device(void *verbs)
{
        ibv_close_device(verbs);
}

void linger_close_device(struct ia *ia, struct ibv_context *verbs)
{
        destroy_behind(ia, close_device, verbs);
}

/* Makes ready for what may linger of an IA on iWARP; false when there is no memory. */
bool linger_start(struct ia *ia)
{
        struct lingering *lingering = calloc(1, sizeof(*lingering));
        pthread_condattr_t attr;

        if (!lingering)
                return false;
        pthread_condattr_init(&attr);
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        pthread_cond_init(&lingering->done, &attr);
        pthread_condattr_destroy(&attr);
        pthread_mutex_init(&lingering->lock, NULL);
        list_init(&lingering->errands);
        lingering->channel = ia->cm;
        ia->lingering = lingering;
        return true;
}

/* Waits a little for what lingers, so that an IA that is closed has left nothing if it can. */
static void await(struct lingering *lingering)
{
        struct timespec until;

        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += CLOSING_TIME;
        while (lingering->running &&
               !pthread_cond_timedwait(&lingering->done, &lingering->lock, &until))
                ;
}

/* The IA goes, and behind all that lingers its channel. Called when no thread uses either. */
void linger_leave(struct ia *ia)
{
        struct lingering *lingering = ia->lingering;
        bool last;

        if (lingering) {
                pthread_mutex_lock(&lingering->lock);
                await(lingering);
                lingering->left = true;
                last = !lingering->running;
                pthread_mutex_unlock(&lingering->lock);
                if (last)
                        end(lingering);
        } else if (ia->cm) {
                rdma_destroy_event_channel(ia->cm);
        }
        ia->lingering = NULL;
        ia->cm = NULL;
}
