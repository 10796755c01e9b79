/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_get_status: the state, from one to the next, and who is idle: what is posted, done,
 * reaped. */
#include "clauses/ep_get_status.h"
#include "case/standard.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"

#include <string.h>

#define POSTS   4
#define BYTES   256 /* receives: their number fits into no byte */
#define MANY    100 /* calls */
#define LOOKS   500 /* for a completion that is to come */
#define THREADS 4
#define ROW     50  /* calls that a thread makes in a row */
#define MET     20  /* rounds that met are enough */
#define LATE_MS 100 /* what the peer's host sends */
#define TRIES   5
#define SHORT   ((DAT_TIMEOUT)60000) /* a time-out: microseconds */

struct status {
        DAT_EP_STATE state; /* a plain one */
        DAT_BOOLEAN recv_idle;
        DAT_BOOLEAN request_idle;
};

/* The answer, into memory that no provider would leave so. */
static struct status status_of(struct test *t, DAT_EP_HANDLE ep)
{
        struct status status;

        memset(&status, 0xa5, sizeof(status));
        expect(dat_ep_get_status(ep, &status.state, &status.recv_idle, &status.request_idle),
               DAT_SUCCESS);
        status.state = plain_ep_state(status.state);
        return status;
}

static void expect_idle(struct test *t, DAT_EP_HANDLE ep, DAT_BOOLEAN recv, DAT_BOOLEAN request)
{
        struct status status = status_of(t, ep);

        expect_eq(status.recv_idle, recv);
        expect_eq(status.request_idle, request);
}

/*
 * States
 */

static DAT_EP_STATE queried_state(struct test *t, DAT_EP_HANDLE ep)
{
        return plain_ep_state(ep_snapshot(t, ep).param.ep_state);
}

/* The page has no word for Completion Pending (EP-8); a disconnect that is pending may end. */
static bool tells(struct test *t, const struct ep_held *held, DAT_EP_STATE told)
{
        if (held->state == DAT_EP_STATE_COMPLETION_PENDING)
                return told == held->state || told == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING;
        if (held->state == DAT_EP_STATE_DISCONNECT_PENDING && told == DAT_EP_STATE_DISCONNECTED)
                return queried_state(t, held->ep) == told;
        return told == held->state;
}

FAMILY(ep_get_status, in_state, ep_states)
{
        struct ep_held held = ep_hold(t, row->state);
        struct status status = status_of(t, held.ep);
        bool waits = status.state == DAT_EP_STATE_DISCONNECT_PENDING;

        expect_that(tells(t, &held, status.state), "an EP in state %d is told to be in %d",
                    (int)held.state, (int)status.state);
        expect_eq(status.recv_idle, DAT_TRUE);
        expect_eq(status.request_idle, waits ? DAT_FALSE : DAT_TRUE);
        expect_ep_untouched(t, &held);
}

FAMILY(ep_get_status, state_after, ep_turns)
{
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});

        row->make(t, &loop);

        expect_eq(status_of(t, loop.active).state, row->state);
        expect_idle(t, loop.active, DAT_TRUE, DAT_TRUE);
}

/* What the consumer gives a Provider's EP is no answer to the request. */
CASE(ep_get_status, tentative_modified)
{
        struct loop loop = {
            .requests = evd_with(t, .flags = DAT_EVD_CR_FLAG),
            .active = ep_with(t),
        };
        DAT_EP_PARAM with = {.pz_handle = pz(t)};
        DAT_EP_HANDLE ep;

        loop_listen(t, loop.requests, DAT_PSP_PROVIDER_FLAG, &loop.qual);
        loop_connect(t, loop.active, loop.qual);
        loop_take_request(t, &loop);
        ep = request_ep(t, loop.request);
        must(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &with));
        expect_eq(status_of(t, ep).state, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
        expect_idle(t, ep, DAT_TRUE, DAT_TRUE);
        must(dat_cr_reject(loop.request));
}

/* What happens to the active EP, and how it is told of it stands on its EVD. */
static void be_rejected(struct test *t, struct loop *loop)
{
        loop_ask(t, loop);
        loop_take_request(t, loop);
        must(dat_cr_reject(loop->request));
}

