/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_post_recv: the vector after the call, EP states and arguments. */
#include "cases/ep/ep_post_recv/fixtures.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "clauses/ep_post_recv.h"

#include <limits.h>
#include <string.h>

/*
 * The vector after the call
 */

FAMILY(ep_post_recv, vector_given_back, vector_ends)
{
        struct loop loop = transfer_with(t, .segments = 3);
        struct vector from = vector_with(t, .length = LENGTH);
        struct vector to = vector_with(t, .length = LENGTH, .segments = 3);
        DAT_LMR_TRIPLET *posted = vector_mapping(t, &to);

        need_ownership(t, DAT_IOV_CONSUMER);
        vector_fill(t, &from, 1);
        expect(dat_ep_post_recv(loop.passive, 3, posted, COOKIE(2), PLAIN), DAT_SUCCESS);
        row->end(posted, vector_mapped(&to));
        must(send_vector(loop.active, &from, 3, PLAIN));

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = LENGTH);
        expect_holds(&to, 1, LENGTH);
}

CASE(ep_post_recv, vector_not_modified)
{
        struct loop loop = transfer_with(t, .segments = 3);
        struct vector from = vector_with(t, .length = LENGTH - 700);
        struct vector to = vector_with(t, .length = LENGTH, .segments = 3);
        struct marked marked = marked_of(t, &to);

        need_ownership(t, DAT_IOV_PROVIDER_NOMOD);
        expect(dat_ep_post_recv(loop.passive, 3, marked.iov, COOKIE(2), PLAIN), DAT_SUCCESS);
        must(send_vector(loop.active, &from, 3, PLAIN));
        must_complete(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                      .length = from.length);
        expect_unmarked(t, &marked);
}

static const struct wrong_row wrong_last = {"", WRONG_ZONE, 3, 2, WRONG_BYTES};

CASE(ep_post_recv, vector_of_refused)
{
        struct loop loop = transfer_with(t, .segments = 3);
        struct wrong wrong = wrong_with(t, &wrong_last, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
        struct marked marked = marked_of(t, &wrong.vector);

        need_ownership(t, DAT_IOV_PROVIDER_NOMOD);
        if (!expect_wrong(dat_ep_post_recv(loop.passive, 3, marked.iov, COOKIE(2), PLAIN), &wrong))
                end_noted(t,
                          "the receive was not refused at once: it has its vector until it fails");
        expect_unmarked(t, &marked);
}

/*
 * States
 */

/* A Provider's EP has neither zone nor receive EVD until the consumer gives it some. */
static void equip(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM asked = {.pz_handle = pz(t), .recv_evd_handle = ep_recv_evd(t, ep)};

        must(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE, &asked));
}

/* A receive that is posted in any state serves a message, when there is a connection for one. */
FAMILY(ep_post_recv, in_state, ep_states)
{
        EACH_EP_ROUTE (route, row->state) {
                struct vector to = vector_with(t, .length = MESSAGE);
                struct ep_held held = ep_hold_by(t, route);
                struct peer_ep *end;

                if (row->state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING)
                        equip(t, held.ep);
                expect(recv_vector(held.ep, &to, 2, PLAIN), DAT_SUCCESS);
                if (row->state == DAT_EP_STATE_DISCONNECTED) {
                        expect_completion(ep_recv_evd(t, held.ep), .ep = held.ep, .cookie = 2,
                                          .status = DAT_DTO_ERR_FLUSHED);
                        expect_eq(ep_state(t, held.ep), DAT_EP_STATE_DISCONNECTED);
                        continue;
                }
                expect_empty(t, ep_recv_evd(t, held.ep));
                expect_ep_state_kept(t, held.ep, held.state);
                end = expect_goes_on(held.ep, held.state);
                if (end) {
                        peer_send(end, .length = MESSAGE, .first = 6);
                        expect_completion(ep_recv_evd(t, held.ep), .ep = held.ep, .cookie = 2,
                                          .length = MESSAGE);
                        expect_holds(&to, 6, MESSAGE);
                } else {
                        expect_completion(ep_recv_evd(t, held.ep), .ep = held.ep, .cookie = 2,
                                          .status = DAT_DTO_ERR_FLUSHED);
                }
        }
}

