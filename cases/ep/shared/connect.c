/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/later_event.h"
#include "cases/ep/shared/connect_impl.h"
#include "cases/ep/shared/states.h"
#include "cases/shared/point.h"

#include <string.h>
#include <time.h>

#define REQUESTS     16 /* that most cases have room for */
#define HELD_MESSAGE 7

uint64_t connect_clock_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

DAT_RETURN connect_ask(const struct asking *asking)
{
        if (asking->way == AS_ANOTHER)
                return dat_ep_dup_connect(asking->ep, asking->like, asking->timeout, asking->size,
                                          asking->data, asking->qos);
        return dat_ep_connect(asking->ep, asking->address, asking->qual, asking->timeout,
                              asking->size, asking->data, asking->qos, asking->flags);
}

void stage_set_for(struct test *t, struct stage *stage, enum way way, DAT_COUNT requests_most,
                   struct ep_opts active, struct ep_opts passive)
{
        DAT_EVD_HANDLE requests = evd_with(t, .qlen = requests_most, .flags = DAT_EVD_CR_FLAG);

        memset(stage, 0, sizeof(*stage));
        if (way == AS_ANOTHER) {
                stage->old = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});
                stage->old.requests = requests;
                loop_join(t, &stage->old);
                stage->loop = stage->old;
        }
        stage->loop.requests = requests;
        stage->loop.active = ep_make(t, active);
        stage->loop.passive = ep_make(t, passive);
        if (way == BY_ADDRESS)
                loop_open(t, &stage->loop);
        else
                loop_open_again(t, &stage->loop);
        message_fill(stage->data, sizeof(stage->data), OLD_DATA);
        stage->asking = (struct asking){
            .way = way,
            .ep = stage->loop.active,
            .like = stage->old.active,
            .address = ia_address(t),
            .qual = stage->loop.qual,
            .timeout = event_timeout(t),
            .size = PRIVATE_SIZE,
            .data = stage->data,
            .qos = DAT_QOS_BEST_EFFORT,
            .flags = DAT_CONNECT_DEFAULT_FLAG,
        };
}

void stage_set_with(struct test *t, struct stage *stage, enum way way, struct ep_opts active,
                    struct ep_opts passive)
{
        stage_set_for(t, stage, way, REQUESTS, active, passive);
}

void stage_set(struct test *t, struct stage *stage, enum way way)
{
        stage_set_with(t, stage, way, (struct ep_opts){0}, (struct ep_opts){0});
}

void remote_set(struct test *t, struct remote *remote, enum way way)
{
        struct peer_cr request;

        memset(remote, 0, sizeof(*remote));
        remote->place = peer_listen(peer(t));
        message_fill(remote->data, sizeof(remote->data), OLD_DATA);
        remote->asking = (struct asking){
            .way = BY_ADDRESS,
            .ep = ep_with(t, .srq = DAT_HANDLE_NULL),
            .address = (DAT_IA_ADDRESS_PTR)&remote->place.address,
            .qual = remote->place.qual,
            .timeout = event_timeout(t),
            .size = PRIVATE_SIZE,
            .data = remote->data,
            .qos = DAT_QOS_BEST_EFFORT,
            .flags = DAT_CONNECT_DEFAULT_FLAG,
        };
        if (way == BY_ADDRESS)
                return;
        must(connect_ask(&remote->asking));
        request = peer_take_request(peer(t));
        remote->old_end = peer_accept(&request, NULL, 0);
        must_event(ep_connect_evd(t, remote->asking.ep), DAT_CONNECTION_EVENT_ESTABLISHED);
        peer_wait_connected(remote->old_end);
        remote->asking.way = AS_ANOTHER;
        remote->asking.like = remote->asking.ep;
        remote->asking.ep = ep_with(t, .srq = DAT_HANDLE_NULL);
}

void expect_about(struct test *t, const DAT_EVENT *event, DAT_EP_HANDLE ep)
{
        expect_that(event->evd_handle == ep_connect_evd(t, ep), "the event names another EVD");
        expect_that(event->event_data.connect_event_data.ep_handle == ep,
                    "the event names another EP");
}

