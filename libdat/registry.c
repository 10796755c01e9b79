/* SPDX-License-Identifier: BSD-2-Clause */

#include "registry.h"

#include "dat_conf.h"
#include "handle.h"
#include "log.h"
#include "provider_library.h"
#include "return_code.h"

#include <errno.h>
#include <pthread.h>
#include <search.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_CONF "/etc/dat.conf"

/*
 * One key of dat.conf, with the libraries offered under it in file order. While busy, the thread
 * named is inside the provider's init or fini, which may call the registry: so no lock is held,
 * and others that want the key wait.
 */
struct listing {
        DAT_PROVIDER_INFO info;
        struct conf_entry *entries;
        struct provider_library library;
        bool busy;
        pthread_t busy_thread;
        struct listing *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t no_longer_busy = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const char *conf_path;
static bool conf_missing;
static struct listing *listings;
static struct registration *registrations;

static bool same_key(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b)
{
        return strcmp(a->ia_name, b->ia_name) == 0 &&
               a->dapl_version_major == b->dapl_version_major &&
               a->dapl_version_minor == b->dapl_version_minor &&
               a->is_thread_safe == b->is_thread_safe;
}

static struct listing *find_listing(const DAT_PROVIDER_INFO *key)
{
        for (struct listing *l = listings; l; l = l->next)
                if (same_key(&l->info, key))
                        return l;
        return NULL;
}

static struct registration *find_registration(const DAT_PROVIDER_INFO *key)
{
        for (struct registration *r = registrations; r; r = r->next)
                if (same_key(&r->info, key))
                        return r;
        return NULL;
}

/*
 * The static registry
 */

static void warn_of_line(void *context, unsigned int line, unsigned int field, const char *reason)
{
        const char *path = context;

        if (!line)
                log_line(LOG_WARNING, "%s: cannot be read: %s", path, reason);
        else if (!field)
                log_line(LOG_WARNING, "%s:%u: entry skipped: %s", path, line, reason);
        else
                log_line(LOG_WARNING, "%s:%u: entry skipped: field %u (%s): %s", path, line, field,
                         conf_field_name(field), reason);
}

/* Keys while the file is read: a file may have thousands, and each entry looks for its own. */
struct loading {
        void *keys; /* tsearch(3)'s tree of the listings' keys */
        struct listing **end;
};

static int compare_keys(const void *one, const void *other)
{
        const DAT_PROVIDER_INFO *a = one;
        const DAT_PROVIDER_INFO *b = other;
        int order = strcmp(a->ia_name, b->ia_name);

        if (!order)
                order = (int)a->dapl_version_major - (int)b->dapl_version_major;
        if (!order)
                order = (int)a->dapl_version_minor - (int)b->dapl_version_minor;
        return order ? order : (int)a->is_thread_safe - (int)b->is_thread_safe;
}

/* The listing of the entry's key, a new one behind the others where there is none yet, or NULL. */
static struct listing *listing_for(struct loading *loading, const struct conf_entry *entry)
{
        const DAT_PROVIDER_INFO *const *known = tfind(&entry->info, &loading->keys, compare_keys);
        struct listing *listing;

        if (known)
                return (struct listing *)((char *)*known - offsetof(struct listing, info));
        listing = calloc(1, sizeof(*listing));
        if (!listing)
                return NULL;
        listing->info = entry->info;
        if (!tsearch(&listing->info, &loading->keys, compare_keys)) {
                free(listing);
                return NULL;
        }
        *loading->end = listing;
        loading->end = &listing->next;
        return listing;
}

/* Put the entry behind those of its key, and its key behind the others. */
static void list_entry(struct loading *loading, struct conf_entry *entry)
{
        struct listing *listing = listing_for(loading, entry);
        struct conf_entry **last;

        if (!listing) {
                warn_of_line((void *)conf_path, entry->line, 0, strerror(ENOMEM));
                conf_free(entry);
                return;
        }
        last = &listing->entries;
        while (*last)
                last = &(*last)->next;
        *last = entry;
}

static void keep(void *key)
{
        (void)key;
}

static void read_conf(void)
{
        /* A program with more rights than its caller loads no library of the caller's choice. */
        const char *override = secure_getenv("DAT_OVERRIDE");
        struct loading loading = {.end = &listings};
        struct conf_entry *entries;
        FILE *file;

        conf_path = override ? strdup(override) : DEFAULT_CONF;
        file = conf_path ? fopen(conf_path, "re") : NULL;
        if (!file) {
                conf_missing = true;
                if (override)
                        log_line(LOG_WARNING,
                                 "DAT_OVERRIDE=%s: cannot be read: %s; no IA is listed", override,
                                 strerror(errno));
                else if (errno != ENOENT)
                        warn_of_line((void *)conf_path, 0, 0, strerror(errno));
                return;
        }
        entries = conf_read(file, warn_of_line, (void *)conf_path);
        conf_missing = ferror(file);
        fclose(file);
        while (entries) {
                struct conf_entry *entry = entries;

                entries = entry->next;
                entry->next = NULL;
                log_line(LOG_LIBRARIES, "%s:%u: IA %s, version %u.%u, %s: %s", conf_path,
                         entry->line, entry->info.ia_name, entry->info.dapl_version_major,
                         entry->info.dapl_version_minor,
                         entry->info.is_thread_safe ? "threadsafe" : "nonthreadsafe",
                         entry->library);
                list_entry(&loading, entry);
        }
        tdestroy(loading.keys, keep);
}

DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return, DAT_COUNT *entries_returned,
                                       DAT_PROVIDER_INFO *dat_provider_list[])
{
        DAT_COUNT count = 0;

        if (!entries_returned)
                return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        pthread_once(&once, read_conf);
        /* Neither a key nor the order of keys changes after the file is read: no lock. */
        for (const struct listing *l = listings; l; l = l->next)
                count++;
        *entries_returned = count;
        if (conf_missing)
                return DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
        if (max_to_return <= 0 || max_to_return < count)
                return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
        for (DAT_COUNT i = 0; i < count; i++)
                if (!dat_provider_list || !dat_provider_list[i])
                        return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        for (const struct listing *l = listings; l; l = l->next)
                **dat_provider_list++ = l->info;
        return DAT_SUCCESS;
}

