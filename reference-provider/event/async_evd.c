/* SPDX-License-Identifier: BSD-2-Clause */
#include "event/async_evd.h"
#include "base/handle.h"
#include "base/ia.h"
#include "base/list.h"
#include "event/evd.h"
#include "event/evd_queue.h"

#include <pthread.h>

#define MIN_ASYNC_QLEN 16

/* Every open IA. The close of an IA clears the async_evd of each IA that uses its EVD. */
static struct {
        pthread_mutex_t lock;
        struct link all;
} ias = {.lock = PTHREAD_MUTEX_INITIALIZER, .all = {&ias.all, &ias.all}};

/*
 * Returns the asynchronous EVD of the IA, pinned until object_put(). Returns NULL if the EVD is out
 * of scope, or if the IA to which it belonged is closed.
 */
struct evd *async_evd_get(struct ia *ia)
{
        struct evd *evd;

        pthread_mutex_lock(&ias.lock);
        evd = ia->async_evd;
        if (evd && !object_pin(&evd->obj))
                evd = NULL;
        pthread_mutex_unlock(&ias.lock);
        return evd;
}

/* Sets the IA's asynchronous EVD, NULL for none, and adds the IA to the list. Under ias.lock. */
static void join(struct ia *ia, struct evd *async_evd)
{
        ia->async_evd = async_evd;
        list_append(&ias.all, &ia->open_link);
}

/* Shares the async EVD of an open IA. Returns DAT_INVALID_HANDLE if there is no such EVD. */
static DAT_RETURN share_evd(struct ia *ia, DAT_EVD_HANDLE handle)
{
        DAT_RETURN bad = REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC);
        struct evd *evd = object_get(handle, DAT_HANDLE_TYPE_EVD);
        DAT_RETURN ret = bad;

        if (!evd)
                return bad;
        /* One critical section, so that the IA of the EVD cannot close between the two steps. */
        pthread_mutex_lock(&ias.lock);
        if (evd->obj.ia->binding == ia->binding && evd->flags & DAT_EVD_ASYNC_FLAG)
                ret = object_use(&evd->obj, bad);
        if (ret == DAT_SUCCESS)
                join(ia, evd);
        pthread_mutex_unlock(&ias.lock);
        object_put(evd);
        return ret;
}

static DAT_RETURN make_evd(struct ia *ia, DAT_COUNT qlen)
{
        struct evd *evd;
        DAT_RETURN ret = evd_new(ia, max_int(qlen, MIN_ASYNC_QLEN), DAT_EVD_ASYNC_FLAG, &evd);

        if (ret != DAT_SUCCESS)
                return ret;
        evd->obj.users = 1;
        ret = object_publish(ia, &evd->obj, DAT_HANDLE_TYPE_EVD);
        if (ret != DAT_SUCCESS) {
                evd_destroy(evd);
                return ret;
        }
        ia->owns_async_evd = true;
        pthread_mutex_lock(&ias.lock);
        join(ia, evd);
        pthread_mutex_unlock(&ias.lock);
        return ret;
}

/*
 * Sets ia->async_evd as dat_ia_open(3DAT) asks: makes an EVD of at least `qlen` events for
 * DAT_HANDLE_NULL, and shares the EVD of another IA of the same dat.conf entry for its handle. This
 * is the last step of an open: on success the IA is in the list of open IAs.
 */
DAT_RETURN async_evd_open(struct ia *ia, DAT_COUNT qlen, DAT_EVD_HANDLE handle)
{
        if (handle == DAT_HANDLE_NULL)
                return make_evd(ia, qlen);
        if (handle != DAT_EVD_ASYNC_EXISTS)
                return share_evd(ia, handle);
        ia->async_out_of_scope = true;
        pthread_mutex_lock(&ias.lock);
        join(ia, NULL);
        pthread_mutex_unlock(&ias.lock);
        return DAT_SUCCESS;
}

/*
 * Takes the IA off the list of open IAs. The IA no longer uses an asynchronous EVD, and no other IA
 * uses one of its EVDs.
 */
void async_evd_leave(struct ia *ia)
{
        pthread_mutex_lock(&ias.lock);
        list_remove(&ia->open_link);
        if (ia->async_evd)
                object_unuse(&ia->async_evd->obj);
        ia->async_evd = NULL;
        for (struct link *at = ias.all.next; at != &ias.all; at = at->next) {
                struct ia *other = container_of(at, struct ia, open_link);

                if (other->async_evd && other->async_evd->obj.ia == ia)
                        other->async_evd = NULL;
        }
        pthread_mutex_unlock(&ias.lock);
}

/* Posts an asynchronous event on the EVD that dat_ia_open() chose. */
void async_evd_post(struct ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE about, DAT_COUNT reason)
{
        struct event event = {
            .dat.event_number = number,
            .dat.event_data.asynch_error_event_data = {.dat_handle = about, .reason = reason},
            .notify = true,
        };
        struct evd *evd = async_evd_get(ia);

        if (!evd)
                return;
        /* An EVD that has overflowed has no room for its own overflow event. */
        if (object_handle(&evd->obj) != about)
                (void)evd_post(evd, &event);
        object_put(evd);
}
