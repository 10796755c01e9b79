/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/privilege.h"
#include "agent/program_name.h"
#include "evidence/crash.h"
#include "evidence/memory.h"
#include "evidence/render.h"
#include "evidence/stacks.h"
#include "evidence/trace.h"

#define CHANNEL_FD 3

/* The process starts as a program of its own would: nothing of the agent's is within its reach. */
static void settle_in(const struct child_files *files, int channel)
{
        struct rlimit no_core = {0, 0};
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        int peer = files->peer < 0 ? -1 : fcntl(files->peer, F_DUPFD_CLOEXEC, CHILD_PEER_FD + 1);

        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(null, STDIN_FILENO);
        dup2(files->output, STDOUT_FILENO);
        dup2(files->output, STDERR_FILENO);
        if (channel != CHANNEL_FD)
                dup2(channel, CHANNEL_FD);
        fcntl(CHANNEL_FD, F_SETFD, FD_CLOEXEC);
        if (peer >= 0)
                dup3(peer, CHILD_PEER_FD, O_CLOEXEC);
        close_range(peer >= 0 ? CHILD_PEER_FD + 1 : CHILD_PEER_FD, ~0u, 0);
        signal(SIGPIPE, SIG_DFL);
        seals_block(SIG_SETMASK);
        setrlimit(RLIMIT_CORE, &no_core);
}

#if defined(__SANITIZE_ADDRESS__)
static bool contained;

/* It looks for leaks at exit() in /proc, by a number that is not this process's there. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
        return contained;
}
#endif

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

static _Noreturn void run(struct child *child, const struct child_files *files, int channel,
                          child_body *body, const void *arg)
{
        struct evidence *evidence = child->evidence;

#if defined(__SANITIZE_ADDRESS__)
        contained = true;
#endif
        program_name_take();
        privilege_drop();
        settle_in(files, channel);
        atomic_store(&evidence->pid, outside_pid());
        crash_watch(evidence);
        stacks_watch(evidence);
        trace_start(evidence);
        body(arg, evidence, CHANNEL_FD);
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
        secrets_free(child->secrets);
        child->secrets = NULL;
        errno = error;
        return false;
}

/* A process that cannot seal its verdict is of no use. */
static bool arm(struct child *child)
{
        int error;

        if (seals_give(child->secrets, child->pid)) {
                /* Another process of the run has no business there. */
                madvise(child->evidence, sizeof(*child->evidence), MADV_DONTFORK);
                return true;
        }
        error = errno;
        kill(child->pid, SIGKILL);
        while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
                ;
        child->pid = 0;
        errno = error;
        return false;
}

bool child_start(struct child *child, const struct child_files *files, child_body *body,
                 const void *arg)
{
        bool own = files->channel < 0;
        int sockets[2] = {-1, -1};

        *child = (struct child){.channel = {.in = -1, .out = -1, .ended = true, .lost = true}};
        child->secrets = secrets_new();
        if (!child->secrets)
                return false;
        child->evidence = evidence_new(child->secrets->canary);
        if (!child->evidence)
                return give_up(child, sockets);
        seals_block(SIG_BLOCK);
        if (own && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
                return give_up(child, sockets);
        memory_prepare();
        child->evidence->started_ns = now_ns();
        child->pid = fork();
        if (child->pid < 0) {
                child->pid = 0;
                return give_up(child, sockets);
        }
        if (child->pid == 0)
                run(child, files, own ? sockets[1] : files->channel, body, arg);
        if (!arm(child))
                return give_up(child, sockets);
        setpgid(child->pid, child->pid);
        if (own) {
                close(sockets[1]);
                lines_open(&child->channel, sockets[0], sockets[0]);
        }
        child->started = true;
        return true;
}

void child_forget(struct child *child)
{
        lines_close(&child->channel);
        evidence_free(child->evidence);
        secrets_free(child->secrets);
        *child = (struct child){.channel = {.in = -1, .out = -1, .ended = true, .lost = true}};
}

const char *child_describe_status(int status, char *text, size_t size)
{
        if (WIFSIGNALED(status))
                snprintf(text, size, "ended by %s", signal_name(WTERMSIG(status)));
        else
                snprintf(text, size, "left with status %d", WEXITSTATUS(status));
        return text;
}

json_t *child_end_json(const struct child *child)
{
        const char *pending = render_pending(child->evidence);
        char how[64];
        char reason[128];
        json_t *end;

        child_describe_status(child->status, how, sizeof(how));
        snprintf(reason, sizeof(reason), "%s%s%s", how, pending ? " in " : "",
                 pending ? pending : "");
        end = json_pack("{s:i s:s}", "status", child->status, "reason", reason);
        /* Who leaves in a call of the provider is ended by that, with whatever status. */
        if (pending && !(WIFSIGNALED(child->status) && WTERMSIG(child->status) == SIGKILL))
                json_object_set_new(end, "pending", json_string(pending));
        return end;
}
