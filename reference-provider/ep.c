/* SPDX-License-Identifier: BSD-2-Clause */
#include "ep.h"
#include "async_evd.h"
#include "daplref.h"
#include "dat_abi.h"
#include "ends.h"
#include "ep_state.h"
#include "evd.h"
#include "evd_cno.h"
#include "evd_cq.h"
#include "evd_queue.h"
#include "event_loop.h"
#include "handle.h"
#include "ia.h"
#include "list.h"
#include "lock.h"
#include "owner.h"
#include "pool.h"
#include "pz.h"
#include "qp.h"
#include "srq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BAD_EP REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP)

/* What an EP is connected with inside its IA, so that a change can be made all or nothing. */
struct setup {
        struct pz *pz;
        struct evd *recv_evd;
        struct evd *request_evd;
        struct evd *connect_evd;
        struct srq *srq;
        DAT_EP_ATTR attr;
};

static DAT_EP_ATTR default_attr(const struct ia *ia)
{
        return (DAT_EP_ATTR){
            .service_type = DAT_SERVICE_TYPE_RC,
            .max_message_size = ia->port_attr.max_msg_sz,
            .max_rdma_size = ia->port_attr.max_msg_sz,
            .qos = DAT_QOS_BEST_EFFORT,
            .recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
            .request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
            .max_recv_dtos = min_int(16, ia->limits.dtos),
            .max_request_dtos = min_int(16, ia->limits.dtos),
            .max_recv_iov = min_int(4, ia->limits.iov),
            .max_request_iov = min_int(4, ia->limits.iov),
            .max_rdma_read_in = 0,
            .max_rdma_read_out = 0,
            .srq_soft_hw = DAT_HW_DEFAULT,
            .max_rdma_read_iov = min_int(4, ia->limits.read_iov),
            .max_rdma_write_iov = min_int(4, ia->limits.iov),
        };
}

/* Programs exist that set the attributes they mean and leave 0 where they mean no limit. */
static void fill_in_zeros(const struct ia *ia, DAT_EP_ATTR *attr)
{
        DAT_EP_ATTR defaults = default_attr(ia);

        if (!attr->max_message_size)
                attr->max_message_size = defaults.max_message_size;
        if (!attr->max_rdma_size)
                attr->max_rdma_size = defaults.max_rdma_size;
        if (!attr->max_recv_iov)
                attr->max_recv_iov = defaults.max_recv_iov;
        if (!attr->max_request_iov)
                attr->max_request_iov = defaults.max_request_iov;
        if (!attr->max_rdma_read_iov)
                attr->max_rdma_read_iov = defaults.max_rdma_read_iov;
        if (!attr->max_rdma_write_iov)
                attr->max_rdma_write_iov = defaults.max_rdma_write_iov;
        if (!attr->max_rdma_read_in)
                attr->max_rdma_read_in = ia->limits.reads;
        if (!attr->max_rdma_read_out)
                attr->max_rdma_read_out = ia->limits.reads;
}

static bool within(DAT_COUNT value, DAT_COUNT limit)
{
        return value >= 0 && value <= limit;
}

static bool attr_valid(const struct ia *ia, const DAT_EP_ATTR *attr, bool with_srq)
{
        DAT_COUNT iov = ia->limits.iov;

        if (attr->service_type != DAT_SERVICE_TYPE_RC || attr->qos != DAT_QOS_BEST_EFFORT ||
            attr->max_message_size > ia->port_attr.max_msg_sz ||
            attr->max_rdma_size > ia->port_attr.max_msg_sz || attr->ep_transport_specific_count ||
            attr->ep_provider_specific_count)
                return false;
        switch (attr->recv_completion_flags) {
        case DAT_COMPLETION_DEFAULT_FLAG:
        case DAT_COMPLETION_UNSIGNALLED_FLAG:
        case DAT_COMPLETION_EVD_THRESHOLD_FLAG:
                break;
        case DAT_COMPLETION_SOLICITED_WAIT_FLAG:
                if (ia->solicits)
                        break;
                return false;
        default:
                return false;
        }
        switch (attr->request_completion_flags) {
        case DAT_COMPLETION_DEFAULT_FLAG:
        case DAT_COMPLETION_UNSIGNALLED_FLAG:
        case DAT_COMPLETION_EVD_THRESHOLD_FLAG:
                break;
        default:
                return false;
        }
        return within(attr->max_recv_dtos, ia->limits.dtos) &&
               within(attr->max_request_dtos, ia->limits.dtos) &&
               (with_srq || within(attr->max_recv_iov, iov)) &&
               within(attr->max_request_iov, iov) &&
               within(attr->max_rdma_read_in, ia->limits.reads) &&
               within(attr->max_rdma_read_out, ia->limits.reads) &&
               within(attr->max_rdma_read_iov, ia->limits.read_iov) &&
               within(attr->max_rdma_write_iov, iov) && attr->srq_soft_hw >= DAT_HW_DEFAULT;
}

