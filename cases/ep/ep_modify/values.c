/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_modify: values of the parameters. */
#include "cases/ep/ep_modify/general_fixtures.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/modify_table.h"
#include "cases/shared/bits.h"
#include "clauses/ep_modify.h"

#include <limits.h>
#include <string.h>

static const struct value {
        const char *id;
        enum ep_parameter_id parameter;
        int value;
} invalid_values[] = {
    {"service_type", EP_PARAM_service_type, 1},
    {"qos", EP_PARAM_qos, 0x10000},
    {"max_recv_dtos", EP_PARAM_max_recv_dtos, -1},
    {"max_request_dtos", EP_PARAM_max_request_dtos, -1},
    {"max_recv_iov", EP_PARAM_max_recv_iov, -1},
    {"max_request_iov", EP_PARAM_max_request_iov, -1},
    {"max_rdma_read_in", EP_PARAM_max_rdma_read_in, -1},
    {"max_rdma_read_out", EP_PARAM_max_rdma_read_out, -1},
    {"recv_suppress", EP_PARAM_recv_completion_flags, DAT_COMPLETION_SUPPRESS_FLAG},
    {"recv_barrier_fence", EP_PARAM_recv_completion_flags, DAT_COMPLETION_BARRIER_FENCE_FLAG},
    {"recv_unknown", EP_PARAM_recv_completion_flags, 0x40000000},
    {"recv_suppress_with_threshold", EP_PARAM_recv_completion_flags,
     DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_EVD_THRESHOLD_FLAG},
    {"recv_fence_with_unsignalled", EP_PARAM_recv_completion_flags,
     DAT_COMPLETION_BARRIER_FENCE_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"request_unknown", EP_PARAM_request_completion_flags, 0x40000000},
    {"transport_attr_count", EP_PARAM_transport_attr_count, -1},
    {"provider_attr_count", EP_PARAM_provider_attr_count, -1},
};

/* Refused; and neither that nor a good value afterwards finds anything changed. */
static void expect_value_refused(struct test *t, const struct value *row, struct ep_change *change)
{
        DAT_EP_PARAM good = change->asked;

        ep_value_set(&change->asked, change->parameter, (uint64_t)row->value);
        expect(ep_modify(change), DAT_INVALID_PARAMETER);
        expect_ep_kept(t, change->ep, &change->before, 0);
        change->asked = good;
}

FAMILY(ep_modify, invalid_value, invalid_values)
{
        struct ep_change change = unconnected(t, row->parameter);

        expect_value_refused(t, row, &change);
        if (!change.parameter->of_transport)
                expect_ep_change(t, &change);
}

#define QOS_BITS (DAT_QOS_HIGH_THROUGHPUT | DAT_QOS_LOW_LATENCY | DAT_QOS_ECONOMY | DAT_QOS_PREMIUM)

/* Of the only service type no bit is set. */
static const struct bits_of {
        const char *id;
        enum ep_parameter_id parameter;
        unsigned int defined;
} bits_of[] = {
    {"recv", EP_PARAM_recv_completion_flags, COMPLETION_FLAG_BITS},
    {"request", EP_PARAM_request_completion_flags, COMPLETION_FLAG_BITS},
    {"qos", EP_PARAM_qos, QOS_BITS},
    {"service_type", EP_PARAM_service_type, DAT_SERVICE_TYPE_RC},
};

FAMILY(ep_modify, each_undefined_flag, bits_of)
{
        struct ep_change change = unconnected(t, row->parameter);

        EACH_UNDEFINED_BIT (bit, row->defined) {
                ep_value_set(&change.asked, change.parameter, bit);
                expect_bit(bit, ep_modify(&change), DAT_INVALID_PARAMETER);
        }
        expect_ep_kept(t, change.ep, &change.before, 0);
}

