/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_create_with_srq: the EVDs of the EP. */
#include "cases/ep/ep_create_with_srq/fixtures.h"
#include "cases/ep/shared/creation.h"
#include "cases/shared/loop.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ep_create_with_srq.h"

#include <string.h>

FAMILY(ep_create_with_srq, null_evd, ep_no_evd)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        expect_null_evd(t, &with, row);
}

CASE(ep_create_with_srq, without_recv_evd)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        struct buf *buf = buf_with(t);

        with.recv_evd = DAT_HANDLE_NULL;
        DAT_EP_HANDLE ep = ep_created_without_evd(t, &with);
        struct peer_ep *end = expect_connect(ep);

        srq_post(t, with.srq, buf, MESSAGE, 0, 8);
        peer_send(end, .count = 8, .length = MESSAGE);
        peer_wait_sent(end);
        expect_quiet(with.request_evd);
        for (uint64_t i = 0; i < 8; i++) {
                uint64_t found = 0;

                for (size_t slot = 0; slot < 8; slot++)
                        found += message_holds(buf->addr + slot * MESSAGE, MESSAGE, i);
                expect_that(found == 1, "message %llu is in %llu receives", (unsigned long long)i,
                            (unsigned long long)found);
        }
}

CASE(ep_create_with_srq, without_request_evd)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, MESSAGE);

        with.request_evd = DAT_HANDLE_NULL;
        DAT_EP_HANDLE ep = ep_created_without_evd(t, &with);
        struct peer_ep *end = expect_connect(ep);

        message_fill(buf->addr, MESSAGE, 0);
        peer_post_recv(end, 1, MESSAGE);
        expect(dat_ep_post_send(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        peer_wait_recv(end, 0, MESSAGE);
        expect_quiet(with.recv_evd);
}

CASE(ep_create_with_srq, connect_evd_later)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        DAT_EP_PARAM later = {.connect_evd_handle = with.connect_evd};

        with.connect_evd = DAT_HANDLE_NULL;
        DAT_EP_HANDLE ep = ep_created_without_evd(t, &with);

        expect(dat_ep_modify(ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &later), DAT_SUCCESS);
        ep_reports_to(t, ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, later.connect_evd_handle);
        expect_connect(ep);
}

FAMILY(ep_create_with_srq, evd_of_another_stream, ep_other_streams)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        expect_evd_of_another_stream(t, &with, row);
}

CASE(ep_create_with_srq, receives_on_recv_evd)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        DAT_EP_HANDLE ep = ep_created(t, &with);
        struct peer_ep *end = expect_connect(ep);

        srq_post(t, with.srq, buf_with(t), MESSAGE, 3, 1);
        peer_send(end, .length = MESSAGE);
        DAT_DTO_COMPLETION_EVENT_DATA dto = expect_dto(with.recv_evd);
        expect_eq(dto.user_cookie.as_64, 3);
        expect_that(dto.ep_handle == ep, "the completion is of another EP");
        expect_quiet(with.request_evd);
}

static DAT_RMR_TRIPLET exposed(struct peer_ep *end)
{
        struct peer_memory memory = peer_expose(end, MESSAGE);

        return (DAT_RMR_TRIPLET){.rmr_context = memory.rmr_context,
                                 .target_address = memory.address,
                                 .segment_length = MESSAGE};
}

