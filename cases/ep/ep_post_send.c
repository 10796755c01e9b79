/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_post_send: which messages go, whole and in order, and what the sender is told of them. */
#include "clauses/ep_post_send.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH     ((size_t)5000) /* more than a packet of any path */
#define REFUSALS   8              /* of one send, in a row */
#define PLAIN      DAT_COMPLETION_DEFAULT_FLAG
#define SUPPRESS   DAT_COMPLETION_SUPPRESS_FLAG
#define SOLICITED  DAT_COMPLETION_SOLICITED_WAIT_FLAG
#define UNSIGNAL   DAT_COMPLETION_UNSIGNALLED_FLAG
#define FENCE      DAT_COMPLETION_BARRIER_FENCE_FLAG
#define FLAGS(n_)  ((DAT_COMPLETION_FLAGS)(n_))
#define WIDEST     8192 /* segments that a case can give */
#define MOST_SENDS 512  /* that a case can post at once */
#define FENCED     ((size_t)256 * 1024)
#define ROUNDS     4
#define SENDERS    4
#define LATE_MS    50 /* by which the network makes a read late */

/*
 * Bytes
 */

/* A message goes from one vector to the other, and is told of at both ends. */
static void expect_carried(struct test *t, const struct loop *loop, const struct vector *from,
                           const struct vector *to)
{
        vector_fill(t, from, 1);
        must(recv_vector(loop->passive, to, 2, PLAIN));
        expect(send_vector(loop->active, from, 3, PLAIN), DAT_SUCCESS);

        expect_completion(ep_recv_evd(t, loop->passive), .ep = loop->passive, .cookie = 2,
                          .length = from->length);
        expect_completion(ep_request_evd(t, loop->active), .ep = loop->active, .cookie = 3,
                          .length = from->length);
        expect_holds(to, 1, from->length);
        expect_holds(from, 1, from->length);
}

FAMILY(ep_post_send, length, transfer_lengths)
{
        struct loop loop = transfer_with(t);
        DAT_VLEN most = transfer_attr(t, (struct transfer_opts){0}).max_message_size;
        size_t length = length_of(t, row, most);
        struct vector from = vector_with(t, .length = length);
        struct vector to = vector_with(t, .length = length);

        expect_carried(t, &loop, &from, &to);
}

FAMILY(ep_post_send, gathered, splits)
{
        struct loop loop = transfer_with(t, .segments = row->segments);
        struct vector from = vector_with(t, .length = LENGTH, .split = row);
        struct vector to = vector_with(t, .length = LENGTH);

        expect_carried(t, &loop, &from, &to);
}

static const struct alignment {
        const char *id;
        unsigned int from;
        unsigned int to;
} alignments[] = {
    {"both", 0, 0},  {"source_by_1", 1, 0}, {"source_by_4", 4, 0}, {"source_by_63", 63, 0},
    {"alike", 3, 3}, {"target_by_1", 0, 1}, {"unlike", 13, 58},
};

FAMILY(ep_post_send, aligned, alignments)
{
        struct loop loop = transfer_with(t, .segments = 3);
        struct vector from =
            vector_with(t, .length = LENGTH, .segments = 3, .aligned = true, .shift = row->from);
        struct vector to =
            vector_with(t, .length = LENGTH, .segments = 2, .aligned = true, .shift = row->to);

        expect_carried(t, &loop, &from, &to);
}

/* As many segments as the EP tells; each is of two bytes. */
CASE(ep_post_send, most_segments)
{
        DAT_COUNT most = ia_attr(t)->max_iov_segments_per_dto;
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){0});
        struct loop loop;

        attr.max_request_iov = most;
        loop = loop_of(t, (struct ep_opts){.attr = &attr}, (struct ep_opts){0});
        loop_join(t, &loop);
        most = ep_snapshot(t, loop.active).param.ep_attr.max_request_iov;
        if (most > WIDEST)
                unsupported(t, "max_request_iov: more segments than the case can give");

        struct vector from = vector_with(t, .length = 2 * (size_t)most, .segments = most);
        struct vector to = vector_with(t, .length = 2 * (size_t)most);
        expect_carried(t, &loop, &from, &to);
}

CASE(ep_post_send, fewer_segments_than_vector)
{
        struct loop loop = transfer_with(t, .segments = 4);
        struct vector from = vector_with(t, .length = LENGTH, .segments = 4);
        struct vector to = vector_with(t, .length = LENGTH);

        vector_fill(t, &from, 1);
        must(recv_vector(loop.passive, &to, 2, PLAIN));
        expect(dat_ep_post_send(loop.active, 2, from.iov, COOKIE(3), PLAIN), DAT_SUCCESS);

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = LENGTH / 2);
        expect_completion(ep_request_evd(t, loop.active), .ep = loop.active, .cookie = 3,
                          .length = LENGTH / 2);
        expect_holds(&to, 1, LENGTH / 2);
}

CASE(ep_post_send, segments_of_several_lmrs)
{
        struct loop loop = transfer_with(t, .segments = 3);
        struct vector to = vector_with(t, .length = 3 * MESSAGE);
        struct vector from = {.count = 3, .length = 3 * MESSAGE};
        unsigned char message[3 * MESSAGE];
        DAT_LMR_TRIPLET iov[3];

        message_fill(message, sizeof(message), 1);
        for (size_t i = 0; i < 3; i++) {
                struct buf *buf = buf_with(t, .length = MESSAGE);

                memcpy(buf->addr, message + i * MESSAGE, MESSAGE);
                iov[i] = triplet(buf, 0, MESSAGE);
        }
        from.iov = iov;
        must(recv_vector(loop.passive, &to, 2, PLAIN));
        expect(send_vector(loop.active, &from, 3, PLAIN), DAT_SUCCESS);

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = sizeof(message));
        expect_holds(&to, 1, sizeof(message));
}

static const struct repeated {
        const char *id;
        size_t behind; /* the second segment begins so many bytes behind the first */
} repeats[] = {
    {"the_same", 0},
    {"overlapping", 100},
};

/* The bytes of overlapping segments go once for each segment that they are in. */
FAMILY(ep_post_send, bytes_in_two_segments, repeats)
{
        struct loop loop = transfer_with(t, .segments = 2);
        struct buf *from = buf_with(t);
        struct buf *to = buf_with(t);
        DAT_LMR_TRIPLET segments[2] = {triplet(from, 0, 1000), triplet(from, row->behind, 1000)};
        DAT_LMR_TRIPLET segment = triplet(to, 0, 2000);

        message_fill(from->addr, from->length, 1);
        must(dat_ep_post_recv(loop.passive, 1, &segment, COOKIE(2), PLAIN));
        expect(dat_ep_post_send(loop.active, 2, segments, COOKIE(3), PLAIN), DAT_SUCCESS);

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = 2000);
        expect_that(memcmp(to->addr, from->addr, 1000) == 0, "the first segment did not come");
        expect_that(memcmp(to->addr + 1000, from->addr + row->behind, 1000) == 0,
                    "the second segment did not come");
}

CASE(ep_post_send, whole_lmr)
{
        struct loop loop = transfer_with(t);
        struct buf *from = buf_with(t, .length = LENGTH);
        struct vector to = vector_with(t, .length = LENGTH);
        DAT_LMR_TRIPLET segment = triplet(from, 0, LENGTH);

        message_fill(from->addr, LENGTH, 1);
        must(recv_vector(loop.passive, &to, 2, PLAIN));
        expect(dat_ep_post_send(loop.active, 1, &segment, COOKIE(3), PLAIN), DAT_SUCCESS);

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = LENGTH);
        expect_holds(&to, 1, LENGTH);
}

