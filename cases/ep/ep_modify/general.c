/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_ep_modify beside its table (cells.c): masks, values, what a change takes along and
 * what it leaves.
 */
#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/modify_table.h"
#include "clauses/ep_modify.h"

#include <limits.h>
#include <string.h>

#define MESSAGE ((size_t)64)

static struct ep_change unconnected(struct test *t, enum ep_parameter_id id)
{
        return ep_change_in(t, &ep_parameters[id], DAT_EP_STATE_UNCONNECTED);
}

static DAT_RETURN post_recv(DAT_EP_HANDLE ep, const struct buf *buf)
{
        DAT_LMR_TRIPLET segment = triplet(buf, 0, MESSAGE);

        return dat_ep_post_recv(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                DAT_COMPLETION_DEFAULT_FLAG);
}

/*
 * The mask
 */

#define MODIFIABLE_COUNT (sizeof(ep_modifiable) / sizeof(ep_modifiable[0]))

/* Other values for all that an Unconnected EP can be given here; made before the EP. */
struct wishes {
        uint64_t made[MODIFIABLE_COUNT];
        DAT_EP_PARAM asked;
        DAT_EP_PARAM_MASK all;
};

static void wish_objects(struct test *t, struct wishes *wishes)
{
        for (size_t i = 0; i < MODIFIABLE_COUNT; i++) {
                const struct ep_parameter *parameter = &ep_parameters[ep_modifiable[i].parameter];

                if (parameter->make)
                        wishes->made[i] = parameter->make(t);
        }
}

static void wish(struct test *t, struct wishes *wishes, const DAT_EP_PARAM *now)
{
        wishes->asked = *now;
        for (size_t i = 0; i < MODIFIABLE_COUNT; i++) {
                const struct ep_parameter *parameter = &ep_parameters[ep_modifiable[i].parameter];

                if (parameter->other)
                        wishes->made[i] = parameter->other(t, ep_value(now, parameter));
                else if (!parameter->make)
                        wishes->made[i] = ep_value(now, parameter);
                ep_value_set(&wishes->asked, parameter, wishes->made[i]);
                wishes->all |= parameter->field;
        }
}

FAMILY(ep_modify, only_requested, ep_modifiable)
{
        struct wishes wishes = {.all = 0};
        const struct ep_parameter *parameter = &ep_parameters[row->parameter];
        DAT_EP_ATTR few = ep_attr_few(t);

        wish_objects(t, &wishes);

        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_UNCONNECTED, .attr = &few);
        struct ep_snapshot before = ep_snapshot(t, ep);

        wish(t, &wishes, &before.param);
        expect(dat_ep_modify(ep, parameter->field, &wishes.asked), DAT_SUCCESS);
        expect_ep_kept(t, ep, &before, parameter->field);
}

FAMILY(ep_modify, others_unread, ep_modifiable)
{
        struct ep_change change = unconnected(t, row->parameter);

        expect_ep_change(t, &change);
}

FAMILY(ep_modify, zeros_unread, ep_modifiable)
{
        struct ep_change change = unconnected(t, row->parameter);

        memset(&change.asked, 0, sizeof(change.asked));
        ep_value_set(&change.asked, change.parameter, change.wanted);
        expect_ep_change(t, &change);
}

static void expect_wish_shown(struct test *t, const struct wishes *wishes, DAT_EP_HANDLE ep,
                              size_t index)
{
        struct ep_change change = {
            .parameter = &ep_parameters[ep_modifiable[index].parameter],
            .ep = ep,
            .wanted = wishes->made[index],
        };

        expect_that(ep_change_shown(t, &change), "%s was not changed", ep_modifiable[index].id);
}

