/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/shared/under_way.h"

#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "case/transport.h"
#include "cases/shared/loop.h"

#define HELD UINT64_C(0xae1d) /* the send's cookie */

bool under_way_hold(struct test *t, DAT_EP_HANDLE from, const struct buf *buf)
{
        if (host_is_iwarp())
                return false;
        loop_post_send(t, from, buf, HELD);
        return true;
}

void under_way_release(struct test *t, DAT_EP_HANDLE from, DAT_EP_HANDLE to, const struct buf *buf)
{
        const DAT_DTO_COMPLETION_EVENT_DATA *dto;
        DAT_EVENT event;

        loop_post_recv(t, to, buf, HELD);
        event = must_event(ep_request_evd(t, from), DAT_DTO_COMPLETION_EVENT);
        dto = &event.event_data.dto_completion_event_data;
        if (dto->user_cookie.as_64 == HELD && dto->status != DAT_DTO_SUCCESS)
                end_noted(t, "the send that waits for a receive failed with status %d",
                          (int)dto->status);
        must_that_of("dat_ep_post_send", dto->user_cookie.as_64 == HELD,
                     "the first completion is not that of the first request");
}

void expect_under_way_flushed(struct test *t, DAT_EP_HANDLE from)
{
        DAT_EVENT event = expect_event(ep_request_evd(t, from), DAT_DTO_COMPLETION_EVENT);
        const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

        expect_eq(dto->user_cookie.as_64, HELD);
        expect_that(dto->status != DAT_DTO_SUCCESS, "a send without a receive succeeded");
}

struct under_way under_way_before(struct test *t, DAT_EVD_HANDLE evd, size_t count, const char *act)
{
        struct under_way requests = {.evd = evd, .count = count};

        suite_that(count <= UNDER_WAY_MOST, "%zu requests are under way", count);
        while (requests.early < count &&
               dat_is(dat_evd_dequeue(evd, &requests.events[requests.early]), DAT_SUCCESS))
                requests.early++;
        record(t, "%zu of %zu requests were complete before %s", requests.early, count, act);
        if (requests.early == count)
                note(t, "all %zu requests were complete before %s: none was under way", count, act);
        return requests;
}

DAT_DTO_COMPLETION_EVENT_DATA under_way_next(struct test *t, struct under_way *requests)
{
        DAT_EVENT event;

        if (requests->taken < requests->early)
                event = requests->events[requests->taken];
        else
                event = expect_event(requests->evd, DAT_DTO_COMPLETION_EVENT);
        requests->taken++;
        expect_eq(event.event_number, DAT_DTO_COMPLETION_EVENT);
        return event.event_data.dto_completion_event_data;
}

/* Threads of this policy are not scheduled at once when they are woken. A process needs no right
 * for it. */
void under_way_keep_processor(void)
{
        static const struct sched_param param = {.sched_priority = 0};
        DIR *threads = opendir("/proc/self/task");
        const struct dirent *entry;

        while (threads && (entry = readdir(threads))) {
                pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);

                if (thread > 0 && thread != gettid())
                        sched_setscheduler(thread, SCHED_BATCH, &param);
        }
        if (threads)
                closedir(threads);
}
