/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/stall.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "evidence/api.h"

#define US_PER_MS 1000
#define NS_PER_S  UINT64_C(1000000000)
#define LOOK_NS   (STALL_LOOK_MS * NS_PER_MS)
#define UNLIMITED UINT32_MAX
/* Without a peer there is nothing on the network to wait for: so much of an event's time is left.
 */
#define LOCAL_PART 3
/* And so much for a call of teardown that has had no end so often that it is hurried. */
#define HURRIED_PART 10

static const struct api_function *function_of(const struct call_record *call)
{
        return call->function < api_function_count ? &api_functions[call->function] : NULL;
}

/* How long a wait was asked to last. */
static unsigned int asked_ms(const struct call_record *call, const struct api_function *function)
{
        for (size_t i = 0; i < function->count && i < CALL_ARGS_MAX; i++)
                if (strcmp(function->params[i].name, "timeout") == 0)
                        return call->args[i] == DAT_TIMEOUT_INFINITE
                                   ? UNLIMITED
                                   : (unsigned int)(call->args[i] / US_PER_MS);
        return 0;
}

static bool is_hurried(const struct call_record *call, const struct hurried *hurried)
{
        if (!call->teardown)
                return false;
        for (size_t i = 0; i < hurried->count; i++)
                if (hurried->functions[i] == call->function)
                        return true;
        return false;
}

static unsigned int limit_ms(const struct call_record *call, const struct api_function *function,
                             const struct settings *settings)
{
        bool opens = strcmp(function->name, "dat_ia_openv") == 0;
        bool waits = strcmp(function->name, "dat_evd_wait") == 0 ||
                     strcmp(function->name, "dat_cno_wait") == 0;
        unsigned int asked = waits ? asked_ms(call, function) : 0;

        if (is_hurried(call, &settings->hurried))
                return settings->event_ms / HURRIED_PART;
        if (asked == UNLIMITED)
                return UNLIMITED;
        if (waits || opens || settings->peer_mode != PEER_MODE_NONE)
                return asked + settings->event_ms;
        return settings->event_ms / LOCAL_PART;
}

/* Of all threads of a process, in nanoseconds; 0 when it is gone. */
static uint64_t processor_ns(pid_t pid)
{
        struct timespec used = {.tv_sec = 0};
        clockid_t clock;

        if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) < 0)
                return 0;
        return (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
}

#define STAT_MAX 512

/* Reads the stat file `path` in `folder` to `text`. Returns what follows the name, or "". */
static const char *read_stat(int folder, const char *path, char text[static STAT_MAX])
{
        const char *behind;
        ssize_t length = -1;
        int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);

        if (fd >= 0) {
                length = read(fd, text, STAT_MAX - 1);
                close(fd);
        }
        text[length < 0 ? 0 : length] = '\0';
        /* The name may have parentheses of its own. */
        behind = strrchr(text, ')');
        return behind ? behind + 1 : "";
}

/* What the threads of a process do. */
struct activity {
        bool runnable; /* one runs or waits for a processor: its stat says R */
        bool device;   /* one waits in the kernel for a device: its stat says D */
};

static struct activity activity_of(pid_t pid_in_proc)
{
        struct activity activity = {.runnable = false};
        char path[64];
        char text[STAT_MAX];
        const struct dirent *thread;
        DIR *tasks;

        snprintf(path, sizeof(path), "/proc/%d/task", (int)pid_in_proc);
        tasks = opendir(path);
        while (tasks && (thread = readdir(tasks))) {
                const char *stat;

                if (thread->d_name[0] == '.')
                        continue;
                snprintf(path, sizeof(path), "%.32s/stat", thread->d_name);
                stat = read_stat(dirfd(tasks), path, text);
                activity.runnable |= strncmp(stat, " R", 2) == 0;
                activity.device |= strncmp(stat, " D", 2) == 0;
        }
        if (tasks)
                closedir(tasks);
        return activity;
}

