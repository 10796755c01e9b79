/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a thread is, as it tells by itself in a handler of a signal. */
#ifndef HARNESS_FRAMES_H
#define HARNESS_FRAMES_H

#include <stdatomic.h>
#include <stdint.h>

#define FRAMES_MAX     32
#define FRAME_TEXT_MAX 128

/* A backtrace, in memory that is shared with its reader. */
struct frames {
        uint32_t count;
        void *address[FRAMES_MAX];
        _Atomic uint32_t described; /* how many of `text` are written */
        char text[FRAMES_MAX][FRAME_TEXT_MAX];
};

/* Loads what frames_take() needs: once, in the process that the others are forked from. */
void frames_prepare(void);

/*
 * The addresses of what was interrupted by the handler that calls this. It takes no lock, where the
 * C library has one that needs none for it.
 */
void frames_take(struct frames *frames);

/*
 * Of a call that went astray, as through a null pointer, no stack is known: there are two frames
 * then, where it led and who made it. `context` is that of the handler. It may hang or crash.
 */
void frames_correct(struct frames *frames, const void *context);

/*
 * The same in words, "libdaplref.so(srq_resize+0x12)". That is not safe in a process that is no
 * more whole: it may crash, or never return; what was described until then stays.
 */
void frames_describe(struct frames *frames);

#endif
