/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_rsp_create: one request for one EP, which is Reserved until then. */
#include "clauses/rsp_create.h"
#include "case/poison.h"
#include "case/standard.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/shared/point.h"

#include <string.h>

#define TOGETHER    4
#define PLACES_MOST 64
#define LOOKS       300 /* for an answer; each lasts as long as settle_briefly() */
#define THREADS     3
#define ROW         8 /* RSPs that a thread makes in a row */
#define MET         1 /* round that met is enough */

static const struct maker {
        const char *id;
        bool own; /* the EP is the consumer's */
} makers[] = {
    {"consumer", true},
    {"provider", false},
};

static void reserve(struct test *t, struct loop *loop, bool own)
{
        loop->psp = rsp_new(t, own ? loop->passive : DAT_HANDLE_NULL, loop->requests, &loop->qual);
}

static struct loop reserved_loop(struct test *t)
{
        struct loop loop = loop_new(t);

        reserve(t, &loop, true);
        return loop;
}

static void take(struct test *t, struct loop *loop)
{
        loop_connect(t, loop->active, loop->qual);
        loop->request = expect_request(t, loop->requests, loop->psp, loop->qual);
}

static void accept_it(struct test *t, struct loop *loop)
{
        expect_accepted_by(t, loop->request, DAT_HANDLE_NULL, loop);
}

/* An RSP with that EP takes a request, and both ends are Connected. */
static void expect_reserves(struct test *t, DAT_EP_HANDLE ep, DAT_CONN_QUAL qual,
                            DAT_EVD_HANDLE evd)
{
        struct loop loop = {.active = ep_with(t), .passive = ep, .requests = evd, .qual = qual};

        loop.psp = rsp_at(t, qual, ep, evd);
        take(t, &loop);
        accept_it(t, &loop);
}

/*
 * What an RSP is
 */

FAMILY(rsp_create, usable, makers)
{
        struct loop loop = loop_new(t);

        reserve(t, &loop, row->own);
        expect_empty(t, loop.requests);
        take(t, &loop);
        if (row->own) {
                expect_that(request_ep(t, loop.request) == loop.passive,
                            "the request has not the EP of the RSP");
                accept_it(t, &loop);
        } else {
                loop.passive = expect_own_accepted(t, loop.request, &loop);
        }

        expect_message(t, loop.active, loop.passive);
        expect_message(t, loop.passive, loop.active);
        expect_empty(t, loop.requests);
}

CASE(rsp_create, told)
{
        struct loop loop = reserved_loop(t);

        expect_rsp(t, loop.psp, loop.qual, loop.passive, loop.requests);
}

CASE(rsp_create, told_of_asker)
{
        struct loop loop = reserved_loop(t);

        take(t, &loop);

        expect_told_of_asker(t, loop.request, loop.active);
        accept_it(t, &loop);
}

/* Receives are posted while the EP waits for its request, and while that stands. */
CASE(rsp_create, takes_receives)
{
        struct loop loop = reserved_loop(t);
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, MESSAGE);

        for (uint64_t i = 0; i < TOGETHER; i++) {
                expect(dat_ep_post_recv(loop.passive, 1, &segment, (DAT_DTO_COOKIE){.as_64 = i},
                                        DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
                if (i == TOGETHER / 2)
                        take(t, &loop);
        }
        accept_it(t, &loop);
        expect_in_order(t, loop.active, loop.passive, buf, TOGETHER);
}

CASE(rsp_create, qualifier_of_freed_psp)
{
        struct loop loop = loop_new(t);

        loop.psp = psp_new(t, loop.requests, psp_flags_granted(t), &loop.qual);
        expect(dat_psp_free(loop.psp), DAT_SUCCESS);
        disown(t, loop.psp);

        expect_reserves(t, loop.passive, loop.qual, loop.requests);
}

CASE(rsp_create, qualifier_of_freed_rsp)
{
        struct loop loop = reserved_loop(t);

        expect(dat_rsp_free(loop.psp), DAT_SUCCESS);
        disown(t, loop.psp);

        expect_reserves(t, ep_with(t), loop.qual, loop.requests);
}

CASE(rsp_create, as_declared)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_RSP_HANDLE rsp;
        DAT_RETURN ret = dat_rsp_create(ia(t), point_qual(t), DAT_HANDLE_NULL, evd, &rsp);

        must_be_told(t, NEED_PROVIDER_MADE_EP);
        if (provider_attr(t)->ep_creator != DAT_PSP_CREATES_EP_NEVER)
                expect(ret, DAT_SUCCESS);
        else if (dat_is(ret, DAT_SUCCESS))
                note(t, "an EP was made for an RSP, though none are for PSPs (RSP-2)");
        else
                expect(ret, DAT_MODEL_NOT_SUPPORTED, DAT_INVALID_HANDLE);
        if (dat_is(ret, DAT_SUCCESS))
                adopt(t, DAT_HANDLE_TYPE_RSP, rsp);
}

