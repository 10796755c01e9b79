/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/srq/shared/queue.h"
#include "case/ep_attr.h"
#include "case/limits.h"
#include "cases/ep/shared/creation.h"
#include "cases/evd/shared/dispatcher.h"
#include "cases/shared/rmr.h"

#include <limits.h>

/* Looks, a tenth of a quiet period apart, in which a message comes through a slow network. */
#define LOOKS 400

struct queue queue_for(struct test *t, DAT_COUNT size, size_t length, size_t slots)
{
        return (struct queue){.srq = srq_with(t, .max_recv_dtos = size),
                              .length = length,
                              .buf = buf_with(t, .length = slots * length)};
}

struct queue queue_with(struct test *t, DAT_COUNT size)
{
        return queue_for(t, size, MESSAGE, SLOTS);
}

struct queue queue_of_other_ia(struct test *t, DAT_COUNT size)
{
        DAT_IA_HANDLE other = other_ia(t);
        DAT_PZ_HANDLE zone = pz_of(t, other);

        return (struct queue){
            .srq = srq_with(t, .ia = other, .pz = zone, .max_recv_dtos = size),
            .length = MESSAGE,
            .buf = buf_with(t, .ia = other, .pz = zone, .length = SLOTS * MESSAGE),
        };
}

/* Takes a slot of the queue's memory for a receive. */
static int take_slot(struct queue *queue)
{
        int slot = __builtin_ctzll(~queue->posted);

        queue->posted |= UINT64_C(1) << slot;
        return slot;
}

static DAT_RETURN post_slot(const struct queue *queue, int slot)
{
        DAT_LMR_TRIPLET segment = triplet(queue->buf, (size_t)slot * queue->length, queue->length);

        return dat_srq_post_recv(queue->srq, 1, &segment,
                                 (DAT_DTO_COOKIE){.as_64 = (DAT_UINT64)slot ^ queue->cookie_bits});
}

void queue_post(struct test *t, struct queue *queue, int count)
{
        for (int i = 0; i < count; i++)
                must(post_slot(queue, take_slot(queue)));
}

void expect_posts(struct test *t, struct queue *queue, int count)
{
        for (int i = 0; i < count; i++)
                expect(post_slot(queue, take_slot(queue)), DAT_SUCCESS);
}

DAT_COUNT srq_size(struct test *t, DAT_SRQ_HANDLE srq)
{
        return srq_param(t, srq).max_recv_dtos;
}

DAT_COUNT queue_places(struct test *t, const struct queue *queue)
{
        DAT_COUNT size = srq_size(t, queue->srq);

        return size < SLOTS ? size : SLOTS;
}

DAT_COUNT srq_size_above(struct test *t, DAT_SRQ_HANDLE srq, DAT_COUNT more)
{
        DAT_COUNT size = srq_size(t, srq);
        DAT_COUNT limit = limit_or_none(max_recv_per_srq);

        if (size >= limit) {
                note(t, "the queue has the %d places of max_recv_per_srq without being asked",
                     limit);
                return size;
        }
        return more < limit - size ? size + more : limit;
}

DAT_COUNT srq_fill(struct test *t, DAT_SRQ_HANDLE srq, const struct buf *buf)
{
        DAT_LMR_TRIPLET segment = triplet(buf, 0, 1);
        DAT_COUNT size = srq_size(t, srq);

        for (DAT_COUNT i = 0; i < size; i++)
                must(dat_srq_post_recv(srq, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0}));
        return size;
}

void expect_room(struct test *t, const struct queue *queue, DAT_COUNT count)
{
        DAT_LMR_TRIPLET segment = triplet(queue->buf, 0, queue->length);

        for (DAT_COUNT i = 0; i < count; i++)
                expect(dat_srq_post_recv(queue->srq, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0}),
                       DAT_SUCCESS);
}

