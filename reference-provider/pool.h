/* SPDX-License-Identifier: BSD-2-Clause */
/* The records of posted operations, in the order of posting. */
#ifndef DAPLREF_POOL_H
#define DAPLREF_POOL_H

#include <assert.h>
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dat_abi.h"
#include "ia.h"
#include "list.h"
#include "lock.h"

struct ep;
struct srq;

struct wr {
        struct link link; /* in pool->pending while posted, in pool->free otherwise */
        struct wr_pool *pool;
        enum wr_kind kind;
        _Atomic bool posted; /* with verbs, which may complete it in any thread */
        bool held;           /* a receive that waits in software for its queue pair */
        bool done;           /* complete, by `status`, and waits for its predecessors */
        DAT_DTO_COMPLETION_STATUS status;
        DAT_COMPLETION_FLAGS flags;
        DAT_CONTEXT cookie;
        DAT_VLEN length; /* of a request */
        DAT_RMR_HANDLE rmr;
        int num_sge;
        struct ibv_sge *sge; /* of a receive: it may be held, and fail when its memory is gone */
};

/* What verbs carries for us with each operation: the address of its record. */
union wr_id {
        uint64_t number;
        struct wr *wr;
};

struct wr_slab;

struct wr_pool {
        struct lock lock;
        struct link free;
        struct link pending;
        struct wr_slab *slabs;
        int capacity;
        _Atomic int in_use;
        int done;      /* of the pending, under the lock of their EVD */
        struct ep *ep; /* one of these two owns the pool */
        struct srq *srq;
        bool keeps_sge;
};

void pool_init(struct wr_pool *pool, struct ep *ep, struct srq *srq, bool keeps_sge);
bool pool_grow(struct wr_pool *pool, int capacity);
void pool_destroy(struct wr_pool *pool);

/*
 * Returns a record, last in the order of posting, or NULL when `limit` of them are in use: no more
 * than the pool has.
 */
static inline struct wr *pool_take(struct wr_pool *pool, int limit)
{
        struct wr *wr = NULL;

        lock_acquire(&pool->lock);
        if (atomic_load(&pool->in_use) < limit) {
                assert(!list_empty(&pool->free));
                wr = container_of(pool->free.next, struct wr, link);
                list_move(&pool->pending, &wr->link);
                wr->held = false;
                wr->done = false;
                atomic_fetch_add(&pool->in_use, 1);
        }
        lock_release(&pool->lock);
        return wr;
}

static inline void pool_give(struct wr *wr)
{
        struct wr_pool *pool = wr->pool;

        lock_acquire(&pool->lock);
        atomic_store_explicit(&wr->posted, false, memory_order_relaxed);
        list_move(&pool->free, &wr->link);
        atomic_fetch_sub(&pool->in_use, 1);
        lock_release(&pool->lock);
}

/* What verbs is asked for a receive. iWARP's devices need not take one without a segment. */
static inline struct ibv_recv_wr wr_as_recv(struct wr *wr, const struct ia *ia)
{
        bool empty = !wr->num_sge && ia->iwarp;

        if (empty)
                wr->sge[0] = (struct ibv_sge){0};
        return (struct ibv_recv_wr){
            .wr_id = ((union wr_id){.wr = wr}).number,
            .sg_list = wr->sge,
            .num_sge = empty ? 1 : wr->num_sge,
        };
}

/*
 * Makes what the record says visible to the thread that will see its completion. The way there
 * leads through the device, which orders nothing as far as the language is concerned.
 */
static inline void wr_publish(struct wr *wr)
{
        atomic_store_explicit(&wr->posted, true, memory_order_release);
}

/* Is nothing pending that was posted before it? Under the lock of their EVD. */
static inline bool wr_is_first(const struct wr *wr)
{
        return wr->link.prev == &wr->pool->pending;
}

/* False for a completion that came after its queue pair was taken down. */
static inline bool wr_is_published(const struct wr *wr)
{
        return atomic_load_explicit(&wr->posted, memory_order_acquire);
}

#endif
