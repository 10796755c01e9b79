/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_post_rdma_write: data, completions, and refused calls. */
#include "clauses/ep_post_rdma_write.h"
#include "case/standard.h"
#include "cases/ep/shared/rdma.h"

#define FENCED  ((size_t)256 * 1024)
#define LATE_MS 40 /* of what the peer sends, in a disturbed network */

/* The cases of both RDMA pages, by this page's call. */
#define RDMA_CASE(name_, body_)         \
        CASE(ep_post_rdma_write, name_) \
        {                               \
                body_(t, &rdma_write);  \
        }
#define RDMA_FAMILY(name_, rows_, body_)         \
        FAMILY(ep_post_rdma_write, name_, rows_) \
        {                                        \
                body_(t, &rdma_write, row);      \
        }
#include "cases/ep/shared/rdma_cases.h"

/*
 * Bytes
 */

FAMILY(ep_post_rdma_write, leaves_rest, rests)
{
        rdma_leaves_rest(t, &rdma_write, row);
}

/* A gather may name the same bytes twice. */
CASE(ep_post_rdma_write, same_bytes_twice)
{
        struct rdma rdma = rdma_with(t, &rdma_write, .segments = 2, .remote_length = 2 * MESSAGE);
        struct vector message = vector_with(t, .length = MESSAGE);
        struct vector twice = {.count = 2, .length = 2 * MESSAGE};

        vector_fill(t, &message, RDMA_MESSAGE);
        twice.iov = rdma_iov(t, message.iov, 2);
        twice.iov[1] = twice.iov[0];
        expect(rdma_post(t, &rdma, &twice, vector_remote(&rdma.remote), 1,
                         DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_completion(rdma.evd, .ep = rdma.ep, .cookie = 1, .length = 2 * MESSAGE);
        for (size_t i = 0; i < 2; i++)
                expect_that(
                    message_holds(vector_at(&rdma.remote) + i * MESSAGE, MESSAGE, RDMA_MESSAGE),
                    "the bytes are not there for the %s time", i ? "second" : "first");
        expect_kept_around(&rdma.remote);
}

/*
 * Flags
 */

/*
 * The read and the write wait for a receive of the message before them. They start at once, so that
 * a write that does not wait for the read has other bytes.
 */
CASE(ep_post_rdma_write, fence_behind_held_read)
{
        struct rdma rdma = rdma_with(t, &rdma_write, .length = FENCED, .reads = 1);
        struct vector away = vector_with(t, .length = FENCED);
        struct vector message = vector_with(t, .length = MESSAGE);
        struct vector room = vector_with(t, .length = MESSAGE);
        DAT_RMR_TRIPLET from = vector_remote(&away);

        rdma.local = vector_with(t, .length = FENCED);
        vector_fill(t, &away, RDMA_MESSAGE);
        if (!held_up(t, &rdma.loop, &message, 0))
                return;
        must(dat_ep_post_rdma_read(rdma.ep, 1, rdma_iov(t, rdma.local.iov, 1), COOKIE(1), &from,
                                   DAT_COMPLETION_DEFAULT_FLAG));
        expect(rdma_post_whole(t, &rdma, 2, FENCE), DAT_SUCCESS);
        must(recv_vector(rdma.loop.passive, &room, 0, DAT_COMPLETION_DEFAULT_FLAG));

        must_complete(rdma.evd, .ep = rdma.ep, .cookie = 0, .length = MESSAGE);
        must_complete(rdma.evd, .ep = rdma.ep, .cookie = 1, .length = FENCED);
        expect_rdma(t, &rdma, 2, FENCED);
}

/* What the read brings comes so late that a write which does not wait for it has other bytes. */
CASE(ep_post_rdma_write, fence_behind_late_read)
{
        DAT_EP_ATTR attr = rdma_attr(t, &rdma_read, (struct rdma_opts){.dtos = 0});
        struct rdma rdma = {.kind = &rdma_write, .ep = ep_with(t, .attr = &attr)};
        struct peer_ep *end = must_connect(rdma.ep);
        struct peer_memory from = peer_expose(end, MESSAGE);
        struct peer_memory to = peer_expose(end, MESSAGE);
        DAT_RMR_TRIPLET remote = rdma_remote_of(from);
        struct vector first = vector_with(t, .length = MESSAGE);

        rdma.evd = ep_request_evd(t, rdma.ep);
        rdma.local = vector_with(t, .length = MESSAGE);
        vector_fill(t, &first, RDMA_MESSAGE);
        expect(rdma_post(t, &rdma, &first, remote, 0, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_completion(rdma.evd, .ep = rdma.ep, .cookie = 0, .length = MESSAGE);
        peer_disturb(peer(t), .delay_ms = LATE_MS);

        must(dat_ep_post_rdma_read(rdma.ep, 1, rdma_iov(t, rdma.local.iov, 1), COOKIE(1), &remote,
                                   DAT_COMPLETION_DEFAULT_FLAG));
        expect(rdma_post(t, &rdma, &rdma.local, rdma_remote_of(to), 2, FENCE), DAT_SUCCESS);
        must_complete(rdma.evd, .ep = rdma.ep, .cookie = 1, .length = MESSAGE);
        expect_completion(rdma.evd, .ep = rdma.ep, .cookie = 2, .length = MESSAGE);
        expect_that(rdma_peer_has(t, end, to, MESSAGE),
                    "the write did not wait for what the read was to bring");
}

LEGAL(ep_post_rdma_write)
{
        rdma_legal(t, &rdma_write, &call->ep_handle, &call->local_iov, &call->remote_iov);
        call->num_segments = 1;
        call->user_cookie = COOKIE(1);
        call->completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
}
