/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_close: what stands in the way of a graceful one, what an abrupt one ends, and who hears.
 */
#include "clauses/ia_close.h"
#include "case/poison.h"
#include "case/standard.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/handle/shared/object.h"
#include "cases/ia/shared/ia_objects.h"
#include "cases/ia/shared/instance.h"
#include "cases/registry/shared/consumer.h"

#include <limits.h>
#include <string.h>

#define QLEN     16
#define WAITERS  8
#define ENDS     3  /* of the peer */
#define EPS_HELD 6  /* where there is one of each */
#define MESSAGES 16 /* under way */
#define WARM     2  /* rounds before anything is counted */
#define ROUNDS   4

/* Closes the case's IA by a call that is the clause. */
static void close_now(struct test *t, DAT_CLOSE_FLAGS flags)
{
        expect(dat_ia_close(ia(t), flags), DAT_SUCCESS);
        ia_closed(t);
}

/*
 * Graceful
 */

CASE(ia_close, graceful)
{
        DAT_EVD_HANDLE async = async_evd(t);

        expect_that(async != DAT_HANDLE_NULL, "the IA has no asynchronous EVD");
        close_now(t, DAT_CLOSE_GRACEFUL_FLAG);
}

FAMILY(ia_close, graceful_refused, havings)
{
        struct held held = {.handle = DAT_HANDLE_NULL};

        row->make(t, &held);

        expect(dat_ia_close(ia(t), DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
        expect(dat_ia_close(ia(t), DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
        held_wake(t, &held);
}

FAMILY(ia_close, refusal_keeps, havings)
{
        struct held held = {.handle = DAT_HANDLE_NULL};

        row->make(t, &held);
        (void)dat_ia_close(ia(t), DAT_CLOSE_GRACEFUL_FLAG);

        expect_that(async_told(t, ia(t)) == async_evd(t), "the asynchronous EVD is another");
        row->check(t, &held);
        expect_instance_works(t, ia(t));
}

FAMILY(ia_close, graceful_after, havings)
{
        struct held held = {.handle = DAT_HANDLE_NULL};

        row->make(t, &held);
        row->check(t, &held);
        release_all(t);

        close_now(t, DAT_CLOSE_GRACEFUL_FLAG);
}

static const struct one_left {
        const char *id;
        DAT_HANDLE_TYPE type;
        bool older; /* is the one that is left */
} ones_left[] = {
    {"older_evd", DAT_HANDLE_TYPE_EVD, true}, {"newer_evd", DAT_HANDLE_TYPE_EVD, false},
    {"older_cno", DAT_HANDLE_TYPE_CNO, true}, {"newer_cno", DAT_HANDLE_TYPE_CNO, false},
    {"older_pz", DAT_HANDLE_TYPE_PZ, true},   {"newer_pz", DAT_HANDLE_TYPE_PZ, false},
};

FAMILY(ia_close, one_left, ones_left)
{
        struct live older = live_object(t, row->type, false);
        struct live newer = live_object(t, row->type, false);
        DAT_HANDLE left = row->older ? older.handle : newer.handle;
        DAT_HANDLE_TYPE type;

        release(t, row->older ? newer.handle : older.handle);
        expect(dat_ia_close(ia(t), DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
        expect(dat_get_handle_type(left, &type), DAT_SUCCESS);
        expect_eq(type, row->type);
        release(t, left);
        close_now(t, DAT_CLOSE_GRACEFUL_FLAG);
}

/* A zone that an LMR was in is there, though it was to be freed. */
CASE(ia_close, refused_free_counts_not)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct buf *buf = buf_with(t, .pz = zone);

        must_that(dat_is(dat_pz_free(zone), DAT_INVALID_STATE), "a zone with an LMR is freed");
        release(t, buf->lmr);
        expect(dat_ia_close(ia(t), DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
        release(t, zone);
        close_now(t, DAT_CLOSE_GRACEFUL_FLAG);
}

/* Of an EVD that is for something else, none is made. */
static DAT_RETURN refused_psp(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_PSP_HANDLE made = DAT_HANDLE_NULL;

        return dat_psp_create(ia(t), point_qual(t), evd, DAT_PSP_CONSUMER_FLAG, &made);
}

static DAT_RETURN refused_ep(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EP_HANDLE made = DAT_HANDLE_NULL;

        return dat_ep_create(ia(t), pz(t), evd, evd, evd, NULL, &made);
}

static DAT_RETURN refused_evd(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVD_HANDLE made = DAT_HANDLE_NULL;

        (void)evd;
        return dat_evd_create(ia(t), -1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &made);
}

static const struct refusal {
        const char *id;
        DAT_RETURN (*make)(struct test *t, DAT_EVD_HANDLE evd);
} refusals[] = {{"psp", refused_psp}, {"ep", refused_ep}, {"evd", refused_evd}};

FAMILY(ia_close, refused_object_counts_not, refusals)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_SOFTWARE_FLAG);

        for (int i = 0; i < ROUNDS; i++)
                must_that(!dat_is(row->make(t, evd), DAT_SUCCESS), "the object was made");
        release_all(t);
        close_now(t, DAT_CLOSE_GRACEFUL_FLAG);
}

static const struct closing {
        const char *id;
        DAT_CLOSE_FLAGS flags;
} closings[] = {
    {"graceful", DAT_CLOSE_GRACEFUL_FLAG},
    {"abrupt", DAT_CLOSE_ABRUPT_FLAG},
};

FAMILY(ia_close, registered_by_application, closings, WITHOUT_IA)
{
        DAT_PROVIDER_INFO key = key_of("added");
        struct consumer *consumer = consumer_of_run(t);
        DAT_IA_HANDLE made;

        expect(consumer_add(consumer, &key), DAT_SUCCESS);
        expect(consumer_open(consumer, &key, &made), DAT_SUCCESS);
        expect(consumer_close(consumer, made, row->flags), DAT_SUCCESS);
        expect_happened(consumer, HAPPENED_CLOSE, &key);
}

/*
 * Flags
 */

static const struct flags {
        const char *id;
        int flags;
} invalid_flags[] = {
    {"two", 2},
    {"three", 3},
    {"four", 4},
    {"seventeenth_bit", 1 << 16},
    {"highest_bits", INT_MIN},
    {"all_bits", -1},
};

FAMILY(ia_close, invalid_flags, invalid_flags)
{
        struct held held = {.handle = DAT_HANDLE_NULL};

        hold_events(t, &held);
        expect(dat_ia_close(ia(t), (DAT_CLOSE_FLAGS)row->flags), DAT_INVALID_PARAMETER);

        check_events(t, &held);
        expect_instance_works(t, ia(t));
}

CASE(ia_close, default_is_abrupt)
{
        struct held held = {.handle = DAT_HANDLE_NULL};

        hold_events(t, &held);
        hold_lmr(t, &held);

        close_now(t, DAT_CLOSE_DEFAULT);
}

/*
 * Abrupt
 */

FAMILY(ia_close, abrupt, havings)
{
        struct held held = {.handle = DAT_HANDLE_NULL};

        row->make(t, &held);

        close_now(t, DAT_CLOSE_ABRUPT_FLAG);

        ia_reopen(t, DAT_HANDLE_NULL);
        expect_instance_works(t, ia(t));
}

/* A connection, and much of each kind; what of it there may be is the provider's word. */
CASE(ia_close, abrupt_with_all)
{
        struct held held = {.handle = DAT_HANDLE_NULL};
        int each = ia_attr(t)->max_eps < 2 * EPS_HELD ? 1 : 2;

        record(t, "%d of each", each);
        for (size_t i = 0; i < sizeof(havings) / sizeof(havings[0]); i++)
                if (havings[i].make != hold_srq || provider_attr(t)->srq_supported == DAT_TRUE)
                        for (int n = 0; n < each; n++)
                                havings[i].make(t, &held);

        close_now(t, DAT_CLOSE_ABRUPT_FLAG);

        ia_reopen(t, DAT_HANDLE_NULL);
        hold_connection(t, &held);
        check_connection(t, &held);
}

/* In each state that an EP can be in. */
FAMILY(ia_close, ep_state, ep_states)
{
        (void)ep_in(t, row->state);

        close_now(t, DAT_CLOSE_ABRUPT_FLAG);
}

static void post_recvs(struct test *t, struct loop *loop)
{
        struct buf *buf = buf_with(t, .length = 4 * MESSAGE);

        for (int i = 0; i < MESSAGES; i++)
                loop_post_recv(t, loop->passive, buf, (uint64_t)i);
}

/* Sends that find receives, and sends that find none. */
static void post_sends(struct test *t, struct loop *loop)
{
        struct buf *buf = buf_with(t, .length = 4 * MESSAGE);

        for (int i = 0; i < MESSAGES / 2; i++)
                loop_post_send(t, loop->active, buf, (uint64_t)i);
}

static void post_both(struct test *t, struct loop *loop)
{
        post_recvs(t, loop);
        post_sends(t, loop);
}

static void post_writes(struct test *t, struct loop *loop)
{
        struct buf *from = buf_with(t, .length = 1 << 16);
        struct buf *to = buf_with(t, .length = 1 << 16);
        DAT_LMR_TRIPLET segment = triplet(from, 0, from->length);
        DAT_RMR_TRIPLET target = {.rmr_context = to->rmr_context,
                                  .target_address = (DAT_VADDR)(uintptr_t)to->addr,
                                  .segment_length = to->length};

        for (int i = 0; i < MESSAGES / 2; i++)
                must(dat_ep_post_rdma_write(loop->active, 1, &segment,
                                            (DAT_DTO_COOKIE){.as_64 = (DAT_UINT64)i}, &target,
                                            DAT_COMPLETION_DEFAULT_FLAG));
}

static const struct traffic {
        const char *id;
        void (*post)(struct test *t, struct loop *loop);
} traffics[] = {
    {"receives", post_recvs},
    {"sends", post_sends},
    {"both", post_both},
    {"rdma_writes", post_writes},
};

FAMILY(ia_close, under_traffic, traffics)
{
        struct loop loop = loop_new(t);

        loop_join(t, &loop);
        row->post(t, &loop);

        close_now(t, DAT_CLOSE_ABRUPT_FLAG);
}

/*
 * Waiters
 */

static const struct waited {
        const char *id;
        DAT_EVD_FLAGS flags; /* 0: of the IA's own asynchronous EVD */
        bool finite;
        DAT_COUNT threshold;
} waiteds[] = {
    {"software", DAT_EVD_SOFTWARE_FLAG, .finite = false, 1},
    {"completions", DAT_EVD_DTO_FLAG, .finite = false, 1},
    {"requests", DAT_EVD_CR_FLAG, .finite = false, 1},
    {"connections", DAT_EVD_CONNECTION_FLAG, .finite = false, 1},
    {"binds", DAT_EVD_RMR_BIND_FLAG, .finite = false, 1},
    {"asynchronous", DAT_EVD_ASYNC_FLAG, .finite = false, 1},
    {"own_asynchronous", (DAT_EVD_FLAGS)0, .finite = false, 1},
    {"threshold", DAT_EVD_SOFTWARE_FLAG, .finite = false, 4},
    {"finite", DAT_EVD_SOFTWARE_FLAG, .finite = true, 1},
};

FAMILY(ia_close, evd_waiter, waiteds)
{
        DAT_EVD_HANDLE evd = row->flags ? evd_with(t, .flags = row->flags) : async_evd(t);
        DAT_TIMEOUT timeout = row->finite ? 3 * event_timeout(t) : DAT_TIMEOUT_INFINITE;
        struct waiter *waiter = wait_on_evd(t, evd, timeout, row->threshold);
        struct woken woken;

        keep_loaded(t);
        must_wait(waiter);
        close_now(t, DAT_CLOSE_ABRUPT_FLAG);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_ABORT);
}

CASE(ia_close, evd_waiters)
{
        struct waiter *waiters[WAITERS];

        keep_loaded(t);
        for (int i = 0; i < WAITERS; i++) {
                waiters[i] = wait_on_evd(t, se_evd(t, DAT_HANDLE_NULL), DAT_TIMEOUT_INFINITE, 1);
                must_wait(waiters[i]);
        }
        close_now(t, DAT_CLOSE_ABRUPT_FLAG);

        for (int i = 0; i < WAITERS; i++) {
                struct woken woken = expect_awake(waiters[i]);

                expect(woken.ret, DAT_ABORT);
        }
}

static const struct told {
        const char *id;
        int evds;    /* that feed the CNO */
        int waiters; /* on it */
        bool finite;
} tolds[] = {
    {"without_evd", 0, 1, .finite = false}, {"with_evd", 1, 1, .finite = false},
    {"with_evds", 3, 1, .finite = false},   {"several", 1, WAITERS, .finite = false},
    {"finite", 1, 1, .finite = true},
};

FAMILY(ia_close, cno_waiter, tolds)
{
        DAT_TIMEOUT timeout = row->finite ? 3 * event_timeout(t) : DAT_TIMEOUT_INFINITE;
        DAT_CNO_HANDLE cno = cno_new(t);
        struct waiter *waiters[WAITERS];

        keep_loaded(t);
        for (int i = 0; i < row->evds; i++)
                (void)feeding(t, cno);
        for (int i = 0; i < row->waiters; i++) {
                waiters[i] = wait_on_cno(t, cno, timeout);
                must_wait(waiters[i]);
        }
        close_now(t, DAT_CLOSE_ABRUPT_FLAG);

        for (int i = 0; i < row->waiters; i++) {
                struct woken woken = expect_awake(waiters[i]);

                expect_that(!dat_is(woken.ret, DAT_SUCCESS) || woken.evd == DAT_HANDLE_NULL,
                            "a thread that is let go is told of an EVD");
                record(t, "let go with 0x%x", (unsigned int)woken.ret);
        }
}

static const struct told agented[] = {
    {"without_evd", 0, 1, .finite = false},
    {"with_evds", 3, 1, .finite = false},
    {"several", 1, WAITERS, .finite = false},
};

FAMILY(ia_close, agent, agented)
{
        struct agent *agents[WAITERS];

        for (int i = 0; i < row->waiters; i++) {
                DAT_CNO_HANDLE cno;

                agents[i] = agent_new(t);
                cno = cno_with(t, agents[i]);
                for (int n = 0; n < row->evds; n++)
                        (void)feeding(t, cno);
        }
        close_now(t, DAT_CLOSE_ABRUPT_FLAG);

        for (int i = 0; i < row->waiters; i++)
                expect_called(t, agents[i], DAT_HANDLE_NULL);
}

/*
 * Handles that are left
 */

static DAT_RETURN use_evd(void *handle)
{
        DAT_EVD_PARAM param;

        return dat_evd_query(handle, DAT_EVD_FIELD_ALL, &param);
}

static DAT_RETURN use_cno(void *handle)
{
        DAT_CNO_PARAM param;

        return dat_cno_query(handle, CNO_FIELD_BITS, &param);
}

static DAT_RETURN use_zone(void *handle)
{
        DAT_PZ_PARAM param;

        return dat_pz_query(handle, DAT_PZ_FIELD_ALL, &param);
}

static DAT_RETURN use_lmr(void *handle)
{
        DAT_LMR_PARAM param;

        return dat_lmr_query(handle, DAT_LMR_FIELD_ALL, &param);
}

static DAT_RETURN use_rmr(void *handle)
{
        DAT_RMR_PARAM param;

        return dat_rmr_query(handle, DAT_RMR_FIELD_ALL, &param);
}

static DAT_RETURN use_ep(void *handle)
{
        DAT_EP_PARAM param;

        return dat_ep_query(handle, DAT_EP_FIELD_ALL, &param);
}

static DAT_RETURN use_psp(void *handle)
{
        DAT_PSP_PARAM param;

        return dat_psp_query(handle, DAT_PSP_FIELD_ALL, &param);
}

static DAT_RETURN use_rsp(void *handle)
{
        DAT_RSP_PARAM param;

        return dat_rsp_query(handle, DAT_RSP_FIELD_ALL, &param);
}

static DAT_RETURN use_request(void *handle)
{
        DAT_CR_PARAM param;

        return dat_cr_query(handle, DAT_CR_FIELD_ALL, &param);
}

static DAT_RETURN use_srq(void *handle)
{
        DAT_SRQ_PARAM param;

        return dat_srq_query(handle, DAT_SRQ_FIELD_ALL, &param);
}

static DAT_RETURN use_ia(void *handle)
{
        DAT_EVD_HANDLE async;

        return dat_ia_query(handle, &async, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_NONE, NULL);
}

static DAT_RETURN use_ia_zone(void *handle)
{
        DAT_PZ_HANDLE made = DAT_HANDLE_NULL;

        return dat_pz_create(handle, &made);
}

static void hold_ia(struct test *t, struct held *held)
{
        held->handle = ia(t);
}

static void hold_own_async(struct test *t, struct held *held)
{
        held->handle = async_evd(t);
}

static const struct left {
        const char *id;
        void (*make)(struct test *t, struct held *held);
        DAT_RETURN (*use)(void *handle);
} lefts[] = {
    {"ia", hold_ia, use_ia},
    {"ia_for_zone", hold_ia, use_ia_zone},
    {"own_async_evd", hold_own_async, use_evd},
    {"evd", hold_evd, use_evd},
    {"cno", hold_cno, use_cno},
    {"pz", hold_zone, use_zone},
    {"lmr", hold_lmr, use_lmr},
    {"rmr", hold_rmr, use_rmr},
    {"ep", hold_ep, use_ep},
    {"connected_ep", hold_connection, use_ep},
    {"psp", hold_psp, use_psp},
    {"rsp", hold_rsp, use_rsp},
    {"request", hold_request, use_request},
    {"srq", hold_srq, use_srq},
};

/* Used in a process of its own: nothing answers for it any more (IA-11). */
static void expect_gone(struct test *t, DAT_RETURN (*use)(void *handle), DAT_HANDLE handle)
{
        DAT_RETURN ret = DAT_INVALID_HANDLE;

        if (!subprocess_call(t, use, handle, &ret)) {
                note(t, "the use of a handle of an IA that is closed ended its process (IA-11)");
                return;
        }
        expect_that(!dat_is(ret, DAT_SUCCESS), "the object is there still");
        expect_or_note(ret, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
                       DAT_PROVIDER_NOT_FOUND);
}

FAMILY(ia_close, gone, lefts)
{
        struct held held = {.handle = DAT_HANDLE_NULL};

        keep_loaded(t);
        row->make(t, &held);
        must_that(dat_is(row->use(held.handle), DAT_SUCCESS), "what is open cannot be used");
        close_now(t, DAT_CLOSE_ABRUPT_FLAG);

        expect_gone(t, row->use, held.handle);
}

CASE(ia_close, graceful_ends_async_evd)
{
        DAT_EVD_HANDLE async = async_evd(t);

        keep_loaded(t);
        must_that(dat_is(use_evd(async), DAT_SUCCESS), "what is open cannot be used");
        close_now(t, DAT_CLOSE_GRACEFUL_FLAG);

        expect_gone(t, use_evd, async);
}

/*
 * An asynchronous EVD that was given
 */

static const struct lent {
        const char *id;
        bool made; /* by the consumer, not by the first open */
        DAT_CLOSE_FLAGS flags;
} lents[] = {
    {"of_first_graceful", .made = false, DAT_CLOSE_GRACEFUL_FLAG},
    {"of_first_abrupt", .made = false, DAT_CLOSE_ABRUPT_FLAG},
    {"made_graceful", .made = true, DAT_CLOSE_GRACEFUL_FLAG},
    {"made_abrupt", .made = true, DAT_CLOSE_ABRUPT_FLAG},
};

/* The EVD keeps its state, and who waits for it; another instance can have it. */
FAMILY(ia_close, given_evd_stays, lents)
{
        DAT_EVD_HANDLE evd =
            row->made ? evd_with(t, .flags = DAT_EVD_ASYNC_FLAG, .qlen = QLEN) : async_evd(t);
        struct instance instance = instance_with(t, QLEN, evd);
        DAT_EVD_PARAM before = evd_param(t, evd);
        DAT_EVD_PARAM after;
        struct waiter *waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);
        struct woken woken;

        must_wait(waiter);
        instance_close(t, &instance, row->flags);

        memset(&after, 0, sizeof(after));
        expect(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &after), DAT_SUCCESS);
        expect_that(after.ia_handle == ia(t), "the EVD is of another IA");
        expect_eq(after.evd_qlen, before.evd_qlen);
        expect_that(is_waiting(waiter), "the thread that waited for the EVD does no more");
        expect(dat_evd_set_unwaitable(evd), DAT_SUCCESS);
        woken = expect_awake(waiter);
        expect(woken.ret, DAT_INVALID_STATE);
        expect(dat_evd_clear_unwaitable(evd), DAT_SUCCESS);
        (void)instance_with(t, QLEN, evd);
}

/* An instance whose EVD goes with another one works on. */
CASE(ia_close, lends_async_evd)
{
        DAT_IA_HANDLE other = other_ia(t);

        close_now(t, DAT_CLOSE_GRACEFUL_FLAG);
        ia_reopen(t, async_told(t, other));
        disown(t, other);
        expect(dat_ia_close(other, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);

        expect_instance_works(t, ia(t));
        expect(dat_ia_close(ia(t), DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        ia_closed(t);
}

/*
 * Other instances
 */

/* An instance that has something of each kind that needs no more. */
static struct instance furnished(struct test *t, struct buf **memory)
{
        struct instance instance = instance_new(t);
        DAT_PZ_HANDLE zone = DAT_HANDLE_NULL;
        DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
        DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
        DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
        DAT_EVD_HANDLE evds[2];
        DAT_CONN_QUAL qual;

        must(dat_pz_create(instance.ia, &zone));
        must(dat_cno_create(instance.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
        must(dat_evd_create(instance.ia, QLEN, cno, DAT_EVD_SOFTWARE_FLAG, &evds[0]));
        must(dat_evd_create(instance.ia, QLEN, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &evds[1]));
        must(dat_rmr_create(zone, &rmr));
        must(dat_psp_create_any(instance.ia, &qual, evds[1], DAT_PSP_CONSUMER_FLAG, &psp));
        *memory = buf_with(t, .ia = instance.ia, .pz = zone);
        return instance;
}

/* The case's IA stays as it is while another instance of it is closed with all that it has. */
FAMILY(ia_close, other_stays, havings)
{
        struct held held = {.handle = DAT_HANDLE_NULL};
        struct instance instance;
        struct buf *memory;

        row->make(t, &held);
        instance = furnished(t, &memory);
        disown(t, memory);
        instance_close(t, &instance, DAT_CLOSE_ABRUPT_FLAG);

        expect_that(async_told(t, ia(t)) == async_evd(t), "the asynchronous EVD is another");
        row->check(t, &held);
        expect_instance_works(t, ia(t));
}

/* One that was opened later is not in the way of an older one, nor does it go with it. */
FAMILY(ia_close, newer_stays, closings)
{
        DAT_IA_HANDLE newer = other_ia(t);
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
        struct waiter *waiter;
        struct woken woken;

        must(dat_evd_create(newer, QLEN, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
        waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        close_now(t, row->flags);
        adopt(t, DAT_HANDLE_TYPE_EVD, evd);

        expect_that(is_waiting(waiter), "the thread waits no more");
        expect(dat_evd_post_se(evd, &(DAT_EVENT){.event_number = DAT_SOFTWARE_EVENT}), DAT_SUCCESS);
        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_instance_works(t, newer);
}

/*
 * The peer
 */

/* What tells an end that the other one went with its IA (EP-72). */
static void expect_end_told(struct test *t, DAT_EVENT_NUMBER number)
{
        if (number == DAT_CONNECTION_EVENT_BROKEN)
                note(t, "a connection whose IA was closed is told to be broken (EP-72)");
        else
                expect_eq(number, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static const struct ended {
        const char *id;
        int ends;
        int messages; /* that the peer sends over each */
} endeds[] = {
    {"one", 1, 0},
    {"several", ENDS, 0},
    {"under_traffic", ENDS, MESSAGES},
};

FAMILY(ia_close, peer_told, endeds)
{
        struct peer_ep *ends[ENDS];

        for (int i = 0; i < row->ends; i++) {
                DAT_EP_HANDLE ep = ep_with(t);
                struct buf *buf = buf_with(t);

                ends[i] = must_connect(ep);
                for (int n = 0; n < row->messages; n++)
                        loop_post_recv(t, ep, buf, (uint64_t)n);
        }
        for (int i = 0; i < row->ends && row->messages; i++)
                peer_send(ends[i], .count = row->messages, .length = MESSAGE);
        close_now(t, DAT_CLOSE_ABRUPT_FLAG);

        for (int i = 0; i < row->ends; i++)
                expect_end_told(t, peer_wait_event(ends[i]).number);
}

static const struct asked {
        const char *id;
        bool taken; /* the request's event */
} askeds[] = {
    {"standing", .taken = false},
    {"taken", .taken = true},
};

/* The peer has asked; nobody has answered, and nobody will. */
FAMILY(ia_close, peer_request, askeds)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_CR_FLAG, .cno = cno);
        DAT_EVENT_NUMBER number;
        DAT_CONN_QUAL qual;
        struct peer_ep *end;

        (void)loop_listen(t, evd, DAT_PSP_CONSUMER_FLAG, &qual);
        end = peer_request(peer(t), qual);
        must_stand(t, cno);
        if (row->taken)
                must_event(evd, DAT_CONNECTION_REQUEST_EVENT);
        close_now(t, DAT_CLOSE_ABRUPT_FLAG);

        number = peer_wait_event(end).number;
        expect_that(number && number != DAT_CONNECTION_EVENT_ESTABLISHED,
                    "the peer is not told that its request is gone");
}

/* The case has asked, and the peer answers when nobody is there any more. */
CASE(ia_close, request_to_peer)
{
        struct peer_place place = peer_listen(peer(t));
        DAT_EP_HANDLE ep = ep_with(t);
        DAT_EVENT_NUMBER number;
        struct peer_cr request;

        must(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&place.address, place.qual,
                            DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
                            DAT_CONNECT_DEFAULT_FLAG));
        request = peer_take_request(peer(t));
        close_now(t, DAT_CLOSE_ABRUPT_FLAG);

        number = peer_wait_event(peer_accept(&request, NULL, 0)).number;
        expect_that(number && number != DAT_CONNECTION_EVENT_ESTABLISHED,
                    "the peer is not told that there is no connection");
}

static const struct listened {
        const char *id;
        bool rsp;
} listeneds[] = {
    {"psp", .rsp = false},
    {"rsp", .rsp = true},
};

/* Nobody listens any more; and the IA, opened again, can listen there. */
FAMILY(ia_close, peer_refused, listeneds)
{
        struct held held = {.handle = DAT_HANDLE_NULL};
        DAT_EVENT_NUMBER number;

        if (row->rsp)
                hold_rsp(t, &held);
        else
                hold_psp(t, &held);
        close_now(t, DAT_CLOSE_ABRUPT_FLAG);
        ia_reopen(t, DAT_HANDLE_NULL);

        number =
            peer_wait_event(peer_ask(peer(t), held.qual, .timeout = event_timeout(t) / 2)).number;
        expect_that(number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
                        number == DAT_CONNECTION_EVENT_UNREACHABLE ||
                        number == DAT_CONNECTION_EVENT_TIMED_OUT,
                    "the peer is told 0x%x", (unsigned int)number);
        held.evd = request_evd(t);
        held.handle = psp_at(t, held.qual, held.evd, DAT_PSP_CONSUMER_FLAG);
        check_psp(t, &held);
}

/*
 * What is left
 */

static void hold_nothing(struct test *t, struct held *held)
{
        (void)t;
        (void)held;
}

static void hold_refused(struct test *t, struct held *held)
{
        hold_evd(t, held);
        expect(dat_ia_close(ia(t), DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
}

static void hold_traffic(struct test *t, struct held *held)
{
        hold_connection(t, held);
        post_both(t, &held->loop);
}

static const struct emptied {
        const char *id;
        void (*make)(struct test *t, struct held *held);
        DAT_CLOSE_FLAGS flags;
} emptieds[] = {
    {"nothing_graceful", hold_nothing, DAT_CLOSE_GRACEFUL_FLAG},
    {"nothing_abrupt", hold_nothing, DAT_CLOSE_ABRUPT_FLAG},
    {"refused_before", hold_refused, DAT_CLOSE_ABRUPT_FLAG},
    {"events", hold_events, DAT_CLOSE_ABRUPT_FLAG},
    {"cno_with_agent", hold_agent, DAT_CLOSE_ABRUPT_FLAG},
    {"lmr", hold_lmr, DAT_CLOSE_ABRUPT_FLAG},
    {"psp", hold_psp, DAT_CLOSE_ABRUPT_FLAG},
    {"request", hold_request, DAT_CLOSE_ABRUPT_FLAG},
    {"connection", hold_connection, DAT_CLOSE_ABRUPT_FLAG},
    {"traffic", hold_traffic, DAT_CLOSE_ABRUPT_FLAG},
    {"evd_waiter", hold_evd_waiter, DAT_CLOSE_ABRUPT_FLAG},
    {"cno_waiter", hold_cno_waiter, DAT_CLOSE_ABRUPT_FLAG},
    {"srq", hold_srq, DAT_CLOSE_ABRUPT_FLAG},
};

/* Furnishes the IA, closes it, and opens it again. */
static void furnish_and_close(struct test *t, const struct emptied *row)
{
        struct held held = {.handle = DAT_HANDLE_NULL};

        row->make(t, &held);
        close_now(t, row->flags);
        if (held.waiter) {
                (void)expect_awake(held.waiter);
                waiter_end(t, held.waiter);
        }
        ia_reopen(t, DAT_HANDLE_NULL);
}

/* Memory that each round leaves is more after each. */
FAMILY(ia_close, leaves_nothing, emptieds, DEADLINE_MS(20000))
{
        struct usage before, last, now;
        bool had_children = usage_now(t).children;
        int grown = 0;

        for (int i = 0; i < WARM; i++)
                furnish_and_close(t, row);
        before = usage_now(t);
        before.children = had_children;
        last = before;
        for (int i = 0; i < ROUNDS; i++) {
                furnish_and_close(t, row);
                now = usage_now(t);
                grown += now.mapped > last.mapped;
                last = now;
        }
        expect_nothing_left(t, &before, "the close");
        expect_that(grown < ROUNDS, "each of %d rounds left memory mapped, %ld bytes in all",
                    ROUNDS, last.mapped - before.mapped);
}

LEGAL(ia_close)
{
        call->ia_handle = instance_new(t).ia;
        disown(t, call->ia_handle);
        call->close_flags = DAT_CLOSE_GRACEFUL_FLAG;
}
