/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/frames.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* frames_take(), the handler, and the one that the kernel returns from it through. */
#define FRAMES_OF_HANDLER 3

static const char *file_name(const char *path)
{
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

/* As backtrace_symbols() has it but for the path. */
static void describe(char *text, size_t size, void *address)
{
        Dl_info info;
        uintptr_t base;

        if (!dladdr(address, &info) || !info.dli_fname) {
                snprintf(text, size, "%p", address);
                return;
        }
        base = (uintptr_t)(info.dli_sname ? info.dli_saddr : info.dli_fbase);
        snprintf(text, size, "%s(%s+0x%" PRIxPTR ")", file_name(info.dli_fname),
                 info.dli_sname ? info.dli_sname : "", (uintptr_t)address - base);
}

void frames_prepare(void)
{
        void *frame;

        backtrace(&frame, 1);
}

__attribute__((noinline)) void frames_take(struct frames *frames)
{
        void *all[FRAMES_MAX + FRAMES_OF_HANDLER];
        int count = backtrace(all, FRAMES_MAX + FRAMES_OF_HANDLER) - FRAMES_OF_HANDLER;

        if (count < 0)
                count = 0;
        for (int i = 0; i < count; i++)
                frames->address[i] = all[i + FRAMES_OF_HANDLER];
        frames->count = (uint32_t)count;
}

void frames_describe(struct frames *frames)
{
        for (uint32_t i = 0; i < frames->count && i < FRAMES_MAX; i++) {
                describe(frames->text[i], sizeof(frames->text[i]), frames->address[i]);
                atomic_store(&frames->described, i + 1);
        }
}
