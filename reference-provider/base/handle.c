/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/handle.h"
#include "base/binding.h"
#include "base/daplref.h"
#include "base/ia.h"
#include "base/list.h"
#include "base/lock.h"

#include <limits.h>

#define QUARANTINE (UINT32_C(1) << 16)

union handle_record handle_records[HANDLE_RECORDS];

static struct {
        pthread_mutex_t lock;
        bool watches_forks;
        uint32_t fresh;
        uint32_t quarantined;
        struct handle *oldest;
        struct handle *newest;
} arena = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void before_fork(void)
{
        pthread_mutex_lock(&arena.lock);
}

static void after_fork(void)
{
        pthread_mutex_unlock(&arena.lock);
}

/*
 * A child inherits handles of kernel objects that belong to the parent, and no service threads. So
 * every handle is invalid in the child.
 */
static void after_fork_in_child(void)
{
        for (uint32_t i = 0; i < arena.fresh; i++) {
                _Atomic uint32_t *life = &handle_records[i].handle.life;

                /* A page that is not written stays shared with the parent. */
                if (atomic_load(life))
                        atomic_store(life, 0);
        }
        pthread_mutex_unlock(&arena.lock);
}

static bool watch_forks(void)
{
        if (!arena.watches_forks)
                arena.watches_forks = !pthread_atfork(before_fork, after_fork, after_fork_in_child);
        return arena.watches_forks;
}

static struct handle *record_take(void)
{
        struct handle *handle = NULL;

        pthread_mutex_lock(&arena.lock);
        if (!watch_forks())
                goto out;
        if (arena.quarantined <= QUARANTINE && arena.fresh < HANDLE_RECORDS) {
                handle = &handle_records[arena.fresh++].handle;
        } else if (arena.oldest) {
                handle = arena.oldest;
                arena.oldest = handle->next;
                if (!arena.oldest)
                        arena.newest = NULL;
                arena.quarantined--;
        }
out:
        pthread_mutex_unlock(&arena.lock);
        return handle;
}

static void record_give(struct handle *handle)
{
        pthread_mutex_lock(&arena.lock);
        handle->next = NULL;
        if (arena.newest)
                arena.newest->next = handle;
        else
                arena.oldest = handle;
        arena.newest = handle;
        arena.quarantined++;
        pthread_mutex_unlock(&arena.lock);
}

/*
 * Gives the object a handle, counts it against the IA's limit for its kind and links it into the
 * IA. Returns DAT_INSUFFICIENT_RESOURCES if the limit is reached or no record is left. Returns
 * DAT_INVALID_HANDLE if the IA is closing.
 */
DAT_RETURN object_publish(struct ia *ia, struct object *object, DAT_HANDLE_TYPE kind)
{
        struct handle *handle;

        pthread_mutex_lock(&ia->lock);
        if (ia->closing)
                goto closing;
        if (ia->counts[kind] >= ia->limits.objects[kind])
                goto full;
        handle = record_take();
        if (!handle)
                goto full;
        object->handle = handle;
        object->ia = ia;
        handle->provider = &ia->binding->table;
        handle->object = object;
        handle->context.as_64 = 0;
        ia->counts[kind]++;
        list_append(&ia->objects[kind], &object->link);
        atomic_store_explicit(&handle->life, HANDLE_LIVE | (uint32_t)kind << HANDLE_KIND_SHIFT,
                              memory_order_release);
        pthread_mutex_unlock(&ia->lock);
        return DAT_SUCCESS;
full:
        pthread_mutex_unlock(&ia->lock);
        return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
closing:
        pthread_mutex_unlock(&ia->lock);
        return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
}

/* Pins an object that the caller knows to exist. Returns false if it is being freed. */
bool object_pin(struct object *object)
{
        return object->handle && handle_pin(object->handle, HANDLE_LIVE, HANDLE_LIVE);
}

/* Wakes the thread that waits for the last reference to a dead object. */
void object_put_dead(struct handle *handle)
{
        futex_wake(&handle->life, INT_MAX);
}

/* Makes the handle invalid for every later call. Returns false if another thread has done so. */
bool object_kill(struct object *object)
{
        return atomic_fetch_and(&object->handle->life, ~HANDLE_LIVE) & HANDLE_LIVE;
}

static void await_references(struct handle *handle, uint32_t references)
{
        uint32_t now = atomic_load(&handle->life);

        while ((now & HANDLE_REFERENCES) > references) {
                futex_wait(&handle->life, now);
                now = atomic_load(&handle->life);
        }
}

/* Waits until at most `references` callers hold the dead object. */
void object_await_last(struct object *object, uint32_t references)
{
        await_references(object->handle, references);
}

static struct handle *find_held(struct ia *ia)
{
        struct handle *held = NULL;

