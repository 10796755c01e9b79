/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_rmr_bind: completion flags. */
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/evd/shared/dispatcher.h"
#include "cases/rmr/rmr_bind/fixtures.h"
#include "cases/rmr/shared/window.h"
#include "cases/shared/bits.h"
#include "cases/shared/cookies.h"
#include "cases/shared/point.h"
#include "clauses/rmr_bind.h"

#include <string.h>

#define FENCE DAT_COMPLETION_BARRIER_FENCE_FLAG

static const struct flagged {
        const char *id;
        DAT_COMPLETION_FLAGS of_ep, flags;
} flagged[] = {
    {"plain", PLAIN, PLAIN},
    {"suppress", PLAIN, SUPPRESS},
    {"fence", PLAIN, FENCE},
    {"suppress_fence", PLAIN, FLAGS(SUPPRESS | FENCE)},
    {"unsignalled_plain", UNSIGNAL, PLAIN},
    {"unsignalled", UNSIGNAL, UNSIGNAL},
    {"unsignalled_suppress", UNSIGNAL, FLAGS(UNSIGNAL | SUPPRESS)},
    {"unsignalled_fence", UNSIGNAL, FLAGS(UNSIGNAL | FENCE)},
    {"unsignalled_all", UNSIGNAL, FLAGS(UNSIGNAL | SUPPRESS | FENCE)},
};

/* Two binds with the flags and a plain one: each opens its region; what is suppressed tells
 * nothing. */
FAMILY(rmr_bind, flags, flagged)
{
        struct window window = window_with(t, .requests = row->of_ep);
        struct bind binds[3];

        for (size_t i = 0; i < 3; i++) {
                binds[i] = bind_of(t, &window);
                binds[i].segment = triplet(window.memory, i * WIDTH, WIDTH);
                binds[i].cookie = i;
                binds[i].flags = i < 2 ? row->flags : PLAIN;
                expect(rmr_bind_post(&binds[i]), DAT_SUCCESS);
        }

        for (int i = row->flags & SUPPRESS ? 2 : 0; i < 3; i++)
                expect_done(t, &window, &binds[i]);
        expect_empty(t, window.requests);
        for (size_t i = 0; i < 3; i++)
                expect_reached(t, &window, BY_WRITE, binds[i].context, i * WIDTH, WIDTH);
}

/* The completion of a bind whose cookie has bits in each byte. */
static const struct outcome {
        const char *id;
        size_t width;
        bool bound, too_late;
} outcomes[] = {
    {"bound_anew", WIDTH, .bound = true, .too_late = false},
    {"unbound", 0, .bound = true, .too_late = false},
    {"flushed", WIDTH, .bound = false, .too_late = true},
    {"unbind_flushed", 0, .bound = true, .too_late = true},
};

FAMILY(rmr_bind, cookie_of, outcomes)
{
        struct window window = window_with(t);
        struct bind bind = bind_of(t, &window);

        if (row->bound)
                expect_bound(t, &window, &bind);
        if (row->too_late)
                must_disconnect(t, window.near);
        bind.segment = triplet(window.memory, REGION, row->width);
        bind.cookie = EVERY_BYTE;
        expect(rmr_bind_post(&bind), DAT_SUCCESS);
        expect_bind_done(t, window.requests, bind.rmr, EVERY_BYTE,
                         row->too_late ? DAT_DTO_ERR_FLUSHED : DAT_RMR_BIND_SUCCESS);
        expect_empty(t, window.requests);
}

/* Unbound with each set of flags, and then bound: what is suppressed tells nothing. */
FAMILY(rmr_bind, flags_of_unbind, flagged)
{
        struct window window = window_with(t, .requests = row->of_ep);
        struct bind bind = bind_of(t, &window);
        struct bind unbind;

        expect_bound(t, &window, &bind);
        unbind = bind;
        unbind.segment.segment_length = 0;
        unbind.flags = row->flags;
        unbind.cookie = 1;
        bind.cookie = 2;
        expect(rmr_bind_post(&unbind), DAT_SUCCESS);
        expect(rmr_bind_post(&bind), DAT_SUCCESS);

        if (!(row->flags & SUPPRESS))
                expect_done(t, &window, &unbind);
        expect_done(t, &window, &bind);
        expect_empty(t, window.requests);
        expect_reached(t, &window, BY_WRITE, bind.context, REGION, WIDTH);
}

