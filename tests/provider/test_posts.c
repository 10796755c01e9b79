/* SPDX-License-Identifier: BSD-2-Clause */
/* What may be posted: with which segments, on which memory, by which flags, in which state. */
#include "loopback.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FEW_SEGMENTS "iWARP: siw has 6 segments of a receive, and this needs 16"

typedef DAT_RETURN (*post_fn)(struct host *host, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
                              DAT_COMPLETION_FLAGS flags);

static DAT_RMR_TRIPLET there(const struct end *end, size_t offset, size_t length)
{
        return (DAT_RMR_TRIPLET){
            .rmr_context = end->rmr_context,
            .target_address = (DAT_VADDR)(uintptr_t)(end->memory + offset),
            .segment_length = length,
        };
}

/* Each kind of post, by the end a. Segments of a read hold what comes, whatever their length. */
static DAT_RETURN a_send(struct host *host, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
                         DAT_COMPLETION_FLAGS flags)
{
        return dat_ep_post_send(host->a.ep, segments, iov, cookie(1), flags);
}

static DAT_RETURN a_recv(struct host *host, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
                         DAT_COMPLETION_FLAGS flags)
{
        return dat_ep_post_recv(host->a.ep, segments, iov, cookie(1), flags);
}

static DAT_RETURN a_read(struct host *host, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
                         DAT_COMPLETION_FLAGS flags)
{
        DAT_RMR_TRIPLET from = there(&host->b, 0, 0);

        return dat_ep_post_rdma_read(host->a.ep, segments, iov, cookie(1), &from, flags);
}

static DAT_RETURN a_write(struct host *host, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
                          DAT_COMPLETION_FLAGS flags)
{
        DAT_RMR_TRIPLET to = there(&host->b, 0, BUFFER);

        return dat_ep_post_rdma_write(host->a.ep, segments, iov, cookie(1), &to, flags);
}

static const struct post {
        post_fn call;
        DAT_MEM_PRIV_FLAGS needs;
        unsigned int flags; /* of which any may be given, where the EP is set up for them */
        int flags_argument;
} posts[] = {
    {a_send, DAT_MEM_PRIV_LOCAL_READ_FLAG,
     DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG |
         DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG,
     DAT_INVALID_ARG5},
    {a_write, DAT_MEM_PRIV_LOCAL_READ_FLAG,
     DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG |
         DAT_COMPLETION_BARRIER_FENCE_FLAG,
     DAT_INVALID_ARG6},
    {a_read, DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
     DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG |
         DAT_COMPLETION_BARRIER_FENCE_FLAG,
     DAT_INVALID_ARG6},
    {a_recv, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_INVALID_ARG5},
};

#define POSTS (sizeof(posts) / sizeof(posts[0]))

/* Reads have one segment on iWARP. */
static bool takes_two(const struct post *post)
{
        return post->call != a_read || !host_is_iwarp();
}

/* A refused post must leave nothing behind. */
static void assert_nothing_posted(const struct host *host)
{
        DAT_BOOLEAN recv_idle;
        DAT_BOOLEAN request_idle;
        DAT_EP_STATE state;
        DAT_EVENT event;

        assert_dat(dat_ep_get_status(host->a.ep, &state, &recv_idle, &request_idle), DAT_SUCCESS);
        assert_int_equal(recv_idle, DAT_TRUE);
        assert_int_equal(request_idle, DAT_TRUE);
        assert_dat(dat_evd_dequeue(host->a.recv_evd, &event), DAT_QUEUE_EMPTY);
        assert_dat(dat_evd_dequeue(host->a.request_evd, &event), DAT_QUEUE_EMPTY);
}

static void flags_belong_to_their_posts(void **state)
{
        DAT_EP_ATTR attr = plain_attr();
        struct host *host;

        (void)state;
        for (int round = 0; round < 2; round++) {
                unsigned int set_up = round ? ~0u : ~(unsigned int)DAT_COMPLETION_UNSIGNALLED_FLAG;

                if (round) {
                        attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
                        attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
                }
                host = host_joined_with(&attr);
                for (size_t i = 0; i < POSTS; i++) {
                        for (unsigned int bit = 0; bit < 32; bit++) {
                                unsigned int flag = 1u << bit;

                                if (!(posts[i].flags & set_up & flag))
                                        assert_refused(posts[i].call(host, 0, NULL,
                                                                     (DAT_COMPLETION_FLAGS)flag),
                                                       DAT_INVALID_PARAMETER,
                                                       posts[i].flags_argument);
                        }
                }
                assert_nothing_posted(host);
                for (size_t i = 0; i < POSTS; i++) {
                        post_recv(&host->b, 0, 10, i);
                        assert_dat(posts[i].call(host, 0, NULL,
                                                 (DAT_COMPLETION_FLAGS)(posts[i].flags & set_up)),
                                   DAT_SUCCESS);
                }
                /* All of them but the receive were to be silent. */
                post_send(&host->a, 0, 10, 9);
                await_completion(host->a.request_evd, host->a.ep, 9, DAT_DTO_SUCCESS, 10);
                host_close(host);
        }
}

static void segments_are_counted(void **state)
{
        const DAT_COUNT most[] = {3, 5, host_is_iwarp() ? 1 : 2, 4};
        DAT_EP_ATTR attr = plain_attr();
        DAT_LMR_TRIPLET iov[8];
        struct host *host;

        (void)state;
        attr.max_request_iov = most[0];
        attr.max_rdma_write_iov = most[1];
        attr.max_rdma_read_iov = most[2];
        attr.max_recv_iov = most[3];
        host = host_joined_with(&attr);
        for (size_t i = 0; i < 8; i++)
                iov[i] = segment(&host->a, 100 * i, 10);
        for (size_t i = 0; i < POSTS; i++) {
                assert_refused(posts[i].call(host, most[i] + 1, iov, 0), DAT_INVALID_PARAMETER,
                               DAT_INVALID_ARG2);
                assert_refused(posts[i].call(host, -1, iov, 0), DAT_INVALID_PARAMETER,
                               DAT_INVALID_ARG2);
                assert_refused(posts[i].call(host, INT_MAX, iov, 0), DAT_INVALID_PARAMETER,
                               DAT_INVALID_ARG2);
                assert_refused(posts[i].call(host, INT_MIN, iov, 0), DAT_INVALID_PARAMETER,
                               DAT_INVALID_ARG2);
                assert_refused(posts[i].call(host, 1, NULL, 0), DAT_INVALID_PARAMETER,
                               DAT_INVALID_ARG3);
        }
        assert_nothing_posted(host);
        post_recv(&host->b, 0, 100, 7);
        for (size_t i = 0; i < POSTS; i++)
                assert_dat(posts[i].call(host, most[i], iov, 0), DAT_SUCCESS);
        await_completion(host->a.request_evd, host->a.ep, 1, DAT_DTO_SUCCESS, 30);
        await_completion(host->a.request_evd, host->a.ep, 1, DAT_DTO_SUCCESS, 50);
        await_completion(host->a.request_evd, host->a.ep, 1, DAT_DTO_SUCCESS, 0);
        post_send(&host->b, 0, 40, 8);
        await_completion(host->a.recv_evd, host->a.ep, 1, DAT_DTO_SUCCESS, 40);
        host_close(host);
}