CASE(ep_post_send, read_privilege_alone)
{
        struct loop loop = transfer_with(t);
        struct vector from =
            vector_with(t, .length = LENGTH, .buf.privileges = DAT_MEM_PRIV_LOCAL_READ_FLAG);
        struct vector to = vector_with(t, .length = LENGTH);

        expect_carried(t, &loop, &from, &to);
}

CASE(ep_post_send, own_zone)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct loop loop = transfer_with(t, .pz = zone);
        struct vector from = vector_with(t, .length = LENGTH, .buf.pz = zone);
        struct vector to = vector_with(t, .length = LENGTH);

        expect_carried(t, &loop, &from, &to);
}

/*
 * Messages without bytes
 */

static const struct empty {
        const char *id;
        bool vector;
} empties[] = {
    {"null_vector", false},
    {"unused_vector", true},
};

FAMILY(ep_post_send, empty, empties)
{
        struct loop loop = transfer_with(t);
        struct vector from = vector_with(t, .length = LENGTH);
        struct vector to = vector_with(t, .length = LENGTH);

        vector_fill(t, &from, 1);
        must(recv_vector(loop.passive, &to, 2, PLAIN));
        memset(from.iov, 0xff, sizeof(*from.iov));
        expect(dat_ep_post_send(loop.active, 0, row->vector ? from.iov : NULL, COOKIE(3), PLAIN),
               DAT_SUCCESS);

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2);
        expect_completion(ep_request_evd(t, loop.active), .ep = loop.active, .cookie = 3);
        expect_untouched(&to);
}

FAMILY(ep_post_send, segment_without_length, splits_with_empty)
{
        struct loop loop = transfer_with(t, .segments = row->segments);
        struct vector from = vector_with(t, .length = LENGTH, .split = row);
        struct vector to = vector_with(t, .length = LENGTH);
        DAT_RETURN ret;

        vector_fill(t, &from, 1);
        must(recv_vector(loop.passive, &to, 2, PLAIN));
        ret = expect(send_vector(loop.active, &from, 3, PLAIN), DAT_SUCCESS, DAT_INVALID_PARAMETER);
        if (!dat_is(ret, DAT_SUCCESS))
                return;
        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = LENGTH);
        expect_holds(&to, 1, LENGTH);
}

/*
 * To another host
 */

static const struct length_row far_lengths[] = {
    {"none", 0}, {"one", 1}, LENGTHS_AROUND(1024), LENGTHS_AROUND(4096), {"many_packets", 300007},
};

FAMILY(ep_post_send, far_length, far_lengths)
{
        DAT_EP_HANDLE ep = ep_with(t);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct vector from = vector_with(t, .length = row->length);

        vector_fill(t, &from, 5);
        peer_post_recv(end, 1, row->length + 1);
        expect(send_vector(ep, &from, 3, PLAIN), DAT_SUCCESS);

        expect_peer_has(end, 5, row->length);
        expect_completion(ep_request_evd(t, ep), .ep = ep, .cookie = 3, .length = row->length);
}

FAMILY(ep_post_send, far_gathered, splits)
{
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){.segments = row->segments});
        DAT_EP_HANDLE ep = ep_with(t, .attr = &attr);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct vector from = vector_with(t, .length = LENGTH, .split = row);

        vector_fill(t, &from, 5);
        peer_post_recv(end, 1, LENGTH);
        expect(send_vector(ep, &from, 3, PLAIN), DAT_SUCCESS);

        expect_peer_has(end, 5, LENGTH);
}

CASE(ep_post_send, far_order)
{
        DAT_EP_HANDLE ep = ep_with(t);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct vector from[8];

        peer_post_recv(end, 8, LENGTH);
        for (uint64_t i = 0; i < 8; i++) {
                from[i] = vector_with(t, .length = LENGTH - 600 * i);
                vector_fill(t, &from[i], i);
                expect(send_vector(ep, &from[i], i, PLAIN), DAT_SUCCESS);
        }
        for (uint64_t i = 0; i < 8; i++) {
                expect_peer_has(end, i, LENGTH - 600 * i);
                expect_completion(ep_request_evd(t, ep), .ep = ep, .cookie = i,
                                  .length = LENGTH - 600 * i);
        }
}

/*
 * Cookies, and the order of things
 */

/* A completion, of whatever status but success. */
static DAT_DTO_COMPLETION_EVENT_DATA expect_dto_failed(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event = expect_event(evd, DAT_DTO_COMPLETION_EVENT);

        expect_that(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS,
                    "a message that nobody received is told as sent");
        return event.event_data.dto_completion_event_data;
}

#define EVERY_BYTE UINT64_C(0x0123456789abcdef)

static const struct cookie {
        const char *id;
        uint64_t value;
} cookies[] = {
    {"null", 0},
    {"all_ones", UINT64_MAX},
    {"lowest_bit", 1},
    {"highest_bit", UINT64_C(1) << 63},
    {"low_half", UINT32_MAX},
    {"high_half", (uint64_t)UINT32_MAX << 32},
    {"every_byte", EVERY_BYTE},
};

FAMILY(ep_post_send, cookie, cookies)
{
        struct line line = line_with(t);
        DAT_LMR_TRIPLET segment = triplet(line.source, 0, MESSAGE);

        must_line_recv(t, &line, 1);
        expect(dat_ep_post_send(line.from, 1, &segment, COOKIE(row->value), PLAIN), DAT_SUCCESS);

        expect_completion(ep_request_evd(t, line.from), .ep = line.from, .cookie = row->value,
                          .length = MESSAGE);
}

/* What becomes of a send whose cookie has bits in each byte. */
static const struct outcome {
        const char *id;
        DAT_COUNT segments;
        bool heard;    /* a receive is there for it */
        bool too_late; /* posted when the connection has ended */
} outcomes[] = {
    {"no_segments", 0, .heard = true, .too_late = false},
    {"several_segments", 4, .heard = true, .too_late = false},
    {"cut_off", 4, .heard = false, .too_late = false},
    {"flushed", 1, .heard = false, .too_late = true},
    {"flushed_no_segments", 0, .heard = false, .too_late = true},
    {"flushed_several_segments", 4, .heard = false, .too_late = true},
};

FAMILY(ep_post_send, cookie_of, outcomes)
{
        struct loop loop = transfer_with(t, .segments = 4);
        DAT_EVD_HANDLE evd = ep_request_evd(t, loop.active);
        struct vector from = vector_with(t, .length = LENGTH, .segments = 4);
        struct vector to = vector_with(t, .length = LENGTH);
        size_t length = 0;

        for (DAT_COUNT i = 0; i < row->segments; i++)
                length += from.iov[i].segment_length;
        if (row->heard)
                must(recv_vector(loop.passive, &to, 2, PLAIN));
        if (row->too_late)
                must_end(t, &loop);
        expect(dat_ep_post_send(loop.active, row->segments, row->segments ? from.iov : NULL,
                                COOKIE(EVERY_BYTE), PLAIN),
               DAT_SUCCESS);
        if (!row->heard && !row->too_late)
                must_end(t, &loop);

        if (row->heard)
                expect_completion(evd, .ep = loop.active, .cookie = EVERY_BYTE, .length = length);
        else if (row->too_late)
                expect_completion(evd, .ep = loop.active, .cookie = EVERY_BYTE,
                                  .status = DAT_DTO_ERR_FLUSHED);
        else
                expect_eq(expect_dto_failed(t, evd).user_cookie.as_64, EVERY_BYTE);
        expect_empty(t, evd);
}

