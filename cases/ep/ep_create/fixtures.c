/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ep/ep_create/fixtures.h"

#define SIZE 8192 /* the longest message and RDMA of the usual EP */

struct arguments arguments_of(struct test *t, DAT_IA_HANDLE of, DAT_PZ_HANDLE zone)
{
        struct arguments with = {
            .ia = of,
            .pz = zone,
            .recv_evd = evd_with(t, .ia = of),
            .request_evd = evd_with(t, .ia = of),
            .connect_evd = evd_with(t, .ia = of, .flags = DAT_EVD_CONNECTION_FLAG),
        };

        with.param.ep_attr = transfer_attr(t, (struct transfer_opts){
                                                  .segments = 1,
                                                  .dtos = 8,
                                                  .most = SIZE,
                                              });
        return with;
}

struct arguments arguments(struct test *t)
{
        return arguments_of(t, ia(t), pz(t));
}

DAT_RETURN call(const struct arguments *with, DAT_EP_HANDLE *ep)
{
        DAT_EP_ATTR attr = with->param.ep_attr;

        return dat_ep_create(with->ia, with->pz, with->recv_evd, with->request_evd,
                             with->connect_evd, &attr, ep);
}

DAT_EP_HANDLE adopted(struct test *t, const struct arguments *with, DAT_EP_HANDLE ep)
{
        adopt(t, DAT_HANDLE_TYPE_EP, ep);
        ep_reports_to(t, ep, DAT_EP_FIELD_RECV_EVD_HANDLE, with->recv_evd);
        ep_reports_to(t, ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE, with->request_evd);
        ep_reports_to(t, ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, with->connect_evd);
        return ep;
}

DAT_EP_HANDLE create(struct test *t, const struct arguments *with)
{
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        expect(call(with, &ep), DAT_SUCCESS);
        return adopted(t, with, ep);
}

DAT_EP_PARAM described(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM param;

        memset(&param, 0xa5, sizeof(param));
        expect(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
        return param;
}

DAT_EP_HANDLE other_end(struct test *t)
{
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){
                                                .segments = 1,
                                                .most = SIZE,
                                                .reads = 2,
                                            });

        return ep_with(t, .attr = &attr);
}

DAT_EP_HANDLE plain_end(struct test *t)
{
        return ep_with(t);
}

struct arguments asking(struct test *t, const struct ep_number *number, uint64_t value)
{
        struct arguments with = arguments(t);

        if (strcmp(number->id, "max_rdma_read_iov") == 0 &&
            ia_attr(t)->max_rdma_read_per_ep_out > 0)
                with.param.ep_attr.max_rdma_read_out = 1;
        if (strcmp(number->id, "max_rdma_read_out") == 0 && value > 0)
                with.param.ep_attr.max_rdma_read_iov = 1;
        ep_value_set(&with.param, &number->parameter, value);
        return with;
}

void set_flags(struct arguments *with, bool request, DAT_COMPLETION_FLAGS value)
{
        if (request)
                with->param.ep_attr.request_completion_flags = value;
        else
                with->param.ep_attr.recv_completion_flags = value;
}
