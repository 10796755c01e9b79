/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_create_with_srq: the protection zones of EP and SRQ. */
#include "cases/ep/ep_create_with_srq/fixtures.h"
#include "cases/ep/shared/creation.h"
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

CASE(ep_create_with_srq, memory_of_another_pz)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        DAT_EP_HANDLE ep = ep_created(t, &with);
        struct peer_ep *end = expect_connect(ep);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t, .pz = pz_new(t)), 0, MESSAGE);
        DAT_RETURN ret;

        peer_post_recv(end, 1, MESSAGE);
        ret = expect(dat_ep_post_send(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                      DAT_COMPLETION_DEFAULT_FLAG),
                     DAT_PROTECTION_VIOLATION, DAT_INVALID_PARAMETER, DAT_SUCCESS);
        if (!dat_is(ret, DAT_SUCCESS))
                return;
        DAT_EVENT event = expect_event(with.request_evd, DAT_DTO_COMPLETION_EVENT);
        expect_eq(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_LOCAL_PROTECTION);
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
