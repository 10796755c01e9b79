/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each attack stops where it has shown that nothing would have stopped it: files are opened to be
 * written and are not, calls have an argument at fault that the kernel sees after the privilege.
 */
#include "attacks.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <mqueue.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "evidence/evidence.h"

/* Words of a range; a sanitizer has larger ones. */
#define SEARCHED_MAX ((size_t)1 << 21)

/* Whether a call got past the question of privilege. */
static bool passed(long ret)
{
        return ret >= 0 || (errno != EPERM && errno != EACCES && errno != EROFS && errno != ENOENT);
}

static bool opens(const char *path)
{
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        bool done = fd >= 0;

        if (done)
                close(fd);
        return done;
}

static bool core_pattern(void)
{
        return opens("/proc/sys/kernel/core_pattern");
}

/* The agent is the parent of each of its processes. */
static bool agent_memory(void)
{
        unsigned char byte;
        struct iovec local = {&byte, 1};
        struct iovec remote = {(void *)(&attack), 1};

        return passed(syscall(SYS_process_vm_readv, getppid(), &local, 1, &remote, 1, 0)) ||
               passed(syscall(SYS_process_vm_writev, getppid(), &local, 1, &remote, 1, 0));
}

static bool agent_traced(void)
{
        if (!passed(ptrace(PTRACE_SEIZE, getppid(), NULL, NULL)))
                return false;
        ptrace(PTRACE_DETACH, getppid(), NULL, NULL);
        return true;
}

static bool agent_descriptors(void)
{
        int agent = (int)syscall(SYS_pidfd_open, getppid(), 0);
        long got = agent < 0 ? -1 : syscall(SYS_pidfd_getfd, agent, 0, 0);

        if (got >= 0)
                close((int)got);
        if (agent >= 0)
                close(agent);
        return got >= 0;
}

static bool other_processes(void)
{
        return access("/proc/1/status", F_OK) == 0;
}

/* With the flags that it has. */
static bool link_down(void)
{
        struct ifreq lo = {.ifr_name = "lo"};
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        bool done = ioctl(fd, SIOCGIFFLAGS, &lo) == 0 && passed(ioctl(fd, SIOCSIFFLAGS, &lo));

        close(fd);
        return done;
}

static bool real_time(void)
{
        struct sched_param one = {.sched_priority = 1};
        struct sched_param none = {.sched_priority = 0};

        if (!passed(sched_setscheduler(0, SCHED_FIFO, &one)))
                return false;
        sched_setscheduler(0, SCHED_OTHER, &none);
        return true;
}

static bool own_library(void)
{
        Dl_info where;

        return dladdr((void *)attack, &where) != 0 && opens(where.dli_fname);
}

/* Puts a file system of no type where the library is found. */
static bool over_library(void)
{
        Dl_info where;

        return dladdr((void *)attack, &where) != 0 &&
               passed(mount("none", where.dli_fname, "no-such-type", 0, NULL));
}

static bool beside_library(void)
{
        Dl_info where;
        char path[4096];
        int fd;

        if (dladdr((void *)attack, &where) == 0)
                return false;
        snprintf(path, sizeof(path), "%s.other", where.dli_fname);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0) {
                close(fd);
                unlink(path);
        }
        return fd >= 0;
}

static bool user_namespace(void)
{
        return passed(unshare(CLONE_NEWUSER));
}

static bool kernel_module(void)
{
        return passed(syscall(SYS_delete_module, NULL, O_NONBLOCK));
}

static bool reboots(void)
{
        return passed(syscall(SYS_reboot, 0, 0, 0, NULL));
}

static bool swaps(void)
{
        return passed(syscall(SYS_swapon, NULL, 0));
}

static bool sets_clock(void)
{
        return passed(syscall(SYS_clock_settime, 0, NULL));
}

static bool keys(void)
{
        return passed(syscall(SYS_keyctl, 0, -3, 0, 0, 0));
}

static bool bpf_programs(void)
{
        return passed(syscall(SYS_bpf, 5, NULL, 0));
}

static bool perf_events(void)
{
        return passed(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
}

static bool user_faults(void)
{
        long fd = syscall(SYS_userfaultfd, O_CLOEXEC);

        if (fd >= 0)
                close((int)fd);
        return passed(fd);
}

static bool rings_of_calls(void)
{
        return passed(syscall(SYS_io_uring_setup, 1, NULL));
}

static bool capabilities(void)
{
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3];

        return syscall(SYS_capget, &header, has) == 0 && (has[0].permitted || has[1].permitted);
}

