/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_ep_modify: what an EP holds and shares. EVDs and zones that others use too, and for how long
 * it holds them; who waits on an EVD that it was given; and other EPs beside it.
 */
#include "cases/ep/shared/modify_table.h"
#include "cases/evd/shared/dispatcher.h"
#include "cases/shared/loop.h"
#include "clauses/ep_modify.h"

#define TIMES 20

/* Parameters that are objects, and what frees them. */
static const struct object {
        const char *id;
        enum ep_parameter_id parameter;
        DAT_RETURN (*free)(DAT_HANDLE handle);
} objects[] = {
    {"zone", EP_PARAM_pz_handle, dat_pz_free},
    {"recv", EP_PARAM_recv_evd_handle, dat_evd_free},
    {"request", EP_PARAM_request_evd_handle, dat_evd_free},
    {"connect", EP_PARAM_connect_evd_handle, dat_evd_free},
};

/* An EP of few means that has this object, and others of its own. */
static DAT_EP_HANDLE ep_that_has(struct test *t, enum ep_parameter_id parameter, DAT_HANDLE object)
{
        DAT_EP_ATTR few = ep_attr_few(t);

        switch (parameter) {
        case EP_PARAM_pz_handle:
                return ep_with(t, .attr = &few, .pz = object);
        case EP_PARAM_recv_evd_handle:
                return ep_with(t, .attr = &few, .recv_evd = object);
        case EP_PARAM_request_evd_handle:
                return ep_with(t, .attr = &few, .request_evd = object);
        default:
                return ep_with(t, .attr = &few, .connect_evd = object);
        }
}

static DAT_HANDLE object_new(struct test *t, const struct object *row)
{
        return ep_handle(ep_new_object(t, &ep_parameters[row->parameter]));
}

/* An EP that has an object, and is to be given another one. */
static struct ep_change change_of_object(struct test *t, const struct object *row, DAT_HANDLE has)
{
        uint64_t made = ep_new_object(t, &ep_parameters[row->parameter]);

        return ep_change_of(t, &ep_parameters[row->parameter], ep_that_has(t, row->parameter, has),
                            made);
}

/*
 * Objects that others use too
 */

FAMILY(ep_modify, left_by_one_of_two, objects)
{
        DAT_HANDLE shared = object_new(t, row);
        DAT_EP_HANDLE stays = ep_that_has(t, row->parameter, shared);
        struct ep_snapshot before = ep_snapshot(t, stays);
        struct ep_change change = change_of_object(t, row, shared);

        expect_ep_change(t, &change);
        expect_ep_kept(t, stays, &before, 0);
        expect(row->free(shared), DAT_INVALID_STATE);
        expect_ep_bears(t, stays);
        expect_ep_effect(t, &change);
}

static const struct ep_parameter_row streams[] = {
    {"recv", EP_PARAM_recv_evd_handle},
    {"request", EP_PARAM_request_evd_handle},
};

FAMILY(ep_modify, left_by_one_stream, streams)
{
        const struct ep_parameter *parameter = &ep_parameters[row->parameter];
        uint64_t made = ep_new_object(t, parameter);
        DAT_EVD_HANDLE both = evd_with(t);
        DAT_EP_ATTR few = ep_attr_few(t);
        DAT_EP_HANDLE ep = ep_with(t, .attr = &few, .recv_evd = both, .request_evd = both);
        struct ep_change change = ep_change_of(t, parameter, ep, made);

        expect_ep_change(t, &change);
        expect(dat_evd_free(both), DAT_INVALID_STATE);
        expect_ep_bears(t, ep);
}

/* In Passive Connection Pending all may be refused (EP-17). */
static const struct held_in {
        const char *id;
        DAT_EP_STATE state;
        bool zone_fixed;
} held_in[] = {
    {"reserved", DAT_EP_STATE_RESERVED, .zone_fixed = true},
    {"tentative_connection_pending", DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
     .zone_fixed = false},
};

/* A first one and then another; a Provider's EP has none before. */
static void expect_held(struct test *t, DAT_EP_HANDLE ep, const struct object *row,
                        const DAT_HANDLE given[2])
{
        for (int i = 0; i < 2; i++) {
                struct ep_change change = ep_change_of(t, &ep_parameters[row->parameter], ep,
                                                       (uint64_t)(uintptr_t)given[i]);

                expect_ep_change(t, &change);
                expect(row->free(given[i]), DAT_INVALID_STATE);
        }
        disown(t, given[0]);
        expect(row->free(given[0]), DAT_SUCCESS);
}

FAMILY(ep_modify, objects_held_in, held_in)
{
        DAT_HANDLE given[sizeof(objects) / sizeof(objects[0])][2];
        DAT_EP_ATTR few = ep_attr_few(t);
        DAT_EP_HANDLE ep;

        for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
                for (int j = 0; j < 2; j++)
                        given[i][j] = object_new(t, &objects[i]);
        ep = ep_in(t, row->state, .attr = &few);
        for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
                if (!row->zone_fixed || objects[i].parameter != EP_PARAM_pz_handle)
                        expect_held(t, ep, &objects[i], given[i]);
}

