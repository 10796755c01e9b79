/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_create: the parameters of the new EP. */
#include "case/standard.h"
#include "cases/ep/ep_create/fixtures.h"
#include "cases/ep/shared/creation.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"
#include "clauses/ep_create.h"

#define EPS 64 /* at once */

CASE(ep_create, created)
{
        struct ep_creation with = ep_create_arguments(t);

        expect_that(ep_described(t, ep_created(t, &with)).ia_handle == ia(t),
                    "the EP is of another IA");
        must(dat_evd_disable(with.recv_evd));
        must(dat_evd_set_unwaitable(with.request_evd));
        must(dat_evd_disable(with.connect_evd));
        expect_that(ep_described(t, ep_created(t, &with)).ia_handle == ia(t),
                    "the EP is of another IA");
}

CASE(ep_create, attributes_kept)
{
        struct ep_creation with = ep_create_arguments(t);

        expect_attributes_kept(t, &with);
}

CASE(ep_create, attributes_given_back)
{
        struct ep_creation with = ep_create_arguments(t);

        expect_attributes_given_back(t, &with);
}

CASE(ep_create, unconnected)
{
        struct ep_creation with = ep_create_arguments(t);
        DAT_EP_HANDLE ep = ep_created(t, &with);

        expect_eq(plain_ep_state(ep_described(t, ep).ep_state), DAT_EP_STATE_UNCONNECTED);
        expect_eq(ep_state(t, ep), DAT_EP_STATE_UNCONNECTED);
}

static const struct ep_shown shown[] = {EP_SHOWN_HANDLES};

FAMILY(ep_create, shows, shown)
{
        DAT_IA_HANDLE other = other_ia(t);
        struct ep_creation with[2] = {ep_create_arguments(t),
                                      ep_create_arguments_of(t, other, pz_of(t, other))};

        expect_shown(t, with, row);
}

static DAT_EP_HANDLE connect_active(struct test *t, DAT_EP_HANDLE ep)
{
        return expect_joined(t, ep, plain_end(t)).passive;
}

static DAT_EP_HANDLE connect_accepting(struct test *t, DAT_EP_HANDLE ep)
{
        return expect_joined(t, plain_end(t), ep).active;
}

static DAT_EP_HANDLE connect_reserved(struct test *t, DAT_EP_HANDLE ep)
{
        struct loop loop = {
            .requests = request_evd(t),
            .active = plain_end(t),
            .passive = ep,
        };
        DAT_RSP_HANDLE rsp = rsp_new(t, ep, loop.requests, &loop.qual);

        loop_connect(t, loop.active, loop.qual);
        loop.request = expect_request(t, loop.requests, rsp, loop.qual);
        expect_accepted_by(t, loop.request, DAT_HANDLE_NULL, &loop);
        return loop.active;
}

static DAT_EP_HANDLE connect_like_another(struct test *t, DAT_EP_HANDLE ep)
{
        struct loop loop = expect_joined(t, plain_end(t), plain_end(t));

        DAT_EP_HANDLE like = loop.active;

        loop.active = ep;
        loop.passive = plain_end(t);
        loop_open_again(t, &loop);
        expect(dat_ep_dup_connect(ep, like, event_timeout(t), 0, NULL, DAT_QOS_BEST_EFFORT),
               DAT_SUCCESS);
        loop.request = expect_request(t, loop.requests, loop_point(&loop), loop.qual);
        expect_accepted(t, loop.request, &loop);
        return loop.passive;
}

static const struct connecting {
        const char *id;
        DAT_EP_HANDLE (*connect)(struct test *t, DAT_EP_HANDLE ep);
} connecting[] = {
    {"active", connect_active},
    {"accepting", connect_accepting},
    {"reserved", connect_reserved},
    {"like_another", connect_like_another},
};

FAMILY(ep_create, connects, connecting)
{
        struct ep_creation with = ep_create_arguments(t);
        DAT_EP_HANDLE ep = ep_created(t, &with);
        DAT_EP_HANDLE other = row->connect(t, ep);

        expect_message(t, ep, other);
        expect_message(t, other, ep);
}

CASE(ep_create, with_peer)
{
        struct ep_creation with = ep_create_arguments(t);

        expect_ep_bears(t, ep_created(t, &with));
}

CASE(ep_create, many)
{
        struct ep_creation with = ep_create_arguments(t);
        DAT_EP_HANDLE eps[EPS];
        DAT_COUNT count = EPS;

        if (count > ia_attr(t)->max_eps)
                count = ia_attr(t)->max_eps;
        for (DAT_COUNT i = 0; i < count; i++) {
                with.param.ep_attr.max_message_size = 1000 + (DAT_VLEN)i;
                eps[i] = ep_created(t, &with);
        }
        for (DAT_COUNT i = 0; i < count; i++)
                expect_eq(ep_described(t, eps[i]).ep_attr.max_message_size, 1000 + i);
}

#define AGAIN 4            /* EPs, each made after the one before it was freed */
#define LEFT  UINT64_C(99) /* the cookie of receives that no message came for */

/* Of a freed EP, receives may be told as flushed, and none of them as done. */
static void expect_first_message(struct test *t, DAT_EVD_HANDLE evd, uint64_t cookie)
{
        DAT_DTO_COMPLETION_EVENT_DATA data;

        do
                data = expect_event(evd, DAT_DTO_COMPLETION_EVENT)
                           .event_data.dto_completion_event_data;
        while (data.user_cookie.as_64 == LEFT && data.status == DAT_DTO_ERR_FLUSHED);
        expect_eq(data.status, DAT_DTO_SUCCESS);
        expect_eq(data.user_cookie.as_64, cookie);
        expect_eq(data.transfered_length, MESSAGE);
}

/* Attributes, connection and receives of the EPs before it are not those of a new one. */
CASE(ep_create, after_freed_ones)
{
        struct ep_creation with = ep_create_arguments(t);
        struct vector left = vector_with(t, .length = MESSAGE);

        must_tell_idle(t);
        for (uint64_t i = 0; i < AGAIN; i++) {
                struct vector to = vector_with(t, .length = MESSAGE);
                struct vector from = vector_with(t, .length = MESSAGE);
                struct loop loop = {.active = plain_end(t)};

                with.param.ep_attr.max_message_size = 4000 - i * 100;
                loop.passive = ep_created(t, &with);
                expect_eq(ep_described(t, loop.passive).ep_attr.max_message_size, 4000 - i * 100);
                expect_new_state(t, loop.passive);

                vector_fill(t, &from, i);
                expect(recv_vector(loop.passive, &to, i, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
                for (int j = 0; j < 3; j++)
                        must(recv_vector(loop.passive, &left, LEFT, DAT_COMPLETION_DEFAULT_FLAG));
                loop = expect_joined(t, loop.active, loop.passive);
                must(send_vector(loop.active, &from, i, DAT_COMPLETION_DEFAULT_FLAG));
                expect_first_message(t, with.recv_evd, i);
                expect_holds(&to, i, MESSAGE);

                release(t, loop.passive);
                must_have_ended(t, loop.active);
                release(t, loop.active);
                drain_evd(t, with.connect_evd);
        }
        expect_untouched(&left);
}
