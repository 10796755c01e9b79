/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_cno_wait: who sleeps until when, which EVD is named, and what does not notify. */
#include "clauses/cno_wait.h"
#include "case/test.h"
#include "cases/cno/shared/agent.h"
#include "cases/evd/shared/event_kind.h"
#include "cases/evd/shared/silent.h"
#include "cases/evd/shared/source.h"

#include <limits.h>

/* A thread that was notified: DAT_SUCCESS, and this EVD. */
static void expect_told(struct test *t, struct waiter *waiter, DAT_EVD_HANDLE evd)
{
        struct woken woken = expect_awake(waiter);

        expect(woken.ret, DAT_SUCCESS);
        expect_that(woken.evd == evd, "the CNO names another EVD");
}

/* There is no notification: the wait says so, and its handle is null. */
static void expect_none(struct test *t, DAT_CNO_HANDLE cno)
{
        DAT_EVD_HANDLE named = (DAT_EVD_HANDLE)&named;

        expect(dat_cno_wait(cno, 0, &named), DAT_QUEUE_EMPTY);
        expect_that(named == DAT_HANDLE_NULL, "a time-out names an EVD");
}

/* An enabled EVD of this CNO, and the source of its events. */
static struct source source_feeding(struct test *t, const struct source_kind *kind,
                                    DAT_CNO_HANDLE cno)
{
        struct source source = source_new(t, kind, cno);

        must(dat_evd_enable(source.evd));
        return source;
}

/* Puts the EVDs into a drawn order. */
static void shuffle(struct test *t, DAT_EVD_HANDLE *evds, unsigned int count)
{
        for (unsigned int i = count; i > 1; i--) {
                uint64_t at = draw(t, i);
                DAT_EVD_HANDLE evd = evds[i - 1];

                evds[i - 1] = evds[at];
                evds[at] = evd;
        }
}

/*
 * A thread that sleeps
 */

/* An enabled EVD for events of this kind, whose CNO this is. */
static struct brought feeding_kind(struct test *t, const struct event_kind *kind,
                                   DAT_CNO_HANDLE cno)
{
        struct brought brought = {
            .evd = evd_with(t, .qlen = SE_QLEN, .flags = kind->flags, .cno = cno)};

        must(dat_evd_enable(brought.evd));
        make_ready(t, kind, &brought, cno);
        return brought;
}

FAMILY(cno_wait, wakes, event_kinds)
{
        EACH_MAKING(kind, row)
        {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct brought brought = feeding_kind(t, kind, cno);
                struct waiter *waiter = wait_on_cno(t, cno, DAT_TIMEOUT_INFINITE);

                expect_wait(waiter);
                kind->bring(t, &brought);

                expect_told(t, waiter, brought.evd);
                expect_event(brought.evd, kind->number);
        }
}

FAMILY(cno_wait, kept_trigger, event_kinds)
{
        EACH_MAKING(kind, row)
        {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct brought brought = feeding_kind(t, kind, cno);

                kind->bring(t, &brought);
                settle(t);

                expect_notified(t, cno, brought.evd);
                expect_event(brought.evd, kind->number);
        }
}

CASE(cno_wait, sleeps_until_notified)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct source source = source_feeding(t, kind, cno);
                struct waiter *waiter = wait_on_cno(t, cno, DAT_TIMEOUT_INFINITE);

                expect_wait(waiter);
                expect_asleep(waiter);
                source_bring(t, &source, 0, 1);

                expect_told(t, waiter, source.evd);
                expect_source_events(t, &source, 0, 1);
                expect_empty(t, source.evd);
        }
}

CASE(cno_wait, again_and_again)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct source source = source_feeding(t, kind, cno);

                for (unsigned int i = 0; i < 5; i++) {
                        struct waiter *waiter = wait_on_cno(t, cno, DAT_TIMEOUT_INFINITE);

                        expect_wait(waiter);
                        source_bring(t, &source, i, 1);
                        expect_told(t, waiter, source.evd);
                        expect_source_events(t, &source, i, 1);
                }
        }
}

