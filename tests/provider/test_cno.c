/* SPDX-License-Identifier: BSD-2-Clause */
/* Notification objects: whom they tell of which EVD, and their agents. */
#include "dispatch.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

static void a_cno_hears_of_its_evds(void **state)
{
        struct host *host = host_joined();
        DAT_EVD_HANDLE software;
        DAT_EVD_HANDLE heard;
        DAT_CNO_HANDLE cno;
        DAT_EVENT event;

        (void)state;
        assert_dat(dat_cno_create(host->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), DAT_SUCCESS);
        software = make_evd(host, 4, cno);
        assert_dat(dat_evd_modify_cno(host->b.recv_evd, cno), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_INVALID_STATE);
        assert_dat(dat_cno_wait(cno, 10000, &heard), DAT_QUEUE_EMPTY);
        assert_null(heard);
        assert_dat(post_software(software, 1), DAT_SUCCESS);
        assert_dat(dat_cno_wait(cno, LONG, &heard), DAT_SUCCESS);
        assert_ptr_equal(heard, software);
        for (unsigned int i = 0; i < 3; i++) {
                post_recv(&host->b, 0, 10, i);
                post_send(&host->a, 0, 10, 9);
                assert_dat(dat_cno_wait(cno, LONG, &heard), DAT_SUCCESS);
                assert_ptr_equal(heard, host->b.recv_evd);
                assert_dat(dat_evd_dequeue(host->b.recv_evd, &event), DAT_SUCCESS);
        }
        assert_dat(dat_evd_disable(host->b.recv_evd), DAT_SUCCESS);
        post_recv(&host->b, 0, 10, 4);
        post_send(&host->a, 0, 10, 9);
        assert_dat(dat_cno_wait(cno, QUIET, &heard), DAT_QUEUE_EMPTY);
        await_completion(host->b.recv_evd, host->b.ep, 4, DAT_DTO_SUCCESS, 10);
        assert_dat(dat_evd_enable(host->b.recv_evd), DAT_SUCCESS);
        assert_dat(dat_evd_modify_cno(host->b.recv_evd, DAT_HANDLE_NULL), DAT_SUCCESS);
        assert_dat(dat_evd_free(software), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

static void a_direct_waiter_comes_before_the_cno(void **state)
{
        struct host *host = host_open();
        struct waiter waiter = {.threshold = 1, .timeout = LONG};
        DAT_CNO_HANDLE cno;
        DAT_EVD_HANDLE heard;

        (void)state;
        assert_dat(dat_cno_create(host->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), DAT_SUCCESS);
        waiter.evd = make_evd(host, 4, cno);
        start_waiter(&waiter);
        assert_dat(post_software(waiter.evd, 1), DAT_SUCCESS);
        finish_waiter(&waiter, DAT_SUCCESS);
        assert_dat(dat_cno_wait(cno, QUIET, &heard), DAT_QUEUE_EMPTY);
        assert_dat(dat_evd_free(waiter.evd), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

/* A waiter takes the event that the completion queue was armed for; the next triggers the CNO. */
static void the_cno_hears_again_after_a_waiter(void **state)
{
        struct host *host = host_joined();
        struct waiter waiter = {.evd = host->b.recv_evd, .threshold = 1, .timeout = LONG};
        const struct sched_param first = {.sched_priority = 1};
        DAT_CNO_HANDLE cno;
        DAT_EVD_HANDLE heard;
        int late = 0;

        (void)state;
        assert_dat(dat_cno_create(host->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), DAT_SUCCESS);
        assert_dat(dat_evd_modify_cno(host->b.recv_evd, cno), DAT_SUCCESS);
        for (unsigned int i = 0; i < 20; i++) {
                post_recv(&host->b, 0, 10, 1);
                post_recv(&host->b, 0, 10, 2);
                start_waiter(&waiter);
                /* So it comes before the service thread, which then finds nothing to read. */
                (void)pthread_setschedparam(waiter.thread, SCHED_FIFO, &first);
                post_send(&host->a, 0, 10, 3);
                finish_waiter(&waiter, DAT_SUCCESS);
                await_completion(host->a.request_evd, host->a.ep, 3, DAT_DTO_SUCCESS, 10);
                while (dat_cno_wait(cno, 0, &heard) == DAT_SUCCESS)
                        ;
                post_send(&host->a, 0, 10, 4);
                late += dat_cno_wait(cno, QUIET, &heard) != DAT_SUCCESS;
                await_completion(host->b.recv_evd, host->b.ep, 2, DAT_DTO_SUCCESS, 10);
                await_completion(host->a.request_evd, host->a.ep, 4, DAT_DTO_SUCCESS, 10);
        }
        /* The service thread looks each second by itself, so a word that is lost only comes late.
         */
        assert_in_range(late, 0, 10);
        assert_dat(dat_evd_modify_cno(host->b.recv_evd, DAT_HANDLE_NULL), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

/* Who is sent away has no part in the EVD any more, whether or not its thread has run since. */
static void an_evd_is_free_of_whom_it_sent_away(void **state)
{
        struct host *host = host_open();
        DAT_CNO_HANDLE cno = make_cno(host, no_agent);
        struct waiter gone = {
            .evd = make_evd(host, 4, cno), .threshold = 1, .timeout = DAT_TIMEOUT_INFINITE};
        struct waiter next = {.evd = gone.evd, .threshold = 1, .timeout = LONG};
        DAT_EVENT event;
        DAT_COUNT nmore;

        (void)state;
        for (int round = 0; round < 4; round++) {
                gone.done = next.done = false;
                start_waiter(&gone);
                await_sleep(&gone);
                run_after_me(gone.thread);
                assert_dat(dat_evd_set_unwaitable(gone.evd), DAT_SUCCESS);
                assert_refused(dat_evd_wait(gone.evd, 0, 1, &event, &nmore), DAT_INVALID_STATE,
                               DAT_INVALID_STATE_EVD_UNWAITABLE);
                assert_dat(post_software(gone.evd, 1), DAT_SUCCESS);
                assert_heard(cno, gone.evd);
                assert_dat(dat_evd_dequeue(gone.evd, &event), DAT_SUCCESS);
                assert_dat(dat_evd_dequeue(gone.evd, &event), DAT_QUEUE_EMPTY);
                assert_dat(dat_evd_clear_unwaitable(gone.evd), DAT_SUCCESS);
                if (round % 2) {
                        assert_dat(post_software(gone.evd, 2), DAT_SUCCESS);
                        assert_dat(dat_evd_wait(gone.evd, 0, 1, &event, &nmore), DAT_SUCCESS);
                        assert_heard(cno, gone.evd);
                }
                if (round < 2) {
                        assert_false(atomic_load(&gone.done));
                        run_as_before();
                        start_waiter(&next);
                        assert_dat(post_software(next.evd, 3), DAT_SUCCESS);
                        finish_waiter(&next, DAT_SUCCESS);
                        assert_nothing_heard(cno, 0);
                } else {
                        assert_dat(dat_evd_wait(gone.evd, QUIET, 1, &event, &nmore),
                                   DAT_TIMEOUT_EXPIRED);
                        run_as_before();
                }
                finish_waiter(&gone, DAT_INVALID_STATE);
        }
        /* It may even be freed, which then waits for the thread to leave. */
        start_waiter(&gone);
        await_sleep(&gone);
        run_after_me(gone.thread);
        assert_dat(dat_evd_set_unwaitable(gone.evd), DAT_SUCCESS);
        assert_dat(dat_evd_free(gone.evd), DAT_SUCCESS);
        run_as_before();
        finish_waiter(&gone, DAT_INVALID_STATE);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

/* A completion arrives when it completes: it triggers no CNO that the EVD gets or regains later. */
static void a_cno_hears_of_what_arrives_then(void **state)
{
        struct host *host = host_joined();
        DAT_CNO_HANDLE cno = make_cno(host, no_agent);
        DAT_CNO_HANDLE other = make_cno(host, no_agent);
        DAT_EVD_HANDLE evd = host->b.recv_evd;
        DAT_EVD_HANDLE heard;

        (void)state;
        for (int round = 0; round < 3; round++) {
                for (unsigned int i = 0; i < 3; i++)
                        post_recv(&host->b, 0, 10, i);
                /* Without a CNO, or disabled after it has listened once. */
                if (round)
                        assert_dat(dat_evd_disable(evd), DAT_SUCCESS);
                post_send(&host->a, 0, 10, 7);
                await_completion(host->a.request_evd, host->a.ep, 7, DAT_DTO_SUCCESS, 10);
                if (round == 0)
                        assert_dat(dat_evd_modify_cno(evd, cno), DAT_SUCCESS);
                if (round == 2)
                        assert_dat(dat_evd_modify_cno(evd, other), DAT_SUCCESS);
                if (round)
                        assert_dat(dat_evd_enable(evd), DAT_SUCCESS);
                assert_nothing_heard(cno, QUIET);
                assert_nothing_heard(other, 0);
                post_send(&host->a, 0, 10, 8);
                assert_heard(round == 2 ? other : cno, evd);
                await_completion(host->a.request_evd, host->a.ep, 8, DAT_DTO_SUCCESS, 10);
                for (unsigned int i = 0; i < 2; i++)
                        await_completion(evd, host->b.ep, i, DAT_DTO_SUCCESS, 10);
                post_send(&host->a, 0, 10, 9);
                await_completion(host->a.request_evd, host->a.ep, 9, DAT_DTO_SUCCESS, 10);
                await_completion(evd, host->b.ep, 2, DAT_DTO_SUCCESS, 10);
                while (dat_cno_wait(round == 2 ? other : cno, QUIET, &heard) == DAT_SUCCESS)
                        ;
        }
        assert_dat(dat_evd_modify_cno(evd, DAT_HANDLE_NULL), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        assert_dat(dat_cno_free(other), DAT_SUCCESS);
        host_close(host);
}

/* What a waiter sleeps on is taken from under it by who enables its EVD, and it wakes all the same.
 */
static void a_waiter_sleeps_through_enabling(void **state)
{
        struct host *host = host_joined();
        struct waiter waiter = {.evd = host->a.request_evd, .threshold = 1, .timeout = LONG};
        DAT_LMR_TRIPLET iov = segment(&host->a, 0, 10);
        DAT_EVENT event;
        int late = 0;

        (void)state;
        for (int round = 0; round < 20; round++) {
                uint64_t start;

                post_recv(&host->b, 0, 10, 1);
                post_recv(&host->b, 0, 10, 2);
                start_waiter(&waiter);
                await_sleep(&waiter);
                run_after_me(waiter.thread);
                assert_dat(
                    dat_ep_post_send(host->a.ep, 1, &iov, cookie(3), DAT_COMPLETION_SUPPRESS_FLAG),
                    DAT_SUCCESS);
                /* The message has come before its sender has the completion. */
                for (int i = 0, come = 0; come < 1000; i++) {
                        come += come || dat_evd_dequeue(host->b.recv_evd, &event) == DAT_SUCCESS;
                        assert_dat(i % 2 ? dat_evd_enable(waiter.evd) : dat_evd_disable(waiter.evd),
                                   DAT_SUCCESS);
                }
                run_as_before();
                start = microseconds();
                post_send(&host->a, 0, 10, 4);
                finish_waiter(&waiter, DAT_SUCCESS);
                late += microseconds() - start > QUIET;
                await_completion(host->b.recv_evd, host->b.ep, 2, DAT_DTO_SUCCESS, 10);
        }
        /* The service thread looks each second by itself, so who is not woken only comes late. */
        assert_in_range(late, 0, 10);
        host_close(host);
}

/* A solicited event gives notice once, however often the EVD is enabled afterwards. */
static void a_solicited_message_is_told_once(void **state)
{
        struct host *host =
            flagged_host(DAT_COMPLETION_SOLICITED_WAIT_FLAG, DAT_COMPLETION_DEFAULT_FLAG);
        DAT_CNO_HANDLE cno = make_cno(host, no_agent);
        DAT_EVD_HANDLE evd = host->b.recv_evd;
        DAT_LMR_TRIPLET iov = segment(&host->a, 0, 10);

        (void)state;
        assert_dat(dat_evd_modify_cno(evd, cno), DAT_SUCCESS);
        post_recv(&host->b, 0, 10, 1);
        assert_dat(
            dat_ep_post_send(host->a.ep, 1, &iov, cookie(2), DAT_COMPLETION_SOLICITED_WAIT_FLAG),
            DAT_SUCCESS);
        assert_heard(cno, evd);
        for (int i = 0; i < 2; i++) {
                assert_dat(dat_evd_disable(evd), DAT_SUCCESS);
                assert_dat(dat_evd_enable(evd), DAT_SUCCESS);
                assert_dat(dat_evd_modify_cno(evd, cno), DAT_SUCCESS);
        }
        assert_nothing_heard(cno, QUIET);
        assert_dat(dat_evd_modify_cno(evd, DAT_HANDLE_NULL), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

/* What an EVD has told its CNO is there to be collected after the EVD has gone over to another. */
static void a_trigger_stays_with_the_old_cno(void **state)
{
        struct host *host = host_open();
        DAT_CNO_HANDLE first = make_cno(host, no_agent);
        DAT_CNO_HANDLE second = make_cno(host, no_agent);
        DAT_EVD_HANDLE evd = make_evd(host, 4, first);
        DAT_EVD_PARAM param;

        (void)state;
        assert_dat(post_software(evd, 1), DAT_SUCCESS);
        assert_dat(dat_evd_modify_cno(evd, second), DAT_SUCCESS);
        assert_heard(first, evd);
        assert_nothing_heard(first, 0);
        assert_nothing_heard(second, 0);
        assert_dat(dat_evd_query(evd, DAT_EVD_FIELD_CNO, &param), DAT_SUCCESS);
        assert_ptr_equal(param.cno_handle, second);
        assert_dat(dat_cno_free(first), DAT_SUCCESS);
        assert_dat(dat_evd_modify_cno(evd, second), DAT_SUCCESS);
        assert_dat(post_software(evd, 2), DAT_SUCCESS);
        assert_dat(dat_evd_modify_cno(evd, DAT_HANDLE_NULL), DAT_SUCCESS);
        assert_dat(post_software(evd, 3), DAT_SUCCESS);
        assert_heard(second, evd);
        assert_nothing_heard(second, 0);
        assert_dat(dat_cno_free(second), DAT_SUCCESS);
        assert_dat(dat_evd_query(evd, DAT_EVD_FIELD_CNO, &param), DAT_SUCCESS);
        assert_null(param.cno_handle);
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        host_close(host);
}

/* The handle of an EVD that has been freed is never heard of; what the others told is. */
static void a_freed_evd_is_not_heard_of(void **state)
{
        struct host *host = host_open();
        DAT_CNO_HANDLE cno = make_cno(host, no_agent);
        DAT_CNO_HANDLE other = make_cno(host, no_agent);
        DAT_EVD_HANDLE stays = make_evd(host, 4, cno);
        DAT_EVD_HANDLE goes = make_evd(host, 4, cno);
        DAT_EVD_HANDLE roams = make_evd(host, 4, cno);

        (void)state;
        assert_dat(post_software(goes, 1), DAT_SUCCESS);
        assert_dat(dat_evd_free(goes), DAT_SUCCESS);
        assert_nothing_heard(cno, 0);
        for (int i = 0; i < 2; i++) {
                goes = make_evd(host, 4, cno);
                assert_dat(post_software(i ? stays : goes, 1), DAT_SUCCESS);
                assert_dat(post_software(i ? goes : stays, 2), DAT_SUCCESS);
                assert_dat(dat_evd_free(goes), DAT_SUCCESS);
                assert_heard(cno, stays);
                assert_nothing_heard(cno, 0);
        }
        /* Nor of one that had gone over to another CNO before. */
        assert_dat(post_software(roams, 1), DAT_SUCCESS);
        assert_dat(dat_evd_modify_cno(roams, other), DAT_SUCCESS);
        assert_dat(post_software(roams, 2), DAT_SUCCESS);
        assert_dat(dat_evd_modify_cno(roams, DAT_HANDLE_NULL), DAT_SUCCESS);
        assert_dat(dat_evd_free(roams), DAT_SUCCESS);
        assert_nothing_heard(cno, 0);
        assert_nothing_heard(other, 0);
        assert_dat(dat_evd_free(stays), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        assert_dat(dat_cno_free(other), DAT_SUCCESS);
        host_close(host);
}

/* A waiter that has been told leaves, though the EVD is freed before it runs; but it names none. */
static void a_waiter_leaves_without_the_evd_that_told_it(void **state)
{
        struct host *host = host_open();
        struct waiter waiter = {.cno = make_cno(host, no_agent), .timeout = LONG};
        DAT_EVD_HANDLE stays = make_evd(host, 4, waiter.cno);
        DAT_EVD_HANDLE goes = make_evd(host, 4, waiter.cno);

        (void)state;
        start_cno_waiter(&waiter);
        await_sleep(&waiter);
        run_after_me(waiter.thread);
        assert_dat(post_software(goes, 1), DAT_SUCCESS);
        assert_dat(dat_evd_free(goes), DAT_SUCCESS);
        run_as_before();
        finish_waiter(&waiter, DAT_SUCCESS);
        assert_null(waiter.triggered);
        assert_nothing_heard(waiter.cno, 0);
        assert_dat(dat_evd_free(stays), DAT_SUCCESS);
        assert_dat(dat_cno_free(waiter.cno), DAT_SUCCESS);
        host_close(host);
}

/* Triggers that come at once release as many waiters, whichever EVDs they are of. */
static void each_trigger_releases_a_waiter(void **state)
{
        struct host *host = host_open();
        DAT_CNO_HANDLE cno = make_cno(host, no_agent);
        DAT_EVD_HANDLE evds[2] = {make_evd(host, 4, cno), make_evd(host, 4, cno)};
        struct waiter waiters[2];

        (void)state;
        for (int round = 0; round < 2; round++) {
                DAT_EVD_HANDLE second = evds[round];

                for (int i = 0; i < 2; i++) {
                        waiters[i] = (struct waiter){.cno = cno, .timeout = LONG};
                        start_cno_waiter(&waiters[i]);
                        await_sleep(&waiters[i]);
                        run_after_me(waiters[i].thread);
                        run_as_before();
                }
                run_after_me(waiters[0].thread);
                assert_dat(post_software(evds[0], 1), DAT_SUCCESS);
                assert_dat(post_software(second, 2), DAT_SUCCESS);
                run_as_before();
                for (int i = 0; i < 2; i++)
                        finish_waiter(&waiters[i], DAT_SUCCESS);
                assert_true((waiters[0].triggered == evds[0] && waiters[1].triggered == second) ||
                            (waiters[1].triggered == evds[0] && waiters[0].triggered == second));
                assert_nothing_heard(cno, 0);
        }
        for (int i = 0; i < 2; i++)
                assert_dat(dat_evd_free(evds[i]), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

/* What has arrived before somebody looks at the EVD directly is told, whoever takes it. */
static void a_look_hides_nothing_from_the_cno(void **state)
{
        struct host *host = host_joined();
        DAT_CNO_HANDLE cno = make_cno(host, no_agent);
        DAT_EVD_HANDLE evd = host->b.recv_evd;
        DAT_EVENT event;
        DAT_COUNT nmore;

        (void)state;
        assert_dat(dat_evd_modify_cno(evd, cno), DAT_SUCCESS);
        for (int round = 0; round < 10; round++) {
                post_recv(&host->b, 0, 10, 1);
                /* So the service thread does not run between. */
                run_after_me(pthread_self());
                post_send(&host->a, 0, 10, 2);
                while (dat_evd_wait(evd, 0, 1, &event, &nmore) != DAT_SUCCESS)
                        ;
                run_as_before();
                assert_heard(cno, evd);
                await_completion(host->a.request_evd, host->a.ep, 2, DAT_DTO_SUCCESS, 10);
                assert_nothing_heard(cno, 0);
        }
        assert_dat(dat_evd_modify_cno(evd, DAT_HANDLE_NULL), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

/* A thread that has been told, or released, is not blocked on the CNO any more. */
static void a_cno_whose_waiter_was_told_is_freed(void **state)
{
        struct host *host = host_open();

        (void)state;
        for (int told = 0; told < 2; told++) {
                struct waiter waiter = {.cno = make_cno(host, no_agent),
                                        .timeout = DAT_TIMEOUT_INFINITE};
                DAT_EVD_HANDLE evd = make_evd(host, 4, waiter.cno);

                start_cno_waiter(&waiter);
                await_sleep(&waiter);
                run_after_me(waiter.thread);
                if (told) {
                        assert_dat(post_software(evd, 1), DAT_SUCCESS);
                        assert_dat(dat_evd_modify_cno(evd, DAT_HANDLE_NULL), DAT_SUCCESS);
                } else {
                        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
                }
                assert_dat(dat_cno_free(waiter.cno), DAT_SUCCESS);
                run_as_before();
                finish_waiter(&waiter, told ? DAT_SUCCESS : DAT_INVALID_STATE);
                assert_ptr_equal(waiter.triggered, told ? evd : DAT_HANDLE_NULL);
                if (told)
                        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        }
        host_close(host);
}

/* Only the end of the last EVD that a CNO has releases who waits on it. */
static void waiters_leave_with_the_last_evd(void **state)
{
        struct host *host = host_open();
        struct waiter waiter = {.cno = make_cno(host, no_agent), .timeout = DAT_TIMEOUT_INFINITE};
        DAT_EVD_HANDLE moved = make_evd(host, 4, waiter.cno);
        DAT_EVD_HANDLE evds[2];

        (void)state;
        start_cno_waiter(&waiter);
        assert_silent(host->async_evd);
        assert_dat(dat_evd_modify_cno(moved, DAT_HANDLE_NULL), DAT_SUCCESS);
        for (int i = 0; i < 2; i++)
                evds[i] = make_evd(host, 4, waiter.cno);
        assert_dat(dat_evd_free(moved), DAT_SUCCESS);
        assert_dat(dat_evd_free(evds[0]), DAT_SUCCESS);
        assert_silent(host->async_evd);
        assert_false(atomic_load(&waiter.done));
        assert_dat(dat_evd_free(evds[1]), DAT_SUCCESS);
        finish_waiter(&waiter, DAT_INVALID_STATE);
        assert_null(waiter.triggered);
        assert_dat(dat_cno_free(waiter.cno), DAT_SUCCESS);
        host_close(host);
}

/* As the page of dat_cno_free advises: an EVD that goes from CNO to CNO releases their waiters. */
static void a_software_event_releases_each_waiter(void **state)
{
        struct host *host = host_open();
        struct waiter waiters[3];
        DAT_EVD_HANDLE evd = make_evd(host, 4, DAT_HANDLE_NULL);

        (void)state;
        memset(waiters, 0, sizeof(waiters));
        for (int i = 0; i < 3; i++) {
                waiters[i].cno = make_cno(host, no_agent);
                waiters[i].timeout = DAT_TIMEOUT_INFINITE;
                start_cno_waiter(&waiters[i]);
        }
        for (int i = 0; i < 3; i++) {
                assert_dat(dat_evd_modify_cno(evd, waiters[i].cno), DAT_SUCCESS);
                assert_dat(post_software(evd, 1), DAT_SUCCESS);
        }
        for (int i = 0; i < 3; i++) {
                finish_waiter(&waiters[i], DAT_SUCCESS);
                assert_ptr_equal(waiters[i].triggered, evd);
        }
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        for (int i = 0; i < 3; i++)
                assert_dat(dat_cno_free(waiters[i].cno), DAT_SUCCESS);
        host_close(host);
}

/* One trigger is for one of those who wait. */
static void a_trigger_is_for_one_waiter(void **state)
{
        struct host *host = host_open();
        DAT_CNO_HANDLE cno = make_cno(host, no_agent);
        struct waiter waiters[2] = {{.cno = cno, .timeout = DAT_TIMEOUT_INFINITE},
                                    {.cno = cno, .timeout = DAT_TIMEOUT_INFINITE}};
        DAT_EVD_HANDLE evd = make_evd(host, 4, cno);

        (void)state;
        start_cno_waiter(&waiters[0]);
        start_cno_waiter(&waiters[1]);
        assert_dat(post_software(evd, 1), DAT_SUCCESS);
        while (!atomic_load(&waiters[0].done) && !atomic_load(&waiters[1].done))
                sched_yield();
        assert_silent(host->async_evd);
        assert_true(atomic_load(&waiters[0].done) != atomic_load(&waiters[1].done));
        assert_dat(dat_cno_free(cno), DAT_INVALID_STATE);
        assert_dat(post_software(evd, 2), DAT_SUCCESS);
        for (int i = 0; i < 2; i++) {
                finish_waiter(&waiters[i], DAT_SUCCESS);
                assert_ptr_equal(waiters[i].triggered, evd);
        }
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

/* Events of every stream reach a CNO; an unwaitable EVD triggers it too. */
static void a_cno_hears_of_every_stream(void **state)
{
        struct host *host = host_listening();
        DAT_CNO_HANDLE cno = make_cno(host, no_agent);
        DAT_EVD_HANDLE evds[] = {host->cr_evd, host->a.connect_evd, host->b.recv_evd,
                                 host->async_evd};
        DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1, .low_watermark = 2};
        DAT_SRQ_HANDLE srq;
        DAT_EVENT event;

        (void)state;
        for (size_t i = 0; i < sizeof(evds) / sizeof(evds[0]); i++) {
                assert_dat(dat_evd_modify_cno(evds[i], cno), DAT_SUCCESS);
                assert_dat(dat_evd_set_unwaitable(evds[i]), DAT_SUCCESS);
        }
        connect_to(host, &host->a, host->qual);
        assert_heard(cno, host->cr_evd);
        assert_dat(dat_evd_dequeue(host->cr_evd, &event), DAT_SUCCESS);
        assert_dat(
            dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, host->b.ep, 0, NULL),
            DAT_SUCCESS);
        assert_heard(cno, host->a.connect_evd);
        assert_dat(dat_evd_dequeue(host->a.connect_evd, &event), DAT_SUCCESS);
        assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        post_recv(&host->b, 0, 10, 1);
        post_send(&host->a, 0, 10, 2);
        assert_heard(cno, host->b.recv_evd);
        assert_dat(dat_evd_clear_unwaitable(host->b.recv_evd), DAT_SUCCESS);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, 10);
        assert_dat(dat_srq_create(host->ia, host->pz, &attr, &srq), DAT_SUCCESS);
        assert_heard(cno, host->async_evd);
        assert_dat(dat_srq_free(srq), DAT_SUCCESS);
        for (size_t i = 0; i < sizeof(evds) / sizeof(evds[0]); i++)
                assert_dat(dat_evd_modify_cno(evds[i], DAT_HANDLE_NULL), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

/* Of a stream whose notices the sender controls, a CNO hears when the sender asks for it. */
static void a_cno_hears_of_solicited_messages(void **state)
{
        struct host *host = host_open();
        DAT_CNO_HANDLE cno = make_cno(host, no_agent);
        DAT_LMR_TRIPLET iov;
        DAT_EP_ATTR attr = plain_attr();
        DAT_EVENT event;

        (void)state;
        attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, &host->a, NULL);
        end_make(host, &host->b, NULL);
        assert_dat(dat_ep_free(host->b.ep), DAT_SUCCESS);
        assert_dat(dat_evd_free(host->b.recv_evd), DAT_SUCCESS);
        assert_dat(dat_evd_create(host->ia, 8, cno, DAT_EVD_DTO_FLAG, &host->b.recv_evd),
                   DAT_SUCCESS);
        assert_dat(dat_ep_create(host->ia, host->pz, host->b.recv_evd, host->b.request_evd,
                                 host->b.connect_evd, &attr, &host->b.ep),
                   DAT_SUCCESS);
        join_ends(host, &host->a, &host->b);
        iov = segment(&host->a, 0, 10);
        for (unsigned int round = 0; round < 3; round++) {
                post_recv(&host->b, 0, 10, 1);
                post_recv(&host->b, 0, 10, 2);
                post_send(&host->a, 0, 10, 3);
                await_completion(host->a.request_evd, host->a.ep, 3, DAT_DTO_SUCCESS, 10);
                assert_nothing_heard(cno, QUIET);
                assert_dat(dat_ep_post_send(host->a.ep, 1, &iov, cookie(4),
                                            DAT_COMPLETION_SOLICITED_WAIT_FLAG),
                           DAT_SUCCESS);
                assert_heard(cno, host->b.recv_evd);
                for (uint64_t i = 1; i <= 2; i++) {
                        assert_dat(dat_evd_dequeue(host->b.recv_evd, &event), DAT_SUCCESS);
                        assert_int_equal(
                            event.event_data.dto_completion_event_data.user_cookie.as_64, i);
                }
                await_completion(host->a.request_evd, host->a.ep, 4, DAT_DTO_SUCCESS, 10);
        }
        post_recv(&host->b, 0, 10, 5);
        assert_dat(dat_ep_disconnect(host->a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        assert_heard(cno, host->b.recv_evd);
        await_completion(host->b.recv_evd, host->b.ep, 5, DAT_DTO_ERR_FLUSHED, 0);
        /* The settings end with the stream: of the next one, each message gives notice. */
        end_free(&host->a);
        assert_dat(dat_ep_free(host->b.ep), DAT_SUCCESS);
        attr.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
        assert_dat(dat_ep_create(host->ia, host->pz, host->b.recv_evd, host->b.request_evd,
                                 host->b.connect_evd, &attr, &host->b.ep),
                   DAT_SUCCESS);
        assert_dat(dat_evd_dequeue(host->b.connect_evd, &event), DAT_QUEUE_EMPTY);
        end_make(host, &host->a, NULL);
        join_ends(host, &host->a, &host->b);
        assert_nothing_heard(cno, 0);
        post_recv(&host->b, 0, 10, 6);
        post_send(&host->a, 0, 10, 7);
        assert_heard(cno, host->b.recv_evd);
        assert_dat(dat_evd_modify_cno(host->b.recv_evd, DAT_HANDLE_NULL), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

struct agent {
        pthread_mutex_t lock;
        pthread_cond_t called;
        int calls;
        DAT_EVD_HANDLE evds[8];
        DAT_CNO_HANDLE cno; /* which it tries to free */
        DAT_RETURN freed;
        bool held; /* the first call does not return before it is let go */
};

static void agent_function(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
        struct agent *agent = data;

        if (agent->cno)
                agent->freed = dat_cno_free(agent->cno);
        pthread_mutex_lock(&agent->lock);
        agent->evds[agent->calls++ % 8] = evd;
        pthread_cond_broadcast(&agent->called);
        while (agent->held)
                pthread_cond_wait(&agent->called, &agent->lock);
        pthread_mutex_unlock(&agent->lock);
}

static void await_calls(struct agent *agent, int calls)
{
        pthread_mutex_lock(&agent->lock);
        while (agent->calls < calls)
                pthread_cond_wait(&agent->called, &agent->lock);
        assert_int_equal(agent->calls, calls);
        pthread_mutex_unlock(&agent->lock);
}

static void let_go(struct agent *agent)
{
        pthread_mutex_lock(&agent->lock);
        agent->held = false;
        pthread_cond_broadcast(&agent->called);
        pthread_mutex_unlock(&agent->lock);
}

static void an_agent_is_called(void **state)
{
        struct host *host = host_open();
        struct agent agent = {.lock = PTHREAD_MUTEX_INITIALIZER,
                              .called = PTHREAD_COND_INITIALIZER};
        DAT_OS_WAIT_PROXY_AGENT proxy = {&agent, agent_function};
        DAT_CNO_HANDLE cno = make_cno(host, proxy);
        DAT_EVD_HANDLE evd = make_evd(host, 4, cno);
        DAT_CNO_PARAM param;

        (void)state;
        assert_dat(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param), DAT_SUCCESS);
        assert_ptr_equal(param.ia_handle, host->ia);
        assert_ptr_equal(param.agent.instance_data, &agent);
        assert_true(param.agent.proxy_agent_func == agent_function);
        assert_dat(post_software(evd, 1), DAT_SUCCESS);
        await_calls(&agent, 1);
        assert_ptr_equal(agent.evds[0], evd);
        /* Besides what is delivered by the CNO itself. */
        assert_heard(cno, evd);
        assert_dat(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL), DAT_SUCCESS);
        assert_dat(dat_cno_query(cno, DAT_CNO_FIELD_AGENT, &param), DAT_SUCCESS);
        assert_null(param.agent.instance_data);
        assert_true(param.agent.proxy_agent_func == NULL);
        assert_dat(post_software(evd, 2), DAT_SUCCESS);
        assert_silent(host->async_evd);
        assert_int_equal(agent.calls, 1);
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

/* Each trigger, of each EVD, also of those that come while the agent is at work. */
static void an_agent_is_told_of_each_trigger(void **state)
{
        struct host *host = host_open();
        struct agent agent = {.lock = PTHREAD_MUTEX_INITIALIZER,
                              .called = PTHREAD_COND_INITIALIZER};
        struct agent other = {.lock = PTHREAD_MUTEX_INITIALIZER,
                              .called = PTHREAD_COND_INITIALIZER};
        DAT_OS_WAIT_PROXY_AGENT proxy = {&agent, agent_function};
        DAT_OS_WAIT_PROXY_AGENT instead = {&other, agent_function};
        DAT_CNO_HANDLE cno = make_cno(host, proxy);
        DAT_EVD_HANDLE evds[] = {make_evd(host, 4, cno), make_evd(host, 4, cno)};
        int of_first = 0;

        (void)state;
        agent.held = true;
        assert_dat(post_software(evds[0], 1), DAT_SUCCESS);
        await_calls(&agent, 1);
        assert_dat(post_software(evds[0], 2), DAT_SUCCESS);
        assert_dat(post_software(evds[1], 3), DAT_SUCCESS);
        assert_dat(post_software(evds[0], 4), DAT_SUCCESS);
        let_go(&agent);
        await_calls(&agent, 4);
        for (int i = 0; i < 4; i++) {
                of_first += agent.evds[i] == evds[0];
                assert_true(agent.evds[i] == evds[0] || agent.evds[i] == evds[1]);
        }
        assert_int_equal(of_first, 3);
        /* What the old agent has not been told, the new one is. */
        agent.held = true;
        assert_dat(post_software(evds[1], 5), DAT_SUCCESS);
        await_calls(&agent, 5);
        assert_dat(post_software(evds[1], 6), DAT_SUCCESS);
        assert_dat(dat_cno_modify_agent(cno, instead), DAT_SUCCESS);
        let_go(&agent);
        await_calls(&other, 1);
        assert_ptr_equal(other.evds[0], evds[1]);
        /* The last EVD that goes is the last of which it hears. */
        assert_dat(dat_evd_free(evds[0]), DAT_SUCCESS);
        assert_silent(host->async_evd);
        assert_int_equal(other.calls, 1);
        assert_dat(dat_evd_free(evds[1]), DAT_SUCCESS);
        await_calls(&other, 2);
        assert_null(other.evds[1]);
        assert_int_equal(agent.calls, 5);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

/* An agent is called at the close of its IA, and may not free the CNO that is calling it. */
static void an_agent_hears_of_the_end(void **state)
{
        struct host *host = host_open();
        struct agent agent = {.lock = PTHREAD_MUTEX_INITIALIZER,
                              .called = PTHREAD_COND_INITIALIZER};
        struct agent idle = {.lock = PTHREAD_MUTEX_INITIALIZER, .called = PTHREAD_COND_INITIALIZER};
        DAT_OS_WAIT_PROXY_AGENT proxy = {&agent, agent_function};
        DAT_OS_WAIT_PROXY_AGENT other = {&idle, agent_function};
        DAT_CNO_HANDLE cno = make_cno(host, proxy);
        DAT_EVD_HANDLE evd = make_evd(host, 4, cno);

        (void)state;
        (void)make_cno(host, other);
        agent.cno = cno;
        agent.held = true;
        assert_dat(post_software(evd, 1), DAT_SUCCESS);
        await_calls(&agent, 1);
        assert_refused(agent.freed, DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE);
        assert_dat(dat_evd_modify_cno(evd, DAT_HANDLE_NULL), DAT_SUCCESS);
        assert_dat(dat_evd_modify_cno(evd, cno), DAT_SUCCESS);
        let_go(&agent);
        assert_dat(dat_evd_modify_cno(evd, DAT_HANDLE_NULL), DAT_SUCCESS);
        assert_dat(dat_ia_close(host->ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        assert_int_equal(agent.calls, 2);
        assert_null(agent.evds[1]);
        assert_refused(agent.freed, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
        assert_int_equal(idle.calls, 1);
        assert_null(idle.evds[0]);
        free(host);
}

/* An agent may undo what called it, but for the CNO itself, whose EVD it may free. */
static void free_the_evd(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
        struct agent *agent = data;
        DAT_RETURN ret = evd ? dat_evd_free(evd) : DAT_SUCCESS;
        DAT_RETURN cno_ret = dat_cno_free(agent->cno);

        pthread_mutex_lock(&agent->lock);
        agent->freed = ret == DAT_SUCCESS ? cno_ret : ret;
        agent->calls++;
        pthread_cond_broadcast(&agent->called);
        pthread_mutex_unlock(&agent->lock);
}

static void an_agent_frees_its_evd(void **state)
{
        struct host *host = host_open();
        struct agent agent = {.lock = PTHREAD_MUTEX_INITIALIZER,
                              .called = PTHREAD_COND_INITIALIZER};
        DAT_OS_WAIT_PROXY_AGENT proxy = {&agent, free_the_evd};
        DAT_EVENT event;
        DAT_EVD_HANDLE evd;

        (void)state;
        agent.cno = make_cno(host, proxy);
        evd = make_evd(host, 4, agent.cno);
        assert_dat(post_software(evd, 1), DAT_SUCCESS);
        await_calls(&agent, 2);
        assert_refused(agent.freed, DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE);
        assert_dat(dat_evd_dequeue(evd, &event), DAT_INVALID_HANDLE);
        while (DAT_GET_TYPE(dat_cno_free(agent.cno)) == DAT_INVALID_STATE)
                sched_yield();
        host_close(host);
}

static void each_argument_of_a_cno(void **state)
{
        struct host *host = host_open();
        DAT_CNO_HANDLE cno = make_cno(host, no_agent);
        DAT_EVD_HANDLE evd = make_evd(host, 1, cno);
        DAT_CNO_PARAM param;

        (void)state;
        assert_refused(dat_cno_create(host->ia, no_agent, NULL), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG3);
        assert_refused(dat_cno_query(cno, (DAT_CNO_PARAM_MASK)0x4, &param), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG2);
        assert_refused(dat_cno_query(cno, DAT_CNO_FIELD_ALL, NULL), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG3);
        assert_dat(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param), DAT_SUCCESS);
        assert_true(param.agent.proxy_agent_func == NULL);
        assert_refused(dat_cno_wait(cno, 0, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        assert_nothing_heard(cno, 0);
        assert_nothing_heard(cno, 1);
        assert_refused(dat_cno_free(cno), DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE);
        /* Of an EVD that is disabled it hears nothing, of what came meanwhile neither. */
        assert_dat(dat_evd_disable(evd), DAT_SUCCESS);
        assert_dat(post_software(evd, 1), DAT_SUCCESS);
        assert_nothing_heard(cno, 0);
        assert_dat(dat_evd_enable(evd), DAT_SUCCESS);
        assert_nothing_heard(cno, 0);
        assert_dat(post_software(evd, 2), DAT_QUEUE_FULL);
        assert_nothing_heard(cno, 0);
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

#define STORM_EVENTS 4000

/* What the threads of the storm share. */
struct storm {
        DAT_EVD_HANDLE evd;
        DAT_CNO_HANDLE cnos[2];
        atomic_int taken[STORM_EVENTS];
        atomic_int left;
        atomic_int strange; /* returns that nothing explains */
};

static void storm_took(struct storm *storm, const DAT_EVENT *event)
{
        atomic_fetch_add((atomic_int *)event->event_data.software_event_data.pointer, 1);
        atomic_fetch_sub(&storm->left, 1);
}

static void *storm_waits(void *argument)
{
        struct storm *storm = argument;
        DAT_EVENT event;
        DAT_COUNT nmore;

        while (atomic_load(&storm->left) > 0) {
                DAT_RETURN ret = dat_evd_wait(storm->evd, QUIET, 1, &event, &nmore);

                if (ret == DAT_SUCCESS)
                        storm_took(storm, &event);
                else if (DAT_GET_TYPE(ret) != DAT_INVALID_STATE &&
                         DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED)
                        atomic_fetch_add(&storm->strange, 1);
        }
        return NULL;
}

static void *storm_hears(void *argument)
{
        struct storm *storm = argument;
        DAT_EVENT event;

        for (int i = 0; atomic_load(&storm->left) > 0; i++) {
                DAT_EVD_HANDLE heard = storm;
                DAT_RETURN ret = dat_cno_wait(storm->cnos[i % 2], SECOND / 1000, &heard);

                if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY && heard != storm->evd)
                        atomic_fetch_add(&storm->strange, 1);
                ret = dat_evd_dequeue(storm->evd, &event);
                if (ret == DAT_SUCCESS)
                        storm_took(storm, &event);
                else if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY &&
                         DAT_GET_TYPE(ret) != DAT_INVALID_STATE)
                        atomic_fetch_add(&storm->strange, 1);
        }
        return NULL;
}

static void *storm_changes(void *argument)
{
        struct storm *storm = argument;
        DAT_RETURN ret = DAT_SUCCESS;

        for (int i = 0; atomic_load(&storm->left) > 0 && ret == DAT_SUCCESS; i++) {
                switch (i % 6) {
                case 0:
                        ret = dat_evd_set_unwaitable(storm->evd);
                        break;
                case 1:
                        ret = dat_evd_clear_unwaitable(storm->evd);
                        break;
                case 2:
                        ret = dat_evd_disable(storm->evd);
                        break;
                case 3:
                        ret = dat_evd_enable(storm->evd);
                        break;
                case 4:
                        ret = dat_evd_modify_cno(storm->evd, storm->cnos[i / 6 % 2]);
                        break;
                default:
                        ret = dat_evd_resize(storm->evd, 8 + i % 8);
                        if (DAT_GET_TYPE(ret) == DAT_INVALID_STATE)
                                ret = DAT_SUCCESS;
                        sched_yield();
                }
        }
        if (ret != DAT_SUCCESS)
                atomic_fetch_add(&storm->strange, 1);
        return NULL;
}

/* Whatever is done to an EVD meanwhile, each event comes once, and each waiter wakes. */
static void an_evd_stands_a_storm(void **state)
{
        static void *(*const parts[])(void *) = {storm_waits, storm_waits, storm_hears, storm_hears,
                                                 storm_changes};
        struct host *host = host_open();
        struct storm *storm = calloc(1, sizeof(*storm));
        pthread_t threads[5];

        (void)state;
        assert_non_null(storm);
        for (int i = 0; i < 2; i++)
                storm->cnos[i] = make_cno(host, no_agent);
        storm->evd = make_evd(host, 8, storm->cnos[0]);
        atomic_store(&storm->left, STORM_EVENTS);
        for (int i = 0; i < 5; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, parts[i], storm), 0);
        for (int i = 0; i < STORM_EVENTS; i++) {
                DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};

                event.event_data.software_event_data.pointer = &storm->taken[i];
                while (DAT_GET_TYPE(dat_evd_post_se(storm->evd, &event)) == DAT_QUEUE_FULL)
                        sched_yield();
        }
        for (int i = 0; i < 5; i++)
                assert_int_equal(pthread_join(threads[i], NULL), 0);
        for (int i = 0; i < STORM_EVENTS; i++)
                assert_int_equal(atomic_load(&storm->taken[i]), 1);
        assert_int_equal(atomic_load(&storm->strange), 0);
        assert_dat(dat_evd_free(storm->evd), DAT_SUCCESS);
        for (int i = 0; i < 2; i++) {
                assert_nothing_heard(storm->cnos[i], 0);
                assert_dat(dat_cno_free(storm->cnos[i]), DAT_SUCCESS);
        }
        free(storm);
        host_close(host);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(a_cno_hears_of_its_evds),
            cmocka_unit_test(a_direct_waiter_comes_before_the_cno),
            cmocka_unit_test(the_cno_hears_again_after_a_waiter),
            cmocka_unit_test(an_evd_is_free_of_whom_it_sent_away),
            cmocka_unit_test(a_cno_hears_of_what_arrives_then),
            cmocka_unit_test(a_waiter_sleeps_through_enabling),
            cmocka_unit_test(a_solicited_message_is_told_once),
            cmocka_unit_test(a_trigger_stays_with_the_old_cno),
            cmocka_unit_test(a_freed_evd_is_not_heard_of),
            cmocka_unit_test(a_waiter_leaves_without_the_evd_that_told_it),
            cmocka_unit_test(each_trigger_releases_a_waiter),
            cmocka_unit_test(a_look_hides_nothing_from_the_cno),
            cmocka_unit_test(a_cno_whose_waiter_was_told_is_freed),
            cmocka_unit_test(waiters_leave_with_the_last_evd),
            cmocka_unit_test(a_software_event_releases_each_waiter),
            cmocka_unit_test(a_trigger_is_for_one_waiter),
            cmocka_unit_test(a_cno_hears_of_every_stream),
            cmocka_unit_test(a_cno_hears_of_solicited_messages),
            cmocka_unit_test(an_agent_is_called),
            cmocka_unit_test(an_agent_is_told_of_each_trigger),
            cmocka_unit_test(an_agent_hears_of_the_end),
            cmocka_unit_test(an_agent_frees_its_evd),
            cmocka_unit_test(each_argument_of_a_cno),
            cmocka_unit_test(an_evd_stands_a_storm),
        };

        return cmocka_run_group_tests_name("cno", tests, NULL, NULL);
}
