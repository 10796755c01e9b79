/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_recv_query: counts after earlier operations of an EP. */
#include "case/standard.h"
#include "cases/ep/ep_recv_query/fixtures.h"
#include "cases/ep/shared/connect.h"
#include "cases/ep/shared/creation.h"
#include "cases/ep/shared/states.h"
#include "cases/evd/shared/dispatcher.h"
#include "cases/shared/loop.h"
#include "cases/shared/point.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ep_recv_query.h"

#include <limits.h>
#include <string.h>

static DAT_COUNT had_no_segments(struct test *t, struct own *own)
{
        for (int i = 0; i < POSTS; i++)
                must(dat_ep_post_recv(own->ep, 0, NULL, (DAT_DTO_COOKIE){.as_64 = 0},
                                      DAT_COMPLETION_DEFAULT_FLAG));
        return POSTS;
}

/* Its completions wake no waiter. */
static DAT_COUNT had_unsignalled(struct test *t, struct own *own)
{
        DAT_EP_ATTR attr = ep_attr_of(t, 1);
        DAT_LMR_TRIPLET segment = triplet(own->buf, 0, MESSAGE);

        attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
        own->evd = evd_with(t);
        own->ep = ep_with(t, .recv_evd = own->evd, .attr = &attr);
        for (int i = 0; i < POSTS; i++)
                must(dat_ep_post_recv(own->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                      DAT_COMPLETION_UNSIGNALLED_FLAG));
        own->end = peer_connect(peer(t), own->ep);
        own_deliver(t, own, 2);
        return POSTS - 2;
}

static void make_lacking_evds(struct test *t, struct own *own, DAT_EVD_HANDLE recv,
                              DAT_EVD_HANDLE request)
{
        DAT_EP_ATTR attr = ep_attr_of(t, 1);

        own->ep = ep_lacking_evd(t, recv, request, DAT_HANDLE_NULL, &attr);
        own_post(t, own, POSTS);
}

/* Nothing but receives is reported of it. */
static DAT_COUNT had_recv_evd_alone(struct test *t, struct own *own)
{
        make_lacking_evds(t, own, own->evd, DAT_HANDLE_NULL);
        return POSTS;
}

/* Nothing is reported of its receives. */
static DAT_COUNT had_no_recv_evd(struct test *t, struct own *own)
{
        make_lacking_evds(t, own, DAT_HANDLE_NULL, own->evd);
        return POSTS;
}

/* Its sends stand unreaped where the receives would. */
static DAT_COUNT had_one_evd(struct test *t, struct own *own)
{
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);

        own->ep = ep_with(t, .recv_evd = own->evd, .request_evd = own->evd);
        own_post(t, own, POSTS);
        own->end = peer_connect(peer(t), own->ep);
        peer_post_recv(own->end, 2, MESSAGE);
        for (int i = 0; i < 2; i++)
                must(dat_ep_post_send(own->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                      DAT_COMPLETION_DEFAULT_FLAG));
        settle(t);
        return POSTS;
}

