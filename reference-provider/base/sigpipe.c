/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/sigpipe.h"
#include "base/ia.h"

#include <time.h>

/*
 * Keeps SIGPIPE from the calling thread. siw sends in the system call that posts or answers, and on
 * a stream that the peer has closed the kernel raises it, as for a write to a socket; it would end
 * a Consumer that knows of no stream. Not for the whole process, whose own streams may want it.
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

/* Takes back what was raised, and lets what others raise through again as it was. */
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
