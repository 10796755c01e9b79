/* SPDX-License-Identifier: BSD-2-Clause */
#include "front.h"

#include <errno.h>

/* kernel verbs.c, qedr_query_device(). */
static void publish(struct ibv_device_attr *attr)
{
        attr->vendor_id = 0x1077;
        at_most(&attr->max_sge, 4);
        at_most(&attr->max_sge_rd, 4);
        at_most(&attr->max_srq_sge, 4);
}

const struct device_profile device_profile = {
    .name = "qedr",
    .srq_resize = EINVAL,    /* kernel verbs.c, qedr_modify_srq() */
    .resizes_in_name = true, /* kernel verbs.c, qedr_resize_cq() */
    .stays_armed = true,     /* kernel verbs.c, qedr_query_srq() */
    .finite_retries = true,  /* InfiniBand's specification, 9.9.2.1.1: a count */
    .one_too_long = true,    /* InfiniBand's specification, 9.9.3: a length error */
    .publish = publish,
};
