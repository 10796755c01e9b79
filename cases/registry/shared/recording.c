/* SPDX-License-Identifier: BSD-2-Clause */
/* The side of a consumer's process: providers that record, and what registers itself. */
#include "cases/registry/shared/recording.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case/exec_process.h"
#include "cases/registry/shared/consumer_memory.h"

#define ERROR_OF(type_) ((DAT_RETURN)(DAT_CLASS_ERROR | (type_)))

/* A provider of the recording kind, for one key. */
struct recorded {
        DAT_PROVIDER table;
        DAT_PROVIDER_INFO info;
        bool used;
};

struct recorded_ia {
        const DAT_PROVIDER *table;
        char name[DAT_NAME_MAX_LENGTH]; /* that it was opened by */
};

static struct recorded *all_recorded(size_t *count);

/*
 * Recorded calls
 */

static struct happened *happened_new(enum happening what, const DAT_PROVIDER_INFO *info)
{
        struct consumer_memory *room = exec_process_own_shared();
        static struct happened nowhere;
        struct happened *new = &nowhere;
        uint32_t n;

        if (room) {
                n = atomic_fetch_add(&room->count, 1);
                new = &room->happened[n < HAPPENED_MAX ? n : HAPPENED_MAX - 1];
        }
        new->what = what;
        if (info)
                new->info = *info;
        return new;
}

static void name_library(struct happened *happened, const void *here)
{
        Dl_info info;

        if (dladdr(here, &info) && info.dli_fname)
                snprintf(happened->library, sizeof(happened->library), "%s", info.dli_fname);
}

static bool ordered(enum order order)
{
        const struct consumer_memory *room = exec_process_own_shared();

        return room && (atomic_load(&room->orders) & order);
}

/*
 * What registers itself, in any process: this program's names come before the registry's
 */

typedef DAT_RETURN adding(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info);

static DAT_RETURN in_registry(const char *name, const DAT_PROVIDER *provider,
                              const DAT_PROVIDER_INFO *info)
{
        adding *call = (adding *)dlsym(RTLD_NEXT, name);

        return call ? call(provider, info) : ERROR_OF(DAT_INTERNAL_ERROR);
}

PROGRAMS DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider,
                                              const DAT_PROVIDER_INFO *info)
{
        DAT_RETURN ret = in_registry(__func__, provider, info);

        happened_new(HAPPENED_ADD, info)->ret = ret;
        return ret;
}

PROGRAMS DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
                                                 const DAT_PROVIDER_INFO *info)
{
        DAT_RETURN ret = in_registry(__func__, provider, info);

        happened_new(HAPPENED_REMOVE, info)->ret = ret;
        return ret;
}

/*
 * The provider
 */

static DAT_RETURN open_recorded(const struct recorded *recorded, const char *name,
                                DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia)
{
        struct recorded_ia *made;

        snprintf(happened_new(HAPPENED_OPEN, &recorded->info)->text, HAPPENED_TEXT, "%s", name);
        if (ordered(ORDER_FAIL_OPEN))
                return ERROR_OF(DAT_INSUFFICIENT_RESOURCES);
        made = malloc(sizeof(*made));
        if (!made)
                return ERROR_OF(DAT_INSUFFICIENT_RESOURCES);
        made->table = &recorded->table;
        snprintf(made->name, sizeof(made->name), "%s", name);
        *async_evd = (DAT_EVD_HANDLE)made;
        *ia = (DAT_IA_HANDLE)made;
        return DAT_SUCCESS;
}

static const struct recorded *recorded_of(DAT_IA_HANDLE ia)
{
        return (const struct recorded *)((const struct recorded_ia *)ia)->table;
}

/* A registry may ask for what it keeps an entry by. */
static DAT_RETURN query_recorded(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async_evd,
                                 DAT_IA_ATTR_MASK ia_mask, DAT_IA_ATTR *ia_attr,
                                 DAT_PROVIDER_ATTR_MASK mask, DAT_PROVIDER_ATTR *attr)
{
        const struct recorded *recorded = recorded_of(ia);

        if (async_evd)
                *async_evd = (DAT_EVD_HANDLE)ia;
        if (ia_attr && ia_mask)
                snprintf(ia_attr->adapter_name, sizeof(ia_attr->adapter_name), "%s",
                         ((const struct recorded_ia *)ia)->name);
        if (!attr || !mask)
                return DAT_SUCCESS;
        attr->dapl_version_major = recorded->info.dapl_version_major;
        attr->dapl_version_minor = recorded->info.dapl_version_minor;
        attr->is_thread_safe = recorded->info.is_thread_safe;
        return DAT_SUCCESS;
}

