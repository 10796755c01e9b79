/* SPDX-License-Identifier: BSD-2-Clause */
#include "front.h"

#include <errno.h>

/* kernel hns_roce_main.c, hns_roce_query_device(): of a HIP08. */
static void publish(struct ibv_device_attr *attr)
{
        attr->vendor_id = 0x19e5;
        at_most(&attr->max_qp_wr, 32767);
        at_most(&attr->max_sge, 32);
        at_most(&attr->max_sge_rd, 32);
        at_most(&attr->max_qp_rd_atom, 128);
}

const struct device_profile device_profile = {
    .name = "hns",
    .srq_resize = EOPNOTSUPP, /* kernel hns_roce_hw_v2.c, hns_roce_v2_modify_srq() */
    .cq_resize = EOPNOTSUPP,  /* kernel hns_roce_main.c, hns_roce_dev_ops: there is none */
    .destroy_cleans =
        true,         /* rdma-core providers/hns/hns_roce_u_hw_v2.c, hns_roce_u_v2_destroy_qp() */
    .last_wqe = true, /* kernel hns_roce_qp.c, hns_roce_ib_qp_event() */
    .finite_retries = true, /* InfiniBand's specification, 9.9.2.1.1: a count */
    .one_too_long = true,   /* InfiniBand's specification, 9.9.3: a length error */
    .publish = publish,
};
