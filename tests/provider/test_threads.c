/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads: everything at once on one IA, for the thread and address sanitizers to watch. */
#include "loopback.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS    3
#define MESSAGES 300
/* Luck has to show what comes of a race; the thread sanitizer sees the race itself. */
#ifdef __SANITIZE_THREAD__
#define RIVALRY 1000
#else
#define RIVALRY 10000
#endif

struct pair {
        pthread_t sender;
        pthread_t receiver;
        struct end a;
        struct end b;
        struct host *host;
};

static atomic_bool stop;

/* cmocka must not be called by other threads, so these end the process on surprise. */
static void must(DAT_RETURN ret)
{
        if (ret != DAT_SUCCESS)
                abort();
}

static void await(DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;
        DAT_COUNT nmore;

        must(dat_evd_wait(evd, LONG, 1, &event, &nmore));
        if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
                abort();
}

static void *send_all(void *argument)
{
        struct pair *pair = argument;
        DAT_LMR_TRIPLET iov = segment(&pair->a, 0, 64);

        for (int i = 0; i < MESSAGES; i++) {
                must(dat_ep_post_send(pair->a.ep, 1, &iov, cookie((uint64_t)i), 0));
                await(pair->a.request_evd);
        }
        return NULL;
}

static void *receive_all(void *argument)
{
        struct pair *pair = argument;
        DAT_LMR_TRIPLET iov = segment(&pair->b, 0, 64);

        for (int i = 0; i < MESSAGES; i++) {
                await(pair->b.recv_evd);
                must(dat_srq_post_recv(pair->b.srq, 1, &iov, cookie(0)));
        }
        return NULL;
}

static void *resize_and_query(void *argument)
{
        struct host *host = argument;
        DAT_SRQ_HANDLE srq = host->b.srq;
        DAT_SRQ_PARAM param;

        for (DAT_COUNT i = 0; !atomic_load(&stop); i++) {
                must(dat_srq_resize(srq, 40 + i % 50));
                must(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
                must(dat_srq_set_lw(srq, i % 3));
        }
        return NULL;
}

static void *churn(void *argument)
{
        struct host *host = argument;
        DAT_EP_ATTR attr = plain_attr();
        DAT_REGION_DESCRIPTION region;
        DAT_EVD_HANDLE evd;
        DAT_LMR_HANDLE lmr;
        DAT_EP_HANDLE ep;
        DAT_PZ_HANDLE pz;
        char memory[256];

        region.for_va = memory;
        while (!atomic_load(&stop)) {
                must(dat_pz_create(host->ia, &pz));
                must(dat_evd_create(host->ia, 8, DAT_HANDLE_NULL, DAT_EVD_DEFAULT_FLAG, &evd));
                must(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(memory), pz,
                                    DAT_MEM_PRIV_ALL_FLAG, &lmr, NULL, NULL, NULL, NULL));
                must(dat_ep_create(host->ia, pz, evd, evd, evd, &attr, &ep));
                must(dat_ep_free(ep));
                must(dat_lmr_free(lmr));
                must(dat_evd_free(evd));
                must(dat_pz_free(pz));
        }
        return NULL;
}

