/* SPDX-License-Identifier: BSD-2-Clause */
/* What a faulty library can do to its process and to the host, without DAT. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fault.h"
#include "functions.h"

#define INTRUDED_PAGES 64

#define AGENT_FD 3

#define LEAKED_MAPPING ((size_t)256 << 10) /* bytes */
#define LEAKED_HEAP    ((size_t)64 << 10)

static _Noreturn void hang(void)
{
        for (;;)
                pause();
}

static void leave_process(bool own_session)
{
        if (fork())
                return;
        if (own_session)
                setsid();
        hang();
}

static void *sleep_on(void *arg)
{
        (void)arg;
        hang();
}

/* The thread runs in this library, which a registry unloads when the last IA is closed. */
static void stay_loaded(void)
{
        Dl_info info;

        if (dladdr(&fault_table_size, &info))
                (void)dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

void run_leak_thread(void)
{
        pthread_t thread;

        stay_loaded();
        if (!pthread_create(&thread, NULL, sleep_on, NULL))
                pthread_detach(thread);
}

void run_print_verdict(void)
{
        puts("{\"type\": \"verdict\", \"seq\": 1, \"case\": \"forged\", \"verdict\": \"PASS\", "
             "\"reason\": \"\", \"us\": 1, \"output\": \"\"}");
        puts("PASS");
        fflush(stdout);
}

/* Its heap is where this process's is, which was forked from it. */
void run_write_parent_memory(void)
{
        static char garbage[4096];
        char *heap = malloc(sizeof(garbage));
        struct iovec local = {garbage, sizeof(garbage)};

        memset(garbage, 0xee, sizeof(garbage));
        for (size_t page = 0; heap && page < INTRUDED_PAGES; page++) {
                struct iovec remote = {heap - page * sizeof(garbage), sizeof(garbage)};

                process_vm_writev(getppid(), &local, 1, &remote, 1, 0);
        }
        free(heap);
}

void run_netdevs_down(void)
{
        struct if_nameindex *netdevs = if_nameindex();
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        for (const struct if_nameindex *at = netdevs; at && at->if_index; at++) {
                struct ifreq request = {.ifr_flags = 0};

                snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", at->if_name);
                ioctl(fd, SIOCSIFFLAGS, &request);
        }
        if_freenameindex(netdevs);
        close(fd);
}

void run_leak_shared_memory(void)
{
        (void)shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
}

static void fill(const char *folder)
{
        static char block[1 << 16];
        char path[64];
        int fd;

        snprintf(path, sizeof(path), "%s/filled", folder);
        fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        memset(block, 'x', sizeof(block));
        while (fd >= 0 && write(fd, block, sizeof(block)) > 0)
                ;
        if (fd >= 0)
                close(fd);
}

void run_fill_folders(void)
{
        fill("/tmp");
        fill("/var/tmp");
        fill("/dev/shm");
}

void run_continue_in_child(void)
{
        pid_t child = fork();
        int status = 1;

        if (child <= 0)
                return;
        waitpid(child, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

void run_exhaust_memory(void)
{
        size_t size = (size_t)16 << 20;
        char *block;

        while ((block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                             0)) != MAP_FAILED)
                memset(block, 1, size);
}

/* Each process makes others until the kernel has no more; the copies then stay. */
void run_exhaust_processes(void)
{
        pid_t own = getpid();

        while (fork() >= 0)
                ;
        while (getpid() != own)
                pause();
}

/* By the descriptor on which the harness of this process speaks to its agent. */
void run_request_disturbance(void)
{
        static const char lines[] =
            "{\"op\": \"start\", \"data\": {}}\n"
            "{\"op\": \"disturb\", \"data\": {\"delay_ms\": 0, \"reorder_percent\": 0, "
            "\"loss_percent\": 100, \"kbit_per_s\": 0}}\n";

        send(AGENT_FD, lines, sizeof(lines) - 1, MSG_NOSIGNAL);
}

/* What happens to the written page: it stays, is discarded, or gets the file in its place. */
enum aftermath { STAYS, DISCARDED, MAPPED_ANEW };

static void forget(void *start, size_t length, off_t offset, enum aftermath aftermath)
{
        int file;

        if (aftermath == DISCARDED)
                madvise(start, length, MADV_DONTNEED);
        if (aftermath != MAPPED_ANEW)
                return;
        file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        (void)mmap(start, length, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file, offset);
        close(file);
}

/* The program is the first of the objects; its code is judged by. */
static int rewrite(struct dl_phdr_info *info, size_t size, void *context)
{
        size_t page = (size_t)sysconf(_SC_PAGESIZE);

        (void)size;
        for (size_t i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) *header = &info->dlpi_phdr[i];
                uintptr_t at = info->dlpi_addr + header->p_vaddr;
                uintptr_t before = at & (page - 1);
                void *start = (void *)(at - before); /* NOLINT(performance-no-int-to-ptr) */
                size_t length = (before + header->p_memsz + page - 1) & ~(page - 1);

                if (header->p_type != PT_LOAD || !(header->p_flags & PF_X) ||
                    mprotect(start, length, PROT_READ | PROT_WRITE | PROT_EXEC))
                        continue;
                *(volatile unsigned char *)start = *(volatile unsigned char *)start;
                mprotect(start, length, PROT_READ | PROT_EXEC);
                forget(start, length, (off_t)(header->p_offset - before),
                       *(const enum aftermath *)context);
        }
        return 1;
}

static void rewrite_code(enum aftermath aftermath)
{
        dl_iterate_phdr(rewrite, &aftermath);
}

void run_rewrite_code(void)
{
        rewrite_code(STAYS);
}

void run_rewrite_and_discard_code(void)
{
        rewrite_code(DISCARDED);
}

void run_rewrite_and_map_code(void)
{
        rewrite_code(MAPPED_ANEW);
}

void run_leak_descriptor(void)
{
        (void)!open("/dev/null", O_RDONLY);
}

/* Each block points to the one before it, so that no compiler leaves the allocation out. */
void run_leak_heap(void)
{
        static void *newest;
        void **block = malloc(LEAKED_HEAP);

        if (!block)
                return;
        *block = newest;
        newest = block;
}

void run_leak_mapping(void)
{
        (void)mmap(NULL, LEAKED_MAPPING, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                   0);
}

void run_leak_child(void)
{
        leave_process(false);
}

void run_leak_daemon(void)
{
        leave_process(true);
}

void run_crash(void)
{
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
}

void run_exit_success(void)
{
        exit(0);
}

void run_close_descriptors(void)
{
        close_range(0, ~0U, 0);
}

void run_sleep_50_ms(void)
{
        call_linger(50);
}

void run_sleep_5_ms(void)
{
        call_linger(5);
}

void run_sleep_50_us(void)
{
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

bool hostile_act(const struct step *step)
{
        switch (step->effect) {
        case EFFECT_RUN:
                step->function();
                return true;
        case EFFECT_HANG:
                hang();
        default:
                return false;
        }
}
