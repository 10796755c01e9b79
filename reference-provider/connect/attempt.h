/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests for connections on iWARP, which take as long as TCP takes to reach the peer. */
#ifndef DAPLREF_ATTEMPT_H
#define DAPLREF_ATTEMPT_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>

struct attempt;
struct conn;
struct ia;

bool attempt_begin(struct conn *conn, const struct rdma_conn_param *param);
struct conn *attempt_next(struct ia *ia, int *error);
void attempt_give_up(struct conn *conn);
void attempt_destroy(void *attempt);

#endif
