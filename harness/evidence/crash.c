/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/crash.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "evidence/trace.h"

#define STACK_SIZE 65536
/* This function and the one that the kernel returns from it through. */
#define FRAMES_OF_HANDLER 2

static struct evidence *evidence;
static unsigned char stack[STACK_SIZE];

static const char *file_name(const char *path)
{
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

/* "libdaplref.so(srq_resize+0x12)", as backtrace_symbols() has it but for the path. */
static void describe(char *line, size_t size, void *address)
{
        Dl_info info;
        uintptr_t base;

        if (!dladdr(address, &info) || !info.dli_fname) {
                snprintf(line, size, "%p", address);
                return;
        }
        base = (uintptr_t)(info.dli_sname ? info.dli_saddr : info.dli_fbase);
        snprintf(line, size, "%s(%s+0x%" PRIxPTR ")", file_name(info.dli_fname),
                 info.dli_sname ? info.dli_sname : "", (uintptr_t)address - base);
}

/*
 * The addresses are taken first: looking names up is not safe in a process that has just broken,
 * and may crash again (which then ends it) or hang (which the deadline ends).
 */
static void on_crash(int signal)
{
        struct crash *crash = &evidence->crash;
        void *all[CRASH_FRAMES_MAX + FRAMES_OF_HANDLER];
        void **frames = all + FRAMES_OF_HANDLER;
        int count;

        crash->thread = trace_thread();
        atomic_store(&crash->signal, (uint32_t)signal);
        count = backtrace(all, CRASH_FRAMES_MAX + FRAMES_OF_HANDLER) - FRAMES_OF_HANDLER;
        if (count < 0)
                count = 0;
        for (int i = 0; i < count; i++)
                crash->address[i] = (uint64_t)(uintptr_t)frames[i];
        crash->frames = (uint32_t)count;
        for (int i = 0; i < count; i++) {
                describe(crash->line[i], sizeof(crash->line[i]), frames[i]);
                atomic_store(&crash->lines, (uint32_t)i + 1);
        }
        raise(signal);
}

void crash_prepare(void)
{
        void *frame;

        backtrace(&frame, 1);
}

void crash_watch(struct evidence *to)
{
        static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
        stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
        struct sigaction action = {
            .sa_handler = on_crash,
            .sa_flags = (int)(SA_ONSTACK | SA_RESETHAND | SA_NODEFER),
        };

        evidence = to;
        sigaltstack(&alternate, NULL);
        sigemptyset(&action.sa_mask);
        for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
                sigaction(signals[i], &action, NULL);
}
