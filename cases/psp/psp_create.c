/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_psp_create: whom a PSP serves, how long, at which qualifiers, and with whose EPs. */
#include "clauses/psp_create.h"
#include "case/poison.h"
#include "cases/psp/shared/psp.h"

#include <string.h>

#define PLACES   4   /* of a queue that requests fill */
#define QUEUE    32  /* requests, at most, that fill one */
#define LOOKS    300 /* for an answer; each lasts as long as settle_briefly() */
#define MANY     1000
#define THREADS  3
#define MET      1  /* round that met is enough */
#define ROW      48 /* PSPs that a thread makes in a row */
#define POOL     2
#define REQUESTS 6

/* Qualifiers of many PSPs, one after the other. */
#define MANY_FIRST 25000
#define MANY_COUNT 5000

/*
 * What a PSP is
 */

static const struct psp_maker makers[] = {PSP_MAKERS};

FAMILY(psp_create, usable, makers)
{
        struct loop loop = {.requests = request_evd(t)};

        loop.psp = psp_new(t, loop.requests, row->flags, &loop.qual);

        expect_psp(t, loop.psp, loop.qual, loop.requests, row->flags);
        expect_empty(t, loop.requests);
        expect_served_by(t, loop.psp, loop.qual, loop.requests, row->flags);
}

FAMILY(psp_create, as_declared, makers)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL qual = point_qual(t);
        DAT_PSP_HANDLE psp;
        DAT_RETURN ret = dat_psp_create(ia(t), qual, evd, row->flags, &psp);

        must_be_told(t, NEED_PROVIDER_MADE_EP);
        if (psp_declared(t, row->flags)) {
                expect(ret, DAT_SUCCESS);
                adopt(t, DAT_HANDLE_TYPE_PSP, psp);
        } else {
                expect(ret, DAT_MODEL_NOT_SUPPORTED);
        }
}

FAMILY(psp_create, from_peer, makers)
{
        struct loop loop = loop_new(t);
        struct peer_ep *end;
        DAT_CR_HANDLE request;

        loop.psp = psp_new(t, loop.requests, row->flags, &loop.qual);
        end = peer_request(peer(t), loop.qual);

        request = expect_request(t, loop.requests, loop.psp, loop.qual);
        psp_take_peer(t, request, row->flags, &loop);
        peer_wait_connected(end);
        expect_peer_messages(t, end, loop.passive);
}

CASE(psp_create, several_from_peer)
{
        struct loop loop = {.requests = request_evd(t)};
        struct peer_ep *ends[PLACES];
        DAT_CR_HANDLE requests[PLACES];

        loop.psp = psp_new(t, loop.requests, DAT_PSP_CONSUMER_FLAG, &loop.qual);
        for (int i = 0; i < PLACES; i++)
                ends[i] = peer_request(peer(t), loop.qual);
        for (int i = 0; i < PLACES; i++)
                requests[i] = expect_request(t, loop.requests, loop.psp, loop.qual);

        for (int i = 0; i < PLACES; i++) {
                loop.passive = ep_with(t);
                psp_take_peer(t, requests[i], DAT_PSP_CONSUMER_FLAG, &loop);
        }
        for (int i = 0; i < PLACES; i++)
                peer_wait_connected(ends[i]);
}

/*
 * Persistent
 */

static void deal_accept(struct test *t, DAT_CR_HANDLE request, struct loop *loop)
{
        expect_accepted(t, request, loop);
}

static void deal_reject(struct test *t, DAT_CR_HANDLE request, struct loop *loop)
{
        expect_rejected(t, request, loop);
}

/* The request stands unanswered, and goes with the IA. */
static void deal_leave(struct test *t, DAT_CR_HANDLE request, struct loop *loop)
{
        (void)t;
        (void)request;
        (void)loop;
}

static void deal_end(struct test *t, DAT_CR_HANDLE request, struct loop *loop)
{
        expect_accepted(t, request, loop);
        must(dat_ep_disconnect(loop->active, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, loop->passive), DAT_CONNECTION_EVENT_DISCONNECTED);
}

static const struct dealt {
        const char *id;
        void (*deal)(struct test *t, DAT_CR_HANDLE request, struct loop *loop);
} dealts[] = {
    {"accepted", deal_accept},
    {"rejected", deal_reject},
    {"unanswered", deal_leave},
    {"disconnected", deal_end},
};

