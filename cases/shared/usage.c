/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/shared/usage.h"

#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* At threads that end, and at what a provider frees later; a tenth of a quiet period is between. */
#define LOOKS 100

static int entries_of(const char *path)
{
        DIR *dir = opendir(path);
        int count = -2; /* each directory names itself and the one above */

        while (dir && readdir(dir))
                count++;
        if (dir)
                (void)closedir(dir);
        return dir ? count : -1;
}

static bool has_children(void)
{
        siginfo_t info;

        return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

/* The first number of /proc/self/statm is of pages. */
static long bytes_mapped(void)
{
        FILE *statm = fopen("/proc/self/statm", "re");
        char line[128];
        long pages = -1;

        if (statm && fgets(line, sizeof(line), statm))
                pages = strtol(line, NULL, 10);
        if (statm)
                (void)fclose(statm);
        return pages < 0 ? -1 : pages * sysconf(_SC_PAGESIZE);
}

static long bytes_allocated(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
        struct mallinfo2 info = mallinfo2();

        return (long)(info.uordblks + info.hblkhd);
#else
        return 0;
#endif
}

struct usage usage_now(struct test *t)
{
        struct usage usage = {
            .descriptors = entries_of("/proc/self/fd"),
            .threads = entries_of("/proc/self/task"),
            .children = has_children(),
            .mapped = bytes_mapped(),
            .allocated = bytes_allocated(),
        };

        suite_that(usage.descriptors > 0 && usage.threads > 0 && usage.mapped > 0,
                   "the kernel does not tell what the process has");
        return usage;
}

void expect_nothing_left(struct test *t, const struct usage *before, const char *what)
{
        struct usage after = usage_now(t);

        for (int i = 0; i < LOOKS && (after.threads > before->threads ||
                                      after.descriptors > before->descriptors);
             i++) {
                settle_briefly(t);
                after = usage_now(t);
        }
        expect_that(after.descriptors <= before->descriptors,
                    "%s left %d descriptors open: %d instead of %d", what,
                    after.descriptors - before->descriptors, after.descriptors,
                    before->descriptors);
        expect_that(after.threads <= before->threads, "%s left %d threads: %d instead of %d", what,
                    after.threads - before->threads, after.threads, before->threads);
        expect_that(before->children || !after.children, "%s left a process", what);
}
