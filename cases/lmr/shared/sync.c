/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/lmr/shared/sync.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LENGTH    ((size_t)1000) /* bytes that an RDMA moves */
#define MOST_LMRS 4
#define SLOT      ((size_t)4096) /* bytes of an LMR */
#define CONTENT   40             /* the message in memory that must not change */
#define ROUNDS    8
#define TRAFFIC   12
#define LONG      ((size_t)100000)
#define WORD      ((size_t)64) /* bytes of a message that tells of an RDMA */

const struct sync_kind sync_read = {.call = dat_lmr_sync_rdma_read, .rdma = &rdma_read};
const struct sync_kind sync_write = {.call = dat_lmr_sync_rdma_write, .rdma = &rdma_write};

/* Memory that holds a message, and still does. */
static struct buf *content(struct test *t, struct buf_opts opts)
{
        struct buf *buf = buf_make(t, opts);

        message_fill(buf->addr, buf->length, CONTENT);
        return buf;
}

static void expect_content(struct test *t, const struct buf *buf)
{
        expect_that(message_holds(buf->addr, buf->length, CONTENT), "the call changed memory");
}

/* A good segment is still synchronized. */
static void expect_legal(struct test *t, const struct sync_kind *kind)
{
        struct buf *buf = content(t, (struct buf_opts){.length = SLOT});
        DAT_LMR_TRIPLET segment = triplet(buf, 0, SLOT);

        expect(kind->call(ia(t), &segment, 1), DAT_SUCCESS);
        expect_content(t, buf);
}

void sync_place(struct test *t, const struct sync_kind *kind, const struct rdma_place *row)
{
        struct buf *buf = content(t, (struct buf_opts){.length = REGION});
        DAT_LMR_TRIPLET segment = triplet(buf, row->offset, row->length);

        expect(kind->call(ia(t), &segment, 1), DAT_SUCCESS);
        expect_content(t, buf);
}

void sync_batch(struct test *t, const struct sync_kind *kind, const struct sync_batch *row)
{
        DAT_LMR_TRIPLET *segments = calloc(row->segments, sizeof(*segments));
        struct buf *bufs[MOST_LMRS];
        DAT_VLEN lmr = 0;

        if (!segments)
                resource(t, "no memory for %llu segments", (unsigned long long)row->segments);
        for (int i = 0; i < MOST_LMRS; i++)
                bufs[i] = content(
                    t, (struct buf_opts){.length = SLOT, .pz = row->zones ? pz_new(t) : pz(t)});
        for (DAT_VLEN i = 0; i < row->segments; i++) {
                segments[i] = row->same ? triplet(bufs[0], 7, 99)
                                        : triplet(bufs[lmr], i * 61 % 3000, 1 + i % 100);
                lmr = lmr + 1 < row->lmrs ? lmr + 1 : 0;
        }
        expect(kind->call(ia(t), segments, row->segments), DAT_SUCCESS);
        for (int i = 0; i < MOST_LMRS; i++)
                expect_content(t, bufs[i]);
}

static DAT_LMR_TRIPLET part_of(const struct region *region, size_t offset, size_t length)
{
        return (DAT_LMR_TRIPLET){
            .lmr_context = region->lmr_context,
            .virtual_address = (DAT_VADDR)(uintptr_t)region->addr + offset,
            .segment_length = length,
        };
}

void sync_of_type(struct test *t, const struct sync_kind *kind, const struct type_row *row)
{
        struct region region =
            region_make(t, of_type(t, row, (struct region_opts){.length = REGION_PAGE}));
        DAT_LMR_TRIPLET parts[] = {part_of(&region, 0, REGION_PAGE), part_of(&region, 77, 1000),
                                   part_of(&region, REGION_PAGE - 1, 1)};
        DAT_LMR_TRIPLET beyond = part_of(&region, 0, 2);

        beyond.virtual_address = region.registered_address + region.registered_size - 1;
        message_fill(region.addr, REGION_PAGE, CONTENT);
        for (int i = 0; i < 3; i++)
                expect(kind->call(ia(t), &parts[i], 1), DAT_SUCCESS);
        expect(kind->call(ia(t), parts, 3), DAT_SUCCESS);
        expect(kind->call(ia(t), &beyond, 1), DAT_INVALID_PARAMETER);
        expect_that(message_holds(region.addr, REGION_PAGE, CONTENT), "the call changed memory");
}

