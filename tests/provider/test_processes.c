/* SPDX-License-Identifier: BSD-2-Clause */
/* Two processes: what one sees of the other, most of all when the other dies. */
#include "loopback.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUAL 7600

/* Each case runs its story in two fresh processes, since verbs does not survive a fork. */
struct story {
        int to_other[2];
        int to_us[2];
        pid_t other;
};

static void say(int fd)
{
        char byte = 'x';

        if (write(fd, &byte, 1) != 1)
                abort();
}

static void hear(int fd)
{
        char byte;

        if (read(fd, &byte, 1) != 1)
                abort();
}

static struct story begin(void (*other)(struct story *story))
{
        struct story story;

        assert_int_equal(pipe(story.to_other), 0);
        assert_int_equal(pipe(story.to_us), 0);
        story.other = fork();
        assert_true(story.other >= 0);
        if (!story.other) {
                other(&story);
                exit(0);
        }
        return story;
}

/* A process runs for a moment after the signal, which is long enough to confirm. */
static void stop(const struct story *story)
{
        int status;

        kill(story->other, SIGSTOP);
        assert_int_equal(waitpid(story->other, &status, WUNTRACED), story->other);
        assert_true(WIFSTOPPED(status));
}

static void end(struct story *story, bool killed)
{
        int status;

        assert_int_equal(waitpid(story->other, &status, 0), story->other);
        if (killed)
                assert_true(WIFSIGNALED(status));
        else
                assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        for (int i = 0; i < 2; i++) {
                close(story->to_other[i]);
                close(story->to_us[i]);
        }
}

static struct host *serve(void)
{
        struct host *host = host_open();

        host->qual = QUAL;
        assert_dat(dat_psp_create(host->ia, QUAL, host->cr_evd, DAT_PSP_CONSUMER_FLAG, &host->psp),
                   DAT_SUCCESS);
        end_make(host, &host->b, NULL);
        return host;
}

static void request(struct host *host)
{
        end_make(host, &host->a, NULL);
        connect_to(host, &host->a, QUAL);
}

