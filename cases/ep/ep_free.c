/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_free: in which state, what goes with the EP, what stays of its work, and who hears of it.
 */
#include "clauses/ep_free.h"
#include "case/standard.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/handles.h"
#include "cases/shared/point.h"

#include <string.h>

#define POSTS 4
#define MANY  100 /* refusals */
#define OFTEN 200 /* EPs, one after another */
#define EPS   16  /* at once */
/* At most: those of both ends, of the requests and of the IA. */
#define EVDS_OF_LOOP 8

static void free_now(struct test *t, DAT_EP_HANDLE ep)
{
        expect(dat_ep_free(ep), DAT_SUCCESS);
        disown(t, ep);
}

static void expect_there(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        expect(dat_ep_query(ep, DAT_EP_FIELD_IA_HANDLE, &param), DAT_SUCCESS);
        expect_that(param.ia_handle == ia(t), "the EP is of another IA");
}

/*
 * States
 */

#define REFUSED_IN \
        (EP_IN(RESERVED) | EP_IN(PASSIVE_CONNECTION_PENDING) | EP_IN(TENTATIVE_CONNECTION_PENDING))

/* No stream of the EP feeds them any more. */
static void expect_evds_free(struct test *t, const DAT_EVD_HANDLE evds[3])
{
        for (int i = 0; i < 3; i++) {
                expect(dat_evd_free(evds[i]), DAT_SUCCESS);
                disown(t, evds[i]);
        }
}

FAMILY(ep_free, in_state, ep_states)
{
        struct ep_held held = ep_hold(t, row->state);
        DAT_EVD_HANDLE evds[] = {
            ep_recv_evd(t, held.ep),
            ep_request_evd(t, held.ep),
            ep_connect_evd(t, held.ep),
        };

        if (ep_is_in(&held, REFUSED_IN)) {
                expect(dat_ep_free(held.ep), DAT_INVALID_STATE);
                expect_ep_untouched(t, &held);
                return;
        }
        free_now(t, held.ep);
        expect_evds_free(t, evds);
}

FAMILY(ep_free, after_turn, ep_turns)
{
        struct loop loop = loop_new(t);
        DAT_EVD_HANDLE evds[] = {
            ep_recv_evd(t, loop.active),
            ep_request_evd(t, loop.active),
            ep_connect_evd(t, loop.active),
        };

        row->make(t, &loop);
        free_now(t, loop.active);
        expect_evds_free(t, evds);
        expect_there(t, loop.passive);
}

CASE(ep_free, reserved_then_released)
{
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_RESERVED);

        for (int i = 0; i < MANY; i++)
                expect(dat_ep_free(ep), DAT_INVALID_STATE);
        release(t, ep_rsp(t, ep));
        expect_eq(ep_state(t, ep), DAT_EP_STATE_UNCONNECTED);

        free_now(t, ep);
}

CASE(ep_free, passive_then_rejected)
{
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);

        for (int i = 0; i < MANY; i++)
                expect(dat_ep_free(ep), DAT_INVALID_STATE);
        release(t, ep_request(t, ep));
        expect_eq(ep_state(t, ep), DAT_EP_STATE_UNCONNECTED);

        free_now(t, ep);
}

static DAT_RETURN query(void *ep)
{
        DAT_EP_PARAM param;

        return dat_ep_query(ep, DAT_EP_FIELD_ALL, &param);
}

CASE(ep_free, tentative_then_rejected)
{
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);

        expect(dat_ep_free(ep), DAT_INVALID_STATE);
        release(t, ep_request(t, ep));

        expect_stale(query, ep);
}

/*
 * What the other side sees
 */

static const struct end {
        const char *id;
        bool active; /* the one that is freed */
} ends[] = {
    {"active", true},
    {"passive", false},
};

static DAT_EVENT_NUMBER next_number(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;
        DAT_COUNT more;

        expect(dat_evd_wait(evd, event_timeout(t), 1, &event, &more), DAT_SUCCESS);
        return event.event_number;
}

/* What tells an end that the other one was freed (EP-72). */
static void expect_end_told(struct test *t, DAT_EVENT_NUMBER number)
{
        if (number == DAT_CONNECTION_EVENT_BROKEN)
                note(t, "a connection whose other end was freed is told to be broken (EP-72)");
        else
                expect_eq(number, DAT_CONNECTION_EVENT_DISCONNECTED);
}

