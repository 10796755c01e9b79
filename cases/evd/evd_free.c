/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_free: what is freed with an EVD, what stays, and when it is refused. */
#include "clauses/evd_free.h"
#include "case/standard.h"
#include "cases/evd/shared/event_kind.h"
#include "cases/evd/shared/source.h"
#include "cases/ia/shared/instance.h"
#include "cases/shared/point.h"
#include "cases/shared/refusals.h"
#include "cases/shared/rounds.h"
#include "cases/shared/siblings.h"

#include <string.h>

static void free_now(struct test *t, DAT_EVD_HANDLE evd)
{
        expect(dat_evd_free(evd), DAT_SUCCESS);
        disown(t, evd);
}

/* Frees the EVD, and first the EP that feeds it. */
static void free_source(struct test *t, const struct source *source)
{
        if (source->loop.active)
                release(t, source->loop.active);
        free_now(t, source->evd);
}

/*
 * Nothing in the way
 */

CASE(evd_free, unused)
{
        free_now(t, se_evd(t, DAT_HANDLE_NULL));
}

static const struct stream {
        const char *id;
        DAT_EVD_FLAGS flag;
} streams[] = {
    {"connection_request", DAT_EVD_CR_FLAG},
    {"dto_completion", DAT_EVD_DTO_FLAG},
    {"connection", DAT_EVD_CONNECTION_FLAG},
    {"rmr_bind", DAT_EVD_RMR_BIND_FLAG},
};

FAMILY(evd_free, of_each_stream, streams)
{
        free_now(t, evd_with(t, .flags = row->flag));
}

static const struct count {
        const char *id;
        int events;
} counts[] = {
    {"one", 1},
    {"full", SE_QLEN},
};

FAMILY(evd_free, with_events, counts)
{
        DAT_EVD_HANDLE other = se_evd(t, DAT_HANDLE_NULL);
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);

        post_ses(t, other, 0, 4);
        post_ses(t, evd, 100, row->events);
        free_now(t, evd);

        expect_ses(t, other, 0, 4);
        expect_empty(t, other);
        expect_quiet(async_evd(t));
}

/* What the freed EVD had is on no EVD that is made after it, be it in the same memory. */
CASE(evd_free, events_not_inherited)
{
        EACH_SOURCE (kind) {
                struct source source = source_new(t, kind, DAT_HANDLE_NULL);
                DAT_EVD_HANDLE later;

                source_fill(t, &source, 0, 5);
                free_source(t, &source);

                later = evd_with(t, .qlen = SE_QLEN, .flags = kind->flags);
                expect_empty(t, later);
                later = se_evd(t, DAT_HANDLE_NULL);
                expect_empty(t, later);
                post_ses(t, later, 20, 2);
                expect_ses(t, later, 20, 2);
                expect_empty(t, later);
        }
}

static const struct state {
        const char *id;
        DAT_RETURN (*call)(DAT_EVD_HANDLE evd);
} states[] = {
    {"disabled", dat_evd_disable},
    {"unwaitable", dat_evd_set_unwaitable},
};

FAMILY(evd_free, in_state, states)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = se_evd(t, cno);
        DAT_EVD_HANDLE later;
        DAT_EVENT event;
        DAT_COUNT more;

        must(row->call(evd));
        free_now(t, evd);
        expect(dat_cno_free(cno), DAT_SUCCESS);
        disown(t, cno);

        later = se_evd(t, DAT_HANDLE_NULL);
        post_ses(t, later, 0, 1);
        expect(dat_evd_wait(later, 0, 1, &event, &more), DAT_SUCCESS);
        expect_se(t, later, &event, 0);
}

CASE(evd_free, older_of_two)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        DAT_EVD_HANDLE newer = se_evd(t, DAT_HANDLE_NULL);

        post_ses(t, newer, 0, 3);
        free_now(t, evd);

        expect_ses(t, newer, 0, 3);
        post_ses(t, newer, 3, 1);
        expect_ses(t, newer, 3, 1);
}

