/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ep/ep_recv_query/fixtures.h"
#include "case/ep_attr.h"

#define FEW_WINDOWS 3 /* the same at least, where the network is slow */

struct info recv_info(struct test *t, DAT_EP_HANDLE ep)
{
        struct info info = {.count = UNTOLD, .span = UNTOLD};

        expect(dat_ep_recv_query(ep, &info.count, &info.span), DAT_SUCCESS);
        return info;
}

void expect_idle_span(struct test *t, DAT_COUNT seen, DAT_COUNT posted)
{
        if (seen == 0 && posted != 0)
                note(t, "a span of 0 where no message is on its way to %d receives (EP-15)",
                     posted);
        else
                expect_count(t, seen, posted);
}

void expect_left(struct test *t, DAT_EP_HANDLE ep, DAT_COUNT left)
{
        struct info info = recv_info(t, ep);

        expect_count(t, info.count, left);
        expect_idle_span(t, info.span, left);
}

void expect_within(struct test *t, struct info info, DAT_COUNT least, DAT_COUNT most)
{
        bool count_told = info.count != DAT_VALUE_UNKNOWN;
        bool span_told = info.span != DAT_VALUE_UNKNOWN;

        if (count_told)
                expect_that(info.count >= least && info.count <= most,
                            "%d receives at the EP, which holds %d to %d", info.count, least, most);
        if (span_told)
                expect_that(info.span >= 0 && info.span <= most,
                            "a span of %d, where %d receives are to complete", info.span, most);
        if (count_told && span_told)
                expect_that(info.span >= info.count, "%d receives in a span of %d", info.count,
                            info.span);
        if (!count_told || !span_told)
                note(t, "counts are declared supported, and were not both told");
}

/*
 * What the SRQ tells as available and what its EPs hold is all that was posted and has not come:
 * each is reported by exactly one.
 */
static void expect_accounted(struct test *t, const struct queue *queue, DAT_COUNT held,
                             DAT_COUNT waiting)
{
        DAT_COUNT available = srq_param(t, queue->srq).available_dto_count;

        if (provider_attr(t)->srq_info_supported && available != DAT_VALUE_UNKNOWN &&
            held != DAT_VALUE_UNKNOWN)
                expect_that(available + held == waiting,
                            "%d receives are available and %d at EPs, where %d wait for messages",
                            available, held, waiting);
}

void expect_held(struct test *t, const struct queue *queue, const struct flow *flows, int count,
                 DAT_COUNT waiting)
{
        DAT_COUNT held = 0;

        for (int i = 0; i < count; i++) {
                struct info info = recv_info(t, flows[i].ep);

                expect_within(t, info, 0, waiting);
                if (info.count == DAT_VALUE_UNKNOWN || held == DAT_VALUE_UNKNOWN)
                        held = DAT_VALUE_UNKNOWN;
                else
                        held += info.count;
        }
        expect_accounted(t, queue, held, waiting);
}

DAT_EP_ATTR ep_attr_of(struct test *t, int segments)
{
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr_if_told(t));

        attr.max_recv_dtos = 2 * POSTS;
        attr.max_request_dtos = 1;
        attr.max_recv_iov = segments;
        return attr;
}

struct own own_for(struct test *t, size_t length, size_t slots)
{
        struct buf *buf = buf_with(t, .length = slots * length);
        DAT_EP_HANDLE ep = ep_with(t);

        return (struct own){.ep = ep, .evd = ep_recv_evd(t, ep), .buf = buf, .length = length};
}

void own_post(struct test *t, struct own *own, int count)
{
        for (; count > 0; count--) {
                size_t slot = own->posted % (own->buf->length / own->length);
                DAT_LMR_TRIPLET segment = triplet(own->buf, slot * own->length, own->length);

                must(dat_ep_post_recv(own->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = own->posted},
                                      DAT_COMPLETION_DEFAULT_FLAG));
                own->posted++;
        }
}

struct own own_with(struct test *t, int posts)
{
        struct own own = own_for(t, MESSAGE, SLOTS);

        own_post(t, &own, posts);
        return own;
}

struct own own_connected(struct test *t, int posts)
{
        struct own own = own_with(t, posts);

        own.end = peer_connect(peer(t), own.ep);
        return own;
}

struct own own_by(struct test *t, const struct ep_route *route, int posts)
{
        DAT_EP_HANDLE ep = ep_by(t, route);
        struct own own = {.ep = ep,
                          .evd = ep_recv_evd(t, ep),
                          .end = ep_end(t, ep),
                          .buf = buf_with(t, .length = SLOTS * MESSAGE),
                          .length = MESSAGE};

        own_post(t, &own, posts);
        return own;
}

void own_send(struct own *own, int count)
{
        peer_send(own->end, .count = count, .length = own->length, .first = own->sent);
        own->sent += count;
}

void own_deliver(struct test *t, struct own *own, int count)
{
        own_send(own, count);
        peer_wait_sent(own->end);
        settle(t);
}

void own_expect_messages(struct test *t, struct own *own, int count)
{
        for (; count > 0; count--) {
                DAT_DTO_COMPLETION_EVENT_DATA dto = expect_dto(own->evd);
                size_t slot = own->received % (own->buf->length / own->length);

                expect_eq(dto.user_cookie.as_64, own->received);
                expect_eq(dto.transfered_length, own->length);
                expect_that(
                    message_holds(own->buf->addr + slot * own->length, own->length, own->received),
                    "the receive does not hold message %llu", (unsigned long long)own->received);
                own->received++;
        }
}

void must_flushes(struct test *t, DAT_EVD_HANDLE evd, int count)
{
        for (; count > 0; count--) {
                DAT_EVENT event = must_event(evd, DAT_DTO_COMPLETION_EVENT);

                must_that(event.event_data.dto_completion_event_data.status == DAT_DTO_ERR_FLUSHED,
                          "a receive was not flushed");
        }
}

bool goes_on_to_overtake(struct test *t, int window)
{
        return window < FEW_WINDOWS || (window < MANY && !peer_overtook(peer(t)));
}

void disconnect(struct test *t, const struct ending *row, DAT_EP_HANDLE ep, struct peer_ep *end)
{
        if (row->by_peer)
                peer_disconnect(end, DAT_CLOSE_ABRUPT_FLAG);
        else
                must(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_DISCONNECTED);
}
