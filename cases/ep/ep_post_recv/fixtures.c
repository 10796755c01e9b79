/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ep/ep_post_recv/fixtures.h"

void expect_no_receive(struct test *t, struct line *line)
{
        expect(line_recv(line, PLAIN), DAT_SUCCESS);
        must(line_send(line, SOLICITED));
        expect_arrivals(t, line, 1);
        expect_empty(t, ep_recv_evd(t, line->to));
}

struct full fill(struct test *t, bool connected)
{
        DAT_EVD_HANDLE received = evd_of_at_most(t, MOST_RECVS + 16);
        struct full full = {
            .loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){.recv_evd = received})};
        DAT_COUNT places = ep_snapshot(t, full.loop.passive).param.ep_attr.max_recv_dtos;

        must_have_room(t, received, places);
        full.line = line_between(t, full.loop.active, full.loop.passive, MOST_RECVS + 16);
        if (connected)
                loop_join_either(t, &full.loop);
        for (DAT_COUNT i = 0; i < places; i++)
                expect(line_recv(&full.line, PLAIN), DAT_SUCCESS);
        return full;
}

void expect_all_serve(struct test *t, struct line *line)
{
        while (line->arrived < line->awaited) {
                must(line_send(line, PLAIN));
                expect_arrivals(t, line, 1);
                must_complete(ep_request_evd(t, line->from), .ep = line->from,
                              .cookie = line->complete++, .length = MESSAGE);
        }
        expect_empty(t, ep_recv_evd(t, line->to));
}
