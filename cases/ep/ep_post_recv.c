/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_post_recv: how messages fill receives, in which order, and what is told of them. */
#include "clauses/ep_post_recv.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"

#include <limits.h>
#include <string.h>

#define LENGTH     ((size_t)5000) /* more than a packet of any path */
#define REFUSALS   8              /* of one receive, in a row */
#define PLAIN      DAT_COMPLETION_DEFAULT_FLAG
#define SOLICITED  DAT_COMPLETION_SOLICITED_WAIT_FLAG
#define UNSIGNAL   DAT_COMPLETION_UNSIGNALLED_FLAG
#define THRESHOLD  DAT_COMPLETION_EVD_THRESHOLD_FLAG
#define FLAGS(n_)  ((DAT_COMPLETION_FLAGS)(n_))
#define MUCH       ((size_t)8192) /* more than a buffer has */
#define WIDEST     8192           /* segments that a case can give */
#define MOST_RECVS 512            /* receives that a case can post at once */
#define POSTERS    4
#define SHARE      3 /* receives that each of them posts */
#define ALL_SHARES 12

/*
 * How a message fills a receive
 */

/* Message 1, of `length` bytes, comes to a receive that is posted with the cookie 2. */
static void expect_filled(struct test *t, const struct loop *loop, const struct vector *to,
                          size_t length)
{
        struct vector from = vector_with(t, .length = length);

        vector_fill(t, &from, 1);
        expect(recv_vector(loop->passive, to, 2, PLAIN), DAT_SUCCESS);
        must(send_vector(loop->active, &from, 3, PLAIN));

        expect_completion(ep_recv_evd(t, loop->passive), .ep = loop->passive, .cookie = 2,
                          .length = length);
        expect_holds(to, 1, length);
        expect_empty(t, ep_recv_evd(t, loop->passive));
}

FAMILY(ep_post_recv, length, transfer_lengths)
{
        struct loop loop = transfer_with(t);
        DAT_VLEN most = transfer_attr(t, (struct transfer_opts){0}).max_message_size;
        size_t length = length_of(t, row, most);
        struct vector to = vector_with(t, .length = length);

        expect_filled(t, &loop, &to, length);
}

FAMILY(ep_post_recv, scattered, splits)
{
        struct loop loop = transfer_with(t, .segments = row->segments);
        struct vector to = vector_with(t, .length = LENGTH, .split = row);

        expect_filled(t, &loop, &to, LENGTH);
}

static const struct split steps = {"steps", 4, {1, 2, 4, 8}};

CASE(ep_post_recv, scattered_before_connection)
{
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){.segments = steps.segments});
        struct loop loop =
            loop_of(t, (struct ep_opts){.attr = &attr}, (struct ep_opts){.attr = &attr});
        struct vector from = vector_with(t, .length = LENGTH);
        struct vector to = vector_with(t, .length = LENGTH, .split = &steps);

        vector_fill(t, &from, 1);
        expect(recv_vector(loop.passive, &to, 2, PLAIN), DAT_SUCCESS);
        loop_join(t, &loop);
        must(send_vector(loop.active, &from, 3, PLAIN));

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = LENGTH);
        expect_holds(&to, 1, LENGTH);
}

/* Messages for four segments of 100, 200, 400 and 800 bytes. */
static const struct length_row shorter[] = {
    {"none", 0},
    {"one_byte", 1},
    {"part_of_first", 60},
    {"first_exactly", 100},
    {"one_of_second", 101},
    {"second_exactly", 300},
    {"part_of_third", 450},
    {"third_exactly", 700},
    {"all_but_one_byte", 1499},
};

FAMILY(ep_post_recv, shorter, shorter)
{
        struct loop loop = transfer_with(t, .segments = 4);
        struct vector to = vector_with(t, .length = 1500, .split = &steps);

        expect_filled(t, &loop, &to, row->length);
}

static const struct shift {
        const char *id;
        unsigned int bytes;
} shifts[] = {
    {"none", 0}, {"by_1", 1}, {"by_4", 4}, {"by_13", 13}, {"by_63", 63},
};

FAMILY(ep_post_recv, aligned, shifts)
{
        struct loop loop = transfer_with(t, .segments = 3);
        struct vector to =
            vector_with(t, .length = LENGTH, .segments = 3, .aligned = true, .shift = row->bytes);

        expect_filled(t, &loop, &to, LENGTH);
}

/* A vector of as many segments as the passive EP tells. */
static struct vector widest(struct test *t, struct loop *loop)
{
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){0});
        DAT_COUNT most;

        attr.max_recv_iov = ia_attr(t)->max_iov_segments_per_dto;
        *loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){.attr = &attr});
        most = ep_snapshot(t, loop->passive).param.ep_attr.max_recv_iov;
        if (most > WIDEST)
                unsupported(t, "max_recv_iov: more segments than the case can give");
        return vector_with(t, .length = 2 * (size_t)most, .segments = most);
}

CASE(ep_post_recv, most_segments)
{
        struct loop loop;
        struct vector to = widest(t, &loop);

        loop_join(t, &loop);
        expect_filled(t, &loop, &to, to.length);
}

CASE(ep_post_recv, most_segments_before_connection)
{
        struct loop loop;
        struct vector to = widest(t, &loop);
        struct vector from = vector_with(t, .length = to.length);

        vector_fill(t, &from, 1);
        expect(recv_vector(loop.passive, &to, 2, PLAIN), DAT_SUCCESS);
        loop_join(t, &loop);
        must(send_vector(loop.active, &from, 3, PLAIN));

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = to.length);
        expect_holds(&to, 1, to.length);
}

CASE(ep_post_recv, fewer_segments_than_vector)
{
        struct loop loop = transfer_with(t, .segments = 4);
        struct vector to = vector_with(t, .length = LENGTH, .segments = 4);
        struct vector from = vector_with(t, .length = LENGTH / 2 + 1);
        DAT_EVENT event;

        vector_fill(t, &from, 1);
        expect(dat_ep_post_recv(loop.passive, 2, to.iov, COOKIE(2), PLAIN), DAT_SUCCESS);
        must(send_vector(loop.active, &from, 3, PLAIN));

        event = expect_event(ep_recv_evd(t, loop.passive), DAT_DTO_COMPLETION_EVENT);
        expect_eq(event.event_data.dto_completion_event_data.status, DAT_DTO_LENGTH_ERROR);
        to.count = 2;
        expect_kept_around(&to);
}

