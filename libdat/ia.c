/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening and closing an IA: the two calls that concern the registry and the provider both. */

#include "handle.h"
#include "log.h"
#include "registry.h"
#include "return_code.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The IAs opened here. Their handles may be of another table than the one registered. */
struct open_ia {
        DAT_IA_HANDLE handle;
        const DAT_PROVIDER *table;
        struct registration *held;
        struct open_ia *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct open_ia *open_ias;

static bool is_failure(DAT_RETURN ret)
{
        return ret != DAT_SUCCESS &&
               (ret & (DAT_CLASS_ERROR | DAT_CLASS_WARNING)) != DAT_CLASS_WARNING;
}

static void remember(struct open_ia *ia)
{
        pthread_mutex_lock(&lock);
        ia->next = open_ias;
        open_ias = ia;
        pthread_mutex_unlock(&lock);
}

/* The latest of the handle, or NULL where the IA was not opened here. */
static struct open_ia *recall(DAT_IA_HANDLE handle)
{
        struct open_ia *found;

        pthread_mutex_lock(&lock);
        found = open_ias;
        while (found && found->handle != handle)
                found = found->next;
        pthread_mutex_unlock(&lock);
        return found;
}

/* False where another thread has been faster. */
static bool forget(const struct open_ia *ia)
{
        struct open_ia **link = &open_ias;
        bool found;

        pthread_mutex_lock(&lock);
        while (*link && *link != ia)
                link = &(*link)->next;
        found = *link;
        if (found)
                *link = ia->next;
        pthread_mutex_unlock(&lock);
        return found;
}

/* The name less a prefix by which a consumer says that it copes with relaxed memory ordering. */
static const char *without_ordering_prefix(const char *name)
{
        static const char prefix[] = "RO_AWARE_";

        return strncmp(name, prefix, strlen(prefix)) == 0 ? name + strlen(prefix) : NULL;
}

static DAT_RETURN hold_provider(const char *name, DAT_UINT32 major, DAT_UINT32 minor,
                                DAT_BOOLEAN thread_safety, struct registration **held)
{
        DAT_PROVIDER_INFO wanted = {
            .dapl_version_major = major,
            .dapl_version_minor = minor,
            .is_thread_safe = thread_safety ? DAT_TRUE : DAT_FALSE,
        };
        const char *plain = without_ordering_prefix(name);
        DAT_RETURN ret;

        memcpy(wanted.ia_name, name, strlen(name) + 1);
        ret = registry_hold(&wanted, held);
        if (ret == DAT_SUCCESS || !plain)
                return ret;
        memcpy(wanted.ia_name, plain, strlen(plain) + 1);
        return registry_hold(&wanted, held);
}

/* Ask the provider, and make sure that its handle can be dispatched. */
static DAT_RETURN open_ia(struct open_ia *ia, DAT_COUNT async_evd_min_qlen,
                          DAT_EVD_HANDLE *async_evd_handle)
{
        struct registration *held = ia->held;
        DAT_RETURN ret;

        ret = held->provider->ia_open_func(held->info.ia_name, async_evd_min_qlen, async_evd_handle,
                                           &ia->handle);
        if (is_failure(ret))
                return ret;
        ia->table = handle_first_word(ia->handle);
        if (!ia->table) {
                log_line(LOG_WARNING, "IA %s: its provider opened it, but gave no usable handle",
                         held->info.ia_name);
                return DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
        }
        if (handle_trust(ia->table, ia->handle))
                return ret;
        held->provider->ia_close_func(ia->handle, DAT_CLOSE_ABRUPT_FLAG);
        return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_NO_SUBTYPE);
}

DAT_RETURN dat_ia_openv(const DAT_NAME_PTR name, DAT_COUNT async_evd_min_qlen,
                        DAT_EVD_HANDLE *async_evd_handle, DAT_IA_HANDLE *ia_handle,
                        DAT_UINT32 dat_major, DAT_UINT32 dat_minor, DAT_BOOLEAN thread_safety)
{
        struct open_ia *ia;
        DAT_RETURN ret;

        if (!name || strnlen(name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
                return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
        if (!ia_handle)
                return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
        ia = calloc(1, sizeof(*ia));
        if (!ia)
                return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);

        ret = hold_provider(name, dat_major, dat_minor, thread_safety, &ia->held);
        if (ret != DAT_SUCCESS)
                goto free_ia;
        ret = open_ia(ia, async_evd_min_qlen, async_evd_handle);
        if (is_failure(ret))
                goto release;
        *ia_handle = ia->handle;
        remember(ia);
        return ret;
release:
        registry_release(ia->held);
free_ia:
        free(ia);
        return ret;
}

DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS close_flags)
{
        const DAT_PROVIDER *provider = handle_provider_probed(ia_handle);
        struct open_ia *ia;
        DAT_RETURN ret;

        if (!provider)
                return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
        if (!provider->ia_close_func)
                return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
        /* From the close on, the provider may give the handle to an IA that is opened meanwhile. */
        ia = recall(ia_handle);
        ret = provider->ia_close_func(ia_handle, close_flags);
        if (is_failure(ret))
                return ret;
        if (ia && forget(ia)) {
                handle_distrust(ia->table);
                registry_release(ia->held);
                free(ia);
        }
        return ret;
}
