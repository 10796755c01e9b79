/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * That nothing more comes. A look at once misses an event that comes late, and a quiet period in
 * each place is too long for a run. So a case says what its EPs were told, and one look at its end
 * is for all of them (docs/decisions/0246-late-events.md).
 */
#ifndef HARNESS_LATER_EVENT_H
#define HARNESS_LATER_EVENT_H

#include "case.h"

/*
 * told_last(ep, number): this was the EP's last connection event. Until the next one that the case
 * records, or its end, no event contradicts that: after an established connection only its end may
 * come, after any other event nothing. An event that comes late is FAIL on a page whose call brings
 * one of the two, and nothing on others. expect_no_later_event(): the same, and the EP's connect
 * EVD is empty now.
 */
#define told_last(ep_, number_) later_event_told(t, TOLD_SITE_(#ep_), (ep_), (number_))
#define expect_no_later_event(ep_, number_) \
        later_event_expect(t, TOLD_SITE_(#ep_), (ep_), (number_))
#define TOLD_SITE_(text_) CHECK_SITE_("no event of " text_ " after its last")
void later_event_told(struct test *t, const struct check_site *site, DAT_EP_HANDLE ep,
                      DAT_EVENT_NUMBER number);
void later_event_expect(struct test *t, const struct check_site *site, DAT_EP_HANDLE ep,
                        DAT_EVENT_NUMBER number);

/*
 * The EP was reset or freed: it has no last event any more, and its handle may become another EP's.
 * Any thread may say so.
 */
void later_event_forget(struct test *t, DAT_EP_HANDLE ep);

/*
 * The look at the end of the body. It waits a quiet period first, if the run is thorough or the
 * case draws so.
 */
void later_events_look(struct test *t);

#endif
