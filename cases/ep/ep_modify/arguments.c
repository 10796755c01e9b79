/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_modify: arguments that the page leaves open. */
#include "cases/ep/ep_modify/general_fixtures.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/modify_table.h"
#include "clauses/ep_modify.h"

/*
 * What the page leaves out (EP-18)
 */

CASE(ep_modify, srq_handle)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_PARAM asked = {.srq_handle = srq_with(t)};
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);

        expect_or_note(dat_ep_modify(ep, DAT_EP_FIELD_SRQ_HANDLE, &asked), DAT_INVALID_PARAMETER,
                       DAT_INVALID_STATE);

        struct ep_snapshot after = ep_snapshot(t, ep);
        expect_that(after.param.srq_handle == srq, "the EP is on another SRQ");
}

static const struct srq_change {
        const char *id;
        bool of_plain_ep; /* which is to be given one; else one that has one is to lose it */
} srq_changes[] = {
    {"to_none", .of_plain_ep = false},
    {"of_plain_ep", .of_plain_ep = true},
};

FAMILY(ep_modify, srq_for_life, srq_changes)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_SRQ_HANDLE has = row->of_plain_ep ? DAT_HANDLE_NULL : srq;
        DAT_EP_PARAM asked = {.srq_handle = row->of_plain_ep ? srq : DAT_HANDLE_NULL};
        DAT_EP_HANDLE ep = ep_with(t, .srq = has);

        expect_or_note(dat_ep_modify(ep, DAT_EP_FIELD_SRQ_HANDLE, &asked), DAT_INVALID_PARAMETER,
                       DAT_INVALID_STATE);

        expect_that(ep_snapshot(t, ep).param.srq_handle == has, "the EP has another SRQ");
        if (row->of_plain_ep) {
                expect_ep_bears(t, ep);
                expect(dat_srq_free(srq), DAT_SUCCESS);
                disown(t, srq);
        }
}

static const struct omitted {
        const char *id;
        DAT_EP_PARAM_MASK field;
        size_t offset;
} omitted[] = {
    {"srq_soft_hw", DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, offsetof(DAT_EP_PARAM, ep_attr.srq_soft_hw)},
    {"max_rdma_read_iov", DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV,
     offsetof(DAT_EP_PARAM, ep_attr.max_rdma_read_iov)},
    {"max_rdma_write_iov", DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV,
     offsetof(DAT_EP_PARAM, ep_attr.max_rdma_write_iov)},
};

FAMILY(ep_modify, not_on_the_page, omitted)
{
        struct ep_parameter parameter = {
            .name = row->id, .field = row->field, .offset = row->offset, .size = sizeof(DAT_COUNT)};
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_UNCONNECTED);
        struct ep_snapshot before = ep_snapshot(t, ep);
        DAT_EP_PARAM asked = before.param;

        ep_value_set(&asked, &parameter, 2);

        DAT_RETURN ret = expect_may(dat_ep_modify(ep, row->field, &asked), DAT_SUCCESS,
                                    DAT_INVALID_PARAMETER, DAT_INVALID_STATE);
        struct ep_snapshot after = ep_snapshot(t, ep);
        record(t, "%s: %s, and the value is %d", row->id,
               dat_is(ret, DAT_SUCCESS) ? "granted" : "refused",
               (int)ep_value(&after.param, &parameter));
        expect_ep_kept(t, ep, &before, row->field);
}

/*
 * Arguments
 */

static DAT_RETURN modify_to_nothing(void *ep)
{
        return dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, NULL);
}

CASE(ep_modify, null_param)
{
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_UNCONNECTED);
        struct ep_snapshot before = ep_snapshot(t, ep);
        DAT_RETURN answer;

        if (subprocess_call(t, modify_to_nothing, ep, &answer) &&
            !dat_is(answer, DAT_INVALID_PARAMETER))
                record(t, "no DAT_INVALID_PARAMETER (GEN-4)");
        expect_ep_kept(t, ep, &before, 0);
}

LEGAL(ep_modify)
{
        static DAT_EP_PARAM asked;

        asked.ep_attr.max_recv_dtos = 8;
        call->ep_handle = ep_with(t);
        call->ep_param_mask = DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS;
        call->ep_param = &asked;
}