CASE(ep_modify, all_at_once)
{
        struct wishes wishes = {.all = 0};
        DAT_EP_ATTR few = ep_attr_few(t);

        wish_objects(t, &wishes);

        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_UNCONNECTED, .attr = &few);
        struct ep_snapshot before = ep_snapshot(t, ep);

        wish(t, &wishes, &before.param);

        expect(dat_ep_modify(ep, wishes.all, &wishes.asked), DAT_SUCCESS);
        for (size_t i = 0; i < MODIFIABLE_COUNT; i++)
                expect_wish_shown(t, &wishes, ep, i);
        expect_ep_kept(t, ep, &before, wishes.all);
}

/* From here on the EP reports to the EVDs that it was given with all else. */
static void reports_as_wished(struct test *t, DAT_EP_HANDLE ep, const struct wishes *wishes)
{
        ep_reports_to(t, ep, DAT_EP_FIELD_RECV_EVD_HANDLE, wishes->asked.recv_evd_handle);
        ep_reports_to(t, ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE, wishes->asked.request_evd_handle);
        ep_reports_to(t, ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, wishes->asked.connect_evd_handle);
}

/* States that let many be changed. */
static const struct joint {
        const char *id;
        DAT_EP_STATE state;
        DAT_EP_PARAM_MASK fixed;
} joint[] = {
    {"unconnected", DAT_EP_STATE_UNCONNECTED, 0},
    {"reserved", DAT_EP_STATE_RESERVED, DAT_EP_FIELD_PZ_HANDLE},
    {"tentative_connection_pending", DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, 0},
};

FAMILY(ep_modify, all_at_once_in, joint)
{
        struct wishes wishes = {.all = 0};
        DAT_EP_ATTR few = ep_attr_few(t);
        struct ep_snapshot before;
        DAT_EP_HANDLE ep;

        wish_objects(t, &wishes);
        ep = ep_in(t, row->state, .attr = &few);
        before = ep_snapshot(t, ep);
        wish(t, &wishes, &before.param);
        wishes.all &= ~row->fixed;

        expect(dat_ep_modify(ep, wishes.all, &wishes.asked), DAT_SUCCESS);
        for (size_t i = 0; i < MODIFIABLE_COUNT; i++)
                if (ep_parameters[ep_modifiable[i].parameter].field & wishes.all)
                        expect_wish_shown(t, &wishes, ep, i);
        expect_ep_kept(t, ep, &before, wishes.all);
        reports_as_wished(t, ep, &wishes);
        expect_ep_bears(t, ep);
}

/* Through a connection, its end, and the reset after it. */
CASE(ep_modify, outlives_reset)
{
        struct wishes wishes = {.all = 0};
        DAT_EP_ATTR few = ep_attr_few(t);

        wish_objects(t, &wishes);

        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_UNCONNECTED, .attr = &few);
        struct ep_snapshot changed = ep_snapshot(t, ep);

        wish(t, &wishes, &changed.param);
        must(dat_ep_modify(ep, wishes.all, &wishes.asked));
        reports_as_wished(t, ep, &wishes);
        changed = ep_snapshot(t, ep);
        peer_disconnect(must_connect(ep), DAT_CLOSE_ABRUPT_FLAG);
        must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        must(dat_ep_reset(ep));

        expect_ep_kept(t, ep, &changed, 0);
        expect_ep_bears(t, ep);
}

/* Each two by one call, and both back by another. */
CASE(ep_modify, every_pair)
{
        struct wishes wishes = {.all = 0};
        DAT_EP_ATTR few = ep_attr_few(t);

        wish_objects(t, &wishes);

        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_UNCONNECTED, .attr = &few);
        struct ep_snapshot before = ep_snapshot(t, ep);

        wish(t, &wishes, &before.param);
        for (size_t i = 0; i < MODIFIABLE_COUNT; i++) {
                for (size_t j = i + 1; j < MODIFIABLE_COUNT; j++) {
                        DAT_EP_PARAM_MASK both = ep_parameters[ep_modifiable[i].parameter].field |
                                                 ep_parameters[ep_modifiable[j].parameter].field;

                        expect(dat_ep_modify(ep, both, &wishes.asked), DAT_SUCCESS);
                        expect_wish_shown(t, &wishes, ep, i);
                        expect_wish_shown(t, &wishes, ep, j);
                        expect_ep_kept(t, ep, &before, both);
                        expect(dat_ep_modify(ep, both, &before.param), DAT_SUCCESS);
                }
        }
        expect_ep_kept(t, ep, &before, 0);
}

