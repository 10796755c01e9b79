/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_query: addresses and port qualifiers. */
#include "case/ep_attr.h"
#include "case/poison.h"
#include "case/standard.h"
#include "cases/ep/ep_query/fixtures.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "clauses/ep_query.h"

#include <netinet/in.h>
#include <string.h>

static DAT_PORT_QUAL asking_port(struct test *t, DAT_CR_HANDLE request)
{
        DAT_CR_PARAM param;

        memset(&param, 0xa5, sizeof(param));
        must(dat_cr_query(request, DAT_CR_FIELD_REMOTE_PORT_QUAL, &param));
        must_that_of("dat_cr_query", param.remote_port_qual != 0, "the request tells port 0");
        return param.remote_port_qual;
}

/* What the request says of who asks is what the EPs say, at each end, before and after. */
CASE(ep_query, port_of_asker)
{
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});
        DAT_PORT_QUAL port;

        loop_ask(t, &loop);
        loop_take_request(t, &loop);
        port = asking_port(t, loop.request);
        expect_that(queried(t, loop.active, DAT_EP_FIELD_LOCAL_PORT_QUAL).local_port_qual != 0,
                    "the EP that asks has no port");
        expect_eq(queried(t, loop.active, DAT_EP_FIELD_LOCAL_PORT_QUAL).local_port_qual, port);
        must(dat_cr_accept(loop.request, loop_named(&loop), 0, NULL));
        must_event(ep_connect_evd(t, loop.active), DAT_CONNECTION_EVENT_ESTABLISHED);
        must_event(ep_connect_evd(t, loop.passive), DAT_CONNECTION_EVENT_ESTABLISHED);

        expect_eq(queried(t, loop.active, DAT_EP_FIELD_LOCAL_PORT_QUAL).local_port_qual, port);
        expect_eq(queried(t, loop.passive, DAT_EP_FIELD_REMOTE_PORT_QUAL).remote_port_qual, port);
}

CASE(ep_query, remote_port_of_asker)
{
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});

        loop_ask(t, &loop);
        expect_that(queried(t, loop.active, DAT_EP_FIELD_REMOTE_PORT_QUAL).remote_port_qual != 0,
                    "the EP that asks has no remote port");
        expect_that(queried(t, loop.active, DAT_EP_FIELD_ALL).remote_port_qual != 0,
                    "the EP that asks has no remote port");
        loop_take_request(t, &loop);
        must(dat_cr_reject(loop.request));
}

CASE(ep_query, port_of_peer)
{
        DAT_EP_HANDLE ep = ep_with(t);
        struct peer_ep *end = must_connect(ep);

        expect_eq(queried(t, ep, DAT_EP_FIELD_REMOTE_PORT_QUAL).remote_port_qual, peer_port(end));
        expect_eq(queried(t, ep, DAT_EP_FIELD_ALL).remote_port_qual, peer_port(end));
}

/* The request is the peer's: its EP is the one that the Reserved EP is asked by. */
CASE(ep_query, port_of_peer_that_asks)
{
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
        DAT_PORT_QUAL port = asking_port(t, ep_request(t, ep));
        struct peer_ep *end;

        expect_eq(queried(t, ep, DAT_EP_FIELD_REMOTE_PORT_QUAL).remote_port_qual, port);
        end = must_connect(ep);

        expect_eq(queried(t, ep, DAT_EP_FIELD_REMOTE_PORT_QUAL).remote_port_qual, port);
        expect_eq(peer_port(end), port);
}

/* A Provider's EP has no consumer's parameters yet, and knows who asks. */
CASE(ep_query, port_of_tentative)
{
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
        DAT_PORT_QUAL port = asking_port(t, ep_request(t, ep));

        expect_eq(queried(t, ep, DAT_EP_FIELD_REMOTE_PORT_QUAL).remote_port_qual, port);
        expect_eq(queried(t, ep, DAT_EP_FIELD_ALL).remote_port_qual, port);
}

static void expect_same_ends(struct test *t, const DAT_EP_PARAM *one, const DAT_EP_PARAM *other)
{
        expect_eq(one->local_port_qual, other->local_port_qual);
        expect_eq(one->remote_port_qual, other->remote_port_qual);
        expect_that(same_host(one->remote_ia_address_ptr, other->remote_ia_address_ptr),
                    "another remote address");
}

/* The ports are there before the connection is complete. */
CASE(ep_query, ports_before_completion)
{
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_COMPLETION_PENDING);
        DAT_EP_PARAM before = queried(t, ep, DAT_EP_FIELD_ALL);
        struct peer_ep *end = expect_goes_on(ep, DAT_EP_STATE_COMPLETION_PENDING);
        DAT_EP_PARAM after = queried(t, ep, DAT_EP_FIELD_ALL);

        expect_eq(before.remote_port_qual, peer_port(end));
        /* Of a passive request, which it may be told as (EP-8), no local port is asked. */
        if (plain_ep_state(before.ep_state) == DAT_EP_STATE_COMPLETION_PENDING)
                expect_same_ends(t, &before, &after);
}

