/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_post_rdma_read: data, completions, and refused calls. */
#include "clauses/ep_post_rdma_read.h"
#include "case/standard.h"
#include "cases/ep/shared/rdma.h"

#define LONG  ((size_t)100000) /* bytes of a read */
#define READS 8

/*
 * Bytes
 */

FAMILY(ep_post_rdma_read, moves, transfer_lengths)
{
        rdma_moves(t, &rdma_read, row);
}

FAMILY(ep_post_rdma_read, over_wire, wire_lengths)
{
        rdma_over_wire(t, &rdma_read, row);
}

FAMILY(ep_post_rdma_read, segments, splits)
{
        rdma_in_segments(t, &rdma_read, row);
}

FAMILY(ep_post_rdma_read, empty_segment, splits_with_empty)
{
        rdma_with_empty(t, &rdma_read, row);
}

CASE(ep_post_rdma_read, several_lmrs)
{
        rdma_of_several_lmrs(t, &rdma_read);
}

CASE(ep_post_rdma_read, most_segments)
{
        rdma_most_segments(t, &rdma_read);
}

CASE(ep_post_rdma_read, fewer_segments_than_vector)
{
        rdma_fewer_segments(t, &rdma_read);
}

FAMILY(ep_post_rdma_read, nothing, rdma_nothings)
{
        rdma_of_nothing(t, &rdma_read, row);
}

FAMILY(ep_post_rdma_read, place, rdma_places)
{
        rdma_at_place(t, &rdma_read, row);
}

FAMILY(ep_post_rdma_read, aligned, rdma_shifts)
{
        rdma_aligned(t, &rdma_read, row);
}

FAMILY(ep_post_rdma_read, fills_in_order, rests)
{
        rdma_leaves_rest(t, &rdma_read, row);
}

FAMILY(ep_post_rdma_read, many_both_ways, rdma_streams)
{
        rdma_many(t, &rdma_read, row);
}

/*
 * Completions
 */

CASE(ep_post_rdma_read, completes_once)
{
        rdma_completes_once(t, &rdma_read);
}

CASE(ep_post_rdma_read, in_order)
{
        rdma_in_order(t, &rdma_read);
}

CASE(ep_post_rdma_read, in_order_with_sends)
{
        rdma_in_order_with_others(t, &rdma_read);
}

CASE(ep_post_rdma_read, unseen_at_other_end)
{
        rdma_unseen_there(t, &rdma_read);
}

FAMILY(ep_post_rdma_read, cookie, rdma_cookies)
{
        rdma_cookie(t, &rdma_read, row);
}

FAMILY(ep_post_rdma_read, cookie_of, rdma_outcomes)
{
        rdma_cookie_of(t, &rdma_read, row);
}

CASE(ep_post_rdma_read, same_cookie)
{
        rdma_same_cookie(t, &rdma_read);
}

/*
 * Flags
 */

FAMILY(ep_post_rdma_read, flags, rdma_flags)
{
        rdma_flagged(t, &rdma_read, row);
}

FAMILY(ep_post_rdma_read, unsignalled_unconfigured, rdma_unconfigured)
{
        rdma_flags_refused(t, &rdma_read, row);
}

FAMILY(ep_post_rdma_read, undefined_flags, rdma_undefined)
{
        rdma_flags_refused(t, &rdma_read, row);
}

FAMILY(ep_post_rdma_read, unlisted_flags, rdma_unlisted)
{
        rdma_flags_unlisted(t, &rdma_read, row);
}

CASE(ep_post_rdma_read, suppressed_vector)
{
        rdma_suppressed_vector(t, &rdma_read);
}

CASE(ep_post_rdma_read, suppressed_takes_no_place)
{
        rdma_suppressed_rounds(t, &rdma_read);
}

CASE(ep_post_rdma_read, suppressed_failure_told)
{
        rdma_suppressed_failure(t, &rdma_read);
}

CASE(ep_post_rdma_read, unsignalled_wakes_nobody)
{
        rdma_unsignalled_waits(t, &rdma_read);
}

CASE(ep_post_rdma_read, fence)
{
        rdma_fenced(t, &rdma_read);
}

/*
 * The vector after the call
 */

FAMILY(ep_post_rdma_read, vector_given_back, vector_ends)
{
        rdma_vector_given_back(t, &rdma_read, row);
}

CASE(ep_post_rdma_read, vector_not_modified)
{
        rdma_vector_not_modified(t, &rdma_read);
}

CASE(ep_post_rdma_read, arguments_of_refused)
{
        rdma_arguments_of_refused(t, &rdma_read);
}

CASE(ep_post_rdma_read, remote_not_modified)
{
        rdma_remote_not_modified(t, &rdma_read);
}

CASE(ep_post_rdma_read, remote_given_back)
{
        rdma_remote_given_back(t, &rdma_read);
}

/*
 * States
 */

FAMILY(ep_post_rdma_read, in_state, ep_states)
{
        rdma_in_state(t, &rdma_read, row);
}

FAMILY(ep_post_rdma_read, after_turn, ep_turns)
{
        rdma_after_turn(t, &rdma_read, row);
}

FAMILY(ep_post_rdma_read, flushed, rdma_flags)
{
        rdma_flushed(t, &rdma_read, row);
}

