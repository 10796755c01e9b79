/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ep/shared/rdma.h"
#include "cases/ep/shared/states.h"

#include <stdlib.h>
#include <string.h>

#define LENGTH      ((size_t)1000) /* bytes of an RDMA */
#define READS       4
#define SMALL       ((size_t)64)
#define MIDDLING    ((size_t)100000)
#define LONG        ((size_t)512 * 1024)
#define SEGMENTS    4
#define MOST        8192 /* segments that a case can give */
#define ROUNDS      10
#define TRIES       200
#define OUTSTANDING 16

const struct rdma_kind rdma_write = {
    .post = dat_ep_post_rdma_write,
    .reads = false,
    .local = DAT_MEM_PRIV_LOCAL_READ_FLAG,
    .remote = DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
    .other_remote = DAT_MEM_PRIV_REMOTE_READ_FLAG,
};

const struct rdma_kind rdma_read = {
    .post = dat_ep_post_rdma_read,
    .reads = true,
    .local = DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
    .remote = DAT_MEM_PRIV_REMOTE_READ_FLAG,
    .other_remote = DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
};

/*
 * Two EPs and their memory
 */

static DAT_COUNT reads_of(struct test *t, const struct rdma_kind *kind, DAT_COUNT wanted)
{
        const DAT_IA_ATTR *attr = ia_attr(t);
        DAT_COUNT least = attr->max_rdma_read_per_ep_in < attr->max_rdma_read_per_ep_out
                              ? attr->max_rdma_read_per_ep_in
                              : attr->max_rdma_read_per_ep_out;

        if (!wanted && !kind->reads)
                return 0;
        if (least <= 0)
                unsupported(t, "max_rdma_read_per_ep_in, max_rdma_read_per_ep_out: no RDMA reads");
        if (wanted > least)
                unsupported(t, "max_rdma_read_per_ep_in, max_rdma_read_per_ep_out: too few");
        return wanted ? wanted : least < READS ? least : READS;
}

DAT_EP_ATTR rdma_attr(struct test *t, const struct rdma_kind *kind, struct rdma_opts opts)
{
        DAT_EP_ATTR attr =
            transfer_attr(t, (struct transfer_opts){.dtos = opts.dtos,
                                                    .most = opts.most,
                                                    .reads = reads_of(t, kind, opts.reads),
                                                    .request_flags = opts.request_flags});
        DAT_COUNT segments = opts.split ? opts.split->segments : opts.segments;

        if (segments > 1 && kind->reads && segments > ia_attr(t)->max_iov_segments_per_rdma_read)
                unsupported(t, "max_iov_segments_per_rdma_read: fewer than the case has");
        if (segments > 1 && !kind->reads && segments > ia_attr(t)->max_iov_segments_per_rdma_write)
                unsupported(t, "max_iov_segments_per_rdma_write: fewer than the case has");
        if (segments > 1 && kind->reads)
                attr.max_rdma_read_iov = segments;
        if (segments > 1 && !kind->reads)
                attr.max_rdma_write_iov = segments;
        return attr;
}

/* What a case needs that posts so many at once. */
static DAT_COUNT at_once(const struct rdma_kind *kind, DAT_COUNT count)
{
        return kind->reads ? count : 0;
}

const struct vector *rdma_source(const struct rdma *rdma)
{
        return rdma->kind->reads ? &rdma->remote : &rdma->local;
}

const struct vector *rdma_target(const struct rdma *rdma)
{
        return rdma->kind->reads ? &rdma->local : &rdma->remote;
}

struct rdma rdma_make(struct test *t, const struct rdma_kind *kind, struct rdma_opts opts)
{
        DAT_EP_ATTR attr = rdma_attr(t, kind, opts);
        DAT_EP_ATTR passive = attr;
        size_t length = opts.empty ? 0 : opts.length ? opts.length : LENGTH;
        struct rdma rdma = {.kind = kind, .pz = opts.pz};

        if (!opts.local.pz)
                opts.local.pz = opts.pz;
        rdma.local = vector_make(t, (struct vector_opts){.length = length,
                                                         .split = opts.split,
                                                         .segments = opts.segments,
                                                         .buf = opts.local});
        rdma.remote = vector_make(
            t, (struct vector_opts){.length = opts.remote_length ? opts.remote_length : length,
                                    .buf = opts.remote});
        vector_fill(t, rdma_source(&rdma), RDMA_MESSAGE);
        passive.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
        rdma.loop = loop_of(
            t, (struct ep_opts){.attr = &attr, .request_evd = opts.request_evd, .pz = opts.pz},
            (struct ep_opts){.attr = &passive, .request_evd = opts.passive_evd});
        loop_join(t, &rdma.loop);
        rdma.ep = rdma.loop.active;
        rdma.evd = ep_request_evd(t, rdma.ep);
        return rdma;
}

