/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_psp_create_any: qualifiers of the provider's choice, which no other service point has. */
#include "clauses/psp_create_any.h"
#include "case/exec_process.h"
#include "case/poison.h"
#include "cases/psp/shared/psp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES  4
#define ASKS    6  /* one after another */
#define TAKEN   16 /* qualifiers after a choice that are taken, one by one */
#define MANY    1000
#define THREADS 3
#define ROW     48  /* PSPs that a thread makes in a row */
#define MET     1   /* round that met is enough */
#define TIMES   20  /* that a choice is freed and another made */
#define CHOSEN  500 /* qualifiers beside one that is held */
#define BESIDE  64  /* qualifiers beside those that another process holds */

/* The call under test: a PSP, and a qualifier that the call wrote. */
static DAT_PSP_HANDLE psp_any(struct test *t, DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags,
                              DAT_CONN_QUAL *qual)
{
        DAT_PSP_HANDLE psp;

        poison(&psp, sizeof(psp));
        poison(qual, sizeof(*qual));
        expect(dat_psp_create_any(ia(t), qual, evd, flags, &psp), DAT_SUCCESS);
        expect_that(!is_poison(&psp, sizeof(psp)), "no handle was stored");
        expect_that(!is_poison(qual, sizeof(*qual)), "no qualifier was stored");
        adopt(t, DAT_HANDLE_TYPE_PSP, psp);
        return psp;
}

/*
 * What a PSP is
 */

static const struct psp_maker makers[] = {PSP_MAKERS};

FAMILY(psp_create_any, usable, makers)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp = psp_any(t, evd, row->flags, &qual);

        expect_psp(t, psp, qual, evd, row->flags);
        expect_empty(t, evd);
        expect_served_by(t, psp, qual, evd, row->flags);
        expect_served_by(t, psp, qual, evd, row->flags);
        expect_empty(t, evd);
}

/* The request of an EP that asks for the first time. */
static DAT_CR_HANDLE expect_another(struct test *t, struct loop *loop)
{
        loop->active = ep_with(t);
        loop_connect(t, loop->active, loop->qual);
        return expect_request(t, loop->requests, loop->psp, loop->qual);
}

FAMILY(psp_create_any, one_after_another, makers)
{
        struct loop loop = {.requests = request_evd(t)};
        DAT_EP_PARAM param;

        loop.psp = psp_any(t, loop.requests, row->flags, &loop.qual);
        for (int i = 0; i < ASKS; i++) {
                DAT_CR_HANDLE request = expect_another(t, &loop);
                DAT_EP_HANDLE ep = request_ep(t, request);

                expect_told_of_asker(t, request, loop.active);
                expect_that((ep != DAT_HANDLE_NULL) == (row->flags == DAT_PSP_PROVIDER_FLAG),
                            "who makes the EP is not what the flag says");
                if (ep) {
                        poison(&param, sizeof(param));
                        expect_ep_in(t, ep, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
                        expect(dat_ep_query(ep, DAT_EP_FIELD_IA_HANDLE, &param), DAT_SUCCESS);
                        expect_that(param.ia_handle == ia(t), "the EP is of another IA");
                }
                expect_rejected(t, request, &loop);
                release(t, loop.active);
        }
        expect_served_by(t, loop.psp, loop.qual, loop.requests, row->flags);
}

static const struct pair_of {
        const char *id;
        DAT_PSP_FLAGS flags[2]; /* of the older and of the newer */
} pairs[] = {
    {"consumer_before_provider", {DAT_PSP_CONSUMER_FLAG, DAT_PSP_PROVIDER_FLAG}},
    {"provider_before_consumer", {DAT_PSP_PROVIDER_FLAG, DAT_PSP_CONSUMER_FLAG}},
    {"provider_twice", {DAT_PSP_PROVIDER_FLAG, DAT_PSP_PROVIDER_FLAG}},
};

FAMILY(psp_create_any, two, pairs)
{
        DAT_EVD_HANDLE evds[2];
        DAT_CONN_QUAL quals[2];
        DAT_PSP_HANDLE psps[2];

        for (int i = 0; i < 2; i++) {
                evds[i] = request_evd(t);
                psps[i] = psp_any(t, evds[i], row->flags[i], &quals[i]);
        }
        for (int i = 0; i < 2; i++) {
                expect_psp(t, psps[i], quals[i], evds[i], row->flags[i]);
                expect_served_by(t, psps[i], quals[i], evds[i], row->flags[i]);
                expect_empty(t, evds[!i]);
        }
}

CASE(psp_create_any, provider_after_refusal)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL qual = 0;
        DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;

        expect(dat_psp_create_any(ia(t), &qual, evd, (DAT_PSP_FLAGS)3, &psp),
               DAT_INVALID_PARAMETER);

        psp = psp_any(t, evd, DAT_PSP_PROVIDER_FLAG, &qual);
        expect_psp(t, psp, qual, evd, DAT_PSP_PROVIDER_FLAG);
        expect_served_by(t, psp, qual, evd, DAT_PSP_PROVIDER_FLAG);
}

