/* SPDX-License-Identifier: BSD-2-Clause */

#include "handle.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

struct trusted handle_trusted[HANDLE_MAX_TABLES];
atomic_size_t handle_trusted_end;
static pthread_mutex_t writers = PTHREAD_MUTEX_INITIALIZER;

/* A bit for each signal, also where a pointer is shorter: any other size is refused unseen. */
#define KERNEL_MASK_SIZE ((size_t)_NSIG / 8)

/*
 * The kernel copies a signal mask before it looks at the invalid first argument: EFAULT where it
 * cannot be read, else EINVAL, and nothing is changed. The mask that is asked about is the aligned
 * one that the handle's first word lies in, which is in one page.
 */
static bool is_readable(DAT_HANDLE handle)
{
        uintptr_t mask = (uintptr_t)handle & ~(uintptr_t)(KERNEL_MASK_SIZE - 1);
        int saved = errno;
        bool readable =
            syscall(SYS_rt_sigprocmask, ~0, mask, NULL, KERNEL_MASK_SIZE) == 0 || errno != EFAULT;

        errno = saved;
        return readable;
}

const DAT_PROVIDER *handle_first_word(DAT_HANDLE handle)
{
        return handle_is_aligned(handle) && is_readable(handle) ? handle_read(handle) : NULL;
}

const DAT_PROVIDER *handle_provider_probed(DAT_HANDLE handle)
{
        const DAT_PROVIDER *table = handle_first_word(handle);

        return handle_is_trusted(table) ? table : NULL;
}

static bool add_use(const DAT_PROVIDER *table)
{
        size_t unused = HANDLE_MAX_TABLES;

        for (size_t i = 0; i < HANDLE_MAX_TABLES; i++) {
                if (handle_trusted[i].uses && handle_trusted[i].table == table) {
                        handle_trusted[i].uses++;
                        return true;
                }
                if (!handle_trusted[i].uses && unused == HANDLE_MAX_TABLES)
                        unused = i;
        }
        if (unused == HANDLE_MAX_TABLES)
                return false;
        handle_trusted[unused].uses = 1;
        atomic_store_explicit(&handle_trusted[unused].table, table, memory_order_release);
        if (unused >= handle_trusted_end)
                atomic_store_explicit(&handle_trusted_end, unused + 1, memory_order_release);
        return true;
}

bool handle_trust(const DAT_PROVIDER *table)
{
        bool added;

        pthread_mutex_lock(&writers);
        added = add_use(table);
        pthread_mutex_unlock(&writers);
        return added;
}

void handle_distrust(const DAT_PROVIDER *table)
{
        pthread_mutex_lock(&writers);
        for (size_t i = 0; i < handle_trusted_end; i++)
                if (handle_trusted[i].uses && handle_trusted[i].table == table &&
                    --handle_trusted[i].uses == 0)
                        atomic_store_explicit(&handle_trusted[i].table, NULL, memory_order_release);
        pthread_mutex_unlock(&writers);
}