void attack(void)
{
        static const struct {
                const char *name;
                bool (*reaches)(void);
        } attacks[] = {
            {"core_pattern", core_pattern},
            {"agent_memory", agent_memory},
            {"agent_traced", agent_traced},
            {"agent_descriptors", agent_descriptors},
            {"other_processes", other_processes},
            {"link_down", link_down},
            {"real_time", real_time},
            {"own_library", own_library},
            {"over_library", over_library},
            {"beside_library", beside_library},
            {"kernel_module", kernel_module},
            {"reboots", reboots},
            {"swaps", swaps},
            {"sets_clock", sets_clock},
            {"keys", keys},
            {"bpf_programs", bpf_programs},
            {"perf_events", perf_events},
            {"user_faults", user_faults},
            {"rings_of_calls", rings_of_calls},
            {"capabilities", capabilities},
            {"user_namespace", user_namespace},
        };

        for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++)
                if (attacks[i].reaches())
                        printf("reached %s\n", attacks[i].name);
        printf("user %u\n", getuid());
        fflush(stdout);
}

/* Each word of a range that the case's body could have been sealed with. */
__attribute__((no_sanitize("address"))) static bool
try_words(struct evidence *evidence, const uint64_t *from, const uint64_t *to)
{
        struct sealed_verdict body;

        for (const uint64_t *at = from; at < to; at++) {
                uint64_t word = *at;

                for (int turn = 0; word && turn < 2; turn++, word = ~word) {
                        if (!verdict_get(&evidence->body, &word, &body))
                                continue;
                        printf("found\n");
                        fflush(stdout);
                        verdict_put(&evidence->end, &word, VERDICT_PASS, "", NULL);
                        return true;
                }
        }
        return false;
}

/* What the process shares with the agent. */
static struct evidence *find_evidence(FILE *maps)
{
        char line[512];
        unsigned char *from, *to;

        while (fgets(line, sizeof(line), maps))
                if (strstr(line, " rw-s ") &&
                    sscanf(line, "%p-%p", (void **)&from, (void **)&to) == 2 &&
                    (size_t)(to - from) == (sizeof(struct evidence) + 4095) / 4096 * 4096)
                        return (void *)from;
        return NULL;
}

void forge_stacks(void)
{
        FILE *maps = fopen("/proc/self/maps", "re");
        struct evidence *evidence = maps ? find_evidence(maps) : NULL;

        if (maps)
                fclose(maps);
        if (!evidence)
                return;
        printf("forged\n");
        fflush(stdout);
        for (int i = 0; i < STACKS_MAX; i++) {
                struct stack *stack = &evidence->stacks.at[i];

                stack->id = i + 1;
                stack->told = 1;
                stack->frames.count = FRAMES_MAX;
                stack->frames.described = FRAMES_MAX;
                for (int frame = 0; frame < FRAMES_MAX; frame++)
                        memset(stack->frames.text[frame], 'x', FRAME_TEXT_MAX);
        }
        evidence->stacks.taken = ~0u;
}

void forge_seal(void)
{
        FILE *maps = fopen("/proc/self/maps", "re");
        struct evidence *evidence = find_evidence(maps);
        char line[512];
        uint64_t *from, *to;
        bool done = false;

        rewind(maps);
        while (evidence && !done && fgets(line, sizeof(line), maps))
                if (strstr(line, " rw-") &&
                    sscanf(line, "%p-%p", (void **)&from, (void **)&to) == 2 &&
                    (size_t)(to - from) < SEARCHED_MAX)
                        done = try_words(evidence, from, to);
        fclose(maps);
        if (done)
                _exit(0);
}

bool leave_ipc(void)
{
        bool left = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600) >= 0 &&
                    semget(IPC_PRIVATE, 1, IPC_CREAT | 0600) >= 0 &&
                    msgget(IPC_PRIVATE, IPC_CREAT | 0600) >= 0;

        close(shm_open("/.left", O_RDWR | O_CREAT, 0600));
        mq_close(mq_open("/left", O_RDWR | O_CREAT, 0600, NULL));
        return left;
}
