/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/run_standalone.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agent/containment.h"
#include "agent/probe_result.h"
#include "agent/run.h"
#include "agent/verdict.h"

#define PROBE_DEADLINE_MS 15000

static int watch_children(void)
{
        sigset_t child;

        sigemptyset(&child);
        sigaddset(&child, SIGCHLD);
        sigprocmask(SIG_BLOCK, &child, NULL);
        return signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void tell_debugger(const struct run *run)
{
        int pid = atomic_load(&run->main.evidence->pid);

        fprintf(stderr,
                "process %d waits for a debugger: gdb -p %d -ex 'handle SIGSTOP nostop noprint "
                "nopass' -ex 'break CALL' -ex continue\n",
                pid, pid);
}

static void finish(struct run *run, int signals)
{
        bool told = false;

        while (!run_done(run)) {
                struct pollfd fds[RUN_FDS_MAX + 1];
                struct signalfd_siginfo signal;
                int count = run_fds(run, fds);

                fds[count++] = (struct pollfd){.fd = signals, .events = POLLIN};
                poll(fds, (nfds_t)count, run_timeout_ms(run));
                while (read(signals, &signal, sizeof(signal)) > 0)
                        ;
                run_step(run, fds, count);
                if (run->stop_announced && !told) {
                        tell_debugger(run);
                        told = true;
                }
        }
}

static const char *text_of(const json_t *event, const char *key)
{
        const char *text = json_string_value(json_object_get(event, key));

        return text ? text : "";
}

static void print_pairs(const json_t *list, const char *between)
{
        size_t i;
        json_t *pair;

        json_array_foreach(list, i, pair)
            printf("%s%s=%s", i ? between : "", json_string_value(json_array_get(pair, 0)),
                   json_string_value(json_array_get(pair, 1)));
}

static const char *by_thread(const json_t *event)
{
        static char text[32];
        const json_t *thread = json_object_get(event, "thread");

        text[0] = '\0';
        if (thread)
                snprintf(text, sizeof(text), "thread %lld: ", json_integer_value(thread));
        return text;
}

static void print_call(const json_t *event)
{
        const json_t *out = json_object_get(event, "out");
        const char *subtype = text_of(event, "sub");

        printf("%4lld %s%s%s%s(", json_integer_value(json_object_get(event, "n")), by_thread(event),
               strcmp(text_of(event, "who"), "peer") == 0 ? "peer: " : "",
               json_is_true(json_object_get(event, "teardown")) ? "teardown: " : "",
               text_of(event, "call"));
        print_pairs(json_object_get(event, "args"), ", ");
        if (json_is_true(json_object_get(event, "unfinished"))) {
                printf(") did not return\n");
                return;
        }
        printf(") = %s%s%s", text_of(event, "ret"), *subtype ? ", " : "", subtype);
        printf("  [%lld us]", json_integer_value(json_object_get(event, "us")));
        if (json_array_size(out)) {
                printf("\n       -> ");
                print_pairs(out, "\n          ");
        }
        printf("\n");
}

static void print_list(const json_t *list, const char *before)
{
        size_t i;
        json_t *line;

        json_array_foreach(list, i, line) printf("%s%s\n", before, json_string_value(line));
}

static void print_check(const json_t *event)
{
        bool ok = json_is_true(json_object_get(event, "ok"));

        printf("%s %s: %s  (%s:%lld, after call %lld)\n", ok ? "  ok" : "FAIL",
               text_of(event, "role"), text_of(event, "text"), text_of(event, "file"),
               json_integer_value(json_object_get(event, "line")),
               json_integer_value(json_object_get(event, "calls")));
        if (ok)
                return;
        print_list(json_object_get(event, "expected"), "       expected: ");
        printf("       seen:     %s\n", text_of(event, "seen"));
}

static void print_stack(const json_t *event)
{
        const char *call = json_string_value(json_object_get(event, "call"));
        json_int_t thread = json_integer_value(json_object_get(event, "thread"));

        printf("stack of thread");
        if (thread)
                printf(" %lld", thread);
        printf("%s%s: %s\n", call ? ", in " : "", call ? call : "",
               json_object_get(event, "why") ? text_of(event, "why") : text_of(event, "name"));
        print_list(json_object_get(event, "backtrace"), "       ");
}

static void print_event(void *context, const char *text, size_t length)
{
        json_t *event = json_loadb(text, length, 0, NULL);
        const char *kind = text_of(event, "kind");

        (void)context;
        if (strcmp(kind, "call") == 0) {
                print_call(event);
        } else if (strcmp(kind, "check") == 0) {
                print_check(event);
        } else if (strcmp(kind, "crash") == 0) {
                printf("crash%s: %s\n",
                       json_is_true(json_object_get(event, "teardown")) ? " in teardown" : "",
                       text_of(event, "signal"));
                print_list(json_object_get(event, "backtrace"), "       ");
        } else if (strcmp(kind, "stack") == 0) {
                print_stack(event);
        } else {
                printf("%s: %s\n", kind, text_of(event, "text"));
        }
        json_decref(event);
}

static int exit_status(const char *verdict)
{
        static const struct {
                const char *verdict;
                int status;
        } statuses[] = {
            {"PASS", 0},  {"NOTE", 0},    {"FAIL", 1},
            {"CRASH", 1}, {"TIMEOUT", 1}, {"CONTRADICTED", 1},
        };

        for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
                if (strcmp(verdict, statuses[i].verdict) == 0)
                        return statuses[i].status;
        return 2;
}

/* What broke in teardown, a line each; whether anything did. */
static bool print_teardown(const json_t *list)
{
        size_t i;
        json_t *broken;

        json_array_foreach(list, i, broken)
            printf("in teardown: %s: %s, saw %s\n", text_of(broken, "call"),
                   text_of(broken, "what"), text_of(broken, "saw"));
        return json_array_size(list) > 0;
}

static int print_verdict(const struct run *run)
{
        json_t *message = run_verdict(run);
        const char *verdict = text_of(message, "verdict");
        const char *reason = text_of(message, "reason");
        const char *pending = text_of(message, "pending");
        int status = exit_status(verdict);

        if (run->output.length)
                printf("--- output ---\n%s\n--- end of output ---\n", text_of(message, "output"));
        printf("%s %s%s%s%s%s%s\n", verdict, text_of(message, "case"), *reason ? ": " : "", reason,
               *pending ? " (in " : "", pending, *pending ? ")" : "");
        if (print_teardown(json_object_get(message, "teardown")))
                status = 1;
        json_decref(message);
        return status;
}

static int no_means(void)
{
        fprintf(stderr, "the host has not the means for a process: %s\n", strerror(errno));
        return 2;
}

static bool probe_entry(struct run *run, int signals, struct probe_job *job, struct probe *probe)
{
        bool more = true;

        while (more) {
                if (!run_probe(run, job, PROBE_DEADLINE_MS))
                        return false;
                finish(run, signals);
                more = run_probed(run, job, probe);
                job->ia = probe->ia;
                run_forget(run);
        }
        return true;
}

/* Tries the features that no attribute tells of, and prints what was found. */
static void try_features(struct run *run, int signals, struct trials *trials)
{
        json_t *found;

        while (trials_next(trials, run)) {
                finish(run, signals);
                trials_take(trials, run);
                run_forget(run);
        }
        found = trials_json(trials);
        if (found) {
                printf("features of which dat_ia_query tells nothing: ");
                json_dumpf(found, stdout, 0);
                printf("\n");
        }
        json_decref(found);
}

int run_standalone(const struct case_ref *ref, const struct standalone *how)
{
        static struct probe probe;
        static struct probe threadsafe;
        static struct trials trials;
        static struct run run;
        int signals = watch_children();
        struct case_job job = {
            .ref = ref,
            .settings =
                {
                    .ia = probe.ia,
                    .deadline_ms =
                        how->deadline_ms ? how->deadline_ms : case_deadline_ms(ref->entry),
                    .event_ms = how->event_ms,
                    .quiet_ms = how->quiet_ms,
                    .peer_mode = PEER_MODE_LOCAL,
                    .gdb = how->wait_for_debugger,
                    .seed = how->seed,
                },
        };
        struct probe_job asked = {.ia = how->ia};
        int status;

        containment_adopt();
        if (!probe_entry(&run, signals, &asked, &probe))
                return no_means();
        asked.ia = probe.ia;
        asked.looks = true;
        if (probe.open && !probe_entry(&run, signals, &asked, &probe))
                return no_means();
        asked.looks = false;
        asked.threadsafe = true;
        if (probe.open && !probe_entry(&run, signals, &asked, &threadsafe))
                return no_means();
        for (enum unasked i = 0; i < UNASKED_COUNT; i++)
                if (probe.unasked[i][0])
                        printf("%s is not called: %s\n", unasked_call(i), probe.unasked[i]);
        trials_begin(&trials, &how->assumptions, &probe, &threadsafe);
        try_features(&run, signals, &trials);
        job.settings.probe = case_probe(ref, &probe, &threadsafe);
        job.settings.found = trials.found;
        if (!run_case(&run, 1, &job))
                return no_means();
        finish(&run, signals);
        run_events(&run, print_event, NULL);
        status = print_verdict(&run);
        run_forget(&run);
        return status;
}
