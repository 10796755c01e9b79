/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_get_status: whether receives are outstanding. */
#include "case/standard.h"
#include "cases/ep/ep_get_status/fixtures.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"
#include "clauses/ep_get_status.h"

#include <string.h>

/* Where the EP is, or comes to be, Disconnected, the receive is flushed. */
FAMILY(ep_get_status, recv_in_state, consumer_ep_states)
{
        EACH_EP_ROUTE (route, row->state) {
                DAT_EP_HANDLE ep = ep_by(t, route);
                bool ends = row->state == DAT_EP_STATE_DISCONNECTED;

                ep_get_status_post_recvs(t, ep, 1);
                if (ends)
                        must_be_flushed(t, ep_recv_evd(t, ep), 1);
                struct status status = status_of(t, ep);

                if (row->state == DAT_EP_STATE_DISCONNECT_PENDING &&
                    status.state == DAT_EP_STATE_DISCONNECTED)
                        continue;
                expect_eq(status.recv_idle, ends ? DAT_TRUE : DAT_FALSE);
        }
}

/* It is the provider's, and has its zone and its EVD from the consumer. */
CASE(ep_get_status, recv_in_tentative)
{
        struct loop loop = {
            .requests = evd_with(t, .flags = DAT_EVD_CR_FLAG),
            .active = ep_with(t),
        };
        DAT_EP_PARAM with = {.pz_handle = pz(t), .recv_evd_handle = evd_with(t)};
        DAT_EP_HANDLE ep;

        loop_listen(t, loop.requests, DAT_PSP_PROVIDER_FLAG, &loop.qual);
        loop_connect(t, loop.active, loop.qual);
        loop_take_request(t, &loop);
        ep = request_ep(t, loop.request);
        must(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE, &with));
        ep_get_status_post_recvs(t, ep, 1);
        expect_eq(status_of(t, ep).state, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
        expect_idle(t, ep, DAT_FALSE, DAT_TRUE);
        must(dat_cr_reject(loop.request));
}

CASE(ep_get_status, recvs_reaped)
{
        struct loop loop = transfer_with(t);

        ep_get_status_post_recvs(t, loop.passive, POSTS);
        for (int i = 0; i < POSTS; i++) {
                expect_idle(t, loop.passive, DAT_FALSE, DAT_TRUE);
                post_sends(t, loop.active, 1);
                must_dto(ep_recv_evd(t, loop.passive));
        }
        expect_idle(t, loop.passive, DAT_TRUE, DAT_TRUE);
        ep_get_status_post_recvs(t, loop.passive, 1);
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
                ep_get_status_post_recvs(t, ep, 1);
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

        ep_get_status_post_recvs(t, loop.passive, POSTS);
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

        ep_get_status_post_recvs(t, loop.passive, POSTS);
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

        loop_join_either(t, &loop);
        srq_post(t, srq, buf_with(t), MESSAGE, 0, 1);
        post_sends(t, loop.active, 1);
        must_dto(ep_recv_evd(t, loop.passive));

        expect_idle(t, loop.passive, DAT_TRUE, DAT_TRUE);
}

FAMILY(ep_get_status, recv_of_other, places)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        DAT_EP_HANDLE eps[] = {ep_with(t, .recv_evd = evd), ep_with(t, .recv_evd = evd)};

        ep_get_status_post_recvs(t, eps[row->busy], 1);

        expect_idle(t, eps[row->busy], DAT_FALSE, DAT_TRUE);
        expect_idle(t, eps[!row->busy], DAT_TRUE, DAT_TRUE);
}

CASE(ep_get_status, recv_refused)
{
        DAT_EP_HANDLE ep = ep_with(t);
        DAT_LMR_TRIPLET beyond = triplet(buf_with(t), 0, (size_t)1 << 20);

        if (dat_is(dat_ep_post_recv(ep, 1, &beyond, COOKIE(0), DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_SUCCESS))
                end_noted(t, "a receive into memory that is not registered was taken, which may "
                             "fail later: none was refused");

        expect_idle(t, ep, DAT_TRUE, DAT_TRUE);
}
