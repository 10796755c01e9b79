/* SPDX-License-Identifier: BSD-2-Clause */
/* The limits that an IA publishes: each is reached, by objects that work, and what exceeds it is
 * refused. */
#include "loopback.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define ROUND 16 /* connections asked for before they are accepted: what the EVD holds */

/* Asks for no more than one operation each way, so that many EPs can share an EVD. */
static DAT_EP_ATTR small_attr(void)
{
        DAT_EP_ATTR attr = plain_attr();

        attr.max_recv_dtos = attr.max_request_dtos = 1;
        attr.max_recv_iov = attr.max_request_iov = 1;
        attr.max_rdma_read_in = attr.max_rdma_read_out = 1;
        attr.max_rdma_read_iov = attr.max_rdma_write_iov = 1;
        return attr;
}

static void *allocate(size_t count, size_t size)
{
        void *memory = calloc(count, size);

        assert_non_null(memory);
        return memory;
}

static rlim_t descriptors(void)
{
        struct rlimit limit;

        assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        return limit.rlim_cur;
}

static void allow_descriptors(rlim_t count)
{
        struct rlimit limit;

        assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        limit.rlim_cur = count < limit.rlim_max ? count : limit.rlim_max;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static DAT_RETURN make_evd(struct host *host, DAT_COUNT qlen, DAT_EVD_HANDLE *evd)
{
        return dat_evd_create(host->ia, qlen, DAT_HANDLE_NULL,
                              (DAT_EVD_FLAGS)(DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG), evd);
}

static DAT_RETURN make_ep(struct host *host, DAT_EVD_HANDLE evd, const DAT_EP_ATTR *attr,
                          DAT_EP_HANDLE *ep)
{
        return dat_ep_create(host->ia, host->pz, evd, evd, evd, attr, ep);
}

/* That many events of that kind, whosesoever they are; completions must be successes. */
static void await_events(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, int count)
{
        for (int i = 0; i < count; i++) {
                DAT_EVENT event = await_event(evd, number);

                if (number == DAT_DTO_COMPLETION_EVENT)
                        assert_int_equal(event.event_data.dto_completion_event_data.status,
                                         DAT_DTO_SUCCESS);
        }
}

static void every_zone(void **state)
{
        struct host *host = host_open();
        DAT_COUNT max = host->attr.max_pzs - 1; /* the host has one */
        DAT_PZ_HANDLE *pzs = allocate((size_t)max, sizeof(*pzs));
        DAT_PZ_HANDLE more;

        (void)state;
        for (DAT_COUNT i = 0; i < max; i++)
                assert_dat(dat_pz_create(host->ia, &pzs[i]), DAT_SUCCESS);
        assert_dat(dat_pz_create(host->ia, &more), DAT_INSUFFICIENT_RESOURCES);
        assert_dat(dat_pz_free(pzs[0]), DAT_SUCCESS);
        assert_dat(dat_pz_create(host->ia, &pzs[0]), DAT_SUCCESS);
        for (DAT_COUNT i = 0; i < max; i++)
                assert_dat(dat_pz_free(pzs[i]), DAT_SUCCESS);
        free(pzs);
        host_close(host);
}

static void every_srq(void **state)
{
        struct host *host = host_open();
        DAT_SRQ_ATTR attr = {
            .max_recv_dtos = 1, .max_recv_iov = 1, .low_watermark = DAT_SRQ_LW_DEFAULT};
        DAT_COUNT max = host->attr.max_srqs;
        DAT_SRQ_HANDLE *srqs = allocate((size_t)max, sizeof(*srqs));
        DAT_SRQ_HANDLE more;

        (void)state;
        for (DAT_COUNT i = 0; i < max; i++) {
                assert_dat(dat_srq_create(host->ia, host->pz, &attr, &srqs[i]), DAT_SUCCESS);
                assert_dat(dat_srq_post_recv(srqs[i], 0, NULL, cookie(0)), DAT_SUCCESS);
        }
        assert_dat(dat_srq_create(host->ia, host->pz, &attr, &more), DAT_INSUFFICIENT_RESOURCES);
        for (DAT_COUNT i = 0; i < max; i++)
                assert_dat(dat_srq_free(srqs[i]), DAT_SUCCESS);
        free(srqs);
        host_close(host);
}

static void every_ep_of_an_srq(void **state)
{
        struct host *host = host_open();
        DAT_SRQ_ATTR srq_attr = {
            .max_recv_dtos = 1, .max_recv_iov = 1, .low_watermark = DAT_SRQ_LW_DEFAULT};
        DAT_COUNT max = host->attr.max_ep_per_srq;
        DAT_EP_HANDLE *eps = allocate((size_t)max, sizeof(*eps));
        DAT_EP_ATTR attr = small_attr();
        DAT_EVD_HANDLE evd;
        DAT_SRQ_HANDLE srq;
        DAT_EP_HANDLE more;

        (void)state;
        assert_dat(make_evd(host, 1, &evd), DAT_SUCCESS);
        assert_dat(dat_srq_create(host->ia, host->pz, &srq_attr, &srq), DAT_SUCCESS);
        for (DAT_COUNT i = 0; i < max; i++)
                assert_dat(
                    dat_ep_create_with_srq(host->ia, host->pz, evd, evd, evd, srq, &attr, &eps[i]),
                    DAT_SUCCESS);
        assert_dat(dat_ep_create_with_srq(host->ia, host->pz, evd, evd, evd, srq, &attr, &more),
                   DAT_INSUFFICIENT_RESOURCES);
        for (DAT_COUNT i = 0; i < max; i++)
                assert_dat(dat_ep_free(eps[i]), DAT_SUCCESS);
        assert_dat(dat_srq_free(srq), DAT_SUCCESS);
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        free(eps);
        host_close(host);
}

static DAT_RETURN make_lmr(struct host *host, DAT_VLEN length, DAT_LMR_HANDLE *lmr,
                           DAT_LMR_CONTEXT *context)
{
        DAT_REGION_DESCRIPTION region = {.for_va = host->a.memory};
        DAT_RMR_CONTEXT rmr_context;
        DAT_VLEN registered;
        DAT_VADDR address;

        return dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, length, host->pz,
                              DAT_MEM_PRIV_ALL_FLAG, lmr, context, &rmr_context, &registered,
                              &address);
}

