/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_connect: events at both ends, and all ways in which a request ends. */
#include "clauses/ep_connect.h"
#include "case/standard.h"
#include "cases/ep/shared/connect.h"
#include "cases/ep/shared/connect_impl.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"

#include <netinet/in.h>
#include <string.h>

#define US_PER_MS 1000
#define FORMER    4 /* bytes of private data by which it is known */

/* The cases of both pages that connect, by this page's call. */
#define CONNECT_CASE(name_, body_)    \
        CASE(ep_connect, name_)       \
        {                             \
                body_(t, BY_ADDRESS); \
        }
#define CONNECT_FAMILY(name_, rows_, body_) \
        FAMILY(ep_connect, name_, rows_)    \
        {                                   \
                body_(t, BY_ADDRESS, row);  \
        }
#include "cases/ep/shared/connect_cases.h"

/* A request that differs from the stage's own, and its EP before that. */
struct trial {
        struct stage stage;
        struct asking asking;
        struct ep_snapshot before;
};

static void trial_set(struct test *t, struct trial *trial)
{
        stage_set(t, &trial->stage, BY_ADDRESS);
        trial->before = stage_hold(t, &trial->stage);
        trial->asking = trial->stage.asking;
}

/*
 * Who hears
 */

static const struct distance {
        const char *id;
        DAT_CONN_QUAL bit; /* in which the two qualifiers differ */
} distances[] = {
    {"bit_0", 1},
    {"bit_15", UINT64_C(1) << 15},
    {"bit_16", UINT64_C(1) << 16},
    {"bit_31", UINT64_C(1) << 31},
    {"bit_32", UINT64_C(1) << 32},
    {"bit_63", UINT64_C(1) << 63},
};

/*
 * A second service point; null where there can be none at this qualifier, which a provider need not
 * have.
 */
static DAT_PSP_HANDLE listen_at(struct test *t, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd)
{
        DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;

        if (!dat_is(dat_psp_create(ia(t), qual, evd, DAT_PSP_CONSUMER_FLAG, &psp), DAT_SUCCESS))
                return DAT_HANDLE_NULL;
        adopt(t, DAT_HANDLE_TYPE_PSP, psp);
        return psp;
}

/* What no service point can be had at, none hears at; the call may say so, or an event (EP-84). */
static void expect_unheard(struct test *t, struct stage *stage, DAT_CONN_QUAL qual)
{
        struct asking asking = stage->asking;
        DAT_EVENT event;

        asking.qual = qual;
        if (dat_is(expect_may(connect_ask(&asking), DAT_SUCCESS, DAT_INVALID_PARAMETER),
                   DAT_SUCCESS))
                expect_ep_failed(t, asking.ep, event_timeout(t),
                                 DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
                                 DAT_CONNECTION_EVENT_UNREACHABLE);
        expect(dat_evd_dequeue(stage->loop.requests, &event), DAT_QUEUE_EMPTY);
        note(t, "no service point can be had at qualifier %#llx", (unsigned long long)qual);
}

/* Each of two service points is asked, and it alone hears. */
FAMILY(ep_connect, qualifier, distances)
{
        struct stage stage;
        struct stage other;

        stage_set(t, &stage, BY_ADDRESS);
        other = stage;
        other.asking.qual = other.loop.qual = stage.loop.qual ^ row->bit;
        other.loop.requests = evd_with(t, .flags = DAT_EVD_CR_FLAG);
        other.loop.psp = listen_at(t, other.loop.qual, other.loop.requests);
        if (!other.loop.psp) {
                expect_unheard(t, &stage, other.loop.qual);
                return;
        }
        other.asking.ep = other.loop.active = ep_with(t, .srq = DAT_HANDLE_NULL);
        other.loop.passive = ep_with(t, .srq = DAT_HANDLE_NULL);
        other.asking.data = other.data;

        expect(connect_ask(&other.asking), DAT_SUCCESS);
        expect_stage_accepted(t, &other);
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        expect_stage_accepted(t, &stage);
}

