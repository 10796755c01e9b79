/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An EP that asks for a connection, by dat_ep_connect or by dat_ep_dup_connect, and who hears it:
 * an EP of the same IA, or the peer. What both pages say of that is asked here, once.
 */
#ifndef CASES_EP_CONNECT_H
#define CASES_EP_CONNECT_H

#include "cases/ep/shared/modify_table.h"
#include "cases/shared/loop.h"

enum way {
        BY_ADDRESS, /* dat_ep_connect */
        AS_ANOTHER, /* dat_ep_dup_connect */
};

/* The arguments of either call. */
struct asking {
        enum way way;
        DAT_EP_HANDLE ep;
        DAT_EP_HANDLE like; /* AS_ANOTHER: the EP that is connected already */
        DAT_IA_ADDRESS_PTR address;
        DAT_CONN_QUAL qual;
        DAT_TIMEOUT timeout;
        DAT_COUNT size; /* of the private data */
        DAT_PVOID data;
        DAT_QOS qos;
        DAT_CONNECT_FLAGS flags;
};

/* The call under test. */
DAT_RETURN connect_ask(const struct asking *asking);

/*
 * An EP that can ask, and a service point of the same IA that hears it; where it asks as another EP
 * did, that one is connected, to `old.passive`. The request's private data is message 0.
 */
struct stage {
        struct asking asking;
        struct loop loop; /* its active EP is the one that asks */
        struct loop old;
        unsigned char data[MESSAGE];
        struct buf *held; /* of the receive that stage_hold() posted */
};
void stage_set(struct test *t, struct stage *stage, enum way way);
void stage_set_with(struct test *t, struct stage *stage, enum way way, struct ep_opts active,
                    struct ep_opts passive);

/* The same with the peer, which listens at `place`. */
struct remote {
        struct asking asking;
        struct peer_place place;
        struct peer_ep *old_end; /* of `asking.like` */
        unsigned char data[MESSAGE];
};
void remote_set(struct test *t, struct remote *remote, enum way way);

/* The peer is asked: that no request comes to it is FAIL. */
struct peer_cr expect_peer_request(struct test *t);

/* The EP that has asked is Active Connection Pending, and has been told nothing yet. */
void expect_ep_pending(struct test *t, DAT_EP_HANDLE ep);

/* The EP's next connection event, and the only one, is this one; the EP is in that state then. */
void expect_ep_told(struct test *t, DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number, DAT_EP_STATE state);

/* Its next one is one of these two, within `timeout` and the run's deadline; Disconnected. */
DAT_EVENT_NUMBER expect_ep_failed(struct test *t, DAT_EP_HANDLE ep, DAT_TIMEOUT timeout,
                                  DAT_EVENT_NUMBER one, DAT_EVENT_NUMBER other);

/* No host answered: unreachable or timed out; a rejection without a peer is a NOTE (EP-3). */
void expect_no_host(struct test *t, DAT_EP_HANDLE ep, DAT_TIMEOUT timeout);

/* The request came, and has its private data; it is accepted, and both ends are Connected. */
void expect_stage_heard(struct test *t, struct stage *stage);

/* Accepts a request that was given up. The call or an event tells of that; which, others judge. */
void must_answer_late(struct test *t, DAT_CR_HANDLE request, const struct loop *loop);
void expect_stage_accepted(struct test *t, struct stage *stage);

/* A message goes each way between two EPs of the IA. */
void expect_loop_carries(struct test *t, DAT_EP_HANDLE one, DAT_EP_HANDLE other);

/* The EP that asks has a receive posted, which is to take the connection's first message. */
struct ep_snapshot stage_hold(struct test *t, struct stage *stage);

/* Messages go both ways, the first to that receive. */
void expect_stage_carries(struct test *t, const struct stage *stage);

/* After a refusal: nothing has changed or been told, and the legal call connects. */
void expect_stage_connects(struct test *t, struct stage *stage, const struct ep_snapshot *before);

/* Microseconds of a monotonic clock. */
uint64_t connect_clock_us(void);

/*
 * Bodies of cases
 */

void connect_established(struct test *t, enum way way);
void connect_pending(struct test *t, enum way way);
void connect_rejected(struct test *t, enum way way);
void connect_port(struct test *t, enum way way);
void connect_own_ports(struct test *t, enum way way);
void connect_arguments_copied(struct test *t, enum way way);
void connect_many(struct test *t, enum way way);

