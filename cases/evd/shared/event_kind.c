/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/evd/shared/event_kind.h"
#include "case/ep_attr.h"
#include "cases/shared/loop.h"

#include <string.h>

void bring_software(struct test *t, struct brought *brought)
{
        post_ses(t, brought->evd, 9, 1);
}

void bring_receive(struct test *t, struct brought *brought)
{
        struct buf *buf = buf_with(t);
        struct loop loop =
            loop_of(t, (struct ep_opts){.recv_evd = brought->evd}, (struct ep_opts){0});

        brought->ep = loop.active;
        brought->cookie = UINT64_C(0xfedcba9876543210);
        brought->length = MESSAGE;
        loop_join_either(t, &loop);
        loop_post_recv(t, loop.active, buf, brought->cookie);
        loop_post_send(t, loop.passive, buf, 1);
}

/* Two EPs, connected; the active one reports its requests to the EVD, with this cookie. */
static struct loop requesting(struct test *t, struct brought *brought, uint64_t cookie,
                              const DAT_EP_ATTR *attr)
{
        struct loop loop = loop_of(t, (struct ep_opts){.request_evd = brought->evd, .attr = attr},
                                   (struct ep_opts){.attr = attr});

        brought->ep = loop.active;
        brought->cookie = cookie;
        brought->length = MESSAGE;
        loop_join_either(t, &loop);
        return loop;
}

void bring_send(struct test *t, struct brought *brought)
{
        struct loop loop = requesting(t, brought, UINT64_C(0x8000000000000001), NULL);
        struct buf *buf = buf_with(t);

        loop_post_recv(t, loop.passive, buf, 1);
        loop_post_send(t, loop.active, buf, brought->cookie);
}

void bring_flushed_receive(struct test *t, struct brought *brought)
{
        struct buf *buf = buf_with(t);
        struct loop loop =
            loop_of(t, (struct ep_opts){.recv_evd = brought->evd}, (struct ep_opts){0});

        brought->ep = loop.active;
        brought->cookie = UINT64_C(0x0123456789abcdef);
        loop_join_either(t, &loop);
        loop_post_recv(t, loop.active, buf, brought->cookie);
        must(dat_ep_disconnect(loop.active, DAT_CLOSE_ABRUPT_FLAG));
}

void bring_flushed_send(struct test *t, struct brought *brought)
{
        struct loop loop = requesting(t, brought, UINT64_C(0xfedcba9876543210), NULL);

        must(dat_ep_disconnect(loop.active, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, loop.active), DAT_CONNECTION_EVENT_DISCONNECTED);
        loop_post_send(t, loop.active, buf_with(t), brought->cookie);
}

static DAT_RMR_TRIPLET remote_of(const struct buf *buf)
{
        return (DAT_RMR_TRIPLET){
            .rmr_context = buf->rmr_context,
            .target_address = (DAT_VADDR)(uintptr_t)buf->addr,
            .segment_length = MESSAGE,
        };
}

void bring_rdma_write(struct test *t, struct brought *brought)
{
        struct loop loop = requesting(t, brought, UINT64_C(0x8000000000000001), NULL);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        DAT_RMR_TRIPLET remote = remote_of(buf_with(t));

        must(dat_ep_post_rdma_write(loop.active, 1, &segment,
                                    (DAT_DTO_COOKIE){.as_64 = brought->cookie}, &remote,
                                    DAT_COMPLETION_DEFAULT_FLAG));
}

void bring_rdma_read(struct test *t, struct brought *brought)
{
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr_if_told(t));
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        DAT_RMR_TRIPLET remote = remote_of(buf_with(t));
        struct loop loop;

        if (ia_attr(t)->max_rdma_read_per_ep_out < 1 || ia_attr(t)->max_rdma_read_per_ep_in < 1)
                unsupported(t, "max_rdma_read_per_ep_out or max_rdma_read_per_ep_in = 0");
        attr.max_rdma_read_in = 1;
        attr.max_rdma_read_out = 1;
        attr.max_rdma_read_iov = 1;
        loop = requesting(t, brought, UINT64_C(0x0123456789abcdef), &attr);
        must(dat_ep_post_rdma_read(loop.active, 1, &segment,
                                   (DAT_DTO_COOKIE){.as_64 = brought->cookie}, &remote,
                                   DAT_COMPLETION_DEFAULT_FLAG));
}

