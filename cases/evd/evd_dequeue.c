/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_dequeue: the first event, complete, once, and not while a thread waits. */
#include "clauses/evd_dequeue.h"
#include "case/test.h"
#include "cases/evd/shared/async.h"
#include "cases/evd/shared/event_kind.h"
#include "cases/evd/shared/private_data.h"
#include "cases/evd/shared/source.h"

#include <sched.h>
#include <string.h>

#define VAIN_US     20000 /* of a wait that is to time out */
#define MOST_PLACES 64

static const struct evd_state plain = {.enabled = true, .waitable = true};

/*
 * Each kind of event
 */

FAMILY(evd_dequeue, event, event_kinds)
{
        EACH_MAKING(kind, row)
        {
                struct brought brought = bring(t, kind);
                DAT_EVENT event = expect_dequeued(t, brought.evd);

                expect_brought(t, kind, &brought, &event);
                expect_empty(t, brought.evd);
        }
}

FAMILY(evd_dequeue, private_data_lasts, lasting_rows)
{
        expect_private_data_lasts(t, row, expect_dequeued);
}

FAMILY(evd_dequeue, request_lasts, asked_rows)
{
        expect_request_lasts(t, row, expect_dequeued);
}

CASE(evd_dequeue, within_structure)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        struct buf *buf = buf_with(t, .length = sizeof(DAT_EVENT));
        DAT_EVENT *event = (DAT_EVENT *)(void *)buf->addr;

        post_ses(t, evd, 0, 1);
        expect(dat_evd_dequeue(evd, event), DAT_SUCCESS);
        check_guards(t);

        expect_se(t, evd, event, 0);
        release(t, buf->lmr);
}

/*
 * The first one, once
 */

CASE(evd_dequeue, one_at_a_time)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);

        post_ses(t, evd, 0, 3);

        expect_ses(t, evd, 0, 1);
        post_ses(t, evd, 3, 1);
        expect_ses(t, evd, 1, 3);
        expect_empty(t, evd);
}

CASE(evd_dequeue, whole_queue)
{
        EACH_SOURCE (kind) {
                struct source source = source_new(t, kind, DAT_HANDLE_NULL);
                DAT_COUNT places = source.qlen;

                /* A queue of completions may have more places than an EP has work for. */
                if (kind->open && places > MOST_PLACES)
                        places = MOST_PLACES;
                source_fill(t, &source, 0, places);

                expect_source_events(t, &source, 0, places);
                expect_empty(t, source.evd);
                source_fill(t, &source, 0, 1);
                expect_source_events(t, &source, 0, 1);
                expect_empty(t, source.evd);
        }
}

#define CONNECTIONS 4

/* Every one of the EPs gets one event of this number, in whatever order. */
static void expect_told_each(struct test *t, DAT_EVD_HANDLE evd, const struct loop *loops,
                             DAT_EVENT_NUMBER number)
{
        unsigned int told = 0;

        settle(t);
        for (int i = 0; i < CONNECTIONS; i++) {
                DAT_EVENT event = expect_dequeued(t, evd);

                expect_eq(event.event_number, number);
                for (int j = 0; j < CONNECTIONS; j++)
                        if (event.event_data.connect_event_data.ep_handle == loops[j].active)
                                told |= 1U << j;
        }
        expect_eq(told, (1U << CONNECTIONS) - 1);
        expect_empty(t, evd);
}

