/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_post_recv: the number of receives. */
#include "cases/ep/ep_post_recv/fixtures.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "clauses/ep_post_recv.h"

#include <limits.h>
#include <string.h>

#define POSTERS    4
#define SHARE      3 /* receives that each of them posts */
#define ALL_SHARES 12

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
