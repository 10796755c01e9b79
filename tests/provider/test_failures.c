/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the provider does when a call that it makes fails. Each story is told with its first call
 * failing, then with its second, until it ends with no failure: whatever failed, the Consumer is
 * told, nothing is left over, and the same works right afterwards.
 */
#include "loopback.h"

#include "failing.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CALLS 500 /* a story that makes more does not end */

#define succeeds(call) is_success(call, #call)

/* True for success. A failure must be of a kind that lays it on the provider's means. */
static bool is_success(DAT_RETURN ret, const char *call)
{
        DAT_RETURN type = DAT_GET_TYPE(ret);

        if (type == DAT_GET_TYPE(DAT_INSUFFICIENT_RESOURCES) ||
            type == DAT_GET_TYPE(DAT_INTERNAL_ERROR))
                return false;
        check_return(ret, DAT_SUCCESS, call, __FILE__, __LINE__);
        return true;
}

static int descriptors(void)
{
        DIR *folder = opendir("/proc/self/fd");
        int count = 0;

        assert_non_null(folder);
        while (readdir(folder))
                count++;
        (void)closedir(folder);
        return count;
}

/* To be called when a story's calls are over: returns what failed, or null. */
static const char *settle(bool well)
{
        const char *what = failed_call();

        if (!well && !what)
                fail_msg("it failed although no call did");
        return what;
}

/* A story takes which of its calls fails, none by 0, and returns the name of that call. */
static void tell(const char *(*story)(int nth))
{
        int before;

        (void)story(0); /* what the libraries open once stays open */
        before = descriptors();
        for (int nth = 1; nth < MOST_CALLS; nth++) {
                const char *what = story(nth);

                if (!what) {
                        assert_int_not_equal(nth, 1);
                        return;
                }
                if (descriptors() != before)
                        fail_msg("call %d, %s, failed: %d descriptors, not %d", nth, what,
                                 descriptors(), before);
        }
        fail_msg("the story does not end");
}

static const char *an_ia_is_opened_as(const char *name, DAT_EVD_HANDLE async_evd, int nth)
{
        DAT_EVD_HANDLE before = async_evd;
        DAT_IA_HANDLE ia;
        const char *what;
        bool well;

        fail_call(nth);
        well = succeeds(dat_ia_open((DAT_NAME_PTR)name, 16, &async_evd, &ia));
        what = settle(well);
        if (well)
                assert_dat(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        else
                assert_ptr_equal(async_evd, before);
        return what;
}

static const char *an_ia_is_opened(int nth)
{
        return an_ia_is_opened_as("failing0", DAT_HANDLE_NULL, nth);
}

static const char *an_ia_of_one_domain_is_opened(int nth)
{
        return an_ia_is_opened_as("failing-one0", DAT_HANDLE_NULL, nth);
}

static const char *an_ia_of_any_device_is_opened(int nth)
{
        return an_ia_is_opened_as("failing-any0", DAT_HANDLE_NULL, nth);
}

static const char *an_ia_without_an_async_evd_is_opened(int nth)
{
        return an_ia_is_opened_as("failing0", DAT_EVD_ASYNC_EXISTS, nth);
}

/* The EVD belongs to another IA, which stays open and can free it afterwards. */
static const char *an_ia_with_a_given_async_evd_is_opened(int nth)
{
        struct host *host = host_open();
        DAT_EVD_HANDLE evd;
        const char *what;

        assert_dat(dat_evd_create(host->ia, 4, DAT_HANDLE_NULL, DAT_EVD_ASYNC_FLAG, &evd),
                   DAT_SUCCESS);
        what = an_ia_is_opened_as("failing0", evd, nth);
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        host_close(host);
        return what;
}

struct objects {
        DAT_PZ_HANDLE pz;
        DAT_CNO_HANDLE cno;
        DAT_EVD_HANDLE evd;
        DAT_SRQ_HANDLE srq;
        DAT_EP_HANDLE ep;
        DAT_EP_HANDLE srq_ep;
        DAT_LMR_HANDLE lmr;
        DAT_RMR_HANDLE rmr;
        DAT_PSP_HANDLE psp;
        DAT_PSP_HANDLE hashed_psp;
        DAT_RSP_HANDLE rsp;
};

static bool make_memory(struct host *host, struct objects *objects, void *memory)
{
        DAT_REGION_DESCRIPTION region = {.for_va = memory};
        DAT_LMR_CONTEXT lmr_context;
        DAT_RMR_CONTEXT rmr_context;
        DAT_VLEN length;
        DAT_VADDR address;

        return succeeds(dat_pz_create(host->ia, &objects->pz)) &&
               succeeds(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, BUFFER, host->pz,
                                       DAT_MEM_PRIV_ALL_FLAG, &objects->lmr, &lmr_context,
                                       &rmr_context, &length, &address)) &&
               succeeds(dat_rmr_create(host->pz, &objects->rmr));
}

