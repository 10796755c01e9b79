/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What messages hold: the digest of what a post sends, and of what has arrived when the completion
 * of a receive is taken (docs/typed-values.md). It sees what the trace sees, and says which post a
 * completion seems to be of; who reads the record knows whether it is.
 */
#ifndef HARNESS_MEMORY_H
#define HARNESS_MEMORY_H

#include <stdint.h>

#include "evidence/evidence.h"
#include "evidence/trace_read.h"

/* Looks the calls up by their names, once for all processes that are forked of this one. */
void memory_prepare(void);

/* From now on posts of this process are followed; those of its forked copies are not. */
void memory_start(void);

/*
 * Call `number` of api_functions[function] is about to be made, and has returned. `memory` is the
 * call's, zeroed before the first of them; NULL where no record of it is kept.
 */
void memory_begin(uint64_t number, unsigned int function, const struct trace_arg *args,
                  struct call_memory *memory);
void memory_end(uint64_t number, unsigned int function, const struct trace_arg *args,
                DAT_RETURN ret, struct call_memory *memory);

#endif
