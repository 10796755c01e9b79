/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/crash.h"

#include <signal.h>

#include "evidence/trace.h"

#define STACK_SIZE 65536

static struct evidence *evidence;
static unsigned char stack[STACK_SIZE];

/*
 * The addresses are taken first: looking names up may crash again (which then ends it) or hang
 * (which the deadline ends). What breaks while a hung process tells where it is, is no crash.
 */
static void on_crash(int signal, siginfo_t *info, void *context)
{
        struct crash *crash = &evidence->crash;

        (void)info;
        if (!atomic_load(&evidence->stacks.asked)) {
                crash->thread = trace_thread();
                atomic_store(&crash->signal, (uint32_t)signal);
                frames_take(&crash->frames);
                frames_correct(&crash->frames, context);
                frames_describe(&crash->frames);
        }
        raise(signal);
}

void crash_watch(struct evidence *to)
{
        static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
        stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
        struct sigaction action = {
            .sa_sigaction = on_crash,
            .sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND | SA_NODEFER),
        };

        evidence = to;
        sigaltstack(&alternate, NULL);
        sigemptyset(&action.sa_mask);
        for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
                sigaction(signals[i], &action, NULL);
}
