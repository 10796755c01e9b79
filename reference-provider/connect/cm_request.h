/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of peers. A request may have two parts. */
#ifndef DAPLREF_CM_REQUEST_H
#define DAPLREF_CM_REQUEST_H

#include <rdma/rdma_cma.h>

#include "base/daplref.h"

struct conn;
struct ia;

void cm_on_request(struct ia *ia, struct rdma_cm_event *event);
void cm_fail_fragmented(const struct conn *fragment, DAT_EVENT_NUMBER number);

#endif