FAMILY(psp_create_any, as_declared, makers)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp;
        DAT_RETURN ret = dat_psp_create_any(ia(t), &qual, evd, row->flags, &psp);

        must_be_told(t, NEED_PROVIDER_MADE_EP);
        if (psp_declared(t, row->flags)) {
                expect(ret, DAT_SUCCESS);
                adopt(t, DAT_HANDLE_TYPE_PSP, psp);
        } else {
                expect(ret, DAT_MODEL_NOT_SUPPORTED);
        }
}

FAMILY(psp_create_any, from_peer, makers)
{
        struct loop loop = loop_new(t);
        struct peer_ep *end;
        DAT_CR_HANDLE request;

        loop.psp = psp_any(t, loop.requests, row->flags, &loop.qual);
        end = peer_request(peer(t), loop.qual);

        request = expect_request(t, loop.requests, loop.psp, loop.qual);
        psp_take_peer(t, request, row->flags, &loop);
        peer_wait_connected(end);
        expect_peer_messages(t, end, loop.passive);
}

CASE(psp_create_any, backlog)
{
        DAT_CNO_HANDLE cno;
        struct loop loop = watched_loop(t, &cno);
        DAT_COUNT count = cap_at_limit(t, PLACES, DAT_HANDLE_TYPE_EP, 2);
        struct loop asks[PLACES];
        DAT_COUNT places;

        must(dat_evd_resize(loop.requests, count));
        places = evd_param(t, loop.requests).evd_qlen;
        must_that(places >= count, "the EVD was made for %d and has %d", (int)count, (int)places);
        loop.psp = psp_any(t, loop.requests, psp_flags_granted(t), &loop.qual);
        for (int i = 0; i < count; i++) {
                DAT_EVD_HANDLE evd;

                asks[i] = loop_new(t);
                loop_connect(t, asks[i].active, loop.qual);
                expect(dat_cno_wait(cno, event_timeout(t), &evd), DAT_SUCCESS);
        }

        for (int i = 0; i < count; i++)
                asks[i].request = expect_request(t, loop.requests, loop.psp, loop.qual);
        expect_all_accepted(t, asks, (int)count);
}

/*
 * Whose qualifier it is
 */

/* What stands where the qualifier is to be stored means nothing. */
static void store_zero(struct test *t, DAT_EVD_HANDLE evd, DAT_CONN_QUAL *qual)
{
        (void)t;
        (void)evd;
        *qual = 0;
}

static void store_all_bits(struct test *t, DAT_EVD_HANDLE evd, DAT_CONN_QUAL *qual)
{
        (void)t;
        (void)evd;
        *qual = UINT64_MAX;
}

static void store_taken(struct test *t, DAT_EVD_HANDLE evd, DAT_CONN_QUAL *qual)
{
        loop_listen(t, evd, psp_flags_granted(t), qual);
}

