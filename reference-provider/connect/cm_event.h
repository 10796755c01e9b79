/* SPDX-License-Identifier: BSD-2-Clause */
/* The events of librdmacm. */
#ifndef DAPLREF_CM_EVENT_H
#define DAPLREF_CM_EVENT_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>

#include "base/daplref.h"

struct conn;
struct ep;
struct ia;

bool cm_listen(struct ia *ia);
void cm_close_fd(struct ia *ia);
bool cm_call_begin(struct ia *ia);
void cm_call_end(struct ia *ia, bool paused, DAT_RETURN ret);
void cm_handle_events(struct ia *ia);
void cm_reap(struct ia *ia);
void cm_close(struct ia *ia);
void cm_establish_accepted(struct conn *conn);
void cm_on_failure(struct conn *conn, DAT_EVENT_NUMBER number);
void cm_on_disconnected(struct conn *conn);
void cm_on_reply(struct conn *conn, const struct rdma_cm_event *event);
void cm_cannot_request(struct conn *conn, int error);
bool cm_qp_has_failed(const struct ep *ep);

#endif
