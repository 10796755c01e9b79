/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the provider has otherwise for DAT 2.0. With `serve` for an argument, the server of
 * test_two_hosts.c by DAT 2.0, for a client by DAT 1.2.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dat2/udat.h>

#include <dat2/dat_registry.h>

#define LONG 20000000u
#define SIZE ((size_t)64 * 1024)

#define QUAL   7700
#define COUNT  200
#define WINDOW 60000 /* where the client reads and writes */

#define assert_dat(call, type) assert_int_equal(DAT_GET_TYPE(call), type)

struct end {
        DAT_EVD_HANDLE evd; /* of completions */
        DAT_EVD_HANDLE connect_evd;
        DAT_EP_HANDLE ep;
        unsigned char *memory;
        DAT_LMR_HANDLE lmr;
        DAT_LMR_CONTEXT lmr_context;
        DAT_RMR_CONTEXT rmr_context;
};

struct host {
        DAT_IA_HANDLE ia;
        DAT_EVD_HANDLE async_evd;
        DAT_PZ_HANDLE pz;
        DAT_EVD_HANDLE cr_evd;
        DAT_PSP_HANDLE psp;
        DAT_CONN_QUAL qual;
        DAT_IA_ATTR attr;
        DAT_PROVIDER_ATTR provider;
        struct end a; /* requests the connection */
        struct end b; /* accepts it */
};

static DAT_EVENT await_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
        DAT_EVENT event;
        DAT_COUNT nmore;

        assert_dat(dat_evd_wait(evd, LONG, 1, &event, &nmore), DAT_SUCCESS);
        assert_int_equal(event.event_number, number);
        return event;
}

static DAT_RETURN region(struct host *host, struct end *end, DAT_VA_TYPE type, DAT_LMR_HANDLE *lmr)
{
        DAT_REGION_DESCRIPTION where = {.for_va = end->memory};
        DAT_VADDR address;
        DAT_VLEN length;

        return dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, where, SIZE, host->pz,
                              DAT_MEM_PRIV_ALL_FLAG, type, lmr, &end->lmr_context,
                              &end->rmr_context, &length, &address);
}

static void end_make(struct host *host, struct end *end)
{
        DAT_EP_ATTR attr = {
            .max_message_size = SIZE,
            .max_rdma_size = SIZE,
            .max_recv_dtos = 8,
            .max_request_dtos = 8,
            .max_recv_iov = 1,
            .max_request_iov = 1,
            .max_rdma_read_in = 4,
            .max_rdma_read_out = 4,
            .max_rdma_read_iov = 1,
            .max_rdma_write_iov = 1,
        };

        end->memory = calloc(1, SIZE);
        assert_non_null(end->memory);
        assert_dat(region(host, end, DAT_VA_TYPE_VA, &end->lmr), DAT_SUCCESS);
        assert_dat(dat_evd_create(host->ia, 16, DAT_HANDLE_NULL,
                                  DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &end->evd),
                   DAT_SUCCESS);
        assert_dat(dat_evd_create(host->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
                                  &end->connect_evd),
                   DAT_SUCCESS);
        assert_dat(dat_ep_create(host->ia, host->pz, end->evd, end->evd, end->connect_evd, &attr,
                                 &end->ep),
                   DAT_SUCCESS);
}

static struct host *host_open(void)
{
        struct host *host = calloc(1, sizeof(*host));

        assert_non_null(host);
        assert_dat(dat_ia_open((DAT_NAME_PTR) "ref2", 16, &host->async_evd, &host->ia),
                   DAT_SUCCESS);
        assert_dat(dat_ia_query(host->ia, NULL, DAT_IA_FIELD_ALL, &host->attr,
                                DAT_PROVIDER_FIELD_ALL, &host->provider),
                   DAT_SUCCESS);
        assert_dat(dat_pz_create(host->ia, &host->pz), DAT_SUCCESS);
        assert_dat(dat_evd_create(host->ia, 16, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &host->cr_evd),
                   DAT_SUCCESS);
        end_make(host, &host->a);
        end_make(host, &host->b);
        assert_dat(dat_psp_create_any(host->ia, &host->qual, host->cr_evd, DAT_PSP_CONSUMER_FLAG,
                                      &host->psp),
                   DAT_SUCCESS);
        return host;
}