FAMILY(psp_create, persistent, dealts)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp = psp_new(t, evd, DAT_PSP_CONSUMER_FLAG, &qual);
        DAT_COUNT count = cap_at_limit(t, PLACES + 1, DAT_HANDLE_TYPE_EP, 2);

        for (int i = 0; i < count - 1; i++) {
                struct loop asks = loop_new(t);

                loop_connect(t, asks.active, qual);
                row->deal(t, expect_request(t, evd, psp, qual), &asks);
        }
        expect_served(t, psp, qual, evd);
        expect_empty(t, evd);
}

/* Asks for a connection, with private data of its own. */
static void ask_as(struct test *t, DAT_EP_HANDLE ep, DAT_CONN_QUAL qual, int who)
{
        unsigned char data[PRIVATE_SIZE];

        loop_private_data(data, (unsigned char)who);
        must(dat_ep_connect(ep, ia_attr(t)->ia_address_ptr, qual, event_timeout(t), PRIVATE_SIZE,
                            data, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

/* Who asks by the request, of so many. */
static int asker(struct test *t, DAT_CR_HANDLE request, int count)
{
        unsigned char data[PRIVATE_SIZE];
        DAT_CR_PARAM param;

        memset(&param, 0, sizeof(param));
        expect(dat_cr_query(request, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
        expect_that(param.private_data && param.private_data_size >= PRIVATE_SIZE,
                    "the request has %d bytes of private data", (int)param.private_data_size);
        for (int who = 0; who < count; who++) {
                loop_private_data(data, (unsigned char)who);
                if (memcmp(param.private_data, data, PRIVATE_SIZE) == 0)
                        return who;
        }
        expect_that(false, "the request has private data that nobody sent");
        return -1;
}

static const struct spread {
        const char *id;
        int points;
} spreads[] = {
    {"one_point", 1},
    {"two_points_of_one_evd", 2},
};

FAMILY(psp_create, several_requests, spreads)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        struct loop asks[REQUESTS] = {{.active = DAT_HANDLE_NULL}};
        bool came[REQUESTS] = {false};
        DAT_PSP_HANDLE psps[2] = {DAT_HANDLE_NULL};
        DAT_CONN_QUAL quals[2] = {0};
        DAT_COUNT count = cap_at_limit(t, REQUESTS, DAT_HANDLE_TYPE_EP, 2);

        for (int i = 0; i < row->points; i++)
                psps[i] = psp_new(t, evd, DAT_PSP_CONSUMER_FLAG, &quals[i]);
        for (int i = 0; i < count; i++) {
                asks[i] = loop_new(t);
                ask_as(t, asks[i].active, quals[i % row->points], i);
        }

        for (int i = 0; i < count; i++) {
                DAT_EVENT event = expect_event(evd, DAT_CONNECTION_REQUEST_EVENT);
                const DAT_CR_ARRIVAL_EVENT_DATA *data = &event.event_data.cr_arrival_event_data;
                int who = asker(t, data->cr_handle, count);

                expect_that(!came[who], "the request of EP %d came twice", who);
                came[who] = true;
                expect_that(data->sp_handle.psp_handle == psps[who % row->points],
                            "the request is for another point");
                expect_eq(data->conn_qual, quals[who % row->points]);
                asks[who].request = data->cr_handle;
        }
        expect_empty(t, evd);
        for (int i = 0; i < count; i++)
                expect_accepted(t, asks[i].request, &asks[i]);
}

/*
 * Backlog
 */

/* Some EPs that ask, and all report to one EVD. */
struct askers {
        DAT_EVD_HANDLE connect;
        DAT_CNO_HANDLE cno;
        DAT_EVD_HANDLE requests;
        DAT_PSP_HANDLE psp;
        DAT_CONN_QUAL qual;
        int count; /* that stand on the EVD */
};

static struct askers askers_at(struct test *t, DAT_COUNT qlen)
{
        struct askers askers = {
            .connect = evd_with(t, .qlen = QUEUE + 2, .flags = DAT_EVD_CONNECTION_FLAG),
            .cno = cno_new(t),
        };

        askers.requests = evd_with(t, .qlen = qlen, .flags = DAT_EVD_CR_FLAG, .cno = askers.cno);
        must(dat_evd_enable(askers.requests));
        askers.psp = psp_new(t, askers.requests, DAT_PSP_CONSUMER_FLAG, &askers.qual);
        return askers;
}

static DAT_EP_HANDLE ask(struct test *t, const struct askers *askers)
{
        DAT_EP_HANDLE ep = ep_with(t, .connect_evd = askers->connect);

        loop_connect(t, ep, askers->qual);
        return ep;
}

/* Requests fill the EVD, one place after the other, and nobody takes them. */
static void fill(struct test *t, struct askers *askers)
{
        DAT_COUNT places = evd_param(t, askers->requests).evd_qlen;

        for (askers->count = 0; askers->count < places && askers->count < QUEUE; askers->count++) {
                DAT_EVD_HANDLE evd;

                ask(t, askers);
                expect(dat_cno_wait(askers->cno, event_timeout(t), &evd), DAT_SUCCESS);
        }
}

/* Each comes, and is the consumer's: it can be rejected. */
static void expect_filled(struct test *t, const struct askers *askers)
{
        for (int i = 0; i < askers->count; i++) {
                DAT_CR_HANDLE request =
                    expect_request(t, askers->requests, askers->psp, askers->qual);

                expect(dat_cr_reject(request), DAT_SUCCESS);
                expect_event(askers->connect, DAT_CONNECTION_EVENT_PEER_REJECTED);
        }
}

static const struct backlog {
        const char *id;
        DAT_COUNT made;
        DAT_COUNT resized; /* 0: not */
} backlogs[] = {
    {"one", 1, 0},
    {"four", PLACES, 0},
    {"grown", 1, 2 * PLACES},
    {"shrunk", 2 * PLACES, PLACES},
};

FAMILY(psp_create, backlog, backlogs)
{
        struct askers askers = askers_at(t, row->made);

        if (row->resized)
                must(dat_evd_resize(askers.requests, row->resized));
        fill(t, &askers);

        expect_filled(t, &askers);
        expect_empty(t, askers.requests);
        expect_empty(t, askers.connect);
}

/*
 * What becomes of the request that found no place, so far: 0 nothing, 1 it came to the EVD and is
 * rejected, 2 it is refused.
 */
static int beyond(struct test *t, const struct askers *askers)
{
        DAT_EVENT event;

        if (dat_is(dat_evd_dequeue(askers->connect, &event), DAT_SUCCESS)) {
                expect_that(event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
                                event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE ||
                                event.event_number == DAT_CONNECTION_EVENT_TIMED_OUT,
                            "the EP that asked got event %#x", (unsigned int)event.event_number);
                return 2;
        }
        return 0;
}

static int look_beyond(struct test *t, const struct askers *askers, int looks, bool taken)
{
        int became = beyond(t, askers);
        DAT_EVENT event;

        for (int i = 0; i < looks && !became; i++) {
                settle_briefly(t);
                became = beyond(t, askers);
                if (!became && taken &&
                    dat_is(dat_evd_dequeue(askers->requests, &event), DAT_SUCCESS)) {
                        expect_eq(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
                        must(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle));
                        must_event(askers->connect, DAT_CONNECTION_EVENT_PEER_REJECTED);
                        became = 1;
                }
        }
        return became;
}

CASE(psp_create, backlog_past)
{
        struct askers askers = askers_at(t, PLACES);
        int became;

        fill(t, &askers);
        ask(t, &askers);
        became = look_beyond(t, &askers, LOOKS / 10, false);

        expect_filled(t, &askers);
        if (!became)
                became = look_beyond(t, &askers, LOOKS, true);
        expect_that(became, "the request beyond the queue was neither refused nor reported");
        record(t, "with %d requests in the queue, one more was %s", askers.count,
               became == 1 ? "reported later" : "refused");
        expect_empty(t, askers.requests);
        expect_served(t, askers.psp, askers.qual, askers.requests);
        drain_async_event(t);
}

/*
 * Qualifiers
 */

static const struct high_bits high_bits[] = {HIGH_BITS};

/* A PSP at a qualifier of more than sixteen bits; a transport may have none such (PSP-4). */
static DAT_PSP_HANDLE psp_at_high(struct test *t, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd)
{
        DAT_PSP_HANDLE psp;

        poison(&psp, sizeof(psp));
        if (dat_is(expect_or_note(dat_psp_create(ia(t), qual, evd, DAT_PSP_CONSUMER_FLAG, &psp),
                                  DAT_SUCCESS, DAT_INVALID_PARAMETER),
                   DAT_INVALID_PARAMETER))
                return DAT_HANDLE_NULL;
        adopt(t, DAT_HANDLE_TYPE_PSP, psp);
        expect_psp(t, psp, qual, evd, DAT_PSP_CONSUMER_FLAG);
        return psp;
}

FAMILY(psp_create, high_qualifier, high_bits)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL low;
        DAT_PSP_HANDLE below = psp_new(t, evd, DAT_PSP_CONSUMER_FLAG, &low);
        DAT_CONN_QUAL high = low | row->bits;
        DAT_PSP_HANDLE psp = psp_at_high(t, high, evd);

        if (psp) {
                expect_served(t, psp, high, evd);
                expect_served(t, below, low, evd);
                expect(dat_psp_free(below), DAT_SUCCESS);
                disown(t, below);
                expect_refused(t, low, evd);
                below = psp;
                low = high;
        }
        expect_served(t, below, low, evd);
}

CASE(psp_create, drawn_qualifiers)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL quals[REQUESTS];
        DAT_PSP_HANDLE psps[REQUESTS];
        DAT_COUNT count = cap_at_limit(t, REQUESTS, DAT_HANDLE_TYPE_EP, 2);

        for (int i = 0; i < count; i++) {
                quals[i] = draw(t, UINT64_MAX) | UINT64_C(1) << (63 - i);
                psps[i] = psp_at_high(t, quals[i], evd);
        }
        for (int i = 0; i < count; i++)
                if (psps[i])
                        expect_served(t, psps[i], quals[i], evd);
}

static const struct psp_holder holders[] = {PSP_HOLDERS};

FAMILY(psp_create, in_use, holders)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        struct loop holder = loop_new(t);
        DAT_EVD_HANDLE vain = row->same_evd ? holder.requests : evd;
        DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;

        row->hold(t, &holder);

        expect(dat_psp_create(ia(t), holder.qual, vain, row->flags, &psp), DAT_CONN_QUAL_IN_USE);

        psp_holds_on(t, &holder, row);
        if (!row->same_evd) {
                expect(dat_evd_free(vain), DAT_SUCCESS);
                disown(t, vain);
        }
}

CASE(psp_create, qualifier_of_freed_rsp)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL qual;
        DAT_RSP_HANDLE rsp = rsp_new(t, ep_with(t), evd, &qual);
        DAT_PSP_HANDLE psp;

        expect(dat_rsp_free(rsp), DAT_SUCCESS);
        disown(t, rsp);

        psp = psp_at(t, qual, evd, DAT_PSP_CONSUMER_FLAG);
        expect_psp(t, psp, qual, evd, DAT_PSP_CONSUMER_FLAG);
        expect_served(t, psp, qual, evd);
        expect_served(t, psp, qual, evd);
}

