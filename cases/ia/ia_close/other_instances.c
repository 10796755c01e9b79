/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_close: other instances of the IA. */
#include "cases/ia/ia_close/fixtures.h"
#include "cases/ia/shared/ia_objects.h"
#include "cases/ia/shared/instance.h"
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
        expect_that(told == async_evd(t), "the asynchronous EVD is another");
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
