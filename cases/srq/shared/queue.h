/* SPDX-License-Identifier: BSD-2-Clause */
/* An SRQ with the memory of its receives, and the connections that bring it messages. */
#ifndef CASES_SRQ_QUEUE_H
#define CASES_SRQ_QUEUE_H

#include "case.h"

#define MESSAGE ((size_t)64) /* bytes */
#define SLOTS   64           /* receives that a queue's memory has room for */

/* For `cookie_bits`: cookies with bits in each byte, so that one cut to 32 bits is another. */
#define WIDE_COOKIES (UINT64_C(0x0123456789abcdef) & ~(UINT64_C(64) - 1))

/* An SRQ, the memory of its receives, and the cookies (slot numbers) still to come back. */
struct queue {
        DAT_SRQ_HANDLE srq;
        size_t length; /* of a message, and of a receive */
        struct buf *buf;
        uint64_t posted;
        DAT_UINT64 cookie_bits; /* in which its cookies differ from slot numbers */
};

/* Of three SRQs, in the order of their making, the one that a family's row is about. */
struct which_of_three {
        const char *id;
        int index;
};

static const struct which_of_three three_srqs[] = {
    {"first", 0},
    {"middle", 1},
    {"last", 2},
};

/* A connection over which messages come to the queue. */
struct flow {
        DAT_EP_HANDLE ep;
        DAT_EVD_HANDLE evd;
        struct peer_ep *end;
        size_t length;
        uint64_t sent;
        uint64_t received;
        bool overflows; /* its last message is longer than its receive, which fails */
};

/* A queue of `slots` receives of `length` bytes, on an SRQ made for `size`; with MESSAGE and SLOTS.
 */
struct queue queue_for(struct test *t, DAT_COUNT size, size_t length, size_t slots);
struct queue queue_with(struct test *t, DAT_COUNT size);

/* The same as queue_with() on the other open IA, with memory of it. */
struct queue queue_of_other_ia(struct test *t, DAT_COUNT size);

/* Posts `count` receives more, on free slots; for expect_posts() that they are taken is the clause.
 */
void queue_post(struct test *t, struct queue *queue, int count);

/*
 * The low watermark that a query tells, after dat_srq_set_lw granted `mark`. If it is another one,
 * and a resize below the mark is refused, the mark is there (SRQ-14), and dat_srq_query blocks the
 * case.
 */
DAT_COUNT queried_mark(struct test *t, DAT_SRQ_HANDLE srq, DAT_COUNT mark);

/* Sets the low watermark; the case is BLOCKED if a query then tells another one. */
void queue_mark(struct test *t, const struct queue *queue, DAT_COUNT mark);
void expect_posts(struct test *t, struct queue *queue, int count);

/* The size that dat_srq_query tells. */
DAT_COUNT srq_size(struct test *t, DAT_SRQ_HANDLE srq);

/* How many receives an empty queue takes, as far as there is memory for them. */
DAT_COUNT queue_places(struct test *t, const struct queue *queue);

/*
 * A size `more` above the present one, or as much above it as the IA lets an SRQ have. Where the
 * queue is as large already, that is a NOTE, and its present size is what can be asked for.
 */
DAT_COUNT srq_size_above(struct test *t, DAT_SRQ_HANDLE srq, DAT_COUNT more);

/*
 * Posts a receive on each place of an SRQ that has none, and returns how many these are. They share
 * memory: no message is to reach them.
 */
DAT_COUNT srq_fill(struct test *t, DAT_SRQ_HANDLE srq, const struct buf *buf);

/* The queue takes `count` more receives. They may share memory: no message is to reach them. */
void expect_room(struct test *t, const struct queue *queue, DAT_COUNT count);

/* Connects a new EP of the SRQ. Null for `evd`: it reports receives to an EVD of its own. */
struct flow flow_open(struct test *t, const struct queue *queue, DAT_EVD_HANDLE evd);

/* The same by one route of an EP into Connected, as EACH_EP_ROUTE() has them. */
struct flow flow_by(struct test *t, const struct queue *queue, const struct ep_route *route);

