/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What breaks outside. These tests take devices and links away, so they run only where that is
 * allowed: DAPLREF_TEST_MAY_BREAK says so. Without arguments, the device of this host is removed.
 * `serve` and an address are the two ends of connections whose second end is gone without a word:
 * first its process, then its host's link.
 */
#include "loopback.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUAL 7800

static const char *peer;

static pid_t command(const char *text)
{
        pid_t pid = fork();

        if (!pid) {
                execl("/bin/sh", "sh", "-c", text, (char *)NULL);
                _exit(127);
        }
        assert_true(pid > 0);
        return pid;
}

static void finish(pid_t pid)
{
        int status;

        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void a_removed_device_breaks_its_connections(void **state)
{
        struct host *host = host_joined();
        DAT_EVENT event;

        (void)state;
        post_recv(&host->a, 0, 10, 1);
        (void)command("rdma link delete rxe0");
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_BROKEN);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_BROKEN);
        await_completion(host->a.recv_evd, host->a.ep, 1, DAT_DTO_ERR_FLUSHED, 0);
        event = await_event(host->async_evd, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
        assert_ptr_equal(event.event_data.asynch_error_event_data.dat_handle, host->ia);
        host_close(host);
        /* The removal itself is over when this process is: librdmacm keeps the device open. */
}

static void await_broken(struct end *end)
{
        DAT_EVENT event;
        DAT_COUNT nmore;

        assert_dat(dat_evd_wait(end->connect_evd, 3 * LONG, 1, &event, &nmore), DAT_SUCCESS);
        assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_BROKEN);
}

/* Serves a peer that ends without a packet. */
static struct host *serve(void)
{
        struct host *host = host_open();

        host->qual = QUAL;
        end_make(host, &host->b, NULL);
        post_recv(&host->b, 0, 10, 1);
        assert_dat(dat_psp_create(host->ia, QUAL, host->cr_evd, DAT_PSP_CONSUMER_FLAG, &host->psp),
                   DAT_SUCCESS);
        assert_dat(dat_cr_accept(await_request(host), host->b.ep, 0, NULL), DAT_SUCCESS);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        post_send(&host->b, 0, 10, 2);
        await_completion(host->b.request_evd, host->b.ep, 2, DAT_DTO_SUCCESS, 10);
        return host;
}

static void lose(struct host *host)
{
        await_broken(&host->b);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_ERR_FLUSHED, 0);
        host_close(host);
}

static void the_other_process_vanishes(void **state)
{
        (void)state;
        lose(serve());
}

/* From whom something is due is asked without being told to. */
static void the_other_host_vanishes(void **state)
{
        struct host *host;

        (void)state;
        (void)unsetenv("DAPLREF_PROBE_ALL");
        host = serve();
        post_send(&host->b, 0, 10, 3); /* which can no longer arrive */
        lose(host);
}

/* Returns when the connection is there on both sides, as a message shows. */
static struct host *request(void)
{
        struct host *host = host_open();
        struct sockaddr_in to = {.sin_family = AF_INET};
        DAT_EVENT event;
        DAT_COUNT nmore;

        inet_pton(AF_INET, peer, &to.sin_addr);
        end_make(host, &host->a, NULL);
        post_recv(&host->a, 0, 10, 1);
        for (int attempt = 0; attempt < 100; attempt++) {
                assert_dat(dat_ep_connect(host->a.ep, (DAT_IA_ADDRESS_PTR)&to, QUAL, LONG, 0, NULL,
                                          DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
                           DAT_SUCCESS);
                assert_dat(dat_evd_wait(host->a.connect_evd, 2 * LONG, 1, &event, &nmore),
                           DAT_SUCCESS);
                if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
                        break;
                await_completion(host->a.recv_evd, host->a.ep, 1, DAT_DTO_ERR_FLUSHED, 0);
                assert_dat(dat_ep_reset(host->a.ep), DAT_SUCCESS);
                post_recv(&host->a, 0, 10, 1);
                assert_silent(host->async_evd);
        }
        assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
        await_completion(host->a.recv_evd, host->a.ep, 1, DAT_DTO_SUCCESS, 10);
        return host;
}

static void the_last_word_is_lost(void **state)
{
        char byte = 'x';
        int connected[2];
        int status;
        pid_t other;

        (void)state;
        assert_int_equal(pipe(connected), 0);
        other = fork();
        if (!other) {
                (void)request();
                if (write(connected[1], &byte, 1) == 1)
                        pause();
                _exit(1);
        }
        close(connected[1]);
        assert_int_equal(read(connected[0], &byte, 1), 1);
        close(connected[0]);
        finish(command("tc qdisc add dev eth0 root netem loss 100%"));
        kill(other, SIGKILL);
        assert_int_equal(waitpid(other, &status, 0), other);
        finish(command("tc qdisc del dev eth0 root"));
}

static void the_link_goes_down(void **state)
{
        struct host *host = request();

        (void)state;
        finish(command("ip link set eth0 down"));
        await_broken(&host->a);
        host_close(host);
}

int main(int argc, char **argv)
{
        const struct CMUnitTest removal[] = {
            cmocka_unit_test(a_removed_device_breaks_its_connections)};
        const struct CMUnitTest server[] = {cmocka_unit_test(the_other_process_vanishes),
                                            cmocka_unit_test(the_other_host_vanishes)};
        const struct CMUnitTest client[] = {cmocka_unit_test(the_last_word_is_lost),
                                            cmocka_unit_test(the_link_goes_down)};

        if (!getenv("DAPLREF_TEST_MAY_BREAK")) {
                (void)fprintf(stderr,
                              "%s breaks links and devices; in a guest, where that does no "
                              "harm, set DAPLREF_TEST_MAY_BREAK=yes\n",
                              argv[0]);
                return 64;
        }
        (void)setenv("DAPLREF_PROBE_SECONDS", "1", 0);
        (void)setenv("DAPLREF_PROBE_ALL", "yes", 0);
        if (argc == 1)
                return cmocka_run_group_tests_name("faults", removal, NULL, NULL);
        if (!strcmp(argv[1], "serve"))
                return cmocka_run_group_tests_name("faults", server, NULL, NULL);
        peer = argv[1];
        return cmocka_run_group_tests_name("faults", client, NULL, NULL);
}
