/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_wait: the timeout. */
#include "case/ep_attr.h"
#include "cases/evd/evd_wait/fixtures.h"
#include "cases/evd/shared/source.h"
#include "clauses/evd_wait.h"

#include <limits.h>

static const struct patience {
        const char *id;
        DAT_TIMEOUT us;
        DAT_COUNT queued;
        DAT_COUNT threshold;
} patiences[] = {
    {"none", 0, 0, 1},
    {"one_microsecond", 1, 0, 1},
    {"one_millisecond", 1000, 0, 1},
    {"forty_milliseconds", 40000, 0, 1},
    {"a_third_of_a_second", 333333, 0, 1},
    {"none_below_threshold", 0, 2, 3},
    {"forty_milliseconds_below_threshold", 40000, 2, 3},
    {"forty_milliseconds_one_short_of_all", 40000, SE_QLEN - 1, SE_QLEN},
};

FAMILY(evd_wait, time_out, patiences)
{
        EACH_SOURCE (kind) {
                struct source source = source_new(t, kind, DAT_HANDLE_NULL);
                struct waiter *waiter;
                struct woken woken;

                source_fill(t, &source, 0, row->queued);
                waiter = wait_on_evd(t, source.evd, row->us, row->threshold);

                woken = expect_awake(waiter);
                expect(woken.ret, DAT_TIMEOUT_EXPIRED);
                expect_that(woken.us >= row->us, "back after %llu us, before the %u us were over",
                            (unsigned long long)woken.us, row->us);
                record(t, "back after %llu us, of %u", (unsigned long long)woken.us, row->us);
                expect_eq(woken.more, row->queued);
                expect_source_events(t, &source, 0, row->queued);
                expect_empty(t, source.evd);
        }
}

#define OVER_A_SECOND_US 1234567

CASE(evd_wait, time_out_over_a_second)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        struct waiter *waiter = wait_on_evd(t, evd, OVER_A_SECOND_US, 1);
        struct woken woken = expect_awake(waiter);

        expect(woken.ret, DAT_TIMEOUT_EXPIRED);
        expect_that(woken.us >= OVER_A_SECOND_US, "back after %llu us, before the %d us were over",
                    (unsigned long long)woken.us, OVER_A_SECOND_US);
}

#define PATIENCE_US 400000 /* longer than the time between two events */
#define BETWEEN     2      /* quiet periods */

/*
 * Too few events for the threshold, at intervals below the timeout. A provider that restarts the
 * timeout with each of them exceeds the delay that EVD-11 permits.
 */
CASE(evd_wait, time_out_among_events)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct source source =
                    source_in(t, kind, (struct evd_state){.enabled = true, .waitable = true}, cno);
                struct waiter *waiter = wait_on_evd(t, source.evd, PATIENCE_US, SE_QLEN);
                unsigned int brought = 0;
                int in_time = 0;
                struct woken woken;

                expect_wait(waiter);
                while (brought < SE_QLEN - 1 && is_waiting(waiter)) {
                        source_bring(t, &source, brought++, 1);
                        for (int i = 0; i < BETWEEN; i++) {
                                settle(t);
                                if (is_waiting(waiter))
                                        in_time = (int)brought;
                        }
                }

                woken = expect_awake(waiter);
                expect(woken.ret, DAT_TIMEOUT_EXPIRED);
                expect_that(woken.us >= PATIENCE_US && woken.us < PATIENCE_US + event_timeout(t),
                            "back after %llu us, of %d", (unsigned long long)woken.us, PATIENCE_US);
                if (!in_time)
                        note(t, "a slow host: no event is known to have come within the wait");
                expect_that(woken.more >= in_time && woken.more <= (int)brought,
                            "nmore is %d; %d to %u events had come", woken.more, in_time, brought);
                settle(t);
                forget_notices(t, cno);
                source_bring(t, &source, brought, 1);
                expect_notified(t, cno, source.evd);
                expect_source_events(t, &source, 0, (int)brought + 1);
        }
}

static const struct patience long_ones[] = {
    {"for_ever", DAT_TIMEOUT_INFINITE, 0, 1},
    {"greatest_number", DAT_TIMEOUT_INFINITE - 1, 0, 1},
    {"above_signed_range", 1U << 31, 0, 1},
    {"greatest_signed_number", INT_MAX, 0, 1},
};

FAMILY(evd_wait, long_wait, long_ones)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        struct waiter *waiter = wait_on_evd(t, evd, row->us, 1);
        struct woken woken;

        expect_wait(waiter);
        if (row->us == DAT_TIMEOUT_INFINITE)
                outlast_defaults();
        expect_asleep(waiter);
        post_ses(t, evd, 0, 1);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_se(t, evd, &woken.event, 0);
}

CASE(evd_wait, event_within_time)
{
        EACH_SOURCE (kind) {
                struct source source = source_new(t, kind, DAT_HANDLE_NULL);
                DAT_TIMEOUT timeout = 4 * event_timeout(t);
                struct waiter *waiter = wait_on_evd(t, source.evd, timeout, 1);
                struct woken woken;

                expect_wait(waiter);
                source_bring(t, &source, 0, 1);

                woken = expect_awake(waiter);
                expect(woken.ret, DAT_SUCCESS);
                expect_that(woken.us < timeout, "back after the whole time, %llu us",
                            (unsigned long long)woken.us);
        }
}

CASE(evd_wait, time_out_then_event)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        DAT_EVENT event;
        DAT_COUNT more;

        for (unsigned int i = 0; i < 10; i++) {
                expect(waited(evd, 100, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
                post_ses(t, evd, i, 1);
                expect(waited(evd, event_timeout(t), 1, &event, &more), DAT_SUCCESS);
                expect_se(t, evd, &event, i);
        }
}

/* The completions wake no thread, and are there when the time is over. */
CASE(evd_wait, unsignalled_at_time_out)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = SE_QLEN);
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr_if_told(t));
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf, 2 * MESSAGE, MESSAGE);
        struct waiter *waiter;
        struct woken woken;
        struct loop loop;
        bool in_time;

        attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
        loop = loop_of(t, (struct ep_opts){.request_evd = evd, .attr = &attr}, (struct ep_opts){0});
        loop_join_either(t, &loop);
        for (uint64_t i = 0; i < 2; i++)
                loop_post_recv(t, loop.passive, buf, i);
        waiter = wait_on_evd(t, evd, PATIENCE_US, 1);
        expect_wait(waiter);
        for (uint64_t i = 0; i < 2; i++)
                must(dat_ep_post_send(loop.active, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 7 + i},
                                      DAT_COMPLETION_UNSIGNALLED_FLAG));
        for (int i = 0; i < 2; i++)
                must_dto(ep_recv_evd(t, loop.passive));
        settle(t);
        in_time = is_waiting(waiter);

        woken = expect_awake(waiter);
        if (!in_time && dat_is(woken.ret, DAT_TIMEOUT_EXPIRED))
                end_noted(t, "a slow host: the time was over before a completion came");
        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_number, DAT_DTO_COMPLETION_EVENT);
        expect_eq(woken.event.event_data.dto_completion_event_data.user_cookie.as_64, 7);
        expect_that(woken.more == 1 || (!in_time && woken.more == 0), "nmore is %d", woken.more);
        expect_eq(expect_dto(evd).user_cookie.as_64, 8);
}