static struct setup setup_of(const struct ep *ep)
{
        return (struct setup){
            .pz = ep->pz,
            .recv_evd = ep->recv_evd,
            .request_evd = ep->request_evd,
            .connect_evd = ep->connect_evd,
            .srq = ep->srq,
            .attr = ep->attr,
        };
}

static void setup_apply(struct ep *ep, const struct setup *setup)
{
        ep->pz = setup->pz;
        ep->recv_evd = setup->recv_evd;
        ep->request_evd = setup->request_evd;
        ep->connect_evd = setup->connect_evd;
        ep->srq = setup->srq;
        ep->attr = setup->attr;
}

/* How the receives of this setup count among the streams of their EVD. */
static DAT_COMPLETION_FLAGS recv_stream(const struct setup *setup)
{
        /* Receives of an SRQ always give notice: UNSIGNALLED says nothing more than the default. */
        if (setup->srq && setup->attr.recv_completion_flags == DAT_COMPLETION_UNSIGNALLED_FLAG)
                return DAT_COMPLETION_DEFAULT_FLAG;
        return setup->attr.recv_completion_flags;
}

static void count_streams(const struct setup *setup, int by)
{
        if (setup->recv_evd)
                evd_count_stream(setup->recv_evd, recv_stream(setup), by);
        if (setup->request_evd)
                evd_count_stream(setup->request_evd, setup->attr.request_completion_flags, by);
        if (setup->connect_evd)
                evd_count_other(setup->connect_evd, by);
}

static bool streams_fit(const struct setup *setup)
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
 * Counts the streams of a setup, unless they do not go together with those that are there. Two
 * threads do so in turn. Those of the EP's setup before, which it is to leave, do not matter.
 */
