/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ep/shared/rdma_impl.h"

#include <string.h>

#define SEGMENTS 4
#define MOST     8192 /* segments that a case can give */

/*
 * Bytes
 */

static size_t row_length(struct test *t, const struct rdma_kind *kind, const struct length_row *row)
{
        return length_of(t, row, rdma_attr(t, kind, (struct rdma_opts){.dtos = 0}).max_rdma_size);
}

/* One of no bytes may be refused (DTO-40). */
static DAT_RETURN expect_posted(struct test *t, const struct rdma *rdma, size_t length)
{
        DAT_RETURN ret = rdma_post_whole(t, rdma, 1, DAT_COMPLETION_DEFAULT_FLAG);

        return length ? expect(ret, DAT_SUCCESS) : expect_may(ret, DAT_SUCCESS);
}

void rdma_moves(struct test *t, const struct rdma_kind *kind, const struct length_row *row)
{
        size_t length = row_length(t, kind, row);
        struct rdma rdma = rdma_with(t, kind, .length = length, .empty = !length);

        if (!dat_is(expect_posted(t, &rdma, length), DAT_SUCCESS))
                return;
        expect_rdma(t, &rdma, 1, length);
}

#define LOOKS 100 /* at the peer's memory; each lasts settle_briefly(), and an answer */

bool rdma_peer_has(struct test *t, struct peer_ep *end, struct peer_memory memory, size_t length)
{
        for (int look = 0; look < LOOKS; look++) {
                if (peer_holds(end, memory, 0, length, RDMA_MESSAGE))
                        return true;
                settle_briefly(t);
        }
        return false;
}

/* To or from memory of the peer, which is WIRE bytes more than what is moved. */
#define WIRE 100