/*
 * For how long an EP holds what it has
 */

/* As often as it was given them, and the last one twice. */
FAMILY(ep_modify, let_go_by_free, objects)
{
        DAT_HANDLE first = object_new(t, row);
        struct ep_change change = change_of_object(t, row, first);
        DAT_EP_PARAM back = change.asked;

        ep_value_set(&back, change.parameter, ep_value(&change.before.param, change.parameter));
        for (int i = 0; i < TIMES; i++) {
                expect(ep_modify(&change), DAT_SUCCESS);
                expect(dat_ep_modify(change.ep, change.parameter->field, &back), DAT_SUCCESS);
        }
        expect(ep_modify(&change), DAT_SUCCESS);
        expect_ep_change(t, &change);
        release(t, change.ep);
        disown(t, first);
        disown(t, ep_handle(change.wanted));

        expect(row->free(ep_handle(change.wanted)), DAT_SUCCESS);
        expect(row->free(first), DAT_SUCCESS);
}

/* Objects of a refused change are free; the EP keeps those that it has. */
FAMILY(ep_modify, late_refusal_holds_none, objects)
{
        struct ep_change change = change_of_object(t, row, object_new(t, row));
        DAT_HANDLE has = ep_handle(ep_value(&change.before.param, change.parameter));
        struct peer_ep *end = must_connect(change.ep);

        change.before = ep_snapshot(t, change.ep);
        expect(ep_modify(&change), DAT_INVALID_STATE);
        expect_ep_kept(t, change.ep, &change.before, 0);
        expect(row->free(has), DAT_INVALID_STATE);
        disown(t, ep_handle(change.wanted));
        expect(row->free(ep_handle(change.wanted)), DAT_SUCCESS);
        expect_ep_takes(t, change.ep, change.before.param.pz_handle, end,
                        (struct load){1, 1, MESSAGE});
}

/* The zone that the EP has, by its own word, is held by it; the other one is free (EP-13). */
CASE(ep_modify, refused_with_zone)
{
        struct ep_change change = change_of_object(t, &objects[0], pz_new(t));
        DAT_PZ_HANDLE has = change.before.param.pz_handle;
        DAT_PZ_HANDLE other = ep_handle(change.wanted);

        change.asked.ep_attr.max_request_dtos = -1;
        expect(dat_ep_modify(change.ep,
                             change.parameter->field | DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
                             &change.asked),
               DAT_INVALID_PARAMETER);

        if (ep_snapshot(t, change.ep).param.pz_handle == other) {
                other = has;
                has = ep_handle(change.wanted);
        }
        expect(dat_pz_free(has), DAT_INVALID_STATE);
        disown(t, other);
        expect(dat_pz_free(other), DAT_SUCCESS);
}

/*
 * Waiters on what an EP was given
 */

static void bring_message(struct test *t, DAT_EP_HANDLE ep, struct peer_ep *end)
{
        (void)t;
        (void)ep;
        peer_send(end, .length = MESSAGE);
}

static void send_message(struct test *t, DAT_EP_HANDLE ep, struct peer_ep *end)
{
        peer_post_recv(end, 1, MESSAGE);
        loop_post_send(t, ep, buf_with(t), 1);
}

static void end_connection(struct test *t, DAT_EP_HANDLE ep, struct peer_ep *end)
{
        (void)t;
        (void)ep;
        peer_disconnect(end, DAT_CLOSE_ABRUPT_FLAG);
}

/* What brings an event to an EVD of a connected EP that has a receive posted. */
static const struct bringing {
        const char *id;
        enum ep_parameter_id parameter;
        void (*bring)(struct test *t, DAT_EP_HANDLE ep, struct peer_ep *end);
        DAT_EVENT_NUMBER number;
        DAT_EVD_FLAGS flags;
} bringing[] = {
    {"recv", EP_PARAM_recv_evd_handle, bring_message, DAT_DTO_COMPLETION_EVENT, DAT_EVD_DTO_FLAG},
    {"request", EP_PARAM_request_evd_handle, send_message, DAT_DTO_COMPLETION_EVENT,
     DAT_EVD_DTO_FLAG},
    {"connect", EP_PARAM_connect_evd_handle, end_connection, DAT_CONNECTION_EVENT_DISCONNECTED,
     DAT_EVD_CONNECTION_FLAG},
};

/* An EP that was given this EVD, and is connected. */
struct given {
        DAT_EP_HANDLE ep;
        struct peer_ep *end;
};

static struct given ep_given(struct test *t, const struct bringing *row, DAT_EVD_HANDLE evd)
{
        struct given given = {.ep = ep_with(t)};
        struct ep_change change =
            ep_change_of(t, &ep_parameters[row->parameter], given.ep, (uint64_t)(uintptr_t)evd);

