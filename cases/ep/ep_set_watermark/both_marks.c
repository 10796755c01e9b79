/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_set_watermark: both watermarks and their replacement. */
#include "cases/ep/ep_set_watermark/fixtures.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/modify_table.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ep_set_watermark.h"

/* A hard mark may have an asynchronous event of its own, besides the broken connection (EP-55). */
static void expect_no_event_but_of_hard(struct test *t)
{
        if (drain_async_event(t))
                note(t, "an asynchronous event came of the hard mark (EP-55)");
        expect_quiet(async_evd(t));
}

/*
 * Two marks
 */

CASE(ep_set_watermark, soft_breaks_nothing)
{
        struct stage stage = stage_marked(t, 0, INFINITE);

        flow_send(&stage.flow, 3);
        expect_async_event(stage.flow.ep);

        expect_quiet(stage.connect_evd);
        expect_eq(ep_state(t, stage.flow.ep), DAT_EP_STATE_CONNECTED);
}

CASE(ep_set_watermark, hard_raises_no_async)
{
        struct stage stage = stage_marked(t, INFINITE, 0);

        flow_send(&stage.flow, 1);
        expect_broken(t, &stage);

        expect_no_event_but_of_hard(t);
}

CASE(ep_set_watermark, both_exceeded)
{
        struct stage stage = stage_marked(t, 0, 0);

        flow_send(&stage.flow, 1);

        expect_async_event(stage.flow.ep);
        expect_broken(t, &stage);
}

CASE(ep_set_watermark, both_already_above)
{
        require_unreaped_counted(t);

        struct stage stage = ep_set_watermark_stage_set(t);

        flow_deliver(t, &stage.flow, 3);
        expect_set(t, stage.flow.ep, 2, 2);

        expect_async_event(stage.flow.ep);
        expect_broken(t, &stage);
        expect_no_event_but_of_hard(t);
}

CASE(ep_set_watermark, soft_then_hard)
{
        require_unreaped_counted(t);

        struct stage stage = stage_marked(t, 2, 4);

        flow_send(&stage.flow, 3);
        expect_async_event(stage.flow.ep);
        flow_send(&stage.flow, 1);
        expect_no_event(t, &stage);
        flow_send(&stage.flow, 1);
        expect_broken(t, &stage);
        expect_no_event_but_of_hard(t);
}

CASE(ep_set_watermark, hard_then_soft)
{
        require_unreaped_counted(t);

        struct stage stage = stage_marked(t, 4, 2);

        flow_send(&stage.flow, 2);
        expect_no_event(t, &stage);
        flow_send(&stage.flow, 1);
        expect_broken(t, &stage);
        expect_no_event_but_of_hard(t);
}

/*
 * Marks that are replaced before they were exceeded, and infinite ones
 */

static const struct replacement {
        const char *id;
        struct pair first;
        struct pair second;
} to_higher[] = {
    {"soft", {0, INFINITE}, {MANY, INFINITE}},
    {"hard", {INFINITE, 0}, {INFINITE, MANY}},
    {"soft_infinite", {0, INFINITE}, {INFINITE, INFINITE}},
    {"hard_infinite", {INFINITE, 0}, {INFINITE, INFINITE}},
};

static struct stage stage_replaced(struct test *t, const struct replacement *row)
{
        struct stage stage = stage_marked(t, row->first.soft, row->first.hard);

        expect_set(t, stage.flow.ep, row->second.soft, row->second.hard);
        return stage;
}

FAMILY(ep_set_watermark, raised, to_higher)
{
        struct stage stage = stage_replaced(t, row);

        flow_send(&stage.flow, MANY);
        expect_no_event(t, &stage);
        expect_messages_all(t, &stage);
}

static const struct replacement to_two[] = {
    {"soft", {0, INFINITE}, {2, INFINITE}},
    {"hard", {INFINITE, 0}, {INFINITE, 2}},
    {"soft_from_infinite", {INFINITE, INFINITE}, {2, INFINITE}},
    {"hard_from_infinite", {INFINITE, INFINITE}, {INFINITE, 2}},
};

FAMILY(ep_set_watermark, raised_armed, to_two)
{
        require_unreaped_counted(t);

        struct stage stage = stage_replaced(t, row);

        flow_deliver(t, &stage.flow, 2);
        expect_no_event(t, &stage);
        flow_send(&stage.flow, 1);
        if (row->second.soft == 2)
                expect_async_event(stage.flow.ep);
        else
                expect_broken(t, &stage);
}

static const struct replacement to_lower[] = {
    {"soft", {MANY, INFINITE}, {0, INFINITE}},
    {"soft_infinite", {INFINITE, INFINITE}, {0, INFINITE}},
    {"soft_with_hard_changed", {0, INFINITE}, {0, MANY}},
    {"hard", {INFINITE, MANY}, {INFINITE, 0}},
    {"hard_infinite", {INFINITE, INFINITE}, {INFINITE, 0}},
    {"hard_with_soft_changed", {INFINITE, 0}, {MANY, 0}},
};

FAMILY(ep_set_watermark, lowered, to_lower)
{
        struct stage stage = stage_replaced(t, row);

        expect_no_event(t, &stage);
        flow_send(&stage.flow, 1);
        if (row->second.soft == 0)
                expect_async_event(stage.flow.ep);
        else
                expect_broken(t, &stage);
}

CASE(ep_set_watermark, infinite)
{
        struct stage stage = stage_marked(t, INFINITE, INFINITE);

        flow_send(&stage.flow, MANY);
        expect_no_event(t, &stage);
        expect_messages_all(t, &stage);
}

CASE(ep_set_watermark, infinite_at_first)
{
        struct stage stage = ep_set_watermark_stage_set(t);

        flow_send(&stage.flow, MANY);
        expect_no_event(t, &stage);
        expect_messages_all(t, &stage);
}
