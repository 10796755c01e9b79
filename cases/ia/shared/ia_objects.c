/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ia/shared/ia_objects.h"

#include <string.h>

#define SRQ_SIZE 8
#define POSTED   3

void hold_evd(struct test *t, struct held *held)
{
        held->type = DAT_HANDLE_TYPE_EVD;
        held->handle = held->evd = se_evd(t, DAT_HANDLE_NULL);
}

void check_evd(struct test *t, struct held *held)
{
        expect(dat_evd_post_se(held->evd, &(DAT_EVENT){.event_number = DAT_SOFTWARE_EVENT}),
               DAT_SUCCESS);
        expect_event(held->evd, DAT_SOFTWARE_EVENT);
}

void hold_async_evd(struct test *t, struct held *held)
{
        held->type = DAT_HANDLE_TYPE_EVD;
        held->handle = held->evd = evd_with(t, .flags = DAT_EVD_ASYNC_FLAG);
}

void check_async_evd(struct test *t, struct held *held)
{
        DAT_EVD_PARAM param;

        memset(&param, 0, sizeof(param));
        expect(dat_evd_query(held->evd, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS);
        expect_eq(param.evd_flags, DAT_EVD_ASYNC_FLAG);
}

void hold_events(struct test *t, struct held *held)
{
        hold_evd(t, held);
        post_ses(t, held->evd, 0, POSTED);
}

void check_events(struct test *t, struct held *held)
{
        expect_ses(t, held->evd, 0, POSTED);
}

void hold_cno(struct test *t, struct held *held)
{
        held->type = DAT_HANDLE_TYPE_CNO;
        held->handle = cno_new(t);
}

/* An EVD that feeds the CNO. */
static DAT_EVD_HANDLE feeds(struct test *t, struct held *held)
{
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

        expect(dat_evd_create(ia(t), SE_QLEN, held->handle, DAT_EVD_SOFTWARE_FLAG, &evd),
               DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_EVD, evd);
        expect(dat_evd_enable(evd), DAT_SUCCESS);
        expect(dat_evd_post_se(evd, &(DAT_EVENT){.event_number = DAT_SOFTWARE_EVENT}), DAT_SUCCESS);
        return evd;
}

void check_cno(struct test *t, struct held *held)
{
        expect_notified(t, held->handle, feeds(t, held));
}

void hold_agent(struct test *t, struct held *held)
{
        held->type = DAT_HANDLE_TYPE_CNO;
        held->agent = agent_new(t);
        held->handle = cno_with(t, held->agent);
}

void check_agent(struct test *t, struct held *held)
{
        expect_called(t, held->agent, feeds(t, held));
}

void hold_zone(struct test *t, struct held *held)
{
        held->type = DAT_HANDLE_TYPE_PZ;
        held->handle = pz_new(t);
}

void check_zone(struct test *t, struct held *held)
{
        DAT_PZ_PARAM param;

        memset(&param, 0, sizeof(param));
        expect(dat_pz_query(held->handle, DAT_PZ_FIELD_ALL, &param), DAT_SUCCESS);
        expect_that(param.ia_handle == ia(t), "the zone is of another IA");
}

void hold_lmr(struct test *t, struct held *held)
{
        struct buf *buf = buf_with(t);

        held->type = DAT_HANDLE_TYPE_LMR;
        held->handle = buf->lmr;
        held->context = buf->lmr_context;
}

void check_lmr(struct test *t, struct held *held)
{
        DAT_LMR_PARAM param;

        memset(&param, 0, sizeof(param));
        expect(dat_lmr_query(held->handle, DAT_LMR_FIELD_ALL, &param), DAT_SUCCESS);
        expect_eq(param.lmr_context, held->context);
}

void hold_rmr(struct test *t, struct held *held)
{
        DAT_RMR_HANDLE made = DAT_HANDLE_NULL;

        must(dat_rmr_create(pz(t), &made));
        adopt(t, DAT_HANDLE_TYPE_RMR, made);
        held->type = DAT_HANDLE_TYPE_RMR;
        held->handle = made;
}

void check_rmr(struct test *t, struct held *held)
{
        DAT_RMR_PARAM param;

        memset(&param, 0, sizeof(param));
        expect(dat_rmr_query(held->handle, DAT_RMR_FIELD_PZ_HANDLE, &param), DAT_SUCCESS);
        expect_that(param.pz_handle == pz(t), "the RMR is of another zone");
}

void hold_ep(struct test *t, struct held *held)
{
        held->type = DAT_HANDLE_TYPE_EP;
        held->handle = ep_with(t);
}

static void expect_state(struct test *t, DAT_EP_HANDLE ep, DAT_EP_STATE wanted)
{
        DAT_BOOLEAN recv_idle, request_idle;
        DAT_EP_STATE state;

        expect(dat_ep_get_status(ep, &state, &recv_idle, &request_idle), DAT_SUCCESS);
        expect_eq(plain_ep_state(state), wanted);
}

void check_ep(struct test *t, struct held *held)
{
        struct loop loop = {.active = held->handle};

        expect_state(t, held->handle, DAT_EP_STATE_UNCONNECTED);
        loop.passive = ep_with(t);
        loop.requests = request_evd(t);
        loop_open(t, &loop);
        expect(dat_ep_connect(held->handle, ia_address(t), loop.qual, event_timeout(t), 0, NULL,
                              DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_accepted(t, expect_request(t, loop.requests, loop_point(&loop), loop.qual), &loop);
}

void hold_connection(struct test *t, struct held *held)
{
        held->type = DAT_HANDLE_TYPE_EP;
        held->loop = loop_new(t);
        loop_join(t, &held->loop);
        held->handle = held->loop.active;
}

void check_connection(struct test *t, struct held *held)
{
        expect_state(t, held->loop.active, DAT_EP_STATE_CONNECTED);
        expect_message(t, held->loop.active, held->loop.passive);
        expect_message(t, held->loop.passive, held->loop.active);
}

void hold_psp(struct test *t, struct held *held)
{
        held->type = DAT_HANDLE_TYPE_PSP;
        held->evd = request_evd(t);
        held->handle = loop_listen(t, held->evd, psp_flags_granted(t), &held->qual);
}

void check_psp(struct test *t, struct held *held)
{
        expect_served(t, held->handle, held->qual, held->evd);
}

void hold_rsp(struct test *t, struct held *held)
{
        held->type = DAT_HANDLE_TYPE_RSP;
        held->loop.passive = ep_with(t);
        held->evd = request_evd(t);
        held->handle = rsp_new(t, held->loop.passive, held->evd, &held->qual);
}

void check_rsp(struct test *t, struct held *held)
{
        held->loop.active = ep_with(t);
        loop_connect(t, held->loop.active, held->qual);
        expect_accepted_by(t, expect_request(t, held->evd, held->handle, held->qual),
                           DAT_HANDLE_NULL, &held->loop);
}

void hold_request(struct test *t, struct held *held)
{
        held->type = DAT_HANDLE_TYPE_CR;
        held->loop = loop_new(t);
        loop_ask(t, &held->loop);
        loop_take_request(t, &held->loop);
        held->handle = held->loop.request;
        adopt(t, DAT_HANDLE_TYPE_CR, held->handle);
}

void check_request_held(struct test *t, struct held *held)
{
        disown(t, held->handle);
        expect_accepted(t, held->handle, &held->loop);
}

void hold_srq(struct test *t, struct held *held)
{
        held->type = DAT_HANDLE_TYPE_SRQ;
        held->queue = queue_with(t, SRQ_SIZE);
        queue_post(t, &held->queue, POSTED);
        held->handle = held->queue.srq;
}

void check_srq(struct test *t, struct held *held)
{
        DAT_SRQ_PARAM param;

        memset(&param, 0, sizeof(param));
        expect(dat_srq_query(held->handle, DAT_SRQ_FIELD_ALL, &param), DAT_SUCCESS);
        expect_that(param.max_recv_dtos >= SRQ_SIZE, "the SRQ has %d places", param.max_recv_dtos);
        expect_posts(t, &held->queue, SRQ_SIZE - POSTED);
}

void keep_loaded(struct test *t)
{
        (void)other_ia(t);
}

void hold_evd_waiter(struct test *t, struct held *held)
{
        keep_loaded(t);
        hold_evd(t, held);
        held->waiter = wait_on_evd(t, held->evd, DAT_TIMEOUT_INFINITE, 1);
        must_wait(held->waiter);
}

void check_evd_waiter(struct test *t, struct held *held)
{
        struct woken woken;

        expect_that(is_waiting(held->waiter), "the thread waits no more");
        post_ses(t, held->evd, 1, 1);
        woken = expect_awake(held->waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_se(t, held->evd, &woken.event, 1);
}

void hold_cno_waiter(struct test *t, struct held *held)
{
        keep_loaded(t);
        hold_cno(t, held);
        held->evd = feeding(t, held->handle);
        held->waiter = wait_on_cno(t, held->handle, DAT_TIMEOUT_INFINITE);
        must_wait(held->waiter);
}

void check_cno_waiter(struct test *t, struct held *held)
{
        struct woken woken;

        expect_that(is_waiting(held->waiter), "the thread waits no more");
        post_ses(t, held->evd, 1, 1);
        woken = expect_awake(held->waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_that(woken.evd == held->evd, "the thread gets another EVD");
}

void held_wake(struct test *t, struct held *held)
{
        if (!held->waiter)
                return;
        post_ses(t, held->evd, 1, 1);
        (void)must_awake(held->waiter);
}