/* Each of them beside good values of all other parameters; what those become is open (EP-13). */
CASE(ep_modify, each_invalid_among_good)
{
        struct ep_snapshot before;
        struct wishes wishes;
        DAT_EP_HANDLE ep = ep_with_wishes(t, &wishes, &before);

        for (size_t i = 0; i < sizeof(invalid_values) / sizeof(invalid_values[0]); i++) {
                const struct ep_parameter *bad = &ep_parameters[invalid_values[i].parameter];
                DAT_EP_PARAM asked = wishes.asked;

                if (bad->of_transport)
                        continue;
                ep_value_set(&asked, bad, (uint64_t)invalid_values[i].value);
                expect(dat_ep_modify(ep, wishes.all, &asked), DAT_INVALID_PARAMETER);
        }
        expect_ep_kept(t, ep, &before, wishes.all);
}

FAMILY(ep_modify, refusal_keeps_use, invalid_values)
{
        struct ep_change change = unconnected(t, row->parameter);

        expect_value_refused(t, row, &change);
        expect_ep_bears(t, change.ep);
}

/* Those besides Unconnected in which most parameters may be changed. */
static const struct ep_state_row before_connecting[] = {
    {"reserved", DAT_EP_STATE_RESERVED},
    {"passive_connection_pending", DAT_EP_STATE_PASSIVE_CONNECTION_PENDING},
    {"tentative_connection_pending", DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING},
};

/* Named attributes, and all in Passive Connection Pending, may be refused for the state (EP-17). */
FAMILY(ep_modify, invalid_values_in, before_connecting)
{
        DAT_EP_ATTR few = ep_attr_few(t);
        DAT_EP_HANDLE ep = ep_in(t, row->state, .attr = &few);
        struct ep_snapshot before = ep_snapshot(t, ep);

        for (size_t i = 0; i < sizeof(invalid_values) / sizeof(invalid_values[0]); i++) {
                const struct ep_parameter *parameter = &ep_parameters[invalid_values[i].parameter];
                DAT_EP_PARAM asked = before.param;

                ep_value_set(&asked, parameter, (uint64_t)invalid_values[i].value);
                if (parameter->of_transport ||
                    row->state == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING)
                        expect(dat_ep_modify(ep, parameter->field, &asked), DAT_INVALID_PARAMETER,
                               DAT_INVALID_STATE);
                else
                        expect(dat_ep_modify(ep, parameter->field, &asked), DAT_INVALID_PARAMETER);
                expect_ep_kept(t, ep, &before, 0);
        }
        expect_ep_bears(t, ep);
}

static const struct value of_posts[] = {
    {"suppress", EP_PARAM_request_completion_flags, DAT_COMPLETION_SUPPRESS_FLAG},
    {"solicited_wait", EP_PARAM_request_completion_flags, DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"barrier_fence", EP_PARAM_request_completion_flags, DAT_COMPLETION_BARRIER_FENCE_FLAG},
};

FAMILY(ep_modify, request_flags_of_posts, of_posts)
{
        struct ep_change change = unconnected(t, row->parameter);

        change.wanted = (uint64_t)row->value;
        ep_value_set(&change.asked, change.parameter, change.wanted);

        if (dat_is(expect_refused_or_note(ep_modify(&change), DAT_INVALID_PARAMETER),
                   DAT_SUCCESS)) {
                expect_that(ep_change_shown(t, &change), "granted, and not done");
        } else {
                expect_ep_kept(t, change.ep, &change.before, 0);
        }
}

static const struct invented {
        const char *id;
        bool of_provider;
} invented[] = {
    {"transport", false},
    {"provider", true},
};

FAMILY(ep_modify, invented_attr, invented)
{
        struct ep_change change =
            unconnected(t, row->of_provider ? EP_PARAM_provider_attr : EP_PARAM_transport_attr);
        DAT_EP_PARAM_MASK count = row->of_provider ? DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR
                                                   : DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR;
        DAT_NAMED_ATTR attr = {.name = "UDAPL_CTS_NO_SUCH_ATTRIBUTE", .value = "1"};
        DAT_EP_ATTR *asked = &change.asked.ep_attr;

        *(row->of_provider ? &asked->ep_provider_specific_count
                           : &asked->ep_transport_specific_count) = 1;
        *(row->of_provider ? &asked->ep_provider_specific : &asked->ep_transport_specific) = &attr;

        expect(dat_ep_modify(change.ep, change.parameter->field | count, &change.asked),
               DAT_INVALID_PARAMETER);
        expect_ep_kept(t, change.ep, &change.before, 0);
}

