/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ep/ep_create_with_srq/fixtures.h"
#include "case/ep_attr.h"
#include "cases/ep/shared/creation.h"

#include <string.h>

struct ep_creation ep_create_with_srq_arguments_of(struct test *t, DAT_IA_HANDLE of,
                                                   DAT_PZ_HANDLE zone)
{
        const DAT_IA_ATTR *limits = ia_attr_if_told(t);
        struct ep_creation with = {
            .ia = of,
            .pz = zone,
            .recv_evd = evd_with(t, .ia = of),
            .request_evd = evd_with(t, .ia = of),
            .connect_evd = evd_with(t, .ia = of, .flags = DAT_EVD_CONNECTION_FLAG),
            .srq = srq_with(t, .ia = of, .pz = zone),
        };

        with.param.ep_attr = (DAT_EP_ATTR){
            .service_type = DAT_SERVICE_TYPE_RC,
            .max_message_size = ep_attr_at_most(limits->max_message_size, 8192),
            .max_rdma_size = ep_attr_at_most(limits->max_rdma_size, 8192),
            .qos = DAT_QOS_BEST_EFFORT,
            .max_recv_dtos = 8,
            .max_request_dtos = 8,
            .max_recv_iov = 1,
            .max_request_iov = 1,
            .srq_soft_hw = DAT_HW_DEFAULT,
            .max_rdma_read_out = limits->max_rdma_read_per_ep_out > 0 ? 1 : 0,
            .max_rdma_read_iov = limits->max_rdma_read_per_ep_out > 0 ? 1 : 0,
            .max_rdma_write_iov = 1,
        };
        return with;
}

struct ep_creation ep_create_with_srq_arguments(struct test *t)
{
        return ep_create_with_srq_arguments_of(t, ia(t), pz(t));
}

DAT_EP_HANDLE ep_create_with_srq_create_on(struct test *t, DAT_SRQ_HANDLE srq)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        with.srq = srq;
        return ep_created(t, &with);
}

struct flow flow_to(struct test *t, DAT_EP_HANDLE ep, struct peer_ep *end)
{
        return (struct flow){.ep = ep, .evd = ep_recv_evd(t, ep), .end = end, .length = MESSAGE};
}

struct flow flow_made(struct test *t, const struct queue *queue)
{
        DAT_EP_HANDLE ep = ep_create_with_srq_create_on(t, queue->srq);

        return flow_to(t, ep, expect_connect(ep));
}
