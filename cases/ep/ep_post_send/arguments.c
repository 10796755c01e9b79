/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_post_send: the vector after the call, EP states and arguments. */
#include "cases/ep/ep_post_send/fixtures.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"
#include "clauses/ep_post_send.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/*
 * The vector after the call
 */

FAMILY(ep_post_send, vector_given_back, vector_ends)
{
        struct loop loop = transfer_with(t, .segments = 3);
        struct vector from = vector_with(t, .length = LENGTH, .segments = 3);
        struct vector to = vector_with(t, .length = LENGTH);
        DAT_LMR_TRIPLET *posted = vector_mapping(t, &from);

        need_ownership(t, DAT_IOV_CONSUMER);
        vector_fill(t, &from, 1);
        expect(dat_ep_post_send(loop.active, 3, posted, COOKIE(3), PLAIN), DAT_SUCCESS);
        row->end(posted, vector_mapped(&from));
        must(recv_vector(loop.passive, &to, 2, PLAIN));

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = LENGTH);
        expect_holds(&to, 1, LENGTH);
}

CASE(ep_post_send, vector_not_modified)
{
        struct loop loop = transfer_with(t, .segments = 3);
        struct vector from = vector_with(t, .length = LENGTH, .segments = 3);
        struct vector to = vector_with(t, .length = LENGTH);
        struct marked marked = marked_of(t, &from);

        need_ownership(t, DAT_IOV_PROVIDER_NOMOD);
        must(recv_vector(loop.passive, &to, 2, PLAIN));
        expect(dat_ep_post_send(loop.active, 3, marked.iov, COOKIE(3), PLAIN), DAT_SUCCESS);
        must_complete(ep_request_evd(t, loop.active), .ep = loop.active, .cookie = 3,
                      .length = LENGTH);
        expect_unmarked(t, &marked);
}

static const struct wrong_row wrong_last = {"", WRONG_ZONE, 3, 2, WRONG_BYTES};

CASE(ep_post_send, vector_of_refused)
{
        struct loop loop = transfer_with(t, .segments = 3);
        struct wrong wrong = wrong_with(t, &wrong_last, DAT_MEM_PRIV_LOCAL_READ_FLAG);
        struct marked marked = marked_of(t, &wrong.vector);

        need_ownership(t, DAT_IOV_PROVIDER_NOMOD);
        if (!expect_wrong(dat_ep_post_send(loop.active, 3, marked.iov, COOKIE(2), PLAIN), &wrong))
                end_noted(t, "the send was not refused at once: it has its vector until it fails");
        expect_unmarked(t, &marked);
}

/*
 * States
 */

#define NOT_SENDING                                                                 \
        (EP_IN(UNCONNECTED) | EP_IN(RESERVED) | EP_IN(PASSIVE_CONNECTION_PENDING) | \
         EP_IN(ACTIVE_CONNECTION_PENDING) | EP_IN(TENTATIVE_CONNECTION_PENDING) |   \
         EP_IN(COMPLETION_PENDING) | EP_IN(DISCONNECT_PENDING))

FAMILY(ep_post_send, in_state, ep_states)
{
        EACH_EP_ROUTE (route, row->state) {
                struct vector from = vector_with(t, .length = MESSAGE);
                struct ep_held held = ep_hold_by(t, route);
                struct peer_ep *end;

                vector_fill(t, &from, 1);
                if (ep_is_in(&held, NOT_SENDING)) {
                        ep_hold_receive(t, &held);
                        expect(send_vector(held.ep, &from, 3, PLAIN), DAT_INVALID_STATE,
                               ep_refusal_of_zone(&held));
                        expect_ep_untouched(t, &held);
                        continue;
                }
                if (row->state == DAT_EP_STATE_DISCONNECTED) {
                        expect(send_vector(held.ep, &from, 3, PLAIN), DAT_SUCCESS);
                        expect_completion(ep_request_evd(t, held.ep), .ep = held.ep, .cookie = 3,
                                          .status = DAT_DTO_ERR_FLUSHED);
                        continue;
                }
                end = expect_goes_on(held.ep, held.state);
                peer_post_recv(end, 1, MESSAGE);
                expect(send_vector(held.ep, &from, 3, PLAIN), DAT_SUCCESS);
                expect_peer_has(end, 1, MESSAGE);
                expect_completion(ep_request_evd(t, held.ep), .ep = held.ep, .cookie = 3,
                                  .length = MESSAGE);
        }
}

