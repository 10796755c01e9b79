/* SPDX-License-Identifier: BSD-2-Clause */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int append(char ***list, size_t *count, const char *text)
{
        char **grown = realloc(*list, (*count + 2) * sizeof(char *));

        if (!grown)
                return fail_at("store a command");
        *list = grown;
        grown[*count] = strdup(text);
        if (!grown[*count])
                return fail_at("store a command");
        grown[++*count] = NULL;
        return 0;
}

int command_add_argument(struct command *cmd, const char *text)
{
        return append(&cmd->argv, &cmd->argc, text);
}

int command_add_environment(struct command *cmd, const char *text)
{
        return append(&cmd->envp, &cmd->envc, text);
}

/* The control port carries lines, so an argument that holds a newline comes in several. */
int command_continue_argument(struct command *cmd, const char *text)
{
        char *joined;

        if (!cmd->argc) {
                errno = EINVAL;
                return fail_at("continue an argument");
        }
        if (asprintf(&joined, "%s\n%s", cmd->argv[cmd->argc - 1], text) < 0)
                return fail_at("store a command");
        free(cmd->argv[cmd->argc - 1]);
        cmd->argv[cmd->argc - 1] = joined;
        return 0;
}

int command_set_directory(struct command *cmd, const char *path)
{
        free(cmd->directory);
        cmd->directory = strdup(path);
        return cmd->directory ? 0 : fail_at("store a command");
}

static void unblock_signals(void)
{
        sigset_t none;

        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Becomes the command; says so on standard error, and exits as a shell would, if it cannot. */
_Noreturn void command_execute(const struct command *cmd)
{
        if (cmd->directory && chdir(cmd->directory) < 0) {
                dprintf(STDERR_FILENO, "%s: %s\n", cmd->directory, strerror(errno));
                _exit(126);
        }
        unblock_signals();
        clearenv();
        for (size_t i = 0; i < cmd->envc; i++)
                putenv(cmd->envp[i]);
        execvp(cmd->argv[0], cmd->argv);
        dprintf(STDERR_FILENO, "%s: %s\n", cmd->argv[0], strerror(errno));
        _exit(errno == ENOENT ? 127 : 126);
}

/* Opens path as the descriptor that is wanted. */
int command_open(const char *path, int flags, int wanted)
{
        int fd = open(path, flags | O_NOCTTY);

        if (fd < 0 || dup2(fd, wanted) < 0)
                return -1;
        if (fd != wanted)
                close(fd);
        return 0;
}

/*
 * Starts the command with its standard streams on three ports, so that each can end by itself.
 * A port can be opened only once.
 */
pid_t command_start(const struct command *cmd)
{
        pid_t pid;

        if (!cmd->argc) {
                errno = EINVAL;
                return fail_at("run a command without a name");
        }
        pid = fork();
        if (pid < 0)
                return fail_at("fork");
        if (pid)
                return pid;
        setsid();
        if (command_open(STDERR_PORT, O_WRONLY, STDERR_FILENO) < 0 ||
            command_open(INPUT_PORT, O_RDONLY, STDIN_FILENO) < 0 ||
            command_open(OUTPUT_PORT, O_WRONLY, STDOUT_FILENO) < 0)
                _exit(126);
        command_execute(cmd);
}