static bool join_streams(struct ia *ia, const struct setup *from, const struct setup *to)
{
        bool fit;

        pthread_mutex_lock(&ia->lock);
        if (from)
                count_streams(from, -1);
        fit = streams_fit(to);
        if (fit)
                count_streams(to, 1);
        if (from)
                count_streams(from, 1);
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

static DAT_RETURN use_objects(const struct setup *setup)
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

static void unuse_objects(const struct setup *setup)
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

static void release_recvs(struct ep *ep, const struct setup *setup)
{
        struct evd *evd = or_sink(ep, setup->recv_evd);

        if (setup->srq)
                srq_detach(setup->srq, evd);
        else
                evd_unreserve(evd, setup->attr.max_recv_dtos);
}

static void setup_detach(struct ep *ep, const struct setup *setup)
{
        release_recvs(ep, setup);
        evd_unreserve(or_sink(ep, setup->request_evd), setup->attr.max_request_dtos);
        unuse_objects(setup);
}

/* Reserves all that the setup needs; on failure nothing has changed. */
static DAT_RETURN setup_attach(struct ep *ep, const struct setup *setup)
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

static bool has_watermark(const struct ep *ep)
{
        return atomic_load(&ep->soft_watermark) != DAT_WATERMARK_INFINITE ||
               atomic_load(&ep->hard_watermark) != DAT_WATERMARK_INFINITE;
}

/*
 * Stores one of the EP's two marks and arms it. The Consumer need not look at the receive EVD,
 * where the receives that an EP has taken show: the service thread does while a mark is finite.
 */
static void set_mark(struct ep *ep, _Atomic int *mark, _Atomic bool *armed, DAT_COUNT value)
{
        bool had = has_watermark(ep);

        atomic_store(mark, value);
        if (has_watermark(ep) != had)
                evd_watch(ep_recv_target(ep), had ? -1 : 1);
        atomic_store(armed, value != DAT_WATERMARK_INFINITE);
}

static void set_soft_mark(struct ep *ep, DAT_COUNT value)
{
        set_mark(ep, &ep->soft_watermark, &ep->soft_armed, value);
}

static void set_hard_mark(struct ep *ep, DAT_COUNT value)
{
        set_mark(ep, &ep->hard_watermark, &ep->hard_armed, value);
}

/*
 * Goes over from one setup to another, or leaves everything as it is. `from` may be NULL;
 * `argument` is the subtype of an error about flags that do not go together on an EVD.
 */
static DAT_RETURN setup_change(struct ep *ep, const struct setup *from, const struct setup *to,
                               int argument)
{
        DAT_RETURN ret;

        /* For what an EVD's completion queue is armed depends on the streams of the EVD. */
        if (!join_streams(ep->obj.ia, from, to))
                return REF_ERROR(DAT_INVALID_PARAMETER, argument);
        ret = setup_attach(ep, to);
        if (ret != DAT_SUCCESS) {
                count_streams(to, -1);
                return ret;
        }
        if (from)
                count_streams(from, -1);
        setup_apply(ep, to);
        if (from && has_watermark(ep)) {
                evd_watch(or_sink(ep, from->recv_evd), -1);
                evd_watch(ep_recv_target(ep), 1);
        }
        if (from)
                setup_detach(ep, from);
        return DAT_SUCCESS;
}

/* The mark that an attribute asks for: 0 is what programs leave there that know of none. */
static DAT_COUNT soft_mark(const DAT_EP_ATTR *attr)
{
        return attr->srq_soft_hw > 0 ? attr->srq_soft_hw : DAT_WATERMARK_INFINITE;
}

static void run_broken(struct work *work)
{
        struct ep *ep = container_of(work, struct ep, broken_work);
        struct ia *ia = ep->obj.ia;

        pthread_mutex_lock(&ia->cm_lock);
        /* It may have ended otherwise meanwhile. */
        (void)ep_take(ep, EP_LOSES, DAT_CONNECTION_EVENT_BROKEN);
        pthread_mutex_unlock(&ia->cm_lock);
}

static void run_drained(struct work *work)
{
        struct ep *ep = container_of(work, struct ep, drained_work);
        struct ia *ia = ep->obj.ia;

        pthread_mutex_lock(&ia->cm_lock);
        if (!atomic_load(&ep->requests.in_use))
                (void)ep_take(ep, EP_IS_DRAINED, DAT_CONNECTION_EVENT_DISCONNECTED);
        pthread_mutex_unlock(&ia->cm_lock);
}

static void run_soft(struct work *work)
{
        struct ep *ep = container_of(work, struct ep, soft_work);

        async_evd_post(ep->obj.ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, object_handle(&ep->obj),
                       DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
}

static DAT_RETURN ep_new(struct ia *ia, enum ep_state state, struct ep **out)
{
        struct ep *ep = calloc(1, sizeof(*ep));
        DAT_RETURN ret;

        if (!ep)
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
        ep->obj.ia = ia;
        atomic_store(&ep->state, state);
        ep->attr = default_attr(ia);
        ep->soft_watermark = DAT_WATERMARK_INFINITE;
        ep->hard_watermark = DAT_WATERMARK_INFINITE;
        pool_init(&ep->recvs, ep, NULL, true, WR_POSTED_PLAIN);
        /* On iWARP a request may complete before its predecessors, see is_early(). */
        pool_init(&ep->requests, ep, NULL, false, ia->iwarp ? WR_POSTED : WR_POSTED_PLAIN);
        list_init(&ep->ending_link);
        work_init(&ep->broken_work, &ep->obj, run_broken);
        work_init(&ep->drained_work, &ep->obj, run_drained);
        work_init(&ep->soft_work, &ep->obj, run_soft);
        ret = object_publish(ia, &ep->obj, DAT_HANDLE_TYPE_EP);
        if (ret != DAT_SUCCESS) {
                pool_destroy(&ep->recvs);
                pool_destroy(&ep->requests);
                free(ep);
                return ret;
        }
        *out = ep;
        return DAT_SUCCESS;
}

/* Undoes ep_new() for an EP whose handle nobody has seen. */
static void ep_abandon(struct ep *ep)
{
        /* An IA that is being closed has taken it already. */
        if (!object_kill(&ep->obj))
                return;
        object_bury(&ep->obj);
        pool_destroy(&ep->recvs);
        pool_destroy(&ep->requests);
        free(ep);
}

/* Makes an EP without zone or EVDs, as the Provider gives it to a Connection Request. */
DAT_RETURN ep_new_tentative(struct ia *ia, struct ep **out)
{
        struct setup setup = {.attr = default_attr(ia)};
        DAT_RETURN ret = ep_new(ia, EP_TENTATIVE, out);

        if (ret != DAT_SUCCESS)
                return ret;
        ret = setup_change(*out, NULL, &setup, DAT_NO_SUBTYPE);
        if (ret != DAT_SUCCESS)
                ep_abandon(*out);
        return ret;
}

static DAT_RETURN get_evd(struct ia *ia, DAT_EVD_HANDLE handle, unsigned int stream, int subtype,
                          struct evd **out)
{
        struct evd *evd;

        *out = NULL;
        if (handle == DAT_HANDLE_NULL)
                return DAT_SUCCESS;
        evd = object_get(handle, DAT_HANDLE_TYPE_EVD);
        if (!evd)
                return REF_ERROR(DAT_INVALID_HANDLE, subtype);
        /* The caller counts a use of it under a lock and finds out there whether it still lives. */
        *out = evd;
        if (evd->obj.ia != ia)
                return REF_ERROR(DAT_INVALID_HANDLE, subtype);
        if (!((unsigned int)evd->flags & stream))
                return REF_ERROR(DAT_INVALID_HANDLE, subtype);
        return DAT_SUCCESS;
}

static void put_evd(struct evd *evd)
{
        if (evd)
                object_put(evd);
}

struct wanted {
        DAT_PZ_HANDLE pz;
        DAT_EVD_HANDLE recv_evd;
        DAT_EVD_HANDLE request_evd;
        DAT_EVD_HANDLE connect_evd;
        DAT_SRQ_HANDLE srq;
};

/* soft-RoCE checks the buffers of an SRQ against the domain of the EP that takes them. */
static bool suits_srq(const struct pz *pz, const struct srq *srq)
{
        return pz->pd == srq->pz->pd;
}

static DAT_RETURN get_setup(struct ia *ia, const struct wanted *wanted, bool with_srq,
                            struct setup *setup)
{
        DAT_RETURN ret;

        setup->pz = object_get(wanted->pz, DAT_HANDLE_TYPE_PZ);
        if (!setup->pz || setup->pz->obj.ia != ia)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
        ret = get_evd(ia, wanted->recv_evd, DAT_EVD_DTO_FLAG, DAT_INVALID_HANDLE_EVD_RECV,
                      &setup->recv_evd);
        if (ret == DAT_SUCCESS)
                ret = get_evd(ia, wanted->request_evd, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
                              DAT_INVALID_HANDLE_EVD_REQUEST, &setup->request_evd);
        if (ret == DAT_SUCCESS)
                ret = get_evd(ia, wanted->connect_evd, DAT_EVD_CONNECTION_FLAG,
                              DAT_INVALID_HANDLE_EVD_CONN, &setup->connect_evd);
        if (ret != DAT_SUCCESS || !with_srq)
                return ret;
        setup->srq = object_get(wanted->srq, DAT_HANDLE_TYPE_SRQ);
        if (!setup->srq || setup->srq->obj.ia != ia)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
        if (!suits_srq(setup->pz, setup->srq))
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        return DAT_SUCCESS;
}

static void put_setup(struct setup *setup)
{
        if (setup->srq)
                object_put(setup->srq);
        put_evd(setup->connect_evd);
        put_evd(setup->request_evd);
        put_evd(setup->recv_evd);
        if (setup->pz)
                object_put(setup->pz);
}

static DAT_RETURN create(DAT_IA_HANDLE ia_handle, const struct wanted *wanted, bool with_srq,
                         const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep_handle)
{
        struct ia *ia = object_get(ia_handle, DAT_HANDLE_TYPE_IA);
        int attr_argument = with_srq ? DAT_INVALID_ARG7 : DAT_INVALID_ARG6;
        struct setup setup = {0};
        struct ep *ep;
        DAT_RETURN ret;

        if (!ia)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
        setup.attr = attr ? *attr : default_attr(ia);
        if (ia->lenient)
                fill_in_zeros(ia, &setup.attr);
        ret = get_setup(ia, wanted, with_srq, &setup);
        if (ret != DAT_SUCCESS)
                goto put;
        ret = REF_ERROR(DAT_INVALID_PARAMETER, attr_argument);
        if ((with_srq && !attr) || !attr_valid(ia, &setup.attr, with_srq))
                goto put;
        ret = REF_ERROR(DAT_INVALID_PARAMETER, attr_argument + 1);
        if (!ep_handle)
                goto put;
        ret = ep_new(ia, EP_UNCONNECTED, &ep);
        if (ret != DAT_SUCCESS)
                goto put;
        ret = setup_change(ep, NULL, &setup, attr_argument);
        if (ret != DAT_SUCCESS) {
                ep_abandon(ep);
                goto put;
        }
        if (with_srq)
                set_soft_mark(ep, soft_mark(&setup.attr));
        *ep_handle = object_handle(&ep->obj);
put:
        put_setup(&setup);
        object_put(ia);
        return ret;
}

/* dat_ep_create(3DAT) */
DAT_RETURN ref_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
                         DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
                         const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep_handle)
{
        struct wanted wanted = {
            .pz = pz,
            .recv_evd = recv_evd,
            .request_evd = request_evd,
            .connect_evd = connect_evd,
        };

        return create(ia_handle, &wanted, false, attr, ep_handle);
}

/* dat_ep_create_with_srq(3DAT) */
DAT_RETURN ref_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz,
                                  DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE request_evd,
                                  DAT_EVD_HANDLE connect_evd, DAT_SRQ_HANDLE srq,
                                  const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep_handle)
{
        struct wanted wanted = {
            .pz = pz,
            .recv_evd = recv_evd,
            .request_evd = request_evd,
            .connect_evd = connect_evd,
            .srq = srq,
        };

        return create(ia_handle, &wanted, true, attr, ep_handle);
}

