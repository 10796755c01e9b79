/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_get_status: whether requests are outstanding. */
#include "case/standard.h"
#include "case/transport.h"
#include "cases/ep/ep_get_status/fixtures.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"
#include "clauses/ep_get_status.h"

#include <string.h>

#define LATE_MS  100 /* what the peer's host sends */
#define TRIES    5
#define LASTING  ((size_t)1 << 22) /* bytes */
#define IN_A_ROW 4                 /* requests of so many bytes */

/* Each send goes when the other end has a receive for it, and not before. */
CASE(ep_get_status, sends_reaped)
{
        struct loop loop = transfer_with(t);

        post_sends(t, loop.active, POSTS);
        for (int i = 0; i < POSTS; i++) {
                expect_idle(t, loop.active, DAT_TRUE, DAT_FALSE);
                ep_get_status_post_recvs(t, loop.passive, 1);
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

        ep_get_status_post_recvs(t, loop.passive, 1);
        must(work_post(loop.active, row->work, &vector, vector_remote(&there)));
        must_dto(ep_request_evd(t, loop.active));

        expect_idle(t, loop.active, DAT_TRUE, DAT_TRUE);
}

CASE(ep_get_status, bind_reaped)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
        struct loop loop = transfer_with(t, .request_evd = evd);

        post_bind(t, loop.active, 0);
        must_event(evd, DAT_RMR_BIND_COMPLETION_EVENT);

        expect_idle(t, loop.active, DAT_TRUE, DAT_TRUE);
}

/* The send behind it waits for a receive: what is reaped of the bind is not the send's. */
CASE(ep_get_status, bind_reaped_before_send)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
        struct loop loop = transfer_with(t, .request_evd = evd);

        ep_get_status_post_recvs(t, loop.active, 1);
        post_bind(t, loop.active, 0);
        post_sends(t, loop.active, 1);
        must_event(evd, DAT_RMR_BIND_COMPLETION_EVENT);
        expect_idle(t, loop.active, DAT_FALSE, DAT_FALSE);
        ep_get_status_post_recvs(t, loop.passive, 1);
        must_event(evd, DAT_DTO_COMPLETION_EVENT);
        expect_idle(t, loop.active, DAT_FALSE, DAT_TRUE);

        post_sends(t, loop.active, 1);
        post_bind(t, loop.active, 1);
        must(dat_ep_disconnect(loop.active, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, loop.active), DAT_CONNECTION_EVENT_DISCONNECTED);
        must_event(evd, DAT_DTO_COMPLETION_EVENT);
        must_event(evd, DAT_RMR_BIND_COMPLETION_EVENT);
        must_be_flushed(t, ep_recv_evd(t, loop.active), 1);
        expect_idle(t, loop.active, DAT_TRUE, DAT_TRUE);
}

/* The EVD is empty after the answer, so the DTO was not complete when the call was made. */
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

static const struct worker lasting[] = {
    {"rdma_write", WORK_WRITE},
    {"rdma_read", WORK_READ},
};

/* A request of so many bytes lasts longer than the call. */
static size_t length_that_lasts(struct test *t)
{
        DAT_VLEN most = ia_attr(t)->max_rdma_size;

        return most < LASTING ? (size_t)most : LASTING;
}

/* Requests in a row, of which so many were reaped. */
struct row_of_requests {
        struct loop loop;
        enum work work;
        struct vector here;
        struct vector there;
        struct status status; /* that was told before the last look at the EVD */
        int reaped;
};

static void reap_present(struct test *t, struct row_of_requests *row, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;

        while (row->reaped < IN_A_ROW && event_left(t, evd, &event))
                row->reaped++;
}

/* Whether the last one was outstanding at the call, and at one more call. */
static bool told_under_way(struct test *t, struct row_of_requests *row)
{
        DAT_EVD_HANDLE evd = ep_request_evd(t, row->loop.active);

        row->status = status_of(t, row->loop.active);
        reap_present(t, row, evd);
        if (row->reaped == IN_A_ROW)
                return false;
        status_of(t, row->loop.active);
        reap_present(t, row, evd);
        return row->reaped < IN_A_ROW;
}

static void post_in_a_row(struct test *t, struct row_of_requests *row)
{
        row->reaped = 0;
        for (int i = 0; i < IN_A_ROW; i++)
                must(
                    work_post(row->loop.active, row->work, &row->here, vector_remote(&row->there)));
}

/*
 * The requests go when the send before them has found a receive. Soft-RoCE completes those that
 * wait for nothing in their posts; iWARP has no send that waits.
 */
static bool seen_behind_send(struct test *t, struct row_of_requests *row)
{
        bool seen;

        if (host_is_iwarp())
                return false;
        post_sends(t, row->loop.active, 1);
        post_in_a_row(t, row);
        ep_get_status_post_recvs(t, row->loop.passive, 1);
        must_dto(ep_request_evd(t, row->loop.active));
        seen = told_under_way(t, row);
        must_dto(ep_recv_evd(t, row->loop.passive));
        return seen;
}

