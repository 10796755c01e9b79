/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles. A handle points to a small record that outlives the object. */
#ifndef DAPLREF_HANDLE_H
#define DAPLREF_HANDLE_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/daplref.h"
#include "base/list.h"

struct ia;
struct object;

struct handle {
        const DAT_PROVIDER *provider; /* libdat reads this word, so it must come first */
        _Atomic uint32_t life;
        struct object *object;
        DAT_CONTEXT context;
        struct handle *next;
};

/* The first member of every object, because object_get() returns its address as the object. */
struct object {
        struct handle *handle;
        struct ia *ia;
        struct link link; /* in ia->objects[kind] */
        int users;        /* objects that cannot live without this one, under ia->lock */
};

DAT_RETURN object_publish(struct ia *ia, struct object *object, DAT_HANDLE_TYPE kind);
bool object_pin(struct object *object);
void object_put_dead(struct handle *handle);
bool object_kill(struct object *object);
void object_await_last(struct object *object, uint32_t references);
void object_await_all(struct ia *ia);
bool object_lives(const struct object *object);
void object_unpublish(struct object *object);
DAT_RETURN object_use(struct object *object, DAT_RETURN otherwise);
void object_unuse(struct object *object);
DAT_RETURN object_retire(struct object *object, DAT_RETURN when_used);

/*
 * A handle's life: a bit that is set until the object is killed, the object's kind, and its
 * references.
 */
#define HANDLE_LIVE       (UINT32_C(1) << 31)
#define HANDLE_KIND_SHIFT 24
#define HANDLE_REFERENCES ((UINT32_C(1) << HANDLE_KIND_SHIFT) - 1)

/*
 * Records have the size of a cache line and are in one array that is never unmapped. So a stale
 * handle always points to a record, and arithmetic recognises a foreign pointer. Unused records are
 * zeros, therefore dead, and take no memory.
 */
#define HANDLE_RECORD_SHIFT 6
#define HANDLE_RECORDS      (UINT32_C(1) << 20)

union handle_record {
        struct handle handle;
        _Alignas(1 << HANDLE_RECORD_SHIFT) char line[1 << HANDLE_RECORD_SHIFT];
};

extern union handle_record handle_records[HANDLE_RECORDS];

static inline bool handle_is_record(DAT_HANDLE handle)
{
        uintptr_t offset = (uintptr_t)handle - (uintptr_t)handle_records;

        /* An address that is misaligned or below the array becomes a number above the limit. */
        return (offset >> HANDLE_RECORD_SHIFT |
                offset << (sizeof(offset) * CHAR_BIT - HANDLE_RECORD_SHIFT)) < HANDLE_RECORDS;
}

static inline bool handle_pin(struct handle *handle, uint32_t expected, uint32_t mask)
{
        uint32_t life = atomic_load_explicit(&handle->life, memory_order_relaxed);

        do {
                if ((life & mask) != expected)
                        return false;
        } while (!atomic_compare_exchange_weak_explicit(
            &handle->life, &life, life + 1, memory_order_acquire, memory_order_relaxed));
        return true;
}

/* Returns the live object of that kind behind the handle, pinned until object_put(), or NULL. */
static inline void *object_get(DAT_HANDLE dat_handle, DAT_HANDLE_TYPE kind)
{
        struct handle *handle = dat_handle;

        if (!handle_is_record(dat_handle) ||
            !handle_pin(handle, HANDLE_LIVE | (uint32_t)kind << HANDLE_KIND_SHIFT,
                        ~HANDLE_REFERENCES))
                return NULL;
        /* Saves a test, since a live handle always has an object. */
        if (!handle->object)
                __builtin_unreachable();
        return handle->object;
}

static inline DAT_HANDLE object_handle(const struct object *object)
{
        return object ? object->handle : DAT_HANDLE_NULL;
}

/* Releases an object that the caller has pinned. */
static inline void object_put(void *body)
{
        struct handle *handle = ((struct object *)body)->handle;
        uint32_t left = atomic_fetch_sub_explicit(&handle->life, 1, memory_order_acq_rel) - 1;

        /* From here on only the record may be read: the object may be gone. */
        if (!(left & HANDLE_LIVE))
                object_put_dead(handle);
}

DAT_RETURN ref_set_consumer_context(DAT_HANDLE, DAT_CONTEXT);
DAT_RETURN ref_get_consumer_context(DAT_HANDLE, DAT_CONTEXT *);
DAT_RETURN ref_get_handle_type(DAT_HANDLE, DAT_HANDLE_TYPE *);

#endif