#define EP_FIELDS_ALL ((uint64_t)DAT_EP_FIELD_ALL)

/* dat_ep_query(3DAT): every field, whichever the mask asks for. */
DAT_RETURN ref_ep_query(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
        struct ep *ep = object_get(handle, DAT_HANDLE_TYPE_EP);
        DAT_RETURN ret = DAT_SUCCESS;
        struct ia *ia;

        if (!ep)
                return BAD_EP;
        ia = ep->obj.ia;
        if ((uint64_t)mask & ~EP_FIELDS_ALL) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        } else if (!param) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        } else {
                pthread_mutex_lock(&ia->cm_lock);
                *param = (DAT_EP_PARAM){
                    .ia_handle = abi_ia_handle(&ia->obj),
                    .ep_state = ep_dat_state(ep),
                    .local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ia->address,
                    .local_port_qual = ep->local_port,
                    .remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ep->remote,
                    .remote_port_qual = ep->remote_port,
                    .pz_handle = ep->pz ? object_handle(&ep->pz->obj) : DAT_HANDLE_NULL,
                    .recv_evd_handle =
                        ep->recv_evd ? object_handle(&ep->recv_evd->obj) : DAT_HANDLE_NULL,
                    .request_evd_handle =
                        ep->request_evd ? object_handle(&ep->request_evd->obj) : DAT_HANDLE_NULL,
                    .connect_evd_handle =
                        ep->connect_evd ? object_handle(&ep->connect_evd->obj) : DAT_HANDLE_NULL,
                    .srq_handle = ep->srq ? object_handle(&ep->srq->obj) : DAT_HANDLE_NULL,
                    .ep_attr = ep->attr,
                };
                pthread_mutex_unlock(&ia->cm_lock);
        }
        object_put(ep);
        return ret;
}