/*
 * The dynamic registry
 */

static bool is_valid_info(const DAT_PROVIDER_INFO *info)
{
        return info && memchr(info->ia_name, '\0', sizeof(info->ia_name));
}

/* The listing whose init or fini this thread is inside of. The caller holds the lock. */
static const struct listing *listing_busy_here(void)
{
        for (const struct listing *l = listings; l; l = l->next)
                if (l->busy && pthread_equal(l->busy_thread, pthread_self()))
                        return l;
        return NULL;
}

/* A library may only register what it was loaded for: it is unloaded with that, and no later. */
static DAT_RETURN check_new_key(const DAT_PROVIDER_INFO *info)
{
        const struct listing *loading = listing_busy_here();

        if (loading && !same_key(&loading->info, info)) {
                log_line(LOG_WARNING,
                         "IA %s, version %u.%u: registration refused: the library was loaded for "
                         "IA %s, version %u.%u",
                         info->ia_name, info->dapl_version_major, info->dapl_version_minor,
                         loading->info.ia_name, loading->info.dapl_version_major,
                         loading->info.dapl_version_minor);
                return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        }
        if (find_registration(info))
                return DAT_ERROR(DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE);
        return DAT_SUCCESS;
}

DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
        struct registration *added;
        DAT_RETURN ret;

        if (!provider || !provider->ia_open_func)
                return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
        if (!is_valid_info(info))
                return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        added = calloc(1, sizeof(*added));
        if (!added)
                return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
        added->info = *info;
        added->provider = provider;

        pthread_mutex_lock(&lock);
        ret = check_new_key(info);
        if (ret == DAT_SUCCESS && !handle_trust(provider, NULL))
                ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_NO_SUBTYPE);
        if (ret == DAT_SUCCESS) {
                added->next = registrations;
                registrations = added;
                added = NULL;
        }
        pthread_mutex_unlock(&lock);

        free(added);
        log_line(LOG_REGISTRY, "IA %s, version %u.%u: registration %s", info->ia_name,
                 info->dapl_version_major, info->dapl_version_minor, ret ? "refused" : "added");
        return ret;
}

/* The caller holds the lock. */
static void drop_registration(struct registration *dropped)
{
        struct registration **link = &registrations;

        while (*link != dropped)
                link = &(*link)->next;
        *link = dropped->next;
        handle_distrust(dropped->provider);
        log_line(LOG_REGISTRY, "IA %s: registration removed", dropped->info.ia_name);
        free(dropped);
}

DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
        struct registration *found;
        DAT_RETURN ret = DAT_SUCCESS;

        if (!provider)
                return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
        if (!is_valid_info(info))
                return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);

        pthread_mutex_lock(&lock);
        found = find_registration(info);
        if (!found)
                ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        else if (found->provider != provider)
                ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
        else if (found->holders)
                ret = DAT_ERROR(DAT_PROVIDER_IN_USE, DAT_NO_SUBTYPE);
        else
                drop_registration(found);
        pthread_mutex_unlock(&lock);
        return ret;
}

/*
 * Finding, loading and holding
 */

/* The best key so far for what is wanted, and else how far the others came. */
struct match {
        const DAT_PROVIDER_INFO *best;
        DAT_RETURN_SUBTYPE failed;
};