static uint64_t limit_of(struct test *t, enum ep_parameter_id parameter)
{
        const DAT_IA_ATTR *attr = ia_attr(t);

        switch (parameter) {
        case EP_PARAM_max_message_size:
                return attr->max_message_size;
        case EP_PARAM_max_rdma_size:
                return attr->max_rdma_size;
        case EP_PARAM_max_recv_iov:
        case EP_PARAM_max_request_iov:
                return (uint64_t)attr->max_iov_segments_per_dto;
        case EP_PARAM_max_rdma_read_in:
                return (uint64_t)attr->max_rdma_read_per_ep_in;
        case EP_PARAM_max_rdma_read_out:
                return (uint64_t)attr->max_rdma_read_per_ep_out;
        default:
                return (uint64_t)attr->max_dto_per_ep;
        }
}

static const struct ep_parameter_row limited[] = {
#define ROW(name_)                       \
        {                                \
#name_, EP_PARAM_##name_ \
        }
    ROW(max_message_size), ROW(max_rdma_size),   ROW(max_recv_dtos),    ROW(max_request_dtos),
    ROW(max_recv_iov),     ROW(max_request_iov), ROW(max_rdma_read_in), ROW(max_rdma_read_out),
#undef ROW
};

static void expect_refused_or_shown(struct test *t, struct ep_change *change, uint64_t limit)
{
        struct ep_snapshot before = ep_snapshot(t, change->ep);
        DAT_RETURN ret;

        ep_value_set(&change->asked, change->parameter, change->wanted);
        ret = expect_may(ep_modify(change), DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES,
                         DAT_SUCCESS);
        if (!dat_is(ret, DAT_SUCCESS)) {
                expect_ep_kept(t, change->ep, &before, 0);
                return;
        }
        expect_that(ep_change_shown(t, change), "granted, and not done");
        note(t, "granted above the IA's own limit of %llu (EP-29)", (unsigned long long)limit);
}

/* The next number, and one that is the present one if its upper half is dropped. */
FAMILY(ep_modify, above_ia_limit, limited)
{
        struct ep_change change = unconnected(t, row->parameter);
        uint64_t limit = limit_of(t, row->parameter);
        uint64_t wanted[2];

        if (limit >= (change.parameter->size == sizeof(DAT_COUNT) ? (uint64_t)INT_MAX : UINT64_MAX))
                unsupported(t, "the IA's limit: no number is above it");
        wanted[0] = limit + 1;
        wanted[1] =
            ep_value_wrapping(change.parameter, ep_value(&change.before.param, change.parameter));
        for (int i = 0; i < 2; i++) {
                change.wanted = wanted[i];
                if (change.wanted > limit)
                        expect_refused_or_shown(t, &change, limit);
        }
}

static const struct ep_parameter_row lengths[] = {
    {"max_message_size", EP_PARAM_max_message_size},
    {"max_rdma_size", EP_PARAM_max_rdma_size},
};

/* Lengths that a provider which has a unit for them would round. */
FAMILY(ep_modify, exact_length, lengths)
{
        struct ep_change change = unconnected(t, row->parameter);
        uint64_t limit = limit_of(t, row->parameter);
        uint64_t wanted[] = {1, 63, 1023, 4097, 65535, 0x12345, limit - 1};

        for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
                if (wanted[i] > limit)
                        continue;
                change.wanted = wanted[i];
                ep_value_set(&change.asked, change.parameter, change.wanted);
                expect_ep_change(t, &change);
        }
}

static const struct quality {
        const char *id;
        DAT_QOS qos;
} qualities[] = {
    {"best_effort", DAT_QOS_BEST_EFFORT}, {"high_throughput", DAT_QOS_HIGH_THROUGHPUT},
    {"low_latency", DAT_QOS_LOW_LATENCY}, {"economy", DAT_QOS_ECONOMY},
    {"premium", DAT_QOS_PREMIUM},
};

