/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_post_recv: cookies and the order of completions. */
#include "cases/ep/ep_post_recv/fixtures.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/shared/cookies.h"
#include "clauses/ep_post_recv.h"

#include <limits.h>
#include <string.h>

FAMILY(ep_post_recv, cookie, cookies)
{
        struct line line = line_with(t);
        DAT_LMR_TRIPLET segment = triplet(line.target, 0, MESSAGE);

        expect(dat_ep_post_recv(line.to, 1, &segment, COOKIE(row->value), PLAIN), DAT_SUCCESS);
        must(line_send(&line, PLAIN));

        expect_completion(ep_recv_evd(t, line.to), .ep = line.to, .cookie = row->value,
                          .length = MESSAGE);
}

/* The completion of a receive whose cookie has bits in each byte. */
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

/* Over a connection that was made by each route, and after its end. */
CASE(ep_post_recv, by_each_route)
{
        EACH_EP_ROUTE (route, DAT_EP_STATE_CONNECTED) {
                DAT_EP_HANDLE ep = ep_by(t, route);
                DAT_EVD_HANDLE evd = ep_recv_evd(t, ep);
                struct vector to[2 * ROUTED];

                for (uint64_t i = 0; i < UINT64_C(2) * ROUTED; i++) {
                        to[i] = vector_with(t, .length = LENGTH);
                        expect(recv_vector(ep, &to[i], WIDE_COOKIE(i), PLAIN), DAT_SUCCESS);
                }
                peer_send(ep_end(t, ep), .count = ROUTED, .length = 200, .length_step = 300);
                for (uint64_t i = 0; i < ROUTED; i++) {
                        expect_completion(evd, .ep = ep, .cookie = WIDE_COOKIE(i),
                                          .length = 200 + 300 * i);
                        expect_holds(&to[i], i, 200 + 300 * i);
                }
                must(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
                must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_DISCONNECTED);
                expect(recv_vector(ep, &to[0], WIDE_COOKIE(2 * ROUTED), PLAIN), DAT_SUCCESS);
                for (uint64_t i = ROUTED; i < 2 * ROUTED + 1; i++)
                        expect_completion(evd, .ep = ep, .cookie = WIDE_COOKIE(i),
                                          .status = DAT_DTO_ERR_FLUSHED);
                expect_empty(t, evd);
        }
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
