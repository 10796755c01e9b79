/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls in a process that begins anew. */
#include "case/exec_process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "case.h"

struct asked {
        int number;
        pid_t pid;
        char variable[64];
};

static DAT_RETURN answer(void *arg)
{
        struct asked *asked = arg;
        const char *variable = getenv("CTS_FRESH");
        int *room = exec_process_own_shared();

        asked->number = 2 * asked->number;
        asked->pid = getpid();
        strncpy(asked->variable, variable ? variable : "none", sizeof(asked->variable) - 1);
        *room += 1;
        return dat_strerror(DAT_ABORT, &(const char *){NULL}, &(const char *){NULL});
}

CASE_WITH(fresh, answers, .without_ia = true)
{
        struct exec_process *process = exec_process_start(t, NULL, 0, "CTS_FRESH", "a value");
        struct asked asked = {.number = 21};

        expect(exec_process_call(process, answer, &asked, sizeof(asked)), DAT_SUCCESS);
        expect_eq(asked.number, 42);
        expect_that(asked.pid != getpid(), "it was this process");
        expect_that(strcmp(asked.variable, "a value") == 0, "the variable is %s", asked.variable);
        expect(exec_process_call(process, answer, &asked, sizeof(asked)), DAT_SUCCESS);
        expect_eq(*(int *)exec_process_shared(process), 2);
        expect_that(!exec_process_own_shared(), "the case itself has such memory");
}

static DAT_RETURN read_file(void *arg)
{
        char path[EXEC_PROCESS_PATH_MAX];
        FILE *file;
        size_t got;

        exec_process_path(1, path);
        file = fopen(path, "r");
        if (!file)
                return DAT_INTERNAL_ERROR;
        got = fread(arg, 1, 16, file);
        fclose(file);
        return got == 6 ? dat_strerror(DAT_ABORT, &(const char *){NULL}, &(const char *){NULL})
                        : DAT_LENGTH_ERROR;
}

CASE_WITH(fresh, has_files, .without_ia = true)
{
        const struct exec_process_file files[] = {{"first", 5}, {"second", 6}};
        struct exec_process *process = exec_process_start(t, files, 2, "CTS_FRESH", NULL);
        char text[16] = "";

        expect(exec_process_call(process, read_file, text, sizeof(text)), DAT_SUCCESS);
        expect_that(memcmp(text, "second", 6) == 0, "the file has %.16s", text);
}

static DAT_RETURN die(void *arg)
{
        (void)arg;
        raise(SIGUSR1);
        return DAT_SUCCESS;
}

CASE_WITH(fresh, dies, .without_ia = true)
{
        expect(exec_process_call(exec_process_start(t, NULL, 0, "CTS_FRESH", NULL), die, "", 1),
               DAT_SUCCESS);
}

static DAT_RETURN hang(void *arg)
{
        (void)arg;
        return pause() < 0 ? DAT_INTERRUPTED_CALL : DAT_SUCCESS;
}

CASE_WITH(fresh, hangs, .without_ia = true)
{
        expect(exec_process_call(exec_process_start(t, NULL, 0, "CTS_FRESH", NULL), hang, "", 1),
               DAT_SUCCESS);
}
