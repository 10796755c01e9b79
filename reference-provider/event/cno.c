/* SPDX-License-Identifier: BSD-2-Clause */
#include "event/cno.h"
#include "base/daplref.h"
#include "base/dat_abi.h"
#include "base/event_loop.h"
#include "base/handle.h"
#include "base/ia.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/os.h"
#include "event/evd.h"

#include <errno.h>
#include <stdlib.h>

/* A thread in dat_cno_wait(3DAT). It sleeps on `answer`. */
struct cno_waiter {
        struct link link;
        _Atomic uint32_t answer;
        struct handle *evd;
};

enum cno_answer { ANSWER_NONE, ANSWER_TRIGGER, ANSWER_RELEASE };

#define BAD_CNO REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO)

/* Takes one trigger that the agent has not been called for. Called with the lock held. */
static bool take_due(struct cno *cno, struct handle **evd_handle)
{
        bool left = cno->last_evd_left;
        struct evd *evd;

        if (!cno->agent.proxy_agent_func)
                return false;
        if (list_empty(&cno->due)) {
                *evd_handle = NULL;
                cno->last_evd_left = false;
                return left;
        }
        evd = container_of(cno->due.next, struct evd, due_link);
        *evd_handle = evd->obj.handle;
        list_remove(&evd->due_link);
        if (--evd->due)
                list_append(&cno->due, &evd->due_link);
        return true;
}

static void run_agent(struct work *work)
{
        struct cno *cno = container_of(work, struct cno, agent_work);
        DAT_OS_WAIT_PROXY_AGENT agent;
        struct handle *evd;

        pthread_mutex_lock(&cno->lock);
        cno->agent_is_in = true;
        while (take_due(cno, &evd)) {
                agent = cno->agent;
                pthread_mutex_unlock(&cno->lock);
                agent.proxy_agent_func(agent.instance_data, evd);
                pthread_mutex_lock(&cno->lock);
        }
        cno->agent_is_in = false;
        pthread_mutex_unlock(&cno->lock);
}

/* dat_cno_create(3DAT). The IA's service thread calls the agent. */
DAT_RETURN ref_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
                          DAT_CNO_HANDLE *cno_handle)
{
        struct ia *ia = object_get(ia_handle, DAT_HANDLE_TYPE_IA);
        DAT_RETURN ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        struct cno *cno;

        if (!ia)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
        if (!cno_handle)
                goto put;
        ret = REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
        cno = calloc(1, sizeof(*cno));
        if (!cno)
                goto put;
        cno->agent = agent;
        pthread_mutex_init(&cno->lock, NULL);
        work_init(&cno->agent_work, &cno->obj, run_agent);
        list_init(&cno->due);
        list_init(&cno->waiting);
        list_init(&cno->told);
        list_init(&cno->pending);
        ret = object_publish(ia, &cno->obj, DAT_HANDLE_TYPE_CNO);
        if (ret == DAT_SUCCESS)
                *cno_handle = object_handle(&cno->obj);
        else
                free(cno);
put:
        object_put(ia);
        return ret;
}

/* Drops the triggers for the agent. Called with the lock held. */
static void drop_due(struct cno *cno)
{
        while (!list_empty(&cno->due)) {
                struct evd *evd = container_of(cno->due.next, struct evd, due_link);

                list_remove(&evd->due_link);
                evd->due = 0;
        }
        cno->last_evd_left = false;
}

/* dat_cno_modify_agent(3DAT). Triggers that are pending for the old agent go to the new one. */
DAT_RETURN ref_cno_modify_agent(DAT_CNO_HANDLE handle, DAT_OS_WAIT_PROXY_AGENT agent)
{
        struct cno *cno = object_get(handle, DAT_HANDLE_TYPE_CNO);

        if (!cno)
                return BAD_CNO;
        pthread_mutex_lock(&cno->lock);
        cno->agent = agent;
        if (!agent.proxy_agent_func)
                drop_due(cno);
        pthread_mutex_unlock(&cno->lock);
        object_put(cno);
        return DAT_SUCCESS;
}

/* dat_cno_query(3DAT) */
DAT_RETURN ref_cno_query(DAT_CNO_HANDLE handle, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param)
{
        struct cno *cno = object_get(handle, DAT_HANDLE_TYPE_CNO);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!cno)
                return BAD_CNO;
        if ((unsigned int)mask & ~(unsigned int)ABI_CNO_FIELDS) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        } else if (!param) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        } else {
                pthread_mutex_lock(&cno->lock);
                param->ia_handle = abi_ia_handle(&cno->obj.ia->obj);
                abi_tell_agent(param, cno->agent);
                pthread_mutex_unlock(&cno->lock);
        }
        object_put(cno);
        return ret;
}

/* Whether the caller is this CNO's agent. Called with the lock held. */
static bool agent_calls(const struct cno *cno)
{
        return cno->agent_is_in && pthread_equal(pthread_self(), cno->obj.ia->loop.thread);
}