CASE(ep_post_recv, segments_of_several_lmrs)
{
        struct loop loop = transfer_with(t, .segments = 3);
        struct vector from = vector_with(t, .length = 3 * MESSAGE);
        unsigned char seen[3 * MESSAGE];
        DAT_LMR_TRIPLET iov[3];
        struct buf *bufs[3];

        for (int i = 0; i < 3; i++) {
                bufs[i] = buf_with(t, .length = MESSAGE);
                iov[i] = triplet(bufs[i], 0, MESSAGE);
        }
        vector_fill(t, &from, 1);
        expect(dat_ep_post_recv(loop.passive, 3, iov, COOKIE(2), PLAIN), DAT_SUCCESS);
        must(send_vector(loop.active, &from, 3, PLAIN));

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = sizeof(seen));
        for (size_t i = 0; i < 3; i++)
                memcpy(seen + i * MESSAGE, bufs[i]->addr, MESSAGE);
        expect_that(message_holds(seen, sizeof(seen), 1),
                    "the LMRs, in the vector's order, do not hold the message");
}

CASE(ep_post_recv, whole_lmr)
{
        struct loop loop = transfer_with(t);
        struct vector from = vector_with(t, .length = LENGTH);
        struct buf *to = buf_with(t, .length = LENGTH);
        DAT_LMR_TRIPLET segment = triplet(to, 0, LENGTH);

        vector_fill(t, &from, 1);
        expect(dat_ep_post_recv(loop.passive, 1, &segment, COOKIE(2), PLAIN), DAT_SUCCESS);
        must(send_vector(loop.active, &from, 3, PLAIN));

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = LENGTH);
        expect_that(message_holds(to->addr, LENGTH, 1), "the LMR does not hold the message");
}

CASE(ep_post_recv, write_privilege_alone)
{
        struct loop loop = transfer_with(t);
        struct vector from = vector_with(t, .length = LENGTH);
        struct vector to =
            vector_with(t, .length = LENGTH, .buf.privileges = DAT_MEM_PRIV_LOCAL_WRITE_FLAG);

        vector_fill(t, &from, 1);
        if (!dat_is(expect_or_note(recv_vector(loop.passive, &to, 2, PLAIN), DAT_SUCCESS,
                                   DAT_PRIVILEGES_VIOLATION),
                    DAT_SUCCESS))
                return;
        must(send_vector(loop.active, &from, 3, PLAIN));
        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = LENGTH);
        expect_holds(&to, 1, LENGTH);
}

CASE(ep_post_recv, own_zone)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct loop loop = transfer_with(t, .pz = zone);
        struct loop back = {.active = loop.passive, .passive = loop.active};
        struct vector to = vector_with(t, .length = LENGTH, .buf.pz = zone);

        expect_filled(t, &back, &to, LENGTH);
}

/*
 * Messages without bytes
 */

static const struct empty {
        const char *id;
        bool vector;
        DAT_COUNT segments;
} empties[] = {
    {"null_vector", false, 0},
    {"unused_vector", true, 0},
    {"segments", true, 2},
};

FAMILY(ep_post_recv, empty, empties)
{
        struct loop loop = transfer_with(t, .segments = 2);
        struct vector before = vector_with(t, .length = LENGTH);
        struct vector to = vector_with(t, .length = LENGTH, .segments = 2);
        DAT_LMR_TRIPLET iov[2];

        memcpy(iov, to.iov, sizeof(iov));
        if (!row->segments)
                memset(iov, 0xff, sizeof(iov));
        expect_filled(t, &loop, &before, LENGTH);
        expect(dat_ep_post_recv(loop.passive, row->segments, row->vector ? iov : NULL, COOKIE(2),
                                PLAIN),
               DAT_SUCCESS);
        must(dat_ep_post_send(loop.active, 0, NULL, COOKIE(3), PLAIN));

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2);
        expect_untouched(&to);
}

FAMILY(ep_post_recv, segment_without_length, splits_with_empty)
{
        struct loop loop = transfer_with(t, .segments = row->segments);
        struct vector from = vector_with(t, .length = LENGTH);
        struct vector to = vector_with(t, .length = LENGTH, .split = row);

        vector_fill(t, &from, 1);
        if (!dat_is(expect(recv_vector(loop.passive, &to, 2, PLAIN), DAT_SUCCESS,
                           DAT_INVALID_PARAMETER),
                    DAT_SUCCESS))
                return;
        must(send_vector(loop.active, &from, 3, PLAIN));
        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = LENGTH);
        expect_holds(&to, 1, LENGTH);
}

/*
 * From another host
 */

static const struct length_row far_lengths[] = {
    {"one", 1},
    LENGTHS_AROUND(1024),
    LENGTHS_AROUND(4096),
    {"many_packets", 300007},
};

FAMILY(ep_post_recv, far_length, far_lengths)
{
        DAT_EP_HANDLE ep = ep_with(t);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct vector to = vector_with(t, .length = row->length + 100);

        expect(recv_vector(ep, &to, 2, PLAIN), DAT_SUCCESS);
        peer_send(end, .length = row->length, .first = 9);

        expect_completion(ep_recv_evd(t, ep), .ep = ep, .cookie = 2, .length = row->length);
        expect_holds(&to, 9, row->length);
}

CASE(ep_post_recv, far_empty)
{
        DAT_EP_HANDLE ep = ep_with(t);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct vector to = vector_with(t, .length = LENGTH);

        expect(recv_vector(ep, &to, 2, PLAIN), DAT_SUCCESS);
        peer_send(end, .empty = true);

        expect_completion(ep_recv_evd(t, ep), .ep = ep, .cookie = 2);
        expect_untouched(&to);
}

