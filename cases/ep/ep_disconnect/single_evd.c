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
