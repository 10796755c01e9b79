/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_reset: from which state, what of the last connection is left, and the next connection. */
#include "clauses/ep_reset.h"
#include "case/ep_attr.h"
#include "case/standard.h"
#include "cases/ep/shared/connect.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"
#include "cases/shared/refusals.h"

#include <arpa/inet.h>
#include <string.h>

#define POSTS  4
#define LATER  100                    /* cookies of what is posted after the reset */
#define MANY   50                     /* calls in a row */
#define ROUNDS 10                     /* connections of one EP */
#define FEW    3                      /* such connections */
#define WAITS  500                    /* looks at an EP that is about to be Disconnected */
#define SHORT  ((DAT_TIMEOUT)60000)   /* a time-out: microseconds */
#define BRIEF  ((DAT_TIMEOUT)1000000) /* a time-out that slow hosts keep */
#define NOBODY 0xc0000201             /* an address of the net that is for documents */

static void expect_reset(struct test *t, DAT_EP_HANDLE ep)
{
        expect(dat_ep_reset(ep), DAT_SUCCESS);
        expect_eq(ep_state(t, ep), DAT_EP_STATE_UNCONNECTED);
}

static void expect_messages(struct test *t, DAT_EP_HANDLE one, DAT_EP_HANDLE other)
{
        expect_message(t, one, other);
        expect_message(t, other, one);
}