/* No receive of the SRQ is in the way of a resize below the mark. */
static bool is_below(DAT_SRQ_PARAM param, DAT_COUNT mark)
{
        return param.available_dto_count != DAT_VALUE_UNKNOWN &&
               param.outstanding_dto_count != DAT_VALUE_UNKNOWN &&
               param.available_dto_count < mark && param.outstanding_dto_count < mark;
}

DAT_COUNT queried_mark(struct test *t, DAT_SRQ_HANDLE srq, DAT_COUNT mark)
{
        DAT_SRQ_PARAM param = srq_param(t, srq);

        if (param.low_watermark != mark && is_below(param, mark))
                must_that_of("dat_srq_query", dat_is(dat_srq_resize(srq, mark - 1), DAT_SUCCESS),
                             "the low watermark is %d, and one of %d keeps the size",
                             (int)param.low_watermark, (int)mark);
        return param.low_watermark;
}

void queue_mark(struct test *t, const struct queue *queue, DAT_COUNT mark)
{
        DAT_COUNT told;

        must(dat_srq_set_lw(queue->srq, mark));
        told = queried_mark(t, queue->srq, mark);
        must_that_of("dat_srq_set_lw", told == mark, "the low watermark is %d, and %d was set",
                     told, mark);
}

struct flow flow_open(struct test *t, const struct queue *queue, DAT_EVD_HANDLE evd)
{
        DAT_EP_HANDLE ep = ep_with(t, .srq = queue->srq, .recv_evd = evd);

        return (struct flow){.ep = ep,
                             .evd = ep_recv_evd(t, ep),
                             .end = peer_connect(peer(t), ep),
                             .length = queue->length};
}

struct flow flow_by(struct test *t, const struct queue *queue, const struct ep_route *route)
{
        DAT_EP_HANDLE ep = ep_by(t, route, .srq = queue->srq);

        return (struct flow){
            .ep = ep, .evd = ep_recv_evd(t, ep), .end = ep_end(t, ep), .length = queue->length};
}

/* A connection of an EP that is to report receives to `evd`. */
static struct flow flow_of_ep(struct test *t, const struct queue *queue, DAT_EP_HANDLE ep,
                              DAT_EVD_HANDLE evd)
{
        return (struct flow){
            .ep = ep, .evd = evd, .end = peer_connect(peer(t), ep), .length = queue->length};
}

struct flow flow_notifying(struct test *t, const struct queue *queue, DAT_COMPLETION_FLAGS flags,
                           DAT_CNO_HANDLE cno)
{
        DAT_EP_PARAM param = {.ep_state = DAT_EP_STATE_UNCONNECTED};
        DAT_EVD_HANDLE evd;
        DAT_EP_HANDLE ep = ep_with(t, .srq = queue->srq);

        must(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
        release(t, ep);
        param.ep_attr.recv_completion_flags = flags;
        evd = evd_with(t, .cno = cno);
        ep = ep_with(t, .srq = queue->srq, .attr = &param.ep_attr, .recv_evd = evd);
        return flow_of_ep(t, queue, ep, evd);
}

struct flow flow_unreported(struct test *t, const struct queue *queue)
{
        struct ep_creation with = {
            .ia = ia(t),
            .pz = pz(t),
            .request_evd = evd_with(t),
            .connect_evd = evd_with(t, .flags = DAT_EVD_CONNECTION_FLAG),
            .srq = queue->srq,
            .param.ep_attr = ep_attr_modest(ia_attr_if_told(t)),
        };
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        if (!dat_is(ep_creation_call(&with, &ep), DAT_SUCCESS))
                end_noted(t, "no EP is made without a receive EVD (EP-91)");
        ep_creation_adopt(t, &with, ep);
        return flow_of_ep(t, queue, ep, DAT_HANDLE_NULL);
}

struct flow flow_of_other_ia(struct test *t, const struct queue *queue)
{
        DAT_IA_HANDLE other = other_ia(t);
        struct ep_creation with = {
            .ia = other,
            .pz = srq_param(t, queue->srq).pz_handle,
            .recv_evd = evd_with(t, .ia = other),
            .request_evd = evd_with(t, .ia = other),
            .connect_evd = evd_with(t, .ia = other, .flags = DAT_EVD_CONNECTION_FLAG),
            .srq = queue->srq,
            .param.ep_attr = ep_attr_modest(ia_attr_if_told(t)),
        };
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        must(ep_creation_call(&with, &ep));
        return flow_of_ep(t, queue, ep_creation_adopt(t, &with, ep), with.recv_evd);
}

void flow_is_written_to(struct test *t, const struct flow *flow)
{
        struct buf *target = buf_with(t);

        peer_write(flow->end, target->rmr_context, (DAT_VADDR)(uintptr_t)target->addr, MESSAGE, 0);
}

struct flow flow_with_sends(struct test *t, const struct queue *queue, int count)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = queue->srq, .recv_evd = evd, .request_evd = evd);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, queue->length);
        struct peer_ep *end = peer_connect(peer(t), ep);

        peer_post_recv(end, count, queue->length);
        for (int i = 0; i < count; i++)
                must(dat_ep_post_send(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                      DAT_COMPLETION_DEFAULT_FLAG));
        settle(t);
        return (struct flow){.ep = ep, .evd = evd, .end = end, .length = queue->length};
}