static void time_out(struct test *t, struct loop *loop)
{
        loop_listen(t, loop->requests, DAT_PSP_CONSUMER_FLAG, &loop->qual);
        must(dat_ep_connect(loop->active, ia_attr(t)->ia_address_ptr, loop->qual, SHORT, 0, NULL,
                            DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

/* The EP is in that state before long, whatever stands on its EVD. */
static void expect_comes_to(struct test *t, DAT_EP_HANDLE ep, DAT_EP_STATE state)
{
        int looks = LOOKS;

        while (status_of(t, ep).state != state && --looks)
                settle_briefly(t);
        expect_eq(status_of(t, ep).state, state);
}

/* Nor has anyone taken the event of the connection. */
static void be_left(struct test *t, struct loop *loop)
{
        loop_ask(t, loop);
        loop_accept(t, loop);
        expect_comes_to(t, loop->active, DAT_EP_STATE_CONNECTED);
        expect_comes_to(t, loop->passive, DAT_EP_STATE_CONNECTED);
        must(dat_ep_disconnect(loop->passive, DAT_CLOSE_ABRUPT_FLAG));
        expect_comes_to(t, loop->passive, DAT_EP_STATE_DISCONNECTED);
}

static const struct untaken {
        const char *id;
        void (*make)(struct test *t, struct loop *loop);
} untakens[] = {
    {"rejected", be_rejected},
    {"times_out", time_out},
    {"other_end_disconnects", be_left},
    {"breaks", ep_turn_break},
};

FAMILY(ep_get_status, state_untaken, untakens)
{
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});
        DAT_EVENT event;
        DAT_COUNT more;

        row->make(t, &loop);
        expect_comes_to(t, loop.active, DAT_EP_STATE_DISCONNECTED);
        must(dat_evd_wait(ep_connect_evd(t, loop.active), event_timeout(t), 1, &event, &more));
        expect_eq(status_of(t, loop.active).state, DAT_EP_STATE_DISCONNECTED);
}

CASE(ep_get_status, accepted_end)
{
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});

        loop_join(t, &loop);
        expect_eq(status_of(t, loop.passive).state, DAT_EP_STATE_CONNECTED);
        must(dat_ep_disconnect(loop.active, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, loop.passive), DAT_CONNECTION_EVENT_DISCONNECTED);
        expect_eq(status_of(t, loop.passive).state, DAT_EP_STATE_DISCONNECTED);
}

CASE(ep_get_status, rsp_freed)
{
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_RESERVED);

        release(t, ep_rsp(t, ep));

        expect_eq(status_of(t, ep).state, DAT_EP_STATE_UNCONNECTED);
}

CASE(ep_get_status, passive_rejected)
{
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);

        release(t, ep_request(t, ep));

        expect_eq(status_of(t, ep).state, DAT_EP_STATE_UNCONNECTED);
}

CASE(ep_get_status, own_state)
{
        struct loop left = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});
        struct loop joined = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});
        DAT_EP_HANDLE unconnected = ep_with(t);
        DAT_EP_HANDLE reserved = ep_in(t, DAT_EP_STATE_RESERVED);

        ep_turn_leave(t, &left);
        loop_join(t, &joined);

        expect_eq(status_of(t, left.active).state, DAT_EP_STATE_DISCONNECTED);
        expect_eq(status_of(t, joined.active).state, DAT_EP_STATE_CONNECTED);
        expect_eq(status_of(t, joined.passive).state, DAT_EP_STATE_CONNECTED);
        expect_eq(status_of(t, unconnected).state, DAT_EP_STATE_UNCONNECTED);
        expect_eq(status_of(t, reserved).state, DAT_EP_STATE_RESERVED);
        release(t, left.active);
        expect_eq(status_of(t, ep_with(t)).state, DAT_EP_STATE_UNCONNECTED);
}

/*
 * Receives
 */

static void post_recvs(struct test *t, DAT_EP_HANDLE ep, int count)
{
        struct vector vector = vector_with(t, .length = MESSAGE);

        for (int i = 0; i < count; i++)
                must(recv_vector(ep, &vector, (uint64_t)i, DAT_COMPLETION_DEFAULT_FLAG));
}

static void post_sends(struct test *t, DAT_EP_HANDLE ep, int count)
{
        struct vector vector = vector_with(t, .length = MESSAGE);

        for (int i = 0; i < count; i++)
                must(send_vector(ep, &vector, (uint64_t)i, DAT_COMPLETION_DEFAULT_FLAG));
}

static void must_be_flushed(struct test *t, DAT_EVD_HANDLE evd, int count)
{
        for (int i = 0; i < count; i++) {
                DAT_EVENT event = must_event(evd, DAT_DTO_COMPLETION_EVENT);

                must_that(event.event_data.dto_completion_event_data.status == DAT_DTO_ERR_FLUSHED,
                          "what was posted was not flushed");
        }
}

