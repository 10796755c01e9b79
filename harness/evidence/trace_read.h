/* SPDX-License-Identifier: BSD-2-Clause */
/* The arguments of a call, and the consumer's memory that they point at, be it there or not. */
#ifndef HARNESS_TRACE_READ_H
#define HARNESS_TRACE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_arg {
        const void *at;
        size_t size;
};

#define TRACE_ARG(name)               \
        {                             \
                &(name), sizeof(name) \
        }

/* The first thread's frames begin at `frame`. */
void trace_read_start(const void *frame);

/* The argument, where it is a pointer; else NULL. */
const void *trace_pointer(const struct trace_arg *arg);

/*
 * Reads what a call was given, up to the first page that cannot be read: a case may hand over a
 * wild pointer on purpose, which is the provider's to survive. Returns how many bytes it has read.
 */
size_t trace_read_part(void *to, const void *from, size_t length);

/* The same; false where not all of it can be read. */
bool trace_read(void *to, const void *from, size_t length);

#endif
