/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_lmr_sync_rdma_write: what RDMA writes of the other end brought is what the owner of memory
 * sees. */
#include "clauses/lmr_sync_rdma_write.h"
#include "case/standard.h"
#include "cases/lmr/shared/sync.h"

#include <string.h>

#define LENGTH ((size_t)1000) /* bytes that an RDMA writes */

/*
 * What is synchronized
 */

FAMILY(lmr_sync_rdma_write, place, rdma_places)
{
        sync_place(t, &sync_write, row);
}

FAMILY(lmr_sync_rdma_write, batch, sync_batches)
{
        sync_batch(t, &sync_write, row);
}

FAMILY(lmr_sync_rdma_write, of_type, types)
{
        sync_of_type(t, &sync_write, row);
}

FAMILY(lmr_sync_rdma_write, privileges, sync_privileges)
{
        sync_privileged(t, &sync_write, row);
}

FAMILY(lmr_sync_rdma_write, nothing, sync_nothings)
{
        sync_of_nothing(t, &sync_write, row);
}

CASE(lmr_sync_rdma_write, array_read_only)
{
        sync_array_read_only(t, &sync_write);
}

/*
 * Effects
 */

FAMILY(lmr_sync_rdma_write, effect, sync_ranges)
{
        sync_effect(t, &sync_write, row);
}

CASE(lmr_sync_rdma_write, effect_by_rmr)
{
        sync_effect_by_rmr(t, &sync_write);
}

/* The owner of the memory is another process than the one that writes it. */
CASE(lmr_sync_rdma_write, of_peer)
{
        DAT_EP_ATTR attr = rdma_attr(t, &rdma_write, (struct rdma_opts){.dtos = 0});
        struct vector room = vector_with(t, .length = MESSAGE);
        struct vector target = vector_with(t, .length = LENGTH);
        DAT_EP_HANDLE ep = ep_with(t, .attr = &attr);
        struct peer_ep *end = must_connect(ep);

        for (uint64_t i = 0; i < 4; i++) {
                must(recv_vector(ep, &room, i, DAT_COMPLETION_DEFAULT_FLAG));
                peer_write(end, target.buf->rmr_context, target.iov[0].virtual_address, LENGTH, i);
                peer_send(end, .length = MESSAGE, .first = i);
                must_complete(ep_recv_evd(t, ep), .ep = ep, .cookie = i, .length = MESSAGE);
                expect(dat_lmr_sync_rdma_write(ia(t), target.iov, 1), DAT_SUCCESS);
                expect_holds(&target, i, LENGTH);
        }
}

static void expect_bytes(struct test *t, const unsigned char *at, size_t length, size_t from,
                         int value)
{
        for (size_t byte = from; byte < length; byte++)
                expect_that(at[byte] == value, "byte %zu is not what was written last", byte);
}

/*
 * The owner writes, too: all before an RDMA write of the front half, and part of the back half
 * after it. Each is kept where nothing else was written; the next round is what comes over the RDMA
 * write.
 */
CASE(lmr_sync_rdma_write, with_local_writes)
{
        struct rdma rdma = rdma_with(t, &rdma_write, .length = LENGTH / 2, .remote_length = LENGTH);
        unsigned char *at = vector_at(&rdma.remote);

        for (int i = 0; i < 4; i++) {
                vector_fill(t, &rdma.local, (uint64_t)i);
                memset(at, 0x11 + i, LENGTH);
                expect(dat_lmr_sync_rdma_write(ia(t), rdma.remote.iov, 1), DAT_SUCCESS);
                expect_bytes(t, at, LENGTH, 0, 0x11 + i);
                /* The look may have undone the first one. */
                expect(dat_lmr_sync_rdma_write(ia(t), rdma.remote.iov, 1), DAT_SUCCESS);
                must(rdma_post_whole(t, &rdma, (uint64_t)i, DAT_COMPLETION_DEFAULT_FLAG));
                must_complete(rdma.evd, .ep = rdma.ep, .cookie = (uint64_t)i, .length = LENGTH / 2);
                expect(dat_lmr_sync_rdma_write(ia(t), rdma.remote.iov, 1), DAT_SUCCESS);
                memset(at + LENGTH / 2, 0x51 + i, LENGTH / 4);

                expect_that(message_holds(at, LENGTH / 2, (uint64_t)i),
                            "the front half is not what the RDMA brought");
                expect_bytes(t, at, 3 * LENGTH / 4, LENGTH / 2, 0x51 + i);
                expect_bytes(t, at, LENGTH, 3 * LENGTH / 4, 0x11 + i);
                expect_kept_around(&rdma.remote);
        }
}

CASE(lmr_sync_rdma_write, not_needed)
{
        sync_not_needed(t, &sync_write);
}

CASE(lmr_sync_rdma_write, amid_traffic)
{
        sync_amid_traffic(t, &sync_write);
}

/*
 * What is no segment
 */

FAMILY(lmr_sync_rdma_write, refused, sync_wrongs)
{
        sync_refused(t, &sync_write, row);
}

LEGAL(lmr_sync_rdma_write)
{
        sync_legal(t, &call->ia_handle, &call->local_segments, &call->num_segments);
}
