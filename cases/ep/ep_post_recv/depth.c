/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_post_recv: the number of receives. */
#include "cases/ep/ep_post_recv/fixtures.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/shared/beside.h"
#include "clauses/ep_post_recv.h"

#include <limits.h>
#include <string.h>

#define POSTERS    3
#define SHARE      5 /* receives that each of them posts */
#define ALL_SHARES 15

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
                loop_join_either(t, &full.loop);
        expect_all_serve(t, &full.line);
}

FAMILY(ep_post_recv, one_too_many, moments)
{
        struct full full = fill(t, row->connected);

        if (dat_is(expect(line_recv(&full.line, PLAIN), DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS),
                   DAT_SUCCESS))
                note(t, "a receive was taken beyond max_recv_dtos");
        if (!row->connected)
                loop_join_either(t, &full.loop);
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

static DAT_RETURN post_beside(void *line, unsigned int i)
{
        (void)i;
        return line_recv(line, PLAIN);
}

/* Each receive serves a message, into its own slot. */
static void expect_all_shares(struct test *t, struct line *line)
{
        unsigned int served = 0;

        for (uint64_t i = 0; i < ALL_SHARES; i++) {
                DAT_DTO_COMPLETION_EVENT_DATA dto;

                must(line_send(line, PLAIN));
                dto = expect_dto(ep_recv_evd(t, line->to));
                must_dto(ep_request_evd(t, line->from));
                expect_that(dto.user_cookie.as_64 < ALL_SHARES, "a cookie was never posted");
                expect_that(
                    message_holds(line->target->addr + dto.user_cookie.as_64 * MESSAGE, MESSAGE, i),
                    "message %llu is not in its receive", (unsigned long long)i);
                served |= 1U << dto.user_cookie.as_64;
        }
        expect_eq(served, (1U << ALL_SHARES) - 1);
}

/* Threads that post at once to one EP. */
CASE(ep_post_recv, threads_at_once, BESIDE_DEADLINE)
{
        struct line line = line_with(t);
        struct stress stress = stress_of(t, BESIDE_ROUNDS);

        while (stress.met < BESIDE_MET && stress_round(&stress)) {
                struct line lines[POSTERS];
                struct part parts[POSTERS];

                line.sent = 0;
                memset(line.target->addr, 0xa5, ALL_SHARES * MESSAGE);
                for (uint64_t i = 0; i < POSTERS; i++) {
                        lines[i] = line;
                        lines[i].awaited = i * SHARE;
                        parts[i] = (struct part){.turn = post_beside, .arg = &lines[i]};
                }
                stress_met(&stress, beside(t, parts, POSTERS, SHARE));
                for (int i = 0; i < POSTERS; i++)
                        expect(parts[i].ret, DAT_SUCCESS);
                expect_all_shares(t, &line);
        }
        must_have_met(&stress);
}
