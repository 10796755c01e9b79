/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_wait: calls that precede the wait. */
#include "cases/evd/evd_wait/fixtures.h"
#include "cases/evd/shared/async.h"
#include "cases/evd/shared/event_kind.h"
#include "cases/evd/shared/source.h"
#include "clauses/evd_wait.h"

#include <string.h>

#define LOOKS 20 /* a quiet period apart: an event of another EP's doing takes its time */

/* Both events are there, and a wait for three takes none. */
static void expect_two_more(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;
        DAT_COUNT more = 0;

        for (int look = 0; more != 2 && look < LOOKS; look++) {
                settle(t);
                expect(waited(evd, 0, 3, &event, &more), DAT_TIMEOUT_EXPIRED);
        }
        expect_eq(more, 2);
}

FAMILY(evd_wait, more_of_each_stream, event_kinds)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = SE_QLEN, .flags = row->flags);
        struct brought brought[] = {{.evd = evd}, {.evd = evd}};
        DAT_EVENT event;
        DAT_COUNT more;

        for (int i = 0; i < 2; i++)
                make_ready(t, row, &brought[i], DAT_HANDLE_NULL);
        for (int i = 0; i < 2; i++) {
                row->bring(t, &brought[i]);
                settle(t);
        }
        expect_two_more(t, evd);

        expect(waited(evd, event_timeout(t), 2, &event, &more), DAT_SUCCESS);
        expect_brought(t, row, &brought[0], &event);
        expect_eq(more, 1);
        expect(waited(evd, 0, 1, &event, &more), DAT_SUCCESS);
        expect_brought(t, row, &brought[1], &event);
        expect_eq(more, 0);
}

CASE(evd_wait, more_round_the_end)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        const int kept = 5;

        post_ses(t, evd, 0, kept);
        for (unsigned int i = 0; i < 5 * SE_QLEN; i++) {
                DAT_EVENT event;
                DAT_COUNT more;

                post_ses(t, evd, i + kept, 1);
                expect(waited(evd, 0, 1, &event, &more), DAT_SUCCESS);
                expect_se(t, evd, &event, i);
                expect_eq(more, kept);
        }
}

static const struct too_few {
        const char *id;
        DAT_COUNT queued;
        DAT_COUNT threshold;
} too_few[] = {
    {"with_nothing_there", 0, 1},
    {"below_threshold", 2, 3},
};

FAMILY(evd_wait, cno_after_time_out, too_few)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct source source = source_in(t, kind, plain, cno);
                DAT_EVENT event;
                DAT_COUNT more;

                source_fill(t, &source, 0, row->queued);
                while (
                    dat_is(dat_cno_wait(cno, 0, &(DAT_EVD_HANDLE){DAT_HANDLE_NULL}), DAT_SUCCESS))
                        ;
                expect(waited(source.evd, 1000, row->threshold, &event, &more),
                       DAT_TIMEOUT_EXPIRED);

                expect_no_notice(t, cno);
                source_bring(t, &source, (unsigned int)row->queued, 1);
                expect_notified(t, cno, source.evd);
        }
}

CASE(evd_wait, threshold_of_shrunk_queue)
{
        DAT_EVD_HANDLE evd = evd_in(t, plain, DAT_HANDLE_NULL);

        must(dat_evd_resize(evd, 2 * SE_QLEN));
        must(dat_evd_resize(evd, SE_QLEN));

        expect_no_wait(t, evd, evd_param(t, evd).evd_qlen + 1);
}

static void modify_back(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        param.ep_attr.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
        must(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param));
}

static const struct no_longer {
        const char *id;
        void (*end)(struct test *t, DAT_EP_HANDLE ep);
} no_longer[] = {
    {"ep_freed", release},
    {"ep_modified", modify_back},
};

FAMILY(evd_wait, threshold_after_flags, no_longer)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = SE_QLEN);
        DAT_EP_HANDLE ep = ep_with(t, .recv_evd = evd);
        DAT_EP_PARAM param;
        DAT_EVENT event;
        DAT_COUNT more;

        memset(&param, 0, sizeof(param));
        param.ep_attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
        must(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param));
        row->end(t, ep);

        expect(waited(evd, 0, 2, &event, &more), DAT_TIMEOUT_EXPIRED);
        expect(waited(evd, 0, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
}

CASE(evd_wait, async_event)
{
        struct armed armed = async_to_come(t);
        struct waiter *waiter = wait_on_evd(t, async_evd(t), DAT_TIMEOUT_INFINITE, 1);
        struct woken woken;

        expect_wait(waiter);
        async_comes(t, &armed);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_async_about(&woken.event, armed.queue.srq);
        expect_that(woken.event.evd_handle == async_evd(t), "the event names another EVD");
        expect_eq(woken.more, 0);
}

LEGAL(evd_wait)
{
        static DAT_EVENT event;
        static DAT_COUNT more;

        call->evd_handle = se_evd(t, DAT_HANDLE_NULL);
        call->timeout = 0;
        call->threshold = 1;
        call->event = &event;
        call->n_more_events = &more;
        post_ses(t, call->evd_handle, 0, 1);
}
