/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_post_send: cookies and the order of completions. */
#include "cases/ep/ep_post_send/fixtures.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/cookies.h"
#include "cases/shared/point.h"
#include "clauses/ep_post_send.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define FENCED  ((size_t)256 * 1024)
#define ROUNDS  4
#define LATE_MS 50 /* by which the network makes a read late */

FAMILY(ep_post_send, cookie, cookies)
{
        struct line line = line_with(t);
        DAT_LMR_TRIPLET segment = triplet(line.source, 0, MESSAGE);

        must_line_recv(t, &line, 1);
        expect(dat_ep_post_send(line.from, 1, &segment, COOKIE(row->value), PLAIN), DAT_SUCCESS);

        expect_completion(ep_request_evd(t, line.from), .ep = line.from, .cookie = row->value,
                          .length = MESSAGE);
}

/* The completion of a send whose cookie has bits in each byte. */
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

/* Over a connection that was made by each route, and after its end. */
CASE(ep_post_send, by_each_route)
{
        EACH_EP_ROUTE (route, DAT_EP_STATE_CONNECTED) {
                DAT_EP_HANDLE ep = ep_by(t, route);
                DAT_EVD_HANDLE evd = ep_request_evd(t, ep);
                struct vector from[ROUTED];

                peer_post_recv(ep_end(t, ep), ROUTED, LENGTH);
                for (uint64_t i = 0; i < ROUTED; i++) {
                        from[i] = vector_with(t, .length = LENGTH - 600 * i);
                        vector_fill(t, &from[i], i);
                        expect(send_vector(ep, &from[i], WIDE_COOKIE(i), PLAIN), DAT_SUCCESS);
                }
                for (uint64_t i = 0; i < ROUTED; i++) {
                        expect_peer_has(ep_end(t, ep), i, LENGTH - 600 * i);
                        expect_completion(evd, .ep = ep, .cookie = WIDE_COOKIE(i),
                                          .length = LENGTH - 600 * i);
                }
                must(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
                must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_DISCONNECTED);
                for (uint64_t i = 0; i < ROUTED; i++)
                        expect(send_vector(ep, &from[i], WIDE_COOKIE(i), PLAIN), DAT_SUCCESS);
                for (uint64_t i = 0; i < ROUTED; i++)
                        expect_completion(evd, .ep = ep, .cookie = WIDE_COOKIE(i),
                                          .status = DAT_DTO_ERR_FLUSHED);
                expect_empty(t, evd);
        }
}

/* Two EPs report to one EVD, and send in turn or one after the other. */
CASE(ep_post_send, of_its_own_ep)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        struct line lines[2] = {line_with(t, .request_evd = evd), line_with(t, .request_evd = evd)};

        for (int i = 0; i < 8; i++) {
                struct line *line = &lines[i < 4 ? i % 2 : i / 6];

                must_line_recv(t, line, 1);
                expect(line_send(line, PLAIN), DAT_SUCCESS);
                expect_arrivals(t, line, 1);
                expect_sends_complete(t, line, 1);
        }
        expect_empty(t, evd);
}

