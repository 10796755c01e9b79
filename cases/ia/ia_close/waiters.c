/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_close: waiters during a close. */
#include "case/standard.h"
#include "cases/ia/ia_close/fixtures.h"
#include "cases/ia/shared/ia_objects.h"
#include "clauses/ia_close.h"

#define WAITERS 8
#define RECEIVE 1 /* the cookie of one */

static const struct waited {
        const char *id;
        DAT_EVD_FLAGS flags; /* 0: of the IA's own asynchronous EVD */
        bool finite;
        DAT_COUNT threshold;
        bool connected; /* an EP reports its receives there */
} waiteds[] = {
    {"software", DAT_EVD_SOFTWARE_FLAG, .finite = false, 1},
    {"completions", DAT_EVD_DTO_FLAG, .finite = false, 1},
    {"requests", DAT_EVD_CR_FLAG, .finite = false, 1},
    {"connections", DAT_EVD_CONNECTION_FLAG, .finite = false, 1},
    {"binds", DAT_EVD_RMR_BIND_FLAG, .finite = false, 1},
    {"asynchronous", DAT_EVD_ASYNC_FLAG, .finite = false, 1},
    {"own_asynchronous", (DAT_EVD_FLAGS)0, .finite = false, 1},
    {"threshold", DAT_EVD_SOFTWARE_FLAG, .finite = false, 4},
    {"finite", DAT_EVD_SOFTWARE_FLAG, .finite = true, 1},
    {"of_connection", DAT_EVD_DTO_FLAG, .finite = false, 1, .connected = true},
};

/* An EP of a connection, with a receive that waits for a message. */
static void receive_on(struct test *t, DAT_EVD_HANDLE evd)
{
        struct loop loop = loop_of(t, (struct ep_opts){.recv_evd = evd}, (struct ep_opts){0});

        loop_join_either(t, &loop);
        loop_post_recv(t, loop.active, buf_with(t), RECEIVE);
}

/* The EP may have ended, and flushed its receive, before the EVD had its waiter released. */
static bool was_flushed_to(struct test *t, const struct woken *woken)
{
        const DAT_DTO_COMPLETION_EVENT_DATA *dto =
            &woken->event.event_data.dto_completion_event_data;

        if (!dat_is(woken->ret, DAT_SUCCESS))
                return false;
        expect_eq(woken->event.event_number, DAT_DTO_COMPLETION_EVENT);
        expect_eq(dto->status, DAT_DTO_ERR_FLUSHED);
        expect_eq(dto->user_cookie.as_64, RECEIVE);
        record(t, "the flushed receive has woken the waiter");
        return true;
}

FAMILY(ia_close, evd_waiter, waiteds)
{
        DAT_EVD_HANDLE evd = row->flags ? evd_with(t, .flags = row->flags) : async_evd(t);
        DAT_TIMEOUT timeout = row->finite ? 3 * event_timeout(t) : DAT_TIMEOUT_INFINITE;
        struct waiter *waiter;
        struct woken woken;

        if (row->connected)
                receive_on(t, evd);
        waiter = wait_on_evd(t, evd, timeout, row->threshold);
        keep_loaded(t);
        must_wait(waiter);
        close_now(t, DAT_CLOSE_ABRUPT_FLAG);

        woken = expect_awake(waiter);
        if (row->connected && was_flushed_to(t, &woken))
                return;
        expect(woken.ret, DAT_ABORT);
}

CASE(ia_close, evd_waiters)
{
        struct waiter *waiters[WAITERS];

        keep_loaded(t);
        for (int i = 0; i < WAITERS; i++) {
                waiters[i] = wait_on_evd(t, se_evd(t, DAT_HANDLE_NULL), DAT_TIMEOUT_INFINITE, 1);
                must_wait(waiters[i]);
        }
        close_now(t, DAT_CLOSE_ABRUPT_FLAG);

        for (int i = 0; i < WAITERS; i++) {
                struct woken woken = expect_awake(waiters[i]);

                expect(woken.ret, DAT_ABORT);
        }
}

