/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_wait: calls that precede the wait. */
#include "case/ep_attr.h"
#include "cases/evd/evd_wait/fixtures.h"
#include "cases/evd/shared/async.h"
#include "cases/evd/shared/event_kind.h"
#include "cases/evd/shared/source.h"
#include "clauses/evd_wait.h"

#include <string.h>

#define LOOKS 20 /* a quiet period apart: an event of another EP's doing takes its time */

/* So many events are there, and a wait for one more takes none. */
static void expect_more(struct test *t, DAT_EVD_HANDLE evd, DAT_COUNT count)
{
        DAT_EVENT event;
        DAT_COUNT more = 0;

        for (int look = 0; more != count && look < LOOKS; look++) {
                settle(t);
                expect(waited(evd, 0, count + 1, &event, &more), DAT_TIMEOUT_EXPIRED);
        }
        expect_eq(more, count);
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
        expect_more(t, evd, 2);

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
                forget_notices(t, cno);
                expect(waited(source.evd, 1000, row->threshold, &event, &more),
                       DAT_TIMEOUT_EXPIRED);

                expect_no_notice(t, cno);
                source_bring(t, &source, (unsigned int)row->queued, 1);
                expect_notified(t, cno, source.evd);
        }
}

CASE(evd_wait, threshold_of_shrunk_queue)
{
        EACH_SOURCE (kind) {
                struct source source = source_in(t, kind, plain, DAT_HANDLE_NULL);

                must(dat_evd_resize(source.evd, 2 * SE_QLEN));
                must(dat_evd_resize(source.evd, SE_QLEN));
                source.qlen = 0;

                expect_no_wait(t, &source, evd_param(t, source.evd).evd_qlen + 1);
        }
}

static void modify_to(struct test *t, DAT_EP_HANDLE ep, DAT_COMPLETION_FLAGS flags, bool request)
{
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        param.ep_attr.recv_completion_flags = flags;
        param.ep_attr.request_completion_flags = flags;
        must(dat_ep_modify(ep,
                           request ? DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS
                                   : DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS,
                           &param));
}

static DAT_EP_HANDLE unsignalled_ep(struct test *t, DAT_EVD_HANDLE evd, bool request)
{
        DAT_EP_HANDLE ep = request ? ep_with(t, .request_evd = evd) : ep_with(t, .recv_evd = evd);

        modify_to(t, ep, DAT_COMPLETION_UNSIGNALLED_FLAG, request);
        return ep;
}

static const struct no_longer {
        const char *id;
        bool freed;
        bool request;
} no_longer[] = {
    {"ep_freed", true, false},
    {"ep_modified", false, false},
    {"ep_of_requests_freed", true, true},
    {"ep_of_requests_modified", false, true},
};

FAMILY(evd_wait, threshold_after_flags, no_longer)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = SE_QLEN);
        DAT_EP_HANDLE ep = unsignalled_ep(t, evd, row->request);
        DAT_EVENT event;
        DAT_COUNT more;

        if (row->freed)
                release(t, ep);
        else
                modify_to(t, ep, DAT_COMPLETION_DEFAULT_FLAG, row->request);

        expect(waited(evd, 0, 2, &event, &more), DAT_TIMEOUT_EXPIRED);
        expect(waited(evd, 0, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
}

static DAT_EP_HANDLE made_unsignalled(struct test *t, DAT_EVD_HANDLE evd, bool receives,
                                      bool requests)
{
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr_if_told(t));
        struct ep_opts opts = {.attr = &attr};

        if (receives) {
                opts.recv_evd = evd;
                attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
        }
        if (requests) {
                opts.request_evd = evd;
                attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
        }
        return ep_make(t, opts);
}

/* Two EPs that report to one EVD, all with the same flags (EP-34), of which one may be freed. */
static const struct sharing {
        const char *id;
        bool both_streams;
        bool freed[2];
} sharings[] = {
    {"two_eps", false, {false, false}},
    {"earlier_freed", false, {true, false}},
    {"later_freed", false, {false, true}},
    {"both_streams", true, {false, false}},
};

