/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_query: EPs with an SRQ and EPs without EVDs. */
#include "case/ep_attr.h"
#include "case/poison.h"
#include "case/standard.h"
#include "cases/ep/ep_query/fixtures.h"
#include "cases/ep/shared/creation.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ep_query.h"

#include <netinet/in.h>
#include <string.h>

CASE(ep_query, srq)
{
        DAT_SRQ_HANDLE older = srq_with(t);
        DAT_SRQ_HANDLE newer = srq_with(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = older);

        ep_with(t, .srq = newer);

        expect_that(queried(t, ep, DAT_EP_FIELD_SRQ_HANDLE).srq_handle == older, "another SRQ");
        expect_that(queried(t, ep, DAT_EP_FIELD_ALL).srq_handle == older, "another SRQ");
}

/* The receives of an EP with an SRQ are not its own: how many segments they have is not asked. */
CASE(ep_query, fields_of_srq)
{
        DAT_EP_PARAM_MASK mask =
            DAT_EP_FIELD_ALL & ~(OF_CONNECTION | DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV);
        struct known known = known_ep(t, 1);
        DAT_EP_ATTR attr = known.param.ep_attr;
        struct loop loop = {
            .requests = evd_with(t, .flags = DAT_EVD_CR_FLAG),
            .passive = known.ep,
        };
        DAT_EP_PARAM param;

        known.param.srq_handle = srq_with(t);
        known.param.pz_handle = pz(t);
        loop.active = known.ep = ep_with(t, .srq = known.param.srq_handle, .attr = &attr);
        known.param.recv_evd_handle = ep_recv_evd(t, known.ep);
        known.param.request_evd_handle = ep_request_evd(t, known.ep);
        known.param.connect_evd_handle = ep_connect_evd(t, known.ep);
        param = queried(t, known.ep, DAT_EP_FIELD_ALL);
        check_param(t, &known.param, &param, mask);
        expect_that(queried(t, loop.passive, DAT_EP_FIELD_ALL).srq_handle == DAT_HANDLE_NULL,
                    "an EP has the SRQ of another one");

        loop_join(t, &loop);
        known.param.ep_state = DAT_EP_STATE_CONNECTED;
        check_fields(t, &known, mask);
        must(dat_ep_disconnect(known.ep, DAT_CLOSE_ABRUPT_FLAG));
        must_event(known.param.connect_evd_handle, DAT_CONNECTION_EVENT_DISCONNECTED);
        must(dat_ep_reset(known.ep));
        known.param.ep_state = DAT_EP_STATE_UNCONNECTED;
        check_fields(t, &known, mask);
}

static void mark_srq(struct test *t, DAT_SRQ_HANDLE srq)
{
        (void)t;
        must(dat_srq_set_lw(srq, 1));
}

static void resize_srq(struct test *t, DAT_SRQ_HANDLE srq)
{
        must(dat_srq_resize(srq, srq_size_above(t, srq, 8)));
}

static void post_to_srq(struct test *t, DAT_SRQ_HANDLE srq)
{
        srq_post(t, srq, buf_with(t), 1, 0, 1);
}

static void free_other_ep(struct test *t, DAT_SRQ_HANDLE srq)
{
        release(t, ep_with(t, .srq = srq));
}

/* Calls on the SRQ of an EP. */
static const struct use_of_srq {
        const char *id;
        void (*use)(struct test *t, DAT_SRQ_HANDLE srq);
} uses_of_srq[] = {
    {"low_watermark", mark_srq},
    {"resize", resize_srq},
    {"receive", post_to_srq},
    {"other_ep_freed", free_other_ep},
};

FAMILY(ep_query, srq_after, uses_of_srq)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);
        struct loop loop = {
            .requests = evd_with(t, .flags = DAT_EVD_CR_FLAG),
            .active = ep_with(t, .srq = srq),
            .passive = ep_with(t),
        };

        loop_join(t, &loop);
        row->use(t, srq);

        expect_that(queried(t, ep, DAT_EP_FIELD_SRQ_HANDLE).srq_handle == srq, "another SRQ");
        expect_that(queried(t, ep, DAT_EP_FIELD_ALL).srq_handle == srq, "another SRQ");
        expect_that(queried(t, loop.active, DAT_EP_FIELD_SRQ_HANDLE).srq_handle == srq,
                    "a connected EP has another SRQ");
        expect_that(queried(t, loop.active, DAT_EP_FIELD_ALL).srq_handle == srq,
                    "a connected EP has another SRQ");
}

CASE(ep_query, soft_mark)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_ATTR attr = attr_number(t, 1);
        DAT_EP_HANDLE ep;

        attr.srq_soft_hw = 5;
        ep = ep_with(t, .srq = srq, .attr = &attr);

        expect_eq(queried(t, ep, DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW).ep_attr.srq_soft_hw, 5);
        expect_eq(queried(t, ep, DAT_EP_FIELD_ALL).ep_attr.srq_soft_hw, 5);
}

static struct known known_with(struct test *t, DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request,
                               DAT_EVD_HANDLE connect)
{
        struct known known = {.param = {.ia_handle = ia(t),
                                        .ep_state = DAT_EP_STATE_UNCONNECTED,
                                        .local_ia_address_ptr = ia_address(t),
                                        .pz_handle = pz(t),
                                        .recv_evd_handle = recv,
                                        .request_evd_handle = request,
                                        .connect_evd_handle = connect,
                                        .ep_attr = attr_number(t, 1)}};

        known.ep = ep_lacking_evd(t, recv, request, connect, &known.param.ep_attr);
        return known;
}

CASE(ep_query, without_evds)
{
        struct known known = known_with(t, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL);

        check_without_connection(t, &known);
}

static const struct lacking {
        const char *id;
        DAT_EP_PARAM_MASK evd;
} lacking[] = {
    {"recv", DAT_EP_FIELD_RECV_EVD_HANDLE},
    {"request", DAT_EP_FIELD_REQUEST_EVD_HANDLE},
    {"connect", DAT_EP_FIELD_CONNECT_EVD_HANDLE},
};

static DAT_EVD_HANDLE evd_unless(struct test *t, bool lacks, DAT_EVD_FLAGS flags)
{
        return lacks ? DAT_HANDLE_NULL : evd_with(t, .qlen = 8, .flags = flags);
}

FAMILY(ep_query, without_one_evd, lacking)
{
        DAT_EVD_HANDLE evds[3];
        struct known known;

        for (size_t i = 0; i < 3; i++)
                evds[i] = evd_unless(t, row->evd == lacking[i].evd,
                                     i == 2 ? DAT_EVD_CONNECTION_FLAG : DAT_EVD_DTO_FLAG);
        known = known_with(t, evds[0], evds[1], evds[2]);

        check_without_connection(t, &known);
        for (size_t i = 0; i < 3; i++)
                check_fields(t, &known, lacking[i].evd);
}
