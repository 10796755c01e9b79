/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/stacks.h"

#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "evidence/trace.h"

/* What the kernel takes for a set of signals, and has for an action. */
#define MASK_SIZE ((size_t)(_NSIG - 1) / 8)

struct kernel_action {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        unsigned long mask;
};

static struct evidence *evidence;

static void on_ask(int signal)
{
        struct stacks *stacks = &evidence->stacks;
        uint32_t n;

        (void)signal;
        if (!atomic_load(&stacks->asked))
                return;
        n = atomic_fetch_add(&stacks->taken, 1);
        if (n < STACKS_MAX) {
                struct stack *stack = &stacks->at[n];

                stack->thread = trace_thread_known();
                prctl(PR_GET_NAME, stack->name);
                frames_take(&stack->frames);
                atomic_store(&stack->id, (int32_t)syscall(SYS_gettid));
                frames_describe(&stack->frames);
                atomic_store(&stack->told, 1);
        }
        for (;;)
                pause();
}

/* The C library's sigaction() refuses the signal; what it knows of returning is taken from it. */
static void watch_by_kernel(void)
{
        struct kernel_action action;

        if (syscall(SYS_rt_sigaction, STACKS_OTHER_SIGNAL, NULL, &action, MASK_SIZE) == 0)
                syscall(SYS_rt_sigaction, STACKS_SIGNAL, &action, NULL, MASK_SIZE);
}

void stacks_watch(struct evidence *to)
{
        struct sigaction action = {.sa_handler = on_ask, .sa_flags = SA_RESTART};

        evidence = to;
        sigfillset(&action.sa_mask);
        sigaction(STACKS_OTHER_SIGNAL, &action, NULL);
        watch_by_kernel();
}