/* Where the EP is, or comes to be, Disconnected, the receive is flushed. */
FAMILY(ep_get_status, recv_in_state, consumer_ep_states)
{
        DAT_EP_HANDLE ep = ep_in(t, row->state);
        bool ends = row->state == DAT_EP_STATE_DISCONNECTED;

        post_recvs(t, ep, 1);
        if (ends)
                must_be_flushed(t, ep_recv_evd(t, ep), 1);
        struct status status = status_of(t, ep);

        if (row->state == DAT_EP_STATE_DISCONNECT_PENDING &&
            status.state == DAT_EP_STATE_DISCONNECTED)
                return;
        expect_eq(status.recv_idle, ends ? DAT_TRUE : DAT_FALSE);
}

CASE(ep_get_status, recvs_reaped)
{
        struct loop loop = transfer_with(t);

        post_recvs(t, loop.passive, POSTS);
        for (int i = 0; i < POSTS; i++) {
                expect_idle(t, loop.passive, DAT_FALSE, DAT_TRUE);
                post_sends(t, loop.active, 1);
                must_dto(ep_recv_evd(t, loop.passive));
        }
        expect_idle(t, loop.passive, DAT_TRUE, DAT_TRUE);
        post_recvs(t, loop.passive, 1);
        expect_idle(t, loop.passive, DAT_FALSE, DAT_TRUE);
}

/* However many there are. */
CASE(ep_get_status, many_recvs)
{
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){.dtos = BYTES});
        DAT_EVD_HANDLE evd = evd_of_at_most(t, BYTES);
        DAT_EP_HANDLE ep;

        must_have_room(t, evd, BYTES);
        attr.max_request_dtos = POSTS;
        ep = ep_with(t, .attr = &attr, .recv_evd = evd);
        for (int i = 0; i < BYTES; i++) {
                post_recvs(t, ep, 1);
                expect_idle(t, ep, DAT_FALSE, DAT_TRUE);
        }
}

static void must_dequeue(struct test *t, DAT_EVD_HANDLE evd)
{
        int looks = LOOKS;
        DAT_EVENT event;

        while (!dat_is(dat_evd_dequeue(evd, &event), DAT_SUCCESS) && looks--)
                settle_briefly(t);
        must_that(looks > 0, "a completion did not come");
}

CASE(ep_get_status, recvs_dequeued)
{
        struct loop loop = transfer_with(t);

        post_recvs(t, loop.passive, POSTS);
        post_sends(t, loop.active, POSTS);
        for (int i = 0; i < POSTS; i++)
                must_dequeue(t, ep_recv_evd(t, loop.passive));

        expect_idle(t, loop.passive, DAT_TRUE, DAT_TRUE);
}

/* A message that is too long: what failed by it, and what was flushed, is over. */
CASE(ep_get_status, failed_reaped)
{
        struct loop loop = transfer_with(t);
        struct vector brief = vector_with(t, .length = MESSAGE / 2);
        DAT_EVENT event;

        must(recv_vector(loop.passive, &brief, 0, DAT_COMPLETION_DEFAULT_FLAG));
        post_sends(t, loop.active, 1);
        event = must_event(ep_recv_evd(t, loop.passive), DAT_DTO_COMPLETION_EVENT);
        must_that(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS,
                  "a receive took a message that is longer");
        must_event(ep_request_evd(t, loop.active), DAT_DTO_COMPLETION_EVENT);

        expect_idle(t, loop.passive, DAT_TRUE, DAT_TRUE);
        expect_idle(t, loop.active, DAT_TRUE, DAT_TRUE);
}

CASE(ep_get_status, recvs_flushed)
{
        struct loop loop = transfer_with(t);

        post_recvs(t, loop.passive, POSTS);
        must(dat_ep_disconnect(loop.passive, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, loop.passive), DAT_CONNECTION_EVENT_DISCONNECTED);
        must_be_flushed(t, ep_recv_evd(t, loop.passive), POSTS);

        expect_idle(t, loop.passive, DAT_TRUE, DAT_TRUE);
}

CASE(ep_get_status, recv_of_srq)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);

        srq_post(t, srq, buf_with(t), MESSAGE, 0, POSTS);

        expect_idle(t, ep, DAT_TRUE, DAT_TRUE);
}

