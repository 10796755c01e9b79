/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that other threads of the case make: waits that are proven to wait before the case acts,
 * calls at the same instant, and rounds of such races. A thread makes its one call and no more; the
 * case looks at what came of it. The pages say which calls several threads may make
 * (MT-Level: Safe); for the others the clause needs "thread_safe_supported".
 */
#ifndef HARNESS_WAITER_H
#define HARNESS_WAITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "case/check.h"
#include "dat_api.h"

struct test;
struct waiter;

/*
 * A thread that makes a call which is to block: dat_evd_wait, dat_cno_wait, or any call as function
 * and argument. Each returns at once; teardown ends what still waits on an EVD, by
 * dat_evd_set_unwaitable. A wait on a CNO that the case does not end needs a timeout.
 */
struct waiter *wait_on_evd(struct test *t, DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout,
                           DAT_COUNT threshold);
struct waiter *wait_on_cno(struct test *t, DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout);
struct waiter *wait_in(struct test *t, DAT_RETURN (*call)(void *arg), void *arg);

/*
 * Returns when the waiter waits: it has entered its call, and sleeps in it for 10 ms without a
 * break, by what the kernel tells of the thread; or polls in it, by the processor time that it
 * spends there, or by many short sleeps. A sleep of a fixed length is none that waits. A waiter
 * that has returned instead ends the case as BLOCKED by its call (must_wait) or as FAIL
 * (expect_wait). If the event deadline passes before the wait is seen, the case ends in ERROR.
 */
#define must_wait(waiter_)   waiter_waits(t, CHECK_SITE_(#waiter_ " waits"), (waiter_), false)
#define expect_wait(waiter_) waiter_waits(t, CHECK_SITE_(#waiter_ " waits"), (waiter_), true)
void waiter_waits(struct test *t, const struct check_site *site, struct waiter *waiter,
                  bool clause);

/* The same without a check: false where the waiter has returned instead. */
bool waiter_settles(struct test *t, struct waiter *waiter);

/* What the call came back with, and how long it took by CLOCK_MONOTONIC. */
struct woken {
        DAT_RETURN ret;
        DAT_EVENT event;    /* of dat_evd_wait */
        DAT_COUNT more;     /* of dat_evd_wait */
        DAT_EVD_HANDLE evd; /* of dat_cno_wait */
        uint64_t us;
};

/*
 * The call returns within the event deadline, counted from now, else the case is BLOCKED by it
 * (must_awake) or FAIL (expect_awake); what it returned is for the case to check.
 */
#define must_awake(waiter_)   waiter_awake(t, CHECK_SITE_(#waiter_ " returns"), (waiter_), false)
#define expect_awake(waiter_) waiter_awake(t, CHECK_SITE_(#waiter_ " returns"), (waiter_), true)
struct woken waiter_awake(struct test *t, const struct check_site *site, struct waiter *waiter,
                          bool clause);

/* must_awake() of a wait that `call` had to end: the case is BLOCKED by that one. */
#define must_awake_by(call_, waiter_) \
        waiter_awake_by(t, CHECK_SITE_(#waiter_ " returns"), (waiter_), (call_))
struct woken waiter_awake_by(struct test *t, const struct check_site *site, struct waiter *waiter,
                             const char *call);

/* The waiter, proven to wait before, does so for one more quiet period, else FAIL. */
#define expect_asleep(waiter_) waiter_asleep(t, CHECK_SITE_(#waiter_ " still waits"), (waiter_))
void waiter_asleep(struct test *t, const struct check_site *site, struct waiter *waiter);

/* Sends a signal to the waiter's thread, whose handler does nothing and restarts no call. */
void waiter_interrupt(struct test *t, struct waiter *waiter);

/* Releases a waiter whose call has returned: its thread has ended then. */
void waiter_end(struct test *t, struct waiter *waiter);

/* Whether the call has not returned yet. */
bool is_waiting(struct waiter *waiter);

/* A call of a race; when it began and ended is by CLOCK_MONOTONIC. */
struct racer {
        DAT_RETURN (*call)(void *arg);
        void *arg;
        DAT_RETURN ret;
        uint64_t began_ns;
        uint64_t ended_ns;
};

/*
 * Makes all calls at about the same instant, each on a thread of its own: how far they are apart,
 * less than the time of a short call, is drawn. Returns when all have returned. If some
 * have not, and no call has returned within the event deadline, the case ends as FAIL. True where
 * two of them at least overlapped in time: they met.
 */
#define race(racers_, count_) \
        race_all(t, CHECK_SITE_("calls of threads beside each other"), (racers_), (count_))
bool race_all(struct test *t, const struct check_site *site, struct racer *racers, size_t count);

/* A number from 0 to `below` - 1, drawn from the run's seed and the case's id. */
uint64_t draw(struct test *t, uint64_t below);

/*
 * Rounds of a race, at most `rounds`, and no more than half of the case's deadline:
 *
 *	struct stress stress = stress_of(t, 500);
 *
 *	while (stress_round(&stress))
 *		stress_met(&stress, race(racers, 2));
 *	must_have_met(&stress);
 *
 * must_have_met() records how many rounds met, and ends in ERROR where none did.
 */
struct stress {
        struct test *t;
        unsigned int rounds;
        unsigned int done;
        unsigned int met;
        uint64_t until_ns;
};
struct stress stress_of(struct test *t, unsigned int rounds);
bool stress_round(struct stress *stress);
void stress_met(struct stress *stress, bool met);
void must_have_met(const struct stress *stress);

#endif