CASE(evd_free, frees_cno)
{
        DAT_CNO_HANDLE cno = cno_new(t);

        free_now(t, se_evd(t, cno));

        expect(dat_cno_free(cno), DAT_SUCCESS);
        disown(t, cno);
}

CASE(evd_free, triggered_cno_stays)
{
        const struct evd_state enabled = {.enabled = true, .waitable = true};

        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct source other = source_in(t, kind, enabled, cno);
                struct source source = source_in(t, kind, enabled, cno);
                struct source silent = source_in(t, kind, enabled, cno);
                DAT_EVD_HANDLE named = DAT_HANDLE_NULL;

                source_fill(t, &source, 0, 1);
                free_source(t, &source);

                (void)dat_cno_wait(cno, 0, &named);
                expect_that(named != source.evd, "the CNO names an EVD that is freed");
                source_fill(t, &other, 0, 1);
                free_source(t, &silent);
                expect_notified(t, cno, other.evd);
        }
}

CASE(evd_free, often, ROUNDS_DEADLINE)
{
        struct rounds rounds = rounds_of(t, DAT_HANDLE_TYPE_EVD);

        while (rounds_next(&rounds)) {
                DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

                expect(dat_evd_create(ia(t), SE_QLEN, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd),
                       DAT_SUCCESS);
                post_ses(t, evd, 0, 2);
                expect(dat_evd_free(evd), DAT_SUCCESS);
        }
        expect_no_leak(&rounds);
}

FAMILY(evd_free, often_of_stream, streams, ROUNDS_DEADLINE)
{
        struct rounds rounds = rounds_of(t, DAT_HANDLE_TYPE_EVD);
        DAT_CNO_HANDLE cno = cno_new(t);

        while (rounds_next(&rounds)) {
                DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

                expect(dat_evd_create(ia(t), SE_QLEN, cno, row->flag, &evd), DAT_SUCCESS);
                expect(dat_evd_free(evd), DAT_SUCCESS);
        }
        expect_no_leak(&rounds);
}

/*
 * Fed by a stream
 */

static DAT_HANDLE feed_recv(struct test *t, DAT_EVD_HANDLE evd)
{
        return ep_with(t, .recv_evd = evd);
}

static DAT_HANDLE feed_request(struct test *t, DAT_EVD_HANDLE evd)
{
        return ep_with(t, .request_evd = evd);
}

static DAT_HANDLE feed_connect(struct test *t, DAT_EVD_HANDLE evd)
{
        return ep_with(t, .connect_evd = evd);
}

static DAT_HANDLE feed_psp(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_CONN_QUAL qual;

        return loop_listen(t, evd, psp_flags_granted(t), &qual);
}

static DAT_HANDLE feed_rsp(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_CONN_QUAL qual;

        return rsp_listen(t, ep_with(t), evd, &qual);
}

/* An EP that is one end of a connection, with the EVD for one of its streams. */
static DAT_HANDLE feed_joined(struct test *t, struct ep_opts opts)
{
        struct loop loop = loop_of(t, opts, (struct ep_opts){0});

        loop_join_either(t, &loop);
        return loop.active;
}

static DAT_HANDLE feed_joined_recv(struct test *t, DAT_EVD_HANDLE evd)
{
        return feed_joined(t, (struct ep_opts){.recv_evd = evd});
}

static DAT_HANDLE feed_joined_request(struct test *t, DAT_EVD_HANDLE evd)
{
        return feed_joined(t, (struct ep_opts){.request_evd = evd});
}

static DAT_HANDLE feed_joined_connect(struct test *t, DAT_EVD_HANDLE evd)
{
        return feed_joined(t, (struct ep_opts){.connect_evd = evd});
}