/* The peer's IA is asked, though this one listens at the same qualifier, where both can. */
CASE(ep_connect, address)
{
        struct remote remote;
        struct peer_cr request;
        DAT_EVD_HANDLE requests = evd_with(t, .flags = DAT_EVD_CR_FLAG);
        DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
        DAT_EVENT event;

        remote_set(t, &remote, BY_ADDRESS);
        if (dat_is(dat_psp_create(ia(t), remote.place.qual, requests, DAT_PSP_CONSUMER_FLAG, &psp),
                   DAT_SUCCESS))
                adopt(t, DAT_HANDLE_TYPE_PSP, psp);
        expect(connect_ask(&remote.asking), DAT_SUCCESS);
        request = expect_peer_request(t);
        peer_accept(&request, NULL, 0);
        expect_ep_told(t, remote.asking.ep, DAT_CONNECTION_EVENT_ESTABLISHED,
                       DAT_EP_STATE_CONNECTED);
        expect(dat_evd_dequeue(requests, &event), DAT_QUEUE_EMPTY);
}

/* This side requests a connection while the peer requests one too; both are established. */
CASE(ep_connect, both_ways)
{
        struct stage stage;
        struct remote remote;
        struct peer_cr request;
        struct peer_ep *asked;

        stage_set(t, &stage, BY_ADDRESS);
        remote_set(t, &remote, BY_ADDRESS);
        asked = peer_ask(peer(t), stage.loop.qual, .private_data = stage.data,
                         .private_data_size = PRIVATE_SIZE);
        expect(connect_ask(&remote.asking), DAT_SUCCESS);
        request = expect_peer_request(t);
        expect_stage_heard(t, &stage);
        must(dat_cr_accept(stage.loop.request, loop_named(&stage.loop), 0, NULL));
        peer_accept(&request, NULL, 0);
        expect_ep_told(t, remote.asking.ep, DAT_CONNECTION_EVENT_ESTABLISHED,
                       DAT_EP_STATE_CONNECTED);
        expect_ep_told(t, stage.loop.passive, DAT_CONNECTION_EVENT_ESTABLISHED,
                       DAT_EP_STATE_CONNECTED);
        peer_wait_connected(asked);
}

/*
 * Requests without an answer
 */

enum deafness { NEVER, NO_MORE, BESIDE, FAR_BESIDE };

static const struct unheard {
        const char *id;
        enum deafness how;
} unheard_rows[] = {
    {"never", NEVER},
    {"no_more", NO_MORE},
    {"beside", BESIDE},
    {"far_beside", FAR_BESIDE},
};

FAMILY(ep_connect, not_listening, unheard_rows)
{
        struct stage stage;

        stage_set(t, &stage, BY_ADDRESS);
        switch (row->how) {
        case NEVER:
                stage.asking.qual = point_qual(t);
                break;
        case NO_MORE:
                release(t, loop_point(&stage.loop));
                break;
        case BESIDE:
                stage.asking.qual ^= UINT64_C(1) << 13;
                break;
        case FAR_BESIDE:
                stage.asking.qual ^= UINT64_C(1) << 40;
                break;
        }
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        expect_ep_told(t, stage.asking.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
                       DAT_EP_STATE_DISCONNECTED);
}

/* Addresses that are no host's. */
struct nowhere {
        const char *id;
        struct sockaddr_storage address;
};

static void set_four(struct sockaddr_storage *address, uint32_t host)
{
        struct sockaddr_in *four = (struct sockaddr_in *)address;

        memset(address, 0, sizeof(*address));
        four->sin_family = AF_INET;
        four->sin_addr.s_addr = htonl(host);
}

static void set_six(struct sockaddr_storage *address, unsigned char first, unsigned char second)
{
        struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;

        memset(address, 0, sizeof(*address));
        six->sin6_family = AF_INET6;
        six->sin6_addr.s6_addr[0] = first;
        six->sin6_addr.s6_addr[1] = second;
        six->sin6_addr.s6_addr[15] = first ? 1 : 0;
}

/*
 * A failure, at once or by one event; and where at once, as if nothing had been asked. The listener
 * at the qualifier hears nothing: its address is another one.
 */