static DAT_RETURN close_recorded(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
        (void)flags;
        happened_new(HAPPENED_CLOSE, &recorded_of(ia)->info);
        if (ordered(ORDER_FAIL_CLOSE))
                return ERROR_OF(DAT_INVALID_STATE);
        free(ia);
        return DAT_SUCCESS;
}

static DAT_RETURN type_of_recorded(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
        (void)handle;
        *type = DAT_HANDLE_TYPE_IA;
        return DAT_SUCCESS;
}

/* An opening gets the name only: the function must know which provider is asked. */
#define RECORDED_MAX 8
static DAT_RETURN open_nth(size_t n, const char *name, DAT_EVD_HANDLE *async_evd,
                           DAT_IA_HANDLE *ia);
#define OPEN_NTH(n_)                                                              \
        static DAT_RETURN open_##n_(const DAT_NAME_PTR name, DAT_COUNT qlen,      \
                                    DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia) \
        {                                                                         \
                (void)qlen;                                                       \
                return open_nth(n_, name, async_evd, ia);                         \
        }
OPEN_NTH(0)
OPEN_NTH(1)
OPEN_NTH(2)
OPEN_NTH(3)
OPEN_NTH(4)
OPEN_NTH(5)
OPEN_NTH(6)
OPEN_NTH(7)

#define TABLE(n_)                                                \
        {                                                        \
                .table = {                                       \
                        .ia_open_func = open_##n_,               \
                        .ia_query_func = query_recorded,         \
                        .ia_close_func = close_recorded,         \
                        .get_handle_type_func = type_of_recorded \
                }                                                \
        }

static struct recorded *all_recorded(size_t *count)
{
        static struct recorded all[RECORDED_MAX] = {TABLE(0), TABLE(1), TABLE(2), TABLE(3),
                                                    TABLE(4), TABLE(5), TABLE(6), TABLE(7)};

        *count = RECORDED_MAX;
        return all;
}

static DAT_RETURN open_nth(size_t n, const char *name, DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia)
{
        size_t count;

        return open_recorded(&all_recorded(&count)[n], name, async_evd, ia);
}

const DAT_PROVIDER *recording_provider(const DAT_PROVIDER_INFO *info)
{
        size_t count;
        struct recorded *all = all_recorded(&count);

        for (size_t i = 0; i < count; i++) {
                if (all[i].used && !same_key(&all[i].info, info))
                        continue;
                all[i].used = true;
                all[i].info = *info;
                all[i].table.device_name = all[i].info.ia_name;
                return &all[i].table;
        }
        return NULL;
}

/*
 * Its library
 */

void recording_loaded(const void *here)
{
        name_library(happened_new(HAPPENED_LOADED, NULL), here);
}

void recording_unloaded(const void *here)
{
        name_library(happened_new(HAPPENED_UNLOADED, NULL), here);
}

void recording_init(const void *here, const void *info, const char *instance_data)
{
        struct happened *happened = happened_new(HAPPENED_INIT, info);
        DAT_PROVIDER_INFO other = *(const DAT_PROVIDER_INFO *)info;

        name_library(happened, here);
        snprintf(happened->text, sizeof(happened->text), "%s",
                 instance_data ? instance_data : "(null)");
        if (ordered(ORDER_NOT_REGISTER))
                return;
        dat_registry_add_provider(recording_provider(info), info);
        if (!ordered(ORDER_OTHER_NAME))
                return;
        snprintf(other.ia_name, sizeof(other.ia_name), "another");
        dat_registry_add_provider(recording_provider(&other), &other);
}

void recording_fini(const void *here, const void *info)
{
        name_library(happened_new(HAPPENED_FINI, info), here);
        if (!ordered(ORDER_STAY))
                dat_registry_remove_provider(recording_provider(info), info);
}
