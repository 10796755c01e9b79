/* SPDX-License-Identifier: BSD-2-Clause */

#include "handle.h"

#include <errno.h>
#include <link.h>
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

static bool is_at_home(DAT_HANDLE handle)
{
        size_t end = atomic_load_explicit(&handle_trusted_end, memory_order_acquire);

        for (size_t i = 0; i < end; i++) {
                size_t size =
                    atomic_load_explicit(&handle_trusted[i].home_size, memory_order_acquire);

                if ((uintptr_t)handle - atomic_load(&handle_trusted[i].home) < size)
                        return true;
        }
        return false;
}

const DAT_PROVIDER *handle_first_word(DAT_HANDLE handle)
{
        if (!handle_is_aligned(handle) || (!is_at_home(handle) && !is_readable(handle)))
                return NULL;
        return handle_read(handle);
}

const DAT_PROVIDER *handle_provider_probed(DAT_HANDLE handle)
{
        const DAT_PROVIDER *table = handle_first_word(handle);

        return handle_is_trusted(table) ? table : NULL;
}

static struct trusted *add_use(const DAT_PROVIDER *table)
{
        size_t unused = HANDLE_MAX_TABLES;

        for (size_t i = 0; i < HANDLE_MAX_TABLES; i++) {
                if (handle_trusted[i].uses && handle_trusted[i].table == table) {
                        handle_trusted[i].uses++;
                        return &handle_trusted[i];
                }
                if (!handle_trusted[i].uses && unused == HANDLE_MAX_TABLES)
                        unused = i;
        }
        if (unused == HANDLE_MAX_TABLES)
                return NULL;
        handle_trusted[unused].uses = 1;
        atomic_store_explicit(&handle_trusted[unused].table, table, memory_order_release);
        if (unused >= handle_trusted_end)
                atomic_store_explicit(&handle_trusted_end, unused + 1, memory_order_release);
        return &handle_trusted[unused];
}

struct home {
        uintptr_t handle;
        uintptr_t start;
        size_t size; /* of where a handle may begin */
};

static int look_for_home(struct dl_phdr_info *library, size_t size, void *argument)
{
        struct home *home = argument;

        (void)size;
        for (size_t i = 0; i < library->dlpi_phnum; i++) {
                const ElfW(Phdr) *segment = &library->dlpi_phdr[i];

                if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_W) ||
                    segment->p_memsz < sizeof(void *))
                        continue;
                home->start = library->dlpi_addr + segment->p_vaddr;
                home->size = segment->p_memsz - sizeof(void *) + 1;
                if (home->handle - home->start < home->size)
                        return 1;
        }
        return 0;
}

static void find_home(struct trusted *trusted, DAT_HANDLE example)
{
        struct home home = {.handle = (uintptr_t)example};

        if (trusted->home_size || !dl_iterate_phdr(look_for_home, &home))
                return;
        atomic_store(&trusted->home, home.start);
        atomic_store_explicit(&trusted->home_size, home.size, memory_order_release);
}

bool handle_trust(const DAT_PROVIDER *table, DAT_HANDLE example)
{
        struct trusted *trusted;

        pthread_mutex_lock(&writers);
        trusted = add_use(table);
        if (trusted && example)
                find_home(trusted, example);
        pthread_mutex_unlock(&writers);
        return trusted;
}

void handle_distrust(const DAT_PROVIDER *table)
{
        pthread_mutex_lock(&writers);
        for (size_t i = 0; i < handle_trusted_end; i++)
                if (handle_trusted[i].uses && handle_trusted[i].table == table &&
                    --handle_trusted[i].uses == 0) {
                        atomic_store(&handle_trusted[i].home_size, 0);
                        atomic_store_explicit(&handle_trusted[i].table, NULL, memory_order_release);
                }
        pthread_mutex_unlock(&writers);
}