/* For one request of each kind at a time. */
static DAT_EP_ATTR asking_attr(struct test *t)
{
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr_if_told(t));

        attr.max_recv_dtos = 8;
        attr.max_request_dtos = 4;
        attr.max_rdma_read_out = ia_attr_if_told(t)->max_rdma_read_per_ep_out ? 1 : 0;
        attr.max_rdma_read_iov = attr.max_rdma_read_out;
        return attr;
}

/* One request of several: the clauses about the SRQ are asked without it too. */
static void bind_once(struct test *t, DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *segment)
{
        DAT_RMR_HANDLE rmr = rmr_if_any(t, pz(t));
        DAT_RMR_CONTEXT context;

        if (rmr == DAT_HANDLE_NULL)
                return;
        must(dat_rmr_bind(rmr, segment, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep,
                          (DAT_RMR_COOKIE){.as_64 = 0}, DAT_COMPLETION_DEFAULT_FLAG, &context));
        must_event(ep_request_evd(t, ep), DAT_RMR_BIND_COMPLETION_EVENT);
}

struct flow flow_with_requests(struct test *t, const struct queue *queue)
{
        const DAT_DTO_COOKIE cookie = {.as_64 = 0};
        DAT_EP_ATTR attr = asking_attr(t);
        DAT_EVD_FLAGS both = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG;
        DAT_EP_HANDLE ep =
            ep_with(t, .srq = queue->srq, .request_evd = evd_with(t, .flags = both), .attr = &attr);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, queue->length);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct peer_memory memory = peer_expose(end, queue->length);
        DAT_RMR_TRIPLET remote = {
            .rmr_context = memory.rmr_context,
            .target_address = memory.address,
            .segment_length = queue->length,
        };

        peer_post_recv(end, 1, queue->length);
        must(dat_ep_post_send(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));
        must_dto(ep_request_evd(t, ep));
        must(dat_ep_post_rdma_write(ep, 1, &segment, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG));
        must_dto(ep_request_evd(t, ep));
        bind_once(t, ep, &segment);
        if (attr.max_rdma_read_out) {
                must(dat_ep_post_rdma_read(ep, 1, &segment, cookie, &remote,
                                           DAT_COMPLETION_DEFAULT_FLAG));
                must_dto(ep_request_evd(t, ep));
        }
        return (struct flow){
            .ep = ep, .evd = ep_recv_evd(t, ep), .end = end, .length = queue->length};
}

void flow_send(struct flow *flow, int count)
{
        peer_send(flow->end, .count = count, .length = flow->length, .first = flow->sent);
        flow->sent += count;
}

/* The messages arrive, and their completions stand unreaped. */
void flow_deliver(struct test *t, struct flow *flow, int count)
{
        flow_send(flow, count);
        peer_wait_sent(flow->end);
        settle(t);
}

