/* SPDX-License-Identifier: BSD-2-Clause */
/* From a handle to the table of the provider that made it. */

#ifndef LIBDAT_HANDLE_H
#define LIBDAT_HANDLE_H

#include <dat/udat_redirection.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Different tables that handles can be of at one time. */
#define HANDLE_MAX_TABLES 256

/*
 * Dispatch reads this without a lock. A slot in use is never moved, and the scan ends at the
 * highest slot ever used: in practice after one or two.
 */
struct trusted {
        _Atomic(const DAT_PROVIDER *) table;
        /* A library's writable segment, in which a handle of this table lies; else of no size. */
        _Atomic(uintptr_t) home;
        atomic_size_t home_size;
        unsigned int uses;
};

extern __attribute__((visibility("hidden"))) struct trusted handle_trusted[HANDLE_MAX_TABLES];
extern __attribute__((visibility("hidden"))) atomic_size_t handle_trusted_end;

static inline bool handle_is_trusted(const DAT_PROVIDER *table)
{
        size_t end = atomic_load_explicit(&handle_trusted_end, memory_order_acquire);

        for (size_t i = 0; i < end; i++)
                if (atomic_load_explicit(&handle_trusted[i].table, memory_order_acquire) == table)
                        return true;
        return false;
}

static inline bool handle_is_aligned(DAT_HANDLE handle)
{
        return handle && (uintptr_t)handle % _Alignof(void *) == 0;
}

/* A destroyed object may have been freed: to read it is the point, so ASan must let it pass. */
__attribute__((no_sanitize("address"))) static inline const DAT_PROVIDER *
handle_read(DAT_HANDLE handle)
{
        return *(const DAT_PROVIDER *const volatile *)handle;
}

/*
 * The table of the provider that made the handle, or NULL where none did: it is null, misaligned,
 * or its first word is no table that is trusted now. One load from the handle's memory, which must
 * be mapped: for calls that move data.
 */
static inline const DAT_PROVIDER *handle_provider(DAT_HANDLE handle)
{
        const DAT_PROVIDER *table = handle_is_aligned(handle) ? handle_read(handle) : NULL;

        return handle_is_trusted(table) ? table : NULL;
}

/* The same in fewer steps, but NULL too for all tables except that of the first slot. */
static inline const DAT_PROVIDER *handle_provider_likely(DAT_HANDLE handle)
{
        const DAT_PROVIDER *table = handle_is_aligned(handle) ? handle_read(handle) : NULL;

        return table == atomic_load_explicit(&handle_trusted[0].table, memory_order_acquire) ? table
                                                                                             : NULL;
}

/*
 * As handle_provider(), but an unmapped handle gives NULL too: at the price of a system call,
 * unless it lies in the memory of a provider's library, which stays as long as the table is
 * trusted.
 */
const DAT_PROVIDER *handle_provider_probed(DAT_HANDLE handle);

/* The first word of the object, unless the handle is null, misaligned or unmapped. */
const DAT_PROVIDER *handle_first_word(DAT_HANDLE handle);

/*
 * Trust handles with this first word, until distrusted as many times. `example` is one of them, or
 * NULL. False where HANDLE_MAX_TABLES are trusted already.
 */
bool handle_trust(const DAT_PROVIDER *table, DAT_HANDLE example);
void handle_distrust(const DAT_PROVIDER *table);

#endif