FAMILY(ep_post_recv, far_scattered, splits)
{
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){.segments = row->segments});
        DAT_EP_HANDLE ep = ep_with(t, .attr = &attr);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct vector to = vector_with(t, .length = LENGTH, .split = row);

        expect(recv_vector(ep, &to, 2, PLAIN), DAT_SUCCESS);
        peer_send(end, .length = LENGTH - 1, .first = 9);

        expect_completion(ep_recv_evd(t, ep), .ep = ep, .cookie = 2, .length = LENGTH - 1);
        expect_holds(&to, 9, LENGTH - 1);
}

CASE(ep_post_recv, far_order)
{
        DAT_EP_HANDLE ep = ep_with(t);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct vector to[16];

        for (uint64_t i = 0; i < 16; i++) {
                to[i] = vector_with(t, .length = LENGTH);
                expect(recv_vector(ep, &to[i], i, PLAIN), DAT_SUCCESS);
        }
        peer_send(end, .count = 16, .length = 200, .length_step = 300);
        for (uint64_t i = 0; i < 16; i++) {
                expect_completion(ep_recv_evd(t, ep), .ep = ep, .cookie = i,
                                  .length = 200 + 300 * i);
                expect_holds(&to[i], i, 200 + 300 * i);
        }
}

/*
 * Cookies, and the order of things
 */

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

FAMILY(ep_post_recv, cookie, cookies)
{
        struct line line = line_with(t);
        DAT_LMR_TRIPLET segment = triplet(line.target, 0, MESSAGE);

        expect(dat_ep_post_recv(line.to, 1, &segment, COOKIE(row->value), PLAIN), DAT_SUCCESS);
        must(line_send(&line, PLAIN));

        expect_completion(ep_recv_evd(t, line.to), .ep = line.to, .cookie = row->value,
                          .length = MESSAGE);
}

/* What becomes of a receive whose cookie has bits in each byte. */
static const struct outcome {
        const char *id;
        DAT_COUNT segments;
        size_t message;
        DAT_DTO_COMPLETION_STATUS status;
        bool too_late; /* posted when the connection has ended */
} outcomes[] = {
    {"no_segments", 0, 0, DAT_DTO_SUCCESS, .too_late = false},
    {"several_segments", 4, LENGTH, DAT_DTO_SUCCESS, .too_late = false},
    {"too_long", 4, LENGTH + 1, DAT_DTO_LENGTH_ERROR, .too_late = false},
    {"cut_off", 1, 0, DAT_DTO_ERR_FLUSHED, .too_late = false},
    {"cut_off_no_segments", 0, 0, DAT_DTO_ERR_FLUSHED, .too_late = false},
    {"flushed", 1, 0, DAT_DTO_ERR_FLUSHED, .too_late = true},
    {"flushed_no_segments", 0, 0, DAT_DTO_ERR_FLUSHED, .too_late = true},
    {"flushed_several_segments", 4, 0, DAT_DTO_ERR_FLUSHED, .too_late = true},
};

FAMILY(ep_post_recv, cookie_of, outcomes)
{
        struct loop loop = transfer_with(t, .segments = 4);
        DAT_EVD_HANDLE evd = ep_recv_evd(t, loop.passive);
        struct vector from = vector_with(t, .length = row->message);
        struct vector to = vector_with(t, .length = LENGTH, .segments = 4);

        if (row->too_late)
                must_end(t, &loop);
        for (uint64_t i = 0; i < 2; i++)
                expect(dat_ep_post_recv(loop.passive, row->segments, row->segments ? to.iov : NULL,
                                        COOKIE(EVERY_BYTE + i), PLAIN),
                       DAT_SUCCESS);
        if (row->status != DAT_DTO_ERR_FLUSHED)
                must(send_vector(loop.active, &from, 3, PLAIN));
        else if (!row->too_late)
                must_end(t, &loop);

        expect_completion(evd, .ep = loop.passive, .cookie = EVERY_BYTE, .length = row->message,
                          .status = row->status);
        if (row->status == DAT_DTO_ERR_FLUSHED)
                expect_completion(evd, .ep = loop.passive, .cookie = EVERY_BYTE + 1,
                                  .status = row->status);
        if (row->status != DAT_DTO_LENGTH_ERROR)
                expect_empty(t, evd);
}

CASE(ep_post_recv, same_cookie)
{
        struct line line = line_with(t);

        for (size_t i = 0; i < 4; i++) {
                DAT_LMR_TRIPLET segment = triplet(line.target, i * MESSAGE, MESSAGE);

                expect(dat_ep_post_recv(line.to, 1, &segment, COOKIE(9), PLAIN), DAT_SUCCESS);
        }
        for (int i = 0; i < 4; i++)
                must(line_send(&line, PLAIN));

        for (size_t i = 0; i < 4; i++) {
                expect_completion(ep_recv_evd(t, line.to), .ep = line.to, .cookie = 9,
                                  .length = MESSAGE);
                expect_that(message_holds(line.target->addr + i * MESSAGE, MESSAGE, i),
                            "receive %zu does not hold its message", i);
        }
        expect_empty(t, ep_recv_evd(t, line.to));
}

/* Receives of several lengths take messages in the order of posting, not by how they fit. */
CASE(ep_post_recv, in_order)
{
        static const size_t rooms[] = {9000, 64, 4096, 20000, 1, 300, 8, 2048};
        static const size_t lengths[] = {64, 1, 4096, 64, 0, 299, 8, 2000};
        struct loop loop = transfer_with(t);
        struct vector to[8];

        for (uint64_t i = 0; i < 8; i++) {
                to[i] = vector_with(t, .length = rooms[i]);
                expect(recv_vector(loop.passive, &to[i], i, PLAIN), DAT_SUCCESS);
        }
        for (uint64_t i = 0; i < 8; i++) {
                struct vector from = vector_with(t, .length = lengths[i]);

                vector_fill(t, &from, i);
                must(send_vector(loop.active, &from, i, PLAIN));
        }
        for (uint64_t i = 0; i < 8; i++) {
                expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = i,
                                  .length = lengths[i]);
                expect_holds(&to[i], i, lengths[i]);
        }
        expect_empty(t, ep_recv_evd(t, loop.passive));
}

