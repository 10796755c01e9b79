/* SPDX-License-Identifier: BSD-2-Clause */
/* The patterns over libibverbs and librdmacm: a queue pair for each end, two queues for each. */
#include "side.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 2000
#define FOREVER    7
#define INLINE     64 /* bytes, up to which a careful program sends inline */

struct end_of {
        struct rdma_cm_id *id;
        struct ibv_mr *mr;
        unsigned char *memory;
        bool up;
};

struct verbs {
        struct rdma_event_channel *events;
        struct rdma_cm_id *listener;
        struct ibv_pd *pd;
        struct ibv_srq *srq; /* or NULL */
        struct ibv_comp_channel *channels[QUEUES];
        struct ibv_cq *cqs[QUEUES];
        struct end_of ends[2];
};

static void check(int error, const char *call)
{
        if (error)
                die(call, strerror(error < 0 ? errno : error));
}

static void *check_made(void *object, const char *call)
{
        if (!object)
                die(call, strerror(errno));
        return object;
}

#define must(call)      check(call, #call)
#define must_make(call) check_made(call, #call)

static const struct rdma_conn_param param = {
    .responder_resources = 1,
    .initiator_depth = 1,
    .retry_count = FOREVER,
    .rnr_retry_count = FOREVER,
};

static void make_qp(struct verbs *verbs, enum end end, struct rdma_cm_id *id)
{
        struct ibv_qp_init_attr init = {
            .send_cq = verbs->cqs[end == END_A ? A_REQUESTS : B_REQUESTS],
            .recv_cq = verbs->cqs[end == END_A ? A_RECVS : B_RECVS],
            .srq = end == END_B ? verbs->srq : NULL,
            .cap = {.max_send_wr = DEPTH,
                    .max_recv_wr = RECVS,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = INLINE},
            .qp_type = IBV_QPT_RC,
        };

        must(rdma_create_qp(id, verbs->pd, &init));
}

/* Takes the next event; A's id has its end for a context, B's gets it with the request. */
static enum rdma_cm_event_type step(struct verbs *verbs, struct end_of *ends)
{
        struct rdma_conn_param answer = param;
        enum rdma_cm_event_type type;
        struct rdma_cm_event *event;
        struct rdma_cm_id *id;

        must(rdma_get_cm_event(verbs->events, &event));
        type = event->event;
        id = event->id;
        switch (type) {
        case RDMA_CM_EVENT_ADDR_RESOLVED:
                must(rdma_resolve_route(id, TIMEOUT_MS));
                break;
        case RDMA_CM_EVENT_ROUTE_RESOLVED:
                make_qp(verbs, END_A, id);
                must(rdma_connect(id, &answer));
                break;
        case RDMA_CM_EVENT_CONNECT_REQUEST:
                ends[END_B].id = id;
                id->context = &ends[END_B];
                make_qp(verbs, END_B, id);
                must(rdma_accept(id, &answer));
                break;
        case RDMA_CM_EVENT_ESTABLISHED:
                ((struct end_of *)id->context)->up = true;
                break;
        case RDMA_CM_EVENT_DISCONNECTED:
                ((struct end_of *)id->context)->up = false;
                break;
        case RDMA_CM_EVENT_TIMEWAIT_EXIT:
                break;
        default:
                die("librdmacm", rdma_event_str(type));
        }
        must(rdma_ack_cm_event(event));
        return type;
}

static void join(struct verbs *verbs, struct end_of *ends)
{
        must(rdma_create_id(verbs->events, &ends[END_A].id, &ends[END_A], RDMA_PS_TCP));
        must(rdma_resolve_addr(ends[END_A].id, NULL, rdma_get_local_addr(verbs->listener),
                               TIMEOUT_MS));
        while (!ends[END_A].up || !ends[END_B].up)
                (void)step(verbs, ends);
}

static void part(struct verbs *verbs, struct end_of *ends)
{
        must(rdma_disconnect(ends[END_A].id));
        while (ends[END_B].up)
                (void)step(verbs, ends);
        must(rdma_disconnect(ends[END_B].id));
        while (ends[END_A].up)
                (void)step(verbs, ends);
        for (int i = 0; i < 2; i++) {
                rdma_destroy_qp(ends[i].id);
                must(rdma_destroy_id(ends[i].id));
        }
}

static void make_memory(struct verbs *verbs, struct end_of *end)
{
        end->memory = must_make(calloc(1, MESSAGE_MAX));
        end->mr = must_make(
            ibv_reg_mr(verbs->pd, end->memory, MESSAGE_MAX,
                       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE));
}

/* Of an IA there are to be known: what its device and port can do, and that a removal is heard of.
 */
static void verbs_visit(struct place *place)
{
        struct rdma_event_channel *events = must_make(rdma_create_event_channel());
        struct ibv_device_attr device;
        struct ibv_port_attr port;
        struct rdma_cm_id *id;

        must(rdma_create_id(events, &id, NULL, RDMA_PS_TCP));
        must(rdma_bind_addr(id, (struct sockaddr *)&place->address));
        must(ibv_query_device(id->verbs, &device));
        must(ibv_query_port(id->verbs, id->port_num, &port));
        must(rdma_destroy_id(id));
        rdma_destroy_event_channel(events);
}

