/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_post_recv: waiters and completion flags. */
#include "cases/ep/shared/endpoint.h"
#include "cases/evd/shared/dispatcher.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_post_recv/fixtures.h"
#include "clauses/srq_post_recv.h"

#define TRIES 5

static struct flow flow_flagged(struct test *t, struct queue *queue, DAT_COMPLETION_FLAGS flags)
{
        return flow_notifying(t, queue, flags, DAT_HANDLE_NULL);
}

/* The same, of a new queue of long messages. */
static struct flow flow_signalled(struct test *t, struct queue *queue, DAT_COMPLETION_FLAGS flags)
{
        *queue = queue_for(t, 8, LONG_MESSAGE, 8);
        return flow_flagged(t, queue, flags);
}

/* A thread waits on the flow's EVD, proven, for so many events. */
static struct waiter *wait_for(struct test *t, const struct flow *flow, DAT_COUNT threshold)
{
        struct waiter *waiter = wait_on_evd(t, flow->evd, DAT_TIMEOUT_INFINITE, threshold);

        must_wait(waiter);
        return waiter;
}

/* The waiter was woken, by the completion of the flow's next message. */
static void check_woken(struct test *t, struct queue *queue, struct flow *flow,
                        const struct woken *woken, DAT_COUNT threshold)
{
        expect(woken->ret, DAT_SUCCESS);
        expect_that(woken->more >= threshold - 1, "%d events, and %d more were to be there",
                    woken->more + 1, threshold - woken->more - 1);
        expect_eq(woken->event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
        check_message(t, queue, flow, 1, &woken->event.event_data.dto_completion_event_data);
}

static void expect_woken(struct test *t, struct queue *queue, struct flow *flow,
                         struct waiter *waiter, DAT_COUNT threshold)
{
        struct woken woken = expect_awake(waiter);

        check_woken(t, queue, flow, &woken, threshold);
}

static void send_flagged(struct flow *flow, DAT_COMPLETION_FLAGS flags)
{
        peer_send(flow->end, .length = flow->length, .first = flow->sent++, .flags = flags);
}

/*
 * Asks it of the flow's connection, and of the next one of its EP. Each time it leaves no receive
 * posted.
 */
static void ask_twice(struct test *t, struct queue *queue, struct flow *flow,
                      void (*ask)(struct test *t, struct queue *queue, struct flow *flow,
                                  DAT_COMPLETION_FLAGS sends),
                      DAT_COMPLETION_FLAGS sends)
{
        ask(t, queue, flow, sends);
        flow_break(t, flow);
        must(dat_ep_reset(flow->ep));
        flow->end = must_connect(flow->ep);
        flow->sent = 0;
        flow->received = 0;
        ask(t, queue, flow, sends);
}

/* Each of several messages wakes a waiter of its own. */
static void ask_woken(struct test *t, struct queue *queue, struct flow *flow,
                      DAT_COMPLETION_FLAGS sends)
{
        expect_posts(t, queue, TRIES);
        for (int i = 0; i < TRIES; i++) {
                struct waiter *waiter = wait_for(t, flow, 1);

                send_flagged(flow, sends);
                expect_woken(t, queue, flow, waiter, 1);
        }
}

/* `quiet` messages let the waiter sleep, and the one behind them, sent so, wakes it. */
static void expect_last_wakes(struct test *t, struct queue *queue, struct flow *flow,
                              DAT_COMPLETION_FLAGS sends, DAT_COUNT threshold, int quiet)
{
        struct waiter *waiter;
        struct woken woken;

        expect_posts(t, queue, quiet + 1);
        waiter = wait_for(t, flow, threshold);
        flow_send(flow, quiet);
        peer_wait_sent(flow->end);
        expect_asleep(waiter);

        send_flagged(flow, sends);
        woken = must_awake(waiter);
        check_woken(t, queue, flow, &woken, threshold);
        expect_messages(t, queue, flow, quiet);
}

static void ask_asleep(struct test *t, struct queue *queue, struct flow *flow,
                       DAT_COMPLETION_FLAGS sends)
{
        expect_last_wakes(t, queue, flow, sends, 1, 7);
}

static void ask_below_threshold(struct test *t, struct queue *queue, struct flow *flow,
                                DAT_COMPLETION_FLAGS sends)
{
        expect_last_wakes(t, queue, flow, sends, 3, 2);
}

static const struct signal {
        const char *id;
        DAT_COMPLETION_FLAGS receives;
        DAT_COMPLETION_FLAGS sends;
} signals[] = {
    {"default", DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_DEFAULT_FLAG},
    {"unsignalled", DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_DEFAULT_FLAG},
    {"evd_threshold", DAT_COMPLETION_EVD_THRESHOLD_FLAG, DAT_COMPLETION_DEFAULT_FLAG},
    {"evd_threshold_solicited", DAT_COMPLETION_EVD_THRESHOLD_FLAG,
     DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"default_solicited", DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"unsignalled_solicited", DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_SOLICITED_WAIT_FLAG},
};

FAMILY(srq_post_recv, signals, signals)
{
        struct queue queue;
        struct flow flow = flow_signalled(t, &queue, row->receives);

        ask_twice(t, &queue, &flow, ask_woken, row->sends);
}

CASE(srq_post_recv, solicited_signals)
{
        struct queue queue;
        struct flow flow = flow_signalled(t, &queue, DAT_COMPLETION_SOLICITED_WAIT_FLAG);

        ask_twice(t, &queue, &flow, ask_woken, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
}

/* The thread waits on the CNO of the EVD. */
static const struct signal cno_signals[] = {
    {"default", DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_DEFAULT_FLAG},
    {"unsignalled", DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_DEFAULT_FLAG},
    {"solicited", DAT_COMPLETION_SOLICITED_WAIT_FLAG, DAT_COMPLETION_SOLICITED_WAIT_FLAG},
};

FAMILY(srq_post_recv, signals_through_cno, cno_signals)
{
        struct queue queue = queue_with(t, 8);
        DAT_CNO_HANDLE cno = cno_new(t);
        struct flow flow = flow_notifying(t, &queue, row->receives, cno);

        expect_posts(t, &queue, TRIES);
        for (int i = 0; i < TRIES; i++) {
                struct waiter *waiter = wait_on_cno(t, cno, 4 * event_timeout(t));
                struct woken woken;

                must_wait(waiter);
                send_flagged(&flow, row->sends);
                woken = expect_awake(waiter);
                expect(woken.ret, DAT_SUCCESS);
                expect_that(woken.evd == flow.evd, "the CNO names another EVD");
                expect_messages(t, &queue, &flow, 1);
        }
}

/* Nor do they notify the CNO of the EVD. */
CASE(srq_post_recv, unsolicited_leaves_cno)
{
        struct queue queue = queue_with(t, 8);
        DAT_CNO_HANDLE cno = cno_new(t);
        struct flow flow = flow_notifying(t, &queue, DAT_COMPLETION_SOLICITED_WAIT_FLAG, cno);

        expect_posts(t, &queue, 3);
        flow_deliver(t, &flow, 2);
        expect_no_notice(t, cno);

        send_flagged(&flow, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
        expect_notified(t, cno, flow.evd);
        expect_messages(t, &queue, &flow, 3);
}

/* That they came while the waiter slept, the solicited one behind them shows. */
CASE(srq_post_recv, unsolicited_waits)
{
        struct queue queue;
        struct flow flow = flow_signalled(t, &queue, DAT_COMPLETION_SOLICITED_WAIT_FLAG);

        ask_twice(t, &queue, &flow, ask_asleep, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
}

CASE(srq_post_recv, threshold_waits)
{
        struct queue queue;
        struct flow flow = flow_signalled(t, &queue, DAT_COMPLETION_EVD_THRESHOLD_FLAG);

        ask_twice(t, &queue, &flow, ask_below_threshold, DAT_COMPLETION_DEFAULT_FLAG);
}

CASE(srq_post_recv, threshold_signals)
{
        struct queue queue;
        struct flow flow = flow_signalled(t, &queue, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
        struct waiter *waiter;

        expect_posts(t, &queue, 3);
        waiter = wait_for(t, &flow, 3);
        flow_send(&flow, 3);

        expect_woken(t, &queue, &flow, waiter, 3);
        expect_messages(t, &queue, &flow, 2);
}

/* Two EPs of one SRQ, of which one solicits, or has a threshold: whichever was made first. */
static const struct which_of_two {
        const char *id;
        int soliciting;
        DAT_COMPLETION_FLAGS flags;
        DAT_COUNT threshold;
} soliciting[] = {
    {"older_solicits", 0, DAT_COMPLETION_SOLICITED_WAIT_FLAG, 1},
    {"newer_solicits", 1, DAT_COMPLETION_SOLICITED_WAIT_FLAG, 1},
    {"older_has_threshold", 0, DAT_COMPLETION_EVD_THRESHOLD_FLAG, 2},
    {"newer_has_threshold", 1, DAT_COMPLETION_EVD_THRESHOLD_FLAG, 2},
};

FAMILY(srq_post_recv, flags_of_each_ep, soliciting)
{
        struct queue queue = queue_with(t, 8);
        struct flow flows[2];
        struct flow *solicited = &flows[row->soliciting];
        struct flow *plain = &flows[!row->soliciting];
        struct waiter *sleeper;

        for (int i = 0; i < 2; i++)
                flows[i] = flow_flagged(
                    t, &queue, i == row->soliciting ? row->flags : DAT_COMPLETION_DEFAULT_FLAG);
        expect_posts(t, &queue, 4);
        sleeper = wait_for(t, solicited, row->threshold);
        flow_send(solicited, 1);
        for (int i = 0; i < 2; i++) {
                struct waiter *waiter = wait_for(t, plain, 1);

                flow_send(plain, 1);
                expect_woken(t, &queue, plain, waiter, 1);
        }
        expect_asleep(sleeper);
        send_flagged(solicited, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
        expect_woken(t, &queue, solicited, sleeper, row->threshold);
        expect_messages(t, &queue, solicited, 1);
}