static void consider(struct match *match, const DAT_PROVIDER_INFO *wanted,
                     const DAT_PROVIDER_INFO *offered)
{
        DAT_RETURN_SUBTYPE failed = DAT_NO_SUBTYPE;

        if (strcmp(offered->ia_name, wanted->ia_name) != 0)
                failed = DAT_NAME_NOT_REGISTERED;
        else if (offered->dapl_version_major != wanted->dapl_version_major)
                failed = DAT_MAJOR_NOT_FOUND;
        else if (offered->dapl_version_minor < wanted->dapl_version_minor)
                failed = DAT_MINOR_NOT_FOUND;
        else if (offered->is_thread_safe != wanted->is_thread_safe)
                failed = DAT_THREAD_SAFETY_NOT_FOUND;

        /* The subtypes are numbered in the order of these checks. */
        if (failed > match->failed)
                match->failed = failed;
        if (failed)
                return;
        if (!match->best || offered->dapl_version_minor < match->best->dapl_version_minor)
                match->best = offered;
}

static struct match find_key(const DAT_PROVIDER_INFO *wanted)
{
        struct match match = {.failed = DAT_NAME_NOT_REGISTERED};

        for (const struct listing *l = listings; l; l = l->next)
                consider(&match, wanted, &l->info);
        for (const struct registration *r = registrations; r; r = r->next)
                consider(&match, wanted, &r->info);
        return match;
}

/* Leave the lock, to run the provider's own code for the listing. */
static void become_busy(struct listing *listing)
{
        listing->busy = true;
        listing->busy_thread = pthread_self();
        pthread_mutex_unlock(&lock);
}

static void end_busy(struct listing *listing)
{
        pthread_mutex_lock(&lock);
        listing->busy = false;
        pthread_cond_broadcast(&no_longer_busy);
}

/* False where this thread waits for itself: a provider's init or fini opens its own IA. */
static bool wait_while_busy(struct listing *listing)
{
        if (listing == listing_busy_here())
                return false;
        while (listing->busy)
                pthread_cond_wait(&no_longer_busy, &lock);
        return true;
}

/* Load the first library of the listing that can be loaded, and let it register. */
static void load(struct listing *listing)
{
        const struct conf_entry *entry;
        char why[512];

        for (entry = listing->entries; entry; entry = entry->next) {
                if (provider_library_load(&listing->library, entry->library, why, sizeof(why)))
                        break;
                log_line(LOG_WARNING, "%s:%u: IA %s: field %d (%s): %s", conf_path, entry->line,
                         entry->info.ia_name, CONF_LIBRARY, conf_field_name(CONF_LIBRARY), why);
        }
        if (!entry)
                return;
        log_line(LOG_LIBRARIES, "IA %s: %s loaded", listing->info.ia_name, entry->library);
        listing->library.init(&listing->info, entry->ia_params);
}

static void unload(struct listing *listing)
{
        provider_library_unload(&listing->library);
        log_line(LOG_LIBRARIES, "IA %s: library unloaded", listing->info.ia_name);
}

/* The caller holds the lock, which is left meanwhile. NULL where it failed. */
static struct registration *load_and_register(struct listing *listing)
{
        struct registration *registered;

        become_busy(listing);
        load(listing);
        end_busy(listing);
        if (!listing->library.handle)
                return NULL;

        registered = find_registration(&listing->info);
        if (registered) {
                registered->loaded_for = listing;
                return registered;
        }
        log_line(LOG_WARNING, "IA %s: its library was loaded, but did not register it",
                 listing->info.ia_name);
        become_busy(listing);
        unload(listing);
        end_busy(listing);
        return NULL;
}

/* The caller holds the lock, which is left meanwhile. */
static void unregister_and_unload(struct listing *listing)
{
        struct registration *registered;

        become_busy(listing);
        if (listing->library.fini)
                listing->library.fini(&listing->info);

        pthread_mutex_lock(&lock);
        registered = find_registration(&listing->info);
        if (registered && registered->loaded_for == listing)
                drop_registration(registered);
        pthread_mutex_unlock(&lock);

        unload(listing);
        end_busy(listing);
}

/* The caller holds the lock, which is left meanwhile. NULL where there is none. */
static struct registration *registration_of(const DAT_PROVIDER_INFO *key)
{
        struct listing *listing = find_listing(key);
        struct registration *registered;

        if (listing && !wait_while_busy(listing))
                return NULL;
        registered = find_registration(key);
        if (registered || !listing)
                return registered;
        return load_and_register(listing);
}

DAT_RETURN registry_hold(const DAT_PROVIDER_INFO *wanted, struct registration **held)
{
        DAT_RETURN ret = DAT_SUCCESS;
        DAT_PROVIDER_INFO key;
        struct match match;

        pthread_once(&once, read_conf);
        pthread_mutex_lock(&lock);
        match = find_key(wanted);
        if (!match.best) {
                ret = DAT_ERROR(DAT_PROVIDER_NOT_FOUND, match.failed);
                goto unlock;
        }
        /* A registration, and with it its key, may vanish while the lock is left. */
        key = *match.best;
        *held = registration_of(&key);
        if (*held)
                (*held)->holders++;
        else
                ret = DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
unlock:
        pthread_mutex_unlock(&lock);
        return ret;
}

void registry_release(struct registration *held)
{
        pthread_mutex_lock(&lock);
        if (--held->holders == 0 && held->loaded_for)
                unregister_and_unload(held->loaded_for);
        pthread_mutex_unlock(&lock);
}