CASE(ep_post_send, same_cookie)
{
        struct line line = line_with(t);
        DAT_LMR_TRIPLET segment = triplet(line.source, 0, MESSAGE);

        must_line_recv(t, &line, 4);
        for (int i = 0; i < 4; i++)
                expect(dat_ep_post_send(line.from, 1, &segment, COOKIE(9), PLAIN), DAT_SUCCESS);

        for (int i = 0; i < 4; i++)
                expect_completion(ep_request_evd(t, line.from), .ep = line.from, .cookie = 9,
                                  .length = MESSAGE);
        expect_empty(t, ep_request_evd(t, line.from));
}

CASE(ep_post_send, in_order)
{
        struct loop loop = transfer_with(t);
        static const size_t lengths[] = {9000, 1, 4096, 300, 20000, 8, 0, 2048};
        struct vector to[8];

        for (uint64_t i = 0; i < 8; i++) {
                to[i] = vector_with(t, .length = 20000);
                must(recv_vector(loop.passive, &to[i], i, PLAIN));
        }
        for (uint64_t i = 0; i < 8; i++) {
                struct vector from = vector_with(t, .length = lengths[i]);

                vector_fill(t, &from, i);
                expect(send_vector(loop.active, &from, i, PLAIN), DAT_SUCCESS);
        }
        for (uint64_t i = 0; i < 8; i++) {
                expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = i,
                                  .length = lengths[i]);
                expect_holds(&to[i], i, lengths[i]);
                expect_completion(ep_request_evd(t, loop.active), .ep = loop.active, .cookie = i,
                                  .length = lengths[i]);
        }
        expect_empty(t, ep_request_evd(t, loop.active));
}

/* Whoever has the message has what was written before it. */
CASE(ep_post_send, after_rdma_write)
{
        struct loop loop = transfer_with(t);
        struct line line = line_between(t, loop.active, loop.passive, 1);
        struct vector from = vector_with(t, .length = 100000);
        struct vector to = vector_with(t, .length = 100000);
        DAT_RMR_TRIPLET remote = vector_remote(&to);

        vector_fill(t, &from, 7);
        must_line_recv(t, &line, 1);
        must(dat_ep_post_rdma_write(loop.active, 1, from.iov, COOKIE(70), &remote, PLAIN));
        expect(line_send(&line, PLAIN), DAT_SUCCESS);

        expect_arrivals(t, &line, 1);
        expect_holds(&to, 7, to.length);
        expect_completion(ep_request_evd(t, loop.active), .ep = loop.active, .cookie = 70,
                          .length = to.length);
        expect_sends_complete(t, &line, 1);
}

/* A fenced send goes when the read before it is done: it carries what the read brought. */
CASE(ep_post_send, fenced_after_read)
{
        struct loop loop = transfer_with(t, .reads = 1);
        struct vector away = vector_with(t, .length = FENCED);
        DAT_RMR_TRIPLET remote = vector_remote(&away);

        for (uint64_t i = 0; i < ROUNDS; i++) {
                struct vector between = vector_with(t, .length = FENCED);
                struct vector to = vector_with(t, .length = FENCED);

                vector_fill(t, &away, i);
                must(recv_vector(loop.passive, &to, i, PLAIN));
                must(dat_ep_post_rdma_read(loop.active, 1, between.iov, COOKIE(100), &remote,
                                           PLAIN));
                expect(send_vector(loop.active, &between, i, FENCE), DAT_SUCCESS);

                expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = i,
                                  .length = FENCED);
                expect_holds(&to, i, FENCED);
                expect_completion(ep_request_evd(t, loop.active), .ep = loop.active, .cookie = 100,
                                  .length = FENCED);
                expect_completion(ep_request_evd(t, loop.active), .ep = loop.active, .cookie = i,
                                  .length = FENCED);
        }
}

/* The same where the read takes its time. */
CASE(ep_post_send, fenced_after_late_read)
{
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){.reads = 1});
        DAT_EP_HANDLE ep = ep_with(t, .attr = &attr);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct peer_memory away = peer_expose(end, LENGTH);
        struct vector between = vector_with(t, .length = LENGTH);
        DAT_RMR_TRIPLET remote = {.rmr_context = away.rmr_context,
                                  .target_address = away.address,
                                  .segment_length = LENGTH};

        peer_post_recv(end, 1, LENGTH);
        peer_disturb(peer(t), .delay_ms = LATE_MS);
        must(dat_ep_post_rdma_read(ep, 1, between.iov, COOKIE(1), &remote, PLAIN));
        expect(send_vector(ep, &between, 2, FENCE), DAT_SUCCESS);

        expect_peer_has(end, 0, LENGTH);
        expect_completion(ep_request_evd(t, ep), .ep = ep, .cookie = 1, .length = LENGTH);
        expect_completion(ep_request_evd(t, ep), .ep = ep, .cookie = 2, .length = LENGTH);
}

/* While it has no receive, a transport may repeat the send together with the read behind it. */
CASE(ep_post_send, fenced_before_receive)
{
        struct loop loop = transfer_with(t, .reads = 1);
        DAT_EVD_HANDLE requests = ep_request_evd(t, loop.active);
        struct vector away = vector_with(t, .length = FENCED);
        struct vector from = vector_with(t, .length = FENCED);
        struct vector to = vector_with(t, .length = FENCED);
        struct vector brought = vector_with(t, .length = FENCED);
        DAT_RMR_TRIPLET remote = vector_remote(&away);
        DAT_EVENT event;

        vector_fill(t, &away, 1);
        vector_fill(t, &from, 2);
        expect(send_vector(loop.active, &from, 1, FENCE), DAT_SUCCESS);
        must(dat_ep_post_rdma_read(loop.active, 1, brought.iov, COOKIE(2), &remote, PLAIN));
        settle_briefly(t);
        if (dat_is(dat_evd_dequeue(requests, &event), DAT_SUCCESS)) {
                expect_that(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS,
                            "a message that nobody received is told as sent");
                note(t, "the transport keeps no message for a receive to come");
                return;
        }
        must(recv_vector(loop.passive, &to, 3, PLAIN));

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 3,
                          .length = FENCED);
        expect_holds(&to, 2, FENCED);
        expect_completion(requests, .ep = loop.active, .cookie = 1, .length = FENCED);
        expect_completion(requests, .ep = loop.active, .cookie = 2, .length = FENCED);
        expect_holds(&brought, 1, FENCED);
}

/*
 * Completion flags
 */

