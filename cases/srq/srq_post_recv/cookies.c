/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_post_recv: cookies. */
#include "cases/shared/cookies.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/segment.h"
#include "cases/shared/rounds.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_post_recv/fixtures.h"
#include "clauses/srq_post_recv.h"

#define TURNS 20 /* in which all receives of a queue are used */

FAMILY(srq_post_recv, cookie, cookies)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_LMR_TRIPLET segment = triplet(queue.buf, 0, MESSAGE);

        expect(dat_srq_post_recv(queue.srq, 1, &segment, (DAT_DTO_COOKIE){.as_64 = row->value}),
               DAT_SUCCESS);
        flow_send(&flow, 1);

        expect_that(expect_dto(flow.evd).user_cookie.as_64 == row->value,
                    "the cookie is not the one posted");
}

#define COOKIES (sizeof(cookies) / sizeof(cookies[0]))

/* Each cookie with receives of one segment, of two and of none, which messages of no bytes fit. */
CASE(srq_post_recv, cookie_whatever_segments)
{
        DAT_COUNT most = ia_attr(t)->max_iov_segments_per_dto < 2 ? 1 : 2;
        struct queue queue = {
            .srq = srq_with(t, .max_recv_dtos = 3 * COOKIES, .max_recv_iov = most),
            .length = MESSAGE,
            .buf = buf_with(t, .length = 2 * MESSAGE),
        };
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_LMR_TRIPLET iov[] = {triplet(queue.buf, 0, MESSAGE),
                                 triplet(queue.buf, MESSAGE, MESSAGE)};
        DAT_COUNT left[COOKIES] = {0};

        for (size_t i = 0; i < COOKIES; i++) {
                for (DAT_COUNT segments = 0; segments <= most; segments++, left[i]++)
                        expect(dat_srq_post_recv(queue.srq, segments, iov,
                                                 (DAT_DTO_COOKIE){.as_64 = cookies[i].value}),
                               DAT_SUCCESS);
        }
        for (size_t message = 0; message < COOKIES * (size_t)(most + 1); message++) {
                DAT_UINT64 cookie;
                size_t i = 0;

                peer_send(flow.end, .empty = true);
                cookie = expect_dto(flow.evd).user_cookie.as_64;
                while (i < COOKIES && cookies[i].value != cookie)
                        i++;
                expect_that(i < COOKIES && left[i]-- > 0, "cookie %#llx, which no receive has",
                            (unsigned long long)cookie);
        }
}

/* More than any count of eight bits holds. */
CASE(srq_post_recv, many_in_turn)
{
        struct queue queue = queue_with(t, 16);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        for (int turn = 0; turn < TURNS; turn++) {
                expect_posts(t, &queue, 16);
                expect_traffic(t, &queue, &flow, 16);
        }
        expect_quiet(flow.evd);
}

#define EACH_ROUND 4 /* receives */

/* Each round fills the queue, has as many receives refused, and uses all. */
CASE(srq_post_recv, leaves_nothing, ROUNDS_DEADLINE)
{
        struct queue queue = queue_with(t, EACH_ROUND);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct rounds rounds = rounds_slow(t, DAT_HANDLE_TYPE_CR, 1);
        DAT_LMR_TRIPLET segment = triplet(queue.buf, 0, MESSAGE);

        while (rounds_next(&rounds)) {
                expect_posts(t, &queue, EACH_ROUND);
                for (int i = 0; i < EACH_ROUND; i++)
                        (void)dat_srq_post_recv(queue.srq, -1, &segment, COOKIE);
                expect_traffic(t, &queue, &flow, EACH_ROUND);
        }
        expect_no_leak(&rounds);
}

/* Each of the receives has the memory of the one before. */
CASE(srq_post_recv, same_memory)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_LMR_TRIPLET segment = triplet(queue.buf, 0, MESSAGE);
        unsigned int seen = 0;
        uint64_t cookie;

        for (uint64_t i = 0; i < 4; i++)
                expect(dat_srq_post_recv(queue.srq, 1, &segment, (DAT_DTO_COOKIE){.as_64 = i}),
                       DAT_SUCCESS);
        for (uint64_t message = 0; message < 4; message++) {
                flow_send(&flow, 1);
                cookie = expect_dto(flow.evd).user_cookie.as_64;
                expect_that(cookie < 4, "a cookie that no receive has: %llu",
                            (unsigned long long)cookie);
                seen |= 1U << cookie;
                expect_that(message_holds(queue.buf->addr, MESSAGE, message),
                            "message %llu is not in the memory of its receive",
                            (unsigned long long)message);
        }
        expect_eq(seen, 0xf);
        expect_quiet(flow.evd);
}

CASE(srq_post_recv, same_cookie)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        for (size_t slot = 0; slot < 4; slot++) {
                DAT_LMR_TRIPLET segment = triplet(queue.buf, slot * MESSAGE, MESSAGE);

                expect(dat_srq_post_recv(queue.srq, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 5}),
                       DAT_SUCCESS);
        }
        flow_send(&flow, 4);

        for (int i = 0; i < 4; i++)
                expect_eq(expect_dto(flow.evd).user_cookie.as_64, 5);
        expect_quiet(flow.evd);
        for (uint64_t message = 0; message < 4; message++) {
                int found = 0;

                for (size_t slot = 0; slot < 4; slot++)
                        found += message_holds(queue.buf->addr + slot * MESSAGE, MESSAGE, message);
                expect_that(found == 1, "message %llu is in the memory of %d receives",
                            (unsigned long long)message, found);
        }
}

CASE(srq_post_recv, cookie_of_its_receive)
{
        struct queue queue = queue_with(t, 16);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        expect_posts(t, &queue, 16);
        expect_traffic(t, &queue, &flow, 16);
        expect_quiet(flow.evd);
}
