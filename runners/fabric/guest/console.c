/* SPDX-License-Identifier: BSD-2-Clause */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define PORT_SIDE     0
#define TERMINAL_SIDE 1

/* The master side of the console's terminal, kept for its size. */
static int terminal = -1;

static int write_all(int fd, const char *data, size_t length)
{
        while (length) {
                ssize_t written = write(fd, data, length);

                if (written < 0 && errno != EINTR)
                        return -1;
                if (written > 0) {
                        data += written;
                        length -= (size_t)written;
                }
        }
        return 0;
}

/* Returns whether there may be more to pass on. */
static bool pass_on(int from, int to)
{
        char data[4096];
        ssize_t got = read(from, data, sizeof(data));

        return got > 0 && write_all(to, data, (size_t)got) == 0;
}

static _Noreturn void run_on_terminal(const struct command *cmd, int master)
{
        const char *name = ptsname(master);

        setsid();
        if (!name || command_open(name, O_RDWR, STDIN_FILENO) < 0 ||
            ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0 || dup2(STDIN_FILENO, STDOUT_FILENO) < 0 ||
            dup2(STDIN_FILENO, STDERR_FILENO) < 0)
                _exit(126);
        close(master);
        command_execute(cmd);
}

/* Joins port and terminal until the terminal has no user; exits as the command did. */
static _Noreturn void join(const struct command *cmd, int master)
{
        struct pollfd items[] = {
            [PORT_SIDE] = {.fd = open(CONSOLE_PORT, O_RDWR | O_CLOEXEC), .events = POLLIN},
            [TERMINAL_SIDE] = {.fd = master, .events = POLLIN},
        };
        pid_t pid = fork();
        int status;

        if (pid == 0)
                run_on_terminal(cmd, master);
        while (poll(items, 2, -1) > 0) {
                if (items[PORT_SIDE].revents && !pass_on(items[PORT_SIDE].fd, master))
                        items[PORT_SIDE].fd = -1;
                if (items[TERMINAL_SIDE].revents && !pass_on(master, items[PORT_SIDE].fd))
                        break;
        }
        if (pid < 0 || waitpid(pid, &status, 0) < 0)
                _exit(126);
        _exit(exit_code(status));
}

/* size is in the form ROWS COLUMNS */
int console_resize(const char *size)
{
        struct winsize window = {0};

        if (sscanf(size, "%hu %hu", &window.ws_row, &window.ws_col) != 2) {
                errno = EINVAL;
                return fail_at("read a size");
        }
        return ioctl(terminal, TIOCSWINSZ, &window) < 0 ? fail_at("resize the console") : 0;
}

/* Starts the command on a terminal of that size, whose bytes pass through the console port. */
pid_t console_start(const struct command *cmd, const char *size)
{
        pid_t pid;

        if (!cmd->argc) {
                errno = EINVAL;
                return fail_at("run a command without a name");
        }
        if (terminal >= 0)
                close(terminal);
        terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (terminal < 0 || unlockpt(terminal) < 0)
                return fail_at("open a terminal");
        if (console_resize(size) < 0)
                return -1;
        pid = fork();
        if (pid < 0)
                return fail_at("fork");
        if (pid == 0)
                join(cmd, terminal);
        return pid;
}
