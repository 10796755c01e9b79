/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_post_rdma_read: data, completions, and refused calls. */
#include "clauses/ep_post_rdma_read.h"
#include "case/standard.h"
#include "case/test.h"
#include "cases/ep/shared/rdma.h"

#define LONG  ((size_t)100000) /* bytes of a read */
#define READS 8

#define LATE_MS 40 /* of what the peer sends, in a disturbed network */

/* The cases of both RDMA pages, by this page's call. */
#define RDMA_CASE(name_, body_)        \
        CASE(ep_post_rdma_read, name_) \
        {                              \
                body_(t, &rdma_read);  \
        }
#define RDMA_FAMILY(name_, rows_, body_)        \
        FAMILY(ep_post_rdma_read, name_, rows_) \
        {                                       \
                body_(t, &rdma_read, row);      \
        }
#include "cases/ep/shared/rdma_cases.h"

/*
 * Bytes
 */

FAMILY(ep_post_rdma_read, fills_in_order, rests)
{
        rdma_leaves_rest(t, &rdma_read, row);
}

/*
 * Depth
 */

/* Reads that an EP is made to have under way. */
static const struct depth {
        const char *id;
        DAT_COUNT reads; /* 0: the most that the IA lets an EP have, both ways */
} depths[] = {
    {"one", 1},
    {"two", 2},
    {"most", 0},
};

static DAT_COUNT most_reads(struct test *t)
{
        DAT_COUNT in = ia_attr(t)->max_rdma_read_per_ep_in;
        DAT_COUNT out = ia_attr(t)->max_rdma_read_per_ep_out;

        return in < out ? in : out;
}

/* So many reads at once, of the same bytes to the same place. */
static void expect_reads(struct test *t, const struct rdma *rdma, DAT_COUNT count)
{
        for (DAT_COUNT i = 0; i < count; i++)
                expect(rdma_post_whole(t, rdma, (uint64_t)i, DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        for (DAT_COUNT i = 0; i < count; i++)
                expect_rdma(t, rdma, (uint64_t)i, rdma->local.length);
}

FAMILY(ep_post_rdma_read, reads_out, depths)
{
        DAT_COUNT reads = row->reads ? row->reads : most_reads(t);
        DAT_COUNT most = ia_attr(t)->max_dto_per_ep;
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = reads + 1);
        struct rdma rdma = rdma_with(t, &rdma_read, .length = LONG, .reads = reads,
                                     .dtos = reads < most ? reads : most, .request_evd = evd);

        expect_reads(t, &rdma, reads < most ? reads : most);
}

/* The EP holds back what is too much for now, or says so. */
CASE(ep_post_rdma_read, more_than_reads_out)
{
        struct rdma rdma = rdma_with(t, &rdma_read, .length = LONG, .reads = 1);
        DAT_COUNT taken = 0;

        for (uint64_t i = 0; i < READS; i++) {
                DAT_RETURN ret = rdma_post_whole(t, &rdma, i, DAT_COMPLETION_DEFAULT_FLAG);

                if (i == 0)
                        expect(ret, DAT_SUCCESS);
                else
                        expect(ret, DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
                if (!dat_is(ret, DAT_SUCCESS))
                        break;
                taken++;
        }
        for (DAT_COUNT i = 0; i < taken; i++)
                expect_rdma(t, &rdma, (uint64_t)i, LONG);
        expect_rdma_goes_on(t, &rdma);
}

/*
 * Flags
 */

/*
 * While the first read is late, another connection overwrites what the fenced read is to bring.
 * That write is acknowledged as late as the read is, so the time of its completion tells whether it
 * came before the fenced read could begin.
 */
CASE(ep_post_rdma_read, fence_behind_late_read)
{
        DAT_EP_ATTR attr = rdma_attr(t, &rdma_read, (struct rdma_opts){.reads = 2});
        struct rdma rdma = {.kind = &rdma_read, .ep = ep_with(t, .attr = &attr)};
        struct rdma other = {.kind = &rdma_write, .ep = ep_with(t, .attr = &attr)};
        struct peer_ep *end = must_connect(rdma.ep);
        DAT_RMR_TRIPLET from = rdma_remote_of(peer_expose(end, MESSAGE));
        DAT_RMR_TRIPLET fenced_from = rdma_remote_of(peer_expose(end, MESSAGE));
        struct vector first = vector_with(t, .length = MESSAGE);
        struct vector fenced = vector_with(t, .length = MESSAGE);
        struct vector written = vector_with(t, .length = MESSAGE);
        uint64_t read_ns;
        bool in_time;

        must_connect(other.ep);
        rdma.evd = ep_request_evd(t, rdma.ep);
        other.evd = ep_request_evd(t, other.ep);
        vector_fill(t, &written, RDMA_MESSAGE);
        peer_disturb(peer(t), .delay_ms = LATE_MS);

        must(rdma_post(t, &rdma, &first, from, 1, DAT_COMPLETION_DEFAULT_FLAG));
        expect(rdma_post(t, &rdma, &fenced, fenced_from, 2, FENCE), DAT_SUCCESS);
        must(rdma_post(t, &other, &written, fenced_from, 3, DAT_COMPLETION_DEFAULT_FLAG));
        must_complete(rdma.evd, .ep = rdma.ep, .cookie = 1, .length = MESSAGE);
        read_ns = now_ns();
        must_complete(other.evd, .ep = other.ep, .cookie = 3, .length = MESSAGE);
        in_time = now_ns() < read_ns + LATE_MS * NS_PER_MS;
        expect_completion(rdma.evd, .ep = rdma.ep, .cookie = 2, .length = MESSAGE);
        if (in_time)
                expect_holds(&fenced, RDMA_MESSAGE, MESSAGE);
        else
                note(t, "the write came too late to tell when the fenced read began");
}

/*
 * Lengths and numbers
 */

CASE(ep_post_rdma_read, too_short_by_far)
{
        rdma_too_short_by_far(t, &rdma_read);
}

LEGAL(ep_post_rdma_read)
{
        rdma_legal(t, &rdma_read, &call->ep_handle, &call->local_iov, &call->remote_iov);
        call->num_segments = 1;
        call->user_cookie = COOKIE(1);
        call->completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
}
