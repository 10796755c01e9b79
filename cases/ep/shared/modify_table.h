/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_modify's table: the parameters of an EP, another value for each, and what shows of it. */
#ifndef CASES_EP_MODIFY_TABLE_H
#define CASES_EP_MODIFY_TABLE_H

#include <netinet/in.h>

#include "case.h"

/* The parameters that the page lists, by their members of DAT_EP_PARAM, in its order. */
#define EP_PARAMETERS(X)            \
        X(ia_handle)                \
        X(ep_state)                 \
        X(local_ia_address_ptr)     \
        X(local_port_qual)          \
        X(remote_ia_address_ptr)    \
        X(remote_port_qual)         \
        X(pz_handle)                \
        X(recv_evd_handle)          \
        X(request_evd_handle)       \
        X(connect_evd_handle)       \
        X(service_type)             \
        X(max_message_size)         \
        X(max_rdma_size)            \
        X(qos)                      \
        X(recv_completion_flags)    \
        X(request_completion_flags) \
        X(max_recv_dtos)            \
        X(max_request_dtos)         \
        X(max_recv_iov)             \
        X(max_request_iov)          \
        X(max_rdma_read_in)         \
        X(max_rdma_read_out)        \
        X(transport_attr_count)     \
        X(transport_attr)           \
        X(provider_attr_count)      \
        X(provider_attr)

#define EP_PARAMETER_ID(name) EP_PARAM_##name,
enum ep_parameter_id { EP_PARAMETERS(EP_PARAMETER_ID) EP_PARAM_COUNT };
#undef EP_PARAMETER_ID

struct ep_change;

struct ep_parameter {
        const char *name;
        DAT_EP_PARAM_MASK field;
        size_t offset; /* in DAT_EP_PARAM */
        size_t size;
        unsigned int states; /* those in which the page lets it be modified, a bit each */
        bool of_transport;   /* elsewhere, transport or provider decide */
        bool address;
        bool at_least;   /* the EP may have more than is asked for (EP-27) */
        bool peer_reads; /* its effect needs a peer that reads */
        /* An object to be the new value; made before the EP, so that it is freed after it. */
        uint64_t (*make)(struct test *t);
        /* A valid value other than `old`, or `old` where what is declared leaves it one only.
         * Without make and other, `old` itself. */
        uint64_t (*other)(struct test *t, uint64_t old);
        /* Connects the EP and uses what it was given. */
        void (*effect)(struct test *t, const struct ep_change *change);
};

extern const struct ep_parameter ep_parameters[EP_PARAM_COUNT];

/* Rows of families: those that an Unconnected EP takes another value for, or the one they have. */
struct ep_parameter_row {
        const char *id;
        enum ep_parameter_id parameter;
};

#define EP_MODIFIABLE(X)            \
        X(pz_handle)                \
        X(recv_evd_handle)          \
        X(request_evd_handle)       \
        X(connect_evd_handle)       \
        X(service_type)             \
        X(max_message_size)         \
        X(max_rdma_size)            \
        X(qos)                      \
        X(recv_completion_flags)    \
        X(request_completion_flags) \
        X(max_recv_dtos)            \
        X(max_request_dtos)         \
        X(max_recv_iov)             \
        X(max_request_iov)          \
        X(max_rdma_read_in)         \
        X(max_rdma_read_out)

#define EP_PARAMETER_ROW(name_) {#name_, EP_PARAM_##name_},
static const struct ep_parameter_row ep_modifiable[] = {EP_MODIFIABLE(EP_PARAMETER_ROW)};

/*
 * An EP's parameters as dat_ep_query tells them; addresses are copied where they are valid, and of
 * named attributes what stands behind the pointers is summed up.
 */
struct ep_snapshot {
        DAT_EP_PARAM param;
        uint64_t transport_attr;
        uint64_t provider_attr;
        struct sockaddr_storage local;
        struct sockaddr_storage remote;
        bool unasked; /* of ep_look(): only PZ and SRQ are known, by the fixture */
};
struct ep_snapshot ep_snapshot(struct test *t, DAT_EP_HANDLE ep);