FAMILY(ep_modify, quality, qualities)
{
        struct ep_change change = unconnected(t, EP_PARAM_qos);

        change.wanted = (uint64_t)row->qos;
        ep_value_set(&change.asked, change.parameter, change.wanted);

        if ((provider_attr(t)->dat_qos_supported & row->qos) == row->qos) {
                expect_ep_change(t, &change);
                return;
        }
        if (dat_is(expect(ep_modify(&change), DAT_INVALID_PARAMETER, DAT_SUCCESS), DAT_SUCCESS)) {
                expect_that(ep_change_shown(t, &change), "granted, and not done");
                expect_ep_changed_alone(t, &change);
                note(t, "granted, and not declared in dat_qos_supported (EP-90)");
                return;
        }
        expect_ep_kept(t, change.ep, &change.before, 0);
}

/* Queues that long may not be had (EP-52), and so many reads the peer's end may not let be. */
static bool borne_at_limit(enum ep_parameter_id parameter)
{
        return parameter != EP_PARAM_max_recv_dtos && parameter != EP_PARAM_max_request_dtos &&
               parameter != EP_PARAM_max_rdma_read_out;
}

FAMILY(ep_modify, at_ia_limit, limited)
{
        struct ep_change change = unconnected(t, row->parameter);
        bool of_dtos =
            row->parameter == EP_PARAM_max_recv_dtos || row->parameter == EP_PARAM_max_request_dtos;

        change.wanted = limit_of(t, row->parameter);
        ep_value_set(&change.asked, change.parameter, change.wanted);

        if (of_dtos &&
            !dat_is(expect_or_note(ep_modify(&change), DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES),
                    DAT_SUCCESS)) {
                expect_ep_kept(t, change.ep, &change.before, 0);
                return;
        }
        expect_ep_change(t, &change);
        if (borne_at_limit(row->parameter))
                expect_ep_bears(t, change.ep);
}

/*
 * The next number above the limit, the limit itself, and back, since limits may exclude others. An
 * EP of the Provider may have had more.
 */
static void expect_limit_observed(struct test *t, DAT_EP_HANDLE ep, enum ep_parameter_id id)
{
        struct ep_change change = ep_change_of(t, &ep_parameters[id], ep, 0);
        bool of_dtos = id == EP_PARAM_max_recv_dtos || id == EP_PARAM_max_request_dtos;
        uint64_t limit = limit_of(t, id);

        if (limit <
            (change.parameter->size == sizeof(DAT_COUNT) ? (uint64_t)INT_MAX : UINT64_MAX)) {
                change.wanted = limit + 1;
                expect_refused_or_shown(t, &change, limit);
        }
        change.wanted = limit;
        ep_value_set(&change.asked, change.parameter, limit);
        if (!of_dtos)
                expect(ep_modify(&change), DAT_SUCCESS);
        else if (!dat_is(
                     expect_or_note(ep_modify(&change), DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES),
                     DAT_SUCCESS))
                return;
        expect_that(ep_change_shown(t, &change), "%s: the IA's limit of %llu is not queried",
                    change.parameter->name, (unsigned long long)limit);
        if (ep_value(&change.before.param, change.parameter) <= limit)
                expect(dat_ep_modify(ep, change.parameter->field, &change.before.param),
                       DAT_SUCCESS);
}

/* In Passive Connection Pending all may be refused (EP-17). */
static const struct ep_state_row limited_in[] = {
    {"reserved", DAT_EP_STATE_RESERVED},
    {"tentative_connection_pending", DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING},
};

FAMILY(ep_modify, ia_limits_in, limited_in)
{
        DAT_EP_ATTR few = ep_attr_few(t);
        DAT_EP_HANDLE ep = ep_in(t, row->state, .attr = &few);

        for (size_t i = 0; i < sizeof(limited) / sizeof(limited[0]); i++)
                expect_limit_observed(t, ep, limited[i].parameter);
        expect_eq(ep_state(t, ep), row->state);
}

