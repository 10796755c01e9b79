/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ep/shared/rdma_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case/ep_attr.h"

#define READS 4

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

/* Both ways. */
static DAT_COUNT reads_of_ia(struct test *t)
{
        const DAT_IA_ATTR *attr = ia_attr(t);

        return attr->max_rdma_read_per_ep_in < attr->max_rdma_read_per_ep_out
                   ? attr->max_rdma_read_per_ep_in
                   : attr->max_rdma_read_per_ep_out;
}

static _Noreturn void too_few_reads(struct test *t, DAT_COUNT least, DAT_COUNT wanted)
{
        char text[128];

        snprintf(text, sizeof(text),
                 "max_rdma_read_per_ep_in, max_rdma_read_per_ep_out: %d, and the case has %d",
                 least, wanted);
        unsupported(t, text);
}

static DAT_COUNT reads_of(struct test *t, const struct rdma_kind *kind, DAT_COUNT wanted)
{
        DAT_COUNT least;

        if (!wanted && !kind->reads)
                return 0;
        least = reads_of_ia(t);
        if (least <= 0)
                unsupported(t, "max_rdma_read_per_ep_in, max_rdma_read_per_ep_out: no RDMA reads");
        if (wanted > least)
                too_few_reads(t, least, wanted);
        return wanted ? wanted : least < READS ? least : READS;
}

DAT_EP_ATTR rdma_attr(struct test *t, const struct rdma_kind *kind, struct rdma_opts opts)
{
        DAT_EP_ATTR attr =
            transfer_attr(t, (struct transfer_opts){.dtos = opts.dtos,
                                                    .most = opts.most,
                                                    .reads = reads_of(t, kind, opts.reads),
                                                    .recv_flags = opts.recv_flags,
                                                    .request_flags = opts.request_flags});
        DAT_COUNT segments = opts.split ? opts.split->segments : opts.segments;

        if (!opts.most && opts.length <= EP_ATTR_MESSAGE_MAX)
                must_carry(t, opts.length);
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

DAT_COUNT rdma_at_once(struct test *t, const struct rdma_kind *kind, DAT_COUNT most)
{
        DAT_COUNT least = most;

        if (kind->reads && reads_of_ia(t) < most)
                least = reads_of_ia(t) < 2 ? 2 : reads_of_ia(t);
        return least;
}

struct rdma rdma_deep_make(struct test *t, const struct rdma_kind *kind, struct rdma_opts opts)
{
        DAT_COUNT depth = rdma_at_once(t, kind, OUTSTANDING);
        struct rdma rdma;

        opts.dtos = depth;
        opts.reads = kind->reads ? depth : 0;
        rdma = rdma_make(t, kind, opts);
        rdma.depth = depth;
        return rdma;
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
        loop_join_either(t, &rdma.loop);
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

DAT_RMR_TRIPLET rdma_remote_of(struct peer_memory memory)
{
        return (DAT_RMR_TRIPLET){.rmr_context = memory.rmr_context,
                                 .target_address = memory.address,
                                 .segment_length = MESSAGE};
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

void expect_rdma_silent(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;

        expect(fixture_event_now(t, evd, &event), DAT_QUEUE_EMPTY);
}

void expect_rdma_goes_on(struct test *t, const struct rdma *rdma)
{
        struct rdma next = *rdma;

        next.local = vector_with(t, .length = SMALL, .buf = {.pz = rdma->pz});
        next.remote = vector_with(t, .length = SMALL);
        vector_fill(t, rdma_source(&next), RDMA_MESSAGE);
        expect(rdma_post_whole(t, &next, 4711, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_rdma(t, &next, 4711, SMALL);
        expect_rdma_silent(t, rdma->evd);
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