/*
 * The same for a look beside the clause, or for the EP's PZ and SRQ; a clause that is the
 * comparison itself takes ep_snapshot(). If dat_ep_query gave the probe no answer, the case does
 * without the look, but for an EP of which the fixture does not know the PZ.
 */
struct ep_snapshot ep_look(struct test *t, DAT_EP_HANDLE ep);

/* A parameter of an EP that is to be changed: the EP, how it was, and the new value. */
struct ep_change {
        const struct ep_parameter *parameter;
        DAT_EP_HANDLE ep;
        struct ep_snapshot before;
        uint64_t wanted;
        DAT_EP_PARAM asked;
};

/* Attributes of an EP of few means, that can be given more. */
DAT_EP_ATTR ep_attr_few(struct test *t);

/* An object to be the new value of a parameter that takes one; made before the EP. */
uint64_t ep_new_object(struct test *t, const struct ep_parameter *parameter);

/*
 * Another value for a parameter of an EP, `made` where it is an object. Of what is asked for, the
 * fields of no mask are poison.
 */
struct ep_change ep_change_of(struct test *t, const struct ep_parameter *parameter,
                              DAT_EP_HANDLE ep, uint64_t made);

/* An EP of few means in this state, and another value for its parameter. */
struct ep_change ep_change_in(struct test *t, const struct ep_parameter *parameter,
                              DAT_EP_STATE state);

/* The call that asks for it; that it is granted, shown, and all that is changed; the last alone. */
DAT_RETURN ep_modify(struct ep_change *change);
void expect_ep_change(struct test *t, struct ep_change *change);
void expect_ep_changed_alone(struct test *t, const struct ep_change *change);

/* The parameter's effect on a connection of the EP; and a query still tells it afterwards. */
void expect_ep_effect(struct test *t, const struct ep_change *change);

uint64_t ep_value(const DAT_EP_PARAM *param, const struct ep_parameter *parameter);
void ep_value_set(DAT_EP_PARAM *param, const struct ep_parameter *parameter, uint64_t value);
/* The value with one bit more, the lowest of its upper half: a cut to half its size drops that. */
uint64_t ep_value_wrapping(const struct ep_parameter *parameter, uint64_t value);
/* A value that is an object. */
DAT_HANDLE ep_handle(uint64_t value);

/* Whether all attributes are the same, whatever stands between them. */
bool ep_attr_same(const DAT_EP_ATTR *one, const DAT_EP_ATTR *other);

/* Whether dat_ep_query shows the new value; a larger one is noted where that is enough. */
bool ep_change_shown(struct test *t, const struct ep_change *change);

/* All parameters on the page but those of `except` are as they were, as far as they are defined. */
void expect_ep_kept(struct test *t, DAT_EP_HANDLE ep, const struct ep_snapshot *before,
                    DAT_EP_PARAM_MASK except);

/* What most uses of a changed EP need, over its connection: a message comes; a message goes. */
void expect_ep_receives(struct test *t, const struct ep_change *change);
void expect_ep_sends(struct test *t, const struct ep_change *change);

/* So many messages, at once, in so many segments of that length each. */
struct load {
        size_t dtos;
        size_t segments;
        size_t length; /* bytes */
};
/* A connected EP, whose memory is of `zone`, takes them from its peer's end; gives them to it. */
void expect_ep_takes(struct test *t, DAT_EP_HANDLE ep, DAT_PZ_HANDLE zone, struct peer_ep *end,
                     struct load load);
void expect_ep_gives(struct test *t, DAT_EP_HANDLE ep, DAT_PZ_HANDLE zone, struct peer_ep *end,
                     struct load load);

/*
 * An EP that is not connected yet is, and bears all that dat_ep_query says of it, both ways; the
 * same of one that is connected to this end of its peer's, and has no receives posted.
 */
void expect_ep_bears(struct test *t, DAT_EP_HANDLE ep);
void expect_ep_bears_over(struct test *t, DAT_EP_HANDLE ep, struct peer_ep *end);

#endif
