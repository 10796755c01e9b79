/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/crash.h"

#include <dlfcn.h>
#include <signal.h>

#include "evidence/trace.h"

#define EXPORT     __attribute__((visibility("default")))
#define STACK_SIZE 65536

typedef int masking(int how, const sigset_t *set, sigset_t *old);

static const int faults[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};

static struct evidence *evidence;
static unsigned char stack[STACK_SIZE];
static masking *mask_of_thread;
static masking *mask_of_process;

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
        stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
        struct sigaction action = {
            .sa_sigaction = on_crash,
            .sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND | SA_NODEFER),
        };

        evidence = to;
        sigaltstack(&alternate, NULL);
        sigemptyset(&action.sa_mask);
        for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
                sigaction(faults[i], &action, NULL);
}

/*
 * A fault in a thread that blocks its signal ends the process without a word. Providers block all
 * signals in threads of their own, so the blocking leaves faults out.
 */
static int mask_but_faults(masking *mask, int how, const sigset_t *set, sigset_t *old)
{
        sigset_t kept;

        if (!evidence || !set || how == SIG_UNBLOCK)
                return mask(how, set, old);
        kept = *set;
        for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
                sigdelset(&kept, faults[i]);
        return mask(how, &kept, old);
}

static masking *found(masking **cached, const char *name)
{
        if (!*cached)
                *cached = (masking *)dlsym(RTLD_NEXT, name);
        return *cached;
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
        return mask_but_faults(found(&mask_of_thread, "pthread_sigmask"), how, set, old);
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
        return mask_but_faults(found(&mask_of_process, "sigprocmask"), how, set, old);
}
