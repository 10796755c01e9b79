/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_post_send: failed and refused sends. */
#include "cases/ep/ep_post_send/fixtures.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"
#include "clauses/ep_post_send.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define REFUSALS 8 /* of one send, in a row */

/*
 * Messages that are too long, and too early
 */

CASE(ep_post_send, longer_than_receive)
{
        struct loop loop = transfer_with(t);
        struct vector from = vector_with(t, .length = LENGTH + 1);
        struct vector to = vector_with(t, .length = LENGTH);
        DAT_EVENT event;

        vector_fill(t, &from, 1);
        must(recv_vector(loop.passive, &to, 2, PLAIN));
        expect(send_vector(loop.active, &from, 3, PLAIN), DAT_SUCCESS);

        event = expect_event(ep_request_evd(t, loop.active), DAT_DTO_COMPLETION_EVENT);
        expect_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, 3);
        if (event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS)
                note(t, "the sender is not told that its message was too long");
        expect_kept_around(&to);
        expect_empty(t, ep_request_evd(t, loop.active));
}

CASE(ep_post_send, longer_than_most)
{
        DAT_VLEN limit = ia_attr(t)->max_message_size;
        DAT_VLEN most = limit && limit < LENGTH ? limit : LENGTH;
        struct loop loop = transfer_with(t, .most = most);
        DAT_VLEN told = ep_snapshot(t, loop.active).param.ep_attr.max_message_size;
        struct vector to = vector_with(t, .length = told + 1);
        struct vector from = vector_with(t, .length = told + 1);
        DAT_EVENT event;

        vector_fill(t, &from, 1);
        must(recv_vector(loop.passive, &to, 2, PLAIN));
        if (!dat_is(expect_may(send_vector(loop.active, &from, 3, PLAIN), DAT_INVALID_PARAMETER,
                               DAT_LENGTH_ERROR, DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS),
                    DAT_SUCCESS)) {
                expect_untouched(&to);
                return;
        }
        note(t, "a message beyond max_message_size was taken");
        event = expect_event(ep_request_evd(t, loop.active), DAT_DTO_COMPLETION_EVENT);
        if (event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS)
                expect_holds(&to, 1, from.length);
}

/* Sent before a receive is posted: it arrives when there is one, or the send fails. */
CASE(ep_post_send, before_receive)
{
        struct line line = line_with(t);
        DAT_EVENT event;

        expect(line_send(&line, PLAIN), DAT_SUCCESS);
        settle_briefly(t);
        if (dat_is(dat_evd_dequeue(ep_request_evd(t, line.from), &event), DAT_SUCCESS)) {
                expect_that(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS,
                            "a message that was not received is reported as sent");
                note(t, "the transport keeps no message for a receive to come");
                return;
        }
        must_line_recv(t, &line, 1);
        expect_arrivals(t, &line, 1);
        expect_sends_complete(t, &line, 1);
}

/*
 * Protection
 */

FAMILY(ep_post_send, wrong_segment, wrong_segments)
{
        struct loop loop = transfer_with(t, .segments = row->segments);
        struct line line = line_between(t, loop.active, loop.passive, 2);
        struct vector to = vector_with(t, .length = 8192);
        struct wrong wrong;

        must(recv_vector(loop.passive, &to, 0, PLAIN));
        wrong = wrong_with(t, row, DAT_MEM_PRIV_LOCAL_READ_FLAG);
        if (expect_wrong(send_vector(loop.active, &wrong.vector, 0, PLAIN), &wrong)) {
                expect(line_send(&line, PLAIN), DAT_SUCCESS);
                expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 0,
                                  .length = MESSAGE);
                expect_holds(&to, 0, MESSAGE);
                expect_sends_complete(t, &line, 1);
        } else {
                expect_wrong_told(t, ep_request_evd(t, loop.active), loop.active, 0, &wrong);
                if (wrong_at_once(&wrong))
                        expect_untouched(&to);
        }
        expect_wrong_untouched(t, &wrong);
}

FAMILY(ep_post_send, wrong_on_disconnected, wrong_flushed)
{
        struct loop loop = transfer_with(t, .segments = row->segments);
        DAT_EVD_HANDLE evd = ep_request_evd(t, loop.active);
        struct wrong wrong;

        must_end(t, &loop);
        wrong = wrong_with(t, row, DAT_MEM_PRIV_LOCAL_READ_FLAG);
        if (!expect_wrong(send_vector(loop.active, &wrong.vector, 4, PLAIN), &wrong))
                expect_completion(evd, .ep = loop.active, .cookie = 4,
                                  .status = DAT_DTO_ERR_FLUSHED);
        expect_empty(t, evd);
}