/* The requests arrive one after another, and their events are the first ones on that EVD. */
static void expect_requests(struct test *t, DAT_EVD_HANDLE evd, struct loop *loops)
{
        for (int i = 0; i < CONNECTIONS; i++) {
                loop_ask(t, &loops[i]);
                settle(t);
        }
        for (int i = 0; i < CONNECTIONS; i++) {
                DAT_EVENT event = expect_dequeued(t, evd);

                expect_eq(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
                expect_eq(event.event_data.cr_arrival_event_data.conn_qual, loops[i].qual);
                loops[i].request = event.event_data.cr_arrival_event_data.cr_handle;
        }
        expect_empty(t, evd);
}

CASE(evd_dequeue, full_of_connections)
{
        DAT_EVD_HANDLE requests = evd_with(t, .qlen = CONNECTIONS, .flags = DAT_EVD_CR_FLAG);
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = CONNECTIONS, .flags = DAT_EVD_CONNECTION_FLAG);
        struct loop loops[CONNECTIONS];

        for (int i = 0; i < CONNECTIONS; i++) {
                loops[i] = loop_of(t, (struct ep_opts){.connect_evd = evd}, (struct ep_opts){0});
                loops[i].requests = requests;
        }
        expect_requests(t, requests, loops);
        for (int i = 0; i < CONNECTIONS; i++) {
                must(dat_cr_accept(loops[i].request, loop_named(&loops[i]), 0, NULL));
                must_event(ep_connect_evd(t, loops[i].passive), DAT_CONNECTION_EVENT_ESTABLISHED);
                loop_close_rsp(t, &loops[i]);
        }
        expect_told_each(t, evd, loops, DAT_CONNECTION_EVENT_ESTABLISHED);
        for (int i = 0; i < CONNECTIONS; i++)
                must(dat_ep_disconnect(loops[i].passive, DAT_CLOSE_ABRUPT_FLAG));
        expect_told_each(t, evd, loops, DAT_CONNECTION_EVENT_DISCONNECTED);
}

CASE(evd_dequeue, among_waits)
{
        EACH_SOURCE (kind) {
                struct source source = source_new(t, kind, DAT_HANDLE_NULL);

                source_fill(t, &source, 0, SE_QLEN);
                for (unsigned int i = 0; i < SE_QLEN; i += 2) {
                        DAT_EVENT event;
                        DAT_COUNT more = -1;

                        expect_source_events(t, &source, i, 1);
                        memset(&event, 0xa5, sizeof(event));
                        expect(dat_evd_wait(source.evd, event_timeout(t), 1, &event, &more),
                               DAT_SUCCESS);
                        expect_source_event(t, &source, &event, i + 1);
                }
                expect_empty(t, source.evd);
        }
}

/* Each is queued before the next one comes. */
FAMILY(evd_dequeue, two_of_kind, event_kinds)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = SE_QLEN, .flags = row->flags);
        struct brought brought[] = {{.evd = evd}, {.evd = evd}};

        for (int i = 0; i < 2; i++)
                make_ready(t, row, &brought[i], DAT_HANDLE_NULL);
        for (int i = 0; i < 2; i++) {
                row->bring(t, &brought[i]);
                settle(t);
        }

        for (int i = 0; i < 2; i++) {
                DAT_EVENT event = expect_dequeued(t, evd);

                expect_brought(t, row, &brought[i], &event);
        }
        expect_empty(t, evd);
}

#define OF_STREAM 6 /* events of each of two streams */

CASE(evd_dequeue, merged_streams)
{
        DAT_EVD_HANDLE evd =
            evd_with(t, .qlen = SE_QLEN, .flags = DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG);
        struct loop loop = loop_of(t, (struct ep_opts){.recv_evd = evd}, (struct ep_opts){0});
        struct buf *buf = buf_with(t);
        unsigned int software = 0;
        unsigned int completed = 0;

        loop_join_either(t, &loop);
        for (unsigned int i = 0; i < OF_STREAM; i++)
                loop_post_recv(t, loop.active, buf, i);
        for (unsigned int i = 0; i < OF_STREAM; i++) {
                post_ses(t, evd, i, 1);
                loop_post_send(t, loop.passive, buf, i);
                must_dto(ep_request_evd(t, loop.passive));
        }
        settle(t);

        for (int i = 0; i < 2 * OF_STREAM; i++) {
                DAT_EVENT event = expect_dequeued(t, evd);

                if (event.event_number == DAT_SOFTWARE_EVENT) {
                        expect_se(t, evd, &event, software++);
                        continue;
                }
                expect_eq(event.event_number, DAT_DTO_COMPLETION_EVENT);
                expect_eq(event.event_data.dto_completion_event_data.user_cookie.as_64,
                          completed++);
        }
        expect_eq(software, OF_STREAM);
        expect_empty(t, evd);
}

static const struct side {
        const char *id;
        bool passive;
} sides[] = {
    {"active", .passive = false},
    {"passive", .passive = true},
};

