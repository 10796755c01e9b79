/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ia/shared/instance.h"
#include "case/poison.h"
#include "cases/evd/shared/dispatcher.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ASYNC_QLEN 8
#define LOOKS      100 /* at threads that end; a tenth of a quiet period is between two */

struct instance instance_with(struct test *t, DAT_COUNT qlen, DAT_EVD_HANDLE async)
{
        struct instance instance = {.async = async};

        poison((void *)&instance.ia, sizeof(instance.ia));
        expect(dat_ia_open(ia_name(t), qlen, &instance.async, &instance.ia), DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_IA, instance.ia);
        return instance;
}

struct instance instance_new(struct test *t)
{
        return instance_with(t, ASYNC_QLEN, DAT_HANDLE_NULL);
}

void instance_close(struct test *t, const struct instance *instance, DAT_CLOSE_FLAGS flags)
{
        expect(dat_ia_close(instance->ia, flags), DAT_SUCCESS);
        disown(t, instance->ia);
}

DAT_EVD_HANDLE async_told(struct test *t, DAT_IA_HANDLE ia)
{
        DAT_EVD_HANDLE told;

        poison((void *)&told, sizeof(told));
        expect(dat_ia_query(ia, &told, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_NONE, NULL),
               DAT_SUCCESS);
        return told;
}

void expect_instance_works(struct test *t, DAT_IA_HANDLE ia)
{
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
        DAT_PZ_HANDLE zone = DAT_HANDLE_NULL;
        struct buf *buf;

        expect(dat_pz_create(ia, &zone), DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_PZ, zone);
        buf = buf_with(t, .ia = ia, .pz = zone);
        expect(dat_evd_create(ia, SE_QLEN, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd),
               DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_EVD, evd);
        post_ses(t, evd, 0, 2);
        expect_ses(t, evd, 0, 2);
        release(t, evd);
        release(t, buf);
        release(t, zone);
}

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

struct usage usage_now(struct test *t)
{
        struct usage usage = {
            .descriptors = entries_of("/proc/self/fd"),
            .threads = entries_of("/proc/self/task"),
            .children = has_children(),
            .mapped = bytes_mapped(),
        };

        suite_that(usage.descriptors > 0 && usage.threads > 0 && usage.mapped > 0,
                   "the kernel does not tell what the process has");
        return usage;
}

void expect_nothing_left(struct test *t, const struct usage *before, const char *what)
{
        struct usage after = usage_now(t);

        for (int i = 0; i < LOOKS && after.threads > before->threads; i++) {
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
