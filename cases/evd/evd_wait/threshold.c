/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_wait: the threshold. */
#include "case/ep_attr.h"
#include "cases/evd/evd_wait/fixtures.h"
#include "cases/evd/shared/event_kind.h"
#include "cases/evd/shared/source.h"
#include "clauses/evd_wait.h"

#include <limits.h>
#include <string.h>

static const struct threshold {
        const char *id;
        DAT_COUNT before; /* the thread waits */
        DAT_COUNT count;
} thresholds[] = {
    {"two", 0, 2},
    {"two_one_there", 1, 2},
    {"seven", 0, 7},
    {"seven_three_there", 3, 7},
    {"all_places", 0, SE_QLEN},
};

FAMILY(evd_wait, threshold, thresholds)
{
        EACH_SOURCE (kind) {
                struct source source = source_new(t, kind, DAT_HANDLE_NULL);
                struct waiter *waiter;
                struct woken woken;

                source_bring(t, &source, 0, row->before);
                waiter = wait_on_evd(t, source.evd, DAT_TIMEOUT_INFINITE, row->count);
                expect_wait(waiter);
                source_bring(t, &source, (unsigned int)row->before, row->count - 1 - row->before);
                expect_asleep(waiter);
                source_bring(t, &source, (unsigned int)row->count - 1, 1);

                woken = expect_awake(waiter);
                expect(woken.ret, DAT_SUCCESS);
                expect_source_event(t, &source, &woken.event, 0);
                expect_eq(woken.more, row->count - 1);
                expect_source_events(t, &source, 1, row->count - 1);
                expect_empty(t, source.evd);
        }
}

CASE(evd_wait, threshold_of_completions)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = SE_QLEN);
        struct buf *buf = buf_with(t);
        struct loop loop = loop_of(t, (struct ep_opts){.recv_evd = evd}, (struct ep_opts){0});
        struct waiter *waiter;
        struct woken woken;

        loop_join_either(t, &loop);
        for (uint64_t i = 0; i < 3; i++)
                loop_post_recv(t, loop.active, buf, i);
        waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 3);
        expect_wait(waiter);
        loop_post_send(t, loop.passive, buf, 0);
        loop_post_send(t, loop.passive, buf, 1);
        expect_asleep(waiter);
        loop_post_send(t, loop.passive, buf, 2);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_data.dto_completion_event_data.user_cookie.as_64, 0);
        expect_eq(woken.more, 2);
        for (uint64_t i = 1; i < 3; i++)
                expect_eq(expect_dto(evd).user_cookie.as_64, i);
}

CASE(evd_wait, threshold_of_requests)
{
        static const struct event_kind request = {.bring = bring_request, .check = check_request};

        EACH_MAKING(kind, &request)
        {
                DAT_EVD_HANDLE evd = evd_with(t, .qlen = SE_QLEN, .flags = DAT_EVD_CR_FLAG);
                struct brought brought[] = {{.evd = evd}, {.evd = evd}};
                struct waiter *waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 2);
                struct woken woken;
                DAT_EVENT event;

                expect_wait(waiter);
                kind->bring(t, &brought[0]);
                expect_asleep(waiter);
                kind->bring(t, &brought[1]);

                woken = expect_awake(waiter);
                expect(woken.ret, DAT_SUCCESS);
                expect_eq(woken.more, 1);
                kind->check(t, &brought[0], &woken.event);
                event = expect_dequeued(t, evd);
                kind->check(t, &brought[1], &event);
                expect_empty(t, evd);
        }
}

/* Two receives, and an event of another stream of the same EVD. */
static const struct streams {
        const char *id;
        bool software;
} streams[] = {
    {"receives_and_software", true},
    {"receives_and_send", false},
};

FAMILY(evd_wait, threshold_of_streams, streams)
{
        DAT_EVD_FLAGS software = row->software ? DAT_EVD_SOFTWARE_FLAG : (DAT_EVD_FLAGS)0;
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = SE_QLEN, .flags = DAT_EVD_DTO_FLAG | software);
        DAT_EVD_HANDLE requests = row->software ? DAT_HANDLE_NULL : evd;
        struct buf *buf = buf_with(t);
        struct loop loop = loop_of(t, (struct ep_opts){.recv_evd = evd, .request_evd = requests},
                                   (struct ep_opts){0});
        struct waiter *waiter;
        struct woken woken;
        DAT_EVENT event;

        loop_join_either(t, &loop);
        loop_post_recv(t, loop.passive, buf, 0);
        for (uint64_t i = 0; i < 2; i++)
                loop_post_recv(t, loop.active, buf, i);
        waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 3);
        expect_wait(waiter);
        for (uint64_t i = 0; i < 2; i++)
                loop_post_send(t, loop.passive, buf, i);
        expect_asleep(waiter);
        if (row->software)
                post_ses(t, evd, 0, 1);
        else
                loop_post_send(t, loop.active, buf, 0);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.more, 2);
        for (int i = 0; i < 2; i++)
                expect(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
        expect_empty(t, evd);
}