FAMILY(ep_free, other_end_told, ends)
{
        struct loop loop = loop_new(t);
        DAT_EP_HANDLE left = row->active ? loop.passive : loop.active;

        loop_join(t, &loop);
        free_now(t, row->active ? loop.active : loop.passive);

        expect_end_told(t, next_number(t, ep_connect_evd(t, left)));
        expect_eq(ep_state(t, left), DAT_EP_STATE_DISCONNECTED);
        free_now(t, left);
}

/* Receives and sends that the connection leaves behind at the end that stays are flushed there. */
CASE(ep_free, other_end_flushed)
{
        struct loop loop = transfer_with(t);
        struct vector vector = vector_with(t, .length = MESSAGE);

        must(recv_vector(loop.passive, &vector, 1, DAT_COMPLETION_DEFAULT_FLAG));
        must(send_vector(loop.passive, &vector, 2, DAT_COMPLETION_DEFAULT_FLAG));
        free_now(t, loop.active);

        expect_end_told(t, next_number(t, ep_connect_evd(t, loop.passive)));
        expect_completion(ep_recv_evd(t, loop.passive), loop.passive, 1, 0, DAT_DTO_ERR_FLUSHED);
        expect_completion(ep_request_evd(t, loop.passive), loop.passive, 2, 0, DAT_DTO_ERR_FLUSHED);
}

CASE(ep_free, peer_told)
{
        DAT_EP_HANDLE ep = ep_with(t);
        struct peer_ep *end = must_connect(ep);

        free_now(t, ep);

        expect_end_told(t, peer_wait_event(end).number);
}

/* The request was with the consumer, or still on its way to it. */
CASE(ep_free, aborts_request)
{
        struct loop loop = loop_new(t);
        DAT_EP_HANDLE again = ep_with(t);
        DAT_EVENT_NUMBER number;

        loop_ask(t, &loop);
        loop_take_request(t, &loop);
        free_now(t, loop.active);

        if (dat_is(dat_cr_accept(loop.request, loop.passive, 0, NULL), DAT_SUCCESS)) {
                number = next_number(t, ep_connect_evd(t, loop.passive));
                expect_that(number != DAT_CONNECTION_EVENT_ESTABLISHED,
                            "a request of an EP that is gone became a connection");
        }
        loop_connect(t, again, loop.qual);
        must_event(loop.requests, DAT_CONNECTION_REQUEST_EVENT);
}

/* An accept whose asker is stopped: when it runs again, the connection is not there any more. */
CASE(ep_free, aborts_accept)
{
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_COMPLETION_PENDING);
        struct peer_ep *end = ep_end(t, ep);
        DAT_EVENT_NUMBER last;

        free_now(t, ep);

        last = peer_wait_event(end).number;
        if (last == DAT_CONNECTION_EVENT_ESTABLISHED)
                last = peer_wait_event(end).number;
        expect_that(last && last != DAT_CONNECTION_EVENT_ESTABLISHED,
                    "the peer is not told that there is no connection");
}

CASE(ep_free, ends_disconnect)
{
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_DISCONNECT_PENDING);
        struct peer_ep *end = ep_end(t, ep);

        free_now(t, ep);

        expect_end_told(t, peer_wait_event(end).number);
}

/* Whoever sends to the EP meanwhile is told, and the IA serves others. */
CASE(ep_free, under_traffic)
{
        struct buf *buf = buf_with(t, .length = EPS * MESSAGE);
        DAT_EP_HANDLE ep = ep_with(t);
        DAT_EP_HANDLE other = ep_with(t);
        struct peer_ep *end = must_connect(ep);

        for (size_t i = 0; i < EPS; i++) {
                DAT_LMR_TRIPLET segment = triplet(buf, i * MESSAGE, MESSAGE);

                must(dat_ep_post_recv(ep, 1, &segment, COOKIE(i), DAT_COMPLETION_DEFAULT_FLAG));
        }
        peer_send(end, .count = EPS, .length = MESSAGE);
        free_now(t, ep);

        expect_end_told(t, peer_wait_event(end).number);
        expect_ep_takes(t, other, pz(t), expect_connect(other), (struct load){1, 1, MESSAGE});
}

