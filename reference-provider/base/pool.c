/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/pool.h"
#include "base/daplref.h"
#include "base/list.h"
#include "base/lock.h"

#include <stdlib.h>
#include <string.h>

/* Records never move, because verbs carries their addresses. So a pool grows by whole slabs. */
struct wr_slab {
        struct wr_slab *next;
        struct ibv_sge *sges;
        struct wr wrs[];
};

/*
 * Makes an empty pool of the EP or of the SRQ; the other pointer is NULL. With `keeps_sge` each
 * record has room for a scatter list, which receives need. `plain` is WR_POSTED_PLAIN if a success
 * makes an event and nothing else, and WR_POSTED if not.
 */
void pool_init(struct wr_pool *pool, struct ep *ep, struct srq *srq, bool keeps_sge,
               enum wr_posting plain)
{
        memset(pool, 0, sizeof(*pool));
        list_init(&pool->pending);
        pool->ep = ep;
        pool->srq = srq;
        pool->keeps_sge = keeps_sge;
        pool->plain = plain;
}

/* Grows the pool to `capacity` records. Returns false, and changes nothing, if memory is short. */
bool pool_grow(struct wr_pool *pool, int capacity)
{
        int more = capacity - pool->capacity;
        struct wr_slab *slab;

        if (more <= 0)
                return true;
        /*
         * One record more than may be in use, so that the list of free records always has a last
         * one.
         */
        more += !pool->slabs;
        slab = calloc(1, sizeof(*slab) + sizeof(struct wr) * (size_t)more);
        if (!slab)
                return false;
        if (pool->keeps_sge) {
                slab->sges = calloc((size_t)more, sizeof(struct ibv_sge) * REF_MAX_IOV);
                if (!slab->sges) {
                        free(slab);
                        return false;
                }
        }
        lock_acquire(&pool->lock);
        for (int i = 0; i < more; i++) {
                struct wr *wr = &slab->wrs[i];

                wr->pool = pool;
                if (slab->sges)
                        wr->sge = slab->sges + (size_t)i * REF_MAX_IOV;
                if (pool->free)
                        pool->last_free->next = &wr->link;
                else
                        pool->free = &wr->link;
                pool->last_free = &wr->link;
        }
        slab->next = pool->slabs;
        pool->slabs = slab;
        pool->capacity = capacity;
        lock_release(&pool->lock);
        return true;
}

void pool_destroy(struct wr_pool *pool)
{
        while (pool->slabs) {
                struct wr_slab *slab = pool->slabs;

                pool->slabs = slab->next;
                free(slab->sges);
                free(slab);
        }
}
