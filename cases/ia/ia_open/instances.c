/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_open: several instances, and resources. */
#include "case/exec_process.h"
#include "case/poison.h"
#include "case/standard.h"
#include "cases/handle/shared/object.h"
#include "cases/ia/ia_open/fixtures.h"
#include "cases/ia/shared/instance.h"
#include "cases/registry/shared/under_test.h"
#include "cases/shared/point.h"
#include "cases/shared/usage.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ia_open.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define INSTANCES 24 /* at once */
#define THREADS   3
#define PROCESSES 3
#define TURNS     6  /* in which the processes open at once, and close at once */
#define MANY      40 /* rounds */
#define MET       3

/*
 * Instances
 */

static const struct many {
        const char *id;
        int count;
} manies[] = {
    {"two", 2},
    {"eight", 8},
    {"many", INSTANCES},
};

static void expect_distinct(struct test *t, const DAT_HANDLE *handles, int count)
{
        for (int i = 0; i < count; i++)
                for (int j = 0; j < i; j++)
                        expect_that(handles[i] != handles[j],
                                    "instances %d and %d have the same handle", j, i);
}

FAMILY(ia_open, unique_handle, manies)
{
        DAT_HANDLE ias[INSTANCES + 1] = {ia(t)};
        DAT_HANDLE asyncs[INSTANCES + 1] = {async_evd(t)};

        for (int i = 1; i <= row->count; i++) {
                struct instance instance = instance_new(t);

                ias[i] = instance.ia;
                asyncs[i] = instance.async;
        }
        expect_distinct(t, ias, row->count + 1);
        expect_distinct(t, asyncs, row->count + 1);
}

/* All are used, one after the other is closed, in an order that is drawn, and the others stay. */
FAMILY(ia_open, instances, manies, DEADLINE_MS(20000))
{
        struct instance instances[INSTANCES];
        int left = row->count;

        for (int i = 0; i < left; i++)
                instances[i] = instance_new(t);
        for (int i = 0; i < left; i++)
                expect_instance_works(t, instances[i].ia);
        while (left > 0) {
                int chosen = (int)draw(t, (uint64_t)left);

                instance_close(t, &instances[chosen], DAT_CLOSE_GRACEFUL_FLAG);
                instances[chosen] = instances[--left];
                if (left > 0)
                        expect_instance_works(t, instances[draw(t, (uint64_t)left)].ia);
        }
        expect_instance_works(t, ia(t));
}

/* An object is of the instance that it was made of, though others are open. */
static DAT_IA_HANDLE ia_of_evd(DAT_HANDLE made)
{
        DAT_EVD_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        (void)dat_evd_query(made, DAT_EVD_FIELD_IA_HANDLE, &param);
        return param.ia_handle;
}

static DAT_IA_HANDLE ia_of_cno(DAT_HANDLE made)
{
        DAT_CNO_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        (void)dat_cno_query(made, DAT_CNO_FIELD_IA_HANDLE, &param);
        return param.ia_handle;
}

static DAT_IA_HANDLE ia_of_pz(DAT_HANDLE made)
{
        DAT_PZ_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        (void)dat_pz_query(made, DAT_PZ_FIELD_IA_HANDLE, &param);
        return param.ia_handle;
}

static DAT_IA_HANDLE ia_of_lmr(DAT_HANDLE made)
{
        DAT_LMR_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        (void)dat_lmr_query(made, DAT_LMR_FIELD_IA_HANDLE, &param);
        return param.ia_handle;
}

static DAT_IA_HANDLE ia_of_rmr(DAT_HANDLE made)
{
        DAT_RMR_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        (void)dat_rmr_query(made, DAT_RMR_FIELD_IA_HANDLE, &param);
        return param.ia_handle;
}

static DAT_IA_HANDLE ia_of_ep(DAT_HANDLE made)
{
        DAT_EP_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        (void)dat_ep_query(made, DAT_EP_FIELD_IA_HANDLE, &param);
        return param.ia_handle;
}

static DAT_IA_HANDLE ia_of_psp(DAT_HANDLE made)
{
        DAT_PSP_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        (void)dat_psp_query(made, DAT_PSP_FIELD_IA_HANDLE, &param);
        return param.ia_handle;
}

static DAT_IA_HANDLE ia_of_rsp(DAT_HANDLE made)
{
        DAT_RSP_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        (void)dat_rsp_query(made, DAT_RSP_FIELD_IA_HANDLE, &param);
        return param.ia_handle;
}

