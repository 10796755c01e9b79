/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/case_process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/descriptors.h"
#include "case/later_event.h"
#include "case/needs.h"
#include "evidence/seal.h"

static void check_needs(struct test *t)
{
        const struct settings *settings = t->settings;
        char denied[NEED_TEXT_MAX];

        must_be_told(t, t->needs);
        if (!settings->undeclared &&
            needs_missing(t->needs, settings->probe, &settings->found, denied, sizeof(denied)))
                unsupported(t, denied);
}

static void run_body(struct test *t)
{
        if (t->settings->probe->open)
                check_needs(t);
        else if (!t->settings->ia[0])
                test_end(t, VERDICT_ERROR, "%s", t->settings->probe->reason);
        if (!t->entry->without_ia)
                ia_open(t);
        if (!t->settings->probe->open && !t->entry->without_ia)
                test_end(t, VERDICT_ERROR, "the IA opens now, but did not at first: %s",
                         t->settings->probe->reason);
        t->entry->body(t, t->row);
        later_events_look(t);
        t->verdict = t->notes ? VERDICT_NOTE : VERDICT_PASS;
}

/* An event that names the wrong objects fails any case, but for what it failed by itself. */
static void judge_events(struct test *t)
{
        const char *wrong = events_wrong();
        const char *of_srq = events_of_srq();

        if (of_srq && (t->verdict == VERDICT_PASS || t->verdict == VERDICT_NOTE)) {
                note(t, "%s", of_srq);
                t->verdict = VERDICT_NOTE;
        }
        if (!wrong || t->verdict == VERDICT_FAIL)
                return;
        t->verdict = VERDICT_FAIL;
        snprintf(t->reason, sizeof(t->reason), "%s", wrong);
}

/* A provider may give a handle again: that it then leads to an object is no failure. */
static void judge_reborn(struct test *t)
{
        const char *kind = handle_reborn();

        if (!kind || t->verdict != VERDICT_FAIL)
                return;
        t->verdict = VERDICT_ERROR;
        snprintf(t->reason, sizeof(t->reason),
                 "the handle of the destroyed %s was a live one's again before the case was done "
                 "with it: it destroys too early",
                 kind);
}

/* Opening and closing an IA may leave some descriptors: those are the provider's own business. */
static void report_descriptors(struct test *t, struct descriptors *after)
{
        const struct probe *probe = t->settings->probe;
        bool matched[PROBE_LEFT_MAX] = {false};

        for (size_t i = 0; i < after->count; i++) {
                size_t j = 0;

                while (j < probe->left_count &&
                       (matched[j] || strcmp(probe->left[j], after->at[i].target) != 0))
                        j++;
                if (j < probe->left_count)
                        matched[j] = true;
                else
                        leak(t, "descriptor %d was opened and is left: %s", after->at[i].fd,
                             after->at[i].target);
        }
}

/* A descriptor that is left is noted; not so where an object is, which may well hold it. */
static void conclude(struct test *t)
{
        if (t->leaks && !atomic_load(&t->evidence->refused) && t->verdict == VERDICT_PASS) {
                t->verdict = VERDICT_NOTE;
                snprintf(t->reason, sizeof(t->reason), "%s", t->leak);
        }
}

/*
 * If another process continues it, it stops again. The case of a debugger is not looked at. A copy
 * that the provider made of the process has no agent that waits for its stop.
 */
static void await_end(const struct test *t)
{
        if (t->settings->gdb || t->evidence->own_pid != getpid())
                return;
        do {
                raise(SIGSTOP);
        } while (END_SIGNAL == SIGKILL);
}

void case_process(const void *arg, struct evidence *evidence, int channel)
{
        static struct descriptors before;
        static struct descriptors after;
        static struct test test;
        const struct case_job *job = arg;
        struct test *t = &test;

        *t = (struct test){
            .entry = job->ref->entry,
            .row = job->ref->row,
            .needs = job->ref->needs,
            .settings = &job->settings,
            .evidence = evidence,
            .channel = channel,
            .to_peer = job->settings.peer_mode == PEER_MODE_LOCAL ? CHILD_PEER_FD : -1,
        };
        draw_begin(t, job->ref->id);
        if (job->settings.libdat_fault && *job->settings.libdat_fault)
                setenv("LIBDAT_FAULT", job->settings.libdat_fault, 1);
        if (job->settings.gdb)
                raise(SIGSTOP);
        descriptors_list(&before);
        events_watch(t);
        if (setjmp(t->end) == 0)
                run_body(t);
        judge_reborn(t);
        judge_events(t);
        verdict_seal(&evidence->body, SEAL_BODY, t->verdict, t->reason, &t->blocked);
        atomic_store(&evidence->phase, PHASE_TEARDOWN);
        teardown(t);
        descriptors_list(&after);
        descriptors_new(&after, &before);
        report_descriptors(t, &after);
        conclude(t);
        verdict_seal(&evidence->end, SEAL_END, t->verdict, t->reason, &t->blocked);
        atomic_store(&evidence->phase, PHASE_DONE);
        await_end(t);
}
