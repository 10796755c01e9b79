/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects of one parent that threads make and free beside each other: of one PZ, EVD, CNO or IA. A
 * provider that leaves out the lock of the parent's list or count loses one of them, and the parent
 * shows it: it can be freed too early, or never.
 */
#ifndef CASES_SIBLINGS_H
#define CASES_SIBLINGS_H

#include "case.h"

#define SIBLINGS_DEADLINE DEADLINE_MS(20000) /* of the case; the rounds take half of it at most */

enum sibling {
        SIBLING_PZ, /* of an IA */
        SIBLING_CNO,
        SIBLING_EVD, /* of a CNO */
        SIBLING_EP,  /* of a PZ */
        SIBLING_LMR,
        SIBLING_RMR,
        SIBLING_PSP, /* of an EVD */
        SIBLING_RSP,
};

struct sibling_row {
        const char *id;
        enum sibling other;
};

/*
 * Rounds in which a thread makes and frees objects of kind `own`, and another thread those of the
 * row's kind. While objects are left their parent cannot be freed; in the end it can be. The
 * clause's call is the one that frees `own`, or the one that makes it.
 */
void expect_freed_beside(struct test *t, enum sibling own, const struct sibling_row *row);
void expect_made_beside(struct test *t, enum sibling own, const struct sibling_row *row);

#endif
