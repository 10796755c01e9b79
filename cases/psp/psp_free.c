/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_psp_free: what goes with a PSP, what stays, and what its qualifier is afterwards. */
#include "clauses/psp_free.h"
#include "case/standard.h"
#include "cases/handle/shared/object.h"
#include "cases/shared/point.h"
#include "cases/shared/rounds.h"
#include "cases/shared/siblings.h"
#include "cases/shared/under_way.h"

#include <sched.h>
#include <string.h>

#define REQUESTS 4
#define REFUSALS 2
#define POINTS   3   /* PSPs at once, besides an RSP */
#define ROUNDS   12  /* requests that are in progress at the free */
#define STAGES   4   /* of a request, at most, after which it is freed: one for each yield */
#define LOOKS    300 /* for an answer; each lasts as long as settle_briefly() */

/* Qualifiers at which nothing of the suite listens. */
#define UNHEARD_FIRST 24000
#define UNHEARD_COUNT 400

static void listen_by(struct test *t, struct loop *loop, DAT_PSP_FLAGS flags)
{
        loop->psp = loop_listen(t, loop->requests, flags, &loop->qual);
}

static void take_request(struct test *t, struct loop *loop)
{
        loop_connect(t, loop->active, loop->qual);
        loop_take_request(t, loop);
}

static void make_connection(struct test *t, struct loop *loop)
{
        take_request(t, loop);
        loop->passive = expect_accepted(t, loop->request, loop);
}

/* By a PSP for EPs of either maker. */
static void join(struct test *t, struct loop *loop)
{
        listen_by(t, loop, psp_flags_granted(t));
        make_connection(t, loop);
}

/* The call under test. */
static void free_now(struct test *t, DAT_PSP_HANDLE psp)
{
        expect(dat_psp_free(psp), DAT_SUCCESS);
        disown(t, psp);
}

/*
 * Nothing in the way
 */

static DAT_PSP_HANDLE of_consumer(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_CONN_QUAL qual;

        return loop_listen(t, evd, psp_flags_granted(t), &qual);
}

static DAT_PSP_HANDLE of_provider(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_CONN_QUAL qual;

        return loop_listen(t, evd, DAT_PSP_PROVIDER_FLAG, &qual);
}

static DAT_PSP_HANDLE listen_anywhere(struct test *t, DAT_EVD_HANDLE evd, DAT_CONN_QUAL *qual)
{
        DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;

        must(dat_psp_create_any(ia(t), qual, evd, psp_flags_granted(t), &psp));
        adopt(t, DAT_HANDLE_TYPE_PSP, psp);
        return psp;
}