FAMILY(rsp_create, from_peer, makers)
{
        struct loop loop = loop_new(t);
        struct peer_ep *end;

        reserve(t, &loop, row->own);
        end = peer_request(peer(t), loop.qual);
        loop.request = expect_request(t, loop.requests, loop.psp, loop.qual);
        if (row->own) {
                expect(dat_cr_accept(loop.request, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
                expect_event(ep_connect_evd(t, loop.passive), DAT_CONNECTION_EVENT_ESTABLISHED);
        } else {
                loop.passive = expect_own_taken(t, loop.request);
        }

        peer_wait_connected(end);
        expect_peer_messages(t, end, loop.passive);
}

CASE(rsp_create, several_at_once)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        struct loop loops[TOGETHER];

        for (int i = 0; i < TOGETHER; i++) {
                loops[i] = loop_new(t);
                loops[i].requests = evd;
                reserve(t, &loops[i], true);
        }
        for (int i = 0; i < TOGETHER; i++)
                expect_rsp(t, loops[i].psp, loops[i].qual, loops[i].passive, evd);
        for (int i = TOGETHER - 1; i >= 0; i--) {
                take(t, &loops[i]);
                expect_that(request_ep(t, loops[i].request) == loops[i].passive,
                            "the request has the EP of another RSP");
        }
        for (int i = 0; i < TOGETHER; i++) {
                accept_it(t, &loops[i]);
                expect_message(t, loops[i].active, loops[i].passive);
        }
}

/*
 * The EP
 */

static void come_created(struct test *t, struct loop *loop)
{
        (void)t;
        (void)loop;
}

static void come_rejected(struct test *t, struct loop *loop)
{
        take(t, loop);
        expect_rejected(t, loop->request, loop);
}

static void come_accepted(struct test *t, struct loop *loop)
{
        take(t, loop);
        accept_it(t, loop);
}

static void come_reset(struct test *t, struct loop *loop)
{
        come_accepted(t, loop);
        must(dat_ep_disconnect(loop->passive, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, loop->passive), DAT_CONNECTION_EVENT_DISCONNECTED);
        must(dat_ep_reset(loop->passive));
}

static const struct stage {
        const char *id;
        void (*come)(struct test *t, struct loop *loop);
        DAT_EP_STATE state;
} stages[] = {
    {"created", come_created, DAT_EP_STATE_RESERVED},
    {"requested", take, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING},
    {"accepted", come_accepted, DAT_EP_STATE_CONNECTED},
    {"rejected", come_rejected, DAT_EP_STATE_UNCONNECTED},
};

FAMILY(rsp_create, ep_state, stages)
{
        struct loop loop = reserved_loop(t);

        row->come(t, &loop);
        expect_ep_in(t, loop.passive, row->state);
        if (row->come == take)
                accept_it(t, &loop);
}

static void reuse_reserved(struct test *t, struct loop *loop)
{
        expect_reserves(t, loop->passive, point_qual(t), request_evd(t));
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
}

static void reuse_passive(struct test *t, struct loop *loop)
{
        struct loop other = {.active = ep_with(t), .passive = loop->passive};

        other.requests = request_evd(t);
        other.psp = psp_new(t, other.requests, DAT_PSP_CONSUMER_FLAG, &other.qual);
        take(t, &other);
        expect_accepted(t, other.request, &other);
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
    {"reserved_again", reuse_reserved},
    {"asks_itself", reuse_active},
    {"accepts_for_psp", reuse_passive},
    {"freed", reuse_freed},
};

FAMILY(rsp_create, after_rejection, reuses)
{
        struct loop loop = reserved_loop(t);
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, 1);
        DAT_EVENT event;
        DAT_COUNT more;

        must(dat_ep_post_recv(loop.passive, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 17},
                              DAT_COMPLETION_DEFAULT_FLAG));
        come_rejected(t, &loop);
        row->reuse(t, &loop);
        if (row->reuse == reuse_freed)
                return;
        must(dat_ep_disconnect(loop.passive, DAT_CLOSE_ABRUPT_FLAG));
        expect(dat_evd_wait(ep_recv_evd(t, loop.passive), event_timeout(t), 1, &event, &more),
               DAT_SUCCESS);
        expect_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, 17);
}

