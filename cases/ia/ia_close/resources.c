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

#define EPS_COUNTED 1000

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

/* The request has brought an EP that the provider made. */
static void hold_providers_request(struct test *t, struct held *held)
{
        struct loop *loop = &held->loop;

        *loop = loop_new(t);
        loop->psp = loop_listen(t, loop->requests, DAT_PSP_PROVIDER_FLAG, &loop->qual);
        loop_connect(t, loop->active, loop->qual);
        loop_take_request(t, loop);
        must_that(request_ep(t, loop->request) != DAT_HANDLE_NULL, "the provider made no EP");
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
    {"providers_request", hold_providers_request, DAT_CLOSE_ABRUPT_FLAG},
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

/*
 * Makes so many EPs, which share their EVDs, and returns how many: fewer where they are too many
 * for this host.
 */
static DAT_COUNT make_eps(struct test *t, DAT_COUNT wanted)
{
        DAT_EVD_HANDLE dtos = evd_with(t);
        DAT_EVD_HANDLE connections = evd_with(t, .flags = DAT_EVD_CONNECTION_FLAG);

        for (DAT_COUNT i = 0; i < wanted; i++) {
                DAT_EP_HANDLE made = DAT_HANDLE_NULL;
                DAT_RETURN ret = dat_ep_create(ia(t), pz(t), dtos, dtos, connections, NULL, &made);

                if (dat_is(ret, DAT_INSUFFICIENT_RESOURCES))
                        return i;
                must(ret);
                adopt(t, DAT_HANDLE_TYPE_EP, made);
        }
        return wanted;
}

/* The EPs of all rounds are more than the IA has at once, or EPS_COUNTED. */
CASE(ia_close, eps_end, DEADLINE_MS(20000))
{
        DAT_COUNT most = ia_attr(t)->max_eps;
        DAT_COUNT each = (most < EPS_COUNTED ? most : EPS_COUNTED) / ROUNDS + 1;

        keep_loaded(t);
        each = make_eps(t, each);
        record(t, "%d EPs, of %d at once", each * (ROUNDS + 1), most);
        for (int i = 0; i < ROUNDS; i++) {
                DAT_COUNT made;

                close_now(t, DAT_CLOSE_ABRUPT_FLAG);
                ia_reopen(t, DAT_HANDLE_NULL);
                made = make_eps(t, each);
                expect_that(made == each, "%d EPs were made, and after a close only %d", each,
                            made);
        }
}

LEGAL(ia_close)
{
        call->ia_handle = instance_new(t).ia;
        disown(t, call->ia_handle);
        call->close_flags = DAT_CLOSE_GRACEFUL_FLAG;
}
