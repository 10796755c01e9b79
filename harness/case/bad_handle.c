/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles that no call may take. */
#include "case/ep_attr.h"
#include "case/test.h"

#define CONN_QUAL_FIRST 21000
#define CONN_QUAL_COUNT 1000

static DAT_HANDLE make_cno(struct test *t, DAT_IA_HANDLE of)
{
        DAT_CNO_HANDLE made = DAT_HANDLE_NULL;

        arrange(dat_cno_create(of, DAT_OS_WAIT_PROXY_AGENT_NULL, &made));
        object_add(t, OBJECT_CNO, made);
        return made;
}

static DAT_HANDLE make_rmr(struct test *t)
{
        DAT_RMR_HANDLE made = DAT_HANDLE_NULL;

        arrange(dat_rmr_create(pz(t), &made));
        object_add(t, OBJECT_RMR, made);
        return made;
}

/* A service point at a connection qualifier that is free. */
static DAT_HANDLE make_service_point(struct test *t, enum object_kind kind)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_CR_FLAG);
        DAT_EP_HANDLE ep = kind == OBJECT_RSP ? ep_with(t) : DAT_HANDLE_NULL;
        DAT_HANDLE made = DAT_HANDLE_NULL;
        DAT_CONN_QUAL qual = 0;
        DAT_RETURN ret = point_make(t,
                                    (struct point_opts){.first = CONN_QUAL_FIRST,
                                                        .count = CONN_QUAL_COUNT,
                                                        .evd = evd,
                                                        .flags = psp_flags_granted(t),
                                                        .reserved = kind == OBJECT_RSP,
                                                        .ep = ep},
                                    &qual, &made);

        arrange(ret);
        object_add(t, kind, made);
        return made;
}

DAT_HANDLE live_handle(struct test *t, DAT_HANDLE_TYPE type)
{
        switch (type) {
        case DAT_HANDLE_TYPE_CNO:
                return make_cno(t, t->ia);
        case DAT_HANDLE_TYPE_EP:
                return ep_with(t);
        case DAT_HANDLE_TYPE_EVD:
                return evd_with(t);
        case DAT_HANDLE_TYPE_LMR:
                return buf_with(t)->lmr;
        case DAT_HANDLE_TYPE_PSP:
                return make_service_point(t, OBJECT_PSP);
        case DAT_HANDLE_TYPE_PZ:
                return pz_new(t);
        case DAT_HANDLE_TYPE_RMR:
                return make_rmr(t);
        case DAT_HANDLE_TYPE_RSP:
                return make_service_point(t, OBJECT_RSP);
        case DAT_HANDLE_TYPE_SRQ:
                return srq_with(t);
        default:
                break;
        }
        test_end(t, VERDICT_ERROR, "bad_handle() makes no object of type %d", (int)type);
}

static DAT_RETURN make_lmr(struct test *t, DAT_LMR_HANDLE *made)
{
        static unsigned char memory[64];
        DAT_REGION_DESCRIPTION description = {.for_va = memory};
        DAT_LMR_CONTEXT context;
        DAT_RMR_CONTEXT remote;
        DAT_VLEN length;
        DAT_VADDR address;

        return dat_lmr_create(t->ia, DAT_MEM_TYPE_VIRTUAL, description, sizeof(memory), pz(t),
                              DAT_MEM_PRIV_ALL_FLAG, made, &context, &remote, &length, &address);
}

DAT_HANDLE live_handle_if_made(struct test *t, DAT_HANDLE_TYPE type)
{
        DAT_HANDLE made = DAT_HANDLE_NULL;
        DAT_RETURN ret = DAT_SUCCESS;

        switch (type) {
        case DAT_HANDLE_TYPE_CNO:
                ret = dat_cno_create(t->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &made);
                break;
        case DAT_HANDLE_TYPE_EVD:
                ret = dat_evd_create(t->ia, 1, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &made);
                break;
        case DAT_HANDLE_TYPE_LMR:
                ret = make_lmr(t, &made);
                break;
        case DAT_HANDLE_TYPE_PZ:
                ret = dat_pz_create(t->ia, &made);
                break;
        case DAT_HANDLE_TYPE_RMR:
                ret = dat_rmr_create(pz(t), &made);
                break;
        default:
                return DAT_HANDLE_NULL;
        }
        if (!dat_is(ret, DAT_SUCCESS))
                return DAT_HANDLE_NULL;
        adopt(t, type, made);
        return made;
}

