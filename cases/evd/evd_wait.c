/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_wait: who sleeps until when, what is given then, and what is no wait. */
#include "clauses/evd_wait.h"
#include "case/ep_attr.h"
#include "cases/evd/shared/async.h"
#include "cases/evd/shared/event_kind.h"
#include "cases/evd/shared/state.h"

#include <limits.h>
#include <sched.h>
#include <string.h>

static const struct evd_state plain = {.enabled = true, .waitable = true};

/* A wait that finds what it waits for, or has no time; into memory that no provider would leave so.
 */
static DAT_RETURN waited(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
                         DAT_EVENT *event, DAT_COUNT *more)
{
        memset(event, 0xa5, sizeof(*event));
        *more = -7;
        return dat_evd_wait(evd, timeout, threshold, event, more);
}

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
        expect_eq(more, 0);
        expect_empty(t, brought.evd);
}

FAMILY(evd_wait, wakes, lone_event_kinds)
{
        struct brought brought = {.evd = evd_with(t, .qlen = SE_QLEN, .flags = row->flags)};
        struct waiter *waiter = wait_on_evd(t, brought.evd, DAT_TIMEOUT_INFINITE, 1);
        struct woken woken;

        expect_wait(waiter);
        row->bring(t, &brought);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_brought(t, row, &brought, &woken.event);
        expect_eq(woken.more, 0);
        expect_empty(t, brought.evd);
}

CASE(evd_wait, within_structure)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        struct buf *buf = buf_with(t, .length = sizeof(DAT_EVENT));
        DAT_EVENT *event = (DAT_EVENT *)(void *)buf->addr;
        DAT_COUNT more[3] = {-7, -7, -7};

        post_ses(t, evd, 0, 1);
        expect(dat_evd_wait(evd, 0, 1, event, &more[1]), DAT_SUCCESS);

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

/*
 * Time
 */

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
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        struct waiter *waiter;
        struct woken woken;

        post_ses(t, evd, 0, row->queued);
        waiter = wait_on_evd(t, evd, row->us, row->threshold);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_TIMEOUT_EXPIRED);
        expect_that(woken.us >= row->us, "back after %llu us, of %u", (unsigned long long)woken.us,
                    row->us);
        record(t, "back after %llu us, of %u", (unsigned long long)woken.us, row->us);
        expect_eq(woken.more, row->queued);
        expect_ses(t, evd, 0, row->queued);
        expect_empty(t, evd);
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
        expect_asleep(waiter);
        post_ses(t, evd, 0, 1);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_se(t, evd, &woken.event, 0);
}

CASE(evd_wait, event_within_time)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        DAT_TIMEOUT timeout = 4 * event_timeout(t);
        struct waiter *waiter = wait_on_evd(t, evd, timeout, 1);
        struct woken woken;

        expect_wait(waiter);
        post_ses(t, evd, 0, 1);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_that(woken.us < timeout, "back after the whole time, %llu us",
                    (unsigned long long)woken.us);
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

/*
 * Thresholds
 */

static const struct threshold {
        const char *id;
        DAT_COUNT before; /* the thread waits */
        DAT_COUNT count;
} thresholds[] = {
    {"two", 0, 2},
    {"two_one_there", 1, 2},
    {"seven", 0, 7},
    {"seven_three_there", 3, 7},
    {"all_places", 0, SE_QLEN},
};

FAMILY(evd_wait, threshold, thresholds)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        struct waiter *waiter;
        struct woken woken;

        post_ses(t, evd, 0, row->before);
        waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, row->count);
        expect_wait(waiter);
        post_ses(t, evd, (unsigned int)row->before, row->count - 1 - row->before);
        expect_asleep(waiter);
        post_ses(t, evd, (unsigned int)row->count - 1, 1);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_se(t, evd, &woken.event, 0);
        expect_eq(woken.more, row->count - 1);
        expect_ses(t, evd, 1, row->count - 1);
        expect_empty(t, evd);
}