#define STREAM_FIELDS                                                     \
        (DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE | \
         DAT_EP_FIELD_CONNECT_EVD_HANDLE)
#define QUIET_FIELDS                                                                              \
        (DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR | DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR | \
         DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR | DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR)
#define MODIFIABLE_FIELDS (STREAM_FIELDS | DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_EP_ATTR_ALL)

/* The table of dat_ep_modify(3DAT): may these fields be changed in that state? */
static bool state_allows(uint64_t mask, int state)
{
        bool quiet = state == EP_UNCONNECTED;
        bool tentative = state == EP_TENTATIVE;

        if (!mask)
                return true;
        if (!quiet && !tentative && state != EP_RESERVED && state != EP_PASSIVE)
                return false;
        if (mask & DAT_EP_FIELD_PZ_HANDLE && !quiet && !tentative)
                return false;
        return !(mask & QUIET_FIELDS) || quiet;
}

static void merge_attr(DAT_EP_ATTR *attr, uint64_t mask, const DAT_EP_ATTR *wanted)
{
#define MERGE(FIELD, member)                             \
        do {                                             \
                if (mask & DAT_EP_FIELD_EP_ATTR_##FIELD) \
                        attr->member = wanted->member;   \
        } while (0)
        MERGE(SERVICE_TYPE, service_type);
        MERGE(MAX_MESSAGE_SIZE, max_message_size);
        MERGE(MAX_RDMA_SIZE, max_rdma_size);
        MERGE(QOS, qos);
        MERGE(RECV_COMPLETION_FLAGS, recv_completion_flags);
        MERGE(REQUEST_COMPLETION_FLAGS, request_completion_flags);
        MERGE(MAX_RECV_DTOS, max_recv_dtos);
        MERGE(MAX_REQUEST_DTOS, max_request_dtos);
        MERGE(MAX_RECV_IOV, max_recv_iov);
        MERGE(MAX_REQUEST_IOV, max_request_iov);
        MERGE(MAX_RDMA_READ_IN, max_rdma_read_in);
        MERGE(MAX_RDMA_READ_OUT, max_rdma_read_out);
        MERGE(SRQ_SOFT_HW, srq_soft_hw);
        MERGE(MAX_RDMA_READ_IOV, max_rdma_read_iov);
        MERGE(MAX_RDMA_WRITE_IOV, max_rdma_write_iov);
        MERGE(NUM_TRANSPORT_ATTR, ep_transport_specific_count);
        MERGE(TRANSPORT_SPECIFIC_ATTR, ep_transport_specific);
        MERGE(NUM_PROVIDER_ATTR, ep_provider_specific_count);
        MERGE(PROVIDER_SPECIFIC_ATTR, ep_provider_specific);
#undef MERGE
}

/* The most segments of a receive that waits in software for its queue pair. */
static int held_segments(struct wr_pool *pool)
{
        int most = 0;

        lock_acquire(&pool->lock);
        for (struct link *at = pool->pending.next; at != &pool->pending; at = at->next) {
                const struct wr *wr = container_of(at, struct wr, link);

                if (wr->num_sge > most)
                        most = wr->num_sge;
        }
        lock_release(&pool->lock);
        return most;
}

static DAT_RETURN check_held_receives(struct ep *ep, const struct setup *to)
{
        int held = atomic_load(&ep->recvs.in_use);

        if (!held)
                return DAT_SUCCESS;
        /* A receive that waits in software was checked against the zone of its posting. */
        if (to->pz != ep->pz)
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_PZ);
        if (to->attr.recv_completion_flags != ep->attr.recv_completion_flags)
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_NOTREADY);
        if (!ep->srq &&
            (to->attr.max_recv_dtos < held || to->attr.max_recv_iov < held_segments(&ep->recvs)))
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_NOTREADY);
        return DAT_SUCCESS;
}