/* The receives before them, as many as the EP has places for, went with the connection. */
CASE(ep_post_recv, flushed_at_once)
{
        struct full full = fill(t, true);
        struct line *line = &full.line;
        DAT_EVD_HANDLE evd = ep_recv_evd(t, line->to);
        uint64_t posted = line->awaited;

        must_end(t, &full.loop);
        for (uint64_t i = 0; i < posted; i++)
                must_complete(evd, .ep = line->to, .cookie = i, .status = DAT_DTO_ERR_FLUSHED);
        for (uint64_t i = 0; i < 48; i++) {
                expect(line_recv(line, PLAIN), DAT_SUCCESS);
                expect_completion(evd, .ep = line->to, .cookie = posted + i,
                                  .status = DAT_DTO_ERR_FLUSHED);
        }
        expect_empty(t, evd);
        expect_eq(ep_state(t, line->to), DAT_EP_STATE_DISCONNECTED);
}

/* The EP receives from its SRQ, and takes no receives of its own. */
CASE(ep_post_recv, with_srq)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){.srq = srq});
        struct buf *buf = buf_with(t);
        struct vector to = vector_with(t, .length = MESSAGE);
        struct line line;
        DAT_RETURN ret;

        loop_join_either(t, &loop);
        line = line_between(t, loop.active, loop.passive, 1);
        ret = recv_vector(loop.passive, &to, 2, PLAIN);
        expect_that(!dat_is(ret, DAT_SUCCESS) && !dat_is(ret, DAT_INTERNAL_ERROR),
                    "a receive for an EP with an SRQ was not refused as it should be");
        srq_post(t, srq, buf, MESSAGE, 0, 1);
        must(line_send(&line, PLAIN));
        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 0,
                          .length = MESSAGE);
        expect_untouched(&to);
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

FAMILY(ep_post_recv, negative_segments, negative)
{
        struct line line = line_with(t);
        DAT_LMR_TRIPLET segment = triplet(line.target, MESSAGE, MESSAGE);

        expect(dat_ep_post_recv(line.to, row->segments, &segment, COOKIE(3), PLAIN),
               DAT_INVALID_PARAMETER);
        expect_no_receive(t, &line);
}

CASE(ep_post_recv, segment_too_many)
{
        struct loop loop = transfer_with(t, .segments = 2);
        DAT_COUNT most = ep_snapshot(t, loop.passive).param.ep_attr.max_recv_iov;

        if (most >= WIDEST)
                unsupported(t, "max_recv_iov: more segments than the case can give");

        struct vector to = vector_with(t, .length = 2 * (size_t)most + 2, .segments = most + 1);
        struct vector from = vector_with(t, .length = to.length);
        vector_fill(t, &from, 1);
        if (!dat_is(expect_may(recv_vector(loop.passive, &to, 2, PLAIN), DAT_INVALID_PARAMETER,
                               DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS),
                    DAT_SUCCESS))
                return;
        must(send_vector(loop.active, &from, 3, PLAIN));
        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = to.length);
        expect_holds(&to, 1, to.length);
        note(t, "a vector beyond max_recv_iov was taken, and filled");
}

CASE(ep_post_recv, greatest_segments)
{
        struct line line = line_with(t);
        DAT_LMR_TRIPLET segment = triplet(line.target, MESSAGE, MESSAGE);

        expect_may(dat_ep_post_recv(line.to, INT_MAX, &segment, COOKIE(3), PLAIN),
                   DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES);
        expect_no_receive(t, &line);
}

LEGAL(ep_post_recv)
{
        static DAT_LMR_TRIPLET segment;

        segment = triplet(buf_with(t), 0, MESSAGE);
        call->ep_handle = ep_with(t);
        call->num_segments = 1;
        call->local_iov = &segment;
        call->user_cookie = COOKIE(0);
        call->completion_flags = PLAIN;
}
