/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps of EVDs and CNOs, and waits on threads of their own. */
#include <string.h>

#include "case.h"
#include "case/sleep_until.h"
#include "walk.h"

/* So long a wait without a timeout may continue before it is ended, in milliseconds. */
#define ENDLESS_MS 700

static DAT_RETURN evd_create(struct walk *walk, const long *arg)
{
        DAT_EVD_HANDLE made = DAT_HANDLE_NULL;

        if (!walk_is_free(walk, arg[0], EVD))
                return walk->said;
        return walk_keep(walk, arg[0],
                         dat_evd_create(walk_ia_of(walk, arg[0]), count_of(arg[1]),
                                        walk_object(walk, arg[2]), (DAT_EVD_FLAGS)arg[3], &made),
                         &made);
}

static DAT_RETURN evd_query(struct walk *walk, const long *arg)
{
        DAT_EVD_PARAM param;

        return dat_evd_query(walk_object(walk, arg[0]), MASK(arg[1], DAT_EVD_FIELD_ALL), &param);
}

static DAT_RETURN evd_modify_cno(struct walk *walk, const long *arg)
{
        return dat_evd_modify_cno(walk_object(walk, arg[0]), walk_object(walk, arg[1]));
}

static DAT_RETURN evd_enable(struct walk *walk, const long *arg)
{
        return dat_evd_enable(walk_object(walk, arg[0]));
}

static DAT_RETURN evd_disable(struct walk *walk, const long *arg)
{
        return dat_evd_disable(walk_object(walk, arg[0]));
}

static DAT_RETURN evd_set_unwaitable(struct walk *walk, const long *arg)
{
        return dat_evd_set_unwaitable(walk_object(walk, arg[0]));
}

static DAT_RETURN evd_clear_unwaitable(struct walk *walk, const long *arg)
{
        return dat_evd_clear_unwaitable(walk_object(walk, arg[0]));
}

static DAT_RETURN evd_post_se(struct walk *walk, const long *arg)
{
        DAT_EVENT event;

        memset(&event, 0, sizeof(event));
        event.event_number = DAT_SOFTWARE_EVENT;
        event.event_data.software_event_data.pointer = walk;
        return dat_evd_post_se(walk_object(walk, arg[0]), &event);
}

/*
 * A connection request that was taken goes to its slot; it is rejected where that has one. The
 * private data of an acceptance is looked at again later.
 */
static void take_event(struct walk *walk, long evd, long number, const char *clause, DAT_RETURN ret,
                       const DAT_EVENT *event)
{
        const DAT_CONNECTION_EVENT_DATA *data = &event->event_data.connect_event_data;
        DAT_CR_HANDLE request;

        if (!dat_is(ret, DAT_SUCCESS))
                return;
        if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
                walk_remember(walk, data->ep_handle, clause, data->private_data,
                              data->private_data_size);
        if (event->event_number != DAT_CONNECTION_REQUEST_EVENT)
                return;
        request = event->event_data.cr_arrival_event_data.cr_handle;
        if (walk_is_free(walk, number, CR)) {
                walk_keep(walk, number, ret, &request);
                walk_belongs(walk, number, evd);
        } else {
                dat_cr_reject(request);
        }
}

static DAT_RETURN evd_dequeue(struct walk *walk, const long *arg)
{
        DAT_EVENT event;
        DAT_RETURN ret = dat_evd_dequeue(walk_object(walk, arg[0]), &event);

        take_event(walk, arg[0], arg[1], "evd_dequeue/private_data_lasts", ret, &event);
        return ret;
}

static DAT_RETURN evd_wait(struct walk *walk, const long *arg)
{
        DAT_EVENT event;
        DAT_COUNT more;
        DAT_RETURN ret = dat_evd_wait(walk_object(walk, arg[0]), (DAT_TIMEOUT)(arg[2] * US_PER_MS),
                                      count_of(arg[3]), &event, &more);

        take_event(walk, arg[0], arg[1], "evd_wait/private_data_lasts", ret, &event);
        return ret;
}

static bool awakes(struct sleeper *sleeper)
{
        uint64_t until_ns = now_ns() + ENDLESS_MS * NS_PER_MS;

        while (is_waiting(sleeper->waiter) && now_ns() < until_ns)
                sleep_until(now_ns() + NS_PER_MS);
        return !is_waiting(sleeper->waiter);
}

/*
 * Ends a wait without a timeout that no event has ended: on an EVD as the pages have it, and on a
 * CNO by an event on an EVD of its own.
 */
static void rouse(struct walk *walk, const struct sleeper *sleeper)
{
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
        DAT_EVENT event;

        if (sleeper->kind == EVD) {
                dat_evd_set_unwaitable(sleeper->handle);
                dat_evd_clear_unwaitable(sleeper->handle);
                return;
        }
        if (!dat_is(dat_evd_create(walk_ia_of(walk, sleeper->on), 1, sleeper->handle,
                                   DAT_EVD_SOFTWARE_FLAG, &evd),
                    DAT_SUCCESS))
                return;
        memset(&event, 0, sizeof(event));
        event.event_number = DAT_SOFTWARE_EVENT;
        dat_evd_post_se(evd, &event);
        sleep_until(now_ns() + ENDLESS_MS * NS_PER_MS);
        dat_evd_free(evd);
}

