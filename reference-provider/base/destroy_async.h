/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous destruction of verbs objects that can block. It may outlive the IA. */
#ifndef DAPLREF_DESTROY_ASYNC_H
#define DAPLREF_DESTROY_ASYNC_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>

struct ia;

bool destroy_async_start(struct ia *ia);
void destroy_async_stop(struct ia *ia);
void destroy_async(struct ia *ia, void (*destroy)(void *), void *object);
void destroy_async_srq(struct ia *ia, struct ibv_srq *srq);
void destroy_async_cq(struct ia *ia, struct ibv_cq *cq);
void destroy_async_channel(struct ia *ia, struct ibv_comp_channel *channel);
void destroy_async_pd(struct ia *ia, struct ibv_pd *pd);
void destroy_async_device(struct ia *ia, struct ibv_context *verbs);

#endif