/* A connection begins and ends, and no event of the one side is taken before. */
FAMILY(evd_dequeue, whole_connection, sides)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_CONNECTION_FLAG);
        struct ep_opts own = {.connect_evd = evd};
        struct loop loop = loop_of(t, row->passive ? (struct ep_opts){0} : own,
                                   row->passive ? own : (struct ep_opts){0});
        DAT_EP_HANDLE ep = row->passive ? loop.passive : loop.active;
        DAT_EP_HANDLE far = row->passive ? loop.active : loop.passive;
        const DAT_EVENT_NUMBER numbers[] = {DAT_CONNECTION_EVENT_ESTABLISHED,
                                            DAT_CONNECTION_EVENT_DISCONNECTED};

        loop_ask(t, &loop);
        loop_accept(t, &loop);
        must_event(ep_connect_evd(t, far), DAT_CONNECTION_EVENT_ESTABLISHED);
        settle(t);
        must(dat_ep_disconnect(far, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, far), DAT_CONNECTION_EVENT_DISCONNECTED);
        settle(t);

        for (int i = 0; i < 2; i++) {
                DAT_EVENT event = expect_dequeued(t, evd);

                expect_eq(event.event_number, numbers[i]);
                expect_that(event.event_data.connect_event_data.ep_handle == ep,
                            "the event names another EP");
        }
        expect_empty(t, evd);
}

/* Half of the events are there when a wait looks for more, the other half come after it. */
CASE(evd_dequeue, after_vain_wait)
{
        const int half = SE_QLEN / 2;

        EACH_SOURCE (kind) {
                struct source source = source_new(t, kind, DAT_HANDLE_NULL);
                DAT_EVENT event;
                DAT_COUNT more = -1;

                source_fill(t, &source, 0, half);
                must_that_of("dat_evd_wait",
                             dat_is(dat_evd_wait(source.evd, 0, half + 1, &event, &more),
                                    DAT_TIMEOUT_EXPIRED),
                             "a wait for more events than there are does not time out");
                source_fill(t, &source, (unsigned int)half, half);

                expect_source_events(t, &source, 0, SE_QLEN);
                expect_empty(t, source.evd);
        }
}

CASE(evd_dequeue, of_this_evd)
{
        DAT_EVD_HANDLE older = se_evd(t, DAT_HANDLE_NULL);
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        DAT_EVD_HANDLE newer = se_evd(t, DAT_HANDLE_NULL);

        post_ses(t, older, 10, 2);
        post_ses(t, newer, 20, 2);

        expect_empty(t, evd);
        post_ses(t, evd, 0, 1);
        expect_ses(t, evd, 0, 1);
        expect_ses(t, older, 10, 2);
        expect_ses(t, newer, 20, 2);
}

FAMILY(evd_dequeue, in_state, evd_states)
{
        EACH_SOURCE (kind) {
                struct source source =
                    source_in(t, kind, row->state, row->has_cno ? cno_new(t) : DAT_HANDLE_NULL);

                source_bring(t, &source, 0, 3);
                expect_source_events(t, &source, 0, 3);
                expect_empty(t, source.evd);
                source_bring(t, &source, 3, 1);
                expect_source_events(t, &source, 3, 1);
                expect_empty(t, source.evd);
        }
}

/*
 * Nothing there
 */

static const struct stream {
        const char *id;
        DAT_EVD_FLAGS flag;
} streams[] = {
    {"software", DAT_EVD_SOFTWARE_FLAG},  {"connection_request", DAT_EVD_CR_FLAG},
    {"dto_completion", DAT_EVD_DTO_FLAG}, {"connection", DAT_EVD_CONNECTION_FLAG},
    {"rmr_bind", DAT_EVD_RMR_BIND_FLAG},
};

FAMILY(evd_dequeue, empty, streams)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = row->flag);

        for (int i = 0; i < 3; i++)
                expect_empty(t, evd);
}

CASE(evd_dequeue, empty_async)
{
        expect_empty(t, async_evd(t));
}

CASE(evd_dequeue, empty_then_event)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);

        for (unsigned int i = 0; i < 2 * SE_QLEN; i++) {
                expect_empty(t, evd);
                post_ses(t, evd, i, 1);
                expect_ses(t, evd, i, 1);
        }
        expect_empty(t, evd);
}