static void expect_nowhere(struct test *t, struct sockaddr_storage *address)
{
        struct ep_snapshot before;
        struct asking asking;
        struct stage stage;
        DAT_RETURN ret;

        stage_set(t, &stage, BY_ADDRESS);
        before = stage_hold(t, &stage);
        asking = stage.asking;
        asking.address = (DAT_IA_ADDRESS_PTR)address;
        asking.timeout = 150 * US_PER_MS;
        ret = connect_ask(&asking);
        if (!dat_is(ret, DAT_SUCCESS)) {
                expect(ret, DAT_INVALID_ADDRESS);
                expect_stage_connects(t, &stage, &before);
                return;
        }
        expect_no_host(t, asking.ep, asking.timeout);
        expect_empty(t, stage.loop.requests);
}

enum bad_address {
        TEST_NET,
        OTHER_TEST_NET,
        MULTICAST,
        MULTICAST_SIX,
        DOCUMENTED_SIX,
        FAMILY_NONE,
        FAMILY_UNKNOWN
};

static const struct address_row {
        const char *id;
        enum bad_address kind;
} unreachable_rows[] = {{"ipv4", TEST_NET},
                        {"other_ipv4", OTHER_TEST_NET},
                        {"ipv6", DOCUMENTED_SIX}},
  malformed_rows[] = {{"multicast_ipv4", MULTICAST},
                      {"multicast_ipv6", MULTICAST_SIX},
                      {"no_family", FAMILY_NONE},
                      {"unknown_family", FAMILY_UNKNOWN}};

static struct sockaddr_storage bad_address(enum bad_address kind)
{
        struct sockaddr_storage address;

        memset(&address, 0, sizeof(address));
        switch (kind) {
        case TEST_NET:
                set_four(&address, 0xc0000201);
                break;
        case OTHER_TEST_NET:
                set_four(&address, 0xcb007109);
                break;
        case MULTICAST:
                set_four(&address, 0xe0000001);
                break;
        case MULTICAST_SIX:
                set_six(&address, 0xff, 0x02);
                break;
        case DOCUMENTED_SIX:
                set_six(&address, 0x20, 0x01);
                ((struct sockaddr_in6 *)&address)->sin6_addr.s6_addr[2] = 0x0d;
                ((struct sockaddr_in6 *)&address)->sin6_addr.s6_addr[3] = 0xb8;
                break;
        case FAMILY_NONE:
                break;
        case FAMILY_UNKNOWN:
                set_four(&address, 0xc0000201);
                address.ss_family = 250;
                break;
        }
        return address;
}

/*
 * Again
 */

/* Requests a connection that is not made, at no listener or at its own; is Disconnected then. */
static void asks_and_is_rejected(struct test *t, struct asking *asking, DAT_EVD_HANDLE requests)
{
        DAT_EVENT event;

        expect(connect_ask(asking), DAT_SUCCESS);
        event = must_event(requests, DAT_CONNECTION_REQUEST_EVENT);
        must(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle));
        must_event(ep_connect_evd(t, asking->ep), DAT_CONNECTION_EVENT_PEER_REJECTED);
}