static const struct flagged {
        const char *id;
        DAT_COMPLETION_FLAGS of_ep;
        DAT_COMPLETION_FLAGS flags;
} flagged[] = {
    {"plain", PLAIN, PLAIN},
    {"suppress", PLAIN, SUPPRESS},
    {"solicited", PLAIN, SOLICITED},
    {"fence", PLAIN, FENCE},
    {"suppress_solicited", PLAIN, FLAGS(SUPPRESS | SOLICITED)},
    {"suppress_fence", PLAIN, FLAGS(SUPPRESS | FENCE)},
    {"solicited_fence", PLAIN, FLAGS(SOLICITED | FENCE)},
    {"suppress_solicited_fence", PLAIN, FLAGS(SUPPRESS | SOLICITED | FENCE)},
    {"unsignalled_plain", UNSIGNAL, PLAIN},
    {"unsignalled", UNSIGNAL, UNSIGNAL},
    {"unsignalled_suppress", UNSIGNAL, FLAGS(UNSIGNAL | SUPPRESS)},
    {"unsignalled_solicited", UNSIGNAL, FLAGS(UNSIGNAL | SOLICITED)},
    {"unsignalled_fence", UNSIGNAL, FLAGS(UNSIGNAL | FENCE)},
    {"unsignalled_suppress_solicited", UNSIGNAL, FLAGS(UNSIGNAL | SUPPRESS | SOLICITED)},
    {"unsignalled_suppress_fence", UNSIGNAL, FLAGS(UNSIGNAL | SUPPRESS | FENCE)},
    {"unsignalled_solicited_fence", UNSIGNAL, FLAGS(UNSIGNAL | SOLICITED | FENCE)},
    {"unsignalled_all", UNSIGNAL, FLAGS(UNSIGNAL | SUPPRESS | SOLICITED | FENCE)},
    {"threshold_plain", DAT_COMPLETION_EVD_THRESHOLD_FLAG, PLAIN},
    {"threshold_suppress", DAT_COMPLETION_EVD_THRESHOLD_FLAG, SUPPRESS},
    {"threshold_solicited", DAT_COMPLETION_EVD_THRESHOLD_FLAG, SOLICITED},
    {"threshold_fence", DAT_COMPLETION_EVD_THRESHOLD_FLAG, FENCE},
};

/* Two sends with the flags and a plain one: each message comes; what is suppressed tells nothing.
 */
FAMILY(ep_post_send, flags, flagged)
{
        struct line line = line_with(t, .request_flags = row->of_ep);

        must_line_recv(t, &line, 3);
        expect(line_send(&line, row->flags), DAT_SUCCESS);
        expect(line_send(&line, row->flags), DAT_SUCCESS);
        expect(line_send(&line, PLAIN), DAT_SUCCESS);

        expect_arrivals(t, &line, 3);
        if (row->flags & SUPPRESS)
                line.complete = 2;
        expect_sends_complete(t, &line, 3 - (int)line.complete);
        expect_empty(t, ep_request_evd(t, line.from));
}

/* What fails is told of, whatever was to be suppressed: two sends, flushed in their order. */
FAMILY(ep_post_send, flags_of_flushed, flagged)
{
        struct loop loop = transfer_with(t, .request_flags = row->of_ep);
        struct line line = line_between(t, loop.active, loop.passive, 2);

        must_end(t, &loop);
        expect(line_send(&line, row->flags), DAT_SUCCESS);
        expect(line_send(&line, PLAIN), DAT_SUCCESS);

        for (uint64_t i = 0; i < 2; i++)
                expect_completion(ep_request_evd(t, line.from), .ep = line.from, .cookie = i,
                                  .status = DAT_DTO_ERR_FLUSHED);
        expect_empty(t, ep_request_evd(t, line.from));
}

/* A send that nobody receives ends with the connection, and is told of. */
FAMILY(ep_post_send, flags_of_failed, flagged)
{
        struct loop loop = transfer_with(t, .request_flags = row->of_ep);
        struct line line = line_between(t, loop.active, loop.passive, 2);
        DAT_DTO_COMPLETION_EVENT_DATA dto;

        expect(line_send(&line, row->flags), DAT_SUCCESS);
        must(dat_ep_disconnect(loop.active, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, loop.active), DAT_CONNECTION_EVENT_DISCONNECTED);
        must(line_send(&line, PLAIN));

        dto = expect_dto_failed(t, ep_request_evd(t, line.from));
        expect_that(dto.ep_handle == line.from, "the completion names another EP");
        expect_eq(dto.user_cookie.as_64, 0);
}

static const struct unconfigured {
        const char *id;
        DAT_COMPLETION_FLAGS of_ep;
        DAT_COMPLETION_FLAGS flags;
        DAT_COMPLETION_FLAGS of_receives; /* the EP's other attribute */
} unconfigured[] = {
    {"alone", PLAIN, UNSIGNAL, .of_receives = PLAIN},
    {"with_suppress", PLAIN, FLAGS(UNSIGNAL | SUPPRESS), .of_receives = PLAIN},
    {"with_solicited", PLAIN, FLAGS(UNSIGNAL | SOLICITED), .of_receives = PLAIN},
    {"with_fence", PLAIN, FLAGS(UNSIGNAL | FENCE), .of_receives = PLAIN},
    {"threshold", DAT_COMPLETION_EVD_THRESHOLD_FLAG, UNSIGNAL, .of_receives = PLAIN},
    {"for_receives", PLAIN, UNSIGNAL, .of_receives = UNSIGNAL},
};

/* The refused send was none: the next one is the first to come, and the first to complete. */
static void expect_no_send(struct test *t, struct line *line)
{
        must_line_recv(t, line, 1);
        expect(line_send(line, PLAIN), DAT_SUCCESS);
        expect_arrivals(t, line, 1);
        expect_sends_complete(t, line, 1);
        expect_empty(t, ep_request_evd(t, line->from));
}

FAMILY(ep_post_send, unsignalled_unconfigured, unconfigured)
{
        struct line line =
            line_with(t, .request_flags = row->of_ep, .recv_flags = row->of_receives);

        expect(line_send(&line, row->flags), DAT_INVALID_PARAMETER);
        expect_no_send(t, &line);
}

static const struct undefined {
        const char *id;
        unsigned int flags;
} undefined[] = {
    {"next_bit", 0x20},       {"next_bit_with_suppress", 0x21},
    {"middle_bit", 1U << 16}, {"highest_bit", 1U << 31},
    {"all_bits", ~0U},
};

FAMILY(ep_post_send, undefined_flags, undefined)
{
        struct line line = line_with(t);

        expect(line_send(&line, FLAGS(row->flags)), DAT_INVALID_PARAMETER);
        expect_no_send(t, &line);
}

/* Who waits for solicited messages alone is woken by one, and finds what came before. */
static const struct flagged solicitations[] = {
    {"alone", PLAIN, SOLICITED},
    {"with_suppress", PLAIN, FLAGS(SOLICITED | SUPPRESS)},
    {"with_fence", PLAIN, FLAGS(SOLICITED | FENCE)},
    {"with_unsignalled", UNSIGNAL, FLAGS(SOLICITED | UNSIGNAL)},
};

FAMILY(ep_post_send, solicited_wakes, solicitations)
{
        struct line line = line_with(t, .recv_flags = SOLICITED, .request_flags = row->of_ep);
        DAT_EVD_HANDLE evd = ep_recv_evd(t, line.to);
        struct waiter *waiter;
        struct woken woken;

        must_line_recv(t, &line, 2);
        waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        expect(line_send(&line, PLAIN), DAT_SUCCESS);
        expect(line_send(&line, row->flags), DAT_SUCCESS);
        woken = expect_awake(waiter);

        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_number, DAT_DTO_COMPLETION_EVENT);
        completion_is(t, CHECK_SITE_("what woke the waiter"), &woken.event,
                      &(struct completion){.ep = line.to, .cookie = 0, .length = MESSAGE}, true);
        line.arrived = 1;
        expect_arrivals(t, &line, 1);
}

