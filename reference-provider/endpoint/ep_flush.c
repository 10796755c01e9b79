/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint/ep_flush.h"

#include <linux/membarrier.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/ia.h"
#include "base/os.h"
#include "endpoint/ep.h"
#include "endpoint/ep_state.h"

/*
 * A queue pair in ERR takes no more SRQ receives, but a processor may be processing one message,
 * and a tasklet may return the receive of an incomplete one. soft-RoCE reports neither, and a queue
 * pair destroyed earlier loses the receive. So an EP with an SRQ is flushed after a barrier that
 * each processor passes. Adapters work asynchronously and report IBV_EVENT_QP_LAST_WQE_REACHED. A
 * queue pair destroyed earlier loses completions and buffers. No attribute says which devices
 * report it, so a device that was silent once is not waited for again.
 */

#define PATIENCE 500000  /* microseconds to wait for the report of an adapter */
#define MOMENT   1000000 /* nanoseconds between two checks for the report */

static void pause_for(long nanoseconds)
{
        struct timespec time = {.tv_nsec = nanoseconds};

        (void)ppoll(NULL, 0, &time, NULL);
}

static void pass_barrier(bool awaits_last_wqe)
{
        /* nanoseconds to wait instead if the kernel lacks membarrier */
        const long instead = 100000000;

        /* This processor: tasklets run after the timer interrupt. */
        pause_for(awaits_last_wqe ? MOMENT : 1);
        /* Other processors: the kernel waits for a quiescent state of each. */
        if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
                pause_for(instead);
}

void ep_flush_init(struct ia *ia)
{
        list_init(&ia->flush.eps);
        pthread_cond_init(&ia->flush.more, NULL);
}

void ep_flush_destroy(struct ia *ia)
{
        pthread_cond_destroy(&ia->flush.more);
}

/* Whether the device has completed all receives of a queue pair that is past its barrier. */
static bool is_flushed(struct ep_flush *flush, const struct ep *ep)
{
        if (!flush->awaits_last_wqe || atomic_load(&ep->last_wqe_reached))
                return true;
        if (now_us() < ep->flush_deadline)
                return false;
        flush->awaits_last_wqe = atomic_load(&flush->reports_last_wqe);
        return true;
}

/* Passes one barrier and finishes the EPs that waited for it. Releases the lock meanwhile. */
static void pass(struct ia *ia)
{
        struct ep_flush *flush = &ia->flush;
        uint64_t number = ++flush->begun;
        bool awaits_last_wqe = flush->awaits_last_wqe;

        pthread_mutex_unlock(&ia->cm_lock);
        pass_barrier(awaits_last_wqe);
        pthread_mutex_lock(&ia->cm_lock);
        if (flush->over < number)
                flush->over = number;
        for (struct link *at = flush->eps.next, *after; at != &flush->eps; at = after) {
                struct ep *ep = container_of(at, struct ep, flush_link);

                after = at->next;
                if (ep->flush_barrier > flush->over)
                        return;
                if (!is_flushed(flush, ep))
                        continue;
                list_remove(&ep->flush_link);
                ep_must_transition(ep, EP_FLUSHED, (DAT_EVENT_NUMBER)0);
        }
}

static void *serve(void *argument)
{
        struct ia *ia = argument;
        struct ep_flush *flush = &ia->flush;

        pthread_mutex_lock(&ia->cm_lock);
        while (!flush->stopping) {
                if (list_empty(&flush->eps))
                        pthread_cond_wait(&flush->more, &ia->cm_lock);
                else
                        pass(ia);
        }
        pthread_mutex_unlock(&ia->cm_lock);
        return NULL;
}

/*
 * Starts the flush thread if it does not run; only an IA with an SRQ needs it. Returns
 * DAT_INSUFFICIENT_RESOURCES if no thread can be made.
 */
DAT_RETURN ep_flush_start(struct ia *ia)
{
        DAT_RETURN ret = DAT_SUCCESS;
        struct ep_flush *flush = &ia->flush;

        pthread_mutex_lock(&ia->cm_lock);
        if (!flush->running)
                flush->running = thread_spawn(&flush->thread, serve, ia);
        if (!flush->running)
                ret = REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_ERROR_HANDLER);
        pthread_mutex_unlock(&ia->cm_lock);
        return ret;
}

/* Ends the flush thread. No EP of the IA is in EP_FLUSHING. */
void ep_flush_stop(struct ia *ia)
{
        struct ep_flush *flush = &ia->flush;

        if (!flush->running)
                return;
        pthread_mutex_lock(&ia->cm_lock);
        flush->stopping = true;
        pthread_cond_signal(&flush->more);
        pthread_mutex_unlock(&ia->cm_lock);
        pthread_join(flush->thread, NULL);
        flush->running = false;
}

/* Queues an EP whose queue pair is in ERR. Called with ia->cm_lock held. */
void ep_flush_add(struct ep *ep)
{
        struct ep_flush *flush = &ep->obj.ia->flush;

        ep->flush_barrier = flush->begun + 1;
        ep->flush_deadline = now_us() + PATIENCE;
        list_append(&flush->eps, &ep->flush_link);
        pthread_cond_signal(&flush->more);
}

/*
 * Called for IBV_EVENT_QP_LAST_WQE_REACHED, before the event is acknowledged, so the queue pair and
 * EP exist.
 */
void ep_flush_last_wqe(struct ep *ep)
{
        atomic_store(&ep->last_wqe_reached, true);
        atomic_store(&ep->obj.ia->flush.reports_last_wqe, true);
}

/*
 * Waits until the EP, which is pinned, leaves EP_FLUSHING. Called with ia->cm_lock held, which is
 * released meanwhile.
 */
void ep_flush_await(struct ep *ep)
{
        while (atomic_load(&ep->state) == EP_FLUSHING)
                pass(ep->obj.ia);
}

/* Waits until no EP of the IA is in EP_FLUSHING; locked as ep_flush_await(). */
void ep_flush_await_all(struct ia *ia)
{
        while (!list_empty(&ia->flush.eps))
                pass(ia);
}
