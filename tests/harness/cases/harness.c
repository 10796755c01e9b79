/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases that say, whatever the provider, what the harness has to say. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "case.h"
#include "case/limits.h"
#include "case/poison.h"
#include "case/standard.h"

CASE_WITH(harness, passes, .needs = 0)
{
        DAT_PZ_HANDLE zone = pz_new(t);

        disown(t, zone);
        must(dat_pz_free(zone));
        expect_eq(1 + 1, 2);
        record(t, "a fact: %d", 42);
}

CASE_WITH(harness, needs_a_limit, .needs = 0)
{
        expect_that(limit_told(max_srqs) == 4, "max_srqs is another");
}

CASE_WITH(harness, notes, .needs = 0)
{
        note(t, "first remark");
        note(t, "second remark");
}

CASE_WITH(harness, ends_noted, .needs = 0)
{
        note(t, "first remark");
        end_noted(t, "nothing is to be seen");
}

CASE_WITH(harness, fails_by_value, .needs = 0)
{
        note(t, "a remark before the failure");
        expect_eq(1 + 1, 3);
}

CASE_WITH(harness, fails_by_flags, .needs = 0)
{
        DAT_EVD_PARAM param = {.evd_flags = DAT_EVD_DTO_FLAG | DAT_EVD_CR_FLAG};

        expect_eq(param.evd_flags, DAT_EVD_ASYNC_FLAG);
}

CASE_WITH(harness, fails_by_size, .needs = 0)
{
        DAT_LMR_PARAM param = {.length = 4096};
        int wanted = 8192;

        expect_eq(param.length, wanted);
}

static DAT_SRQ_STATE srq_state(const DAT_SRQ_PARAM *param)
{
        return param->srq_state;
}

CASE_WITH(harness, fails_by_queried_state, .needs = 0)
{
        DAT_SRQ_PARAM param = {.srq_state = DAT_SRQ_STATE_ERROR};
        DAT_SRQ_STATE wanted = DAT_SRQ_STATE_OPERATIONAL;

        expect_eq(srq_state(&param), wanted);
}

CASE_WITH(harness, fails_by_what_is_unwritten, .needs = 0)
{
        DAT_COUNT number;

        poison(&number, sizeof(number));
        expect_eq(number, 7);
}

CASE_WITH(harness, fails_by_no_event, .needs = 0)
{
        DAT_EVENT event = {.event_number = 0};

        expect_eq(event.event_number, DAT_SOFTWARE_EVENT);
}

CASE_WITH(harness, fails_by_condition, .needs = 0)
{
        expect_that(t == NULL, "t is there");
}

CASE_WITH(harness, fails_by_return, .needs = 0)
{
        expect(dat_evd_dequeue(async_evd(t), &(DAT_EVENT){.event_number = 0}), DAT_SUCCESS,
               DAT_INVALID_STATE);
}

CASE_WITH(harness, notes_by_return, .needs = 0)
{
        expect_or_note(dat_evd_dequeue(async_evd(t), &(DAT_EVENT){.event_number = 0}), DAT_SUCCESS,
                       DAT_QUEUE_EMPTY);
}

CASE_WITH(harness, notes_unnamed_refusal, .needs = 0)
{
        expect_may(dat_evd_dequeue(async_evd(t), &(DAT_EVENT){.event_number = 0}), DAT_SUCCESS,
                   DAT_INVALID_STATE);
}

CASE_WITH(harness, notes_a_grant, .needs = 0)
{
        DAT_PZ_HANDLE zone = pz_new(t);

        disown(t, zone);
        expect_refused_or_note(dat_pz_free(zone), DAT_INVALID_STATE);
}

CASE_WITH(harness, breaks, .needs = 0)
{
        must(dat_evd_dequeue(async_evd(t), &(DAT_EVENT){.event_number = 0}));
}

CASE_WITH(harness, breaks_by_condition, .needs = 0)
{
        suite_that(1 > 2, "one is %d", 1);
}

CASE_WITH(harness, is_blocked_by_condition, .needs = 0)
{
        DAT_PZ_HANDLE zone = DAT_HANDLE_NULL;

        must(dat_pz_create(ia(t), &zone));
        adopt(t, DAT_HANDLE_TYPE_PZ, zone);
        must_that(1 > 2, "one is %d", 1);
}

CASE_WITH(harness, is_blocked_by_a_call, .needs = 0)
{
        must_that_of("dat_cr_query", 1 > 2, "one is %d", 1);
}

CASE_WITH(harness, lacks, .needs = 0)
{
        resource(t, "no more %s", "tea");
}

CASE_WITH(harness, declines, .needs = 0)
{
        unsupported(t, "tea_supported = 0");
}