static void segments_stay_in_their_lmr(void **state)
{
        struct host *host = host_joined();
        DAT_LMR_TRIPLET good = segment(&host->a, 0, 10);
        DAT_LMR_TRIPLET whole = segment(&host->a, 0, BUFFER);
        DAT_LMR_TRIPLET bad[] = {
            segment(&host->a, 0, BUFFER + 1),
            segment(&host->a, 1, BUFFER),
            segment(&host->a, BUFFER, 1),
            segment(&host->a, BUFFER - 1, 2),
            segment(&host->a, 0, UINT64_MAX),
            segment(&host->a, 1, UINT64_MAX),
            segment(&host->a, 0, UINT64_C(1) << 32),
            segment(&host->a, 0, (UINT64_C(1) << 32) + 10),
            segment(&host->a, 0, UINT64_C(1) << 63),
            good,
            good,
            good,
        };

        (void)state;
        bad[9].virtual_address -= 1;
        bad[10].virtual_address = 0;
        bad[11].virtual_address = UINT64_MAX;
        for (size_t i = 0; i < POSTS; i++) {
                for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
                        DAT_LMR_TRIPLET iov[] = {bad[k], good, bad[k]};

                        assert_refused(posts[i].call(host, 1, iov, 0), DAT_INVALID_PARAMETER,
                                       DAT_INVALID_ARG3);
                        if (takes_two(&posts[i]))
                                assert_refused(posts[i].call(host, 2, iov + 1, 0),
                                               DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
                }
        }
        assert_nothing_posted(host);
        post_recv(&host->b, 0, BUFFER, 7);
        for (size_t i = 0; i < POSTS; i++)
                assert_dat(posts[i].call(host, 1, &whole, 0), DAT_SUCCESS);
        await_completion(host->a.request_evd, host->a.ep, 1, DAT_DTO_SUCCESS, BUFFER);
        await_completion(host->a.request_evd, host->a.ep, 1, DAT_DTO_SUCCESS, BUFFER);
        host_close(host);
}

static DAT_LMR_TRIPLET part_of(DAT_LMR_CONTEXT context, const struct end *end)
{
        DAT_LMR_TRIPLET triplet = segment(end, 0, 10);

        triplet.lmr_context = context;
        return triplet;
}

/* Of each set of privileges, local ones alone count here, and each post needs its own. */
static void memory_grants_its_posts(void **state)
{
        struct host *host = host_joined();
        unsigned int done = 0;

        (void)state;
        for (unsigned int set = 0; set < 16; set++) {
                unsigned int privileges = (set & 3) | (set & 12) << 2;
                DAT_LMR_CONTEXT context;
                DAT_LMR_HANDLE lmr =
                    region_of(host, &host->a, host->pz, privileges, &context, NULL);
                DAT_LMR_TRIPLET iov = part_of(context, &host->a);

                for (size_t i = 0; i < POSTS - 1; i++) {
                        if (!(privileges & posts[i].needs)) {
                                assert_refused(posts[i].call(host, 1, &iov, 0),
                                               DAT_PRIVILEGES_VIOLATION,
                                               posts[i].needs == DAT_MEM_PRIV_LOCAL_READ_FLAG
                                                   ? DAT_PRIVILEGES_READ
                                                   : DAT_PRIVILEGES_WRITE);
                                continue;
                        }
                        if (posts[i].call == a_send)
                                post_recv(&host->b, 0, 10, 7);
                        assert_dat(posts[i].call(host, 1, &iov, 0), DAT_SUCCESS);
                        await_completion(host->a.request_evd, host->a.ep, 1, DAT_DTO_SUCCESS,
                                         posts[i].call == a_read ? 0 : 10);
                        done++;
                }
                if (privileges & DAT_MEM_PRIV_LOCAL_WRITE_FLAG) {
                        assert_dat(a_recv(host, 1, &iov, 0), DAT_SUCCESS);
                        post_send(&host->b, 0, 10, 8);
                        await_completion(host->a.recv_evd, host->a.ep, 1, DAT_DTO_SUCCESS, 10);
                        done++;
                } else {
                        assert_refused(a_recv(host, 1, &iov, 0), DAT_PRIVILEGES_VIOLATION,
                                       DAT_PRIVILEGES_WRITE);
                }
                assert_dat(dat_lmr_free(lmr), DAT_SUCCESS);
                /* What is freed is refused, for whatever it was good. */
                for (size_t i = 0; i < POSTS; i++)
                        assert_dat(posts[i].call(host, 1, &iov, 0), DAT_PRIVILEGES_VIOLATION);
        }
        assert_int_equal(done, 8 * POSTS);
        host_close(host);
}

static void zones_are_kept_apart(void **state)
{
        struct host *host = host_joined();
        DAT_LMR_CONTEXT context;
        DAT_LMR_TRIPLET iov[2];
        DAT_LMR_HANDLE lmr;
        DAT_PZ_HANDLE pz;

        (void)state;
        assert_dat(dat_pz_create(host->ia, &pz), DAT_SUCCESS);
        lmr = region_of(host, &host->a, pz, DAT_MEM_PRIV_ALL_FLAG, &context, NULL);
        assert_refused(dat_pz_free(pz), DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE);
        iov[0] = segment(&host->a, 0, 10);
        iov[1] = part_of(context, &host->a);
        for (size_t i = 0; i < POSTS; i++) {
                bool both = takes_two(&posts[i]);

                assert_refused(
                    posts[i].call(host, 1 + both, iov + !both, 0), DAT_PROTECTION_VIOLATION,
                    posts[i].needs == DAT_MEM_PRIV_LOCAL_READ_FLAG ? DAT_PROTECTION_READ
                                                                   : DAT_PROTECTION_WRITE);
        }
        assert_nothing_posted(host);
        assert_dat(dat_lmr_free(lmr), DAT_SUCCESS);
        assert_dat(dat_pz_free(pz), DAT_SUCCESS);
        host_close(host);
}

/* The first segments are full, one is filled in part, and those after it are as they were. */
static void segments_fill_in_their_order(void **state)
{
        struct host *host = host_joined();
        struct end *a = &host->a;
        DAT_RMR_TRIPLET from = there(&host->b, 0, 150);
        DAT_LMR_TRIPLET iov[] = {segment(a, 3000, 100), segment(a, 1000, 100),
                                 segment(a, 2000, 100)};

        (void)state;
        for (int round = 0; round < 2; round++) {
                memset(a->memory, 0xee, BUFFER);
                for (size_t i = 0; i < 150; i++)
                        host->b.memory[i] = (unsigned char)i;
                if (round) {
                        assert_dat(dat_ep_post_rdma_read(a->ep, 3, iov, cookie(1), &from, 0),
                                   DAT_SUCCESS);
                        await_completion(a->request_evd, a->ep, 1, DAT_DTO_SUCCESS, 150);
                } else {
                        assert_dat(a_recv(host, 3, iov, 0), DAT_SUCCESS);
                        post_send(&host->b, 0, 150, 2);
                        await_completion(a->recv_evd, a->ep, 1, DAT_DTO_SUCCESS, 150);
                }
                assert_memory_equal(a->memory + 3000, host->b.memory, 100);
                assert_memory_equal(a->memory + 1000, host->b.memory + 100, 50);
                for (size_t i = 0; i < 50; i++)
                        assert_int_equal(a->memory[1050 + i], 0xee);
                for (size_t i = 0; i < 100; i++)
                        assert_int_equal(a->memory[2000 + i], 0xee);
        }
        host_close(host);
}

