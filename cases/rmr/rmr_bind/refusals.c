/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_rmr_bind: binds that fail. */
#include "cases/ep/shared/states.h"
#include "cases/evd/shared/dispatcher.h"
#include "cases/rmr/rmr_bind/fixtures.h"
#include "cases/rmr/shared/window.h"
#include "clauses/rmr_bind.h"

#include <string.h>

#define ANSWERS  4
#define REFUSALS 3 /* of one bind: a later one may undo what the first one left */

/* How a bind may be refused: as the page has it, or by another name, which is a NOTE. */
struct answers {
        size_t count;
        DAT_RETURN passes[ANSWERS];
        DAT_RETURN note; /* DAT_SUCCESS: none */
        bool foreign;    /* of an object of another IA: a bind that is made is a NOTE (GEN-12) */
};

/* The bind was granted: it fails, and breaks the connection (GEN-9). */
static void expect_late_failure(struct test *t, const struct window *by, bool foreign)
{
        DAT_EVENT event = expect_event(by->requests, DAT_RMR_BIND_COMPLETION_EVENT);
        DAT_RMR_BIND_COMPLETION_STATUS status = event.event_data.rmr_completion_event_data.status;

        if (foreign && status == DAT_RMR_BIND_SUCCESS) {
                note(t, "granted, though the object is another IA's (GEN-12)");
                return;
        }
        expect_that(status != DAT_RMR_BIND_SUCCESS, "what may not be bound was bound");
        expect_event(ep_connect_evd(t, by->near), DAT_CONNECTION_EVENT_BROKEN);
        expect_eq(ep_state(t, by->near), DAT_EP_STATE_DISCONNECTED);
}

/* The bind, by the near EP of `by`, is none; and what `bound` has opened stays open. */
static void expect_not_bound(struct test *t, struct window *window, const struct window *by,
                             struct bind *bind, const struct bind *bound,
                             const struct answers *answers)
{
        for (int i = 0; i < REFUSALS; i++) {
                DAT_RETURN ret = rmr_bind_post(bind);

                if (dat_is(ret, DAT_SUCCESS)) {
                        expect_late_failure(t, by, answers->foreign);
                        return;
                }
                if (!answers->note || !dat_is(ret, answers->note))
                        check_expect(t, CHECK_SITE_("a bind of what may not be bound"), ret,
                                     answers->passes, answers->count);
                else if (!i)
                        note(t, "refused by another name than the page's (RMR-5)");
        }
        expect_empty(t, by->requests);
        expect_no_bind(t, window, bound);
}

static const struct beyond {
        const char *id;
        enum { FROM_START, BEFORE_FIRST, UP_TO_BEHIND, BEHIND } place; /* of what is registered */
        size_t offset;                                                 /* from its start */
        DAT_VLEN length; /* 0: from its start to one byte behind */
} beyonds[] = {
    {"before_lmr", BEFORE_FIRST, 0, WIDTH},
    {"after_lmr", UP_TO_BEHIND, 0, WIDTH},
    {"longer_than_lmr", FROM_START, 0, 0},
    {"behind_lmr", BEHIND, 0, 1},
    {"far_behind_lmr", FROM_START, (size_t)1 << 30, WIDTH},
    {"around_the_end", FROM_START, REGION, UINT64_MAX - 8},
    {"longer_by_far", FROM_START, REGION, WIDTH + SEGMENT_LONG},
    {"as_long_as_none", FROM_START, REGION, SEGMENT_LONG},
};

static DAT_LMR_TRIPLET beyond_memory(const struct buf *memory, const struct beyond *row)
{
        DAT_LMR_TRIPLET segment = triplet(memory, row->offset, row->length);

        if (row->place == BEFORE_FIRST)
                segment.virtual_address -= memory->before + 1;
        if (row->place == UP_TO_BEHIND)
                segment.virtual_address += memory->beyond - WIDTH + 1;
        if (row->place == BEHIND)
                segment.virtual_address += memory->beyond;
        if (!row->length)
                segment.segment_length = memory->beyond + 1;
        return segment;
}

