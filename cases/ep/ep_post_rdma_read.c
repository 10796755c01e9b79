/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_post_rdma_read: data, completions, and refused calls. */
#include "clauses/ep_post_rdma_read.h"
#include "case/standard.h"
#include "case/test.h"
#include "cases/ep/shared/rdma.h"

#define LONG  ((size_t)100000) /* bytes of a read */
#define READS 8

#define LATE_MS    25 /* of what the peer sends, in a disturbed network */
#define LATE_READS 4

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
 * While the first read is late, another connection overwrites what the fenced read is to bring. The
 * read is complete LATE_MS after its post at the earliest, and the write is acknowledged LATE_MS
 * after it came. So its completion tells whether it came before the fenced read could begin.
 */
struct late {
        struct rdma rdma, other;
        DAT_RMR_TRIPLET from, fenced_from;
        struct vector first, fenced, written;
};

/* False if the write came too late to tell. */
static bool read_behind_late_read(struct test *t, struct late *late, uint64_t message)
{
        struct rdma *rdma = &late->rdma;
        struct rdma *other = &late->other;
        uint64_t begun_ns = now_ns();
        bool in_time;

        vector_fill(t, &late->written, message);
        must(rdma_post(t, rdma, &late->first, late->from, 1, DAT_COMPLETION_DEFAULT_FLAG));
        expect(rdma_post(t, rdma, &late->fenced, late->fenced_from, 2, FENCE), DAT_SUCCESS);
        must(
            rdma_post(t, other, &late->written, late->fenced_from, 3, DAT_COMPLETION_DEFAULT_FLAG));
        must_complete(other->evd, .ep = other->ep, .cookie = 3, .length = MESSAGE);
        in_time = now_ns() < begun_ns + UINT64_C(2) * LATE_MS * NS_PER_MS;
        must_complete(rdma->evd, .ep = rdma->ep, .cookie = 1, .length = MESSAGE);
        expect_completion(rdma->evd, .ep = rdma->ep, .cookie = 2, .length = MESSAGE);
        if (in_time)
                expect_holds(&late->fenced, message, MESSAGE);
        return in_time;
}

/* A transport that repeats a read which is not fenced brings other bytes the second time. */
CASE(ep_post_rdma_read, fence_behind_late_read)
{
        DAT_EP_ATTR attr = rdma_attr(t, &rdma_read, (struct rdma_opts){.reads = 2});
        struct late late = {.rdma = {.kind = &rdma_read, .ep = ep_with(t, .attr = &attr)},
                            .other = {.kind = &rdma_write, .ep = ep_with(t, .attr = &attr)}};
        struct peer_ep *end = must_connect(late.rdma.ep);
        int in_time = 0;

        late.from = rdma_remote_of(peer_expose(end, MESSAGE));
        late.fenced_from = rdma_remote_of(peer_expose(end, MESSAGE));
        late.first = vector_with(t, .length = MESSAGE);
        late.fenced = vector_with(t, .length = MESSAGE);
        late.written = vector_with(t, .length = MESSAGE);
        must_connect(late.other.ep);
        late.rdma.evd = ep_request_evd(t, late.rdma.ep);
        late.other.evd = ep_request_evd(t, late.other.ep);
        peer_disturb(peer(t), .delay_ms = LATE_MS);
        for (uint64_t i = 0; i < LATE_READS; i++)
                in_time += read_behind_late_read(t, &late, RDMA_MESSAGE + i);
        if (!in_time)
                note(t, "no write was early enough to tell when a fenced read began");
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