/* Receives of one EP take no message of another. */
CASE(ep_post_recv, of_its_own_ep)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        struct line lines[2] = {line_with(t, .recv_evd = evd), line_with(t, .recv_evd = evd)};

        for (int i = 0; i < 8; i++)
                expect(line_recv(&lines[i % 2], PLAIN), DAT_SUCCESS);
        for (int i = 0; i < 8; i++) {
                struct line *line = &lines[i / 4];

                must(line_send(line, PLAIN));
                expect_arrivals(t, line, 1);
        }
        expect_empty(t, evd);
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
    {"solicited_plain", SOLICITED, PLAIN},
    {"unsignalled_plain", UNSIGNAL, PLAIN},
    {"unsignalled", UNSIGNAL, UNSIGNAL},
    {"threshold_plain", THRESHOLD, PLAIN},
};

/* Two receives with the flags and a plain one, which solicited messages come to: each is told. */
FAMILY(ep_post_recv, flags, flagged)
{
        struct line line = line_with(t, .recv_flags = row->of_ep);

        expect(line_recv(&line, row->flags), DAT_SUCCESS);
        expect(line_recv(&line, row->flags), DAT_SUCCESS);
        expect(line_recv(&line, PLAIN), DAT_SUCCESS);
        for (int i = 0; i < 3; i++)
                must(line_send(&line, SOLICITED));

        expect_arrivals(t, &line, 3);
        expect_empty(t, ep_recv_evd(t, line.to));
}

/* Receives that no message came to are told of as flushed, in the order of posting. */
FAMILY(ep_post_recv, flags_of_flushed, flagged)
{
        struct loop loop = transfer_with(t, .recv_flags = row->of_ep);
        struct line line = line_between(t, loop.active, loop.passive, 3);

        expect(line_recv(&line, row->flags), DAT_SUCCESS);
        expect(line_recv(&line, row->flags), DAT_SUCCESS);
        expect(line_recv(&line, PLAIN), DAT_SUCCESS);
        must_end(t, &loop);

        for (uint64_t i = 0; i < 3; i++)
                expect_completion(ep_recv_evd(t, line.to), .ep = line.to, .cookie = i,
                                  .status = DAT_DTO_ERR_FLUSHED);
        expect_empty(t, ep_recv_evd(t, line.to));
}

/* The refused receive was none: the next one takes the first message. */
static void expect_no_receive(struct test *t, struct line *line)
{
        expect(line_recv(line, PLAIN), DAT_SUCCESS);
        must(line_send(line, SOLICITED));
        expect_arrivals(t, line, 1);
        expect_empty(t, ep_recv_evd(t, line->to));
}

static const struct flagged unconfigured[] = {
    {"plain", PLAIN, UNSIGNAL},
    {"solicited", SOLICITED, UNSIGNAL},
    {"threshold", THRESHOLD, UNSIGNAL},
};

/* The active EP is the one whose requests can be configured. */
CASE(ep_post_recv, unsignalled_for_requests)
{
        struct loop loop = transfer_with(t, .request_flags = UNSIGNAL);
        struct line line = line_between(t, loop.passive, loop.active, LINE_SLOTS);

        expect(line_recv(&line, UNSIGNAL), DAT_INVALID_PARAMETER);
        expect_no_receive(t, &line);
}

FAMILY(ep_post_recv, unsignalled_unconfigured, unconfigured)
{
        struct line line = line_with(t, .recv_flags = row->of_ep);

        expect(line_recv(&line, row->flags), DAT_INVALID_PARAMETER);
        expect_no_receive(t, &line);
}

static const struct undefined {
        const char *id;
        unsigned int flags;
} undefined[] = {
    {"suppress", DAT_COMPLETION_SUPPRESS_FLAG},
    {"solicited_wait", DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"barrier_fence", DAT_COMPLETION_BARRIER_FENCE_FLAG},
    {"next_bit", 0x20},
    {"middle_bit", 1U << 16},
    {"highest_bit", 1U << 31},
    {"all_bits", ~0U},
};

FAMILY(ep_post_recv, undefined_flags, undefined)
{
        struct line line = line_with(t);

        expect(line_recv(&line, FLAGS(row->flags)), DAT_INVALID_PARAMETER);
        expect_no_receive(t, &line);
}

/* Who was woken by the second of two messages is given the first, and finds the second. */
static void expect_woken_by_second(struct test *t, struct line *line, struct waiter *waiter)
{
        struct woken woken = expect_awake(waiter);

        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_number, DAT_DTO_COMPLETION_EVENT);
        completion_is(t, CHECK_SITE_("what the waiter was given"), &woken.event,
                      &(struct completion){.ep = line->to, .cookie = 0, .length = MESSAGE}, true);
        line->arrived = 1;
        expect_arrivals(t, line, 1);
}

CASE(ep_post_recv, unsignalled_wakes_nobody)
{
        struct line line = line_with(t, .recv_flags = UNSIGNAL);
        struct waiter *waiter;

        expect(line_recv(&line, UNSIGNAL), DAT_SUCCESS);
        expect(line_recv(&line, PLAIN), DAT_SUCCESS);
        waiter = wait_on_evd(t, ep_recv_evd(t, line.to), DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        must(line_send(&line, PLAIN));
        expect_asleep(waiter);
        must(line_send(&line, PLAIN));
        expect_woken_by_second(t, &line, waiter);
}

/* Nor is anybody by one of another number of segments. */
static const struct unheard {
        const char *id;
        DAT_COUNT segments;
} unheard[] = {
    {"no_segments", 0},
    {"several_segments", 3},
};

FAMILY(ep_post_recv, unsignalled_vector_wakes_nobody, unheard)
{
        struct loop loop = transfer_with(t, .segments = 3, .recv_flags = UNSIGNAL);
        DAT_EVD_HANDLE evd = ep_recv_evd(t, loop.passive);
        size_t length = row->segments ? LENGTH : 0;
        struct vector from = vector_with(t, .length = length);
        struct vector to = vector_with(t, .length = LENGTH, .segments = 3);
        struct waiter *waiter;
        struct woken woken;

        expect(dat_ep_post_recv(loop.passive, row->segments, to.iov, COOKIE(0), UNSIGNAL),
               DAT_SUCCESS);
        expect(recv_vector(loop.passive, &to, 1, PLAIN), DAT_SUCCESS);
        waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        must(send_vector(loop.active, &from, 0, PLAIN));
        expect_asleep(waiter);
        must(send_vector(loop.active, &from, 1, PLAIN));
        woken = expect_awake(waiter);

        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_number, DAT_DTO_COMPLETION_EVENT);
        completion_is(t, CHECK_SITE_("what the waiter was given"), &woken.event,
                      &(struct completion){.ep = loop.passive, .cookie = 0, .length = length},
                      true);
        expect_completion(evd, .ep = loop.passive, .cookie = 1, .length = length);
}

