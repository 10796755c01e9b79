/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections: how they begin, what they carry at their beginning, and how they end. */
#include "loopback.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

static void opens_and_closes(void **state)
{
        struct host *host = host_open();

        (void)state;
        assert_string_equal(host->provider.provider_name, "daplref");
        assert_int_equal(host->provider.dapl_version_major, 1);
        assert_int_equal(host->provider.dapl_version_minor, 2);
        assert_true(host->provider.max_private_data_size >= 64);
        assert_int_equal(host->attr.ia_address_ptr->sa_family, AF_INET);
        host_close(host);
}

static void carries_messages_both_ways(void **state)
{
        struct host *host = host_joined();

        (void)state;
        post_recv(&host->b, 0, 4096, 1);
        post_recv(&host->a, 0, 4096, 2);
        memset(host->a.memory + 8192, 0x5a, 1000);
        post_send(&host->a, 8192, 1000, 3);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, 1000);
        await_completion(host->a.request_evd, host->a.ep, 3, DAT_DTO_SUCCESS, 1000);
        assert_memory_equal(host->b.memory, host->a.memory + 8192, 1000);
        post_send(&host->b, 0, 100, 4);
        await_completion(host->a.recv_evd, host->a.ep, 2, DAT_DTO_SUCCESS, 100);
        await_completion(host->b.request_evd, host->b.ep, 4, DAT_DTO_SUCCESS, 100);
        host_close(host);
}

static void receives_posted_before_the_connection_count(void **state)
{
        struct host *host = host_listening();

        (void)state;
        post_recv(&host->b, 0, 100, 1);
        post_recv(&host->b, 100, 100, 2);
        post_recv(&host->a, 0, 100, 3);
        join_ends(host, &host->a, &host->b);
        post_send(&host->a, 0, 10, 4);
        post_send(&host->a, 0, 20, 5);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, 10);
        await_completion(host->b.recv_evd, host->b.ep, 2, DAT_DTO_SUCCESS, 20);
        post_send(&host->b, 0, 30, 6);
        await_completion(host->a.recv_evd, host->a.ep, 3, DAT_DTO_SUCCESS, 30);
        host_close(host);
}

static void fill(unsigned char *data, int size, int seed)
{
        for (int i = 0; i < size; i++)
                data[i] = (unsigned char)(i * 7 + seed);
}