/*
 * A thread that waits
 */

static const struct waiting {
        const char *id;
        int queued;
        DAT_COUNT threshold;
} waitings[] = {
    {"for_one", 0, 1},
    {"for_more_than_there_are", 2, 3},
};

FAMILY(evd_dequeue, while_thread_waits, waitings)
{
        EACH_SOURCE (kind) {
                struct source source = source_in(t, kind, plain, DAT_HANDLE_NULL);
                struct waiter *waiter;
                DAT_EVENT event;
                struct woken woken;

                source_fill(t, &source, 0, row->queued);
                waiter = wait_on_evd(t, source.evd, DAT_TIMEOUT_INFINITE, row->threshold);
                must_wait(waiter);
                for (int i = 0; i < 3; i++)
                        expect(dat_evd_dequeue(source.evd, &event), DAT_INVALID_STATE);
                expect_asleep(waiter);
                source_bring(t, &source, (unsigned int)row->queued, 1);

                woken = expect_awake(waiter);
                expect(woken.ret, DAT_SUCCESS);
                expect_source_event(t, &source, &woken.event, 0);
                expect_source_events(t, &source, 1, row->queued);
                expect_empty(t, source.evd);
        }
}

FAMILY(evd_dequeue, while_thread_waits_for_stream, event_kinds)
{
        struct brought brought = {.evd = evd_with(t, .qlen = SE_QLEN, .flags = row->flags)};
        struct waiter *waiter;
        DAT_EVENT event;

        make_ready(t, row, &brought, DAT_HANDLE_NULL);
        waiter = wait_on_evd(t, brought.evd, DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        expect(dat_evd_dequeue(brought.evd, &event), DAT_INVALID_STATE);
        expect_asleep(waiter);

        expect_woken(t, row, &brought, waiter);
}

CASE(evd_dequeue, while_thread_waits_elsewhere)
{
        DAT_EVD_HANDLE other = se_evd(t, DAT_HANDLE_NULL);
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        struct waiter *waiter = wait_on_evd(t, other, DAT_TIMEOUT_INFINITE, 1);

        must_wait(waiter);
        expect_empty(t, evd);
        post_ses(t, evd, 0, 1);
        expect_ses(t, evd, 0, 1);

        post_ses(t, other, 0, 1);
        expect(expect_awake(waiter).ret, DAT_SUCCESS);
}

/* The thread found no event, or too few. */
FAMILY(evd_dequeue, after_thread_waited, waitings)
{
        EACH_SOURCE (kind) {
                struct source source = source_in(t, kind, plain, DAT_HANDLE_NULL);
                struct waiter *waiter;

                source_fill(t, &source, 0, row->queued);
                waiter = wait_on_evd(t, source.evd, VAIN_US, row->threshold);
                must_that(dat_is(must_awake(waiter).ret, DAT_TIMEOUT_EXPIRED),
                          "the wait does not time out");

                expect_source_events(t, &source, 0, row->queued);
                expect_empty(t, source.evd);
                source_bring(t, &source, (unsigned int)row->queued, 1);
                expect_source_events(t, &source, (unsigned int)row->queued, 1);
                expect_empty(t, source.evd);
        }
}

/* A thread that waits on the CNO is no waiter of the EVD. */
CASE(evd_dequeue, while_thread_waits_on_cno)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct source source = source_in(t, kind, plain, cno);
                struct waiter *waiter;
                struct woken woken;

                must(dat_evd_disable(source.evd));
                waiter = wait_on_cno(t, cno, 4 * event_timeout(t));
                must_wait(waiter);
                expect_empty(t, source.evd);
                source_bring(t, &source, 0, 2);
                expect_source_events(t, &source, 0, 2);
                expect_empty(t, source.evd);
                expect_asleep(waiter);

                must(dat_evd_enable(source.evd));
                source_bring(t, &source, 2, 1);
                woken = expect_awake(waiter);
                expect(woken.ret, DAT_SUCCESS);
                expect_source_events(t, &source, 2, 1);
        }
}

/*
 * Several threads
 */

struct dequeuing {
        DAT_EVD_HANDLE evd;
        DAT_EVENT event;
};