CASE(cno_wait, of_this_cno)
{
        DAT_CNO_HANDLE older = cno_new(t);
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_CNO_HANDLE newer = cno_new(t);
        DAT_EVD_HANDLE others[] = {feeding(t, older), feeding(t, newer),
                                   feeding(t, DAT_HANDLE_NULL)};
        DAT_EVD_HANDLE evd = feeding(t, cno);
        struct waiter *waiter = wait_on_cno(t, cno, DAT_TIMEOUT_INFINITE);

        expect_wait(waiter);
        for (int i = 0; i < 3; i++)
                post_ses(t, others[i], 0, 2);
        expect_asleep(waiter);
        post_ses(t, evd, 0, 1);

        expect_told(t, waiter, evd);
        expect_notified(t, older, others[0]);
        expect_notified(t, newer, others[1]);
}

CASE(cno_wait, two_cnos_at_once)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cnos[] = {cno_new(t), cno_new(t)};
                struct source sources[] = {source_feeding(t, kind, cnos[0]),
                                           source_feeding(t, kind, cnos[1])};
                struct waiter *waiters[] = {wait_on_cno(t, cnos[0], DAT_TIMEOUT_INFINITE),
                                            wait_on_cno(t, cnos[1], DAT_TIMEOUT_INFINITE)};

                expect_wait(waiters[0]);
                expect_wait(waiters[1]);
                source_bring(t, &sources[1], 0, 1);
                expect_told(t, waiters[1], sources[1].evd);
                expect_asleep(waiters[0]);
                source_bring(t, &sources[0], 0, 1);
                expect_told(t, waiters[0], sources[0].evd);
        }
}

CASE(cno_wait, of_two_ias)
{
        DAT_CNO_HANDLE there = DAT_HANDLE_NULL;
        DAT_CNO_HANDLE here = cno_new(t);
        DAT_EVD_HANDLE evds[2];

        must(dat_cno_create(other_ia(t), DAT_OS_WAIT_PROXY_AGENT_NULL, &there));
        adopt(t, DAT_HANDLE_TYPE_CNO, there);
        evds[0] = feeding(t, here);
        evds[1] = evd_with(t, .ia = other_ia(t), .qlen = SE_QLEN, .flags = DAT_EVD_SOFTWARE_FLAG,
                           .cno = there);

        post_ses(t, evds[1], 0, 1);
        expect_none(t, here);
        expect_notified(t, there, evds[1]);
        post_ses(t, evds[0], 0, 1);
        expect_notified(t, here, evds[0]);
        expect_none(t, there);
}

/*
 * A notification that was there before
 */

static const struct kept {
        const char *id;
        DAT_TIMEOUT timeout;
} kepts[] = {
    {"not_at_all", 0},
    {"one_microsecond", 1},
    {"for_ever", DAT_TIMEOUT_INFINITE},
    {"above_signed_range", 1U << 31},
};

FAMILY(cno_wait, kept_for_wait_of, kepts)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct source source = source_feeding(t, kind, cno);
                struct waiter *waiter;

                source_bring(t, &source, 0, 1);
                settle(t);
                waiter = wait_on_cno(t, cno, row->timeout);

                expect_told(t, waiter, source.evd);
                expect_none(t, cno);
        }
}

CASE(cno_wait, one_trigger_one_wake)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct source source = source_feeding(t, kind, cno);
                struct waiter *waiter;

                source_bring(t, &source, 0, 1);
                expect_notified(t, cno, source.evd);
                expect_none(t, cno);
                waiter = wait_on_cno(t, cno, 4 * event_timeout(t));
                expect_wait(waiter);
                expect_asleep(waiter);
                source_bring(t, &source, 1, 1);

                expect_told(t, waiter, source.evd);
                expect_none(t, cno);
                expect_source_events(t, &source, 0, 2);
        }
}

