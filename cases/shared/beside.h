/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Neighbours of a call: other calls that threads make beside it, on the same object or on what it
 * shares with others. A provider that leaves out a lock loses an update where they meet.
 */
#ifndef CASES_BESIDE_H
#define CASES_BESIDE_H

#include "case/waiter.h"

#define BESIDE_DEADLINE DEADLINE_MS(20000) /* of the case; the rounds take half of it at most */

/*
 * One thread's part: calls that it makes one after another, number `i` each. `ret` is the first
 * return that was not DAT_SUCCESS. A turn uses no function of the harness but the calls.
 */
struct part {
        DAT_RETURN (*turn)(void *arg, unsigned int i);
        void *arg;
        DAT_RETURN ret;
};

/*
 * Makes `turns` calls of each part, on threads that the scheduler switches between them and, at
 * times that are drawn, within them. True where a call began while one of another part was made:
 * they met.
 *
 *	struct stress stress = stress_of(t, BESIDE_ROUNDS);
 *
 *	while (stress.met < BESIDE_MET && stress_round(&stress))
 *		stress_met(&stress, beside(t, parts, 2, 16));
 *	must_have_met(&stress);
 */
#define BESIDE_PARTS  3
#define BESIDE_ROUNDS 120
#define BESIDE_MET    10 /* rounds that met, so that an unlocked update is lost in one */
bool beside(struct test *t, struct part *parts, size_t count, unsigned int turns);

/* The first step of a neighbour's turns that did not succeed; `call` is NULL if each did. */
struct broken_step {
        const char *call;
        DAT_RETURN ret;
};

/* Notes what a step of a turn returned. False where it did not succeed. */
bool step_worked(struct broken_step *broken, const char *call, DAT_RETURN ret);

/* The case is BLOCKED by the step that did not succeed. */
void must_have_worked(struct test *t, const struct broken_step *broken);

/* A turn that makes another EP and frees it. */
DAT_RETURN other_ep_turn(struct broken_step *broken, DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
                         DAT_EVD_HANDLE dto_evd, DAT_EVD_HANDLE connect_evd, DAT_EP_ATTR *attr);

#endif