void sync_privileged(struct test *t, const struct sync_kind *kind,
                     const struct sync_privileges *row)
{
        DAT_MEM_PRIV_FLAGS both = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
        DAT_MEM_PRIV_FLAGS local =
            kind->rdma->reads ? DAT_MEM_PRIV_LOCAL_READ_FLAG : DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
        DAT_MEM_PRIV_FLAGS remote =
            row->other_remote ? kind->rdma->remote | kind->rdma->other_remote : kind->rdma->remote;
        struct buf *buf = content(
            t, (struct buf_opts){.privileges = (row->by_rmr ? DAT_MEM_PRIV_NONE_FLAG : remote) |
                                               (row->other_local ? both : local)});
        DAT_LMR_TRIPLET segment = triplet(buf, 0, buf->length);

        expect(kind->call(ia(t), &segment, 1), DAT_SUCCESS);
        expect_content(t, buf);
}

/*
 * Effects
 */

/* A vector's only segment in so many parts, one behind the other. */
static DAT_LMR_TRIPLET *parts_of(struct test *t, const struct vector *vector, DAT_COUNT count)
{
        DAT_LMR_TRIPLET *parts = calloc((size_t)count, sizeof(*parts));
        size_t each = vector->length / (size_t)count;

        if (!parts)
                resource(t, "no memory for %d segments", count);
        for (size_t i = 0; i < (size_t)count; i++) {
                parts[i] = vector->iov[0];
                parts[i].virtual_address += i * each;
                parts[i].segment_length = i + 1 < (size_t)count ? each : vector->length - i * each;
        }
        return parts;
}

/* The ranges of the memory that RDMA reaches, as its owner names them: none, and no call. */
struct ranges {
        const struct sync_kind *kind;
        DAT_LMR_TRIPLET *parts;
        DAT_COUNT count;
        DAT_RMR_TRIPLET remote; /* all of it, as the other end names it */
};

static void must_move(struct test *t, const struct rdma *rdma, const struct ranges *ranges,
                      uint64_t sequence)
{
        must(rdma_post(t, rdma, &rdma->local, ranges->remote, sequence,
                       DAT_COMPLETION_DEFAULT_FLAG));
}

static void synchronize(struct test *t, const struct ranges *ranges)
{
        if (ranges->count)
                expect(ranges->kind->call(ia(t), ranges->parts, (DAT_VLEN)ranges->count),
                       DAT_SUCCESS);
}

/* The owner of the memory has written it, and the other end reads it. */
static void expect_read(struct test *t, struct rdma *rdma, const struct ranges *ranges,
                        uint64_t sequence)
{
        rdma->local = vector_with(t, .length = LENGTH);
        vector_fill(t, &rdma->remote, sequence);
        synchronize(t, ranges);
        must_move(t, rdma, ranges, sequence);
        must_complete(rdma->evd, .ep = rdma->ep, .cookie = sequence, .length = LENGTH);
        expect_holds(&rdma->local, sequence, LENGTH);
}

/* The other end has written it, and a message tells its owner so, who reads it. */
static void expect_written(struct test *t, struct rdma *rdma, const struct ranges *ranges,
                           uint64_t sequence)
{
        struct vector word = vector_with(t, .length = WORD);
        struct vector room = vector_with(t, .length = WORD);
        DAT_EP_HANDLE owner = rdma->loop.passive;

        vector_fill(t, &rdma->local, sequence);
        must(recv_vector(owner, &room, sequence, DAT_COMPLETION_DEFAULT_FLAG));
        must_move(t, rdma, ranges, sequence);
        must(send_vector(rdma->ep, &word, sequence, DAT_COMPLETION_DEFAULT_FLAG));
        must_complete(ep_recv_evd(t, owner), .ep = owner, .cookie = sequence, .length = WORD);
        synchronize(t, ranges);
        expect_holds(&rdma->remote, sequence, LENGTH);
        must_complete(rdma->evd, .ep = rdma->ep, .cookie = sequence, .length = LENGTH);
        must_complete(rdma->evd, .ep = rdma->ep, .cookie = sequence, .length = WORD);
}

static void expect_rounds_of(struct test *t, struct rdma *rdma, const struct ranges *ranges)
{
        for (uint64_t i = 0; i < ROUNDS; i++) {
                if (rdma->kind->reads)
                        expect_read(t, rdma, ranges, i);
                else
                        expect_written(t, rdma, ranges, i);
        }
}

