/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/privilege.h"
#include "evidence/crash.h"
#include "evidence/trace.h"

#define CHANNEL_FD 3

/* The process starts as a program of its own would: nothing of the agent's is within its reach. */
static void settle_in(int output, int channel)
{
        struct rlimit no_core = {0, 0};
        sigset_t none;
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(null, STDIN_FILENO);
        dup2(output, STDOUT_FILENO);
        dup2(output, STDERR_FILENO);
        if (channel != CHANNEL_FD)
                dup2(channel, CHANNEL_FD);
        close_range(CHANNEL_FD + 1, ~0u, 0);
        fcntl(CHANNEL_FD, F_SETFD, FD_CLOEXEC);
        signal(SIGPIPE, SIG_DFL);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        setrlimit(RLIMIT_CORE, &no_core);
}

/* The pid as /proc has it, which a debugger outside this PID namespace needs. */
static pid_t outside_pid(void)
{
        char text[32];
        ssize_t length = readlink("/proc/self", text, sizeof(text) - 1);
        int pid = 0;

        if (length > 0) {
                text[length] = '\0';
                sscanf(text, "%d", &pid);
        }
        return pid;
}

static _Noreturn void run(struct child *child, int output, int channel, child_body *body,
                          const void *arg)
{
        struct evidence *evidence = child->evidence;

        privilege_drop();
        settle_in(output, channel);
        atomic_store(&evidence->pid, outside_pid());
        crash_watch(evidence);
        trace_start(evidence);
        body(arg, evidence, child->nonce, CHANNEL_FD);
        _exit(0);
}

static bool give_up(struct child *child, const int *sockets)
{
        int error = errno;

        if (sockets[0] >= 0) {
                close(sockets[0]);
                close(sockets[1]);
        }
        evidence_free(child->evidence);
        child->evidence = NULL;
        errno = error;
        return false;
}

bool child_start(struct child *child, int output, child_body *body, const void *arg)
{
        int sockets[2] = {-1, -1};

        *child = (struct child){.channel = {.in = -1, .out = -1, .ended = true, .lost = true}};
        if (getrandom(&child->nonce, sizeof(child->nonce), 0) != sizeof(child->nonce))
                return false;
        child->evidence = evidence_new(child->nonce);
        if (!child->evidence)
                return false;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
                return give_up(child, sockets);
        child->evidence->started_ns = now_ns();
        child->pid = fork();
        if (child->pid < 0) {
                child->pid = 0;
                return give_up(child, sockets);
        }
        if (child->pid == 0)
                run(child, output, sockets[1], body, arg);
        setpgid(child->pid, child->pid);
        close(sockets[1]);
        lines_open(&child->channel, sockets[0], sockets[0]);
        child->started = true;
        return true;
}

void child_forget(struct child *child)
{
        lines_close(&child->channel);
        evidence_free(child->evidence);
        *child = (struct child){.channel = {.in = -1, .out = -1, .ended = true, .lost = true}};
}
