/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for events, and for their absence. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "case/in_vain.h"
#include "case/poison.h"
#include "case/sleep_until.h"
#include "case/step.h"
#include "case/test.h"
#include "evidence/api.h"

#define US_PER_MS       1000
#define NS_PER_US       1000
#define SHORT_WAIT_US   1000
#define SHORTEST_GAP_NS UINT64_C(100000)
#define LONGEST_GAP_NS  UINT64_C(10000000)
#define MOST_LEFT       100000 /* events in a row: no case brings so many */

const char *event_name(DAT_EVENT_NUMBER number, char *space, size_t size)
{
        const char *name = api_member_name(api_enum_named("DAT_EVENT_NUMBER"), (uint64_t)number);

        if (name)
                return name;
        snprintf(space, size, "event 0x%x", (unsigned int)number);
        return space;
}

/* A call that a fixture makes on the case's behalf, at the case's place. */
static void call_failed(struct test *t, const struct check_site *site, const char *call,
                        DAT_RETURN ret)
{
        struct check_site named = {.file = site->file, .line = site->line, .text = call};

        check_arrange(t, &named, ret);
}

/* What a fixture waits for: `wanted` in words, and its number, by which its call is known. */
struct awaited {
        const char *wanted;
        DAT_EVENT_NUMBER number;
        bool clause;
        void (*unless)(void *arg); /* called if it did not come; may end the case */
        void *arg;
};

static void event_seen(struct test *t, const struct check_site *site, const struct awaited *awaited,
                       bool ok, const char *seen)
{
        if (!ok && awaited->unless)
                awaited->unless(awaited->arg);
        if (!ok && awaited->number == DAT_CONNECTION_EVENT_ESTABLISHED)
                accepts_must_show(t, awaited->clause);
        if (!ok && (awaited->number == DAT_CONNECTION_REQUEST_EVENT ||
                    awaited->number == DAT_CONNECTION_EVENT_ESTABLISHED))
                connects_must_show(t, awaited->clause);
        check_seen(t, site, awaited->clause, ok, ok ? "" : step_of_event(awaited->number),
                   awaited->wanted, seen);
}

/*
 * What was seen in place of an event for which `us` microseconds were waited. A wait that ended
 * long before its time says nothing of what should have brought the event: then a step is broken by
 * dat_evd_wait().
 */
static void no_event(struct test *t, const struct check_site *site, bool clause, uint64_t us,
                     char *seen, size_t size)
{
        snprintf(seen, size, "no event within %u ms", t->settings->event_ms);
        if (us >= (uint64_t)t->settings->event_ms * US_PER_MS / 2)
                return;
        snprintf(seen, size, "DAT_TIMEOUT_EXPIRED after %" PRIu64 " us of %u ms", us,
                 t->settings->event_ms);
        if (!clause && !is_of_page(t, "evd_wait"))
                step_failed(t, site, "dat_evd_wait", seen, "dat_evd_wait returned %s", seen);
}

/* Whether events are taken by the other call, because a probe got no answer from this one. */
static bool does_without(struct test *t, enum unasked call, const char *page, enum unasked other)
{
        return !is_of_page(t, page) && !t->settings->probe->unasked[other][0] && !is_asked(t, call);
}

/* Takes the event that comes within `us` microseconds, and tells by which call. */
static DAT_RETURN take_within(struct test *t, DAT_EVD_HANDLE evd, DAT_TIMEOUT us, DAT_EVENT *event,
                              const char **call)
{
        uint64_t until = now_ns() + (uint64_t)us * NS_PER_US;
        uint64_t gap = SHORTEST_GAP_NS;
        DAT_COUNT more;
        DAT_RETURN ret;

        *call = "dat_evd_wait";
        if (!does_without(t, UNASKED_EVD_WAIT, "evd_wait", UNASKED_EVD_DEQUEUE))
                return dat_evd_wait(evd, us, 1, event, &more);
        *call = "dat_evd_dequeue";
        while (dat_is(ret = dat_evd_dequeue(evd, event), DAT_QUEUE_EMPTY)) {
                uint64_t now = now_ns();

                if (now >= until)
                        return DAT_TIMEOUT_EXPIRED;
                sleep_until(now + gap < until ? now + gap : until);
                gap = gap < LONGEST_GAP_NS ? 2 * gap : gap;
        }
        return ret;
}

