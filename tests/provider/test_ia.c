/* SPDX-License-Identifier: BSD-2-Clause */
/* Interface adapters: how they are opened, what they say of themselves, and how they close. */
#include "loopback.h"

#include <dat/dat_registry.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static DAT_RETURN open_as(const char *name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
                          DAT_IA_HANDLE *ia)
{
        return dat_ia_open((DAT_NAME_PTR)name, qlen, async_evd, ia);
}

static DAT_IA_HANDLE open_with(DAT_EVD_HANDLE async_evd)
{
        DAT_EVD_HANDLE back = async_evd;
        DAT_IA_HANDLE ia;

        assert_dat(open_as("ref0", 8, &back, &ia), DAT_SUCCESS);
        if (async_evd)
                assert_ptr_equal(back, async_evd);
        return ia;
}

static DAT_EVD_HANDLE async_evd_of(DAT_IA_HANDLE ia)
{
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

        assert_dat(dat_ia_query(ia, &evd, 0, NULL, 0, NULL), DAT_SUCCESS);
        return evd;
}

static void each_argument_of_open(void **state)
{
        struct host *host = host_open();
        DAT_COUNT max = host->attr.max_evd_qlen;
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
        DAT_IA_ATTR attr;
        DAT_IA_HANDLE ia;

        (void)state;
        assert_refused(open_as(NULL, 8, &evd, &ia), DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
        assert_refused(open_as("ref0", -1, &evd, &ia), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        assert_refused(open_as("ref0", max + 1, &evd, &ia), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG2);
        assert_refused(open_as("ref0", 8, NULL, &ia), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        assert_refused(open_as("ref0", 8, &evd, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
        assert_refused(open_as("ref9", 8, &evd, &ia), DAT_PROVIDER_NOT_FOUND,
                       DAT_NAME_NOT_REGISTERED);
        assert_null(evd);
        assert_dat(open_as("RO_AWARE_ref0", 0, &evd, &ia), DAT_SUCCESS);
        assert_dat(dat_ia_query(ia, NULL, DAT_IA_FIELD_IA_ADAPTER_NAME, &attr, 0, NULL),
                   DAT_SUCCESS);
        assert_string_equal(attr.adapter_name, "ref0");
        assert_dat(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        host_close(host);
}

static void assert_no_async_evd(DAT_EVD_HANDLE evd)
{
        DAT_EVD_HANDLE back = evd;
        DAT_IA_HANDLE ia;

        assert_refused(open_as("ref0", 8, &back, &ia), DAT_INVALID_HANDLE,
                       DAT_INVALID_HANDLE_EVD_ASYNC);
        assert_ptr_equal(back, evd);
}

/* An async EVD is an EVD like others, of a length that suffices, and no IA takes one that is none.
 */
static void async_evds(void **state)
{
        struct host *host = host_open();
        DAT_COUNT lengths[] = {0, 1, 100, host->attr.max_evd_qlen};
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
        DAT_EVD_PARAM param;
        DAT_CNO_HANDLE cno;
        DAT_IA_HANDLE ia;

        (void)state;
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
                evd = DAT_HANDLE_NULL;
                assert_dat(open_as("ref0", lengths[i], &evd, &ia), DAT_SUCCESS);
                assert_ptr_equal(async_evd_of(ia), evd);
                assert_dat(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS);
                assert_true(param.evd_qlen >= lengths[i]);
                assert_null(param.cno_handle);
                assert_ptr_equal(param.ia_handle, ia);
                assert_int_equal(param.evd_flags, DAT_EVD_ASYNC_FLAG);
                assert_int_equal(param.evd_state, DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE);
                assert_dat(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        }
        assert_no_async_evd(evd); /* which went with its IA */
        assert_no_async_evd(host->cr_evd);
        assert_no_async_evd(host->pz);
        assert_no_async_evd(host->ia);
        evd = DAT_HANDLE_NULL;
        assert_dat(dat_ia_openv((DAT_NAME_PTR) "safe0", 8, &evd, &ia, 1, 2, DAT_TRUE), DAT_SUCCESS);
        assert_no_async_evd(evd);
        assert_dat(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        assert_dat(dat_cno_create(host->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), DAT_SUCCESS);
        assert_dat(dat_evd_modify_cno(host->async_evd, cno), DAT_SUCCESS);
        assert_dat(dat_evd_resize(host->async_evd, 99), DAT_SUCCESS);
        assert_dat(dat_evd_query(host->async_evd, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS);
        assert_int_equal(param.evd_qlen, 99);
        assert_ptr_equal(param.cno_handle, cno);
        assert_dat(dat_evd_modify_cno(host->async_evd, DAT_HANDLE_NULL), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

/* An EVD that the Consumer passes in, made by an open or by itself, stays when the IA closes. */
static void a_given_async_evd_stays(void **state)
{
        struct host *host = host_open();
        DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1, .low_watermark = 2};
        DAT_EVD_HANDLE evds[] = {host->async_evd, DAT_HANDLE_NULL};
        DAT_CLOSE_FLAGS flags[] = {DAT_CLOSE_GRACEFUL_FLAG, DAT_CLOSE_ABRUPT_FLAG};
        DAT_SRQ_HANDLE srq;
        DAT_PZ_HANDLE pz;

        (void)state;
        assert_dat(dat_evd_create(host->ia, 4, DAT_HANDLE_NULL, DAT_EVD_ASYNC_FLAG, &evds[1]),
                   DAT_SUCCESS);
        for (int i = 0; i < 4; i++) {
                DAT_EVD_HANDLE evd = evds[i % 2];
                DAT_IA_HANDLE ia = open_with(evd);
                DAT_EVENT event;

                assert_ptr_equal(async_evd_of(ia), evd);
                assert_dat(dat_evd_free(evd), DAT_INVALID_STATE);
                assert_dat(dat_pz_create(ia, &pz), DAT_SUCCESS);
                assert_dat(dat_srq_create(ia, pz, &attr, &srq), DAT_SUCCESS);
                event = await_event(evd, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
                assert_ptr_equal(event.event_data.asynch_error_event_data.dat_handle, srq);
                assert_dat(dat_srq_free(srq), DAT_SUCCESS);
                assert_dat(dat_pz_free(pz), DAT_SUCCESS);
                assert_dat(dat_ia_close(ia, flags[i / 2]), DAT_SUCCESS);
                assert_dat(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
        }
        assert_dat(dat_evd_free(evds[1]), DAT_SUCCESS);
        host_close(host);
}

static void each_argument_of_query(void **state)
{
        struct host *host = host_open();
        DAT_PROVIDER_ATTR provider;
        DAT_IA_ATTR attr;
        DAT_EVD_HANDLE evd;

        (void)state;
        memset(&provider, 0, sizeof(provider));
        assert_refused(dat_ia_query(host->ia, &evd, DAT_IA_FIELD_ALL + 1, &attr, 0, NULL),
                       DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        assert_refused(dat_ia_query(host->ia, &evd, DAT_IA_FIELD_ALL, NULL, 0, NULL),
                       DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
        assert_refused(dat_ia_query(host->ia, &evd, 0, NULL,
                                    (DAT_PROVIDER_ATTR_MASK)DAT_PROVIDER_FIELD_ALL + 1, &provider),
                       DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
        assert_refused(dat_ia_query(host->ia, &evd, 0, NULL, DAT_PROVIDER_FIELD_ALL, NULL),
                       DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
        assert_dat(dat_ia_query(host->ia, NULL, 0, NULL, 0, NULL), DAT_SUCCESS);
        host_close(host);
}

static void what_an_ia_says_agrees(void **state)
{
        struct host *host = host_open();
        const DAT_PROVIDER_ATTR *provider = &host->provider;

        (void)state;
        assert_string_equal(host->attr.adapter_name, "ref0");
        assert_true(strlen(host->attr.vendor_name) > 0);
        assert_true(strlen(provider->provider_name) > 0);
        assert_int_equal(provider->iov_ownership_on_return, DAT_IOV_CONSUMER);
        assert_int_equal(provider->dat_qos_supported, DAT_QOS_BEST_EFFORT);
        assert_int_equal(provider->is_thread_safe, DAT_FALSE);
        assert_int_equal(DAT_OPTIMAL_ALIGNMENT % provider->optimal_buffer_alignment, 0);
        assert_in_range(provider->optimal_buffer_alignment, 1, 256);
        assert_int_equal(provider->pz_support, DAT_PZ_UNIQUE);
        for (int i = 0; i < 6; i++) {
                for (int k = 0; k < 6; k++)
                        assert_int_equal(provider->evd_stream_merging_supported[i][k], DAT_TRUE);
        }
        assert_int_equal(host->attr.num_transport_attr, 0);
        assert_int_equal(host->attr.num_vendor_attr, 0);
        assert_int_equal(provider->num_provider_specific_attr, 0);
        host_close(host);
}

static void assert_not_graceful(DAT_IA_HANDLE ia)
{
        assert_refused(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE,
                       DAT_INVALID_STATE_IA_IN_USE);
}

/* Whatever the Consumer has made stands in the way of a graceful close, and nothing else does. */
static void what_stands_in_the_way_of_a_close(void **state)
{
        static unsigned char memory[64];
        DAT_REGION_DESCRIPTION region = {.for_va = memory};
        DAT_SRQ_ATTR srq_attr = {
            .max_recv_dtos = 4, .max_recv_iov = 1, .low_watermark = DAT_SRQ_LW_DEFAULT};
        DAT_IA_HANDLE ia = open_with(DAT_HANDLE_NULL);
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp;
        DAT_RSP_HANDLE rsp;
        DAT_CNO_HANDLE cno;
        DAT_EVD_HANDLE evd;
        DAT_LMR_HANDLE lmr;
        DAT_RMR_HANDLE rmr;
        DAT_SRQ_HANDLE srq;
        DAT_EP_HANDLE ep;
        DAT_PZ_HANDLE pz;

        (void)state;
        assert_refused(dat_ia_close(ia, (DAT_CLOSE_FLAGS)2), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG2);
        assert_dat(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), DAT_SUCCESS);
        assert_not_graceful(ia);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        assert_dat(dat_evd_create(ia, 4, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &evd), DAT_SUCCESS);
        assert_not_graceful(ia);
        assert_dat(dat_psp_create_any(ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp), DAT_SUCCESS);
        assert_not_graceful(ia);
        assert_dat(dat_psp_free(psp), DAT_SUCCESS);
        assert_dat(dat_rsp_create(ia, qual, DAT_HANDLE_NULL, evd, &rsp), DAT_SUCCESS);
        assert_not_graceful(ia);
        assert_dat(dat_rsp_free(rsp), DAT_SUCCESS);
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        assert_dat(dat_pz_create(ia, &pz), DAT_SUCCESS);
        assert_not_graceful(ia);
        assert_dat(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(memory), pz,
                                  DAT_MEM_PRIV_ALL_FLAG, &lmr, NULL, NULL, NULL, NULL),
                   DAT_SUCCESS);
        assert_not_graceful(ia);
        assert_dat(dat_lmr_free(lmr), DAT_SUCCESS);
        assert_dat(dat_rmr_create(pz, &rmr), DAT_SUCCESS);
        assert_not_graceful(ia);
        assert_dat(dat_rmr_free(rmr), DAT_SUCCESS);
        assert_dat(dat_srq_create(ia, pz, &srq_attr, &srq), DAT_SUCCESS);
        assert_not_graceful(ia);
        assert_dat(dat_srq_free(srq), DAT_SUCCESS);
        assert_dat(dat_ep_create(ia, pz, NULL, NULL, NULL, NULL, &ep), DAT_SUCCESS);
        assert_not_graceful(ia);
        assert_dat(dat_ep_free(ep), DAT_SUCCESS);
        assert_not_graceful(ia);
        assert_dat(dat_pz_free(pz), DAT_SUCCESS);
        assert_dat(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        assert_refused(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_HANDLE,
                       DAT_INVALID_HANDLE_IA);
}

/* A request, and the EP that comes with it, are the Provider's; whose they were hears of the end.
 */
static void unanswered_requests_do_not_stand_in_the_way(void **state)
{
        struct host *host = host_open();
        struct host *other = host_open();
        DAT_PSP_HANDLE psp;
        DAT_CR_PARAM param;
        DAT_CR_HANDLE cr;

        (void)state;
        listen_any(other, DAT_PSP_PROVIDER_FLAG);
        assert_dat(dat_psp_create(other->ia, 7360, other->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
                   DAT_SUCCESS);
        end_make(host, &host->a, NULL);
        end_make(host, &host->b, NULL);
        connect_to(host, &host->a, other->qual);
        cr = await_request(other);
        assert_dat(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
        connect_to(host, &host->b, 7360);
        (void)any_request(other);
        assert_dat(dat_psp_free(psp), DAT_SUCCESS);
        host_close(other);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        assert_refused(dat_cr_reject(cr), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
        assert_refused(dat_ep_free(param.local_ep_handle), DAT_INVALID_HANDLE,
                       DAT_INVALID_HANDLE_EP);
        host_close(host);
}

/* An EP that the Provider gave is the Consumer's once it has accepted with it. */
static void an_accepted_ep_stands_in_the_way(void **state)
{
        struct host *host = host_open();
        DAT_CR_PARAM request;
        DAT_EP_PARAM param;
        DAT_IA_HANDLE ia;
        DAT_CR_HANDLE cr;

        (void)state;
        listen_any(host, DAT_PSP_PROVIDER_FLAG);
        end_make(host, &host->a, NULL);
        connect_to(host, &host->a, host->qual);
        cr = await_request(host);
        assert_dat(dat_cr_query(cr, DAT_CR_FIELD_ALL, &request), DAT_SUCCESS);
        param.pz_handle = host->pz;
        param.connect_evd_handle = host->a.connect_evd;
        assert_dat(dat_ep_modify(request.local_ep_handle,
                                 DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param),
                   DAT_SUCCESS);
        assert_dat(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
        for (int i = 0; i < 2; i++)
                (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        ia = host->ia;
        assert_not_graceful(ia);
        assert_dat(dat_ep_free(request.local_ep_handle), DAT_SUCCESS);
        host_close(host);
}

struct waiter {
        pthread_t thread;
        DAT_EVD_HANDLE evd;
        DAT_CNO_HANDLE cno;
        DAT_RETURN ret;
        DAT_EVD_HANDLE heard;
};

static void *wait_for_ever(void *argument)
{
        struct waiter *waiter = argument;
        DAT_EVENT event;
        DAT_COUNT nmore;

        if (waiter->evd)
                waiter->ret = dat_evd_wait(waiter->evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore);
        else
                waiter->ret = dat_cno_wait(waiter->cno, DAT_TIMEOUT_INFINITE, &waiter->heard);
        return NULL;
}

static void begin_to_wait(struct waiter *waiter)
{
        DAT_EVENT event;

        assert_int_equal(pthread_create(&waiter->thread, NULL, wait_for_ever, waiter), 0);
        while (waiter->evd &&
               DAT_GET_TYPE(dat_evd_dequeue(waiter->evd, &event)) != DAT_INVALID_STATE)
                sched_yield();
}

/* An abrupt close releases all waiters on objects of the IA, and none on another IA's. */
static void a_close_releases_its_own(void **state)
{
        struct host *host = host_open();
        struct host *other = host_listening();
        struct waiter own[4] = {{.evd = other->async_evd},
                                {.evd = other->a.recv_evd},
                                {.evd = other->cr_evd},
                                {.cno = DAT_HANDLE_NULL}};
        struct waiter foreign = {.evd = host->cr_evd};
        DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};
        DAT_IA_HANDLE sharing = open_with(other->async_evd);

        (void)state;
        assert_dat(dat_cno_create(other->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &own[3].cno),
                   DAT_SUCCESS);
        for (int i = 0; i < 4; i++)
                begin_to_wait(&own[i]);
        begin_to_wait(&foreign);
        assert_silent(host->async_evd);
        assert_dat(dat_ia_close(other->ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        for (int i = 0; i < 4; i++)
                assert_int_equal(pthread_join(own[i].thread, NULL), 0);
        for (int i = 0; i < 3; i++)
                assert_refused(own[i].ret, DAT_ABORT, DAT_NO_SUBTYPE);
        assert_null(own[3].heard);
        assert_int_equal((uintptr_t)async_evd_of(sharing), (uintptr_t)DAT_EVD_OUT_OF_SCOPE);
        assert_dat(dat_ia_close(sharing, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        assert_dat(dat_evd_dequeue(foreign.evd, &event), DAT_INVALID_STATE);
        assert_dat(dat_evd_post_se(foreign.evd, &event), DAT_SUCCESS);
        assert_int_equal(pthread_join(foreign.thread, NULL), 0);
        assert_dat(foreign.ret, DAT_SUCCESS);
        free(other->a.memory);
        free(other->b.memory);
        free(other);
        host_close(host);
}

/* Who is connected to an IA that closes hears that the connection has ended. */
static void peers_hear_of_a_close(void **state)
{
        struct host *host = host_open();
        struct host *other = host_open();

        (void)state;
        listen_any(other, DAT_PSP_CONSUMER_FLAG);
        end_make(other, &other->b, NULL);
        end_make(host, &host->a, NULL);
        post_recv(&host->a, 0, 10, 1);
        connect_to(host, &host->a, other->qual);
        assert_dat(dat_cr_accept(await_request(other), other->b.ep, 0, NULL), DAT_SUCCESS);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        (void)await_event(other->b.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        assert_dat(dat_ia_close(other->ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        await_completion(host->a.recv_evd, host->a.ep, 1, DAT_DTO_ERR_FLUSHED, 0);
        free(other->b.memory);
        free(other);
        host_close(host);
}

/* The path of the provider's library, which an IA has been opened of. */
static void find_library(char *path, size_t size)
{
        FILE *maps = fopen("/proc/self/maps", "re");
        char line[1024];

        assert_non_null(maps);
        path[0] = '\0';
        while (!path[0] && fgets(line, sizeof(line), maps)) {
                if (!strstr(line, "/libdaplref.so"))
                        continue;
                line[strcspn(line, "\n")] = '\0';
                (void)snprintf(path, size, "%s", strchr(line, '/'));
        }
        (void)fclose(maps);
        assert_true(path[0]);
}

/* A program can load the provider by itself, for a name of its own, and put it away again. */
static void a_program_loads_the_provider(void **state)
{
        struct host *host = host_open();
        DAT_PROVIDER_INFO info = {
            .ia_name = "own0", .dapl_version_major = 1, .dapl_version_minor = 2};
        DAT_PROVIDER_INFO later = {
            .ia_name = "own1", .dapl_version_major = 1, .dapl_version_minor = 3};
        DAT_PROVIDER_INIT_FUNC init;
        DAT_PROVIDER_FINI_FUNC fini;
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
        DAT_IA_HANDLE ia;
        char path[512];
        void *library;

        (void)state;
        find_library(path, sizeof(path));
        library = dlopen(path, RTLD_NOW);
        assert_non_null(library);
        *(void **)&init = dlsym(library, DAT_PROVIDER_INIT_FUNC_STR);
        *(void **)&fini = dlsym(library, DAT_PROVIDER_FINI_FUNC_STR);
        assert_non_null(*(void **)&init);
        assert_non_null(*(void **)&fini);
        fini(&info); /* which is of nothing */
        for (int i = 0; i < 2; i++) {
                assert_refused(open_as("own0", 8, &evd, &ia), DAT_PROVIDER_NOT_FOUND,
                               DAT_NAME_NOT_REGISTERED);
                init(&info, "");
                assert_dat(open_as("own0", 8, &evd, &ia), DAT_SUCCESS);
                /* It stays for the threads that are using it. */
                fini(&info);
                assert_dat(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
                evd = DAT_HANDLE_NULL;
                assert_dat(open_as("own0", 8, &evd, &ia), DAT_SUCCESS);
                assert_dat(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
                evd = DAT_HANDLE_NULL;
                fini(&info);
        }
        /* One that cannot begin leaves no entry. */
        init(&later, "");
        assert_refused(open_as("own1", 8, &evd, &ia), DAT_PROVIDER_NOT_FOUND,
                       DAT_NAME_NOT_REGISTERED);
        assert_int_equal(dlclose(library), 0);
        host_close(host);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(each_argument_of_open),
            cmocka_unit_test(async_evds),
            cmocka_unit_test(a_given_async_evd_stays),
            cmocka_unit_test(each_argument_of_query),
            cmocka_unit_test(what_an_ia_says_agrees),
            cmocka_unit_test(what_stands_in_the_way_of_a_close),
            cmocka_unit_test(unanswered_requests_do_not_stand_in_the_way),
            cmocka_unit_test(an_accepted_ep_stands_in_the_way),
            cmocka_unit_test(a_close_releases_its_own),
            cmocka_unit_test(peers_hear_of_a_close),
            cmocka_unit_test(a_program_loads_the_provider),
        };

        return cmocka_run_group_tests_name("ia", tests, NULL, NULL);
}