CASE(ep_post_recv, unsolicited_wakes_nobody)
{
        struct line line = line_with(t, .recv_flags = SOLICITED);
        struct waiter *waiter;

        expect(line_recv(&line, PLAIN), DAT_SUCCESS);
        expect(line_recv(&line, PLAIN), DAT_SUCCESS);
        waiter = wait_on_evd(t, ep_recv_evd(t, line.to), DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        must(line_send(&line, PLAIN));
        expect_asleep(waiter);
        must(line_send(&line, SOLICITED));
        expect_woken_by_second(t, &line, waiter);
}

/* On an EP that is not configured so, a message needs no solicited wait to wake. */
CASE(ep_post_recv, each_wakes)
{
        struct line line = line_with(t);

        for (uint64_t i = 0; i < 3; i++) {
                struct waiter *waiter;
                struct woken woken;

                expect(line_recv(&line, PLAIN), DAT_SUCCESS);
                waiter = wait_on_evd(t, ep_recv_evd(t, line.to), DAT_TIMEOUT_INFINITE, 1);
                must_wait(waiter);
                must(line_send(&line, PLAIN));
                woken = expect_awake(waiter);
                expect(woken.ret, DAT_SUCCESS);
                expect_eq(woken.event.event_number, DAT_DTO_COMPLETION_EVENT);
                completion_is(t, CHECK_SITE_("what woke the waiter"), &woken.event,
                              &(struct completion){.ep = line.to, .cookie = i, .length = MESSAGE},
                              true);
        }
}

/*
 * Depth
 */

/* An EP of which as many receives wait as it tells that it takes. */
struct full {
        struct loop loop;
        struct line line;
};

static struct full fill(struct test *t, bool connected)
{
        DAT_EVD_HANDLE received = evd_of_at_most(t, MOST_RECVS + 16);
        struct full full = {
            .loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){.recv_evd = received})};
        DAT_COUNT places = ep_snapshot(t, full.loop.passive).param.ep_attr.max_recv_dtos;

        must_have_room(t, received, places);
        full.line = line_between(t, full.loop.active, full.loop.passive, MOST_RECVS + 16);
        if (connected)
                loop_join(t, &full.loop);
        for (DAT_COUNT i = 0; i < places; i++)
                expect(line_recv(&full.line, PLAIN), DAT_SUCCESS);
        return full;
}

/* A message for each receive that was posted. */
static void expect_all_serve(struct test *t, struct line *line)
{
        while (line->arrived < line->awaited) {
                must(line_send(line, PLAIN));
                expect_arrivals(t, line, 1);
                must_complete(ep_request_evd(t, line->from), .ep = line->from,
                              .cookie = line->complete++, .length = MESSAGE);
        }
        expect_empty(t, ep_recv_evd(t, line->to));
}

static const struct moment {
        const char *id;
        bool connected;
} moments[] = {
    {"before_connection", false},
    {"connected", true},
};

FAMILY(ep_post_recv, every_place, moments)
{
        struct full full = fill(t, row->connected);

        if (!row->connected)
                loop_join(t, &full.loop);
        expect_all_serve(t, &full.line);
}

FAMILY(ep_post_recv, one_too_many, moments)
{
        struct full full = fill(t, row->connected);

        if (dat_is(expect(line_recv(&full.line, PLAIN), DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS),
                   DAT_SUCCESS))
                note(t, "a receive was taken beyond max_recv_dtos");
        if (!row->connected)
                loop_join(t, &full.loop);
        expect_all_serve(t, &full.line);
}

CASE(ep_post_recv, place_given_back)
{
        struct full full = fill(t, true);

        for (int i = 0; i < 40; i++) {
                must(line_send(&full.line, PLAIN));
                expect_arrivals(t, &full.line, 1);
                must_complete(ep_request_evd(t, full.line.from), .ep = full.line.from,
                              .cookie = full.line.complete++, .length = MESSAGE);
                expect(line_recv(&full.line, PLAIN), DAT_SUCCESS);
        }
        expect_all_serve(t, &full.line);
}

struct poster {
        struct line line;
        DAT_RETURN rets[SHARE];
};

static DAT_RETURN post_share(void *arg)
{
        struct poster *poster = arg;

        for (int i = 0; i < SHARE; i++)
                poster->rets[i] = line_recv(&poster->line, PLAIN);
        return DAT_SUCCESS;
}

/* Threads that post at once to one EP: each receive serves a message, into its own slot. */
CASE(ep_post_recv, threads_at_once)
{
        struct line line = line_with(t);
        struct poster posters[POSTERS];
        struct racer racers[POSTERS];
        unsigned int served = 0;

        for (uint64_t i = 0; i < POSTERS; i++) {
                posters[i].line = line;
                posters[i].line.awaited = i * SHARE;
                racers[i] = (struct racer){.call = post_share, .arg = &posters[i]};
        }
        (void)race(racers, POSTERS);
        for (int i = 0; i < ALL_SHARES; i++)
                expect(posters[i / SHARE].rets[i % SHARE], DAT_SUCCESS);
        for (uint64_t i = 0; i < ALL_SHARES; i++) {
                DAT_DTO_COMPLETION_EVENT_DATA dto;

                must(line_send(&line, PLAIN));
                dto = expect_dto(ep_recv_evd(t, line.to));
                expect_that(dto.user_cookie.as_64 < ALL_SHARES, "a cookie was never posted");
                expect_that(
                    message_holds(line.target->addr + dto.user_cookie.as_64 * MESSAGE, MESSAGE, i),
                    "message %llu is not in its receive", (unsigned long long)i);
                served |= 1U << dto.user_cookie.as_64;
        }
        expect_eq(served, (1U << ALL_SHARES) - 1);
}