void expect_ep_pending(struct test *t, DAT_EP_HANDLE ep)
{
        expect_ep_in(t, ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
        expect_empty(t, ep_connect_evd(t, ep));
}

void expect_ep_told(struct test *t, DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number, DAT_EP_STATE state)
{
        DAT_EVENT event = fixture_event(t, CHECK_SITE_("the event of the EP"),
                                        ep_connect_evd(t, ep), number, true);

        expect_about(t, &event, ep);
        expect_ep_in(t, ep, state);
        expect_no_later_event(ep, number);
}

void must_answer_late(struct test *t, DAT_CR_HANDLE request, const struct loop *loop)
{
        DAT_EVD_HANDLE evd = ep_connect_evd(t, loop->passive);
        DAT_EVENT event;
        DAT_COUNT more;

        if (!dat_is(dat_cr_accept(request, loop_named(loop), 0, NULL), DAT_SUCCESS))
                return;
        must_that_of("dat_cr_accept",
                     dat_is(dat_evd_wait(evd, event_timeout(t), 1, &event, &more), DAT_SUCCESS),
                     "no event within %u ms", event_timeout(t) / US_PER_MS);
}

static DAT_EVENT connection_event(struct test *t, DAT_EP_HANDLE ep, DAT_TIMEOUT timeout)
{
        DAT_EVENT event;
        DAT_COUNT more;

        expect(dat_evd_wait(ep_connect_evd(t, ep), timeout + event_timeout(t), 1, &event, &more),
               DAT_SUCCESS);
        return event;
}

/* The event is the EP's only one, and the EP is Disconnected. */
static void expect_over(struct test *t, DAT_EP_HANDLE ep, const DAT_EVENT *event)
{
        expect_about(t, event, ep);
        expect_ep_in(t, ep, DAT_EP_STATE_DISCONNECTED);
        expect_no_later_event(ep, event->event_number);
}

void expect_no_host(struct test *t, DAT_EP_HANDLE ep, DAT_TIMEOUT timeout)
{
        DAT_EVENT event = connection_event(t, ep, timeout);

        if (event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED)
                note(t, "a host that does not answer is reported as a rejection (EP-3)");
        else
                expect_that(event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE ||
                                event.event_number == DAT_CONNECTION_EVENT_TIMED_OUT,
                            "%s reports that no host answers", name_of_event(event.event_number));
        expect_over(t, ep, &event);
}

DAT_EVENT_NUMBER expect_ep_failed(struct test *t, DAT_EP_HANDLE ep, DAT_TIMEOUT timeout,
                                  DAT_EVENT_NUMBER one, DAT_EVENT_NUMBER other)
{
        DAT_EVENT event = connection_event(t, ep, timeout);
        char seen[64];
        char first[64];
        char second[64];

        expect_that(event.event_number == one || event.event_number == other,
                    "%s tells why there is no connection, not %s nor %s",
                    event_name(event.event_number, seen, sizeof(seen)),
                    event_name(one, first, sizeof(first)),
                    event_name(other, second, sizeof(second)));
        expect_over(t, ep, &event);
        return event.event_number;
}

DAT_CR_HANDLE stage_request(struct test *t, const struct stage *stage, uint64_t message,
                            DAT_COUNT size, DAT_CR_PARAM *param)
{
        DAT_EVENT event = expect_event(stage->loop.requests, DAT_CONNECTION_REQUEST_EVENT);
        const DAT_CR_ARRIVAL_EVENT_DATA *arrival = &event.event_data.cr_arrival_event_data;

        expect_that(arrival->sp_handle.psp_handle == loop_point(&stage->loop),
                    "the request is for another service point");
        expect_eq(arrival->conn_qual, stage->loop.qual);
        memset(param, 0, sizeof(*param));
        expect(dat_cr_query(arrival->cr_handle, DAT_CR_FIELD_ALL, param), DAT_SUCCESS);
        expect_that(param->private_data_size >= size, "%d bytes of private data, %d were sent",
                    (int)param->private_data_size, (int)size);
        expect_that(message_holds(param->private_data, (size_t)size, message),
                    "the private data is not what was sent");
        return arrival->cr_handle;
}

void expect_stage_heard(struct test *t, struct stage *stage)
{
        DAT_CR_PARAM param;

        stage->loop.request = stage_request(t, stage, OLD_DATA, stage->asking.size, &param);
}

void expect_stage_accepted(struct test *t, struct stage *stage)
{
        expect_stage_heard(t, stage);
        must(dat_cr_accept(stage->loop.request, loop_named(&stage->loop), 0, NULL));
        expect_ep_told(t, stage->asking.ep, DAT_CONNECTION_EVENT_ESTABLISHED,
                       DAT_EP_STATE_CONNECTED);
        expect_event(ep_connect_evd(t, stage->loop.passive), DAT_CONNECTION_EVENT_ESTABLISHED);
        told_last(stage->loop.passive, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_empty(t, stage->loop.requests);
}

void expect_loop_carries(struct test *t, DAT_EP_HANDLE one, DAT_EP_HANDLE other)
{
        expect_message(t, one, other);
        expect_message(t, other, one);
}

struct ep_snapshot stage_hold(struct test *t, struct stage *stage)
{
        stage->held = buf_with(t, .length = 3 * MESSAGE);
        loop_post_recv(t, stage->asking.ep, stage->held, HELD_COOKIE);
        return ep_look(t, stage->asking.ep);
}

void expect_stage_carries(struct test *t, const struct stage *stage)
{
        DAT_DTO_COMPLETION_EVENT_DATA dto;

        message_fill(stage->held->addr + 2 * MESSAGE, MESSAGE, HELD_MESSAGE);
        loop_post_send(t, stage->loop.passive, stage->held, 0);
        dto = expect_dto(ep_recv_evd(t, stage->asking.ep));
        expect_eq(dto.user_cookie.as_64, HELD_COOKIE);
        expect_that(message_holds(stage->held->addr, MESSAGE, HELD_MESSAGE),
                    "the memory has not the message");
        must_dto(ep_request_evd(t, stage->loop.passive));
        expect_message(t, stage->asking.ep, stage->loop.passive);
}

void expect_stage_connects(struct test *t, struct stage *stage, const struct ep_snapshot *before)
{
        expect_ep_kept(t, stage->asking.ep, before, 0);
        expect_empty(t, ep_connect_evd(t, stage->asking.ep));
        expect_empty(t, ep_recv_evd(t, stage->asking.ep));
        expect(connect_ask(&stage->asking), DAT_SUCCESS);
        expect_stage_accepted(t, stage);
        expect_stage_carries(t, stage);
}
