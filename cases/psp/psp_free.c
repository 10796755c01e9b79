/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_psp_free: what goes with a PSP, what stays, and what its qualifier is afterwards. */
#include "clauses/psp_free.h"
#include "../loop.h"
#include "case/standard.h"

#include <string.h>

#define TIMES    50 /* that a PSP is made and freed */
#define REQUESTS 4
#define ROUNDS   12  /* requests that are under way at the free */
#define WHILE    64  /* queries, at most, between a request and the free */
#define LOOKS    300 /* for an answer; each lasts as long as settle_briefly() */

/* Qualifiers at which nothing of the suite listens. */
#define UNHEARD_FIRST 24000
#define UNHEARD_COUNT 400

static DAT_EVD_HANDLE request_evd(struct test *t)
{
        return evd_with(t, .qlen = 8, .flags = DAT_EVD_CR_FLAG);
}

static struct loop loop_new(struct test *t)
{
        return loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});
}

/* The same, with a CNO that tells of requests and leaves them on their EVD. */
static struct loop watched_loop(struct test *t, DAT_CNO_HANDLE *cno)
{
        struct loop loop = loop_new(t);

        must(dat_cno_create(ia(t), DAT_OS_WAIT_PROXY_AGENT_NULL, cno));
        adopt(t, DAT_HANDLE_TYPE_CNO, *cno);
        loop.requests = evd_with(t, .qlen = 8, .flags = DAT_EVD_CR_FLAG, .cno = *cno);
        must(dat_evd_enable(loop.requests));
        return loop;
}

/* A request stands on the EVD: it is no longer under way. */
static void must_stand(struct test *t, DAT_CNO_HANDLE cno)
{
        DAT_EVD_HANDLE evd;

        must(dat_cno_wait(cno, event_timeout(t), &evd));
}

static void listen_by(struct test *t, struct loop *loop, DAT_PSP_FLAGS flags)
{
        loop->psp = loop_listen(t, loop->requests, flags, &loop->qual);
}

/* The call under test. */
static void free_now(struct test *t, DAT_PSP_HANDLE psp)
{
        expect(dat_psp_free(psp), DAT_SUCCESS);
        disown(t, psp);
}

/* A PSP at this very qualifier, which was another one's. */
static DAT_PSP_HANDLE again_at(struct test *t, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
                               DAT_PSP_FLAGS flags)
{
        DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;

        expect(dat_psp_create(ia(t), qual, evd, flags, &psp), DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_PSP, psp);
        return psp;
}

/* The EVD's next event is a request for this point, at this qualifier. */
static DAT_CR_HANDLE expect_request(struct test *t, DAT_EVD_HANDLE evd, DAT_HANDLE point,
                                    DAT_CONN_QUAL qual)
{
        DAT_EVENT event = expect_event(evd, DAT_CONNECTION_REQUEST_EVENT);
        const DAT_CR_ARRIVAL_EVENT_DATA *data = &event.event_data.cr_arrival_event_data;

        expect_that(data->sp_handle.psp_handle == point, "the request is for another point");
        expect_eq(data->conn_qual, qual);
        return data->cr_handle;
}

