/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who asked leaves as soon as it is connected. On iWARP its disconnect may then be ahead of its
 * confirmation, which is a request of its own; here it is held back until the disconnect is there.
 * Where nobody confirms, nothing is held, and the same holds.
 */
#include "loopback.h"

#include <dlfcn.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>

#define NO_CONFIRMATION "no second request confirms a connection here"

static struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        int free; /* requests that may pass still */
        bool all; /* may */
        int held;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .all = true};

/* The provider's, for this program is asked before librdmacm. */
int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
        int (*real)(struct rdma_cm_id *, struct rdma_conn_param *) =
            (int (*)(struct rdma_cm_id *, struct rdma_conn_param *))dlsym(RTLD_NEXT,
                                                                          "rdma_connect");

        pthread_mutex_lock(&gate.lock);
        if (!gate.free) {
                gate.held++;
                pthread_cond_broadcast(&gate.changed);
                while (!gate.all)
                        pthread_cond_wait(&gate.changed, &gate.lock);
                gate.held--;
        } else if (!gate.all) {
                gate.free--;
        }
        pthread_mutex_unlock(&gate.lock);
        return real(id, param);
}

static void hold_confirmation(void)
{
        pthread_mutex_lock(&gate.lock);
        gate.free = 1;
        gate.all = false;
        pthread_mutex_unlock(&gate.lock);
}

static void await_held(void)
{
        pthread_mutex_lock(&gate.lock);
        while (!gate.held)
                pthread_cond_wait(&gate.changed, &gate.lock);
        pthread_mutex_unlock(&gate.lock);
}

static void let_confirmation_go(void)
{
        pthread_mutex_lock(&gate.lock);
        gate.all = true;
        gate.free = 1;
        pthread_cond_broadcast(&gate.changed);
        pthread_mutex_unlock(&gate.lock);
}

/* Ends to be joined, of which b has one EVD for all its events, and three receives. */
static struct host *host_to_be_left(void)
{
        struct host *host = host_listening();
        DAT_EP_ATTR attr = plain_attr();
        struct end *b = &host->b;

        assert_dat(dat_ep_free(b->ep), DAT_SUCCESS);
        assert_dat(dat_evd_free(b->connect_evd), DAT_SUCCESS);
        assert_dat(
            dat_evd_create(host->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DEFAULT_FLAG, &b->connect_evd),
            DAT_SUCCESS);
        assert_dat(dat_ep_create(host->ia, host->pz, b->connect_evd, b->connect_evd, b->connect_evd,
                                 &attr, &b->ep),
                   DAT_SUCCESS);
        for (unsigned int i = 0; i < 3; i++)
                post_recv(b, 100 * (size_t)i, 100, i);
        return host;
}

