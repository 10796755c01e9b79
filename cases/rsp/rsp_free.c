/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_rsp_free: what goes with an RSP, what stays, and whose its EP and its qualifier are then. */
#include "clauses/rsp_free.h"
#include "case/poison.h"
#include "case/standard.h"
#include "cases/ep/shared/modify_table.h"
#include "cases/handle/shared/object.h"
#include "cases/shared/point.h"
#include "cases/shared/rounds.h"
#include "cases/shared/siblings.h"
#include "cases/shared/under_way.h"

#include <sched.h>
#include <string.h>

#define POSTED   4 /* receives */
#define REFUSALS 2
#define ROUNDS   8   /* requests that are in progress at the free */
#define STAGES   4   /* of a request, at most, after which it is freed: one for each yield */
#define LOOKS    300 /* for an answer; each lasts as long as settle_briefly() */

/* Qualifiers at which nothing of the suite listens. */
#define UNHEARD_FIRST 24400
#define UNHEARD_COUNT 400

static void reserve(struct test *t, struct loop *loop)
{
        loop->psp = rsp_new(t, loop->passive, loop->requests, &loop->qual);
}

static struct loop reserved_loop(struct test *t)
{
        struct loop loop = loop_new(t);

        reserve(t, &loop);
        return loop;
}

/* The call under test, of an RSP that had no request. */
static void free_now(struct test *t, DAT_RSP_HANDLE rsp)
{
        expect(dat_rsp_free(rsp), DAT_SUCCESS);
        disown(t, rsp);
}

/* The same of one that had its request, and may be gone with it (RSP-1). */
static void free_spent(struct test *t, DAT_RSP_HANDLE rsp)
{
        expect_or_note(dat_rsp_free(rsp), DAT_SUCCESS, DAT_INVALID_HANDLE);
        disown(t, rsp);
}

static void ask(struct test *t, struct loop *loop)
{
        loop_connect(t, loop->active, loop->qual);
        loop->request = expect_request(t, loop->requests, loop->psp, loop->qual);
}

static void expect_own_ep_accepted(struct test *t, struct loop *loop)
{
        expect_accepted_by(t, loop->request, DAT_HANDLE_NULL, loop);
        expect_message(t, loop->active, loop->passive);
        expect_message(t, loop->passive, loop->active);
}

/* An RSP at the qualifier, with that EP, takes a request. */
static void expect_reserves(struct test *t, DAT_EP_HANDLE ep, DAT_CONN_QUAL qual,
                            DAT_EVD_HANDLE evd)
{
        struct loop loop = {.active = ep_with(t), .passive = ep, .requests = evd, .qual = qual};

        loop.psp = rsp_at(t, qual, ep, evd);
        ask(t, &loop);
        expect_own_ep_accepted(t, &loop);
}

/*
 * Nothing in the way
 */

static const struct maker {
        const char *id;
        bool own; /* the EP is the consumer's */
} makers[] = {
    {"consumer", true},
    {"provider", false},
};

FAMILY(rsp_free, unused, makers)
{
        struct loop loop = loop_new(t);

        loop.psp = rsp_new(t, row->own ? loop.passive : DAT_HANDLE_NULL, loop.requests, &loop.qual);
        free_now(t, loop.psp);

        expect_empty(t, loop.requests);
        expect_empty(t, async_evd(t));
        if (row->own)
                expect_eq(ep_state(t, loop.passive), DAT_EP_STATE_UNCONNECTED);
}

/* Each has an EVD of its own, or both have one. */
static void free_one_of_two_on(struct test *t, bool newer, bool one_evd)
{
        struct loop loops[2] = {reserved_loop(t), loop_new(t)};
        struct loop *freed = &loops[newer];
        struct loop *left = &loops[!newer];

        if (one_evd)
                loops[1].requests = loops[0].requests;
        reserve(t, &loops[1]);
        free_now(t, freed->psp);

        expect_refused(t, freed->qual, freed->requests);
        expect_eq(ep_state(t, left->passive), DAT_EP_STATE_RESERVED);
        expect_rsp(t, left->psp, left->qual, left->passive, left->requests);
        ask(t, left);
        expect_own_ep_accepted(t, left);
}

static void free_one_of_two(struct test *t, bool newer)
{
        free_one_of_two_on(t, newer, false);
        free_one_of_two_on(t, newer, true);
}

