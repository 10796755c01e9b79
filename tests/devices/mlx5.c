/* SPDX-License-Identifier: BSD-2-Clause */
#include "front.h"

#include <errno.h>

/* kernel main.c, mlx5_ib_query_device(): from what the firmware of a ConnectX-5 publishes. */
static void publish(struct ibv_device_attr *attr)
{
        attr->vendor_id = 0x2c9;
        at_most(&attr->max_qp_wr, 32768);
        at_most(&attr->max_sge, 30);
        at_most(&attr->max_sge_rd, 30);
        at_most(&attr->max_qp_rd_atom, 16);
        at_most(&attr->max_qp_init_rd_atom, 16);
        at_most(&attr->max_srq_wr, 32767);
        at_most(&attr->max_srq_sge, 31);
}

const struct device_profile device_profile = {
    .name = "mlx5",
    .srq_resize = EINVAL,   /* kernel srq.c, mlx5_ib_modify_srq() */
    .block = 64,            /* kernel qp.c, calc_sq_size(): MLX5_SEND_WQE_BB, up to a power of 2 */
    .destroy_cleans = true, /* rdma-core providers/mlx5/verbs.c, mlx5_destroy_qp() */
    .last_wqe = true,       /* kernel qp.c, mlx5_ib_qp_event() */
    .finite_retries = true, /* InfiniBand's specification, 9.9.2.1.1: a count */
    .one_too_long = true,   /* InfiniBand's specification, 9.9.3: a length error */
    .publish = publish,
};
