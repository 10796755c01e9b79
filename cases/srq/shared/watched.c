/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/srq/shared/watched.h"
#include "cases/srq/shared/queue.h"

#define TURNS 3
#define MANY  50  /* looks at what does not change */
#define LOOKS 200 /* at most, while a message is on its way */

static void look_often(struct test *t, const struct watched *watched)
{
        for (int i = 0; i < MANY; i++)
                watched->look(t, watched->object);
}

static void send_one(struct watched *watched)
{
        peer_send(watched->end, .length = MESSAGE, .first = watched->sent++);
}

static struct waiter *wait_for(struct test *t, const struct watched *watched, DAT_COUNT threshold)
{
        struct waiter *waiter = wait_on_evd(t, watched->evd, DAT_TIMEOUT_INFINITE, threshold);

        must_wait(waiter);
        return waiter;
}

/* A message is sent, and looks see it arrive. */
static struct woken woken_under_looks(struct test *t, struct watched *watched,
                                      struct waiter *waiter)
{
        struct woken woken;

        send_one(watched);
        for (int i = 0; i < LOOKS && is_waiting(waiter); i++)
                watched->look(t, watched->object);
        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        return woken;
}

static void check_message_woke(struct test *t, const struct watched *watched,
                               const struct woken *woken)
{
        const DAT_DTO_COMPLETION_EVENT_DATA *dto =
            &woken->event.event_data.dto_completion_event_data;

        expect_eq(woken->event.event_number, DAT_DTO_COMPLETION_EVENT);
        if (watched->ep)
                expect_that(dto->ep_handle == watched->ep, "the completion is of another EP");
        expect_eq(dto->status, DAT_DTO_SUCCESS);
}

void expect_looks_wake(struct test *t, struct watched *watched)
{
        look_often(t, watched);
        for (int turn = 0; turn < TURNS; turn++) {
                struct waiter *waiter = wait_for(t, watched, 1);
                struct woken woken;

                look_often(t, watched);
                expect_asleep(waiter);
                woken = woken_under_looks(t, watched, waiter);
                check_message_woke(t, watched, &woken);
        }
        expect_quiet(watched->evd);
}

void expect_looks_wake_at_threshold(struct test *t, struct watched *watched)
{
        struct waiter *waiter = wait_for(t, watched, 2);
        struct woken woken;

        send_one(watched);
        peer_wait_sent(watched->end);
        settle(t);
        look_often(t, watched);
        expect_asleep(waiter);

        woken = woken_under_looks(t, watched, waiter);
        check_message_woke(t, watched, &woken);
        expect_dto(watched->evd);
        expect_quiet(watched->evd);
}

void expect_looks_trigger(struct test *t, struct watched *watched, DAT_CNO_HANDLE cno)
{
        look_often(t, watched);
        for (int turn = 0; turn < TURNS; turn++) {
                struct waiter *waiter = wait_on_cno(t, cno, 4 * event_timeout(t));
                struct woken woken;

                must_wait(waiter);
                woken = woken_under_looks(t, watched, waiter);
                expect_that(woken.evd == watched->evd, "the CNO names another EVD");
                expect_dto(watched->evd);
        }
        expect_quiet(watched->evd);
}
