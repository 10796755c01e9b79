/* SPDX-License-Identifier: BSD-2-Clause */
/* The queue pair of an EP. */
#ifndef DAPLREF_QP_H
#define DAPLREF_QP_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/daplref.h"

struct ep;
struct ia;

DAT_RETURN ep_make_qp(struct ep *ep);
struct ibv_qp *qp_for_number(struct ia *ia);
bool ep_start_qp(struct ep *ep, struct rdma_cm_id *id);
void ep_kernel_steps_qp(struct ep *ep);
void ep_may_read(struct ep *ep, int reads);
bool ep_step_qp(struct ep *ep, struct rdma_cm_id *id, enum ibv_qp_state state);
void ep_drop_qp(struct ep *ep);
bool ep_may_be_receiving(struct ep *ep);
void qp_stop(struct ep *ep);
bool qp_may_hold(const struct ep *ep);
void qp_take_down(struct ep *ep);
void qp_destroy(struct ia *ia, struct ibv_qp *qp, bool unanswered);

#endif