/* Messages of all shapes, for flags that are to act whatever is sent with them. */
static const struct shape {
        const char *id;
        DAT_COUNT segments;
        size_t length;
} shapes[] = {
    {"no_bytes", 0, 0},
    {"several_segments", 3, LENGTH},
    {"many_packets", 1, 100000},
};

FAMILY(ep_post_send, solicited_shape_wakes, shapes)
{
        struct loop loop = transfer_with(t, .segments = 3, .recv_flags = SOLICITED);
        DAT_EVD_HANDLE evd = ep_recv_evd(t, loop.passive);
        struct vector from = vector_with(t, .length = row->length, .segments = row->segments);
        struct vector to = vector_with(t, .length = row->length + 1);
        struct waiter *waiter;
        struct woken woken;

        must(recv_vector(loop.passive, &to, 2, PLAIN));
        waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        expect(send_vector(loop.active, &from, 3, SOLICITED), DAT_SUCCESS);
        woken = expect_awake(waiter);

        expect(woken.ret, DAT_SUCCESS);
        completion_is(t, CHECK_SITE_("what woke the waiter"), &woken.event,
                      &(struct completion){.ep = loop.passive, .cookie = 2, .length = row->length},
                      true);
}

/* Who waits for solicited messages sleeps while others come, of any shape and with any flag. */
static const struct unsolicited {
        const char *id;
        struct shape shape;
        DAT_COMPLETION_FLAGS flags;
} unsolicited[] = {
    {"plain", {"", 1, MESSAGE}, PLAIN},
    {"no_bytes", {"", 0, 0}, PLAIN},
    {"several_segments", {"", 3, LENGTH}, PLAIN},
    {"many_packets", {"", 1, 100000}, PLAIN},
    {"with_suppress", {"", 1, MESSAGE}, SUPPRESS},
    {"with_fence", {"", 1, MESSAGE}, FENCE},
    {"with_suppress_fence", {"", 1, MESSAGE}, FLAGS(SUPPRESS | FENCE)},
};

FAMILY(ep_post_send, unsolicited_wakes_nobody, unsolicited)
{
        struct loop loop = transfer_with(t, .segments = 3, .recv_flags = SOLICITED);
        DAT_EVD_HANDLE evd = ep_recv_evd(t, loop.passive);
        size_t length = row->shape.length;
        struct vector from = vector_with(t, .length = length, .segments = row->shape.segments);
        struct vector last = vector_with(t, .length = MESSAGE);
        struct vector to = vector_with(t, .length = length + MESSAGE);
        struct waiter *waiter;
        struct woken woken;

        for (uint64_t i = 0; i < 2; i++)
                must(recv_vector(loop.passive, &to, i, PLAIN));
        waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        expect(send_vector(loop.active, &from, 0, row->flags), DAT_SUCCESS);
        expect_asleep(waiter);
        expect(send_vector(loop.active, &last, 1, SOLICITED), DAT_SUCCESS);
        woken = expect_awake(waiter);

        expect(woken.ret, DAT_SUCCESS);
        completion_is(t, CHECK_SITE_("what the waiter was given"), &woken.event,
                      &(struct completion){.ep = loop.passive, .cookie = 0, .length = length},
                      true);
        expect_completion(evd, .ep = loop.passive, .cookie = 1, .length = MESSAGE);
}

/* The success of a message of any shape can be suppressed: the first to be told of is the next. */
FAMILY(ep_post_send, suppressed_shape, shapes)
{
        struct loop loop = transfer_with(t, .segments = 3);
        DAT_EVD_HANDLE evd = ep_request_evd(t, loop.active);
        struct vector from = vector_with(t, .length = row->length, .segments = row->segments);
        struct vector to = vector_with(t, .length = row->length + 1);

        for (uint64_t i = 0; i < 2; i++)
                must(recv_vector(loop.passive, &to, i, PLAIN));
        expect(send_vector(loop.active, &from, 0, SUPPRESS), DAT_SUCCESS);
        expect(send_vector(loop.active, &from, 1, PLAIN), DAT_SUCCESS);

        expect_completion(evd, .ep = loop.active, .cookie = 1, .length = row->length);
        expect_empty(t, evd);
        for (uint64_t i = 0; i < 2; i++)
                expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = i,
                                  .length = row->length);
}

CASE(ep_post_send, solicited_empty_wakes)
{
        struct line line = line_with(t, .recv_flags = SOLICITED);
        struct waiter *waiter;
        struct woken woken;

        must_line_recv(t, &line, 1);
        waiter = wait_on_evd(t, ep_recv_evd(t, line.to), DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        expect(dat_ep_post_send(line.from, 0, NULL, COOKIE(3), SOLICITED), DAT_SUCCESS);
        woken = expect_awake(waiter);

        expect(woken.ret, DAT_SUCCESS);
        completion_is(t, CHECK_SITE_("what woke the waiter"), &woken.event,
                      &(struct completion){.ep = line.to, .cookie = 0}, true);
        expect_completion(ep_request_evd(t, line.from), .ep = line.from, .cookie = 3);
}

CASE(ep_post_send, unsignalled_wakes_nobody)
{
        struct line line = line_with(t, .request_flags = UNSIGNAL);
        DAT_EVD_HANDLE evd = ep_request_evd(t, line.from);
        struct waiter *waiter;
        struct woken woken;

        must_line_recv(t, &line, 2);
        waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        expect(line_send(&line, UNSIGNAL), DAT_SUCCESS);
        expect_arrivals(t, &line, 1);
        expect_asleep(waiter);
        expect(line_send(&line, PLAIN), DAT_SUCCESS);
        woken = expect_awake(waiter);

        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_number, DAT_DTO_COMPLETION_EVENT);
        completion_is(t, CHECK_SITE_("what the waiter was given"), &woken.event,
                      &(struct completion){.ep = line.from, .cookie = 0, .length = MESSAGE}, true);
        line.complete = 1;
        expect_sends_complete(t, &line, 1);
}

/* More suppressed sends than the EVD has places leave it room for what is told. */
CASE(ep_post_send, suppressed_take_no_place)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = 16);
        struct line line = line_with(t, .request_evd = evd);

        for (int i = 0; i < 64; i += 8) {
                must_line_recv(t, &line, 8);
                for (int k = 0; k < 7; k++)
                        expect(line_send(&line, SUPPRESS), DAT_SUCCESS);
                expect(line_send(&line, PLAIN), DAT_SUCCESS);
                expect_arrivals(t, &line, 8);
        }
        for (uint64_t i = 7; i < 64; i += 8)
                expect_completion(evd, .ep = line.from, .cookie = i, .length = MESSAGE);
        expect_empty(t, evd);
        expect_empty(t, async_evd(t));
}

/*
 * Depth
 */

/* An EP of which as many sends wait as it tells that it takes, for receives that are not there. */
struct full {
        struct line line;
        DAT_COUNT places;
};

