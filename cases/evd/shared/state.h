/* SPDX-License-Identifier: BSD-2-Clause */
/* The states of an EVD that calls bring about, and what each is seen to do. */
#ifndef CASES_EVD_STATE_H
#define CASES_EVD_STATE_H

#include "cases/evd/shared/dispatcher.h"

struct evd_state {
        bool enabled;
        bool waitable;
};

/* The four combinations, with and without a CNO, as rows of families. */
static const struct evd_state_row {
        const char *id;
        struct evd_state state;
        bool has_cno;
} evd_states[] = {
    {"enabled_waitable", {.enabled = true, .waitable = true}, .has_cno = true},
    {"enabled_unwaitable", {.enabled = true}, .has_cno = true},
    {"disabled_waitable", {.waitable = true}, .has_cno = true},
    {"disabled_unwaitable", {.enabled = false}, .has_cno = true},
    {"enabled_waitable_without_cno", {.enabled = true, .waitable = true}, .has_cno = false},
    {"enabled_unwaitable_without_cno", {.enabled = true}, .has_cno = false},
    {"disabled_waitable_without_cno", {.waitable = true}, .has_cno = false},
    {"disabled_unwaitable_without_cno", {.enabled = false}, .has_cno = false},
};

/* Whether what dat_evd_query() has told is this state. */
bool is_in(DAT_EVD_STATE seen, struct evd_state state);

/* dat_evd_query() has told what the EVD is: else the case is BLOCKED by it, or FAIL on its page. */
void must_be_told_by_query(struct test *t, bool told, const char *instead);

/*
 * For where it has told something else of an EVD than was expected. If it is wrong about a new one
 * too, it is wrong itself, and nothing else is.
 */
void must_tell_of_new(struct test *t, DAT_EVD_FLAGS flags);

/* The same, of a state without one of its halves: no call takes that from an EVD. */
void must_tell_each_half(struct test *t, DAT_EVD_STATE seen);

/* Brings an EVD into this state, which is queried: the case is BLOCKED if it is another. */
void evd_enter(struct test *t, DAT_EVD_HANDLE evd, struct evd_state state);

/* An EVD for software events in this state. */
DAT_EVD_HANDLE evd_in(struct test *t, struct evd_state state, DAT_CNO_HANDLE cno);

#define TO_AND_FRO 501 /* calls of a thread that changes a state to and fro */

/*
 * Disables and enables the EVD in turn, so often, and disables it last; for a thread of a race:
 * between calls others get the processor, be it the only one. Returns the first error, or success.
 */
DAT_RETURN disable_to_and_fro(void *evd);

/* The same: makes the EVD unwaitable and waitable in turn, and unwaitable last. */
DAT_RETURN unwaitable_to_and_fro(void *evd);

#endif