static const struct stored {
        const char *id;
        void (*store)(struct test *t, DAT_EVD_HANDLE evd, DAT_CONN_QUAL *qual);
} stored[] = {
    {"zero", store_zero},
    {"all_bits", store_all_bits},
    {"taken", store_taken},
};

FAMILY(psp_create_any, overwrites, stored)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL before;
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp;

        row->store(t, evd, &before);
        qual = before;
        expect(dat_psp_create_any(ia(t), &qual, evd, psp_flags_granted(t), &psp), DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_PSP, psp);

        expect_that(qual != before, "the qualifier is the one that stood there");
        expect_served(t, psp, qual, evd);
}

/*
 * A choice is made and freed, so that the next one may well follow it; that qualifier and those
 * after it are then taken, as far as they are free. Returns how many.
 */
static int take_after(struct test *t, DAT_CONN_QUAL quals[TAKEN],
                      bool (*take)(struct test *t, DAT_CONN_QUAL qual))
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp = psp_any(t, evd, psp_flags_granted(t), &qual);
        int count = 0;

        release(t, psp);
        for (int i = 0; i < TAKEN; i++)
                if (take(t, qual + (DAT_CONN_QUAL)i))
                        quals[count++] = qual + (DAT_CONN_QUAL)i;
        must_that(count > 0, "of %d qualifiers none could be taken", TAKEN);
        return count;
}

static bool take_here(struct test *t, DAT_CONN_QUAL qual)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_PSP_HANDLE psp;

        if (!dat_is(dat_psp_create(ia(t), qual, evd, psp_flags_granted(t), &psp), DAT_SUCCESS))
                return false;
        adopt(t, DAT_HANDLE_TYPE_PSP, psp);
        return true;
}

static bool take_reserved(struct test *t, DAT_CONN_QUAL qual)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_RSP_HANDLE rsp;

        if (!dat_is(dat_rsp_create(ia(t), qual, ep_with(t), evd, &rsp), DAT_SUCCESS))
                return false;
        adopt(t, DAT_HANDLE_TYPE_RSP, rsp);
        return true;
}

static bool take_there(struct test *t, DAT_CONN_QUAL qual)
{
        DAT_EVD_HANDLE evd = evd_with(t, .ia = other_ia(t), .flags = DAT_EVD_CR_FLAG);
        DAT_PSP_HANDLE psp;

        if (!dat_is(dat_psp_create(other_ia(t), qual, evd, psp_flags_granted(t), &psp),
                    DAT_SUCCESS))
                return false;
        adopt(t, DAT_HANDLE_TYPE_PSP, psp);
        return true;
}

static const struct taker {
        const char *id;
        bool (*take)(struct test *t, DAT_CONN_QUAL qual);
} takers[] = {
    {"psp", take_here},
    {"rsp", take_reserved},
    {"other_ia", take_there},
};

FAMILY(psp_create_any, never_in_use, takers)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL taken[TAKEN];
        int count = take_after(t, taken, row->take);

        for (int i = 0; i < TAKEN; i++) {
                DAT_CONN_QUAL qual;
                DAT_PSP_HANDLE psp = psp_any(t, evd, psp_flags_granted(t), &qual);

                for (int j = 0; j < count; j++)
                        expect_that(qual != taken[j], "qualifier %llu is another point's",
                                    (unsigned long long)qual);
                if (i == 0)
                        expect_served(t, psp, qual, evd);
        }
}

CASE(psp_create_any, not_the_peers)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        struct peer_place place = peer_listen(peer(t));

        for (int i = 0; i < PLACES; i++) {
                DAT_CONN_QUAL qual;
                DAT_PSP_HANDLE psp = psp_any(t, evd, psp_flags_granted(t), &qual);
                struct peer_ep *end;
                struct loop loop = {.passive = ep_with(t)};

                end = peer_request(peer(t), qual);
                psp_take_peer(t, expect_request(t, evd, psp, qual), psp_flags_granted(t), &loop);
                peer_wait_connected(end);
                expect_peer_messages(t, end, loop.passive);
        }
        expect_that(!peer_has_request(peer(t)), "a request came to the peer's own qualifier %llu",
                    (unsigned long long)place.qual);
}