/* An I/O vector that the provider may overwrite. */
DAT_LMR_TRIPLET *rdma_iov(struct test *t, const DAT_LMR_TRIPLET *iov, DAT_COUNT segments)
{
        DAT_LMR_TRIPLET *copy = calloc((size_t)segments + 1, sizeof(*copy));

        if (!copy)
                resource(t, "no memory for a vector of %d segments", segments);
        if (segments)
                memcpy(copy, iov, (size_t)segments * sizeof(*copy));
        return copy;
}

DAT_RETURN rdma_post(struct test *t, const struct rdma *rdma, const struct vector *local,
                     DAT_RMR_TRIPLET remote, uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
        return rdma->kind->post(rdma->ep, local->length ? local->count : 0,
                                rdma_iov(t, local->iov, local->count), COOKIE(cookie), &remote,
                                flags);
}

DAT_RETURN rdma_post_whole(struct test *t, const struct rdma *rdma, uint64_t cookie,
                           DAT_COMPLETION_FLAGS flags)
{
        return rdma_post(t, rdma, &rdma->local, vector_remote(&rdma->remote), cookie, flags);
}

void expect_rdma_bytes(struct test *t, const struct rdma *rdma, size_t length)
{
        if (!rdma->kind->reads)
                vector_await(t, &rdma->remote, RDMA_MESSAGE, length);
        expect_holds(rdma_target(rdma), RDMA_MESSAGE, length);
        expect_holds(rdma_source(rdma), RDMA_MESSAGE, rdma_source(rdma)->length);
}

void expect_rdma(struct test *t, const struct rdma *rdma, uint64_t cookie, size_t length)
{
        expect_completion(rdma->evd, .ep = rdma->ep, .cookie = cookie, .length = length);
        expect_rdma_bytes(t, rdma, length);
}