CASE(evd_wait, threshold_of_completions)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = SE_QLEN);
        struct buf *buf = buf_with(t);
        struct loop loop = loop_of(t, (struct ep_opts){.recv_evd = evd}, (struct ep_opts){0});
        struct waiter *waiter;
        struct woken woken;

        loop_join(t, &loop);
        for (uint64_t i = 0; i < 3; i++)
                loop_post_recv(t, loop.active, buf, i);
        waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 3);
        expect_wait(waiter);
        loop_post_send(t, loop.passive, buf, 0);
        loop_post_send(t, loop.passive, buf, 1);
        expect_asleep(waiter);
        loop_post_send(t, loop.passive, buf, 2);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_data.dto_completion_event_data.user_cookie.as_64, 0);
        expect_eq(woken.more, 2);
        for (uint64_t i = 1; i < 3; i++)
                expect_eq(expect_dto(evd).user_cookie.as_64, i);
}

CASE(evd_wait, threshold_of_requests)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = SE_QLEN, .flags = DAT_EVD_CR_FLAG);
        struct loop loops[2];
        struct waiter *waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 2);
        struct woken woken;

        expect_wait(waiter);
        for (int i = 0; i < 2; i++) {
                loops[i] = (struct loop){.requests = evd, .active = ep_with(t)};
                loop_ask(t, &loops[i]);
                if (i == 0)
                        expect_asleep(waiter);
        }

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_data.cr_arrival_event_data.conn_qual, loops[0].qual);
        expect_eq(woken.more, 1);
        must(dat_cr_reject(woken.event.event_data.cr_arrival_event_data.cr_handle));
        loop_take_request(t, &loops[1]);
        must(dat_cr_reject(loops[1].request));
}

static const struct no_threshold {
        const char *id;
        DAT_COUNT threshold;
} no_thresholds[] = {
    {"zero", 0},
    {"minus_one", -1},
    {"least", INT_MIN},
};

/* Refused at once, though what is awaited is there and there is time; nothing is taken. */
static void expect_no_wait(struct test *t, DAT_EVD_HANDLE evd, DAT_COUNT threshold)
{
        struct waiter *waiter;

        post_ses(t, evd, 0, 3);
        waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, threshold);
        expect(expect_awake(waiter).ret, DAT_INVALID_PARAMETER);

        expect_ses(t, evd, 0, 3);
        expect_empty(t, evd);
        expect_state(t, evd, plain, DAT_HANDLE_NULL);
}

FAMILY(evd_wait, no_threshold, no_thresholds)
{
        expect_no_wait(t, evd_in(t, plain, DAT_HANDLE_NULL), row->threshold);
}

static const struct no_threshold above[] = {
    {"by_one", 0},
    {"greatest", INT_MAX},
};

FAMILY(evd_wait, threshold_above_length, above)
{
        DAT_EVD_HANDLE evd = evd_in(t, plain, DAT_HANDLE_NULL);

        expect_no_wait(t, evd, row->threshold ? row->threshold : evd_param(t, evd).evd_qlen + 1);
}

CASE(evd_wait, threshold_of_grown_queue)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        DAT_EVENT event;
        DAT_COUNT more;

        must(dat_evd_resize(evd, 2 * SE_QLEN));
        post_ses(t, evd, 0, 2 * SE_QLEN);

        expect(waited(evd, 0, 2 * SE_QLEN, &event, &more), DAT_SUCCESS);
        expect_se(t, evd, &event, 0);
        expect_eq(more, 2 * SE_QLEN - 1);
}

/* On the EVD of an EP whose flags leave waking to the consumer, a wait is for one event. */
static void expect_one_only(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;
        DAT_COUNT more;

        expect_or_note(waited(evd, 0, 2, &event, &more), DAT_INVALID_STATE, DAT_INVALID_PARAMETER);
        expect_or_note(waited(evd, 0, SE_QLEN, &event, &more), DAT_INVALID_STATE,
                       DAT_INVALID_PARAMETER);
        expect(waited(evd, 0, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
}

static DAT_EVD_HANDLE evd_of_recv_flags(struct test *t, DAT_COMPLETION_FLAGS flags)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = SE_QLEN);
        DAT_EP_HANDLE ep = ep_with(t, .recv_evd = evd);
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        param.ep_attr.recv_completion_flags = flags;
        must(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param));
        return evd;
}

CASE(evd_wait, threshold_with_unsignalled_receives)
{
        expect_one_only(t, evd_of_recv_flags(t, DAT_COMPLETION_UNSIGNALLED_FLAG));
}