static DAT_IA_HANDLE ia_of_srq(DAT_HANDLE made)
{
        DAT_SRQ_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        (void)dat_srq_query(made, DAT_SRQ_FIELD_IA_HANDLE, &param);
        return param.ia_handle;
}

static const struct owned {
        const char *id;
        DAT_HANDLE_TYPE type;
        DAT_IA_HANDLE (*ia_of)(DAT_HANDLE made);
} owneds[] = {
    {"evd", DAT_HANDLE_TYPE_EVD, ia_of_evd}, {"cno", DAT_HANDLE_TYPE_CNO, ia_of_cno},
    {"pz", DAT_HANDLE_TYPE_PZ, ia_of_pz},    {"lmr", DAT_HANDLE_TYPE_LMR, ia_of_lmr},
    {"rmr", DAT_HANDLE_TYPE_RMR, ia_of_rmr}, {"ep", DAT_HANDLE_TYPE_EP, ia_of_ep},
    {"psp", DAT_HANDLE_TYPE_PSP, ia_of_psp}, {"rsp", DAT_HANDLE_TYPE_RSP, ia_of_rsp},
    {"srq", DAT_HANDLE_TYPE_SRQ, ia_of_srq},
};

FAMILY(ia_open, owner, owneds)
{
        struct live before = live_object(t, row->type, false);
        struct live after;

        (void)instance_new(t);
        after = live_object(t, row->type, false);

        expect_that(row->ia_of(before.handle) == ia(t), "the object is of another IA");
        expect_that(row->ia_of(after.handle) == ia(t), "the later object is of another IA");
}

/* The IA is open in another process too, and stays so with a connection to it. */
CASE(ia_open, several_processes)
{
        DAT_EP_HANDLE ep = ep_with(t);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct instance instances[8];

        for (int i = 0; i < 8; i++)
                instances[i] = instance_new(t);
        expect_peer_messages(t, end, ep);
        for (int i = 0; i < 8; i++) {
                expect_instance_works(t, instances[i].ia);
                instance_close(t, &instances[i], DAT_CLOSE_ABRUPT_FLAG);
        }
        expect_peer_messages(t, end, ep);
}