/* The EP has ended its connection, and the event was taken. */
static DAT_HANDLE feed_left(struct test *t, DAT_EVD_HANDLE evd, DAT_HANDLE ep)
{
        must(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
        must_event(evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        return ep;
}

static DAT_HANDLE feed_left_recv(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EP_HANDLE ep = feed_joined_recv(t, evd);

        return feed_left(t, ep_connect_evd(t, ep), ep);
}

static DAT_HANDLE feed_left_connect(struct test *t, DAT_EVD_HANDLE evd)
{
        return feed_left(t, evd, feed_joined_connect(t, evd));
}

static DAT_HANDLE feed_both(struct test *t, DAT_EVD_HANDLE evd)
{
        return ep_with(t, .recv_evd = evd, .request_evd = evd);
}

static DAT_HANDLE feed_srq(struct test *t, DAT_EVD_HANDLE evd)
{
        return ep_with(t, .recv_evd = evd, .srq = srq_with(t));
}

static DAT_HANDLE feed_providers_psp(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_CONN_QUAL qual;

        return loop_listen(t, evd, DAT_PSP_PROVIDER_FLAG, &qual);
}

static const struct feed {
        const char *id;
        DAT_EVD_FLAGS flag;
        DAT_HANDLE (*by)(struct test *t, DAT_EVD_HANDLE evd);
} feeds[] = {
    {"receives", DAT_EVD_DTO_FLAG, feed_recv},
    {"requests", DAT_EVD_DTO_FLAG, feed_request},
    {"connection", DAT_EVD_CONNECTION_FLAG, feed_connect},
    {"psp", DAT_EVD_CR_FLAG, feed_psp},
    {"rsp", DAT_EVD_CR_FLAG, feed_rsp},
    {"connected_receives", DAT_EVD_DTO_FLAG, feed_joined_recv},
    {"connected_requests", DAT_EVD_DTO_FLAG, feed_joined_request},
    {"connected_connection", DAT_EVD_CONNECTION_FLAG, feed_joined_connect},
    {"disconnected_receives", DAT_EVD_DTO_FLAG, feed_left_recv},
    {"disconnected_connection", DAT_EVD_CONNECTION_FLAG, feed_left_connect},
    {"both", DAT_EVD_DTO_FLAG, feed_both},
    {"receives_of_srq", DAT_EVD_DTO_FLAG, feed_srq},
    {"providers_psp", DAT_EVD_CR_FLAG, feed_providers_psp},
};

FAMILY(evd_free, fed, feeds)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = row->flag);

        row->by(t, evd);

        EACH_REFUSAL (i)
                expect(dat_evd_free(evd), DAT_INVALID_STATE);
}

FAMILY(evd_free, fed_keeps, feeds)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = evd_with(t, .flags = row->flag, .cno = cno);
        DAT_EVD_PARAM before;
        DAT_EVD_PARAM after;

        row->by(t, evd);
        before = evd_param(t, evd);
        EACH_REFUSAL (i)
                (void)dat_evd_free(evd);

        memset(&after, 0xa5, sizeof(after));
        expect(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &after), DAT_SUCCESS);
        expect_eq(after.evd_qlen, before.evd_qlen);
        expect_eq(after.evd_flags, before.evd_flags);
        expect_eq(after.evd_state, before.evd_state);
        expect_that(after.cno_handle == cno, "the CNO has changed");
        expect_empty(t, evd);
}

/* Kinds of events whose origin feeds the EVD still; of software events there is none. */
static const struct queued {
        const char *id;
} queueds[] = {
    {"receive"},
    {"send"},
    {"flushed_receive"},
    {"flushed_send"},
    {"rdma_write"},
    {"rdma_read"},
    {"connection_request"},
    {"established_active"},
    {"established_passive"},
    {"rejected"},
    {"unheard"},
    {"bound"},
    {"disconnected"},
};

static const struct event_kind *kind_of(struct test *t, const char *id)
{
        size_t i = 0;

        while (strcmp(event_kinds[i].id, id) != 0)
                suite_that(++i < sizeof(event_kinds) / sizeof(event_kinds[0]), "no kind %s", id);
        return &event_kinds[i];
}

