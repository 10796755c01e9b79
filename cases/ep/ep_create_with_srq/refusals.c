/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_create_with_srq: invalid arguments, refused calls, and calls of several threads. */
#include "cases/ep/ep_create_with_srq/fixtures.h"
#include "cases/ep/shared/creation.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ep_create_with_srq.h"

#include <string.h>

#define MET     3 /* rounds in which their calls met are enough */
#define THREADS 3 /* that make EPs at once */

static void ask_too_many(struct test *t, struct ep_creation *with)
{
        with->param.ep_attr.max_rdma_read_iov = ia_attr(t)->max_iov_segments_per_rdma_read + 1;
}

static void ask_bad_pz(struct test *t, struct ep_creation *with)
{
        (void)t;
        with->pz = with->srq;
}

static const struct refusal {
        const char *id;
        void (*spoil)(struct test *t, struct ep_creation *with);
} refusals[] = {
    {"negative", ask_negative},
    {"too_many", ask_too_many},
    {"unknown_flag", ask_unknown_flag},
    {"other_stream", ask_other_stream},
    {"connect_evd_no_evd", ask_bad_evd},
    {"mixed_flags", ask_mixed_flags},
    {"pz_no_pz", ask_bad_pz},
    {"room_for_all", ask_greatest_room},
};

/* The next EP has what it asks for; when it is gone, nothing uses what the refused ones named. */
FAMILY(ep_create_with_srq, after_refusals, refusals)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct ep_creation good = ep_create_with_srq_arguments_of(t, ia(t), zone);
        DAT_HANDLE named[4] = {good.srq, good.recv_evd, good.request_evd, good.connect_evd};
        struct ep_creation bad = good;

        row->spoil(t, &bad);
        for (int i = 0; i < LIMIT_OF_REFUSALS; i++) {
                DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

                if (dat_is(ep_creation_call(&bad, &ep), DAT_SUCCESS)) {
                        ep_creation_adopt(t, &bad, ep);
                        end_noted(t, "granted: there is nothing to see after a refusal");
                }
        }
        DAT_EP_HANDLE ep = ep_created(t, &good);
        expect_eq(plain_ep_state(ep_described(t, ep).ep_state), DAT_EP_STATE_UNCONNECTED);
        release(t, ep);

        for (int i = 0; i < 4; i++)
                disown(t, named[i]);
        disown(t, zone);
        expect(dat_srq_free(good.srq), DAT_SUCCESS);
        expect(dat_evd_free(good.recv_evd), DAT_SUCCESS);
        expect(dat_evd_free(good.request_evd), DAT_SUCCESS);
        expect(dat_evd_free(good.connect_evd), DAT_SUCCESS);
        expect(dat_pz_free(zone), DAT_SUCCESS);
}

static const struct one_more {
        const char *id;
        bool connected; /* an EP of the SRQ is connected before */
        bool refused;
} one_more[] = {
    {"first", false, false},
    {"second", true, false},
    {"first_refused", false, true},
    {"second_refused", true, true},
};

/* The SRQ keeps its mark armed, its receives and its places. */
FAMILY(ep_create_with_srq, leaves_srq, one_more)
{
        struct armed armed = row->connected ? armed_with(t, 4, 4) : queue_armed(t, 4, 4);
        DAT_SRQ_PARAM before = srq_param(t, armed.queue.srq);
        struct ep_creation with = ep_create_with_srq_arguments(t);
        DAT_EP_HANDLE none = DAT_HANDLE_NULL;

        expect_that(before.max_recv_dtos >= 8, "an SRQ made for 8 receives has %d",
                    before.max_recv_dtos);
        with.srq = armed.queue.srq;
        if (row->refused) {
                with.param.ep_attr.max_request_dtos = -1;
                expect(ep_creation_call(&with, &none), DAT_INVALID_PARAMETER);
        } else {
                ep_created(t, &with);
        }
        expect_quiet(async_evd(t));
        expect_kept(t, armed.queue.srq, &before);

        if (!row->connected)
                armed.flow = flow_open(t, &armed.queue, DAT_HANDLE_NULL);
        flow_deliver(t, &armed.flow, 1);
        expect_mark_event(t, &armed);
        expect_quiet(async_evd(t));
        expect_messages(t, &armed.queue, &armed.flow, 1);
        expect_room(t, &armed.queue, before.max_recv_dtos - 3);
}

/* EVDs, zone and SRQ are the same for all. */
CASE(ep_create_with_srq, any_thread, DEADLINE_MS(20000))
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        struct stress stress = stress_of(t, 3000);

        while (stress.met < MET && stress_round(&stress)) {
                struct ep_thread_creation creations[THREADS];
                struct racer racers[THREADS];

                for (int i = 0; i < THREADS; i++) {
                        creations[i] = (struct ep_thread_creation){.with = with};
                        creations[i].with.param.ep_attr.max_recv_dtos = 2 + i;
                        racers[i] = (struct racer){.call = ep_thread_create, .arg = &creations[i]};
                }
                stress_met(&stress, race(racers, THREADS));
                for (int i = 0; i < THREADS; i++) {
                        expect(racers[i].ret, DAT_SUCCESS);
                        ep_creation_adopt(t, &with, creations[i].ep);
                }
                for (int i = 0; i < THREADS; i++) {
                        DAT_EP_PARAM param = ep_described(t, creations[i].ep);

                        expect_eq(param.ep_attr.max_recv_dtos, 2 + i);
                        expect_that(param.srq_handle == with.srq, "the EP has another SRQ");
                }
                for (int i = 0; i < THREADS; i++)
                        release(t, creations[i].ep);
        }
        must_have_met(&stress);
}

LEGAL(ep_create_with_srq)
{
        static struct ep_creation with;

        with = ep_create_with_srq_arguments(t);
        call->ia_handle = with.ia;
        call->pz_handle = with.pz;
        call->recv_evd_handle = with.recv_evd;
        call->request_evd_handle = with.request_evd;
        call->connect_evd_handle = with.connect_evd;
        call->srq_handle = with.srq;
        call->ep_attributes = &with.param.ep_attr;
}
