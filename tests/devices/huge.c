/* SPDX-License-Identifier: BSD-2-Clause */
#include "front.h"

#include <limits.h>

/* No real device: all that 31 bits hold, and unsigned numbers that come as negative ones. */
static void publish(struct ibv_device_attr *attr)
{
        attr->vendor_id = UINT32_MAX;
        attr->max_qp = INT_MAX;
        attr->max_qp_wr = INT_MAX;
        attr->max_sge = INT_MAX;
        attr->max_sge_rd = -1;
        attr->max_cq = INT_MAX;
        attr->max_cqe = INT_MAX;
        attr->max_mr = INT_MIN;
        attr->max_pd = -2;
        attr->max_qp_rd_atom = INT_MAX;
        attr->max_qp_init_rd_atom = INT_MAX;
        attr->max_res_rd_atom = -1;
        attr->max_srq = INT_MAX;
        attr->max_srq_wr = INT_MAX;
        attr->max_srq_sge = INT_MAX;
}

const struct device_profile device_profile = {
    .name = "huge",
    .publish = publish,
};