static struct full fill(struct test *t)
{
        DAT_EVD_HANDLE sent = evd_of_at_most(t, MOST_SENDS + 16);
        DAT_EVD_HANDLE received = evd_of_at_most(t, MOST_SENDS + 16);
        struct loop loop = transfer_with(t, .request_evd = sent, .recv_evd = received);
        DAT_COUNT places = ep_snapshot(t, loop.active).param.ep_attr.max_request_dtos;
        struct full full;

        must_have_room(t, sent, places + 1);
        full = (struct full){.line = line_between(t, loop.active, loop.passive, MOST_SENDS + 16),
                             .places = places};
        for (DAT_COUNT i = 0; i < places; i++)
                expect(line_send(&full.line, PLAIN), DAT_SUCCESS);
        if (ep_state(t, full.line.from) != DAT_EP_STATE_CONNECTED)
                end_noted(t, "the transport ends a connection whose messages nobody receives");
        return full;
}

/* Receives, one after the other, for all that was sent and is on its way. */
static void expect_all_come(struct test *t, struct line *line)
{
        while (line->arrived < line->sent) {
                must_line_recv(t, line, 1);
                expect_arrivals(t, line, 1);
        }
        expect_sends_complete(t, line, (int)(line->sent - line->complete));
        expect_empty(t, ep_request_evd(t, line->from));
}

CASE(ep_post_send, every_place)
{
        struct full full = fill(t);

        expect_all_come(t, &full.line);
}

CASE(ep_post_send, one_too_many)
{
        struct full full = fill(t);
        DAT_RETURN ret =
            expect(line_send(&full.line, PLAIN), DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);

        if (dat_is(ret, DAT_SUCCESS))
                note(t, "a send was taken beyond max_request_dtos");
        expect_all_come(t, &full.line);
}

CASE(ep_post_send, place_given_back)
{
        struct full full = fill(t);

        for (int i = 0; i < 3; i++) {
                must_line_recv(t, &full.line, 1);
                expect_arrivals(t, &full.line, 1);
                expect_sends_complete(t, &full.line, 1);
                expect(line_send(&full.line, PLAIN), DAT_SUCCESS);
        }
        expect_all_come(t, &full.line);
}

/* Two lines over one connection, full all the time, until so many messages have gone each way. */
CASE(ep_post_send, thousands)
{
        struct transfer_opts opts = {.dtos = 128};
        DAT_EP_ATTR attr = transfer_attr(t, opts);
        struct ep_opts ends[2];
        struct line lines[2];
        struct loop loop;

        for (int i = 0; i < 2; i++)
                ends[i] = (struct ep_opts){.attr = &attr,
                                           .request_evd = evd_of_at_most(t, 256),
                                           .recv_evd = evd_of_at_most(t, 256)};
        loop = loop_of(t, ends[0], ends[1]);
        loop_join(t, &loop);
        lines[0] = line_between(t, loop.active, loop.passive, 128);
        lines[1] = line_between(t, loop.passive, loop.active, 128);
        for (int round = 0; round < 16; round++) {
                for (int i = 0; i < 2; i++)
                        must_line_recv(t, &lines[i], 128);
                for (int i = 0; i < 256; i++)
                        expect(line_send(&lines[i % 2], PLAIN), DAT_SUCCESS);
                for (int i = 0; i < 2; i++) {
                        expect_arrivals(t, &lines[i], 128);
                        expect_sends_complete(t, &lines[i], 128);
                }
        }
}

static DAT_RETURN send_on(void *line)
{
        return line_send(line, PLAIN);
}

/* Threads that send at once over one EP: each message comes, whole and once. */
CASE(ep_post_send, threads_at_once)
{
        struct line line = line_with(t);
        struct line own[SENDERS];
        struct racer racers[SENDERS];
        unsigned int come = 0;

        must_line_recv(t, &line, SENDERS);
        for (uint64_t i = 0; i < SENDERS; i++) {
                own[i] = line;
                own[i].sent = i;
                racers[i] = (struct racer){.call = send_on, .arg = &own[i]};
        }
        (void)race(racers, SENDERS);
        for (int i = 0; i < SENDERS; i++)
                expect(racers[i].ret, DAT_SUCCESS);
        for (uint64_t i = 0; i < SENDERS; i++) {
                uint64_t sequence = 0;

                expect_completion(ep_recv_evd(t, line.to), .ep = line.to, .cookie = i,
                                  .length = MESSAGE);
                while (sequence < SENDERS &&
                       !message_holds(line.target->addr + i * MESSAGE, MESSAGE, sequence))
                        sequence++;
                expect_that(sequence < SENDERS, "a message is not whole");
                come |= 1U << sequence;
        }
        expect_eq(come, (1U << SENDERS) - 1);
}

/*
 * Messages that are too long, and too early
 */

CASE(ep_post_send, longer_than_receive)
{
        struct loop loop = transfer_with(t);
        struct vector from = vector_with(t, .length = LENGTH + 1);
        struct vector to = vector_with(t, .length = LENGTH);
        DAT_EVENT event;

        vector_fill(t, &from, 1);
        must(recv_vector(loop.passive, &to, 2, PLAIN));
        expect(send_vector(loop.active, &from, 3, PLAIN), DAT_SUCCESS);

        event = expect_event(ep_request_evd(t, loop.active), DAT_DTO_COMPLETION_EVENT);
        expect_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, 3);
        if (event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS)
                note(t, "the sender is not told that its message was too long");
        expect_kept_around(&to);
        expect_empty(t, ep_request_evd(t, loop.active));
}

CASE(ep_post_send, longer_than_most)
{
        DAT_VLEN limit = ia_attr(t)->max_message_size;
        DAT_VLEN most = limit && limit < LENGTH ? limit : LENGTH;
        struct loop loop = transfer_with(t, .most = most);
        DAT_VLEN told = ep_snapshot(t, loop.active).param.ep_attr.max_message_size;
        struct vector to = vector_with(t, .length = told + 1);
        struct vector from = vector_with(t, .length = told + 1);
        DAT_EVENT event;

        vector_fill(t, &from, 1);
        must(recv_vector(loop.passive, &to, 2, PLAIN));
        if (!dat_is(expect(send_vector(loop.active, &from, 3, PLAIN), DAT_INVALID_PARAMETER,
                           DAT_LENGTH_ERROR, DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS),
                    DAT_SUCCESS)) {
                expect_untouched(&to);
                return;
        }
        note(t, "a message beyond max_message_size was taken");
        event = expect_event(ep_request_evd(t, loop.active), DAT_DTO_COMPLETION_EVENT);
        if (event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS)
                expect_holds(&to, 1, from.length);
}

/* Sent before there is a receive: it comes when there is one, or the sender is told. */
CASE(ep_post_send, before_receive)
{
        struct line line = line_with(t);
        DAT_EVENT event;

        expect(line_send(&line, PLAIN), DAT_SUCCESS);
        settle_briefly(t);
        if (dat_is(dat_evd_dequeue(ep_request_evd(t, line.from), &event), DAT_SUCCESS)) {
                expect_that(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS,
                            "a message that nobody received is told as sent");
                note(t, "the transport keeps no message for a receive to come");
                return;
        }
        must_line_recv(t, &line, 1);
        expect_arrivals(t, &line, 1);
        expect_sends_complete(t, &line, 1);
}

/*
 * Protection
 */