CASE_WITH(harness, crashes, .needs = 0)
{
        raise(SIGSEGV);
        record(t, "not reached: %p", (void *)t);
}

CASE_WITH(harness, hangs, .needs = 0)
{
        (void)t;
        for (;;)
                pause();
}

CASE_WITH(harness, leaves, .needs = 0)
{
        (void)t;
        exit(0);
}

CASE_WITH(harness, prints, .needs = 0)
{
        printf("{\"type\":\"verdict\",\"seq\":1,\"verdict\":\"FAIL\"}\n");
        fflush(stdout);
        expect_that(ia(t) != DAT_HANDLE_NULL, "there is no IA");
}

CASE_WITH(harness, leaks_object, .needs = 0)
{
        disown(t, pz_new(t));
        expect_that(ia(t) != DAT_HANDLE_NULL, "there is no IA");
}

CASE_WITH(harness, releases, .needs = 0)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        struct buf *buf = buf_with(t);

        release(t, buf);
        release(t, srq);
        expect(dat_srq_resize(srq, 1), DAT_INVALID_HANDLE);
}

/* The handle of an object may have the number of the constant, as an IA of DAT 2.0 has. */
CASE_WITH(harness, names_constants, .needs = 0)
{
        DAT_EVD_HANDLE async = DAT_EVD_ASYNC_EXISTS;
        DAT_IA_HANDLE again;

        must(dat_ia_open(ia_name(t), 8, &async, &again));
        adopt(t, DAT_HANDLE_TYPE_IA, again);
}

CASE_WITH(harness, names_handles, .needs = 0)
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

