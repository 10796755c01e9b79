/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/binding.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Bindings are never freed, because a stale handle still leads libdat to the provider table. The
 * library is never unloaded for the same reason.
 */
static struct {
        pthread_mutex_t lock;
        struct binding *all;
} bindings = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool same_entry(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b)
{
        return !strncmp(a->ia_name, b->ia_name, DAT_NAME_MAX_LENGTH) &&
               a->dapl_version_major == b->dapl_version_major &&
               a->dapl_version_minor == b->dapl_version_minor &&
               a->is_thread_safe == b->is_thread_safe;
}

static struct binding *find_entry(const DAT_PROVIDER_INFO *info)
{
        struct binding *binding = bindings.all;

        while (binding && !same_entry(&binding->info, info))
                binding = binding->next;
        return binding;
}

/* Returns the registered entry with that IA name and thread safety, or NULL. */
const struct binding *binding_find(const char *name, DAT_BOOLEAN is_thread_safe)
{
        struct binding *binding;

        if (!name)
                return NULL;
        pthread_mutex_lock(&bindings.lock);
        for (binding = bindings.all; binding; binding = binding->next) {
                if (binding->registered && binding->info.is_thread_safe == is_thread_safe &&
                    !strncmp(binding->info.ia_name, name, DAT_NAME_MAX_LENGTH))
                        break;
        }
        pthread_mutex_unlock(&bindings.lock);
        return binding;
}

/* Returns the binding of the entry, registered or not, or NULL. */
struct binding *binding_of_entry(const DAT_PROVIDER_INFO *info)
{
        struct binding *binding;

        pthread_mutex_lock(&bindings.lock);
        binding = find_entry(info);
        pthread_mutex_unlock(&bindings.lock);
        return binding;
}

static struct binding *new_entry(const DAT_PROVIDER_INFO *info, const DAT_PROVIDER *table)
{
        struct binding *binding = calloc(1, sizeof(*binding));

        if (!binding)
                return NULL;
        binding->info = *info;
        binding->table = *table;
        binding->table.device_name = binding->info.ia_name;
        binding->next = bindings.all;
        bindings.all = binding;
        return binding;
}

/*
 * Returns the binding of the entry with its new instance data. If there is none, makes one with a
 * copy of the provider table. Returns NULL if there is no memory.
 */
struct binding *binding_update(const DAT_PROVIDER_INFO *info, const char *instance,
                               const DAT_PROVIDER *table)
{
        struct binding *binding;

        pthread_mutex_lock(&bindings.lock);
        binding = find_entry(info);
        if (!binding)
                binding = new_entry(info, table);
        if (binding)
                (void)snprintf(binding->instance, sizeof(binding->instance), "%s", instance);
        pthread_mutex_unlock(&bindings.lock);
        return binding;
}
