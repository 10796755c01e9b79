/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_create: refused calls, and calls of several threads. */
#include "case/standard.h"
#include "cases/ep/ep_create/fixtures.h"
#include "cases/ep/shared/creation.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "clauses/ep_create.h"

#define THREADS 3  /* that make EPs at once */
#define MET     3  /* rounds in which their calls met are enough */
#define REFUSED 64 /* calls in a row */
#define OTHERS  3  /* EPs that are connected while the next is made */

static void ask_too_many(struct test *t, struct ep_creation *with)
{
        with->param.ep_attr.max_recv_iov = ia_attr(t)->max_iov_segments_per_dto + 1;
}

static const struct refusal {
        const char *id;
        void (*spoil)(struct test *t, struct ep_creation *with);
} refusals[] = {
    {"negative", ask_negative},          {"too_many", ask_too_many},
    {"unknown_flag", ask_unknown_flag},  {"other_stream", ask_other_stream},
    {"mixed_flags", ask_mixed_flags},    {"connect_evd_no_evd", ask_bad_evd},
    {"room_for_all", ask_greatest_room},
};

/* The next EP has what it asks for; when it is gone, nothing uses what the refused ones named. */
FAMILY(ep_create, after_refusals, refusals)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct ep_creation good = ep_create_arguments_of(t, ia(t), zone);
        DAT_HANDLE evds[] = {good.recv_evd, good.request_evd, good.connect_evd};
        struct ep_creation bad = good;

        row->spoil(t, &bad);
        for (int i = 0; i < REFUSED; i++) {
                DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

                if (dat_is(ep_creation_call(&bad, &ep), DAT_SUCCESS)) {
                        ep_creation_adopt(t, &bad, ep);
                        end_noted(t, "granted: there is nothing to see after a refusal");
                }
        }
        release(t, ep_created(t, &good));

        for (int i = 0; i < 3; i++) {
                expect(dat_evd_free(evds[i]), DAT_SUCCESS);
                disown(t, evds[i]);
        }
        expect(dat_pz_free(zone), DAT_SUCCESS);
        disown(t, zone);
}

/* Of EPs in two zones, each is connected while the next is made, and one more refused. */
CASE(ep_create, beside_others)
{
        DAT_PZ_HANDLE zones[2] = {pz(t), pz_new(t)};
        struct ep_creation with[OTHERS];
        struct loop loops[OTHERS];

        for (int i = 0; i < OTHERS; i++) {
                struct ep_creation bad;
                DAT_EP_HANDLE none = DAT_HANDLE_NULL;
                DAT_EP_HANDLE other = plain_end(t);

                with[i] = ep_create_arguments_of(t, ia(t), zones[i % 2]);
                loops[i] = expect_joined(t, other, ep_created(t, &with[i]));
                bad = with[i];
                ask_negative(t, &bad);
                expect(ep_creation_call(&bad, &none), DAT_INVALID_PARAMETER);
        }
        for (int i = 0; i < OTHERS; i++) {
                struct vector here = vector_with(t, .length = MESSAGE, .buf.pz = with[i].pz);
                struct vector there = vector_with(t, .length = MESSAGE);
                const struct loop *loop = &loops[i];
                uint64_t cookie = 10 + (uint64_t)i;

                vector_fill(t, &there, cookie);
                expect(recv_vector(loop->passive, &here, cookie, DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
                must(send_vector(loop->active, &there, 1, DAT_COMPLETION_DEFAULT_FLAG));
                expect_completion(with[i].recv_evd, loop->passive, cookie, MESSAGE, 0);
                expect_holds(&here, cookie, MESSAGE);
                must(recv_vector(loop->active, &there, 1, DAT_COMPLETION_DEFAULT_FLAG));
                expect(send_vector(loop->passive, &here, cookie, DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
                expect_completion(with[i].request_evd, loop->passive, cookie, MESSAGE, 0);
        }
        for (int i = 0; i < OTHERS; i++) {
                DAT_EVENT event;

                must(dat_ep_disconnect(loops[i].active, DAT_CLOSE_ABRUPT_FLAG));
                event = expect_event(with[i].connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
                expect_that(event.event_data.connect_event_data.ep_handle == loops[i].passive,
                            "the event names another EP");
        }
}

/* EVDs and zone are the same for all. */
CASE(ep_create, any_thread, DEADLINE_MS(20000))
{
        struct ep_creation with = ep_create_arguments(t);
        struct stress stress = stress_of(t, 3000);

        while (stress.met < MET && stress_round(&stress)) {
                struct ep_thread_creation creations[THREADS];
                struct racer racers[THREADS];

                for (int i = 0; i < THREADS; i++) {
                        creations[i] = (struct ep_thread_creation){.with = with};
                        creations[i].with.param.ep_attr.max_message_size = 1000 + (DAT_VLEN)i;
                        racers[i] = (struct racer){.call = ep_thread_create, .arg = &creations[i]};
                }
                stress_met(&stress, race(racers, THREADS));
                for (int i = 0; i < THREADS; i++) {
                        expect(racers[i].ret, DAT_SUCCESS);
                        ep_creation_adopt(t, &with, creations[i].ep);
                }
                for (int i = 0; i < THREADS; i++)
                        expect_eq(ep_described(t, creations[i].ep).ep_attr.max_message_size,
                                  1000 + i);
                for (int i = 0; i < THREADS; i++)
                        release(t, creations[i].ep);
        }
        must_have_met(&stress);
}

LEGAL(ep_create)
{
        static struct ep_creation with;

        with = ep_create_arguments(t);
        call->ia_handle = with.ia;
        call->pz_handle = with.pz;
        call->recv_completion_evd_handle = with.recv_evd;
        call->request_completion_evd_handle = with.request_evd;
        call->connect_evd_handle = with.connect_evd;
        call->ep_attributes = &with.param.ep_attr;
}
