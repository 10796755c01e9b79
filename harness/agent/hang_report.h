/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the threads of a process are that had no end, asked before it is killed: each tells by
 * itself (evidence/stacks.h), and of one that does not the kernel says what it does. What comes of
 * it is shown, and decides nothing.
 */
#ifndef HARNESS_HANG_REPORT_H
#define HARNESS_HANG_REPORT_H

#include "agent/child.h"
#include "evidence/render.h"

/* How often it is looked whether all have answered, and how long they have for it. */
#define HANG_REPORT_LOOK_MS 10
#define HANG_REPORT_MS      1000

#define HANG_REPORT_TEXT_MAX 192

/* A thread that was asked, and of one that did not answer, why. */
struct hang_report_thread {
        pid_t in_proc; /* its number as /proc has it, and */
        pid_t inside;  /* as the process itself sees it */
        char why[HANG_REPORT_TEXT_MAX];
};

struct hang_report {
        bool asked;
        bool teardown;
        unsigned int looks;
        unsigned int more; /* threads that were not asked, for there are so many */
        unsigned int count;
        struct hang_report_thread threads[STACKS_MAX];
};

/* Asks the threads of `child`. */
void hang_report_ask(struct hang_report *report, const struct child *child);

/*
 * To be called each HANG_REPORT_LOOK_MS: true when all have answered or the time for it is over,
 * and the process can be killed.
 */
bool hang_report_look(struct hang_report *report, const struct child *child);

/* An event for each thread; none where no thread was asked. */
void hang_report_events(const struct hang_report *report, const struct evidence *evidence,
                        unsigned long long seq, render_emit *emit, void *context);

#endif
