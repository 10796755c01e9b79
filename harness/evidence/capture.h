/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a call was given and what it answered, copied into its record: arguments, and the memory
 * that they point at as far as the tables of api.h follow it.
 */
#ifndef HARNESS_CAPTURE_H
#define HARNESS_CAPTURE_H

#include "evidence/api.h"
#include "evidence/evidence.h"
#include "evidence/trace_read.h"

/*
 * Fill a record's function, arguments and what they point at, before the call; and its return and
 * what its outputs point at, after it. The other members of the record are left alone.
 */
void capture_call(struct call_record *call, unsigned int function, const struct trace_arg *args);
void capture_answer(struct call_record *call, const struct trace_arg *args, DAT_RETURN ret);

#endif
