/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/shared/loop.h"

#define QUAL_FIRST 22500
#define QUAL_COUNT 400

void loop_private_data(unsigned char data[PRIVATE_SIZE], unsigned char first)
{
        for (unsigned int i = 0; i < PRIVATE_SIZE; i++)
                data[i] = (unsigned char)(first + 7 * i);
}

DAT_PSP_HANDLE loop_listen(struct test *t, DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags,
                           DAT_CONN_QUAL *qual)
{
        DAT_PSP_HANDLE psp;
        DAT_RETURN ret =
            point_make(t,
                       (struct point_opts){
                           .first = QUAL_FIRST, .count = QUAL_COUNT, .evd = evd, .flags = flags},
                       qual, &psp);

        if (flags == DAT_PSP_CONSUMER_FLAG && dat_is(ret, DAT_MODEL_NOT_SUPPORTED) &&
            provider_makes_all_eps(t))
                unsupported(t, "ep_creator: no PSP for EPs of consumers");
        must(ret);
        adopt(t, DAT_HANDLE_TYPE_PSP, psp);
        return psp;
}

DAT_RSP_HANDLE rsp_listen(struct test *t, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd, DAT_CONN_QUAL *qual)
{
        DAT_RSP_HANDLE rsp;

        must(point_make(
            t,
            (struct point_opts){
                .first = QUAL_FIRST, .count = QUAL_COUNT, .evd = evd, .reserved = true, .ep = ep},
            qual, &rsp));
        adopt(t, DAT_HANDLE_TYPE_RSP, rsp);
        return rsp;
}

void loop_open(struct test *t, struct loop *loop)
{
        if (!provider_makes_all_eps(t)) {
                loop->psp = loop_listen(t, loop->requests, DAT_PSP_CONSUMER_FLAG, &loop->qual);
                return;
        }
        if (!loop->passive)
                loop->passive = ep_with(t);
        loop->rsp = rsp_listen(t, loop->passive, loop->requests, &loop->qual);
        disown(t, loop->rsp);
        adopt_rsp(t, loop->rsp, loop->passive, loop->requests);
}

void loop_open_again(struct test *t, struct loop *loop)
{
        if (!provider_makes_all_eps(t))
                return;
        loop_close_rsp(t, loop);
        must(dat_rsp_create(ia(t), loop->qual, loop->passive, loop->requests, &loop->rsp));
        adopt_rsp(t, loop->rsp, loop->passive, loop->requests);
}

DAT_HANDLE loop_point(const struct loop *loop)
{
        return loop->rsp ? loop->rsp : loop->psp;
}

DAT_EP_HANDLE loop_named(const struct loop *loop)
{
        return loop->rsp ? DAT_HANDLE_NULL : loop->passive;
}

void loop_close_rsp(struct test *t, struct loop *loop)
{
        if (!loop->rsp)
                return;
        release(t, loop->rsp);
        loop->rsp = DAT_HANDLE_NULL;
}

void loop_connect(struct test *t, DAT_EP_HANDLE ep, DAT_CONN_QUAL qual)
{
        unsigned char data[PRIVATE_SIZE];

        loop_private_data(data, OF_REQUEST);
        must(dat_ep_connect(ep, ia_address(t), qual, event_timeout(t), PRIVATE_SIZE, data,
                            DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

void loop_ask(struct test *t, struct loop *loop)
{
        loop_open(t, loop);
        loop_connect(t, loop->active, loop->qual);
}

void loop_take_request(struct test *t, struct loop *loop)
{
        DAT_EVENT event = must_event(loop->requests, DAT_CONNECTION_REQUEST_EVENT);

        loop->request = event.event_data.cr_arrival_event_data.cr_handle;
}

void loop_accept(struct test *t, struct loop *loop)
{
        unsigned char data[PRIVATE_SIZE];

        loop_private_data(data, OF_ACCEPT);
        loop_take_request(t, loop);
        must(dat_cr_accept(loop->request, loop_named(loop), PRIVATE_SIZE, data));
        loop_close_rsp(t, loop);
}

struct loop loop_of(struct test *t, struct ep_opts active, struct ep_opts passive)
{
        return (struct loop){
            .requests = evd_with(t, .flags = DAT_EVD_CR_FLAG),
            .active = ep_make(t, active),
            .passive = ep_make(t, passive),
        };
}

void loop_join(struct test *t, struct loop *loop)
{
        loop_ask(t, loop);
        loop_accept(t, loop);
        must_event(ep_connect_evd(t, loop->active), DAT_CONNECTION_EVENT_ESTABLISHED);
        must_event(ep_connect_evd(t, loop->passive), DAT_CONNECTION_EVENT_ESTABLISHED);
}

void loop_join_either(struct test *t, struct loop *loop)
{
        struct loop turned = *loop;

        if (draw(t, 2) == 0) {
                loop_join(t, loop);
                return;
        }
        record(t, "the first EP of the case accepts, the second one asks");
        turned.active = loop->passive;
        turned.passive = loop->active;
        loop_join(t, &turned);
        loop->psp = turned.psp;
        loop->qual = turned.qual;
        loop->request = turned.request;
}

void loop_post_recv(struct test *t, DAT_EP_HANDLE ep, const struct buf *buf, uint64_t cookie)
{
        DAT_LMR_TRIPLET segment = triplet(buf, 0, 2 * MESSAGE);

        must(dat_ep_post_recv(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = cookie},
                              DAT_COMPLETION_DEFAULT_FLAG));
}

void loop_post_send(struct test *t, DAT_EP_HANDLE ep, const struct buf *buf, uint64_t cookie)
{
        DAT_LMR_TRIPLET segment = triplet(buf, 2 * MESSAGE, MESSAGE);

        must(dat_ep_post_send(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = cookie},
                              DAT_COMPLETION_DEFAULT_FLAG));
}
