/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_modify_cno: who is notified from then on, and what the change leaves alone. */
#include "clauses/evd_modify_cno.h"
#include "cases/cno/shared/agent.h"
#include "cases/evd/shared/async.h"
#include "cases/evd/shared/event_kind.h"
#include "cases/evd/shared/source.h"

static const struct evd_state plain = {.enabled = true, .waitable = true};

/* No EVD uses the CNO any more, which may be none. */
static void expect_free(struct test *t, DAT_CNO_HANDLE former)
{
        if (former == DAT_HANDLE_NULL)
                return;
        expect(dat_cno_free(former), DAT_SUCCESS);
        disown(t, former);
}

FAMILY(evd_modify_cno, from_state, evd_states)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                DAT_CNO_HANDLE former = row->has_cno ? cno_new(t) : DAT_HANDLE_NULL;
                struct source source = source_in(t, kind, row->state, former);

                expect(dat_evd_modify_cno(source.evd, cno), DAT_SUCCESS);

                expect_free(t, former);
                expect_source_state(t, &source, row->state, cno);
        }
}

FAMILY(evd_modify_cno, taken_away, evd_states)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE former = row->has_cno ? cno_new(t) : DAT_HANDLE_NULL;
                struct source source = source_in(t, kind, row->state, former);

                expect(dat_evd_modify_cno(source.evd, DAT_HANDLE_NULL), DAT_SUCCESS);

                expect_free(t, former);
                expect_source_state(t, &source, row->state, DAT_HANDLE_NULL);
        }
}

CASE(evd_modify_cno, same_again)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = evd_in(t, plain, cno);

        expect(dat_evd_modify_cno(evd, cno), DAT_SUCCESS);

        expect_state(t, evd, plain, cno);
}

/* One call that takes the CNO away outweighs any number of those that set it. */
CASE(evd_modify_cno, same_again_then_freed)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = evd_in(t, plain, cno);

        for (int i = 0; i < 3; i++)
                expect(dat_evd_modify_cno(evd, cno), DAT_SUCCESS);
        expect(dat_cno_free(cno), DAT_INVALID_STATE);
        expect(dat_evd_modify_cno(evd, DAT_HANDLE_NULL), DAT_SUCCESS);

        expect(dat_cno_free(cno), DAT_SUCCESS);
        disown(t, cno);
        expect_state(t, evd, plain, DAT_HANDLE_NULL);
}

CASE(evd_modify_cno, disabled_meanwhile)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE former = cno_new(t);
                DAT_CNO_HANDLE cno = cno_new(t);
                struct source source = source_in(t, kind, plain, former);

                must(dat_evd_disable(source.evd));
                expect(dat_evd_modify_cno(source.evd, cno), DAT_SUCCESS);
                must(dat_evd_enable(source.evd));
                source_bring(t, &source, 0, 1);

                expect_notified(t, cno, source.evd);
                expect_no_notice(t, former);
        }
}

/* A disabled EVD with events stays disabled, and notifies the new CNO only once it is enabled. */
CASE(evd_modify_cno, disabled_with_events)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct evd_state disabled = {.waitable = true};
                struct source source = source_in(t, kind, disabled, cno_new(t));

                source_fill(t, &source, 0, 2);
                expect(dat_evd_modify_cno(source.evd, cno), DAT_SUCCESS);

                expect_no_notice(t, cno);
                expect_source_events(t, &source, 0, 2);
                expect_source_state(t, &source, disabled, cno);
        }
}

CASE(evd_modify_cno, former_hears_nothing_more)
{
        EACH_SOURCE (kind) {
                struct agent *agent = agent_new(t);
                DAT_CNO_HANDLE former = cno_with(t, agent);
                struct source source = source_in(t, kind, plain, former);

                expect(dat_evd_modify_cno(source.evd, DAT_HANDLE_NULL), DAT_SUCCESS);
                (void)calls_seen(t, agent);
                forget_notice(former);
                source_bring(t, &source, 0, 1);

                expect_no_notice(t, former);
                expect_uncalled(t, agent);
                expect_source_events(t, &source, 0, 1);
        }
}

CASE(evd_modify_cno, this_evd_alone)
{
        DAT_CNO_HANDLE former = cno_new(t);
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE older = evd_in(t, plain, former);
        DAT_EVD_HANDLE evd = evd_in(t, plain, former);
        DAT_EVD_HANDLE newer = evd_in(t, plain, former);

        post_ses(t, newer, 0, 1);
        expect(dat_evd_modify_cno(evd, cno), DAT_SUCCESS);

        expect_notified(t, former, newer);
        expect_ses(t, newer, 0, 1);
        expect_state(t, older, plain, former);
        expect_state(t, newer, plain, former);
        expect_state(t, evd, plain, cno);
}

