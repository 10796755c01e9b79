/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/frames.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

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
                snprintf(text, size, "0x%" PRIxPTR, (uintptr_t)address);
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

static void *pointer_in(const void *machine_register)
{
        void *pointer;

        memcpy(&pointer, machine_register, sizeof(pointer));
        return pointer;
}

#if defined(__x86_64__)
#define COUNTER(machine_) (&(machine_)->gregs[REG_RIP])
#define CALLER(machine_)  (pointer_in(&(machine_)->gregs[REG_RSP]))
#elif defined(__aarch64__)
#define COUNTER(machine_) (&(machine_)->pc)
#define CALLER(machine_)  (&(machine_)->regs[30])
#else
#error "where a call's return address is"
#endif

/*
 * At its first instruction a function has its caller's address on top of the stack, or in a
 * register. Where the code is of no file, there is nothing behind that instruction.
 */
void frames_correct(struct frames *frames, const void *context)
{
        const mcontext_t *machine = &((const ucontext_t *)context)->uc_mcontext;
        void *counter = pointer_in(COUNTER(machine));
        Dl_info info;

        if (dladdr(counter, &info))
                return;
        frames->address[0] = counter;
        frames->address[1] = pointer_in(CALLER(machine));
        frames->count = 2;
}

void frames_describe(struct frames *frames)
{
        for (uint32_t i = 0; i < frames->count && i < FRAMES_MAX; i++) {
                describe(frames->text[i], sizeof(frames->text[i]), frames->address[i]);
                atomic_store(&frames->described, i + 1);
        }
}