FAMILY(ep_get_status, long_request, lasting)
{
        size_t length = length_that_lasts(t);
        struct row_of_requests it = {
            .loop =
                transfer_with(t, .reads = row->work == WORK_READ ? IN_A_ROW : 0, .most = length),
            .work = row->work,
            .here = vector_with(t, .length = length),
            .there = vector_with(t, .length = length),
        };
        bool seen;

        post_in_a_row(t, &it);
        seen = told_under_way(t, &it);
        for (int i = 0; i < TRIES && !seen; i++)
                seen = seen_behind_send(t, &it);
        if (!seen)
                end_noted(t, "requests of %zu bytes were complete at once", length);
        expect_eq(it.status.request_idle, DAT_FALSE);
        expect_eq(it.status.recv_idle, DAT_TRUE);
        for (int i = it.reaped; i < IN_A_ROW; i++)
                must_dto(ep_request_evd(t, it.loop.active));
        expect_idle(t, it.loop.active, DAT_TRUE, DAT_TRUE);
}

/* Of each kind, where the IA has reads. */
CASE(ep_get_status, requests_flushed)
{
        DAT_COUNT reads =
            ia_attr(t)->max_rdma_read_per_ep_out > 0 && ia_attr(t)->max_rdma_read_per_ep_in > 0;
        struct loop loop = transfer_with(t, .reads = reads);
        struct vector vector = vector_with(t, .length = MESSAGE);
        struct vector there = vector_with(t, .length = MESSAGE);

        post_sends(t, loop.active, 1);
        must(work_post(loop.active, WORK_WRITE, &vector, vector_remote(&there)));
        if (reads)
                must(work_post(loop.active, WORK_READ, &vector, vector_remote(&there)));
        must(dat_ep_disconnect(loop.active, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, loop.active), DAT_CONNECTION_EVENT_DISCONNECTED);
        must_be_flushed(t, ep_request_evd(t, loop.active), 2 + reads);

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
        ep_get_status_post_recvs(t, loop.passive, 2);
        must_dto(ep_request_evd(t, loop.active));

        expect_idle(t, loop.active, DAT_TRUE, DAT_TRUE);
}