/*
 * Completions
 */

/* Those of a dead EP, each at most once and in order, and nothing else; they may be gone. */
static void expect_remains(struct test *t, DAT_EVD_HANDLE evd, DAT_EP_HANDLE gone)
{
        uint64_t next = 0;
        DAT_EVENT event;

        while (dat_is(dat_evd_dequeue(evd, &event), DAT_SUCCESS)) {
                const DAT_DTO_COMPLETION_EVENT_DATA *data =
                    &event.event_data.dto_completion_event_data;

                expect_eq(event.event_number, DAT_DTO_COMPLETION_EVENT);
                expect_that(data->ep_handle == gone, "a completion of another EP");
                expect_that(data->user_cookie.as_64 >= next, "completion %llu comes after %llu",
                            (unsigned long long)data->user_cookie.as_64,
                            (unsigned long long)next - 1);
                next = data->user_cookie.as_64 + 1;
        }
        expect_that(next <= POSTS, "a completion of what was never posted");
}

static void post_recvs(struct test *t, DAT_EP_HANDLE ep, const struct vector *vector)
{
        for (uint64_t i = 0; i < POSTS; i++)
                must(recv_vector(ep, vector, i, DAT_COMPLETION_DEFAULT_FLAG));
}

static void post_sends(struct test *t, DAT_EP_HANDLE ep, const struct vector *vector)
{
        for (uint64_t i = 0; i < POSTS; i++)
                must(send_vector(ep, vector, i, DAT_COMPLETION_DEFAULT_FLAG));
}

/* The EP is freed; of its work the EVDs tell no more than they may, and then they are freed too. */
static void free_with_work(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EVD_HANDLE evds[] = {
            ep_recv_evd(t, ep),
            ep_request_evd(t, ep),
            ep_connect_evd(t, ep),
        };

        free_now(t, ep);

        expect_remains(t, evds[0], ep);
        expect_remains(t, evds[1], ep);
        expect_evds_free(t, evds);
}

CASE(ep_free, with_receives)
{
        struct vector vector = vector_with(t, .length = MESSAGE);
        DAT_EP_HANDLE ep = ep_with(t);

        post_recvs(t, ep, &vector);

        free_with_work(t, ep);
        expect_untouched(&vector);
}

CASE(ep_free, with_sends)
{
        struct vector vector = vector_with(t, .length = MESSAGE);
        struct loop loop = transfer_with(t);

        post_sends(t, loop.active, &vector);

        free_with_work(t, loop.active);
}

CASE(ep_free, with_completions)
{
        struct vector to = vector_with(t, .length = MESSAGE);
        struct vector from = vector_with(t, .length = MESSAGE);
        struct loop loop = transfer_with(t);

        post_recvs(t, loop.passive, &to);
        post_sends(t, loop.active, &from);
        for (int i = 0; i < POSTS; i++)
                must_dto(ep_request_evd(t, loop.active));

        free_with_work(t, loop.passive);
}

CASE(ep_free, with_flushed)
{
        struct vector vector = vector_with(t, .length = MESSAGE);
        struct loop loop = transfer_with(t);

        post_recvs(t, loop.active, &vector);
        post_sends(t, loop.active, &vector);
        must(dat_ep_disconnect(loop.active, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, loop.active), DAT_CONNECTION_EVENT_DISCONNECTED);

        free_with_work(t, loop.active);
}

/* Of two connections with the same EVDs, the one that ends: made first, or last. */
static const struct place {
        const char *id;
        int gone;
} places[] = {
    {"older", 0},
    {"newer", 1},
};

/* Passes over what is left of the dead EP. */
static DAT_DTO_COMPLETION_EVENT_DATA next_of(struct test *t, DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep)
{
        DAT_DTO_COMPLETION_EVENT_DATA data;

        do
                data = expect_event(evd, DAT_DTO_COMPLETION_EVENT)
                           .event_data.dto_completion_event_data;
        while (data.ep_handle != ep);
        expect_eq(data.status, DAT_DTO_SUCCESS);
        return data;
}