static const struct no_threshold {
        const char *id;
        DAT_COUNT threshold;
} no_thresholds[] = {
    {"zero", 0},
    {"minus_one", -1},
    {"least", INT_MIN},
};

/*
 * The same on EVDs for requests and for connections, without an event and with one: nothing is
 * taken. With `above`, zero stands for one more than the queue holds.
 */
static void expect_no_wait_for_connections(struct test *t, DAT_COUNT threshold, bool above)
{
        static const struct event_kind kinds[] = {
            {NULL, DAT_CONNECTION_REQUEST_EVENT, DAT_EVD_CR_FLAG, bring_request, check_request,
             NULL},
            {NULL, DAT_CONNECTION_EVENT_ESTABLISHED, DAT_EVD_CONNECTION_FLAG,
             bring_established_active, check_established_active, NULL},
        };

        for (int i = 0; i < 2; i++) {
                struct brought brought = {
                    .evd = evd_with(t, .qlen = SE_QLEN, .flags = kinds[i].flags)};
                DAT_COUNT asked =
                    above && !threshold ? evd_param(t, brought.evd).evd_qlen + 1 : threshold;
                DAT_EVENT event;
                DAT_COUNT more;

                expect(waited(brought.evd, 0, asked, &event, &more), DAT_INVALID_PARAMETER);
                expect(waited(brought.evd, 0, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
                kinds[i].bring(t, &brought);
                settle(t);
                expect(waited(brought.evd, event_timeout(t), asked, &event, &more),
                       DAT_INVALID_PARAMETER);
                event = expect_dequeued(t, brought.evd);
                expect_brought(t, &kinds[i], &brought, &event);
                expect_empty(t, brought.evd);
        }
}

FAMILY(evd_wait, no_threshold, no_thresholds)
{
        EACH_SOURCE (kind) {
                struct source source = source_in(t, kind, plain, DAT_HANDLE_NULL);

                expect_no_wait(t, &source, row->threshold);
        }
        expect_no_wait_for_connections(t, row->threshold, false);
}

static const struct no_threshold above[] = {
    {"by_one", 0},
    {"greatest", INT_MAX},
};

FAMILY(evd_wait, threshold_above_length, above)
{
        EACH_SOURCE (kind) {
                struct source source = source_in(t, kind, plain, DAT_HANDLE_NULL);

                expect_no_wait(t, &source,
                               row->threshold ? row->threshold
                                              : evd_param(t, source.evd).evd_qlen + 1);
        }
        expect_no_wait_for_connections(t, row->threshold, true);
}

CASE(evd_wait, threshold_of_grown_queue)
{
        EACH_SOURCE (kind) {
                struct source source = source_new(t, kind, DAT_HANDLE_NULL);
                DAT_EVENT event;
                DAT_COUNT more;

                must(dat_evd_resize(source.evd, 2 * SE_QLEN));
                source_fill(t, &source, 0, 2 * SE_QLEN);

                expect(waited(source.evd, 0, 2 * SE_QLEN, &event, &more), DAT_SUCCESS);
                expect_source_event(t, &source, &event, 0);
                expect_eq(more, 2 * SE_QLEN - 1);
        }
}

static DAT_EVD_HANDLE evd_of_recv_flags(struct test *t, DAT_COMPLETION_FLAGS flags)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = SE_QLEN);
        DAT_EP_HANDLE ep = ep_with(t, .recv_evd = evd);
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        param.ep_attr.recv_completion_flags = flags;
        must(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param));
        return evd;
}

CASE(evd_wait, threshold_with_unsignalled_receives)
{
        expect_one_only(t, evd_of_recv_flags(t, DAT_COMPLETION_UNSIGNALLED_FLAG));
}