static bool make_queues(struct host *host, struct objects *objects)
{
        DAT_SRQ_ATTR srq_attr = {
            .max_recv_dtos = 8, .max_recv_iov = 2, .low_watermark = DAT_SRQ_LW_DEFAULT};
        DAT_EP_ATTR attr = plain_attr();
        DAT_EVD_HANDLE evd;

        if (!succeeds(dat_cno_create(host->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &objects->cno)) ||
            !succeeds(dat_evd_create(host->ia, 32, objects->cno,
                                     DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, &objects->evd)))
                return false;
        evd = objects->evd;
        return succeeds(dat_srq_create(host->ia, host->pz, &srq_attr, &objects->srq)) &&
               succeeds(dat_ep_create(host->ia, host->pz, evd, evd, evd, &attr, &objects->ep)) &&
               succeeds(dat_ep_create_with_srq(host->ia, host->pz, evd, evd, evd, objects->srq,
                                               &attr, &objects->srq_ep)) &&
               succeeds(dat_evd_resize(evd, 256)) && succeeds(dat_srq_resize(objects->srq, 64)) &&
               succeeds(dat_srq_set_lw(objects->srq, 4));
}

#define BEYOND_PORTS 0x123456789 /* a qualifier that is no port number */

static bool make_points(struct host *host, struct objects *objects)
{
        DAT_CONN_QUAL qual;

        return succeeds(dat_psp_create_any(host->ia, &qual, host->cr_evd, DAT_PSP_CONSUMER_FLAG,
                                           &objects->psp)) &&
               succeeds(dat_psp_create(host->ia, BEYOND_PORTS, host->cr_evd, DAT_PSP_PROVIDER_FLAG,
                                       &objects->hashed_psp)) &&
               succeeds(dat_rsp_create(host->ia, 7700, objects->ep, host->cr_evd, &objects->rsp));
}

static void free_objects(struct objects *objects)
{
        if (objects->rsp)
                assert_dat(dat_rsp_free(objects->rsp), DAT_SUCCESS);
        if (objects->hashed_psp)
                assert_dat(dat_psp_free(objects->hashed_psp), DAT_SUCCESS);
        if (objects->psp)
                assert_dat(dat_psp_free(objects->psp), DAT_SUCCESS);
        if (objects->ep)
                assert_dat(dat_ep_free(objects->ep), DAT_SUCCESS);
        if (objects->srq_ep)
                assert_dat(dat_ep_free(objects->srq_ep), DAT_SUCCESS);
        if (objects->srq)
                assert_dat(dat_srq_free(objects->srq), DAT_SUCCESS);
        if (objects->evd)
                assert_dat(dat_evd_free(objects->evd), DAT_SUCCESS);
        if (objects->cno)
                assert_dat(dat_cno_free(objects->cno), DAT_SUCCESS);
        if (objects->rmr)
                assert_dat(dat_rmr_free(objects->rmr), DAT_SUCCESS);
        if (objects->lmr)
                assert_dat(dat_lmr_free(objects->lmr), DAT_SUCCESS);
        if (objects->pz)
                assert_dat(dat_pz_free(objects->pz), DAT_SUCCESS);
}

static const char *objects_are_made(int nth)
{
        struct host *host = host_open();
        struct objects objects = {0};
        struct objects again = {0};
        void *memory = calloc(1, BUFFER);
        const char *what;

        assert_non_null(memory);
        fail_call(nth);
        what = settle(make_memory(host, &objects, memory) && make_queues(host, &objects) &&
                      make_points(host, &objects));
        free_objects(&objects);
        assert_true(make_memory(host, &again, memory) && make_queues(host, &again) &&
                    make_points(host, &again));
        free_objects(&again);
        free(memory);
        host_close(host);
        return what;
}