/* When the message has arrived, so has the data that was written before it. */
CASE(ep_post_send, after_rdma_write)
{
        struct loop loop = transfer_with(t);
        struct line line = line_between(t, loop.active, loop.passive, 1);
        struct vector from = vector_with(t, .length = 100000);
        struct vector to = vector_with(t, .length = 100000);
        DAT_RMR_TRIPLET remote = vector_remote(&to);

        must_carry(t, 100000);
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

/*
 * The read and the send wait for a receive of the message before them. They start at once, so that
 * a send that does not wait for the read has other bytes.
 */
static bool send_behind_held_read(struct test *t, const struct loop *loop, uint64_t round,
                                  DAT_COMPLETION_FLAGS flags)
{
        DAT_EVD_HANDLE requests = ep_request_evd(t, loop->active);
        DAT_EVD_HANDLE receives = ep_recv_evd(t, loop->passive);
        struct vector away = vector_with(t, .length = FENCED);
        struct vector first = vector_with(t, .length = LENGTH);
        struct vector between = vector_with(t, .length = FENCED);
        struct vector to_first = vector_with(t, .length = LENGTH);
        struct vector to_fenced = vector_with(t, .length = FENCED);
        DAT_RMR_TRIPLET remote = vector_remote(&away);

        vector_fill(t, &away, round);
        if (!held_up(t, loop, &first, 1))
                return false;
        must(dat_ep_post_rdma_read(loop->active, 1, between.iov, COOKIE(2), &remote, PLAIN));
        expect(send_vector(loop->active, &between, 3, flags), DAT_SUCCESS);
        must(recv_vector(loop->passive, &to_first, 1, PLAIN));
        must(recv_vector(loop->passive, &to_fenced, 3, PLAIN));

        expect_completion(receives, .ep = loop->passive, .cookie = 1, .length = LENGTH);
        expect_completion(receives, .ep = loop->passive, .cookie = 3, .length = FENCED);
        expect_holds(&to_fenced, round, FENCED);
        expect_completion(requests, .ep = loop->active, .cookie = 1, .length = LENGTH);
        expect_completion(requests, .ep = loop->active, .cookie = 2, .length = FENCED);
        if (!(flags & DAT_COMPLETION_SUPPRESS_FLAG))
                expect_completion(requests, .ep = loop->active, .cookie = 3, .length = FENCED);
        expect_empty(t, requests);
        return true;
}

/* A send that does not wait may still be the later one: one of several is not. */
CASE(ep_post_send, fenced_behind_held_read)
{
        struct loop loop = transfer_with(t, .reads = 1);

        for (uint64_t round = 1; round <= ROUNDS; round++)
                if (!send_behind_held_read(t, &loop, round, FENCE))
                        return;
}

static const struct fenced {
        const char *id;
        DAT_COMPLETION_FLAGS of_ep;
        DAT_COMPLETION_FLAGS flags;
} fenced[] = {
    {"suppress", PLAIN, FLAGS(FENCE | DAT_COMPLETION_SUPPRESS_FLAG)},
    {"solicited", PLAIN, FLAGS(FENCE | DAT_COMPLETION_SOLICITED_WAIT_FLAG)},
    {"unsignalled", UNSIGNAL, FLAGS(FENCE | UNSIGNAL)},
};

/* Beside another flag the fence is one still. */
FAMILY(ep_post_send, fenced_and_more, fenced)
{
        struct loop loop = transfer_with(t, .reads = 1, .request_flags = row->of_ep);

        for (uint64_t round = 1; round <= ROUNDS; round++)
                if (!send_behind_held_read(t, &loop, round, row->flags))
                        return;
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
                            "a message that was not received is reported as sent");
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
 * A plain send without a receive keeps the first read incomplete, so the fence has to wait for it.
 * The second read is posted while the transport repeats the fenced send.
 */
CASE(ep_post_send, fenced_between_reads)
{
        struct loop loop = transfer_with(t, .reads = 2);
        DAT_EVD_HANDLE requests = ep_request_evd(t, loop.active);
        DAT_EVD_HANDLE receives = ep_recv_evd(t, loop.passive);
        struct vector away = vector_with(t, .length = FENCED);
        struct vector first = vector_with(t, .length = LENGTH);
        struct vector before = vector_with(t, .length = FENCED);
        struct vector behind = vector_with(t, .length = FENCED);
        struct vector to_first = vector_with(t, .length = LENGTH);
        struct vector to_fenced = vector_with(t, .length = FENCED);
        DAT_RMR_TRIPLET remote = vector_remote(&away);

        vector_fill(t, &away, 1);
        must(send_vector(loop.active, &first, 1, PLAIN));
        must(dat_ep_post_rdma_read(loop.active, 1, before.iov, COOKIE(2), &remote, PLAIN));
        expect(send_vector(loop.active, &before, 3, FENCE), DAT_SUCCESS);
        must(recv_vector(loop.passive, &to_first, 1, PLAIN));
        expect_completion(requests, .ep = loop.active, .cookie = 1, .length = LENGTH);
        expect_completion(requests, .ep = loop.active, .cookie = 2, .length = FENCED);
        expect_completion(receives, .ep = loop.passive, .cookie = 1, .length = LENGTH);
        settle_briefly(t);
        must(dat_ep_post_rdma_read(loop.active, 1, behind.iov, COOKIE(4), &remote, PLAIN));
        settle_briefly(t);
        must(recv_vector(loop.passive, &to_fenced, 3, PLAIN));

        expect_completion(receives, .ep = loop.passive, .cookie = 3, .length = FENCED);
        expect_holds(&to_fenced, 1, FENCED);
        expect_completion(requests, .ep = loop.active, .cookie = 3, .length = FENCED);
        expect_completion(requests, .ep = loop.active, .cookie = 4, .length = FENCED);
        expect_holds(&behind, 1, FENCED);
}