FAMILY(rmr_bind, beyond_lmr, beyonds)
{
        static const struct answers answers = {1, {DAT_INVALID_PARAMETER}, .foreign = false};
        struct window window = window_with(t);
        struct bind bound = bind_of(t, &window);
        struct bind bind;

        expect_bound(t, &window, &bound);
        bind = bound;
        bind.segment = beyond_memory(window.memory, row);
        expect_not_bound(t, &window, &window, &bind, &bound, &answers);
}

static struct window ep_elsewhere(struct test *t, const struct window *window, struct bind *bind)
{
        struct window by = window_beside(t, window, pz_new(t), false);

        bind->ep = by.near;
        return by;
}

static struct window rmr_elsewhere(struct test *t, const struct window *window, struct bind *bind)
{
        bind->rmr = rmr_in(t, pz_new(t));
        return *window;
}

static struct window lmr_gone(struct test *t, const struct window *window, struct bind *bind)
{
        struct buf *gone = buf_with(t, .pz = window->pz);

        bind->segment = triplet(gone, 0, WIDTH);
        release(t, gone->lmr);
        return *window;
}

static struct window lmr_unknown(struct test *t, const struct window *window, struct bind *bind)
{
        (void)t;
        bind->segment.lmr_context = ~bind->segment.lmr_context;
        return *window;
}

static struct window lmr_foreign(struct test *t, const struct window *window, struct bind *bind)
{
        DAT_IA_HANDLE foreign = other_ia(t);

        bind->segment = triplet(buf_with(t, .ia = foreign, .pz = pz_of(t, foreign)), 0, WIDTH);
        return *window;
}

static struct window rmr_foreign(struct test *t, const struct window *window, struct bind *bind)
{
        bind->rmr = rmr_in(t, pz_of(t, other_ia(t)));
        return *window;
}

struct misfit {
        const char *id;
        struct window (*make)(struct test *t, const struct window *window, struct bind *bind);
        bool foreign;
};

static void expect_misfit(struct test *t, const struct misfit *row, const struct answers *answers)
{
        struct window window = window_with(t);
        struct bind bound = bind_of(t, &window);
        struct bind bind;
        struct window by;

        expect_bound(t, &window, &bound);
        bind = bound;
        by = row->make(t, &window, &bind);
        expect_not_bound(t, &window, &by, &bind, &bound, answers);
}

static const struct misfit zones[] = {
    {"lmr_of_other_zone", lmr_elsewhere, .foreign = false},
    {"ep_of_other_zone", ep_elsewhere, .foreign = false},
    {"rmr_of_other_zone", rmr_elsewhere, .foreign = false},
};

FAMILY(rmr_bind, other_zone, zones)
{
        static const struct answers answers = {
            1, {DAT_PROTECTION_VIOLATION}, .note = DAT_INVALID_PARAMETER};

        expect_misfit(t, row, &answers);
}

static const struct misfit wrong_objects[] = {
    {"freed_lmr", lmr_gone, .foreign = false},
    {"unknown_lmr", lmr_unknown, .foreign = false},
    {"lmr_of_other_ia", lmr_foreign, .foreign = true},
    {"rmr_of_other_ia", rmr_foreign, .foreign = true},
};

FAMILY(rmr_bind, wrong_object, wrong_objects)
{
        struct answers answers = {3,
                                  {DAT_PRIVILEGES_VIOLATION, DAT_PROTECTION_VIOLATION,
                                   DAT_INVALID_PARAMETER, DAT_INVALID_HANDLE},
                                  .foreign = row->foreign};

        /* By DAT 2.0 the LMR is an argument of its own, whose handle may be what is found bad. */
        if (row->foreign || REGISTRY_FOLLOWS_HANDLES)
                answers.count = 4;
        expect_misfit(t, row, &answers);
}