CASE(evd_wait, threshold_with_unsignalled_srq_receives)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = SE_QLEN);
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr(t));
        DAT_EVENT event;
        DAT_COUNT more;

        attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
        (void)ep_with(t, .recv_evd = evd, .attr = &attr, .srq = srq_with(t, .max_recv_dtos = 4));
        expect_or_note(waited(evd, 0, 2, &event, &more), DAT_INVALID_STATE, DAT_INVALID_PARAMETER,
                       DAT_TIMEOUT_EXPIRED);
        expect(waited(evd, 0, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
}

CASE(evd_wait, threshold_with_solicited_receives)
{
        expect_one_only(t, evd_of_recv_flags(t, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
}

CASE(evd_wait, threshold_with_unsignalled_requests)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = SE_QLEN);
        DAT_EP_HANDLE ep = ep_with(t, .request_evd = evd);
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        param.ep_attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
        must(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS, &param));

        expect_one_only(t, evd);
}

/*
 * The one who waits
 */

static const struct second {
        const char *id;
        DAT_TIMEOUT timeout;
        DAT_COUNT queued;
        DAT_COUNT threshold;
        bool disabled;
} seconds[] = {
    {"for_ever", DAT_TIMEOUT_INFINITE, 0, 1, false},
    {"not_at_all", 0, 0, 1, false},
    {"with_an_event_there", DAT_TIMEOUT_INFINITE, 1, 1, false},
    {"for_several", DAT_TIMEOUT_INFINITE, 0, 2, false},
    {"of_a_disabled_one", DAT_TIMEOUT_INFINITE, 0, 1, true},
};

FAMILY(evd_wait, second_waiter, seconds)
{
        struct evd_state state = {.enabled = !row->disabled, .waitable = true};
        DAT_EVD_HANDLE evd = evd_in(t, state, DAT_HANDLE_NULL);
        struct waiter *first;
        struct waiter *second;
        struct woken woken;

        post_ses(t, evd, 0, row->queued);
        first = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, row->queued + 1);
        expect_wait(first);
        second = wait_on_evd(t, evd, row->timeout, row->threshold);
        expect(expect_awake(second).ret, DAT_INVALID_STATE);
        expect_asleep(first);
        post_ses(t, evd, (unsigned int)row->queued, 1);

        woken = expect_awake(first);
        expect(woken.ret, DAT_SUCCESS);
        expect_se(t, evd, &woken.event, 0);
        expect_ses(t, evd, 1, row->queued);
}

CASE(evd_wait, after_first_has_left)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);

        for (unsigned int i = 0; i < 5; i++) {
                struct waiter *waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);
                struct woken woken;

                expect_wait(waiter);
                post_ses(t, evd, i, 1);
                woken = expect_awake(waiter);
                expect(woken.ret, DAT_SUCCESS);
                expect_se(t, evd, &woken.event, i);
        }
}

CASE(evd_wait, two_evds_at_once)
{
        DAT_EVD_HANDLE evds[] = {se_evd(t, DAT_HANDLE_NULL), se_evd(t, DAT_HANDLE_NULL)};
        struct waiter *waiters[] = {
            wait_on_evd(t, evds[0], DAT_TIMEOUT_INFINITE, 1),
            wait_on_evd(t, evds[1], DAT_TIMEOUT_INFINITE, 1),
        };

        expect_wait(waiters[0]);
        expect_wait(waiters[1]);
        for (int i = 1; i >= 0; i--) {
                struct woken woken;

                post_ses(t, evds[i], (unsigned int)i, 1);
                woken = expect_awake(waiters[i]);
                expect(woken.ret, DAT_SUCCESS);
                expect_se(t, evds[i], &woken.event, (unsigned int)i);
                if (i)
                        expect_asleep(waiters[0]);
        }
}

CASE(evd_wait, cno_not_triggered)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = evd_in(t, plain, cno);
        struct waiter *waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 3);

        expect_wait(waiter);
        post_ses(t, evd, 0, 2);
        expect_no_notice(t, cno);
        post_ses(t, evd, 2, 1);
        expect(expect_awake(waiter).ret, DAT_SUCCESS);
        expect_no_notice(t, cno);

        expect_ses(t, evd, 1, 2);
        post_ses(t, evd, 3, 1);
        expect_notified(t, cno, evd);
}

FAMILY(evd_wait, in_state, evd_states)
{
        DAT_EVD_HANDLE evd = evd_in(t, row->state, row->has_cno ? cno_new(t) : DAT_HANDLE_NULL);
        DAT_EVENT event;
        DAT_COUNT more;

        post_ses(t, evd, 0, 2);
        if (!row->state.waitable) {
                expect(waited(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more), DAT_INVALID_STATE);
                expect_ses(t, evd, 0, 2);
                return;
        }
        expect(waited(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more), DAT_SUCCESS);
        expect_se(t, evd, &event, 0);
        expect_eq(more, 1);
        expect_ses(t, evd, 1, 1);
}