CASE(rsp_free, older_of_two)
{
        free_one_of_two(t, false);
}

CASE(rsp_free, newer_of_two)
{
        free_one_of_two(t, true);
}

CASE(rsp_free, evd_afterwards)
{
        struct loop loop = reserved_loop(t);

        free_now(t, loop.psp);

        expect(dat_evd_free(loop.requests), DAT_SUCCESS);
        disown(t, loop.requests);
}

/* The request, which came to the EVD, is answered. */
CASE(rsp_free, evd_after_request)
{
        struct loop loop = reserved_loop(t);

        ask(t, &loop);
        expect_rejected(t, loop.request, &loop);
        free_spent(t, loop.psp);

        expect(dat_evd_free(loop.requests), DAT_SUCCESS);
        disown(t, loop.requests);
}

CASE(rsp_free, often, ROUNDS_DEADLINE)
{
        struct rounds rounds = rounds_of(t, DAT_HANDLE_TYPE_RSP);
        struct loop loop = reserved_loop(t);

        while (rounds_next(&rounds)) {
                free_now(t, loop.psp);
                expect_eq(ep_state(t, loop.passive), DAT_EP_STATE_UNCONNECTED);
                loop.psp = rsp_at(t, loop.qual, loop.passive, loop.requests);
        }
        expect_no_leak(&rounds);
        ask(t, &loop);
        expect_own_ep_accepted(t, &loop);
}

/* A PSP on the same EVD tells what it told, and takes a request. */
CASE(rsp_free, public_beside)
{
        struct loop loop = reserved_loop(t);
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp = psp_new(t, loop.requests, psp_flags_granted(t), &qual);

        free_now(t, loop.psp);

        expect_psp(t, psp, qual, loop.requests, psp_flags_granted(t));
        expect_served(t, psp, qual, loop.requests);
}

/*
 * The EP afterwards
 */

/* The receives, posted with cookies from 0 on, take the messages of the EP's next connection. */
static void expect_takes_messages(struct test *t, struct loop *loop, const struct buf *buf)
{
        loop->psp = rsp_at(t, loop->qual, loop->passive, loop->requests);
        ask(t, loop);
        expect_accepted_by(t, loop->request, DAT_HANDLE_NULL, loop);
        expect_in_order(t, loop->active, loop->passive, buf, POSTED);
}

static void reuse_reserved(struct test *t, struct loop *loop)
{
        expect_reserves(t, loop->passive, loop->qual, loop->requests);
}

