/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/later_event.h"
#include "cases/ep/shared/connect_impl.h"
#include "cases/shared/point.h"

/*
 * With the peer
 */

struct peer_cr expect_peer_request(struct test *t)
{
        uint64_t until = connect_clock_us() + event_timeout(t);

        while (!peer_has_request(peer(t))) {
                expect_that(connect_clock_us() < until, "no request has come to the peer");
                settle_briefly(t);
        }
        return peer_take_request(peer(t));
}

static struct peer_cr expect_peer_hears(struct test *t, const struct remote *remote)
{
        struct peer_cr request = expect_peer_request(t);

        expect_eq(request.qual, remote->place.qual);
        expect_that(message_holds(request.private_data, (size_t)remote->asking.size, OLD_DATA),
                    "the private data is not what was sent");
        return request;
}

void connect_peer(struct test *t, enum way way)
{
        struct remote remote;
        struct peer_cr request;
        struct peer_ep *end;

        remote_set(t, &remote, way);
        expect(connect_ask(&remote.asking), DAT_SUCCESS);
        request = expect_peer_hears(t, &remote);
        expect_ep_pending(t, remote.asking.ep);
        end = peer_accept(&request, NULL, 0);
        expect_ep_told(t, remote.asking.ep, DAT_CONNECTION_EVENT_ESTABLISHED,
                       DAT_EP_STATE_CONNECTED);
        peer_wait_connected(end);
        expect_ep_takes(t, remote.asking.ep, pz(t), end,
                        (struct load){.dtos = 1, .segments = 1, .length = MESSAGE});
        expect_ep_gives(t, remote.asking.ep, pz(t), end,
                        (struct load){.dtos = 1, .segments = 1, .length = MESSAGE});
}

void connect_peer_port(struct test *t, enum way way)
{
        struct remote remote;
        struct peer_cr request;

        remote_set(t, &remote, way);
        expect(connect_ask(&remote.asking), DAT_SUCCESS);
        request = expect_peer_hears(t, &remote);
        expect_eq(request.port, connect_port_of(t, remote.asking.ep));
        peer_accept(&request, NULL, 0);
        expect_ep_told(t, remote.asking.ep, DAT_CONNECTION_EVENT_ESTABLISHED,
                       DAT_EP_STATE_CONNECTED);
}

void connect_peer_rejects(struct test *t, enum way way)
{
        struct remote remote;
        struct peer_cr request;

        remote_set(t, &remote, way);
        expect(connect_ask(&remote.asking), DAT_SUCCESS);
        request = expect_peer_hears(t, &remote);
        peer_reject(&request);
        expect_ep_told(t, remote.asking.ep, DAT_CONNECTION_EVENT_PEER_REJECTED,
                       DAT_EP_STATE_DISCONNECTED);
}

void connect_peer_never_answers(struct test *t, enum way way)
{
        struct remote remote;
        uint64_t began;

        remote_set(t, &remote, way);
        remote.asking.timeout = 150 * US_PER_MS;
        began = connect_clock_us();
        expect(connect_ask(&remote.asking), DAT_SUCCESS);
        expect_time_out(t, remote.asking.ep, began, remote.asking.timeout);
        if (peer_has_request(peer(t)))
                peer_take_request(peer(t));
        expect_that(!peer_has_request(peer(t)), "one call made two requests");
}

/* The peer's process is stopped, so that it does not even hear. */
void connect_peer_freezes(struct test *t, enum way way)
{
        struct remote remote;
        uint64_t began;

        remote_set(t, &remote, way);
        peer_freeze(peer(t));
        remote.asking.timeout = 150 * US_PER_MS;
        began = connect_clock_us();
        expect(connect_ask(&remote.asking), DAT_SUCCESS);
        expect_time_out(t, remote.asking.ep, began, remote.asking.timeout);
}

/* The rejection is by the provider, not by a consumer: it is no rejection by the peer. */
void connect_peer_dies(struct test *t, enum way way)
{
        struct remote remote;
        char space[64];
        DAT_EVENT event;
        DAT_COUNT more;

        remote_set(t, &remote, way);
        remote.asking.timeout = event_timeout(t) / 2;
        expect(connect_ask(&remote.asking), DAT_SUCCESS);
        expect_peer_hears(t, &remote);
        peer_kill(peer(t));
        expect(
            dat_evd_wait(ep_connect_evd(t, remote.asking.ep), event_timeout(t), 1, &event, &more),
            DAT_SUCCESS);
        expect_that(event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
                        event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE ||
                        event.event_number == DAT_CONNECTION_EVENT_TIMED_OUT,
                    "%s tells that the peer is gone",
                    event_name(event.event_number, space, sizeof(space)));
        expect_about(t, &event, remote.asking.ep);
        expect_eq(ep_state(t, remote.asking.ep), DAT_EP_STATE_DISCONNECTED);
        expect_no_later_event(remote.asking.ep, event.event_number);
}

/* The peer has no listener any more. */
void connect_peer_is_gone(struct test *t, enum way way)
{
        struct remote remote;

        remote_set(t, &remote, way);
        peer_stop_listening(peer(t), remote.place.qual);
        expect(connect_ask(&remote.asking), DAT_SUCCESS);
        expect_ep_told(t, remote.asking.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
                       DAT_EP_STATE_DISCONNECTED);
}

/* The answer of the peer's host, which has no listener, is lost on the network. */
void connect_cut_off(struct test *t, enum way way)
{
        struct remote remote;
        uint64_t began;

        remote_set(t, &remote, way);
        peer_stop_listening(peer(t), remote.place.qual);
        peer_disturb(peer(t), .loss_percent = 100);
        remote.asking.timeout = 300 * US_PER_MS;
        began = connect_clock_us();
        expect(connect_ask(&remote.asking), DAT_SUCCESS);
        expect_no_host(t, remote.asking.ep, remote.asking.timeout);
        record(t, "told after %llu us", (unsigned long long)(connect_clock_us() - began));
}
