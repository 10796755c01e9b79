/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cases that dat_ep_post_rdma_read and dat_ep_post_rdma_write share, one a line: the name of
 * the clause, the rows if it is a family, and the function with the body. A page defines RDMA_CASE
 * and RDMA_FAMILY before it includes this table.
 */

/* Bytes */
RDMA_FAMILY(moves, transfer_lengths, rdma_moves)
RDMA_FAMILY(over_wire, wire_lengths, rdma_over_wire)
RDMA_FAMILY(segments, splits, rdma_in_segments)
RDMA_FAMILY(empty_segment, splits_with_empty, rdma_with_empty)
RDMA_CASE(several_lmrs, rdma_of_several_lmrs)
RDMA_CASE(most_segments, rdma_most_segments)
RDMA_CASE(fewer_segments_than_vector, rdma_fewer_segments)
RDMA_FAMILY(nothing, rdma_nothings, rdma_of_nothing)
RDMA_FAMILY(place, rdma_places, rdma_at_place)
RDMA_FAMILY(aligned, rdma_shifts, rdma_aligned)
RDMA_FAMILY(many_both_ways, rdma_streams, rdma_many)

/* Completions */
RDMA_CASE(completes_once, rdma_completes_once)
RDMA_CASE(in_order, rdma_in_order)
RDMA_CASE(in_order_with_sends, rdma_in_order_with_others)
RDMA_CASE(unseen_at_other_end, rdma_unseen_there)
RDMA_FAMILY(cookie, cookies, rdma_cookie)
RDMA_FAMILY(cookie_of, rdma_outcomes, rdma_cookie_of)
RDMA_CASE(same_cookie, rdma_same_cookie)
RDMA_CASE(of_its_own_ep, rdma_of_its_own_ep)

/* Flags */
RDMA_FAMILY(flags, rdma_flags, rdma_flagged)
RDMA_FAMILY(unsignalled_unconfigured, rdma_unconfigured, rdma_unsignalled_refused)
RDMA_FAMILY(undefined_flags, rdma_undefined, rdma_flags_refused)
RDMA_CASE(each_undefined_flag, rdma_each_undefined_flag)
RDMA_FAMILY(unlisted_flags, rdma_unlisted, rdma_flags_unlisted)
RDMA_CASE(suppressed_vector, rdma_suppressed_vector)
RDMA_CASE(suppressed_takes_no_place, rdma_suppressed_rounds)
RDMA_CASE(suppressed_failure_told, rdma_suppressed_failure)
RDMA_CASE(unsignalled_wakes_nobody, rdma_unsignalled_waits)
RDMA_CASE(fence, rdma_fenced)

/* The vector after the call */
RDMA_FAMILY(vector_given_back, vector_ends, rdma_vector_given_back)
RDMA_CASE(vector_not_modified, rdma_vector_not_modified)
RDMA_CASE(arguments_of_refused, rdma_arguments_of_refused)
RDMA_CASE(remote_not_modified, rdma_remote_not_modified)
RDMA_CASE(remote_given_back, rdma_remote_given_back)

/* States */
RDMA_FAMILY(in_state, ep_states, rdma_in_state)
RDMA_FAMILY(after_turn, ep_turns, rdma_after_turn)
RDMA_FAMILY(flushed, rdma_flags, rdma_flushed)
RDMA_FAMILY(refusal_on_disconnected, rdma_refusals, rdma_refusal_on_disconnected)
RDMA_CASE(cut_off, rdma_cut_off)
RDMA_CASE(cut_off_suppressed, rdma_cut_off_suppressed)

/* Depth */
RDMA_CASE(most_outstanding, rdma_most_outstanding)
RDMA_CASE(one_too_many, rdma_one_too_many)
RDMA_CASE(places_come_back, rdma_places_come_back)
RDMA_FAMILY(refusal_leaves, rdma_refusals, rdma_refusal_leaves)

/* What may not be reached */
RDMA_FAMILY(local_refused, wrong_segments, rdma_local_refused)
RDMA_FAMILY(wrong_on_disconnected, wrong_flushed, rdma_wrong_on_disconnected)
RDMA_FAMILY(remote_refused, rdma_remote_wrongs, rdma_remote_refused)
RDMA_FAMILY(peer_refused, rdma_peer_wrongs, rdma_peer_refused)
RDMA_CASE(privileges_enough, rdma_privileges_enough)
RDMA_CASE(window, rdma_through_window)
RDMA_FAMILY(window_gone, rdma_windows, rdma_window_gone)

/* Lengths and numbers */
RDMA_FAMILY(too_short, rdma_shorts, rdma_too_short)
RDMA_CASE(beyond_most, rdma_beyond_most)
RDMA_FAMILY(negative_segments, rdma_negatives, rdma_negative_segments)
RDMA_CASE(greatest_segments, rdma_greatest_segments)
RDMA_CASE(segment_too_many, rdma_segment_too_many)