FAMILY(ep_create_with_srq, requests_on_request_evd, requests)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        DAT_DTO_COOKIE cookie = {.as_64 = 77};
        DAT_COMPLETION_FLAGS none = DAT_COMPLETION_DEFAULT_FLAG;
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, MESSAGE);

        if (row->what == READ && with.param.ep_attr.max_rdma_read_out == 0)
                unsupported(t, "max_rdma_read_per_ep_out = 0");

        DAT_EP_HANDLE ep = ep_created(t, &with);
        struct peer_ep *end = expect_connect(ep);
        DAT_RMR_TRIPLET remote = exposed(end);

        if (row->what == SEND)
                peer_post_recv(end, 1, MESSAGE);
        if (row->what == SEND)
                expect(dat_ep_post_send(ep, 1, &segment, cookie, none), DAT_SUCCESS);
        else if (row->what == WRITE)
                expect(dat_ep_post_rdma_write(ep, 1, &segment, cookie, &remote, none), DAT_SUCCESS);
        else
                expect(dat_ep_post_rdma_read(ep, 1, &segment, cookie, &remote, none), DAT_SUCCESS);
        expect_eq(expect_dto(with.request_evd).user_cookie.as_64, 77);
        expect_that(row->what != READ || message_holds(buf->addr, MESSAGE, 0),
                    "what was read came damaged");
        expect_quiet(with.recv_evd);
}

CASE(ep_create_with_srq, reads_of_several_segments)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        struct buf *bufs[2] = {buf_with(t), buf_with(t)};

        if (ia_attr(t)->max_iov_segments_per_rdma_read < 2 ||
            ia_attr(t)->max_rdma_read_per_ep_out < 2)
                unsupported(t, "max_iov_segments_per_rdma_read, max_rdma_read_per_ep_out: below 2");
        with.param.ep_attr.max_rdma_read_iov = 2;
        with.param.ep_attr.max_rdma_read_out = 2;
        DAT_EP_HANDLE ep = ep_created(t, &with);
        DAT_RMR_TRIPLET remote = exposed(expect_connect(ep));

        for (uint64_t i = 0; i < 2; i++) {
                DAT_LMR_TRIPLET segments[2] = {triplet(bufs[i], 0, MESSAGE / 2),
                                               triplet(bufs[i], MESSAGE / 2, MESSAGE / 2)};

                expect(dat_ep_post_rdma_read(ep, 2, segments, (DAT_DTO_COOKIE){.as_64 = i}, &remote,
                                             DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        }
        for (uint64_t i = 0; i < 2; i++) {
                expect_eq(expect_dto(with.request_evd).user_cookie.as_64, i);
                expect_that(message_holds(bufs[i]->addr, MESSAGE, 0), "what was read came damaged");
        }
}

static const struct mismatch {
        const char *id;
        DAT_COUNT iov;
        DAT_COUNT out;
} mismatches[] = {
    {"segments_without_reads", 1, 0},
    {"reads_without_segments", 0, 1},
};

FAMILY(ep_create_with_srq, mismatch, mismatches)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        if (with.param.ep_attr.max_rdma_read_out == 0)
                unsupported(t, "max_rdma_read_per_ep_out = 0");
        with.param.ep_attr.max_rdma_read_iov = row->iov;
        with.param.ep_attr.max_rdma_read_out = row->out;
        DAT_RETURN answer =
            expect_may(ep_creation_call(&with, &ep), DAT_SUCCESS, DAT_INVALID_PARAMETER);

        if (!dat_is(answer, DAT_SUCCESS))
                return;
        DAT_EP_ATTR attr = ep_described(t, ep_creation_adopt(t, &with, ep)).ep_attr;
        expect_eq(attr.max_rdma_read_iov, row->iov);
        expect_eq(attr.max_rdma_read_out, row->out);
}

CASE(ep_create_with_srq, bindings_on_request_evd)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        with.request_evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);

        DAT_EP_HANDLE ep = ep_created(t, &with);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
        DAT_RMR_CONTEXT context;

        expect_connect(ep);
        must(dat_rmr_create(with.pz, &rmr));
        expect(dat_rmr_bind(rmr, &segment, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep,
                            (DAT_RMR_COOKIE){.as_64 = 77}, DAT_COMPLETION_DEFAULT_FLAG, &context),
               DAT_SUCCESS);
        DAT_EVENT event = expect_event(with.request_evd, DAT_RMR_BIND_COMPLETION_EVENT);
        expect_eq(event.event_data.rmr_completion_event_data.user_cookie.as_64, 77);
        must(dat_rmr_free(rmr));
}