static void asks_unheard(struct test *t, struct asking *asking, DAT_EVD_HANDLE requests)
{
        (void)requests;
        asking->qual = point_qual(t);
        expect(connect_ask(asking), DAT_SUCCESS);
        must_event(ep_connect_evd(t, asking->ep), DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

static void must_be_over(struct test *t, struct asking *asking)
{
        DAT_EVENT event;
        DAT_COUNT more;

        must(dat_evd_wait(ep_connect_evd(t, asking->ep), event_timeout(t), 1, &event, &more));
}

static void asks_too_long(struct test *t, struct asking *asking, DAT_EVD_HANDLE requests)
{
        (void)requests;
        asking->timeout = 60 * US_PER_MS;
        expect(connect_ask(asking), DAT_SUCCESS);
        must_be_over(t, asking);
}

static void asks_nowhere(struct test *t, struct asking *asking, DAT_EVD_HANDLE requests)
{
        static struct sockaddr_storage nowhere;

        (void)requests;
        nowhere = bad_address(TEST_NET);
        asking->address = (DAT_IA_ADDRESS_PTR)&nowhere;
        asking->timeout = 150 * US_PER_MS;
        if (dat_is(connect_ask(asking), DAT_SUCCESS))
                must_be_over(t, asking);
}

static const struct vain {
        const char *id;
        void (*ask)(struct test *t, struct asking *asking, DAT_EVD_HANDLE requests);
} vain_rows[] = {
    {"rejected", asks_and_is_rejected},
    {"not_listening", asks_unheard},
    {"timed_out", asks_too_long},
    {"unreachable", asks_nowhere},
};

/* Each time the EP is reset; what it asks at last is heard as if it had never asked before. */
FAMILY(ep_connect, again, vain_rows)
{
        DAT_EVD_HANDLE requests = evd_with(t, .flags = DAT_EVD_CR_FLAG);
        struct stage stage;
        DAT_CONN_QUAL qual;

        loop_listen(t, requests, psp_flags_granted(t), &qual);
        stage_set(t, &stage, BY_ADDRESS);
        for (int i = 0; i < 3; i++) {
                struct asking asking = stage.asking;

                asking.qual = qual;
                asking.data = NULL;
                asking.size = 0;
                row->ask(t, &asking, requests);
                if (ep_state(t, asking.ep) == DAT_EP_STATE_DISCONNECTED)
                        must(dat_ep_reset(asking.ep));
        }
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        expect_ep_pending(t, stage.asking.ep);
        expect_stage_accepted(t, &stage);
        expect_loop_carries(t, stage.asking.ep, stage.loop.passive);
}

/* How an EP that gave private data comes to ask once more. */
static void asks_and_leaves(struct test *t, struct asking *asking, DAT_EVD_HANDLE requests)
{
        DAT_EP_HANDLE other = ep_with(t, .srq = DAT_HANDLE_NULL);
        DAT_EVENT event;

        expect(connect_ask(asking), DAT_SUCCESS);
        event = must_event(requests, DAT_CONNECTION_REQUEST_EVENT);
        must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, other, 0, NULL));
        must_event(ep_connect_evd(t, asking->ep), DAT_CONNECTION_EVENT_ESTABLISHED);
        must(dat_ep_disconnect(asking->ep, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, asking->ep), DAT_CONNECTION_EVENT_DISCONNECTED);
}

static const struct vain givers[] = {
    {"rejected", asks_and_is_rejected},
    {"connected", asks_and_leaves},
};

/* It asks without private data, after a request that had some. */
FAMILY(ep_connect, former_data, givers)
{
        struct stage stage;
        DAT_CR_PARAM param;

        stage_set(t, &stage, BY_ADDRESS);
        row->ask(t, &stage.asking, stage.loop.requests);
        must(dat_ep_reset(stage.asking.ep));
        stage.asking.size = 0;
        stage.asking.data = NULL;
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        stage.loop.request = stage_request(t, &stage, 0, 0, &param);
        expect_that(param.private_data_size < FORMER ||
                        memcmp(param.private_data, stage.data, FORMER) != 0,
                    "the private data of the former request came");
        must(dat_cr_accept(stage.loop.request, loop_named(&stage.loop), 0, NULL));
        expect_ep_told(t, stage.asking.ep, DAT_CONNECTION_EVENT_ESTABLISHED,
                       DAT_EP_STATE_CONNECTED);
}

FAMILY(ep_connect, unreachable, unreachable_rows)
{
        struct sockaddr_storage address = bad_address(row->kind);

        expect_nowhere(t, &address);
}

FAMILY(ep_connect, malformed_address, malformed_rows)
{
        struct sockaddr_storage address = bad_address(row->kind);

        expect_nowhere(t, &address);
}

/*
 * Flags and states
 */

CASE(ep_connect, multipath)
{
        struct trial trial;
        DAT_RETURN ret;

        trial_set(t, &trial);
        trial.asking.flags = DAT_CONNECT_MULTIPATH_FLAG;
        ret = connect_ask(&trial.asking);
        if (dat_is(ret, DAT_SUCCESS)) {
                expect_stage_accepted(t, &trial.stage);
                expect_stage_carries(t, &trial.stage);
                return;
        }
        expect_that(!provider_attr(t)->supports_multipath,
                    "supports_multipath is declared, and multipathing refused");
        expect_stage_connects(t, &trial.stage, &trial.before);
}