static const struct ep_parameter_row counted[] = {
#define ROW(name_)                       \
        {                                \
#name_, EP_PARAM_##name_ \
        }
    ROW(max_recv_dtos),   ROW(max_request_dtos), ROW(max_recv_iov),
    ROW(max_request_iov), ROW(max_rdma_read_in), ROW(max_rdma_read_out),
#undef ROW
};

/* Powers of two, down to the least number. */
CASE(ep_modify, each_negative)
{
        for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
                struct ep_change change = unconnected(t, counted[i].parameter);

                for (int bit = 0; bit < 32; bit++) {
                        ep_value_set(&change.asked, change.parameter,
                                     (uint64_t) - (INT64_C(1) << bit));
                        expect(ep_modify(&change), DAT_INVALID_PARAMETER);
                }
                expect_ep_kept(t, change.ep, &change.before, 0);
        }
}

/* After another value, so that it is a change for an EP that had one from the start, too. */
FAMILY(ep_modify, one_of_each, counted)
{
        struct ep_change change = unconnected(t, row->parameter);

        if (limit_of(t, row->parameter) < 1)
                unsupported(t, "the IA's limit: there is none of them");
        if (limit_of(t, row->parameter) > 1) {
                change.wanted = 2;
                ep_value_set(&change.asked, change.parameter, change.wanted);
                expect_ep_change(t, &change);
        }
        change.wanted = 1;
        ep_value_set(&change.asked, change.parameter, change.wanted);
        expect_ep_change(t, &change);
        expect_ep_bears(t, change.ep);
}

static const struct object_value {
        const char *id;
        enum ep_parameter_id parameter;
        DAT_HANDLE_TYPE type;
        enum bad_handle how;
} bad_objects[] = {
    {"pz_null", EP_PARAM_pz_handle, DAT_HANDLE_TYPE_PZ, BAD_HANDLE_NULL},
    {"pz_other_kind", EP_PARAM_pz_handle, DAT_HANDLE_TYPE_PZ, BAD_HANDLE_OTHER_KIND},
    {"pz_sibling", EP_PARAM_pz_handle, DAT_HANDLE_TYPE_PZ, BAD_HANDLE_SIBLING},
    {"pz_destroyed", EP_PARAM_pz_handle, DAT_HANDLE_TYPE_PZ, BAD_HANDLE_DESTROYED},
    {"recv_evd_other_kind", EP_PARAM_recv_evd_handle, DAT_HANDLE_TYPE_EVD, BAD_HANDLE_OTHER_KIND},
    {"recv_evd_sibling", EP_PARAM_recv_evd_handle, DAT_HANDLE_TYPE_EVD, BAD_HANDLE_SIBLING},
    {"recv_evd_destroyed", EP_PARAM_recv_evd_handle, DAT_HANDLE_TYPE_EVD, BAD_HANDLE_DESTROYED},
    {"request_evd_other_kind", EP_PARAM_request_evd_handle, DAT_HANDLE_TYPE_EVD,
     BAD_HANDLE_OTHER_KIND},
    {"request_evd_sibling", EP_PARAM_request_evd_handle, DAT_HANDLE_TYPE_EVD, BAD_HANDLE_SIBLING},
    {"request_evd_destroyed", EP_PARAM_request_evd_handle, DAT_HANDLE_TYPE_EVD,
     BAD_HANDLE_DESTROYED},
    {"connect_evd_other_kind", EP_PARAM_connect_evd_handle, DAT_HANDLE_TYPE_EVD,
     BAD_HANDLE_OTHER_KIND},
    {"connect_evd_sibling", EP_PARAM_connect_evd_handle, DAT_HANDLE_TYPE_EVD, BAD_HANDLE_SIBLING},
    {"connect_evd_destroyed", EP_PARAM_connect_evd_handle, DAT_HANDLE_TYPE_EVD,
     BAD_HANDLE_DESTROYED},
};

FAMILY(ep_modify, invalid_object, bad_objects)
{
        struct ep_change change = unconnected(t, row->parameter);
        DAT_HANDLE bad = bad_handle(t, row->type, row->how);

        ep_value_set(&change.asked, change.parameter, (uint64_t)(uintptr_t)bad);

        expect_or_note(ep_modify(&change), DAT_INVALID_PARAMETER, DAT_INVALID_HANDLE);
        expect_ep_kept(t, change.ep, &change.before, 0);
}