/* Processes that begin anew open it beside this one. */
CASE(ia_open, fresh_processes)
{
        DAT_PROVIDER_INFO key = key_under_test(t);
        struct consumer *consumers[PROCESSES];
        DAT_IA_HANDLE ias[PROCESSES];

        for (int i = 0; i < PROCESSES; i++) {
                consumers[i] = consumer_of_run(t);
                expect(consumer_open(consumers[i], &key, &ias[i]), DAT_SUCCESS);
        }
        expect_instance_works(t, ia(t));
        for (int i = 0; i < PROCESSES; i++)
                expect(consumer_close(consumers[i], ias[i], DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        expect_instance_works(t, instance_new(t).ia);
}

/* An instance in a process of its own. */
struct there {
        char name[DAT_NAME_MAX_LENGTH];
        DAT_IA_HANDLE ia;
};

static DAT_RETURN open_there(void *arg)
{
        struct there *there = arg;
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

        return dat_ia_open(there->name, QLEN_UNASKED, &async, &there->ia);
}

/* A zone and an EVD are made and freed, and an event goes over the EVD. */
static DAT_RETURN use_there(void *arg)
{
        const struct there *there = arg;
        DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};
        DAT_EVD_HANDLE evd;
        DAT_PZ_HANDLE zone;
        DAT_RETURN ret = dat_pz_create(there->ia, &zone);

        if (dat_is(ret, DAT_SUCCESS))
                ret = dat_pz_free(zone);
        if (dat_is(ret, DAT_SUCCESS))
                ret = dat_evd_create(there->ia, QLEN_UNASKED, DAT_HANDLE_NULL,
                                     DAT_EVD_SOFTWARE_FLAG, &evd);
        if (dat_is(ret, DAT_SUCCESS))
                ret = dat_evd_post_se(evd, &event);
        if (dat_is(ret, DAT_SUCCESS))
                ret = dat_evd_dequeue(evd, &event);
        return dat_is(ret, DAT_SUCCESS) ? dat_evd_free(evd) : ret;
}

static DAT_RETURN close_there(void *arg)
{
        const struct there *there = arg;

        return dat_ia_close(there->ia, DAT_CLOSE_GRACEFUL_FLAG);
}

/* The first `count` processes make the call, all at once. */
static void expect_there(struct exec_process *const *processes, struct there *there, int count,
                         DAT_RETURN (*call)(void *arg), struct test *t)
{
        for (int i = 0; i < count; i++)
                exec_process_begin(processes[i], call, &there[i], sizeof(there[i]));
        for (int i = 0; i < count; i++)
                expect(exec_process_finish(processes[i], &there[i], sizeof(there[i])), DAT_SUCCESS);
}

/* The first ones close at once; the last one, and this process, have theirs still. */
CASE(ia_open, processes_at_once, DEADLINE_MS(20000))
{
        struct exec_process *processes[PROCESSES];
        struct there there[PROCESSES];
        const int last = PROCESSES - 1;

        for (int i = 0; i < PROCESSES; i++) {
                processes[i] =
                    exec_process_start(t, NULL, 0, "DAT_OVERRIDE", getenv("DAT_OVERRIDE"));
                snprintf(there[i].name, sizeof(there[i].name), "%s", ia_name(t));
        }
        for (int turn = 0; turn < TURNS; turn++) {
                expect_there(processes, there, PROCESSES, open_there, t);
                expect_there(processes, there, PROCESSES, use_there, t);
                expect_instance_works(t, ia(t));
                expect_there(processes, there, last, close_there, t);
                expect(exec_process_call(processes[last], use_there, &there[last],
                                         sizeof(there[last])),
                       DAT_SUCCESS);
                expect_instance_works(t, ia(t));
                expect(exec_process_call(processes[last], close_there, &there[last],
                                         sizeof(there[last])),
                       DAT_SUCCESS);
        }
        for (int i = 0; i < PROCESSES; i++)
                exec_process_end(processes[i]);
}

static DAT_RETURN open_by(void *arg)
{
        struct opening *opening = arg;
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

        return dat_ia_open(ia_name(opening->t), QLEN_UNASKED, &async, &opening->evd);
}

CASE(ia_open, any_thread, DEADLINE_MS(20000))
{
        struct stress stress = stress_of(t, MANY);

        while (stress.met < MET && stress_round(&stress)) {
                struct opening openings[THREADS];
                struct racer racers[THREADS];
                DAT_HANDLE made[THREADS];

                for (int i = 0; i < THREADS; i++) {
                        openings[i] = (struct opening){.t = t};
                        racers[i] = (struct racer){.call = open_by, .arg = &openings[i]};
                }
                stress_met(&stress, race(racers, THREADS));
                for (int i = 0; i < THREADS; i++) {
                        expect(racers[i].ret, DAT_SUCCESS);
                        made[i] = openings[i].evd;
                }
                expect_distinct(t, made, THREADS);
                for (int i = 0; i < THREADS; i++) {
                        expect_instance_works(t, made[i]);
                        must(dat_ia_close(made[i], DAT_CLOSE_GRACEFUL_FLAG));
                }
        }
        must_have_met(&stress);
}

/*
 * Resources
 */

static const struct many fews[] = {
    {"none", 0}, {"one", 1}, {"two", 2}, {"four", 4}, {"six", 6}, {"ten", 10},
};

/* So few descriptors are left to the process, and then as many as before. */
FAMILY(ia_open, few_descriptors, fews)
{
        struct usage before = usage_now(t);
        struct rlimit limit, few;
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_HANDLE made = DAT_HANDLE_NULL;
        DAT_RETURN ret;

        suite_that(getrlimit(RLIMIT_NOFILE, &limit) == 0, "the limit of descriptors is not told");
        few = (struct rlimit){.rlim_cur = (rlim_t)(before.descriptors - 1 + row->count),
                              .rlim_max = limit.rlim_max};
        suite_that(setrlimit(RLIMIT_NOFILE, &few) == 0, "the limit of descriptors cannot be set");
        ret = dat_ia_open(ia_name(t), QLEN_UNASKED, &async, &made);
        suite_that(setrlimit(RLIMIT_NOFILE, &limit) == 0, "the limit of descriptors is not reset");

        expect(ret, DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);
        if (dat_is(ret, DAT_SUCCESS))
                must(dat_ia_close(made, DAT_CLOSE_GRACEFUL_FLAG));
        expect_nothing_left(t, &before, "an open without descriptors");
        expect_instance_works(t, instance_new(t).ia);
}

LEGAL(ia_open)
{
        static DAT_EVD_HANDLE async;

        call->name = ia_name(t);
        call->async_evd_min_qlen = QLEN_UNASKED;
        call->async_evd_handle = &async;
}
