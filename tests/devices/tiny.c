/* SPDX-License-Identifier: BSD-2-Clause */
#include "front.h"

#include <errno.h>

/* No real device: so little that each limit is met at once. */
static void publish(struct ibv_device_attr *attr)
{
        attr->vendor_id = 0;
        attr->max_qp = 16;
        attr->max_qp_wr = 32;
        attr->max_sge = 4;
        attr->max_sge_rd = 2;
        attr->max_cq = 65;
        attr->max_cqe = 1024;
        attr->max_mr = 40;
        attr->max_pd = 9;
        attr->max_qp_rd_atom = 4;
        attr->max_qp_init_rd_atom = 4;
        attr->max_srq = 0;
        attr->max_srq_wr = 0;
        attr->max_srq_sge = 0;
}

const struct device_profile device_profile = {
    .name = "tiny",
    .srq_resize = EOPNOTSUPP,
    .cq_resize = EOPNOTSUPP,
    .destroy_cleans = true,
    .finite_retries = true,
    .coarse = true,
    .publish = publish,
};
