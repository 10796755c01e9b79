/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_post_rdma_write: data, completions, and refused calls. */
#include "clauses/ep_post_rdma_write.h"
#include "case/standard.h"
#include "cases/ep/shared/rdma.h"

#define LATE_MS 40 /* of what the peer sends, in a disturbed network */

/*
 * Bytes
 */

FAMILY(ep_post_rdma_write, moves, transfer_lengths)
{
        rdma_moves(t, &rdma_write, row);
}

FAMILY(ep_post_rdma_write, over_wire, wire_lengths)
{
        rdma_over_wire(t, &rdma_write, row);
}

FAMILY(ep_post_rdma_write, segments, splits)
{
        rdma_in_segments(t, &rdma_write, row);
}

FAMILY(ep_post_rdma_write, empty_segment, splits_with_empty)
{
        rdma_with_empty(t, &rdma_write, row);
}

CASE(ep_post_rdma_write, several_lmrs)
{
        rdma_of_several_lmrs(t, &rdma_write);
}

CASE(ep_post_rdma_write, most_segments)
{
        rdma_most_segments(t, &rdma_write);
}

CASE(ep_post_rdma_write, fewer_segments_than_vector)
{
        rdma_fewer_segments(t, &rdma_write);
}

FAMILY(ep_post_rdma_write, nothing, rdma_nothings)
{
        rdma_of_nothing(t, &rdma_write, row);
}

FAMILY(ep_post_rdma_write, place, rdma_places)
{
        rdma_at_place(t, &rdma_write, row);
}

FAMILY(ep_post_rdma_write, aligned, rdma_shifts)
{
        rdma_aligned(t, &rdma_write, row);
}

FAMILY(ep_post_rdma_write, leaves_rest, rests)
{
        rdma_leaves_rest(t, &rdma_write, row);
}

