/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases that say, whatever the provider, what the harness has to say. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "case.h"

CASE(harness, passes)
{
        DAT_PZ_HANDLE zone = pz_new(t);

        disown(t, zone);
        must(dat_pz_free(zone));
        expect_eq(1 + 1, 2);
        record(t, "a fact: %d", 42);
}

CASE(harness, notes)
{
        note(t, "first remark");
        note(t, "second remark");
}

CASE(harness, ends_noted)
{
        note(t, "first remark");
        end_noted(t, "nothing is to be seen");
}

CASE(harness, fails_by_value)
{
        note(t, "a remark before the failure");
        expect_eq(1 + 1, 3);
}

CASE(harness, fails_by_condition)
{
        expect_that(t == NULL, "t is there");
}

CASE(harness, fails_by_return)
{
        expect(dat_evd_dequeue(async_evd(t), &(DAT_EVENT){.event_number = 0}), DAT_SUCCESS,
               DAT_INVALID_STATE);
}

CASE(harness, notes_by_return)
{
        expect_or_note(dat_evd_dequeue(async_evd(t), &(DAT_EVENT){.event_number = 0}), DAT_SUCCESS,
                       DAT_QUEUE_EMPTY);
}

CASE(harness, breaks)
{
        must(dat_evd_dequeue(async_evd(t), &(DAT_EVENT){.event_number = 0}));
}

CASE(harness, breaks_by_condition)
{
        must_that(1 > 2, "one is %d", 1);
}

CASE(harness, lacks)
{
        resource(t, "no more %s", "tea");
}

CASE(harness, declines)
{
        unsupported(t, "tea_supported = 0");
}

CASE(harness, crashes)
{
        raise(SIGSEGV);
        record(t, "not reached: %p", (void *)t);
}

CASE(harness, hangs)
{
        (void)t;
        for (;;)
                pause();
}

CASE(harness, leaves)
{
        (void)t;
        exit(0);
}

CASE(harness, prints)
{
        (void)t;
        printf("{\"type\":\"verdict\",\"seq\":1,\"verdict\":\"FAIL\"}\n");
        fflush(stdout);
}

CASE(harness, leaks_object)
{
        disown(t, pz_new(t));
}

CASE(harness, releases)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        struct buf *buf = buf_with(t);

        release(t, buf);
        release(t, srq);
        expect(dat_srq_resize(srq, 1), DAT_INVALID_HANDLE);
}

CASE(harness, names_handles)
{
        DAT_SRQ_HANDLE first = srq_with(t);
        DAT_SRQ_HANDLE second = srq_with(t);
        struct buf *buf = buf_with(t, .length = 256);

        srq_post(t, second, buf, 64, 1, 1);
        release(t, first);
        expect(dat_srq_resize(first, 1), DAT_INVALID_HANDLE);
        expect(dat_srq_resize(DAT_HANDLE_NULL, 1), DAT_INVALID_HANDLE);
        srq_param(t, second);
}

CASE(harness, takes_wild_pointers)
{
        DAT_LMR_TRIPLET *wild = (DAT_LMR_TRIPLET *)0x10;

        expect(dat_srq_post_recv(bad_handle(t, DAT_HANDLE_TYPE_SRQ, BAD_HANDLE_DESTROYED), 1, wild,
                                 (DAT_DTO_COOKIE){.as_64 = 7}),
               DAT_INVALID_HANDLE);
        expect(dat_srq_query(bad_handle(t, DAT_HANDLE_TYPE_SRQ, BAD_HANDLE_OTHER_KIND),
                             DAT_SRQ_FIELD_ALL, NULL),
               DAT_INVALID_HANDLE);
        expect(dat_srq_resize(bad_handle(t, DAT_HANDLE_TYPE_SRQ, BAD_HANDLE_NULL), 1),
               DAT_INVALID_HANDLE);
}

/* A program of its own would start like this. */
CASE(harness, starts_clean)
{
        struct rlimit core;
        sigset_t blocked;

        sigprocmask(SIG_SETMASK, NULL, &blocked);
        expect_that(!sigismember(&blocked, SIGCHLD), "SIGCHLD is blocked");
        expect_that(signal(SIGPIPE, SIG_DFL) == SIG_DFL, "SIGPIPE is ignored");
        expect_eq(getpgid(0), getpid());
        must_that(getrlimit(RLIMIT_CORE, &core) == 0, "no limit of core files");
        expect_eq(core.rlim_cur, 0);
        for (int fd = 4; fd < 1024; fd++)
                expect_that(fcntl(fd, F_GETFD) < 0, "descriptor %d is open", fd);
        expect_eq(read(STDIN_FILENO, &core, 1), 0);
}

CASE(harness, calls_much)
{
        DAT_EVENT event;

        for (int i = 0; i < 5000; i++)
                expect(dat_evd_dequeue(async_evd(t), &event), DAT_QUEUE_EMPTY);
}

CASE(harness, has_own_deadline, DEADLINE_MS(1234))
{
        (void)t;
}

CASE(harness, damages_guard)
{
        struct buf *buf = buf_with(t, .length = 10);

        buf->addr[10] = 0;
}

CASE(harness, settles)
{
        settle(t);
        expect_that(!drain_async_event(t), "an event");
}

CASE(harness, fills_messages)
{
        unsigned char long_one[100];
        unsigned char short_one[13];

        message_fill(long_one, sizeof(long_one), 7);
        message_fill(short_one, sizeof(short_one), 7);
        expect_that(memcmp(long_one, short_one, sizeof(short_one)) == 0, "prefixes differ");
        expect_that(message_holds(long_one, 50, 7), "a prefix does not hold");
        expect_that(!message_holds(long_one, 50, 8), "another message holds");
        long_one[49] ^= 1;
        expect_that(!message_holds(long_one, 50, 7), "a damaged message holds");
}

CASE(harness, starts_peer, PEER)
{
        expect_that(peer(t) == peer(t), "two peers");
}

CASE(harness, kills_peer, PEER)
{
        peer_kill(peer(t));
}

/* The next command wakes it up again. */
CASE(harness, freezes_peer, PEER)
{
        peer_freeze(peer(t));
        settle(t);
        peer_freeze(peer(t));
        peer_kill(peer(t));
}

CASE(harness, disturbs_network, PEER_BY_NETWORK)
{
        peer_disturb(peer(t), .delay_ms = 1);
}

CASE(harness, disturbs_undeclared, PEER)
{
        peer_disturb(peer(t), .delay_ms = 1);
}

CASE(harness, outlives_peer, PEER)
{
        peer_kill(peer(t));
        peer_connect(peer(t), DAT_HANDLE_NULL);
}

CASE(harness, has_no_peer)
{
        peer(t);
}

CASE(harness, asks_too_much_of_peer, PEER)
{
        peer_connect(peer(t), DAT_HANDLE_NULL);
}

CASE(harness, crashes_beside_a_peer, PEER)
{
        peer(t);
        raise(SIGABRT);
}

CASE(harness, hangs_beside_a_peer, PEER)
{
        peer(t);
        for (;;)
                pause();
}

static const struct weather {
        const char *id;
        int degrees;
} weathers[] = {
    {"cold", -5},
    {"warm", 25},
};

FAMILY(harness, feels, weathers)
{
        record(t, "%d degrees", row->degrees);
        expect_that(row->degrees > 0, "%d degrees", row->degrees);
}
