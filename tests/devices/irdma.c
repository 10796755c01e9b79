/* SPDX-License-Identifier: BSD-2-Clause */
#include "front.h"

#include <errno.h>

/* kernel verbs.c, irdma_query_device(); of reads the X722, i40iw_hw.h, I40IW_MAX_SGE_RD. */
static void publish(struct ibv_device_attr *attr)
{
        attr->vendor_id = 0x8086;
        at_most(&attr->max_sge, 13);
        at_most(&attr->max_sge_rd, 1);
        at_most(&attr->max_qp_rd_atom, 127);
        at_most(&attr->max_qp_init_rd_atom, 127);
        at_most(&attr->max_srq_sge, 13);
}

const struct device_profile device_profile = {
    .name = "irdma",
    .srq_resize = EINVAL, /* kernel verbs.c, irdma_modify_srq() */
    .cq_resize =
        EOPNOTSUPP,         /* kernel verbs.c, irdma_resize_cq(), without IRDMA_FEATURE_CQ_RESIZE */
    .stays_armed = true,    /* kernel verbs.c, irdma_query_srq(): what was set, not what is left */
    .destroy_cleans = true, /* rdma-core providers/irdma/uverbs.c, irdma_udestroy_qp() */
    .fixed_psn = true,      /* kernel verbs.c, irdma_query_qp(): as irdma_modify_qp_roce() had it */
    .finite_retries = true, /* InfiniBand's specification, 9.9.2.1.1: a count */
    .one_too_long = true,   /* InfiniBand's specification, 9.9.3: a length error */
    .publish = publish,
};