/* An unsignalled send, which its successor's completion brings along. */
CASE(ep_get_status, send_unsignalled)
{
        struct loop loop = transfer_with(t, .request_flags = DAT_COMPLETION_UNSIGNALLED_FLAG);
        struct vector vector = vector_with(t, .length = MESSAGE);

        ep_get_status_post_recvs(t, loop.passive, 2);
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

static const struct unreaped {
        const char *id;
        bool receives; /* the unreaped completion is of a receive */
        bool own;      /* and of the same EP */
} unreaped[] = {
    {"receive_of_other", true, false},
    {"send_of_other", false, false},
    {"send_of_its_own", false, true},
};

/* The unreaped completion is no receive of the EP. */
static void expect_idle_beside(struct test *t, const struct unreaped *row, DAT_CNO_HANDLE cno)
{
        DAT_EVD_HANDLE evd = evd_with(t, .cno = cno);
        const struct ep_opts sharing = {
            .recv_evd = row->receives || row->own ? evd : DAT_HANDLE_NULL,
            .request_evd = row->receives ? DAT_HANDLE_NULL : evd,
        };
        const struct ep_opts apart = {.attr = NULL};
        struct loop loops[2];

        for (int i = 0; i < 2; i++) {
                loops[i] =
                    loop_of(t, row->receives ? apart : sharing, row->receives ? sharing : apart);
                loop_join_either(t, &loops[i]);
        }
        ep_get_status_post_recvs(t, loops[0].passive, 1);
        post_sends(t, loops[0].active, 1);
        if (row->receives)
                must_dto(ep_request_evd(t, loops[0].active));
        else
                must_dto(ep_recv_evd(t, loops[0].passive));
        settle_briefly(t);

        expect_idle(t, row->receives ? loops[1].passive : loops[1].active, DAT_TRUE, DAT_TRUE);
        if (row->own)
                expect_eq(status_of(t, loops[0].active).recv_idle, DAT_TRUE);
        must_dto(evd);
}

/* Whether the EVD has a CNO or not. */
FAMILY(ep_get_status, unreaped, unreaped)
{
        expect_idle_beside(t, row, DAT_HANDLE_NULL);
        expect_idle_beside(t, row, cno_new(t));
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
        DAT_RETURN ret;

        post_sends(t, loop.active, 1);
        must(dat_ep_disconnect(loop.active, DAT_CLOSE_GRACEFUL_FLAG));
        ret = send_vector(loop.active, &vector, 1, DAT_COMPLETION_DEFAULT_FLAG);
        /* One that did not wait takes it, for it is Disconnected. */
        must_that_of("dat_ep_disconnect",
                     !dat_is(ret, DAT_SUCCESS) ||
                         ep_snapshot(t, loop.active).param.ep_state != DAT_EP_STATE_DISCONNECTED,
                     "a graceful disconnect did not wait for a send, and the next one was taken");
        must_that_of("dat_ep_post_send", !dat_is(ret, DAT_SUCCESS),
                     "an EP that waits for its end took a send");
        expect_idle(t, loop.active, DAT_TRUE, DAT_FALSE);
        ep_get_status_post_recvs(t, loop.passive, 1);
        must_dto(ep_request_evd(t, loop.active));

        expect_idle(t, loop.active, DAT_TRUE, DAT_TRUE);
}

/* Of both kinds something is under way, at each end. */
static void expect_work_told(struct test *t, const struct loop *loop)
{
        ep_get_status_post_recvs(t, loop->active, 1);
        expect_idle(t, loop->active, DAT_FALSE, DAT_TRUE);
        post_sends(t, loop->active, 1);
        expect_idle(t, loop->active, DAT_FALSE, DAT_FALSE);
        expect_idle(t, loop->passive, DAT_TRUE, DAT_TRUE);
        ep_get_status_post_recvs(t, loop->passive, 1);
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

/* All are there, and one of them is taken. */
static void must_wait_for_flushed(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;
        DAT_COUNT more;

        must(dat_evd_wait(evd, event_timeout(t), POSTS, &event, &more));
}

/*
 * After a reset there is nothing left, whatever became of the completions: reaped before it, or
 * after it where it did not lose them.
 */
CASE(ep_get_status, after_reset)
{
        for (int reaped = 1; reaped >= 0; reaped--) {
                struct loop loop = transfer_with(t);
                DAT_EVD_HANDLE evds[] = {ep_recv_evd(t, loop.active),
                                         ep_request_evd(t, loop.active)};

                ep_get_status_post_recvs(t, loop.active, POSTS);
                post_sends(t, loop.active, POSTS);
                must(dat_ep_disconnect(loop.active, DAT_CLOSE_ABRUPT_FLAG));
                must_event(ep_connect_evd(t, loop.active), DAT_CONNECTION_EVENT_DISCONNECTED);
                for (int i = 0; i < 2; i++)
                        if (reaped)
                                must_be_flushed(t, evds[i], POSTS);
                        else
                                must_wait_for_flushed(t, evds[i]);
                must(dat_ep_reset(loop.active));
                for (int i = 0; i < 2; i++)
                        drain_evd(t, evds[i]);
                expect_idle(t, loop.active, DAT_TRUE, DAT_TRUE);
                ep_get_status_post_recvs(t, loop.active, 1);

                expect_idle(t, loop.active, DAT_FALSE, DAT_TRUE);
        }
}

/* Of the two ends, the one that accepted. */
CASE(ep_get_status, sends_of_passive)
{
        struct loop loop = transfer_with(t);

        post_sends(t, loop.passive, 1);
        expect_idle(t, loop.passive, DAT_TRUE, DAT_FALSE);
        expect_idle(t, loop.active, DAT_TRUE, DAT_TRUE);
        ep_get_status_post_recvs(t, loop.active, 1);
        must_dto(ep_request_evd(t, loop.passive));

        expect_idle(t, loop.passive, DAT_TRUE, DAT_TRUE);
}

CASE(ep_get_status, sends_of_srq)
{
        struct loop loop = loop_of(t, (struct ep_opts){.srq = srq_with(t)}, (struct ep_opts){0});

        loop_join_either(t, &loop);
        expect_eq(status_of(t, loop.active).state, DAT_EP_STATE_CONNECTED);
        post_sends(t, loop.active, 1);

        expect_idle(t, loop.active, DAT_TRUE, DAT_FALSE);
}

/* What is reaped of the one kind says nothing of the other. */
CASE(ep_get_status, recv_reaped_beside_send)
{
        struct loop loop = transfer_with(t);

        ep_get_status_post_recvs(t, loop.active, 1);
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
        loop_join_either(t, &loop);
        for (int i = 0; i < BYTES; i++) {
                struct status status;

                post_sends(t, loop.active, 1);
                status = status_of(t, loop.active);
                if (status.state != DAT_EP_STATE_CONNECTED)
                        end_if_given_up(t, loop.active);
                expect_eq(status.recv_idle, DAT_TRUE);
                expect_eq(status.request_idle, DAT_FALSE);
        }
}

/* The end that did nothing for it. */
CASE(ep_get_status, flushed_by_other_end)
{
        struct loop loop = transfer_with(t);

        ep_get_status_post_recvs(t, loop.passive, POSTS);
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

        ep_get_status_post_recvs(t, ep, 1);
        must(dat_ep_reset(ep));

        expect_idle(t, ep, DAT_FALSE, DAT_TRUE);
}

/* The receive that was taken before stands. */
CASE(ep_get_status, recv_refused_beside_another)
{
        DAT_EP_HANDLE ep = ep_with(t);
        DAT_LMR_TRIPLET beyond = triplet(buf_with(t), 0, (size_t)1 << 20);

        ep_get_status_post_recvs(t, ep, 1);
        if (dat_is(dat_ep_post_recv(ep, 1, &beyond, COOKIE(1), DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_SUCCESS))
                end_noted(t, "a receive into memory that is not registered was taken, which may "
                             "fail later: none was refused");

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