CASE(evd_wait, made_unwaitable)
{
        DAT_EVD_HANDLE evd = evd_in(t, plain, DAT_HANDLE_NULL);
        struct waiter *waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);

        expect_wait(waiter);
        must(dat_evd_set_unwaitable(evd));

        expect(expect_awake(waiter).ret, DAT_INVALID_STATE);
        must(dat_evd_clear_unwaitable(evd));
        expect_state(t, evd, plain, DAT_HANDLE_NULL);
}

CASE(evd_wait, signal)
{
        DAT_EVD_HANDLE evd = evd_in(t, plain, DAT_HANDLE_NULL);
        struct waiter *waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);
        struct woken woken;

        expect_wait(waiter);
        waiter_interrupt(t, waiter);
        settle(t);
        if (is_waiting(waiter)) {
                record(t, "the wait goes on");
                post_ses(t, evd, 0, 1);
                woken = expect_awake(waiter);
                expect(woken.ret, DAT_SUCCESS);
                expect_se(t, evd, &woken.event, 0);
        } else {
                expect(expect_awake(waiter).ret, DAT_INTERRUPTED_CALL);
        }
        expect_state(t, evd, plain, DAT_HANDLE_NULL);
}

/*
 * Several threads
 */

struct waiting {
        DAT_EVD_HANDLE evd;
        DAT_EVENT event;
        DAT_COUNT more;
};

static DAT_RETURN wait_a_moment(void *arg)
{
        struct waiting *waiting = arg;

        return waited(waiting->evd, 30000, 1, &waiting->event, &waiting->more);
}

static DAT_RETURN wait_for_ever(void *arg)
{
        struct waiting *waiting = arg;

        return waited(waiting->evd, DAT_TIMEOUT_INFINITE, 1, &waiting->event, &waiting->more);
}

static DAT_RETURN post_one(void *evd)
{
        DAT_EVENT event = se_event(5);

        return dat_evd_post_se(evd, &event);
}

#define OTHERS_FIRST 200 /* times that the processor is left to others */

/* The others are in their calls by then, be there one processor only. */
static DAT_RETURN post_one_later(void *evd)
{
        for (int i = 0; i < OTHERS_FIRST; i++)
                sched_yield();
        return post_one(evd);
}

CASE(evd_wait, by_threads_at_once, DEADLINE_MS(20000))
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        struct stress stress = stress_of(t, 50);

        while (stress_round(&stress)) {
                struct waiting waitings[] = {{.evd = evd}, {.evd = evd}};
                struct racer racers[] = {
                    {.call = wait_a_moment, .arg = &waitings[0]},
                    {.call = wait_a_moment, .arg = &waitings[1]},
                    {.call = post_one_later, .arg = evd},
                };
                bool met = race(racers, 3);
                int given = 0;

                expect(racers[2].ret, DAT_SUCCESS);
                for (int i = 0; i < 2; i++) {
                        expect(racers[i].ret, DAT_SUCCESS, DAT_INVALID_STATE, DAT_TIMEOUT_EXPIRED);
                        if (!dat_is(racers[i].ret, DAT_SUCCESS))
                                continue;
                        expect_se(t, evd, &waitings[i].event, 5);
                        given++;
                }
                /* On a busy host both may have gone before the event came. */
                if (given == 0)
                        expect_ses(t, evd, 5, 1);
                stress_met(&stress, met && given == 1);
                expect_that(given <= 1, "%d threads got the one event", given);
                expect_empty(t, evd);
        }
        must_have_met(&stress);
}

CASE(evd_wait, event_while_thread_enters, DEADLINE_MS(20000))
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        struct stress stress = stress_of(t, 300);

        while (stress_round(&stress)) {
                struct waiting waiting = {.evd = evd};
                struct racer racers[] = {
                    {.call = wait_for_ever, .arg = &waiting},
                    {.call = post_one, .arg = evd},
                };

                stress_met(&stress, race(racers, 2));
                expect(racers[0].ret, DAT_SUCCESS);
                expect(racers[1].ret, DAT_SUCCESS);
                expect_se(t, evd, &waiting.event, 5);
                expect_empty(t, evd);
        }
        must_have_met(&stress);
}