/*
 * Messages that are too long
 */

static const struct too_long {
        const char *id;
        size_t room;
        size_t length;
} too_long[] = {
    {"by_one", 1500, 1501},
    {"by_far", 1500, 50000},
    {"by_one_packet", 4096, 8192},
    {"no_segments", 0, 1},
};

FAMILY(ep_post_recv, longer, too_long)
{
        struct loop loop = transfer_with(t, .segments = 4);
        struct vector from = vector_with(t, .length = row->length);
        struct vector to = vector_with(t, .length = row->room, .split = &steps);

        vector_fill(t, &from, 1);
        expect(recv_vector(loop.passive, &to, 2, PLAIN), DAT_SUCCESS);
        must(send_vector(loop.active, &from, 3, PLAIN));

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .status = DAT_DTO_LENGTH_ERROR);
        expect_kept_around(&to);
        expect_empty(t, ep_recv_evd(t, loop.passive));
}

FAMILY(ep_post_recv, far_longer, too_long)
{
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){.segments = 4});
        DAT_EP_HANDLE ep = ep_with(t, .attr = &attr);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct vector to = vector_with(t, .length = row->room, .split = &steps);

        expect(recv_vector(ep, &to, 2, PLAIN), DAT_SUCCESS);
        peer_send(end, .length = row->length);

        expect_completion(ep_recv_evd(t, ep), .ep = ep, .cookie = 2,
                          .status = DAT_DTO_LENGTH_ERROR);
        expect_kept_around(&to);
}

/* A message that fits comes to its receive before one that does not. */
CASE(ep_post_recv, before_longer)
{
        struct loop loop = transfer_with(t);
        struct line line = line_between(t, loop.active, loop.passive, 4);
        struct vector longer = vector_with(t, .length = MESSAGE + 1);

        for (int i = 0; i < 4; i++)
                expect(line_recv(&line, PLAIN), DAT_SUCCESS);
        must(line_send(&line, PLAIN));
        must(line_send(&line, PLAIN));
        must(send_vector(loop.active, &longer, 9, PLAIN));

        expect_arrivals(t, &line, 2);
        expect_completion(ep_recv_evd(t, line.to), .ep = line.to, .cookie = 2,
                          .status = DAT_DTO_LENGTH_ERROR);
}

/*
 * Protection
 */

/* The bytes of all segments, the wrong one too: a message of so many, or of MUCH, reaches it. */
static size_t room(const struct vector *vector)
{
        size_t bytes = 0;

        for (DAT_COUNT i = 0; i < vector->count; i++)
                bytes +=
                    vector->iov[i].segment_length < MUCH ? vector->iov[i].segment_length : MUCH;
        return bytes < MUCH ? bytes : MUCH;
}

FAMILY(ep_post_recv, wrong_segment, wrong_segments)
{
        struct loop loop = transfer_with(t, .segments = row->segments);
        struct vector from = vector_with(t, .length = MUCH);
        struct vector to = vector_with(t, .length = MUCH);
        struct wrong wrong;

        vector_fill(t, &from, 1);
        wrong = wrong_with(t, row, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
        from.iov[0].segment_length = room(&wrong.vector);
        if (expect_wrong(recv_vector(loop.passive, &wrong.vector, 4, PLAIN), &wrong)) {
                size_t length = from.iov[0].segment_length;

                expect(recv_vector(loop.passive, &to, 2, PLAIN), DAT_SUCCESS);
                must(send_vector(loop.active, &from, 3, PLAIN));
                expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                                  .length = length);
                expect_holds(&to, 1, length);
                expect_wrong_untouched(t, &wrong);
                return;
        }
        must(send_vector(loop.active, &from, 3, PLAIN));
        expect_wrong_told(t, ep_recv_evd(t, loop.passive), loop.passive, 4, &wrong);
        expect_late_untouched(t, &wrong);
}

/* An EP that was reset takes receives as a new one does, before it is connected again. */
CASE(ep_post_recv, after_reset)
{
        DAT_COUNT segments = ia_attr(t)->max_iov_segments_per_dto < 2 ? 1 : 2;
        struct loop loop = transfer_with(t, .segments = segments);
        struct vector from = vector_with(t, .length = LENGTH);
        struct vector to[] = {vector_with(t, .length = LENGTH),
                              vector_with(t, .length = LENGTH, .segments = segments)};

        vector_fill(t, &from, 1);
        must_end(t, &loop);
        must(dat_ep_reset(loop.active));
        must(dat_ep_reset(loop.passive));
        for (uint64_t i = 0; i < 2; i++)
                expect(recv_vector(loop.passive, &to[i], i, PLAIN), DAT_SUCCESS);
        loop_join(t, &loop);
        for (uint64_t i = 0; i < 2; i++)
                must(send_vector(loop.active, &from, i, PLAIN));
        for (uint64_t i = 0; i < 2; i++) {
                expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = i,
                                  .length = LENGTH);
                expect_holds(&to[i], 1, LENGTH);
        }
}