/* How many posted receives begin with, or are, the message that the flow sent last. */
static int receives_of(const struct queue *queue, const struct flow *flow, size_t length)
{
        int found = 0;

        for (int slot = 0; slot < SLOTS; slot++)
                if ((queue->posted >> slot & 1) &&
                    message_holds(queue->buf->addr + (size_t)slot * queue->length, length,
                                  flow->sent - 1))
                        found++;
        return found;
}

bool queue_holds_last(const struct queue *queue, const struct flow *flow)
{
        return receives_of(queue, flow, queue->length) > 0;
}

static int receives_of_all(const struct queue *queue, const struct flow *flows, int count,
                           size_t length)
{
        int found = 0;

        for (int i = 0; i < count; i++)
                found += receives_of(queue, &flows[i], length);
        return found;
}

void flows_hold(struct test *t, const struct queue *queue, struct flow *flows, int count)
{
        bool in_part = false;
        int begun = 0;

        peer_disturb(peer(t), .kbit_per_s = SLOW_KBIT);
        for (int i = 0; i < count; i++) {
                /* The first bytes of the messages differ. */
                flows[i].sent += (uint64_t)i;
                flows[i].received += (uint64_t)i;
                flow_send(&flows[i], 1);
        }
        for (int look = 0; look < LOOKS && begun < count; look++) {
                settle_briefly(t);
                begun = receives_of_all(queue, flows, count, MESSAGE);
                in_part |= begun > receives_of_all(queue, flows, count, queue->length);
                if (begun > 0 && !in_part)
                        unsupported_in_part(t);
        }
        must_that(begun == count, "of %d messages on their way %d have begun to come", count,
                  begun);
        must_be_coming(t, queue, flows, count);
}

void unsupported_in_part(struct test *t)
{
        unsupported(t, "messages in part: the transport shows none before it is whole (SRQ-30)");
}

void must_be_coming(struct test *t, const struct queue *queue, const struct flow *flows, int count)
{
        for (int i = 0; i < count; i++)
                must_that(receives_of(queue, &flows[i], queue->length) == 0,
                          "message %d was whole before the case had looked", i);
}