/* Takes the event that is there, and tells by which call. */
static DAT_RETURN take_now(struct test *t, DAT_EVD_HANDLE evd, DAT_EVENT *event, const char **call)
{
        DAT_COUNT more;
        DAT_RETURN ret;

        if (does_without(t, UNASKED_EVD_DEQUEUE, "evd_dequeue", UNASKED_EVD_WAIT)) {
                *call = "dat_evd_wait";
                ret = dat_evd_wait(evd, SHORT_WAIT_US, 1, event, &more);
                /* On an EVD that is unwaitable, or has a waiter, no other call takes events. */
                if (!dat_is(ret, DAT_INVALID_STATE))
                        return dat_is(ret, DAT_TIMEOUT_EXPIRED) ? DAT_QUEUE_EMPTY : ret;
        }
        *call = "dat_evd_dequeue";
        return dat_evd_dequeue(evd, event);
}

DAT_RETURN fixture_event_now(struct test *t, DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
        const char *call;

        return take_now(t, evd, event, &call);
}

bool event_left(struct test *t, DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
        static DAT_EVD_HANDLE drained;
        static unsigned int in_a_row;

        if (evd != drained)
                in_a_row = 0;
        drained = evd;
        if (!dat_is(dat_evd_dequeue(evd, event), DAT_SUCCESS)) {
                in_a_row = 0;
                return false;
        }
        if (++in_a_row > MOST_LEFT)
                step_failed(t, STEP_SITE_(t), "dat_evd_dequeue", "DAT_QUEUE_EMPTY at last",
                            "dat_evd_dequeue gave %d events, and then another one", MOST_LEFT);
        return true;
}

/*
 * Waits for one event. If none comes, the clause is not kept, or the step's call has not brought
 * it.
 */
static void wait_event(struct test *t, const struct check_site *site, DAT_EVD_HANDLE evd,
                       const struct awaited *awaited, DAT_EVENT *event)
{
        uint64_t begun_ns = now_ns();
        const char *call;
        char seen[64];
        DAT_RETURN ret;

        memset(event, 0, sizeof(*event));
        ret = take_within(t, evd, event_timeout(t), event, &call);
        if (dat_is(ret, DAT_SUCCESS) && event->event_number == 0 && !is_of_page(t, "evd_wait"))
                step_failed(t, site, call, "DAT_SUCCESS, and no event was written",
                            "%s returned DAT_SUCCESS and wrote no event", call);
        if (dat_is(ret, DAT_SUCCESS))
                return;
        if (!dat_is(ret, DAT_TIMEOUT_EXPIRED))
                call_failed(t, site, call, ret);
        no_event(t, site, awaited->clause, (now_ns() - begun_ns) / 1000, seen, sizeof(seen));
        event_seen(t, site, awaited, false, seen);
}

DAT_EVENT fixture_event(struct test *t, const struct check_site *site, DAT_EVD_HANDLE evd,
                        DAT_EVENT_NUMBER number, bool clause)
{
        return fixture_event_unless(t, site, evd, number, clause, NULL, NULL);
}

/* Teardown has no other handle of it. */
static void know_request(struct test *t, const DAT_CR_ARRIVAL_EVENT_DATA *data)
{
        struct object *point = object_find(t, data->sp_handle.rsp_handle);

        if (point && point->kind == OBJECT_RSP)
                point->request = data->cr_handle;
}

static bool tells_rejection(DAT_EVENT_NUMBER number)
{
        return number == DAT_CONNECTION_EVENT_PEER_REJECTED ||
               number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
}

static bool tells_end(DAT_EVENT_NUMBER number)
{
        return number == DAT_CONNECTION_EVENT_DISCONNECTED || number == DAT_CONNECTION_EVENT_BROKEN;
}

/*
 * A step needs to know that a request was rejected, or that a connection is over. Which of two
 * events tells it is for the clauses that promise the event.
 */
static bool is_as_awaited(const struct awaited *awaited, DAT_EVENT_NUMBER seen)
{
        if (awaited->clause)
                return seen == awaited->number;
        return seen == awaited->number ||
               (tells_rejection(awaited->number) && tells_rejection(seen)) ||
               (tells_end(awaited->number) && tells_end(seen));
}

DAT_EVENT fixture_event_unless(struct test *t, const struct check_site *site, DAT_EVD_HANDLE evd,
                               DAT_EVENT_NUMBER number, bool clause, void (*unless)(void *arg),
                               void *arg)
{
        char wanted_space[32];
        char seen_space[32];
        struct awaited awaited = {
            .wanted = event_name(number, wanted_space, sizeof(wanted_space)),
            .number = number,
            .clause = clause,
            .unless = unless,
            .arg = arg,
        };
        const char *seen;
        DAT_EVENT event;
        bool ok;

        wait_event(t, site, evd, &awaited, &event);
        seen = event_name(event.event_number, seen_space, sizeof(seen_space));
        ok = is_as_awaited(&awaited, event.event_number);
        if (ok && event.event_number != number) {
                record(t, "%s tells what %s should", seen, awaited.wanted);
                awaited.wanted = seen;
        }
        event_seen(t, site, &awaited, ok, seen);
        if (number == DAT_CONNECTION_REQUEST_EVENT)
                know_request(t, &event.event_data.cr_arrival_event_data);
        return event;
}

