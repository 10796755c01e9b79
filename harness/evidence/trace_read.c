/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/trace_read.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096
/* What the kernel takes for a set of signals. */
#define MASK_SIZE ((size_t)_NSIG / 8)
/* No frame of the first thread is farther from where the trace was started. */
#define STACK_NEAR (64u << 10)

/* The linker's: the data of this program, initialised and not, lies between them. */
extern unsigned char __data_start[];
extern unsigned char _end[];

static const unsigned char *stack_base; /* of the first thread, as far as its frames reach */

void trace_read_start(const void *frame)
{
        stack_base = frame;
}

/*
 * The kernel reads a signal mask before it looks at the invalid first argument: EFAULT where it
 * cannot, else EINVAL, and nothing is changed. It does not read a null mask. process_vm_readv()
 * would do both, but is refused to a case's processes.
 */
static bool is_readable(const unsigned char *at)
{
        uintptr_t mask = (uintptr_t)at - (uintptr_t)at % MASK_SIZE;
        int saved = errno;
        bool readable =
            syscall(SYS_rt_sigprocmask, ~0, mask, NULL, MASK_SIZE) == 0 || errno != EFAULT;

        errno = saved;
        return mask && readable;
}

static bool lies_within(uintptr_t at, size_t length, uintptr_t begin, uintptr_t end)
{
        return at >= begin && at <= end && length <= end - at;
}

/*
 * Whether the kernel need not be asked: nearly all that calls are given lies in frames of the
 * thread that makes them, or in this program's data, which no case takes away.
 */
static bool is_certain(const unsigned char *from, size_t length)
{
        uintptr_t at = (uintptr_t)from;
        uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
        uintptr_t base = (uintptr_t)stack_base;

        if (base - frame < STACK_NEAR && lies_within(at, length, frame, base))
                return true;
        return lies_within(at, length, (uintptr_t)__data_start, (uintptr_t)_end);
}

/* What a word is read through wherever it lies. */
struct __attribute__((packed, may_alias)) word {
        uint64_t bytes;
};

/* Not by memcpy(): a sanitizer would have its say about where a case points. */
__attribute__((no_sanitize("address"))) static void copy(unsigned char *to,
                                                         const unsigned char *from, size_t length)
{
        size_t i = 0;

        for (; length - i >= sizeof(struct word); i += sizeof(struct word))
                ((struct word *)(to + i))->bytes =
                    ((const volatile struct word *)(from + i))->bytes;
        for (; i < length; i++)
                to[i] = ((const volatile unsigned char *)from)[i];
}

size_t trace_read_part(void *to, const void *from, size_t length)
{
        const unsigned char *at = from;
        size_t got = 0;

        if (is_certain(at, length)) {
                copy(to, at, length);
                return length;
        }
        while (got < length && is_readable(at + got)) {
                size_t page_left = PAGE - (uintptr_t)(at + got) % PAGE;
                size_t part = length - got < page_left ? length - got : page_left;

                copy((unsigned char *)to + got, at + got, part);
                got += part;
        }
        return got;
}