CASE(evd_modify_cno, several_on_one)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evds[3];

        for (int i = 0; i < 3; i++) {
                evds[i] = evd_in(t, plain, DAT_HANDLE_NULL);
                expect(dat_evd_modify_cno(evds[i], cno), DAT_SUCCESS);
                if (i == 0)
                        post_ses(t, evds[0], 0, 1);
        }
        expect_notified(t, cno, evds[0]);
        expect_ses(t, evds[0], 0, 1);
        for (int i = 0; i < 3; i++)
                expect_state(t, evds[i], plain, cno);
}

CASE(evd_modify_cno, to_and_fro)
{
        DAT_CNO_HANDLE cnos[] = {cno_new(t), DAT_HANDLE_NULL, cno_new(t)};
        DAT_EVD_HANDLE evd = evd_in(t, plain, DAT_HANDLE_NULL);

        for (int i = 0; i < 50; i++) {
                expect(dat_evd_modify_cno(evd, cnos[i % 3]), DAT_SUCCESS);
                post_ses(t, evd, (unsigned int)i, 1);
                if (cnos[i % 3] != DAT_HANDLE_NULL)
                        expect_notified(t, cnos[i % 3], evd);
                expect_ses(t, evd, (unsigned int)i, 1);
        }
}

CASE(evd_modify_cno, keeps_events)
{
        EACH_SOURCE (kind) {
                const DAT_CNO_HANDLE cnos[] = {cno_new(t), DAT_HANDLE_NULL};

                for (int i = 0; i < 2; i++) {
                        struct source source = source_in(t, kind, plain, cno_new(t));

                        source_fill(t, &source, 0, SE_QLEN / 2);
                        expect(dat_evd_modify_cno(source.evd, cnos[i]), DAT_SUCCESS);
                        if (cnos[i])
                                forget_notices(t, cnos[i]);
                        source_fill(t, &source, SE_QLEN / 2, SE_QLEN / 2);

                        if (cnos[i])
                                expect_notified(t, cnos[i], source.evd);
                        expect_source_events(t, &source, 0, SE_QLEN);
                        expect_empty(t, source.evd);
                }
        }
}

CASE(evd_modify_cno, wakes_waiter_of_new)
{
        EACH_SOURCE (kind) {
                struct agent *former = agent_new(t);
                struct agent *agent = agent_new(t);
                DAT_CNO_HANDLE cno = cno_with(t, agent);
                struct source source = source_in(t, kind, plain, cno_with(t, former));
                struct waiter *waiter = wait_on_cno(t, cno, 4 * event_timeout(t));
                struct woken woken;

                must_wait(waiter);
                expect(dat_evd_modify_cno(source.evd, cno), DAT_SUCCESS);
                expect_asleep(waiter);
                expect_uncalled(t, agent);
                source_bring(t, &source, 0, 1);

                woken = expect_awake(waiter);
                expect(woken.ret, DAT_SUCCESS);
                expect_that(woken.evd == source.evd, "the CNO names another EVD");
                expect_called(t, agent, source.evd);
                expect_uncalled(t, former);
        }
}

CASE(evd_modify_cno, lets_waiter_of_former_wait)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE former = cno_new(t);
                DAT_CNO_HANDLE cno = cno_new(t);
                struct source source = source_in(t, kind, plain, former);
                struct waiter *waiter = wait_on_cno(t, former, 4 * event_timeout(t));
                DAT_EVD_HANDLE other;
                struct woken woken;

                must_wait(waiter);
                expect(dat_evd_modify_cno(source.evd, cno), DAT_SUCCESS);
                source_bring(t, &source, 0, 1);
                expect_asleep(waiter);

                other = evd_in(t, plain, former);
                post_ses(t, other, 0, 1);
                woken = expect_awake(waiter);
                expect(woken.ret, DAT_SUCCESS);
                expect_that(woken.evd == other, "the CNO names an EVD that has left it");
        }
}

CASE(evd_modify_cno, former_can_be_freed)
{
        DAT_CNO_HANDLE former = cno_new(t);
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = evd_in(t, plain, former);

        expect(dat_evd_modify_cno(evd, cno), DAT_SUCCESS);

        expect(dat_cno_free(former), DAT_SUCCESS);
        disown(t, former);
        expect(dat_cno_free(cno), DAT_INVALID_STATE);
        expect_state(t, evd, plain, cno);
}