/* A send without a receive keeps the disconnect pending. */
CASE(ep_query, ports_until_end)
{
        struct loop loop = transfer_with(t);
        struct vector vector = vector_with(t, .length = MESSAGE);
        DAT_EP_PARAM before = queried(t, loop.active, DAT_EP_FIELD_ALL);
        DAT_EP_PARAM after;

        must(send_vector(loop.active, &vector, 0, DAT_COMPLETION_DEFAULT_FLAG));
        must(dat_ep_disconnect(loop.active, DAT_CLOSE_GRACEFUL_FLAG));
        after = queried(t, loop.active, DAT_EP_FIELD_ALL);
        expect_eq(plain_ep_state(after.ep_state), DAT_EP_STATE_DISCONNECT_PENDING);
        expect_same_ends(t, &before, &after);
}

/* An EP that is reset, and connected with another one: it asks or is asked, as before or not. */
static const struct next_row {
        const char *id;
        bool asked_first;
        bool asks_then;
} nexts[] = {
    {"asks_again", false, true},
    {"is_asked_then", false, false},
    {"asks_then", true, true},
    {"is_asked_again", true, false},
};

FAMILY(ep_query, next_connection, nexts)
{
        struct known one = known_ep(t, 1);
        struct known other = known_ep(t, 2);
        struct known next = known_ep(t, 8);
        struct known *again = row->asked_first ? &other : &one;

        join(t, &one, &other);
        must(dat_ep_disconnect(one.ep, DAT_CLOSE_ABRUPT_FLAG));
        must_event(one.param.connect_evd_handle, DAT_CONNECTION_EVENT_DISCONNECTED);
        must_event(other.param.connect_evd_handle, DAT_CONNECTION_EVENT_DISCONNECTED);
        must(dat_ep_reset(again->ep));
        if (row->asks_then)
                join(t, again, &next);
        else
                join(t, &next, again);

        check_fields(t, again, DAT_EP_FIELD_ALL);
        check_fields(t, &next, DAT_EP_FIELD_ALL);
}

/* What an EP that is connected has to be told of the other end, which is no case's own. */
static void know_other_end(struct test *t, struct known *known, DAT_EP_HANDLE other)
{
        DAT_EP_PARAM there = queried(t, other, DAT_EP_FIELD_ALL);

        expect_ports(t, &there);
        known->param.ep_state = DAT_EP_STATE_CONNECTED;
        known->param.remote_ia_address_ptr = ia_address(t);
        known->param.local_port_qual = there.remote_port_qual;
        known->param.remote_port_qual = there.local_port_qual;
}

/* An EP that follows another one, or waits at a point of its own. */
static const struct ep_join joins[] = {
    {"as_another", ep_join_as_another},
    {"by_rsp", ep_join_by_rsp},
};

FAMILY(ep_query, however_joined, joins)
{
        struct known known = known_ep(t, 1);
        struct loop loop = {
            .requests = evd_with(t, .flags = DAT_EVD_CR_FLAG),
            .active = known.ep,
            .passive = ep_with(t),
        };

        row->join(t, &loop);
        know_other_end(t, &known, loop.passive);
        check_fields(t, &known, DAT_EP_FIELD_ALL);
        for (size_t i = 0; i < FIELD_COUNT; i++)
                check_fields(t, &known, fields[i].bit);
}

/* The attributes are the provider's choice, and told alike by any mask; the rest it was given. */
CASE(ep_query, own_of_provider)
{
        struct loop loop = {
            .requests = evd_with(t, .flags = DAT_EVD_CR_FLAG),
            .passive = ep_with(t),
        };
        struct known known = {.ep = DAT_HANDLE_NULL};
        DAT_EP_PARAM all;

        ep_join_by_provider(t, &loop);
        known.ep = loop.active;
        all = queried(t, known.ep, DAT_EP_FIELD_ALL);
        known.param = (DAT_EP_PARAM){
            .ia_handle = ia(t),
            .local_ia_address_ptr = ia_address(t),
            .pz_handle = pz(t),
            .recv_evd_handle = ep_recv_evd(t, known.ep),
            .request_evd_handle = ep_request_evd(t, known.ep),
            .connect_evd_handle = ep_connect_evd(t, known.ep),
            .srq_handle = DAT_HANDLE_NULL,
            .ep_attr = all.ep_attr,
        };
        know_other_end(t, &known, loop.passive);
        check_param(t, &known.param, &all, DAT_EP_FIELD_ALL);
        for (size_t i = 0; i < FIELD_COUNT; i++) {
                DAT_EP_PARAM alone = queried(t, known.ep, fields[i].bit);
                DAT_EP_PARAM others = queried(t, known.ep, DAT_EP_FIELD_ALL & ~fields[i].bit);
                const void *at = (const char *)&alone + fields[i].place.offset;

                expect_that(!is_poison(at, fields[i].place.size), "%s is not told", fields[i].id);
                check_field(t, &fields[i], &known.param, &alone);
                check_param(t, &known.param, &others, DAT_EP_FIELD_ALL & ~fields[i].bit);
        }
}