        expect_ep_change(t, &change);
        loop_post_recv(t, given.ep, buf_with(t), 0);
        given.end = expect_connect(given.ep);
        return given;
}

FAMILY(ep_modify, new_evd_wakes, bringing)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = row->flags);
        struct given given = ep_given(t, row, evd);
        struct waiter *waiter = wait_on_evd(t, evd, 4 * event_timeout(t), 1);
        struct woken woken;

        must_wait(waiter);
        row->bring(t, given.ep, given.end);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_number, row->number);
}

FAMILY(ep_modify, new_evd_triggers, bringing)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = evd_with(t, .flags = row->flags, .cno = cno);
        struct given given = ep_given(t, row, evd);
        struct waiter *waiter;
        struct woken woken;
        DAT_EVD_HANDLE triggered;

        /* Of the connection itself the CNO was told, where the EVD is of connections. */
        settle_briefly(t);
        (void)dat_cno_wait(cno, 0, &triggered);
        waiter = wait_on_cno(t, cno, 4 * event_timeout(t));
        must_wait(waiter);
        row->bring(t, given.ep, given.end);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_that(woken.evd == evd, "the CNO names another EVD");
        expect_event(evd, row->number);
}

/*
 * EPs that were given all there is, one thing after the other
 */

#define GIVEN_COUNT (sizeof(ep_modifiable) / sizeof(ep_modifiable[0]))

static void make_all(struct test *t, uint64_t made[GIVEN_COUNT])
{
        for (size_t i = 0; i < GIVEN_COUNT; i++)
                made[i] = ep_new_object(t, &ep_parameters[ep_modifiable[i].parameter]);
}

static void expect_all_changes(struct test *t, DAT_EP_HANDLE ep, const uint64_t made[GIVEN_COUNT])
{
        for (size_t i = 0; i < GIVEN_COUNT; i++) {
                struct ep_change change =
                    ep_change_of(t, &ep_parameters[ep_modifiable[i].parameter], ep, made[i]);

                expect_ep_change(t, &change);
        }
}

CASE(ep_modify, then_accepts)
{
        DAT_EVD_HANDLE requests = evd_with(t, .flags = DAT_EVD_CR_FLAG);
        DAT_EP_ATTR few = ep_attr_few(t);
        uint64_t made[GIVEN_COUNT];
        struct peer_ep *end;
        DAT_CONN_QUAL qual;
        DAT_EVENT event;
        DAT_EP_HANDLE ep;

        make_all(t, made);
        ep = ep_with(t, .attr = &few);
        expect_all_changes(t, ep, made);
        loop_listen(t, requests, DAT_PSP_CONSUMER_FLAG, &qual);
        end = peer_request(peer(t), qual);
        event = must_event(requests, DAT_CONNECTION_REQUEST_EVENT);

        expect(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL),
               DAT_SUCCESS);
        expect_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_ESTABLISHED);
        peer_wait_connected(end);
        expect_ep_bears_over(t, ep, end);
}

CASE(ep_modify, then_follows)
{
        DAT_EP_ATTR few = ep_attr_few(t);
        uint64_t made[GIVEN_COUNT];
        DAT_EP_HANDLE like;
        DAT_EP_HANDLE ep;

        make_all(t, made);
        like = ep_by(t, ep_route_first(t, DAT_EP_STATE_CONNECTED));
        ep = ep_with(t, .attr = &few);
        expect_all_changes(t, ep, made);

        expect_ep_bears_over(t, ep, peer_duplicate(peer(t), ep, like));
}

/* Both have the same zone and EVDs at first, and one is connected and has a receive. */
CASE(ep_modify, connected_ep_untouched)
{
        DAT_EP_ATTR few = ep_attr_few(t);
        struct buf *buf = buf_with(t);
        uint64_t made[GIVEN_COUNT];
        struct ep_snapshot before;
        struct peer_ep *end;
        DAT_EP_HANDLE other;
        DAT_EP_HANDLE ep;

        make_all(t, made);
        other = ep_with(t, .attr = &few);
        ep = ep_with(t, .attr = &few, .recv_evd = ep_recv_evd(t, other),
                     .request_evd = ep_request_evd(t, other),
                     .connect_evd = ep_connect_evd(t, other));
        loop_post_recv(t, other, buf, 0);
        end = must_connect(other);
        before = ep_snapshot(t, other);

        expect_all_changes(t, ep, made);
        expect_ep_kept(t, other, &before, 0);
        peer_send(end, .length = MESSAGE);
        expect_eq(expect_dto(ep_recv_evd(t, other)).transfered_length, MESSAGE);
        expect_that(message_holds(buf->addr, MESSAGE, 0), "the message came damaged");
        expect_ep_bears_over(t, other, end);
        peer_disconnect(end, DAT_CLOSE_ABRUPT_FLAG);
        expect_event(ep_connect_evd(t, other), DAT_CONNECTION_EVENT_DISCONNECTED);
}