static void leave(struct test *t, const struct loop *loop)
{
        must(dat_ep_disconnect(loop->active, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, loop->active), DAT_CONNECTION_EVENT_DISCONNECTED);
        must_event(ep_connect_evd(t, loop->passive), DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* On iWARP, a message that finds no receive ends the connection, which may be before. */
static void leave_in_traffic(struct test *t, const struct loop *loop)
{
        must(dat_ep_disconnect(loop->active, DAT_CLOSE_ABRUPT_FLAG));
        must_have_ended(t, loop->active);
        must_have_ended(t, loop->passive);
}

/* It is the source of its EVDs' streams as before. */
static void expect_feeds_still(struct test *t, DAT_EP_HANDLE ep)
{
        const DAT_EVD_HANDLE evds[] = {ep_recv_evd(t, ep), ep_request_evd(t, ep),
                                       ep_connect_evd(t, ep)};

        for (size_t i = 0; i < sizeof(evds) / sizeof(evds[0]); i++)
                expect(dat_evd_free(evds[i]), DAT_INVALID_STATE);
}

/*
 * States
 */

FAMILY(ep_reset, in_state, ep_states)
{
        EACH_EP_ROUTE (route, row->state) {
                struct ep_held held = ep_hold_by(t, route);

                ep_hold_receive(t, &held);
                if (!ep_is_in(&held, EP_IN(UNCONNECTED) | EP_IN(DISCONNECTED))) {
                        EACH_REFUSAL (i)
                                expect(dat_ep_reset(held.ep), DAT_INVALID_STATE);
                        expect_ep_untouched(t, &held);
                        continue;
                }
                /* That it keeps its parameters is the clause. */
                held.before = ep_snapshot(t, held.ep);
                expect_reset(t, held.ep);
                expect_ep_kept(t, held.ep, &held.before, EP_OF_CONNECTION);
                expect_feeds_still(t, held.ep);
                held.state = DAT_EP_STATE_UNCONNECTED;
                held.before = ep_snapshot(t, held.ep);
                expect_ep_untouched(t, &held);
        }
}

/* A request that is not answered in time, at whatever address. */
static void ask_in_vain(struct test *t, const struct loop *loop, DAT_IA_ADDRESS_PTR address)
{
        DAT_RETURN ret = dat_ep_connect(loop->active, address, loop->qual, SHORT, 0, NULL,
                                        DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
        DAT_EVENT event;
        DAT_COUNT more;

        if (dat_is(ret, DAT_SUCCESS))
                must(dat_evd_wait(ep_connect_evd(t, loop->active), event_timeout(t), 1, &event,
                                  &more));
}

/* A provider may see at once that there is no way, and leave the EP Unconnected. */
static void reach_nobody(struct test *t, struct loop *loop)
{
        static struct sockaddr_in nowhere;

        nowhere = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(NOBODY)};
        loop->qual = point_qual(t);
        ask_in_vain(t, loop, (DAT_IA_ADDRESS_PTR)&nowhere);
}

/* A graceful disconnect waits for a send without a receive, until an abrupt one ends it. */
static void leave_at_last(struct test *t, struct loop *loop)
{
        struct buf *buf = buf_with(t);

        loop_join(t, loop);
        loop_post_send(t, loop->active, buf, LATER);
        must(dat_ep_disconnect(loop->active, DAT_CLOSE_GRACEFUL_FLAG));
        must(dat_ep_disconnect(loop->active, DAT_CLOSE_ABRUPT_FLAG));
        must_have_ended(t, loop->active);
}

/* The ways to Disconnected, from which the EP is to come back. */
static const struct return_row {
        const char *id;
        void (*make)(struct test *t, struct loop *loop);
} ways[] = {
    {"rejected", ep_turn_reject},
    {"nobody_listens", ep_turn_find_nobody},
    {"gives_up", ep_turn_give_up},
    {"times_out", ep_turn_time_out},
    {"unreachable", reach_nobody},
    {"disconnects", ep_turn_leave},
    {"disconnects_gracefully", ep_turn_leave_in_peace},
    {"other_end_disconnects", ep_turn_be_left},
    {"disconnects_at_last", leave_at_last},
};

/* A give-up may be told by an event, or none: what is left of it is not the next connection's. */
FAMILY(ep_reset, connects_again, ways)
{
        struct loop loop = loop_new(t);
        struct loop next;
        DAT_EVENT event;

        row->make(t, &loop);
        while (event_left(t, ep_connect_evd(t, loop.active), &event))
                must_that(event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED,
                          "an EP that is Disconnected was told of a connection");
        expect_reset(t, loop.active);
        drain_evd(t, ep_request_evd(t, loop.active));

        next = expect_joined(t, loop.active, ep_with(t));
        expect_messages(t, next.active, next.passive);
        expect_eq(ep_state(t, next.active), DAT_EP_STATE_CONNECTED);
}

/* What ends a request before its time is over. */
static void be_rejected(struct test *t, struct loop *loop)
{
        loop_take_request(t, loop);
        must(dat_cr_reject(loop->request));
        must_event(ep_connect_evd(t, loop->active), DAT_CONNECTION_EVENT_PEER_REJECTED);
}

static void come_and_go(struct test *t, struct loop *loop)
{
        loop_accept(t, loop);
        must_event(ep_connect_evd(t, loop->active), DAT_CONNECTION_EVENT_ESTABLISHED);
        must_event(ep_connect_evd(t, loop->passive), DAT_CONNECTION_EVENT_ESTABLISHED);
        leave(t, loop);
}

static void give_up(struct test *t, struct loop *loop)
{
        loop_take_request(t, loop);
        ep_give_up(t, loop->active);
}

enum { REJECTED, OVER, GIVEN_UP, EARLY_ENDS };

static void (*const early_ends[EARLY_ENDS])(struct test *t, struct loop *loop) = {
    [REJECTED] = be_rejected,
    [OVER] = come_and_go,
    [GIVEN_UP] = give_up,
};

/* A request at a point of the loop, which is not answered yet. */
static void ask_within(struct test *t, struct loop *loop, DAT_TIMEOUT timeout)
{
        loop_open(t, loop);
        must(dat_ep_connect(loop->active, ia_address(t), loop->qual, timeout, 0, NULL,
                            DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

/*
 * A later request of another EP, with the same timeout, shows that the time of the first ones is
 * over. The first request that the EP aborted is answered when its next one is there.
 */
CASE(ep_reset, forgets_timeout)
{
        struct loop firsts[EARLY_ENDS];
        struct loop nexts[EARLY_ENDS];
        struct loop other = loop_new(t);
        DAT_EVENT event;
        DAT_COUNT more;

        for (int i = 0; i < EARLY_ENDS; i++) {
                firsts[i] = loop_new(t);
                ask_within(t, &firsts[i], BRIEF);
                early_ends[i](t, &firsts[i]);
                expect_reset(t, firsts[i].active);
                nexts[i] = (struct loop){
                    .requests = request_evd(t), .active = firsts[i].active, .passive = ep_with(t)};
                ask_within(t, &nexts[i], DAT_TIMEOUT_INFINITE);
                loop_take_request(t, &nexts[i]);
        }
        must_answer_late(t, firsts[GIVEN_UP].request, &firsts[GIVEN_UP]);
        ask_within(t, &other, BRIEF);
        must(dat_evd_wait(ep_connect_evd(t, other.active), event_timeout(t), 1, &event, &more));

        for (int i = 0; i < EARLY_ENDS; i++) {
                expect_eq(ep_state(t, nexts[i].active), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
                expect_accepted(t, nexts[i].request, &nexts[i]);
                expect_messages(t, nexts[i].active, nexts[i].passive);
        }
}

CASE(ep_reset, behind_refusals)
{
        struct loop loop = loop_new(t);
        DAT_EP_PARAM param;

        loop_join(t, &loop);
        leave(t, &loop);
        must(dat_ep_query(loop.active, DAT_EP_FIELD_ALL, &param));
        param.ep_attr.max_recv_dtos = -1;
        must_that_of("dat_ep_modify",
                     !dat_is(dat_ep_modify(loop.active, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param),
                             DAT_SUCCESS),
                     "a negative number of receives was granted");
        must_that_of("dat_ep_connect",
                     !dat_is(dat_ep_connect(loop.active, ia_address(t), loop.qual, SHORT, 0, NULL,
                                            DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
                             DAT_SUCCESS),
                     "an EP that is Disconnected was connected");
        expect_reset(t, loop.active);

        expect_joined(t, loop.active, ep_with(t));
}

CASE(ep_reset, both_ends_change_parts)
{
        struct loop loop = loop_new(t);

        loop_join(t, &loop);
        leave(t, &loop);
        expect_reset(t, loop.passive);
        expect_eq(ep_state(t, loop.active), DAT_EP_STATE_DISCONNECTED);
        expect_reset(t, loop.active);

        expect_joined(t, loop.passive, loop.active);
        expect_messages(t, loop.passive, loop.active);
}

CASE(ep_reset, accepts_again)
{
        struct loop loop = loop_new(t);
        DAT_EP_HANDLE other = ep_with(t);

        loop_join(t, &loop);
        leave(t, &loop);
        expect_reset(t, loop.passive);

        expect_joined(t, other, loop.passive);
        expect_messages(t, other, loop.passive);
}

CASE(ep_reset, reserved_again)
{
        struct loop loop = loop_new(t);
        DAT_CONN_QUAL qual;

        loop_join(t, &loop);
        leave(t, &loop);
        expect_reset(t, loop.active);
        rsp_new(t, loop.active, loop.requests, &qual);

        expect_eq(ep_state(t, loop.active), DAT_EP_STATE_RESERVED);
}

CASE(ep_reset, peer_again)
{
        DAT_EP_HANDLE ep = ep_with(t);
        struct peer_ep *end = must_connect(ep);

        peer_disconnect(end, DAT_CLOSE_ABRUPT_FLAG);
        must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        expect_reset(t, ep);

        end = expect_connect(ep);
        expect_ep_gives(t, ep, pz(t), end, (struct load){2, 1, MESSAGE});
        expect_ep_takes(t, ep, pz(t), end, (struct load){2, 1, MESSAGE});
}

CASE(ep_reset, again_and_again)
{
        struct loop loop = loop_new(t);

        for (int i = 0; i < ROUNDS; i++) {
                expect_joined(t, loop.active, loop.passive);
                expect_message(t, loop.active, loop.passive);
                leave(t, &loop);
                expect_reset(t, loop.active);
                expect_reset(t, loop.passive);
        }
}

/* What was flushed and not reaped takes none of the places that the EP was made with. */
CASE(ep_reset, room_again)
{
        struct loop loop = loop_new(t);
        struct vector vector = vector_with(t, .length = MESSAGE);

        for (int i = 0; i < FEW; i++) {
                expect_joined(t, loop.active, loop.passive);
                for (uint64_t j = 0; j < EP_ATTR_DTOS; j++) {
                        expect(recv_vector(loop.passive, &vector, j, DAT_COMPLETION_DEFAULT_FLAG),
                               DAT_SUCCESS);
                        expect(send_vector(loop.passive, &vector, j, DAT_COMPLETION_DEFAULT_FLAG),
                               DAT_SUCCESS);
                }
                leave_in_traffic(t, &loop);
                expect_reset(t, loop.active);
                expect_reset(t, loop.passive);
                drain_evd(t, ep_recv_evd(t, loop.passive));
                drain_evd(t, ep_request_evd(t, loop.passive));
        }
}

/* Attributes that no default has. */
CASE(ep_reset, keeps_flags)
{
        struct loop loop = transfer_with(t, .recv_flags = DAT_COMPLETION_UNSIGNALLED_FLAG,
                                         .request_flags = DAT_COMPLETION_UNSIGNALLED_FLAG);
        struct ep_snapshot before = ep_snapshot(t, loop.active);

        leave(t, &loop);
        expect_reset(t, loop.active);
        expect_ep_kept(t, loop.active, &before, EP_OF_CONNECTION);
}

/* Each is another one than what an EP has by default, or at the least. */
static DAT_EP_ATTR attr_of_no_default(struct test *t)
{
        const DAT_IA_ATTR *most = ia_attr(t);
        DAT_EP_ATTR attr = ep_attr_modest(most);

        attr.max_message_size = 3 * MESSAGE;
        attr.max_rdma_size = 5 * MESSAGE;
        attr.max_recv_dtos = 5;
        attr.max_request_dtos = 6;
        attr.max_recv_iov = most->max_iov_segments_per_dto < 2 ? 1 : 2;
        attr.max_request_iov = most->max_iov_segments_per_dto < 3 ? 1 : 3;
        attr.max_rdma_write_iov = most->max_iov_segments_per_rdma_write < 2 ? 1 : 2;
        attr.max_rdma_read_in = most->max_rdma_read_per_ep_in < 3 ? 0 : 3;
        attr.max_rdma_read_out = most->max_rdma_read_per_ep_out < 2 ? 0 : 2;
        attr.max_rdma_read_iov = attr.max_rdma_read_out ? 1 : 0;
        return attr;
}

static void expect_uses_segments(struct test *t, const struct loop *loop, const DAT_EP_ATTR *attr)
{
        struct vector from =
            vector_with(t, .length = 3 * MESSAGE, .segments = attr->max_request_iov);
        struct vector to = vector_with(t, .length = 3 * MESSAGE, .segments = attr->max_recv_iov);

        vector_fill(t, &from, 1);
        expect(recv_vector(loop->passive, &to, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect(send_vector(loop->active, &from, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_completion(ep_recv_evd(t, loop->passive), loop->passive, 1, 3 * MESSAGE, 0);
        expect_completion(ep_request_evd(t, loop->active), loop->active, 2, 3 * MESSAGE, 0);
        expect_holds(&to, 1, 3 * MESSAGE);
}

static void expect_uses_reads(struct test *t, const struct loop *loop, DAT_COUNT reads)
{
        struct vector there = vector_with(t, .length = MESSAGE);
        DAT_RMR_TRIPLET remote = vector_remote(&there);
        struct vector here[2];

        vector_fill(t, &there, LATER);
        for (DAT_COUNT i = 0; i < reads; i++) {
                here[i] = vector_with(t, .length = MESSAGE);
                expect(dat_ep_post_rdma_read(loop->active, 1, here[i].iov, COOKIE((uint64_t)i),
                                             &remote, DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        }
        for (DAT_COUNT i = 0; i < reads; i++) {
                expect_completion(ep_request_evd(t, loop->active), loop->active, (uint64_t)i,
                                  MESSAGE, 0);
                expect_holds(&here[i], LATER, MESSAGE);
        }
}

/* What an EP was made to be, it tells at both ends after a reset, and can be used as. */
CASE(ep_reset, keeps_attributes)
{
        DAT_EP_ATTR attr = attr_of_no_default(t);
        struct loop loop =
            loop_of(t, (struct ep_opts){.attr = &attr}, (struct ep_opts){.attr = &attr});
        struct ep_snapshot active = ep_snapshot(t, loop.active);
        struct ep_snapshot passive = ep_snapshot(t, loop.passive);

        for (int i = 0; i < FEW; i++) {
                expect_joined(t, loop.active, loop.passive);
                leave(t, &loop);
                expect_reset(t, loop.active);
                expect_reset(t, loop.passive);
                expect_ep_kept(t, loop.active, &active, EP_OF_CONNECTION);
                expect_ep_kept(t, loop.passive, &passive, EP_OF_CONNECTION);
        }
        expect_joined(t, loop.active, loop.passive);
        expect_uses_segments(t, &loop, &attr);
        expect_uses_reads(t, &loop, attr.max_rdma_read_out);
}

CASE(ep_reset, broken)
{
        struct loop loop = loop_new(t);

        ep_turn_break(t, &loop);
        must_have_broken(t, loop.passive);
        must_have_broken(t, loop.active);
        expect_reset(t, loop.passive);
        expect_reset(t, loop.active);
        drain_evd(t, ep_recv_evd(t, loop.passive));
        drain_evd(t, ep_request_evd(t, loop.active));

        expect_joined(t, loop.active, loop.passive);
        expect_messages(t, loop.active, loop.passive);
}

CASE(ep_reset, twice)
{
        struct loop loop = loop_new(t);

        loop_join(t, &loop);
        leave(t, &loop);
        for (int i = 0; i < MANY; i++)
                expect_reset(t, loop.active);

        expect_joined(t, loop.active, ep_with(t));
}

CASE(ep_reset, modified_again)
{
        struct loop loop = loop_new(t);
        DAT_EP_PARAM param = {.pz_handle = pz_new(t)};

        loop_join(t, &loop);
        leave(t, &loop);
        expect_reset(t, loop.active);

        expect(dat_ep_modify(loop.active, DAT_EP_FIELD_PZ_HANDLE, &param), DAT_SUCCESS);
        expect_that(ep_snapshot(t, loop.active).param.pz_handle == param.pz_handle,
                    "the EP is in another zone");
        release(t, loop.active);
}

CASE(ep_reset, own_state)
{
        struct loop loops[] = {loop_new(t), loop_new(t), loop_new(t)};

        for (int i = 0; i < 3; i++)
                loop_join(t, &loops[i]);
        leave(t, &loops[0]);
        leave(t, &loops[1]);
        expect_reset(t, loops[0].active);

        expect_eq(ep_state(t, loops[0].passive), DAT_EP_STATE_DISCONNECTED);
        expect_eq(ep_state(t, loops[1].active), DAT_EP_STATE_DISCONNECTED);
        expect_eq(ep_state(t, loops[2].active), DAT_EP_STATE_CONNECTED);
        expect_messages(t, loops[2].active, loops[2].passive);
}

/*
 * Receives of an EP that is Unconnected
 */

static void post_recvs(struct test *t, DAT_EP_HANDLE ep, const struct vector vectors[POSTS],
                       uint64_t first)
{
        for (uint64_t i = 0; i < POSTS; i++)
                must(recv_vector(ep, &vectors[i], first + i, DAT_COMPLETION_DEFAULT_FLAG));
}

static void post_sends(struct test *t, DAT_EP_HANDLE ep, uint64_t first)
{
        for (uint64_t i = 0; i < POSTS; i++) {
                struct vector vector = vector_with(t, .length = MESSAGE);

                vector_fill(t, &vector, first + i);
                must(send_vector(ep, &vector, first + i, DAT_COMPLETION_DEFAULT_FLAG));
        }
}

static void make_vectors(struct test *t, struct vector vectors[POSTS])
{
        for (int i = 0; i < POSTS; i++)
                vectors[i] = vector_with(t, .length = MESSAGE);
}

/* Messages for these receives come, in order, each to its own. */
static void expect_received(struct test *t, const struct loop *loop,
                            const struct vector vectors[POSTS], uint64_t first)
{
        post_sends(t, loop->active, first);
        for (uint64_t i = 0; i < POSTS; i++) {
                expect_completion(ep_recv_evd(t, loop->passive), loop->passive, first + i, MESSAGE,
                                  0);
                expect_holds(&vectors[i], first + i, MESSAGE);
        }
}

CASE(ep_reset, keeps_preposted)
{
        struct loop loop = loop_new(t);
        struct vector vectors[POSTS];

        make_vectors(t, vectors);
        post_recvs(t, loop.passive, vectors, 1);
        for (int i = 0; i < MANY; i++)
                expect_reset(t, loop.passive);

        expect_joined(t, loop.active, loop.passive);
        expect_received(t, &loop, vectors, 1);
}

CASE(ep_reset, keeps_preposted_after_connection)
{
        struct loop loop = loop_new(t);
        struct vector vectors[POSTS];

        make_vectors(t, vectors);
        loop_join(t, &loop);
        leave(t, &loop);
        expect_reset(t, loop.active);
        expect_reset(t, loop.passive);
        post_recvs(t, loop.passive, vectors, 1);
        expect_reset(t, loop.passive);

        expect_joined(t, loop.active, loop.passive);
        expect_received(t, &loop, vectors, 1);
}

/*
 * What is left of the last connection
 */

/* Takes what is there of work before the reset: each at most once, in order, as it ended. */
static void expect_remains(struct test *t, DAT_EVD_HANDLE evd, DAT_DTO_COMPLETION_STATUS status)
{
        uint64_t next = 1;
        DAT_EVENT event;

        while (event_left(t, evd, &event)) {
                const DAT_DTO_COMPLETION_EVENT_DATA *data =
                    &event.event_data.dto_completion_event_data;

                expect_eq(event.event_number, DAT_DTO_COMPLETION_EVENT);
                expect_that(data->user_cookie.as_64 >= next, "completion %llu comes again",
                            (unsigned long long)data->user_cookie.as_64);
                expect_eq(data->status, status);
                next = data->user_cookie.as_64 + 1;
        }
        expect_that(next <= 1 + POSTS, "a completion of what was not posted");
}

CASE(ep_reset, flushed_receives)
{
        struct loop loop = loop_new(t);
        struct vector before[POSTS];
        struct vector after[POSTS];

        make_vectors(t, before);
        make_vectors(t, after);
        loop_join(t, &loop);
        post_recvs(t, loop.passive, before, 1);
        leave(t, &loop);
        expect_reset(t, loop.active);
        expect_reset(t, loop.passive);
        expect_remains(t, ep_recv_evd(t, loop.passive), DAT_DTO_ERR_FLUSHED);
        post_recvs(t, loop.passive, after, LATER);

        expect_joined(t, loop.active, loop.passive);
        expect_received(t, &loop, after, LATER);
        for (int i = 0; i < POSTS; i++)
                expect_untouched(&before[i]);
}

/* What the last connection did not carry does not come by the next one. */
CASE(ep_reset, flushed_sends)
{
        struct loop loop = loop_new(t);
        struct vector after[POSTS];

        make_vectors(t, after);
        loop_join(t, &loop);
        post_sends(t, loop.active, 1);
        leave(t, &loop);
        expect_reset(t, loop.active);
        expect_reset(t, loop.passive);
        expect_remains(t, ep_request_evd(t, loop.active), DAT_DTO_ERR_FLUSHED);
        post_recvs(t, loop.passive, after, LATER);

        expect_joined(t, loop.active, loop.passive);
        expect_received(t, &loop, after, LATER);
        for (uint64_t i = 0; i < POSTS; i++)
                expect_completion(ep_request_evd(t, loop.active), loop.active, LATER + i, MESSAGE,
                                  0);
}

CASE(ep_reset, unreaped)
{
        struct loop loop = loop_new(t);
        struct vector before[POSTS];
        struct vector after[POSTS];

        make_vectors(t, before);
        make_vectors(t, after);
        loop_join(t, &loop);
        post_recvs(t, loop.passive, before, 1);
        post_sends(t, loop.active, 1);
        for (int i = 0; i < POSTS; i++)
                must_dto(ep_request_evd(t, loop.active));
        leave(t, &loop);
        expect_reset(t, loop.active);
        expect_reset(t, loop.passive);
        expect_remains(t, ep_recv_evd(t, loop.passive), DAT_DTO_SUCCESS);
        for (uint64_t i = 0; i < POSTS; i++)
                expect_holds(&before[i], 1 + i, MESSAGE);
        post_recvs(t, loop.passive, after, LATER);

        expect_joined(t, loop.active, loop.passive);
        expect_received(t, &loop, after, LATER);
}

/* Of two connections with the same EVDs, the one whose EPs are reset: made first, or last. */
static const struct place {
        const char *id;
        int reset;
} places[] = {
    {"older", 0},
    {"newer", 1},
};

struct shared {
        struct loop stays;
        struct loop goes;
        struct vector vectors[POSTS];
};

/* Two connections that share what `opts` has, and messages under way on the one that stays. */
static struct shared share(struct test *t, struct transfer_opts opts, int goes)
{
        struct shared shared;
        struct loop loops[2];

        for (int i = 0; i < 2; i++)
                loops[i] = transfer_make(t, opts);
        shared.stays = loops[!goes];
        shared.goes = loops[goes];
        make_vectors(t, shared.vectors);
        post_recvs(t, shared.stays.passive, shared.vectors, 1);
        post_sends(t, shared.stays.active, 1);
        return shared;
}

static void must_dtos(struct test *t, DAT_EVD_HANDLE evd)
{
        for (int i = 0; i < POSTS; i++)
                must_dto(evd);
}

FAMILY(ep_reset, shared_evds, places)
{
        DAT_EVD_HANDLE recv = evd_with(t);
        struct shared shared = share(t, (struct transfer_opts){.recv_evd = recv}, row->reset);

        must_dtos(t, ep_request_evd(t, shared.stays.active));
        leave(t, &shared.goes);
        expect_reset(t, shared.goes.passive);
        expect_reset(t, shared.goes.active);

        for (uint64_t i = 0; i < POSTS; i++) {
                expect_completion(recv, shared.stays.passive, 1 + i, MESSAGE, 0);
                expect_holds(&shared.vectors[i], 1 + i, MESSAGE);
        }
        post_recvs(t, shared.stays.passive, shared.vectors, LATER);
        expect_received(t, &shared.stays, shared.vectors, LATER);
}

/* The same of requests: they are complete when what they sent has come. */
FAMILY(ep_reset, shared_request_evd, places)
{
        DAT_EVD_HANDLE requests = evd_with(t);
        struct shared shared =
            share(t, (struct transfer_opts){.request_evd = requests}, row->reset);

        must_dtos(t, ep_recv_evd(t, shared.stays.passive));
        settle_briefly(t);
        leave(t, &shared.goes);
        expect_reset(t, shared.goes.active);

        for (uint64_t i = 0; i < POSTS; i++)
                expect_completion(requests, shared.stays.active, 1 + i, MESSAGE, 0);
}

static void must_end_unread(struct test *t, const struct loop *loop)
{
        int looks = WAITS;

        must(dat_ep_disconnect(loop->active, DAT_CLOSE_ABRUPT_FLAG));
        while (ep_state(t, loop->active) != DAT_EP_STATE_DISCONNECTED && looks--)
                settle_briefly(t);
        must_that(looks > 0, "an EP that has left is not Disconnected");
}

/* The disconnect events of two EPs are unread on one EVD when one of the EPs is reset. */
CASE(ep_reset, keeps_connection_events)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_CONNECTION_FLAG);
        struct loop loops[2];
        bool told[2] = {false, false};

        for (int i = 0; i < 2; i++) {
                loops[i] = loop_of(t, (struct ep_opts){.connect_evd = evd}, (struct ep_opts){0});
                loop_join(t, &loops[i]);
        }
        for (int i = 0; i < 2; i++)
                must_end_unread(t, &loops[i]);
        settle_briefly(t);
        expect_reset(t, loops[0].active);

        for (int i = 0; i < 2; i++) {
                DAT_EVENT event = expect_event(evd, DAT_CONNECTION_EVENT_DISCONNECTED);
                int which = event.event_data.connect_event_data.ep_handle == loops[1].active;

                expect_that(event.event_data.connect_event_data.ep_handle == loops[which].active,
                            "the event names another EP");
                expect_that(!told[which], "a disconnect event comes twice");
                told[which] = true;
        }
}

/* The marker of the page's usage notes: what was posted before it is reaped before it. */
CASE(ep_reset, recv_marker)
{
        struct loop loop = loop_new(t);
        struct vector vectors[POSTS];

        make_vectors(t, vectors);
        loop_join(t, &loop);
        post_recvs(t, loop.passive, vectors, 1);
        leave(t, &loop);
        must(recv_vector(loop.passive, &vectors[0], LATER, DAT_COMPLETION_DEFAULT_FLAG));

        for (uint64_t i = 0; i < POSTS; i++)
                expect_completion(ep_recv_evd(t, loop.passive), loop.passive, 1 + i, 0,
                                  DAT_DTO_ERR_FLUSHED);
        expect_completion(ep_recv_evd(t, loop.passive), loop.passive, LATER, 0,
                          DAT_DTO_ERR_FLUSHED);
        expect_reset(t, loop.passive);
        expect_remains(t, ep_recv_evd(t, loop.passive), DAT_DTO_SUCCESS);
}

CASE(ep_reset, request_marker)
{
        struct loop loop = loop_new(t);
        struct vector vector = vector_with(t, .length = MESSAGE);

        loop_join(t, &loop);
        post_sends(t, loop.active, 1);
        leave(t, &loop);
        must(send_vector(loop.active, &vector, LATER, DAT_COMPLETION_DEFAULT_FLAG));

        for (uint64_t i = 0; i < POSTS; i++)
                expect_completion(ep_request_evd(t, loop.active), loop.active, 1 + i, 0,
                                  DAT_DTO_ERR_FLUSHED);
        expect_completion(ep_request_evd(t, loop.active), loop.active, LATER, 0,
                          DAT_DTO_ERR_FLUSHED);
        expect_reset(t, loop.active);
        expect_remains(t, ep_request_evd(t, loop.active), DAT_DTO_SUCCESS);
}

static DAT_DTO_COMPLETION_STATUS expect_bind_over(struct test *t, DAT_EVD_HANDLE evd,
                                                  uint64_t cookie)
{
        DAT_EVENT event = expect_event(evd, DAT_RMR_BIND_COMPLETION_EVENT);

        expect_eq(event.event_data.rmr_completion_event_data.user_cookie.as_64, cookie);
        return (DAT_DTO_COMPLETION_STATUS)event.event_data.rmr_completion_event_data.status;
}

/* The same of a bind: sends and a bind before it are reaped before it. */
CASE(ep_reset, bind_marker)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
        struct loop loop = loop_of(t, (struct ep_opts){.request_evd = evd}, (struct ep_opts){0});

        loop_join(t, &loop);
        post_sends(t, loop.active, 1);
        post_bind(t, loop.active, 1 + POSTS);
        leave(t, &loop);
        post_bind(t, loop.active, LATER);

        for (uint64_t i = 0; i < POSTS; i++)
                expect_completion(evd, loop.active, 1 + i, 0, DAT_DTO_ERR_FLUSHED);
        expect_bind_over(t, evd, 1 + POSTS);
        expect_that(expect_bind_over(t, evd, LATER) != DAT_RMR_BIND_SUCCESS,
                    "a bind of a Disconnected EP succeeded");
        expect_reset(t, loop.active);
        expect_empty(t, evd);
}

CASE(ep_reset, of_srq)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);
        DAT_EP_HANDLE other = ep_with(t);
        struct loop loop = {.requests = request_evd(t), .active = other, .passive = ep};
        struct vector vector = vector_with(t, .length = MESSAGE);

        loop_join(t, &loop);
        leave(t, &loop);
        expect_reset(t, ep);
        expect_reset(t, other);
        srq_post(t, srq, buf_with(t), MESSAGE, 3, 1);

        expect_joined(t, other, ep);
        must(send_vector(other, &vector, 1, DAT_COMPLETION_DEFAULT_FLAG));
        expect_completion(ep_recv_evd(t, ep), ep, 3, MESSAGE, 0);
}

/* The provider made it for a request; it is the consumer's since it was accepted. */
CASE(ep_reset, providers_ep)
{
        struct loop loop = loop_new(t);

        ep_join_by_provider(t, &loop);
        leave(t, &loop);
        expect_reset(t, loop.active);

        expect_joined(t, loop.active, ep_with(t));
}

LEGAL(ep_reset)
{
        call->ep_handle = ep_with(t);
}
