/* SPDX-License-Identifier: BSD-2-Clause */
/* Two processes: what one sees of the other, most of all when the other dies. */
#include "loopback.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
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

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(messages_cross),
            cmocka_unit_test(a_killed_peer_is_noticed),
            cmocka_unit_test(a_server_killed_before_it_answers),
            cmocka_unit_test(a_qualifier_belongs_to_one_process),
        };

        return cmocka_run_group_tests_name("processes", tests, NULL, NULL);
}