/* In the other structure members stands, each time, what the EP was made with. */
CASE(ep_modify, one_by_one)
{
        struct wishes wishes = {.all = 0};
        DAT_EP_ATTR few = ep_attr_few(t);

        wish_objects(t, &wishes);

        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_UNCONNECTED, .attr = &few);
        struct ep_snapshot before = ep_snapshot(t, ep);
        DAT_EP_PARAM_MASK changed = 0;

        wish(t, &wishes, &before.param);
        for (size_t i = 0; i < MODIFIABLE_COUNT; i++) {
                const struct ep_parameter *parameter = &ep_parameters[ep_modifiable[i].parameter];
                DAT_EP_PARAM asked = before.param;

                ep_value_set(&asked, parameter, wishes.made[i]);
                expect(dat_ep_modify(ep, parameter->field, &asked), DAT_SUCCESS);
                changed |= parameter->field;
                for (size_t j = 0; j <= i; j++)
                        expect_wish_shown(t, &wishes, ep, j);
                expect_ep_kept(t, ep, &before, changed);
        }
}

CASE(ep_modify, empty_mask)
{
        struct ep_change change = unconnected(t, EP_PARAM_max_recv_dtos);

        expect_or_note(dat_ep_modify(change.ep, 0, &change.asked), DAT_SUCCESS,
                       DAT_INVALID_PARAMETER);
        expect_ep_kept(t, change.ep, &change.before, 0);
}

/* The bit between the EP's fields and those of its attributes; 0 where the API leaves none free. */
#define DAT_EP_FIELD_UNDEFINED (~DAT_EP_FIELD_ALL & (DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE - 1))

static const struct mask {
        const char *id;
        DAT_EP_PARAM_MASK mask;
} undefined_bits[] = {
    {"between", DAT_EP_FIELD_UNDEFINED},
    {"above", UINT64_C(0x80000000)},
    {"highest", UINT64_C(0x8000000000000000)},
};

FAMILY(ep_modify, undefined_mask_bit, undefined_bits)
{
        struct ep_change change = unconnected(t, EP_PARAM_max_recv_dtos);

        if (row->mask == 0)
                unsupported(t, "DAT_EP_FIELD_ALL: each bit between the fields is one");
        expect(dat_ep_modify(change.ep, row->mask, &change.asked), DAT_INVALID_PARAMETER);
        expect_ep_kept(t, change.ep, &change.before, 0);
}

/*
 * What a refused change leaves, whatever it was answered with
 */

static const struct ep_state_row forbidding[] = {
    {"active_connection_pending", DAT_EP_STATE_ACTIVE_CONNECTION_PENDING},
    {"connected", DAT_EP_STATE_CONNECTED},
    {"disconnect_pending", DAT_EP_STATE_DISCONNECT_PENDING},
    {"disconnected", DAT_EP_STATE_DISCONNECTED},
    {"completion_pending", DAT_EP_STATE_COMPLETION_PENDING},
};

static void ask_for_all(struct test *t, DAT_EP_HANDLE ep, struct wishes *wishes)
{
        struct ep_snapshot before = ep_snapshot(t, ep);

        wish(t, wishes, &before.param);
        for (size_t i = 0; i < MODIFIABLE_COUNT; i++)
                (void)dat_ep_modify(ep, ep_parameters[ep_modifiable[i].parameter].field,
                                    &wishes->asked);
        (void)dat_ep_modify(ep, wishes->all, &wishes->asked);
        expect_ep_kept(t, ep, &before, 0);
}

