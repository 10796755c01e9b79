/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cases that dat_ep_connect and dat_ep_dup_connect share, one a line: the name of the clause,
 * the rows if it is a family, and the function with the body. A page defines CONNECT_CASE and
 * CONNECT_FAMILY before it includes this table.
 */

CONNECT_CASE(established, connect_established)
CONNECT_CASE(pending, connect_pending)
CONNECT_CASE(rejected, connect_rejected)
CONNECT_CASE(port, connect_port)
CONNECT_CASE(own_port, connect_own_ports)
CONNECT_CASE(many, connect_many)
CONNECT_CASE(arguments_copied, connect_arguments_copied)
CONNECT_FAMILY(private_data, private_sizes, connect_private_data)
CONNECT_FAMILY(bad_private_data_size, bad_private_sizes, connect_bad_size)
CONNECT_FAMILY(qos, qualities, connect_qos)
CONNECT_FAMILY(qos_mixed, mixed_qualities, connect_qos_mixed)
CONNECT_FAMILY(timed_out, timeouts, connect_timed_out)
CONNECT_CASE(timed_out_each, connect_timed_out_each)
CONNECT_CASE(timed_out_again, connect_timed_out_again)
CONNECT_FAMILY(timeout_long, long_timeouts, connect_timeout_long)
CONNECT_CASE(timeout_zero, connect_timeout_zero)
CONNECT_CASE(timeout_infinite, connect_timeout_infinite)
CONNECT_CASE(timeout_over, connect_timeout_over)
CONNECT_CASE(rejected_for_good, connect_rejected_for_good)
CONNECT_CASE(answered_late, connect_answered_late)
CONNECT_CASE(stale_answers, connect_stale_answers)
CONNECT_FAMILY(reads, reads_that_fit, connect_reads)
CONNECT_CASE(reads_beyond, connect_reads_beyond)
CONNECT_CASE(keeps_its_own, connect_keeps_its_own)
CONNECT_CASE(keeps_preposted, connect_keeps_preposted)

/* With the peer */
CONNECT_CASE(peer, connect_peer)
CONNECT_CASE(peer_port, connect_peer_port)
CONNECT_CASE(peer_private_data, connect_private_data_to_peer)
CONNECT_CASE(peer_rejects, connect_peer_rejects)
CONNECT_CASE(peer_never_answers, connect_peer_never_answers)
CONNECT_CASE(peer_freezes, connect_peer_freezes)
CONNECT_CASE(peer_dies, connect_peer_dies)
CONNECT_CASE(peer_is_gone, connect_peer_is_gone)
CONNECT_CASE(cut_off, connect_cut_off)
