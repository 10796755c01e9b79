/* SPDX-License-Identifier: BSD-2-Clause */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct guest {
        int control;
        int signals;
        char *pending;
        size_t pending_length;
        struct command command;
        pid_t agent;
        pid_t console;
};

static _Noreturn void power_off(void)
{
        reboot(RB_POWER_OFF);
        _exit(1);
}

/* clock SECONDS.NANOSECONDS: a clone wakes with the time of its snapshot */
static int set_clock(const char *value)
{
        char *rest;
        struct timespec now = {.tv_sec = strtoll(value, &rest, 10)};

        if (*rest == '.')
                now.tv_nsec = strtol(rest + 1, NULL, 10);
        return clock_settime(CLOCK_REALTIME, &now) < 0 ? fail_at("set the clock") : 0;
}

/* entropy HEX: clones of one snapshot would otherwise draw the same random numbers */
static int add_entropy(const char *hex)
{
        char memory[sizeof(struct rand_pool_info) + 64] __attribute__((aligned(8))) = {0};
        struct rand_pool_info *pool = (struct rand_pool_info *)memory;
        unsigned char *bytes = (unsigned char *)pool->buf;
        int count = 0;
        int fd;
        int rc;

        while (count < 64 && sscanf(hex + (size_t)2 * count, "%2hhx", &bytes[count]) == 1)
                count++;
        pool->entropy_count = count * 8;
        pool->buf_size = count;
        fd = open("/dev/random", O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return fail_at("open /dev/random");
        rc = ioctl(fd, RNDADDENTROPY, pool);
        if (rc == 0)
                rc = ioctl(fd, RNDRESEEDCRNG);
        close(fd);
        return rc < 0 ? fail_at("seed the random numbers") : 0;
}

static int set_hostname(const char *name)
{
        return sethostname(name, strlen(name)) < 0 ? fail_at("set the host name") : 0;
}

static int add_hosts_line(const char *line)
{
        if (write_file("/rw/upper/etc/hosts", line, true) < 0)
                return -1;
        return write_file("/rw/upper/etc/hosts", "\n", true);
}

/* up: everything that needs the addresses and cannot be part of a snapshot; answers with facts */
static int come_up(struct guest *guest)
{
        struct utsname names;
        char devices[256];

        if (network_up() < 0 || mount_root() < 0 || rdma_add() < 0)
                return -1;
        if (rdma_devices(devices, sizeof(devices)) < 0 || uname(&names) < 0)
                return -1;
        dprintf(guest->control, "up %s%s\n", names.release, devices);
        return 0;
}

static int start_agent(struct guest *guest)
{
        guest->agent = command_start(&guest->command);
        return guest->agent < 0 ? -1 : 0;
}

static int start_console(struct guest *guest, const char *size)
{
        guest->console = console_start(&guest->command, size);
        return guest->console < 0 ? -1 : 0;
}

static void forget_command(struct command *cmd)
{
        for (size_t i = 0; i < cmd->argc; i++)
                free(cmd->argv[i]);
        for (size_t i = 0; i < cmd->envc; i++)
                free(cmd->envp[i]);
        free(cmd->argv);
        free(cmd->envp);
        free(cmd->directory);
        *cmd = (struct command){0};
}

static int obey(struct guest *guest, const char *verb, const char *value)
{
        struct command *cmd = &guest->command;

        if (!strcmp(verb, "clock"))
                return set_clock(value);
        if (!strcmp(verb, "entropy"))
                return add_entropy(value);
        if (!strcmp(verb, "hostname"))
                return set_hostname(value);
        if (!strcmp(verb, "hosts"))
                return add_hosts_line(value);
        if (!strcmp(verb, "device"))
                return use_driver(value) < 0 ? -1 : rdma_set_type(value);
        if (!strcmp(verb, "mac"))
                return network_set_mac(value);
        if (!strcmp(verb, "address"))
                return network_add_address(value);
        if (!strcmp(verb, "share"))
                return add_share(value);
        if (!strcmp(verb, "up"))
                return come_up(guest);
        if (!strcmp(verb, "keep"))
                return keep_file(value), 0;
        if (!strcmp(verb, "command"))
                return forget_command(cmd), 0;
        if (!strcmp(verb, "arg"))
                return command_add_argument(cmd, value);
        if (!strcmp(verb, "more"))
                return command_continue_argument(cmd, value);
        if (!strcmp(verb, "env"))
                return command_add_environment(cmd, value);
        if (!strcmp(verb, "directory"))
                return command_set_directory(cmd, value);
        if (!strcmp(verb, "agent"))
                return start_agent(guest);
        if (!strcmp(verb, "console"))
                return start_console(guest, value);
        if (!strcmp(verb, "size"))
                return console_resize(value);
        if (!strcmp(verb, "off"))
                power_off();
        errno = EINVAL;
        return fail_at("understand the host");
}

static void obey_line(struct guest *guest, char *line)
{
        char *value = strchr(line, ' ');

        if (value)
                *value++ = '\0';
        if (obey(guest, line, value ? value : "") < 0)
                dprintf(guest->control, "error cannot %s: %s\n", failed_step(), strerror(errno));
}

/* Reads what has come and obeys each complete line. The host's end of the stream is the end. */
static void read_control(struct guest *guest)
{
        char chunk[4096];
        ssize_t got = read(guest->control, chunk, sizeof(chunk));
        char *start;
        char *end;

        if (got <= 0)
                power_off();
        guest->pending = realloc(guest->pending, guest->pending_length + (size_t)got);
        if (!guest->pending)
                power_off();
        memcpy(guest->pending + guest->pending_length, chunk, (size_t)got);
        guest->pending_length += (size_t)got;

        start = guest->pending;
        while ((end = memchr(start, '\n', guest->pending_length))) {
                *end++ = '\0';
                guest->pending_length -= (size_t)(end - start);
                obey_line(guest, start);
                start = end;
        }
        memmove(guest->pending, start, guest->pending_length);
}

/* The exit code by which a shell would tell of a process that ended so. */
int exit_code(int status)
{
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* How many bytes were ever written to a port. The host may not have them all yet. */
static unsigned long written_to(const char *port)
{
        char path[128];
        char line[128];
        unsigned long count = 0;
        FILE *statistics;

        snprintf(path, sizeof(path), "/sys/kernel/debug/virtio-ports/%s", basename(port));
        statistics = fopen(path, "re");
        if (!statistics)
                return 0;
        while (fgets(line, sizeof(line), statistics))
                if (sscanf(line, "bytes_sent: %lu", &count) == 1)
                        break;
        fclose(statistics);
        return count;
}

/* The first process inherits every orphan, so most of what it reaps means nothing to the host. */
static void reap(const struct guest *guest)
{
        struct signalfd_siginfo info;
        int status;
        pid_t pid;

        if (read(guest->signals, &info, sizeof(info)) < 0)
                return;
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
                if (pid == guest->agent)
                        dprintf(guest->control, "exit %d %lu %lu\n", exit_code(status),
                                written_to(OUTPUT_PORT), written_to(STDERR_PORT));
                if (pid == guest->console)
                        dprintf(guest->control, "console-exit %d %lu\n", exit_code(status),
                                written_to(CONSOLE_PORT));
        }
}

static int watch_children(void)
{
        sigset_t child;

        sigemptyset(&child);
        sigaddset(&child, SIGCHLD);
        if (sigprocmask(SIG_BLOCK, &child, NULL) < 0)
                return -1;
        return signalfd(-1, &child, SFD_CLOEXEC);
}

int main(void)
{
        struct guest guest = {.agent = -1, .console = -1};
        struct pollfd items[2];

        umask(022);
        if (boot_kernel() < 0) {
                fprintf(stderr, "guest: cannot %s: %s\n", failed_step(), strerror(errno));
                power_off();
        }
        guest.signals = watch_children();
        guest.control = open(CONTROL_PORT, O_RDWR | O_CLOEXEC);
        items[0] = (struct pollfd){.fd = guest.control, .events = POLLIN};
        items[1] = (struct pollfd){.fd = guest.signals, .events = POLLIN};
        /* a write blocks until the host has connected, a read would not */
        dprintf(guest.control, "ready\n");
        for (;;) {
                if (poll(items, 2, -1) < 0)
                        continue;
                if (items[1].revents)
                        reap(&guest);
                if (items[0].revents)
                        read_control(&guest);
        }
}
