/* SPDX-License-Identifier: BSD-2-Clause */
/* Ids of librdmacm whose destruction takes long: it goes on beside the IA, and beyond it. */
#ifndef DAPLREF_LINGER_H
#define DAPLREF_LINGER_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>

struct ia;

bool linger_destroy(struct ia *ia, struct rdma_cm_id *id);
void linger_leave(struct ia *ia);

#endif
