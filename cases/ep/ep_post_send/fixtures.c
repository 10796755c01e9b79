/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ep/ep_post_send/fixtures.h"

DAT_DTO_COMPLETION_EVENT_DATA expect_dto_failed(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event = expect_event(evd, DAT_DTO_COMPLETION_EVENT);

        expect_that(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS,
                    "a message that was not received is reported as sent");
        return event.event_data.dto_completion_event_data;
}

void expect_no_send(struct test *t, struct line *line)
{
        must_line_recv(t, line, 1);
        expect(line_send(line, PLAIN), DAT_SUCCESS);
        expect_arrivals(t, line, 1);
        expect_sends_complete(t, line, 1);
        expect_empty(t, ep_request_evd(t, line->from));
}

void expect_all_come(struct test *t, struct line *line)
{
        while (line->arrived < line->sent) {
                must_line_recv(t, line, 1);
                expect_arrivals(t, line, 1);
        }
        expect_sends_complete(t, line, (int)(line->sent - line->complete));
        expect_empty(t, ep_request_evd(t, line->from));
}