FAMILY(ep_free, shared_evds, places)
{
        DAT_EVD_HANDLE recv = evd_with(t);
        DAT_EVD_HANDLE request = evd_with(t);
        struct vector vector = vector_with(t, .length = MESSAGE);
        struct vector from = vector_with(t, .length = MESSAGE);
        struct loop loops[] = {
            transfer_with(t, .recv_evd = recv, .request_evd = request),
            transfer_with(t, .recv_evd = recv, .request_evd = request),
        };
        const struct loop *stays = &loops[!row->gone];

        for (int i = 0; i < 2; i++)
                post_recvs(t, loops[i].passive, &vector);
        post_sends(t, stays->active, &from);
        free_now(t, loops[row->gone].passive);
        free_now(t, loops[row->gone].active);

        for (uint64_t i = 0; i < POSTS; i++) {
                expect_eq(next_of(t, recv, stays->passive).user_cookie.as_64, i);
                expect_eq(next_of(t, request, stays->active).user_cookie.as_64, i);
        }
        post_recvs(t, stays->passive, &vector);
        post_sends(t, stays->active, &from);
        for (uint64_t i = 0; i < POSTS; i++)
                expect_eq(next_of(t, recv, stays->passive).user_cookie.as_64, i);
}

/* Another EP tells the same EVD of its end, which nobody has read yet. */
CASE(ep_free, keeps_connection_events)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_CONNECTION_FLAG);
        struct loop loops[2];
        DAT_EVENT event;

        for (int i = 0; i < 2; i++) {
                loops[i] = loop_of(t, (struct ep_opts){.connect_evd = evd}, (struct ep_opts){0});
                loop_join(t, &loops[i]);
        }
        must(dat_ep_disconnect(loops[0].active, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, loops[0].passive), DAT_CONNECTION_EVENT_DISCONNECTED);
        settle_briefly(t);
        free_now(t, loops[1].active);

        do
                event = expect_event(evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        while (event.event_data.connect_event_data.ep_handle == loops[1].active);
        expect_that(event.event_data.connect_event_data.ep_handle == loops[0].active,
                    "the event names another EP");
}

/* What has come by the return may be there; of an EP that is gone nothing comes. */
CASE(ep_free, tells_nothing_more)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_CONNECTION_FLAG);
        struct loop loop = loop_of(t, (struct ep_opts){.connect_evd = evd}, (struct ep_opts){0});
        DAT_EVENT event;

        loop_join(t, &loop);
        free_now(t, loop.active);
        while (dat_is(dat_evd_dequeue(evd, &event), DAT_SUCCESS))
                ;

        expect_end_told(t, next_number(t, ep_connect_evd(t, loop.passive)));
        settle_briefly(t);
        expect_empty(t, evd);
}

/*
 * What the EP held
 */

static DAT_RETURN evd_free(DAT_HANDLE evd)
{
        return dat_evd_free(evd);
}

static DAT_RETURN pz_free(DAT_HANDLE zone)
{
        return dat_pz_free(zone);
}

static DAT_HANDLE zone_of(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM param = {.pz_handle = DAT_HANDLE_NULL};

        must(dat_ep_query(ep, DAT_EP_FIELD_PZ_HANDLE, &param));
        return param.pz_handle;
}

/* An object that is in use as long as the EP is there. */
static const struct holding {
        const char *id;
        DAT_HANDLE (*held)(struct test *t, DAT_EP_HANDLE ep);
        DAT_RETURN (*free)(DAT_HANDLE handle);
} holdings[] = {
    {"pz", zone_of, pz_free},
    {"recv_evd", ep_recv_evd, evd_free},
    {"request_evd", ep_request_evd, evd_free},
    {"connect_evd", ep_connect_evd, evd_free},
};

FAMILY(ep_free, lets_go_of, holdings)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_EP_HANDLE ep = ep_with(t, .pz = zone);
        DAT_HANDLE held = row->held(t, ep);

        must_that(!dat_is(row->free(held), DAT_SUCCESS), "an EP's %s was freed", row->id);
        free_now(t, ep);

        expect(row->free(held), DAT_SUCCESS);
        disown(t, held);
}