FAMILY(ep_modify, late_change_keeps, forbidding)
{
        struct wishes wishes = {.all = 0};

        wish_objects(t, &wishes);

        ask_for_all(t, ep_in(t, row->state), &wishes);
}

CASE(ep_modify, late_change_keeps_traffic)
{
        struct wishes wishes = {.all = 0};
        DAT_EP_ATTR few = ep_attr_few(t);
        struct buf *buf;
        DAT_EP_HANDLE ep;
        struct peer_ep *end;

        wish_objects(t, &wishes);
        ep = ep_in(t, DAT_EP_STATE_UNCONNECTED, .attr = &few);
        buf = buf_with(t);
        must(post_recv(ep, buf));
        end = must_connect(ep);
        ask_for_all(t, ep, &wishes);

        peer_send(end, .length = MESSAGE);
        expect_eq(expect_dto(ep_recv_evd(t, ep)).transfered_length, MESSAGE);
        expect_that(message_holds(buf->addr, MESSAGE, 0), "the message came damaged");
        expect_ep_takes(t, ep, pz(t), end, (struct load){(size_t)few.max_recv_dtos, 1, MESSAGE});
        expect_ep_gives(t, ep, pz(t), end, (struct load){(size_t)few.max_request_dtos, 1, MESSAGE});
}

CASE(ep_modify, late_change_gone_by_reset)
{
        struct wishes wishes = {.all = 0};
        DAT_EP_ATTR few = ep_attr_few(t);
        DAT_EP_HANDLE ep;

        wish_objects(t, &wishes);
        ep = ep_in(t, DAT_EP_STATE_DISCONNECTED, .attr = &few);
        ask_for_all(t, ep, &wishes);
        must(dat_ep_reset(ep));

        expect_ep_bears(t, ep);
}

static const struct ep_parameter_row fixed[] = {
#define ROW(name_)                       \
        {                                \
#name_, EP_PARAM_##name_ \
        }
    ROW(ia_handle),
    ROW(ep_state),
    ROW(local_ia_address_ptr),
    ROW(local_port_qual),
    ROW(remote_ia_address_ptr),
    ROW(remote_port_qual),
#undef ROW
};

FAMILY(ep_modify, never_modifiable_keeps, fixed)
{
        struct ep_change change =
            ep_change_in(t, &ep_parameters[row->parameter], DAT_EP_STATE_CONNECTED);

        (void)ep_modify(&change);

        expect_ep_kept(t, change.ep, &change.before, 0);
        expect_eq(ep_state(t, change.ep), DAT_EP_STATE_CONNECTED);
}

CASE(ep_modify, other_open_ia)
{
        struct ep_change change = unconnected(t, EP_PARAM_ia_handle);

        ep_value_set(&change.asked, change.parameter, (uint64_t)(uintptr_t)other_ia(t));

        expect(ep_modify(&change), DAT_INVALID_PARAMETER);
        expect_ep_kept(t, change.ep, &change.before, 0);
        expect_ep_bears(t, change.ep);
}

FAMILY(ep_modify, ep_state_asked_for, ep_states)
{
        struct ep_change change = unconnected(t, EP_PARAM_ep_state);

        change.asked.ep_state = row->state;

        expect(ep_modify(&change), DAT_INVALID_PARAMETER);
        expect_ep_kept(t, change.ep, &change.before, 0);
        expect_eq(ep_state(t, change.ep), DAT_EP_STATE_UNCONNECTED);
}

/*
 * One bad parameter among good ones (EP-13)
 */

static void expect_all_refused(struct test *t, struct ep_change *good, DAT_EP_PARAM_MASK bad,
                               DAT_RETURN with)
{
        expect(dat_ep_modify(good->ep, good->parameter->field | bad, &good->asked), with);

        struct ep_snapshot after = ep_snapshot(t, good->ep);
        bool done = ep_value(&after.param, good->parameter) == good->wanted;
        record(t, "%s beside it was %schanged", good->parameter->name, done ? "" : "not ");
        expect_ep_kept(t, good->ep, &good->before, good->parameter->field);
}

