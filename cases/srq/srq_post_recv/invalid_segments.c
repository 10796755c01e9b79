/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_post_recv: segments that a receive must not use. */
#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/segment.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_post_recv/fixtures.h"
#include "clauses/srq_post_recv.h"

/* A receive whose vector has a wrong segment. */
struct bad {
        DAT_SRQ_HANDLE srq;
        struct vector vector;
        DAT_COUNT segments;
        size_t message; /* that reaches the wrong segment */
};

static struct bad bad_with(struct test *t, const struct wrong *row, DAT_LMR_TRIPLET segment)
{
        struct bad bad = {.srq = srq_for_vectors(t),
                          .vector = vector_with(t),
                          .segments = row->segments,
                          .message = row->segments == 1 ? places[0].length : VECTOR_LENGTH};

        segment.segment_length = places[row->at].length;
        bad.vector.iov[row->at] = segment;
        return bad;
}

static DAT_RETURN bad_post(struct bad *bad)
{
        return dat_srq_post_recv(bad->srq, bad->segments, bad->vector.iov, COOKIE);
}

FAMILY(srq_post_recv, other_zone, wrongs)
{
        struct buf *buf = foreign_buf(t);
        struct bad bad = bad_with(t, row, triplet(buf, 0, 0));
        DAT_RETURN ret = expect(bad_post(&bad), DAT_PROTECTION_VIOLATION, DAT_SUCCESS);

        expect_violation(t, ret, bad.srq, bad.message);
        expect_untouched(t, buf, "an LMR of another zone");
}

CASE(srq_post_recv, other_zone_unwritten)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct buf *buf = foreign_buf(t);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, MESSAGE);
        DAT_EVENT event;

        (void)dat_srq_post_recv(queue.srq, 1, &segment, COOKIE);
        expect_posts(t, &queue, 1);
        flow_send(&flow, 1);
        event = expect_event(flow.evd, DAT_DTO_COMPLETION_EVENT);

        expect_that(untouched(buf->addr, buf->length) == buf->length,
                    "a message was written to memory of another zone, its completion with status "
                    "%d",
                    (int)event.event_data.dto_completion_event_data.status);
}

CASE(srq_post_recv, own_zone)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct queue queue = {
            .srq = srq_with(t, .pz = zone), .length = MESSAGE, .buf = buf_with(t, .pz = zone)};
        DAT_EP_HANDLE ep = ep_with(t, .srq = queue.srq, .pz = zone);
        struct flow flow = {.ep = ep,
                            .evd = ep_recv_evd(t, ep),
                            .end = peer_connect(peer(t), ep),
                            .length = MESSAGE};

        expect_room(t, &queue, 1);
        queue.posted = 1;
        expect_traffic(t, &queue, &flow, 1);
}

static const struct unprivileged {
        const char *id;
        struct wrong place;
        DAT_MEM_PRIV_FLAGS privileges;
} unprivileged[] = {
    {"only", {"", 1, 0}, DAT_MEM_PRIV_LOCAL_READ_FLAG},
    {"first", {"", SEGMENTS, 0}, DAT_MEM_PRIV_LOCAL_READ_FLAG},
    {"second", {"", SEGMENTS, 1}, DAT_MEM_PRIV_LOCAL_READ_FLAG},
    {"last", {"", SEGMENTS, SEGMENTS - 1}, DAT_MEM_PRIV_LOCAL_READ_FLAG},
    {"remote_read", {"", 1, 0}, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG},
    {"remote_write", {"", 1, 0}, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG},
};

FAMILY(srq_post_recv, no_write_privilege, unprivileged)
{
        struct buf *buf = kept_buf(t, (struct buf_opts){.privileges = row->privileges});
        struct bad bad = bad_with(t, &row->place, triplet(buf, 0, 0));
        DAT_RETURN ret = expect(bad_post(&bad), DAT_PRIVILEGES_VIOLATION, DAT_SUCCESS);

        expect_violation(t, ret, bad.srq, bad.message);
        expect_untouched(t, buf, "an LMR that may not be written");
}

CASE(srq_post_recv, write_privilege_alone)
{
        struct queue queue = {
            .srq = srq_with(t),
            .length = MESSAGE,
            .buf = buf_with(t, .privileges = DAT_MEM_PRIV_LOCAL_WRITE_FLAG),
        };
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        expect_room(t, &queue, 1);
        queue.posted = 1;
        expect_traffic(t, &queue, &flow, 1);
}

FAMILY(srq_post_recv, freed_lmr, wrongs)
{
        struct buf *buf = buf_with(t);
        struct bad bad = bad_with(t, row, triplet(buf, 0, 0));
        DAT_RETURN ret;

        release(t, buf);
        ret = expect(bad_post(&bad), DAT_PRIVILEGES_VIOLATION, DAT_PROTECTION_VIOLATION,
                     DAT_INVALID_PARAMETER, DAT_SUCCESS);
        expect_violation(t, ret, bad.srq, bad.message);
}