FAMILY(ep_post_recv, wrong_on_disconnected, wrong_flushed)
{
        struct loop loop = transfer_with(t, .segments = row->segments);
        DAT_EVD_HANDLE evd = ep_recv_evd(t, loop.passive);
        struct wrong wrong;

        must_end(t, &loop);
        wrong = wrong_with(t, row, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
        if (!expect_wrong(recv_vector(loop.passive, &wrong.vector, 4, PLAIN), &wrong))
                expect_completion(evd, .ep = loop.passive, .cookie = 4,
                                  .status = DAT_DTO_ERR_FLUSHED);
        expect_empty(t, evd);
        expect_wrong_untouched(t, &wrong);
}

/*
 * What a refused receive leaves as it was
 */

static DAT_RETURN post_one(DAT_EP_HANDLE ep, const struct buf *buf, size_t offset,
                           DAT_COMPLETION_FLAGS flags)
{
        DAT_LMR_TRIPLET segment = triplet(buf, offset, MESSAGE);

        return dat_ep_post_recv(ep, 1, &segment, COOKIE(99), flags);
}

static DAT_RETURN with_negative_segments(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);

        return dat_ep_post_recv(ep, -1, &segment, COOKIE(99), PLAIN);
}

static DAT_RETURN with_unsignalled_flag(struct test *t, DAT_EP_HANDLE ep)
{
        return post_one(ep, buf_with(t), 0, UNSIGNAL);
}

static DAT_RETURN with_flag_of_requests(struct test *t, DAT_EP_HANDLE ep)
{
        return post_one(ep, buf_with(t), 0, DAT_COMPLETION_SUPPRESS_FLAG);
}

static DAT_RETURN with_other_zone(struct test *t, DAT_EP_HANDLE ep)
{
        return post_one(ep, buf_with(t, .pz = pz_new(t)), 0, PLAIN);
}

static DAT_RETURN with_no_privilege(struct test *t, DAT_EP_HANDLE ep)
{
        return post_one(ep, buf_with(t, .privileges = DAT_MEM_PRIV_LOCAL_READ_FLAG), 0, PLAIN);
}

static DAT_RETURN with_outside(struct test *t, DAT_EP_HANDLE ep)
{
        struct buf *buf = buf_with(t);

        return post_one(ep, buf, buf->length, PLAIN);
}

static const struct refusal {
        const char *id;
        DAT_RETURN (*post)(struct test *t, DAT_EP_HANDLE ep);
        DAT_RETURN returned;
        bool late; /* it may be found out later instead (GEN-9) */
} refusals[] = {
    {"negative_segments", with_negative_segments, DAT_INVALID_PARAMETER, false},
    {"unsignalled_flag", with_unsignalled_flag, DAT_INVALID_PARAMETER, false},
    {"flag_of_requests", with_flag_of_requests, DAT_INVALID_PARAMETER, false},
    {"other_zone", with_other_zone, DAT_PROTECTION_VIOLATION, true},
    {"no_privilege", with_no_privilege, DAT_PRIVILEGES_VIOLATION, true},
    {"outside_lmr", with_outside, DAT_INVALID_PARAMETER, true},
};

FAMILY(ep_post_recv, refusal_leaves, refusals)
{
        DAT_EVD_HANDLE received = evd_of_at_most(t, MOST_RECVS + 16);
        struct loop loop = transfer_with(t, .recv_evd = received);
        struct ep_snapshot before = ep_snapshot(t, loop.passive);
        struct line line = line_between(t, loop.active, loop.passive, MOST_RECVS + 16);
        DAT_COUNT places = before.param.ep_attr.max_recv_dtos;
        DAT_RETURN ret;

        for (int i = 0; i < REFUSALS; i++) {
                ret = expect(row->post(t, loop.passive), row->returned,
                             row->late ? DAT_SUCCESS : row->returned);
                if (dat_is(ret, DAT_SUCCESS))
                        end_noted(t, "the receive was not refused at once: there is no refusal to "
                                     "look behind");
        }
        expect_ep_kept(t, loop.passive, &before, 0);
        must_have_room(t, received, places);
        for (DAT_COUNT i = 0; i < places; i++)
                expect(line_recv(&line, PLAIN), DAT_SUCCESS);
        expect_all_serve(t, &line);
}

/* Two receives before a refused one, and two behind it, take the next messages in their order. */
FAMILY(ep_post_recv, refusal_keeps_others, refusals)
{
        struct line line = line_with(t);
        DAT_RETURN ret;

        for (int i = 0; i < 4; i++) {
                if (i == 2) {
                        ret = expect(row->post(t, line.to), row->returned,
                                     row->late ? DAT_SUCCESS : row->returned);
                        if (dat_is(ret, DAT_SUCCESS))
                                end_noted(t, "the receive was not refused at once: there is no "
                                             "refusal to look behind");
                }
                expect(line_recv(&line, PLAIN), DAT_SUCCESS);
        }
        expect_all_serve(t, &line);
}

/*
 * The vector after the call
 */

FAMILY(ep_post_recv, vector_given_back, vector_ends)
{
        struct loop loop = transfer_with(t, .segments = 3);
        struct vector from = vector_with(t, .length = LENGTH);
        struct vector to = vector_with(t, .length = LENGTH, .segments = 3);
        DAT_LMR_TRIPLET *posted = vector_mapping(t, &to);

        need_ownership(t, DAT_IOV_CONSUMER);
        vector_fill(t, &from, 1);
        expect(dat_ep_post_recv(loop.passive, 3, posted, COOKIE(2), PLAIN), DAT_SUCCESS);
        row->end(posted, vector_mapped(&to));
        must(send_vector(loop.active, &from, 3, PLAIN));

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = LENGTH);
        expect_holds(&to, 1, LENGTH);
}

CASE(ep_post_recv, vector_not_modified)
{
        struct loop loop = transfer_with(t, .segments = 3);
        struct vector from = vector_with(t, .length = LENGTH - 700);
        struct vector to = vector_with(t, .length = LENGTH, .segments = 3);
        struct marked marked = marked_of(t, &to);

        need_ownership(t, DAT_IOV_PROVIDER_NOMOD);
        expect(dat_ep_post_recv(loop.passive, 3, marked.iov, COOKIE(2), PLAIN), DAT_SUCCESS);
        must(send_vector(loop.active, &from, 3, PLAIN));
        must_complete(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                      .length = from.length);
        expect_unmarked(t, &marked);
}

static const struct wrong_row wrong_last = {"", WRONG_ZONE, 3, 2};