CASE(psp_create, many_at_once)
{
        static DAT_PSP_HANDLE psps[MANY];
        static DAT_CONN_QUAL quals[MANY];
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL qual = MANY_FIRST + draw(t, MANY_COUNT);
        int count = 0;

        for (int tries = 0; count < MANY && tries < 2 * MANY; tries++, qual++) {
                DAT_RETURN ret =
                    dat_psp_create(ia(t), qual, evd, DAT_PSP_CONSUMER_FLAG, &psps[count]);

                if (dat_is(ret, DAT_CONN_QUAL_IN_USE))
                        continue;
                if (count >= PLACES && dat_is(ret, DAT_INSUFFICIENT_RESOURCES))
                        break;
                expect(ret, DAT_SUCCESS);
                adopt(t, DAT_HANDLE_TYPE_PSP, psps[count]);
                quals[count++] = qual;
        }
        record(t, "%d PSPs at once", count);

        psp_all_differ(t, psps, count);
        for (int i = 0; i < count; i++)
                expect_psp(t, psps[i], quals[i], evd, DAT_PSP_CONSUMER_FLAG);
        expect_served(t, psps[0], quals[0], evd);
        expect_served(t, psps[count / 2], quals[count / 2], evd);
        expect_served(t, psps[count - 1], quals[count - 1], evd);
        release(t, psps[0]);
        expect_served(t, psp_at(t, quals[0], evd, DAT_PSP_CONSUMER_FLAG), quals[0], evd);
}