FAMILY(rsp_create, after_reset, reuses)
{
        struct loop loop = reserved_loop(t);

        come_reset(t, &loop);
        row->reuse(t, &loop);
}

static void reserve_by_route(struct test *t, const struct ep_route *route)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        struct ep_held held = ep_hold_by(t, route);
        struct loop loop = {.requests = evd, .passive = held.ep};
        struct peer_ep *end;

        if (!ep_is_in(&held, EP_IN(UNCONNECTED))) {
                ep_hold_receive(t, &held);
                expect(dat_rsp_create(ia(t), point_qual(t), held.ep, evd, &loop.psp),
                       DAT_INVALID_STATE);
                expect_ep_untouched(t, &held);
                return;
        }
        reserve(t, &loop, true);
        expect_ep_in(t, held.ep, DAT_EP_STATE_RESERVED);
        end = peer_request(peer(t), loop.qual);
        loop.request = expect_request(t, evd, loop.psp, loop.qual);
        expect(dat_cr_accept(loop.request, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
        expect_event(ep_connect_evd(t, held.ep), DAT_CONNECTION_EVENT_ESTABLISHED);
        peer_wait_connected(end);
        expect_peer_messages(t, end, held.ep);
}

FAMILY(rsp_create, in_state, ep_states)
{
        EACH_EP_ROUTE (route, row->state)
                reserve_by_route(t, route);
}

CASE(rsp_create, refused_leaves_qualifier)
{
        struct loop loop = reserved_loop(t);
        DAT_CONN_QUAL qual = loop.qual + 1;
        DAT_RSP_HANDLE rsp;

        expect(dat_rsp_create(ia(t), qual, loop.passive, loop.requests, &rsp), DAT_INVALID_STATE);

        expect_reserves(t, ep_with(t), qual, request_evd(t));
        take(t, &loop);
        accept_it(t, &loop);
}

CASE(rsp_create, only_its_ep)
{
        struct loop loop = reserved_loop(t);
        DAT_EP_HANDLE other = ep_with(t);

        take(t, &loop);
        expect(dat_cr_accept(loop.request, other, 0, NULL), DAT_INVALID_PARAMETER,
               DAT_INVALID_HANDLE);

        expect_ep_in(t, other, DAT_EP_STATE_UNCONNECTED);
        expect_ep_in(t, loop.passive, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
        accept_it(t, &loop);
        expect_message(t, loop.active, loop.passive);
}

CASE(rsp_create, ep_of_other_ia)
{
        DAT_IA_HANDLE other = other_ia(t);
        DAT_EVD_HANDLE dtos = evd_with(t, .ia = other);
        DAT_EVD_HANDLE connect = evd_with(t, .ia = other, .flags = DAT_EVD_CONNECTION_FLAG);
        struct loop loop = loop_new(t);
        DAT_CONN_QUAL qual = point_qual(t);
        DAT_EP_HANDLE ep;
        DAT_RSP_HANDLE rsp;

        must(dat_ep_create(other, pz_of(t, other), dtos, dtos, connect, NULL, &ep));
        adopt(t, DAT_HANDLE_TYPE_EP, ep);
        if (dat_is(expect(dat_rsp_create(ia(t), qual, ep, loop.requests, &rsp), DAT_INVALID_HANDLE,
                          DAT_INVALID_PARAMETER, DAT_SUCCESS),
                   DAT_SUCCESS)) {
                adopt(t, DAT_HANDLE_TYPE_RSP, rsp);
                expect_ep_in(t, ep, DAT_EP_STATE_RESERVED);
                note(t, "an EP of another IA was reserved");
                return;
        }
        expect_ep_in(t, ep, DAT_EP_STATE_UNCONNECTED);
        expect_reserves(t, loop.passive, qual, loop.requests);
}

/*
 * One request
 */

static void meet_stands(struct test *t, struct loop *loop)
{
        loop_connect(t, loop->active, loop->qual);
}

static void come_ended(struct test *t, struct loop *loop)
{
        come_accepted(t, loop);
        must(dat_ep_disconnect(loop->active, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, loop->passive), DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* The request is another point's, and its connection is made there. */
static void come_handed_off(struct test *t, struct loop *loop)
{
        struct loop to = {.requests = request_evd(t), .active = loop->active};

        to.psp = loop_listen(t, to.requests, psp_flags_granted(t), &to.qual);
        to.passive = ep_with(t);
        take(t, loop);
        must(dat_cr_handoff(loop->request, to.qual));
        loop_take_request(t, &to);
        loop->passive = expect_accepted(t, to.request, &to);
}

/* The request came to another point first, and is unanswered. */
static void come_handed_on(struct test *t, struct loop *loop)
{
        struct loop from = {.requests = request_evd(t), .active = loop->active};

        from.psp = loop_listen(t, from.requests, psp_flags_granted(t), &from.qual);
        loop_connect(t, from.active, from.qual);
        loop_take_request(t, &from);
        must(dat_cr_handoff(from.request, loop->qual));
        loop->request = expect_request(t, loop->requests, loop->psp, loop->qual);
}

static const struct met {
        const char *id;
        void (*meet)(struct test *t, struct loop *loop);
        int left; /* events on the EVD afterwards */
} mets[] = {
    {"untaken", meet_stands, 1},      {"taken", take, 0},       {"accepted", come_accepted, 0},
    {"rejected", come_rejected, 0},   {"ended", come_ended, 0}, {"handed_off", come_handed_off, 0},
    {"handed_on", come_handed_on, 0},
};

FAMILY(rsp_create, one_request, mets)
{
        DAT_CNO_HANDLE cno;
        struct loop loop = watched_loop(t, &cno);
        DAT_EP_HANDLE second = ep_with(t);

        reserve(t, &loop, true);
        row->meet(t, &loop);
        if (row->left)
                must_stand(t, cno);
        loop_connect(t, second, loop.qual);

        expect_event(ep_connect_evd(t, second), DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        expect_ep_in(t, second, DAT_EP_STATE_DISCONNECTED);
        if (row->left)
                loop.request = expect_request(t, loop.requests, loop.psp, loop.qual);
        expect_empty(t, loop.requests);
        if (row->meet == meet_stands || row->meet == take || row->meet == come_handed_on)
                accept_it(t, &loop);
        if (row->meet != come_rejected && row->meet != come_ended)
                expect_message(t, loop.active, loop.passive);
}

CASE(rsp_create, one_request_of_provider)
{
        struct loop loop = loop_new(t);
        DAT_EP_HANDLE second = ep_with(t);

        reserve(t, &loop, false);
        take(t, &loop);
        loop_connect(t, second, loop.qual);

        expect_event(ep_connect_evd(t, second), DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        expect_empty(t, loop.requests);
        loop.passive = expect_own_accepted(t, loop.request, &loop);
        expect_message(t, loop.active, loop.passive);
}

/* Of the EPs that have asked, how many have been refused so far. */
static int refused_of(struct test *t, DAT_EVD_HANDLE connect, int count)
{
        DAT_EVENT event;

        for (int look = 0; look < LOOKS && count > 0; look++) {
                while (event_left(t, connect, &event)) {
                        expect_eq(event.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
                        count--;
                }
                if (count > 0)
                        settle_briefly(t);
        }
        return count;
}

CASE(rsp_create, one_of_many)
{
        struct loop loop = reserved_loop(t);
        DAT_EVD_HANDLE connect = evd_with(t, .qlen = 8, .flags = DAT_EVD_CONNECTION_FLAG);

        for (int i = 0; i < TOGETHER; i++)
                loop_connect(t, ep_with(t, .connect_evd = connect), loop.qual);

        loop.request = expect_request(t, loop.requests, loop.psp, loop.qual);
        expect_eq(refused_of(t, connect, TOGETHER - 1), 0);
        expect_empty(t, loop.requests);
        expect(dat_cr_accept(loop.request, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
        expect_event(connect, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_event(ep_connect_evd(t, loop.passive), DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* Requests of a PSP fill the EVD; returns how many. They reach it before the RSP's does. */
static DAT_COUNT fill_with_requests(struct test *t, DAT_CNO_HANDLE cno, const struct loop *loop)
{
        DAT_COUNT places = evd_param(t, loop->requests).evd_qlen;
        DAT_CONN_QUAL qual;

        if (places > PLACES_MOST)
                end_noted(t, "the EVD has %d places: too many to fill", (int)places);
        loop_listen(t, loop->requests, psp_flags_granted(t), &qual);
        for (DAT_COUNT i = 0; i < places; i++) {
                loop_connect(t, ep_with(t), qual);
                must_stand(t, cno);
        }
        return places;
}

/* Whether the EP was told that its request found no place (PSP-6). */
static bool is_turned_away(struct test *t, DAT_EP_HANDLE ep, int looks)
{
        DAT_EVENT event;

        for (int look = 0; look < looks; look++) {
                if (!dat_is(dat_evd_dequeue(ep_connect_evd(t, ep), &event), DAT_SUCCESS)) {
                        settle_briefly(t);
                        continue;
                }
                expect_that(event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
                                event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE ||
                                event.event_number == DAT_CONNECTION_EVENT_TIMED_OUT,
                            "the EP that asked got %s", name_of_event(event.event_number));
                return true;
        }
        return false;
}

/* Whether the request is reported now; false if its EP is turned away after all. */
static bool comes_late(struct test *t, struct loop *loop)
{
        for (int look = 0; look < LOOKS; look++) {
                const DAT_CR_ARRIVAL_EVENT_DATA *data;
                DAT_EVENT event;

                if (dat_is(dat_evd_dequeue(loop->requests, &event), DAT_SUCCESS)) {
                        data = &event.event_data.cr_arrival_event_data;
                        expect_eq(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
                        expect_that(data->sp_handle.rsp_handle == loop->psp,
                                    "the request is for another point");
                        loop->request = data->cr_handle;
                        return true;
                }
                if (is_turned_away(t, loop->active, 1))
                        return false;
        }
        expect_that(false, "the request was neither refused nor reported");
        return false;
}

/* A request that the EVD had no place for is not the RSP's one request. */
CASE(rsp_create, next_after_full)
{
        DAT_CNO_HANDLE cno;
        struct loop loop = watched_loop(t, &cno);
        DAT_COUNT count = fill_with_requests(t, cno, &loop);
        bool refused;

        reserve(t, &loop, true);
        loop_connect(t, loop.active, loop.qual);
        refused = is_turned_away(t, loop.active, LOOKS / 10);
        for (DAT_COUNT i = 0; i < count; i++) {
                DAT_EVENT event = expect_event(loop.requests, DAT_CONNECTION_REQUEST_EVENT);

                must(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle));
        }
        if (refused || !comes_late(t, &loop)) {
                expect_ep_in(t, loop.passive, DAT_EP_STATE_RESERVED);
                loop.active = ep_with(t);
                take(t, &loop);
        }
        accept_it(t, &loop);
        drain_async_event(t);
}

/*
 * Qualifiers
 */

static const struct high_bits high_bits[] = {HIGH_BITS};

FAMILY(rsp_create, high_qualifier, high_bits)
{
        struct loop low = reserved_loop(t);
        struct loop high = loop_new(t);
        DAT_RETURN ret;

        high.qual = low.qual | row->bits;
        ret =
            expect_or_note(dat_rsp_create(ia(t), high.qual, high.passive, high.requests, &high.psp),
                           DAT_SUCCESS, DAT_INVALID_PARAMETER);
        if (dat_is(ret, DAT_SUCCESS)) {
                adopt(t, DAT_HANDLE_TYPE_RSP, high.psp);
                expect_rsp(t, high.psp, high.qual, high.passive, high.requests);
                take(t, &high);
                accept_it(t, &high);
        }
        expect_empty(t, low.requests);
        take(t, &low);
        accept_it(t, &low);
}

static void hold_psp(struct test *t, struct loop *holder)
{
        holder->psp = loop_listen(t, holder->requests, psp_flags_granted(t), &holder->qual);
}

static void hold_chosen(struct test *t, struct loop *holder)
{
        poison(&holder->qual, sizeof(holder->qual));
        must(dat_psp_create_any(ia(t), &holder->qual, holder->requests, psp_flags_granted(t),
                                &holder->psp));
        adopt(t, DAT_HANDLE_TYPE_PSP, holder->psp);
        MUST_BE_WRITTEN("dat_psp_create_any", *holder, qual);
}

static void hold_rsp(struct test *t, struct loop *holder)
{
        reserve(t, holder, true);
}

static void hold_elsewhere(struct test *t, struct loop *holder)
{
        holder->psp = point_elsewhere(t, &holder->requests, &holder->qual);
}

static void hold_provider(struct test *t, struct loop *holder)
{
        holder->psp = loop_listen(t, holder->requests, DAT_PSP_PROVIDER_FLAG, &holder->qual);
}

static void hold_rsp_of_provider(struct test *t, struct loop *holder)
{
        reserve(t, holder, false);
}

static const struct holder {
        const char *id;
        void (*hold)(struct test *t, struct loop *holder);
        bool same_evd;
} holders[] = {
    {"psp", hold_psp, true},
    {"psp_of_other_evd", hold_psp, false},
    {"chosen", hold_chosen, true},
    {"rsp", hold_rsp, true},
    {"rsp_of_other_evd", hold_rsp, false},
    {"psp_of_other_ia", hold_elsewhere, false},
    {"psp_of_provider", hold_provider, false},
    {"rsp_of_provider", hold_rsp_of_provider, false},
};

FAMILY(rsp_create, in_use, holders)
{
        struct loop holder = loop_new(t);
        struct loop vain = loop_new(t);
        DAT_EVD_HANDLE other = request_evd(t);
        DAT_RSP_HANDLE rsp;

        row->hold(t, &holder);

        expect(dat_rsp_create(ia(t), holder.qual, vain.passive,
                              row->same_evd ? holder.requests : other, &rsp),
               DAT_CONN_QUAL_IN_USE);

        if (!row->same_evd) {
                expect(dat_evd_free(other), DAT_SUCCESS);
                disown(t, other);
        }
        expect_ep_in(t, vain.passive, DAT_EP_STATE_UNCONNECTED);
        take(t, &holder);
        /* The loop has no EP of the second opening to accept it with. */
        if (row->hold == hold_elsewhere)
                expect_rejected(t, holder.request, &holder);
        else if (row->hold == hold_provider || row->hold == hold_rsp_of_provider)
                expect_own_accepted(t, holder.request, &holder);
        else if (row->hold == hold_rsp)
                expect_accepted_by(t, holder.request, DAT_HANDLE_NULL, &holder);
        else
                expect_accepted(t, holder.request, &holder);
        expect_reserves(t, vain.passive, holder.qual + 1, vain.requests);
}

CASE(rsp_create, in_use_by_process)
{
        struct peer_place place = peer_listen(peer(t));
        struct loop vain = loop_new(t);
        DAT_RSP_HANDLE rsp;

        if (place_is_here(t, &place)) {
                expect(dat_rsp_create(ia(t), place.qual, vain.passive, vain.requests, &rsp),
                       DAT_CONN_QUAL_IN_USE);
                expect_ep_in(t, vain.passive, DAT_EP_STATE_UNCONNECTED);
        } else {
                expect_reserves(t, vain.passive, place.qual, vain.requests);
        }
        expect_peer_served(t, &place);
        expect_empty(t, vain.requests);
}

/*
 * Waking, and threads
 */

CASE(rsp_create, wakes_waiter)
{
        struct loop loop = reserved_loop(t);
        struct waiter *waiter = wait_on_evd(t, loop.requests, DAT_TIMEOUT_INFINITE, 1);
        struct woken woken;

        must_wait(waiter);
        loop_connect(t, loop.active, loop.qual);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_number, DAT_CONNECTION_REQUEST_EVENT);
        loop.request = woken.event.event_data.cr_arrival_event_data.cr_handle;
        accept_it(t, &loop);
}

CASE(rsp_create, triggers_cno)
{
        DAT_CNO_HANDLE cno;
        struct loop loop = watched_loop(t, &cno);
        struct waiter *waiter;
        struct woken woken;

        reserve(t, &loop, true);
        waiter = wait_on_cno(t, cno, event_timeout(t));
        must_wait(waiter);
        loop_connect(t, loop.active, loop.qual);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_that(woken.evd == loop.requests, "the CNO names another EVD");
        loop.request = expect_request(t, loop.requests, loop.psp, loop.qual);
        accept_it(t, &loop);
}

struct making {
        DAT_IA_HANDLE ia;
        DAT_EVD_HANDLE evd;
        DAT_CONN_QUAL qual; /* of the first */
        const DAT_EP_HANDLE *eps;
        DAT_RSP_HANDLE rsps[ROW];
        DAT_RETURN rets[ROW];
};

static DAT_RETURN make_row(void *arg)
{
        struct making *making = arg;

        for (DAT_CONN_QUAL i = 0; i < ROW; i++)
                making->rets[i] = dat_rsp_create(making->ia, making->qual + i, making->eps[i],
                                                 making->evd, &making->rsps[i]);
        return DAT_SUCCESS;
}

/* Of the threads, the one whose call at that place in its row was granted. */
static int winner(struct test *t, const struct making makings[THREADS], int place,
                  DAT_RETURN refused)
{
        int made = -1;

        for (int i = 0; i < THREADS; i++) {
                expect(makings[i].rets[place], DAT_SUCCESS, refused);
                if (!dat_is(makings[i].rets[place], DAT_SUCCESS))
                        continue;
                expect_that(made < 0, "two threads have made an RSP with one EP or qualifier");
                made = i;
        }
        expect_that(made >= 0, "no thread has made an RSP with an EP and a qualifier that are "
                               "free");
        return made;
}

static void make_eps(struct test *t, DAT_EP_HANDLE eps[ROW])
{
        for (int i = 0; i < ROW; i++)
                eps[i] = ep_with(t);
}

CASE(rsp_create, threads_with_one_ep)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL first = point_qual(t);
        struct stress stress = stress_of(t, 400);
        DAT_EP_HANDLE eps[ROW];

        make_eps(t, eps);
        while (stress.met < MET && stress_round(&stress)) {
                struct making makings[THREADS];
                struct racer racers[THREADS];

                for (int i = 0; i < THREADS; i++) {
                        makings[i] = (struct making){.ia = ia(t),
                                                     .evd = evd,
                                                     .qual = first + (DAT_CONN_QUAL)i * ROW,
                                                     .eps = eps};
                        racers[i] = (struct racer){.call = make_row, .arg = &makings[i]};
                }
                stress_met(&stress, race(racers, THREADS));
                for (int i = 0; i < ROW; i++) {
                        struct making *made = &makings[winner(t, makings, i, DAT_INVALID_STATE)];

                        adopt(t, DAT_HANDLE_TYPE_RSP, made->rsps[i]);
                        expect_rsp(t, made->rsps[i], made->qual + (DAT_CONN_QUAL)i, eps[i], evd);
                        release(t, made->rsps[i]);
                }
        }
        must_have_met(&stress);
}

/* The EPs of those that were refused stay Unconnected. */
static void expect_one_made(struct test *t, struct making makings[THREADS], int place)
{
        int won = winner(t, makings, place, DAT_CONN_QUAL_IN_USE);
        struct making *made = &makings[won];

        adopt(t, DAT_HANDLE_TYPE_RSP, made->rsps[place]);
        expect_rsp(t, made->rsps[place], made->qual + (DAT_CONN_QUAL)place, made->eps[place],
                   made->evd);
        for (int i = 0; i < THREADS; i++)
                expect_ep_in(t, makings[i].eps[place],
                             i == won ? DAT_EP_STATE_RESERVED : DAT_EP_STATE_UNCONNECTED);
        release(t, made->rsps[place]);
}

CASE(rsp_create, threads_at_one_qualifier)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL first = point_qual(t);
        struct stress stress = stress_of(t, 400);
        DAT_EP_HANDLE eps[THREADS][ROW];

        for (int i = 0; i < THREADS; i++)
                make_eps(t, eps[i]);

        while (stress.met < MET && stress_round(&stress)) {
                struct making makings[THREADS];
                struct racer racers[THREADS];

                for (int i = 0; i < THREADS; i++) {
                        makings[i] =
                            (struct making){.ia = ia(t), .evd = evd, .qual = first, .eps = eps[i]};
                        racers[i] = (struct racer){.call = make_row, .arg = &makings[i]};
                }
                stress_met(&stress, race(racers, THREADS));
                for (int i = 0; i < ROW; i++)
                        expect_one_made(t, makings, i);
        }
        must_have_met(&stress);
}

/*
 * Arguments
 */

static const struct wrong_evd wrong_evds[] = {WRONG_EVDS};

FAMILY(rsp_create, evd_of_other_stream, wrong_evds)
{
        DAT_EVD_HANDLE evd = wrong_evd(t, row);
        struct loop loop = loop_new(t);
        DAT_CONN_QUAL qual = point_qual(t);
        DAT_RSP_HANDLE rsp;

        expect_or_note(dat_rsp_create(ia(t), qual, loop.passive, evd, &rsp), DAT_INVALID_HANDLE,
                       DAT_INVALID_PARAMETER);

        expect_ep_in(t, loop.passive, DAT_EP_STATE_UNCONNECTED);
        expect_reserves(t, loop.passive, qual, loop.requests);
        expect_empty(t, evd);
}

static const struct wrong_evd merged_evds[] = {MERGED_EVDS};

FAMILY(rsp_create, evd_of_more_streams, merged_evds)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = 8, .flags = row->flags);

        expect_reserves(t, ep_with(t), point_qual(t), evd);
        expect_empty(t, evd);
}

LEGAL(rsp_create)
{
        call->ia_handle = ia(t);
        call->conn_qual = point_qual(t);
        call->ep_handle = ep_with(t);
        call->evd_handle = request_evd(t);
}
