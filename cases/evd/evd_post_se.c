/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_post_se: each event once, whole and in order, up to the length of the queue. */
#include "clauses/evd_post_se.h"
#include "case/limits.h"
#include "cases/cno/shared/agent.h"
#include "cases/evd/shared/dispatcher.h"
#include "cases/evd/shared/state.h"

#include <sched.h>
#include <string.h>

#define ROUNDS 5 /* times the length of a queue, to come round its end */

/*
 * What comes of a post
 */

CASE(evd_post_se, posted)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        DAT_EVENT event = se_event(7);

        expect(dat_evd_post_se(evd, &event), DAT_SUCCESS);

        expect_ses(t, evd, 7, 1);
        expect_empty(t, evd);
}

CASE(evd_post_se, posted_for_wait)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        DAT_EVENT event = se_event(7);
        DAT_COUNT more = -1;

        expect(dat_evd_post_se(evd, &event), DAT_SUCCESS);

        memset(&event, 0xa5, sizeof(event));
        expect(dat_evd_wait(evd, 0, 1, &event, &more), DAT_SUCCESS);
        expect_se(t, evd, &event, 7);
        expect_eq(more, 0);
}

static const struct pointer {
        const char *id;
        uintptr_t value;
} pointers[] = {
    {"null", 0},
    {"one", 1},
    {"unaligned", 0x1003},
    {"not_canonical", (uintptr_t)1 << (sizeof(uintptr_t) * 8 - 2)},
    {"highest_bit", (uintptr_t)1 << (sizeof(uintptr_t) * 8 - 1)},
    {"all_bits", UINTPTR_MAX},
};

FAMILY(evd_post_se, pointer, pointers)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        DAT_PVOID pointer = (DAT_PVOID)row->value; /* NOLINT(performance-no-int-to-ptr) */
        DAT_EVENT event = se_event(0);

        event.event_data.software_event_data.pointer = pointer;
        expect(dat_evd_post_se(evd, &event), DAT_SUCCESS);

        memset(&event, 0xa5, sizeof(event));
        expect(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
        expect_that(event.event_data.software_event_data.pointer == pointer, "%p posted, %p came",
                    pointer, event.event_data.software_event_data.pointer);
}

CASE(evd_post_se, memory_of_event_reused)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        DAT_EVENT event;

        for (unsigned int i = 0; i < SE_QLEN; i++) {
                event = se_event(i);
                expect(dat_evd_post_se(evd, &event), DAT_SUCCESS);
                memset(&event, 0xa5, sizeof(event));
        }

        expect_ses(t, evd, 0, SE_QLEN);
}

CASE(evd_post_se, event_is_kept)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        DAT_EVENT event;
        unsigned char *bytes = (unsigned char *)&event;
        unsigned char before[sizeof(event)];

        memset(&event, 0x5a, sizeof(event));
        event.event_number = DAT_SOFTWARE_EVENT;
        memcpy(before, bytes, sizeof(event));
        expect(dat_evd_post_se(evd, &event), DAT_SUCCESS);

        expect_that(memcmp(bytes, before, sizeof(event)) == 0, "the Consumer's event has changed");
}

CASE(evd_post_se, in_order)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        unsigned int taken = 0;

        for (unsigned int posted = 0; posted < ROUNDS * SE_QLEN; posted++) {
                DAT_EVENT event = se_event(posted);

                expect(dat_evd_post_se(evd, &event), DAT_SUCCESS);
                if (posted - taken < SE_QLEN - 1)
                        continue;
                expect_ses(t, evd, taken, 3);
                taken += 3;
        }
        expect_ses(t, evd, taken, (int)(ROUNDS * SE_QLEN - taken));
        expect_empty(t, evd);
}

CASE(evd_post_se, on_this_evd_alone)
{
        DAT_EVD_HANDLE older = se_evd(t, DAT_HANDLE_NULL);
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        DAT_EVD_HANDLE newer = se_evd(t, DAT_HANDLE_NULL);
        DAT_EVENT event = se_event(0);

        event.evd_handle = older; /* as if it had been taken there */
        expect(dat_evd_post_se(evd, &event), DAT_SUCCESS);

        expect_empty(t, older);
        expect_empty(t, newer);
        expect_ses(t, evd, 0, 1);
}

struct posting {
        DAT_EVD_HANDLE evd;
        DAT_EVENT event;
};

static DAT_RETURN post_of(void *arg)
{
        const struct posting *posting = arg;

        return dat_evd_post_se(posting->evd, &posting->event);
}

CASE(evd_post_se, from_several_threads)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);

        for (unsigned int i = 0; i < 4; i++) {
                struct posting posting = {.evd = evd, .event = se_event(i)};
                struct waiter *poster = wait_in(t, post_of, &posting);
                struct woken done = expect_awake(poster);

                expect(done.ret, DAT_SUCCESS);
        }

        expect_ses(t, evd, 0, 4);
        expect_empty(t, evd);
}