static DAT_HANDLE closed_ia(struct test *t)
{
        DAT_IA_HANDLE second = ia_another(t, 1);

        arrange(dat_ia_close(second, DAT_CLOSE_ABRUPT_FLAG));
        return second;
}

static DAT_HANDLE destroyed(struct test *t, DAT_HANDLE_TYPE type)
{
        DAT_HANDLE handle;

        if (type == DAT_HANDLE_TYPE_IA)
                return closed_ia(t);
        handle = live_handle(t, type);
        release(t, handle);
        return handle;
}

static DAT_HANDLE of_other_ia(struct test *t, DAT_HANDLE_TYPE type)
{
        DAT_IA_HANDLE other = other_ia(t);

        switch (type) {
        case DAT_HANDLE_TYPE_PZ:
                return pz_of(t, other);
        case DAT_HANDLE_TYPE_EVD:
                return evd_with(t, .ia = other);
        case DAT_HANDLE_TYPE_CNO:
                return make_cno(t, other);
        case DAT_HANDLE_TYPE_SRQ:
                return srq_with(t, .ia = other, .pz = pz_of(t, other));
        default:
                break;
        }
        test_end(t, VERDICT_ERROR, "bad_handle() makes no object of type %d of another IA",
                 (int)type);
}

/* An attribute that was never written, and of which nothing is known, says no. */
static bool has_srqs(struct test *t)
{
        return (int)provider_attr_if_told(t)->srq_supported == DAT_TRUE;
}

static bool has_psps_of_consumers(struct test *t)
{
        DAT_EP_CREATOR_FOR_PSP creator = provider_attr_if_told(t)->ep_creator;

        return creator == DAT_PSP_CREATES_EP_NEVER || creator == DAT_PSP_CREATES_EP_IFASKED;
}

/* The kind that a provider confuses first, because its objects are used in the same calls. */
static DAT_HANDLE_TYPE sibling(struct test *t, DAT_HANDLE_TYPE type)
{
        switch (type) {
        case DAT_HANDLE_TYPE_CNO:
        case DAT_HANDLE_TYPE_IA:
                return DAT_HANDLE_TYPE_EVD;
        case DAT_HANDLE_TYPE_EP:
                return has_srqs(t) ? DAT_HANDLE_TYPE_SRQ : DAT_HANDLE_TYPE_EVD;
        case DAT_HANDLE_TYPE_EVD:
                return DAT_HANDLE_TYPE_CNO;
        case DAT_HANDLE_TYPE_LMR:
                return DAT_HANDLE_TYPE_RMR;
        case DAT_HANDLE_TYPE_PSP:
                return DAT_HANDLE_TYPE_RSP;
        case DAT_HANDLE_TYPE_PZ:
        case DAT_HANDLE_TYPE_RMR:
                return DAT_HANDLE_TYPE_LMR;
        case DAT_HANDLE_TYPE_RSP:
                return has_psps_of_consumers(t) ? DAT_HANDLE_TYPE_PSP : DAT_HANDLE_TYPE_EP;
        default:
                return DAT_HANDLE_TYPE_EP;
        }
}

DAT_HANDLE_TYPE bad_handle_type(struct test *t, DAT_HANDLE_TYPE type, enum bad_handle how)
{
        if (how == BAD_HANDLE_SIBLING)
                return sibling(t, type);
        if (how != BAD_HANDLE_OTHER_KIND)
                return type;
        return type == DAT_HANDLE_TYPE_PZ ? DAT_HANDLE_TYPE_EVD : DAT_HANDLE_TYPE_PZ;
}

DAT_HANDLE bad_handle(struct test *t, DAT_HANDLE_TYPE type, enum bad_handle how)
{
        DAT_HANDLE handle;

        switch (how) {
        case BAD_HANDLE_NULL:
                return DAT_HANDLE_NULL;
        case BAD_HANDLE_DESTROYED:
                handle = destroyed(t, type);
                atomic_store(&t->evidence->destroyed, (uint64_t)(uintptr_t)handle);
                return handle;
        case BAD_HANDLE_OTHER_KIND:
                return type == DAT_HANDLE_TYPE_PZ ? evd_with(t) : pz(t);
        case BAD_HANDLE_SIBLING:
                return live_handle(t, sibling(t, type));
        case BAD_HANDLE_OTHER_IA:
                return of_other_ia(t, type);
        }
        test_end(t, VERDICT_ERROR, "bad_handle() knows no way %d", (int)how);
}