/* Of all threads of a process in system calls, in nanoseconds; 0 when it is gone. */
static uint64_t kernel_ns(pid_t pid_in_proc)
{
        char path[64];
        char text[STAT_MAX];
        unsigned long long ticks = 0;
        long a_second = sysconf(_SC_CLK_TCK);

        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid_in_proc);
        if (a_second <= 0 ||
            sscanf(read_stat(AT_FDCWD, path, text),
                   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %llu", &ticks) != 1)
                return 0;
        return ticks * (NS_PER_S / (uint64_t)a_second);
}

struct pace_span pace_look(struct pace *pace, const struct child *child)
{
        pid_t pid_in_proc = atomic_load(&child->evidence->pid);
        struct activity activity = activity_of(pid_in_proc);
        uint64_t used_ns = processor_ns(child->pid);
        uint64_t got_ns = used_ns - pace->used_ns;
        uint64_t in_kernel_ns = kernel_ns(pid_in_proc);
        struct pace_span span = {.could_run_ns = LOOK_NS};

        if (got_ns < LOOK_NS && activity.runnable)
                span.could_run_ns = got_ns;
        if (in_kernel_ns > pace->kernel_ns)
                span.kernel_ns = in_kernel_ns - pace->kernel_ns;
        if (activity.device || span.kernel_ns > span.could_run_ns)
                span.kernel_ns = span.could_run_ns;
        *pace = (struct pace){.used_ns = used_ns, .kernel_ns = in_kernel_ns};
        return span;
}

static bool asks_only(const struct api_function *function)
{
        return strstr(function->name, "_query") || strstr(function->name, "_get_status");
}

/* Whether a call asks the object that the call before it has asked: such a loop may have no end. */
static bool asks_again(const struct evidence *evidence, const struct call_record *call,
                       const struct api_function *function)
{
        const struct call_record *before;

        if (!asks_only(function))
                return false;
        if (call->number < 2)
                return true;
        before = &evidence->calls[log_slot(call->number - 2)];
        return before->number != call->number - 1 || before->function != call->function ||
               before->args[0] == call->args[0];
}

uint64_t progress_of(const struct evidence *evidence)
{
        size_t used = evidence_calls(evidence);
        uint64_t last = 0;

        for (size_t i = 0; i < used; i++) {
                const struct call_record *call = &evidence->calls[i];
                const struct api_function *function = function_of(call);

                if (atomic_load(&call->state) == CALL_DONE && call->ret == DAT_SUCCESS &&
                    call->number > last && function && !asks_again(evidence, call, function))
                        last = call->number;
        }
        return last;
}

/*
 * Of the calls that the process's threads are in, the one that is to return first; NULL where none
 * has a limit.
 */
static const struct call_record *first_due(const struct evidence *evidence,
                                           const struct settings *settings, unsigned int *limit)
{
        const struct call_record *first = NULL;
        uint64_t first_ns = 0;
        size_t used = evidence_calls(evidence);

        for (size_t i = 0; i < used; i++) {
                const struct call_record *call = &evidence->calls[i];
                const struct api_function *function = function_of(call);
                unsigned int ms;
                uint64_t due_ns;

                if (atomic_load(&call->state) != CALL_BEGUN || !function)
                        continue;
                ms = limit_ms(call, function, settings);
                due_ns = call->at_ns + ms * NS_PER_MS;
                if (ms == UNLIMITED || (first && due_ns >= first_ns))
                        continue;
                first = call;
                first_ns = due_ns;
                *limit = ms;
        }
        return first;
}

unsigned int stall_look(struct stall *stall, const struct child *child,
                        const struct settings *settings, const struct pace_span *span)
{
        unsigned int limit = 0;
        const struct call_record *call = first_due(child->evidence, settings, &limit);

        if (!call) {
                *stall = (struct stall){.call = 0};
                return 0;
        }
        if (stall->call != call->number) {
                *stall = (struct stall){
                    .call = call->number,
                    .hurried = is_hurried(call, &settings->hurried),
                };
                return 0;
        }
        stall->spent_ns += span->could_run_ns;
        stall->kernel_ns += span->kernel_ns;
        return stall->spent_ns >= limit * NS_PER_MS ? limit : 0;
}

const struct call_record *stall_call(const struct stall *stall, const struct evidence *evidence)
{
        const struct call_record *call;

        if (stall->call == 0)
                return NULL;
        call = &evidence->calls[log_slot(stall->call - 1)];
        return call->number == stall->call ? call : NULL;
}