#define POSTERS 3 /* threads that post at once, */
#define EACH    5 /* events each: together no more than the EVD has places */

/* What one thread posts. */
struct share {
        DAT_EVD_HANDLE evd;
        unsigned int first; /* of its events */
};

/* The first call that failed, or success. Between calls others get the processor, be it the only
 * one. */
static DAT_RETURN post_share(void *arg)
{
        const struct share *share = arg;
        DAT_RETURN ret = DAT_SUCCESS;

        for (unsigned int i = 0; i < EACH && dat_is(ret, DAT_SUCCESS); i++) {
                DAT_EVENT event = se_event(share->first + i);

                ret = dat_evd_post_se(share->evd, &event);
                sched_yield();
        }
        return ret;
}

/* Each of the posted events comes, once, in whatever order. */
static void expect_each_once(struct test *t, DAT_EVD_HANDLE evd, unsigned int posted)
{
        unsigned int seen = 0;

        for (unsigned int i = 0; i < posted; i++) {
                DAT_EVENT event;

                memset(&event, 0xa5, sizeof(event));
                expect(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
                for (unsigned int j = 0; j < posted; j++)
                        if (event.event_data.software_event_data.pointer ==
                            se_event(j).event_data.software_event_data.pointer)
                                seen |= 1U << j;
        }
        expect_eq(seen, (1U << posted) - 1);
        expect_empty(t, evd);
}

CASE(evd_post_se, from_threads_at_once, DEADLINE_MS(20000))
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        struct stress stress = stress_of(t, 100);

        while (stress_round(&stress)) {
                struct share shares[POSTERS];
                struct racer racers[POSTERS];

                for (unsigned int i = 0; i < POSTERS; i++) {
                        shares[i] = (struct share){.evd = evd, .first = i * EACH};
                        racers[i] = (struct racer){.call = post_share, .arg = &shares[i]};
                }
                stress_met(&stress, race(racers, POSTERS));
                for (unsigned int i = 0; i < POSTERS; i++)
                        expect(racers[i].ret, DAT_SUCCESS);
                expect_each_once(t, evd, POSTERS * EACH);
        }
        must_have_met(&stress);
}

/*
 * As an event that arrives
 */

CASE(evd_post_se, wakes_waiter)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        struct waiter *waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);
        DAT_EVENT event = se_event(0);
        struct woken woken;

        must_wait(waiter);
        expect(dat_evd_post_se(evd, &event), DAT_SUCCESS);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_se(t, evd, &woken.event, 0);
        expect_empty(t, evd);
}

CASE(evd_post_se, triggers_cno)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = se_evd(t, cno);
        DAT_EVENT event = se_event(0);

        must(dat_evd_enable(evd));
        expect(dat_evd_post_se(evd, &event), DAT_SUCCESS);

        expect_notified(t, cno, evd);
        expect_ses(t, evd, 0, 1);
}

/*
 * A queue that is full
 */

#define REFUSALS 3

/* An EVD without a free place; `*places` are the software events in it, numbered from 0. */
static DAT_EVD_HANDLE full_evd(struct test *t, int *places)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);

        *places = evd_param(t, evd).evd_qlen;
        post_ses(t, evd, 0, *places);
        return evd;
}

static void expect_refused(struct test *t, DAT_EVD_HANDLE evd, unsigned int number)
{
        DAT_EVENT event = se_event(number);

        expect(dat_evd_post_se(evd, &event), DAT_QUEUE_FULL);
}

CASE(evd_post_se, full)
{
        int places;
        DAT_EVD_HANDLE evd = full_evd(t, &places);

        for (unsigned int i = 0; i < REFUSALS; i++)
                expect_refused(t, evd, (unsigned int)places + i);
}

/* All places of the empty EVD take an event, and no more. */
static void expect_full_at_length(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_COUNT places = evd_param(t, evd).evd_qlen;

        for (unsigned int i = 0; i < (unsigned int)places; i++) {
                DAT_EVENT event = se_event(i);

                expect(dat_evd_post_se(evd, &event), DAT_SUCCESS);
        }
        expect_refused(t, evd, (unsigned int)places);

        expect_ses(t, evd, 0, places);
        expect_empty(t, evd);
}

FAMILY(evd_post_se, full_in_state, evd_states)
{
        expect_full_at_length(t,
                              evd_in(t, row->state, row->has_cno ? cno_new(t) : DAT_HANDLE_NULL));
        expect_quiet(async_evd(t));
}

static const struct length {
        const char *id;
        DAT_COUNT places;
} lengths[] = {
    {"one", 1},
    {"two", 2},
    {"three", 3},
    {"hundreds", HUNDREDS},
};

FAMILY(evd_post_se, full_of_length, lengths)
{
        DAT_COUNT most = ia_attr(t)->max_evd_qlen;

        expect_full_at_length(t, evd_with(t, .qlen = row->places < most ? row->places : most,
                                          .flags = DAT_EVD_SOFTWARE_FLAG));
}

