/* SPDX-License-Identifier: BSD-2-Clause */
/* What fixtures made is freed in reverse order, from any state, whatever fails on the way. */
#include <stdio.h>
#include <stdlib.h>

#include "case/test.h"
#include "evidence/api.h"
#include "evidence/seal.h"
#include "evidence/trace.h"

struct object *object_add(struct test *t, enum object_kind kind, DAT_HANDLE handle)
{
        struct object *object = calloc(1, sizeof(*object));

        if (!object)
                resource(t, "no memory for the list of objects");
        object->kind = kind;
        object->handle = handle;
        object->older = t->objects;
        t->objects = object;
        return object;
}

struct object *object_find(struct test *t, const void *handle)
{
        for (struct object *o = t->objects; o; o = o->older)
                if (o->handle == handle || (o->buf && o->buf == handle))
                        return o;
        return NULL;
}

struct object *object_of_ep(struct test *t, DAT_EP_HANDLE ep, enum object_kind kind)
{
        for (struct object *o = t->objects; o; o = o->older)
                if (o->kind == kind && o->ep == ep)
                        return o;
        return NULL;
}

void object_remove(struct test *t, struct object *object)
{
        struct object **link = &t->objects;

        while (*link != object)
                link = &(*link)->older;
        *link = object->older;
        if (object->handle == t->pz)
                t->pz = DAT_HANDLE_NULL;
        if (object->handle == t->other_ia)
                t->other_ia = DAT_HANDLE_NULL;
        free(object);
}

/* An RSP may be gone with its request (RSP-1). */
static DAT_RETURN free_rsp(DAT_RSP_HANDLE rsp)
{
        DAT_RETURN ret = dat_rsp_free(rsp);

        return dat_is(ret, DAT_INVALID_HANDLE) ? DAT_SUCCESS : ret;
}

DAT_RETURN object_free(const struct object *object, const char **call)
{
        switch (object->kind) {
        case OBJECT_IA:
                *call = "dat_ia_close";
                return dat_ia_close(object->handle, DAT_CLOSE_GRACEFUL_FLAG);
        case OBJECT_PZ:
                *call = "dat_pz_free";
                return dat_pz_free(object->handle);
        case OBJECT_EVD:
                *call = "dat_evd_free";
                return dat_evd_free(object->handle);
        case OBJECT_CNO:
                *call = "dat_cno_free";
                return dat_cno_free(object->handle);
        case OBJECT_LMR:
                *call = "dat_lmr_free";
                return dat_lmr_free(object->handle);
        case OBJECT_RMR:
                *call = "dat_rmr_free";
                return dat_rmr_free(object->handle);
        case OBJECT_SRQ:
                *call = "dat_srq_free";
                return dat_srq_free(object->handle);
        case OBJECT_EP:
                *call = "dat_ep_free";
                return dat_ep_free(object->handle);
        case OBJECT_PSP:
                *call = "dat_psp_free";
                return dat_psp_free(object->handle);
        case OBJECT_RSP:
                *call = "dat_rsp_free";
                return free_rsp(object->handle);
        case OBJECT_CR:
                *call = "dat_cr_reject";
                return dat_cr_reject(object->handle);
        }
        *call = "no call";
        return DAT_INVALID_HANDLE;
}

static struct object *find_owned(struct test *t, void *handle)
{
        struct object *object = object_find(t, handle);

        if (!object)
                test_end(t, VERDICT_ERROR, "no fixture made the object, or it is freed already");
        return object;
}

void disown(struct test *t, void *handle)
{
        object_remove(t, find_owned(t, handle));
}

static const struct {
        DAT_HANDLE_TYPE type;
        enum object_kind kind;
} kinds[] = {
    {DAT_HANDLE_TYPE_CNO, OBJECT_CNO}, {DAT_HANDLE_TYPE_CR, OBJECT_CR},
    {DAT_HANDLE_TYPE_EP, OBJECT_EP},   {DAT_HANDLE_TYPE_EVD, OBJECT_EVD},
    {DAT_HANDLE_TYPE_LMR, OBJECT_LMR}, {DAT_HANDLE_TYPE_PSP, OBJECT_PSP},
    {DAT_HANDLE_TYPE_PZ, OBJECT_PZ},   {DAT_HANDLE_TYPE_RMR, OBJECT_RMR},
    {DAT_HANDLE_TYPE_RSP, OBJECT_RSP}, {DAT_HANDLE_TYPE_SRQ, OBJECT_SRQ},
    {DAT_HANDLE_TYPE_IA, OBJECT_IA},
};

void adopt_rsp(struct test *t, DAT_RSP_HANDLE rsp, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd)
{
        struct object *object = object_add(t, OBJECT_RSP, rsp);

        object->ep = ep;
        object->cr_evd = evd;
}

void adopt(struct test *t, DAT_HANDLE_TYPE type, DAT_HANDLE handle)
{
        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
                if (kinds[i].type != type)
                        continue;
                object_add(t, kinds[i].kind, handle);
                return;
        }
        test_end(t, VERDICT_ERROR, "adopt() takes no object of type %d", (int)type);
}

void release(struct test *t, void *handle)
{
        struct object *object = find_owned(t, handle);
        struct buf *buf = object->buf;
        const struct buf_ops *ops = object->buf_ops;
        char space[API_NAME_SPACE];
        const char *call;
        DAT_RETURN ret;

        /* Else the free would be told as the call that wrote there. */
        if (buf && !ops->check(t, buf))
                test_end(t, VERDICT_FAIL, "memory outside a registered buffer was written");
        ret = object_free(object, &call);
        object_remove(t, object);
        if (!dat_is(ret, DAT_SUCCESS))
                step_failed(t, STEP_SITE_(t), call, api_return_name(ret, space), "%s returned %s",
                            call, api_return_name(ret, space));
        if (!buf)
                return;
        if (!ops->check(t, buf))
                test_end(t, VERDICT_FAIL, "memory outside a registered buffer was written");
        ops->unmap(buf);
}

