/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * On iWARP a kernel may tell of a rejection without what the peer said with it. Here it does so as
 * often as a test wants.
 */
#include "loopback.h"

#include <dlfcn.h>
#include <rdma/rdma_cma.h>
#include <sched.h>
#include <stdatomic.h>

#define ALWAYS_SAID "what a peer says of a rejection always comes here"
#define EVER        1000

static atomic_int to_lose;
static atomic_int lost;

/* The provider's, for this program is asked before librdmacm. */
int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
        int (*real)(struct rdma_event_channel *, struct rdma_cm_event **) =
            (int (*)(struct rdma_event_channel *, struct rdma_cm_event **))dlsym(
                RTLD_NEXT, "rdma_get_cm_event");
        int ret = real(channel, event);

        if (ret || (*event)->event != RDMA_CM_EVENT_REJECTED || atomic_load(&to_lose) == 0)
                return ret;
        atomic_fetch_sub(&to_lose, 1);
        atomic_fetch_add(&lost, 1);
        (*event)->param.conn.private_data_len = 0;
        return ret;
}

static void lose(int rejections)
{
        atomic_store(&lost, 0);
        atomic_store(&to_lose, rejections);
}

static void assert_rejected(int losses, DAT_EVENT_NUMBER told)
{
        struct host *host = host_listening();

        lose(losses);
        connect_to(host, &host->a, host->qual);
        assert_dat(dat_cr_reject(await_request(host)), DAT_SUCCESS);
        (void)await_event(host->a.connect_evd, told);
        assert_silent(host->a.connect_evd);
        assert_silent(host->cr_evd);
        assert_int_equal(state_of(host->a.ep), DAT_EP_STATE_DISCONNECTED);
        assert_int_equal(atomic_load(&lost), losses < EVER ? losses : 4);
        lose(0);
        host_close(host);
}

static void is_told_as_it_was_meant(void **state)
{
        (void)state;
        for (int losses = 0; losses < 4; losses++)
                assert_rejected(losses, DAT_CONNECTION_EVENT_PEER_REJECTED);
}

static void is_nobodys_where_nothing_comes(void **state)
{
        (void)state;
        assert_rejected(EVER, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

/* The rejecting side keeps its service point, but it has not rejected this request. */
static void of_the_provider_stays_its_own(void **state)
{
        struct host *host = host_listening();
        DAT_CONN_QUAL nobodys = host->qual;

        (void)state;
        assert_dat(dat_psp_free(host->psp), DAT_SUCCESS);
        host->psp = DAT_HANDLE_NULL;
        lose(1);
        connect_to(host, &host->a, nobodys);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        lose(0);
        host_close(host);
}

/* The answer comes to an attempt that is over. */
static void is_late_for_who_has_given_up(void **state)
{
        struct host *host = host_listening();

        (void)state;
        lose(1);
        connect_to(host, &host->a, host->qual);
        assert_dat(dat_cr_reject(await_request(host)), DAT_SUCCESS);
        while (!atomic_load(&lost))
                sched_yield();
        (void)dat_ep_disconnect(host->a.ep, DAT_CLOSE_ABRUPT_FLAG);
        assert_dat(dat_ep_free(host->a.ep), DAT_SUCCESS);
        host->a.ep = DAT_HANDLE_NULL;
        assert_silent(host->cr_evd);
        host_close(host);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            only_iwarp(is_told_as_it_was_meant, ALWAYS_SAID),
            only_iwarp(is_nobodys_where_nothing_comes, ALWAYS_SAID),
            only_iwarp(of_the_provider_stays_its_own, ALWAYS_SAID),
            only_iwarp(is_late_for_who_has_given_up, ALWAYS_SAID),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