/* The same with these receive completion flags, on an EVD with this CNO, or none. */
struct flow flow_notifying(struct test *t, const struct queue *queue, DAT_COMPLETION_FLAGS flags,
                           DAT_CNO_HANDLE cno);

/* The same without an EVD for receives: `evd` is null. If no such EP is made, NOTE (EP-91). */
struct flow flow_unreported(struct test *t, const struct queue *queue);

/* The same of a queue of queue_of_other_ia(). */
struct flow flow_of_other_ia(struct test *t, const struct queue *queue);

/* Connects an EP of the SRQ that has one EVD for all, where so many sends of it stand unreaped. */
struct flow flow_with_sends(struct test *t, const struct queue *queue, int count);

/*
 * Connects an EP of the SRQ, to EVDs of its own, which then sends a message, writes to the peer's
 * memory and binds an RMR, and where the IA lets it reads: each has completed.
 */
struct flow flow_with_requests(struct test *t, const struct queue *queue);

void flow_send(struct flow *flow, int count);

/* The messages arrive, and their completions stand unreaped. */
void flow_deliver(struct test *t, struct flow *flow, int count);

/*
 * The way of a message of COMING bytes through a slow network: of several, sent at once over
 * connections of their own, each is then under way for the greater part of a second.
 */
#define COMING    ((size_t)700 * 1024)
#define SLOW_KBIT 5000

/*
 * The peer sends a message of COMING bytes over each of `flows`, through a slow network. Returns
 * when some bytes of each are there: their receives are taken. Then must_be_coming() says, after
 * what the case looked at, that none of the messages was whole by then; else it ends in ERROR.
 * Where no message is seen before it is whole, the case ends by unsupported_in_part().
 */
void flows_hold(struct test *t, const struct queue *queue, struct flow *flows, int count);
void must_be_coming(struct test *t, const struct queue *queue, const struct flow *flows, int count);

/* Ends the case as UNSUPPORTED: the transport has no moment in which a message is half there. */
_Noreturn void unsupported_in_part(struct test *t);

/* The peer writes by RDMA to memory of the case, over the flow; it has completed at the peer. */
void flow_is_written_to(struct test *t, const struct flow *flow);

/* Whether a posted receive has the message that the flow sent last, whole. */
bool queue_holds_last(const struct queue *queue, const struct flow *flow);

/* Calls that take one event of an EVD, of as many as are `there`. */
DAT_RETURN take_by_dequeue(DAT_EVD_HANDLE evd, DAT_COUNT there, DAT_EVENT *event);
DAT_RETURN take_by_wait(DAT_EVD_HANDLE evd, DAT_COUNT there, DAT_EVENT *event);
DAT_RETURN take_by_wait_for_all(DAT_EVD_HANDLE evd, DAT_COUNT there, DAT_EVENT *event);

static const struct reap_call {
        const char *id;
        DAT_RETURN (*take)(DAT_EVD_HANDLE evd, DAT_COUNT there, DAT_EVENT *event);
} reap_calls[] = {
    {"dequeue", take_by_dequeue},
    {"wait", take_by_wait},
    {"wait_for_all", take_by_wait_for_all},
};

/*
 * What a consumer may do to an EVD, one turn after another, and no completion there is changed by:
 * whether it was done is for other pages.
 */
#define EVD_TURNS 3
void evd_turn(struct test *t, DAT_EVD_HANDLE evd, int turn);

/*
 * Calls about a queue with a connected EP that have to be refused, one turn after another, and that
 * change nothing of it. That they are refused is for other pages: where one is not, the case is
 * ERROR.
 */
#define VAIN_TURNS 10
void vain_turn(struct test *t, const struct queue *queue, const struct flow *flow, int turn);

/*
 * Calls about objects around a queue with a connected EP, one turn after another. They can be
 * granted, take no receive, reap no completion and set no mark.
 */
#define CALM_TURNS 17
void calm_turn(struct test *t, const struct queue *queue, const struct flow *flow, int turn);

/*
 * A DTO of the EP has failed, which ends its connection; one that stays (DTO-4, DTO-42) is ended.
 * The EP is Disconnected, and its event taken, of whatever number: other pages have that.
 */