CASE(ep_free, lets_go_of_srq)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);

        must_that(!dat_is(dat_srq_free(srq), DAT_SUCCESS), "an EP's SRQ was freed");
        free_now(t, ep);

        expect(dat_srq_free(srq), DAT_SUCCESS);
        disown(t, srq);
}

CASE(ep_free, lets_go_of_memory)
{
        struct buf *buf = buf_with(t);
        DAT_EP_HANDLE ep = ep_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, MESSAGE);

        must(dat_ep_post_recv(ep, 1, &segment, COOKIE(0), DAT_COMPLETION_DEFAULT_FLAG));
        free_now(t, ep);

        expect(dat_lmr_free(buf->lmr), DAT_SUCCESS);
        disown(t, buf->lmr);
}

/* The same of an EP that has had to do with a connection, and with work that is left behind. */
static const struct life {
        const char *id;
        void (*make)(struct test *t, struct loop *loop);
} lives[] = {
    {"asking", ep_turn_ask},
    {"connected", loop_join},
    {"disconnected", ep_turn_leave},
};

FAMILY(ep_free, lets_go_of_all, lives)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct buf *buf = buf_with(t, .pz = zone);
        struct loop loop = loop_of(t, (struct ep_opts){.pz = zone}, (struct ep_opts){0});
        DAT_EVD_HANDLE evds[] = {
            ep_recv_evd(t, loop.active),
            ep_request_evd(t, loop.active),
            ep_connect_evd(t, loop.active),
        };

        loop_post_recv(t, loop.active, buf, 0);
        row->make(t, &loop);
        if (ep_state(t, loop.active) == DAT_EP_STATE_CONNECTED)
                loop_post_send(t, loop.active, buf, 1);
        free_now(t, loop.active);

        expect(dat_lmr_free(buf->lmr), DAT_SUCCESS);
        disown(t, buf->lmr);
        expect_evds_free(t, evds);
        expect(dat_pz_free(zone), DAT_SUCCESS);
        disown(t, zone);
}

FAMILY(ep_free, lets_go_of_used_srq, lives)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        struct loop loop = loop_of(t, (struct ep_opts){.srq = srq}, (struct ep_opts){0});

        row->make(t, &loop);
        free_now(t, loop.active);

        expect(dat_srq_free(srq), DAT_SUCCESS);
        disown(t, srq);
}

/* Of two EPs that use it, the older is freed first, and the newer keeps it in use. */
FAMILY(ep_free, held_by_another, holdings)
{
        DAT_EP_HANDLE one = ep_with(t, .pz = pz_new(t));
        DAT_EP_HANDLE other =
            ep_with(t, .pz = zone_of(t, one), .recv_evd = ep_recv_evd(t, one),
                    .request_evd = ep_request_evd(t, one), .connect_evd = ep_connect_evd(t, one));
        DAT_HANDLE held = row->held(t, one);

        free_now(t, one);
        expect_that(!dat_is(row->free(held), DAT_SUCCESS), "the other EP's %s was freed", row->id);
        free_now(t, other);

        expect(row->free(held), DAT_SUCCESS);
        disown(t, held);
}

CASE(ep_free, srq_held_by_another)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_HANDLE one = ep_with(t, .srq = srq);
        DAT_EP_HANDLE other = ep_with(t, .srq = srq);

        free_now(t, one);
        expect_that(!dat_is(dat_srq_free(srq), DAT_SUCCESS), "the other EP's SRQ was freed");
        free_now(t, other);

        expect(dat_srq_free(srq), DAT_SUCCESS);
        disown(t, srq);
}

/*
 * Others
 */

FAMILY(ep_free, other_connection_carries, places)
{
        struct loop loops[] = {loop_new(t), loop_new(t)};
        const struct loop *gone = &loops[row->gone];
        const struct loop *stays = &loops[!row->gone];

        for (int i = 0; i < 2; i++)
                loop_join(t, &loops[i]);
        free_now(t, gone->active);
        expect_message(t, stays->active, stays->passive);
        free_now(t, gone->passive);

        expect_message(t, stays->active, stays->passive);
        expect_message(t, stays->passive, stays->active);
}