static void host_close(struct host *host)
{
        assert_dat(dat_ia_close(host->ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        free(host->a.memory);
        free(host->b.memory);
        free(host);
}

static DAT_CR_HANDLE request(struct host *host)
{
        DAT_EVENT event;

        assert_dat(dat_ep_connect(host->a.ep, host->attr.ia_address_ptr, host->qual, LONG, 0, NULL,
                                  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
                   DAT_SUCCESS);
        event = await_event(host->cr_evd, DAT_CONNECTION_REQUEST_EVENT);
        assert_int_equal(event.event_data.cr_arrival_event_data.truncate_flag, DAT_FALSE);
        return event.event_data.cr_arrival_event_data.cr_handle;
}

static struct host *host_joined(void)
{
        struct host *host = host_open();

        assert_dat(dat_cr_accept(request(host), host->b.ep, 0, NULL), DAT_SUCCESS);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        return host;
}

static void attributes_of_two(void **state)
{
        struct host *host = host_open();

        (void)state;
        assert_int_equal(host->provider.dapl_version_major, 2);
        assert_int_equal(host->provider.dapl_version_minor, 0);
        assert_int_equal(host->provider.rmr_scope_supported, DAT_RMR_SCOPE_PZ);
        assert_int_equal(host->provider.ha_supported, DAT_FALSE);
        assert_int_equal(host->attr.zb_supported, DAT_FALSE);
        assert_int_equal(host->attr.extension_supported, DAT_EXTENSION_NONE);
        assert_true(host->attr.max_lmr_block_size >= SIZE);
        host_close(host);
}

/* The registry gives the Consumer small numbers for IAs, and queries must answer with the same. */
static void an_ia_has_one_handle(void **state)
{
        DAT_OS_WAIT_PROXY_AGENT none = {NULL, NULL};
        struct host *host = host_open();
        DAT_CNO_PARAM cno_param;
        DAT_CNO_HANDLE cno;
        DAT_EVD_PARAM evd;
        DAT_EP_PARAM ep;
        DAT_PZ_PARAM pz;

        (void)state;
        assert_dat(dat_ep_query(host->a.ep, DAT_EP_FIELD_ALL, &ep), DAT_SUCCESS);
        assert_ptr_equal(ep.ia_handle, host->ia);
        assert_dat(dat_evd_query(host->a.evd, DAT_EVD_FIELD_ALL, &evd), DAT_SUCCESS);
        assert_ptr_equal(evd.ia_handle, host->ia);
        assert_dat(dat_pz_query(host->pz, DAT_PZ_FIELD_ALL, &pz), DAT_SUCCESS);
        assert_ptr_equal(pz.ia_handle, host->ia);
        assert_dat(dat_cno_create(host->ia, none, &cno), DAT_SUCCESS);
        assert_dat(dat_cno_query(cno, DAT_CNO_FIELD_PROXY | DAT_CNO_FIELD_ALL, &cno_param),
                   DAT_SUCCESS);
        assert_ptr_equal(cno_param.ia_handle, host->ia);
        assert_int_equal(cno_param.proxy_type, DAT_PROXY_TYPE_NONE);
        host_close(host);
}

static void a_reject_carries_private_data(void **state)
{
        struct host *host = host_open();
        DAT_CR_HANDLE cr = request(host);
        DAT_CONNECTION_EVENT_DATA data;
        char words[64] = "not today";

        (void)state;
        assert_dat(dat_cr_reject(cr, 65, words), DAT_INVALID_PARAMETER);
        assert_dat(dat_cr_reject(cr, 4, NULL), DAT_INVALID_PARAMETER);
        assert_dat(dat_cr_reject(cr, sizeof(words), words), DAT_SUCCESS);
        data = await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED)
                   .event_data.connect_event_data;
        assert_int_equal(data.private_data_size, sizeof(words));
        assert_memory_equal(data.private_data, words, sizeof(words));
        assert_dat(dat_cr_reject(cr, 0, NULL), DAT_INVALID_HANDLE);
        host_close(host);
}

static void addresses_are_virtual(void **state)
{
        struct host *host = host_open();
        DAT_LMR_PARAM param;
        DAT_LMR_HANDLE lmr;

        (void)state;
        assert_dat(region(host, &host->a, DAT_VA_TYPE_ZB, &lmr), DAT_MODEL_NOT_SUPPORTED);
        assert_dat(region(host, &host->a, (DAT_VA_TYPE)7, &lmr), DAT_INVALID_PARAMETER);
        assert_int_equal(DAT_GET_SUBTYPE(region(host, &host->a, DAT_VA_TYPE_VA, NULL)),
                         DAT_INVALID_ARG8);
        assert_dat(dat_lmr_query(host->b.lmr, DAT_LMR_FIELD_ALL, &param), DAT_SUCCESS);
        assert_int_equal(param.va_type, DAT_VA_TYPE_VA);
        assert_ptr_equal(param.ia_handle, host->ia);
        host_close(host);
}

static DAT_LMR_TRIPLET segment(const struct end *end, size_t length)
{
        return (DAT_LMR_TRIPLET){
            .virtual_address = (DAT_VADDR)(uintptr_t)end->memory,
            .segment_length = (DAT_SEG_LENGTH)length,
            .lmr_context = end->lmr_context,
        };
}

static DAT_RETURN bind_to(const struct end *end, DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr,
                          DAT_VA_TYPE type, DAT_RMR_CONTEXT *context)
{
        DAT_LMR_TRIPLET triplet = segment(end, 4096);
        DAT_RMR_COOKIE cookie = {.as_64 = 5};

        return dat_rmr_bind(rmr, lmr, &triplet, DAT_MEM_PRIV_ALL_FLAG, type, end->ep, cookie,
                            DAT_COMPLETION_DEFAULT_FLAG, context);
}

static void a_bind_names_its_lmr(void **state)
{
        struct host *host = host_joined();
        struct end *b = &host->b;
        DAT_RMR_CONTEXT context = 0;
        DAT_RMR_HANDLE rmr;
        DAT_RMR_PARAM param;
        DAT_EVENT event;

        (void)state;
        assert_dat(dat_rmr_create(host->pz, &rmr), DAT_SUCCESS);
        assert_dat(bind_to(b, rmr, DAT_HANDLE_NULL, DAT_VA_TYPE_VA, &context), DAT_INVALID_HANDLE);
        assert_dat(bind_to(b, rmr, host->a.lmr, DAT_VA_TYPE_VA, &context), DAT_INVALID_PARAMETER);
        assert_dat(bind_to(b, rmr, b->lmr, DAT_VA_TYPE_ZB, &context), DAT_MODEL_NOT_SUPPORTED);
        assert_int_equal(DAT_GET_SUBTYPE(bind_to(b, rmr, b->lmr, DAT_VA_TYPE_VA, NULL)),
                         DAT_INVALID_ARG9);
        assert_dat(bind_to(b, rmr, b->lmr, DAT_VA_TYPE_VA, &context), DAT_SUCCESS);
        event = await_event(b->evd, DAT_RMR_BIND_COMPLETION_EVENT);
        assert_int_equal(event.event_data.rmr_completion_event_data.status, DAT_DTO_SUCCESS);
        assert_dat(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param), DAT_SUCCESS);
        assert_int_equal(param.rmr_scope, DAT_RMR_SCOPE_PZ);
        assert_int_equal(param.rmr_context, context);
        assert_ptr_equal(param.ia_handle, host->ia);
        host_close(host);
}

static void await_operation(const struct end *end, DAT_DTOS operation, DAT_SEG_LENGTH length)
{
        DAT_EVENT event = await_event(end->evd, DAT_DTO_COMPLETION_EVENT);
        const DAT_DTO_COMPLETION_EVENT_DATA *data = &event.event_data.dto_completion_event_data;

        assert_int_equal(data->status, DAT_DTO_SUCCESS);
        assert_int_equal(data->operation, operation);
        assert_int_equal(data->transfered_length, length);
}

static void completions_tell_the_operation(void **state)
{
        struct host *host = host_joined();
        DAT_LMR_TRIPLET from = segment(&host->a, 100);
        DAT_LMR_TRIPLET to = segment(&host->b, 4096);
        DAT_RMR_TRIPLET remote = {
            .virtual_address = to.virtual_address,
            .segment_length = 100,
            .rmr_context = host->b.rmr_context,
        };
        DAT_DTO_COOKIE cookie = {.as_64 = 1};

        (void)state;
        assert_dat(dat_ep_post_recv(host->b.ep, 1, &to, cookie, 0), DAT_SUCCESS);
        assert_dat(dat_ep_post_send(host->a.ep, 1, &from, cookie, 0), DAT_SUCCESS);
        await_operation(&host->a, DAT_DTO_SEND, 100);
        await_operation(&host->b, DAT_DTO_RECEIVE, 100);
        memcpy(host->a.memory, "there", 6);
        assert_dat(dat_ep_post_rdma_write(host->a.ep, 1, &from, cookie, &remote, 0), DAT_SUCCESS);
        await_operation(&host->a, DAT_DTO_RDMA_WRITE, 100);
        assert_string_equal((char *)host->b.memory, "there");
        memcpy(host->b.memory, "back", 5);
        assert_dat(dat_ep_post_rdma_read(host->a.ep, 1, &from, cookie, &remote, 0), DAT_SUCCESS);
        await_operation(&host->a, DAT_DTO_RDMA_READ, 100);
        assert_string_equal((char *)host->a.memory, "back");
        host_close(host);
}

static void what_only_two_has_is_not_supported(void **state)
{
        struct host *host = host_open();
        const DAT_PROVIDER *table = *(const DAT_PROVIDER **)host->pz;
        DAT_RMR_HANDLE rmr;
        DAT_CNO_HANDLE cno;
        DAT_FD fd;

        (void)state;
        /* The registry itself answers for a provider without extensions. */
        assert_dat(dat_extension_op(host->ia, 1), DAT_NOT_IMPLEMENTED);
        assert_dat(table->rmr_create_for_ep_func(host->pz, &rmr), DAT_MODEL_NOT_SUPPORTED);
        assert_dat(table->cno_fd_create_func(host->ia, &fd, &cno), DAT_MODEL_NOT_SUPPORTED);
        assert_dat(table->csp_free_func(DAT_HANDLE_NULL), DAT_MODEL_NOT_SUPPORTED);
        host_close(host);
}

/* An RMR triplet as a program by DAT 1.2 has it. */
struct triplet_of_one {
        uint32_t rmr_context;
        uint32_t pad;
        uint64_t target_address;
        uint64_t segment_length;
};

static void post_slot(struct end *end, unsigned int slot)
{
        DAT_LMR_TRIPLET iov = segment(end, 4096);
        DAT_DTO_COOKIE cookie = {.as_64 = slot};

        iov.virtual_address += (DAT_VADDR)slot * 4096;
        assert_dat(dat_ep_post_recv(end->ep, 1, &iov, cookie, 0), DAT_SUCCESS);
}

static void serves_a_client_of_one(void **state)
{
        struct host *host = host_open();
        struct end *b = &host->b;
        struct triplet_of_one window = {
            .rmr_context = b->rmr_context,
            .target_address = (uintptr_t)(b->memory + WINDOW),
            .segment_length = 7,
        };
        DAT_EVENT event;

        (void)state;
        memcpy(b->memory + WINDOW, "before", 7);
        for (unsigned int slot = 0; slot < 8; slot++)
                post_slot(b, slot);
        assert_dat(dat_psp_create(host->ia, QUAL, host->cr_evd, DAT_PSP_CONSUMER_FLAG, &host->psp),
                   DAT_SUCCESS);
        event = await_event(host->cr_evd, DAT_CONNECTION_REQUEST_EVENT);
        assert_dat(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, b->ep,
                                 sizeof(window), &window),
                   DAT_SUCCESS);
        (void)await_event(b->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        for (unsigned int i = 0; i < COUNT; i++) {
                await_operation(b, DAT_DTO_RECEIVE, 1 + i * 20);
                assert_int_equal(b->memory[(size_t)(i % 8) * 4096 + (size_t)i * 20], (uint8_t)i);
                post_slot(b, i % 8);
        }
        (void)await_event(b->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        assert_string_equal((char *)b->memory + WINDOW, "behind");
        event = await_event(host->cr_evd, DAT_CONNECTION_REQUEST_EVENT);
        assert_dat(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL),
                   DAT_SUCCESS);
        host_close(host);
}

int main(int argc, char **argv)
{
        const struct CMUnitTest server[] = {cmocka_unit_test(serves_a_client_of_one)};
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(attributes_of_two),
            cmocka_unit_test(an_ia_has_one_handle),
            cmocka_unit_test(a_reject_carries_private_data),
            cmocka_unit_test(addresses_are_virtual),
            cmocka_unit_test(a_bind_names_its_lmr),
            cmocka_unit_test(completions_tell_the_operation),
            cmocka_unit_test(what_only_two_has_is_not_supported),
        };

        if (argc > 2 || (argc == 2 && strcmp(argv[1], "serve") != 0)) {
                (void)fprintf(stderr, "usage: %s [serve]\n", argv[0]);
                return 64;
        }
        if (argc == 2)
                return cmocka_run_group_tests_name("two_apis", server, NULL, NULL);
        return cmocka_run_group_tests_name("dat2", tests, NULL, NULL);
}