static DAT_RETURN bind_whole(struct host *host, DAT_RMR_HANDLE rmr)
{
        DAT_LMR_TRIPLET whole = segment(&host->a, 0, 64);
        DAT_RMR_CONTEXT context;

        return dat_rmr_bind(rmr, &whole, DAT_MEM_PRIV_REMOTE_READ_FLAG, host->a.ep, cookie(0),
                            DAT_COMPLETION_SUPPRESS_FLAG, &context);
}

/* All LMRs, each of which can be sent from, and with them all RMRs, each of them bound. */
static void every_lmr_and_rmr(void **state)
{
        struct host *host = host_joined();
        DAT_COUNT max_lmrs = host->attr.max_lmrs - 2; /* each end has one */
        DAT_COUNT max_rmrs = host->attr.max_rmrs;
        DAT_LMR_HANDLE *lmrs = allocate((size_t)max_lmrs, sizeof(*lmrs));
        DAT_RMR_HANDLE *rmrs = allocate((size_t)max_rmrs, sizeof(*rmrs));
        DAT_LMR_TRIPLET iov = segment(&host->a, 0, 64);
        DAT_LMR_CONTEXT context;
        DAT_LMR_HANDLE lmr;
        DAT_RMR_HANDLE rmr;

        (void)state;
        for (DAT_COUNT i = 0; i < max_lmrs; i++)
                assert_dat(make_lmr(host, 64, &lmrs[i], &iov.lmr_context), DAT_SUCCESS);
        assert_dat(make_lmr(host, 64, &lmr, &context), DAT_INSUFFICIENT_RESOURCES);
        assert_dat(make_lmr(host, host->attr.max_lmr_block_size + 1, &lmr, &context),
                   DAT_INVALID_PARAMETER);
        post_recv(&host->b, 0, 64, 1);
        assert_dat(dat_ep_post_send(host->a.ep, 1, &iov, cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_SUCCESS);
        await_completion(host->a.request_evd, host->a.ep, 2, DAT_DTO_SUCCESS, 64);
        for (DAT_COUNT i = 0; i < max_rmrs; i++) {
                assert_dat(dat_rmr_create(host->pz, &rmrs[i]), DAT_SUCCESS);
                assert_dat(bind_whole(host, rmrs[i]), DAT_SUCCESS);
        }
        assert_dat(dat_rmr_create(host->pz, &rmr), DAT_INSUFFICIENT_RESOURCES);
        for (DAT_COUNT i = 0; i < max_rmrs; i++)
                assert_dat(dat_rmr_free(rmrs[i]), DAT_SUCCESS);
        for (DAT_COUNT i = 0; i < max_lmrs; i++)
                assert_dat(dat_lmr_free(lmrs[i]), DAT_SUCCESS);
        free(rmrs);
        free(lmrs);
        host_close(host);
}

/* Every EVD the IA says it has, each with an EP of its own, and each waited on. */
static void reach_evds(struct host *host)
{
        DAT_COUNT max = host->attr.max_evds - 2; /* the asynchronous one, and the host's */
        DAT_EVD_HANDLE *evds = allocate((size_t)max, sizeof(*evds));
        DAT_EP_HANDLE *eps = allocate((size_t)max, sizeof(*eps));
        DAT_EP_ATTR attr = small_attr();
        DAT_EVD_HANDLE more;
        DAT_EVENT event;
        DAT_COUNT nmore;

        for (DAT_COUNT i = 0; i < max; i++) {
                assert_dat(make_evd(host, 2, &evds[i]), DAT_SUCCESS);
                assert_dat(make_ep(host, evds[i], &attr, &eps[i]), DAT_SUCCESS);
                assert_dat(dat_evd_wait(evds[i], 0, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED);
        }
        assert_dat(make_evd(host, 2, &more), DAT_INSUFFICIENT_RESOURCES);
        for (DAT_COUNT i = 0; i < max; i++) {
                assert_dat(dat_ep_free(eps[i]), DAT_SUCCESS);
                assert_dat(dat_evd_free(evds[i]), DAT_SUCCESS);
        }
        free(eps);
        free(evds);
}

static void every_evd(void **state)
{
        rlim_t before = descriptors();
        struct host *host;

        (void)state;
        allow_descriptors(8192);
        host = host_open();
        assert_int_equal(host->attr.max_evds, 2048);
        reach_evds(host);
        host_close(host);
        allow_descriptors(before);
}

static void every_evd_of_few_descriptors(void **state)
{
        rlim_t before = descriptors();
        struct host *host;

        (void)state;
        allow_descriptors(200);
        host = host_open();
        assert_in_range(host->attr.max_evds, 64, 100);
        reach_evds(host);
        host_close(host);
        allow_descriptors(before);
}

/* The longest queue there is, filled and emptied in order. */
static int open_descriptors(int *highest)
{
        DIR *folder = opendir("/proc/self/fd");
        const struct dirent *entry;
        int count = 0;

        assert_non_null(folder);
        *highest = 0;
        while ((entry = readdir(folder))) {
                int number = atoi(entry->d_name);

                if (entry->d_name[0] == '.' || number == dirfd(folder))
                        continue;
                count++;
                if (number > *highest)
                        *highest = number;
        }
        closedir(folder);
        return count;
}

/* Whether the call had all that it needs; else it must say that it had not. */
static bool has_enough(DAT_RETURN ret)
{
        if (DAT_GET_TYPE(ret) != DAT_INSUFFICIENT_RESOURCES)
                assert_dat(ret, DAT_SUCCESS);
        return ret == DAT_SUCCESS;
}

static bool waited_for(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
        DAT_COUNT nmore;

        return has_enough(dat_evd_wait(evd, LONG, 1, event, &nmore));
}

/* Connects two EPs of an IA, and sends a message; false where something was lacking. */
static bool connects(DAT_IA_HANDLE ia)
{
        DAT_EVD_HANDLE requests;
        DAT_EVD_HANDLE evds[2];
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp;
        DAT_EP_HANDLE eps[2];
        DAT_EP_ATTR attr = small_attr();
        DAT_IA_ATTR ia_attr;
        DAT_PZ_HANDLE pz;
        DAT_EVENT event;

        assert_dat(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &ia_attr, 0, NULL), DAT_SUCCESS);
        if (!has_enough(dat_pz_create(ia, &pz)) ||
            !has_enough(dat_evd_create(ia, 4, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &requests)) ||
            !has_enough(dat_psp_create_any(ia, &qual, requests, DAT_PSP_CONSUMER_FLAG, &psp)))
                return false;
        for (int i = 0; i < 2; i++)
                if (!has_enough(
                        dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DEFAULT_FLAG, &evds[i])) ||
                    !has_enough(dat_ep_create(ia, pz, evds[i], evds[i], evds[i], &attr, &eps[i])) ||
                    !has_enough(dat_ep_post_recv(eps[i], 0, NULL, cookie(1), 0)))
                        return false;
        if (!has_enough(dat_ep_connect(eps[0], ia_attr.ia_address_ptr, qual, LONG, 0, NULL,
                                       DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG)) ||
            !waited_for(requests, &event) ||
            !has_enough(
                dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, eps[1], 0, NULL)))
                return false;
        for (int i = 0; i < 2; i++) {
                if (!waited_for(evds[i], &event))
                        return false;
                assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
        }
        if (!has_enough(dat_ep_post_send(eps[0], 0, NULL, cookie(2), 0)))
                return false;
        await_completion(evds[1], eps[1], 1, DAT_DTO_SUCCESS, 0);
        return true;
}