/*
 * What a refused send leaves as it was
 */

static DAT_RETURN with_negative_segments(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);

        return dat_ep_post_send(ep, -1, &segment, COOKIE(99), PLAIN);
}

static DAT_RETURN with_unsignalled_flag(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);

        return dat_ep_post_send(ep, 1, &segment, COOKIE(99), UNSIGNAL);
}

static DAT_RETURN with_undefined_flag(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);

        return dat_ep_post_send(ep, 1, &segment, COOKIE(99), FLAGS(1U << 16));
}

static DAT_RETURN with_other_zone(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_LMR_TRIPLET segment = triplet(buf_with(t, .pz = pz_new(t)), 0, MESSAGE);

        return dat_ep_post_send(ep, 1, &segment, COOKIE(99), PLAIN);
}

static DAT_RETURN with_no_privilege(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_LMR_TRIPLET segment =
            triplet(buf_with(t, .privileges = DAT_MEM_PRIV_LOCAL_WRITE_FLAG), 0, MESSAGE);

        return dat_ep_post_send(ep, 1, &segment, COOKIE(99), PLAIN);
}

static DAT_RETURN with_outside(struct test *t, DAT_EP_HANDLE ep)
{
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf, buf->length, MESSAGE);

        return dat_ep_post_send(ep, 1, &segment, COOKIE(99), PLAIN);
}

static const struct refusal {
        const char *id;
        DAT_RETURN (*post)(struct test *t, DAT_EP_HANDLE ep);
        DAT_RETURN returned;
        bool late; /* it may be found out later instead (GEN-9) */
} refusals[] = {
    {"negative_segments", with_negative_segments, DAT_INVALID_PARAMETER, false},
    {"unsignalled_flag", with_unsignalled_flag, DAT_INVALID_PARAMETER, false},
    {"undefined_flag", with_undefined_flag, DAT_INVALID_PARAMETER, false},
    {"other_zone", with_other_zone, DAT_PROTECTION_VIOLATION, true},
    {"no_privilege", with_no_privilege, DAT_PRIVILEGES_VIOLATION, true},
    {"outside_lmr", with_outside, DAT_INVALID_PARAMETER, true},
};

/* A refused send takes no slot, changes no attribute, and sends no message. */
FAMILY(ep_post_send, refusal_leaves, refusals)
{
        DAT_EVD_HANDLE sent = evd_of_at_most(t, MOST_SENDS + 16);
        struct loop loop = transfer_with(t, .request_evd = sent);
        struct ep_snapshot before = ep_snapshot(t, loop.active);
        struct line line = line_between(t, loop.active, loop.passive, MOST_SENDS + 16);
        DAT_COUNT places = before.param.ep_attr.max_request_dtos;
        DAT_RETURN ret;

        for (int i = 0; i < REFUSALS; i++) {
                ret = expect(row->post(t, loop.active), row->returned,
                             row->late ? DAT_SUCCESS : row->returned);
                if (dat_is(ret, DAT_SUCCESS))
                        end_noted(t, "the send was not refused at once: there is no refusal to "
                                     "look behind");
        }
        expect_ep_kept(t, loop.active, &before, 0);
        must_have_room(t, sent, places);
        for (DAT_COUNT i = 0; i < places; i++)
                expect(line_send(&line, PLAIN), DAT_SUCCESS);
        if (ep_state(t, loop.active) != DAT_EP_STATE_CONNECTED)
                end_noted(t,
                          "the transport ends a connection if the receiver has no receive posted");
        expect_all_come(t, &line);
}

/* Two sends before a refused one, and two behind it, come and complete in their order. */
FAMILY(ep_post_send, refusal_keeps_others, refusals)
{
        struct line line = line_with(t);
        DAT_RETURN ret;

        must_line_recv(t, &line, 4);
        for (int i = 0; i < 4; i++) {
                if (i == 2) {
                        ret = expect(row->post(t, line.from), row->returned,
                                     row->late ? DAT_SUCCESS : row->returned);
                        if (dat_is(ret, DAT_SUCCESS))
                                end_noted(t, "the send was not refused at once: there is no "
                                             "refusal to look behind");
                }
                expect(line_send(&line, PLAIN), DAT_SUCCESS);
        }
        expect_arrivals(t, &line, 4);
        expect_sends_complete(t, &line, 4);
        expect_empty(t, ep_request_evd(t, line.from));
}