CASE(cno_wait, several_events)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct source source = source_feeding(t, kind, cno);
                DAT_EVD_HANDLE named = DAT_HANDLE_NULL;
                int told = 1;

                source_fill(t, &source, 0, SE_QLEN);
                expect_notified(t, cno, source.evd);
                while (told < SE_QLEN &&
                       dat_is(expect(dat_cno_wait(cno, 0, &named), DAT_SUCCESS, DAT_QUEUE_EMPTY),
                              DAT_SUCCESS)) {
                        expect_that(named == source.evd, "the CNO names another EVD");
                        told++;
                }
                record(t, "%d notifications of %d events", told, SE_QLEN);
                expect_none(t, cno);
                expect_source_events(t, &source, 0, SE_QLEN);
        }
}

/* A wait for what is reaped, which a notification of it may end. */
static DAT_RETURN expect_told_or_none(struct test *t, DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd)
{
        DAT_EVD_HANDLE named = DAT_HANDLE_NULL;
        DAT_RETURN ret = expect(dat_cno_wait(cno, 0, &named), DAT_SUCCESS, DAT_QUEUE_EMPTY);

        expect_that(named == (dat_is(ret, DAT_SUCCESS) ? evd : DAT_HANDLE_NULL),
                    "the CNO names another EVD");
        return ret;
}

CASE(cno_wait, reaped_before)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct source source = source_feeding(t, kind, cno);
                DAT_RETURN ret;

                source_bring(t, &source, 0, 1);
                expect_source_events(t, &source, 0, 1);
                ret = expect_told_or_none(t, cno, source.evd);
                record(t, "a wait for what is reaped %s",
                       dat_is(ret, DAT_SUCCESS) ? "is notified" : "finds nothing");

                /* An event that is reaped by a poll may have its notification under way. */
                if (dat_is(ret, DAT_QUEUE_EMPTY)) {
                        settle(t);
                        expect_told_or_none(t, cno, source.evd);
                }
                expect_none(t, cno);
                source_bring(t, &source, 1, 1);
                expect_notified(t, cno, source.evd);
        }
}

/*
 * Which EVD
 */

#define EVDS 20

CASE(cno_wait, each_evd_named)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evds[EVDS];

        for (int i = 0; i < EVDS; i++)
                evds[i] = feeding(t, cno);
        for (unsigned int round = 0; round < 3; round++) {
                shuffle(t, evds, EVDS);
                for (int i = 0; i < EVDS; i++) {
                        post_ses(t, evds[i], round, 1);
                        expect_notified(t, cno, evds[i]);
                        expect_ses(t, evds[i], round, 1);
                }
        }
        expect_none(t, cno);
}

/* Two EVDs of each kind, the older ones first or last. */
CASE(cno_wait, each_evd_wakes)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        struct source sources[2 * SOURCE_KINDS];
        unsigned int count = 0;
        unsigned int first;

        for (int i = 0; i < 2; i++)
                EACH_SOURCE (kind)
                        sources[count++] = source_feeding(t, kind, cno);
        first = (unsigned int)draw(t, count);
        for (unsigned int i = 0; i < count; i++) {
                const struct source *source = &sources[(first + i) % count];
                struct waiter *waiter = wait_on_cno(t, cno, DAT_TIMEOUT_INFINITE);

                expect_wait(waiter);
                source_bring(t, source, 0, 1);
                expect_told(t, waiter, source->evd);
                expect_source_events(t, source, 0, 1);
        }
}

/* The EVD is made with the CNO that a thread waits on, which had none. */
CASE(cno_wait, evd_made_meanwhile)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct waiter *waiter = wait_on_cno(t, cno, 4 * event_timeout(t));
                struct source source;

                expect_wait(waiter);
                source = source_feeding(t, kind, cno);
                expect_asleep(waiter);
                source_bring(t, &source, 0, 1);

                expect_told(t, waiter, source.evd);
                expect_source_events(t, &source, 0, 1);
        }
}

