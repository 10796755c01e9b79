/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_close: resources after the close. */
#include "case/standard.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/ia/ia_close/fixtures.h"
#include "cases/ia/shared/ia_objects.h"
#include "cases/ia/shared/instance.h"
#include "cases/shared/usage.h"
#include "clauses/ia_close.h"

#define WARM 2 /* rounds before anything is counted */
/*
 * Bytes of malloc() that a round leaves. A provider may keep some of each handle, so that it names
 * no other object afterwards; and the case knows its objects until its end.
 */
#define LEFT ((long)16 << 10)

static void hold_nothing(struct test *t, struct held *held)
{
        (void)t;
        (void)held;
}

static void hold_refused(struct test *t, struct held *held)
{
        hold_evd(t, held);
        expect(dat_ia_close(ia(t), DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
}

static void hold_traffic(struct test *t, struct held *held)
{
        hold_connection(t, held);
        post_both(t, &held->loop);
}

static const struct emptied {
        const char *id;
        void (*make)(struct test *t, struct held *held);
        DAT_CLOSE_FLAGS flags;
} emptieds[] = {
    {"nothing_graceful", hold_nothing, DAT_CLOSE_GRACEFUL_FLAG},
    {"nothing_abrupt", hold_nothing, DAT_CLOSE_ABRUPT_FLAG},
    {"refused_before", hold_refused, DAT_CLOSE_ABRUPT_FLAG},
    {"events", hold_events, DAT_CLOSE_ABRUPT_FLAG},
    {"cno_with_agent", hold_agent, DAT_CLOSE_ABRUPT_FLAG},
    {"lmr", hold_lmr, DAT_CLOSE_ABRUPT_FLAG},
    {"psp", hold_psp, DAT_CLOSE_ABRUPT_FLAG},
    {"request", hold_request, DAT_CLOSE_ABRUPT_FLAG},
    {"connection", hold_connection, DAT_CLOSE_ABRUPT_FLAG},
    {"traffic", hold_traffic, DAT_CLOSE_ABRUPT_FLAG},
    {"evd_waiter", hold_evd_waiter, DAT_CLOSE_ABRUPT_FLAG},
    {"cno_waiter", hold_cno_waiter, DAT_CLOSE_ABRUPT_FLAG},
    {"srq", hold_srq, DAT_CLOSE_ABRUPT_FLAG},
    {"ep", hold_ep, DAT_CLOSE_ABRUPT_FLAG},
    {"rsp", hold_rsp, DAT_CLOSE_ABRUPT_FLAG},
    {"rmr", hold_rmr, DAT_CLOSE_ABRUPT_FLAG},
};

/* Furnishes the IA, closes it, and opens it again. */
static void furnish_and_close(struct test *t, const struct emptied *row)
{
        struct held held = {.handle = DAT_HANDLE_NULL};

        row->make(t, &held);
        close_now(t, row->flags);
        if (held.waiter) {
                (void)expect_awake(held.waiter);
                waiter_end(t, held.waiter);
        }
        ia_reopen(t, DAT_HANDLE_NULL);
}

/* Memory that each round leaves is more after each. */
FAMILY(ia_close, leaves_nothing, emptieds, DEADLINE_MS(20000))
{
        struct usage before, last, now;
        bool had_children = usage_now(t).children;
        int grown = 0;
        int left = 0;

        for (int i = 0; i < WARM; i++)
                furnish_and_close(t, row);
        before = usage_now(t);
        before.children = had_children;
        last = before;
        for (int i = 0; i < ROUNDS; i++) {
                furnish_and_close(t, row);
                now = usage_now(t);
                grown += now.mapped > last.mapped;
                left += now.allocated >= last.allocated + LEFT;
                last = now;
        }
        expect_nothing_left(t, &before, "the close");
        expect_that(grown < ROUNDS, "each of %d rounds left memory mapped, %ld bytes in all",
                    ROUNDS, last.mapped - before.mapped);
        expect_that(left < ROUNDS, "each of %d rounds left memory allocated, %ld bytes in all",
                    ROUNDS, last.allocated - before.allocated);
}

LEGAL(ia_close)
{
        call->ia_handle = instance_new(t).ia;
        disown(t, call->ia_handle);
        call->close_flags = DAT_CLOSE_GRACEFUL_FLAG;
}