CASE(ep_free, often)
{
        for (int i = 0; i < OFTEN; i++) {
                DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){.segments = 1});
                DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

                must(dat_ep_create(ia(t), pz(t), DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
                                   &attr, &ep));
                expect(dat_ep_free(ep), DAT_SUCCESS);
        }
}

CASE(ep_free, connected_often)
{
        DAT_COUNT rounds = ia_attr(t)->max_evds / EVDS_OF_LOOP;

        if (rounds < 2)
                unsupported(t, "max_evds: fewer than two connections have");
        for (DAT_COUNT i = 0; i < rounds && i < EPS; i++) {
                struct loop loop = loop_new(t);

                loop_join(t, &loop);
                free_now(t, i % 2 ? loop.active : loop.passive);
                free_now(t, i % 2 ? loop.passive : loop.active);
        }
}

CASE(ep_free, many_in_any_order)
{
        DAT_EP_HANDLE eps[EPS];
        int count = ia_attr(t)->max_eps < EPS ? ia_attr(t)->max_eps : EPS;

        for (int i = 0; i < count; i++)
                eps[i] = ep_with(t);
        for (int left = count; left > 0; left--) {
                uint64_t which = draw(t, (uint64_t)left);

                free_now(t, eps[which]);
                eps[which] = eps[left - 1];
                for (int i = 0; i < left - 1; i++)
                        expect_there(t, eps[i]);
        }
}

CASE(ep_free, of_other_ia)
{
        DAT_EP_HANDLE here = ep_with(t);
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){.segments = 1});
        DAT_EP_HANDLE there = DAT_HANDLE_NULL;

        must(dat_ep_create(other_ia(t), pz_of(t, other_ia(t)), DAT_HANDLE_NULL, DAT_HANDLE_NULL,
                           DAT_HANDLE_NULL, &attr, &there));
        expect(dat_ep_free(there), DAT_SUCCESS);

        expect_there(t, here);
        free_now(t, here);
}

/*
 * The handle afterwards
 */

/* What the calls below take besides the EP. */
static struct {
        DAT_IA_HANDLE ia;
        DAT_IA_ADDRESS_PTR address;
        DAT_EVD_HANDLE requests;
        DAT_LMR_TRIPLET segment;
        DAT_RMR_TRIPLET remote;
        DAT_EP_HANDLE other;
        DAT_RMR_HANDLE rmr;
        DAT_CONN_QUAL qual;
} beside;

static DAT_RETURN get_status(void *ep)
{
        DAT_EP_STATE state;
        DAT_BOOLEAN recv_idle;
        DAT_BOOLEAN request_idle;

        return dat_ep_get_status(ep, &state, &recv_idle, &request_idle);
}

static DAT_RETURN modify(void *ep)
{
        DAT_EP_PARAM param = {.ep_attr = {.max_message_size = 4096}};

        return dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE, &param);
}