/* Events that an earlier connection left on an EVD the EP no longer uses would outlive the EP. */
static void leave_evds(const struct ep *ep, const struct setup *from)
{
        struct evd *evds[] = {from->recv_evd, from->request_evd, from->connect_evd};

        for (int i = 0; i < 3; i++) {
                if (evds[i] && evds[i] != ep->recv_evd && evds[i] != ep->request_evd &&
                    evds[i] != ep->connect_evd)
                        evd_forget_ep(evds[i], ep);
        }
}

static DAT_RETURN modify(struct ep *ep, uint64_t mask, const DAT_EP_PARAM *param)
{
        struct setup from = setup_of(ep);
        struct setup to = from;
        struct wanted wanted = {
            .pz = param->pz_handle,
            .recv_evd = param->recv_evd_handle,
            .request_evd = param->request_evd_handle,
            .connect_evd = param->connect_evd_handle,
        };
        struct evd *pinned[3] = {NULL};
        struct pz *pz = NULL;
        DAT_RETURN ret = DAT_SUCCESS;

        if (!mask)
                return ret;
        if (mask & DAT_EP_FIELD_PZ_HANDLE) {
                pz = object_get(wanted.pz, DAT_HANDLE_TYPE_PZ);
                if (!pz || pz->obj.ia != ep->obj.ia || (ep->srq && !suits_srq(pz, ep->srq)))
                        ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
                to.pz = pz;
        }
        if (ret == DAT_SUCCESS && mask & DAT_EP_FIELD_RECV_EVD_HANDLE) {
                ret = get_evd(ep->obj.ia, wanted.recv_evd, DAT_EVD_DTO_FLAG,
                              DAT_INVALID_HANDLE_EVD_RECV, &pinned[0]);
                to.recv_evd = pinned[0];
        }
        if (ret == DAT_SUCCESS && mask & DAT_EP_FIELD_REQUEST_EVD_HANDLE) {
                ret = get_evd(ep->obj.ia, wanted.request_evd,
                              DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
                              DAT_INVALID_HANDLE_EVD_REQUEST, &pinned[1]);
                to.request_evd = pinned[1];
        }
        if (ret == DAT_SUCCESS && mask & DAT_EP_FIELD_CONNECT_EVD_HANDLE) {
                ret = get_evd(ep->obj.ia, wanted.connect_evd, DAT_EVD_CONNECTION_FLAG,
                              DAT_INVALID_HANDLE_EVD_CONN, &pinned[2]);
                to.connect_evd = pinned[2];
        }
        if (DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        merge_attr(&to.attr, mask, &param->ep_attr);
        if (ret == DAT_SUCCESS && !attr_valid(ep->obj.ia, &to.attr, ep->srq != NULL))
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        if (ret == DAT_SUCCESS)
                ret = check_held_receives(ep, &to);
        if (ret == DAT_SUCCESS)
                ret = setup_change(ep, &from, &to, DAT_INVALID_ARG3);
        if (ret == DAT_SUCCESS)
                leave_evds(ep, &from);
        /* An attribute given back as dat_ep_query shows it, 0 too, changes nothing. */
        if (ret == DAT_SUCCESS && ep->srq && to.attr.srq_soft_hw != from.attr.srq_soft_hw)
                set_soft_mark(ep, soft_mark(&to.attr));
        for (int i = 0; i < 3; i++)
                put_evd(pinned[i]);
        if (pz)
                object_put(pz);
        return ret;
}

/*
 * dat_ep_modify(3DAT): all the changes are made, or none. No queue pair exists in the states that
 * allow a change, so it costs nothing but bookkeeping.
 */
DAT_RETURN ref_ep_modify(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK dat_mask,
                         const DAT_EP_PARAM *param)
{
        struct ep *ep = object_get(handle, DAT_HANDLE_TYPE_EP);
        uint64_t mask = (uint64_t)dat_mask;
        DAT_RETURN ret;

        if (!ep)
                return BAD_EP;
        if (mask & ~(uint64_t)MODIFIABLE_FIELDS) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        } else if (!param) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        } else {
                pthread_mutex_lock(&ep->obj.ia->cm_lock);
                gate_close(&ep->gate);
                if (state_allows(mask, atomic_load(&ep->state)))
                        ret = modify(ep, mask, param);
                else
                        ret = ep_state_error(ep);
                gate_open(&ep->gate);
                pthread_mutex_unlock(&ep->obj.ia->cm_lock);
        }
        object_put(ep);
        return ret;
}

