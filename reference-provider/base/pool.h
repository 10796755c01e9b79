/* SPDX-License-Identifier: BSD-2-Clause */
/* The records of posted operations, in posting order. */
#ifndef DAPLREF_POOL_H
#define DAPLREF_POOL_H

#include <assert.h>
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/dat_abi.h"
#include "base/ia.h"
#include "base/list.h"
#include "base/lock.h"

struct ep;
struct srq;

/* Whether verbs has the operation and may complete it in any thread. */
enum wr_posting {
        WR_NOT_POSTED,
        WR_POSTED,
        WR_POSTED_PLAIN, /* posted, and a success makes one event and has no other effect */
};

struct wr {
        struct link link; /* in pool->pending while posted, else to the next free record */
        struct wr_pool *pool;
        enum wr_kind kind;
        _Atomic uint8_t posting; /* enum wr_posting */
        bool held;               /* a receive kept in software until the EP has a queue pair */
        bool done;               /* completed with `status`, but its predecessors have not */
        DAT_DTO_COMPLETION_STATUS status;
        DAT_COMPLETION_FLAGS flags;
        DAT_CONTEXT cookie;
        DAT_VLEN length; /* of a request */
        DAT_RMR_HANDLE rmr;
        int num_sge;
        struct ibv_sge *sge; /* of a receive, which may be held */
};

/* The value that verbs carries for each operation: the address of its record. */
union wr_id {
        uint64_t number;
        struct wr *wr;
};

struct wr_slab;

struct wr_pool {
        struct lock lock;
        struct link *free; /* the record that was freed first, of one more than may be in use */
        struct link *last_free;
        struct link pending;
        struct wr_slab *slabs;
        int capacity;
        enum wr_posting plain; /* the posting of a record whose success is not suppressed */
        _Atomic int in_use;
        int done;      /* pending records that are done; under the lock of their EVD */
        struct ep *ep; /* one of these two owns the pool; the other is NULL */
        struct srq *srq;
        bool keeps_sge;
};

void pool_init(struct wr_pool *pool, struct ep *ep, struct srq *srq, bool keeps_sge,
               enum wr_posting plain);
bool pool_grow(struct wr_pool *pool, int capacity);
void pool_destroy(struct wr_pool *pool);

/*
 * Takes a record and appends it to the posting order. Returns NULL if `limit` records are in use;
 * limit is at most the pool's capacity.
 */
static inline struct wr *pool_take(struct wr_pool *pool, int limit)
{
        struct wr *wr = NULL;

        lock_acquire(&pool->lock);
        if (atomic_load(&pool->in_use) < limit) {
                wr = container_of(pool->free, struct wr, link);
                assert(pool->free != pool->last_free && !wr->held && !wr->done);
                pool->free = wr->link.next;
                list_append(&pool->pending, &wr->link);
                atomic_fetch_add(&pool->in_use, 1);
        }
        lock_release(&pool->lock);
        return wr;
}

static inline void pool_give(struct wr *wr)
{
        struct wr_pool *pool = wr->pool;

        lock_acquire(&pool->lock);
        atomic_store_explicit(&wr->posting, WR_NOT_POSTED, memory_order_relaxed);
        list_unlink(&wr->link);
        pool->last_free->next = &wr->link;
        pool->last_free = &wr->link;
        atomic_fetch_sub(&pool->in_use, 1);
        lock_release(&pool->lock);
}

/*
 * Fills the verbs receive. An iWARP device need not accept one without a segment, so an empty one
 * gets a segment of length 0.
 */
static inline void wr_as_recv(struct wr *wr, const struct ia *ia, struct ibv_recv_wr *recv)
{
        bool empty = !wr->num_sge && ia->iwarp;

        if (empty)
                wr->sge[0] = (struct ibv_sge){0};
        recv->wr_id = ((union wr_id){.wr = wr}).number;
        recv->next = NULL;
        recv->sg_list = wr->sge;
        recv->num_sge = empty ? 1 : wr->num_sge;
}

/*
 * Publishes the record to the thread that will see the completion. The device is between them, and
 * C's memory model has no order through a device.
 */
static inline void wr_publish(struct wr *wr, enum wr_posting posting)
{
        atomic_store_explicit(&wr->posting, (uint8_t)posting, memory_order_release);
}

/* Whether all operations posted before it have completed. Under the lock of their EVD. */
static inline bool wr_is_first(const struct wr *wr)
{
        return wr->link.prev == &wr->pool->pending;
}

/* False for a completion that arrives after its queue pair was destroyed. */
static inline bool wr_is_published(const struct wr *wr)
{
        return atomic_load_explicit(&wr->posting, memory_order_acquire) != WR_NOT_POSTED;
}

/* Whether the record was posted as WR_POSTED_PLAIN. */
static inline bool wr_is_plain(const struct wr *wr)
{
        return atomic_load_explicit(&wr->posting, memory_order_acquire) == WR_POSTED_PLAIN;
}

#endif