static DAT_RETURN post_recv(void *ep)
{
        return dat_ep_post_recv(ep, 1, &beside.segment, COOKIE(0), DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN post_send(void *ep)
{
        return dat_ep_post_send(ep, 1, &beside.segment, COOKIE(0), DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN post_rdma_write(void *ep)
{
        return dat_ep_post_rdma_write(ep, 1, &beside.segment, COOKIE(0), &beside.remote,
                                      DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN post_rdma_read(void *ep)
{
        return dat_ep_post_rdma_read(ep, 1, &beside.segment, COOKIE(0), &beside.remote,
                                     DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN bind_by(void *ep)
{
        DAT_RMR_CONTEXT context;

        return dat_rmr_bind(beside.rmr, &beside.segment, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep,
                            (DAT_RMR_COOKIE){.as_64 = 0}, DAT_COMPLETION_DEFAULT_FLAG, &context);
}

static DAT_RETURN recv_query(void *ep)
{
        DAT_COUNT count;
        DAT_COUNT span;

        return dat_ep_recv_query(ep, &count, &span);
}

static DAT_RETURN set_watermark(void *ep)
{
        return dat_ep_set_watermark(ep, DAT_WATERMARK_INFINITE, DAT_WATERMARK_INFINITE);
}

static DAT_RETURN connect_it(void *ep)
{
        return dat_ep_connect(ep, beside.address, beside.qual, DAT_TIMEOUT_INFINITE, 0, NULL,
                              DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static DAT_RETURN dup_connect(void *ep)
{
        return dat_ep_dup_connect(ep, beside.other, DAT_TIMEOUT_INFINITE, 0, NULL,
                                  DAT_QOS_BEST_EFFORT);
}

static DAT_RETURN dup_connect_like(void *ep)
{
        return dat_ep_dup_connect(beside.other, ep, DAT_TIMEOUT_INFINITE, 0, NULL,
                                  DAT_QOS_BEST_EFFORT);
}

static DAT_RETURN disconnect(void *ep)
{
        return dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_RETURN reset(void *ep)
{
        return dat_ep_reset(ep);
}

static DAT_RETURN rsp_create(void *ep)
{
        DAT_RSP_HANDLE made;

        return dat_rsp_create(beside.ia, beside.qual, ep, beside.requests, &made);
}

static const struct use {
        const char *id;
        DAT_RETURN (*call)(void *ep);
} uses[] = {
    {"query", query},
    {"get_status", get_status},
    {"modify", modify},
    {"post_recv", post_recv},
    {"post_send", post_send},
    {"post_rdma_write", post_rdma_write},
    {"post_rdma_read", post_rdma_read},
    {"rmr_bind", bind_by},
    {"recv_query", recv_query},
    {"set_watermark", set_watermark},
    {"connect", connect_it},
    {"dup_connect", dup_connect},
    {"dup_connect_like", dup_connect_like},
    {"disconnect", disconnect},
    {"reset", reset},
    {"rsp_create", rsp_create},
};

FAMILY(ep_free, handle_afterwards, uses)
{
        struct buf *buf = buf_with(t);

        beside.ia = ia(t);
        beside.address = ia_attr(t)->ia_address_ptr;
        beside.requests = request_evd(t);
        beside.segment = triplet(buf, 0, MESSAGE);
        beside.remote = (DAT_RMR_TRIPLET){
            .rmr_context = buf->rmr_context,
            .target_address = (DAT_VADDR)(uintptr_t)buf->addr,
            .segment_length = MESSAGE,
        };
        beside.other = ep_with(t);
        beside.qual = point_qual(t);
        must(dat_rmr_create(pz(t), &beside.rmr));
        adopt(t, DAT_HANDLE_TYPE_RMR, beside.rmr);

        expect_stale(row->call, bad_handle(t, DAT_HANDLE_TYPE_EP, BAD_HANDLE_DESTROYED));
}

/* A request is accepted by no EP that is gone, and then by one that is there. */
CASE(ep_free, not_accepted_with)
{
        struct loop loop = loop_new(t);
        DAT_EP_HANDLE gone;
        DAT_RETURN ret;

        loop_ask(t, &loop);
        loop_take_request(t, &loop);
        gone = ep_with(t);
        free_now(t, gone);
        ret = dat_cr_accept(loop.request, gone, 0, NULL);
        expect_that(!dat_is(ret, DAT_SUCCESS), "a request was accepted with an EP that is gone");
        expect(dat_cr_accept(loop.request, loop.passive, 0, NULL), DAT_SUCCESS);
        expect_event(ep_connect_evd(t, loop.active), DAT_CONNECTION_EVENT_ESTABLISHED);
}

CASE(ep_free, second_free)
{
        DAT_EP_HANDLE other = ep_with(t);
        DAT_EP_HANDLE gone = bad_handle(t, DAT_HANDLE_TYPE_EP, BAD_HANDLE_DESTROYED);
        DAT_RETURN ret;

        if (subprocess_call(t, dat_ep_free, gone, &ret))
                record(t, "a second free of an EP returned 0x%x", (unsigned int)ret);
        free_now(t, other);
}

/*
 * Arguments
 */

FAMILY(ep_free, invalid_handle, invalid_handles)
{
        DAT_EP_HANDLE ep = ep_with(t);

        expect(dat_ep_free(bad_handle(t, DAT_HANDLE_TYPE_EP, row->how)), DAT_INVALID_HANDLE);
        free_now(t, ep);
}

CASE(ep_free, other_kind_kept)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        DAT_EVD_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        (void)dat_ep_free(evd);

        expect(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS);
        expect_that(param.ia_handle == ia(t), "the EVD is of another IA");
}