/* dat_ep_get_status(3DAT): each of the pointers may be null. */
DAT_RETURN ref_ep_get_status(DAT_EP_HANDLE handle, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
                             DAT_BOOLEAN *request_idle)
{
        struct ep *ep = object_get(handle, DAT_HANDLE_TYPE_EP);

        if (!ep)
                return BAD_EP;
        pthread_mutex_lock(&ep->obj.ia->cm_lock);
        evd_drain(ep_recv_target(ep));
        evd_drain(ep_request_target(ep));
        pthread_mutex_unlock(&ep->obj.ia->cm_lock);
        if (state)
                *state = ep_dat_state(ep);
        if (recv_idle)
                *recv_idle = atomic_load(&ep->recvs.in_use) ? DAT_FALSE : DAT_TRUE;
        if (request_idle)
                *request_idle = atomic_load(&ep->requests.in_use) ? DAT_FALSE : DAT_TRUE;
        object_put(ep);
        return DAT_SUCCESS;
}

/* dat_ep_reset(3DAT): the queue pair goes with the connection, so it waits for that at most. */
DAT_RETURN ref_ep_reset(DAT_EP_HANDLE handle)
{
        struct ep *ep = object_get(handle, DAT_HANDLE_TYPE_EP);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!ep)
                return BAD_EP;
        pthread_mutex_lock(&ep->obj.ia->cm_lock);
        ends_await(ep);
        if (!object_lives(&ep->obj))
                ret = BAD_EP;
        else if (!ep_take(ep, EP_IS_RESET, (DAT_EVENT_NUMBER)0))
                ret = ep_state_error(ep);
        pthread_mutex_unlock(&ep->obj.ia->cm_lock);
        object_put(ep);
        return ret;
}

/* dat_ep_free(3DAT): not while a service point or a Connection Request has a hold on it. */
DAT_RETURN ref_ep_free(DAT_EP_HANDLE handle)
{
        struct ep *ep = object_get(handle, DAT_HANDLE_TYPE_EP);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!ep)
                return BAD_EP;
        pthread_mutex_lock(&ep->obj.ia->cm_lock);
        if (!ep_may(ep, EP_IS_FREED)) {
                ret = ep_state_error(ep);
        } else if (!object_kill(&ep->obj)) {
                ret = BAD_EP;
        } else {
                ep_must(ep, EP_IS_FREED, (DAT_EVENT_NUMBER)0);
                ends_await(ep);
        }
        pthread_mutex_unlock(&ep->obj.ia->cm_lock);
        if (ret != DAT_SUCCESS) {
                object_put(ep);
                return ret;
        }
        object_await_last(&ep->obj, 1);
        ep_destroy(ep);
        return ret;
}

/* Frees what a dead EP without a connection consists of. */
void ep_destroy(struct ep *ep)
{
        struct setup setup = setup_of(ep);
        struct evd *evds[] = {ep_recv_target(ep), ep_request_target(ep), ep->connect_evd};
        struct ia *ia = ep->obj.ia;

        for (int i = 0; i < 3; i++) {
                if (evds[i])
                        evd_forget_ep(evds[i], ep);
        }
        set_soft_mark(ep, DAT_WATERMARK_INFINITE);
        set_hard_mark(ep, DAT_WATERMARK_INFINITE);
        work_cancel(&ia->loop, &ep->broken_work);
        work_cancel(&ia->loop, &ep->drained_work);
        work_cancel(&ia->loop, &ep->soft_work);
        count_streams(&setup, -1);
        setup_detach(ep, &setup);
        object_bury(&ep->obj);
        pool_destroy(&ep->recvs);
        pool_destroy(&ep->requests);
        free(ep);
}