CASE(cno_wait, several_evds_at_once)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evds[] = {feeding(t, cno), feeding(t, cno), feeding(t, cno)};
        DAT_EVD_HANDLE named = DAT_HANDLE_NULL;
        int told = 0;

        shuffle(t, evds, 3);
        post_ses(t, evds[0], 0, 1);
        post_ses(t, evds[1], 0, 1);
        expect(dat_cno_wait(cno, event_timeout(t), &named), DAT_SUCCESS);
        do {
                expect_that(named == evds[0] || named == evds[1],
                            "the CNO names an EVD that has had no event");
                told++;
        } while (told < 2 &&
                 dat_is(expect(dat_cno_wait(cno, 0, &named), DAT_SUCCESS, DAT_QUEUE_EMPTY),
                        DAT_SUCCESS));
        record(t, "%d notifications of two EVDs", told);

        expect_none(t, cno);
        expect_ses(t, evds[0], 0, 1);
        expect_ses(t, evds[1], 0, 1);
        expect_empty(t, evds[2]);
}

CASE(cno_wait, within_pointer)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = feeding(t, cno);
        struct buf *buf = buf_with(t, .length = sizeof(DAT_EVD_HANDLE));
        DAT_EVD_HANDLE *named = (DAT_EVD_HANDLE *)(void *)buf->addr;

        post_ses(t, evd, 0, 1);
        expect(dat_cno_wait(cno, event_timeout(t), named), DAT_SUCCESS);
        check_guards(t);
        expect_that(*named == evd, "the CNO names another EVD");
        expect(dat_cno_wait(cno, 0, named), DAT_QUEUE_EMPTY);
        check_guards(t);
        expect_that(*named == DAT_HANDLE_NULL, "a time-out names an EVD");
        release(t, buf->lmr);
}

/*
 * Time
 */

static const struct patience {
        const char *id;
        DAT_TIMEOUT us;
        bool has_evds;
} patiences[] = {
    {"none", 0, true},
    {"one_microsecond", 1, true},
    {"one_millisecond", 1000, true},
    {"almost_two_milliseconds", 1999, true},
    {"forty_milliseconds", 40000, true},
    {"a_third_of_a_second", 333333, true},
    {"over_a_second", 1234567, true},
    {"none_without_evds", 0, false},
    {"forty_milliseconds_without_evds", 40000, false},
};

/* Returns how long the wait lasted. */
static uint64_t expect_time_out(struct test *t, DAT_CNO_HANDLE cno, DAT_TIMEOUT us)
{
        struct woken woken = expect_awake(wait_on_cno(t, cno, us));

        expect(woken.ret, DAT_QUEUE_EMPTY);
        expect_that(woken.evd == DAT_HANDLE_NULL, "a time-out names an EVD");
        expect_that(woken.us >= us, "back after %llu us, before the %u us were over",
                    (unsigned long long)woken.us, us);
        record(t, "back after %llu us, of %u", (unsigned long long)woken.us, us);
        return woken.us;
}

/*
 * A busy host may delay a call as long as the short waits last, but not each time: waits that took
 * a quarter longer do not count, for so long.
 */
#define SHORT_US    2000
#define SHORT_TURNS 8
#define TURNS_US    400000

static void expect_short_time_outs(struct test *t, DAT_CNO_HANDLE cno, DAT_TIMEOUT us)
{
        uint64_t spent = 0;
        int turns = 0;

        while (turns < SHORT_TURNS && spent < TURNS_US) {
                uint64_t lasted = expect_time_out(t, cno, us);

                spent += lasted;
                turns += us < SHORT_US / 2 || lasted < us + us / 4;
        }
}

FAMILY(cno_wait, time_out, patiences)
{
        DAT_CNO_HANDLE cno = cno_new(t);

        if (row->has_evds) {
                feeding(t, cno);
                feeding(t, cno);
        }
        if (row->us > SHORT_US)
                (void)expect_time_out(t, cno, row->us);
        else
                expect_short_time_outs(t, cno, row->us);
}