/* Nor are those that it took, once they are reaped. */
CASE(ep_get_status, recv_of_srq_reaped)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){.srq = srq});

        loop_join(t, &loop);
        srq_post(t, srq, buf_with(t), MESSAGE, 0, 1);
        post_sends(t, loop.active, 1);
        must_dto(ep_recv_evd(t, loop.passive));

        expect_idle(t, loop.passive, DAT_TRUE, DAT_TRUE);
}

/* Of two EPs with the same EVDs, the one that has something to do: made first, or last. */
static const struct place {
        const char *id;
        int busy;
} places[] = {
    {"older", 0},
    {"newer", 1},
};

FAMILY(ep_get_status, recv_of_other, places)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        DAT_EP_HANDLE eps[] = {ep_with(t, .recv_evd = evd), ep_with(t, .recv_evd = evd)};

        post_recvs(t, eps[row->busy], 1);

        expect_idle(t, eps[row->busy], DAT_FALSE, DAT_TRUE);
        expect_idle(t, eps[!row->busy], DAT_TRUE, DAT_TRUE);
}

CASE(ep_get_status, recv_refused)
{
        DAT_EP_HANDLE ep = ep_with(t);
        DAT_LMR_TRIPLET beyond = triplet(buf_with(t), 0, (size_t)1 << 20);

        must_that(!dat_is(dat_ep_post_recv(ep, 1, &beyond, COOKIE(0), DAT_COMPLETION_DEFAULT_FLAG),
                          DAT_SUCCESS),
                  "a receive into memory that is not registered was taken");

        expect_idle(t, ep, DAT_TRUE, DAT_TRUE);
}

/*
 * Requests
 */

/* Each send goes when the other end has a receive for it, and not before. */
CASE(ep_get_status, sends_reaped)
{
        struct loop loop = transfer_with(t);

        post_sends(t, loop.active, POSTS);
        for (int i = 0; i < POSTS; i++) {
                expect_idle(t, loop.active, DAT_TRUE, DAT_FALSE);
                post_recvs(t, loop.passive, 1);
                must_dto(ep_request_evd(t, loop.active));
        }
        expect_idle(t, loop.active, DAT_TRUE, DAT_TRUE);
}

enum work { WORK_SEND, WORK_WRITE, WORK_READ };

static DAT_RETURN work_post(DAT_EP_HANDLE ep, enum work work, const struct vector *vector,
                            DAT_RMR_TRIPLET remote)
{
        switch (work) {
        case WORK_WRITE:
                return dat_ep_post_rdma_write(ep, 1, vector->iov, COOKIE(0), &remote,
                                              DAT_COMPLETION_DEFAULT_FLAG);
        case WORK_READ:
                return dat_ep_post_rdma_read(ep, 1, vector->iov, COOKIE(0), &remote,
                                             DAT_COMPLETION_DEFAULT_FLAG);
        default:
                return send_vector(ep, vector, 0, DAT_COMPLETION_DEFAULT_FLAG);
        }
}

static const struct worker {
        const char *id;
        enum work work;
} workers[] = {
    {"send", WORK_SEND},
    {"rdma_write", WORK_WRITE},
    {"rdma_read", WORK_READ},
};

FAMILY(ep_get_status, request_reaped, workers)
{
        struct loop loop = transfer_with(t, .reads = row->work == WORK_READ);
        struct vector vector = vector_with(t, .length = MESSAGE);
        struct vector there = vector_with(t, .length = MESSAGE);

        post_recvs(t, loop.passive, 1);
        must(work_post(loop.active, row->work, &vector, vector_remote(&there)));
        must_dto(ep_request_evd(t, loop.active));

        expect_idle(t, loop.active, DAT_TRUE, DAT_TRUE);
}

static void post_bind(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
        DAT_RMR_CONTEXT context;

        must(dat_rmr_create(pz(t), &rmr));
        adopt(t, DAT_HANDLE_TYPE_RMR, rmr);
        must(dat_rmr_bind(rmr, &segment, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep,
                          (DAT_RMR_COOKIE){.as_64 = 0}, DAT_COMPLETION_DEFAULT_FLAG, &context));
}

CASE(ep_get_status, bind_reaped)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
        struct loop loop = transfer_with(t, .request_evd = evd);

        post_bind(t, loop.active);
        must_event(evd, DAT_RMR_BIND_COMPLETION_EVENT);

        expect_idle(t, loop.active, DAT_TRUE, DAT_TRUE);
}