FAMILY(srq_post_recv, unknown_lmr, wrongs)
{
        struct buf *buf = kept_buf(t, (struct buf_opts){.length = 0});
        DAT_LMR_TRIPLET segment = triplet(buf, 0, 0);

        segment.lmr_context ^= 0x5a5a00;

        struct bad bad = bad_with(t, row, segment);
        DAT_RETURN ret = expect(bad_post(&bad), DAT_PRIVILEGES_VIOLATION, DAT_PROTECTION_VIOLATION,
                                DAT_INVALID_PARAMETER, DAT_SUCCESS);
        expect_violation(t, ret, bad.srq, bad.message);
        expect_untouched(t, buf, "memory that is named without its LMR");
}

CASE(srq_post_recv, lmr_of_other_ia)
{
        DAT_IA_HANDLE other = other_ia(t);
        struct buf *buf = kept_buf(t, (struct buf_opts){.ia = other, .pz = pz_of(t, other)});
        struct bad bad = bad_with(t, &wrongs[3], triplet(buf, 0, 0));
        DAT_RETURN ret = expect(bad_post(&bad), DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION,
                                DAT_INVALID_PARAMETER, DAT_SUCCESS);

        expect_violation(t, ret, bad.srq, bad.message);
        expect_untouched(t, buf, "an LMR of another IA");
}

#define LMR_LENGTH 4096

/* From a place by which a bound of what is registered is left, with the message that leaves it. */
static const struct bounds {
        const char *id;
        enum { FROM_START, FROM_FIRST, FROM_END } from; /* of the LMR; of what is registered */
        DAT_VADDR offset;                               /* of that byte; it wraps */
        DAT_VLEN length;
        bool to_end;    /* the length is counted from the end of what is registered */
        size_t message; /* 0: one byte more than from the LMR's start to that end */
} bounds[] = {
    {"before_by_one", FROM_FIRST, (DAT_VADDR)-1, 100, false, 100},
    {"after_by_one", FROM_END, (DAT_VADDR)-99, 100, false, 100},
    {"longer_by_one", FROM_START, 0, 1, true, 0},
    {"behind_end", FROM_END, 0, 1, false, 1},
    {"far_behind", FROM_START, UINT64_C(1) << 40, 100, false, 100},
    {"greatest_length", FROM_START, 0, ~(DAT_VLEN)0, false, 0},
    {"longer_by_far", FROM_START, 0, SEGMENT_LONG, true, 0},
};

static DAT_LMR_TRIPLET out_of_bounds(const struct buf *buf, const struct bounds *row)
{
        DAT_LMR_TRIPLET segment = triplet(buf, 0, 0);

        if (row->from == FROM_FIRST)
                segment.virtual_address -= buf->before;
        if (row->from == FROM_END)
                segment.virtual_address += buf->beyond;
        segment.virtual_address += row->offset;
        segment.segment_length = row->length + (row->to_end ? buf->beyond : 0);
        return segment;
}

FAMILY(srq_post_recv, outside_lmr, bounds)
{
        struct buf *buf = buf_with(t, .length = LMR_LENGTH);
        DAT_LMR_TRIPLET segment = out_of_bounds(buf, row);
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_RETURN ret =
            expect(dat_srq_post_recv(srq, 1, &segment, COOKIE), DAT_INVALID_PARAMETER, DAT_SUCCESS);

        expect_violation(t, ret, srq, row->message ? row->message : buf->beyond + 1);
}

FAMILY(srq_post_recv, outside_lmr_at, wrongs)
{
        struct buf *buf = buf_with(t, .length = LMR_LENGTH);
        size_t length = places[row->at].length;
        struct bad bad = bad_with(t, row, triplet(buf, buf->beyond - length + 1, 0));
        DAT_RETURN ret = expect(bad_post(&bad), DAT_INVALID_PARAMETER, DAT_SUCCESS);

        expect_violation(t, ret, bad.srq, bad.message);
}

CASE(srq_post_recv, whole_lmr)
{
        struct buf *buf = buf_with(t, .length = LMR_LENGTH + 3);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, buf->length);
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);
        struct peer_ep *end = peer_connect(peer(t), ep);

        expect(dat_srq_post_recv(srq, 1, &segment, COOKIE), DAT_SUCCESS);
        peer_send(end, .length = buf->length);
        expect_eq(expect_dto(ep_recv_evd(t, ep)).transfered_length, buf->length);
        expect_that(message_holds(buf->addr, buf->length, 0), "the LMR does not hold the message");
}