#define PATIENCE_US 400000        /* longer than the time between two events */
#define UNHEARD     (2 * SE_QLEN) /* quiet periods: longer than the delay that EVD-11 permits */

/* Events of a disabled EVD come at intervals below the timeout, for as long as the wait lasts. */
CASE(cno_wait, time_out_among_unheard)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct source source = source_feeding(t, kind, cno);
                struct waiter *waiter;
                unsigned int brought = 0;
                bool in_time = false;
                struct woken woken;

                must(dat_evd_disable(source.evd));
                waiter = wait_on_cno(t, cno, PATIENCE_US);
                expect_wait(waiter);
                while (brought < UNHEARD && is_waiting(waiter)) {
                        source_bring(t, &source, brought, 1);
                        settle(t);
                        in_time |= is_waiting(waiter);
                        expect_source_events(t, &source, brought++, 1);
                }

                woken = expect_awake(waiter);
                expect(woken.ret, DAT_QUEUE_EMPTY);
                expect_that(woken.evd == DAT_HANDLE_NULL, "a time-out names an EVD");
                expect_that(woken.us >= PATIENCE_US && woken.us < PATIENCE_US + event_timeout(t),
                            "back after %llu us, of %d", (unsigned long long)woken.us, PATIENCE_US);
                if (!in_time)
                        note(t, "a slow host: no event is known to have come within the wait");
        }
}

static const struct patience long_ones[] = {
    {"for_ever", DAT_TIMEOUT_INFINITE, true},
    {"greatest_number", DAT_TIMEOUT_INFINITE - 1, true},
    {"above_signed_range", 1U << 31, true},
    {"greatest_signed_number", INT_MAX, true},
};

FAMILY(cno_wait, long_wait, long_ones)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = feeding(t, cno);
        struct waiter *waiter = wait_on_cno(t, cno, row->us);

        expect_wait(waiter);
        if (row->us == DAT_TIMEOUT_INFINITE)
                outlast_defaults();
        expect_asleep(waiter);
        post_ses(t, evd, 0, 1);

        expect_told(t, waiter, evd);
}

CASE(cno_wait, time_out_then_event)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = feeding(t, cno);
        DAT_EVD_HANDLE named = DAT_HANDLE_NULL;

        for (unsigned int i = 0; i < 10; i++) {
                expect(dat_cno_wait(cno, 100, &named), DAT_QUEUE_EMPTY);
                post_ses(t, evd, i, 1);
                expect_notified(t, cno, evd);
        }
        expect_ses(t, evd, 0, 10);
}

/*
 * EVDs that do not notify
 */

CASE(cno_wait, disabled_evd)
{
        EACH_SOURCE (kind) {
                struct agent *agent = agent_new(t);
                DAT_CNO_HANDLE cno = cno_with(t, agent);
                struct source source = source_feeding(t, kind, cno);
                DAT_EVD_HANDLE evd = feeding(t, cno);
                struct waiter *waiter;

                must(dat_evd_disable(source.evd));
                waiter = wait_on_cno(t, cno, DAT_TIMEOUT_INFINITE);
                expect_wait(waiter);
                source_bring(t, &source, 0, 3);
                expect_asleep(waiter);
                expect_uncalled(t, agent);
                post_ses(t, evd, 0, 1);

                expect_told(t, waiter, evd);
                expect_none(t, cno);
                expect_source_events(t, &source, 0, 3);
        }
}

CASE(cno_wait, waited_evd)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct source source = source_feeding(t, kind, cno);
                struct source other = source_feeding(t, kind, cno);
                struct waiter *direct = wait_on_evd(t, source.evd, DAT_TIMEOUT_INFINITE, 3);
                struct waiter *waiter = wait_on_cno(t, cno, DAT_TIMEOUT_INFINITE);

                must_wait(direct);
                expect_wait(waiter);
                source_bring(t, &source, 0, 3);
                expect(expect_awake(direct).ret, DAT_SUCCESS);
                expect_asleep(waiter);
                source_bring(t, &other, 0, 1);

                expect_told(t, waiter, other.evd);
                expect_none(t, cno);
                source_bring(t, &source, 3, 1);
                expect_notified(t, cno, source.evd);
        }
}

