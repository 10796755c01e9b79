/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_close: other instances of the IA. */
#include "cases/ia/ia_close/fixtures.h"
#include "cases/ia/shared/ia_objects.h"
#include "cases/ia/shared/instance.h"
#include "cases/registry/shared/under_test.h"
#include "clauses/ia_close.h"

/* An instance that has something of each kind that needs no more; an RMR only if it can be made. */
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
        if (!dat_is(dat_rmr_create(zone, &rmr), DAT_SUCCESS))
                record(t, "the instance has no RMR: dat_rmr_create failed");
        must(dat_psp_create_any(instance.ia, &qual, evds[1], psp_flags_granted(t), &psp));
        *memory = buf_with(t, .ia = instance.ia, .pz = zone);
        return instance;
}

/* The case's IA stays as it is while another instance of it is closed with all that it has. */
FAMILY(ia_close, other_stays, havings)
{
        struct held held = {.handle = DAT_HANDLE_NULL};
        DAT_EVD_HANDLE told = DAT_HANDLE_NULL;
        struct instance instance;
        struct buf *memory;

        row->make(t, &held);
        (void)async_told(t, ia(t)); /* the call works before the other instance is closed */
        instance = furnished(t, &memory);
        disown(t, memory);
        instance_close(t, &instance, DAT_CLOSE_ABRUPT_FLAG);

        expect(dat_ia_query(ia(t), &told, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_NONE, NULL),
               DAT_SUCCESS);
        expect_that(told == async_evd(t), "the async_evd_handle is another");
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
 * Threads
 */

#define THREADS 4
#define MANY    60 /* rounds */
#define MET     5

/* An instance of the entry of dat.conf that the case's own is of. */
struct opened {
        DAT_PROVIDER_INFO key;
        DAT_EVD_HANDLE async;
        DAT_IA_HANDLE ia;
};

static DAT_RETURN open_one(void *arg)
{
        struct opened *opened = arg;

        opened->async = DAT_HANDLE_NULL;
        return dat_ia_openv(opened->key.ia_name, QLEN, &opened->async, &opened->ia,
                            opened->key.dapl_version_major, opened->key.dapl_version_minor,
                            opened->key.is_thread_safe);
}

static DAT_RETURN close_one(void *arg)
{
        const struct opened *opened = arg;

        return dat_ia_close(opened->ia, DAT_CLOSE_GRACEFUL_FLAG);
}

/* Of an instance that stays. */
static DAT_RETURN use_one(void *arg)
{
        const struct opened *opened = arg;
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
        DAT_RETURN ret =
            dat_evd_create(opened->ia, QLEN, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd);

        return dat_is(ret, DAT_SUCCESS) ? dat_evd_free(evd) : ret;
}

static const struct beside_close {
        const char *id;
        DAT_RETURN (*call)(void *arg);
} beside_close[] = {
    {"open", open_one},
    {"close", close_one},
    {"use", use_one},
};

/* Half of the threads close an instance each. Those that are open then, and the case's, work. */
static void expect_closed_beside(struct test *t, const struct beside_close *row,
                                 struct opened *opened, struct stress *stress)
{
        struct racer racers[THREADS];

        for (int i = 0; i < THREADS; i++) {
                bool closes = i % 2;

                opened[i].key = key_under_test(t);
                if (closes || row->call != open_one)
                        must(open_one(&opened[i]));
                racers[i] = (struct racer){
                    .call = closes ? close_one : row->call,
                    .arg = &opened[i],
                };
        }
        stress_met(stress, race(racers, THREADS));
        for (int i = 0; i < THREADS; i++)
                expect(racers[i].ret, DAT_SUCCESS);
        expect_instance_works(t, ia(t));
        if (row->call == close_one)
                return;
        for (int i = 0; i < THREADS; i += 2) {
                expect_instance_works(t, opened[i].ia);
                expect(close_one(&opened[i]), DAT_SUCCESS);
        }
}

FAMILY(ia_close, beside, beside_close, DEADLINE_MS(20000))
{
        struct stress stress = stress_of(t, MANY);

        while (stress.met < MET && stress_round(&stress)) {
                struct opened opened[THREADS];

                expect_closed_beside(t, row, opened, &stress);
        }
        must_have_met(&stress);
}
