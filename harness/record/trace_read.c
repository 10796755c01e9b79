/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the memory of a recorded program, whose other threads may unmap it meanwhile. */
#include "evidence/trace_read.h"

#include <errno.h>
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include "record/frames.h"

static _Thread_local uintptr_t stack_begin, stack_end;

void frames_find(void)
{
        pthread_attr_t attr;
        void *begin;
        size_t size;

        if (pthread_getattr_np(pthread_self(), &attr) != 0)
                return;
        if (pthread_attr_getstack(&attr, &begin, &size) == 0) {
                stack_begin = (uintptr_t)begin;
                stack_end = (uintptr_t)begin + size;
        }
        pthread_attr_destroy(&attr);
}

/* The frames of the calling thread can be read without asking the kernel. */
static bool is_own_frame(uintptr_t at, size_t length)
{
        uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

        return frame >= stack_begin && frame < stack_end && at >= frame && at < stack_end &&
               length <= stack_end - at;
}

/* The kernel copies, so that what cannot be read is left out, and no signal comes. */
static size_t read_foreign(void *to, const void *from, size_t length)
{
        struct iovec here = {.iov_base = to, .iov_len = length};
        struct iovec there = {.iov_len = length};
        int saved = errno;
        ssize_t got;

        memcpy(&there.iov_base, &from, sizeof(from)); /* it has no const */
        got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
        errno = saved;
        return got > 0 ? (size_t)got : 0;
}

size_t trace_read_part(void *to, const void *from, size_t length)
{
        if (!is_own_frame((uintptr_t)from, length))
                return read_foreign(to, from, length);
        memcpy(to, from, length);
        return length;
}
