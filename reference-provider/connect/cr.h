/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAPLREF_CR_H
#define DAPLREF_CR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/daplref.h"
#include "base/handle.h"

struct conn;
struct ep;
struct service_point;

struct cr {
        struct object obj;
        struct conn *conn;
        struct ep *ep; /* from the Provider or from an RSP */
        bool ep_is_providers;

        struct sockaddr_storage remote;
        DAT_PORT_QUAL remote_port;
        uint8_t private_data[REF_MAX_PRIVATE_DATA];
        int private_data_size;
};

DAT_RETURN ref_cr_query(DAT_CR_HANDLE, DAT_CR_PARAM_MASK, DAT_CR_PARAM *);
DAT_RETURN ref_cr_accept(DAT_CR_HANDLE, DAT_EP_HANDLE, DAT_COUNT, const DAT_PVOID);
DAT_RETURN ref_cr_reject(DAT_CR_HANDLE, DAT_COUNT, const DAT_PVOID);
DAT_RETURN ref_cr_handoff(DAT_CR_HANDLE, DAT_CONN_QUAL);
bool cr_deliver(struct service_point *point, struct conn *conn);
void cr_destroy(struct cr *cr);

#endif