/* The request for a connection from `a`, or null where `a` hears first that there will be none. */
static DAT_CR_HANDLE request_or_end(struct host *host)
{
        DAT_EVENT event;
        DAT_COUNT nmore;

        for (unsigned int waited = 0; waited < LONG; waited += QUIET) {
                if (dat_evd_wait(host->cr_evd, QUIET, 1, &event, &nmore) == DAT_SUCCESS)
                        return event.event_data.cr_arrival_event_data.cr_handle;
                if (dat_evd_dequeue(host->a.connect_evd, &event) != DAT_SUCCESS)
                        continue;
                assert_int_not_equal(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
                return DAT_HANDLE_NULL;
        }
        fail_msg("neither a request nor the end of the attempt came");
        return DAT_HANDLE_NULL;
}

static bool is_established(struct end *end)
{
        DAT_EVENT event;
        DAT_COUNT nmore;

        assert_dat(dat_evd_wait(end->connect_evd, LONG, 1, &event, &nmore), DAT_SUCCESS);
        return event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED;
}

static bool is_joined(struct host *host)
{
        unsigned char data[64] = {1};
        DAT_CR_HANDLE cr;
        bool requested;
        bool accepted;

        if (!succeeds(dat_ep_connect(host->a.ep, host->attr.ia_address_ptr, host->qual, LONG / 2,
                                     sizeof(data), data, DAT_QOS_BEST_EFFORT,
                                     DAT_CONNECT_DEFAULT_FLAG)))
                return false;
        cr = request_or_end(host);
        if (!cr)
                return false;
        accepted = succeeds(dat_cr_accept(cr, host->b.ep, sizeof(data), data));
        if (!accepted)
                assert_dat(dat_cr_reject(cr), DAT_SUCCESS);
        requested = is_established(&host->a);
        return accepted && is_established(&host->b) && requested;
}

/* Ends what there is of a connection, and makes the EP fit for another. */
static void part(struct end *end)
{
        DAT_EVENT event;
        DAT_COUNT nmore;

        (void)dat_ep_disconnect(end->ep, DAT_CLOSE_ABRUPT_FLAG);
        while (state_of(end->ep) != DAT_EP_STATE_UNCONNECTED &&
               state_of(end->ep) != DAT_EP_STATE_DISCONNECTED)
                assert_dat(dat_evd_wait(end->connect_evd, LONG, 1, &event, &nmore), DAT_SUCCESS);
        if (state_of(end->ep) == DAT_EP_STATE_DISCONNECTED)
                assert_dat(dat_ep_reset(end->ep), DAT_SUCCESS);
        while (dat_evd_dequeue(end->connect_evd, &event) == DAT_SUCCESS)
                ;
}

static const char *ends_are_joined(int nth)
{
        struct host *host = host_listening();
        const char *what;

        fail_call(nth);
        what = settle(is_joined(host));
        part(&host->a);
        part(&host->b);
        join_ends(host, &host->a, &host->b);
        post_recv(&host->b, 0, 10, 1);
        post_send(&host->a, 0, 10, 2);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, 10);
        await_completion(host->a.request_evd, host->a.ep, 2, DAT_DTO_SUCCESS, 10);
        host_close(host);
        return what;
}

/* The request brings an EP that the provider makes, which is rejected with it. */
static const char *an_ep_is_given(int nth)
{
        struct host *host = host_open();
        const char *what;
        DAT_CR_HANDLE cr;
        bool given = false;

        listen_any(host, DAT_PSP_PROVIDER_FLAG);
        end_make(host, &host->a, NULL);
        fail_call(nth);
        if (succeeds(dat_ep_connect(host->a.ep, host->attr.ia_address_ptr, host->qual, LONG / 2, 0,
                                    NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG))) {
                cr = request_or_end(host);
                given = cr != DAT_HANDLE_NULL;
                if (given) {
                        assert_dat(dat_cr_reject(cr), DAT_SUCCESS);
                        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
                }
        }
        what = settle(given);
        host_close(host);
        return what;
}

static bool grows(struct end *end)
{
        DAT_SRQ_PARAM before = srq_counts(end->srq);
        bool grown = succeeds(dat_srq_resize(end->srq, 64));
        DAT_SRQ_PARAM after = srq_counts(end->srq);

        assert_int_equal(after.max_recv_dtos, grown ? 64 : before.max_recv_dtos);
        assert_int_equal(after.available_dto_count, before.available_dto_count);
        return grown && succeeds(dat_evd_resize(end->recv_evd, 1024));
}

static bool binds(struct host *host, DAT_RMR_HANDLE rmr)
{
        DAT_LMR_TRIPLET region = segment(&host->a, 0, 4096);
        DAT_RMR_CONTEXT context;

        if (!succeeds(dat_rmr_bind(rmr, &region, DAT_MEM_PRIV_REMOTE_READ_FLAG, host->a.ep,
                                   cookie(1), DAT_COMPLETION_DEFAULT_FLAG, &context)))
                return false;
        (void)await_event(host->a.request_evd, DAT_RMR_BIND_COMPLETION_EVENT);
        return true;
}

