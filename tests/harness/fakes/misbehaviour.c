/* SPDX-License-Identifier: BSD-2-Clause */
#include "misbehaviour.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attacks.h"

#define FAIL(type_) ((DAT_RETURN)(DAT_CLASS_ERROR | (type_)))
#define FD_LIMIT    64

static char wanted[256];

void misbehaviour_want(const char *words)
{
        snprintf(wanted, sizeof(wanted), " %s ", words ? words : "");
}

bool is_wanted(const char *word)
{
        char between[64];

        snprintf(between, sizeof(between), " %s ", word);
        return strstr(wanted, between) != NULL;
}

/* Not to be reported by a sanitizer, which would end the process its own way. */
__attribute__((no_sanitize("undefined"))) static DAT_RETURN crash(void)
{
        volatile int *volatile nowhere = NULL;

        *nowhere = 1; /* NOLINT(clang-analyzer-core.NullDereference): that is the act */
        return DAT_SUCCESS;
}

/* As a provider does that calls by an entry of a table that is not filled. */
__attribute__((noinline, no_sanitize("undefined"))) static DAT_RETURN crash_astray(void)
{
        DAT_RETURN (*volatile nobody)(void) = NULL;
        DAT_RETURN ret = nobody(); /* NOLINT(clang-analyzer-core.CallAndMessage): that is the act */

        return ret + 1;
}

static DAT_RETURN crash_by_abort(void)
{
        abort();
}

static void *crash_deaf(void *unused)
{
        sigset_t all;

        (void)unused;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, NULL);
        crash();
        return NULL;
}

/* As providers' threads do, which leave signals to the consumer's. */
static DAT_RETURN crash_in_deaf_thread(void)
{
        pthread_t thread;

        if (pthread_create(&thread, NULL, crash_deaf, NULL) != 0)
                return DAT_INTERNAL_ERROR;
        pthread_join(thread, NULL);
        return DAT_SUCCESS;
}

/* The compiler is not to see that the recursion has no end. */
static int overflow_stack(volatile int *depth)
{
        volatile char frame[4096];

        frame[0] = (char)++*depth;
        return *depth < 0 ? 0 : overflow_stack(depth) + frame[0];
}

static DAT_RETURN crash_by_stack(void)
{
        volatile int depth = 0;

        return (DAT_RETURN)overflow_stack(&depth);
}

static DAT_RETURN hang(void)
{
        sigset_t all;

        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
        for (;;)
                pause();
        return DAT_SUCCESS;
}

/* As what no mask of the C library's can do. */
static DAT_RETURN hang_deaf(void)
{
        unsigned long all = ~0ul;

        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
        for (;;)
                pause();
        return DAT_SUCCESS;
}

static pthread_mutex_t queues = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t events = PTHREAD_MUTEX_INITIALIZER;
static sem_t events_held;

__attribute__((noinline)) static void flush_queues(void)
{
        pthread_mutex_lock(&queues);
        pthread_mutex_unlock(&queues);
}

__attribute__((noinline)) static void flush_events(void)
{
        pthread_mutex_lock(&events);
        pthread_mutex_unlock(&events);
}

static void *progress(void *arg)
{
        sigset_t all;

        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, NULL);
        pthread_mutex_lock(&events);
        sem_post(&events_held);
        flush_queues();
        pthread_mutex_unlock(&events);
        return arg;
}

/* Two threads, each of which holds what the other one waits for. */
static DAT_RETURN deadlock(void)
{
        pthread_t thread;

        sem_init(&events_held, 0, 0);
        pthread_mutex_lock(&queues);
        if (pthread_create(&thread, NULL, progress, NULL) != 0)
                return FAIL(DAT_INSUFFICIENT_RESOURCES);
        while (sem_wait(&events_held) < 0)
                ;
        flush_events();
        pthread_mutex_unlock(&queues);
        return DAT_SUCCESS;
}

static void *idle(void *arg)
{
        for (;;)
                pause();
        return arg;
}

/* After it has made the C library take a signal for itself. */
static DAT_RETURN hang_after_cancel(void)
{
        pthread_t thread;

        if (pthread_create(&thread, NULL, idle, NULL) != 0)
                return FAIL(DAT_INSUFFICIENT_RESOURCES);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
        idle(NULL);
        return DAT_SUCCESS;
}

/* More threads than anybody reads of. */
static DAT_RETURN hang_in_crowd(void)
{
        pthread_attr_t attr;

        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, 64 << 10);
        for (int i = 0; i < 200; i++) {
                pthread_t thread;

                if (pthread_create(&thread, &attr, idle, NULL) != 0)
                        return FAIL(DAT_INSUFFICIENT_RESOURCES);
        }
        idle(NULL);
        return DAT_SUCCESS;
}

static DAT_RETURN forge_the_stacks(void)
{
        forge_stacks();
        return FAIL(DAT_INTERNAL_ERROR);
}

static DAT_RETURN forge_the_stacks_and_hang(void)
{
        forge_stacks();
        idle(NULL);
        return DAT_SUCCESS;
}

