/* SPDX-License-Identifier: BSD-2-Clause */
/* The process's memory in conditions and values. */
#include <string.h>
#include <sys/mman.h>

#include "fault.h"

#define PADDED_MAX 4096
#define PAGE       4096

/* A write that each page could take, and that changes none. Kernels before Linux 5.14 refuse it. */
bool fault_memory_mapped(long long address, long long size)
{
        uintptr_t start = (uintptr_t)address & ~(uintptr_t)(PAGE - 1);
        size_t length = (size_t)size + ((uintptr_t)address - start);

        return size > 0 && madvise(word_pointer(start), length, MADV_POPULATE_WRITE) == 0;
}

long long fault_memory_padded(long long address, long long size)
{
        static _Thread_local unsigned char padded[PADDED_MAX];

        memset(padded, 0, sizeof(padded));
        if (size > 0 && size <= PADDED_MAX)
                memcpy(padded, word_pointer((uint64_t)address), (size_t)size);
        return (long long)(uintptr_t)padded;
}
