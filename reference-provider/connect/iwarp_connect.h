/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection requests on iWARP, which block for as long as TCP's connect. */
#ifndef DAPLREF_IWARP_CONNECT_H
#define DAPLREF_IWARP_CONNECT_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>

struct iwarp_connect;
struct conn;
struct ia;

bool iwarp_connect_start(struct conn *conn, const struct rdma_conn_param *param);
struct conn *iwarp_connect_next(struct ia *ia, int *error);
void iwarp_connect_abandon(struct conn *conn);
void iwarp_connect_destroy(void *attempt);

#endif