/* A gather may name the same bytes twice. */
CASE(ep_post_rdma_write, same_bytes_twice)
{
        struct rdma rdma = rdma_with(t, &rdma_write, .segments = 2, .remote_length = 2 * MESSAGE);
        struct vector message = vector_with(t, .length = MESSAGE);
        struct vector twice = {.count = 2, .length = 2 * MESSAGE};

        vector_fill(t, &message, RDMA_MESSAGE);
        twice.iov = rdma_iov(t, message.iov, 2);
        twice.iov[1] = twice.iov[0];
        expect(rdma_post(t, &rdma, &twice, vector_remote(&rdma.remote), 1,
                         DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_completion(rdma.evd, .ep = rdma.ep, .cookie = 1, .length = 2 * MESSAGE);
        for (size_t i = 0; i < 2; i++)
                expect_that(
                    message_holds(vector_at(&rdma.remote) + i * MESSAGE, MESSAGE, RDMA_MESSAGE),
                    "the bytes are not there for the %s time", i ? "second" : "first");
        expect_kept_around(&rdma.remote);
}

FAMILY(ep_post_rdma_write, many_both_ways, rdma_streams)
{
        rdma_many(t, &rdma_write, row);
}

/*
 * Completions
 */

CASE(ep_post_rdma_write, completes_once)
{
        rdma_completes_once(t, &rdma_write);
}

CASE(ep_post_rdma_write, in_order)
{
        rdma_in_order(t, &rdma_write);
}

CASE(ep_post_rdma_write, in_order_with_sends)
{
        rdma_in_order_with_others(t, &rdma_write);
}

CASE(ep_post_rdma_write, unseen_at_other_end)
{
        rdma_unseen_there(t, &rdma_write);
}

FAMILY(ep_post_rdma_write, cookie, rdma_cookies)
{
        rdma_cookie(t, &rdma_write, row);
}

FAMILY(ep_post_rdma_write, cookie_of, rdma_outcomes)
{
        rdma_cookie_of(t, &rdma_write, row);
}

CASE(ep_post_rdma_write, same_cookie)
{
        rdma_same_cookie(t, &rdma_write);
}

/*
 * Flags
 */

FAMILY(ep_post_rdma_write, flags, rdma_flags)
{
        rdma_flagged(t, &rdma_write, row);
}

FAMILY(ep_post_rdma_write, unsignalled_unconfigured, rdma_unconfigured)
{
        rdma_flags_refused(t, &rdma_write, row);
}

FAMILY(ep_post_rdma_write, undefined_flags, rdma_undefined)
{
        rdma_flags_refused(t, &rdma_write, row);
}

FAMILY(ep_post_rdma_write, unlisted_flags, rdma_unlisted)
{
        rdma_flags_unlisted(t, &rdma_write, row);
}

CASE(ep_post_rdma_write, suppressed_vector)
{
        rdma_suppressed_vector(t, &rdma_write);
}

CASE(ep_post_rdma_write, suppressed_takes_no_place)
{
        rdma_suppressed_rounds(t, &rdma_write);
}

CASE(ep_post_rdma_write, suppressed_failure_told)
{
        rdma_suppressed_failure(t, &rdma_write);
}

CASE(ep_post_rdma_write, unsignalled_wakes_nobody)
{
        rdma_unsignalled_waits(t, &rdma_write);
}

CASE(ep_post_rdma_write, fence)
{
        rdma_fenced(t, &rdma_write);
}

static DAT_RMR_TRIPLET remote_of(struct peer_memory memory)
{
        return (DAT_RMR_TRIPLET){.rmr_context = memory.rmr_context,
                                 .target_address = memory.address,
                                 .segment_length = MESSAGE};
}

/* What the read brings comes so late that a write which does not wait for it has other bytes. */
CASE(ep_post_rdma_write, fence_behind_late_read)
{
        DAT_EP_ATTR attr = rdma_attr(t, &rdma_read, (struct rdma_opts){.dtos = 0});
        struct rdma rdma = {.kind = &rdma_write, .ep = ep_with(t, .attr = &attr)};
        struct peer_ep *end = must_connect(rdma.ep);
        struct peer_memory from = peer_expose(end, MESSAGE);
        struct peer_memory to = peer_expose(end, MESSAGE);
        DAT_RMR_TRIPLET remote = remote_of(from);
        struct vector first = vector_with(t, .length = MESSAGE);

        rdma.evd = ep_request_evd(t, rdma.ep);
        rdma.local = vector_with(t, .length = MESSAGE);
        vector_fill(t, &first, RDMA_MESSAGE);
        expect(rdma_post(t, &rdma, &first, remote, 0, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_completion(rdma.evd, .ep = rdma.ep, .cookie = 0, .length = MESSAGE);
        peer_disturb(peer(t), .delay_ms = LATE_MS);

        must(dat_ep_post_rdma_read(rdma.ep, 1, rdma_iov(t, rdma.local.iov, 1), COOKIE(1), &remote,
                                   DAT_COMPLETION_DEFAULT_FLAG));
        expect(rdma_post(t, &rdma, &rdma.local, remote_of(to), 2, FENCE), DAT_SUCCESS);
        must_complete(rdma.evd, .ep = rdma.ep, .cookie = 1, .length = MESSAGE);
        expect_completion(rdma.evd, .ep = rdma.ep, .cookie = 2, .length = MESSAGE);
        expect_that(rdma_peer_has(t, end, to, MESSAGE),
                    "the write did not wait for what the read was to bring");
}

/*
 * The vector after the call
 */

FAMILY(ep_post_rdma_write, vector_given_back, vector_ends)
{
        rdma_vector_given_back(t, &rdma_write, row);
}

CASE(ep_post_rdma_write, vector_not_modified)
{
        rdma_vector_not_modified(t, &rdma_write);
}

CASE(ep_post_rdma_write, arguments_of_refused)
{
        rdma_arguments_of_refused(t, &rdma_write);
}

CASE(ep_post_rdma_write, remote_not_modified)
{
        rdma_remote_not_modified(t, &rdma_write);
}

CASE(ep_post_rdma_write, remote_given_back)
{
        rdma_remote_given_back(t, &rdma_write);
}

/*
 * States
 */

FAMILY(ep_post_rdma_write, in_state, ep_states)
{
        rdma_in_state(t, &rdma_write, row);
}

FAMILY(ep_post_rdma_write, after_turn, ep_turns)
{
        rdma_after_turn(t, &rdma_write, row);
}

FAMILY(ep_post_rdma_write, flushed, rdma_flags)
{
        rdma_flushed(t, &rdma_write, row);
}

FAMILY(ep_post_rdma_write, refusal_on_disconnected, rdma_refusals)
{
        rdma_refusal_on_disconnected(t, &rdma_write, row);
}

CASE(ep_post_rdma_write, cut_off)
{
        rdma_cut_off(t, &rdma_write);
}

/*
 * Depth
 */

CASE(ep_post_rdma_write, most_outstanding)
{
        rdma_most_outstanding(t, &rdma_write);
}

CASE(ep_post_rdma_write, one_too_many)
{
        rdma_one_too_many(t, &rdma_write);
}

CASE(ep_post_rdma_write, places_come_back)
{
        rdma_places_come_back(t, &rdma_write);
}

FAMILY(ep_post_rdma_write, refusal_leaves, rdma_refusals)
{
        rdma_refusal_leaves(t, &rdma_write, row);
}

/*
 * What may not be reached
 */

FAMILY(ep_post_rdma_write, local_refused, wrong_segments)
{
        rdma_local_refused(t, &rdma_write, row);
}

FAMILY(ep_post_rdma_write, wrong_on_disconnected, wrong_flushed)
{
        rdma_wrong_on_disconnected(t, &rdma_write, row);
}

FAMILY(ep_post_rdma_write, remote_refused, rdma_remote_wrongs)
{
        rdma_remote_refused(t, &rdma_write, row);
}

FAMILY(ep_post_rdma_write, peer_refused, rdma_peer_wrongs)
{
        rdma_peer_refused(t, &rdma_write, row);
}

CASE(ep_post_rdma_write, privileges_enough)
{
        rdma_privileges_enough(t, &rdma_write);
}

CASE(ep_post_rdma_write, window)
{
        rdma_through_window(t, &rdma_write);
}

FAMILY(ep_post_rdma_write, window_gone, rdma_windows)
{
        rdma_window_gone(t, &rdma_write, row);
}

/*
 * Lengths and numbers
 */

FAMILY(ep_post_rdma_write, too_short, rdma_shorts)
{
        rdma_too_short(t, &rdma_write, row);
}

CASE(ep_post_rdma_write, beyond_most)
{
        rdma_beyond_most(t, &rdma_write);
}

FAMILY(ep_post_rdma_write, negative_segments, rdma_negatives)
{
        rdma_negative_segments(t, &rdma_write, row);
}

CASE(ep_post_rdma_write, greatest_segments)
{
        rdma_greatest_segments(t, &rdma_write);
}

CASE(ep_post_rdma_write, segment_too_many)
{
        rdma_segment_too_many(t, &rdma_write);
}

LEGAL(ep_post_rdma_write)
{
        rdma_legal(t, &rdma_write, &call->ep_handle, &call->local_iov, &call->remote_iov);
        call->num_segments = 1;
        call->user_cookie = COOKIE(1);
        call->completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
}