FAMILY(ep_modify, never_modifiable_among_good, fixed)
{
        const struct ep_parameter *bad = &ep_parameters[row->parameter];
        struct ep_change change = unconnected(t, EP_PARAM_max_recv_dtos);

        ep_value_set(&change.asked, bad, bad->other(t, ep_value(&change.before.param, bad)));
        expect_all_refused(t, &change, bad->field, DAT_INVALID_PARAMETER);
}

/* The bad one stands before or behind the good one, in the structure and in the mask. */
static const struct pairing {
        const char *id;
        enum ep_parameter_id good;
        enum ep_parameter_id bad;
        int value;
} pairings[] = {
    {"bad_last", EP_PARAM_max_recv_dtos, EP_PARAM_max_request_dtos, -1},
    {"bad_first", EP_PARAM_max_request_dtos, EP_PARAM_max_recv_dtos, -1},
    {"bad_zone", EP_PARAM_max_recv_dtos, EP_PARAM_pz_handle, 0},
    {"bad_flags", EP_PARAM_request_evd_handle, EP_PARAM_recv_completion_flags,
     DAT_COMPLETION_SUPPRESS_FLAG},
};

FAMILY(ep_modify, invalid_value_among_good, pairings)
{
        const struct ep_parameter *bad = &ep_parameters[row->bad];
        struct ep_change change = unconnected(t, row->good);

        ep_value_set(&change.asked, bad, (uint64_t)row->value);
        expect_all_refused(t, &change, bad->field, DAT_INVALID_PARAMETER);
}

static const struct ep_parameter_row good_in_reserved[] = {
    {"count", EP_PARAM_max_recv_dtos},
    {"evd", EP_PARAM_connect_evd_handle},
};

FAMILY(ep_modify, wrong_state_among_good, good_in_reserved)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct ep_change change =
            ep_change_in(t, &ep_parameters[row->parameter], DAT_EP_STATE_RESERVED);

        change.asked.pz_handle = zone;
        expect_all_refused(t, &change, DAT_EP_FIELD_PZ_HANDLE, DAT_INVALID_STATE);
}

/*
 * Values
 */

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

        if (dat_is(expect_or_note(ep_modify(&change), DAT_INVALID_PARAMETER, DAT_SUCCESS),
                   DAT_SUCCESS))
                expect_that(ep_change_shown(t, &change), "granted, and not done");
        else
                expect_ep_kept(t, change.ep, &change.before, 0);
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