/* The send behind it waits for a receive: what is reaped of the bind is not the send's. */
CASE(ep_get_status, bind_reaped_before_send)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
        struct loop loop = transfer_with(t, .request_evd = evd);

        post_recvs(t, loop.active, 1);
        post_bind(t, loop.active);
        post_sends(t, loop.active, 1);
        must_event(evd, DAT_RMR_BIND_COMPLETION_EVENT);
        expect_idle(t, loop.active, DAT_FALSE, DAT_FALSE);
        post_recvs(t, loop.passive, 1);
        must_event(evd, DAT_DTO_COMPLETION_EVENT);

        expect_idle(t, loop.active, DAT_FALSE, DAT_TRUE);
}

/* Nothing stands on the EVD after the answer: what was posted was not complete when it was made. */
static bool seen_under_way(DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;

        return dat_is(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
}

/* What acknowledges the request, or brings what it reads, is late. */
FAMILY(ep_get_status, request_under_way, workers)
{
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){
                                                .segments = 1,
                                                .reads = row->work == WORK_READ,
                                            });
        DAT_EP_HANDLE ep = ep_with(t, .attr = &attr);
        struct vector vector = vector_with(t, .length = MESSAGE);
        struct peer_ep *end = must_connect(ep);
        struct peer_memory memory = peer_expose(end, MESSAGE);
        DAT_RMR_TRIPLET remote = {
            .rmr_context = memory.rmr_context,
            .target_address = memory.address,
            .segment_length = MESSAGE,
        };
        struct status status;
        bool seen = false;

        peer_post_recv(end, TRIES, MESSAGE);
        peer_disturb(peer(t), .delay_ms = LATE_MS);
        for (int i = 0; i < TRIES && !seen; i++) {
                must(work_post(ep, row->work, &vector, remote));
                status = status_of(t, ep);
                seen = seen_under_way(ep_request_evd(t, ep));
                if (seen)
                        must_dto(ep_request_evd(t, ep));
        }
        must_that(seen, "each of %d requests was complete at once", TRIES);

        expect_eq(status.request_idle, DAT_FALSE);
        expect_eq(status.recv_idle, DAT_TRUE);
        expect_idle(t, ep, DAT_TRUE, DAT_TRUE);
}

CASE(ep_get_status, requests_flushed)
{
        struct loop loop = transfer_with(t);
        struct vector vector = vector_with(t, .length = MESSAGE);
        struct vector there = vector_with(t, .length = MESSAGE);

        post_sends(t, loop.active, 1);
        must(work_post(loop.active, WORK_WRITE, &vector, vector_remote(&there)));
        must(dat_ep_disconnect(loop.active, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, loop.active), DAT_CONNECTION_EVENT_DISCONNECTED);
        must_be_flushed(t, ep_request_evd(t, loop.active), 2);

        expect_idle(t, loop.active, DAT_TRUE, DAT_TRUE);
}

/* Its successor's completion says that it is done too. */
CASE(ep_get_status, send_suppressed)
{
        struct loop loop = transfer_with(t);
        struct vector vector = vector_with(t, .length = MESSAGE);

        must(send_vector(loop.active, &vector, 0, DAT_COMPLETION_SUPPRESS_FLAG));
        expect_idle(t, loop.active, DAT_TRUE, DAT_FALSE);
        post_sends(t, loop.active, 1);
        post_recvs(t, loop.passive, 2);
        must_dto(ep_request_evd(t, loop.active));

        expect_idle(t, loop.active, DAT_TRUE, DAT_TRUE);
}

/* An unsignalled send, which its successor's completion brings along. */
CASE(ep_get_status, send_unsignalled)
{
        struct loop loop = transfer_with(t, .request_flags = DAT_COMPLETION_UNSIGNALLED_FLAG);
        struct vector vector = vector_with(t, .length = MESSAGE);

        post_recvs(t, loop.passive, 2);
        must(send_vector(loop.active, &vector, 0, DAT_COMPLETION_UNSIGNALLED_FLAG));
        post_sends(t, loop.active, 1);
        must_dto(ep_request_evd(t, loop.active));
        must_dto(ep_request_evd(t, loop.active));

        expect_idle(t, loop.active, DAT_TRUE, DAT_TRUE);
}

FAMILY(ep_get_status, send_of_other, places)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        struct loop loops[] = {
            transfer_with(t, .request_evd = evd),
            transfer_with(t, .request_evd = evd),
        };

        post_sends(t, loops[row->busy].active, 1);

        expect_idle(t, loops[row->busy].active, DAT_TRUE, DAT_FALSE);
        expect_idle(t, loops[!row->busy].active, DAT_TRUE, DAT_TRUE);
}