static const struct awaited about_object = {
    .wanted = "an asynchronous event about the object",
    .clause = true,
};

void fixture_async_about(struct test *t, const struct check_site *site, const DAT_EVENT *event,
                         DAT_HANDLE handle)
{
        bool own = event->event_number >= DAT_ASYNC_ERROR_EVD_OVERFLOW &&
                   event->event_number <= DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR &&
                   event->event_data.asynch_error_event_data.dat_handle == handle;
        char space[32];
        char seen[64];

        snprintf(seen, sizeof(seen), "%s about %s",
                 event_name(event->event_number, space, sizeof(space)),
                 own ? "it" : "something else");
        event_seen(t, site, &about_object, own, seen);
}

void fixture_async_event(struct test *t, const struct check_site *site, DAT_HANDLE handle)
{
        DAT_EVENT event;

        wait_event(t, site, t->async_evd, &about_object, &event);
        fixture_async_about(t, site, &event, handle);
}

DAT_DTO_COMPLETION_EVENT_DATA fixture_dto(struct test *t, const struct check_site *site,
                                          DAT_EVD_HANDLE evd, bool clause)
{
        const struct awaited awaited = {
            .wanted = "DAT_DTO_COMPLETION_EVENT with DAT_DTO_SUCCESS",
            .number = DAT_DTO_COMPLETION_EVENT,
            .clause = clause,
        };
        const DAT_DTO_COMPLETION_EVENT_DATA *dto;
        char space[32];
        char seen[128];
        const char *name;
        DAT_EVENT event;

        wait_event(t, site, evd, &awaited, &event);
        dto = &event.event_data.dto_completion_event_data;
        name = event_name(event.event_number, space, sizeof(space));
        if (event.event_number != DAT_DTO_COMPLETION_EVENT) {
                event_seen(t, site, &awaited, false, name);
        } else {
                snprintf(seen, sizeof(seen), "%s, cookie %" PRIu64 ", %" PRIu64 " bytes",
                         api_status_name(dto->status), dto->user_cookie.as_64,
                         (uint64_t)dto->transfered_length);
                event_seen(t, site, &awaited, dto->status == DAT_DTO_SUCCESS, seen);
        }
        check_guards(t);
        return *dto;
}

/*
 * Waits one quiet period for an event, the whole of it even where the provider answers early.
 * Returns whether one came.
 */
static bool quiet_period(struct test *t, const struct check_site *site, DAT_EVD_HANDLE evd,
                         DAT_EVENT *event)
{
        uint64_t start = now_ns();
        const char *call;
        DAT_RETURN ret;

        memset(event, 0, sizeof(*event));
        ret = take_within(t, evd, t->settings->quiet_ms * US_PER_MS, event, &call);
        if (dat_is(ret, DAT_SUCCESS))
                return true;
        if (!dat_is(ret, DAT_TIMEOUT_EXPIRED))
                call_failed(t, site, call, ret);
        if (!sleep_until(start + (uint64_t)t->settings->quiet_ms * 1000000))
                return false;
        ret = take_now(t, evd, event, &call);
        if (!dat_is(ret, DAT_QUEUE_EMPTY))
                call_failed(t, site, call, ret);
        return dat_is(ret, DAT_SUCCESS);
}

void fixture_quiet(struct test *t, const struct check_site *site, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;
        char space[32];
        bool came = quiet_period(t, site, evd, &event);

        check_seen(t, site, true, !came, "", "no event",
                   came ? event_name(event.event_number, space, sizeof(space)) : "no event");
}

bool drain_async_event(struct test *t)
{
        DAT_EVENT event;

        return quiet_period(t, CHECK_SITE_("drain_async_event(t)"), t->async_evd, &event);
}

DAT_TIMEOUT event_timeout(struct test *t)
{
        return t->settings->event_ms * US_PER_MS;
}

void settle(struct test *t)
{
        sleep_until(now_ns() + (uint64_t)t->settings->quiet_ms * 1000000);
}

void outlast_defaults(void)
{
        sleep_until(now_ns() + UINT64_C(2500000000));
}

void settle_briefly(struct test *t)
{
        sleep_until(now_ns() + (uint64_t)t->settings->quiet_ms * 100000);
}
