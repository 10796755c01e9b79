/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_disconnect: order of events on a single EVD. */
#include "case/ep_attr.h"
#include "case/standard.h"
#include "cases/ep/ep_disconnect/fixtures.h"
#include "cases/ep/shared/connect.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"
#include "clauses/ep_disconnect.h"

#include <string.h>

static const struct merged_row {
        const char *id;
        DAT_CLOSE_FLAGS flags;
        size_t received; /* of the sends that find a receive */
        enum work work;
        bool alone; /* but for connections, an EVD has one stream of its EP */
} merged[] = {
    {"graceful", DAT_CLOSE_GRACEFUL_FLAG, WORKS, SENDS, false},
    {"abrupt", DAT_CLOSE_ABRUPT_FLAG, WORKS, SENDS, false},
    {"abrupt_half", DAT_CLOSE_ABRUPT_FLAG, WORKS / 2, SENDS, false},
    {"graceful_alone", DAT_CLOSE_GRACEFUL_FLAG, WORKS, SENDS, true},
    {"graceful_writes", DAT_CLOSE_GRACEFUL_FLAG, 1, WRITES, false},
    {"graceful_reads", DAT_CLOSE_GRACEFUL_FLAG, 1, READS, false},
};

/* Successes are reported before the disconnect event, and all DTOs are. Returns the successes. */
static size_t expect_end_behind_success(struct test *t, DAT_EVD_HANDLE evd, size_t count)
{
        bool over = false;
        size_t done = 0;
        size_t seen = 0;

        while (seen < count || !over) {
                DAT_EVENT event;
                DAT_COUNT more;

                expect(dat_evd_wait(evd, event_timeout(t), 1, &event, &more), DAT_SUCCESS);
                if (event.event_number != DAT_DTO_COMPLETION_EVENT) {
                        expect_that(event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
                                        event.event_number == DAT_CONNECTION_EVENT_BROKEN,
                                    "%s came of a disconnect", name_of_event(event.event_number));
                        expect_that(!over, "the disconnect event comes twice");
                        over = true;
                        continue;
                }
                seen++;
                if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
                        continue;
                expect_that(!over, "a success came behind the end");
                done++;
        }
        expect_that(seen == count, "%zu completions came of %zu DTOs", seen, count);
        return done;
}

FAMILY(ep_disconnect, end_behind_success, merged)
{
        DAT_EVD_FLAGS flags = (DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
        DAT_EVD_HANDLE one = evd_with(t, .flags = flags);
        DAT_EVD_HANDLE other = evd_with(t, .flags = flags);
        struct ep_opts active = {.request_evd = one, .connect_evd = one};
        struct ep_opts passive = {.recv_evd = other, .connect_evd = other};
        struct line line;
        size_t sent;
        size_t came;

        if (!row->alone) {
                active.recv_evd = one;
                passive.request_evd = other;
        }
        line = line_with(t, active, passive);
        post_recvs(t, line.loop.passive, line.in, 0, row->received);
        post_works(t, &line, row->work);
        end_by(t, line.loop.active, row->flags);
        sent = expect_end_behind_success(t, one, WORKS);
        came = expect_end_behind_success(t, other, row->received);
        if (row->flags == DAT_CLOSE_GRACEFUL_FLAG)
                expect_eq(sent, WORKS);
        if (row->work == SENDS)
                expect_that(sent <= came, "%zu sends succeeded, and %zu came", sent, came);
}

static const struct unreaped_row {
        const char *id;
        DAT_CLOSE_FLAGS flags;
        bool other; /* who ends is the one that sent */
} unreaped[] = {
    {"abrupt", DAT_CLOSE_ABRUPT_FLAG, false},
    {"graceful", DAT_CLOSE_GRACEFUL_FLAG, false},
    {"by_other_end", DAT_CLOSE_ABRUPT_FLAG, true},
};

/* Half of the receives have a message; none is reaped before the end. */
FAMILY(ep_disconnect, received_before_end, unreaped)
{
        DAT_EVD_HANDLE one =
            evd_with(t, .flags = (DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG));
        struct line line = line_with(t, (struct ep_opts){.recv_evd = one, .connect_evd = one},
                                     (struct ep_opts){0});
        struct line back = turned(line);
        size_t seen = 0;
        size_t done = 0;
        bool over = false;

        post_recvs(t, line.loop.active, line.in, 0, WORKS);
        for (size_t i = 0; i < WORKS / 2; i++)
                must(post(&back, SENDS, i));
        for (size_t i = 0; i < WORKS / 2; i++)
                must_dto(ep_request_evd(t, back.loop.active));
        end_by(t, row->other ? back.loop.active : line.loop.active, row->flags);
        while (seen < WORKS || !over) {
                DAT_EVENT event;
                DAT_COUNT more;
                const DAT_DTO_COMPLETION_EVENT_DATA *dto =
                    &event.event_data.dto_completion_event_data;

                expect(dat_evd_wait(one, event_timeout(t), 1, &event, &more), DAT_SUCCESS);
                if (event.event_number != DAT_DTO_COMPLETION_EVENT) {
                        expect_that(event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
                                        event.event_number == DAT_CONNECTION_EVENT_BROKEN,
                                    "%s came of a disconnect", name_of_event(event.event_number));
                        expect_that(!over, "the disconnect event comes twice");
                        over = true;
                        continue;
                }
                expect_eq(dto->user_cookie.as_64, seen);
                if (dto->status == DAT_DTO_SUCCESS) {
                        expect_that(!over, "a message came behind the end");
                        expect_that(done == seen, "receive %zu has a message, and one before not",
                                    seen);
                        expect_that(message_holds(line.in->addr + seen * MESSAGE, MESSAGE, seen),
                                    "receive %zu has not its message", seen);
                        done++;
                }
                seen++;
        }
        expect_empty(t, one);
        record(t, "%zu of %d messages were received", done, WORKS / 2);
}
