/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that begins anew: this very program, executed once more, in which a case makes calls
 * one after the other. For what a registry does once in a process, and by its environment. The
 * calls are in the case's trace as if it had made them itself; a call that ends its process, or
 * does not return, is a FAIL. Why:
 * docs/decisions/0124-ia-and-registry-cases.md.
 */
#ifndef HARNESS_EXEC_PROCESS_H
#define HARNESS_EXEC_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "case/check.h"
#include "dat_api.h"

struct test;
struct exec_process;

/* A file that the process finds by the name that exec_process_path() gives: no other process does.
 */
struct exec_process_file {
        const void *bytes;
        size_t size;
};

#define EXEC_PROCESS_FILES_MAX       16
#define EXEC_PROCESS_PATH_MAX        32
#define EXEC_PROCESS_SHARED          ((size_t)1024 * 1024)
#define EXEC_PROCESS_OPTION          "exec-process"
#define EXEC_PROCESS_ARG_MAX         (128 * 1024)
#define EXEC_PROCESS_ENVIRONMENT_MAX 4096

/* The name of file `index` within the process. */
void exec_process_path(size_t index, char path[EXEC_PROCESS_PATH_MAX]);

/*
 * Starts the process, with these files, and with `variable` set in its environment to `value`, or,
 * where that is NULL, not set. It ends with the case at the latest.
 */
struct exec_process *exec_process_start(struct test *t, const struct exec_process_file *files,
                                        size_t count, const char *variable, const char *value);

/*
 * Makes a call there: a function of this program, with a copy of the `size` bytes at `arg`, which
 * has come back when this returns. Neither may hold a pointer of the case's.
 */
DAT_RETURN exec_process_call(struct exec_process *process, DAT_RETURN (*call)(void *arg), void *arg,
                             size_t size);

/*
 * The same in two steps, for calls that several processes make at once: the call begins, and the
 * other function waits for its end.
 */
void exec_process_begin(struct exec_process *process, DAT_RETURN (*call)(void *arg),
                        const void *arg, size_t size);
DAT_RETURN exec_process_finish(struct exec_process *process, void *arg, size_t size);

/* Memory of the process that the case sees too: EXEC_PROCESS_SHARED bytes, zeroed at first. */
void *exec_process_shared(const struct exec_process *process);
/* The same within the process; NULL in any other. */
void *exec_process_own_shared(void);

/* Ends the process now. */
void exec_process_end(struct exec_process *process);

/* What main() does in such a process; does not return. */
_Noreturn void exec_process_main(void);

#endif
