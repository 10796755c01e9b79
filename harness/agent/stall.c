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

/* Whether a thread, an entry of `tasks`, runs or waits for a processor: its stat says R. */
static bool thread_runnable(int tasks, const char *thread)
{
        char path[64];
        char text[128];
        const char *behind;
        ssize_t length = -1;
        int fd;

        snprintf(path, sizeof(path), "%.32s/stat", thread);
        fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
                length = read(fd, text, sizeof(text) - 1);
                close(fd);
        }
        text[length < 0 ? 0 : length] = '\0';
        /* The name may have parentheses of its own. */
        behind = strrchr(text, ')');
        return behind && strncmp(behind, ") R", 3) == 0;
}

static bool is_runnable(pid_t pid_in_proc)
{
        char path[64];
        const struct dirent *thread;
        bool runnable = false;
        DIR *tasks;

        snprintf(path, sizeof(path), "/proc/%d/task", (int)pid_in_proc);
        tasks = opendir(path);
        while (tasks && !runnable && (thread = readdir(tasks)))
                runnable =
                    thread->d_name[0] != '.' && thread_runnable(dirfd(tasks), thread->d_name);
        if (tasks)
                closedir(tasks);
        return runnable;
}

uint64_t pace_look(struct pace *pace, const struct child *child)
{
        uint64_t used_ns = processor_ns(child->pid);
        uint64_t got_ns = used_ns - pace->used_ns;

        pace->used_ns = used_ns;
        return got_ns < LOOK_NS && is_runnable(atomic_load(&child->evidence->pid)) ? got_ns
                                                                                   : LOOK_NS;
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
                        const struct settings *settings, uint64_t could_run_ns)
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
        stall->spent_ns += could_run_ns;
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
