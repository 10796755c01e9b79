/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_create_with_srq: the protection zones of EP and SRQ. */
#include "cases/ep/ep_create_with_srq/fixtures.h"
#include "cases/ep/shared/creation.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ep_create_with_srq.h"

CASE(ep_create_with_srq, pz_of_the_srq_only)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        if (provider_attr(t)->srq_ep_pz_difference_supported)
                unsupported(t, "srq_ep_pz_difference_supported: PZs may differ");
        with.pz = pz_new(t);

        expect(ep_creation_call(&with, &ep), DAT_INVALID_PARAMETER);
}

CASE(ep_create_with_srq, pz_of_its_own)
{
        struct queue queue = queue_with(t, 8);
        struct ep_creation with = ep_create_with_srq_arguments(t);

        with.pz = pz_new(t);
        with.srq = queue.srq;
        DAT_EP_HANDLE ep = ep_created(t, &with);
        struct flow flow = {
            .ep = ep, .evd = with.recv_evd, .end = expect_connect(ep), .length = MESSAGE};

        queue_post(t, &queue, 2);
        expect_traffic(t, &queue, &flow, 2);
}

CASE(ep_create_with_srq, pzs_of_several_eps)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        for (int i = 0; i < 3; i++) {
                with.pz = pz_new(t);
                expect_that(ep_described(t, ep_created(t, &with)).pz_handle == with.pz,
                            "another PZ");
        }
}

CASE(ep_create_with_srq, receives_of_several_pzs)
{
        struct queue queue = queue_with(t, 8);
        struct ep_creation with = ep_create_with_srq_arguments(t);
        struct flow flows[3];

        with.srq = queue.srq;
        for (int i = 0; i < 3; i++) {
                DAT_EP_HANDLE ep;

                with.pz = pz_new(t);
                with.recv_evd = evd_with(t);
                ep = ep_created(t, &with);
                flows[i] = flow_to(t, ep, expect_connect(ep));
        }
        queue_post(t, &queue, 6);
        for (int i = 0; i < 6; i++)
                expect_traffic(t, &queue, &flows[i % 3], 1);
}

CASE(ep_create_with_srq, memory_of_another_pz)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        DAT_EP_HANDLE ep = ep_created(t, &with);
        struct peer_ep *end = expect_connect(ep);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t, .pz = pz_new(t)), 0, MESSAGE);

        peer_post_recv(end, 1, MESSAGE);
        expect_protected(t,
                         dat_ep_post_send(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                          DAT_COMPLETION_DEFAULT_FLAG),
                         with.request_evd);
}

/* An EP in `zone`, with an SRQ of the case's own one, joined to a plain EP. */
static struct loop join_plain(struct test *t, struct ep_creation *with, DAT_PZ_HANDLE zone,
                              bool asks, DAT_COUNT reads)
{
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){
                                                .segments = 1,
                                                .most = (DAT_VLEN)MESSAGE,
                                                .reads = reads,
                                            });
        DAT_EP_HANDLE plain = ep_with(t, .attr = &attr);
        DAT_EP_HANDLE ep;

        with->pz = zone;
        ep = ep_created(t, with);
        return asks ? expect_joined(t, ep, plain) : expect_joined(t, plain, ep);
}

/* A request of such an EP, with its own memory, and that of the other end. */
struct asked {
        struct loop loop;
        DAT_EVD_HANDLE evd;
        struct vector own;
        struct vector far;
        DAT_RETURN ret;
};

/* The memory is of the zone `of`. */
static struct asked ask(struct test *t, const struct request *row, DAT_PZ_HANDLE zone,
                        DAT_PZ_HANDLE of)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        struct asked asked = {
            .evd = with.request_evd,
            .own = vector_with(t, .length = MESSAGE, .buf.pz = of),
            .far = vector_with(t, .length = MESSAGE),
        };
        DAT_RMR_TRIPLET remote = vector_remote(&asked.far);

        if (row->what == READ && with.param.ep_attr.max_rdma_read_out == 0)
                unsupported(t, "max_rdma_read_per_ep_out = 0");
        asked.loop = join_plain(t, &with, zone, true, row->what == READ ? 1 : 0);
        vector_fill(t, row->what == READ ? &asked.far : &asked.own, 1);
        if (row->what == SEND) {
                must(recv_vector(asked.loop.passive, &asked.far, 1, DAT_COMPLETION_DEFAULT_FLAG));
                asked.ret =
                    send_vector(asked.loop.active, &asked.own, 1, DAT_COMPLETION_DEFAULT_FLAG);
        } else if (row->what == WRITE) {
                asked.ret = dat_ep_post_rdma_write(asked.loop.active, 1, asked.own.iov, COOKIE(1),
                                                   &remote, DAT_COMPLETION_DEFAULT_FLAG);
        } else {
                asked.ret = dat_ep_post_rdma_read(asked.loop.active, 1, asked.own.iov, COOKIE(1),
                                                  &remote, DAT_COMPLETION_DEFAULT_FLAG);
        }
        return asked;
}

static void expect_refused_for_zone(struct test *t, const struct request *row,
                                    const struct asked *asked)
{
        expect_protected(t, asked->ret, asked->evd);
        expect_untouched(row->what == READ ? &asked->own : &asked->far);
}

static const struct request rdma_requests[] = {
    {"rdma_write", WRITE},
    {"rdma_read", READ},
};

FAMILY(ep_create_with_srq, rdma_with_another_pz, rdma_requests)
{
        struct asked asked = ask(t, row, pz(t), pz_new(t));

        expect_refused_for_zone(t, row, &asked);
}

