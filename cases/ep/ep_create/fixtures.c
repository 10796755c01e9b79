/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ep/ep_create/fixtures.h"

#define SIZE 8192 /* the longest message and RDMA of the usual EP */

struct ep_creation ep_create_arguments_of(struct test *t, DAT_IA_HANDLE of, DAT_PZ_HANDLE zone)
{
        struct ep_creation with = {
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

struct ep_creation ep_create_arguments(struct test *t)
{
        return ep_create_arguments_of(t, ia(t), pz(t));
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

struct ep_creation asking(struct test *t, const struct ep_number *number, uint64_t value)
{
        struct ep_creation with = ep_create_arguments(t);

        if (strcmp(number->id, "max_rdma_read_iov") == 0 &&
            ia_attr(t)->max_rdma_read_per_ep_out > 0)
                with.param.ep_attr.max_rdma_read_out = 1;
        if (strcmp(number->id, "max_rdma_read_out") == 0 && value > 0)
                with.param.ep_attr.max_rdma_read_iov = 1;
        ep_value_set(&with.param, &number->parameter, value);
        return with;
}