CASE(ep_create_with_srq, connection_events_on_connect_evd)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        DAT_EP_HANDLE ep = ep_created(t, &with);
        struct peer_ep *end = expect_connect(ep);

        peer_disconnect(end, DAT_CLOSE_ABRUPT_FLAG);
        DAT_EVENT event = expect_event(with.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        expect_that(event.event_data.connect_event_data.ep_handle == ep, "of another EP");
        expect_quiet(with.recv_evd);
        expect_quiet(with.request_evd);
}

FAMILY(ep_create_with_srq, same_flags_on_one_evd, ep_same_flags)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        expect_same_flags_on_one_evd(t, &with, row);
}

FAMILY(ep_create_with_srq, both_streams_on_one_evd, ep_both_streams)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        ep_creation_set_flags(&with, false, row->flags);
        ep_creation_set_flags(&with, true, row->flags);
        with.request_evd = with.recv_evd;
        DAT_EP_HANDLE ep = ep_created(t, &with);
        struct peer_ep *end = expect_connect(ep);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);

        srq_post(t, with.srq, buf_with(t), MESSAGE, 3, 1);
        peer_post_recv(end, 1, MESSAGE);
        peer_send(end, .length = MESSAGE);
        expect_eq(expect_dto(with.recv_evd).user_cookie.as_64, 3);
        expect(dat_ep_post_send(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 77},
                                DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_eq(expect_dto(with.recv_evd).user_cookie.as_64, 77);
}

FAMILY(ep_create_with_srq, mixed_flags_on_one_evd, ep_mixed_flags)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        expect_mixed_flags_on_one_evd(t, &with, row);
}

FAMILY(ep_create_with_srq, solicited_waits_alone, ep_no_evd)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG |
                                                  DAT_EVD_CONNECTION_FLAG);

        ep_creation_set_flags(&with, false, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
        with.recv_evd = evd;
        if (row->request)
                with.request_evd = evd;
        if (row->connect)
                with.connect_evd = evd;
        if (!row->request && !row->connect) {
                ep_created(t, &with);
                return;
        }
        expect_refused_or_noted(t, &with);
}

CASE(ep_create_with_srq, threshold_beside_other_streams)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        expect_threshold_beside_other_streams(t, &with);
}

