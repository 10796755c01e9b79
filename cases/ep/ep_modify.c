/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_ep_modify beside its table (ep_modify_cells.c): masks, values, what a change takes along and
 * what it leaves.
 */
#include "ep_modify.h"
#include "clauses/ep_modify.h"
#include "endpoint.h"

#include <limits.h>

#define MESSAGE ((size_t)64)

static const struct ep_parameter *const recv_dtos = &ep_parameters[EP_PARAM_max_recv_dtos];

static struct ep_change unconnected(struct test *t, enum ep_parameter_id id)
{
        return ep_change_in(t, &ep_parameters[id], DAT_EP_STATE_UNCONNECTED);
}

static DAT_RETURN modify(struct ep_change *change)
{
        return dat_ep_modify(change->ep, change->parameter->field, &change->asked);
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

/* Those that an Unconnected EP takes another value for. */
#define MODIFIABLE(X)               \
        X(pz_handle)                \
        X(recv_evd_handle)          \
        X(request_evd_handle)       \
        X(connect_evd_handle)       \
        X(max_message_size)         \
        X(max_rdma_size)            \
        X(recv_completion_flags)    \
        X(request_completion_flags) \
        X(max_recv_dtos)            \
        X(max_request_dtos)         \
        X(max_recv_iov)             \
        X(max_request_iov)          \
        X(max_rdma_read_in)         \
        X(max_rdma_read_out)

static const struct modifiable {
        const char *id;
        enum ep_parameter_id parameter;
} modifiable[] = {
#define ROW(name_) {#name_, EP_PARAM_##name_},
    MODIFIABLE(ROW)
#undef ROW
};

#define MODIFIABLE_COUNT (sizeof(modifiable) / sizeof(modifiable[0]))

/* Other values for all that an Unconnected EP can be given here; made before the EP. */
struct wishes {
        uint64_t made[MODIFIABLE_COUNT];
        DAT_EP_PARAM asked;
        DAT_EP_PARAM_MASK all;
};

static void wish_objects(struct test *t, struct wishes *wishes)
{
        for (size_t i = 0; i < MODIFIABLE_COUNT; i++) {
                const struct ep_parameter *parameter = &ep_parameters[modifiable[i].parameter];

                if (parameter->make)
                        wishes->made[i] = parameter->make(t);
        }
}

static void wish(struct test *t, struct wishes *wishes, const DAT_EP_PARAM *now)
{
        wishes->asked = *now;
        for (size_t i = 0; i < MODIFIABLE_COUNT; i++) {
                const struct ep_parameter *parameter = &ep_parameters[modifiable[i].parameter];

                if (parameter->other)
                        wishes->made[i] = parameter->other(t, ep_value(now, parameter));
                ep_value_set(&wishes->asked, parameter, wishes->made[i]);
                wishes->all |= parameter->field;
        }
}

FAMILY(ep_modify, only_requested, modifiable)
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

CASE(ep_modify, all_at_once)
{
        struct wishes wishes = {.all = 0};
        DAT_EP_ATTR few = ep_attr_few(t);

        wish_objects(t, &wishes);

        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_UNCONNECTED, .attr = &few);
        struct ep_snapshot before = ep_snapshot(t, ep);

        wish(t, &wishes, &before.param);

        expect(dat_ep_modify(ep, wishes.all, &wishes.asked), DAT_SUCCESS);
        for (size_t i = 0; i < MODIFIABLE_COUNT; i++) {
                struct ep_change change = {
                    .parameter = &ep_parameters[modifiable[i].parameter],
                    .ep = ep,
                    .wanted = wishes.made[i],
                };

                expect_that(ep_change_shown(t, &change), "%s was not changed with the others",
                            modifiable[i].id);
        }
        expect_ep_kept(t, ep, &before, wishes.all);
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

FAMILY(ep_modify, late_change_keeps, forbidding)
{
        struct wishes wishes = {.all = 0};

        wish_objects(t, &wishes);

        DAT_EP_HANDLE ep = ep_in(t, row->state);
        struct ep_snapshot before = ep_snapshot(t, ep);

        wish(t, &wishes, &before.param);
        for (size_t i = 0; i < MODIFIABLE_COUNT; i++)
                (void)dat_ep_modify(ep, ep_parameters[modifiable[i].parameter].field,
                                    &wishes.asked);
        (void)dat_ep_modify(ep, wishes.all, &wishes.asked);

        expect_ep_kept(t, ep, &before, 0);
}

CASE(ep_modify, late_change_keeps_traffic)
{
        struct wishes wishes = {.all = 0};
        struct ep_change change = {.parameter = recv_dtos};
        struct buf *buf;
        struct peer_ep *end;

        wish_objects(t, &wishes);
        change.ep = ep_in(t, DAT_EP_STATE_UNCONNECTED);
        change.before = ep_snapshot(t, change.ep);
        buf = buf_with(t);
        must(post_recv(change.ep, buf));
        end = must_connect(change.ep);
        wish(t, &wishes, &change.before.param);
        (void)dat_ep_modify(change.ep, wishes.all, &wishes.asked);

        peer_send(end, .length = MESSAGE);
        expect_eq(expect_dto(ep_recv_evd(t, change.ep)).transfered_length, MESSAGE);
        expect_that(message_holds(buf->addr, MESSAGE, 0), "the message came damaged");
}

static const struct modifiable fixed[] = {
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

        (void)modify(&change);

        expect_ep_kept(t, change.ep, &change.before, 0);
        expect_eq(ep_state(t, change.ep), DAT_EP_STATE_CONNECTED);
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

CASE(ep_modify, never_modifiable_among_good)
{
        struct ep_change change = unconnected(t, EP_PARAM_max_recv_dtos);

        change.asked.ep_state = DAT_EP_STATE_CONNECTED;
        expect_all_refused(t, &change, DAT_EP_FIELD_EP_STATE, DAT_INVALID_PARAMETER);
}

CASE(ep_modify, invalid_value_among_good)
{
        struct ep_change change = unconnected(t, EP_PARAM_max_recv_dtos);

        change.asked.ep_attr.max_request_dtos = -1;
        expect_all_refused(t, &change, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
                           DAT_INVALID_PARAMETER);
}

CASE(ep_modify, wrong_state_among_good)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct ep_change change = ep_change_in(t, recv_dtos, DAT_EP_STATE_RESERVED);

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
    {"request_unknown", EP_PARAM_request_completion_flags, 0x40000000},
};

FAMILY(ep_modify, invalid_value, invalid_values)
{
        struct ep_change change = unconnected(t, row->parameter);

        ep_value_set(&change.asked, change.parameter, (uint64_t)row->value);

        expect(modify(&change), DAT_INVALID_PARAMETER);
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

static const struct modifiable limited[] = {
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

        DAT_RETURN ret =
            expect(modify(&change), DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);
        if (!dat_is(ret, DAT_SUCCESS)) {
                expect_ep_kept(t, change.ep, &change.before, 0);
                return;
        }
        expect_that(ep_change_shown(t, &change), "granted, and not done");
        note(t, "granted above the IA's own limit of %llu (EP-29)", (unsigned long long)limit);
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
        DAT_HANDLE bad = bad_handle(t, row->type, row->how);
        struct ep_change change = unconnected(t, row->parameter);

        ep_value_set(&change.asked, change.parameter, (uint64_t)(uintptr_t)bad);

        expect_or_note(modify(&change), DAT_INVALID_PARAMETER, DAT_INVALID_HANDLE);
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
        answer = modify(&change);

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

/* The flag comes after another one, so that the default is a change too. */
static void expect_flag_taken(struct test *t, const struct value *row)
{
        struct ep_change change = unconnected(t, row->parameter);

        if (row->value == DAT_COMPLETION_DEFAULT_FLAG)
                must(modify(&change));
        change.wanted = (uint64_t)row->value;
        ep_value_set(&change.asked, change.parameter, change.wanted);

        expect(modify(&change), DAT_SUCCESS);
        expect_that(ep_change_shown(t, &change), "granted, and not queried");
}

FAMILY(ep_modify, recv_flags, recv_flags)
{
        expect_flag_taken(t, row);
}

FAMILY(ep_modify, request_flags, request_flags)
{
        expect_flag_taken(t, row);
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
        must(modify(&change));
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

        must(dat_ep_modify(change.ep, change.parameter->field, &change.before.param));

        expect(wait_for_two(t, &change), DAT_TIMEOUT_EXPIRED);
}

static const struct always {
        const char *id;
        DAT_COMPLETION_FLAGS posted;
} always_supported[] = {
    {"suppress", DAT_COMPLETION_SUPPRESS_FLAG},
    {"solicited_wait", DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"barrier_fence", DAT_COMPLETION_BARRIER_FENCE_FLAG},
};

FAMILY(ep_modify, always_supported, always_supported)
{
        struct ep_change change = unconnected(t, EP_PARAM_request_completion_flags);
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, MESSAGE);
        struct peer_ep *end;

        change.asked.ep_attr.request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
        must(modify(&change));
        end = must_connect(change.ep);
        message_fill(buf->addr, MESSAGE, 0);
        peer_post_recv(end, 1, MESSAGE);

        expect(dat_ep_post_send(change.ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0}, row->posted),
               DAT_SUCCESS);
        peer_wait_recv(end, 0, MESSAGE);
        if (row->posted == DAT_COMPLETION_SUPPRESS_FLAG)
                expect_quiet(ep_request_evd(t, change.ep));
        else
                expect_dto(ep_request_evd(t, change.ep));
}

/*
 * Posted receives
 */

CASE(ep_modify, recv_flags_after_posting)
{
        struct ep_change change = unconnected(t, EP_PARAM_recv_completion_flags);

        must(post_recv(change.ep, buf_with(t)));

        expect(modify(&change), DAT_INVALID_STATE, DAT_INVALID_PARAMETER);
        expect_ep_kept(t, change.ep, &change.before, 0);
}

static void expect_protection_error(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event = expect_event(evd, DAT_DTO_COMPLETION_EVENT);

        expect_eq(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_LOCAL_PROTECTION);
}

/* Either the receive that the new zone does not cover fails, or the zone stays (EP-19). */
CASE(ep_modify, pz_with_posted_receive)
{
        struct ep_change change = unconnected(t, EP_PARAM_pz_handle);
        DAT_RETURN ret;

        must(post_recv(change.ep, buf_with(t)));

        ret = expect(modify(&change), DAT_SUCCESS, DAT_INVALID_STATE, DAT_INVALID_PARAMETER);
        if (!dat_is(ret, DAT_SUCCESS)) {
                expect_ep_kept(t, change.ep, &change.before, 0);
                return;
        }
        peer_send(must_connect(change.ep), .length = MESSAGE);
        expect_protection_error(t, ep_recv_evd(t, change.ep));
}

CASE(ep_modify, old_pz_covers_no_more)
{
        struct ep_change change = unconnected(t, EP_PARAM_pz_handle);
        struct buf *buf = buf_with(t);
        struct peer_ep *end;
        DAT_RETURN ret;

        must(modify(&change));
        end = must_connect(change.ep);

        ret = expect(post_recv(change.ep, buf), DAT_PROTECTION_VIOLATION, DAT_INVALID_PARAMETER,
                     DAT_SUCCESS);
        if (!dat_is(ret, DAT_SUCCESS))
                return;
        peer_send(end, .length = MESSAGE);
        expect_protection_error(t, ep_recv_evd(t, change.ep));
}

/*
 * EVDs
 */

static void moved(struct test *t, struct ep_change *change)
{
        must(modify(change));
        ep_reports_to(t, change->ep, change->parameter->field, ep_wanted_handle(change));
}

CASE(ep_modify, leaves_recv_evd)
{
        struct ep_change change = unconnected(t, EP_PARAM_recv_evd_handle);
        DAT_EVD_HANDLE old = ep_recv_evd(t, change.ep);

        moved(t, &change);

        expect_ep_receives(t, &change);
        expect_quiet(old);
}

CASE(ep_modify, leaves_request_evd)
{
        struct ep_change change = unconnected(t, EP_PARAM_request_evd_handle);
        DAT_EVD_HANDLE old = ep_request_evd(t, change.ep);

        moved(t, &change);

        expect_ep_sends(t, &change);
        expect_quiet(old);
}

CASE(ep_modify, leaves_connect_evd)
{
        struct ep_change change = unconnected(t, EP_PARAM_connect_evd_handle);
        DAT_EVD_HANDLE old = ep_connect_evd(t, change.ep);

        moved(t, &change);

        expect_connect(change.ep);
        expect_quiet(old);
}

/* Nothing holds an EVD any more that an EP has left. */
CASE(ep_modify, old_evd_is_free)
{
        struct ep_change change = unconnected(t, EP_PARAM_recv_evd_handle);
        DAT_EVD_HANDLE old = ep_recv_evd(t, change.ep);

        moved(t, &change);
        disown(t, old);

        expect(dat_evd_free(old), DAT_SUCCESS);
}

CASE(ep_modify, new_evd_is_in_use)
{
        struct ep_change change = unconnected(t, EP_PARAM_recv_evd_handle);

        must(modify(&change));

        expect(dat_evd_free(ep_wanted_handle(&change)), DAT_INVALID_STATE);
}

static const struct modifiable evds[] = {
    {"recv", EP_PARAM_recv_evd_handle},
    {"request", EP_PARAM_request_evd_handle},
    {"connect", EP_PARAM_connect_evd_handle},
};

FAMILY(ep_modify, no_evd, evds)
{
        struct ep_change change = unconnected(t, row->parameter);

        change.wanted = (uint64_t)(uintptr_t)DAT_HANDLE_NULL;
        ep_value_set(&change.asked, change.parameter, change.wanted);

        if (dat_is(expect(modify(&change), DAT_SUCCESS, DAT_INVALID_PARAMETER), DAT_SUCCESS))
                expect_that(ep_change_shown(t, &change), "granted, and not queried");
        else
                expect_ep_kept(t, change.ep, &change.before, 0);
}

/*
 * Later, and again
 */

CASE(ep_modify, after_reset)
{
        struct ep_change change = ep_change_in(t, recv_dtos, DAT_EP_STATE_DISCONNECTED);

        must(dat_ep_reset(change.ep));

        expect(modify(&change), DAT_SUCCESS);
        expect_that(ep_change_shown(t, &change), "granted, and not queried");
        change.parameter->effect(t, &change);
}

CASE(ep_modify, last_value_counts)
{
        struct ep_change change = unconnected(t, EP_PARAM_max_message_size);
        struct ep_change back = change;

        back.asked = change.before.param;
        for (int i = 0; i < 20; i++) {
                expect(modify(&change), DAT_SUCCESS);
                expect(modify(&back), DAT_SUCCESS);
        }
        expect_ep_kept(t, change.ep, &change.before, 0);
}

CASE(ep_modify, other_ep_untouched)
{
        DAT_EP_HANDLE other = ep_in(t, DAT_EP_STATE_UNCONNECTED);
        struct ep_snapshot before = ep_snapshot(t, other);
        struct ep_change change = unconnected(t, EP_PARAM_max_recv_dtos);

        must(modify(&change));

        expect_ep_kept(t, other, &before, 0);
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

        if (call_apart(t, modify_to_nothing, ep, &answer) && !dat_is(answer, DAT_INVALID_PARAMETER))
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