FAMILY(rmr_bind, flags_of_flushed, flagged)
{
        struct window window = window_with(t, .requests = row->of_ep);
        struct bind binds[] = {bind_of(t, &window), bind_of(t, &window)};
        struct loop loop;

        loop =
            (struct loop){.active = window.near, .passive = window.far, .requests = request_evd(t)};
        binds[0].flags = row->flags;
        for (uint64_t cookie = 40; cookie <= 42; cookie += 2) {
                if (cookie > 40)
                        ep_join_anew(t, &loop);
                must_end(t, &loop);
                for (uint64_t i = 0; i < 2; i++) {
                        binds[i].cookie = cookie + i;
                        expect(rmr_bind_post(&binds[i]), DAT_SUCCESS);
                }
                for (uint64_t i = 0; i < 2; i++)
                        rmr_bind_expect_flushed(t, &window, &binds[i]);
                expect_empty(t, window.requests);
        }
}

/* The unsignalled flag, and what the EP is configured for instead of it. */
static const struct unconfigured {
        const char *id;
        unsigned int flags, of_ep, of_receives;
} unconfigured[] = {
    {"alone", UNSIGNAL, 0, 0},
    {"with_suppress", UNSIGNAL | SUPPRESS, 0, 0},
    {"with_fence", UNSIGNAL | FENCE, 0, 0},
    {"threshold", UNSIGNAL, DAT_COMPLETION_EVD_THRESHOLD_FLAG, 0},
    {"for_receives", UNSIGNAL, 0, UNSIGNAL},
};

FAMILY(rmr_bind, unsignalled_unconfigured, unconfigured)
{
        struct window window =
            window_with(t, .requests = FLAGS(row->of_ep), .receives = FLAGS(row->of_receives));
        struct bind bound = bind_of(t, &window);
        struct bind bind;

        expect_bound(t, &window, &bound);
        bind = bound;
        bind.flags = FLAGS(row->flags);
        bind.segment = triplet(window.memory, 0, 8);

        expect(rmr_bind_post(&bind), DAT_INVALID_PARAMETER);
        expect_no_bind(t, &window, &bound);
}

static const struct flags_row {
        const char *id;
        unsigned int flags;
        bool noted; /* success is a NOTE */
} undefined[] = {
    {"solicited", DAT_COMPLETION_SOLICITED_WAIT_FLAG, .noted = true},
    {"threshold", DAT_COMPLETION_EVD_THRESHOLD_FLAG, .noted = true},
    {"next_bit", 0x20, .noted = false},
    {"middle_bit", 1U << 16, .noted = false},
    {"highest_bit", 1U << 31, .noted = false},
    {"all_bits", ~0U, .noted = false},
};

FAMILY(rmr_bind, undefined_flags, undefined)
{
        struct window window = window_with(t);
        struct bind bound = bind_of(t, &window);
        struct bind bind;

        expect_bound(t, &window, &bound);
        bind = bound;
        bind.flags = FLAGS(row->flags);
        bind.segment = triplet(window.memory, 0, 8);

        if (!row->noted)
                expect(rmr_bind_post(&bind), DAT_INVALID_PARAMETER);
        else if (dat_is(expect_or_note(rmr_bind_post(&bind), DAT_INVALID_PARAMETER, DAT_SUCCESS),
                        DAT_SUCCESS))
                return;
        expect_no_bind(t, &window, &bound);
}

CASE(rmr_bind, each_undefined_flag)
{
        struct window window = window_with(t);
        struct bind bound = bind_of(t, &window);
        struct bind bind;

        expect_bound(t, &window, &bound);
        bind = bound;
        bind.segment = triplet(window.memory, 0, 8);

        EACH_UNDEFINED_BIT (bit, COMPLETION_FLAG_BITS) {
                bind.flags = FLAGS(bit);
                expect_bit(bit, rmr_bind_post(&bind), DAT_INVALID_PARAMETER);
        }
        expect_no_bind(t, &window, &bound);
}

/* The attributes of the RMR and the arguments of the call are unchanged after a refused bind. */
CASE(rmr_bind, refusal_changes_nothing_told)
{
        struct window window = window_with(t);
        struct bind bound = bind_of(t, &window);
        DAT_RMR_PARAM before;
        DAT_RMR_PARAM after;
        DAT_LMR_TRIPLET given;
        struct bind bind;

        expect_bound(t, &window, &bound);
        must(dat_rmr_query(bound.rmr, DAT_RMR_FIELD_ALL, &before));
        bind = bound;
        bind.flags = FLAGS(1U << 16);
        bind.privileges = READ;
        bind.segment = triplet(window.memory, 0, 8);
        memcpy(&given, &bind.segment, sizeof(given));
        expect(rmr_bind_post(&bind), DAT_INVALID_PARAMETER);

        must(dat_rmr_query(bound.rmr, DAT_RMR_FIELD_ALL, &after));
        expect_that(after.ia_handle == before.ia_handle, "another IA is reported");
        expect_that(after.pz_handle == before.pz_handle, "another PZ is reported");
        expect_eq(after.mem_priv, before.mem_priv);
        expect_bind_told(t, &bound);
        expect_that(memcmp(&given, &bind.segment, sizeof(given)) == 0, "the triplet was changed");
}