FAMILY(ep_post_send, wrong_segment, wrong_segments)
{
        struct loop loop = transfer_with(t, .segments = row->segments);
        struct line line = line_between(t, loop.active, loop.passive, 2);
        struct vector to = vector_with(t, .length = 8192);
        struct wrong wrong;

        must(recv_vector(loop.passive, &to, 0, PLAIN));
        wrong = wrong_with(t, row, DAT_MEM_PRIV_LOCAL_READ_FLAG);
        if (expect_wrong(send_vector(loop.active, &wrong.vector, 0, PLAIN), &wrong)) {
                expect(line_send(&line, PLAIN), DAT_SUCCESS);
                expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 0,
                                  .length = MESSAGE);
                expect_holds(&to, 0, MESSAGE);
                expect_sends_complete(t, &line, 1);
        } else {
                expect_wrong_told(t, ep_request_evd(t, loop.active), loop.active, 0, &wrong);
                if (wrong_at_once(&wrong))
                        expect_untouched(&to);
        }
        expect_wrong_untouched(t, &wrong);
}

FAMILY(ep_post_send, wrong_on_disconnected, wrong_flushed)
{
        struct loop loop = transfer_with(t, .segments = row->segments);
        DAT_EVD_HANDLE evd = ep_request_evd(t, loop.active);
        struct wrong wrong;

        must_end(t, &loop);
        wrong = wrong_with(t, row, DAT_MEM_PRIV_LOCAL_READ_FLAG);
        if (!expect_wrong(send_vector(loop.active, &wrong.vector, 4, PLAIN), &wrong))
                expect_completion(evd, .ep = loop.active, .cookie = 4,
                                  .status = DAT_DTO_ERR_FLUSHED);
        expect_empty(t, evd);
}

/*
 * What a refused send leaves as it was
 */

static DAT_RETURN with_negative_segments(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);

        return dat_ep_post_send(ep, -1, &segment, COOKIE(99), PLAIN);
}

static DAT_RETURN with_unsignalled_flag(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);

        return dat_ep_post_send(ep, 1, &segment, COOKIE(99), UNSIGNAL);
}

static DAT_RETURN with_undefined_flag(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);

        return dat_ep_post_send(ep, 1, &segment, COOKIE(99), FLAGS(1U << 16));
}

static DAT_RETURN with_other_zone(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_LMR_TRIPLET segment = triplet(buf_with(t, .pz = pz_new(t)), 0, MESSAGE);

        return dat_ep_post_send(ep, 1, &segment, COOKIE(99), PLAIN);
}

static DAT_RETURN with_no_privilege(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_LMR_TRIPLET segment =
            triplet(buf_with(t, .privileges = DAT_MEM_PRIV_LOCAL_WRITE_FLAG), 0, MESSAGE);

        return dat_ep_post_send(ep, 1, &segment, COOKIE(99), PLAIN);
}

static DAT_RETURN with_outside(struct test *t, DAT_EP_HANDLE ep)
{
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf, buf->length, MESSAGE);

        return dat_ep_post_send(ep, 1, &segment, COOKIE(99), PLAIN);
}

static const struct refusal {
        const char *id;
        DAT_RETURN (*post)(struct test *t, DAT_EP_HANDLE ep);
        DAT_RETURN returned;
        bool late; /* it may be found out later instead (GEN-9) */
} refusals[] = {
    {"negative_segments", with_negative_segments, DAT_INVALID_PARAMETER, false},
    {"unsignalled_flag", with_unsignalled_flag, DAT_INVALID_PARAMETER, false},
    {"undefined_flag", with_undefined_flag, DAT_INVALID_PARAMETER, false},
    {"other_zone", with_other_zone, DAT_PROTECTION_VIOLATION, true},
    {"no_privilege", with_no_privilege, DAT_PRIVILEGES_VIOLATION, true},
    {"outside_lmr", with_outside, DAT_INVALID_PARAMETER, true},
};

/* A refused send took no place, changed nothing that is told, and left no message behind. */
FAMILY(ep_post_send, refusal_leaves, refusals)
{
        DAT_EVD_HANDLE sent = evd_of_at_most(t, MOST_SENDS + 16);
        struct loop loop = transfer_with(t, .request_evd = sent);
        struct ep_snapshot before = ep_snapshot(t, loop.active);
        struct line line = line_between(t, loop.active, loop.passive, MOST_SENDS + 16);
        DAT_COUNT places = before.param.ep_attr.max_request_dtos;
        DAT_RETURN ret;

        for (int i = 0; i < REFUSALS; i++) {
                ret = expect(row->post(t, loop.active), row->returned,
                             row->late ? DAT_SUCCESS : row->returned);
                if (dat_is(ret, DAT_SUCCESS))
                        end_noted(t, "the send was not refused at once: there is no refusal to "
                                     "look behind");
        }
        expect_ep_kept(t, loop.active, &before, 0);
        must_have_room(t, sent, places);
        for (DAT_COUNT i = 0; i < places; i++)
                expect(line_send(&line, PLAIN), DAT_SUCCESS);
        if (ep_state(t, loop.active) != DAT_EP_STATE_CONNECTED)
                end_noted(t, "the transport ends a connection whose messages nobody receives");
        expect_all_come(t, &line);
}

/* Two sends before a refused one, and two behind it, come and complete in their order. */
FAMILY(ep_post_send, refusal_keeps_others, refusals)
{
        struct line line = line_with(t);
        DAT_RETURN ret;

        must_line_recv(t, &line, 4);
        for (int i = 0; i < 4; i++) {
                if (i == 2) {
                        ret = expect(row->post(t, line.from), row->returned,
                                     row->late ? DAT_SUCCESS : row->returned);
                        if (dat_is(ret, DAT_SUCCESS))
                                end_noted(t, "the send was not refused at once: there is no "
                                             "refusal to look behind");
                }
                expect(line_send(&line, PLAIN), DAT_SUCCESS);
        }
        expect_arrivals(t, &line, 4);
        expect_sends_complete(t, &line, 4);
        expect_empty(t, ep_request_evd(t, line.from));
}

/*
 * The vector after the call
 */

FAMILY(ep_post_send, vector_given_back, vector_ends)
{
        struct loop loop = transfer_with(t, .segments = 3);
        struct vector from = vector_with(t, .length = LENGTH, .segments = 3);
        struct vector to = vector_with(t, .length = LENGTH);
        DAT_LMR_TRIPLET *posted = vector_mapping(t, &from);

        need_ownership(t, DAT_IOV_CONSUMER);
        vector_fill(t, &from, 1);
        expect(dat_ep_post_send(loop.active, 3, posted, COOKIE(3), PLAIN), DAT_SUCCESS);
        row->end(posted, vector_mapped(&from));
        must(recv_vector(loop.passive, &to, 2, PLAIN));

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = LENGTH);
        expect_holds(&to, 1, LENGTH);
}

CASE(ep_post_send, vector_not_modified)
{
        struct loop loop = transfer_with(t, .segments = 3);
        struct vector from = vector_with(t, .length = LENGTH, .segments = 3);
        struct vector to = vector_with(t, .length = LENGTH);
        struct marked marked = marked_of(t, &from);

        need_ownership(t, DAT_IOV_PROVIDER_NOMOD);
        must(recv_vector(loop.passive, &to, 2, PLAIN));
        expect(dat_ep_post_send(loop.active, 3, marked.iov, COOKIE(3), PLAIN), DAT_SUCCESS);
        must_complete(ep_request_evd(t, loop.active), .ep = loop.active, .cookie = 3,
                      .length = LENGTH);
        expect_unmarked(t, &marked);
}

