/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_set_watermark: arguments and missing features. */
#include "cases/ep/ep_set_watermark/fixtures.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/modify_table.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ep_set_watermark.h"

#include <limits.h>

#define LOOKS 300 /* for a message; each lasts as long as settle_briefly() */

static const struct argument {
        const char *id;
        struct pair marks;
} greatest[] = {
    {"soft", {INT_MAX, INFINITE}},
    {"hard", {INFINITE, INT_MAX}},
    {"soft_above_srq", {1000000, INFINITE}},
    {"hard_above_srq", {INFINITE, 1000000}},
};

/* The last message has come before the look for an event: a later one would find receives reaped.
 */
static void expect_not_exceeded(struct test *t, struct stage *stage, int messages)
{
        flow_send(&stage->flow, messages);
        for (int look = 0; look < LOOKS && !queue_holds_last(&stage->queue, &stage->flow) &&
                           ep_state(t, stage->flow.ep) == DAT_EP_STATE_CONNECTED;
             look++)
                settle_briefly(t);
        expect_no_event(t, stage);
        expect_messages_all(t, stage);
}

FAMILY(ep_set_watermark, greatest, greatest)
{
        struct stage stage = ep_set_watermark_stage_set(t);

        expect_may(dat_ep_set_watermark(stage.flow.ep, row->marks.soft, row->marks.hard),
                   DAT_SUCCESS);

        expect_not_exceeded(t, &stage, POSTS);
}

static const struct beside_size {
        const char *id;
        bool hard;
        DAT_COUNT above;
} beside_size[] = {
    {"soft_at", false, 0},
    {"soft_above", false, 1},
    {"hard_at", true, 0},
    {"hard_above", true, 1},
};

/* The mark of a size can be had; one above it need not be (EP-45). */
FAMILY(ep_set_watermark, beside_size, beside_size)
{
        struct stage stage = ep_set_watermark_stage_set(t);
        DAT_COUNT size = srq_size(t, stage.queue.srq);
        int all = size < SLOTS ? (int)size : SLOTS;
        DAT_COUNT mark = size + row->above;
        DAT_RETURN ret = dat_ep_set_watermark(stage.flow.ep, row->hard ? INFINITE : mark,
                                              row->hard ? mark : INFINITE);

        if (row->above)
                expect_may(ret, DAT_SUCCESS);
        else
                expect(ret, DAT_SUCCESS);
        queue_post(t, &stage.queue, all - POSTS);
        expect_not_exceeded(t, &stage, all);
}

static const struct argument negative[] = {
    {"soft_minus_two", {-2, INFINITE}},
    {"soft_least", {INT_MIN, INFINITE}},
    {"hard_minus_two", {INFINITE, -2}},
    {"hard_least", {INFINITE, INT_MIN}},
};

FAMILY(ep_set_watermark, negative, negative)
{
        struct stage stage = ep_set_watermark_stage_set(t);

        expect_refused_or_note(
            dat_ep_set_watermark(stage.flow.ep, row->marks.soft, row->marks.hard),
            DAT_INVALID_PARAMETER);

        expect_not_exceeded(t, &stage, POSTS);
}

static const struct argument half_good[] = {
    {"good_soft", {0, -2}},
    {"good_hard", {-2, 0}},
};

FAMILY(ep_set_watermark, refusal_sets_nothing, half_good)
{
        struct stage stage = ep_set_watermark_stage_set(t);

        if (dat_is(expect_refused_or_note(
                       dat_ep_set_watermark(stage.flow.ep, row->marks.soft, row->marks.hard),
                       DAT_INVALID_PARAMETER),
                   DAT_SUCCESS))
                return;
        expect_not_exceeded(t, &stage, POSTS);
        expect_set(t, stage.flow.ep, 0, INFINITE);
}

FAMILY(ep_set_watermark, refusal_keeps_marks, negative)
{
        bool bad_soft = row->marks.soft != INFINITE;
        struct stage stage = stage_marked(t, bad_soft ? 0 : INFINITE, bad_soft ? INFINITE : 0);

        if (dat_is(dat_ep_set_watermark(stage.flow.ep, row->marks.soft, row->marks.hard),
                   DAT_SUCCESS)) {
                note(t, "a negative mark was granted (EP-45)");
                return;
        }
        flow_send(&stage.flow, 1);
        if (bad_soft)
                expect_async_event(stage.flow.ep);
        else
                expect_broken(t, &stage);
}

FAMILY(ep_set_watermark, refusal_keeps_spent, negative)
{
        struct stage stage = stage_marked(t, 0, INFINITE);

        flow_send(&stage.flow, 1);
        expect_async_event(stage.flow.ep);
        if (dat_is(dat_ep_set_watermark(stage.flow.ep, row->marks.soft, row->marks.hard),
                   DAT_SUCCESS))
                end_noted(t, "a negative mark was granted (EP-45)");
        expect_quiet(async_evd(t));

        flow_deliver(t, &stage.flow, 2);
        expect_quiet(async_evd(t));
        expect_unbroken(t, &stage);
}

CASE(ep_set_watermark, as_declared)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);
        DAT_RETURN ret = dat_ep_set_watermark(ep, 4, 4);

        if (provider_attr(t)->srq_watermarks_supported)
                expect(ret, DAT_SUCCESS);
        else if (!dat_is(ret, DAT_SUCCESS))
                expect_or_note(ret, DAT_MODEL_NOT_SUPPORTED, DAT_NOT_IMPLEMENTED);
        else
                record(t, "marks are granted, though those of SRQs are declared absent");
}

CASE(ep_set_watermark, plain_ep)
{
        DAT_EP_HANDLE ep = ep_with(t);

        expect(dat_ep_set_watermark(ep, 4, 4), DAT_SUCCESS, DAT_MODEL_NOT_SUPPORTED);
        expect_quiet(async_evd(t));
}

FAMILY(ep_set_watermark, plain_in_state, consumer_ep_states)
{
        EACH_EP_ROUTE (route, row->state) {
                DAT_EP_HANDLE ep = ep_by(t, route);
                DAT_EP_STATE before = ep_state(t, ep);

                expect(dat_ep_set_watermark(ep, 4, 4), DAT_SUCCESS, DAT_MODEL_NOT_SUPPORTED);
                expect_ep_state_kept(t, ep, before);
        }
        expect_quiet(async_evd(t));
}

LEGAL(ep_set_watermark)
{
        call->ep_handle = ep_with(t, .srq = srq_with(t));
        call->soft_high_watermark = 4;
        call->hard_high_watermark = 4;
}