FAMILY(cno_wait, waited_stream, event_kinds)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = cno_new(t);
        struct brought brought = feeding_kind(t, row, cno);
        DAT_EVD_HANDLE evd = feeding(t, cno);
        struct waiter *direct;
        struct waiter *waiter;
        struct woken woken;

        agent_given(t, cno, agent);
        direct = wait_on_evd(t, brought.evd, DAT_TIMEOUT_INFINITE, 1);
        waiter = wait_on_cno(t, cno, DAT_TIMEOUT_INFINITE);
        must_wait(direct);
        expect_wait(waiter);
        row->bring(t, &brought);
        woken = expect_awake(direct);
        expect(woken.ret, DAT_SUCCESS);
        expect_brought(t, row, &brought, &woken.event);
        expect_asleep(waiter);
        expect_uncalled(t, agent);
        post_ses(t, evd, 0, 1);

        expect_told(t, waiter, evd);
        expect_none(t, cno);
}

FAMILY(cno_wait, no_notification, silences)
{
        expect_cno_silent(t, row, NULL);
}

/*
 * Several threads
 */

#define WAITERS 4
#define LOOKS   300 /* for a thread that returns */

/* How many of the waiters have returned, once they are more than before. */
static int returned(struct test *t, struct waiter *const *waiters, int before)
{
        int back = 0;

        for (int look = 0; back <= before && look < LOOKS; look++) {
                settle_briefly(t);
                back = 0;
                for (int i = 0; i < WAITERS; i++)
                        back += !is_waiting(waiters[i]);
        }
        return back;
}

CASE(cno_wait, several_waiters)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = feeding(t, cno);
        struct waiter *waiters[WAITERS];
        int back = 0;

        for (int i = 0; i < WAITERS; i++) {
                waiters[i] = wait_on_cno(t, cno, DAT_TIMEOUT_INFINITE);
                expect_wait(waiters[i]);
        }
        for (unsigned int i = 0; i < WAITERS && back < WAITERS; i++) {
                int before = back;

                post_ses(t, evd, i, 1);
                back = returned(t, waiters, before);
                expect_that(back > before, "an event wakes none of %d threads", WAITERS - before);
                record(t, "an event wakes %d of %d threads", back - before, WAITERS - before);
        }
        for (int i = 0; i < WAITERS; i++)
                expect_told(t, waiters[i], evd);
}

static DAT_RETURN post_one(void *evd)
{
        DAT_EVENT event = se_event(5);

        return dat_evd_post_se(evd, &event);
}

struct waiting {
        DAT_CNO_HANDLE cno;
        DAT_EVD_HANDLE named;
        DAT_TIMEOUT timeout;
};

static DAT_RETURN wait_for(void *arg)
{
        struct waiting *waiting = arg;

        return dat_cno_wait(waiting->cno, waiting->timeout, &waiting->named);
}

CASE(cno_wait, event_while_thread_enters, DEADLINE_MS(20000))
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = feeding(t, cno);
        struct stress stress = stress_of(t, 300);

        while (stress_round(&stress)) {
                struct waiting waiting = {.cno = cno, .timeout = DAT_TIMEOUT_INFINITE};
                struct racer racers[] = {
                    {.call = wait_for, .arg = &waiting},
                    {.call = post_one, .arg = evd},
                };

                stress_met(&stress, race(racers, 2));
                expect(racers[0].ret, DAT_SUCCESS);
                expect(racers[1].ret, DAT_SUCCESS);
                expect_that(waiting.named == evd, "the CNO names another EVD");
                expect_ses(t, evd, 5, 1);
                expect_none(t, cno);
        }
        must_have_met(&stress);
}

#define SHORT_WAIT 30000 /* us */

