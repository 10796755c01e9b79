/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_recv_query: EP states, arguments and missing features. */
#include "case/standard.h"
#include "cases/ep/ep_recv_query/fixtures.h"
#include "cases/ep/shared/connect.h"
#include "cases/ep/shared/states.h"
#include "cases/shared/point.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ep_recv_query.h"

#include <limits.h>
#include <string.h>

/*
 * States
 */

FAMILY(ep_recv_query, in_state, ep_states)
{
        EACH_EP_ROUTE (route, row->state) {
                struct ep_held held = ep_hold_by(t, route);
                struct info info = recv_info(t, held.ep);

                expect_count(t, info.count, 0);
                expect_count(t, info.span, 0);
                expect_ep_untouched(t, &held);
        }
}

/* What the events are called is for other pages; none may be held back. */
static void expect_flushed_at_once(struct test *t, DAT_EVD_HANDLE evd, int count)
{
        DAT_EVENT event;
        DAT_COUNT more;

        for (; count > 0; count--)
                expect(dat_evd_wait(evd, event_timeout(t), 1, &event, &more), DAT_SUCCESS);
}

/* In Disconnected they are flushed at once, and where a disconnect is pending they may be. */
FAMILY(ep_recv_query, posted_in_state, consumer_ep_states)
{
        EACH_EP_ROUTE (route, row->state) {
                struct own own = {
                    .ep = ep_by(t, route),
                    .buf = buf_with(t),
                    .length = MESSAGE,
                };
                DAT_EP_STATE before = ep_state(t, own.ep);
                struct info info;

                own.evd = ep_recv_evd(t, own.ep);
                own_post(t, &own, 3);
                if (row->state == DAT_EP_STATE_DISCONNECTED)
                        expect_flushed_at_once(t, own.evd, 3);

                info = recv_info(t, own.ep);
                if (row->state == DAT_EP_STATE_DISCONNECTED) {
                        expect_count(t, info.count, 0);
                        expect_count(t, info.span, 0);
                } else if (ep_state(t, own.ep) == before) {
                        expect_count(t, info.count, 3);
                        expect_idle_span(t, info.span, 3);
                } else {
                        expect_within(t, info, 0, 3);
                }
        }
}

/* It is the Provider's, and has its zone and its EVD from the consumer. */
CASE(ep_recv_query, posted_tentative)
{
        struct own own = {
            .ep = ep_in(t, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING),
            .buf = buf_with(t),
            .length = MESSAGE,
        };
        DAT_EP_PARAM with = {.pz_handle = pz(t)};

        own.evd = with.recv_evd_handle = ep_recv_evd(t, own.ep);
        must(dat_ep_modify(own.ep, DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE, &with));
        own_post(t, &own, 3);
        expect_left(t, own.ep, 3);
        own.end = must_connect(own.ep);
        own_deliver(t, &own, 1);
        expect_left(t, own.ep, 2);
}

/*
 * Arguments, and what a provider has not
 */

CASE(ep_recv_query, count_alone)
{
        struct own own = own_with(t, POSTS);
        DAT_COUNT count = UNTOLD;

        expect(dat_ep_recv_query(own.ep, &count, NULL), DAT_SUCCESS);
        expect_count(t, count, POSTS);
}

/* Whichever reading of an idle EP's span a provider has, it is the same beside a count (EP-15). */
static void expect_same_span(struct test *t, DAT_EP_HANDLE ep, DAT_COUNT span)
{
        DAT_COUNT beside = recv_info(t, ep).span;

        expect_that(span == beside || span == DAT_VALUE_UNKNOWN || beside == DAT_VALUE_UNKNOWN,
                    "a span of %d alone, and of %d beside the count", span, beside);
}

CASE(ep_recv_query, span_alone)
{
        struct own own = own_with(t, POSTS);
        DAT_COUNT span = UNTOLD;

        expect(dat_ep_recv_query(own.ep, NULL, &span), DAT_SUCCESS);
        expect_idle_span(t, span, POSTS);
        expect_same_span(t, own.ep, span);
}

static const struct alone {
        const char *id;
        bool srq;
        bool span;
} alones[] = {
    {"count", false, false},
    {"span", false, true},
    {"srq_count", true, false},
    {"srq_span", true, true},
};

/* Messages have come, to all receives of an SRQ and to two of an EP's own. */
static DAT_EP_HANDLE ep_after_messages(struct test *t, bool srq)
{
        struct queue queue;
        struct flow flow;
        struct own own;

        if (!srq) {
                own = own_connected(t, POSTS);
                own_deliver(t, &own, 2);
                return own.ep;
        }
        queue = queue_with(t, 8);
        flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        queue_post(t, &queue, POSTS);
        flow_deliver(t, &flow, POSTS);
        return flow.ep;
}

