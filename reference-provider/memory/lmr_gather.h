/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the segments of a posted operation to the scatter list of verbs. The check of a segment is
 * inline, because each post runs it with a privilege that is constant at compile time.
 */
#ifndef DAPLREF_LMR_GATHER_H
#define DAPLREF_LMR_GATHER_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/daplref.h"
#include "base/ia.h"
#include "memory/lmr.h"

DAT_RETURN lmr_gather_any(const struct ia *ia, const struct pz *pz, DAT_MEM_PRIV_FLAGS need,
                          const DAT_LMR_TRIPLET *iov, DAT_COUNT segments, struct ibv_sge *sge,
                          int *num_sge, DAT_VLEN *total);

/* Returns the slot that an LMR with this context has or had. */
static inline const struct lmr_slot *lmr_slot_of(const struct lmr_table *table,
                                                 DAT_LMR_CONTEXT context)
{
        return &table->slots[context & LMR_SLOT_MASK];
}

static inline bool lmr_slot_has(const struct lmr_slot *slot, DAT_LMR_CONTEXT context)
{
        return context && atomic_load_explicit(&slot->context, memory_order_acquire) == context;
}

static inline DAT_RETURN lmr_privilege_error(DAT_MEM_PRIV_FLAGS need)
{
        return REF_ERROR(DAT_PRIVILEGES_VIOLATION, need == DAT_MEM_PRIV_LOCAL_WRITE_FLAG
                                                       ? DAT_PRIVILEGES_WRITE
                                                       : DAT_PRIVILEGES_READ);
}

/*
 * Checks a segment that is not empty, and writes its entry of the scatter list. The LMR must be
 * live, in the zone `pz` (any if NULL), have the privilege `need` and contain the segment. Verbs
 * reports such errors late or never. A segment longer than any message is shortened.
 */
static inline __attribute__((always_inline)) DAT_RETURN
lmr_check_segment(const struct ia *ia, const struct pz *pz, DAT_MEM_PRIV_FLAGS need,
                  const DAT_LMR_TRIPLET *triplet, struct ibv_sge *sge)
{
        const struct lmr_slot *slot = lmr_slot_of(&ia->lmrs, triplet->lmr_context);
        uint64_t end;

        if (!lmr_slot_has(slot, triplet->lmr_context))
                return lmr_privilege_error(need);
        if (slot->pz != pz && pz)
                return REF_ERROR(DAT_PROTECTION_VIOLATION, need == DAT_MEM_PRIV_LOCAL_WRITE_FLAG
                                                               ? DAT_PROTECTION_WRITE
                                                               : DAT_PROTECTION_READ);
        if ((slot->privileges & need) != need)
                return lmr_privilege_error(need);
        /* An address below the LMR becomes an offset above its length. */
        if (__builtin_add_overflow(triplet->virtual_address - slot->start, triplet->segment_length,
                                   &end) ||
            end > slot->length)
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        sge->addr = triplet->virtual_address;
        sge->length =
            triplet->segment_length < UINT32_MAX ? (uint32_t)triplet->segment_length : UINT32_MAX;
        sge->lkey = slot->lkey;
        return DAT_SUCCESS;
}

/*
 * Turns an I/O vector into a scatter list of at most REF_MAX_IOV entries, without empty segments.
 * *total has the length before any segment is shortened.
 */
static inline __attribute__((always_inline)) DAT_RETURN
lmr_gather(const struct ia *ia, const struct pz *pz, DAT_MEM_PRIV_FLAGS need,
           const DAT_LMR_TRIPLET *iov, DAT_COUNT segments, struct ibv_sge *sge, int *num_sge,
           DAT_VLEN *total)
{
        if (segments != 1 || !iov->segment_length) {
                /* In memory, so that the caller's variables may stay in registers. */
                DAT_VLEN sum;
                int used;
                DAT_RETURN ret = lmr_gather_any(ia, pz, need, iov, segments, sge, &used, &sum);

                *num_sge = used;
                *total = sum;
                return ret;
        }
        *num_sge = 1;
        *total = iov->segment_length;
        return lmr_check_segment(ia, pz, need, iov, sge);
}

/* Shortens a scatter list to `length` bytes. Returns the number of entries left. */
static inline int lmr_trim(struct ibv_sge *sge, int num_sge, DAT_VLEN length)
{
        int used = 0;

        while (used < num_sge && length) {
                if (sge[used].length > length)
                        sge[used].length = (uint32_t)length;
                length -= sge[used++].length;
        }
        return used;
}

/*
 * Limits a receive to the largest message, because soft-RoCE treats 2 GiB and more in a receive as
 * too little.
 */
static inline void lmr_limit(const struct ia *ia, struct ibv_sge *sge)
{
        if (sge->length > ia->port_attr.max_msg_sz)
                sge->length = ia->port_attr.max_msg_sz;
}

/* lmr_gather() for a receive, limited to the largest message. */
static inline DAT_RETURN lmr_gather_recv(const struct ia *ia, const struct pz *pz,
                                         const DAT_LMR_TRIPLET *iov, DAT_COUNT segments,
                                         struct ibv_sge *sge, int *num_sge)
{
        DAT_VLEN room;
        DAT_RETURN ret =
            lmr_gather(ia, pz, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, iov, segments, sge, num_sge, &room);

        if (ret == DAT_SUCCESS && room > ia->port_attr.max_msg_sz)
                *num_sge = lmr_trim(sge, *num_sge, ia->port_attr.max_msg_sz);
        return ret;
}

#endif
