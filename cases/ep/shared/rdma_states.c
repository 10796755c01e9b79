/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ep/shared/rdma_impl.h"
#include "cases/ep/shared/states.h"

#define MIDDLING ((size_t)100000)

/*
 * States
 */

/* A Connected EP takes it: to or from memory of the peer, which has message 0. */
static void expect_rdma_to_peer(struct test *t, struct rdma *rdma, struct peer_ep *end)
{
        struct peer_memory memory = peer_expose(end, SMALL);
        DAT_RMR_TRIPLET remote = {.rmr_context = memory.rmr_context,
                                  .target_address = memory.address,
                                  .segment_length = SMALL};

        expect(
            rdma_post(t, rdma, &rdma->local, remote, WIDE_COOKIE(1), DAT_COMPLETION_DEFAULT_FLAG),
            DAT_SUCCESS);
        expect_completion(rdma->evd, .ep = rdma->ep, .cookie = WIDE_COOKIE(1), .length = SMALL);
        if (rdma->kind->reads)
                expect_holds(&rdma->local, 0, SMALL);
        else
                expect_that(rdma_peer_has(t, end, memory, SMALL),
                            "the peer's memory does not hold the message");
}

static void rdma_by_route(struct test *t, const struct rdma_kind *kind,
                          const struct ep_route *route)
{
        DAT_EP_ATTR attr = rdma_attr(t, kind, (struct rdma_opts){.dtos = 0});
        struct ep_held held = ep_hold_by(t, route, .attr = &attr);
        struct rdma rdma = {.kind = kind, .ep = held.ep};

        rdma.local = vector_with(t, .length = SMALL);
        rdma.remote = vector_with(t, .length = SMALL);
        vector_fill(t, rdma_source(&rdma), RDMA_MESSAGE);
        if (ep_is_in(&held, EP_IN(CONNECTED) | EP_IN(DISCONNECTED)))
                rdma.evd = ep_request_evd(t, held.ep);
        if (ep_is_in(&held, EP_IN(CONNECTED))) {
                expect_rdma_to_peer(t, &rdma, expect_goes_on(held.ep, held.state));
                return;
        }
        if (ep_is_in(&held, EP_IN(DISCONNECTED))) {
                expect(rdma_post_whole(t, &rdma, WIDE_COOKIE(3), DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
                expect_completion(rdma.evd, .ep = held.ep, .cookie = WIDE_COOKIE(3),
                                  .status = DAT_DTO_ERR_FLUSHED);
                expect_untouched(rdma_target(&rdma));
                return;
        }
        ep_hold_receive(t, &held);
        expect(rdma_post_whole(t, &rdma, WIDE_COOKIE(3), DAT_COMPLETION_DEFAULT_FLAG),
               DAT_INVALID_STATE, ep_refusal_of_zone(&held));
        expect_untouched(rdma_target(&rdma));
        expect_ep_untouched(t, &held);
}

void rdma_in_state(struct test *t, const struct rdma_kind *kind, const struct ep_state_row *row)
{
        EACH_EP_ROUTE (route, row->state)
                rdma_by_route(t, kind, route);
}

/* An EP that is Disconnected flushes, whether or not it was ever connected. */
void rdma_after_turn(struct test *t, const struct rdma_kind *kind, const struct ep_turn *row)
{
        DAT_COUNT segments = rdma_some_segments(t, kind) < 2 ? 1 : 2;
        DAT_EP_ATTR attr = rdma_attr(t, kind, (struct rdma_opts){.segments = segments});
        struct loop loop =
            loop_of(t, (struct ep_opts){.attr = &attr}, (struct ep_opts){.attr = &attr});
        struct rdma rdma = {
            .kind = kind,
            .loop = loop,
            .ep = loop.active,
            .evd = ep_request_evd(t, loop.active),
            .local = vector_with(t, .length = SMALL, .segments = segments),
            .remote = vector_with(t, .length = SMALL),
        };

        row->make(t, &rdma.loop);
        vector_fill(t, rdma_source(&rdma), RDMA_MESSAGE);
        if (row->state == DAT_EP_STATE_CONNECTED) {
                expect(rdma_post_whole(t, &rdma, 3, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
                expect_rdma(t, &rdma, 3, SMALL);
        } else if (row->state == DAT_EP_STATE_DISCONNECTED) {
                for (uint64_t i = 0; i < 3; i++)
                        expect(rdma_post_whole(t, &rdma, i, DAT_COMPLETION_DEFAULT_FLAG),
                               DAT_SUCCESS);
                for (uint64_t i = 0; i < 3; i++)
                        expect_completion(rdma.evd, .ep = rdma.ep, .cookie = i,
                                          .status = DAT_DTO_ERR_FLUSHED);
                expect_untouched(rdma_target(&rdma));
        } else {
                expect(rdma_post_whole(t, &rdma, 3, DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_INVALID_STATE);
                expect_untouched(rdma_target(&rdma));
        }
        expect_empty(t, rdma.evd);
        expect_eq(ep_state(t, rdma.ep), row->state);
}

/* After a first connection, and after a second one. */
void rdma_flushed(struct test *t, const struct rdma_kind *kind, const struct rdma_flags *row)
{
        struct rdma rdma = rdma_with(t, kind, .request_flags = rdma_configured_for(row));

        for (uint64_t first = 50; first <= 60; first += 10) {
                if (first > 50)
                        ep_join_anew(t, &rdma.loop);
                must_end(t, &rdma.loop);
                for (uint64_t i = 0; i < 4; i++)
                        expect(rdma_post_whole(t, &rdma, first + i, row->flags), DAT_SUCCESS);
                for (uint64_t i = 0; i < 4; i++)
                        expect_completion(rdma.evd, .ep = rdma.ep, .cookie = first + i,
                                          .status = DAT_DTO_ERR_FLUSHED);
                expect_rdma_silent(t, rdma.evd);
                expect_untouched(rdma_target(&rdma));
                expect_eq(ep_state(t, rdma.ep), DAT_EP_STATE_DISCONNECTED);
        }
}

/* Whatever is done by then succeeds, and has its bytes; the others are flushed, each once. */
void rdma_cut_off(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_deep(t, kind, .length = MIDDLING);
        uint64_t depth = (uint64_t)rdma.depth;
        bool flushed = false;

        for (uint64_t i = 0; i < depth; i++)
                expect(rdma_post_whole(t, &rdma, i, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        must_end(t, &rdma.loop);
        for (uint64_t i = 0; i < depth; i++) {
                DAT_EVENT event = expect_event(rdma.evd, DAT_DTO_COMPLETION_EVENT);

                flushed |= event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS;
                completion_is(
                    t, CHECK_SITE_("the next completion"), &event,
                    &(struct completion){.ep = rdma.ep,
                                         .cookie = i,
                                         .length = MIDDLING,
                                         .status = flushed ? DAT_DTO_ERR_FLUSHED : DAT_DTO_SUCCESS},
                    true);
                if (!flushed)
                        expect_rdma_bytes(t, &rdma, MIDDLING);
        }
        expect_rdma_silent(t, rdma.evd);
        expect_kept_around(rdma_target(&rdma));
}

/* A message for which the other end has no receive holds up what is posted behind it. */
static void hold_up(struct test *t, const struct rdma *rdma, uint64_t cookie,
                    DAT_COMPLETION_FLAGS flags)
{
        struct vector message = vector_with(t, .length = SMALL);

        must(send_vector(rdma->ep, &message, cookie, flags));
}

#define MARKER 1000 /* the cookie of what is posted last */

/* Of those in flight, the one that holds up the others. */
static uint64_t held_of(const struct rdma *rdma)
{
        return (uint64_t)rdma->depth / 3;
}

/*
 * Of those in flight from `first` on, the one held and all behind it have failed, in order, maybe
 * with some before them; a marker comes behind; and no more.
 */
static void expect_last_flushed(struct test *t, const struct rdma *rdma, uint64_t first)
{
        uint64_t held = first + held_of(rdma);
        uint64_t next = 0;

        for (;; next++) {
                DAT_EVENT event = expect_event(rdma->evd, DAT_DTO_COMPLETION_EVENT);
                const DAT_DTO_COMPLETION_EVENT_DATA *dto =
                    &event.event_data.dto_completion_event_data;

                if (dto->user_cookie.as_64 == MARKER)
                        break;
                if (next == 0 && dto->user_cookie.as_64 < held)
                        next = dto->user_cookie.as_64;
                else if (next == 0)
                        next = held;
                expect_eq(dto->user_cookie.as_64, next);
                expect_that(dto->ep_handle == rdma->ep, "the completion is of another EP");
                if (next == held)
                        expect_that(dto->status != DAT_DTO_SUCCESS,
                                    "a message that was not received is reported as sent");
                else
                        expect_eq(dto->status, DAT_DTO_ERR_FLUSHED);
        }
        expect_that(next, "no event tells of the suppressed requests that were flushed");
        expect_eq(next, first + (uint64_t)rdma->depth - 1);
        expect_rdma_silent(t, rdma->evd);
}

/*
 * The successes are not told of, and what is flushed is: over a first connection and over a second
 * one, whose cookies are others.
 */
void rdma_cut_off_suppressed(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_deep(t, kind, .length = LENGTH);
        uint64_t last = (uint64_t)rdma.depth - 1;

        for (uint64_t first = 1; first <= 101; first += 100) {
                if (first > 1)
                        ep_join_anew(t, &rdma.loop);
                for (uint64_t i = 0; i < last; i++) {
                        if (i == held_of(&rdma))
                                hold_up(t, &rdma, first + i, DAT_COMPLETION_SUPPRESS_FLAG);
                        else
                                expect(rdma_post_whole(t, &rdma, first + i,
                                                       DAT_COMPLETION_SUPPRESS_FLAG),
                                       DAT_SUCCESS);
                }
                must_end(t, &rdma.loop);
                expect(rdma_post_whole(t, &rdma, MARKER, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
                expect_last_flushed(t, &rdma, first);
                expect_kept_around(rdma_target(&rdma));
        }
}

/*
 * Depth
 */

/* A receive takes the message that holds up the others. */
static void let_go(struct test *t, const struct rdma *rdma)
{
        struct vector room = vector_with(t, .length = SMALL);
        DAT_EVENT event;

        if (dat_is(dat_evd_dequeue(rdma->evd, &event), DAT_SUCCESS)) {
                expect_that(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS,
                            "a message that was not received is reported as sent");
                end_noted(t,
                          "the transport ends a connection if the receiver has no receive posted");
        }
        must(recv_vector(rdma->loop.passive, &room, 0, DAT_COMPLETION_DEFAULT_FLAG));
}

/* The held message, and `count` RDMAs behind it, complete in order; their bytes are there. */
static void expect_all(struct test *t, const struct rdma *rdma, uint64_t count)
{
        must_complete(rdma->evd, .ep = rdma->ep, .cookie = 0, .length = SMALL);
        for (uint64_t i = 1; i <= count; i++)
                expect_completion(rdma->evd, .ep = rdma->ep, .cookie = i, .length = LENGTH);
        expect_rdma_bytes(t, rdma, LENGTH);
        expect_rdma_silent(t, rdma->evd);
}

static void fill_up(struct test *t, const struct rdma *rdma)
{
        hold_up(t, rdma, 0, DAT_COMPLETION_DEFAULT_FLAG);
        for (uint64_t i = 1; i < (uint64_t)rdma->depth; i++)
                expect(rdma_post_whole(t, rdma, i, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
}

void rdma_most_outstanding(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_deep(t, kind);

        fill_up(t, &rdma);
        expect_untouched(rdma_target(&rdma));
        let_go(t, &rdma);
        expect_all(t, &rdma, (uint64_t)rdma.depth - 1);
}

void rdma_one_too_many(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_deep(t, kind);
        uint64_t depth = (uint64_t)rdma.depth;
        DAT_RETURN ret;

        fill_up(t, &rdma);
        ret = expect_or_note(rdma_post_whole(t, &rdma, depth, DAT_COMPLETION_DEFAULT_FLAG),
                             DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);
        let_go(t, &rdma);
        expect_all(t, &rdma, dat_is(ret, DAT_SUCCESS) ? depth : depth - 1);
}

void rdma_places_come_back(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_deep(t, kind);

        for (int i = 0; i < ROUNDS; i++) {
                fill_up(t, &rdma);
                let_go(t, &rdma);
                expect_all(t, &rdma, (uint64_t)rdma.depth - 1);
        }
}

static DAT_RETURN post_negative(struct test *t, const struct rdma *rdma)
{
        DAT_RMR_TRIPLET remote = vector_remote(&rdma->remote);

        return rdma->kind->post(rdma->ep, -1, rdma_iov(t, rdma->local.iov, 1), COOKIE(1), &remote,
                                DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN post_unsignalled(struct test *t, const struct rdma *rdma)
{
        return rdma_post_whole(t, rdma, 1, UNSIGNALLED);
}

/* By one byte, whichever end has it. */
static DAT_RETURN post_too_long(struct test *t, const struct rdma *rdma)
{
        DAT_RMR_TRIPLET remote = vector_remote(&rdma->remote);
        DAT_LMR_TRIPLET shorter = rdma->local.iov[0];
        struct vector local = rdma->local;

        if (rdma->kind->reads) {
                shorter.segment_length--;
                local.iov = &shorter;
        } else {
                remote.segment_length--;
        }
        return rdma_post(t, rdma, &local, remote, 1, DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN post_by_refusal(struct test *t, const struct rdma *rdma,
                                  const struct rdma_refusal *row)
{
        if (row->returned == DAT_LENGTH_ERROR)
                return expect(post_too_long(t, rdma), DAT_LENGTH_ERROR, DAT_SUCCESS);
        return expect(row->unsignalled ? post_unsignalled(t, rdma) : post_negative(t, rdma),
                      row->returned);
}

/* It is refused as elsewhere, or flushed where it may be found out late; and a good one is too. */
void rdma_refusal_on_disconnected(struct test *t, const struct rdma_kind *kind,
                                  const struct rdma_refusal *row)
{
        struct rdma rdma = rdma_with(t, kind);

        must_end(t, &rdma.loop);
        if (dat_is(post_by_refusal(t, &rdma, row), DAT_SUCCESS))
                expect_completion(rdma.evd, .ep = rdma.ep, .cookie = 1,
                                  .status = DAT_DTO_ERR_FLUSHED);
        expect_rdma_silent(t, rdma.evd);
        expect(rdma_post_whole(t, &rdma, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_completion(rdma.evd, .ep = rdma.ep, .cookie = 2, .status = DAT_DTO_ERR_FLUSHED);
        expect_rdma_silent(t, rdma.evd);
        expect_untouched(rdma_target(&rdma));
        expect_eq(ep_state(t, rdma.ep), DAT_EP_STATE_DISCONNECTED);
}

/* As often refused as the EP has places: it has all of them afterwards, and what it did before. */
void rdma_refusal_leaves(struct test *t, const struct rdma_kind *kind,
                         const struct rdma_refusal *row)
{
        struct rdma rdma = rdma_deep(t, kind);
        struct rdma first = rdma;
        struct ep_snapshot before = ep_snapshot(t, rdma.ep);

        first.local = vector_with(t, .length = SMALL);
        first.remote = vector_with(t, .length = SMALL);
        vector_fill(t, rdma_source(&first), RDMA_MESSAGE);
        expect(rdma_post_whole(t, &first, 77, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        for (DAT_COUNT i = 0; i < before.param.ep_attr.max_request_dtos; i++)
                if (dat_is(post_by_refusal(t, &rdma, row), DAT_SUCCESS))
                        end_noted(t, "it was not refused at once: there is no refusal to look "
                                     "behind");
        expect_ep_kept(t, rdma.ep, &before, 0);
        expect_rdma(t, &first, 77, SMALL);
        /* Before a send, whose failure for lack of room would be another page's. */
        expect(rdma_post_whole(t, &first, 78, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_rdma(t, &first, 78, SMALL);
        fill_up(t, &rdma);
        let_go(t, &rdma);
        expect_all(t, &rdma, (uint64_t)rdma.depth - 1);
}