/*
 * What goes before
 */

FAMILY(evd_wait, more_of_each_stream, lone_event_kinds)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = SE_QLEN, .flags = row->flags);
        struct brought brought[] = {{.evd = evd}, {.evd = evd}};
        DAT_EVENT event;
        DAT_COUNT more;

        for (int i = 0; i < 2; i++) {
                row->bring(t, &brought[i]);
                settle(t);
        }
        expect(waited(evd, 0, 3, &event, &more), DAT_TIMEOUT_EXPIRED);
        expect_eq(more, 2);

        expect(waited(evd, event_timeout(t), 2, &event, &more), DAT_SUCCESS);
        expect_brought(t, row, &brought[0], &event);
        expect_eq(more, 1);
        expect(waited(evd, 0, 1, &event, &more), DAT_SUCCESS);
        expect_brought(t, row, &brought[1], &event);
        expect_eq(more, 0);
}

CASE(evd_wait, more_round_the_end)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        const int kept = 5;

        post_ses(t, evd, 0, kept);
        for (unsigned int i = 0; i < 5 * SE_QLEN; i++) {
                DAT_EVENT event;
                DAT_COUNT more;

                post_ses(t, evd, i + kept, 1);
                expect(waited(evd, 0, 1, &event, &more), DAT_SUCCESS);
                expect_se(t, evd, &event, i);
                expect_eq(more, kept);
        }
}

static const struct too_few {
        const char *id;
        DAT_COUNT queued;
        DAT_COUNT threshold;
} too_few[] = {
    {"with_nothing_there", 0, 1},
    {"below_threshold", 2, 3},
};

FAMILY(evd_wait, cno_after_time_out, too_few)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = evd_in(t, plain, cno);
        DAT_EVENT event;
        DAT_COUNT more;

        post_ses(t, evd, 0, row->queued);
        settle(t);
        while (dat_is(dat_cno_wait(cno, 0, &(DAT_EVD_HANDLE){DAT_HANDLE_NULL}), DAT_SUCCESS))
                ;
        expect(waited(evd, 1000, row->threshold, &event, &more), DAT_TIMEOUT_EXPIRED);

        expect_no_notice(t, cno);
        post_ses(t, evd, (unsigned int)row->queued, 1);
        expect_notified(t, cno, evd);
}

CASE(evd_wait, threshold_of_shrunk_queue)
{
        DAT_EVD_HANDLE evd = evd_in(t, plain, DAT_HANDLE_NULL);

        must(dat_evd_resize(evd, 2 * SE_QLEN));
        must(dat_evd_resize(evd, SE_QLEN));

        expect_no_wait(t, evd, evd_param(t, evd).evd_qlen + 1);
}

static void modify_back(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        param.ep_attr.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
        must(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param));
}

static const struct no_longer {
        const char *id;
        void (*end)(struct test *t, DAT_EP_HANDLE ep);
} no_longer[] = {
    {"ep_freed", release},
    {"ep_modified", modify_back},
};

FAMILY(evd_wait, threshold_after_flags, no_longer)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = SE_QLEN);
        DAT_EP_HANDLE ep = ep_with(t, .recv_evd = evd);
        DAT_EP_PARAM param;
        DAT_EVENT event;
        DAT_COUNT more;

        memset(&param, 0, sizeof(param));
        param.ep_attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
        must(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param));
        row->end(t, ep);

        expect(waited(evd, 0, 2, &event, &more), DAT_TIMEOUT_EXPIRED);
        expect(waited(evd, 0, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
}

CASE(evd_wait, async_event)
{
        struct armed armed = async_to_come(t);
        struct waiter *waiter = wait_on_evd(t, async_evd(t), DAT_TIMEOUT_INFINITE, 1);
        struct woken woken;

        expect_wait(waiter);
        async_comes(t, &armed);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_async_about(&woken.event, armed.queue.srq);
        expect_that(woken.event.evd_handle == async_evd(t), "the event names another EVD");
        expect_eq(woken.more, 0);
}

LEGAL(evd_wait)
{
        static DAT_EVENT event;
        static DAT_COUNT more;

        call->evd_handle = se_evd(t, DAT_HANDLE_NULL);
        call->timeout = 0;
        call->threshold = 1;
        call->event = &event;
        call->n_more_events = &more;
        post_ses(t, call->evd_handle, 0, 1);
}