/*
 * dat_cno_free(3DAT). Returns DAT_INVALID_STATE if an EVD uses the CNO, if a thread waits on it, or
 * if its agent calls. Waits for threads that have their answer but have not returned.
 */
DAT_RETURN ref_cno_free(DAT_CNO_HANDLE handle)
{
        struct cno *cno = object_get(handle, DAT_HANDLE_TYPE_CNO);
        DAT_RETURN ret;

        if (!cno)
                return BAD_CNO;
        pthread_mutex_lock(&cno->obj.ia->lock);
        pthread_mutex_lock(&cno->lock);
        if (cno->obj.users || !list_empty(&cno->waiting) || agent_calls(cno))
                ret = REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE);
        else
                ret = object_kill(&cno->obj) ? DAT_SUCCESS : BAD_CNO;
        /* A thread that holds the CNO and does not wait yet must not begin to wait. */
        if (ret == DAT_SUCCESS)
                cno->closing = true;
        pthread_mutex_unlock(&cno->lock);
        pthread_mutex_unlock(&cno->obj.ia->lock);
        if (ret != DAT_SUCCESS) {
                object_put(cno);
                return ret;
        }
        object_await_last(&cno->obj, 1);
        cno_destroy(cno);
        return ret;
}

/* Wakes the thread that has waited longest. Called with the lock held. */
static void answer_first(struct cno *cno, enum cno_answer answer, struct handle *evd)
{
        struct cno_waiter *waiter = container_of(cno->waiting.next, struct cno_waiter, link);

        waiter->evd = evd;
        list_move(&cno->told, &waiter->link);
        atomic_store(&waiter->answer, answer);
        futex_wake(&waiter->answer, 1);
}

static void release_all(struct cno *cno)
{
        while (!list_empty(&cno->waiting))
                answer_first(cno, ANSWER_RELEASE, NULL);
}

/* Removes a pending trigger. Called with the lock held. */
static void drop(struct cno_trigger *trigger)
{
        list_remove(&trigger->link);
        if (trigger->left)
                free(trigger);
}

static struct cno_trigger *first_pending(struct cno *cno)
{
        return container_of(cno->pending.next, struct cno_trigger, link);
}

/* Sleeps until there is an answer. Called with the lock held, which is released meanwhile. */
static DAT_RETURN await_answer(struct cno *cno, struct cno_waiter *waiter, uint64_t deadline)
{
        int error = 0;

        list_append(&cno->waiting, &waiter->link);
        while (!atomic_load(&waiter->answer) && !error) {
                pthread_mutex_unlock(&cno->lock);
                error = futex_wait_until(&waiter->answer, ANSWER_NONE, deadline);
                pthread_mutex_lock(&cno->lock);
        }
        list_remove(&waiter->link);
        switch (atomic_load(&waiter->answer)) {
        case ANSWER_TRIGGER:
                return DAT_SUCCESS;
        case ANSWER_RELEASE:
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_DEAD);
        default:
                return error == EINTR ? REF_ERROR(DAT_INTERRUPTED_CALL, 0)
                                      : REF_ERROR(DAT_QUEUE_EMPTY, 0);
        }
}

/*
 * dat_cno_wait(3DAT). A waiter gets DAT_INVALID_STATE and a null EVD if the IA closes or the CNO's
 * last EVD is freed. It gets DAT_SUCCESS and a null EVD if its EVD is freed before its thread runs.
 */
DAT_RETURN ref_cno_wait(DAT_CNO_HANDLE handle, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd_handle)
{
        struct cno *cno = object_get(handle, DAT_HANDLE_TYPE_CNO);
        uint64_t deadline = timeout == DAT_TIMEOUT_INFINITE ? 0 : now_us() + timeout;
        struct cno_waiter waiter = {.answer = ANSWER_NONE};
        DAT_RETURN ret = DAT_SUCCESS;

        if (!cno)
                return BAD_CNO;
        if (!evd_handle) {
                object_put(cno);
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        }
        pthread_mutex_lock(&cno->lock);
        if (cno->closing) {
                ret = REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_DEAD);
        } else if (!list_empty(&cno->pending)) {
                waiter.evd = first_pending(cno)->evd;
                drop(first_pending(cno));
        } else {
                ret = await_answer(cno, &waiter, deadline);
        }
        *evd_handle = waiter.evd;
        pthread_mutex_unlock(&cno->lock);
        object_put(cno);
        return ret;
}

/* Called with the EVD locked when an event arrives. */
void cno_trigger(struct cno *cno, struct evd *evd)
{
        bool agent;

        pthread_mutex_lock(&cno->lock);
        if (!list_empty(&cno->waiting))
                answer_first(cno, ANSWER_TRIGGER, evd->obj.handle);
        else if (list_empty(&evd->trigger->link))
                list_append(&cno->pending, &evd->trigger->link);
        agent = cno->agent.proxy_agent_func;
        if (agent && !evd->due++)
                list_append(&cno->due, &evd->due_link);
        pthread_mutex_unlock(&cno->lock);
        if (agent)
                work_queue(&cno->obj.ia->loop, &cno->agent_work);
}