static void reuse_active(struct test *t, struct loop *loop)
{
        struct loop back = {.active = loop->passive, .passive = ep_with(t)};

        back.requests = request_evd(t);
        loop_open(t, &back);
        expect(dat_ep_connect(back.active, ia_address(t), back.qual, event_timeout(t), 0, NULL,
                              DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
               DAT_SUCCESS);
        back.request = expect_request(t, back.requests, loop_point(&back), back.qual);
        expect_accepted(t, back.request, &back);
        expect_message(t, back.active, back.passive);
}

static void reuse_passive(struct test *t, struct loop *loop)
{
        struct loop other = {.active = ep_with(t), .passive = loop->passive};

        other.requests = request_evd(t);
        other.psp = psp_new(t, other.requests, DAT_PSP_CONSUMER_FLAG, &other.qual);
        ask(t, &other);
        expect_accepted(t, other.request, &other);
        expect_message(t, other.active, other.passive);
}

static void reuse_modified(struct test *t, struct loop *loop)
{
        DAT_EVD_HANDLE before = ep_recv_evd(t, loop->passive);
        DAT_EP_PARAM param = {.recv_evd_handle = ep_request_evd(t, loop->passive)};

        expect(dat_ep_modify(loop->passive, DAT_EP_FIELD_RECV_EVD_HANDLE, &param), DAT_SUCCESS);
        ep_reports_to(t, loop->passive, DAT_EP_FIELD_RECV_EVD_HANDLE, param.recv_evd_handle);
        reuse_reserved(t, loop);
        expect_empty(t, before);
}

static void reuse_receiving(struct test *t, struct loop *loop)
{
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, MESSAGE);

        for (uint64_t i = 0; i < POSTED; i++)
                expect(dat_ep_post_recv(loop->passive, 1, &segment, (DAT_DTO_COOKIE){.as_64 = i},
                                        DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        expect_takes_messages(t, loop, buf);
}

static void reuse_freed(struct test *t, struct loop *loop)
{
        expect(dat_ep_free(loop->passive), DAT_SUCCESS);
        disown(t, loop->passive);
}

static const struct reuse {
        const char *id;
        void (*reuse)(struct test *t, struct loop *loop);
} reuses[] = {
    {"reserved_again", reuse_reserved}, {"asks_itself", reuse_active},
    {"accepts_for_psp", reuse_passive}, {"modified", reuse_modified},
    {"receives", reuse_receiving},      {"freed", reuse_freed},
};

FAMILY(rsp_free, ep_reverts, reuses)
{
        struct loop loop = reserved_loop(t);

        free_now(t, loop.psp);

        expect_ep_in(t, loop.passive, DAT_EP_STATE_UNCONNECTED);
        row->reuse(t, &loop);
}

CASE(rsp_free, posted_receives_stay)
{
        struct loop loop = loop_new(t);
        struct buf *buf = buf_with(t);

        for (uint64_t i = 0; i < POSTED / 2; i++)
                loop_post_recv(t, loop.passive, buf, i);
        reserve(t, &loop);
        for (uint64_t i = POSTED / 2; i < POSTED; i++)
                loop_post_recv(t, loop.passive, buf, i);
        free_now(t, loop.psp);

        expect_empty(t, ep_recv_evd(t, loop.passive));
        expect_takes_messages(t, &loop, buf);
}

/* Attributes that no default has. */
static DAT_EP_ATTR attr_of_no_default(struct test *t)
{
        DAT_COMPLETION_FLAGS flags = provider_attr_if_told(t)->completion_flags_supported;
        DAT_EP_ATTR attr = ep_attr_few(t);

        attr.max_recv_dtos = 5;
        attr.max_request_dtos = 6;
        attr.max_rdma_read_in = ia_attr(t)->max_rdma_read_per_ep_in > 0;
        attr.max_rdma_read_out = attr.max_rdma_read_iov;
        if (flags & DAT_COMPLETION_UNSIGNALLED_FLAG) {
                attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
                attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
        }
        return attr;
}

CASE(rsp_free, ep_as_before)
{
        DAT_EP_ATTR attr = attr_of_no_default(t);
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){.attr = &attr});
        uint64_t context = draw_context(t);
        struct ep_snapshot before = ep_snapshot(t, loop.passive);

        must(dat_set_consumer_context(loop.passive, CONTEXT(context)));
        reserve(t, &loop);
        free_now(t, loop.psp);

        expect_ep_kept(t, loop.passive, &before, (DAT_EP_PARAM_MASK)0);
        expect_context(t, loop.passive, context);
}

/* It is in no state of an RSP, and takes a message into a receive of its SRQ. */
CASE(rsp_free, ep_of_srq)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){.srq = srq});
        struct buf *buf = buf_with(t);

        reserve(t, &loop);
        free_now(t, loop.psp);

        expect_ep_in(t, loop.passive, DAT_EP_STATE_UNCONNECTED);
        srq_post(t, srq, buf, MESSAGE, 0, 1);
        loop.psp = rsp_at(t, loop.qual, loop.passive, loop.requests);
        ask(t, &loop);
        expect_accepted_by(t, loop.request, DAT_HANDLE_NULL, &loop);
        loop_post_send(t, loop.active, buf_with(t), 1);
        expect_dto(ep_recv_evd(t, loop.passive));
}

/*
 * The qualifier afterwards
 */

static void again_same(struct test *t, struct loop *loop)
{
        expect_reserves(t, loop->passive, loop->qual, loop->requests);
}

static void again_others(struct test *t, struct loop *loop)
{
        DAT_EVD_HANDLE evd = request_evd(t);

        expect_reserves(t, ep_with(t), loop->qual, evd);
        expect_empty(t, loop->requests);
}

static void again_public(struct test *t, struct loop *loop)
{
        DAT_PSP_HANDLE psp = psp_at(t, loop->qual, loop->requests, psp_flags_granted(t));

        expect_served(t, psp, loop->qual, loop->requests);
        expect_served(t, psp, loop->qual, loop->requests);
}

