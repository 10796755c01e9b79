/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_free: completions of the freed EP. */
#include "case/standard.h"
#include "cases/ep/ep_free/fixtures.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/handles.h"
#include "cases/shared/point.h"
#include "clauses/ep_free.h"

#include <string.h>

#define POSTS 4

/*
 * Those of a dead EP, each at most once and in order, and nothing else; they may be gone. That they
 * name `srq` instead is judged by srq_post_recv/completion_names_ep.
 */
static void expect_remains(struct test *t, DAT_EVD_HANDLE evd, DAT_EP_HANDLE gone,
                           DAT_SRQ_HANDLE srq)
{
        uint64_t next = 0;
        DAT_EVENT event;

        while (event_left(t, evd, &event)) {
                const DAT_DTO_COMPLETION_EVENT_DATA *data =
                    &event.event_data.dto_completion_event_data;

                uint64_t cookie = data->user_cookie.as_64;

                if (event.event_number == DAT_RMR_BIND_COMPLETION_EVENT) {
                        cookie = event.event_data.rmr_completion_event_data.user_cookie.as_64;
                } else {
                        expect_eq(event.event_number, DAT_DTO_COMPLETION_EVENT);
                        expect_that(data->ep_handle == gone || (srq && data->ep_handle == srq),
                                    "a completion of another EP");
                }
                expect_that(cookie >= next, "completion %llu comes after %llu",
                            (unsigned long long)cookie, (unsigned long long)next - 1);
                next = cookie + 1;
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

        expect_remains(t, evds[0], ep, DAT_HANDLE_NULL);
        expect_remains(t, evds[1], ep, DAT_HANDLE_NULL);
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

/* A send that no receive waits for, and a write, a read and a bind behind it. */
CASE(ep_free, with_each_request)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
        struct vector here = vector_with(t, .length = MESSAGE);
        struct vector there = vector_with(t, .length = MESSAGE);
        DAT_RMR_TRIPLET remote = vector_remote(&there);
        struct loop loop = transfer_with(t, .request_evd = evd, .reads = 1);
        DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
        DAT_RMR_CONTEXT context;

        must(dat_rmr_create(pz(t), &rmr));
        adopt(t, DAT_HANDLE_TYPE_RMR, rmr);
        must(send_vector(loop.active, &here, 0, DAT_COMPLETION_DEFAULT_FLAG));
        must(dat_ep_post_rdma_write(loop.active, 1, here.iov, COOKIE(1), &remote,
                                    DAT_COMPLETION_DEFAULT_FLAG));
        must(dat_ep_post_rdma_read(loop.active, 1, here.iov, COOKIE(2), &remote,
                                   DAT_COMPLETION_DEFAULT_FLAG));
        must(dat_rmr_bind(rmr, here.iov, DAT_MEM_PRIV_REMOTE_READ_FLAG, loop.active,
                          (DAT_RMR_COOKIE){.as_64 = 3}, DAT_COMPLETION_DEFAULT_FLAG, &context));

        free_with_work(t, loop.active);
        expect(dat_rmr_free(rmr), DAT_SUCCESS);
        disown(t, rmr);
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

/* The SRQ has its places back, as soon as nothing of the EP is left on the EVD. */
CASE(ep_free, srq_places_of_completions)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){.srq = srq});
        DAT_EVD_HANDLE evd = ep_recv_evd(t, loop.passive);
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, MESSAGE);
        DAT_COUNT places = srq_param(t, srq).max_recv_dtos;

        for (DAT_COUNT i = 0; i < places; i++)
                must(dat_srq_post_recv(srq, 1, &segment, COOKIE(i)));
        loop_join_either(t, &loop);
        for (uint64_t i = 0; i < POSTS; i++) {
                loop_post_send(t, loop.active, buf, i);
                must_dto(ep_request_evd(t, loop.active));
        }
        settle(t);
        free_now(t, loop.passive);

        expect_remains(t, evd, loop.passive, srq);
        for (uint64_t i = 0; i < POSTS; i++)
                expect(dat_srq_post_recv(srq, 1, &segment, COOKIE(i)), DAT_SUCCESS);
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

/* The disconnect event of another EP is on the same EVD, and is not read yet. */
CASE(ep_free, keeps_connection_events)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_CONNECTION_FLAG);
        struct loop loops[2];
        DAT_EVENT event;

        for (int i = 0; i < 2; i++) {
                loops[i] = loop_of(t, (struct ep_opts){.connect_evd = evd}, (struct ep_opts){0});
                loop_join_either(t, &loops[i]);
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

        loop_join_either(t, &loop);
        free_now(t, loop.active);
        while (event_left(t, evd, &event))
                ;

        expect_end_told(t, next_number(t, ep_connect_evd(t, loop.passive)));
        settle_briefly(t);
        expect_empty(t, evd);
}

#define BRIEF_US 60000 /* of a request that times out */

enum request_end { TIME_PASSES, ACCEPTED, REJECTED };

/* What would have ended the request of an EP that is gone. */
static const struct request_end_row {
        const char *id;
        enum request_end how;
} request_ends[] = {
    {"times_out", TIME_PASSES},
    {"accepted", ACCEPTED},
    {"rejected", REJECTED},
};

static void ask_within(struct test *t, DAT_EP_HANDLE ep, DAT_CONN_QUAL qual, DAT_TIMEOUT timeout)
{
        must(dat_ep_connect(ep, ia_address(t), qual, timeout, 0, NULL, DAT_QOS_BEST_EFFORT,
                            DAT_CONNECT_DEFAULT_FLAG));
}

/* Another EP's request on the EVD, later and with the same timeout, ends, and nothing else does. */
static void expect_only_other_told(struct test *t, DAT_EVD_HANDLE evd, DAT_EP_HANDLE other)
{
        DAT_EVENT event;
        DAT_COUNT more;

        expect(dat_evd_wait(evd, event_timeout(t), 1, &event, &more), DAT_SUCCESS);
        expect_that(event.event_data.connect_event_data.ep_handle == other,
                    "the event is not of the EP that is still there");
}

FAMILY(ep_free, tells_nothing_of_request, request_ends)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_CONNECTION_FLAG);
        struct loop loop = loop_of(t, (struct ep_opts){.connect_evd = evd}, (struct ep_opts){0});
        DAT_EP_HANDLE other = ep_with(t, .connect_evd = evd);
        bool brief = row->how == TIME_PASSES;

        loop_open(t, &loop);
        ask_within(t, loop.active, loop.qual, brief ? BRIEF_US : event_timeout(t));
        if (!brief)
                loop_take_request(t, &loop);
        free_now(t, loop.active);
        drain_evd(t, evd);

        if (row->how == ACCEPTED) {
                if (dat_is(dat_cr_accept(loop.request, loop_named(&loop), 0, NULL), DAT_SUCCESS))
                        next_number(t, ep_connect_evd(t, loop.passive));
        } else if (row->how == REJECTED) {
                (void)dat_cr_reject(loop.request);
        } else {
                DAT_EP_HANDLE again = ep_with(t);

                /* It may lie where the one that is gone was. */
                if (!loop.rsp)
                        ask_within(t, again, loop.qual, event_timeout(t));
                ask_within(t, other, loop.qual, BRIEF_US);
                expect_only_other_told(t, evd, other);
                if (!loop.rsp)
                        expect_eq(ep_state(t, again), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
        }
        settle_briefly(t);
        expect_empty(t, evd);
}
