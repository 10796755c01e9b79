/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_lmr_sync_rdma_read: what the owner of memory wrote is what RDMA reads of the other end see.
 */
#include "clauses/lmr_sync_rdma_read.h"
#include "case/standard.h"
#include "cases/lmr/shared/sync.h"

#define LENGTH ((size_t)1000) /* bytes that the peer reads */

/*
 * What is synchronized
 */

FAMILY(lmr_sync_rdma_read, place, rdma_places)
{
        sync_place(t, &sync_read, row);
}

FAMILY(lmr_sync_rdma_read, batch, sync_batches)
{
        sync_batch(t, &sync_read, row);
}

FAMILY(lmr_sync_rdma_read, of_type, types)
{
        sync_of_type(t, &sync_read, row);
}

FAMILY(lmr_sync_rdma_read, privileges, sync_privileges)
{
        sync_privileged(t, &sync_read, row);
}

FAMILY(lmr_sync_rdma_read, nothing, sync_nothings)
{
        sync_of_nothing(t, &sync_read, row);
}

CASE(lmr_sync_rdma_read, array_read_only)
{
        sync_array_read_only(t, &sync_read);
}

/*
 * Effects
 */

FAMILY(lmr_sync_rdma_read, effect, sync_ranges)
{
        sync_effect(t, &sync_read, row);
}

CASE(lmr_sync_rdma_read, effect_by_rmr)
{
        sync_effect_by_rmr(t, &sync_read);
}

/* The owner of the memory is another process than the one that reads it. */
CASE(lmr_sync_rdma_read, seen_by_peer)
{
        DAT_EP_ATTR attr = rdma_attr(t, &rdma_read, (struct rdma_opts){.dtos = 0});
        struct buf *buf = buf_with(t, .length = LENGTH);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, LENGTH);
        DAT_VADDR address = (DAT_VADDR)(uintptr_t)buf->addr;
        struct peer_ep *end;

        peer_reads(peer(t), 1);
        end = must_connect(ep_with(t, .attr = &attr));
        for (int i = 0; i < 4; i++) {
                message_fill(buf->addr, LENGTH, (uint64_t)i % 2);
                expect(dat_lmr_sync_rdma_read(ia(t), &segment, 1), DAT_SUCCESS);
                expect_that(peer_read(end, buf->rmr_context, address, LENGTH) == (i % 2 == 0),
                            "the peer does not read what was written before");
        }
}

CASE(lmr_sync_rdma_read, not_needed)
{
        sync_not_needed(t, &sync_read);
}

CASE(lmr_sync_rdma_read, amid_traffic)
{
        sync_amid_traffic(t, &sync_read);
}

/*
 * What is no segment
 */

FAMILY(lmr_sync_rdma_read, refused, sync_wrongs)
{
        sync_refused(t, &sync_read, row);
}

LEGAL(lmr_sync_rdma_read)
{
        sync_legal(t, &call->ia_handle, &call->local_segments, &call->num_segments);
}