static DAT_COUNT had_evd_changed(struct test *t, struct own *own)
{
        DAT_EP_PARAM param = {.recv_evd_handle = evd_with(t)};

        own->ep = ep_with(t, .recv_evd = own->evd);
        own_post(t, own, 2);
        must(dat_ep_modify(own->ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
        own->evd = param.recv_evd_handle;
        ep_reports_to(t, own->ep, DAT_EP_FIELD_RECV_EVD_HANDLE, own->evd);
        own_post(t, own, POSTS - 2);
        own->end = peer_connect(peer(t), own->ep);
        own_deliver(t, own, 2);
        return POSTS - 2;
}

static DAT_COUNT was_modified(struct test *t, struct own *own)
{
        DAT_EP_PARAM param = {.ep_state = DAT_EP_STATE_UNCONNECTED};

        own_post(t, own, 2);
        param.ep_attr.max_request_dtos = 4;
        must(dat_ep_modify(own->ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param));
        own_post(t, own, 1);
        return 3;
}

/* Which is no change to an EP that is Unconnected. */
static DAT_COUNT was_reset_unconnected(struct test *t, struct own *own)
{
        own_post(t, own, POSTS);
        must(dat_ep_reset(own->ep));
        return POSTS;
}

static DAT_COUNT was_passive(struct test *t, struct own *own)
{
        own->ep = ep_in(t, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
        own->evd = ep_recv_evd(t, own->ep);
        own_post(t, own, 2);
        own->end = must_connect(own->ep);
        own_post(t, own, 2);
        own_send(own, 1);
        own_expect_messages(t, own, 1);
        return 3;
}

/* A connection that it requested has come and gone. */
static void was_connected(struct test *t, struct own *own)
{
        own_post(t, own, POSTS);
        own->end = peer_connect(peer(t), own->ep);
        own_send(own, 2);
        own_expect_messages(t, own, 2);
        peer_disconnect(own->end, DAT_CLOSE_ABRUPT_FLAG);
        must_event(ep_connect_evd(t, own->ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        must_flushes(t, own->evd, POSTS - 2);
        must(dat_ep_reset(own->ep));
}

static DAT_COUNT was_reconnected(struct test *t, struct own *own)
{
        was_connected(t, own);
        own->received = own->posted;
        own->sent = own->posted;
        own_post(t, own, 4);
        own->end = must_connect(own->ep);
        own_send(own, 1);
        own_expect_messages(t, own, 1);
        return 3;
}

/* One message has come over the loop, and is reaped. */
static DAT_COUNT received_one(struct test *t, struct own *own, const struct loop *loop)
{
        loop_post_send(t, loop->active, buf_with(t), 0);
        must_dto(own->evd);
        return POSTS - 1;
}

/* It accepted a request, and one message has come. */
static DAT_COUNT accepted_one(struct test *t, struct own *own)
{
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});

        loop.passive = own->ep;
        own_post(t, own, POSTS);
        loop_join(t, &loop);
        return received_one(t, own, &loop);
}

/* Each time it accepted a request. */
static DAT_COUNT was_passive_again(struct test *t, struct own *own)
{
        accepted_one(t, own);
        must(dat_ep_disconnect(own->ep, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, own->ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        must_flushes(t, own->evd, POSTS - 1);
        must(dat_ep_reset(own->ep));
        return accepted_one(t, own);
}

/* The request came to another service point first. */
static DAT_COUNT was_handed_off(struct test *t, struct own *own)
{
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});
        DAT_CONN_QUAL qual;

        loop.passive = own->ep;
        own_post(t, own, POSTS);
        loop_ask(t, &loop);
        loop_listen(t, loop.requests, DAT_PSP_CONSUMER_FLAG, &qual);
        loop_take_request(t, &loop);
        must(dat_cr_handoff(loop.request, qual));
        loop_accept(t, &loop);
        must_event(ep_connect_evd(t, loop.active), DAT_CONNECTION_EVENT_ESTABLISHED);
        must_event(ep_connect_evd(t, own->ep), DAT_CONNECTION_EVENT_ESTABLISHED);
        return received_one(t, own, &loop);
}

/* It requested its first connection, and accepted the second. */
static DAT_COUNT was_active_then_passive(struct test *t, struct own *own)
{
        was_connected(t, own);
        return accepted_one(t, own);
}

/* Nothing but dat_evd_dequeue reaped. */
static DAT_COUNT had_dequeued(struct test *t, struct own *own)
{
        DAT_EVENT event;

        own_post(t, own, POSTS);
        own->end = peer_connect(peer(t), own->ep);
        own_deliver(t, own, 2);
        for (int i = 0; i < 2; i++)
                must(dat_evd_dequeue(own->evd, &event));
        return POSTS - 2;
}

static DAT_COUNT had_empty_message(struct test *t, struct own *own)
{
        own_post(t, own, POSTS);
        own->end = peer_connect(peer(t), own->ep);
        peer_send(own->end, .empty = true);
        must_dto(own->evd);
        return POSTS - 1;
}

/* Each place of its queue was used several times. */
static DAT_COUNT had_many_messages(struct test *t, struct own *own)
{
        own->end = peer_connect(peer(t), own->ep);
        for (int i = 0; i < MANY; i++) {
                own_post(t, own, 3);
                own_send(own, 3);
                own_expect_messages(t, own, 3);
        }
        own_post(t, own, 3);
        return 3;
}

/* The message that was too long ended the connection, or not: what it flushed is counted. */
static DAT_COUNT had_failure(struct test *t, struct own *own)
{
        DAT_COUNT left = POSTS - 1;
        DAT_EVENT event;

        own_post(t, own, POSTS);
        own->end = peer_connect(peer(t), own->ep);
        peer_send(own->end, .length = MESSAGE + 1);
        must_event(own->evd, DAT_DTO_COMPLETION_EVENT);
        settle(t);
        while (event_left(t, own->evd, &event))
                left--;
        return left;
}

static DAT_COUNT was_written_to(struct test *t, struct own *own)
{
        struct buf *target = buf_with(t);

        own_post(t, own, POSTS);
        own->end = peer_connect(peer(t), own->ep);
        peer_write(own->end, target->rmr_context, (DAT_VADDR)(uintptr_t)target->addr, MESSAGE, 0);
        return POSTS;
}

static DAT_COUNT had_sibling_freed(struct test *t, struct own *own)
{
        DAT_EP_HANDLE sibling = ep_with(t, .recv_evd = own->evd);
        struct own other = {.ep = sibling, .evd = own->evd, .buf = own->buf, .length = MESSAGE};

        own_post(t, own, POSTS);
        own_post(t, &other, 2);
        release(t, sibling);
        return POSTS;
}

/* An EP with an SRQ reports to its EVD; of that EP's receives one has its message. */
static DAT_COUNT had_srq_on_evd(struct test *t, struct own *own)
{
        struct queue queue = queue_with(t, 8);
        struct flow beside;

        own_post(t, own, POSTS);
        own->end = peer_connect(peer(t), own->ep);
        beside = flow_open(t, &queue, own->evd);
        queue_post(t, &queue, 3);
        flow_deliver(t, &beside, 1);
        own_deliver(t, own, 1);
        return POSTS - 1;
}

static DAT_COUNT wrote(struct test *t, struct own *own)
{
        DAT_LMR_TRIPLET segment = triplet(own->buf, 0, MESSAGE);
        DAT_RMR_TRIPLET remote = {.segment_length = MESSAGE};
        struct peer_memory memory;

        own_post(t, own, POSTS);
        own->end = peer_connect(peer(t), own->ep);
        memory = peer_expose(own->end, MESSAGE);
        remote.rmr_context = memory.rmr_context;
        remote.target_address = memory.address;
        must(dat_ep_post_rdma_write(own->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0}, &remote,
                                    DAT_COMPLETION_DEFAULT_FLAG));
        must_dto(ep_request_evd(t, own->ep));
        return POSTS;
}

static DAT_COUNT read_from_peer(struct test *t, struct own *own)
{
        DAT_EP_ATTR attr = ep_attr_of(t, 1);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        DAT_RMR_TRIPLET remote = {.segment_length = MESSAGE};
        struct peer_memory memory;

        if (ia_attr(t)->max_rdma_read_per_ep_out < 1)
                unsupported(t, "max_rdma_read_per_ep_out = 0");
        attr.max_rdma_read_out = 1;
        attr.max_rdma_read_iov = 1;
        own->ep = ep_with(t, .recv_evd = own->evd, .attr = &attr);
        own_post(t, own, POSTS);
        own->end = peer_connect(peer(t), own->ep);
        memory = peer_expose(own->end, MESSAGE);
        remote.rmr_context = memory.rmr_context;
        remote.target_address = memory.address;
        must(dat_ep_post_rdma_read(own->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0}, &remote,
                                   DAT_COMPLETION_DEFAULT_FLAG));
        must_dto(ep_request_evd(t, own->ep));
        return POSTS;
}

/* A memory region, on its request EVD. */
static DAT_COUNT had_bound(struct test *t, struct own *own)
{
        DAT_LMR_TRIPLET segment = triplet(own->buf, 0, MESSAGE);
        DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
        DAT_RMR_CONTEXT context;

        must(dat_rmr_create(pz(t), &rmr));
        adopt(t, DAT_HANDLE_TYPE_RMR, rmr);
        own->ep =
            ep_with(t, .recv_evd = own->evd,
                    .request_evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG));
        own_post(t, own, POSTS);
        own->end = peer_connect(peer(t), own->ep);
        must(dat_rmr_bind(rmr, &segment, DAT_MEM_PRIV_REMOTE_READ_FLAG, own->ep,
                          (DAT_RMR_COOKIE){.as_64 = 0}, DAT_COMPLETION_DEFAULT_FLAG, &context));
        must_event(ep_request_evd(t, own->ep), DAT_RMR_BIND_COMPLETION_EVENT);
        return POSTS;
}