/* Takes the object off the list; whether its guards were whole. */
static bool object_forget(struct test *t, struct object *object)
{
        struct buf *buf = object->buf;
        const struct buf_ops *ops = object->buf_ops;
        bool whole = !buf || ops->check(t, buf);

        object_remove(t, object);
        if (buf)
                ops->unmap(buf);
        return whole;
}

void ia_closed(struct test *t)
{
        bool whole = true;
        bool over = false;
        struct object *older;

        t->open = false;
        for (struct object *o = t->objects; o && !over; o = older) {
                older = o->older;
                over = o->kind == OBJECT_IA && o->handle == t->ia;
                if (over || o->kind != OBJECT_IA)
                        whole = object_forget(t, o) && whole;
        }
        if (!whole)
                test_end(t, VERDICT_FAIL, "memory outside a registered buffer was written");
}

/* What is refused after that may be refused for that: the first one is the finding. */
static void report_failure(struct test *t, const char *call, DAT_RETURN ret)
{
        char type[API_NAME_SPACE];
        char subtype[API_NAME_SPACE];

        if (t->has_unowned) {
                record(t,
                       "%s returned %s in teardown: not judged, for the call with the null "
                       "pointer has made an object that the case cannot free",
                       call, api_return_name(ret, type));
                return;
        }
        if (!atomic_load(&t->evidence->refused))
                atomic_store(&t->evidence->refused, trace_count());
        leak(t, "%s returned %s, %s in teardown (call %llu)", call, api_return_name(ret, type),
             api_subtype_name(ret, subtype), (unsigned long long)trace_count());
}

/* A connection is ended before its EP is freed; an EP that does not say is left to its free. */
static void end_connection(struct test *t, DAT_EP_HANDLE ep)
{
        if (is_in_state(t, ep, DAT_EP_STATE_CONNECTED))
                dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG);
}

/* A request that an RSP's EP still has is rejected before the EP is freed. */
static void end_request(struct test *t, const struct object *rsp)
{
        DAT_CR_HANDLE request = rsp->request;
        DAT_EVENT event;

        if (!rsp->cr_evd || !object_find(t, rsp->ep) ||
            !is_in_state(t, rsp->ep, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING))
                return;
        if (!request && dat_is(dat_evd_dequeue(rsp->cr_evd, &event), DAT_SUCCESS) &&
            event.event_number == DAT_CONNECTION_REQUEST_EVENT)
                request = event.event_data.cr_arrival_event_data.cr_handle;
        if (request)
                dat_cr_reject(request);
}

static void end_use(struct test *t, const struct object *object)
{
        if (object->kind == OBJECT_EP)
                end_connection(t, object->handle);
        if (object->kind == OBJECT_RSP)
                end_request(t, object);
}

/* The newest object that is no IA, and that came after the case's own; NULL where there is none. */
static struct object *newest_object(struct test *t)
{
        struct object *object = t->objects;

        while (object && object->kind == OBJECT_IA && object->handle != t->ia)
                object = object->older;
        return object && object->kind == OBJECT_IA ? NULL : object;
}

void release_all(struct test *t)
{
        struct object *object;

        while ((object = newest_object(t)) != NULL) {
                end_use(t, object);
                release(t, object->handle);
        }
}

/* Whoever wrote there did it while the case ran: that is the clause's, however teardown ends. */
static void find_guard_broken(struct test *t)
{
        if (t->verdict == VERDICT_FAIL)
                return;
        t->verdict = VERDICT_FAIL;
        snprintf(t->reason, sizeof(t->reason), "memory outside a registered buffer was written");
        verdict_seal(&t->evidence->body, SEAL_AGAIN, t->verdict, t->reason, &t->blocked);
}

/* What was written before teardown is found before its calls. */
static void look_at_guards(struct test *t)
{
        for (const struct object *o = t->objects; o; o = o->older)
                if (o->buf && !o->buf_ops->check(t, o->buf)) {
                        find_guard_broken(t);
                        return;
                }
}

/* Frees one object. Its memory stays mapped where the provider still knows it. */
static void free_object(struct test *t, struct object *object)
{
        const char *call;
        DAT_RETURN ret;

        end_use(t, object);
        ret = object_free(object, &call);
        if (!dat_is(ret, DAT_SUCCESS))
                report_failure(t, call, ret);
        if (object->buf && t->verdict != VERDICT_FAIL && !object->buf_ops->check(t, object->buf))
                find_guard_broken(t);
        if (object->buf && dat_is(ret, DAT_SUCCESS))
                object->buf_ops->unmap(object->buf);
}

static void close_ia(struct test *t)
{
        DAT_RETURN ret = dat_ia_close(t->ia, DAT_CLOSE_GRACEFUL_FLAG);

        if (dat_is(ret, DAT_SUCCESS))
                return;
        report_failure(t, "dat_ia_close(DAT_CLOSE_GRACEFUL_FLAG)", ret);
        ret = dat_ia_close(t->ia, DAT_CLOSE_ABRUPT_FLAG);
        if (!dat_is(ret, DAT_SUCCESS))
                report_failure(t, "dat_ia_close(DAT_CLOSE_ABRUPT_FLAG)", ret);
}

void teardown(struct test *t)
{
        for (size_t i = 0; i < STEP_COUNT; i++)
                if (t->steps[i])
                        t->steps[i](t);
        look_at_guards(t);
        while (t->objects) {
                struct object *newest = t->objects;

                free_object(t, newest);
                t->objects = newest->older;
                free(newest);
        }
        if (t->open)
                close_ia(t);
}
