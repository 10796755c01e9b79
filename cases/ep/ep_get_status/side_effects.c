/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_get_status: the call changes nothing. */
#include "case/standard.h"
#include "cases/ep/ep_get_status/fixtures.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"
#include "clauses/ep_get_status.h"

#include <string.h>

#define MANY    100 /* calls */
#define THREADS 4
#define ROW     50 /* calls that a thread makes in a row */
#define MET     20 /* rounds that met are enough */

CASE(ep_get_status, takes_nothing)
{
        struct loop loop = transfer_with(t);

        ep_get_status_post_recvs(t, loop.passive, POSTS);
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
                if (ep_state(t, loop.active) != DAT_EP_STATE_CONNECTED)
                        end_if_given_up(t, loop.active);
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
