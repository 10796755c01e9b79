/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_post_send: the number of requests. */
#include "cases/ep/ep_post_send/fixtures.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/beside.h"
#include "cases/shared/point.h"
#include "clauses/ep_post_send.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define SENDERS    3
#define SHARE      5 /* messages that each of them sends */
#define ALL_SHARES 15

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
                end_noted(t,
                          "the transport ends a connection if the receiver has no receive posted");
        return full;
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
        loop_join_either(t, &loop);
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

static DAT_RETURN send_beside(void *line, unsigned int i)
{
        (void)i;
        return line_send(line, PLAIN);
}

/* Each message comes, whole and once. */
static void expect_all_shares(struct test *t, const struct line *line)
{
        unsigned int come = 0;

        for (uint64_t i = 0; i < ALL_SHARES; i++) {
                uint64_t sequence = 0;

                expect_completion(ep_recv_evd(t, line->to), .ep = line->to, .cookie = i,
                                  .length = MESSAGE);
                while (sequence < ALL_SHARES &&
                       !message_holds(line->target->addr + i * MESSAGE, MESSAGE, sequence))
                        sequence++;
                expect_that(sequence < ALL_SHARES, "a message is not whole");
                come |= 1U << sequence;
                expect_dto(ep_request_evd(t, line->from));
        }
        expect_eq(come, (1U << ALL_SHARES) - 1);
}

/* Threads that send at once over one EP. */
CASE(ep_post_send, threads_at_once, BESIDE_DEADLINE)
{
        struct line line = line_with(t);
        struct stress stress = stress_of(t, BESIDE_ROUNDS);

        while (stress.met < BESIDE_MET && stress_round(&stress)) {
                struct line lines[SENDERS];
                struct part parts[SENDERS];

                line.awaited = 0;
                memset(line.target->addr, 0xa5, ALL_SHARES * MESSAGE);
                must_line_recv(t, &line, ALL_SHARES);
                for (uint64_t i = 0; i < SENDERS; i++) {
                        lines[i] = line;
                        lines[i].sent = i * SHARE;
                        parts[i] = (struct part){.turn = send_beside, .arg = &lines[i]};
                }
                stress_met(&stress, beside(t, parts, SENDERS, SHARE));
                for (int i = 0; i < SENDERS; i++)
                        expect(parts[i].ret, DAT_SUCCESS);
                expect_all_shares(t, &line);
        }
        must_have_met(&stress);
}