static void traffic_and_churn(void **state)
{
        struct host *host = host_open();
        struct pair pairs[PAIRS];
        pthread_t resizer;
        pthread_t churner;

        (void)state;
        memset(pairs, 0, sizeof(pairs));
        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make_with_srq(host, &host->b, NULL, 64);
        for (int i = 0; i < PAIRS; i++) {
                pairs[i].host = host;
                pairs[i].b.srq = host->b.srq;
                end_make(host, &pairs[i].a, NULL);
                end_make_with_srq(host, &pairs[i].b, NULL, 0);
                join_ends(host, &pairs[i].a, &pairs[i].b);
        }
        for (unsigned int i = 0; i < 30; i++)
                post_srq(&host->b, 0, 64, i);
        atomic_store(&stop, false);
        assert_int_equal(pthread_create(&resizer, NULL, resize_and_query, host), 0);
        assert_int_equal(pthread_create(&churner, NULL, churn, host), 0);
        for (int i = 0; i < PAIRS; i++) {
                assert_int_equal(pthread_create(&pairs[i].sender, NULL, send_all, &pairs[i]), 0);
                assert_int_equal(pthread_create(&pairs[i].receiver, NULL, receive_all, &pairs[i]),
                                 0);
        }
        for (int i = 0; i < PAIRS; i++) {
                assert_int_equal(pthread_join(pairs[i].sender, NULL), 0);
                assert_int_equal(pthread_join(pairs[i].receiver, NULL), 0);
        }
        atomic_store(&stop, true);
        assert_int_equal(pthread_join(resizer, NULL), 0);
        assert_int_equal(pthread_join(churner, NULL), 0);
        assert_int_equal(srq_counts(host->b.srq).outstanding_dto_count, 30);
        for (int i = 0; i < PAIRS; i++) {
                pairs[i].b.srq = DAT_HANDLE_NULL;
                end_free(&pairs[i].a);
                end_free(&pairs[i].b);
        }
        host_close(host);
}

static void *post_until_it_is_over(void *argument)
{
        struct end *end = argument;
        DAT_LMR_TRIPLET iov = segment(end, 0, 16);
        DAT_EVENT event;

        while (!atomic_load(&stop)) {
                (void)dat_ep_post_send(end->ep, 1, &iov, cookie(1), 0);
                (void)dat_ep_post_recv(end->ep, 1, &iov, cookie(2), 0);
                (void)dat_evd_dequeue(end->request_evd, &event);
                (void)dat_evd_dequeue(end->recv_evd, &event);
        }
        return NULL;
}

static void drain_connections(struct end *end)
{
        DAT_EVENT event;

        while (dat_evd_dequeue(end->connect_evd, &event) == DAT_SUCCESS)
                ;
}

/* Posts continue while connections come and go under them. */
static void posts_against_disconnects(void **state)
{
        struct host *host = host_joined();
        pthread_t threads[2];

        (void)state;
        atomic_store(&stop, false);
        assert_int_equal(pthread_create(&threads[0], NULL, post_until_it_is_over, &host->a), 0);
        assert_int_equal(pthread_create(&threads[1], NULL, post_until_it_is_over, &host->b), 0);
        for (int i = 0; i < 10; i++) {
                assert_dat(
                    dat_ep_disconnect(i % 2 ? host->a.ep : host->b.ep,
                                      i % 3 ? DAT_CLOSE_ABRUPT_FLAG : DAT_CLOSE_GRACEFUL_FLAG),
                    DAT_SUCCESS);
                while (state_of(host->a.ep) != DAT_EP_STATE_DISCONNECTED ||
                       state_of(host->b.ep) != DAT_EP_STATE_DISCONNECTED)
                        sched_yield();
                assert_dat(dat_ep_reset(host->a.ep), DAT_SUCCESS);
                assert_dat(dat_ep_reset(host->b.ep), DAT_SUCCESS);
                drain_connections(&host->a);
                drain_connections(&host->b);
                join_ends(host, &host->a, &host->b);
        }
        atomic_store(&stop, true);
        assert_int_equal(pthread_join(threads[0], NULL), 0);
        assert_int_equal(pthread_join(threads[1], NULL), 0);
        host_close(host);
}

#define QUEUE       16
#define TWO_PACKETS ((size_t)8192) /* where the network carries 4096 bytes at once */
#define DISCONNECTS 300

/* Sends messages of two packets for as long as the EP lets it; what happens to them is no matter.
 */
static void *send_long_ones(void *argument)
{
        struct end *end = argument;
        DAT_LMR_TRIPLET iov = segment(end, 0, TWO_PACKETS);
        DAT_EVENT event;

        while (!atomic_load(&stop)) {
                if (dat_ep_post_send(end->ep, 1, &iov, cookie(1), 0) != DAT_SUCCESS)
                        sched_yield();
                while (dat_evd_dequeue(end->request_evd, &event) == DAT_SUCCESS)
                        ;
        }
        return NULL;
}

