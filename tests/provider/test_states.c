/* SPDX-License-Identifier: BSD-2-Clause */
/* What each state of an EP allows of the calls that begin, accept and end connections. */
#include "loopback.h"

#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

/* What a state allows. */
enum allowed {
        MAY_CONNECT = 1, /* and be accepted with, and be reserved */
        MAY_DISCONNECT = 2,
        MAY_RESET = 4,
        MAY_FREE = 8,
        MAY_BE_DUPLICATED = 16,
};

/* All that the calls need besides the EP that they are about. */
struct stage {
        struct host *host; /* whose ends are joined */
        struct end idle;
        struct end asking; /* for a request that waits for its answer */
        DAT_CR_HANDLE cr;
};

static struct stage stage_open(void)
{
        struct stage stage = {.host = host_joined()};

        end_make(stage.host, &stage.idle, NULL);
        end_make(stage.host, &stage.asking, NULL);
        connect_to(stage.host, &stage.asking, stage.host->qual);
        stage.cr = await_request(stage.host);
        return stage;
}

static void stage_close(struct stage *stage)
{
        assert_dat(dat_cr_reject(stage->cr), DAT_SUCCESS);
        (void)await_event(stage->asking.connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
        end_free(&stage->asking);
        end_free(&stage->idle);
        host_close(stage->host);
}

static DAT_RETURN ask(struct host *host, DAT_EP_HANDLE ep)
{
        return dat_ep_connect(ep, host->attr.ia_address_ptr, 7777, LONG, 0, NULL,
                              DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

/* Tries what the EP's state forbids; `subtype` says which state that is. Nothing may change. */
static void expect_state(struct stage *stage, DAT_EP_HANDLE ep, DAT_EP_STATE expected, int subtype,
                         unsigned int allowed)
{
        struct host *host = stage->host;
        DAT_BOOLEAN idle;
        DAT_RSP_HANDLE rsp;

        assert_int_equal(state_of(ep), expected);
        assert_dat(dat_ep_get_status(ep, NULL, NULL, NULL), DAT_SUCCESS);
        assert_dat(dat_ep_get_status(ep, NULL, &idle, NULL), DAT_SUCCESS);
        assert_true(idle == DAT_TRUE || idle == DAT_FALSE);
        if (!(allowed & MAY_CONNECT)) {
                assert_refused(ask(host, ep), DAT_INVALID_STATE, subtype);
                assert_refused(
                    dat_ep_dup_connect(ep, host->a.ep, LONG, 0, NULL, DAT_QOS_BEST_EFFORT),
                    DAT_INVALID_STATE, subtype);
                assert_refused(dat_rsp_create(host->ia, 7150, ep, host->cr_evd, &rsp),
                               DAT_INVALID_STATE, subtype);
                assert_refused(dat_cr_accept(stage->cr, ep, 0, NULL), DAT_INVALID_STATE, subtype);
        }
        if (!(allowed & MAY_BE_DUPLICATED))
                assert_refused(
                    dat_ep_dup_connect(stage->idle.ep, ep, LONG, 0, NULL, DAT_QOS_BEST_EFFORT),
                    DAT_INVALID_STATE, subtype);
        if (!(allowed & MAY_DISCONNECT)) {
                assert_refused(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_STATE,
                               subtype);
                assert_refused(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE,
                               subtype);
        }
        if (!(allowed & MAY_RESET))
                assert_refused(dat_ep_reset(ep), DAT_INVALID_STATE, subtype);
        if (!(allowed & MAY_FREE))
                assert_refused(dat_ep_free(ep), DAT_INVALID_STATE, subtype);
        assert_int_equal(state_of(ep), expected);
}

static void states_of_an_active_end(void **state)
{
        struct stage stage = stage_open();
        struct host *host = stage.host;
        struct end c = {0};

        (void)state;
        end_make(host, &c, NULL);
        post_recv(&c, 0, 10, 1);
        expect_state(&stage, c.ep, DAT_EP_STATE_UNCONNECTED, DAT_INVALID_STATE_EP_UNCONNECTED,
                     MAY_CONNECT | MAY_RESET | MAY_FREE);
        /* To reset it is nothing, and its receives stay. */
        assert_dat(dat_ep_reset(c.ep), DAT_SUCCESS);
        assert_silent(c.recv_evd);
        assert_dat(dat_ep_dup_connect(c.ep, host->a.ep, LONG, 0, NULL, DAT_QOS_BEST_EFFORT),
                   DAT_SUCCESS);
        expect_state(&stage, c.ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
                     DAT_INVALID_STATE_EP_ACTCONNPENDING, MAY_DISCONNECT | MAY_FREE);
        assert_dat(dat_cr_accept(await_request(host), stage.idle.ep, 0, NULL), DAT_SUCCESS);
        (void)await_event(c.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        (void)await_event(stage.idle.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        assert_dat(dat_ep_free(stage.idle.ep), DAT_SUCCESS);
        (void)await_event(c.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        stage.idle.ep = DAT_HANDLE_NULL;
        end_free(&stage.idle);
        end_make(host, &stage.idle, NULL);
        await_completion(c.recv_evd, c.ep, 1, DAT_DTO_ERR_FLUSHED, 0);
        expect_state(&stage, c.ep, DAT_EP_STATE_DISCONNECTED, DAT_INVALID_STATE_EP_DISCONNECTED,
                     MAY_DISCONNECT | MAY_RESET | MAY_FREE);
        /* To disconnect it is nothing either. */
        assert_dat(dat_ep_disconnect(c.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        assert_dat(dat_ep_disconnect(c.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        assert_silent(c.connect_evd);
        assert_dat(dat_ep_reset(c.ep), DAT_SUCCESS);
        expect_state(&stage, c.ep, DAT_EP_STATE_UNCONNECTED, DAT_INVALID_STATE_EP_UNCONNECTED,
                     MAY_CONNECT | MAY_RESET | MAY_FREE);
        expect_state(&stage, host->a.ep, DAT_EP_STATE_CONNECTED, DAT_INVALID_STATE_EP_CONNECTED,
                     MAY_DISCONNECT | MAY_FREE | MAY_BE_DUPLICATED);
        end_free(&c);
        stage_close(&stage);
}

static void an_end_that_waits_for_its_requests(void **state)
{
        struct stage stage = stage_open();
        struct host *host = stage.host;
        struct end c = {0};
        struct end d = {0};

        (void)state;
        end_make(host, &c, NULL);
        end_make(host, &d, NULL);
        join_ends(host, &c, &d);
        /* There is no receive for it. */
        post_send(&c, 0, 10, 1);
        assert_dat(dat_ep_disconnect(c.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        expect_state(&stage, c.ep, DAT_EP_STATE_DISCONNECT_PENDING,
                     DAT_INVALID_STATE_EP_DISCPENDING, MAY_DISCONNECT | MAY_FREE);
        /* What the peer does ends it nevertheless. */
        assert_dat(dat_ep_disconnect(d.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        (void)await_event(d.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        (void)await_event(c.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        await_completion(c.request_evd, c.ep, 1, DAT_DTO_ERR_FLUSHED, 0);
        assert_silent(c.connect_evd);
        assert_int_equal(state_of(c.ep), DAT_EP_STATE_DISCONNECTED);
        end_free(&c);
        end_free(&d);
        stage_close(&stage);
}

static void states_of_a_passive_end(void **state)
{
        struct stage stage = stage_open();
        struct host *host = stage.host;
        struct end c = {0};
        struct end d = {0};
        DAT_RSP_HANDLE rsp;
        DAT_CR_HANDLE cr;

        (void)state;
        end_make(host, &c, NULL);
        end_make(host, &d, NULL);
        assert_dat(dat_rsp_create(host->ia, 7151, d.ep, host->cr_evd, &rsp), DAT_SUCCESS);
        expect_state(&stage, d.ep, DAT_EP_STATE_RESERVED, DAT_INVALID_STATE_EP_RESERVED, 0);
        connect_to(host, &c, 7151);
        cr = any_request(host);
        expect_state(&stage, d.ep, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
                     DAT_INVALID_STATE_EP_PASSCONNPENDING, 0);
        /* The request does not need its service point any more. */
        assert_dat(dat_rsp_free(rsp), DAT_SUCCESS);
        expect_state(&stage, d.ep, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
                     DAT_INVALID_STATE_EP_PASSCONNPENDING, 0);
        assert_dat(dat_cr_reject(cr), DAT_SUCCESS);
        (void)await_event(c.connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
        expect_state(&stage, d.ep, DAT_EP_STATE_UNCONNECTED, DAT_INVALID_STATE_EP_UNCONNECTED,
                     MAY_CONNECT | MAY_RESET | MAY_FREE);
        end_free(&c);
        end_free(&d);
        stage_close(&stage);
}

static void an_end_that_the_provider_gives(void **state)
{
        struct stage stage = stage_open();
        struct host *host = stage.host;
        struct end c = {0};
        DAT_CR_PARAM request;
        DAT_PSP_HANDLE psp;
        DAT_CR_HANDLE cr;

        (void)state;
        end_make(host, &c, NULL);
        assert_dat(dat_psp_create(host->ia, 7152, host->cr_evd, DAT_PSP_PROVIDER_FLAG, &psp),
                   DAT_SUCCESS);
        connect_to(host, &c, 7152);
        cr = any_request(host);
        assert_dat(dat_cr_query(cr, DAT_CR_FIELD_ALL, &request), DAT_SUCCESS);
        expect_state(&stage, request.local_ep_handle, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
                     DAT_INVALID_STATE_EP_TENTCONNPENDING, 0);
        assert_dat(dat_psp_free(psp), DAT_SUCCESS);
        expect_state(&stage, request.local_ep_handle, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
                     DAT_INVALID_STATE_EP_TENTCONNPENDING, 0);
        assert_dat(dat_cr_reject(cr), DAT_SUCCESS);
        assert_refused(dat_ep_get_status(request.local_ep_handle, NULL, NULL, NULL),
                       DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
        (void)await_event(c.connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
        end_free(&c);
        stage_close(&stage);
}

/* Holds the service thread of an IA, by an agent that does not return, so that nothing is fetched
 * that comes to the IA. */
struct brake {
        sem_t in;
        sem_t go;
        DAT_CNO_HANDLE cno;
        DAT_EVD_HANDLE evd;
};

static void stop_here(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
        struct brake *brake = data;

        if (!evd)
                return;
        (void)sem_post(&brake->in);
        (void)sem_wait(&brake->go);
}

static void brake_on(struct brake *brake, struct host *host)
{
        DAT_OS_WAIT_PROXY_AGENT agent = {brake, stop_here};
        DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};

        (void)sem_init(&brake->in, 0, 0);
        (void)sem_init(&brake->go, 0, 0);
        assert_dat(dat_cno_create(host->ia, agent, &brake->cno), DAT_SUCCESS);
        assert_dat(dat_evd_create(host->ia, 1, brake->cno, DAT_EVD_SOFTWARE_FLAG, &brake->evd),
                   DAT_SUCCESS);
        assert_dat(dat_evd_post_se(brake->evd, &event), DAT_SUCCESS);
        assert_int_equal(sem_wait(&brake->in), 0);
}

static void brake_off(struct brake *brake)
{
        (void)sem_post(&brake->go);
        assert_dat(dat_evd_free(brake->evd), DAT_SUCCESS);
        assert_dat(dat_cno_free(brake->cno), DAT_SUCCESS);
        (void)sem_destroy(&brake->in);
        (void)sem_destroy(&brake->go);
}

/*
 * Has an end of the stage accept the request of another IA, which is kept from hearing of it, so
 * that the connection is not there yet.
 */
static struct host *half_accepted(struct stage *stage, struct end *d, struct brake *brake)
{
        struct host *other = host_open();
        DAT_CR_HANDLE cr;

        end_make(stage->host, d, NULL);
        post_recv(d, 0, 10, 1);
        end_make(other, &other->a, NULL);
        assert_dat(dat_ep_connect(other->a.ep, stage->host->attr.ia_address_ptr, stage->host->qual,
                                  DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
                                  DAT_CONNECT_DEFAULT_FLAG),
                   DAT_SUCCESS);
        cr = await_request(stage->host);
        brake_on(brake, other);
        assert_dat(dat_cr_accept(cr, d->ep, 0, NULL), DAT_SUCCESS);
        return other;
}

static void accepted_and_not_yet_connected(void **state)
{
        struct stage stage = stage_open();
        struct brake brake;
        struct end d = {0};
        struct host *other = half_accepted(&stage, &d, &brake);

        (void)state;
        expect_state(&stage, d.ep, DAT_EP_STATE_COMPLETION_PENDING,
                     DAT_INVALID_STATE_EP_COMPLPENDING, MAY_DISCONNECT | MAY_FREE);
        brake_off(&brake);
        (void)await_event(d.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        (void)await_event(other->a.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        assert_int_equal(state_of(d.ep), DAT_EP_STATE_CONNECTED);
        post_send(&other->a, 0, 10, 2);
        await_completion(d.recv_evd, d.ep, 1, DAT_DTO_SUCCESS, 10);
        host_close(other);
        (void)await_event(d.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        end_free(&d);
        stage_close(&stage);
}

/* One that was told of the connection hears that it has ended, another that there will be none. */
static void await_no_connection(const struct end *end)
{
        DAT_EVENT event;
        DAT_COUNT nmore;

        assert_dat(dat_evd_wait(end->connect_evd, LONG, 1, &event, &nmore), DAT_SUCCESS);
        if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
                (void)await_event(end->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        else
                assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        assert_int_equal(state_of(end->ep), DAT_EP_STATE_DISCONNECTED);
        assert_dat(dat_evd_dequeue(end->connect_evd, &event), DAT_QUEUE_EMPTY);
}

static void disconnect_before(DAT_CLOSE_FLAGS flags)
{
        struct stage stage = stage_open();
        struct brake brake;
        struct end d = {0};
        struct host *other = half_accepted(&stage, &d, &brake);

        assert_dat(dat_ep_disconnect(d.ep, flags), DAT_SUCCESS);
        assert_int_equal(state_of(d.ep), DAT_EP_STATE_DISCONNECTED);
        (void)await_event(d.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        await_completion(d.recv_evd, d.ep, 1, DAT_DTO_ERR_FLUSHED, 0);
        brake_off(&brake);
        await_no_connection(&other->a);
        assert_silent(d.connect_evd);
        host_close(other);
        end_free(&d);
        stage_close(&stage);
}

static void disconnect_before_the_connection_is_there(void **state)
{
        (void)state;
        disconnect_before(DAT_CLOSE_ABRUPT_FLAG);
        disconnect_before(DAT_CLOSE_GRACEFUL_FLAG);
}

static void free_before_the_connection_is_there(void **state)
{
        struct stage stage = stage_open();
        struct brake brake;
        struct end d = {0};
        struct host *other = half_accepted(&stage, &d, &brake);

        (void)state;
        assert_dat(dat_ep_free(d.ep), DAT_SUCCESS);
        d.ep = DAT_HANDLE_NULL;
        brake_off(&brake);
        await_no_connection(&other->a);
        host_close(other);
        end_free(&d);
        stage_close(&stage);
}

/* The same while the other end is about to hear that it is connected, in both orders. */
static void an_accept_and_its_end_at_once(void **state)
{
        struct stage stage = stage_open();
        struct host *host = stage.host;
        struct host *other = host_open();
        struct end d = {0};

        (void)state;
        end_make(other, &other->a, NULL);
        end_make(host, &d, NULL);
        for (int i = 0; i < 20; i++) {
                DAT_EVENT event;

                assert_dat(dat_ep_connect(other->a.ep, host->attr.ia_address_ptr, host->qual, LONG,
                                          0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
                           DAT_SUCCESS);
                assert_dat(dat_cr_accept(await_request(host), d.ep, 0, NULL), DAT_SUCCESS);
                if (i % 2)
                        sched_yield();
                assert_dat(dat_ep_disconnect(d.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
                await_no_connection(&other->a);
                while (dat_evd_dequeue(d.connect_evd, &event) == DAT_SUCCESS)
                        ;
                assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
                assert_dat(dat_ep_reset(d.ep), DAT_SUCCESS);
                assert_dat(dat_ep_reset(other->a.ep), DAT_SUCCESS);
        }
        host_close(other);
        end_free(&d);
        stage_close(&stage);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(states_of_an_active_end),
            cmocka_unit_test(an_end_that_waits_for_its_requests),
            cmocka_unit_test(states_of_a_passive_end),
            cmocka_unit_test(an_end_that_the_provider_gives),
            cmocka_unit_test(accepted_and_not_yet_connected),
            cmocka_unit_test(disconnect_before_the_connection_is_there),
            cmocka_unit_test(free_before_the_connection_is_there),
            cmocka_unit_test(an_accept_and_its_end_at_once),
        };

        return cmocka_run_group_tests_name("states", tests, NULL, NULL);
}