static void *verbs_open(DAT_IA_HANDLE ia, bool shared)
{
        struct ibv_srq_init_attr attr_of_srq = {.attr = {.max_wr = RECVS, .max_sge = 1}};
        struct verbs *verbs = must_make(calloc(1, sizeof(*verbs)));
        struct ibv_context *context;
        DAT_IA_ATTR attr;

        if (dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_NONE, NULL))
                die("dat_ia_query", "no address");
        verbs->events = must_make(rdma_create_event_channel());
        must(rdma_create_id(verbs->events, &verbs->listener, NULL, RDMA_PS_TCP));
        must(rdma_bind_addr(verbs->listener, (struct sockaddr *)attr.ia_address_ptr));
        must(rdma_listen(verbs->listener, DEPTH));
        context = verbs->listener->verbs;
        verbs->pd = must_make(ibv_alloc_pd(context));
        if (shared)
                verbs->srq = must_make(ibv_create_srq(verbs->pd, &attr_of_srq));
        for (int i = 0; i < QUEUES; i++) {
                verbs->channels[i] = must_make(ibv_create_comp_channel(context));
                verbs->cqs[i] =
                    must_make(ibv_create_cq(context, 2 * RECVS, NULL, verbs->channels[i], 0));
        }
        make_memory(verbs, &verbs->ends[END_A]);
        make_memory(verbs, &verbs->ends[END_B]);
        join(verbs, verbs->ends);
        return verbs;
}

static void verbs_close(void *self)
{
        struct verbs *verbs = self;

        part(verbs, verbs->ends);
        for (int i = 0; i < 2; i++) {
                must(ibv_dereg_mr(verbs->ends[i].mr));
                free(verbs->ends[i].memory);
        }
        for (int i = 0; i < QUEUES; i++) {
                must(ibv_destroy_cq(verbs->cqs[i]));
                must(ibv_destroy_comp_channel(verbs->channels[i]));
        }
        if (verbs->srq)
                must(ibv_destroy_srq(verbs->srq));
        must(ibv_dealloc_pd(verbs->pd));
        must(rdma_destroy_id(verbs->listener));
        rdma_destroy_event_channel(verbs->events);
        free(verbs);
}

static struct ibv_sge local(const struct end_of *end, size_t length)
{
        return (struct ibv_sge){
            .addr = (uintptr_t)end->memory, .length = (uint32_t)length, .lkey = end->mr->lkey};
}

static void verbs_post_recv(void *self, enum end end, size_t length)
{
        struct verbs *verbs = self;
        struct end_of *at = &verbs->ends[end];
        struct ibv_sge sge = local(at, length);
        struct ibv_recv_wr recv = {.wr_id = length, .sg_list = &sge, .num_sge = 1};
        struct ibv_recv_wr *bad;

        if (verbs->srq && end == END_B)
                must(ibv_post_srq_recv(verbs->srq, &recv, &bad));
        else
                must(ibv_post_recv(at->id->qp, &recv, &bad));
}

static void post(struct verbs *verbs, enum end end, enum ibv_wr_opcode opcode, size_t length)
{
        struct end_of *at = &verbs->ends[end];
        struct end_of *other = &verbs->ends[!end];
        struct ibv_sge sge = local(at, length);
        struct ibv_send_wr send = {
            .wr_id = length,
            .sg_list = &sge,
            .num_sge = 1,
            .opcode = opcode,
            .send_flags = IBV_SEND_SIGNALED,
            .wr.rdma = {.remote_addr = (uintptr_t)other->memory, .rkey = other->mr->rkey},
        };
        struct ibv_send_wr *bad;

        if (opcode != IBV_WR_RDMA_READ && length <= INLINE)
                send.send_flags |= IBV_SEND_INLINE;
        must(ibv_post_send(at->id->qp, &send, &bad));
}

static void verbs_post_send(void *self, enum end end, size_t length)
{
        post(self, end, IBV_WR_SEND, length);
}

static void verbs_post_write(void *self, enum end end, size_t length)
{
        post(self, end, IBV_WR_RDMA_WRITE, length);
}

static void verbs_post_read(void *self, enum end end, size_t length)
{
        post(self, end, IBV_WR_RDMA_READ, length);
}

static int verbs_reap(void *self, enum queue queue, int most)
{
        struct ibv_wc completions[BATCH];
        int n = ibv_poll_cq(((struct verbs *)self)->cqs[queue], most, completions);

        if (n < 0)
                die("ibv_poll_cq", "failed");
        for (int i = 0; i < n; i++) {
                if (completions[i].status != IBV_WC_SUCCESS)
                        die("an operation over verbs", ibv_wc_status_str(completions[i].status));
        }
        return n;
}

static void verbs_await(void *self, enum queue queue)
{
        struct verbs *verbs = self;
        struct ibv_cq *cq;
        void *context;

        while (!verbs_reap(self, queue, 1)) {
                must(ibv_req_notify_cq(verbs->cqs[queue], 0));
                if (verbs_reap(self, queue, 1))
                        return;
                must(ibv_get_cq_event(verbs->channels[queue], &cq, &context));
                ibv_ack_cq_events(cq, 1);
        }
}

static void verbs_reconnect(void *self)
{
        struct end_of spare[2] = {0};

        join(self, spare);
        part(self, spare);
}

const struct side verbs_side = {
    .name = "verbs",
    .visit = verbs_visit,
    .open = verbs_open,
    .close = verbs_close,
    .post_recv = verbs_post_recv,
    .post_send = verbs_post_send,
    .post_write = verbs_post_write,
    .post_read = verbs_post_read,
    .reap = verbs_reap,
    .await = verbs_await,
    .reconnect = verbs_reconnect,
};
