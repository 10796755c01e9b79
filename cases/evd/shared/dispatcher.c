/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/evd/shared/dispatcher.h"

#include "case/test.h"

#include <string.h>

#define MOST_NOTICES 1000 /* no case has so many EVDs */

#define EACH_BYTE ((uintptr_t)-1 / 255) /* 0x01 in each byte */

DAT_EVD_HANDLE se_evd(struct test *t, DAT_CNO_HANDLE cno)
{
        return evd_with(t, .qlen = SE_QLEN, .flags = DAT_EVD_SOFTWARE_FLAG, .cno = cno);
}

DAT_CNO_HANDLE cno_new(struct test *t)
{
        DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;

        must(dat_cno_create(ia(t), DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
        adopt(t, DAT_HANDLE_TYPE_CNO, cno);
        return cno;
}

DAT_EVENT se_event(unsigned int number)
{
        DAT_EVENT event;

        memset(&event, 0, sizeof(event));
        event.event_number = DAT_SOFTWARE_EVENT;
        event.event_data.software_event_data.pointer =
            (DAT_PVOID)((number + 1) * EACH_BYTE); /* NOLINT(performance-no-int-to-ptr) */
        return event;
}

void post_ses(struct test *t, DAT_EVD_HANDLE evd, unsigned int first, int count)
{
        for (int i = 0; i < count; i++) {
                DAT_EVENT event = se_event(first + (unsigned int)i);

                must(dat_evd_post_se(evd, &event));
        }
}

/* The number of the later event that has this pointer, or `number` if none of the next has. */
static unsigned int later_se(const void *pointer, unsigned int number)
{
        for (unsigned int i = number + 1; i <= number + SE_QLEN; i++)
                if (se_event(i).event_data.software_event_data.pointer == pointer)
                        return i;
        return number;
}

void expect_se(struct test *t, DAT_EVD_HANDLE evd, const DAT_EVENT *event, unsigned int number)
{
        DAT_EVENT wanted = se_event(number);
        unsigned int came = later_se(event->event_data.software_event_data.pointer, number);

        expect_eq(event->event_number, DAT_SOFTWARE_EVENT);
        expect_that(event->evd_handle == evd, "the event names another EVD");
        expect_that(came == number, "software event %u came, and %u not before it", came, number);
        expect_that(event->event_data.software_event_data.pointer ==
                        wanted.event_data.software_event_data.pointer,
                    "pointer %p, not that of software event %u",
                    event->event_data.software_event_data.pointer, number);
}

void expect_ses(struct test *t, DAT_EVD_HANDLE evd, unsigned int first, int count)
{
        for (int i = 0; i < count; i++) {
                DAT_EVENT event;

                memset(&event, 0xa5, sizeof(event));
                expect(fixture_event_now(t, evd, &event), DAT_SUCCESS);
                expect_se(t, evd, &event, first + (unsigned int)i);
        }
}

void expect_empty(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;

        memset(&event, 0, sizeof(event));
        expect(fixture_event_now(t, evd, &event), DAT_QUEUE_EMPTY);
}

void expect_notified(struct test *t, DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd)
{
        DAT_EVD_HANDLE named = DAT_HANDLE_NULL;

        expect(dat_cno_wait(cno, event_timeout(t), &named), DAT_SUCCESS);
        expect_that(named == evd, "the CNO names another EVD");
}

void expect_no_notice(struct test *t, DAT_CNO_HANDLE cno)
{
        DAT_EVD_HANDLE named = DAT_HANDLE_NULL;

        settle(t);
        expect(dat_cno_wait(cno, 0, &named), DAT_QUEUE_EMPTY);
}

void forget_notice(DAT_CNO_HANDLE cno)
{
        DAT_EVD_HANDLE named = DAT_HANDLE_NULL;

        (void)dat_cno_wait(cno, 0, &named);
}

void forget_notices(struct test *t, DAT_CNO_HANDLE cno)
{
        DAT_EVD_HANDLE named = DAT_HANDLE_NULL;
        int notices = 0;

        while (dat_is(dat_cno_wait(cno, 0, &named), DAT_SUCCESS))
                if (++notices > MOST_NOTICES)
                        step_failed(t, STEP_SITE_(t), "dat_cno_wait", "DAT_QUEUE_EMPTY at last",
                                    "dat_cno_wait told of %d events, and then of another one",
                                    MOST_NOTICES);
}

void drain_evd(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;

        while (event_left(t, evd, &event))
                ;
}

DAT_EVD_PARAM evd_param(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVD_PARAM param;

        memset(&param, 0xa5, sizeof(param));
        must(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
        return param;
}