CASE(ep_get_status, send_refused)
{
        DAT_EP_HANDLE ep = ep_with(t);
        struct vector vector = vector_with(t, .length = MESSAGE);

        must_that(!dat_is(send_vector(ep, &vector, 0, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS),
                  "an EP that is not connected took a send");

        expect_idle(t, ep, DAT_TRUE, DAT_TRUE);
}

/* The EP waits for the end of its connection, and takes no send for that. */
CASE(ep_get_status, send_refused_while_leaving)
{
        struct loop loop = transfer_with(t);
        struct vector vector = vector_with(t, .length = MESSAGE);

        post_sends(t, loop.active, 1);
        must(dat_ep_disconnect(loop.active, DAT_CLOSE_GRACEFUL_FLAG));
        must_that(
            !dat_is(send_vector(loop.active, &vector, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS),
            "an EP that waits for its end took a send");
        expect_idle(t, loop.active, DAT_TRUE, DAT_FALSE);
        post_recvs(t, loop.passive, 1);
        must_dto(ep_request_evd(t, loop.active));

        expect_idle(t, loop.active, DAT_TRUE, DAT_TRUE);
}

/* Of both kinds something is under way, at each end. */
static void expect_work_told(struct test *t, const struct loop *loop)
{
        post_recvs(t, loop->active, 1);
        expect_idle(t, loop->active, DAT_FALSE, DAT_TRUE);
        post_sends(t, loop->active, 1);
        expect_idle(t, loop->active, DAT_FALSE, DAT_FALSE);
        expect_idle(t, loop->passive, DAT_TRUE, DAT_TRUE);
        post_recvs(t, loop->passive, 1);
        must_dto(ep_request_evd(t, loop->active));
        expect_idle(t, loop->active, DAT_FALSE, DAT_TRUE);
        post_sends(t, loop->passive, 1);
        must_dto(ep_recv_evd(t, loop->active));
        expect_idle(t, loop->active, DAT_TRUE, DAT_TRUE);
}

CASE(ep_get_status, both_ways)
{
        struct loop loop = transfer_with(t);

        expect_work_told(t, &loop);
}

/* After a reset there is nothing left, whatever became of the completions. */
CASE(ep_get_status, after_reset)
{
        struct loop loop = transfer_with(t);

        post_recvs(t, loop.active, POSTS);
        post_sends(t, loop.active, POSTS);
        must(dat_ep_disconnect(loop.active, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, loop.active), DAT_CONNECTION_EVENT_DISCONNECTED);
        must_be_flushed(t, ep_recv_evd(t, loop.active), POSTS);
        must_be_flushed(t, ep_request_evd(t, loop.active), POSTS);
        must(dat_ep_reset(loop.active));
        expect_idle(t, loop.active, DAT_TRUE, DAT_TRUE);
        post_recvs(t, loop.active, 1);

        expect_idle(t, loop.active, DAT_FALSE, DAT_TRUE);
}

/* Of the two ends, the one that accepted. */
CASE(ep_get_status, sends_of_passive)
{
        struct loop loop = transfer_with(t);

        post_sends(t, loop.passive, 1);
        expect_idle(t, loop.passive, DAT_TRUE, DAT_FALSE);
        expect_idle(t, loop.active, DAT_TRUE, DAT_TRUE);
        post_recvs(t, loop.active, 1);
        must_dto(ep_request_evd(t, loop.passive));

        expect_idle(t, loop.passive, DAT_TRUE, DAT_TRUE);
}

CASE(ep_get_status, sends_of_srq)
{
        struct loop loop = loop_of(t, (struct ep_opts){.srq = srq_with(t)}, (struct ep_opts){0});

        loop_join(t, &loop);
        expect_eq(status_of(t, loop.active).state, DAT_EP_STATE_CONNECTED);
        post_sends(t, loop.active, 1);

        expect_idle(t, loop.active, DAT_TRUE, DAT_FALSE);
}

/* What is reaped of the one kind says nothing of the other. */
CASE(ep_get_status, recv_reaped_beside_send)
{
        struct loop loop = transfer_with(t);

        post_recvs(t, loop.active, 1);
        post_sends(t, loop.active, 1);
        post_sends(t, loop.passive, 1);
        must_dto(ep_recv_evd(t, loop.active));

        expect_idle(t, loop.active, DAT_TRUE, DAT_FALSE);
}

/* However many there are. */
CASE(ep_get_status, many_sends)
{
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){.dtos = BYTES});
        DAT_EVD_HANDLE evd = evd_of_at_most(t, BYTES);
        struct loop loop;

        must_have_room(t, evd, BYTES);
        attr.max_recv_dtos = POSTS;
        loop = loop_of(t, (struct ep_opts){.attr = &attr, .request_evd = evd}, (struct ep_opts){0});
        loop_join(t, &loop);
        for (int i = 0; i < BYTES; i++) {
                post_sends(t, loop.active, 1);
                expect_idle(t, loop.active, DAT_TRUE, DAT_FALSE);
        }
}

