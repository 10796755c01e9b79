/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint/ep_setup.h"
#include "base/daplref.h"
#include "base/handle.h"
#include "base/ia.h"
#include "base/pool.h"
#include "endpoint/ep.h"
#include "endpoint/ep_watermark.h"
#include "endpoint/srq.h"
#include "event/evd.h"
#include "event/evd_cno.h"
#include "event/evd_cq.h"
#include "memory/pz.h"

#include <pthread.h>

struct ep_setup ep_setup_of(const struct ep *ep)
{
        return (struct ep_setup){
            .pz = ep->pz,
            .recv_evd = ep->recv_evd,
            .request_evd = ep->request_evd,
            .connect_evd = ep->connect_evd,
            .srq = ep->srq,
            .attr = ep->attr,
        };
}

static void setup_apply(struct ep *ep, const struct ep_setup *setup)
{
        ep->pz = setup->pz;
        ep->recv_evd = setup->recv_evd;
        ep->request_evd = setup->request_evd;
        ep->connect_evd = setup->connect_evd;
        ep->srq = setup->srq;
        ep->attr = setup->attr;
}

/* The completion flags under which the receives count as a stream of their EVD. */
static DAT_COMPLETION_FLAGS recv_stream(const struct ep_setup *setup)
{
        /* Receives of an SRQ always notify, so UNSIGNALLED is the same as the default. */
        if (setup->srq && setup->attr.recv_completion_flags == DAT_COMPLETION_UNSIGNALLED_FLAG)
                return DAT_COMPLETION_DEFAULT_FLAG;
        return setup->attr.recv_completion_flags;
}

void ep_setup_count_streams(const struct ep_setup *setup, int by)
{
        if (setup->recv_evd)
                evd_count_stream(setup->recv_evd, recv_stream(setup), by);
        if (setup->recv_evd && setup->attr.recv_completion_flags != recv_stream(setup))
                evd_count_unsignalled_srq(setup->recv_evd, by);
        if (setup->request_evd)
                evd_count_stream(setup->request_evd, setup->attr.request_completion_flags, by);
        if (setup->connect_evd)
                evd_count_other(setup->connect_evd, by);
}

static bool streams_fit(const struct ep_setup *setup)
{
        DAT_COMPLETION_FLAGS recv = recv_stream(setup);
        DAT_COMPLETION_FLAGS request = setup->attr.request_completion_flags;
        struct evd *shared[] = {setup->recv_evd, setup->request_evd};
        DAT_COMPLETION_FLAGS flags[] = {recv, request};

        if (setup->connect_evd && !evd_accepts_others(setup->connect_evd))
                return false;
        for (int i = 0; i < 2; i++) {
                bool controlled = flags[i] == DAT_COMPLETION_UNSIGNALLED_FLAG ||
                                  flags[i] == DAT_COMPLETION_SOLICITED_WAIT_FLAG;

                if (!shared[i])
                        continue;
                if (!evd_accepts_flags(shared[i], flags[i]))
                        return false;
                if (controlled && shared[i] == setup->connect_evd)
                        return false;
                if (controlled && shared[0] == shared[1] && recv != request)
                        return false;
        }
        return true;
}

/*
 * Counts the streams of a setup if they fit those of the EVDs; one thread at a time. The streams of
 * `from`, which the EP leaves, are ignored.
 */
static bool join_streams(struct ia *ia, const struct ep_setup *from, const struct ep_setup *to)
{
        bool fit;

        pthread_mutex_lock(&ia->lock);
        if (from)
                ep_setup_count_streams(from, -1);
        fit = streams_fit(to);
        if (fit)
                ep_setup_count_streams(to, 1);
        if (from)
                ep_setup_count_streams(from, 1);
        pthread_mutex_unlock(&ia->lock);
        return fit;
}

static DAT_RETURN use_evd(struct evd *evd, int subtype)
{
        return evd ? object_use(&evd->obj, REF_ERROR(DAT_INVALID_HANDLE, subtype)) : DAT_SUCCESS;
}

static void unuse_evd(struct evd *evd)
{
        if (evd)
                object_unuse(&evd->obj);
}

static DAT_RETURN use_objects(const struct ep_setup *setup)
{
        DAT_RETURN ret = DAT_SUCCESS;

        if (setup->pz)
                ret = object_use(&setup->pz->obj,
                                 REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ));
        if (ret != DAT_SUCCESS)
                return ret;
        ret = use_evd(setup->recv_evd, DAT_INVALID_HANDLE_EVD_RECV);
        if (ret != DAT_SUCCESS)
                goto pz;
        ret = use_evd(setup->request_evd, DAT_INVALID_HANDLE_EVD_REQUEST);
        if (ret != DAT_SUCCESS)
                goto recv;
        ret = use_evd(setup->connect_evd, DAT_INVALID_HANDLE_EVD_CONN);
        if (ret != DAT_SUCCESS)
                goto request;
        if (setup->srq)
                ret = object_use(&setup->srq->obj,
                                 REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ));
        if (ret == DAT_SUCCESS)
                return ret;
        unuse_evd(setup->connect_evd);
request:
        unuse_evd(setup->request_evd);
recv:
        unuse_evd(setup->recv_evd);
pz:
        if (setup->pz)
                object_unuse(&setup->pz->obj);
        return ret;
}

static void unuse_objects(const struct ep_setup *setup)
{
        if (setup->srq)
                object_unuse(&setup->srq->obj);
        unuse_evd(setup->connect_evd);
        unuse_evd(setup->request_evd);
        unuse_evd(setup->recv_evd);
        if (setup->pz)
                object_unuse(&setup->pz->obj);
}