/*
 * EPs of requests
 */

CASE(psp_create, consumers_ep)
{
        struct loop loop = {.requests = request_evd(t)};

        loop.psp = psp_new(t, loop.requests, DAT_PSP_CONSUMER_FLAG, &loop.qual);
        loop.active = ep_with(t);
        loop_connect(t, loop.active, loop.qual);
        loop.request = expect_request(t, loop.requests, loop.psp, loop.qual);
        expect_that(request_ep(t, loop.request) == DAT_HANDLE_NULL, "an EP that nobody made");

        loop.passive = ep_with(t);
        expect_accepted(t, loop.request, &loop);
        expect_message(t, loop.active, loop.passive);
        expect_message(t, loop.passive, loop.active);
}

CASE(psp_create, pool_of_two_points)
{
        DAT_EP_HANDLE pool[POOL] = {ep_with(t), ep_with(t)};
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_PSP_HANDLE psps[POOL];
        DAT_CONN_QUAL quals[POOL];

        for (int i = 0; i < POOL; i++)
                psps[i] = psp_new(t, evd, DAT_PSP_CONSUMER_FLAG, &quals[i]);
        for (int i = 0; i < POOL; i++) {
                struct loop asks = {.active = ep_with(t), .passive = pool[POOL - 1 - i]};

                loop_connect(t, asks.active, quals[i]);
                expect_accepted(t, expect_request(t, evd, psps[i], quals[i]), &asks);
                expect_message(t, asks.active, asks.passive);
        }
}

