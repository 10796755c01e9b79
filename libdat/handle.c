/* SPDX-License-Identifier: BSD-2-Clause */

#include "handle.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Dispatch reads this without a lock. A slot in use is never moved, and the scan ends at the
 * highest slot ever used: in practice after one or two.
 */
static struct {
        _Atomic(const DAT_PROVIDER *) table;
        unsigned int uses;
} trusted[HANDLE_MAX_TABLES];
static atomic_size_t trusted_end;
static pthread_mutex_t writers = PTHREAD_MUTEX_INITIALIZER;

static bool is_trusted(const DAT_PROVIDER *table)
{
        size_t end = atomic_load_explicit(&trusted_end, memory_order_acquire);

        for (size_t i = 0; i < end; i++)
                if (atomic_load_explicit(&trusted[i].table, memory_order_acquire) == table)
                        return true;
        return false;
}

static bool is_aligned(DAT_HANDLE handle)
{
        return handle && (uintptr_t)handle % _Alignof(void *) == 0;
}

/* A destroyed object may have been freed: to read it is the point, so ASan must let it pass. */
__attribute__((no_sanitize("address"))) static const DAT_PROVIDER *first_word(DAT_HANDLE handle)
{
        return *(const DAT_PROVIDER *const volatile *)handle;
}

/*
 * The kernel copies the eight bytes of a signal mask before it looks at the invalid first argument:
 * EFAULT where they cannot be read, else EINVAL, and nothing is changed.
 */
static bool is_readable(DAT_HANDLE handle)
{
        int saved = errno;
        bool readable =
            syscall(SYS_rt_sigprocmask, ~0, handle, NULL, sizeof(void *)) == 0 || errno != EFAULT;

        errno = saved;
        return readable;
}

const DAT_PROVIDER *handle_first_word(DAT_HANDLE handle)
{
        return is_aligned(handle) && is_readable(handle) ? first_word(handle) : NULL;
}

const DAT_PROVIDER *handle_provider(DAT_HANDLE handle)
{
        const DAT_PROVIDER *table = is_aligned(handle) ? first_word(handle) : NULL;

        return is_trusted(table) ? table : NULL;
}

const DAT_PROVIDER *handle_provider_probed(DAT_HANDLE handle)
{
        const DAT_PROVIDER *table = handle_first_word(handle);

        return is_trusted(table) ? table : NULL;
}

static bool add_use(const DAT_PROVIDER *table)
{
        size_t unused = HANDLE_MAX_TABLES;

        for (size_t i = 0; i < HANDLE_MAX_TABLES; i++) {
                if (trusted[i].uses && trusted[i].table == table) {
                        trusted[i].uses++;
                        return true;
                }
                if (!trusted[i].uses && unused == HANDLE_MAX_TABLES)
                        unused = i;
        }
        if (unused == HANDLE_MAX_TABLES)
                return false;
        trusted[unused].uses = 1;
        atomic_store_explicit(&trusted[unused].table, table, memory_order_release);
        if (unused >= trusted_end)
                atomic_store_explicit(&trusted_end, unused + 1, memory_order_release);
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
        for (size_t i = 0; i < trusted_end; i++)
                if (trusted[i].uses && trusted[i].table == table && --trusted[i].uses == 0)
                        atomic_store_explicit(&trusted[i].table, NULL, memory_order_release);
        pthread_mutex_unlock(&writers);
}
