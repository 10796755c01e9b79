/* SPDX-License-Identifier: BSD-2-Clause */
/* What the Consumer holds is a small record that outlives the object behind it. */
#ifndef DAPLREF_HANDLE_H
#define DAPLREF_HANDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "daplref.h"
#include "list.h"

struct ia;
struct object;

struct handle {
        const DAT_PROVIDER *provider; /* libdat reads this word, so it must come first */
        _Atomic uint32_t life;
        struct object *object;
        DAT_CONTEXT context;
        struct handle *next;
};

/* What every object begins with, for object_get() returns it as the object itself. */
struct object {
        struct handle *handle;
        struct ia *ia;
        struct link link; /* in ia->objects[kind] */
        int users;        /* objects that cannot live without this one, under ia->lock */
};

DAT_RETURN object_publish(struct ia *ia, struct object *object, DAT_HANDLE_TYPE kind);
void *object_get(DAT_HANDLE handle, DAT_HANDLE_TYPE kind);
bool object_pin(struct object *object);
void object_put_dead(struct handle *handle);
bool object_kill(struct object *object);
void object_await_last(struct object *object, uint32_t references);
void object_await_all(struct ia *ia);
bool object_lives(const struct object *object);
void object_bury(struct object *object);
DAT_RETURN object_use(struct object *object, DAT_RETURN otherwise);
void object_unuse(struct object *object);
DAT_RETURN object_retire(struct object *object, DAT_RETURN when_used);

/* The bit of a handle's life that is set until somebody frees the object. */
#define HANDLE_LIVE (UINT32_C(1) << 31)

static inline DAT_HANDLE object_handle(const struct object *object)
{
        return object ? object->handle : DAT_HANDLE_NULL;
}

/* Lets go of an object that the caller has pinned. */
static inline void object_put(void *body)
{
        struct handle *handle = ((struct object *)body)->handle;
        uint32_t before = atomic_fetch_sub_explicit(&handle->life, 1, memory_order_acq_rel);

        /* Only the memory of the record may be touched from here on: the object may be gone. */
        if (!(before & HANDLE_LIVE))
                object_put_dead(handle);
}

DAT_RETURN ref_set_consumer_context(DAT_HANDLE, DAT_CONTEXT);
DAT_RETURN ref_get_consumer_context(DAT_HANDLE, DAT_CONTEXT *);
DAT_RETURN ref_get_handle_type(DAT_HANDLE, DAT_HANDLE_TYPE *);

#endif
