/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_close: handles after the close. */
#include "case/standard.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/handle/shared/object.h"
#include "cases/ia/ia_close/fixtures.h"
#include "cases/ia/shared/ia_objects.h"
#include "cases/registry/shared/consumer.h"
#include "clauses/ia_close.h"

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
