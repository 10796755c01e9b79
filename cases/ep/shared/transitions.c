/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ep/shared/transitions.h"
#include "cases/ep/shared/modify_table.h"
#include "cases/shared/point.h"

#define SHORT ((DAT_TIMEOUT)60000) /* a time-out: microseconds */

void ep_turn_ask(struct test *t, struct loop *loop)
{
        loop_ask(t, loop);
        must_event(loop->requests, DAT_CONNECTION_REQUEST_EVENT);
}

void ep_turn_reject(struct test *t, struct loop *loop)
{
        loop_ask(t, loop);
        loop_take_request(t, loop);
        must(dat_cr_reject(loop->request));
        must_event(ep_connect_evd(t, loop->active), DAT_CONNECTION_EVENT_PEER_REJECTED);
}

void ep_turn_find_nobody(struct test *t, struct loop *loop)
{
        release(t, loop_listen(t, loop->requests, psp_flags_granted(t), &loop->qual));
        loop_connect(t, loop->active, loop->qual);
        must_event(ep_connect_evd(t, loop->active), DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

/* The request is left alone until its time is over, which either event tells (EP-3). */
void ep_turn_time_out(struct test *t, struct loop *loop)
{
        DAT_EVENT event;
        DAT_COUNT more;

        loop_listen(t, loop->requests, psp_flags_granted(t), &loop->qual);
        must(dat_ep_connect(loop->active, ia_address(t), loop->qual, SHORT, 0, NULL,
                            DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
        must(dat_evd_wait(ep_connect_evd(t, loop->active), event_timeout(t), 1, &event, &more));
        must_that(event.event_number == DAT_CONNECTION_EVENT_TIMED_OUT ||
                      event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE,
                  "no event tells that the time is over");
}

void ep_give_up(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EVENT event;
        DAT_COUNT more;
        DAT_RETURN ret;

        must(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
        ret = dat_evd_wait(ep_connect_evd(t, ep), event_timeout(t) / 6, 1, &event, &more);
        if (dat_is(ret, DAT_TIMEOUT_EXPIRED))
                return;
        must(ret);
        must_that_of("dat_ep_disconnect",
                     event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
                         event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
                     "%s tells of an aborted request", name_of_event(event.event_number));
}

/* The request gets no answer, and the active side aborts it. */
void ep_turn_give_up(struct test *t, struct loop *loop)
{
        loop_ask(t, loop);
        must_event(loop->requests, DAT_CONNECTION_REQUEST_EVENT);
        ep_give_up(t, loop->active);
}

void ep_turn_leave(struct test *t, struct loop *loop)
{
        loop_join(t, loop);
        must(dat_ep_disconnect(loop->active, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, loop->active), DAT_CONNECTION_EVENT_DISCONNECTED);
}

void ep_turn_leave_in_peace(struct test *t, struct loop *loop)
{
        loop_join(t, loop);
        must(dat_ep_disconnect(loop->active, DAT_CLOSE_GRACEFUL_FLAG));
        must_event(ep_connect_evd(t, loop->active), DAT_CONNECTION_EVENT_DISCONNECTED);
}

void ep_turn_be_left(struct test *t, struct loop *loop)
{
        loop_join(t, loop);
        must(dat_ep_disconnect(loop->passive, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, loop->active), DAT_CONNECTION_EVENT_DISCONNECTED);
}

void ep_turn_reset(struct test *t, struct loop *loop)
{
        ep_turn_leave(t, loop);
        must(dat_ep_reset(loop->active));
}

/* An RSP has served one request, and its EP is used: another EP gets another one. */
static void listen_again(struct test *t, struct loop *loop)
{
        struct loop again = {.requests = loop->requests};

        if (loop->psp)
                return;
        again.passive = ep_with(t);
        loop_open(t, &again);
        loop->qual = again.qual;
}

void ep_turn_ask_again(struct test *t, struct loop *loop)
{
        ep_turn_reset(t, loop);
        listen_again(t, loop);
        loop_connect(t, loop->active, loop->qual);
        must_event(loop->requests, DAT_CONNECTION_REQUEST_EVENT);
}

void ep_break(struct test *t, const struct loop *loop)
{
        struct buf *to = buf_with(t, .pz = ep_look(t, loop->passive).param.pz_handle);
        struct buf *from = buf_with(t, .pz = ep_look(t, loop->active).param.pz_handle);
        DAT_LMR_TRIPLET brief = triplet(to, 0, MESSAGE / 2);

        must(dat_ep_post_recv(loop->passive, 1, &brief, (DAT_DTO_COOKIE){.as_64 = 0},
                              DAT_COMPLETION_DEFAULT_FLAG));
        loop_post_send(t, loop->active, from, 0);
}

void ep_turn_break(struct test *t, struct loop *loop)
{
        loop_join(t, loop);
        ep_break(t, loop);
}

/* What the wait for the end of the EP's connection returned; an event that is no end blocks. */
static DAT_RETURN await_end(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EVENT event = {.event_number = 0};
        DAT_COUNT more;
        DAT_RETURN ret = dat_evd_wait(ep_connect_evd(t, ep), event_timeout(t), 1, &event, &more);

        if (dat_is(ret, DAT_SUCCESS))
                must_that(event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
                              event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED,
                          "%s does not end a connection", name_of_event(event.event_number));
        return ret;
}

void must_have_broken(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_RETURN ret = await_end(t, ep);

        if (dat_is(ret, DAT_TIMEOUT_EXPIRED))
                end_noted(t, "a message that was too long did not end its connection (DTO-4)");
        must(ret);
}

void must_have_ended(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_RETURN ret = await_end(t, ep);

        must(ret);
}

static void must_both_know(struct test *t, const struct loop *loop)
{
        must_event(ep_connect_evd(t, loop->active), DAT_CONNECTION_EVENT_ESTABLISHED);
        must_event(ep_connect_evd(t, loop->passive), DAT_CONNECTION_EVENT_ESTABLISHED);
}

struct loop ep_follow(struct test *t, struct loop *loop)
{
        struct loop old = loop_new(t);

        old.requests = loop->requests;
        loop_join(t, &old);
        loop->qual = old.qual;
        loop_open_again(t, loop);
        must(dat_ep_dup_connect(loop->active, old.active, event_timeout(t), 0, NULL,
                                DAT_QOS_BEST_EFFORT));
        loop_accept(t, loop);
        must_both_know(t, loop);
        return old;
}

void ep_join_as_another(struct test *t, struct loop *loop)
{
        ep_follow(t, loop);
}

void ep_join_by_rsp(struct test *t, struct loop *loop)
{
        rsp_new(t, loop->active, loop->requests, &loop->qual);
        loop_connect(t, loop->passive, loop->qual);
        loop_take_request(t, loop);
        must(dat_cr_accept(loop->request, DAT_HANDLE_NULL, 0, NULL));
        must_both_know(t, loop);
}

void ep_join_by_provider(struct test *t, struct loop *loop)
{
        loop->psp = loop_listen(t, loop->requests, DAT_PSP_PROVIDER_FLAG, &loop->qual);
        loop_connect(t, loop->passive, loop->qual);
        loop_take_request(t, loop);
        loop->active = expect_own_taken(t, loop->request);
        must_event(ep_connect_evd(t, loop->passive), DAT_CONNECTION_EVENT_ESTABLISHED);
}

void ep_join_anew(struct test *t, struct loop *loop)
{
        must(dat_ep_reset(loop->active));
        must(dat_ep_reset(loop->passive));
        loop_join_either(t, loop);
}

void ep_join_again(struct test *t, struct loop *loop)
{
        ep_turn_leave(t, loop);
        must_event(ep_connect_evd(t, loop->passive), DAT_CONNECTION_EVENT_DISCONNECTED);
        ep_join_anew(t, loop);
}

struct loop expect_joined(struct test *t, DAT_EP_HANDLE active, DAT_EP_HANDLE passive)
{
        struct loop loop = {
            .requests = request_evd(t),
            .active = active,
            .passive = passive,
        };

        loop_open(t, &loop);
        expect(dat_ep_connect(active, ia_address(t), loop.qual, event_timeout(t), 0, NULL,
                              DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
               DAT_SUCCESS);
        loop.request = expect_request(t, loop.requests, loop_point(&loop), loop.qual);
        expect_accepted(t, loop.request, &loop);
        loop_close_rsp(t, &loop);
        return loop;
}
