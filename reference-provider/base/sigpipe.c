/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/sigpipe.h"
#include "base/ia.h"

#include <time.h>

/*
 * Blocks SIGPIPE in the calling thread. siw sends in the calling thread, and the kernel raises
 * SIGPIPE on a stream that the peer has closed. The default action would kill the Consumer. The
 * signal is not ignored process-wide, since the Consumer may use it.
 */
void sigpipe_block(const struct ia *ia, struct sigpipe *sigpipe)
{
        sigset_t pipe;

        sigpipe->held = false;
        if (!ia->raises_sigpipe)
                return;
        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        sigpipe->held = !pthread_sigmask(SIG_BLOCK, &pipe, &sigpipe->before) &&
                        !sigismember(&sigpipe->before, SIGPIPE);
}

/* Removes a pending SIGPIPE and restores the signal mask. */
void sigpipe_restore(const struct sigpipe *sigpipe)
{
        static const struct timespec no_time;
        sigset_t pipe;

        if (!sigpipe->held)
                return;
        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        (void)sigtimedwait(&pipe, NULL, &no_time);
        pthread_sigmask(SIG_SETMASK, &sigpipe->before, NULL);
}