#define BAD_OBJECTS (sizeof(bad_objects) / sizeof(bad_objects[0]))

/* The state may be why the zone, or anything in Passive Connection Pending, is refused (EP-17). */
static void expect_object_refused(struct test *t, DAT_EP_HANDLE ep, DAT_EP_STATE state,
                                  const struct ep_parameter *parameter, const DAT_EP_PARAM *asked)
{
        DAT_RETURN ret = dat_ep_modify(ep, parameter->field, asked);

        if (state == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING || !(parameter->states >> state & 1))
                expect(ret, DAT_INVALID_PARAMETER, DAT_INVALID_HANDLE, DAT_INVALID_STATE);
        else
                expect_or_note(ret, DAT_INVALID_PARAMETER, DAT_INVALID_HANDLE);
}

/* A Provider's EP may have no zone, so that none is none of the bad ones there. */
FAMILY(ep_modify, invalid_objects_in, before_connecting)
{
        DAT_EP_ATTR few = ep_attr_few(t);
        DAT_EP_HANDLE ep = ep_in(t, row->state, .attr = &few);
        struct ep_snapshot before = ep_snapshot(t, ep);

        for (size_t i = 0; i < BAD_OBJECTS; i++) {
                const struct ep_parameter *parameter = &ep_parameters[bad_objects[i].parameter];
                DAT_EP_PARAM asked = before.param;
                DAT_HANDLE bad;

                if (bad_objects[i].how == BAD_HANDLE_NULL)
                        continue;
                /* The handle of a freed object may be that of the next one that is made. */
                bad = bad_handle(t, bad_objects[i].type, bad_objects[i].how);
                ep_value_set(&asked, parameter, (uint64_t)(uintptr_t)bad);
                expect_object_refused(t, ep, row->state, parameter, &asked);
                expect_ep_kept(t, ep, &before, 0);
        }
        expect_ep_bears(t, ep);
}

static const struct stream {
        const char *id;
        enum ep_parameter_id parameter;
        DAT_EVD_FLAGS flags; /* of an EVD that has no such stream */
} other_streams[] = {
    {"recv", EP_PARAM_recv_evd_handle, DAT_EVD_CONNECTION_FLAG},
    {"request", EP_PARAM_request_evd_handle, DAT_EVD_CONNECTION_FLAG},
    {"connect", EP_PARAM_connect_evd_handle, DAT_EVD_DTO_FLAG},
};

FAMILY(ep_modify, evd_of_other_stream, other_streams)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = row->flags);
        struct ep_change change = unconnected(t, row->parameter);

        ep_value_set(&change.asked, change.parameter, (uint64_t)(uintptr_t)evd);

        expect(ep_modify(&change), DAT_INVALID_PARAMETER, DAT_INVALID_HANDLE);
        expect_ep_kept(t, change.ep, &change.before, 0);
}

static const struct object_value foreign_objects[] = {
    {"pz", EP_PARAM_pz_handle, DAT_HANDLE_TYPE_PZ, BAD_HANDLE_OTHER_IA},
    {"recv_evd", EP_PARAM_recv_evd_handle, DAT_HANDLE_TYPE_EVD, BAD_HANDLE_OTHER_IA},
    {"request_evd", EP_PARAM_request_evd_handle, DAT_HANDLE_TYPE_EVD, BAD_HANDLE_OTHER_IA},
    {"connect_evd", EP_PARAM_connect_evd_handle, DAT_HANDLE_TYPE_EVD, BAD_HANDLE_OTHER_IA},
};

FAMILY(ep_modify, object_of_other_ia, foreign_objects)
{
        DAT_HANDLE foreign = bad_handle(t, row->type, row->how);
        struct ep_change change = unconnected(t, row->parameter);
        DAT_RETURN answer;

        change.wanted = (uint64_t)(uintptr_t)foreign;
        ep_value_set(&change.asked, change.parameter, change.wanted);
        answer = ep_modify(&change);

        if (dat_is(answer, DAT_SUCCESS)) {
                expect_that(ep_change_shown(t, &change), "granted, and not done");
                note(t, "an EP was given an object of another IA (GEN-12)");
                return;
        }
        expect(answer, DAT_INVALID_PARAMETER, DAT_INVALID_HANDLE);
        expect_ep_kept(t, change.ep, &change.before, 0);
}

