/* SPDX-License-Identifier: BSD-2-Clause */
/* A call in a process of its own, for arguments on which a provider is free to fault. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "case/test.h"
#include "evidence/trace.h"

/* The case's own handlers would tell the agent that the case had crashed. */
static void let_crash(void)
{
        static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};

        for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
                signal(signals[i], SIG_DFL);
}

static int wait_for(pid_t pid)
{
        int status = 0;

        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        return status;
}

bool call_apart(struct test *t, DAT_RETURN (*call)(void *arg), void *arg, DAT_RETURN *ret)
{
        uint64_t before = trace_count();
        ssize_t got;
        int ends[2];
        int status;
        pid_t pid;

        if (pipe(ends) < 0)
                resource(t, "no pipe to a process apart: %s", strerror(errno));
        /* Not by fork(), at which a provider may take its handles from the child. */
        pid = _Fork();
        if (pid < 0) {
                close(ends[0]);
                close(ends[1]);
                resource(t, "no process apart: %s", strerror(errno));
        }
        if (pid == 0) {
                let_crash();
                *ret = call(arg);
                _exit(write(ends[1], ret, sizeof(*ret)) != sizeof(*ret));
        }
        close(ends[1]);
        got = read(ends[0], ret, sizeof(*ret));
        close(ends[0]);
        status = wait_for(pid);
        if (got == sizeof(*ret))
                return true;
        trace_forget_open(before);
        record(t, "the call ended its process: %s",
               WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "it left");
        return false;
}