static void private_data_of_size(int size)
{
        struct host *host = host_listening();
        unsigned char there[64];
        unsigned char back[64];
        DAT_CR_HANDLE cr;
        DAT_CR_PARAM param;
        DAT_EVENT event;

        fill(there, size, 1);
        fill(back, size, 99);
        assert_dat(dat_ep_connect(host->a.ep, host->attr.ia_address_ptr, host->qual, LONG, size,
                                  there, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
                   DAT_SUCCESS);
        cr = await_request(host);
        assert_dat(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
        assert_int_equal(param.private_data_size, size);
        if (size)
                assert_memory_equal(param.private_data, there, (size_t)size);
        assert_null(param.local_ep_handle);
        assert_dat(dat_cr_accept(cr, host->b.ep, size, back), DAT_SUCCESS);
        event = await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        assert_int_equal(event.event_data.connect_event_data.private_data_size, size);
        if (size)
                assert_memory_equal(event.event_data.connect_event_data.private_data, back,
                                    (size_t)size);
        assert_ptr_equal(event.event_data.connect_event_data.ep_handle, host->a.ep);
        event = await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        assert_int_equal(event.event_data.connect_event_data.private_data_size, 0);
        assert_dat(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_INVALID_HANDLE);
        host_close(host);
}

static void private_data_arrives_whole(void **state)
{
        static const int sizes[] = {0, 1, 35, 36, 37, 56, 63, 64};

        (void)state;
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
                private_data_of_size(sizes[i]);
}

/* Long private data takes two requests each, and all of them are on their way together. */
static void private_data_of_many_arrives_whole(void **state)
{
        struct host *host = host_open();
        unsigned char data[64];
        struct end ends[8] = {0};
        bool seen[8] = {false};

        (void)state;
        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        for (int i = 0; i < 8; i++) {
                end_make(host, &ends[i], NULL);
                fill(data, sizeof(data), i);
                assert_dat(dat_ep_connect(ends[i].ep, host->attr.ia_address_ptr, host->qual, LONG,
                                          sizeof(data), data, DAT_QOS_BEST_EFFORT,
                                          DAT_CONNECT_DEFAULT_FLAG),
                           DAT_SUCCESS);
        }
        for (int i = 0; i < 8; i++) {
                DAT_CR_HANDLE cr = await_request(host);
                DAT_CR_PARAM param;
                int sender;

                assert_dat(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
                assert_int_equal(param.private_data_size, sizeof(data));
                sender = *(unsigned char *)param.private_data;
                assert_in_range(sender, 0, 7);
                assert_false(seen[sender]);
                seen[sender] = true;
                fill(data, sizeof(data), sender);
                assert_memory_equal(param.private_data, data, sizeof(data));
                assert_dat(dat_cr_reject(cr), DAT_SUCCESS);
        }
        for (int i = 0; i < 8; i++) {
                (void)await_event(ends[i].connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
                end_free(&ends[i]);
        }
        host_close(host);
}

static void too_much_private_data_is_refused(void **state)
{
        struct host *host = host_open();
        unsigned char data[1024] = {0};
        int size = host->provider.max_private_data_size + 1;

        (void)state;
        end_make(host, &host->a, NULL);
        assert_dat(dat_ep_connect(host->a.ep, host->attr.ia_address_ptr, 7777, LONG, size, data,
                                  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
                   DAT_INVALID_PARAMETER);
        assert_dat(dat_ep_connect(host->a.ep, host->attr.ia_address_ptr, 7777, LONG, 4, NULL,
                                  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
                   DAT_INVALID_PARAMETER);
        assert_int_equal(state_of(host->a.ep), DAT_EP_STATE_UNCONNECTED);
        host_close(host);
}

static void reject_is_the_peers(void **state)
{
        struct host *host = host_listening();

        (void)state;
        post_recv(&host->a, 0, 10, 1);
        connect_to(host, &host->a, host->qual);
        assert_int_equal(state_of(host->a.ep), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
        assert_dat(dat_cr_reject(await_request(host)), DAT_SUCCESS);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
        assert_int_equal(state_of(host->a.ep), DAT_EP_STATE_DISCONNECTED);
        await_completion(host->a.recv_evd, host->a.ep, 1, DAT_DTO_ERR_FLUSHED, 0);
        host_close(host);
}

static void no_listener_is_not_the_peers(void **state)
{
        struct host *host = host_open();

        (void)state;
        end_make(host, &host->a, NULL);
        connect_to(host, &host->a, 7777);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        assert_int_equal(state_of(host->a.ep), DAT_EP_STATE_DISCONNECTED);
        assert_dat(dat_ep_reset(host->a.ep), DAT_SUCCESS);
        assert_int_equal(state_of(host->a.ep), DAT_EP_STATE_UNCONNECTED);
        host_close(host);
}

static void silence_ends_with_the_timeout(void **state)
{
        struct host *host = host_listening();

        (void)state;
        assert_dat(dat_ep_connect(host->a.ep, host->attr.ia_address_ptr, host->qual, SECOND / 2, 0,
                                  NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
                   DAT_SUCCESS);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_TIMED_OUT);
        assert_int_equal(state_of(host->a.ep), DAT_EP_STATE_DISCONNECTED);
        /* Who accepts too late is told so. */
        assert_dat(dat_cr_accept(await_request(host), host->b.ep, 0, NULL), DAT_SUCCESS);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
        assert_int_equal(state_of(host->b.ep), DAT_EP_STATE_DISCONNECTED);
        host_close(host);
}

static void nowhere_is_unreachable(void **state)
{
        struct host *host = host_open();
        struct sockaddr_in nowhere = {.sin_family = AF_INET};

        (void)state;
        inet_pton(AF_INET, "203.0.113.1", &nowhere.sin_addr);
        end_make(host, &host->a, NULL);
        assert_dat(dat_ep_connect(host->a.ep, (DAT_IA_ADDRESS_PTR)&nowhere, 7777, SECOND, 0, NULL,
                                  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
                   DAT_SUCCESS);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_UNREACHABLE);
        host_close(host);
}

static void bad_arguments_of_connect(void **state)
{
        struct host *host = host_open();
        struct sockaddr odd = {.sa_family = AF_UNIX};
        DAT_IA_ADDRESS_PTR here = host->attr.ia_address_ptr;
        DAT_EP_HANDLE ep;

        (void)state;
        end_make(host, &host->a, NULL);
        ep = host->a.ep;
        assert_dat(dat_ep_connect(ep, NULL, 7, LONG, 0, NULL, 0, 0), DAT_INVALID_PARAMETER);
        assert_dat(dat_ep_connect(ep, &odd, 7, LONG, 0, NULL, 0, 0), DAT_INVALID_ADDRESS);
        assert_dat(dat_ep_connect(ep, here, 7, 0, 0, NULL, 0, 0), DAT_INVALID_PARAMETER);
        assert_dat(dat_ep_connect(ep, here, 7, LONG, -1, NULL, 0, 0), DAT_INVALID_PARAMETER);
        assert_dat(dat_ep_connect(ep, here, 7, LONG, 0, NULL, DAT_QOS_PREMIUM, 0),
                   DAT_MODEL_NOT_SUPPORTED);
        assert_dat(dat_ep_connect(ep, here, 7, LONG, 0, NULL, 0, DAT_CONNECT_MULTIPATH_FLAG),
                   DAT_MODEL_NOT_SUPPORTED);
        assert_int_equal(state_of(ep), DAT_EP_STATE_UNCONNECTED);
        host_close(host);
}

static void abrupt_disconnect_flushes_both_ends(void **state)
{
        struct host *host = host_joined();

        (void)state;
        post_recv(&host->a, 0, 10, 1);
        post_recv(&host->a, 0, 10, 2);
        post_recv(&host->b, 0, 10, 3);
        assert_dat(dat_ep_disconnect(host->a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        await_completion(host->a.recv_evd, host->a.ep, 1, DAT_DTO_ERR_FLUSHED, 0);
        await_completion(host->a.recv_evd, host->a.ep, 2, DAT_DTO_ERR_FLUSHED, 0);
        await_completion(host->b.recv_evd, host->b.ep, 3, DAT_DTO_ERR_FLUSHED, 0);
        /* Posts to a Disconnected EP are flushed at once. */
        post_recv(&host->a, 0, 10, 4);
        await_completion(host->a.recv_evd, host->a.ep, 4, DAT_DTO_ERR_FLUSHED, 0);
        post_send(&host->a, 0, 10, 5);
        await_completion(host->a.request_evd, host->a.ep, 5, DAT_DTO_ERR_FLUSHED, 0);
        assert_dat(dat_ep_disconnect(host->a.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        assert_silent(host->a.connect_evd);
        host_close(host);
}

static void graceful_disconnect_delivers_first(void **state)
{
        struct host *host = host_joined();

        (void)state;
        for (size_t i = 0; i < 4; i++)
                post_recv(&host->b, i * 8192, 8192, i);
        for (unsigned int i = 0; i < 4; i++)
                post_send(&host->a, 0, 8192, 10 + i);
        assert_dat(dat_ep_disconnect(host->a.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        for (unsigned int i = 0; i < 4; i++) {
                await_completion(host->a.request_evd, host->a.ep, 10 + i, DAT_DTO_SUCCESS, 8192);
                await_completion(host->b.recv_evd, host->b.ep, i, DAT_DTO_SUCCESS, 8192);
        }
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        host_close(host);
}

static void graceful_disconnect_waits_for_the_peer(void **state)
{
        struct host *host = host_joined();
        DAT_LMR_TRIPLET iov;

        (void)state;
        /* Without a receive at the other end, the send stays outstanding. */
        post_send(&host->a, 0, 100, 1);
        assert_dat(dat_ep_disconnect(host->a.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        assert_int_equal(state_of(host->a.ep), DAT_EP_STATE_DISCONNECT_PENDING);
        iov = segment(&host->a, 0, 10);
        assert_dat(dat_ep_post_send(host->a.ep, 1, &iov, cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_INVALID_STATE);
        assert_dat(dat_ep_disconnect(host->a.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        assert_int_equal(state_of(host->a.ep), DAT_EP_STATE_DISCONNECT_PENDING);
        post_recv(&host->b, 0, 100, 3);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        await_completion(host->a.request_evd, host->a.ep, 1, DAT_DTO_SUCCESS, 100);
        await_completion(host->b.recv_evd, host->b.ep, 3, DAT_DTO_SUCCESS, 100);
        host_close(host);
}

/* A Consumer that takes no completions hears all the same that the last of them has come. */
static void graceful_disconnect_needs_no_reader(void **state)
{
        struct host *host = host_joined();

        (void)state;
        for (unsigned int i = 0; i < 64; i++) {
                post_recv(&host->b, 0, 10, i);
                post_send(&host->a, 0, 10, i);
                await_completion(host->b.recv_evd, host->b.ep, i, DAT_DTO_SUCCESS, 10);
        }
        (void)state_of(host->a.ep);
        post_send(&host->a, 0, 10, 64);
        assert_dat(dat_ep_disconnect(host->a.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        post_recv(&host->b, 0, 10, 64);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        host_close(host);
}

static void abrupt_overrides_graceful(void **state)
{
        struct host *host = host_joined();

        (void)state;
        post_send(&host->a, 0, 100, 1);
        assert_dat(dat_ep_disconnect(host->a.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        assert_dat(dat_ep_disconnect(host->a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        await_completion(host->a.request_evd, host->a.ep, 1, DAT_DTO_ERR_FLUSHED, 0);
        host_close(host);
}

static void disconnect_by_state(void **state)
{
        struct host *host = host_open();

        (void)state;
        end_make(host, &host->a, NULL);
        assert_dat(dat_ep_disconnect(host->a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_STATE);
        assert_dat(dat_ep_disconnect(host->a.ep, (DAT_CLOSE_FLAGS)77), DAT_INVALID_PARAMETER);
        host_close(host);
}

static void abort_of_an_attempt(void **state)
{
        struct host *host = host_open();

        (void)state;
        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, &host->a, NULL);
        post_recv(&host->a, 0, 10, 1);
        connect_to(host, &host->a, host->qual);
        (void)await_request(host);
        assert_dat(dat_ep_disconnect(host->a.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        assert_int_equal(state_of(host->a.ep), DAT_EP_STATE_DISCONNECTED);
        await_completion(host->a.recv_evd, host->a.ep, 1, DAT_DTO_ERR_FLUSHED, 0);
        assert_dat(dat_ia_close(host->ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
        assert_dat(dat_ia_close(host->ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        free(host->a.memory);
        free(host);
}

static void an_ep_connects_again_after_reset(void **state)
{
        struct host *host = host_joined();

        (void)state;
        for (int i = 0; i < 5; i++) {
                post_recv(&host->b, 0, 10, 1);
                post_send(&host->a, 0, 10, 2);
                await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, 10);
                await_completion(host->a.request_evd, host->a.ep, 2, DAT_DTO_SUCCESS, 10);
                assert_dat(dat_ep_reset(host->a.ep), DAT_INVALID_STATE);
                assert_dat(
                    dat_ep_disconnect(i % 2 ? host->a.ep : host->b.ep, DAT_CLOSE_ABRUPT_FLAG),
                    DAT_SUCCESS);
                (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
                (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
                assert_dat(dat_ep_reset(host->a.ep), DAT_SUCCESS);
                assert_dat(dat_ep_reset(host->b.ep), DAT_SUCCESS);
                join_ends(host, &host->a, &host->b);
        }
        host_close(host);
}

static void close_with_everything_open(void **state)
{
        struct host *host = host_joined();

        (void)state;
        post_recv(&host->a, 0, 10, 1);
        post_send(&host->b, 0, 10, 1);
        post_send(&host->b, 0, 10, 2);
        assert_dat(dat_ia_close(host->ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
        assert_dat(dat_ia_close(host->ia, (DAT_CLOSE_FLAGS)9), DAT_INVALID_PARAMETER);
        assert_dat(dat_ia_close(host->ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        assert_dat(dat_ep_free(host->a.ep), DAT_INVALID_HANDLE);
        assert_dat(dat_pz_free(host->pz), DAT_INVALID_HANDLE);
        free(host->a.memory);
        free(host->b.memory);
        free(host);
}

static void a_qualifier_is_used_once(void **state)
{
        struct host *host = host_open();
        DAT_PSP_HANDLE psp;
        DAT_PSP_HANDLE other;
        DAT_PSP_PARAM param;

        (void)state;
        assert_dat(dat_psp_create(host->ia, 7001, host->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
                   DAT_SUCCESS);
        assert_dat(dat_psp_create(host->ia, 7001, host->cr_evd, DAT_PSP_CONSUMER_FLAG, &other),
                   DAT_CONN_QUAL_IN_USE);
        assert_dat(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param), DAT_SUCCESS);
        assert_int_equal(param.conn_qual, 7001);
        assert_ptr_equal(param.evd_handle, host->cr_evd);
        assert_dat(dat_psp_free(psp), DAT_SUCCESS);
        assert_dat(dat_psp_create(host->ia, 7001, host->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
                   DAT_SUCCESS);
        assert_dat(dat_psp_free(psp), DAT_SUCCESS);
        assert_dat(dat_psp_free(psp), DAT_INVALID_HANDLE);
        host_close(host);
}

static void wide_qualifiers_connect(void **state)
{
        struct host *host = host_open();
        DAT_CONN_QUAL wide = UINT64_C(0x123456789abcdef0);

        (void)state;
        assert_dat(dat_psp_create(host->ia, wide, host->cr_evd, DAT_PSP_CONSUMER_FLAG, &host->psp),
                   DAT_SUCCESS);
        host->qual = wide;
        end_make(host, &host->a, NULL);
        end_make(host, &host->b, NULL);
        join_ends(host, &host->a, &host->b);
        host_close(host);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(opens_and_closes),
            cmocka_unit_test(carries_messages_both_ways),
            cmocka_unit_test(receives_posted_before_the_connection_count),
            cmocka_unit_test(private_data_arrives_whole),
            cmocka_unit_test(private_data_of_many_arrives_whole),
            cmocka_unit_test(too_much_private_data_is_refused),
            cmocka_unit_test(reject_is_the_peers),
            cmocka_unit_test(no_listener_is_not_the_peers),
            cmocka_unit_test(silence_ends_with_the_timeout),
            cmocka_unit_test(nowhere_is_unreachable),
            cmocka_unit_test(bad_arguments_of_connect),
            cmocka_unit_test(abrupt_disconnect_flushes_both_ends),
            cmocka_unit_test(graceful_disconnect_delivers_first),
            cmocka_unit_test(graceful_disconnect_waits_for_the_peer),
            cmocka_unit_test(graceful_disconnect_needs_no_reader),
            cmocka_unit_test(abrupt_overrides_graceful),
            cmocka_unit_test(disconnect_by_state),
            cmocka_unit_test(abort_of_an_attempt),
            cmocka_unit_test(an_ep_connects_again_after_reset),
            cmocka_unit_test(close_with_everything_open),
            cmocka_unit_test(a_qualifier_is_used_once),
            cmocka_unit_test(wide_qualifiers_connect),
        };

        return cmocka_run_group_tests_name("connection", tests, NULL, NULL);
}