void walk_join(struct walk *walk, long number)
{
        struct test *t = walk->t;

        for (unsigned int i = 0; i < walk->sleeper_count; i++) {
                struct sleeper *sleeper = &walk->sleepers[i];
                struct woken woken;

                if (sleeper->endless && !awakes(sleeper))
                        rouse(walk, sleeper);
                woken = expect_awake(sleeper->waiter);
                walk->said = woken.ret;
                if (sleeper->kind == EVD)
                        take_event(walk, sleeper->on, number, "evd_wait/private_data_lasts",
                                   woken.ret, &woken.event);
                waiter_end(t, sleeper->waiter);
        }
        walk->sleeper_count = 0;
}

/* What a wait that has begun says is known when it ends. */
static DAT_RETURN waits(struct walk *walk, const long *arg, enum kind kind, struct waiter *waiter)
{
        walk->sleepers[walk->sleeper_count++] =
            (struct sleeper){.waiter = waiter,
                             .kind = kind,
                             .on = arg[0],
                             .handle = walk_object(walk, arg[0]),
                             .endless = arg[1] < 0};
        waiter_settles(walk->t, waiter);
        return DAT_SUCCESS;
}

/* A negative time is no timeout. */
static DAT_TIMEOUT timeout_of(long ms)
{
        return ms < 0 ? DAT_TIMEOUT_INFINITE : (DAT_TIMEOUT)(ms * US_PER_MS);
}

static DAT_RETURN evd_waiter(struct walk *walk, const long *arg)
{
        if (walk->sleeper_count == WAITERS)
                walk_join(walk, NO_OBJECT);
        return waits(
            walk, arg, EVD,
            wait_on_evd(walk->t, walk_object(walk, arg[0]), timeout_of(arg[1]), count_of(arg[2])));
}

static DAT_RETURN cno_waiter(struct walk *walk, const long *arg)
{
        if (walk->sleeper_count == WAITERS)
                walk_join(walk, NO_OBJECT);
        return waits(walk, arg, CNO,
                     wait_on_cno(walk->t, walk_object(walk, arg[0]), timeout_of(arg[1])));
}

static DAT_RETURN evd_join(struct walk *walk, const long *arg)
{
        walk_join(walk, arg[0]);
        return walk->said;
}

/* A thread on the EVD keeps waiting only where the provider declares to be safe for threads. */
static DAT_RETURN evd_resize(struct walk *walk, const long *arg)
{
        walk_join(walk, NO_OBJECT);
        return dat_evd_resize(walk_object(walk, arg[0]), count_of(arg[1]));
}

static DAT_RETURN evd_free(struct walk *walk, const long *arg)
{
        return walk_gone(walk, arg[0], dat_evd_free(walk_object(walk, arg[0])));
}

static DAT_RETURN cno_create(struct walk *walk, const long *arg)
{
        DAT_CNO_HANDLE made = DAT_HANDLE_NULL;

        if (!walk_is_free(walk, arg[0], CNO))
                return walk->said;
        return walk_keep(
            walk, arg[0],
            dat_cno_create(walk_ia_of(walk, arg[0]), DAT_OS_WAIT_PROXY_AGENT_NULL, &made), &made);
}

/* What a provider may call, on a thread of its own. */
static void agent(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
        (void)instance;
        (void)evd;
}

static DAT_RETURN cno_modify_agent(struct walk *walk, const long *arg)
{
        DAT_OS_WAIT_PROXY_AGENT given = {
            .instance_data = walk,
            .proxy_agent_func = agent,
        };

        return dat_cno_modify_agent(walk_object(walk, arg[0]),
                                    arg[1] ? given : DAT_OS_WAIT_PROXY_AGENT_NULL);
}

static DAT_RETURN cno_query(struct walk *walk, const long *arg)
{
        DAT_CNO_PARAM param;

        return dat_cno_query(walk_object(walk, arg[0]), MASK(arg[1], DAT_CNO_FIELD_ALL), &param);
}

static DAT_RETURN cno_wait(struct walk *walk, const long *arg)
{
        DAT_EVD_HANDLE evd;

        return dat_cno_wait(walk_object(walk, arg[0]), (DAT_TIMEOUT)(arg[1] * US_PER_MS), &evd);
}

/* No page says what happens to a thread that waits on a CNO that is freed. */
static DAT_RETURN cno_free(struct walk *walk, const long *arg)
{
        walk_join(walk, NO_OBJECT);
        return walk_gone(walk, arg[0], dat_cno_free(walk_object(walk, arg[0])));
}

const struct move event_moves[] = {
    STEP(evd_create, 4),
    STEP(evd_query, 2),
    STEP(evd_resize, 2),
    STEP(evd_modify_cno, 2),
    STEP(evd_enable, 1),
    STEP(evd_disable, 1),
    STEP(evd_set_unwaitable, 1),
    STEP(evd_clear_unwaitable, 1),
    STEP(evd_post_se, 1),
    STEP(evd_dequeue, 2),
    STEP(evd_wait, 4),
    STEP(evd_waiter, 3),
    STEP(evd_join, 1),
    STEP(evd_free, 1),
    STEP(cno_create, 1),
    STEP(cno_modify_agent, 2),
    STEP(cno_query, 2),
    STEP(cno_wait, 2),
    STEP(cno_waiter, 2),
    STEP(cno_free, 1),
    {.name = NULL},
};
