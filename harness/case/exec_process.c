/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/exec_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "case/test.h"
#include "evidence/trace.h"

/* Where the process finds what it was started with. */
#define SOCKET_FD 100
#define MEMORY_FD 101
#define FILES_FD  102

struct memory {
        uintptr_t call; /* from the beginning of this program */
        DAT_RETURN ret;
        unsigned char arg[EXEC_PROCESS_ARG_MAX];
        unsigned char shared[EXEC_PROCESS_SHARED];
        struct evidence evidence;
};

struct exec_process {
        struct exec_process *older;
        struct test *t;
        pid_t pid;
        int socket;
        struct memory *memory;
        uint64_t relayed; /* calls of its evidence that stand in the case's */
        unsigned int thread;
        bool begun; /* the process was told of the call */
};

extern const char __executable_start[];

static struct memory *own;

void exec_process_path(size_t index, char path[EXEC_PROCESS_PATH_MAX])
{
        snprintf(path, EXEC_PROCESS_PATH_MAX, "/proc/self/fd/%zu", FILES_FD + index);
}

/*
 * The process
 */

static uintptr_t offset_of(DAT_RETURN (*call)(void *arg))
{
        return (uintptr_t)call - (uintptr_t)__executable_start;
}

_Noreturn void exec_process_main(void)
{
        char byte;

        own = mmap(NULL, sizeof(*own), PROT_READ | PROT_WRITE, MAP_SHARED, MEMORY_FD, 0);
        close(MEMORY_FD);
        if (own == MAP_FAILED)
                _exit(2);
        fcntl(SOCKET_FD, F_SETFD, FD_CLOEXEC);
        trace_start(&own->evidence);
        while (read(SOCKET_FD, &byte, 1) == 1) {
                const char *at = __executable_start + own->call;
                DAT_RETURN (*call)(void *arg);

                memcpy(&call, &at, sizeof(call));
                own->ret = call(own->arg);
                if (write(SOCKET_FD, &byte, 1) != 1)
                        break;
        }
        _exit(0);
}

void *exec_process_own_shared(void)
{
        return own ? own->shared : NULL;
}

/*
 * Its start
 */

/* A file without a name. */
static int nameless(struct test *t, const void *bytes, size_t size)
{
        int fd = memfd_create("udapl-cts", MFD_CLOEXEC);
        size_t written = 0;

        if (fd < 0)
                resource(t, "no memory for a file: %s", strerror(errno));
        while (written < size) {
                ssize_t got = write(fd, (const char *)bytes + written, size - written);

                if (got <= 0) {
                        close(fd);
                        resource(t, "no memory for a file: %s", strerror(errno));
                }
                written += (size_t)got;
        }
        return fd;
}

static struct memory *shared(struct test *t, int *fd)
{
        struct memory *memory;

        *fd = nameless(t, NULL, 0);
        if (ftruncate(*fd, sizeof(*memory)) < 0)
                resource(t, "no memory to share: %s", strerror(errno));
        memory = mmap(NULL, sizeof(*memory), PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
        if (memory == MAP_FAILED)
                resource(t, "no memory to share: %s", strerror(errno));
        memory->evidence.started_ns = t->evidence->started_ns;
        return memory;
}

/* This process's environment with one variable set otherwise. */
static char **environment(const char *variable, char *set)
{
        size_t length = strlen(variable);
        size_t count = 0;
        char **made;
        char **to;

        while (environ[count])
                count++;
        made = to = calloc(count + 2, sizeof(*made));
        if (!made)
                return NULL;
        for (size_t i = 0; i < count; i++)
                if (strncmp(environ[i], variable, length) != 0 || environ[i][length] != '=')
                        *to++ = environ[i];
        *to = set;
        return made;
}

/* What the process is to hold, by the number that it is to have there. */
struct handed {
        int fds[EXEC_PROCESS_FILES_MAX + 2];
        size_t count;
};

static _Noreturn void become(const struct handed *handed, char **env)
{
        char *argv[] = {(char *)"udapl-cases", (char *)"--" EXEC_PROCESS_OPTION, NULL};

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (size_t i = 0; i < handed->count; i++)
                if (dup2(handed->fds[i], SOCKET_FD + (int)i) < 0)
                        _exit(2);
        close_range(SOCKET_FD + (unsigned int)handed->count, ~0u, 0);
        close_range(3, SOCKET_FD - 1, 0);
        execve("/proc/self/exe", argv, env);
        _exit(2);
}

/* How the process ended; it is gone then. */
static void describe_end(struct exec_process *process, char *text, size_t size)
{
        int status = 0;

        while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR)
                ;
        process->pid = 0;
        if (WIFSIGNALED(status))
                snprintf(text, size, "%s", strsignal(WTERMSIG(status)));
        else
                snprintf(text, size, "exit status %d", WEXITSTATUS(status));
}

