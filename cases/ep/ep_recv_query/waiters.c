/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_recv_query: threads that wait for completions of the EP. */
#include "cases/ep/ep_recv_query/fixtures.h"
#include "cases/evd/shared/dispatcher.h"
#include "clauses/ep_recv_query.h"

#define TURNS   3
#define QUERIES 200 /* at most, while a message is on its way */

/* An EP that messages come to, with a receive queue of its own or with an SRQ. */
struct arriving {
        DAT_EP_HANDLE ep;
        DAT_EVD_HANDLE evd;
        struct peer_ep *end;
        uint64_t sent;
};

static const struct receiver {
        const char *id;
        bool srq;
} receivers[] = {
    {"own_queue", false},
    {"srq", true},
};

static struct arriving arriving_at(struct test *t, const struct receiver *row)
{
        struct queue queue;
        struct flow flow;
        struct own own;

        if (!row->srq) {
                own = own_connected(t, 2 * POSTS);
                return (struct arriving){.ep = own.ep, .evd = own.evd, .end = own.end};
        }
        queue = queue_with(t, 2 * POSTS);
        flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        queue_post(t, &queue, 2 * POSTS);
        return (struct arriving){.ep = flow.ep, .evd = flow.evd, .end = flow.end};
}

static void query_often(struct test *t, const struct arriving *arriving)
{
        for (int i = 0; i < MANY; i++)
                expect_within(t, recv_info(t, arriving->ep), 0, 2 * POSTS);
}

static void send_one(struct arriving *arriving)
{
        peer_send(arriving->end, .length = MESSAGE, .first = arriving->sent++);
}

static struct waiter *wait_for(struct test *t, const struct arriving *arriving, DAT_COUNT threshold)
{
        struct waiter *waiter = wait_on_evd(t, arriving->evd, DAT_TIMEOUT_INFINITE, threshold);

        must_wait(waiter);
        return waiter;
}

static void expect_message_woke(struct test *t, const struct arriving *arriving,
                                struct waiter *waiter)
{
        struct woken woken = expect_awake(waiter);
        const DAT_DTO_COMPLETION_EVENT_DATA *dto =
            &woken.event.event_data.dto_completion_event_data;

        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_number, DAT_DTO_COMPLETION_EVENT);
        expect_that(dto->ep_handle == arriving->ep, "the completion is of another EP");
        expect_eq(dto->status, DAT_DTO_SUCCESS);
}

/* What a query learns of a message while it looks is news to the waiter still. */
FAMILY(ep_recv_query, wakes, receivers)
{
        struct arriving arriving = arriving_at(t, row);

        query_often(t, &arriving);
        for (int turn = 0; turn < TURNS; turn++) {
                struct waiter *waiter = wait_for(t, &arriving, 1);

                query_often(t, &arriving);
                expect_asleep(waiter);
                send_one(&arriving);
                for (int i = 0; i < QUERIES && is_waiting(waiter); i++)
                        recv_info(t, arriving.ep);
                expect_message_woke(t, &arriving, waiter);
        }
        expect_quiet(arriving.evd);
}

/* Queries see the first of two messages that the waiter waits for. */
FAMILY(ep_recv_query, wakes_at_threshold, receivers)
{
        struct arriving arriving = arriving_at(t, row);
        struct waiter *waiter = wait_for(t, &arriving, 2);

        send_one(&arriving);
        peer_wait_sent(arriving.end);
        settle(t);
        query_often(t, &arriving);
        expect_asleep(waiter);

        send_one(&arriving);
        expect_message_woke(t, &arriving, waiter);
        expect_dto(arriving.evd);
        expect_quiet(arriving.evd);
}

CASE(ep_recv_query, triggers_cno)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = evd_with(t, .cno = cno);
        struct arriving arriving = {.ep = ep_with(t, .recv_evd = evd), .evd = evd};
        struct own own = {.ep = arriving.ep, .buf = buf_with(t), .length = MESSAGE};

        own_post(t, &own, POSTS);
        arriving.end = peer_connect(peer(t), arriving.ep);
        query_often(t, &arriving);
        for (int turn = 0; turn < TURNS; turn++) {
                struct waiter *waiter = wait_on_cno(t, cno, 4 * event_timeout(t));
                struct woken woken;

                must_wait(waiter);
                send_one(&arriving);
                for (int i = 0; i < QUERIES && is_waiting(waiter); i++)
                        recv_info(t, arriving.ep);
                woken = expect_awake(waiter);
                expect(woken.ret, DAT_SUCCESS);
                expect_that(woken.evd == evd, "the CNO names another EVD");
                expect_dto(evd);
        }
        expect_quiet(evd);
}
