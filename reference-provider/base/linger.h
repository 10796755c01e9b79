/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel does not let go at once: its destruction goes on beside the IA, and beyond it. */
#ifndef DAPLREF_LINGER_H
#define DAPLREF_LINGER_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>

struct ia;

bool linger_start(struct ia *ia);
void linger_leave(struct ia *ia);
void linger_destroy(struct ia *ia, void (*destroy)(void *), void *object);
void linger_destroy_srq(struct ia *ia, struct ibv_srq *srq);
void linger_destroy_cq(struct ia *ia, struct ibv_cq *cq);
void linger_destroy_channel(struct ia *ia, struct ibv_comp_channel *channel);
void linger_dealloc_pd(struct ia *ia, struct ibv_pd *pd);
void linger_close_device(struct ia *ia, struct ibv_context *verbs);

#endif