FAMILY(evd_wait, threshold_of_shared_evd, sharings)
{
        for (int request = 0; request < 2; request++) {
                DAT_EVD_HANDLE evd = evd_with(t, .qlen = SE_QLEN);
                DAT_EP_HANDLE eps[2];
                DAT_EVENT event;
                DAT_COUNT more;

                for (int i = 0; i < 2; i++)
                        eps[i] = made_unsignalled(t, evd, row->both_streams || !request,
                                                  row->both_streams || request);
                for (int i = 0; i < 2; i++)
                        if (row->freed[i])
                                release(t, eps[i]);
                expect_one_only(t, evd);

                for (int i = 0; i < 2; i++)
                        if (!row->freed[i])
                                release(t, eps[i]);
                expect(waited(evd, 0, 2, &event, &more), DAT_TIMEOUT_EXPIRED);
        }
}

/* A wait for two of them gives the first, and tells of the other. */
static void expect_two_async_events(struct test *t)
{
        struct armed armed[] = {async_to_come(t), async_to_come(t)};
        DAT_EVENT event;
        DAT_COUNT more;

        async_comes(t, &armed[0]);
        settle(t);
        async_comes(t, &armed[1]);
        for (int i = 0; i < 2; i++) {
                expect(waited(async_evd(t), event_timeout(t), 2 - i, &event, &more), DAT_SUCCESS);
                expect_async_about(&event, armed[i].queue.srq);
                expect_eq(more, 1 - i);
        }
}

CASE(evd_wait, async_event)
{
        struct armed armed = async_to_come(t);
        struct waiter *waiter;
        struct woken woken;
        DAT_EVENT event;
        DAT_COUNT more;

        expect(waited(async_evd(t), 1000, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
        expect_eq(more, 0);
        waiter = wait_on_evd(t, async_evd(t), DAT_TIMEOUT_INFINITE, 1);
        expect_wait(waiter);
        expect(waited(async_evd(t), 0, 1, &event, &more), DAT_INVALID_STATE);
        expect_asleep(waiter);
        async_comes(t, &armed);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_async_about(&woken.event, armed.queue.srq);
        expect_that(woken.event.evd_handle == async_evd(t), "the event names another EVD");
        expect_eq(woken.more, 0);
        expect_two_async_events(t);
}

/* No event is taken before the connection has ended. */
CASE(evd_wait, connection_events_in_order)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = SE_QLEN, .flags = DAT_EVD_CONNECTION_FLAG);
        struct loop loop = loop_of(t, (struct ep_opts){.connect_evd = evd}, (struct ep_opts){0});
        DAT_EVENT event;
        DAT_COUNT more;

        loop_ask(t, &loop);
        loop_accept(t, &loop);
        must_event(ep_connect_evd(t, loop.passive), DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_more(t, evd, 1);
        must(dat_ep_disconnect(loop.passive, DAT_CLOSE_ABRUPT_FLAG));
        expect_more(t, evd, 2);

        expect(waited(evd, 0, 1, &event, &more), DAT_SUCCESS);
        expect_eq(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect(waited(evd, 0, 1, &event, &more), DAT_SUCCESS);
        expect_eq(event.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
        expect_empty(t, evd);
}

#define ASKERS 3

/* Of one service point; each is there before the next EP asks. */
CASE(evd_wait, requests_in_order)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = SE_QLEN, .flags = DAT_EVD_CR_FLAG);
        unsigned char sent[ASKERS][PRIVATE_SIZE];
        DAT_CR_PARAM param;
        DAT_CONN_QUAL qual;
        DAT_EVENT event;
        DAT_COUNT more;

        (void)loop_listen(t, evd, psp_flags_granted(t), &qual);
        for (int i = 0; i < ASKERS; i++) {
                loop_private_data(sent[i], (unsigned char)(1 + 50 * i));
                must(dat_ep_connect(ep_with(t), ia_address(t), qual, event_timeout(t), PRIVATE_SIZE,
                                    sent[i], DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
                expect_more(t, evd, i + 1);
        }
        for (int i = 0; i < ASKERS; i++) {
                DAT_CR_HANDLE request;

                expect(waited(evd, 0, 1, &event, &more), DAT_SUCCESS);
                request = event.event_data.cr_arrival_event_data.cr_handle;
                memset(&param, 0, sizeof(param));
                must(dat_cr_query(request, DAT_CR_FIELD_ALL, &param));
                expect_that(param.private_data_size >= PRIVATE_SIZE &&
                                memcmp(param.private_data, sent[i], PRIVATE_SIZE) == 0,
                            "another request came in the place of request %d", i + 1);
                must(dat_cr_reject(request));
        }
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