/* The end that did nothing for it. */
CASE(ep_get_status, flushed_by_other_end)
{
        struct loop loop = transfer_with(t);

        post_recvs(t, loop.passive, POSTS);
        post_sends(t, loop.passive, POSTS);
        must(dat_ep_disconnect(loop.active, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, loop.passive), DAT_CONNECTION_EVENT_DISCONNECTED);
        must_be_flushed(t, ep_recv_evd(t, loop.passive), POSTS);
        for (int i = 0; i < POSTS; i++)
                must_event(ep_request_evd(t, loop.passive), DAT_DTO_COMPLETION_EVENT);

        expect_idle(t, loop.passive, DAT_TRUE, DAT_TRUE);
}

/* An EP that is Unconnected keeps its receives when it is reset. */
CASE(ep_get_status, preposted_reset)
{
        DAT_EP_HANDLE ep = ep_with(t);

        post_recvs(t, ep, 1);
        must(dat_ep_reset(ep));

        expect_idle(t, ep, DAT_FALSE, DAT_TRUE);
}

/* The receive that was taken before stands. */
CASE(ep_get_status, recv_refused_beside_another)
{
        DAT_EP_HANDLE ep = ep_with(t);
        DAT_LMR_TRIPLET beyond = triplet(buf_with(t), 0, (size_t)1 << 20);

        post_recvs(t, ep, 1);
        must_that(!dat_is(dat_ep_post_recv(ep, 1, &beyond, COOKIE(1), DAT_COMPLETION_DEFAULT_FLAG),
                          DAT_SUCCESS),
                  "a receive into memory that is not registered was taken");

        expect_idle(t, ep, DAT_FALSE, DAT_TRUE);
}

/* Whatever way the EP was connected, each answer is about that connection, and its work. */
FAMILY(ep_get_status, however_joined, ep_joins)
{
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});

        row->join(t, &loop);
        expect_eq(status_of(t, loop.active).state, DAT_EP_STATE_CONNECTED);
        expect_idle(t, loop.active, DAT_TRUE, DAT_TRUE);
        expect_work_told(t, &loop);
        must(dat_ep_disconnect(loop.passive, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, loop.active), DAT_CONNECTION_EVENT_DISCONNECTED);
        expect_eq(status_of(t, loop.active).state, DAT_EP_STATE_DISCONNECTED);
}

/* A message of nothing, and one of several segments. */
static const struct shape {
        const char *id;
        DAT_COUNT segments;
} shapes[] = {
    {"empty", 0},
    {"several_segments", 3},
};

FAMILY(ep_get_status, shape, shapes)
{
        struct loop loop = transfer_with(t, .segments = row->segments);
        struct vector vector =
            vector_with(t, .length = row->segments ? MESSAGE : 0, .segments = row->segments);

        must(recv_vector(loop.active, &vector, 0, DAT_COMPLETION_DEFAULT_FLAG));
        expect_idle(t, loop.active, DAT_FALSE, DAT_TRUE);
        must(send_vector(loop.active, &vector, 0, DAT_COMPLETION_DEFAULT_FLAG));
        expect_idle(t, loop.active, DAT_FALSE, DAT_FALSE);
        must(recv_vector(loop.passive, &vector, 0, DAT_COMPLETION_DEFAULT_FLAG));
        must_dto(ep_request_evd(t, loop.active));
        must_dto(ep_recv_evd(t, loop.passive));
        expect_idle(t, loop.active, DAT_FALSE, DAT_TRUE);
        expect_idle(t, loop.passive, DAT_TRUE, DAT_TRUE);
        must(send_vector(loop.passive, &vector, 0, DAT_COMPLETION_DEFAULT_FLAG));
        must_dto(ep_recv_evd(t, loop.active));
        expect_idle(t, loop.active, DAT_TRUE, DAT_TRUE);
}