/* Where it is no longer Unconnected, nothing is heard of the request but by who heard the first. */
FAMILY(ep_connect, in_state, ep_states)
{
        EACH_EP_ROUTE (route, row->state) {
                struct ep_held held = ep_hold_by(t, route);
                struct asking asking;
                struct stage stage;

                stage_set(t, &stage, BY_ADDRESS);
                asking = stage.asking;
                asking.ep = held.ep;
                if (row->state == DAT_EP_STATE_UNCONNECTED) {
                        stage.asking = asking;
                        stage.loop.active = held.ep;
                        expect(connect_ask(&asking), DAT_SUCCESS);
                        expect_stage_accepted(t, &stage);
                        continue;
                }
                ep_hold_receive(t, &held);
                expect(connect_ask(&asking), DAT_INVALID_STATE);
                expect_ep_untouched(t, &held);
                expect_empty(t, stage.loop.requests);
        }
}

/* Ends of an EP that no route into Disconnected has. */
static void turn_broken(struct test *t, struct loop *loop)
{
        ep_turn_break(t, loop);
        must_have_broken(t, loop->active);
}

static const struct ending {
        const char *id;
        void (*make)(struct test *t, struct loop *loop);
} endings[] = {
    {"gives_up", ep_turn_give_up},
    {"breaks", turn_broken},
};

FAMILY(ep_connect, after_end, endings)
{
        struct loop loop = loop_new(t);
        struct asking asking;
        struct stage stage;

        row->make(t, &loop);
        must_that(ep_state(t, loop.active) == DAT_EP_STATE_DISCONNECTED,
                  "the EP is not Disconnected");
        stage_set(t, &stage, BY_ADDRESS);
        asking = stage.asking;
        asking.ep = loop.active;
        expect(connect_ask(&asking), DAT_INVALID_STATE);
        expect_eq(ep_state(t, loop.active), DAT_EP_STATE_DISCONNECTED);
        settle_briefly(t);
        expect_empty(t, stage.loop.requests);
}

CASE(ep_connect, of_srq)
{
        connect_of_srq(t, BY_ADDRESS);
}

/* The EP is of a second IA, and the listener of the first one. */
CASE(ep_connect, from_other_ia)
{
        DAT_IA_HANDLE other = other_ia(t);
        DAT_EVD_HANDLE dtos = evd_with(t, .ia = other);
        DAT_EVD_HANDLE connect = evd_with(t, .ia = other, .flags = DAT_EVD_CONNECTION_FLAG);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        struct asking asking;
        struct stage stage;
        DAT_EVENT event;

        stage_set(t, &stage, BY_ADDRESS);
        must(dat_ep_create(other, pz_of(t, other), dtos, dtos, connect, NULL, &ep));
        adopt(t, DAT_HANDLE_TYPE_EP, ep);
        asking = stage.asking;
        asking.ep = ep;
        expect(connect_ask(&asking), DAT_SUCCESS);
        expect_stage_heard(t, &stage);
        must(dat_cr_accept(stage.loop.request, loop_named(&stage.loop), 0, NULL));
        event = expect_event(connect, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_that(event.event_data.connect_event_data.ep_handle == ep,
                    "the event names another EP");
        expect_eq(ep_state(t, ep), DAT_EP_STATE_CONNECTED);
        expect_event(ep_connect_evd(t, stage.loop.passive), DAT_CONNECTION_EVENT_ESTABLISHED);
}

LEGAL(ep_connect)
{
        static struct stage stage;

        stage_set(t, &stage, BY_ADDRESS);
        call->ep_handle = stage.asking.ep;
        call->remote_ia_address = stage.asking.address;
        call->remote_conn_qual = stage.asking.qual;
        call->timeout = stage.asking.timeout;
        call->private_data_size = stage.asking.size;
        call->private_data = stage.asking.data;
        call->quality_of_service = stage.asking.qos;
        call->connect_flags = stage.asking.flags;
}