void rdma_over_wire(struct test *t, const struct rdma_kind *kind, const struct length_row *row)
{
        size_t length = row_length(t, kind, row);
        DAT_EP_ATTR attr = rdma_attr(t, kind, (struct rdma_opts){.dtos = 0});
        struct rdma rdma = {.kind = kind, .ep = ep_with(t, .attr = &attr)};
        struct peer_ep *end = must_connect(rdma.ep);
        struct peer_memory memory = peer_expose(end, length + WIRE);
        DAT_RMR_TRIPLET remote = {.rmr_context = memory.rmr_context,
                                  .target_address = memory.address,
                                  .segment_length = length};

        rdma.local = vector_with(t, .length = length);
        if (!kind->reads)
                vector_fill(t, &rdma.local, RDMA_MESSAGE);
        expect(rdma_post(t, &rdma, &rdma.local, remote, 9, DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_completion(ep_request_evd(t, rdma.ep), .ep = rdma.ep, .cookie = 9, .length = length);

        expect_holds(&rdma.local, kind->reads ? 0 : RDMA_MESSAGE, length);
        expect_that(kind->reads ? peer_holds(end, memory, 0, length, 0)
                                : rdma_peer_has(t, end, memory, length),
                    "the peer's memory does not hold what it is to hold");
        expect_that(peer_holds(end, memory, length, WIRE, 0),
                    "the peer's memory behind the remote buffer was written");
}

void rdma_in_segments(struct test *t, const struct rdma_kind *kind, const struct split *row)
{
        struct rdma rdma = rdma_with(t, kind, .split = row);

        expect(rdma_post_whole(t, &rdma, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_rdma(t, &rdma, 1, LENGTH);
}

void rdma_with_empty(struct test *t, const struct rdma_kind *kind, const struct split *row)
{
        struct rdma rdma = rdma_with(t, kind, .split = row);
        DAT_RETURN ret = expect_may(rdma_post_whole(t, &rdma, 1, DAT_COMPLETION_DEFAULT_FLAG),
                                    DAT_SUCCESS, DAT_INVALID_PARAMETER);

        if (dat_is(ret, DAT_SUCCESS))
                expect_rdma(t, &rdma, 1, LENGTH);
        else
                expect_rdma_refused(t, &rdma);
}

void rdma_of_several_lmrs(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind, .segments = SEGMENTS);
        struct vector all = {.count = SEGMENTS, .length = LENGTH};
        struct vector parts[SEGMENTS];
        unsigned char message[LENGTH];
        size_t each = LENGTH / SEGMENTS;

        all.iov = rdma_iov(t, rdma.local.iov, SEGMENTS);
        message_fill(message, LENGTH, RDMA_MESSAGE);
        for (size_t i = 0; i < SEGMENTS; i++) {
                parts[i] = vector_with(t, .length = each, .buf.type = mem_type_in_turn(t, i));
                all.iov[i] = parts[i].iov[0];
                if (!kind->reads)
                        memcpy(vector_at(&parts[i]), message + i * each, each);
        }
        expect(
            rdma_post(t, &rdma, &all, vector_remote(&rdma.remote), 1, DAT_COMPLETION_DEFAULT_FLAG),
            DAT_SUCCESS);
        expect_completion(rdma.evd, .ep = rdma.ep, .cookie = 1, .length = LENGTH);

        vector_await(t, &rdma.remote, RDMA_MESSAGE, LENGTH);
        expect_holds(&rdma.remote, RDMA_MESSAGE, LENGTH);
        for (size_t i = 0; i < SEGMENTS; i++) {
                expect_that(memcmp(vector_at(&parts[i]), message + i * each, each) == 0,
                            "LMR %zu does not hold its part of the message", i);
                expect_kept_around(&parts[i]);
        }
}

static DAT_COUNT segments_of_ia(struct test *t, const struct rdma_kind *kind)
{
        return kind->reads ? ia_attr(t)->max_iov_segments_per_rdma_read
                           : ia_attr(t)->max_iov_segments_per_rdma_write;
}

DAT_COUNT rdma_some_segments(struct test *t, const struct rdma_kind *kind)
{
        DAT_COUNT most = segments_of_ia(t, kind);

        return most > 0 && most < SEGMENTS ? most : SEGMENTS;
}

static DAT_COUNT most_segments(struct test *t, const struct rdma_kind *kind)
{
        DAT_COUNT most = segments_of_ia(t, kind);

        if (most < 2)
                unsupported(t, "max_iov_segments_per_rdma_read, _write: a single one");
        return most < MOST ? most : MOST;
}

void rdma_most_segments(struct test *t, const struct rdma_kind *kind)
{
        DAT_COUNT most = most_segments(t, kind);
        size_t length = (size_t)most * 5 + 3;
        struct rdma rdma = rdma_with(t, kind, .segments = most, .length = length);

        expect(rdma_post_whole(t, &rdma, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_rdma(t, &rdma, 1, length);
}

void rdma_fewer_segments(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind, .segments = SEGMENTS);
        struct vector two = rdma.local;
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);
        DAT_LMR_TRIPLET *iov = rdma_iov(t, rdma.local.iov, SEGMENTS);

        two.count = 2;
        two.length = iov[0].segment_length + iov[1].segment_length;
        remote.segment_length = two.length;
        expect(kind->post(rdma.ep, 2, iov, COOKIE(1), &remote, DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_rdma(t, &rdma, 1, two.length);
}

void rdma_of_nothing(struct test *t, const struct rdma_kind *kind, const struct rdma_nothing *row)
{
        DAT_COUNT count = row->segments > 1 ? SEGMENTS : rdma_some_segments(t, kind);
        struct rdma rdma = rdma_with(t, kind, .segments = count);
        DAT_LMR_TRIPLET *iov = row->null_vector ? NULL : rdma_iov(t, rdma.local.iov, count);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);
        DAT_RETURN ret;

        for (int i = 0; iov && i < count && !(row->room && kind->reads); i++)
                iov[i].segment_length = 0;
        if (iov && !row->segments)
                memset(iov, 0xff, (size_t)count * sizeof(*iov));
        if (!row->room || kind->reads)
                remote.segment_length = 0;
        ret = expect_may(kind->post(rdma.ep, row->segments, iov, COOKIE(5), &remote,
                                    DAT_COMPLETION_DEFAULT_FLAG),
                         DAT_SUCCESS);
        if (dat_is(ret, DAT_SUCCESS))
                expect_rdma(t, &rdma, 5, 0);
        else
                expect_rdma_refused(t, &rdma);
}

/* A vector of one segment somewhere in memory of REGION bytes; all else is canaries. */
static struct vector region_place(struct test *t, const struct rdma_place *row)
{
        struct vector vector = vector_over(t, buf_with(t, .length = REGION));

        vector.iov[0].virtual_address += row->offset;
        vector.iov[0].segment_length = row->length;
        vector.length = row->length;
        return vector;
}

void rdma_at_place(struct test *t, const struct rdma_kind *kind, const struct rdma_place *row)
{
        struct rdma rdma = rdma_with(t, kind, .length = row->length);

        rdma.remote = region_place(t, row);
        vector_fill(t, rdma_source(&rdma), RDMA_MESSAGE);
        expect(rdma_post_whole(t, &rdma, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_rdma(t, &rdma, 1, row->length);
}

/* What is filled has room for LENGTH bytes, a read's in segments that grow. */
void rdma_leaves_rest(struct test *t, const struct rdma_kind *kind, const struct rdma_rest *row)
{
        static const struct split growing = {"", 4, {1, 2, 4, 8}};
        struct rdma rdma = rdma_with(t, kind, .length = kind->reads ? LENGTH : row->length,
                                     .split = kind->reads ? &growing : NULL,
                                     .remote_length = kind->reads ? row->length : LENGTH);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);

        expect(rdma_post(t, &rdma, &rdma.local, remote, 1, DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_rdma(t, &rdma, 1, row->length);
}

void rdma_aligned(struct test *t, const struct rdma_kind *kind, const struct rdma_shift *row)
{
        struct rdma rdma = rdma_with(t, kind);

        rdma.local = vector_with(t, .length = LENGTH, .aligned = true, .shift = row->local);
        rdma.remote = vector_with(t, .length = LENGTH, .aligned = true, .shift = row->remote);
        vector_fill(t, rdma_source(&rdma), RDMA_MESSAGE);
        expect(rdma_post_whole(t, &rdma, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_rdma(t, &rdma, 1, LENGTH);
}

/* One direction of many RDMAs, each of SMALL bytes to a place of its own. */
struct stream {
        struct rdma rdma;
        int count, among;
        int posted, done;
};

static struct stream stream_of(struct test *t, const struct rdma_stream *row,
                               const struct rdma *both, DAT_EP_HANDLE ep)
{
        int among = row->among < both->depth ? row->among : both->depth;
        int count = row->count / among * among;
        struct stream stream = {.rdma = *both, .count = count, .among = among};
        size_t length = (size_t)count * SMALL;

        stream.rdma.ep = ep;
        stream.rdma.evd = ep_request_evd(t, ep);
        stream.rdma.local = vector_with(t, .length = length);
        stream.rdma.remote = vector_with(t, .length = length);
        vector_fill(t, rdma_source(&stream.rdma), RDMA_MESSAGE);
        return stream;
}

static void stream_post(struct test *t, struct stream *stream)
{
        while (stream->posted < stream->count &&
               stream->posted - stream->done < stream->rdma.depth) {
                size_t at = (size_t)stream->posted * SMALL;
                DAT_LMR_TRIPLET *iov = rdma_iov(t, stream->rdma.local.iov, 1);
                DAT_RMR_TRIPLET remote = vector_remote(&stream->rdma.remote);
                bool told = (stream->posted + 1) % stream->among == 0;

                iov->virtual_address += at;
                iov->segment_length = SMALL;
                remote.target_address += at;
                remote.segment_length = SMALL;
                expect(stream->rdma.kind->post(stream->rdma.ep, 1, iov,
                                               COOKIE((uint64_t)stream->posted), &remote,
                                               told ? DAT_COMPLETION_DEFAULT_FLAG : SUPPRESS),
                       DAT_SUCCESS);
                stream->posted++;
        }
}

void rdma_many(struct test *t, const struct rdma_kind *kind, const struct rdma_stream *row)
{
        struct rdma both = rdma_deep(t, kind);
        struct stream streams[] = {stream_of(t, row, &both, both.loop.active),
                                   stream_of(t, row, &both, both.loop.passive)};

        while (streams[1].done < streams[1].count) {
                for (int i = 0; i < 2; i++) {
                        struct stream *stream = &streams[i];

                        stream_post(t, stream);
                        stream->done += stream->among;
                        expect_completion(stream->rdma.evd, .ep = stream->rdma.ep,
                                          .cookie = (uint64_t)stream->done - 1, .length = SMALL);
                }
        }
        for (int i = 0; i < 2; i++) {
                expect_rdma_bytes(t, &streams[i].rdma, (size_t)streams[i].count * SMALL);
                expect_rdma_silent(t, streams[i].rdma.evd);
        }
}