/*
 * Removes the EVD's triggers that the agent was not called for, and returns their number. Called
 * with the EVD locked.
 */
int cno_take_due(struct cno *cno, struct evd *evd)
{
        int due;

        pthread_mutex_lock(&cno->lock);
        due = evd->due;
        evd->due = 0;
        list_remove(&evd->due_link);
        pthread_mutex_unlock(&cno->lock);
        return due;
}

/* Makes the trigger of an EVD. Returns NULL if there is no memory. */
struct cno_trigger *cno_new_trigger(void)
{
        struct cno_trigger *trigger = calloc(1, sizeof(*trigger));

        if (trigger)
                list_init(&trigger->link);
        return trigger;
}

/* Whether the CNO has a trigger that this EVD left with it. Called with the lock held. */
static bool has_left(const struct cno *cno, const struct handle *evd)
{
        for (const struct link *at = cno->pending.next; at != &cno->pending; at = at->next) {
                const struct cno_trigger *trigger = container_of(at, struct cno_trigger, link);

                if (trigger->left && trigger->evd == evd)
                        return true;
        }
        return false;
}

/*
 * Detaches an EVD that changes to another CNO or to none. Its pending trigger stays here for a
 * waiter. Called with the EVD locked.
 */
void cno_leave(struct cno *cno, struct evd *evd)
{
        pthread_mutex_lock(&cno->lock);
        evd->left_triggers = true;
        if (has_left(cno, evd->obj.handle)) {
                list_remove(&evd->trigger->link);
        } else if (!list_empty(&evd->trigger->link)) {
                evd->trigger->left = true;
                evd->trigger = NULL;
        }
        pthread_mutex_unlock(&cno->lock);
}

/* Called with the lock held. */
static void forget_triggers(struct cno *cno, const struct handle *evd)
{
        for (struct link *at = cno->pending.next, *next = at->next; at != &cno->pending;
             at = next, next = at->next) {
                struct cno_trigger *trigger = container_of(at, struct cno_trigger, link);

                if (trigger->evd == evd)
                        drop(trigger);
        }
        for (struct link *at = cno->told.next; at != &cno->told; at = at->next) {
                struct cno_waiter *waiter = container_of(at, struct cno_waiter, link);

                if (waiter->evd == evd)
                        waiter->evd = NULL;
        }
}

/*
 * Drops all triggers of an EVD that is freed. `cno`, which it uses, may be NULL. The last EVD of a
 * CNO releases the waiters, and the agent is called with a null EVD.
 */
void cno_forget(struct cno *cno, struct evd *evd)
{
        struct ia *ia = evd->obj.ia;
        struct link *cnos = &ia->objects[DAT_HANDLE_TYPE_CNO];
        bool agent = false;

        pthread_mutex_lock(&ia->lock);
        for (struct link *at = cnos->next; evd->left_triggers && at != cnos; at = at->next) {
                struct cno *any =
                    container_of(container_of(at, struct object, link), struct cno, obj);

                pthread_mutex_lock(&any->lock);
                forget_triggers(any, evd->obj.handle);
                pthread_mutex_unlock(&any->lock);
        }
        if (cno) {
                pthread_mutex_lock(&cno->lock);
                forget_triggers(cno, evd->obj.handle);
                if (--cno->obj.users == 0) {
                        release_all(cno);
                        agent = cno->agent.proxy_agent_func;
                        cno->last_evd_left = agent;
                }
                if (agent)
                        work_queue(&ia->loop, &cno->agent_work);
                pthread_mutex_unlock(&cno->lock);
        }
        pthread_mutex_unlock(&ia->lock);
        free(evd->trigger);
}

/* Releases every waiter. No thread can wait any more. */
void cno_close(struct cno *cno)
{
        pthread_mutex_lock(&cno->lock);
        cno->closing = true;
        release_all(cno);
        for (struct link *at = cno->told.next; at != &cno->told; at = at->next)
                container_of(at, struct cno_waiter, link)->evd = NULL;
        pthread_mutex_unlock(&cno->lock);
}

/* Calls the agent with a null EVD, for the last time. The service thread must have ended. */
void cno_dismiss_agent(struct cno *cno)
{
        DAT_OS_WAIT_PROXY_AGENT agent = cno->agent;

        cno->agent.proxy_agent_func = NULL;
        drop_due(cno);
        if (agent.proxy_agent_func)
                agent.proxy_agent_func(agent.instance_data, DAT_HANDLE_NULL);
}

/* Frees a dead CNO. */
void cno_destroy(struct cno *cno)
{
        work_cancel(&cno->obj.ia->loop, &cno->agent_work);
        for (struct link *at = cno->pending.next, *next = at->next; at != &cno->pending;
             at = next, next = at->next)
                drop(container_of(at, struct cno_trigger, link));
        object_unpublish(&cno->obj);
        pthread_mutex_destroy(&cno->lock);
        free(cno);
}