CASE(psp_create_any, in_use_then)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp = psp_any(t, evd, psp_flags_granted(t), &qual);
        DAT_PSP_HANDLE other = DAT_HANDLE_NULL;

        expect(dat_psp_create(ia(t), qual, evd, psp_flags_granted(t), &other),
               DAT_CONN_QUAL_IN_USE);
        expect(dat_rsp_create(ia(t), qual, ep_with(t), evd, &other), DAT_CONN_QUAL_IN_USE);
        expect_served(t, psp, qual, evd);
}

CASE(psp_create_any, freed_and_chosen)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp = psp_any(t, evd, psp_flags_granted(t), &qual);

        for (int i = 0; i < TIMES; i++) {
                release(t, psp);
                psp = psp_any(t, evd, psp_flags_granted(t), &qual);
                expect_psp(t, psp, qual, evd, psp_flags_granted(t));
        }
        expect_served(t, psp, qual, evd);
}

/* A qualifier that is held is passed over, however often others are chosen and freed. */
CASE(psp_create_any, never_the_held)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL held, qual;
        DAT_PSP_HANDLE holder = psp_any(t, evd, psp_flags_granted(t), &held);
        DAT_PSP_HANDLE psp;

        for (int round = 0; round < CHOSEN; round++) {
                expect(dat_psp_create_any(ia(t), &qual, evd, psp_flags_granted(t), &psp),
                       DAT_SUCCESS);
                adopt(t, DAT_HANDLE_TYPE_PSP, psp);
                expect_that(qual != held, "in round %d the qualifier is the one that is held",
                            round);
                release(t, psp);
        }
        expect_served(t, holder, held, evd);
}

/* A consumer in another process of this host, which holds qualifiers, and one of its calls. */
struct holder {
        char name[DAT_NAME_MAX_LENGTH];
        DAT_PSP_FLAGS flags;
        DAT_TIMEOUT timeout;
        DAT_IA_HANDLE ia;
        DAT_EVD_HANDLE evd;
        DAT_CONN_QUAL qual; /* that a PSP is made at, or was, or that a request came by */
};

static DAT_RETURN open_holder(void *arg)
{
        struct holder *there = arg;
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_RETURN ret = dat_ia_open(there->name, 8, &async, &there->ia);

        if (!dat_is(ret, DAT_SUCCESS))
                return ret;
        return dat_evd_create(there->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &there->evd);
}

static DAT_RETURN choose_there(void *arg)
{
        struct holder *there = arg;
        DAT_PSP_HANDLE psp;

        return dat_psp_create_any(there->ia, &there->qual, there->evd, there->flags, &psp);
}

static DAT_RETURN name_there(void *arg)
{
        struct holder *there = arg;
        DAT_PSP_HANDLE psp;

        return dat_psp_create(there->ia, there->qual, there->evd, there->flags, &psp);
}

static DAT_RETURN reject_there(void *arg)
{
        struct holder *there = arg;
        const DAT_CR_ARRIVAL_EVENT_DATA *data;
        DAT_EVENT event;
        DAT_COUNT more;
        DAT_RETURN ret = dat_evd_wait(there->evd, there->timeout, 1, &event, &more);

        if (!dat_is(ret, DAT_SUCCESS))
                return ret;
        data = &event.event_data.cr_arrival_event_data;
        there->qual = data->conn_qual;
        return dat_cr_reject(data->cr_handle);
}

static DAT_RETURN call_there(struct exec_process *process, DAT_RETURN (*call)(void *arg),
                             struct holder *there)
{
        return exec_process_call(process, call, there, sizeof(*there));
}