/* It is flushed at once; when that is reaped it is over. */
CASE(ep_get_status, send_when_disconnected)
{
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});

        ep_turn_leave(t, &loop);
        post_sends(t, loop.active, 1);
        must_be_flushed(t, ep_request_evd(t, loop.active), 1);

        expect_idle(t, loop.active, DAT_TRUE, DAT_TRUE);
}

/*
 * What the call leaves as it was
 */

CASE(ep_get_status, takes_nothing)
{
        struct loop loop = transfer_with(t);

        post_recvs(t, loop.passive, POSTS);
        post_sends(t, loop.active, POSTS);
        must(dat_ep_disconnect(loop.active, DAT_CLOSE_GRACEFUL_FLAG));
        for (int i = 0; i < MANY; i++) {
                status_of(t, loop.active);
                status_of(t, loop.passive);
        }

        for (uint64_t i = 0; i < POSTS; i++) {
                expect_completion(ep_recv_evd(t, loop.passive), loop.passive, i, MESSAGE, 0);
                expect_completion(ep_request_evd(t, loop.active), loop.active, i, MESSAGE, 0);
        }
        expect_event(ep_connect_evd(t, loop.active), DAT_CONNECTION_EVENT_DISCONNECTED);
        expect_event(ep_connect_evd(t, loop.passive), DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* Each of the three results stands last before a guard. */
CASE(ep_get_status, within_results)
{
        DAT_EP_HANDLE ep = ep_with(t);
        struct buf *state = buf_with(t, .length = sizeof(DAT_EP_STATE));
        struct buf *recv = buf_with(t, .length = sizeof(DAT_BOOLEAN));
        struct buf *request = buf_with(t, .length = sizeof(DAT_BOOLEAN));

        expect(dat_ep_get_status(ep, (DAT_EP_STATE *)(void *)state->addr,
                                 (DAT_BOOLEAN *)(void *)recv->addr,
                                 (DAT_BOOLEAN *)(void *)request->addr),
               DAT_SUCCESS);
        release(t, request->lmr);
        release(t, recv->lmr);
        release(t, state->lmr);
}

struct asking {
        DAT_EP_HANDLE ep;
        struct status answers[ROW];
};

static DAT_RETURN ask_in_a_row(void *arg)
{
        struct asking *asking = arg;
        DAT_RETURN ret = DAT_SUCCESS;

        for (int i = 0; i < ROW && dat_is(ret, DAT_SUCCESS); i++) {
                struct status *answer = &asking->answers[i];

                ret = dat_ep_get_status(asking->ep, &answer->state, &answer->recv_idle,
                                        &answer->request_idle);
        }
        return ret;
}

static void check_answers(struct test *t, const struct asking *asking, bool connected)
{
        for (int i = 0; i < ROW; i++) {
                expect_eq(plain_ep_state(asking->answers[i].state),
                          connected ? DAT_EP_STATE_CONNECTED : DAT_EP_STATE_UNCONNECTED);
                expect_eq(asking->answers[i].recv_idle, DAT_TRUE);
                expect_eq(asking->answers[i].request_idle, connected ? DAT_FALSE : DAT_TRUE);
        }
}

CASE(ep_get_status, any_thread)
{
        struct loop loop = transfer_with(t);
        DAT_EP_HANDLE eps[] = {ep_with(t), loop.active};
        struct stress stress = stress_of(t, 500);

        post_sends(t, loop.active, 1);
        while (stress.met < MET && stress_round(&stress)) {
                struct asking askings[THREADS];
                struct racer racers[THREADS];

                memset(askings, 0xa5, sizeof(askings));
                for (int i = 0; i < THREADS; i++) {
                        askings[i].ep = eps[i % 2];
                        racers[i] = (struct racer){.call = ask_in_a_row, .arg = &askings[i]};
                }
                stress_met(&stress, race(racers, THREADS));
                for (int i = 0; i < THREADS; i++) {
                        expect(racers[i].ret, DAT_SUCCESS);
                        check_answers(t, &askings[i], i % 2);
                }
        }
        must_have_met(&stress);
}

LEGAL(ep_get_status)
{
        static struct status status;

        call->ep_handle = ep_with(t);
        call->ep_state = &status.state;
        call->recv_idle = &status.recv_idle;
        call->request_idle = &status.request_idle;
}
