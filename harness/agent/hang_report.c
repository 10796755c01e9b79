/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/hang_report.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "evidence/lines.h"
#include "evidence/stacks.h"

/* When those that have not answered the first signal are sent the second. */
#define ASK_AGAIN_LOOKS 20
#define STATUS_MAX      4096

/* A file of a thread's in /proc; empty where it cannot be read. */
static void read_file(int tasks, pid_t thread, const char *name, char *text, size_t size)
{
        char path[64];
        ssize_t length = -1;
        int fd;

        snprintf(path, sizeof(path), "%d/%s", (int)thread, name);
        fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
                length = read(fd, text, size - 1);
                close(fd);
        }
        text[length < 0 ? 0 : length] = '\0';
}

/* What stands behind a name in a thread's status, or NULL. */
static const char *status_field(const char *status, const char *name)
{
        const char *at = strstr(status, name);

        return at ? at + strlen(name) : NULL;
}

/* The last of the thread's numbers, one for each PID namespace that it is in. */
static pid_t inside_of(int tasks, pid_t thread)
{
        char status[STATUS_MAX];
        const char *at;
        char *end;
        long last = 0;

        read_file(tasks, thread, "status", status, sizeof(status));
        at = status_field(status, "\nNSpid:");
        while (at && *at && *at != '\n') {
                long number = strtol(at, &end, 10);

                if (end == at)
                        break;
                last = number;
                at = end;
        }
        return (pid_t)last;
}