static int hold_chosen(struct test *t, struct exec_process *process, struct holder *there,
                       DAT_CONN_QUAL held[TAKEN])
{
        for (int i = 0; i < TAKEN; i++) {
                expect(call_there(process, choose_there, there), DAT_SUCCESS);
                held[i] = there->qual;
        }
        return TAKEN;
}

/* A choice that was freed, and those after it, as in take_after(). */
static int hold_named(struct test *t, struct exec_process *process, struct holder *there,
                      DAT_CONN_QUAL held[TAKEN])
{
        DAT_CONN_QUAL qual;
        int count = 0;

        release(t, psp_any(t, request_evd(t), there->flags, &qual));
        for (int i = 0; i < TAKEN; i++) {
                there->qual = qual + (DAT_CONN_QUAL)i;
                if (dat_is(call_there(process, name_there, there), DAT_SUCCESS))
                        held[count++] = there->qual;
        }
        must_that(count > 0, "of %d qualifiers none could be taken", TAKEN);
        return count;
}

static const struct holding {
        const char *id;
        int (*hold)(struct test *t, struct exec_process *process, struct holder *there,
                    DAT_CONN_QUAL held[TAKEN]);
} holdings[] = {
    {"chosen", hold_chosen},
    {"named", hold_named},
};

FAMILY(psp_create_any, never_of_process, holdings)
{
        struct holder there = {.flags = psp_flags_granted(t), .timeout = event_timeout(t)};
        struct exec_process *process =
            exec_process_start(t, NULL, 0, "DAT_OVERRIDE", getenv("DAT_OVERRIDE"));
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_EP_HANDLE asker = ep_with(t);
        DAT_CONN_QUAL held[TAKEN];
        int count;

        snprintf(there.name, sizeof(there.name), "%s", ia_name(t));
        must(call_there(process, open_holder, &there));
        count = row->hold(t, process, &there, held);
        for (int i = 0; i < BESIDE; i++) {
                DAT_CONN_QUAL qual;
                DAT_PSP_HANDLE psp = psp_any(t, evd, there.flags, &qual);

                for (int j = 0; j < count; j++)
                        expect_that(qual != held[j], "qualifier %llu is held by another process",
                                    (unsigned long long)qual);
                if (i == 0)
                        expect_served(t, psp, qual, evd);
                else
                        release(t, psp);
        }

        loop_connect(t, asker, held[0]);
        expect(call_there(process, reject_there, &there), DAT_SUCCESS);
        expect_eq(there.qual, held[0]);
        must_event(ep_connect_evd(t, asker), DAT_CONNECTION_EVENT_PEER_REJECTED);
        expect_empty(t, evd);
        exec_process_end(process);
}

CASE(psp_create_any, freed_and_named)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL qual;

        release(t, psp_any(t, evd, psp_flags_granted(t), &qual));
        expect_refused(t, qual, evd);
        expect_served(t, psp_at(t, qual, evd, psp_flags_granted(t)), qual, evd);
}

static int by_value(const void *one, const void *other)
{
        DAT_CONN_QUAL a = *(const DAT_CONN_QUAL *)one;
        DAT_CONN_QUAL b = *(const DAT_CONN_QUAL *)other;

        return (a > b) - (a < b);
}

static void expect_all_differ(struct test *t, const DAT_CONN_QUAL *quals, int count)
{
        static DAT_CONN_QUAL sorted[MANY];
        int alike = 0;

        memcpy(sorted, quals, (size_t)count * sizeof(*sorted));
        qsort(sorted, (size_t)count, sizeof(*sorted), by_value);
        for (int i = 1; i < count; i++)
                alike += sorted[i - 1] == sorted[i];
        expect_that(alike == 0, "%d of %d PSPs have the qualifier of another", alike, count);
}

