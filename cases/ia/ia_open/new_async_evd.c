/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_open: the asynchronous EVD that the call creates. */
#include "case/poison.h"
#include "case/standard.h"
#include "cases/handle/shared/object.h"
#include "cases/ia/ia_open/fixtures.h"
#include "cases/ia/shared/instance.h"
#include "cases/registry/shared/under_test.h"
#include "cases/shared/point.h"
#include "cases/shared/usage.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ia_open.h"

#include <limits.h>
#include <string.h>
#include <sys/resource.h>

#define HELD 8 /* events at once, of the many places that the case's IA was opened with */

CASE(ia_open, async_made)
{
        struct instance instance = instance_new(t);
        DAT_HANDLE_TYPE type = (DAT_HANDLE_TYPE)-1;
        DAT_EVD_PARAM param;

        expect_that(instance.async != DAT_HANDLE_NULL, "no asynchronous EVD was made");
        expect(dat_get_handle_type(instance.async, &type), DAT_SUCCESS);
        expect_eq(type, DAT_HANDLE_TYPE_EVD);
        param = evd_param(t, instance.async);
        expect_that(param.evd_flags & DAT_EVD_ASYNC_FLAG, "the EVD takes no asynchronous events");
        expect_that(param.ia_handle == instance.ia, "the EVD is of another IA");
        expect_that(async_told(t, instance.ia) == instance.async,
                    "the instance tells another async_evd_handle");
}

CASE(ia_open, async_has_no_cno)
{
        struct instance instance = instance_new(t);

        expect_that(evd_param(t, instance.async).cno_handle == DAT_HANDLE_NULL,
                    "the asynchronous EVD has a CNO");
}

CASE(ia_open, async_takes_cno)
{
        DAT_CNO_HANDLE cno = cno_new(t);

        expect(dat_evd_modify_cno(async_evd(t), cno), DAT_SUCCESS);
        expect_that(evd_param(t, async_evd(t)).cno_handle == cno, "the EVD has another CNO");
        expect(dat_evd_modify_cno(async_evd(t), DAT_HANDLE_NULL), DAT_SUCCESS);
        expect_that(evd_param(t, async_evd(t)).cno_handle == DAT_HANDLE_NULL, "the EVD has a CNO");
}

CASE(ia_open, async_resizes)
{
        struct instance instance = instance_with(t, 8, DAT_HANDLE_NULL);
        DAT_COUNT wanted = places(t, 100);

        expect(dat_evd_resize(instance.async, wanted), DAT_SUCCESS);
        expect_that(evd_param(t, instance.async).evd_qlen >= wanted,
                    "the EVD has %d places, not %d", evd_param(t, instance.async).evd_qlen, wanted);
        expect_that(async_told(t, instance.ia) == instance.async,
                    "the instance tells another async_evd_handle");
}

FAMILY(ia_open, async_length, lengths)
{
        DAT_COUNT qlen = row->qlen ? places(t, row->qlen) : ia_attr(t)->max_evd_qlen;
        struct instance instance = instance_with(t, qlen, DAT_HANDLE_NULL);

        expect_that(evd_param(t, instance.async).evd_qlen >= qlen, "the EVD has %d places, not %d",
                    evd_param(t, instance.async).evd_qlen, qlen);
}

/* No place is refused, or given as the provider's least. */
CASE(ia_open, async_length_zero)
{
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_HANDLE made = DAT_HANDLE_NULL;
        DAT_RETURN ret = expect_may(dat_ia_open(ia_name(t), 0, &async, &made), DAT_SUCCESS,
                                    DAT_INVALID_PARAMETER);

        if (dat_is(ret, DAT_SUCCESS)) {
                adopt(t, DAT_HANDLE_TYPE_IA, made);
                expect_that(async_told(t, made) == async, "the instance tells another EVD");
                expect_instance_works(t, made);
        }
        (void)instance_new(t);
}

/* More places than any EVD has: refused, or given. */
CASE(ia_open, async_length_beyond)
{
        struct usage before = usage_now(t);
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_HANDLE made = DAT_HANDLE_NULL;
        DAT_RETURN ret = expect_may(dat_ia_open(ia_name(t), INT_MAX, &async, &made), DAT_SUCCESS,
                                    DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER);

        if (dat_is(ret, DAT_SUCCESS)) {
                adopt(t, DAT_HANDLE_TYPE_IA, made);
                expect_eq(evd_param(t, async).evd_qlen, INT_MAX);
                return;
        }
        expect_nothing_left(t, &before, "an open that was refused");
        (void)instance_new(t);
}

static const struct length negatives[] = {
    {"minus_one", -1},
    {"most_negative", INT_MIN},
};

FAMILY(ia_open, async_length_negative, negatives)
{
        struct usage before = usage_now(t);
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_HANDLE made = DAT_HANDLE_NULL;

        expect(dat_ia_open(ia_name(t), row->qlen, &async, &made), DAT_INVALID_PARAMETER);

        expect_nothing_left(t, &before, "an open that was refused");
        (void)instance_new(t);
}

/* Events of as many SRQs stand on the EVD at once; each is taken afterwards, in any order. */
CASE(ia_open, async_holds)
{
        DAT_COUNT count = cap_at_limit(t, HELD, DAT_HANDLE_TYPE_SRQ, 1);
        struct armed armed[HELD];
        DAT_COUNT left = 0;

        for (DAT_COUNT i = 0; i < count; i++)
                armed[i] = armed_with(t, 3, 3);
        for (DAT_COUNT i = 0; i < count; i++) {
                flow_deliver(t, &armed[i].flow, 2);
                left += !armed[i].raised;
        }
        settle(t);

        for (; left > 0; left--) {
                DAT_EVENT event;
                DAT_COUNT more, i;
                DAT_HANDLE about;

                expect(dat_evd_wait(async_evd(t), event_timeout(t), 1, &event, &more), DAT_SUCCESS);
                about = event.event_data.asynch_error_event_data.dat_handle;
                for (i = 0; i < count; i++)
                        if (!armed[i].raised && armed[i].queue.srq == about)
                                break;
                expect_that(i < count, "an event is about no SRQ, or about one a second time");
                expect_async_about(&event, about);
                armed[i].raised = true;
        }
}

/* The event of an instance that is closed stood on its EVD, and is none of the next instance. */
CASE(ia_open, async_starts_empty)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        struct armed armed;

        (void)other_ia(t);
        must(dat_evd_modify_cno(async_evd(t), cno));
        armed = armed_with(t, 3, 3);
        if (armed.raised)
                end_noted(t, "the event came when the mark was set: none can be left on the EVD");
        flow_deliver(t, &armed.flow, 2);
        must_stand(t, cno);
        must(dat_ia_close(ia(t), DAT_CLOSE_ABRUPT_FLAG));
        ia_closed(t);
        ia_reopen(t, DAT_HANDLE_NULL);

        expect_quiet(async_evd(t));
}