static int open_tasks(const struct child *child)
{
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/task", (int)atomic_load(&child->evidence->pid));
        return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void list_threads(struct hang_report *report, const struct child *child)
{
        int tasks = open_tasks(child);
        DIR *dir = tasks < 0 ? NULL : fdopendir(tasks);
        const struct dirent *entry;

        if (!dir && tasks >= 0)
                close(tasks);
        while (dir && (entry = readdir(dir))) {
                pid_t in_proc = (pid_t)strtol(entry->d_name, NULL, 10);

                if (in_proc <= 0)
                        continue;
                if (report->count == STACKS_MAX)
                        report->more++;
                else
                        report->threads[report->count++] = (struct hang_report_thread){
                            .in_proc = in_proc, .inside = inside_of(tasks, in_proc)};
        }
        if (dir)
                closedir(dir);
}

static const struct stack *answer_of(const struct evidence *evidence,
                                     const struct hang_report_thread *thread)
{
        for (size_t i = 0; i < STACKS_MAX; i++) {
                const struct stack *stack = &evidence->stacks.at[i];

                if (thread->inside && atomic_load(&stack->id) == thread->inside)
                        return stack;
        }
        return NULL;
}

/* A process that was stopped continues, to where its threads stay when they have answered. */
static void ask(const struct hang_report *report, const struct child *child, int signal)
{
        for (unsigned int i = 0; i < report->count; i++)
                if (report->threads[i].inside > 0 &&
                    !answer_of(child->evidence, &report->threads[i]))
                        syscall(SYS_tgkill, child->pid, report->threads[i].inside, signal);
        kill(child->pid, SIGCONT);
}

void hang_report_ask(struct hang_report *report, const struct child *child)
{
        struct stacks *stacks = &child->evidence->stacks;

        *report = (struct hang_report){
            .asked = true,
            .teardown = atomic_load(&child->evidence->phase) != PHASE_BODY,
        };
        for (size_t i = 0; i < STACKS_MAX; i++)
                if (atomic_load(&stacks->at[i].id) || atomic_load(&stacks->at[i].told))
                        memset(&stacks->at[i], 0, sizeof(stacks->at[i]));
        atomic_store(&stacks->taken, 0);
        atomic_store(&stacks->asked, 1);
        list_threads(report, child);
        ask(report, child, STACKS_SIGNAL);
}

static bool all_told(const struct hang_report *report, const struct evidence *evidence)
{
        for (unsigned int i = 0; i < report->count; i++) {
                const struct stack *stack = answer_of(evidence, &report->threads[i]);

                if (!stack || !atomic_load(&stack->told))
                        return false;
        }
        return true;
}

/* What the kernel says of a thread that does not answer. */
static void ask_kernel(int tasks, struct hang_report_thread *thread)
{
        char status[STATUS_MAX];
        char where[64];
        const char *state;
        const char *blocked;
        bool blocks;

        read_file(tasks, thread->in_proc, "status", status, sizeof(status));
        read_file(tasks, thread->in_proc, "wchan", where, sizeof(where));
        state = status_field(status, "\nState:\t");
        blocked = status_field(status, "\nSigBlk:\t");
        blocks = blocked && (strtoull(blocked, NULL, 16) >> (STACKS_SIGNAL - 1) & 1);
        if (!state)
                snprintf(thread->why, sizeof(thread->why), "it had ended");
        else
                snprintf(thread->why, sizeof(thread->why),
                         "it did not answer%s: the kernel has it as %.*s%s%s",
                         blocks ? ", for it blocks all signals" : "", (int)strcspn(state, "\n"),
                         state, where[0] && where[0] != '0' ? " in " : "",
                         where[0] != '0' ? where : "");
}

static void give_up(struct hang_report *report, const struct child *child)
{
        int tasks = open_tasks(child);

        for (unsigned int i = 0; i < report->count; i++)
                if (!answer_of(child->evidence, &report->threads[i]))
                        ask_kernel(tasks, &report->threads[i]);
        if (tasks >= 0)
                close(tasks);
}

bool hang_report_look(struct hang_report *report, const struct child *child)
{
        report->looks++;
        if (all_told(report, child->evidence))
                return true;
        if (report->looks == ASK_AGAIN_LOOKS)
                ask(report, child, STACKS_OTHER_SIGNAL);
        if (report->looks < HANG_REPORT_MS / HANG_REPORT_LOOK_MS)
                return false;
        give_up(report, child);
        return true;
}

static json_t *event_new(const struct hang_report *report, unsigned long long seq)
{
        json_t *event =
            json_pack("{s:s s:I s:s}", "type", "event", "seq", (json_int_t)seq, "kind", "stack");

        if (report->teardown)
                json_object_set_new(event, "teardown", json_true());
        return event;
}

static json_t *render_stack(const struct hang_report *report, const struct evidence *evidence,
                            const struct stack *stack, unsigned long long seq)
{
        json_t *event = event_new(report, seq);
        const char *call;

        if (stack->thread && stack->thread <= UINT16_MAX) {
                json_object_set_new(event, "thread", json_integer(stack->thread));
                call = render_pending_of(evidence, stack->thread);
                if (call)
                        json_object_set_new(event, "call", json_string(call));
        }
        json_object_set_new(event, "name",
                            text_json(stack->name, strnlen(stack->name, sizeof(stack->name))));
        json_object_set_new(event, "backtrace", render_frames(&stack->frames));
        return event;
}

static json_t *render_silent(const struct hang_report *report, const char *why,
                             unsigned long long seq)
{
        json_t *event = event_new(report, seq);

        json_object_set_new(event, "backtrace", json_array());
        json_object_set_new(event, "why", text_json(why, strlen(why)));
        return event;
}

void hang_report_events(const struct hang_report *report, const struct evidence *evidence,
                        unsigned long long seq, render_emit *emit, void *context)
{
        char why[64];

        for (unsigned int i = 0; i < report->count; i++) {
                const struct hang_report_thread *thread = &report->threads[i];
                const struct stack *stack = answer_of(evidence, thread);

                render_tree(emit, context,
                            stack ? render_stack(report, evidence, stack, seq)
                                  : render_silent(report, thread->why, seq));
        }
        if (report->more == 0)
                return;
        snprintf(why, sizeof(why), "%u threads more were not asked", report->more);
        render_tree(emit, context, render_silent(report, why, seq));
}
