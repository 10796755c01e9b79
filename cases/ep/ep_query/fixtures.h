/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects and checks that several files of the cases of dat_ep_query use. */
#ifndef CASES_EP_QUERY_FIXTURES_H
#define CASES_EP_QUERY_FIXTURES_H

#include "case.h"
#include "case/ep_attr.h"
#include "case/poison.h"
#include "case/standard.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/masks.h"
#include "cases/shared/point.h"

#include <netinet/in.h>
#include <string.h>

#define POSTS 4

/* An EP whose parameters a case knows, for it made them. */
struct known {
        DAT_EP_HANDLE ep;
        DAT_EP_PARAM param;
};

/* Attributes that are not those of the next number. */
DAT_EP_ATTR attr_number(struct test *t, DAT_COUNT i);

struct known known_ep(struct test *t, DAT_COUNT i);

/* dat_ep_query() */
extern const struct object_query ep_object_query;

/* A query of the fields in `mask`, into memory that no provider would leave so. */
DAT_EP_PARAM queried(struct test *t, DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask);

/* The EP has both ports. That both ends name the same ones shows nothing if these are 0. */
void expect_ports(struct test *t, const DAT_EP_PARAM *param);

/* Two EPs, connected, and what the one has to be told of the other. */
void join(struct test *t, struct known *active, struct known *passive);

enum kind { EXACT, AT_LEAST, ADDRESS, STATE };

struct field {
        const char *id;
        DAT_EP_PARAM_MASK bit;
        enum kind kind;
        struct ep_parameter place;
};

#define FIELD(name_, FIELD_, member_, kind_)                                         \
        {                                                                            \
#name_, DAT_EP_FIELD_##FIELD_, kind_,                                \
                {                                                                    \
                        .offset = offsetof(DAT_EP_PARAM, member_),                   \
                        .size = sizeof(__typeof__(((DAT_EP_PARAM *)NULL)->member_)), \
                }                                                                    \
        }
#define PARAM(name_, FIELD_, kind_) FIELD(name_, FIELD_, name_, kind_)
#define ATTR(name_, FIELD_, kind_)  FIELD(name_, EP_ATTR_##FIELD_, ep_attr.name_, kind_)

static const struct field fields[] = {
    PARAM(ia_handle, IA_HANDLE, EXACT),
    PARAM(ep_state, EP_STATE, STATE),
    PARAM(local_ia_address_ptr, LOCAL_IA_ADDRESS_PTR, ADDRESS),
    PARAM(local_port_qual, LOCAL_PORT_QUAL, EXACT),
    PARAM(remote_ia_address_ptr, REMOTE_IA_ADDRESS_PTR, ADDRESS),
    PARAM(remote_port_qual, REMOTE_PORT_QUAL, EXACT),
    PARAM(pz_handle, PZ_HANDLE, EXACT),
    PARAM(recv_evd_handle, RECV_EVD_HANDLE, EXACT),
    PARAM(request_evd_handle, REQUEST_EVD_HANDLE, EXACT),
    PARAM(connect_evd_handle, CONNECT_EVD_HANDLE, EXACT),
    PARAM(srq_handle, SRQ_HANDLE, EXACT),
    ATTR(service_type, SERVICE_TYPE, EXACT),
    ATTR(max_message_size, MAX_MESSAGE_SIZE, EXACT),
    ATTR(max_rdma_size, MAX_RDMA_SIZE, EXACT),
    ATTR(qos, QOS, EXACT),
    ATTR(recv_completion_flags, RECV_COMPLETION_FLAGS, EXACT),
    ATTR(request_completion_flags, REQUEST_COMPLETION_FLAGS, EXACT),
    ATTR(max_recv_dtos, MAX_RECV_DTOS, AT_LEAST),
    ATTR(max_request_dtos, MAX_REQUEST_DTOS, AT_LEAST),
    ATTR(max_recv_iov, MAX_RECV_IOV, AT_LEAST),
    ATTR(max_request_iov, MAX_REQUEST_IOV, AT_LEAST),
    ATTR(max_rdma_read_in, MAX_RDMA_READ_IN, EXACT),
    ATTR(max_rdma_read_out, MAX_RDMA_READ_OUT, EXACT),
    ATTR(max_rdma_read_iov, MAX_RDMA_READ_IOV, AT_LEAST),
    ATTR(max_rdma_write_iov, MAX_RDMA_WRITE_IOV, AT_LEAST),
};

#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

/* Those that only an EP with a connection, or on its way to one, has a value for. */
#define OF_CONNECTION                                                        \
        (DAT_EP_FIELD_LOCAL_PORT_QUAL | DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR | \
         DAT_EP_FIELD_REMOTE_PORT_QUAL)

bool is_right(const struct field *field, const DAT_EP_PARAM *known, const DAT_EP_PARAM *param);

void check_field(struct test *t, const struct field *field, const DAT_EP_PARAM *known,
                 const DAT_EP_PARAM *param);

void check_param(struct test *t, const DAT_EP_PARAM *known, const DAT_EP_PARAM *param,
                 DAT_EP_PARAM_MASK mask);

void check_fields(struct test *t, const struct known *known, DAT_EP_PARAM_MASK mask);

/* Those that have a value, of an EP that has no connection and is on the way to none. */
void check_without_connection(struct test *t, const struct known *known);

#endif