static const struct told {
        const char *id;
        int evds;    /* that feed the CNO */
        int waiters; /* on it */
        bool finite;
        bool of_ia; /* its asynchronous EVD feeds the CNO too */
        bool has_agent;
        bool connected; /* an EP reports its receives to an EVD of the CNO */
} tolds[] = {
    {"without_evd", 0, 1, .finite = false},  {"with_evd", 1, 1, .finite = false},
    {"with_evds", 3, 1, .finite = false},    {"several", 1, WAITERS, .finite = false},
    {"finite", 1, 1, .finite = true},        {"with_evd_of_ia", 0, 1, .of_ia = true},
    {"with_agent", 1, 2, .has_agent = true}, {"with_connection", 0, 1, .connected = true},
};

/* The close has released the waiter, with no EVD; or its flush has notified the CNO of `fed`. */
static void expect_released(struct test *t, struct waiter *waiter, DAT_EVD_HANDLE fed)
{
        struct woken woken = expect_awake(waiter);

        expect_that(!dat_is(woken.ret, DAT_SUCCESS) || woken.evd == DAT_HANDLE_NULL ||
                        woken.evd == fed,
                    "a released waiter gets an EVD");
        record(t, "released with %s", name_of_return(woken.ret));
}

FAMILY(ia_close, cno_waiter, tolds)
{
        DAT_TIMEOUT timeout = row->finite ? 3 * event_timeout(t) : DAT_TIMEOUT_INFINITE;
        struct agent *agent = row->has_agent ? agent_new(t) : NULL;
        DAT_CNO_HANDLE cno = cno_with(t, agent);
        DAT_EVD_HANDLE fed = DAT_HANDLE_NULL;
        struct waiter *waiters[WAITERS];

        keep_loaded(t);
        if (row->of_ia)
                must(dat_evd_modify_cno(async_evd(t), cno));
        if (row->connected) {
                fed = evd_with(t, .flags = DAT_EVD_DTO_FLAG, .cno = cno);
                receive_on(t, fed);
        }
        for (int i = 0; i < row->evds; i++)
                (void)feeding(t, cno);
        for (int i = 0; i < row->waiters; i++) {
                waiters[i] = wait_on_cno(t, cno, timeout);
                must_wait(waiters[i]);
        }
        close_now(t, DAT_CLOSE_ABRUPT_FLAG);

        for (int i = 0; i < row->waiters; i++)
                expect_released(t, waiters[i], fed);
        if (agent)
                expect_called(t, agent, DAT_HANDLE_NULL);
}

CASE(ia_close, cno_waiters)
{
        struct waiter *waiters[WAITERS];

        keep_loaded(t);
        for (int i = 0; i < WAITERS; i++) {
                waiters[i] = wait_on_cno(t, cno_new(t), DAT_TIMEOUT_INFINITE);
                must_wait(waiters[i]);
        }
        close_now(t, DAT_CLOSE_ABRUPT_FLAG);

        for (int i = 0; i < WAITERS; i++)
                expect_released(t, waiters[i], DAT_HANDLE_NULL);
}

static const struct told agented[] = {
    {"without_evd", 0, 1, .finite = false},
    {"with_evds", 3, 1, .finite = false},
    {"several", 1, WAITERS, .finite = false},
};

FAMILY(ia_close, agent, agented)
{
        struct agent *agents[WAITERS];

        for (int i = 0; i < row->waiters; i++) {
                DAT_CNO_HANDLE cno;

                agents[i] = agent_new(t);
                cno = cno_with(t, agents[i]);
                for (int n = 0; n < row->evds; n++)
                        (void)feeding(t, cno);
        }
        close_now(t, DAT_CLOSE_ABRUPT_FLAG);

        for (int i = 0; i < row->waiters; i++)
                expect_called(t, agents[i], DAT_HANDLE_NULL);
}