/* Buffers and events that are there when something fails stay as they are. */
static const char *a_pair_is_used(int nth)
{
        struct host *host = host_open();
        DAT_RMR_HANDLE rmr;
        const char *what;

        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, &host->a, NULL);
        end_make_with_srq(host, &host->b, NULL, 8);
        join_ends(host, &host->a, &host->b);
        assert_dat(dat_rmr_create(host->pz, &rmr), DAT_SUCCESS);
        for (unsigned int i = 0; i < 4; i++)
                post_srq(&host->b, (size_t)i * 16, 16, i);
        post_send(&host->a, 0, 10, 10);
        await_completion(host->a.request_evd, host->a.ep, 10, DAT_DTO_SUCCESS, 10);

        fail_call(nth);
        what = settle(grows(&host->b) && binds(host, rmr));

        for (unsigned int i = 1; i < 4; i++)
                post_send(&host->a, 0, i, i);
        await_completion(host->b.recv_evd, host->b.ep, 0, DAT_DTO_SUCCESS, 10);
        for (unsigned int i = 1; i < 4; i++) {
                await_completion(host->b.recv_evd, host->b.ep, i, DAT_DTO_SUCCESS, i);
                await_completion(host->a.request_evd, host->a.ep, i, DAT_DTO_SUCCESS, i);
        }
        assert_true(binds(host, rmr) && grows(&host->b));
        assert_dat(dat_rmr_free(rmr), DAT_SUCCESS);
        host_close(host);
        return what;
}

#define MORE_THAN_FIT 1000

/* Sends until a message is not taken; its completion comes with the end of the connection. */
static void send_to_the_last(struct host *host)
{
        DAT_DTO_COMPLETION_STATUS status = DAT_DTO_SUCCESS;
        DAT_EVENT event;

        for (int i = 0; i < MORE_THAN_FIT && status == DAT_DTO_SUCCESS; i++) {
                post_send(&host->a, 0, 10, 1);
                event = await_event(host->a.request_evd, DAT_DTO_COMPLETION_EVENT);
                status = event.event_data.dto_completion_event_data.status;
        }
        assert_int_not_equal(status, DAT_DTO_SUCCESS);
}

static void lose_a_completion(bool without_evd)
{
        struct host *host = host_open();
        struct end *b = &host->b;
        DAT_EP_ATTR attr = plain_attr();

        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, &host->a, NULL);
        end_make_with_srq(host, b, NULL, 4);
        assert_dat(dat_ep_free(b->ep), DAT_SUCCESS);
        assert_dat(dat_ep_create_with_srq(host->ia, host->pz,
                                          without_evd ? DAT_HANDLE_NULL : b->recv_evd,
                                          b->request_evd, b->connect_evd, b->srq, &attr, &b->ep),
                   DAT_SUCCESS);
        join_ends(host, &host->a, b);
        resize_in_vain(true);
        assert_dat(dat_srq_resize(b->srq, MORE_THAN_FIT), DAT_SUCCESS);
        resize_in_vain(false);
        for (int i = 0; i < MORE_THAN_FIT; i++)
                post_srq(b, 0, 10, 1);
        send_to_the_last(host);
        (void)await_event(b->connect_evd, DAT_CONNECTION_EVENT_BROKEN);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        if (!without_evd)
                (void)await_event(host->async_evd, DAT_ASYNC_ERROR_EVD_OVERFLOW);
        host_close(host);
}

/* A queue pair whose completion the device has lost stops: the Consumer gets an event. */
static void a_lost_completion(void **state)
{
        (void)state;
        lose_a_completion(false);
        lose_a_completion(true);
}

static void opening(void **state)
{
        (void)state;
        tell(an_ia_is_opened);
        tell(an_ia_of_one_domain_is_opened);
        tell(an_ia_of_any_device_is_opened);
        tell(an_ia_without_an_async_evd_is_opened);
        tell(an_ia_with_a_given_async_evd_is_opened);
}

static void making(void **state)
{
        (void)state;
        tell(objects_are_made);
}

static void joining(void **state)
{
        (void)state;
        tell(ends_are_joined);
        tell(an_ep_is_given);
}

static void using(void **state)
{
        (void)state;
        tell(a_pair_is_used);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(opening),           cmocka_unit_test(making),
            cmocka_unit_test(joining),           cmocka_unit_test(using),
            cmocka_unit_test(a_lost_completion),
        };

        setenv("DAPLREF_TEST_IA", "failing0", 1);
        return cmocka_run_group_tests_name("failures", tests, NULL, NULL);
}