/* Whether a wait of SHORT_WAIT had time left when a call had returned. */
static bool lasts_beyond(const struct racer *wait, const struct racer *call)
{
        return wait->began_ns + UINT64_C(1000) * SHORT_WAIT > call->ended_ns;
}

CASE(cno_wait, by_threads_at_once, DEADLINE_MS(20000))
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = feeding(t, cno);
        struct stress stress = stress_of(t, 50);

        while (stress_round(&stress)) {
                struct waiting waitings[] = {{.cno = cno, .timeout = SHORT_WAIT},
                                             {.cno = cno, .timeout = SHORT_WAIT}};
                struct racer racers[] = {
                    {.call = wait_for, .arg = &waitings[0]},
                    {.call = wait_for, .arg = &waitings[1]},
                    {.call = post_one, .arg = evd},
                };
                int told = 0;

                stress_met(&stress, race(racers, 3));
                expect(racers[2].ret, DAT_SUCCESS);
                for (int i = 0; i < 2; i++) {
                        bool success = dat_is(expect(racers[i].ret, DAT_SUCCESS, DAT_QUEUE_EMPTY),
                                              DAT_SUCCESS);

                        expect_that(waitings[i].named == (success ? evd : DAT_HANDLE_NULL),
                                    "the CNO names another EVD");
                        told += success;
                }
                /* Both may have waited their time before the event came: the next wait has it. */
                if (told == 0) {
                        expect_that(!lasts_beyond(&racers[0], &racers[2]) &&
                                        !lasts_beyond(&racers[1], &racers[2]),
                                    "an event wakes none of two threads");
                        expect_notified(t, cno, evd);
                }
                forget_notice(cno);
                expect_ses(t, evd, 5, 1);
        }
        must_have_met(&stress);
}

/*
 * Waiters that are released
 */

/* Any return, but one that names an EVD (CNO-2). */
static void expect_let_go(struct test *t, struct waiter *waiter)
{
        struct woken woken = expect_awake(waiter);

        expect_that(!dat_is(woken.ret, DAT_SUCCESS) || woken.evd == DAT_HANDLE_NULL,
                    "a released waiter gets an EVD");
        record(t, "released with %s", name_of_return(woken.ret));
}

CASE(cno_wait, last_evd_freed)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evds[] = {feeding(t, cno), feeding(t, cno), feeding(t, cno)};
        struct waiter *waiter = wait_on_cno(t, cno, DAT_TIMEOUT_INFINITE);

        expect_wait(waiter);
        release(t, evds[1]);
        release(t, evds[0]);
        expect_asleep(waiter);
        release(t, evds[2]);

        expect_let_go(t, waiter);
}

/* One EVD has left the CNO before, and one has joined it. */
CASE(cno_wait, last_evd_of_changed)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_CNO_HANDLE other = cno_new(t);
        DAT_EVD_HANDLE left = feeding(t, cno);
        DAT_EVD_HANDLE stays = feeding(t, cno);
        DAT_EVD_HANDLE joined = feeding(t, other);
        struct waiter *waiter;

        must(dat_evd_modify_cno(left, other));
        must(dat_evd_modify_cno(joined, cno));
        waiter = wait_on_cno(t, cno, DAT_TIMEOUT_INFINITE);
        expect_wait(waiter);
        release(t, stays);
        expect_asleep(waiter);
        release(t, joined);

        expect_let_go(t, waiter);
        post_ses(t, left, 0, 1);
        expect_notified(t, other, left);
}

CASE(cno_wait, all_waiters_let_go)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = feeding(t, cno);
        struct waiter *waiters[WAITERS];

        for (int i = 0; i < WAITERS; i++) {
                waiters[i] = wait_on_cno(t, cno, DAT_TIMEOUT_INFINITE);
                expect_wait(waiters[i]);
        }
        release(t, evd);

        for (int i = 0; i < WAITERS; i++)
                expect_let_go(t, waiters[i]);
}