static void connect_ends(struct host *host)
{
        connect_to(host, &host->a, host->qual);
        assert_dat(dat_cr_accept(await_request(host), host->b.ep, 0, NULL), DAT_SUCCESS);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void leave(struct host *host, DAT_CLOSE_FLAGS flags)
{
        assert_dat(dat_ep_disconnect(host->a.ep, flags), DAT_SUCCESS);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/*
 * Takes b's events to the last. The connection was there and has ended; nothing is flushed before
 * it was, and what is, is in order behind the messages that came.
 */
static void assert_told_of_both(struct host *host, unsigned int messages)
{
        DAT_EVENT_NUMBER told = 0;
        unsigned int completed = 0;
        DAT_EVENT event;
        DAT_COUNT nmore;

        while (told != DAT_CONNECTION_EVENT_DISCONNECTED) {
                DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

                assert_dat(dat_evd_wait(host->b.connect_evd, LONG, 1, &event, &nmore), DAT_SUCCESS);
                if (event.event_number != DAT_DTO_COMPLETION_EVENT) {
                        assert_int_equal(event.event_number,
                                         told ? DAT_CONNECTION_EVENT_DISCONNECTED
                                              : DAT_CONNECTION_EVENT_ESTABLISHED);
                        told = event.event_number;
                        continue;
                }
                assert_int_equal(dto->user_cookie.as_64, completed++);
                assert_int_equal(dto->status,
                                 completed <= messages ? DAT_DTO_SUCCESS : DAT_DTO_ERR_FLUSHED);
                assert_true(told || dto->status == DAT_DTO_SUCCESS);
        }
        assert_int_equal(completed, 3);
        assert_int_equal(state_of(host->b.ep), DAT_EP_STATE_DISCONNECTED);
        assert_silent(host->b.connect_evd);
}

static void is_told_of_both(void **state)
{
        struct host *host = host_to_be_left();

        (void)state;
        hold_confirmation();
        connect_ends(host);
        leave(host, DAT_CLOSE_ABRUPT_FLAG);
        if (host_is_iwarp()) {
                await_held();
                assert_silent(host->b.connect_evd);
                assert_int_equal(state_of(host->b.ep), DAT_EP_STATE_COMPLETION_PENDING);
        }
        let_confirmation_go();
        assert_told_of_both(host, 0);
        host_close(host);
}

static void and_of_a_message(void **state)
{
        struct host *host = host_to_be_left();

        (void)state;
        hold_confirmation();
        connect_ends(host);
        post_send(&host->a, 0, 10, 4);
        leave(host, DAT_CLOSE_GRACEFUL_FLAG);
        if (host_is_iwarp())
                await_held();
        let_confirmation_go();
        assert_told_of_both(host, 1);
        host_close(host);
}

/* Without a gate: as fast as it can be. */
static void each_time(void **state)
{
        (void)state;
        for (int round = 0; round < 30; round++) {
                struct host *host = host_to_be_left();

                connect_ends(host);
                leave(host, DAT_CLOSE_ABRUPT_FLAG);
                assert_told_of_both(host, 0);
                host_close(host);
        }
}

/* An IA that is closed at once has what confirms its connections go out. */
static void close_is_no_secret(void **state)
{
        (void)state;
        for (int round = 0; round < 10; round++) {
                struct host *host = host_to_be_left();
                struct host *other = host_open();

                end_make(other, &other->a, NULL);
                connect_to(host, &other->a, host->qual);
                assert_dat(dat_cr_accept(await_request(host), host->b.ep, 0, NULL), DAT_SUCCESS);
                (void)await_event(other->a.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
                assert_dat(dat_ia_close(other->ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
                free(other->a.memory);
                free(other);
                assert_told_of_both(host, 0);
                host_close(host);
        }
}

static struct host *host_left_unconfirmed(void)
{
        struct host *host = host_to_be_left();

        hold_confirmation();
        connect_ends(host);
        leave(host, DAT_CLOSE_ABRUPT_FLAG);
        await_held();
        return host;
}

/* Who accepted need not wait to hear of it. */
static void it_may_go_meanwhile(void **state)
{
        struct host *host = host_left_unconfirmed();

        (void)state;
        assert_dat(dat_ep_disconnect(host->b.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        for (unsigned int i = 0; i < 3; i++)
                await_completion(host->b.connect_evd, host->b.ep, i, DAT_DTO_ERR_FLUSHED, 0);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        let_confirmation_go();
        assert_silent(host->b.connect_evd);
        host_close(host);

        host = host_left_unconfirmed();
        assert_dat(dat_ep_free(host->b.ep), DAT_SUCCESS);
        host->b.ep = DAT_HANDLE_NULL;
        let_confirmation_go();
        host_close(host);

        host = host_left_unconfirmed();
        let_confirmation_go();
        assert_dat(dat_ia_close(host->ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        free(host->a.memory);
        free(host->b.memory);
        free(host);
}

/* A peer that is gone before it could confirm is not waited for without an end. */
static void none_may_come(void **state)
{
        struct host *host = host_to_be_left();

        (void)state;
        hold_confirmation();
        connect_ends(host);
        leave(host, DAT_CLOSE_ABRUPT_FLAG);
        for (unsigned int i = 0; i < 3; i++)
                await_completion(host->b.connect_evd, host->b.ep, i, DAT_DTO_ERR_FLUSHED, 0);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
        assert_int_equal(state_of(host->b.ep), DAT_EP_STATE_DISCONNECTED);
        let_confirmation_go();
        assert_silent(host->b.connect_evd);
        host_close(host);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(is_told_of_both),
            cmocka_unit_test(and_of_a_message),
            cmocka_unit_test(each_time),
            cmocka_unit_test(close_is_no_secret),
            only_iwarp(it_may_go_meanwhile, NO_CONFIRMATION),
            only_iwarp(none_may_come, NO_CONFIRMATION),
        };

        return cmocka_run_group_tests_name("confirmation", tests, NULL, NULL);
}