CASE(evd_wait, threshold_with_unsignalled_srq_receives)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = SE_QLEN);
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr_if_told(t));
        DAT_EVENT event;
        DAT_COUNT more;

        attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
        (void)ep_with(t, .recv_evd = evd, .attr = &attr, .srq = srq_with(t, .max_recv_dtos = 4));
        expect_or_note(waited(evd, 0, 2, &event, &more), DAT_INVALID_STATE, DAT_INVALID_PARAMETER,
                       DAT_TIMEOUT_EXPIRED);
        expect(waited(evd, 0, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
}

CASE(evd_wait, threshold_with_solicited_receives)
{
        expect_one_only(t, evd_of_recv_flags(t, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
}

CASE(evd_wait, threshold_with_unsignalled_requests)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = SE_QLEN);
        DAT_EP_HANDLE ep = ep_with(t, .request_evd = evd);
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        param.ep_attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
        must(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS, &param));

        expect_one_only(t, evd);
}

/* EPs that are made with such flags for one stream; the other stream has none. */
static const struct made {
        const char *id;
        bool request;
        DAT_COMPLETION_FLAGS flags;
} mades[] = {
    {"unsignalled_receives", false, DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"solicited_receives", false, DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"unsignalled_requests", true, DAT_COMPLETION_UNSIGNALLED_FLAG},
};

static DAT_EP_ATTR attr_of_made(struct test *t, const struct made *row)
{
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr_if_told(t));

        if (row->request)
                attr.request_completion_flags = row->flags;
        else
                attr.recv_completion_flags = row->flags;
        return attr;
}

enum evd_of_ep { OF_STREAM, OF_OTHER_STREAM, OF_CONNECTION };

static DAT_EVD_HANDLE evd_of_made(struct test *t, const struct made *row, enum evd_of_ep which)
{
        DAT_EVD_HANDLE evds[] = {evd_with(t, .qlen = SE_QLEN), evd_with(t, .qlen = SE_QLEN)};
        DAT_EVD_HANDLE connections = evd_with(t, .qlen = SE_QLEN, .flags = DAT_EVD_CONNECTION_FLAG);
        DAT_EP_ATTR attr = attr_of_made(t, row);

        (void)ep_with(t, .recv_evd = evds[0], .request_evd = evds[1], .connect_evd = connections,
                      .attr = &attr);
        if (which == OF_CONNECTION)
                return connections;
        return evds[row->request != (which == OF_OTHER_STREAM)];
}

FAMILY(evd_wait, threshold_of_made_ep, mades)
{
        expect_one_only(t, evd_of_made(t, row, OF_STREAM));
}

FAMILY(evd_wait, threshold_of_other_stream, mades)
{
        const enum evd_of_ep others[] = {OF_OTHER_STREAM, OF_CONNECTION};

        for (int i = 0; i < 2; i++) {
                DAT_EVD_HANDLE evd = evd_of_made(t, row, others[i]);
                DAT_EVENT event;
                DAT_COUNT more;

                expect(waited(evd, 0, 2, &event, &more), DAT_TIMEOUT_EXPIRED);
                expect(waited(evd, 0, SE_QLEN, &event, &more), DAT_TIMEOUT_EXPIRED);
        }
}

#define THERE 3 /* completions */

static void expect_refusal_takes_none(struct test *t, const struct made *row)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = SE_QLEN);
        DAT_EP_ATTR attr = attr_of_made(t, row);
        struct ep_opts opts = {.attr = &attr};
        struct buf *buf = buf_with(t);
        struct loop loop;
        DAT_EVENT event;
        DAT_COUNT more;

        if (row->request)
                opts.request_evd = evd;
        else
                opts.recv_evd = evd;
        loop = loop_of(t, opts, (struct ep_opts){0});
        loop_join_either(t, &loop);
        for (uint64_t i = 0; i < THERE; i++) {
                DAT_EP_HANDLE to = row->request ? loop.passive : loop.active;
                DAT_EP_HANDLE from = row->request ? loop.active : loop.passive;

                loop_post_recv(t, to, buf, i);
                loop_post_send(t, from, buf, i);
                must_dto(row->request ? ep_recv_evd(t, to) : ep_request_evd(t, from));
        }
        settle(t);

        expect_or_note(waited(evd, 0, 2, &event, &more), DAT_INVALID_STATE, DAT_INVALID_PARAMETER);
        for (int i = 0; i < THERE; i++) {
                expect(waited(evd, 0, 1, &event, &more), DAT_SUCCESS);
                expect_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, i);
                expect_eq(more, THERE - 1 - i);
        }
        expect_empty(t, evd);
}

CASE(evd_wait, refused_threshold_takes_none)
{
        expect_refusal_takes_none(t, &mades[0]);
}

static const struct made other_mades[] = {
    {"solicited_receives", false, DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"unsignalled_requests", true, DAT_COMPLETION_UNSIGNALLED_FLAG},
};

FAMILY(evd_wait, refused_threshold_keeps, other_mades)
{
        expect_refusal_takes_none(t, row);
}