static const struct psp_ep_field ep_fields[] = {PSP_EP_FIELDS};

FAMILY(psp_create, providers_ep, ep_fields)
{
        struct loop loop = {.requests = request_evd(t)};

        loop.psp = psp_new(t, loop.requests, DAT_PSP_PROVIDER_FLAG, &loop.qual);
        psp_check_ep(t, &loop, row);
}

CASE(psp_create, providers_ep_each)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        struct loop asks[PLACES];
        DAT_EP_HANDLE eps[PLACES];
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp = psp_new(t, evd, DAT_PSP_PROVIDER_FLAG, &qual);

        for (int i = 0; i < PLACES; i++) {
                asks[i] = (struct loop){.active = ep_with(t)};
                loop_connect(t, asks[i].active, qual);
                asks[i].request = expect_request(t, evd, psp, qual);
                eps[i] = request_ep(t, asks[i].request);
                expect_eq(ep_state(t, eps[i]), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
                for (int j = 0; j < i; j++)
                        expect_that(eps[j] != eps[i], "two requests have one EP");
        }
        for (int i = 0; i < PLACES; i++)
                expect_own_accepted(t, asks[i].request, &asks[i]);
        for (int i = 0; i < PLACES; i++) {
                expect_message(t, asks[i].active, eps[i]);
                expect_message(t, eps[i], asks[i].active);
        }
}

static DAT_RETURN ask_state(void *ep)
{
        DAT_BOOLEAN recv_idle;
        DAT_BOOLEAN request_idle;
        DAT_EP_STATE state;

        return dat_ep_get_status(ep, &state, &recv_idle, &request_idle);
}

CASE(psp_create, providers_ep_rejected)
{
        struct loop loop = {.requests = request_evd(t), .active = ep_with(t)};
        DAT_EP_HANDLE ep;

        loop.psp = psp_new(t, loop.requests, DAT_PSP_PROVIDER_FLAG, &loop.qual);
        loop_connect(t, loop.active, loop.qual);
        loop.request = expect_request(t, loop.requests, loop.psp, loop.qual);
        ep = request_ep(t, loop.request);
        expect_eq(ep_state(t, ep), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
        expect_rejected(t, loop.request, &loop);

        expect_stale(ask_state, ep);
        expect_served_by(t, loop.psp, loop.qual, loop.requests, DAT_PSP_PROVIDER_FLAG);
}

CASE(psp_create, attributes_match)
{
        struct loop loop = {.requests = request_evd(t)};

        loop.psp = psp_new(t, loop.requests, DAT_PSP_PROVIDER_FLAG, &loop.qual);
        psp_read_all(t, &loop);
}

CASE(psp_create, both_on_one_evd)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_PSP_HANDLE psps[2];
        DAT_CONN_QUAL quals[2];

        for (int i = 0; i < 2; i++)
                psps[i] = psp_new(t, evd, makers[i].flags, &quals[i]);
        for (int i = 0; i < 2 * PLACES; i++) {
                struct loop asks = {.active = ep_with(t)};
                DAT_CR_HANDLE request;

                loop_connect(t, asks.active, quals[i % 2]);
                request = expect_request(t, evd, psps[i % 2], quals[i % 2]);
                expect_eq(request_ep(t, request) != DAT_HANDLE_NULL,
                          makers[i % 2].flags == DAT_PSP_PROVIDER_FLAG);
                expect_rejected(t, request, &asks);
                release(t, asks.active);
        }
}

