/* SPDX-License-Identifier: BSD-2-Clause */
#include "handle.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "functions.h"

#define BUCKETS 1024

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct handle *by_outer[BUCKETS];
static struct handle *by_inner[BUCKETS];
static enum { REUSE_NONE, REUSE_OF_KIND, REUSE_OF_ANY } reuse;

static size_t bucket(const void *address)
{
        uint64_t bits = (uint64_t)(uintptr_t)address;

        return (size_t)((bits * UINT64_C(0x9e3779b97f4a7c15)) >> 54);
}

static void *allocate(size_t size)
{
        void *memory = calloc(1, size);

        if (!memory) {
                fputs("libdaplfault: out of memory\n", stderr);
                abort();
        }
        return memory;
}

void run_reuse_handles(void)
{
        pthread_mutex_lock(&lock);
        reuse = REUSE_OF_KIND;
        pthread_mutex_unlock(&lock);
}

void run_reuse_any_handles(void)
{
        pthread_mutex_lock(&lock);
        reuse = REUSE_OF_ANY;
        pthread_mutex_unlock(&lock);
}

/* What later objects and late events are of: these keep their handles. */
static bool is_named_later(DAT_HANDLE_TYPE type)
{
        return type == DAT_HANDLE_TYPE_IA || type == DAT_HANDLE_TYPE_EP ||
               type == DAT_HANDLE_TYPE_PSP || type == DAT_HANDLE_TYPE_RSP;
}

/* Whether a new object of the type may have this handle. */
static bool fits(const struct handle *handle, DAT_HANDLE_TYPE type)
{
        if (handle->type == type)
                return true;
        return reuse == REUSE_OF_ANY && !is_named_later(handle->type) && type != DAT_HANDLE_TYPE_IA;
}

/* The handle of an object that is gone, which the type may have, off the list by inner handle. */
static struct handle *take_destroyed(const DAT_PROVIDER *table, DAT_HANDLE_TYPE type)
{
        for (size_t i = 0; reuse != REUSE_NONE && i < BUCKETS; i++) {
                for (struct handle **at = &by_inner[i]; *at; at = &(*at)->next_inner) {
                        struct handle *handle = *at;

                        if (!handle->destroyed || handle->table != table || !fits(handle, type))
                                continue;
                        *at = handle->next_inner;
                        return handle;
                }
        }
        return NULL;
}

struct handle *handle_new(DAT_PROVIDER *table, DAT_HANDLE inner, DAT_HANDLE_TYPE type,
                          struct handle *kin)
{
        size_t inner_slot = bucket(inner);
        struct handle *handle;

        pthread_mutex_lock(&lock);
        handle = take_destroyed(table, type);
        if (handle) {
                *handle = (struct handle){.next_outer = handle->next_outer};
        } else {
                handle = allocate(sizeof(*handle));
                handle->next_outer = by_outer[bucket(handle)];
                by_outer[bucket(handle)] = handle;
        }
        handle->table = table;
        handle->inner = inner;
        handle->type = type;
        handle->ia = kin && kin->ia ? kin->ia : kin;
        handle->next_inner = by_inner[inner_slot];
        by_inner[inner_slot] = handle;
        pthread_mutex_unlock(&lock);
        return handle;
}

struct handle *handle_find(DAT_HANDLE outer)
{
        struct handle *handle;

        pthread_mutex_lock(&lock);
        for (handle = by_outer[bucket(outer)]; handle; handle = handle->next_outer) {
                if (handle == outer)
                        break;
        }
        pthread_mutex_unlock(&lock);
        return handle;
}

struct handle *handle_find_inner(DAT_HANDLE inner)
{
        struct handle *handle;

        pthread_mutex_lock(&lock);
        for (handle = by_inner[bucket(inner)]; handle; handle = handle->next_inner) {
                if (handle->inner == inner)
                        break;
        }
        pthread_mutex_unlock(&lock);
        return handle;
}

DAT_HANDLE handle_inward(DAT_HANDLE outer)
{
        struct handle *handle = outer ? handle_find(outer) : NULL;

        return handle ? handle->inner : outer;
}

DAT_HANDLE handle_outward(DAT_HANDLE inner)
{
        struct handle *handle = inner ? handle_find_inner(inner) : NULL;

        return handle ? (DAT_HANDLE)handle : inner;
}

void handle_destroy_all(struct handle *ia)
{
        pthread_mutex_lock(&lock);
        for (size_t i = 0; i < BUCKETS; i++) {
                for (struct handle *handle = by_outer[i]; handle; handle = handle->next_outer) {
                        if (handle == ia || handle->ia == ia)
                                handle->destroyed = true;
                }
        }
        pthread_mutex_unlock(&lock);
}

size_t handle_list(const DAT_PROVIDER *table, DAT_HANDLE_TYPE type,
                   struct handle *found[HANDLES_MAX])
{
        size_t count = 0;

        pthread_mutex_lock(&lock);
        for (size_t i = 0; i < BUCKETS; i++) {
                struct handle *handle = by_outer[i];

                for (; handle && count < HANDLES_MAX; handle = handle->next_outer) {
                        if (handle->table == table && handle->type == type && !handle->destroyed)
                                found[count++] = handle;
                }
        }
        pthread_mutex_unlock(&lock);
        return count;
}

void handle_post(struct handle *queue, uint64_t cookie, const DAT_LMR_TRIPLET *first)
{
        struct posted *posted = allocate(sizeof(*posted));
        struct posted **end;

        posted->cookie = cookie;
        if (first) {
                posted->address = word_pointer(first->virtual_address);
                posted->length = (size_t)first->segment_length;
        }
        pthread_mutex_lock(&lock);
        for (end = &queue->posted; *end; end = &(*end)->next)
                ;
        *end = posted;
        queue->posted_count++;
        pthread_mutex_unlock(&lock);
}

bool handle_reap(struct handle *queue, uint64_t cookie, struct posted *found)
{
        struct posted **at;
        struct posted *posted;

        pthread_mutex_lock(&lock);
        for (at = &queue->posted; *at && (*at)->cookie != cookie; at = &(*at)->next)
                ;
        posted = *at;
        if (posted) {
                *at = posted->next;
                queue->posted_count--;
        }
        pthread_mutex_unlock(&lock);
        if (!posted)
                return false;
        *found = *posted;
        free(posted);
        return true;
}