/* The triplet is read, and no more. */
CASE(rmr_bind, triplet_kept)
{
        struct window window = window_with(t);
        struct bind bind = bind_of(t, &window);
        DAT_LMR_TRIPLET given;

        memcpy(&given, &bind.segment, sizeof(given));
        expect_bound(t, &window, &bind);
        expect_that(memcmp(&given, &bind.segment, sizeof(given)) == 0, "the triplet was changed");
}

static DAT_CNO_HANDLE no_cno(struct test *t)
{
        (void)t;
        return DAT_HANDLE_NULL;
}

static const struct notice {
        const char *id;
        DAT_CNO_HANDLE (*cno)(struct test *t);
} notices[] = {
    {"evd", no_cno},
    {"cno", cno_new},
};

FAMILY(rmr_bind, wakes, notices)
{
        DAT_CNO_HANDLE cno = row->cno(t);
        struct window window = window_with(t, .cno = cno);
        struct bind bind = bind_of(t, &window);
        struct waiter *waiter;
        struct woken woken;

        if (cno) {
                forget_notice(cno);
                waiter = wait_on_cno(t, cno, event_timeout(t));
        } else {
                waiter = wait_on_evd(t, window.requests, DAT_TIMEOUT_INFINITE, 1);
        }
        must_wait(waiter);
        expect(rmr_bind_post(&bind), DAT_SUCCESS);
        woken = expect_awake(waiter);

        expect(woken.ret, DAT_SUCCESS);
        if (cno) {
                expect_that(woken.evd == window.requests, "the CNO names another EVD");
                expect_done(t, &window, &bind);
        } else {
                expect_eq(woken.event.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
                expect_that(woken.event.event_data.rmr_completion_event_data.rmr_handle == bind.rmr,
                            "the completion names another RMR");
        }
}

/* Who waits is not woken by what the flags keep quiet, but by the plain bind after it. */
static void expect_sleeps_on(struct test *t, struct window *window, DAT_COMPLETION_FLAGS flags,
                             uint64_t first)
{
        struct bind quiet = bind_of(t, window);
        struct bind plain = bind_of(t, window);
        struct waiter *waiter = wait_on_evd(t, window->requests, DAT_TIMEOUT_INFINITE, 1);
        struct woken woken;

        quiet.cookie = 1;
        quiet.flags = flags;
        plain.cookie = 2;
        must_wait(waiter);
        expect(rmr_bind_post(&quiet), DAT_SUCCESS);
        expect_asleep(waiter);
        expect(rmr_bind_post(&plain), DAT_SUCCESS);
        woken = expect_awake(waiter);

        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
        expect_eq(woken.event.event_data.rmr_completion_event_data.user_cookie.as_64, first);
        if (first == quiet.cookie)
                expect_done(t, window, &plain);
        expect_empty(t, window->requests);
}

/* On two connections of the EP. */
static void expect_quiet_bind(struct test *t, DAT_COMPLETION_FLAGS of_ep,
                              DAT_COMPLETION_FLAGS flags, uint64_t first)
{
        struct window window = window_with(t, .requests = of_ep);
        struct loop loop = {
            .active = window.near, .passive = window.far, .requests = request_evd(t)};

        expect_sleeps_on(t, &window, flags, first);
        must_end(t, &loop);
        ep_join_anew(t, &loop);
        expect_sleeps_on(t, &window, flags, first);
}

CASE(rmr_bind, unsignalled_wakes_nobody)
{
        expect_quiet_bind(t, UNSIGNAL, UNSIGNAL, 1);
}

CASE(rmr_bind, suppressed_wakes_nobody)
{
        expect_quiet_bind(t, PLAIN, SUPPRESS, 2);
}

CASE(rmr_bind, unsignalled_triggers_no_cno)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        struct window window = window_with(t, .requests = UNSIGNAL, .cno = cno);
        struct bind quiet = bind_of(t, &window);
        struct bind plain = bind_of(t, &window);

        forget_notice(cno);
        quiet.flags = UNSIGNAL;
        plain.cookie = 8;
        expect(rmr_bind_post(&quiet), DAT_SUCCESS);
        expect_no_notice(t, cno);
        expect(rmr_bind_post(&plain), DAT_SUCCESS);
        expect_notified(t, cno, window.requests);

        expect_done(t, &window, &quiet);
        expect_done(t, &window, &plain);
        expect_empty(t, window.requests);
}
