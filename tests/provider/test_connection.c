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

/* The content of a connection event that carries no private data. */
static void await_plain(const struct end *end, DAT_EVENT_NUMBER number)
{
        DAT_EVENT event = await_event(end->connect_evd, number);
        DAT_CONNECTION_EVENT_DATA *data = &event.event_data.connect_event_data;

        assert_ptr_equal(data->ep_handle, end->ep);
        assert_int_equal(data->private_data_size, 0);
        assert_null(data->private_data);
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
        assert_dat(dat_ep_connect(host->a.ep, host->attr.ia_address_ptr, host->qual, SHORT, 0, NULL,
                                  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
                   DAT_SUCCESS);
        await_plain(&host->a, DAT_CONNECTION_EVENT_TIMED_OUT);
        assert_int_equal(state_of(host->a.ep), DAT_EP_STATE_DISCONNECTED);
        /* An accept that comes too late gets an event that says so. */
        post_recv(&host->b, 0, 10, 1);
        assert_dat(dat_cr_accept(await_request(host), host->b.ep, 0, NULL), DAT_SUCCESS);
        await_plain(&host->b, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
        assert_int_equal(state_of(host->b.ep), DAT_EP_STATE_DISCONNECTED);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_ERR_FLUSHED, 0);
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

/* A Consumer that takes no completions still gets the event that the last of them has come. */
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

static DAT_RETURN ask(struct host *host, DAT_CONN_QUAL qual, DAT_TIMEOUT timeout, DAT_COUNT size,
                      DAT_PVOID data)
{
        return dat_ep_connect(host->a.ep, host->attr.ia_address_ptr, qual, timeout, size, data,
                              DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static void events_tell_whose_they_are(void **state)
{
        struct host *host = host_listening();
        struct sockaddr_in nowhere = {.sin_family = AF_INET};
        char data[] = "data";

        (void)state;
        inet_pton(AF_INET, "203.0.113.1", &nowhere.sin_addr);
        assert_dat(ask(host, host->qual, DAT_TIMEOUT_INFINITE, 4, data), DAT_SUCCESS);
        assert_dat(dat_cr_reject(await_request(host)), DAT_SUCCESS);
        await_plain(&host->a, DAT_CONNECTION_EVENT_PEER_REJECTED);
        assert_dat(dat_ep_reset(host->a.ep), DAT_SUCCESS);
        assert_dat(ask(host, 7777, DAT_TIMEOUT_INFINITE, 4, data), DAT_SUCCESS);
        await_plain(&host->a, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        assert_dat(dat_ep_reset(host->a.ep), DAT_SUCCESS);
        assert_dat(dat_ep_connect(host->a.ep, (DAT_IA_ADDRESS_PTR)&nowhere, 7777, SECOND / 2, 4,
                                  data, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
                   DAT_SUCCESS);
        await_plain(&host->a, DAT_CONNECTION_EVENT_UNREACHABLE);
        assert_int_equal(state_of(host->a.ep), DAT_EP_STATE_DISCONNECTED);
        assert_dat(dat_ep_reset(host->a.ep), DAT_SUCCESS);
        assert_dat(ask(host, host->qual, DAT_TIMEOUT_INFINITE, 4, data), DAT_SUCCESS);
        assert_dat(dat_cr_accept(await_request(host), host->b.ep, 0, NULL), DAT_SUCCESS);
        await_plain(&host->a, DAT_CONNECTION_EVENT_ESTABLISHED);
        await_plain(&host->b, DAT_CONNECTION_EVENT_ESTABLISHED);
        assert_dat(dat_ep_disconnect(host->b.ep, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
        await_plain(&host->b, DAT_CONNECTION_EVENT_DISCONNECTED);
        await_plain(&host->a, DAT_CONNECTION_EVENT_DISCONNECTED);
        assert_silent(host->a.connect_evd);
        assert_silent(host->b.connect_evd);
        host_close(host);
}

/* A send that the peer's receive is too short for breaks the connection for both. */
static void broken_ends_tell_whose_they_are(void **state)
{
        struct host *host = host_joined();

        (void)state;
        post_recv(&host->b, 0, 10, 1);
        post_send(&host->a, 0, 100, 2);
        /* On iWARP the sender's kernel tells of a disconnect. */
        await_plain(&host->a, host_is_iwarp() ? DAT_CONNECTION_EVENT_DISCONNECTED
                                              : DAT_CONNECTION_EVENT_BROKEN);
        await_plain(&host->b, DAT_CONNECTION_EVENT_BROKEN);
        assert_int_equal(state_of(host->a.ep), DAT_EP_STATE_DISCONNECTED);
        assert_int_equal(state_of(host->b.ep), DAT_EP_STATE_DISCONNECTED);
        host_close(host);
}

/* It is the Consumer's to read until it frees or resets the EP, and is then of no other connection.
 */
static void private_data_lasts(void **state)
{
        struct host *host = host_listening();
        char answer[64];
        DAT_EVENT event;
        void *data;

        (void)state;
        fill((unsigned char *)answer, sizeof(answer), 7);
        assert_dat(ask(host, host->qual, LONG, 0, NULL), DAT_SUCCESS);
        assert_dat(dat_cr_accept(await_request(host), host->b.ep, sizeof(answer), answer),
                   DAT_SUCCESS);
        event = await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        data = event.event_data.connect_event_data.private_data;
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        post_send(&host->a, 0, 10, 1);
        assert_dat(dat_ep_disconnect(host->a.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        assert_int_equal(state_of(host->a.ep), DAT_EP_STATE_DISCONNECT_PENDING);
        assert_memory_equal(data, answer, sizeof(answer));
        assert_dat(dat_ep_disconnect(host->b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        await_plain(&host->a, DAT_CONNECTION_EVENT_DISCONNECTED);
        await_plain(&host->b, DAT_CONNECTION_EVENT_DISCONNECTED);
        assert_memory_equal(data, answer, sizeof(answer));
        assert_dat(dat_ep_reset(host->a.ep), DAT_SUCCESS);
        assert_dat(dat_ep_reset(host->b.ep), DAT_SUCCESS);
        connect_to(host, &host->a, host->qual);
        assert_dat(dat_cr_accept(await_request(host), host->b.ep, 0, NULL), DAT_SUCCESS);
        await_plain(&host->a, DAT_CONNECTION_EVENT_ESTABLISHED);
        host_close(host);
}

/* The EPs of two hosts whose roles change: who asked before answers now. */
static void an_end_that_asked_can_answer(void **state)
{
        struct host *host = host_joined();
        struct end swapped;
        DAT_EVENT event;
        char data[] = "other way";

        (void)state;
        assert_dat(dat_ep_disconnect(host->a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        await_plain(&host->a, DAT_CONNECTION_EVENT_DISCONNECTED);
        await_plain(&host->b, DAT_CONNECTION_EVENT_DISCONNECTED);
        assert_dat(dat_ep_reset(host->a.ep), DAT_SUCCESS);
        assert_dat(dat_ep_reset(host->b.ep), DAT_SUCCESS);
        swapped = host->a;
        host->a = host->b;
        host->b = swapped;
        connect_to(host, &host->a, host->qual);
        assert_dat(dat_cr_accept(await_request(host), host->b.ep, sizeof(data), data), DAT_SUCCESS);
        event = await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        assert_int_equal(event.event_data.connect_event_data.private_data_size, sizeof(data));
        await_plain(&host->b, DAT_CONNECTION_EVENT_ESTABLISHED);
        host_close(host);
}

/* However short the time, there is one event, and it says that the time was too short. */
static void the_shortest_time(void **state)
{
        struct host *host = host_listening();
        DAT_TIMEOUT times[] = {1, 100, 1000};
        DAT_EVENT event;
        DAT_COUNT nmore;

        (void)state;
        for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
                post_recv(&host->a, 0, 10, i);
                assert_dat(ask(host, host->qual, times[i], 0, NULL), DAT_SUCCESS);
                assert_dat(dat_evd_wait(host->a.connect_evd, LONG, 1, &event, &nmore), DAT_SUCCESS);
                assert_true(event.event_number == DAT_CONNECTION_EVENT_TIMED_OUT ||
                            event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE);
                assert_int_equal(state_of(host->a.ep), DAT_EP_STATE_DISCONNECTED);
                await_completion(host->a.recv_evd, host->a.ep, i, DAT_DTO_ERR_FLUSHED, 0);
                assert_silent(host->a.connect_evd);
                assert_dat(dat_ep_reset(host->a.ep), DAT_SUCCESS);
        }
        /* What may come of it at the other end does not come to another service point. */
        assert_dat(dat_psp_free(host->psp), DAT_SUCCESS);
        while (dat_evd_dequeue(host->cr_evd, &event) == DAT_SUCCESS)
                assert_dat(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle),
                           DAT_SUCCESS);
        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        join_ends(host, &host->a, &host->b);
        host_close(host);
}

/* All that can be wrong with a request, by its argument. Nothing of it changes the EP. */
static void each_argument_of_connect(void **state)
{
        static const char *const not_hosts[] = {"0.0.0.0", "224.0.0.1", "255.255.255.255"};
        static const char *const not_six[] = {"::", "ff02::1"};
        struct host *host = host_listening();
        struct sockaddr_storage address = {.ss_family = AF_UNIX};
        DAT_IA_ADDRESS_PTR there = (DAT_IA_ADDRESS_PTR)&address;
        DAT_IA_ADDRESS_PTR here = host->attr.ia_address_ptr;
        DAT_COUNT max = host->provider.max_private_data_size;
        DAT_EP_HANDLE ep = host->a.ep;
        char data[1024] = {0};

        (void)state;
        post_recv(&host->a, 0, 10, 1);
        assert_refused(dat_ep_connect(ep, NULL, 7, LONG, 0, NULL, 0, 0), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG2);
        assert_refused(dat_ep_connect(ep, here, 7, 0, 0, NULL, 0, 0), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG4);
        assert_refused(ask(host, 7, LONG, -1, data), DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
        assert_refused(ask(host, 7, LONG, INT32_MIN, NULL), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG5);
        assert_refused(ask(host, 7, LONG, max + 1, data), DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
        assert_refused(ask(host, 7, LONG, INT32_MAX, data), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG5);
        assert_refused(ask(host, 7, LONG, 1, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
        for (unsigned int qos = 1; qos <= 0x80; qos *= 2)
                assert_refused(dat_ep_connect(ep, here, 7, LONG, 0, NULL, (DAT_QOS)qos, 0),
                               DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
        assert_refused(dat_ep_connect(ep, here, 7, LONG, 0, NULL, 0, (DAT_CONNECT_FLAGS)2),
                       DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
        assert_refused(dat_ep_connect(ep, here, 7, LONG, 0, NULL, 0, DAT_CONNECT_MULTIPATH_FLAG),
                       DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
        assert_refused(dat_ep_connect(ep, there, 7, LONG, 0, NULL, 0, 0), DAT_INVALID_ADDRESS,
                       DAT_INVALID_ADDRESS_UNSUPPORTED);
        address.ss_family = AF_INET;
        for (size_t i = 0; i < sizeof(not_hosts) / sizeof(not_hosts[0]); i++) {
                inet_pton(AF_INET, not_hosts[i], &((struct sockaddr_in *)&address)->sin_addr);
                assert_refused(dat_ep_connect(ep, there, 7, LONG, 0, NULL, 0, 0),
                               DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
        }
        address.ss_family = AF_INET6;
        for (size_t i = 0; i < sizeof(not_six) / sizeof(not_six[0]); i++) {
                inet_pton(AF_INET6, not_six[i], &((struct sockaddr_in6 *)&address)->sin6_addr);
                assert_refused(dat_ep_connect(ep, there, 7, LONG, 0, NULL, 0, 0),
                               DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
        }
        assert_int_equal(state_of(ep), DAT_EP_STATE_UNCONNECTED);
        assert_dat(dat_evd_wait(host->a.connect_evd, 0, 1, &(DAT_EVENT){0}, &(DAT_COUNT){0}),
                   DAT_TIMEOUT_EXPIRED);
        join_ends(host, &host->a, &host->b);
        host_close(host);
}

static void each_argument_of_dup_connect(void **state)
{
        struct host *host = host_joined();
        struct host *other = host_open();
        struct end c = {0};
        DAT_COUNT max = host->provider.max_private_data_size;
        char data[1024] = {0};
        DAT_CR_PARAM param;
        DAT_CR_HANDLE cr;
        DAT_EP_HANDLE gone;

        (void)state;
        end_make(host, &c, NULL);
        gone = c.ep;
        end_free(&c);
        end_make(host, &c, NULL);
        assert_refused(dat_ep_dup_connect(c.ep, DAT_HANDLE_NULL, LONG, 0, NULL, 0),
                       DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
        assert_refused(dat_ep_dup_connect(c.ep, gone, LONG, 0, NULL, 0), DAT_INVALID_HANDLE,
                       DAT_INVALID_HANDLE_EP);
        assert_refused(dat_ep_dup_connect(c.ep, c.recv_evd, LONG, 0, NULL, 0), DAT_INVALID_HANDLE,
                       DAT_INVALID_HANDLE_EP);
        assert_refused(dat_ep_dup_connect(c.ep, host->a.ep, 0, 0, NULL, 0), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG3);
        assert_refused(dat_ep_dup_connect(c.ep, host->a.ep, LONG, -1, data, 0),
                       DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
        assert_refused(dat_ep_dup_connect(c.ep, host->a.ep, LONG, max + 1, data, 0),
                       DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
        assert_refused(dat_ep_dup_connect(c.ep, host->a.ep, LONG, 1, NULL, 0),
                       DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
        assert_refused(dat_ep_dup_connect(c.ep, host->a.ep, LONG, 0, NULL, DAT_QOS_LOW_LATENCY),
                       DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
        assert_refused(dat_ep_dup_connect(host->a.ep, host->a.ep, LONG, 0, NULL, 0),
                       DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED);
        end_make(other, &other->a, NULL);
        assert_refused(dat_ep_dup_connect(other->a.ep, host->a.ep, LONG, 0, NULL, 0),
                       DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
        host_close(other);
        /* It asks the same peer, with private data of its own. */
        fill((unsigned char *)data, max, 3);
        assert_dat(dat_ep_dup_connect(c.ep, host->a.ep, LONG, max, data, 0), DAT_SUCCESS);
        cr = await_request(host);
        assert_dat(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
        assert_int_equal(param.private_data_size, max);
        assert_memory_equal(param.private_data, data, (size_t)max);
        assert_dat(dat_cr_reject(cr), DAT_SUCCESS);
        await_plain(&c, DAT_CONNECTION_EVENT_PEER_REJECTED);
        /* The peer of an end that was asked listens nowhere. */
        assert_dat(dat_ep_reset(c.ep), DAT_SUCCESS);
        assert_dat(dat_ep_dup_connect(c.ep, host->b.ep, LONG, 0, NULL, 0), DAT_SUCCESS);
        await_plain(&c, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        end_free(&c);
        host_close(host);
}

/* The end of an EP is the end of its connection, or of its request. */
static void a_freed_ep_ends_what_it_had(void **state)
{
        struct host *host = host_joined();
        DAT_CR_HANDLE cr;

        (void)state;
        assert_dat(dat_ep_free(host->a.ep), DAT_SUCCESS);
        host->a.ep = DAT_HANDLE_NULL;
        await_plain(&host->b, DAT_CONNECTION_EVENT_DISCONNECTED);
        end_free(&host->a);
        end_make(host, &host->a, NULL);
        connect_to(host, &host->a, host->qual);
        cr = await_request(host);
        end_free(&host->a);
        end_make(host, &host->a, NULL);
        /* Its next request comes after the word of that. */
        connect_to(host, &host->a, host->qual);
        assert_dat(dat_cr_reject(await_request(host)), DAT_SUCCESS);
        assert_dat(dat_ep_reset(host->b.ep), DAT_SUCCESS);
        post_recv(&host->b, 0, 10, 1);
        assert_dat(dat_cr_accept(cr, host->b.ep, 0, NULL), DAT_SUCCESS);
        await_plain(&host->b, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_ERR_FLUSHED, 0);
        host_close(host);
}

/* Where one EVD has all of an EP's events, its completions come before the end, at both ends. */
static void completions_come_before_the_end(DAT_CLOSE_FLAGS flags)
{
        struct host *host = host_listening();
        DAT_EP_ATTR attr = plain_attr();
        struct end *ends[] = {&host->a, &host->b};
        DAT_EVD_HANDLE evds[2];

        for (int i = 0; i < 2; i++) {
                assert_dat(
                    dat_evd_create(host->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DEFAULT_FLAG, &evds[i]),
                    DAT_SUCCESS);
                assert_dat(dat_ep_free(ends[i]->ep), DAT_SUCCESS);
                assert_dat(dat_ep_create(host->ia, host->pz, evds[i], evds[i], evds[i], &attr,
                                         &ends[i]->ep),
                           DAT_SUCCESS);
        }
        connect_to(host, &host->a, host->qual);
        assert_dat(dat_cr_accept(await_request(host), host->b.ep, 0, NULL), DAT_SUCCESS);
        for (int i = 0; i < 2; i++)
                (void)await_event(evds[i], DAT_CONNECTION_EVENT_ESTABLISHED);
        for (unsigned int i = 0; i < 8; i++) {
                post_recv(&host->b, 0, 4096, i);
                post_recv(&host->a, 0, 4096, 100 + i);
        }
        for (unsigned int i = 0; i < 4; i++)
                post_send(&host->a, 0, 4096, 10 + i);
        assert_dat(dat_ep_disconnect(host->a.ep, flags), DAT_SUCCESS);
        for (int i = 0; i < 2; i++) {
                int completions = 0;
                DAT_EVENT event;
                DAT_COUNT nmore;

                for (;;) {
                        assert_dat(dat_evd_wait(evds[i], LONG, 1, &event, &nmore), DAT_SUCCESS);
                        if (event.event_number != DAT_DTO_COMPLETION_EVENT)
                                break;
                        completions++;
                }
                assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
                assert_int_equal(completions, i ? 8 : 12);
                assert_int_equal(nmore, 0);
                assert_dat(dat_ep_free(ends[i]->ep), DAT_SUCCESS);
                ends[i]->ep = DAT_HANDLE_NULL;
                assert_dat(dat_evd_free(evds[i]), DAT_SUCCESS);
        }
        host_close(host);
}

static void the_end_comes_last(void **state)
{
        (void)state;
        completions_come_before_the_end(DAT_CLOSE_GRACEFUL_FLAG);
        completions_come_before_the_end(DAT_CLOSE_ABRUPT_FLAG);
}

static struct host *host_open_as(const char *name)
{
        struct host *host;

        setenv("DAPLREF_TEST_IA", name, 1);
        host = host_open();
        unsetenv("DAPLREF_TEST_IA");
        return host;
}

static void assert_same_host(const void *a, const void *b)
{
        assert_int_equal(((const struct sockaddr *)a)->sa_family, AF_INET6);
        assert_memory_equal(&((const struct sockaddr_in6 *)a)->sin6_addr,
                            &((const struct sockaddr_in6 *)b)->sin6_addr, sizeof(struct in6_addr));
}

/* Over IPv6, with private data in two parts; and from an IA that has an IPv4 address. */
static void six_is_as_good_as_four(void **state)
{
        struct host *host = host_open_as("six0");
        struct host *four = host_open();
        DAT_IA_ADDRESS_PTR here = host->attr.ia_address_ptr;
        struct sockaddr_in6 nowhere = {.sin6_family = AF_INET6};
        unsigned char data[64];
        DAT_CR_PARAM request;
        DAT_EP_PARAM param;
        DAT_EVENT event;

        (void)state;
        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, &host->a, NULL);
        end_make(host, &host->b, NULL);
        fill(data, sizeof(data), 5);
        assert_dat(ask(host, host->qual, LONG, sizeof(data), data), DAT_SUCCESS);
        event = await_event(host->cr_evd, DAT_CONNECTION_REQUEST_EVENT);
        assert_same_host(event.event_data.cr_arrival_event_data.local_ia_address_ptr, here);
        assert_dat(dat_cr_query(event.event_data.cr_arrival_event_data.cr_handle, DAT_CR_FIELD_ALL,
                                &request),
                   DAT_SUCCESS);
        assert_same_host(request.remote_ia_address_ptr, here);
        assert_int_equal(request.private_data_size, sizeof(data));
        assert_memory_equal(request.private_data, data, sizeof(data));
        assert_dat(dat_ep_query(host->a.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
        assert_int_equal(param.local_port_qual, request.remote_port_qual);
        assert_dat(
            dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, host->b.ep, 0, NULL),
            DAT_SUCCESS);
        await_plain(&host->a, DAT_CONNECTION_EVENT_ESTABLISHED);
        await_plain(&host->b, DAT_CONNECTION_EVENT_ESTABLISHED);
        assert_dat(dat_ep_query(host->b.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
        assert_same_host(param.remote_ia_address_ptr, here);
        assert_same_host(param.local_ia_address_ptr, here);
        end_free(&host->b);
        await_plain(&host->a, DAT_CONNECTION_EVENT_DISCONNECTED);
        assert_dat(dat_ep_reset(host->a.ep), DAT_SUCCESS);
        assert_dat(ask(host, 7777, LONG, 0, NULL), DAT_SUCCESS);
        await_plain(&host->a, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        assert_dat(dat_ep_reset(host->a.ep), DAT_SUCCESS);
        inet_pton(AF_INET6, "2001:db8::1", &nowhere.sin6_addr);
        assert_dat(dat_ep_connect(host->a.ep, (DAT_IA_ADDRESS_PTR)&nowhere, 7, SECOND / 4, 0, NULL,
                                  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
                   DAT_SUCCESS);
        await_plain(&host->a, DAT_CONNECTION_EVENT_UNREACHABLE);
        end_make(four, &four->a, NULL);
        assert_dat(dat_ep_connect(four->a.ep, here, host->qual, LONG, 0, NULL, DAT_QOS_BEST_EFFORT,
                                  DAT_CONNECT_DEFAULT_FLAG),
                   DAT_SUCCESS);
        assert_dat(dat_cr_reject(await_request(host)), DAT_SUCCESS);
        await_plain(&four->a, DAT_CONNECTION_EVENT_PEER_REJECTED);
        host_close(four);
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
            cmocka_unit_test(abrupt_disconnect_flushes_both_ends),
            cmocka_unit_test(graceful_disconnect_delivers_first),
            unless_iwarp(graceful_disconnect_waits_for_the_peer, NO_WAIT),
            unless_iwarp(graceful_disconnect_needs_no_reader, NO_WAIT),
            unless_iwarp(abrupt_overrides_graceful, NO_WAIT),
            cmocka_unit_test(disconnect_by_state),
            cmocka_unit_test(abort_of_an_attempt),
            cmocka_unit_test(an_ep_connects_again_after_reset),
            cmocka_unit_test(close_with_everything_open),
            cmocka_unit_test(a_qualifier_is_used_once),
            cmocka_unit_test(wide_qualifiers_connect),
            cmocka_unit_test(events_tell_whose_they_are),
            cmocka_unit_test(broken_ends_tell_whose_they_are),
            unless_iwarp(private_data_lasts, NO_WAIT),
            cmocka_unit_test(an_end_that_asked_can_answer),
            cmocka_unit_test(the_shortest_time),
            cmocka_unit_test(each_argument_of_connect),
            cmocka_unit_test(each_argument_of_dup_connect),
            cmocka_unit_test(a_freed_ep_ends_what_it_had),
            cmocka_unit_test(the_end_comes_last),
            cmocka_unit_test(six_is_as_good_as_four),
        };

        return cmocka_run_group_tests_name("connection", tests, NULL, NULL);
}
