/* SPDX-License-Identifier: BSD-2-Clause */
#include "turns.h"

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
        release(t, loop_listen(t, loop->requests, DAT_PSP_CONSUMER_FLAG, &loop->qual));
        loop_connect(t, loop->active, loop->qual);
        must_event(ep_connect_evd(t, loop->active), DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

/* The request is left alone until its time is over, which either event tells (EP-3). */
void ep_turn_time_out(struct test *t, struct loop *loop)
{
        DAT_EVENT event;
        DAT_COUNT more;

        loop_listen(t, loop->requests, DAT_PSP_CONSUMER_FLAG, &loop->qual);
        must(dat_ep_connect(loop->active, ia_attr(t)->ia_address_ptr, loop->qual, SHORT, 0, NULL,
                            DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
        must(dat_evd_wait(ep_connect_evd(t, loop->active), event_timeout(t), 1, &event, &more));
        must_that(event.event_number == DAT_CONNECTION_EVENT_TIMED_OUT ||
                      event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE,
                  "no event tells that the time is over");
}

/* The request is left alone, and whoever asked for it gives up. */
void ep_turn_give_up(struct test *t, struct loop *loop)
{
        loop_ask(t, loop);
        must_event(loop->requests, DAT_CONNECTION_REQUEST_EVENT);
        must(dat_ep_disconnect(loop->active, DAT_CLOSE_ABRUPT_FLAG));
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

void ep_turn_ask_again(struct test *t, struct loop *loop)
{
        ep_turn_reset(t, loop);
        loop_connect(t, loop->active, loop->qual);
        must_event(loop->requests, DAT_CONNECTION_REQUEST_EVENT);
}
