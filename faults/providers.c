/* SPDX-License-Identifier: BSD-2-Clause */
/* What the faulty libdat does with providers: the linker gives its registry these. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "libdat.h"
#include "provider_library.h"
#include "registry.h"
#include "whole.h"

/* A library that was loaded, and its own entry points. */
struct loaded {
        struct loaded *next;
        const struct provider_library *library;
        DAT_PROVIDER_INIT_FUNC init;
        DAT_PROVIDER_FINI_FUNC fini;
        const DAT_PROVIDER_INFO *info; /* that its init was called with */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct loaded *all_loaded;
/* Whose init this thread is about to call. */
static _Thread_local struct loaded *newest;

static uint64_t word(const void *pointer)
{
        return (uint64_t)(uintptr_t)pointer;
}

DAT_RETURN act_provider_init(const struct call *call, const uint64_t *arg)
{
        const struct loaded *loaded = word_pointer(arg[2]);

        (void)call;
        loaded->init(word_pointer(arg[0]), word_pointer(arg[1]));
        return DAT_SUCCESS;
}

static void init(const DAT_PROVIDER_INFO *info, const char *instance_data)
{
        newest->info = info;
        libdat_run(SLOT_PROVIDER_INIT,
                   (const uint64_t[]){word(info), word(instance_data), word(newest)});
}

DAT_RETURN act_provider_fini(const struct call *call, const uint64_t *arg)
{
        const struct loaded *loaded = word_pointer(arg[1]);

        (void)call;
        loaded->fini(word_pointer(arg[0]));
        return DAT_SUCCESS;
}

static void fini(const DAT_PROVIDER_INFO *info)
{
        const struct loaded *loaded;

        pthread_mutex_lock(&lock);
        for (loaded = all_loaded; loaded && loaded->info != info; loaded = loaded->next)
                ;
        pthread_mutex_unlock(&lock);
        if (loaded)
                libdat_run(SLOT_PROVIDER_FINI, (const uint64_t[]){word(info), word(loaded)});
}

/* Comes between the registry and the library's entry points. */
static void watch(struct provider_library *library)
{
        struct loaded *loaded = calloc(1, sizeof(*loaded));

        if (!loaded)
                abort();
        *loaded = (struct loaded){.library = library, .init = library->init, .fini = library->fini};
        library->init = init;
        if (library->fini)
                library->fini = fini;
        newest = loaded;
        pthread_mutex_lock(&lock);
        loaded->next = all_loaded;
        all_loaded = loaded;
        pthread_mutex_unlock(&lock);
}

struct load {
        struct provider_library *library;
        char *why;
        size_t size;
        bool loaded;
};

bool __real_provider_library_load(struct provider_library *library, const char *path, char *why,
                                  size_t size);
bool __wrap_provider_library_load(struct provider_library *library, const char *path, char *why,
                                  size_t size);

DAT_RETURN act_library_load(const struct call *call, const uint64_t *arg)
{
        struct load *load = word_pointer(arg[1]);

        (void)call;
        load->loaded = __real_provider_library_load(load->library, word_pointer(arg[0]), load->why,
                                                    load->size);
        return load->loaded ? DAT_SUCCESS : DAT_CLASS_ERROR | DAT_PROVIDER_NOT_FOUND;
}

bool __wrap_provider_library_load(struct provider_library *library, const char *path, char *why,
                                  size_t size)
{
        struct load load = {.library = library, .why = why, .size = size};

        if (libdat_is_whole())
                return __real_provider_library_load(library, path, why, size);
        snprintf(why, size, "kept out by a fault");
        libdat_run(SLOT_LIBRARY_LOAD, (const uint64_t[]){word(path), word(&load)});
        if (load.loaded)
                watch(library);
        return load.loaded;
}

void __real_provider_library_unload(struct provider_library *library);
void __wrap_provider_library_unload(struct provider_library *library);

DAT_RETURN act_library_unload(const struct call *call, const uint64_t *arg)
{
        (void)call;
        __real_provider_library_unload(word_pointer(arg[0]));
        return DAT_SUCCESS;
}

void __wrap_provider_library_unload(struct provider_library *library)
{
        libdat_run(SLOT_LIBRARY_UNLOAD, (const uint64_t[]){word(library)});
        library->handle = NULL;
}

struct hold {
        struct registration **held;
        DAT_RETURN ret;
};

DAT_RETURN __real_registry_hold(const DAT_PROVIDER_INFO *wanted, struct registration **held);
DAT_RETURN __wrap_registry_hold(const DAT_PROVIDER_INFO *wanted, struct registration **held);

DAT_RETURN act_provider_hold(const struct call *call, const uint64_t *arg)
{
        struct hold *hold = word_pointer(arg[1]);

        (void)call;
        hold->ret = __real_registry_hold(word_pointer(arg[0]), hold->held);
        return hold->ret;
}

/* What is answered without a provider that is held can be no success. */
DAT_RETURN __wrap_registry_hold(const DAT_PROVIDER_INFO *wanted, struct registration **held)
{
        struct hold hold = {.held = held, .ret = DAT_CLASS_ERROR | DAT_INTERNAL_ERROR};
        DAT_RETURN ret;

        ret = libdat_run(SLOT_PROVIDER_HOLD, (const uint64_t[]){word(wanted), word(&hold)});
        return hold.ret == DAT_SUCCESS || ret != DAT_SUCCESS ? ret : hold.ret;
}

void __real_registry_release(struct registration *held);
void __wrap_registry_release(struct registration *held);

DAT_RETURN act_provider_release(const struct call *call, const uint64_t *arg)
{
        (void)call;
        __real_registry_release(word_pointer(arg[1]));
        return DAT_SUCCESS;
}

void __wrap_registry_release(struct registration *held)
{
        libdat_run(SLOT_PROVIDER_RELEASE, (const uint64_t[]){held->holders, word(held)});
}