static void expect_agent_let_go(struct test *t, DAT_CNO_HANDLE cno, struct agent *agent)
{
        DAT_EVD_HANDLE evds[] = {feeding(t, cno), feeding(t, cno)};

        release(t, evds[0]);
        expect_uncalled(t, agent);
        release(t, evds[1]);

        expect_called(t, agent, DAT_HANDLE_NULL);
}

/* Whether the CNO was made with the agent, or was given it. */
CASE(cno_wait, agent_let_go)
{
        struct agent *agents[] = {agent_new(t), agent_new(t)};
        DAT_CNO_HANDLE cno = cno_new(t);

        expect_agent_let_go(t, cno_with(t, agents[0]), agents[0]);
        agent_given(t, cno, agents[1]);
        expect_agent_let_go(t, cno, agents[1]);
}

/* The last EVD goes twice: while no thread waits, and from under one. */
CASE(cno_wait, used_again_after_last_evd)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = feeding(t, cno);
        struct waiter *waiter;

        release(t, evd);
        evd = feeding(t, cno);
        waiter = wait_on_cno(t, cno, DAT_TIMEOUT_INFINITE);
        expect_wait(waiter);
        post_ses(t, evd, 0, 1);
        expect_told(t, waiter, evd);

        waiter = wait_on_cno(t, cno, DAT_TIMEOUT_INFINITE);
        expect_wait(waiter);
        release(t, evd);
        expect_let_go(t, waiter);

        evd = feeding(t, cno);
        post_ses(t, evd, 0, 1);
        expect_notified(t, cno, evd);
}

#define CLOSING_CNOS    2 /* of the IA that is closed */
#define CLOSING_WAITERS 3 /* two of the first CNO, and one of the last */

CASE(cno_wait, ia_closed)
{
        DAT_IA_HANDLE closing = other_ia(t);
        DAT_CNO_HANDLE here = cno_new(t);
        DAT_CNO_HANDLE there[CLOSING_CNOS];
        DAT_EVD_HANDLE evd = feeding(t, here);
        struct waiter *stays;
        struct waiter *waiters[CLOSING_WAITERS];

        for (int i = 0; i < CLOSING_CNOS; i++)
                must(dat_cno_create(closing, DAT_OS_WAIT_PROXY_AGENT_NULL, &there[i]));
        stays = wait_on_cno(t, here, DAT_TIMEOUT_INFINITE);
        expect_wait(stays);
        for (int i = 0; i < CLOSING_WAITERS; i++) {
                waiters[i] = wait_on_cno(t, there[i / 2], DAT_TIMEOUT_INFINITE);
                expect_wait(waiters[i]);
        }
        disown(t, closing);
        must(dat_ia_close(closing, DAT_CLOSE_ABRUPT_FLAG));

        for (int i = 0; i < CLOSING_WAITERS; i++)
                expect_let_go(t, waiters[i]);
        expect_asleep(stays);
        post_ses(t, evd, 0, 1);
        expect_told(t, stays, evd);
}

static void expect_usable_after_signal(struct test *t, DAT_TIMEOUT timeout)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = feeding(t, cno);
        struct waiter *waiter = wait_on_cno(t, cno, timeout);

        expect_wait(waiter);
        waiter_interrupt(t, waiter);
        settle(t);
        if (is_waiting(waiter)) {
                record(t, "the wait continues");
                post_ses(t, evd, 0, 1);
                expect_told(t, waiter, evd);
        } else {
                expect(expect_awake(waiter).ret, DAT_INTERRUPTED_CALL);
        }
        post_ses(t, evd, 1, 1);
        expect_notified(t, cno, evd);
        expect_none(t, cno);
}

CASE(cno_wait, signal)
{
        expect_usable_after_signal(t, DAT_TIMEOUT_INFINITE);
        expect_usable_after_signal(t, 4 * event_timeout(t));
}

LEGAL(cno_wait)
{
        static DAT_EVD_HANDLE evd;

        call->cno_handle = cno_new(t);
        call->timeout = 0;
        call->evd_handle = &evd;
        post_ses(t, feeding(t, call->cno_handle), 0, 1);
}
