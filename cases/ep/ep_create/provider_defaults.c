/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_create: attributes that the provider chooses. */
#include "cases/ep/ep_create/fixtures.h"
#include "cases/ep/shared/creation.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"
#include "clauses/ep_create.h"

static DAT_EP_HANDLE create_default(struct test *t, const struct ep_creation *with)
{
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        expect(dat_ep_create(with->ia, with->pz, with->recv_evd, with->request_evd,
                             with->connect_evd, NULL, &ep),
               DAT_SUCCESS);
        return ep_creation_adopt(t, with, ep);
}

/* Each of them is one that an EP could have, be it more than the IA promises (EP-29). */
CASE(ep_create, default_attributes)
{
        struct ep_creation with = ep_create_arguments(t);
        DAT_EP_PARAM param = ep_described(t, create_default(t, &with));

        expect_eq(plain_ep_state(param.ep_state), DAT_EP_STATE_UNCONNECTED);
        expect_that(param.pz_handle == with.pz && param.recv_evd_handle == with.recv_evd &&
                        param.request_evd_handle == with.request_evd &&
                        param.connect_evd_handle == with.connect_evd,
                    "zone or EVDs are not those that were given");
        expect_eq(param.ep_attr.service_type, DAT_SERVICE_TYPE_RC);
        for (size_t i = 0; i < NUMBERS; i++) {
                uint64_t has = ep_value(&param, &numbers[i].parameter);

                expect_that(has <= ep_greatest(&numbers[i]), "%s is %d by default", numbers[i].id,
                            (int)has);
                if (has > ep_limit_of(t, &numbers[i]))
                        note(t, "%s: %llu by default, above the IA's own limit (EP-29)",
                             numbers[i].id, (unsigned long long)has);
        }
}

/* However many there are already, one more is made, and the two carry messages if both can. */
CASE(ep_create, default_again)
{
        struct ep_creation with[FEW];
        DAT_COUNT count = cap_at_limit(t, FEW, DAT_HANDLE_TYPE_EP, 1);
        DAT_EP_HANDLE eps[FEW] = {DAT_HANDLE_NULL};

        for (DAT_COUNT i = 0; i < count; i++) {
                DAT_EP_PARAM param;

                with[i] = ep_create_arguments(t);
                eps[i] = create_default(t, &with[i]);
                param = ep_described(t, eps[i]);
                expect_eq(plain_ep_state(param.ep_state), DAT_EP_STATE_UNCONNECTED);
                expect_that(param.pz_handle == with[i].pz &&
                                param.recv_evd_handle == with[i].recv_evd &&
                                param.request_evd_handle == with[i].request_evd &&
                                param.connect_evd_handle == with[i].connect_evd,
                            "zone or EVDs are not those that were given");
                expect_eq(param.ep_attr.service_type, DAT_SERVICE_TYPE_RC);
                for (size_t j = 0; j < NUMBERS; j++)
                        expect_that(ep_value(&param, &numbers[j].parameter) <=
                                        ep_greatest(&numbers[j]),
                                    "%s is more than an EP can have", numbers[j].id);
        }
        must_that(count >= 2, "no room for two EPs");
        for (DAT_COUNT i = 0; i < 2; i++)
                expect(dat_ep_modify(eps[i],
                                     DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE |
                                         DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
                                         DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS |
                                         DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV |
                                         DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV |
                                         DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN |
                                         DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT,
                                     &with[i].param),
                       DAT_SUCCESS);
        expect_joined(t, eps[1], eps[0]);
        expect_message(t, eps[0], eps[1]);
        expect_message(t, eps[1], eps[0]);
}

/* Before it is used, it is made what the consumer needs. */
CASE(ep_create, default_then_modified)
{
        struct ep_creation with = ep_create_arguments(t);
        DAT_EP_HANDLE ep = create_default(t, &with);
        DAT_EP_HANDLE other = plain_end(t);

        expect(dat_ep_modify(
                   ep,
                   DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE | DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
                       DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS | DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV |
                       DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV,
                   &with.param),
               DAT_SUCCESS);
        expect_eq(ep_described(t, ep).ep_attr.max_message_size,
                  with.param.ep_attr.max_message_size);
        expect_joined(t, other, ep);
        expect_message(t, ep, other);
        expect_message(t, other, ep);
}

CASE(ep_create, default_freed)
{
        struct ep_creation with = ep_create_arguments(t);
        DAT_EP_HANDLE ep = create_default(t, &with);

        expect_eq(ep_state(t, ep), DAT_EP_STATE_UNCONNECTED);
        expect(dat_ep_free(ep), DAT_SUCCESS);
        disown(t, ep);
}
