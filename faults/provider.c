/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The entry points of the library. An entry of dat.conf wraps another entry of it:
 *
 *	fault0 u1.2 nonthreadsafe default libdaplfault.so cts.1.0 "ref0 fault=srq_resize/ignored" ""
 */
#include <dat/dat_registry.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"

#define EXPORT __attribute__((visibility("default")))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct provider *providers;

struct provider *provider_find(const char *ia_name, bool threadsafe)
{
        struct provider *provider;

        pthread_mutex_lock(&lock);
        for (provider = providers; provider; provider = provider->next) {
                if (!strcmp(provider->info.ia_name, ia_name) &&
                    (provider->info.is_thread_safe != DAT_FALSE) == threadsafe)
                        break;
        }
        pthread_mutex_unlock(&lock);
        return provider;
}

static void complain(const char *ia_name, const char *what, const char *about)
{
        fprintf(stderr, "libdaplfault: IA %s: %s%s; ia_params is \"IA [fault=ID]\"\n", ia_name,
                what, about);
}

/* Reads "IA [fault=ID]" into the provider. */
static bool read_params(struct provider *provider, const char *ia_name, char *params)
{
        char *state = NULL;
        char *word;

        provider->wrapped = strtok_r(params, " \t", &state);
        if (!provider->wrapped || strchr(provider->wrapped, '=')) {
                complain(ia_name, "no IA to wrap is named", "");
                return false;
        }
        while ((word = strtok_r(NULL, " \t", &state))) {
                if (strncmp(word, "fault=", 6) != 0) {
                        complain(ia_name, "unknown parameter ", word);
                        return false;
                }
                provider->mutant.fault = fault_find(word + 6);
                if (!provider->mutant.fault) {
                        complain(ia_name, "no such fault: ", word + 6);
                        return false;
                }
        }
        return true;
}

static struct provider *provider_new(const DAT_PROVIDER_INFO *info, const char *instance_data)
{
        struct provider *provider = calloc(1, sizeof(*provider));
        char *params = strdup(instance_data ? instance_data : "");

        if (!provider || !params)
                goto free_both;
        if (!read_params(provider, info->ia_name, params))
                goto free_both;
        provider->params = params;
        provider->info = *info;
        provider->table = call_table;
        provider->table.device_name = provider->info.ia_name;
        if (info->is_thread_safe)
                provider->table.ia_open_func = call_open_threadsafe;
        pthread_mutex_init(&provider->mutant.lock, NULL);
        return provider;

free_both:
        free(params);
        free(provider);
        return NULL;
}

/*
 * Registers the IA of `provider_info` as a wrapper of the one that `instance_data` names. Without
 * such a name, or with an unknown fault, it says so on stderr and registers nothing. See
 * dat_provider_init(3DAT).
 */
EXPORT void DAT_PROVIDER_INIT_FUNC_NAME(const DAT_PROVIDER_INFO *provider_info,
                                        const char *instance_data)
{
        struct provider *provider = provider_new(provider_info, instance_data);

        if (!provider)
                return;
        pthread_mutex_lock(&lock);
        provider->next = providers;
        providers = provider;
        pthread_mutex_unlock(&lock);
        if (dat_registry_add_provider(&provider->table, provider_info) != DAT_SUCCESS)
                complain(provider_info->ia_name, "the registry does not take it", "");
}

static bool same_info(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b)
{
        return !strcmp(a->ia_name, b->ia_name) && a->dapl_version_major == b->dapl_version_major &&
               a->dapl_version_minor == b->dapl_version_minor &&
               a->is_thread_safe == b->is_thread_safe;
}

/*
 * Takes the IA back from the registry. Its memory stays: the consumer may still have handles that
 * lead to the table. See dat_provider_fini(3DAT).
 */
EXPORT void DAT_PROVIDER_FINI_FUNC_NAME(const DAT_PROVIDER_INFO *provider_info)
{
        struct provider **at;

        pthread_mutex_lock(&lock);
        for (at = &providers; *at && !same_info(&(*at)->info, provider_info); at = &(*at)->next)
                ;
        if (*at) {
                dat_registry_remove_provider(&(*at)->table, provider_info);
                *at = (*at)->next;
        }
        pthread_mutex_unlock(&lock);
}