static const struct wrong_row wrong_last = {"", WRONG_ZONE, 3, 2};

CASE(ep_post_send, vector_of_refused)
{
        struct loop loop = transfer_with(t, .segments = 3);
        struct wrong wrong = wrong_with(t, &wrong_last, DAT_MEM_PRIV_LOCAL_READ_FLAG);
        struct marked marked = marked_of(t, &wrong.vector);

        need_ownership(t, DAT_IOV_PROVIDER_NOMOD);
        if (!expect_wrong(dat_ep_post_send(loop.active, 3, marked.iov, COOKIE(2), PLAIN), &wrong))
                end_noted(t, "the send was not refused at once: it has its vector until it fails");
        expect_unmarked(t, &marked);
}

/*
 * States
 */

#define NOT_SENDING                                                                 \
        (EP_IN(UNCONNECTED) | EP_IN(RESERVED) | EP_IN(PASSIVE_CONNECTION_PENDING) | \
         EP_IN(ACTIVE_CONNECTION_PENDING) | EP_IN(TENTATIVE_CONNECTION_PENDING) |   \
         EP_IN(COMPLETION_PENDING) | EP_IN(DISCONNECT_PENDING))

FAMILY(ep_post_send, in_state, ep_states)
{
        struct vector from = vector_with(t, .length = MESSAGE);
        struct ep_held held = ep_hold(t, row->state);
        struct peer_ep *end;

        vector_fill(t, &from, 1);
        if (ep_is_in(&held, NOT_SENDING)) {
                ep_hold_receive(t, &held);
                expect(send_vector(held.ep, &from, 3, PLAIN), DAT_INVALID_STATE);
                expect_ep_untouched(t, &held);
                return;
        }
        if (row->state == DAT_EP_STATE_DISCONNECTED) {
                expect(send_vector(held.ep, &from, 3, PLAIN), DAT_SUCCESS);
                expect_completion(ep_request_evd(t, held.ep), .ep = held.ep, .cookie = 3,
                                  .status = DAT_DTO_ERR_FLUSHED);
                return;
        }
        end = expect_goes_on(held.ep, held.state);
        peer_post_recv(end, 1, MESSAGE);
        expect(send_vector(held.ep, &from, 3, PLAIN), DAT_SUCCESS);
        expect_peer_has(end, 1, MESSAGE);
        expect_completion(ep_request_evd(t, held.ep), .ep = held.ep, .cookie = 3,
                          .length = MESSAGE);
}

/* An EP that is Disconnected flushes, whether or not it was ever connected. */
FAMILY(ep_post_send, after_turn, ep_turns)
{
        DAT_COUNT segments = ia_attr(t)->max_iov_segments_per_dto < 2 ? 1 : 2;
        struct vector from = vector_with(t, .length = MESSAGE, .segments = segments);
        struct vector to = vector_with(t, .length = MESSAGE);
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){.segments = segments});
        struct loop loop =
            loop_of(t, (struct ep_opts){.attr = &attr}, (struct ep_opts){.attr = &attr});
        DAT_EVD_HANDLE evd = ep_request_evd(t, loop.active);

        row->make(t, &loop);
        vector_fill(t, &from, 1);
        if (row->state == DAT_EP_STATE_CONNECTED) {
                must(recv_vector(loop.passive, &to, 1, PLAIN));
                expect(send_vector(loop.active, &from, 3, PLAIN), DAT_SUCCESS);
                expect_completion(evd, .ep = loop.active, .cookie = 3, .length = MESSAGE);
                must_dto(ep_recv_evd(t, loop.passive));
                expect_holds(&to, 1, MESSAGE);
        } else if (row->state == DAT_EP_STATE_DISCONNECTED) {
                for (uint64_t i = 0; i < 3; i++)
                        expect(send_vector(loop.active, &from, i, PLAIN), DAT_SUCCESS);
                for (uint64_t i = 0; i < 3; i++)
                        expect_completion(evd, .ep = loop.active, .cookie = i,
                                          .status = DAT_DTO_ERR_FLUSHED);
        } else {
                expect(send_vector(loop.active, &from, 3, PLAIN), DAT_INVALID_STATE);
        }
        expect_empty(t, evd);
        expect_eq(ep_state(t, loop.active), row->state);
}

/* As many as there are places, each flushed at once, in order; and none of them is sent later. */
CASE(ep_post_send, flushed_at_once)
{
        struct loop loop = transfer_with(t);
        struct line line = line_between(t, loop.active, loop.passive, LINE_SLOTS);

        must_end(t, &loop);
        for (uint64_t i = 0; i < 48; i++) {
                expect(line_send(&line, PLAIN), DAT_SUCCESS);
                expect_completion(ep_request_evd(t, line.from), .ep = line.from, .cookie = i,
                                  .status = DAT_DTO_ERR_FLUSHED);
        }
        expect_empty(t, ep_request_evd(t, line.from));
        expect_eq(ep_state(t, line.from), DAT_EP_STATE_DISCONNECTED);
}

/*
 * Arguments
 */

static const struct number {
        const char *id;
        DAT_COUNT segments;
} negative[] = {
    {"minus_one", -1},
    {"least", INT_MIN},
};

FAMILY(ep_post_send, negative_segments, negative)
{
        struct line line = line_with(t);
        DAT_LMR_TRIPLET segment = triplet(line.source, 0, MESSAGE);

        expect(dat_ep_post_send(line.from, row->segments, &segment, COOKIE(3), PLAIN),
               DAT_INVALID_PARAMETER);
        expect_no_send(t, &line);
}

CASE(ep_post_send, segment_too_many)
{
        struct loop loop = transfer_with(t, .segments = 2);
        DAT_COUNT most = ep_snapshot(t, loop.active).param.ep_attr.max_request_iov;
        DAT_RETURN ret;

        if (most >= WIDEST)
                unsupported(t, "max_request_iov: more segments than the case can give");

        struct vector from = vector_with(t, .length = 2 * (size_t)most + 2, .segments = most + 1);
        struct vector to = vector_with(t, .length = 2 * (size_t)most + 2);
        vector_fill(t, &from, 1);
        must(recv_vector(loop.passive, &to, 2, PLAIN));
        ret = expect(send_vector(loop.active, &from, 3, PLAIN), DAT_INVALID_PARAMETER,
                     DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);
        if (!dat_is(ret, DAT_SUCCESS))
                return;
        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = from.length);
        expect_holds(&to, 1, from.length);
        note(t, "a vector beyond max_request_iov was taken, and sent whole");
}

CASE(ep_post_send, greatest_segments)
{
        struct line line = line_with(t);
        DAT_LMR_TRIPLET segment = triplet(line.source, 0, MESSAGE);

        expect(dat_ep_post_send(line.from, INT_MAX, &segment, COOKIE(3), PLAIN),
               DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES);
        expect_no_send(t, &line);
}

LEGAL(ep_post_send)
{
        static DAT_LMR_TRIPLET segment;
        struct line line = line_with(t);

        must_line_recv(t, &line, 2);
        segment = triplet(line.source, 0, MESSAGE);
        call->ep_handle = line.from;
        call->num_segments = 1;
        call->local_iov = &segment;
        call->user_cookie = COOKIE(0);
        call->completion_flags = PLAIN;
}