        pthread_mutex_lock(&ia->lock);
        for (int kind = 0; kind < REF_KINDS && !held; kind++) {
                struct link *head = &ia->objects[kind];

                if (kind == DAT_HANDLE_TYPE_IA)
                        continue;
                for (struct link *at = head->next; at != head && !held; at = at->next) {
                        held = container_of(at, struct object, link)->handle;
                        if (!(atomic_load(&held->life) & HANDLE_REFERENCES))
                                held = NULL;
                }
        }
        pthread_mutex_unlock(&ia->lock);
        return held;
}

/*
 * Waits until no call holds an object of a closing IA, whose objects are all dead. Called after
 * object_kill() of each object.
 */
void object_await_all(struct ia *ia)
{
        struct handle *held;

        /*
         * The object may be freed meanwhile. Only its handle is read, and handles are never freed.
         */
        while ((held = find_held(ia)) != NULL)
                await_references(held, 0);
}

/*
 * Takes the dead object out of its IA and retires its handle. The caller frees the object. The IA
 * may be gone on return, so the caller has released everything else before.
 */
void object_unpublish(struct object *object)
{
        struct handle *handle = object->handle;
        struct ia *ia = object->ia;
        uint32_t kind = (atomic_load(&handle->life) & ~HANDLE_LIVE) >> HANDLE_KIND_SHIFT;
        bool awaited;

        pthread_mutex_lock(&ia->lock);
        list_remove(&object->link);
        ia->counts[kind]--;
        awaited = ia->closing;
        pthread_mutex_unlock(&ia->lock);
        handle->object = NULL;
        atomic_store(&handle->life, 0);
        if (awaited)
                futex_wake(&handle->life, INT_MAX);
        record_give(handle);
}

/* Whether the object is not freed yet. The caller's locks decide how long the answer holds. */
bool object_lives(const struct object *object)
{
        return atomic_load(&object->handle->life) & HANDLE_LIVE;
}

/* Counts one more object that needs this one. Returns `otherwise` if this one is dead. */
DAT_RETURN object_use(struct object *object, DAT_RETURN otherwise)
{
        DAT_RETURN ret = otherwise;

        pthread_mutex_lock(&object->ia->lock);
        if (object_lives(object)) {
                object->users++;
                ret = DAT_SUCCESS;
        }
        pthread_mutex_unlock(&object->ia->lock);
        return ret;
}

void object_unuse(struct object *object)
{
        pthread_mutex_lock(&object->ia->lock);
        object->users--;
        pthread_mutex_unlock(&object->ia->lock);
}

/*
 * Kills an object that the caller has pinned, and waits for its other users. Returns `when_used`,
 * and changes nothing, if other objects need it. Returns DAT_INVALID_HANDLE if another thread has
 * killed it.
 */
DAT_RETURN object_retire(struct object *object, DAT_RETURN when_used)
{
        DAT_RETURN ret = DAT_SUCCESS;

        pthread_mutex_lock(&object->ia->lock);
        if (object->users)
                ret = when_used;
        else if (!object_kill(object))
                ret = REF_ERROR(DAT_INVALID_HANDLE, 0);
        pthread_mutex_unlock(&object->ia->lock);
        if (ret == DAT_SUCCESS)
                object_await_last(object, 1);
        else
                object_put(object);
        return ret;
}

static struct handle *pin_any(DAT_HANDLE dat_handle)
{
        struct handle *handle = dat_handle;

        return handle_is_record(dat_handle) && handle_pin(handle, HANDLE_LIVE, HANDLE_LIVE) ? handle
                                                                                            : NULL;
}

/* dat_set_consumer_context(3DAT), for objects of every kind. */
DAT_RETURN ref_set_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT context)
{
        struct handle *handle = pin_any(dat_handle);

        if (!handle)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
        handle->context = context;
        object_put(handle->object);
        return DAT_SUCCESS;
}

/* dat_get_consumer_context(3DAT), for objects of every kind. */
DAT_RETURN ref_get_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT *context)
{
        struct handle *handle = pin_any(dat_handle);

        if (!handle)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
        if (context)
                *context = handle->context;
        object_put(handle->object);
        return context ? DAT_SUCCESS : REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
}

/* dat_get_handle_type(3DAT), for objects of every kind. */
DAT_RETURN ref_get_handle_type(DAT_HANDLE dat_handle, DAT_HANDLE_TYPE *type)
{
        struct handle *handle = pin_any(dat_handle);
        uint32_t life;

        if (!handle)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
        life = atomic_load(&handle->life);
        object_put(handle->object);
        if (!type)
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        *type = (DAT_HANDLE_TYPE)((life & ~HANDLE_LIVE) >> HANDLE_KIND_SHIFT);
        return DAT_SUCCESS;
}
