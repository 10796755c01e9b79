/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ep/ep_create_with_srq/fixtures.h"
#include "cases/ep/shared/attributes.h"

#include <string.h>

struct arguments ep_create_with_srq_arguments_of(struct test *t, DAT_IA_HANDLE of,
                                                 DAT_PZ_HANDLE zone)
{
        const DAT_IA_ATTR *limits = ia_attr(t);
        struct arguments with = {
            .ia = of,
            .pz = zone,
            .recv_evd = evd_with(t, .ia = of),
            .request_evd = evd_with(t, .ia = of),
            .connect_evd = evd_with(t, .ia = of, .flags = DAT_EVD_CONNECTION_FLAG),
            .srq = srq_with(t, .ia = of, .pz = zone),
        };

        with.param.ep_attr = (DAT_EP_ATTR){
            .service_type = DAT_SERVICE_TYPE_RC,
            .max_message_size = limits->max_message_size < 8192 ? limits->max_message_size : 8192,
            .max_rdma_size = limits->max_rdma_size < 8192 ? limits->max_rdma_size : 8192,
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

struct arguments ep_create_with_srq_arguments(struct test *t)
{
        return ep_create_with_srq_arguments_of(t, ia(t), pz(t));
}

DAT_RETURN ep_create_with_srq_call(const struct arguments *with, DAT_EP_HANDLE *ep)
{
        return dat_ep_create_with_srq(with->ia, with->pz, with->recv_evd, with->request_evd,
                                      with->connect_evd, with->srq, &with->param.ep_attr, ep);
}

DAT_EP_HANDLE ep_create_with_srq_adopted(struct test *t, const struct arguments *with,
                                         DAT_EP_HANDLE ep)
{
        adopt(t, DAT_HANDLE_TYPE_EP, ep);
        ep_reports_to(t, ep, DAT_EP_FIELD_RECV_EVD_HANDLE, with->recv_evd);
        ep_reports_to(t, ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE, with->request_evd);
        ep_reports_to(t, ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, with->connect_evd);
        return ep;
}

DAT_EP_HANDLE ep_create_with_srq_create(struct test *t, const struct arguments *with)
{
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        expect(ep_create_with_srq_call(with, &ep), DAT_SUCCESS);
        return ep_create_with_srq_adopted(t, with, ep);
}

DAT_EP_PARAM ep_create_with_srq_described(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        expect(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
        return param;
}

DAT_EP_HANDLE ep_create_with_srq_create_on(struct test *t, DAT_SRQ_HANDLE srq)
{
        struct arguments with = ep_create_with_srq_arguments(t);

        with.srq = srq;
        return ep_create_with_srq_create(t, &with);
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

void ep_create_with_srq_set_flags(struct arguments *with, bool request, DAT_COMPLETION_FLAGS value)
{
        if (request)
                with->param.ep_attr.request_completion_flags = value;
        else
                with->param.ep_attr.recv_completion_flags = value;
}
