/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records the DAT calls of a program that knows nothing of it: libdattrace.so, which LD_PRELOAD
 * puts before libdat. Its wrappers are generated (evidence/api_generate.py).
 *
 * UDAPL_CTS_TRACE names the folder in which each process makes a file at its first call, and
 * UDAPL_CTS_TRACE_SIZE the bytes that a file may have.
 */
#ifndef HARNESS_RECORDER_H
#define HARNESS_RECORDER_H

#include "evidence/evidence.h"
#include "evidence/trace_read.h"

struct record_poll;

/* A call while it is made. */
struct recorder_call {
        struct call_record *record; /* NULL: none is kept */
        struct record_poll *poll;   /* it repeats what found nothing */
        uint32_t used;              /* bytes of the record before the call */
        struct call_record own;     /* of a thread that has no place in the file */
};

/*
 * Records that call `function` is entered, and that it has returned. The first returns the function
 * that the wrapper stands before, and ends the process if there is none.
 */
void *recorder_begin(struct recorder_call *call, unsigned int function,
                     const struct trace_arg *args);
void recorder_end(struct recorder_call *call, const struct trace_arg *args, DAT_RETURN ret);

#endif
