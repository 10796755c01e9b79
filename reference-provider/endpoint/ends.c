/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint/ends.h"

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
 * A queue pair in ERR takes nothing more from its SRQ, but for one message that a processor is in
 * the midst of; and what it has taken for a message that is there in half, it gives back in a
 * tasklet. Soft-RoCE tells of neither, and one destroyed before that loses the receive. So an EP
 * with an SRQ ends behind a barrier, which each processor has to pass: it has then left what it was
 * in, and has run the tasklets that waited.
 *
 * Adapters work while their host does other things, and tell by IBV_EVENT_QP_LAST_WQE_REACHED that
 * all which the queue pair had taken has completed. What is destroyed sooner takes completions, and
 * the buffers with them. No attribute says which device tells: one that was silent once is not
 * waited for again.
 */

#define PATIENCE 500000  /* microseconds that an adapter has for it */
#define MOMENT   1000000 /* nanoseconds between two looks whether it has told */

static void pause_for(long nanoseconds)
{
        struct timespec time = {.tv_nsec = nanoseconds};

        (void)ppoll(NULL, 0, &time, NULL);
}

static void pass_barrier(bool awaits_last)
{
        /* The kernel may not offer it; then so long a time has to do. */
        const long instead = 100000000;

        /* This processor: a timer's interrupt is followed by the tasklets. */
        pause_for(awaits_last ? MOMENT : 1);
        /* And the others: the kernel waits for a quiescent state of each. */
        if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
                pause_for(instead);
}

void ends_init(struct ia *ia)
{
        list_init(&ia->ends.eps);
        pthread_cond_init(&ia->ends.more, NULL);
}

void ends_destroy(struct ia *ia)
{
        pthread_cond_destroy(&ia->ends.more);
}

/* Has the device given back all that the queue pair, which is behind its barrier, took? */
static bool gave_back(struct ends *ends, const struct ep *ep)
{
        if (!ends->awaits_last || atomic_load(&ep->last_given_back))
                return true;
        if (now_us() < ep->ends_by)
                return false;
        ends->awaits_last = atomic_load(&ends->told_last);
        return true;
}

/* Passes one barrier, and finishes the EPs that waited for it. The lock is released meanwhile. */
static void pass(struct ia *ia)
{
        struct ends *ends = &ia->ends;
        uint64_t number = ++ends->begun;
        bool awaits_last = ends->awaits_last;

        pthread_mutex_unlock(&ia->cm_lock);
        pass_barrier(awaits_last);
        pthread_mutex_lock(&ia->cm_lock);
        if (ends->over < number)
                ends->over = number;
        for (struct link *at = ends->eps.next, *after; at != &ends->eps; at = after) {
                struct ep *ep = container_of(at, struct ep, ending_link);

                after = at->next;
                if (ep->ends_behind > ends->over)
                        return;
                if (!gave_back(ends, ep))
                        continue;
                list_remove(&ep->ending_link);
                ep_must(ep, EP_IS_QUIET, (DAT_EVENT_NUMBER)0);
        }
}

static void *serve(void *argument)
{
        struct ia *ia = argument;
        struct ends *ends = &ia->ends;

        pthread_mutex_lock(&ia->cm_lock);
        while (!ends->stopping) {
                if (list_empty(&ends->eps))
                        pthread_cond_wait(&ends->more, &ia->cm_lock);
                else
                        pass(ia);
        }
        pthread_mutex_unlock(&ia->cm_lock);
        return NULL;
}

/*
 * Starts the thread that finishes ends, unless it runs already; an IA without an SRQ has none.
 * DAT_INSUFFICIENT_RESOURCES when there is no thread to be had.
 */
DAT_RETURN ends_start(struct ia *ia)
{
        DAT_RETURN ret = DAT_SUCCESS;
        struct ends *ends = &ia->ends;

        pthread_mutex_lock(&ia->cm_lock);
        if (!ends->running)
                ends->running = thread_spawn(&ends->thread, serve, ia);
        if (!ends->running)
                ret = REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_ERROR_HANDLER);
        pthread_mutex_unlock(&ia->cm_lock);
        return ret;
}

/* Ends the thread of an IA in which no EP is ending any more. */
void ends_stop(struct ia *ia)
{
        struct ends *ends = &ia->ends;

        if (!ends->running)
                return;
        pthread_mutex_lock(&ia->cm_lock);
        ends->stopping = true;
        pthread_cond_signal(&ends->more);
        pthread_mutex_unlock(&ia->cm_lock);
        pthread_join(ends->thread, NULL);
        ends->running = false;
}

/* The EP, whose queue pair is in ERR, is ending from now on. Called with ia->cm_lock held. */
void ends_add(struct ep *ep)
{
        struct ends *ends = &ep->obj.ia->ends;

        ep->ends_behind = ends->begun + 1;
        ep->ends_by = now_us() + PATIENCE;
        list_append(&ends->eps, &ep->ending_link);
        pthread_cond_signal(&ends->more);
}

/*
 * The device tells so of the EP's queue pair, which cannot be destroyed before that is
 * acknowledged, nor the EP freed.
 */
void ends_last_given_back(struct ep *ep)
{
        atomic_store(&ep->last_given_back, true);
        atomic_store(&ep->obj.ia->ends.told_last, true);
}

/*
 * Waits until the EP, which the caller has pinned, is not ending. Called with ia->cm_lock held,
 * which is released meanwhile: all that it guards may have changed.
 */
void ends_await(struct ep *ep)
{
        while (atomic_load(&ep->state) == EP_ENDING)
                pass(ep->obj.ia);
}

/* Waits until no EP of the IA is ending; locked as ends_await(). */
void ends_await_all(struct ia *ia)
{
        while (!list_empty(&ia->ends.eps))
                pass(ia);
}
