/* SPDX-License-Identifier: BSD-2-Clause */
/* The arguments of a call, and the consumer's memory that they point at, be it there or not. */
#ifndef HARNESS_TRACE_READ_H
#define HARNESS_TRACE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct trace_arg {
        const void *at;
        size_t size;
};

#define TRACE_ARG(name)               \
        {                             \
                &(name), sizeof(name) \
        }

/* The argument, where it is a pointer; else NULL. */
static inline const void *trace_pointer(const struct trace_arg *arg)
{
        const void *pointer = NULL;

        if (arg->size == sizeof(pointer))
                memcpy(&pointer, arg->at, sizeof(pointer));
        return pointer;
}

/* The argument as a word; of one that has more bytes, the first. Each size is a plain load. */
static inline uint64_t trace_word(const struct trace_arg *arg)
{
        uint64_t word = 0;
        uint32_t half;

        switch (arg->size) {
        case sizeof(half):
                memcpy(&half, arg->at, sizeof(half));
                return half;
        case sizeof(uint16_t):
                memcpy(&word, arg->at, sizeof(uint16_t));
                return word;
        case 1:
                memcpy(&word, arg->at, 1);
                return word;
        default:
                memcpy(&word, arg->at, sizeof(word));
                return word;
        }
}

/*
 * Reads what a call was given, up to the first page that cannot be read: a pointer may be wild, and
 * is the provider's to survive. Returns how many bytes it has read. The processes of a case read as
 * trace_read.c does, and a recorded program as record/trace_read.c does.
 */
size_t trace_read_part(void *to, const void *from, size_t length);

/* The same; false where not all of it can be read. */
static inline bool trace_read(void *to, const void *from, size_t length)
{
        return from && trace_read_part(to, from, length) == length;
}

/* Of a case's process: the first thread's frames begin at `frame`. */
void trace_read_start(const void *frame);

#endif
