/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_create: the EVDs of the EP. */
#include "case/standard.h"
#include "cases/ep/ep_create/fixtures.h"
#include "cases/ep/shared/creation.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"
#include "clauses/ep_create.h"

FAMILY(ep_create, null_evd, ep_no_evd)
{
        struct ep_creation with = ep_create_arguments(t);

        expect_null_evd(t, &with, row);
}

#define UNREPORTED 40 /* messages one after another, more than EP and queues were made for */

/* No completion is reaped, so each of them must make room by itself. */
CASE(ep_create, without_recv_evd)
{
        struct ep_creation with = ep_create_arguments(t);
        struct vector to = vector_with(t, .length = MESSAGE);
        struct vector from = vector_with(t, .length = MESSAGE);
        struct loop loop;

        with.recv_evd = DAT_HANDLE_NULL;
        loop = expect_joined(t, plain_end(t), ep_created_without_evd(t, &with));
        for (uint64_t i = 1; i <= UNREPORTED; i++) {
                vector_fill(t, &from, i);
                expect(recv_vector(loop.passive, &to, i, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
                must(send_vector(loop.active, &from, i, DAT_COMPLETION_DEFAULT_FLAG));
                must_complete(ep_request_evd(t, loop.active), loop.active, i, MESSAGE, 0);
                vector_await(t, &to, i, MESSAGE);
                expect_holds(&to, i, MESSAGE);
        }
        expect_empty(t, with.request_evd);
}

CASE(ep_create, without_request_evd)
{
        struct ep_creation with = ep_create_arguments(t);
        struct vector to = vector_with(t, .length = MESSAGE);
        struct vector from = vector_with(t, .length = MESSAGE);
        struct loop loop;

        with.request_evd = DAT_HANDLE_NULL;
        loop = expect_joined(t, ep_created_without_evd(t, &with), plain_end(t));
        for (uint64_t i = 1; i <= UNREPORTED; i++) {
                vector_fill(t, &from, i);
                must(recv_vector(loop.passive, &to, i, DAT_COMPLETION_DEFAULT_FLAG));
                expect(send_vector(loop.active, &from, i, DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
                expect_completion(ep_recv_evd(t, loop.passive), loop.passive, i, MESSAGE, 0);
                expect_holds(&to, i, MESSAGE);
        }
        expect_empty(t, with.recv_evd);
}

CASE(ep_create, connect_evd_later)
{
        struct ep_creation with = ep_create_arguments(t);
        DAT_EP_PARAM later = {.connect_evd_handle = with.connect_evd};
        DAT_EP_HANDLE ep;

        with.connect_evd = DAT_HANDLE_NULL;
        ep = ep_created_without_evd(t, &with);
        expect(dat_ep_modify(ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &later), DAT_SUCCESS);
        ep_reports_to(t, ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, later.connect_evd_handle);

        expect_joined(t, ep, plain_end(t));
}

/* The IA's own EVD, and one for each stream that is none of an EP's in this place. */
static void expect_no_evd_of_others(struct test *t, struct ep_creation *with, size_t argument)
{
        bool requests = argument == offsetof(struct ep_creation, request_evd);
        const DAT_HANDLE evds[] = {
            async_evd(t),
            evd_with(t, .flags = DAT_EVD_CR_FLAG),
            evd_with(t, .flags = DAT_EVD_SOFTWARE_FLAG),
            requests ? DAT_HANDLE_NULL : evd_with(t, .flags = DAT_EVD_RMR_BIND_FLAG),
        };

        for (size_t i = 0; i < sizeof(evds) / sizeof(evds[0]); i++) {
                DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

                if (!evds[i])
                        continue;
                memcpy((char *)with + argument, &evds[i], sizeof(evds[i]));
                expect(ep_creation_call(with, &ep), DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER);
        }
}

FAMILY(ep_create, evd_of_another_stream, ep_other_streams)
{
        struct ep_creation with = ep_create_arguments(t);

        expect_evd_of_another_stream(t, &with, row);
        expect_no_evd_of_others(t, &with, row->argument);
}

CASE(ep_create, receives_on_recv_evd)
{
        struct ep_creation with = ep_create_arguments(t);
        struct vector to = vector_with(t, .length = MESSAGE);
        struct vector from = vector_with(t, .length = MESSAGE);
        struct loop loop = expect_joined(t, plain_end(t), ep_created(t, &with));

        expect(recv_vector(loop.passive, &to, 77, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        must(send_vector(loop.active, &from, 1, DAT_COMPLETION_DEFAULT_FLAG));
        expect_completion(with.recv_evd, loop.passive, 77, MESSAGE, 0);
        expect_empty(t, with.request_evd);
        expect_empty(t, with.connect_evd);
}

FAMILY(ep_create, requests_on_request_evd, requests)
{
        struct ep_creation with = ep_create_arguments(t);
        struct vector here = vector_with(t, .length = MESSAGE);
        struct vector there = vector_with(t, .length = MESSAGE);
        DAT_RMR_TRIPLET remote = vector_remote(&there);
        struct loop loop;

        if (row->what == READ)
                with.param.ep_attr = transfer_attr(t, (struct transfer_opts){.reads = 2});
        loop =
            expect_joined(t, ep_created(t, &with), row->what == READ ? other_end(t) : plain_end(t));
        must(recv_vector(loop.passive, &there, 1, DAT_COMPLETION_DEFAULT_FLAG));
        if (row->what == SEND)
                expect(send_vector(loop.active, &here, 77, DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        else if (row->what == WRITE)
                expect(dat_ep_post_rdma_write(loop.active, 1, here.iov, COOKIE(77), &remote,
                                              DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        else
                expect(dat_ep_post_rdma_read(loop.active, 1, here.iov, COOKIE(77), &remote,
                                             DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        expect_completion(with.request_evd, loop.active, 77, MESSAGE, 0);
        expect_empty(t, with.recv_evd);
        expect_empty(t, with.connect_evd);
}

CASE(ep_create, bindings_on_request_evd)
{
        struct ep_creation with = ep_create_arguments(t);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
        DAT_RMR_CONTEXT context;
        DAT_EVENT event;
        DAT_EP_HANDLE ep;

        with.request_evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
        ep = ep_created(t, &with);
        expect_joined(t, ep, plain_end(t));
        must(dat_rmr_create(with.pz, &rmr));
        adopt(t, DAT_HANDLE_TYPE_RMR, rmr);
        expect(dat_rmr_bind(rmr, &segment, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep,
                            (DAT_RMR_COOKIE){.as_64 = 77}, DAT_COMPLETION_DEFAULT_FLAG, &context),
               DAT_SUCCESS);
        event = expect_event(with.request_evd, DAT_RMR_BIND_COMPLETION_EVENT);
        expect_eq(event.event_data.rmr_completion_event_data.user_cookie.as_64, 77);
        expect_empty(t, with.recv_evd);
}

CASE(ep_create, connection_events_on_connect_evd)
{
        struct ep_creation with = ep_create_arguments(t);
        struct loop loop = expect_joined(t, plain_end(t), ep_created(t, &with));
        DAT_EVENT event;

        must(dat_ep_disconnect(loop.active, DAT_CLOSE_ABRUPT_FLAG));
        event = expect_event(with.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        expect_that(event.event_data.connect_event_data.ep_handle == loop.passive, "of another EP");
        expect_empty(t, with.recv_evd);
        expect_empty(t, with.request_evd);
}

FAMILY(ep_create, same_flags_on_one_evd, ep_same_flags)
{
        struct ep_creation with = ep_create_arguments(t);

        expect_same_flags_on_one_evd(t, &with, row);
}

#define SHARING 3 /* EPs on the same EVDs */

/* Whichever of the EPs it is about, the event names it. */
CASE(ep_create, evds_of_several_eps)
{
        struct ep_creation with = ep_create_arguments(t);
        struct vector vector = vector_with(t, .length = MESSAGE);
        struct loop loops[SHARING];

        for (int i = 0; i < SHARING; i++)
                loops[i] = expect_joined(t, plain_end(t), ep_created(t, &with));
        for (int i = SHARING - 1; i >= 0; i--) {
                DAT_EP_HANDLE ep = loops[i].passive;
                DAT_EP_HANDLE other = loops[i].active;
                uint64_t cookie = 10 + (uint64_t)i;

                expect(recv_vector(ep, &vector, cookie, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
                must(send_vector(other, &vector, 1, DAT_COMPLETION_DEFAULT_FLAG));
                expect_completion(with.recv_evd, ep, cookie, MESSAGE, 0);
                must(recv_vector(other, &vector, 1, DAT_COMPLETION_DEFAULT_FLAG));
                expect(send_vector(ep, &vector, cookie, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
                expect_completion(with.request_evd, ep, cookie, MESSAGE, 0);
        }
        for (int i = SHARING - 1; i >= 0; i--) {
                DAT_EVENT event;

                must(dat_ep_disconnect(loops[i].active, DAT_CLOSE_ABRUPT_FLAG));
                event = expect_event(with.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
                expect_that(event.event_data.connect_event_data.ep_handle == loops[i].passive,
                            "the event names another EP");
        }
}

FAMILY(ep_create, both_streams_on_one_evd, ep_both_streams)
{
        struct ep_creation with = ep_create_arguments(t);
        struct vector vector = vector_with(t, .length = MESSAGE);
        struct loop loop;

        ep_creation_set_flags(&with, false, row->flags);
        ep_creation_set_flags(&with, true, row->flags);
        with.request_evd = with.recv_evd;
        loop = expect_joined(t, ep_created(t, &with), plain_end(t));
        expect(recv_vector(loop.active, &vector, 3, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        must(send_vector(loop.passive, &vector, 1, DAT_COMPLETION_DEFAULT_FLAG));
        expect_completion(with.recv_evd, loop.active, 3, MESSAGE, 0);
        must(recv_vector(loop.passive, &vector, 1, DAT_COMPLETION_DEFAULT_FLAG));
        expect(send_vector(loop.active, &vector, 77, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_completion(with.recv_evd, loop.active, 77, MESSAGE, 0);
}

FAMILY(ep_create, mixed_flags_on_one_evd, ep_mixed_flags)
{
        struct ep_creation with = ep_create_arguments(t);

        expect_mixed_flags_on_one_evd(t, &with, row);
}

CASE(ep_create, unsignalled_for_both_streams)
{
        struct ep_creation with = ep_create_arguments(t);

        with.request_evd = with.recv_evd;
        ep_creation_set_flags(&with, false, DAT_COMPLETION_UNSIGNALLED_FLAG);

        expect_refused_or_noted(t, &with);
}

CASE(ep_create, threshold_beside_other_streams)
{
        struct ep_creation with = ep_create_arguments(t);

        expect_threshold_beside_other_streams(t, &with);
}

CASE(ep_create, request_threshold_beside_other_streams)
{
        struct ep_creation with = ep_create_arguments(t);

        with.request_evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
        with.connect_evd = with.request_evd;
        ep_creation_set_flags(&with, true, DAT_COMPLETION_EVD_THRESHOLD_FLAG);

        ep_created(t, &with);
}

/* Only flags of the threshold let completions stand beside other streams. */
CASE(ep_create, all_streams_on_one_evd)
{
        struct ep_creation with = ep_create_arguments(t);
        struct vector vector = vector_with(t, .length = MESSAGE);
        struct loop loop;

        with.recv_evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
        with.request_evd = with.recv_evd;
        with.connect_evd = with.recv_evd;
        ep_creation_set_flags(&with, false, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
        ep_creation_set_flags(&with, true, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
        loop = expect_joined(t, ep_created(t, &with), plain_end(t));

        must(recv_vector(loop.passive, &vector, 1, DAT_COMPLETION_DEFAULT_FLAG));
        expect(send_vector(loop.active, &vector, 77, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_completion(with.recv_evd, loop.active, 77, MESSAGE, 0);
        expect(recv_vector(loop.active, &vector, 3, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        must(send_vector(loop.passive, &vector, 1, DAT_COMPLETION_DEFAULT_FLAG));
        expect_completion(with.recv_evd, loop.active, 3, MESSAGE, 0);
        must(dat_ep_disconnect(loop.passive, DAT_CLOSE_ABRUPT_FLAG));
        expect_event(with.recv_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}