FAMILY(ep_recv_query, alone_after_messages, alones)
{
        DAT_EP_HANDLE ep = ep_after_messages(t, row->srq);
        DAT_COUNT left = row->srq ? 0 : POSTS - 2;
        DAT_COUNT seen = UNTOLD;

        expect(dat_ep_recv_query(ep, row->span ? NULL : &seen, row->span ? &seen : NULL),
               DAT_SUCCESS);
        if (!row->span) {
                expect_count(t, seen, left);
                return;
        }
        expect_idle_span(t, seen, left);
        expect_same_span(t, ep, seen);
}

static DAT_RETURN query_into_nothing(void *ep)
{
        return dat_ep_recv_query(ep, NULL, NULL);
}

CASE(ep_recv_query, nothing_asked)
{
        struct own own = own_with(t, POSTS);
        DAT_RETURN answer;

        if (subprocess_call(t, query_into_nothing, own.ep, &answer))
                record(t, "the call returned %s (GEN-4)", name_of_return(answer));

        expect_count(t, recv_info(t, own.ep).count, POSTS);
}

static const struct result {
        const char *id;
        bool span;
} results[] = {
    {"count", false},
    {"span", true},
};

FAMILY(ep_recv_query, within_count, results)
{
        struct own own = own_with(t, POSTS);
        struct buf *buf = buf_with(t, .length = sizeof(DAT_COUNT));
        DAT_COUNT *guarded = (DAT_COUNT *)buf->addr;
        DAT_COUNT count;

        expect(
            dat_ep_recv_query(own.ep, row->span ? &count : guarded, row->span ? guarded : &count),
            DAT_SUCCESS);
        release(t, buf->lmr);
}

/* What is asked for. Declared absent: not supported, or unknown (EP-14). */
static void expect_as_declared(struct test *t, DAT_EP_HANDLE ep, bool count, bool span,
                               DAT_COUNT posts)
{
        struct info info = {.count = UNTOLD, .span = UNTOLD};
        DAT_RETURN ret =
            dat_ep_recv_query(ep, count ? &info.count : NULL, span ? &info.span : NULL);

        must_be_told(t, NEED_EP_RECV_INFO);
        if (provider_attr(t)->ep_recv_info_supported) {
                expect(ret, DAT_SUCCESS);
                if (count)
                        expect_count(t, info.count, posts);
                if (span)
                        expect_idle_span(t, info.span, posts);
                return;
        }
        if (!dat_is(ret, DAT_SUCCESS)) {
                expect_or_note(ret, DAT_MODEL_NOT_SUPPORTED, DAT_NOT_IMPLEMENTED);
                return;
        }
        if (count)
                expect_eq(info.count, DAT_VALUE_UNKNOWN);
        if (span)
                expect_eq(info.span, DAT_VALUE_UNKNOWN);
}

CASE(ep_recv_query, as_declared)
{
        struct own own = own_with(t, POSTS);

        expect_as_declared(t, own.ep, true, true, POSTS);
}

static DAT_EP_HANDLE with_srq(struct test *t, DAT_COUNT *posts)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, POSTS);
        *posts = 0;
        return ep_with(t, .srq = queue.srq);
}

static DAT_EP_HANDLE with_connection(struct test *t, DAT_COUNT *posts)
{
        struct own own = own_connected(t, POSTS);

        own_deliver(t, &own, 2);
        *posts = POSTS - 2;
        return own.ep;
}

static DAT_EP_HANDLE with_disconnect(struct test *t, DAT_COUNT *posts)
{
        struct own own = own_connected(t, POSTS);

        disconnect(t, &endings[0], own.ep, own.end);
        must_flushes(t, own.evd, POSTS);
        *posts = 0;
        return own.ep;
}

static const struct declared {
        const char *id;
        DAT_EP_HANDLE (*make)(struct test *t, DAT_COUNT *posts);
} declared[] = {
    {"srq", with_srq},
    {"connected", with_connection},
    {"disconnected", with_disconnect},
};

FAMILY(ep_recv_query, as_declared_of, declared)
{
        DAT_COUNT posts;
        DAT_EP_HANDLE ep = row->make(t, &posts);

        expect_as_declared(t, ep, true, true, posts);
        expect_as_declared(t, ep, true, false, posts);
        expect_as_declared(t, ep, false, true, posts);
}

static DAT_RETURN query_of(void *ep)
{
        DAT_COUNT count;
        DAT_COUNT span;

        return dat_ep_recv_query(ep, &count, &span);
}

FAMILY(ep_recv_query, invalid_handle, invalid_eps)
{
        DAT_HANDLE ep = bad_handle(t, DAT_HANDLE_TYPE_EP, row->how);
        DAT_RETURN ret;

        if (row->how == BAD_HANDLE_DESTROYED) {
                expect_stale(query_of, ep_with(t), ep);
        } else if (!provider_attr(t)->ep_recv_info_supported) {
                ret = expect(query_of(ep), DAT_INVALID_HANDLE, DAT_MODEL_NOT_SUPPORTED,
                             DAT_NOT_IMPLEMENTED);
                if (dat_is(ret, DAT_NOT_IMPLEMENTED))
                        note(t, "DAT_NOT_IMPLEMENTED, which no page names (GEN-2)");
        } else {
                expect(query_of(ep), DAT_INVALID_HANDLE);
        }
}