/* Puts a connection event on the EP's connect EVD, with the private data of the peer's answer. */
void ep_post_event(struct ep *ep, DAT_EVENT_NUMBER number)
{
        bool answer = ep->initiated && (number == DAT_CONNECTION_EVENT_ESTABLISHED ||
                                        number == DAT_CONNECTION_EVENT_PEER_REJECTED);
        struct event event = {
            .dat.event_number = number,
            .dat.event_data.connect_event_data =
                {
                    .ep_handle = object_handle(&ep->obj),
                    .private_data_size = answer ? ep->private_data_size : 0,
                    .private_data = answer && ep->private_data_size ? ep->private_data : NULL,
                },
            .ep = ep,
            .notify = true,
        };

        if (ep->connect_evd)
                (void)evd_post(ep->connect_evd, &event);
}

/*
 * Something has failed that breaks the connection: now, or once it is there, for messages may come
 * before the event that says so. May be called with an EVD locked.
 */
void ep_failed(struct ep *ep)
{
        int state;

        atomic_store(&ep->failed, true);
        state = atomic_load(&ep->state);
        if (ep_state_can_break(state))
                work_queue(&ep->obj.ia->loop, &ep->broken_work);
}

static bool above(_Atomic int *mark, _Atomic bool *armed, int held)
{
        int limit = atomic_load(mark);

        return limit != DAT_WATERMARK_INFINITE && held > limit && atomic_load(armed) &&
               atomic_exchange(armed, false);
}

/* The EP holds one SRQ buffer more, or less, that the Consumer has not taken back. */
void ep_recv_held(struct ep *ep, int by)
{
        int held = atomic_fetch_add(&ep->srq_held, by) + by;

        if (by < 0)
                return;
        if (above(&ep->soft_watermark, &ep->soft_armed, held))
                work_queue(&ep->obj.ia->loop, &ep->soft_work);
        if (above(&ep->hard_watermark, &ep->hard_armed, held))
                ep_failed(ep);
}

static void drain_recvs(struct ep *ep)
{
        pthread_mutex_lock(&ep->obj.ia->cm_lock);
        evd_drain(ep_recv_target(ep));
        pthread_mutex_unlock(&ep->obj.ia->cm_lock);
}

static bool mark_valid(DAT_COUNT mark)
{
        return mark == DAT_WATERMARK_INFINITE || mark >= 0;
}

/*
 * dat_ep_set_watermark(3DAT): counts the SRQ buffers that the EP has consumed and whose events
 * have not been taken. DAT_MODEL_NOT_SUPPORTED for an EP without SRQ.
 */
DAT_RETURN ref_ep_set_watermark(DAT_EP_HANDLE handle, DAT_COUNT soft, DAT_COUNT hard)
{
        struct ep *ep = object_get(handle, DAT_HANDLE_TYPE_EP);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!ep)
                return BAD_EP;
        if (!ep->srq) {
                ret = REF_ERROR(DAT_MODEL_NOT_SUPPORTED, 0);
        } else if (!mark_valid(soft)) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        } else if (!mark_valid(hard)) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        } else {
                pthread_mutex_lock(&ep->obj.ia->cm_lock);
                set_soft_mark(ep, soft);
                set_hard_mark(ep, hard);
                ep->attr.srq_soft_hw = soft;
                pthread_mutex_unlock(&ep->obj.ia->cm_lock);
                drain_recvs(ep);
                ep_recv_held(ep, 0);
        }
        object_put(ep);
        return ret;
}

/* How many receives are at the EP. What one of an SRQ holds is known only where it holds none. */
static DAT_COUNT recvs_at(struct ep *ep)
{
        bool receiving;

        if (!ep->srq)
                return atomic_load(&ep->recvs.in_use);
        pthread_mutex_lock(&ep->obj.ia->cm_lock);
        receiving = ep_may_be_receiving(ep);
        pthread_mutex_unlock(&ep->obj.ia->cm_lock);
        return receiving ? DAT_VALUE_UNKNOWN : 0;
}

/*
 * dat_ep_recv_query(3DAT): what is posted and not completed; messages come in order, so the span is
 * the same. DAT_VALUE_UNKNOWN for both while a message may be arriving in a buffer of an SRQ.
 */
DAT_RETURN ref_ep_recv_query(DAT_EP_HANDLE handle, DAT_COUNT *allocated, DAT_COUNT *span)
{
        struct ep *ep = object_get(handle, DAT_HANDLE_TYPE_EP);
        DAT_COUNT count;

        if (!ep)
                return BAD_EP;
        drain_recvs(ep);
        count = recvs_at(ep);
        if (allocated)
                *allocated = count;
        if (span)
                *span = count;
        object_put(ep);
        return DAT_SUCCESS;
}
