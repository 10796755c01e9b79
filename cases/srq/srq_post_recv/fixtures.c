/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/srq/srq_post_recv/fixtures.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/segment.h"

#include <stdlib.h>
#include <string.h>

#define WIDEST 8192 /* segments that a case can give */

struct vector vector_with(struct test *t)
{
        struct vector vector = {.buf = buf_with(t)};

        memset(vector.buf->addr, CANARY, vector.buf->length);
        for (int i = 0; i < SEGMENTS; i++)
                vector.iov[i] = triplet(vector.buf, places[i].offset, places[i].length);
        return vector;
}

DAT_SRQ_HANDLE srq_for_vectors(struct test *t)
{
        if (ia_attr(t)->max_iov_segments_per_dto < SEGMENTS)
                unsupported(t, "max_iov_segments_per_dto: fewer than 4");
        return srq_with(t, .max_recv_iov = SEGMENTS);
}

void gather(const struct vector *vector, unsigned char *flat)
{
        for (int i = 0; i < SEGMENTS; i++) {
                memcpy(flat, vector->buf->addr + places[i].offset, places[i].length);
                flat += places[i].length;
        }
}

size_t untouched(const unsigned char *at, size_t length)
{
        size_t count = 0;

        while (count < length && at[count] == CANARY)
                count++;
        return count;
}

void expect_outside_untouched(struct test *t, const struct vector *vector)
{
        unsigned char copy[4096];
        size_t at;

        suite_that(vector->buf->length == sizeof(copy), "a vector's memory has %zu bytes",
                   vector->buf->length);
        memcpy(copy, vector->buf->addr, sizeof(copy));
        for (int i = 0; i < SEGMENTS; i++)
                memset(copy + places[i].offset, CANARY, places[i].length);
        at = untouched(copy, sizeof(copy));
        expect_that(at == sizeof(copy), "byte %zu of the memory, in no segment, was written", at);
}

struct comb comb_for(struct test *t, DAT_SRQ_HANDLE srq, DAT_COUNT wider)
{
        struct comb comb = {.count = srq_param(t, srq).max_recv_iov + wider};

        if (comb.count > WIDEST)
                unsupported(t, "max_recv_iov: more segments than the case can give");
        comb.buf = buf_with(t, .length = (size_t)comb.count * 16);
        comb.iov = calloc((size_t)comb.count, sizeof(*comb.iov));
        if (!comb.iov)
                resource(t, "no memory for a vector");
        memset(comb.buf->addr, CANARY, comb.buf->length);
        for (DAT_COUNT i = 0; i < comb.count; i++)
                comb.iov[i] = triplet(comb.buf, (size_t)i * 16, 8);
        return comb;
}

void expect_comb_filled(struct test *t, DAT_SRQ_HANDLE srq, const struct comb *comb)
{
        static unsigned char message[WIDEST * 8];
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);
        struct peer_ep *end = peer_connect(peer(t), ep);
        size_t count = (size_t)comb->count;

        message_fill(message, count * 8, 0);
        peer_send(end, .length = count * 8);
        expect_eq(expect_dto(ep_recv_evd(t, ep)).transfered_length, count * 8);
        for (size_t i = 0; i < count; i++) {
                expect_that(memcmp(comb->buf->addr + i * 16, message + i * 8, 8) == 0,
                            "segment %zu of %zu does not hold its part of the message", i, count);
                expect_that(untouched(comb->buf->addr + i * 16 + 8, 8) == 8,
                            "memory behind segment %zu was written", i);
        }
}

struct buf *kept_buf(struct test *t, struct buf_opts opts)
{
        struct buf *buf = buf_make(t, opts);

        memset(buf->addr, CANARY, buf->length);
        return buf;
}

struct buf *foreign_buf(struct test *t)
{
        return kept_buf(t, (struct buf_opts){.pz = pz_new(t)});
}

void expect_untouched(struct test *t, const struct buf *buf, const char *what)
{
        size_t kept = untouched(buf->addr, buf->length);

        expect_that(kept == buf->length, "byte %zu of %s was written", kept, what);
}

void expect_violation(struct test *t, DAT_RETURN ret, DAT_SRQ_HANDLE srq, size_t message)
{
        struct peer_ep *end;
        DAT_EP_HANDLE ep;
        DAT_EVENT event;

        if (!dat_is(ret, DAT_SUCCESS))
                return;
        ep = ep_with(t, .srq = srq);
        end = peer_connect(peer(t), ep);
        peer_send(end, .length = message);
        event = expect_event(ep_recv_evd(t, ep), DAT_DTO_COMPLETION_EVENT);
        expect_eq(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_LOCAL_PROTECTION);
}