/*
 * A fenced request starts when the reads before it are done, so it can carry what they brought.
 * Here all of them wait for a message that has no receive yet.
 */
static void a_fenced_send_carries_what_was_read(void **state)
{
        static const size_t sizes[] = {8, 64, 65, 4096};
        struct host *host = host_joined();
        struct end *a = &host->a;
        struct end *b = &host->b;

        (void)state;
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
                DAT_LMR_TRIPLET iov = segment(a, 0, sizes[i]);
                DAT_RMR_TRIPLET from = there(b, 0, sizes[i]);
                DAT_RMR_TRIPLET to = there(b, 20000, sizes[i]);

                memset(a->memory, 0xee, BUFFER);
                memset(b->memory, 0, BUFFER);
                memset(b->memory, 0x77, sizes[i]);
                post_send(a, 5000, 10, 0);
                assert_dat(dat_ep_post_rdma_read(a->ep, 1, &iov, cookie(1), &from, 0), DAT_SUCCESS);
                assert_dat(dat_ep_post_rdma_write(a->ep, 1, &iov, cookie(2), &to,
                                                  DAT_COMPLETION_BARRIER_FENCE_FLAG),
                           DAT_SUCCESS);
                assert_dat(
                    dat_ep_post_send(a->ep, 1, &iov, cookie(3), DAT_COMPLETION_BARRIER_FENCE_FLAG),
                    DAT_SUCCESS);
                post_recv(b, 5000, 10, 0);
                post_recv(b, 10000, sizes[i], 3);
                await_completion(a->request_evd, a->ep, 0, DAT_DTO_SUCCESS, 10);
                for (unsigned int k = 1; k <= 3; k++)
                        await_completion(a->request_evd, a->ep, k, DAT_DTO_SUCCESS, sizes[i]);
                await_completion(b->recv_evd, b->ep, 0, DAT_DTO_SUCCESS, 10);
                await_completion(b->recv_evd, b->ep, 3, DAT_DTO_SUCCESS, sizes[i]);
                assert_memory_equal(b->memory + 10000, b->memory, sizes[i]);
                assert_memory_equal(b->memory + 20000, b->memory, sizes[i]);
        }
        host_close(host);
}

/*
 * A fenced send without a read before it, and a read behind it: once the send has its receive, both
 * complete. soft-RoCE sends a refused message again together with the read, which the fence must
 * not wait for.
 */
static void a_read_behind_a_fenced_send(void **state)
{
        struct host *host = host_joined();
        struct end *a = &host->a;
        struct end *b = &host->b;
        DAT_LMR_TRIPLET iov = segment(a, 0, 64);
        DAT_RMR_TRIPLET from = there(b, 0, 64);

        (void)state;
        memset(b->memory, 0x77, 64);
        for (unsigned int i = 0; i < 3; i++) {
                assert_dat(
                    dat_ep_post_send(a->ep, 1, &iov, cookie(1), DAT_COMPLETION_BARRIER_FENCE_FLAG),
                    DAT_SUCCESS);
                assert_dat(dat_ep_post_rdma_read(a->ep, 1, &iov, cookie(2), &from,
                                                 DAT_COMPLETION_BARRIER_FENCE_FLAG),
                           DAT_SUCCESS);
                assert_silent(a->request_evd);
                post_recv(b, 1000, 64, 3);
                await_completion(b->recv_evd, b->ep, 3, DAT_DTO_SUCCESS, 64);
                await_completion(a->request_evd, a->ep, 1, DAT_DTO_SUCCESS, 64);
                await_completion(a->request_evd, a->ep, 2, DAT_DTO_SUCCESS, 64);
                assert_memory_equal(a->memory, b->memory, 64);
        }
        host_close(host);
}

/* Reads 64 bytes of b to the offset in a. */
static void post_read(struct end *a, struct end *b, size_t offset, uint64_t number)
{
        DAT_LMR_TRIPLET near = segment(a, offset, 64);
        DAT_RMR_TRIPLET far = there(b, 0, 64);

        assert_dat(dat_ep_post_rdma_read(a->ep, 1, &near, cookie(number), &far, 0), DAT_SUCCESS);
}

/*
 * Posts a send whose receive is missing, a read, a fenced send of what is read, and a plain send,
 * with the cookies 1 to 4. The first send keeps the read incomplete.
 */
static void post_around_a_fence(struct end *a, struct end *b)
{
        DAT_LMR_TRIPLET near = segment(a, 0, 64);

        memset(a->memory, 0xee, BUFFER);
        memset(b->memory, 0x77, 64);
        post_send(a, 5000, 10, 1);
        post_read(a, b, 0, 2);
        assert_dat(dat_ep_post_send(a->ep, 1, &near, cookie(3), DAT_COMPLETION_BARRIER_FENCE_FLAG),
                   DAT_SUCCESS);
        post_send(a, 6000, 20, 4);
}

/*
 * A fenced send between two reads completes although its receive is late. Until then soft-RoCE
 * repeats it, and its own fence would wait for the second read.
 */
static void a_fenced_send_between_reads(void **state)
{
        struct host *host = host_joined();
        struct end *a = &host->a;
        struct end *b = &host->b;

        (void)state;
        for (unsigned int i = 0; i < 3; i++) {
                post_around_a_fence(a, b);
                post_recv(b, 5000, 10, 1);
                /* Nothing drains the request EVD meanwhile, so the service thread has to. */
                await_completion(b->recv_evd, b->ep, 1, DAT_DTO_SUCCESS, 10);
                assert_silent(b->recv_evd);
                post_read(a, b, 100, 5);
                assert_silent(b->recv_evd);
                post_recv(b, 1000, 64, 3);
                post_recv(b, 2000, 20, 4);
                await_completion(b->recv_evd, b->ep, 3, DAT_DTO_SUCCESS, 64);
                await_completion(b->recv_evd, b->ep, 4, DAT_DTO_SUCCESS, 20);
                await_completion(a->request_evd, a->ep, 1, DAT_DTO_SUCCESS, 10);
                await_completion(a->request_evd, a->ep, 2, DAT_DTO_SUCCESS, 64);
                await_completion(a->request_evd, a->ep, 3, DAT_DTO_SUCCESS, 64);
                await_completion(a->request_evd, a->ep, 4, DAT_DTO_SUCCESS, 20);
                await_completion(a->request_evd, a->ep, 5, DAT_DTO_SUCCESS, 64);
                assert_memory_equal(b->memory + 1000, b->memory, 64);
                assert_memory_equal(a->memory + 100, b->memory, 64);
        }
        host_close(host);
}