void exec_process_end(struct exec_process *process)
{
        char how[64];

        if (process->pid > 0) {
                kill(process->pid, SIGKILL);
                describe_end(process, how, sizeof(how));
        }
        if (process->socket >= 0)
                close(process->socket);
        process->socket = -1;
}

/* A step of teardown: ends the processes that the case has not ended. */
static void end_all(struct test *t)
{
        while (t->exec_processes) {
                struct exec_process *newest = t->exec_processes;

                exec_process_end(newest);
                if (newest->memory)
                        munmap(newest->memory, sizeof(*newest->memory));
                t->exec_processes = newest->older;
                free(newest);
        }
}

struct exec_process *exec_process_start(struct test *t, const struct exec_process_file *files,
                                        size_t count, const char *variable, const char *value)
{
        char set[EXEC_PROCESS_ENVIRONMENT_MAX];
        struct exec_process *process = calloc(1, sizeof(*process));
        struct handed handed = {.count = count + 2};
        int ends[2];
        char **env;

        snprintf(set, sizeof(set), "%s=%s", variable, value ? value : "");
        env = environment(variable, value ? set : NULL);
        if (!process || !env || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
                resource(t, "no process of its own: %s", strerror(errno));
        *process = (struct exec_process){.older = t->exec_processes, .t = t, .socket = ends[0]};
        t->exec_processes = process;
        t->steps[STEP_PROCESSES] = end_all;
        handed.fds[0] = ends[1];
        process->memory = shared(t, &handed.fds[1]);
        for (size_t i = 0; i < count; i++)
                handed.fds[2 + i] = nameless(t, files[i].bytes, files[i].size);
        process->thread = trace_new_thread();
        /* Not by fork(), at which a provider may do what it likes. */
        process->pid = _Fork();
        if (process->pid == 0)
                become(&handed, env);
        for (size_t i = 0; i < handed.count; i++)
                close(handed.fds[i]);
        free(env);
        if (process->pid < 0)
                resource(t, "no process of its own: %s", strerror(errno));
        return process;
}

/*
 * Calls
 */

static void relay(struct exec_process *process)
{
        process->relayed =
            trace_relay(&process->memory->evidence, process->relayed, process->thread);
}

/* No page says how long such a call may take: half of the case's time, or no limit under gdb. */
static int limit_ms(const struct test *t)
{
        return t->settings->gdb ? -1 : (int)(t->settings->deadline_ms / 2);
}

void exec_process_begin(struct exec_process *process, DAT_RETURN (*call)(void *arg),
                        const void *arg, size_t size)
{
        struct memory *memory = process->memory;
        char byte = 0;

        if (process->pid <= 0 || size > sizeof(memory->arg))
                test_end(process->t, VERDICT_ERROR,
                         "a call in a process that is gone, or a long one");
        memory->call = offset_of(call);
        memcpy(memory->arg, arg, size);
        process->begun = send(process->socket, &byte, 1, MSG_NOSIGNAL) == 1;
}

DAT_RETURN exec_process_finish(struct exec_process *process, void *arg, size_t size)
{
        struct test *t = process->t;
        struct memory *memory = process->memory;
        struct pollfd answer = {.fd = process->socket, .events = POLLIN};
        int limit = limit_ms(t);
        char how[64];
        char byte = 0;
        int ready = process->begun ? poll(&answer, 1, limit) : 1;

        relay(process);
        if (ready <= 0)
                test_end(t, VERDICT_FAIL, "no end after %d ms of a call in a process of its own",
                         limit);
        if (recv(process->socket, &byte, 1, 0) != 1) {
                describe_end(process, how, sizeof(how));
                test_end(t, VERDICT_FAIL, "a call ended the process that made it: %s", how);
        }
        memcpy(arg, memory->arg, size);
        return memory->ret;
}

DAT_RETURN exec_process_call(struct exec_process *process, DAT_RETURN (*call)(void *arg), void *arg,
                             size_t size)
{
        exec_process_begin(process, call, arg, size);
        return exec_process_finish(process, arg, size);
}

void *exec_process_shared(const struct exec_process *process)
{
        return process->memory->shared;
}
