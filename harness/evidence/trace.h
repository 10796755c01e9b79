/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace: every DAT call that this process makes is recorded in its evidence, before it is made
 * and again when it returns, so that a call which never returns is seen too. The wrappers are
 * generated (api_generate.py) and linked in front of the calls by --wrap.
 */
#ifndef HARNESS_TRACE_H
#define HARNESS_TRACE_H

#include "evidence/evidence.h"

struct trace_arg {
        const void *at;
        size_t size;
};

#define TRACE_ARG(name)               \
        {                             \
                &(name), sizeof(name) \
        }

/* From now on calls are recorded in `evidence`; times count from its started_ns. */
void trace_start(struct evidence *evidence);

/* Records that call `function` is entered; NULL where nothing is recorded. */
struct call_record *trace_begin(unsigned int function, const struct trace_arg *args);
void trace_end(struct call_record *call, const struct trace_arg *args, DAT_RETURN ret);

/* How many calls have been recorded. */
uint64_t trace_count(void);

#endif
