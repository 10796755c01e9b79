/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_create: the protection zone of the EP. */
#include "case/standard.h"
#include "cases/ep/ep_create/fixtures.h"
#include "cases/ep/shared/creation.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "clauses/ep_create.h"

CASE(ep_create, memory_of_another_pz)
{
        struct ep_creation with = ep_create_arguments(t);
        struct vector from = vector_with(t, .length = MESSAGE, .buf.pz = pz_new(t));
        struct vector to = vector_with(t, .length = MESSAGE);
        struct loop loop = expect_joined(t, ep_created(t, &with), plain_end(t));

        must(recv_vector(loop.passive, &to, 1, DAT_COMPLETION_DEFAULT_FLAG));
        expect_protected(t, send_vector(loop.active, &from, 1, DAT_COMPLETION_DEFAULT_FLAG),
                         with.request_evd);
        expect_untouched(&to);
}

CASE(ep_create, receives_into_another_pz)
{
        struct ep_creation with = ep_create_arguments(t);
        struct vector from = vector_with(t, .length = MESSAGE);
        struct vector to = vector_with(t, .length = MESSAGE, .buf.pz = pz_new(t));
        struct loop loop = expect_joined(t, plain_end(t), ep_created(t, &with));
        DAT_RETURN ret = recv_vector(loop.passive, &to, 1, DAT_COMPLETION_DEFAULT_FLAG);

        must(send_vector(loop.active, &from, 1, DAT_COMPLETION_DEFAULT_FLAG));
        expect_protected(t, ret, with.recv_evd);
        expect_untouched(&to);
}

/* The other end, of another zone, writes: it reaches memory of the zone that the EP was made in. */
CASE(ep_create, rdma_to_its_pz)
{
        struct ep_creation with = ep_create_arguments_of(t, ia(t), pz_new(t));
        struct vector from = vector_with(t, .length = MESSAGE);
        struct vector to = vector_with(t, .length = MESSAGE, .buf.pz = with.pz);
        DAT_RMR_TRIPLET remote = vector_remote(&to);
        struct loop loop = expect_joined(t, plain_end(t), ep_created(t, &with));

        vector_fill(t, &from, 1);
        must(dat_ep_post_rdma_write(loop.active, 1, from.iov, COOKIE(1), &remote,
                                    DAT_COMPLETION_DEFAULT_FLAG));
        expect_completion(ep_request_evd(t, loop.active), loop.active, 1, MESSAGE, 0);
        vector_await(t, &to, 1, MESSAGE);
        expect_holds(&to, 1, MESSAGE);
}

CASE(ep_create, rdma_to_another_pz)
{
        struct ep_creation with = ep_create_arguments_of(t, ia(t), pz_new(t));
        struct vector from = vector_with(t, .length = MESSAGE);
        struct vector to = vector_with(t, .length = MESSAGE);
        DAT_RMR_TRIPLET remote = vector_remote(&to);
        struct loop loop = expect_joined(t, plain_end(t), ep_created(t, &with));
        DAT_DTO_COMPLETION_STATUS status;
        DAT_EVENT event;

        must(dat_ep_post_rdma_write(loop.active, 1, from.iov, COOKIE(1), &remote,
                                    DAT_COMPLETION_DEFAULT_FLAG));
        event = expect_event(ep_request_evd(t, loop.active), DAT_DTO_COMPLETION_EVENT);
        status = event.event_data.dto_completion_event_data.status;
        if (status == DAT_DTO_SUCCESS)
                expect_remote_refusal(t, loop.active, false, status);
        expect_untouched(&to);
}

/* A read of memory of this zone by the other end of an EP that was made in another zone than it. */
static struct loop read_from(struct test *t, struct ep_creation *with, const struct vector *from,
                             const struct vector *to)
{
        DAT_RMR_TRIPLET remote = vector_remote(from);
        DAT_EP_HANDLE other = other_end(t);
        struct loop loop;

        with->param.ep_attr.max_rdma_read_in = 2;
        loop = expect_joined(t, other, ep_created(t, with));
        must(dat_ep_post_rdma_read(other, 1, to->iov, COOKIE(1), &remote,
                                   DAT_COMPLETION_DEFAULT_FLAG));
        return loop;
}

CASE(ep_create, read_from_its_pz)
{
        struct ep_creation with = ep_create_arguments_of(t, ia(t), pz_new(t));
        struct vector from = vector_with(t, .length = MESSAGE, .buf.pz = with.pz);
        struct vector to = vector_with(t, .length = MESSAGE);
        struct loop loop;

        vector_fill(t, &from, 1);
        loop = read_from(t, &with, &from, &to);
        expect_completion(ep_request_evd(t, loop.active), loop.active, 1, MESSAGE, 0);
        expect_holds(&to, 1, MESSAGE);
}

CASE(ep_create, read_from_another_pz)
{
        struct ep_creation with = ep_create_arguments_of(t, ia(t), pz_new(t));
        struct vector from = vector_with(t, .length = MESSAGE);
        struct vector to = vector_with(t, .length = MESSAGE);
        struct loop loop;
        DAT_EVENT event;

        vector_fill(t, &from, 1);
        loop = read_from(t, &with, &from, &to);
        event = expect_event(ep_request_evd(t, loop.active), DAT_DTO_COMPLETION_EVENT);
        expect_that(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS,
                    "memory of another zone was read");
        expect_untouched(&to);
}