FAMILY(ep_post_rdma_read, refusal_on_disconnected, rdma_refusals)
{
        rdma_refusal_on_disconnected(t, &rdma_read, row);
}

CASE(ep_post_rdma_read, cut_off)
{
        rdma_cut_off(t, &rdma_read);
}

/*
 * Depth
 */

CASE(ep_post_rdma_read, most_outstanding)
{
        rdma_most_outstanding(t, &rdma_read);
}

CASE(ep_post_rdma_read, one_too_many)
{
        rdma_one_too_many(t, &rdma_read);
}

CASE(ep_post_rdma_read, places_come_back)
{
        rdma_places_come_back(t, &rdma_read);
}

FAMILY(ep_post_rdma_read, refusal_leaves, rdma_refusals)
{
        rdma_refusal_leaves(t, &rdma_read, row);
}

/* Reads that an EP is made to have under way. */
static const struct depth {
        const char *id;
        DAT_COUNT reads; /* 0: the most that the IA lets an EP have, both ways */
} depths[] = {
    {"one", 1},
    {"two", 2},
    {"most", 0},
};

static DAT_COUNT most_reads(struct test *t)
{
        DAT_COUNT in = ia_attr(t)->max_rdma_read_per_ep_in;
        DAT_COUNT out = ia_attr(t)->max_rdma_read_per_ep_out;

        return in < out ? in : out;
}

/* So many reads at once, of the same bytes to the same place. */
static void expect_reads(struct test *t, const struct rdma *rdma, DAT_COUNT count)
{
        for (DAT_COUNT i = 0; i < count; i++)
                expect(rdma_post_whole(t, rdma, (uint64_t)i, DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        for (DAT_COUNT i = 0; i < count; i++)
                expect_rdma(t, rdma, (uint64_t)i, rdma->local.length);
}

FAMILY(ep_post_rdma_read, reads_out, depths)
{
        DAT_COUNT reads = row->reads ? row->reads : most_reads(t);
        DAT_COUNT most = ia_attr(t)->max_dto_per_ep;
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = reads + 1);
        struct rdma rdma = rdma_with(t, &rdma_read, .length = LONG, .reads = reads,
                                     .dtos = reads < most ? reads : most, .request_evd = evd);

        expect_reads(t, &rdma, reads < most ? reads : most);
}

/* The EP holds back what is too much for now, or says so. */
CASE(ep_post_rdma_read, more_than_reads_out)
{
        struct rdma rdma = rdma_with(t, &rdma_read, .length = LONG, .reads = 1);
        DAT_COUNT taken = 0;

        for (uint64_t i = 0; i < READS; i++) {
                DAT_RETURN ret = rdma_post_whole(t, &rdma, i, DAT_COMPLETION_DEFAULT_FLAG);

                if (i == 0)
                        expect(ret, DAT_SUCCESS);
                else
                        expect(ret, DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
                if (!dat_is(ret, DAT_SUCCESS))
                        break;
                taken++;
        }
        for (DAT_COUNT i = 0; i < taken; i++)
                expect_rdma(t, &rdma, (uint64_t)i, LONG);
        expect_rdma_goes_on(t, &rdma);
}

/*
 * What may not be reached
 */

FAMILY(ep_post_rdma_read, local_refused, wrong_segments)
{
        rdma_local_refused(t, &rdma_read, row);
}

FAMILY(ep_post_rdma_read, wrong_on_disconnected, wrong_flushed)
{
        rdma_wrong_on_disconnected(t, &rdma_read, row);
}

FAMILY(ep_post_rdma_read, remote_refused, rdma_remote_wrongs)
{
        rdma_remote_refused(t, &rdma_read, row);
}

FAMILY(ep_post_rdma_read, peer_refused, rdma_peer_wrongs)
{
        rdma_peer_refused(t, &rdma_read, row);
}

CASE(ep_post_rdma_read, privileges_enough)
{
        rdma_privileges_enough(t, &rdma_read);
}

CASE(ep_post_rdma_read, window)
{
        rdma_through_window(t, &rdma_read);
}

FAMILY(ep_post_rdma_read, window_gone, rdma_windows)
{
        rdma_window_gone(t, &rdma_read, row);
}

/*
 * Lengths and numbers
 */

FAMILY(ep_post_rdma_read, too_short, rdma_shorts)
{
        rdma_too_short(t, &rdma_read, row);
}

CASE(ep_post_rdma_read, too_short_by_far)
{
        rdma_too_short_by_far(t, &rdma_read);
}

CASE(ep_post_rdma_read, beyond_most)
{
        rdma_beyond_most(t, &rdma_read);
}

FAMILY(ep_post_rdma_read, negative_segments, rdma_negatives)
{
        rdma_negative_segments(t, &rdma_read, row);
}

CASE(ep_post_rdma_read, greatest_segments)
{
        rdma_greatest_segments(t, &rdma_read);
}

CASE(ep_post_rdma_read, segment_too_many)
{
        rdma_segment_too_many(t, &rdma_read);
}

LEGAL(ep_post_rdma_read)
{
        rdma_legal(t, &rdma_read, &call->ep_handle, &call->local_iov, &call->remote_iov);
        call->num_segments = 1;
        call->user_cookie = COOKIE(1);
        call->completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
}