static void accept_one(struct host *host)
{
        assert_dat(dat_cr_accept(await_request(host), host->b.ep, 0, NULL), DAT_SUCCESS);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void send_some(struct story *story)
{
        struct host *host = host_open();

        hear(story->to_other[0]);
        request(host);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        for (unsigned int i = 0; i < 50; i++) {
                memset(host->a.memory, (int)i, 100);
                post_send(&host->a, 0, 100, i);
                await_completion(host->a.request_evd, host->a.ep, i, DAT_DTO_SUCCESS, 100);
        }
        assert_dat(dat_ep_disconnect(host->a.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        host_close(host);
}

static void messages_cross(void **state)
{
        struct story story = begin(send_some);
        struct host *host = serve();

        (void)state;
        post_recv(&host->b, 0, 100, 0);
        say(story.to_other[1]);
        accept_one(host);
        for (unsigned int i = 0; i < 50; i++) {
                await_completion(host->b.recv_evd, host->b.ep, i, DAT_DTO_SUCCESS, 100);
                assert_int_equal(host->b.memory[99], i);
                if (i < 49)
                        post_recv(&host->b, 0, 100, i + 1);
        }
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        end(&story, false);
        host_close(host);
}

static void connect_and_stay(struct story *story)
{
        struct host *host = host_open();

        hear(story->to_other[0]);
        request(host);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        say(story->to_us[1]);
        hear(story->to_other[0]);
}

static void a_killed_peer_is_noticed(void **state)
{
        struct story story = begin(connect_and_stay);
        struct host *host = serve();
        DAT_EVENT event;
        DAT_COUNT nmore;

        (void)state;
        post_recv(&host->b, 0, 100, 1);
        say(story.to_other[1]);
        accept_one(host);
        hear(story.to_us[0]);
        post_send(&host->b, 0, 100, 2); /* which nobody receives */
        kill(story.other, SIGKILL);
        assert_dat(dat_evd_wait(host->b.connect_evd, LONG, 1, &event, &nmore), DAT_SUCCESS);
        assert_true(event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
                    event.event_number == DAT_CONNECTION_EVENT_BROKEN);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_ERR_FLUSHED, 0);
        assert_dat(dat_evd_wait(host->b.request_evd, LONG, 1, &event, &nmore), DAT_SUCCESS);
        assert_int_not_equal(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
        end(&story, true);
        host_close(host);
}

static void connect_and_wait(struct story *story)
{
        struct host *host = host_open();

        hear(story->to_other[0]);
        request(host);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        post_send(&host->a, 0, 100, 1);
        await_completion(host->a.request_evd, host->a.ep, 1, DAT_DTO_SUCCESS, 100);
        hear(story->to_other[0]);
        host_close(host);
}

/* A requester that is stopped does not confirm, so the EP that accepted waits in that state. */
static void posts_before_the_peer_confirms(void **state)
{
        struct story story = begin(connect_and_wait);
        struct host *host = serve();
        DAT_LMR_TRIPLET iov = segment(&host->b, 0, 100);
        DAT_RMR_TRIPLET remote = {.segment_length = 100};
        DAT_RMR_CONTEXT context;
        DAT_RMR_HANDLE rmr;
        DAT_CR_HANDLE cr;
        DAT_EP_PARAM param;

        (void)state;
        assert_dat(dat_rmr_create(host->pz, &rmr), DAT_SUCCESS);
        say(story.to_other[1]);
        cr = await_request(host);
        stop(&story);
        assert_dat(dat_cr_accept(cr, host->b.ep, 0, NULL), DAT_SUCCESS);
        assert_int_equal(state_of(host->b.ep), DAT_EP_STATE_COMPLETION_PENDING);
        assert_refused(dat_ep_post_send(host->b.ep, 1, &iov, cookie(1), 0), DAT_INVALID_STATE,
                       DAT_INVALID_STATE_EP_COMPLPENDING);
        assert_refused(dat_ep_post_rdma_write(host->b.ep, 1, &iov, cookie(1), &remote, 0),
                       DAT_INVALID_STATE, DAT_INVALID_STATE_EP_COMPLPENDING);
        assert_refused(dat_ep_post_rdma_read(host->b.ep, 1, &iov, cookie(1), &remote, 0),
                       DAT_INVALID_STATE, DAT_INVALID_STATE_EP_COMPLPENDING);
        assert_refused(dat_rmr_bind(rmr, &iov, DAT_MEM_PRIV_REMOTE_READ_FLAG, host->b.ep, cookie(1),
                                    0, &context),
                       DAT_INVALID_STATE, DAT_INVALID_STATE_EP_COMPLPENDING);
        assert_dat(dat_ep_query(host->b.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
        assert_int_equal(param.ep_state, DAT_EP_STATE_COMPLETION_PENDING);
        assert_int_equal(param.local_port_qual, QUAL);
        assert_int_not_equal(param.remote_port_qual, 0);
        assert_memory_equal(param.remote_ia_address_ptr, host->attr.ia_address_ptr,
                            offsetof(struct sockaddr_in, sin_port));
        post_recv(&host->b, 0, 100, 2);
        kill(story.other, SIGCONT);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        await_completion(host->b.recv_evd, host->b.ep, 2, DAT_DTO_SUCCESS, 100);
        say(story.to_other[1]);
        end(&story, false);
        assert_dat(dat_rmr_free(rmr), DAT_SUCCESS);
        host_close(host);
}

static void listen_and_stay(struct story *story)
{
        struct host *host = serve();

        say(story->to_us[1]);
        (void)await_request(host);
        say(story->to_us[1]);
        hear(story->to_other[0]);
}

static void a_server_killed_before_it_answers(void **state)
{
        struct story story = begin(listen_and_stay);
        struct host *host = host_open();
        DAT_EVENT event;
        DAT_COUNT nmore;

        (void)state;
        hear(story.to_us[0]);
        request(host);
        hear(story.to_us[0]);
        kill(story.other, SIGKILL);
        assert_dat(dat_evd_wait(host->a.connect_evd, 2 * LONG, 1, &event, &nmore), DAT_SUCCESS);
        assert_true(event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
                    event.event_number == DAT_CONNECTION_EVENT_TIMED_OUT ||
                    event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE);
        end(&story, true);
        host_close(host);
}

static void a_qualifier_belongs_to_one_process(void **state)
{
        struct story story = begin(listen_and_stay);
        struct host *host = host_open();
        DAT_PSP_HANDLE psp;

        (void)state;
        hear(story.to_us[0]);
        assert_dat(dat_psp_create(host->ia, QUAL, host->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
                   DAT_CONN_QUAL_IN_USE);
        kill(story.other, SIGKILL);
        end(&story, true);
        assert_dat(dat_psp_create(host->ia, QUAL, host->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
                   DAT_SUCCESS);
        assert_dat(dat_psp_free(psp), DAT_SUCCESS);
        host_close(host);
}

/* Memory that both processes have, and the forty bytes by which they name it. */
static struct {
        char id[DAT_LMR_COOKIE_SIZE];
        unsigned char *memory;
} shared;

static DAT_LMR_HANDLE share(struct host *host, DAT_RMR_CONTEXT *context)
{
        DAT_REGION_DESCRIPTION region;
        DAT_LMR_PARAM param;
        DAT_LMR_HANDLE lmr;

        region.for_shared_memory.virtual_address = shared.memory;
        region.for_shared_memory.shared_memory_id = &shared.id;
        assert_dat(dat_lmr_create(host->ia, DAT_MEM_TYPE_SHARED_VIRTUAL, region, 8192, host->pz,
                                  DAT_MEM_PRIV_ALL_FLAG, &lmr, NULL, context, NULL, NULL),
                   DAT_SUCCESS);
        assert_dat(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param), DAT_SUCCESS);
        assert_int_equal(param.mem_type, DAT_MEM_TYPE_SHARED_VIRTUAL);
        assert_memory_equal(param.region_desc.for_shared_memory.shared_memory_id, &shared.id,
                            sizeof(shared.id));
        assert_ptr_equal(param.region_desc.for_shared_memory.virtual_address, shared.memory);
        return lmr;
}

static void share_and_look(struct story *story)
{
        struct host *host = host_open();
        DAT_LMR_HANDLE lmr = share(host, NULL);

        say(story->to_us[1]);
        hear(story->to_other[0]);
        for (size_t i = 0; i < 8192; i++)
                assert_int_equal(shared.memory[i], 0xa5);
        memset(shared.memory, 0x5a, 8192);
        assert_dat(dat_lmr_free(lmr), DAT_SUCCESS);
        host_close(host);
}

/* The cookie is forty bytes, with a zero among them, and no string. */
static void shared_memory_is_one_to_all(void **state)
{
        struct story story;
        DAT_LMR_TRIPLET iov;
        DAT_RMR_TRIPLET there = {.segment_length = 8192};
        DAT_LMR_HANDLE lmr;
        struct host *host;

        (void)state;
        memset(shared.id, 'x', sizeof(shared.id));
        shared.id[3] = 0;
        shared.memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        story = begin(share_and_look);
        host = host_joined();
        lmr = share(host, &there.rmr_context);
        there.target_address = (DAT_VADDR)(uintptr_t)shared.memory;
        hear(story.to_us[0]);
        memset(host->a.memory, 0xa5, 8192);
        iov = segment(&host->a, 0, 8192);
        assert_dat(dat_ep_post_rdma_write(host->a.ep, 1, &iov, cookie(1), &there, 0), DAT_SUCCESS);
        await_completion(host->a.request_evd, host->a.ep, 1, DAT_DTO_SUCCESS, 8192);
        say(story.to_other[1]);
        end(&story, false);
        /* The other has gone, and what it wrote is here. */
        assert_dat(dat_ep_post_rdma_read(host->a.ep, 1, &iov, cookie(2), &there, 0), DAT_SUCCESS);
        await_completion(host->a.request_evd, host->a.ep, 2, DAT_DTO_SUCCESS, 8192);
        for (size_t i = 0; i < 8192; i++)
                assert_int_equal(host->a.memory[i], 0x5a);
        assert_dat(dat_lmr_free(lmr), DAT_SUCCESS);
        munmap(shared.memory, 8192);
        host_close(host);
}

#define EXPECT_DEAD(call) assert_int_equal(DAT_GET_TYPE(call), DAT_GET_TYPE(DAT_INVALID_HANDLE))

/* Calls of each kind on what a child has from its parent. */
static void use_inherited(struct host *host)
{
        struct end *a = &host->a;
        DAT_LMR_TRIPLET iov = segment(a, 0, 10);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_EP_ATTR attr = plain_attr();
        DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
        DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;
        DAT_HANDLE_TYPE type;
        DAT_PSP_PARAM psp;
        DAT_LMR_PARAM lmr;
        DAT_EVD_PARAM evd;
        DAT_EP_PARAM param;
        DAT_PZ_PARAM zone;
        DAT_EVENT event;
        DAT_COUNT nmore;

        EXPECT_DEAD(dat_ia_query(host->ia, &async_evd, 0, NULL, 0, NULL));
        EXPECT_DEAD(dat_get_handle_type(host->ia, &type));
        EXPECT_DEAD(dat_pz_create(host->ia, &pz));
        EXPECT_DEAD(dat_pz_query(host->pz, DAT_PZ_FIELD_ALL, &zone));
        EXPECT_DEAD(dat_pz_free(host->pz));
        EXPECT_DEAD(dat_lmr_query(a->lmr, DAT_LMR_FIELD_ALL, &lmr));
        EXPECT_DEAD(dat_lmr_free(a->lmr));
        EXPECT_DEAD(dat_ep_create(host->ia, host->pz, a->recv_evd, a->request_evd, a->connect_evd,
                                  &attr, &ep));
        EXPECT_DEAD(dat_ep_query(a->ep, DAT_EP_FIELD_ALL, &param));
        EXPECT_DEAD(dat_ep_get_status(a->ep, NULL, NULL, NULL));
        EXPECT_DEAD(dat_ep_post_send(a->ep, 1, &iov, cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
        EXPECT_DEAD(dat_ep_post_recv(a->ep, 1, &iov, cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
        EXPECT_DEAD(dat_ep_disconnect(a->ep, DAT_CLOSE_ABRUPT_FLAG));
        EXPECT_DEAD(dat_ep_reset(a->ep));
        EXPECT_DEAD(dat_ep_free(a->ep));
        EXPECT_DEAD(dat_srq_post_recv(host->b.srq, 0, NULL, cookie(1)));
        EXPECT_DEAD(dat_srq_resize(host->b.srq, 8));
        EXPECT_DEAD(dat_srq_free(host->b.srq));
        EXPECT_DEAD(dat_evd_query(a->recv_evd, DAT_EVD_FIELD_ALL, &evd));
        EXPECT_DEAD(dat_evd_dequeue(a->recv_evd, &event));
        EXPECT_DEAD(dat_evd_wait(a->recv_evd, 0, 1, &event, &nmore));
        EXPECT_DEAD(dat_evd_free(a->recv_evd));
        EXPECT_DEAD(dat_psp_query(host->psp, DAT_PSP_FIELD_ALL, &psp));
        EXPECT_DEAD(dat_psp_free(host->psp));
        EXPECT_DEAD(dat_ia_close(host->ia, DAT_CLOSE_GRACEFUL_FLAG));
        EXPECT_DEAD(dat_ia_close(host->ia, DAT_CLOSE_ABRUPT_FLAG));
}

/* Exchanges one message between the ends of a host, of which `b` has an SRQ. */
static void exchange(struct host *host, uint64_t number)
{
        post_srq(&host->b, 0, 64, number);
        post_send(&host->a, 0, 64, number);
        await_completion(host->b.recv_evd, host->b.ep, number, DAT_DTO_SUCCESS, 64);
        await_completion(host->a.request_evd, host->a.ep, number, DAT_DTO_SUCCESS, 64);
}

static struct host *joined_with_srq(void)
{
        struct host *host = host_open();

        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, &host->a, NULL);
        end_make_with_srq(host, &host->b, NULL, 4);
        join_ends(host, &host->a, &host->b);
        return host;
}

/* What a child opens itself is its own. ThreadSanitizer knows no child with threads of its own. */
static void open_in_child(void)
{
#ifndef __SANITIZE_THREAD__
        struct host *host = joined_with_srq();

        exchange(host, 2);
        host_close(host);
#endif
}

static void have_a_child(struct story *story)
{
        static struct host *host; /* which the child has, too, to its end */
        int status;
        pid_t child;

        (void)story;
        host = joined_with_srq();
        exchange(host, 1);
        child = fork();
        assert_true(child >= 0);
        if (!child) {
                use_inherited(host);
                open_in_child();
                exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        exchange(host, 3);
        host_close(host);
}

/* In a child every handle of its parent is dead, so that nothing it does reaches their objects. */
static void a_child_touches_nothing_of_its_parent(void **state)
{
        struct story story = begin(have_a_child);

        (void)state;
        end(&story, false);
}

/* Has the kernel know no membarrier() for this process. */
static void take_barrier_away(void)
{
        struct sock_filter filter[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};

        assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
        assert_int_equal(syscall(SYS_membarrier, 0, 0, 0), -1);
}

static void end_without_barrier(struct story *story)
{
        struct host *host = joined_with_srq();

        (void)story;
        take_barrier_away();
        post_srq(&host->b, 0, 10, 1);
        post_send(&host->b, 0, 10, 2); /* which nobody receives */
        assert_dat(dat_ep_disconnect(host->b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        await_completion(host->b.request_evd, host->b.ep, 2, DAT_DTO_ERR_FLUSHED, 0);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        assert_int_equal(srq_counts(host->b.srq).available_dto_count, 1);
        host_close(host);
}

/* Then the timeout, by which the end of an SRQ's EP comes nevertheless, has to do. */
static void a_kernel_without_a_barrier(void **state)
{
        struct story story = begin(end_without_barrier);

        (void)state;
        end(&story, false);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(messages_cross),
            cmocka_unit_test(a_killed_peer_is_noticed),
            cmocka_unit_test(posts_before_the_peer_confirms),
            cmocka_unit_test(a_server_killed_before_it_answers),
            cmocka_unit_test(a_qualifier_belongs_to_one_process),
            cmocka_unit_test(shared_memory_is_one_to_all),
            cmocka_unit_test(a_child_touches_nothing_of_its_parent),
            cmocka_unit_test(a_kernel_without_a_barrier),
        };

        return cmocka_run_group_tests_name("processes", tests, NULL, NULL);
}