FAMILY(evd_free, fed_keeps_events, queueds)
{
        const struct event_kind *kind = kind_of(t, row->id);
        struct brought brought = bring(t, kind);
        DAT_EVENT event;

        settle(t);
        EACH_REFUSAL (i)
                expect(dat_evd_free(brought.evd), DAT_INVALID_STATE);

        event = expect_dequeued(t, brought.evd);
        expect_brought(t, kind, &brought, &event);
        expect_empty(t, brought.evd);
}

FAMILY(evd_free, source_freed_before, feeds)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = row->flag);
        DAT_HANDLE source = row->by(t, evd);

        EACH_REFUSAL (i)
                (void)dat_evd_free(evd);
        release(t, source);

        free_now(t, evd);
}

CASE(evd_free, fed_by_two)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        DAT_HANDLE one = feed_recv(t, evd);
        DAT_HANDLE other = feed_request(t, evd);

        release(t, one);
        expect(dat_evd_free(evd), DAT_INVALID_STATE);
        release(t, other);
        free_now(t, evd);
}

CASE(evd_free, fed_goes_on)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = evd_with(t, .cno = cno);
        DAT_EP_HANDLE ep = ep_with(t, .recv_evd = evd);
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, MESSAGE);
        struct peer_ep *end = peer_connect(peer(t), ep);

        must(dat_evd_enable(evd));
        EACH_REFUSAL (i)
                (void)dat_evd_free(evd);

        must(dat_ep_post_recv(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 5},
                              DAT_COMPLETION_DEFAULT_FLAG));
        peer_send(end, .length = MESSAGE);
        expect_notified(t, cno, evd);
        expect_eq(expect_dto(evd).user_cookie.as_64, 5);
        expect_that(message_holds(buf->addr, MESSAGE, 0), "the memory has not the message");
}

CASE(evd_free, earlier_source_goes_on)
{
        DAT_EVD_HANDLE former = evd_with(t);
        DAT_EVD_HANDLE evd = evd_with(t);
        DAT_EP_HANDLE ep = ep_with(t, .recv_evd = former);
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, MESSAGE);
        DAT_EP_PARAM param = {.recv_evd_handle = evd};
        struct peer_ep *end;

        must(dat_ep_modify(ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
        ep_reports_to(t, ep, DAT_EP_FIELD_RECV_EVD_HANDLE, evd);
        free_now(t, former);

        end = peer_connect(peer(t), ep);
        must(dat_ep_post_recv(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 5},
                              DAT_COMPLETION_DEFAULT_FLAG));
        peer_send(end, .length = MESSAGE);
        expect_eq(expect_dto(evd).user_cookie.as_64, 5);
        expect_that(message_holds(buf->addr, MESSAGE, 0), "the memory has not the message");
}

CASE(evd_free, of_the_ia)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);

        expect_may(dat_evd_free(async_evd(t)), DAT_INVALID_STATE, DAT_SUCCESS);

        post_ses(t, evd, 0, 1);
        expect_ses(t, evd, 0, 1);
        expect_instance_works(t, ia(t));
}

/*
 * A waiter
 */

CASE(evd_free, under_waiter)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        struct waiter *waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);
        struct woken woken;
        DAT_RETURN ret;

        must_wait(waiter);
        ret = expect_may(dat_evd_free(evd), DAT_INVALID_STATE, DAT_SUCCESS);
        if (dat_is(ret, DAT_SUCCESS)) {
                disown(t, evd);
                woken = expect_awake(waiter);
                expect(woken.ret, DAT_ABORT);
                return;
        }
        expect_asleep(waiter);
        post_ses(t, evd, 0, 1);
        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_se(t, evd, &woken.event, 0);
}

