/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/later_event.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case/step.h"
#include "case/test.h"

#define WAITS_ONE_IN 8 /* cases of a run that is not thorough */

/* What an EP was told last. */
struct later_event {
        struct later_event *older;
        struct check_site site;
        DAT_EVD_HANDLE evd;
        DAT_EP_HANDLE ep;
        DAT_EVENT_NUMBER told;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* With the lock held. */
static struct later_event *told_to(struct test *t, DAT_EP_HANDLE ep)
{
        for (struct later_event *later = t->later; later; later = later->older)
                if (later->ep == ep)
                        return later;
        return NULL;
}

void later_event_told(struct test *t, const struct check_site *site, DAT_EP_HANDLE ep,
                      DAT_EVENT_NUMBER number)
{
        struct later_event *fresh = calloc(1, sizeof(*fresh));
        struct later_event *later;

        if (!fresh)
                resource(t, "no memory for what an EP was told");
        fresh->site = *site;
        fresh->evd = ep_connect_evd(t, ep);
        fresh->ep = ep;
        fresh->told = number;
        pthread_mutex_lock(&lock);
        later = told_to(t, ep);
        if (later) {
                fresh->older = later->older;
                *later = *fresh;
                free(fresh);
        } else {
                fresh->older = t->later;
                t->later = fresh;
        }
        pthread_mutex_unlock(&lock);
}

void later_event_forget(struct test *t, DAT_EP_HANDLE ep)
{
        struct later_event *later;

        pthread_mutex_lock(&lock);
        later = told_to(t, ep);
        if (later)
                later->ep = DAT_HANDLE_NULL;
        pthread_mutex_unlock(&lock);
}

/* What the EP was told last; false where that is not known. */
static bool last_told(struct test *t, DAT_EP_HANDLE ep, struct later_event *last)
{
        const struct later_event *later;

        pthread_mutex_lock(&lock);
        later = ep ? told_to(t, ep) : NULL;
        if (later)
                *last = *later;
        pthread_mutex_unlock(&lock);
        return later;
}

void later_event_expect(struct test *t, const struct check_site *site, DAT_EP_HANDLE ep,
                        DAT_EVENT_NUMBER number)
{
        DAT_EVENT event;

        memset(&event, 0, sizeof(event));
        check_expect(t, site, fixture_event_now(t, ep_connect_evd(t, ep), &event),
                     DAT_SET_(DAT_QUEUE_EMPTY), 1);
        later_event_told(t, site, ep, number);
}

static bool ends_connection(DAT_EVENT_NUMBER number)
{
        return number == DAT_CONNECTION_EVENT_DISCONNECTED || number == DAT_CONNECTION_EVENT_BROKEN;
}

static bool is_of_connection(DAT_EVENT_NUMBER number)
{
        return number >= DAT_CONNECTION_EVENT_ESTABLISHED &&
               number <= DAT_CONNECTION_EVENT_UNREACHABLE;
}

/* What is late is the page's if that or what came before it is; else other cases find it. */
static void judge(struct test *t, const DAT_EVENT *event)
{
        struct later_event later;
        char told[32], seen[32], expected[96];

        if (!is_of_connection(event->event_number) ||
            !last_told(t, event->event_data.connect_event_data.ep_handle, &later) ||
            !object_find(t, later.ep))
                return;
        if (later.told == DAT_CONNECTION_EVENT_ESTABLISHED && ends_connection(event->event_number))
                return;
        if (!step_brings(t->entry->page, later.told) &&
            !step_brings(t->entry->page, event->event_number))
                return;
        snprintf(expected, sizeof(expected), "no event after %s",
                 event_name(later.told, told, sizeof(told)));
        check_seen(t, &later.site, true, false, "", expected,
                   event_name(event->event_number, seen, sizeof(seen)));
}

static bool is_about_connections(const char *page)
{
        for (DAT_EVENT_NUMBER number = DAT_CONNECTION_EVENT_ESTABLISHED; is_of_connection(number);
             number++)
                if (step_brings(page, number))
                        return true;
        return false;
}

void later_events_look(struct test *t)
{
        DAT_EVENT event;

        if (!t->later || !is_about_connections(t->entry->page))
                return;
        if (t->settings->thorough || draw(t, WAITS_ONE_IN) == 0)
                settle(t);
        for (const struct later_event *later = t->later; later; later = later->older)
                while (object_find(t, later->evd) &&
                       dat_is(dat_evd_dequeue(later->evd, &event), DAT_SUCCESS))
                        judge(t, &event);
}
