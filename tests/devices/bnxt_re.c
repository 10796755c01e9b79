/* SPDX-License-Identifier: BSD-2-Clause */
#include "front.h"

#include <errno.h>

/* kernel ib_verbs.c, bnxt_re_query_device(): of a Thor. */
static void publish(struct ibv_device_attr *attr)
{
        attr->vendor_id = 0x14e4;
        at_most(&attr->max_qp_wr, 65535);
        at_most(&attr->max_sge, 6);
        at_most(&attr->max_sge_rd, 6);
        at_most(&attr->max_qp_rd_atom, 126);
        at_most(&attr->max_qp_init_rd_atom, 126);
        at_most(&attr->max_srq_sge, 6);
}

const struct device_profile device_profile = {
    .name = "bnxt_re",
    .srq_resize = EINVAL,    /* kernel ib_verbs.c, bnxt_re_modify_srq(); before 6.8 in name only */
    .cq_resize = EOPNOTSUPP, /* kernels before bnxt_re_resize_cq(), as Debian 12's */
    .destroy_cleans = true,  /* rdma-core providers/bnxt_re/verbs.c, bnxt_re_destroy_qp() */
    /* No last_wqe: kernel main.c, bnxt_re_handle_qp_async_event(), tells of QP_FATAL and its like.
     */
    .finite_retries = true, /* InfiniBand's specification, 9.9.2.1.1: a count */
    .one_too_long = true,   /* InfiniBand's specification, 9.9.3: a length error */
    .publish = publish,
};
