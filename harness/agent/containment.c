/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/containment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_init;

/* Waits for the contained process and ends as it did. */
static _Noreturn void stand_by(pid_t contained)
{
        int status;

        while (waitpid(contained, &status, 0) < 0)
                if (errno != EINTR)
                        _exit(2);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 2);
}

void containment_enter(void)
{
        pid_t contained;

        containment_adopt();
        if (unshare(CLONE_NEWPID) < 0)
                return;
        contained = fork();
        if (contained < 0) {
                perror("cannot fork into a PID namespace");
                exit(2);
        }
        if (contained > 0)
                stand_by(contained);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        is_init = true;
}

void containment_adopt(void)
{
        prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* The parent of a process, from its stat: the second word behind the name's parenthesis. */
static pid_t parent_of(const char *pid)
{
        char path[64];
        char text[512];
        const char *behind;
        ssize_t length;
        int parent = -1;
        int fd;

        snprintf(path, sizeof(path), "/proc/%s/stat", pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -1;
        length = read(fd, text, sizeof(text) - 1);
        close(fd);
        if (length <= 0)
                return -1;
        text[length] = '\0';
        behind = strrchr(text, ')');
        if (!behind || sscanf(behind + 1, " %*c %d", &parent) != 1)
                return -1;
        return parent;
}

static void kill_children(void)
{
        DIR *dir = opendir("/proc");
        const struct dirent *entry;

        if (!dir)
                return;
        while ((entry = readdir(dir)))
                if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
                    parent_of(entry->d_name) == getpid())
                        containment_kill_group((pid_t)strtol(entry->d_name, NULL, 10));
        closedir(dir);
}

void containment_kill(void)
{
        if (is_init)
                kill(-1, SIGKILL);
        else
                kill_children();
}

void containment_kill_group(pid_t pid)
{
        if (pid <= 1)
                return;
        kill(pid, SIGKILL);
        if (getpgid(pid) == pid)
                kill(-pid, SIGKILL);
}