static DAT_RETURN dequeue_one(void *arg)
{
        struct dequeuing *dequeuing = arg;

        return dat_evd_dequeue(dequeuing->evd, &dequeuing->event);
}

CASE(evd_dequeue, by_threads_in_turn)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);

        post_ses(t, evd, 0, 6);
        for (unsigned int i = 0; i < 6; i++) {
                struct dequeuing dequeuing = {.evd = evd};
                struct waiter *thread = wait_in(t, dequeue_one, &dequeuing);

                expect(expect_awake(thread).ret, DAT_SUCCESS);
                expect_se(t, evd, &dequeuing.event, i);
        }
        expect_empty(t, evd);
}

#define THREADS 3
#define EACH    SE_QLEN

/* The events that one thread took. */
struct taking {
        DAT_EVD_HANDLE evd;
        bool waits; /* it calls dat_evd_wait instead, without a timeout */
        uint64_t numbers[EACH];
        unsigned int count;
};

#define TRIES 1000000 /* calls of a thread, at most */

/* By what an event of either source is known: completions have the cookies of software pointers. */
static uint64_t number_in(const DAT_EVENT *event)
{
        return event->event_number == DAT_SOFTWARE_EVENT
                   ? (uintptr_t)event->event_data.software_event_data.pointer
                   : event->event_data.dto_completion_event_data.user_cookie.as_64;
}

static DAT_RETURN take_one(const struct taking *taking, DAT_EVENT *event)
{
        DAT_COUNT more;

        return taking->waits ? dat_evd_wait(taking->evd, 0, 1, event, &more)
                             : dat_evd_dequeue(taking->evd, event);
}

/*
 * Takes what there is until nothing is; between calls others get the processor. Another thread's
 * wait may be in the way for a moment.
 */
static DAT_RETURN take_all(void *arg)
{
        struct taking *taking = arg;
        DAT_RETURN ret = DAT_SUCCESS;

        for (int i = 0; i < TRIES && taking->count < EACH; i++) {
                DAT_EVENT event;

                ret = take_one(taking, &event);
                if (dat_is(ret, DAT_SUCCESS))
                        taking->numbers[taking->count++] = number_in(&event);
                else if (!dat_is(ret, DAT_INVALID_STATE))
                        break;
                sched_yield();
        }
        return ret;
}

/* Which of the events 0 to SE_QLEN - 1 a thread has; one that is none of them, or twice there,
 * fails. */
static unsigned int taken_by(struct test *t, const struct taking *taking, unsigned int before)
{
        for (unsigned int i = 0; i < taking->count; i++) {
                unsigned int number = 0;

                DAT_EVENT wanted = se_event(number);

                while (number < SE_QLEN && number_in(&wanted) != taking->numbers[i])
                        wanted = se_event(++number);
                expect_that(number < SE_QLEN, "an event that was not posted");
                expect_that(!(before & (1U << number)), "event %u came twice", number);
                before |= 1U << number;
        }
        return before;
}

/* So many of the threads take the events by dat_evd_wait. */
static void expect_shared_out(struct test *t, const struct source *source, int waiting,
                              unsigned int rounds)
{
        DAT_EVD_HANDLE evd = source->evd;
        struct stress stress = stress_of(t, rounds);

        while (stress_round(&stress)) {
                struct taking takings[THREADS];
                struct racer racers[THREADS];
                unsigned int seen = 0;

                for (int i = 0; i < THREADS; i++) {
                        takings[i] = (struct taking){.evd = evd, .waits = i < waiting};
                        racers[i] = (struct racer){.call = take_all, .arg = &takings[i]};
                }
                source_fill(t, source, 0, SE_QLEN);
                stress_met(&stress, race(racers, THREADS));
                for (int i = 0; i < THREADS; i++) {
                        expect(racers[i].ret, DAT_SUCCESS,
                               i < waiting ? DAT_TIMEOUT_EXPIRED : DAT_QUEUE_EMPTY);
                        seen = taken_by(t, &takings[i], seen);
                }
                expect_eq(seen, (1U << SE_QLEN) - 1);
                expect_empty(t, evd);
        }
        must_have_met(&stress);
}