static struct evd *or_sink(struct ep *ep, struct evd *evd)
{
        return evd ? evd : ep->obj.ia->sink;
}

static void release_recvs(struct ep *ep, const struct ep_setup *setup)
{
        struct evd *evd = or_sink(ep, setup->recv_evd);

        if (setup->srq)
                srq_detach(setup->srq, evd);
        else
                evd_unreserve(evd, setup->attr.max_recv_dtos);
}

void ep_setup_detach(struct ep *ep, const struct ep_setup *setup)
{
        release_recvs(ep, setup);
        evd_unreserve(or_sink(ep, setup->request_evd), setup->attr.max_request_dtos);
        unuse_objects(setup);
}

/* Reserves what the setup needs. On failure nothing changes. */
static DAT_RETURN setup_attach(struct ep *ep, const struct ep_setup *setup)
{
        struct evd *recv = or_sink(ep, setup->recv_evd);
        DAT_RETURN ret = use_objects(setup);

        if (ret != DAT_SUCCESS)
                return ret;
        ret = REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
        if (!pool_grow(&ep->requests, setup->attr.max_request_dtos) ||
            (!setup->srq && !pool_grow(&ep->recvs, setup->attr.max_recv_dtos)))
                goto unuse;
        if (setup->srq ? !srq_attach(setup->srq, recv)
                       : !evd_reserve(recv, setup->attr.max_recv_dtos))
                goto unuse;
        if (evd_reserve(or_sink(ep, setup->request_evd), setup->attr.max_request_dtos))
                return DAT_SUCCESS;
        release_recvs(ep, setup);
unuse:
        unuse_objects(setup);
        return ret;
}

/*
 * Changes from one setup to another, or changes nothing. `from` may be NULL. `argument` is the
 * error subtype for flags that do not fit on an EVD.
 */
DAT_RETURN ep_setup_change(struct ep *ep, const struct ep_setup *from, const struct ep_setup *to,
                           int argument)
{
        DAT_RETURN ret;

        /*
         * The arming of an EVD's completion queue depends on the streams of the EVD, so this comes
         * first.
         */
        if (!join_streams(ep->obj.ia, from, to))
                return REF_ERROR(DAT_INVALID_PARAMETER, argument);
        ret = setup_attach(ep, to);
        if (ret != DAT_SUCCESS) {
                ep_setup_count_streams(to, -1);
                return ret;
        }
        if (from)
                ep_setup_count_streams(from, -1);
        setup_apply(ep, to);
        if (from && ep_has_watermark(ep)) {
                evd_watch(or_sink(ep, from->recv_evd), -1);
                evd_watch(ep_recv_target(ep), 1);
        }
        if (from)
                ep_setup_detach(ep, from);
        return DAT_SUCCESS;
}

DAT_RETURN ep_setup_get_evd(struct ia *ia, DAT_EVD_HANDLE handle, unsigned int stream, int subtype,
                            struct evd **out)
{
        struct evd *evd;

        *out = NULL;
        if (handle == DAT_HANDLE_NULL)
                return DAT_SUCCESS;
        evd = object_get(handle, DAT_HANDLE_TYPE_EVD);
        if (!evd)
                return REF_ERROR(DAT_INVALID_HANDLE, subtype);
        /*
         * The caller counts a use of it under a lock, and sees there whether the EVD still lives.
         */
        *out = evd;
        if (evd->obj.ia != ia)
                return REF_ERROR(DAT_INVALID_HANDLE, subtype);
        if (!((unsigned int)evd->flags & stream))
                return REF_ERROR(DAT_INVALID_HANDLE, subtype);
        return DAT_SUCCESS;
}

void ep_setup_put_evd(struct evd *evd)
{
        if (evd)
                object_put(evd);
}

/*
 * soft-RoCE checks the buffers of an SRQ against the protection domain of the EP that takes them.
 */
bool ep_setup_suits_srq(const struct pz *pz, const struct srq *srq)
{
        return pz->pd == srq->pz->pd;
}

DAT_RETURN ep_setup_get(struct ia *ia, const struct ep_handles *wanted, bool with_srq,
                        struct ep_setup *setup)
{
        DAT_RETURN ret;

        setup->pz = object_get(wanted->pz, DAT_HANDLE_TYPE_PZ);
        if (!setup->pz || setup->pz->obj.ia != ia)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
        ret = ep_setup_get_evd(ia, wanted->recv_evd, DAT_EVD_DTO_FLAG, DAT_INVALID_HANDLE_EVD_RECV,
                               &setup->recv_evd);
        if (ret == DAT_SUCCESS)
                ret = ep_setup_get_evd(ia, wanted->request_evd,
                                       DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
                                       DAT_INVALID_HANDLE_EVD_REQUEST, &setup->request_evd);
        if (ret == DAT_SUCCESS)
                ret = ep_setup_get_evd(ia, wanted->connect_evd, DAT_EVD_CONNECTION_FLAG,
                                       DAT_INVALID_HANDLE_EVD_CONN, &setup->connect_evd);
        if (ret != DAT_SUCCESS || !with_srq)
                return ret;
        setup->srq = object_get(wanted->srq, DAT_HANDLE_TYPE_SRQ);
        if (!setup->srq || setup->srq->obj.ia != ia)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
        if (!ep_setup_suits_srq(setup->pz, setup->srq))
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        return DAT_SUCCESS;
}

void ep_setup_put(struct ep_setup *setup)
{
        if (setup->srq)
                object_put(setup->srq);
        ep_setup_put_evd(setup->connect_evd);
        ep_setup_put_evd(setup->request_evd);
        ep_setup_put_evd(setup->recv_evd);
        if (setup->pz)
                object_put(setup->pz);
}
