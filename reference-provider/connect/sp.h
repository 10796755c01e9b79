/* SPDX-License-Identifier: BSD-2-Clause */
/* Service points. Several share a listener if their qualifiers share a port. */
#ifndef DAPLREF_SP_H
#define DAPLREF_SP_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/handle.h"
#include "base/list.h"
#include "connect/cm_conn.h"

struct ep;
struct evd;
struct ia;

struct listener {
        enum conn_kind kind; /* CONN_LISTENER */
        struct link link;    /* in ia->listeners */
        struct rdma_cm_id *id;
        uint16_t port;
        struct link points;
};

struct service_point {
        struct object obj;
        struct link point_link; /* in listener->points, under ia->cm_lock */
        struct listener *listener;
        DAT_CONN_QUAL qual;
        struct evd *evd;
        DAT_PSP_FLAGS flags;
        bool reserved; /* true for an RSP */
        struct ep *ep; /* of an RSP */
        bool spent;    /* an RSP that has had its request */
};

DAT_RETURN ref_psp_create(DAT_IA_HANDLE, DAT_CONN_QUAL, DAT_EVD_HANDLE, DAT_PSP_FLAGS,
                          DAT_PSP_HANDLE *);
DAT_RETURN ref_psp_create_any(DAT_IA_HANDLE, DAT_CONN_QUAL *, DAT_EVD_HANDLE, DAT_PSP_FLAGS,
                              DAT_PSP_HANDLE *);
DAT_RETURN ref_psp_query(DAT_PSP_HANDLE, DAT_PSP_PARAM_MASK, DAT_PSP_PARAM *);
DAT_RETURN ref_psp_free(DAT_PSP_HANDLE);
DAT_RETURN ref_rsp_create(DAT_IA_HANDLE, DAT_CONN_QUAL, DAT_EP_HANDLE, DAT_EVD_HANDLE,
                          DAT_RSP_HANDLE *);
DAT_RETURN ref_rsp_query(DAT_RSP_HANDLE, DAT_RSP_PARAM_MASK, DAT_RSP_PARAM *);
DAT_RETURN ref_rsp_free(DAT_RSP_HANDLE);
DAT_RETURN point_listen(struct ia *ia, DAT_CONN_QUAL qual, struct service_point *point);
DAT_RETURN point_listen_any(struct ia *ia, struct service_point *point);
void point_unlisten(struct service_point *point);
void point_destroy(struct service_point *point);
struct service_point *point_find(struct ia *ia, DAT_CONN_QUAL qual);
uint16_t port_of_qual(DAT_CONN_QUAL qual);

#endif
