/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/descriptors.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "socket:[4711]" is the same kind of thing as any other socket. */
static void describe(struct descriptor *descriptor)
{
        char path[32];
        ssize_t length;
        char *number;

        snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor->fd);
        length = readlink(path, descriptor->target, sizeof(descriptor->target) - 1);
        descriptor->target[length < 0 ? 0 : length] = '\0';
        number = strstr(descriptor->target, ":[");
        if (number && strncmp(descriptor->target, "anon_inode", 10) != 0)
                *number = '\0';
}

static int by_number(const void *a, const void *b)
{
        return ((const struct descriptor *)a)->fd - ((const struct descriptor *)b)->fd;
}

void descriptors_list(struct descriptors *list)
{
        DIR *dir = opendir("/proc/self/fd");
        const struct dirent *entry;

        list->count = 0;
        if (!dir)
                return;
        while ((entry = readdir(dir)) && list->count < DESCRIPTORS_MAX) {
                int fd = (int)strtol(entry->d_name, NULL, 10);

                if (entry->d_name[0] != '.' && fd != dirfd(dir))
                        list->at[list->count++].fd = fd;
        }
        closedir(dir);
        qsort(list->at, list->count, sizeof(list->at[0]), by_number);
}

static int has(const struct descriptors *list, int fd)
{
        for (size_t i = 0; i < list->count; i++)
                if (list->at[i].fd == fd)
                        return 1;
        return 0;
}

void descriptors_new(struct descriptors *after, const struct descriptors *before)
{
        size_t kept = 0;

        for (size_t i = 0; i < after->count; i++)
                if (!has(before, after->at[i].fd)) {
                        after->at[kept].fd = after->at[i].fd;
                        describe(&after->at[kept++]);
                }
        after->count = kept;
}