CASE_WITH(harness, takes_wild_pointers, .needs = 0)
{
        DAT_LMR_TRIPLET *wild = (DAT_LMR_TRIPLET *)0x3;

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
CASE_WITH(harness, starts_clean, .needs = 0)
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

CASE_WITH(harness, calls_much, .needs = 0)
{
        DAT_EVENT event;

        for (int i = 0; i < 5000; i++)
                expect(dat_evd_dequeue(async_evd(t), &event), DAT_QUEUE_EMPTY);
}

CASE_WITH(harness, has_own_deadline, DEADLINE_MS(1234))
{
        (void)t;
}

CASE_WITH(harness, damages_guard, .needs = 0)
{
        struct buf *buf = buf_with(t, .length = 10);

        buf->addr[10] = 0;
}

/* What is gone with the IA is not freed again; what another IA has is. */
CASE_WITH(harness, closes_ia, .needs = 0)
{
        DAT_IA_HANDLE other = other_ia(t);
        DAT_IA_HANDLE reopened;

        (void)buf_with(t);
        must(dat_ia_close(ia(t), DAT_CLOSE_ABRUPT_FLAG));
        ia_closed(t);
        ia_reopen(t, DAT_HANDLE_NULL);
        reopened = ia(t);
        (void)buf_with(t);
        release_all(t);
        must(dat_ia_close(reopened, DAT_CLOSE_GRACEFUL_FLAG));
        ia_closed(t);
        expect_that(other_ia(t) == other, "the other IA is gone");
        (void)pz_of(t, other);
}

CASE_WITH(harness, damages_guard_of_closed_ia, .needs = 0)
{
        struct buf *buf = buf_with(t, .length = 10);

        buf->addr[10] = 0;
        must(dat_ia_close(ia(t), DAT_CLOSE_ABRUPT_FLAG));
        ia_closed(t);
}

CASE_WITH(harness, settles, .needs = 0)
{
        settle(t);
        expect_that(!drain_async_event(t), "an event");
}

CASE_WITH(harness, fills_messages, .needs = 0)
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

CASE_WITH(harness, starts_peer, .peers = 1)
{
        expect_that(peer(t) == peer(t), "two peers");
}

CASE_WITH(harness, kills_peer, .peers = 1)
{
        peer_kill(peer(t));
        expect_that(ia(t) != DAT_HANDLE_NULL, "there is no IA");
}

/* The next command wakes it up again. */
CASE_WITH(harness, freezes_peer, .peers = 1)
{
        peer_freeze(peer(t));
        settle(t);
        peer_freeze(peer(t));
        peer_kill(peer(t));
        expect_that(ia(t) != DAT_HANDLE_NULL, "there is no IA");
}

CASE_WITH(harness, has_peer_listen, .peers = 1)
{
        struct peer_place one = peer_listen(peer(t));
        struct peer_place other = peer_listen(peer(t));

        expect_that(one.qual != other.qual, "two service points have one qualifier");
        peer_stop_listening(peer(t), one.qual);
        expect_that(!peer_has_request(peer(t)), "a request of nobody");
}

CASE_WITH(harness, stops_listening_twice, .peers = 1)
{
        struct peer_place place = peer_listen(peer(t));

        peer_stop_listening(peer(t), place.qual);
        peer_stop_listening(peer(t), place.qual);
}

CASE_WITH(harness, takes_request_of_nobody, .peers = 1)
{
        peer_listen(peer(t));
        peer_take_request(peer(t));
}

CASE_WITH(harness, answers_no_request, .peers = 1)
{
        struct peer_cr request = {.peer = peer(t), .number = 0};

        peer_reject(&request);
}

CASE_WITH(harness, gives_peer_too_much, .peers = 1)
{
        unsigned char bytes[PEER_PRIVATE_MAX + 1] = {0};

        peer_ask(peer(t), 1, .private_data = bytes, .private_data_size = sizeof(bytes));
}

CASE_WITH(harness, disturbs_network, .peers = 1, .network = true)
{
        peer_disturb(peer(t), .delay_ms = 1);
}

CASE_WITH(harness, disturbs_undeclared, .peers = 1)
{
        peer_disturb(peer(t), .delay_ms = 1);
}

CASE_WITH(harness, outlives_peer, .peers = 1)
{
        peer_kill(peer(t));
        peer_connect(peer(t), DAT_HANDLE_NULL);
}

CASE_WITH(harness, has_no_peer, .needs = 0)
{
        peer(t);
}

CASE_WITH(harness, asks_too_much_of_peer, .peers = 1)
{
        peer_connect(peer(t), DAT_HANDLE_NULL);
}

CASE_WITH(harness, crashes_beside_a_peer, .peers = 1)
{
        peer(t);
        raise(SIGABRT);
}

CASE_WITH(harness, hangs_beside_a_peer, .peers = 1)
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

FAMILY_WITH(harness, feels, weathers, .needs = 0)
{
        record(t, "%d degrees", row->degrees);
        expect_that(row->degrees > 0, "%d degrees", row->degrees);
}

CASE_WITH(harness, destroys_too_early, .needs = 0)
{
        DAT_SRQ_HANDLE gone = bad_handle(t, DAT_HANDLE_TYPE_SRQ, BAD_HANDLE_DESTROYED);

        srq_with(t);
        expect(dat_srq_resize(gone, 16), DAT_INVALID_HANDLE);
}

CASE_WITH(harness, destroys_last, .needs = 0)
{
        DAT_SRQ_HANDLE gone;

        srq_with(t);
        gone = bad_handle(t, DAT_HANDLE_TYPE_SRQ, BAD_HANDLE_DESTROYED);
        expect(dat_srq_resize(gone, 16), DAT_INVALID_HANDLE);
}

/* As where another thread had a lock when the process was made. */
static DAT_RETURN silent_at_first(void *arg)
{
        int *asked = arg;

        while (++*asked == 1)
                pause();
        return DAT_SUCCESS;
}

CASE_WITH(harness, asks_apart_again, .needs = 0)
{
        int *asked =
            mmap(NULL, sizeof(*asked), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        DAT_RETURN ret = DAT_INTERNAL_ERROR;

        expect_that(asked != MAP_FAILED, "no memory that two processes share");
        expect_that(subprocess_call(t, silent_at_first, asked, &ret), "the call ended its process");
        expect_eq(ret, DAT_SUCCESS);
        expect_eq(*asked, 2);
        munmap(asked, sizeof(*asked));
}

static pid_t own_process;

/* As a provider that crashes on a handle that is gone, which is asked in a process of its own. */
static DAT_RETURN free_or_crash(void *pz)
{
        if (getpid() != own_process)
                raise(SIGSEGV);
        return dat_pz_free(pz);
}

CASE_WITH(harness, frees_a_live_one_too, .needs = 0)
{
        DAT_PZ_HANDLE gone = bad_handle(t, DAT_HANDLE_TYPE_PZ, BAD_HANDLE_DESTROYED);

        own_process = getpid();
        expect_stale(free_or_crash, pz_new(t), gone);
}

static DAT_RETURN free_zone(void *pz)
{
        return dat_pz_free(pz);
}

/* As a provider that takes a handle that is gone: the case knows of no object that has it. */
CASE_WITH(harness, uses_a_live_one, .needs = 0)
{
        DAT_PZ_HANDLE pz;

        must(dat_pz_create(ia(t), &pz));
        expect_stale(free_zone, pz, pz);
}

/* As a provider that gives a handle again: a later object of the case has it. */
CASE_WITH(harness, meets_a_later_one, .needs = 0)
{
        DAT_PZ_HANDLE pz = pz_new(t);

        expect_stale(free_zone, pz_new(t), pz);
}