static DAT_COUNT was_disconnected_gracefully(struct test *t, struct own *own)
{
        own_post(t, own, POSTS);
        own->end = peer_connect(peer(t), own->ep);
        must(dat_ep_disconnect(own->ep, DAT_CLOSE_GRACEFUL_FLAG));
        must_event(ep_connect_evd(t, own->ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        must_flushes(t, own->evd, POSTS);
        return 0;
}

/* More than a byte can count. */
static DAT_COUNT had_many_receives(struct test *t, struct own *own)
{
        DAT_EP_ATTR attr = ep_attr_of(t, 1);
        DAT_COUNT limit = ia_attr(t)->max_dto_per_ep;

        attr.max_recv_dtos = limit < 300 ? limit : 300;
        own->ep = ep_with(t, .recv_evd = evd_with(t, .qlen = attr.max_recv_dtos), .attr = &attr);
        own_post(t, own, attr.max_recv_dtos);
        return attr.max_recv_dtos;
}

static DAT_COUNT had_refusals(struct test *t, struct own *own)
{
        struct buf *foreign = buf_with(t, .pz = pz_new(t));
        DAT_LMR_TRIPLET good = triplet(own->buf, 0, MESSAGE);
        DAT_COUNT posts = POSTS;

        own_post(t, own, POSTS);
        for (int i = 0; i < 2; i++) {
                DAT_LMR_TRIPLET segment = i ? good : triplet(foreign, 0, MESSAGE);

                if (dat_is(dat_ep_post_recv(own->ep, i ? -1 : 1, &segment,
                                            (DAT_DTO_COOKIE){.as_64 = 0},
                                            DAT_COMPLETION_DEFAULT_FLAG),
                           DAT_SUCCESS))
                        posts++;
        }
        return posts;
}

static void accept_request(struct test *t, struct own *own)
{
        struct peer_cr request = peer_take_request(peer(t));

        own->end = peer_accept(&request, NULL, 0);
        must_event(ep_connect_evd(t, own->ep), DAT_CONNECTION_EVENT_ESTABLISHED);
        peer_wait_connected(own->end);
}

/* To where another EP is connected. */
static DAT_COUNT was_connected_as_another(struct test *t, struct own *own)
{
        struct remote remote;

        remote_set(t, &remote, AS_ANOTHER);
        own->ep = remote.asking.ep;
        own->evd = ep_recv_evd(t, own->ep);
        own_post(t, own, POSTS);
        must(connect_ask(&remote.asking));
        accept_request(t, own);
        own_send(own, 2);
        own_expect_messages(t, own, 2);
        return POSTS - 2;
}

/* Another EP, which has receives of its own, was connected to where this one is. */
static DAT_COUNT was_followed(struct test *t, struct own *own)
{
        struct own other = {.buf = own->buf, .length = MESSAGE};
        struct remote remote;

        remote_set(t, &remote, AS_ANOTHER);
        own->ep = remote.asking.like;
        own->evd = ep_recv_evd(t, own->ep);
        own->end = remote.old_end;
        own_post(t, own, POSTS);
        other.ep = remote.asking.ep;
        own_post(t, &other, 1);
        must(connect_ask(&remote.asking));
        accept_request(t, &other);
        own_send(own, 1);
        own_expect_messages(t, own, 1);
        return POSTS - 1;
}

/* What a vain request flushed is complete; how many that are is asked of dat_ep_connect. */
static DAT_COUNT not_flushed(struct test *t, const struct own *own)
{
        DAT_COUNT left = POSTS;
        DAT_EVENT event;

        settle(t);
        while (event_left(t, own->evd, &event))
                left--;
        return left;
}

static DAT_COUNT was_rejected(struct test *t, struct own *own)
{
        struct peer_cr request;
        struct remote remote;

        remote_set(t, &remote, BY_ADDRESS);
        own->ep = remote.asking.ep;
        own->evd = ep_recv_evd(t, own->ep);
        own_post(t, own, POSTS);
        must(connect_ask(&remote.asking));
        request = peer_take_request(peer(t));
        peer_reject(&request);
        must_event(ep_connect_evd(t, own->ep), DAT_CONNECTION_EVENT_PEER_REJECTED);
        return not_flushed(t, own);
}

static DAT_COUNT was_not_heard(struct test *t, struct own *own)
{
        own_post(t, own, POSTS);
        must(dat_ep_connect(own->ep, ia_address(t), point_qual(t), event_timeout(t), 0, NULL,
                            DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
        must_event(ep_connect_evd(t, own->ep), DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        return not_flushed(t, own);
}

static DAT_COUNT had_evd_resized(struct test *t, struct own *own)
{
        DAT_EVD_PARAM param = {.evd_qlen = 0};

        own_post(t, own, POSTS);
        own->end = peer_connect(peer(t), own->ep);
        own_deliver(t, own, 2);
        must(dat_evd_query(own->evd, DAT_EVD_FIELD_EVD_QLEN, &param));
        (void)dat_evd_resize(own->evd, 2 * param.evd_qlen);
        return POSTS - 2;
}

/* Messages have come to an EVD of this kind, where their completions stand unreaped. */
static DAT_COUNT delivered_to(struct test *t, struct own *own, DAT_EVD_HANDLE evd)
{
        own->evd = evd;
        own->ep = ep_with(t, .recv_evd = evd);
        own_post(t, own, POSTS);
        own->end = peer_connect(peer(t), own->ep);
        own_deliver(t, own, 2);
        return POSTS - 2;
}

static DAT_COUNT had_cno(struct test *t, struct own *own)
{
        return delivered_to(t, own, evd_with(t, .cno = cno_new(t)));
}

static DAT_COUNT had_evd_disabled(struct test *t, struct own *own)
{
        DAT_EVD_HANDLE evd = evd_with(t, .cno = cno_new(t));

        must(dat_evd_disable(evd));
        return delivered_to(t, own, evd);
}

static DAT_COUNT had_evd_unwaitable(struct test *t, struct own *own)
{
        DAT_EVD_HANDLE evd = evd_with(t);

        must(dat_evd_set_unwaitable(evd));
        return delivered_to(t, own, evd);
}

/* Which leaves all as it is (EP-30). */
static DAT_COUNT had_change_refused(struct test *t, struct own *own)
{
        DAT_EP_PARAM param = {.ep_state = DAT_EP_STATE_UNCONNECTED};

        own_post(t, own, POSTS);
        param.ep_attr.recv_completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
        (void)dat_ep_modify(own->ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param);
        return POSTS;
}

static const struct history {
        const char *id;
        DAT_COUNT (*make)(struct test *t, struct own *own);
} histories[] = {
    {"no_segments", had_no_segments},
    {"unsignalled", had_unsignalled},
    {"recv_evd_alone", had_recv_evd_alone},
    {"no_recv_evd", had_no_recv_evd},
    {"one_evd", had_one_evd},
    {"evd_changed", had_evd_changed},
    {"modified", was_modified},
    {"reset_unconnected", was_reset_unconnected},
    {"passive", was_passive},
    {"reconnected", was_reconnected},
    {"dequeued", had_dequeued},
    {"empty_message", had_empty_message},
    {"many_messages", had_many_messages},
    {"failure", had_failure},
    {"written_to", was_written_to},
    {"sibling_freed", had_sibling_freed},
    {"srq_on_evd", had_srq_on_evd},
    {"wrote", wrote},
    {"read", read_from_peer},
    {"bound", had_bound},
    {"disconnected_gracefully", was_disconnected_gracefully},
    {"many_receives", had_many_receives},
    {"refusals", had_refusals},
    {"connected_as_another", was_connected_as_another},
    {"followed", was_followed},
    {"rejected", was_rejected},
    {"not_heard", was_not_heard},
    {"evd_resized", had_evd_resized},
    {"change_refused", had_change_refused},
    {"passive_again", was_passive_again},
    {"handed_off", was_handed_off},
    {"active_then_passive", was_active_then_passive},
    {"cno", had_cno},
    {"evd_disabled", had_evd_disabled},
    {"evd_unwaitable", had_evd_unwaitable},
};

FAMILY(ep_recv_query, after, histories)
{
        struct own own = own_with(t, 0);
        DAT_COUNT left = row->make(t, &own);
        struct info info = recv_info(t, own.ep);

        expect_count(t, info.count, left);
        expect_idle_span(t, info.span, left);
}