static const struct again {
        const char *id;
        void (*serve)(struct test *t, struct loop *loop);
        bool asked; /* its request came before */
} agains[] = {
    {"same_ep", again_same, .asked = false},
    {"other_ep", again_others, .asked = false},
    {"public", again_public, .asked = false},
    {"other_ep_after_request", again_others, .asked = true},
    {"public_after_request", again_public, .asked = true},
};

/* Whether the former RSP's request keeps the qualifier in use (PSP-3), for a point of that kind. */
static bool is_kept(struct test *t, const struct again *again, struct loop *loop)
{
        bool is_public = again->serve == again_public;
        DAT_HANDLE made = DAT_HANDLE_NULL;
        DAT_RETURN ret = is_public
                             ? expect_or_note(dat_psp_create(ia(t), loop->qual, loop->requests,
                                                             psp_flags_granted(t), &made),
                                              DAT_SUCCESS, DAT_CONN_QUAL_IN_USE)
                             : expect_or_note(dat_rsp_create(ia(t), loop->qual, ep_with(t),
                                                             request_evd(t), &made),
                                              DAT_SUCCESS, DAT_CONN_QUAL_IN_USE);

        if (!dat_is(ret, DAT_SUCCESS))
                return true;
        adopt(t, is_public ? DAT_HANDLE_TYPE_PSP : DAT_HANDLE_TYPE_RSP, made);
        release(t, made);
        return false;
}

FAMILY(rsp_free, qualifier_again, agains)
{
        struct loop loop = reserved_loop(t);

        if (row->asked) {
                ask(t, &loop);
                free_spent(t, loop.psp);
        } else {
                free_now(t, loop.psp);
        }

        if (row->asked && is_kept(t, row, &loop)) {
                expect_own_ep_accepted(t, &loop);
                row->serve(t, &loop);
                return;
        }
        row->serve(t, &loop);
        if (row->asked)
                expect_own_ep_accepted(t, &loop);
}

static void come_rejected(struct test *t, struct loop *loop)
{
        ask(t, loop);
        expect_rejected(t, loop->request, loop);
}

static void come_accepted(struct test *t, struct loop *loop)
{
        ask(t, loop);
        expect_own_ep_accepted(t, loop);
}

static const struct before {
        const char *id;
        void (*come)(struct test *t, struct loop *loop);
} befores[] = {
    {"unused", NULL},
    {"after_rejection", come_rejected},
    {"after_connection", come_accepted},
};

FAMILY(rsp_free, refused, befores)
{
        struct loop loop = reserved_loop(t);

        if (row->come) {
                row->come(t, &loop);
                free_spent(t, loop.psp);
        } else {
                free_now(t, loop.psp);
        }

        for (int i = 0; i < REFUSALS; i++)
                expect_refused(t, loop.qual, loop.requests);
        if (row->come == come_accepted)
                expect_message(t, loop.active, loop.passive);
}

/* The EP was the provider's, and was never reported. */
CASE(rsp_free, refused_for_provider)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL qual;

        free_now(t, rsp_new(t, DAT_HANDLE_NULL, evd, &qual));

        for (int i = 0; i < REFUSALS; i++)
                expect_refused(t, qual, evd);
}

