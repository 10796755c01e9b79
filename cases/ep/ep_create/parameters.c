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
}

/* The structure is the consumer's: neither a grant nor a refusal writes to it. */
CASE(ep_create, attributes_kept)
{
        struct ep_creation with = ep_create_arguments(t);
        DAT_EP_HANDLE refused = DAT_HANDLE_NULL;
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_EP_ATTR attr = with.param.ep_attr;

        expect(dat_ep_create(with.ia, with.pz, with.recv_evd, with.request_evd, with.connect_evd,
                             &attr, &ep),
               DAT_SUCCESS);
        ep_creation_adopt(t, &with, ep);
        expect_that(ep_attr_same(&attr, &with.param.ep_attr),
                    "the attributes that were asked for are written");
        attr.max_recv_dtos = with.param.ep_attr.max_recv_dtos = -1;
        expect(dat_ep_create(with.ia, with.pz, with.recv_evd, with.request_evd, with.connect_evd,
                             &attr, &refused),
               DAT_INVALID_PARAMETER);
        expect_that(ep_attr_same(&attr, &with.param.ep_attr),
                    "the attributes that were refused are written");
}

CASE(ep_create, unconnected)
{
        struct ep_creation with = ep_create_arguments(t);
        DAT_EP_HANDLE ep = ep_created(t, &with);

        expect_eq(plain_ep_state(ep_described(t, ep).ep_state), DAT_EP_STATE_UNCONNECTED);
        expect_eq(ep_state(t, ep), DAT_EP_STATE_UNCONNECTED);
}

static const struct shown {
        const char *id;
        size_t argument;
        size_t member;
} shown[] = {
#define SHOWN(name_, argument_)                                                                \
        {                                                                                      \
#name_, offsetof(struct ep_creation, argument_), offsetof(DAT_EP_PARAM, name_) \
        }
    SHOWN(ia_handle, ia),
    SHOWN(pz_handle, pz),
    SHOWN(recv_evd_handle, recv_evd),
    SHOWN(request_evd_handle, request_evd),
    SHOWN(connect_evd_handle, connect_evd),
#undef SHOWN
};

static DAT_HANDLE handle_at(const void *structure, size_t offset)
{
        DAT_HANDLE handle;

        memcpy(&handle, (const char *)structure + offset, sizeof(handle));
        return handle;
}

/* Of two EPs that differ in all that is shown; the older one is asked too. */
FAMILY(ep_create, shows, shown)
{
        DAT_IA_HANDLE other = other_ia(t);
        struct ep_creation with[2] = {ep_create_arguments(t),
                                      ep_create_arguments_of(t, other, pz_of(t, other))};
        DAT_EP_HANDLE eps[2] = {ep_created(t, &with[0]), ep_created(t, &with[1])};

        for (int i = 0; i < 2; i++) {
                DAT_EP_PARAM param = ep_described(t, eps[i]);

                expect_that(handle_at(&param, row->member) == handle_at(&with[i], row->argument),
                            "%s of EP %d is not the one that was given", row->id, i);
        }
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

        expect(dat_ep_dup_connect(ep, loop.active, event_timeout(t), 0, NULL, DAT_QOS_BEST_EFFORT),
               DAT_SUCCESS);
        loop.active = ep;
        loop.passive = plain_end(t);
        loop.request = expect_request(t, loop.requests, loop.psp, loop.qual);
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