void must_end_after_failure(struct test *t, const struct flow *flow)
{
        DAT_EVD_HANDLE evd = ep_connect_evd(t, flow->ep);
        DAT_EVENT event;
        DAT_COUNT more;

        if (!dat_is(dat_evd_wait(evd, event_timeout(t), 1, &event, &more), DAT_SUCCESS)) {
                note(t, "a connection stays after a DTO has failed (DTO-4, DTO-42)");
                must(dat_ep_disconnect(flow->ep, DAT_CLOSE_ABRUPT_FLAG));
                must_event(evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        }
        must_that(ep_state(t, flow->ep) == DAT_EP_STATE_DISCONNECTED,
                  "the EP is not Disconnected after a failure");
}

void flow_pend(struct test *t, const struct queue *queue, const struct flow *flow)
{
        DAT_LMR_TRIPLET segment = triplet(queue->buf, (SLOTS - 1) * queue->length, 1);

        must(dat_ep_post_send(flow->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                              DAT_COMPLETION_DEFAULT_FLAG));
        must(dat_ep_disconnect(flow->ep, DAT_CLOSE_GRACEFUL_FLAG));
        settle(t);
        if (ep_state(t, flow->ep) != DAT_EP_STATE_DISCONNECTED)
                return;
        must_event(ep_connect_evd(t, flow->ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        peer_wait_disconnected(flow->end);
        unsupported(t, "DAT_EP_STATE_DISCONNECT_PENDING: the transport let no send wait");
}

void flow_break(struct test *t, const struct flow *flow)
{
        peer_disconnect(flow->end, DAT_CLOSE_ABRUPT_FLAG);
        must_event(ep_connect_evd(t, flow->ep), DAT_CONNECTION_EVENT_DISCONNECTED);
}

/*
 * A completion that names the SRQ instead of its EP is judged by srq_post_recv/completion_names_ep.
 * Elsewhere it is of the only EP that it can be of.
 */
static struct flow *flow_of(struct test *t, const struct queue *queue, struct flow *flows,
                            int count, DAT_EP_HANDLE ep)
{
        if (ep == queue->srq && count == 1)
                return flows;
        if (ep == queue->srq)
                must_that_of("dat_srq_post_recv", ep != queue->srq,
                             "a completion names the SRQ, and not the EP");
        for (int i = 0; i < count; i++)
                if (flows[i].ep == ep)
                        return &flows[i];
        return NULL;
}

void check_message(struct test *t, struct queue *queue, struct flow *flows, int count,
                   const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
        struct flow *flow = flow_of(t, queue, flows, count, dto->ep_handle);
        uint64_t slot = dto->user_cookie.as_64 ^ queue->cookie_bits;

        expect_that(flow != NULL, "a completion of an EP that is none of the case's");
        expect_that(slot < SLOTS && (queue->posted >> slot & 1),
                    "cookie %#llx, which is not posted or came back before",
                    (unsigned long long)dto->user_cookie.as_64);
        expect_eq(dto->transfered_length, queue->length);
        expect_that(
            message_holds(queue->buf->addr + slot * queue->length, queue->length, flow->received),
            "receive %llu does not hold message %llu of its connection", (unsigned long long)slot,
            (unsigned long long)flow->received);
        flow->received++;
        queue->posted &= ~(UINT64_C(1) << slot);
}

void expect_messages(struct test *t, struct queue *queue, struct flow *flow, int count)
{
        for (int i = 0; i < count; i++) {
                DAT_DTO_COMPLETION_EVENT_DATA dto = expect_dto(flow->evd);

                check_message(t, queue, flow, 1, &dto);
        }
}

void expect_traffic(struct test *t, struct queue *queue, struct flow *flow, int count)
{
        flow_send(flow, count);
        expect_messages(t, queue, flow, count);
}

void expect_count(struct test *t, DAT_COUNT dto_count, DAT_COUNT wanted)
{
        if (dto_count == DAT_VALUE_UNKNOWN)
                note(t, "DAT_VALUE_UNKNOWN was returned for a count (SRQ-10)");
        else
                expect_eq(dto_count, wanted);
}

DAT_COUNT taken_ahead(struct test *t, const struct flow *flows, int count)
{
        DAT_COUNT ahead = 0;

        if (!provider_attr(t)->ep_recv_info_supported)
                return 0;
        for (int i = 0; i < count; i++) {
                DAT_COUNT held = DAT_VALUE_UNKNOWN;
                DAT_COUNT span;

                must(dat_ep_recv_query(flows[i].ep, &held, &span));
                if (held == DAT_VALUE_UNKNOWN)
                        return 0;
                ahead += held;
        }
        return ahead;
}

void expect_available(struct test *t, DAT_COUNT dto_count, const struct flow *flows, int count,
                      DAT_COUNT wanted)
{
        DAT_COUNT ahead = taken_ahead(t, flows, count);

        if (dto_count >= wanted || ahead == 0) {
                expect_count(t, dto_count, wanted);
                return;
        }
        expect_eq(dto_count, wanted - ahead);
        note(t, "of %d receives EPs took %d before a message came for them (SRQ-31)", wanted,
             ahead);
}

void expect_attributes(struct test *t, const DAT_SRQ_PARAM *before, const DAT_SRQ_PARAM *after)
{
        expect_that(after->ia_handle == before->ia_handle, "the SRQ is of another IA");
        expect_that(after->pz_handle == before->pz_handle, "the SRQ is of another PZ");
        expect_eq(after->srq_state, before->srq_state);
        expect_eq(after->max_recv_dtos, before->max_recv_dtos);
        expect_eq(after->max_recv_iov, before->max_recv_iov);
        expect_eq(after->low_watermark, before->low_watermark);
}

void expect_kept(struct test *t, DAT_SRQ_HANDLE srq, const DAT_SRQ_PARAM *before)
{
        DAT_SRQ_PARAM after = {.ia_handle = DAT_HANDLE_NULL};

        expect(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &after), DAT_SUCCESS);
        expect_attributes(t, before, &after);
        if (before->available_dto_count != DAT_VALUE_UNKNOWN)
                expect_count(t, after.available_dto_count, before->available_dto_count);
        if (before->outstanding_dto_count != DAT_VALUE_UNKNOWN)
                expect_count(t, after.outstanding_dto_count, before->outstanding_dto_count);
}

/*
 * The receives of a queue, none of them unreaped, that the EP has not taken ahead. A count of those
 * that does not add up to what is available excuses nothing.
 */
static DAT_COUNT left_on(struct test *t, const struct armed *armed)
{
        DAT_COUNT posted = __builtin_popcountll(armed->queue.posted);
        DAT_COUNT left = posted - taken_ahead(t, &armed->flow, armed->flow.ep ? 1 : 0);
        DAT_COUNT told = srq_param(t, armed->queue.srq).available_dto_count;

        return told == DAT_VALUE_UNKNOWN || told == left ? left : posted;
}

void arm_mark(struct test *t, struct armed *armed, DAT_COUNT mark)
{
        DAT_COUNT posted = __builtin_popcountll(armed->queue.posted);
        DAT_COUNT left = left_on(t, armed);

        must(dat_srq_set_lw(armed->queue.srq, mark));
        armed->raised = drain_async_event(t);
        if (!armed->raised)
                return;
        must_that(mark < posted || left < mark, "an event came with %d receives at a mark of %d",
                  left, mark);
        note(t, "the event came when the mark of %d was set (%s)", mark,
             left < mark ? "SRQ-31" : "SRQ-3");
}

int reap_disconnected(struct test *t, struct queue *queue, struct flow *flow)
{
        bool overflows = flow->overflows;
        int flushed = 0;
        DAT_EVENT event;

        settle(t);
        while (event_left(t, flow->evd, &event)) {
                DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;
                uint64_t slot = dto->user_cookie.as_64 ^ queue->cookie_bits;

                expect_eq(event.event_number, DAT_DTO_COMPLETION_EVENT);
                if (dto->status == DAT_DTO_SUCCESS) {
                        expect_that(flushed == 0, "a message was received after a flush");
                        check_message(t, queue, flow, 1, dto);
                        continue;
                }
                if (overflows) {
                        expect_eq(dto->status, DAT_DTO_ERR_LOCAL_LENGTH);
                        overflows = false;
                } else {
                        expect_eq(dto->status, DAT_DTO_ERR_FLUSHED);
                        flushed++;
                }
                expect_that(flow_of(t, queue, flow, 1, dto->ep_handle) != NULL,
                            "the failed receive is of another EP");
                expect_that(slot < SLOTS && (queue->posted >> slot & 1),
                            "cookie %#llx, which is not posted or came back before",
                            (unsigned long long)dto->user_cookie.as_64);
                queue->posted &= ~(UINT64_C(1) << slot);
        }
        expect_that(!overflows, "the receive of a message that was too long did not complete");
        return flushed;
}

void expect_rest_usable(struct test *t, struct queue *queue)
{
        struct flow flow = flow_open(t, queue, DAT_HANDLE_NULL);
        int rest = __builtin_popcountll(queue->posted);

        flow_send(&flow, rest);
        expect_messages(t, queue, &flow, rest);
        expect_quiet(flow.evd);
}

DAT_RETURN take_by_dequeue(DAT_EVD_HANDLE evd, DAT_COUNT there, DAT_EVENT *event)
{
        (void)there;
        return dat_evd_dequeue(evd, event);
}

DAT_RETURN take_by_wait(DAT_EVD_HANDLE evd, DAT_COUNT there, DAT_EVENT *event)
{
        (void)there;
        return take_by_wait_for_all(evd, 1, event);
}

/* All are there when the call returns, and it takes one of them. */
DAT_RETURN take_by_wait_for_all(DAT_EVD_HANDLE evd, DAT_COUNT there, DAT_EVENT *event)
{
        DAT_COUNT more;

        return dat_evd_wait(evd, 0, there, event, &more);
}

void evd_turn(struct test *t, DAT_EVD_HANDLE evd, int turn)
{
        DAT_EVD_PARAM param = {.evd_qlen = 0};

        if (turn == 0) {
                must(dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &param));
                (void)dat_evd_resize(evd, 2 * param.evd_qlen);
        } else if (turn == 1) {
                (void)dat_evd_disable(evd);
        } else {
                (void)dat_evd_set_unwaitable(evd);
        }
}

static DAT_RETURN ask_in_vain(struct test *t, const struct queue *queue, const struct flow *flow,
                              int turn)
{
        const DAT_DTO_COOKIE cookie = {.as_64 = 0};
        DAT_LMR_TRIPLET segment = triplet(queue->buf, 0, queue->length);
        DAT_RMR_TRIPLET remote = {.segment_length = queue->length};
        DAT_SRQ_PARAM param;

        switch (turn) {
        case 0:
                return dat_srq_post_recv(queue->srq, -1, &segment, cookie);
        case 1:
                return dat_srq_set_lw(queue->srq, INT_MAX);
        case 2:
                return dat_srq_query(queue->srq, (DAT_SRQ_PARAM_MASK)~0U, &param);
        case 3:
                return dat_srq_free(queue->srq);
        case 4:
                return dat_pz_free(pz(t));
        case 5:
                return dat_evd_free(flow->evd);
        case 6:
                return dat_ep_reset(flow->ep);
        case 7:
                return dat_ep_post_recv(flow->ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG);
        case 8:
                return dat_ep_post_send(flow->ep, -1, &segment, cookie,
                                        DAT_COMPLETION_DEFAULT_FLAG);
        default:
                return dat_ep_post_rdma_write(flow->ep, -1, &segment, cookie, &remote,
                                              DAT_COMPLETION_DEFAULT_FLAG);
        }
}

void vain_turn(struct test *t, const struct queue *queue, const struct flow *flow, int turn)
{
        DAT_RETURN ret = ask_in_vain(t, queue, flow, turn);

        must_that(!dat_is(ret, DAT_SUCCESS), "what must be refused was granted, in turn %d", turn);
}

/* Of an EVD and its CNO: what is not granted is for other pages, but the EVD must stay waitable. */
static void calm_evd_turn(struct test *t, DAT_EVD_HANDLE evd, int turn)
{
        DAT_EVD_PARAM param = {.evd_qlen = 0};
        DAT_CNO_HANDLE cno;

        switch (turn) {
        case 0:
                must(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
                (void)dat_evd_resize(evd, 2 * param.evd_qlen);
                break;
        case 1:
                (void)dat_evd_disable(evd);
                must(dat_evd_enable(evd));
                break;
        case 2:
                (void)dat_evd_set_unwaitable(evd);
                must(dat_evd_clear_unwaitable(evd));
                break;
        default:
                cno = cno_new(t);
                must(dat_evd_modify_cno(evd, cno));
                must(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
                release(t, cno);
        }
}

/* Of the EP, or of another one. */
static void calm_ep_turn(struct test *t, const struct queue *queue, const struct flow *flow,
                         int turn)
{
        DAT_CONTEXT context = {.as_64 = UINT64_MAX};
        DAT_EP_PARAM param;
        DAT_EP_STATE state;
        DAT_BOOLEAN idle[2];
        DAT_COUNT counts[2];

        switch (turn) {
        case 0:
                must(dat_ep_query(flow->ep, DAT_EP_FIELD_ALL, &param));
                (void)dat_ep_get_status(flow->ep, &state, &idle[0], &idle[1]);
                break;
        case 1:
                (void)dat_ep_recv_query(flow->ep, &counts[0], &counts[1]);
                break;
        case 2:
                (void)dat_ep_set_watermark(flow->ep, DAT_WATERMARK_INFINITE,
                                           DAT_WATERMARK_INFINITE);
                break;
        case 3:
                (void)dat_set_consumer_context(flow->ep, context);
                (void)dat_set_consumer_context(queue->srq, context);
                break;
        case 4:
                release(t, ep_with(t));
                break;
        default:
                release(t, ep_with(t, .srq = queue->srq));
        }
}

/* Of memory and zones. */
static void calm_memory_turn(struct test *t, const struct queue *queue, int turn)
{
        DAT_LMR_TRIPLET segment = triplet(queue->buf, 0, queue->length);
        DAT_RMR_HANDLE rmr;
        DAT_LMR_PARAM param;

        switch (turn) {
        case 0:
                (void)dat_lmr_query(queue->buf->lmr, DAT_LMR_FIELD_ALL, &param);
                release(t, buf_with(t));
                break;
        case 1:
                rmr = rmr_if_any(t, pz(t));
                if (rmr != DAT_HANDLE_NULL)
                        release(t, rmr);
                break;
        case 2:
                release(t, pz_new(t));
                break;
        default:
                (void)dat_lmr_sync_rdma_read(ia(t), &segment, 1);
                (void)dat_lmr_sync_rdma_write(ia(t), &segment, 1);
        }
}

/* Of the SRQ, or of another one. */
static void calm_srq_turn(struct test *t, const struct queue *queue, int turn)
{
        struct queue other;

        switch (turn) {
        case 0:
                must(dat_srq_resize(queue->srq, srq_size(t, queue->srq)));
                break;
        case 1:
                release(t, srq_with(t));
                break;
        default:
                other = queue_with(t, 4);
                (void)post_slot(&other, 0);
                (void)dat_srq_resize(other.srq, 3);
                release(t, other.srq);
        }
}

void calm_turn(struct test *t, const struct queue *queue, const struct flow *flow, int turn)
{
        if (turn < 4)
                calm_evd_turn(t, flow->evd, turn);
        else if (turn < 10)
                calm_ep_turn(t, queue, flow, turn - 4);
        else if (turn < 14)
                calm_memory_turn(t, queue, turn - 10);
        else
                calm_srq_turn(t, queue, turn - 14);
}

struct armed queue_armed(struct test *t, int posts, DAT_COUNT mark)
{
        struct armed armed = {.queue = queue_with(t, 8)};

        queue_post(t, &armed.queue, posts);
        arm_mark(t, &armed, mark);
        return armed;
}

struct armed armed_with(struct test *t, int posts, DAT_COUNT mark)
{
        struct armed armed = {.queue = queue_with(t, 8)};

        armed.flow = flow_open(t, &armed.queue, DAT_HANDLE_NULL);
        queue_post(t, &armed.queue, posts);
        arm_mark(t, &armed, mark);
        return armed;
}

void expect_mark_event(struct test *t, const struct armed *armed)
{
        if (armed->raised)
                expect_quiet(async_evd(t));
        else
                expect_async_event(armed->queue.srq);
}

void expect_no_mark_event(struct test *t, struct flow *flow)
{
        expect_quiet(async_evd(t));
        for (; flow->received < flow->sent; flow->received++)
                must_dto(flow->evd);
        expect_quiet(async_evd(t));
}

void expect_stale_srq(struct test *t, DAT_RETURN (*call)(void *srq))
{
        DAT_HANDLE srq = bad_handle(t, DAT_HANDLE_TYPE_SRQ, BAD_HANDLE_DESTROYED);
        DAT_RETURN answer;

        if (subprocess_call(t, call, srq, &answer))
                expect_or_note(answer, DAT_INVALID_HANDLE,
                               dat_is(answer, DAT_INTERNAL_ERROR) ? DAT_SUCCESS
                                                                  : DAT_GET_TYPE(answer));
        else
                note(t, "the call crashed, as it may with a destroyed SRQ (GEN-1)");
}