/*
 * Waking
 */

CASE(psp_create, wakes_waiter)
{
        struct loop loop = loop_new(t);
        struct waiter *waiter;
        struct woken woken;

        loop.psp = psp_new(t, loop.requests, DAT_PSP_CONSUMER_FLAG, &loop.qual);
        waiter = wait_on_evd(t, loop.requests, DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        loop_connect(t, loop.active, loop.qual);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_number, DAT_CONNECTION_REQUEST_EVENT);
        expect_accepted(t, woken.event.event_data.cr_arrival_event_data.cr_handle, &loop);
}

CASE(psp_create, triggers_cno)
{
        DAT_CNO_HANDLE cno;
        struct loop loop = watched_loop(t, &cno);
        struct waiter *waiter;
        struct woken woken;

        loop.psp = psp_new(t, loop.requests, DAT_PSP_CONSUMER_FLAG, &loop.qual);
        waiter = wait_on_cno(t, cno, event_timeout(t));
        must_wait(waiter);
        loop_connect(t, loop.active, loop.qual);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_that(woken.evd == loop.requests, "the CNO names another EVD");
        expect_accepted(t, expect_request(t, loop.requests, loop.psp, loop.qual), &loop);
}

/*
 * Threads
 */

/* A thread makes PSPs in a row: one call is over before another thread has begun. */
struct making {
        DAT_IA_HANDLE ia;
        DAT_EVD_HANDLE evd;
        DAT_CONN_QUAL quals[ROW];
        DAT_PSP_HANDLE psps[ROW];
        DAT_RETURN rets[ROW];
};

static DAT_RETURN make_row(void *arg)
{
        struct making *making = arg;

        for (int i = 0; i < ROW; i++)
                making->rets[i] = dat_psp_create(making->ia, making->quals[i], making->evd,
                                                 DAT_PSP_CONSUMER_FLAG, &making->psps[i]);
        return DAT_SUCCESS;
}

/* Threads make their rows at once; those of thread n begin n times so many qualifiers further. */
static bool make_rows(struct test *t, struct making makings[THREADS], DAT_EVD_HANDLE evd,
                      DAT_CONN_QUAL apart)
{
        DAT_CONN_QUAL first = MANY_FIRST + draw(t, MANY_COUNT);
        struct racer racers[THREADS];

        for (int i = 0; i < THREADS; i++) {
                makings[i] = (struct making){.ia = ia(t), .evd = evd};
                for (DAT_CONN_QUAL j = 0; j < ROW; j++)
                        makings[i].quals[j] = first + (DAT_CONN_QUAL)i * apart + j;
                racers[i] = (struct racer){.call = make_row, .arg = &makings[i]};
        }
        return race(racers, THREADS);
}

static void expect_made(struct test *t, const struct making *making, int i)
{
        adopt(t, DAT_HANDLE_TYPE_PSP, making->psps[i]);
        expect_psp(t, making->psps[i], making->quals[i], making->evd, DAT_PSP_CONSUMER_FLAG);
}

CASE(psp_create, threads_each_its_own)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        struct stress stress = stress_of(t, 200);

        while (stress.met < MET && stress_round(&stress)) {
                struct making makings[THREADS];

                stress_met(&stress, make_rows(t, makings, evd, ROW));
                for (int i = 0; i < THREADS * ROW; i++) {
                        expect(makings[i / ROW].rets[i % ROW], DAT_SUCCESS);
                        expect_made(t, &makings[i / ROW], i % ROW);
                }
                for (int i = 0; i < THREADS * ROW; i++)
                        release(t, makings[i / ROW].psps[i % ROW]);
        }
        must_have_met(&stress);
}

