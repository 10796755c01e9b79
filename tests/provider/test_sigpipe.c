/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * siw sends in the system call that posts or answers; where the peer has closed the stream, the
 * kernel raises SIGPIPE for that. Here each such call raises it, and no Consumer may hear of it.
 */
#include "loopback.h"

#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdatomic.h>

#define NO_STREAM "no stream raises a signal here"

static int (*device_posts)(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);
static volatile sig_atomic_t heard;
static atomic_int raised;

static void hear(int signal)
{
        (void)signal;
        heard++;
}

static void raise_here(void)
{
        atomic_fetch_add(&raised, 1);
        pthread_kill(pthread_self(), SIGPIPE);
}

static int post_raising(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
        raise_here();
        return device_posts(qp, wr, bad);
}

/* The provider's, for this program is asked before the libraries. */
struct ibv_context *ibv_open_device(struct ibv_device *device)
{
        struct ibv_context *(*real)(struct ibv_device *) =
            (struct ibv_context * (*)(struct ibv_device *)) dlsym(RTLD_NEXT, "ibv_open_device");
        struct ibv_context *context = real(device);

        if (context) {
                device_posts = context->ops.post_send;
                context->ops.post_send = post_raising;
        }
        return context;
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
        int (*real)(struct rdma_cm_id *, struct rdma_conn_param *) =
            (int (*)(struct rdma_cm_id *, struct rdma_conn_param *))dlsym(RTLD_NEXT, "rdma_accept");

        raise_here();
        return real(id, param);
}

int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t size)
{
        int (*real)(struct rdma_cm_id *, const void *, uint8_t) =
            (int (*)(struct rdma_cm_id *, const void *, uint8_t))dlsym(RTLD_NEXT, "rdma_reject");

        raise_here();
        return real(id, data, size);
}

int rdma_disconnect(struct rdma_cm_id *id)
{
        int (*real)(struct rdma_cm_id *) =
            (int (*)(struct rdma_cm_id *))dlsym(RTLD_NEXT, "rdma_disconnect");

        raise_here();
        return real(id);
}

static void listen_to_sigpipe(void)
{
        struct sigaction action = {.sa_handler = hear};

        heard = 0;
        atomic_store(&raised, 0);
        assert_int_equal(sigaction(SIGPIPE, &action, NULL), 0);
}

static void exchange(struct host *host)
{
        post_recv(&host->b, 0, 100, 1);
        post_send(&host->a, 0, 100, 2);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, 100);
        await_completion(host->a.request_evd, host->a.ep, 2, DAT_DTO_SUCCESS, 100);
}

static void is_not_heard_of(void **state)
{
        struct host *host;
        sigset_t mask;

        (void)state;
        listen_to_sigpipe();
        host = host_joined();
        exchange(host);
        assert_dat(dat_ep_disconnect(host->a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        host_close(host);
        assert_true(atomic_load(&raised) >= 3);
        assert_int_equal(heard, 0);
        pthread_sigmask(SIG_SETMASK, NULL, &mask);
        assert_false(sigismember(&mask, SIGPIPE));
}

static void is_not_heard_of_in_a_reject(void **state)
{
        struct host *host;

        (void)state;
        listen_to_sigpipe();
        host = host_listening();
        connect_to(host, &host->a, host->qual);
        assert_dat(dat_cr_reject(await_request(host)), DAT_SUCCESS);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
        host_close(host);
        assert_true(atomic_load(&raised) >= 1);
        assert_int_equal(heard, 0);
}

static void is_heard_of_where_others_raise_it(void **state)
{
        struct host *host;

        (void)state;
        listen_to_sigpipe();
        host = host_joined();
        exchange(host);
        raise(SIGPIPE);
        assert_int_equal(heard, 1);
        host_close(host);
        assert_int_equal(heard, 1);
}

/* One that waits already stays, even if another is raised. */
static void stays_with_who_blocks_it(void **state)
{
        struct host *host;
        sigset_t pipe;
        sigset_t pending;

        (void)state;
        listen_to_sigpipe();
        host = host_joined();
        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &pipe, NULL);
        raise(SIGPIPE);
        exchange(host);
        sigpending(&pending);
        assert_true(sigismember(&pending, SIGPIPE));
        assert_int_equal(heard, 0);
        pthread_sigmask(SIG_UNBLOCK, &pipe, NULL);
        assert_int_equal(heard, 1);
        host_close(host);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            only_iwarp(is_not_heard_of, NO_STREAM),
            only_iwarp(is_not_heard_of_in_a_reject, NO_STREAM),
            only_iwarp(is_heard_of_where_others_raise_it, NO_STREAM),
            only_iwarp(stays_with_who_blocks_it, NO_STREAM),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
