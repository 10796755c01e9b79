/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_wait: the events that a wait returns. */
#include "case/limits.h"
#include "case/test.h"
#include "cases/evd/evd_wait/fixtures.h"
#include "cases/evd/shared/event_kind.h"
#include "cases/evd/shared/private_data.h"
#include "clauses/evd_wait.h"

/*
 * Each kind of event
 */

FAMILY(evd_wait, event, event_kinds)
{
        struct brought brought = bring(t, row);
        DAT_EVENT event;
        DAT_COUNT more;

        expect(waited(brought.evd, event_timeout(t), 1, &event, &more), DAT_SUCCESS);

        expect_brought(t, row, &brought, &event);
        expect_empty(t, brought.evd);
}

static DAT_EVENT take(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;
        DAT_COUNT more;

        expect(waited(evd, event_timeout(t), 1, &event, &more), DAT_SUCCESS);
        return event;
}

FAMILY(evd_wait, private_data_lasts, lasting_rows)
{
        expect_private_data_lasts(t, row, take);
}

FAMILY(evd_wait, request_lasts, asked_rows)
{
        expect_request_lasts(t, row, take);
}

FAMILY(evd_wait, wakes, event_kinds)
{
        EACH_MAKING(kind, row)
        {
                struct brought brought = {.evd =
                                              evd_with(t, .qlen = SE_QLEN, .flags = kind->flags)};
                struct waiter *waiter;

                make_ready(t, kind, &brought, DAT_HANDLE_NULL);
                waiter = wait_on_evd(t, brought.evd, DAT_TIMEOUT_INFINITE, 1);
                expect_wait(waiter);

                expect_woken(t, kind, &brought, waiter);
        }
}

CASE(evd_wait, within_structure)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        struct buf *buf = buf_with(t, .length = sizeof(DAT_EVENT));
        DAT_EVENT *event = (DAT_EVENT *)(void *)buf->addr;
        DAT_COUNT more[3] = {-7, -7, -7};

        post_ses(t, evd, 0, 1);
        expect(dat_evd_wait(evd, 0, 1, event, &more[1]), DAT_SUCCESS);
        check_guards(t);

        expect_se(t, evd, event, 0);
        expect_eq(more[0], -7);
        expect_eq(more[1], 0);
        expect_eq(more[2], -7);
        release(t, buf->lmr);
}

/*
 * The first one, and how many are left
 */

static const struct left {
        const char *id;
        DAT_COUNT queued;
        DAT_COUNT threshold;
} lefts[] = {
    {"one", 1, 1},
    {"two", 2, 1},
    {"full", SE_QLEN, 1},
    {"as_many_as_awaited", 3, 3},
    {"more_than_awaited", 5, 3},
    {"full_and_all_awaited", SE_QLEN, SE_QLEN},
};

FAMILY(evd_wait, more, lefts)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        DAT_EVENT event;
        DAT_COUNT more;

        post_ses(t, evd, 0, row->queued);
        expect(waited(evd, event_timeout(t), row->threshold, &event, &more), DAT_SUCCESS);

        expect_se(t, evd, &event, 0);
        expect_eq(more, row->queued - 1);
        expect_ses(t, evd, 1, row->queued - 1);
        expect_empty(t, evd);
}

CASE(evd_wait, more_of_hundreds)
{
        DAT_COUNT most = ia_attr(t)->max_evd_qlen;
        DAT_COUNT count = most < HUNDREDS ? most : HUNDREDS;
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = count, .flags = DAT_EVD_SOFTWARE_FLAG);
        DAT_EVENT event;
        DAT_COUNT more;

        post_ses(t, evd, 0, count);
        expect(waited(evd, event_timeout(t), count, &event, &more), DAT_SUCCESS);
        expect_se(t, evd, &event, 0);
        expect_eq(more, count - 1);
        expect(waited(evd, 0, count, &event, &more), DAT_TIMEOUT_EXPIRED);
        expect_eq(more, count - 1);
        for (DAT_COUNT taken = 1; taken < count; taken++) {
                expect(waited(evd, 0, 1, &event, &more), DAT_SUCCESS);
                expect_se(t, evd, &event, (unsigned int)taken);
                expect_eq(more, count - 1 - taken);
        }
        expect_empty(t, evd);
}

CASE(evd_wait, in_order)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);

        for (unsigned int round = 0; round < 5; round++) {
                post_ses(t, evd, round * SE_QLEN, SE_QLEN);
                for (unsigned int i = 0; i < SE_QLEN; i++) {
                        DAT_EVENT event;
                        DAT_COUNT more;

                        expect(waited(evd, 0, 1, &event, &more), DAT_SUCCESS);
                        expect_se(t, evd, &event, round * SE_QLEN + i);
                        expect_eq(more, SE_QLEN - 1 - (DAT_COUNT)i);
                }
        }
        expect_empty(t, evd);
}

CASE(evd_wait, of_this_evd)
{
        DAT_EVD_HANDLE older = se_evd(t, DAT_HANDLE_NULL);
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        DAT_EVD_HANDLE newer = se_evd(t, DAT_HANDLE_NULL);
        struct waiter *waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);
        struct woken woken;

        expect_wait(waiter);
        post_ses(t, older, 10, 2);
        post_ses(t, newer, 20, 2);
        expect_asleep(waiter);
        post_ses(t, evd, 0, 1);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_se(t, evd, &woken.event, 0);
        expect_ses(t, older, 10, 2);
        expect_ses(t, newer, 20, 2);
}