/* Two IAs of a process, whose limits know nothing of each other. */
static bool opens_two(void)
{
        DAT_IA_HANDLE ias[2];
        bool enough = true;
        int opened = 0;

        for (; opened < 2 && enough; opened += enough) {
                DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;

                enough = has_enough(dat_ia_open("ref0", 4, &async_evd, &ias[opened]));
        }
        for (int i = 0; i < opened && enough; i++)
                enough = connects(ias[i]);
        while (opened--)
                assert_dat(dat_ia_close(ias[opened], DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        return enough;
}

/* Whichever call is the first to find no descriptor says so, and leaves none behind. */
static void descriptors_run_out_anywhere(void **state)
{
        rlim_t usual = descriptors();
        bool enough = false;
        int highest;
        int before;

        (void)state;
        assert_true(opens_two());
        before = open_descriptors(&highest);
        for (int more = 0; !enough; more++) {
                assert_in_range(more, 0, 100);
                allow_descriptors((rlim_t)highest + 1 + (rlim_t)more);
                enough = opens_two();
                allow_descriptors(usual);
                assert_int_equal(open_descriptors(&highest), before);
        }
}

static void a_full_queue(void **state)
{
        struct host *host = host_open();
        DAT_COUNT max = host->attr.max_evd_qlen;
        DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};
        char *values = allocate((size_t)max, 1);
        DAT_EVD_HANDLE evd;
        DAT_EVD_HANDLE more;

        (void)state;
        assert_dat(make_evd(host, max + 1, &more), DAT_INVALID_PARAMETER);
        assert_dat(make_evd(host, max, &evd), DAT_SUCCESS);
        for (DAT_COUNT i = 0; i < max; i++) {
                event.event_data.software_event_data.pointer = values + i;
                assert_dat(dat_evd_post_se(evd, &event), DAT_SUCCESS);
        }
        assert_dat(dat_evd_post_se(evd, &event), DAT_QUEUE_FULL);
        for (DAT_COUNT i = 0; i < max; i++) {
                assert_dat(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
                assert_ptr_equal(event.event_data.software_event_data.pointer, values + i);
        }
        assert_dat(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        free(values);
        host_close(host);
}

/* Connects the EPs in pairs, the first with the second and so on. */
static void join_pairs(struct host *host, DAT_EP_HANDLE *eps, DAT_COUNT count, DAT_EVD_HANDLE evd)
{
        for (DAT_COUNT i = 0; i < count; i += 2) {
                DAT_COUNT joined = i / 2 % ROUND + 1;

                assert_dat(dat_ep_connect(eps[i], host->attr.ia_address_ptr, host->qual,
                                          DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
                                          DAT_CONNECT_DEFAULT_FLAG),
                           DAT_SUCCESS);
                if (joined < ROUND && i + 2 < count)
                        continue;
                for (DAT_COUNT k = 0; k < joined; k++)
                        assert_dat(dat_cr_accept(await_request(host), eps[i + 1 - 2 * k], 0, NULL),
                                   DAT_SUCCESS);
                await_events(evd, DAT_CONNECTION_EVENT_ESTABLISHED, 2 * joined);
        }
}

/*
 * All EPs; and those of them that are connected, which with DAPLREF_TEST_WHOLE is each, carry a
 * message each way.
 */
static void every_ep(void **state)
{
        struct host *host = host_open();
        DAT_COUNT max = host->attr.max_eps & ~1;
        DAT_COUNT joined = getenv("DAPLREF_TEST_WHOLE") ? max : max / 16;
        DAT_EP_HANDLE *eps = allocate((size_t)max, sizeof(*eps));
        DAT_EP_ATTR attr = small_attr();
        DAT_EVD_HANDLE evd;
        DAT_EP_HANDLE more;

        (void)state;
        assert_int_equal(host->attr.max_eps, 4096);
        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        assert_dat(make_evd(host, host->attr.max_evd_qlen, &evd), DAT_SUCCESS);
        for (DAT_COUNT i = 0; i < max; i++) {
                assert_dat(make_ep(host, evd, &attr, &eps[i]), DAT_SUCCESS);
                assert_dat(
                    dat_ep_post_recv(eps[i], 0, NULL, cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
                    DAT_SUCCESS);
        }
        assert_dat(make_ep(host, evd, &attr, &more), DAT_INSUFFICIENT_RESOURCES);
        join_pairs(host, eps, joined, evd);
        for (DAT_COUNT i = 0; i < joined; i++)
                assert_int_equal(state_of(eps[i]), DAT_EP_STATE_CONNECTED);
        for (DAT_COUNT i = 0; i < joined; i++)
                assert_dat(
                    dat_ep_post_send(eps[i], 0, NULL, cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
                    DAT_SUCCESS);
        await_events(evd, DAT_DTO_COMPLETION_EVENT, 2 * joined);
        for (DAT_COUNT i = 0; i < max; i++)
                assert_dat(dat_ep_free(eps[i]), DAT_SUCCESS);
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        free(eps);
        host_close(host);
}

static void assert_no_ep_with(struct host *host, const DAT_EP_ATTR *attr)
{
        DAT_EP_HANDLE ep;

        assert_dat(dat_ep_create(host->ia, host->pz, host->a.recv_evd, host->a.request_evd,
                                 host->a.connect_evd, attr, &ep),
                   DAT_INVALID_PARAMETER);
}

/* Reads what the IA publishes, for tests that need it before their host can be made. */
static DAT_IA_ATTR published(void)
{
        struct host *host = host_open();
        DAT_IA_ATTR attr = host->attr;

        host_close(host);
        return attr;
}

static void await_in_order(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, DAT_COUNT count)
{
        for (DAT_COUNT i = 0; i < count; i++)
                await_completion(evd, ep, (uint64_t)i, DAT_DTO_SUCCESS, 1);
}

/* As many sends as there may be wait for receives, and then as many receives take them. */
static void every_dto(void **state)
{
        DAT_COUNT max = published().max_dto_per_ep;
        DAT_EP_ATTR attr = plain_attr();
        DAT_LMR_TRIPLET iov;
        struct host *host;

        (void)state;
        attr.max_recv_dtos = attr.max_request_dtos = max;
        host = host_joined_with(&attr);
        iov = segment(&host->a, 0, 1);
        for (DAT_COUNT i = 0; i < max; i++)
                post_send(&host->a, 0, 1, (uint64_t)i);
        assert_dat(dat_ep_post_send(host->a.ep, 1, &iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_INSUFFICIENT_RESOURCES);
        for (DAT_COUNT i = 0; i < max; i++)
                post_recv(&host->a, 0, 1, (uint64_t)i);
        assert_dat(dat_ep_post_recv(host->a.ep, 1, &iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_INSUFFICIENT_RESOURCES);
        for (DAT_COUNT i = 0; i < max; i++)
                post_recv(&host->b, 0, 1, (uint64_t)i);
        await_in_order(host->b.recv_evd, host->b.ep, max);
        await_in_order(host->a.request_evd, host->a.ep, max);
        for (DAT_COUNT i = 0; i < max; i++)
                post_send(&host->b, 0, 1, (uint64_t)i);
        await_in_order(host->a.recv_evd, host->a.ep, max);
        await_in_order(host->b.request_evd, host->b.ep, max);
        attr.max_recv_dtos = max + 1;
        assert_no_ep_with(host, &attr);
        attr.max_recv_dtos = 1;
        attr.max_request_dtos = max + 1;
        assert_no_ep_with(host, &attr);
        host_close(host);
}

/* The longest SRQ: all of its buffers are posted, and messages use every one of them. */
static void every_srq_buffer(void **state)
{
        DAT_COUNT max = published().max_recv_per_srq;
        DAT_SRQ_ATTR srq_attr = {
            .max_recv_dtos = max + 1, .max_recv_iov = 1, .low_watermark = DAT_SRQ_LW_DEFAULT};
        struct host *host = host_open();
        DAT_LMR_TRIPLET iov;
        DAT_SRQ_HANDLE srq;

        (void)state;
        assert_dat(dat_srq_create(host->ia, host->pz, &srq_attr, &srq), DAT_INVALID_PARAMETER);
        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, &host->a, NULL);
        end_make_with_srq(host, &host->b, NULL, max);
        join_ends(host, &host->a, &host->b);
        iov = segment(&host->b, 0, 1);
        for (DAT_COUNT i = 0; i < max; i++)
                post_srq(&host->b, 0, 1, (uint64_t)i);
        assert_dat(dat_srq_post_recv(host->b.srq, 1, &iov, cookie(0)), DAT_INSUFFICIENT_RESOURCES);
        for (DAT_COUNT i = 0; i < max; i++) {
                post_send(&host->a, 0, 1, (uint64_t)i);
                await_completion(host->a.request_evd, host->a.ep, (uint64_t)i, DAT_DTO_SUCCESS, 1);
        }
        assert_int_equal(srq_counts(host->b.srq).available_dto_count, 0);
        assert_int_equal(srq_counts(host->b.srq).outstanding_dto_count, max);
        await_in_order(host->b.recv_evd, host->b.ep, max);
        assert_int_equal(srq_counts(host->b.srq).outstanding_dto_count, 0);
        host_close(host);
}

/* Segments of one byte each, far apart. */
static void scatter(const struct end *end, DAT_LMR_TRIPLET *iov, DAT_COUNT count)
{
        for (DAT_COUNT i = 0; i < count; i++)
                iov[i] = segment(end, (size_t)i * 100, 1);
}

static void assert_scattered(const struct end *end, DAT_COUNT count)
{
        for (DAT_COUNT i = 0; i < count; i++)
                assert_int_equal(end->memory[(size_t)i * 100], i + 1);
        memset(end->memory, 0, BUFFER);
}

static void every_segment(void **state)
{
        DAT_IA_ATTR limits = published();
        DAT_COUNT max = limits.max_iov_segments_per_dto;
        DAT_LMR_TRIPLET from[64];
        DAT_LMR_TRIPLET to[64];
        DAT_EP_ATTR attr = plain_attr();
        DAT_RMR_TRIPLET remote;
        struct host *host;

        (void)state;
        assert_in_range(max, 1, 63);
        assert_int_equal(limits.max_iov_segments_per_rdma_read, max);
        assert_int_equal(limits.max_iov_segments_per_rdma_write, max);
        attr.max_recv_iov = attr.max_request_iov = max;
        attr.max_rdma_read_iov = attr.max_rdma_write_iov = max;
        host = host_joined_with(&attr);
        remote = (DAT_RMR_TRIPLET){
            .rmr_context = host->b.rmr_context,
            .target_address = (DAT_VADDR)(uintptr_t)host->b.memory,
            .segment_length = (DAT_VLEN)max,
        };
        scatter(&host->a, from, max + 1);
        scatter(&host->b, to, max + 1);
        for (DAT_COUNT i = 0; i < max; i++)
                host->a.memory[(size_t)i * 100] = (unsigned char)(i + 1);
        assert_dat(
            dat_ep_post_recv(host->b.ep, max + 1, to, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
            DAT_INVALID_PARAMETER);
        assert_dat(dat_ep_post_recv(host->b.ep, max, to, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_SUCCESS);
        assert_dat(
            dat_ep_post_send(host->a.ep, max + 1, from, cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
            DAT_INVALID_PARAMETER);
        assert_dat(dat_ep_post_send(host->a.ep, max, from, cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_SUCCESS);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, (DAT_VLEN)max);
        await_completion(host->a.request_evd, host->a.ep, 2, DAT_DTO_SUCCESS, (DAT_VLEN)max);
        assert_scattered(&host->b, max);
        assert_dat(dat_ep_post_rdma_write(host->a.ep, max + 1, from, cookie(3), &remote,
                                          DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_INVALID_PARAMETER);
        assert_dat(dat_ep_post_rdma_write(host->a.ep, max, from, cookie(3), &remote,
                                          DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_SUCCESS);
        await_completion(host->a.request_evd, host->a.ep, 3, DAT_DTO_SUCCESS, (DAT_VLEN)max);
        memset(host->a.memory, 0, BUFFER);
        assert_dat(dat_ep_post_rdma_read(host->a.ep, max + 1, from, cookie(4), &remote,
                                         DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_INVALID_PARAMETER);
        assert_dat(dat_ep_post_rdma_read(host->a.ep, max, from, cookie(4), &remote,
                                         DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_SUCCESS);
        await_completion(host->a.request_evd, host->a.ep, 4, DAT_DTO_SUCCESS, (DAT_VLEN)max);
        assert_scattered(&host->a, max);
        host_close(host);
}

/* As many reads at once as an EP may have, and EPs with one more in either direction refused. */
static void every_read(void **state)
{
        DAT_IA_ATTR limits = published();
        DAT_COUNT in = limits.max_rdma_read_per_ep_in;
        DAT_COUNT out = limits.max_rdma_read_per_ep_out;
        DAT_EP_ATTR attr = plain_attr();
        DAT_RMR_TRIPLET remote;
        DAT_LMR_TRIPLET iov;
        struct host *host;

        (void)state;
        attr.max_request_dtos = 2 * out;
        attr.max_rdma_read_in = in;
        attr.max_rdma_read_out = out;
        host = host_joined_with(&attr);
        iov = segment(&host->a, 0, 1);
        remote = (DAT_RMR_TRIPLET){
            .rmr_context = host->b.rmr_context,
            .target_address = (DAT_VADDR)(uintptr_t)host->b.memory,
            .segment_length = 1,
        };
        for (DAT_COUNT i = 0; i < 2 * out; i++)
                assert_dat(dat_ep_post_rdma_read(host->a.ep, 1, &iov, cookie((uint64_t)i), &remote,
                                                 DAT_COMPLETION_DEFAULT_FLAG),
                           DAT_SUCCESS);
        await_in_order(host->a.request_evd, host->a.ep, 2 * out);
        attr.max_rdma_read_in = in + 1;
        assert_no_ep_with(host, &attr);
        attr.max_rdma_read_in = in;
        attr.max_rdma_read_out = out + 1;
        assert_no_ep_with(host, &attr);
        host_close(host);
}

/* Memory that is as long as the longest message, and one byte more. */
static void widen(struct host *host, struct end *end, size_t length)
{
        DAT_REGION_DESCRIPTION region;
        DAT_VLEN registered;
        DAT_VADDR address;

        assert_dat(dat_lmr_free(end->lmr), DAT_SUCCESS);
        free(end->memory);
        end->memory = region.for_va = allocate(1, length);
        assert_dat(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, length, host->pz,
                                  DAT_MEM_PRIV_ALL_FLAG, &end->lmr, &end->lmr_context,
                                  &end->rmr_context, &registered, &address),
                   DAT_SUCCESS);
}

static void fill(struct end *end, size_t length, uint32_t seed)
{
        for (size_t i = 0; i < length; i++) {
                seed = seed * 1664525 + 1013904223;
                end->memory[i] = (unsigned char)(seed >> 24);
        }
}

/* A message and an RDMA of the greatest size there is arrive whole; one byte more is refused. */
static void the_longest_message(void **state)
{
        DAT_IA_ATTR limits = published();
        size_t max = (size_t)limits.max_message_size;
        DAT_EP_ATTR attr = plain_attr();
        DAT_RMR_TRIPLET remote;
        DAT_LMR_TRIPLET iov;
        struct host *host;

        (void)state;
        assert_int_equal(limits.max_rdma_size, limits.max_message_size);
        attr.max_message_size = attr.max_rdma_size = limits.max_message_size;
        host = host_joined_with(&attr);
        widen(host, &host->a, max + 1);
        widen(host, &host->b, max + 1);
        iov = segment(&host->a, 0, max + 1);
        remote = (DAT_RMR_TRIPLET){
            .rmr_context = host->b.rmr_context,
            .target_address = (DAT_VADDR)(uintptr_t)host->b.memory,
            .segment_length = max + 1,
        };
        assert_dat(dat_ep_post_send(host->a.ep, 1, &iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_INVALID_PARAMETER);
        assert_dat(dat_ep_post_rdma_write(host->a.ep, 1, &iov, cookie(0), &remote,
                                          DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_INVALID_PARAMETER);
        assert_dat(dat_ep_post_rdma_read(host->a.ep, 1, &iov, cookie(0), &remote,
                                         DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_INVALID_PARAMETER);
        iov.segment_length = remote.segment_length = max;
        fill(&host->a, max, 1);
        post_recv(&host->b, 0, max, 1);
        post_send(&host->a, 0, max, 2);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, max);
        await_completion(host->a.request_evd, host->a.ep, 2, DAT_DTO_SUCCESS, max);
        assert_memory_equal(host->a.memory, host->b.memory, max);
        fill(&host->a, max, 2);
        assert_dat(dat_ep_post_rdma_write(host->a.ep, 1, &iov, cookie(3), &remote,
                                          DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_SUCCESS);
        await_completion(host->a.request_evd, host->a.ep, 3, DAT_DTO_SUCCESS, max);
        assert_memory_equal(host->a.memory, host->b.memory, max);
        fill(&host->b, max, 3);
        assert_dat(dat_ep_post_rdma_read(host->a.ep, 1, &iov, cookie(4), &remote,
                                         DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_SUCCESS);
        await_completion(host->a.request_evd, host->a.ep, 4, DAT_DTO_SUCCESS, max);
        assert_memory_equal(host->a.memory, host->b.memory, max);
        attr.max_message_size = max + 1;
        assert_no_ep_with(host, &attr);
        attr.max_message_size = max;
        attr.max_rdma_size = max + 1;
        assert_no_ep_with(host, &attr);
        host_close(host);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(every_zone),
            cmocka_unit_test(every_srq),
            cmocka_unit_test(every_ep_of_an_srq),
            cmocka_unit_test(every_lmr_and_rmr),
            cmocka_unit_test(every_evd),
            cmocka_unit_test(every_evd_of_few_descriptors),
            cmocka_unit_test(descriptors_run_out_anywhere),
            cmocka_unit_test(a_full_queue),
            cmocka_unit_test(every_dto),
            cmocka_unit_test(every_srq_buffer),
            cmocka_unit_test(every_segment),
            cmocka_unit_test(every_read),
            cmocka_unit_test(the_longest_message),
            cmocka_unit_test(every_ep),
        };

        return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