/* An event of before the change, or during it, has notified one of the two CNOs, or does. */
static void expect_either_notified(struct test *t, DAT_CNO_HANDLE former, DAT_CNO_HANDLE cno,
                                   DAT_EVD_HANDLE evd)
{
        DAT_EVD_HANDLE named = DAT_HANDLE_NULL;
        bool by_former = dat_is(dat_cno_wait(former, 0, &named), DAT_SUCCESS);
        bool by_new =
            !by_former && dat_is(dat_cno_wait(cno, event_timeout(t), &named), DAT_SUCCESS);

        if (!by_former && !by_new)
                expect(dat_cno_wait(former, 0, &named), DAT_SUCCESS);
        /* The former CNO has the EVD no more, and may have no name for it. */
        expect_that(named == evd || (!by_new && named == DAT_HANDLE_NULL),
                    "the CNO names another EVD");
        record(t, "the %s CNO is notified", by_new ? "new" : "former");
}

CASE(evd_modify_cno, pending_notification)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE former = cno_new(t);
                DAT_CNO_HANDLE cno = cno_new(t);
                struct source source = source_in(t, kind, plain, former);

                source_fill(t, &source, 0, 1);
                expect(dat_evd_modify_cno(source.evd, cno), DAT_SUCCESS);

                expect_either_notified(t, former, cno, source.evd);
                expect_source_events(t, &source, 0, 1);
        }
}

#define CHANGES 30 /* each with an event in flight */

CASE(evd_modify_cno, event_in_flight)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cnos[] = {cno_new(t), cno_new(t)};
                struct source source = source_in(t, kind, plain, cnos[0]);

                for (unsigned int i = 0; i < CHANGES; i++) {
                        DAT_CNO_HANDLE former = cnos[i % 2];
                        DAT_CNO_HANDLE cno = cnos[1 - i % 2];

                        source_bring(t, &source, i, 1);
                        expect(dat_evd_modify_cno(source.evd, cno), DAT_SUCCESS);
                        settle_briefly(t);
                        expect_either_notified(t, former, cno, source.evd);
                        expect_source_events(t, &source, i, 1);
                        forget_notice(cno);
                        forget_notice(former);
                }
        }
}

CASE(evd_modify_cno, keeps_direct_waiter)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct source source = source_in(t, kind, plain, cno_new(t));
                struct waiter *waiter = wait_on_evd(t, source.evd, DAT_TIMEOUT_INFINITE, 1);
                struct woken woken;

                must_wait(waiter);
                expect(dat_evd_modify_cno(source.evd, cno), DAT_SUCCESS);
                expect_asleep(waiter);
                source_bring(t, &source, 0, 1);

                woken = expect_awake(waiter);
                expect(woken.ret, DAT_SUCCESS);
                expect_source_event(t, &source, &woken.event, 0);
                expect_no_notice(t, cno);
                source_bring(t, &source, 1, 1);
                expect_notified(t, cno, source.evd);
        }
}

FAMILY(evd_modify_cno, each_stream, event_kinds)
{
        DAT_CNO_HANDLE former = cno_new(t);
        DAT_CNO_HANDLE cno = cno_new(t);
        struct brought brought = fed_before(t, row, former);

        expect(dat_evd_modify_cno(brought.evd, cno), DAT_SUCCESS);
        expect_heard(t, row, &brought, cno);
        expect_no_notice(t, former);

        make_ready(t, row, &brought, cno);
        expect(dat_evd_modify_cno(brought.evd, DAT_HANDLE_NULL), DAT_SUCCESS);
        forget_notice(cno);
        expect_unheard(t, row, &brought, cno);
}

CASE(evd_modify_cno, async_evd)
{
        DAT_CNO_HANDLE former = cno_new(t);
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE async = async_evd(t);
        struct armed armed = async_to_come(t);

        expect(dat_evd_modify_cno(async, former), DAT_SUCCESS);
        expect(dat_evd_modify_cno(async, cno), DAT_SUCCESS);
        async_comes(t, &armed);

        expect_notified(t, cno, async);
        expect_no_notice(t, former);
        expect_async_event(armed.queue.srq);
        must(dat_evd_modify_cno(async, DAT_HANDLE_NULL));
}

LEGAL(evd_modify_cno)
{
        call->cno_handle = cno_new(t);
        call->evd_handle = se_evd(t, cno_new(t));
}