static void expect_no_event(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;

        expect(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
}

void expect_rdma_goes_on(struct test *t, const struct rdma *rdma)
{
        struct rdma next = *rdma;

        next.local = vector_with(t, .length = SMALL, .buf = {.pz = rdma->pz});
        next.remote = vector_with(t, .length = SMALL);
        vector_fill(t, rdma_source(&next), RDMA_MESSAGE);
        expect(rdma_post_whole(t, &next, 4711, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_rdma(t, &next, 4711, SMALL);
        expect_no_event(t, rdma->evd);
}

void expect_rdma_refused(struct test *t, const struct rdma *rdma)
{
        expect_untouched(rdma_target(rdma));
        expect_holds(rdma_source(rdma), RDMA_MESSAGE, rdma_source(rdma)->length);
        expect_rdma_goes_on(t, rdma);
}

void rdma_legal(struct test *t, const struct rdma_kind *kind, DAT_EP_HANDLE *ep,
                DAT_LMR_TRIPLET **iov, const DAT_RMR_TRIPLET **remote)
{
        static DAT_RMR_TRIPLET triplet;
        struct rdma rdma = rdma_with(t, kind);

        triplet = vector_remote(&rdma.remote);
        *ep = rdma.ep;
        *iov = rdma.local.iov;
        *remote = &triplet;
}

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

        return length ? expect(ret, DAT_SUCCESS)
                      : expect_or_note(ret, DAT_SUCCESS, DAT_INVALID_PARAMETER);
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
        DAT_RETURN ret = expect(rdma_post_whole(t, &rdma, 1, DAT_COMPLETION_DEFAULT_FLAG),
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
                parts[i] = vector_with(t, .length = each);
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

/* For a clause of however many: a device may have a single one for reads. */
static DAT_COUNT some_segments(struct test *t, const struct rdma_kind *kind)
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
        DAT_COUNT count = row->segments > 1 ? SEGMENTS : some_segments(t, kind);
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
        ret = expect_or_note(kind->post(rdma.ep, row->segments, iov, COOKIE(5), &remote,
                                        DAT_COMPLETION_DEFAULT_FLAG),
                             DAT_SUCCESS, DAT_INVALID_PARAMETER);
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
        const struct rdma_stream *row;
        struct rdma rdma;
        int posted, done;
};

static struct stream stream_of(struct test *t, const struct rdma_stream *row,
                               const struct rdma *both, DAT_EP_HANDLE ep)
{
        struct stream stream = {.row = row, .rdma = *both};
        size_t length = (size_t)row->count * SMALL;

        stream.rdma.ep = ep;
        stream.rdma.evd = ep_request_evd(t, ep);
        stream.rdma.local = vector_with(t, .length = length);
        stream.rdma.remote = vector_with(t, .length = length);
        vector_fill(t, rdma_source(&stream.rdma), RDMA_MESSAGE);
        return stream;
}

static void stream_post(struct test *t, struct stream *stream)
{
        while (stream->posted < stream->row->count && stream->posted - stream->done < OUTSTANDING) {
                size_t at = (size_t)stream->posted * SMALL;
                DAT_LMR_TRIPLET *iov = rdma_iov(t, stream->rdma.local.iov, 1);
                DAT_RMR_TRIPLET remote = vector_remote(&stream->rdma.remote);
                bool told = (stream->posted + 1) % stream->row->among == 0;

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
        struct rdma both =
            rdma_with(t, kind, .dtos = OUTSTANDING, .reads = at_once(kind, OUTSTANDING));
        struct stream streams[] = {stream_of(t, row, &both, both.loop.active),
                                   stream_of(t, row, &both, both.loop.passive)};

        while (streams[1].done < row->count) {
                for (int i = 0; i < 2; i++) {
                        struct stream *stream = &streams[i];

                        stream_post(t, stream);
                        stream->done += row->among;
                        expect_completion(stream->rdma.evd, .ep = stream->rdma.ep,
                                          .cookie = (uint64_t)stream->done - 1, .length = SMALL);
                }
        }
        for (int i = 0; i < 2; i++) {
                expect_rdma_bytes(t, &streams[i].rdma, (size_t)row->count * SMALL);
                expect_no_event(t, streams[i].rdma.evd);
        }
}

/*
 * Completions
 */

void rdma_completes_once(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind);

        expect(rdma_post_whole(t, &rdma, 77, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_rdma(t, &rdma, 77, LENGTH);
        expect_rdma_goes_on(t, &rdma);
}

/* The long ones come first: a short one behind them would overtake. */
void rdma_in_order(struct test *t, const struct rdma_kind *kind)
{
        static const size_t lengths[] = {LONG, 1, 100000, 64, 5000, 1, 4096, 2};
        struct rdma rdma = rdma_with(t, kind, .length = LONG, .reads = at_once(kind, 8));
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);

        for (uint64_t i = 0; i < 8; i++) {
                DAT_LMR_TRIPLET *iov = rdma_iov(t, rdma.local.iov, 1);

                iov->segment_length = lengths[i];
                remote.segment_length = lengths[i];
                expect(kind->post(rdma.ep, 1, iov, COOKIE(i), &remote, DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        }
        for (uint64_t i = 0; i < 8; i++)
                expect_completion(rdma.evd, .ep = rdma.ep, .cookie = i, .length = lengths[i]);
        expect_rdma_bytes(t, &rdma, LONG);
        expect_no_event(t, rdma.evd);
}

void rdma_in_order_with_others(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind, .length = LONG, .dtos = OUTSTANDING);
        struct vector message = vector_with(t, .length = SMALL);
        struct vector room = vector_with(t, .length = 2 * SMALL);

        for (uint64_t i = 0; i < 2; i++)
                must(recv_vector(rdma.loop.passive, &room, i, DAT_COMPLETION_DEFAULT_FLAG));
        for (uint64_t i = 0; i < 4; i += 2) {
                expect(rdma_post_whole(t, &rdma, i, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
                must(send_vector(rdma.ep, &message, i + 1, DAT_COMPLETION_DEFAULT_FLAG));
        }
        for (uint64_t i = 0; i < 4; i++)
                expect_completion(rdma.evd, .ep = rdma.ep, .cookie = i,
                                  .length = i % 2 ? SMALL : LONG);
        expect_rdma_bytes(t, &rdma, LONG);
}

/* A later message arrives, and is the only completion at the other end. */
void rdma_unseen_there(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind);
        DAT_EP_HANDLE there = rdma.loop.passive;
        struct vector message = vector_with(t, .length = SMALL);
        struct vector room = vector_with(t, .length = SMALL);

        vector_fill(t, &message, 8);
        must(recv_vector(there, &room, 21, DAT_COMPLETION_DEFAULT_FLAG));
        expect(rdma_post_whole(t, &rdma, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_rdma(t, &rdma, 1, LENGTH);
        must(send_vector(rdma.ep, &message, 2, DAT_COMPLETION_DEFAULT_FLAG));
        expect_completion(ep_recv_evd(t, there), .ep = there, .cookie = 21, .length = SMALL);

        expect_holds(&room, 8, SMALL);
        expect_no_event(t, ep_recv_evd(t, there));
        expect_no_event(t, ep_request_evd(t, there));
        expect_no_event(t, ep_connect_evd(t, there));
}

void rdma_cookie(struct test *t, const struct rdma_kind *kind, const struct rdma_cookie *row)
{
        struct rdma rdma = rdma_with(t, kind, .length = SMALL);

        expect(rdma_post_whole(t, &rdma, row->value, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_rdma(t, &rdma, row->value, SMALL);
}

void rdma_same_cookie(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind, .length = SMALL);

        for (int i = 0; i < 4; i++)
                expect(rdma_post_whole(t, &rdma, 5, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        for (int i = 0; i < 4; i++)
                expect_rdma(t, &rdma, 5, SMALL);
        expect_no_event(t, rdma.evd);
}

#define EVERY_BYTE UINT64_C(0x0123456789abcdef)

void rdma_cookie_of(struct test *t, const struct rdma_kind *kind, const struct rdma_outcome *row)
{
        struct rdma rdma = rdma_with(t, kind, .segments = row->segments);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);
        DAT_RETURN ret;

        if (row->too_late)
                must_end(t, &rdma.loop);
        if (row->denied)
                remote.target_address += rdma.remote.buf->length;
        ret = rdma_post(t, &rdma, &rdma.local, remote, EVERY_BYTE, DAT_COMPLETION_DEFAULT_FLAG);
        if (!row->denied) {
                expect(ret, DAT_SUCCESS);
                expect_completion(rdma.evd, .ep = rdma.ep, .cookie = EVERY_BYTE, .length = LENGTH,
                                  .status = row->too_late ? DAT_DTO_ERR_FLUSHED : DAT_DTO_SUCCESS);
        } else if (dat_is(expect(ret, DAT_SUCCESS, DAT_PROTECTION_VIOLATION,
                                 DAT_PRIVILEGES_VIOLATION, DAT_INVALID_PARAMETER),
                          DAT_SUCCESS)) {
                DAT_EVENT event = expect_event(rdma.evd, DAT_DTO_COMPLETION_EVENT);

                expect_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, EVERY_BYTE);
        }
        expect_no_event(t, rdma.evd);
}

/*
 * Flags
 */

static DAT_COMPLETION_FLAGS configured_for(const struct rdma_flags *row)
{
        return row->flags & UNSIGNALLED ? UNSIGNALLED : DAT_COMPLETION_DEFAULT_FLAG;
}

/* Of several segments and of one, and a signalled one behind them: what was suppressed is not told
 * of, and all has come. */
void rdma_flagged(struct test *t, const struct rdma_kind *kind, const struct rdma_flags *row)
{
        DAT_COUNT segments = some_segments(t, kind);
        struct rdma rdma =
            rdma_with(t, kind, .request_flags = configured_for(row), .segments = segments);
        struct rdma whole = rdma;

        whole.local = vector_with(t, .length = LENGTH);
        whole.remote = vector_with(t, .length = LENGTH);
        vector_fill(t, rdma_source(&whole), RDMA_MESSAGE);
        expect(rdma_post_whole(t, &rdma, 31, row->flags), DAT_SUCCESS);
        expect(rdma_post_whole(t, &whole, 32, row->flags), DAT_SUCCESS);
        for (uint64_t i = 31; i <= 32 && !(row->flags & SUPPRESS); i++)
                expect_completion(rdma.evd, .ep = rdma.ep, .cookie = i, .length = LENGTH);
        expect_rdma_goes_on(t, &rdma);
        expect_rdma_bytes(t, &rdma, LENGTH);
        expect_rdma_bytes(t, &whole, LENGTH);
}

void rdma_flags_refused(struct test *t, const struct rdma_kind *kind, const struct rdma_flags *row)
{
        struct rdma rdma = rdma_with(t, kind);

        expect(rdma_post_whole(t, &rdma, 1, row->flags), DAT_INVALID_PARAMETER);
        expect_rdma_refused(t, &rdma);
}

void rdma_flags_unlisted(struct test *t, const struct rdma_kind *kind, const struct rdma_flags *row)
{
        struct rdma rdma = rdma_with(t, kind);
        DAT_RETURN ret = expect_or_note(rdma_post_whole(t, &rdma, 1, row->flags),
                                        DAT_INVALID_PARAMETER, DAT_SUCCESS);

        if (dat_is(ret, DAT_SUCCESS))
                expect_rdma(t, &rdma, 1, LENGTH);
        else
                expect_rdma_refused(t, &rdma);
}

/* More than the EVD has places are suppressed, as many at once as the EP takes. */
void rdma_suppressed_rounds(struct test *t, const struct rdma_kind *kind)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = OUTSTANDING);
        struct rdma rdma = rdma_with(t, kind, .length = SMALL, .dtos = OUTSTANDING,
                                     .request_evd = evd, .reads = at_once(kind, OUTSTANDING));

        for (uint64_t round = 0; round < ROUNDS; round++) {
                for (int i = 0; i < OUTSTANDING - 1; i++)
                        expect(rdma_post_whole(t, &rdma, 6, SUPPRESS), DAT_SUCCESS);
                expect(rdma_post_whole(t, &rdma, 100 + round, DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
                expect_completion(evd, .ep = rdma.ep, .cookie = 100 + round, .length = SMALL);
                expect_no_event(t, evd);
        }
        expect_rdma_bytes(t, &rdma, SMALL);
        expect_no_event(t, async_evd(t));
}

/* So is that of one of several segments: the next is the first to be told of. */
void rdma_suppressed_vector(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind, .segments = 3);

        expect(rdma_post_whole(t, &rdma, 31, SUPPRESS), DAT_SUCCESS);
        expect_rdma_goes_on(t, &rdma);
        expect_rdma_bytes(t, &rdma, LENGTH);
}

static bool has_come(const struct rdma *rdma)
{
        return message_holds(vector_at(rdma_target(rdma)), LENGTH, RDMA_MESSAGE);
}

/* Beyond the region: the failure is reported, at once or later. */
void rdma_suppressed_failure(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);
        DAT_EVENT event;

        remote.target_address += rdma.remote.buf->length;
        if (!dat_is(expect(rdma_post(t, &rdma, &rdma.local, remote, 17, SUPPRESS), DAT_SUCCESS,
                           DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION,
                           DAT_INVALID_PARAMETER),
                    DAT_SUCCESS))
                return;
        event = expect_event(rdma.evd, DAT_DTO_COMPLETION_EVENT);
        expect_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, 17);
        expect_that(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS,
                    "bytes beyond the region were reached");
}

/* A waiter sleeps on while what it is not to be told of comes, and is woken by what it is. */
void rdma_unsignalled_waits(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind, .request_flags = UNSIGNALLED);
        struct waiter *waiter = wait_on_evd(t, rdma.evd, DAT_TIMEOUT_INFINITE, 1);
        struct woken woken;

        must_wait(waiter);
        expect(rdma_post_whole(t, &rdma, 1, UNSIGNALLED), DAT_SUCCESS);
        for (int i = 0; i < TRIES && !has_come(&rdma); i++)
                settle_briefly(t);
        expect_rdma_bytes(t, &rdma, LENGTH);
        expect_asleep(waiter);
        expect(rdma_post_whole(t, &rdma, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        woken = expect_awake(waiter);

        expect(woken.ret, DAT_SUCCESS);
        completion_is(t, CHECK_SITE_("the first completion"), &woken.event,
                      &(struct completion){.ep = rdma.ep, .cookie = 1, .length = LENGTH}, true);
        expect_completion(rdma.evd, .ep = rdma.ep, .cookie = 2, .length = LENGTH);
}

/* A long read fills what the fenced one then takes its bytes from. */
void rdma_fenced(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind, .length = LONG, .reads = 2);
        struct vector between = vector_with(t, .length = LONG);
        struct vector first = *rdma_source(&rdma);
        struct vector last = vector_with(t, .length = LONG);
        struct rdma fenced = rdma;
        DAT_RMR_TRIPLET from = vector_remote(&first);

        fenced.local = kind->reads ? last : between;
        fenced.remote = kind->reads ? between : last;
        expect(dat_ep_post_rdma_read(rdma.ep, 1, rdma_iov(t, between.iov, 1), COOKIE(1), &from,
                                     DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect(rdma_post_whole(t, &fenced, 2, FENCE), DAT_SUCCESS);
        expect_completion(rdma.evd, .ep = rdma.ep, .cookie = 1, .length = LONG);
        expect_rdma(t, &fenced, 2, LONG);
}

/*
 * The I/O vector after the call
 */

void rdma_vector_given_back(struct test *t, const struct rdma_kind *kind,
                            const struct vector_end *row)
{
        DAT_COUNT count = some_segments(t, kind);
        struct rdma rdma = rdma_with(t, kind, .length = LONG, .segments = count);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);
        DAT_LMR_TRIPLET *iov = vector_mapping(t, &rdma.local);

        need_ownership(t, DAT_IOV_CONSUMER);
        expect(kind->post(rdma.ep, count, iov, COOKIE(1), &remote, DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        row->end(iov, vector_mapped(&rdma.local));
        expect_rdma(t, &rdma, 1, LONG);
}

void rdma_vector_not_modified(struct test *t, const struct rdma_kind *kind)
{
        DAT_COUNT count = some_segments(t, kind);
        struct rdma rdma = rdma_with(t, kind, .segments = count);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);
        struct marked marked = marked_of(t, &rdma.local);

        need_ownership(t, DAT_IOV_PROVIDER_NOMOD);
        expect(
            kind->post(rdma.ep, count, marked.iov, COOKIE(1), &remote, DAT_COMPLETION_DEFAULT_FLAG),
            DAT_SUCCESS);
        expect_rdma(t, &rdma, 1, LENGTH);
        expect_unmarked(t, &marked);
}

void rdma_remote_not_modified(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);
        DAT_RMR_TRIPLET before;

        memcpy(&before, &remote, sizeof(before));
        expect(kind->post(rdma.ep, 1, rdma_iov(t, rdma.local.iov, 1), COOKIE(1), &remote,
                          DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_rdma(t, &rdma, 1, LENGTH);
        expect_that(memcmp(&remote, &before, sizeof(before)) == 0,
                    "the provider changed the description of the remote buffer");
}

void rdma_arguments_of_refused(struct test *t, const struct rdma_kind *kind)
{
        DAT_COUNT count = some_segments(t, kind);
        struct rdma rdma = rdma_with(t, kind, .segments = count);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);
        struct marked marked = marked_of(t, &rdma.local);
        DAT_RMR_TRIPLET before;

        need_ownership(t, DAT_IOV_PROVIDER_NOMOD);
        memcpy(&before, &remote, sizeof(before));
        expect(kind->post(rdma.ep, count, marked.iov, COOKIE(1), &remote, UNSIGNALLED),
               DAT_INVALID_PARAMETER);
        expect_unmarked(t, &marked);
        expect_that(memcmp(&remote, &before, sizeof(before)) == 0,
                    "the provider changed the description of the remote buffer");
}

/* The provider may not keep it. */
void rdma_remote_given_back(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind, .length = LONG);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);

        expect(kind->post(rdma.ep, 1, rdma_iov(t, rdma.local.iov, 1), COOKIE(1), &remote,
                          DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        memset(&remote, 0xff, sizeof(remote));
        expect_rdma(t, &rdma, 1, LONG);
}

/*
 * States
 */

/* A Connected EP takes it: to or from memory of the peer, which has message 0. */
static void expect_rdma_to_peer(struct test *t, struct rdma *rdma, struct peer_ep *end)
{
        struct peer_memory memory = peer_expose(end, SMALL);
        DAT_RMR_TRIPLET remote = {.rmr_context = memory.rmr_context,
                                  .target_address = memory.address,
                                  .segment_length = SMALL};

        expect(rdma_post(t, rdma, &rdma->local, remote, 1, DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_completion(rdma->evd, .ep = rdma->ep, .cookie = 1, .length = SMALL);
        if (rdma->kind->reads)
                expect_holds(&rdma->local, 0, SMALL);
        else
                expect_that(rdma_peer_has(t, end, memory, SMALL),
                            "the peer's memory does not hold the message");
}

void rdma_in_state(struct test *t, const struct rdma_kind *kind, const struct ep_state_row *row)
{
        DAT_EP_ATTR attr = rdma_attr(t, kind, (struct rdma_opts){.dtos = 0});
        struct ep_held held = ep_hold(t, row->state, .attr = &attr);
        struct rdma rdma = {.kind = kind, .ep = held.ep};

        rdma.local = vector_with(t, .length = SMALL);
        rdma.remote = vector_with(t, .length = SMALL);
        vector_fill(t, rdma_source(&rdma), RDMA_MESSAGE);
        if (ep_is_in(&held, EP_IN(CONNECTED) | EP_IN(DISCONNECTED)))
                rdma.evd = ep_request_evd(t, held.ep);
        if (ep_is_in(&held, EP_IN(CONNECTED))) {
                expect_rdma_to_peer(t, &rdma, expect_goes_on(held.ep, row->state));
                return;
        }
        if (ep_is_in(&held, EP_IN(DISCONNECTED))) {
                expect(rdma_post_whole(t, &rdma, 3, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
                expect_completion(rdma.evd, .ep = held.ep, .cookie = 3,
                                  .status = DAT_DTO_ERR_FLUSHED);
                expect_untouched(rdma_target(&rdma));
                return;
        }
        ep_hold_receive(t, &held);
        expect(rdma_post_whole(t, &rdma, 3, DAT_COMPLETION_DEFAULT_FLAG), DAT_INVALID_STATE);
        expect_untouched(rdma_target(&rdma));
        expect_ep_untouched(t, &held);
}

/* An EP that is Disconnected flushes, whether or not it was ever connected. */
void rdma_after_turn(struct test *t, const struct rdma_kind *kind, const struct ep_turn *row)
{
        DAT_COUNT segments = some_segments(t, kind) < 2 ? 1 : 2;
        DAT_EP_ATTR attr = rdma_attr(t, kind, (struct rdma_opts){.segments = segments});
        struct loop loop =
            loop_of(t, (struct ep_opts){.attr = &attr}, (struct ep_opts){.attr = &attr});
        struct rdma rdma = {
            .kind = kind,
            .loop = loop,
            .ep = loop.active,
            .evd = ep_request_evd(t, loop.active),
            .local = vector_with(t, .length = SMALL, .segments = segments),
            .remote = vector_with(t, .length = SMALL),
        };

        row->make(t, &rdma.loop);
        vector_fill(t, rdma_source(&rdma), RDMA_MESSAGE);
        if (row->state == DAT_EP_STATE_CONNECTED) {
                expect(rdma_post_whole(t, &rdma, 3, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
                expect_rdma(t, &rdma, 3, SMALL);
        } else if (row->state == DAT_EP_STATE_DISCONNECTED) {
                for (uint64_t i = 0; i < 3; i++)
                        expect(rdma_post_whole(t, &rdma, i, DAT_COMPLETION_DEFAULT_FLAG),
                               DAT_SUCCESS);
                for (uint64_t i = 0; i < 3; i++)
                        expect_completion(rdma.evd, .ep = rdma.ep, .cookie = i,
                                          .status = DAT_DTO_ERR_FLUSHED);
                expect_untouched(rdma_target(&rdma));
        } else {
                expect(rdma_post_whole(t, &rdma, 3, DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_INVALID_STATE);
                expect_untouched(rdma_target(&rdma));
        }
        expect_empty(t, rdma.evd);
        expect_eq(ep_state(t, rdma.ep), row->state);
}

static void end_loop(struct test *t, const struct rdma *rdma)
{
        must(dat_ep_disconnect(rdma->ep, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, rdma->ep), DAT_CONNECTION_EVENT_DISCONNECTED);
}

void rdma_flushed(struct test *t, const struct rdma_kind *kind, const struct rdma_flags *row)
{
        struct rdma rdma = rdma_with(t, kind, .request_flags = configured_for(row));

        end_loop(t, &rdma);
        for (uint64_t i = 0; i < 4; i++)
                expect(rdma_post_whole(t, &rdma, 50 + i, row->flags), DAT_SUCCESS);
        for (uint64_t i = 0; i < 4; i++)
                expect_completion(rdma.evd, .ep = rdma.ep, .cookie = 50 + i,
                                  .status = DAT_DTO_ERR_FLUSHED);
        expect_no_event(t, rdma.evd);
        expect_untouched(rdma_target(&rdma));
        expect_eq(ep_state(t, rdma.ep), DAT_EP_STATE_DISCONNECTED);
}

/* Whatever is done by then succeeds, and has its bytes; the others are flushed, each once. */
void rdma_cut_off(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind, .length = MIDDLING, .dtos = OUTSTANDING,
                                     .reads = at_once(kind, OUTSTANDING));
        bool flushed = false;

        for (uint64_t i = 0; i < OUTSTANDING; i++)
                expect(rdma_post_whole(t, &rdma, i, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        end_loop(t, &rdma);
        for (uint64_t i = 0; i < OUTSTANDING; i++) {
                DAT_EVENT event = expect_event(rdma.evd, DAT_DTO_COMPLETION_EVENT);

                flushed |= event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS;
                completion_is(
                    t, CHECK_SITE_("the next completion"), &event,
                    &(struct completion){.ep = rdma.ep,
                                         .cookie = i,
                                         .length = MIDDLING,
                                         .status = flushed ? DAT_DTO_ERR_FLUSHED : DAT_DTO_SUCCESS},
                    true);
                if (!flushed)
                        expect_rdma_bytes(t, &rdma, MIDDLING);
        }
        expect_no_event(t, rdma.evd);
        expect_kept_around(rdma_target(&rdma));
}

/*
 * Depth
 */

/*
 * A message for which the other end has no receive holds up what is posted behind it. `release`
 * takes it.
 */
static void hold_up(struct test *t, const struct rdma *rdma)
{
        struct vector message = vector_with(t, .length = SMALL);

        must(send_vector(rdma->ep, &message, 0, DAT_COMPLETION_DEFAULT_FLAG));
}

static void let_go(struct test *t, const struct rdma *rdma)
{
        struct vector room = vector_with(t, .length = SMALL);
        DAT_EVENT event;

        if (dat_is(dat_evd_dequeue(rdma->evd, &event), DAT_SUCCESS)) {
                expect_that(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS,
                            "a message that was not received is reported as sent");
                end_noted(t,
                          "the transport ends a connection if the receiver has no receive posted");
        }
        must(recv_vector(rdma->loop.passive, &room, 0, DAT_COMPLETION_DEFAULT_FLAG));
}

/* The held message, and `count` RDMAs behind it, complete in order; their bytes are there. */
static void expect_all(struct test *t, const struct rdma *rdma, uint64_t count)
{
        must_complete(rdma->evd, .ep = rdma->ep, .cookie = 0, .length = SMALL);
        for (uint64_t i = 1; i <= count; i++)
                expect_completion(rdma->evd, .ep = rdma->ep, .cookie = i, .length = LENGTH);
        expect_rdma_bytes(t, rdma, LENGTH);
        expect_no_event(t, rdma->evd);
}

static void fill_up(struct test *t, const struct rdma *rdma)
{
        hold_up(t, rdma);
        for (uint64_t i = 1; i < OUTSTANDING; i++)
                expect(rdma_post_whole(t, rdma, i, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
}

void rdma_most_outstanding(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma =
            rdma_with(t, kind, .dtos = OUTSTANDING, .reads = at_once(kind, OUTSTANDING));

        fill_up(t, &rdma);
        expect_untouched(rdma_target(&rdma));
        let_go(t, &rdma);
        expect_all(t, &rdma, OUTSTANDING - 1);
}

void rdma_one_too_many(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma =
            rdma_with(t, kind, .dtos = OUTSTANDING, .reads = at_once(kind, OUTSTANDING));
        DAT_RETURN ret;

        fill_up(t, &rdma);
        ret = expect_or_note(rdma_post_whole(t, &rdma, OUTSTANDING, DAT_COMPLETION_DEFAULT_FLAG),
                             DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);
        let_go(t, &rdma);
        expect_all(t, &rdma, dat_is(ret, DAT_SUCCESS) ? OUTSTANDING : OUTSTANDING - 1);
}

void rdma_places_come_back(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma =
            rdma_with(t, kind, .dtos = OUTSTANDING, .reads = at_once(kind, OUTSTANDING));

        for (int i = 0; i < ROUNDS; i++) {
                fill_up(t, &rdma);
                let_go(t, &rdma);
                expect_all(t, &rdma, OUTSTANDING - 1);
        }
}

static DAT_RETURN post_negative(struct test *t, const struct rdma *rdma)
{
        DAT_RMR_TRIPLET remote = vector_remote(&rdma->remote);

        return rdma->kind->post(rdma->ep, -1, rdma_iov(t, rdma->local.iov, 1), COOKIE(1), &remote,
                                DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN post_unsignalled(struct test *t, const struct rdma *rdma)
{
        return rdma_post_whole(t, rdma, 1, UNSIGNALLED);
}

/* By one byte, whichever end has it. */
static DAT_RETURN post_too_long(struct test *t, const struct rdma *rdma)
{
        DAT_RMR_TRIPLET remote = vector_remote(&rdma->remote);
        DAT_LMR_TRIPLET shorter = rdma->local.iov[0];
        struct vector local = rdma->local;

        if (rdma->kind->reads) {
                shorter.segment_length--;
                local.iov = &shorter;
        } else {
                remote.segment_length--;
        }
        return rdma_post(t, rdma, &local, remote, 1, DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN post_by_refusal(struct test *t, const struct rdma *rdma,
                                  const struct rdma_refusal *row)
{
        if (row->returned == DAT_LENGTH_ERROR)
                return expect(post_too_long(t, rdma), DAT_LENGTH_ERROR, DAT_SUCCESS);
        return expect(row->unsignalled ? post_unsignalled(t, rdma) : post_negative(t, rdma),
                      row->returned);
}

/* It is refused as elsewhere, or flushed where it may be found out late; and a good one is too. */
void rdma_refusal_on_disconnected(struct test *t, const struct rdma_kind *kind,
                                  const struct rdma_refusal *row)
{
        struct rdma rdma = rdma_with(t, kind);

        must_end(t, &rdma.loop);
        if (dat_is(post_by_refusal(t, &rdma, row), DAT_SUCCESS))
                expect_completion(rdma.evd, .ep = rdma.ep, .cookie = 1,
                                  .status = DAT_DTO_ERR_FLUSHED);
        expect_no_event(t, rdma.evd);
        expect(rdma_post_whole(t, &rdma, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_completion(rdma.evd, .ep = rdma.ep, .cookie = 2, .status = DAT_DTO_ERR_FLUSHED);
        expect_no_event(t, rdma.evd);
        expect_untouched(rdma_target(&rdma));
        expect_eq(ep_state(t, rdma.ep), DAT_EP_STATE_DISCONNECTED);
}

/* As often refused as the EP has places: it has all of them afterwards, and what it did before. */
void rdma_refusal_leaves(struct test *t, const struct rdma_kind *kind,
                         const struct rdma_refusal *row)
{
        struct rdma rdma =
            rdma_with(t, kind, .dtos = OUTSTANDING, .reads = at_once(kind, OUTSTANDING));
        struct rdma first = rdma;
        struct ep_snapshot before = ep_snapshot(t, rdma.ep);

        first.local = vector_with(t, .length = SMALL);
        first.remote = vector_with(t, .length = SMALL);
        vector_fill(t, rdma_source(&first), RDMA_MESSAGE);
        expect(rdma_post_whole(t, &first, 77, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        for (DAT_COUNT i = 0; i < before.param.ep_attr.max_request_dtos; i++)
                if (dat_is(post_by_refusal(t, &rdma, row), DAT_SUCCESS))
                        end_noted(t, "it was not refused at once: there is no refusal to look "
                                     "behind");
        expect_ep_kept(t, rdma.ep, &before, 0);
        expect_rdma(t, &first, 77, SMALL);
        fill_up(t, &rdma);
        let_go(t, &rdma);
        expect_all(t, &rdma, OUTSTANDING - 1);
}
