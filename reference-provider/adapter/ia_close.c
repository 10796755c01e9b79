/* SPDX-License-Identifier: BSD-2-Clause */
#include "adapter/device.h"
#include "adapter/ia_api.h"
#include "adapter/ia_impl.h"
#include "base/daplref.h"
#include "base/event_loop.h"
#include "base/handle.h"
#include "base/ia.h"
#include "base/list.h"
#include "connect/cm_event.h"
#include "connect/cr.h"
#include "connect/iwarp.h"
#include "connect/sp.h"
#include "endpoint/ep.h"
#include "endpoint/ep_flush.h"
#include "endpoint/ep_state.h"
#include "endpoint/rmr.h"
#include "endpoint/srq.h"
#include "event/async_evd.h"
#include "event/cno.h"
#include "event/evd.h"
#include "memory/lmr.h"
#include "memory/pz.h"

#include <pthread.h>

/* Counts the EPs that the Provider made for connection requests which are still unanswered. */
static int count_given_eps(const struct ia *ia)
{
        const struct link *head = &ia->objects[DAT_HANDLE_TYPE_CR];
        int count = 0;

        for (struct link *at = head->next; at != head; at = at->next) {
                struct cr *cr = container_of(container_of(at, struct object, link), struct cr, obj);

                count += cr->ep && cr->ep_is_providers;
        }
        return count;
}

/* Whether objects that the Consumer made still exist. */
static bool has_objects(struct ia *ia)
{
        int count = ia->owns_async_evd ? -1 : 0;

        pthread_mutex_lock(&ia->cm_lock);
        pthread_mutex_lock(&ia->lock);
        for (int kind = 0; kind < REF_KINDS; kind++) {
                if (kind != DAT_HANDLE_TYPE_IA && kind != DAT_HANDLE_TYPE_CR)
                        count += ia->counts[kind];
        }
        count -= count_given_eps(ia);
        pthread_mutex_unlock(&ia->lock);
        pthread_mutex_unlock(&ia->cm_lock);
        return count > 0;
}

static struct object *first_of(struct ia *ia, DAT_HANDLE_TYPE kind)
{
        struct object *object = NULL;

        pthread_mutex_lock(&ia->lock);
        if (!list_empty(&ia->objects[kind]))
                object = container_of(ia->objects[kind].next, struct object, link);
        pthread_mutex_unlock(&ia->lock);
        return object;
}

/* Makes every handle of the IA invalid. No more objects can be made. */
static void kill_all(struct ia *ia)
{
        pthread_mutex_lock(&ia->lock);
        ia->closing = true;
        for (int kind = 0; kind < REF_KINDS; kind++) {
                struct link *head = &ia->objects[kind];

                for (struct link *at = head->next; at != head; at = at->next)
                        object_kill(container_of(at, struct object, link));
        }
        pthread_mutex_unlock(&ia->lock);
}

static void release_waiters(struct ia *ia)
{
        struct link *evds = &ia->objects[DAT_HANDLE_TYPE_EVD];
        struct link *cnos = &ia->objects[DAT_HANDLE_TYPE_CNO];

        pthread_mutex_lock(&ia->lock);
        for (struct link *at = evds->next; at != evds; at = at->next)
                evd_close(container_of(container_of(at, struct object, link), struct evd, obj));
        for (struct link *at = cnos->next; at != cnos; at = at->next)
                cno_close(container_of(container_of(at, struct object, link), struct cno, obj));
        pthread_mutex_unlock(&ia->lock);
}

static void dismiss_agents(struct ia *ia)
{
        struct link *head = &ia->objects[DAT_HANDLE_TYPE_CNO];

        for (struct link *at = head->next; at != head; at = at->next)
                cno_dismiss_agent(
                    container_of(container_of(at, struct object, link), struct cno, obj));
}

static void end_connections(struct ia *ia)
{
        struct link *head = &ia->objects[DAT_HANDLE_TYPE_EP];

        pthread_mutex_lock(&ia->cm_lock);
        for (struct link *at = head->next; at != head; at = at->next) {
                struct ep *ep = container_of(container_of(at, struct object, link), struct ep, obj);

                ep_must_transition(ep, EP_DISCARDED, (DAT_EVENT_NUMBER)0);
        }
        ep_flush_await_all(ia);
        pthread_mutex_unlock(&ia->cm_lock);
}

static void destroy(struct object *object, DAT_HANDLE_TYPE kind)
{
        switch (kind) {
        case DAT_HANDLE_TYPE_CR:
                cr_destroy(container_of(object, struct cr, obj));
                break;
        case DAT_HANDLE_TYPE_PSP:
        case DAT_HANDLE_TYPE_RSP:
                point_destroy(container_of(object, struct service_point, obj));
                break;
        case DAT_HANDLE_TYPE_EP:
                ep_destroy(container_of(object, struct ep, obj));
                break;
        case DAT_HANDLE_TYPE_RMR:
                rmr_destroy(container_of(object, struct rmr, obj));
                break;
        case DAT_HANDLE_TYPE_LMR:
                lmr_destroy(container_of(object, struct lmr, obj));
                break;
        case DAT_HANDLE_TYPE_SRQ:
                srq_destroy(container_of(object, struct srq, obj));
                break;
        case DAT_HANDLE_TYPE_EVD:
                evd_destroy(container_of(object, struct evd, obj));
                break;
        case DAT_HANDLE_TYPE_CNO:
                cno_destroy(container_of(object, struct cno, obj));
                break;
        case DAT_HANDLE_TYPE_PZ:
                pz_destroy(container_of(object, struct pz, obj));
                break;
        default:
                break;
        }
}

static void destroy_all(struct ia *ia)
{
        static const DAT_HANDLE_TYPE order[] = {
            DAT_HANDLE_TYPE_CR,  DAT_HANDLE_TYPE_PSP, DAT_HANDLE_TYPE_RSP, DAT_HANDLE_TYPE_EP,
            DAT_HANDLE_TYPE_RMR, DAT_HANDLE_TYPE_LMR, DAT_HANDLE_TYPE_SRQ, DAT_HANDLE_TYPE_EVD,
            DAT_HANDLE_TYPE_CNO, DAT_HANDLE_TYPE_PZ,
        };
        struct object *object;

        for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
                while ((object = first_of(ia, order[i])) != NULL)
                        destroy(object, order[i]);
        }
}

/*
 * dat_ia_close(3DAT). An abrupt close frees every object in the order of dependence and releases
 * every waiter. Returns DAT_INVALID_STATE if a CNO's agent calls it.
 */
DAT_RETURN ref_ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
        struct ia *ia = object_get(handle, DAT_HANDLE_TYPE_IA);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!ia)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
        if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        else if ((flags == DAT_CLOSE_GRACEFUL_FLAG && has_objects(ia)) ||
                 pthread_equal(pthread_self(), ia->loop.thread))
                ret = REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
        else if (!object_kill(&ia->obj))
                ret = REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
        if (ret != DAT_SUCCESS) {
                object_put(ia);
                return ret;
        }
        object_await_last(&ia->obj, 1);
        kill_all(ia);
        async_evd_leave(ia);
        release_waiters(ia);
        object_await_all(ia);
        event_loop_stop(&ia->loop);
        iwarp_confirm_last(ia);
        dismiss_agents(ia);
        end_connections(ia);
        ep_flush_stop(ia);
        destroy_all(ia);
        cm_close(ia);
        evd_destroy(ia->sink);
        ia_close_loop(ia);
        object_unpublish(&ia->obj);
        device_release(ia);
        ia_delete(ia);
        return ret;
}
