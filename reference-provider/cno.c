/* SPDX-License-Identifier: BSD-2-Clause */
#include "cno.h"
#include "daplref.h"
#include "dat_abi.h"
#include "evd.h"
#include "handle.h"
#include "ia.h"
#include "list.h"
#include "lock.h"
#include "service.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#define BAD_CNO REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO)

/* Takes one trigger from those that the agent is to be told of. Called with the lock held. */
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

/* dat_cno_create(3DAT): the agent, if any, is called by the IA's service thread. */
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
        ret = object_publish(ia, &cno->obj, DAT_HANDLE_TYPE_CNO);
        if (ret == DAT_SUCCESS)
                *cno_handle = object_handle(&cno->obj);
        else
                free(cno);
put:
        object_put(ia);
        return ret;
}

/* No agent is to be told any more. Called with the lock held. */
static void drop_due(struct cno *cno)
{
        while (!list_empty(&cno->due)) {
                struct evd *evd = container_of(cno->due.next, struct evd, due_link);

                list_remove(&evd->due_link);
                evd->due = 0;
        }
        cno->last_evd_left = false;
}

/* dat_cno_modify_agent(3DAT): triggers that the old agent has not been told of go to the new one.
 */
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

/* Is it the agent of this CNO that calls? Called with the lock held. */
static bool agent_calls(const struct cno *cno)
{
        return cno->agent_is_in && pthread_equal(pthread_self(), cno->obj.ia->thread);
}

/*
 * dat_cno_free(3DAT): DAT_INVALID_STATE while an EVD uses it or a thread waits on it, and from
 * within its agent.
 */
DAT_RETURN ref_cno_free(DAT_CNO_HANDLE handle)
{
        struct cno *cno = object_get(handle, DAT_HANDLE_TYPE_CNO);
        DAT_RETURN ret;

        if (!cno)
                return BAD_CNO;
        pthread_mutex_lock(&cno->obj.ia->lock);
        pthread_mutex_lock(&cno->lock);
        if (cno->obj.users || cno->waiters || agent_calls(cno))
                ret = REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE);
        else
                ret = object_kill(&cno->obj) ? DAT_SUCCESS : BAD_CNO;
        /* Who holds it and has not begun to wait is not to begin. */
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

/* Tells so many waiters to look again. Called with the lock held. */
static void tell(struct cno *cno, int waiters)
{
        if (!cno->waiters)
                return;
        atomic_fetch_add(&cno->changes, 1);
        futex_wake(&cno->changes, waiters);
}

/* Called with the lock held, which is released meanwhile. */
static DAT_RETURN await_change(struct cno *cno, uint64_t deadline)
{
        uint32_t seen = atomic_load(&cno->changes);
        int error;

        pthread_mutex_unlock(&cno->lock);
        error = futex_wait_until(&cno->changes, seen, deadline);
        pthread_mutex_lock(&cno->lock);
        if (error == ETIMEDOUT)
                return REF_ERROR(DAT_QUEUE_EMPTY, 0);
        return error == EINTR ? REF_ERROR(DAT_INTERRUPTED_CALL, 0) : DAT_SUCCESS;
}

/*
 * dat_cno_wait(3DAT). A waiter that is released because the IA closes, or because the last EVD of
 * the CNO goes, gets DAT_INVALID_STATE and a null EVD.
 */
DAT_RETURN ref_cno_wait(DAT_CNO_HANDLE handle, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd_handle)
{
        struct cno *cno = object_get(handle, DAT_HANDLE_TYPE_CNO);
        uint64_t deadline = timeout == DAT_TIMEOUT_INFINITE ? 0 : now_us() + timeout;
        DAT_RETURN ret = DAT_SUCCESS;
        unsigned int releases;

        if (!cno)
                return BAD_CNO;
        if (!evd_handle) {
                object_put(cno);
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        }
        *evd_handle = DAT_HANDLE_NULL;
        pthread_mutex_lock(&cno->lock);
        releases = cno->releases;
        cno->waiters++;
        while (!cno->triggered && !cno->closing && cno->releases == releases && ret == DAT_SUCCESS)
                ret = await_change(cno, deadline);
        cno->waiters--;
        if (cno->triggered) {
                *evd_handle = cno->triggered_by;
                cno->triggered = false;
                ret = DAT_SUCCESS;
        } else if (cno->closing || cno->releases != releases) {
                ret = REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_DEAD);
        }
        pthread_mutex_unlock(&cno->lock);
        object_put(cno);
        return ret;
}

/* An event has arrived at one of the CNO's EVDs. Called with the EVD locked. */
void cno_trigger(struct cno *cno, struct evd *evd)
{
        bool agent;

        pthread_mutex_lock(&cno->lock);
        cno->triggered = true;
        cno->triggered_by = evd->obj.handle;
        agent = cno->agent.proxy_agent_func;
        if (agent && !evd->due++)
                list_append(&cno->due, &evd->due_link);
        tell(cno, 1);
        pthread_mutex_unlock(&cno->lock);
        if (agent)
                work_queue(cno->obj.ia, &cno->agent_work);
}

/*
 * Takes back the triggers of an EVD of which the agent has not been told, and returns how many
 * there are. Called with the EVD locked.
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

/*
 * An EVD no longer uses the CNO, because it goes over to another or, if `freed` is not NULL,
 * because it is freed. Then the last one releases the waiters, and the agent hears of it.
 */
void cno_left(struct cno *cno, const struct evd *freed)
{
        struct ia *ia = cno->obj.ia; /* which stays, unlike a CNO that nobody uses */
        bool agent = false;

        pthread_mutex_lock(&ia->lock);
        pthread_mutex_lock(&cno->lock);
        if (--cno->obj.users == 0 && freed) {
                cno->releases++;
                if (cno->triggered_by == freed->obj.handle)
                        cno->triggered = false;
                agent = cno->agent.proxy_agent_func;
                cno->last_evd_left = agent;
                tell(cno, INT_MAX);
        }
        if (agent)
                work_queue(ia, &cno->agent_work);
        pthread_mutex_unlock(&cno->lock);
        pthread_mutex_unlock(&ia->lock);
}

/* Releases every waiter for good. */
void cno_close(struct cno *cno)
{
        pthread_mutex_lock(&cno->lock);
        cno->closing = true;
        cno->triggered = false;
        tell(cno, INT_MAX);
        pthread_mutex_unlock(&cno->lock);
}

/* Tells the agent that there will be no trigger any more. The service thread must have ended. */
void cno_dismiss_agent(struct cno *cno)
{
        DAT_OS_WAIT_PROXY_AGENT agent = cno->agent;

        cno->agent.proxy_agent_func = NULL;
        drop_due(cno);
        if (agent.proxy_agent_func)
                agent.proxy_agent_func(agent.instance_data, DAT_HANDLE_NULL);
}

/* Frees what a dead CNO consists of. */
void cno_destroy(struct cno *cno)
{
        work_cancel(cno->obj.ia, &cno->agent_work);
        object_bury(&cno->obj);
        pthread_mutex_destroy(&cno->lock);
        free(cno);
}