static const struct value recv_flags[] = {
    {"default_flag", EP_PARAM_recv_completion_flags, DAT_COMPLETION_DEFAULT_FLAG},
    {"unsignalled", EP_PARAM_recv_completion_flags, DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"solicited_wait", EP_PARAM_recv_completion_flags, DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"evd_threshold", EP_PARAM_recv_completion_flags, DAT_COMPLETION_EVD_THRESHOLD_FLAG},
};

static const struct value request_flags[] = {
    {"default_flag", EP_PARAM_request_completion_flags, DAT_COMPLETION_DEFAULT_FLAG},
    {"unsignalled", EP_PARAM_request_completion_flags, DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"evd_threshold", EP_PARAM_request_completion_flags, DAT_COMPLETION_EVD_THRESHOLD_FLAG},
};

/* The flag comes after each other one that is declared, so that the default is a change too. */
static void expect_flag_taken(struct test *t, const struct value *row, const struct value *flags,
                              size_t count)
{
        struct ep_change change = unconnected(t, row->parameter);

        for (size_t i = 0; i < count; i++) {
                if (~provider_attr(t)->completion_flags_supported & flags[i].value)
                        continue;
                for (int of_row = 0; of_row < 2; of_row++) {
                        change.wanted = (uint64_t)(of_row ? row : &flags[i])->value;
                        ep_value_set(&change.asked, change.parameter, change.wanted);
                        expect_ep_change(t, &change);
                }
        }
}

FAMILY(ep_modify, recv_flags, recv_flags)
{
        expect_flag_taken(t, row, recv_flags, sizeof(recv_flags) / sizeof(recv_flags[0]));
}

FAMILY(ep_modify, request_flags, request_flags)
{
        expect_flag_taken(t, row, request_flags, sizeof(request_flags) / sizeof(request_flags[0]));
}

static const struct value flags_declared[] = {
    {"recv_unsignalled", EP_PARAM_recv_completion_flags, DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"recv_solicited_wait", EP_PARAM_recv_completion_flags, DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"recv_evd_threshold", EP_PARAM_recv_completion_flags, DAT_COMPLETION_EVD_THRESHOLD_FLAG},
    {"request_unsignalled", EP_PARAM_request_completion_flags, DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"request_evd_threshold", EP_PARAM_request_completion_flags, DAT_COMPLETION_EVD_THRESHOLD_FLAG},
};

FAMILY(ep_modify, flags_as_declared, flags_declared)
{
        struct ep_change change = unconnected(t, row->parameter);

        change.wanted = (uint64_t)row->value;
        ep_value_set(&change.asked, change.parameter, change.wanted);

        if (provider_attr(t)->completion_flags_supported & row->value) {
                expect_ep_change(t, &change);
                return;
        }
        if (dat_is(expect(ep_modify(&change), DAT_INVALID_PARAMETER, DAT_SUCCESS), DAT_SUCCESS)) {
                expect_that(ep_change_shown(t, &change), "granted, and not done");
                expect_ep_changed_alone(t, &change);
                note(t, "granted, and not declared in completion_flags_supported (GEN-2)");
                return;
        }
        expect_ep_kept(t, change.ep, &change.before, 0);
}

static const struct controlling {
        const char *id;
        enum ep_parameter_id parameter;
        int flag;
} controlling[] = {
    {"recv_unsignalled", EP_PARAM_recv_completion_flags, DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"recv_solicited_wait", EP_PARAM_recv_completion_flags, DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"request_unsignalled", EP_PARAM_request_completion_flags, DAT_COMPLETION_UNSIGNALLED_FLAG},
};

