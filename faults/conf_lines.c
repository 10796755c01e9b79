/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libdat.h"
#include "whole.h"

/* Lines that the parser is still to be given: one that is doubled or came early, and what it was
 * before. */
#define READY_MAX 16

static char *ready[READY_MAX];
static size_t ready_count;
static char *held;

static char *copy(const char *line)
{
        char *copied = strdup(line);

        if (!copied)
                abort();
        return copied;
}

static void make_ready(const char *line)
{
        if (ready_count < READY_MAX)
                ready[ready_count++] = copy(line);
}

void conf_lines_hold(const char *line)
{
        free(held);
        held = copy(line);
}

DAT_RETURN act_conf_line(const struct call *call, const uint64_t *arg)
{
        (void)call;
        make_ready(word_pointer(arg[0]));
        return DAT_SUCCESS;
}

/* A line that is lost leaves a blank one, so that others keep their numbers. */
static void take_line(char *line, DAT_COUNT number)
{
        char *before = held;

        libdat_run(SLOT_CONF_LINE,
                   (const uint64_t[]){(uint64_t)(uintptr_t)line, (uint64_t)number, 0});
        if (!ready_count)
                make_ready("\n");
        if (before && before == held) {
                make_ready(held);
                held = NULL;
                free(before);
        }
}

static ssize_t give(char **text, size_t *size)
{
        char *line = ready[0];

        memmove(ready, ready + 1, --ready_count * sizeof(*ready));
        free(*text);
        *text = line;
        *size = strlen(line) + 1;
        return (ssize_t)strlen(line);
}

/* The linker gives libdat these in place of the C library's. */
ssize_t __real_getline(char **text, size_t *size, FILE *file);
ssize_t __wrap_getline(char **text, size_t *size, FILE *file);
ssize_t __wrap_getline(char **text, size_t *size, FILE *file)
{
        static DAT_COUNT number;
        ssize_t length;

        if (libdat_is_whole())
                return __real_getline(text, size, file);
        if (ready_count)
                return give(text, size);
        length = __real_getline(text, size, file);
        if (length >= 0) {
                take_line(*text, ++number);
                return give(text, size);
        }
        if (!held)
                return length;
        make_ready(held);
        free(held);
        held = NULL;
        return give(text, size);
}

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);

DAT_RETURN act_conf_open(const struct call *call, const uint64_t *arg)
{
        FILE **file = word_pointer(arg[1]);

        (void)call;
        *file = __real_fopen(word_pointer(arg[0]), "re");
        return DAT_SUCCESS;
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
        FILE *file = NULL;

        if (libdat_is_whole())
                return __real_fopen(path, mode);
        errno = ENOENT;
        libdat_run(SLOT_CONF_OPEN,
                   (const uint64_t[]){(uint64_t)(uintptr_t)path, (uint64_t)(uintptr_t)&file});
        return file;
}

char *__real_secure_getenv(const char *name);
char *__wrap_secure_getenv(const char *name);

DAT_RETURN act_conf_override(const struct call *call, const uint64_t *arg)
{
        char **value = word_pointer(arg[1]);

        (void)call;
        *value = __real_secure_getenv(word_pointer(arg[0]));
        return DAT_SUCCESS;
}

char *__wrap_secure_getenv(const char *name)
{
        char *value = NULL;

        libdat_run(SLOT_CONF_OVERRIDE,
                   (const uint64_t[]){(uint64_t)(uintptr_t)name, (uint64_t)(uintptr_t)&value});
        return value;
}