FAMILY(ep_modify, above_ia_limit, limited)
{
        struct ep_change change = unconnected(t, row->parameter);
        uint64_t limit = limit_of(t, row->parameter);

        if (limit >= (change.parameter->size == sizeof(DAT_COUNT) ? (uint64_t)INT_MAX : UINT64_MAX))
                unsupported(t, "the IA's limit: no number is above it");
        change.wanted = limit + 1;
        ep_value_set(&change.asked, change.parameter, change.wanted);

        DAT_RETURN ret = expect(ep_modify(&change), DAT_INVALID_PARAMETER,
                                DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);
        if (!dat_is(ret, DAT_SUCCESS)) {
                expect_ep_kept(t, change.ep, &change.before, 0);
                return;
        }
        expect_that(ep_change_shown(t, &change), "granted, and not done");
        note(t, "granted above the IA's own limit of %llu (EP-29)", (unsigned long long)limit);
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

static const struct ep_parameter_row counted[] = {
#define ROW(name_)                       \
        {                                \
#name_, EP_PARAM_##name_ \
        }
    ROW(max_recv_dtos),   ROW(max_request_dtos), ROW(max_recv_iov),
    ROW(max_request_iov), ROW(max_rdma_read_in), ROW(max_rdma_read_out),
#undef ROW
};

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
    {"pz_destroyed", EP_PARAM_pz_handle, DAT_HANDLE_TYPE_PZ, BAD_HANDLE_DESTROYED},
    {"recv_evd_other_kind", EP_PARAM_recv_evd_handle, DAT_HANDLE_TYPE_EVD, BAD_HANDLE_OTHER_KIND},
    {"recv_evd_destroyed", EP_PARAM_recv_evd_handle, DAT_HANDLE_TYPE_EVD, BAD_HANDLE_DESTROYED},
    {"request_evd_other_kind", EP_PARAM_request_evd_handle, DAT_HANDLE_TYPE_EVD,
     BAD_HANDLE_OTHER_KIND},
    {"request_evd_destroyed", EP_PARAM_request_evd_handle, DAT_HANDLE_TYPE_EVD,
     BAD_HANDLE_DESTROYED},
    {"connect_evd_other_kind", EP_PARAM_connect_evd_handle, DAT_HANDLE_TYPE_EVD,
     BAD_HANDLE_OTHER_KIND},
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
        end = must_connect(change.ep);
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

/*
 * What the page leaves out (EP-18)
 */

CASE(ep_modify, srq_handle)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_PARAM asked = {.srq_handle = srq_with(t)};
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);

        expect_or_note(dat_ep_modify(ep, DAT_EP_FIELD_SRQ_HANDLE, &asked), DAT_INVALID_PARAMETER,
                       DAT_INVALID_STATE);

        struct ep_snapshot after = ep_snapshot(t, ep);
        expect_that(after.param.srq_handle == srq, "the EP is on another SRQ");
}

static const struct omitted {
        const char *id;
        DAT_EP_PARAM_MASK field;
        size_t offset;
} omitted[] = {
    {"srq_soft_hw", DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, offsetof(DAT_EP_PARAM, ep_attr.srq_soft_hw)},
    {"max_rdma_read_iov", DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV,
     offsetof(DAT_EP_PARAM, ep_attr.max_rdma_read_iov)},
    {"max_rdma_write_iov", DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV,
     offsetof(DAT_EP_PARAM, ep_attr.max_rdma_write_iov)},
};

FAMILY(ep_modify, not_on_the_page, omitted)
{
        struct ep_parameter parameter = {
            .name = row->id, .field = row->field, .offset = row->offset, .size = sizeof(DAT_COUNT)};
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_UNCONNECTED);
        struct ep_snapshot before = ep_snapshot(t, ep);
        DAT_EP_PARAM asked = before.param;

        ep_value_set(&asked, &parameter, 2);

        DAT_RETURN ret = expect(dat_ep_modify(ep, row->field, &asked), DAT_SUCCESS,
                                DAT_INVALID_PARAMETER, DAT_INVALID_STATE);
        struct ep_snapshot after = ep_snapshot(t, ep);
        record(t, "%s: %s, and the value is %d", row->id,
               dat_is(ret, DAT_SUCCESS) ? "granted" : "refused",
               (int)ep_value(&after.param, &parameter));
        expect_ep_kept(t, ep, &before, 0);
}

/*
 * Arguments
 */

static DAT_RETURN modify_to_nothing(void *ep)
{
        return dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, NULL);
}

CASE(ep_modify, null_param)
{
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_UNCONNECTED);
        struct ep_snapshot before = ep_snapshot(t, ep);
        DAT_RETURN answer;

        if (subprocess_call(t, modify_to_nothing, ep, &answer) &&
            !dat_is(answer, DAT_INVALID_PARAMETER))
                record(t, "no DAT_INVALID_PARAMETER (GEN-4)");
        expect_ep_kept(t, ep, &before, 0);
}

LEGAL(ep_modify)
{
        static DAT_EP_PARAM asked;

        asked.ep_attr.max_recv_dtos = 8;
        call->ep_handle = ep_with(t);
        call->ep_param_mask = DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS;
        call->ep_param = &asked;
}
