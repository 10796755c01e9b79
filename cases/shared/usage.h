/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process has of the system. */
#ifndef CASES_USAGE_H
#define CASES_USAGE_H

#include "case.h"

/*
 * What the process has: open descriptors, threads, children, bytes of address space, and bytes that
 * malloc() gave away. A C library that does not tell these has 0.
 */
struct usage {
        int descriptors;
        int threads;
        bool children;
        long mapped;
        long allocated;
};
struct usage usage_now(struct test *t);

/*
 * The process has no more than `before`, as soon as threads that have ended are gone, and what a
 * provider frees later is; `what` is what has been done in between. Memory is not looked at.
 */
void expect_nothing_left(struct test *t, const struct usage *before, const char *what);

#endif