/* Requests behind a fence that still waits are flushed, and a graceful disconnect awaits them. */
static void a_disconnect_before_a_fence(void **state)
{
        struct host *host = host_joined();
        struct end *a = &host->a;
        struct end *b = &host->b;

        (void)state;
        post_around_a_fence(a, b);
        post_read(a, b, 100, 5);
        assert_dat(dat_ep_disconnect(a->ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        for (unsigned int i = 1; i <= 5; i++)
                await_completion(a->request_evd, a->ep, i, DAT_DTO_ERR_FLUSHED, 0);
        (void)await_event(a->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        (void)await_event(b->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        assert_dat(dat_ep_reset(a->ep), DAT_SUCCESS);
        assert_dat(dat_ep_reset(b->ep), DAT_SUCCESS);
        join_ends(host, a, b);
        post_around_a_fence(a, b);
        post_read(a, b, 100, 5);
        assert_dat(dat_ep_disconnect(a->ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        post_recv(b, 5000, 10, 1);
        post_recv(b, 1000, 64, 3);
        post_recv(b, 2000, 20, 4);
        for (unsigned int i = 1; i <= 5; i++)
                await_completion(a->request_evd, a->ep, i, DAT_DTO_SUCCESS,
                                 (DAT_VLEN[]){0, 10, 64, 64, 20, 64}[i]);
        host_close(host);
}

/* A freed LMR takes its memory out of what was posted, and the connection with it. */
enum receiver { OF_THE_EP, OF_THE_EP_EARLY, OF_THE_SRQ };

static void memory_is_freed_under_a_receive(enum receiver receiver)
{
        struct host *host = host_open();
        struct end *b = &host->b;
        DAT_LMR_CONTEXT context;
        DAT_LMR_TRIPLET iov;
        DAT_LMR_HANDLE lmr;

        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, &host->a, NULL);
        if (receiver == OF_THE_SRQ)
                end_make_with_srq(host, b, NULL, 4);
        else
                end_make(host, b, NULL);
        if (receiver != OF_THE_EP_EARLY)
                join_ends(host, &host->a, b);
        lmr = region_of(host, b, host->pz, DAT_MEM_PRIV_ALL_FLAG, &context, NULL);
        iov = part_of(context, b);
        if (receiver == OF_THE_SRQ)
                assert_dat(dat_srq_post_recv(b->srq, 1, &iov, cookie(1)), DAT_SUCCESS);
        else
                assert_dat(dat_ep_post_recv(b->ep, 1, &iov, cookie(1), 0), DAT_SUCCESS);
        assert_dat(dat_lmr_free(lmr), DAT_SUCCESS);
        if (receiver == OF_THE_EP_EARLY)
                join_ends(host, &host->a, b);
        post_send(&host->a, 0, 10, 2);
        await_completion(b->recv_evd, b->ep, 1, DAT_DTO_ERR_LOCAL_PROTECTION, 0);
        await_completion(host->a.request_evd, host->a.ep, 2, DAT_DTO_ERR_REMOTE_RESPONDER, 0);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_BROKEN);
        (void)await_event(b->connect_evd, DAT_CONNECTION_EVENT_BROKEN);
        host_close(host);
}

static void memory_that_is_freed_under_a_receive(void **state)
{
        (void)state;
        memory_is_freed_under_a_receive(OF_THE_EP);
        memory_is_freed_under_a_receive(OF_THE_EP_EARLY);
        memory_is_freed_under_a_receive(OF_THE_SRQ);
}

/*
 * The read waits behind a message that has no receive yet, and begins when its memory is gone. A
 * send or a write in its place ends so, too, if the message has its receive by then; else soft-RoCE
 * does not repeat the message any more, and both stay pending until a disconnect.
 */
static void memory_that_is_freed_under_a_read(void **state)
{
        struct host *host = host_joined();
        struct end *a = &host->a;
        DAT_LMR_CONTEXT context;
        DAT_LMR_HANDLE lmr = region_of(host, a, host->pz, DAT_MEM_PRIV_ALL_FLAG, &context, NULL);
        DAT_RMR_TRIPLET from = there(&host->b, 0, 10);
        DAT_LMR_TRIPLET iov = part_of(context, a);

        (void)state;
        post_send(a, 0, 10, 0);
        assert_dat(dat_ep_post_rdma_read(a->ep, 1, &iov, cookie(1), &from, 0), DAT_SUCCESS);
        assert_dat(dat_lmr_free(lmr), DAT_SUCCESS);
        post_recv(&host->b, 0, 10, 2);
        await_completion(a->request_evd, a->ep, 0, DAT_DTO_SUCCESS, 10);
        await_completion(a->request_evd, a->ep, 1, DAT_DTO_ERR_LOCAL_PROTECTION, 0);
        (void)await_event(a->connect_evd, DAT_CONNECTION_EVENT_BROKEN);
        host_close(host);
}

static void assert_empty(DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;

        assert_dat(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
}

/* The first failure has its own status; both ends flush the other operations in order. */
static void a_failure_flushes_what_follows(void **state)
{
        struct host *host = host_joined();
        struct end *a = &host->a;
        struct end *b = &host->b;
        DAT_LMR_TRIPLET iov = segment(a, 0, 10);
        DAT_RMR_CONTEXT context;
        DAT_RMR_HANDLE rmr;

        (void)state;
        assert_dat(dat_rmr_create(host->pz, &rmr), DAT_SUCCESS);
        for (unsigned int i = 0; i < 3; i++)
                post_recv(a, 0, 10, 40 + i);
        post_send(a, 0, 10, 0);
        post_send(a, 0, 11, 1);
        post_send(a, 0, 10, 2);
        for (size_t i = 1; i < POSTS - 1; i++)
                assert_dat(posts[i].call(host, 1, &iov, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
        assert_dat(
            dat_rmr_bind(rmr, &iov, DAT_MEM_PRIV_REMOTE_READ_FLAG, a->ep, cookie(3), 0, &context),
            DAT_SUCCESS);
        for (unsigned int i = 0; i < 4; i++)
                post_recv(b, 0, 10, 50 + i);
        await_completion(b->recv_evd, b->ep, 50, DAT_DTO_SUCCESS, 10);
        await_completion(b->recv_evd, b->ep, 51, DAT_DTO_LENGTH_ERROR, 0);
        for (unsigned int i = 2; i < 4; i++)
                await_completion(b->recv_evd, b->ep, 50 + i, DAT_DTO_ERR_FLUSHED, 0);
        await_completion(a->request_evd, a->ep, 0, DAT_DTO_SUCCESS, 10);
        await_completion(a->request_evd, a->ep, 1, DAT_DTO_ERR_REMOTE_RESPONDER, 0);
        await_completion(a->request_evd, a->ep, 2, DAT_DTO_ERR_FLUSHED, 0);
        for (size_t i = 1; i < POSTS - 1; i++)
                await_completion(a->request_evd, a->ep, 1, DAT_DTO_ERR_FLUSHED, 0);
        (void)await_event(a->request_evd, DAT_RMR_BIND_COMPLETION_EVENT);
        for (unsigned int i = 0; i < 3; i++)
                await_completion(a->recv_evd, a->ep, 40 + i, DAT_DTO_ERR_FLUSHED, 0);
        (void)await_event(a->connect_evd, DAT_CONNECTION_EVENT_BROKEN);
        (void)await_event(b->connect_evd, DAT_CONNECTION_EVENT_BROKEN);
        assert_int_equal(state_of(a->ep), DAT_EP_STATE_DISCONNECTED);
        assert_int_equal(state_of(b->ep), DAT_EP_STATE_DISCONNECTED);
        assert_nothing_posted(host);
        assert_empty(a->connect_evd);
        assert_empty(b->connect_evd);
        assert_empty(b->recv_evd);
        assert_empty(host->async_evd);
        assert_dat(dat_rmr_free(rmr), DAT_SUCCESS);
        host_close(host);
}

/* iov_ownership_on_return: what the vector says counts when it is posted, and no more after that.
 */
static void vectors_are_the_consumers_again(void **state)
{
        struct host *host = host_listening();
        struct end *a = &host->a;
        struct end *b = &host->b;
        DAT_LMR_TRIPLET garbage = {.virtual_address = 1, .segment_length = UINT64_MAX};
        DAT_LMR_TRIPLET iov = segment(b, 100, 10);
        DAT_RMR_TRIPLET remote;

        (void)state;
        assert_int_equal(host->provider.iov_ownership_on_return, DAT_IOV_CONSUMER);
        assert_dat(dat_ep_post_recv(b->ep, 1, &iov, cookie(1), 0), DAT_SUCCESS);
        iov = garbage;
        join_ends(host, a, b);
        memset(a->memory, 0x33, 4096);
        /* The first waits until there is a receive, and so do the others. */
        post_send(a, 0, 10, 0);
        iov = segment(a, 0, 4096);
        assert_dat(dat_ep_post_send(a->ep, 1, &iov, cookie(1), 0), DAT_SUCCESS);
        remote = there(b, 20000, 4096);
        assert_dat(dat_ep_post_rdma_write(a->ep, 1, &iov, cookie(2), &remote, 0), DAT_SUCCESS);
        iov = segment(a, 8192, 4096);
        assert_dat(dat_ep_post_rdma_read(a->ep, 1, &iov, cookie(3), &remote, 0), DAT_SUCCESS);
        iov = garbage;
        memset(&remote, 0, sizeof(remote));
        iov = segment(b, 10000, 4096);
        assert_dat(dat_ep_post_recv(b->ep, 1, &iov, cookie(2), 0), DAT_SUCCESS);
        iov = garbage;
        await_completion(b->recv_evd, b->ep, 1, DAT_DTO_SUCCESS, 10);
        await_completion(b->recv_evd, b->ep, 2, DAT_DTO_SUCCESS, 4096);
        await_completion(a->request_evd, a->ep, 0, DAT_DTO_SUCCESS, 10);
        for (unsigned int i = 1; i <= 3; i++)
                await_completion(a->request_evd, a->ep, i, DAT_DTO_SUCCESS, 4096);
        assert_memory_equal(b->memory + 100, a->memory, 10);
        assert_memory_equal(b->memory + 10000, a->memory, 4096);
        assert_memory_equal(b->memory + 20000, a->memory, 4096);
        assert_memory_equal(a->memory + 8192, a->memory, 4096);
        host_close(host);
}

#define VAST ((size_t)130 << 20)

/* A receive may have far more room than any message needs. Its pages are one and the same. */
static void a_vast_receive_takes_any_message(void **state)
{
        DAT_EP_ATTR attr = plain_attr();
        unsigned char *vast =
            mmap(NULL, VAST, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        DAT_REGION_DESCRIPTION region = {.for_va = vast};
        int fd = memfd_create("vast", 0);
        DAT_LMR_TRIPLET iov[16];
        struct host *host;
        DAT_LMR_HANDLE lmr;

        (void)state;
        attr.max_recv_iov = 16;
        host = host_joined_with(&attr);
        assert_int_equal(ftruncate(fd, 1 << 20), 0);
        for (size_t at = 0; at < VAST; at += 1 << 20)
                assert_ptr_equal(
                    mmap(vast + at, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0),
                    vast + at);
        assert_dat(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, VAST, host->pz,
                                  DAT_MEM_PRIV_ALL_FLAG, &lmr, &iov[0].lmr_context, NULL, NULL,
                                  NULL),
                   DAT_SUCCESS);
        iov[0].virtual_address = (DAT_VADDR)(uintptr_t)vast;
        iov[0].segment_length = VAST;
        for (size_t i = 1; i < 16; i++)
                iov[i] = iov[0];
        assert_dat(dat_ep_post_recv(host->b.ep, 16, iov, cookie(1), 0), DAT_SUCCESS);
        memset(host->a.memory, 0x44, 100);
        post_send(&host->a, 0, 100, 2);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, 100);
        assert_memory_equal(vast, host->a.memory, 100);
        assert_dat(dat_lmr_free(lmr), DAT_SUCCESS);
        munmap(vast, VAST);
        close(fd);
        host_close(host);
}

#define MOST_SEGMENTS 4

/* A vector over the memory from `base` on, of so many bytes at most, with empty segments too. */
static DAT_COUNT random_vector(const struct end *end, size_t base, DAT_LMR_TRIPLET *iov,
                               size_t *length)
{
        DAT_COUNT n = rand() % (MOST_SEGMENTS + 1);
        size_t at = base;

        *length = 0;
        for (DAT_COUNT i = 0; i < n; i++) {
                size_t part = rand() % 4 ? (size_t)rand() % 3000 : 0;

                at += (size_t)rand() % 1000;
                iov[i] = segment(end, at, part);
                at += part;
                *length += part;
        }
        return n;
}

/* Lays the bytes out over a vector, or collects them from there. */
static void scatter(unsigned char *image, const unsigned char *memory, const DAT_LMR_TRIPLET *iov,
                    DAT_COUNT n, const unsigned char *from, size_t length)
{
        for (DAT_COUNT i = 0; i < n && length; i++) {
                size_t at = iov[i].virtual_address - (uintptr_t)memory;
                size_t part = iov[i].segment_length < length ? iov[i].segment_length : length;

                memcpy(image + at, from, part);
                from += part;
                length -= part;
        }
}

static void gather(unsigned char *out, const unsigned char *memory, const DAT_LMR_TRIPLET *iov,
                   DAT_COUNT n)
{
        for (DAT_COUNT i = 0; i < n; i++) {
                memcpy(out, memory + (iov[i].virtual_address - (uintptr_t)memory),
                       iov[i].segment_length);
                out += iov[i].segment_length;
        }
}

static void fill_randomly(unsigned char *memory)
{
        for (size_t i = 0; i < BUFFER; i++)
                memory[i] = (unsigned char)rand();
}

/* Vectors of all shapes: every byte arrives where it should, and no other byte changes. */
static void random_vectors_move_every_byte(void **state)
{
        struct host *host = host_joined();
        struct end *a = &host->a;
        struct end *b = &host->b;
        unsigned char *image = malloc(BUFFER);
        unsigned char *data = malloc(BUFFER);

        (void)state;
        srand(1);
        fill_randomly(a->memory);
        fill_randomly(b->memory);
        for (unsigned int round = 0; round < 150; round++) {
                DAT_LMR_TRIPLET from[MOST_SEGMENTS];
                DAT_LMR_TRIPLET to[MOST_SEGMENTS];
                DAT_RMR_TRIPLET remote;
                size_t length;
                size_t room;
                DAT_COUNT n = random_vector(a, 0, from, &length);
                DAT_COUNT m = random_vector(b, 20000, to, &room);

                switch (round % 3) {
                case 0: /* a send into what may be longer, but not shorter */
                        while (room < length)
                                m = random_vector(b, 20000, to, &room);
                        memcpy(image, b->memory, BUFFER);
                        gather(data, a->memory, from, n);
                        scatter(image, b->memory, to, m, data, length);
                        assert_dat(dat_ep_post_recv(b->ep, m, to, cookie(round), 0), DAT_SUCCESS);
                        assert_dat(dat_ep_post_send(a->ep, n, from, cookie(round), 0), DAT_SUCCESS);
                        await_completion(b->recv_evd, b->ep, round, DAT_DTO_SUCCESS, length);
                        break;
                case 1:
                        remote = there(b, 30000 + round, length + round % 2);
                        memcpy(image, b->memory, BUFFER);
                        gather(image + 30000 + round, a->memory, from, n);
                        assert_dat(
                            dat_ep_post_rdma_write(a->ep, n, from, cookie(round), &remote, 0),
                            DAT_SUCCESS);
                        break;
                default: /* a read that fills its vector in part */
                        room = length ? (size_t)rand() % (length + 1) : 0;
                        remote = there(b, 1 + round, room);
                        memcpy(image, a->memory, BUFFER);
                        scatter(image, a->memory, from, n, b->memory + 1 + round, room);
                        assert_dat(dat_ep_post_rdma_read(a->ep, n, from, cookie(round), &remote, 0),
                                   DAT_SUCCESS);
                        await_completion(a->request_evd, a->ep, round, DAT_DTO_SUCCESS, room);
                        assert_memory_equal(a->memory, image, BUFFER);
                        continue;
                }
                await_completion(a->request_evd, a->ep, round, DAT_DTO_SUCCESS, length);
                assert_memory_equal(b->memory, image, BUFFER);
        }
        free(image);
        free(data);
        host_close(host);
}

static DAT_RETURN bind_part(struct host *host, DAT_EP_HANDLE ep, DAT_RMR_HANDLE rmr,
                            DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
        DAT_LMR_TRIPLET region = segment(&host->a, 0, 10);

        return dat_rmr_bind(rmr, &region, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep, cookie(9), flags,
                            context);
}

/* In such a state requests are refused, and receives are taken. */
static void expect_receives_only(struct host *host, DAT_EP_HANDLE ep, DAT_RMR_HANDLE rmr,
                                 int subtype)
{
        DAT_LMR_TRIPLET iov = segment(&host->a, 0, 10);
        DAT_EP_HANDLE own = host->a.ep;
        DAT_RMR_CONTEXT context;

        host->a.ep = ep;
        for (size_t i = 0; i < POSTS - 1; i++)
                assert_refused(posts[i].call(host, 1, &iov, 0), DAT_INVALID_STATE, subtype);
        assert_refused(bind_part(host, ep, rmr, 0, &context), DAT_INVALID_STATE, subtype);
        assert_dat(a_recv(host, 1, &iov, 0), DAT_SUCCESS);
        host->a.ep = own;
}

static void posts_follow_the_state(void **state)
{
        struct host *host = host_open();
        struct end *a = &host->a;
        struct end *b = &host->b;
        DAT_RMR_CONTEXT context;
        DAT_RSP_HANDLE rsp;
        DAT_RMR_HANDLE rmr;
        DAT_CR_HANDLE cr;

        (void)state;
        end_make(host, a, NULL);
        end_make(host, b, NULL);
        assert_dat(dat_rmr_create(host->pz, &rmr), DAT_SUCCESS);
        expect_receives_only(host, b->ep, rmr, DAT_INVALID_STATE_EP_UNCONNECTED);
        assert_dat(dat_rsp_create(host->ia, 7100, b->ep, host->cr_evd, &rsp), DAT_SUCCESS);
        expect_receives_only(host, b->ep, rmr, DAT_INVALID_STATE_EP_RESERVED);
        connect_to(host, a, 7100);
        assert_int_equal(state_of(a->ep), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
        expect_receives_only(host, a->ep, rmr, DAT_INVALID_STATE_EP_ACTCONNPENDING);
        cr = any_request(host);
        expect_receives_only(host, b->ep, rmr, DAT_INVALID_STATE_EP_PASSCONNPENDING);
        assert_dat(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
        (void)await_event(a->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        (void)await_event(b->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        /* The fourth message has no receive, so a graceful disconnect has to wait. */
        for (unsigned int i = 0; i < 4; i++)
                post_send(a, 0, 10, 20 + i);
        assert_dat(dat_ep_disconnect(a->ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        assert_int_equal(state_of(a->ep), DAT_EP_STATE_DISCONNECT_PENDING);
        expect_receives_only(host, a->ep, rmr, DAT_INVALID_STATE_EP_DISCPENDING);
        for (unsigned int i = 0; i < 3; i++)
                await_completion(b->recv_evd, b->ep, 1, DAT_DTO_SUCCESS, 10);
        assert_dat(dat_ep_disconnect(a->ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        assert_int_equal(state_of(a->ep), DAT_EP_STATE_DISCONNECTED);
        for (unsigned int i = 0; i < 2; i++)
                await_completion(a->recv_evd, a->ep, 1, DAT_DTO_ERR_FLUSHED, 0);
        for (unsigned int i = 0; i < 4; i++)
                await_completion(a->request_evd, a->ep, 20 + i,
                                 i < 3 ? DAT_DTO_SUCCESS : DAT_DTO_ERR_FLUSHED, 10);
        assert_nothing_posted(host);
        /* Disconnected: each is taken and flushed at once, and the bind binds nothing. */
        for (size_t i = 0; i < POSTS; i++)
                assert_dat(posts[i].call(host, 0, NULL, 0), DAT_SUCCESS);
        for (size_t i = 0; i < POSTS - 1; i++)
                await_completion(a->request_evd, a->ep, 1, DAT_DTO_ERR_FLUSHED, 0);
        await_completion(a->recv_evd, a->ep, 1, DAT_DTO_ERR_FLUSHED, 0);
        assert_dat(bind_part(host, a->ep, rmr, DAT_COMPLETION_SUPPRESS_FLAG, &context),
                   DAT_SUCCESS);
        assert_int_equal(await_event(a->request_evd, DAT_RMR_BIND_COMPLETION_EVENT)
                             .event_data.rmr_completion_event_data.status,
                         DAT_RMR_BIND_FAILURE);
        assert_nothing_posted(host);
        assert_dat(dat_rmr_free(rmr), DAT_SUCCESS);
        assert_dat(dat_rsp_free(rsp), DAT_SUCCESS);
        host_close(host);
}

static void a_tentative_ep_takes_receives_once_it_has_a_zone(void **state)
{
        struct host *host = host_open();
        DAT_EP_PARAM param;
        DAT_CR_PARAM request;
        DAT_RMR_HANDLE rmr;
        DAT_CR_HANDLE cr;

        (void)state;
        listen_any(host, DAT_PSP_PROVIDER_FLAG);
        end_make(host, &host->a, NULL);
        assert_dat(dat_rmr_create(host->pz, &rmr), DAT_SUCCESS);
        connect_to(host, &host->a, host->qual);
        cr = await_request(host);
        assert_dat(dat_cr_query(cr, DAT_CR_FIELD_ALL, &request), DAT_SUCCESS);
        assert_refused(dat_ep_post_recv(request.local_ep_handle, 0, NULL, cookie(1), 0),
                       DAT_INVALID_STATE, DAT_INVALID_STATE_EP_PZ);
        assert_refused(dat_ep_post_send(request.local_ep_handle, 0, NULL, cookie(1), 0),
                       DAT_INVALID_STATE, DAT_INVALID_STATE_EP_TENTCONNPENDING);
        param.pz_handle = host->pz;
        assert_dat(dat_ep_modify(request.local_ep_handle, DAT_EP_FIELD_PZ_HANDLE, &param),
                   DAT_SUCCESS);
        expect_receives_only(host, request.local_ep_handle, rmr,
                             DAT_INVALID_STATE_EP_TENTCONNPENDING);
        assert_dat(dat_cr_reject(cr), DAT_SUCCESS);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
        assert_dat(dat_rmr_free(rmr), DAT_SUCCESS);
        host_close(host);
}

/* An EP whose attributes are all 0 connects, and has room for nothing. */
static void zeros_are_taken_at_their_word(void **state)
{
        DAT_EP_ATTR attr = {.qos = DAT_QOS_BEST_EFFORT, .srq_soft_hw = DAT_HW_DEFAULT};
        struct host *host = host_joined_with(&attr);
        DAT_LMR_TRIPLET iov = segment(&host->a, 0, 1);
        DAT_EP_PARAM param;

        (void)state;
        for (size_t i = 0; i < POSTS; i++) {
                assert_refused(posts[i].call(host, 1, &iov, 0), DAT_INVALID_PARAMETER,
                               DAT_INVALID_ARG2);
                assert_refused(posts[i].call(host, 0, NULL, 0), DAT_INSUFFICIENT_RESOURCES,
                               DAT_RESOURCE_CREDITS);
        }
        assert_dat(dat_ep_query(host->a.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
        assert_memory_equal(&param.ep_attr, &attr, sizeof(attr));
        host_close(host);
        /* With room for one, and sizes of 0, there is still the message without a byte. */
        attr.max_request_dtos = attr.max_recv_dtos = 1;
        attr.max_request_iov = attr.max_rdma_write_iov = attr.max_recv_iov = 1;
        host = host_joined_with(&attr);
        iov = segment(&host->a, 0, 1);
        assert_refused(a_send(host, 1, &iov, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        assert_refused(a_write(host, 1, &iov, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        assert_refused(a_read(host, 0, NULL, 0), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_CREDITS);
        assert_dat(dat_ep_post_recv(host->b.ep, 0, NULL, cookie(5), 0), DAT_SUCCESS);
        assert_dat(a_send(host, 0, NULL, 0), DAT_SUCCESS);
        await_completion(host->b.recv_evd, host->b.ep, 5, DAT_DTO_SUCCESS, 0);
        await_completion(host->a.request_evd, host->a.ep, 1, DAT_DTO_SUCCESS, 0);
        host_close(host);
}

/* More is flushed than the EVD has room for: nothing is lost, and the order is that of the posts.
 */
static void a_short_evd_gets_every_flush(void **state)
{
        struct host *host = host_listening();
        struct end *a = &host->a;
        DAT_LMR_TRIPLET iov = segment(a, 0, 10);
        DAT_EP_ATTR attr = plain_attr();
        DAT_EVD_HANDLE evd;
        DAT_COUNT n = 0;
        DAT_RETURN ret;

        (void)state;
        assert_dat(dat_ep_free(a->ep), DAT_SUCCESS);
        assert_dat(dat_evd_create(host->ia, 1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd),
                   DAT_SUCCESS);
        assert_dat(
            dat_ep_create(host->ia, host->pz, evd, a->request_evd, a->connect_evd, &attr, &a->ep),
            DAT_SUCCESS);
        join_ends(host, a, &host->b);
        for (unsigned int i = 0; i < 8; i++)
                assert_dat(dat_ep_post_recv(a->ep, 1, &iov, cookie(UINT64_MAX - i), 0),
                           DAT_SUCCESS);
        post_send(&host->b, 0, 10, 1);
        post_send(&host->b, 0, 10, 2);
        await_completion(host->b.request_evd, host->b.ep, 1, DAT_DTO_SUCCESS, 10);
        await_completion(host->b.request_evd, host->b.ep, 2, DAT_DTO_SUCCESS, 10);
        assert_dat(dat_ep_disconnect(a->ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        for (unsigned int i = 0; i < 8; i++)
                await_completion(evd, a->ep, UINT64_MAX - i,
                                 i < 2 ? DAT_DTO_SUCCESS : DAT_DTO_ERR_FLUSHED, 10);
        assert_nothing_posted(host);
        /* What is posted now is refused where its flush has no room. */
        while ((ret = dat_ep_post_recv(a->ep, 1, &iov, cookie(1), 0)) == DAT_SUCCESS)
                assert_true(++n < 1000);
        assert_refused(ret, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
        assert_true(n > 0);
        await_completion(evd, a->ep, 1, DAT_DTO_ERR_FLUSHED, 0);
        assert_dat(dat_ep_post_recv(a->ep, 1, &iov, cookie(3), 0), DAT_SUCCESS);
        assert_dat(dat_ep_free(a->ep), DAT_SUCCESS);
        a->ep = DAT_HANDLE_NULL;
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        host_close(host);
}

/* Each kind of request counts, and the next of any kind is refused without an effect. */
static void requests_of_all_kinds_count_together(void **state)
{
        struct host *host = host_joined();
        struct end *a = &host->a;
        DAT_LMR_TRIPLET iov = segment(a, 0, 10);
        DAT_RMR_CONTEXT context;
        DAT_RMR_PARAM param;
        DAT_RMR_HANDLE rmr;

        (void)state;
        assert_dat(dat_rmr_create(host->pz, &rmr), DAT_SUCCESS);
        for (unsigned int i = 0; i < 5; i++)
                post_send(a, 0, 10, i);
        for (size_t i = 1; i < POSTS - 1; i++)
                assert_dat(posts[i].call(host, 1, &iov, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
        assert_dat(bind_part(host, a->ep, rmr, DAT_COMPLETION_SUPPRESS_FLAG, &context),
                   DAT_SUCCESS);
        for (size_t i = 0; i < POSTS - 1; i++)
                assert_refused(posts[i].call(host, 1, &iov, 0), DAT_INSUFFICIENT_RESOURCES,
                               DAT_RESOURCE_CREDITS);
        iov.segment_length = 5;
        assert_refused(
            dat_rmr_bind(rmr, &iov, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, a->ep, cookie(1), 0, &context),
            DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_CREDITS);
        assert_dat(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param), DAT_SUCCESS);
        assert_int_equal(param.lmr_triplet.segment_length, 10);
        for (unsigned int i = 0; i < 5; i++)
                post_recv(&host->b, 0, 10, i);
        for (unsigned int i = 0; i < 5; i++)
                await_completion(a->request_evd, a->ep, i, DAT_DTO_SUCCESS, 10);
        /* The suppressed are not seen, but their places come back. */
        for (unsigned int i = 5; i < 8; i++)
                post_recv(&host->b, 0, 10, i);
        for (unsigned int i = 0; i < 8; i++) {
                if (i == 3)
                        post_recv(&host->b, 0, 10, 8);
                post_send(a, 0, 10, 20 + i);
                if (i < 4)
                        await_completion(a->request_evd, a->ep, 20 + i, DAT_DTO_SUCCESS, 10);
        }
        assert_dat(dat_rmr_free(rmr), DAT_SUCCESS);
        host_close(host);
}

/* Receives that wait for a connection which does not come about are flushed, as after one. */
static void a_failed_attempt_flushes_its_receives(void **state)
{
        struct host *host = host_listening();
        struct end *a = &host->a;

        (void)state;
        post_recv(a, 0, 10, 1);
        connect_to(host, a, host->qual);
        post_recv(a, 0, 10, 2);
        assert_dat(dat_cr_reject(await_request(host)), DAT_SUCCESS);
        (void)await_event(a->connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
        await_completion(a->recv_evd, a->ep, 1, DAT_DTO_ERR_FLUSHED, 0);
        await_completion(a->recv_evd, a->ep, 2, DAT_DTO_ERR_FLUSHED, 0);
        assert_nothing_posted(host);
        assert_dat(dat_ep_reset(a->ep), DAT_SUCCESS);
        post_recv(a, 0, 10, 3);
        join_ends(host, a, &host->b);
        post_send(&host->b, 0, 10, 4);
        await_completion(a->recv_evd, a->ep, 3, DAT_DTO_SUCCESS, 10);
        host_close(host);
}

/* A full EVD that no thread reads leaves the failure in the completion queue. */
static void a_failure_behind_a_full_evd(void **state)
{
        struct host *host = host_open();
        struct end *a = &host->a;
        DAT_EP_ATTR attr = plain_attr();
        DAT_EVD_HANDLE small;
        DAT_LMR_CONTEXT context;
        DAT_LMR_TRIPLET iov;
        DAT_EP_PARAM param;
        DAT_LMR_HANDLE lmr;

        (void)state;
        attr.max_request_dtos = 2;
        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, a, &attr);
        end_make(host, &host->b, NULL);
        assert_dat(dat_evd_create(host->ia, 1, DAT_HANDLE_NULL,
                                  DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &small),
                   DAT_SUCCESS);
        param.request_evd_handle = small;
        assert_dat(dat_ep_modify(a->ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param), DAT_SUCCESS);
        join_ends(host, a, &host->b);
        for (unsigned int i = 0; i < 2; i++) {
                post_recv(&host->b, 0, 10, i);
                post_send(a, 0, 10, i);
                await_completion(host->b.recv_evd, host->b.ep, i, DAT_DTO_SUCCESS, 10);
        }
        lmr = region_of(host, a, host->pz, DAT_MEM_PRIV_ALL_FLAG, &context, NULL);
        iov = part_of(context, a);
        iov.segment_length = 4096;
        (void)state_of(a->ep); /* fills the EVD, and gives back what the sends were posted with */
        /* It waits for a receive. */
        assert_dat(dat_ep_post_send(a->ep, 1, &iov, cookie(2), 0), DAT_SUCCESS);
        assert_dat(dat_lmr_free(lmr), DAT_SUCCESS);
        post_recv(&host->b, 0, 4096, 2);
        (void)await_event(a->connect_evd, DAT_CONNECTION_EVENT_BROKEN);
        for (unsigned int i = 0; i < 2; i++)
                await_completion(small, a->ep, i, DAT_DTO_SUCCESS, 10);
        await_completion(small, a->ep, 2, DAT_DTO_ERR_LOCAL_PROTECTION, 0);
        assert_dat(dat_ep_free(a->ep), DAT_SUCCESS);
        a->ep = DAT_HANDLE_NULL;
        assert_dat(dat_evd_free(small), DAT_SUCCESS);
        host_close(host);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(flags_belong_to_their_posts),
            cmocka_unit_test(segments_are_counted),
            cmocka_unit_test(segments_stay_in_their_lmr),
            cmocka_unit_test(memory_grants_its_posts),
            cmocka_unit_test(zones_are_kept_apart),
            unless_iwarp(segments_fill_in_their_order, ONE_READ),
            unless_iwarp(a_fenced_send_carries_what_was_read, NO_WAIT),
            unless_iwarp(a_read_behind_a_fenced_send, NO_WAIT),
            unless_iwarp(a_fenced_send_between_reads, NO_WAIT),
            unless_iwarp(a_disconnect_before_a_fence, NO_WAIT),
            unless_iwarp(memory_that_is_freed_under_a_receive, NO_REFUSAL),
            unless_iwarp(memory_that_is_freed_under_a_read, NO_WAIT),
            unless_iwarp(a_failure_behind_a_full_evd, NO_WAIT),
            unless_iwarp(a_failure_flushes_what_follows, NO_WAIT),
            unless_iwarp(vectors_are_the_consumers_again, NO_WAIT),
            unless_iwarp(a_vast_receive_takes_any_message, FEW_SEGMENTS),
            unless_iwarp(random_vectors_move_every_byte, ONE_READ),
            unless_iwarp(posts_follow_the_state, NO_WAIT),
            cmocka_unit_test(a_tentative_ep_takes_receives_once_it_has_a_zone),
            cmocka_unit_test(zeros_are_taken_at_their_word),
            cmocka_unit_test(a_short_evd_gets_every_flush),
            unless_iwarp(requests_of_all_kinds_count_together, NO_WAIT),
            cmocka_unit_test(a_failed_attempt_flushes_its_receives),
        };

        return cmocka_run_group_tests_name("posts", tests, NULL, NULL);
}