static const struct waited {
        const char *id;
        DAT_EVD_FLAGS flags;
        DAT_COUNT threshold;
        bool has_cno;
        DAT_HANDLE (*by)(struct test *t, DAT_EVD_HANDLE evd); /* NULL: nothing feeds it */
} waiteds[] = {
    {"completions", DAT_EVD_DTO_FLAG, 1, .has_cno = false, NULL},
    {"requests", DAT_EVD_CR_FLAG, 1, .has_cno = false, NULL},
    {"connections", DAT_EVD_CONNECTION_FLAG, 1, .has_cno = false, NULL},
    {"several", DAT_EVD_SOFTWARE_FLAG, 3, .has_cno = false, NULL},
    {"with_cno", DAT_EVD_DTO_FLAG, 1, .has_cno = true, NULL},
    {"of_connected_ep", DAT_EVD_DTO_FLAG, 1, .has_cno = false, feed_joined_recv},
    {"of_psp", DAT_EVD_CR_FLAG, 1, .has_cno = false, feed_psp},
};

/* A thread that waits still is released by a call that ends waits. */
FAMILY(evd_free, waited_for, waiteds)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = SE_QLEN, .flags = row->flags,
                                      .cno = row->has_cno ? cno_new(t) : DAT_HANDLE_NULL);
        struct waiter *waiter;
        DAT_RETURN ret;

        if (row->by)
                row->by(t, evd);
        waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, row->threshold);
        must_wait(waiter);
        ret = row->by ? expect(dat_evd_free(evd), DAT_INVALID_STATE)
                      : expect_may(dat_evd_free(evd), DAT_INVALID_STATE, DAT_SUCCESS);
        if (dat_is(ret, DAT_SUCCESS)) {
                disown(t, evd);
                expect(expect_awake(waiter).ret, DAT_ABORT);
                return;
        }
        expect_asleep(waiter);
        must(dat_evd_set_unwaitable(evd));
        (void)must_awake_by("dat_evd_set_unwaitable", waiter);
}

/*
 * The handle afterwards
 */

static DAT_RETURN query(void *evd)
{
        DAT_EVD_PARAM param;

        return dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param);
}

static DAT_RETURN resize(void *evd)
{
        return dat_evd_resize(evd, 2 * SE_QLEN);
}

static DAT_RETURN wait(void *evd)
{
        DAT_EVENT event;
        DAT_COUNT more;

        return dat_evd_wait(evd, 0, 1, &event, &more);
}

static DAT_RETURN dequeue(void *evd)
{
        DAT_EVENT event;

        return dat_evd_dequeue(evd, &event);
}

static DAT_RETURN post(void *evd)
{
        DAT_EVENT event = se_event(0);

        return dat_evd_post_se(evd, &event);
}

static DAT_RETURN take_cno(void *evd)
{
        return dat_evd_modify_cno(evd, DAT_HANDLE_NULL);
}

static const struct use {
        const char *id;
        DAT_RETURN (*call)(void *evd);
} uses[] = {
    {"query", query},
    {"resize", resize},
    {"wait", wait},
    {"dequeue", dequeue},
    {"post_se", post},
    {"modify_cno", take_cno},
    {"enable", dat_evd_enable},
    {"disable", dat_evd_disable},
    {"set_unwaitable", dat_evd_set_unwaitable},
    {"clear_unwaitable", dat_evd_clear_unwaitable},
    {"free", dat_evd_free},
};

FAMILY(evd_free, handle_afterwards, uses)
{
        expect_stale(row->call, live_handle(t, DAT_HANDLE_TYPE_EVD),
                     bad_handle(t, DAT_HANDLE_TYPE_EVD, BAD_HANDLE_DESTROYED));
}

/*
 * Calls of other threads beside it
 */

static const struct sibling_row siblings[] = {
    {"evd", SIBLING_EVD},
};

FAMILY(evd_free, beside, siblings, SIBLINGS_DEADLINE)
{
        expect_freed_beside(t, SIBLING_EVD, row);
}

LEGAL(evd_free)
{
        call->evd_handle = se_evd(t, DAT_HANDLE_NULL);
        disown(t, call->evd_handle);
}
