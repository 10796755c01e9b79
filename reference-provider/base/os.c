/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/os.h"

#include <signal.h>
#include <time.h>

/* Returns the monotonic time in microseconds. */
uint64_t now_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/*
 * Starts a thread of the provider. It blocks every signal, because signals belong to the Consumer's
 * threads. Returns false if no thread can be made.
 */
bool thread_spawn(pthread_t *thread, void *(*run)(void *), void *argument)
{
        sigset_t all;
        sigset_t before;
        int error;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        error = pthread_create(thread, NULL, run, argument);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return !error;
}