CASE(rsp_free, refused_peer)
{
        struct loop loop = reserved_loop(t);
        struct peer_ep *end;

        free_now(t, loop.psp);
        end = peer_request(peer(t), loop.qual);

        expect_eq(peer_wait_event(end).number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        expect_empty(t, loop.requests);
        expect_eq(ep_state(t, loop.passive), DAT_EP_STATE_UNCONNECTED);
}

/* The event of a request to a qualifier without a listener. */
static DAT_EVENT_NUMBER answer_at(struct test *t, DAT_CONN_QUAL qual)
{
        DAT_EP_HANDLE ep = ep_with(t);
        DAT_EVENT event;
        DAT_COUNT more;

        poison(&event, sizeof(event));
        loop_connect(t, ep, qual);
        expect(dat_evd_wait(ep_connect_evd(t, ep), event_timeout(t), 1, &event, &more),
               DAT_SUCCESS);
        return event.event_number;
}

CASE(rsp_free, refused_like_unheard)
{
        DAT_CONN_QUAL unheard = UNHEARD_FIRST + draw(t, UNHEARD_COUNT);
        struct loop loop = reserved_loop(t);
        DAT_EVENT_NUMBER answer = answer_at(t, unheard);

        free_now(t, loop.psp);

        expect_eq(answer_at(t, loop.qual), answer);
}

/*
 * The request that came before
 */

static void stay_rejected(struct test *t, struct loop *loop)
{
        expect_rejected(t, loop->request, loop);
        expect_ep_in(t, loop->passive, DAT_EP_STATE_UNCONNECTED);
}

static void stay_handed_off(struct test *t, struct loop *loop)
{
        struct loop to = {.active = loop->active, .passive = ep_with(t)};

        to.requests = request_evd(t);
        to.psp = psp_new(t, to.requests, psp_flags_granted(t), &to.qual);
        expect(dat_cr_handoff(loop->request, to.qual), DAT_SUCCESS);
        expect_accepted(t, expect_request(t, to.requests, to.psp, to.qual), &to);
}

static void stay_queried(struct test *t, struct loop *loop)
{
        unsigned char sent[PRIVATE_SIZE];
        DAT_CR_PARAM param;

        loop_private_data(sent, OF_REQUEST);
        poison(&param, sizeof(param));
        expect(dat_cr_query(loop->request, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
        expect_that(param.local_ep_handle == loop->passive, "the EP is not the RSP's own");
        expect_that(param.private_data_size >= PRIVATE_SIZE, "%d bytes of private data",
                    (int)param.private_data_size);
        expect_that(memcmp(param.private_data, sent, PRIVATE_SIZE) == 0,
                    "the private data is not what was sent");
        expect_own_ep_accepted(t, loop);
}

static const struct stay {
        const char *id;
        bool taken; /* before the RSP is freed */
        void (*serve)(struct test *t, struct loop *loop);
} stays[] = {
    {"accepted", true, expect_own_ep_accepted},
    {"rejected", true, stay_rejected},
    {"handed_off", true, stay_handed_off},
    {"queried", true, stay_queried},
    {"untaken_accepted", false, expect_own_ep_accepted},
    {"untaken_rejected", false, stay_rejected},
};

FAMILY(rsp_free, request_stays, stays)
{
        DAT_CNO_HANDLE cno;
        struct loop loop = watched_loop(t, &cno);
        DAT_RSP_HANDLE rsp;

        reserve(t, &loop);
        rsp = loop.psp;
        loop_connect(t, loop.active, loop.qual);
        must_stand(t, cno);
        if (row->taken)
                loop.request = expect_request(t, loop.requests, rsp, loop.qual);
        free_spent(t, rsp);

        expect_ep_in(t, loop.passive, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
        if (!row->taken)
                loop.request = expect_request(t, loop.requests, rsp, loop.qual);
        expect_empty(t, loop.requests);
        row->serve(t, &loop);
}

CASE(rsp_free, receives_of_request_stay)
{
        struct loop loop = reserved_loop(t);
        struct buf *buf = buf_with(t);

        for (uint64_t i = 0; i < POSTED / 2; i++)
                loop_post_recv(t, loop.passive, buf, i);
        ask(t, &loop);
        for (uint64_t i = POSTED / 2; i < POSTED; i++)
                loop_post_recv(t, loop.passive, buf, i);
        free_spent(t, loop.psp);

        expect_empty(t, ep_recv_evd(t, loop.passive));
        expect_accepted_by(t, loop.request, DAT_HANDLE_NULL, &loop);
        expect_in_order(t, loop.active, loop.passive, buf, POSTED);
}

CASE(rsp_free, tells_as_before)
{
        struct loop loop = reserved_loop(t);
        uint64_t context = draw_context(t);
        struct request_told before;

        ask(t, &loop);
        before = request_told(t, loop.request);
        must(dat_set_consumer_context(loop.request, CONTEXT(context)));
        free_spent(t, loop.psp);

        expect_told_still(t, loop.request, &before);
        expect_context(t, loop.request, context);
        expect_own_ep_accepted(t, &loop);
}

/* The request of a provider's EP was taken from the EVD before the free, or is taken then. */
static void expect_providers_ep(struct test *t, bool taken)
{
        DAT_CNO_HANDLE cno;
        struct loop loop = watched_loop(t, &cno);

        loop.psp = rsp_new(t, DAT_HANDLE_NULL, loop.requests, &loop.qual);
        loop_connect(t, loop.active, loop.qual);
        must_stand(t, cno);
        if (taken)
                loop.request = expect_request(t, loop.requests, loop.psp, loop.qual);
        free_spent(t, loop.psp);

        if (!taken)
                loop.request = expect_request(t, loop.requests, loop.psp, loop.qual);
        loop.passive = expect_own_accepted(t, loop.request, &loop);
        expect_message(t, loop.active, loop.passive);
}

CASE(rsp_free, providers_ep_stays)
{
        expect_providers_ep(t, true);
        expect_providers_ep(t, false);
}

static void expect_connection_left(struct test *t, const struct loop *loop)
{
        expect_eq(ep_state(t, loop->passive), DAT_EP_STATE_CONNECTED);
        expect_message(t, loop->active, loop->passive);
        expect_message(t, loop->passive, loop->active);
        expect_empty(t, ep_connect_evd(t, loop->active));
        expect_empty(t, ep_connect_evd(t, loop->passive));
}

CASE(rsp_free, connection_stays)
{
        struct loop loop = reserved_loop(t);

        come_accepted(t, &loop);
        free_spent(t, loop.psp);

        expect_connection_left(t, &loop);
}

/* The free follows the accept at once. */
CASE(rsp_free, accepted_stays)
{
        struct loop loop = reserved_loop(t);

        ask(t, &loop);
        must(dat_cr_accept(loop.request, DAT_HANDLE_NULL, 0, NULL));
        free_spent(t, loop.psp);

        expect_event(ep_connect_evd(t, loop.passive), DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_event(ep_connect_evd(t, loop.active), DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_connection_left(t, &loop);
}

/* The request was reported, and is then accepted; or the EP that asked is refused. */
static bool answered(struct test *t, struct loop *loop, int *heard)
{
        DAT_EVENT event;

        if (dat_is(dat_evd_dequeue(loop->requests, &event), DAT_SUCCESS)) {
                expect_eq(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
                loop->request = event.event_data.cr_arrival_event_data.cr_handle;
                expect_accepted_by(t, loop->request, DAT_HANDLE_NULL, loop);
                (*heard)++;
                return true;
        }
        if (!dat_is(dat_evd_dequeue(ep_connect_evd(t, loop->active), &event), DAT_SUCCESS))
                return false;
        expect_eq(event.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        expect_empty(t, loop->requests);
        expect_eq(ep_state(t, loop->passive), DAT_EP_STATE_UNCONNECTED);
        return true;
}

CASE(rsp_free, in_progress)
{
        int heard = 0;
        int met = 0;

        for (int round = 0; round < ROUNDS; round++) {
                struct loop loop = reserved_loop(t);
                uint64_t stages = draw(t, STAGES);
                bool done;

                under_way_keep_processor();
                loop_connect(t, loop.active, loop.qual);
                for (uint64_t i = 0; i < stages; i++)
                        sched_yield();
                done = answered(t, &loop, &heard);
                met += !done;
                free_spent(t, loop.psp);

                for (int look = 0; look < LOOKS && !done; look++) {
                        done = answered(t, &loop, &heard);
                        if (!done)
                                settle_briefly(t);
                }
                expect_that(done, "neither a request nor a refusal came");
                release(t, loop.active);
                release(t, loop.passive);
        }
        record(t, "%d of %d requests were in progress, %d in all were heard", met, ROUNDS, heard);
        if (!met)
                note(t, "each request was answered before the free: none was in progress");
}

/*
 * The handle afterwards
 */

static DAT_RETURN query(void *rsp)
{
        DAT_RSP_PARAM param;

        return dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param);
}

static const struct use {
        const char *id;
        DAT_RETURN (*call)(void *rsp);
} uses[] = {
    {"query", query},
    {"free", dat_rsp_free},
};

FAMILY(rsp_free, handle_afterwards, uses)
{
        expect_stale(row->call, live_handle(t, DAT_HANDLE_TYPE_RSP),
                     bad_handle(t, DAT_HANDLE_TYPE_RSP, BAD_HANDLE_DESTROYED));
}

/*
 * Calls of other threads beside it
 */

static const struct sibling_row siblings[] = {
    {"rsp", SIBLING_RSP},
};

FAMILY(rsp_free, beside, siblings, SIBLINGS_DEADLINE)
{
        expect_freed_beside(t, SIBLING_RSP, row);
}

LEGAL(rsp_free)
{
        call->rsp_handle = reserved_loop(t).psp;
        disown(t, call->rsp_handle);
}