/* Only flags of the threshold let completions stand beside other streams. */
CASE(ep_create_with_srq, all_streams_on_one_evd)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        struct peer_ep *end;
        DAT_EP_HANDLE ep;

        with.recv_evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
        with.request_evd = with.recv_evd;
        with.connect_evd = with.recv_evd;
        ep_creation_set_flags(&with, false, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
        ep_creation_set_flags(&with, true, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
        ep = ep_created(t, &with);
        end = expect_connect(ep);

        srq_post(t, with.srq, buf_with(t), MESSAGE, 3, 1);
        peer_send(end, .length = MESSAGE);
        expect_eq(expect_dto(with.recv_evd).user_cookie.as_64, 3);
        peer_post_recv(end, 1, MESSAGE);
        expect(dat_ep_post_send(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 77},
                                DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_eq(expect_dto(with.recv_evd).user_cookie.as_64, 77);
        peer_disconnect(end, DAT_CLOSE_ABRUPT_FLAG);
        expect_event(with.recv_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* Another stream that feeds the receive EVD, beside completions. */
static const struct beside_stream {
        const char *id;
        DAT_EVD_FLAGS flag;
} beside_streams[] = {
    {"software", DAT_EVD_SOFTWARE_FLAG},
    {"connection", DAT_EVD_CONNECTION_FLAG},
    {"cr", DAT_EVD_CR_FLAG},
};

/* An event of the stream, after which one of its EP comes to the EVD. */
static void bring_other_event(struct test *t, const struct beside_stream *row, DAT_EVD_HANDLE evd)
{
        DAT_EVENT software = {.event_number = DAT_SOFTWARE_EVENT};
        struct loop loop;

        if (row->flag == DAT_EVD_SOFTWARE_FLAG) {
                software.event_data.software_event_data.pointer = evd;
                must(dat_evd_post_se(evd, &software));
        } else if (row->flag == DAT_EVD_CR_FLAG) {
                loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});
                loop.requests = evd;
                loop_ask(t, &loop);
                loop_take_request(t, &loop);
                must(dat_cr_reject(loop.request));
                must_event(ep_connect_evd(t, loop.active), DAT_CONNECTION_EVENT_PEER_REJECTED);
        }
}

/* The EP's events and those of the other stream come, each whole and in its order. */
FAMILY(ep_create_with_srq, recv_evd_of_two_streams, beside_streams)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        struct buf *buf = buf_with(t);
        struct peer_ep *end;
        DAT_EVENT event;

        with.recv_evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | row->flag);
        if (row->flag == DAT_EVD_CONNECTION_FLAG)
                with.connect_evd = with.recv_evd;
        end = expect_connect(ep_created(t, &with));
        bring_other_event(t, row, with.recv_evd);
        srq_post(t, with.srq, buf, MESSAGE, 3, 2);
        for (uint64_t i = 0; i < 2; i++) {
                peer_send(end, .length = MESSAGE, .first = i);
                peer_wait_sent(end);
                if (row->flag == DAT_EVD_SOFTWARE_FLAG && i == 0) {
                        event = expect_event(with.recv_evd, DAT_SOFTWARE_EVENT);
                        expect_that(event.event_data.software_event_data.pointer == with.recv_evd,
                                    "the software event has another pointer");
                }
                expect_eq(expect_dto(with.recv_evd).user_cookie.as_64, 3 + i);
                expect_that(message_holds(buf->addr + (3 + i) * MESSAGE, MESSAGE, i),
                            "message %d came damaged", (int)i);
        }
        peer_disconnect(end, DAT_CLOSE_ABRUPT_FLAG);
        expect_event(with.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        expect_quiet(with.recv_evd);
}

static const struct ep_signals signals[] = {
    {"default", DAT_COMPLETION_DEFAULT_FLAG},
    {"unsignalled", DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"threshold", DAT_COMPLETION_EVD_THRESHOLD_FLAG},
};

FAMILY(ep_create_with_srq, receives_signal, signals)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        struct waiter *waiter;
        struct woken woken;

        ep_creation_set_flags(&with, false, row->flags);
        DAT_EP_HANDLE ep = ep_created(t, &with);
        struct peer_ep *end = expect_connect(ep);

        srq_post(t, with.srq, buf_with(t), MESSAGE, 3, 1);
        waiter = wait_on_evd(t, with.recv_evd, DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        peer_send(end, .length = MESSAGE);
        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_number, DAT_DTO_COMPLETION_EVENT);
        expect_eq(woken.event.event_data.dto_completion_event_data.user_cookie.as_64, 3);
}

/* The consumer says by the threshold of its wait how many receives wake it. */
CASE(ep_create_with_srq, threshold_used)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        struct waiter *waiter;
        struct peer_ep *end;
        struct woken woken;

        ep_creation_set_flags(&with, false, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
        end = expect_connect(ep_created(t, &with));
        srq_post(t, with.srq, buf_with(t), MESSAGE, 0, 2);
        waiter = wait_on_evd(t, with.recv_evd, DAT_TIMEOUT_INFINITE, 2);
        must_wait(waiter);
        peer_send(end, .length = MESSAGE);
        peer_wait_sent(end);
        expect_asleep(waiter);
        peer_send(end, .length = MESSAGE, .first = 1);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_number, DAT_DTO_COMPLETION_EVENT);
        expect_eq(woken.more, 1);
        expect_dto(with.recv_evd);
}