static DAT_PSP_HANDLE at_any(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_CONN_QUAL qual;

        return listen_anywhere(t, evd, &qual);
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

static const struct maker {
        const char *id;
        DAT_PSP_FLAGS flags;
} makers[] = {
    {"consumer", DAT_PSP_CONSUMER_FLAG},
    {"provider", DAT_PSP_PROVIDER_FLAG},
};

/* The IA counts the PSP no more. */
FAMILY(psp_free, ia_closes, makers)
{
        DAT_IA_HANDLE other = other_ia(t);
        DAT_EVD_HANDLE evd = evd_with(t, .ia = other, .qlen = 8, .flags = DAT_EVD_CR_FLAG);
        DAT_CONN_QUAL qual = point_qual(t);
        DAT_PSP_HANDLE psp;

        must(dat_psp_create(other, qual, evd, row->flags, &psp));
        expect(dat_psp_free(psp), DAT_SUCCESS);
        release(t, evd);
        disown(t, other);
        expect(dat_ia_close(other, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
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
                psps[i] = loop_listen(t, evd, psp_flags_granted(t), &quals[i]);
        free_now(t, psps[newer]);

        expect_refused(t, quals[newer], evd);
        expect_quiet(evd);
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

/* Of all points on the EVD, only the one that is named goes. */
CASE(psp_free, among_others)
{
        struct loop loop = loop_new(t);
        DAT_CONN_QUAL quals[POINTS];
        DAT_PSP_HANDLE psps[POINTS];
        DAT_RSP_HANDLE rsp;

        for (int i = 0; i < POINTS; i++)
                psps[i] = loop_listen(t, loop.requests, psp_flags_granted(t), &quals[i]);
        rsp = rsp_new(t, loop.passive, loop.requests, &loop.qual);
        free_now(t, psps[1]);

        expect_untouched(t, psps[0], quals[0], loop.requests);
        expect_untouched(t, psps[2], quals[2], loop.requests);
        expect_rsp(t, rsp, loop.qual, loop.passive, loop.requests);
        loop_connect(t, loop.active, loop.qual);
        expect_accepted_by(t, expect_request(t, loop.requests, rsp, loop.qual), DAT_HANDLE_NULL,
                           &loop);
}

static const struct side {
        const char *id;
        bool there; /* the PSP that goes is the other instance's, which was made last */
} sides[] = {{"older", false}, {"newer", true}};

/* Two instances of the IA have a PSP each: the one that is left gets its request. */
FAMILY(psp_free, of_two_instances, sides)
{
        DAT_EVD_HANDLE evds[2] = {request_evd(t)};
        DAT_CONN_QUAL quals[2];
        DAT_PSP_HANDLE psps[2];
        struct loop asks = {.active = DAT_HANDLE_NULL};
        int left = !row->there;

        psps[0] = loop_listen(t, evds[0], psp_flags_granted(t), &quals[0]);
        psps[1] = point_elsewhere(t, &evds[1], &quals[1]);
        free_now(t, psps[row->there]);

        expect_refused(t, quals[row->there], evds[row->there]);
        asks.active = ep_with(t);
        loop_connect(t, asks.active, quals[left]);
        expect_rejected(t, expect_request(t, evds[left], psps[left], quals[left]), &asks);
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
                join(t, &loop);
        else
                listen_by(t, &loop, psp_flags_granted(t));
        free_now(t, loop.psp);

        expect(dat_evd_free(loop.requests), DAT_SUCCESS);
        disown(t, loop.requests);
        if (row->connected)
                expect_message(t, loop.active, loop.passive);
}

/* Both makers of EPs, where the provider has them. */
FAMILY(psp_free, waiter_of_evd, makers)
{
        struct loop loop = loop_new(t);
        struct loop next = {.requests = loop.requests, .active = ep_with(t)};
        struct waiter *waiter;
        struct woken woken;

        loop.psp = loop_listen(t, loop.requests, row->flags, &loop.qual);
        waiter = wait_on_evd(t, loop.requests, DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        free_now(t, loop.psp);
        expect_asleep(waiter);

        next.psp = loop_listen(t, loop.requests, row->flags, &next.qual);
        loop_connect(t, next.active, next.qual);
        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_number, DAT_CONNECTION_REQUEST_EVENT);
        expect_that(woken.event.event_data.cr_arrival_event_data.sp_handle.psp_handle == next.psp,
                    "the request names another PSP");
        expect_rejected(t, woken.event.event_data.cr_arrival_event_data.cr_handle, &next);
}

CASE(psp_free, often, ROUNDS_DEADLINE)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp = loop_listen(t, evd, psp_flags_granted(t), &qual);

        struct rounds rounds = rounds_of(t, DAT_HANDLE_TYPE_PSP);

        while (rounds_next(&rounds)) {
                free_now(t, psp);
                psp = psp_at(t, qual, evd, psp_flags_granted(t));
        }
        expect_no_leak(&rounds);
        expect_served(t, psp, qual, evd);
}

/*
 * The qualifier afterwards
 */

static void again_same_evd(struct test *t, struct loop *loop)
{
        DAT_PSP_HANDLE psp = psp_at(t, loop->qual, loop->requests, psp_flags_granted(t));

        expect_served(t, psp, loop->qual, loop->requests);
}

static void again_other_evd(struct test *t, struct loop *loop)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_PSP_HANDLE psp = psp_at(t, loop->qual, evd, psp_flags_granted(t));

        expect_served(t, psp, loop->qual, evd);
        expect_empty(t, loop->requests);
}

static void again_other_flag(struct test *t, struct loop *loop)
{
        DAT_PSP_HANDLE psp = psp_at(t, loop->qual, loop->requests, DAT_PSP_PROVIDER_FLAG);
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
        DAT_RSP_HANDLE rsp = rsp_at(t, loop->qual, loop->passive, loop->requests);

        loop_connect(t, loop->active, loop->qual);
        expect_accepted_by(t, expect_request(t, loop->requests, rsp, loop->qual), DAT_HANDLE_NULL,
                           loop);
}

/* Whether the former PSP's request keeps the qualifier in use (PSP-3). */
static bool is_kept(struct test *t, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd)
{
        DAT_PSP_HANDLE psp;
        DAT_RETURN ret =
            expect_or_note(dat_psp_create(ia(t), qual, evd, psp_flags_granted(t), &psp),
                           DAT_SUCCESS, DAT_CONN_QUAL_IN_USE);

        if (!dat_is(ret, DAT_SUCCESS))
                return true;
        adopt(t, DAT_HANDLE_TYPE_PSP, psp);
        free_now(t, psp);
        return false;
}

static void again_after_request(struct test *t, struct loop *loop)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        bool kept = is_kept(t, loop->qual, evd);

        if (kept)
                expect_accepted(t, loop->request, loop);
        expect_served(t, psp_at(t, loop->qual, evd, psp_flags_granted(t)), loop->qual, evd);
        if (!kept)
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

        listen_by(t, &loop, psp_flags_granted(t));
        if (row->asked) {
                loop_connect(t, loop.active, loop.qual);
                loop_take_request(t, &loop);
        }
        free_now(t, loop.psp);

        row->serve(t, &loop);
}

static void listen_consumers(struct test *t, struct loop *loop)
{
        listen_by(t, loop, psp_flags_granted(t));
}

static void listen_providers(struct test *t, struct loop *loop)
{
        listen_by(t, loop, DAT_PSP_PROVIDER_FLAG);
}

static void listen_chosen(struct test *t, struct loop *loop)
{
        loop->psp = listen_anywhere(t, loop->requests, &loop->qual);
}

static const struct before {
        const char *id;
        void (*listen)(struct test *t, struct loop *loop);
        void (*come)(struct test *t, struct loop *loop);
} befores[] = {
    {"consumer", listen_consumers, NULL},
    {"provider", listen_providers, NULL},
    {"any_qualifier", listen_chosen, NULL},
    {"after_request", listen_consumers, take_request},
    {"after_connection", listen_consumers, make_connection},
};

FAMILY(psp_free, refused, befores)
{
        struct loop loop = loop_new(t);

        row->listen(t, &loop);
        if (row->come)
                row->come(t, &loop);
        free_now(t, loop.psp);

        for (int i = 0; i < REFUSALS; i++)
                expect_refused(t, loop.qual, loop.requests);
        expect_quiet(loop.requests);
}

CASE(psp_free, refused_peer)
{
        struct loop loop = loop_new(t);
        struct peer_ep *end;

        listen_by(t, &loop, psp_flags_granted(t));
        free_now(t, loop.psp);
        end = peer_request(peer(t), loop.qual);

        expect_eq(peer_wait_event(end).number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        expect_empty(t, loop.requests);
}

/* The event of a request to a qualifier without a listener. */
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
        DAT_PSP_HANDLE psp = loop_listen(t, evd, psp_flags_granted(t), &qual);
        DAT_EVENT_NUMBER answer = answer_at(t, unheard);

        free_now(t, psp);

        expect_eq(answer_at(t, qual), answer);
}

/*
 * Requests that came before
 */

static void stay_accepted(struct test *t, struct loop *loop)
{
        expect_message(t, loop->active, expect_accepted(t, loop->request, loop));
}

static void stay_rejected(struct test *t, struct loop *loop)
{
        expect_rejected(t, loop->request, loop);
}

static void stay_handed_off(struct test *t, struct loop *loop)
{
        struct loop to = {.active = loop->active, .passive = loop->passive};

        to.requests = request_evd(t);
        to.psp = loop_listen(t, to.requests, psp_flags_granted(t), &to.qual);
        expect(dat_cr_handoff(loop->request, to.qual), DAT_SUCCESS);
        expect_accepted(t, expect_request(t, to.requests, to.psp, to.qual), &to);
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
        expect_that(provider_makes_all_eps(t) || param.local_ep_handle == DAT_HANDLE_NULL,
                    "an EP that does not exist");
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

static void stay_untaken_queried(struct test *t, struct loop *loop)
{
        loop->request = expect_left(t, loop);
        stay_queried(t, loop);
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
    {"handed_off", true, stay_handed_off},
    {"queried", true, stay_queried},
    {"untaken_accepted", false, stay_untaken_accepted},
    {"untaken_rejected", false, stay_untaken_rejected},
    {"untaken_queried", false, stay_untaken_queried},
};

FAMILY(psp_free, request_stays, stays)
{
        DAT_CNO_HANDLE cno;
        struct loop loop = watched_loop(t, &cno);

        listen_by(t, &loop, psp_flags_granted(t));
        loop_connect(t, loop.active, loop.qual);
        must_stand(t, cno);
        if (row->taken)
                loop_take_request(t, &loop);
        free_now(t, loop.psp);

        row->serve(t, &loop);
}

FAMILY(psp_free, tells_as_before, makers)
{
        struct loop loop = {.requests = request_evd(t), .active = ep_with(t)};
        uint64_t context = draw_context(t);
        struct request_told before;

        listen_by(t, &loop, row->flags);
        take_request(t, &loop);
        before = request_told(t, loop.request);
        must(dat_set_consumer_context(loop.request, CONTEXT(context)));
        free_now(t, loop.psp);

        expect_told_still(t, loop.request, &before);
        expect_context(t, loop.request, context);
        if (row->flags == DAT_PSP_PROVIDER_FLAG)
                expect_ep_in(t, before.param.local_ep_handle,
                             DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
        expect_rejected(t, loop.request, &loop);
}

CASE(psp_free, all_requests_stay)
{
        DAT_CNO_HANDLE cno;
        DAT_EVD_HANDLE evd = watched_loop(t, &cno).requests;
        DAT_COUNT count = cap_at_limit(t, REQUESTS, DAT_HANDLE_TYPE_EP, 2);
        struct loop asks[REQUESTS];
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp = loop_listen(t, evd, psp_flags_granted(t), &qual);

        for (int i = 0; i < count; i++) {
                asks[i] = loop_new(t);
                loop_connect(t, asks[i].active, qual);
                must_stand(t, cno);
        }
        free_now(t, psp);

        for (int i = 0; i < count; i++)
                asks[i].request = expect_request(t, evd, psp, qual);
        expect_quiet(evd);
        expect_all_accepted(t, asks, (int)count);
}

/* On the EVD there is a request of each of two PSPs. */
CASE(psp_free, request_of_other_stays)
{
        DAT_CNO_HANDLE cno;
        DAT_EVD_HANDLE evd = watched_loop(t, &cno).requests;
        struct loop asks[2];
        DAT_PSP_HANDLE psps[2];
        DAT_CONN_QUAL quals[2];
        DAT_CR_HANDLE requests[2];

        for (int i = 0; i < 2; i++) {
                asks[i] = loop_new(t);
                psps[i] = loop_listen(t, evd, psp_flags_granted(t), &quals[i]);
                loop_connect(t, asks[i].active, quals[i]);
                must_stand(t, cno);
        }
        free_now(t, psps[0]);

        for (int i = 0; i < 2; i++)
                requests[i] = expect_request(t, evd, psps[i], quals[i]);
        expect_quiet(evd);
        for (int i = 0; i < 2; i++)
                expect_accepted(t, requests[i], &asks[i]);
}

/* Requests wait on the EVD, and no further one comes there. */
CASE(psp_free, refused_beside_requests)
{
        enum { WAITING = 3 };
        DAT_CNO_HANDLE cno;
        DAT_EVD_HANDLE evd = watched_loop(t, &cno).requests;
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp = loop_listen(t, evd, psp_flags_granted(t), &qual);

        for (int i = 0; i < WAITING; i++) {
                loop_connect(t, ep_with(t), qual);
                must_stand(t, cno);
        }
        free_now(t, psp);

        expect_eq(answer_at(t, qual), DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        for (int i = 0; i < WAITING; i++)
                expect(dat_cr_reject(expect_request(t, evd, psp, qual)), DAT_SUCCESS);
        expect_quiet(evd);
}

/* The request of a provider's EP was taken from the EVD before the free, or is taken then. */
static void expect_providers_ep(struct test *t, bool taken)
{
        DAT_CNO_HANDLE cno;
        struct loop loop = watched_loop(t, &cno);

        listen_by(t, &loop, DAT_PSP_PROVIDER_FLAG);
        loop_connect(t, loop.active, loop.qual);
        must_stand(t, cno);
        if (taken) {
                loop_take_request(t, &loop);
                must_that(request_ep(t, loop.request) != DAT_HANDLE_NULL,
                          "the provider made no EP");
        }
        free_now(t, loop.psp);

        if (!taken)
                loop.request = expect_left(t, &loop);
        expect_that(request_ep(t, loop.request) != DAT_HANDLE_NULL, "the request has no EP");
        expect_eq(ep_state(t, request_ep(t, loop.request)),
                  DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
        expect_message(t, loop.active, expect_own_accepted(t, loop.request, &loop));
}

CASE(psp_free, providers_ep_stays)
{
        expect_providers_ep(t, true);
        expect_providers_ep(t, false);
}

static void expect_connection_left(struct test *t, const struct loop *loop)
{
        expect_message(t, loop->active, loop->passive);
        expect_message(t, loop->passive, loop->active);
        expect_quiet(ep_connect_evd(t, loop->active));
        expect_quiet(ep_connect_evd(t, loop->passive));
}

CASE(psp_free, connection_stays)
{
        struct loop loop = loop_new(t);

        join(t, &loop);
        free_now(t, loop.psp);

        expect_connection_left(t, &loop);
}

/* The free follows the accept at once. */
CASE(psp_free, accepted_stays)
{
        struct loop loop = loop_new(t);

        listen_by(t, &loop, DAT_PSP_CONSUMER_FLAG);
        take_request(t, &loop);
        must(dat_cr_accept(loop.request, loop.passive, 0, NULL));
        free_now(t, loop.psp);

        expect_event(ep_connect_evd(t, loop.passive), DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_event(ep_connect_evd(t, loop.active), DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_connection_left(t, &loop);
}

/* The request was reported, and is then accepted; or the EP that asked is refused. */
static bool answered(struct test *t, const struct loop *loop, int *heard)
{
        DAT_EVENT event;

        if (dat_is(dat_evd_dequeue(loop->requests, &event), DAT_SUCCESS)) {
                expect_eq(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
                expect_accepted(t, event.event_data.cr_arrival_event_data.cr_handle, loop);
                (*heard)++;
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
        int heard = 0;
        int met = 0;
        DAT_COUNT rounds = cap_at_limit(t, ROUNDS, DAT_HANDLE_TYPE_EP, 2);

        for (int round = 0; round < rounds; round++) {
                struct loop loop = loop_new(t);
                uint64_t stages = draw(t, STAGES);
                bool done;

                under_way_keep_processor();
                listen_by(t, &loop, psp_flags_granted(t));
                loop_connect(t, loop.active, loop.qual);
                for (uint64_t i = 0; i < stages; i++)
                        sched_yield();
                done = answered(t, &loop, &heard);
                met += !done;
                free_now(t, loop.psp);

                for (int look = 0; look < LOOKS && !done; look++) {
                        done = answered(t, &loop, &heard);
                        if (!done)
                                settle_briefly(t);
                }
                expect_that(done, "neither a request nor a refusal came");
        }
        record(t, "%d of %d requests were in progress, %d in all were heard", met, (int)rounds,
               heard);
        if (!met)
                note(t, "each request was answered before the free: none was in progress");
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
        expect_stale(row->call, live_handle(t, DAT_HANDLE_TYPE_PSP),
                     bad_handle(t, DAT_HANDLE_TYPE_PSP, BAD_HANDLE_DESTROYED));
}

/*
 * Calls of other threads beside it
 */

static const struct sibling_row siblings[] = {
    {"psp", SIBLING_PSP},
    {"rsp", SIBLING_RSP},
};

FAMILY(psp_free, beside, siblings, SIBLINGS_DEADLINE)
{
        expect_freed_beside(t, SIBLING_PSP, row);
}

LEGAL(psp_free)
{
        call->psp_handle = of_consumer(t, request_evd(t));
        disown(t, call->psp_handle);
}