static DAT_RETURN spin(void)
{
        for (volatile bool on = true; on;)
                ;
        return DAT_SUCCESS;
}

static uint64_t processor_ms(void)
{
        struct timespec used;

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        return (uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / 1000000;
}

/* Works for so long as a processor gives it 200 ms. */
static DAT_RETURN compute(void)
{
        uint64_t end = processor_ms() + 200;

        while (processor_ms() < end)
                ;
        return DAT_SUCCESS;
}

/* Has the kernel work for it, until a processor gave it `end` milliseconds. */
static void work_in_kernel(uint64_t end)
{
        static char bytes[1 << 20];

        while (processor_ms() < end)
                if (getrandom(bytes, sizeof(bytes), 0) < 0)
                        errno = 0;
}

/* As what a large object costs in the kernel. */
static DAT_RETURN work(void)
{
        work_in_kernel(processor_ms() + 1000);
        return DAT_SUCCESS;
}

static DAT_RETURN work_for_ever(void)
{
        work_in_kernel(UINT64_MAX);
        return DAT_SUCCESS;
}

/* As long as a provider may wait for its peer. */
static DAT_RETURN delay(void)
{
        nanosleep(&(struct timespec){.tv_nsec = 200 * 1000000L}, NULL);
        return DAT_SUCCESS;
}

static DAT_RETURN stop(void)
{
        raise(SIGSTOP);
        return DAT_SUCCESS;
}

static DAT_RETURN leave(void)
{
        exit(0);
}

static DAT_RETURN leave_quickly(void)
{
        _exit(0);
}

static DAT_RETURN forge(void)
{
        static const char verdict[] =
            "{\"type\":\"verdict\",\"seq\":1,\"case\":\"provider/resizes\",\"verdict\":\"PASS\","
            "\"reason\":\"\",\"us\":1,\"output\":\"\"}\n";

        for (int fd = 0; fd < FD_LIMIT; fd++)
                if (write(fd, verdict, strlen(verdict)) < 0)
                        errno = 0;
        return FAIL(DAT_INTERNAL_ERROR);
}

static DAT_RETURN close_all(void)
{
        for (int fd = 0; fd < 1024; fd++)
                close(fd);
        return DAT_SUCCESS;
}

static DAT_RETURN leak_one(void)
{
        return open("/dev/null", O_RDONLY) < 0 ? FAIL(DAT_INTERNAL_ERROR) : DAT_SUCCESS;
}

static DAT_RETURN kill_group(void)
{
        kill(0, SIGKILL);
        return DAT_SUCCESS;
}

/* Process 1 of a PID namespace is what the kernel protects; any other parent would die. */
static DAT_RETURN kill_parent(void)
{
        kill(getppid(), SIGKILL);
        return DAT_SUCCESS;
}

/* A daemon: a session of its own, its parent gone, every signal blocked that can be. */
static DAT_RETURN start_daemon(void)
{
        pid_t pid = fork();

        if (pid == 0) {
                if (fork() == 0) {
                        setsid();
                        hang();
                }
                _exit(0);
        }
        waitpid(pid, NULL, 0);
        return DAT_SUCCESS;
}

static DAT_RETURN flood(void)
{
        char block[4096];

        memset(block, 'x', sizeof(block));
        for (int i = 0; i < 1024; i++)
                if (write(STDOUT_FILENO, block, sizeof(block)) < 0)
                        return FAIL(DAT_INTERNAL_ERROR);
        return DAT_SUCCESS;
}

static DAT_RETURN print_binary(void)
{
        static const char binary[] = "\xff\xfe\x80 caf\xc3\xa9 \x01\n";

        if (write(STDERR_FILENO, binary, sizeof(binary)) < 0)
                return FAIL(DAT_INTERNAL_ERROR);
        return DAT_SUCCESS;
}

/* Into every socket that the process has. */
static DAT_RETURN send_garbage(void)
{
        for (int fd = 3; fd < FD_LIMIT; fd++)
                if (send(fd, "\xff{]garbage\n", 11, MSG_NOSIGNAL) < 0)
                        errno = 0;
        return DAT_SUCCESS;
}

static DAT_RETURN ask_agent(const char *line)
{
        for (int fd = 3; fd < FD_LIMIT; fd++)
                if (send(fd, line, strlen(line), MSG_NOSIGNAL) < 0)
                        errno = 0;
        return DAT_SUCCESS;
}

static DAT_RETURN ask_for_peer(void)
{
        return ask_agent("{\"op\":\"start\",\"data\":{}}\n");
}

static DAT_RETURN ask_for_silence(void)
{
        return ask_agent("{\"op\":\"disturb\",\"data\":{\"delay_ms\":0,\"reorder_percent\":0,"
                         "\"loss_percent\":100,\"kbit_per_s\":0}}\n");
}

static DAT_RETURN ask_for_hours(void)
{
        return ask_agent("{\"op\":\"disturb\",\"data\":{\"delay_ms\":9999,\"reorder_percent\":0,"
                         "\"loss_percent\":0,\"kbit_per_s\":0}}\n");
}

static DAT_RETURN ask_for_anything(void)
{
        return ask_agent("{\"op\":\"reboot\",\"data\":{}}\n");
}

/* Writes over all memory that this process shares with another. */
static DAT_RETURN scribble(void)
{
        FILE *maps = fopen("/proc/self/maps", "re");
        char line[512];

        while (maps && fgets(line, sizeof(line), maps)) {
                unsigned char *from, *to;

                if (!strstr(line, " rw-s ") ||
                    sscanf(line, "%p-%p", (void **)&from, (void **)&to) != 2)
                        continue;
                for (; from < to; from += 64)
                        if (getrandom(from, 64, 0) < 0)
                                errno = 0;
        }
        if (maps)
                fclose(maps);
        return DAT_SUCCESS;
}

static DAT_RETURN say_failed(void)
{
        return FAIL(DAT_INTERNAL_ERROR);
}

static DAT_RETURN say_unsupported(void)
{
        return FAIL(DAT_MODEL_NOT_SUPPORTED);
}

static DAT_RETURN say_unimplemented(void)
{
        return DAT_NOT_IMPLEMENTED;
}

static DAT_RETURN attack_all(void)
{
        attack();
        return DAT_SUCCESS;
}

static DAT_RETURN forge_a_seal(void)
{
        forge_seal();
        return DAT_SUCCESS;
}

static DAT_RETURN litter(void)
{
        return leave_ipc() ? DAT_SUCCESS : FAIL(DAT_INTERNAL_ERROR);
}

/* Files and folders, deep ones too, in each temporary folder; says how many were there before. */
static DAT_RETURN clutter(void)
{
        static const char *const folders[] = {"/tmp", "/var/tmp", "/dev/shm"};
        int there = 0;

        for (int i = 0; i < 3; i++) {
                int fd;

                if (chdir(folders[i]) < 0)
                        return FAIL(DAT_INTERNAL_ERROR);
                there += access("left", F_OK) == 0;
                fd = open("file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
                if (fd < 0)
                        return FAIL(DAT_INTERNAL_ERROR);
                close(fd);
                for (int depth = 0; depth < 300; depth++)
                        if (mkdir("left", 0700) < 0 || mkdir("beside", 0) < 0 || chdir("left") < 0)
                                return FAIL(DAT_INTERNAL_ERROR);
        }
        printf("%d were left\n", there);
        fflush(stdout);
        return DAT_SUCCESS;
}

/* By what this process could be known. */
static DAT_RETURN tell_name(void)
{
        static const char *const files[] = {"/proc/self/comm", "/proc/self/cmdline"};

        for (size_t i = 0; i < 2; i++) {
                char text[256] = "";
                int fd = open(files[i], O_RDONLY | O_CLOEXEC);
                ssize_t length = read(fd, text, sizeof(text) - 1);

                close(fd);
                for (ssize_t at = 0; at < length; at++)
                        text[at] = text[at] ? text[at] : ' ';
                printf("%s;", text);
        }
        fflush(stdout);
        return DAT_SUCCESS;
}

DAT_RETURN misbehave(const char *site)
{
        static const struct {
                const char *word;
                DAT_RETURN (*act)(void);
        } acts[] = {
            {"crash", crash},
            {"abort", crash_by_abort},
            {"astray", crash_astray},
            {"crash_deaf", crash_in_deaf_thread},
            {"stack", crash_by_stack},
            {"hang", hang},
            {"hang_deaf", hang_deaf},
            {"deadlock", deadlock},
            {"hang_after_cancel", hang_after_cancel},
            {"hang_in_crowd", hang_in_crowd},
            {"forge_stacks", forge_the_stacks},
            {"forge_stacks_and_hang", forge_the_stacks_and_hang},
            {"spin", spin},
            {"compute", compute},
            {"work", work},
            {"work_for_ever", work_for_ever},
            {"delay", delay},
            {"stop", stop},
            {"exit", leave},
            {"_exit", leave_quickly},
            {"forge", forge},
            {"closefds", close_all},
            {"leak", leak_one},
            {"killgroup", kill_group},
            {"killparent", kill_parent},
            {"daemon", start_daemon},
            {"flood", flood},
            {"binary", print_binary},
            {"garbage", send_garbage},
            {"ask_for_peer", ask_for_peer},
            {"ask_for_silence", ask_for_silence},
            {"ask_for_hours", ask_for_hours},
            {"ask_for_anything", ask_for_anything},
            {"scribble", scribble},
            {"attack", attack_all},
            {"litter", litter},
            {"tell_name", tell_name},
            {"clutter", clutter},
            {"forge_seal", forge_a_seal},
            {"fail", say_failed},
            {"unsupported", say_unsupported},
            {"unimplemented", say_unimplemented},
        };

        for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
                char word[64];

                snprintf(word, sizeof(word), "%s=%s", site, acts[i].word);
                if (is_wanted(word))
                        return acts[i].act();
        }
        return DAT_SUCCESS;
}