CASE(evd_dequeue, by_threads_at_once, DEADLINE_MS(20000))
{
        struct source source = source_new(t, &source_kinds[0], DAT_HANDLE_NULL);

        expect_shared_out(t, &source, 0, 200);
}

/* Fewer rounds, of which each takes a quiet period: the completions are there when threads race. */
CASE(evd_dequeue, completions_by_threads_at_once, DEADLINE_MS(20000))
{
        struct source source = source_new(t, &source_kinds[1], DAT_HANDLE_NULL);

        expect_shared_out(t, &source, 0, 20);
}

CASE(evd_dequeue, beside_waits, DEADLINE_MS(20000))
{
        EACH_SOURCE (kind) {
                struct source source = source_new(t, kind, DAT_HANDLE_NULL);

                expect_shared_out(t, &source, THREADS - 1, 20);
        }
}

#define PASSED 64 /* events that one thread posts and another one takes */

struct passing {
        DAT_EVD_HANDLE evd;
        unsigned int passed;
        bool in_order;
};

static DAT_RETURN post_all(void *arg)
{
        struct passing *passing = arg;
        DAT_RETURN ret = DAT_SUCCESS;

        for (int i = 0; passing->passed < PASSED && i < TRIES; i++) {
                DAT_EVENT event = se_event(passing->passed);

                ret = dat_evd_post_se(passing->evd, &event);
                if (dat_is(ret, DAT_SUCCESS))
                        passing->passed++;
                else if (!dat_is(ret, DAT_QUEUE_FULL))
                        break;
                sched_yield();
        }
        return ret;
}

static DAT_RETURN take_in_order(void *arg)
{
        struct passing *passing = arg;
        DAT_RETURN ret = DAT_SUCCESS;

        passing->in_order = true;
        for (int i = 0; passing->passed < PASSED && i < TRIES; i++) {
                DAT_EVENT event;

                ret = dat_evd_dequeue(passing->evd, &event);
                if (dat_is(ret, DAT_SUCCESS))
                        passing->in_order &=
                            event.event_data.software_event_data.pointer ==
                            se_event(passing->passed++).event_data.software_event_data.pointer;
                else if (!dat_is(ret, DAT_QUEUE_EMPTY))
                        break;
                sched_yield();
        }
        return ret;
}

CASE(evd_dequeue, beside_poster, DEADLINE_MS(20000))
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        struct stress stress = stress_of(t, 30);

        while (stress_round(&stress)) {
                struct passing posting = {.evd = evd};
                struct passing taking = {.evd = evd};
                struct racer racers[] = {
                    {.call = post_all, .arg = &posting},
                    {.call = take_in_order, .arg = &taking},
                };

                stress_met(&stress, race(racers, 2));
                for (int i = 0; i < 2; i++)
                        expect(racers[i].ret, DAT_SUCCESS);
                expect_eq(posting.passed, PASSED);
                expect_eq(taking.passed, PASSED);
                expect_that(taking.in_order, "the events were not taken in order");
                expect_empty(t, evd);
        }
        must_have_met(&stress);
}

CASE(evd_dequeue, async_event)
{
        DAT_EVD_HANDLE async = async_evd(t);
        struct armed armed = async_to_come(t);
        struct waiter *waiter = wait_on_evd(t, async, DAT_TIMEOUT_INFINITE, 1);
        DAT_EVENT event;

        must_wait(waiter);
        expect(dat_evd_dequeue(async, &event), DAT_INVALID_STATE);
        expect_asleep(waiter);
        must(dat_evd_set_unwaitable(async));
        (void)must_awake_by("dat_evd_set_unwaitable", waiter);
        must(dat_evd_clear_unwaitable(async));
        async_comes(t, &armed);

        event = expect_dequeued(t, async_evd(t));
        expect_async_about(&event, armed.queue.srq);
        expect_that(event.evd_handle == async_evd(t), "the event names another EVD");
        expect_empty(t, async_evd(t));
}

LEGAL(evd_dequeue)
{
        static DAT_EVENT event;

        call->evd_handle = se_evd(t, DAT_HANDLE_NULL);
        call->event = &event;
        post_ses(t, call->evd_handle, 0, 1);
}
