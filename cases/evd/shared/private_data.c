/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/evd/shared/private_data.h"
#include "cases/shared/point.h"

#include <string.h>

#define FIRST  101 /* bytes with which the private data of two connections begins */
#define SECOND 57

static void expect_data(struct test *t, const struct lasting *lasting, const char *when)
{
        expect_that(memcmp(lasting->told.private_data, lasting->sent, PRIVATE_SIZE) == 0,
                    "the private data is not what was sent, %s", when);
}

static void expect_number(struct test *t, struct lasting *lasting, DAT_EVENT_NUMBER number,
                          DAT_EVENT *event)
{
        *event = lasting->take(t, lasting->evd);
        expect_eq(event->event_number, number);
}

static void establish(struct test *t, struct lasting *lasting, unsigned char first)
{
        DAT_EVENT event;

        lasting->loop =
            loop_of(t, (struct ep_opts){.connect_evd = lasting->evd}, (struct ep_opts){0});
        loop_private_data(lasting->sent, first);
        loop_ask(t, &lasting->loop);
        loop_take_request(t, &lasting->loop);
        must(dat_cr_accept(lasting->loop.request, loop_named(&lasting->loop), PRIVATE_SIZE,
                           lasting->sent));
        expect_number(t, lasting, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
        must_event(ep_connect_evd(t, lasting->loop.passive), DAT_CONNECTION_EVENT_ESTABLISHED);
        lasting->told = event.event_data.connect_event_data;
        expect_that(lasting->told.private_data_size >= PRIVATE_SIZE,
                    "%d bytes of private data, %d were sent", lasting->told.private_data_size,
                    PRIVATE_SIZE);
        expect_data(t, lasting, "when the event comes");
}

/* A second one, whose data another EP's event brings to the same EVD. */
static struct lasting another(struct test *t, const struct lasting *lasting)
{
        struct lasting second = {.take = lasting->take, .evd = lasting->evd};

        establish(t, &second, SECOND);
        return second;
}

void lasting_next_connection(struct test *t, struct lasting *lasting)
{
        another(t, lasting);
}

void lasting_other_freed(struct test *t, struct lasting *lasting)
{
        struct lasting second = another(t, lasting);
        DAT_EVENT event;

        must(dat_ep_disconnect(second.loop.active, DAT_CLOSE_ABRUPT_FLAG));
        expect_number(t, lasting, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
        release(t, second.loop.active);
}

/* What changes nothing of a Connected EP. */
static void must_be_refused(struct test *t, const struct lasting *lasting)
{
        DAT_EP_HANDLE ep = lasting->loop.active;

        must_that(dat_is(dat_ep_reset(ep), DAT_INVALID_STATE),
                  "the reset of a Connected EP is not refused");
        must_that(dat_is(dat_ep_connect(ep, ia_address(t), lasting->loop.qual, event_timeout(t), 0,
                                        NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
                         DAT_INVALID_STATE),
                  "the connect of a Connected EP is not refused");
}

void lasting_messages(struct test *t, struct lasting *lasting)
{
        const DAT_EP_HANDLE eps[] = {lasting->loop.active, lasting->loop.passive};

        must_be_refused(t, lasting);
        for (int i = 0; i < 2; i++) {
                struct buf *buf = buf_with(t);

                loop_post_recv(t, eps[i], buf, 1);
                loop_post_send(t, eps[1 - i], buf, 2);
                must_event(ep_recv_evd(t, eps[i]), DAT_DTO_COMPLETION_EVENT);
                must_event(ep_request_evd(t, eps[1 - i]), DAT_DTO_COMPLETION_EVENT);
        }
}

/* The end of the connection, by either side; a disconnect of a Disconnected EP then does nothing.
 */
static void end(struct test *t, struct lasting *lasting, DAT_EP_HANDLE ep)
{
        DAT_EVENT event;

        must(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
        expect_number(t, lasting, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
        must_event(ep_connect_evd(t, lasting->loop.passive), DAT_CONNECTION_EVENT_DISCONNECTED);
        must(dat_ep_disconnect(lasting->loop.active, DAT_CLOSE_ABRUPT_FLAG));
}

void lasting_disconnected(struct test *t, struct lasting *lasting)
{
        end(t, lasting, lasting->loop.active);
}

void lasting_left(struct test *t, struct lasting *lasting)
{
        end(t, lasting, lasting->loop.passive);
}

void lasting_passive_freed(struct test *t, struct lasting *lasting)
{
        end(t, lasting, lasting->loop.passive);
        release(t, lasting->loop.passive);
        if (lasting->loop.psp)
                release(t, lasting->loop.psp);
}

/* A send that finds no receive: Disconnect Pending, or Disconnected where nothing waits for it. */
void lasting_graceful(struct test *t, struct lasting *lasting)
{
        loop_post_send(t, lasting->loop.active, buf_with(t), 1);
        must(dat_ep_disconnect(lasting->loop.active, DAT_CLOSE_GRACEFUL_FLAG));
}

void expect_private_data_lasts(struct test *t, const struct lasting_row *row, take_event *take)
{
        struct lasting lasting = {
            .take = take,
            .evd = evd_with(t, .flags = DAT_EVD_CONNECTION_FLAG),
        };

        establish(t, &lasting, FIRST);
        row->pass(t, &lasting);
        expect_data(t, &lasting, "after later events");
}

static void expect_asked(struct test *t, const struct asked *asked, const char *when)
{
        expect_that(memcmp(asked->param.private_data, asked->sent, PRIVATE_SIZE) == 0,
                    "the private data of the request is not what was sent, %s", when);
        expect_that(same_host(asked->param.remote_ia_address_ptr, ia_address(t)),
                    "the request's address is not that of the IA which asked, %s", when);
        expect_that(!asked->local || same_host(asked->local, ia_address(t)),
                    "the address of the request's event is not that of the IA, %s", when);
}

/* By an EP that it returns. */
static DAT_EP_HANDLE ask(struct test *t, DAT_CONN_QUAL qual, unsigned char *sent,
                         unsigned char first)
{
        DAT_EP_HANDLE ep = ep_with(t);

        loop_private_data(sent, first);
        must(dat_ep_connect(ep, ia_address(t), qual, event_timeout(t), PRIVATE_SIZE, sent,
                            DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
        return ep;
}

static void query(struct test *t, DAT_CR_HANDLE request, DAT_CR_PARAM *param)
{
        memset(param, 0, sizeof(*param));
        must(dat_cr_query(request, DAT_CR_FIELD_ALL, param));
}

/* The same service point for another request; an RSP has one only, and is another one. */
static struct loop point_of_other(struct test *t, const struct asked *asked)
{
        struct loop other = asked->loop;

        other.passive = ep_with(t);
        if (other.rsp)
                loop_open(t, &other);
        return other;
}

void asked_other_request(struct test *t, struct asked *asked)
{
        unsigned char sent[PRIVATE_SIZE];
        struct loop other = point_of_other(t, asked);
        DAT_CR_PARAM param;

        ask(t, other.qual, sent, SECOND);
        loop_take_request(t, &other);
        query(t, other.request, &param);
        must(dat_cr_reject(other.request));
}

/* The other one becomes a connection, which ends again. */
void asked_other_accepted(struct test *t, struct asked *asked)
{
        unsigned char sent[PRIVATE_SIZE];
        struct loop other = point_of_other(t, asked);

        other.active = ask(t, other.qual, sent, SECOND);
        loop_accept(t, &other);
        must_event(ep_connect_evd(t, other.active), DAT_CONNECTION_EVENT_ESTABLISHED);
        must_event(ep_connect_evd(t, other.passive), DAT_CONNECTION_EVENT_ESTABLISHED);
        must(dat_ep_disconnect(other.active, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, other.passive), DAT_CONNECTION_EVENT_DISCONNECTED);
        release(t, other.active);
}

void asked_queried_again(struct test *t, struct asked *asked)
{
        DAT_CR_PARAM param;

        for (int i = 0; i < 3; i++)
                query(t, asked->loop.request, &param);
}

void expect_request_lasts(struct test *t, const struct asked_row *row, take_event *take)
{
        struct asked asked = {
            .loop = {.requests = evd_with(t, .flags = DAT_EVD_CR_FLAG)},
        };
        DAT_EVENT event;

        loop_open(t, &asked.loop);
        ask(t, asked.loop.qual, asked.sent, FIRST);
        event = take(t, asked.loop.requests);
        expect_eq(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
        asked.loop.request = event.event_data.cr_arrival_event_data.cr_handle;
        asked.local = event.event_data.cr_arrival_event_data.local_ia_address_ptr;
        if (!asked.local)
                note(t, "the event of the request names no address of the IA");
        query(t, asked.loop.request, &asked.param);
        must_that(asked.param.private_data_size >= PRIVATE_SIZE, "%d bytes of private data",
                  asked.param.private_data_size);
        expect_asked(t, &asked, "when it was queried");
        row->pass(t, &asked);
        expect_asked(t, &asked, "after later events and calls");
        must(dat_cr_reject(asked.loop.request));
}