void bring_request(struct test *t, struct brought *brought)
{
        struct loop loop = {.requests = brought->evd, .active = ep_with(t)};

        loop_private_data(brought->private_data, OF_REQUEST);
        loop_ask(t, &loop);
        brought->psp = loop_point(&loop);
        brought->qual = loop.qual;
}

static void ask_at_point(struct test *t, struct brought *brought, DAT_HANDLE point,
                         DAT_CONN_QUAL qual)
{
        loop_private_data(brought->private_data, OF_REQUEST);
        brought->psp = point;
        brought->qual = qual;
        loop_connect(t, ep_with(t), qual);
}

static void bring_request_of_provider(struct test *t, struct brought *brought)
{
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp = loop_listen(t, brought->evd, DAT_PSP_PROVIDER_FLAG, &qual);

        ask_at_point(t, brought, psp, qual);
}

static void bring_reserved_request(struct test *t, struct brought *brought)
{
        DAT_CONN_QUAL qual;
        DAT_EP_HANDLE ep = ep_with(t);
        DAT_RSP_HANDLE rsp = rsp_listen(t, ep, brought->evd, &qual);

        disown(t, rsp);
        adopt_rsp(t, rsp, ep, brought->evd);
        ask_at_point(t, brought, rsp, qual);
}

static const struct event_kind requests_also[] = {
    {
        .id = "request_of_provider",
        .number = DAT_CONNECTION_REQUEST_EVENT,
        .flags = DAT_EVD_CR_FLAG,
        .bring = bring_request_of_provider,
        .check = check_request,
    },
    {
        .id = "reserved_request",
        .number = DAT_CONNECTION_REQUEST_EVENT,
        .flags = DAT_EVD_CR_FLAG,
        .bring = bring_reserved_request,
        .check = check_request,
    },
};

const struct event_kind *event_kind_also(struct test *t, const struct event_kind *kind)
{
        const struct event_kind *also = NULL;

        if (kind->bring == bring_request)
                also = &requests_also[!provider_makes_some_eps(t)];
        else if (kind == &requests_also[0])
                also = &requests_also[1];
        if (also)
                record(t, "the requests are those of %s", also->id);
        return also;
}

void bring_established_active(struct test *t, struct brought *brought)
{
        struct loop loop =
            loop_of(t, (struct ep_opts){.connect_evd = brought->evd}, (struct ep_opts){0});

        brought->ep = loop.active;
        loop_private_data(brought->private_data, OF_ACCEPT);
        loop_ask(t, &loop);
        loop_accept(t, &loop);
}

void bring_established_passive(struct test *t, struct brought *brought)
{
        struct loop loop =
            loop_of(t, (struct ep_opts){0}, (struct ep_opts){.connect_evd = brought->evd});

        brought->ep = loop.passive;
        loop_ask(t, &loop);
        loop_accept(t, &loop);
}

void bring_rejected(struct test *t, struct brought *brought)
{
        struct loop loop =
            loop_of(t, (struct ep_opts){.connect_evd = brought->evd}, (struct ep_opts){0});

        brought->ep = loop.active;
        loop_ask(t, &loop);
        loop_take_request(t, &loop);
        must(dat_cr_reject(loop.request));
}

/* The qualifier has no listener any more. */
void bring_unheard(struct test *t, struct brought *brought)
{
        struct loop loop =
            loop_of(t, (struct ep_opts){.connect_evd = brought->evd}, (struct ep_opts){0});

        brought->ep = loop.active;
        release(t, loop_listen(t, loop.requests, psp_flags_granted(t), &loop.qual));
        loop_connect(t, loop.active, loop.qual);
}