void must_end_after_failure(struct test *t, const struct flow *flow);

/*
 * The EP is Disconnect Pending: a send for which the peer has no receive keeps its graceful
 * disconnect waiting. UNSUPPORTED where the transport lets no send wait.
 */
void flow_pend(struct test *t, const struct queue *queue, const struct flow *flow);

/* The peer ends the connection; the EP is Disconnected, and its event taken. */
void flow_break(struct test *t, const struct flow *flow);

/*
 * The completion is of the next message of its connection, one of `flows`, whole, in the memory
 * that its cookie was posted with; the slot of that cookie is free again.
 */
void check_message(struct test *t, struct queue *queue, struct flow *flows, int count,
                   const DAT_DTO_COMPLETION_EVENT_DATA *dto);
/* Reaps the next `count` messages of a flow, and checks them. */
void expect_messages(struct test *t, struct queue *queue, struct flow *flow, int count);

/* The peer sends `count` messages over a flow, and they come. */
void expect_traffic(struct test *t, struct queue *queue, struct flow *flow, int count);

/*
 * Reaps what an EP that was disconnected completes: in order, and nothing after the first flush.
 * Returns how many receives were flushed.
 */
int reap_disconnected(struct test *t, struct queue *queue, struct flow *flow);

/* Each of the receives that are still posted takes a message of another EP. */
void expect_rest_usable(struct test *t, struct queue *queue);

/* Any count is DAT_VALUE_UNKNOWN at times (SRQ-10), but no count is wrong. */
void expect_count(struct test *t, DAT_COUNT dto_count, DAT_COUNT wanted);

/*
 * The receives that `flows`, at rest, tell that they hold: where no message is on its way, those
 * that they took ahead of any (SRQ-31). 0 where one of them does not tell.
 */
DAT_COUNT taken_ahead(struct test *t, const struct flow *flows, int count);

/*
 * So many receives are told as available, or so many less as `flows`, which are at rest, tell that
 * they took ahead: that is a NOTE.
 */
void expect_available(struct test *t, DAT_COUNT dto_count, const struct flow *flows, int count,
                      DAT_COUNT wanted);

/* All that is no count is as it was `before`. */
void expect_attributes(struct test *t, const DAT_SRQ_PARAM *before, const DAT_SRQ_PARAM *after);

/* All that dat_srq_query tells is as it was `before`, but for counts that are not told. */
void expect_kept(struct test *t, DAT_SRQ_HANDLE srq, const DAT_SRQ_PARAM *before);

/* A queue under a mark, and a connection to drain it by. */
struct armed {
        struct queue queue;
        struct flow flow; /* none: nothing is connected */
        bool raised; /* the mark's event came when it was set, though enough receives are there */
};

/*
 * Sets a mark that as many receives stand at, or more, none of them unreaped. Where there are more
 * the event may come at once by the usage note's letter (SRQ-3), and where EPs took some ahead of
 * messages (SRQ-31): that is a NOTE, and the mark has no event to come. Else it ends in ERROR.
 */
void arm_mark(struct test *t, struct armed *armed, DAT_COUNT mark);

/* A connected queue of `posts` receives under an armed mark; `queue_armed`: without a connection.
 */
struct armed armed_with(struct test *t, int posts, DAT_COUNT mark);
struct armed queue_armed(struct test *t, int posts, DAT_COUNT mark);

/* The event of the mark last armed comes, or none where it came when it was set. */
void expect_mark_event(struct test *t, const struct armed *armed);

/*
 * No event of a mark comes, neither while the messages that came stand unreaped nor once they are
 * reaped, by which a provider may learn of them. What they are is for other cases.
 */
void expect_no_mark_event(struct test *t, struct flow *flow);

/*
 * Makes the call, in a process of its own, with the handle of an SRQ that was freed (GEN-1):
 * DAT_INVALID_HANDLE passes, another answer or a crash is a NOTE.
 */
void expect_stale_srq(struct test *t, DAT_RETURN (*call)(void *srq));

#endif
