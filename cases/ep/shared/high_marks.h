/* SPDX-License-Identifier: BSD-2-Clause */
/* High watermarks of an EP with an SRQ, set so that the first message exceeds one of them. */
#ifndef CASES_EP_HIGH_MARKS_H
#define CASES_EP_HIGH_MARKS_H

#include "case.h"

static const struct high_marks {
        const char *id;
        DAT_COUNT soft;
        DAT_COUNT hard;
} high_marks[] = {
    {"soft", 0, DAT_WATERMARK_INFINITE},
    {"hard", DAT_WATERMARK_INFINITE, 0},
};

/* The mark has its effect: the EP has taken a receive. */
static inline void expect_high_mark_exceeded(struct test *t, DAT_EP_HANDLE ep,
                                             const struct high_marks *marks)
{
        if (marks->soft == 0)
                expect_async_event(ep);
        else
                expect_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_BROKEN);
}

#endif