static void expect_rounds(struct test *t, const struct sync_kind *kind, DAT_COUNT count)
{
        struct rdma rdma = rdma_with(t, kind->rdma, .length = LENGTH);
        struct ranges ranges = {.kind = kind,
                                .parts = parts_of(t, &rdma.remote, count ? count : 1),
                                .count = count,
                                .remote = vector_remote(&rdma.remote)};

        expect_rounds_of(t, &rdma, &ranges);
}

void sync_effect_by_rmr(struct test *t, const struct sync_kind *kind)
{
        DAT_RMR_HANDLE rmr;
        struct rdma rdma = rdma_windowed(t, kind->rdma, &rmr);
        struct ranges ranges = {.kind = kind,
                                .parts = rdma.remote.iov,
                                .count = 1,
                                .remote = vector_remote(&rdma.remote)};

        ranges.remote.rmr_context =
            rdma_must_bind(t, &rdma, rmr, rdma.remote.iov[0], kind->rdma->remote);
        expect_rounds_of(t, &rdma, &ranges);
}

void sync_effect(struct test *t, const struct sync_kind *kind, const struct rdma_count *row)
{
        expect_rounds(t, kind, row->segments);
}

void sync_not_needed(struct test *t, const struct sync_kind *kind)
{
        if (provider_attr(t)->lmr_sync_req)
                unsupported(t, "lmr_sync_req = DAT_TRUE");
        expect_rounds(t, kind, 0);
}

void sync_amid_traffic(struct test *t, const struct sync_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind->rdma, .length = LONG, .dtos = TRAFFIC,
                                     .reads = kind->rdma->reads ? TRAFFIC : 0);

        for (uint64_t i = 0; i < TRAFFIC; i++) {
                must(rdma_post_whole(t, &rdma, i, DAT_COMPLETION_DEFAULT_FLAG));
                expect_legal(t, kind);
        }
        for (uint64_t i = 0; i < TRAFFIC; i++)
                expect_completion(rdma.evd, .ep = rdma.ep, .cookie = i, .length = LONG);
        expect_rdma_bytes(t, &rdma, LONG);
}

/*
 * The array
 */

void sync_array_read_only(struct test *t, const struct sync_kind *kind)
{
        struct buf *buf = content(t, (struct buf_opts){.length = SLOT});
        DAT_LMR_TRIPLET *segment = mmap(NULL, sizeof(*segment), PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (segment == MAP_FAILED)
                resource(t, "no memory for a segment");
        *segment = triplet(buf, 0, SLOT);
        mprotect(segment, sizeof(*segment), PROT_READ);
        expect(kind->call(ia(t), segment, 1), DAT_SUCCESS);
        munmap(segment, sizeof(*segment));
        expect_content(t, buf);
        expect_legal(t, kind);
}

void sync_of_nothing(struct test *t, const struct sync_kind *kind, const struct sync_nothing *row)
{
        struct buf *buf = content(t, (struct buf_opts){.length = SLOT});
        DAT_LMR_TRIPLET segments[] = {triplet(buf, 0, 0), triplet(buf, 99, 0),
                                      triplet(buf, SLOT - 1, 0)};

        expect_may(kind->call(ia(t), row->null_array ? NULL : segments, row->segments),
                   DAT_SUCCESS);
        expect_content(t, buf);
        expect_legal(t, kind);
}

void sync_refused(struct test *t, const struct sync_kind *kind, const struct wrong_row *row)
{
        struct wrong wrong = wrong_with(t, row, kind->rdma->local);

        if (row->kind == WRONG_IA)
                expect_or_note(kind->call(ia(t), wrong.vector.iov, (DAT_VLEN)row->segments),
                               DAT_INVALID_PARAMETER, DAT_INVALID_HANDLE, DAT_SUCCESS);
        else
                expect(kind->call(ia(t), wrong.vector.iov, (DAT_VLEN)row->segments),
                       DAT_INVALID_PARAMETER);
        expect_wrong_untouched(t, &wrong);
        expect_legal(t, kind);
}

void sync_legal(struct test *t, DAT_IA_HANDLE *ia_handle, const DAT_LMR_TRIPLET **segments,
                DAT_VLEN *count)
{
        static DAT_LMR_TRIPLET segment;

        segment = triplet(buf_with(t), 0, SLOT);
        *ia_handle = ia(t);
        *segments = &segment;
        *count = 1;
}
