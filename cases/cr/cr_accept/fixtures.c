/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/cr/cr_accept/fixtures.h"
#include "case/ep_attr.h"
#include "cases/srq/shared/queue.h"

void expect_taken(struct test *t, struct request *request)
{
        request->cr = expect_cr_request(t, request->evd, request->point, request->qual);
        if (request->maker != MADE_BY_PROVIDER)
                return;
        request->passive = must_tell_ep(t, request->cr);
        must_equip(t, request);
}

void expect_posted_taken(struct test *t, const struct request *request, const struct buf *buf)
{
        for (uint64_t i = 0; i < POSTED; i++) {
                message_fill(buf->addr + 2 * MESSAGE, MESSAGE, i);
                loop_post_send(t, request->active, buf, 10 + i);
                expect_eq(expect_dto(request->recv_evd).user_cookie.as_64, i);
                expect_that(message_holds(buf->addr, MESSAGE, i), "the memory has not the message");
                expect_dto(ep_request_evd(t, request->active));
        }
}

DAT_COUNT lesser(DAT_COUNT a, DAT_COUNT b)
{
        return a < b ? a : b;
}