/* Sizes of private data. */
enum size_kind { SIZE_NONE, SIZE_NONE_AT, SIZE_ONE, SIZE_ODD, SIZE_BELOW_MOST, SIZE_MOST };
struct size_row {
        const char *id;
        enum size_kind kind;
};
static const struct size_row private_sizes[] = {
    {"none", SIZE_NONE}, {"none_at", SIZE_NONE_AT},       {"one", SIZE_ONE},
    {"odd", SIZE_ODD},   {"below_most", SIZE_BELOW_MOST}, {"most", SIZE_MOST},
};
void connect_private_data(struct test *t, enum way way, const struct size_row *row);
void connect_private_data_to_peer(struct test *t, enum way way);

struct bad_size_row {
        const char *id;
        bool past_most; /* `size` is added to the most that can be */
        DAT_COUNT size;
};
static const struct bad_size_row bad_private_sizes[] = {
    {"one_past_most", true, 1},
    {"minus_one", false, -1},
    {"most_negative", false, INT32_MIN},
};
void connect_bad_size(struct test *t, enum way way, const struct bad_size_row *row);

struct qos_row {
        const char *id;
        DAT_QOS qos;
};
static const struct qos_row qualities[] = {
    {"best_effort", DAT_QOS_BEST_EFFORT}, {"high_throughput", DAT_QOS_HIGH_THROUGHPUT},
    {"low_latency", DAT_QOS_LOW_LATENCY}, {"economy", DAT_QOS_ECONOMY},
    {"premium", DAT_QOS_PREMIUM},
};
void connect_qos(struct test *t, enum way way, const struct qos_row *row);

#define QUALITIES \
        (DAT_QOS_HIGH_THROUGHPUT | DAT_QOS_LOW_LATENCY | DAT_QOS_ECONOMY | DAT_QOS_PREMIUM)

/* Two qualities and more, and bits that are none's. */
struct qos_mixture {
        const char *id;
        unsigned int bits;
};
static const struct qos_mixture mixed_qualities[] = {
    {"fast", DAT_QOS_HIGH_THROUGHPUT | DAT_QOS_LOW_LATENCY},
    {"dear", DAT_QOS_ECONOMY | DAT_QOS_PREMIUM},
    {"all", QUALITIES},
    {"next_bit", 0x10},
    {"highest_bit", 0x40000000},
};
void connect_qos_mixed(struct test *t, enum way way, const struct qos_mixture *row);

/* Time-outs, in microseconds. */
struct timeout_row {
        const char *id;
        DAT_TIMEOUT us;
};
static const struct timeout_row timeouts[] = {
    {"us_1", 1}, {"ms_30", 30000}, {"ms_60", 60000}, {"ms_150", 150000}};
void connect_timed_out(struct test *t, enum way way, const struct timeout_row *row);
void connect_timed_out_each(struct test *t, enum way way);
void connect_timed_out_again(struct test *t, enum way way);

/*
 * Time-outs, in microseconds, that no case waits for: a little more than 32 bits of nanoseconds,
 * the first one with the highest bit, and the greatest that has an end.
 */
struct long_timeout_row {
        const char *id;
        DAT_TIMEOUT timeout;
};
static const struct long_timeout_row long_timeouts[] = {
    {"nanoseconds", 4294968},
    {"highest_bit", 0x80000000},
    {"greatest", DAT_TIMEOUT_INFINITE - 1},
};
void connect_timeout_long(struct test *t, enum way way, const struct long_timeout_row *row);
void connect_timeout_zero(struct test *t, enum way way);
void connect_timeout_infinite(struct test *t, enum way way);
void connect_timeout_over(struct test *t, enum way way);
void connect_rejected_for_good(struct test *t, enum way way);
void connect_answered_late(struct test *t, enum way way);
void connect_stale_answers(struct test *t, enum way way);

struct reads_row {
        const char *id;
        DAT_COUNT out;
        DAT_COUNT in; /* of the EP that accepts */
};
static const struct reads_row reads_that_fit[] = {
    {"none", 0, 0}, {"none_of_four", 0, 4}, {"one_of_four", 1, 4}, {"four_of_four", 4, 4}};
void connect_reads(struct test *t, enum way way, const struct reads_row *row);
void connect_reads_beyond(struct test *t, enum way way);
void connect_keeps_its_own(struct test *t, enum way way);
void connect_keeps_preposted(struct test *t, enum way way);
void connect_of_srq(struct test *t, enum way way);

/* With the peer. */
void connect_peer(struct test *t, enum way way);
void connect_peer_port(struct test *t, enum way way);
void connect_peer_rejects(struct test *t, enum way way);
void connect_peer_never_answers(struct test *t, enum way way);
void connect_peer_freezes(struct test *t, enum way way);
void connect_peer_dies(struct test *t, enum way way);
void connect_peer_is_gone(struct test *t, enum way way);
void connect_cut_off(struct test *t, enum way way);

#endif