/* What a wait for two events is answered with on the EVD that the flags are about. */
static DAT_RETURN wait_for_two(struct test *t, const struct ep_change *change)
{
        DAT_EVD_HANDLE evd = change->parameter->field == DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS
                                 ? ep_recv_evd(t, change->ep)
                                 : ep_request_evd(t, change->ep);
        DAT_EVENT event;
        DAT_COUNT more;

        return dat_evd_wait(evd, 1, 2, &event, &more);
}

static struct ep_change controlled(struct test *t, const struct controlling *row)
{
        struct ep_change change = unconnected(t, row->parameter);

        must_that(dat_is(wait_for_two(t, &change), DAT_TIMEOUT_EXPIRED),
                  "a wait for two events is refused before any flag was set");
        ep_value_set(&change.asked, change.parameter, (uint64_t)row->flag);
        expect(ep_modify(&change), DAT_SUCCESS);
        return change;
}

FAMILY(ep_modify, flags_bind_evd, controlling)
{
        struct ep_change change = controlled(t, row);

        expect_or_note(wait_for_two(t, &change), DAT_INVALID_STATE, DAT_INVALID_PARAMETER);
}

FAMILY(ep_modify, flags_release_evd, controlling)
{
        struct ep_change change = controlled(t, row);

        expect(dat_ep_modify(change.ep, change.parameter->field, &change.before.param),
               DAT_SUCCESS);

        expect(wait_for_two(t, &change), DAT_TIMEOUT_EXPIRED);
}

static const struct always {
        const char *id;
        DAT_COMPLETION_FLAGS of_ep;
        DAT_COMPLETION_FLAGS posted;
} always_supported[] = {
    {"suppress", DAT_COMPLETION_EVD_THRESHOLD_FLAG, DAT_COMPLETION_SUPPRESS_FLAG},
    {"solicited_wait", DAT_COMPLETION_EVD_THRESHOLD_FLAG, DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"barrier_fence", DAT_COMPLETION_EVD_THRESHOLD_FLAG, DAT_COMPLETION_BARRIER_FENCE_FLAG},
    {"suppress_by_default", DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_SUPPRESS_FLAG},
    {"solicited_wait_by_default", DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"barrier_fence_by_default", DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_BARRIER_FENCE_FLAG},
    {"suppress_unsignalled", DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_SUPPRESS_FLAG},
    {"solicited_wait_unsignalled", DAT_COMPLETION_UNSIGNALLED_FLAG,
     DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"barrier_fence_unsignalled", DAT_COMPLETION_UNSIGNALLED_FLAG,
     DAT_COMPLETION_BARRIER_FENCE_FLAG},
};

static void expect_completion(struct test *t, DAT_EP_HANDLE ep, const struct always *row)
{
        if (row->posted == DAT_COMPLETION_SUPPRESS_FLAG)
                expect_quiet(ep_request_evd(t, ep));
        else
                expect_dto(ep_request_evd(t, ep));
}

FAMILY(ep_modify, always_supported, always_supported)
{
        struct ep_change change = unconnected(t, EP_PARAM_request_completion_flags);
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, MESSAGE);
        struct peer_memory memory;
        struct peer_ep *end;

        change.wanted = (uint64_t)row->of_ep;
        ep_value_set(&change.asked, change.parameter, change.wanted);
        expect_ep_change(t, &change);
        end = expect_connect(change.ep);
        message_fill(buf->addr, MESSAGE, 0);
        memory = peer_expose(end, MESSAGE);
        peer_post_recv(end, 1, MESSAGE);

        DAT_RMR_TRIPLET remote = {
            .rmr_context = memory.rmr_context,
            .target_address = memory.address,
            .segment_length = MESSAGE,
        };
        /* A message can be waited for, an RDMA write cannot. */
        if (row->posted != DAT_COMPLETION_SOLICITED_WAIT_FLAG) {
                expect(dat_ep_post_rdma_write(change.ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                              &remote, row->posted),
                       DAT_SUCCESS);
                expect_completion(t, change.ep, row);
        }
        expect(dat_ep_post_send(change.ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 1}, row->posted),
               DAT_SUCCESS);
        peer_wait_recv(end, 0, MESSAGE);
        expect_completion(t, change.ep, row);
}
