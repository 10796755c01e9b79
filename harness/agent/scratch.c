/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT_MAX 64

static struct folder {
        const char *path;
        DIR *dir;             /* NULL: it is not looked after */
        char *kept[KEPT_MAX]; /* the names in it that are the agent's */
        size_t kept_count;
} folders[] = {{.path = "/tmp"}, {.path = "/var/tmp"}, {.path = "/dev/shm"}};

#define FOLDERS (sizeof(folders) / sizeof(folders[0]))

static bool is_own(const struct folder *folder, const char *name)
{
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
                return true;
        for (size_t i = 0; i < folder->kept_count; i++)
                if (strcmp(folder->kept[i], name) == 0)
                        return true;
        return false;
}

static void watch(struct folder *folder)
{
        const struct dirent *entry;

        folder->dir = opendir(folder->path);
        while (folder->dir && (entry = readdir(folder->dir))) {
                if (is_own(folder, entry->d_name))
                        continue;
                if (folder->kept_count == KEPT_MAX) {
                        closedir(folder->dir);
                        folder->dir = NULL;
                        break;
                }
                folder->kept[folder->kept_count++] = strdup(entry->d_name);
        }
}

void scratch_watch(void)
{
        for (size_t i = 0; i < FOLDERS; i++)
                watch(&folders[i]);
}

static bool removed(int folder, const char *name)
{
        return unlinkat(folder, name, 0) == 0 || unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

/*
 * Moves what is in the folder `name` beside it. Nothing is entered any deeper, however deep folders
 * lie in folders.
 */
static void raise_contents(int top, const char *name)
{
        static unsigned int moves;
        int fd = openat(top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        const struct dirent *entry;

        if (!dir) {
                if (fd >= 0)
                        close(fd);
                return;
        }
        while ((entry = readdir(dir))) {
                char moved[32];

                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                    removed(fd, entry->d_name))
                        continue;
                snprintf(moved, sizeof(moved), ".cts-left-%u", moves++);
                renameat(fd, entry->d_name, top, moved);
        }
        closedir(dir);
}

/* One look at a folder; how many names that are not the agent's it had, and whether all are gone.
 */
static unsigned int sweep(struct folder *folder, bool *again)
{
        int fd = dirfd(folder->dir);
        const struct dirent *entry;
        unsigned int count = 0;

        *again = false;
        rewinddir(folder->dir);
        while ((entry = readdir(folder->dir))) {
                if (is_own(folder, entry->d_name))
                        continue;
                count++;
                if (removed(fd, entry->d_name))
                        continue;
                raise_contents(fd, entry->d_name);
                /* What cannot be emptied is a mount, and no case can make one. */
                *again |= removed(fd, entry->d_name);
        }
        return count;
}

unsigned int scratch_clear(void)
{
        unsigned int count = 0;

        for (size_t i = 0; i < FOLDERS; i++) {
                bool again = folders[i].dir != NULL;
                bool first = true;

                while (again) {
                        unsigned int seen = sweep(&folders[i], &again);

                        if (first)
                                count += seen;
                        first = false;
                }
        }
        return count;
}
