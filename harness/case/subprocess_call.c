/* SPDX-License-Identifier: BSD-2-Clause */
/* A call in a process of its own, for arguments on which a provider is free to fault. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "case/test.h"
#include "case/value_name.h"
#include "evidence/trace.h"

#define TRIES 4

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

struct asked {
        pid_t process;
        int answer; /* where its answer is read, or its end */
};

static struct asked ask(struct test *t, DAT_RETURN (*call)(void *arg), void *arg, DAT_RETURN *ret)
{
        struct asked asked;
        int ends[2];

        if (pipe(ends) < 0)
                resource(t, "no pipe to a process apart: %s", strerror(errno));
        /* Not by fork(), at which a provider may take its handles from the child. */
        asked = (struct asked){.process = _Fork(), .answer = ends[0]};
        if (asked.process < 0) {
                close(ends[0]);
                close(ends[1]);
                resource(t, "no process apart: %s", strerror(errno));
        }
        if (asked.process == 0) {
                let_crash();
                *ret = call(arg);
                _exit(write(ends[1], ret, sizeof(*ret)) != sizeof(*ret));
        }
        close(ends[1]);
        return asked;
}

static bool answers_within(const struct asked *asked, unsigned int ms)
{
        struct pollfd answer = {.fd = asked->answer, .events = POLLIN};

        return poll(&answer, 1, (int)ms) != 0;
}

static int end_of(const struct asked *asked)
{
        close(asked->answer);
        return wait_for(asked->process);
}

/*
 * A lock that one of the provider's threads has when the process is made is held there for ever,
 * and nobody is to blame. So one that is silent is given up for another, made at another moment;
 * the last has all the time that a call has.
 */
static struct asked ask_in_time(struct test *t, DAT_RETURN (*call)(void *arg), void *arg,
                                DAT_RETURN *ret)
{
        uint64_t before = trace_count();
        struct asked asked = ask(t, call, arg, ret);

        for (int i = 1; i < TRIES && !answers_within(&asked, t->settings->quiet_ms); i++) {
                kill(asked.process, SIGKILL);
                (void)end_of(&asked);
                trace_forget_open(before);
                record(t, "no answer of a process apart for %u ms: another one is asked",
                       t->settings->quiet_ms);
                asked = ask(t, call, arg, ret);
        }
        return asked;
}

bool subprocess_call(struct test *t, DAT_RETURN (*call)(void *arg), void *arg, DAT_RETURN *ret)
{
        uint64_t before = trace_count();
        struct asked asked = ask_in_time(t, call, arg, ret);
        ssize_t got = read(asked.answer, ret, sizeof(*ret));
        int status = end_of(&asked);

        if (got == sizeof(*ret))
                return true;
        trace_forget_open(before);
        record(t, "the call ended its process: %s",
               WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "it left");
        return false;
}

void unjudged_call(struct test *t, const char *what, DAT_RETURN (*call)(void *arg), void *arg,
                   bool makes)
{
        DAT_RETURN ret;

        if (!subprocess_call(t, call, arg, &ret))
                return;
        record(t, "%s returned %s", what, name_of_return(ret));
        if (makes && dat_is(ret, DAT_SUCCESS))
                t->has_unowned = true;
}