CASE(ep_post_recv, vector_of_refused)
{
        struct loop loop = transfer_with(t, .segments = 3);
        struct wrong wrong = wrong_with(t, &wrong_last, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
        struct marked marked = marked_of(t, &wrong.vector);

        need_ownership(t, DAT_IOV_PROVIDER_NOMOD);
        if (!expect_wrong(dat_ep_post_recv(loop.passive, 3, marked.iov, COOKIE(2), PLAIN), &wrong))
                end_noted(t,
                          "the receive was not refused at once: it has its vector until it fails");
        expect_unmarked(t, &marked);
}

/*
 * States
 */

/* A Provider's EP has neither zone nor receive EVD until the consumer gives it some. */
static void equip(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM asked = {.pz_handle = pz(t), .recv_evd_handle = ep_recv_evd(t, ep)};

        must(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE, &asked));
}

/* A receive that is posted in any state serves a message, when there is a connection for one. */
FAMILY(ep_post_recv, in_state, ep_states)
{
        struct vector to = vector_with(t, .length = MESSAGE);
        struct ep_held held = ep_hold(t, row->state);
        struct peer_ep *end;

        if (row->state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING)
                equip(t, held.ep);
        expect(recv_vector(held.ep, &to, 2, PLAIN), DAT_SUCCESS);
        if (row->state == DAT_EP_STATE_DISCONNECTED) {
                expect_completion(ep_recv_evd(t, held.ep), .ep = held.ep, .cookie = 2,
                                  .status = DAT_DTO_ERR_FLUSHED);
                expect_eq(ep_state(t, held.ep), DAT_EP_STATE_DISCONNECTED);
                return;
        }
        expect_empty(t, ep_recv_evd(t, held.ep));
        expect_ep_state_kept(t, held.ep, held.state);
        end = expect_goes_on(held.ep, held.state);
        if (end) {
                peer_send(end, .length = MESSAGE, .first = 6);
                expect_completion(ep_recv_evd(t, held.ep), .ep = held.ep, .cookie = 2,
                                  .length = MESSAGE);
                expect_holds(&to, 6, MESSAGE);
        } else {
                expect_completion(ep_recv_evd(t, held.ep), .ep = held.ep, .cookie = 2,
                                  .status = DAT_DTO_ERR_FLUSHED);
        }
}

/* The receives before them, as many as the EP has places for, went with the connection. */
CASE(ep_post_recv, flushed_at_once)
{
        struct full full = fill(t, true);
        struct line *line = &full.line;
        DAT_EVD_HANDLE evd = ep_recv_evd(t, line->to);
        uint64_t posted = line->awaited;

        must_end(t, &full.loop);
        for (uint64_t i = 0; i < posted; i++)
                must_complete(evd, .ep = line->to, .cookie = i, .status = DAT_DTO_ERR_FLUSHED);
        for (uint64_t i = 0; i < 48; i++) {
                expect(line_recv(line, PLAIN), DAT_SUCCESS);
                expect_completion(evd, .ep = line->to, .cookie = posted + i,
                                  .status = DAT_DTO_ERR_FLUSHED);
        }
        expect_empty(t, evd);
        expect_eq(ep_state(t, line->to), DAT_EP_STATE_DISCONNECTED);
}

/* The EP receives from its SRQ, and takes no receives of its own. */
CASE(ep_post_recv, with_srq)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){.srq = srq});
        struct buf *buf = buf_with(t);
        struct vector to = vector_with(t, .length = MESSAGE);
        struct line line;
        DAT_RETURN ret;

        loop_join(t, &loop);
        line = line_between(t, loop.active, loop.passive, 1);
        ret = recv_vector(loop.passive, &to, 2, PLAIN);
        expect_that(!dat_is(ret, DAT_SUCCESS) && !dat_is(ret, DAT_INTERNAL_ERROR),
                    "a receive for an EP with an SRQ was not refused as it should be");
        srq_post(t, srq, buf, MESSAGE, 0, 1);
        must(line_send(&line, PLAIN));
        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 0,
                          .length = MESSAGE);
        expect_untouched(&to);
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

FAMILY(ep_post_recv, negative_segments, negative)
{
        struct line line = line_with(t);
        DAT_LMR_TRIPLET segment = triplet(line.target, MESSAGE, MESSAGE);

        expect(dat_ep_post_recv(line.to, row->segments, &segment, COOKIE(3), PLAIN),
               DAT_INVALID_PARAMETER);
        expect_no_receive(t, &line);
}

CASE(ep_post_recv, segment_too_many)
{
        struct loop loop = transfer_with(t, .segments = 2);
        DAT_COUNT most = ep_snapshot(t, loop.passive).param.ep_attr.max_recv_iov;

        if (most >= WIDEST)
                unsupported(t, "max_recv_iov: more segments than the case can give");

        struct vector to = vector_with(t, .length = 2 * (size_t)most + 2, .segments = most + 1);
        struct vector from = vector_with(t, .length = to.length);
        vector_fill(t, &from, 1);
        if (!dat_is(expect(recv_vector(loop.passive, &to, 2, PLAIN), DAT_INVALID_PARAMETER,
                           DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS),
                    DAT_SUCCESS))
                return;
        must(send_vector(loop.active, &from, 3, PLAIN));
        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = to.length);
        expect_holds(&to, 1, to.length);
        note(t, "a vector beyond max_recv_iov was taken, and filled");
}

CASE(ep_post_recv, greatest_segments)
{
        struct line line = line_with(t);
        DAT_LMR_TRIPLET segment = triplet(line.target, MESSAGE, MESSAGE);

        expect(dat_ep_post_recv(line.to, INT_MAX, &segment, COOKIE(3), PLAIN),
               DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES);
        expect_no_receive(t, &line);
}

LEGAL(ep_post_recv)
{
        static DAT_LMR_TRIPLET segment;

        segment = triplet(buf_with(t), 0, MESSAGE);
        call->ep_handle = ep_with(t);
        call->num_segments = 1;
        call->local_iov = &segment;
        call->user_cookie = COOKIE(0);
        call->completion_flags = PLAIN;
}