/* Takes the receives that have come back, messages or not; returns how many. */
static int take_back(struct end *end)
{
        DAT_EVENT event;
        int count = 0;

        while (dat_evd_dequeue(end->recv_evd, &event) == DAT_SUCCESS)
                count++;
        return count;
}

/*
 * An EP that is disconnected during its messages gives each receive of its SRQ back, by
 * its event or to the others; what is left on the queue takes messages to the last.
 */
static void disconnects_against_messages(void **state)
{
        struct host *host = host_open();
        struct end *a = &host->a;
        struct end *b = &host->b;
        pthread_t sender;
        int posted = 0;

        (void)state;
        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, a, NULL);
        end_make_with_srq(host, b, NULL, QUEUE);
        atomic_store(&stop, false);
        assert_int_equal(pthread_create(&sender, NULL, send_long_ones, a), 0);
        for (int i = 0; i < DISCONNECTS; i++) {
                for (; posted < QUEUE; posted++)
                        post_srq(b, 0, TWO_PACKETS, 0);
                join_ends(host, a, b);
                (void)await_event(b->recv_evd, DAT_DTO_COMPLETION_EVENT);
                assert_dat(dat_ep_disconnect(b->ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
                (void)await_event(b->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
                (void)await_event(a->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
                posted -= 1 + take_back(b);
                assert_int_equal(srq_counts(b->srq).available_dto_count, posted);
                assert_dat(dat_ep_reset(a->ep), DAT_SUCCESS);
                assert_dat(dat_ep_reset(b->ep), DAT_SUCCESS);
        }
        atomic_store(&stop, true);
        assert_int_equal(pthread_join(sender, NULL), 0);
        join_ends(host, a, b);
        for (; posted; posted--) {
                post_send(a, 0, TWO_PACKETS, 2);
                await_completion(b->recv_evd, b->ep, 0, DAT_DTO_SUCCESS, TWO_PACKETS);
                await_completion(a->request_evd, a->ep, 2, DAT_DTO_SUCCESS, TWO_PACKETS);
        }
        host_close(host);
}

struct binder {
        DAT_RMR_HANDLE rmr;
        DAT_EP_HANDLE ep;
};

static void *bind_in_vain(void *argument)
{
        struct binder *binder = argument;
        DAT_LMR_TRIPLET nothing = {.segment_length = 10};
        DAT_RMR_CONTEXT context;

        while (!atomic_load(&stop))
                (void)dat_rmr_bind(binder->rmr, &nothing, DAT_MEM_PRIV_NONE_FLAG, binder->ep,
                                   cookie(1), DAT_COMPLETION_DEFAULT_FLAG, &context);
        return NULL;
}

/* A request that is refused while another is under way leaves nothing in that one's way. */
static void binds_beside_refused_ones(void **state)
{
        struct host *host = host_joined();
        DAT_LMR_TRIPLET region = segment(&host->a, 0, 10);
        DAT_RMR_CONTEXT context;
        struct binder other = {.ep = host->a.ep};
        DAT_RMR_HANDLE rmr;
        pthread_t thread;

        (void)state;
        assert_dat(dat_rmr_create(host->pz, &rmr), DAT_SUCCESS);
        assert_dat(dat_rmr_create(host->pz, &other.rmr), DAT_SUCCESS);
        atomic_store(&stop, false);
        assert_int_equal(pthread_create(&thread, NULL, bind_in_vain, &other), 0);
        for (uint64_t i = 0; i < 5000; i++) {
                assert_dat(dat_rmr_bind(rmr, &region, DAT_MEM_PRIV_REMOTE_READ_FLAG, host->a.ep,
                                        cookie(i), DAT_COMPLETION_DEFAULT_FLAG, &context),
                           DAT_SUCCESS);
                (void)await_event(host->a.request_evd, DAT_RMR_BIND_COMPLETION_EVENT);
        }
        atomic_store(&stop, true);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_dat(dat_rmr_free(other.rmr), DAT_SUCCESS);
        assert_dat(dat_rmr_free(rmr), DAT_SUCCESS);
        host_close(host);
}

static void *use_stale_handles(void *argument)
{
        struct end *end = argument;
        DAT_EVENT event;
        DAT_COUNT nmore;

        while (!atomic_load(&stop)) {
                (void)dat_ep_get_status(end->ep, NULL, NULL, NULL);
                (void)dat_evd_wait(end->recv_evd, 1000, 1, &event, &nmore);
                (void)dat_ep_post_send(end->ep, 0, NULL, cookie(1), 0);
        }
        return NULL;
}

/* Calls continue while their IA is closed. */
static void calls_against_close(void **state)
{
        (void)state;
        for (int i = 0; i < 5; i++) {
                struct host *host = host_joined();
                pthread_t thread;

                atomic_store(&stop, false);
                assert_int_equal(pthread_create(&thread, NULL, use_stale_handles, &host->a), 0);
                (void)state_of(host->a.ep);
                assert_dat(dat_ia_close(host->ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
                atomic_store(&stop, true);
                assert_int_equal(pthread_join(thread, NULL), 0);
                free(host->a.memory);
                free(host->b.memory);
                free(host);
        }
}

struct moving {
        DAT_PZ_HANDLE pzs[2];
        _Atomic(DAT_EP_HANDLE) ep;
};

/* Takes the EP from zone to zone, as often as it lets itself be taken. */
static void *change_zones(void *argument)
{
        struct moving *moving = argument;
        DAT_EP_PARAM param;

        for (int i = 0; !atomic_load(&stop); i++) {
                param.pz_handle = moving->pzs[i % 2];
                (void)dat_ep_modify(atomic_load(&moving->ep), DAT_EP_FIELD_PZ_HANDLE, &param);
                sched_yield();
        }
        return NULL;
}

/* What has been posted was checked against the zone that the EP has from then on. */
static void posts_against_changes_of_the_zone(void **state)
{
        struct host *host = host_open();
        struct end *b = &host->b;
        struct moving moving = {.ep = DAT_HANDLE_NULL};
        DAT_EP_ATTR attr = plain_attr();
        DAT_LMR_TRIPLET iov;
        DAT_EP_PARAM param;
        pthread_t thread;
        DAT_EP_HANDLE ep;
        DAT_RETURN ret;

        (void)state;
        end_make(host, b, NULL);
        iov = segment(b, 0, 64);
        moving.pzs[0] = host->pz;
        assert_dat(dat_pz_create(host->ia, &moving.pzs[1]), DAT_SUCCESS);
        atomic_store(&stop, false);
        assert_int_equal(pthread_create(&thread, NULL, change_zones, &moving), 0);
        for (int i = 0; i < RIVALRY; i++) {
                assert_dat(dat_ep_create(host->ia, host->pz, b->recv_evd, DAT_HANDLE_NULL,
                                         DAT_HANDLE_NULL, &attr, &ep),
                           DAT_SUCCESS);
                atomic_store(&moving.ep, ep);
                sched_yield();
                ret = dat_ep_post_recv(ep, 1, &iov, cookie(1), 0);
                if (DAT_GET_TYPE(ret) != DAT_PROTECTION_VIOLATION) {
                        assert_dat(ret, DAT_SUCCESS);
                        assert_dat(dat_ep_query(ep, DAT_EP_FIELD_PZ_HANDLE, &param), DAT_SUCCESS);
                        assert_ptr_equal(param.pz_handle, host->pz);
                }
                assert_dat(dat_ep_free(ep), DAT_SUCCESS);
        }
        atomic_store(&stop, true);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_dat(dat_pz_free(moving.pzs[1]), DAT_SUCCESS);
        host_close(host);
}

struct parting {
        DAT_EVD_HANDLE evd;
        DAT_EP_HANDLE ep;
};

/* Frees what it is given, at the lowest priority: a thread that it wakes runs before it. */
static void *free_slowly(void *argument)
{
        const struct sched_param param = {0};
        struct parting *parting = argument;

        (void)pthread_setschedparam(pthread_self(), SCHED_IDLE, &param);
        if (parting->ep)
                must(dat_ep_free(parting->ep));
        if (parting->evd)
                must(dat_evd_free(parting->evd));
        return NULL;
}

static void close_abruptly(struct host *host)
{
        assert_dat(dat_ia_close(host->ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        free(host->a.memory);
        free(host->b.memory);
        free(host);
}

/* The waiter on the CNO is released during the EVD's end, and closes the IA. */
static void close_overtakes_the_free_of_an_evd(void **state)
{
        (void)state;
        for (int i = 0; i < 5; i++) {
                struct host *host = host_joined();
                struct parting parting = {.evd = host->b.recv_evd};
                DAT_EVD_HANDLE heard;
                DAT_CNO_HANDLE cno;
                pthread_t thread;

                assert_dat(dat_cno_create(host->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno),
                           DAT_SUCCESS);
                assert_dat(dat_evd_modify_cno(host->b.recv_evd, cno), DAT_SUCCESS);
                assert_dat(dat_ep_free(host->b.ep), DAT_SUCCESS);
                assert_int_equal(pthread_create(&thread, NULL, free_slowly, &parting), 0);
                (void)dat_cno_wait(cno, LONG, &heard);
                close_abruptly(host);
                assert_int_equal(pthread_join(thread, NULL), 0);
        }
}

/* The peer gets the disconnect during the EP's end, and closes the IA. */
static void close_overtakes_the_free_of_an_ep(void **state)
{
        (void)state;
        for (int i = 0; i < 5; i++) {
                struct host *host = host_joined();
                struct parting parting = {.ep = host->b.ep};
                pthread_t thread;

                assert_int_equal(pthread_create(&thread, NULL, free_slowly, &parting), 0);
                (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
                close_abruptly(host);
                assert_int_equal(pthread_join(thread, NULL), 0);
        }
}

struct rival {
        struct host *host;
        DAT_EVD_HANDLE evd;
        DAT_COMPLETION_FLAGS flags;
        atomic_bool *others;
        atomic_bool holds;
};

/* Puts EPs on the EVD, of which there may be none while it has one with the other's flags. */
static void *put_and_remove(void *argument)
{
        struct rival *rival = argument;
        DAT_EP_ATTR attr = plain_attr();
        DAT_EP_HANDLE ep;
        DAT_RETURN ret;

        attr.recv_completion_flags = rival->flags;
        for (int made = 0; made < RIVALRY;) {
                ret = dat_ep_create(rival->host->ia, rival->host->pz, rival->evd, DAT_HANDLE_NULL,
                                    DAT_HANDLE_NULL, &attr, &ep);
                if (DAT_GET_TYPE(ret) == DAT_INVALID_PARAMETER) {
                        sched_yield();
                        continue;
                }
                must(ret);
                atomic_store(&rival->holds, true);
                sched_yield();
                if (atomic_load(rival->others))
                        abort();
                atomic_store(&rival->holds, false);
                must(dat_ep_free(ep));
                made++;
        }
        return NULL;
}

static void streams_that_do_not_go_together(void **state)
{
        struct host *host = host_open();
        struct rival rivals[2] = {{.flags = DAT_COMPLETION_DEFAULT_FLAG},
                                  {.flags = DAT_COMPLETION_UNSIGNALLED_FLAG}};
        pthread_t threads[2];
        DAT_EVD_HANDLE evd;

        (void)state;
        assert_dat(dat_evd_create(host->ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd),
                   DAT_SUCCESS);
        for (int i = 0; i < 2; i++) {
                rivals[i].host = host;
                rivals[i].evd = evd;
                rivals[i].others = &rivals[1 - i].holds;
        }
        for (int i = 0; i < 2; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, put_and_remove, &rivals[i]), 0);
        for (int i = 0; i < 2; i++)
                assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        host_close(host);
}

#define OPENERS  2
#define OPENINGS 30

static _Atomic DAT_EVD_HANDLE lent_evd;

/* Accepts a request, if one arrives. Returns the event that says what came of it, or 0. */
static DAT_EVENT_NUMBER accept_any(struct host *host)
{
        DAT_EVENT event;
        DAT_COUNT nmore;

        if (dat_evd_wait(host->cr_evd, QUIET, 1, &event, &nmore) != DAT_SUCCESS)
                return 0;
        must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, host->b.ep, 0, NULL));
        must(dat_evd_wait(host->b.connect_evd, LONG, 1, &event, &nmore));
        return event.event_number;
}

/*
 * On two processors the kernel may see the cancellation of a request before the request. The
 * accepting end is still told soon, not only when its own limit of 30 s is over.
 */
static void accepts_against_timeouts(void **state)
{
        struct host *host = host_listening();
        DAT_EVENT_NUMBER accepted;
        DAT_EVENT event;
        DAT_COUNT nmore;

        (void)state;
        for (unsigned int i = 0; i < 400; i++) {
                must(dat_ep_connect(host->a.ep, host->attr.ia_address_ptr, host->qual,
                                    1 + i * 7919 % 20000, 0, NULL, DAT_QOS_BEST_EFFORT,
                                    DAT_CONNECT_DEFAULT_FLAG));
                accepted = accept_any(host);
                must(dat_evd_wait(host->a.connect_evd, LONG, 1, &event, &nmore));
                if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
                        assert_int_equal(accepted, DAT_CONNECTION_EVENT_ESTABLISHED);
                        must(dat_ep_disconnect(host->a.ep, DAT_CLOSE_ABRUPT_FLAG));
                        await(host->a.connect_evd);
                        await(host->b.connect_evd);
                } else if (accepted) {
                        assert_int_equal(accepted, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
                }
                must(dat_ep_reset(host->a.ep));
                must(dat_ep_reset(host->b.ep));
        }
        host_close(host);
}

/* Opens IAs whose async EVD the others may use, and takes it from them by the close. */
static void *lend_async_evds(void *argument)
{
        while (!atomic_load(&stop)) {
                DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
                DAT_IA_HANDLE ia;

                must(dat_ia_open((DAT_NAME_PTR) "ref0", 8, &evd, &ia));
                atomic_store(&lent_evd, evd);
                sched_yield();
                must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
        }
        return argument;
}

/* Opens IAs with an async EVD of their own and with a lent one, which may be gone, in turn. */
static void *open_and_close(void *argument)
{
        for (int i = 0; i < OPENINGS; i++) {
                DAT_EVD_HANDLE evd = i % 2 ? atomic_load(&lent_evd) : DAT_HANDLE_NULL;
                DAT_RETURN ret;
                DAT_IA_HANDLE ia;

                ret = dat_ia_open((DAT_NAME_PTR) "ref0", 8, &evd, &ia);
                if (i % 2 && DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE)
                        continue;
                must(ret);
                must(dat_ia_query(ia, &evd, 0, NULL, 0, NULL));
                must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
        }
        return argument;
}

/* IAs know of each other because one may report on the async EVD of another. */
static void opens_against_closes(void **state)
{
        pthread_t openers[OPENERS];
        pthread_t lender;

        (void)state;
        atomic_store(&stop, false);
        assert_int_equal(pthread_create(&lender, NULL, lend_async_evds, NULL), 0);
        for (int i = 0; i < OPENERS; i++)
                assert_int_equal(pthread_create(&openers[i], NULL, open_and_close, NULL), 0);
        for (int i = 0; i < OPENERS; i++)
                assert_int_equal(pthread_join(openers[i], NULL), 0);
        atomic_store(&stop, true);
        assert_int_equal(pthread_join(lender, NULL), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(traffic_and_churn),
            cmocka_unit_test(posts_against_disconnects),
            cmocka_unit_test(disconnects_against_messages),
            cmocka_unit_test(binds_beside_refused_ones),
            cmocka_unit_test(streams_that_do_not_go_together),
            cmocka_unit_test(posts_against_changes_of_the_zone),
            cmocka_unit_test(calls_against_close),
            cmocka_unit_test(close_overtakes_the_free_of_an_evd),
            cmocka_unit_test(close_overtakes_the_free_of_an_ep),
            cmocka_unit_test(opens_against_closes),
            unless_iwarp(accepts_against_timeouts, "iWARP: the end of a stream cancels a request"),
        };

        return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
