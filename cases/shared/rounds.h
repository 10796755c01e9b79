/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rounds that each make an object and free it again, so often that a free which frees nothing
 * shows: the IA has no room for the last one, or the process has more of the system after each part
 * of the rounds.
 */
#ifndef CASES_ROUNDS_H
#define CASES_ROUNDS_H

#include "case/waiter.h"
#include "cases/shared/usage.h"

#define ROUNDS_PARTS    8
#define ROUNDS_DEADLINE DEADLINE_MS(60000) /* of the case; the rounds take half of it at most */

/*
 *	CASE(evd_free, often, ROUNDS_DEADLINE)
 *	...
 *	struct rounds rounds = rounds_of(t, DAT_HANDLE_TYPE_EVD);
 *
 *	while (rounds_next(&rounds))
 *		free_now(t, evd_with(t));
 *	expect_no_leak(&rounds);
 *
 * They are one more than the IA publishes of that type, where that is few enough for the run: a
 * thorough one makes more. They end at half of the case's deadline. A round frees all that it
 * makes, and leaves no event behind.
 */
struct rounds {
        struct test *t;
        const char *name; /* of the limit; NULL where the pages have none for the type */
        DAT_COUNT limit;
        unsigned int objects; /* that a round makes */
        struct stress stress;
        struct usage usage[ROUNDS_PARTS + 1]; /* before each part, and at the end */
        unsigned int parts;                   /* that have begun, or the end */
};
struct rounds rounds_of(struct test *t, DAT_HANDLE_TYPE type);
/* The same for rounds that take long, as one that connects: a quarter of them, of several objects.
 */
struct rounds rounds_slow(struct test *t, DAT_HANDLE_TYPE type, unsigned int objects);
bool rounds_next(struct rounds *rounds);
void expect_no_leak(struct rounds *rounds);

#endif
