/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two hosts: `test-provider-two_hosts serve` on one, `test-provider-two_hosts ADDRESS` on the
 * other. Each is a test of its own and exits with 0 when it saw what it should.
 */
#include "loopback.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUAL  7700
#define COUNT 200

static const char *peer;

static void serve(void **state)
{
        struct host *host = host_open();
        DAT_EVENT event;
        DAT_COUNT nmore;

        (void)state;
        host->qual = QUAL;
        end_make(host, &host->b, NULL);
        for (unsigned int i = 0; i < 8; i++)
                post_recv(&host->b, (size_t)i * 4096, 4096, i);
        assert_dat(dat_psp_create(host->ia, QUAL, host->cr_evd, DAT_PSP_CONSUMER_FLAG, &host->psp),
                   DAT_SUCCESS);
        assert_dat(dat_evd_wait(host->cr_evd, 3 * LONG, 1, &event, &nmore), DAT_SUCCESS);
        /* The accepting side tells where its memory is. */
        memcpy(host->b.memory + 60000, "before", 7);
        DAT_RMR_TRIPLET window = {
            .rmr_context = host->b.rmr_context,
            .target_address = (DAT_VADDR)(uintptr_t)(host->b.memory + 60000),
            .segment_length = 7,
        };
        assert_dat(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, host->b.ep,
                                 sizeof(window), &window),
                   DAT_SUCCESS);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        for (unsigned int i = 0; i < COUNT; i++) {
                await_completion(host->b.recv_evd, host->b.ep, i % 8, DAT_DTO_SUCCESS, 1 + i * 20);
                assert_int_equal(host->b.memory[(size_t)(i % 8) * 4096 + (size_t)i * 20],
                                 (uint8_t)i);
                post_recv(&host->b, (size_t)(i % 8) * 4096, 4096, i % 8);
        }
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        assert_string_equal((char *)host->b.memory + 60000, "behind");
        /* The peer asks once more, and stays until this end knows that the connection is gone. */
        assert_dat(dat_cr_reject(await_request(host)), DAT_SUCCESS);
        host_close(host);
}

static void set_peer(struct sockaddr_storage *address)
{
        memset(address, 0, sizeof(*address));
        if (inet_pton(AF_INET, peer, &((struct sockaddr_in *)address)->sin_addr) == 1)
                address->ss_family = AF_INET;
        else if (inet_pton(AF_INET6, peer, &((struct sockaddr_in6 *)address)->sin6_addr) == 1)
                address->ss_family = AF_INET6;
        else
                fail_msg("%s is not an address", peer);
}

static void ask(struct host *host, struct sockaddr_storage *address)
{
        assert_dat(dat_ep_connect(host->a.ep, (DAT_IA_ADDRESS_PTR)address, QUAL, LONG, 0, NULL,
                                  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
                   DAT_SUCCESS);
}

/* The server may not be up yet: then no one listens, which is an event to try again after. */
static DAT_EVENT connect_patiently(struct host *host, struct sockaddr_storage *address)
{
        DAT_EVENT event;
        DAT_COUNT nmore;

        for (int attempt = 0; attempt < 2000; attempt++) {
                ask(host, address);
                assert_dat(dat_evd_wait(host->a.connect_evd, 2 * LONG, 1, &event, &nmore),
                           DAT_SUCCESS);
                if (event.event_number != DAT_CONNECTION_EVENT_NON_PEER_REJECTED)
                        break;
                assert_dat(dat_ep_reset(host->a.ep), DAT_SUCCESS);
                assert_silent(host->async_evd);
        }
        assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
        return event;
}

static void request(void **state)
{
        struct host *host = host_open();
        struct sockaddr_storage address;
        DAT_RMR_TRIPLET window;
        DAT_LMR_TRIPLET iov;
        DAT_EVENT event;
        DAT_COUNT nmore;

        (void)state;
        set_peer(&address);
        end_make(host, &host->a, NULL);
        event = connect_patiently(host, &address);
        assert_int_equal(event.event_data.connect_event_data.private_data_size, sizeof(window));
        memcpy(&window, event.event_data.connect_event_data.private_data, sizeof(window));
        for (unsigned int i = 0; i < COUNT; i++) {
                host->a.memory[(size_t)i * 20] = (uint8_t)i;
                post_send(&host->a, 0, 1 + (size_t)i * 20, i);
                await_completion(host->a.request_evd, host->a.ep, i, DAT_DTO_SUCCESS, 1 + i * 20);
        }
        iov = segment(&host->a, 0, 7);
        assert_dat(dat_ep_post_rdma_read(host->a.ep, 1, &iov, cookie(1), &window, 0), DAT_SUCCESS);
        await_completion(host->a.request_evd, host->a.ep, 1, DAT_DTO_SUCCESS, 7);
        assert_string_equal((char *)host->a.memory, "before");
        memcpy(host->a.memory, "behind", 7);
        assert_dat(dat_ep_post_rdma_write(host->a.ep, 1, &iov, cookie(2), &window, 0), DAT_SUCCESS);
        assert_dat(dat_ep_disconnect(host->a.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        await_completion(host->a.request_evd, host->a.ep, 2, DAT_DTO_SUCCESS, 7);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        assert_dat(dat_ep_reset(host->a.ep), DAT_SUCCESS);
        /* The IA stays open until the peer has heard of the end: it answers then, or is gone. */
        ask(host, &address);
        assert_dat(dat_evd_wait(host->a.connect_evd, 2 * LONG, 1, &event, &nmore), DAT_SUCCESS);
        if (event.event_number != DAT_CONNECTION_EVENT_PEER_REJECTED)
                assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        host_close(host);
}

int main(int argc, char **argv)
{
        const struct CMUnitTest server[] = {cmocka_unit_test(serve)};
        const struct CMUnitTest client[] = {cmocka_unit_test(request)};

        if (argc != 2) {
                (void)fprintf(stderr, "usage: %s serve | ADDRESS\n", argv[0]);
                return 64;
        }
        if (!strcmp(argv[1], "serve"))
                return cmocka_run_group_tests_name("two_hosts", server, NULL, NULL);
        peer = argv[1];
        return cmocka_run_group_tests_name("two_hosts", client, NULL, NULL);
}