FAMILY(ep_create_with_srq, memory_of_pz_of_the_srq, requests)
{
        struct asked asked = ask(t, row, pz_new(t), pz(t));

        expect_refused_for_zone(t, row, &asked);
}

FAMILY(ep_create_with_srq, memory_of_its_own_pz, requests)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct asked asked = ask(t, row, zone, zone);
        struct vector *to = row->what == READ ? &asked.own : &asked.far;

        expect(asked.ret, DAT_SUCCESS);
        expect_completion(asked.evd, asked.loop.active, 1, MESSAGE, 0);
        vector_await(t, to, 1, MESSAGE);
        expect_holds(to, 1, MESSAGE);
}

/* Memory of the EP's zone is not for receives of an SRQ in another one. */
CASE(ep_create_with_srq, receives_into_pz_of_the_ep)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        DAT_PZ_HANDLE zone = pz_new(t);
        struct vector from = vector_with(t, .length = MESSAGE);
        struct vector to = vector_with(t, .length = MESSAGE, .buf.pz = zone);
        struct loop loop = join_plain(t, &with, zone, false, 0);
        DAT_RETURN ret = dat_srq_post_recv(with.srq, 1, to.iov, COOKIE(1));

        must(send_vector(loop.active, &from, 1, DAT_COMPLETION_DEFAULT_FLAG));
        expect_protected(t, ret, with.recv_evd);
        expect_untouched(&to);
}

/* The other end writes to memory of the zone `of`; the EP is in `zone`. */
static struct asked write_to(struct test *t, DAT_PZ_HANDLE zone, DAT_PZ_HANDLE of)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        struct asked asked = {
            .own = vector_with(t, .length = MESSAGE),
            .far = vector_with(t, .length = MESSAGE, .buf.pz = of),
        };
        DAT_RMR_TRIPLET remote = vector_remote(&asked.far);

        asked.loop = join_plain(t, &with, zone, false, 0);
        asked.evd = ep_request_evd(t, asked.loop.active);
        vector_fill(t, &asked.own, 1);
        must(dat_ep_post_rdma_write(asked.loop.active, 1, asked.own.iov, COOKIE(1), &remote,
                                    DAT_COMPLETION_DEFAULT_FLAG));
        return asked;
}

static const struct zone_of_ep {
        const char *id;
        bool own; /* it is not the SRQ's */
} zones_of_ep[] = {
    {"its_pz", false},
    {"its_own_pz", true},
};

FAMILY(ep_create_with_srq, written_by_other_end, zones_of_ep)
{
        DAT_PZ_HANDLE zone = row->own ? pz_new(t) : pz(t);
        struct asked asked = write_to(t, zone, zone);

        expect_completion(asked.evd, asked.loop.active, 1, MESSAGE, 0);
        vector_await(t, &asked.far, 1, MESSAGE);
        expect_holds(&asked.far, 1, MESSAGE);
}

CASE(ep_create_with_srq, not_written_by_other_end)
{
        struct asked asked = write_to(t, pz(t), pz_new(t));
        DAT_EVENT event = expect_event(asked.evd, DAT_DTO_COMPLETION_EVENT);
        DAT_DTO_COMPLETION_STATUS status = event.event_data.dto_completion_event_data.status;

        if (status == DAT_DTO_SUCCESS)
                expect_remote_refusal(t, asked.loop.active, false, status);
        expect_untouched(&asked.far);
}

/* Whether the peer can read this memory over a connection of the EP. */
static bool readable(struct test *t, struct peer_ep *end, const struct buf *buf)
{
        (void)t;
        message_fill(buf->addr, MESSAGE, 0);
        return peer_read(end, buf->rmr_context, (DAT_VADDR)(uintptr_t)buf->addr, MESSAGE);
}

/* An EP of this zone that lets its peer read, connected. */
static struct peer_ep *read_by_peer(struct test *t, DAT_PZ_HANDLE zone, DAT_PZ_HANDLE of_srq)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        if (ia_attr(t)->max_rdma_read_per_ep_in < 1)
                unsupported(t, "max_rdma_read_per_ep_in = 0");
        with.pz = zone;
        with.srq = srq_with(t, .pz = of_srq);
        with.param.ep_attr.max_rdma_read_in = 1;
        peer_reads(peer(t), 1);
        return expect_connect(ep_created(t, &with));
}

CASE(ep_create_with_srq, rdma_to_its_pz)
{
        struct peer_ep *end = read_by_peer(t, pz(t), pz(t));

        expect_that(readable(t, end, buf_with(t)), "memory of the EP's zone was not read");
}

CASE(ep_create_with_srq, rdma_to_another_pz)
{
        struct buf *buf = buf_with(t, .pz = pz_new(t));
        struct peer_ep *end = read_by_peer(t, pz(t), pz(t));

        expect_that(!readable(t, end, buf), "memory of another zone was read");
}

CASE(ep_create_with_srq, rdma_to_its_own_pz)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct buf *buf = buf_with(t, .pz = zone);

        expect_that(readable(t, read_by_peer(t, zone, pz(t)), buf),
                    "memory of the EP's zone was not read");
}

CASE(ep_create_with_srq, rdma_to_pz_of_the_srq)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct buf *buf = buf_with(t);

        expect_that(!readable(t, read_by_peer(t, zone, pz(t)), buf),
                    "memory of the SRQ's zone was read over an EP of another one");
}