void bring_bound(struct test *t, struct brought *brought)
{
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        struct loop loop = requesting(t, brought, UINT64_C(0x0123456789abcdef), NULL);
        DAT_RMR_CONTEXT context;

        must(dat_rmr_create(pz(t), &brought->rmr));
        adopt(t, DAT_HANDLE_TYPE_RMR, brought->rmr);
        must(dat_rmr_bind(brought->rmr, &segment, DAT_MEM_PRIV_REMOTE_READ_FLAG, loop.active,
                          (DAT_RMR_COOKIE){.as_64 = brought->cookie}, DAT_COMPLETION_DEFAULT_FLAG,
                          &context));
}

void be_connected(struct test *t, struct brought *brought)
{
        struct loop loop =
            loop_of(t, (struct ep_opts){.connect_evd = brought->evd}, (struct ep_opts){0});

        brought->ep = loop.active;
        brought->far = loop.passive;
        loop_join_either(t, &loop);
}

void bring_disconnected(struct test *t, struct brought *brought)
{
        must(dat_ep_disconnect(brought->far, DAT_CLOSE_ABRUPT_FLAG));
}

void make_ready(struct test *t, const struct event_kind *kind, struct brought *brought,
                DAT_CNO_HANDLE cno)
{
        if (!kind->ready)
                return;
        kind->ready(t, brought);
        if (!cno)
                return;
        settle(t);
        forget_notice(cno);
}

struct brought bring(struct test *t, const struct event_kind *kind)
{
        struct brought brought = {.evd = evd_with(t, .qlen = SE_QLEN, .flags = kind->flags)};

        make_ready(t, kind, &brought, DAT_HANDLE_NULL);
        kind->bring(t, &brought);
        return brought;
}

/*
 * What each says
 */

void check_software(struct test *t, const struct brought *brought, const DAT_EVENT *event)
{
        expect_se(t, brought->evd, event, 9);
}

static void expect_dto_of(struct test *t, const struct brought *brought, const DAT_EVENT *event,
                          DAT_DTO_COMPLETION_STATUS status)
{
        const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

        expect_that(dto->ep_handle == brought->ep, "the completion names another EP");
        expect_eq(dto->user_cookie.as_64, brought->cookie);
        expect_eq(dto->status, status);
}

void check_completion(struct test *t, const struct brought *brought, const DAT_EVENT *event)
{
        expect_dto_of(t, brought, event, DAT_DTO_SUCCESS);
        expect_eq(event->event_data.dto_completion_event_data.transfered_length, brought->length);
}

void check_flushed(struct test *t, const struct brought *brought, const DAT_EVENT *event)
{
        expect_dto_of(t, brought, event, DAT_DTO_ERR_FLUSHED);
}

/* So many bytes of private data as were sent, or more, whose rest is the transport's. */
static void expect_private(struct test *t, const struct brought *brought, const void *data,
                           DAT_COUNT private_data_size)
{
        expect_that(private_data_size >= PRIVATE_SIZE, "%d bytes of private data, %d were sent",
                    private_data_size, PRIVATE_SIZE);
        expect_that(memcmp(data, brought->private_data, PRIVATE_SIZE) == 0,
                    "the private data is not what was sent");
}

void check_request(struct test *t, const struct brought *brought, const DAT_EVENT *event)
{
        const DAT_CR_ARRIVAL_EVENT_DATA *arrival = &event->event_data.cr_arrival_event_data;
        DAT_CR_PARAM param;

        expect_that(arrival->sp_handle.psp_handle == brought->psp,
                    "the request names another service point");
        expect_eq(arrival->conn_qual, brought->qual);
        memset(&param, 0, sizeof(param));
        expect(dat_cr_query(arrival->cr_handle,
                            DAT_CR_FIELD_PRIVATE_DATA_SIZE | DAT_CR_FIELD_PRIVATE_DATA, &param),
               DAT_SUCCESS);
        expect_private(t, brought, param.private_data, param.private_data_size);
        must(dat_cr_reject(arrival->cr_handle));
}