CASE(psp_create_any, many_at_once)
{
        static DAT_PSP_HANDLE psps[MANY];
        static DAT_CONN_QUAL quals[MANY];
        DAT_EVD_HANDLE evd = request_evd(t);
        int count;

        for (count = 0; count < MANY; count++) {
                DAT_RETURN ret = dat_psp_create_any(ia(t), &quals[count], evd, psp_flags_granted(t),
                                                    &psps[count]);

                if (count >= PLACES && (dat_is(ret, DAT_INSUFFICIENT_RESOURCES) ||
                                        dat_is(ret, DAT_CONN_QUAL_UNAVAILABLE)))
                        break;
                expect(ret, DAT_SUCCESS);
                adopt(t, DAT_HANDLE_TYPE_PSP, psps[count]);
        }
        record(t, "%d PSPs at once", count);

        psp_all_differ(t, psps, count);
        expect_all_differ(t, quals, count);
        for (int i = 0; i < count; i++)
                expect_psp(t, psps[i], quals[i], evd, psp_flags_granted(t));
        expect_served(t, psps[0], quals[0], evd);
        expect_served(t, psps[count / 2], quals[count / 2], evd);
        expect_served(t, psps[count - 1], quals[count - 1], evd);
}

/*
 * EPs of requests
 */

CASE(psp_create_any, consumers_ep)
{
        struct loop loop = loop_new(t);

        loop.psp = psp_any(t, loop.requests, DAT_PSP_CONSUMER_FLAG, &loop.qual);
        loop_connect(t, loop.active, loop.qual);
        loop.request = expect_request(t, loop.requests, loop.psp, loop.qual);

        expect_that(request_ep(t, loop.request) == DAT_HANDLE_NULL, "an EP that does not exist");
        expect_accepted(t, loop.request, &loop);
        expect_message(t, loop.active, loop.passive);
}

static const struct psp_ep_field ep_fields[] = {PSP_EP_FIELDS};

FAMILY(psp_create_any, providers_ep, ep_fields)
{
        struct loop loop = {.requests = request_evd(t)};

        loop.psp = psp_any(t, loop.requests, DAT_PSP_PROVIDER_FLAG, &loop.qual);
        psp_check_ep(t, &loop, row);
}

CASE(psp_create_any, providers_ep_equipped)
{
        struct loop loop = {.requests = request_evd(t), .active = ep_with(t)};
        DAT_EP_HANDLE ep;

        loop.psp = psp_any(t, loop.requests, DAT_PSP_PROVIDER_FLAG, &loop.qual);
        loop_connect(t, loop.active, loop.qual);
        ep = expect_own_accepted(t, expect_request(t, loop.requests, loop.psp, loop.qual), &loop);
        expect_message(t, loop.active, ep);
        expect_message(t, ep, loop.active);
}

CASE(psp_create_any, attributes_match)
{
        struct loop loop = {.requests = request_evd(t)};

        loop.psp = psp_any(t, loop.requests, DAT_PSP_PROVIDER_FLAG, &loop.qual);
        psp_read_all(t, &loop);
}

/*
 * Waking, and threads
 */

CASE(psp_create_any, wakes_waiter)
{
        struct loop loop = loop_new(t);
        struct waiter *waiter;
        struct woken woken;

        loop.psp = psp_any(t, loop.requests, psp_flags_granted(t), &loop.qual);
        waiter = wait_on_evd(t, loop.requests, DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        loop_connect(t, loop.active, loop.qual);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_number, DAT_CONNECTION_REQUEST_EVENT);
        expect_accepted(t, woken.event.event_data.cr_arrival_event_data.cr_handle, &loop);
}

struct making {
        DAT_IA_HANDLE ia;
        DAT_EVD_HANDLE evd;
        DAT_PSP_FLAGS flags;
        DAT_CONN_QUAL *quals;
        DAT_PSP_HANDLE *psps;
};

static DAT_RETURN make_row(void *arg)
{
        struct making *making = arg;
        DAT_RETURN ret = DAT_SUCCESS;

        for (int i = 0; i < ROW && dat_is(ret, DAT_SUCCESS); i++)
                ret = dat_psp_create_any(making->ia, &making->quals[i], making->evd, making->flags,
                                         &making->psps[i]);
        return ret;
}