/* An EP that is Disconnected flushes, whether or not it was ever connected. */
FAMILY(ep_post_send, after_turn, ep_turns)
{
        DAT_COUNT segments = ia_attr(t)->max_iov_segments_per_dto < 2 ? 1 : 2;
        struct vector from = vector_with(t, .length = MESSAGE, .segments = segments);
        struct vector to = vector_with(t, .length = MESSAGE);
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){.segments = segments});
        struct loop loop =
            loop_of(t, (struct ep_opts){.attr = &attr}, (struct ep_opts){.attr = &attr});
        DAT_EVD_HANDLE evd = ep_request_evd(t, loop.active);

        row->make(t, &loop);
        vector_fill(t, &from, 1);
        if (row->state == DAT_EP_STATE_CONNECTED) {
                must(recv_vector(loop.passive, &to, 1, PLAIN));
                expect(send_vector(loop.active, &from, 3, PLAIN), DAT_SUCCESS);
                expect_completion(evd, .ep = loop.active, .cookie = 3, .length = MESSAGE);
                must_dto(ep_recv_evd(t, loop.passive));
                expect_holds(&to, 1, MESSAGE);
        } else if (row->state == DAT_EP_STATE_DISCONNECTED) {
                for (uint64_t i = 0; i < 3; i++)
                        expect(send_vector(loop.active, &from, i, PLAIN), DAT_SUCCESS);
                for (uint64_t i = 0; i < 3; i++)
                        expect_completion(evd, .ep = loop.active, .cookie = i,
                                          .status = DAT_DTO_ERR_FLUSHED);
        } else {
                expect(send_vector(loop.active, &from, 3, PLAIN), DAT_INVALID_STATE);
        }
        expect_empty(t, evd);
        expect_eq(ep_state(t, loop.active), row->state);
}

/* At either end of a connection that broke; what that completed is taken first. */
CASE(ep_post_send, after_break)
{
        struct vector from = vector_with(t, .length = MESSAGE);
        struct loop loop = loop_new(t);
        DAT_EP_HANDLE ends[] = {loop.active, loop.passive};

        ep_turn_break(t, &loop);
        for (size_t i = 0; i < 2; i++)
                must_have_broken(t, ends[i]);
        settle_briefly(t);
        for (size_t i = 0; i < 2; i++) {
                DAT_EVD_HANDLE evd = ep_request_evd(t, ends[i]);

                drain_evd(t, evd);
                expect(send_vector(ends[i], &from, 3, PLAIN), DAT_SUCCESS);
                expect_completion(evd, .ep = ends[i], .cookie = 3, .status = DAT_DTO_ERR_FLUSHED);
                expect_empty(t, evd);
        }
}

/* As many as there are places, each flushed at once, in order; and none of them is sent later. */
CASE(ep_post_send, flushed_at_once)
{
        struct loop loop = transfer_with(t);
        struct line line = line_between(t, loop.active, loop.passive, LINE_SLOTS);

        must_end(t, &loop);
        for (uint64_t i = 0; i < 48; i++) {
                expect(line_send(&line, PLAIN), DAT_SUCCESS);
                expect_completion(ep_request_evd(t, line.from), .ep = line.from, .cookie = i,
                                  .status = DAT_DTO_ERR_FLUSHED);
        }
        expect_empty(t, ep_request_evd(t, line.from));
        expect_eq(ep_state(t, line.from), DAT_EP_STATE_DISCONNECTED);
}

/*
 * Arguments
 */

static const struct number {
        const char *id;
        DAT_COUNT segments;
} negative[] = {
    {"minus_one", -1},
    {"least", INT_MIN},
};

FAMILY(ep_post_send, negative_segments, negative)
{
        struct line line = line_with(t);
        DAT_LMR_TRIPLET segment = triplet(line.source, 0, MESSAGE);

        expect(dat_ep_post_send(line.from, row->segments, &segment, COOKIE(3), PLAIN),
               DAT_INVALID_PARAMETER);
        expect_no_send(t, &line);
}

CASE(ep_post_send, segment_too_many)
{
        struct loop loop = transfer_with(t, .segments = 2);
        DAT_COUNT most = ep_snapshot(t, loop.active).param.ep_attr.max_request_iov;
        DAT_RETURN ret;

        if (most >= WIDEST)
                unsupported(t, "max_request_iov: more segments than the case can give");

        struct vector from = vector_with(t, .length = 2 * (size_t)most + 2, .segments = most + 1);
        struct vector to = vector_with(t, .length = 2 * (size_t)most + 2);
        vector_fill(t, &from, 1);
        must(recv_vector(loop.passive, &to, 2, PLAIN));
        ret = expect_may(send_vector(loop.active, &from, 3, PLAIN), DAT_INVALID_PARAMETER,
                         DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);
        if (!dat_is(ret, DAT_SUCCESS))
                return;
        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = from.length);
        expect_holds(&to, 1, from.length);
        note(t, "a vector beyond max_request_iov was taken, and sent whole");
}

CASE(ep_post_send, greatest_segments)
{
        struct line line = line_with(t);
        DAT_LMR_TRIPLET segment = triplet(line.source, 0, MESSAGE);

        expect_may(dat_ep_post_send(line.from, INT_MAX, &segment, COOKIE(3), PLAIN),
                   DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES);
        expect_no_send(t, &line);
}

LEGAL(ep_post_send)
{
        static DAT_LMR_TRIPLET segment;
        struct line line = line_with(t);

        must_line_recv(t, &line, 2);
        segment = triplet(line.source, 0, MESSAGE);
        call->ep_handle = line.from;
        call->num_segments = 1;
        call->local_iov = &segment;
        call->user_cookie = COOKIE(0);
        call->completion_flags = PLAIN;
}