/* Of the threads, the one that has the qualifier of that place in its row. */
static int winner(struct test *t, const struct making makings[THREADS], int place)
{
        int made = -1;

        for (int i = 0; i < THREADS; i++) {
                expect(makings[i].rets[place], DAT_SUCCESS, DAT_CONN_QUAL_IN_USE);
                if (!dat_is(makings[i].rets[place], DAT_SUCCESS))
                        continue;
                expect_that(made < 0, "two threads have made a PSP at one qualifier");
                made = i;
        }
        expect_that(made >= 0, "no thread has made a PSP at a free qualifier");
        return made;
}

CASE(psp_create, threads_at_one)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        struct stress stress = stress_of(t, 200);

        while (stress.met < MET && stress_round(&stress)) {
                struct making makings[THREADS];
                int winners[ROW];

                stress_met(&stress, make_rows(t, makings, evd, 0));
                for (int i = 0; i < ROW; i++) {
                        winners[i] = winner(t, makings, i);
                        expect_made(t, &makings[winners[i]], i);
                }
                for (int i = 0; i < ROW; i++)
                        release(t, makings[winners[i]].psps[i]);
        }
        must_have_met(&stress);
}

/*
 * Arguments
 */

static const struct wrong_evd wrong_evds[] = {WRONG_EVDS};

FAMILY(psp_create, evd_of_other_stream, wrong_evds)
{
        DAT_EVD_HANDLE evd = wrong_evd(t, row);
        struct loop loop = {.requests = request_evd(t), .qual = point_qual(t)};
        DAT_PSP_HANDLE psp;

        expect(dat_psp_create(ia(t), loop.qual, evd, DAT_PSP_CONSUMER_FLAG, &psp),
               DAT_INVALID_HANDLE);

        loop.psp = psp_at(t, loop.qual, loop.requests, DAT_PSP_CONSUMER_FLAG);
        expect_served(t, loop.psp, loop.qual, loop.requests);
        expect_empty(t, evd);
}

static const struct wrong_evd merged_evds[] = {MERGED_EVDS};

FAMILY(psp_create, evd_of_more_streams, merged_evds)
{
        struct loop loop = {.requests = evd_with(t, .qlen = 8, .flags = row->flags)};

        loop.psp = psp_new(t, loop.requests, DAT_PSP_CONSUMER_FLAG, &loop.qual);

        expect_served(t, loop.psp, loop.qual, loop.requests);
        expect_empty(t, loop.requests);
}

static const struct psp_no_flag no_flags[] = {PSP_NO_FLAGS};

FAMILY(psp_create, invalid_flags, no_flags)
{
        struct loop loop = {.requests = request_evd(t), .qual = point_qual(t)};
        DAT_PSP_HANDLE psp;

        expect(dat_psp_create(ia(t), loop.qual, loop.requests, (DAT_PSP_FLAGS)row->bits, &psp),
               DAT_INVALID_PARAMETER);

        loop.psp = psp_at(t, loop.qual, loop.requests, DAT_PSP_CONSUMER_FLAG);
        expect_served(t, loop.psp, loop.qual, loop.requests);
}

static const struct psp_other_bits other_bits[] = {PSP_OTHER_BITS};

FAMILY(psp_create, other_flag_bits, other_bits)
{
        struct loop loop = {.requests = request_evd(t), .qual = point_qual(t)};
        DAT_PSP_HANDLE psp;

        for (int bit = PSP_FIRST_OTHER_BIT; bit < PSP_BITS; bit++)
                expect(dat_psp_create(ia(t), loop.qual, loop.requests,
                                      (DAT_PSP_FLAGS)(row->flag | 1U << bit), &psp),
                       DAT_INVALID_PARAMETER);

        loop.psp = psp_at(t, loop.qual, loop.requests, DAT_PSP_CONSUMER_FLAG);
        expect_served(t, loop.psp, loop.qual, loop.requests);
}

LEGAL(psp_create)
{
        call->ia_handle = ia(t);
        call->conn_qual = point_qual(t);
        call->evd_handle = request_evd(t);
        call->psp_flags = DAT_PSP_CONSUMER_FLAG;
}