void check_established_active(struct test *t, const struct brought *brought, const DAT_EVENT *event)
{
        const DAT_CONNECTION_EVENT_DATA *connection = &event->event_data.connect_event_data;

        expect_that(connection->ep_handle == brought->ep, "the event names another EP");
        expect_private(t, brought, connection->private_data, connection->private_data_size);
}

void check_established_passive(struct test *t, const struct brought *brought,
                               const DAT_EVENT *event)
{
        const DAT_CONNECTION_EVENT_DATA *connection = &event->event_data.connect_event_data;

        expect_that(connection->ep_handle == brought->ep, "the event names another EP");
        expect_eq(connection->private_data_size, 0);
}

void check_ended(struct test *t, const struct brought *brought, const DAT_EVENT *event)
{
        expect_that(event->event_data.connect_event_data.ep_handle == brought->ep,
                    "the event names another EP");
}

void check_bound(struct test *t, const struct brought *brought, const DAT_EVENT *event)
{
        const DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind =
            &event->event_data.rmr_completion_event_data;

        expect_that(bind->rmr_handle == brought->rmr, "the completion names another RMR");
        expect_eq(bind->user_cookie.as_64, brought->cookie);
        expect_eq(bind->status, DAT_RMR_BIND_SUCCESS);
}

void expect_brought(struct test *t, const struct event_kind *kind, const struct brought *brought,
                    const DAT_EVENT *event)
{
        expect_eq(event->event_number, kind->number);
        expect_that(event->evd_handle == brought->evd, "the event names another EVD");
        kind->check(t, brought, event);
}

void expect_woken(struct test *t, const struct event_kind *kind, struct brought *brought,
                  struct waiter *waiter)
{
        struct woken woken;

        kind->bring(t, brought);
        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_brought(t, kind, brought, &woken.event);
        expect_eq(woken.more, 0);
        expect_empty(t, brought->evd);
}

DAT_EVENT expect_dequeued(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_RETURN ret = DAT_QUEUE_EMPTY;
        DAT_EVENT event;

        for (int i = 0; dat_is(ret, DAT_QUEUE_EMPTY) && i < 200; i++) {
                if (i)
                        settle_briefly(t);
                memset(&event, 0xa5, sizeof(event));
                ret = expect(fixture_event_now(t, evd, &event), DAT_SUCCESS, DAT_QUEUE_EMPTY);
        }
        expect_that(dat_is(ret, DAT_SUCCESS), "the event has not come");
        return event;
}

struct brought fed_before(struct test *t, const struct event_kind *kind, DAT_CNO_HANDLE cno)
{
        struct brought brought = {
            .evd = evd_with(t, .qlen = SE_QLEN, .flags = kind->flags, .cno = cno)};
        DAT_EVD_HANDLE named = DAT_HANDLE_NULL;
        DAT_EVENT event;

        must(dat_evd_enable(brought.evd));
        make_ready(t, kind, &brought, cno);
        kind->bring(t, &brought);
        must(dat_cno_wait(cno, event_timeout(t), &named));
        event = must_event(brought.evd, kind->number);
        kind->check(t, &brought, &event);
        settle(t);
        forget_notice(cno);
        make_ready(t, kind, &brought, cno);
        return brought;
}

static void expect_there(struct test *t, const struct event_kind *kind,
                         const struct brought *brought)
{
        DAT_EVENT event = expect_dequeued(t, brought->evd);

        expect_brought(t, kind, brought, &event);
        expect_empty(t, brought->evd);
}

void expect_unheard(struct test *t, const struct event_kind *kind, struct brought *brought,
                    DAT_CNO_HANDLE cno)
{
        kind->bring(t, brought);

        expect_no_notice(t, cno);
        expect_there(t, kind, brought);
}

void expect_heard(struct test *t, const struct event_kind *kind, struct brought *brought,
                  DAT_CNO_HANDLE cno)
{
        kind->bring(t, brought);

        expect_notified(t, cno, brought->evd);
        expect_there(t, kind, brought);
}