CASE(evd_post_se, full_queues_nothing)
{
        int places;
        DAT_EVD_HANDLE evd = full_evd(t, &places);

        expect_refused(t, evd, (unsigned int)places);

        expect_ses(t, evd, 0, places);
        expect_empty(t, evd);
}

CASE(evd_post_se, full_raises_nothing)
{
        int places;
        DAT_EVD_HANDLE evd = full_evd(t, &places);

        for (unsigned int i = 0; i < REFUSALS; i++)
                expect_refused(t, evd, (unsigned int)places + i);

        expect_quiet(async_evd(t));
}

CASE(evd_post_se, full_then_room)
{
        int places;
        DAT_EVD_HANDLE evd = full_evd(t, &places);
        DAT_EVENT event = se_event((unsigned int)places);

        expect_refused(t, evd, 0);
        expect_ses(t, evd, 0, 1);

        expect(dat_evd_post_se(evd, &event), DAT_SUCCESS);
        expect_refused(t, evd, 0);
        expect_ses(t, evd, 1, places);
        expect_empty(t, evd);
}

CASE(evd_post_se, full_is_of_one_evd)
{
        int places;
        DAT_EVD_HANDLE full = full_evd(t, &places);
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        DAT_EVENT event = se_event(0);

        expect_refused(t, full, 0);

        expect(dat_evd_post_se(evd, &event), DAT_SUCCESS);
        expect_ses(t, evd, 0, 1);
}

/*
 * What is no software event
 */

static const struct number {
        const char *id;
        DAT_EVENT_NUMBER number;
} numbers[] = {
    {"zero", (DAT_EVENT_NUMBER)0},
    {"dto_completion", DAT_DTO_COMPLETION_EVENT},
    {"rmr_bind_completion", DAT_RMR_BIND_COMPLETION_EVENT},
    {"connection_request", DAT_CONNECTION_REQUEST_EVENT},
    {"established", DAT_CONNECTION_EVENT_ESTABLISHED},
    {"broken", DAT_CONNECTION_EVENT_BROKEN},
    {"peer_rejected", DAT_CONNECTION_EVENT_PEER_REJECTED},
    {"non_peer_rejected", DAT_CONNECTION_EVENT_NON_PEER_REJECTED},
    {"accept_completion_error", DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR},
    {"disconnected", DAT_CONNECTION_EVENT_DISCONNECTED},
    {"timed_out", DAT_CONNECTION_EVENT_TIMED_OUT},
    {"unreachable", DAT_CONNECTION_EVENT_UNREACHABLE},
    {"async_catastrophic", DAT_ASYNC_ERROR_IA_CATASTROPHIC},
    {"async_ep_broken", DAT_ASYNC_ERROR_EP_BROKEN},
    {"async_timed_out", DAT_ASYNC_ERROR_TIMED_OUT},
    {"async_internal", DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR},
    {"async_overflow", DAT_ASYNC_ERROR_EVD_OVERFLOW},
    {"below_software", (DAT_EVENT_NUMBER)(DAT_SOFTWARE_EVENT - 1)},
    {"above_software", (DAT_EVENT_NUMBER)(DAT_SOFTWARE_EVENT + 1)},
};

FAMILY(evd_post_se, other_event, numbers)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = cno_with(t, agent);
        DAT_EVD_HANDLE evd = feeding(t, cno);
        DAT_EVENT event = se_event(0);
        DAT_EVENT good = se_event(1);

        event.event_number = row->number;
        expect(dat_evd_post_se(evd, &event), DAT_INVALID_PARAMETER);

        expect_no_notice(t, cno);
        expect_uncalled(t, agent);
        expect_empty(t, evd);
        expect(dat_evd_post_se(evd, &good), DAT_SUCCESS);
        expect_notified(t, cno, evd);
        expect_ses(t, evd, 1, 1);
}

CASE(evd_post_se, same_again)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        DAT_EVENT event = se_event(0);

        for (int i = 0; i < SE_QLEN; i++)
                expect(dat_evd_post_se(evd, &event), DAT_SUCCESS);

        for (int i = 0; i < SE_QLEN; i++)
                expect_ses(t, evd, 0, 1);
        expect_empty(t, evd);
}

CASE(evd_post_se, full_triggers_nothing)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = cno_with(t, agent);
        int places;
        DAT_EVD_HANDLE evd = full_evd(t, &places);

        must(dat_evd_modify_cno(evd, cno));
        for (unsigned int i = 0; i < REFUSALS; i++)
                expect_refused(t, evd, (unsigned int)places + i);

        expect_no_notice(t, cno);
        expect_uncalled(t, agent);
}

LEGAL(evd_post_se)
{
        static DAT_EVENT event;

        event = se_event(0);
        call->evd_handle = se_evd(t, DAT_HANDLE_NULL);
        call->event = &event;
}