CASE(psp_create_any, threads)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        struct stress stress = stress_of(t, 200);

        while (stress.met < MET && stress_round(&stress)) {
                DAT_CONN_QUAL quals[THREADS * ROW];
                DAT_PSP_HANDLE psps[THREADS * ROW];
                struct making makings[THREADS];
                struct racer racers[THREADS];

                for (int i = 0; i < THREADS; i++) {
                        makings[i] =
                            (struct making){ia(t), evd, psp_flags_granted(t),
                                            &quals[(size_t)i * ROW], &psps[(size_t)i * ROW]};
                        racers[i] = (struct racer){.call = make_row, .arg = &makings[i]};
                }
                stress_met(&stress, race(racers, THREADS));
                for (int i = 0; i < THREADS; i++)
                        expect(racers[i].ret, DAT_SUCCESS);
                for (int i = 0; i < THREADS * ROW; i++) {
                        adopt(t, DAT_HANDLE_TYPE_PSP, psps[i]);
                        expect_psp(t, psps[i], quals[i], evd, psp_flags_granted(t));
                }
                expect_all_differ(t, quals, THREADS * ROW);
                for (int i = 0; i < THREADS * ROW; i++)
                        release(t, psps[i]);
        }
        must_have_met(&stress);
}

/*
 * Arguments
 */

static const struct wrong_evd wrong_evds[] = {WRONG_EVDS};

FAMILY(psp_create_any, evd_of_other_stream, wrong_evds)
{
        DAT_EVD_HANDLE evd = wrong_evd(t, row);
        DAT_EVD_HANDLE right = request_evd(t);
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp;

        expect_or_note(dat_psp_create_any(ia(t), &qual, evd, psp_flags_granted(t), &psp),
                       DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER);

        psp = psp_any(t, right, psp_flags_granted(t), &qual);
        expect_served(t, psp, qual, right);
        expect_empty(t, evd);
}

static const struct wrong_evd merged_evds[] = {MERGED_EVDS};

FAMILY(psp_create_any, evd_of_more_streams, merged_evds)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = 8, .flags = row->flags);
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp = psp_any(t, evd, psp_flags_granted(t), &qual);

        expect_served(t, psp, qual, evd);
        expect_empty(t, evd);
}

static const struct psp_no_flag no_flags[] = {PSP_NO_FLAGS};

FAMILY(psp_create_any, invalid_flags, no_flags)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp;

        expect(dat_psp_create_any(ia(t), &qual, evd, (DAT_PSP_FLAGS)row->bits, &psp),
               DAT_INVALID_PARAMETER);

        psp = psp_any(t, evd, psp_flags_granted(t), &qual);
        expect_served(t, psp, qual, evd);
}

static const struct psp_other_bits other_bits[] = {PSP_OTHER_BITS};

FAMILY(psp_create_any, refused_leaves_evd, no_flags)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp;

        expect(dat_psp_create_any(ia(t), &qual, evd, (DAT_PSP_FLAGS)row->bits, &psp),
               DAT_INVALID_PARAMETER);

        disown(t, evd);
        expect(dat_evd_free(evd), DAT_SUCCESS);
}

FAMILY(psp_create_any, other_flag_bits, other_bits)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp;

        for (int bit = PSP_FIRST_OTHER_BIT; bit < PSP_BITS; bit++)
                expect(dat_psp_create_any(ia(t), &qual, evd, (DAT_PSP_FLAGS)(row->flag | 1U << bit),
                                          &psp),
                       DAT_INVALID_PARAMETER);

        psp = psp_any(t, evd, psp_flags_granted(t), &qual);
        expect_served(t, psp, qual, evd);
}

LEGAL(psp_create_any)
{
        static DAT_CONN_QUAL qual;

        call->ia_handle = ia(t);
        call->conn_qual = &qual;
        call->evd_handle = request_evd(t);
        call->psp_flags = psp_flags_granted(t);
}
