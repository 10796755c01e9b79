/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/destroy_async.h"
#include "base/ia.h"
#include "base/list.h"
#include "base/os.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/*
 * On iWARP the kernel keeps an id whose request is unanswered, and its queue pair, for up to ten
 * seconds. Destroying them would block the Consumer in dat_ep_free() or dat_ia_close(), so a thread
 * does it. Verbs objects that such a queue pair uses are destroyed after it, in the order in which
 * they were passed here.
 */
struct destroyer {
        pthread_mutex_t lock;
        pthread_cond_t done;
        struct link queue;
        bool running; /* a thread that empties the queue */
        bool left;    /* the IA is freed */
        struct rdma_event_channel *channel;
};

#define CLOSING_TIME 1 /* seconds that dat_ia_close() waits for the queue to become empty */

struct destruction {
        struct link link;
        void (*destroy)(void *object);
        void *object;
};

/* Called once, when both the thread and the IA have finished. */
static void end(struct destroyer *destroyer)
{
        rdma_destroy_event_channel(destroyer->channel);
        pthread_cond_destroy(&destroyer->done);
        pthread_mutex_destroy(&destroyer->lock);
        free(destroyer);
}

static void *run(void *argument)
{
        struct destroyer *destroyer = argument;
        bool last;

        pthread_detach(pthread_self());
        pthread_mutex_lock(&destroyer->lock);
        while (!list_empty(&destroyer->queue)) {
                struct destruction *destruction =
                    container_of(destroyer->queue.next, struct destruction, link);

                pthread_mutex_unlock(&destroyer->lock);
                destruction->destroy(destruction->object);
                pthread_mutex_lock(&destroyer->lock);
                list_remove(&destruction->link);
                free(destruction);
        }
        destroyer->running = false;
        pthread_cond_signal(&destroyer->done);
        last = destroyer->left;
        pthread_mutex_unlock(&destroyer->lock);
        if (last)
                end(destroyer);
        return NULL;
}

static bool send_out(struct destroyer *destroyer, struct destruction *destruction)
{
        pthread_t thread;

        if (!destroyer->running)
                destroyer->running = thread_spawn(&thread, run, destroyer);
        if (destroyer->running)
                list_append(&destroyer->queue, &destruction->link);
        return destroyer->running;
}

static bool defer(struct destroyer *destroyer, bool slow, void (*destroy)(void *), void *object)
{
        struct destruction *destruction;
        bool deferred = false;

        if (!destroyer)
                return false;
        destruction = calloc(1, sizeof(*destruction));
        if (!destruction)
                return false;
        *destruction = (struct destruction){.destroy = destroy, .object = object};
        pthread_mutex_lock(&destroyer->lock);
        if (slow || destroyer->running)
                deferred = send_out(destroyer, destruction);
        pthread_mutex_unlock(&destroyer->lock);
        if (!deferred)
                free(destruction);
        return deferred;
}

/* Destroys an object that can block, in the thread if there is one, else in the call. */
void destroy_async(struct ia *ia, void (*destroy)(void *), void *object)
{
        if (!defer(ia->destroyer, true, destroy, object))
                destroy(object);
}

/* Destroys an object that queued objects may use: after them, or in the call if none is queued. */
static void destroy_behind(struct ia *ia, void (*destroy)(void *), void *object)
{
        if (!defer(ia->destroyer, false, destroy, object))
                destroy(object);
}

static void destroy_srq(void *srq)
{
        ibv_destroy_srq(srq);
}

void destroy_async_srq(struct ia *ia, struct ibv_srq *srq)
{
        destroy_behind(ia, destroy_srq, srq);
}

static void destroy_cq(void *cq)
{
        ibv_destroy_cq(cq);
}

void destroy_async_cq(struct ia *ia, struct ibv_cq *cq)
{
        destroy_behind(ia, destroy_cq, cq);
}

static void destroy_channel(void *channel)
{
        ibv_destroy_comp_channel(channel);
}

void destroy_async_channel(struct ia *ia, struct ibv_comp_channel *channel)
{
        destroy_behind(ia, destroy_channel, channel);
}

static void dealloc_pd(void *pd)
{
        ibv_dealloc_pd(pd);
}

void destroy_async_pd(struct ia *ia, struct ibv_pd *pd)
{
        destroy_behind(ia, dealloc_pd, pd);
}

static void close_device(void *verbs)
{
        ibv_close_device(verbs);
}

void destroy_async_device(struct ia *ia, struct ibv_context *verbs)
{
        destroy_behind(ia, close_device, verbs);
}

/* Prepares asynchronous destruction for an IA on iWARP. Returns false if there is no memory. */
bool destroy_async_start(struct ia *ia)
{
        struct destroyer *destroyer = calloc(1, sizeof(*destroyer));
        pthread_condattr_t attr;

        if (!destroyer)
                return false;
        pthread_condattr_init(&attr);
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        pthread_cond_init(&destroyer->done, &attr);
        pthread_condattr_destroy(&attr);
        pthread_mutex_init(&destroyer->lock, NULL);
        list_init(&destroyer->queue);
        destroyer->channel = ia->cm;
        ia->destroyer = destroyer;
        return true;
}

/* Waits up to CLOSING_TIME for the queue, so that a closed IA usually leaves nothing behind. */
static void await(struct destroyer *destroyer)
{
        struct timespec until;

        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += CLOSING_TIME;
        while (destroyer->running &&
               !pthread_cond_timedwait(&destroyer->done, &destroyer->lock, &until))
                ;
}

/*
 * Ends asynchronous destruction for the IA. The channel is destroyed after the queued objects.
 * Called when no thread uses either.
 */
void destroy_async_stop(struct ia *ia)
{
        struct destroyer *destroyer = ia->destroyer;
        bool last;

        if (destroyer) {
                pthread_mutex_lock(&destroyer->lock);
                await(destroyer);
                destroyer->left = true;
                last = !destroyer->running;
                pthread_mutex_unlock(&destroyer->lock);
                if (last)
                        end(destroyer);
        } else if (ia->cm) {
                rdma_destroy_event_channel(ia->cm);
        }
        ia->destroyer = NULL;
        ia->cm = NULL;
}