static void expect_empty(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;

        expect(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
}

static void expect_accepted(struct test *t, DAT_CR_HANDLE request, const struct loop *loop)
{
        expect(dat_cr_accept(request, loop->passive, 0, NULL), DAT_SUCCESS);
        expect_event(ep_connect_evd(t, loop->passive), DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_event(ep_connect_evd(t, loop->active), DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_eq(ep_state(t, loop->passive), DAT_EP_STATE_CONNECTED);
        expect_eq(ep_state(t, loop->active), DAT_EP_STATE_CONNECTED);
}

static void expect_rejected(struct test *t, DAT_CR_HANDLE request, const struct loop *loop)
{
        expect(dat_cr_reject(request), DAT_SUCCESS);
        expect_event(ep_connect_evd(t, loop->active), DAT_CONNECTION_EVENT_PEER_REJECTED);
}

/* A message goes from one EP to the other. */
static void expect_message(struct test *t, DAT_EP_HANDLE from, DAT_EP_HANDLE to)
{
        struct buf *buf = buf_with(t);

        message_fill(buf->addr + 2 * MESSAGE, MESSAGE, 7);
        memset(buf->addr, 0, 2 * MESSAGE);
        loop_post_recv(t, to, buf, 5);
        loop_post_send(t, from, buf, 6);
        expect_eq(expect_dto(ep_recv_evd(t, to)).user_cookie.as_64, 5);
        expect_eq(expect_dto(ep_request_evd(t, from)).user_cookie.as_64, 6);
        expect_that(message_holds(buf->addr, MESSAGE, 7), "the memory has not the message");
}

/* A request for the point comes to its EVD, and becomes a connection. */
static void expect_served(struct test *t, DAT_HANDLE point, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd)
{
        struct loop asks = loop_new(t);

        loop_connect(t, asks.active, qual);
        expect_accepted(t, expect_request(t, evd, point, qual), &asks);
}

/* A request for the qualifier is refused by no consumer, and reported to none. */
static void expect_refused(struct test *t, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd)
{
        DAT_EP_HANDLE ep = ep_with(t);

        loop_connect(t, ep, qual);
        expect_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        expect_eq(ep_state(t, ep), DAT_EP_STATE_DISCONNECTED);
        expect_quiet(evd);
}

/*
 * Nothing in the way
 */

static DAT_PSP_HANDLE of_consumer(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_CONN_QUAL qual;

        return loop_listen(t, evd, DAT_PSP_CONSUMER_FLAG, &qual);
}

static DAT_PSP_HANDLE of_provider(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_CONN_QUAL qual;

        return loop_listen(t, evd, DAT_PSP_PROVIDER_FLAG, &qual);
}

static DAT_PSP_HANDLE at_any(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
        DAT_CONN_QUAL qual;

        must(dat_psp_create_any(ia(t), &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
        adopt(t, DAT_HANDLE_TYPE_PSP, psp);
        return psp;
}

static const struct kind {
        const char *id;
        DAT_PSP_HANDLE (*make)(struct test *t, DAT_EVD_HANDLE evd);
} kinds[] = {
    {"consumer", of_consumer},
    {"provider", of_provider},
    {"any_qualifier", at_any},
};

FAMILY(psp_free, unused, kinds)
{
        DAT_EVD_HANDLE evd = request_evd(t);

        free_now(t, row->make(t, evd));

        expect_empty(t, evd);
        expect_quiet(async_evd(t));
}

/* The PSP that is left tells what it told, and serves. */
static void expect_untouched(struct test *t, DAT_PSP_HANDLE psp, DAT_CONN_QUAL qual,
                             DAT_EVD_HANDLE evd)
{
        DAT_PSP_PARAM param;

        memset(&param, 0xa5, sizeof(param));
        expect(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param), DAT_SUCCESS);
        expect_eq(param.conn_qual, qual);
        expect_that(param.evd_handle == evd, "the EVD is not the PSP's own");
        expect_served(t, psp, qual, evd);
}

static void free_one_of_two(struct test *t, bool newer)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL quals[2];
        DAT_PSP_HANDLE psps[2];

        for (int i = 0; i < 2; i++)
                psps[i] = loop_listen(t, evd, DAT_PSP_CONSUMER_FLAG, &quals[i]);
        free_now(t, psps[newer]);

        expect_refused(t, quals[newer], evd);
        expect_untouched(t, psps[!newer], quals[!newer], evd);
}

CASE(psp_free, older_of_two)
{
        free_one_of_two(t, false);
}

CASE(psp_free, newer_of_two)
{
        free_one_of_two(t, true);
}

static const struct history {
        const char *id;
        bool connected;
} histories[] = {
    {"without_requests", false},
    {"after_connection", true},
};

FAMILY(psp_free, evd_afterwards, histories)
{
        struct loop loop = loop_new(t);

        if (row->connected)
                loop_join(t, &loop);
        else
                listen_by(t, &loop, DAT_PSP_CONSUMER_FLAG);
        free_now(t, loop.psp);

        expect(dat_evd_free(loop.requests), DAT_SUCCESS);
        disown(t, loop.requests);
        if (row->connected)
                expect_message(t, loop.active, loop.passive);
}

CASE(psp_free, often)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp = loop_listen(t, evd, DAT_PSP_CONSUMER_FLAG, &qual);

        for (int i = 0; i < TIMES; i++) {
                free_now(t, psp);
                psp = again_at(t, qual, evd, DAT_PSP_CONSUMER_FLAG);
        }
        expect_served(t, psp, qual, evd);
}

/*
 * The qualifier afterwards
 */

static void again_same_evd(struct test *t, struct loop *loop)
{
        DAT_PSP_HANDLE psp = again_at(t, loop->qual, loop->requests, DAT_PSP_CONSUMER_FLAG);

        expect_served(t, psp, loop->qual, loop->requests);
}

static void again_other_evd(struct test *t, struct loop *loop)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_PSP_HANDLE psp = again_at(t, loop->qual, evd, DAT_PSP_CONSUMER_FLAG);

        expect_served(t, psp, loop->qual, evd);
        expect_empty(t, loop->requests);
}

static void again_other_flag(struct test *t, struct loop *loop)
{
        DAT_PSP_HANDLE psp = again_at(t, loop->qual, loop->requests, DAT_PSP_PROVIDER_FLAG);
        DAT_CR_PARAM param = {.local_ep_handle = DAT_HANDLE_NULL};
        DAT_CR_HANDLE request;

        loop_connect(t, loop->active, loop->qual);
        request = expect_request(t, loop->requests, psp, loop->qual);
        expect(dat_cr_query(request, DAT_CR_FIELD_LOCAL_EP_HANDLE, &param), DAT_SUCCESS);
        expect_that(param.local_ep_handle != DAT_HANDLE_NULL, "the provider made no EP");
        expect_rejected(t, request, loop);
}

static void again_reserved(struct test *t, struct loop *loop)
{
        DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;

        expect(dat_rsp_create(ia(t), loop->qual, loop->passive, loop->requests, &rsp), DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_RSP, rsp);
        loop_connect(t, loop->active, loop->qual);
        expect(dat_cr_accept(expect_request(t, loop->requests, rsp, loop->qual), DAT_HANDLE_NULL, 0,
                             NULL),
               DAT_SUCCESS);
        expect_event(ep_connect_evd(t, loop->active), DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void again_after_request(struct test *t, struct loop *loop)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_PSP_HANDLE psp = again_at(t, loop->qual, evd, DAT_PSP_CONSUMER_FLAG);

        expect_served(t, psp, loop->qual, evd);
        expect_accepted(t, loop->request, loop);
}

static const struct again {
        const char *id;
        void (*serve)(struct test *t, struct loop *loop);
        bool asked; /* a request came before */
} agains[] = {
    {"same_evd", again_same_evd, .asked = false},
    {"other_evd", again_other_evd, .asked = false},
    {"other_flag", again_other_flag, .asked = false},
    {"reserved", again_reserved, .asked = false},
    {"after_request", again_after_request, .asked = true},
};

FAMILY(psp_free, qualifier_again, agains)
{
        struct loop loop = loop_new(t);

        listen_by(t, &loop, DAT_PSP_CONSUMER_FLAG);
        if (row->asked) {
                loop_connect(t, loop.active, loop.qual);
                loop_take_request(t, &loop);
        }
        free_now(t, loop.psp);

        row->serve(t, &loop);
}

static void take_request(struct test *t, struct loop *loop)
{
        loop_connect(t, loop->active, loop->qual);
        loop_take_request(t, loop);
}

static void make_connection(struct test *t, struct loop *loop)
{
        loop_connect(t, loop->active, loop->qual);
        loop_accept(t, loop);
        must_event(ep_connect_evd(t, loop->active), DAT_CONNECTION_EVENT_ESTABLISHED);
        must_event(ep_connect_evd(t, loop->passive), DAT_CONNECTION_EVENT_ESTABLISHED);
}

static const struct before {
        const char *id;
        DAT_PSP_FLAGS flags;
        void (*come)(struct test *t, struct loop *loop);
} befores[] = {
    {"consumer", DAT_PSP_CONSUMER_FLAG, NULL},
    {"provider", DAT_PSP_PROVIDER_FLAG, NULL},
    {"after_request", DAT_PSP_CONSUMER_FLAG, take_request},
    {"after_connection", DAT_PSP_CONSUMER_FLAG, make_connection},
};

FAMILY(psp_free, refused, befores)
{
        struct loop loop = loop_new(t);

        listen_by(t, &loop, row->flags);
        if (row->come)
                row->come(t, &loop);
        free_now(t, loop.psp);

        expect_refused(t, loop.qual, loop.requests);
}

/* What an EP gets that asks where nobody listens. */
static DAT_EVENT_NUMBER answer_at(struct test *t, DAT_CONN_QUAL qual)
{
        DAT_EP_HANDLE ep = ep_with(t);
        DAT_EVENT event;
        DAT_COUNT more;

        memset(&event, 0, sizeof(event));
        loop_connect(t, ep, qual);
        expect(dat_evd_wait(ep_connect_evd(t, ep), event_timeout(t), 1, &event, &more),
               DAT_SUCCESS);
        return event.event_number;
}

CASE(psp_free, refused_like_unheard)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL unheard = UNHEARD_FIRST + draw(t, UNHEARD_COUNT);
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp = loop_listen(t, evd, DAT_PSP_CONSUMER_FLAG, &qual);
        DAT_EVENT_NUMBER answer = answer_at(t, unheard);

        free_now(t, psp);

        expect_eq(answer_at(t, qual), answer);
}

/*
 * Requests that came before
 */

static void stay_accepted(struct test *t, struct loop *loop)
{
        expect_accepted(t, loop->request, loop);
        expect_message(t, loop->active, loop->passive);
}

static void stay_rejected(struct test *t, struct loop *loop)
{
        expect_rejected(t, loop->request, loop);
}

static void stay_queried(struct test *t, struct loop *loop)
{
        unsigned char sent[PRIVATE_SIZE];
        DAT_CR_PARAM param;

        loop_private_data(sent, OF_REQUEST);
        memset(&param, 0xa5, sizeof(param));
        expect(dat_cr_query(loop->request, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
        expect_that(param.private_data_size >= PRIVATE_SIZE, "%d bytes of private data",
                    (int)param.private_data_size);
        expect_that(memcmp(param.private_data, sent, PRIVATE_SIZE) == 0,
                    "the private data is not what was sent");
        expect_that(param.local_ep_handle == DAT_HANDLE_NULL, "an EP that nobody made");
}

static DAT_CR_HANDLE expect_left(struct test *t, const struct loop *loop)
{
        DAT_CR_HANDLE request = expect_request(t, loop->requests, loop->psp, loop->qual);

        expect_quiet(loop->requests);
        return request;
}

static void stay_untaken_accepted(struct test *t, struct loop *loop)
{
        expect_accepted(t, expect_left(t, loop), loop);
}

static void stay_untaken_rejected(struct test *t, struct loop *loop)
{
        expect_rejected(t, expect_left(t, loop), loop);
}

static const struct stay {
        const char *id;
        bool taken; /* before the PSP is freed */
        void (*serve)(struct test *t, struct loop *loop);
} stays[] = {
    {"accepted", true, stay_accepted},
    {"rejected", true, stay_rejected},
    {"queried", true, stay_queried},
    {"untaken_accepted", false, stay_untaken_accepted},
    {"untaken_rejected", false, stay_untaken_rejected},
};

FAMILY(psp_free, request_stays, stays)
{
        DAT_CNO_HANDLE cno;
        struct loop loop = watched_loop(t, &cno);

        loop_ask(t, &loop);
        must_stand(t, cno);
        if (row->taken)
                loop_take_request(t, &loop);
        free_now(t, loop.psp);

        row->serve(t, &loop);
}

CASE(psp_free, all_requests_stay)
{
        DAT_CNO_HANDLE cno;
        DAT_EVD_HANDLE evd = watched_loop(t, &cno).requests;
        struct loop asks[REQUESTS];
        DAT_CR_HANDLE requests[REQUESTS];
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp = loop_listen(t, evd, DAT_PSP_CONSUMER_FLAG, &qual);

        for (int i = 0; i < REQUESTS; i++) {
                asks[i] = loop_new(t);
                loop_connect(t, asks[i].active, qual);
                must_stand(t, cno);
        }
        free_now(t, psp);

        for (int i = 0; i < REQUESTS; i++)
                requests[i] = expect_request(t, evd, psp, qual);
        expect_quiet(evd);
        for (int i = 0; i < REQUESTS; i++)
                expect(dat_cr_accept(requests[i], asks[i].passive, 0, NULL), DAT_SUCCESS);
        for (int i = 0; i < REQUESTS; i++) {
                expect_event(ep_connect_evd(t, asks[i].passive), DAT_CONNECTION_EVENT_ESTABLISHED);
                expect_event(ep_connect_evd(t, asks[i].active), DAT_CONNECTION_EVENT_ESTABLISHED);
        }
}

CASE(psp_free, providers_ep_stays)
{
        struct loop loop = loop_new(t);
        DAT_EP_PARAM with = {
            .pz_handle = pz(t),
            .recv_evd_handle = ep_recv_evd(t, loop.passive),
            .request_evd_handle = ep_request_evd(t, loop.passive),
            .connect_evd_handle = ep_connect_evd(t, loop.passive),
        };
        DAT_CR_PARAM param = {.local_ep_handle = DAT_HANDLE_NULL};

        listen_by(t, &loop, DAT_PSP_PROVIDER_FLAG);
        take_request(t, &loop);
        must(dat_cr_query(loop.request, DAT_CR_FIELD_LOCAL_EP_HANDLE, &param));
        must_that(param.local_ep_handle != DAT_HANDLE_NULL, "the provider made no EP");
        free_now(t, loop.psp);

        expect_eq(ep_state(t, param.local_ep_handle), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
        expect(dat_ep_modify(param.local_ep_handle,
                             DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
                                 DAT_EP_FIELD_REQUEST_EVD_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE,
                             &with),
               DAT_SUCCESS);
        expect(dat_cr_accept(loop.request, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_EP, param.local_ep_handle);
        expect_event(with.connect_evd_handle, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_event(ep_connect_evd(t, loop.active), DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_eq(ep_state(t, param.local_ep_handle), DAT_EP_STATE_CONNECTED);
}

CASE(psp_free, connection_stays)
{
        struct loop loop = loop_new(t);

        loop_join(t, &loop);
        free_now(t, loop.psp);

        expect_message(t, loop.active, loop.passive);
        expect_message(t, loop.passive, loop.active);
        expect_quiet(ep_connect_evd(t, loop.active));
        expect_quiet(ep_connect_evd(t, loop.passive));
}

/* The request was reported, and is then accepted; or the EP that asked is refused. */
static bool answered(struct test *t, const struct loop *loop)
{
        DAT_EVENT event;

        if (dat_is(dat_evd_dequeue(loop->requests, &event), DAT_SUCCESS)) {
                expect_eq(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
                expect_accepted(t, event.event_data.cr_arrival_event_data.cr_handle, loop);
                return true;
        }
        if (!dat_is(dat_evd_dequeue(ep_connect_evd(t, loop->active), &event), DAT_SUCCESS))
                return false;
        expect_eq(event.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        expect_empty(t, loop->requests);
        return true;
}

CASE(psp_free, in_progress)
{
        for (int round = 0; round < ROUNDS; round++) {
                struct loop loop = loop_new(t);
                uint64_t queries = draw(t, WHILE);
                DAT_PSP_PARAM param;
                bool done = false;

                loop_ask(t, &loop);
                for (uint64_t i = 0; i < queries; i++)
                        must(dat_psp_query(loop.psp, DAT_PSP_FIELD_ALL, &param));
                free_now(t, loop.psp);

                for (int look = 0; look < LOOKS && !done; look++) {
                        done = answered(t, &loop);
                        if (!done)
                                settle_briefly(t);
                }
                expect_that(done, "neither a request nor a refusal came");
        }
}

/*
 * The handle afterwards
 */

static DAT_RETURN query(void *psp)
{
        DAT_PSP_PARAM param;

        return dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param);
}

static const struct use {
        const char *id;
        DAT_RETURN (*call)(void *psp);
} uses[] = {
    {"query", query},
    {"free", dat_psp_free},
};

FAMILY(psp_free, handle_afterwards, uses)
{
        expect_stale(row->call, bad_handle(t, DAT_HANDLE_TYPE_PSP, BAD_HANDLE_DESTROYED));
}

LEGAL(psp_free)
{
        call->psp_handle = of_consumer(t, request_evd(t));
        disown(t, call->psp_handle);
}
